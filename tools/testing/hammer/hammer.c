// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of the hammer, and those who disturb: `hammer PHASE SECONDS`, in the tracing directory, with rtrace_hammer
 * loaded. One consumer per CPU takes sub-buffers out, by read and by splice in turn, and checks every event: is its sum
 * right, was it seen before, is it behind the last one of its CPU and context. In the end all is read, and for each CPU
 *
 *	events seen + overrun = events written
 *
 * Phases: `order` reads in order while others look at the trace, resize it, switch overwrite, take a CPU away;
 * `swap` does the same with snapshots taken all the time, all CPUs and one, so that the order holds on each sub-buffer;
 * `empty` reads in order while the trace is emptied, all CPUs or one, in the midst of each resize. The counts begin anew
 * each time, so no more may be seen than was written.
 * Prints what is wrong; exit status 0 if nothing is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CPUS		64
#define CONTEXTS	4
#define LONGEST		200
#define NUMBERS		(1 << 24)
#define PAGE		4096
#define WRITTEN		"/sys/module/rtrace_hammer/parameters/written"
#define RUN		"/sys/module/rtrace_hammer/parameters/run"

struct cpu {
	pthread_t thread;
	int id;
	uint64_t seen, last[CONTEXTS];
	/* One bit for each number seen. */
	uint64_t *numbers[CONTEXTS];
	uint64_t pages, spliced, lost_told, lost_untold;
};

static struct cpu cpus[CPUS];
static int nr_cpus;
static const char *phase;
static bool swapping, emptying;
static atomic_bool stop, drained;
static atomic_int wrong;
static atomic_long looked, growth_takes;
static atomic_uint growths;

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

static void event(struct cpu *cpu, const char *payload, size_t length, uint64_t *on_page)
{
	uint16_t type;
	uint64_t number;
	int from, context;

	memcpy(&type, payload, sizeof(type));
	if (type != 5 || length < 17 || strncmp(payload + 16, "hammer ", 7))
		return;
	if (!whole(payload + 16, length - 16, &from, &context, &number)) {
		complain("CPU %d: torn: %.*s", cpu->id, (int)length - 16, payload + 16);
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

static void page(struct cpu *cpu, const unsigned char *data)
{
	uint64_t time, commit, lost, none[CONTEXTS] = { 0 }, *on_page = swapping ? none : cpu->last;
	const unsigned char *at = data + 16, *end;

	memcpy(&time, data, 8);
	memcpy(&commit, data + 8, 8);
	if ((commit & 0x3fffffff) > PAGE - 16)
		return complain("CPU %d: a page of %lu bytes", cpu->id, commit & 0x3fffffff);
	end = at + (commit & 0x3fffffff);
	cpu->pages++;
	if (commit & 1u << 30) {
		memcpy(&lost, end, 8);
		cpu->lost_told += lost;
	} else if (commit & 1u << 31) {
		cpu->lost_untold++;
	}
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
		complain("CPU %d: an event ends behind its page", cpu->id);
}

/* Takes what there is; false if that is nothing. */
static bool consume(struct cpu *cpu, int fd, int *pipe, bool by_splice)
{
	unsigned char data[PAGE];
	ssize_t done;

	if (by_splice) {
		done = splice(fd, NULL, pipe[1], NULL, 8 * PAGE, SPLICE_F_NONBLOCK);
		for (ssize_t left = done; left > 0; left -= PAGE) {
			for (ssize_t got = 0; got < PAGE;)
				got += read(pipe[0], data + got, PAGE - got);
			page(cpu, data);
			cpu->spliced++;
		}
		return done > 0;
	}
	done = read(fd, data, PAGE);
	if (done == PAGE)
		page(cpu, data);
	else if (done > 0 || (done < 0 && errno != EAGAIN))
		complain("CPU %d: read gives %zd", cpu->id, done);
	return done > 0;
}

static void *consumer(void *of)
{
	struct cpu *cpu = of;
	char path[64];
	int fd, pipe_ends[2], often = emptying ? 8 : 256;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu->id);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0 || pipe(pipe_ends)) {
		complain("%s: %s", path, strerror(errno));
		return NULL;
	}
	for (unsigned int turn = 0; !atomic_load(&stop); turn++) {
		if (!consume(cpu, fd, pipe_ends, turn & 1))
			poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 20);
		/* Now and then writers are to overtake. */
		if (turn % often == often - 1)
			usleep(300000);
	}
	while (!atomic_load(&drained))
		usleep(1000);
	while (consume(cpu, fd, pipe_ends, false))
		;
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
		if (swapping)
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
		must("options/overwrite", turn % 8 == 7 ? "0" : "1");
		usleep(100000);
	}
	must("options/overwrite", "1");
	return unused;
}

static void *swapper(void *unused)
{
	char path[64];

	for (unsigned int turn = 0; !atomic_load(&stop); turn++) {
		put("snapshot", "1");
		usleep(20000);
		snprintf(path, sizeof(path), "per_cpu/cpu%d/snapshot", turn % nr_cpus);
		put(path, "1");
		usleep(20000);
	}
	return unused;
}

