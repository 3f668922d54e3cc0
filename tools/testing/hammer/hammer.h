/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the hammer share: hammer.c says what it is. */
#ifndef HAMMER_H
#define HAMMER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS		64
#define CONTEXTS	4
/* So many numbers of one writer are known to have been seen or not. */
#define NUMBERS		(1 << 24)
#define EVENT		"events/rtrace_hammer/hammer/"

enum { HOW, READER, SIZE, SWAP, EMPTY, ORDER, CLOCK, OVERWRITE, PLUG, POLL, LOOK, DIMENSIONS };
enum { PUTS, EVENTS, FILTER, DISCARD, FUNCTION, GRAPH };
enum { READ, MMAP, MAPPED };
enum { FIXED, RESIZE, GROW };
enum { NEVER, BY_FILE, BY_COMMAND, BY_LATENCY };

/* A dimension has at most this many levels, the first of which is the plain one. */
#define LEVELS		6

/* The level of each dimension. */
struct round {
	int at[DIMENSIONS];
};

struct cpu {
	pthread_t thread;
	int id;
	uint64_t seen, last[CONTEXTS];
	/* One bit for each number seen. */
	uint64_t *numbers[CONTEXTS];
	uint64_t spliced, mapped, lost_told, lost_untold;
};

/* hammer.c: what is known of the kernel, and where the round is. */
extern int nr_cpus, hammer_type;
/* Whether the tracers record what a function is called with, and what it returns. */
extern bool has_arguments, has_returned;
extern char tracer_of_latency[32];
extern const char *phase;
extern struct round now;
extern atomic_bool stop, forgotten, anew, pausing, drained;
extern pthread_barrier_t paused, going_on;

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
int put(const char *path, const char *text);
void must(const char *path, const char *text);
long microseconds(void);
bool lists(const char *path, const char *text);

/* event.c: events that are what they must be. */
bool whole(const char *text, size_t length, int *cpu, int *context, uint64_t *number);
void records(struct cpu *cpu, const unsigned char *at, const unsigned char *end);
void sub_buffer(struct cpu *cpu, const unsigned char *data, size_t size);

/* reader.c: threads that read. */
/* include/uapi/linux/trace_mmap.h */
struct trace_buffer_meta {
	uint32_t meta_page_size, meta_struct_len, subbuf_size, nr_subbufs;
	struct {
		uint64_t lost_events;
		uint32_t id, read;
	} reader;
	uint64_t flags, entries, overrun, read, pages_lost, pages_touched;
};

extern atomic_long looked;
void *map(int cpu, int fd, size_t *length);
void *consumer(void *of);
void *looker(void *unused);

/* disturb.c: threads that disturb. */
typedef void *(*thread_function)(void *);

extern atomic_long woken, unmapped;
/* Taken for writing while sub-buffers get another size: the pages of a splice are then of one size. */
extern pthread_rwlock_t order;
thread_function disturber(int dimension);
bool throws_away(int dimension);
bool goes_on(int dimension);
void begin_turns(void);
bool has_disturbed(int dimension);

/* rounds.c: which levels are together. */
void describe(const struct round *round);
bool has_level(int dimension, int level);
/* Number of rounds, or a negative number where not all pairs meet in that many. */
int choose(struct round *rounds, int most);

#endif
