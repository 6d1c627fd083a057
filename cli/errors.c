/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * errors.c - `ibwire errors`: the error counters that increased or are saturated, with both ends of their link, highest
 * rate first
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/delta.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "fabric/fabric.h"
#include "facts/port_columns.h"
#include "facts/selection.h"
#include "storage/history.h"
#include "storage/reader.h"

/* One counter of one port. */
struct error_row {
	const struct moment *moment;
	uint32_t port;
	enum counter counter;
	int64_t window_us;         /* snapshot_covered_us(): a port that was up for seconds has no high rate */
	int64_t first_us, last_us; /* wall clock of the sweeps; 0: their samples are not stored any more */
};

static const struct delta *sum_of(const struct error_row *row)
{
	return &row->moment->snapshot->rows[row->port].sum;
}

static void fill_counter(struct result *result, size_t at, const void *row)
{
	result_text(result, at, counter_info(((const struct error_row *)row)->counter)->key);
}

static struct measure measure_count(const void *row)
{
	const struct delta *sum = sum_of(row);
	const struct error_row *of = row;

	/* As facts_errors(): a saturated counter is never no error. */
	if (sum->saturated & COUNTER_BIT(of->counter))
		return measure_saturated((double)sum->value[of->counter]);
	return measure_of((double)sum->value[of->counter],
			  !port_is_cut(of->moment->snapshot, of->port, sum, of->window_us) &&
			  !(delta_lower_bounds(sum) & COUNTER_BIT(of->counter)));
}

static struct measure measure_per_hour(const void *row)
{
	struct measure count = measure_count(row);

	count.value /= (double)((const struct error_row *)row)->window_us / (3600.0 * US_PER_S);
	return count;
}

static void fill_per_hour(struct result *result, size_t at, const void *row)
{
	struct measure rate = column_measure(result_column(result, at), row);
	char shown[32];

	result_measure(result, at, rate);
	snprintf(shown, sizeof(shown), rate.value < 10 ? "%.2g" : "%.0f", rate.value);
	result_show(result, at, shown, STYLE_PLAIN);
}

static double number_last_age(const void *row)
{
	const struct error_row *of = row;

	return of->last_us ? (double)(of->moment->reference_us - of->last_us) / US_PER_S : NAN;
}

enum { ERROR_ROW = LINK_ROW };

static const struct column error_columns[] = {
	{ .key = "counter", .title = "COUNTER", .kind = COLUMN_TEXT, .fill = fill_counter,
	  .help = "error counter that increased or is saturated" },
	{ .key = "count", .title = "COUNT", .kind = COLUMN_INTEGER, .measure = measure_count,
	  .help = "increase in the window; a lower bound if the counter was reset, is saturated or was not always "
		  "read" },
	{ .key = "per_hour", .title = "PER HOUR", .kind = COLUMN_REAL, .measure = measure_per_hour,
	  .fill = fill_per_hour,
	  .help = "increase per hour of the window" },
	{ .key = "first", .title = "SINCE", .kind = COLUMN_TIME, .flags = COLUMN_NONZERO,
	  COLUMN_MEMBER(struct error_row, first_us),
	  .help = "first sweep with an increase; null: its samples are no longer stored" },
	{ .key = "last", .title = "LAST TIME", .kind = COLUMN_TIME, .flags = COLUMN_NONZERO,
	  COLUMN_MEMBER(struct error_row, last_us),
	  .help = "last sweep with an increase; null: its samples are no longer stored" },
	{ .key = "last_age_s", .title = "LAST AGO", .kind = COLUMN_SPAN_S, .number = number_last_age,
	  .help = "time since the last increase" },
	{ 0 },
};

static const struct column_source error_sources[] = {
	{ .columns = error_columns, .row = ERROR_ROW },
	{ .columns = port_columns, .row = PORT_ROW },
	{ .columns = port_columns, .row = PEER_ROW, .key_prefix = "peer_", .title_prefix = "PEER " },
};

static const struct column_item error_items[] = {
	{ .key = "time" },
	{ .key = "name", .table = true, .no_data = true },
	{ .key = "node_guid" }, { .key = "node" }, { .key = "port" }, { .key = "lid" },
	{ .key = "name", .row = PEER_ROW, .table = true, .no_data = true, .title = "PEER" },
	{ .key = "node_guid", .row = PEER_ROW, .as = "peer_guid" }, { .key = "node", .row = PEER_ROW, .as = "peer" },
	{ .key = "port", .row = PEER_ROW }, { .key = "lid", .row = PEER_ROW },
	{ .key = "counter", .row = ERROR_ROW, .table = true },
	{ .key = "count", .row = ERROR_ROW, .table = true },
	{ .key = "per_hour", .row = ERROR_ROW, .table = true },
	{ .key = "first", .row = ERROR_ROW, .table = true, .priority = 2 },
	{ .key = "last", .row = ERROR_ROW },
	{ .key = "last_age_s", .row = ERROR_ROW, .table = true },
	{ .key = "state", .table = true, .priority = 4 },
	{ .key = "link", .table = true, .no_data = true, .priority = 3 },
	{ .key = "width" }, { .key = "speed" }, { .key = "window_s" },
};

struct error_list {
	const struct moment *moment;
	struct error_row *rows; /* of one counter at a time; the index of a counter of a port: @place - 1 */
	size_t count;
	uint32_t (*place)[COUNTER_COUNT]; /* by port; 0: no row */
};

