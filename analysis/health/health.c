/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/health.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/err.h"

void health_settings_default(struct health_settings *ret)
{
	*ret = (struct health_settings){
		.limits = {
			[FINDING_COVERAGE] = { .warning = 99, .critical = 90 },
			[FINDING_LINK_DOWN] = { .critical = 25 },
			[FINDING_LINK_FLAPPING] = { .warning = 2, .critical = 3 },
			[FINDING_SYMBOL_ERRORS] = { .warning = 8, .critical = 16 },
			[FINDING_RECEIVE_ERRORS] = { .warning = 10, .critical = 100 },
			[FINDING_FEC_UNCORRECTABLE] = { .warning = 5e-12, .critical = 1e-11 },
			[FINDING_XMIT_DISCARDS] = { .warning = 10, .critical = 200 },
			[FINDING_CONGESTION] = { .warning = 10, .critical = 30 },
			[FINDING_RAIL_IMBALANCE] = { .warning = 15 },
			[FINDING_LINK_ERRORS] = { .warning = 100 },
			[FINDING_CONSTRAINT_ERRORS] = { .warning = 200 },
			[FINDING_CABLE_HOT] = { .warning = 70 },
			[FINDING_JOB_STALLED] = { .warning = 2, .critical = 16 },
		},
		.down_after_us = 30 * SECOND_US,
		.degraded_after_us = MINUTE_US,
		.silent_after_us = 30 * SECOND_US,
		.silent_sweeps = 3,
		.restart_within_us = 30 * SECOND_US,
		.restart_charge_us = 5 * MINUTE_US,
		.training_us = 5 * MINUTE_US,
		.missing_after_us = 15 * MINUTE_US,
		.rack_hosts = 4,
		.forget_us = 7 * 24 * HOUR_US,
		.recovery_us = 5 * MINUTE_US,
		.state_recovery_us = MINUTE_US,
		.flap_recovery_us = 24 * HOUR_US,
		.old_ber_warning = 1e-12,
		.old_ber_critical = 1e-11,
		.edge_discards = 200,
		.vl15_drops = 50,
		.cable_rise_c = 10,
		.symbol_sweeps = 3,
	};
	balance_settings_default(&ret->balance);
}

static const struct health_rule *const rules[] = {
	&health_nodes, &health_silent, &health_counters, &health_links, &health_errors, &health_imbalance,
	&health_congestion, &health_rails, &health_resets, &health_fabric, &health_traffic, &health_cabling,
	&health_firmware, &health_cables, &health_partitions, &health_jobs,
};
static_assert(sizeof(rules) / sizeof(rules[0]) == HEALTH_RULES, "one state for each rule");

struct health *health_create(const struct health_settings *settings)
{
	struct health *health = calloc(1, sizeof(*health));

	if (!health)
		return NULL;
	health->settings = *settings;
	for (size_t i = 0; i < HEALTH_RULES; i++) {
		health->rule_states[i] = calloc(1, rules[i]->state_size + 1);
		if (!health->rule_states[i]) {
			health_destroy(health);
			return NULL;
		}
	}
	return health;
}

void health_destroy(struct health *health)
{
	if (!health)
		return;
	for (size_t i = 0; i < health->open.count; i++)
		free(health->open.list[i]);
	free(health->open.list);
	map_done(&health->open.by_key);
	free(health->table_requests.guids);
	free(health->counts);
	free(health->window.loads);
	for (size_t i = 0; i < HEALTH_RULES; i++) {
		if (rules[i]->done && health->rule_states[i])
			rules[i]->done(health->rule_states[i]);
		free(health->rule_states[i]);
	}
	health_inventory_done(health);
	free(health);
}

static uint64_t key_of(enum finding_kind kind, uint64_t guid, uint8_t port, uint8_t tag)
{
	return map_mix(guid) ^ map_mix(((uint64_t)kind << 16 | (uint64_t)port << 8 | tag) + 1);
}

