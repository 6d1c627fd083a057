/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "export/columns.h"
#include "export/page.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/pkeys.h"
#include "fabric/routes.h"
#include "facts/cells.h"
#include "facts/event_columns.h"
#include "facts/finding_columns.h"
#include "facts/moment.h"
#include "facts/port_facts.h"
#include "pages/cable.h"
#include "pages/history.h"
#include "storage/cables.h"
#include "storage/history.h"
#include "storage/reader.h"

enum { EVENTS_SHOWN = 60 };

/* The name of the subject, without its port. */
static const char *subject_name(const struct report *report)
{
	return *report->host ? report->host : report->moment->names_shown.names[report->node];
}

/* --- sections --- */

enum { ABOUT_NODE, ABOUT_GUID, ABOUT_SYSTEM, ABOUT_TYPE, ABOUT_MODEL, ABOUT_VENDOR, ABOUT_DEVICE, ABOUT_REVISION,
       ABOUT_FIRMWARE, ABOUT_PSID, ABOUT_REMOVED, ABOUT_DEPARTED, ABOUT_PEER, ABOUT_PEER_GUID, ABOUT_PEER_FIRMWARE,
       ABOUT_PEER_UNTIL, ABOUT_PKEYS, ABOUT_TEMPERATURE, ABOUT_TEMPERATURE_TIME, ABOUT_UNTIL,
       ABOUT_COUNT };

static const struct column about_columns[ABOUT_COUNT] = {
	[ABOUT_NODE] = { .key = "subject", .title = "subject", .kind = COLUMN_TEXT },
	[ABOUT_GUID] = { .key = "node_guid", .title = "node GUID", .kind = COLUMN_GUID },
	[ABOUT_SYSTEM] = { .key = "system_guid", .title = "system GUID", .kind = COLUMN_GUID },
	[ABOUT_TYPE] = { .key = "type", .title = "type", .kind = COLUMN_TEXT },
	[ABOUT_MODEL] = { .key = "model", .title = "model", .kind = COLUMN_TEXT },
	[ABOUT_VENDOR] = { .key = "vendor_id", .title = "vendor", .kind = COLUMN_HEX },
	[ABOUT_DEVICE] = { .key = "device_id", .title = "device", .kind = COLUMN_INTEGER },
	[ABOUT_REVISION] = { .key = "revision", .title = "revision", .kind = COLUMN_HEX },
	/* Shown in tables only if set. */
	[ABOUT_FIRMWARE] = { .key = "firmware", .title = "firmware", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE },
	[ABOUT_PSID] = { .key = "psid", .title = "PSID", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE },
	[ABOUT_REMOVED] = { .key = "removed_hcas", .title = "removed HCAs", .kind = COLUMN_TEXT,
			    .flags = COLUMN_NO_TABLE },
	[ABOUT_DEPARTED] = { .key = "gone_since", .title = "removed since", .kind = COLUMN_TIME,
			     .flags = COLUMN_NO_TABLE },
	[ABOUT_PEER_UNTIL] = { .key = "peer_until", .title = "  until", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE },
	[ABOUT_PEER] = { .key = "peer", .title = "peer", .kind = COLUMN_TEXT },
	[ABOUT_PEER_GUID] = { .key = "peer_guid", .title = "  peer GUID", .kind = COLUMN_GUID },
	[ABOUT_PEER_FIRMWARE] = { .key = "peer_firmware", .title = "  peer firmware", .kind = COLUMN_TEXT,
				  .flags = COLUMN_NO_TABLE },
	[ABOUT_PKEYS] = { .key = "pkeys", .title = "P_Keys", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE },
	[ABOUT_TEMPERATURE] = { .key = "temperature_c", .title = "temperature", .kind = COLUMN_REAL,
				.flags = COLUMN_NO_TABLE },
	[ABOUT_TEMPERATURE_TIME] = { .key = "temperature_time", .title = "  measured", .kind = COLUMN_TIME,
				     .flags = COLUMN_NO_TABLE },
	[ABOUT_UNTIL] = { .key = "time", .title = "as of", .kind = COLUMN_TIME },
};

