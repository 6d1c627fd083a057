/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/filter.h"

#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

/* Remove an incomplete UTF-8 sequence at the end. */
static void drop_half_character(char *chars)
{
	size_t len = strlen(chars), start = len, want;
	unsigned char lead;

	while (start > 0 && ((unsigned char)chars[start - 1] & 0xc0) == 0x80)
		start--;
	if (!start)
		return;
	lead = (unsigned char)chars[start - 1];
	want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	if (len - (start - 1) < want)
		chars[start - 1] = '\0';
}

/*
 * Does regcomp() copy what is repeated so often that the expression grows past EXPANDED_MOST
 * characters? glibc's takes memory in the square of them (33 MB for 2,000), and each '+' around
 * a group doubles it. Back-references are refused too: matching them takes exponential time.
 */
static const char *find_excess(const char *at)
{
	enum { EXPANDED_MOST = 1000, DEPTH_MOST = FILTER_SIZE };
	size_t before[DEPTH_MOST + 1] = { 0 }, last = 0, depth = 0, times;
	char *end;

	for (; *at; at++) {
		if (*at == '*' || *at == '+' || *at == '?') {
			last += *at == '+' ? last : 1;
		} else if (*at == '{') {
			times = strtoul(at + 1, &end, 10);
			if (*end == ',')
				times = *++end == '}' ? times + 1 : strtoul(end, &end, 10);
			last *= times <= EXPANDED_MOST ? times + !times : EXPANDED_MOST + 1;
			at = *end == '}' ? end : at;
		} else if (*at == ')' && depth) {
			last += before[depth--];
		} else {
			before[depth] += last;
			last = *at != '(';
			if (*at == '(' && depth++ == DEPTH_MOST)
				return "parentheses are nested too deeply";
			if (*at == '(')
				before[depth] = 0;
			if (*at == '[')
				at = select_set_end(at) - (select_set_end(at) != at);
			else if (*at == '\\' && at[1] && strchr("123456789", *++at))
				return "back-references are not supported";
		}
		if (before[depth] + last > EXPANDED_MOST)
			return "too many repetitions; use smaller counts or * instead of {}";
	}
	return NULL;
}

/*
 * Compiled in the C locale: bytewise matching is many times faster, and differs only for '.' and
 * bracket expressions with non-ASCII characters.
 */
int filter_compile(regex_t *regex, const char *text, char *why, size_t size)
{
	const char *excess = find_excess(text);
	locale_t plain = excess ? (locale_t)0 : newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	int code = excess ? REG_BADRPT : REG_ESPACE;

	if (plain != (locale_t)0) {
		before = uselocale(plain);
		code = regcomp(regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB | REG_NEWLINE);
		uselocale(before);
		freelocale(plain);
	}
	if (excess)
		snprintf(why, size, "%s", excess);
	else if (code)
		regerror(code, NULL, why, size);
	return code;
}

/* A word with special characters is an expression, if it is a valid one. */
static void compile_word(struct filter *filter, size_t index)
{
	const char *text = filter->select.terms[index].text;
	char why[100];

	if (!text[strcspn(text, ".[]()*+?{}^$\\")])
		return;
	if (!filter_compile(&filter->regex[index], text, why, sizeof(why)))
		filter->is_regex |= UINT32_C(1) << index;
	else if (!filter->trouble[0])
		snprintf(filter->trouble, sizeof(filter->trouble), "%.50s matched as plain text: %.80s", text, why);
}

void filter_done(struct filter *filter)
{
	for (size_t i = 0; i < filter->select.term_count; i++)
		if (filter->is_regex >> i & 1)
			regfree(&filter->regex[i]);
	memset(filter, 0, sizeof(*filter));
}

void filter_set(struct filter *filter, const char *typed)
{
	char copy[FILTER_SIZE];
	struct error unknown = { 0 };

	snprintf(copy, sizeof(copy), "%s", typed);
	drop_half_character(copy);
	filter_done(filter);
	memcpy(filter->typed, copy, strlen(copy) + 1);
	select_parse(&filter->select, copy);
	for (size_t i = 0; i < filter->select.term_count; i++) {
		const struct select_term *term = &filter->select.terms[i];

		if (term->is_unknown && !filter->trouble[0]) {
			select_unknown_key(term, &unknown);
			snprintf(filter->trouble, sizeof(filter->trouble), "matched as text: %.480s", unknown.text);
		}
		if (term->key == SELECT_WORD)
			compile_word(filter, i);
	}
	filter->is_invalid = filter->trouble[0];
}

int filter_mark(struct filter *filter, struct select_facts *facts, struct select_marks *ret, struct error *err)
{
	struct error why = { 0 };
	int code = 0;

	select_marks_done(ret);
	if (filter_has_keys(filter))
		code = select_mark(&filter->select, facts, ret, &why);
	if (!filter->is_invalid)
		snprintf(filter->trouble, sizeof(filter->trouble), "%s", code == ERR_USAGE ? why.text : "");
	return code < 0 && code != ERR_USAGE ? err_set(err, code, "%s", why.text) : 0;
}

const char *filter_find(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char first[] = { (char)tolower((unsigned char)*word), (char)toupper((unsigned char)*word), '\0' };

	if (!len)
		return text;
	for (text = strpbrk(text, first); text; text = strpbrk(text + 1, first))
		if (!strncasecmp(text, word, len))
			return text;
	return NULL;
}

static bool term_matches(const struct filter *filter, size_t index, const char *text, select_bits bits)
{
	const struct select_term *term = &filter->select.terms[index];
	bool matches;

	if (term->key != SELECT_WORD)
		matches = select_has(bits, index);
	else if (filter->is_regex >> index & 1)
		matches = regexec(&filter->regex[index], text, 0, NULL, 0) == 0;
	else
		matches = filter_find(text, term->text);
	return matches != term->negated;
}

bool filter_matches(const struct filter *filter, const char *text, select_bits bits)
{
	const struct select *select = &filter->select;
	size_t i = 0;

	while (i < select->term_count) {
		uint8_t alternative = select->terms[i].alternative;
		bool all = true;

		for (; i < select->term_count && select->terms[i].alternative == alternative; i++)
			all = all && term_matches(filter, i, text, bits);
		if (all)
			return true;
	}
	return !select->term_count;
}

select_bits filter_tag_bits(const struct filter *filter, bool is_tagged)
{
	const char *word = is_tagged ? "yes" : "no";
	select_bits bits = 0;

	for (size_t i = 0; i < filter->select.term_count; i++) {
		const struct select_term *term = &filter->select.terms[i];

		/* A prefix, while it is being typed. */
		if (term->key == SELECT_TAGGED && !strncasecmp(word, term->text, strlen(term->text)))
			bits |= UINT64_C(1) << i;
	}
	return bits;
}

static bool has_term(const struct filter *filter, bool is_key)
{
	for (size_t i = 0; i < filter->select.term_count; i++)
		if ((filter->select.terms[i].key != SELECT_WORD) == is_key)
			return true;
	return false;
}

bool filter_reads(const struct filter *filter)
{
	return has_term(filter, false);
}

bool filter_has_keys(const struct filter *filter)
{
	return has_term(filter, true);
}
