/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/host_set.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"

enum { NAME_MOST = 256, DIGITS_MOST = 15 };

static bool is_text(const char *name)
{
	size_t bytes;
	uint32_t code;

	for (; *name; name += bytes) {
		bytes = text_decode(name, strnlen(name, 4), &code);
		if (!bytes || code < ' ' || (code >= 0x7f && code < 0xa0))
			return false;
	}
	return true;
}

static int add_name(struct host_set *set, const char *name, struct error *err)
{
	char **names = array_grow(set->names, set->count, &set->capacity, sizeof(*names));

	if (!names)
		return err_nomem(err);
	set->names = names;
	set->sorted = false;
	if (!is_text(name))
		return err_set(err, ERR_USAGE, "a host name contains control characters or is not UTF-8");
	if (set->count >= HOST_SET_MOST)
		return err_set(err, ERR_USAGE, "the list has more than %d hosts", HOST_SET_MOST);
	names[set->count] = strdup(name);
	return names[set->count++] ? 0 : err_nomem(err);
}

static int invalid_list(const char *typed, struct error *err)
{
	return err_set(err, ERR_USAGE, "'%.64s' is not a host list (example: node[001-016,020],login1)", typed);
}

static int expand(struct host_set *set, const char *typed, const char *head, const char *rest, struct error *err);

/* One range of a bracket: "001-016" or "7". @rest is the text after the bracket. */
static int expand_range(struct host_set *set, const char *typed, const char *head, const char *range, size_t len,
			const char *rest, struct error *err)
{
	static const char digits[] = "0123456789";
	size_t width = strspn(range, digits), last_width = width;
	const char *last = range;
	unsigned long from, to;
	int code = 0;

	if (range[width] == '-') {
		last += width + 1;
		last_width = strspn(last, digits);
	}
	if (!width || !last_width || width > DIGITS_MOST || last_width > DIGITS_MOST ||
	    last + last_width != range + len)
		return invalid_list(typed, err);
	from = strtoul(range, NULL, 10);
	to = strtoul(last, NULL, 10);
	if (to < from || to - from >= HOST_SET_MOST)
		return invalid_list(typed, err);
	for (unsigned long i = from; code == 0 && i <= to; i++) {
		char name[NAME_MOST];

		if (snprintf(name, sizeof(name), "%s%0*lu", head, (int)width, i) >= (int)sizeof(name))
			return invalid_list(typed, err);
		code = expand(set, typed, name, rest, err);
	}
	return code;
}

/* @head is expanded; @rest may contain more brackets. */
static int expand(struct host_set *set, const char *typed, const char *head, const char *rest, struct error *err)
{
	const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL;
	char name[NAME_MOST];
	int code = 0;

	if (snprintf(name, sizeof(name), "%s%.*s", head, open ? (int)(open - rest) : NAME_MOST, rest) >=
	    (int)sizeof(name))
		return invalid_list(typed, err);
	if (!open)
		return strchr(name, ']') ? invalid_list(typed, err) : add_name(set, name, err);
	if (!close)
		return invalid_list(typed, err);
	for (const char *at = open + 1; code == 0 && at <= close;) {
		size_t len = strcspn(at, ",]");

		code = expand_range(set, typed, name, at, len, close + 1, err);
		at += len + 1;
	}
	return code;
}

/* Split a list at commas outside of brackets. */
static int add_list(struct host_set *set, const char *typed, struct error *err)
{
	const char *at = typed;
	int code = 0;

	while (code == 0 && *at) {
		char one[NAME_MOST];
		size_t len = 0;
		bool inside = false;

		for (; at[len] && (inside || (at[len] != ',' && !isspace((unsigned char)at[len]))); len++)
			inside = at[len] == '[' || (inside && at[len] != ']');
		if (len >= sizeof(one))
			return invalid_list(typed, err);
		memcpy(one, at, len);
		one[len] = '\0';
		if (len)
			code = expand(set, typed, "", one, err);
		at += len;
		at += at[0] != '\0';
	}
	return code;
}

