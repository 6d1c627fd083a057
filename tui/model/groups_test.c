/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/format.h"
#include "tui/model/context.h"
#include "tui/model/test_sample.h"
#include "tui/model/port_table.h"

enum { LEAVES = 4, TURNS = 200 };

struct made {
	struct sample_model model;
	struct finding_row findings[4];
	struct port_groups groups;
};

static int setup(void **state)
{
	struct made *made = *state = sample_model_create(sizeof(*made), LEAVES, false);

	if (made)
		made->model.context.findings = made->findings;
	return made ? 0 : -1;
}

static int teardown(void **state)
{
	struct made *made = *state;

	groups_done(&made->groups);
	sample_model_done(&made->model);
	free(made);
	return 0;
}

static bool is_up(const struct made *made, uint32_t port)
{
	return made->model.sample.fabric->ports[port].peer != FABRIC_NONE &&
	       made->model.sample.fabric->ports[port].state >= PORT_INIT;
}

static double draw_number(unsigned most)
{
	return (double)((unsigned)rand() % (most * 100)) / 100;
}

/* Random values of every port: some are unknown, some above 100 %. */
static void fill(struct made *made, bool all_known)
{
	for (size_t i = 0; i < made->model.sample.fabric->port_count; i++) {
		struct port_facts *port = &made->model.table.ports[i];
		bool known = all_known || rand() % 8;

		*port = (struct port_facts){
			.status = !is_up(made, (uint32_t)i) ? STATUS_DOWN : known ? STATUS_OK : STATUS_SILENT,
			.unused = !is_up(made, (uint32_t)i) && rand() % 2,
			.xmit_percent = measure_of(known ? draw_number(110) : NAN, rand() % 16),
			.xmit_bytes_per_s = measure_of(known ? draw_number(1000) : NAN, rand() % 16),
			.stall_percent = measure_of(rand() % 2 ? draw_number(100) : NAN, rand() % 16),
			.errors = rand() % 2 ? measure_of((double)(rand() % 5), rand() % 50) : MEASURE_NONE,
		};
	}
}

static void make(struct made *made)
{
	assert_int_equal(groups_make(&made->model.table, &made->model.context, &made->groups, NULL), 0);
}

static const struct port_group *find(const struct made *made, const char *name)
{
	for (size_t i = 0; i < made->groups.count; i++)
		if (!strcmp(made->groups.list[i].name, name))
			return &made->groups.list[i];
	return NULL;
}

/* The expected row of a port, from the names of the nodes at its ends. */
static const char *row_name(const struct made *made, uint32_t index)
{
	const struct fabric *fabric = made->model.sample.fabric;
	const struct port *port = &fabric->ports[index];
	const char *name = made->model.table.order.names[port->node], *peer;

	if (port->peer == FABRIC_NONE)
		return NULL;
	peer = made->model.table.order.names[fabric->ports[port->peer].node];
	if (!strncmp(name, "leaf", 4))
		return !strncmp(peer, "spine", 5) ? "leaf up" : "compute in";
	return !strncmp(name, "spine", 5) ? "spine down" : "compute out";
}

static void near(double a, double b)
{
	if (isnan(a) || isnan(b))
		assert_int_equal(isnan(a), isnan(b));
	else
		assert_true(fabs(a - b) <= 1e-9 * (1 + fabs(b)));
}

/* One row, counted independently of the tested code. */
static void check_row(const struct made *made, const char *name, const struct port_group *group)
{
	uint32_t ports = 0, known = 0, exact = 0, silent = 0, buckets[GROUP_BUCKETS] = { 0 }, stalls = 0, bounds = 0;
	double sum = 0, min = 1e9, max = -1, stall = 0, errors = NAN;

	for (uint32_t i = 0; i < made->model.sample.fabric->port_count; i++) {
		const struct port_facts *port = &made->model.table.ports[i];

		if (!row_name(made, i) || strcmp(row_name(made, i), name))
			continue;
		if (!is_up(made, i))
			continue;
		ports++;
		silent += port->status == STATUS_SILENT;
		if (!isnan(port->stall_percent.value))
			stall += port->stall_percent.value, stalls++;
		if (!isnan(port->errors.value))
			errors = (isnan(errors) ? 0 : errors) + port->errors.value;
		bounds += port->errors.exact < port->errors.parts;
		if (isnan(port->xmit_percent.value))
			continue;
		known++;
		exact += port->xmit_percent.exact;
		sum += port->xmit_percent.value;
		min = fmin(min, port->xmit_percent.value);
		max = fmax(max, port->xmit_percent.value);
		for (int b = 0; b < GROUP_BUCKETS; b++)
			if (port->xmit_percent.value >= b * 10 && (b == 9 || port->xmit_percent.value < (b + 1) * 10))
				buckets[b]++;
	}
	assert_int_equal(group->ports, ports);
	assert_int_equal(group->known, known);
	assert_int_equal(group->silent, silent);
	/* Unknown ports may carry nothing: the mean over all ports is certain. At least 0 is unknown. */
	near(group->mean_percent.value, exact == ports || sum > 0 ? sum / ports : NAN);
	near(group->min_percent.value, known && known == ports && (exact == ports || min > 0) ? min : NAN);
	near(group->max_percent.value, known && (exact == ports || max > 0) ? max : NAN);
	assert_int_equal(measure_is_exact(group->mean_percent), known && exact == ports);
	assert_int_equal(measure_is_exact(group->max_percent), known && exact == ports);
	near(group->stall_percent.value, stalls ? stall / stalls : NAN);
	near(group->errors.value, bounds && !errors ? NAN : errors);
	assert_int_equal(measure_is_at_least(group->errors), bounds && errors > 0);
	assert_memory_equal(group->buckets, buckets, sizeof(buckets));
	if (known)
		near(made->model.table.ports[group->hottest].xmit_percent.value, max);
}

