/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_findings.c - findings that were open during a job, and links and routes that changed */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "fabric/speed.h"
#include "facts/event_text.h"
#include "pages/job/job_work.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "storage/saved.h"

struct taking {
	struct job_work *work;
	struct error *err;
	int code;
};

/* Is this port an end of a link of the job, or with @num 0 this node one of its switches or HCAs? */
static bool is_on_job(const struct job_work *work, uint64_t guid, uint8_t num)
{
	const struct fabric *fabric = work->report->fabric;
	uint32_t node = guid ? fabric_find_node(fabric, guid) : FABRIC_NONE, port;

	if (node == FABRIC_NONE)
		return false;
	if (num) {
		port = fabric_node_port(fabric, node, num);
		return port != FABRIC_NONE && work->on_job[port];
	}
	if (fabric->nodes[node].type == NODE_SWITCH)
		return work->above[node];
	for (port = fabric->nodes[node].first_port; port < fabric->nodes[node].first_port + fabric->nodes[node].ports;
	     port++)
		if (work->on_job[port])
			return true;
	return false;
}

/* Is a link, which may have left the fabric, between two switches that the job uses? */
static bool is_between(const struct job_work *work, uint64_t guid, uint64_t peer_guid)
{
	const struct fabric *fabric = work->report->fabric;
	uint32_t a = guid ? fabric_find_node(fabric, guid) : FABRIC_NONE;
	uint32_t b = peer_guid ? fabric_find_node(fabric, peer_guid) : FABRIC_NONE;

	return a != FABRIC_NONE && b != FABRIC_NONE && work->above[a] && work->above[b];
}

/* --- findings --- */

/* Rates that are read in long steps do not show when a group became uneven; its finding does. */
static void date_group(struct job_report *report, const struct finding *finding)
{
	if (finding->kind != FINDING_UPLINK_IMBALANCE || finding->port)
		return;
	for (size_t i = 0; i < report->group_count; i++) {
		struct job_group *group = &report->groups[i];

		if (group->skewed && !group->uneven_since_us && finding->tag == group->direction + 1 &&
		    finding->since_us > report->begin_us &&
		    finding->node_guid == report->fabric->nodes[group->node].guid)
			group->uneven_since_us = finding->since_us;
	}
}

/* What the links of a finding counted during the job; unknown if an end was not read, or was reset. */
static void count_errors(const struct job_work *work, const struct finding *finding, struct job_finding *ret)
{
	const struct fabric *fabric = work->report->fabric;
	counter_set counters = finding_counters(finding->kind);
	uint64_t guid;
	uint8_t num;

	ret->counted = counters != 0;
	for (unsigned at = 0; finding_end(finding, fabric, at, &guid, &num); at++) {
		uint32_t port = guid && num ? fabric_find_port(fabric, guid, num) : FABRIC_NONE;
		const struct delta *delta = port == FABRIC_NONE ? NULL : &work->deltas[port];
		counter_set known = delta ? delta->known & counters : 0;

		if (!guid || !num)
			continue;
		ret->counted &= delta && delta->elapsed_us > 0 && known &&
				!(delta_lower_bounds(delta) & counters);
		for (counter_set left = known; left; left &= left - 1)
			ret->errors += delta->value[__builtin_ctzll(left)];
	}
}

/* A fault that was over when the job began is no property of the job. */
static bool is_past(const struct job_report *report, const struct finding *finding, const struct job_finding *job)
{
	if (!job->before)
		return false;
	if (job->counted)
		return !job->errors;
	return (finding->increased_us && finding->increased_us < report->begin_us) ||
	       (finding->ok_since_us && finding->ok_since_us <= report->begin_us);
}

