/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/pkey_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

/* After timeouts a port is queried again after 2, 4, ... runs, at most 2 to this power. */
#define BACKOFF_MAX 6

/* Modifier of a P_KeyTable: the block; of a switch, the port above it. */
#define BLOCK_BITS 16

uint64_t pkey_read_cost(const struct fabric *fabric, uint64_t mads, int64_t interval_us)
{
	double tables = 0, share = (double)mads * PKEY_READ_SHARE;

	for (uint32_t i = 0; i < fabric->port_count; i++)
		tables += pkeys_is_member_port(fabric, i) && fabric->ports[i].state >= PORT_INIT;
	tables *= (double)interval_us / PKEY_READ_PERIOD_US;
	return (uint64_t)((tables < share ? tables : share) + 0.5);
}

void pkey_read_done(struct pkey_read *read)
{
	pkeys_done(&read->pkeys);
	for (size_t i = 0; i < read->query_count; i++)
		free(read->queries[i].keys);
	free(read->ports);
	free(read->targets);
	free(read->changes);
	free(read->queries);
	*read = (struct pkey_read){ 0 };
}

void pkey_read_restore(struct pkey_read *read, struct pkeys *pkeys)
{
	pkeys_done(&read->pkeys);
	read->pkeys = *pkeys;
	*pkeys = (struct pkeys){ 0 };
}

/* The index of the table of a port, with its read state. Return: or ERR_NOMEM. */
static int64_t add_slot(struct pkey_read *read, uint32_t port)
{
	const struct fabric *fabric = read->memory->fabric;
	const struct port *at = &fabric->ports[port];
	int64_t slot = pkeys_slot(&read->pkeys, fabric->nodes[at->node].guid, at->num, read->err);
	struct pkey_port *ports;

	if (slot < 0)
		return slot;
	if (read->port_capacity < read->pkeys.count) {
		ports = realloc(read->ports, read->pkeys.capacity * sizeof(*ports));
		if (!ports)
			return err_nomem(read->err);
		memset(ports + read->port_capacity, 0,
		       (read->pkeys.capacity - read->port_capacity) * sizeof(*ports));
		read->ports = ports;
		read->port_capacity = read->pkeys.capacity;
	}
	return slot;
}

/* The store may have removed what it had of a port that is back. */
static void note_target(struct pkey_read *read, uint32_t slot)
{
	struct pkey_port *port = &read->ports[slot];

	if (port->generation && port->generation != read->generation)
		port->dirty = true;
	port->generation = read->memory->generation;
	read->tables++;
}

/* A switch port that no longer enforces partitions has no table any more. */
static int end_enforcement(struct pkey_read *read, uint32_t port)
{
	const struct fabric *fabric = read->memory->fabric;
	const struct pkey_table *table = pkeys_of(&read->pkeys, fabric, port);
	int64_t slot;
	int code;

	if (!table || !table->enforcement)
		return 0;
	slot = add_slot(read, port);
	if (slot < 0)
		return (int)slot;
	code = pkeys_set(&read->pkeys, table->node_guid, table->port, NULL, 0, 0, read->err);
	read->ports[slot].dirty = true;
	return code < 0 ? code : 0;
}

static uint16_t blocks_of(uint16_t capacity)
{
	return (uint16_t)((capacity + PKEYS_BLOCK - 1) / PKEYS_BLOCK);
}

static int add_target(struct pkey_read *read, uint32_t index)
{
	const struct fabric *fabric = read->memory->fabric;
	const struct port *port = &fabric->ports[index];
	struct pkey_target *target = &read->targets[read->target_count];
	const struct port *peer = port->peer == FABRIC_NONE ? NULL : &fabric->ports[port->peer];
	int64_t slot = add_slot(read, index);

	if (slot < 0)
		return (int)slot;
	*target = (struct pkey_target){ .port = index, .slot = (uint32_t)slot, .switch_port = FABRIC_NONE,
					.blocks = blocks_of(fabric->nodes[port->node].partition_cap) };
	note_target(read, target->slot);
	read->target_count++;
	if (!peer || fabric->nodes[peer->node].type != NODE_SWITCH)
		return 0;
	if (!peer->enforcement)
		return end_enforcement(read, port->peer);
	slot = add_slot(read, port->peer);
	if (slot < 0)
		return (int)slot;
	target->switch_port = port->peer;
	target->switch_slot = (uint32_t)slot;
	target->switch_blocks = blocks_of(fabric->nodes[peer->node].enforcement_cap);
	note_target(read, target->switch_slot);
	return 0;
}

