/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters that were reset: by another tool, by an operator, or because a device restarted.
 *
 * Single resets are info. Resets of a port that follow each other form a series; a series of REPEATED_RESETS is
 * a warning, since a tool clears the counters regularly and most of their deltas are lower bounds. One warning
 * covers all ports: it is of the port, of the node or of the fabric, by the ports that belong to it.
 */
#include "analysis/health/state.h"

/* From this number on, resets of single ports are one finding. */
enum { MANY_CLEARED = 10 };

/* A series: so many resets, none of them later than the gap after the one before. */
enum { REPEATED_RESETS = 4, SERIES_GAP_US = 10 * MINUTE_US };

/* The older half of a longer series is dropped, so that its period is that of the recent past. */
enum { SERIES_MAX = 64 };

enum { REPEATED_TAG = 1 };

struct resets {
	int64_t pending_us; /* first reset that was not reported yet; 0: none */
	int64_t last_us;    /* 0: never */
};

static void record(struct health *health, struct resets *state, struct health_port *port)
{
	struct health_resets *series = &port->resets;

	if (!port->first_reset.us)
		port->first_reset = health_now(health);
	if (!state->pending_us)
		state->pending_us = health->now_us;
	state->last_us = health->now_us;
	if (!series->count || health->now_us - series->last_us > SERIES_GAP_US)
		*series = (struct health_resets){ .first_us = health->now_us, .bounds = 1,
						  .deltas = 1 };
	series->last_us = health->now_us;
	if (++series->count < SERIES_MAX)
		return;
	series->first_us += (series->last_us - series->first_us) / 2;
	series->count /= 2;
	series->bounds /= 2;
	series->deltas /= 2;
}

static void record_all(struct health *health, struct resets *state)
{
	for (size_t i = 0; i < health->input->sample_count; i++) {
		const struct health_sample *sample = &health->input->samples[i];
		struct health_port *port = health->port_of[sample->port];

		if (!sample->delta)
			continue;
		port->resets.deltas += port->resets.count > 0;
		port->resets.bounds += port->resets.count && sample->delta->reset;
		if (sample->delta->reset & ~sample->suspected && !health_is_training(health, port) &&
		    !health_is_charged(health, port))
			record(health, state, port);
	}
}

/* Does its series go on? At the latest, the next reset is due after twice the mean period. */
static bool is_current(const struct health *health, const struct health_port *port)
{
	const struct health_resets *series = &port->resets;
	int64_t most_us = 3 * health->input->interval_us;

	if (series->count < 2 || port->node->now == FABRIC_NONE)
		return false;
	if (2 * (series->last_us - series->first_us) / (series->count - 1) > most_us)
		most_us = 2 * (series->last_us - series->first_us) / (series->count - 1);
	return health->now_us - series->last_us <= most_us;
}

/* The ports with a current series. */
struct members {
	struct health_set ports;
	bool repeated;      /* one of the series is long enough to be reported */
	int64_t since_us, span_us;
	uint64_t bounds, deltas, periods;
};

static void find_members(struct health *health, struct members *ret)
{
	*ret = (struct members){ .since_us = health->now_us };
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		const struct health_resets *series = &port->resets;

		if (!is_current(health, port))
			continue;
		health_set_add(&ret->ports, port);
		ret->repeated |= series->count >= REPEATED_RESETS;
		if (series->first_us < ret->since_us)
			ret->since_us = series->first_us;
		ret->span_us += series->last_us - series->first_us;
		ret->periods += series->count - 1;
		ret->bounds += series->bounds;
		ret->deltas += series->deltas;
	}
}

/* The warning replaces those about single resets of the same ports. */
static void drop_single(const struct health *health, const struct finding *repeated)
{
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);

		if (open->finding.kind == FINDING_COUNTERS_CLEARED && !open->finding.tag &&
		    (!repeated->node_guid || open->finding.node_guid == repeated->node_guid) &&
		    (!repeated->port || open->finding.port == repeated->port))
			health_drop(open);
	}
}

