/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `ibwire snapshot diff` with known contents: links change, counters are reset and saturated. */
#define UNIT_TEST_SETUP make_snapshots
#define UNIT_TEST_TEARDOWN remove_database
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "export/result.h"
#include "fabric/counter.h"
#include "fabric/fabric.h"
#include "storage/saved.h"
#include "storage/test/test_model.h"

/* Snapshots "s0" to "s23" follow the sweeps of the database. */
enum { SNAPSHOTS = 24 };

int make_snapshots(void **state)
{
	struct saved_writer *writer;

	if (make_database(state) < 0 || saved_writer_open(db_path, &writer, NULL) < 0)
		return -1;
	for (int i = 0; i < SNAPSHOTS; i++) {
		char name[16];
		const struct saved_label label = { .name = name, .slow = true };

		snprintf(name, sizeof(name), "s%d", i);
		if (i == 6)
			model_reboot(model);
		if (saved_write(writer, &label, model_step(model), NULL) < 0)
			return -1;
	}
	saved_writer_close(writer);
	return 0;
}

static const struct model_sweep *sweep_of(int snapshot)
{
	return &model->sweeps[SWEEPS + snapshot];
}

static json_t *diff_of(int from, int to, const char *by)
{
	char line[64];

	snprintf(line, sizeof(line), "snapshot|diff|s%d|s%d|--by|%s", from, to, by);
	return run_json(line);
}

/* Is a port unplanned in one of two sweeps? The model then has no expected value. */
static bool is_unplanned(int from, int to, uint64_t guid, uint8_t num)
{
	for (size_t i = 0; i < model->port_count; i++)
		if (model->nodes[model->ports[i].node].node.guid == guid && model->ports[i].num == num)
			return (sweep_of(from)->truth[i].sampled &&
				sweep_of(from)->truth[i].status == SAMPLE_UNPLANNED) ||
			       (sweep_of(to)->truth[i].sampled && sweep_of(to)->truth[i].status == SAMPLE_UNPLANNED);
	return true;
}

/* Key of a traffic counter; data in bytes. NULL: an error counter. */
static const char *traffic_key(int counter)
{
	switch (counter) {
	case COUNTER_XMIT_DATA:
		return "xmit_bytes";
	case COUNTER_RCV_DATA:
		return "rcv_bytes";
	case COUNTER_XMIT_WAIT:
		return "xmit_wait_ticks";
	default:
		return counter < COUNTER_TRAFFIC_COUNT ? counter_info((enum counter)counter)->key : NULL;
	}
}

/* A number of a row, or what is certain of it. */
static const json_t *known_of(const json_t *row, const char *key)
{
	const json_t *bound = json_object_get(json_object_get(row, RESULT_LOWER_BOUNDS), key);

	assert_true(!bound || json_is_null(json_object_get(row, key)));
	return bound ? bound : json_object_get(row, key);
}

/*
 * A tool that clears one counter of a port clears those of errors and PortXmitWait; one that clears one of data or
 * packets clears all.
 */
static bool is_cleared(int counter, const struct reading *before, const struct reading *after)
{
	bool is_traffic = counter < COUNTER_TRAFFIC_COUNT && counter != COUNTER_XMIT_WAIT, any = false;

	for (int i = 0; i < (is_traffic ? COUNTER_TRAFFIC_COUNT : COUNTER_COUNT); i++)
		any |= !(is_traffic && i == COUNTER_XMIT_WAIT) && before->present & after->present & COUNTER_BIT(i) &&
		       !((before->wide ^ after->wide) & COUNTER_BIT(i)) && after->value[i] < before->value[i];
	return any;
}

