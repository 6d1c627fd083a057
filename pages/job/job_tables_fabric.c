/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_tables_fabric.c - uplinks, findings, changes and rates over time of a report */
#include <math.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "facts/cells.h"
#include "pages/job/job_page.h"

/* Rows of a table without --all. */
enum { GROUPS_MOST = 4, FINDINGS_MOST = 4, EVENTS_MOST = 4 };
/* The same in HTML; more groups are folded. */
enum { GROUPS_SHOWN = 12, GROUPS_FOLDED = 400, EVENTS_SHOWN = 40 };

/* HTML has space for more columns. */
#define ONLY_HTML (COLUMN_NO_TABLE | COLUMN_HTML)

/* --- groups of uplinks --- */

enum { SWITCH_GUID, SWITCH, TIER, DIRECTION, STATE, LINKS, BYTES, SHARED, SKEWED, CAUSE, EXCESS, EXCESS_EARLY,
       EXCESS_LATE, HOTTEST, MEASURED, PREDICTED, DESTINATIONS, ADAPTIVE, SINCE, NOTE, GROUP_COLUMNS };

static const struct column group_columns[GROUP_COLUMNS] = {
	[SWITCH_GUID] = { .key = "node_guid", .kind = COLUMN_GUID },
	[SWITCH] = { .key = "node", .title = "UPLINKS OF", .kind = COLUMN_TEXT,
		     .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[TIER] = { .key = "tier", .kind = COLUMN_INTEGER },
	[DIRECTION] = { .key = "direction", .title = "DIR", .kind = COLUMN_TEXT },
	[STATE] = { .key = "state", .title = "STATE", .kind = COLUMN_TEXT, .flags = ONLY_HTML },
	[LINKS] = { .key = "links", .title = "LINKS", .kind = COLUMN_INTEGER, .priority = 2 },
	[BYTES] = { .key = "bytes", .title = "BYTES", .kind = COLUMN_BYTES, .measured = true },
	[SHARED] = { .key = "shared", .kind = COLUMN_BOOL },
	[SKEWED] = { .key = "skewed", .kind = COLUMN_BOOL },
	[CAUSE] = { .key = "cause", .title = "CAUSE", .kind = COLUMN_TEXT },
	[EXCESS] = { .key = "imbalance_percent", .title = "IMBALANCE%", .kind = COLUMN_PERCENT },
	[EXCESS_EARLY] = { .key = "early_imbalance_percent", .title = "BEFORE%", .kind = COLUMN_PERCENT,
			   .flags = ONLY_HTML },
	[EXCESS_LATE] = { .key = "late_imbalance_percent", .title = "AFTER%", .kind = COLUMN_PERCENT,
			  .flags = ONLY_HTML },
	[HOTTEST] = { .key = "hottest_port", .title = "PORT", .kind = COLUMN_INTEGER },
	[MEASURED] = { .key = "measured_share_percent", .title = "SHARE%", .kind = COLUMN_PERCENT },
	[PREDICTED] = { .key = "predicted_share_percent", .title = "PREDICTED%", .kind = COLUMN_PERCENT,
			.priority = 1 },
	[DESTINATIONS] = { .key = "destinations_share_percent", .title = "LIDS%", .kind = COLUMN_PERCENT,
			   .priority = 1 },
	[ADAPTIVE] = { .key = "adaptive_routing", .title = "ADAPTIVE", .kind = COLUMN_TEXT, .flags = ONLY_HTML },
	[SINCE] = { .key = "uneven_since", .title = "UNEVEN SINCE", .kind = COLUMN_TIME, .flags = ONLY_HTML },
	[NOTE] = { .title = "NOTE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static void put_direction(struct result *result, size_t column, enum balance_direction direction)
{
	bool sent = direction == BALANCE_XMIT;

	result_text(result, column, sent ? "xmit" : "rcv");
	result_show(result, column, sent ? "TX" : "RX", STYLE_PLAIN);
}

/* Bytes are whole numbers in data. */
static void put_bytes(struct result *result, size_t column, struct measure bytes)
{
	if (isnan(bytes.value))
		return;
	result_unsigned(result, column, (uint64_t)bytes.value);
	if (measure_is_at_least(bytes))
		result_at_least(result, column);
}

static void put_group(const struct job_report *report, struct result *result, const struct job_group *group)
{
	static const char *const states[] = { "unknown", "idle", "active" };

	result_unsigned(result, SWITCH_GUID, report->fabric->nodes[group->node].guid);
	result_text(result, SWITCH, report->fabric->nodes[group->node].name);
	result_show(result, SWITCH, job_report_node_name(report, group->node), STYLE_PLAIN);
	result_target(result, SWITCH, report->fabric->nodes[group->node].guid, 0);
	result_integer(result, TIER, group->tier);
	put_direction(result, DIRECTION, group->direction);
	result_text(result, STATE, states[group->state]);
	result_integer(result, LINKS, group->count);
	put_bytes(result, BYTES, group->bytes);
	result_bool(result, SHARED, group->shared);
	result_bool(result, SKEWED, group->skewed);
	result_text(result, CAUSE, balance_cause_name(group->cause));
	if (group->skewed)
		result_show(result, CAUSE, NULL, STYLE_WARNING);
	result_measure(result, EXCESS, measure_scale(group->excess, 100));
	result_measure(result, EXCESS_EARLY, measure_scale(group->part_excess[JOB_EARLY], 100));
	result_measure(result, EXCESS_LATE, measure_scale(group->part_excess[JOB_LATE], 100));
	if (group->hottest != UINT32_MAX) {
		const struct job_uplink *hottest = &report->uplinks[group->first + group->hottest];

		result_integer(result, HOTTEST, report->fabric->ports[hottest->port].num);
		result_measure(result, MEASURED, measure_scale(hottest->share, 100));
		result_real(result, PREDICTED, 100 * hottest->member.predicted);
		result_real(result, DESTINATIONS, 100 * hottest->member.destinations);
	}
	result_text(result, ADAPTIVE, balance_adaptive_name(group->adaptive));
	cells_nonzero(result, SINCE, group->uneven_since_us);
	result_show(result, NOTE, group->skewed ? (group->shared ? "skewed, shared" : "skewed") :
		    group->shared ? "shared" : "", group->skewed ? STYLE_WARNING : STYLE_PLAIN);
	result_end_row(result);
}

/* Uneven for a reason: what few flows do by chance is no fault. */
static bool group_stands_out(const struct job_group *group)
{
	return group->skewed || (group->state == BALANCE_ACTIVE && group->cause != BALANCE_NONE);
}

static void put_groups(struct result *result, const void *ctx)
{
	const struct job_part *part = ctx;
	const struct job_report *report = part->report;
	bool brief = result_rendering(result) == PAGE_TEXT && !part->all;
	size_t active = 0, odd = 0, shown = 0;

	for (size_t i = 0; i < report->group_count; i++) {
		active += report->groups[i].state == BALANCE_ACTIVE;
		odd += group_stands_out(&report->groups[i]);
	}
	for (size_t i = part->from; i < part->until; i++)
		if (!brief || (group_stands_out(&report->groups[i]) && shown++ < GROUPS_MOST))
			put_group(report, result, &report->groups[i]);
	if (brief && odd)
		result_note(result, "standing out: %zu of %zu active group%s of uplinks; every group: --all", odd,
			    active, text_plural(active));
	else if (brief)
		result_none(result, "none of %zu active groups of uplinks stands out; every group: --all", active);
}

static void add_groups(const struct job_report *report, bool all, unsigned in, size_t from, size_t until,
		       struct page *page)
{
	struct job_part *part = job_part_of(page, report, all);

	if (!part)
		return;
	part->from = from;
	part->until = until;
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = in, .key = "uplink_groups",
					       .table = { group_columns, GROUP_COLUMNS, put_groups, part } });
}

void job_add_groups(const struct job_report *report, bool all, unsigned in, struct page *page)
{
	size_t active = 0;

	for (size_t i = 0; i < report->group_count; i++)
		active += report->groups[i].state == BALANCE_ACTIVE;
	if (!active && !(all && report->group_count))
		in &= ~(unsigned)PAGE_TEXT;
	if (in)
		add_groups(report, all, in, 0, report->group_count, page);
}

void job_add_groups_folded(const struct job_report *report, struct page *page)
{
	size_t shown = report->group_count < GROUPS_SHOWN ? report->group_count : GROUPS_SHOWN;
	size_t most = report->group_count < GROUPS_FOLDED ? report->group_count : GROUPS_FOLDED;

	if (!report->group_count)
		return;
	add_groups(report, true, PAGE_HTML, 0, shown, page);
	page_add_note(page, PAGE_HTML, true, "IMBALANCE%%: busiest uplink above the mean, relative to capacity. "
		      "PREDICTED%%: the share that the forwarding tables predict%s.",
		      report->routes_known ? "" : " (tables are unknown)");
	if (most == shown)
		return;
	page_add(page, &(struct page_section){
		.kind = PAGE_FOLD,
		.title = page_print(page, "%zu more of %zu groups", most - shown, report->group_count) });
	add_groups(report, true, PAGE_HTML, shown, most, page);
	page_close(page);
}

/* --- their members --- */

enum { UP_GUID, UP_NODE, UP_PORT, UP_PEER_GUID, UP_PEER, UP_PEER_PORT, UP_NAME, UP_PEER_NAME, UP_DIRECTION, UP_BYTES,
       UP_SHARED, UP_UTILIZATION, UP_MEASURED, UP_PREDICTED, UP_DESTINATIONS, UP_FAIR, UP_STALL, UP_EARLY, UP_LATE,
       UP_COLUMNS };

static const struct column uplink_columns[UP_COLUMNS] = {
	CELLS_NODE_COLUMNS(UP_GUID),
	CELLS_PEER_COLUMNS(UP_PEER_GUID),
	[UP_NAME] = { .title = "UPLINK", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[UP_PEER_NAME] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[UP_DIRECTION] = { .key = "direction", .title = "DIR", .kind = COLUMN_TEXT },
	[UP_BYTES] = { .key = "bytes", .title = "BYTES", .kind = COLUMN_BYTES, .measured = true },
	[UP_SHARED] = { .key = "shared", .kind = COLUMN_BOOL },
	[UP_UTILIZATION] = { .key = "utilization_percent", .title = "UTIL%", .kind = COLUMN_PERCENT },
	[UP_MEASURED] = { .key = "measured_share_percent", .title = "SHARE%", .kind = COLUMN_PERCENT },
	[UP_PREDICTED] = { .key = "predicted_share_percent", .title = "PREDICTED%", .kind = COLUMN_PERCENT },
	[UP_DESTINATIONS] = { .key = "destinations_share_percent", .title = "LIDS%", .kind = COLUMN_PERCENT },
	[UP_FAIR] = { .key = "fair_share_percent", .kind = COLUMN_PERCENT },
	[UP_STALL] = { .key = "stall_percent", .title = "XmitWait%", .kind = COLUMN_PERCENT, .measured = true },
	[UP_EARLY] = { .key = "early_bytes_per_s", .title = "EARLY", .kind = COLUMN_RATE },
	[UP_LATE] = { .key = "late_bytes_per_s", .title = "LATE", .kind = COLUMN_RATE },
};

static void put_uplink(const struct job_report *report, struct result *result, const struct job_group *group,
		       const struct job_uplink *uplink)
{
	uint32_t peer = report->fabric->ports[uplink->port].peer;
	char name[NODE_NAME_SIZE + 8];

	cells_port(result, UP_GUID, report->fabric, uplink->port);
	result_target(result, UP_NAME, report->fabric->nodes[report->fabric->ports[uplink->port].node].guid,
		      report->fabric->ports[uplink->port].num);
	result_show(result, UP_NAME, job_report_port_name(report, uplink->port, name, sizeof(name)), STYLE_PLAIN);
	if (peer != FABRIC_NONE) {
		cells_port(result, UP_PEER_GUID, report->fabric, peer);
		result_show(result, UP_PEER_NAME, job_report_port_name(report, peer, name, sizeof(name)), STYLE_PLAIN);
	}
	put_direction(result, UP_DIRECTION, group->direction);
	put_bytes(result, UP_BYTES, uplink->bytes);
	result_bool(result, UP_SHARED, group->shared);
	result_real(result, UP_UTILIZATION, 100 * uplink->member.utilization);
	result_measure(result, UP_MEASURED, measure_scale(uplink->share, 100));
	result_real(result, UP_PREDICTED, 100 * uplink->member.predicted);
	result_real(result, UP_DESTINATIONS, 100 * uplink->member.destinations);
	result_real(result, UP_FAIR, 100 * uplink->member.capacity);
	result_measure(result, UP_STALL, measure_of(100 * uplink->member.stall, !uplink->member.stall_at_least));
	result_real(result, UP_EARLY, uplink->part[JOB_EARLY]);
	result_real(result, UP_LATE, uplink->part[JOB_LATE]);
	result_end_row(result);
}

static void put_uplinks(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	for (size_t i = 0; i < report->group_count; i++)
		for (uint32_t j = 0; j < report->groups[i].count; j++)
			put_uplink(report, result, &report->groups[i], &report->uplinks[report->groups[i].first + j]);
}

void job_add_uplinks(const struct job_report *report, bool all, unsigned in, struct page *page)
{
	if (!all || !report->uplink_count)
		in &= ~(unsigned)PAGE_TEXT;
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = in, .key = "uplinks",
					       .table = { uplink_columns, UP_COLUMNS, put_uplinks, report } });
}

