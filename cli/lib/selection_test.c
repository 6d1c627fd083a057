/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selection and order of rows: by name, host and GUID, by errors, sorted. */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <math.h>

#include <jansson.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "cli/lib/selection.h"
#include "cli/test_commands.h"
#include "fabric/fabric.h"
#include "storage/test/test_model.h"

/* These nodes, each with all of its ports and no link; for fabric_destroy(). */
static struct fabric *make_fabric(const struct node *nodes, size_t count)
{
	struct fabric *fabric = fabric_create(NULL);

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(fabric_add_node(fabric, &nodes[i], NULL), i);
		for (struct port port = { .num = 1 }; port.num <= nodes[i].port_count; port.num++)
			assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

TEST(displayed_name_is_accepted)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_SWITCH, .port_count = 2, .desc = "MF0;leaf-1:MQM8700/U1" },
		{ .guid = 2, .type = NODE_SWITCH, .port_count = 2, .desc = "MF0;twin:MQM8700/U1" },
		{ .guid = 3, .type = NODE_SWITCH, .port_count = 2, .desc = "MF0;twin:MQM9700/U1" },
	};
	static const struct {
		const char *typed;
		int code;
		size_t node, ports;
	} cases[] = {
		{ "leaf-1", 0, 0, 2 }, { "MF0;leaf-1:MQM8700/U1", 0, 0, 2 }, { "leaf-1/2", 0, 0, 1 },
		{ "MF0;leaf-1:MQM8700/U1/1", 0, 0, 1 }, { "MF0;twin:MQM9700/U1", 0, 2, 2 }, { "0x2/1", 0, 1, 1 },
		{ "twin", ERR_USAGE, 0, 0 }, { "leaf-1/3", ERR_USAGE, 0, 0 }, { "leaf-1/258", ERR_USAGE, 0, 0 },
		{ "leaf-1/1x", ERR_USAGE, 0, 0 }, { "leaf-1/", ERR_USAGE, 0, 0 }, { "", ERR_USAGE, 0, 0 },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = { (char *)(uintptr_t)cases[i].typed };
		struct selection selection;
		size_t ports = 0;

		assert_int_equal(selection_init(&selection, fabric, argv, 1, NULL), cases[i].code);
		if (cases[i].code)
			continue;
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(selection_has_node(&selection, (uint32_t)j), j == cases[i].node);
		for (size_t j = 0; j < 6; j++)
			ports += selection_has_port(&selection, (uint32_t)j);
		assert_int_equal(ports, cases[i].ports);
		selection_done(&selection);
	}
	fabric_destroy(fabric);
}

TEST(host_selects_all_its_hcas_if_hosts_are_allowed)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_0" },
		{ .guid = 2, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_1" },
		{ .guid = 3, .type = NODE_SWITCH, .port_count = 1, .desc = "node2 leaf" },
		{ .guid = 4, .type = NODE_CA, .port_count = 1, .desc = "node10 mlx5_0" },
		{ .guid = 5, .type = NODE_CA, .port_count = 1, .desc = "alike" },
		{ .guid = 6, .type = NODE_CA, .port_count = 1, .desc = "alike" },
	};
	enum { COUNT = sizeof(nodes) / sizeof(nodes[0]) };
	static const struct {
		const char *typed;
		unsigned nodes; /* bits; 0: rejected */
	} cases[] = {
		{ "node1", 3 }, { "node1 mlx5_1", 2 }, { "node1 mlx5_1/1", 2 }, { "node10", 8 }, { "0x2", 2 },
		/* A switch is not a host, and equal names are distinguished by GUID. */
		{ "node2", 0 }, { "alike", 0 }, { "node", 0 }, { "node1/1", 0 }, { "", 0 },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));
	struct selection selection;
	struct error err = { 0 };
	char host[] = "node1", *argv[] = { host };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *typed = (char *)(uintptr_t)cases[i].typed;
		int code = selection_init_hosts(&selection, fabric, &typed, 1, NULL);

		assert_int_equal(code, cases[i].nodes ? 0 : ERR_USAGE);
		for (uint32_t node = 0; code == 0 && node < COUNT; node++) {
			assert_int_equal(selection_has_node(&selection, node), cases[i].nodes >> node & 1);
			assert_int_equal(selection_has_port(&selection, node), cases[i].nodes >> node & 1);
		}
		if (code == 0)
			selection_done(&selection);
	}
	/* A command for one node lists the candidates. */
	assert_int_equal(selection_init(&selection, fabric, argv, 1, &err), ERR_USAGE);
	assert_string_equal(err.text, "'node1' is a host with 2 HCAs: use one of them, such as 'node1 mlx5_0'");
	fabric_destroy(fabric);
}

