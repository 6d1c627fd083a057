/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What libibnetdisc may bring: its two functions are defined here and stand before the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <infiniband/ibnetdisc.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "wire/netdisc.h"
#include "wire/smp.h"

static ibnd_fabric_t *found;
static uint64_t carried_mkey;

ibnd_fabric_t *ibnd_discover_fabric(char *ca_name, int ca_port, ib_portid_t *from, struct ibnd_config *config)
{
	(void)ca_name;
	(void)ca_port;
	(void)from;
	carried_mkey = config->mkey;
	return found;
}

void ibnd_destroy_fabric(ibnd_fabric_t *fabric)
{
	assert_ptr_equal(fabric, found);
}

/* An HCA whose flash was lost has the GUID 0: it cannot be told from another one, and hides nobody else. */
static void a_node_without_a_guid_is_left_out(void **state)
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
	const struct netdisc_settings settings = { .ca_name = "mlx5_0", .port = 1, .mkey = 0x123456789abcdef0 };
	struct error err = { 0 };
	struct fabric *fabric;
	uint64_t smps, hops;

	(void)state;
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
	assert_int_equal(fabric->ports[fabric_find_port(fabric, 1, 1)].peer, FABRIC_NONE);
	assert_int_equal(fabric->ports[fabric_find_port(fabric, 1, 2)].peer, fabric_find_port(fabric, 2, 1));
	assert_int_equal(fabric->from_node, 1);
	assert_true(carried_mkey == 0x123456789abcdef0);
	fabric_destroy(fabric);
}

static uint64_t fill_random(uint8_t *bytes, size_t size, uint64_t random)
{
	size_t i;

	for (i = 0; i < size; i++) {
		random = map_mix(random + 0x9e3779b97f4a7c15ULL);
		bytes[i] = (uint8_t)random;
	}
	return random;
}

static void check_port(const struct port *theirs, ibnd_port_t *from, const ibnd_port_t *port0)
{
	struct port ours = { 0 };

	smp_read_port((uint8_t *)from->info, (const uint8_t *)port0->info, (uint8_t *)from->ext_info, &ours);
	if (ours.state < PORT_INIT)
		ours.speed = ours.width = 0;
	assert_int_equal(ours.cap_mask, theirs->cap_mask);
	assert_int_equal(ours.sm_lid, theirs->sm_lid);
	assert_int_equal(ours.state, theirs->state);
	assert_int_equal(ours.phys_state, theirs->phys_state);
	assert_int_equal(ours.width, theirs->width);
	assert_int_equal(ours.width_enabled, theirs->width_enabled);
	assert_int_equal(ours.width_supported, theirs->width_supported);
	assert_int_equal(ours.speed, theirs->speed);
	assert_int_equal(ours.speed_enabled, theirs->speed_enabled);
	assert_int_equal(ours.speed_supported, theirs->speed_supported);
	assert_int_equal(smp_read_base_lid((uint8_t *)from->info), mad_get_field(from->info, 0, IB_PORT_LID_F));
	assert_int_equal(smp_read_lmc((uint8_t *)from->info), mad_get_field(from->info, 0, IB_PORT_LMC_F));
}

static void check_node(const struct node *theirs, ibnd_node_t *from)
{
	struct node switch_info = { 0 };
	uint8_t mad[MAD_SIZE] = { 0 };
	struct smp_node ours;

	memcpy(mad + SMP_DATA_OFFSET, from->info, SMP_DATA_SIZE);
	ours = smp_read_node(mad);
	assert_true(ours.guid == mad_get_field64(from->info, 0, IB_NODE_GUID_F));
	assert_true(ours.port_guid == mad_get_field64(from->info, 0, IB_NODE_PORT_GUID_F));
	assert_int_equal(ours.type, mad_get_field(from->info, 0, IB_NODE_TYPE_F));
	assert_int_equal(ours.port_count, mad_get_field(from->info, 0, IB_NODE_NPORTS_F));
	assert_int_equal(ours.port, mad_get_field(from->info, 0, IB_NODE_LOCAL_PORT_F));
	assert_true(ours.system_guid == theirs->system_guid);
	assert_int_equal(ours.vendor_id, theirs->vendor_id);
	assert_int_equal(ours.device_id, theirs->device_id);
	assert_int_equal(ours.revision, theirs->revision);
	memcpy(mad + SMP_DATA_OFFSET, from->switchinfo, SMP_DATA_SIZE);
	smp_read_switch(mad, &switch_info);
	assert_int_equal(switch_info.lft_top, theirs->lft_top);
	assert_int_equal(switch_info.enhanced_port0, theirs->enhanced_port0);
}

/* libibmad's decoder and ours read the same from any bytes: PortInfo, NodeInfo, SwitchInfo. */
static void both_decoders_read_the_same(void **state)
{
	const struct netdisc_settings settings = { .ca_name = "mlx5_0", .port = 1 };
	uint64_t random = 1, smps, hops;
	int run;

	(void)state;
	for (run = 0; run < 20000; run++) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_without_a_guid_is_left_out),
		cmocka_unit_test(both_decoders_read_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
