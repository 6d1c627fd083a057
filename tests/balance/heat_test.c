/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* heat_test.c - the heat map on random fabrics with random jobs: each link counts once */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "tests/balance/bed.h"
#include "tui/model/heat_cell.h"

enum { CASES = 60 };

/* The nodes in reverse order. */
static uint32_t *make_nodes(const struct bed *bed)
{
	uint32_t *nodes = calloc(bed->fabric->node_count + 1, sizeof(*nodes));

	assert_non_null(nodes);
	for (size_t i = 0; i < bed->fabric->node_count; i++)
		nodes[i] = (uint32_t)(bed->fabric->node_count - 1 - i);
	return nodes;
}

static struct balance_input input_of(const struct bed *bed)
{
	return (struct balance_input){ .shape = bed->shape, .routes = &bed->lft.routes, .loads = bed->loads,
				       .adaptive = bed->adaptive, .window_us = BED_WINDOW_US };
}

static void make_heat(struct bed *bed, unsigned tier, bool inward, struct heat *heat)
{
	const struct balance_input input = input_of(bed);
	uint32_t *nodes = make_nodes(bed);
	const struct heat_source source = { .shape = bed->shape, .nodes = nodes, .tier = tier, .input = &input,
					    .balance = &bed->balance, .inward = inward };

	assert_int_equal(heat_create(&source, heat, NULL), 0);
	free(nodes);
}

/* A fabric with traffic, and some of its links between switches down. */
static void random_bed(struct bed *bed, uint64_t seed)
{
	struct net_shape shape = bed_random_shape(seed);
	uint32_t down = seed % 3;

	bed_init(bed, &shape, seed);
	for (uint32_t i = 0; i < bed->fabric->port_count && down; i++) {
		struct port *port = &bed->fabric->ports[(i * 7919) % bed->fabric->port_count];

		if (bed->shape->ports[port - bed->fabric->ports].way != WAY_UP)
			continue;
		port->state = bed->fabric->ports[port->peer].state = PORT_DOWN;
		down--;
	}
	bed_reshape(bed);
	bed_route(bed);
	bed_job(bed, (enum bed_pattern)(seed % BED_PATTERNS), 0, bed->hosts.host_count, 4, 0.7);
	bed_run(bed, NULL);
}

static uint32_t node_of(const struct bed *bed, uint32_t port)
{
	return bed->fabric->ports[port].node;
}

/* The links between two switches, from the cables. */
static void check_cell(const struct bed *bed, const struct heat *heat, uint32_t low, uint32_t high,
		       const struct heat_cell *cell)
{
	const struct balance_input input = input_of(bed);
	const struct node *node = &bed->fabric->nodes[low];
	double rate = 0, most = NAN;
	unsigned links = 0, working = 0;

	for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
		const struct port *here = &bed->fabric->ports[port];
		double one = balance_port_rate(&input, port, !heat->inward);

		if (here->peer == FABRIC_NONE || node_of(bed, here->peer) != high)
			continue;
		links++;
		if (here->state != PORT_ACTIVE)
			continue;
		working++;
		rate += one;
		one *= 8e6 / (double)port_rate_bits_per_s(here);
		most = one <= most ? most : one;
	}
	assert_int_equal(cell->links, links);
	assert_int_equal(cell->working, working);
	assert_float_equal(cell->rate, rate, 1e-3 * rate + 1e-6);
	assert_int_equal(cell->sign, !links && !cell->missing ? HEAT_NO_LINK : !links ? HEAT_MISSING :
				     !working ? HEAT_DOWN : HEAT_LOAD);
	if (working) {
		assert_float_equal(cell->value[HEAT_MEASURED], most, 1e-5);
		assert_int_equal(node_of(bed, cell->port), low);
		assert_int_equal(node_of(bed, bed->fabric->ports[cell->port].peer), high);
	}
}

static void check_order(const struct bed *bed, const struct heat *heat, const bool *seen)
{
	size_t rows = 0;

	for (size_t i = 0; i < bed->fabric->node_count; i++) {
		rows += bed->shape->nodes[i].tier == heat->tier;
		assert_int_equal(seen[i], bed->shape->nodes[i].tier == heat->tier);
	}
	assert_int_equal(heat->row_count, rows);
	for (size_t i = 1; i < heat->row_count; i++)
		if (heat->row_block[i] == heat->row_block[i - 1])
			assert_true(heat->rows[i] < heat->rows[i - 1]);
		else
			assert_int_equal(heat->row_block[i], heat->row_block[i - 1] + 1);
}

