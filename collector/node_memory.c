/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/node_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/path.h"
#include "wire/engine.h"
#include "wire/keys.h"

/* Ports of departed nodes that are restored, besides as many as the fabric has. */
#define DEPARTED_RESTORED_MOST 32768

void node_memory_done(struct node_memory *memory)
{
	for (size_t i = 0; i < memory->port_count; i++)
		free(memory->ports[i].details);
	free(memory->nodes);
	free(memory->ports);
	free(memory->node_of);
	free(memory->paths);
	map_done(&memory->by_guid);
	*memory = (struct node_memory){ 0 };
}

static int grow_ports(struct node_memory *memory, size_t more)
{
	size_t capacity = memory->port_capacity ? memory->port_capacity : 1024;
	struct port_entry *ports;

	while (capacity < memory->port_count + more)
		capacity *= 2;
	if (capacity == memory->port_capacity)
		return 0;
	ports = reallocarray(memory->ports, capacity, sizeof(*ports));
	if (!ports)
		return ERR_NOMEM;
	memory->ports = ports;
	memory->port_capacity = capacity;
	return 0;
}

/*
 * The index of a node with @port_count ports; it is added if new, and moved if it has more ports.
 */
static int64_t find_or_add(struct node_memory *memory, uint64_t guid, unsigned port_count)
{
	uint32_t index, ports = port_count + 1;
	struct node_entry *node;

	if (!map_get(&memory->by_guid, guid, &index)) {
		struct node_entry *nodes = array_grow(memory->nodes, memory->node_count, &memory->node_capacity,
						      sizeof(*nodes));

		if (!nodes)
			return ERR_NOMEM;
		memory->nodes = nodes;
		index = (uint32_t)memory->node_count;
		if (map_put(&memory->by_guid, guid, index) < 0)
			return ERR_NOMEM;
		memory->nodes[memory->node_count++] = (struct node_entry){ .guid = guid };
	}
	node = &memory->nodes[index];
	if (ports <= node->ports)
		return index;
	if (grow_ports(memory, ports) < 0)
		return ERR_NOMEM;
	memset(memory->ports + memory->port_count, 0, ports * sizeof(*memory->ports));
	memcpy(memory->ports + memory->port_count, memory->ports + node->first_port,
	       node->ports * sizeof(*memory->ports));
	memset(memory->ports + node->first_port, 0, node->ports * sizeof(*memory->ports));
	node->first_port = (uint32_t)memory->port_count;
	node->ports = ports;
	memory->port_count += ports;
	return index;
}

int node_memory_set_fabric(struct node_memory *memory, const struct fabric *fabric, struct error *err)
{
	uint32_t *node_of = calloc(fabric->node_count ? fabric->node_count : 1, sizeof(*node_of));
	struct path *paths = NULL;

	if (!node_of)
		return err_nomem(err);
	if (paths_find(fabric, NULL, &paths, err) < 0) {
		free(node_of);
		return ERR_NOMEM;
	}
	for (size_t i = 0; i < fabric->node_count; i++) {
		int64_t index = find_or_add(memory, fabric->nodes[i].guid, fabric->nodes[i].port_count);

		if (index < 0) {
			free(node_of);
			free(paths);
			return err_nomem(err);
		}
		node_of[i] = (uint32_t)index;
	}
	free(memory->node_of);
	free(memory->paths);
	memory->fabric = fabric;
	memory->generation++;
	memory->node_of = node_of;
	memory->paths = paths;
	return 0;
}

bool node_memory_put_switch_info(const struct node_memory *memory, struct fabric *fabric)
{
	bool changed = false;

	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node_entry *entry = &memory->nodes[memory->node_of[i]];
		struct node *node = &fabric->nodes[i];
		uint16_t lft_top = entry->lft_top ? entry->lft_top : node->lft_top;

		changed |= node->adaptive != entry->adaptive || node->lft_top != lft_top;
		node->adaptive = entry->adaptive;
		node->lft_top = lft_top;
	}
	return changed;
}

void node_memory_put_firmware(const struct node_memory *memory, struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->node_count; i++)
		fabric->nodes[i].firmware = memory->nodes[memory->node_of[i]].firmware;
}

/* The number of the port that represents an agent, also if the fabric has no port 0 of the switch. */
static uint8_t agent_num(const struct node *node, uint8_t num)
{
	return node->type == NODE_SWITCH ? 0 : num;
}

static uint32_t agent_index(const struct node_memory *memory, uint32_t port)
{
	const struct port *which = &memory->fabric->ports[port];

	return memory->nodes[memory->node_of[which->node]].first_port +
	       agent_num(&memory->fabric->nodes[which->node], which->num);
}

uint32_t node_memory_agent_id(const struct node_memory *memory, uint32_t port)
{
	return 2 * agent_index(memory, port) + 1;
}

uint32_t node_memory_vendor_id(const struct node_memory *memory, uint32_t port)
{
	return 2 * agent_index(memory, port) + 2;
}

