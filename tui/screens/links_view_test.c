/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/screens/links_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/draw/theme.h"
#include "tui/model/format.h"
#include "tui/model/context.h"
#include "tui/model/test_sample.h"
#include "tui/model/layout.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"

#define START_US SAMPLE_START_US
#define LEAF(n) (4 * SAMPLE_HOSTS_PER_LEAF + (n) - 1)

struct made {
	struct sample_model model;
	struct live live;
	struct theme theme;
	struct trend trend;
	struct app app;
	struct links_screen self;
};

static void arrange(struct made *made)
{
	table_arrange(&made->self.rows.table, true);
}

static void show(struct made *made)
{
	assert_int_equal(sample_model_set(&made->model), 0);
	made->live.errors = made->model.sums;
	made->app.generation++;
	assert_true(links_view.update(&made->self, &made->app));
	table_arrange(&made->self.rows.table, true);
}

static void begin(struct made *made)
{
	made->app = (struct app){ .table = &made->model.table, .context = &made->model.context, .live = &made->live,
				  .theme = &made->theme, .trend = &made->trend, .now_us = START_US };
	table_init(&made->self.rows.table, &links_view, &made->self, &made->app);
}

static void end(struct made *made)
{
	table_done(&made->self.rows.table);
	links_done(&made->self.links);
}

static int setup(void **state)
{
	struct made *made = *state = sample_model_create(sizeof(*made), 4, true);

	if (!made)
		return -1;
	begin(made);
	show(made);
	return 0;
}

static int teardown(void **state)
{
	struct made *made = *state;

	end(made);
	sample_model_done(&made->model);
	free(made);
	return 0;
}

static const char *cell_at_width(struct made *made, size_t row, size_t column, int columns)
{
	enum role role;

	assert_true(row < made->self.rows.table.row_count);
	return table_cell(&made->self.rows.table, row, column, columns, &role);
}

static const char *cell_at(struct made *made, size_t row, size_t column)
{
	return cell_at_width(made, row, column, 80);
}

static const struct link_row *link_at(const struct made *made, size_t row)
{
	return &made->self.links.all[made->self.rows.table.rows[row]];
}

static size_t row_of(const struct made *made, const struct link_row *link)
{
	size_t row = 0;

	while (row < made->self.rows.table.row_count && link_at(made, row) != link)
		row++;
	return row;
}

static const char *cell_of(struct made *made, const struct link_row *link, size_t column)
{
	return cell_at(made, row_of(made, link), column);
}

/* The link of a port, whether it is shown or not. */
static const struct link_row *link_of(const struct made *made, uint32_t node, uint8_t num)
{
	uint32_t port = fabric_node_port(made->model.sample.fabric, node, num);

	for (size_t i = 0; i < made->self.links.count; i++)
		if (made->self.links.all[i].ends[0] == port || made->self.links.all[i].ends[1] == port)
			return &made->self.links.all[i];
	fail_msg("no link of node %u port %u", node, num);
	return NULL;
}

