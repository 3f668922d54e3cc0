// SPDX-License-Identifier: GPL-2.0
/* A module without events that has a line in eval_map. */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "evals_alone_trace.h"

MODULE_DESCRIPTION("A name of an enum, and no event that has it");
MODULE_LICENSE("GPL");
