/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/route_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

/* After timeouts a switch is queried again after 2, 4, ... sweeps, at most 2 to this power. */
#define BACKOFF_MAX 6

void route_read_done(struct route_read *read)
{
	routes_done(&read->routes);
	map_done(&read->by_guid);
	free(read->switches);
	free(read->blocks);
	*read = (struct route_read){ 0 };
}

void route_read_restore(struct route_read *read, struct routes *routes)
{
	routes_done(&read->routes);
	read->routes = *routes;
	*routes = (struct routes){ 0 };
}

static struct route_switch *find(const struct route_read *read, uint64_t guid)
{
	uint32_t index;

	return map_get(&read->by_guid, guid, &index) ? &read->switches[index] : NULL;
}

/* The entry of a node; NULL: it is not a switch. */
static struct route_switch *switch_of(const struct route_read *read, uint32_t node)
{
	return node_memory_is_switch(read->memory, node) ? find(read, read->fabric->nodes[node].guid) : NULL;
}

static bool is_whole(const struct route_table *table)
{
	for (uint32_t block = 0; table && block < table->lids / ROUTES_BLOCK; block++)
		if (!table->read[block])
			return false;
	return table != NULL;
}

static struct route_switch *find_or_add(struct route_read *read, uint64_t guid)
{
	struct route_switch *at = find(read, guid);

	if (at)
		return at;
	at = array_grow(read->switches, read->count, &read->capacity, sizeof(*at));
	if (!at)
		return NULL;
	read->switches = at;
	if (map_put(&read->by_guid, guid, (uint32_t)read->count) < 0)
		return NULL;
	at = &read->switches[read->count++];
	/* A restored table is compared with what is read now. */
	*at = (struct route_switch){ .guid = guid, .complete = is_whole(routes_find(&read->routes, guid)) };
	return at;
}

int route_read_request(struct route_read *read, uint64_t node_guid, struct error *err)
{
	struct route_switch *at = find_or_add(read, node_guid);

	if (!at)
		return err_nomem(err);
	at->requested = at->urgent = true;
	at->not_before = 0;
	return 0;
}

/* Number of blocks for a LinearFDBTop. 0: unknown. */
static uint32_t block_count(uint32_t top)
{
	uint32_t blocks = top / ROUTES_BLOCK + 1;

	return !top ? 0 : blocks < ROUTES_BLOCKS ? blocks : ROUTES_BLOCKS;
}

static bool has_any(const bool blocks[ROUTES_BLOCKS])
{
	return memchr(blocks, true, ROUTES_BLOCKS) != NULL;
}

/* Number of blocks of a switch: from SwitchInfo of this sweep, else of the discovery. */
static uint32_t blocks_of(const struct route_read *read, uint32_t node)
{
	uint16_t top = node_memory_node(read->memory, node)->lft_top;

	return block_count(top ? top : read->fabric->nodes[node].lft_top);
}

/* Removed blocks are changes if they were not empty. */
static void remove_blocks(struct route_read *read, struct route_switch *at, uint32_t blocks)
{
	const struct route_table *table = routes_find(&read->routes, at->guid);

	for (uint32_t lid = blocks * ROUTES_BLOCK; table && lid < table->lids; lid++) {
		at->changed += table->ports[lid] != ROUTES_NO_PORT;
		at->dirty[lid / ROUTES_BLOCK] = true;
		at->todo[lid / ROUTES_BLOCK] = false;
	}
	routes_cut(&read->routes, at->guid, blocks * ROUTES_BLOCK);
}

/* Adjust the size of a table. A new size indicates that the SM has written it. */
static int resize_table(struct route_read *read, struct route_switch *at, uint32_t blocks)
{
	const struct route_table *table = routes_find(&read->routes, at->guid);
	uint32_t known = table ? table->lids / ROUTES_BLOCK : 0;

	if (blocks == known)
		return 0;
	at->requested = true;
	remove_blocks(read, at, blocks);
	return routes_size(&read->routes, at->guid, blocks * ROUTES_BLOCK, read->err);
}