static void check_heat(struct bed *bed, unsigned tier, bool inward)
{
	bool *seen = calloc(bed->fabric->node_count + 1, sizeof(*seen));
	size_t column, links = 0, expected = 0;
	struct heat heat;

	make_heat(bed, tier, inward, &heat);
	for (size_t row = 0; row < heat.row_count; row++) {
		assert_false(seen[heat.rows[row]]);
		seen[heat.rows[row]] = true;
		for (column = 0; column < heat_columns(&heat, row); column++) {
			const struct heat_cell *cell = heat_cell(&heat, row, column);

			check_cell(bed, &heat, heat.rows[row], heat_column(&heat, row, column), cell);
			links += cell->links;
		}
		assert_null(heat_cell(&heat, row, column));
	}
	/* Each link up from these switches is in one cell, and nothing else is. */
	for (size_t i = 0; i < bed->fabric->port_count; i++)
		expected += bed->shape->ports[i].way == WAY_UP &&
			    bed->shape->nodes[node_of(bed, (uint32_t)i)].tier == tier;
	assert_int_equal(links, expected);
	check_order(bed, &heat, seen);
	heat_done(&heat);
	free(seen);
}

TEST(each_link_is_in_one_cell)
{
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct bed bed;

		random_bed(&bed, seed);
		for (unsigned tier = 1; tier < bed.shape->tier_count; tier++) {
			check_heat(&bed, tier, false);
			check_heat(&bed, tier, true);
		}
		bed_done(&bed);
	}
}

/* The predicted loads of a row sum to its measured load. */
TEST(predictions_move_the_same_bytes)
{
	size_t rows = 0;

	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
		struct bed bed;
		struct heat heat;

		shape.leafs = 4 + (unsigned)(seed % 5);
		shape.hosts = 8;
		shape.spines = 8;
		shape.links = 1;
		bed_init(&bed, &shape, seed);
		bed_skew(&bed, bed.shape->members[bed.shape->groups[bed.shape->nodes[bed_leaf(&bed, 0, 2)].up_group]
					       .first], 0.5);
		bed_job(&bed, BED_ALL_TO_ALL, 0, bed.hosts.host_count, 8, 0.8);
		bed_run(&bed, NULL);
		make_heat(&bed, 1, false, &heat);
		for (size_t row = 0; row < heat.row_count; row++) {
			double measured = 0, predicted = 0, apart = 0;

			for (size_t column = 0; column < heat_columns(&heat, row); column++) {
				const struct heat_cell *cell = heat_cell(&heat, row, column);

				measured += cell->value[HEAT_MEASURED];
				predicted += cell->value[HEAT_PREDICTED];
				apart += cell->value[HEAT_DIFFERENCE];
			}
			if (isnan(predicted))
				continue;
			/* One link each, all of one speed. */
			assert_float_equal(measured, predicted, 1e-4);
			assert_float_equal(apart, 0, 1e-4);
			rows++;
		}
		heat_done(&heat);
		bed_done(&bed);
	}
	assert_true(rows > CASES);
}

/* In a fabric of pods a row has only the columns of its pod. */
TEST(pods_are_blocks)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE3);
	struct heat heat;
	struct bed bed;

	shape.units = 3;
	shape.leafs = 4;
	shape.hosts = 4;
	shape.spines = 2;
	shape.cores = 4;
	bed_init(&bed, &shape, 1);
	bed_job(&bed, BED_ALL_TO_ALL, 0, bed.hosts.host_count, 4, 0.5);
	bed_run(&bed, NULL);
	make_heat(&bed, 1, false, &heat);
	assert_int_equal(heat.row_count, 12);
	assert_int_equal(heat.block_count, 3);
	assert_int_equal(heat_columns(&heat, 0), 2);
	heat_done(&heat);
	make_heat(&bed, 3, false, &heat);
	assert_int_equal(heat_columns(&heat, 0), 0);
	assert_null(heat_cell(&heat, 0, 0));
	assert_int_equal(heat_column(&heat, 0, 0), FABRIC_NONE);
	heat_done(&heat);
	bed_done(&bed);
}

TEST(the_hottest_row_comes_first)
{
	for (uint64_t seed = 1; seed <= CASES / 4; seed++) {
		uint32_t *order;
		struct heat heat;
		double before = INFINITY;
		struct bed bed;

		random_bed(&bed, 3 * seed);
		make_heat(&bed, 1, false, &heat);
		order = calloc(heat.row_count + 1, sizeof(*order));
		heat_order(&heat, HEAT_MEASURED, true, order);
		for (size_t i = 0; i < heat.row_count && heat_columns(&heat, order[i]); i++) {
			size_t worst = heat_worst(&heat, HEAT_MEASURED, order[i]);
			double here = heat_cell(&heat, order[i], worst)->value[HEAT_MEASURED];

			assert_true(here <= before);
			before = here;
		}
		free(order);
		heat_done(&heat);
		bed_done(&bed);
	}
}