/* Check a counter of a row. @before, @after: NULL: not read. Return: is it known? */
static bool check_counter(const json_t *row, int counter, const struct reading *before, const struct reading *after)
{
	const char *key = counter_info((enum counter)counter)->key, *traffic = traffic_key(counter);
	const json_t *value = traffic ? known_of(row, traffic)
				      : json_object_get(json_object_get(row, "errors"), key);
	counter_set bit = COUNTER_BIT(counter);
	bool known = before && after && before->present & after->present & bit && !((before->wide ^ after->wide) & bit);
	bool decreased = known && after->value[counter] < before->value[counter];
	bool fell = known && is_cleared(counter, before, after);
	bool full = known && after->value[counter] == reading_max(after, (enum counter)counter);
	uint64_t expected = !known ? 0 : decreased ? after->value[counter] :
	after->value[counter] - before->value[counter];
	bool is_words = counter == COUNTER_XMIT_DATA || counter == COUNTER_RCV_DATA;

	assert_int_equal(list_has(json_object_get(row, "unknown"), key), !known);
	assert_int_equal(list_has(json_object_get(row, "reset"), key), fell);
	assert_int_equal(list_has(json_object_get(row, "saturated"), key), full);
	assert_int_equal(list_has(json_object_get(row, "at_least"), key), fell || full);
	if (!known || (is_words && expected > UINT64_MAX / 4)) {
		assert_true(!value || json_is_null(value));
		return false;
	}
	if (traffic && (fell || full) && !expected)
		assert_true(json_is_null(value)); /* at least 0 is unknown */
	else
		assert_true(unsigned_of(value) == expected * (is_words ? 4 : 1));
	return true;
}

/* The expected reading of a sweep, or NULL. */
static const struct reading *reading_of(const struct model_truth *truth)
{
	return truth->sampled && truth->status == SAMPLE_OK ? &truth->reading : NULL;
}

static size_t check_port_row(const json_t *row, const struct model_truth *before, const struct model_truth *after)
{
	size_t numbers = 0;

	assert_text(row, "change", !before->sampled ? "came" : !after->sampled ? "went" : "both");
	assert_text(row, "status_from", before->sampled ? sample_status_name(before->status) : NULL);
	assert_text(row, "status_to", after->sampled ? sample_status_name(after->status) : NULL);
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		numbers += check_counter(row, counter, reading_of(before), reading_of(after));
	return numbers;
}

TEST(diff_by_port_is_exact_or_unknown)
{
	size_t numbers = 0, rows_seen = 0;

	for (int from = 0; from < SNAPSHOTS - 1; from += 4)
		for (int to = from + 1; to < SNAPSHOTS; to += 3) {
			json_t *rows = diff_of(from, to, "port");
			size_t expected = 0, others = 0;

			for (size_t i = 0; i < model->port_count; i++) {
				const struct model_truth *before = &sweep_of(from)->truth[i];
				const struct model_truth *after = &sweep_of(to)->truth[i];
				const struct model_port *port = &model->ports[i];
				uint64_t guid = model->nodes[port->node].node.guid;
				const json_t *row = find_row(rows, guid, port->num);

				if (is_unplanned(from, to, guid, port->num)) {
					others += row != NULL;
					continue;
				}
				assert_int_equal(row != NULL, before->sampled || after->sampled);
				if (!row)
					continue;
				expected++;
				numbers += check_port_row(row, before, after);
			}
			assert_int_equal(json_array_size(rows), expected + others);
			rows_seen += expected;
			json_decref(rows);
		}
	assert_true(numbers > rows_seen * 5);
}

/* Are these ports linked in a fabric? */
static bool link_in(const struct fabric *fabric, uint64_t guid, uint8_t num, uint64_t peer_guid, uint8_t peer_num)
{
	uint32_t port = fabric_find_port(fabric, guid, num);

	return port != FABRIC_NONE && fabric->ports[port].peer != FABRIC_NONE &&
	       fabric->ports[port].peer == fabric_find_port(fabric, peer_guid, peer_num);
}

