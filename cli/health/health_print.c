/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_print.c - findings as rows of data, and the descriptions of their kinds */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "facts/cells.h"
#include "cli/lib/view.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "storage/reader.h"

enum {
	ID, TIME, KIND, SEVERITY, SUBJECT, NODE_GUID, NODE, PORT, PEER_GUID, PEER, PEER_PORT, SINCE, OPENED, LAST_SEEN,
	CLOSED, OK_SINCE, MEASURED, ORIGIN, EVIDENCE, CAUSE, TEXT, ADVICE, HOSTS, HOSTS_TOUCHED, PORTS, DRAINED,
	ACKNOWLEDGED, ACK_REASON, ACK_UNTIL, CHANGE, COLUMN_COUNT,
};

static const struct column finding_columns[COLUMN_COUNT] = {
	[ID] = { .key = "id", .kind = COLUMN_INTEGER },
	[TIME] = { .key = "time", .kind = COLUMN_TIME },
	[KIND] = { .key = "kind", .kind = COLUMN_TEXT },
	[SEVERITY] = { .key = "severity", .kind = COLUMN_TEXT },
	[SUBJECT] = { .key = "subject", .kind = COLUMN_TEXT },
	CELLS_NODE_COLUMNS(NODE_GUID),
	CELLS_PEER_COLUMNS(PEER_GUID),
	[SINCE] = { .key = "since", .kind = COLUMN_TIME },
	[OPENED] = { .key = "opened", .kind = COLUMN_TIME },
	[LAST_SEEN] = { .key = "last_seen", .kind = COLUMN_TIME },
	[CLOSED] = { .key = "closed", .kind = COLUMN_TIME },
	[OK_SINCE] = { .key = "ok_since", .kind = COLUMN_TIME },
	[MEASURED] = { .key = "measured", .kind = COLUMN_TIME },
	[ORIGIN] = { .key = "origin", .kind = COLUMN_INTEGER },
	[EVIDENCE] = { .key = "evidence", .kind = COLUMN_OBJECT },
	[CAUSE] = { .key = "cause", .kind = COLUMN_TEXT },
	[TEXT] = { .key = "text", .kind = COLUMN_TEXT },
	[ADVICE] = { .key = "advice", .kind = COLUMN_TEXT },
	[HOSTS] = { .key = "hosts", .kind = COLUMN_LIST },
	[HOSTS_TOUCHED] = { .key = "affected_hosts", .kind = COLUMN_INTEGER },
	[PORTS] = { .key = "ports", .kind = COLUMN_LIST },
	[DRAINED] = { .key = "drained", .kind = COLUMN_BOOL },
	[ACKNOWLEDGED] = { .key = "acknowledged_by", .kind = COLUMN_TEXT },
	[ACK_REASON] = { .key = "acknowledged_reason", .kind = COLUMN_TEXT },
	[ACK_UNTIL] = { .key = "acknowledged_until", .kind = COLUMN_TIME },
	[CHANGE] = { .key = "change", .kind = COLUMN_TEXT }, /* only with --watch */
};

/* @stored: the name stored with the finding. */
static void put_end(struct result *result, const struct view *view, uint64_t guid, uint8_t num, const char *stored,
		    size_t guid_column)
{
	uint32_t node;
	const char *name = stored;

	if (!guid)
		return;
	node = fabric_find_node(view->fabric, guid);
	if (node != FABRIC_NONE)
		name = view->fabric->nodes[node].name;
	else if (view->names && name_map_find(view->names, guid))
		name = name_map_find(view->names, guid);
	cells_identity(result, guid_column, guid, *name ? name : NULL, num);
}

void health_put_row(struct result *result, const struct view *view, int64_t time_us, const char *change,
		    const struct health_row *health)
{
	const struct finding_row *row = &health->row;
	const struct finding *finding = &row->finding;

	result_integer(result, ID, finding->id);
	result_integer(result, TIME, time_us);
	result_text(result, KIND, finding_kind_name(finding->kind));
	result_text(result, SEVERITY, finding_severity_name(finding->severity));
	result_text(result, SUBJECT, finding->subject);
	put_end(result, view, finding->node_guid, finding->port, row->node, NODE_GUID);
	put_end(result, view, finding->peer_guid, finding->peer_port, row->peer, PEER_GUID);
	result_integer(result, SINCE, finding->since_us);
	result_integer(result, OPENED, row->opened_us);
	result_integer(result, LAST_SEEN, finding->last_seen_us);
	cells_nonzero(result, CLOSED, finding->closed_us);
	cells_nonzero(result, OK_SINCE, finding->ok_since_us);
	result_integer(result, MEASURED, row->measured_us);
	cells_nonzero(result, ORIGIN, row->origin);
	result_empty(result, EVIDENCE);
	for (unsigned i = 0; i < finding->number_count; i++)
		result_number(result, EVIDENCE, finding->numbers[i].key, finding->numbers[i].value);
	result_text(result, CAUSE, finding->cause[0] ? finding->cause : NULL);
	result_text(result, TEXT, finding->text);
	result_text(result, ADVICE, finding->advice);
	result_empty(result, HOSTS);
	for (unsigned i = 0; i < finding->host_count; i++)
		result_item(result, HOSTS, "%s", finding->hosts[i]);
	result_integer(result, HOSTS_TOUCHED, finding->affected_hosts);
	result_empty(result, PORTS);
	for (unsigned i = 0; i < finding->port_count; i++) {
		uint32_t node = fabric_find_node(view->fabric, finding->ports[i].node_guid);

		if (node != FABRIC_NONE)
			result_item(result, PORTS, "%s/%u", view->names_shown.names[node], finding->ports[i].port);
		else
			result_item(result, PORTS, "0x%016" PRIx64 "/%u", finding->ports[i].node_guid,
				    finding->ports[i].port);
	}
	result_bool(result, DRAINED, health->place == HEALTH_DRAINED);
	if (row->acknowledged.at_us) {
		result_text(result, ACKNOWLEDGED, row->acknowledged.person);
		result_text(result, ACK_REASON, row->acknowledged.reason);
		cells_nonzero(result, ACK_UNTIL, row->acknowledged.until_us);
	}
	if (change)
		result_text(result, CHANGE, change);
	result_end_row(result);
}

