/* SPDX-License-Identifier: GPL-2.0 */
/* What the interface for Rust code (rust/api) calls and C has no function for. In Rust: api.rs. */
#ifndef RTRACE_ABI_API_H
#define RTRACE_ABI_API_H

#include <linux/types.h>

struct trace_array;

/* Gets a reference to an instance, which is made if it is not there and @make says so. */
int rtrace_array_get(const char *name, bool make, struct trace_array **tr);
/* Puts the reference, and removes the instance. */
int rtrace_array_remove(struct trace_array *tr);

/* Records @size bytes with a number of the caller's. */
bool rtrace_array_write(struct trace_array *tr, u32 id, const void *data, size_t size);

/* An entry that was read, and its text, until the next is read. */
struct rtrace_entry {
	u64 time;
	u64 lost;
	const u8 *record;
	size_t record_length;
	const u8 *text;
	size_t text_length;
	u32 cpu;
};

/* A tracer of a module's. Task context; start() gets a reference of its own. */
struct module;
struct rtrace_tracer_ops {
	int (*start)(void *data, struct trace_array *tr, void **running);
	void (*stop)(void *data, void *running);
	void (*switched)(void *data, void *running, bool on);
};

struct rtrace_tracer;
int rtrace_tracer_register(const char *name, const struct rtrace_tracer_ops *ops, void *data, struct module *owner,
			   struct rtrace_tracer **tracer);
void rtrace_tracer_unregister(struct rtrace_tracer *tracer);
int rtrace_outside_tracers(void);
/* Whether a tracepoint can call @probe: to kCFI an enum is a type of its own, and to Rust a number. */
struct tracepoint;
bool rtrace_probe_fits(const struct tracepoint *tp, void *probe);
void rtrace_array_put(struct trace_array *tr);
int rtrace_array_set_tracer(struct trace_array *tr, const char *name);

struct rtrace_reader;
int rtrace_reader_open(struct trace_array *tr, struct rtrace_reader **reader);
bool rtrace_reader_next(struct rtrace_reader *reader, struct rtrace_entry *entry);
void rtrace_reader_close(struct rtrace_reader *reader);

#ifdef CONFIG_DYNAMIC_EVENTS
/* What a field of an event has. */
#define RTRACE_EVENT_NUMBER	0
#define RTRACE_EVENT_BOOL	1
#define RTRACE_EVENT_ARRAY	2	/* @count numbers */
#define RTRACE_EVENT_NUMBERS	3	/* any number of numbers: a value behind the fields */
#define RTRACE_EVENT_TEXT	4	/* a value behind the fields */

struct rtrace_event_field {
	const char *name;
	const char *type;	/* C's of one number */
	u32 offset;		/* behind the common fields */
	u16 count;
	u8 size;		/* bytes of one number */
	u8 kind;
	bool is_signed;
};

/* A part of an entry's text: words, and the value of a field behind them. */
#define RTRACE_EVENT_DECIMAL	0
#define RTRACE_EVENT_HEX	1
#define RTRACE_EVENT_UPPER_HEX	2
#define RTRACE_EVENT_OCTAL	3

struct rtrace_event_piece {
	const u8 *text;
	size_t length;
	s32 field;		/* negative for none */
	u8 base;
	u8 width;
	bool zeros;
};

struct rtrace_event_description {
	const char *system;
	const char *name;
	const struct rtrace_event_field *fields;
	const struct rtrace_event_piece *pieces;
	u32 field_count;
	u32 piece_count;
	u32 size;		/* of the fields, without the common ones */
};

/* The value of a field of variable length. */
struct rtrace_event_value {
	const void *data;
	size_t size;
};

/* While @wanted is 0, nobody wants entries. */
struct rtrace_declared;
struct rtrace_event {
	const u32 *wanted;
	struct rtrace_declared *declared;
};

int rtrace_event_register(const struct rtrace_event_description *description, struct module *owner,
			  struct rtrace_event *event);
void rtrace_event_unregister(struct rtrace_declared *declared);
void rtrace_event_record(const struct rtrace_declared *declared, const void *fields,
			 const struct rtrace_event_value *values);
#endif

#ifdef CONFIG_SYNTH_EVENTS
struct synth_field_desc;
struct trace_event_file;
/* Whether @file is of a synthetic event with just these fields. */
bool rtrace_synth_event_has(struct trace_event_file *file, const struct synth_field_desc *fields, unsigned int count);
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
/* Bytes that a user of the function graph can keep of a call. */
#define RTRACE_GRAPH_DATA_MAX 256

struct fgraph_ops;
void rtrace_unregister_graph(struct fgraph_ops *user);
#endif

#endif
