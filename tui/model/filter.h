/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * filter.h - filter expressions typed after '/'
 *
 * "leaf" matches rows that contain it, "leaf|spine" either, "leaf 4xHDR" both, "!leaf" negates.
 * ASCII letters match in both cases. A term with special characters is a POSIX extended regular
 * expression; '|' and blanks inside parentheses and brackets belong to it. "tier:2" is a keyword
 * and its value, evaluated by the caller. An empty alternative is ignored: "leaf|" means "leaf".
 */
#ifndef IBWIRE_TUI_MODEL_FILTER_H
#define IBWIRE_TUI_MODEL_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_SIZE 256
#define FILTER_TERMS 32

/* Keywords. */
enum filter_word {
	FILTER_TIER, FILTER_RAIL, FILTER_STATE, FILTER_CLASS, FILTER_ROLE, FILTER_HOST, FILTER_SPEED, FILTER_WIDTH,
	FILTER_ERRORS, FILTER_FINDING, FILTER_TAGGED, FILTER_WORD_COUNT,
	FILTER_TEXT, FILTER_REGEX, /* not keywords */
};

struct filter_term {
	char *text;          /* the text, the expression, or the value of a keyword */
	uint8_t word;        /* enum filter_word */
	uint8_t alternative; /* terms of one alternative are adjacent */
	bool negated;
	regex_t regex;       /* for FILTER_REGEX */
};

/* A zeroed struct matches everything. */
struct filter {
	char typed[FILTER_SIZE];     /* as typed */
	char chars[2 * FILTER_SIZE]; /* texts of the terms, NUL-separated */
	struct filter_term terms[FILTER_TERMS];
	size_t term_count;           /* 0: matches everything */
	char trouble[160];           /* error message, "" for none */
};

/*
 * filter_set - set the expression, truncated to FILTER_SIZE - 1 bytes and FILTER_TERMS terms
 * An invalid expression or unknown keyword is reported in filter->trouble and matched as text.
 */
void filter_set(struct filter *filter, const char *typed);
void filter_done(struct filter *filter);

/*
 * filter_compile - regcomp() of a typed extended expression, case-insensitive
 * @text:  rejected if it has back-references or its repetitions expand to more than 1,000
 * characters: regcomp() then needs gigabytes, and matching does not end
 * @why:   @size bytes; on failure, the error message
 *
 * Return: 0, and @regex needs regfree(); else the code of regcomp().
 */
int filter_compile(regex_t *regex, const char *text, char *why, size_t size);

/* Evaluates a keyword for a row. Return: whether the row has this value. */
typedef bool filter_word_fn(void *ctx, const struct filter_term *term);

/*
 * filter_matches - whether a row matches (true without a filter)
 * @text:  of the row; a line break ends a part, so that nothing matches across, and ^ and $
 * match there
 * @has:   NULL: keywords never match
 */
bool filter_matches(const struct filter *filter, const char *text, filter_word_fn *has, void *ctx);

/* filter_reads - whether it uses the text of a row, not only keywords. */
bool filter_reads(const struct filter *filter);

#endif
