/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "cli/options.h"
#include "cli/order.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/reader.h"

int view_open_reader(const struct options *options, struct view *ret, struct error *err)
{
	struct view view = { .reference_us = options->now_us };
	char path[4096];
	int code = options_db_path(options, false, path, sizeof(path), err);

	if (code < 0)
		return code;
	code = options_name_map(options, &view.names, err);
	if (code < 0)
		return code;
	code = reader_open(path, &view.reader, err);
	if (code < 0) {
		name_map_destroy(view.names);
		return code;
	}
	*ret = view;
	return 0;
}

int view_open(const struct options *options, bool absolute, struct view *ret, struct error *err)
{
	int64_t end_us = options->until_us ? options->until_us : options->at_us;
	struct snapshot_query query = { .at_us = end_us, .absolute = absolute };
	struct view view;
	int code = view_open_reader(options, &view, err);

	if (code < 0)
		return code;
	if (end_us)
		view.reference_us = end_us;
	query.names = view.names;
	if (options->since_us) {
		/* A window has two ends: without a later one it goes up to now. */
		query.at_us = view.reference_us;
		query.window_us = view.reference_us - options->since_us;
	}
	code = snapshot_load(view.reader, &query, &view.snapshot, err);
	if (code == 0) {
		view.fabric = view.snapshot->fabric;
		code = order_names(&view.names_shown, view.fabric, err);
	}
	if (code == 0) {
		code = order_nodes(view.fabric, view.names_shown.names, &view.nodes, err);
	}
	if (code < 0) {
		view_done(&view);
		return code;
	}
	*ret = view;
	return 0;
}

void view_done(struct view *view)
{
	if (view->snapshot)
		snapshot_destroy(view->snapshot);
	free(view->nodes);
	order_done(&view->names_shown);
	reader_close(view->reader);
	name_map_destroy(view->names);
	memset(view, 0, sizeof(*view));
}

const char *port_word_name(enum port_word word)
{
	static const char *const names[WORD_COUNT] = {
		[WORD_OK] = "ok",         [WORD_IDLE] = "idle",     [WORD_UNPLANNED] = "unplanned",
		[WORD_UNFINISHED] = "unfinished",
		[WORD_LOCKED] = "locked", [WORD_SILENT] = "silent", [WORD_UNSUPPORTED] = "unsupported",
		[WORD_DOWN] = "down",
	};

	return names[word];
}

static enum port_word word_of(const struct port *port, const struct port_row *row, const struct port_view *view)
{
	/* A port without a link is not asked; down is why, whatever the sample says. */
	if (port->state == PORT_DOWN || row->status == SAMPLE_DOWN)
		return WORD_DOWN;
	switch (row->status) {
	case SAMPLE_SILENT:
	case SAMPLE_BACKOFF:
		return WORD_SILENT;
	case SAMPLE_LOCKED:
		return WORD_LOCKED;
	case SAMPLE_UNSUPPORTED:
		return WORD_UNSUPPORTED;
	case SAMPLE_UNPLANNED:
		return WORD_UNPLANNED;
	case SAMPLE_UNFINISHED:
		return WORD_UNFINISHED;
	default:
		return rate_is_idle(view->xmit_percent, view->rcv_percent) ? WORD_IDLE : WORD_OK;
	}
}

static void view_errors(const struct delta *sum, struct port_view *ret)
{
	int counter;

	ret->errors_known = sum->elapsed_us > 0 ? sum->known & COUNTER_ERROR_SET : 0;
	ret->errors_unknown = (COUNTER_ERROR_SET & ~ret->errors_known) | (COUNTER_ERROR_SET & sum->saturated);
	for (counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (ret->errors_known & COUNTER_BIT(counter))
			ret->error_count += sum->value[counter];
}

void port_view_init(const struct view *view, uint32_t index, struct port_view *ret)
{
	const struct port *port = &view->fabric->ports[index];
	const struct port_row *row = &view->snapshot->rows[index];
	uint64_t rate = port_rate_bits_per_s(port);

	*ret = (struct port_view){
		.port = index,
		.rate_gbps = rate ? (double)rate / 1e9 : NAN,
		.xmit_bytes_per_s = rate_bytes_per_s(&row->sum, COUNTER_XMIT_DATA),
		.rcv_bytes_per_s = rate_bytes_per_s(&row->sum, COUNTER_RCV_DATA),
		.xmit_packets_per_s = rate_per_s(&row->sum, COUNTER_XMIT_PACKETS),
		.rcv_packets_per_s = rate_per_s(&row->sum, COUNTER_RCV_PACKETS),
		.window_s = row->sum.elapsed_us > 0 ? (double)row->sum.elapsed_us / 1e6 : NAN,
		.age_s = row->last_wall_us ? (double)(view->reference_us - row->last_wall_us) / 1e6 : NAN,
	};
	ret->xmit_percent = rate_utilization_percent(ret->xmit_bytes_per_s, rate);
	ret->rcv_percent = rate_utilization_percent(ret->rcv_bytes_per_s, rate);
	view_errors(&row->sum, ret);
	ret->word = word_of(port, row, ret);
}

bool port_view_was_seen(const struct view *view, uint32_t index)
{
	const struct port *port = &view->fabric->ports[index];

	return port->state > PORT_DOWN || port->peer != FABRIC_NONE || view->snapshot->rows[index].last_wall_us;
}
