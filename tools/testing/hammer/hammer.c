// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of the hammer, and those who disturb: `hammer PHASE SECONDS [SEED]`, in the tracing directory, with rtrace_hammer
 * loaded. One consumer per CPU takes sub-buffers out, by read, by splice and by a mapping, and checks every event: is its
 * sum right, was it seen before, is it behind the last one of its CPU and context. In the end all is read, and for each CPU
 *
 *	events seen + overrun = events written
 *	what pages and mappings told of lost events = overrun
 *
 * the first where nothing but the writers records and they know what was recorded or nothing is refused, the second unless
 * a page told that some were lost without their number. On a sub-buffer the order holds in all cases, and across them
 * unless snapshots are taken.
 *
 * A round is a choice of one level of each of `dimensions`. Where one of them throws events away (empties the trace, gives
 * sub-buffers another size, changes the clock), the writers pause after half of the round, all that is left is thrown
 * away, and what is written from there on is judged as above, while all others go on to disturb.
 *
 * Phases: `order`, `swap` and `empty` are one round each. `pairs` are rounds in which each level of a dimension meets each
 * level of the others that it can be together with; `pairs-patched` has as well what needs instructions of the kernel to be
 * changed (emulators of several CPUs at once are not always up to that). SEED chooses among such sets of rounds; it is printed.
 * `round` is the one whose levels, a digit each, stand in the place of SEED, as they are printed before a round.
 * Prints what is wrong; exit status 0 if nothing is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CPUS		64
#define CONTEXTS	4
#define LONGEST		200
#define NUMBERS		(1 << 24)
#define LARGEST		(16 << 10)
#define GOLDEN		0x9e3779b97f4a7c15ul
#define PARAMETERS	"/sys/module/rtrace_hammer/parameters/"
#define EVENT		"events/rtrace_hammer/hammer/"
/* What discards an event in the ring, not before: its place must be there, since the trigger reads its time. */
#define TRIGGER		"hist:keys=keep:at=common_timestamp"

/* include/uapi/linux/trace_mmap.h */
struct trace_buffer_meta {
	__u32 meta_page_size, meta_struct_len, subbuf_size, nr_subbufs;
	struct {
		__u64 lost_events;
		__u32 id, read;
	} reader;
	__u64 flags, entries, overrun, read, pages_lost, pages_touched;
};
#define GET_READER	_IO('R', 0x20)

/* Numbers of types (kernel/trace/trace.h). */
enum { TRACE_FN = 1, TRACE_PRINT = 5, TRACE_GRAPH_RET = 10, TRACE_GRAPH_ENT = 11 };

enum { HOW, READER, SIZE, SWAP, EMPTY, ORDER, CLOCK, OVERWRITE, PLUG, POLL, LOOK, DIMENSIONS };
enum { PUTS, EVENTS, FILTER, DISCARD, FUNCTION, GRAPH };
enum { READ, MMAP };
enum { FIXED, RESIZE, GROW };
enum { NEVER, BY_FILE, BY_COMMAND, BY_LATENCY };

/* Each has at most this many levels, the first of which is the plain one. */
#define LEVELS		6

static const struct {
	const char *name, *levels[LEVELS];
	/* Levels from this one on need instructions to be changed. */
	int patched;
} dimensions[DIMENSIONS] = {
	[HOW] = { "by", { "puts", "event", "filtered event", "discarded event", "function", "graph" }, DISCARD },
	[READER] = { "read", { "by read and splice", "by mmap, too" }, LEVELS },
	[SIZE] = { "size", { "same", "changed", "grown" }, LEVELS },
	[SWAP] = { "snapshots", { "none", "by file", "by command", "by latency" }, BY_COMMAND },
	[EMPTY] = { "emptied", { "no", "yes" }, LEVELS },
	[ORDER] = { "sub-buffers", { "same", "changed" }, LEVELS },
	[CLOCK] = { "clock", { "same", "changed" }, LEVELS },
	[OVERWRITE] = { "overwrite", { "on", "on and off" }, LEVELS },
	[PLUG] = { "CPUs", { "stay", "come and go" }, LEVELS },
	[POLL] = { "polled", { "no", "yes" }, LEVELS },
	[LOOK] = { "looked at", { "no", "yes" }, LEVELS },
};

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

static struct cpu cpus[CPUS];
static int nr_cpus, hammer_type;
/* Whether the tracers record what a function is called with, and what it returns. */
static bool has_arguments, has_returned;
static char tracer_of_latency[32];
static const char *phase;
static struct round now;
static atomic_bool stop, forgotten, anew, pausing, drained;
static atomic_int wrong;
static atomic_long looked, growth_takes, woken;
static atomic_uint growths;
static pthread_barrier_t paused, going_on;
/* Taken for writing while sub-buffers get another size: the pages of a splice are then of one size. */
static pthread_rwlock_t order = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list args;

	if (atomic_fetch_add(&wrong, 1) >= 20)
		return;
	va_start(args, format);
	printf("# ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC), done;

	if (fd < 0)
		return -errno;
	done = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return done;
}