/* --- findings and changes --- */

enum { FINDING_SINCE, FINDING_CLOSED, FINDING_SEVERITY, FINDING_KIND, FINDING_SUBJECT, FINDING_BEFORE, FINDING_HELD,
       FINDING_ON_JOB, FINDING_WHERE, FINDING_TEXT, FINDING_ADVICE, FINDING_COLUMNS };

static const struct column finding_columns[FINDING_COLUMNS] = {
	[FINDING_SINCE] = { .key = "since", .title = "SINCE", .kind = COLUMN_TIME, .priority = 1 },
	[FINDING_CLOSED] = { .key = "closed", .title = "CLOSED", .kind = COLUMN_TIME, .flags = ONLY_HTML },
	[FINDING_SEVERITY] = { .key = "severity", .title = "SEVERITY", .kind = COLUMN_TEXT, .priority = 2 },
	[FINDING_KIND] = { .key = "kind", .title = "FINDING", .kind = COLUMN_TEXT },
	[FINDING_SUBJECT] = { .key = "subject", .title = "SUBJECT", .kind = COLUMN_TEXT,
			      .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[FINDING_BEFORE] = { .key = "before_job", .kind = COLUMN_BOOL },
	[FINDING_HELD] = { .key = "held_during_job", .kind = COLUMN_BOOL },
	[FINDING_ON_JOB] = { .key = "on_job", .kind = COLUMN_BOOL },
	[FINDING_WHERE] = { .title = "LINK", .kind = COLUMN_TEXT, .priority = 6 },
	[FINDING_TEXT] = { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_BELOW },
	[FINDING_ADVICE] = { .key = "advice", .title = "ACTION", .kind = COLUMN_TEXT, .flags = ONLY_HTML },
};

static void put_findings(struct result *result, const void *ctx)
{
	static const enum cell_style styles[] = { STYLE_PLAIN, STYLE_WARNING, STYLE_CRITICAL };
	const struct job_part *part = ctx;
	const struct job_report *report = part->report;
	unsigned rendering = result_rendering(result);
	size_t most = rendering == PAGE_TEXT && !part->all ? FINDINGS_MOST : report->finding_count, shown = 0;
	char since[WHEN_SIZE];

	for (; shown < report->finding_count && shown < most; shown++) {
		const struct job_finding *finding = &report->findings[shown];

		result_integer(result, FINDING_SINCE, finding->since_us);
		if (finding->before && rendering == PAGE_HTML)
			result_showf(result, FINDING_SINCE, STYLE_PLAIN, "%s (before the job)",
				     when_format_local(finding->since_us, since));
		cells_nonzero(result, FINDING_CLOSED, finding->closed_us);
		if (!finding->closed_us)
			result_show(result, FINDING_CLOSED, "open", STYLE_PLAIN);
		result_text(result, FINDING_SEVERITY, finding_severity_name(finding->severity));
		result_show(result, FINDING_SEVERITY, NULL, finding->past ? STYLE_DIM : styles[finding->severity]);
		result_text(result, FINDING_KIND, finding_kind_name(finding->kind));
		result_text(result, FINDING_SUBJECT, finding->subject);
		result_bool(result, FINDING_BEFORE, finding->before);
		result_bool(result, FINDING_HELD, !finding->past);
		result_bool(result, FINDING_ON_JOB, finding->on_job);
		result_text(result, FINDING_WHERE, !finding->on_job ? "elsewhere" : finding->past ? "before the job" :
						   "of the job");
		result_text(result, FINDING_TEXT, finding->text);
		result_text(result, FINDING_ADVICE, finding->advice);
		result_end_row(result);
	}
	result_none(result, "No finding was open during the job.");
	if (shown < report->finding_count)
		result_note(result, "%zu more finding%s %s open during the job: --all", report->finding_count - shown,
			    text_plural(report->finding_count - shown),
			    report->finding_count - shown == 1 ? "was" : "were");
}

void job_add_findings(const struct job_report *report, bool all, unsigned in, struct page *page)
{
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = report->finding_count ? in : in & ~(unsigned)PAGE_TEXT, .key = "findings",
		.table = { finding_columns, FINDING_COLUMNS, put_findings, job_part_of(page, report, all) } });
}

