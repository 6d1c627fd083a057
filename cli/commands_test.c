/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands over a database whose truth is known (storage/test_model.h). */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/selection.h"
#include "cli/test_commands.h"
#include "export/escape.h"
#include "fabric/fabric.h"
#include "storage/test_check.h"
#include "storage/test_model.h"
#include "storage/writer.h"

static void assert_errors(const json_t *row, const struct delta *delta)
{
	const json_t *errors = json_object_get(row, "errors"), *unknown = json_object_get(row, "errors_unknown");
	int counter;

	assert_true(json_is_object(errors) && json_is_array(unknown));
	for (counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++) {
		const char *key = counter_info((enum counter)counter)->key;
		counter_set bit = COUNTER_BIT(counter);
		bool known = delta && delta->elapsed_us > 0 && delta->known & bit;
		const json_t *value = json_object_get(errors, key);

		assert_int_equal(list_has(unknown, key), !known || delta->saturated & bit);
		if (known && delta->value[counter])
			assert_true(unsigned_of(value) == delta->value[counter]);
		else
			assert_null(value);
	}
}

static void assert_counters(const json_t *row, const struct reading *reading)
{
	const json_t *counters = json_object_get(row, "counters");
	size_t count = 0;
	int counter;

	for (counter = 0; counter < COUNTER_COUNT; counter++) {
		if (!(reading->present & COUNTER_BIT(counter)))
			continue;
		count++;
		assert_true(unsigned_of(json_object_get(counters, counter_info((enum counter)counter)->key)) ==
			    reading->value[counter]);
	}
	assert_int_equal(json_object_size(counters), count);
}

static void assert_identity(const json_t *row, const struct fabric *fabric, const struct port *port)
{
	const struct node *node = &fabric->nodes[port->node];
	const struct port *peer = port->peer == FABRIC_NONE ? NULL : &fabric->ports[port->peer];
	uint16_t lid = fabric_port_lid(fabric, port);

	assert_text(row, "node", node->name);
	assert_int_equal(integer_of(row, "lid"), lid ? lid : -1);
	assert_text(row, "state", port_state_name(port->state));
	assert_text(row, "phys_state", port_phys_state_name(port->phys_state));
	assert_text(row, "speed", port->speed ? link_speed_name((enum link_speed)port->speed) : NULL);
	assert_true(guid_of(row, "peer_guid") == (peer ? fabric->nodes[peer->node].guid : 0));
	assert_text(row, "peer", peer ? fabric->nodes[peer->node].name : NULL);
	assert_int_equal(integer_of(row, "peer_port"), peer ? peer->num : -1);
	assert_number(row, "rate_gbps", port_rate_bits_per_s(port) ? (double)port_rate_bits_per_s(port) / 1e9 : NAN);
}

static void assert_status(const json_t *row, const struct port *port, enum sample_status status)
{
	const char *word = json_string_value(json_object_get(row, "status"));

	if (port->state == PORT_DOWN || status == SAMPLE_DOWN)
		assert_string_equal(word, "down");
	else if (status == SAMPLE_OK)
		assert_true(!strcmp(word, "ok") || !strcmp(word, "idle"));
	else
		assert_string_equal(word, status == SAMPLE_BACKOFF ? "silent" : sample_status_name(status));
}

/* A port without numbers of its own shows its peer's, the other way round. Return: whether it does. */
static bool is_mirrored(const json_t *rows, const json_t *row, const struct sweep *sweep, size_t sample)
{
	const struct fabric *fabric = sweep->fabric;
	const struct port *peer;
	const json_t *theirs;

	if (json_is_null(json_object_get(row, "window_s")) ||
	    (sweep->samples[sample].status != SAMPLE_UNPLANNED && sweep->samples[sample].status != SAMPLE_UNSUPPORTED))
		return false;
	peer = &fabric->ports[fabric->ports[sweep->samples[sample].port].peer];
	theirs = json_object_get(find_row(rows, fabric->nodes[peer->node].guid, peer->num), "rcv_bytes_per_s");
	assert_number(row, "xmit_bytes_per_s", json_is_null(theirs) ? NAN : json_number_value(theirs));
	return true;
}