/* The key of a port's agent: that of its port GUID (of a switch, port 0's), or else of the node GUID. */
static uint64_t key_of_agent(const struct node_memory *memory, uint32_t port,
			     uint64_t (*find)(const struct keys *keys, uint64_t guid))
{
	const struct port *which = &memory->fabric->ports[port];
	const struct node *node = &memory->fabric->nodes[which->node];
	const struct port *agent = node->type == NODE_SWITCH ? &memory->fabric->ports[node->first_port] : which;
	uint64_t key = agent->guid ? find(memory->keys, agent->guid) : 0;

	return key ? key : find(memory->keys, node->guid);
}

bool node_memory_route_smp(const struct node_memory *memory, uint32_t node, uint8_t num, struct request *request)
{
	const struct fabric *fabric = memory->fabric;
	uint32_t port = fabric_node_port(fabric, node, agent_num(&fabric->nodes[node], num));

	if (port == FABRIC_NONE || memory->no_smps)
		return false;
	request->node = node_memory_agent_id(memory, port);
	request->mkey = key_of_agent(memory, port, keys_find);
	if (memory->directed) {
		request->mgmt_class = CLASS_SUBN_DIRECTED;
		request->to.lid = LID_PERMISSIVE;
		request->path = &memory->paths[node];
		return memory->paths[node].hops != PATH_NONE;
	}
	request->mgmt_class = CLASS_SUBN_LID;
	request->to.lid = fabric_port_lid(fabric, &fabric->ports[port]);
	return request->to.lid != 0;
}

bool node_memory_route_smp_to_lid(const struct node_memory *memory, uint16_t lid, struct request *request)
{
	const struct fabric *fabric = memory->fabric;
	uint32_t agent = request->node;
	bool found = false;

	for (uint32_t i = 0; i < fabric->port_count && !found; i++)
		if (fabric_port_lid(fabric, &fabric->ports[i]) == lid)
			found = node_memory_route_smp(memory, fabric->ports[i].node, fabric->ports[i].num, request);
	request->node = agent;
	if (found)
		return true;
	request->mgmt_class = CLASS_SUBN_LID;
	request->to.lid = lid;
	return !memory->directed && !memory->no_smps;
}

void node_memory_note_smp(struct node_memory *memory, uint32_t node, bool responded)
{
	struct node_entry *entry = node_memory_node(memory, node);

	if (responded)
		entry->smp_result = SMP_RESPONDED;
	else if (entry->smp_result == SMP_NOT_SENT)
		entry->smp_result = SMP_NO_RESPONSE;
}

struct node_entry *node_memory_node(struct node_memory *memory, uint32_t node)
{
	return &memory->nodes[memory->node_of[node]];
}

uint32_t node_memory_port_index(const struct node_memory *memory, uint32_t port)
{
	const struct port *which = &memory->fabric->ports[port];

	return memory->nodes[memory->node_of[which->node]].first_port + which->num;
}

struct port_entry *node_memory_port(struct node_memory *memory, uint32_t port)
{
	return &memory->ports[node_memory_port_index(memory, port)];
}

struct port_entry *node_memory_agent(struct node_memory *memory, uint32_t port)
{
	return &memory->ports[agent_index(memory, port)];
}

struct mad_address *node_memory_redirect(struct node_memory *memory, uint32_t port)
{
	return &node_memory_agent(memory, port)->redirect;
}

void node_memory_set_caps(struct node_entry *node, struct pma_caps caps)
{
	caps.wait_contradicted = node->caps.wait_contradicted;
	node->caps = caps;
	node->caps_stored = false;
}

counter_set counters_saturated(const struct reading *reading)
{
	counter_set full = 0;

	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		if (reading->present & COUNTER_BIT(counter) &&
		    reading->value[counter] == reading_max(reading, (enum counter)counter))
			full |= COUNTER_BIT(counter);
	return full;
}

struct request node_memory_pma_request(const struct node_memory *memory, uint32_t port, uint16_t attribute,
				       request_done *done, void *ctx)
{
	const struct port *which = &memory->fabric->ports[port];
	const struct mad_address *redirect = &memory->ports[agent_index(memory, port)].redirect;
	struct request request = {
		.node = node_memory_agent_id(memory, port), .mgmt_class = CLASS_PERFORMANCE, .port_select = which->num,
		.attribute = attribute, .tag = port, .done = done, .ctx = ctx,
	};

	if (redirect->lid) {
		/* Another port, whose key is not known. */
		request.to = *redirect;
		return request;
	}
	request.to.lid = fabric_port_lid(memory->fabric, which);
	request.mkey = key_of_agent(memory, port, keys_find_pm);
	return request;
}

bool node_memory_is_switch(const struct node_memory *memory, uint32_t node)
{
	return memory->fabric->nodes[node].type == NODE_SWITCH;
}

