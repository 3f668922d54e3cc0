// SPDX-License-Identifier: GPL-2.0
/*
 * splice EVENTS: in the tracing directory, write so many markers on CPU 0 as fast as it can, while CPU 1 splices them away,
 * whole sub-buffers at a time. Prints how many bytes were taken and the milliseconds it took.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %d", cpu);
}

/* Until somebody writes to `end` and there is no more. */
static void take(int end)
{
	int raw = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK), null = open("/dev/null", O_WRONLY), ends[2];
	long long bytes = 0;
	int ended = 0;
	char byte;

	if (raw < 0 || null < 0 || pipe(ends))
		err(1, "trace_pipe_raw");
	on_cpu(1);
	for (;;) {
		ssize_t some = splice(raw, NULL, ends[1], NULL, 1 << 16, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

		if (some < 0 && errno != EAGAIN)
			err(1, "splice");
		if (some > 0) {
			bytes += some;
			if (splice(ends[0], NULL, null, NULL, some, 0) != some)
				err(1, "splice away");
		} else if (ended) {
			break;
		} else {
			ended = read(end, &byte, 1) == 1;
		}
	}
	printf("bytes %lld\n", bytes);
}

int main(int argc, char **argv)
{
	long events = argc > 1 ? atol(argv[1]) : 100000;
	int marker = open("trace_marker", O_WRONLY), end[2], status;
	struct timespec before, after;
	pid_t child;

	if (marker < 0 || pipe2(end, O_NONBLOCK))
		err(1, "trace_marker");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		take(end[0]);
		return 0;
	}
	on_cpu(0);
	usleep(200000);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (long i = 0; i < events; i++)
		if (write(marker, "0123456789abcdef", 16) != 16)
			err(1, "marker");
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (write(end[1], "", 1) != 1 || wait(&status) != child || status)
		errx(1, "the reader failed");
	printf("ms %ld\n", (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000);
	return 0;
}
