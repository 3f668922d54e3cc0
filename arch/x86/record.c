// SPDX-License-Identifier: GPL-2.0
#include <linux/types.h>
#include "record.h"

/* It is off. It is as long as what is read of a ring before that is seen. */
static const u64 no_ring[] = { [RTRACE_RING_LIMIT / 8] = -(u64)RTRACE_LIMIT_OFF << 32 };
DEFINE_PER_CPU(const void *, rtrace_no_ring) = no_ring;
