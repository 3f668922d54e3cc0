// SPDX-License-Identifier: GPL-2.0
/* One-line shims for C inline functions and macros; included by the kernel's rust/helpers/helpers.c. */