static void ports_say_what_the_newest_sweep_found(void **state)
{
	const struct sweep *sweep = &model->sweep;
	json_t *rows = run_json("ports");
	size_t i, deltas = 0, pollable = 0;

	(void)state;
	/* A sweep may leave out ports that it did not plan to ask; they are shown all the same. */
	for (i = 0; i < sweep->fabric->port_count; i++)
		pollable += port_is_pollable(sweep->fabric, &sweep->fabric->ports[i]);
	assert_int_equal(json_array_size(rows), pollable);
	for (i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		const struct port *port = &sweep->fabric->ports[sample->port];
		const json_t *row = find_row(rows, sweep->fabric->nodes[port->node].guid, port->num);
		const struct delta *delta = sample->status == SAMPLE_OK ? sample->delta : NULL, none = { 0 };

		assert_non_null(row);
		assert_identity(row, sweep->fabric, port);
		assert_errors(row, delta);
		if (is_mirrored(rows, row, sweep, i))
			continue;
		assert_status(row, port, sample->status);
		if (sample->status == SAMPLE_OK)
			assert_counters(row, sample->reading);
		deltas += delta && delta->elapsed_us > 0;
		delta = delta ? delta : &none;
		assert_number(row, "xmit_bytes_per_s", rate_bytes_per_s(delta, COUNTER_XMIT_DATA));
		assert_number(row, "rcv_bytes_per_s", rate_bytes_per_s(delta, COUNTER_RCV_DATA));
		assert_number(row, "rcv_packets_per_s", rate_per_s(delta, COUNTER_RCV_PACKETS));
		assert_number(row, "xmit_wait_ticks_per_s", rate_per_s(delta, COUNTER_XMIT_WAIT));
		assert_true(json_is_null(json_object_get(row, "stall_percent"))); /* made-up devices */
		assert_number(row, "window_s", delta->elapsed_us > 0 ? (double)delta->elapsed_us / 1e6 : NAN);
		assert_int_equal(json_is_null(json_object_get(row, "role")),
				 json_is_null(json_object_get(row, "peer_guid")));
	}
	/* Or all of this says nothing. */
	assert_true(deltas > 20);
	json_decref(rows);
}

/* Over a window a counter that was full in one of its sweeps is never taken for one without new errors. */
static void errors_of_a_window_are_those_of_all_its_sweeps(void **state)
{
	const struct model_sweep *first = &model->sweeps[2], *last = &model->sweeps[SWEEPS - 1];
	char since[WHEN_SIZE], until[WHEN_SIZE], line[160];
	size_t port, saturated = 0, sweep;
	json_t *rows;

	(void)state;
	snprintf(line, sizeof(line), "ports|--since|%s|--until|%s", when_format_utc(first->wall_us, since),
		 when_format_utc(last->wall_us, until));
	rows = run_json(line);
	for (port = 0; port < model->port_count; port++) {
		const struct model_port *which = &model->ports[port];
		const json_t *row = find_row(rows, model->nodes[which->node].node.guid, which->num);
		struct delta sum = { 0 };

		for (sweep = 3; sweep < SWEEPS; sweep++)
			if (model->sweeps[sweep].truth[port].has_delta)
				delta_add(&sum, &model->sweeps[sweep].truth[port].delta);
		if (!row)
			continue;
		assert_errors(row, &sum);
		saturated += (sum.known & sum.saturated & COUNTER_ERROR_SET) != 0;
	}
	assert_true(saturated > 5);
	json_decref(rows);
}

/* The promised keys of `ports`, which others build on. */
static void ports_have_every_promised_key(void **state)
{
	static const char *const promised[] = {
		"time", "node_guid", "node", "port", "lid", "peer_guid", "peer", "peer_port", "tier", "role", "rail",
		"cage", "state", "phys_state", "width", "speed", "rate_gbps", "xmit_bytes_per_s", "rcv_bytes_per_s",
		"xmit_packets_per_s", "rcv_packets_per_s", "xmit_utilization_percent", "rcv_utilization_percent",
		"stall_percent", "xmit_wait_ticks_per_s", "window_s", "errors", "errors_unknown", "status", "age_s",
		"counters", "symbol_ber", "symbol_ber_below", "ber_at_least",
	};
	json_t *rows = run_json("ports");
	size_t i, j;

	(void)state;
	for (i = 0; i < json_array_size(rows); i++)
		for (j = 0; j < sizeof(promised) / sizeof(promised[0]); j++)
			assert_non_null(json_object_get(json_array_get(rows, i), promised[j]));
	json_decref(rows);
}

