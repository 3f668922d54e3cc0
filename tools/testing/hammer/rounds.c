// SPDX-License-Identifier: GPL-2.0
/* The dimensions of a round, and rounds in which each level of one meets each level of the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hammer.h"

static const struct {
	const char *name, *levels[LEVELS];
	/* Levels from this one on need instructions to be changed. */
	int patched;
} dimensions[DIMENSIONS] = {
	[HOW] = { "by", { "puts", "event", "filtered event", "discarded event", "function", "graph" }, DISCARD },
	[READER] = { "read", { "by read and splice", "by mmap, too", "while others map and unmap" }, LEVELS },
	[SIZE] = { "size", { "same", "changed", "grown" }, LEVELS },
	[SWAP] = { "snapshots", { "none", "by file", "by command", "by latency" }, BY_COMMAND },
	[EMPTY] = { "emptied", { "no", "yes" }, LEVELS },
	[ORDER] = { "sub-buffers", { "same", "changed" }, LEVELS },
	[CLOCK] = { "clock", { "same", "changed" }, LEVELS },
	[OVERWRITE] = { "overwrite", { "on", "on and off" }, LEVELS },
	[PLUG] = { "CPUs", { "stay", "come and go" }, LEVELS },
	[POLL] = { "polled", { "no", "yes" }, LEVELS },
	[LOOK] = { "looked at", { "no", "yes" }, LEVELS },
};

void describe(const struct round *round)
{
	printf("# %s ", phase);
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		printf("%d", round->at[dimension]);
	printf(":");
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		if (dimension == HOW || round->at[dimension])
			printf(" %s %s;", dimensions[dimension].name, dimensions[dimension].levels[round->at[dimension]]);
	printf("\n");
	fflush(stdout);
}

/* Whether this kernel has the level, and the phase wants it. */
bool has_level(int dimension, int level)
{
	if (level < 0 || level >= LEVELS || !dimensions[dimension].levels[level] ||
	    (level >= dimensions[dimension].patched && !strcmp(phase, "pairs")))
		return false;
	if (dimension == HOW && level == DISCARD)
		return !access("events/rtrace_hammer/hammer/hist", F_OK);
	if (dimension == HOW && level == FUNCTION)
		return lists("available_tracers", "function");
	if (dimension == HOW && level == GRAPH)
		return lists("available_tracers", "function_graph");
	if (dimension == SWAP && level == BY_COMMAND)
		return !access("set_ftrace_filter", F_OK);
	if (dimension == SWAP && level == BY_LATENCY)
		return tracer_of_latency[0];
	return true;
}

/* There is one tracer at a time, and latency tracers keep `overwrite` on. The lower dimension comes first. */
static bool can_meet(int one, int level, int other, int other_level)
{
	if (one == HOW && other == SWAP)
		return !(level >= FUNCTION && other_level == BY_LATENCY);
	return !(one == SWAP && level == BY_LATENCY && other == OVERWRITE && other_level);
}

static bool is_possible(const struct round *round)
{
	for (int one = 0; one < DIMENSIONS; one++)
		for (int other = one + 1; other < DIMENSIONS; other++)
			if (!can_meet(one, round->at[one], other, round->at[other]))
				return false;
	return true;
}

static bool met[DIMENSIONS][LEVELS][DIMENSIONS][LEVELS];

/* How many pairs meet in the round for the first time; notes them if `note`. */
static int meet(const struct round *round, bool note)
{
	int count = 0;

	for (int one = 0; one < DIMENSIONS; one++)
		for (int other = one + 1; other < DIMENSIONS; other++) {
			bool *already = &met[one][round->at[one]][other][round->at[other]];

			count += !*already;
			*already |= note;
		}
	return count;
}

/* Rounds in which all pairs meet: of many random ones with the same pair, the one with most others. */
int choose(struct round *rounds, int most)
{
	int count = 0;

	for (int one = 0; one < DIMENSIONS; one++)
		for (int level = 0; level < LEVELS; level++)
			for (int other = one + 1; other < DIMENSIONS; other++)
				for (int other_level = 0; other_level < LEVELS; other_level++) {
					struct round best = { 0 };
					int pairs = 0;

					if (!has_level(one, level) || !has_level(other, other_level) || met[one][level][other][other_level] ||
					    !can_meet(one, level, other, other_level))
						continue;
					for (int try = 0; try < 200; try++) {
						struct round round;

						for (int dimension = 0; dimension < DIMENSIONS; dimension++)
							do
								round.at[dimension] = rand() % LEVELS;
							while (!has_level(dimension, round.at[dimension]));
						round.at[one] = level;
						round.at[other] = other_level;
						if (is_possible(&round) && meet(&round, false) > pairs) {
							best = round;
							pairs = meet(&round, false);
						}
					}
					if (!pairs || count == most)
						return -1;
					meet(&best, true);
					rounds[count++] = best;
				}
	return count;
}
