/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unresponsive nodes, whose links are up while the performance agent does not respond; and the
 * share of ports that were read.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/text.h"
#include "fabric/planes.h"
#include "fabric/routes.h"

/* Unresponsive nodes of this step, and the share of ports that were read. */
struct silent {
	uint32_t polled, silent;    /* nodes */
	bool mass;                  /* too many to be faults of the nodes */
	struct debounce coverage;
};

static bool is_unresponsive(const struct health_node *node)
{
	return node->polled && !node->responded;
}

/*
 * None of its links is Active: performance queries do not reach it (link-not-active, or sm-lost). A subnet manager
 * also leaves the links of a node in Init that does not respond to SMPs: such a node was not discovered, either.
 */
static bool is_unreachable(const struct health *health, const struct health_node *node)
{
	bool waits = false;

	if (node->now == FABRIC_NONE || health->input->fabric->nodes[node->now].kept)
		return false;

	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *port = &node->ports[i];

		if (!port->peer || port->link != LINK_IS_UP)
			continue;
		if (port->degraded != HEALTH_NOT_ACTIVE && port->peer->degraded != HEALTH_NOT_ACTIVE)
			return false;
		waits = true;
	}
	return waits;
}

static uint32_t agent_port(const struct fabric *fabric, uint32_t node)
{
	return fabric_port_agent(fabric, fabric->nodes[node].first_port);
}

/* The route leads to a link that is down. */
static bool ends_at_link(const struct health *health, uint32_t from, uint32_t to)
{
	const struct fabric *fabric = health->input->fabric;
	const struct health_node *node;
	struct route_trace trace;
	uint8_t out;

	routes_trace(health->input->routes, fabric, from, to, 0, &trace);
	if (trace.end != ROUTE_DOWN && trace.end != ROUTE_BLACK_HOLE)
		return false;
	node = health_find_node(health, fabric->nodes[trace.at].guid);
	out = routes_out_port(routes_find(health->input->routes, fabric->nodes[trace.at].guid),
			      fabric_port_lid(fabric, &fabric->ports[to]));
	return node && out < node->slots && health_link_is_down(&node->ports[out]);
}

/* Queries or responses do not arrive, because the subnet manager has not routed around a link that is down. */
static bool is_unrouted(const struct health *health, const struct health_node *node)
{
	const struct health_node *own = health_own_node(health);
	const struct fabric *fabric = health->input->fabric;
	uint32_t here, there;

	if (!health->down_ports || !health->input->routes || !own || own->now == FABRIC_NONE ||
	    node->now == FABRIC_NONE || node == own || !node->polled)
		return false;
	here = agent_port(fabric, own->now);
	there = agent_port(fabric, node->now);
	return ends_at_link(health, here, there) || ends_at_link(health, there, here);
}

static bool nothing_responds(const struct health *health)
{
	for (size_t i = 0; i < health->node_count; i++)
		if (health->nodes[i]->responded)
			return false;
	return true;
}

static void count_responses(struct health *health)
{
	const struct health_input *input = health->input;
	bool nothing;

	for (size_t i = 0; i < health->node_count; i++)
		health->nodes[i]->polled = health->nodes[i]->responded = health->nodes[i]->unread =
			health->nodes[i]->refused = 0;
	for (size_t i = 0; i < input->sample_count; i++) {
		enum sample_status status = input->samples[i].status;
		struct health_node *node = health->port_of[input->samples[i].port]->node;

		node->responded += status == SAMPLE_OK;
		node->polled += status == SAMPLE_OK || status == SAMPLE_SILENT || status == SAMPLE_BACKOFF;
		node->unread += status == SAMPLE_UNFINISHED;
		node->refused += status == SAMPLE_UNSUPPORTED && !port_is_plane(input->fabric, input->samples[i].port);
		node->had_counters |= status == SAMPLE_OK;
	}
	nothing = nothing_responds(health);
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		/* The tables are old if nothing responds. */
		node->unrouted = !node->responded && !nothing && is_unrouted(health, node);
		if (!node->responded && (node->isolated || node->unrouted || is_unreachable(health, node)))
			node->polled = node->unread = 0;
	}
}