static void an_earlier_time_is_shown_as_it_was(void **state)
{
	const struct model_sweep *then = &model->sweeps[SWEEPS / 2];
	char when[WHEN_SIZE], line[128];
	json_t *rows;
	size_t i, pollable = 0;

	(void)state;
	snprintf(line, sizeof(line), "ports|--at|%s", when_format_utc(then->wall_us, when));
	rows = run_json(line);
	for (i = 0; i < then->fabric->port_count; i++) {
		const struct port *port = &then->fabric->ports[i];
		const json_t *row;

		if (!port_is_pollable(then->fabric, port))
			continue;
		pollable++;
		row = find_row(rows, then->fabric->nodes[port->node].guid, port->num);
		assert_non_null(row);
		assert_identity(row, then->fabric, port);
		assert_text(row, "time", when);
	}
	assert_int_equal(json_array_size(rows), pollable);
	json_decref(rows);
}

static void every_cable_is_one_link_with_both_ends(void **state)
{
	const struct fabric *fabric = model->sweep.fabric;
	json_t *rows = run_json("links");
	size_t i, cables = 0;

	(void)state;
	for (i = 0; i < fabric->port_count; i++)
		cables += fabric->ports[i].peer != FABRIC_NONE && fabric->ports[i].peer > i;
	assert_int_equal(json_array_size(rows), cables);
	assert_true(cables > 5);
	for (i = 0; i < cables; i++) {
		const json_t *row = json_array_get(rows, i);
		uint32_t a = fabric_find_port(fabric, guid_of(row, "node_guid"), (uint8_t)integer_of(row, "port"));
		uint32_t b = fabric_find_port(fabric, guid_of(row, "peer_guid"), (uint8_t)integer_of(row, "peer_port"));

		assert_true(a != FABRIC_NONE && b != FABRIC_NONE);
		assert_int_equal(fabric->ports[a].peer, b);
		assert_identity(row, fabric, &fabric->ports[a]);
		assert_text(row, "peer_state", port_state_name(fabric->ports[b].state));
	}
	json_decref(rows);
}

static void every_node_is_there_once(void **state)
{
	const struct fabric *fabric = model->sweep.fabric;
	json_t *rows = run_json("nodes");
	size_t i;

	(void)state;
	assert_int_equal(json_array_size(rows), fabric->node_count);
	for (i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		const json_t *row = find_row(rows, node->guid, -1);
		char description[NODE_NAME_SIZE];

		assert_non_null(row);
		text_sanitise(node->desc, sizeof(node->desc), description, sizeof(description));
		assert_text(row, "node", node->name);
		assert_text(row, "description", description);
		assert_text(row, "type", node_type_name(node->type));
		assert_true(guid_of(row, "system_guid") == node->system_guid);
		assert_int_equal(integer_of(row, "port_count"), node->port_count);
		assert_int_equal(integer_of(row, "device_id"), node->device_id);
		assert_int_equal(integer_of(row, "vendor_id"), node->vendor_id);
	}
	json_decref(rows);
}

static void names_and_guids_choose_rows(void **state)
{
	const struct fabric *fabric = model->sweep.fabric;
	const struct node *node = &fabric->nodes[0];
	char line[128];
	json_t *rows;
	size_t i;

	(void)state;
	snprintf(line, sizeof(line), "nodes|0x%016" PRIx64, node->guid);
	rows = run_json(line);
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	snprintf(line, sizeof(line), "ports|0x%016" PRIx64, node->guid);
	rows = run_json(line);
	assert_true(json_array_size(rows) > 0);
	for (i = 0; i < json_array_size(rows); i++)
		assert_true(guid_of(json_array_get(rows, i), "node_guid") == node->guid);
	json_decref(rows);
	snprintf(line, sizeof(line), "ports|0x%016" PRIx64 "/%u", node->guid,
		 fabric->ports[node->first_port + node->ports - 1].num);
	rows = run_json(line);
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
}

static void a_name_is_found_as_tables_show_it(void **state)
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
	struct fabric *fabric = fabric_create(NULL);
	struct port port = { 0 };
	size_t i, j;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(fabric_add_node(fabric, &nodes[i], NULL), i);
		for (port.num = 1; port.num <= 2; port.num++)
			assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = { (char *)(uintptr_t)cases[i].typed };
		struct selection selection;
		size_t ports = 0;

		assert_int_equal(selection_init(&selection, fabric, argv, 1, NULL), cases[i].code);
		if (cases[i].code)
			continue;
		for (j = 0; j < 3; j++)
			assert_int_equal(selection_has_node(&selection, (uint32_t)j), j == cases[i].node);
		for (j = 0; j < 6; j++)
			ports += selection_has_port(&selection, (uint32_t)j);
		assert_int_equal(ports, cases[i].ports);
		selection_done(&selection);
	}
	fabric_destroy(fabric);
}