static void filter_by(struct made *made, const char *typed)
{
	filter_set(&made->self.rows.table.filter, typed);
	arrange(made);
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

	check_complete(&made->self.links);
	for (size_t i = 0; i < made->self.links.count; i++) {
		const struct link_row *link = &made->self.links.all[i];
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
static bool shows_unknown(size_t column)
{
	return column == LINK_PEER || column == LINK_LOAD || column == LINK_XMIT ||
	       column == LINK_RCV || column == LINK_XMIT_PERCENT ||
	       column == LINK_RCV_PERCENT || column == LINK_ERRORS || column == LINK_AGE ||
	       column == LINK_WAIT || column == LINK_WAIT_BACK || column == LINK_STALL;
}

static void check_order(struct made *made, size_t column)
{
	const struct links *links = &made->self.links;
	struct table *table = &made->self.rows.table;
	uint32_t *before = calloc(links->count + 1, sizeof(*before));
	bool unknown = false;

	assert_non_null(before);
	table->sort = column;
	arrange(made);
	assert_int_equal(table->row_count, links->count);
	memcpy(before, table->rows, table->row_count * sizeof(*before));
	/* The order does not depend on the previous one. */
	table->sort = LINK_GUID;
	table->descending = !table->descending;
	arrange(made);
	table->sort = column;
	table->descending = !table->descending;
	arrange(made);
	assert_memory_equal(before, table->rows, table->row_count * sizeof(*before));
	for (size_t i = 0; shows_unknown(column) && i < table->row_count; i++) {
		bool dash = !strcmp(cell_at(made, i, column), "-");

		assert_true(dash || !unknown);
		unknown = dash;
	}
	free(before);
}

TEST(in_any_fabric_each_link_is_there_once_in_every_order)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct made made = { .self.links.show_unused = true };
		struct fabric *fabric = random_fabric(seed);

		fill_random(fabric, seed, &made.model.snapshot);
		made.model.sample.fabric = fabric;
		assert_int_equal(error_sums_add(&made.model.sums, &made.model.snapshot, NULL), 0);
		assert_int_equal(shape_create(fabric, NULL, &made.model.context.shape, NULL), 0);
		begin(&made);
		show(&made);
		check_complete(&made.self.links);
		for (size_t column = 0; column <= LINK_COLUMN_COUNT; column++)
			for (int way = 0; way < 4; way++) {
				made.self.rows.table.descending = way & 1;
				made.self.links.swapped = way & 2;
				check_order(&made, column);
			}
		end(&made);
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
	link = link_at(made, 0);
	assert_string_equal(cell_of(made, link, LINK_LOAD), "95.0");
	made->self.links.swapped = true;
	assert_string_equal(cell_of(made, link, LINK_PORT), "leaf01/1");
	assert_string_equal(cell_of(made, link, LINK_PEER), "node0001 mlx5_0/1");
	assert_string_equal(cell_of(made, link, LINK_XMIT_PERCENT), "95.0");
	assert_string_equal(cell_of(made, link, LINK_RCV_PERCENT), "50.0");
	/* With ends exchanged the numbers are exchanged. */
	made->self.links.swapped = false;
	assert_string_equal(cell_of(made, link, LINK_PORT), "node0001 mlx5_0/1");
	assert_string_equal(cell_of(made, link, LINK_XMIT_PERCENT), "50.0");
	assert_string_equal(cell_of(made, link, LINK_RCV_PERCENT), "95.0");
	made->self.rows.table.sort = LINK_RCV;
	arrange(made);
	assert_ptr_equal(link_at(made, 0), link);
}

MODEL_TEST(rates_of_a_silent_end_come_from_its_peer)
{
	const struct link_row *link = link_of(made, LEAF(1), 3);
	uint32_t host = link->ends[0];

	assert_int_equal(link->facts.status, STATUS_SILENT);
	assert_string_equal(cell_of(made, link, LINK_STATUS), "peer silent");
	assert_true(isnan(made->model.table.ports[link->ends[1]].xmit_bytes_per_s.value));
	assert_true(link->facts.bytes_per_s[0].value == made->model.table.ports[host].xmit_bytes_per_s.value &&
		    measure_exact(link->facts.bytes_per_s[0]) > 0);
	assert_true(link->facts.bytes_per_s[1].value == made->model.table.ports[host].rcv_bytes_per_s.value &&
		    measure_exact(link->facts.bytes_per_s[1]) > 0);
	/* Without a reading of either end the rate is unknown, never 0. */
	made->model.snapshot.rows[host].status = SAMPLE_SILENT;
	show(made);
	link = link_of(made, LEAF(1), 3);
	assert_string_equal(cell_of(made, link, LINK_XMIT), "-");
	assert_string_equal(cell_of(made, link, LINK_RCV), "-");
	assert_string_equal(cell_of(made, link, LINK_WAIT), "-");
	assert_string_equal(cell_of(made, link_of(made, 8, 1), LINK_XMIT), "0 b/s");
}

MODEL_TEST(errors_are_shown_by_end)
{
	struct links *links = &made->self.links;
	struct table *table = &made->self.rows.table;
	const struct link_row *link = link_of(made, LEAF(2), 2);

	assert_string_equal(cell_of(made, link, LINK_ERRORS), "0/3");
	assert_string_equal(cell_of(made, link, LINK_WHICH_ERRORS), "peer: symbol_errors 2, rcv_errors 1");
	assert_string_equal(cell_of(made, link_of(made, LEAF(2), 5), LINK_ERRORS), "0");
	links->swapped = true;
	assert_string_equal(cell_of(made, link, LINK_ERRORS), "3/0");
	assert_string_equal(cell_of(made, link, LINK_WHICH_ERRORS), "symbol_errors 2, rcv_errors 1");
	table->sort = LINK_ERRORS;
	arrange(made);
	assert_ptr_equal(link_at(made, 0), link);
	/* A full counter is never no error, and a full traffic counter none of the errors. */
	made->model.snapshot.rows[link->ends[0]].sum.saturated = COUNTER_BIT(COUNTER_RCV_ERRORS);
	made->model.snapshot.rows[link_of(made, LEAF(2), 5)->ends[0]].sum.saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	assert_int_equal(error_sums_add(&made->model.sums, &made->model.snapshot, NULL), 0);
	show(made);
	link = link_of(made, LEAF(2), 2);
	assert_string_equal(cell_of(made, link, LINK_ERRORS), "6/0+");
	assert_non_null(strstr(cell_of(made, link, LINK_WHICH_ERRORS), "; peer: rcv_errors 0+ (saturated)"));
	assert_string_equal(cell_of(made, link_of(made, LEAF(2), 5), LINK_ERRORS), "0");
	assert_string_equal(cell_at_width(made, row_of(made, link), LINK_ERRORS, 4), "6/0+");
}

MODEL_TEST(a_link_below_what_it_is_set_to_is_marked)
{
	const struct link_row *link = link_of(made, LEAF(1), 4);

	assert_string_equal(cell_of(made, link, LINK_LINK), "4x HDR");
	made->model.sample.fabric->ports[link->ends[0]].width = LINK_WIDTH_1X;
	made->model.sample.fabric->ports[link->ends[1]].width = LINK_WIDTH_1X;
	shape_destroy(made->model.context.shape);
	assert_int_equal(shape_create(made->model.sample.fabric, NULL, &made->model.context.shape, NULL), 0);
	show(made);
	assert_true(link_of(made, LEAF(1), 4)->facts.degraded);
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 4), LINK_LINK), "1x HDR degraded");
	filter_by(made, "state:degraded");
	assert_int_equal(made->self.rows.table.row_count, 1);
	filter_by(made, "width:1x");
	assert_int_equal(made->self.rows.table.row_count, 1);
}

