/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * result.h - rows and columns as table, JSON or CSV, or as values in memory
 *
 * A command describes its columns once and fills the cells row by row. Output is written by
 * result_finish(), so that a blocked pipe does not keep a database transaction open. JSON and CSV
 * take up to 16 MB of memory, then a temporary file in $TMPDIR or /tmp; a table is kept in memory.
 * With `lines` rows are written immediately. A cell that is not set is unknown: null in JSON, empty
 * in CSV, a dash in tables.
 *
 * Failures (memory, full disk) are stored and returned by result_finish(). A closed pipe is not a
 * failure. With `lines` result_end_row() returns false after a failure. NULL is a result for which
 * memory ran out.
 *
 * With `sort` the largest number comes first, as of column_number() where the column has one, but
 * texts are in the order of names; unknown values are last, and equal rows remain in their order.
 *
 * A lower bound (analysis/measure.h) is "12.3+" in tables. In data it is null, and the last key of the
 * row, RESULT_LOWER_BOUNDS, is an object with the bound by key: {"rcv_bytes_per_s": 1.2e9}. All rows of
 * a result with a measured column have this key.
 */
#ifndef IBWIRE_EXPORT_RESULT_H
#define IBWIRE_EXPORT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/measure.h"

struct column;
struct error;
struct result;
struct text;

/* RESULT_KEEP: rows stay in memory, for result_render() and result_cell(). */
enum result_format { RESULT_TABLE, RESULT_JSON, RESULT_CSV, RESULT_KEEP };

/* Kind of the values, which determines their format in tables. */
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
	COLUMN_ANY,     /* typed by cell (SQL) */
};

enum column_flags {
	COLUMN_NO_TABLE = 1 << 0,  /* only in JSON and CSV, although it has a title */
	COLUMN_NO_DATA = 1 << 1,   /* only in tables, although it has a key */
	COLUMN_FLEXIBLE = 1 << 2,  /* cells may be cut to fit */
	COLUMN_KEEP_TAIL = 1 << 4, /* COLUMN_FLEXIBLE: a name, cut by text_cut_name() */
	COLUMN_BELOW = 1 << 5,     /* of a table that is too wide: wrapped under its row, without a title */
	COLUMN_IF_SHOWN = 1 << 6,  /* of a record: its line is left out of a table without result_show() */
	COLUMN_HTML = 1 << 7,      /* with COLUMN_NO_TABLE: in HTML, which has space for it */
	COLUMN_NO_HTML = 1 << 8,   /* not in HTML, although it is in tables */
	COLUMN_OMIT_ZERO = 1 << 3, /* COLUMN_OBJECT: members that are 0 are omitted, except in CSV */
	COLUMN_LOAD = 1 << 10,     /* a share of what is possible: a screen colours it by its size */
	COLUMN_NONZERO = 1 << 11,  /* of an integer or text member: 0 or "" is unknown */
	COLUMN_APPEND = 1 << 9,    /* of a table of columns: in the data of each list, behind the columns it names */
};

/* Kinds of members of a row that a column can show. */
enum member_type { MEMBER_NONE, MEMBER_U8, MEMBER_U16, MEMBER_U32, MEMBER_U64, MEMBER_INT, MEMBER_I64, MEMBER_DOUBLE,
		   MEMBER_MEASURE, MEMBER_BOOL, MEMBER_CHARS, MEMBER_STRING };

/*
 * COLUMN_MEMBER - in a column: the cell is this member of the row, which has type @of
 * A double or struct measure is set as with result_measure(), an integer exactly. A char array or a
 * pointer to a text is a text. A member of another type does not compile.
 */
#define COLUMN_MEMBER(of, member) .offset = offsetof(of, member), .type = _Generic(&((of *)NULL)->member, \
	uint8_t *: MEMBER_U8, uint16_t *: MEMBER_U16, uint32_t *: MEMBER_U32, uint64_t *: MEMBER_U64, \
	int *: MEMBER_INT, int64_t *: MEMBER_I64, double *: MEMBER_DOUBLE, struct measure *: MEMBER_MEASURE, \
	bool *: MEMBER_BOOL, char (*)[sizeof(((of *)NULL)->member)]: MEMBER_CHARS, \
	char **: MEMBER_STRING, const char **: MEMBER_STRING)

