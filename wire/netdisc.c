/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/netdisc.h"

#include <stdbool.h>
#include <string.h>

#include <infiniband/ibnetdisc.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "wire/smp.h"

/* libibnetdisc waits 750 ms for an unresponsive node with these, 4 s with its own defaults. */
#define TIMEOUT_MS 250
#define RETRIES 2

/* The port with the capability mask of a port: port 0 of a switch, else itself. */
static const ibnd_port_t *caps_port(const ibnd_port_t *port)
{
	if (port->node->type == IB_NODE_SWITCH && port->node->ports && port->node->ports[0])
		return port->node->ports[0];
	return port;
}

static struct port read_port(const ibnd_port_t *from)
{
	bool external = from->node->type == IB_NODE_SWITCH && from->portnum > 0;
	struct port to = {
		.num = (uint8_t)from->portnum,
		.guid = external ? 0 : from->guid,
		.lid = external ? 0 : from->base_lid,
		.lmc = external ? 0 : from->lmc,
	};

	smp_read_port(from->info, caps_port(from)->info, from->ext_info, &to);
	return to;
}

static struct node read_node(const ibnd_node_t *from)
{
	struct node to = smp_read_node(from->info).node;

	to.guid = from->guid;
	to.type = (uint8_t)from->type;
	to.port_count = (uint8_t)from->numports;
	/* 64 bytes on the wire, not always ended by a NUL: libibnetdisc copies one byte beyond them. */
	memcpy(to.desc, from->nodedesc, NODE_DESC_SIZE);
	if (from->type == IB_NODE_SWITCH) {
		to.lid = from->smalid;
		smp_read_switch(from->switchinfo, &to);
	}
	return to;
}

static int add_node(struct fabric *fabric, const ibnd_node_t *from, struct error *err)
{
	struct node node = read_node(from);
	int64_t code;

	/* A device whose flash was lost. */
	if (!from->guid)
		return 0;
	code = fabric_add_node(fabric, &node, err);
	for (int i = 0; code >= 0 && from->ports && i <= from->numports; i++) {
		struct port port;

		if (!from->ports[i] || (i == 0 && from->type != IB_NODE_SWITCH))
			continue;
		port = read_port(from->ports[i]);
		/* SwitchInfo was lost if LinearFDBCap is 0: a hole (merge_is_complete). */
		if (i == 0 && !mad_get_field((void *)from->switchinfo, 0, IB_SW_LINEAR_FDB_CAP_F))
			port.state = PORT_STATE_UNKNOWN;
		code = fabric_add_port(fabric, &port, err);
	}
	return code < 0 ? (int)code : 0;
}

static int link_port(struct fabric *fabric, const ibnd_port_t *port, struct error *err)
{
	const ibnd_port_t *remote = port->remoteport;
	uint32_t here, there;

	if (!remote || !remote->node)
		return 0;
	here = fabric_find_port(fabric, port->node->guid, (uint8_t)port->portnum);
	there = fabric_find_port(fabric, remote->node->guid, (uint8_t)remote->portnum);
	return here == FABRIC_NONE || there == FABRIC_NONE ? 0 : fabric_link(fabric, here, there, err);
}

static int convert(ibnd_fabric_t *from, struct fabric *fabric, struct error *err)
{
	ibnd_node_t *node;
	int code = 0;

	for (node = from->nodes; node && code == 0; node = node->next)
		code = add_node(fabric, node, err);
	for (node = from->nodes; node && code == 0; node = node->next)
		for (int i = 0; node->ports && i <= node->numports && code == 0; i++)
			if (node->ports[i])
				code = link_port(fabric, node->ports[i], err);
	if (code < 0)
		return code;
	if (from->from_node) {
		fabric->from_node = fabric_find_node(fabric, from->from_node->guid);
		fabric->from_port = (uint8_t)from->from_portnum;
	}
	return fabric_finish(fabric, NULL, err);
}

int netdisc_run(const struct netdisc_settings *settings, struct fabric **ret, uint64_t *ret_smps, uint64_t *ret_hops,
		struct error *err)
{
	struct ibnd_config config = {
		.max_smps = settings->max_smps,
		.timeout_ms = settings->timeout_ms ? settings->timeout_ms : TIMEOUT_MS,
		.retries = settings->retries < 0 ? RETRIES : settings->retries ? (unsigned)settings->retries : 1,
		.mkey = settings->mkey,
		.flags = IBND_CONFIG_MLX_EPI, /* FDR10 shows only in Mellanox' own attribute */
	};
	struct fabric *fabric = fabric_create(err);
	ibnd_fabric_t *found;
	int code;

	if (!fabric)
		return ERR_NOMEM;
	found = ibnd_discover_fabric((char *)settings->ca_name, settings->port, NULL, &config);
	if (!found) {
		fabric_destroy(fabric);
		return err_set(err, ERR_UNAVAILABLE, "libibnetdisc found no fabric behind %s port %d",
			       settings->ca_name, settings->port);
	}
	code = convert(found, fabric, err);
	if (code == 0) {
		*ret_smps = found->total_mads_used;
		*ret_hops = found->maxhops_discovered;
		*ret = fabric;
	} else {
		fabric_destroy(fabric);
	}
	ibnd_destroy_fabric(found);
	return code;
}
