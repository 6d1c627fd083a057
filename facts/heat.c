/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/heat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* Temporary data of the build. */
struct make {
	const struct heat_source *source;
	const struct shape *shape;
	const struct fabric *fabric;
	uint32_t *rank; /* by node */
	/* By node: another node of its block, or itself if it represents it: the lower switch of the lowest rank. */
	uint32_t *set;
	uint32_t *place; /* by node: of a switch below its row, of one above its column in the block */
};

static uint32_t find_set(uint32_t *set, uint32_t node)
{
	while (set[node] != node) {
		set[node] = set[set[node]];
		node = set[node];
	}
	return node;
}

static bool is_below(const struct make *make, const struct heat *heat, uint32_t node)
{
	return make->shape->nodes[node].tier == heat->tier;
}

static bool is_above(const struct make *make, const struct heat *heat, uint32_t node)
{
	return make->shape->nodes[node].tier == heat->tier + 1;
}

/* The switch above that a member of a row's uplinks leads to, or FABRIC_NONE. */
static uint32_t node_above(const struct make *make, const struct heat *heat, uint32_t port)
{
	uint32_t peer = make->fabric->ports[port].peer, node;

	if (peer == FABRIC_NONE)
		return FABRIC_NONE;
	node = make->fabric->ports[peer].node;
	return is_above(make, heat, node) ? node : FABRIC_NONE;
}

/* Join the blocks of a lower and an upper switch. */
static void join(struct make *make, const struct heat *heat, uint32_t low, uint32_t high)
{
	low = find_set(make->set, low);
	high = find_set(make->set, high);
	if (is_below(make, heat, high) && make->rank[high] < make->rank[low])
		make->set[low] = high;
	else
		make->set[high] = low;
}

static const struct shape_group *uplinks_of(const struct make *make, uint32_t node)
{
	uint32_t group = make->shape->nodes[node].up_group;

	return group == SHAPE_NONE ? NULL : &make->shape->groups[group];
}

static void find_blocks(struct make *make, const struct heat *heat)
{
	for (size_t i = 0; i < make->fabric->node_count; i++)
		make->set[i] = (uint32_t)i;
	for (size_t i = 0; i < make->fabric->node_count; i++) {
		const struct shape_group *group = is_below(make, heat, (uint32_t)i) ?
						  uplinks_of(make, (uint32_t)i) : NULL;

		for (uint32_t j = 0; group && j < group->count; j++) {
			uint32_t above = node_above(make, heat, make->shape->members[group->first + j]);

			if (above != FABRIC_NONE)
				join(make, heat, (uint32_t)i, above);
		}
	}
	for (size_t i = 0; i < make->shape->missing_count; i++) {
		const struct shape_missing *missing = &make->shape->missing[i];

		if (is_below(make, heat, missing->low) && is_above(make, heat, missing->high))
			join(make, heat, missing->low, missing->high);
	}
}

/* Sort key of a switch: rank of the first row of its block, own rank. */
struct entry {
	uint32_t block_rank, rank, node;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->block_rank != y->block_rank)
		return x->block_rank < y->block_rank ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* List the nodes of one side in order. Return: their number. */
static size_t list_side(struct make *make, const struct heat *heat, bool above, struct entry *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < make->fabric->node_count; i++) {
		uint32_t node = (uint32_t)i, block = find_set(make->set, node);

		/* An upper switch without a lower one has no row. */
		if (above ? !is_above(make, heat, node) || !is_below(make, heat, block) : !is_below(make, heat, node))
			continue;
		entries[count++] = (struct entry){ make->rank[block], make->rank[node], node };
	}
	qsort(entries, count, sizeof(*entries), compare_entries);
	return count;
}

static int list_sides(struct make *make, struct heat *heat, struct entry *entries)
{
	heat->row_count = list_side(make, heat, false, entries);
	heat->rows = calloc(heat->row_count + 1, sizeof(*heat->rows));
	heat->row_block = calloc(heat->row_count + 1, sizeof(*heat->row_block));
	heat->row_cells = calloc(heat->row_count + 1, sizeof(*heat->row_cells));
	heat->blocks = calloc(heat->row_count + 1, sizeof(*heat->blocks));
	if (!heat->rows || !heat->row_block || !heat->row_cells || !heat->blocks)
		return ERR_NOMEM;
	for (size_t i = 0; i < heat->row_count; i++) {
		if (!i || entries[i].block_rank != entries[i - 1].block_rank)
			heat->block_count++;
		heat->rows[i] = entries[i].node;
		heat->row_block[i] = (uint32_t)heat->block_count - 1;
		make->place[entries[i].node] = (uint32_t)i;
	}
	heat->column_count = list_side(make, heat, true, entries);
	heat->columns = calloc(heat->column_count + 1, sizeof(*heat->columns));
	return heat->columns ? 0 : ERR_NOMEM;
}

