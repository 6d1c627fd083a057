/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/format.h"
#include "tui/model/context.h"
#include "tui/model/test_sample.h"
#include "tui/model/port_table.h"
#include "tui/model/cell_text.h"

#define START_US SAMPLE_START_US
#define LEAF(n) (4 * SAMPLE_HOSTS_PER_LEAF + (n) - 1)

struct made {
	struct sample_model model;
	struct links links;
};

static void show(struct made *made)
{
	assert_int_equal(sample_model_set(&made->model), 0);
	assert_int_equal(links_set(&made->links, &made->model.table, &made->model.context, NULL), 0);
}

static int setup(void **state)
{
	struct made *made = *state = sample_model_create(sizeof(*made), 4, true);

	if (!made)
		return -1;
	links_init(&made->links);
	show(made);
	return 0;
}

static int teardown(void **state)
{
	struct made *made = *state;

	links_done(&made->links);
	sample_model_done(&made->model);
	free(made);
	return 0;
}

static const char *cell_of(const struct made *made, const struct link_row *link, enum link_column column)
{
	static char text[CELL_SIZE];

	return cell_text(&made->links, &made->model.sums, link, column, 80, START_US, text);
}

static const char *cell_at(const struct made *made, size_t row, enum link_column column)
{
	assert_true(row < made->links.row_count);
	return cell_of(made, links_row(&made->links, row), column);
}

/* The link of a port, whether it is shown or not. */
static const struct link_row *link_of(const struct made *made, uint32_t node, uint8_t num)
{
	uint32_t port = fabric_node_port(made->model.sample.fabric, node, num);

	for (size_t i = 0; i < made->links.count; i++)
		if (made->links.all[i].ends[0] == port || made->links.all[i].ends[1] == port)
			return &made->links.all[i];
	fail_msg("no link of node %u port %u", node, num);
	return NULL;
}

static void filter(struct made *made, const char *typed)
{
	filter_set(&made->links.filter, typed);
	links_arrange(&made->links);
}

/* Each cabled link once, each port without a cable once, nothing else. */
static void check_complete(const struct links *links)
{
	const struct fabric *fabric = links->table->snapshot->fabric;
	uint8_t *seen = calloc(fabric->port_count + 1, 1);
	size_t pairs = 0;

	assert_non_null(seen);
	for (size_t i = 0; i < links->count; i++) {
		const struct link_row *link = &links->all[i];

		assert_false(seen[link->ends[0]]++);
		assert_int_equal(fabric->ports[link->ends[0]].peer, link->ends[1]);
		if (link->ends[1] == FABRIC_NONE)
			continue;
		pairs++;
		assert_false(seen[link->ends[1]]++);
	}
	for (size_t i = 0; i < fabric->port_count; i++)
		assert_int_equal(seen[i], port_is_pollable(fabric, &fabric->ports[i]));
	assert_int_equal(pairs, fabric_count_links(fabric));
	free(seen);
}

MODEL_TEST(each_link_is_there_once_and_the_end_near_the_hosts_first)
{
	const struct fabric *fabric = made->model.sample.fabric;

	check_complete(&made->links);
	for (size_t i = 0; i < made->links.count; i++) {
		const struct link_row *link = &made->links.all[i];
		uint32_t low = fabric->ports[link->ends[0]].node;

		/* The sample has all hosts first, then all leafs, then all spines. */
		if (link->ends[1] != FABRIC_NONE)
			assert_true(low < fabric->ports[link->ends[1]].node);
	}
}

/* A fabric of chance: switches and HCAs, linked as it comes. */
static struct fabric *random_fabric(uint64_t seed)
{
	struct fabric *fabric = fabric_create(NULL);
	uint32_t nodes = 1 + (uint32_t)(map_mix(seed) % 12);