enum { EVENT_TIME, EVENT_KIND, EVENT_ON_JOB, EVENT_TEXT, EVENT_COLUMNS };

static const struct column event_columns[EVENT_COLUMNS] = {
	[EVENT_TIME] = { .key = "time", .title = "TIME", .kind = COLUMN_TIME },
	[EVENT_KIND] = { .key = "kind", .title = "CHANGE", .kind = COLUMN_TEXT },
	[EVENT_ON_JOB] = { .key = "on_job", .title = "ON ITS LINKS", .kind = COLUMN_BOOL, .flags = ONLY_HTML },
	[EVENT_TEXT] = { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_BELOW },
};

static void put_events(struct result *result, const void *ctx)
{
	const struct job_part *part = ctx;
	const struct job_report *report = part->report;
	unsigned rendering = result_rendering(result);
	size_t most = rendering == PAGE_HTML ? EVENTS_SHOWN : rendering == PAGE_TEXT && !part->all ? EVENTS_MOST :
		      report->event_count, shown = 0;

	for (; shown < report->event_count && shown < most; shown++) {
		const struct job_event *event = &report->events[shown];

		cells_nonzero(result, EVENT_TIME, event->wall_us);
		result_text(result, EVENT_KIND, event->kind);
		result_show(result, EVENT_KIND, NULL, event->bad ? STYLE_WARNING : STYLE_PLAIN);
		result_bool(result, EVENT_ON_JOB, event->on_job);
		result_text(result, EVENT_TEXT, event->text);
		result_end_row(result);
	}
	result_none(result, "No link or route changed during the job.");
	if (shown < report->event_count || report->events_left_out)
		result_note(result, "%zu more change%s%s", report->event_count - shown + report->events_left_out,
			    text_plural(report->event_count - shown + report->events_left_out),
			    shown < report->event_count ? ": --all" : "");
}