static void a_host_is_all_its_hcas_where_hosts_may_be_named(void **state)
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
		unsigned nodes; /* bits; 0: refused */
	} cases[] = {
		{ "node1", 3 }, { "node1 mlx5_1", 2 }, { "node1 mlx5_1/1", 2 }, { "node10", 8 }, { "0x2", 2 },
		/* A switch is no host, and who has the same name is told apart by a GUID. */
		{ "node2", 0 }, { "alike", 0 }, { "node", 0 }, { "node1/1", 0 }, { "", 0 },
	};
	struct fabric *fabric = fabric_create(NULL);
	struct port port = { .num = 1 };
	struct selection selection;
	struct error err = { 0 };
	char host[] = "node1", *argv[] = { host };

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(fabric_add_node(fabric, &nodes[i], NULL), i);
		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
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
	/* Where one node is asked for, it is said which there are. */
	assert_int_equal(selection_init(&selection, fabric, argv, 1, &err), ERR_USAGE);
	assert_string_equal(err.text, "'node1' is a host with 2 HCAs: name one of them, such as 'node1 mlx5_0'");
	fabric_destroy(fabric);
}

static void sorting_puts_the_largest_first_and_the_unknown_last(void **state)
{
	json_t *rows = run_json("ports|--sort|rcv_bytes_per_s");
	json_t *top = run_json("ports|--sort|rcv_bytes_per_s|--top|3");
	double before = INFINITY;
	bool unknown = false;
	size_t i;

	(void)state;
	for (i = 0; i < json_array_size(rows); i++) {
		const json_t *rate = json_object_get(json_array_get(rows, i), "rcv_bytes_per_s");

		assert_false(unknown && !json_is_null(rate));
		unknown = json_is_null(rate);
		assert_true(unknown || json_number_value(rate) <= before);
		before = json_number_value(rate);
	}
	assert_int_equal(json_array_size(top), 3);
	for (i = 0; i < 3; i++)
		assert_true(guid_of(json_array_get(top, i), "node_guid") ==
			    guid_of(json_array_get(rows, i), "node_guid"));
	json_decref(rows);
	json_decref(top);
}

static void only_ports_with_errors_are_shown_where_asked(void **state)
{
	json_t *all = run_json("ports"), *bad = run_json("ports|--errors");
	size_t i, expected = 0;

	(void)state;
	for (i = 0; i < model->sweep.sample_count; i++) {
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

static void set_answered(int64_t answered, int64_t asked)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "UPDATE sweep SET ports_answered = %" PRId64 ", ports_asked = %" PRId64
		 " WHERE id = (SELECT max(id) FROM sweep) RETURNING id", answered, asked);
	assert_int_equal(check_integer(db_path, sql), SWEEPS);
}

/* The database has no finding; three ports were silent in a sweep. */
static void health_does_not_vouch_for_who_did_not_answer(void **state)
{
	const struct sweep *sweep = &model->sweep;
	char line[128], time[WHEN_SIZE], *output;

	(void)state;
	snprintf(line, sizeof(line), "health|--at|%s", when_format_utc(model->sweeps[SWEEPS - 1].wall_us, time));
	set_answered(6, 9);
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, "nothing is known to be wrong, but 3 ports did not answer;"));
	free(output);
	set_answered(9, 9);
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, "nothing is wrong;"));
	free(output);
	set_answered(sweep->ports_answered, sweep->ports_asked);
}

static void status_counts_what_the_sweep_counted(void **state)
{
	const struct sweep *sweep = &model->sweep;
	json_t *status = run_json("status");

	(void)state;
	assert_true(json_is_object(status));
	/* No process holds it. */
	assert_text(status, "state", "stopped");
	assert_true(json_is_false(json_object_get(status, "live")));
	assert_true(json_is_null(json_object_get(status, "collector_pid")));
	assert_int_equal(integer_of(status, "sweeps"), SWEEPS);
	assert_int_equal(integer_of(status, "ports_asked"), sweep->ports_asked);
	assert_int_equal(integer_of(status, "ports_answered"), sweep->ports_answered);
	assert_true(unsigned_of(json_object_get(status, "mads_sent")) == sweep->mads_sent);
	assert_int_equal(integer_of(status, "nodes"), sweep->fabric->node_count);
	assert_int_equal(integer_of(status, "ports_unfinished"), sweep->ports_unfinished);
	assert_int_equal(integer_of(status, "spread_us"), sweep->spread_us);
	assert_int_equal(integer_of(status, "node_spread_us"), sweep->node_spread_us);
	/* What does not run has no rate. */
	assert_true(json_is_null(json_object_get(status, "throttled")));
	assert_true(json_is_null(json_object_get(status, "throttled_time")));
	json_decref(status);
}

