// SPDX-License-Identifier: GPL-2.0
/*
 * scale CPUS CALLS: nanoseconds in which one process on each of so many CPUs calls getppid() so many times, together.
 *
 * In a guest where one virtual nanosecond is one instruction, of whichever CPU (ICOUNT=1 SMP=n), that is the number of
 * instructions that all of them execute.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void work(int cpu, int calls, volatile int *ready, volatile int *go)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
	__atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
	while (!*go)
		;
	for (int call = 0; call < calls; call++)
		syscall(SYS_getppid);
	exit(0);
}

int main(int argc, char **argv)
{
	int cpus = argc > 2 ? atoi(argv[1]) : 0, calls = argc > 2 ? atoi(argv[2]) : 0, bad = 0, status;
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long start;

	if (cpus < 1 || calls < 1 || shared == MAP_FAILED) {
		fprintf(stderr, "usage: scale CPUS CALLS\n");
		return 2;
	}
	for (int cpu = 1; cpu < cpus; cpu++)
		if (!fork())
			work(cpu, calls, &shared[0], &shared[1]);
	while (shared[0] != cpus - 1)
		usleep(1000);
	start = now();
	shared[1] = 1;
	if (!fork())
		work(0, calls, &shared[0], &shared[1]);
	while (wait(&status) > 0)
		bad |= status;
	printf("%lld\n", now() - start);
	return bad != 0;
}
