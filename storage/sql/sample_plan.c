/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/sql/sample_plan.h"

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

	if (column >= 0 && strcmp(table->kind->name, SAMPLE_DELTA) == 0)
		return column < count ? first[column] : SAMPLE_COUNTERS + column - count;
	if (strcmp(table->kind->name, SAMPLE_PORT_SUM) == 0)
		return column == SUM_SINCE ? SAMPLE_SINCE : column == SUM_UNTIL ? SAMPLE_UNTIL :
		       column == SUM_PORT_ID ? SAMPLE_PORT_ID : -1;
	return column;
}

/* Does a constraint bound what has to be read? Columns are in the order of enum sample_column. */
static bool is_bound(int column, unsigned char op)
{
	if (column < 0)
		return false;
	if (column <= SAMPLE_WALL)
		return !(op & ~(LOWER | UPPER));
	return op == SQLITE_INDEX_CONSTRAINT_EQ && (column <= SAMPLE_PORT_ID || column >= SAMPLE_SINCE);
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
		plan[2 * used] = SAMPLE_PLAN_COLUMN(column);
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

/* The first and the last text of a time, and where its fields end. */
static const char first_time[] = "0001-01-01T00:00:00.000000Z", last_time[] = "9999-12-31T23:59:59.999999Z";
static const size_t field_ends[] = { 4, 7, 10, 13, 16, 19, 26 };

/* Number of fields of a time, from the year on, that are complete and in range. */
static size_t count_fields(const char *text)
{
	size_t count = 0;

	for (; count < sizeof(field_ends) / sizeof(*field_ends); count++) {
		size_t at = count ? field_ends[count - 1] + 1 : 0, digits = field_ends[count] - at;

		if ((at && text[at - 1] != last_time[at - 1]) || strspn(text + at, "0123456789") < digits ||
		    memcmp(text + at, first_time + at, digits) < 0 || memcmp(text + at, last_time + at, digits) > 0)
			break;
	}
	return count;
}

int64_t sample_time_bound(const char *text, bool upper)
{
	enum { MONTH = 2, DAY = 3 };
	size_t fields = count_fields(text);
	char whole[sizeof(last_time)];
	struct tm parts;
	time_t seconds;
	int day;

	if (!fields)
		return upper ? INT64_MAX : INT64_MIN;
	/* With other characters after these fields, it is before or after any time within the last of them. */
	for (;; fields = MONTH) {
		memcpy(whole, upper ? last_time : first_time, sizeof(whole));
		memcpy(whole, text, field_ends[fields - 1]);
		parts = (struct tm){ 0 };
		strptime(whole, "%Y-%m-%dT%H:%M:%S", &parts);
		day = parts.tm_mday;
		seconds = timegm(&parts);
		/* Otherwise the month has no such day. */
		if (fields < DAY || parts.tm_mday == day)
			return (int64_t)seconds * US_PER_S + strtol(whole + field_ends[5] + 1, NULL, 10);
	}
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
		result = bound_one(ret, plan[2 * i] - SAMPLE_PLAN_COLUMN(0), plan[2 * i + 1], argv[i], err);
	return result;
}
