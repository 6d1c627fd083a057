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

/* Switches in natural name order. */
struct switches {
	uint32_t *nodes, count;
};

struct matrix {
	const struct topology *topology;
	unsigned tier;                 /* of the rows */
	struct switches lows, highs;   /* of both tiers */
	uint32_t *set;                 /* by node: its connected set; 0: none yet */
	struct switches rows, columns; /* of the current set */
	uint32_t *column;              /* by node: its column plus 1; 0: none */
	char *cells;                   /* columns.count per row */
};

/* The switch that a port is connected to, if it is of this tier; else FABRIC_NONE. */
static uint32_t switch_at(const struct topology *topology, const struct port *port, unsigned tier)
{
	uint32_t node = port->peer == FABRIC_NONE ? FABRIC_NONE : topology->fabric->ports[port->peer].node;

	if (node == FABRIC_NONE || topology->fabric->nodes[node].type != NODE_SWITCH ||
	    topology->shape->nodes[node].tier != tier)
		return FABRIC_NONE;
	return node;
}

/* Mark all switches connected to @start by links between the two tiers. */
static void mark_set(struct matrix *matrix, uint32_t start, uint32_t number)
{
	const struct fabric *fabric = matrix->topology->fabric;
	bool more = true;

	matrix->set[start] = number;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < fabric->port_count; i++) {
			const struct port *port = &fabric->ports[i];
			unsigned tier = matrix->topology->shape->nodes[port->node].tier;
			uint32_t other;

			if (matrix->set[port->node] != number)
				continue;
			other = switch_at(matrix->topology, port, 2 * matrix->tier + 1 - tier);
			if (other == FABRIC_NONE || matrix->set[other])
				continue;
			matrix->set[other] = number;
			more = true;
		}
	}
}

static void fill_row(struct matrix *matrix, uint32_t row)
{
	static const char chars[] = ".123456789abcdefghijklmnopqrstuvwxyz";
	const struct fabric *fabric = matrix->topology->fabric;
	const struct node *node = &fabric->nodes[matrix->rows.nodes[row]];
	unsigned char *cells = (unsigned char *)matrix->cells + (size_t)row * matrix->columns.count;
	uint32_t i;

	for (i = node->first_port; i < node->first_port + node->ports; i++) {
		uint32_t other = switch_at(matrix->topology, &fabric->ports[i], matrix->tier + 1);

		if (other != FABRIC_NONE && matrix->column[other])
			cells[matrix->column[other] - 1]++;
	}
	for (i = 0; i < matrix->columns.count; i++)
		cells[i] = (unsigned char)(cells[i] < sizeof(chars) - 1 ? chars[cells[i]] : '*');
}

static int fill_set(struct matrix *matrix, uint32_t number)
{
	matrix->rows.count = matrix->columns.count = 0;
	for (uint32_t i = 0; i < matrix->lows.count; i++)
		if (matrix->set[matrix->lows.nodes[i]] == number)
			matrix->rows.nodes[matrix->rows.count++] = matrix->lows.nodes[i];
	for (uint32_t i = 0; i < matrix->highs.count; i++) {
		uint32_t node = matrix->highs.nodes[i];
		bool is_member = matrix->set[node] == number;

		if (is_member)
			matrix->columns.nodes[matrix->columns.count++] = node;
		matrix->column[node] = is_member ? matrix->columns.count : 0;
	}
	free(matrix->cells);
	matrix->cells = calloc((size_t)matrix->rows.count * matrix->columns.count + 1, 1);
	if (!matrix->cells)
		return -1;
	for (uint32_t i = 0; i < matrix->rows.count; i++)
		fill_row(matrix, i);
	return 0;
}

static void append_heads(const struct matrix *matrix, struct text *text, unsigned label)
{
	uint32_t count = matrix->columns.count;

	text_append(text, "columns: ");
	topology_fold(text, matrix->topology, matrix->columns.nodes, count);
	text_append(text, "\n");
	/* Column numbers, one line per power of ten. */
	for (uint32_t power = 100; power; power /= 10) {
		if (count < power)
			continue;
		text_appendf(text, "%*s", (int)label + 2, "");
		for (uint32_t i = 1; i <= count; i++)
			text_appendf(text, "%c", power == 1 || i % power == 0 ? (char)('0' + i / power % 10) : ' ');
		text_append(text, "\n");
	}
}