void job_add_events(const struct job_report *report, bool all, unsigned in, struct page *page)
{
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = report->event_count ? in : in & ~(unsigned)PAGE_TEXT, .key = "events",
		.table = { event_columns, EVENT_COLUMNS, put_events, job_part_of(page, report, all) } });
}

/* --- over time, in data only --- */

enum { SERIES_RAIL, SERIES_FROM, SERIES_UNTIL, SERIES_RATE, SERIES_COLUMNS };

static const struct column series_columns[SERIES_COLUMNS] = {
	[SERIES_RAIL] = { .key = "rail", .kind = COLUMN_TEXT }, [SERIES_FROM] = { .key = "from", .kind = COLUMN_TIME },
	[SERIES_UNTIL] = { .key = "until", .kind = COLUMN_TIME },
	[SERIES_RATE] = { .key = "bytes_per_s", .kind = COLUMN_REAL, .measured = true },
};

static void put_series(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	for (size_t i = 0; i < report->rail_count; i++)
		for (size_t j = 0; j < report->rails[i].series.count; j++) {
			const struct series_step *step = &report->rails[i].series.steps[j];

			result_text(result, SERIES_RAIL, report->rails[i].name);
			result_integer(result, SERIES_FROM, step->from_us);
			result_integer(result, SERIES_UNTIL, step->until_us);
			result_measure(result, SERIES_RATE, measure_of(step->mean, !step->at_least));
			result_end_row(result);
		}
}