/* Time without the condition before the finding closes. */
static int64_t recovery_us(const struct health_settings *settings, enum finding_kind kind)
{
	switch (kind) {
	case FINDING_LINK_FLAPPING:
		return settings->flap_recovery_us;
	case FINDING_SM_LOST:
	case FINDING_COVERAGE:
	case FINDING_LINK_DOWN:
	case FINDING_NODE_MISSING:
	case FINDING_NODE_SILENT:
	case FINDING_LINK_DEGRADED:
	case FINDING_LINK_NOT_ACTIVE:
	case FINDING_BLACK_HOLE:
	case FINDING_RAIL_MISWIRED:
	case FINDING_UPLINKS_MISSING:
	case FINDING_LOCKED:
	case FINDING_HOST_RESTART:
	case FINDING_LOG_GROWING:
	case FINDING_STORE_STALLED:
	case FINDING_TRAFFIC_FELL:
	case FINDING_NODES_LEFT_OUT:
	case FINDING_PLAN_DIFFERS:
	case FINDING_FIRMWARE_MIXED:
	case FINDING_CABLE_HOT:
	case FINDING_PARTITION:
	case FINDING_JOB_STALLED:
	case FINDING_JOB_SLOWER:
		return settings->state_recovery_us;
	default:
		return settings->recovery_us;
	}
}

struct health_open_finding *health_open_at(const struct health *health, size_t at)
{
	return (struct health_open_finding *)health->open.list[at];
}

struct health_open_finding *health_find_open(const struct health *health, enum finding_kind kind, uint64_t guid,
					     uint8_t port, uint8_t tag)
{
	uint32_t at;

	/* Dropped findings stay in the map until the end of the step. */
	if (!map_get(&health->open.by_key, key_of(kind, guid, port, tag), &at) || health_open_at(health, at)->dropped)
		return NULL;
	return health_open_at(health, at);
}

struct health_open_finding *health_find(struct health *health, enum finding_kind kind, const struct health_node *node,
					uint8_t port, uint8_t tag)
{
	struct health_open_finding *open = health_find_open(health, kind, node ? node->guid : 0, port, tag);

	return open || !node || tag ? open : health_find_merged(health, kind, node, port);
}

struct health_open_finding *health_find_link(struct health *health, enum finding_kind kind,
					     const struct health_port *port)
{
	struct health_open_finding *open = health_find(health, kind, port->node, port->num, 0);

	if (!open && port->peer)
		open = health_find(health, kind, port->peer->node, port->peer->num, 0);
	return open;
}

static struct health_open_finding *append(struct health *health, const struct finding *finding)
{
	struct health_open_finding *open = calloc(1, sizeof(*open));
	uint64_t key = key_of(finding->kind, finding->node_guid, finding->port, finding->tag);
	struct finding **grown = array_grow(health->open.list, health->open.count, &health->open.capacity,
					    sizeof(*grown));

	if (grown)
		health->open.list = grown;
	if (!open || !grown || map_put(&health->open.by_key, key, (uint32_t)health->open.count) < 0) {
		health->failed = true;
		free(open);
		return NULL;
	}
	open->finding = *finding;
	open->recovery_us = recovery_us(&health->settings, finding->kind);
	health->open.list[health->open.count++] = &open->finding;
	return open;
}

void health_set_severity(struct health_open_finding *open, enum finding_severity severity, int64_t at_us)
{
	struct finding *finding = &open->finding;

	if (severity < finding->severity && at_us - open->severe_us < open->recovery_us)
		return;
	open->changed |= severity != finding->severity;
	finding->severity = severity;
	open->severe_us = at_us;
}

static void set_cause(struct health_open_finding *open, const char *cause)
{
	const char *was = open->finding.cause;

	if (cause != was && (!cause || !was || strcmp(cause, was)))
		open->changed = true;
	open->finding.cause = cause;
	open->finding.advice = finding_advice(open->finding.kind, open->finding.severity, cause);
}

static int64_t held_us(const struct health *health, const struct health_case *what)
{
	return what->at.us ? what->at.us : health->now_us;
}

static struct health_time since_of(const struct health *health, const struct health_case *what)
{
	return what->since.us ? what->since : health_now(health);
}

/* A new finding of this case, without its subject. */
static struct finding make_finding(const struct health *health, const struct health_case *what)
{
	const struct health_node *node = what->port ? what->port->node : what->node;

	return (struct finding){
		.kind = what->kind, .severity = what->severity, .node_guid = node ? node->guid : 0,
		.port = what->port ? what->port->num : 0, .tag = what->tag,
		.since_us = since_of(health, what).wall_us,
		.last_seen_us = what->at.us ? what->at.wall_us : health->wall_us,
		.cause = what->cause, .advice = finding_advice(what->kind, what->severity, what->cause),
	};
}

/* The open finding of this case alone, or NULL. */
static struct health_open_finding *find_single(const struct health *health, const struct health_case *what)
{
	const struct health_port *port = what->port, *peer = port && what->either_end ? port->peer : NULL;
	const struct health_node *node = port ? port->node : what->node;
	struct health_open_finding *open = health_find_open(health, what->kind, node ? node->guid : 0,
							    port ? port->num : 0, what->tag);