static void status_counts_the_words_of_ports(void **state)
{
	json_t *status = run_json("status"), *rows = run_json("ports");
	int64_t unplanned = 0, mirrored = 0;
	size_t i;

	(void)state;
	for (i = 0; i < json_array_size(rows); i++) {
		const char *word = json_string_value(json_object_get(json_array_get(rows, i), "status"));

		unplanned += !strcmp(word, "unplanned");
		mirrored += !strcmp(word, "mirrored");
	}
	assert_true(unplanned + mirrored > 0);
	assert_int_equal(integer_of(status, "ports_unplanned"), unplanned);
	assert_int_equal(integer_of(status, "ports_mirrored"), mirrored);
	json_decref(status);
	json_decref(rows);
}

/* A page for people has a line only where there is something to say. */
static void status_has_quiet_lines_only_where_they_say_something(void **state)
{
	char *output;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run("status", &output, &err), 0);
	assert_null(strstr(output, "throttled"));
	assert_int_equal(strstr(output, "not finished") != NULL, model->sweep.ports_unfinished > 0);
	assert_int_equal(strstr(output, "readings within") != NULL, model->sweep.spread_us > 0);
	assert_non_null(strstr(output, "not asked"));
	free(output);
}

static void events_are_those_that_were_stored(void **state)
{
	json_t *rows = run_json("events"), *newest = run_json("events|--limit|1");
	json_t *none = run_json("events|--kind|history-trimmed");
	json_t *counted = run_json("sql|SELECT count(*) AS n FROM event");

	(void)state;
	assert_int_equal(json_array_size(rows), integer_of(json_array_get(counted, 0), "n"));
	assert_true(json_array_size(rows) > 0);
	assert_int_equal(json_array_size(newest), 1);
	assert_int_equal(integer_of(json_array_get(newest, 0), "id"),
			 integer_of(json_array_get(rows, json_array_size(rows) - 1), "id"));
	assert_int_equal(json_array_size(none), 0);
	json_decref(rows);
	json_decref(newest);
	json_decref(none);
	json_decref(counted);
}

static void sql_gives_back_any_cell(void **state)
{
	json_t *rows = run_json("sql|SELECT 1 AS a, 2.5 AS a, NULL, char(120, 27, 252), x'00ff', ''");
	const json_t *row = json_array_get(rows, 0);

	(void)state;
	assert_int_equal(integer_of(row, "a"), 1);
	assert_true(json_real_value(json_object_get(row, "a_2")) == 2.5);
	assert_true(json_is_null(json_object_get(row, "NULL")));
	assert_int_equal(json_object_size(row), 6);
	assert_text(row, "char(120, 27, 252)", "x\033\xc3\xbc");
	assert_text(row, "x'00ff'", "00ff");
	assert_text(row, "''", "");
	json_decref(rows);
}

static void assert_harmless(const char *line, const char *output)
{
	struct text rest = { 0 }, after = { 0 };
	const char *at;

	for (at = output; *at; at++)
		if (*at != '\n' && *at != '\r')
			text_append_bytes(&rest, at, 1);
	escape_append(&after, text_chars(&rest), rest.len);
	if (strcmp(text_chars(&rest), text_chars(&after)))
		fail_msg("%s lets something through", line);
	text_done(&rest);
	text_done(&after);
}

static void nothing_hostile_leaves_any_command_in_any_format(void **state)
{
	static const char *const lines[] = {
		"status", "nodes", "ports|--all", "ports|--counters", "ports|--details", "links", "events",
		"history|--since|2001-01-01", "history|--since|2001-01-01|--each|-c|errors",
		"history|--since|2001-01-01|--top|9",
		"sql|SELECT * FROM node_version", "sql|SELECT 1 AS \"\033[31m\", char(155, 8238, 127, 7)",
	};
	static const char *const formats[] = { "table", "json", "csv" };
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		for (j = 0; j < 3; j++) {
			struct error err = { 0 };
			char line[256], *output;

			snprintf(line, sizeof(line), "%s|--format|%s", lines[i], formats[j]);
			assert_int_equal(run(line, &output, &err), 0);
			assert_true(*output);
			assert_harmless(line, output);
			free(output);
		}
	}
}

