/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `ibwire topology route` over a database of random fabrics and forwarding tables. */
#define UNIT_TEST_SETUP make_tables
#define UNIT_TEST_TEARDOWN remove_tables
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "fabric/routes.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { STEPS = 8, CHANGES_MOST = 8 * ROUTES_BLOCKS };

static struct routes tables[STEPS];
static struct model *tabled;
static char path[96];

/* Each entry leads somewhere, mostly: by a port that has a link. */
static uint8_t some_port(const struct fabric *fabric, uint32_t node)
{
	const struct node *which = &fabric->nodes[node];

	for (unsigned tries = 0; tries < 8; tries++) {
		const struct port *port = &fabric->ports[which->first_port + model_random(tabled, which->ports)];

		if (port->peer != FABRIC_NONE && port->num > 0)
			return port->num;
	}
	return ROUTES_NO_PORT;
}

static void change_tables(const struct fabric *fabric, struct routes *routes, struct route_block *blocks, size_t *count)
{
	uint8_t ports[ROUTES_BLOCK];

	for (uint32_t node = 0; node < fabric->node_count; node++) {
		uint64_t guid = fabric->nodes[node].guid;

		if (fabric->nodes[node].type != NODE_SWITCH || model_random(tabled, 3) == 0)
			continue;
		for (unsigned block = 0; block < ROUTES_BLOCKS; block += 1 + (unsigned)model_random(tabled, 3)) {
			if (*count == CHANGES_MOST)
				return;
			for (unsigned i = 0; i < ROUTES_BLOCK; i++)
				ports[i] = some_port(fabric, node);
			assert_int_equal(routes_set_block(routes, guid, block, ports, NULL, NULL), 0);
			blocks[(*count)++] = (struct route_block){ guid, (uint16_t)block };
		}
	}
}

int make_tables(void **state)
{
	struct route_block *blocks = calloc(CHANGES_MOST, sizeof(*blocks));
	struct routes routes = { 0 };
	struct writer *writer;
	int code = make_database(state);

	if (code || !blocks)
		return -1;
	snprintf(path, sizeof(path), "%s-routes", db_path);
	tabled = model_create(11, 6, 12, 20);
	tabled->keep_history = true;
	if (writer_open(path, &writer, NULL) < 0)
		return -1;
	for (int i = 0; i < STEPS; i++) {
		struct sweep sweep = *model_step(tabled);
		size_t count = 0;

		change_tables(sweep.fabric, &routes, blocks, &count);
		sweep.routes = &routes;
		sweep.route_blocks = blocks;
		sweep.route_block_count = count;
		if (writer_sink(writer)->store(writer, &sweep, NULL) < 0 || routes_copy(&routes, &tables[i], NULL) < 0)
			return -1;
	}
	writer_close(writer);
	routes_done(&routes);
	free(blocks);
	use_database(path);
	return 0;
}

int remove_tables(void **state)
{
	use_database(NULL);
	for (int i = 0; i < STEPS; i++)
		routes_done(&tables[i]);
	model_destroy(tabled);
	return remove_database(state);
}

static bool is_switch(const struct fabric *fabric, uint32_t port)
{
	return fabric->nodes[fabric->ports[port].node].type == NODE_SWITCH;
}

/* A port that can be the end of a route, as it is typed. */
static uint32_t some_end(const struct fabric *fabric, char ret[64])
{
	uint32_t port;

	do {
		port = (uint32_t)model_random(tabled, fabric->port_count);
	} while (is_switch(fabric, port) && fabric->ports[port].num > 0);
	snprintf(ret, 64, "0x%016" PRIx64 "/%u", fabric->nodes[fabric->ports[port].node].guid, fabric->ports[port].num);
	return port;
}

static void check_rows(const json_t *rows, const struct fabric *fabric, const struct route_trace *trace)
{
	const json_t *row = NULL;

	assert_int_equal(json_array_size(rows), trace->hops ? trace->hops : 1);
	for (unsigned i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		assert_text(row, "route", route_end_name(trace->end));
		assert_int_equal(guid_of(row, "route_node_guid"), fabric->nodes[trace->at].guid);
		assert_int_equal(integer_of(row, "hop"), trace->hops ? i + 1 : 0);
		if (trace->hops) {
			const struct port *port = &fabric->ports[trace->ports[i]], *peer = &fabric->ports[port->peer];

			assert_int_equal(guid_of(row, "node_guid"), fabric->nodes[port->node].guid);
			assert_int_equal(integer_of(row, "port"), port->num);
			assert_int_equal(guid_of(row, "peer_guid"), fabric->nodes[peer->node].guid);
			assert_int_equal(integer_of(row, "peer_port"), peer->num);
			assert_text(row, "state", port_state_name(port->state));
		} else {
			assert_int_equal(guid_of(row, "node_guid"), 0);
			assert_int_equal(integer_of(row, "peer_port"), -1);
		}
	}
}

/* A table has the result as a sentence below it. */
static void check_table(const char *line, const struct route_trace *trace)
{
	static const char *const words[ROUTE_END_COUNT] = {
		[ROUTE_ARRIVES] = "arrives at ", [ROUTE_UNKNOWN] = "", [ROUTE_BLACK_HOLE] = "black hole: ",
		[ROUTE_DOWN] = "link down: ", [ROUTE_LOOP] = "loop: ", [ROUTE_WRONG_END] = "wrong end: ",
	};
	struct error err = { 0 };
	char *output;

	run(line, &output, &err);
	if (!strstr(output, words[trace->end]))
		fail_msg("%s: %s", route_end_name(trace->end), output);
	assert_int_equal(strstr(output, "Static route") != NULL, trace->end != ROUTE_UNKNOWN);
	if (trace->end == ROUTE_UNKNOWN)
		assert_true(*err.text && !strchr(err.text, '\n'));
	free(output);
}

