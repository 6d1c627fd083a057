/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings about several ports, nodes or hosts: those that they name, and what remains of them once they have ended. */
#include <stdio.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

static const struct world_shape rails = { 4, 4, 2, 8, 4 };
/* 4 leaves with 12 hosts each. */
static const struct world_shape hosts = { 4, 4, 1, 48, 1 };
/* 4 cables between each leaf and each spine. */
static const struct world_shape cables = { 4, 4, 4, 8, 1 };

#define CLEAR_TEN "reset leaf0/101; reset leaf0/102; reset leaf0/103; reset leaf0/104; reset leaf1/101; " \
	"reset leaf1/102; reset leaf1/103; reset leaf1/104; reset leaf2/101; reset leaf2/102; wait 10; "
#define CLEAR_TWO "reset leaf0/101; reset leaf1/101; wait 10; "
#define RATES(rate) \
	"rate h0.0 " rate "; rate h4.0 " rate "; rate h8.0 " rate "; rate h12.0 " rate "; rate h16.0 " rate "; " \
	"rate h20.0 " rate "; rate h24.0 " rate "; rate h28.0 " rate "; rate h32.0 " rate "; rate h36.0 " rate "; "

static const struct finding *find_open(const struct world *world, enum finding_kind kind)
{
	const struct finding *const *open;

	for (size_t i = 0, count = health_open(world->health, &open); i < count; i++)
		if (open[i]->kind == kind)
			return open[i];
	fail_msg("no %s is open", finding_kind_name(kind));
	return NULL;
}

/* Most of its members recover, then the last ones: its text, ports and hosts are those that it had with all. */
TEST(what_has_ended_keeps_its_widest_extent)
{
	static const struct {
		const struct world_shape *shape;
		enum finding_kind kind;
		const char *begins, *shrinks, *ends, *text;
		unsigned ports, affected;
	} cases[] = {
		{ &rails, FINDING_COUNTERS_CLEARED, CLEAR_TEN CLEAR_TEN CLEAR_TEN CLEAR_TEN,
		  CLEAR_TWO CLEAR_TWO CLEAR_TWO CLEAR_TWO CLEAR_TWO CLEAR_TWO, "wait 60",
		  "counters of 10 of 128 ports were reset externally", 10, 0 },
		{ &hosts, FINDING_LINK_DEGRADED, RATES("4 EDR") "wait 100",
		  "rate h0.0 4 NDR; rate h4.0 4 NDR; rate h8.0 4 NDR; wait 20", RATES("4 NDR") "wait 20",
		  "10 equal links", 10, 10 },
		{ &rails, FINDING_NODE_SILENT, "silent h3; wait 60", "answer h3.1; answer h3.2; answer h3.3; wait 20",
		  "answer h3; wait 20", "4 HCAs of h3 had not responded", 4, 1 },
		{ &hosts, FINDING_NODE_MISSING, "kill h0; kill h1; kill h2; kill h3; kill h4; wait 100",
		  "revive h0; revive h1; revive h2; wait 20", "revive h3; revive h4; wait 20",
		  "5 hosts of leaf0", 5, 5 },
		{ &rails, FINDING_COVERAGE, "unread 20; wait 60", "unread 5; wait 20", "unread 0; wait 20",
		  "78.9 % of 128 ports were read", 27, 0 },
		{ &cables, FINDING_UPLINKS_MISSING, "cold; down leaf0/101; down leaf0/102; down leaf0/103; wait 60",
		  "up leaf0/101; up leaf0/102; wait 60",
		  "up leaf0/103; wait 20", "had 1 of the 4 cables", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *world = world_create(cases[i].shape);
		const struct finding *finding;
		unsigned ports;

		if (strncmp(cases[i].begins, "cold;", 5) != 0)
			world_run(world, "wait 60");
		world_run(world, cases[i].begins);
		ports = find_open(world, cases[i].kind)->port_count;
		assert_int_equal(ports, cases[i].ports);
		world_run(world, cases[i].shrinks);
		finding = find_open(world, cases[i].kind);
		if (finding->ok_since_us || (ports && finding->port_count >= ports))
			fail_msg("%s: %u of %u ports, \"%s\"", finding_kind_name(cases[i].kind), finding->port_count,
				 ports, finding->text);
		world_run(world, cases[i].ends);
		finding = find_open(world, cases[i].kind);
		if (!finding->ok_since_us || strncmp(finding->text, cases[i].text, strlen(cases[i].text)) != 0)
			fail_msg("%s: \"%s\"", finding_kind_name(cases[i].kind), finding->text);
		assert_int_equal(finding->port_count, ports);
		assert_int_equal(finding->affected_hosts, cases[i].affected);
		world_destroy(world);
	}
}

/* The ports with a link of the node, or of all HCAs of the host that do not respond. */
TEST(a_finding_about_a_node_has_its_ports)
{
	static const struct { const char *script; enum finding_kind kind; unsigned ports; } cases[] = {
		{ "silent leaf1; wait 60", FINDING_NODE_SILENT, 16 }, /* 8 uplinks, 8 HCAs */
		{ "silent h3.1; wait 60", FINDING_NODE_SILENT, 1 }, { "silent h3; wait 60", FINDING_NODE_SILENT, 4 },
		{ "lock h3.1; wait 60", FINDING_LOCKED, 1 }, { "lock spine1; wait 60", FINDING_LOCKED, 8 },
		{ "kill spine1; wait 60", FINDING_NODE_MISSING, 8 }, { "kill h2; wait 60", FINDING_HOST_RESTART, 4 },
		{ "kill h2; wait 1000", FINDING_NODE_MISSING, 4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *world = world_create(&rails);
		const struct finding *finding;

		world_run(world, "wait 60");
		world_run(world, cases[i].script);
		finding = find_open(world, cases[i].kind);
		if (finding->port_count != cases[i].ports)
			fail_msg("%s: %u ports", cases[i].script, finding->port_count);
		for (unsigned j = 0; j < finding->port_count; j++)
			assert_true(finding->ports[j].node_guid && finding->ports[j].port);
		world_destroy(world);
	}
}