	return open || !peer ? open : health_find_open(health, what->kind, peer->node->guid, peer->num, 0);
}

/* Return: NULL: out of memory. */
static struct health_open_finding *open_single(struct health *health, const struct health_case *what,
					       struct health_group *group)
{
	const struct finding finding = make_finding(health, what);
	struct health_open_finding *open = append(health, &finding);

	if (!open)
		return NULL;
	open->is_new = true;
	open->since = since_of(health, what);
	open->severe_us = held_us(health, what);
	open->opened_us = health->now_us;
	open->group = group;
	if (group) {
		group->link = what->link;
		group->due++;
	}
	return open;
}

/* The condition of a finding holds in this step; the rule sets its text and numbers afterwards. */
static void hold_single(struct health *health, struct health_open_finding *open, const struct health_case *what)
{
	const struct health_port *port = what->port;

	open->restored = open->ended = false;
	open->held_us = held_us(health, what);
	open->held_step = health->step;
	open->finding.last_seen_us = what->at.us ? what->at.wall_us : health->wall_us;
	open->finding.number_count = 0;
	open->extent = 0;
	/* An open finding of the other end names that end first. */
	if (what->link && port->peer && open->finding.node_guid == port->node->guid) {
		open->finding.peer_guid = port->peer->node->guid;
		open->finding.peer_port = port->peer->num;
	}
	health_set_severity(open, what->severity, open->held_us);
	set_cause(open, what->cause);
	if (what->subject)
		health_subject(open, "%s", what->subject);
	else if (port)
		health_name_port(health, open, port, what->link);
	else
		health_subject(open, "%s", what->node ? what->node->name : "fabric");
	if (what->link)
		health_affected_link(health, open, port);
}

struct health_open_finding *health_hold(struct health *health, const struct health_case *what)
{
	struct health_open_finding *open;

	health_add_pending(health);
	if (health->settings.limits[what->kind].off)
		return &health->ignored;
	open = find_single(health, what);
	if (!open) {
		struct health_group *group = health_find_group(health, what);
		struct health_port *member = group ? health_find_member(health, what, group) : NULL;

		if (member) {
			health->pending.group = group;
			health->pending.port = member;
			health->pending.open.finding = make_finding(health, what);
			health->pending.open.since = since_of(health, what);
			health->pending.open.held_us = held_us(health, what);
			return &health->pending.open;
		}
		open = open_single(health, what, group);
	}
	if (!open)
		return &health->ignored;
	hold_single(health, open, what);
	return open;
}

void health_extend(struct health *health, struct health_open_finding *open)
{
	open->held_us = health->now_us;
	open->held_step = health->step;
	if (*open->past)
		snprintf(open->finding.text, sizeof(open->finding.text), "%s", open->past);
}

void health_drop(struct health_open_finding *open)
{
	if (open)
		open->dropped = true;
}

/* At least four sweeps: with a long interval a condition is seen less often. */
static int64_t recovery_now_us(const struct health *health, const struct health_open_finding *open)
{
	int64_t sweeps_us = 4 * health->input->interval_us;

	return open->recovery_us > sweeps_us ? open->recovery_us : sweeps_us;
}

void health_increase(const struct health *health, struct health_open_finding *open, struct health_time last,
		     int64_t gap_us)
{
	/* With random increases, one of 150 pauses is that long. */
	int64_t pause_us = health->now_us - last.us, improbable_us = 5 * gap_us;
	int64_t least_us = MINUTE_US > 2 * health->input->interval_us ? MINUTE_US : 2 * health->input->interval_us;

	open->increased_us = last.us;
	open->finding.increased_us = last.wall_us;
	open->finding.stopped = pause_us >= improbable_us && pause_us >= least_us;
	open->ended = pause_us >= improbable_us && pause_us >= recovery_now_us(health, open);
}

bool health_debounce(struct health *health, struct debounce *debounce, bool bad, unsigned sweeps, int64_t after_us,
		     bool is_open)
{
	if (!bad || !debounce->good_us)
		debounce->good_us = health->now_us;
	if (!bad) {
		debounce->sweeps = 0;
		return false;
	}
	if (!debounce->sweeps++)
		debounce->bad = health_now(health);
	return is_open || (debounce->sweeps >= sweeps && health->now_us - debounce->good_us >= after_us);
}

