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
struct giving {
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
static void list_ports(struct giving *giving)
{
	const struct history_query *query = giving->query;
	struct wanted *wanted = giving->wanted;

	for (size_t i = 0; i < query->port_count; i++)
		wanted[i] = (struct wanted){ .who = query->ports[i], .place = i };
	qsort(wanted, query->port_count, sizeof(*wanted), compare_places);
	for (size_t i = 0; i < query->port_count; i++)
		if (!giving->count || compare_who(&wanted[giving->count - 1], &wanted[i]))
			wanted[giving->count++] = wanted[i];
}

/* Ids by all rows of port. */
static int scan_ports(struct giving *giving, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(giving->reader->db,
				"SELECT p.id, n.guid, p.number FROM port p CROSS JOIN node n ON n.id = p.node", &rows,
				err);

	if (result < 0)
		return result;
	while ((result = db_step(rows, err)) > 0) {
		struct wanted row = { .who = { db_u64(rows, 1), (uint8_t)sqlite3_column_int(rows, 2) },
				      .id = (uint32_t)sqlite3_column_int64(rows, 0) };
		struct wanted *found;

		if (!giving->query->ports && giving->count < giving->known) {
			giving->wanted[giving->count++] = row;
			continue;
		}
		found = bsearch(&row, giving->wanted, giving->count, sizeof(row), compare_who);
		if (found)
			found->id = row.id;
	}
	sqlite3_finalize(rows);
	return result;
}

/* Ids by a lookup for each port. */
static int look_up_ports(struct giving *giving, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(giving->reader->db, "SELECT p.id FROM node n CROSS JOIN port p ON p.node = n.id"
				" WHERE n.guid = ?1 AND p.number = ?2", &row, err);

	for (size_t i = 0; result >= 0 && i < giving->count; i++) {
		db_bind_u64(row, 1, giving->wanted[i].who.node_guid);
		sqlite3_bind_int(row, 2, giving->wanted[i].who.num);
		result = db_step(row, err);
		if (result > 0)
			giving->wanted[i].id = (uint32_t)sqlite3_column_int64(row, 0);
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int find_ports(struct giving *giving, struct error *err)
{
	const struct history_query *query = giving->query;
	int64_t known = 0;
	size_t most, found = 0;
	int result = db_integer(giving->reader->db, "SELECT max(id) FROM port", 0, &known, err);

	if (result < 0)
		return result;
	giving->known = (size_t)known;
	most = query->ports ? query->port_count : giving->known;
	giving->wanted = calloc(most + 1, sizeof(*giving->wanted));
	giving->ids = calloc(most + 1, sizeof(*giving->ids));
	giving->sums = calloc(most + 1, sizeof(*giving->sums));
	if (!giving->wanted || !giving->ids || !giving->sums)
		return err_nomem(err);
	if (query->ports)
		list_ports(giving);
	if (query->ports && giving->count <= giving->known / PORTS_BY_KEY)
		result = look_up_ports(giving, err);
	else
		result = scan_ports(giving, err);
	for (size_t i = 0; i < giving->count; i++)
		if (giving->wanted[i].id)
			giving->wanted[found++] = giving->wanted[i];
	giving->count = found;
	qsort(giving->wanted, found, sizeof(*giving->wanted), compare_ids);
	for (size_t i = 0; i < found; i++)
		giving->ids[i] = giving->wanted[i].id;
	return result;
}

static void forget_ports(struct giving *giving)
{
	free(giving->wanted);
	free(giving->ids);
	free(giving->sums);
}

static void note_damage(const struct giving *giving, const struct history_damage *damage)
{
	struct history_damage *ret = giving->query->damage;

	if (!ret || !damage->count)
		return;
	if (!ret->count)
		memcpy(ret->first, damage->first, sizeof(ret->first));
	ret->count += damage->count;
}

static void give_piece(struct giving *giving, enum history_source source, const struct plan_unit *unit)
{
	const struct history_piece piece = {
		.source = source, .from_sweep = unit->from_sweep, .to_sweep = unit->to_sweep,
		.from_us = unit->from_us, .to_us = unit->to_us,
	};

	giving->more = giving->consumer->piece(giving->consumer->ctx, &piece);
}

static void give_delta(struct giving *giving, size_t index, const struct delta *delta, int64_t samples)
{
	const struct wanted *wanted = &giving->wanted[index];

	giving->more = giving->consumer->delta(giving->consumer->ctx, wanted->place, &wanted->who, delta, samples);
}

/* The deltas of one sweep; @scan_result: 1 while the scan has a delta that was not used. */
static int give_sweep(struct giving *giving, struct delta_scan *scan, int64_t sweep, int *scan_result,
		      struct error *err)
{
	struct delta delta;
	int result = 0;

	while (*scan_result > 0 && scan->sweep <= sweep && giving->more) {
		size_t index = ports_find(giving->ids, giving->count, scan->port);

		if (scan->sweep == sweep && index < giving->count) {
			result = delta_scan_read(scan, &delta, err);
			if (result < 0)
				return result;
			give_delta(giving, index, &delta, 1);
		}
		*scan_result = delta_scan_next(scan, err);
	}
	return *scan_result < 0 ? *scan_result : 0;
}

/* Sweeps whose samples are stored, one by one. */
static int give_sweeps(struct giving *giving, const struct plan_part *part, struct error *err)
{
	bool by_key = giving->query->ports && giving->count <= giving->known / PORTS_BY_KEY;
	sqlite3 *db = giving->reader->db;
	struct delta_scan scan = { 0 };
	sqlite3_stmt *sweeps = NULL;
	int scan_result = 0, result = 0;

	if (giving->count)
		result = delta_scan_begin_ports(&scan, db, part->from_sweep - 1, part->to_sweep - 1, giving->ids,
						by_key ? giving->count : 0, err);
	if (!result)
		result = db_prepare(db, "SELECT id, wall_us FROM sweep WHERE id >= ?1 AND id < ?2 ORDER BY id",
				    &sweeps, err);
	if (!result) {
		sqlite3_bind_int64(sweeps, 1, part->from_sweep);
		sqlite3_bind_int64(sweeps, 2, part->to_sweep);
		result = scan_result = giving->count ? delta_scan_next(&scan, err) : 0;
	}
	while (result >= 0 && giving->more && (result = db_step(sweeps, err)) > 0) {
		int64_t id = sqlite3_column_int64(sweeps, 0), wall_us = db_us(sweeps, 1);

		give_piece(giving, HISTORY_RAW, &(struct plan_unit){ .from_sweep = id, .to_sweep = id + 1,
								     .from_us = wall_us, .to_us = wall_us });
		result = give_sweep(giving, &scan, id, &scan_result, err);
	}
	sqlite3_finalize(sweeps);
	note_damage(giving, &scan.damage);
	delta_scan_end(&scan);
	return result < 0 ? result : 0;
}

static int give_sum(struct giving *giving, struct sums_reader *sums, const struct plan_part *part, struct error *err)
{
	int result = 0;

	give_piece(giving, part->source == PLAN_HOUR_SUMS ? HISTORY_HOUR_SUMS : HISTORY_CHUNK_SUMS, &part->unit);
	memset(giving->sums, 0, giving->count * sizeof(*giving->sums));
	if (giving->more)
		result = sums_add(sums, part, err);
	for (size_t i = 0; !result && giving->more && i < giving->count; i++)
		if (giving->sums[i].samples)
			give_delta(giving, i, &giving->sums[i].sum, (int64_t)giving->sums[i].samples);
	return result;
}

/* All parts of the plan; sweeps that are read one by one are read together as far as they follow each other. */
static int give_parts(struct giving *giving, struct window_plan *plan, struct sums_reader *sums, struct error *err)
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
			result = give_sweeps(giving, &sweeps, err);
		sweeps.to_sweep = 0;
		if (!result && is_sum && giving->more)
			result = give_sum(giving, sums, &part, err);
	} while (more > 0 && !result && giving->more);
	return more < 0 ? more : result;
}

int reader_history(struct reader *reader, const struct history_query *query, const struct history_consumer *consumer,
		   struct error *err)
{
	struct giving giving = { .reader = reader, .query = query, .consumer = consumer, .more = true };
	struct sums_reader sums = { 0 };
	struct window_plan plan = { 0 };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = find_ports(&giving, err);
	if (!result)
		result = sums_begin(&sums, reader->db, &(struct sums_query){ .ports = giving.ids,
				    .port_count = giving.count, .counters = query->counters }, 0, giving.sums,
				    giving.count, err);
	if (!result)
		result = window_plan_begin(&plan, reader->db, query->after, query->until, query->longest_us, err);
	if (!result)
		result = give_parts(&giving, &plan, &sums, err);
	window_plan_end(&plan);
	sums_end(&sums);
	reader_end(reader);
	forget_ports(&giving);
	return result;
}

int reader_history_sums(struct reader *reader, const struct history_query *query, struct history_sum *ret,
			struct error *err)
{
	struct giving giving = { .reader = reader, .query = query };
	struct sums_origin origin = { 0 };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	memset(ret, 0, query->port_count * sizeof(*ret));
	result = find_ports(&giving, err);
	if (!result)
		result = sums_load(reader->db, &(struct sums_query){ query->after, query->until, giving.ids,
				   giving.count, query->counters }, giving.sums, giving.count, &origin, err);
	reader_end(reader);
	for (size_t i = 0; !result && i < giving.count; i++)
		ret[giving.wanted[i].place] = (struct history_sum){ giving.sums[i].sum,
								    (int64_t)giving.sums[i].samples };
	note_damage(&giving, &origin.damage);
	forget_ports(&giving);
	return result;
}