/* A port keeps only the attributes that it supports: there are many ports. */
static struct detail_reading *find_detail(const struct port_entry *port, enum detail_attribute attribute)
{
	for (unsigned i = 0; i < port->detail_count; i++)
		if (port->details[i].attribute == attribute)
			return &port->details[i];
	return NULL;
}

const struct detail_reading *node_memory_detail(const struct port_entry *port, enum detail_attribute attribute)
{
	return find_detail(port, attribute);
}

int node_memory_set_detail(struct port_entry *port, const struct detail_reading *reading)
{
	struct detail_reading *last = find_detail(port, (enum detail_attribute)reading->attribute), *details;

	if (detail_is_state((enum detail_attribute)reading->attribute))
		return 0;
	if (!last) {
		details = realloc(port->details, (port->detail_count + 1u) * sizeof(*details));
		if (!details)
			return ERR_NOMEM;
		port->details = details;
		last = &details[port->detail_count++];
	}
	*last = *reading;
	return 0;
}

/* Convert the time of a reading of another boot to this boot. */
static int64_t moved(int64_t at_us, int64_t wall_us, bool same_boot, int64_t now_us, int64_t wall_now_us)
{
	if (same_boot)
		return at_us;
	at_us = now_us - (wall_now_us - wall_us);
	/* The wall clock may be wrong, but readings of another boot are older than this boot. */
	return at_us > 0 ? 0 : at_us;
}

/* The highest port number of the node whose ports begin at @first. */
static uint8_t highest_port(const struct restored *restored, size_t first)
{
	uint64_t guid = restored->ports[first].node_guid;
	uint8_t highest = 0;

	for (size_t i = first; i < restored->port_count && restored->ports[i].node_guid == guid; i++)
		if (restored->ports[i].port > highest)
			highest = restored->ports[i].port;
	return highest;
}

/* Has a node an entry, or may it get one? @most: ports */
static bool is_restored(const struct node_memory *memory, uint64_t guid, size_t most)
{
	uint32_t index;

	return memory->port_count < most || map_get(&memory->by_guid, guid, &index);
}

int node_memory_restore(struct node_memory *memory, const struct restored *restored, const char *boot_id,
			int64_t now_us, int64_t wall_now_us, struct error *err)
{
	bool same_boot = boot_id[0] && !strcmp(boot_id, restored->boot_id);
	size_t most;

	/* All ports of a node at once: adding them one by one would move and fragment the array. */
	if (restored->fabric && node_memory_set_fabric(memory, restored->fabric, err) < 0)
		return ERR_NOMEM;
	most = 2 * memory->port_count + DEPARTED_RESTORED_MOST;
	for (size_t i = 0; i < restored->port_count; i++) {
		const struct restored_port *from = &restored->ports[i];
		struct port_entry *to;
		int64_t index;

		if (!is_restored(memory, from->node_guid, most))
			continue;
		index = find_or_add(memory, from->node_guid, highest_port(restored, i));
		if (index < 0)
			return err_nomem(err);
		to = &memory->ports[memory->nodes[index].first_port + from->port];
		to->has_last = true;
		to->last = from->reading;
		to->last.at_us = moved(from->reading.at_us, from->wall_us, same_boot, now_us, wall_now_us);
		to->resets = from->resets;
		if (from->resets)
			to->reset_us = moved(from->reading.at_us + from->reset_wall_us - from->wall_us,
					     from->reset_wall_us, same_boot, now_us, wall_now_us);
		to->doubtful_us = to->reset_us;
		/* Counters that were saturated before have been reported. */
		to->saturated = counters_saturated(&to->last);
	}
	for (size_t i = 0; i < restored->detail_count; i++) {
		const struct restored_detail *from = &restored->details[i];
		struct detail_reading reading = from->reading;
		int64_t index;

		if (!is_restored(memory, from->node_guid, most))
			continue;
		index = find_or_add(memory, from->node_guid, from->port);
		reading.at_us = moved(reading.at_us, from->wall_us, same_boot, now_us, wall_now_us);
		if (index < 0 ||
		    node_memory_set_detail(&memory->ports[memory->nodes[index].first_port + from->port], &reading) < 0)
			return err_nomem(err);
	}
	for (size_t i = 0; i < restored->caps_count; i++) {
		int64_t index;

		if (!is_restored(memory, restored->caps[i].node_guid, most))
			continue;
		index = find_or_add(memory, restored->caps[i].node_guid, 0);
		if (index < 0)
			return err_nomem(err);
		memory->nodes[index].caps = restored->caps[i].caps;
		memory->nodes[index].caps_stored = true;
	}
	for (size_t i = 0; i < restored->firmware_count; i++) {
		int64_t index;

		if (!is_restored(memory, restored->firmware[i].node_guid, most))
			continue;
		index = find_or_add(memory, restored->firmware[i].node_guid, 0);
		if (index < 0)
			return err_nomem(err);
		memory->nodes[index].firmware = restored->firmware[i].firmware;
	}
	return 0;
}
