/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_matrix.c - link counts of switch pairs of adjacent tiers
 *
 * One matrix per connected set of switches, one row per lower switch, identical rows merged; a
 * digit is the number of links of a pair, '.' is none.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/topology/topology.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

#define LABEL_MAX 44

struct matrix {
	const struct topology *topology;
	uint32_t *lows, *highs; /* in natural name order */
	uint32_t low_count, high_count;
	uint32_t *set;    /* by node: its connected set; 0: not visited */
	uint32_t *column; /* by node */
	uint32_t *queue;
	char *rows;       /* cells of the current set, high_count per row */
	uint32_t *row_nodes, *column_nodes;
	uint32_t row_count, column_count;
};

static char pair_char(uint32_t links)
{
	static const char chars[] = ".123456789abcdefghijklmnopqrstuvwxyz";

	return links < sizeof(chars) - 1 ? chars[links] : '*';
}

/* Mark all switches connected to @start by links between the two tiers. */
static void mark_set(struct matrix *matrix, uint32_t start, uint32_t number)
{
	const struct fabric *fabric = matrix->topology->fabric;
	const struct shape *shape = matrix->topology->shape;
	uint32_t at = 0, end = 0;

	matrix->set[start] = number;
	matrix->queue[end++] = start;
	while (at < end) {
		const struct node *node = &fabric->nodes[matrix->queue[at]];
		int tier = shape->nodes[matrix->queue[at++]].tier;
		int other_tier = tier == shape->nodes[start].tier ? tier + 1 : tier - 1;

		for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
			uint32_t peer = fabric->ports[i].peer, other;

			if (peer == FABRIC_NONE)
				continue;
			other = fabric->ports[peer].node;
			if (fabric->nodes[other].type != NODE_SWITCH || shape->nodes[other].tier != other_tier ||
			    matrix->set[other])
				continue;
			matrix->set[other] = number;
			matrix->queue[end++] = other;
		}
	}
}

static void fill_row(struct matrix *matrix, uint32_t row)
{
	const struct fabric *fabric = matrix->topology->fabric;
	const struct node *node = &fabric->nodes[matrix->row_nodes[row]];
	uint32_t i, *links = matrix->queue; /* already freed */

	memset(links, 0, matrix->column_count * sizeof(*links));
	for (i = node->first_port; i < node->first_port + node->ports; i++) {
		uint32_t peer = fabric->ports[i].peer, other;

		if (peer == FABRIC_NONE || matrix->topology->shape->ports[i].way != WAY_UP)
			continue;
		other = fabric->ports[peer].node;
		if (matrix->column[other] < matrix->column_count &&
		    matrix->column_nodes[matrix->column[other]] == other)
			links[matrix->column[other]]++;
	}
	for (i = 0; i < matrix->column_count; i++)
		matrix->rows[(size_t)row * matrix->column_count + i] = pair_char(links[i]);
}

static int fill_set(struct matrix *matrix, uint32_t number)
{
	matrix->row_count = matrix->column_count = 0;
	for (uint32_t i = 0; i < matrix->low_count; i++)
		if (matrix->set[matrix->lows[i]] == number)
			matrix->row_nodes[matrix->row_count++] = matrix->lows[i];
	for (uint32_t i = 0; i < matrix->high_count; i++) {
		if (matrix->set[matrix->highs[i]] != number)
			continue;
		matrix->column[matrix->highs[i]] = matrix->column_count;
		matrix->column_nodes[matrix->column_count++] = matrix->highs[i];
	}
	free(matrix->rows);
	matrix->rows = malloc((size_t)matrix->row_count * matrix->column_count + 1);
	if (!matrix->rows)
		return -1;
	for (uint32_t i = 0; i < matrix->row_count; i++)
		fill_row(matrix, i);
	return 0;
}

static void append_heads(const struct matrix *matrix, struct text *text, unsigned label)
{
	const char **names = malloc((matrix->column_count + 1) * sizeof(*names));

	if (!names) {
		text->failed = true;
		return;
	}
	for (uint32_t i = 0; i < matrix->column_count; i++)
		names[i] = matrix->topology->shown.names[matrix->column_nodes[i]];
	text_append(text, "columns: ");
	topology_fold(text, names, matrix->column_count);
	text_append(text, "\n");
	free(names);
	/* Column numbers, one line per power of ten. */
	for (uint32_t power = 100; power; power /= 10) {
		if (matrix->column_count < power)
			continue;
		text_appendf(text, "%*s", (int)label + 2, "");
		for (uint32_t i = 1; i <= matrix->column_count; i++)
			text_appendf(text, "%c", power == 1 || i % power == 0 ? (char)('0' + i / power % 10) : ' ');
		text_append(text, "\n");
	}
}

