/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/sql/sample_plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/sql/sql_tables.h"

/* Operators that bound from below and from above; SQLite's codes of these five are distinct bits. */
enum {
	LOWER = SQLITE_INDEX_CONSTRAINT_EQ | SQLITE_INDEX_CONSTRAINT_GT | SQLITE_INDEX_CONSTRAINT_GE,
	UPPER = SQLITE_INDEX_CONSTRAINT_EQ | SQLITE_INDEX_CONSTRAINT_LT | SQLITE_INDEX_CONSTRAINT_LE,
};

int sample_column_of(const struct sql_table *table, int column)
{
	static const int first[] = { SAMPLE_SWEEP, SAMPLE_PORT_ID, SAMPLE_ELAPSED, SAMPLE_UNKNOWN };
	const int count = sizeof(first) / sizeof(*first);

	if (column < 0 || strcmp(table->kind->name, SAMPLE_DELTA) != 0)
		return column;
	return column < count ? first[column] : SAMPLE_COUNTERS + column - count;
}

/* Does a constraint bound what has to be read? */
static bool is_bound(int column, unsigned char op)
{
	switch (column) {
	case SAMPLE_SWEEP:
	case SAMPLE_WALL:
	case SAMPLE_TIME:
		return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
		       op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
		       op == SQLITE_INDEX_CONSTRAINT_LE;
	case SAMPLE_NODE:
	case SAMPLE_NODE_GUID:
	case SAMPLE_PORT:
	case SAMPLE_PORT_ID:
	case SAMPLE_SINCE:
	case SAMPLE_UNTIL:
		return op == SQLITE_INDEX_CONSTRAINT_EQ;
	default:
		return false;
	}
}

/* Texts are found by their bytes: with another collation all rows are read. */
static bool compares_bytes(sqlite3_index_info *info, int at, int column)
{
	return (column != SAMPLE_TIME && column != SAMPLE_NODE && column != SAMPLE_NODE_GUID) ||
	       sqlite3_stricmp(sqlite3_vtab_collation(info, at), "BINARY") == 0;
}

/* About how many sweeps and ports are left to read. */
struct share {
	double sweeps, ports;
};

/* Damage is reported when the table is read. */
static void read_share(sqlite3 *db, struct share *ret)
{
	int64_t row[3] = { 0 };

	db_row(db, "SELECT (SELECT min(id) FROM sweep), (SELECT max(id) FROM sweep), (SELECT max(id) FROM port)", NULL,
	       0, row, 3, NULL);
	ret->sweeps = (double)row[1] - (double)row[0] + 1;
	ret->ports = (double)row[2] + 1;
}

/* The share that a constraint leaves, as far as the plan alone determines it. */
static void narrow(struct share *share, int column, unsigned char op)
{
	enum { NODE_PORTS = 8, BOUND_SHARE = 7 };

	switch (column) {
	case SAMPLE_SWEEP:
		share->sweeps = op == SQLITE_INDEX_CONSTRAINT_EQ ? 1 : share->sweeps / BOUND_SHARE;
		break;
	case SAMPLE_WALL:
	case SAMPLE_TIME:
	case SAMPLE_SINCE:
	case SAMPLE_UNTIL:
		share->sweeps /= BOUND_SHARE;
		break;
	case SAMPLE_PORT_ID:
		share->ports = 1;
		break;
	case SAMPLE_PORT:
		share->ports /= NODE_PORTS;
		break;
	default:
		share->ports = share->ports < NODE_PORTS ? share->ports : NODE_PORTS;
	}
}

/*
 * Costs are rows of an ordinary table that are read in the same time. At least a window of sweeps of a
 * port is unpacked, so that one old sweep is expensive: one pass over all sweeps costs less than a
 * lookup for each.
 */
