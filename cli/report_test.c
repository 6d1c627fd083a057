/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports of removed nodes and cables, over a history with known contents. */
#define UNIT_TEST_SETUP unset_database

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { STEPS = 250 };

/* The fabrics of the database, by sweep. */
static struct model *past;

static void make_past(uint64_t seed)
{
	struct writer *writer = check_open_writer(path);

	past = model_create(seed, 6, 8, 12);
	past->keep_history = true;
	for (int i = 0; i < STEPS; i++)
		check_store(writer, model_step(past));
	for (size_t i = 0; i < past->node_count; i++) {
		struct event event = { .wall_us = past->wall_us, .kind = EVENT_NODE_REMOVED,
				       .node_guid = past->nodes[i].node.guid, .text = "removed" };

		assert_int_equal(writer_sink(writer)->store_events(writer, &event, 1, NULL), 0);
	}
	writer_close(writer);
	use_database(path);
}

static void forget_past(void)
{
	use_database(NULL);
	model_destroy(past);
}

static const struct fabric *fabric_of(size_t sweep)
{
	return past->sweeps[sweep].fabric;
}

/* The last sweep with a node, from 0; -1: none. */
static int last_with(uint64_t guid)
{
	int i = (int)past->sweep_count - 1;

	while (i >= 0 && fabric_find_node(fabric_of((size_t)i), guid) == FABRIC_NONE)
		i--;
	return i;
}

static const char *stamp_of(size_t sweep, char ret[WHEN_SIZE])
{
	return when_format_utc(past->sweeps[sweep].wall_us, ret);
}

static json_t *report_on(const char *typed)
{
	char line[NODE_NAME_SIZE + 64];

	snprintf(line, sizeof(line), "report|%s", typed);
	return run_json(line);
}

/* The report of a removed node: time of removal, last state of its ports, events. */
static void check_removed(const char *typed, uint64_t guid, size_t last, bool of_port)
{
	const struct fabric *then = fabric_of(last);
	json_t *report = report_on(typed), *about = json_object_get(report, "about"), *port;
	uint32_t node = fabric_find_node(then, guid), own = 0;
	char stamp[WHEN_SIZE];
	size_t i;

	assert_int_equal(guid_of(about, "node_guid"), guid);
	assert_text(about, "gone_since", stamp_of(last + 1, stamp));
	json_array_foreach(json_object_get(report, "ports"), i, port)
		own += strstr(json_string_value(json_object_get(port, "port")), "/") != NULL;
	assert_true(own <= then->nodes[node].ports + 1 && (!of_port || own >= 1));
	assert_true(json_array_size(json_object_get(report, "events")) >= 1);
	json_decref(report);
}

int unset_database(void **state)
{
	(void)state;
	return unsetenv("IBWIRE_DB");
}

/* Number of removed nodes with this name; and is one of them present? */
static unsigned count_called(const char *name, bool *ret_there)
{
	unsigned count = 0;

	*ret_there = false;
	for (size_t i = 0; i < past->node_count; i++) {
		int last = last_with(past->nodes[i].node.guid);
		const struct fabric *then = last < 0 ? NULL : fabric_of((size_t)last);

		if (!then || strcmp(then->nodes[fabric_find_node(then, past->nodes[i].node.guid)].name, name))
			continue;
		count++;
		*ret_there |= (size_t)last + 1 == past->sweep_count;
	}
	return count;
}

/* A removed node is found by its GUID, also with a port, and by its name if that is unique. */
static void check_names(uint64_t guid, size_t last, unsigned *found, unsigned *several)
{
	const struct fabric *then = fabric_of(last);
	const struct node *node = &then->nodes[fabric_find_node(then, guid)];
	char typed[64], line[NODE_NAME_SIZE + 64];
	unsigned called;
	bool there;

	snprintf(typed, sizeof(typed), "0x%016llx", (unsigned long long)guid);
	check_removed(typed, guid, last, false);
	if (node->ports) {
		snprintf(typed, sizeof(typed), "0x%016llx/%u", (unsigned long long)guid,
			 then->ports[node->first_port + node->ports - 1].num);
		check_removed(typed, guid, last, true);
	}
	called = count_called(node->name, &there);
	if (there || strchr(node->name, '|') || strchr(node->name, '/') || node->name[0] == '-')
		return;
	snprintf(line, sizeof(line), "report|%s", node->name);
	if (called == 1) {
		check_removed(node->name, guid, last, false);
		assert_shows(line, "removed since");
		assert_shows(line, "AS OF");
	} else {
		assert_refused({ line, ERR_USAGE, "give a GUID" });
	}
	*found += called == 1;
	*several += called > 1;
}

