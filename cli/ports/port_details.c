/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/ports/port_details.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "facts/cells.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "facts/selection.h"
#include "storage/reader.h"

struct loading {
	const struct fabric *fabric;
	struct port_details *details;
	bool no_memory;
};

static bool add_row(void *ctx, const struct detail_row *row)
{
	struct loading *loading = ctx;
	struct port_details *details = loading->details;
	uint32_t port = fabric_find_port(loading->fabric, row->node_guid, row->port);
	struct detail_row *rows;

	/* The database keeps detail counters of removed ports. */
	if (port == FABRIC_NONE)
		return true;
	rows = array_grow(details->rows, details->count, &details->capacity, sizeof(*rows));
	loading->no_memory = !rows;
	if (!rows)
		return false;
	details->rows = rows;
	rows[details->count++] = *row;
	details->index[(size_t)port * DETAIL_ATTRIBUTE_COUNT + row->reading.attribute] = (uint32_t)details->count;
	return true;
}

/* Query one port or one node directly; filter a full read for several. */
static void narrow(const struct fabric *fabric, const struct selection *selection, struct detail_query *query)
{
	uint32_t port = FABRIC_NONE, ports = 0;
	bool one_node = true;

	for (uint32_t i = 0; !selection->all && i < fabric->port_count; i++) {
		if (!selection_has_port(selection, i))
			continue;
		one_node &= port == FABRIC_NONE || fabric->ports[port].node == fabric->ports[i].node;
		port = i;
		ports++;
	}
	if (port == FABRIC_NONE || !one_node)
		return;
	query->node_guid = fabric->nodes[fabric->ports[port].node].guid;
	if (ports == 1)
		query->port = fabric->ports[port].num;
}

int port_details_load(const struct moment *moment, const struct selection *selection, struct port_details *ret,
		      struct error *err)
{
	struct detail_query query = { .at_us = moment->at_us, .window_us = moment->window_us, .port = -1 };
	struct loading loading = { .fabric = moment->fabric, .details = ret };
	int code;

	ret->index = calloc((moment->fabric->port_count + 1) * DETAIL_ATTRIBUTE_COUNT, sizeof(*ret->index));
	if (!ret->index)
		return err_nomem(err);
	narrow(moment->fabric, selection, &query);
	code = reader_details(moment->reader, &query, add_row, &loading, err);
	return code == 0 && loading.no_memory ? err_nomem(err) : code;
}

void port_details_done(struct port_details *details)
{
	free(details->rows);
	free(details->index);
	memset(details, 0, sizeof(*details));
}

/* An attribute of a port; NULL: never read. */
static const struct detail_row *find_row(const struct port_details *details, uint32_t port,
					 enum detail_attribute attribute)
{
	uint32_t place = details->index ? details->index[(size_t)port * DETAIL_ATTRIBUTE_COUNT + attribute] : 0;

	return place ? &details->rows[place - 1] : NULL;
}

void port_details_ber(const struct moment *moment, const struct port_details *details, struct port_facts *port)
{
	const struct detail_row *row = find_row(details, port->port, DETAIL_EXTENDED_SPEEDS);
	uint64_t rate = port_rate_bits_per_s(&moment->fabric->ports[port->port]);

	if (!row || !ber_counts_fec(&row->reading, &row->sum))
		return;
	port->ber[PORT_BER_EFFECTIVE] = ber_effective(&row->sum, (enum fec_layout)row->reading.layout, rate);
	port->ber[PORT_BER_RAW] = ber_raw(&row->sum, (enum fec_layout)row->reading.layout, rate);
}

/* --- JSON and CSV --- */

static void fill_layout(struct result *result, size_t at, const void *row)
{
	const struct port_details_row *of = row;
	const struct detail_row *speeds = find_row(of->details, of->port->port, DETAIL_EXTENDED_SPEEDS);

	if (speeds && speeds->reading.layout < FEC_LAYOUT_COUNT)
		result_text(result, at, fec_layout_name(speeds->reading.layout));
}

enum { READINGS, DELTAS, UNKNOWN, AT_LEAST };