struct result *health_result(const struct options *options, bool watch)
{
	struct result_options output = options_result(options);

	output.lines = watch;
	return result_create(options->out, &output, finding_columns, watch ? COLUMN_COUNT : CHANGE);
}

struct data {
	const struct view *view;
	const struct health_rows *rows;
};

static int put_rows(struct result *result, const void *ctx, enum page_target target, struct error *err)
{
	const struct data *data = ctx;

	(void)target;
	(void)err;
	for (size_t i = 0; i < data->rows->count; i++)
		health_put_row(result, data->view, data->view->snapshot->sweep.wall_us, NULL, &data->rows->list[i]);
	return 0;
}

int health_print(const struct view *view, const struct health_filter *filter, const struct health_rows *rows,
		 struct error *err)
{
	const struct data data = { view, rows };
	struct page *page = page_create("Findings");
	struct text summary = { 0 };

	health_append_summary(view, filter, rows, &summary);
	page_add_note(page, PAGE_TEXT, false, "%s", page_keep(page, &summary));
	health_add_findings(view, filter, rows, &(struct health_layout){ .in = PAGE_TEXT }, page);
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = PAGE_JSON | PAGE_CSV, .key = "",
		.table = { finding_columns, CHANGE, put_rows, &data },
	});
	return output_page(page, filter->options, NULL, err);
}

/* --- descriptions of the kinds --- */

static void append_wrapped(const struct result_options *output, const char *mark, const char *chars, struct text *page)
{
	enum { INDENT = 10, WIDTH_WITHOUT = 120, WIDTH_LEAST = 40 };
	unsigned width = output->width > WIDTH_LEAST ? output->width : output->width ? WIDTH_LEAST : WIDTH_WITHOUT;
	unsigned indent = INDENT + (unsigned)text_columns(mark);

	text_appendf(page, "%*s%s", INDENT, "", mark);
	text_append_wrapped(page, chars, indent, indent, width);
}

static int explain_data(int first, int last, const struct options *options, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "kind", .kind = COLUMN_TEXT },   { .key = "means", .kind = COLUMN_TEXT },
		{ .key = "limits", .kind = COLUMN_TEXT }, { .key = "reason", .kind = COLUMN_TEXT },
		{ .key = "advice", .kind = COLUMN_TEXT },
	};
	struct result *result = output_begin(options, false, columns, sizeof(columns) / sizeof(columns[0]));

	for (int kind = first; kind <= last; kind++) {
		const struct finding_kind_info *info = finding_kind_info((enum finding_kind)kind);

		result_text(result, 0, info->name);
		result_text(result, 1, info->means);
		result_text(result, 2, info->limits);
		result_text(result, 3, info->reason);
		result_text(result, 4, info->advice);
		result_end_row(result);
	}
	return output_end(result, 0, err);
}

int health_explain(const char *word, const struct options *options, struct error *err)
{
	const struct result_options output = options_result(options);
	int kind = word ? finding_kind_find(word) : -1;
	const struct finding_kind_info *info;
	struct text page = { 0 };

	if (word && kind < 0)
		return err_set(err, ERR_USAGE,
			       "unknown finding kind '%.64s': ibwire health --explain all lists them", word);
	if (output.format != RESULT_TABLE)
		return explain_data(word ? kind : 0, word ? kind : FINDING_KIND_COUNT - 1, options, err);
	for (int i = 0; !word && i < FINDING_KIND_COUNT; i++)
		text_appendf(&page, "%-20s %s\n", finding_kind_name((enum finding_kind)i),
			     finding_kind_info((enum finding_kind)i)->means);
	if (word) {
		info = finding_kind_info((enum finding_kind)kind);
		text_appendf(&page, "%s\n", info->name);
		append_wrapped(&output, "what:    ", info->means, &page);
		append_wrapped(&output, "limits:  ", info->limits, &page);
		append_wrapped(&output, "why:     ", info->reason, &page);
		append_wrapped(&output, "do:      ", info->advice, &page);
	}
	return output_text(options, &page, err);
}