static size_t count_links(int to, const struct fabric *fabric, const struct fabric *but)
{
	size_t count = 0;

	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		const struct port *peer = port->peer == FABRIC_NONE ? NULL : &fabric->ports[port->peer];

		uint64_t guid = fabric->nodes[port->node].guid, peer_guid = peer ? fabric->nodes[peer->node].guid : 0;

		if (peer && port->peer > i && port_is_pollable(fabric, port) && port_is_pollable(fabric, peer) &&
		    !is_unplanned(0, to, guid, port->num) && !is_unplanned(0, to, peer_guid, peer->num) &&
		    !(but && link_in(but, guid, port->num, peer_guid, peer->num)))
			count++;
	}
	return count;
}

TEST(diff_by_link_shows_both_ends)
{
	size_t came = 0, went = 0;

	for (int to = 1; to < SNAPSHOTS; to++) {
		const struct fabric *before = sweep_of(0)->fabric, *after = sweep_of(to)->fabric;
		json_t *links = diff_of(0, to, "link"), *ports = diff_of(0, to, "port");

		size_t rows = 0;

		for (size_t i = 0; i < json_array_size(links); i++) {
			const json_t *row = json_array_get(links, i);
			uint64_t guid = guid_of(row, "node_guid"), peer_guid = guid_of(row, "peer_guid");
			uint8_t num = (uint8_t)integer_of(row, "port");
			uint8_t peer_num = (uint8_t)integer_of(row, "peer_port");
			bool was = link_in(before, guid, num, peer_guid, peer_num);
			bool is = link_in(after, guid, num, peer_guid, peer_num);

			if (is_unplanned(0, to, guid, num) || is_unplanned(0, to, peer_guid, peer_num))
				continue;
			rows++;
			assert_text(row, "change", !was ? "came" : !is ? "went" : "both");
			came += !was;
			went += !is;
			assert_true(json_equal(json_object_get(row, "xmit_bytes"),
					       json_object_get(find_row(ports, guid, num), "xmit_bytes")));
			assert_true(json_equal(json_object_get(row, "peer_errors"),
					       json_object_get(find_row(ports, peer_guid, peer_num), "errors")));
		}
		assert_int_equal(rows, count_links(to, after, NULL) + count_links(to, before, after));
		json_decref(links);
		json_decref(ports);
	}
	assert_true(came && went);
}

/* A sum is a lower bound if the counter is unknown for a port. */
TEST(diff_by_switch_is_exact_or_a_bound)
{
	size_t exact = 0, bounds = 0;

	for (int to = 1; to < SNAPSHOTS; to++) {
		json_t *sums = diff_of(0, to, "switch"), *ports = diff_of(0, to, "port");

		for (size_t i = 0; i < json_array_size(sums); i++) {
			const json_t *sum = json_array_get(sums, i);
			uint64_t expected = 0;
			bool known = false, at_least = false;

			for (size_t j = 0; j < json_array_size(ports); j++) {
				const json_t *port = json_array_get(ports, j);
				const char *from = json_string_value(json_object_get(port, "status_from"));
				const char *now = json_string_value(json_object_get(port, "status_to"));
				const json_t *value = known_of(port, "rcv_packets");

				if (guid_of(port, "node_guid") != guid_of(sum, "node_guid") ||
				    ((!from || !strcmp(from, "down")) && (!now || !strcmp(now, "down"))))
					continue;
				at_least |= json_is_null(value) ||
					    list_has(json_object_get(port, "at_least"), "rcv_packets");
				known |= !json_is_null(value) ||
					 list_has(json_object_get(port, "at_least"), "rcv_packets");
				if (!json_is_null(value) &&
				    __builtin_add_overflow(expected, unsigned_of(value), &expected)) {
					expected = UINT64_MAX;
					at_least = true;
				}
			}
			assert_int_equal(!json_is_null(known_of(sum, "rcv_packets")), known && (expected || !at_least));
			if (known && (expected || !at_least))
				assert_true(unsigned_of(known_of(sum, "rcv_packets")) == expected);
			assert_int_equal(list_has(json_object_get(sum, "at_least"), "rcv_packets"), known && at_least);
			exact += known && !at_least;
			bounds += known && at_least;
		}
		json_decref(sums);
		json_decref(ports);
	}
	assert_true(exact + bounds > 10);
	assert_true(bounds > 0);
}

