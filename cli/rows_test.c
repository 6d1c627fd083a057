/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows of ports, links, nodes, events and SQL against the database that they show; unsafe names;
 * invalid command lines.
 */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "export/dot.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/test/test_check.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

/* @cut: the port was not read in all of the window */
static void assert_errors(const json_t *row, const struct delta *delta, bool cut)
{
	const json_t *errors = json_object_get(row, "errors"), *unknown = json_object_get(row, "errors_unknown");

	assert_true(json_is_object(errors) && json_is_array(unknown));
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++) {
		const char *key = counter_info((enum counter)counter)->key;
		counter_set bit = COUNTER_BIT(counter);
		bool known = delta && delta->elapsed_us > 0 && delta->known & bit;
		const json_t *value = json_object_get(errors, key);

		assert_int_equal(list_has(unknown, key), !known || cut || delta_lower_bounds(delta) & bit);
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

	for (int counter = 0; counter < COUNTER_COUNT; counter++) {
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
		assert_true(!strcmp(word, port->state == PORT_ACTIVE ? "ok" : "init") || !strcmp(word, "idle") ||
			    !strcmp(word, "new"));
	else
		assert_string_equal(word, status == SAMPLE_BACKOFF ? "silent" : sample_status_name(status));
}

/* Check a port that mirrors its peer. Return: is it mirrored? */
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

TEST(ports_match_the_newest_sweep)
{
	const struct sweep *sweep = &model->sweep;
	json_t *rows = run_json("ports");
	size_t deltas = 0, pollable = 0;

	/* Unplanned ports are shown, too. */
	for (size_t i = 0; i < sweep->fabric->port_count; i++)
		pollable += port_is_pollable(sweep->fabric, &sweep->fabric->ports[i]);
	assert_int_equal(json_array_size(rows), pollable);
	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		const struct port *port = &sweep->fabric->ports[sample->port];
		const json_t *row = find_row(rows, sweep->fabric->nodes[port->node].guid, port->num);
		const struct delta *delta = sample->status == SAMPLE_OK ? sample->delta : NULL, none = { 0 };

		assert_non_null(row);
		assert_identity(row, sweep->fabric, port);
		assert_errors(row, delta, false);
		if (is_mirrored(rows, row, sweep, i))
			continue;
		assert_status(row, port, sample->status);
		if (sample->status == SAMPLE_OK)
			assert_counters(row, sample->reading);
		deltas += delta && delta->elapsed_us > 0;
		delta = delta ? delta : &none;
		assert_number(row, "xmit_bytes_per_s", measure_exact(rate_bytes_per_s(delta, COUNTER_XMIT_DATA)));
		assert_number(row, "rcv_bytes_per_s", measure_exact(rate_bytes_per_s(delta, COUNTER_RCV_DATA)));
		assert_number(row, "rcv_packets_per_s", measure_exact(rate_per_s(delta, COUNTER_RCV_PACKETS)));
		assert_number(row, "xmit_wait_ticks_per_s", measure_exact(rate_per_s(delta, COUNTER_XMIT_WAIT)));
		assert_true(json_is_null(json_object_get(row, "stall_percent"))); /* devices without a known tick */
		assert_number(row, "window_s", delta->elapsed_us > 0 ? (double)delta->elapsed_us / 1e6 : NAN);
		assert_int_equal(json_is_null(json_object_get(row, "role")),
				 json_is_null(json_object_get(row, "peer_guid")));
	}
	/* The test needs such rows. */
	assert_true(deltas > 20);
	json_decref(rows);
}

