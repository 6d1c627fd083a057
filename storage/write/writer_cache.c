/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/write/writer_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/topology.h"

uint32_t state_find_node(const struct state *state, uint64_t guid)
{
	uint32_t id = 0;

	map_get(&state->by_guid, guid, &id);
	return id;
}

uint32_t state_find_port(const struct state *state, uint32_t node, uint8_t num)
{
	const struct known_node *known = &state->nodes[node];

	return num < known->port_slots ? known->ports[num] : 0;
}

/* Room for one more entry behind @count, zeroed; entry 0 is made with the first. */
static int make_room(void **array, size_t *count, size_t *capacity, size_t size, struct error *err)
{
	size_t more = *capacity ? 2 * *capacity : 256;
	char *bigger;

	if (!*capacity || *count == *capacity) {
		bigger = reallocarray(*array, more, size);
		if (!bigger)
			return err_nomem(err);
		memset(bigger + *capacity * size, 0, (more - *capacity) * size);
		*array = bigger;
		*capacity = more;
	}
	if (!*count)
		*count = 1;
	return 0;
}

int64_t state_add_node(struct state *state, uint64_t guid, struct error *err)
{
	if (make_room((void **)&state->nodes, &state->node_count, &state->node_capacity, sizeof(*state->nodes),
		      err) < 0)
		return ERR_NOMEM;
	if (map_put(&state->by_guid, guid, (uint32_t)state->node_count) < 0)
		return err_nomem(err);
	state->nodes[state->node_count].guid = guid;
	return (int64_t)state->node_count++;
}

int64_t state_add_port(struct state *state, uint32_t node, uint8_t num, struct error *err)
{
	struct known_node *known = &state->nodes[node];

	if (make_room((void **)&state->ports, &state->port_count, &state->port_capacity, sizeof(*state->ports),
		      err) < 0)
		return ERR_NOMEM;
	if (num >= known->port_slots) {
		size_t slots = num + 1u > known->now.port_count + 1u ? num + 1u : known->now.port_count + 1u;
		uint32_t *bigger = reallocarray(known->ports, slots, sizeof(*bigger));

		if (!bigger)
			return err_nomem(err);
		memset(bigger + known->port_slots, 0, (slots - known->port_slots) * sizeof(*bigger));
		known->ports = bigger;
		known->port_slots = slots;
	}
	known->ports[num] = (uint32_t)state->port_count;
	state->ports[state->port_count].node = node;
	state->ports[state->port_count].num = num;
	return (int64_t)state->port_count++;
}

void state_done(struct state *state)
{
	for (size_t i = 0; i < state->node_count; i++)
		free(state->nodes[i].ports);
	free(state->nodes);
	free(state->ports);
	map_done(&state->by_guid);
	topology_done(&state->loaded);
	memset(state, 0, sizeof(*state));
}

static int damaged(struct error *err)
{
	return err_set(err, ERR_IO,
		       "the database is damaged: rows that others refer to are missing; move it aside or restore a "
		       "copy of it");
}

static int load_identities(sqlite3 *db, struct state *state, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT id, guid FROM node ORDER BY id", &rows, err);

	while (!result && (result = db_step(rows, err)) > 0) {
		int64_t id = state_add_node(state, db_u64(rows, 1), err);

		result = id < 0 ? (int)id : id != sqlite3_column_int64(rows, 0) ? damaged(err) : 0;
	}
	sqlite3_finalize(rows);
	if (result < 0)
		return result;
	result = db_prepare(db, "SELECT id, node, number FROM port ORDER BY id", &rows, err);
	while (!result && (result = db_step(rows, err)) > 0) {
		uint64_t node = db_u64(rows, 1);
		int64_t id;

		if (!node || node >= state->node_count) {
			result = damaged(err);
			break;
		}
		id = state_add_port(state, (uint32_t)node, (uint8_t)sqlite3_column_int(rows, 2), err);
		result = id < 0 ? (int)id : id != sqlite3_column_int64(rows, 0) ? damaged(err) : 0;
	}
	sqlite3_finalize(rows);
	return result;
}

