/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject_page.c - content of a detail page, and the parts that all pages share */
#include "tui/screens/subject_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/shape.h"
#include "tui/draw/theme.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "facts/finding_columns.h"
#include "facts/order.h"

#define DAY_US (24 * 3600 * US_PER_S)

/* Lines of a plot, and terminal sizes for the larger ones. */
enum { PLOT_LOW = 6, PLOT_HIGH = 10, PLOT_HIGHEST = 14, ROWS_MANY = 26, ROWS_MOST = 44 };

uint32_t group_hottest_port(const struct app *app, uint32_t index)
{
	const struct shape_group *group = &app->context->shape->groups[index];
	uint32_t hottest = FABRIC_NONE;
	double most = -1;

	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		const struct port_facts *view = &app->table->views[app->context->shape->members[i]];
		double load = fmax(view->xmit_percent, view->rcv_percent);

		if (!isnan(load) && load > most) {
			most = load;
			hottest = app->context->shape->members[i];
		}
	}
	return hottest;
}

static enum role severity_role(const struct finding_row *row)
{
	if (row->acknowledged.at_us || finding_phase(&row->finding) != FINDING_PHASE_ACTIVE)
		return ROLE_FAINT;
	return row->finding.severity == FINDING_CRITICAL ? ROLE_CRITICAL :
	       row->finding.severity == FINDING_WARNING  ? ROLE_WARNING : ROLE_STRONG;
}

/* @port: 0: the node itself or any of its ports. */
static bool is_at(const struct app *app, const struct finding *finding, uint64_t node_guid, uint8_t port)
{
	const struct fabric *fabric = app->live->shown->fabric;
	uint32_t index = port ? fabric_find_port(fabric, node_guid, port) : FABRIC_NONE;

	uint64_t guid;
	uint8_t num;

	if (index != FABRIC_NONE)
		return finding_concerns_port(app->context->shape, fabric, finding, index);
	for (unsigned at = 0; node_guid && finding_end(finding, fabric, at, &guid, &num); at++)
		if (guid == node_guid)
			return true;
	return !node_guid;
}

/* The time, with the date if it is not near the shown time. */
static const char *short_time(int64_t wall_us, int64_t shown_us, char *ret, size_t size)
{
	bool near = shown_us - wall_us < DAY_US / 2 && wall_us <= shown_us;

	return format_time(wall_us, near ? "%H:%M:%S" : "%Y-%m-%d %H:%M", ret, size);
}

static const char *state_word(const struct finding_row *row)
{
	return row->finding.ok_since_us ? "clearing" : finding_severity_name(row->finding.severity);
}

static void put_finding(struct text_page *page, const struct finding_row *row, int64_t shown_us)
{
	const struct subject subject = { .kind = SUBJECT_FINDING, .id = row->finding.id };
	char since[WHEN_SIZE], age[WHEN_SIZE], last[FINDING_INCREASE_SIZE];
	int x;

	page_line(page, &subject);
	x = page_putf(page, 0, severity_role(row), "%s", state_word(row));
	x = page_putf(page, x + 1, ROLE_STRONG, "%s", finding_kind_name(row->finding.kind));
	x = page_putf(page, x + 2, ROLE_TEXT, "since %s (%s)%s%s%s",
		      short_time(row->finding.since_us, shown_us, since, sizeof(since)),
		      when_format_span(shown_us > row->finding.since_us ? shown_us - row->finding.since_us : 0, age),
		      row->finding.cause && row->finding.cause[0] ? ", cause: " : "",
		      row->finding.cause ? row->finding.cause : "", row->acknowledged.at_us ? ", acknowledged" : "");
	if (*finding_format_increase(&row->finding, shown_us, last))
		x = page_putf(page, x, ROLE_TEXT, ", %s", last);
	page_putf(page, x + 2, ROLE_FAINT, "%s", row->finding.subject);
	page_wrap(page, NULL, 2, ROLE_TEXT, row->finding.text);
}

