/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/test_cases.h"
#include "base/unit_test.h"

/* Four leaves, four spines with two links each, eight hosts with four HCAs, one on each leaf. */
static const struct world_shape rails = { 4, 4, 2, 8, 4 };
/* Four leaves, 16 hosts with one HCA, four on each leaf; one link to each of four spines. */
static const struct world_shape single = { 4, 4, 1, 16, 1 };

/* Eight hosts on each leaf. */
static const struct world_shape wide = { 2, 4, 1, 16, 1 };

TEST(links_that_go_down)
{
	WORLD_CHECK(&rails, false,
		{ "nothing is wrong", "wait 600", "" },
		{ "a trunk for less than 30 s", "down leaf0/101; wait 20; up leaf0/101; wait 400", "" },
		{ "a trunk", "down leaf0/101; wait 40", "link-down warning leaf0/101" },
		{ "a trunk that returns", "down leaf0/101; wait 40; up leaf0/101; wait 120",
		  "link-down warning leaf0/101 closed" },
		{ "two of eight uplinks", "down leaf0/101; down leaf0/103; wait 40",
		  "link-down critical leaf0/101; link-down critical leaf0/103" },
		{ "one HCA of four", "down h3.2; wait 40", "link-down warning leaf2/4" },
		{ "a failed HCA is its link", "kill h3.2; wait 40", "link-down warning leaf2/4" },
		{ "links that were never up", "cold; down leaf0/101; down h3.2; wait 600", "" },
		{ "a new link that comes up", "cold; down leaf0/101; wait 60; up leaf0/101; wait 600", "" },
		{ "down twice within a minute is one finding",
		  "down leaf0/101; wait 40; up leaf0/101; wait 20; down leaf0/101; wait 40; up leaf0/101; wait 30",
		  "link-down warning leaf0/101; link-flapping warning leaf0/101" });
	WORLD_CHECK(&single, false,
		{ "a quarter of the uplinks", "down leaf0/101; wait 40", "link-down critical leaf0/101" });
}

TEST(missing_nodes)
{
	WORLD_CHECK(&rails, false,
		{ "a failed spine is one finding", "kill spine1; wait 60", "node-missing critical spine1" },
		{ "and closes", "kill spine1; wait 60; revive spine1; wait 120",
		  "node-missing critical spine1 closed" },
		{ "a failed leaf of rails", "kill leaf2; wait 60", "node-missing critical leaf2" },
		{ "a restarting host is no warning", "kill h3; wait 300; revive h3; wait 600", "" },
		{ "HCAs that go down 30 s apart",
		  "kill h3.0; wait 10; kill h3.1; kill h3.2; wait 10; kill h3.3; wait 300; revive h3; wait 600", "" },
		{ "a host that does not return", "kill h3; wait 1000", "node-missing warning h3 mlx5_0" },
		{ "a rack of rails is one", "kill h0; kill h1; kill h2; wait 10; kill h3; wait 60",
		  "node-missing warning leaf0" },
		{ "hosts that restart one after the other", "kill h0; wait 100; kill h1; revive h0; wait 100; "
		  "kill h2; revive h1; wait 100; kill h3; revive h2; wait 100; revive h3; wait 600", "" },
		{ "two failed spines are two findings", "kill spine1; wait 100; kill spine2; wait 60",
		  "node-missing critical spine1; node-missing critical spine2" });
	WORLD_CHECK(&single, false,
		{ "a failed leaf with its hosts is one finding", "kill leaf2; wait 60", "node-missing critical leaf2" },
		{ "nor one with a single HCA", "kill h3; wait 300; revive h3; wait 600", "" },
		{ "three hosts of a leaf restart",
		  "kill h0; kill h1; kill h2; wait 300; revive h0; revive h1; revive h2; wait 600", "" },
		{ "the four hosts of a leaf are one", "kill h0; kill h1; kill h2; kill h3; wait 60",
		  "node-missing warning leaf0" },
		{ "a powered-off rack is one", "kill leaf1; kill h4; kill h5; kill h6; kill h7; wait 60",
		  "node-missing critical leaf1" });
	WORLD_CHECK(&wide, false,
		{ "two racks of one leaf, one after the other",
		  "kill h0; kill h1; kill h2; kill h3; wait 100; kill h4; kill h5; kill h6; kill h7; wait 60",
		  "node-missing warning leaf0; node-missing warning leaf0" });
}

TEST(restarts_are_info)
{
	WORLD_CHECK(&single, true,
		{ "a restart", "kill h3; wait 120; revive h3; wait 600",
		  "host-restart info h3 mlx5_0 closed; topology-changed info fabric closed" },
		{ "two of a leaf", "kill h2; kill h3; wait 60",
		  "host-restart info h2 mlx5_0; host-restart info h3 mlx5_0; topology-changed info fabric" });
	WORLD_CHECK(&rails, true,
		{ "so fast that no link was seen down", "count leaf0/4 link_downed 2; count leaf1/4 link_downed 2; "
		  "wait 10; count leaf2/4 link_downed 2; count leaf3/4 link_downed 2; wait 60",
		  "host-restart info h3 mlx5_0" });
}

TEST(unresponsive_nodes)
{
	WORLD_CHECK(&rails, false,
		{ "for two sweeps", "silent h3.1; wait 20; answer h3.1; wait 60", "" },
		{ "an HCA", "silent h3.1; wait 30", "node-silent warning h3 mlx5_1" },
		{ "an HCA that responds again", "silent h3.1; wait 30; answer h3.1; wait 120",
		  "node-silent warning h3 mlx5_1 closed" },
		{ "all HCAs of a host are one", "silent h3; wait 30", "node-silent warning h3 mlx5_0" },
		{ "a switch", "silent leaf1; wait 30", "node-silent critical leaf1" },
		{ "a switch, and those behind it", "silent leaf1; silent h0.1; silent h1.1; silent h2.1; "
		  "silent h3.1; silent h4.1; silent h5.1; wait 60; answer leaf1; wait 20; answer h0.1; answer h1.1; "
		  "answer h2.1; answer h3.1; answer h4.1; answer h5.1; wait 120", "node-silent critical leaf1 closed" },
		{ "one behind a switch, before it", "silent h3.1; wait 40; silent leaf1; silent h4.1; wait 40",
		  "node-silent critical leaf1; node-silent warning h3 mlx5_1" },
		{ "too many for faults of the nodes", "silent h0; silent h1; silent h2; wait 40",
		  "coverage warning fabric" });
}

