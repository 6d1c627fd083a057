/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_restore.c - the state that a collector gets at its start */
#include <stdlib.h>
#include <string.h>

#include "analysis/health.h"
#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/findings.h"
#include "storage/read/details.h"
#include "storage/read/firmware.h"
#include "storage/read/topology.h"
#include "storage/write/writer_internal.h"

/* Resets as old as that are restored (sink.h). */
#define RESETS_US (10 * 60 * INT64_C(1000000))

enum { RESET_ROWS_MOST = 2000000 };

/*
 * CLOCK_BOOTTIME of the newest sweep's boot from a wall clock. For readings of an earlier boot, only
 * the wall clock covers both.
 */
static int64_t boottime_of(const struct writer_cache *cache, int64_t wall_us)
{
	return wall_us - (cache->sweep_wall_us - cache->sweep_start_us);
}

static int restore_ports(const struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	sqlite3_stmt *row;
	int result;

	ret->ports = calloc(cache->port_count + 1, sizeof(*ret->ports));
	if (!ret->ports)
		return err_nomem(err);
	result = db_prepare(writer->db, "SELECT boot FROM sweep WHERE id = ?", &row, err);
	for (size_t i = 1; result >= 0 && i < cache->port_count; i++) {
		const struct known_port *known = &cache->ports[i];
		struct restored_port *port = &ret->ports[ret->port_count];

		if (!known->last.there)
			continue;
		*port = (struct restored_port){ .node_guid = cache->nodes[known->node].guid, .port = known->num,
						.reading = known->last.reading, .wall_us = known->last.wall_us };
		ret->port_count++;
		if (known->last.read_sweep == cache->sweep)
			continue;
		sqlite3_bind_int64(row, 1, known->last.read_sweep);
		result = db_step(row, err);
		if (result > 0 && sqlite3_column_int64(row, 0) != cache->boot)
			port->reading.at_us = boottime_of(cache, known->last.wall_us);
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

/*
 * The last two resets of each port, from the newest rows on: their number is limited where the counters of a large
 * fabric are reset all the time, and then the newest ones have every port. The ports of @ret are in order of their id.
 */
static int restore_resets(const struct writer *writer, const struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	struct restored_port *by_id = calloc(cache->port_count + 1, sizeof(*by_id));
	sqlite3_stmt *rows = NULL;
	int result = by_id ? 0 : err_nomem(err);

	if (!result)
		result = db_prepare(writer->db, "SELECT e.port, s.wall_us FROM sweep s CROSS JOIN error e ON"
				    " e.sweep = s.id AND e.marks & ?1 WHERE s.id <= ?2 AND s.wall_us > ?3"
				    " ORDER BY s.id DESC LIMIT ?4", &rows, err);
	if (!result)
		DB_BIND(rows, 1, MARK_RESET, cache->sweep, cache->sweep_wall_us - RESETS_US, RESET_ROWS_MOST);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 0);
		int64_t wall_us = db_us(rows, 1);

		if (port >= cache->port_count || by_id[port].resets == 2 || by_id[port].wall_us == wall_us)
			continue;
		by_id[port].wall_us = wall_us;
		if (!by_id[port].resets++)
			by_id[port].reset_wall_us = wall_us;
	}
	for (size_t i = 1, at = 0; !result && i < cache->port_count; i++) {
		if (!cache->ports[i].last.there)
			continue;
		ret->ports[at].resets = by_id[i].resets;
		ret->ports[at++].reset_wall_us = by_id[i].reset_wall_us;
	}
	sqlite3_finalize(rows);
	free(by_id);
	return result;
}

static int restore_details(const struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	int64_t count = 0;
	struct stored_detail stored;
	struct detail_scan scan;
	int result = db_integer(writer->db, "SELECT count(*) FROM detail_last", 0, &count, err);

	if (result < 0)
		return result;
	ret->details = calloc((size_t)count + 1, sizeof(*ret->details));
	if (!ret->details)
		return err_nomem(err);
	result = detail_scan_begin(&scan, writer->db,
				   "detail_last l CROSS JOIN detail d ON d.sweep = l.sweep AND d.port = l.port AND"
				   " d.attribute = l.attribute JOIN sweep s ON s.id = d.sweep", err);
	while (!result && (result = detail_scan_next(&scan, &stored, err)) > 0) {
		struct restored_detail *detail = &ret->details[ret->detail_count];

		result = 0;
		if (!stored.port || stored.port >= cache->port_count || ret->detail_count == (size_t)count)
			continue;
		*detail = (struct restored_detail){
			.node_guid = cache->nodes[cache->ports[stored.port].node].guid,
			.port = cache->ports[stored.port].num,
			.reading = stored.reading,
			.wall_us = stored.wall_us,
		};
		if (stored.boot != cache->boot)
			detail->reading.at_us = boottime_of(cache, stored.wall_us);
		ret->detail_count++;
	}
	detail_scan_end(&scan);
	return result;
}