/* Create the entry of every switch, and adjust the size of its table. */
static int begin(struct route_read *read)
{
	route_read_skip(read);
	for (uint32_t i = 0; i < read->fabric->node_count; i++) {
		struct route_switch *at;
		uint32_t blocks;

		if (!node_memory_is_switch(read->memory, i))
			continue;
		at = find_or_add(read, read->fabric->nodes[i].guid);
		if (!at)
			return err_nomem(read->err);
		blocks = blocks_of(read, i);
		if (blocks && resize_table(read, at, blocks) < 0)
			return ERR_NOMEM;
	}
	return 0;
}

/* Convert requested tables to blocks to read. */
static void expand_requests(struct route_read *read)
{
	for (uint32_t i = 0; i < read->fabric->node_count; i++) {
		struct route_switch *at = switch_of(read, i);
		uint32_t blocks = at && at->requested ? blocks_of(read, i) : 0;

		for (uint32_t block = 0; block < blocks; block++)
			at->todo[block] = true;
		if (blocks)
			at->requested = false;
	}
}

static void request_all(struct route_read *read)
{
	for (size_t i = 0; i < read->count; i++)
		read->switches[i].requested = true;
	read->marked_us = read->now_us;
}

/* After a change of topology, request all tables: at once, and again a minute later. */
static void schedule_all(struct route_read *read)
{
	bool rested = !read->marked_us || read->now_us - read->marked_us >= ROUTE_READ_AGAIN_US, last;

	if (read->memory->generation != read->generation)
		read->changed_us = read->now_us;
	read->generation = read->memory->generation;
	if (!read->changed_us)
		return;
	last = read->now_us - read->changed_us >= ROUTE_READ_AGAIN_US;
	if (rested && (last || read->marked_us < read->changed_us || !read->marked_us))
		request_all(read);
	if (last)
		read->changed_us = 0;
}

static uint64_t all_blocks(const struct route_read *read)
{
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < read->fabric->node_count; i++)
		if (node_memory_is_switch(read->memory, i))
			blocks += blocks_of(read, i);
	return blocks;
}

double route_read_blocks_per_s(unsigned max_mads_per_s)
{
	return (max_mads_per_s ? max_mads_per_s : ROUTE_READ_RATE) * (ROUTE_READ_PERCENT / 100.0);
}

/* Blocks that are due in @us: one round per interval, within the rate. */
static double blocks_due(uint64_t all, int64_t us, int64_t routes_interval_us, double blocks_per_s)
{
	double due = (double)all * (double)us / (double)routes_interval_us, max = blocks_per_s * (double)us / US_PER_S;

	return blocks_per_s > 0 && due > max ? max : due;
}

/* Request the tables that are due periodically, in turn. */
static void schedule_periodic(struct route_read *read, double blocks_per_s)
{
	uint64_t all = all_blocks(read);
	size_t count = read->fabric->node_count;

	if (read->scheduled_us)
		read->credit += blocks_due(all, read->now_us - read->scheduled_us, read->interval_us, blocks_per_s);
	read->scheduled_us = read->now_us;
	if (read->credit > (double)all)
		read->credit = (double)all;
	for (size_t i = 0; i < count && read->credit > 0; i++) {
		uint32_t node = read->next_due < count ? read->next_due : 0, blocks;

		read->next_due = node + 1;
		blocks = node_memory_is_switch(read->memory, node) ? blocks_of(read, node) : 0;
		if (!blocks)
			continue;
		find(read, read->fabric->nodes[node].guid)->requested = true;
		read->credit -= blocks;
	}
}

