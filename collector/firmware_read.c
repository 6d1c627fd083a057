/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/firmware_read.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/err.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "wire/engine.h"
#include "wire/general_info.h"
#include "wire/mad.h"

/* Share of the nodes that are queried for the first time in a sweep. */
#define FIRST_SHARE 10

#define FAILURES_MAX 3

static bool is_asked(const struct fabric *fabric, uint32_t node, bool skip_hcas)
{
	return device_has_general_info(&fabric->nodes[node]) && !fabric->nodes[node].kept &&
	       !(skip_hcas && fabric->nodes[node].type != NODE_SWITCH);
}

static void note_failure(struct node_entry *entry)
{
	if (entry->firmware_failures < FAILURES_MAX)
		entry->firmware_failures++;
	entry->firmware_due = entry->firmware_failures < FAILURES_MAX;
}

static void on_general_info(void *ctx, const struct request *request, const struct response *response)
{
	struct firmware_read *read = ctx;
	struct node_entry *entry = node_memory_node(read->memory, request->tag);
	struct firmware now = { .at_us = read->wall_us }, old = entry->firmware;
	char text[256];

	if (response->result == REQUEST_CANCELLED) {
		entry->firmware_due = true;
		return;
	}
	if (response->result != REQUEST_ANSWERED || !general_info_read(response->mad, &now)) {
		note_failure(entry);
		return;
	}
	entry->firmware_failures = 0;
	if (old.source == FIRMWARE_READ && firmware_same(&now, &old))
		return;
	entry->firmware_unstored = true;
	if (!old.source || firmware_same(&now, &old)) {
		/* What an import has shown is confirmed. */
		now.at_us = old.source ? old.at_us : now.at_us;
		now.changed_us = old.changed_us;
		entry->firmware = now;
		return;
	}
	now.changed_us = read->wall_us;
	entry->firmware = now;
	firmware_format_change(read->fabric->names.shown[request->tag], &old, &now, text, sizeof(text));
	events_add(read->events, read->wall_us, EVENT_FIRMWARE_CHANGED, EVENT_INFO, read->fabric, request->tag, 0,
		   "%s", text);
}

/* The port whose agent is queried: port 0 of a switch, else the first with a link. FABRIC_NONE: none */
static uint32_t port_of(const struct fabric *fabric, uint32_t node_index)
{
	const struct node *node = &fabric->nodes[node_index];

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric_port_lid(fabric, &fabric->ports[i]) && !port_is_plane(fabric, i) &&
		    (node->type == NODE_SWITCH || fabric->ports[i].state == PORT_ACTIVE))
			return i;
	return FABRIC_NONE;
}

/* Return: 1 if a query was queued; 0; or ERR_NOMEM. */
static int submit(struct firmware_read *read, struct engine *engine, uint32_t node, struct error *err)
{
	uint32_t port = port_of(read->fabric, node);
	struct node_entry *entry = node_memory_node(read->memory, node);
	struct request request = { .mgmt_class = CLASS_VENDOR_MLNX, .attribute = MLNX_GENERAL_INFO, .tag = node,
				   .once = true, .done = on_general_info, .ctx = read };
	int code;

	if (port == FABRIC_NONE || entry->unresponsive_sweeps)
		return 0;
	request.node = node_memory_vendor_id(read->memory, port);
	request.to.lid = fabric_port_lid(read->fabric, &read->fabric->ports[port]);
	entry->firmware_due = false;
	code = engine_submit(engine, &request, err);
	return code < 0 ? code : 1;
}

static void set_due(struct node_entry *entry)
{
	entry->firmware_due = true;
	entry->firmware_failures = 0;
}

