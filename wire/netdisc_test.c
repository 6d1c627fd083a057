/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What libibnetdisc may bring: its two functions are defined here and stand before the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <infiniband/ibnetdisc.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "wire/netdisc.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_node_without_a_guid_is_left_out) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