void subject_page_findings(struct subject_page *detail, const struct app *app, uint64_t node_guid, uint8_t port)
{
	size_t found = 0;

	for (size_t i = 0; i < app->context->finding_count; i++) {
		const struct finding_row *row = &app->context->findings[i];

		if (!is_at(app, &row->finding, node_guid, port))
			continue;
		if (!found++)
			page_heading(&detail->page, "FINDINGS");
		put_finding(&detail->page, row, app->live->shown->sweep.wall_us);
	}
	if (!found) {
		page_line(&detail->page, NULL);
		page_putf(&detail->page, 0, ROLE_FAINT, "no open findings");
	}
}

void subject_page_history(struct subject_page *detail, const struct app *app)
{
	int height = detail->rows >= ROWS_MOST ? PLOT_HIGHEST : detail->rows >= ROWS_MANY ? PLOT_HIGH : PLOT_LOW;

	history_plot_put(&detail->plot, &detail->page, height, app->theme->unicode);
}

static void put_missing(struct text_page *page, const char *what)
{
	page_text(page, ROLE_WARNING, "%s is not in the shown fabric.", what);
	page_wrap(page, NULL, 0, ROLE_FAINT, "Go to a time at which it was present (t, b, < and >), or back with Esc.");
}

/* Columns of the labels. */
enum { LABEL = 14 };

static void put_times(struct text_page *page, const struct finding_row *row, int64_t shown_us)
{
	const struct finding *finding = &row->finding;
	char at[WHEN_SIZE], span[WHEN_SIZE], text[256], last[FINDING_INCREASE_SIZE];
	int64_t open_us = shown_us - finding->since_us, from_us, until_us;

	snprintf(text, sizeof(text), "%s, for %s", when_format_local(finding->since_us, at),
		 when_format_span(open_us > 0 ? open_us : 0, span));
	page_field(page, NULL, "since", ROLE_FAINT, LABEL, ROLE_TEXT, text);
	if (row->opened_us != finding->since_us)
		page_field(page, NULL, "reported", ROLE_FAINT, LABEL, ROLE_TEXT, when_format_local(row->opened_us, at));
	if (finding_window(finding, &from_us, &until_us)) {
		snprintf(text, sizeof(text), "%s to %s", when_format_local(from_us, at),
			 when_format_local(until_us, span));
		page_field(page, NULL, "measured", ROLE_FAINT, LABEL, ROLE_TEXT, text);
	} else if (row->measured_us != shown_us) {
		page_field(page, NULL, "measured", ROLE_FAINT, LABEL, ROLE_TEXT,
			   when_format_local(row->measured_us, at));
	}
	if (*finding_format_increase(finding, shown_us, last)) {
		snprintf(text, sizeof(text), "%s: %s", when_format_local(finding->increased_us, at), last);
		page_field(page, NULL, "last increase", ROLE_FAINT, LABEL, ROLE_TEXT, text);
	}
	if (finding->ok_since_us) {
		snprintf(text, sizeof(text), "%s: closes at the end of its recovery window%s",
			 when_format_local(finding->ok_since_us, at),
			 finding->increased_us ? ", after its count has left the measured window" : "");
		page_field(page, NULL, "ok since", ROLE_FAINT, LABEL, ROLE_TEXT, text);
	}
}