	assert_non_null(fabric);
	for (uint32_t i = 0; i < nodes; i++) {
		bool is_switch = map_mix(seed + i) % 2;
		struct node node = {
			.guid = 1000 + i, .type = is_switch ? NODE_SWITCH : NODE_CA,
			.port_count = is_switch ? 6 : 2, .enhanced_port0 = map_mix(seed + 7 * i) % 2,
		};

		snprintf(node.desc, sizeof(node.desc), "n%u", (unsigned)(map_mix(seed ^ i) % 5));
		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		for (int num = is_switch ? 0 : 1; num <= node.port_count; num++) {
			struct port port = { .num = (uint8_t)num, .state = PORT_ACTIVE, .phys_state = PHYS_LINK_UP,
					     .speed = LINK_SPEED_HDR, .width = LINK_WIDTH_4X };

			if (map_mix(seed * 31 + i * 8 + (unsigned)num) % 5 == 0)
				port.state = PORT_DOWN;
			assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
		}
	}
	for (uint32_t i = 0; i < 3 * nodes; i++) {
		uint32_t a = (uint32_t)(map_mix(seed + 99 + i) % fabric->port_count);
		uint32_t b = (uint32_t)(map_mix(seed + 77 * i) % fabric->port_count);

		if (a != b && fabric->ports[a].num && fabric->ports[b].num)
			fabric_link(fabric, a, b, NULL);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

static void fill_random(const struct fabric *fabric, uint64_t seed, struct snapshot *ret)
{
	*ret = (struct snapshot){ .fabric = (struct fabric *)fabric, .sweep = { .id = 1, .wall_us = START_US } };
	ret->rows = calloc(fabric->port_count + 1, sizeof(*ret->rows));
	assert_non_null(ret->rows);
	for (size_t i = 0; i < fabric->port_count; i++) {
		struct port_row *row = &ret->rows[i];
		uint64_t dice = map_mix(seed + i);

		row->status = dice % 4 ? SAMPLE_OK : SAMPLE_SILENT;
		row->last_wall_us = dice % 3 ? START_US - (int64_t)(dice % 9) * US_PER_S : 0;
		row->sum.elapsed_us = US_PER_S;
		row->sum.known = dice % 5 ? COUNTER_BIT(COUNTER_COUNT) - 1 : 0;
		row->sum.value[COUNTER_XMIT_DATA] = dice % 7 * 100000000;
		row->sum.value[COUNTER_RCV_DATA] = dice % 11 * 50000000;
		row->sum.value[COUNTER_SYMBOL_ERRORS] = dice % 6 ? 0 : 3;
	}
}

/* Columns whose cell is "-" if and only if their sort key is unknown. */
static bool shows_unknown(enum link_column column)
{
	return column == LINK_COLUMN_PEER || column == LINK_COLUMN_LOAD || column == LINK_COLUMN_XMIT ||
	       column == LINK_COLUMN_RCV || column == LINK_COLUMN_XMIT_PERCENT ||
	       column == LINK_COLUMN_RCV_PERCENT || column == LINK_COLUMN_ERRORS || column == LINK_COLUMN_AGE ||
	       column == LINK_COLUMN_WAIT || column == LINK_COLUMN_WAIT_BACK || column == LINK_COLUMN_STALL;
}

static void check_order(struct made *made, enum link_column column)
{
	struct links *links = &made->links;
	uint32_t *before = calloc(links->count + 1, sizeof(*before));
	bool unknown = false;

	assert_non_null(before);
	links->sort = column;
	links_arrange(links);
	assert_int_equal(links->row_count, links->count);
	memcpy(before, links->rows, links->row_count * sizeof(*before));
	/* The order does not depend on the previous one. */
	links->sort = LINK_COLUMN_GUID;
	links->descending = !links->descending;
	links_arrange(links);
	links->sort = column;
	links->descending = !links->descending;
	links_arrange(links);
	assert_memory_equal(before, links->rows, links->row_count * sizeof(*before));
	for (size_t i = 0; shows_unknown(column) && i < links->row_count; i++) {
		bool dash = !strcmp(cell_at(made, i, column), "-");

		assert_true(dash || !unknown);
		unknown = dash;
	}
	free(before);
}

TEST(in_any_fabric_each_link_is_there_once_in_every_order)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct made made = { .links = { .show_unused = true } };
		struct fabric *fabric = random_fabric(seed);

		fill_random(fabric, seed, &made.model.snapshot);
		made.model.sample.fabric = fabric;
		assert_int_equal(error_sums_add(&made.model.sums, &made.model.snapshot, NULL), 0);
		assert_int_equal(shape_create(fabric, NULL, &made.model.context.shape, NULL), 0);
		show(&made);
		check_complete(&made.links);
		for (int column = 0; column < LINK_COLUMN_COUNT; column++)
			for (int way = 0; way < 4; way++) {
				made.links.descending = way & 1;
				made.links.swapped = way & 2;
				check_order(&made, (enum link_column)column);
			}
		links_done(&made.links);
		port_table_done(&made.model.table);
		error_sums_done(&made.model.sums);
		shape_destroy(made.model.context.shape);
		free(made.model.snapshot.rows);
		fabric_destroy(fabric);
	}
}