static void estimate(const struct share *share, sqlite3_index_info *info)
{
	enum { WINDOW_SWEEPS = 120, ALL_COST = 3 };
	double sweeps = share->sweeps < 1 ? 1 : share->sweeps, ports = share->ports < 1 ? 1 : share->ports;
	double unpacked = sweeps < WINDOW_SWEEPS ? WINDOW_SWEEPS : sweeps;

	info->estimatedRows = (sqlite3_int64)(sweeps * ports);
	info->estimatedCost = 200 + unpacked * ports / 4 + ALL_COST * sweeps * ports;
}

int sample_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct sql_table *table = (const struct sql_table *)base;
	char *plan = sqlite3_malloc(2 * info->nConstraint + 1);
	struct share share;
	int used = 0;

	if (!plan)
		return SQLITE_NOMEM;
	read_share(table->db, &share);
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		int column = sample_column_of(table, constraint->iColumn);
		bool argument = column >= SAMPLE_SINCE;

		if (!is_bound(column, constraint->op) || !compares_bytes(info, i, column))
			continue;
		if (!constraint->usable) {
			/* Arguments are required. */
			if (!argument)
				continue;
			sqlite3_free(plan);
			return SQLITE_CONSTRAINT;
		}
		plan[2 * used] = (char)('A' + column);
		plan[2 * used + 1] = (char)constraint->op;
		info->aConstraintUsage[i].argvIndex = ++used;
		info->aConstraintUsage[i].omit = argument;
		narrow(&share, column, constraint->op);
	}
	plan[2 * used] = '\0';
	info->idxStr = plan;
	info->needToFreeIdxStr = 1;
	estimate(&share, info);
	return SQLITE_OK;
}

/* A number of @digits digits from @least to @most. Return: it, or -1. */
static int field(const char *text, int digits, int least, int most)
{
	int value = 0;

	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)text[i]))
			return -1;
		value = 10 * value + text[i] - '0';
	}
	return value < least || value > most ? -1 : value;
}

/*
 * Reads the fields of the text that are complete and in range, up to the first that is not. With a
 * remainder the text can be any time within the last complete field.
 */
int64_t sample_time_bound(const char *text, bool upper)
{
	static const struct { int at, digits, least, most; int64_t us; char after; } fields[] = {
		{ 0, 4, 1, 9999, 366 * 86400 * US_PER_S, '-' }, { 5, 2, 1, 12, 31 * 86400 * US_PER_S, '-' },
		{ 8, 2, 1, 31, 86400 * US_PER_S, 'T' }, { 11, 2, 0, 23, 3600 * US_PER_S, ':' },
		{ 14, 2, 0, 59, 60 * US_PER_S, ':' }, { 17, 2, 0, 59, US_PER_S, '.' }, { 20, 6, 0, 999999, 0, 'Z' },
	};
	enum { COUNT = sizeof(fields) / sizeof(*fields) };
	int values[COUNT] = { 0, 1, 1, 0, 0, 0, 0 }, whole = 0;
	struct tm parts = { 0 }, checked;
	int64_t us;

	for (; whole < COUNT; whole++) {
		int value = strlen(text) < (size_t)(fields[whole].at + fields[whole].digits) ? -1 :
			    field(text + fields[whole].at, fields[whole].digits, fields[whole].least,
				  fields[whole].most);

		if (value < 0)
			break;
		values[whole] = value;
		if (text[fields[whole].at + fields[whole].digits] != fields[whole].after) {
			whole++;
			break;
		}
	}
	if (!whole)
		return upper ? INT64_MAX : INT64_MIN;
	parts.tm_year = values[0] - 1900;
	parts.tm_mon = values[1] - 1;
	parts.tm_mday = values[2];
	checked = parts;
	timegm(&checked);
	/* The month has no such day. */
	if (checked.tm_mday != parts.tm_mday) {
		parts.tm_mday = 1;
		values[3] = values[4] = values[5] = values[6] = 0;
		whole = 2;
	}
	us = (int64_t)timegm(&parts) * US_PER_S + (values[3] * 3600LL + values[4] * 60LL + values[5]) * US_PER_S +
	     values[6];
	return upper ? us + fields[whole - 1].us : us;
}