static long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Writers come to some sub-buffers before each growth, and after it. */
static void *grower(void *unused)
{
	while (!atomic_load(&stop)) {
		long begun;

		must("buffer_size_kb", "200");
		usleep(60000);
		begun = microseconds();
		atomic_fetch_add(&growths, 1);
		must("buffer_size_kb", "20000");
		atomic_store(&growth_takes, microseconds() - begun);
		usleep(60000);
	}
	return unused;
}

/* Empties once in each growth, at any time of it. */
static void *emptier(void *unused)
{
	unsigned int turn = 0;
	char path[64];

	while (!atomic_load(&stop)) {
		if (atomic_load(&growths) == turn) {
			usleep(200);
			continue;
		}
		turn = atomic_load(&growths);
		usleep(rand() % (atomic_load(&growth_takes) + 1));
		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace", turn / 4 % nr_cpus);
		must(turn % 4 == 3 ? path : "trace", "");
	}
	return unused;
}

static void *plugger(void *unused)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", nr_cpus - 1);
	while (nr_cpus > 1 && !atomic_load(&stop)) {
		must(path, "0");
		usleep(500000);
		must(path, "1");
		usleep(1000000);
	}
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

static void written(uint64_t *recorded, uint64_t *refused, uint64_t *kinds)
{
	FILE *file = fopen(WRITTEN, "r");
	unsigned long long done, not_done;
	int cpu, context;

	if (!file)
		return complain("no " WRITTEN);
	while (fscanf(file, "%d %d %llu %llu", &cpu, &context, &done, &not_done) == 4) {
		if (cpu >= nr_cpus || context >= CONTEXTS)
			continue;
		recorded[cpu] += done;
		*refused += not_done;
		kinds[context] += done;
	}
	fclose(file);
}

/* What the readers have seen agrees with what the counters say and with what was written. */
static void judge(const uint64_t *overrun)
{
	uint64_t recorded[CPUS] = { 0 }, refused = 0, kinds[CONTEXTS] = { 0 }, seen = 0, lost = 0, told = 0, untold = 0, spliced = 0;

	written(recorded, &refused, kinds);
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		struct cpu *of = &cpus[cpu];

		if (emptying ? of->seen > recorded[cpu] : of->seen + overrun[cpu] != recorded[cpu])
			complain("CPU %d: %lu seen + %lu overrun, but %lu written", cpu, of->seen, overrun[cpu], recorded[cpu]);
		if (!of->seen)
			complain("CPU %d: nothing was seen", cpu);
		if (!emptying && of->lost_told > overrun[cpu])
			complain("CPU %d: %lu said to be lost, %lu overrun", cpu, of->lost_told, overrun[cpu]);
		seen += of->seen;
		lost += overrun[cpu];
		told += of->lost_told;
		untold += of->lost_untold;
		spliced += of->spliced;
	}
	for (int context = 0; context < CONTEXTS; context++)
		if (!kinds[context])
			complain("context %d has written nothing", context);
	printf("# %s: written %lu+%lu+%lu+%lu (task, softirq, hardirq, NMI), refused %lu; seen %lu, overrun %lu (pages told of %lu, "
	       "and %lu times of some), %lu pages spliced, %ld events looked at\n", phase, kinds[0], kinds[1],
	       kinds[2], kinds[3], refused, seen, lost, told, untold, spliced, atomic_load(&looked));
}

int main(int argc, char **argv)
{
	void *(*disturbers[])(void *) = { looker, resizer, plugger, swapper };
	pthread_t threads[4];
	uint64_t overrun[CPUS] = { 0 };
	int count;

	if (argc != 3)
		return 2;
	phase = argv[1];
	swapping = !strcmp(phase, "swap");
	emptying = !strcmp(phase, "empty");
	if (emptying) {
		disturbers[0] = emptier;
		disturbers[1] = grower;
	}
	nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	count = swapping ? 4 : 3;

	must("options/pause-on-trace", "0");
	must("buffer_percent", "0");
	must("buffer_size_kb", "200");
	must("snapshot", "0");
	must("trace", "");
	must("tracing_on", "1");
	for (int id = 0; id < nr_cpus; id++) {
		cpus[id].id = id;
		for (int context = 0; context < CONTEXTS; context++)
			cpus[id].numbers[context] = calloc(NUMBERS / 64, 8);
		pthread_create(&cpus[id].thread, NULL, consumer, &cpus[id]);
	}
	must(RUN, "1");
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, disturbers[i], NULL);
	sleep(atoi(argv[2]));
	atomic_store(&stop, true);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	must(RUN, "0");
	sleep(1);

	/* Nobody writes any more. The snapshot is read, too: it takes the place of the live buffer once all of that is read. */
	atomic_store(&drained, true);
	for (int id = 0; id < nr_cpus; id++)
		pthread_join(cpus[id].thread, NULL);
	for (int id = 0; id < nr_cpus; id++)
		overrun[id] = stat_of(id, "overrun");
	if (swapping) {
		must("snapshot", "1");
		for (int id = 0; id < nr_cpus; id++) {
			consumer(&cpus[id]);
			overrun[id] += stat_of(id, "overrun");
		}
	}
	judge(overrun);
	must("snapshot", "0");
	return atomic_load(&wrong) != 0;
}