static void describe(struct health *health, struct health_open_finding *open, const struct members *all)
{
	const struct health_node *node = health_find_node(health, open->finding.node_guid);
	double period_s = (double)all->span_us / (double)all->periods / SECOND_US;
	double percent = 100.0 * (double)all->bounds / (double)all->deltas;
	/* Of several resets within an interval, one is seen. */
	bool often = period_s * SECOND_US < 3 * (double)health->input->interval_us;
	unsigned polled = health_count_read(health, open->finding.node_guid);
	char of[192] = "", every[32];

	if (!open->finding.port)
		snprintf(of, sizeof(of), " of %u of %u ports%s%.120s", all->ports.count, polled, node ? " of " : "",
			 node ? node->name : "");
	health_text(open, "counters%s " TENSE("are", "were") " reset externally %severy %s%s (threshold: %d times, "
		    "each within %d min of the last): %.0f %% of the deltas of %s " TENSE("are", "were") " lower "
		    "bounds",
		    of, often ? "" : "about ", health_duration((int64_t)(period_s * SECOND_US) + SECOND_US / 2, every),
		    often ? " or more often" : "", REPEATED_RESETS, SERIES_GAP_US / MINUTE_US, percent,
		    all->ports.count > 1 ? "these ports" : "this port");
	health_number(open, "reset_period_s", period_s);
	health_number(open, "ports", all->ports.count);
	open->extent = all->ports.count;
	health_number(open, "ports_polled", polled);
	health_number(open, "lower_bounds_percent", percent);
}

static void check_repeated(struct health *health, const struct resets *state)
{
	struct health_open_finding *open;
	struct members all;

	if (!state->last_us)
		return;
	open = health_find_tag(health, FINDING_COUNTERS_CLEARED, REPEATED_TAG);
	find_members(health, &all);
	if (all.repeated || (open && !open->restored && all.ports.count)) {
		open = health_hold_set(health, &(struct health_case){
			.kind = FINDING_COUNTERS_CLEARED, .severity = FINDING_WARNING, .tag = REPEATED_TAG,
			.since = health_before(health, health->now_us - all.since_us), .cause = "repeated" },
			&all.ports);
		describe(health, open, &all);
		drop_single(health, &open->finding);
	} else if (open && open->restored && health->now_us - state->last_us <= SERIES_GAP_US) {
		/* A restored finding stays open until the new series shows its period. */
		health_extend(health, open);
	}
}

/*
 * Resets are reported a minute after the first, when their number is known. Many are one finding:
 * of the node if all of its ports are on one, else of the fabric.
 */
static void report_single(struct health *health, struct resets *state)
{
	const struct health_open_finding *repeated = health_find_tag(health, FINDING_COUNTERS_CLEARED, REPEATED_TAG);
	struct health_time since = { .us = INT64_MAX };
	struct health_open_finding *open;
	struct health_set ports = { 0 };

	if (!state->pending_us || health->now_us - state->pending_us < MINUTE_US)
		return;
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		if (repeated && (repeated->restored || port->resets.count >= 2))
			port->first_reset.us = 0;
		if (!port->first_reset.us)
			continue;
		health_set_add(&ports, port);
		if (port->first_reset.us < since.us)
			since = port->first_reset;
	}
	if (ports.count >= MANY_CLEARED) {
		open = health_hold_set(health, &(struct health_case){
			.kind = FINDING_COUNTERS_CLEARED, .severity = FINDING_INFO, .since = since,
			.cause = "external" }, &ports);
		health_text(open, "counters of %u ports were reset externally within a minute (ibwire clear, "
			    "perfquery), or a device restarted", ports.count);
		health_number(open, "ports", ports.count);
		open->extent = ports.count;
	}
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		if (port->first_reset.us && ports.count < MANY_CLEARED)
			health_text(health_hold(health, &(struct health_case){
					.kind = FINDING_COUNTERS_CLEARED, .severity = FINDING_INFO, .port = port,
					.since = port->first_reset, .cause = "external" }),
				    "counters were reset externally (ibwire clear, perfquery), or the device "
				    "restarted");
		port->first_reset.us = 0;
	}
	state->pending_us = 0;
}

static void sweep(struct health *health, void *state)
{
	record_all(health, state);
	check_repeated(health, state);
	report_single(health, state);
}

const struct health_rule health_resets = { .state_size = sizeof(struct resets), .sweep = sweep };
