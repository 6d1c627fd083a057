/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* nodes.c - `ibwire nodes`: one row per node */
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "facts/event_state.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "facts/node_facts.h"
#include "facts/selection.h"
#include "storage/reader.h"

static const struct column_source node_source = { .columns = node_columns };
static const struct column_list node_list = { .sources = &node_source, .source_count = 1 };

static void put_row(struct result *result, const struct port_scope *scope, const struct map *locked, uint32_t node,
		    enum adaptive_routing adaptive)
{
	uint32_t is_locked = 0;
	struct node_facts facts;

	map_get(locked, scope->snapshot->fabric->nodes[node].guid, &is_locked);
	node_facts_of(scope, node, is_locked, adaptive != ADAPTIVE_UNKNOWN ? balance_adaptive_name(adaptive) : NULL,
		      &facts);
	result_fill(result, &facts);
	result_end_row(result);
}

static int show(const struct options *options, const struct columns *shown, const struct moment *moment,
		const struct map *locked, struct error *err)
{
	const struct port_scope scope = moment_scope(moment);
	struct selection selection;
	struct result *result;
	uint8_t *adaptive = NULL;
	int code = moment_select(moment, options->argv, options->argc, &selection, err);

	if (code < 0)
		return code;
	code = balance_adaptive_create(moment->shape_settings, moment->fabric, &adaptive, err);
	if (code == 0) {
		result = columns_begin(options, shown);
		for (size_t i = 0; i < moment->fabric->node_count; i++)
			if (selection_has_node(&selection, moment->nodes[i]))
				put_row(result, &scope, locked, moment->nodes[i],
					adaptive ? adaptive[moment->nodes[i]] : ADAPTIVE_UNKNOWN);
		result_none(result, selection.all ? "the fabric has no node" : "no node is selected");
		code = output_end(result, 0, err);
	}
	free(adaptive);
	selection_done(&selection);
	return code;
}

/* Columns of firmware that is not known of any node are not in tables. */
static void hide_firmware(const struct fabric *fabric, struct columns *shown)
{
	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].firmware.source)
			return;
	for (size_t i = 0; i < shown->count; i++)
		if (!strcmp(shown->list[i].key, "firmware") || !strcmp(shown->list[i].key, "psid"))
			shown->list[i].flags |= COLUMN_NO_TABLE;
}

int nodes_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const char *columns = NULL, *sort = NULL;
	const struct option_spec specs[] = {
		OPT_TEXT("columns", 'c', "LIST", &columns, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &sort, COLUMNS_SORT_HELP),
		{ 0 },
	};
	struct map locked = { 0 };
	struct options options;
	struct columns shown;
	struct moment moment;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code == 0)
		code = columns_create(command, &options, &node_list, columns, sort, &shown, err);
	if (code)
		return code < 0 ? code : 0;
	code = options_open_moment(&options, false, &moment, err);
	if (code < 0) {
		columns_done(&shown);
		return code;
	}
	if (!columns)
		hide_firmware(moment.fabric, &shown);
	code = moment_find_findings(&moment, err);
	if (code == 0)
		code = moment_load_pkeys(&moment, err);
	if (code == 0)
		code = locked_load(moment.reader, moment.snapshot->sweep.wall_us, &locked, err);
	if (code == 0)
		code = show(&options, &shown, &moment, &locked, err);
	map_done(&locked);
	moment_done(&moment);
	columns_done(&shown);
	return code;
}