int health_restore(struct health *health, const struct finding *finding, struct error *err)
{
	struct health_open_finding *open;

	if (finding->kind >= FINDING_KIND_COUNT ||
	    health_find_open(health, finding->kind, finding->node_guid, finding->port, finding->tag))
		return 0;
	open = append(health, finding);
	if (!open) {
		health->failed = false;
		return err_nomem(err);
	}
	open->restored = true;
	open->finding.advice = finding_advice(finding->kind, finding->severity, finding->cause);
	open->finding.closed_us = 0;
	/* The first step converts its times to the clock of this process (start_restored). */
	health->restored = true;
	return 0;
}

/* Time after a restart in which every condition that holds can be detected again. */
static int64_t restart_grace_us(const struct health *health)
{
	int64_t sweeps_us = 4 * health->input->interval_us;

	return sweeps_us > MINUTE_US ? sweeps_us : MINUTE_US;
}

/* Time since a label of an earlier run; none if the clock was set back since. */
static int64_t back_us(const struct health *health, int64_t wall_us)
{
	return wall_us < health->wall_us ? health->wall_us - wall_us : 0;
}

/*
 * First step after a restart: only the wall clock is common to both runs. No finding closes before
 * its condition could be detected again, which takes a minute.
 */
static void start_restored(struct health *health)
{
	for (size_t i = 0; health->restored && i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);
		int64_t age_us = back_us(health, open->finding.last_seen_us);
		int64_t most_us = recovery_now_us(health, open) - restart_grace_us(health);

		if (age_us > most_us && open->finding.kind != FINDING_LINK_FLAPPING)
			age_us = most_us;
		open->held_us = health->now_us - age_us;
		open->since = (struct health_time){ health->now_us - back_us(health, open->finding.since_us),
						    open->finding.since_us };
		open->severe_us = open->held_us;
	}
}

static void rehash(struct health *health)
{
	map_done(&health->open.by_key);
	for (size_t i = 0; i < health->open.count; i++) {
		const struct finding *finding = health->open.list[i];

		if (map_put(&health->open.by_key,
			    key_of(finding->kind, finding->node_guid, finding->port, finding->tag), (uint32_t)i) < 0)
			health->failed = true;
	}
}

/* Some rules evaluate windows, and a restart needs a minute to detect a condition again. */
bool health_holds_now(const struct health *health, const struct health_open_finding *open)
{
	if (open->held_step >= (finding_is_of_window(open->finding.kind) ? health->window.step : health->step))
		return true;
	return open->restored && !open->finding.ok_since_us &&
	       health->now_us - health->first_us < restart_grace_us(health);
}

/* Its condition has ended, holds again, or is unchanged. */
static void update_state(const struct health *health, struct health_open_finding *open)
{
	struct finding *finding = &open->finding;
	bool holds = finding_is_event(finding) || health_holds_now(health, open);
	char text[sizeof(finding->text)];
	int len;

	if (holds && !open->ended) {
		finding->ok_since_us = 0;
		return;
	}
	/* The rule has set the text of this step if it holds. */
	if (finding->ok_since_us && !holds)
		return;
	finding->ok_since_us = finding->ok_since_us ? finding->ok_since_us : health->wall_us;
	health_restore_worst(open);
	snprintf(text, sizeof(text), "%s", *open->past ? open->past : finding->text);
	len = snprintf(finding->text, sizeof(finding->text), "%s",
		       *open->past ? "" : "before a restart of the collector: ");
	memcpy(finding->text + len, text, sizeof(text) - (size_t)len);
	finding->text[sizeof(finding->text) - 1] = '\0';
}

/* A finding closes: those that it explained are shown by themselves. @to: of @from findings are kept */
static void forget_origin(struct health *health, size_t from, size_t to, const struct health_open_finding *closed)
{
	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);

		if ((i < to || i > from) && open->origin == closed)
			health_set_origin(health, open, NULL);
	}
}

/* Time for which the condition of a kind must last before it opens; 0: its rule has none of its own. */
static int64_t after_us(const struct health_settings *settings, enum finding_kind kind)
{
	switch (kind) {
	case FINDING_LINK_DOWN:
	case FINDING_BLACK_HOLE:
		return settings->down_after_us;
	case FINDING_LINK_DEGRADED:
	case FINDING_LINK_NOT_ACTIVE:
	case FINDING_PLAN_DIFFERS:
		return settings->degraded_after_us;
	case FINDING_NODE_SILENT:
	case FINDING_SM_LOST:
	case FINDING_COVERAGE:
		return settings->silent_after_us;
	default:
		return 0;
	}
}

/*
 * Append the thresholds in force to the evidence. A rule that holds writes its evidence from the start, so they are
 * appended after each of its evaluations.
 */