MODEL_TEST(the_stall_of_a_known_tick_is_shown_and_of_others_a_dash)
{
	struct fabric *fabric = made->model.sample.fabric;
	const struct link_row *link = link_of(made, LEAF(1), 1);
	struct pma_caps *caps = calloc(fabric->node_count, sizeof(*caps));
	struct delta *sum = &made->model.snapshot.rows[link->ends[1]].sum;

	assert_non_null(caps);
	assert_string_equal(cell_of(made, link, LINK_STALL_BACK), "-");
	fabric->nodes[LEAF(1)].vendor_id = 0x2c9;
	fabric->nodes[LEAF(1)].device_id = 0xd2f0;
	for (size_t i = 0; i < fabric->node_count; i++)
		caps[i] = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	/* The tick of the HCA is assumed, or its counters contradict that. */
	caps[fabric->ports[link->ends[0]].node].wait_contradicted = true;
	made->model.snapshot.caps = caps;
	/* 4x HDR: 3.125e9 ticks of 8 bytes a second; two seconds. */
	sum->value[COUNTER_XMIT_WAIT] = 781250000;
	show(made);
	link = link_of(made, LEAF(1), 1);
	assert_string_equal(cell_of(made, link, LINK_STALL_BACK), "12.5");
	assert_string_equal(cell_of(made, link, LINK_STALL), "-");
	caps[fabric->ports[link->ends[0]].node].wait_contradicted = false;
	show(made);
	link = link_of(made, LEAF(1), 1);
	assert_string_equal(cell_of(made, link, LINK_STALL), "0.0");
	/* Ticks are shown for every device. */
	assert_string_not_equal(cell_of(made, link, LINK_WAIT), "-");
	sum->saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	show(made);
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 1), LINK_STALL_BACK), "12.5+");
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
	assert_int_equal(open_findings_mark(made->model.context.shape, fabric, rows, 3, &made->model.context.finding_of,
					    NULL), 0);
	show(made);
	assert_true(made->self.links.has_marks);
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 40), LINK_FINDING), "CRIT link-degraded");
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 41), LINK_FINDING), "WARN uplink-imbalance");
	assert_string_equal(cell_of(made, link_of(made, LEAF(1), 1), LINK_FINDING), "");
	assert_string_equal(cell_of(made, link_of(made, 50, 1), LINK_FINDING), "ack  nic-unused");
	made->self.rows.table.sort = LINK_FINDING;
	made->self.rows.table.descending = true;
	arrange(made);
	assert_ptr_equal(link_at(made, 0), link_of(made, LEAF(1), 40));
	filter_by(made, "finding:critical");
	assert_int_equal(made->self.rows.table.row_count, 1);
	filter_by(made, "finding:uplink");
	/* Also of an end whose link has a worse one at the other end. */
	assert_int_equal(made->self.rows.table.row_count, SAMPLE_SPINES);
	filter_by(made, "finding:uplink !finding:critical");
	assert_int_equal(made->self.rows.table.row_count, SAMPLE_SPINES - 1);
	filter_by(made, "finding:yes");
	assert_int_equal(made->self.rows.table.row_count, SAMPLE_SPINES + 1);
	free(made->model.context.finding_of);
	made->model.context.finding_of = NULL;
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
		filter_by(made, cases[i].typed);
		if (made->self.rows.table.row_count != cases[i].rows)
			fail_msg("%s: %zu rows, not %zu", cases[i].typed, made->self.rows.table.row_count,
				 cases[i].rows);
	}
	/* Every port without a cable is down, and has no speed. */
	made->self.links.show_unused = true;
	filter_by(made, "state:down");
	assert_true(made->self.rows.table.row_count >= made->self.links.unused_count);
	filter_by(made, "speed:hdr");
	assert_int_equal(made->self.rows.table.row_count, made->self.links.count - made->self.links.unused_count);
}

