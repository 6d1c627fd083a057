/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What libibnetdisc may bring: its two functions are defined here and stand before the library's. */

#include <infiniband/ibnetdisc.h>

#include "base/err.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "wire/netdisc.h"
#include "wire/smp.h"

static ibnd_fabric_t *found;
static struct ibnd_config carried;

ibnd_fabric_t *ibnd_discover_fabric(char *ca_name, int ca_port, ib_portid_t *from, struct ibnd_config *config)
{
	(void)ca_name;
	(void)ca_port;
	(void)from;
	carried = *config;
	return found;
}

void ibnd_destroy_fabric(ibnd_fabric_t *fabric)
{
	assert_ptr_equal(fabric, found);
}

/* An HCA whose flash was lost has the GUID 0. */
TEST(a_node_without_a_guid_is_left_out)
{
	ibnd_node_t leaf = { .guid = 1, .type = IB_NODE_SWITCH, .numports = 2 };
	ibnd_node_t blank = { .type = IB_NODE_CA, .numports = 1 };
	ibnd_node_t host = { .guid = 2, .type = IB_NODE_CA, .numports = 1 };
	ibnd_port_t leaf0 = { .node = &leaf }, leaf1 = { .node = &leaf, .portnum = 1 };
	ibnd_port_t leaf2 = { .node = &leaf, .portnum = 2 };
	ibnd_port_t blank1 = { .node = &blank, .portnum = 1, .remoteport = &leaf1 };
	ibnd_port_t host1 = { .node = &host, .portnum = 1, .remoteport = &leaf2 };
	ibnd_port_t *leaf_ports[] = { &leaf0, &leaf1, &leaf2 }, *blank_ports[] = { NULL, &blank1 };
	ibnd_port_t *host_ports[] = { NULL, &host1 };
	ibnd_fabric_t bundle = { .nodes = &leaf, .from_node = &host, .from_portnum = 1 };
	struct netdisc_settings settings = { .ca_name = "mlx5_0", .port = 1, .retries = -1,
					     .mkey = 0x123456789abcdef0 };
	struct error err = { 0 };
	struct fabric *fabric;
	uint64_t smps, hops;

	mad_set_field(leaf0.info, 0, IB_PORT_STATE_F, PORT_ACTIVE);
	leaf1.remoteport = &blank1;
	leaf2.remoteport = &host1;
	leaf.ports = leaf_ports;
	blank.ports = blank_ports;
	host.ports = host_ports;
	leaf.next = &blank;
	blank.next = &host;
	found = &bundle;
	assert_int_equal(netdisc_run(&settings, &fabric, &smps, &hops, &err), 0);
	assert_int_equal(fabric->node_count, 2);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, 1, 0)].state, 0);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, 1, 1)].peer, FABRIC_NONE);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, 1, 2)].peer, fabric_find_port(fabric, 2, 1));
	assert_int_equal(fabric->from_node, 1);
	assert_true(carried.mkey == 0x123456789abcdef0);
	fabric_destroy(fabric);
	assert_int_equal(carried.timeout_ms, 250);
	assert_int_equal(carried.retries, 2);
	/* With SwitchInfo port 0 has a state. */
	mad_set_field(leaf.switchinfo, 0, IB_SW_LINEAR_FDB_CAP_F, 49152);
	settings.timeout_ms = 700;
	settings.retries = 5;
	assert_int_equal(netdisc_run(&settings, &fabric, &smps, &hops, &err), 0);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, 1, 0)].state, PORT_ACTIVE);
	fabric_destroy(fabric);
	assert_int_equal(carried.timeout_ms, 700);
	assert_int_equal(carried.retries, 5);
}

static uint64_t fill_random(uint8_t *bytes, size_t size, uint64_t random)
{
	for (size_t i = 0; i < size; i++) {
		random = map_mix(random + 0x9e3779b97f4a7c15ULL);
		bytes[i] = (uint8_t)random;
	}
	return random;
}

/* Bits of PortInfo.CapabilityMask and CapabilityMask2. Source: IBA Vol 1, PortInfo; rdma-core libibmad. */
enum { CAP_EXTENDED_SPEEDS = 1 << 14, CAP_CAP_MASK2 = 1 << 15, CAP2_EXTENDED_SPEEDS2 = 1 << 11 };

/* Bit of MLNX ExtendedPortInfo.LinkSpeed*. Source: rdma-core libibmad fields.c. */
enum { MLNX_SPEED_FDR10 = 1 };

/* Bytes of PortInfo that libibmad 44.0 has no field for. Source: rdma-core libibmad fields.c (newer than 44.0). */
enum { PORT_INFO_SPEED_EXT2 = 56 };

static uint32_t get_u32(const uint8_t *attribute, enum MAD_FIELDS field)
{
	return mad_get_field((void *)attribute, 0, field);
}