/* Keys end in their unit: "measured percent 59.18". */
static void put_numbers(struct text_page *page, const struct finding *finding)
{
	struct text text = { 0 };

	for (unsigned i = 0; i < finding->number_count; i++) {
		double value = finding->numbers[i].value;
		char key[64];

		/* The window is a line of its own. */
		if (!strncmp(finding->numbers[i].key, "window_", 7) && strstr(finding->numbers[i].key, "_us"))
			continue;
		snprintf(key, sizeof(key), "%s", finding->numbers[i].key);
		for (char *c = key; *c; c++)
			if (*c == '_')
				*c = ' ';
		text_appendf(&text, "%s%s ", text.len ? ", " : "", key);
		if (isnan(value))
			text_append(&text, "unknown");
		else
			text_appendf(&text, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.4g", value);
	}
	page_field(page, NULL, "numbers", ROLE_FAINT, LABEL, ROLE_TEXT, text_chars(&text));
	text_done(&text);
}

static void put_hosts(struct text_page *page, const struct finding *finding)
{
	struct text text = { 0 };

	if (!finding->affected_hosts)
		return;
	text_appendf(&text, "%u: ", finding->affected_hosts);
	for (unsigned i = 0; i < finding->host_count; i++)
		text_appendf(&text, "%s%s", i ? ", " : "", finding->hosts[i]);
	if (finding->affected_hosts > finding->host_count)
		text_append(&text, ", ...");
	page_field(page, NULL, "affects hosts", ROLE_FAINT, LABEL, ROLE_TEXT, text_chars(&text));
	text_done(&text);
}

static void put_acknowledgement(struct text_page *page, const struct finding_row *row)
{
	const struct acknowledgement *known = &row->acknowledged;
	char at[WHEN_SIZE], until[WHEN_SIZE], text[512];

	if (!known->at_us) {
		page_field(page, NULL, "acknowledged", ROLE_FAINT, LABEL, ROLE_FAINT, "no");
		return;
	}
	snprintf(text, sizeof(text), "by %s at %s, %s%s%s%s", known->person[0] ? known->person : "unknown user",
		 when_format_local(known->at_us, at), known->until_us ? "until " : "until revoked",
		 known->until_us ? when_format_local(known->until_us, until) : "", known->reason[0] ? ": " : "",
		 known->reason);
	page_field(page, NULL, "acknowledged", ROLE_FAINT, LABEL, ROLE_TEXT, text);
}

/* Findings that are folded under this one, or the one above it. */
static void put_related(struct text_page *page, const struct app *app, const struct finding_row *row)
{
	for (size_t i = 0, found = 0; i < app->context->finding_count; i++) {
		const struct finding_row *other = &app->context->findings[i];

		if (other->origin != row->finding.id && other->finding.id != row->origin)
			continue;
		if (!found++)
			page_heading(page, row->origin ? "PROBABLE ORIGIN" : "RELATED");
		put_finding(page, other, app->live->shown->sweep.wall_us);
	}
}

static void put_whole_finding(struct subject_page *detail, const struct app *app, const struct finding_row *row)
{
	const struct finding *finding = &row->finding;
	const struct finding_kind_info *info = finding_kind_info(finding->kind);
	const struct subject place = subject_of_finding(row), self = { .kind = SUBJECT_FINDING, .id = finding->id };
	struct text_page *page = &detail->page;
	char name[NODE_NAME_SIZE * 2 + 16];
	int x;

	page_line(page, &self);
	x = page_putf(page, 0, severity_role(row), "%s", state_word(row));
	x = page_putf(page, x + 1, ROLE_STRONG, "%s", finding_kind_name(finding->kind));
	page_putf(page, x + 2, ROLE_STRONG, "%s", finding->subject);
	page_field(page, &place, "at", ROLE_FAINT, LABEL, ROLE_TEXT, subject_name(app, &place, name, sizeof(name)));
	page_field(page, NULL, "evidence", ROLE_FAINT, LABEL, ROLE_TEXT, finding->text);
	put_times(page, row, app->live->shown->sweep.wall_us);
	page_field(page, NULL, "cause", ROLE_FAINT, LABEL, ROLE_STRONG, finding->cause);
	page_field(page, NULL, "action", ROLE_FAINT, LABEL, ROLE_TEXT, finding->advice);
	put_hosts(page, finding);
	put_numbers(page, finding);
	put_acknowledgement(page, row);
	page_field(page, NULL, "description", ROLE_FAINT, LABEL, ROLE_FAINT, info->means);
	page_field(page, NULL, "by default", ROLE_FAINT, LABEL, ROLE_FAINT, info->limits);
	page_field(page, NULL, "rationale", ROLE_FAINT, LABEL, ROLE_FAINT, info->reason);
	put_related(page, app, row);
}

/* Sums over the members. */
struct sums {
	double out, in, capacity, lids;
};

static struct sums sum_up(const struct app *app, const struct shape_group *group, const struct subject_data *known)
{
	const struct fabric *fabric = app->live->shown->fabric;
	struct sums sums = { 0 };

	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		uint32_t index = app->context->shape->members[i];
		const struct port_facts *view = &app->table->views[index];

		sums.out += isnan(view->xmit_bytes_per_s) ? 0 : view->xmit_bytes_per_s;
		sums.in += isnan(view->rcv_bytes_per_s) ? 0 : view->rcv_bytes_per_s;
		sums.capacity += fabric_link_state(fabric, index) == PORT_ACTIVE ?
				 (double)port_rate_bits_per_s(&fabric->ports[index]) : 0;
		sums.lids += known->lids[fabric->ports[index].num];
	}
	return sums;
}