/* An HCA that never had counters is usual; a switch is named; what had them before is a fault. */
TEST(nodes_that_refuse_queries)
{
	WORLD_CHECK(&rails, true,
		{ "for two sweeps", "refuse leaf1; wait 20; accept leaf1; wait 60", "" },
		{ "a switch", "refuse leaf1; wait 40", "node-silent warning leaf1" },
		{ "that responds again", "refuse leaf1; wait 40; accept leaf1; wait 120",
		  "node-silent warning leaf1 closed" },
		{ "a switch from the start", "cold; refuse spine0; wait 100", "node-silent info spine0" },
		{ "a restart of the collector", "refuse leaf1; wait 40; restart; wait 400",
		  "node-silent warning leaf1" },
		{ "an HCA", "refuse h3.1; wait 40", "node-silent warning h3 mlx5_1" },
		{ "HCAs from the start", "cold; refuse h3; refuse h4; refuse h5; wait 100", "" });
}

#define SEVEN_SILENT "wait 60; silent h0; silent h1; silent h2; silent h3; silent h4; silent h5; silent h6; "

static void is_coverage(const char *script, const char *cause, const char *words)
{
	struct world *world = world_create(&rails);
	const struct world_report *report;

	world_run(world, script);
	report = world_find(world, FINDING_COVERAGE);
	assert_non_null(report);
	assert_string_equal(report->finding.cause, cause);
	assert_non_null(strstr(report->finding.text, words));
	world_destroy(world);
}

/* If no HCA responds, the cause is the access to HCAs. */
TEST(all_hcas_unresponsive_is_a_cause_of_its_own)
{
	is_coverage(SEVEN_SILENT "silent h7; wait 40", "hcas-silent", "a PM_Key is set");
	is_coverage(SEVEN_SILENT "wait 40", "silent", "unresponsive nodes: 28 (ibwire ports state:silent)");
}

/* A node that hangs before the collector starts is unidentified, not unresponsive. */
TEST(links_to_unidentified_nodes_are_reported)
{
	WORLD_CHECK(&rails, false,
		{ "a host", "cold; hang h0; wait 60", "coverage warning fabric" },
		{ "half of all", "cold; hang h0; hang h1; hang h2; hang h3; wait 60", "coverage critical fabric" },
		{ "it is found later", "cold; hang h0; wait 60; unhang h0; wait 400",
		  "coverage warning fabric closed" });
	is_coverage("hang h0; wait 60", "unidentified-nodes",
		    "links to unidentified nodes: 4 (ibwire ports state:unidentified)");
}

/* Most trunks are HDR. */
#define HDR "rate leaf0/101 4 HDR; rate leaf0/102 4 HDR; rate leaf0/103 4 HDR; rate leaf0/104 4 HDR; " \
	    "rate leaf0/105 4 HDR; rate leaf0/106 4 HDR; " \
	    "rate leaf1/101 4 HDR; rate leaf1/102 4 HDR; rate leaf1/103 4 HDR; rate leaf1/104 4 HDR; " \
	    "rate leaf2/101 4 HDR; rate leaf2/102 4 HDR; rate leaf2/103 4 HDR; rate leaf2/104 4 HDR; " \
	    "rate leaf3/101 4 HDR; rate leaf3/102 4 HDR; rate leaf3/103 4 HDR; rate leaf3/104 4 HDR; wait 60; "

TEST(links_that_are_slow)
{
	struct world *world = world_create(&rails);

	WORLD_CHECK(&rails, false,
		{ "a trunk at 1x", "rate leaf0/101 1 NDR; wait 70", "link-degraded critical leaf0/101" },
		{ "for less than a minute", "rate leaf0/101 1 NDR; wait 50; rate leaf0/101 4 NDR; wait 100", "" },
		{ "a slower trunk", "rate leaf0/101 4 HDR; wait 70", "link-degraded critical leaf0/101" },
		{ "a host's", "rate h3.1 4 EDR; wait 70", "link-degraded warning leaf1/4" },
		{ "slower than its parallel link, where most are as slow",
		  HDR "rate leaf0/106 4 NDR; wait 70", "link-degraded critical leaf0/105" },
		{ "a repaired link", "rate h3.1 4 EDR; wait 70; rate h3.1 4 NDR; wait 100",
		  "link-degraded warning leaf1/4 closed" });
	world_run(world, "rate h3.1 4 EDR; wait 70");
	assert_non_null(strstr(world_find(world, FINDING_LINK_DEGRADED)->finding.text, "both ends support 4x NDR"));
	world_destroy(world);
}

/* A switch that responds to nothing; the subnet manager leaves all of its links in Init. */
#define HUNG_SPINE "hang spine0; wait 20; init spine0/1; init spine0/2; init spine0/3; init spine0/4; " \
		   "init spine0/5; init spine0/6; init spine0/7; init spine0/8; "
#define ACTIVE_SPINE "active spine0/1; active spine0/2; active spine0/3; active spine0/4; active spine0/5; " \
		     "active spine0/6; active spine0/7; active spine0/8; "

