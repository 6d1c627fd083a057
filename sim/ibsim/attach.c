/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/attach.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/net_shape.h"

/* A client attaches to port 0 of a switch or port 1 of a CA. Source: ibsim.c, sim_ctl_new_client. */
static bool can_attach(const struct fabric *fabric, uint32_t node)
{
	uint32_t port = fabric_node_port(fabric, node, 1);

	if (fabric->nodes[node].type == NODE_SWITCH)
		return true;
	return fabric->nodes[node].type == NODE_CA && port != FABRIC_NONE && fabric->ports[port].peer != FABRIC_NONE;
}

/* The first suitable node other than @taken; only management hosts if @management. */
static uint32_t first_node(const struct fabric *fabric, bool management, uint32_t taken)
{
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (i != taken && node->type == NODE_CA && can_attach(fabric, i) && !node_is_aggregation(node) &&
		    (!management || host_is_management(node->desc)))
			return i;
	}
	return FABRIC_NONE;
}

static int find_place(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err)
{
	if (names_find_node(fabric, typed, ret, err) < 0)
		return ERR_USAGE;
	if (can_attach(fabric, *ret))
		return 0;
	return err_set(err, ERR_USAGE, "\"%s\" has no link at port 1: no client can attach to it", typed);
}

int attach_choose(const struct fabric *fabric, const char *sm, const char *attach, uint32_t *ret_sm,
		uint32_t *ret_attach, struct error *err)
{
	uint32_t sm_node = FABRIC_NONE, attach_node = FABRIC_NONE;

	if (sm && find_place(fabric, sm, &sm_node, err) < 0)
		return ERR_USAGE;
	if (attach && find_place(fabric, attach, &attach_node, err) < 0)
		return ERR_USAGE;
	if (attach_node == FABRIC_NONE && fabric->from_node != FABRIC_NONE && fabric->from_node != sm_node &&
	    can_attach(fabric, fabric->from_node))
		attach_node = fabric->from_node;
	if (sm_node == FABRIC_NONE)
		sm_node = first_node(fabric, true, attach_node);
	if (attach_node == FABRIC_NONE)
		attach_node = first_node(fabric, true, sm_node);
	if (attach_node == FABRIC_NONE)
		attach_node = first_node(fabric, false, sm_node);
	if (sm_node == FABRIC_NONE)
		sm_node = first_node(fabric, false, attach_node);
	/* A single host is used by both. */
	if (attach_node == FABRIC_NONE)
		attach_node = sm_node;
	if (sm_node == FABRIC_NONE)
		sm_node = attach_node;
	if (sm_node == FABRIC_NONE)
		return err_set(err, ERR_UNAVAILABLE,
			       "no HCA has a link at port 1: no client can attach");
	*ret_sm = sm_node;
	*ret_attach = attach_node;
	return 0;
}

const char *attach_id(const struct fabric *fabric, uint32_t node, char ret[ATTACH_ID_SIZE])
{
	const struct node *owner = &fabric->nodes[node];

	snprintf(ret, ATTACH_ID_SIZE, "%c-%016" PRIx64, owner->type == NODE_SWITCH ? 'S' : 'H', owner->guid);
	return ret;
}

uint64_t attach_port_guid(const struct fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].guid + (fabric->nodes[node].type == NODE_SWITCH ? 0 : 1);
}