/* The ports of the current topology whose tables are read. */
static int find_targets(struct pkey_read *read)
{
	const struct fabric *fabric = read->memory->fabric;
	struct pkey_target *targets;
	int code = 0;

	if (read->generation == read->memory->generation)
		return 0;
	targets = calloc(fabric->port_count + 1, sizeof(*targets));
	if (!targets)
		return err_nomem(read->err);
	free(read->targets);
	read->targets = targets;
	read->target_count = read->tables = 0;
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++)
		if (pkeys_is_member_port(fabric, i) && port_is_live(fabric, &fabric->ports[i]))
			code = add_target(read, i);
	read->generation = read->memory->generation;
	read->revision++;
	return code;
}

/* --- requests --- */

static void add_event(struct pkey_read *read, uint32_t port, const struct pkey_table *table,
		      const struct text *before)
{
	const struct fabric *fabric = read->memory->fabric;
	struct text now = { 0 };
	char name[NODE_NAME_SIZE + 8];

	if (++read->changed > PKEY_READ_EVENTS)
		return;
	pkeys_text(&now, table, 8);
	events_add(read->events, read->wall_us, EVENT_PKEYS_CHANGED, EVENT_INFO, fabric, fabric->ports[port].node,
		   fabric->ports[port].num, "P_Keys of %.120s changed: %.100s, before %.100s",
		   events_port_name(fabric, port, name, sizeof(name)), text_chars(&now), text_chars(before));
	text_done(&now);
}

/* All blocks of a table were read. */
static void store_table(struct pkey_read *read, const struct pkey_query *query)
{
	const struct pkey_target *target = &read->targets[query->target];
	uint32_t port = query->of_switch ? target->switch_port : target->port;
	uint32_t slot = query->of_switch ? target->switch_slot : target->slot;
	struct pkey_table *table = &read->pkeys.tables[slot];
	bool was_known = table->known;
	struct text before = { 0 };
	int code;

	if (was_known)
		pkeys_text(&before, table, 8);
	code = pkeys_set(&read->pkeys, table->node_guid, table->port, query->keys, (size_t)query->read * PKEYS_BLOCK,
			 query->of_switch ? read->memory->fabric->ports[port].enforcement : 0, read->err);
	if (code > 0) {
		read->ports[slot].dirty = true;
		read->revision++;
		if (was_known) {
			read->changed_us = read->now_us;
			add_event(read, port, table, &before);
		}
	}
	text_done(&before);
	if (code < 0)
		read->code = code;
	read->ports[slot].read_us = read->now_us;
	read->ports[slot].failed = 0;
}

static void end_query(struct pkey_read *read, struct pkey_query *query)
{
	const struct pkey_target *target = &read->targets[query->target];
	struct pkey_port *port = &read->ports[query->of_switch ? target->switch_slot : target->slot];

	if (query->is_failed) {
		port->failed = port->failed < BACKOFF_MAX ? port->failed + 1 : BACKOFF_MAX;
		port->not_before = read->run + (UINT64_C(1) << port->failed);
	} else if (!query->is_cancelled) {
		store_table(read, query);
	}
	free(query->keys);
	query->keys = NULL;
}

static int submit(struct pkey_read *read, struct pkey_query *query);

/*
 * Does another block follow? After one that is full or has been: opensm uses the first free entry, and leaves the
 * entries of removed P_Keys between others.
 */
static bool continues(const struct pkey_read *read, const struct pkey_query *query, const uint16_t keys[PKEYS_BLOCK])
{
	const struct pkey_target *target = &read->targets[query->target];
	uint16_t most = query->of_switch ? target->switch_blocks : target->blocks;
	unsigned used = 0;

	for (unsigned i = 0; i < PKEYS_BLOCK; i++)
		used += keys[i] != 0;
	return (keys[PKEYS_BLOCK - 1] || used >= PKEYS_BLOCK / 2) && (!most || query->queried < most);
}

static void take_block(struct pkey_read *read, struct pkey_query *query, unsigned block, const uint8_t mad[MAD_SIZE])
{
	uint16_t *keys = realloc(query->keys, (size_t)(block + 1 > query->read ? block + 1 : query->read) *
						      PKEYS_BLOCK * sizeof(*keys));

	if (!keys) {
		read->code = err_nomem(read->err);
		query->is_failed = true;
		return;
	}
	for (; query->read <= block; query->read++)
		memset(keys + (size_t)query->read * PKEYS_BLOCK, 0, PKEYS_BLOCK * sizeof(*keys));
	query->keys = keys;
	smp_read_pkeys(mad, keys + (size_t)block * PKEYS_BLOCK);
	if (block + 1 == query->queried && !query->is_failed && !query->is_cancelled && read->code == 0 &&
	    continues(read, query, keys + (size_t)block * PKEYS_BLOCK))
		read->code = submit(read, query);
}