/* Store a block. Its changes are reported only if the whole table was known before. */
static void store_block(struct route_read *read, struct route_switch *at, uint32_t block, const uint8_t *ports)
{
	bool known = routes_is_read(routes_find(&read->routes, at->guid), (uint16_t)(block * ROUTES_BLOCK));
	unsigned changed = 0;

	if (routes_set_block(&read->routes, at->guid, block, ports, &changed, read->err) < 0) {
		read->code = ERR_NOMEM;
		return;
	}
	if (!known || changed)
		at->dirty[block] = true;
	if (known || at->complete)
		at->changed += changed;
	at->todo[block] = false;
	if (has_any(at->todo))
		return;
	at->complete = true;
	at->urgent = false;
	at->read_us = read->now_us;
}

static void on_block(void *ctx, const struct request *request, const struct response *response)
{
	struct route_read *read = ctx;
	struct route_switch *at = &read->switches[request->tag];

	if (response->result == REQUEST_CANCELLED)
		return;
	if (response->result == REQUEST_ANSWERED && smp_is_ok(response->mad) &&
	    mad_read_header(response->mad).modifier == request->modifier) {
		store_block(read, at, request->modifier, smp_read_lft(response->mad));
		return;
	}
	at->timed_out = true;
	/* The other blocks of the switch wait with this one. */
	engine_drop_node(read->engine, request->node);
}

static bool is_queried(const struct route_read *read, uint32_t node, const struct route_switch *at)
{
	const struct node_entry *entry = node_memory_node(read->memory, node);

	return has_any(at->todo) && at->not_before <= read->sweep && !entry->unresponsive_sweeps && !entry->locked;
}

/* Query all blocks to be read of a switch. Return: their number. */
static uint64_t query(struct route_read *read, uint32_t node, struct route_switch *at)
{
	struct request request = {
		.attribute = SMP_LINEAR_FORWARDING_TABLE, .tag = (uint32_t)(at - read->switches), .done = on_block,
		.ctx = read,
	};
	uint64_t queried = 0;

	if (!node_memory_route_smp(read->memory, node, 0, &request))
		return 0;
	for (request.modifier = 0; request.modifier < ROUTES_BLOCKS && read->code == 0; request.modifier++) {
		if (!at->todo[request.modifier])
			continue;
		read->code = engine_submit(read->engine, &request, read->err);
		queried++;
	}
	return queried;
}

/* Query switches in turn, urgent or other ones, up to @max SMPs. Return: SMPs queued. */
static uint64_t query_some(struct route_read *read, bool urgent, uint64_t max)
{
	size_t count = read->fabric->node_count;
	uint64_t queried = 0;

	for (size_t i = 0; i < count && read->code == 0 && queried < max; i++) {
		uint32_t node = (uint32_t)((read->next_queried + i) % count);
		struct route_switch *at = switch_of(read, node);

		if (!at || at->urgent != urgent || !is_queried(read, node, at))
			continue;
		queried += query(read, node, at);
		if (!urgent && queried >= max)
			read->next_queried = node + 1;
	}
	return queried;
}

/* A changed table indicates that others were or will be changed. */
static void note_changes(struct route_read *read)
{
	for (size_t i = 0; i < read->count; i++)
		if (read->switches[i].changed)
			read->changed_us = read->now_us;
}

static void note_failures(struct route_read *read)
{
	for (size_t i = 0; i < read->count; i++) {
		struct route_switch *at = &read->switches[i];

		if (!at->timed_out) {
			at->failed = has_any(at->todo) ? at->failed : 0;
			continue;
		}
		at->failed = at->failed < BACKOFF_MAX ? at->failed + 1 : BACKOFF_MAX;
		at->not_before = read->sweep + (UINT64_C(1) << at->failed);
	}
}