MODEL_TEST(what_was_never_up_is_hidden)
{
	struct links *links = &made->self.links;
	const struct table *table = &made->self.rows.table;
	size_t hidden = links->unused_count, shown = table->row_count;

	assert_true(hidden > 0);
	assert_int_equal(shown + hidden, links->count);
	links->show_unused = true;
	arrange(made);
	assert_int_equal(table->row_count, links->count);
	links->show_unused = false;
	/* A link of which one end was read a context before it went down stays. */
	made->model.snapshot.rows[fabric_node_port(made->model.sample.fabric, LEAF(2), 33)].last_wall_us = START_US;
	show(made);
	assert_int_equal(table->row_count, shown + 1);
}

MODEL_TEST(tags_stay_through_snapshots)
{
	struct table *table = &made->self.rows.table;

	assert_int_equal(table_tag(table, row_of(made, link_of(made, 5, 1)), NULL), 0);
	assert_int_equal(table_tag(table, row_of(made, link_of(made, 6, 1)), NULL), 0);
	show(made);
	table->tagged_only = true;
	arrange(made);
	assert_int_equal(table->row_count, 2);
	assert_int_equal(table_tag(table, row_of(made, link_of(made, 6, 1)), NULL), 0);
	arrange(made);
	assert_int_equal(table->row_count, 1);
	assert_ptr_equal(link_at(made, 0), link_of(made, 5, 1));
	table_untag_all(table);
	arrange(made);
	assert_true(table->row_count > 100);
	filter_by(made, "tagged:no");
	assert_true(table->row_count > 100);
}