/* A neighbor responds, or is not polled: it is known what is behind it. */
static bool has_responsive_neighbor(const struct health *health, const struct health_node *node)
{
	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_node *peer = node->ports[i].peer ? node->ports[i].peer->node : NULL;

		if (peer && (peer->now != FABRIC_NONE && !is_unresponsive(peer) && !peer->unrouted &&
			     (peer->responded || !health->input->fabric->nodes[peer->now].kept)))
			return true;
		if (peer && peer == health_own_node(health))
			return true;
	}
	return false;
}

/* Whatever is cabled to @from and does not respond is behind it. */
static void hide(struct health_node **queue, size_t *tail, struct health_node *from)
{
	for (uint32_t i = 0; i < from->slots; i++) {
		struct health_node *next = from->ports[i].peer ? from->ports[i].peer->node : NULL;

		if (!next || next->through || !(is_unresponsive(next) || next->unrouted))
			continue;
		next->through = from->through;
		next->behind = true;
		if (next->type == NODE_SWITCH)
			from->through->hidden_switches++;
		else
			from->through->hidden_hcas++;
		queue[(*tail)++] = next;
	}
}

/*
 * Unresponsive nodes at the border of those that respond, and those behind them: SMPs and routes lead through the
 * former, and a subnet manager removes both. So whether the latter work is unknown. When the border responds
 * again, the delay of the nodes behind it is restarted. A finding that is already open stays.
 */
static void find_behind(struct health *health, struct silent *all)
{
	struct health_node **queue = calloc(health->node_count + 1, sizeof(struct health_node *));
	const struct health_node *own = health_own_node(health);
	bool own_fails = own && is_unresponsive(own) && nothing_responds(health);
	size_t head = 0, tail = 0;

	health->failed |= !queue;
	for (size_t i = 0; queue && i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		if (is_unresponsive(node) && (own_fails ? node == own : has_responsive_neighbor(health, node))) {
			node->through = node;
			queue[tail++] = node;
		}
	}
	for (; head < tail; head++)
		hide(queue, &tail, queue[head]);
	free(queue);
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];

		if (!node->behind)
			continue;
		all->silent -= node->silent;
		if (health_find(health, FINDING_NODE_SILENT, node, 0, 0))
			continue;
		node->silent = true;
		node->silence = (struct debounce){ .good_us = health->now_us };
	}
}

/* Update the unresponsive nodes and since when they are. */
static void find_silent(struct health *health, struct silent *all)
{
	const struct health_settings *settings = &health->settings;
	bool any = false;

	all->polled = all->silent = 0;
	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];
		bool silent = is_unresponsive(node);

		node->behind = false;
		node->through = NULL;
		node->hidden_switches = node->hidden_hcas = 0;

		node->silent = health_debounce(health, &node->silence, silent, settings->silent_sweeps,
					       settings->silent_after_us,
					       silent && health_find(health, FINDING_NODE_SILENT, node, 0, 0));
		all->polled += node->polled > 0;
		all->silent += node->silent;
		any |= silent;
	}
	if (any)
		find_behind(health, all);
	/* A mass failure is not a fault of the nodes: it is reported as coverage. */
	all->mass = all->silent > 8 && all->silent * 10 > all->polled;
}

/* "; neither do the 23 switches and 256 HCAs behind it, whose state is unknown" */
static void describe_hidden(const struct health_node *node, char ret[160])
{
	char switches[40] = "", hcas[40] = "";

	if (node->hidden_switches)
		snprintf(switches, sizeof(switches), "%u switch%s", node->hidden_switches,
			 node->hidden_switches == 1 ? "" : "es");
	if (node->hidden_hcas)
		snprintf(hcas, sizeof(hcas), "%u HCA%s", node->hidden_hcas, node->hidden_hcas == 1 ? "" : "s");
	snprintf(ret, 160, "neither " TENSE("do", "did") " the %s%s%s behind it, whose state " TENSE("is", "was")
		 " unknown", switches, *switches && *hcas ? " and " : "", hcas);
}

static bool is_own_switch(const struct health *health, const struct health_node *node)
{
	for (uint32_t i = 0; i < node->slots; i++)
		if (node->ports[i].peer && node->ports[i].peer->node == health_own_node(health))
			return true;
	return false;
}