static bool take_finding(void *ctx, const struct finding_row *row)
{
	struct taking *taking = ctx;
	struct job_report *report = taking->work->report;
	const struct finding *finding = &row->finding;
	struct job_finding *added = job_grow(report, &report->findings, &report->finding_count, sizeof(*added));
	uint64_t guid;
	uint8_t num;

	date_group(report, finding);
	if (added) {
		*added = (struct job_finding){
			.kind = finding->kind, .severity = finding->severity, .since_us = finding->since_us,
			.closed_us = finding->closed_us, .before = finding->since_us < report->begin_us,
			.subject = job_text(report, "%s", finding->subject),
			.text = job_text(report, "%s", finding->text),
			.advice = job_text(report, "%s", finding->advice),
		};
		added->on_job = finding->port && is_between(taking->work, finding->node_guid, finding->peer_guid);
		for (unsigned at = 0; !added->on_job && finding_end(finding, report->fabric, at, &guid, &num); at++)
			added->on_job = is_on_job(taking->work, guid, num);
		/* Another job may share its hosts. */
		if (finding_job(finding))
			added->on_job = finding_job(finding) == report->job.number;
		count_errors(taking->work, finding, added);
		added->refusal = finding_is_refusal(finding);
		added->past = is_past(report, finding, added);
	}
	if (!added || !added->subject || !added->text || !added->advice)
		taking->code = err_nomem(taking->err);
	return taking->code == 0;
}

static int compare_findings(const void *a, const void *b)
{
	const struct job_finding *x = a, *y = b;

	if (x->on_job != y->on_job)
		return x->on_job ? -1 : 1;
	if (x->past != y->past)
		return x->past ? 1 : -1;
	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	return (x->since_us > y->since_us) - (x->since_us < y->since_us);
}

/* --- events --- */