/* COLUMN_MEMBER_AT - the same of the struct, of type @target, that the member @pointer of the row points to */
#define COLUMN_MEMBER_AT(of, pointer, target, member) \
	.via = 1 + offsetof(of, pointer), COLUMN_MEMBER(target, member)

struct column {
	const char *key;   /* in JSON and CSV: snake_case, with its unit; NULL: only in tables */
	const char *title; /* in tables; NULL: only in JSON and CSV */
	enum column_kind kind;
	unsigned flags;
	/* On narrow terminals columns are hidden by descending priority; 0 is never hidden. */
	unsigned priority;
	/* COLUMN_OBJECT: names of all members, then NULL; each is a column KEY.NAME in CSV. Without it: one column. */
	const char *(*member)(size_t at);
	const char *narrow; /* title in a narrow column of the screen; NULL: title */
	const char *help;   /* one sentence, without a period */
	/*
	 * How the cell is read from a row: result_fill() calls fill, or else sets the member of the row
	 * (COLUMN_MEMBER), or what measure or number returns. A column with fill may have a number too, by
	 * which it is sorted. None of them: the caller sets the cell.
	 */
	void (*fill)(struct result *result, size_t at, const void *row);
	struct measure (*measure)(const void *row);
	double (*number)(const void *row);
	size_t offset; /* of the member */
	uint16_t via;  /* 1 + offset of the pointer to its struct; 0: the struct is the row */
	uint8_t type;  /* enum member_type */
	bool measured; /* values may be lower bounds: a rate, a sum */
	int which;    /* free for fill: an enumerator, a counter */
	unsigned row; /* result_fill_rows(): of which of the rows */
	const char *metric; /* name of the gauge of its number, which ends with the unit; NULL: none */
};

/* Style of a table cell; the text alone is sufficient. */
enum cell_style { STYLE_PLAIN, STYLE_DIM, STYLE_WARNING, STYLE_CRITICAL, STYLE_STRONG, STYLE_COUNT };

struct result_options {
	enum result_format format;
	bool csv_raw;   /* CSV: no protection against spreadsheet formulas */
	bool color;
	bool record;    /* exactly one row: a JSON object, a table with one line per column */
	bool lines;     /* JSON: one object per line, written immediately */
	bool notes;     /* show result_note() */
	unsigned width; /* of the terminal in columns; 0: no limit */
	size_t most;    /* bytes; more is an error; 0: no limit */
	size_t sort;    /* 1 + the column that rows are sorted by, which keeps them in memory; 0: none */
	unsigned rendering; /* for the function that writes the rows: an enum page_target */
};

/*
 * result_create - begin a result
 * @columns:  borrowed until result_destroy()
 */
struct result *result_create(FILE *stream, const struct result_options *options, const struct column *columns,
			     size_t count);

/*
 * result_has - is a column in the output? Cells of others need not be set.
 * result_column - how it is described
 * result_rendering - as in the options
 */
bool result_has(const struct result *result, size_t column);
const struct column *result_column(const struct result *result, size_t column);
unsigned result_rendering(const struct result *result);

/* result_error - for a function that fails to get rows: result_finish() then writes nothing and returns this error. */
struct error *result_error(struct result *result);

/*
 * Set a cell of the current row. Text is copied and escaped by the format; text from the fabric
 * goes through text_sanitise() before, so that it is the same everywhere. NULL text and NAN are
 * unknown.
 */
void result_text(struct result *result, size_t column, const char *chars);
void result_bytes(struct result *result, size_t column, const char *bytes, size_t len);
void result_hex(struct result *result, size_t column, const char *bytes, size_t len); /* two digits per byte */
void result_integer(struct result *result, size_t column, int64_t value);
void result_unsigned(struct result *result, size_t column, uint64_t value);
void result_real(struct result *result, size_t column, double value);
void result_bool(struct result *result, size_t column, bool value);

/*
 * Objects and lists. One without members is empty, not unknown. Names of members are borrowed until
 * result_end_row() and unique within an object; items are copied.
 */