static void put_about_peer(const struct report *report, struct result *result)
{
	const struct fabric *fabric = report->moment->fabric;
	const struct past_peer *past = &report->past[0];
	char name[NODE_NAME_SIZE + 8];

	if (report->of_node || (report->port_count < 2 && !past->guid))
		return;
	if (past->guid) {
		result_text(result, ABOUT_PEER, past_peer_name(&report->facts, past, name, sizeof(name)));
	} else {
		cells_port_name(result, ABOUT_PEER, &report->moment->names_shown, fabric, report->ports[1]);
	}
	result_unsigned(result, ABOUT_PEER_GUID,
			past->guid ? past->guid : fabric->nodes[fabric->ports[report->ports[1]].node].guid);
	if (past->guid)
		result_integer(result, ABOUT_PEER_UNTIL, past->until_us);
}

/* The node at the other end of a link, as of the report; FABRIC_NONE: none, or that of a link of the past. */
static uint32_t peer_node(const struct report *report)
{
	return report->of_node || report->port_count < 2 || report->past[0].guid ? FABRIC_NONE :
	       report->moment->fabric->ports[report->ports[1]].node;
}

/* The firmware of the subject, if all HCAs of a host have the same one; FIRMWARE_UNKNOWN: others, or not known. */
static struct firmware firmware_of(const struct report *report)
{
	const struct fabric *fabric = report->moment->fabric;
	const struct firmware *first = &fabric->nodes[report->node].firmware;

	for (size_t i = 0; *report->host && i < report->port_count; i++) {
		const struct firmware *one = &fabric->nodes[fabric->ports[report->ports[i]].node].firmware;

		if (!one->source || !firmware_same(one, first))
			return (struct firmware){ 0 };
	}
	return *first;
}

/* Have all HCAs of a host the same vendor, device and revision? */
static bool is_one_product(const struct report *report)
{
	const struct fabric *fabric = report->moment->fabric;
	const struct node *first = &fabric->nodes[report->node];

	for (size_t i = 0; *report->host && i < report->port_count; i++) {
		const struct node *node = &fabric->nodes[fabric->ports[report->ports[i]].node];

		if (node->vendor_id != first->vendor_id || node->device_id != first->device_id ||
		    node->revision != first->revision)
			return false;
	}
	return true;
}

/* The P_Key table of the HCA port of a link; NULL: it has none, or it was not read. */
static const struct pkey_table *pkeys_of_link(const struct report *report)
{
	const struct pkey_table *table = NULL;

	for (size_t i = 0; !report->of_node && i < report->port_count && !table; i++)
		if (pkeys_is_member_port(report->moment->fabric, report->ports[i]))
			table = pkeys_of(&report->moment->pkeys, report->moment->fabric, report->ports[i]);
	return table;
}

static void put_pkeys(const struct report *report, struct result *result)
{
	const struct pkey_table *table = pkeys_of_link(report);
	struct text text = { 0 };

	if (!table)
		return;
	pkeys_text(&text, table, 0);
	result_text(result, ABOUT_PKEYS, result_chars(result, &text));
	text_done(&text);
}

