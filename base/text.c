/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "base/err.h"

char *text_grow(struct text *text, size_t most)
{
	size_t capacity = text->capacity;
	char *chars;

	if (text->failed)
		return NULL;
	if (!capacity)
		capacity = 256;
	while (capacity < text->len + most + 1)
		capacity *= 2;
	chars = realloc(text->chars, capacity);
	if (!chars) {
		text->failed = true;
		return NULL;
	}
	text->chars = chars;
	text->capacity = capacity;
	return text->chars + text->len;
}

void text_appendf(struct text *text, const char *fmt, ...)
{
	size_t room;
	va_list args;
	int len;

	/* Most pieces fit at once; what does not is written a second time. */
	if (!text_reserve(text, 0))
		return;
	room = text->capacity - text->len;
	va_start(args, fmt);
	len = vsnprintf(text->chars + text->len, room, fmt, args);
	va_end(args);
	if (len < 0 || ((size_t)len >= room && !text_reserve(text, (size_t)len))) {
		text->chars[text->len] = '\0';
		return;
	}
	if ((size_t)len >= room) {
		va_start(args, fmt);
		vsnprintf(text->chars + text->len, (size_t)len + 1, fmt, args);
		va_end(args);
	}
	text->len += (size_t)len;
}

/* Read to the end. Return: NULL, or why it failed. */
static const char *read_all(int fd, bool may_wait, size_t most, struct text *ret)
{
	enum { PIECE = 65536, SILENCE_MS = 60000 };
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct stat status;

	while (ret->len <= most) {
		char *room = text_reserve(ret, PIECE);
		ssize_t got = room ? read(fd, room, PIECE) : 0;

		if (!room)
			return NULL;
		if (got > 0)
			text_extend(ret, (size_t)got);
		else if (got == 0)
			return ret->len || may_wait || fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode) ? NULL :
			       "nothing was written to this pipe";
		else if (errno == EAGAIN && poll(&ready, 1, may_wait ? -1 : SILENCE_MS) == 0)
			return "nothing was written to this pipe for a minute";
		else if (errno != EAGAIN && errno != EINTR)
			return strerror(errno);
	}
	return "it is too large";
}

int text_read_file(const char *path, const char *what, size_t most, struct text *ret, struct error *err)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : STDIN_FILENO;
	const char *why = fd < 0 ? strerror(errno) : NULL;

	text_append(ret, "");
	if (fd >= 0)
		why = read_all(fd, !path, ret->len + most, ret);
	if (path && fd >= 0)
		close(fd);
	if (why)
		return err_set(err, ERR_IO, "cannot read %s%s: %s", what, path ? path : "standard input", why);
	return text_failed(ret) ? err_nomem(err) : 0;
}

