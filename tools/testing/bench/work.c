// SPDX-License-Identifier: GPL-2.0
/*
 * work fork|pipe|open FOLDER: nanoseconds of the best of 10 rounds of real work: a task is made and waited for; a byte
 * goes through a pipe to another task and back; a file of FOLDER is made, looked at, closed and removed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 10 };

static int there[2], back[2];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fork_and_wait(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		fail("fork");
}

static void pass_a_byte(void)
{
	char byte = 0;

	if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
		fail("pipe");
}

static void open_a_file(void)
{
	struct stat stat;
	int file = open("work", O_CREAT | O_RDWR, 0600);

	if (file < 0 || fstat(file, &stat) || close(file) || unlink("work"))
		fail("open");
}

/* The other end of the pipes. It ends with the first task. */
static void answer(void)
{
	char byte;

	if (pipe(there) || pipe(back))
		fail("pipe");
	if (fork()) {
		close(back[1]);
		close(there[0]);
		return;
	}
	close(there[1]);
	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	void (*work)(void) = NULL;
	long long best = 0;
	int times = 100;

	if (argc != 3 || chdir(argv[2]))
		return 2;
	if (!strcmp(argv[1], "fork"))
		work = fork_and_wait;
	else if (!strcmp(argv[1], "open"))
		work = open_a_file;
	else if (!strcmp(argv[1], "pipe"))
		work = pass_a_byte;
	if (!work)
		return 2;
	if (work == pass_a_byte)
		answer();
	work();
	for (int round = 0; round < ROUNDS; round++) {
		long long start = now(), took;

		for (int i = 0; i < times; i++)
			work();
		took = now() - start;
		if (!best || took < best)
			best = took;
	}
	printf("%lld\n", best / times);
	return 0;
}