/* All hosts with an HCA that does not respond. */
static void list_hidden_hosts(struct health *health, struct health_open_finding *open)
{
	health_clear_affected(open);
	for (size_t i = 0; i < health->host_count; i++) {
		const struct health_node *hca = health->hosts[i]->first;

		while (hca && !hca->through)
			hca = hca->host_next;
		if (hca)
			health_add_affected(open, health->hosts[i]->name);
	}
}

/* Where an unresponsive node is, as seen from this host; what it hides. */
enum position { IS_HCA, IS_HOST, IS_SWITCH, IS_BORDER, IS_OWN_SWITCH, IS_OWN_PORT };

static enum position position_of(const struct health *health, const struct health_node *node, uint32_t hcas)
{
	if (!node->hidden_switches && !node->hidden_hcas)
		return node->type == NODE_SWITCH ? IS_SWITCH : hcas > 1 ? IS_HOST : IS_HCA;
	if (node == health_own_node(health))
		return IS_OWN_PORT;
	return is_own_switch(health, node) ? IS_OWN_SWITCH : IS_BORDER;
}

/* Links of a node, and of the HCAs of its host, that are up and that the subnet manager left in Init or Armed. */
static void count_links(const struct health_node *node, const char *host, uint32_t *ret_up, uint32_t *ret_waiting)
{
	*ret_up = *ret_waiting = 0;
	for (; node; node = host ? node->host_next : NULL)
		for (uint32_t i = 0; node->silent && i < node->slots; i++) {
			const struct health_port *port = &node->ports[i];

			if (!port->peer || port->link != LINK_IS_UP)
				continue;
			++*ret_up;
			*ret_waiting += port->degraded == HEALTH_NOT_ACTIVE ||
					port->peer->degraded == HEALTH_NOT_ACTIVE;
		}
}

/* "its links are up", "its links are in Init and carry no data" */
static void describe_links(const struct health_node *node, const char *host, char ret[160])
{
	const char *whose = host ? "their" : "its";
	uint32_t up, waiting;

	count_links(host ? node->host->first : node, host, &up, &waiting);
	if (!waiting)
		snprintf(ret, 160, "%s links " TENSE("are", "were") " up", whose);
	else if (waiting == up)
		snprintf(ret, 160, "%s links " TENSE("are in Init and carry", "were in Init and carried") " no data",
			 whose);
	else
		snprintf(ret, 160, "%u of %s %u links " TENSE("are in Init and carry", "were in Init and carried")
			 " no data", waiting, whose, up);
}

static void hold_silent(struct health *health, const struct health_node *node, uint32_t hcas, const char *host)
{
	static const struct { const char *cause, *who; } positions[] = {
		[IS_HCA] = { "hca", "" }, [IS_HOST] = { "host", "" }, [IS_SWITCH] = { "switch", "" },
		[IS_BORDER] = { "switch", "" }, [IS_OWN_SWITCH] = { "own-switch", ", the switch of this host," },
		[IS_OWN_PORT] = { "own-port", ", the port of this host," },
	};
	enum position position = position_of(health, node, hcas);
	int64_t silent_us = health->now_us - node->silence.good_us;
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_NODE_SILENT, .severity = position >= IS_SWITCH ? FINDING_CRITICAL : FINDING_WARNING,
		.node = node, .since = node->silence.bad, .cause = positions[position].cause,
		.subject = position == IS_HOST ? host : NULL });
	char since[32], hidden[160], links[160];
	struct health_set ports = { 0 };

	health_set_add_host(&ports, node, true);
	health_list_set(open, &ports);
	health_duration(silent_us, since);
	describe_hidden(node, hidden);
	describe_links(node, position == IS_HOST ? host : NULL, links);
	if (position == IS_HOST)
		health_text(open, "%u HCAs of %s " TENSE("have", "had") " not responded for %s; %s", hcas, host, since,
			    links);
	else if (position >= IS_BORDER)
		health_text(open, "%s%s " TENSE("has", "had") " not responded for %s; %s", node->name,
			    positions[position].who, since, hidden);
	else
		health_text(open, "%s " TENSE("has", "had") " not responded for %s; %s", node->name, since, links);
	if (position == IS_BORDER)
		open->finding.advice = "check this switch first; what is behind it is polled again when it responds";
	health_number(open, "silent_s", (double)silent_us / SECOND_US);
	health_number(open, "silent_sweeps", node->silence.sweeps);
	health_number(open, "nodes", hcas);
	open->extent = hcas;
	if (position >= IS_BORDER) {
		health_number(open, "switches_behind", node->hidden_switches);
		health_number(open, "hcas_behind", node->hidden_hcas);
		open->extent += (double)node->hidden_switches + node->hidden_hcas;
	}
	if (position >= IS_OWN_SWITCH)
		list_hidden_hosts(health, open);
	else if (host)
		health_affected_host(open, host);
	else
		health_affected_below(health, open, node);
}

