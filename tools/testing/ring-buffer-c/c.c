// SPDX-License-Identifier: GPL-2.0
/* C's ring buffer as it is, and what the test (c.rs) calls besides its own interface. `host` takes the four files from Linux. */
#include "kernel.h"
#include "ring_buffer_types.h"
#include "trace_mmap.h"
#include "ring_buffer.h"
#include "ring_buffer.c"

/* As c.rs has it. */
struct counts {
	u64 entries, overrun, commit_overrun, bytes, dropped, read, touched, lost, dirty;
};

static _Thread_local struct machine machine;

struct machine *c_machine(void)
{
	return &machine;
}

u64 trace_clock_local(void)
{
	void (*interrupt)(void *data) = machine.interrupt;
	u64 now = machine.clock;

	machine.interrupt = NULL;
	if (interrupt)
		interrupt(machine.data);
	return now;
}

/* The functions that allocate for users take no order. */
struct trace_buffer *c_new(unsigned long pages, bool overwrite, int order)
{
	static struct lock_class_key key;

	return alloc_buffer(pages * ((PAGE_SIZE << order) - BUF_PAGE_HDR_SIZE), overwrite ? RB_FL_OVERWRITE : 0, order, 0, 0, 0,
			    &key, NULL);
}

void c_counts(struct trace_buffer *buffer, struct counts *counts)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[0];

	counts->entries = ring_buffer_entries_cpu(buffer, 0);
	counts->overrun = ring_buffer_overrun_cpu(buffer, 0);
	counts->commit_overrun = ring_buffer_commit_overrun_cpu(buffer, 0);
	counts->bytes = ring_buffer_bytes_cpu(buffer, 0);
	counts->dropped = ring_buffer_dropped_events_cpu(buffer, 0);
	counts->read = ring_buffer_read_events_cpu(buffer, 0);
	counts->touched = local_read(&cpu_buffer->pages_touched);
	counts->lost = local_read(&cpu_buffer->pages_lost);
	counts->dirty = ring_buffer_nr_dirty_pages(buffer, 0);
}

/* What a read of trace_pipe_raw does, with a page that has something in it. */
int c_read_page(struct trace_buffer *buffer, size_t length, bool full, void *into)
{
	struct buffer_data_read_page *page = NULL;
	int read;

	if (ring_buffer_alloc_read_page(buffer, 0, &page))
		abort();
	memset(page->data->data, 0x5a, rb_read_page_capacity(page));
	read = ring_buffer_read_page(buffer, page, length, 0, full);
	if (read >= 0)
		memcpy(into, page->data, PAGE_SIZE << page->order);
	ring_buffer_free_read_page(buffer, 0, page);
	return read;
}

int c_map(struct trace_buffer *buffer)
{
	struct vm_area_struct vma = { .vm_flags = VM_MAYSHARE };

	return ring_buffer_map(buffer, 0, &vma);
}

/* The mapping's first page, and a sub-buffer in it. */
const struct trace_buffer_meta *c_meta(struct trace_buffer *buffer)
{
	return buffer->buffers[0]->meta_page;
}

const void *c_mapped_sub_buffer(struct trace_buffer *buffer, unsigned int id)
{
	return buffer->buffers[0]->subbuf_ids[id]->page;
}

/*
 * Whether C takes the one sub-buffer that is left for read, since a reader had it before and read it up to where it is written now:
 * `read` in the head page is old.
 */
bool c_rest_looks_read(struct trace_buffer *buffer)
{
	struct ring_buffer_per_cpu *cpu_buffer = buffer->buffers[0];
	struct buffer_page *reader = cpu_buffer->reader_page, *head = cpu_buffer->head_page;

	return cpu_buffer->commit_page == head && head->read == rb_page_commit(head) && reader->read == rb_page_size(reader);
}