/* Every format with every grouping. */
TEST(every_format_is_complete)
{
	static const char *const bys[] = { "port", "link", "switch", "host" };
	static const char *const forms[] = { "table", "csv" };

	for (size_t by = 0; by < 4; by++)
		for (size_t form = 0; form < 2; form++) {
			char line[96], *output;

			snprintf(line, sizeof(line), "snapshot|diff|s2|s8|--all|--by|%s|--format|%s", bys[by],
				 forms[form]);
			output = run_text(line);
			assert_true(strlen(output) > 200);
			free(output);
		}
}

TEST(diff_defaults_to_the_newest_two_snapshots)
{
	static const char *const alike[][2] = {
		{ "snapshot|diff", "snapshot|diff|s22|s23|--by|port" },
		{ "snapshot|diff|s3", "snapshot|diff|s3|s23" },
		{ "snapshot|diff|s7|s3", "snapshot|diff|s3|s7" },
	};

	for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++) {
		json_t *one = run_json(alike[i][0]), *other = run_json(alike[i][1]);

		assert_true(json_array_size(one) > 0 && json_equal(one, other));
		json_decref(one);
		json_decref(other);
	}
}

TEST(usage_error_is_one_line)
{
	assert_refused(
		{ "snapshot", ERR_USAGE, "take, list, diff or remove" },
		{ "snapshot|shoot", ERR_USAGE, "take, list, diff or remove" },
		{ "snapshot|take", ERR_USAGE, "name of one snapshot" },
		{ "snapshot|list|x", ERR_USAGE, "does not take a name" },
		{ "snapshot|diff|a|b|c", ERR_USAGE, "at most two" },
		{ "snapshot|take|s1", ERR_USAGE, "a snapshot 's1' exists" },
		{ "snapshot|take|yes\x1b[2J", ERR_USAGE, "printable" },
		{ "snapshot|take| x", ERR_USAGE, "printable" },
		{ "snapshot|take|now", ERR_USAGE, "is a time" },
		{ "snapshot|take|-10m", ERR_USAGE, "begin with" },
		{ "snapshot|take|x|--note|a\nb", ERR_USAGE, "one line" },
		{ "snapshot|take|x|--window|500", ERR_USAGE, "--window" },
		{ "snapshot|diff|--note|x", ERR_USAGE, "require take" },
		{ "snapshot|list|--all", ERR_USAGE, "require diff" },
		{ "snapshot|diff|--by|rack", ERR_USAGE, "host, switch, link or port" },
		{ "snapshot|diff|s32", ERR_USAGE, "did you mean" },
		{ "snapshot|diff|quite something else", ERR_USAGE, "not a time" },
		{ "snapshot|diff|s23", ERR_USAGE, "newest snapshot" },
		{ "snapshot|diff|s4|s4", ERR_USAGE, "both arguments" },
		{ "snapshot|remove|something else", ERR_USAGE, "unknown snapshot" },
		{ "snapshot|remove|-10m", ERR_USAGE, "unknown snapshot" });
}

/* Runs last: it removes a snapshot of the other tests. */
TEST(removed_snapshot_is_deleted_and_others_stay)
{
	json_t *list, *rows;

	free(run_text("snapshot|remove|s4"));
	list = run_json("snapshot|list");
	assert_int_equal(json_array_size(list), SNAPSHOTS - 1);
	assert_text(json_array_get(list, 4), "name", "s5");
	json_decref(list);
	rows = diff_of(3, 5, "port");
	assert_true(json_array_size(rows) > 0);
	json_decref(rows);
}
