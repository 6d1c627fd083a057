/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "export/format.h"

static void fail(struct result *result, int failure)
{
	if (result && !result->failure)
		result->failure = failure;
}

/* Record the first failure of a format call. */
static bool check(struct result *result, bool ok)
{
	bool lost = result->stream && ferror(result->stream);

	if (ok && !lost)
		return true;
	fail(result, lost ? (errno ? errno : EIO) : ENOMEM);
	return false;
}

/* The folder of temporary files. */
static const char *spool_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* Return: an unlinked file, or -1 with errno. */
static int spool_open_file(void)
{
	char name[PATH_MAX];
	int fd = -1;

	errno = ENAMETOOLONG;
	if (snprintf(name, sizeof(name), "%s/ibwire.XXXXXX", spool_folder()) < (int)sizeof(name))
		fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static bool write_whole(int fd, const char *bytes, size_t len)
{
	ssize_t written = 1;

	while (len && (written = write(fd, bytes, len)) > 0) {
		bytes += written;
		len -= (size_t)written;
	}
	return !len;
}

/* Callback of fopencookie(). Return: @len, or 0 with errno. */
static ssize_t spool_write(void *ctx, const char *bytes, size_t len)
{
	struct spool *spool = ctx;

	spool->size += len;
	if (spool->most && spool->size > spool->most) {
		errno = EFBIG;
		return 0;
	}
	if (spool->fd < 0 && spool->memory.len + len <= SPOOL_MEMORY_MOST) {
		text_append_bytes(&spool->memory, bytes, len);
		errno = ENOMEM;
		return text_failed(&spool->memory) ? 0 : (ssize_t)len;
	}
	if (spool->fd < 0) {
		spool->fd = spool_open_file();
		if (spool->fd < 0 || !write_whole(spool->fd, text_chars(&spool->memory), spool->memory.len))
			return 0;
		text_done(&spool->memory);
	}
	return write_whole(spool->fd, bytes, len) ? (ssize_t)len : 0;
}

static bool spool_begin(struct result *result)
{
	result->spool.fd = -1;
	result->spool.most = result->options.most;
	if (result->options.format == RESULT_KEEP || result->sorted)
		return true;
	result->stream = result->options.lines ? result->target :
		fopencookie(&result->spool, "w", (cookie_io_functions_t){ .write = spool_write });
	return result->stream;
}

/* Copy the spool to the target; later output goes directly to the target. */
static void spool_end(struct result *result)
{
	struct spool *spool = &result->spool;
	char buffer[65536];
	ssize_t len;

	if (result->stream == result->target || !check(result, fflush(result->stream) == 0))
		return;
	fclose(result->stream);
	result->stream = result->target;
	/* The caller of the stream reports an earlier error; nothing follows what was lost. */
	if (ferror(result->target)) {
		fail(result, EPIPE);
		return;
	}
	errno = 0;
	fwrite(text_chars(&spool->memory), 1, spool->memory.len, result->target);
	if (spool->fd < 0)
		return;
	lseek(spool->fd, 0, SEEK_SET);
	while ((len = read(spool->fd, buffer, sizeof(buffer))) > 0)
		if (fwrite(buffer, 1, (size_t)len, result->target) != (size_t)len)
			return;
	if (len < 0)
		fail(result, errno);
}

struct result *result_create(FILE *stream, const struct result_options *options, const struct column *columns,
			     size_t count)
{
	struct result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	result->values = calloc(count ? count : 1, sizeof(*result->values));
	result->options = *options;
	if (options->sort)
		result->sorted = stream;
	else
		result->target = stream;
	if (!result->values || !spool_begin(result)) {
		free(result->values);
		free(result);
		return NULL;
	}
	result->columns = columns;
	result->column_count = count;
	for (size_t i = 0; i < count; i++)
		result->measured |= column_is_in_data(&columns[i]) && column_is_measured(&columns[i]);
	result->format = options->sort                  ? &format_keep :
			 options->format == RESULT_JSON ? &format_json :
			 options->format == RESULT_CSV  ? &format_csv :
			 options->format == RESULT_KEEP ? &format_keep :
							  &format_table;
	errno = 0;
	check(result, result->format->begin(result));
	return result;
}

const struct column *result_column(const struct result *result, size_t column)
{
	return &result->columns[column];
}

struct error *result_error(struct result *result)
{
	return &result->error;
}

unsigned result_rendering(const struct result *result)
{
	return result->options.rendering;
}

bool result_has(const struct result *result, size_t column)
{
	return result && (result->format == &format_keep ||
			  (result->format == &format_table ? column_is_in_table(&result->columns[column]) :
			   column_is_in_data(&result->columns[column])));
}

/* Set the type of a cell. Return: NULL without a result. */
static struct value *value_of(struct result *result, size_t column, enum value_type type)
{
	struct value *value = result ? &result->values[column] : NULL;

	if (value)
		value->type = type;
	return value;
}

void result_bytes(struct result *result, size_t column, const char *bytes, size_t len)
{
	struct value *value = value_of(result, column, VALUE_TEXT);

	if (!value)
		return;
	text_clear(&value->chars);
	text_append_bytes(&value->chars, bytes, len);
	if (text_failed(&value->chars))
		fail(result, ENOMEM);
}

void result_hex(struct result *result, size_t column, const char *bytes, size_t len)
{
	struct value *value = value_of(result, column, VALUE_TEXT);
	char *digits;

	if (!value)
		return;
	text_clear(&value->chars);
	digits = text_reserve(&value->chars, 2 * len);
	if (!digits) {
		fail(result, ENOMEM);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		*digits++ = "0123456789abcdef"[(unsigned char)bytes[i] >> 4];
		*digits++ = "0123456789abcdef"[bytes[i] & 15];
	}
	text_extend(&value->chars, 2 * len);
}

void result_text(struct result *result, size_t column, const char *chars)
{
	if (chars)
		result_bytes(result, column, chars, strlen(chars));
	else
		value_of(result, column, VALUE_NULL);
}

const char *result_chars(struct result *result, const struct text *text)
{
	if (text_failed(text))
		fail(result, ENOMEM);
	return text_chars(text);
}

void result_integer(struct result *result, size_t column, int64_t value)
{
	if (result)
		value_of(result, column, VALUE_INTEGER)->integer = value;
}

void result_unsigned(struct result *result, size_t column, uint64_t value)
{
	if (result)
		value_of(result, column, VALUE_UNSIGNED)->natural = value;
}

void result_real(struct result *result, size_t column, double value)
{
	if (result)
		value_of(result, column, isfinite(value) ? VALUE_REAL : VALUE_NULL)->real = value;
}

void result_bool(struct result *result, size_t column, bool value)
{
	if (result)
		value_of(result, column, VALUE_BOOL)->integer = value;
}

static void free_items(const struct result *result, size_t column)
{
	struct value *value = &result->values[column];

	for (size_t i = 0; result->columns[column].kind == COLUMN_LIST && i < value->member_count; i++)
		free((char *)value->members[i].name);
	value->member_count = 0;
}

void result_empty(struct result *result, size_t column)
{
	if (!result)
		return;
	free_items(result, column);
	result->values[column].type = VALUE_MEMBERS;
}

static void add_member(struct result *result, size_t column, const struct member *member)
{
	struct value *value = result ? &result->values[column] : NULL;
	struct member *members;

	if (!value)
		return;
	if (value->type != VALUE_MEMBERS)
		result_empty(result, column);
	members = array_grow(value->members, value->member_count, &value->member_capacity, sizeof(*members));
	if (!members) {
		if (result->columns[column].kind == COLUMN_LIST)
			free((char *)member->name);
		fail(result, ENOMEM);
		return;
	}
	value->members = members;
	value->members[value->member_count++] = *member;
}

void result_member(struct result *result, size_t column, const char *name, uint64_t number)
{
	add_member(result, column, &(struct member){ .name = name, .value = number });
}

void result_number(struct result *result, size_t column, const char *name, double number)
{
	add_member(result, column, &(struct member){ .name = name, .real = number, .is_real = true });
}

/* Return: for free(), or NULL. */
__attribute__((format(printf, 2, 0)))
static char *format_text(struct result *result, const char *fmt, va_list args)
{
	char *chars;

	if (result && vasprintf(&chars, fmt, args) >= 0)
		return chars;
	fail(result, ENOMEM);
	return NULL;
}

void result_item(struct result *result, size_t column, const char *fmt, ...)
{
	va_list args;
	char *chars;

	va_start(args, fmt);
	chars = format_text(result, fmt, args);
	va_end(args);
	if (chars)
		result_member(result, column, chars, 0);
}

void result_showf(struct result *result, size_t column, enum cell_style style, const char *fmt, ...)
{
	va_list args;
	char *chars;

	va_start(args, fmt);
	chars = format_text(result, fmt, args);
	va_end(args);
	result_show(result, column, chars, style);
	free(chars);
}

void result_show(struct result *result, size_t column, const char *chars, enum cell_style style)
{
	struct value *value = result ? &result->values[column] : NULL;

	if (!value)
		return;
	value->style = style;
	value->has_shown = chars;
	text_clear(&value->shown);
	if (chars)
		text_append(&value->shown, chars);
	if (text_failed(&value->shown))
		fail(result, ENOMEM);
}

void result_at_least(struct result *result, size_t column)
{
	if (result)
		result->values[column].at_least = true;
}

void result_measure(struct result *result, size_t column, struct measure measure)
{
	enum column_kind kind;

	if (!result)
		return;
	kind = result->columns[column].kind;
	if (isfinite(measure.value) && (kind == COLUMN_INTEGER || kind == COLUMN_TIME || kind == COLUMN_SPAN_US))
		result_integer(result, column, llround(measure.value));
	else
		result_real(result, column, measure.value);
	result->values[column].at_least = measure_is_at_least(measure);
}

bool column_has_number(const struct column *column)
{
	return column->measure || column->number || (column->type && column->type < MEMBER_BOOL);
}

/* An integer member; an unsigned one of 64 bits keeps its bits. */
static int64_t member_integer(const struct column *column, const void *member)
{
	switch ((enum member_type)column->type) {
	case MEMBER_U8:
		return *(const uint8_t *)member;
	case MEMBER_U16:
		return *(const uint16_t *)member;
	case MEMBER_U32:
		return *(const uint32_t *)member;
	case MEMBER_INT:
		return *(const int *)member;
	default:
		return *(const int64_t *)member;
	}
}

static inline const void *member_of(const struct column *column, const void *row)
{
	const char *from = row;

	return (column->via ? *(const char *const *)(from + column->via - 1) : from) + column->offset;
}

static void fill_member(struct result *result, size_t at, const void *member)
{
	const struct column *column = &result->columns[at];
	const char *chars;
	int64_t integer;

	if (column->type >= MEMBER_CHARS) {
		chars = column->type == MEMBER_CHARS ? member : *(const char *const *)member;
		result_text(result, at, chars && !*chars && column->flags & COLUMN_NONZERO ? NULL : chars);
	} else if (column->type == MEMBER_BOOL) {
		result_bool(result, at, *(const bool *)member);
	} else if ((integer = member_integer(column, member)) || !(column->flags & COLUMN_NONZERO)) {
		if (column->type < MEMBER_INT && column->kind != COLUMN_TIME)
			result_unsigned(result, at, (uint64_t)integer);
		else
			result_integer(result, at, integer);
	}
}

struct measure column_measure(const struct column *column, const void *row)
{
	const void *member = member_of(column, row);
	int64_t integer;

	if (column->measure)
		return column->measure(row);
	if (column->number)
		return measure_of(column->number(row), true);
	if (column->type == MEMBER_MEASURE)
		return *(const struct measure *)member;
	if (column->type == MEMBER_DOUBLE)
		return measure_of(*(const double *)member, true);
	if (!column_has_number(column))
		return MEASURE_NONE;
	integer = member_integer(column, member);
	if (!integer && column->flags & COLUMN_NONZERO)
		return MEASURE_NONE;
	return measure_of(column->type == MEMBER_U64 ? (double)(uint64_t)integer : (double)integer, true);
}

double column_number(const struct column *column, const void *row)
{
	return column_measure(column, row).value;
}

void result_fill_cell(struct result *result, size_t at, const void *row)
{
	const struct column *column = &result->columns[at];

	if (result->options.sort == at + 1)
		result->values[at].rank = column_number(column, row);
	if (column->fill)
		column->fill(result, at, row);
	else if (column->type && column->type != MEMBER_DOUBLE && column->type != MEMBER_MEASURE)
		fill_member(result, at, member_of(column, row));
	else if (column_has_number(column))
		result_measure(result, at, column_measure(column, row));
}

void result_fill_rows(struct result *result, const void *const *rows)
{
	for (size_t i = 0; result && i < result->column_count; i++)
		if (rows[result->columns[i].row] && result_has(result, i))
			result_fill_cell(result, i, rows[result->columns[i].row]);
}

void result_fill(struct result *result, const void *row)
{
	for (size_t i = 0; result && i < result->column_count; i++)
		if (result_has(result, i))
			result_fill_cell(result, i, row);
}

void result_target(struct result *result, size_t column, uint64_t id, unsigned number)
{
	if (!result)
		return;
	result->values[column].target = id;
	result->values[column].target_number = number;
}

static void clear_row(struct result *result)
{
	for (size_t i = 0; i < result->column_count; i++) {
		if (result->values[i].member_count)
			free_items(result, i);
		result->values[i].type = VALUE_NULL;
		result->values[i].style = STYLE_PLAIN;
		result->values[i].target = 0;
		result->values[i].rank = NAN;
		result->values[i].has_shown = result->values[i].at_least = false;
	}
}

void result_write_row(struct result *result)
{
	if (result->failure)
		return;
	errno = 0;
	if (check(result, result->format->row(result)))
		result->rows++;
}

bool result_end_row(struct result *result)
{
	if (!result)
		return false;
	result_write_row(result);
	clear_row(result);
	return !result->failure;
}

void result_note(struct result *result, const char *fmt, ...)
{
	char line[256];
	va_list args;

	if (!result || (result->options.format != RESULT_KEEP &&
			(result->options.format != RESULT_TABLE || !result->options.notes)))
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	text_append(&result->notes, line);
	text_append(&result->notes, "\n");
	if (text_failed(&result->notes))
		fail(result, ENOMEM);
}

void result_none(struct result *result, const char *fmt, ...)
{
	va_list args;
	char line[512];

	if (!result)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	text_appendf(&result->none, "%s\n", line);
	if (text_failed(&result->none))
		fail(result, ENOMEM);
}

/* Write rows that were kept in order to be sorted. */
static int finish_sorted(struct result *result, struct error *err)
{
	struct result_options output = result->options;

	output.sort = 0;
	if (result->failure || !keep_sort(result, result->options.sort - 1))
		return err_nomem(err);
	return result_render(result, result->sorted, &output, NULL, err);
}

int result_finish(struct result *result, struct error *err)
{
	if (!result)
		return err_nomem(err);
	if (result->error.code)
		return err_set(err, result->error.code, "%s", result->error.text);
	if (result->sorted)
		return finish_sorted(result, err);
	if (!result->failure) {
		errno = 0;
		spool_end(result);
	}
	if (!result->failure && check(result, true) &&
	    (!result->format->end || check(result, result->format->end(result)))) {
		errno = 0;
		check(result, !result->stream || fflush(result->stream) == 0);
	}
	if (result->failure == ENOMEM)
		return err_nomem(err);
	if (result->failure == EFBIG && result->options.most)
		return err_set(err, ERR_IO, "the result is larger than %zu MB; select fewer ports",
			       result->options.most >> 20);
	if (result->failure && result->stream != result->target)
		return err_set(err, ERR_IO, "cannot write a temporary file in %s: %s; set TMPDIR to a "
			"directory with more space", spool_folder(), strerror(result->failure));
	if (result->failure && result->failure != EPIPE)
		return err_set(err, ERR_IO, "cannot write the output: %s", strerror(result->failure));
	return 0;
}

void result_destroy(struct result *result)
{
	if (!result)
		return;
	if (result->format->done)
		result->format->done(result);
	if (result->stream != result->target)
		fclose(result->stream);
	text_done(&result->spool.memory);
	if (result->spool.fd >= 0)
		close(result->spool.fd);
	for (size_t i = 0; i < result->column_count; i++)
		value_done(&result->columns[i], &result->values[i]);
	text_done(&result->notes);
	text_done(&result->none);
	text_done(&result->scratch);
	free(result->values);
	free(result);
}
