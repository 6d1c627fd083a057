/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "fabric/fabric.h"

/* Whoever types a host's name and a port has forgotten which of its HCAs: that is said, and not that there is none. */
static void a_port_of_a_host_is_asked_of_one_of_its_hcas(void **state)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_1" },
		{ .guid = 2, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_0" },
		{ .guid = 3, .type = NODE_SWITCH, .port_count = 1, .desc = "leaf1" },
	};
	static const struct { const char *typed, *said; } wrong[] = {
		{ "node1/1", "'node1' is a host with 2 HCAs: name one of them, such as 'node1 mlx5_0'" },
		{ "node2/1", "no node is called 'node2': 'ibwire nodes' lists them" },
		{ "node1 mlx5_0/2", "node1 mlx5_0 has no port 2 (it has 1)" },
		{ "leaf1/x", "no node is called 'leaf1/x': did you mean 'leaf1'?" },
	};
	struct fabric *fabric = fabric_create(NULL);
	struct port port = { .num = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		assert_int_equal(fabric_add_node(fabric, &nodes[i], NULL), i);
		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *typed = (char *)(uintptr_t)wrong[i].typed;
		struct selection selection;
		struct error err = { 0 };

		assert_int_equal(selection_init(&selection, fabric, &typed, 1, &err), ERR_USAGE);
		assert_string_equal(err.text, wrong[i].said);
		assert_int_equal(selection_init_hosts(&selection, fabric, &typed, 1, &err), ERR_USAGE);
		assert_string_equal(err.text, wrong[i].said);
	}
	fabric_destroy(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_of_a_host_is_asked_of_one_of_its_hcas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