/* The speeds by libibmad: one active speed and two masks. */
static void read_speeds(const ibnd_port_t *from, const ibnd_port_t *port0, struct port *to)
{
	const uint8_t *info = from->info;
	uint32_t cap_mask = get_u32(port0->info, IB_PORT_CAPMASK_F);
	uint32_t cap_mask2 = cap_mask & CAP_CAP_MASK2 ? get_u32(port0->info, IB_PORT_CAPMASK2_F) : 0;
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

static void check_port(const struct port *ours, const ibnd_port_t *from, const ibnd_port_t *port0)
{
	struct port theirs = { 0 };

	read_speeds(from, port0, &theirs);
	if (ours->state >= PORT_INIT) {
		assert_int_equal(ours->speed, theirs.speed);
		assert_int_equal(ours->width, get_u32(from->info, IB_PORT_LINK_WIDTH_ACTIVE_F));
	}
	assert_int_equal(ours->speed_enabled, theirs.speed_enabled);
	assert_int_equal(ours->speed_supported, theirs.speed_supported);
	assert_int_equal(ours->cap_mask, get_u32(from->info, IB_PORT_CAPMASK_F));
	assert_int_equal(ours->sm_lid, get_u32(from->info, IB_PORT_SMLID_F));
	assert_int_equal(ours->state, get_u32(from->info, IB_PORT_STATE_F));
	assert_int_equal(ours->phys_state, get_u32(from->info, IB_PORT_PHYS_STATE_F));
	assert_int_equal(ours->width_enabled, get_u32(from->info, IB_PORT_LINK_WIDTH_ENABLED_F));
	assert_int_equal(ours->width_supported, get_u32(from->info, IB_PORT_LINK_WIDTH_SUPPORTED_F));
	assert_int_equal(smp_read_base_lid(from->info), get_u32(from->info, IB_PORT_LID_F));
	assert_int_equal(smp_read_lmc(from->info), get_u32(from->info, IB_PORT_LMC_F));
}

static void check_node(const struct node *ours, ibnd_node_t *from)
{
	struct smp_node info = smp_read_node(from->info);

	assert_true(info.node.guid == mad_get_field64(from->info, 0, IB_NODE_GUID_F));
	assert_true(info.port_guid == mad_get_field64(from->info, 0, IB_NODE_PORT_GUID_F));
	assert_int_equal(info.node.type, get_u32(from->info, IB_NODE_TYPE_F));
	assert_int_equal(info.node.port_count, get_u32(from->info, IB_NODE_NPORTS_F));
	assert_int_equal(info.port, get_u32(from->info, IB_NODE_LOCAL_PORT_F));
	assert_true(ours->system_guid == mad_get_field64(from->info, 0, IB_NODE_SYSTEM_GUID_F));
	assert_int_equal(ours->vendor_id, get_u32(from->info, IB_NODE_VENDORID_F));
	assert_int_equal(ours->device_id, get_u32(from->info, IB_NODE_DEVID_F));
	assert_int_equal(ours->revision, get_u32(from->info, IB_NODE_REVISION_F));
	assert_int_equal(ours->lft_top, get_u32(from->switchinfo, IB_SW_LINEAR_FDB_TOP_F));
	assert_int_equal(ours->enhanced_port0, get_u32(from->switchinfo, IB_SW_ENHANCED_PORT0_F));
}

/* PortInfo, NodeInfo and SwitchInfo of random bytes. */
TEST(both_decoders_read_the_same)
{
	const struct netdisc_settings settings = { .ca_name = "mlx5_0", .port = 1 };
	uint64_t random = 1, smps, hops;

	for (int run = 0; run < 20000; run++) {
		ibnd_node_t leaf = { .guid = 1, .type = IB_NODE_SWITCH, .numports = 1 };
		ibnd_port_t leaf0 = { .node = &leaf }, leaf1 = { .node = &leaf, .portnum = 1 };
		ibnd_port_t *leaf_ports[] = { &leaf0, &leaf1 };
		ibnd_fabric_t bundle = { .nodes = &leaf, .from_node = &leaf };
		struct fabric *fabric;

		random = fill_random(leaf0.info, sizeof(leaf0.info), random);
		random = fill_random(leaf1.info, sizeof(leaf1.info), random);
		random = fill_random(leaf1.ext_info, sizeof(leaf1.ext_info), random);
		random = fill_random(leaf.info, sizeof(leaf.info), random);
		random = fill_random(leaf.switchinfo, sizeof(leaf.switchinfo), random);
		mad_decode_field(leaf.switchinfo, IB_SW_ENHANCED_PORT0_F, &leaf.smaenhsp0);
		leaf.ports = leaf_ports;
		found = &bundle;
		assert_int_equal(netdisc_run(&settings, &fabric, &smps, &hops, NULL), 0);
		check_port(&fabric->ports[1], &leaf1, &leaf0);
		check_node(&fabric->nodes[0], &leaf);
		fabric_destroy(fabric);
	}
}
