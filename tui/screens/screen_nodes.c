/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_nodes.c - table of all nodes */
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "facts/event_state.h"
#include "facts/node_facts.h"
#include "tui/model/context.h"
#include "tui/model/format.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/list_screen.h"

struct nodes_screen {
	struct list_screen list;
	struct port_scope scope;
	struct node_facts *rows; /* by rank of their names */
	size_t count;
	uint64_t generation;     /* of app that the rows were computed from */
};

static void done(void *state)
{
	free(((struct nodes_screen *)state)->rows);
}

/* Errors are those since the time in the header, as on Links. */
static struct measure errors_of(const struct app *app, const struct node *node)
{
	struct measure errors = MEASURE_NONE;

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		errors = measure_add(errors, app->table->ports[i].errors);
	return errors;
}

static bool update(void *state, struct app *app)
{
	struct nodes_screen *self = state;
	const struct fabric *fabric = app->live->shown->fabric;
	struct map locked = { 0 };
	uint32_t is_locked;

	if (self->generation == app->generation)
		return false;
	self->generation = app->generation;
	free(self->rows);
	self->rows = calloc(fabric->node_count + 1, sizeof(*self->rows));
	self->count = self->rows ? fabric->node_count : 0;
	self->scope = app->table->scope;
	self->scope.shape = app->context->shape;
	self->scope.reference_us = app->now_us;
	if (app->live->reader)
		locked_load(app->live->reader, app->live->shown->sweep.wall_us, &locked, NULL);
	for (uint32_t i = 0; i < self->count; i++) {
		uint32_t node = app->table->order.nodes[i];

		is_locked = 0;
		map_get(&locked, fabric->nodes[node].guid, &is_locked);
		node_facts_of(&self->scope, node, is_locked, NULL, &self->rows[i]);
		self->rows[i].errors = errors_of(app, &fabric->nodes[node]);
	}
	map_done(&locked);
	return true;
}

static struct subject subject(const struct table *table, size_t index)
{
	return subject_of_node(table->app, ((const struct node_facts *)table_row(table, index))->node);
}

static struct table_id identity(const struct table *table, size_t index)
{
	return (struct table_id){ subject(table, index).node_guid, 0 };
}

enum { NAME, CLASS, LID, PORTS, ACTIVE, STATUS, XMIT, RCV, ERRORS, AGE, MODEL, GUID, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { .key = "node" }, [CLASS] = { .key = "class" }, [LID] = { .key = "lid" },
	[PORTS] = { .key = "port_count" }, [ACTIVE] = { .key = "ports_active" }, [STATUS] = { .key = "status" },
	[XMIT] = { .key = "xmit_bytes_per_s" }, [RCV] = { .key = "rcv_bytes_per_s" }, [ERRORS] = { .key = "errors" },
	[AGE] = { .key = "age_s", .priority = 4 }, [MODEL] = { .key = "model" }, [GUID] = { .key = "node_guid" },
};

/* Ages are short, as on Links. */
static bool text(const struct table *table, size_t index, size_t column, int width, struct text *ret)
{
	double age_s = ((const struct node_facts *)table_row(table, index))->age_s;
	char age[16];

	(void)width;
	if (column != AGE || isnan(age_s))
		return false;
	text_append(ret, format_age((int64_t)(age_s * 1e6), age, sizeof(age)));
	return true;
}

static const struct table_view view = {
	.name = "nodes", .noun = "node", .plural = "nodes", .none = "this fabric has no nodes",
	.columns = columns, .column_count = COLUMNS, .sources = { node_columns },
	.fixed = 1 << NAME, .descending = 1 << STATUS, .sort = STATUS, .sort_descending = true,
	.tags = true, .at_shown_time = true,
	.array = TABLE_ARRAY(struct nodes_screen, rows, count),
	.update = update, .id = identity, .subject = subject, .text = text,
};

const struct screen screen_nodes = {
	.name = "nodes",
	.size = sizeof(struct nodes_screen),
	.done = done,
	.tables = (const struct screen_table[]){ { &view, offsetof(struct nodes_screen, list) }, { NULL, 0 } },
	.footer_keys = (const struct key_help[]){
		{ "?", "help" }, { "Enter", "detail" }, { "/", "filter" }, { "s", "sort" }, { "p", "panel" },
		{ "T", "tag" }, { "Esc", "back" }, { NULL, NULL } },
};
