/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader_history.c - the pieces of a window, read from samples and from sums */
#include "storage/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/read/readings.h"
#include "storage/read/sums.h"
#include "storage/read/window_plan.h"

const char *history_source_name(enum history_source source)
{
	static const char *const names[HISTORY_SOURCE_COUNT] = {
		[HISTORY_RAW] = "raw", [HISTORY_CHUNK_SUMS] = "chunk sums", [HISTORY_HOUR_SUMS] = "hour sums",
	};

	return names[source];
}

/* For a larger part of all ports all rows are read: that takes a quarter of the time of a lookup for each. */
enum { PORTS_BY_KEY = 8, TOTALS_AT_A_TIME = 16384 };

/* A port of the query. */
struct selected {
	struct history_port port;
	size_t place; /* in the query */
	uint32_t id;
};

static uint64_t key_of(const struct history_port *port)
{
	return map_mix(port->node_guid) ^ port->num;
}

/* While a window is read. */
struct history_walk {
	struct reader *reader;
	const struct history_query *query;
	const struct history_consumer *consumer;
	bool by_key;           /* few ports: one lookup each */
	size_t most;           /* elements of these arrays */
	struct selected *selected; /* ports that were ever stored, in order of id, each once */
	uint32_t *ids;         /* parallel to it */
	struct port_sum *sums; /* parallel to it: of one part */
	size_t count;
	bool more;             /* the consumer has not stopped */
};

/* Ids by all rows of port. */
static int scan_ports(struct history_walk *walk, struct error *err)
{
	const struct history_query *query = walk->query;
	struct map places = { 0 };
	sqlite3_stmt *rows = NULL;
	uint32_t place = 0;
	int result = 0;

	/* The first place of each port remains. */
	for (size_t i = query->ports ? query->port_count : 0; !result && i-- > 0;)
		result = map_put(&places, key_of(&query->ports[i]), (uint32_t)i) < 0 ? err_nomem(err) : 0;
	if (!result)
		result = db_prepare(walk->reader->db, "SELECT p.id, n.guid, p.number FROM port p CROSS JOIN node n"
				    " ON n.id = p.node ORDER BY p.id", &rows, err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		struct history_port port = { db_u64(rows, 1), (uint8_t)sqlite3_column_int(rows, 2) };

		if (walk->count < walk->most && (!query->ports || map_get(&places, key_of(&port), &place)))
			walk->selected[walk->count++] = (struct selected){ port, place, (uint32_t)db_u64(rows, 0) };
	}
	sqlite3_finalize(rows);
	map_done(&places);
	return result;
}

static int compare_ids(const void *a, const void *b)
{
	const struct selected *left = a, *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->place < right->place ? -1 : left->place > right->place;
}

