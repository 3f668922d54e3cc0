// SPDX-License-Identifier: GPL-2.0
/* Those who read: one consumer per CPU takes sub-buffers out, by read, by splice and by a mapping; another reads the text. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hammer.h"

/* Bytes of the largest sub-buffer there is here. */
#define LARGEST		(16 << 10)

/* include/uapi/linux/trace_mmap.h */
#define GET_READER	_IO('R', 0x20)

/* So often a text had an event. */
atomic_long looked;

/* The size of sub-buffers; it stays while `order` is held. */
static size_t sub_buffer_size(void)
{
	char text[16] = "";
	int fd = open("buffer_subbuf_size_kb", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		complain("buffer_subbuf_size_kb: %s", strerror(errno));
	close(fd);
	return atoi(text) * 1024ul;
}

static bool take_by_splice(struct cpu *cpu, int fd, const int *pipe)
{
	unsigned char data[LARGEST];
	ssize_t done;
	size_t size;

	if (now.at[ORDER])
		pthread_rwlock_rdlock(&order);
	size = now.at[ORDER] ? sub_buffer_size() : 4096;
	done = splice(fd, NULL, pipe[1], NULL, 2 * LARGEST, SPLICE_F_NONBLOCK);
	if (now.at[ORDER])
		pthread_rwlock_unlock(&order);
	/* The file's position need not be a multiple of a new size. */
	if (done < 0 && errno != EAGAIN && !(errno == EINVAL && now.at[ORDER]))
		complain("CPU %d: splice: %s", cpu->id, strerror(errno));
	for (ssize_t left = done; left > 0; left -= size) {
		for (size_t got = 0; got < size;) {
			ssize_t more = read(pipe[0], data + got, size - got);

			if (more <= 0) {
				complain("CPU %d: a pipe gives %zd", cpu->id, more);
				return false;
			}
			got += more;
		}
		sub_buffer(cpu, data, size);
		cpu->spliced++;
	}
	return done > 0;
}

/* Takes what there is; false if that is nothing. */
static bool take(struct cpu *cpu, int fd, const int *pipe, bool by_splice)
{
	unsigned char data[LARGEST];
	ssize_t done;

	if (by_splice)
		return take_by_splice(cpu, fd, pipe);
	done = read(fd, data, sizeof(data));
	if (done > 0 && done % 4096 == 0)
		sub_buffer(cpu, data, done);
	else if (done > 0 || (done < 0 && errno != EAGAIN))
		complain("CPU %d: read gives %zd", cpu->id, done);
	return done > 0;
}

/* Maps a CPU's buffer; NULL where it cannot be: snapshots may be taken, or the buffer changes just now. */
void *map(int cpu, int fd, size_t *length)
{
	struct trace_buffer_meta *meta = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	void *mapped;

	if (meta == MAP_FAILED) {
		if (errno != EBUSY && errno != ENODEV)
			complain("CPU %d: mmap: %s", cpu, strerror(errno));
		return NULL;
	}
	*length = meta->meta_page_size + (size_t)meta->subbuf_size * meta->nr_subbufs;
	mapped = mmap(NULL, *length, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		complain("CPU %d: mmap of %zu: %s", cpu, *length, strerror(errno));
	munmap(meta, 4096);
	return mapped == MAP_FAILED ? NULL : mapped;
}

/* Takes some sub-buffers in a mapping. */
static void take_by_mmap(struct cpu *cpu, int fd)
{
	size_t length;
	volatile struct trace_buffer_meta *meta = map(cpu->id, fd, &length);
	unsigned char *data;
	size_t size;
	uint32_t id, from;
	bool unsure;

	if (!meta)
		return;
	size = meta->subbuf_size;
	data = (unsigned char *)meta + meta->meta_page_size;
	id = meta->reader.id;
	from = meta->reader.read;
	/* While somebody empties the buffer, writers may get what is looked at here. */
	unsure = (now.at[EMPTY] || now.at[CLOCK]) && !atomic_load(&anew);
	for (int turn = 0; turn < 40 && !atomic_load(&stop) && !atomic_load(&pausing); turn++) {
		const unsigned char *at;

		if (ioctl(fd, GET_READER)) {
			complain("CPU %d: TRACE_MMAP_IOCTL_GET_READER: %s", cpu->id, strerror(errno));
			break;
		}
		if (unsure)
			continue;
		cpu->lost_told += meta->reader.lost_events;
		if (meta->reader.id != id) {
			id = meta->reader.id;
			from = 0;
		}
		if (id >= meta->nr_subbufs || from > meta->reader.read || meta->reader.read > size - 16) {
			complain("CPU %d: mapped: sub-buffer %u, from %u to %u", cpu->id, id, from, meta->reader.read);
			break;
		}
		at = data + id * size + 16;
		records(cpu, at + from, at + meta->reader.read);
		if (from == meta->reader.read)
			usleep(1000);
		from = meta->reader.read;
		cpu->mapped++;
	}
	munmap((void *)meta, length);
}

void *consumer(void *of)
{
	struct cpu *cpu = of;
	char path[64];
	int fd, pipe_ends[2];
	unsigned int often = now.at[EMPTY] && now.at[SIZE] == GROW ? 8 : 64;

	snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu->id);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0 || pipe(pipe_ends)) {
		complain("%s: %s", path, strerror(errno));
		exit(1);
	}
	for (unsigned int turn = 0; !atomic_load(&drained); turn++) {
		if (atomic_load(&pausing)) {
			pthread_barrier_wait(&paused);
			pthread_barrier_wait(&going_on);
		}
		if (!take(cpu, fd, pipe_ends, turn & 1))
			poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 20);
		if (now.at[READER] == MMAP && turn % 16 == 3)
			take_by_mmap(cpu, fd);
		/* Now and then writers are to overtake. */
		if (turn % often == often - 1u && !atomic_load(&stop))
			usleep(100000);
	}
	while (take(cpu, fd, pipe_ends, false))
		;
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	close(fd);
	return NULL;
}

/* Reads a text without consuming and checks that each event in it is whole. */
static void look(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024];
	int cpu, context, lines = 0;
	uint64_t number;

	if (!file)
		return;
	while (lines++ < 2000 && fgets(line, sizeof(line), file)) {
		char *text = strstr(line, ": hammer ");

		if (!text)
			continue;
		atomic_fetch_add(&looked, 1);
		if (!whole(text + 2, strlen(text + 2), &cpu, &context, &number))
			complain("%s: torn: %s", path, line);
	}
	fclose(file);
}

void *looker(void *unused)
{
	while (goes_on(LOOK)) {
		look("trace");
		if (now.at[SWAP])
			look("snapshot");
		usleep(50000);
	}
	return unused;
}