MODEL_TEST(the_busiest_link_is_first)
{
	const struct link_row *link;

	/* In whichever direction. */
	link = links_row(&made->links, 0);
	assert_string_equal(cell_of(made, link, LINK_COLUMN_LOAD), "95%");
	made->links.swapped = true;
	assert_string_equal(cell_of(made, link, LINK_COLUMN_PORT), "leaf01/1");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_PEER), "node0001 mlx5_0/1");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_XMIT_PERCENT), "95%");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_RCV_PERCENT), "50%");
	/* With ends exchanged the numbers are exchanged. */
	made->links.swapped = false;
	assert_string_equal(cell_of(made, link, LINK_COLUMN_PORT), "node0001 mlx5_0/1");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_XMIT_PERCENT), "50%");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_RCV_PERCENT), "95%");
	made->links.sort = LINK_COLUMN_RCV;
	links_arrange(&made->links);
	assert_ptr_equal(links_row(&made->links, 0), link);
}

MODEL_TEST(rates_of_a_silent_end_come_from_its_peer)
{
	const struct link_row *link = link_of(made, LEAF(1), 3);
	uint32_t host = link->ends[0];

	assert_int_equal(link->status, STATUS_SILENT);
	assert_string_equal(cell_of(made, link, LINK_COLUMN_STATUS), "peer silent");
	assert_true(isnan(made->model.table.views[link->ends[1]].xmit_bytes_per_s));
	assert_true(link->bytes_per_s[0] == made->model.table.views[host].xmit_bytes_per_s && link->bytes_per_s[0] > 0);
	assert_true(link->bytes_per_s[1] == made->model.table.views[host].rcv_bytes_per_s && link->bytes_per_s[1] > 0);
	/* Without a reading of either end the rate is unknown, never 0. */
	made->model.snapshot.rows[host].status = SAMPLE_SILENT;
	show(made);
	link = link_of(made, LEAF(1), 3);
	assert_string_equal(cell_of(made, link, LINK_COLUMN_XMIT), "-");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_RCV), "-");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_WAIT), "-");
	assert_string_equal(cell_of(made, link_of(made, 8, 1), LINK_COLUMN_XMIT), "0 b/s");
}

MODEL_TEST(errors_are_shown_by_end)
{
	struct links *links = &made->links;
	const struct link_row *link = link_of(made, LEAF(2), 2);
	char text[CELL_SIZE];

	assert_string_equal(cell_of(made, link, LINK_COLUMN_ERRORS), "0/3");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_WHICH_ERRORS), "peer: symbol_errors 2, rcv_errors 1");
	assert_string_equal(cell_of(made, link_of(made, LEAF(2), 5), LINK_COLUMN_ERRORS), "0");
	links->swapped = true;
	assert_string_equal(cell_of(made, link, LINK_COLUMN_ERRORS), "3/0");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_WHICH_ERRORS), "symbol_errors 2, rcv_errors 1");
	links->sort = LINK_COLUMN_ERRORS;
	links_arrange(links);
	assert_ptr_equal(links_row(links, 0), link);
	/* A full counter is never no error, and a full traffic counter none of the errors. */
	made->model.snapshot.rows[link->ends[0]].sum.saturated = COUNTER_BIT(COUNTER_RCV_ERRORS);
	made->model.snapshot.rows[link_of(made, LEAF(2), 5)->ends[0]].sum.saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	assert_int_equal(error_sums_add(&made->model.sums, &made->model.snapshot, NULL), 0);
	show(made);
	link = link_of(made, LEAF(2), 2);
	assert_string_equal(cell_of(made, link, LINK_COLUMN_ERRORS), "6/0+");
	assert_non_null(strstr(cell_of(made, link, LINK_COLUMN_WHICH_ERRORS), "; peer: rcv_errors 0+ (saturated)"));
	assert_string_equal(cell_of(made, link_of(made, LEAF(2), 5), LINK_COLUMN_ERRORS), "0");
	assert_string_equal(cell_text(links, &made->model.sums, link, LINK_COLUMN_ERRORS, 4, START_US, text), "6/0+");
}

