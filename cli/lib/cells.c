/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

void cells_counter_keys(const char *ret[COUNTER_COUNT])
{
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		ret[counter] = counter_info((enum counter)counter)->key;
}

void cells_port_name(struct result *result, size_t column, const struct view *view, uint32_t port)
{
	char name[PORT_NAME_SIZE];

	order_port_name(&view->names_shown, view->fabric, port, name);
	result_text(result, column, name);
}

void cells_rate(struct result *result, size_t column, const struct port_view *port, double bytes_per_s)
{
	result_real(result, column, bytes_per_s);
	if (isnan(bytes_per_s))
		result_show(result, column, "-", STYLE_DIM);
	else if (port->status == STATUS_IDLE)
		result_show(result, column, NULL, STYLE_DIM);
}

void cells_stall(struct result *result, size_t column, const struct port_view *port)
{
	char shown[32];

	if (!port->stall_at_least) {
		result_real(result, column, port->stall_percent);
		return;
	}
	snprintf(shown, sizeof(shown), "%.1f+", port->stall_percent);
	result_show(result, column, shown, STYLE_PLAIN);
}

void cells_status(struct result *result, size_t column, enum port_status status)
{
	static const enum cell_style styles[STATUS_COUNT] = {
		[STATUS_OK] = STYLE_PLAIN,        [STATUS_IDLE] = STYLE_DIM,         [STATUS_UNPLANNED] = STYLE_DIM,
		[STATUS_MIRRORED] = STYLE_PLAIN,
		[STATUS_UNFINISHED] = STYLE_DIM,  [STATUS_LOCKED] = STYLE_WARNING,   [STATUS_SILENT] = STYLE_CRITICAL,
		[STATUS_UNSUPPORTED] = STYLE_DIM, [STATUS_DOWN] = STYLE_WARNING,
	};

	result_text(result, column, port_status_name(status));
	result_show(result, column, NULL, styles[status]);
}

void cells_link(struct result *result, size_t column, const struct view *view, uint32_t index)
{
	const struct port *port = &view->fabric->ports[index];
	unsigned lanes = link_width_lanes(port->width);
	const char *speed = link_speed_name((enum link_speed)port->speed);
	char link[32];

	if (!lanes || port->speed == LINK_SPEED_NONE)
		return;
	snprintf(link, sizeof(link), "%ux %s", lanes, speed);
	result_text(result, column, link);
	if (port->peer == FABRIC_NONE || !port_is_below_enabled(port, &view->fabric->ports[port->peer]))
		return;
	snprintf(link, sizeof(link), "%ux %s low", lanes, speed);
	result_show(result, column, link, STYLE_WARNING);
}

void cells_width_and_speed(struct result *result, size_t width_column, size_t speed_column, const struct port *port)
{
	char width[16];

	if (link_width_lanes(port->width)) {
		snprintf(width, sizeof(width), "%ux", link_width_lanes(port->width));
		result_text(result, width_column, width);
	}
	if (port->speed != LINK_SPEED_NONE)
		result_text(result, speed_column, link_speed_name((enum link_speed)port->speed));
}

void cells_state(struct result *result, size_t column, const struct port *port)
{
	result_text(result, column, port_state_name(port->state));
	if (port->state == PORT_DOWN)
		result_show(result, column, NULL, STYLE_DIM);
	else if (port->state != PORT_ACTIVE)
		result_show(result, column, NULL, STYLE_WARNING);
}

static bool ber_is_known(const struct ber *ber)
{
	return !isnan(ber->rate) && (ber->rate > 0 || !ber->at_least);
}

void cells_ber(struct result *result, size_t column, size_t below_column, const struct ber *ber)
{
	result_real(result, column, ber_is_known(ber) ? ber->rate : NAN);
	result_real(result, below_column, ber_below(ber));
}

const char *cells_ber_text(const struct ber *ber, char ret[CELLS_BER_SIZE])
{
	double below = ber_below(ber);

	if (!ber_is_known(ber))
		return NULL;
	if (isnan(below))
		snprintf(ret, CELLS_BER_SIZE, "%s%.1e", ber->at_least ? ">= " : "", ber->rate);
	else
		snprintf(ret, CELLS_BER_SIZE, "< %.1e", below);
	return ret;
}

void cells_ber_at_least(struct result *result, size_t column, const struct port_view *port)
{
	result_empty(result, column);
	for (int which = 0; which < VIEW_BER_COUNT; which++)
		if (ber_is_known(&port->ber[which]) && port->ber[which].at_least)
			result_item(result, column, "%s", view_ber_key((enum view_ber)which));
}

/* Table text: counts, '+' behind a saturated counter, a dash if unknown. */
static void show_errors(struct result *result, size_t column, const struct delta *sum, const struct port_view *port)
{
	struct text shown = { 0 };

	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++) {
		counter_set bit = COUNTER_BIT(counter);
		bool stuck = sum->saturated & bit;

		if (!(port->errors_known & bit) || (!sum->value[counter] && !stuck))
			continue;
		text_appendf(&shown, "%s%s %" PRIu64 "%s", shown.len ? ", " : "",
			     counter_info((enum counter)counter)->key, sum->value[counter],
			     stuck ? "+ (saturated)" : "");
	}
	if (*result_chars(result, &shown))
		result_show(result, column, text_chars(&shown), STYLE_WARNING);
	else
		result_show(result, column, port->errors_known ? "0" : "-", STYLE_DIM);
	text_done(&shown);
}

void cells_errors(struct result *result, size_t column, const struct view *view, const struct port_view *port)
{
	const struct delta *sum = &view->snapshot->rows[port->port].sum;

	/* Always an object; errors_unknown lists the missing counters. */
	result_empty(result, column);
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (port->errors_known & COUNTER_BIT(counter))
			result_member(result, column, counter_info((enum counter)counter)->key, sum->value[counter]);
	show_errors(result, column, sum, port);
}

void cells_errors_unknown(struct result *result, size_t column, const struct port_view *port)
{
	result_empty(result, column);
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (port->errors_unknown & COUNTER_BIT(counter))
			result_item(result, column, "%s", counter_info((enum counter)counter)->key);
}