MODEL_TEST(every_port_counts_in_exactly_its_row)
{
	static const char *const names[] = { "compute out", "compute in", "leaf up", "spine down" };

	for (int turn = 0; turn < TURNS; turn++) {
		fill(made, turn % 2);
		make(made);
		assert_int_equal(made->groups.count, 4);
		for (int i = 0; i < 4; i++) {
			assert_string_equal(made->groups.list[i].name, names[i]);
			check_row(made, names[i], &made->groups.list[i]);
		}
	}
}

MODEL_TEST(a_group_has_a_filter_for_its_links)
{
	fill(made, true);
	make(made);
	assert_string_equal(find(made, "compute in")->filter, "class:compute");
	assert_string_equal(find(made, "leaf up")->filter, "role:leaf-uplink");
	assert_string_equal(find(made, "spine down")->filter, "role:spine-downlink");
}

MODEL_TEST(nothing_known_is_not_zero)
{
	char text[CELL_SIZE];

	fill(made, true);
	for (size_t i = 0; i < made->model.sample.fabric->port_count; i++) {
		struct port_facts *port = &made->model.table.ports[i];

		port->xmit_percent = port->stall_percent = measure_of(NAN, false);
		port->errors = MEASURE_NONE;
	}
	make(made);
	assert_true(isnan(made->groups.list[0].mean_percent.value) && isnan(made->groups.list[0].max_percent.value));
	assert_true(isnan(made->groups.list[0].stall_percent.value) && isnan(made->groups.list[0].errors.value));
	assert_int_equal(made->groups.list[0].hottest, FABRIC_NONE);
	assert_string_equal(group_state_word(&made->groups.list[0], 20, text, sizeof(text)), "unknown");
	assert_string_equal(group_histogram(&made->groups.list[0], true, text), "          ");
}

/* One finding at a place of leaf02. */
static struct finding_row *add_finding(struct made *made, enum finding_kind kind, enum finding_severity severity,
				       uint8_t port, const char *cause)
{
	struct finding_row *row = &made->findings[made->model.context.finding_count++];
	uint32_t leaf = LEAVES * SAMPLE_HOSTS_PER_LEAF + 1;

	*row = (struct finding_row){ .finding = { .id = (int64_t)made->model.context.finding_count, .kind = kind,
		.severity = severity, .port = port, .cause = cause,
		.node_guid = made->model.sample.fabric->nodes[leaf].guid } };
	return row;
}

MODEL_TEST(a_switch_whose_group_has_a_finding_has_a_row_of_its_own)
{
	const struct port_group *own, *other;
	char text[64];

	fill(made, true);
	add_finding(made, FINDING_UPLINK_IMBALANCE, FINDING_CRITICAL, 0, "routing");
	make(made);
	own = find(made, "leaf02 up");
	other = find(made, "leaf up other");
	assert_true(own && other && own == made->groups.list && !find(made, "leaf up"));
	/* One of its uplinks is down. */
	assert_int_equal(own->ports, SAMPLE_SPINES - 1);
	assert_int_equal(other->ports, SAMPLE_SPINES * (LEAVES - 1));
	assert_int_equal(own->own.kind, SUBJECT_GROUP);
	assert_int_equal(group_state(own), GROUP_STATE_CRITICAL);
	assert_int_equal(group_state(other), GROUP_STATE_OK);
	assert_string_equal(group_state_word(own, 7, text, sizeof(text)), "CRIT");
	assert_string_equal(group_state_word(own, 12, text, sizeof(text)), "CRIT routing");
	assert_string_equal(group_state_word(other, 12, text, sizeof(text)), "ok");
}

MODEL_TEST(acknowledged_findings_have_no_row_and_no_state)
{
	fill(made, true);
	add_finding(made, FINDING_UPLINK_IMBALANCE, FINDING_CRITICAL, 0, "routing")->acknowledged.at_us = 1;
	add_finding(made, FINDING_LINK_DEGRADED, FINDING_WARNING, 1, "width")->acknowledged.at_us = 1;
	make(made);
	assert_int_equal(made->groups.count, 4);
	for (size_t i = 0; i < made->groups.count; i++)
		assert_int_equal(group_state(&made->groups.list[i]), GROUP_STATE_OK);
}

