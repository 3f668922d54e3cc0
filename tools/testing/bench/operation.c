// SPDX-License-Identifier: GPL-2.0
/*
 * operation write FILE TEXT: nanoseconds of one write of TEXT and a newline to FILE, open and close included.
 * operation copy FILE FROM: the same of one write of all that is in FROM, which is at most 256 KiB.
 * operation truncate FILE: of opening FILE to be written from the start, and of closing it.
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

static void put(const char *path, const char *text, size_t length, int flags)
{
	int file = open(path, O_WRONLY | flags);

	if (file < 0 || (length && write(file, text, length) != (ssize_t)length) || close(file))
		fail(path);
}

/* Reads all of a file; how many bytes that were. */
static size_t load(const char *path, char *into, size_t room)
{
	int file = open(path, O_RDONLY);
	ssize_t got = file < 0 ? -1 : read(file, into, room);

	if (got < 0 || close(file))
		fail(path);
	return got;
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
	static char text[4096], whole[1 << 18];
	size_t length = 0;
	long count = 1;
	long long start;

	if (argc < 3)
		return 2;
	snprintf(text, sizeof(text), "%s\n", argc > 3 ? argv[3] : "");
	if (!strcmp(argv[1], "copy") && argc > 3)
		length = load(argv[3], whole, sizeof(whole));
	start = now();
	if (!strcmp(argv[1], "write"))
		put(argv[2], text, strlen(text), 0);
	else if (!strcmp(argv[1], "copy"))
		put(argv[2], whole, length, 0);
	else if (!strcmp(argv[1], "truncate"))
		put(argv[2], "", 0, O_TRUNC);
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
