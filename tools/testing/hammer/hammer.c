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
 * Phases: `order`, `swap`, `empty` and `unmap` are one round each. `pairs` are rounds in which each level of a dimension meets each
 * level of the others that it can be together with; `pairs-patched` has as well what needs instructions of the kernel to be
 * changed (emulators of several CPUs at once are not always up to that). SEED chooses among such sets of rounds; it is printed.
 * `round` is the one whose levels, a digit each, stand in the place of SEED, as they are printed before a round. A round takes
 * its part of the seconds, and longer until each who disturbs has come around twice.
 * Prints what is wrong; exit status 0 if nothing is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hammer.h"

#define PARAMETERS	"/sys/module/rtrace_hammer/parameters/"
/* What discards an event in the ring, not before: its place must be there, since the trigger reads its time. */
#define TRIGGER		"hist:keys=keep:at=common_timestamp"

/* So many microseconds longer than it is to take may a round take until all that disturb have come around. */
#define PATIENCE	30000000l

int nr_cpus, hammer_type;
bool has_arguments, has_returned;
char tracer_of_latency[32];
const char *phase;
struct round now;
atomic_bool stop, forgotten, anew, pausing, drained;
pthread_barrier_t paused, going_on;
static struct cpu cpus[CPUS];
static atomic_int wrong;

void complain(const char *format, ...)
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

int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC), done;

	if (fd < 0)
		return -errno;
	done = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return done;
}

void must(const char *path, const char *text)
{
	int done = put(path, text);

	if (done)
		complain("%s to %s: %s", text, path, strerror(-done));
}

long microseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000 + time.tv_nsec / 1000;
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
bool lists(const char *path, const char *text)
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
		int count = 0;
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(id, &one);
		sched_setaffinity(0, sizeof(one), &one);
		/* Consumers read both in the first part; what is recorded of a latency finds room then. */
		for (int turn = 0; turn < 80 || (count < 2 && turn < 240); turn++) {
			uint64_t value;

			usleep(2000);
			if (turn < 40)
				continue;
			value = stat_of(id, "overrun");
			if (!count || (value != found[0] && count < 2))
				found[count++] = value;
			else if (value != found[0] && value != found[1])
				complain("CPU %d: overrun %lu, after %lu and %lu: some are still lost", id, value, found[0], found[1]);
		}
		/* If the other ring was not seen, both have lost as many. */
		overrun[id] = found[0] + found[count - 1];
	}
	sched_setaffinity(0, sizeof(all), &all);
	/* Each read begins sections of its own: there would always be more to read. */
	must("tracing_on", "0");
}

/* What the readers have seen agrees with what the counters say and with what was written, but for `before`. */
static void judge(const uint64_t *overrun, const struct account *before)
{
	struct account account;
	uint64_t seen = 0, lost = 0, told = 0, untold = 0, spliced = 0, mapped = 0;
	/* Does a number say that the event was recorded; may one be refused; does anybody else record? */
	bool known = now.at[HOW] == PUTS || now.at[HOW] == EVENTS;
	bool refused = now.at[SIZE] != FIXED || now.at[OVERWRITE];
	bool others = now.at[SWAP] == BY_LATENCY || (now.at[SWAP] == BY_COMMAND && now.at[READER]);
	bool exact = !others && (known || !refused);

	written(&account);
	for (int id = 0; id < nr_cpus; id++) {
		struct cpu *of = &cpus[id];
		uint64_t recorded = (account.recorded[id] - before->recorded[id]) << (now.at[HOW] == GRAPH);
		uint64_t found = of->seen + (others ? 0 : overrun[id]);

		if (exact ? found != recorded : found > recorded)
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
	if (now.at[READER] == MAPPED && !now.at[SIZE] && !now.at[SWAP] && !now.at[ORDER] && !atomic_load(&unmapped))
		complain("nothing was mapped");
	printf("# written %lu+%lu+%lu+%lu (task, softirq, hardirq, NMI), refused %lu; in the end seen %lu, overrun %lu (told of %lu, "
	       "and %lu times of some), %lu pages spliced, %lu mapped, %ld events looked at, %ld times woken, %ld unmapped\n", account.kinds[0],
	       account.kinds[1], account.kinds[2], account.kinds[3], account.refused, seen, lost, told, untold, spliced, mapped,
	       atomic_load(&looked), atomic_load(&woken), atomic_load(&unmapped));
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

/* Waits for so many microseconds, and until those who throw events away, or the others, have come around twice. */
static void let_disturb(long duration, bool throwing)
{
	long begun = microseconds();

	usleep(duration);
	for (int i = 0; i < DIMENSIONS; i++)
		while (throws_away(i) == throwing && !has_disturbed(i)) {
			if (microseconds() - begun > duration + PATIENCE)
				return complain("a level did not come around twice in %ld s: dimension %d", (duration + PATIENCE) / 1000000, i);
			usleep(2000);
		}
}

static void run(const struct round *round, long duration)
{
	thread_function disturbers[DIMENSIONS];
	pthread_t threads[DIMENSIONS];
	uint64_t overrun[CPUS] = { 0 };
	struct account before = { 0 };

	now = *round;
	describe(round);
	for (int i = 0; i < DIMENSIONS; i++)
		disturbers[i] = now.at[i] ? disturber(i) : NULL;
	stop = forgotten = anew = pausing = drained = false;
	looked = 0;
	begin_turns();

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
		let_disturb(duration / 2, true);
		duration -= duration / 2;
		atomic_store(&forgotten, true);
		for (int i = 0; i < DIMENSIONS; i++)
			if (disturbers[i] && throws_away(i))
				pthread_join(threads[i], NULL);
		begin_anew(&before);
	}
	let_disturb(duration, false);
	atomic_store(&stop, true);
	for (int i = 0; i < DIMENSIONS; i++)
		if (disturbers[i] && !throws_away(i))
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
		emptied = { .at = { [SIZE] = GROW, [EMPTY] = 1, [PLUG] = 1 } },
		unmapping = { .at = { [READER] = MAPPED, [POLL] = 1 } };
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
	} else if (!strcmp(phase, "unmap")) {
		rounds[0] = unmapping;
	} else if (!strcmp(phase, "round")) {
		for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
			rounds[0].at[dimension] = argc > 3 && strlen(argv[3]) == DIMENSIONS ? argv[3][dimension] - '0' : -1;
			if (!has_level(dimension, rounds[0].at[dimension]))
				return 2;
		}
	} else if (!strcmp(phase, "pairs") || !strcmp(phase, "pairs-patched")) {
		unsigned int seed = argc > 3 ? strtoul(argv[3], NULL, 0) : (unsigned long)microseconds();

		srand(seed);
		count = choose(rounds, sizeof(rounds) / sizeof(rounds[0]));
		printf("# %s: %d rounds, seed %u\n", phase, count, seed);
		if (count < 0)
			complain("not all pairs meet");
	} else {
		return 2;
	}
	for (int i = 0; i < count; i++)
		run(&rounds[i], atol(argv[2]) * 1000000 / count);
	return atomic_load(&wrong) != 0;
}
