/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_table.c - the table of `ibwire ports --details` */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/lib/cells.h"
#include "cli/ports/port_details.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

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
	bool counted_known, value_known, reset, saturated;
	uint64_t counted, value, max;
	double window_s, age_s;
	bool harmless; /* a value above 0 is not an error */
};

static bool put_line(struct result *result, const struct view *view, uint32_t port, const struct line *line,
		     size_t *zeros)
{
	const char *why = line->saturated ? "saturated" : "cleared";
	bool at_least = line->counted_known && (line->saturated || line->reset);
	enum cell_style style = line->counted && !line->harmless ? STYLE_WARNING : STYLE_PLAIN;
	char shown[64];

	if (!line->counted_known && !line->value_known)
		return true;
	if (!line->counted && !line->value && !at_least) {
		(*zeros)++;
		return true;
	}
	cells_port_name(result, PORT, view, port);
	result_text(result, COUNTER, line->key);
	if (line->counted_known) {
		result_unsigned(result, COUNTED, line->counted);
		snprintf(shown, sizeof(shown), "%" PRIu64 "+ (%s)", line->counted, why);
		result_show(result, COUNTED, at_least ? shown : NULL, at_least ? STYLE_WARNING : style);
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
	return result_end_row(result);
}

/* The error counters of every sweep, which the detail counters split up. */
static bool put_errors(struct result *result, const struct view *view, const struct port_view *port, size_t *zeros)
{
	const struct port_row *row = &view->snapshot->rows[port->port];
	bool more = true;

	for (int i = COUNTER_TRAFFIC_COUNT; more && i < COUNTER_COUNT; i++) {
		const struct counter_info *info = counter_info((enum counter)i);
		counter_set bit = COUNTER_BIT(i);
		struct line line = {
			.key = info->key, .unit = info->unit, .meaning = info->meaning,
			.counted_known = port->errors_known & bit,
			.value_known = row->has_reading && row->reading.present & bit,
			.reset = row->sum.reset & bit,
			.saturated = row->sum.saturated & bit,
			.window_s = port->window_s,
			.age_s = port->age_s,
		};

		line.counted = line.counted_known ? row->sum.value[i] : 0;
		line.value = line.value_known ? row->reading.value[i] : 0;
		line.max = line.value_known ? reading_max(&row->reading, (enum counter)i) : UINT64_MAX;
		more = put_line(result, view, port->port, &line, zeros);
	}
	return more;
}

static bool is_harmless(enum detail_attribute attribute, unsigned number)
{
	return attribute == DETAIL_VL_XMIT_WAIT ||
	       (attribute == DETAIL_EXTENDED_SPEEDS && number >= DETAIL_FEC_CORRECTED_BLOCKS &&
		number != DETAIL_FEC_UNCORRECTED_BLOCKS);
}

static bool put_details(struct result *result, const struct view *view, const struct detail_row *row, uint32_t port,
			size_t *zeros)
{
	enum detail_attribute attribute = (enum detail_attribute)row->reading.attribute;
	bool more = true;

	for (unsigned i = 0; more && i < detail_count(attribute); i++) {
		const struct detail_info *info = detail_info(attribute, i);
		uint32_t bit = UINT32_C(1) << i;
		struct line line = {
			.key = info->key, .unit = info->unit, .meaning = info->meaning,
			.counted_known = row->sum.known & bit,
			.value_known = row->reading.present & bit,
			.reset = row->sum.reset & bit,
			.saturated = row->sum.saturated & bit,
			.max = detail_max(attribute, i),
			.window_s = (double)row->sum.elapsed_us / 1e6,
			.age_s = view_age_s(view->reference_us, row->wall_us),
			.harmless = is_harmless(attribute, i),
		};

		line.counted = line.counted_known ? row->sum.value[i] : 0;
		line.value = line.value_known ? row->reading.value[i] : 0;
		more = put_line(result, view, port, &line, zeros);
	}
	return more;
}

/* Why a rate is unknown; the first match applies. */
static const char *why_not(const struct view *view, const struct port_view *port, enum view_ber which,
			   const struct detail_row *speeds)
{
	const struct delta *sum = &view->snapshot->rows[port->port].sum;

	if (!port_rate_bits_per_s(&view->fabric->ports[port->port]))
		return "unknown: the link is down";
	if (which == VIEW_BER_SYMBOL)
		return sum->known & COUNTER_BIT(COUNTER_SYMBOL_ERRORS) ?
			       "unknown: symbol_errors is saturated or was reset" :
			       "unknown: no delta in the window; try a longer --since";
	if (!speeds)
		return "unknown: FEC was never read (not supported, excluded, or not yet polled)";
	if (speeds->reading.layout == FEC_LAYOUT_UNKNOWN)
		return "unknown: see FEC";
	if (!port_details_fec_counts(speeds))
		return "unknown: FEC has never counted; a link without FEC has no counts";
	if (!(speeds->sum.known & UINT32_C(1) << DETAIL_FEC_UNCORRECTED_BLOCKS))
		return "unknown: no FEC counts in the window, or the FEC mode changed; try a longer --since";
	return "unknown: a counter is saturated or was reset";
}

static bool put_ber(struct result *result, const struct view *view, const struct port_view *port, enum view_ber which,
		    const struct detail_row *speeds)
{
	static const char *const meanings[VIEW_BER_COUNT] = {
		[VIEW_BER_SYMBOL] = "bit error rate seen by packets",
		[VIEW_BER_EFFECTIVE] = "bit error rate after FEC (uncorrectable)",
		[VIEW_BER_RAW] = "bit error rate before FEC (cable and lanes)",
	};
	const struct ber *ber = &port->ber[which];
	bool is_fast = which == VIEW_BER_SYMBOL, is_bad = ber->rate > 0 && which != VIEW_BER_RAW;
	char chars[CELLS_BER_SIZE];
	const char *shown = cells_ber_text(ber, chars);

	cells_port_name(result, PORT, view, port->port);
	result_text(result, COUNTER, view_ber_key(which));
	if (shown) {
		result_show(result, COUNTED, shown, is_bad ? STYLE_WARNING : STYLE_PLAIN);
		result_text(result, UNIT, "errors/bit");
		result_real(result, WINDOW, is_fast ? port->window_s : (double)speeds->sum.elapsed_us / 1e6);
	}
	if (is_fast || speeds)
		result_real(result, AGE, is_fast ? port->age_s : view_age_s(view->reference_us, speeds->wall_us));
	result_text(result, MEANING, shown ? meanings[which] : why_not(view, port, which, speeds));
	return result_end_row(result);
}

static bool put_fec(struct result *result, const struct view *view, uint32_t port, const struct detail_row *speeds)
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
		return true;
	cells_port_name(result, PORT, view, port);
	result_text(result, COUNTER, "FEC");
	result_show(result, COUNTED, words[speeds->reading.layout],
		    speeds->reading.layout == FEC_LAYOUT_UNKNOWN ? STYLE_WARNING : STYLE_PLAIN);
	result_real(result, AGE, view_age_s(view->reference_us, speeds->wall_us));
	result_text(result, MEANING, meanings[speeds->reading.layout]);
	return result_end_row(result);
}

bool port_details_put_rows(struct result *result, const struct view *view, const struct port_details *details,
			   const struct port_view *port, size_t *zeros)
{
	const struct detail_row *speeds = port_details_row(details, port->port, DETAIL_EXTENDED_SPEEDS);
	bool more = true;

	for (int i = 0; more && i < VIEW_BER_COUNT; i++)
		more = put_ber(result, view, port, (enum view_ber)i, speeds);
	if (more)
		more = put_fec(result, view, port->port, speeds);
	if (more)
		more = put_errors(result, view, port, zeros);
	for (int i = 0; more && i < DETAIL_ATTRIBUTE_COUNT; i++) {
		const struct detail_row *row = port_details_row(details, port->port, (enum detail_attribute)i);

		if (row)
			more = put_details(result, view, row, port->port, zeros);
	}
	return more;
}
