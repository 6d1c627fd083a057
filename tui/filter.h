/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * filter.h - what is typed after '/': words, of which one has to be there
 *
 * "leaf" keeps what holds it, "leaf|spine" what holds either. ASCII letters
 * match in both cases. An empty alternative is none: while "leaf|" is being
 * typed it means "leaf".
 */
#ifndef IBWIRE_TUI_FILTER_H
#define IBWIRE_TUI_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#define FILTER_SIZE 256
#define FILTER_WORDS 32

struct filter {
	char typed[FILTER_SIZE];  /* as it was typed */
	char lower[FILTER_SIZE];  /* the words, in small letters, NUL between them */
	const char *words[FILTER_WORDS];
	size_t word_count; /* 0: everything passes */
};

/* filter_set - another filter; what is past FILTER_SIZE - 1 bytes or FILTER_WORDS words is left out. */
void filter_set(struct filter *filter, const char *typed);

/* filter_matches - does the text hold one of the words (true where there is no filter)? */
bool filter_matches(const struct filter *filter, const char *text);

/* filter_append - one more typed character, as UTF-8. filter_erase - the last character goes. */
void filter_append(struct filter *filter, const char *bytes);
void filter_erase(struct filter *filter);

#endif
