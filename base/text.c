/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
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

	/* Most output fits at once; otherwise it is formatted again after growing. */
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
	enum { PIECE = 65536, PIPE_TIMEOUT_MS = 60000 };
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
		else if (errno == EAGAIN && poll(&ready, 1, may_wait ? -1 : PIPE_TIMEOUT_MS) == 0)
			return "nothing was written to this pipe for a minute";
		else if (errno != EAGAIN && errno != EINTR)
			return strerror(errno);
	}
	return "it is too large";
}

enum text_wide text_is_wide(const char *bytes, size_t len)
{
	enum { PAIRS = 8 };
	size_t nuls[2] = { 0 };

	if (len >= 2 && (!memcmp(bytes, "\xff\xfe", 2) || !memcmp(bytes, "\xfe\xff", 2)))
		return bytes[0] == '\xff' ? WIDE_LITTLE : WIDE_BIG;
	for (size_t i = 0; i < 2 * PAIRS && len >= 2 * PAIRS; i++)
		nuls[i % 2] += !bytes[i];
	if (nuls[0] + nuls[1] != PAIRS || (nuls[0] && nuls[1]))
		return WIDE_NONE;
	return nuls[1] ? WIDE_LITTLE : WIDE_BIG;
}

/* Remove the byte order mark of what was read from @begin on. Return: NULL, or why it cannot be read. */
static const char *skip_mark(struct text *text, size_t begin)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *bytes = text_chars(text) + begin;

	if (text_is_wide(bytes, text->len - begin))
		return "it is UTF-16; convert it with 'iconv -f UTF-16 -t UTF-8'";
	if (text->len >= begin + 3 && !memcmp(bytes, mark, 3)) {
		text->len -= 3;
		memmove(text->chars + begin, bytes + 3, text->len - begin + 1);
	}
	return NULL;
}

static void append_point(struct text *text, uint32_t point)
{
	char *to = text_reserve(text, 4);
	size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	if (!to)
		return;
	if (len == 1)
		to[0] = (char)point;
	else
		to[0] = (char)((0xf00 >> len) | point >> (6 * (len - 1)));
	for (size_t i = 1; i < len; i++)
		to[i] = (char)(0x80 | (point >> (6 * (len - 1 - i)) & 0x3f));
	text_extend(text, len);
}

static uint32_t wide_unit(const char *bytes, enum text_wide wide)
{
	unsigned char low = (unsigned char)bytes[wide == WIDE_BIG], high = (unsigned char)bytes[wide == WIDE_LITTLE];

	return (uint32_t)high << 8 | low;
}

void text_narrow(struct text *ret, const char *bytes, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	enum text_wide wide = text_is_wide(bytes, len);

	if (!wide) {
		size_t skip = len >= 3 && !memcmp(bytes, mark, 3) ? 3 : 0;

		text_append_bytes(ret, bytes + skip, len - skip);
		return;
	}
	for (size_t i = 0; i + 1 < len; i += 2) {
		uint32_t unit = wide_unit(bytes + i, wide);
		uint32_t next = i + 3 < len ? wide_unit(bytes + i + 2, wide) : 0;

		if (unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
			unit = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00);
			i += 2;
		} else if (unit >= 0xd800 && unit < 0xe000) {
			unit = 0xfffd;
		}
		if (i || unit != 0xfeff)
			append_point(ret, unit);
	}
}

static int cannot_read(const char *path, const char *what, const char *why, struct error *err)
{
	return err_set(err, ERR_IO, "cannot read %s%s: %s", what, path ? path : "standard input", why);
}

int text_read_bytes(const char *path, const char *what, size_t most, struct text *ret, struct error *err)
{
	size_t begin = ret->len;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : STDIN_FILENO;
	const char *why = fd < 0 ? strerror(errno) : NULL;

	text_append(ret, "");
	if (fd >= 0)
		why = read_all(fd, !path, begin + most, ret);
	if (path && fd >= 0)
		close(fd);
	if (why)
		return cannot_read(path, what, why, err);
	return text_failed(ret) ? err_nomem(err) : 0;
}