static int collect(struct error_list *list, const struct selection *selection, struct error *err)
{
	const struct moment *moment = list->moment;
	const struct fabric *fabric = moment->fabric;
	int64_t window_us = snapshot_covered_us(moment->snapshot);
	size_t most = 0;

	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t port = 0; port < fabric->port_count; port++) {
			const struct delta *sum = &moment->snapshot->rows[port].sum;

			for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++) {
				if (!selection_has_port(selection, port) || !(sum->known & COUNTER_BIT(i)) ||
				    !(sum->value[i] || sum->saturated & COUNTER_BIT(i)) ||
				    sum->elapsed_us <= 0)
					continue;
				if (!pass) {
					most++;
					continue;
				}
				list->rows[list->count] = (struct error_row){ moment, port, (enum counter)i, window_us,
				0, 0 };
				list->place[port][i] = (uint32_t)++list->count;
			}
		}
		if (pass)
			break;
		list->rows = calloc(most + 1, sizeof(*list->rows));
		list->place = calloc(fabric->port_count + 1, sizeof(*list->place));
		if (!list->rows || !list->place)
			return err_nomem(err);
	}
	return 0;
}

static bool date_row(void *ctx, const struct history_error *error)
{
	struct error_list *list = ctx;
	uint32_t port = fabric_find_port(list->moment->fabric, error->who.node_guid, error->who.num);
	uint32_t place = port == FABRIC_NONE ? 0 : list->place[port][error->counter];
	struct error_row *row = place ? &list->rows[place - 1] : NULL;

	/* A saturated counter is reported without an increase, too. */
	if (row && error->value && !row->first_us)
		row->first_us = error->wall_us;
	if (row && error->value)
		row->last_us = error->wall_us;
	return true;
}

static int print(const struct options *options, const struct columns *shown, const struct error_list *list,
		 const struct selection *selection, struct error *err)
{
	const struct port_scope scope = moment_scope(list->moment);
	struct result *result = columns_begin(options, shown);
	char window[MOMENT_WINDOW_SIZE], unknown[UNKNOWN_ERRORS_SIZE];
	size_t unknown_count = 0;

	for (uint32_t i = 0; i < list->moment->fabric->port_count; i++)
		unknown_count += selection_has_port(selection, i) &&
				 list->moment->fabric->ports[i].peer != FABRIC_NONE &&
				 isnan(port_window_errors(list->moment->snapshot, i,
							  &list->moment->snapshot->rows[i].sum,
							  list->moment->covered_us).value);
	facts_unknown_errors(unknown_count, unknown);
	for (size_t i = 0; i < list->count; i++) {
		uint32_t peer = list->moment->fabric->ports[list->rows[i].port].peer;
		struct port_facts facts[2];
		const void *const cells[] = { [PORT_ROW] = &facts[0],
					      [PEER_ROW] = peer == FABRIC_NONE ? NULL : &facts[1],
					      [ERROR_ROW] = &list->rows[i] };

		port_facts_of(&scope, list->rows[i].port, &facts[0]);
		if (peer != FABRIC_NONE)
			port_facts_of(&scope, peer, &facts[1]);
		result_fill_rows(result, cells);
		result_end_row(result);
	}
	moment_format_window(list->moment, window);
	if (list->count)
		result_note(result, "window: %s%s", window, unknown);
	result_none(result, "no error counter increased in %s%s", window, unknown);
	return output_end(result, 0, err);
}

static int show(const struct options *options, const struct columns *shown, const struct moment *moment,
		struct error *err)
{
	int64_t end_us = moment->snapshot->sweep.wall_us;
	struct error_list list = { .moment = moment };
	struct selection selection;
	int code = moment_select(moment, options->argv, options->argc, &selection, err);

	if (code < 0)
		return code;
	code = collect(&list, &selection, err);
	if (code == 0)
		code = reader_history_errors(moment->reader, moment->at_us ? moment->at_us - moment->window_us :
					     end_us - moment->window_us, end_us, date_row, &list, err);
	if (code == 0)
		code = print(options, shown, &list, &selection, err);
	free(list.rows);
	free(list.place);
	selection_done(&selection);
	return code;
}

int errors_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const struct column_list list = {
		.sources = error_sources, .source_count = sizeof(error_sources) / sizeof(*error_sources),
		.items = error_items, .count = sizeof(error_items) / sizeof(*error_items),
	};
	const char *columns = NULL, *sort = "per_hour";
	const struct option_spec specs[] = {
		OPT_TEXT("columns", 'c', "LIST", &columns, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &sort, COLUMNS_SORT_HELP " (per_hour)"),
		{ 0 },
	};
	struct options options;
	struct columns shown;
	struct moment moment;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code == 0)
		code = columns_create(command, &options, &list, columns, sort, &shown, err);
	if (code)
		return code < 0 ? code : 0;
	options.notes = true;
	if (!options.since_us)
		options.window_us = 24 * 3600 * US_PER_S;
	code = options_open_moment(&options, columns, &moment, err);
	if (code == 0) {
		code = moment_find_shape(&moment, err);
		if (code == 0)
			code = show(&options, &shown, &moment, err);
		moment_done(&moment);
	}
	columns_done(&shown);
	return code;
}