/* Ids by a lookup for each port. */
static int look_up_ports(struct history_walk *walk, struct error *err)
{
	const struct history_query *query = walk->query;
	size_t found = 0;
	sqlite3_stmt *row;
	int result = db_prepare(walk->reader->db, "SELECT p.id FROM node n CROSS JOIN port p ON p.node = n.id"
				" WHERE n.guid = ?1 AND p.number = ?2", &row, err);

	for (size_t i = 0; result >= 0 && i < query->port_count; i++) {
		db_bind_u64(row, 1, query->ports[i].node_guid);
		sqlite3_bind_int(row, 2, query->ports[i].num);
		result = db_step(row, err);
		if (result > 0)
			walk->selected[found++] = (struct selected){ query->ports[i], i, (uint32_t)db_u64(row, 0) };
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	qsort(walk->selected, found, sizeof(*walk->selected), compare_ids);
	for (size_t i = 0; i < found; i++)
		if (!i || walk->selected[i].id != walk->selected[i - 1].id)
			walk->selected[walk->count++] = walk->selected[i];
	return result < 0 ? result : 0;
}

static int find_ports(struct history_walk *walk, struct error *err)
{
	const struct history_query *query = walk->query;
	int64_t known = 0;
	int result = db_integer(walk->reader->db, "SELECT max(id) FROM port", 0, &known, err);

	if (result < 0)
		return result;
	walk->most = query->ports ? query->port_count : (size_t)known;
	walk->by_key = query->ports && query->port_count <= (size_t)known / PORTS_BY_KEY;
	walk->selected = calloc(walk->most + 1, sizeof(*walk->selected));
	walk->ids = calloc(walk->most + 1, sizeof(*walk->ids));
	walk->sums = calloc(walk->most + 1, sizeof(*walk->sums));
	if (!walk->selected || !walk->ids || !walk->sums)
		return err_nomem(err);
	result = walk->by_key ? look_up_ports(walk, err) : scan_ports(walk, err);
	for (size_t i = 0; i < walk->count; i++)
		walk->ids[i] = walk->selected[i].id;
	return result;
}

static void free_ports(struct history_walk *walk)
{
	free(walk->selected);
	free(walk->ids);
	free(walk->sums);
}

static void note_damage(const struct history_walk *walk, const struct history_damage *damage)
{
	struct history_damage *ret = walk->query->damage;

	if (!ret || !damage->count)
		return;
	if (!ret->count)
		memcpy(ret->first, damage->first, sizeof(ret->first));
	ret->count += damage->count;
}

static void report_piece(struct history_walk *walk, enum history_source source, const struct plan_unit *unit)
{
	const struct history_piece piece = {
		.source = source, .from_sweep = unit->from_sweep, .to_sweep = unit->to_sweep,
		.from_us = unit->from_us, .to_us = unit->to_us,
	};

	walk->more = walk->consumer->piece(walk->consumer->ctx, &piece);
}

static void report_delta(struct history_walk *walk, size_t index, const struct delta *delta, int64_t samples)
{
	const struct selected *selected = &walk->selected[index];

	walk->more = walk->consumer->delta(walk->consumer->ctx, selected->place, &selected->port, delta, samples);
}

/* The deltas of one sweep; @scan_result: 1 while the scan has a delta that was not used. */
static int report_sweep(struct history_walk *walk, struct delta_scan *scan, int64_t sweep, int *scan_result,
		      struct error *err)
{
	struct delta delta;
	int result = 0;

	while (*scan_result > 0 && scan->sweep <= sweep && walk->more) {
		size_t index = ports_find(walk->ids, walk->count, scan->port);

		if (scan->sweep == sweep && index < walk->count) {
			result = delta_scan_read(scan, &delta, err);
			if (result < 0)
				return result;
			report_delta(walk, index, &delta, 1);
		}
		*scan_result = delta_scan_next(scan, err);
	}
	return *scan_result < 0 ? *scan_result : 0;
}

/* Sweeps whose samples are stored, one by one. */
static int report_sweeps(struct history_walk *walk, const struct plan_part *part, struct error *err)
{
	sqlite3 *db = walk->reader->db;
	struct delta_scan scan = { 0 };
	sqlite3_stmt *sweeps = NULL;
	int scan_result = 0, result = 0;

	if (walk->count)
		result = delta_scan_begin_ports(&scan, db, part->from_sweep - 1, part->to_sweep - 1, walk->ids,
						walk->by_key ? walk->count : 0, err);
	if (!result)
		result = db_prepare(db, "SELECT id, wall_us FROM sweep WHERE id >= ?1 AND id < ?2 ORDER BY id",
				    &sweeps, err);
	if (!result) {
		DB_BIND(sweeps, 1, part->from_sweep, part->to_sweep);
		result = scan_result = walk->count ? delta_scan_next(&scan, err) : 0;
	}
	while (result >= 0 && walk->more && (result = db_step(sweeps, err)) > 0) {
		int64_t id = sqlite3_column_int64(sweeps, 0), wall_us = db_us(sweeps, 1);

		report_piece(walk, HISTORY_RAW, &(struct plan_unit){ .from_sweep = id, .to_sweep = id + 1,
								     .from_us = wall_us, .to_us = wall_us });
		result = report_sweep(walk, &scan, id, &scan_result, err);
	}
	sqlite3_finalize(sweeps);
	note_damage(walk, &scan.damage);
	delta_scan_end(&scan);
	return result < 0 ? result : 0;
}

static int report_sum(struct history_walk *walk, struct sums_reader *sums, const struct plan_part *part,
		      struct error *err)
{
	int result = 0;

	report_piece(walk, part->source == PLAN_HOUR_SUMS ? HISTORY_HOUR_SUMS : HISTORY_CHUNK_SUMS, &part->unit);
	if (walk->more)
		result = sums_add(sums, part, err);
	for (size_t i = 0; !result && walk->more && i < walk->count; i++) {
		if (walk->sums[i].samples)
			report_delta(walk, i, &walk->sums[i].sum, (int64_t)walk->sums[i].samples);
		/* The next sum of the port replaces it. */
		walk->sums[i].samples = 0;
	}
	return result;
}

/* All parts of the plan. Consecutive parts with samples are one scan. */
static int report_parts(struct history_walk *walk, struct window_plan *plan, struct sums_reader *sums,
			struct error *err)
{
	struct plan_part part, sweeps = { 0 };
	int more, result = 0;

	do {
		bool is_sum;

		more = window_plan_next(plan, &part, err);
		is_sum = more > 0 && (part.source == PLAN_WINDOW_SUMS || part.source == PLAN_HOUR_SUMS);
		if (more > 0 && !is_sum) {
			sweeps.from_sweep = sweeps.to_sweep ? sweeps.from_sweep : part.from_sweep;
			sweeps.to_sweep = part.to_sweep;
			continue;
		}
		if (more >= 0 && sweeps.to_sweep)
			result = report_sweeps(walk, &sweeps, err);
		sweeps.to_sweep = 0;
		if (!result && is_sum && walk->more)
			result = report_sum(walk, sums, &part, err);
	} while (more > 0 && !result && walk->more);
	return more < 0 ? more : result;
}

int reader_history(struct reader *reader, const struct history_query *query, const struct history_consumer *consumer,
		   struct error *err)
{
	struct history_walk walk = { .reader = reader, .query = query, .consumer = consumer, .more = true };
	struct sums_reader sums = { 0 };
	struct window_plan plan = { 0 };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = find_ports(&walk, err);
	if (!result)
		result = sums_begin(&sums, reader->db, &(struct sums_query){ .ports = walk.ids,
				    .port_count = walk.count, .counters = query->counters }, walk.sums, walk.count,
				    err);
	if (!result)
		result = window_plan_begin(&plan, reader->db, query->after, query->until, query->longest_us, err);
	if (!result)
		result = report_parts(&walk, &plan, &sums, err);
	window_plan_end(&plan);
	sums_end(&sums);
	reader_end(reader);
	free_ports(&walk);
	return result;
}

int reader_history_totals(struct reader *reader, const struct history_query *query, history_total_fn *each, void *ctx,
			  struct error *err)
{
	struct history_walk walk = { .reader = reader, .query = query };
	struct sums_query part = { .after = query->after, .until = query->until, .counters = query->counters };
	size_t most = query->at_a_time ? query->at_a_time : TOTALS_AT_A_TIME;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = find_ports(&walk, err);
	for (size_t at = 0; !result && at < walk.count; at += part.port_count) {
		struct sums_origin origin = { 0 };

		part.ports = walk.ids + at;
		part.port_count = walk.count - at < most ? walk.count - at : most;
		memset(walk.sums, 0, part.port_count * sizeof(*walk.sums));
		result = sums_load(reader->db, &part, walk.sums, part.port_count, &origin, err);
		for (size_t i = 0; !result && i < part.port_count; i++) {
			const struct port_sum *sum = &walk.sums[i];

			each(ctx, walk.selected[at + i].place, &walk.selected[at + i].port,
			     &(struct history_sum){ sum->sum, (int64_t)sum->samples, sum->ever });
		}
		note_damage(&walk, &origin.damage);
	}
	reader_end(reader);
	free_ports(&walk);
	return result;
}

static void store_total(void *ctx, size_t place, const struct history_port *who, const struct history_sum *total)
{
	struct history_sum *sums = ctx;

	(void)who;
	sums[place] = *total;
}

int reader_history_sums(struct reader *reader, const struct history_query *query, struct history_sum *ret,
			struct error *err)
{
	memset(ret, 0, query->port_count * sizeof(*ret));
	return reader_history_totals(reader, query, store_total, ret, err);
}
