/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/coverage_columns.h"

#include <math.h>
#include <stdio.h>

#include "analysis/coverage.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/rounds.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/order.h"
#include "facts/port_columns.h"

static const struct coverage_facts *facts_of(const void *row)
{
	return row;
}

static const struct coverage_direction *direction_of(const void *row)
{
	return &facts_of(row)->coverage->list[facts_of(row)->port];
}

/* A function that reads a number of a row. */
#define NUMBER(name, expression) static double name(const void *row) { return (double)(expression); }

NUMBER(number_loaded, (double)direction_of(row)->loaded_us / 1e6)
NUMBER(number_known, (double)direction_of(row)->known_us / 1e6)
NUMBER(number_clean, direction_of(row)->end_us ? (double)direction_of(row)->clean_us / 1e6 : NAN)
NUMBER(number_longest, direction_of(row)->end_us ? (double)direction_of(row)->longest_clean_us / 1e6 : NAN)
NUMBER(number_ber_below, coverage_ber_below(facts_of(row)->coverage, facts_of(row)->port))
NUMBER(number_since, facts_of(row)->coverage->since_us)
NUMBER(number_until, facts_of(row)->coverage->until_us)

static double number_clean_needed(const void *row)
{
	int64_t clean_us = coverage_clean_us(facts_of(row)->coverage, facts_of(row)->port);

	return clean_us ? (double)clean_us / 1e6 : NAN;
}

static struct measure measure_peak(const void *row)
{
	return coverage_peak(facts_of(row)->coverage, facts_of(row)->port);
}

static struct measure measure_link_errors(const void *row)
{
	const struct coverage_direction *direction = direction_of(row);

	return measure_of(direction->end_us ? (double)direction->errors : NAN, !direction->errors_at_least);
}

void coverage_append_left(unsigned left, struct text *text)
{
	for (unsigned i = 0, any = 0; i < COVERAGE_LEFT_BITS; i++)
		if (left & 1u << i)
			text_appendf(text, "%s%s", any++ ? ", " : "", coverage_left_name(1u << i));
}

static void fill_covered(struct result *result, size_t at, const void *row)
{
	result_bool(result, at, !coverage_left(facts_of(row)->coverage, facts_of(row)->port));
}

static void fill_left(struct result *result, size_t at, const void *row)
{
	unsigned left = coverage_left(facts_of(row)->coverage, facts_of(row)->port);

	result_empty(result, at);
	for (unsigned i = 0; i < COVERAGE_LEFT_BITS; i++)
		if (left & 1u << i)
			result_item(result, at, "%s", coverage_left_name(1u << i));
}

static void fill_degraded(struct result *result, size_t at, const void *row)
{
	const struct coverage_facts *facts = row;

	result_text(result, at, link_verdict_name(facts->shape->ports[facts->port].verdict));
}

static void fill_ber(struct result *result, size_t at, const void *row)
{
	double below = number_ber_below(row);

	result_real(result, at, below);
	if (!isnan(below))
		result_showf(result, at, STYLE_PLAIN, "%.1e", below);
}

const struct column coverage_columns[] = {
	{ .key = "since", .title = "SINCE", .kind = COLUMN_TIME, .number = number_since,
	  .help = "begin of the window" },
	{ .key = "until", .title = "UNTIL", .kind = COLUMN_TIME, .number = number_until,
	  .help = "last sweep of the window" },
	{ .key = "covered", .title = "COVERED", .kind = COLUMN_BOOL, .fill = fill_covered,
	  .help = "the direction carried the load for long enough, and was clean for long enough" },
	{ .key = "left", .title = "LEFT", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE, .fill = fill_left,
	  .help = "what is left: down, not-loaded, load-unknown, errors, clean-too-short, errors-unknown" },
	{ .key = "degraded", .title = "DEGRADED", .kind = COLUMN_TEXT, .fill = fill_degraded,
	  .help = "why the link is narrower or slower than expected: width, speed, enabled, neighbors; or empty" },
	{ .key = "loaded_s", .title = "LOADED", .kind = COLUMN_SPAN_S, .number = number_loaded,
	  .help = "time with at least the load, since the link was last down" },
	{ .key = "load_known_s", .title = "LOAD KNOWN", .kind = COLUMN_SPAN_S, .number = number_known,
	  .help = "time for which it is known whether there was that load" },
	{ .key = "peak_percent", .title = "PEAK%", .kind = COLUMN_PERCENT, .flags = COLUMN_LOAD,
	  .measure = measure_peak, .help = "highest load between two readings, as a share of the data rate" },
	{ .key = "clean_s", .title = "CLEAN", .kind = COLUMN_SPAN_S, .number = number_clean,
	  .help = "time without errors up to the last reading" },
	{ .key = "longest_clean_s", .title = "LONGEST CLEAN", .kind = COLUMN_SPAN_S, .number = number_longest,
	  .help = "longest time without errors in the window" },
	{ .key = "clean_needed_s", .title = "CLEAN NEEDED", .kind = COLUMN_SPAN_S, .number = number_clean_needed,
	  .help = "time without errors that is required" },
	{ .key = "link_errors", .title = "ERRORS", .kind = COLUMN_INTEGER, .measure = measure_link_errors,
	  .help = "errors that the receiving port counted in the window: symbol errors, recoveries, downs, receive "
		  "errors, link integrity, buffer overruns" },
	{ .key = "ber_below", .title = "BER BELOW", .kind = COLUMN_REAL, .number = number_ber_below, .fill = fill_ber,
	  .help = "bit error rate that the clean time excludes (95 %)" },
	{ 0 },
};