static void must(const char *path, const char *text)
{
	int done = put(path, text);

	if (done)
		complain("%s to %s: %s", text, path, strerror(-done));
}

/* The event in `text`: its CPU, context and number; false if it is not whole. */
static bool whole(const char *text, size_t length, int *cpu, int *context, uint64_t *number)
{
	unsigned long long value;
	unsigned int said, sum = 2166136261u, filling;
	int at = 0, head;

	/* One blank follows; what may follow that is a newline, which a blank in the format would take, too. */
	if (sscanf(text, "hammer %d %d %llu %n%8x%n", cpu, context, &value, &head, &said, &at) != 4 || !at || text[at++] != ' ')
		return false;
	for (int i = 0; i < head; i++)
		sum = (sum ^ (unsigned char)text[i]) * 16777619u;
	filling = value * 7 % LONGEST;
	if (sum != said || *cpu < 0 || *cpu >= CPUS || *context < 0 || *context >= CONTEXTS || at + filling + 1 > length)
		return false;
	for (unsigned int i = 0; i < filling; i++)
		if (text[at + i] != (char)('a' + (value + i) % 26))
			return false;
	*number = value;
	return text[at + filling] == '\n';
}

/* The event in a call's arguments: the same. */
static bool whole_call(const uint64_t *arguments, int *cpu, int *context, uint64_t *number)
{
	*cpu = arguments[0] >> 4;
	*context = arguments[0] & 0xf;
	*number = arguments[1];
	return *cpu < CPUS && *context < CONTEXTS && arguments[2] == (arguments[0] ^ arguments[1]) * GOLDEN;
}

/* The event in what a call has returned. */
static bool whole_return(uint64_t value, int *cpu, int *context, uint64_t *number)
{
	uint64_t from = value >> 12 & 0xfff;

	*number = value >> 24;
	return whole_call((uint64_t[]){ from, *number, (from ^ *number) * GOLDEN }, cpu, context, number) &&
	       (value & 0xfff) == (from ^ *number) * GOLDEN >> 52;
}

static void event(struct cpu *cpu, const char *payload, size_t length, uint64_t *on_page)
{
	uint64_t number, words[3];
	int from, context;
	uint16_t type;
	uint32_t keep;
	bool good;

	memcpy(&type, payload, sizeof(type));
	if (type == TRACE_PRINT && length >= 17 && !strncmp(payload + 16, "hammer ", 7)) {
		good = whole(payload + 16, length - 16, &from, &context, &number);
	} else if (type == hammer_type && length >= 17) {
		memcpy(&keep, payload + 8, sizeof(keep));
		if (keep != 1)
			complain("CPU %d: an event that is to be rejected: %.*s", cpu->id, (int)length - 16, payload + 16);
		good = whole(payload + 16, length - 16, &from, &context, &number);
	} else if (now.at[HOW] == FUNCTION && type == TRACE_FN && has_arguments) {
		if (length < 24 + sizeof(words))
			return complain("CPU %d: a call without arguments, of %zu bytes", cpu->id, length);
		memcpy(words, payload + 24, sizeof(words));
		good = whole_call(words, &from, &context, &number);
	} else if (now.at[HOW] == GRAPH && type == TRACE_GRAPH_RET && has_returned) {
		memcpy(words, payload + 16, sizeof(*words));
		good = whole_return(*words, &from, &context, &number);
	} else {
		/* Without a number it can only be counted. */
		cpu->seen += (now.at[HOW] == FUNCTION && type == TRACE_FN) ||
			     (now.at[HOW] == GRAPH && (type == TRACE_GRAPH_ENT || type == TRACE_GRAPH_RET));
		return;
	}
	if (!good) {
		complain("CPU %d: torn, type %d, %zu bytes: %.*s", cpu->id, type, length, (int)length - 16, payload + 16);
		return;
	}
	if (from != cpu->id)
		complain("CPU %d: an event of CPU %d", cpu->id, from);
	if (number <= on_page[context])
		complain("CPU %d context %d: %lu behind %lu", cpu->id, context, number, on_page[context]);
	on_page[context] = number;
	if (number < NUMBERS) {
		uint64_t *word = &cpu->numbers[context][number / 64], bit = 1ull << number % 64;

		if (*word & bit)
			complain("CPU %d context %d: %lu twice", cpu->id, context, number);
		*word |= bit;
	}
	cpu->seen++;
}

