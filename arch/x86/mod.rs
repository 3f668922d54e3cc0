// SPDX-License-Identifier: GPL-2.0

//! x86-64: patch sites, trampolines, instruction encoders.
