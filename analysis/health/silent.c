/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unresponsive nodes, whose links are up while the performance agent does not respond; and the
 * share of ports that were read.
 */
#include <string.h>

#include "analysis/health/state.h"

/* Unresponsive nodes of this step, and the share of ports that were read. */
struct silent {
	uint32_t polled, silent;    /* nodes */
	bool mass;                  /* too many to be faults of the nodes */
	struct debounce coverage;
};

/* All switches that an HCA is cabled to are unresponsive. */
static bool is_behind_silent_switch(const struct health_node *node)
{
	uint32_t cabled = 0;

	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *peer = node->ports[i].peer;

		if (!peer)
			continue;
		if (peer->node->type != NODE_SWITCH || !peer->node->silence.sweeps)
			return false;
		cabled++;
	}
	return cabled > 0;
}

/* None of its links is Active: performance queries do not reach it (link-not-active, or sm-lost). */
static bool is_unreachable(const struct health_node *node)
{
	bool waits = false;

	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *port = &node->ports[i];

		if (!port->peer || port->link != LINK_IS_UP)
			continue;
		if (port->degraded != DEGRADED_NOT_ACTIVE && port->peer->degraded != DEGRADED_NOT_ACTIVE)
			return false;
		waits = true;
	}
	return waits;
}

static void count_responses(struct health *health)
{
	const struct health_input *input = health->input;

	for (size_t i = 0; i < health->node_count; i++)
		health->nodes[i]->polled = health->nodes[i]->responded = health->nodes[i]->unread = 0;
	for (size_t i = 0; i < input->sample_count; i++) {
		enum sample_status status = input->samples[i].status;
		struct health_node *node = health->port_of[input->samples[i].port]->node;

		node->responded += status == SAMPLE_OK;
		node->polled += status == SAMPLE_OK || status == SAMPLE_SILENT || status == SAMPLE_BACKOFF;
		node->unread += status == SAMPLE_UNFINISHED;
	}
	for (size_t i = 0; i < health->node_count; i++)
		if (!health->nodes[i]->responded && is_unreachable(health->nodes[i]))
			health->nodes[i]->polled = health->nodes[i]->unread = 0;
}

unsigned health_count_responding(const struct health *health, uint64_t guid)
{
	unsigned ports = 0;

	for (size_t i = 0; i < health->node_count; i++)
		if (!guid || health->nodes[i]->guid == guid)
			ports += health->nodes[i]->responded;
	return ports;
}

/*
 * A subnet manager removes an unresponsive switch, and with it the routes to the HCAs behind it.
 * Only the switch is reported. When it responds again, the delay of these HCAs is restarted. A
 * finding that is already open stays.
 */
static void mark_behind_silent_switch(struct health *health, struct silent *all)
{
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		node->behind_silent_switch = node->type == NODE_CA && node->polled && !node->responded &&
					     is_behind_silent_switch(node) &&
					     !health_find(health, FINDING_NODE_SILENT, node, 0, 0);
		if (!node->behind_silent_switch)
			continue;
		all->silent -= node->silent;
		node->silent = true;
		node->silence = (struct debounce){ .good_us = health->now_us };
	}
}

/* Update the unresponsive nodes and since when they are. */
static void find_silent(struct health *health, struct silent *all)
{
	const struct health_settings *settings = &health->settings;

	all->polled = all->silent = 0;
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];
		bool silent = node->polled && !node->responded;

		node->silent = health_debounce(health, &node->silence, silent, settings->silent_sweeps,
					       settings->silent_after_us,
					       silent && health_find(health, FINDING_NODE_SILENT, node, 0, 0));
		all->polled += node->polled > 0;
		all->silent += node->silent;
	}
	mark_behind_silent_switch(health, all);
	/* A mass failure is not a fault of the nodes: it is reported as coverage. */
	all->mass = all->silent > 8 && all->silent * 10 > all->polled;
}

static void hold_silent(struct health *health, const struct health_node *node, uint32_t hcas, const char *host)
{
	bool is_switch = node->type == NODE_SWITCH, is_host = hcas > 1;
	int64_t silent_us = health->now_us - node->silence.good_us;
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_SILENT, .severity = is_switch ? FINDING_CRITICAL : FINDING_WARNING, .node = node,
		.since_wall_us = node->silence.bad_wall_us, .cause = is_switch ? "switch" : is_host ? "host" : "hca",
		.subject = is_host ? host : NULL });
	char since[32];

	health_duration(silent_us, since);
	if (is_host)
		health_text(open, "%u HCAs of %s " TENSE("have", "had") " not responded for %s; their links "
			    TENSE("are", "were") " up", hcas, host, since);
	else
		health_text(open, "%s " TENSE("has", "had") " not responded for %s; its links " TENSE("are", "were")
			    " up", node->name, since);
	health_number(open, "silent_s", (double)silent_us / SECOND_US);
	health_number(open, "silent_sweeps", node->silence.sweeps);
	health_number(open, "nodes", hcas);
	if (host)
		health_affected_host(open, host);
	else
		health_affected_below(health, open, node);
}

