/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_check_details.c - comparison of stored slow counters with a model; direct queries */
#include "storage/test/test_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "storage/reader.h"
#include "storage/test/test_model.h"

/* Expected result for one attribute of one port. */
struct expected {
	const struct model_detail_truth *newest;
	int64_t sweep; /* of the newest at or before the requested time; 0: none */
	int64_t last;  /* of the newest of all */
	uint32_t known, reset, saturated;
	uint64_t sum[DETAIL_MAX];
	uint32_t full; /* sums that do not fit */
	int64_t elapsed_us;
	bool any, seen;
};

struct checking {
	const struct model *model;
	struct expected *expected; /* by port and attribute */
	size_t rows;
	uint64_t node_guid; /* of the query; 0: all */
	int port;
};

static void check_detail_reading(const struct detail_reading *stored, const struct detail_reading *given)
{
	assert_int_equal(stored->attribute, given->attribute);
	assert_int_equal(stored->layout, given->layout);
	assert_int_equal(stored->present, given->present);
	for (unsigned i = 0; i < DETAIL_MAX; i++)
		assert_int_equal(stored->value[i], given->present & UINT32_C(1) << i ? given->value[i] : 0);
}

static void add(struct expected *expected, const struct model_detail_truth *truth)
{
	expected->known = expected->any ? expected->known & truth->delta.known : truth->delta.known;
	expected->any = true;
	expected->reset |= truth->delta.reset;
	expected->saturated |= truth->delta.saturated;
	expected->elapsed_us += truth->delta.elapsed_us;
	for (unsigned i = 0; i < DETAIL_MAX; i++)
		if (truth->delta.known & UINT32_C(1) << i &&
		    __builtin_add_overflow(expected->sum[i], truth->delta.value[i], &expected->sum[i]))
			expected->full |= UINT32_C(1) << i;
}

static struct expected *expect(const struct model *model, int64_t after, int64_t id)
{
	struct expected *all = calloc(model->port_count * DETAIL_ATTRIBUTE_COUNT, sizeof(*all));

	assert_non_null(all);
	for (size_t s = 0; s < model->sweep_count; s++) {
		for (size_t i = 0; i < model->sweeps[s].detail_count; i++) {
			const struct model_detail_truth *truth = &model->sweeps[s].details[i];
			struct expected *expected =
				&all[truth->port * DETAIL_ATTRIBUTE_COUNT + truth->reading.attribute];
			int64_t sweep = (int64_t)s + 1;

			expected->last = sweep;
			if (sweep > id)
				continue;
			expected->newest = truth;
			expected->sweep = sweep;
			if (sweep > after && truth->has_delta)
				add(expected, truth);
		}
	}
	return all;
}

static bool check_detail_row(void *ctx, const struct detail_row *row)
{
	struct checking *checking = ctx;
	size_t port = check_find_port(checking->model, row->node_guid, row->port);
	struct expected *expected = &checking->expected[port * DETAIL_ATTRIBUTE_COUNT + row->reading.attribute];

	assert_non_null(expected->newest);
	assert_false(expected->seen);
	expected->seen = true;
	checking->rows++;
	assert_true(!checking->node_guid || checking->node_guid == row->node_guid);
	assert_true(checking->port < 0 || checking->port == row->port);
	assert_int_equal(row->sweep, expected->sweep);
	assert_int_equal(row->wall_us, expected->newest->wall_us);
	check_detail_reading(&row->reading, &expected->newest->reading);
	assert_int_equal(row->reading.at_us, expected->newest->reading.at_us);
	assert_int_equal(row->sum.elapsed_us, expected->elapsed_us);
	assert_int_equal(row->sum.known, expected->known);
	for (unsigned i = 0; i < DETAIL_MAX; i++) {
		uint32_t bit = UINT32_C(1) << i;
		bool full = expected->full & bit;

		if (!(expected->known & bit))
			continue;
		assert_int_equal(row->sum.value[i], full ? UINT64_MAX : expected->sum[i]);
		assert_int_equal(row->sum.reset & bit, expected->reset & bit);
		assert_int_equal(row->sum.saturated & bit, full ? bit : expected->saturated & bit);
	}
	return true;
}

