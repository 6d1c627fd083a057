/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fabric through records, its differences, LIDs and states of ports. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/diff.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
#include "fabric/test_net.h"

static char *records_of(const struct fabric *fabric, size_t *ret_len)
{
	struct record_trailer trailer = { 5, 6, 7, 8, 9, 4 };
	struct text text = { 0 };

	record_write(&text, fabric, &trailer);
	*ret_len = text.len;
	return text.chars;
}

TEST(records_restore_the_same_fabric)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct fabric *fabric = net_random_fabric(seed), *back;
		struct record_trailer trailer;
		size_t len, back_len;
		char *records = records_of(fabric, &len), *again;

		assert_int_equal(record_read(records, len, &back, &trailer, NULL), 0);
		assert_int_equal(trailer.took_us, 7);
		assert_int_equal(trailer.lost, 8);
		assert_int_equal(trailer.silent, 9);
		assert_int_equal(trailer.queries, 4);
		assert_int_equal(back->node_count, fabric->node_count);
		assert_int_equal(back->port_count, fabric->port_count);
		for (size_t i = 0; i < fabric->port_count; i++)
			assert_int_equal(back->ports[i].peer, fabric->ports[i].peer);
		for (size_t i = 0; i < fabric->node_count; i++)
			assert_string_equal(back->nodes[i].name, fabric->nodes[i].name);
		again = records_of(back, &back_len);
		assert_string_equal(records, again);
		free(records);
		free(again);
		fabric_destroy(fabric);
		fabric_destroy(back);
	}
}

TEST(truncated_records_are_an_error)
{
	struct fabric *fabric = net_random_fabric(3), *back = NULL;
	size_t len;
	char *records = records_of(fabric, &len);

	for (size_t i = 0; i < len; i++) {
		struct error err = { 0 };

		assert_int_equal(record_read(records, i, &back, NULL, &err), ERR_IO);
		assert_true(err.text[0] != '\0');
	}
	assert_null(back);
	free(records);
	fabric_destroy(fabric);
}

/* Whatever the bytes: an error or a fabric, and no crash (the sanitizers watch). */
TEST(damaged_records_do_no_harm)
{
	uint64_t random = 9;

	for (int run = 0; run < 3000; run++) {
		struct fabric *fabric = net_random_fabric((uint64_t)run % 7 + 1), *back = NULL;
		size_t len;
		char *records = records_of(fabric, &len);

		for (int i = 0; i < 3; i++)
			records[net_random(&random) % len] = "0123456789abcdef -\n\xff"[net_random(&random) % 20];
		if (record_read(records, len, &back, NULL, NULL) == 0)
			assert_non_null(back);
		fabric_destroy(back);
		free(records);
		fabric_destroy(fabric);
	}
}

struct changes {
	unsigned count[CHANGE_COUNT];
};

static void count_change(void *ctx, enum fabric_change change, uint32_t before, uint32_t after)
{
	(void)before;
	(void)after;
	((struct changes *)ctx)->count[change]++;
}

/* Two switches, four cables between them, and one HCA. */
static struct fabric *small_fabric(unsigned cables, int with_hca, uint8_t speed, uint8_t down_from)
{
	struct fabric *fabric = fabric_create(NULL);

	for (uint64_t guid = 1; guid <= 2u + (with_hca != 0); guid++) {
		struct node node = { .guid = guid, .type = guid < 3 ? NODE_SWITCH : NODE_CA, .port_count = 8,
				     .desc = "n" };

		fabric_add_node(fabric, &node, NULL);
		for (unsigned i = 1; i <= 8; i++) {
			struct port port = { .num = (uint8_t)i, .width = LINK_WIDTH_4X, .speed = speed };

			port.state = i <= cables && i < down_from ? PORT_ACTIVE : PORT_DOWN;
			fabric_add_port(fabric, &port, NULL);
		}
	}
	for (unsigned i = 1; i <= cables && i < down_from; i++)
		fabric_link(fabric, fabric_find_port(fabric, 1, (uint8_t)i),
			    fabric_find_port(fabric, 2, (uint8_t)i), NULL);
	fabric_finish(fabric, NULL, NULL);
	return fabric;
}

/* What the management port of a switch reports of a link is that of no link. */
TEST(the_rate_of_a_management_port_is_no_change)
{
	struct fabric *fabrics[2];
	struct changes changes = { { 0 } };

	for (int i = 0; i < 2; i++) {
		struct node node = { .guid = 1, .type = NODE_SWITCH, .port_count = 2, .desc = "n" };
		struct port port = { .state = PORT_ACTIVE, .width = i ? LINK_WIDTH_1X : LINK_WIDTH_4X,
				     .speed = LINK_SPEED_SDR };

		fabrics[i] = fabric_create(NULL);
		fabric_add_node(fabrics[i], &node, NULL);
		fabric_add_port(fabrics[i], &port, NULL);
		fabric_finish(fabrics[i], NULL, NULL);
	}
	assert_int_equal(fabric_diff(fabrics[0], fabrics[1], count_change, &changes), 0);
	fabric_destroy(fabrics[0]);
	fabric_destroy(fabrics[1]);
}