static void records(struct cpu *cpu, const unsigned char *at, const unsigned char *end)
{
	uint64_t none[CONTEXTS] = { 0 }, *on_page = now.at[SWAP] ? none : cpu->last;

	while (at < end) {
		uint32_t word, size;
		unsigned int kind;

		memcpy(&word, at, 4);
		kind = word & 31;
		if (kind == 29 && !(word >> 5))
			break;
		if (kind >= 30) {
			at += 8;
			continue;
		}
		if (kind == 0 || kind == 29) {
			memcpy(&size, at + 4, 4);
			if (kind == 0)
				event(cpu, (const char *)at + 8, size - 4, on_page);
			at += 4 + ((size + 3) & ~3u);
		} else {
			event(cpu, (const char *)at + 4, kind * 4, on_page);
			at += 4 + kind * 4;
		}
	}
	if (at > end)
		complain("CPU %d: an event ends %zd bytes behind its page", cpu->id, at - end);
}

static void page(struct cpu *cpu, const unsigned char *data, size_t size)
{
	uint64_t commit, lost;
	size_t length;

	memcpy(&commit, data + 8, 8);
	length = commit & 0x3fffffff;
	if (length > size - 16)
		return complain("CPU %d: %zu bytes on a page of %zu", cpu->id, length, size);
	if (commit & 1u << 30) {
		memcpy(&lost, data + 16 + length, 8);
		cpu->lost_told += lost;
	} else if (commit & 1u << 31) {
		cpu->lost_untold++;
	}
	records(cpu, data + 16, data + 16 + length);
}

/* The size of sub-buffers; it stays while `order` is held. */
static size_t sub_buffer_size(void)
{
	char text[16] = "";
	int fd = open("buffer_subbuf_size_kb", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		complain("buffer_subbuf_size_kb: %s", strerror(errno));
	close(fd);
	return atoi(text) * 1024ul;
}

static bool take_by_splice(struct cpu *cpu, int fd, const int *pipe)
{
	unsigned char data[LARGEST];
	ssize_t done;
	size_t size;

	if (now.at[ORDER])
		pthread_rwlock_rdlock(&order);
	size = now.at[ORDER] ? sub_buffer_size() : 4096;
	done = splice(fd, NULL, pipe[1], NULL, 2 * LARGEST, SPLICE_F_NONBLOCK);
	if (now.at[ORDER])
		pthread_rwlock_unlock(&order);
	/* The file's position need not be a multiple of a new size. */
	if (done < 0 && errno != EAGAIN && !(errno == EINVAL && now.at[ORDER]))
		complain("CPU %d: splice: %s", cpu->id, strerror(errno));
	for (ssize_t left = done; left > 0; left -= size) {
		for (size_t got = 0; got < size;)
			got += read(pipe[0], data + got, size - got);
		page(cpu, data, size);
		cpu->spliced++;
	}
	return done > 0;
}

/* Takes what there is; false if that is nothing. */
static bool take(struct cpu *cpu, int fd, const int *pipe, bool by_splice)
{
	unsigned char data[LARGEST];
	ssize_t done;

	if (by_splice)
		return take_by_splice(cpu, fd, pipe);
	done = read(fd, data, sizeof(data));
	if (done > 0 && done % 4096 == 0)
		page(cpu, data, done);
	else if (done > 0 || (done < 0 && errno != EAGAIN))
		complain("CPU %d: read gives %zd", cpu->id, done);
	return done > 0;
}

/* Maps the buffer and takes some sub-buffers there. Where snapshots may be taken, or the buffer changes just now, it cannot be. */
static void take_by_mmap(struct cpu *cpu, int fd)
{
	volatile struct trace_buffer_meta *meta = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	size_t head, size, length;
	unsigned char *data;
	uint32_t id, from;
	bool unsure;

	if (meta == MAP_FAILED) {
		if (errno != EBUSY && errno != ENODEV)
			complain("CPU %d: mmap: %s", cpu->id, strerror(errno));
		return;
	}
	head = meta->meta_page_size;
	size = meta->subbuf_size;
	length = head + size * meta->nr_subbufs;
	data = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED) {
		complain("CPU %d: mmap of %zu: %s", cpu->id, length, strerror(errno));
		munmap((void *)meta, 4096);
		return;
	}
	id = meta->reader.id;
	from = meta->reader.read;
	/* While somebody empties the buffer, writers may get what is looked at here. */
	unsure = (now.at[EMPTY] || now.at[CLOCK]) && !atomic_load(&anew);
	for (int turn = 0; turn < 40 && !atomic_load(&stop) && !atomic_load(&pausing); turn++) {
		const unsigned char *at;

		if (ioctl(fd, GET_READER)) {
			complain("CPU %d: TRACE_MMAP_IOCTL_GET_READER: %s", cpu->id, strerror(errno));
			break;
		}
		if (unsure)
			continue;
		cpu->lost_told += meta->reader.lost_events;
		if (meta->reader.id != id) {
			id = meta->reader.id;
			from = 0;
		}
		if (id >= meta->nr_subbufs || from > meta->reader.read || meta->reader.read > size - 16) {
			complain("CPU %d: mapped: sub-buffer %u, from %u to %u", cpu->id, id, from, meta->reader.read);
			break;
		}
		at = data + head + id * size + 16;
		records(cpu, at + from, at + meta->reader.read);
		if (from == meta->reader.read)
			usleep(1000);
		from = meta->reader.read;
		cpu->mapped++;
	}
	munmap(data, length);
	munmap((void *)meta, 4096);
}