/* One counter as a member or an item of a column. */
static void fill_counter(struct result *result, size_t at, int which, const struct detail_row *row, unsigned number)
{
	const char *key = detail_info((enum detail_attribute)row->reading.attribute, number)->key;
	const struct detail_delta *sum = &row->sum;
	uint32_t bit = UINT32_C(1) << number;

	if (which == READINGS && row->reading.present & bit)
		result_member(result, at, key, row->reading.value[number]);
	else if (which == DELTAS && sum->known & bit)
		result_member(result, at, key, sum->value[number]);
	else if (which == UNKNOWN && !(sum->known & bit) && row->reading.present & bit &&
		 !detail_is_state((enum detail_attribute)row->reading.attribute))
		result_item(result, at, "%s", key);
	else if (which == AT_LEAST && detail_delta_lower_bounds(sum) & bit)
		result_item(result, at, "%s", key);
}

static void fill_counters(struct result *result, size_t at, const void *row)
{
	const struct port_details_row *of = row;

	result_empty(result, at);
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
		const struct detail_row *found = find_row(of->details, of->port->port,
							  (enum detail_attribute)attribute);

		for (unsigned number = 0; found && number < detail_count((enum detail_attribute)attribute); number++)
			fill_counter(result, at, result_column(result, at)->which, found, number);
	}
}

enum { WINDOW_OF, AGE_OF };

/* Window or age of each attribute; the age is unknown if the clock was set back. */
static void fill_times(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct port_details_row *of = row;
	int64_t reference_us = of->port->scope->reference_us;

	result_empty(result, at);
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
		const struct detail_row *found = find_row(of->details, of->port->port,
							  (enum detail_attribute)attribute);
		const char *name = detail_attribute_name((enum detail_attribute)attribute);

		if (!found)
			continue;
		if (which == WINDOW_OF && found->sum.elapsed_us > 0)
			result_member(result, at, name, (uint64_t)found->sum.elapsed_us);
		if (which == AGE_OF && reference_us >= found->wall_us)
			result_member(result, at, name, (uint64_t)(reference_us - found->wall_us));
	}
}

const struct column port_details_columns[] = {
	{ .key = "fec_layout", .title = "FEC", .kind = COLUMN_TEXT, .fill = fill_layout,
	  .help = "layout of the FEC counters: lanes, rs, rs-544, unknown" },
	{ .key = "details", .title = "DETAILS", .kind = COLUMN_OBJECT, .member = cells_detail_key,
	  .fill = fill_counters, .which = READINGS, .help = "absolute detail counters" },
	{ .key = "details_counted", .title = "COUNTED", .kind = COLUMN_OBJECT, .member = cells_detail_key,
	  .fill = fill_counters, .which = DELTAS, .help = "their change in the window" },
	{ .key = "details_unknown", .title = "UNKNOWN", .kind = COLUMN_LIST, .fill = fill_counters,
	  .which = UNKNOWN, .help = "detail counters without a delta in the window" },
	{ .key = "details_at_least", .title = "AT LEAST", .kind = COLUMN_LIST, .fill = fill_counters,
	  .which = AT_LEAST,
	  .help = "detail counters whose change is a lower bound: saturated, or one of the attribute was reset" },
	{ .key = "details_window_us", .title = "WINDOWS", .kind = COLUMN_OBJECT, .member = cells_detail_attribute,
	  .fill = fill_times, .which = WINDOW_OF, .help = "time that the change of each attribute is of" },
	{ .key = "details_age_us", .title = "AGES", .kind = COLUMN_OBJECT, .member = cells_detail_attribute,
	  .fill = fill_times, .which = AGE_OF, .help = "age of each attribute's newest reading" },
	{ 0 },
};

/* --- table --- */

enum { PORT, COUNTER, COUNTED, VALUE, UNIT, WINDOW, AGE, MEANING };