static void add_thresholds(const struct health *health, struct health_open_finding *open)
{
	const struct health_settings *settings = &health->settings;
	enum finding_kind kind = open->finding.kind;
	const double limits[] = { settings->limits[kind].warning, settings->limits[kind].critical };

	for (unsigned i = 0; i < 2; i++)
		if (limits[i] > 0 && finding_kind_info(kind)->thresholds[i])
			health_number(open, finding_kind_info(kind)->thresholds[i], limits[i]);
	if (after_us(settings, kind))
		health_number(open, FINDING_THRESHOLD "after_s", (double)after_us(settings, kind) / SECOND_US);
	if (kind == FINDING_UPLINK_IMBALANCE) {
		health_number(open, FINDING_THRESHOLD "table_ratio", settings->balance.table_ratio);
		health_number(open, FINDING_THRESHOLD "excess_percent", 100 * settings->balance.measured_excess);
	}
	if (finding_is_of_window(kind))
		health_number(open, FINDING_THRESHOLD "window_s", (double)settings->balance.window_us / SECOND_US);
}

/* Report findings that opened, changed or closed, and remove the closed ones. */
static void finish(struct health *health, health_report_fn *report, void *ctx)
{
	char thresholds[160];
	size_t to = 0;

	for (size_t from = 0; from < health->open.count; from++) {
		struct health_open_finding *open = health_open_at(health, from);
		bool ends = open->dropped || health->now_us - open->held_us >= recovery_now_us(health, open);

		if (open->folded) {
			free(open);
			continue;
		}
		update_state(health, open);
		if (open->held_step == health->step && !finding_format_thresholds(&open->finding, thresholds))
			add_thresholds(health, open);
		if (open->held_step == health->step)
			health_keep_worst(open);
		if (open->is_new || (open->changed && !ends))
			report(ctx, open->is_new ? HEALTH_OPENED : HEALTH_CHANGED, &open->finding);
		open->is_new = open->changed = false;
		if (!ends) {
			health->open.list[to++] = &open->finding;
			continue;
		}
		open->finding.closed_us = health->wall_us;
		report(ctx, HEALTH_CLOSED, &open->finding);
		forget_origin(health, from, to, open);
		free(open);
	}
	if (to == health->open.count)
		return;
	health->open.count = to;
	rehash(health);
}

void health_run_window(struct health *health)
{
	for (size_t i = 0; i < HEALTH_RULES; i++)
		if (rules[i]->window)
			rules[i]->window(health, health->rule_states[i]);
}

void health_explain_rules(struct health *health)
{
	for (size_t i = 0; i < HEALTH_RULES; i++)
		if (rules[i]->explain)
			rules[i]->explain(health, health->rule_states[i]);
}

int health_step(struct health *health, const struct health_input *input, health_report_fn *report, void *ctx,
		struct error *err)
{
	health->input = input;
	health->now_us = input->boot_us;
	health->wall_us = input->wall_us;
	if (!health->step)
		health->first_us = health->now_us;
	health->failed = false;
	health->table_requests.count = 0;
	start_restored(health);
	if (health_update_inventory(health) < 0) {
		health->input = NULL;
		return err_nomem(err);
	}
	if (health->restored)
		health_restore_state(health);
	health->restored = false;
	health_start_groups(health);
	for (size_t i = 0; i < HEALTH_RULES; i++)
		if (rules[i]->sweep)
			rules[i]->sweep(health, health->rule_states[i]);
	health_finish_groups(health);
	health_find_origins(health);
	finish(health, report, ctx);
	health->step++;
	health->last_us = health->now_us;
	health->input = NULL;
	return health->failed ? err_nomem(err) : 0;
}

static struct watched_jobs *jobs_of(const struct health *health)
{
	size_t at = 0;

	while (rules[at] != &health_jobs)
		at++;
	return health->rule_states[at];
}

int health_job_samples(struct health *health, int64_t boot_us, const struct health_sample *samples, size_t count,
		       struct error *err)
{
	return health_jobs_between(health, jobs_of(health), boot_us, samples, count) < 0 ? err_nomem(err) : 0;
}

const struct job_state *health_job_state(const struct health *health, int64_t number)
{
	return health_jobs_state(jobs_of(health), number);
}

size_t health_wants_tables(const struct health *health, const uint64_t **ret_guids)
{
	*ret_guids = health->table_requests.guids;
	return health->table_requests.count;
}

size_t health_open(const struct health *health, const struct finding *const **ret)
{
	*ret = (const struct finding *const *)health->open.list;
	return health->open.count;
}
