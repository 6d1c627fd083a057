/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sm_monitor.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

/* SMInfo.SMState. */
enum { SM_MASTER = 3 };

void sm_monitor_done(struct sm_monitor *monitor)
{
	free(monitor->sm_ports);
	*monitor = (struct sm_monitor){ 0 };
}

/* Can a port have an SM: a port of an HCA, or port 0 of a switch? */
static bool can_be_queried(const struct fabric *fabric, const struct port *port)
{
	if (!fabric_port_lid(fabric, port))
		return false;
	return fabric->nodes[port->node].type == NODE_SWITCH ? port->num == 0 : port->state >= PORT_INIT;
}

/* Is one of the port's LIDs the MasterSMLID of another port? @named: by LID */
static bool is_named(const struct fabric *fabric, const struct port *port, const bool *named)
{
	uint32_t lid = fabric_port_lid(fabric, port), end = lid + (1u << (port->lmc & 7));

	for (; lid < end && lid <= UINT16_MAX; lid++)
		if (named[lid])
			return true;
	return false;
}

/* @before: SMs of the former fabric, whose state is kept until they respond */
static int add_port(struct sm_monitor *monitor, const struct fabric *fabric, uint32_t port,
		    const struct sm_monitor *before, struct error *err)
{
	struct sm_port *sm_ports = array_grow(monitor->sm_ports, monitor->count, &monitor->capacity, sizeof(*sm_ports)),
		*added;

	if (!sm_ports)
		return err_nomem(err);
	monitor->sm_ports = sm_ports;
	added = &sm_ports[monitor->count++];
	*added = (struct sm_port){ .node_guid = fabric->nodes[fabric->ports[port].node].guid,
				    .num = fabric->ports[port].num };
	for (size_t i = 0; i < before->count; i++)
		if (before->sm_ports[i].node_guid == added->node_guid && before->sm_ports[i].num == added->num)
			*added = before->sm_ports[i];
	added->port = port;
	return 0;
}

/* Find the ports with an SM in a new fabric. They are queried at once. */
static int list_ports(struct sm_monitor *monitor, const struct fabric *fabric, struct error *err)
{
	bool *named = calloc(UINT16_MAX + 1, sizeof(*named));
	struct sm_monitor before = *monitor;
	int code = named ? 0 : err_nomem(err);

	monitor->sm_ports = NULL;
	monitor->count = monitor->capacity = monitor->next = 0;
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++)
		if (fabric->ports[i].sm_lid && fabric->ports[i].state >= PORT_INIT)
			named[fabric->ports[i].sm_lid] = true;
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (can_be_queried(fabric, port) && (port_is_sm(port) || is_named(fabric, port, named)))
			code = add_port(monitor, fabric, i, &before, err);
	}
	free(before.sm_ports);
	free(named);
	return code;
}

static bool is_master(const struct sm_state *sm)
{
	return sm->known && sm->state == SM_MASTER;
}

void sm_state_read(struct sm_state *sm, const uint8_t mad[MAD_SIZE])
{
	struct sm_info info = smp_read_sm_info(mad);

	*sm = (struct sm_state){ .known = true, .lid = sm->lid, .guid = info.guid, .state = info.state,
				 .priority = info.priority, .act_count = info.act_count };
}

static void on_sm_info(void *ctx, const struct request *request, const struct response *response)
{
	struct sm_monitor *monitor = ctx;
	struct sm_state *sm = &monitor->sm_ports[request->tag].now;

	/* Cut before a timeout: the former state remains. */
	if (response->result == REQUEST_CANCELLED)
		return;
	sm->known = response->result == REQUEST_ANSWERED && smp_is_ok(response->mad);
	sm->lid = request->to.lid;
	if (sm->known)
		sm_state_read(sm, response->mad);
}

static int query(struct sm_monitor *monitor, struct engine *engine, struct node_memory *memory, size_t at,
		 struct error *err)
{
	struct sm_port *sm_port = &monitor->sm_ports[at];
	const struct port *port = &memory->fabric->ports[sm_port->port];
	const struct node_entry *node = node_memory_node(memory, port->node);
	/* A node without an SM need not respond. */
	struct request request = { .attribute = SMP_SM_INFO, .tag = (uint32_t)at, .once = !sm_port->now.known,
				   .done = on_sm_info, .ctx = monitor };

