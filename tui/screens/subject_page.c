/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject_page.c - the page of a subject (pages/subject.h) as lines, with its plot */
#include "tui/screens/subject_page.h"

#include <math.h>

#include "export/page.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "tui/draw/page_draw.h"
#include "tui/draw/theme.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"

/* Lines of a plot, and terminal sizes for the larger ones. */
enum { PLOT_LOW = 6, PLOT_HIGH = 10, PLOT_HIGHEST = 14, ROWS_MANY = 26, ROWS_MOST = 44 };

uint32_t group_hottest_port(const struct app *app, uint32_t index)
{
	const struct shape_group *group = &app->context->shape->groups[index];
	uint32_t hottest = FABRIC_NONE;
	double most = -1;

	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		const struct port_facts *port = &app->table->ports[app->context->shape->members[i]];
		double load = port->util.value;

		if (!isnan(load) && load > most) {
			most = load;
			hottest = app->context->shape->members[i];
		}
	}
	return hottest;
}

static struct subject open_target(const void *ctx, uint64_t id, unsigned number)
{
	const struct app *app = ctx;
	const struct subject finding = { .kind = SUBJECT_FINDING, .id = (int64_t)id };
	const struct shape *shape = app->context->shape;

	if (number == TARGET_FINDING)
		return finding;
	if (number == TARGET_FINDING_PLACE && subject_finding(app, &finding))
		return subject_of_finding(subject_finding(app, &finding));
	if (number == TARGET_GROUP && shape && id <= shape->group_count)
		return subject_of_group(app, &shape->groups[id - 1]);
	return (struct subject){ .kind = number ? SUBJECT_PORT : SUBJECT_NODE, .node_guid = id,
				 .port = (uint8_t)number };
}

/* Append the lines of a page, and destroy it. */
static void append(struct subject_page *detail, const struct app *app, struct page *page)
{
	if (page_freeze(page, NULL) == 0)
		page_append(page, &detail->page, app->theme->unicode, open_target, app);
	else
		detail->page.failed = true;
	page_destroy(page);
}

static void put_plot(struct subject_page *detail, const struct app *app)
{
	int height = detail->rows >= ROWS_MOST ? PLOT_HIGHEST : detail->rows >= ROWS_MANY ? PLOT_HIGH : PLOT_LOW;

	history_plot_put(&detail->plot, &detail->page, height, app->theme->unicode);
}

typedef void add_part(const struct subject_facts *facts, uint32_t index, struct page *page);

/* Both parts of a page, and the plot between them. */
static void put_parts(struct subject_page *detail, const struct app *app, const struct subject_facts *facts,
		      uint32_t index, add_part *first, add_part *rest)
{
	struct page *page = page_create("");

	first(facts, index, page);
	append(detail, app, page);
	put_plot(detail, app);
	page = page_create("");
	rest(facts, index, page);
	append(detail, app, page);
}

/* A subject that is not in the fabric: its findings are. */
static void put_missing(struct subject_page *detail, const struct app *app, const struct subject_facts *facts,
			const struct subject *place)
{
	char name[NODE_NAME_SIZE * 2 + 16];
	struct page *page = page_create("");

	page_text(&detail->page, ROLE_WARNING, "%s is not in the shown fabric.",
		  subject_name(app, place, name, sizeof(name)));
	page_wrap(&detail->page, NULL, 0, ROLE_FAINT,
		  "Go to a time at which it was present (t, b, < and >), or back with Esc.");
	subject_add_findings(facts, place->node_guid, place->kind == SUBJECT_PORT ? place->port : 0, page);
	append(detail, app, page);
}

static void put_place(struct subject_page *detail, const struct app *app, const struct subject_facts *facts,
		      const struct subject *place)
{
	const struct fabric *fabric = app->live->shown->fabric;
	uint32_t node = fabric_find_node(fabric, place->node_guid), group = subject_group(app->context->shape, place);
	uint32_t port =
		place->kind == SUBJECT_PORT ? fabric_find_port(fabric, place->node_guid, place->port) : FABRIC_NONE;

	if (place->kind == SUBJECT_FABRIC) {
		struct page *page = page_create("");

		subject_add_fabric(facts, &app->table->summary, page);
		append(detail, app, page);
	} else if (port != FABRIC_NONE) {
		put_parts(detail, app, facts, port, subject_add_port, subject_add_port_counters);
	} else if (place->kind == SUBJECT_GROUP && group != SHAPE_NONE) {
		put_parts(detail, app, facts, group, subject_add_group, subject_add_group_members);
	} else if (place->kind == SUBJECT_NODE && node != FABRIC_NONE) {
		put_parts(detail, app, facts, node, subject_add_node, subject_add_node_ports);
	} else {
		put_missing(detail, app, facts, place);
	}
}

void subject_page_fill(struct subject_page *detail, const struct app *app, const struct subject *subject, int columns)
{
	const struct subject_data *known = &detail->known;
	const struct subject_facts facts = {
		.scope = { .snapshot = app->live->shown, .order = &app->table->order, .shape = app->context->shape,
			   .reference_us = app->live->shown->sweep.wall_us },
		.ports = app->table->ports, .findings = app->context->findings,
		.finding_count = app->context->finding_count, .routes = known->routes, .lids = known->lids,
		.baseline_us = app->live->baseline_us, .reading = known->has_reading ? &known->reading : NULL,
		.last_peer = known->has_last_peer ? &known->last_peer : NULL,
		.cable = known->has_cable ? &known->cable : NULL,
		.cable_reading = known->has_cable_reading ? &known->cable_reading : NULL,
		.details_read = known->slow_read, .details = known->slow, .detail_count = known->slow_count,
		.details_window_us = known->slow_window_us,
	};
	const struct finding_row *row = subject_finding(app, subject);
	char name[NODE_NAME_SIZE * 2 + 16];
	struct subject place = *subject;
	struct page *page;

	page_begin(&detail->page, columns);
	if (subject->kind == SUBJECT_FINDING && !row) {
		page_text(&detail->page, ROLE_WARNING, "This finding is not open at the shown time.");
		page_wrap(&detail->page, NULL, 0, ROLE_FAINT,
			  "It was reported later, or has closed. b: when it began or was reported; 5: events; "
			  "Esc: back.");
		return;
	}
	if (row) {
		place = subject_of_finding(row);
		page = page_create("");
		subject_add_finding(&facts, row, subject_name(app, &place, name, sizeof(name)), page);
		append(detail, app, page);
	}
	put_place(detail, app, &facts, &place);
}
