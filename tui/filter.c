/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/filter.h"

#include <stdio.h>
#include <string.h>

static char lower(char byte)
{
	return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* Cut to whole characters: no UTF-8 sequence stays half. */
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

void filter_set(struct filter *filter, const char *typed)
{
	char copy[FILTER_SIZE];
	size_t len, i;
	bool inside = false;

	snprintf(copy, sizeof(copy), "%s", typed);
	drop_half_character(copy);
	len = strlen(copy);
	*filter = (struct filter){ 0 };
	memcpy(filter->typed, copy, len + 1);
	for (i = 0; i < len; i++) {
		filter->lower[i] = copy[i] == '|' ? '\0' : lower(copy[i]);
		if (copy[i] == '|') {
			inside = false;
		} else if (!inside && filter->word_count < FILTER_WORDS) {
			filter->words[filter->word_count++] = filter->lower + i;
			inside = true;
		}
	}
}

static bool holds(const char *text, const char *word)
{
	for (; *text; text++) {
		size_t i = 0;

		while (word[i] && lower(text[i]) == word[i])
			i++;
		if (!word[i])
			return true;
	}
	return false;
}

bool filter_matches(const struct filter *filter, const char *text)
{
	size_t i;

	for (i = 0; i < filter->word_count; i++)
		if (holds(text, filter->words[i]))
			return true;
	return !filter->word_count;
}

void filter_append(struct filter *filter, const char *bytes)
{
	char typed[FILTER_SIZE + 8];

	if (strlen(filter->typed) + strlen(bytes) >= FILTER_SIZE)
		return;
	snprintf(typed, sizeof(typed), "%s%.8s", filter->typed, bytes);
	filter_set(filter, typed);
}

void filter_erase(struct filter *filter)
{
	char typed[FILTER_SIZE];
	size_t len = strlen(filter->typed);

	memcpy(typed, filter->typed, sizeof(typed));
	while (len > 0 && ((unsigned char)typed[len - 1] & 0xc0) == 0x80)
		len--;
	typed[len ? len - 1 : 0] = '\0';
	filter_set(filter, typed);
}
