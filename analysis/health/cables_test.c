/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings about the temperatures of transceivers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/unit_test.h"

/* Four leaves, 16 hosts with one HCA, four on each leaf; one link to each of four spines. */
static const struct world_shape single = { 4, 4, 1, 16, 1 };

enum { PORTS_MOST = 12 };

static struct health_cable cables[PORTS_MOST];

/* Temperatures of the first ports of hosts, now or some days ago. */
static void import(struct world *world, size_t count, double temperature_c, double before_c, int days_ago)
{
	size_t of = 0;

	for (uint32_t i = 0; i < world->fabric->node_count && of < count; i++) {
		const struct node *node = &world->fabric->nodes[i];

		if (node->type == NODE_SWITCH)
			continue;
		cables[of] = (struct health_cable){
			.node_guid = node->guid, .port = world->fabric->ports[node->first_port].num,
			.temperature_c = temperature_c, .before_c = before_c,
			.wall_us = WORLD_WALL_US + world->now_us - days_ago * INT64_C(86400000000) };
		snprintf(cables[of].serial, sizeof(cables[of].serial), "MT%zu", of);
		of++;
	}
	assert_int_equal(of, count);
	world->cables = cables;
	world->cable_count = count;
}

/* Is a finding open, and the text of the last one? */
static bool reports(struct world *world, size_t count, double temperature_c, double before_c, int days_ago)
{
	const struct world_report *report;

	import(world, count, temperature_c, before_c, days_ago);
	world_run(world, "wait 10");
	report = world_find(world, FINDING_CABLE_HOT);
	return report && report->opened > report->closed;
}

TEST(a_transceiver_above_the_limit_is_a_warning_until_an_import_in_which_it_is_cool)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, "wait 10");
	assert_false(reports(world, 3, 70, NAN, 0));
	assert_true(reports(world, 1, 71, NAN, 0));
	finding = &world_find(world, FINDING_CABLE_HOT)->finding;
	assert_int_equal(finding->severity, FINDING_WARNING);
	assert_string_equal(finding->cause, "temperature");
	assert_non_null(strstr(finding->text, "transceiver MT0 at h0 mlx5_0/1 has 71 C"));
	assert_float_equal(world_number(finding, "temperature_c"), 71, 0);
	import(world, 1, 60, 71, 0);
	world_run(world, "wait 120");
	assert_int_equal(world_find(world, FINDING_CABLE_HOT)->closed, 1);
	world_destroy(world);
}

/* It is about the hotter end, and remains the same one when the other end is hotter. */
TEST(two_hot_ends_of_a_link_are_one_finding)
{
	struct world *world = world_create(&single);
	const struct world_report *report;

	world_run(world, "wait 10");
	import(world, 2, 75, NAN, 0);
	for (uint32_t i = 0; i < world->fabric->node_count; i++) {
		const struct port *port = &world->fabric->ports[world->fabric->nodes[i].first_port];

		if (world->fabric->nodes[i].guid == cables[0].node_guid) {
			const struct port *peer = &world->fabric->ports[port->peer];

			cables[1].node_guid = world->fabric->nodes[peer->node].guid;
			cables[1].port = peer->num;
		}
	}
	cables[0].temperature_c = 80;
	world_run(world, "wait 10");
	report = world_find(world, FINDING_CABLE_HOT);
	assert_int_equal(report->opened, 1);
	assert_non_null(strstr(report->finding.text, "MT0 at h0 mlx5_0/1 has 80 C"));
	assert_non_null(strstr(report->finding.text, "75 C at the other end"));
	cables[1].temperature_c = 90;
	world_run(world, "wait 120");
	assert_int_equal(report->opened, 1);
	assert_int_equal(report->closed, 0);
	world_destroy(world);
}

TEST(a_rise_of_ten_degrees_is_a_warning)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, "wait 10");
	assert_false(reports(world, 1, 49, 40, 0));
	assert_true(reports(world, 1, 50, 40, 0));
	finding = &world_find(world, FINDING_CABLE_HOT)->finding;
	assert_string_equal(finding->cause, "rise");
	assert_non_null(strstr(finding->text, "10 C more than in the import before"));
	world_destroy(world);
}

TEST(a_measurement_of_a_week_ago_is_no_finding)
{
	struct world *world = world_create(&single);

	world_run(world, "wait 10");
	assert_false(reports(world, 1, 90, NAN, 8));
	assert_true(reports(world, 1, 90, NAN, 6));
	world_destroy(world);
}

TEST(more_than_ten_are_one_finding)
{
	struct world *world = world_create(&single);
	const struct finding *finding;

	world_run(world, "wait 10");
	assert_true(reports(world, 11, 75, NAN, 0));
	finding = &world_find(world, FINDING_CABLE_HOT)->finding;
	assert_string_equal(finding->cause, "cooling");
	assert_int_equal(finding->port_count, 11);
	assert_non_null(strstr(finding->text, "11 transceivers are above 70 C"));
	world_destroy(world);
}

TEST(a_port_that_the_fabric_does_not_have_is_ignored)
{
	struct world *world = world_create(&single);

	world_run(world, "wait 10");
	import(world, 2, 80, NAN, 0);
	cables[0].node_guid = 0xdead;
	cables[1].port = 200;
	world_run(world, "wait 10");
	assert_null(world_find(world, FINDING_CABLE_HOT));
	world_destroy(world);
}