TEST(a_change_of_a_link_is_reported_once)
{
	struct fabric *all = small_fabric(4, 1, LINK_SPEED_HDR, 9), *down = small_fabric(4, 1, LINK_SPEED_HDR, 3);
	struct fabric *slow = small_fabric(4, 1, LINK_SPEED_EDR, 9), *less = small_fabric(4, 0, LINK_SPEED_HDR, 9);
	struct changes changes = { { 0 } };

	assert_int_equal(fabric_diff(all, all, count_change, &changes), 0);
	assert_int_equal(fabric_diff(all, down, count_change, &changes), 2 + 2 /* the HCA's own ports 3, 4 */);
	assert_int_equal(changes.count[CHANGE_PORT_STATE], 4);
	memset(&changes, 0, sizeof(changes));
	assert_int_equal(fabric_diff(down, all, count_change, &changes), 4);
	assert_int_equal(changes.count[CHANGE_PORT_STATE], 4);
	memset(&changes, 0, sizeof(changes));
	fabric_diff(all, slow, count_change, &changes);
	assert_int_equal(changes.count[CHANGE_PORT_RATE], 4 + 4);
	memset(&changes, 0, sizeof(changes));
	assert_int_equal(fabric_diff(all, less, count_change, &changes), 1);
	assert_int_equal(changes.count[CHANGE_NODE_REMOVED], 1);
	assert_int_equal(fabric_diff(less, all, count_change, &changes), 1);
	assert_int_equal(changes.count[CHANGE_NODE_ADDED], 1);
	fabric_destroy(all);
	fabric_destroy(down);
	fabric_destroy(slow);
	fabric_destroy(less);
}

/* A port that is not configured has LID 0 or 0xffff: no unicast LID. */
TEST(only_a_unicast_lid_is_polled)
{
	static const struct {
		uint16_t lid, expected;
	} cases[] = { { 0, 0 }, { 1, 1 }, { 0xbfff, 0xbfff }, { 0xc000, 0 }, { 0xffff, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fabric *fabric = fabric_create(NULL);
		const struct node node = { .guid = 1, .type = NODE_CA, .port_count = 1 };
		const struct port port = { .num = 1, .state = PORT_INIT, .lid = cases[i].lid };

		fabric_add_node(fabric, &node, NULL);
		fabric_add_port(fabric, &port, NULL);
		assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
		assert_int_equal(fabric_port_lid(fabric, &fabric->ports[0]), cases[i].expected);
		fabric_destroy(fabric);
	}
}

/* Whichever of its ports were found, the first too. */
TEST(all_ports_of_a_switch_have_one_agent)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fabric *fabric = net_random_fabric(seed);

		for (uint32_t a = 0; a < fabric->port_count; a++) {
			uint32_t node = fabric->ports[a].node;

			assert_int_equal(fabric->ports[fabric_port_agent(fabric, a)].node, node);
			for (uint32_t b = 0; b < fabric->port_count; b++)
				assert_int_equal(fabric_port_agent(fabric, a) == fabric_port_agent(fabric, b),
						 a == b || (fabric->ports[b].node == node &&
							    fabric->nodes[node].type == NODE_SWITCH));
		}
		fabric_destroy(fabric);
	}
}

TEST(ports_that_are_down_or_without_lid_are_not_live)
{
	for (uint8_t type = NODE_CA; type <= NODE_ROUTER; type++) {
		for (unsigned port_state = PORT_DOWN; port_state <= PORT_ACTIVE; port_state++) {
			for (uint16_t lid = 0; lid <= 1; lid++) {
				bool is_switch = type == NODE_SWITCH;
				struct fabric *fabric = fabric_create(NULL);
				struct node node = { .guid = 1, .type = type, .port_count = 1 };
				struct port port = { .num = 1, .state = (uint8_t)port_state };

				/* A switch's is that of its port 0. */
				*(is_switch ? &node.lid : &port.lid) = lid;
				fabric_add_node(fabric, &node, NULL);
				fabric_add_port(fabric, &port, NULL);
				assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
				assert_int_equal(port_is_live(fabric, &fabric->ports[0]),
						 lid && port_state != PORT_DOWN);
				fabric_destroy(fabric);
			}
		}
	}
}

TEST(contradictions_in_a_fabric_are_errors)
{
	struct fabric *fabric = small_fabric(4, 1, LINK_SPEED_HDR, 9);
	struct node node = { .guid = 1, .type = NODE_CA, .port_count = 1 };
	struct port port = { .num = 8 };

	assert_int_equal(fabric_add_node(fabric, &node, NULL), ERR_IO);
	node.guid = 0;
	assert_int_equal(fabric_add_node(fabric, &node, NULL), ERR_IO);
	assert_int_equal(fabric_add_port(fabric, &port, NULL), ERR_IO);
	port.num = 9;
	assert_int_equal(fabric_add_port(fabric, &port, NULL), ERR_IO);
	assert_int_equal(fabric_link(fabric, fabric_find_port(fabric, 1, 1), fabric_find_port(fabric, 2, 2), NULL),
			 ERR_IO);
	assert_int_equal(fabric_find_port(fabric, 1, 0), FABRIC_NONE);
	assert_int_equal(fabric_find_port(fabric, 77, 1), FABRIC_NONE);
	fabric_destroy(fabric);
}