static void on_block(void *ctx, const struct request *request, const struct response *response)
{
	struct pkey_read *read = ctx;
	struct pkey_query *query = &read->queries[request->tag];
	unsigned block = request->modifier & ((1u << BLOCK_BITS) - 1);

	query->outstanding--;
	if (response->result == REQUEST_CANCELLED) {
		query->is_cancelled = true;
	} else if (response->result == REQUEST_ANSWERED && smp_is_ok(response->mad) &&
		   mad_read_header(response->mad).modifier == request->modifier) {
		take_block(read, query, block, response->mad);
	} else if (response->result == REQUEST_TIMED_OUT || !block) {
		query->is_failed = true;
		/* The other tables of the node wait with this one. */
		if (response->result == REQUEST_TIMED_OUT)
			engine_drop_node(read->engine, request->node);
	}
	if (!query->outstanding)
		end_query(read, query);
}

/* Request the next block of a table. */
static int submit(struct pkey_read *read, struct pkey_query *query)
{
	const struct pkey_target *target = &read->targets[query->target];
	const struct port *port =
		&read->memory->fabric->ports[query->of_switch ? target->switch_port : target->port];
	struct request request = {
		.attribute = SMP_PKEY_TABLE, .tag = (uint32_t)(query - read->queries), .done = on_block, .ctx = read,
		.modifier = query->queried | (query->of_switch ? (uint32_t)port->num << BLOCK_BITS : 0),
	};
	int code;

	if (!node_memory_route_smp(read->memory, port->node, query->of_switch ? 0 : port->num, &request)) {
		query->is_failed = true;
		return 0;
	}
	code = engine_submit(read->engine, &request, read->err);
	if (code < 0)
		return code;
	query->outstanding++;
	query->queried++;
	read->smps++;
	read->credit -= read->ports[query->of_switch ? target->switch_slot : target->slot].read_us ? 1 : 0;
	return 0;
}

static bool is_silent(const struct pkey_read *read, uint32_t port)
{
	const struct node_entry *entry = node_memory_node(read->memory, read->memory->fabric->ports[port].node);

	return entry->unresponsive_sweeps || entry->locked;
}

/* Query the blocks of a table that were in use. */
static void query_table(struct pkey_read *read, uint32_t target, bool of_switch)
{
	const struct pkey_target *at = &read->targets[target];
	uint32_t slot = of_switch ? at->switch_slot : at->slot;
	unsigned blocks = (read->pkeys.tables[slot].count + PKEYS_BLOCK - 1u) / PKEYS_BLOCK;
	struct pkey_query *query = &read->queries[read->query_count];

	if (read->ports[slot].not_before > read->run || is_silent(read, of_switch ? at->switch_port : at->port))
		return;
	*query = (struct pkey_query){ .target = target, .of_switch = of_switch };
	read->query_count++;
	do
		read->code = submit(read, query);
	while (read->code == 0 && !query->is_failed && query->queried < blocks);
	if (query->is_failed && !query->outstanding)
		end_query(read, query);
}

static void query_target(struct pkey_read *read, uint32_t target)
{
	query_table(read, target, false);
	if (read->code == 0 && read->targets[target].switch_port != FABRIC_NONE)
		query_table(read, target, true);
}

/* --- what is due --- */

/* When a target was read: the earlier one of its two tables. INT64_MAX: it does not respond. */
static int64_t read_us(const struct pkey_read *read, const struct pkey_target *target)
{
	const struct pkey_port *port = &read->ports[target->slot], *other;
	int64_t us = port->failed || is_silent(read, target->port) ? INT64_MAX : port->read_us;

	if (target->switch_port == FABRIC_NONE)
		return us;
	other = &read->ports[target->switch_slot];
	return other->failed || is_silent(read, target->switch_port) || other->read_us > us ? us : other->read_us;
}

/* Are the tables as the SM has left them? */
static void update_settled(struct pkey_read *read)
{
	int64_t oldest_us = INT64_MAX;

	for (size_t i = 0; i < read->target_count; i++) {
		int64_t us = read_us(read, &read->targets[i]);

		if (us < oldest_us)
			oldest_us = us;
	}
	read->is_settled = oldest_us && (!read->changed_us || oldest_us >= read->changed_us + PKEY_READ_AGAIN_US);
	if (oldest_us >= read->wanted_us)
		read->is_burst = false;
}