TEST(sorting_puts_the_largest_first_and_the_unknown_last)
{
	json_t *rows = run_json("ports|--sort|rcv_bytes_per_s");
	json_t *top = run_json("ports|--sort|rcv_bytes_per_s|--top|3");
	double before = INFINITY;
	bool unknown = false;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *rate = json_object_get(json_array_get(rows, i), "rcv_bytes_per_s");

		assert_false(unknown && !json_is_null(rate));
		unknown = json_is_null(rate);
		assert_true(unknown || json_number_value(rate) <= before);
		before = json_number_value(rate);
	}
	assert_int_equal(json_array_size(top), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(guid_of(json_array_get(top, i), "node_guid") ==
			    guid_of(json_array_get(rows, i), "node_guid"));
	json_decref(rows);
	json_decref(top);
}

TEST(errors_option_hides_ports_without_errors)
{
	json_t *all = run_json("ports"), *bad = run_json("ports|--errors");
	size_t expected = 0;

	for (size_t i = 0; i < model->sweep.sample_count; i++) {
		const struct delta *delta = model->sweep.samples[i].delta;
		bool has = false;
		int counter;

		for (counter = COUNTER_TRAFFIC_COUNT; delta && delta->elapsed_us && counter < COUNTER_COUNT; counter++)
			has |= (delta->known & COUNTER_BIT(counter) && delta->value[counter]) ||
			       delta->saturated & COUNTER_BIT(counter);
		expected += has && model->sweep.samples[i].status == SAMPLE_OK;
	}
	assert_int_equal(json_array_size(bad), expected);
	assert_true(expected > 0 && expected < json_array_size(all));
	json_decref(all);
	json_decref(bad);
}

/* A host name with a port gets a hint to name the HCA. */
TEST(host_port_requires_an_hca_name)
{
	static const struct node nodes[] = {
		{ .guid = 1, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_1" },
		{ .guid = 2, .type = NODE_CA, .port_count = 1, .desc = "node1 mlx5_0" },
		{ .guid = 3, .type = NODE_SWITCH, .port_count = 1, .desc = "leaf1" },
	};
	static const struct { const char *typed, *error; } wrong[] = {
		{ "node1/1", "'node1' is a host with 2 HCAs: use one of them, such as 'node1 mlx5_0'" },
		{ "node2/1", "no node is called 'node2': 'ibwire nodes' lists them" },
		{ "node1 mlx5_0/2", "node1 mlx5_0 has no port 2 (it has 1)" },
		{ "leaf1/x", "no node is called 'leaf1/x': did you mean 'leaf1'?" },
	};
	struct fabric *fabric = make_fabric(nodes, sizeof(nodes) / sizeof(nodes[0]));

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *typed = (char *)(uintptr_t)wrong[i].typed;
		struct selection selection;
		struct error err = { 0 };

		assert_int_equal(selection_init(&selection, fabric, &typed, 1, &err), ERR_USAGE);
		assert_string_equal(err.text, wrong[i].error);
		assert_int_equal(selection_init_hosts(&selection, fabric, &typed, 1, &err), ERR_USAGE);
		assert_string_equal(err.text, wrong[i].error);
	}
	fabric_destroy(fabric);
}
