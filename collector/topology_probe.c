/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/topology_probe.h"

#include <stddef.h>

#include "base/err.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

/* A port differs; number 0: some port of the switch. */
static void note_change(struct topology_probe *probe, uint32_t node, uint8_t num)
{
	probe->differs |= num != 0;
	if (probe->change_count == EXPLORE_PORTS_MAX)
		probe->whole = true;
	else
		probe->changes[probe->change_count++] = (struct explore_port){ probe->fabric->nodes[node].guid, num };
}

/* It did not respond to its last SMP: the next one is sent with retries. */
static bool has_timed_out(const struct topology_probe *probe, uint32_t node)
{
	return node_memory_node(probe->memory, node)->smp_timeout_sweeps > 0;
}

static bool note_response(struct topology_probe *probe, uint32_t node, enum request_result result)
{
	/* The path may lead through a removed node: a discovery finds another one. */
	if (result == REQUEST_TIMED_OUT && probe->memory->directed && has_timed_out(probe, node) &&
	    !node_memory_node(probe->memory, node)->locked)
		probe->whole = true;
	if (result != REQUEST_CANCELLED)
		node_memory_note_smp(probe->memory, node, result == REQUEST_ANSWERED);
	return result == REQUEST_ANSWERED;
}

static void on_node_info(void *ctx, const struct request *request, const struct response *response)
{
	note_response(ctx, request->tag, response->result);
}

static void on_switch_info(void *ctx, const struct request *request, const struct response *response)
{
	struct topology_probe *probe = ctx;

	if (!note_response(probe, request->tag, response->result) || !smp_is_ok(response->mad))
		return;
	node_memory_node(probe->memory, request->tag)->lft_top = smp_read_lft_top(response->mad);
	if (smp_read_port_state_change(response->mad))
		note_change(probe, request->tag, 0);
}

/* A switch without the attribute rejects it, or does not respond. */
static void on_adaptive_routing(void *ctx, const struct request *request, const struct response *response)
{
	struct topology_probe *probe = ctx;

	if (response->result == REQUEST_ANSWERED && smp_is_ok(response->mad))
		node_memory_node(probe->memory, request->tag)->adaptive =
			smp_read_adaptive_routing(response->mad) ? ADAPTIVE_ON : ADAPTIVE_OFF;
}

static struct smp_link read_link(const struct fabric *fabric, const struct port *port, const uint8_t mad[MAD_SIZE])
{
	const struct port *port0 = &fabric->ports[fabric->nodes[port->node].first_port];

	return smp_read_link(mad, port0->num == 0 ? port0->cap_mask : 0);
}

static bool is_same(const struct port *port, const struct smp_link *link)
{
	if (link->state != port->state)
		return false;
	if (link->state < PORT_INIT)
		return true;
	return link->width == port->width &&
	       (link->speed == port->speed || (link->speed == LINK_SPEED_QDR && port->speed == LINK_SPEED_FDR10));
}

static bool matches(const struct fabric *fabric, uint32_t port, const uint8_t mad[MAD_SIZE])
{
	struct smp_link link = read_link(fabric, &fabric->ports[port], mad);

	return is_same(&fabric->ports[port], &link);
}

/* A subnet manager cannot set a link to Active whose other end does not respond: it is not coming up. */
static bool leads_to_unresponsive(const struct topology_probe *probe, const struct port *port)
{
	uint32_t node = port->peer == FABRIC_NONE ? FABRIC_NONE : probe->fabric->ports[port->peer].node;

	return node != FABRIC_NONE && (probe->fabric->nodes[node].kept ||
				       node_memory_node(probe->memory, node)->unresponsive_sweeps);
}

static void on_port_info(void *ctx, const struct request *request, const struct response *response)
{
	struct topology_probe *probe = ctx;
	const struct port *port = &probe->fabric->ports[request->tag];
	struct smp_link link;

	if (!note_response(probe, port->node, response->result) || !smp_is_ok(response->mad))
		return;
	link = read_link(probe->fabric, port, response->mad);
	probe->links_seen += link.state >= PORT_INIT;
	probe->links_not_active += (link.state == PORT_INIT || link.state == PORT_ARMED) &&
				   !leads_to_unresponsive(probe, port);
	if (!is_same(port, &link))
		note_change(probe, port->node, port->num);
}

/* Is this node queried? A locked one only now and then. */
static bool is_queried(const struct topology_probe *probe, uint32_t node_index)
{
	const struct node_entry *node = node_memory_node(probe->memory, node_index);

	return !node->unresponsive_sweeps && (!node->locked ||
					probe->sweep - node->smp_sent_at >= TOPOLOGY_PROBE_LOCKED_SWEEPS);
}