static void put_about(struct result *result, const void *ctx)
{
	const struct report *report = ctx;
	const struct node *node = &report->moment->fabric->nodes[report->node];
	char model[DEVICE_MODEL_SIZE], version[FIRMWARE_TEXT_SIZE];
	const struct firmware firmware = firmware_of(report);

	if (report->of_node)
		result_text(result, ABOUT_NODE, subject_name(report));
	else
		cells_port_name(result, ABOUT_NODE, &report->moment->names_shown, report->moment->fabric,
				report->ports[0]);
	if (!*report->host) {
		result_unsigned(result, ABOUT_GUID, node->guid);
		result_unsigned(result, ABOUT_SYSTEM, node->system_guid);
	}
	result_text(result, ABOUT_TYPE, *report->host ? "host" : node_type_name(node->type));
	if (is_one_product(report)) {
		result_text(result, ABOUT_MODEL, device_model(node, model));
		result_unsigned(result, ABOUT_VENDOR, node->vendor_id);
		result_unsigned(result, ABOUT_DEVICE, node->device_id);
		result_unsigned(result, ABOUT_REVISION, node->revision);
	}
	if (firmware.source) {
		result_text(result, ABOUT_FIRMWARE, firmware_format(&firmware, version));
		result_text(result, ABOUT_PSID, *firmware.psid ? firmware.psid : NULL);
	}
	if (peer_node(report) != FABRIC_NONE)
		result_text(result, ABOUT_PEER_FIRMWARE,
			    firmware_format(&report->moment->fabric->nodes[peer_node(report)].firmware, version));
	if (*text_chars(&report->removed_hcas))
		result_text(result, ABOUT_REMOVED, text_chars(&report->removed_hcas));
	put_about_peer(report, result);
	put_pkeys(report, result);
	if (report->temperature_us) {
		result_real(result, ABOUT_TEMPERATURE, report->temperature_c);
		result_showf(result, ABOUT_TEMPERATURE, STYLE_PLAIN, "%.0f C", report->temperature_c);
		result_integer(result, ABOUT_TEMPERATURE_TIME, report->temperature_us);
	}
	cells_nonzero(result, ABOUT_DEPARTED, report->departed_us);
	result_integer(result, ABOUT_UNTIL, report->until_us);
	result_end_row(result);
}

static void add_about(struct report *report, struct page *page)
{
	struct column *columns = page_alloc(page, ABOUT_COUNT, sizeof(*columns));

	if (!columns)
		return;
	memcpy(columns, about_columns, sizeof(about_columns));
	if (report->departed_us)
		columns[ABOUT_DEPARTED].flags = 0;
	if (firmware_of(report).source)
		columns[ABOUT_FIRMWARE].flags = columns[ABOUT_PSID].flags = 0;
	if (peer_node(report) != FABRIC_NONE && report->moment->fabric->nodes[peer_node(report)].firmware.source)
		columns[ABOUT_PEER_FIRMWARE].flags = 0;
	if (report->temperature_us)
		columns[ABOUT_TEMPERATURE].flags = columns[ABOUT_TEMPERATURE_TIME].flags = 0;
	if (pkeys_of_link(report))
		columns[ABOUT_PKEYS].flags = 0;
	if (*text_chars(&report->removed_hcas))
		columns[ABOUT_REMOVED].flags = 0;
	if (!report->of_node && report->past[0].guid)
		columns[ABOUT_PEER_UNTIL].flags = 0;
	if (*report->host)
		columns[ABOUT_GUID].flags = columns[ABOUT_SYSTEM].flags = COLUMN_NO_TABLE;
	if (report->of_node)
		columns[ABOUT_PEER].flags = columns[ABOUT_PEER_GUID].flags = COLUMN_NO_TABLE;
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .key = "about",
					       .table = { columns, ABOUT_COUNT, put_about, report } });
}

static void add_ends(struct report *report, struct page *page)
{
	const char *title = report->of_node ? "Ports" : "Both ends";
	char then[WHEN_SIZE];

	if (report->departed_us)
		title = page_print(page, "%s as of %s", title, when_format_local(report->moment->at_us, then));
	subject_add_ends(&report->facts, report->ports, report->past, report->port_count, report->of_node, title,
			 page);
	if (report->of_node)
		subject_add_totals(&report->facts, report->ports, report->port_count, page);
	else
		subject_add_port_place(&report->facts, report->ports[0], page);
}

/* The shape, and the LIDs that are routed through each port of a switch. */
static int load_facts(struct report *report, struct error *err)
{
	struct moment *moment = report->moment;
	struct routes routes = { 0 };
	int code = moment_find_shape(moment, err);

	if (code == 0 && !report->of_node)
		code = moment_load_pkeys(moment, err);
	if (code < 0)
		return code;
	report->facts = (struct subject_facts){
		.scope = moment_scope(moment), .routes = ROUTES_UNKNOWN, .lids = report->lids,
		.last_peer = report->port_count && report->past[0].guid ? &report->past[0] : NULL,
	};
	if (moment->fabric->nodes[report->node].type == NODE_SWITCH && !report->of_node &&
	    reader_routes(moment->reader, moment->at_us, &routes, NULL) == 0) {
		if (routes_count_lids(&routes, moment->fabric, report->node, report->lids))
			report->facts.routes = ROUTES_READ;
		routes_done(&routes);
	}
	return 0;
}