/* A counter that was saturated in one sweep of the window is never reported as unchanged. */
TEST(window_errors_are_the_sum_of_its_sweeps)
{
	const struct model_sweep *first = &model->sweeps[2], *last = &model->sweeps[SWEEPS - 1];
	const int64_t interval_us = (last->wall_us - first->wall_us) / (SWEEPS - 3);
	char since[WHEN_SIZE], until[WHEN_SIZE], line[160];
	size_t saturated = 0;
	json_t *rows;

	snprintf(line, sizeof(line), "ports|--since|%s|--until|%s", when_format_utc(first->wall_us, since),
		 when_format_utc(last->wall_us, until));
	rows = run_json(line);
	for (size_t port = 0; port < model->port_count; port++) {
		const struct model_port *which = &model->ports[port];
		const json_t *row = find_row(rows, model->nodes[which->node].node.guid, which->num);
		struct delta sum = { 0 };

		for (size_t sweep = 3; sweep < SWEEPS; sweep++)
			if (model->sweeps[sweep].truth[port].has_delta)
				delta_add(&sum, &model->sweeps[sweep].truth[port].delta);
		if (!row)
			continue;
		/* Counters of a port that is down do not change. Sweeps of the model are equally far apart. */
		assert_errors(row, &sum, strcmp(json_string_value(json_object_get(row, "state")), "Down") &&
			      sum.elapsed_us < last->wall_us - first->wall_us - interval_us / 2);
		saturated += (sum.known & sum.saturated & COUNTER_ERROR_SET) != 0;
	}
	assert_true(saturated > 5);
	json_decref(rows);
}

/* The keys of `ports` are a stable interface. */
TEST(ports_have_every_promised_key)
{
	static const char *const promised[] = {
		"time", "node_guid", "node", "port", "lid", "peer_guid", "peer", "peer_port", "tier", "role", "rail",
		"cage", "state", "phys_state", "width", "speed", "rate_gbps", "xmit_bytes_per_s", "rcv_bytes_per_s",
		"xmit_packets_per_s", "rcv_packets_per_s", "xmit_utilization_percent", "rcv_utilization_percent",
		"stall_percent", "xmit_wait_ticks_per_s", "xmit_wait_rule", "window_s", "errors", "errors_unknown",
		"status", "age_s",
		"counters", "symbol_ber", "symbol_ber_below", "ber_at_least",
	};
	json_t *rows = run_json("ports");

	for (size_t i = 0; i < json_array_size(rows); i++)
		for (size_t j = 0; j < sizeof(promised) / sizeof(promised[0]); j++)
			assert_non_null(json_object_get(json_array_get(rows, i), promised[j]));
	json_decref(rows);
}