static const char *share_text(double part, double whole, char *ret, size_t size)
{
	return format_percent(whole > 0 ? 100 * part / whole : NAN, ret, size);
}

/* The columns of the members: port, peer, and numbers. */
enum { PORT, PEER, NUMBERS, COLUMNS = NUMBERS + 8, NUMBER = 7 };

static void put_member(struct text_page *page, const struct app *app, const struct subject_data *known,
		       const struct sums *sums, uint32_t index, const int *widths)
{
	const struct port *port = &app->live->shown->fabric->ports[index];
	const struct port_facts *view = &app->table->views[index];
	const struct subject subject = subject_of_port(app, index);
	bool active = fabric_link_state(app->live->shown->fabric, index) == PORT_ACTIVE;
	double capacity = active ? (double)port_rate_bits_per_s(port) : 0;
	double lids = known->routes == ROUTES_READ ? known->lids[port->num] : NAN;
	enum role role = role_of_load(fmax(view->xmit_percent, view->rcv_percent));
	char num[8], peer[PORT_NAME_SIZE], numbers[COLUMNS - NUMBERS][32];
	struct table_cell cells[COLUMNS] = {
		[PORT] = { num, ROLE_STRONG, ALIGN_RIGHT },
		[PEER] = { peer, active ? ROLE_TEXT : ROLE_DOWN, ALIGN_MIDDLE },
	};
	size_t size = sizeof(numbers[0]);

	snprintf(num, sizeof(num), "%u", port->num);
	port_table_name(app->table, port->peer, peer);
	format_percent(view->xmit_percent, numbers[0], size);
	share_text(view->xmit_bytes_per_s, sums->out, numbers[1], size);
	format_percent(view->rcv_percent, numbers[2], size);
	share_text(view->rcv_bytes_per_s, sums->in, numbers[3], size);
	share_text(capacity, sums->capacity, numbers[4], size);
	share_text(lids, sums->lids, numbers[5], size);
	format_percent(view->stall_percent, numbers[6], size);
	format_errors(view->errors, false, 6, numbers[7], size);
	for (size_t i = NUMBERS; i < COLUMNS; i++)
		cells[i] = (struct table_cell){ numbers[i - NUMBERS], role, ALIGN_RIGHT };
	page_line(page, &subject);
	page_cells(page, widths, cells, COLUMNS);
}

static void put_members(struct text_page *page, const struct app *app, const struct subject_data *known,
			const struct shape_group *group)
{
	static const struct table_cell heads[COLUMNS] = {
		{ "PORT", ROLE_HEAD, ALIGN_RIGHT }, { HEADING_PEER, ROLE_HEAD, ALIGN_LEFT },
		{ HEADING_TX, ROLE_HEAD, ALIGN_RIGHT },
		{ "SHARE", ROLE_HEAD, ALIGN_RIGHT }, { HEADING_RX, ROLE_HEAD, ALIGN_RIGHT },
		{ "SHARE", ROLE_HEAD, ALIGN_RIGHT }, { "FAIR", ROLE_HEAD, ALIGN_RIGHT },
		{ "TABLE", ROLE_HEAD, ALIGN_RIGHT }, { "XWait%", ROLE_HEAD, ALIGN_RIGHT },
		{ HEADING_ERRORS, ROLE_HEAD, ALIGN_RIGHT },
	};
	const struct sums sums = sum_up(app, group, known);
	int numbers = page->columns >= 6 + 14 + (COLUMNS - NUMBERS) * (NUMBER + 1) ? COLUMNS - NUMBERS :
		      page->columns >= 60 ? 6 : 3;
	int peer = page->columns - 6 - numbers * (NUMBER + 1), widths[COLUMNS] = { [PORT] = 4 };

	widths[PEER] = peer < 4 ? 4 : peer > 48 ? 48 : peer;
	for (int i = 0; i < numbers; i++)
		widths[NUMBERS + i] = NUMBER;
	page_heading(page, "MEMBERS");
	page_line(page, NULL);
	page_cells(page, widths, heads, COLUMNS);
	for (uint32_t i = group->first; i < group->first + group->count; i++)
		put_member(page, app, known, &sums, app->context->shape->members[i], widths);
	page_line(page, NULL);
	page_wrap(page, NULL, 0, ROLE_FAINT,
		  "TX, RX: of the link rate. SHARE: of the group's traffic. FAIR: by link rate. "
		  "TABLE: share of the group's destination LIDs in the switch's forwarding table.");
}