TEST(links_that_the_subnet_manager_does_not_set_to_active)
{
	const struct finding *const *open, *finding;
	struct world *world = world_create(&rails);

	WORLD_CHECK(&rails, false,
		{ "a trunk", "init leaf0/101; wait 70", "link-not-active warning leaf0/101" },
		{ "for less than a minute", "init leaf0/101; wait 50; active leaf0/101; wait 100", "" },
		{ "a host's", "init h3.1; wait 70", "link-not-active warning leaf1/4" },
		{ "the collector starts with the fabric", "cold; init h3.1; wait 50; active h3.1; wait 100", "" },
		{ "from the start", "cold; init h3.1; wait 70", "link-not-active warning leaf1/4" },
		{ "it becomes active", "init h3.1; wait 70; active h3.1; wait 100",
		  "link-not-active warning leaf1/4 closed" },
		{ "it becomes active, and is slow", "init h3.1; wait 70; active h3.1; rate h3.1 4 EDR; wait 100",
		  "link-degraded warning leaf1/4; link-not-active warning leaf1/4 closed" },
		{ "a host that cannot respond", "init h3.1; silent h3.1; wait 100", "link-not-active warning leaf1/4" },
		{ "all HCAs of a host", "init h1.0; init h1.1; init h1.2; init h1.3; silent h1; wait 100",
		  "link-not-active warning leaf0/2; link-not-active warning leaf1/2; "
		  "link-not-active warning leaf2/2; link-not-active warning leaf3/2" },
		{ "one of many links", "init leaf0/101; silent leaf0; wait 100",
		  "link-not-active warning leaf0/101; node-silent critical leaf0" },
		{ "without a master", "sm lost; init h3.1; wait 100", "sm-lost critical fabric" },
		{ "the master returns, and sets it to Active",
		  "sm lost; init h3.1; wait 100; sm ok; wait 40; active h3.1; wait 100",
		  "sm-lost critical fabric closed" },
		{ "the master returns, and does not",
		  "sm lost; init h3.1; wait 100; sm ok; wait 70",
		  "link-not-active warning leaf1/4; sm-lost critical fabric closed" },
		{ "a response of the master is lost", "init h3.1; wait 50; sm lost; wait 10; sm ok; wait 20",
		  "link-not-active warning leaf1/4" },
		{ "of a switch that hangs", HUNG_SPINE "wait 500", "node-silent critical spine0" },
		{ "of a switch that hung, until the subnet manager sets them to Active",
		  HUNG_SPINE "wait 500; unhang spine0; wait 30; " ACTIVE_SPINE "wait 100",
		  "node-silent critical spine0 closed" },
		{ "of a switch that hung, one for ever", HUNG_SPINE "wait 500; unhang spine0; wait 30; "
		  ACTIVE_SPINE "init spine0/1; wait 60",
		  "link-not-active warning leaf0/101; node-silent critical spine0 closed" },
		{ "of a host that hung", "hang h3.1; wait 20; init h3.1; wait 300; unhang h3.1; wait 40; active h3.1; "
		  "wait 100", "node-silent warning h3 mlx5_1 closed" },
		{ "its host restarts", "kill h3; wait 100; init h3.1; revive h3; wait 200", "" },
		{ "and never becomes active", "kill h3; wait 100; init h3.1; revive h3; wait 400",
		  "link-not-active warning leaf1/4" });
	world_run(world, "init h3.1; wait 70");
	finding = &world_find(world, FINDING_LINK_NOT_ACTIVE)->finding;
	assert_non_null(strstr(finding->text, "been in state Init for at least 60 s: "));
	assert_true(world_number(finding, FINDING_LOWER_BOUND) == 1);
	world_destroy(world);
	world = world_create(&rails);
	world_run(world, "wait 60; " HUNG_SPINE "wait 80; active spine0/1; wait 10");
	assert_int_equal(health_open(world->health, &open), 1);
	assert_non_null(strstr(open[0]->text, "; 7 of its 8 links are in Init and carry no data"));
	world_run(world, "init spine0/1; wait 10");
	assert_non_null(strstr(open[0]->text, "; its links are in Init and carry no data"));
	world_run(world, ACTIVE_SPINE "wait 10");
	assert_non_null(strstr(open[0]->text, "; its links are up"));
	world_destroy(world);
	world = world_create(&rails);
	world_run(world, "wait 60; " HUNG_SPINE "wait 500; unhang spine0; wait 80");
	assert_non_null(strstr(world_find(world, FINDING_LINK_NOT_ACTIVE)->finding.text,
			       "been in state Init for 9 min: "));
	assert_true(isnan(world_number(&world_find(world, FINDING_LINK_NOT_ACTIVE)->finding, FINDING_LOWER_BOUND)));
	world_destroy(world);
}

/* 64 hosts, 16 on each leaf: each fourth of the first 44 is slower. */
static const struct world_shape hosts = { 4, 4, 1, 64, 1 };
#define ELEVEN(rate) \
	"rate h0.0 " rate "; rate h4.0 " rate "; rate h8.0 " rate "; rate h12.0 " rate "; rate h16.0 " rate "; " \
	"rate h20.0 " rate "; rate h24.0 " rate "; rate h28.0 " rate "; rate h32.0 " rate "; rate h36.0 " rate "; " \
	"rate h40.0 " rate "; "

TEST(equal_degraded_links_are_one_finding)
{
	struct world *world = world_create(&hosts);
	const struct finding *finding;

	WORLD_CHECK(&hosts, false,
		{ "eleven hosts", ELEVEN("4 EDR") "wait 100", "link-degraded warning fabric" },
		{ "from the start", "cold; " ELEVEN("4 EDR") "wait 100", "link-degraded warning fabric" },
		{ "a bad cable among them", ELEVEN("4 EDR") "rate h1.0 1 NDR; wait 100; rate h2.0 4 EDR; wait 100",
		  "link-degraded warning fabric; link-degraded warning leaf0/2; link-degraded warning leaf0/3" },
		{ "one of them becomes slower", ELEVEN("4 EDR") "wait 100; rate h4.0 1 EDR; wait 20",
		  "link-degraded warning fabric; link-degraded warning leaf0/5" },
		{ "one of them is repaired, and discards packets", ELEVEN("4 EDR") "wait 100; rate h4.0 4 NDR; "
		  "wait 20; count leaf0/5 xmit_discards 200; wait 120",
		  "link-degraded warning fabric; xmit-discards warning leaf0/5" },
		{ "a restart of the collector", "rate h1.0 4 EDR; wait 100; " ELEVEN("4 EDR") "wait 100; restart; "
		  "wait 300", "link-degraded warning fabric; link-degraded warning leaf0/2" },
		{ "they are repaired", ELEVEN("4 EDR") "wait 100; " ELEVEN("4 NDR") "wait 100",
		  "link-degraded warning fabric closed" },
		{ "eleven that are not Active", "init h0.0; init h1.0; init h2.0; init h3.0; init h4.0; init h5.0; "
		  "init h6.0; init h7.0; init h8.0; init h9.0; init h10.0; wait 100",
		  "link-not-active warning fabric" });
	world_run(world, "rate h1.0 4 EDR; wait 100; " ELEVEN("4 EDR") "wait 100");
	finding = &world->reports[1].finding;
	assert_string_equal(finding->subject, "leaf - compute links");
	assert_string_equal(finding->text, "11 equal links (device ID 4129); worst: runs at 4x EDR (100 Gb/s), both "
			    "ends support 4x NDR (400 Gb/s); first: h0, h4, h8");
	assert_int_equal(finding->affected_hosts, 11);
	/* The last one is a threshold. */
	assert_int_equal(finding->number_count, 4);
	assert_string_equal(finding->numbers[2].key, "links");
	assert_true(finding->numbers[2].value == 11);
	/* Nine of them are left: they stay one finding, and a restart does not change it. */
	world_run(world, "rate h0.0 4 NDR; rate h4.0 4 NDR; wait 100; restart; wait 100");
	assert_int_equal(world->report_count, 2);
	assert_int_equal(world->reports[1].changed, 0);
	assert_int_equal(world->reports[1].closed, 0);
	world_destroy(world);
}

