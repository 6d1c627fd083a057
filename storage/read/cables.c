/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/cables.h"

#include <stdio.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/saved/saved_internal.h"

static void bind_query(sqlite3_stmt *rows, const struct cable_query *query)
{
	if (query->serial)
		sqlite3_bind_text(rows, 1, query->serial, -1, SQLITE_STATIC);
	db_bind_nonzero(rows, 2, query->node_guid);
	if (query->node_guid && query->port >= 0)
		sqlite3_bind_int(rows, 3, query->port);
	DB_BIND(rows, 4, query->since_us, query->until_us ? query->until_us : INT64_MAX);
}

/* What a query calls for each row. */
struct visit {
	bool (*take)(const struct visit *visit, sqlite3_stmt *row); /* false: the last one */
	cable_place_fn *place;
	cable_reading_fn *reading;
	port_link_fn *link;
	node_temperature_fn *temperature;
	void *ctx;
};

/* Prepare a query, bind its parameters, and visit its rows. @query: of cables, or NULL: @guid and @port */
static int visit_rows(struct reader *reader, const char *sql, const struct cable_query *query, uint64_t guid,
		      int port, const struct visit *visit, struct error *err)
{
	sqlite3_stmt *rows = NULL;
	bool more = true;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = db_prepare(reader->db, sql, &rows, err);
	if (result == 0 && query)
		bind_query(rows, query);
	else if (result == 0)
		DB_BIND(rows, 1, (int64_t)guid, port);
	while (result >= 0 && more && (result = db_step(rows, err)) > 0)
		more = visit->take(visit, rows);
	sqlite3_finalize(rows);
	reader_end(reader);
	return result < 0 ? result : 0;
}

/* Which of two conditions has an index is known only here. */
#define CHOICE(query, by_serial, guid, port_number) \
	((query)->serial ? by_serial " = ?1 AND (?2 IS NULL OR " guid " = ?2)" : \
	 (query)->node_guid && (query)->port >= 0 ? guid " = ?2 AND " port_number " = ?3 AND ?1 IS NULL" : \
	 (query)->node_guid ? guid " = ?2 AND ?1 IS NULL" : "?1 IS NULL AND ?2 IS NULL")

static int number_or_none(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? -1 : db_choice(row, column, 999);
}

static bool take_place(const struct visit *visit, sqlite3_stmt *row)
{
	struct cable_place place = {
		.node_guid = db_u64(row, 0), .port = (uint8_t)db_choice(row, 1, 255),
		.from_us = db_us(row, 2), .last_us = db_us(row, 3), .to_us = db_us(row, 4),
		.cage = number_or_none(row, 5), .plane = number_or_none(row, 6),
	};

	for (int i = 0; i <= IBDIAGNET_CABLE_FIRMWARE; i++)
		saved_copy_text(place.texts[i], sizeof(place.texts[i]), row, 7 + i);
	return visit->place(visit->ctx, &place);
}

int reader_cables(struct reader *reader, const struct cable_query *query, cable_place_fn *each, void *ctx,
		  struct error *err)
{
	const struct visit visit = { .take = take_place, .place = each, .ctx = ctx };
	char sql[1024];

	snprintf(sql, sizeof(sql), "SELECT c.node_guid, c.port, f.wall_us, l.wall_us, ifnull(t.wall_us, 0), c.cage,"
		 " c.plane, c.serial, c.vendor, c.part, c.revision, c.length, c.type, c.firmware FROM cable c"
		 " JOIN import f ON f.id = c.from_import JOIN import l ON l.id = c.last_import"
		 " LEFT JOIN import t ON t.id = c.to_import WHERE %s AND (?3 IS NULL OR c.port = ?3)"
		 " AND f.wall_us <= ?5 AND ifnull(t.wall_us, ?4) >= ?4 ORDER BY f.wall_us, c.node_guid, c.port",
		 CHOICE(query, "c.serial", "c.node_guid", "c.port"));
	return visit_rows(reader, sql, query, 0, 0, &visit, err);
}

/* The cable of a reading: that of the port at its import. */
#define CABLE_OF_READING \
	"LEFT JOIN cable c ON c.node_guid = r.node_guid AND c.port = r.port AND c.from_import <= r.import" \
	" AND r.import <= c.last_import"

