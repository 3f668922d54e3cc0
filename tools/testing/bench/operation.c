// SPDX-License-Identifier: GPL-2.0
/*
 * operation write FILE TEXT: nanoseconds of one write of TEXT and a newline to FILE, open and close included.
 * operation mkdir DIR, operation rmdir DIR: of making and of removing a directory.
 * operation lines FILE: of reading FILE to its end, or as far as it goes without waiting, per line.
 * operation pages FILE: the same per page of 4 KiB.
 *
 * In a guest where one virtual nanosecond is one instruction (ICOUNT=1) these are instructions. What a CPU that waits
 * skips counts as time, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void put(const char *path, const char *text)
{
	size_t length = strlen(text);
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, text, length) != (ssize_t)length || close(file))
		fail(path);
}

/* Reads all; how many lines or pages there were. */
static long take(const char *path, int pages)
{
	static char buffer[1 << 16];
	int file = open(path, O_RDONLY | O_NONBLOCK);
	long count = 0, bytes = 0;
	ssize_t got;

	if (file < 0)
		fail(path);
	while ((got = read(file, buffer, pages ? 4096 : sizeof(buffer))) > 0) {
		bytes += got;
		for (char *at = buffer; !pages && (at = memchr(at, '\n', buffer + got - at)); at++)
			count++;
	}
	if (got < 0 && errno != EAGAIN)
		fail(path);
	close(file);
	return pages ? bytes / 4096 : count;
}

int main(int argc, char **argv)
{
	static char text[4096];
	long count = 1;
	long long start;

	if (argc < 3)
		return 2;
	snprintf(text, sizeof(text), "%s\n", argc > 3 ? argv[3] : "");
	start = now();
	if (!strcmp(argv[1], "write"))
		put(argv[2], text);
	else if (!strcmp(argv[1], "mkdir") && mkdir(argv[2], 0700))
		fail(argv[2]);
	else if (!strcmp(argv[1], "rmdir") && rmdir(argv[2]))
		fail(argv[2]);
	else if (!strcmp(argv[1], "lines"))
		count = take(argv[2], 0);
	else if (!strcmp(argv[1], "pages"))
		count = take(argv[2], 1);
	start = now() - start;
	if (count <= 0) {
		fprintf(stderr, "%s: nothing to read\n", argv[2]);
		return 1;
	}
	printf("%lld\n", start / count);
	return 0;
}