MODEL_TEST(a_link_is_found_in_any_order)
{
	struct table *table = &made->self.rows.table;
	const struct table_id id = { made->model.sample.fabric->nodes[7].guid, 1 };
	size_t row = table_find(table, id);

	assert_string_equal(cell_at(made, row, LINK_PORT), "node0008 mlx5_0/1");
	table->descending = false;
	made->self.links.swapped = true;
	arrange(made);
	assert_true(table_find(table, id) != row);
	assert_string_equal(cell_at(made, table_find(table, id), LINK_PEER), "node0008 mlx5_0/1");
	assert_int_equal(table_find(table, (struct table_id){ id.high, 9 }), table->row_count);
}

MODEL_TEST(no_snapshot_is_no_link)
{
	assert_int_equal(port_table_set(&made->model.table, NULL, &made->model.sums, NULL, NULL), 0);
	made->app.generation++;
	assert_true(links_view.update(&made->self, &made->app));
	filter_by(made, "tier:2 leaf");
	assert_int_equal(made->self.rows.table.row_count, 0);
}

/* --- columns --- */

enum { TAG = LINK_COLUMN_COUNT, MOST_COLUMNS = 300 };

/* What the widths of the columns depend on. */
struct needs {
	int port_columns, peer_columns, link_columns; /* of the longest texts in these columns */
	bool findings, tags;                          /* whether there are any */
	uint64_t hidden;
};

static void fit(struct made *made, int columns, const struct needs *needs, struct column_place *ret)
{
	made->self.links.end_columns[0] = needs->port_columns;
	made->self.links.end_columns[1] = needs->peer_columns;
	made->self.links.has_marks = needs->findings;
	made->model.table.totals.link_columns = needs->link_columns;
	made->self.rows.table.tag_count = needs->tags;
	made->self.rows.table.hidden = needs->hidden;
	table_places(&made->self.rows.table, columns, ret);
}

static void check_columns(int columns, const struct column_place *places)
{
	static const size_t always[] = { LINK_PORT, LINK_STATUS, LINK_XMIT,
						   LINK_RCV, LINK_ERRORS };
	int end = -1;

	for (size_t i = 0; i <= TAG; i++) {
		size_t column = i ? i - 1 : TAG;

		if (!places[column].columns)
			continue;
		assert_true(places[column].columns > 0);
		/* One blank to the left neighbour, and the first one at the edge. */
		assert_int_equal(places[column].x, end + 1);
		end = places[column].x + places[column].columns;
		assert_true(end <= columns);
	}
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		assert_true(places[always[i]].columns >= 4);
	if (places[LINK_XMIT_BAR].columns && places[LINK_RCV_BAR].columns)
		assert_int_equal(places[LINK_XMIT_BAR].columns, places[LINK_RCV_BAR].columns);
}

MODEL_TEST(columns_never_overlap_nor_leave_the_table)
{
	static const int needs[] = { 0, 4, 10, 17, 24, 33, 64, 261 };
	struct column_place places[TABLE_COLUMNS];

	for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++)
		for (size_t port = 0; port < sizeof(needs) / sizeof(needs[0]); port++)
			for (size_t peer = 0; peer < sizeof(needs) / sizeof(needs[0]); peer++)
				for (int link = 0; link <= 9; link += 3)
					for (int more = 0; more < 4; more++) {
						const struct needs all = {
							needs[port], needs[peer], link, more & 1, more & 2, 0,
						};

						fit(made, columns, &all, places);
						check_columns(columns, places);
						if (columns >= 46) {
							assert_true(!all.findings ==
								    !places[LINK_FINDING].columns);
							assert_true(!all.tags == !places[TAG].columns);
						}
					}
}

MODEL_TEST(a_wider_terminal_never_shows_fewer_columns)
{
	const struct needs needs = { 17, 17, 5, true, true, 0 };
	struct column_place places[TABLE_COLUMNS];
	int before = 0;

	for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns++) {
		int shown = 0;

		fit(made, columns, &needs, places);
		for (size_t column = 0; column <= TAG; column++)
			shown += places[column].columns > 0;
		/* A column may give way to the growth of one before it, but not more than one. */
		assert_true(shown >= before - 1);
		before = shown > before ? shown : before;
	}
	assert_int_equal(before, TAG + 1);
}