MODEL_TEST(a_link_below_what_it_is_set_to_is_marked)
{
	const struct link_row *link = link_of(made, LEAF(1), 4);

	assert_string_equal(cell_of(made, link, LINK_COLUMN_LINK), "4x HDR");
	made->model.sample.fabric->ports[link->ends[0]].width = LINK_WIDTH_1X;
	made->model.sample.fabric->ports[link->ends[1]].width = LINK_WIDTH_1X;
	show(made);
	assert_true(link_of(made, LEAF(1), 4)->degraded);
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 4), LINK_COLUMN_LINK), "1x HDR low");
	filter(made, "state:degraded");
	assert_int_equal(made->links.row_count, 1);
	filter(made, "width:1x");
	assert_int_equal(made->links.row_count, 1);
}

MODEL_TEST(the_stall_of_a_known_device_is_shown_and_of_others_a_dash)
{
	struct fabric *fabric = made->model.sample.fabric;
	const struct link_row *link = link_of(made, LEAF(1), 1);
	struct pma_caps *caps = calloc(fabric->node_count, sizeof(*caps));
	struct delta *sum = &made->model.snapshot.rows[link->ends[1]].sum;

	assert_non_null(caps);
	assert_string_equal(cell_of(made, link, LINK_COLUMN_STALL_BACK), "-");
	fabric->nodes[LEAF(1)].vendor_id = 0x2c9;
	fabric->nodes[LEAF(1)].device_id = 0xd2f0;
	for (size_t i = 0; i < fabric->node_count; i++)
		caps[i] = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	made->model.snapshot.caps = caps;
	/* 4x HDR: 3.125e9 ticks of 8 bytes a second; two seconds. */
	sum->value[COUNTER_XMIT_WAIT] = 781250000;
	show(made);
	link = link_of(made, LEAF(1), 1);
	assert_string_equal(cell_of(made, link, LINK_COLUMN_STALL_BACK), "12%");
	assert_string_equal(cell_of(made, link, LINK_COLUMN_STALL), "-");
	/* Ticks are shown for every device. */
	assert_string_not_equal(cell_of(made, link, LINK_COLUMN_WAIT), "-");
	sum->saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	show(made);
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 1), LINK_COLUMN_STALL_BACK), "12%+");
	made->model.snapshot.caps = NULL;
	free(caps);
}

MODEL_TEST(findings_mark_their_link_at_either_end)
{
	const struct fabric *fabric = made->model.sample.fabric;
	struct finding_row rows[3] = { 0 };
	const struct link_row *link = link_of(made, LEAF(1), 40);
	uint32_t spine = fabric->ports[link->ends[1]].node;

	rows[0].finding = (struct finding){ .kind = FINDING_LINK_DEGRADED, .severity = FINDING_CRITICAL,
					    .node_guid = fabric->nodes[spine].guid,
					    .port = fabric->ports[link->ends[1]].num };
	rows[1].finding = (struct finding){ .kind = FINDING_UPLINK_IMBALANCE, .severity = FINDING_WARNING,
					    .node_guid = fabric->nodes[LEAF(1)].guid };
	rows[2].finding = (struct finding){ .kind = FINDING_NIC_UNUSED, .severity = FINDING_WARNING,
					    .node_guid = fabric->nodes[50].guid };
	rows[2].acknowledged.at_us = 1;
	made->model.context.findings = rows;
	made->model.context.finding_count = 3;
	show(made);
	assert_true(made->links.has_marks);
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 40), LINK_COLUMN_FINDING), "CRIT link-degraded");
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 41), LINK_COLUMN_FINDING), "WARN uplink-imbalance");
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 1), LINK_COLUMN_FINDING), "");
	assert_string_equal(cell_of(made, link_of(made, 50, 1), LINK_COLUMN_FINDING), "ack  nic-unused");
	made->links.sort = LINK_COLUMN_FINDING;
	made->links.descending = true;
	links_arrange(&made->links);
	assert_ptr_equal(links_row(&made->links, 0), link_of(made, LEAF(1), 40));
	filter(made, "finding:critical");
	assert_int_equal(made->links.row_count, 1);
	/* Also of an end whose link has a worse one at the other end. */
	filter(made, "finding:uplink");
	assert_int_equal(made->links.row_count, SAMPLE_SPINES);
	filter(made, "finding:uplink !finding:critical");
	assert_int_equal(made->links.row_count, SAMPLE_SPINES - 1);
	filter(made, "finding:yes");
	assert_int_equal(made->links.row_count, SAMPLE_SPINES + 1);
	made->model.context.findings = NULL;
	made->model.context.finding_count = 0;
}