/* The port for a node's SMPs: port 0 of a switch, else the first that is up. FABRIC_NONE: none. */
static uint32_t smp_port(const struct topology_probe *probe, uint32_t node_index)
{
	const struct node *node = &probe->fabric->nodes[node_index];

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric_port_lid(probe->fabric, &probe->fabric->ports[i]) &&
		    (node_memory_is_switch(probe->memory, node_index) || probe->fabric->ports[i].state >= PORT_INIT))
			return i;
	return FABRIC_NONE;
}

static int submit(struct topology_probe *probe, struct engine *engine, uint32_t node, uint16_t attribute,
		  uint32_t modifier, uint32_t tag, request_done *done, struct error *err)
{
	struct node_entry *entry = node_memory_node(probe->memory, node);
	uint32_t port = smp_port(probe, node);
	struct request request = {
		.attribute = attribute,
		.modifier = modifier,
		.tag = tag,
		.once = entry->locked || !has_timed_out(probe, node),
		.done = done,
		.ctx = probe,
	};

	if (port == FABRIC_NONE || !node_memory_route_smp(probe->memory, node,
							  probe->fabric->ports[port].num, &request))
		return 0;
	probe->smps++;
	entry->smp_sent_at = probe->sweep;
	return engine_submit(engine, &request, err);
}

/* PortInfo of a switch port, whose node responded to its last SMP. */
static int submit_port(struct topology_probe *probe, struct engine *engine, uint32_t port_index, struct error *err)
{
	const struct port *port = &probe->fabric->ports[port_index];

	if (!port->num || !node_memory_is_switch(probe->memory, port->node) || !is_queried(probe, port->node) ||
	    has_timed_out(probe, port->node))
		return 0;
	return submit(probe, engine, port->node, SMP_PORT_INFO, port->num, port_index, on_port_info, err);
}

/* List the switch ports that were up in the last sweep and are down in the new topology. */
static void list_lost(struct topology_probe *probe)
{
	const struct fabric *fabric = probe->fabric;

	for (uint32_t i = 0; i < fabric->port_count && probe->lost_count < TOPOLOGY_PROBE_LOST_MAX; i++) {
		const struct port *port = &fabric->ports[i];
		const struct port_entry *entry = node_memory_port(probe->memory, i);

		if (port->num && port->state < PORT_INIT && entry->has_last && entry->status != SAMPLE_DOWN)
			probe->lost[probe->lost_count++] = (struct lost_link){
				.node_guid = fabric->nodes[port->node].guid, .sweep = probe->sweep, .num = port->num,
			};
	}
}

/*
 * The outage may have been short: a discovery that ran in it left the link down in the topology
 * until the port is queried again.
 */
static int submit_lost(struct topology_probe *probe, struct engine *engine, struct error *err)
{
	size_t kept = 0;
	int code = 0;

	if (probe->generation != probe->memory->generation)
		list_lost(probe);
	probe->generation = probe->memory->generation;
	for (size_t i = 0; i < probe->lost_count && code == 0; i++) {
		const struct lost_link *lost = &probe->lost[i];
		uint32_t port = fabric_find_port(probe->fabric, lost->node_guid, lost->num);

		if (port == FABRIC_NONE || probe->fabric->ports[port].state >= PORT_INIT ||
		    probe->sweep - lost->sweep >= TOPOLOGY_PROBE_LOST_SWEEPS)
			continue;
		code = submit_port(probe, engine, port, err);
		probe->lost[kept++] = *lost;
	}
	probe->lost_count = kept;
	return code;
}

/* The link of an HCA that is shutting down goes down a little after its last response. */
static int submit_unresponsive(struct topology_probe *probe, struct engine *engine, uint32_t node_index,
			       unsigned *budget, struct error *err)
{
	const struct node *node = &probe->fabric->nodes[node_index];
	uint32_t sweeps = node_memory_node(probe->memory, node_index)->unresponsive_sweeps;
	int code = 0;

	if (!sweeps || sweeps > TOPOLOGY_PROBE_SWEEPS || node->type == NODE_SWITCH)
		return 0;
	for (uint32_t i = node->first_port; i < node->first_port + node->ports && *budget && code == 0; i++) {
		if (probe->fabric->ports[i].peer == FABRIC_NONE)
			continue;
		--*budget;
		code = submit_port(probe, engine, probe->fabric->ports[i].peer, err);
	}
	return code;
}