const struct column port_details_table[PORT_DETAILS_TABLE_COLUMNS] = {
	[PORT] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[COUNTER] = { .title = "COUNTER", .kind = COLUMN_TEXT },
	[COUNTED] = { .title = "IN WINDOW", .kind = COLUMN_INTEGER },
	[VALUE] = { .title = "VALUE", .kind = COLUMN_INTEGER, .priority = 1 },
	[UNIT] = { .title = "UNIT", .kind = COLUMN_TEXT, .priority = 6 },
	[WINDOW] = { .title = "WINDOW", .kind = COLUMN_SPAN_S, .priority = 3 },
	[AGE] = { .title = "AGE", .kind = COLUMN_SPAN_S, .priority = 2 },
	[MEANING] = { .title = "MEANING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .priority = 4 },
};

/* One counter of a table row. */
struct line {
	const char *key, *unit, *meaning;
	bool counted_known, value_known, reset, saturated, bound;
	uint64_t counted, value, max;
	double window_s, age_s;
	bool harmless; /* a value above 0 is not an error */
};

static void put_line(struct result *result, const struct moment *moment, uint32_t port, const struct line *line,
		     size_t *zeros)
{
	const char *why = line->saturated ? "saturated" : "cleared";
	bool marked = line->counted_known && (line->saturated || line->reset);
	bool counted = line->counted_known && line->counted;
	enum cell_style style = counted && !line->harmless ? STYLE_WARNING : STYLE_PLAIN;
	char shown[64];

	if (!line->counted_known && !line->value_known)
		return;
	if (!counted && !(line->value_known && line->value) && !marked) {
		(*zeros)++;
		return;
	}
	cells_port_name(result, PORT, &moment->names_shown, moment->fabric, port);
	result_text(result, COUNTER, line->key);
	if (line->counted_known) {
		result_unsigned(result, COUNTED, line->counted);
		snprintf(shown, sizeof(shown), "%" PRIu64 "+ (%s)", line->counted, why);
		result_show(result, COUNTED, line->bound ? shown : NULL, line->bound ? STYLE_WARNING : style);
	}
	if (line->value_known) {
		result_unsigned(result, VALUE, line->value);
		if (line->value == line->max)
			result_show(result, VALUE, "saturated", STYLE_WARNING);
	}
	result_text(result, UNIT, line->unit);
	result_real(result, WINDOW, line->counted_known ? line->window_s : NAN);
	result_real(result, AGE, line->age_s);
	result_text(result, MEANING, line->meaning);
	result_end_row(result);
}

/* The error counters of every sweep, which the detail counters split up. */
static void put_errors(struct result *result, const struct moment *moment, const struct port_facts *port, size_t *zeros)
{
	const struct port_row *row = &moment->snapshot->rows[port->port];

	for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++) {
		const struct counter_info *info = counter_info((enum counter)i);
		counter_set bit = COUNTER_BIT(i);
		const struct line line = {
			.key = info->key, .unit = info->unit, .meaning = info->meaning,
			.counted = row->sum.value[i], .value = row->reading ? row->reading->value[i] : 0,
			.max = row->reading ? reading_max(row->reading, (enum counter)i) : 0,
			.counted_known = port->errors_known & bit,
			.value_known = row->reading && row->reading->present & bit,
			.reset = row->sum.reset & bit,
			.saturated = row->sum.saturated & bit,
			.bound = port->error_bounds & bit,
			.window_s = port->window_s,
			.age_s = port->age_s,
		};

		put_line(result, moment, port->port, &line, zeros);
	}
}

static void put_details(struct result *result, const struct moment *moment, const struct detail_row *row, uint32_t port,
			size_t *zeros)
{
	enum detail_attribute attribute = (enum detail_attribute)row->reading.attribute;

	for (unsigned i = 0; i < detail_count(attribute); i++) {
		const struct detail_info *info = detail_info(attribute, i);
		uint32_t bit = UINT32_C(1) << i;
		const struct line line = {
			.key = info->key, .unit = info->unit, .meaning = info->meaning,
			.counted = row->sum.value[i], .value = row->reading.value[i],
			.max = detail_is_state(attribute) ? UINT64_MAX : detail_max(attribute, i),
			.counted_known = row->sum.known & bit,
			.value_known = row->reading.present & bit,
			.reset = row->sum.reset & bit,
			.saturated = row->sum.saturated & bit,
			.bound = detail_delta_lower_bounds(&row->sum) & bit,
			.window_s = (double)row->sum.elapsed_us / 1e6,
			.age_s = facts_age_s(moment->reference_us, row->wall_us),
			.harmless = !info->is_error,
		};

		put_line(result, moment, port, &line, zeros);
	}
}

