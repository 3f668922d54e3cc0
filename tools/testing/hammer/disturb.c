// SPDX-License-Identifier: GPL-2.0
/* Those who disturb, one for each dimension, until they are told to stop. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hammer.h"

/* Microseconds of the last growth; how often who polls was woken. */
atomic_long growth_takes, woken;
atomic_uint growths;
pthread_rwlock_t order = PTHREAD_RWLOCK_INITIALIZER;

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

/* Who disturbs in a dimension whose level is not the plain one; NULL where the writers or the readers do it. */
thread_function disturber(int dimension)
{
	static const thread_function disturbers[DIMENSIONS] = {
		[SWAP] = swapper, [EMPTY] = emptier, [ORDER] = orderer, [CLOCK] = clocker,
		[OVERWRITE] = overwriter, [PLUG] = plugger, [POLL] = poller, [LOOK] = looker,
	};

	if (dimension == SIZE)
		return now.at[SIZE] == RESIZE ? resizer : grower;
	return disturbers[dimension];
}
