/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader_history.c - the pieces of a window, read from samples and from sums */
#include "storage/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/read/history_plan.h"
#include "storage/read/reader_internal.h"
#include "storage/read/readings.h"
#include "storage/read/sums.h"

const char *history_source_name(enum history_source source)
{
	static const char *const names[HISTORY_SOURCE_COUNT] = {
		[HISTORY_RAW] = "raw", [HISTORY_CHUNK_SUMS] = "chunk sums", [HISTORY_HOUR_SUMS] = "hour sums",
	};

	return names[source];
}

enum {
	NOT_WANTED = 0,
	PORTS_A_SCAN = 8, /* more than this part of all ports: all are read, and the others passed over */
};

/* The statements that read one kind of sums. */
struct sum_reader {
	sqlite3_stmt *all, *one;           /* of one unit: of all its ports, of port ?2 */
	sqlite3_stmt *errors_all, *errors_one;
};

/* While a window is read. */
struct giving {
	struct reader *reader;
	const struct history_query *query;
	const struct history_consumer *consumer;
	struct history_port *who; /* by port id */
	uint32_t *place;          /* by port id: index in the query + 1; NOT_WANTED */
	size_t id_count;
	uint32_t *ids;            /* of the query's ports, rising */
	size_t wanted;            /* of ids; 0 where all are wanted */
	counter_set counters;
	struct sum_reader sums[HISTORY_SOURCE_COUNT];
	struct history_damage damage;
	bool more;                /* the consumer wants to go on */
};