/* Columns are ordered by block, as rows are. */
static void place_columns(struct make *make, struct heat *heat, const struct entry *entries)
{
	size_t row = 0;

	for (size_t i = 0; i < heat->column_count; i++) {
		struct heat_block *block;

		while (make->rank[find_set(make->set, heat->rows[row])] != entries[i].block_rank)
			row++;
		block = &heat->blocks[heat->row_block[row]];
		if (!block->count)
			block->first = (uint32_t)i;
		make->place[entries[i].node] = block->count++;
		heat->columns[i] = entries[i].node;
	}
}

static int make_cells(struct heat *heat)
{
	size_t count = 0;

	for (size_t i = 0; i < heat->row_count; i++) {
		heat->row_cells[i] = count;
		count += heat->blocks[heat->row_block[i]].count;
	}
	heat->cells = calloc(count + 1, sizeof(*heat->cells));
	if (!heat->cells)
		return ERR_NOMEM;
	for (size_t i = 0; i < count; i++) {
		heat->cells[i].port = SHAPE_NONE;
		for (int value = 0; value < HEAT_VALUES; value++)
			heat->cells[i].value[value] = NAN;
	}
	return 0;
}

static int make_sides(struct make *make, struct heat *heat)
{
	struct entry *entries = calloc(make->fabric->node_count + 1, sizeof(*entries));
	int code = entries ? list_sides(make, heat, entries) : ERR_NOMEM;

	if (code == 0) {
		place_columns(make, heat, entries);
		code = make_cells(heat);
	}
	free(entries);
	return code;
}

static void keep_larger(float *value, double other)
{
	if (!isnan(other) && !(other <= *value))
		*value = (float)other;
}

static void add_member(const struct make *make, struct heat *heat, struct heat_cell *cell,
		       const struct balance_member *member, double rates)
{
	const struct port *port = &make->fabric->ports[member->port];
	double bits = (double)port_rate_bits_per_s(port), measured = member->utilization, predicted = NAN, apart;
	double rate = make->source->load ? NAN : balance_port_rate(make->source->input, member->port, !heat->inward);

	cell->links++;
	if (cell->port == SHAPE_NONE)
		cell->port = member->port;
	if (!member->works)
		return;
	if (!cell->working++)
		cell->port = member->port;
	if (bits > 0)
		predicted = member->predicted * rates * BALANCE_BITS_PER_S / bits;
	apart = measured - predicted;
	cell->degraded |= link_is_degraded(make->shape, member->port);
	if (rate > 0)
		cell->rate += (float)rate;
	if (!isnan(measured) && !(measured <= cell->value[HEAT_MEASURED]))
		cell->port = member->port;
	keep_larger(&cell->value[HEAT_MEASURED], measured);
	keep_larger(&cell->value[HEAT_PREDICTED], predicted);
	if (!isnan(apart) && !(fabs(apart) <= fabsf(cell->value[HEAT_DIFFERENCE])))
		cell->value[HEAT_DIFFERENCE] = (float)apart;
	heat->predicted |= !isnan(predicted);
}

static void fill_row(const struct make *make, struct heat *heat, size_t row)
{
	const struct shape_group *group = uplinks_of(make, heat->rows[row]);
	const struct heat_source *source = make->source;
	const struct balance_result *result = NULL;
	double rates = 0;

	if (!group)
		return;
	if (!source->load)
		result = &source->balance->results[2 * (size_t)(group - make->shape->groups) + (heat->inward ? 1 : 0)];
	for (uint32_t i = 0; result && i < group->count; i++) {
		double rate = balance_port_rate(source->input, result->members[i].port, !heat->inward);

		rates += result->members[i].works && rate > 0 ? rate : 0;
	}
	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t port = make->shape->members[group->first + i], above = node_above(make, heat, port);
		struct balance_member member = { .port = port, .predicted = NAN };

		if (above == FABRIC_NONE)
			continue;
		if (result) {
			member = result->members[i];
		} else {
			member.works = make->fabric->ports[port].state >= PORT_INIT;
			member.utilization = source->load(source->ctx, port);
		}
		add_member(make, heat, &heat->cells[heat->row_cells[row] + make->place[above]], &member, rates);
	}
}