/* How each port of a set gets a finding of a kind: a command for it. */
static const struct { enum finding_kind kind; const char *command, *rest, *then; unsigned passes; } floods[] = {
	{ FINDING_LINK_DEGRADED, "rate", "4 EDR", "wait 100", 1 },
	{ FINDING_LINK_FLAPPING, "count", "link_downed 1", "wait 600", 2 },
	{ FINDING_SYMBOL_ERRORS, "count", "symbol_errors 5", "wait 10", 20 },
	{ FINDING_FEC_UNCORRECTABLE, "fec", "3000000", "wait 200", 1 },
	{ FINDING_RECEIVE_ERRORS, "count", "rcv_errors 50", "wait 200", 1 },
	{ FINDING_LINK_ERRORS, "count", "link_error_recovery 150", "wait 100", 1 },
	{ FINDING_CONSTRAINT_ERRORS, "count", "rcv_constraint_errors 250", "wait 100", 1 },
	{ FINDING_XMIT_DISCARDS, "count", "xmit_discards 400", "wait 100", 1 },
};

static void run_flood(struct world *world, size_t flood, unsigned hosts_hit)
{
	for (unsigned pass = 0; pass < floods[flood].passes; pass++) {
		for (unsigned i = 0; i < hosts_hit; i++) {
			char command[64];

			snprintf(command, sizeof(command), "%s h%u.0 %s", floods[flood].command, i,
				 floods[flood].rest);
			world_run(world, command);
		}
		world_run(world, floods[flood].then);
	}
}

/* The finding of a group has every port, once. */
static void assert_group(const struct finding *finding, unsigned hosts_hit)
{
	unsigned last = finding->number_count - 1;

	while (last && !strncmp(finding->numbers[last].key, FINDING_THRESHOLD, strlen(FINDING_THRESHOLD)))
		last--;
	if (finding->node_guid || !finding->tag)
		fail_msg("%u hosts: %s %s: %s", hosts_hit, finding_kind_name(finding->kind), finding->subject,
			 finding->text);
	assert_int_equal(finding->affected_hosts, hosts_hit);
	assert_int_equal(finding->port_count, hosts_hit);
	assert_string_equal(finding->numbers[last].key, "links");
	assert_true(finding->numbers[last].value == hosts_hit);
	for (unsigned i = 0; i < finding->port_count; i++)
		for (unsigned j = 0; j < i; j++)
			assert_true(finding->ports[i].node_guid != finding->ports[j].node_guid ||
				    finding->ports[i].port != finding->ports[j].port);
}

static void assert_flood(size_t flood, unsigned hosts_hit, bool restart)
{
	struct world *world = world_create(&hosts);
	const struct finding *const *open;
	unsigned found = 0;
	size_t count;

	world_run(world, "wait 60");
	run_flood(world, flood, hosts_hit);
	if (restart) {
		world_run(world, "restart; wait 10");
		run_flood(world, flood, hosts_hit);
	}
	count = health_open(world->health, &open);
	for (size_t i = 0; i < count; i++) {
		if (open[i]->kind != floods[flood].kind)
			continue;
		found++;
		if (hosts_hit < 10)
			assert_int_equal(open[i]->port_count, 0);
		else
			assert_group(open[i], hosts_hit);
	}
	if (found != (hosts_hit < 10 ? hosts_hit : 1))
		fail_msg("%s at %u hosts: %u findings", finding_kind_name(floods[flood].kind), hosts_hit, found);
	world_destroy(world);
}

TEST(equal_findings_of_many_ports_are_one_with_all_ports)
{
	static const unsigned numbers[] = { 1, 9, 10, 23, 31 };

	for (size_t i = 0; i < sizeof(floods) / sizeof(*floods); i++)
		for (size_t j = 0; j < sizeof(numbers) / sizeof(*numbers); j++)
			assert_flood(i, numbers[j], numbers[j] == 23);
}

/* The rates in the text are those of the numbers, and the link runs at the first of them. */
static void check_rates(const struct finding *finding, const struct world_link *link)
{
	const struct finding_number *number = finding->numbers;
	/* That of equal links has the text of one of them after their number. */
	const char *text = strstr(finding->text, "runs at ");
	unsigned lanes[2];
	char speed[2][8];
	double gbps[2];

	if (!text || (text != finding->text && finding->node_guid) ||
	    (sscanf(text, "runs at %ux %7s (%lf Gb/s), both ends support %ux %7s (%lf Gb/s)", &lanes[0], speed[0],
		    &gbps[0], &lanes[1], speed[1], &gbps[1]) != 6 &&
	     sscanf(text, "runs at %ux %7s (%lf Gb/s), both ends have enabled %ux %7s (%lf Gb/s)", &lanes[0], speed[0],
		    &gbps[0], &lanes[1], speed[1], &gbps[1]) != 6))
		fail_msg("%s", finding->text);
	assert_string_equal(number[0].key, "rate_gbps");
	assert_string_equal(number[1].key, "best_gbps");
	assert_int_equal(lanes[0], link_width_lanes(link->width));
	assert_string_equal(speed[0], link_speed_name((enum link_speed)link->speed));
	for (int i = 0; i < 2; i++) {
		double rate = (double)link_rate_bits_per_s(link_width_code(lanes[i]), link_speed_by_name(speed[i]));

		assert_float_equal(number[i].value, rate / 1e9, 1e-6);
		assert_float_equal(gbps[i], rate / 1e9, 0.51);
	}
	assert_true(number[0].value < number[1].value);
	/* A port of four lanes may report 8x. */
	assert_true(lanes[1] <= 4 || lanes[0] > 4);
}

