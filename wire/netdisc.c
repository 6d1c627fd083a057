/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/netdisc.h"

#include <stdbool.h>
#include <string.h>

#include <infiniband/ibnetdisc.h>

#include "base/err.h"
#include "fabric/fabric.h"

/* Bits of PortInfo.CapabilityMask and CapabilityMask2. Source: IBA Vol 1, PortInfo; rdma-core libibmad. */
enum { CAP_EXTENDED_SPEEDS = 1 << 14, CAP_CAP_MASK2 = 1 << 15, CAP2_EXTENDED_SPEEDS2 = 1 << 11 };

/* Bit of MLNX ExtendedPortInfo.LinkSpeed*. Source: rdma-core libibmad fields.c. */
enum { MLNX_SPEED_FDR10 = 1 };

/* Bytes of PortInfo that libibmad 44.0 has no field for. Source: rdma-core libibmad fields.c (newer than 44.0). */
enum { PORT_INFO_SPEED_EXT2 = 56 };

/* libibmad's decoder is not const-correct. */
static uint32_t get_u32(const uint8_t *attribute, enum MAD_FIELDS field)
{
	return mad_get_field((void *)attribute, 0, field);
}

static uint64_t get_u64(const uint8_t *attribute, enum MAD_FIELDS field)
{
	return mad_get_field64((void *)attribute, 0, field);
}

/* The port with the capability mask of a port: port 0 of a switch, else itself. */
static const ibnd_port_t *caps_port(const ibnd_port_t *port)
{
	if (port->node->type == IB_NODE_SWITCH && port->node->ports && port->node->ports[0])
		return port->node->ports[0];
	return port;
}

/* The three generations of speed fields, as one active speed and two masks. */
static void read_speeds(const ibnd_port_t *from, struct port *to)
{
	const uint8_t *info = from->info;
	uint32_t cap_mask = get_u32(caps_port(from)->info, IB_PORT_CAPMASK_F);
	uint32_t cap_mask2 = cap_mask & CAP_CAP_MASK2 ? get_u32(caps_port(from)->info, IB_PORT_CAPMASK2_F) : 0;
	uint32_t active = 0, enabled, supported, mlnx_active, mlnx_enabled, mlnx_supported;

	to->speed_enabled = (uint16_t)(get_u32(info, IB_PORT_LINK_SPEED_ENABLED_F) << LINK_SPEED_SDR & 0xe);
	to->speed_supported = (uint16_t)(get_u32(info, IB_PORT_LINK_SPEED_SUPPORTED_F) << LINK_SPEED_SDR & 0xe);
	to->speed = (uint8_t)link_speed_best((uint16_t)(get_u32(info, IB_PORT_LINK_SPEED_ACTIVE_F) << LINK_SPEED_SDR));
	mlnx_active = get_u32(from->ext_info, IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F);
	mlnx_enabled = get_u32(from->ext_info, IB_MLNX_EXT_PORT_LINK_SPEED_ENABLED_F);
	mlnx_supported = get_u32(from->ext_info, IB_MLNX_EXT_PORT_LINK_SPEED_SUPPORTED_F);
	if (mlnx_enabled & MLNX_SPEED_FDR10)
		to->speed_enabled |= 1 << LINK_SPEED_FDR10;
	if (mlnx_supported & MLNX_SPEED_FDR10)
		to->speed_supported |= 1 << LINK_SPEED_FDR10;
	if (to->speed == LINK_SPEED_QDR && mlnx_active & MLNX_SPEED_FDR10)
		to->speed = LINK_SPEED_FDR10;
	if (cap_mask & CAP_EXTENDED_SPEEDS) {
		/* FDR, EDR, HDR, NDR from bit 0 up; an enabled field of 30 means disabled. */
		active = get_u32(info, IB_PORT_LINK_SPEED_EXT_ACTIVE_F);
		enabled = get_u32(info, IB_PORT_LINK_SPEED_EXT_ENABLED_F);
		supported = get_u32(info, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F);
		if (enabled != 30)
			to->speed_enabled |= (uint16_t)((enabled & 15) << LINK_SPEED_FDR);
		to->speed_supported |= (uint16_t)((supported & 15) << LINK_SPEED_FDR);
	}
	if (active & 15)
		to->speed = (uint8_t)link_speed_best((uint16_t)((active & 15) << LINK_SPEED_FDR));
	if (cap_mask2 & CAP2_EXTENDED_SPEEDS2) {
		uint8_t byte = info[PORT_INFO_SPEED_EXT2];

		/* Two bits active, two supported, three enabled; the lowest of each is XDR. */
		if (byte >> 5 & 1)
			to->speed = LINK_SPEED_XDR;
		if (byte >> 3 & 1)
			to->speed_supported |= 1 << LINK_SPEED_XDR;
		if (byte & 1)
			to->speed_enabled |= 1 << LINK_SPEED_XDR;
	}
}

