/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_html_links.c - the page of a job: uplinks before and after, findings, events */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/balance.h"
#include "analysis/nccl.h"
#include "analysis/rate.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/job/job_html.h"
#include "cli/job/job_report.h"
#include "export/html.h"

enum { GROUPS_SHOWN = 12, GROUPS_MOST = 400, EVENTS_SHOWN = 40 };

/* --- uplinks --- */

static void append_map(const struct job_report *report, struct text *page, int part, const char *const *names,
		       double top)
{
	const struct job_map *map = &report->map;
	char from[WHEN_SIZE], until[WHEN_SIZE], title[2 * WHEN_SIZE + 64];
	static const char *const parts[2][JOB_PARTS] = {
		{ "Before: first half", "After: second half" }, { "Before: earlier", "After: latest" },
	};

	when_format_local(report->part_from_us[part], from);
	when_format_local(report->part_until_us[part], until);
	snprintf(title, sizeof(title), "%s, %s to %s", parts[report->running][part], from, until);
	html_heat(page, &(struct page_heat){
		.title = title, .row_names = names, .column_names = names + map->rows, .rows = map->rows,
		.columns = map->columns, .values = map->part[part], .top = top, .format = rate_format_bits,
	});
}

/* Leaf by spine in both parts of the job, with one scale. */
static void append_maps(const struct job_report *report, struct text *page)
{
	const struct job_map *map = &report->map;
	const char **names = calloc((size_t)map->rows + map->columns + 1, sizeof(*names));
	double top = 0;

	if (!names) {
		page->failed = true;
		return;
	}
	for (uint32_t i = 0; i < map->rows; i++)
		names[i] = job_report_node_name(report, map->row_nodes[i]);
	for (uint32_t i = 0; i < map->columns; i++)
		names[map->rows + i] = job_report_node_name(report, map->column_nodes[i]);
	for (int part = 0; part < JOB_PARTS; part++)
		for (size_t i = 0; i < (size_t)map->rows * map->columns; i++)
			top = fmax(top, map->part[part][i]);
	html_element(page, "h3", NULL, "Load between leaves and spines, both directions");
	text_append(page, "<div class=\"pair\">\n");
	for (int part = 0; part < JOB_PARTS; part++)
		append_map(report, page, part, names, top);
	text_append(page, "</div>\n");
	free(names);
}

static const char *percent_text(double share, char *ret, size_t size)
{
	snprintf(ret, size, isnan(share) ? "-" : "%.0f %%", share * 100);
	return ret;
}

static void put_hottest(const struct job_report *report, struct text *page, const struct html_column *columns,
			const struct job_group *group)
{
	const struct balance_member *member;
	char name[512], measured[PAGE_VALUE_SIZE], predicted[PAGE_VALUE_SIZE];

	if (group->hottest >= group->count) {
		html_cell(page, columns, PAGE_PLAIN, "-");
		html_cell(page, columns + 1, PAGE_PLAIN, "-");
		return;
	}
	member = &report->uplinks[group->first + group->hottest].member;
	html_cell(page, columns, PAGE_PLAIN, "%s", job_report_port_name(report, member->port, name, sizeof(name)));
	html_cell(page, columns + 1, PAGE_PLAIN, "%s (%s)", percent_text(member->measured, measured, sizeof(measured)),
		  percent_text(member->predicted, predicted, sizeof(predicted)));
}

static void append_group(const struct job_report *report, struct text *page, const struct html_column *columns,
			 const struct job_group *group)
{
	char bytes[PAGE_VALUE_SIZE], since[WHEN_SIZE], early[PAGE_VALUE_SIZE], late[PAGE_VALUE_SIZE];
	bool active = group->state == BALANCE_ACTIVE;

	html_row(page);
	html_cell(page, columns++, group->skewed ? PAGE_WARNING : PAGE_PLAIN, "%s",
		  job_report_node_name(report, group->node));
	html_cell(page, columns++, PAGE_PLAIN, "%" PRIu32 " %s", group->count,
		  group->direction == BALANCE_XMIT ? "up" : "down");
	html_cell(page, columns++, PAGE_PLAIN, "%s%s", result_format_bytes((double)group->bytes, bytes, sizeof(bytes)),
		  group->shared ? " shared" : "");
	html_cell(page, columns++, PAGE_PLAIN, "%s \u2192 %s",
		  percent_text(active ? group->part_excess[JOB_EARLY] : NAN, early, sizeof(early)),
		  percent_text(active ? group->part_excess[JOB_LATE] : NAN, late, sizeof(late)));
	put_hottest(report, page, columns, group);
	columns += 2;
	html_cell(page, columns++, PAGE_PLAIN, "%s", balance_adaptive_name(group->adaptive));
	if (!active)
		html_cell(page, columns, PAGE_PLAIN, "%s", group->state == BALANCE_IDLE ? "idle" : "unknown");
	else if (!group->skewed)
		html_cell(page, columns, PAGE_PLAIN, "ok");
	else
		html_cell(page, columns, PAGE_WARNING, "%s%s%s",
			  group->cause == BALANCE_NONE ? "uneven" : balance_cause_name(group->cause),
			  group->uneven_since_us ? " since " : "",
			  group->uneven_since_us ? when_format_local(group->uneven_since_us, since) : "");
	html_row_end(page);
}

static void append_groups(const struct job_report *report, struct text *page, size_t from, size_t until)
{
	static const struct html_column columns[] = {
		{ "Switch", false }, { "Uplinks", false }, { "Bytes", true }, { "Uneven: before \u2192 after", true },
		{ "Hottest uplink", false }, { "Its share (by tables)", true }, { "Adaptive", false },
		{ "State", false },
	};

	html_table_begin(page, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = from; i < until; i++)
		append_group(report, page, columns, &report->groups[i]);
	html_table_end(page);
}