/* --- counters --- */

static void take_temperature(void *ctx, int64_t wall_us, double temperature_c)
{
	struct report *report = ctx;

	report->temperature_us = isnan(temperature_c) ? 0 : wall_us;
	report->temperature_c = temperature_c;
}

static bool add_detail(void *ctx, const struct detail_row *row)
{
	struct report *report = ctx;

	if (report->facts.detail_count < DETAIL_ATTRIBUTE_COUNT)
		report->details[report->facts.detail_count++] = *row;
	return true;
}

/* Of the port that was asked for. Without any sweep at that time there are none. */
static int load_details(struct report *report, struct error *err)
{
	const struct history_port port = history_port_of(report->moment->fabric, report->ports[0]);
	const struct detail_query query = {
		.at_us = report->until_us, .window_us = report->window_us[REPORT_WINDOWS - 1],
		.node_guid = port.node_guid, .port = port.num,
	};
	int code = reader_details(report->moment->reader, &query, add_detail, report, err);

	report->facts.details = report->details;
	report->facts.details_read = true;
	report->facts.details_window_us = query.window_us;
	return code == ERR_UNAVAILABLE ? 0 : code;
}

static int sum_window(struct report *report, const struct history_port *ports, int window, struct error *err)
{
	struct history_query query = { .ports = ports, .port_count = report->port_count, .damage = &report->damage,
				       .counters = COUNTER_TRAFFIC_SET | COUNTER_ERROR_SET };
	struct history_range range;
	int code = reader_history_range(report->moment->reader, report->until_us - report->window_us[window],
					report->until_us, &range, err);

	if (code < 0)
		return code;
	report->sums[window] = calloc(report->port_count + 1, sizeof(*report->sums[window]));
	if (!report->sums[window])
		return err_nomem(err);
	query.after = range.after;
	query.until = range.until;
	/* The last window is the longest. The ports of a removed node are not read since then. */
	report->covered_us = report->departed_us ? 0 : range.last_us - range.since_us;
	return reader_history_sums(report->moment->reader, &query, report->sums[window], err);
}

static int sum_windows(struct report *report, struct error *err)
{
	struct history_port *ports = calloc(report->port_count + 1, sizeof(*ports));
	int code = ports ? 0 : err_nomem(err);

	for (size_t i = 0; code == 0 && i < report->port_count; i++)
		ports[i] = history_port_of(report->moment->fabric, report->ports[i]);
	for (int i = 0; code == 0 && i < REPORT_WINDOWS; i++)
		code = sum_window(report, ports, i, err);
	free(ports);
	return code;
}

enum { SUM_PORT, SUM_COUNTER, SUM_UNIT, SUM_FIRST, SUM_AT_LEAST = SUM_FIRST + REPORT_WINDOWS, SUM_COUNT };