TEST_IN_FOLDER(removed_node_is_reported_from_its_last_sweep)
{
	unsigned removed = 0, present = 0, found = 0, several = 0;

	for (uint64_t seed = 1; seed <= test_cases(5); seed++) {
		make_past(seed);
		for (size_t i = 0; i < past->node_count; i++) {
			uint64_t guid = past->nodes[i].node.guid;
			int last = last_with(guid);
			char typed[64];
			json_t *report;

			if (last < 0)
				continue;
			if ((size_t)last + 1 < past->sweep_count) {
				check_names(guid, (size_t)last, &found, &several);
				removed++;
				continue;
			}
			snprintf(typed, sizeof(typed), "0x%016llx", (unsigned long long)guid);
			report = report_on(typed);
			assert_text(json_object_get(report, "about"), "gone_since", NULL);
			json_decref(report);
			present++;
		}
		forget_past();
		test_folder_renew();
	}
	assert_true(removed > 5 && present > 5 && found > 3);
	print_message("# note: %u found by name, %u names of several\n", found, several);
}

/* The last sweep in which a port had a cable, from 0, and its other end; -1: none. */
static int last_cable(uint64_t guid, uint8_t num, uint64_t *ret_guid, uint8_t *ret_num)
{
	int i;

	for (i = (int)past->sweep_count - 1; i >= 0; i--) {
		const struct fabric *then = fabric_of((size_t)i);
		uint32_t port = fabric_find_port(then, guid, num);
		uint32_t peer = port == FABRIC_NONE ? FABRIC_NONE : then->ports[port].peer;

		if (peer == FABRIC_NONE)
			continue;
		*ret_guid = then->nodes[then->ports[peer].node].guid;
		*ret_num = then->ports[peer].num;
		break;
	}
	return i;
}

TEST_IN_FOLDER(removed_cable_keeps_its_last_peer)
{
	unsigned pulled = 0, never = 0, both = 0;

	make_past(2);
	for (uint32_t i = 0; i < fabric_of(STEPS - 1)->port_count; i++) {
		const struct fabric *now = fabric_of(STEPS - 1);
		uint64_t guid = now->nodes[now->ports[i].node].guid, peer_guid = 0;
		uint8_t num = now->ports[i].num, peer_num = 0;
		char typed[64], stamp[WHEN_SIZE], tail[16];
		json_t *report, *about;
		const char *peer;
		uint32_t other;
		int last;

		if (now->ports[i].peer != FABRIC_NONE)
			continue;
		last = last_cable(guid, num, &peer_guid, &peer_num);
		snprintf(typed, sizeof(typed), "0x%016llx/%u", (unsigned long long)guid, num);
		report = report_on(typed);
		about = json_object_get(report, "about");
		assert_text(about, "gone_since", NULL);
		if (last < 0) {
			assert_text(about, "peer", NULL);
			never++;
			json_decref(report);
			continue;
		}
		peer = json_string_value(json_object_get(about, "peer"));
		snprintf(tail, sizeof(tail), "/%u", peer_num);
		assert_true(peer && strlen(peer) > strlen(tail) && !strcmp(peer + strlen(peer) - strlen(tail), tail));
		assert_int_equal(guid_of(about, "peer_guid"), peer_guid);
		assert_text(about, "peer_until", stamp_of((size_t)last + 1, stamp));
		/* Both ends, if the other one is present and has no other cable. */
		other = fabric_find_port(now, peer_guid, peer_num);
		assert_int_equal(json_array_size(json_object_get(report, "ports")),
				 1 + (other != FABRIC_NONE && now->ports[other].peer == FABRIC_NONE && other != i));
		both += json_array_size(json_object_get(report, "ports")) == 2;
		pulled++;
		json_decref(report);
	}
	assert_true(pulled > 5 && both > 0);
	print_message("# note: %u pulled, %u of them with both ends there, %u that never had a cable\n", pulled, both,
		      never);
	forget_past();
}

/* Names of the model are hostile. */
TEST_IN_FOLDER(the_page_of_a_node_has_its_tables_and_plots)
{
	char line[128], stamp[WHEN_SIZE], *page;
	unsigned plots = 0;

	make_past(1);
	for (size_t i = 0; i < fabric_of(STEPS - 1)->node_count; i++) {
		snprintf(line, sizeof(line), "report|0x%016llx|--at|%s|--html|-",
			 (unsigned long long)fabric_of(STEPS - 1)->nodes[i].guid, stamp_of(STEPS - 1, stamp));
		page = run_text(line);
		assert_non_null(strstr(page, "<section class=\"card verdict "));
		assert_non_null(strstr(page, "<h2>Ports</h2>"));
		assert_non_null(strstr(page, "<h2>Events</h2>"));
		assert_non_null(strstr(page, "</html>\n"));
		assert_null(strstr(page, "<script"));
		plots += strstr(page, "<h3>Rate, TX and RX</h3>\n<svg") != NULL;
		free(page);
	}
	assert_true(plots > 0);
	assert_refused({ "report|nowhere|--html|-", ERR_USAGE, "nowhere" });
	forget_past();
}

TEST_IN_FOLDER(unknown_name_is_one_error_line)
{
	make_past(1);
	assert_refused(
		{ "report|0x0123456789abcdef", ERR_USAGE, "0x0123456789abcdef" },
		{ "report|0x0123456789abcdef/1", ERR_USAGE, "0x0123456789abcdef" },
		{ "report|nowhere", ERR_USAGE, "nowhere" }, { "report|nowhere/3", ERR_USAGE, "nowhere" });
	forget_past();
}