/* A link at each rate, in a fabric of each rate; @known: which rates the ports support is known. */
static unsigned check_all_rates(uint8_t width, uint8_t speed, bool known)
{
	struct world *world = world_create(&single);
	struct world_link *link = world->link_of[0][1];
	uint8_t widths = LINK_WIDTH_2X | (LINK_WIDTH_12X * 2 - 1);
	unsigned found = 0;

	for (uint32_t i = 0; i < world->link_count; i++) {
		world->links[i].width = width;
		world->links[i].speed = speed;
	}
	world->rates = (struct world_rates){ known ? widths : 0, widths, (uint16_t)(known ? (2 << speed) - 1 : 0),
					     (uint16_t)((2 << speed) - 1) };
	for (uint8_t code = 1; code <= LINK_WIDTH_2X; code = (uint8_t)(2 * code))
		for (link->width = code, link->speed = LINK_SPEED_SDR; link->speed <= speed; link->speed++) {
			const struct finding *const *open;
			size_t count;

			world->changed = true;
			world_run(world, "wait 200");
			count = health_open(world->health, &open);
			for (size_t i = 0; i < count; i++) {
				if (open[i]->kind != FINDING_LINK_DEGRADED)
					continue;
				/* All others, if they are narrower than the ends have enabled. */
				check_rates(open[i], open[i]->node_guid ? link : &world->links[world->link_count - 1]);
				found += open[i]->node_guid != 0;
			}
		}
	world_destroy(world);
	return found;
}

TEST(texts_and_numbers_of_degraded_links_agree_at_all_rates)
{
	unsigned found = 0, step = 4 / test_cases(4);

	for (uint8_t code = 1; code <= LINK_WIDTH_2X; code = (uint8_t)(2 * code))
		for (uint8_t speed = LINK_SPEED_SDR; speed < LINK_SPEED_COUNT; speed = (uint8_t)(speed + step))
			found += check_all_rates(code, speed, true) + check_all_rates(code, speed, false);
	assert_in_range(found, 1000 / step / 2, 2000);
}

TEST(equal_names_have_the_last_digits_of_the_guid)
{
	struct world *world = world_create(&single);

	for (uint32_t i = 0; i < 8; i++)
		strcpy(world->nodes[i].name, "SwitchIB Mellanox Technologies");
	world_run(world, "wait 60");
	world->link_of[0][101]->down = true;
	world->changed = true;
	world_run(world, "wait 40");
	assert_string_equal(world_find(world, FINDING_LINK_DOWN)->finding.subject,
			    "SwitchIB Mellanox Technologies (1000)/101 - SwitchIB Mellanox Technologies (2000)/1");
	assert_non_null(strstr(world_find(world, FINDING_LINK_DOWN)->finding.text,
			       "uplinks of SwitchIB Mellanox Technologies (1000) are down"));
	world_destroy(world);
}

TEST(links_that_flap)
{
	WORLD_CHECK(&rails, false,
		{ "once", "down leaf0/101; wait 10; up leaf0/101; wait 600", "" },
		{ "twice in a day",
		  "down leaf0/101; wait 10; up leaf0/101; wait 7200; down leaf0/101; wait 10; up leaf0/101; wait 600",
		  "link-flapping warning leaf0/101" },
		{ "three times in an hour",
		  "count leaf0/101 link_downed 1; wait 600; count leaf0/101 link_downed 2; wait 60",
		  "link-flapping critical leaf0/101" },
		{ "seen and counted is once", "down leaf0/101; wait 10; up leaf0/101; count leaf0/101 link_downed 1; "
		  "count spine0/1 link_downed 1; wait 600", "" },
		{ "both ends count the same", "count leaf0/101 link_downed 1; count spine0/1 link_downed 1; wait 600",
		  "" },
		{ "two days apart", "count leaf0/101 link_downed 1; wait 90000; count leaf0/101 link_downed 1; wait 60",
		  "" },
		{ "closes a day later", "count leaf0/101 link_downed 2; wait 86460",
		  "link-flapping warning leaf0/101 closed" },
		{ "a host's link", "count h3.1 link_downed 1; wait 600; count leaf1/4 link_downed 1; wait 60; "
		  "count leaf1/4 link_downed 1; wait 60", "link-flapping warning leaf1/4" },
		{ "restarts do not count", "kill h3; wait 100; revive h3; wait 1000; kill h3; wait 100; revive h3; "
		  "wait 1000; kill h3; wait 100; revive h3; wait 600", "" });
}