static void fill_missing(const struct make *make, struct heat *heat)
{
	for (size_t i = 0; i < make->shape->missing_count; i++) {
		const struct shape_missing *missing = &make->shape->missing[i];

		if (is_below(make, heat, missing->low) && is_above(make, heat, missing->high))
			heat->cells[heat->row_cells[make->place[missing->low]] + make->place[missing->high]].missing =
				(uint16_t)(missing->expected - missing->links);
	}
}

static void sign_cells(struct heat *heat)
{
	for (size_t row = 0; row < heat->row_count; row++)
		for (size_t column = 0; column < heat_columns(heat, row); column++) {
			struct heat_cell *cell = &heat->cells[heat->row_cells[row] + column];

			if (!cell->links)
				cell->sign = cell->missing ? HEAT_MISSING : HEAT_NO_LINK;
			else if (!cell->working)
				cell->sign = HEAT_DOWN;
			else
				cell->sign = isnan(cell->value[HEAT_MEASURED]) ? HEAT_UNKNOWN : HEAT_LOAD;
		}
}

int heat_create(const struct heat_source *source, struct heat *ret, struct error *err)
{
	struct make make = { .source = source, .shape = source->shape, .fabric = source->shape->fabric };
	size_t nodes = make.fabric->node_count;
	int code;

	*ret = (struct heat){ .tier = source->tier, .inward = source->inward };
	make.rank = calloc(nodes + 1, sizeof(*make.rank));
	make.set = calloc(nodes + 1, sizeof(*make.set));
	make.place = calloc(nodes + 1, sizeof(*make.place));
	code = make.rank && make.set && make.place ? 0 : ERR_NOMEM;
	if (code == 0) {
		for (size_t i = 0; i < nodes; i++)
			make.rank[source->nodes[i]] = (uint32_t)i;
		find_blocks(&make, ret);
		code = make_sides(&make, ret);
	}
	for (size_t row = 0; code == 0 && row < ret->row_count; row++)
		fill_row(&make, ret, row);
	if (code == 0) {
		fill_missing(&make, ret);
		sign_cells(ret);
	}
	free(make.rank);
	free(make.set);
	free(make.place);
	if (code == 0)
		return 0;
	heat_done(ret);
	return err_nomem(err);
}

void heat_done(struct heat *heat)
{
	free(heat->rows);
	free(heat->row_block);
	free(heat->row_cells);
	free(heat->columns);
	free(heat->blocks);
	free(heat->cells);
	memset(heat, 0, sizeof(*heat));
}

size_t heat_columns(const struct heat *heat, size_t row)
{
	return row < heat->row_count ? heat->blocks[heat->row_block[row]].count : 0;
}

uint32_t heat_column(const struct heat *heat, size_t row, size_t column)
{
	return column < heat_columns(heat, row) ? heat->columns[heat->blocks[heat->row_block[row]].first + column] :
						  FABRIC_NONE;
}

const struct heat_cell *heat_cell(const struct heat *heat, size_t row, size_t column)
{
	return column < heat_columns(heat, row) ? &heat->cells[heat->row_cells[row] + column] : NULL;
}

struct hot {
	double value;
	uint32_t row;
};

static int compare_hot(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Down and missing links sort before all others. */
static double heat_of(const struct heat_cell *cell, enum heat_value value)
{
	if (cell->sign == HEAT_DOWN || cell->sign == HEAT_MISSING)
		return 10;
	return isnan(cell->value[value]) ? -1 : fabs((double)cell->value[value]) + cell->degraded;
}

size_t heat_worst(const struct heat *heat, enum heat_value value, size_t row)
{
	size_t worst = 0;

	for (size_t column = 1; column < heat_columns(heat, row); column++)
		if (heat_of(heat_cell(heat, row, column), value) > heat_of(heat_cell(heat, row, worst), value))
			worst = column;
	return worst;
}

void heat_order(const struct heat *heat, enum heat_value value, bool hottest_first, uint32_t *ret)
{
	struct hot *hot = hottest_first ? calloc(heat->row_count + 1, sizeof(*hot)) : NULL;

	for (size_t i = 0; i < heat->row_count; i++) {
		ret[i] = (uint32_t)i;
		if (hot && heat_columns(heat, i))
			hot[i].value = heat_of(heat_cell(heat, i, heat_worst(heat, value, i)), value);
		if (hot)
			hot[i].row = (uint32_t)i;
	}
	if (!hot)
		return;
	qsort(hot, heat->row_count, sizeof(*hot), compare_hot);
	for (size_t i = 0; i < heat->row_count; i++)
		ret[i] = hot[i].row;
	free(hot);
}
