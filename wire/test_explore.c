/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/test_explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "wire/explore.h"

struct wiring wiring;
struct record_trailer trailer;
struct text notes;

struct fabric *test_explore(unsigned retries, const struct keys *keys)
{
	const struct explore_settings settings = { .max_smps = 32, .per_node = 2, .timeout_ms = 1000,
						   .retries = retries, .keys = keys, .own_guid = wiring.nodes[0].guid };
	struct fabric *fabric = NULL;
	struct error err = { 0 };

	text_clear(&notes);
	trailer = (struct record_trailer){ 0 };
	if (explore_run(&wiring.transport, &wiring.clock, &settings, &fabric, &trailer, &notes, &err) < 0)
		assert_true(err.text[0]);
	assert_int_equal(wiring.not_allowed, 0);
	return fabric;
}

bool test_has_node(const struct fabric *fabric, uint32_t node)
{
	return fabric_find_node(fabric, wiring.nodes[node].guid) != FABRIC_NONE;
}

bool test_has_link(const struct fabric *fabric, uint32_t a, uint8_t a_num, uint32_t b, uint8_t b_num)
{
	uint32_t one = fabric_find_port(fabric, wiring.nodes[a].guid, a_num);
	uint32_t other = fabric_find_port(fabric, wiring.nodes[b].guid, b_num);

	return one != FABRIC_NONE && other != FABRIC_NONE && fabric->ports[one].peer == other &&
	       fabric->ports[other].peer == one;
}

void test_reach(bool *ret)
{
	uint32_t queue[WIRING_NODES], first = 0, last = 0, i;
	unsigned num;

	for (i = 0; i < wiring.count; i++)
		ret[i] = false;
	ret[0] = true;
	queue[last++] = 0;
	while (first < last) {
		const struct wiring_node *node = &wiring.nodes[queue[first++]];

		for (num = 1; num <= node->port_count; num++) {
			uint32_t peer = node->peer[num].node;

			if ((node->type != NODE_SWITCH && (node != wiring.nodes || num != 1)) || peer == WIRING_NONE ||
			    ret[peer] || wiring.nodes[peer].dead)
				continue;
			ret[peer] = true;
			queue[last++] = peer;
		}
	}
}

/* Can a port be found: a switch's always; an HCA's where something that leads on is cabled to it. */
static bool is_found(const bool *reached, uint32_t index, uint8_t num)
{
	const struct wiring_node *node = &wiring.nodes[index];
	uint32_t peer = node->peer[num].node;

	if (node->type == NODE_SWITCH || (index == 0 && num == 1))
		return true;
	return num && peer != WIRING_NONE && reached[peer] &&
	       (wiring.nodes[peer].type == NODE_SWITCH || (peer == 0 && node->peer[num].num == 1));
}

static void check_port(const struct fabric *fabric, const bool *reached, uint32_t index, uint8_t num)
{
	const struct wiring_node *node = &wiring.nodes[index];
	uint32_t at = fabric_find_port(fabric, node->guid, num), peer = node->peer[num].node;
	const struct port *port;

	assert_int_equal(at != FABRIC_NONE, is_found(reached, index, num));
	if (at == FABRIC_NONE)
		return;
	port = &fabric->ports[at];
	assert_int_equal(port->state, num && peer == WIRING_NONE ? PORT_DOWN : PORT_ACTIVE);
	if (node->type != NODE_SWITCH || !num) {
		assert_int_equal(port->lid, wiring_lid(index, num));
		assert_true(port->guid == wiring_port_guid(&wiring, index, num));
	}
	/* CapabilityMask of port 0 alone says that HDR is possible. */
	if (node->type == NODE_SWITCH && port->state == PORT_ACTIVE && num)
		assert_int_equal(port->speed, LINK_SPEED_NDR);
	if (!num || peer == WIRING_NONE || wiring.nodes[peer].dead)
		assert_int_equal(port->peer, FABRIC_NONE);
	else
		assert_true(test_has_link(fabric, index, num, peer, node->peer[num].num));
}

void test_check_found(const struct fabric *fabric)
{
	bool reached[WIRING_NODES];
	size_t nodes = 0;
	uint32_t i;
	unsigned num;

	test_reach(reached);
	for (i = 0; i < wiring.count; i++) {
		const struct wiring_node *node = &wiring.nodes[i];
		char desc[65];

		nodes += reached[i];
		assert_int_equal(test_has_node(fabric, i), reached[i]);
		if (!reached[i])
			continue;
		snprintf(desc, sizeof(desc), "node %u", i);
		assert_string_equal(fabric->nodes[fabric_find_node(fabric, node->guid)].desc, desc);
		for (num = node->type == NODE_SWITCH ? 0 : 1; num <= node->port_count; num++)
			check_port(fabric, reached, i, (uint8_t)num);
	}
	assert_int_equal(fabric->node_count, nodes);
	assert_int_equal(fabric->from_node, 0);
}

uint64_t test_below(uint64_t most)
{
	return wiring_random(&wiring) % most;
}

void test_draw(uint64_t seed)
{
	unsigned switches, others, i;

	wiring_init(&wiring, seed);
	wiring_add(&wiring, test_below(8) ? NODE_CA : NODE_SWITCH, (uint8_t)(1 + test_below(2)));
	switches = (unsigned)test_below(8);
	others = (unsigned)test_below(24);
	for (i = 0; i < switches; i++)
		wiring_add(&wiring, NODE_SWITCH, (uint8_t)(1 + test_below(16)));
	for (i = 0; i < others; i++)
		wiring_add(&wiring, test_below(10) ? NODE_CA : NODE_ROUTER, (uint8_t)(1 + test_below(2)));
	for (i = 0; i < 60; i++) {
		uint32_t a = i ? (uint32_t)test_below(wiring.count) : 0, b = (uint32_t)test_below(wiring.count);
		uint8_t a_num = i ? (uint8_t)(1 + test_below(wiring.nodes[a].port_count)) : 1;
		uint8_t b_num = (uint8_t)(1 + test_below(wiring.nodes[b].port_count));

		if ((a != b || a_num != b_num) && wiring.nodes[a].peer[a_num].node == WIRING_NONE &&
		    wiring.nodes[b].peer[b_num].node == WIRING_NONE)
			wiring_link(&wiring, a, a_num, b, b_num);
	}
	for (i = 1; i < wiring.count; i++)
		wiring.nodes[i].dead = test_below(12) == 0;
}

void test_star(unsigned hosts)
{
	unsigned i;

	wiring_init(&wiring, 1);
	wiring_add(&wiring, NODE_CA, 1);
	wiring_add(&wiring, NODE_SWITCH, (uint8_t)(hosts + 1));
	wiring_link(&wiring, 0, 1, 1, 1);
	for (i = 0; i < hosts; i++)
		wiring_link(&wiring, wiring_add(&wiring, NODE_CA, 1), 1, 1, (uint8_t)(i + 2));
}

int test_forget(void **state)
{
	(void)state;
	text_done(&notes);
	return 0;
}