static const struct column sum_columns[SUM_COUNT] = {
	[SUM_PORT] = { .key = "port", .title = "PORT", .kind = COLUMN_TEXT,
		       .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[SUM_COUNTER] = { .key = "counter", .title = "COUNTER", .kind = COLUMN_TEXT },
	[SUM_UNIT] = { .key = "unit", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE },
	[SUM_FIRST] = { .key = "last_hour", .title = "1 h", .kind = COLUMN_INTEGER },
	[SUM_FIRST + 1] = { .key = "last_day", .title = "24 h", .kind = COLUMN_INTEGER },
	[SUM_FIRST + 2] = { .key = "window", .title = "WINDOW", .kind = COLUMN_INTEGER },
	[SUM_AT_LEAST] = { .key = "at_least", .title = "AT LEAST", .kind = COLUMN_BOOL },
};

/* One counter of one port, if it changed or is unknown. */
static void put_counter(const struct report *report, struct result *result, size_t at, enum counter counter)
{
	const struct counter_info *info = counter_info(counter);
	counter_set bit = COUNTER_BIT(counter);
	const struct delta *longest = &report->sums[REPORT_WINDOWS - 1][at].sum;
	/* A saturated counter is never no error. */
	bool at_least = longest->saturated & bit || (longest->value[counter] &&
			(delta_lower_bounds(longest) & bit ||
			 port_is_cut(report->moment->snapshot, report->ports[at], longest, report->covered_us)));

	if (longest->known & bit && !longest->value[counter] && !at_least)
		return;
	if (!longest->elapsed_us || (!(longest->known & bit) && !at_least))
		return;
	cells_port_name(result, SUM_PORT, &report->moment->names_shown, report->moment->fabric, report->ports[at]);
	result_text(result, SUM_COUNTER, info->key);
	result_text(result, SUM_UNIT, info->unit);
	for (int i = 0; i < REPORT_WINDOWS; i++)
		if (report->sums[i][at].sum.elapsed_us && report->sums[i][at].sum.known & bit)
			result_unsigned(result, SUM_FIRST + (size_t)i, report->sums[i][at].sum.value[counter]);
	result_bool(result, SUM_AT_LEAST, at_least);
	result_show(result, SUM_AT_LEAST, at_least ? "yes" : "", STYLE_PLAIN);
	result_end_row(result);
}

static void put_sums(struct result *result, const void *ctx)
{
	const struct report *report = ctx;
	char unknown[UNKNOWN_ERRORS_SIZE];
	size_t unknown_count = 0;

	for (size_t i = 0; i < report->port_count; i++) {
		for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
			put_counter(report, result, i, (enum counter)counter);
		unknown_count += report->moment->fabric->ports[report->ports[i]].peer != FABRIC_NONE &&
				 isnan(port_window_errors(report->moment->snapshot, report->ports[i],
							  &report->sums[REPORT_WINDOWS - 1][i].sum,
							  report->covered_us).value);
	}
	result_none(result, "no errors in the window%s", facts_unknown_errors(unknown_count, unknown));
}

static void add_sums(struct report *report, struct page *page)
{
	char window[WHEN_SIZE];

	when_format_span(report->window_us[REPORT_WINDOWS - 1], window);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "errors", .title = "Errors",
					       .about = page_print(page, "window: %s", window),
					       .table = { sum_columns, SUM_COUNT, put_sums, report } });
}

/* --- findings and events --- */

static const struct column_source finding_sources[] = { { .columns = finding_columns } };

static const struct column_item finding_items[] = {
	{ .key = "since", .table = true },
	{ .key = "closed", .table = true, .priority = 1 },
	{ .key = "severity", .table = true },
	{ .key = "kind", .table = true },
	{ .key = "subject" },
	{ .key = "cause", .table = true, .priority = 2 },
	{ .key = "text", .table = true, .below = true },
};

/* Is this a port of the report, or its node? */
static bool concerns_report(const struct report *report, uint64_t guid, uint8_t num)
{
	const struct fabric *fabric = report->moment->fabric;

	if (!guid)
		return false;
	if (guid == fabric->nodes[report->node].guid && (report->of_node || !num))
		return true;
	for (size_t i = 0; i < report->port_count; i++) {
		const struct port *port = &fabric->ports[report->ports[i]];

		if (fabric->nodes[port->node].guid == guid &&
		    (port->num == num || *report->host || (!num && !report->of_node)))
			return true;
	}
	return false;
}

/* Load the findings of the subject. */
static int load_findings(struct report *report, struct error *err)
{
	struct finding_query query = { .since_us = report->until_us - report->window_us[REPORT_WINDOWS - 1],
				       .until_us = report->until_us };
	const struct health_filter filter = { 0 };
	const struct health_rows *rows = &report->rows;
	int code = health_load(report->moment, &filter, &query, &report->rows, err);

	report->findings = calloc(rows->count + 1, sizeof(*report->findings));
	if (code == 0 && !report->findings)
		return err_nomem(err);
	for (size_t i = 0; code == 0 && i < rows->count; i++) {
		const struct finding *finding = &rows->list[i].row.finding;
		bool concerns = false;
		uint64_t guid;
		uint8_t port;

		for (unsigned at = 0; !concerns && finding_end(finding, report->moment->fabric, at, &guid, &port); at++)
			concerns = concerns_report(report, guid, port);
		if (concerns)
			report->findings[report->finding_count++] = &rows->list[i].row;
	}
	return code;
}

