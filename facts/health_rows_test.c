/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which findings are those of a list of hosts: names are as the batch system, the fabric and the finding have them. */
#include "base/unit_test.h"
#include "facts/health_rows.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"
#include "facts/finding_columns.h"
#include "storage/reader.h"

TEST(findings_of_a_host_are_found_with_and_without_its_domain)
{
	static const struct { const char *typed; bool of_node2, of_gpu, of_gone; } cases[] = {
		{ "node2", true, false, false }, { "node2.ib", true, false, false },
		{ "node2.cluster", true, false, false }, { "node[1-3]", true, false, false },
		{ "node1.ib", false, false, false }, { "gpu", false, true, false }, { "gone7", false, false, true },
		{ "gone7.ib", false, false, true },
	};
	struct fabric *fabric = net_new();
	uint32_t node2 = net_hca(fabric, 0x10, "node2.ib mlx5_0"), gpu = net_hca(fabric, 0x21, "gpu mlx5_0");
	struct finding by_name = { .severity = FINDING_WARNING, .host_count = 1, .affected_hosts = 1 };
	struct finding by_port = { .severity = FINDING_WARNING };
	struct shape *shape;

	net_hca(fabric, 0x22, "gpu mlx5_0");
	net_hca(fabric, 0x11, "node1 mlx5_0");
	shape = net_shape(fabric, NULL);
	by_name.node_guid = fabric->nodes[node2].guid;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct host_set typed = { 0 }, named = { 0 };

		assert_int_equal(host_set_add(&typed, cases[i].typed, NULL), 0);
		assert_int_equal(shape_name_hosts(shape, &typed, &named, NULL), 0);
		snprintf(by_name.hosts[0], sizeof(by_name.hosts[0]), "node2.ib");
		if (health_touches(shape, &by_name, &named) != cases[i].of_node2)
			fail_msg("%s: by name", cases[i].typed);
		snprintf(by_name.hosts[0], sizeof(by_name.hosts[0]), "gone7.ib"); /* no longer in the fabric */
		assert_int_equal(health_touches(shape, &by_name, &named), cases[i].of_gone);
		by_port.node_guid = fabric->nodes[node2].guid;
		assert_int_equal(health_touches(shape, &by_port, &named), cases[i].of_node2);
		by_port.node_guid = fabric->nodes[gpu].guid;
		assert_int_equal(health_touches(shape, &by_port, &named), cases[i].of_gpu);
		free(named.names);
		host_set_done(&typed);
	}
	net_done(fabric, shape);
}

TEST(a_sweep_is_late_after_three_intervals_and_findings_are_stale_after_30_s_too)
{
	static const struct { int interval_s; double age_s; bool is_late, is_stale; } cases[] = {
		{ 1, 3, false, false }, { 1, 3.1, true, false }, { 1, 30, true, false }, { 1, 30.1, true, true },
		{ 10, 30, false, false }, { 10, 30.1, true, true }, { 60, 180, false, false },
		{ 60, 180.1, true, true },
		{ 0, 30, false, false }, { 0, 30.1, false, true }, { 10, -1, false, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct sweep_info sweep = { .interval_us = cases[i].interval_s * US_PER_S };
		int64_t age_us = (int64_t)(cases[i].age_s * US_PER_S);

		assert_int_equal(sweep_is_late(&sweep, age_us), cases[i].is_late);
		assert_int_equal(health_is_stale(&sweep, age_us), cases[i].is_stale);
	}
}

TEST(hosts_of_a_finding_are_one_range_in_any_order)
{
	static const char *const names[] = { "node0001", "node0002", "mgmt0001", "node0010", "node0003" };
	struct finding finding = { .host_count = 5, .affected_hosts = 5 };
	struct text text = { 0 };

	for (size_t i = 0; i < 5; i++)
		snprintf(finding.hosts[i], sizeof(finding.hosts[i]), "%s", names[i]);
	finding_append_hosts(&finding, &text);
	assert_string_equal(text_chars(&text), "5 hosts: mgmt0001, node[0001-0003,0010]");
	text_done(&text);
}
