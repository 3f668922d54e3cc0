// SPDX-License-Identifier: GPL-2.0
/*
 * getppid [FILE [ioctl]]: nanoseconds of the best of 5 rounds of 20,000 calls of getppid(), or of writes of 16 bytes to FILE, or
 * of ioctl() with a command that FILE does not know.
 *
 * In a guest where one virtual nanosecond is one instruction (ICOUNT=1), what tracing adds to the loop is the number of
 * instructions that it adds to the calls. Errors of write() do not count: a dropped write is one of the things measured.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 20000, ROUNDS = 5 };

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int file = argc > 1 ? open(argv[1], O_WRONLY) : -1;
	long number = argc > 2 ? SYS_ioctl : argc > 1 ? SYS_write : SYS_getppid;
	const char *text = argc > 2 ? NULL : "sixteen bytes...";
	long long best = 0;

	if (argc > 1 && file < 0) {
		perror(argv[1]);
		return 1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		long long start = now(), took;

		for (int call = 0; call < CALLS; call++)
			syscall(number, file, text, 16);
		took = now() - start;
		if (!round || took < best)
			best = took;
	}
	printf("%lld\n", best);
	return 0;
}