TEST(links_with_errors)
{
	WORLD_CHECK(&rails, false,
		{ "7 symbols an hour", "spread leaf0/101 symbol_errors 7 7; wait 60", "" },
		{ "8 symbols", "spread leaf0/101 symbol_errors 8 8; wait 60", "symbol-errors warning leaf0/101" },
		{ "15 symbols", "spread leaf0/101 symbol_errors 15 15; wait 60", "symbol-errors warning leaf0/101" },
		{ "16 symbols", "spread leaf0/101 symbol_errors 16 16; wait 60", "symbol-errors critical leaf0/101" },
		{ "in two sweeps", "spread leaf0/101 symbol_errors 30 2; wait 60", "" },
		{ "HDR has two hours for as many", HDR "spread leaf0/101 symbol_errors 4 4; "
		  "spread leaf0/102 symbol_errors 7 7; wait 3600; spread leaf0/101 symbol_errors 4 4; wait 60",
		  "symbol-errors warning leaf0/101" },
		{ "and no more", HDR
		  "spread leaf0/101 symbol_errors 4 4; wait 7800; spread leaf0/101 symbol_errors 4 4; wait 60", "" },
		{ "a host's link, half a minute later", "spread leaf1/4 symbol_errors 9 3; wait 60",
		  "symbol-errors warning leaf1/4" },
		{ "both ends are one", "count spine0/1 symbol_errors 4; spread leaf0/101 symbol_errors 9 3; "
		  "count spine0/1 symbol_errors 20; wait 10; count spine0/1 symbol_errors 20; wait 10; "
		  "count spine0/1 symbol_errors 20; wait 60", "symbol-errors critical leaf0/101" },
		{ "in training", "down leaf0/101; wait 10; up leaf0/101; spread leaf0/101 symbol_errors 50 25; wait 60",
		  "" },
		{ "when training is over",
		  "down leaf0/101; wait 10; up leaf0/101; wait 300; spread leaf0/101 symbol_errors 8 8; wait 60",
		  "symbol-errors warning leaf0/101" },
		{ "it closes", "spread leaf0/101 symbol_errors 8 8; wait 4200",
		  "symbol-errors warning leaf0/101 closed" },
		{ "9 damaged packets", "count leaf0/101 rcv_errors 9; wait 60", "" },
		{ "10 damaged packets", "count leaf0/101 rcv_errors 10; wait 60", "receive-errors warning leaf0/101" },
		{ "100 damaged packets", "count leaf0/101 rcv_errors 100; wait 60",
		  "receive-errors critical leaf0/101" },
		{ "they are a symptom of symbol errors", "count leaf0/101 rcv_errors 9; "
		  "spread leaf0/101 symbol_errors 20 4; count leaf0/101 rcv_errors 50; wait 60",
		  "symbol-errors critical leaf0/101" },
		{ "marked upstream", "count leaf0/101 rcv_errors 20; "
		  "count leaf1/101 rcv_remote_physical_errors 5000; count h1.1 rcv_remote_physical_errors 5000; "
		  "wait 60", "receive-errors warning leaf0/101" },
		{ "relay errors", "spread leaf0/101 rcv_switch_relay_errors 50000 10; wait 60", "" },
		{ "management packets dropped", "count leaf0/101 vl15_dropped 50; wait 60",
		  "receive-errors warning leaf0/101" },
		{ "some management packets dropped", "count leaf0/101 vl15_dropped 49; wait 60", "" },
		{ "99 link errors", "count leaf0/101 link_error_recovery 99; wait 60", "" },
		{ "100 link errors of three kinds", "count leaf0/101 link_error_recovery 40; "
		  "count leaf0/101 local_link_integrity_errors 30; "
		  "count leaf0/101 excessive_buffer_overrun_errors 30; wait 60", "link-errors warning leaf0/101" },
		{ "link errors in 6 minutes", "count leaf0/101 link_error_recovery 60; wait 360; "
		  "count leaf0/101 link_error_recovery 60; wait 60", "" },
		{ "link errors are a symptom of symbol errors", "spread leaf0/101 symbol_errors 20 4; "
		  "count leaf0/101 link_error_recovery 150; wait 60", "symbol-errors critical leaf0/101" },
		{ "199 packets of a wrong partition", "count leaf0/101 rcv_constraint_errors 199; wait 60", "" },
		{ "200 packets of a wrong partition", "count leaf0/101 rcv_constraint_errors 120; "
		  "count leaf0/101 xmit_constraint_errors 80; wait 60", "constraint-errors warning leaf0/101" },
		{ "corrected blocks", "corrected leaf0/101 4000000; wait 60", "" },
		{ "uncorrectable blocks", "fec leaf0/101 150; wait 60", "fec-uncorrectable warning leaf0/101" },
		{ "uncorrectable blocks below the threshold", "fec leaf0/101 149; wait 60", "" },
		{ "many uncorrectable blocks", "fec leaf0/101 300; wait 60", "fec-uncorrectable critical leaf0/101" });
}

TEST(ports_that_discard)
{
	struct world *world = world_create(&rails);
	const struct finding *const *open;

	WORLD_CHECK(&rails, false,
		{ "a trunk, two minutes",
		  "wait 80; count leaf0/101 xmit_discards 500; wait 60; count leaf0/101 xmit_discards 500; wait 120",
		  "" },
		{ "a trunk, three minutes", "wait 80; count leaf0/101 xmit_discards 10; wait 60; "
		  "count leaf0/101 xmit_discards 10; wait 60; count leaf0/101 xmit_discards 10; wait 60",
		  "xmit-discards warning leaf0/101" },
		{ "9 a minute", "wait 80; count leaf0/101 xmit_discards 9; wait 60; count leaf0/101 xmit_discards 9; "
		  "wait 60; count leaf0/101 xmit_discards 9; wait 60", "" },
		{ "200 in one of them", "wait 80; count leaf0/101 xmit_discards 10; wait 60; "
		  "count leaf0/101 xmit_discards 200; wait 60; count leaf0/101 xmit_discards 10; wait 60",
		  "xmit-discards critical leaf0/101" },
		{ "to a host, 199", "count leaf0/4 xmit_discards 199; wait 120", "" },
		{ "to a host", "count leaf0/4 xmit_discards 200; wait 120", "xmit-discards warning leaf0/4" },
		{ "to a host, never critical", "spread leaf0/4 xmit_discards 50000 30; wait 120",
		  "xmit-discards warning leaf0/4" },
		{ "to a host that goes down", "count leaf0/4 xmit_discards 900; count leaf1/4 rcv_errors 90; "
		  "wait 10; kill h3; wait 200; revive h3; wait 10; count leaf0/4 xmit_discards 900; wait 600", "" });
	/* Both ends of a link: the text names the port. */
	world_run(world, "count leaf0/4 xmit_discards 200; wait 10; count h3.0 xmit_discards 300; wait 120");
	assert_int_equal(health_open(world->health, &open), 2);
	assert_string_equal(open[0]->subject, open[1]->subject);
	assert_non_null(strstr(open[0]->text, "200 packets discarded in 2 min at leaf0/4; "));
	assert_non_null(strstr(open[1]->text, "300 packets discarded in 2 min at h3 mlx5_0/1; "));
	world_destroy(world);
}