/* --- pairs --- */

static const struct pair_facts *pair_of(const void *row)
{
	return row;
}

const char *pair_device(const struct fabric *fabric, uint32_t port, char *ret, size_t size)
{
	struct host_words words;

	host_split(fabric->nodes[fabric->ports[port].node].name, &words);
	snprintf(ret, size, "%.*s", (int)words.device_len, words.device_len ? words.device : "");
	return ret;
}

static uint32_t end_of(const struct result *result, size_t at, const void *row)
{
	return result_column(result, at)->which ? pair_of(row)->pair->to : pair_of(row)->pair->from;
}

static void fill_host(struct result *result, size_t at, const void *row)
{
	const struct shape *shape = pair_of(row)->shape;
	uint32_t node = shape->fabric->ports[end_of(result, at, row)].node, host = shape->nodes[node].host;

	result_text(result, at, host == SHAPE_NONE ? NULL : shape->hosts[host].name);
}

static void fill_device(struct result *result, size_t at, const void *row)
{
	char device[NODE_NAME_SIZE];

	pair_device(pair_of(row)->shape->fabric, end_of(result, at, row), device, sizeof(device));
	result_text(result, at, *device ? device : NULL);
}

static void fill_name(struct result *result, size_t at, const void *row)
{
	cells_port_name(result, at, pair_of(row)->order, pair_of(row)->shape->fabric, end_of(result, at, row));
}

static void fill_port(struct result *result, size_t at, const void *row)
{
	result_unsigned(result, at, pair_of(row)->shape->fabric->ports[end_of(result, at, row)].num);
}

static void fill_guid(struct result *result, size_t at, const void *row)
{
	const struct fabric *fabric = pair_of(row)->shape->fabric;

	result_unsigned(result, at, fabric->nodes[fabric->ports[end_of(result, at, row)].node].guid);
}

static void fill_lid(struct result *result, size_t at, const void *row)
{
	result_unsigned(result, at, pair_of(row)->shape->fabric->ports[end_of(result, at, row)].lid);
}

static void fill_rail(struct result *result, size_t at, const void *row)
{
	const struct shape *shape = pair_of(row)->shape;
	uint32_t rail = shape->ports[pair_of(row)->pair->from].rail;

	result_text(result, at, rail == SHAPE_NONE ? NULL : shape->rails[rail].name);
}

NUMBER(number_round, pair_of(row)->round)
NUMBER(number_new_links, pair_of(row)->pair->new_links)
NUMBER(number_load_s, (double)pair_of(row)->load_us / 1e6)

const struct column pair_columns[] = {
	{ .key = "round", .title = "ROUND", .kind = COLUMN_INTEGER, .number = number_round,
	  .help = "pairs of one round send at the same time" },
	{ .key = "rail", .title = "RAIL", .kind = COLUMN_TEXT, .fill = fill_rail, .help = "rail of both ports" },
	{ .title = "SENDS", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .fill = fill_name },
	{ .title = "RECEIVES", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .fill = fill_name,
	  .which = 1 },
	{ .key = "from_host", .kind = COLUMN_TEXT, .fill = fill_host, .help = "host that sends" },
	{ .key = "from_device", .kind = COLUMN_TEXT, .fill = fill_device, .help = "its device" },
	{ .key = "from_port", .kind = COLUMN_INTEGER, .fill = fill_port, .help = "port of that device" },
	{ .key = "from_guid", .kind = COLUMN_GUID, .fill = fill_guid, .help = "node GUID of that device" },
	{ .key = "from_lid", .kind = COLUMN_INTEGER, .fill = fill_lid, .help = "LID of that port" },
	{ .key = "to_host", .kind = COLUMN_TEXT, .fill = fill_host, .which = 1, .help = "host that receives" },
	{ .key = "to_device", .kind = COLUMN_TEXT, .fill = fill_device, .which = 1, .help = "its device" },
	{ .key = "to_port", .kind = COLUMN_INTEGER, .fill = fill_port, .which = 1, .help = "port of that device" },
	{ .key = "to_guid", .kind = COLUMN_GUID, .fill = fill_guid, .which = 1, .help = "node GUID of that device" },
	{ .key = "to_lid", .kind = COLUMN_INTEGER, .fill = fill_lid, .which = 1, .help = "LID of that port" },
	{ .key = "links", .title = "LINKS", .kind = COLUMN_INTEGER, .number = number_new_links,
	  .help = "directions of links on the route that no earlier round loads" },
	{ .key = "seconds", .kind = COLUMN_INTEGER, .number = number_load_s,
	  .help = "time that the pair is to send for" },
	{ 0 },
};
