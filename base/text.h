/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * text.h - growing text, and sanitized strings from the wire
 *
 * A zeroed struct is empty text. Appending does not return errors: without memory the text is
 * marked as failed and unchanged, and the caller checks text_failed() once, at the end.
 */
#ifndef IBWIRE_BASE_TEXT_H
#define IBWIRE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct error;

/* Size limits of files named by users, in bytes: small files, and descriptions of a fabric. */
enum { TEXT_SMALL_MOST = 16 << 20, TEXT_FABRIC_MOST = 256 << 20 };

struct text {
	char *chars; /* NUL-terminated once something was appended */
	size_t len;
	size_t capacity;
	bool failed;
};

/* text_plural - the end of a noun after a number: "", or "s" unless the number is 1 */
static inline const char *text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/*
 * text_reserve - room for @most bytes after the text, to be written in place; text_extend() adds
 * the bytes that were written
 * Return: NULL: no memory.
 */
char *text_grow(struct text *text, size_t most);
static inline char *text_reserve(struct text *text, size_t most)
{
	return most < text->capacity - text->len && !text->failed ? text->chars + text->len : text_grow(text, most);
}

static inline void text_extend(struct text *text, size_t len)
{
	text->len += len;
	text->chars[text->len] = '\0';
}

static inline void text_append_bytes(struct text *text, const char *bytes, size_t len)
{
	char *room = text_reserve(text, len);

	if (!room)
		return;
	memcpy(room, bytes, len);
	text_extend(text, len);
}

/* Inline: the length of a constant string is computed at compile time. */
static inline void text_append(struct text *text, const char *chars)
{
	text_append_bytes(text, chars, strlen(chars));
}

void text_appendf(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * text_append_number - append @value in base 10 or 16 (no leading zeros); about ten times faster
 * than text_appendf().
 */
void text_append_number(struct text *text, uint64_t value, unsigned base);

/* text_chars - the text so far, "" when empty (borrowed from @text). */
const char *text_chars(const struct text *text);

static inline bool text_failed(const struct text *text)
{
	return text->failed;
}

/*
 * text_is_wide - do these first bytes of a file belong to UTF-16?
 * With a byte order mark, or as ASCII is written without: every other one of the first bytes is NUL, and no other. At
 * least eight characters, because fields of one character may be separated by NULs.
 */
enum text_wide { WIDE_NONE, WIDE_LITTLE, WIDE_BIG };
enum text_wide text_is_wide(const char *bytes, size_t len);

/*
 * text_read_file - append the contents of a file named by the user
 * @path:  a file or a pipe (/dev/fd/63 of a process substitution); NULL: standard input
 * @what:  what it should be, with a space at the end, for the error: "the settings "
 * @most:  size limit in bytes
 *
 * A pipe without a writer is an error at once, one without data after a minute, so that a file
 * never blocks a command indefinitely. Standard input is waited for. A byte order mark at the
 * beginning is removed; UTF-16, with a mark or without, is an error.
 * Return: 0; ERR_IO: it cannot be read or is larger; ERR_NOMEM.
 */
int text_read_file(const char *path, const char *what, size_t most, struct text *ret, struct error *err);

/* text_read_bytes - the same with the mark, and UTF-16 as it is, for text_narrow() */
int text_read_bytes(const char *path, const char *what, size_t most, struct text *ret, struct error *err);

/*
 * text_narrow - append text that may be UTF-16 as UTF-8, without its byte order mark
 * Half a surrogate becomes U+FFFD. text_failed() reports a lack of memory.
 */
void text_narrow(struct text *ret, const char *bytes, size_t len);

/* text_clear - make it empty, keeping the memory. text_done - free the memory. */
void text_clear(struct text *text);
void text_done(struct text *text);

/* text_append_url - append a value of a query of a URL: all but letters and digits as "%HH" */
void text_append_url(struct text *text, const char *value);

/*
 * text_sanitise - make a string from the wire safe to display
 * @bytes, @len:  the string; ends at the first NUL or at @len
 * @ret:          @size bytes; always NUL-terminated valid UTF-8
 *
 * Leading and trailing spaces are removed. Control characters (C0, DEL, C1), characters that change
 * the writing direction, and bytes that are not valid UTF-8 become "\xHH". A backslash followed by
 * 'x' is escaped, too, so that escapes are unambiguous. Truncation never splits a character.
 */
void text_sanitise(const char *bytes, size_t len, char *ret, size_t size);

/*
 * text_append_escaped - append arbitrary bytes, with unsafe bytes as "\xHH"
 * The same bytes as in text_sanitise(), and NUL. Spaces at the ends and backslashes are kept, so that
 * sanitised text does not change.
 */
void text_append_escaped(struct text *text, const char *bytes, size_t len);

/*
 * text_blank - replace what text_sanitise() escapes by a character, in place
 * Backslashes and spaces remain. For messages, which may end in the middle of a character.
 */
void text_blank(char *chars, char by);

/* text_is_plain - printable ASCII only: columns equal bytes, no escaping needed. */
bool text_is_plain(const char *bytes, size_t len);

/*
 * text_decode - decode one UTF-8 character
 * @bytes:  @len bytes, at least 1
 * @ret:    its code point
 *
 * Return: its length; 0 if it is not valid (overlong forms, surrogates, above U+10FFFF).
 */
size_t text_decode(const char *bytes, size_t len, uint32_t *ret);

/*
 * text_columns - terminal columns of a UTF-8 string
 * Invalid bytes and unprintable characters count one. Needs no locale.
 */
size_t text_columns(const char *chars);

/*
 * text_prefix_bytes - number of bytes of @chars that fit in @columns columns, never splitting a
 * character.
 */
size_t text_prefix_bytes(const char *chars, size_t columns);

/* A name that was cut: its first @head bytes and those from @tail on remain, with a mark of one column between them. */
struct text_cut {
	size_t head, tail;
};

/*
 * text_cut_name - cut a name of more than @columns columns to at most these
 *
 * Numbers tell names apart: the characters with the fewest digits are removed, the first of several such runs; the
 * last character stays. "leaf-u01-r7/14" becomes ".af-u01-r7/14", "node0044.site.net mlx5_0/1" "node0044. mlx5_0/1".
 */
struct text_cut text_cut_name(const char *name, size_t columns);

/*
 * text_append_wrapped - append a line escaped, with line breaks between words; other blanks stay
 * @column:  where it begins
 * @indent:  of the lines after the first
 * @width:   in columns; only a single word may exceed it
 */
void text_append_wrapped(struct text *text, const char *line, unsigned column, unsigned indent, unsigned width);

/* text_append_lines - append lines, each of them wrapped with an indent of four more columns; @width 0: not wrapped */
void text_append_lines(struct text *text, const char *lines, unsigned width);

/* text_wrap_width - width of wrapped text on a terminal of @columns columns; 0: none */
static inline unsigned text_wrap_width(unsigned columns)
{
	return !columns ? 120 : columns < 40 ? 40 : columns;
}

/* text_cut_bytes - number of bytes of @chars up to @most, never splitting a character. */
size_t text_cut_bytes(const char *chars, size_t most);

/* text_distance - letters to change, insert, delete or exchange with the next one; for "did you mean". */
size_t text_distance(const char *a, const char *b);

#endif