TEST(the_fabric_as_a_whole)
{
	WORLD_CHECK(&rails, true,
		{ "no master for two sweeps", "sm lost; wait 20; sm ok; wait 60", "" },
		{ "no master", "sm lost; wait 30", "sm-lost critical fabric" },
		{ "a handover", "sm 0x88; wait 60", "sm-lost info fabric" },
		{ "two masters", "masters 2; wait 30", "sm-lost critical fabric" },
		{ "two masters for 20 s", "masters 2; wait 20; masters 1; wait 60", "" },
		{ "a few ports unread", "unread 5; wait 40", "coverage warning fabric" },
		{ "many ports unread", "unread 30; wait 40", "coverage critical fabric" },
		{ "unread for 20 s", "unread 30; wait 20; unread 0; wait 60", "" },
		{ "a locked node", "lock h3.1; wait 60", "locked info h3 mlx5_1" },
		{ "many locked nodes", "lock h1; lock h2; lock h3; wait 60", "locked info fabric" },
		{ "one port cleared", "reset leaf0/101; wait 100", "counters-cleared info leaf0/101" },
		{ "ten ports cleared", "reset leaf0/101; reset leaf0/102; reset leaf0/103; reset leaf0/104; wait 20; "
		  "reset leaf1/101; reset leaf1/102; reset leaf1/103; reset leaf1/104; reset leaf2/101; "
		  "reset leaf2/102; wait 100", "counters-cleared info fabric" },
		{ "a full counter", "full leaf0/101 symbol_errors; wait 60", "counter-saturated info leaf0/101" },
		{ "a full counter of a node that left the fabric",
		  "full h3.1 symbol_errors; wait 60; kill h3; wait 4000", "counter-saturated info h3 mlx5_1/1 closed; "
		  "host-restart info h3 mlx5_0 closed; node-missing warning h3 mlx5_0; "
		  "topology-changed info fabric closed" },
		{ "a log that cannot be truncated", "log 70000000; wait 60; log 0; wait 90",
		  "log-growing warning fabric closed" },
		{ "nodes that the database leaves out", "left-out 40; wait 60; left-out 0; wait 90",
		  "nodes-left-out warning fabric closed" },
		{ "no sweep stored for a minute", "stalled 60; wait 10; stalled 0; wait 120",
		  "store-stalled warning fabric closed" },
		{ "no sweep stored for 29 s", "stalled 29; wait 10; stalled 0; wait 120", "" },
		{ "a table that changed", "route-change leaf0 12; wait 60", "routes-changed info leaf0" });
	WORLD_CHECK(&single, true,
		{ "all tables changed", "route-change leaf0 12; route-change leaf1 12; route-change leaf2 1; "
		  "route-change leaf3 1; route-change spine0 3; route-change spine1 3; route-change spine2 3; "
		  "route-change spine3 3; wait 60", "routes-changed info leaf0; routes-changed info leaf1; "
		  "routes-changed info leaf2; routes-changed info leaf3; routes-changed info spine0; "
		  "routes-changed info spine1; routes-changed info spine2; routes-changed info spine3" });
}

/* The origin of a reset is unknown: `ibwire clear` is possible, too. */
TEST(the_origin_of_a_reset_is_not_stated)
{
	static const char *const scripts[] = {
		"wait 60; reset leaf0/101; wait 100",
		"wait 60; reset leaf0/101; reset leaf0/102; reset leaf0/103; reset leaf0/104; reset leaf1/101; reset "
		"leaf1/102; reset leaf1/103; reset leaf1/104; reset leaf2/101; reset leaf2/102; wait 100",
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		struct world *world = world_create(&rails);

		world_run(world, scripts[i]);
		assert_int_equal(world->report_count, 1);
		assert_int_equal(world->reports[0].finding.kind, FINDING_COUNTERS_CLEARED);
		assert_non_null(strstr(world->reports[0].finding.text, "ibwire clear"));
		assert_null(strstr(world->reports[0].finding.text, "else"));
		world_destroy(world);
	}
}

#define TEN "reset leaf0/101; reset leaf0/102; reset leaf0/103; reset leaf0/104; reset leaf1/101; " \
	      "reset leaf1/102; reset leaf1/103; reset leaf1/104; reset leaf2/101; reset leaf2/102; wait 10; "
#define ONE "reset leaf0/101; wait 60; "

TEST(regular_resets_are_one_warning)
{
	struct world *world = world_create(&rails);
	const struct finding *finding;

	WORLD_CHECK(&rails, true,
		{ "three times", "wait 60; " ONE ONE ONE "wait 300", "counters-cleared info leaf0/101" },
		{ "three times an hour", "wait 60; " ONE "wait 1200; " ONE "wait 1200; " ONE "wait 1200; " ONE
		  "wait 300",
		  "counters-cleared info leaf0/101 x4" },
		{ "one port", "wait 60; " ONE ONE ONE ONE,
		  "counters-cleared info leaf0/101 closed; counters-cleared warning leaf0/101" },
		{ "at once in each sweep", "wait 60; reset leaf0/101; wait 10; reset leaf0/101; wait 10; "
		  "reset leaf0/101; wait 10; reset leaf0/101; wait 10", "counters-cleared warning leaf0/101" },
		{ "a node", "wait 60; reset leaf0/101; reset leaf0/102; wait 10; reset leaf0/101; reset leaf0/102; "
		  "wait 10; reset leaf0/101; reset leaf0/102; wait 10; reset leaf0/101; reset leaf0/102; wait 10",
		  "counters-cleared warning leaf0" },
		{ "all", "wait 60; " TEN TEN TEN TEN, "counters-cleared warning fabric" },
		{ "it stops", "wait 60; " TEN TEN TEN TEN "wait 360", "counters-cleared warning fabric closed" },
		{ "a port, then its node", "wait 60; " ONE ONE ONE ONE "reset leaf0/102; reset leaf0/101; wait 60; "
		  "reset leaf0/102; reset leaf0/101; wait 60",
		  "counters-cleared info leaf0/101 closed; counters-cleared warning leaf0; "
		  "counters-cleared warning leaf0/101 closed" },
		{ "every nine minutes", "wait 60; " ONE "wait 480; " ONE "wait 480; " ONE "wait 480; " ONE "wait 480; "
		  ONE "wait 480; " ONE "wait 480",
		  "counters-cleared info leaf0/101 x3 closed; counters-cleared warning leaf0/101" },
		{ "a restart of the collector", "wait 60; " TEN TEN TEN TEN "restart; wait 30; " TEN "wait 400",
		  "counters-cleared warning fabric" },
		{ "a link that flaps", "wait 60; down leaf0/101; wait 20; up leaf0/101; " ONE ONE ONE ONE "wait 300",
		  "" });
	world_run(world, "wait 60; " TEN TEN TEN TEN);
	finding = &world_find_tag(world, FINDING_COUNTERS_CLEARED, 1)->finding;
	assert_string_equal(finding->cause, "repeated");
	assert_non_null(strstr(finding->text, "counters of 10 of 128 ports are reset externally every 10 s or more "
			       "often"));
	assert_non_null(strstr(finding->text, "100 % of the deltas of these ports are lower bounds"));
	assert_non_null(strstr(finding->advice, "perfquery -R"));
	assert_int_equal(finding->port_count, 10);
	assert_in_range(finding->since_us - WORLD_WALL_US, 55000000, 75000000);
	world_destroy(world);
}

