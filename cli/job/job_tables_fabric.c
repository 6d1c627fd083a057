/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_tables_fabric.c - uplinks, findings, changes and rates over time of a report */
#include <math.h>

#include "base/err.h"
#include "cli/job/job_tables.h"
#include "facts/cells.h"
#include "cli/lib/options.h"
#include "fabric/fabric.h"

/* Rows of a table without --all. */
enum { GROUPS_MOST = 4, FINDINGS_MOST = 4, EVENTS_MOST = 4 };

/* --- groups of uplinks --- */

enum { SWITCH_GUID, SWITCH, TIER, DIRECTION, STATE, LINKS, BYTES, SHARED, SKEWED, CAUSE, EXCESS, EXCESS_EARLY,
       EXCESS_LATE, HOTTEST, MEASURED, PREDICTED, DESTINATIONS, ADAPTIVE, SINCE, NOTE, GROUP_COLUMNS };

static const struct column group_columns[GROUP_COLUMNS] = {
	[SWITCH_GUID] = { .key = "node_guid", .kind = COLUMN_GUID },
	[SWITCH] = { .key = "node", .title = "UPLINKS OF", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	[TIER] = { .key = "tier", .kind = COLUMN_INTEGER },
	[DIRECTION] = { .key = "direction", .title = "DIR", .kind = COLUMN_TEXT },
	[STATE] = { .key = "state", .kind = COLUMN_TEXT },
	[LINKS] = { .key = "links", .title = "LINKS", .kind = COLUMN_INTEGER, .priority = 2 },
	[BYTES] = { .key = "bytes", .title = "BYTES", .kind = COLUMN_BYTES },
	[SHARED] = { .key = "shared", .kind = COLUMN_BOOL },
	[SKEWED] = { .key = "skewed", .kind = COLUMN_BOOL },
	[CAUSE] = { .key = "cause", .title = "CAUSE", .kind = COLUMN_TEXT },
	[EXCESS] = { .key = "imbalance_percent", .title = "IMBALANCE%", .kind = COLUMN_PERCENT },
	[EXCESS_EARLY] = { .key = "early_imbalance_percent", .kind = COLUMN_PERCENT },
	[EXCESS_LATE] = { .key = "late_imbalance_percent", .kind = COLUMN_PERCENT },
	[HOTTEST] = { .key = "hottest_port", .title = "PORT", .kind = COLUMN_INTEGER },
	[MEASURED] = { .key = "measured_share_percent", .title = "SHARE%", .kind = COLUMN_PERCENT },
	[PREDICTED] = { .key = "predicted_share_percent", .title = "PREDICTED%", .kind = COLUMN_PERCENT,
			.priority = 1 },
	[DESTINATIONS] = { .key = "destinations_share_percent", .title = "LIDS%", .kind = COLUMN_PERCENT,
			   .priority = 1 },
	[ADAPTIVE] = { .key = "adaptive_routing", .kind = COLUMN_TEXT },
	[SINCE] = { .key = "uneven_since", .kind = COLUMN_TIME },
	[NOTE] = { .title = "NOTE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static void put_direction(struct result *result, size_t column, enum balance_direction direction)
{
	bool sent = direction == BALANCE_XMIT;

	result_text(result, column, sent ? "xmit" : "rcv");
	result_show(result, column, sent ? "TX" : "RX", STYLE_PLAIN);
}

static void put_group(const struct job_report *report, struct result *result, const struct job_group *group)
{
	static const char *const states[] = { "unknown", "idle", "active" };

	result_unsigned(result, SWITCH_GUID, report->fabric->nodes[group->node].guid);
	result_text(result, SWITCH, report->fabric->nodes[group->node].name);
	result_show(result, SWITCH, job_report_node_name(report, group->node), STYLE_PLAIN);
	result_integer(result, TIER, group->tier);
	put_direction(result, DIRECTION, group->direction);
	result_text(result, STATE, states[group->state]);
	result_integer(result, LINKS, group->count);
	result_unsigned(result, BYTES, group->bytes);
	result_bool(result, SHARED, group->shared);
	result_bool(result, SKEWED, group->skewed);
	result_text(result, CAUSE, balance_cause_name(group->cause));
	if (group->skewed)
		result_show(result, CAUSE, NULL, STYLE_WARNING);
	result_real(result, EXCESS, 100 * group->excess);
	result_real(result, EXCESS_EARLY, 100 * group->part_excess[JOB_EARLY]);
	result_real(result, EXCESS_LATE, 100 * group->part_excess[JOB_LATE]);
	if (group->hottest != UINT32_MAX) {
		const struct job_uplink *hottest = &report->uplinks[group->first + group->hottest];

		result_integer(result, HOTTEST, report->fabric->ports[hottest->port].num);
		result_real(result, MEASURED, 100 * hottest->member.measured);
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

int job_put_groups(struct job_output *output, struct error *err)
{
	const struct job_report *report = output->report;
	bool is_table = output->print.format == RESULT_TABLE, all = output->print.all || !is_table;
	size_t active = 0, odd = 0, shown = 0;
	struct result *result;

	for (size_t i = 0; i < report->group_count; i++) {
		active += report->groups[i].state == BALANCE_ACTIVE;
		odd += group_stands_out(&report->groups[i]);
	}
	if (is_table && !active && !(output->print.all && report->group_count))
		return 0;
	result = job_section(output, "uplink_groups", false, group_columns, GROUP_COLUMNS);
	for (size_t i = 0; i < report->group_count; i++)
		if (all || (group_stands_out(&report->groups[i]) && shown++ < GROUPS_MOST))
			put_group(report, result, &report->groups[i]);
	if (!all && odd)
		result_note(result, "standing out: %zu of %zu active groups of uplinks; every group: --all", odd,
			    active);
	else if (!all)
		result_none(result, "none of %zu active groups of uplinks stands out; every group: --all", active);
	return output_end(result, 0, err);
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
	[UP_BYTES] = { .key = "bytes", .title = "BYTES", .kind = COLUMN_BYTES },
	[UP_SHARED] = { .key = "shared", .kind = COLUMN_BOOL },
	[UP_UTILIZATION] = { .key = "utilization_percent", .title = "UTIL%", .kind = COLUMN_PERCENT },
	[UP_MEASURED] = { .key = "measured_share_percent", .title = "SHARE%", .kind = COLUMN_PERCENT },
	[UP_PREDICTED] = { .key = "predicted_share_percent", .title = "PREDICTED%", .kind = COLUMN_PERCENT },
	[UP_DESTINATIONS] = { .key = "destinations_share_percent", .title = "LIDS%", .kind = COLUMN_PERCENT },
	[UP_FAIR] = { .key = "fair_share_percent", .kind = COLUMN_PERCENT },
	[UP_STALL] = { .key = "stall_percent", .title = "XmitWait%", .kind = COLUMN_PERCENT },
	[UP_EARLY] = { .key = "early_bytes_per_s", .title = "EARLY", .kind = COLUMN_RATE },
	[UP_LATE] = { .key = "late_bytes_per_s", .title = "LATE", .kind = COLUMN_RATE },
};

static void put_uplink(const struct job_report *report, struct result *result, const struct job_group *group,
		       const struct job_uplink *uplink)
{
	uint32_t peer = report->fabric->ports[uplink->port].peer;
	char name[NODE_NAME_SIZE + 8];

	cells_port(result, UP_GUID, report->fabric, uplink->port);
	result_show(result, UP_NAME, job_report_port_name(report, uplink->port, name, sizeof(name)), STYLE_PLAIN);
	if (peer != FABRIC_NONE) {
		cells_port(result, UP_PEER_GUID, report->fabric, peer);
		result_show(result, UP_PEER_NAME, job_report_port_name(report, peer, name, sizeof(name)), STYLE_PLAIN);
	}
	put_direction(result, UP_DIRECTION, group->direction);
	if (uplink->member.known)
		result_unsigned(result, UP_BYTES, uplink->bytes);
	result_bool(result, UP_SHARED, group->shared);
	result_real(result, UP_UTILIZATION, 100 * uplink->member.utilization);
	result_real(result, UP_MEASURED, 100 * uplink->member.measured);
	result_real(result, UP_PREDICTED, 100 * uplink->member.predicted);
	result_real(result, UP_DESTINATIONS, 100 * uplink->member.destinations);
	result_real(result, UP_FAIR, 100 * uplink->member.capacity);
	result_real(result, UP_STALL, 100 * uplink->member.stall);
	result_real(result, UP_EARLY, uplink->part[JOB_EARLY]);
	result_real(result, UP_LATE, uplink->part[JOB_LATE]);
	result_end_row(result);
}

int job_put_uplinks(struct job_output *output, struct error *err)
{
	const struct job_report *report = output->report;
	struct result *result;

	if (output->print.format == RESULT_TABLE && (!output->print.all || !report->uplink_count))
		return 0;
	result = job_section(output, "uplinks", false, uplink_columns, UP_COLUMNS);
	for (size_t i = 0; i < report->group_count; i++)
		for (uint32_t j = 0; j < report->groups[i].count; j++)
			put_uplink(report, result, &report->groups[i], &report->uplinks[report->groups[i].first + j]);
	return output_end(result, 0, err);
}

/* --- findings and changes --- */

enum { FINDING_SINCE, FINDING_CLOSED, FINDING_SEVERITY, FINDING_KIND, FINDING_SUBJECT, FINDING_BEFORE, FINDING_ON_JOB,
       FINDING_WHERE, FINDING_TEXT, FINDING_ADVICE, FINDING_COLUMNS };

static const struct column finding_columns[FINDING_COLUMNS] = {
	[FINDING_SINCE] = { .key = "since", .title = "SINCE", .kind = COLUMN_TIME, .priority = 1 },
	[FINDING_CLOSED] = { .key = "closed", .kind = COLUMN_TIME },
	[FINDING_SEVERITY] = { .key = "severity", .title = "SEVERITY", .kind = COLUMN_TEXT, .priority = 2 },
	[FINDING_KIND] = { .key = "kind", .title = "FINDING", .kind = COLUMN_TEXT },
	[FINDING_SUBJECT] = { .key = "subject", .title = "SUBJECT", .kind = COLUMN_TEXT,
			      .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[FINDING_BEFORE] = { .key = "before_job", .kind = COLUMN_BOOL },
	[FINDING_ON_JOB] = { .key = "on_job", .kind = COLUMN_BOOL },
	[FINDING_WHERE] = { .title = "LINK", .kind = COLUMN_TEXT, .priority = 6 },
	[FINDING_TEXT] = { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_BELOW },
	[FINDING_ADVICE] = { .key = "advice", .kind = COLUMN_TEXT },
};

int job_put_findings(struct job_output *output, struct error *err)
{
	const struct job_report *report = output->report;
	bool all = output->print.all || output->print.format != RESULT_TABLE;
	struct result *result;
	size_t shown = 0;

	if (output->print.format == RESULT_TABLE && !report->finding_count)
		return 0;
	result = job_section(output, "findings", false, finding_columns, FINDING_COLUMNS);
	for (size_t i = 0; i < report->finding_count && (all || shown < FINDINGS_MOST); i++) {
		const struct job_finding *finding = &report->findings[i];

		result_integer(result, FINDING_SINCE, finding->since_us);
		cells_nonzero(result, FINDING_CLOSED, finding->closed_us);
		result_text(result, FINDING_SEVERITY, finding_severity_name(finding->severity));
		result_text(result, FINDING_KIND, finding_kind_name(finding->kind));
		result_text(result, FINDING_SUBJECT, finding->subject);
		result_bool(result, FINDING_BEFORE, finding->before);
		result_bool(result, FINDING_ON_JOB, finding->on_job);
		result_text(result, FINDING_WHERE, finding->on_job ? "of the job" : "elsewhere");
		result_text(result, FINDING_TEXT, finding->text);
		result_text(result, FINDING_ADVICE, finding->advice);
		result_end_row(result);
		shown++;
	}
	if (shown < report->finding_count)
		result_note(result, "%zu more findings were open during the job: --all", report->finding_count - shown);
	return output_end(result, 0, err);
}

enum { EVENT_TIME, EVENT_KIND, EVENT_ON_JOB, EVENT_TEXT, EVENT_COLUMNS };

static const struct column event_columns[EVENT_COLUMNS] = {
	[EVENT_TIME] = { .key = "time", .title = "TIME", .kind = COLUMN_TIME },
	[EVENT_KIND] = { .key = "kind", .title = "CHANGE", .kind = COLUMN_TEXT },
	[EVENT_ON_JOB] = { .key = "on_job", .kind = COLUMN_BOOL },
	[EVENT_TEXT] = { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_BELOW },
};

int job_put_events(struct job_output *output, struct error *err)
{
	const struct job_report *report = output->report;
	bool all = output->print.all || output->print.format != RESULT_TABLE;
	struct result *result;
	size_t shown = 0;

	if (output->print.format == RESULT_TABLE && !report->event_count)
		return 0;
	result = job_section(output, "events", false, event_columns, EVENT_COLUMNS);
	for (size_t i = 0; i < report->event_count && (all || shown < EVENTS_MOST); i++) {
		const struct job_event *event = &report->events[i];

		cells_nonzero(result, EVENT_TIME, event->wall_us);
		result_text(result, EVENT_KIND, event->kind);
		result_bool(result, EVENT_ON_JOB, event->on_job);
		result_text(result, EVENT_TEXT, event->text);
		result_end_row(result);
		shown++;
	}
	if (shown < report->event_count || report->events_left_out)
		result_note(result, "%zu more changes%s", report->event_count - shown + report->events_left_out,
			    shown < report->event_count ? ": --all" : "");
	return output_end(result, 0, err);
}

/* --- over time, in data only --- */

int job_put_series(struct job_output *output, struct error *err)
{
	enum { RAIL, FROM, UNTIL, RATE, COLUMNS };
	static const struct column columns[COLUMNS] = {
		[RAIL] = { .key = "rail", .kind = COLUMN_TEXT }, [FROM] = { .key = "from", .kind = COLUMN_TIME },
		[UNTIL] = { .key = "until", .kind = COLUMN_TIME },
		[RATE] = { .key = "bytes_per_s", .kind = COLUMN_REAL },
	};
	const struct job_report *report = output->report;
	struct result *result = job_section(output, "series", false, columns, COLUMNS);

	for (size_t i = 0; i < report->rail_count; i++)
		for (size_t j = 0; j < report->rails[i].series.count; j++) {
			const struct series_step *step = &report->rails[i].series.steps[j];

			result_text(result, RAIL, report->rails[i].name);
			result_integer(result, FROM, step->from_us);
			result_integer(result, UNTIL, step->until_us);
			result_real(result, RATE, step->mean);
			result_end_row(result);
		}
	return output_end(result, 0, err);
}

int job_put_map(struct job_output *output, struct error *err)
{
	enum { LEAF, SPINE, EARLY, LATE, COLUMNS };
	static const struct column columns[COLUMNS] = {
		[LEAF] = { .key = "leaf", .kind = COLUMN_TEXT }, [SPINE] = { .key = "spine", .kind = COLUMN_TEXT },
		[EARLY] = { .key = "early_bytes_per_s", .kind = COLUMN_REAL },
		[LATE] = { .key = "late_bytes_per_s", .kind = COLUMN_REAL },
	};
	const struct job_map *map = &output->report->map;
	struct result *result = job_section(output, "map", false, columns, COLUMNS);

	for (size_t i = 0; i < (size_t)map->rows * map->columns; i++) {
		if (isnan(map->part[JOB_EARLY][i]) && isnan(map->part[JOB_LATE][i]))
			continue;
		result_text(result, LEAF, job_report_node_name(output->report, map->row_nodes[i / map->columns]));
		result_text(result, SPINE, job_report_node_name(output->report, map->column_nodes[i % map->columns]));
		result_real(result, EARLY, map->part[JOB_EARLY][i]);
		result_real(result, LATE, map->part[JOB_LATE][i]);
		result_end_row(result);
	}
	return output_end(result, 0, err);
}