enum { MAP_LEAF, MAP_SPINE, MAP_EARLY, MAP_LATE, MAP_COLUMNS };

static const struct column map_columns[MAP_COLUMNS] = {
	[MAP_LEAF] = { .key = "leaf", .kind = COLUMN_TEXT }, [MAP_SPINE] = { .key = "spine", .kind = COLUMN_TEXT },
	[MAP_EARLY] = { .key = "early_bytes_per_s", .kind = COLUMN_REAL },
	[MAP_LATE] = { .key = "late_bytes_per_s", .kind = COLUMN_REAL },
};

static void put_map(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;
	const struct job_map *map = &report->map;

	for (size_t i = 0; i < (size_t)map->rows * map->columns; i++) {
		if (isnan(map->part[JOB_EARLY][i]) && isnan(map->part[JOB_LATE][i]))
			continue;
		result_text(result, MAP_LEAF, job_report_node_name(report, map->row_nodes[i / map->columns]));
		result_text(result, MAP_SPINE, job_report_node_name(report, map->column_nodes[i % map->columns]));
		result_real(result, MAP_EARLY, map->part[JOB_EARLY][i]);
		result_real(result, MAP_LATE, map->part[JOB_LATE][i]);
		result_end_row(result);
	}
}

void job_add_rates_in_data(const struct job_report *report, struct page *page)
{
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "series",
					       .table = { series_columns, SERIES_COLUMNS, put_series, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "map",
					       .table = { map_columns, MAP_COLUMNS, put_map, report } });
}