static void put_findings(struct result *result, const void *ctx)
{
	const struct report *report = ctx;
	const struct moment *moment = report->moment;

	for (size_t i = 0; i < report->finding_count; i++) {
		const struct finding_facts facts = {
			.row = report->findings[i], .fabric = moment->fabric, .order = &moment->names_shown,
			.names = moment->names, .time_us = moment->snapshot->sweep.wall_us,
		};

		result_fill(result, &facts);
		result_end_row(result);
	}
	if (!report->finding_count)
		result_none(result, "none in the window");
}

/* The worst finding that is open at the end of the window. */
static void add_verdict(const struct report *report, struct page *page)
{
	static const enum page_state states[] = { PAGE_INFO, PAGE_WARNING, PAGE_CRITICAL };
	const struct finding *worst = NULL;
	char name[PORT_NAME_SIZE], until[WHEN_SIZE];
	size_t open = 0;

	for (size_t i = 0; i < report->finding_count; i++) {
		const struct finding *finding = &report->findings[i]->finding;

		open += !finding->closed_us;
		if (!finding->closed_us && (!worst || finding->severity > worst->severity))
			worst = finding;
	}
	if (report->of_node)
		snprintf(name, sizeof(name), "%s", subject_name(report));
	else
		order_port_name(&report->moment->names_shown, report->moment->fabric, report->ports[0], name);
	page_add(page, &(struct page_section){
		.kind = PAGE_VERDICT, .in = PAGE_HTML,
		.state = worst ? states[worst->severity] : report->departed_us ? PAGE_INFO : PAGE_GOOD,
		.verdict = {
			.heading = page_print(page, "%s at %s", name, when_format_local(report->until_us, until)),
			.sentence = !worst ? report->departed_us ? "removed from the fabric" : "no open findings" :
				    page_print(page, "%s: %s%s", finding_kind_name(worst->kind), worst->text,
					       open > 1 ? page_print(page, ", and %zu more", open - 1) : ""),
		},
	});
}

static const struct column_source event_sources[] = { { .columns = event_columns } };

static const struct column_item event_items[] = {
	{ .key = "time", .table = true },
	{ .key = "severity", .table = true },
	{ .key = "kind", .table = true },
	{ .key = "text", .table = true, .below = true },
};

static bool is_event_of_report(const void *ctx, const struct event *event)
{
	const struct report *report = ctx;

	return concerns_report(report, event->node_guid, event->port) ||
	       concerns_report(report, event->peer_guid, event->peer_port);
}

static void put_events(struct result *result, const void *ctx)
{
	const struct report *report = ctx;
	struct event_query query = { .since_us = report->until_us - report->window_us[REPORT_WINDOWS - 1],
				     .until_us = report->until_us,
				     .node_guid = report->moment->fabric->nodes[report->node].guid };
	size_t older;

	if (*report->host)
		query.node_guid = 0;
	older = events_put(result, report->moment, &query, is_event_of_report, report, EVENTS_SHOWN);

	if (older)
		result_note(result, "the newest %d of %zu; ibwire events lists all", EVENTS_SHOWN,
			    EVENTS_SHOWN + older);
	result_none(result, "none in the window");
}

/* --- rates, stall and errors over the window, in HTML and on the screen --- */

/* The ports from @first on as a subject of a plot. */
static bool fill_subject(const struct report *report, size_t first, size_t count, struct page *page,
			 struct history_subject *ret)
{
	char name[PORT_NAME_SIZE], *shown = page_alloc(page, sizeof(name), 1);

