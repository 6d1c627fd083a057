/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* detail.c - which lines a subject's page has, and the parts that all have */
#include "tui/screens/subject_page.h"

#include <math.h>

#include "base/clock.h"
#include "base/when.h"
#include "fabric/shape.h"
#include "tui/screens/app.h"
#include "tui/model/port_marks.h"

#define DAY_US (24 * 3600 * US_PER_S)

/* Lines of a plot on a terminal of few and of many lines. */
enum { PLOT_LOW = 6, PLOT_HIGH = 10, PLOT_HIGHEST = 14, ROWS_MANY = 26, ROWS_MOST = 44 };

uint32_t detail_hottest(const struct app *app, uint32_t index)
{
	const struct shape_group *group = &app->moment.shape->groups[index];
	uint32_t hottest = FABRIC_NONE;
	double most = -1;

	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		const struct row_view *view = &app->table.views[app->moment.shape->members[i]];
		double load = fmax(view->xmit_percent, view->rcv_percent);

		if (!isnan(load) && load > most) {
			most = load;
			hottest = app->moment.shape->members[i];
		}
	}
	return hottest;
}

static enum role severity_role(const struct finding_row *row)
{
	if (row->acknowledged.at_us)
		return ROLE_FAINT;
	return row->finding.severity == FINDING_CRITICAL ? ROLE_CRITICAL :
	       row->finding.severity == FINDING_WARNING  ? ROLE_WARNING : ROLE_TEXT;
}

/* @port: 0: of the node itself or any of its ports. */
static bool is_at(const struct app *app, const struct finding *finding, uint64_t node_guid, uint8_t port)
{
	const struct fabric *fabric = app->live.shown->fabric;
	uint32_t index = port ? fabric_find_port(fabric, node_guid, port) : FABRIC_NONE;

	if (index != FABRIC_NONE)
		return mark_concerns(&app->moment, fabric, finding, index);
	return !node_guid || finding->node_guid == node_guid || finding->peer_guid == node_guid;
}

/* The hour, and the day where that is another one than the shown time's. */
static const char *short_time(int64_t wall_us, int64_t shown_us, char *ret, size_t size)
{
	bool near = shown_us - wall_us < DAY_US / 2 && wall_us <= shown_us;

	return format_time(wall_us, near ? "%H:%M:%S" : "%Y-%m-%d %H:%M", ret, size);
}

static void put_finding(struct page *page, const struct finding_row *row, int64_t shown_us)
{
	const struct subject subject = { .kind = SUBJECT_FINDING, .id = row->finding.id };
	char since[WHEN_SIZE], age[WHEN_SIZE];
	int x;

	page_line(page, &subject);
	x = page_putf(page, 0, severity_role(row), "%s", finding_severity_name(row->finding.severity));
	x = page_putf(page, x + 1, ROLE_STRONG, "%s", finding_kind_name(row->finding.kind));
	x = page_putf(page, x + 2, ROLE_TEXT, "since %s (%s)%s%s%s",
		      short_time(row->finding.since_us, shown_us, since, sizeof(since)),
		      when_format_span(shown_us > row->finding.since_us ? shown_us - row->finding.since_us : 0, age),
		      row->finding.cause && row->finding.cause[0] ? ", cause: " : "",
		      row->finding.cause ? row->finding.cause : "", row->acknowledged.at_us ? ", acknowledged" : "");
	page_putf(page, x + 2, ROLE_FAINT, "%s", row->finding.subject);
	page_wrap(page, NULL, 2, ROLE_TEXT, row->finding.text);
}

void detail_put_findings(struct detail *detail, const struct app *app, uint64_t node_guid, uint8_t port)
{
	size_t found = 0;

	for (size_t i = 0; i < app->moment.finding_count; i++) {
		const struct finding_row *row = &app->moment.findings[i];

		if (!is_at(app, &row->finding, node_guid, port))
			continue;
		if (!found++)
			page_heading(&detail->page, "FINDINGS");
		put_finding(&detail->page, row, app->live.shown->sweep.wall_us);
	}
	if (!found) {
		page_line(&detail->page, NULL);
		page_putf(&detail->page, 0, ROLE_FAINT, "no finding is open here");
	}
}

void detail_put_plot(struct detail *detail, const struct app *app)
{
	int height = detail->rows >= ROWS_MOST ? PLOT_HIGHEST : detail->rows >= ROWS_MANY ? PLOT_HIGH : PLOT_LOW;

	detail_plot_put(&detail->plot, &detail->page, height, app->theme.unicode);
}

static void put_gone(struct page *page, const char *what)
{
	page_line(page, NULL);
	page_putf(page, 0, ROLE_WARNING, "%s is not in the fabric that is shown.", what);
	page_wrap(page, NULL, 0, ROLE_FAINT, "Go to a time at which it was there (t, b, < and >), or back with Esc.");
}

static void put_place(struct detail *detail, const struct app *app, const struct subject *place)
{
	const struct fabric *fabric = app->live.shown->fabric;
	uint32_t node = fabric_find_node(fabric, place->node_guid);
	uint32_t port =
		place->kind == SUBJECT_PORT ? fabric_find_port(fabric, place->node_guid, place->port) : FABRIC_NONE;
	char name[NODE_NAME_SIZE + 32];

	if (place->kind == SUBJECT_FABRIC) {
		detail_put_fabric(detail, app);
	} else if (place->kind == SUBJECT_PORT && port != FABRIC_NONE) {
		detail_put_port(detail, app, port);
	} else if (place->kind == SUBJECT_GROUP && node != FABRIC_NONE) {
		detail_put_group(detail, app, place);
	} else if (place->kind == SUBJECT_NODE && node != FABRIC_NONE) {
		detail_put_node(detail, app, node);
	} else {
		put_gone(&detail->page, subject_name(app, place, name, sizeof(name)));
		detail_put_findings(detail, app, place->node_guid, place->kind == SUBJECT_PORT ? place->port : 0);
	}
}

void detail_put(struct detail *detail, const struct app *app, const struct subject *subject, int columns)
{
	const struct finding_row *row = subject_finding(app, subject);
	struct page *page = &detail->page;
	struct subject place = *subject;

	page_begin(page, columns);
	if (subject->kind == SUBJECT_FINDING && !row) {
		page_line(page, NULL);
		page_putf(page, 0, ROLE_WARNING, "This finding is not open at the shown time.");
		page_wrap(page, NULL, 0, ROLE_FAINT,
			  "It closed meanwhile, or had not begun: see Events (5). Esc goes back.");
		return;
	}
	if (row) {
		place = subject_of_finding(row);
		detail_put_finding(detail, app, row);
		page_line(page, NULL);
	}
	put_place(detail, app, &place);
}
