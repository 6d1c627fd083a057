/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * filter.h - what is typed after '/': which rows stay
 *
 * "leaf" keeps what holds it, "leaf|spine" what holds either, "leaf 4xHDR" what
 * holds both; "!leaf" what does not hold it. ASCII letters match in both cases.
 * A term with a character that means something in regular expressions (POSIX
 * extended) is one; '|' and blanks inside of parentheses and brackets are part of
 * it. "tier:2" is a word and its value; what it means is the caller's business.
 * An empty alternative is none: while "leaf|" is being typed it means "leaf".
 */
#ifndef IBWIRE_TUI_MODEL_FILTER_H
#define IBWIRE_TUI_MODEL_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_SIZE 256
#define FILTER_TERMS 32

/* Words that take a value. */
enum filter_word {
	FILTER_TIER, FILTER_RAIL, FILTER_STATE, FILTER_CLASS, FILTER_ROLE, FILTER_HOST, FILTER_SPEED, FILTER_WIDTH,
	FILTER_ERRORS, FILTER_FINDING, FILTER_TAGGED, FILTER_WORD_COUNT,
	FILTER_TEXT, FILTER_REGEX, /* no words */
};

struct filter_term {
	char *text;          /* in small letters but where it is an expression; of a word its value */
	uint8_t word;        /* enum filter_word */
	uint8_t alternative; /* terms of one alternative stand side by side */
	bool negated;
	regex_t regex;       /* of FILTER_REGEX */
};

/* A zeroed struct is the filter that everything passes. */
struct filter {
	char typed[FILTER_SIZE];     /* as it was typed */
	char chars[2 * FILTER_SIZE]; /* the terms' texts, NUL between them */
	struct filter_term terms[FILTER_TERMS];
	size_t term_count;           /* 0: everything passes */
	char trouble[160];           /* what is wrong with it, "" for nothing */
};

/*
 * filter_set - another filter; what is past FILTER_SIZE - 1 bytes or FILTER_TERMS terms is left out
 * A broken expression, or a word that there is not, is told in filter->trouble and matches as plain text.
 */
void filter_set(struct filter *filter, const char *typed);
void filter_done(struct filter *filter);

/*
 * filter_compile - regcomp() of an extended expression that a person typed, in either case of letters
 * @text:  refused where it has back-references or expands by its repetitions to more than 1,000
 *         characters: those cost regcomp() gigabytes and matching forever
 * @why:   @size bytes; on failure, what is wrong with it
 *
 * Return: 0, and @regex is for regfree(); else regcomp()'s code.
 */
int filter_compile(regex_t *regex, const char *text, char *why, size_t size);

/* What is asked of a row beside its text. Return: does it have this value of the word? */
typedef bool filter_word_fn(void *ctx, const struct filter_term *term);

/*
 * filter_matches - does a row pass (true where there is no filter)?
 * @text:  of the row; a line break ends a part of it, so that nothing matches across, and ^ and $ match there
 * @has:   NULL: no row has any
 */
bool filter_matches(const struct filter *filter, const char *text, filter_word_fn *has, void *ctx);

/* filter_reads - does it look at a row's text at all, or only ask for words? */
bool filter_reads(const struct filter *filter);


#endif