static bool take_reading(const struct visit *visit, sqlite3_stmt *row)
{
	struct cable_reading reading = {
		.node_guid = db_u64(row, 0), .port = (uint8_t)db_choice(row, 1, 255), .wall_us = db_us(row, 2),
		.temperature_c = db_real(row, 4), .raw_ber = db_real(row, 5),
		.effective_ber = db_real(row, 6), .symbol_ber = db_real(row, 7),
	};

	saved_copy_text(reading.serial, sizeof(reading.serial), row, 3);
	for (int i = 0; i < 3; i++)
		saved_copy_text(reading.texts[i], sizeof(reading.texts[i]), row, 8 + i);
	for (int i = 0; i < IBDIAGNET_COUNTER_COUNT; i++) {
		if (sqlite3_column_type(row, 11 + i) == SQLITE_NULL)
			continue;
		reading.counters[i] = db_u64(row, 11 + i);
		reading.counters_known |= 1U << i;
	}
	return visit->reading(visit->ctx, &reading);
}

int reader_cable_readings(struct reader *reader, const struct cable_query *query, cable_reading_fn *each, void *ctx,
			  struct error *err)
{
	const struct visit visit = { .take = take_reading, .reading = each, .ctx = ctx };
	char sql[1024];

	snprintf(sql, sizeof(sql), "SELECT r.node_guid, r.port, i.wall_us, c.serial, r.temperature_c, r.raw_ber,"
		 " r.effective_ber, r.symbol_ber, r.rx_power, r.tx_power, r.tx_bias, r.symbol_errors,"
		 " r.link_recoveries, r.link_downed, r.receive_errors FROM cable_reading r"
		 " JOIN import i ON i.id = r.import "
		 CABLE_OF_READING " WHERE %s AND (?3 IS NULL OR r.port = ?3)"
		 " AND i.wall_us BETWEEN ?4 AND ?5 ORDER BY i.wall_us, r.node_guid, r.port",
		 CHOICE(query, "c.serial", "r.node_guid", "r.port"));
	return visit_rows(reader, sql, query, 0, 0, &visit, err);
}

static bool take_temperature(const struct visit *visit, sqlite3_stmt *row)
{
	visit->temperature(visit->ctx, db_us(row, 0), db_real(row, 1));
	return false;
}

int reader_node_temperature(struct reader *reader, uint64_t node_guid, int64_t until_us, node_temperature_fn *found,
			    void *ctx, struct error *err)
{
	const struct cable_query query = { .node_guid = node_guid, .port = -1, .until_us = until_us };

	return visit_rows(reader, "SELECT i.wall_us, r.temperature_c FROM node_reading r"
			  " JOIN import i ON i.id = r.import WHERE r.node_guid = ?2 AND i.wall_us <= ?5"
			  " ORDER BY i.wall_us DESC LIMIT 1", &query, 0, 0,
			  &(struct visit){ .take = take_temperature, .temperature = found, .ctx = ctx }, err);
}

/* The wall clock of a sweep, or of the first remaining one after it: topology is stored for longer than sweeps. */
#define SWEEP_TIME(sweep) "(SELECT s.wall_us FROM sweep s WHERE s.id >= " sweep " ORDER BY s.id LIMIT 1)"

static bool take_link(const struct visit *visit, sqlite3_stmt *row)
{
	return visit->link(visit->ctx, &(struct port_link){
		.from_us = db_us(row, 0), .to_us = db_us(row, 1), .active = sqlite3_column_int(row, 2) == PORT_ACTIVE,
		.peer_guid = db_u64(row, 3), .peer_port = (uint8_t)db_choice(row, 4, 255),
	});
}

int reader_port_links(struct reader *reader, uint64_t node_guid, uint8_t port, port_link_fn *each, void *ctx,
		      struct error *err)
{
	return visit_rows(reader, "SELECT " SWEEP_TIME("v.from_sweep") ", CASE WHEN v.to_sweep IS NULL THEN 0"
			  " ELSE ifnull(" SWEEP_TIME("v.to_sweep") ", 0) END, v.state, n.guid, q.number FROM node o"
			  " JOIN port p ON p.node = o.id JOIN port_version v ON v.port = p.id"
			  " LEFT JOIN port q ON q.id = v.peer LEFT JOIN node n ON n.id = q.node"
			  " WHERE o.guid = ?1 AND p.number = ?2 ORDER BY v.from_sweep", NULL, node_guid, port,
			  &(struct visit){ .take = take_link, .link = each, .ctx = ctx }, err);
}