static int64_t before(int64_t value)
{
	return value > INT64_MIN ? value - 1 : value;
}

static void bound_sweep(struct sample_bounds *bounds, int op, int64_t value)
{
	if ((op & LOWER) && before(value) > bounds->after)
		bounds->after = before(value);
	if ((op & UPPER) && value < bounds->until)
		bounds->until = value;
}

static void bound_wall(struct sample_bounds *bounds, int op, int64_t lower_us, int64_t upper_us)
{
	bounds->by_time = true;
	if ((op & LOWER) && lower_us > bounds->from_us)
		bounds->from_us = lower_us;
	if ((op & UPPER) && upper_us < bounds->to_us)
		bounds->to_us = upper_us;
}

/* "0x" and sixteen digits, as in the column; no port has any other text. */
static void bound_guid(struct sample_bounds *bounds, const char *text)
{
	char *end;

	bounds->by_guid = true;
	bounds->guid = strtoull(text, &end, 16);
	if (strncmp(text, "0x", 2) || *end || strlen(text) != 18)
		bounds->nothing = true;
}

static int bound_argument(struct sample_bounds *bounds, int column, sqlite3_value *value, struct error *err)
{
	int64_t us;

	if (!sql_parse_time(value, column == SAMPLE_SINCE ? INT64_MIN : INT64_MAX, &us, err))
		return ERR_USAGE;
	if (column == SAMPLE_SINCE)
		bound_wall(bounds, SQLITE_INDEX_CONSTRAINT_GE, us < INT64_MAX && us > INT64_MIN ? us + 1 : us, 0);
	else
		bound_wall(bounds, SQLITE_INDEX_CONSTRAINT_LE, 0, us);
	return 0;
}

/* One constraint. A value of another type than the column compares in other ways and bounds nothing. */
static int bound_one(struct sample_bounds *bounds, int column, int op, sqlite3_value *value, struct error *err)
{
	int type = sqlite3_value_type(value);
	bool number = type == SQLITE_INTEGER || (type == SQLITE_FLOAT && op != SQLITE_INDEX_CONSTRAINT_EQ);
	const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;

	if (column >= SAMPLE_SINCE)
		return bound_argument(bounds, column, value, err);
	if (type == SQLITE_NULL)
		bounds->nothing = true;
	else if (column == SAMPLE_SWEEP && number)
		bound_sweep(bounds, op, sqlite3_value_int64(value));
	else if (column == SAMPLE_WALL && number)
		/* The conversion may have cut off a fraction of a microsecond. */
		bound_wall(bounds, op, before(sqlite3_value_int64(value)), sqlite3_value_int64(value));
	else if (column == SAMPLE_TIME && text)
		bound_wall(bounds, op, sample_time_bound(text, false), sample_time_bound(text, true));
	else if (column == SAMPLE_PORT_ID && type == SQLITE_INTEGER)
		bounds->port_id = sqlite3_value_int64(value) > 0 ? sqlite3_value_int64(value) : -1;
	else if (column == SAMPLE_PORT && type == SQLITE_INTEGER)
		bounds->num = sqlite3_value_int64(value) >= 0 && sqlite3_value_int64(value) <= 255 ?
			      sqlite3_value_int(value) : 256;
	else if (column == SAMPLE_NODE_GUID && text)
		bound_guid(bounds, text);
	else if (column == SAMPLE_NODE && text)
		bounds->node = text;
	return 0;
}

int sample_bounds_read(const char *plan, int argc, sqlite3_value **argv, struct sample_bounds *ret,
		       struct error *err)
{
	int result = 0;

	*ret = (struct sample_bounds){ .until = INT64_MAX - 1, .from_us = INT64_MIN, .to_us = INT64_MAX, .num = -1 };
	for (int i = 0; !result && i < argc; i++)
		result = bound_one(ret, plan[2 * i] - 'A', plan[2 * i + 1], argv[i], err);
	return result;
}