static int restore_caps(const struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	sqlite3_stmt *rows;
	int result;

	ret->caps = calloc(cache->node_count + 1, sizeof(*ret->caps));
	if (!ret->caps)
		return err_nomem(err);
	result = db_prepare(writer->db, "SELECT c.node, c.known, c.cap_mask, c.cap_mask2, c.resp_time, c.tick,"
			    " c.missing, w.node IS NOT NULL FROM caps c LEFT JOIN wait_contradicted w"
			    " ON w.node = c.node", &rows, err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		uint64_t node = db_u64(rows, 0);
		struct restored_caps *caps = &ret->caps[ret->caps_count];

		if (!node || node >= cache->node_count)
			continue;
		caps->node_guid = cache->nodes[node].guid;
		caps->caps.known = sqlite3_column_int(rows, 1) != 0;
		caps->caps.cap_mask = (uint16_t)sqlite3_column_int(rows, 2);
		caps->caps.cap_mask2 = (uint32_t)sqlite3_column_int64(rows, 3);
		caps->caps.resp_time = (uint8_t)sqlite3_column_int(rows, 4);
		caps->caps.tick_known = sqlite3_column_type(rows, 5) != SQLITE_NULL;
		caps->caps.tick = (uint8_t)sqlite3_column_int(rows, 5);
		caps->caps.missing = (uint32_t)sqlite3_column_int64(rows, 6);
		caps->caps.wait_contradicted = sqlite3_column_int(rows, 7) != 0;
		ret->caps_count++;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

static int restore_firmware(struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	sqlite3_stmt *rows = NULL;
	int result = db_integer(writer->db, "SELECT max(id) FROM firmware", 0, &writer->firmware_id, err);

	ret->firmware = calloc(cache->node_count + 1, sizeof(*ret->firmware));
	if (!result && !ret->firmware)
		result = err_nomem(err);
	if (!result)
		result = db_prepare(writer->db, "SELECT node, " FIRMWARE_COLUMNS " FROM firmware WHERE to_sweep IS NULL"
				    " GROUP BY node", &rows, err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		uint64_t node = db_u64(rows, 0);
		struct node_firmware *one = &ret->firmware[ret->firmware_count];

		if (!node || node >= cache->node_count || ret->firmware_count == cache->node_count)
			continue;
		one->node_guid = cache->nodes[node].guid;
		firmware_read_row(rows, 1, &one->firmware);
		ret->firmware_count++;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

struct restoring {
	struct restored *restored;
	size_t capacity;
	bool failed;
};

static bool restore_finding(void *ctx, const struct finding_row *row)
{
	struct restoring *restoring = ctx;
	struct restored *restored = restoring->restored;
	struct restored_finding *list = array_grow(restored->findings, restored->finding_count, &restoring->capacity,
						   sizeof(*list)), *one;

	if (!list) {
		restoring->failed = true;
		return false;
	}
	restored->findings = list;
	one = &list[restored->finding_count++];
	one->finding = row->finding;
	memcpy(one->cause, row->cause, sizeof(one->cause));
	memcpy(one->keys, row->keys, sizeof(one->keys));
	return true;
}

static int restore_findings(const struct writer *writer, struct restored *ret, struct error *err)
{
	struct restoring restoring = { .restored = ret };
	int result = findings_open(writer->db, restore_finding, &restoring, err);

	if (!result && restoring.failed)
		result = err_nomem(err);
	/* The list does not move any more. */
	for (size_t i = 0; i < ret->finding_count; i++) {
		struct restored_finding *one = &ret->findings[i];

		one->finding.cause = one->cause;
		one->finding.advice = finding_advice(one->finding.kind, one->finding.severity, one->finding.cause);
		for (unsigned j = 0; j < one->finding.number_count; j++)
			one->finding.numbers[j].key = one->keys[j];
	}
	return result;
}

/* Make a JSON array of the ports of findings that are evaluated by error counts. Return: whether there are any. */
static bool list_counting_ports(const struct writer_cache *cache, const struct restored *restored, struct text *ports)
{
	for (size_t i = 0; i < restored->finding_count; i++) {
		const struct finding *finding = &restored->findings[i].finding;
		uint32_t node, port;
		uint64_t guid;
		uint8_t num;

		if (!finding_counts_errors(finding->kind))
			continue;
		for (unsigned at = 0; finding_end(finding, restored->fabric, at, &guid, &num); at++) {
			node = writer_cache_find_node(cache, guid);
			port = node ? writer_cache_find_port(cache, node, num) : 0;
			if (port)
				text_appendf(ports, "%c%u", *text_chars(ports) ? ',' : '[', port);
		}
	}
	text_append(ports, "]");
	return *text_chars(ports) == '[';
}

/* Start of sweep s by the present wall clock, which may have been set since. ?6: less CLOCK_BOOTTIME of the boot ?7 */
#define STARTED "CASE WHEN s.boot = ?7 THEN s.start_us + ?6 ELSE s.wall_us END"
#define COUNTED "s.id > coalesce((SELECT s.id FROM sweep s WHERE " STARTED " <= ?1 ORDER BY s.id DESC LIMIT 1), 0)"

/* One row per port, counter and minute of CLOCK_BOOTTIME. */
static int restore_counts(const struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	struct text ports = { 0 };
	size_t capacity = 0;
	sqlite3_stmt *rows = NULL;
	int result = 0;

	if (list_counting_ports(cache, ret, &ports))
		result = text_failed(&ports) ? err_nomem(err) :
			 db_prepare(writer->db, "SELECT port, counter, max(layout), sum(value & 4294967295),"
				    " max(wall_us), max(marks),"
				    " (SELECT min(" STARTED ") FROM sweep s WHERE " COUNTED ")"
				    " FROM (SELECT e.port, e.counter, 0 AS layout, e.value, e.marks, " STARTED
				    " AS wall_us FROM sweep s JOIN error e ON e.sweep = s.id WHERE " COUNTED
				    " UNION ALL SELECT d.port, ?2, d.layout, v.counted, v.marks, " STARTED
				    " FROM sweep s"
				    " JOIN detail d ON d.sweep = s.id JOIN detail_value v ON v.sweep = d.sweep AND"
				    " v.port = d.port AND v.counter = ?3 WHERE " COUNTED " AND d.attribute = ?4 AND"
				    " v.counted > 0)"
				    " WHERE port IN (SELECT value FROM json_each(?5)) AND counter <= ?2"
				    " GROUP BY port, counter, (wall_us - ?6) / 60000000 ORDER BY 5", &rows, err);
	if (rows) {
		DB_BIND(rows, 1, cache->sweep_wall_us - HEALTH_COUNTS_US, HEALTH_COUNT_FEC,
			DETAIL_ID(DETAIL_EXTENDED_SPEEDS, DETAIL_FEC_UNCORRECTED_BLOCKS), DETAIL_EXTENDED_SPEEDS);
		sqlite3_bind_text(rows, 5, text_chars(&ports), -1, SQLITE_STATIC);
		sqlite3_bind_int64(rows, 6, cache->sweep_wall_us - cache->sweep_start_us);
		sqlite3_bind_int64(rows, 7, cache->boot);
	}
	while (rows && (result = db_step(rows, err)) > 0) {
		struct health_count *counts = array_grow(ret->counts, ret->count_count, &capacity, sizeof(*counts));
		uint64_t port = db_u64(rows, 0);

		if (!counts) {
			result = err_nomem(err);
			break;
		}
		ret->counts = counts;
		if (port >= cache->port_count)
			continue;
		counts[ret->count_count++] = (struct health_count){
			.wall_us = db_us(rows, 4), .node_guid = cache->nodes[cache->ports[port].node].guid,
			.port = cache->ports[port].num, .counter = (uint8_t)sqlite3_column_int(rows, 1),
			.layout = (uint8_t)sqlite3_column_int(rows, 2), .value = db_u64(rows, 3),
			.at_least = db_u64(rows, 5), .first_wall_us = db_us(rows, 6) };
	}
	sqlite3_finalize(rows);
	text_done(&ports);
	return result < 0 ? result : 0;
}

/* The parts that exist only after a first sweep. */
static int restore_sweep(struct writer *writer, struct restored *ret, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	struct topology *topology = &cache->loaded;
	int result = restore_ports(writer, ret, err);

	memcpy(ret->boot_id, cache->boot_id, sizeof(ret->boot_id));
	if (!result)
		result = restore_resets(writer, ret, err);
	if (!result)
		result = restore_details(writer, ret, err);
	if (!result)
		result = restore_findings(writer, ret, err);
	/* The one that was loaded, unless sweeps were stored since. */
	if (!result && topology->sweep != cache->sweep) {
		topology_done(topology);
		result = topology_load(writer->db, cache->sweep, NULL, cache->from_node, cache->from_port, topology,
				       err);
	}
	if (!result)
		ret->fabric = fabric_share(topology->fabric);
	topology_done(topology);
	if (!result)
		result = restore_counts(writer, ret, err);
	return result;
}

int writer_restore(void *ctx, struct restored *ret, struct error *err)
{
	struct writer *writer = ctx;
	int result = writer_refresh(writer, err);

	/* Generations are those of one collector, and it does not know yet which jobs run. */
	writer->generation_known = false;
	writer->jobs_version = 0;
	if (!result)
		result = restore_caps(writer, ret, err);
	if (!result)
		result = restore_firmware(writer, ret, err);
	if (!result)
		result = routes_load(writer->db, 0, 0, &ret->routes, err);
	if (!result)
		result = pkeys_load(writer->db, 0, &ret->pkeys, err);
	if (!result && writer->cache.sweep)
		result = restore_sweep(writer, ret, err);
	if (result < 0)
		restored_done(ret);
	return result;
}
