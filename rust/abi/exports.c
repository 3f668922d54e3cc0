// SPDX-License-Identifier: GPL-2.0
/* What modules may call of what is written in Rust: only C has a word for that. */
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/ring_buffer.h>
#include <linux/trace.h>
#include <linux/trace_clock.h>
#include <linux/trace_printk.h>
#include <linux/tracefs.h>
#include "api.h"

EXPORT_SYMBOL_GPL(__ring_buffer_alloc);
EXPORT_SYMBOL_GPL(ring_buffer_alloc_read_page);
EXPORT_SYMBOL_GPL(ring_buffer_bytes_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_change_overwrite);
EXPORT_SYMBOL_GPL(ring_buffer_commit_overrun_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_consume);
EXPORT_SYMBOL_GPL(ring_buffer_discard_commit);
EXPORT_SYMBOL_GPL(ring_buffer_dropped_events_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_empty);
EXPORT_SYMBOL_GPL(ring_buffer_empty_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_entries);
EXPORT_SYMBOL_GPL(ring_buffer_entries_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_event_data);
EXPORT_SYMBOL_GPL(ring_buffer_event_length);
EXPORT_SYMBOL_GPL(ring_buffer_free);
EXPORT_SYMBOL_GPL(ring_buffer_free_read_page);
EXPORT_SYMBOL_GPL(ring_buffer_iter_advance);
EXPORT_SYMBOL_GPL(ring_buffer_iter_dropped);
EXPORT_SYMBOL_GPL(ring_buffer_iter_empty);
EXPORT_SYMBOL_GPL(ring_buffer_iter_peek);
EXPORT_SYMBOL_GPL(ring_buffer_iter_reset);
EXPORT_SYMBOL_GPL(ring_buffer_lock_reserve);
EXPORT_SYMBOL_GPL(ring_buffer_max_event_size);
EXPORT_SYMBOL_GPL(ring_buffer_normalize_time_stamp);
EXPORT_SYMBOL_GPL(ring_buffer_oldest_event_ts);
EXPORT_SYMBOL_GPL(ring_buffer_overrun_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_overruns);
EXPORT_SYMBOL_GPL(ring_buffer_peek);
EXPORT_SYMBOL_GPL(ring_buffer_read_events_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_read_finish);
EXPORT_SYMBOL_GPL(ring_buffer_read_page);
EXPORT_SYMBOL_GPL(ring_buffer_read_page_data);
EXPORT_SYMBOL_GPL(ring_buffer_read_page_size);
EXPORT_SYMBOL_GPL(ring_buffer_read_start);
EXPORT_SYMBOL_GPL(ring_buffer_record_disable);
EXPORT_SYMBOL_GPL(ring_buffer_record_disable_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_record_enable);
EXPORT_SYMBOL_GPL(ring_buffer_record_enable_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_record_off);
EXPORT_SYMBOL_GPL(ring_buffer_record_on);
EXPORT_SYMBOL_GPL(ring_buffer_reset);
EXPORT_SYMBOL_GPL(ring_buffer_reset_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_resize);
EXPORT_SYMBOL_GPL(ring_buffer_size);
EXPORT_SYMBOL_GPL(ring_buffer_subbuf_order_get);
EXPORT_SYMBOL_GPL(ring_buffer_subbuf_order_set);
EXPORT_SYMBOL_GPL(ring_buffer_subbuf_size_get);
EXPORT_SYMBOL_GPL(ring_buffer_swap_cpu);
EXPORT_SYMBOL_GPL(ring_buffer_time_stamp);
EXPORT_SYMBOL_GPL(ring_buffer_unlock_commit);
EXPORT_SYMBOL_GPL(ring_buffer_write);

EXPORT_SYMBOL_GPL(tracing_is_on);
EXPORT_SYMBOL_GPL(tracing_off);
EXPORT_SYMBOL_GPL(tracing_on);
EXPORT_SYMBOL_GPL(tracing_snapshot);
EXPORT_SYMBOL_GPL(tracing_snapshot_alloc);

/* As in C no public header has these. */
void tracing_snapshot_cond(struct trace_array *tr, void *cond_data);
int tracing_snapshot_cond_enable(struct trace_array *tr, void *cond_data,
				 bool (*update)(struct trace_array *tr, void *cond_data));