static bool is_wanted(const struct pkey_read *read, const struct pkey_target *target)
{
	int64_t us = read_us(read, target);

	return !us || (read->is_burst && us < read->wanted_us);
}

static int select_targets(struct pkey_read *read, const struct pkey_read_limits *limits)
{
	size_t count = read->target_count, most = 2 * count;
	int64_t elapsed_us = read->scheduled_us ? read->now_us - read->scheduled_us : 0;

	if (read->query_capacity < most) {
		struct pkey_query *queries = realloc(read->queries, most * sizeof(*queries));

		if (!queries)
			return err_nomem(read->err);
		read->queries = queries;
		read->query_capacity = most;
	}
	read->credit += (double)limits->mads * PKEY_READ_SHARE;
	if (read->credit > (double)read->tables)
		read->credit = (double)read->tables;
	read->due += (double)count * (double)elapsed_us / PKEY_READ_PERIOD_US;
	if (read->due > (double)count)
		read->due = (double)count;
	read->scheduled_us = read->now_us;
	for (uint32_t i = 0; i < count && read->code == 0 && read->smps < limits->smps; i++)
		if (is_wanted(read, &read->targets[i]))
			query_target(read, i);
	for (size_t i = 0; i < count && read->code == 0 && read->credit >= 1 && read->due >= 1 &&
			   read->smps < limits->smps; i++) {
		uint32_t target = (uint32_t)(read->next < count ? read->next : 0);

		read->next = target + 1;
		read->due -= 1;
		if (!is_wanted(read, &read->targets[target]))
			query_target(read, target);
	}
	return read->code;
}

/* After a change: read all tables at once, and again when the SM is certainly done. */
static void schedule_burst(struct pkey_read *read)
{
	int64_t again_us = read->changed_us + PKEY_READ_AGAIN_US;

	if (!read->changed_us || read->is_settled)
		return;
	if (read->wanted_us < read->changed_us)
		read->wanted_us = read->changed_us;
	if (read->now_us >= again_us)
		read->wanted_us = again_us;
	if (read->credit > -(double)read->tables * PKEY_READ_ROUNDS)
		read->is_burst = true;
}

/* Of nodes of the fabric: a departed one that was left out gets no id. */
static int list_changes(struct pkey_read *read)
{
	read->change_count = 0;
	for (size_t i = 0; i < read->pkeys.count && i < read->port_capacity; i++) {
		const struct pkey_table *table = &read->pkeys.tables[i];
		struct pkey_change *changes;

		if (!read->ports[i].dirty || fabric_find_node(read->memory->fabric, table->node_guid) == FABRIC_NONE ||
		    sink_leaves_out(read->sink, table->node_guid))
			continue;
		changes = array_grow(read->changes, read->change_count, &read->change_capacity, sizeof(*changes));
		if (!changes)
			return err_nomem(read->err);
		read->changes = changes;
		changes[read->change_count++] = (struct pkey_change){ table->node_guid, table->port };
	}
	return 0;
}

int pkey_read_run(struct pkey_read *read, struct engine *engine, struct node_memory *memory,
		  const struct pkey_read_limits *limits, int64_t now_us, int64_t wall_us, struct events *events,
		  struct error *err)
{
	int code;

	if (read->off)
		return 0;
	read->engine = engine;
	read->memory = memory;
	read->err = err;
	read->now_us = now_us;
	read->wall_us = wall_us;
	read->events = events;
	read->code = 0;
	read->changed = 0;
	read->smps = 0;
	read->query_count = 0;
	read->run++;
	code = find_targets(read);
	if (code < 0)
		return code;
	schedule_burst(read);
	read->code = select_targets(read, limits);
	code = engine_finish(engine, read->code, limits->deadline_us, err);
	if (code < 0 || read->code < 0)
		return code < 0 ? code : read->code;
	if (read->changed > PKEY_READ_EVENTS)
		events_add(events, wall_us, EVENT_PKEYS_CHANGED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "P_Keys of %u ports changed, the first %u of them have events of their own", read->changed,
			   PKEY_READ_EVENTS);
	update_settled(read);
	return list_changes(read);
}

void pkey_read_commit(struct pkey_read *read)
{
	for (size_t i = 0; i < read->change_count; i++) {
		const struct pkey_change *change = &read->changes[i];
		int64_t slot = pkeys_slot(&read->pkeys, change->node_guid, change->port, NULL);

		if (slot >= 0)
			read->ports[slot].dirty = sink_leaves_out(read->sink, change->node_guid);
	}
	read->change_count = 0;
}