static void add_events(const struct route_read *read, int64_t wall_us, struct events *events)
{
	uint64_t entries = 0;
	size_t switches = 0;

	for (size_t i = 0; i < read->count; i++) {
		switches += read->switches[i].changed > 0;
		entries += read->switches[i].changed;
	}
	if (switches > ROUTE_READ_EVENTS) {
		events_add(events, wall_us, EVENT_ROUTES_CHANGED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "LFTs of %zu switches changed: %llu entries", switches, (unsigned long long)entries);
		return;
	}
	for (size_t i = 0; i < read->count; i++) {
		const struct route_switch *at = &read->switches[i];
		uint32_t node = at->changed ? fabric_find_node(read->fabric, at->guid) : FABRIC_NONE;

		if (node != FABRIC_NONE)
			events_add(events, wall_us, EVENT_ROUTES_CHANGED, EVENT_INFO, read->fabric, node, 0,
				   "LFT of %.150s changed: %u entr%s", read->fabric->names.shown[node], at->changed,
				   at->changed == 1 ? "y" : "ies");
	}
}

/* Of switches of the fabric: a departed one that was left out gets no id. */
static int list_blocks(struct route_read *read, size_t max)
{
	read->block_count = 0;
	for (size_t i = 0; i < read->count && read->block_count < max; i++) {
		const struct route_switch *at = &read->switches[i];

		if (!has_any(at->dirty) || fabric_find_node(read->fabric, at->guid) == FABRIC_NONE ||
		    sink_leaves_out(read->sink, at->guid))
			continue;
		for (uint32_t block = 0; block < ROUTES_BLOCKS && read->block_count < max; block++) {
			struct route_block *blocks;

			if (!at->dirty[block])
				continue;
			blocks = array_grow(read->blocks, read->block_count, &read->block_capacity, sizeof(*blocks));
			if (!blocks)
				return err_nomem(read->err);
			read->blocks = blocks;
			blocks[read->block_count++] = (struct route_block){ at->guid, (uint16_t)block };
		}
	}
	return 0;
}

int route_read_run(struct route_read *read, struct engine *engine, struct node_memory *memory,
		   const struct route_read_limits *limits, int64_t now_us, int64_t wall_us, struct events *events,
		   struct error *err)
{
	const struct fabric *fabric = memory->fabric;
	uint64_t queried;
	int code;

	read->engine = engine;
	read->fabric = fabric;
	read->memory = memory;
	read->err = err;
	read->now_us = now_us;
	read->code = 0;
	read->sweep++;
	if (!read->interval_us)
		return 0;
	read->code = begin(read);
	if (read->code < 0)
		return read->code;
	/* The first turn is arbitrary, so consecutive single sweeps cover all switches. */
	if (read->sweep == 1 && fabric->node_count)
		read->next_due = read->next_queried = (uint32_t)((uint64_t)now_us / 1000000 % fabric->node_count);
	schedule_all(read);
	schedule_periodic(read, limits->blocks_per_s);
	expand_requests(read);
	queried = query_some(read, true, limits->smps);
	if (queried < limits->smps)
		query_some(read, false, limits->smps - queried);
	code = engine_finish(engine, read->code, limits->deadline_us, err);
	if (code < 0 || read->code < 0)
		return code < 0 ? code : read->code;
	note_failures(read);
	note_changes(read);
	add_events(read, wall_us, events);
	return list_blocks(read, limits->blocks ? limits->blocks : SIZE_MAX);
}

void route_read_skip(struct route_read *read)
{
	for (size_t i = 0; i < read->count; i++) {
		read->switches[i].changed = 0;
		read->switches[i].timed_out = false;
	}
}

void route_read_commit(struct route_read *read)
{
	for (size_t i = 0; i < read->block_count; i++)
		find(read, read->blocks[i].node_guid)->dirty[read->blocks[i].block] =
			sink_leaves_out(read->sink, read->blocks[i].node_guid);
	read->block_count = 0;
}

uint64_t route_read_cost(const struct fabric *fabric, int64_t routes_interval_us, double blocks_per_s,
			 int64_t interval_us)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == NODE_SWITCH)
			blocks += block_count(fabric->nodes[i].lft_top);
	if (!routes_interval_us)
		return 0;
	return (uint64_t)(blocks_due(blocks, interval_us, routes_interval_us, blocks_per_s) + 0.5);
}