TEST(past_time_shows_past_state)
{
	const struct model_sweep *then = &model->sweeps[SWEEPS / 2];
	char when[WHEN_SIZE], line[128];
	json_t *rows;
	size_t pollable = 0;

	snprintf(line, sizeof(line), "ports|--at|%s", when_format_utc(then->wall_us, when));
	rows = run_json(line);
	for (size_t i = 0; i < then->fabric->port_count; i++) {
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

TEST(every_link_is_listed_once_with_both_ends)
{
	const struct fabric *fabric = model->sweep.fabric;
	json_t *rows = run_json("links");
	size_t cables = 0;

	for (size_t i = 0; i < fabric->port_count; i++)
		cables += fabric->ports[i].peer != FABRIC_NONE && fabric->ports[i].peer > i;
	assert_int_equal(json_array_size(rows), cables);
	assert_true(cables > 5);
	for (size_t i = 0; i < cables; i++) {
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

TEST(every_node_is_listed_once)
{
	const struct fabric *fabric = model->sweep.fabric;
	json_t *rows = run_json("nodes");

	assert_int_equal(json_array_size(rows), fabric->node_count);
	for (size_t i = 0; i < fabric->node_count; i++) {
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
		if (node->adaptive == ADAPTIVE_UNKNOWN)
			assert_true(json_is_null(json_object_get(row, "adaptive_routing")));
		else
			assert_text(row, "adaptive_routing", node->adaptive == ADAPTIVE_ON ? "on" : "off");
	}
	json_decref(rows);
}

static void assert_harmless(const char *line, const char *output)
{
	struct text rest = { 0 }, after = { 0 };
	const char *at;

	for (at = output; *at; at++)
		if (*at != '\n' && *at != '\r')
			text_append_bytes(&rest, at, 1);
	text_append_escaped(&after, text_chars(&rest), rest.len);
	if (strcmp(text_chars(&rest), text_chars(&after)))
		fail_msg("%s lets something through", line);
	text_done(&rest);
	text_done(&after);
}

TEST(no_command_prints_unsafe_text)
{
	static const char *const lines[] = {
		"status", "nodes", "ports|--all", "ports|--counters", "ports|--details", "links", "events",
		"history|--since|2001-01-01", "history|--since|2001-01-01|--each|-c|errors",
		"history|--since|2001-01-01|--top|9",
		"sql|SELECT * FROM node_version", "sql|SELECT 1 AS \"\033[31m\", char(155, 8238, 127, 7)",
	};
	static const char *const formats[] = { "table", "json", "csv" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		for (size_t j = 0; j < 3; j++) {
			char line[256], *output;

			snprintf(line, sizeof(line), "%s|--format|%s", lines[i], formats[j]);
			output = run_text(line);
			assert_true(*output);
			assert_harmless(line, output);
			free(output);
		}
	}
}

TEST(invalid_request_is_one_error_line_without_output)
{
	assert_refused(
		{ "ports|no such node", ERR_USAGE, "no such node" },
		{ "ports|0x1234567/3", ERR_USAGE, "0x1234567" },
		{ "nodes|--at|2001-01-01T00:00:00Z", ERR_UNAVAILABLE, "" },
		{ "events|no such node", ERR_USAGE, "no such node" },
		{ "events|a|b", ERR_USAGE, "'a'" },
		{ "events|--kind|rubbish", ERR_USAGE, "'rubbish': see ibwire-events(1)" },
		{ "events|--kind|link-donw", ERR_USAGE, "'link-down'" },
		{ "ports|--sort|rcv_byte_per_s", ERR_USAGE, "'rcv_bytes_per_s'" },
		{ "ports|--sort|symbol_error", ERR_USAGE, "'symbol_errors'" },
		{ "ports|--sort|raw_ber", ERR_USAGE, "--details" },
		{ "ports|--details|--sort|raw_bre", ERR_USAGE, "'raw_ber'" },
		{ "ports|--details|--counters", ERR_USAGE, "mutually exclusive" },
		{ "ports|--details|no such node", ERR_USAGE, "no such node" },
		{ "status|now", ERR_USAGE, "now" },
		{ "health|--exec|true", ERR_USAGE, "require --watch" },
		{ "health|--watch|--webhook|ftp://host/", ERR_USAGE, "http:// or https://" },
		{ "health|--watch|--webhook|http://host/\"\nurl = x", ERR_USAGE, "http:// or https://" },
		{ "health|--watch|--webhook|@/nonexistent/url", ERR_IO, "/nonexistent/url" },
		{ "health|--explain|link-donw", ERR_USAGE, "'link-donw'" },
		{ "health|--explain|link-donw|--format|json", ERR_USAGE, "'link-donw'" },
		{ "health|--explain|link-down|node-missing", ERR_USAGE, "'node-missing'" },
		{ "collect|--show-settings|--format|json", ERR_USAGE, "--show-settings" },
		{ "collect|--show-settings|--format|csv", ERR_USAGE, "--show-settings" },
		{ "collect|--estimate|--keep-raw|2d|--keep-sums|2939m", ERR_USAGE, "--keep-sums" },
		{ "collect|--estimate|--keep-raw|30d", ERR_USAGE, "--keep-sums" },
		{ "collect|--estimate|--keep-raw|0", ERR_USAGE, "--keep-sums" },
		{ "collect|--fast-jobs=6s", ERR_USAGE, "half of --interval" },
		{ "collect|--fast-jobs=10ms", ERR_USAGE, "100ms" },
		{ "collect|--fast-jobs|--interval|1s", ERR_USAGE, "half of --interval" },
		{ "collect|--fast-jobs|--ask|switches", ERR_USAGE, "--ask switches" },
		{ "sql", ERR_USAGE, "statement" },
		{ "sql|DELETE FROM sweep", ERR_USAGE, "" },
		{ "sql|SELECT * FROM nowhere", ERR_USAGE, "nowhere" },
		{ "nodes|--node-name-map|/nonexistent/map", ERR_IO, "/nonexistent/map" },
		{ "nodes|--node-name-map|/dev/zero", ERR_IO, "too large" },
		{ "topology|show|--settings|/dev/zero", ERR_IO, "too large" },
		{ "topology|diff|/dev/zero", ERR_IO, "too large" },
		{ "health|--gate|@/dev/zero", ERR_IO, "too large" });
}

TEST(events_match_stored_events)
{
	json_t *rows = run_json("events"), *newest = run_json("events|--limit|1");
	json_t *none = run_json("events|--kind|history-trimmed");
	json_t *counted = run_json("sql|SELECT count(*) AS n FROM event");

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

TEST(sql_returns_every_cell_type)
{
	json_t *rows = run_json("sql|SELECT 1 AS a, 2.5 AS a, NULL, char(120, 27, 252), x'00ff', ''");
	const json_t *row = json_array_get(rows, 0);

	assert_int_equal(integer_of(row, "a"), 1);
	assert_true(json_real_value(json_object_get(row, "a_2")) == 2.5);
	assert_true(json_is_null(json_object_get(row, "NULL")));
	assert_int_equal(json_object_size(row), 6);
	assert_text(row, "char(120, 27, 252)", "x\033\xc3\xbc");
	assert_text(row, "x'00ff'", "00ff");
	assert_text(row, "''", "");
	json_decref(rows);
}

/* The last test: it adds to the database. */
TEST(stored_event_kind_of_another_version_is_accepted)
{
	struct event event = { .wall_us = model->wall_us, .kind = "painted", .text = "a switch was painted" };
	struct writer *writer;
	json_t *rows;

	assert_refused({ "events|--kind|painted", ERR_USAGE, "painted" });
	writer = check_open_writer(db_path);
	assert_int_equal(writer_sink(writer)->store_events(writer, &event, 1, NULL), 0);
	writer_close(writer);
	rows = run_json("events|--kind|painted");
	assert_int_equal(json_array_size(rows), 1);
	assert_text(json_array_get(rows, 0), "text", "a switch was painted");
	json_decref(rows);
}

TEST(sorting_puts_the_largest_first_and_the_unknown_last)
{
	json_t *rows = run_json("ports|--sort|rcv_bytes_per_s");
	json_t *top = run_json("ports|--sort|rcv_bytes_per_s|--top|3");
	double before = INFINITY;
	bool unknown = false;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i), *rate = json_object_get(row, "rcv_bytes_per_s");
		const json_t *bound = json_object_get(json_object_get(row, RESULT_LOWER_BOUNDS), "rcv_bytes_per_s");

		/* A lower bound is sorted as what is certain. */
		assert_true(!bound || json_is_null(rate));
		rate = bound ? bound : rate;
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

/* The default window is the last day, here the whole database. */
TEST(errors_option_hides_ports_without_errors)
{
	json_t *all = run_json("ports"), *bad = run_json("ports|--errors");
	size_t listed = 0;

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *port = json_array_get(all, i);
		const json_t *row = find_row(bad, guid_of(port, "node_guid"), integer_of(port, "port"));

		/* Every error of the newest sweep is one of the day. */
		assert_true(row || !json_object_size(json_object_get(port, "errors")));
		listed += row != NULL;
	}
	assert_int_equal(json_array_size(bad), listed);
	assert_true(listed > 0 && listed < json_array_size(all));
	json_decref(all);
	json_decref(bad);
}

/* A saturated counter is no counter without errors, for each command that lists ports with errors. */
TEST(a_saturated_counter_is_an_error_everywhere)
{
	json_t *ports = run_json("ports"), *dirty = run_json("ports|err:yes"), *clean = run_json("ports|err:no");
	json_t *errors = run_json("errors");
	size_t saturated = 0, increased = 0;

	for (size_t port = 0; port < model->port_count; port++) {
		const struct model_port *which = &model->ports[port];
		const struct check_sum day = check_truth(model, port, 0, SWEEPS);
		const struct delta *last = &model->sweeps[SWEEPS - 1].truth[port].delta;
		uint64_t guid = model->nodes[which->node].node.guid;

		if (!find_row(ports, guid, which->num))
			continue;
		for (int i = COUNTER_TRAFFIC_COUNT; day.samples && i < COUNTER_COUNT; i++) {
			bool listed = false, full = day.delta.saturated & COUNTER_BIT(i);

			for (size_t row = 0; row < json_array_size(errors); row++) {
				const json_t *of = json_array_get(errors, row);

				listed |= guid_of(of, "node_guid") == guid && integer_of(of, "port") == which->num &&
					  !strcmp(json_string_value(json_object_get(of, "counter")),
						  counter_info((enum counter)i)->key);
			}
			assert_int_equal(listed, day.delta.known & COUNTER_BIT(i) && (day.delta.value[i] || full));
			increased += listed && !full;
		}
		if (!(last->known & last->saturated & COUNTER_ERROR_SUM_SET) ||
		    !model->sweeps[SWEEPS - 1].truth[port].has_delta)
			continue;
		assert_non_null(find_row(dirty, guid, which->num));
		assert_null(find_row(clean, guid, which->num));
		saturated++;
	}
	assert_true(saturated > 0 && increased > 0);
	json_decref(ports);
	json_decref(dirty);
	json_decref(clean);
	json_decref(errors);
}

/* All links between two leaves and a spine run at 1x: none is slower than its neighbors, each below what is enabled. */
TEST(a_link_below_what_is_enabled_is_red_in_the_graph)
{
	for (unsigned lanes = 1; lanes <= 4; lanes += 3) {
		struct fabric *fabric = fabric_create(NULL);
		char name[] = "node", *names[] = { name, name, name, name, name };
		const struct shape_settings settings = { 0 };
		struct shape *shape = NULL;
		struct text text = { 0 };

		for (unsigned i = 0; i < 5; i++) {
			const struct node node = { .guid = i + 1, .type = i < 3 ? NODE_SWITCH : NODE_CA,
						   .port_count = i < 3 ? 2 : 1 };

			assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
			for (uint8_t num = 1; num <= node.port_count; num++) {
				bool trunk = !i || (i < 3 && num == 1);
				const struct port port = {
					.num = num, .state = PORT_ACTIVE, .speed = LINK_SPEED_HDR,
					.width = trunk && lanes == 1 ? LINK_WIDTH_1X : LINK_WIDTH_4X,
					.width_enabled = LINK_WIDTH_1X | LINK_WIDTH_4X,
					.speed_enabled = 1 << LINK_SPEED_HDR,
				};

				assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
			}
		}
		/* Ports: 0, 1 of the spine, 2, 3 and 4, 5 of the leaves, 6 and 7 of the hosts. */
		assert_int_equal(fabric_link(fabric, 0, 2, NULL), 0);
		assert_int_equal(fabric_link(fabric, 1, 4, NULL), 0);
		assert_int_equal(fabric_link(fabric, 3, 6, NULL), 0);
		assert_int_equal(fabric_link(fabric, 5, 7, NULL), 0);
		assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
		assert_int_equal(shape_create(fabric, &settings, &shape, NULL), 0);
		assert_int_equal(shape->slow_count, lanes == 1 ? 2 : 0);
		dot_write(&text, shape, names, false);
		assert_int_equal(strstr(text_chars(&text), "color=red") != NULL, lanes == 1);
		text_done(&text);
		shape_destroy(shape);
		fabric_destroy(fabric);
	}
}
