/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * result.h - an answer in rows and columns, as a table, as JSON or as CSV
 *
 * A command describes its columns once, then fills the cells of one row after
 * the other; how they look is decided here. Nothing is written before
 * result_finish(), so rows may be put while a transaction of the database is
 * open: a pipe that nobody reads does not keep it open. JSON and CSV take 16 MB
 * of memory at most until then, and a temporary file in $TMPDIR or /tmp beyond;
 * a table is kept in memory. Only `lines` are written as they come. A cell that
 * was not set is not known: null in JSON, empty in CSV, a dash in a table.
 *
 * Failures (memory, a full disk) are remembered, and reported by result_finish(). A
 * reader that closes a pipe early has what it wanted: that is no failure. With `lines`
 * result_end_row() returns false from then on.
 */
#ifndef IBWIRE_EXPORT_RESULT_H
#define IBWIRE_EXPORT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct result;

enum result_format { RESULT_TABLE, RESULT_JSON, RESULT_CSV };

/* What a column's values are, which says how a table shows them. */
enum column_kind {
	COLUMN_TEXT,
	COLUMN_INTEGER,
	COLUMN_REAL,
	COLUMN_PERCENT, /* real; the title has the sign */
	COLUMN_BYTES,   /* integer; a table shows MB and so on */
	COLUMN_RATE,    /* bytes per second; a table shows bits per second */
	COLUMN_PER_S,   /* packets or MADs per second; a table shows 12.3k/s */
	COLUMN_GBPS,    /* real */
	COLUMN_GUID,    /* unsigned; "0x%016x" everywhere */
	COLUMN_HEX,     /* unsigned; an integer in JSON and CSV, 0x.. in a table */
	COLUMN_TIME,    /* integer, microseconds since 1970 UTC; ISO 8601 in data, local in a table */
	COLUMN_SPAN_S,  /* real seconds; a table shows 12m30s */
	COLUMN_SPAN_US, /* integer microseconds; the same */
	COLUMN_BOOL,
	COLUMN_LIST,    /* of texts */
	COLUMN_OBJECT,  /* of named unsigned numbers */
	COLUMN_ANY,     /* each cell as it is (SQL) */
};

enum column_flags {
	COLUMN_NO_TABLE = 1 << 0,  /* only in JSON and CSV */
	COLUMN_NO_DATA = 1 << 1,   /* only in tables */
	COLUMN_FLEXIBLE = 1 << 2,  /* a table may cut its cells to fit */
	COLUMN_KEEP_TAIL = 1 << 4, /* COLUMN_FLEXIBLE: cut in the middle, because the end tells cells apart */
	COLUMN_OMIT_ZERO = 1 << 3, /* COLUMN_OBJECT: members that are 0 are left out, but not of CSV */
};

struct column {
	const char *key;   /* in JSON and CSV: snake_case, with its unit */
	const char *title; /* in tables */
	enum column_kind kind;
	unsigned flags;
	/* Where a terminal is narrow, columns go from the highest number down; 0 stays. */
	unsigned priority;
	/* COLUMN_OBJECT: all names it can have, each a column KEY.NAME in CSV; NULL: one column. */
	const char *const *members;
	size_t member_count;
};

/* How a cell looks in a table; never the only sign. */
enum cell_style { STYLE_PLAIN, STYLE_DIM, STYLE_WARNING, STYLE_CRITICAL, STYLE_STRONG, STYLE_COUNT };

struct result_options {
	enum result_format format;
	bool csv_raw;   /* CSV: text as it is, also where a spreadsheet would run it as a formula */
	bool color;
	bool record;    /* exactly one row: a JSON object and no array, a table with a line per column */
	bool lines;     /* JSON: each row is an object on a line of its own, for whoever reads them as they come */
	bool notes;     /* result_note() shows: somebody looks at a table */
	unsigned width; /* of the terminal in columns; 0: no limit */
};

/*
 * result_create - begin an answer
 * @columns:  borrowed until result_destroy()
 *
 * Return: 0 or ERR_NOMEM.
 */
int result_create(FILE *stream, const struct result_options *options, const struct column *columns, size_t count,
		  struct result **ret, struct error *err);

/*
 * Set a cell of the row in hand. Text is copied; it may be anything: each
 * format escapes what it must (but what came from the wire goes through
 * text_sanitise() first, so that it is the same everywhere). NULL text and NAN
 * are not known.
 */
void result_text(struct result *result, size_t column, const char *chars);
void result_bytes(struct result *result, size_t column, const char *bytes, size_t len);
void result_hex(struct result *result, size_t column, const char *bytes, size_t len); /* two digits a byte */
void result_integer(struct result *result, size_t column, int64_t value);
void result_unsigned(struct result *result, size_t column, uint64_t value);
void result_real(struct result *result, size_t column, double value);
void result_bool(struct result *result, size_t column, bool value);

/*
 * An object or a list without members is known, and empty. Names are borrowed until
 * result_end_row(); no name is given twice in one object.
 */
void result_empty(struct result *result, size_t column);
void result_member(struct result *result, size_t column, const char *name, uint64_t value);
void result_number(struct result *result, size_t column, const char *name, double value); /* NAN: not known */
void result_item(struct result *result, size_t column, const char *chars);

/*
 * result_chars - what was put together for a cell, "" when empty (borrowed from @text)
 * Where memory ran out over it the answer fails: a cell that is cut would be a wrong one.
 */
struct text;
const char *result_chars(struct result *result, const struct text *text);

/* result_append_bytes - as tables show COLUMN_BYTES: "1.5 GB". */
void result_append_bytes(struct text *text, double bytes);

/* In tables only: another text for this cell (NULL: as it is), and how it looks. */
void result_show(struct result *result, size_t column, const char *chars, enum cell_style style);

/* result_end_row - the row is complete. Return: whether it makes sense to go on. */
bool result_end_row(struct result *result);

/* result_note - a line for a person, below the table; nothing elsewhere. */
void result_note(struct result *result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* result_finish - write what is left. Return: 0, ERR_IO (disk full), or ERR_NOMEM. */
int result_finish(struct result *result, struct error *err);
void result_destroy(struct result *result);

#endif
