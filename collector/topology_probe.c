/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/topology_probe.h"

#include <stddef.h>

#include "base/err.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

static void see_change(struct link_check *check, uint32_t port)
{
	if (check->changed_port == FABRIC_NONE)
		check->changed_port = port;
	check->changed = true;
}

/* It left an SMP open: the next one is sent with retries. */
static bool is_suspect(const struct link_check *check, uint32_t node)
{
	return memory_node(check->memory, node)->smp_silent_sweeps > 0;
}

static bool is_answer(struct link_check *check, uint32_t node, enum request_result result)
{
	/* Twice without an answer: a path that leads through what is gone needs another one, and so a discovery. */
	if (result == REQUEST_TIMED_OUT && check->memory->directed && is_suspect(check, node) &&
	    !memory_node(check->memory, node)->locked)
		see_change(check, FABRIC_NONE);
	if (result != REQUEST_CANCELLED)
		memory_note_smp(check->memory, node, result == REQUEST_ANSWERED);
	return result == REQUEST_ANSWERED;
}

static void on_node_info(void *ctx, const struct request *request, enum request_result result,
			 const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	(void)mad;
	(void)at_us;
	is_answer(ctx, request->tag, result);
}

static void on_switch_info(void *ctx, const struct request *request, enum request_result result,
			   const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct link_check *check = ctx;

	(void)at_us;
	if (!is_answer(check, request->tag, result) || !smp_is_ok(mad))
		return;
	memory_node(check->memory, request->tag)->lft_top = smp_read_lft_top(mad);
	if (smp_read_port_state_change(mad))
		see_change(check, FABRIC_NONE);
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

bool link_check_is_same(const struct fabric *fabric, uint32_t port, const uint8_t mad[MAD_SIZE])
{
	struct smp_link link = read_link(fabric, &fabric->ports[port], mad);

	return is_same(&fabric->ports[port], &link);
}

static void on_port_info(void *ctx, const struct request *request, enum request_result result,
			 const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct link_check *check = ctx;
	const struct port *port = &check->fabric->ports[request->tag];
	struct smp_link link;

	(void)at_us;
	if (!is_answer(check, port->node, result) || !smp_is_ok(mad))
		return;
	link = read_link(check->fabric, port, mad);
	check->links_seen += link.state >= PORT_INIT;
	check->links_not_active += link.state == PORT_INIT || link.state == PORT_ARMED;
	if (!is_same(port, &link))
		see_change(check, request->tag);
}

/* May this node be asked? One that is locked only now and then. */
static bool is_asked(const struct link_check *check, uint32_t node_index)
{
	const struct node_memory *node = memory_node(check->memory, node_index);

	return !node->silent_sweeps && (!node->locked || check->sweep - node->smp_asked_at >= LINK_CHECK_LOCKED_SWEEPS);
}

static bool is_switch(const struct link_check *check, uint32_t node)
{
	return check->fabric->nodes[node].type == NODE_SWITCH;
}

/* The port that a node's SMPs go to: 0 of a switch, else the first that is up. FABRIC_NONE: they cannot. */
static uint32_t asked_port(const struct link_check *check, uint32_t node_index)
{
	const struct node *node = &check->fabric->nodes[node_index];
	uint32_t i;

	for (i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric_port_lid(check->fabric, &check->fabric->ports[i]) &&
		    (is_switch(check, node_index) || check->fabric->ports[i].state >= PORT_INIT))
			return i;
	return FABRIC_NONE;
}

static int submit(struct link_check *check, struct engine *engine, uint32_t node, uint16_t attribute,
		  uint32_t modifier, uint32_t tag, request_done *done, struct error *err)
{
	struct node_memory *remembered = memory_node(check->memory, node);
	uint32_t port = asked_port(check, node);
	struct request request = {
		.attribute = attribute,
		.modifier = modifier,
		.tag = tag,
		.once = remembered->locked || !is_suspect(check, node),
		.done = done,
		.ctx = check,
	};

	if (port == FABRIC_NONE || !memory_route_smp(check->memory, check->fabric, node,
						     check->fabric->ports[port].num, &request))
		return 0;
	check->smps++;
	remembered->smp_asked_at = check->sweep;
	return engine_submit(engine, &request, err);
}

int link_check_submit(struct link_check *check, struct engine *engine, const struct fabric *fabric,
		      struct memory *memory, struct error *err)
{
	uint32_t count = (uint32_t)fabric->port_count, tenth = count / LINK_CHECK_SWEEPS + 1, i, step, end;
	int code = 0;

	check->fabric = fabric;
	check->memory = memory;
	check->sweep++;
	check->changed = false;
	check->changed_port = FABRIC_NONE;
	check->smps = check->links_seen = check->links_not_active = 0;
	for (i = 0; i < fabric->node_count && code == 0; i++) {
		if (!is_asked(check, i))
			continue;
		if (is_switch(check, i))
			code = submit(check, engine, i, SMP_SWITCH_INFO, 0, i, on_switch_info, err);
		/* Others are asked elsewhere, and seldom (lid_check): here only those that left that open. */
		else if (is_suspect(check, i))
			code = submit(check, engine, i, SMP_NODE_INFO, 0, i, on_node_info, err);
	}
	if (check->fresh) {
		check->fresh = false;
		return code;
	}
	/*
	 * Every tenth port, not those of a few switches: what one is asked goes one after the other.
	 * Of a small fabric neighbours: links of a switch that are on their way up are then seen together (throttle.h).
	 */
	step = count > LINK_CHECK_SMALL ? LINK_CHECK_SWEEPS : 1;
	i = step > 1 ? check->turn : check->turn * tenth;
	end = step > 1 ? count : i + tenth;
	for (; i < end && i < count && code == 0; i += step) {
		const struct port *port = &fabric->ports[i];

		if (port->num > 0 && is_switch(check, port->node) && is_asked(check, port->node) &&
		    !is_suspect(check, port->node))
			code = submit(check, engine, port->node, SMP_PORT_INFO, port->num, i, on_port_info, err);
	}
	check->turn = (check->turn + 1) % LINK_CHECK_SWEEPS;
	return code;
}

uint64_t link_check_cost(const struct fabric *fabric)
{
	uint64_t switches = 0, ports = 0;
	size_t i;

	for (i = 0; i < fabric->node_count; i++) {
		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		switches++;
		ports += fabric->nodes[i].port_count;
	}
	return switches + ports / LINK_CHECK_SWEEPS;
}