static void report_silent(struct health *health)
{
	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_node *first = NULL;
		uint32_t count = 0;

		for (const struct health_node *node = health->hosts[i]->first; node; node = node->host_next) {
			if (!node->silent || node->behind_silent_switch)
				continue;
			count++;
			if (!first || node->guid < first->guid)
				first = node;
		}
		if (count)
			hold_silent(health, first, count, health->hosts[i]->name);
	}
	for (uint32_t i = 0; i < health->node_count; i++)
		if (health->nodes[i]->silent && !health->nodes[i]->host)
			hold_silent(health, health->nodes[i], 1, NULL);
}

/*
 * Switches respond, and no HCA except that of this host does: an access problem, not faults of the
 * HCAs.
 */
static bool is_only_hcas(const struct health *health)
{
	uint32_t polled = 0, responded = 0, switches = 0;

	for (size_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = health->nodes[i];

		if (!node->polled || (node->now != FABRIC_NONE && node->now == health->input->fabric->from_node))
			continue;
		if (node->type == NODE_SWITCH) {
			switches += node->responded > 0;
		} else {
			polled++;
			responded += node->responded > 0;
		}
	}
	return polled >= 2 && !responded && switches;
}

static const char *coverage_cause(const struct health *health, uint64_t missing, uint64_t unread)
{
	if (unread * 2 > missing)
		return "sweep-cut";
	if (health->unidentified * 2 > missing)
		return "unidentified-nodes";
	return is_only_hcas(health) ? "hcas-silent" : "silent";
}

/* The ports that were not read, without those of unresponsive nodes that have a finding of their own. */
static void list_missing(struct health *health, const struct silent *silent, struct health_set *ret)
{
	const struct health_input *input = health->input;

	for (size_t i = 0; i < input->sample_count; i++) {
		enum sample_status status = input->samples[i].status;
		const struct health_port *port = health->port_of[input->samples[i].port];

		if ((status == SAMPLE_SILENT || status == SAMPLE_BACKOFF || status == SAMPLE_UNFINISHED) &&
		    port->node->polled + port->node->unread && (silent->mass || !port->node->silent))
			health_set_add(ret, port);
	}
	for (uint32_t i = 0; i < input->fabric->port_count; i++)
		if (port_is_unidentified(&input->fabric->ports[i]))
			health_set_add(ret, health->port_of[i]);
}

static void check_coverage(struct health *health, struct silent *silent)
{
	const struct health_settings *settings = &health->settings;
	const struct health_limits *limits = &settings->limits[FINDING_COVERAGE];
	/* Behind each link to an unidentified node is at least one port that is not read. */
	uint64_t all = health->unidentified, missing = health->unidentified, unread = 0;
	struct health_open_finding *open;
	struct health_set ports = { 0 };
	char reason[256];
	const char *cause;
	double percent;

	for (size_t i = 0; i < health->node_count; i++) {
		const struct health_node *node = health->nodes[i];

		all += node->polled + node->unread;
		/* An unresponsive node has a finding of its own, except during a mass failure. */
		if (node->silent && !silent->mass)
			continue;
		missing += node->polled - node->responded + node->unread;
		unread += node->unread;
	}
	percent = all ? 100.0 - 100.0 * (double)missing / (double)all : 100;
	if (!health_debounce(health, &silent->coverage, percent < limits->warning, settings->silent_sweeps,
			     settings->silent_after_us, health_find(health, FINDING_COVERAGE, NULL, 0, 0)))
		return;
	cause = coverage_cause(health, missing, unread);
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_COVERAGE, .severity = percent < limits->critical ? FINDING_CRITICAL : FINDING_WARNING,
		.since_wall_us = silent->coverage.bad_wall_us, .cause = cause });
	if (!strcmp(cause, "hcas-silent"))
		snprintf(reason, sizeof(reason), TENSE("switches respond and HCAs do not: a PM_Key is set, or this "
			 "host is", "switches responded and HCAs did not: a PM_Key was set, or this host was")
			 " not a full member of the default partition" TENSE(" (ibwire ports state:silent)", ""));
	else if (!strcmp(cause, "unidentified-nodes"))
		snprintf(reason, sizeof(reason), "links to unidentified nodes: %zu" TENSE(" (ibwire ports "
			 "state:unidentified); such a node has not responded to any discovery: it hangs, or has an "
			 "M_Key", ""), health->unidentified);
	else
		snprintf(reason, sizeof(reason), "not reached before the end of the sweep: %llu"
			 TENSE(" (ibwire ports state:unfinished)", "") "; unresponsive nodes: %u"
			 TENSE(" (ibwire ports state:silent)", ""), (unsigned long long)unread, silent->silent);
	health_text(open, "%.1f %% of %llu ports were read (threshold %.0f %%); %s", percent, (unsigned long long)all,
		    limits->warning, reason);
	list_missing(health, silent, &ports);
	health_list_set(open, &ports);
	health_number(open, "coverage_percent", percent);
	health_number(open, "ports_missing", (double)missing);
	health_number(open, "ports_to_unidentified_nodes", (double)health->unidentified);
	health_number(open, "nodes_silent", silent->silent);
}

static void sweep(struct health *health, void *state)
{
	struct silent *silent = state;

	count_responses(health);
	find_silent(health, silent);
	if (!silent->mass)
		report_silent(health);
	check_coverage(health, silent);
}

const struct health_rule health_silent = { .state_size = sizeof(struct silent), .sweep = sweep };