/* Why a rate is unknown; the first match applies. */
static const char *unknown_reason(const struct moment *moment, const struct port_facts *port, enum port_ber which,
				  const struct detail_row *speeds)
{
	const struct delta *sum = &moment->snapshot->rows[port->port].sum;

	if (!port_rate_bits_per_s(&moment->fabric->ports[port->port]))
		return "unknown: the link is down";
	if (which == PORT_BER_SYMBOL)
		return sum->known & COUNTER_BIT(COUNTER_SYMBOL_ERRORS) ?
			       "unknown: symbol_errors is saturated or was reset" :
			       "unknown: no delta in the window; try a longer --since";
	if (!speeds)
		return "unknown: FEC was never read (not supported, excluded, or not yet polled)";
	if (speeds->reading.layout == FEC_LAYOUT_UNKNOWN)
		return "unknown: see FEC";
	if (!ber_counts_fec(&speeds->reading, &speeds->sum))
		return "unknown: FEC has never counted; a link without FEC has no counts";
	if (!(speeds->sum.known & UINT32_C(1) << DETAIL_FEC_UNCORRECTED_BLOCKS))
		return "unknown: no FEC counts in the window, or the FEC mode changed; try a longer --since";
	return "unknown: a counter is saturated or was reset";
}

static void put_ber(struct result *result, const struct moment *moment, const struct port_facts *port,
		    enum port_ber which, const struct detail_row *speeds)
{
	static const char *const meanings[PORT_BER_COUNT] = {
		[PORT_BER_SYMBOL] = "bit error rate seen by packets",
		[PORT_BER_EFFECTIVE] = "bit error rate after FEC (uncorrectable)",
		[PORT_BER_RAW] = "bit error rate before FEC (cable and lanes)",
	};
	const struct ber *ber = &port->ber[which];
	bool is_fast = which == PORT_BER_SYMBOL, is_bad = ber->rate > 0 && which != PORT_BER_RAW;
	char chars[CELLS_BER_SIZE];
	const char *shown = cells_ber_text(ber, chars);

	cells_port_name(result, PORT, &moment->names_shown, moment->fabric, port->port);
	result_text(result, COUNTER, port_ber_key(which));
	if (shown) {
		result_show(result, COUNTED, shown, is_bad ? STYLE_WARNING : STYLE_PLAIN);
		result_text(result, UNIT, "errors/bit");
		result_real(result, WINDOW, is_fast ? port->window_s : (double)speeds->sum.elapsed_us / 1e6);
	}
	if (is_fast || speeds)
		result_real(result, AGE, is_fast ? port->age_s : facts_age_s(moment->reference_us, speeds->wall_us));
	result_text(result, MEANING, shown ? meanings[which] : unknown_reason(moment, port, which, speeds));
	result_end_row(result);
}

static void put_fec(struct result *result, const struct moment *moment, uint32_t port, const struct detail_row *speeds)
{
	static const char *const words[] = {
		[FEC_LAYOUT_UNKNOWN] = "unknown", [FEC_LAYOUT_LANES] = "by lane", [FEC_LAYOUT_RS] = "Reed-Solomon",
		[FEC_LAYOUT_RS_544] = "RS(544,514)",
	};
	static const char *const meanings[] = {
		[FEC_LAYOUT_UNKNOWN] =
			"the FEC mode of the link is unknown, so its counters cannot be interpreted",
		[FEC_LAYOUT_LANES] = "corrected blocks are counted per lane",
		[FEC_LAYOUT_RS] = "Reed-Solomon FEC: blocks are counted per port, symbols per lane",
		[FEC_LAYOUT_RS_544] = "Reed-Solomon FEC: blocks are counted per port, symbols per lane",
	};

	if (!speeds || speeds->reading.layout >= FEC_LAYOUT_COUNT)
		return;
	cells_port_name(result, PORT, &moment->names_shown, moment->fabric, port);
	result_text(result, COUNTER, "FEC");
	result_show(result, COUNTED, words[speeds->reading.layout],
		    speeds->reading.layout == FEC_LAYOUT_UNKNOWN ? STYLE_WARNING : STYLE_PLAIN);
	result_real(result, AGE, facts_age_s(moment->reference_us, speeds->wall_us));
	result_text(result, MEANING, meanings[speeds->reading.layout]);
	result_end_row(result);
}

void port_details_put_rows(struct result *result, const struct moment *moment, const struct port_details *details,
			   const struct port_facts *port, size_t *zeros)
{
	const struct detail_row *speeds = find_row(details, port->port, DETAIL_EXTENDED_SPEEDS);

	for (int i = 0; i < PORT_BER_COUNT; i++)
		put_ber(result, moment, port, (enum port_ber)i, speeds);
	put_fec(result, moment, port->port, speeds);
	put_errors(result, moment, port, zeros);
	for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++) {
		const struct detail_row *row = find_row(details, port->port, (enum detail_attribute)i);

		if (row)
			put_details(result, moment, row, port->port, zeros);
	}
}
