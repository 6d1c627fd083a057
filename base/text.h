/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * text.h - growing text, and text from the wire made harmless
 *
 * A zeroed struct is empty text. Appending never fails visibly: where memory
 * runs out the text is marked failed and stays as it was, and the one who uses
 * it asks text_failed() once, at the end.
 */
#ifndef IBWIRE_BASE_TEXT_H
#define IBWIRE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct error;

/* How large a file that a user names may be, bytes: small ones, and descriptions of a whole fabric. */
enum { TEXT_SMALL_MOST = 16 << 20, TEXT_FABRIC_MOST = 256 << 20 };

struct text {
	char *chars; /* NUL-terminated once something was appended */
	size_t len;
	size_t capacity;
	bool failed;
};

/*
 * text_reserve - room behind the text for @most bytes, to write them in place: text_extend() says how many they became
 * Return: NULL where memory ran out.
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

/* Here, so that the length of a constant is one, too. */
static inline void text_append(struct text *text, const char *chars)
{
	text_append_bytes(text, chars, strlen(chars));
}

void text_appendf(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* text_append_number - @value in base 10 or 16 (no leading zeros): what text_appendf does, some ten times faster. */
void text_append_number(struct text *text, uint64_t value, unsigned base);

/* text_chars - the text so far, "" when empty (borrowed from @text). */
const char *text_chars(const struct text *text);

static inline bool text_failed(const struct text *text)
{
	return text->failed;
}

/*
 * text_read_file - append what a file that a user named holds
 * @path:  a file or a pipe (/dev/fd/63 of a shell's process substitution); NULL: standard input
 * @what:  what it should be, with a space at the end, for the error: "the settings "
 * @most:  size limit in bytes
 *
 * A pipe to which nothing writes is refused at once, and one that stays silent after a minute:
 * a file that is named never blocks a command for good. Standard input is waited for.
 * Return: 0; ERR_IO where it cannot be read or is larger; ERR_NOMEM.
 */
int text_read_file(const char *path, const char *what, size_t most, struct text *ret, struct error *err);

/* text_clear - empty again, memory kept. text_done - memory given back. */
void text_clear(struct text *text);
void text_done(struct text *text);

/*
 * text_sanitise - a string from the wire as one that can be shown anywhere
 * @bytes, @len:  what came; ends at the first NUL or at @len
 * @ret:          @size bytes; always NUL-terminated valid UTF-8
 *
 * Leading and trailing spaces go. Control characters (C0, DEL, C1), characters
 * that change the direction of writing, and bytes that are no valid UTF-8
 * become "\xHH" each byte. A backslash that is followed by 'x' is escaped too,
 * so that nothing can pass for an escape. Truncation never splits a character.
 */
void text_sanitise(const char *bytes, size_t len, char *ret, size_t size);

/*
 * text_columns - how many terminal columns a UTF-8 string takes
 * Invalid bytes and unprintable characters count one. Needs no locale.
 */
size_t text_columns(const char *chars);

/*
 * text_prefix_bytes - how many bytes of @chars fit in @columns columns,
 * never splitting a character.
 */
size_t text_prefix_bytes(const char *chars, size_t columns);

/* text_distance - Levenshtein distance of two short words, for "did you mean". */
size_t text_distance(const char *a, const char *b);

#endif