TEST(full_data_counters_have_unknown_traffic)
{
	WORLD_CHECK(&rails, true,
		{ "one end", "full leaf0/101 xmit_data; wait 10", "counter-saturated info leaf0/101" },
		{ "both ends", "full leaf0/101 xmit_data; full spine0/1 rcv_data; wait 10",
		  "counter-saturated warning fabric" },
		{ "packets", "full leaf0/101 xmit_packets; wait 10", "" },
		{ "the link is down", "full leaf0/101 xmit_data; wait 60; down leaf0/101; wait 400",
		  "counter-saturated info leaf0/101 closed; link-down warning leaf0/101" },
		{ "the other end never responded", "cold; silent spine0; wait 60; full leaf0/101 xmit_data; wait 10",
		  "counter-saturated warning leaf0/101; node-silent critical spine0" },
		{ "it does not respond any more", "silent spine0; wait 60; full leaf0/101 xmit_data; wait 10",
		  "counter-saturated warning leaf0/101; node-silent critical spine0" });
}

/* A finding about N of M ports: those that do not respond at the moment are among both. */
TEST(ports_of_a_finding_are_counted_among_known_ports)
{
	static const char *const befores[] = {
		"full leaf0/101 xmit_data; wait 20", "full leaf0/101 xmit_data; full leaf0/102 xmit_data; wait 20",
		TEN TEN TEN TEN, TEN TEN TEN TEN "kill spine0",
	};
	static const char *const silences[] = {
		"silent leaf0", "silent leaf0; silent leaf1; silent leaf2",
		("silent leaf0; silent leaf1; silent leaf2; silent leaf3; silent spine0; silent spine1; silent spine2; "
		 "silent spine3; silent h0; silent h1; silent h2; silent h3; silent h4; silent h5; silent h6; silent "
		 "h7"),
	};
	const size_t count = sizeof(silences) / sizeof(silences[0]);

	for (size_t i = 0; i < count * sizeof(befores) / sizeof(befores[0]); i++) {
		struct world *world = world_create(&rails);
		const struct finding *const *open;
		unsigned checked = 0;

		world_run(world, "wait 60");
		world_run(world, befores[i / count]);
		world_run(world, silences[i % count]);
		world_run(world, "wait 10");
		for (size_t j = 0, of = health_open(world->health, &open); j < of; j++) {
			const char *text = strstr(open[j]->text, "counters of ");
			unsigned some, all;

			if (!text || (sscanf(text, "counters of %u (of %u) ports", &some, &all) != 2 &&
				      sscanf(text, "counters of %u of %u ports", &some, &all) != 2))
				continue;
			checked++;
			if (some > all || all > 128)
				fail_msg("%s; %s: %s", befores[i / count], silences[i % count], open[j]->text);
		}
		assert_int_equal(checked, 1);
		world_destroy(world);
	}
}

/* Four hosts with four HCAs each on four leaves, two spines: 16 links to hosts, 8 between switches. */
TEST(fewer_nodes_than_expected)
{
	static const struct world_shape four = { .leaves = 4, .spines = 2, .parallel = 1, .hosts = 4, .rails = 4 };
	struct world *world = world_create(&four);
	const struct world_report *report;

	WORLD_CHECK(&four, false,
		{ "no settings", "kill h3; wait 2000", "node-missing warning h3 mlx5_0" },
		{ "all are present", "cold; expect 4 16 6 24; wait 2000", "" },
		{ "a host is missing for less than 15 min", "cold; expect 4 16 6 24; wait 60; kill h3; wait 880", "" },
		{ "it is missing, and returns",
		  "cold; expect 4 16 6 24; wait 60; kill h3; wait 940; revive h3; wait 600",
		  "node-missing warning h3 mlx5_0 closed; topology-changed warning fabric closed" },
		{ "reboots", "cold; expect 4 16 6 24; wait 60; kill h2; wait 600; revive h2; wait 600; kill h1; "
		  "wait 600; revive h1; wait 600", "" },
		{ "from the start", "cold; expect 5 0 0 0; wait 960", "topology-changed warning fabric" });
	world_run(world, "expect 4 16 6 24; wait 60; kill h3; wait 940");
	report = world_find_tag(world, FINDING_TOPOLOGY_CHANGED, 1);
	assert_non_null(strstr(report->finding.text, "3 of 4 hosts, 12 of 16 HCAs, 20 of 24 Active links"));
	assert_in_range(report->finding.since_us - WORLD_WALL_US, 50000000, 90000000);
	world_destroy(world);
}

/*
 * Runs last: record_report() requires a place of every finding that a test of this program reports. The kinds of load
 * and routes are reported in other programs.
 */
TEST(every_kind_was_reported_with_its_place)
{
	const uint64_t others = UINT64_C(1) << FINDING_UPLINK_IMBALANCE | UINT64_C(1) << FINDING_BLACK_HOLE |
				UINT64_C(1) << FINDING_CONGESTION | UINT64_C(1) << FINDING_RAIL_IMBALANCE |
				UINT64_C(1) << FINDING_NIC_UNUSED | UINT64_C(1) << FINDING_RAIL_MISWIRED |
				UINT64_C(1) << FINDING_TRAFFIC_FELL | UINT64_C(1) << FINDING_PLAN_DIFFERS |
				UINT64_C(1) << FINDING_FIRMWARE_MIXED | UINT64_C(1) << FINDING_CABLE_HOT |
				UINT64_C(1) << FINDING_PARTITION | UINT64_C(1) << FINDING_JOB_STALLED |
				UINT64_C(1) << FINDING_JOB_SLOWER;

	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++)
		if (!((world_kinds | others) >> kind & 1))
			fail_msg("no test reports %s", finding_kind_name((enum finding_kind)kind));
}