static void append_label(struct text *text, const char *label, unsigned columns)
{
	size_t begin = text->len;
	struct text_cut cut;

	if (text_columns(label) <= columns) {
		text_append(text, label);
	} else {
		cut = text_cut_name(label, columns);
		text_append_bytes(text, label, cut.head);
		text_appendf(text, "~%s", label + cut.tail);
	}
	text_appendf(text, "%*s", (int)(columns + 2 - text_columns(text_chars(text) + begin)), "");
}

/* Number of identical rows from @row on. */
static uint32_t count_alike(const struct matrix *matrix, uint32_t row)
{
	size_t count = matrix->columns.count;
	uint32_t i = row + 1;

	while (i < matrix->rows.count && !memcmp(matrix->cells + row * count, matrix->cells + i * count, count))
		i++;
	return i - row;
}

/* Append the rows with labels of @columns. @text: NULL: none. Return: columns of the widest label. */
static unsigned append_rows(const struct matrix *matrix, struct text *text, unsigned columns)
{
	char *const *names = matrix->topology->shown.names;
	size_t widest = 0, count = matrix->columns.count;
	struct text label = { 0 };
	uint32_t alike;

	for (uint32_t i = 0; i < matrix->rows.count; i += alike) {
		alike = count_alike(matrix, i);
		text_clear(&label);
		topology_range(&label, names[matrix->rows.nodes[i]], names[matrix->rows.nodes[i + alike - 1]], alike);
		if (text_columns(text_chars(&label)) > widest)
			widest = text_columns(text_chars(&label));
		if (!text)
			continue;
		append_label(text, text_chars(&label), columns);
		text_append_bytes(text, matrix->cells + i * count, count);
		text_append(text, "\n");
		text->failed |= text_failed(&label);
	}
	text_done(&label);
	return widest < LABEL_MAX ? (unsigned)widest : LABEL_MAX;
}

static void append_set(struct matrix *matrix, unsigned width, struct text *text)
{
	unsigned label = append_rows(matrix, NULL, 0), needed = label + 2 + matrix->columns.count;

	text_appendf(text, "\nlinks from tier %u up to tier %u\n", matrix->tier, matrix->tier + 1);
	if (width && needed > width) {
		text_appendf(text, "%u columns do not fit into %u: "
			     "a terminal of %u shows them (or COLUMNS=%u, or a pipe)\n",
			     matrix->columns.count, width, needed, needed);
		return;
	}
	append_heads(matrix, text, label);
	append_rows(matrix, text, label);
}

static bool matrix_init(struct matrix *matrix, const struct topology *topology, unsigned tier)
{
	size_t most = topology->fabric->node_count + 1;

	*matrix = (struct matrix){ .topology = topology, .tier = tier };
	matrix->lows.nodes = topology_order(topology, tier, &matrix->lows.count);
	matrix->highs.nodes = topology_order(topology, tier + 1, &matrix->highs.count);
	matrix->set = calloc(most, sizeof(*matrix->set));
	matrix->column = calloc(most, sizeof(*matrix->column));
	matrix->rows.nodes = calloc(most, sizeof(*matrix->rows.nodes));
	matrix->columns.nodes = calloc(most, sizeof(*matrix->columns.nodes));
	return matrix->lows.nodes && matrix->highs.nodes && matrix->set && matrix->column && matrix->rows.nodes &&
	       matrix->columns.nodes;
}

static void matrix_done(struct matrix *matrix)
{
	free(matrix->lows.nodes);
	free(matrix->highs.nodes);
	free(matrix->set);
	free(matrix->column);
	free(matrix->rows.nodes);
	free(matrix->columns.nodes);
	free(matrix->cells);
}

static void append_tier(const struct topology *topology, unsigned tier, unsigned width, struct text *text)
{
	struct matrix matrix;
	uint32_t number = 0;

	if (!matrix_init(&matrix, topology, tier))
		text->failed = true;
	for (uint32_t i = 0; !text_failed(text) && i < matrix.lows.count; i++) {
		if (matrix.set[matrix.lows.nodes[i]])
			continue;
		mark_set(&matrix, matrix.lows.nodes[i], ++number);
		if (fill_set(&matrix, number) < 0)
			text->failed = true;
		else if (matrix.columns.count)
			append_set(&matrix, width, text);
	}
	matrix_done(&matrix);
}

void topology_matrix(const struct topology *topology, unsigned width, struct text *text)
{
	for (unsigned tier = 1; tier < topology->shape->tier_count; tier++)
		append_tier(topology, tier, width, text);
}
