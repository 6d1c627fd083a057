/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of switches with fewer cables than comparable pairs.
 *
 * Connected switches of neighboring tiers form a matrix of cables, with a row for each lower
 * switch. The usual number of a column is the one that more than half of its rows have. A pair with
 * less lacks cables if most of its row is usual; a row that differs everywhere was built
 * differently. Where almost all other rows are usual, half of a row is enough.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/shape/build.h"

/* With fewer rows there is no usual number. */
#define ROWS_MIN 3

/* Maximum number of cells: 4,096 leaves and 2,048 spines. */
#define CELLS_MAX (8u << 20)

struct matrix {
	struct shape_build *build;
	uint32_t *sets;            /* by node */
	uint32_t *place;           /* by node: its row or column */
	uint32_t *lows, *highs;    /* nodes */
	uint32_t low_count, high_count;
	uint16_t *cells;           /* row by row */
	uint16_t *usual;           /* by column, 0: none */
	uint32_t *usual_rows;      /* by column: number of usual rows */
	uint16_t *column;          /* scratch: one column */
	size_t missing_capacity;
};

static int compare_u16(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

static int fill_cells(struct matrix *matrix)
{
	struct shape_build *build = matrix->build;
	uint32_t columns = matrix->high_count;

	matrix->cells = shape_scratch(build, (size_t)matrix->low_count * columns, sizeof(*matrix->cells));
	matrix->usual = shape_scratch(build, columns, sizeof(*matrix->usual));
	matrix->usual_rows = shape_scratch(build, columns, sizeof(*matrix->usual_rows));
	matrix->column = shape_scratch(build, matrix->low_count, sizeof(*matrix->column));
	if (!matrix->cells || !matrix->usual || !matrix->usual_rows || !matrix->column)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < columns; i++)
		matrix->place[matrix->highs[i]] = i;
	for (uint32_t row = 0; row < matrix->low_count; row++) {
		uint32_t node = matrix->lows[row];

		for (uint32_t i = build->first_near[node]; i < build->first_near[node + 1]; i++) {
			const struct near *near = &build->near[i];

			if (build->shape->nodes[near->node].tier == build->shape->nodes[node].tier + 1)
				matrix->cells[(size_t)row * columns + matrix->place[near->node]] =
					(uint16_t)near->links;
		}
	}
	return 0;
}

/* The majority value of a sorted column is its median. */
static void find_usual(struct matrix *matrix)
{
	uint16_t *column = matrix->column;

	for (uint32_t i = 0; i < matrix->high_count; i++) {
		uint32_t same = 0;
		uint16_t middle;

		for (uint32_t row = 0; row < matrix->low_count; row++)
			column[row] = matrix->cells[(size_t)row * matrix->high_count + i];
		qsort(column, matrix->low_count, sizeof(*column), compare_u16);
		middle = column[matrix->low_count / 2];
		for (uint32_t row = 0; row < matrix->low_count; row++)
			same += column[row] == middle;
		if (same * 2 > matrix->low_count) {
			matrix->usual[i] = middle;
			matrix->usual_rows[i] = same;
		}
	}
}

static int add_missing(struct matrix *matrix, uint32_t low, uint32_t high, uint16_t links, uint16_t expected)
{
	struct shape *shape = matrix->build->shape;
	struct shape_missing *missing = array_grow(shape->missing, shape->missing_count, &matrix->missing_capacity,
						   sizeof(*missing));

	if (!missing)
		return ERR_NOMEM;
	shape->missing = missing;
	missing[shape->missing_count++] = (struct shape_missing){
		.low = low, .high = high, .links = links, .expected = expected,
	};
	return 0;
}

static int check_row(struct matrix *matrix, uint32_t row)
{
	const uint16_t *cells = matrix->cells + (size_t)row * matrix->high_count;
	uint32_t usual = 0;
	int code = 0;

	for (uint32_t i = 0; i < matrix->high_count; i++)
		usual += cells[i] == matrix->usual[i];
	if (usual * 2 < matrix->high_count)
		return 0;
	for (uint32_t i = 0; i < matrix->high_count && code == 0; i++) {
		bool row_is_usual = usual * 3 >= matrix->high_count * 2;
		bool column_is_usual = matrix->usual_rows[i] * 5 >= matrix->low_count * 4;

		if (cells[i] < matrix->usual[i] && (row_is_usual || column_is_usual))
			code = add_missing(matrix, matrix->lows[row], matrix->highs[i], cells[i], matrix->usual[i]);
	}
	return code;
}

