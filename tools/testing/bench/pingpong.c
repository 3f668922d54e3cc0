// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong: nanoseconds of the best of 5 rounds of 2,000 wake-ups of a real-time task by one of lower priority, which
 * it answers by a byte. On one CPU each is one wake-up and switch of the kind that the wakeup tracers measure, and the
 * way back, which they do not.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 2000, ROUNDS = 5 };

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void be_urgent(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param)) {
		perror("sched_setscheduler");
		exit(1);
	}
}

static void pass(int from, int to, int first)
{
	char byte = 0;

	if (first && write(to, &byte, 1) != 1)
		exit(1);
	if (read(from, &byte, 1) != 1)
		exit(!first ? 0 : 1);
	if (!first && write(to, &byte, 1) != 1)
		exit(1);
}

int main(void)
{
	int there[2], back[2];
	long long best = 0;

	if (pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		close(there[1]);
		be_urgent(20);
		for (;;)
			pass(there[0], back[1], 0);
	}
	be_urgent(10);
	for (int round = 0; round < ROUNDS; round++) {
		long long start = now(), took;

		for (int call = 0; call < CALLS; call++)
			pass(back[0], there[1], 1);
		took = now() - start;
		if (!round || took < best)
			best = took;
	}
	printf("%lld\n", best);
	return 0;
}