static int compare_ids(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* Room for each port that was ever known, by its id. */
static int make_room(struct giving *giving, struct error *err)
{
	int64_t top = 0;
	int result = db_integer(giving->reader->db, "SELECT max(id) FROM port", 0, &top, err);

	if (result < 0)
		return result;
	giving->id_count = (size_t)top + 1;
	giving->who = calloc(giving->id_count, sizeof(*giving->who));
	giving->place = calloc(giving->id_count, sizeof(*giving->place));
	return giving->who && giving->place ? 0 : err_nomem(err);
}

static int find_all_ports(struct giving *giving, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(giving->reader->db,
				"SELECT p.id, n.guid, p.number FROM port p CROSS JOIN node n ON n.id = p.node", &rows,
				err);

	if (result < 0)
		return result;
	while ((result = db_step(rows, err)) > 0) {
		size_t id = (size_t)sqlite3_column_int64(rows, 0);

		if (id >= giving->id_count)
			continue;
		giving->who[id].node_guid = db_u64(rows, 1);
		giving->who[id].num = (uint8_t)sqlite3_column_int(rows, 2);
		giving->place[id] = 1;
	}
	sqlite3_finalize(rows);
	return result;
}

static void want(struct giving *giving, size_t id, size_t place)
{
	if (!id || id >= giving->id_count || giving->place[id] != NOT_WANTED)
		return;
	giving->place[id] = (uint32_t)place + 1;
	giving->who[id] = giving->query->ports[place];
	giving->ids[giving->wanted++] = (uint32_t)id;
}

static uint64_t key_of(uint64_t node_guid, uint8_t num)
{
	return map_mix(node_guid) ^ num;
}

/*
 * Places of the ports that are asked for, by key. Return: 1; 0 where two have the same key, as GUIDs can be made to
 * have: then each has to be looked for; ERR_NOMEM.
 */
static int map_ports(const struct history_query *query, struct map *places, struct error *err)
{
	for (size_t i = 0; i < query->port_count; i++) {
		const struct history_port *port = &query->ports[i], *other;
		uint64_t key = key_of(port->node_guid, port->num);
		uint32_t place;

		if (map_get(places, key, &place)) {
			other = &query->ports[place];
			if (other->node_guid != port->node_guid || other->num != port->num)
				return 0;
		} else if (map_put(places, key, (uint32_t)i) < 0) {
			return err_nomem(err);
		}
	}
	return 1;
}

/* Where most are asked for: all that are known are gone through once, a quarter of the time of looking for each. */
static int pick_ports(struct giving *giving, const struct map *places, struct error *err)
{
	sqlite3_stmt *rows;
	uint32_t place;
	int result = db_prepare(giving->reader->db,
				"SELECT p.id, n.guid, p.number FROM port p CROSS JOIN node n ON n.id = p.node", &rows,
				err);

	if (result < 0)
		return result;
	while ((result = db_step(rows, err)) > 0) {
		uint64_t guid = db_u64(rows, 1);
		uint8_t num = (uint8_t)sqlite3_column_int(rows, 2);

		if (map_get(places, key_of(guid, num), &place) && giving->query->ports[place].node_guid == guid &&
		    giving->query->ports[place].num == num)
			want(giving, (size_t)sqlite3_column_int64(rows, 0), place);
	}
	sqlite3_finalize(rows);
	return result;
}

static int look_for_ports(struct giving *giving, struct error *err)
{
	const struct history_query *query = giving->query;
	sqlite3_stmt *row;
	int result = db_prepare(giving->reader->db, "SELECT p.id FROM node n CROSS JOIN port p ON p.node = n.id"
				" WHERE n.guid = ?1 AND p.number = ?2", &row, err);

	for (size_t i = 0; result >= 0 && i < query->port_count; i++) {
		db_bind_u64(row, 1, query->ports[i].node_guid);
		sqlite3_bind_int(row, 2, query->ports[i].num);
		result = db_step(row, err);
		if (result > 0)
			want(giving, (size_t)sqlite3_column_int64(row, 0), i);
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	return result;
}

/* The ids of the ports that are asked for; one that was never known has none, and nothing is stored of it. */
static int find_ports(struct giving *giving, struct error *err)
{
	const struct history_query *query = giving->query;
	struct map places = { 0 };
	int result = 0;

	giving->ids = calloc(query->port_count + 1, sizeof(*giving->ids));
	if (!giving->ids)
		return err_nomem(err);
	if (query->port_count > giving->id_count / PORTS_A_SCAN)
		result = map_ports(query, &places, err);
	if (result > 0)
		result = pick_ports(giving, &places, err);
	else if (result == 0)
		result = look_for_ports(giving, err);
	map_done(&places);
	qsort(giving->ids, giving->wanted, sizeof(*giving->ids), compare_ids);
	return result < 0 ? result : 0;
}

static bool is_wanted(const struct giving *giving, uint64_t id)
{
	return id < giving->id_count && giving->place[id] != NOT_WANTED;
}

static void give_delta(struct giving *giving, uint64_t id, const struct delta *delta, int64_t samples)
{
	giving->more = giving->consumer->delta(giving->consumer->ctx, giving->place[id] - 1, &giving->who[id], delta,
					       samples);
}

static void give_piece(struct giving *giving, const struct history_piece *piece)
{
	giving->more = giving->consumer->piece(giving->consumer->ctx, piece);
}

static void note_damage(struct giving *giving, size_t count, const char *first)
{
	if (count && !giving->damage.count)
		snprintf(giving->damage.first, sizeof(giving->damage.first), "%s", first);
	giving->damage.count += count;
}

static int begin_scan(struct giving *giving, struct delta_scan *scan, const struct plan_part *part,
		      struct error *err)
{
	bool few = giving->query->ports && giving->wanted <= giving->id_count / PORTS_A_SCAN;

	return delta_scan_begin_ports(scan, giving->reader->db, part->from_sweep - 1, part->to_sweep - 1, giving->ids,
				      few ? giving->wanted : 0, err);
}

/* The deltas of one sweep; @standing: the scan stands on one that is not used up. */
static int give_sweep(struct giving *giving, struct delta_scan *scan, int64_t sweep, int *standing, struct error *err)
{
	struct delta delta;
	int result = 0;

	while (*standing > 0 && scan->sweep <= sweep && giving->more) {
		if (scan->sweep == sweep && is_wanted(giving, scan->port)) {
			result = delta_scan_read(scan, &delta, err);
			if (result < 0)
				return result;
			give_delta(giving, scan->port, &delta, 1);
		}
		*standing = delta_scan_next(scan, err);
	}
	return *standing < 0 ? *standing : 0;
}

static int give_raw(struct giving *giving, const struct plan_part *part, struct error *err)
{
	bool any = !giving->query->ports || giving->wanted;
	struct delta_scan scan = { 0 };
	sqlite3_stmt *sweeps = NULL;
	int standing = 0, result = any ? begin_scan(giving, &scan, part, err) : 0;

	if (!result)
		result = db_prepare(giving->reader->db, "SELECT id, wall_us FROM sweep WHERE id >= ?1 AND id < ?2"
				    " ORDER BY id", &sweeps, err);
	if (!result) {
		sqlite3_bind_int64(sweeps, 1, part->from_sweep);
		sqlite3_bind_int64(sweeps, 2, part->to_sweep);
		result = standing = any ? delta_scan_next(&scan, err) : 0;
	}
	while (result >= 0 && giving->more && (result = db_step(sweeps, err)) > 0) {
		int64_t id = sqlite3_column_int64(sweeps, 0), wall_us = db_us(sweeps, 1);

		give_piece(giving, &(struct history_piece){ .source = HISTORY_RAW, .from_sweep = id,
							    .to_sweep = id + 1, .from_us = wall_us,
							    .to_us = wall_us });
		result = give_sweep(giving, &scan, id, &standing, err);
	}
	sqlite3_finalize(sweeps);
	note_damage(giving, scan.damaged, scan.damage);
	delta_scan_end(&scan);
	return result < 0 ? result : 0;
}

/* The wall clock of a part's first and last sweep. */
static int date_part(struct giving *giving, struct history_piece *piece, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(giving->reader->db, "SELECT wall_us FROM sweep WHERE id >= ?1 AND id < ?2"
				" ORDER BY id LIMIT 1", &row, err);

	for (int last = 0; result >= 0 && last < 2; last++) {
		sqlite3_bind_int64(row, 1, last ? piece->to_sweep - 1 : piece->from_sweep);
		sqlite3_bind_int64(row, 2, piece->to_sweep);
		result = db_step(row, err);
		if (result > 0)
			*(last ? &piece->to_us : &piece->from_us) = db_us(row, 0);
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

/* Samples that nobody wants to see one by one, added up here: of one port, or of all where @port is 0. */
static int give_raw_sums(struct giving *giving, const struct plan_part *part, uint32_t port, struct error *err)
{
	size_t count = port ? 1 : giving->id_count;
	struct port_sum *sums = calloc(count, sizeof(*sums));
	struct sums_cover cover = { 0 };
	int result = sums ? sums_load(giving->reader->db, part->from_sweep - 1, part->to_sweep - 1, port, sums, count,
				      &cover, err) : err_nomem(err);

	for (size_t i = 0; !result && giving->more && i < count; i++)
		if (sums[i].samples && is_wanted(giving, port + i))
			give_delta(giving, port + i, &sums[i].sum, (int64_t)sums[i].samples);
	note_damage(giving, cover.damaged, cover.damage);
	free(sums);
	return result;
}

static int give_raw_together(struct giving *giving, const struct plan_part *part, struct error *err)
{
	struct history_piece piece = { .source = HISTORY_RAW, .from_sweep = part->from_sweep,
				       .to_sweep = part->to_sweep };
	int result = date_part(giving, &piece, err);

	if (result < 0)
		return result;
	give_piece(giving, &piece);
	if (!giving->query->ports || giving->wanted > giving->id_count / PORTS_A_SCAN)
		return giving->more ? give_raw_sums(giving, part, 0, err) : 0;
	for (size_t i = 0; !result && giving->more && i < giving->wanted; i++)
		result = give_raw_sums(giving, part, giving->ids[i], err);
	return result;
}

/* Statements on the sums of windows or of hours; only the counters that are asked for are read. */
static int prepare_sums(struct giving *giving, enum history_source source, struct error *err)
{
	const char *unit = source == HISTORY_HOUR_SUMS ? "hour" : "window";
	const char *table = source == HISTORY_HOUR_SUMS ? "hour" : "chunk";
	struct sum_reader *sums = &giving->sums[source];
	struct text columns = { 0 }, sql = { 0 };
	int result = 0;

	text_append(&columns, "port, samples, elapsed_us, unknown, reset, saturated");
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		if (giving->counters & COUNTER_BIT(i))
			text_appendf(&columns, ", %s", counter_info((enum counter)i)->key);
	for (int i = 0; !result && i < 4; i++) {
		sqlite3_stmt **target = (sqlite3_stmt **[]){ &sums->all, &sums->one, &sums->errors_all,
							     &sums->errors_one }[i];

		text_clear(&sql);
		text_appendf(&sql, "SELECT %s FROM %s_%s WHERE %s = ?1%s ORDER BY port",
			     i < 2 ? text_chars(&columns) : "port, counter, value", table, i < 2 ? "sum" : "error",
			     unit, i % 2 ? " AND port = ?2" : "");
		result = text_failed(&sql) || text_failed(&columns)
			? err_nomem(err) : db_prepare(giving->reader->db, text_chars(&sql), target, err);
	}
	text_done(&columns);
	text_done(&sql);
	return result;
}

static void read_sum(const struct giving *giving, sqlite3_stmt *row, struct delta *ret)
{
	int at = 6;

	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = db_us(row, 2);
	ret->known = giving->counters & ~db_u64(row, 3);
	ret->reset = db_u64(row, 4);
	ret->saturated = db_u64(row, 5);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		if (giving->counters & COUNTER_BIT(i))
			ret->value[i] = db_u64(row, at++);
}

/* Put the rows of moved error counters on a port's sum; @standing as in give_sweep(). */
static int read_sum_errors(sqlite3_stmt *rows, int64_t port, int *standing, struct delta *delta, struct error *err)
{
	while (*standing > 0 && sqlite3_column_int64(rows, 0) <= port) {
		int64_t counter = sqlite3_column_int64(rows, 1);

		if (sqlite3_column_int64(rows, 0) == port && counter >= 0 && counter < COUNTER_COUNT)
			delta->value[counter] = db_u64(rows, 2);
		*standing = db_step(rows, err);
	}
	return *standing < 0 ? *standing : 0;
}

/* The rows that two statements give of one unit, errors beside sums. */
static int give_rows(struct giving *giving, sqlite3_stmt *rows, sqlite3_stmt *errors, int64_t unit, struct error *err)
{
	bool want_errors = (giving->counters & COUNTER_ERROR_SET) != 0;
	int standing = 0, result = 0;
	struct delta delta;

	sqlite3_bind_int64(rows, 1, unit);
	sqlite3_bind_int64(errors, 1, unit);
	if (want_errors)
		standing = result = db_step(errors, err);
	while (result >= 0 && giving->more && (result = db_step(rows, err)) > 0) {
		int64_t port = sqlite3_column_int64(rows, 0);

		if (!is_wanted(giving, (uint64_t)port))
			continue;
		read_sum(giving, rows, &delta);
		result = read_sum_errors(errors, port, &standing, &delta, err);
		if (!result)
			give_delta(giving, (uint64_t)port, &delta, sqlite3_column_int64(rows, 1));
	}
	sqlite3_reset(rows);
	sqlite3_reset(errors);
	return result < 0 ? result : 0;
}

static int give_sums(struct giving *giving, const struct plan_part *part, struct error *err)
{
	/* One look into the key costs as much as this many rows that follow each other. */
	enum { ROWS_A_LOOK = 8 };
	struct sum_reader *sums = &giving->sums[part->source];
	int result = sums->all ? 0 : prepare_sums(giving, part->source, err);

	if (result < 0)
		return result;
	give_piece(giving, &(struct history_piece){ .source = part->source, .from_sweep = part->from_sweep,
						    .to_sweep = part->to_sweep, .from_us = part->from_us,
						    .to_us = part->to_us });
	if (!giving->query->ports || giving->wanted > giving->id_count / ROWS_A_LOOK)
		return giving->more ? give_rows(giving, sums->all, sums->errors_all, part->id, err) : 0;
	for (size_t i = 0; !result && giving->more && i < giving->wanted; i++) {
		sqlite3_bind_int64(sums->one, 2, giving->ids[i]);
		sqlite3_bind_int64(sums->errors_one, 2, giving->ids[i]);
		result = give_rows(giving, sums->one, sums->errors_one, part->id, err);
	}
	return result;
}

static int give(struct giving *giving, struct error *err)
{
	const struct history_query *query = giving->query;
	struct reader *reader = giving->reader;
	struct history_plan plan = { 0 };
	int result = make_room(giving, err);

	if (!result)
		result = query->ports ? find_ports(giving, err) : find_all_ports(giving, err);
	if (!result)
		result = history_plan_make(reader->db, query->after, query->until, query->longest_us, &plan, err);
	for (size_t i = 0; !result && giving->more && i < plan.count; i++) {
		if (plan.parts[i].source != HISTORY_RAW)
			result = give_sums(giving, &plan.parts[i], err);
		else if (query->longest_us == INT64_MAX)
			result = give_raw_together(giving, &plan.parts[i], err);
		else
			result = give_raw(giving, &plan.parts[i], err);
	}
	history_plan_done(&plan);
	return result;
}

int reader_history(struct reader *reader, const struct history_query *query, const struct history_consumer *consumer,
		   struct error *err)
{
	struct giving giving = {
		.reader = reader, .query = query, .consumer = consumer, .more = true,
		.counters = query->counters & COUNTER_ALL_SET,
	};
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = give(&giving, err);
	for (int i = 0; i < HISTORY_SOURCE_COUNT; i++) {
		sqlite3_finalize(giving.sums[i].all);
		sqlite3_finalize(giving.sums[i].one);
		sqlite3_finalize(giving.sums[i].errors_all);
		sqlite3_finalize(giving.sums[i].errors_one);
	}
	reader_end(reader);
	if (query->damage && giving.damage.count && !query->damage->count)
		memcpy(query->damage->first, giving.damage.first, sizeof(giving.damage.first));
	if (query->damage)
		query->damage->count += giving.damage.count;
	free(giving.who);
	free(giving.place);
	free(giving.ids);
	return result;
}

static bool pass_piece(void *ctx, const struct history_piece *piece)
{
	(void)ctx;
	(void)piece;
	return true;
}

static bool add_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		      int64_t samples)
{
	struct history_sum *sums = ctx;

	(void)who;
	delta_add(&sums[port].sum, delta);
	if (__builtin_add_overflow(sums[port].samples, samples, &sums[port].samples))
		sums[port].samples = INT64_MAX; /* damaged rows */
	return true;
}

int reader_history_sums(struct reader *reader, const struct history_query *query, struct history_sum *ret,
			struct error *err)
{
	const struct history_consumer consumer = { pass_piece, add_delta, ret };
	struct history_query whole = *query;

	whole.longest_us = INT64_MAX;
	for (size_t i = 0; i < query->port_count; i++)
		ret[i] = (struct history_sum){ 0 };
	return reader_history(reader, &whole, &consumer, err);
}