static bool is_change(const char *kind)
{
	static const char *const kinds[] = {
		EVENT_LINK_UP, EVENT_LINK_DOWN, EVENT_LINK_STATE, EVENT_LINK_RATE, EVENT_PEER_CHANGED,
		EVENT_NODE_ADDED, EVENT_NODE_REMOVED, EVENT_ROUTES_CHANGED, EVENT_ADAPTIVE_ROUTING,
		EVENT_SM_CHANGED, EVENT_SM_LOST, EVENT_COUNTERS_CLEARED, EVENT_CLOCK_STEPPED,
		EVENT_COLLECTOR_STARTED,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

static int add_event(struct job_work *work, int64_t wall_us, const char *kind, bool on_job, bool bad,
		     const char *text, struct error *err)
{
	struct job_report *report = work->report;
	struct job_event *event = job_grow(report, &report->events, &report->event_count, sizeof(*event));

	if (event) {
		*event = (struct job_event){ .wall_us = wall_us, .on_job = on_job, .bad = bad,
					     .text = job_text(report, "%s", text) };
		snprintf(event->kind, sizeof(event->kind), "%s", kind);
	}
	return event && event->text ? 0 : err_nomem(err);
}

/* Tables of a switch changed, and its uplinks became uneven. */
static void blame_tables(struct job_report *report, const struct event *event)
{
	for (size_t i = 0; i < report->group_count; i++) {
		struct job_group *group = &report->groups[i];

		if (group->direction == BALANCE_XMIT && job_became_uneven(group) &&
		    event->node_guid == report->fabric->nodes[group->node].guid)
			group->skewed = true;
	}
}

static bool take_event(void *ctx, const struct event_row *row)
{
	struct taking *taking = ctx;
	struct job_report *report = taking->work->report;
	const struct event *event = &row->event;
	bool on_job = is_on_job(taking->work, event->node_guid, event->port) ||
		      is_on_job(taking->work, event->peer_guid, event->peer_port) ||
		      (event->port && is_between(taking->work, event->node_guid, event->peer_guid));
	char text[sizeof(event->text)];

	if (!is_change(event->kind) || (event->node_guid && !on_job))
		return true;
	if (!strcmp(event->kind, EVENT_ROUTES_CHANGED))
		blame_tables(report, event);
	if (report->event_count == JOB_EVENTS_MOST) {
		report->events_left_out++;
		return true;
	}
	taking->code = add_event(taking->work, event->wall_us, event->kind, on_job, event->severity != EVENT_INFO,
				 event_text(report->fabric, event->text, text, sizeof(text)), taking->err);
	return taking->code == 0;
}

/* --- changes between two snapshots, without a collector --- */

static void describe(const struct fabric *fabric, uint32_t port, char *ret, size_t size)
{
	const struct port *of = port == FABRIC_NONE ? NULL : &fabric->ports[port];

	if (!of)
		snprintf(ret, size, "not in the fabric");
	else if (of->state != PORT_ACTIVE)
		snprintf(ret, size, "%s", port_state_name(of->state));
	else
		snprintf(ret, size, "%ux %s", link_width_lanes(of->width), link_speed_name(of->speed));
}

static int compare_link(struct job_work *work, uint32_t port, struct error *err)
{
	struct job_report *report = work->report;
	const struct fabric *fabrics[2] = { work->saved[0]->fabric, work->saved[1]->fabric };
	const struct port *of = &report->fabric->ports[port];
	char states[2][64], peers[2][NODE_NAME_SIZE + 8] = { "", "" }, name[NODE_NAME_SIZE + 8];
	uint64_t rates[2] = { 0, 0 };
	char *text;

	for (int i = 0; i < 2; i++) {
		uint32_t at = fabric_find_port(fabrics[i], report->fabric->nodes[of->node].guid, of->num);

		describe(fabrics[i], at, states[i], sizeof(states[i]));
		if (at == FABRIC_NONE || fabrics[i]->ports[at].state != PORT_ACTIVE)
			continue;
		rates[i] = port_rate_bits_per_s(&fabrics[i]->ports[at]);
		at = fabrics[i]->ports[at].peer;
		if (at != FABRIC_NONE)
			snprintf(peers[i], sizeof(peers[i]), "%s/%u",
				 fabrics[i]->names.shown[fabrics[i]->ports[at].node], fabrics[i]->ports[at].num);
	}
	job_report_port_name(report, port, name, sizeof(name));
	if (strcmp(states[0], states[1]) != 0)
		text = job_text(report, "%s: %s -> %s", name, states[0], states[1]);
	else if (*peers[0] && *peers[1] && strcmp(peers[0], peers[1]) != 0)
		text = job_text(report, "%s: its peer was %s, and is %s", name, peers[0], peers[1]);
	else
		return 0;
	if (!text)
		return err_nomem(err);
	return add_event(work, 0, strcmp(states[0], states[1]) != 0 ? EVENT_LINK_RATE : EVENT_PEER_CHANGED, true,
			 rates[1] < rates[0] || *peers[0], text, err);
}

static int compare_saved(struct job_work *work, struct error *err)
{
	const struct fabric *fabric = work->report->fabric;
	int code = 0;

	/* One end of each link: that of the HCA or of the lower switch. */
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++)
		if (work->on_job[i] && (work->port_of[i] != FABRIC_NONE || (fabric->ports[i].peer != FABRIC_NONE &&
		    work->port_of[fabric->ports[i].peer] == FABRIC_NONE && i < fabric->ports[i].peer)))
			code = compare_link(work, i, err);
	return code;
}

int job_read_findings(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	const struct finding_query findings = { .since_us = report->begin_us, .until_us = report->end_us };
	const struct event_query events = { .since_us = report->begin_us, .until_us = report->end_us };
	struct taking taking = { .work = work, .err = err };
	int code;

	if (!report->has_history)
		return work->saved[0] && work->saved[1] ? compare_saved(work, err) : 0;
	code = reader_events(work->reader, &events, take_event, &taking, err);
	if (code == 0 && taking.code == 0)
		code = reader_findings(work->reader, &findings, take_finding, &taking, err);
	if (code == 0 && report->finding_count)
		qsort(report->findings, report->finding_count, sizeof(*report->findings), compare_findings);
	return code == ERR_UNAVAILABLE ? 0 : code < 0 ? code : taking.code;
}