typedef int add_line_fn(struct host_set *set, char *line, struct error *err);

/* A line that is no list is counted, and none of its hosts are added. */
static int read_line(struct host_set *set, char *line, size_t len, size_t number, add_line_fn *add_line,
		     struct error *err)
{
	size_t before = set->count;
	int code;

	line[len] = '\0';
	code = strlen(line) < len ? ERR_USAGE : add_line(set, line, err);
	if (code != ERR_USAGE || set->count == HOST_SET_MOST)
		return code;
	while (set->count > before)
		free(set->names[--set->count]);
	unread_add(&set->unread, number);
	return 0;
}

static int read_lines(struct host_set *set, const char *path, add_line_fn *add_line, struct error *err)
{
	struct text text = { 0 };
	int code = text_read_file(path, "the host list ", TEXT_SMALL_MOST, &text, err);
	char *line, *end;

	text_append(&text, "\n"); /* one byte behind the last line, which may have no newline */
	if (code == 0 && text_failed(&text))
		code = err_nomem(err);
	line = text.chars;
	end = line + text.len - 1;
	for (size_t number = 1; code == 0 && line < end; number++) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((newline ? newline : end) - line);

		code = read_line(set, line, len, number, add_line, err);
		line += len + 1;
	}
	text_done(&text);
	return code;
}

static int add_list_line(struct host_set *set, char *line, struct error *err)
{
	line[strcspn(line, "#\r\n")] = '\0';
	return add_list(set, line, err);
}

static int names_a_host(const struct host_set *set, size_t before, const char *typed, struct error *err)
{
	if (set->count > before)
		return 0;
	return err_set(err, ERR_USAGE, "'%.64s' names no host (example: node[001-016,020],login1)", typed);
}

int host_set_add(struct host_set *set, const char *typed, struct error *err)
{
	size_t before = set->count;
	int code = add_list(set, typed, err);

	return code < 0 ? code : names_a_host(set, before, typed, err);
}

int host_set_add_file(struct host_set *set, const char *path, struct error *err)
{
	size_t before = set->count;
	int code = read_lines(set, path, add_list_line, err);

	return code < 0 ? code : names_a_host(set, before, path, err);
}

static bool begins_with_one_of(const char *state, const char *const *words)
{
	for (; *words; words++)
		if (!strncasecmp(state, *words, strlen(*words)))
			return true;
	return false;
}

/* States of nodes that Slurm has, in the long and the compact form of sinfo(1); letters match in both cases. */
static int add_state_line(struct host_set *set, char *line, struct error *err)
{
	static const char *const out[] = { "drain", "drng", "down", "fail", "maint", "res", "pow", NULL };
	static const char *const in[] = { "alloc", "block", "boot", "comp", "fut", "idle", "inval", "mix", "npc",
					  "perf", "plan", "plnd", "reboot", "unk", NULL };
	char *save, *host, *state;
	size_t before = set->count;
	int code;

	line[strcspn(line, "#\r\n")] = '\0';
	host = strtok_r(line, " \t", &save);
	state = host ? strtok_r(NULL, " \t", &save) : NULL;
	if (!host)
		return 0;
	code = state ? add_list(set, host, err) : ERR_USAGE;
	if (code < 0 || begins_with_one_of(state, out))
		return code;
	while (set->count > before)
		free(set->names[--set->count]);
	return begins_with_one_of(state, in) ? 0 : ERR_USAGE;
}

int host_set_add_drained(struct host_set *set, const char *path, struct error *err)
{
	return read_lines(set, path, add_state_line, err);
}

/* A name around its last number. Without one, or if it cannot be in a list, @digits is 0. */
struct numbered {
	const char *name, *tail;
	size_t head, digits;
	unsigned long number;
};

static struct numbered split_name(const char *name)
{
	struct numbered ret = { .name = name };
	size_t end = strlen(name);