static void *consumer(void *of)
{
	struct cpu *cpu = of;
	char path[64];
	int fd, pipe_ends[2], often = now.at[EMPTY] && now.at[SIZE] == GROW ? 8 : 64;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu->id);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0 || pipe(pipe_ends)) {
		complain("%s: %s", path, strerror(errno));
		exit(1);
	}
	for (unsigned int turn = 0; !atomic_load(&drained); turn++) {
		if (atomic_load(&pausing)) {
			pthread_barrier_wait(&paused);
			pthread_barrier_wait(&going_on);
		}
		if (!take(cpu, fd, pipe_ends, turn & 1))
			poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 20);
		if (now.at[READER] == MMAP && turn % 16 == 3)
			take_by_mmap(cpu, fd);
		/* Now and then writers are to overtake. */
		if (turn % often == often - 1 && !atomic_load(&stop))
			usleep(100000);
	}
	while (take(cpu, fd, pipe_ends, false))
		;
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	close(fd);
	return NULL;
}

/* Reads a text without consuming and checks that each event in it is whole. */
static void look(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024];
	int cpu, context, lines = 0;
	uint64_t number;

	if (!file)
		return;
	while (lines++ < 2000 && fgets(line, sizeof(line), file)) {
		char *text = strstr(line, ": hammer ");

		if (!text)
			continue;
		atomic_fetch_add(&looked, 1);
		if (!whole(text + 2, strlen(text + 2), &cpu, &context, &number))
			complain("%s: torn: %s", path, line);
	}
	fclose(file);
}

static void *looker(void *unused)
{
	while (!atomic_load(&stop)) {
		look("trace");
		if (now.at[SWAP])
			look("snapshot");
		usleep(50000);
	}
	return unused;
}

/* These may be refused while somebody reads. */
static void *resizer(void *unused)
{
	static const char *const sizes[] = { "64", "600", "200", "16" };
	char path[64];

	for (unsigned int turn = 0; !atomic_load(&stop); turn++) {
		put("buffer_size_kb", sizes[turn % 4]);
		snprintf(path, sizeof(path), "per_cpu/cpu%d/buffer_size_kb", turn % nr_cpus);
		put(path, sizes[(turn + 1) % 4]);
		usleep(60000);
	}
	return unused;
}

static long microseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Writers come to some sub-buffers before each growth, and after it. */
static void *grower(void *unused)
{
	while (!atomic_load(&stop)) {
		long begun;

		put("buffer_size_kb", "200");
		usleep(60000);
		begun = microseconds();
		atomic_fetch_add(&growths, 1);
		put("buffer_size_kb", "20000");
		atomic_store(&growth_takes, microseconds() - begun);
		usleep(60000);
	}
	return unused;
}

/* What throws events away ends before what else disturbs. */
static bool forgets(void)
{
	return !atomic_load(&stop) && !atomic_load(&forgotten);
}

/* Empties once in each growth, at any time of it; or now and then. */
static void *emptier(void *unused)
{
	unsigned int turn = 0;
	char path[64];

	while (forgets()) {
		if (now.at[SIZE] == GROW && atomic_load(&growths) == turn) {
			usleep(200);
			continue;
		}
		turn = now.at[SIZE] == GROW ? atomic_load(&growths) : turn + 1;
		usleep(now.at[SIZE] == GROW ? rand() % (atomic_load(&growth_takes) + 1) : 20000);
		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace", turn / 4 % nr_cpus);
		must(turn % 4 == 3 ? path : "trace", "");
	}
	return unused;
}

/* Refused while the buffer is mapped. */
static void *orderer(void *unused)
{
	static const char *const sizes[] = { "8", "16", "4" };

	for (unsigned int turn = 0; forgets(); turn++) {
		pthread_rwlock_wrlock(&order);
		put("buffer_subbuf_size_kb", sizes[turn % 3]);
		pthread_rwlock_unlock(&order);
		usleep(50000);
	}
	return unused;
}

static void *clocker(void *unused)
{
	static const char *const clocks[] = { "counter", "local", "global", "mono" };

	for (unsigned int turn = 0; forgets(); turn++) {
		must("trace_clock", clocks[turn % 4]);
		usleep(50000);
	}
	return unused;
}

static void *overwriter(void *unused)
{
	for (unsigned int turn = 0; !atomic_load(&stop); turn++) {
		must("options/overwrite", turn % 4 == 3 ? "0" : "1");
		usleep(50000);
	}
	must("options/overwrite", "1");
	return unused;
}