int topology_probe_submit(struct topology_probe *probe, struct engine *engine, struct node_memory *memory,
			  struct error *err)
{
	const struct fabric *fabric = memory->fabric;
	uint32_t count = (uint32_t)fabric->port_count, tenth = count / TOPOLOGY_PROBE_SWEEPS + 1, i, step, end;
	unsigned budget = TOPOLOGY_PROBE_LOST_MAX;
	int code;

	probe->fabric = fabric;
	probe->memory = memory;
	probe->sweep++;
	probe->differs = probe->whole = false;
	probe->change_count = 0;
	probe->smps = probe->links_seen = probe->links_not_active = 0;
	code = submit_lost(probe, engine, err);
	for (i = 0; i < fabric->node_count && code == 0; i++) {
		if (!is_queried(probe, i)) {
			code = submit_unresponsive(probe, engine, i, &budget, err);
			continue;
		}
		if (node_memory_is_switch(probe->memory, i))
			code = submit(probe, engine, i, SMP_SWITCH_INFO, 0, i, on_switch_info, err);
		/* A part of the HCAs, and those that did not respond to the last SMP. */
		else if (has_timed_out(probe, i) || (!probe->skip_hcas && i % TOPOLOGY_PROBE_HCA_SWEEPS ==
								       probe->sweep % TOPOLOGY_PROBE_HCA_SWEEPS))
			code = submit(probe, engine, i, SMP_NODE_INFO, 0, i, on_node_info, err);
	}
	for (i = 0; i < fabric->node_count && code == 0 && probe->read_adaptive; i++)
		if (is_queried(probe, i) && node_memory_is_switch(probe->memory, i) &&
		    fabric->nodes[i].vendor_id == VENDOR_MELLANOX)
			code = submit(probe, engine, i, SMP_MLNX_ADAPTIVE_ROUTING_INFO, 0, i, on_adaptive_routing, err);
	probe->read_adaptive = false;
	if (probe->fresh) {
		probe->fresh = false;
		return code;
	}
	/*
	 * Every tenth port, since the ports of one switch are queried one after the other. In a
	 * small fabric neighbours, so that links of a switch that are coming up are seen in one
	 * sweep.
	 */
	step = count > TOPOLOGY_PROBE_SMALL ? TOPOLOGY_PROBE_SWEEPS : 1;
	i = step > 1 ? probe->turn : probe->turn * tenth;
	end = step > 1 ? count : i + tenth;
	for (; i < end && i < count && code == 0; i += step)
		code = submit_port(probe, engine, i, err);
	probe->turn = (probe->turn + 1) % TOPOLOGY_PROBE_SWEEPS;
	return code;
}

uint64_t topology_probe_cost(const struct fabric *fabric, bool skip_hcas)
{
	uint64_t switches = 0, ports = 0, hcas;

	for (size_t i = 0; i < fabric->node_count; i++) {
		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		switches++;
		ports += fabric->nodes[i].port_count;
	}
	hcas = skip_hcas ? 0 : fabric->node_count - switches;
	return switches + ports / TOPOLOGY_PROBE_SWEEPS + hcas / TOPOLOGY_PROBE_HCA_SWEEPS;
}

/* --- verification of single links --- */

static bool is_switch_port(const struct link_verify *verify, uint32_t port)
{
	return node_memory_is_switch(verify->memory, verify->fabric->ports[port].node);
}

/* Add the switch port of a link. */
static void add_suspect(struct link_verify *verify, uint32_t port, bool downed)
{
	if (!is_switch_port(verify, port))
		port = verify->fabric->ports[port].peer;
	if (port == FABRIC_NONE || !is_switch_port(verify, port) || verify->count == LINK_VERIFY_MAX) {
		verify->changed = true;
		return;
	}
	for (size_t i = 0; i < verify->count; i++) {
		if (verify->ports[i] == port) {
			verify->downed[i] |= downed;
			return;
		}
	}
	verify->downed[verify->count] = downed;
	verify->differs[verify->count] = false;
	verify->ports[verify->count++] = port;
}

/* Any port of a switch that responds to no SMPs: the explorer finds whether it is gone. */
static void add_silent_switch(struct link_verify *verify, uint32_t port)
{
	uint32_t node = verify->fabric->ports[port].node;

	for (size_t i = 0; i < verify->count; i++)
		if (verify->fabric->ports[verify->ports[i]].node == node)
			return;
	if (node_memory_node(verify->memory, node)->smp_result != SMP_RESPONDED)
		add_suspect(verify, port, false);
}