	if (name[strcspn(name, "[], \t")])
		return ret;
	while (end && !isdigit((unsigned char)name[end - 1]))
		end--;
	while (ret.digits < end && isdigit((unsigned char)name[end - 1 - ret.digits]))
		ret.digits++;
	if (ret.digits > DIGITS_MOST)
		ret.digits = 0;
	ret.head = end - ret.digits;
	ret.tail = name + end;
	ret.number = strtoul(name + ret.head, NULL, 10);
	return ret;
}

/*
 * A range keeps the digits of its first number: 009-010 and 9-10 are ranges, 9-010 is none.
 * @last_only: only brackets at the end of a name
 */
static bool share_bracket(const char *name, const char *next, bool last_only)
{
	struct numbered a = split_name(name), b = split_name(next);

	if (!a.digits || !b.digits || (last_only && *a.tail))
		return false;
	return a.head == b.head && !strncmp(name, next, a.head) && !strcmp(a.tail, b.tail) &&
	       b.number > a.number && (a.digits == b.digits || (name[a.head] != '0' && next[b.head] != '0'));
}

/* "node[001-016,020]" of names that share a bracket. */
static void append_bracket(const char *const *names, size_t count, struct text *text)
{
	struct numbered first = split_name(names[0]);

	text_appendf(text, "%.*s", (int)first.head, names[0]);
	for (size_t from = 0, to; from < count; from = to) {
		struct numbered low = split_name(names[from]), high = low, next;

		for (to = from + 1; to < count; to++, high = next) {
			next = split_name(names[to]);
			if (next.number != high.number + 1)
				break;
		}
		text_appendf(text, "%s%.*s", from ? "," : "[", (int)low.digits, low.name + low.head);
		if (to > from + 1)
			text_appendf(text, "-%.*s", (int)high.digits, high.name + high.head);
	}
	text_appendf(text, "]%s", first.tail);
}

static size_t fold(const char *const *names, size_t count, size_t most, bool for_slurm, struct text *text)
{
	size_t from = 0;

	for (size_t elements = 0, to; from < count && elements < most; elements++, from = to) {
		for (to = from + 1; to < count && share_bracket(names[to - 1], names[to], for_slurm);)
			to++;
		text_append(text, !elements ? "" : for_slurm ? "," : ", ");
		if (to == from + 1)
			text_append(text, names[from]);
		else
			append_bracket(names + from, to - from, text);
	}
	return from;
}

size_t host_names_fold(const char *const *names, size_t count, size_t most, struct text *text)
{
	return fold(names, count, most, false, text);
}

void host_names_list(const char *const *names, size_t count, struct text *text)
{
	fold(names, count, count, true, text);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void host_set_sort(struct host_set *set)
{
	if (set->count)
		qsort(set->names, set->count, sizeof(*set->names), compare_names);
	set->sorted = true;
}

/* Has it a name that begins with @len bytes of @start, and ends there unless @longer? */
static bool has_name(const struct host_set *set, const char *start, size_t len, bool longer)
{
	size_t from = 0, to = set->count;

	while (set->sorted && from < to) {
		size_t middle = from + (to - from) / 2;

		if (strncmp(set->names[middle], start, len) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < set->count; from++) {
		if (!strncmp(set->names[from], start, len) && (longer || !set->names[from][len]))
			return true;
		if (set->sorted)
			return false;
	}
	return false;
}

bool host_set_has(const struct host_set *set, const char *name)
{
	size_t len = strlen(name), host = strcspn(name, ".");
	char with_domain[NAME_MOST + 1];

	if (has_name(set, name, len, false) || (host < len && has_name(set, name, host, false)))
		return true;
	if (host < len || len >= NAME_MOST)
		return false;
	snprintf(with_domain, sizeof(with_domain), "%s.", name);
	return has_name(set, with_domain, len + 1, true);
}

void host_set_done(struct host_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->names[i]);
	free(set->names);
	memset(set, 0, sizeof(*set));
}