static int load_sweep(sqlite3 *db, struct state *state, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db,
				"SELECT s.id, s.wall_us, s.start_us, s.topology, s.from_node, s.from_port, s.boot,"
				" b.boot_id FROM sweep s LEFT JOIN boot b ON b.id = s.boot ORDER BY s.id DESC LIMIT 1",
				&row, err);

	if (result < 0)
		return result;
	result = db_step(row, err);
	if (result > 0) {
		const char *boot_id = (const char *)sqlite3_column_text(row, 7);

		state->sweep = state->loaded_sweep = sqlite3_column_int64(row, 0);
		state->sweep_wall_us = db_us(row, 1);
		state->sweep_start_us = db_us(row, 2);
		state->topology = sqlite3_column_int64(row, 3);
		state->from_node = (uint32_t)sqlite3_column_int64(row, 4);
		state->from_port = (uint8_t)sqlite3_column_int(row, 5);
		state->boot = sqlite3_column_int64(row, 6);
		result = boot_id ? 0 : damaged(err);
		if (boot_id)
			strncpy(state->boot_id, boot_id, sizeof(state->boot_id) - 1);
	}
	sqlite3_finalize(row);
	return result;
}

static int load_versions(sqlite3 *db, struct state *state, struct error *err)
{
	struct topology topology = { 0 };
	int result = topology_load(db, state->sweep, &topology, err);

	for (size_t i = 0; !result && i < topology.node_count; i++) {
		const struct stored_node *stored = &topology.nodes[i];

		if (stored->id >= state->node_count) {
			result = damaged(err);
			break;
		}
		state->nodes[stored->id].from_sweep = stored->from_sweep;
		state->nodes[stored->id].now = stored->node;
		memcpy(state->nodes[stored->id].name, stored->name, sizeof(stored->name));
	}
	for (size_t i = 0; !result && i < topology.port_count; i++) {
		const struct stored_port *stored = &topology.ports[i];

		if (stored->id >= state->port_count) {
			result = damaged(err);
			break;
		}
		state->ports[stored->id].from_sweep = stored->from_sweep;
		state->ports[stored->id].now = stored->port;
		state->ports[stored->id].peer = stored->peer_id;
		/* What fabric.h's port_is_pollable() says, before there is a fabric. */
		state->ports[stored->id].pollable =
			stored->port.num || (topology.nodes[stored->port.node].node.type == NODE_SWITCH &&
					     topology.nodes[stored->port.node].node.enhanced_port0);
	}
	state->loaded = topology;
	return result;
}

static int load_spans(sqlite3 *db, struct state *state, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT port, from_sweep, why FROM span WHERE to_sweep IS NULL", &rows, err);

	while (!result && (result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 0);

		result = port < state->port_count ? 0 : damaged(err);
		if (result < 0)
			break;
		state->ports[port].pollable = true;
		state->ports[port].span_from = sqlite3_column_int64(rows, 1);
		state->ports[port].span_why = sqlite3_column_int(rows, 2);
	}
	sqlite3_finalize(rows);
	return result;
}

static int load_readings(sqlite3 *db, struct state *state, struct error *err)
{
	struct stored_reading *by_port;
	int result;

	if (!state->port_count)
		return 0;
	by_port = calloc(state->port_count, sizeof(*by_port));
	if (!by_port)
		return err_nomem(err);
	result = readings_load(db, state->sweep, by_port, state->port_count, err);
	for (size_t i = 0; !result && i < state->port_count; i++)
		state->ports[i].last = by_port[i];
	free(by_port);
	return result;
}

int state_load(sqlite3 *db, struct state *ret, struct error *err)
{
	struct state state = { 0 };
	int result = db_exec(db, "BEGIN", err);

	if (result < 0)
		return result;
	result = load_identities(db, &state, err);
	if (!result)
		result = load_sweep(db, &state, err);
	if (!result)
		result = load_versions(db, &state, err);
	if (!result)
		result = load_spans(db, &state, err);
	if (!result)
		result = load_readings(db, &state, err);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* it only read */
	if (result < 0)
		state_done(&state);
	else
		*ret = state;
	return result;
}
