/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* nearest.h - "did you mean": the nearest match of a mistyped word */
#ifndef IBWIRE_BASE_NEAREST_H
#define IBWIRE_BASE_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *typed; /* borrowed */
	const char *best;  /* borrowed from the candidates; NULL: no match */
	const char *value; /* to be typed after @best: " json" of --format, else "" */
	size_t distance, letters; /* letters: those that differ, also of a prefix */
	char hint[96];
};

void nearest_init(struct nearest *nearest, const char *typed);

/*
 * nearest_offer - consider a candidate
 * It matches if it is what other programs call @typed: format for json. Otherwise if at most a third of the letters
 * plus one differ, or if one word is a prefix of the other. Of equally near candidates the one with fewer other
 * letters wins, then the first.
 */
void nearest_offer(struct nearest *nearest, const char *word);

/* nearest_hint - ": did you mean 'ports'?" after an error, or "" (borrowed from @nearest). */
const char *nearest_hint(struct nearest *nearest);

#endif