static struct port read_port(const ibnd_port_t *from)
{
	bool external = from->node->type == IB_NODE_SWITCH && from->portnum > 0;
	struct port to = {
		.num = (uint8_t)from->portnum,
		.guid = external ? 0 : from->guid,
		.lid = external ? 0 : from->base_lid,
		.lmc = external ? 0 : from->lmc,
		.cap_mask = get_u32(from->info, IB_PORT_CAPMASK_F),
		.sm_lid = (uint16_t)get_u32(from->info, IB_PORT_SMLID_F),
		.state = (uint8_t)get_u32(from->info, IB_PORT_STATE_F),
		.phys_state = (uint8_t)get_u32(from->info, IB_PORT_PHYS_STATE_F),
		.width = (uint8_t)get_u32(from->info, IB_PORT_LINK_WIDTH_ACTIVE_F),
		.width_enabled = (uint8_t)get_u32(from->info, IB_PORT_LINK_WIDTH_ENABLED_F),
		.width_supported = (uint8_t)get_u32(from->info, IB_PORT_LINK_WIDTH_SUPPORTED_F),
	};

	read_speeds(from, &to);
	return to;
}

static struct node read_node(const ibnd_node_t *from)
{
	struct node to = {
		.guid = from->guid,
		.system_guid = get_u64(from->info, IB_NODE_SYSTEM_GUID_F),
		.vendor_id = get_u32(from->info, IB_NODE_VENDORID_F),
		.device_id = (uint16_t)get_u32(from->info, IB_NODE_DEVID_F),
		.revision = get_u32(from->info, IB_NODE_REVISION_F),
		.type = (uint8_t)from->type,
		.port_count = (uint8_t)from->numports,
	};

	/* 64 bytes on the wire, not always ended by a NUL: libibnetdisc copies one byte beyond them. */
	memcpy(to.desc, from->nodedesc, NODE_DESC_SIZE);
	if (from->type == IB_NODE_SWITCH) {
		to.lid = from->smalid;
		to.enhanced_port0 = from->smaenhsp0;
		to.lft_top = (uint16_t)get_u32(from->switchinfo, IB_SW_LINEAR_FDB_TOP_F);
	}
	return to;
}

static int add_node(struct fabric *fabric, const ibnd_node_t *from, struct error *err)
{
	struct node node = read_node(from);
	int64_t code;
	int i;

	/* A device whose flash was lost. */
	if (!from->guid)
		return 0;
	code = fabric_add_node(fabric, &node, err);
	for (i = 0; code >= 0 && from->ports && i <= from->numports; i++) {
		struct port port;

		if (!from->ports[i] || (i == 0 && from->type != IB_NODE_SWITCH))
			continue;
		port = read_port(from->ports[i]);
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
	int code = 0, i;

	for (node = from->nodes; node && code == 0; node = node->next)
		code = add_node(fabric, node, err);
	for (node = from->nodes; node && code == 0; node = node->next)
		for (i = 0; node->ports && i <= node->numports && code == 0; i++)
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
		.timeout_ms = settings->timeout_ms,
		.retries = settings->retries,
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