static void put_group(struct subject_page *detail, const struct app *app, const struct subject *subject)
{
	const struct shape *shape = app->context->shape;
	uint32_t index = subject_group(app->context->shape, subject);
	const struct subject node = { .kind = SUBJECT_NODE, .node_guid = subject->node_guid };
	struct text_page *page = &detail->page;
	char name[NODE_NAME_SIZE * 2 + 16];
	const struct shape_group *group;

	page_line(page, subject);
	page_put(page, 0, -1, ALIGN_LEFT, ROLE_STRONG, subject_name(app, subject, name, sizeof(name)));
	if (index == SHAPE_NONE) {
		page_text(page, ROLE_WARNING, "The shown fabric has no such links.");
		subject_page_findings(detail, app, subject->node_guid, 0);
		return;
	}
	group = &shape->groups[index];
	page_line(page, &node);
	page_putf(page, 0, group->count < group->built ? ROLE_WARNING : ROLE_TEXT,
		  "%u links of %u built, of a switch of tier %u", group->count, group->built, group->tier);
	subject_page_findings(detail, app, subject->node_guid, 0);
	subject_page_history(detail, app);
	put_members(page, app, &detail->known, group);
}

static void put_place(struct subject_page *detail, const struct app *app, const struct subject *place)
{
	const struct fabric *fabric = app->live->shown->fabric;
	uint32_t node = fabric_find_node(fabric, place->node_guid);
	uint32_t port =
		place->kind == SUBJECT_PORT ? fabric_find_port(fabric, place->node_guid, place->port) : FABRIC_NONE;
	char name[NODE_NAME_SIZE + 32];

	if (place->kind == SUBJECT_FABRIC) {
		subject_page_fabric(detail, app);
	} else if (place->kind == SUBJECT_PORT && port != FABRIC_NONE) {
		subject_page_port(detail, app, port);
	} else if (place->kind == SUBJECT_GROUP && node != FABRIC_NONE) {
		put_group(detail, app, place);
	} else if (place->kind == SUBJECT_NODE && node != FABRIC_NONE) {
		subject_page_node(detail, app, node);
	} else {
		put_missing(&detail->page, subject_name(app, place, name, sizeof(name)));
		subject_page_findings(detail, app, place->node_guid, place->kind == SUBJECT_PORT ? place->port : 0);
	}
}

void subject_page_fill(struct subject_page *detail, const struct app *app, const struct subject *subject, int columns)
{
	const struct finding_row *row = subject_finding(app, subject);
	struct text_page *page = &detail->page;
	struct subject place = *subject;

	page_begin(page, columns);
	if (subject->kind == SUBJECT_FINDING && !row) {
		page_text(page, ROLE_WARNING, "This finding is not open at the shown time.");
		page_wrap(page, NULL, 0, ROLE_FAINT,
			  "It has closed or had not opened yet: see Events (5). Esc: back.");
		return;
	}
	if (row) {
		place = subject_of_finding(row);
		put_whole_finding(detail, app, row);
		page_line(page, NULL);
	}
	put_place(detail, app, &place);
}
