/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader_history.c - the pieces of a window, read from samples and from sums */
#include "storage/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
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
enum { PORTS_BY_KEY = 8 };

/* A port of the query. */
struct wanted {
	struct history_port who;
	size_t place; /* in the query */
	uint32_t id;  /* 0: the port was never stored */
};

/* While a window is read. */
struct history_walk {
	struct reader *reader;
	const struct history_query *query;
	const struct history_consumer *consumer;
	size_t known;          /* ports that were ever stored */
	struct wanted *wanted; /* in order of id, each once */
	uint32_t *ids;         /* parallel to it */
	struct port_sum *sums; /* parallel to it: of one part */
	size_t count;
	struct history_damage damage;
	bool more;             /* the consumer has not stopped */
};

static int compare_who(const void *a, const void *b)
{
	const struct history_port *left = &((const struct wanted *)a)->who, *right = &((const struct wanted *)b)->who;

	if (left->node_guid != right->node_guid)
		return left->node_guid < right->node_guid ? -1 : 1;
	return (int)left->num - (int)right->num;
}

static int compare_places(const void *a, const void *b)
{
	const struct wanted *left = a, *right = b;
	int order = compare_who(a, b);

	return order ? order : left->place < right->place ? -1 : left->place > right->place;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t left = ((const struct wanted *)a)->id, right = ((const struct wanted *)b)->id;

	return left < right ? -1 : left > right;
}

/* The ports of the query, each once, in order of GUID and number. */
static void list_ports(struct history_walk *walk)
{
	const struct history_query *query = walk->query;
	struct wanted *wanted = walk->wanted;

	for (size_t i = 0; i < query->port_count; i++)
		wanted[i] = (struct wanted){ .who = query->ports[i], .place = i };
	qsort(wanted, query->port_count, sizeof(*wanted), compare_places);
	for (size_t i = 0; i < query->port_count; i++)
		if (!walk->count || compare_who(&wanted[walk->count - 1], &wanted[i]))
			wanted[walk->count++] = wanted[i];
}

/* Ids by all rows of port. */
static int scan_ports(struct history_walk *walk, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(walk->reader->db,
				"SELECT p.id, n.guid, p.number FROM port p CROSS JOIN node n ON n.id = p.node", &rows,
				err);

	if (result < 0)
		return result;
	while ((result = db_step(rows, err)) > 0) {
		struct wanted row = { .who = { db_u64(rows, 1), (uint8_t)sqlite3_column_int(rows, 2) },
				      .id = (uint32_t)sqlite3_column_int64(rows, 0) };
		struct wanted *found;

		if (!walk->query->ports && walk->count < walk->known) {
			walk->wanted[walk->count++] = row;
			continue;
		}
		found = bsearch(&row, walk->wanted, walk->count, sizeof(row), compare_who);
		if (found)
			found->id = row.id;
	}
	sqlite3_finalize(rows);
	return result;
}

/* Ids by a lookup for each port. */
static int look_up_ports(struct history_walk *walk, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(walk->reader->db, "SELECT p.id FROM node n CROSS JOIN port p ON p.node = n.id"
				" WHERE n.guid = ?1 AND p.number = ?2", &row, err);

	for (size_t i = 0; result >= 0 && i < walk->count; i++) {
		db_bind_u64(row, 1, walk->wanted[i].who.node_guid);
		sqlite3_bind_int(row, 2, walk->wanted[i].who.num);
		result = db_step(row, err);
		if (result > 0)
			walk->wanted[i].id = (uint32_t)sqlite3_column_int64(row, 0);
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int find_ports(struct history_walk *walk, struct error *err)
{
	const struct history_query *query = walk->query;
	int64_t known = 0;
	size_t most, found = 0;
	int result = db_integer(walk->reader->db, "SELECT max(id) FROM port", 0, &known, err);

	if (result < 0)
		return result;
	walk->known = (size_t)known;
	most = query->ports ? query->port_count : walk->known;
	walk->wanted = calloc(most + 1, sizeof(*walk->wanted));
	walk->ids = calloc(most + 1, sizeof(*walk->ids));
	walk->sums = calloc(most + 1, sizeof(*walk->sums));
	if (!walk->wanted || !walk->ids || !walk->sums)
		return err_nomem(err);
	if (query->ports)
		list_ports(walk);
	if (query->ports && walk->count <= walk->known / PORTS_BY_KEY)
		result = look_up_ports(walk, err);
	else
		result = scan_ports(walk, err);
	for (size_t i = 0; i < walk->count; i++)
		if (walk->wanted[i].id)
			walk->wanted[found++] = walk->wanted[i];
	walk->count = found;
	qsort(walk->wanted, found, sizeof(*walk->wanted), compare_ids);
	for (size_t i = 0; i < found; i++)
		walk->ids[i] = walk->wanted[i].id;
	return result;
}

static void forget_ports(struct history_walk *walk)
{
	free(walk->wanted);
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
	const struct wanted *wanted = &walk->wanted[index];

	walk->more = walk->consumer->delta(walk->consumer->ctx, wanted->place, &wanted->who, delta, samples);
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
	bool by_key = walk->query->ports && walk->count <= walk->known / PORTS_BY_KEY;
	sqlite3 *db = walk->reader->db;
	struct delta_scan scan = { 0 };
	sqlite3_stmt *sweeps = NULL;
	int scan_result = 0, result = 0;

	if (walk->count)
		result = delta_scan_begin_ports(&scan, db, part->from_sweep - 1, part->to_sweep - 1, walk->ids,
						by_key ? walk->count : 0, err);
	if (!result)
		result = db_prepare(db, "SELECT id, wall_us FROM sweep WHERE id >= ?1 AND id < ?2 ORDER BY id",
				    &sweeps, err);
	if (!result) {
		sqlite3_bind_int64(sweeps, 1, part->from_sweep);
		sqlite3_bind_int64(sweeps, 2, part->to_sweep);
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
	memset(walk->sums, 0, walk->count * sizeof(*walk->sums));
	if (walk->more)
		result = sums_add(sums, part, err);
	for (size_t i = 0; !result && walk->more && i < walk->count; i++)
		if (walk->sums[i].samples)
			report_delta(walk, i, &walk->sums[i].sum, (int64_t)walk->sums[i].samples);
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
				    .port_count = walk.count, .counters = query->counters }, 0, walk.sums,
				    walk.count, err);
	if (!result)
		result = window_plan_begin(&plan, reader->db, query->after, query->until, query->longest_us, err);
	if (!result)
		result = report_parts(&walk, &plan, &sums, err);
	window_plan_end(&plan);
	sums_end(&sums);
	reader_end(reader);
	forget_ports(&walk);
	return result;
}

int reader_history_sums(struct reader *reader, const struct history_query *query, struct history_sum *ret,
			struct error *err)
{
	struct history_walk walk = { .reader = reader, .query = query };
	struct sums_origin origin = { 0 };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	memset(ret, 0, query->port_count * sizeof(*ret));
	result = find_ports(&walk, err);
	if (!result)
		result = sums_load(reader->db, &(struct sums_query){ query->after, query->until, walk.ids,
				   walk.count, query->counters }, walk.sums, walk.count, &origin, err);
	reader_end(reader);
	for (size_t i = 0; !result && i < walk.count; i++)
		ret[walk.wanted[i].place] = (struct history_sum){ walk.sums[i].sum,
								    (int64_t)walk.sums[i].samples };
	note_damage(&walk, &origin.damage);
	forget_ports(&walk);
	return result;
}
