/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* nearest.h - "did you mean": the word that is nearest to what was typed */
#ifndef IBWIRE_CLI_NEAREST_H
#define IBWIRE_CLI_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *typed; /* borrowed */
	const char *best;  /* borrowed from what was offered; NULL: nothing is near */
	size_t distance;
};

void nearest_init(struct nearest *nearest, const char *typed);

/*
 * nearest_offer - consider a word
 * It is near if at most a third of the letters, and one more, have to change,
 * or if one of the two begins with the other. Of equally near words the first wins.
 */
void nearest_offer(struct nearest *nearest, const char *word);

#endif