MODEL_TEST(hidden_columns_leave_their_room_to_others)
{
	struct needs needs = { 17, 17, 5, true, true, 0 };
	struct column_place places[TABLE_COLUMNS];

	for (size_t column = 0; column <= TAG; column++) {
		needs.hidden = UINT64_C(1) << column;
		for (int columns = LAYOUT_MIN_COLUMNS; columns <= MOST_COLUMNS; columns += 13) {
			fit(made, columns, &needs, places);
			for (size_t other = 0; other <= TAG; other++)
				assert_true(!places[other].columns ||
					    places[other].x + places[other].columns <= columns);
			if (table_can_hide(&made->self.rows.table, column))
				assert_int_equal(places[column].columns, 0);
		}
		assert_true(table_can_hide(&made->self.rows.table, column) || places[column].columns);
	}
	needs.hidden = UINT64_MAX;
	fit(made, 80, &needs, places);
	assert_int_equal(places[LINK_PORT].columns, 17);
}

/* Titles of the shown columns from the left. */
static const char *titles(const struct table *table, const struct column_place *places, char ret[256])
{
	ret[0] = '\0';
	for (int x = 0; x < MOST_COLUMNS; x++)
		for (size_t column = 0; column <= TAG; column++)
			if (places[column].columns && places[column].x == x)
				sprintf(ret + strlen(ret), "%s ", table_title(table, column));
	return ret;
}

MODEL_TEST(a_column_moves_past_its_shown_neighbour)
{
	uint8_t *order = made->self.rows.table.order;
	const struct needs needs = { 17, 17, 5, false, false, 1u << LINK_LINK };
	struct column_place places[TABLE_COLUMNS];
	char text[256];

	fit(made, 80, &needs, places);
	assert_string_equal(titles(&made->self.rows.table, places, text),
			    "PORT PEER STATUS LOAD% TX TX% RX RX% ERRORS AGE ");
	/* STATE and LINK between are not shown. */
	assert_true(columns_move(order, places, TAG + 1, LINK_LOAD, -1));
	fit(made, 80, &needs, places);
	assert_string_equal(titles(&made->self.rows.table, places, text),
			    "PORT PEER LOAD% STATUS TX TX% RX RX% ERRORS AGE ");
	for (int i = 0; i < 6; i++)
		assert_true(columns_move(order, places, TAG + 1, LINK_LOAD, 1));
	fit(made, 80, &needs, places);
	assert_string_equal(titles(&made->self.rows.table, places, text),
			    "PORT PEER STATUS TX TX% RX RX% ERRORS LOAD% AGE ");
	assert_true(columns_move(order, places, TAG + 1, LINK_LOAD, 1));
	assert_false(columns_move(order, places, TAG + 1, LINK_LOAD, 1));
	fit(made, 80, &needs, places);
	assert_int_equal(columns_neighbour(order, places, TAG + 1, LINK_LOAD, -1), LINK_AGE);
	assert_int_equal(columns_neighbour(order, places, TAG + 1, LINK_LOAD, 1), LINK_PORT);
	assert_int_equal(columns_neighbour(order, places, TAG + 1, LINK_PORT, -1), LINK_LOAD);
}

MODEL_TEST(eighty_columns_hold_the_ten_that_matter)
{
	static const size_t wanted[] = {
		LINK_PORT, LINK_PEER, LINK_STATUS, LINK_LINK, LINK_LOAD,
		LINK_XMIT, LINK_RCV,
		LINK_XMIT_PERCENT, LINK_RCV_PERCENT, LINK_ERRORS,
	};
	const struct needs needs = { 17, 17, 5, false, false, 0 };
	struct column_place places[TABLE_COLUMNS];

	fit(made, 80, &needs, places);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_true(places[wanted[i]].columns > 0);
	/* "node0001 mlx5_0/1" all but whole. */
	assert_true(places[LINK_PORT].columns >= 16);
}