	if (node->unresponsive_sweeps || node->locked ||
	    !node_memory_route_smp(memory, port->node, port->num, &request)) {
		sm_port->now.known = false;
		return 0;
	}
	return engine_submit(engine, &request, err);
}

/* Query those whose turn it is, and all masters. */
static int query_round(struct sm_monitor *monitor, struct engine *engine, struct node_memory *memory,
		       struct error *err)
{
	size_t count = monitor->count;
	int code = 0;

	for (size_t i = 0; i < count && code == 0; i++) {
		size_t at = (monitor->next + i) % count;

		if (i < SM_MONITOR_PORTS || is_master(&monitor->sm_ports[at].now))
			code = query(monitor, engine, memory, at, err);
	}
	monitor->next = count ? (monitor->next + SM_MONITOR_PORTS) % count : 0;
	return code;
}

/* Number of different masters: one may respond at several ports, or be the one of the sweep. */
static unsigned count_masters(const struct sm_monitor *monitor, const struct sm_state *master)
{
	unsigned masters = is_master(master);

	for (size_t i = 0; i < monitor->count; i++) {
		const struct sm_state *sm = &monitor->sm_ports[i].now;
		bool counted = !is_master(sm) || (is_master(master) && master->guid == sm->guid);

		for (size_t j = 0; j < i && !counted; j++)
			counted = is_master(&monitor->sm_ports[j].now) && monitor->sm_ports[j].now.guid == sm->guid;
		masters += !counted;
	}
	return masters;
}

static void report_one(const struct sm_port *sm_port, const struct fabric *fabric, int64_t wall_us,
		       struct events *events)
{
	static const char *const states[] = { "not active", "discovering", "standby", "master" };
	const struct sm_state *now = &sm_port->now;
	uint32_t node = fabric->ports[sm_port->port].node;
	const char *name = fabric->names.shown[node];

	if (now->known)
		events_add(events, wall_us, EVENT_SM_OTHER, EVENT_INFO, fabric, node, sm_port->num,
			   "another subnet manager at %.150s/%u: %s, priority %u", name, sm_port->num,
			   now->state <= SM_MASTER ? states[now->state] : "state unknown", now->priority);
	else
		events_add(events, wall_us, EVENT_SM_OTHER, EVENT_INFO, fabric, node, sm_port->num,
			   "the subnet manager at %.150s/%u no longer responds", name, sm_port->num);
}

/* Report SMs other than the master whose state changed. Those of the first round are not news. */
static void add_events(struct sm_monitor *monitor, const struct fabric *fabric, const struct sm_state *master,
		       int64_t wall_us, struct events *events)
{
	for (size_t i = 0; i < monitor->count; i++) {
		struct sm_port *sm_port = &monitor->sm_ports[i];
		bool same = sm_port->now.known == sm_port->reported.known &&
			    (!sm_port->now.known || (sm_port->now.state == sm_port->reported.state &&
						     sm_port->now.priority == sm_port->reported.priority));
		bool is_known_master = master->known && master->guid == sm_port->now.guid;

		if (!same && monitor->queried && !is_known_master)
			report_one(sm_port, fabric, wall_us, events);
		sm_port->reported = sm_port->now;
	}
	monitor->queried = true;
}

int sm_monitor_run(struct sm_monitor *monitor, struct engine *engine, struct node_memory *memory,
		   const struct sm_state *master, int64_t now_us, int64_t deadline_us, int64_t wall_us,
		   struct events *events, struct error *err)
{
	bool due = !monitor->queried_us || now_us - monitor->queried_us >= SM_MONITOR_US || monitor->masters > 1;
	int code;

	if (!monitor->listed || monitor->generation != memory->generation) {
		monitor->listed = false;
		code = list_ports(monitor, memory->fabric, err);
		if (code < 0)
			return code;
		monitor->generation = memory->generation;
		monitor->listed = due = true;
	}
	due = due || (master->known && master->guid != monitor->master_guid);
	if (master->known)
		monitor->master_guid = master->guid;
	if (!due)
		return 0;
	monitor->queried_us = now_us;
	code = engine_finish(engine, query_round(monitor, engine, memory, err), deadline_us, err);
	if (code < 0)
		return code;
	monitor->masters = count_masters(monitor, master);
	add_events(monitor, memory->fabric, master, wall_us, events);
	return 0;
}