/* By command the writers do it. */
static void *swapper(void *unused)
{
	char path[64];

	for (unsigned int turn = 0; now.at[SWAP] == BY_FILE && !atomic_load(&stop); turn++) {
		put("snapshot", "1");
		usleep(20000);
		snprintf(path, sizeof(path), "per_cpu/cpu%d/snapshot", turn % nr_cpus);
		put(path, "1");
		usleep(20000);
	}
	for (unsigned int turn = 0; now.at[SWAP] == BY_LATENCY && !atomic_load(&stop); turn++) {
		/* Without a threshold, each that is longer than the longest. */
		must("tracing_thresh", turn % 4 == 3 ? "0" : "20");
		must("tracing_max_latency", "0");
		usleep(50000);
	}
	return unused;
}

static void *plugger(void *unused)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", nr_cpus - 1);
	while (nr_cpus > 1 && !atomic_load(&stop)) {
		must(path, "0");
		usleep(200000);
		must(path, "1");
		usleep(300000);
	}
	return unused;
}

/* Waits for events of all CPUs, now for the first one, now for many. */
static void *poller(void *unused)
{
	struct pollfd polled[CPUS + 1];
	char path[64];

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		polled[cpu] = (struct pollfd){ .fd = open(path, O_RDONLY | O_NONBLOCK), .events = POLLIN };
	}
	polled[nr_cpus] = (struct pollfd){ .fd = open("trace_pipe", O_RDONLY | O_NONBLOCK), .events = POLLIN };
	for (unsigned int turn = 0; !atomic_load(&stop); turn++) {
		must("buffer_percent", turn % 8 < 4 ? "0" : "30");
		if (poll(polled + turn % (nr_cpus + 1), 1, 200) > 0)
			atomic_fetch_add(&woken, 1);
		usleep(500);
	}
	must("buffer_percent", "0");
	for (int at = 0; at <= nr_cpus; at++)
		close(polled[at].fd);
	return unused;
}

static uint64_t stat_of(int cpu, const char *name)
{
	char path[64], line[128];
	uint64_t value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/stats", cpu);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, 10);
	if (file)
		fclose(file);
	return value;
}

/* What was written. */
struct account {
	uint64_t recorded[CPUS], refused, kinds[CONTEXTS];
};

static void written(struct account *account)
{
	FILE *file = fopen(PARAMETERS "written", "r");
	unsigned long long done, not_done;
	int cpu, context;

	memset(account, 0, sizeof(*account));
	if (!file)
		return complain("no " PARAMETERS "written");
	while (fscanf(file, "%d %d %llu %llu", &cpu, &context, &done, &not_done) == 4) {
		if (cpu >= nr_cpus || context >= CONTEXTS)
			continue;
		account->recorded[cpu] += done;
		account->refused += not_done;
		account->kinds[context] += done;
	}
	fclose(file);
}

