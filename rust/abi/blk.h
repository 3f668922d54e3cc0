/* SPDX-License-Identifier: GPL-2.0 */
/* What kernel/trace/blktrace.c calls of the tracer "blk", which is Rust. */
#ifndef RTRACE_ABI_BLK_H
#define RTRACE_ABI_BLK_H

#include <linux/types.h>

struct blk_io_trace2;

/* Does the tracer get the events, and not the program blktrace? */
bool rtrace_blk_enabled(void);
/* Option blk_cgroup. */
bool rtrace_blk_records_cgroups(void);
/* An event of the function around ip; cgid is 0 if it has none. */
void rtrace_blk_record(unsigned long ip, const struct blk_io_trace2 *t, u64 cgid, const void *pdu, size_t pdu_len);

#endif