MODEL_TEST(a_filter_looks_at_both_ends_status_link_and_guid)
{
	static const struct { const char *typed; size_t rows; } cases[] = {
		{ "locked", 1 }, { "UNSUPPORTED", 1 }, { "no such thing", 0 }, { "0x0000000000100000", 1 },
		{ "node0100.mlx5_0/1", 1 }, { "/1leaf", 0 }, { "^leaf0[12]/7$", 2 }, { "leaf01 spine03", 1 },
		{ "leaf01 spine03|leaf02 spine0[45]", 3 }, { "role:leaf-uplink", 4 * SAMPLE_SPINES - 1 },
		{ "tier:2", 4 * SAMPLE_SPINES - 1 }, { "tier:1 !tier:2", 4 * SAMPLE_HOSTS_PER_LEAF },
		{ "class:compute", 4 * SAMPLE_HOSTS_PER_LEAF }, { "host:node0100", 1 }, { "host:node001", 10 },
		{ "rail:0", 4 * SAMPLE_HOSTS_PER_LEAF }, { "rail:1", 0 }, { "state:silent", 1 }, { "err:yes", 1 },
		{ "state:down", 0 }, { "finding:yes", 0 }, { "speed:ndr", 0 }, { "tagged:yes", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		filter(made, cases[i].typed);
		if (made->links.row_count != cases[i].rows)
			fail_msg("%s: %zu rows, not %zu", cases[i].typed, made->links.row_count, cases[i].rows);
	}
	/* Every port without a cable is down, and has no speed. */
	made->links.show_unused = true;
	filter(made, "state:down");
	assert_true(made->links.row_count >= made->links.unused_count);
	filter(made, "speed:hdr");
	assert_int_equal(made->links.row_count, made->links.count - made->links.unused_count);
}

MODEL_TEST(what_was_never_up_is_hidden)
{
	struct links *links = &made->links;
	size_t hidden = links->unused_count, shown = links->row_count;

	assert_true(hidden > 0);
	assert_int_equal(shown + hidden, links->count);
	links->show_unused = true;
	links_arrange(links);
	assert_int_equal(links->row_count, links->count);
	links->show_unused = false;
	/* A link of which one end was read a context before it went down stays. */
	made->model.snapshot.rows[fabric_node_port(made->model.sample.fabric, LEAF(2), 33)].last_wall_us = START_US;
	show(made);
	assert_int_equal(links->row_count, shown + 1);
}

MODEL_TEST(tags_stay_through_snapshots)
{
	struct links *links = &made->links;

	assert_int_equal(links_tag(links, link_of(made, 5, 1), NULL), 0);
	assert_int_equal(links_tag(links, link_of(made, 6, 1), NULL), 0);
	show(made);
	links->tagged_only = true;
	links_arrange(links);
	assert_int_equal(links->row_count, 2);
	assert_int_equal(links_tag(links, link_of(made, 6, 1), NULL), 0);
	links_arrange(links);
	assert_int_equal(links->row_count, 1);
	assert_ptr_equal(links_row(links, 0), link_of(made, 5, 1));
	links_untag_all(links);
	links_arrange(links);
	assert_true(links->row_count > 100);
}

MODEL_TEST(a_link_is_found_by_either_end_in_any_order)
{
	const struct fabric *fabric = made->model.sample.fabric;
	size_t row = links_find(&made->links, fabric->nodes[7].guid, 1);

	assert_string_equal(cell_at(made, row, LINK_COLUMN_PORT), "node0008 mlx5_0/1");
	made->links.descending = false;
	links_arrange(&made->links);
	assert_true(links_find(&made->links, fabric->nodes[7].guid, 1) != row);
	row = links_find(&made->links, fabric->nodes[LEAF(1)].guid, 8);
	assert_string_equal(cell_at(made, row, LINK_COLUMN_PORT), "node0008 mlx5_0/1");
	assert_int_equal(links_find(&made->links, fabric->nodes[7].guid, 9), made->links.row_count);
	assert_int_equal(links_find(&made->links, 1, 1), made->links.row_count);
}

MODEL_TEST(no_snapshot_is_no_link)
{
	assert_int_equal(port_table_set(&made->model.table, NULL, &made->model.sums, NULL, NULL), 0);
	assert_int_equal(links_set(&made->links, &made->model.table, &made->model.context, NULL), 0);
	assert_int_equal(made->links.row_count, 0);
	links_arrange(&made->links);
	assert_int_equal(links_find(&made->links, 1, 1), 0);
}