/* Whether `text` is a word of the file. */
static bool lists(const char *path, const char *text)
{
	char words[4096];
	FILE *file = fopen(path, "r");
	size_t length = strlen(text);
	bool found = false;

	while (file && !found && fgets(words, sizeof(words), file))
		for (char *at = words; !found && (at = strstr(at, text)); at++)
			found = (at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\n');
	if (file)
		fclose(file);
	return found;
}

/* The overruns of the two rings of each CPU, which latencies go on to exchange; nothing else is recorded any more. */
static void overruns_of_both(uint64_t *overrun)
{
	cpu_set_t all;

	sched_getaffinity(0, sizeof(all), &all);
	/* The beginning of each section is recorded, too: consumers are not to be overtaken any more. */
	must("buffer_size_kb", "4000");
	must("tracing_thresh", "1");
	for (int id = 0; id < nr_cpus; id++) {
		uint64_t found[2] = { 0 };
		int count = 0, swaps = 0;
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(id, &one);
		sched_setaffinity(0, sizeof(one), &one);
		/* Consumers read both in the first part; what is recorded of a latency finds room then. */
		for (int turn = 0; turn < 80; turn++) {
			uint64_t value;

			usleep(2000);
			if (turn < 40)
				continue;
			value = stat_of(id, "overrun");
			if (!count || (value != found[0] && count < 2))
				found[count++] = value;
			else if (value != found[0] && value != found[1])
				complain("CPU %d: overrun %lu, after %lu and %lu: some are still lost", id, value, found[0], found[1]);
			swaps++;
		}
		overrun[id] = found[0] + found[1];
		/* Both may have lost as many. */
		if (count == 1 && cpus[id].lost_told == 2 * found[0])
			overrun[id] = 2 * found[0];
	}
	sched_setaffinity(0, sizeof(all), &all);
	/* Each read begins sections of its own: there would always be more to read. */
	must("tracing_on", "0");
}

static void describe(const struct round *round)
{
	printf("# %s ", phase);
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		printf("%d", round->at[dimension]);
	printf(":");
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		if (dimension == HOW || round->at[dimension])
			printf(" %s %s;", dimensions[dimension].name, dimensions[dimension].levels[round->at[dimension]]);
	printf("\n");
	fflush(stdout);
}

/* What the readers have seen agrees with what the counters say and with what was written, but for `before`. */
static void judge(const uint64_t *overrun, const struct account *before)
{
	struct account account;
	uint64_t seen = 0, lost = 0, told = 0, untold = 0, spliced = 0, mapped = 0;
	/* Does a number say that the event was recorded; may one be refused; does anybody else record? */
	bool known = now.at[HOW] == PUTS || now.at[HOW] == EVENTS;
	bool refused = now.at[SIZE] != FIXED || now.at[OVERWRITE];
	bool others = now.at[SWAP] == BY_LATENCY || (now.at[SWAP] == BY_COMMAND && now.at[READER] == MMAP);

	written(&account);
	for (int id = 0; id < nr_cpus; id++) {
		struct cpu *of = &cpus[id];
		uint64_t recorded = (account.recorded[id] - before->recorded[id]) << (now.at[HOW] == GRAPH);
		uint64_t found = of->seen + (others ? 0 : overrun[id]);

		if (others || !(known || !refused) ? found > recorded : found != recorded)
			complain("CPU %d: %lu seen + %lu overrun, but %lu written", id, of->seen, overrun[id], recorded);
		if (of->lost_untold ? of->lost_told + of->lost_untold > overrun[id] : of->lost_told != overrun[id])
			complain("CPU %d: %lu said to be lost, and %lu times some, but %lu overrun", id, of->lost_told, of->lost_untold,
				 overrun[id]);
		if (!of->seen)
			complain("CPU %d: nothing was seen", id);
		seen += of->seen;
		lost += overrun[id];
		told += of->lost_told;
		untold += of->lost_untold;
		spliced += of->spliced;
		mapped += of->mapped;
	}
	for (int context = 0; context < CONTEXTS; context++)
		if (!account.kinds[context])
			complain("context %d has written nothing", context);
	if (now.at[POLL] && !atomic_load(&woken))
		complain("who polls was never woken");
	printf("# written %lu+%lu+%lu+%lu (task, softirq, hardirq, NMI), refused %lu; in the end seen %lu, overrun %lu (told of %lu, "
	       "and %lu times of some), %lu pages spliced, %lu mapped, %ld events looked at, %ld times woken\n", account.kinds[0],
	       account.kinds[1], account.kinds[2], account.kinds[3], account.refused, seen, lost, told, untold, spliced, mapped,
	       atomic_load(&looked), atomic_load(&woken));
	fflush(stdout);
}

/* All as it was, without writers. */
static void clean_up(void)
{
	must("current_tracer", "nop");
	put("tracing_thresh", "0");
	must("options/overwrite", "1");
	must("buffer_percent", "0");
	if (!access("set_ftrace_filter", F_OK)) {
		put("set_ftrace_filter", "!hammer_seldom:snapshot");
		must("set_ftrace_filter", "");
	}
	put(EVENT "trigger", "!" TRIGGER);
	must(EVENT "enable", "0");
	must(EVENT "filter", "0");
	must("snapshot", "0");
	must("buffer_subbuf_size_kb", "4");
	must("buffer_size_kb", "200");
}

static void set_up(void)
{
	static const char *const ways[] = { "puts", "event", "discard", "discard", "function", "function" };

	clean_up();
	must("options/pause-on-trace", "0");
	must(PARAMETERS "how", ways[now.at[HOW]]);
	if (now.at[HOW] == FILTER || now.at[HOW] == DISCARD)
		must(EVENT "filter", "keep == 1");
	if (now.at[HOW] == DISCARD) {
		/* A trigger alone leaves it off softly. */
		must(EVENT "enable", "1");
		must(EVENT "trigger", TRIGGER);
	}
	/* Before the filter, which each writing takes back. */
	if (now.at[SWAP] == BY_COMMAND)
		must("set_ftrace_filter", "hammer_seldom:snapshot");
	if (now.at[HOW] >= FUNCTION) {
		must("set_ftrace_filter", "hammer_call");
		must("current_tracer", now.at[HOW] == FUNCTION ? "function" : "function_graph");
		has_arguments = !access("options/func-args", F_OK);
		if (now.at[HOW] == FUNCTION && has_arguments)
			must("options/func-args", "1");
		has_returned = !access("options/funcgraph-retval", F_OK);
	}
	if (now.at[SWAP] == BY_FILE)
		must("snapshot", "1");
	if (now.at[SWAP] == BY_LATENCY) {
		must("options/function-trace", "0");
		must("current_tracer", tracer_of_latency);
	}
	must("tracing_on", "1");
	/* Empties the buffer and the snapshot alike. */
	must("trace_clock", "local");
}

static void begin_counting(void)
{
	for (int id = 0; id < nr_cpus; id++)
		cpus[id].seen = cpus[id].lost_told = cpus[id].lost_untold = 0;
}

/* Throws away what is left, while nobody writes or reads, and says what was written so far. */
static void begin_anew(struct account *before)
{
	must(PARAMETERS "run", "0");
	atomic_store(&pausing, true);
	pthread_barrier_wait(&paused);
	must("trace_clock", "local");
	begin_counting();
	written(before);
	atomic_store(&anew, true);
	atomic_store(&pausing, false);
	pthread_barrier_wait(&going_on);
	must(PARAMETERS "run", "1");
}

static void run(const struct round *round, long duration)
{
	void *(*disturbers[DIMENSIONS])(void *) = { NULL };
	pthread_t threads[DIMENSIONS];
	uint64_t overrun[CPUS] = { 0 };
	struct account before = { 0 };

	now = *round;
	describe(round);
	if (now.at[SIZE])
		disturbers[SIZE] = now.at[SIZE] == RESIZE ? resizer : grower;
	if (now.at[SWAP])
		disturbers[SWAP] = swapper;
	if (now.at[EMPTY])
		disturbers[EMPTY] = emptier;
	if (now.at[ORDER])
		disturbers[ORDER] = orderer;
	if (now.at[CLOCK])
		disturbers[CLOCK] = clocker;
	if (now.at[OVERWRITE])
		disturbers[OVERWRITE] = overwriter;
	if (now.at[PLUG])
		disturbers[PLUG] = plugger;
	if (now.at[POLL])
		disturbers[POLL] = poller;
	if (now.at[LOOK])
		disturbers[LOOK] = looker;
	stop = forgotten = anew = pausing = drained = false;
	looked = growth_takes = woken = growths = 0;

	set_up();
	pthread_barrier_init(&paused, NULL, nr_cpus + 1);
	pthread_barrier_init(&going_on, NULL, nr_cpus + 1);
	for (int id = 0; id < nr_cpus; id++) {
		struct cpu *cpu = &cpus[id];

		*cpu = (struct cpu){ .id = id };
		for (int context = 0; context < CONTEXTS; context++)
			cpu->numbers[context] = calloc(NUMBERS / 64, 8);
		pthread_create(&cpu->thread, NULL, consumer, cpu);
	}
	must(PARAMETERS "run", "1");
	for (int i = 0; i < DIMENSIONS; i++)
		if (disturbers[i])
			pthread_create(&threads[i], NULL, disturbers[i], NULL);
	if (now.at[EMPTY] || now.at[ORDER] || now.at[CLOCK]) {
		usleep(duration / 2);
		duration -= duration / 2;
		atomic_store(&forgotten, true);
		for (int i = EMPTY; i <= CLOCK; i++)
			if (disturbers[i])
				pthread_join(threads[i], NULL);
		begin_anew(&before);
	}
	usleep(duration);
	atomic_store(&stop, true);
	for (int i = 0; i < DIMENSIONS; i++)
		if (disturbers[i] && !(i >= EMPTY && i <= CLOCK))
			pthread_join(threads[i], NULL);
	must(PARAMETERS "run", "0");

	/* Nobody writes any more. The snapshot is read, too: it takes the place of the live buffer once all of that is read. */
	if (now.at[SWAP] == BY_LATENCY)
		overruns_of_both(overrun);
	atomic_store(&drained, true);
	for (int id = 0; id < nr_cpus; id++)
		pthread_join(cpus[id].thread, NULL);
	if (now.at[SWAP] != BY_LATENCY)
		for (int id = 0; id < nr_cpus; id++)
			overrun[id] = stat_of(id, "overrun");
	if (now.at[SWAP] == BY_FILE || now.at[SWAP] == BY_COMMAND) {
		must("snapshot", "1");
		for (int id = 0; id < nr_cpus; id++) {
			consumer(&cpus[id]);
			overrun[id] += stat_of(id, "overrun");
		}
	}
	judge(overrun, &before);
	for (int id = 0; id < nr_cpus; id++)
		for (int context = 0; context < CONTEXTS; context++)
			free(cpus[id].numbers[context]);
	pthread_barrier_destroy(&paused);
	pthread_barrier_destroy(&going_on);
	clean_up();
}

/* Whether this kernel has the level, and the phase wants it. */
static bool has_level(int dimension, int level)
{
	if (level < 0 || level >= LEVELS || !dimensions[dimension].levels[level] ||
	    (level >= dimensions[dimension].patched && !strcmp(phase, "pairs")))
		return false;
	if (dimension == HOW && level == DISCARD)
		return !access("events/rtrace_hammer/hammer/hist", F_OK);
	if (dimension == HOW && level == FUNCTION)
		return lists("available_tracers", "function");
	if (dimension == HOW && level == GRAPH)
		return lists("available_tracers", "function_graph");
	if (dimension == SWAP && level == BY_COMMAND)
		return !access("set_ftrace_filter", F_OK);
	if (dimension == SWAP && level == BY_LATENCY)
		return tracer_of_latency[0];
	return true;
}

/* There is one tracer at a time, and latency tracers keep `overwrite` on. The lower dimension comes first. */
static bool can_meet(int one, int level, int other, int other_level)
{
	if (one == HOW && other == SWAP)
		return !(level >= FUNCTION && other_level == BY_LATENCY);
	return !(one == SWAP && level == BY_LATENCY && other == OVERWRITE && other_level);
}

static bool is_possible(const struct round *round)
{
	for (int one = 0; one < DIMENSIONS; one++)
		for (int other = one + 1; other < DIMENSIONS; other++)
			if (!can_meet(one, round->at[one], other, round->at[other]))
				return false;
	return true;
}

static bool met[DIMENSIONS][LEVELS][DIMENSIONS][LEVELS];

/* How many pairs meet in the round for the first time; notes them if `note`. */
static int meet(const struct round *round, bool note)
{
	int count = 0;

	for (int one = 0; one < DIMENSIONS; one++)
		for (int other = one + 1; other < DIMENSIONS; other++) {
			bool *already = &met[one][round->at[one]][other][round->at[other]];

			count += !*already;
			*already |= note;
		}
	return count;
}

/* Rounds in which all pairs meet: of many random ones with the same pair, the one with most others. */
static int choose(struct round *rounds, int most)
{
	int count = 0;

	for (int one = 0; one < DIMENSIONS; one++)
		for (int level = 0; level < LEVELS; level++)
			for (int other = one + 1; other < DIMENSIONS; other++)
				for (int other_level = 0; other_level < LEVELS; other_level++) {
					struct round best = { 0 };
					int pairs = 0;

					if (!has_level(one, level) || !has_level(other, other_level) || met[one][level][other][other_level] ||
					    !can_meet(one, level, other, other_level) || count == most)
						continue;
					for (int try = 0; try < 200; try++) {
						struct round round;

						for (int dimension = 0; dimension < DIMENSIONS; dimension++)
							do
								round.at[dimension] = rand() % LEVELS;
							while (!has_level(dimension, round.at[dimension]));
						round.at[one] = level;
						round.at[other] = other_level;
						if (is_possible(&round) && meet(&round, false) > pairs) {
							best = round;
							pairs = meet(&round, false);
						}
					}
					meet(&best, true);
					rounds[count++] = best;
				}
	return count;
}

static int type_of_event(void)
{
	FILE *file = fopen(EVENT "id", "r");
	int type = -1;

	if (!file || fscanf(file, "%d", &type) != 1)
		complain("no " EVENT "id");
	if (file)
		fclose(file);
	return type;
}

int main(int argc, char **argv)
{
	static const struct round
		in_order = { .at = { [SIZE] = RESIZE, [OVERWRITE] = 1, [PLUG] = 1, [LOOK] = 1 } },
		swapped = { .at = { [SIZE] = RESIZE, [SWAP] = BY_FILE, [OVERWRITE] = 1, [PLUG] = 1, [LOOK] = 1 } },
		emptied = { .at = { [SIZE] = GROW, [EMPTY] = 1, [PLUG] = 1 } };
	struct round rounds[200];
	int count = 1;

	if (argc < 3)
		return 2;
	phase = argv[1];
	nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	hammer_type = type_of_event();
	for (const char *const *tracer = (const char *const[]){ "preemptoff", "irqsoff", NULL }; *tracer && !tracer_of_latency[0]; tracer++)
		if (lists("available_tracers", *tracer))
			strcpy(tracer_of_latency, *tracer);
	if (!strcmp(phase, "order")) {
		rounds[0] = in_order;
	} else if (!strcmp(phase, "swap")) {
		rounds[0] = swapped;
	} else if (!strcmp(phase, "empty")) {
		rounds[0] = emptied;
	} else if (!strcmp(phase, "round")) {
		for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
			rounds[0].at[dimension] = argc > 3 && strlen(argv[3]) == DIMENSIONS ? argv[3][dimension] - '0' : -1;
			if (!has_level(dimension, rounds[0].at[dimension]))
				return 2;
		}
	} else {
		unsigned int seed = argc > 3 ? strtoul(argv[3], NULL, 0) : microseconds();

		srand(seed);
		count = choose(rounds, sizeof(rounds) / sizeof(rounds[0]));
		printf("# %s: %d rounds, seed %u\n", phase, count, seed);
	}
	for (int i = 0; i < count; i++)
		run(&rounds[i], atol(argv[2]) * 1000000 / count);
	return atomic_load(&wrong) != 0;
}
