// SPDX-License-Identifier: GPL-2.0
/* Those who disturb, one for each dimension, until they are told to stop. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hammer.h"

/* Microseconds of the last growth; how often who polls was woken. */
static atomic_long growth_takes;
atomic_long woken, unmapped;
static atomic_uint growths;
/* How often each has begun anew in this round. */
static atomic_uint turns[DIMENSIONS];
pthread_rwlock_t order = PTHREAD_RWLOCK_INITIALIZER;

/* What throws events away ends before what else disturbs. */
bool throws_away(int dimension)
{
	return dimension == EMPTY || dimension == ORDER || dimension == CLOCK;
}

/* Another turn: false once who disturbs in the dimension is to stop. */
bool goes_on(int dimension)
{
	atomic_fetch_add(&turns[dimension], 1);
	return !atomic_load(&stop) && !(throws_away(dimension) && atomic_load(&forgotten));
}

void begin_turns(void)
{
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		turns[dimension] = 0;
	growth_takes = woken = unmapped = growths = 0;
}

/* Has who disturbs in the dimension, if anybody does, come around twice? */
bool has_disturbed(int dimension)
{
	return !now.at[dimension] || !disturber(dimension) || atomic_load(&turns[dimension]) > 2;
}

/* These may be refused while somebody reads. */
static void *resizer(void *unused)
{
	static const char *const sizes[] = { "64", "600", "200", "16" };
	char path[64];

	for (unsigned int turn = 0; goes_on(SIZE); turn++) {
		put("buffer_size_kb", sizes[turn % 4]);
		snprintf(path, sizeof(path), "per_cpu/cpu%d/buffer_size_kb", turn % nr_cpus);
		put(path, sizes[(turn + 1) % 4]);
		usleep(60000);
	}
	return unused;
}

/* Writers come to some sub-buffers before each growth, and after it. */
static void *grower(void *unused)
{
	while (goes_on(SIZE)) {
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

/* Empties once in each growth, at any time of it; or now and then. */
static void *emptier(void *unused)
{
	unsigned int turn = 0;
	char path[64];

	while (goes_on(EMPTY)) {
		while (now.at[SIZE] == GROW && atomic_load(&growths) == turn && !atomic_load(&forgotten))
			usleep(200);
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

	for (unsigned int turn = 0; goes_on(ORDER); turn++) {
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

	for (unsigned int turn = 0; goes_on(CLOCK); turn++) {
		must("trace_clock", clocks[turn % 4]);
		usleep(50000);
	}
	return unused;
}

static void *overwriter(void *unused)
{
	for (unsigned int turn = 0; goes_on(OVERWRITE); turn++) {
		must("options/overwrite", turn % 4 == 3 ? "0" : "1");
		usleep(50000);
	}
	must("options/overwrite", "1");
	return unused;
}

static void *swapper(void *unused)
{
	char path[64];

	for (unsigned int turn = 0; now.at[SWAP] == BY_FILE && goes_on(SWAP); turn++) {
		put("snapshot", "1");
		usleep(20000);
		snprintf(path, sizeof(path), "per_cpu/cpu%d/snapshot", turn % nr_cpus);
		put(path, "1");
		usleep(20000);
	}
	for (unsigned int turn = 0; now.at[SWAP] == BY_LATENCY && goes_on(SWAP); turn++) {
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
	while (goes_on(PLUG) && nr_cpus > 1) {
		must(path, "0");
		usleep(100000);
		must(path, "1");
		usleep(150000);
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
	for (unsigned int turn = 0; goes_on(POLL); turn++) {
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

/* Consumes nothing: what is judged is what consumers see meanwhile. The last mapping of a CPU ends at any time. */
static void *mapper(void *unused)
{
	int fds[CPUS];
	char path[64];

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		fds[cpu] = open(path, O_RDONLY | O_NONBLOCK);
	}
	for (unsigned int turn = 0; goes_on(READER); turn++) {
		int cpu = turn / 4 % nr_cpus;
		size_t length;
		volatile unsigned char *mapped = map(cpu, fds[cpu], &length);

		if (mapped) {
			for (size_t at = 0; at < length; at += 4096)
				(void)mapped[at];
			if (turn % 4)
				usleep(rand() % 2000);
			munmap((void *)mapped, length);
			atomic_fetch_add(&unmapped, 1);
		}
		usleep(rand() % 500);
	}
	for (int cpu = 0; cpu < nr_cpus; cpu++)
		close(fds[cpu]);
	return unused;
}

/* Who disturbs in a dimension whose level is not the plain one; NULL where writers or consumers do it. */
thread_function disturber(int dimension)
{
	static const thread_function disturbers[DIMENSIONS] = {
		[SWAP] = swapper, [EMPTY] = emptier, [ORDER] = orderer, [CLOCK] = clocker,
		[OVERWRITE] = overwriter, [PLUG] = plugger, [POLL] = poller, [LOOK] = looker,
	};

	if (dimension == SWAP && now.at[SWAP] == BY_COMMAND)
		return NULL;
	if (dimension == SIZE)
		return now.at[SIZE] == RESIZE ? resizer : grower;
	if (dimension == READER)
		return now.at[READER] == MAPPED ? mapper : NULL;
	return disturbers[dimension];
}