void result_empty(struct result *result, size_t column);
void result_member(struct result *result, size_t column, const char *name, uint64_t value);
void result_number(struct result *result, size_t column, const char *name, double value); /* NAN: unknown */
void result_item(struct result *result, size_t column, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * result_chars - the string of @text (borrowed), "" if empty
 * The result fails if memory ran out for @text.
 */
const char *result_chars(struct result *result, const struct text *text);

/* result_append_bytes - append a size in the format of COLUMN_BYTES: "1.5 GB". */
void result_append_bytes(struct text *text, double bytes);

/* result_format_bytes - the same in @size bytes of @ret. Return: @ret. */
const char *result_format_bytes(double bytes, char *ret, size_t size);

/* Tables only: replace the text of a cell (NULL: unchanged) and set its style. */
void result_show(struct result *result, size_t column, const char *chars, enum cell_style style);

/* result_showf - the same with formatted text. */
void result_showf(struct result *result, size_t column, enum cell_style style, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * result_at_least - the value of the cell is a lower bound
 * result_measure - set a number with what is known of it
 */
#define RESULT_LOWER_BOUNDS "lower_bounds"
void result_at_least(struct result *result, size_t column);
void result_measure(struct result *result, size_t column, struct measure measure);

/*
 * result_target - what a reader may want to open from the cell: a screen offers it, other formats ignore it
 * @id, @number:  for the caller's meaning, such as a GUID and a port, 0 for the node; id 0: none
 */
void result_target(struct result *result, size_t column, uint64_t id, unsigned number);

/*
 * result_fill - set the cells of all columns in the output that describe how they are read from @row
 * result_fill_rows - the same with several rows, such as both ends of a link: columns choose one by their index
 * @rows:  cells of a row that is NULL remain unknown
 */
void result_fill(struct result *result, const void *row);
void result_fill_rows(struct result *result, const void *const *rows);

/*
 * column_has_number - can rows be sorted by the column?
 * column_measure - the number of a row with what is known of it; unknown if it has none
 * column_number - its value, which may be a lower bound, for sorting; NAN: unknown
 * column_is_measured - may values be lower bounds?
 */
bool column_has_number(const struct column *column);
struct measure column_measure(const struct column *column, const void *row);
double column_number(const struct column *column, const void *row);
static inline bool column_is_measured(const struct column *column)
{
	return column->measured || column->measure || column->type == MEMBER_MEASURE;
}

/* result_fill_cell - the same for one column, also if it is not in the output */
void result_fill_cell(struct result *result, size_t at, const void *row);

/* result_end_row - finish the row. Return: false after a failure. */
bool result_end_row(struct result *result);

/* result_note - a line below a table on a terminal. */
void result_note(struct result *result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * result_none - why there are no rows
 * A table without rows is this text instead of its titles, in a pipe too; other formats and tables
 * with rows ignore it.
 */
void result_none(struct result *result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Rows in memory: a result of format RESULT_KEEP, made with a NULL stream. Each cell takes about
 * 150 bytes: for pages and for the visible rows of a screen, not for all ports of a fabric. Names
 * of members are borrowed until result_destroy() or the row is replaced after result_clear().
 *
 * result_rows - number of finished rows
 * result_clear - remove all rows; memory is kept for the next ones
 * result_number_of - the number in a cell; NAN for text and for unknown values
 */
size_t result_rows(const struct result *kept);
void result_clear(struct result *kept);
double result_number_of(const struct result *kept, size_t row, size_t column);

/*
 * result_cell - the text of a cell as in a table, not padded
 * @columns:    width of the cell: numbers that are wider get a shorter form where their kind has one;
 *              0: any width
 * @text:       cleared first
 * @ret_style:  or NULL
 */
void result_cell(const struct result *kept, size_t row, size_t column, unsigned columns, struct text *text,
		 enum cell_style *ret_style);

/*
 * result_target_of - the target of a cell. Return: its id; 0: none.
 * result_is_hidden - is a column, or the line of a record, left out of tables?
 * result_notes, result_none_text - lines below or instead of the table, each with its end; "": none
 */
uint64_t result_target_of(const struct result *kept, size_t row, size_t column, unsigned *ret_number);
bool result_is_hidden(const struct result *kept, size_t column);
const char *result_notes(const struct result *kept);
const char *result_none_text(const struct result *kept);

/* column_is_right - is the column right-aligned? */
bool column_is_right(const struct column *column);

/*
 * result_render - write kept rows to a stream, with their notes
 * @columns:  another selection of flags and titles for the same cells, or NULL: those of @kept
 * Return: as result_finish().
 */
int result_render(const struct result *kept, FILE *stream, const struct result_options *options,
		  const struct column *columns, struct error *err);

/* result_finish - write the output. Return: 0, ERR_IO (disk full), or ERR_NOMEM. */
int result_finish(struct result *result, struct error *err);
void result_destroy(struct result *result);

#endif
