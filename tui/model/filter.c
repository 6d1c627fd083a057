/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/filter.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const words[FILTER_WORD_COUNT] = {
	[FILTER_TIER] = "tier",   [FILTER_RAIL] = "rail",   [FILTER_STATE] = "state",   [FILTER_CLASS] = "class",
	[FILTER_ROLE] = "role",   [FILTER_HOST] = "host",   [FILTER_SPEED] = "speed",   [FILTER_WIDTH] = "width",
	[FILTER_ERRORS] = "err",  [FILTER_FINDING] = "finding", [FILTER_TAGGED] = "tagged",
};

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

/* The end of a bracket expression, behind its ']'; @set if it is not closed. */
static const char *set_end(const char *set)
{
	const char *at = set + 1;

	at += *at == '^';
	at += *at == ']';
	for (; *at; at++) {
		const char *class = at[0] == '[' && at[1] && strchr(":.=", at[1]) ? strstr(at + 2, "]") : NULL;

		if (*at == ']')
			return at + 1;
		if (class && class[-1] == at[1])
			at = class;
	}
	return set;
}

/* The end of a term: a blank or '|' outside parentheses and brackets. */
static const char *term_end(const char *at)
{
	const char *start = at;
	int depth = 0;

	for (; *at && (depth || (*at != ' ' && *at != '|')); at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (*at == '[' && set_end(at) != at) {
			at = set_end(at) - 1;
		} else {
			depth += *at == '(';
			depth -= *at == ')' && depth;
		}
	}
	/* An unclosed parenthesis does not extend the term. */
	return depth ? start + strcspn(start, " |") : at;
}

static void set_trouble(struct filter *filter, const char *term, const char *what)
{
	if (!filter->trouble[0])
		snprintf(filter->trouble, sizeof(filter->trouble), "%.50s %.100s", term, what);
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
				at = set_end(at) - (set_end(at) != at);
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

static void compile_text(struct filter *filter, struct filter_term *term)
{
	char what[100] = "matched as plain text: ";

	if (term->text[strcspn(term->text, ".[]()*+?{}^$\\")]) {
		if (!filter_compile(&term->regex, term->text, what + strlen(what), sizeof(what) - strlen(what))) {
			term->word = FILTER_REGEX;
			return;
		}
		set_trouble(filter, term->text, what);
	}
	term->word = FILTER_TEXT;
}

/*
 * "tier:2" is a keyword; text with any other colon is plain text. Return: whether the term is not
 * empty.
 */
static bool compile_term(struct filter *filter, struct filter_term *term)
{
	size_t len = strspn(term->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	unsigned word;

	if (!len || term->text[len] != ':') {
		compile_text(filter, term);
		return true;
	}
	for (word = 0; word < FILTER_WORD_COUNT; word++)
		if (!strncasecmp(words[word], term->text, len) && !words[word][len])
			break;
	if (word == FILTER_WORD_COUNT) {
		set_trouble(filter, term->text,
		    "unknown keyword, matched as text; keywords: tier rail state class role host ...");
		compile_text(filter, term);
		return true;
	}
	term->word = (uint8_t)word;
	term->text += len + 1;
	return *term->text;
}

void filter_done(struct filter *filter)
{
	for (size_t i = 0; i < filter->term_count; i++)
		if (filter->terms[i].word == FILTER_REGEX)
			regfree(&filter->terms[i].regex);
	memset(filter, 0, sizeof(*filter));
}

void filter_set(struct filter *filter, const char *typed)
{
	char copy[FILTER_SIZE], *to = filter->chars;
	const char *at, *end;
	uint8_t alternative = 0;

	snprintf(copy, sizeof(copy), "%s", typed);
	drop_half_character(copy);
	filter_done(filter);
	memcpy(filter->typed, copy, strlen(copy) + 1);
	for (at = copy; *at && filter->term_count < FILTER_TERMS; at = end) {
		struct filter_term *term = &filter->terms[filter->term_count];

		end = at + 1;
		alternative += *at == '|';
		if (*at == '|' || *at == ' ')
			continue;
		end = term_end(at);
		*term = (struct filter_term){ .text = to, .alternative = alternative };
		term->negated = *at == '!';
		at += term->negated;
		memcpy(to, at, (size_t)(end - at));
		to += end - at;
		*to++ = '\0';
		filter->term_count += *term->text && compile_term(filter, term);
	}
}

static bool term_matches(const struct filter_term *term, const char *text, filter_word_fn *has, void *ctx)
{
	bool matches;

	if (term->word == FILTER_TEXT)
		matches = strcasestr(text, term->text);
	else if (term->word == FILTER_REGEX)
		matches = regexec(&term->regex, text, 0, NULL, 0) == 0;
	else
		matches = has && has(ctx, term);
	return matches != term->negated;
}

bool filter_matches(const struct filter *filter, const char *text, filter_word_fn *has, void *ctx)
{
	size_t i = 0;

	while (i < filter->term_count) {
		uint8_t alternative = filter->terms[i].alternative;
		bool all = true;

		for (; i < filter->term_count && filter->terms[i].alternative == alternative; i++)
			all = all && term_matches(&filter->terms[i], text, has, ctx);
		if (all)
			return true;
	}
	return !filter->term_count;
}

bool filter_reads(const struct filter *filter)
{
	for (size_t i = 0; i < filter->term_count; i++)
		if (filter->terms[i].word >= FILTER_WORD_COUNT)
			return true;
	return false;
}
