/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "analysis/stall.h"
#include "base/err.h"
#include "base/log.h"
#include "base/when.h"
#include "cli/lib/options.h"
#include "cli/lib/order.h"
#include "cli/lib/settings.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "fabric/shape.h"
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

/* Single sweeps in the window have no interval. */
static int default_window(const struct options *options, const struct view *view, int64_t *ret_us, struct error *err)
{
	enum { INTERVAL_WITHOUT_US = 60000000 };
	struct db_status status;
	int code = reader_status_at(view->reader, options->until_us ? options->until_us : options->at_us, &status, err);
	int64_t interval_us = code == 0 && status.last.interval_us > 0 ? status.last.interval_us : INTERVAL_WITHOUT_US;

	*ret_us = interval_us * options->window_sweeps;
	return code;
}

void view_warn_damage(size_t count, const char *first)
{
	if (count)
		log_warning("the database is damaged: %zu packs of samples are unreadable and omitted (%s); "
			"see: ibwire db check", count, first);
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
		/* Without --until the window ends now. */
		query.at_us = view.reference_us;
		query.window_us = view.reference_us - options->since_us;
	} else if (options->window_sweeps) {
		code = default_window(options, &view, &query.window_us, err);
	}
	view.at_us = query.at_us;
	view.window_us = query.window_us;
	if (code == 0)
		code = snapshot_load(view.reader, &query, &view.snapshot, err);
	if (code == 0)
		view_warn_damage(view.snapshot->damaged, view.snapshot->damage);
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

int view_find_shape(struct view *view, struct error *err)
{
	int code;

	view->settings = calloc(1, sizeof(*view->settings));
	if (!view->settings)
		return err_nomem(err);
	code = settings_load(NULL, view->settings, err);
	return code < 0 ? code : shape_create(view->fabric, &view->settings->shape, &view->shape, err);
}

void view_done(struct view *view)
{
	shape_destroy(view->shape);
	if (view->settings)
		settings_done(view->settings);
	free(view->settings);
	if (view->snapshot)
		snapshot_destroy(view->snapshot);
	free(view->nodes);
	order_done(&view->names_shown);
	reader_close(view->reader);
	name_map_destroy(view->names);
	memset(view, 0, sizeof(*view));
}

const char *view_ber_key(enum view_ber which)
{
	static const char *const keys[VIEW_BER_COUNT] = {
		[VIEW_BER_SYMBOL] = "symbol_ber",
		[VIEW_BER_EFFECTIVE] = "effective_ber",
		[VIEW_BER_RAW] = "raw_ber",
	};

	return keys[which];
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

double view_age_s(int64_t now_us, int64_t then_us)
{
	int64_t age_us = then_us ? when_age_us(now_us, then_us) : -1;

	return age_us < 0 ? NAN : (double)age_us / 1e6;
}

void port_view_init(const struct view *view, uint32_t index, struct port_view *ret)
{
	const struct port *port = &view->fabric->ports[index];
	const struct port_row *row = &view->snapshot->rows[index];
	const struct pma_caps *caps = view->snapshot->caps ? &view->snapshot->caps[port->node] : NULL;
	struct stall stall = stall_estimate(&row->sum, &view->fabric->nodes[port->node], port, caps);
	uint64_t rate = port_rate_bits_per_s(port);

	*ret = (struct port_view){
		.port = index,
		.rate_gbps = rate ? (double)rate / 1e9 : NAN,
		.xmit_bytes_per_s = rate_bytes_per_s(&row->sum, COUNTER_XMIT_DATA),
		.rcv_bytes_per_s = rate_bytes_per_s(&row->sum, COUNTER_RCV_DATA),
		.xmit_packets_per_s = rate_per_s(&row->sum, COUNTER_XMIT_PACKETS),
		.rcv_packets_per_s = rate_per_s(&row->sum, COUNTER_RCV_PACKETS),
		.stall_percent = stall.percent,
		.stall_at_least = stall.at_least,
		.wait_ticks_per_s = rate_per_s(&row->sum, COUNTER_XMIT_WAIT),
		.window_s = row->sum.elapsed_us > 0 ? (double)row->sum.elapsed_us / 1e6 : NAN,
		.age_s = view_age_s(view->reference_us, row->last_wall_us),
		.ber = { [VIEW_BER_SYMBOL] = ber_symbol(&row->sum, rate), [VIEW_BER_EFFECTIVE].rate = NAN,
			 [VIEW_BER_RAW].rate = NAN },
	};
	ret->xmit_percent = rate_utilization_percent(ret->xmit_bytes_per_s, rate);
	ret->rcv_percent = rate_utilization_percent(ret->rcv_bytes_per_s, rate);
	view_errors(&row->sum, ret);
	ret->word = port_word(port, row->status, ret->xmit_bytes_per_s, ret->rcv_bytes_per_s);
}

bool port_view_was_seen(const struct view *view, uint32_t index)
{
	const struct port *port = &view->fabric->ports[index];

	return port->state > PORT_DOWN || port->peer != FABRIC_NONE || view->snapshot->rows[index].last_wall_us;
}
