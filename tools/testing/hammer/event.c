// SPDX-License-Identifier: GPL-2.0
/* Is an event of the hammer whole, was it seen before, and is it behind the last one of its CPU and context? */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "hammer.h"

#define LONGEST		200
#define GOLDEN		0x9e3779b97f4a7c15ul

/* Numbers of types (kernel/trace/trace.h). */
enum { TRACE_FN = 1, TRACE_PRINT = 5, TRACE_GRAPH_RET = 10, TRACE_GRAPH_ENT = 11 };

/* The event in `text`: its CPU, context and number; false if it is not whole. */
bool whole(const char *text, size_t length, int *cpu, int *context, uint64_t *number)
{
	unsigned long long value;
	unsigned int said, sum = 2166136261u, filling;
	int at = 0, head;

	/* One blank follows; what may follow that is a newline, which a blank in the format would take, too. */
	if (sscanf(text, "hammer %d %d %llu %n%8x%n", cpu, context, &value, &head, &said, &at) != 4 || !at || text[at++] != ' ')
		return false;
	for (int i = 0; i < head; i++)
		sum = (sum ^ (unsigned char)text[i]) * 16777619u;
	filling = value * 7 % LONGEST;
	if (sum != said || *cpu < 0 || *cpu >= CPUS || *context < 0 || *context >= CONTEXTS || at + filling + 1 > length)
		return false;
	for (unsigned int i = 0; i < filling; i++)
		if (text[at + i] != (char)('a' + (value + i) % 26))
			return false;
	*number = value;
	return text[at + filling] == '\n';
}

/* The event in a call's arguments: the same. */
static bool whole_call(const uint64_t *arguments, int *cpu, int *context, uint64_t *number)
{
	*cpu = arguments[0] >> 4;
	*context = arguments[0] & 0xf;
	*number = arguments[1];
	return *cpu < CPUS && *context < CONTEXTS && arguments[2] == (arguments[0] ^ arguments[1]) * GOLDEN;
}

/* The event in what a call has returned. */
static bool whole_return(uint64_t value, int *cpu, int *context, uint64_t *number)
{
	uint64_t from = value >> 12 & 0xfff;

	*number = value >> 24;
	return whole_call((uint64_t[]){ from, *number, (from ^ *number) * GOLDEN }, cpu, context, number) &&
	       (value & 0xfff) == (from ^ *number) * GOLDEN >> 52;
}

static void event(struct cpu *cpu, const char *payload, size_t length, uint64_t *on_page)
{
	uint64_t number, words[3];
	int from, context;
	uint16_t type;
	uint32_t keep;
	bool good;

	memcpy(&type, payload, sizeof(type));
	if (type == TRACE_PRINT && length >= 17 && !strncmp(payload + 16, "hammer ", 7)) {
		good = whole(payload + 16, length - 16, &from, &context, &number);
	} else if (type == hammer_type && length >= 17) {
		memcpy(&keep, payload + 8, sizeof(keep));
		if (keep != 1)
			complain("CPU %d: an event that is to be rejected: %.*s", cpu->id, (int)length - 16, payload + 16);
		good = whole(payload + 16, length - 16, &from, &context, &number);
	} else if (now.at[HOW] == FUNCTION && type == TRACE_FN && has_arguments) {
		if (length < 24 + sizeof(words))
			return complain("CPU %d: a call without arguments, of %zu bytes", cpu->id, length);
		memcpy(words, payload + 24, sizeof(words));
		good = whole_call(words, &from, &context, &number);
	} else if (now.at[HOW] == GRAPH && type == TRACE_GRAPH_RET && has_returned) {
		memcpy(words, payload + 16, sizeof(*words));
		good = whole_return(*words, &from, &context, &number);
	} else {
		/* Without a number it can only be counted. */
		cpu->seen += (now.at[HOW] == FUNCTION && type == TRACE_FN) ||
			     (now.at[HOW] == GRAPH && (type == TRACE_GRAPH_ENT || type == TRACE_GRAPH_RET));
		return;
	}
	if (!good) {
		complain("CPU %d: torn, type %d, %zu bytes: %.*s", cpu->id, type, length, (int)length - 16, payload + 16);
		return;
	}
	if (from != cpu->id)
		complain("CPU %d: an event of CPU %d", cpu->id, from);
	if (number <= on_page[context])
		complain("CPU %d context %d: %lu behind %lu", cpu->id, context, number, on_page[context]);
	on_page[context] = number;
	if (number < NUMBERS) {
		uint64_t *word = &cpu->numbers[context][number / 64], bit = 1ull << number % 64;

		if (*word & bit)
			complain("CPU %d context %d: %lu twice", cpu->id, context, number);
		*word |= bit;
	}
	cpu->seen++;
}

void records(struct cpu *cpu, const unsigned char *at, const unsigned char *end)
{
	uint64_t none[CONTEXTS] = { 0 }, *on_page = now.at[SWAP] ? none : cpu->last;

	while (at < end) {
		uint32_t word, size;
		unsigned int kind;
		const unsigned char *text;

		memcpy(&word, at, 4);
		kind = word & 31;
		if (kind == 29 && !(word >> 5))
			break;
		if (kind >= 30) {
			at += 8;
			continue;
		}
		text = at + 4;
		size = kind * 4;
		if (kind == 0 || kind == 29) {
			/* The length counts itself. */
			memcpy(&size, at + 4, 4);
			text += 4;
			size -= 4;
		}
		if (text > end || size > (size_t)(end - text)) {
			complain("CPU %d: an event %08x of %u bytes, where %zd are left on its page", cpu->id, word, size, end - text);
			return;
		}
		if (kind != 29)
			event(cpu, (const char *)text, size, on_page);
		at = text + ((size + 3) & ~3u);
	}
}

void sub_buffer(struct cpu *cpu, const unsigned char *data, size_t size)
{
	uint64_t commit, lost;
	size_t length;

	memcpy(&commit, data + 8, 8);
	length = commit & 0x3fffffff;
	if (length > size - 16)
		return complain("CPU %d: %zu bytes on a page of %zu", cpu->id, length, size);
	if (commit & 1u << 30) {
		memcpy(&lost, data + 16 + length, 8);
		cpu->lost_told += lost;
	} else if (commit & 1u << 31) {
		cpu->lost_untold++;
	}
	records(cpu, data + 16, data + 16 + length);
}