/* Pad to @columns; longer labels lose their middle, but keep the count. */
static void append_label(struct text *text, const char *label, unsigned columns)
{
	const char *tail = strrchr(label, '(');
	size_t used = text_columns(label), tail_columns;

	if (used <= columns) {
		text_append(text, label);
	} else {
		tail = tail && tail > label && label[strlen(label) - 1] == ')' ? tail - 1 : "";
		tail_columns = text_columns(tail) + 2;
		text_append_bytes(text, label, text_prefix_bytes(label, columns - tail_columns));
		text_appendf(text, "..%s", tail);
		used = columns;
	}
	text_appendf(text, "%*s", (int)(columns - used + 2), "");
}

/* Number of identical rows from @row on. */
static uint32_t count_alike(const struct matrix *matrix, uint32_t row)
{
	const char *first = matrix->rows + (size_t)row * matrix->column_count;
	uint32_t i;

	for (i = row + 1; i < matrix->row_count; i++)
		if (memcmp(first, matrix->rows + (size_t)i * matrix->column_count, matrix->column_count))
			break;
	return i - row;
}

/* Append the label of @alike rows from @row on. Return: its columns. */
static size_t append_row_label(const struct matrix *matrix, uint32_t row, uint32_t alike, struct text *label)
{
	text_clear(label);
	topology_range(label, matrix->topology->shown.names[matrix->row_nodes[row]],
		       matrix->topology->shown.names[matrix->row_nodes[row + alike - 1]], alike);
	return text_columns(text_chars(label));
}

static void append_rows(const struct matrix *matrix, struct text *text, unsigned label_columns)
{
	struct text label = { 0 };
	uint32_t alike;

	for (uint32_t i = 0; i < matrix->row_count; i += alike) {
		alike = count_alike(matrix, i);
		append_row_label(matrix, i, alike, &label);
		append_label(text, text_chars(&label), label_columns);
		text_append_bytes(text, matrix->rows + (size_t)i * matrix->column_count, matrix->column_count);
		text_append(text, "\n");
	}
	text->failed |= text_failed(&label);
	text_done(&label);
}

static unsigned widest_label(const struct matrix *matrix)
{
	struct text label = { 0 };
	size_t widest = 0, columns;
	uint32_t alike;

	for (uint32_t i = 0; i < matrix->row_count; i += alike) {
		alike = count_alike(matrix, i);
		columns = append_row_label(matrix, i, alike, &label);
		widest = columns > widest ? columns : widest;
	}
	text_done(&label);
	return widest < LABEL_MAX ? (unsigned)widest : LABEL_MAX;
}

static void append_set(struct matrix *matrix, unsigned width, struct text *text)
{
	unsigned label = widest_label(matrix), tier = matrix->topology->shape->nodes[matrix->row_nodes[0]].tier;

	text_appendf(text, "\nlinks from tier %u up to tier %u\n", tier, tier + 1);
	if (width && label + 2 + matrix->column_count > width) {
		text_appendf(text, "%u columns do not fit into %u: "
			     "a terminal of %u shows them (or COLUMNS=%u, or a pipe)\n",
			     matrix->column_count, width, label + 2 + matrix->column_count,
			     label + 2 + matrix->column_count);
		return;
	}
	append_heads(matrix, text, label);
	append_rows(matrix, text, label);
}

static bool matrix_init(struct matrix *matrix, const struct topology *topology, unsigned tier)
{
	size_t room = topology->fabric->node_count + 1;

	*matrix = (struct matrix){ .topology = topology };
	matrix->lows = topology_order(topology, tier, &matrix->low_count);
	matrix->highs = topology_order(topology, tier + 1, &matrix->high_count);
	matrix->set = calloc(room, sizeof(*matrix->set));
	matrix->column = calloc(room, sizeof(*matrix->column));
	matrix->queue = malloc(room * sizeof(*matrix->queue));
	matrix->row_nodes = malloc(room * sizeof(*matrix->row_nodes));
	matrix->column_nodes = malloc(room * sizeof(*matrix->column_nodes));
	return matrix->lows && matrix->highs && matrix->set && matrix->column && matrix->queue &&
	       matrix->row_nodes && matrix->column_nodes;
}

static void matrix_done(struct matrix *matrix)
{
	free(matrix->lows);
	free(matrix->highs);
	free(matrix->set);
	free(matrix->column);
	free(matrix->queue);
	free(matrix->rows);
	free(matrix->row_nodes);
	free(matrix->column_nodes);
}

static void append_tier(const struct topology *topology, unsigned tier, unsigned width, struct text *text)
{
	struct matrix matrix;
	uint32_t number = 0;

	if (!matrix_init(&matrix, topology, tier))
		text->failed = true;
	for (uint32_t i = 0; !text_failed(text) && i < matrix.low_count; i++) {
		if (matrix.set[matrix.lows[i]])
			continue;
		mark_set(&matrix, matrix.lows[i], ++number);
		if (fill_set(&matrix, number) < 0)
			text->failed = true;
		else if (matrix.column_count)
			append_set(&matrix, width, text);
	}
	matrix_done(&matrix);
}

void topology_matrix(const struct topology *topology, unsigned width, struct text *text)
{
	for (unsigned tier = 1; tier < topology->shape->tier_count; tier++)
		append_tier(topology, tier, width, text);
}