TEST(route_uses_the_forwarding_tables_of_its_time)
{
	unsigned ends[ROUTE_END_COUNT] = { 0 };

	const unsigned cases = test_cases(400), least = cases / 100;

	for (unsigned i = 0; i < cases; i++) {
		unsigned at = (unsigned)model_random(tabled, STEPS);
		struct fabric *fabric = tabled->sweeps[at].fabric;
		char from_typed[64], to_typed[64], when[WHEN_SIZE], line[512], *output;
		uint32_t from = some_end(fabric, from_typed), to = some_end(fabric, to_typed);
		struct error err = { 0 };
		struct route_trace trace;
		json_t *rows;
		size_t len;
		int code;

		routes_trace(&tables[at], fabric, from, to, 0, &trace);
		len = (size_t)snprintf(line, sizeof(line), "topology|route|%s|%s|--at|%s", from_typed, to_typed,
				       when_format_utc(tabled->sweeps[at].wall_us, when));
		check_table(line, &trace);
		snprintf(line + len, sizeof(line) - len, "|--format|json");
		code = run(line, &output, &err);
		rows = json_loads(output, 0, NULL);
		assert_non_null(rows);
		check_rows(rows, fabric, &trace);
		assert_int_equal(code, trace.end == ROUTE_ARRIVES ? 0 :
				       trace.end == ROUTE_UNKNOWN ? ERR_UNAVAILABLE : 1);
		ends[trace.end]++;
		json_decref(rows);
		free(output);
	}
	assert_true(ends[ROUTE_ARRIVES] > least && ends[ROUTE_UNKNOWN] > least && ends[ROUTE_BLACK_HOLE] > least &&
		    ends[ROUTE_LOOP] > least && ends[ROUTE_WRONG_END] > least);
}

TEST(route_accepts_a_lid)
{
	struct fabric *fabric = tabled->sweeps[STEPS - 1].fabric;
	unsigned checked = 0;

	for (uint32_t i = 0; i < fabric->port_count && checked < 20; i++) {
		const struct port *port = &fabric->ports[i];
		uint16_t lid = fabric_port_lid(fabric, port);
		char typed[64], line[512];
		bool alone = true;

		if ((is_switch(fabric, i) && port->num > 0) || !lid)
			continue;
		/* The model assigns random LIDs: only a unique one identifies a port. */
		for (uint32_t k = 0; k < fabric->port_count; k++) {
			const struct port *other = &fabric->ports[k];
			uint16_t base = fabric_port_lid(fabric, other);

			if (k != i && !(is_switch(fabric, k) && other->num > 0) && base <= lid &&
			    lid < base + (1 << (other->lmc & 7)))
				alone = false;
		}
		if (!alone)
			continue;
		snprintf(typed, sizeof(typed), "0x%016" PRIx64 "/%u", fabric->nodes[port->node].guid, port->num);
		snprintf(line, sizeof(line), "topology|route|%s|%u|--format|csv", typed, lid);
		assert_shows(line, "arrives");
		checked++;
	}
	assert_true(checked > 0);
}

TEST(invalid_end_point_is_one_error_line)
{
	static const char *const lines[] = {
		"topology", "topology|show-me", "topology|route", "topology|route|a",
		"topology|route|node9999|node9999", "topology|route|65000|65001", "topology|route|0|0",
		"topology|route|a|b|c", "topology|route||", "topology|route|99999999999999999999|1",
	};
	const struct fabric *fabric = tabled->sweeps[STEPS - 1].fabric;
	char line[256], *output;
	struct error err = { 0 };
	uint32_t i;

	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		assert_int_equal(run(lines[k], &output, &err), ERR_USAGE);
		assert_true(*err.text && !strchr(err.text, '\n') && !*output);
		free(output);
	}
	for (i = 0; !(is_switch(fabric, i) && fabric->ports[i].num > 0 && fabric->ports[i].peer != FABRIC_NONE); i++)
		assert_true(i + 1 < fabric->port_count);
	snprintf(line, sizeof(line), "topology|route|0x%016" PRIx64 "/%u|1", fabric->nodes[fabric->ports[i].node].guid,
		 fabric->ports[i].num);
	assert_int_equal(run(line, &output, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "a route ends at a host or switch"));
	free(output);
}

/* A database in which no table was ever read. */
TEST(missing_forwarding_table_is_named)
{
	const struct fabric *fabric = model->sweeps[SWEEPS - 1].fabric;
	struct error err = { 0 };
	char line[256], *output;
	uint32_t from = 0, to = 0;

	while (is_switch(fabric, from) || fabric->ports[from].peer == FABRIC_NONE ||
	       !is_switch(fabric, fabric->ports[from].peer) || fabric->ports[from].state != PORT_ACTIVE)
		from++;
	while (is_switch(fabric, to) || fabric->ports[to].node == fabric->ports[from].node || !fabric->ports[to].lid)
		to++;
	use_database(NULL);
	snprintf(line, sizeof(line), "topology|route|0x%016" PRIx64 "/%u|0x%016" PRIx64 "/%u",
		 fabric->nodes[fabric->ports[from].node].guid, fabric->ports[from].num,
		 fabric->nodes[fabric->ports[to].node].guid, fabric->ports[to].num);
	assert_int_equal(run(line, &output, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "was not read"));
	use_database(path);
	free(output);
}