void job_html_uplinks(const struct job_report *report, struct text *page)
{
	size_t shown = report->group_count < GROUPS_SHOWN ? report->group_count : GROUPS_SHOWN;
	size_t most = report->group_count < GROUPS_MOST ? report->group_count : GROUPS_MOST;

	if (!report->group_count && !report->map.rows)
		return;
	html_card_begin(page, "Uplinks");
	if (report->other_count) {
		text_append(page, "<p>");
		html_escapef(page, "Uplinks also carried job%s ", report->other_count == 1 ? "" : "s");
		for (size_t i = 0; i < report->other_count; i++)
			html_escapef(page, "%s%s", i ? ", " : "", report->others[i]);
		text_append(page, ": bytes marked as shared belong to all of them.</p>\n");
	}
	if (report->map.rows && report->map.columns && report->has_history)
		append_maps(report, page);
	if (report->group_count) {
		append_groups(report, page, 0, shown);
		html_element(page, "p", "soft", "Uneven: busiest uplink above the mean, relative to capacity. By "
			     "tables: the share that the forwarding tables predict%s.",
			     report->routes_known ? "" : " (tables are unknown)");
	}
	if (most > shown) {
		text_append(page, "<details>");
		html_element(page, "summary", NULL, "%zu more of %zu groups", most - shown, report->group_count);
		append_groups(report, page, shown, most);
		text_append(page, "</details>\n");
	}
	html_card_end(page);
}

/* --- findings and events --- */

static void append_finding(struct text *page, const struct html_column *columns, const struct job_finding *finding)
{
	enum page_state state = finding->severity == FINDING_CRITICAL ? PAGE_CRITICAL :
				finding->severity == FINDING_WARNING ? PAGE_WARNING : PAGE_PLAIN;
	char since[WHEN_SIZE], closed[WHEN_SIZE];

	html_row(page);
	html_cell(page, &columns[0], state, "%s", finding_severity_name(finding->severity));
	html_cell(page, &columns[1], PAGE_PLAIN, "%s%s", when_format_local(finding->since_us, since),
		  finding->before ? " (before the job)" : "");
	html_cell(page, &columns[2], PAGE_PLAIN, "%s",
		  finding->closed_us ? when_format_local(finding->closed_us, closed) : "open");
	html_cell(page, &columns[3], PAGE_PLAIN, "%s", finding->on_job ? "yes" : "no");
	html_cell(page, &columns[4], PAGE_PLAIN, "%s of %s: %s. %s", finding_kind_name(finding->kind),
		  finding->subject, finding->text, finding->advice ? finding->advice : "");
	html_row_end(page);
}

static void append_events(const struct job_report *report, struct text *page)
{
	static const struct html_column columns[] = {
		{ "Time", false }, { "Event", false }, { "On its links", false }, { "What", false },
	};
	size_t shown = report->event_count < EVENTS_SHOWN ? report->event_count : EVENTS_SHOWN;
	char time[WHEN_SIZE];

	html_element(page, "h3", NULL, "Links and routes that changed");
	html_table_begin(page, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < shown; i++) {
		const struct job_event *event = &report->events[i];

		html_row(page);
		html_cell(page, &columns[0], PAGE_PLAIN, "%s", when_format_local(event->wall_us, time));
		html_cell(page, &columns[1], event->bad ? PAGE_WARNING : PAGE_PLAIN, "%s", event->kind);
		html_cell(page, &columns[2], PAGE_PLAIN, "%s", event->on_job ? "yes" : "no");
		html_cell(page, &columns[3], PAGE_PLAIN, "%s", event->text);
		html_row_end(page);
	}
	html_table_end(page);
	if (report->event_count + report->events_left_out > shown)
		html_element(page, "p", "soft", "%zu more are not shown (ibwire job report --all).",
			     report->event_count + report->events_left_out - shown);
}

void job_html_findings(const struct job_report *report, struct text *page)
{
	static const struct html_column columns[] = {
		{ "Severity", false }, { "Since", false }, { "Closed", false }, { "On its links", false },
		{ "Finding", false },
	};

	if (!report->has_history)
		return;
	html_card_begin(page, "Findings and changes");
	if (report->finding_count)
		html_table_begin(page, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < report->finding_count; i++)
		append_finding(page, columns, &report->findings[i]);
	if (report->finding_count)
		html_table_end(page);
	else
		html_element(page, "p", NULL, "No finding was open during the job.");
	if (report->event_count)
		append_events(report, page);
	else
		html_element(page, "p", NULL, "No link or route changed during the job.");
	html_card_end(page);
}

/* --- NCCL --- */

void job_html_nccl(const struct job_report *report, struct text *page)
{
	static const enum page_state states[] = {
		[NCCL_OK] = PAGE_GOOD, [NCCL_NOTE] = PAGE_INFO, [NCCL_WARN] = PAGE_WARNING, [NCCL_FAIL] = PAGE_CRITICAL,
	};

	if (!report->nccl || !report->nccl_verdict->count)
		return;
	html_card_begin(page, "What NCCL logged");
	text_append(page, "<ul class=\"signs\">\n");
	for (size_t i = 0; i < report->nccl_verdict->count; i++) {
		const struct nccl_line *line = &report->nccl_verdict->lines[i];

		html_sign_item(page, states[line->severity], line->text);
	}
	text_append(page, "</ul>\n</section>\n");
}
