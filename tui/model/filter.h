/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * filter.h - filter expressions typed after '/': facts/select.h with text for words
 *
 * "leaf" matches rows that contain it; ASCII letters match in both cases. A word with special characters is a POSIX
 * extended regular expression. Keys, such as "tier:2", are evaluated as in commands.
 */
#ifndef IBWIRE_TUI_MODEL_FILTER_H
#define IBWIRE_TUI_MODEL_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/select.h"

#define FILTER_SIZE 256

/* A zeroed struct matches everything. */
struct filter {
	char typed[FILTER_SIZE]; /* as typed */
	struct select select;
	uint32_t is_regex;       /* bits of terms */
	regex_t regex[SELECT_TERMS];
	bool is_invalid;         /* the trouble is of the expression, not of values */
	char trouble[512];       /* error message, "" for none */
};

/*
 * filter_set - set the expression, truncated to FILTER_SIZE - 1 bytes and SELECT_TERMS terms
 * An invalid expression or unknown key is reported in filter->trouble and matched as text.
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

/*
 * filter_mark - evaluate its keys, as select_mark(); a value that nothing has is reported in filter->trouble
 * @ret:  its arrays are NULL if the filter has no key
 * Return: 0; ERR_NOMEM, or an error of facts->load().
 */
int filter_mark(struct filter *filter, struct select_facts *facts, struct select_marks *ret, struct error *err);

/*
 * filter_find - the first occurrence of a word, in upper or lower case, or NULL: strcasestr() prepares each search,
 * which takes longer than the search in a short text
 */
const char *filter_find(const char *text, const char *word);

/*
 * filter_matches - whether a row matches (true without a filter)
 * @text:  of the row; a line break ends a part, so that nothing matches across, and ^ and $
 * match there
 * @bits:  of the row, from filter_mark(); 0: no key holds
 */
bool filter_matches(const struct filter *filter, const char *text, select_bits bits);

/* filter_tag_bits - bits of its terms "tagged:yes" or "tagged:no" for a row. */
select_bits filter_tag_bits(const struct filter *filter, bool is_tagged);

/* filter_reads - whether it uses the text of a row, not only keys. filter_has_keys. */
bool filter_reads(const struct filter *filter);
bool filter_has_keys(const struct filter *filter);

#endif