	*ret = (struct history_subject){ .name = shown, .port_count = count, .single = !report->of_node,
				 .ports = page_alloc(page, count, sizeof(*ret->ports)) };
	if (!shown || !ret->ports)
		return false;
	order_port_name(&report->moment->names_shown, report->moment->fabric, report->ports[first], name);
	snprintf(shown, sizeof(name), "%s", report->of_node ? subject_name(report) : name);
	memcpy(ret->ports, &report->ports[first], count * sizeof(*ret->ports));
	return true;
}

/* Both ends, or the sum of a node. Findings are marks. */
static int add_plots(struct report *report, unsigned in, struct page *page, struct error *err)
{
	enum { MARKS_MOST = 8, ENDS = 2 };
	struct page_mark *marks = page_alloc(page, MARKS_MOST, sizeof(*marks));
	struct history_subject items[ENDS];
	struct history_window window = { .moment = report->moment, .until_us = report->until_us };
	size_t mark_count = 0, count = 0, per_item = report->of_node ? report->port_count : 1;
	int code;

	window.since_us = window.until_us - report->window_us[REPORT_WINDOWS - 1];
	code = history_window_find(&window, err);
	if (code <= 0 || !report->port_count)
		return code < 0 ? code : 0;
	for (size_t first = 0; first < report->port_count && count < ENDS; first += per_item)
		if (!fill_subject(report, first, per_item, page, &items[count++]))
			return err_nomem(err);
	for (size_t i = 0; marks && i < report->finding_count && mark_count < MARKS_MOST; i++) {
		const struct finding *finding = &report->findings[i]->finding;

		if (finding->severity != FINDING_INFO && finding->since_us > window.since_us)
			marks[mark_count++] = (struct page_mark){ finding->since_us, finding->subject,
								  finding_kind_name(finding->kind) };
	}
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Window" });
	code = history_add_plots(&window, items, count, in, count, marks, mark_count, page, err);
	page_close(page);
	if (!report->damage.count)
		report->damage = window.damage;
	return code;
}

static void add_table(struct report *report, const char *key, const char *title, const struct column_list *list,
		      page_fill *fill, struct page *page)
{
	size_t count;
	const struct column *columns = page_columns(page, list, &count);

	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = key, .title = title,
					       .table = { columns, count, fill, report } });
}

static void add_tables(struct report *report, struct page *page)
{
	const struct column_list findings = { finding_sources, 1, finding_items,
					      sizeof(finding_items) / sizeof(*finding_items) };
	const struct column_list events = { event_sources, 1, event_items,
					    sizeof(event_items) / sizeof(*event_items) };

	add_table(report, "findings", "Findings", &findings, put_findings, page);
	add_sums(report, page);
	cable_report_add(report->cables, page);
	if (!report->of_node)
		subject_add_nonzero_details(&report->facts, report->ports[0], page);
	add_table(report, "events", "Events", &events, put_events, page);
}

int report_page(struct report *report, unsigned plots, struct page **ret, struct error *err)
{
	struct page *page;
	int code = sum_windows(report, err);

	if (code == 0)
		code = load_findings(report, err);
	if (code == 0)
		code = load_facts(report, err);
	if (code == 0 && report->of_node && !*report->host)
		code = reader_node_temperature(report->moment->reader,
					       report->moment->fabric->nodes[report->node].guid, report->until_us,
					       take_temperature, report, err);
	if (code == 0 && !report->of_node)
		code = load_details(report, err);
	if (code == 0 && !report->of_node)
		code = cable_report_load(report->moment, NULL, report->ports, report->port_count,
					 report->until_us - report->window_us[REPORT_WINDOWS - 1], report->until_us,
					 &report->cables, err);
	if (code < 0)
		return code;
	page = page_create("InfiniBand report");
	add_verdict(report, page);
	add_about(report, page);
	add_ends(report, page);
	if (plots & PAGE_HTML)
		code = add_plots(report, plots, page, err);
	add_tables(report, page);
	/* Plots are higher on a screen, and below what fits on it at once. */
	if (plots & PAGE_TEXT)
		code = add_plots(report, plots, page, err);
	if (code == 0)
		*ret = page;
	else
		page_destroy(page);
	return code;
}