int text_read_file(const char *path, const char *what, size_t most, struct text *ret, struct error *err)
{
	size_t begin = ret->len;
	int code = text_read_bytes(path, what, most, ret, err);
	const char *why = code == 0 ? skip_mark(ret, begin) : NULL;

	return why ? cannot_read(path, what, why, err) : code;
}

/* Inline: the compiler turns a division by a constant base into a multiplication. */
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

	/* Fast path: most counters are unchanged. */
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

size_t text_decode(const char *bytes, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)bytes[0];
	size_t count = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
	uint32_t point = count == 1 ? first : first & (0x7fu >> count);

	if (!count || count > len)
		return 0;
	for (size_t i = 1; i < count; i++) {
		if (((unsigned char)bytes[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | ((unsigned char)bytes[i] & 0x3f);
	}
	if (point < least[count] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret = point;
	return count;
}

/* Is it neither a control character nor one that changes the writing direction? */
static bool is_safe(uint32_t point)
{
	if (point < 0x20 || (point >= 0x7f && point < 0xa0))
		return false;
	/* Marks, embeddings and isolates of writing direction; line separators. */
	return point != 0x200e && point != 0x200f && (point < 0x2028 || point > 0x202e) &&
	       (point < 0x2066 || point > 0x2069) && point != 0xfeff;
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
		size_t chars = text_decode(bytes + from, len - from, &value);
		bool plain = chars > 0 && is_safe(value) &&
			     !(value == '\\' && from + 1 < len && bytes[from + 1] == 'x');

		if (!chars)
			chars = 1;
		if (to + (plain ? chars : 4 * chars) >= size)
			break;
		for (size_t i = 0; i < chars; i++) {
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

void text_blank(char *chars, char by)
{
	size_t len = strlen(chars);

	for (size_t i = 0, count; i < len; i += count) {
		uint32_t point = 0;

		count = text_decode(chars + i, len - i, &point);
		if (count && is_safe(point))
			continue;
		count = count ? count : 1;
		memset(chars + i, by, count);
	}
}

bool text_is_plain(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] < 0x20 || bytes[i] > 0x7e)
			return false;
	return true;
}

void text_append_escaped(struct text *text, const char *bytes, size_t len)
{
	size_t count;

	if (text_is_plain(bytes, len)) {
		text_append_bytes(text, bytes, len);
		return;
	}
	for (; len; bytes += count, len -= count) {
		uint32_t point = 0;

		count = text_decode(bytes, len, &point);
		if (count && is_safe(point)) {
			text_append_bytes(text, bytes, count);
			continue;
		}
		count = count ? count : 1;
		for (size_t i = 0; i < count; i++)
			text_appendf(text, "\\x%02x", (unsigned char)bytes[i]);
	}
}

/* wcwidth() depends on the locale, which is "C" in a daemon: switch to C.UTF-8. Return: the previous locale. */
static locale_t enter_utf8(void)
{
	static _Atomic(locale_t) utf8;
	locale_t none = (locale_t)0, made;

	if (!utf8 && (made = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0)) &&
	    !atomic_compare_exchange_strong(&utf8, &none, made))
		freelocale(made);
	return utf8 ? uselocale(utf8) : (locale_t)0;
}

/* Return: the bytes of @chars that fit in @limit columns. @ret_columns: the columns that they use. */
static size_t fit_columns(const char *chars, size_t limit, size_t *ret_columns)
{
	size_t at = 0, used, len;
	locale_t before;

	/* ASCII needs no locale: one column per byte. */
	while (at < limit && chars[at] && !(chars[at] & 0x80))
		at++;
	*ret_columns = used = at;
	/* A character without a column of its own may follow at the limit. */
	if (!(chars[at] & 0x80))
		return at;
	before = enter_utf8();
	len = strlen(chars);
	while (at < len) {
		uint32_t point = 0;
		size_t bytes = text_decode(chars + at, len - at, &point);
		int columns = bytes ? wcwidth((wchar_t)point) : 1;

		if (columns < 0)
			columns = 1;
		if ((size_t)columns > limit - used)
			break;
		used += (size_t)columns;
		at += bytes ? bytes : 1;
	}
	if (before)
		uselocale(before);
	*ret_columns = used;
	return at;
}

size_t text_columns(const char *chars)
{
	size_t columns;

	fit_columns(chars, SIZE_MAX, &columns);
	return columns;
}

size_t text_cut_bytes(const char *chars, size_t most)
{
	size_t len = strnlen(chars, most + 1);

	if (len <= most)
		return len;
	while (most && ((unsigned char)chars[most] & 0xc0) == 0x80)
		most--;
	return most;
}

size_t text_prefix_bytes(const char *chars, size_t columns)
{
	size_t used;

	return fit_columns(chars, columns, &used);
}

/* Bytes of the first character, with the characters without a column of their own that follow it. */
static size_t first_bytes(const char *chars)
{
	size_t bytes = text_prefix_bytes(chars, 1);

	bytes = bytes ? bytes : text_prefix_bytes(chars, 2);
	return bytes ? bytes : 1;
}

struct text_cut text_cut_name(const char *name, size_t columns)
{
	struct text_cut ret = { .head = text_prefix_bytes(name, columns ? columns - 1 : 0), .tail = strlen(name) };
	size_t all = text_columns(name), from = 0, to = 0, before = 0, removed = 0, digits = 0, fewest = SIZE_MAX;

	if (all <= columns)
		return (struct text_cut){ ret.tail, ret.tail };
	while (columns > 1) {
		while (name[to] && removed - before + columns <= all) {
			digits += name[to] >= '0' && name[to] <= '9';
			to += first_bytes(name + to);
			removed = all - text_columns(name + to);
		}
		if (!name[to])
			break;
		if (digits < fewest) {
			fewest = digits;
			ret = (struct text_cut){ from, to };
		}
		digits -= name[from] >= '0' && name[from] <= '9';
		from += first_bytes(name + from);
		before = all - text_columns(name + from);
	}
	return ret;
}

void text_append_wrapped(struct text *text, const char *line, unsigned column, unsigned indent, unsigned width)
{
	size_t blanks = text->len && text->chars[text->len - 1] != ' ' && text->chars[text->len - 1] != '\n', len;

	for (line += strspn(line, " "); *line; line += blanks) {
		char word[1100];
		unsigned columns;

		len = strcspn(line, " ");
		snprintf(word, sizeof(word), "%.*s", (int)len, line);
		columns = (unsigned)text_columns(word);
		if (column > indent && column + blanks + columns > width) {
			text_append(text, "\n");
			blanks = indent;
			column = 0;
		}
		text_appendf(text, "%*s", (int)blanks, "");
		text_append_escaped(text, line, len);
		column += (unsigned)blanks + columns;
		line += len;
		blanks = strspn(line, " ");
	}
	text_append(text, "\n");
}

void text_append_url(struct text *text, const char *value)
{
	for (; *value; value++)
		text_appendf(text, isalnum((unsigned char)*value) ? "%c" : "%%%02x", (unsigned char)*value);
}

void text_append_lines(struct text *text, const char *lines, unsigned width)
{
	for (const char *end; *lines; lines = *end ? end + 1 : end) {
		unsigned indent = (unsigned)strspn(lines, " ");
		struct text line = { 0 };

		end = strchrnul(lines, '\n');
		text_append_bytes(&line, lines, (size_t)(end - lines));
		text_appendf(text, "%*s", (int)indent, "");
		text_append_wrapped(text, text_chars(&line), indent, indent + 4, width ? width : UINT_MAX);
		text->failed |= text_failed(&line);
		text_done(&line);
	}
}

size_t text_distance(const char *a, const char *b)
{
	enum { LONGEST = 64 };
	size_t rows[3][LONGEST + 1], a_len = strlen(a), b_len = strlen(b);

	if (a_len > LONGEST || b_len > LONGEST)
		return a_len > b_len ? a_len : b_len;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		const size_t *before = rows[(i + 1) % 3], *above = rows[(i + 2) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
			if (above[j] + 1 < row[j])
				row[j] = above[j] + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return rows[a_len % 3][b_len];
}