static int check_matrix(struct matrix *matrix)
{
	int code;

	if (matrix->low_count < ROWS_MIN || (uint64_t)matrix->low_count * matrix->high_count > CELLS_MAX)
		return 0;
	code = fill_cells(matrix);
	if (code == 0)
		find_usual(matrix);
	for (uint32_t row = 0; row < matrix->low_count && code == 0; row++)
		code = check_row(matrix, row);
	return code;
}

/* Sort the switches of two tiers by the set that they belong to. */
struct placed {
	uint32_t set, node;
	bool high;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	return x->node < y->node ? -1 : 1;
}

static void join_tier(struct matrix *matrix, unsigned tier)
{
	const struct shape_build *build = matrix->build;
	const struct shape_node *nodes = build->shape->nodes;
	uint32_t j;

	shape_part(build, matrix->sets);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];

		for (j = build->first_near[node]; nodes[node].tier == tier && j < build->first_near[node + 1]; j++)
			if (nodes[build->near[j].node].tier == tier + 1)
				shape_join(matrix->sets, node, build->near[j].node);
	}
}

static int check_tier(struct matrix *matrix, struct placed *placed, unsigned tier)
{
	const struct shape_build *build = matrix->build;
	uint32_t j, count = 0;
	int code = 0;

	join_tier(matrix, tier);
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t node = build->switches[i];
		uint8_t own = build->shape->nodes[node].tier;

		if (own == tier || own == tier + 1)
			placed[count++] = (struct placed){ shape_root(matrix->sets, node), node, own > tier };
	}
	qsort(placed, count, sizeof(*placed), compare_placed);
	for (uint32_t i = 0; i < count && code == 0; i = j) {
		matrix->low_count = matrix->high_count = 0;
		for (j = i; j < count && placed[j].set == placed[i].set; j++) {
			if (placed[j].high)
				matrix->highs[matrix->high_count++] = placed[j].node;
			else
				matrix->lows[matrix->low_count++] = placed[j].node;
		}
		code = check_matrix(matrix);
	}
	return code;
}

/* The built size of a group is its size plus the missing cables of its pairs. */
static void extend_groups(struct shape_build *build)
{
	struct shape *shape = build->shape;

	for (size_t i = 0; i < shape->missing_count; i++) {
		const struct shape_missing *missing = &shape->missing[i];
		uint32_t lacks = missing->expected - missing->links;
		const struct node *high = &build->fabric->nodes[missing->high];

		if (shape->nodes[missing->low].up_group != SHAPE_NONE)
			shape->groups[shape->nodes[missing->low].up_group].built += lacks;
		for (uint32_t j = high->first_port; missing->links && j < high->first_port + high->ports; j++) {
			uint32_t group = shape->ports[j].group;

			if (group == SHAPE_NONE || shape->groups[group].peer != missing->low)
				continue;
			shape->groups[group].built += lacks;
			break;
		}
	}
}

int shape_find_missing(struct shape_build *build)
{
	size_t nodes = build->fabric->node_count;
	struct matrix matrix = {
		.build = build, .sets = shape_sets(build),
		.place = shape_scratch(build, nodes, sizeof(*matrix.place)),
		.lows = shape_scratch(build, nodes, sizeof(*matrix.lows)),
		.highs = shape_scratch(build, nodes, sizeof(*matrix.highs)),
	};
	struct placed *placed = shape_scratch(build, nodes, sizeof(*placed));
	int code = matrix.sets && matrix.place && matrix.lows && matrix.highs && placed ? 0 : ERR_NOMEM;

	for (unsigned tier = 1; tier < build->shape->tier_count && code == 0; tier++)
		code = check_tier(&matrix, placed, tier);
	if (code == 0)
		extend_groups(build);
	return code;
}