int tracing_snapshot_cond_disable(struct trace_array *tr);
void *tracing_cond_snapshot_data(struct trace_array *tr);
EXPORT_SYMBOL_GPL(tracing_snapshot_cond);
EXPORT_SYMBOL_GPL(tracing_snapshot_cond_enable);
EXPORT_SYMBOL_GPL(tracing_snapshot_cond_disable);
EXPORT_SYMBOL_GPL(tracing_cond_snapshot_data);
EXPORT_SYMBOL_GPL(trace_clock);
EXPORT_SYMBOL_GPL(trace_clock_global);
EXPORT_SYMBOL_GPL(trace_clock_jiffies);
EXPORT_SYMBOL_GPL(trace_clock_local);

EXPORT_SYMBOL_GPL(__trace_array_puts);
EXPORT_SYMBOL_GPL(__trace_bputs);
EXPORT_SYMBOL_GPL(__trace_puts);
EXPORT_SYMBOL_GPL(ftrace_dump);
EXPORT_SYMBOL_GPL(trace_array_destroy);
EXPORT_SYMBOL_GPL(trace_array_get_by_name);
EXPORT_SYMBOL_GPL(trace_array_init_printk);
EXPORT_SYMBOL_GPL(trace_array_put);
EXPORT_SYMBOL_GPL(trace_printk_init_buffers);

EXPORT_SYMBOL_GPL(tracefs_create_file);

#ifdef CONFIG_FUNCTION_TRACER
EXPORT_SYMBOL_GPL(ftrace_free_filter);
EXPORT_SYMBOL_GPL(ftrace_ops_set_global_filter);
#ifdef CONFIG_FTRACE_RECORD_RECURSION
EXPORT_SYMBOL_GPL(ftrace_record_recursion);
#endif
EXPORT_SYMBOL_GPL(ftrace_set_filter);
EXPORT_SYMBOL_GPL(ftrace_set_filter_ip);
EXPORT_SYMBOL_GPL(ftrace_set_filter_ips);
EXPORT_SYMBOL_GPL(ftrace_set_global_filter);
EXPORT_SYMBOL_GPL(ftrace_set_global_notrace);
EXPORT_SYMBOL_GPL(ftrace_set_notrace);
EXPORT_SYMBOL_GPL(modify_ftrace_direct);
EXPORT_SYMBOL_GPL(modify_ftrace_direct_nolock);
EXPORT_SYMBOL_GPL(register_ftrace_direct);
EXPORT_SYMBOL_GPL(register_ftrace_function);
EXPORT_SYMBOL_GPL(unregister_ftrace_direct);
EXPORT_SYMBOL_GPL(unregister_ftrace_function);
#endif

/* C exports none of these. They are for the interface for Rust code. */
EXPORT_SYMBOL_GPL(rtrace_array_get);
EXPORT_SYMBOL_GPL(rtrace_array_put);
EXPORT_SYMBOL_GPL(rtrace_array_remove);
EXPORT_SYMBOL_GPL(rtrace_array_set_tracer);
EXPORT_SYMBOL_GPL(rtrace_array_write);
EXPORT_SYMBOL_GPL(rtrace_outside_tracers);
EXPORT_SYMBOL_GPL(rtrace_probe_fits);
EXPORT_SYMBOL_GPL(rtrace_reader_close);
EXPORT_SYMBOL_GPL(rtrace_reader_next);
EXPORT_SYMBOL_GPL(rtrace_reader_open);
EXPORT_SYMBOL_GPL(rtrace_tracer_register);
EXPORT_SYMBOL_GPL(rtrace_tracer_unregister);
#ifdef CONFIG_DYNAMIC_EVENTS
EXPORT_SYMBOL_GPL(rtrace_event_record);
EXPORT_SYMBOL_GPL(rtrace_event_register);
EXPORT_SYMBOL_GPL(rtrace_event_unregister);
#endif
#ifdef CONFIG_SYNTH_EVENTS
EXPORT_SYMBOL_GPL(rtrace_synth_event_has);
#endif
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
EXPORT_SYMBOL_GPL(fgraph_reserve_data);
EXPORT_SYMBOL_GPL(fgraph_retrieve_data);
EXPORT_SYMBOL_GPL(register_ftrace_graph);
EXPORT_SYMBOL_GPL(rtrace_unregister_graph);
#endif

#ifdef CONFIG_FPROBE
EXPORT_SYMBOL_GPL(register_fprobe);
EXPORT_SYMBOL_GPL(register_fprobe_ips);
EXPORT_SYMBOL_GPL(register_fprobe_syms);
EXPORT_SYMBOL_GPL(unregister_fprobe);
#endif

#ifdef CONFIG_TRACE_BRANCH_PROFILING
EXPORT_SYMBOL(ftrace_likely_update);
#endif
