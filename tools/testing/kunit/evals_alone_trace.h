/* SPDX-License-Identifier: GPL-2.0 */
/* A name for a number, and no event. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtrace_alone

#if !defined(EVALS_ALONE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EVALS_ALONE_TRACE_H

#include <linux/tracepoint.h>

#ifndef EVALS_ALONE_ENUM
#define EVALS_ALONE_ENUM
enum { RTRACE_ALONE = 7 };
#endif

TRACE_DEFINE_ENUM(RTRACE_ALONE);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE evals_alone_trace
#include <trace/define_trace.h>