static void report_silent(struct health *health)
{
	for (uint32_t i = 0; i < health->host_count; i++) {
		const struct health_node *first = NULL;
		bool is_open = false;
		uint32_t count = 0;

		for (const struct health_node *node = health->hosts[i]->first; node; node = node->host_next)
			is_open |= node->silent && health_find(health, FINDING_NODE_SILENT, node, 0, 0);

		for (const struct health_node *node = health->hosts[i]->first; node; node = node->host_next) {
			if (!node->silent || (node->behind && !is_open))
				continue;
			count++;
			if (!first || node->guid < first->guid)
				first = node;
		}
		if (count)
			hold_silent(health, first, count, health->hosts[i]->name);
	}
	for (uint32_t i = 0; i < health->node_count; i++)
		if (health->nodes[i]->silent && !health->nodes[i]->host &&
		    (!health->nodes[i]->behind || health_find(health, FINDING_NODE_SILENT, health->nodes[i], 0, 0)))
			hold_silent(health, health->nodes[i], 1, NULL);
}

/*
 * Nodes whose agent responds with an error, for all ports: a switch, or an HCA that had counters before. HCAs may lack
 * counters by design; the other ends of their links count the same traffic.
 */
static void report_refusing(struct health *health)
{
	const struct health_settings *settings = &health->settings;

	for (size_t i = 0; i < health->node_count; i++) {
		struct health_node *node = health->nodes[i];
		struct health_open_finding *open = health_find(health, FINDING_NODE_SILENT, node, 0,
							       FINDING_TAG_REFUSES);
		bool refuses = node->refused && !node->polled && !node->unread &&
			       (node->type == NODE_SWITCH || node->had_counters || open);
		struct health_set ports = { 0 };
		bool was_warning = open && open->finding.severity == FINDING_WARNING;
		uint32_t links = 0, known = 0;
		char unknown[80] = "";

		if (!health_debounce(health, &node->refusal, refuses, settings->silent_sweeps,
				     settings->silent_after_us, open))
			continue;
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_NODE_SILENT, .node = node, .tag = FINDING_TAG_REFUSES,
			.severity = node->had_counters || was_warning ? FINDING_WARNING : FINDING_INFO,
			.since = node->refusal.bad, .cause = "refused" });
		health_set_add_links(&ports, node);
		health_list_set(open, &ports);
		for (uint32_t at = 0; at < node->slots; at++) {
			links += node->ports[at].peer != NULL;
			known += node->ports[at].peer && health_is_read(node->ports[at].peer);
		}
		if (known < links)
			snprintf(unknown, sizeof(unknown), " and the traffic of %u of %u link%s", links - known,
				 links, text_plural(links));
		health_text(open, "the performance agent of %s " TENSE("refuses", "refused") " queries of %u port%s; "
			    "unknown: their errors%s%s", node->name, node->refused, text_plural(node->refused),
			    unknown, known ? "; the other ends of their links count the traffic" : "");
		health_number(open, "ports_refused", node->refused);
		open->extent = node->refused;
	}
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
		.since = silent->coverage.bad, .cause = cause });
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
	open->extent = (double)missing;
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
	report_refusing(health);
	check_coverage(health, silent);
}

const struct health_rule health_silent = { .state_size = sizeof(struct silent), .sweep = sweep };