/* As in `ibwire health`, where an explained finding is below the one that explains it, and does not count. */
MODEL_TEST(a_group_has_the_state_of_root_causes)
{
	fill(made, true);
	add_finding(made, FINDING_UPLINK_IMBALANCE, FINDING_CRITICAL, 0, "degraded-member")->origin = 2;
	add_finding(made, FINDING_LINK_DEGRADED, FINDING_WARNING, 34, "width");
	make(made);
	assert_null(find(made, "leaf02 up"));
	assert_int_equal(group_state(find(made, "leaf up")), GROUP_STATE_WARNING);
	assert_int_equal(find(made, "leaf up")->worst->finding.id, 2);
	assert_int_equal(group_state(find(made, "compute in")), GROUP_STATE_OK);
}

MODEL_TEST(a_finding_of_a_link_shows_in_both_of_its_directions)
{
	fill(made, true);
	add_finding(made, FINDING_LINK_DEGRADED, FINDING_WARNING, 1, "width");
	make(made);
	assert_int_equal(group_state(find(made, "compute in")), GROUP_STATE_WARNING);
	assert_int_equal(group_state(find(made, "compute out")), GROUP_STATE_WARNING);
	assert_int_equal(group_state(find(made, "leaf up")), GROUP_STATE_OK);
}

MODEL_TEST(a_link_that_is_down_shows_where_it_was)
{
	struct finding_row *row;

	fill(made, true);
	row = add_finding(made, FINDING_LINK_DOWN, FINDING_WARNING, 33, "cable");
	row->finding.peer_guid = made->model.sample.fabric->nodes[LEAVES * (SAMPLE_HOSTS_PER_LEAF + 1)].guid;
	make(made);
	assert_int_equal(group_state(find(made, "leaf up")), GROUP_STATE_WARNING);
	assert_int_equal(group_state(find(made, "spine down")), GROUP_STATE_WARNING);
	assert_int_equal(group_state(find(made, "compute in")), GROUP_STATE_OK);
}

MODEL_TEST(incast_is_the_state_of_the_sending_group)
{
	char text[64];

	fill(made, true);
	add_finding(made, FINDING_CONGESTION, FINDING_INFO, 1, "incast");
	add_finding(made, FINDING_ROUTES_CHANGED, FINDING_INFO, 0, "");
	make(made);
	assert_string_equal(group_state_word(find(made, "compute in"), 7, text, sizeof(text)), "incast");
	assert_string_equal(group_state_word(find(made, "compute out"), 7, text, sizeof(text)), "ok");
	assert_string_equal(group_state_word(find(made, "leaf up"), 7, text, sizeof(text)), "ok");
}

MODEL_TEST(the_worse_of_two_findings_counts)
{
	fill(made, true);
	add_finding(made, FINDING_LINK_DEGRADED, FINDING_WARNING, 1, "width");
	add_finding(made, FINDING_SYMBOL_ERRORS, FINDING_CRITICAL, 2, "cable");
	add_finding(made, FINDING_LINK_DOWN, FINDING_WARNING, 3, "cable");
	make(made);
	assert_int_equal(find(made, "compute in")->worst->finding.kind, FINDING_SYMBOL_ERRORS);
}

TEST(below_95_percent_coverage_the_state_is_unknown)
{
	struct port_group group = { .ports = 100, .known = 95 };
	const struct finding_row warning = { .finding = { .severity = FINDING_WARNING, .cause = "x" } };

	assert_int_equal(group_state(&group), GROUP_STATE_OK);
	group.known = 94;
	assert_int_equal(group_state(&group), GROUP_STATE_UNKNOWN);
	/* Ports without counters are not expected; without any others the state is unknown. */
	group.no_counters = 6;
	assert_int_equal(group_state(&group), GROUP_STATE_OK);
	group.no_counters = 100;
	assert_int_equal(group_state(&group), GROUP_STATE_UNKNOWN);
	group.worst = &warning;
	assert_int_equal(group_state(&group), GROUP_STATE_WARNING);
}

TEST(the_histogram_shows_every_bucket_that_is_not_empty)
{
	struct port_group group = { .ports = 1009, .known = 1009, .buckets = { 0, 1, 8, 500, 500 } };
	char text[CELL_SIZE];

	assert_string_equal(group_histogram(&group, false, text), ".1199.....");
	assert_string_equal(group_histogram(&group, true, text),
			    ".\xe2\x96\x81\xe2\x96\x81\xe2\x96\x88\xe2\x96\x88.....");
}

MODEL_TEST(an_empty_table_has_no_groups)
{
	const struct port_table none = { 0 };

	assert_int_equal(groups_make(&none, &made->model.context, &made->groups, NULL), 0);
	assert_int_equal(made->groups.count, 0);
}