void link_verify_select(struct link_verify *verify, struct node_memory *memory, const struct sweep_result *result)
{
	verify->fabric = memory->fabric;
	verify->memory = memory;
	verify->changed = false;
	verify->count = 0;
	for (size_t i = 0; i < result->count && !verify->changed; i++) {
		const struct port_sample *sample = &result->samples[i];
		const struct delta *delta = sample->delta;
		bool fell_silent = sample->status == SAMPLE_SILENT &&
				   node_memory_port(verify->memory, sample->port)->status == SAMPLE_OK;
		bool downed = delta && delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED) &&
			      delta->value[COUNTER_LINK_DOWNED];

		/* A switch that responds to SMPs is still there. */
		if (fell_silent && is_switch_port(verify, sample->port))
			add_silent_switch(verify, sample->port);
		else if (fell_silent || downed)
			add_suspect(verify, sample->port, downed);
	}
}

static void on_verify_port(void *ctx, const struct request *request, const struct response *response)
{
	struct link_verify *verify = ctx;

	if (response->result != REQUEST_ANSWERED || !smp_is_ok(response->mad) ||
	    !matches(verify->fabric, verify->ports[request->tag], response->mad))
		verify->differs[request->tag] = true;
}

static void on_verify_peer(void *ctx, const struct request *request, const struct response *response)
{
	struct link_verify *verify = ctx;
	const struct port *peer = &verify->fabric->ports[verify->fabric->ports[verify->ports[request->tag]].peer];
	struct smp_node info;

	/* Its link was up all the time, so the node is the same, and does not respond to anything. */
	if (response->result == REQUEST_TIMED_OUT && !verify->downed[request->tag])
		return;
	if (response->result != REQUEST_ANSWERED || !smp_is_ok(response->mad)) {
		verify->differs[request->tag] = true;
		return;
	}
	info = smp_read_node(response->mad + SMP_DATA_OFFSET);
	if (info.node.guid != verify->fabric->nodes[peer->node].guid || info.port != peer->num)
		verify->differs[request->tag] = true;
}

/* NodeInfo of the peer of a port. Return: 0, also if there is none; ERR_NOMEM. */
static int query_peer(struct link_verify *verify, struct engine *engine, uint32_t tag, struct error *err)
{
	const struct port *port = &verify->fabric->ports[verify->ports[tag]];
	struct path *path = &verify->paths[tag];
	struct request request = {
		.attribute = SMP_NODE_INFO, .tag = tag, .once = true, .done = on_verify_peer, .ctx = verify,
	};

	if (port->state < PORT_INIT)
		return 0;
	*path = verify->memory->paths[port->node];
	if (port->peer == FABRIC_NONE) {
		verify->differs[tag] = true;
		return 0;
	}
	if (path->hops >= PATH_HOPS_MAX ||
	    node_memory_node(verify->memory, verify->fabric->ports[port->peer].node)->locked ||
	    !node_memory_route_smp(verify->memory, verify->fabric->ports[port->peer].node,
				   verify->fabric->ports[port->peer].num, &request)) {
		verify->changed = true;
		return 0;
	}
	path->ports[path->hops++] = port->num;
	request.mgmt_class = CLASS_SUBN_DIRECTED;
	request.to.lid = LID_PERMISSIVE;
	request.path = path;
	return engine_submit(engine, &request, err);
}

static int verify_link(struct link_verify *verify, struct engine *engine, uint32_t tag, struct error *err)
{
	const struct port *port = &verify->fabric->ports[verify->ports[tag]];
	struct request request = {
		.attribute = SMP_PORT_INFO, .modifier = port->num, .tag = tag, .once = true,
		.done = on_verify_port, .ctx = verify,
	};
	int code;

	if (node_memory_node(verify->memory, port->node)->locked ||
	    !node_memory_route_smp(verify->memory, port->node, port->num, &request)) {
		verify->changed = true;
		return 0;
	}
	code = engine_submit(engine, &request, err);
	return code < 0 ? code : query_peer(verify, engine, tag, err);
}

int link_verify_run(struct link_verify *verify, struct engine *engine, int64_t deadline_us, struct error *err)
{
	int code = 0;

	if (verify->changed)
		return 0;
	for (uint32_t i = 0; i < verify->count && code == 0; i++)
		code = verify_link(verify, engine, i, err);
	code = engine_finish(engine, code, deadline_us, err);
	return code < 0 ? code : 0;
}