static void ask(struct reader *reader, const struct model *model, const struct detail_query *query, int64_t after,
		int64_t id)
{
	struct checking checking = { .model = model, .expected = expect(model, after, id),
				     .node_guid = query->node_guid, .port = query->node_guid ? query->port : -1 };
	bool past = id < (int64_t)model->sweep_count;
	int64_t back = query->node_guid ? DETAIL_LOOK_BACK_NODE_SWEEPS : DETAIL_LOOK_BACK_SWEEPS;
	int64_t from = past && after > id - back ? id - back : after;
	struct error err = { 0 };
	size_t rows = 0;

	if (reader_details(reader, query, check_detail_row, &checking, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < model->port_count * DETAIL_ATTRIBUTE_COUNT; i++) {
		const struct model_port *port = &model->ports[i / DETAIL_ATTRIBUTE_COUNT];
		const struct expected *expected = &checking.expected[i];

		if (query->node_guid && query->node_guid != model->nodes[port->node].node.guid)
			continue;
		if (query->node_guid && query->port >= 0 && query->port != port->num)
			continue;
		if (query->attributes && !(query->attributes >> i % DETAIL_ATTRIBUTE_COUNT & 1))
			continue;
		/* The search goes back this far, or to the newest reading of the port. */
		rows += expected->sweep && (expected->sweep > from || expected->last == expected->sweep);
	}
	assert_int_equal(checking.rows, rows);
	free(checking.expected);
}

void check_details(struct reader *reader, const struct model *model, int64_t at_us, int64_t window_us)
{
	struct detail_query query = { .at_us = at_us, .window_us = window_us };
	int64_t after, id = check_range(model, at_us, window_us, &after);
	const struct model_port *port = &model->ports[(size_t)id % model->port_count];

	if (!id)
		return;
	ask(reader, model, &query, after, id);
	query.node_guid = model->nodes[port->node].node.guid;
	query.port = -1;
	ask(reader, model, &query, after, id);
	query.port = port->num;
	ask(reader, model, &query, after, id);
	query.attributes = 1u << DETAIL_VL_XMIT_WAIT | 1u << (id % DETAIL_ATTRIBUTE_COUNT);
	ask(reader, model, &query, after, id);
}

static void check_restored(const struct model *model, const struct restored *restored, size_t p, int attribute)
{
	const struct model_port *port = &model->ports[p];
	const struct model_detail *detail = &port->details[attribute];
	size_t found = 0;

	for (size_t i = 0; i < restored->detail_count; i++) {
		const struct restored_detail *back = &restored->details[i];
		int64_t at_us = detail->last_at_us;

		if (back->port != port->num || back->reading.attribute != attribute ||
		    back->node_guid != model->nodes[port->node].node.guid)
			continue;
		found++;
		check_detail_reading(&back->reading, &detail->last);
		assert_int_equal(back->wall_us, detail->last_wall_us);
		/* After a reboot, the time is converted by the wall clock. */
		if (detail->last_boot != model->swept_boot)
			at_us = back->wall_us - model->sweep.wall_us + model->sweep.start_us;
		assert_int_equal(back->reading.at_us, at_us);
	}
	assert_int_equal(found, detail->has_last);
}

void check_restored_details(const struct model *model, const struct restored *restored)
{
	size_t expected = 0;

	for (size_t p = 0; p < model->port_count; p++) {
		for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++) {
			expected += model->ports[p].details[i].has_last;
			check_restored(model, restored, p, i);
		}
	}
	assert_int_equal(restored->detail_count, expected);
}

void check_change(const char *of, const char *sql)
{
	char *message = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(of, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int64_t check_integer(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *row;
	int64_t value;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_int_equal(sqlite3_column_type(row, 0), SQLITE_INTEGER);
	value = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return value;
}

/* Readings of a counter, each with the previous one. */
#define READINGS \
	"WITH r AS (SELECT d.*, k.max, lag(reading) OVER w AS before FROM details d JOIN detail_counter k" \
	" ON k.key = d.counter WINDOW w AS (PARTITION BY node_guid, port, counter ORDER BY sweep))" \
	" SELECT count(*) FROM r WHERE "

/* Readings of a counter from one without a known change, or with a reset, up to the next such one. */
#define SEGMENTS \
	"WITH m AS (SELECT *, sum(value IS NULL OR reset) OVER" \
	" (PARTITION BY node_guid, port, counter ORDER BY sweep) AS segment FROM details)," \
	" r AS (SELECT *, first_value(reading) OVER w AS first, last_value(reading) OVER w AS last," \
	" row_number() OVER w AS i FROM m WINDOW w AS (PARTITION BY node_guid, port, counter, segment" \
	" ORDER BY sweep ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))," \
	" s AS (SELECT first, last, sum(CASE WHEN i > 1 THEN value ELSE 0 END) AS counted, count(*) AS readings" \
	" FROM r GROUP BY node_guid, port, counter, segment) "

void check_details_are_exact(const char *path)
{
	assert_true(check_integer(path, "SELECT count(*) FROM details WHERE value > 0 AND NOT reset") > 0);
	/* Between two consecutive readings. */
	assert_int_equal(check_integer(path, READINGS "value <> CASE WHEN reset THEN reading"
				       " ELSE reading - before END"), 0);
	assert_int_equal(check_integer(path, READINGS "value IS NOT NULL AND"
				       " (before IS NULL OR elapsed_us IS NULL OR value < 0)"), 0);
	assert_int_equal(check_integer(path, READINGS "reading NOT BETWEEN 0 AND max OR"
				       " (value IS NOT NULL AND saturated <> (reading = max))"), 0);
	/* Only the first reading of an attribute has no time before it. */
	assert_int_equal(check_integer(path, "SELECT count(*) FROM detail d WHERE (elapsed_us IS NULL) <> (sweep ="
				       " (SELECT min(f.sweep) FROM detail f WHERE f.port = d.port AND"
				       " f.attribute = d.attribute))"), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM detail_last l WHERE sweep IS NOT"
				       " (SELECT max(d.sweep) FROM detail d WHERE d.port = l.port AND"
				       " d.attribute = l.attribute)"), 0);
	/* Over longer times: first + sum = last. */
	assert_int_equal(check_integer(path, SEGMENTS "SELECT count(*) FROM s WHERE first + counted <> last"), 0);
	assert_true(check_integer(path, SEGMENTS "SELECT count(*) FROM s WHERE readings > 4 AND counted > 0") > 50);
}