/* @look: bit 0: slow, bit 1: Unicode */
static void check_width(float load, int sign, int columns, enum heat_value kind, int look)
{
	struct heat_cell cell = { .links = 2, .working = 2, .sign = (uint8_t)sign, .degraded = look & 1 };
	char text[16];

	if (kind != HEAT_DIFFERENCE && load < 0)
		return;
	cell.value[kind] = load;
	heat_write(&cell, kind, columns, look & 2, text);
	assert_int_equal(text_columns(text), columns);
}

/* A cell has the given width for every value. */
TEST(cells_have_the_given_width)
{
	static const float loads[] = { 0, 0.004f, 0.01f, 0.25f, 0.5f, 0.75f, 0.994f, 0.996f, 1, 1.2f, 12, -0.04f, -0.3f,
				       -1.5f, NAN };
	char text[16];

	for (size_t load = 0; load < sizeof(loads) / sizeof(loads[0]); load++)
		for (int sign = 0; sign <= HEAT_LOAD; sign++)
			for (int columns = 1; columns <= 5; columns++)
				for (int kind = 0; kind < HEAT_VALUES; kind++)
					for (int look = 0; look < 4; look++)
						check_width(loads[load], sign, columns, (enum heat_value)kind, look);
	heat_write(NULL, HEAT_MEASURED, 3, true, text);
	assert_string_equal(text, "   ");
}

/* Without colour and without Unicode each state has a sign of its own, in one column. */
TEST(signs_need_no_color)
{
	static const struct { float load; uint16_t working; uint8_t sign; } cells[] = {
		{ 0.97f, 2, HEAT_LOAD }, { 0.31f, 2, HEAT_LOAD }, { 0.31f, 1, HEAT_LOAD }, { 0.31f, 1, HEAT_DOWN },
		{ 0.31f, 1, HEAT_MISSING }, { 0.31f, 1, HEAT_UNKNOWN }, { 0.31f, 1, HEAT_NO_LINK },
	};
	char texts[7][16];

	for (size_t i = 0; i < 7; i++) {
		const struct heat_cell cell = { .value = { cells[i].load }, .links = 2, .working = cells[i].working,
						.sign = cells[i].sign };

		heat_write(&cell, HEAT_MEASURED, 1, false, texts[i]);
	}
	assert_string_equal(texts[0], "9");
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(texts[i], texts[j]);
}

TEST(nothing_overlaps_at_any_size)
{
	static const size_t counts[] = { 0, 1, 4, 16, 33, 640, 1280 };

	for (int rows = 5; rows <= 96; rows++)
		for (int columns = 40; columns <= 300; columns += 1 + columns / 40)
			for (int label = 1; label <= 64; label += 21)
				for (int suffix = 0; suffix < 12; suffix += 3)
					for (size_t i = 0; i < 7; i++)
						for (size_t j = 0; j < 7; j++) {
							struct heat_layout lay;
							int lines;

							heat_layout(rows, columns, label, suffix, counts[i], counts[j],
								    &lay);
							lines = lay.heads + lay.rows + lay.words + lay.legend +
								(lay.members ? lay.members + 1 : 0);
							assert_true(lines <= rows && lay.rows >= 1 && lay.heads >= 1);
							assert_true(lay.shown >= 1 && lay.cell >= 1 && lay.cell <= 5);
							assert_true(lay.label + 1 + lay.shown * lay.cell <= columns);
							/* Rows come before the list of links. */
							assert_true(!lay.members || (size_t)lay.rows >= counts[i]);
						}
}

TEST(names_lose_their_common_prefix)
{
	static const char *const spines[] = { "spine-01", "spine-02", "spine-10" }, *const alone[] = { "core" },
				*const numbered[] = { "core-7" }, *const apart[] = { "a1", "b1" };

	assert_int_equal(heat_prefix(spines, 3), strlen("spine-"));
	assert_int_equal(heat_prefix(spines, 2), strlen("spine-"));
	assert_int_equal(heat_prefix(alone, 1), 0);
	assert_int_equal(heat_prefix(numbered, 1), strlen("core-"));
	assert_int_equal(heat_prefix(apart, 2), 0);
	assert_int_equal(heat_prefix(NULL, 0), 0);
}
