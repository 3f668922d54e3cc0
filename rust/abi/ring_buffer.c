// SPDX-License-Identifier: GPL-2.0
/* The ring buffer's exports, and what of it only C can ask. */
#include <linux/export.h>
#include <linux/ring_buffer.h>

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