/* Inline, so that it divides by a constant: that is a multiplication. */
static inline char *write_digits(char *end, uint64_t value, unsigned base)
{
	do {
		*--end = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	return end;
}

void text_append_number(struct text *text, uint64_t value, unsigned base)
{
	char digits[20], *end = digits + sizeof(digits); /* of 2^64 - 1 in base 10 */
	char *first = end - 1;

	/* Most counters did not move. */
	if (value < 10)
		*first = (char)('0' + value);
	else
		first = base == 16 ? write_digits(end, value, 16) : write_digits(end, value, 10);
	text_append_bytes(text, first, (size_t)(end - first));
}

const char *text_chars(const struct text *text)
{
	return text->chars ? text->chars : "";
}

void text_clear(struct text *text)
{
	text->len = 0;
	if (text->chars)
		text->chars[0] = '\0';
}

void text_done(struct text *text)
{
	free(text->chars);
	*text = (struct text){ 0 };
}

/*
 * Decode one UTF-8 character of at most @len bytes.
 * Return: its length, or 0 where the bytes are no valid character (overlong
 * forms, surrogates and values above U+10FFFF are not).
 */
static size_t decode(const char *chars, size_t len, uint32_t *ret)
{
	const unsigned char *byte = (const unsigned char *)chars;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t value;
	size_t want, i;

	if (!len)
		return 0;
	if (byte[0] < 0x80) {
		*ret = byte[0];
		return 1;
	}
	if ((byte[0] & 0xe0) == 0xc0) {
		want = 2;
		value = byte[0] & 0x1f;
	} else if ((byte[0] & 0xf0) == 0xe0) {
		want = 3;
		value = byte[0] & 0x0f;
	} else if ((byte[0] & 0xf8) == 0xf0) {
		want = 4;
		value = byte[0] & 0x07;
	} else {
		return 0;
	}
	if (len < want)
		return 0;
	for (i = 1; i < want; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (byte[i] & 0x3f);
	}
	if (value < least[want] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*ret = value;
	return want;
}

static bool is_harmless(uint32_t value)
{
	if (value < 0x20 || (value >= 0x7f && value < 0xa0))
		return false;
	/* Marks, embeddings and isolates of writing direction; line separators. */
	if (value == 0x200e || value == 0x200f || (value >= 0x2028 && value <= 0x202e) ||
	    (value >= 0x2066 && value <= 0x2069) || value == 0xfeff)
		return false;
	return true;
}

void text_sanitise(const char *bytes, size_t len, char *ret, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	size_t from = 0, to = 0;

	len = strnlen(bytes, len);
	while (len > 0 && bytes[len - 1] == ' ')
		len--;
	while (from < len && bytes[from] == ' ')
		from++;
	while (from < len) {
		uint32_t value = 0;
		size_t chars = decode(bytes + from, len - from, &value);
		bool plain = chars > 0 && is_harmless(value) &&
			     !(value == '\\' && from + 1 < len && bytes[from + 1] == 'x');
		size_t i;

		if (!chars)
			chars = 1;
		if (to + (plain ? chars : 4 * chars) >= size)
			break;
		for (i = 0; i < chars; i++) {
			unsigned char byte = (unsigned char)bytes[from + i];

			if (plain) {
				ret[to++] = (char)byte;
				continue;
			}
			ret[to++] = '\\';
			ret[to++] = 'x';
			ret[to++] = hex[byte >> 4];
			ret[to++] = hex[byte & 15];
		}
		from += chars;
	}
	if (size)
		ret[to] = '\0';
}

static size_t columns_of(uint32_t value)
{
	int columns = wcwidth((wchar_t)value);

	return columns < 0 ? 1 : (size_t)columns;
}

/*
 * wcwidth() knows only what the locale knows, and a daemon runs in "C": ask it
 * under C.UTF-8, whatever the process has set.
 */
static locale_t enter_utf8(void)
{
	static locale_t utf8;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return utf8 ? uselocale(utf8) : (locale_t)0;
}

static void leave_utf8(locale_t before)
{
	if (before)
		uselocale(before);
}

/* Characters of ASCII at the start, but at most @limit: each takes one column, a control character too. */
static size_t ascii_len(const char *chars, size_t limit)
{
	size_t len = 0;

	while (len < limit && chars[len] && !(chars[len] & 0x80))
		len++;
	return len;
}

size_t text_columns(const char *chars)
{
	size_t columns = ascii_len(chars, SIZE_MAX), len;
	locale_t before;

	if (!chars[columns])
		return columns;
	before = enter_utf8();
	chars += columns;
	len = strlen(chars);
	while (len > 0) {
		uint32_t value = 0;
		size_t bytes = decode(chars, len, &value);

		columns += bytes ? columns_of(value) : 1;
		bytes = bytes ? bytes : 1;
		chars += bytes;
		len -= bytes;
	}
	leave_utf8(before);
	return columns;
}

size_t text_prefix_bytes(const char *chars, size_t columns)
{
	size_t used = ascii_len(chars, columns), at = used, len;
	locale_t before;

	/* A mark without a column of its own, which is not ASCII, may follow. */
	if (!((unsigned char)chars[at] & 0x80))
		return at;
	before = enter_utf8();
	len = strlen(chars);
	while (at < len) {
		uint32_t value = 0;
		size_t bytes = decode(chars + at, len - at, &value);
		size_t width = bytes ? columns_of(value) : 1;

		if (used + width > columns)
			break;
		used += width;
		at += bytes ? bytes : 1;
	}
	leave_utf8(before);
	return at;
}

size_t text_distance(const char *a, const char *b)
{
	enum { LONGEST = 64 };
	size_t row[LONGEST + 1], a_len = strlen(a), b_len = strlen(b), i, j;

	if (a_len > LONGEST || b_len > LONGEST)
		return a_len > b_len ? a_len : b_len;
	for (j = 0; j <= b_len; j++)
		row[j] = j;
	for (i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}
