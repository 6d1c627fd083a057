/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_data.c - groups as JSON and CSV, or a table with --columns or --sort: one row per member */
#include "cli/balance/balance.h"
#include "export/result.h"
#include "fabric/shape.h"
#include "facts/group_columns.h"

static const struct column_source group_source = { .columns = group_columns };
static const struct column_list group_list = { .sources = &group_source, .source_count = 1 };

int balance_choose_columns(const struct command *command, const struct options *options, const char *chosen,
			   const char *sort, struct columns *ret, struct error *err)
{
	/* The sections of groups have no order of rows. */
	if (!chosen && sort && options->format == RESULT_TABLE)
		chosen = "node,group,group_peer,direction,cause,excess_percent,port,peer,utilization_percent,"
			 "stall_percent";
	return columns_create(command, options, &group_list, chosen, sort, ret, err);
}

int balance_data(const struct balance_report *report, struct error *err)
{
	struct result *table = columns_begin(&report->options, &report->columns);

	for (size_t i = 0; i < report->shown_count; i++) {
		uint32_t index = report->shown[i];
		const struct balance_result *result = &report->balance.results[index];
		struct group_facts facts = {
			.fabric = report->view.fabric, .group = balance_group_of(report, result), .result = result,
			.since_us = report->since_us, .until_us = report->until_us,
			.uneven_since_us = report->began[index].wall_us, .uneven_earlier = report->began[index].earlier,
		};

		for (; facts.nth < facts.group->count; facts.nth++) {
			result_fill(table, &facts);
			result_end_row(table);
		}
	}
	result_none(table, "no uneven group; --all shows the others");
	return output_end(table, 0, err);
}