/* What is asked, how it ends, and what must be said. */
static const struct {
	const char *line;
	int code;
	const char *word;
} refused[] = {
	{ "ports|no such node", ERR_USAGE, "no such node" },
	{ "ports|0x1234567/3", ERR_USAGE, "0x1234567" },
	{ "nodes|--at|2001-01-01T00:00:00Z", ERR_UNAVAILABLE, "" },
	{ "events|no such node", ERR_USAGE, "no such node" },
	{ "events|a|b", ERR_USAGE, "one node" },
	{ "events|--kind|rubbish", ERR_USAGE, "'rubbish': ibwire-events(1)" },
	{ "events|--kind|link-donw", ERR_USAGE, "'link-down'" },
	{ "ports|--sort|rcv_byte_per_s", ERR_USAGE, "'rcv_bytes_per_s'" },
	{ "ports|--sort|symbol_error", ERR_USAGE, "'symbol_errors'" },
	{ "ports|--sort|raw_ber", ERR_USAGE, "--details" },
	{ "ports|--details|--sort|raw_bre", ERR_USAGE, "'raw_ber'" },
	{ "ports|--details|--counters", ERR_USAGE, "one of them" },
	{ "ports|--details|no such node", ERR_USAGE, "no such node" },
	{ "status|now", ERR_USAGE, "now" },
	{ "sql", ERR_USAGE, "statement" },
	{ "sql|DELETE FROM sweep", ERR_USAGE, "" },
	{ "sql|SELECT * FROM nowhere", ERR_USAGE, "nowhere" },
	{ "nodes|--node-name-map|/nonexistent/map", ERR_IO, "/nonexistent/map" },
};

static void what_cannot_be_answered_is_one_line_and_no_output(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct error err = { 0 };
		char *output;

		assert_int_equal(run(refused[i].line, &output, &err), refused[i].code);
		assert_true(*err.text && !strchr(err.text, '\n'));
		assert_non_null(strstr(err.text, refused[i].word));
		assert_string_equal(output, "");
		free(output);
	}
}

/* The last test: it adds to the database. */
static void a_kind_of_another_version_is_known_where_it_is_stored(void **state)
{
	struct event event = { .wall_us = model->wall_us, .kind = "painted", .text = "a switch was painted" };
	struct writer *writer;
	struct error err = { 0 };
	char *output;
	json_t *rows;

	(void)state;
	assert_int_equal(run("events|--kind|painted", &output, &err), ERR_USAGE);
	free(output);
	writer = check_open_writer(db_path);
	assert_int_equal(writer_sink(writer)->store_events(writer, &event, 1, NULL), 0);
	writer_close(writer);
	rows = run_json("events|--kind|painted");
	assert_int_equal(json_array_size(rows), 1);
	assert_text(json_array_get(rows, 0), "text", "a switch was painted");
	json_decref(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_say_what_the_newest_sweep_found),
		cmocka_unit_test(errors_of_a_window_are_those_of_all_its_sweeps),
		cmocka_unit_test(ports_have_every_promised_key),
		cmocka_unit_test(an_earlier_time_is_shown_as_it_was),
		cmocka_unit_test(every_cable_is_one_link_with_both_ends),
		cmocka_unit_test(every_node_is_there_once),
		cmocka_unit_test(names_and_guids_choose_rows),
		cmocka_unit_test(a_name_is_found_as_tables_show_it),
		cmocka_unit_test(a_host_is_all_its_hcas_where_hosts_may_be_named),
		cmocka_unit_test(sorting_puts_the_largest_first_and_the_unknown_last),
		cmocka_unit_test(only_ports_with_errors_are_shown_where_asked),
		cmocka_unit_test(health_does_not_vouch_for_who_did_not_answer),
		cmocka_unit_test(status_counts_what_the_sweep_counted),
		cmocka_unit_test(status_counts_the_words_of_ports),
		cmocka_unit_test(status_has_quiet_lines_only_where_they_say_something),
		cmocka_unit_test(events_are_those_that_were_stored),
		cmocka_unit_test(sql_gives_back_any_cell),
		cmocka_unit_test(nothing_hostile_leaves_any_command_in_any_format),
		cmocka_unit_test(what_cannot_be_answered_is_one_line_and_no_output),
		cmocka_unit_test(a_kind_of_another_version_is_known_where_it_is_stored),
	};

	return cmocka_run_group_tests_name("commands", tests, make_database, remove_database);
}