/* Nodes that may have another firmware, or were not queried yet. */
static void mark_due(struct firmware_read *read, const struct sweep_result *result)
{
	const struct fabric *fabric = read->fabric;

	for (size_t i = 0; i < result->count; i++)
		if (result->samples[i].delta && result->samples[i].delta->reset)
			set_due(node_memory_node(read->memory, fabric->ports[result->samples[i].port].node));
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		struct node_entry *entry = node_memory_node(read->memory, i);

		if (!entry->firmware_generation || entry->firmware_generation != read->generation ||
		    entry->unresponsive_sweeps)
			set_due(entry);
		entry->firmware_generation = read->memory->generation;
	}
	read->generation = read->memory->generation;
}

static int submit_round(struct firmware_read *read, struct engine *engine, bool all, bool skip_hcas, struct error *err)
{
	size_t count = read->fabric->node_count, left = all ? count : count / FIRST_SHARE + 1;
	uint64_t turn = read->sweep % FIRMWARE_READ_SWEEPS, round = read->sweep / FIRMWARE_READ_SWEEPS;
	int code = 0;

	for (uint32_t i = 0; i < count && code >= 0; i++) {
		const struct node_entry *entry = node_memory_node(read->memory, i);
		bool is_turn = i % FIRMWARE_READ_SWEEPS == turn && round &&
			       (entry->firmware_failures < FAILURES_MAX || round % FIRMWARE_READ_TURNS == 0);

		if (!is_asked(read->fabric, i, skip_hcas) || (!is_turn && (!entry->firmware_due || !left)))
			continue;
		code = submit(read, engine, i, err);
		left -= code > 0 && !is_turn;
	}
	return code < 0 ? code : 0;
}

int firmware_read_run(struct firmware_read *read, struct engine *engine, struct node_memory *memory, bool all,
		      bool skip_hcas, const struct sweep_result *result, int64_t deadline_us, int64_t wall_us,
		      struct events *events, struct error *err)
{
	int code;

	read->memory = memory;
	read->fabric = memory->fabric;
	read->wall_us = wall_us;
	read->events = events;
	mark_due(read, result);
	code = engine_finish(engine, submit_round(read, engine, all, skip_hcas, err), deadline_us, err);
	read->sweep++;
	return code < 0 ? code : 0;
}

void firmware_read_adopt(struct node_memory *memory, const struct sink *sink)
{
	size_t count = 0;
	const struct node_firmware *list = sink->imported_firmware ? sink->imported_firmware(sink->ctx, &count) : NULL;

	for (size_t i = 0; list && i < count; i++) {
		uint32_t index;

		if (!map_get(&memory->by_guid, list[i].node_guid, &index))
			continue;
		memory->nodes[index].firmware = list[i].firmware;
		memory->nodes[index].firmware_unstored = false;
	}
}

void firmware_read_store(struct node_memory *memory, const struct sink *sink)
{
	struct node_firmware *list = NULL;
	size_t count = 0;

	if (!sink->store_firmware)
		return;
	for (size_t i = 0; i < memory->node_count; i++) {
		const struct node_entry *entry = &memory->nodes[i];

		if (!entry->firmware_unstored || sink_leaves_out(sink, entry->guid))
			continue;
		/* Without memory or disk space they are stored after a later sweep. */
		if (!list && !(list = calloc(memory->node_count - i, sizeof(*list))))
			return;
		list[count++] = (struct node_firmware){ entry->guid, entry->firmware };
	}
	if (count && sink->store_firmware(sink->ctx, list, count, NULL) == 0)
		for (size_t i = 0; i < count; i++) {
			uint32_t index;

			if (map_get(&memory->by_guid, list[i].node_guid, &index))
				memory->nodes[index].firmware_unstored = false;
		}
	free(list);
}

uint64_t firmware_read_cost(const struct fabric *fabric, bool skip_hcas)
{
	uint64_t nodes = 0;

	for (uint32_t i = 0; i < fabric->node_count; i++)
		nodes += is_asked(fabric, i, skip_hcas);
	return (nodes + FIRMWARE_READ_SWEEPS - 1) / FIRMWARE_READ_SWEEPS;
}
