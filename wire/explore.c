/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/explore.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/keys.h"
#include "wire/merge.h"
#include "wire/smp.h"
#include "wire/survey.h"

/*
 * After this number of consecutive queries that failed after all retries a node counts as
 * unresponsive: a switch has as many queries as ports. Its other queries wait until the end, and
 * the second time they are lost.
 */
#define FAILURES_UNTIL_SKIPPED 2

/* Response time of most agents: a query of a new node that takes longer is not counted in max_smps. */
#define WAITING_MS 5

/* Queries that ports may cost beyond half of those of the whole fabric. */
#define QUERIES_LEAST 64

/* A query about a port; a probe is one about the node behind it, QUERY_BORDER about a switch of the last topology. */
enum query_kind {
	QUERY_OWN, QUERY_BORDER, QUERY_PROBE, QUERY_SWITCH_INFO, QUERY_PORT_INFO, QUERY_EXTENDED, QUERY_DESCRIPTION,
};

struct query {
	struct explore *explore;
	enum query_kind kind;
	uint32_t node; /* index in the survey; of QUERY_BORDER in the last topology */
	uint8_t num;
	uint32_t request_node;
	unsigned attempt;
	uint64_t mkey;
	struct path path;
	bool answered;      /* a probe, also by a late response */
	bool lost;          /* a probe that was counted in explore.silent */
	struct query *next; /* next of the deferred queries */
	struct query *next_probe;
};

struct explore {
	const struct explore_settings *settings;
	struct engine *engine;
	struct survey survey;
	struct query *probes;   /* all of them: late responses refer to them */
	struct query *deferred; /* to be sent a last time after all others */
	uint32_t request_nodes;            /* number of request nodes in use */
	/* Of a part; base NULL: the whole fabric is explored. */
	const struct fabric *base; /* the last topology */
	struct path *paths;        /* by node of base */
	bool *queried;             /* by node of base: QUERY_BORDER was sent */
	struct explore_port *ports; /* to read */
	size_t port_count, port_capacity;
	uint64_t queries;
	bool keys_differ;          /* the M_Key of an unknown node is unknown, too */
	uint64_t mkey;             /* else that of all nodes; 0: none */
	uint64_t lost, silent;
	unsigned hops;
	bool finished;             /* the survey is complete: late responses are ignored */
	bool dropping;             /* cancelled queries are deferred */
	int code;                  /* error of a callback */
	struct error *err;
};

static void on_result(void *ctx, const struct request *request, const struct response *response);
static void on_late(void *ctx, const struct request *request, const struct response *response);

static int submit(struct query *query)
{
	static const uint16_t attributes[] = {
		[QUERY_OWN] = SMP_NODE_INFO, [QUERY_BORDER] = SMP_NODE_INFO, [QUERY_PROBE] = SMP_NODE_INFO,
		[QUERY_SWITCH_INFO] = SMP_SWITCH_INFO,
		[QUERY_PORT_INFO] = SMP_PORT_INFO, [QUERY_EXTENDED] = SMP_MLNX_EXTENDED_PORT_INFO,
		[QUERY_DESCRIPTION] = SMP_NODE_DESCRIPTION,
	};
	struct explore *explore = query->explore;
	bool by_port = query->kind == QUERY_PORT_INFO || query->kind == QUERY_EXTENDED;
	struct request request = {
		.node = query->request_node,
		.to.lid = LID_PERMISSIVE,
		.mgmt_class = CLASS_SUBN_DIRECTED,
		.attribute = attributes[query->kind],
		.modifier = by_port ? query->num : 0,
		.path = &query->path,
		.mkey = query->mkey,
		/* Without any response the first timeout is short, and the last one long. */
		.once = query->attempt < explore->settings->retries,
		.done = on_result,
		.late = query->kind == QUERY_PROBE ? on_late : NULL,
		.ctx = query,
	};

	return engine_submit(explore->engine, &request, explore->err);
}

/* Probes are freed at the end. */
static void free_query(struct query *query)
{
	if (query->kind != QUERY_PROBE)
		free(query);
}

/* A part cannot be explored by itself: pending queries complete. */
__attribute__((format(printf, 2, 3))) static void give_up(struct explore *explore, const char *fmt, ...)
{
	char reason[200];
	va_list args;

	if (explore->code < 0)
		return;
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	explore->code = err_set(explore->err, ERR_UNAVAILABLE, "changed ports cannot be explored by themselves: %s",
				reason);
}

/* Submit a query. Without memory explore->code is set, and pending queries complete. */
static void start_query(struct explore *explore, const struct query *what)
{
	struct query *query;

	if (explore->base && ++explore->queries > explore->base->port_count / 2 + QUERIES_LEAST)
		give_up(explore, "more than half of the fabric has changed");
	if (explore->code < 0)
		return;
	query = malloc(sizeof(*query));
	if (!query) {
		explore->code = err_nomem(explore->err);
		return;
	}
	*query = *what;
	query->explore = explore;
	if (query->kind == QUERY_PROBE) {
		query->next_probe = explore->probes;
		explore->probes = query;
	}
	if (submit(query) == 0)
		return;
	free_query(query);
	explore->code = ERR_NOMEM;
}

/* M_Key of a node; 0: not in the table. */
static uint64_t mkey_of(const struct explore *explore, uint64_t node_guid, uint64_t port_guid)
{
	uint64_t mkey = port_guid ? keys_find(explore->settings->keys, port_guid) : 0;

	if (!mkey)
		mkey = keys_find(explore->settings->keys, node_guid);
	return mkey;
}

/* Query a known node, or one of its ports, with its key or the one that it responded to before. */
static void query_node(struct explore *explore, enum query_kind kind, uint32_t index, uint8_t num,
		     const struct query *found_by)
{
	const struct survey_node *node = &explore->survey.nodes[index];
	uint64_t mkey = mkey_of(explore, node->node.guid, node->ports[node->node.type == NODE_SWITCH ? 0 : num].guid);

	start_query(explore, &(struct query){
		.kind = kind, .node = index, .num = num, .request_node = node->request_node, .path = found_by->path,
		.mkey = mkey ? mkey : found_by->mkey });
}

/*
 * The M_Key of the node behind a port. A wrong key is a violation that the node counts and reports,
 * so a key is never tried. Return: false: unknown.
 */
static bool mkey_behind(const struct explore *explore, uint32_t index, uint8_t num, uint64_t *ret)
{
	const struct survey_node *node = &explore->survey.nodes[index];
	uint64_t guid = node->ports[node->node.type == NODE_SWITCH ? 0 : num].guid;
	uint64_t peer = keys_neighbor(explore->settings->keys, guid ? guid : node->node.guid, num);
	const struct fabric *last = explore->settings->last;
	uint32_t port = last ? fabric_find_port(last, node->node.guid, num) : FABRIC_NONE;

	*ret = explore->mkey;
	if (peer) {
		*ret = keys_find(explore->settings->keys, peer);
	} else if (port != FABRIC_NONE && last->ports[port].peer != FABRIC_NONE) {
		const struct port *behind = &last->ports[last->ports[port].peer];

		peer = last->nodes[behind->node].guid;
		*ret = mkey_of(explore, peer, last->nodes[behind->node].type == NODE_SWITCH ? 0 : behind->guid);
	}
	return peer || !explore->keys_differ;
}

/* A path continues through this node by this port: out of a switch, or out of this host. */
static bool leads_on(const struct survey *survey, uint32_t index, uint8_t num)
{
	return num && (survey->nodes[index].node.type == NODE_SWITCH || (index == 0 && num == survey->from_port));
}

/*
 * Query the node behind a port. The query has a request node of its own, which becomes that of the
 * responding node: an unresponsive neighbor delays neither the queries of the switch nor other
 * neighbors.
 */
static void probe(struct explore *explore, uint32_t index, uint8_t num)
{
	struct survey_node *node = &explore->survey.nodes[index];
	struct query query = { .kind = QUERY_PROBE, .node = index, .num = num };

	node->ports[num].probed = true;
	if (node->path.hops == PATH_HOPS_MAX) {
		survey_note(&explore->survey, "0x%016" PRIx64 " is %d hops away: nodes behind it are out of reach",
			    node->node.guid, PATH_HOPS_MAX);
		return;
	}
	if (!mkey_behind(explore, index, num, &query.mkey)) {
		survey_note(&explore->survey, "0x%016" PRIx64 "/%u: the node behind it was not queried: M_Keys differ "
			    "by port, and neither the subnet manager's file " KEYS_NEIGHBORS_FILE " nor the last "
			    "discovery names it", node->node.guid, num);
		explore->silent++;
		return;
	}
	query.path = node->path;
	query.path.ports[query.path.hops++] = num;
	query.request_node = explore->request_nodes++;
	start_query(explore, &query);
}

/* PortInfo of a port was read, or its node became doubtful. */
static void probe_link(struct explore *explore, uint32_t index, uint8_t num)
{
	const struct survey_node *node = &explore->survey.nodes[index];
	const struct survey_port *port = &node->ports[num];

	if (port->known && !port->probed && !port->own && (!port->linked || node->doubtful) &&
	    smp_is_link_up(port->info) && leads_on(&explore->survey, index, num))
		probe(explore, index, num);
}

/* The node is contradictory: query all links that were only seen from the other end. */
static void probe_links(struct explore *explore, uint32_t index)
{
	for (unsigned num = 1; num <= explore->survey.nodes[index].node.port_count; num++)
		probe_link(explore, index, (uint8_t)num);
}

/* Query a new node; port 0 first, because its capabilities determine the speeds of the others. */
static void query_new_node(struct explore *explore, uint32_t index, uint8_t num, const struct query *found_by)
{
	const struct node *info = &explore->survey.nodes[index].node;

	if (info->type == NODE_SWITCH) {
		query_node(explore, QUERY_PORT_INFO, index, 0, found_by);
		query_node(explore, QUERY_SWITCH_INFO, index, 0, found_by);
		for (unsigned i = 1; i <= info->port_count; i++)
			query_node(explore, QUERY_PORT_INFO, index, (uint8_t)i, found_by);
	} else {
		query_node(explore, QUERY_PORT_INFO, index, num, found_by);
	}
	query_node(explore, QUERY_DESCRIPTION, index, num, found_by);
}

/* --- ports of the last topology --- */

/* The port of the last topology that was cabled to this one, or FABRIC_NONE. */
static uint32_t last_peer(const struct explore *explore, uint64_t guid, uint8_t num)
{
	uint32_t port = fabric_find_port(explore->base, guid, num);

	return port == FABRIC_NONE ? FABRIC_NONE : explore->base->ports[port].peer;
}

/* PortInfo of a port of a border node. */
static void read_port(struct explore *explore, uint32_t index, uint8_t num, const struct query *found_by)
{
	struct survey_node *node = &explore->survey.nodes[index];

	/* The capabilities of port 0 determine the speeds of the others. */
	if (num && node->node.type == NODE_SWITCH)
		read_port(explore, index, 0, found_by);
	if (node->ports[num].requested)
		return;
	node->ports[num].requested = true;
	query_node(explore, QUERY_PORT_INFO, index, num, found_by);
}

/* Read the listed ports of a node that was found. */
static void read_wanted(struct explore *explore, uint32_t index)
{
	struct survey_node *node = &explore->survey.nodes[index];
	const struct query from = { .path = node->path, .mkey = explore->mkey };

	for (size_t i = 0; i < explore->port_count && node->border; i++) {
		const struct explore_port *port = &explore->ports[i];
		unsigned first = port->num ? port->num : 1, end = port->num ? port->num : node->node.port_count;

		if (port->node_guid != node->node.guid)
			continue;
		for (unsigned num = first; num <= end && num <= node->node.port_count; num++)
			read_port(explore, index, (uint8_t)num, &from);
		if (port->num && port->num <= node->node.port_count)
			node->ports[port->num].wanted = true;
	}
}

/* Verify that a switch of the last topology is still there. */
static void query_border(struct explore *explore, uint32_t index)
{
	const struct node *node = &explore->base->nodes[index];
	uint64_t mkey = mkey_of(explore, node->guid, 0);

	if (explore->queried[index])
		return;
	explore->queried[index] = true;
	if (!mkey && explore->keys_differ) {
		give_up(explore, "the M_Key of switch 0x%016" PRIx64 " is unknown", node->guid);
		return;
	}
	start_query(explore, &(struct query){
		.kind = QUERY_BORDER, .node = index, .path = explore->paths[index],
		.request_node = explore->request_nodes++, .mkey = mkey ? mkey : explore->mkey });
}

/*
 * Read a port of a switch, if it was one of the last topology. Without a path to the switch the port at
 * the other end of the cable leads to it.
 */
static void want(struct explore *explore, uint64_t guid, uint8_t num)
{
	uint32_t base = fabric_find_node(explore->base, guid), index;
	struct explore_port *ports;

	if (base == FABRIC_NONE || explore->base->nodes[base].type != NODE_SWITCH)
		return;
	for (size_t i = 0; i < explore->port_count; i++)
		if (explore->ports[i].node_guid == guid && explore->ports[i].num == num)
			return;
	ports = array_grow(explore->ports, explore->port_count, &explore->port_capacity, sizeof(*ports));
	if (!ports) {
		explore->code = err_nomem(explore->err);
		return;
	}
	explore->ports = ports;
	ports[explore->port_count++] = (struct explore_port){ guid, num };
	if (map_get(&explore->survey.by_guid, guid, &index)) {
		read_wanted(explore, index);
	} else if (explore->paths[base].hops != PATH_NONE) {
		query_border(explore, base);
	} else {
		uint32_t peer = last_peer(explore, guid, num);

		if (peer != FABRIC_NONE)
			want(explore, explore->base->nodes[explore->base->ports[peer].node].guid,
			     explore->base->ports[peer].num);
	}
}

/* The link of a port has changed: read the other end of its last one. */
static void want_last_peer(struct explore *explore, uint64_t guid, uint8_t num)
{
	uint32_t peer = last_peer(explore, guid, num);

	if (peer != FABRIC_NONE)
		want(explore, explore->base->nodes[explore->base->ports[peer].node].guid,
		     explore->base->ports[peer].num);
}

/* A node of the last topology, of which only some ports are read. Return: false: it must be queried completely. */
static bool become_border(struct explore *explore, uint32_t index)
{
	struct survey_node *node = &explore->survey.nodes[index];
	uint32_t base = fabric_find_node(explore->base, node->node.guid);

	node->border = base != FABRIC_NONE && merge_is_complete(explore->base, base) &&
		       explore->base->nodes[base].type == node->node.type &&
		       explore->base->nodes[base].port_count == node->node.port_count;
	return node->border;
}

static void handle_border(struct explore *explore, const struct query *query, const uint8_t mad[MAD_SIZE])
{
	struct smp_node info = smp_read_node(mad + SMP_DATA_OFFSET);
	uint64_t guid = explore->base->nodes[query->node].guid;
	uint32_t found;
	bool is_new;
	int code;

	if (info.node.guid != guid) {
		give_up(explore, "node 0x%016" PRIx64 " is where switch 0x%016" PRIx64 " was", info.node.guid, guid);
		return;
	}
	code = survey_add(&explore->survey, &info, &query->path, query->request_node, &found, &is_new, explore->err);
	if (code < 0)
		explore->code = code;
	else if (code > 0)
		give_up(explore, "inconsistent NodeInfo of switch 0x%016" PRIx64, guid);
	else if (is_new && become_border(explore, found))
		read_wanted(explore, found);
	else if (is_new)
		query_new_node(explore, found, info.port, query);
}

/* The node behind a port of a part: new, or known from the last topology or from another port of the part. */
static void handle_part(struct explore *explore, const struct query *query, uint32_t found, uint8_t num, bool is_new)
{
	const struct survey_node *near = &explore->survey.nodes[query->node], *far = &explore->survey.nodes[found];
	uint64_t near_guid = near->node.guid, far_guid = far->node.guid;
	bool is_switch = far->node.type == NODE_SWITCH, wanted = near->ports[query->num].wanted;
	uint32_t peer = last_peer(explore, near_guid, query->num);
	bool same = peer != FABRIC_NONE && peer == fabric_find_port(explore->base, far_guid, num);

	if (is_new && !become_border(explore, found)) {
		query_new_node(explore, found, num, query);
	} else if (far->border && (wanted || !same)) {
		read_port(explore, found, num, query);
		if (is_new && !is_switch)
			query_node(explore, QUERY_DESCRIPTION, found, num, query);
	} else if (!is_switch && !is_new && !far->border && !far->ports[num].known) {
		query_node(explore, QUERY_PORT_INFO, found, num, query);
	}
	read_wanted(explore, found);
	if (same)
		return;
	want_last_peer(explore, near_guid, query->num);
	want_last_peer(explore, far_guid, num);
}

static void handle_node_info(struct explore *explore, const struct query *query, const uint8_t mad[MAD_SIZE])
{
	struct smp_node info = smp_read_node(mad + SMP_DATA_OFFSET);
	bool is_new;
	uint32_t found;
	int code = survey_add(&explore->survey, &info, &query->path, query->request_node, &found, &is_new,
			       explore->err);

	if (code < 0)
		explore->code = code;
	if (code > 0 && explore->base && map_get(&explore->survey.by_guid, info.node.guid, &found))
		give_up(explore, "two nodes have the GUID 0x%016" PRIx64, info.node.guid);
	if (code != 0) {
		if (code > 0 && map_get(&explore->survey.by_guid, info.node.guid, &found))
			probe_links(explore, found);
		return;
	}
	if (query->kind == QUERY_OWN)
		explore->survey.from_port = info.port;
	else if (!survey_link(&explore->survey, query->node, query->num, found, info.port, is_new)) {
		if (explore->base)
			give_up(explore, "a port has two peers");
		probe_links(explore, query->node);
		probe_links(explore, found);
	}
	if (is_new && query->path.hops > explore->hops)
		explore->hops = query->path.hops;
	if (explore->base) {
		handle_part(explore, query, found, info.port, is_new);
	} else if (is_new) {
		query_new_node(explore, found, info.port, query);
	} else if (info.node.type != NODE_SWITCH && !explore->survey.nodes[found].ports[info.port].known) {
		query_node(explore, QUERY_PORT_INFO, found, info.port, query);
	}
}

static void handle_port_info(struct explore *explore, const struct query *query, const uint8_t mad[MAD_SIZE])
{
	struct survey_node *node = &explore->survey.nodes[query->node];
	struct survey_port *port = &node->ports[query->num];

	memcpy(port->info, mad + SMP_DATA_OFFSET, SMP_DATA_SIZE);
	port->known = true;
	if (query->num && smp_hides_fdr10(&node->node, port->info, survey_caps(node, query->num)))
		query_node(explore, QUERY_EXTENDED, query->node, query->num, query);
	probe_link(explore, query->node, query->num);
	if (explore->base && query->num && !smp_is_link_up(port->info))
		want_last_peer(explore, node->node.guid, query->num);
}

static void handle_response(struct explore *explore, struct query *query, const uint8_t mad[MAD_SIZE])
{
	struct survey_node *node;

	if (query->kind <= QUERY_PROBE) {
		query->answered = true;
		if (query->kind == QUERY_BORDER)
			handle_border(explore, query, mad);
		else
			handle_node_info(explore, query, mad);
		return;
	}
	node = &explore->survey.nodes[query->node];
	node->failed_in_a_row = 0;
	if (query->kind == QUERY_PORT_INFO)
		handle_port_info(explore, query, mad);
	else if (query->kind == QUERY_SWITCH_INFO)
		smp_read_switch(mad + SMP_DATA_OFFSET, &node->node);
	else if (query->kind == QUERY_DESCRIPTION)
		memcpy(node->node.desc, mad + SMP_DATA_OFFSET, NODE_DESC_SIZE);
	else
		memcpy(node->ports[query->num].extended, mad + SMP_DATA_OFFSET, SMP_DATA_SIZE);
}

static void count_lost(struct explore *explore, struct query *query)
{
	if (query->kind == QUERY_PROBE) {
		query->lost = !query->answered;
		explore->silent += query->lost;
	} else if (query->kind == QUERY_BORDER) {
		give_up(explore, "switch 0x%016" PRIx64 " does not respond",
			explore->base->nodes[query->node].guid);
	} else if (query->kind != QUERY_EXTENDED) {
		explore->lost++;
	}
}

static bool defer(struct explore *explore, struct query *query)
{
	query->next = explore->deferred;
	explore->deferred = query;
	return true;
}

/* A query of a node failed; the node may become unresponsive by it. */
static void count_failure(struct explore *explore, const struct query *query)
{
	unsigned limit = FAILURES_UNTIL_SKIPPED * (explore->settings->retries + 1);
	struct survey_node *node;

	if (query->kind <= QUERY_PROBE)
		return;
	node = &explore->survey.nodes[query->node];
	if (++node->failed_in_a_row % limit)
		return;
	explore->dropping = !node->dropped;
	node->dropped = true;
	engine_drop_node(explore->engine, query->request_node);
	explore->dropping = false;
}

/*
 * Retry a failed query; probes, and the last time of others, after all others. Return: whether it
 * will be repeated.
 */
static bool repeat(struct explore *explore, struct query *query, enum request_result result)
{
	unsigned retries = explore->settings->retries;
	bool last = query->attempt >= retries;

	if (explore->code < 0 || query->answered || (result == REQUEST_CANCELLED && !explore->dropping))
		return false;
	if (result == REQUEST_CANCELLED)
		return defer(explore, query);
	count_failure(explore, query);
	query->attempt++;
	if (query->attempt < retries && query->kind != QUERY_PROBE) {
		explore->code = submit(query);
		return explore->code == 0;
	}
	return !last && defer(explore, query);
}

static void on_result(void *ctx, const struct request *request, const struct response *response)
{
	struct query *query = ctx;
	struct explore *explore = query->explore;

	(void)request;
	if (response->result == REQUEST_ANSWERED && query->answered)
		;
	else if (response->result == REQUEST_ANSWERED && smp_is_ok(response->mad))
		handle_response(explore, query, response->mad);
	/* The attribute is vendor-specific: an error status means that it is not supported. */
	else if (response->result == REQUEST_ANSWERED && query->kind == QUERY_EXTENDED)
		;
	else if (repeat(explore, query, response->result))
		return;
	else
		count_lost(explore, query);
	if (explore->base && query->kind == QUERY_PROBE && !query->answered && response->result == REQUEST_TIMED_OUT)
		want_last_peer(explore, explore->survey.nodes[query->node].node.guid, query->num);
	free_query(query);
}

/* An earlier attempt of a probe was answered. The last one may have failed already. */
static void on_late(void *ctx, const struct request *request, const struct response *response)
{
	struct query *query = ctx;

	(void)request;
	if (query->answered || query->explore->finished || !smp_is_ok(response->mad))
		return;
	query->explore->silent -= query->lost;
	handle_response(query->explore, query, response->mad);
}

/*
 * Run until nothing is left, then send the deferred queries; their responses may lead further.
 * Return: 0; ENGINE_CUT: at the deadline; a negative error.
 */
static int run(struct explore *explore, struct error *err)
{
	int64_t deadline_us = explore->settings->deadline_us;
	int code = engine_run(explore->engine, deadline_us, err);

	while (code == 0 && explore->code == 0 && explore->deferred) {
		struct query *query = explore->deferred, *next;

		explore->deferred = NULL;
		for (; query; query = next) {
			next = query->next;
			if (explore->code == 0 && !query->answered)
				explore->code = submit(query);
			if (explore->code < 0)
				free_query(query);
		}
		code = engine_run(explore->engine, deadline_us, err);
	}
	while (explore->deferred) {
		struct query *query = explore->deferred;

		explore->deferred = query->next;
		count_lost(explore, query);
		free_query(query);
	}
	return explore->code < 0 && code >= 0 ? explore->code : code;
}

/* Query the switches of the ports, along paths that avoid the ports; this host's own link cannot be avoided. */
static int begin_part(struct explore *explore)
{
	const struct explore_settings *settings = explore->settings;
	const struct fabric *base = explore->base = settings->last;
	uint32_t own = base->from_node == FABRIC_NONE ? FABRIC_NONE
						      : fabric_node_port(base, base->from_node, base->from_port);
	bool *avoid = calloc(base->port_count + 1, sizeof(*avoid));
	int code;

	explore->queried = calloc(base->node_count + 1, sizeof(*explore->queried));
	if (!avoid || !explore->queried) {
		free(avoid);
		return err_nomem(explore->err);
	}
	for (size_t i = 0; i < settings->port_count; i++) {
		uint32_t port = fabric_find_port(base, settings->ports[i].node_guid, settings->ports[i].num);

		if (port != FABRIC_NONE && port != own && base->ports[port].peer != own)
			avoid[port] = settings->ports[i].num != 0;
	}
	code = paths_find(base, avoid, &explore->paths, explore->err);
	free(avoid);
	for (size_t i = 0; i < settings->port_count && code == 0; i++) {
		want(explore, settings->ports[i].node_guid, settings->ports[i].num);
		code = explore->code;
	}
	return code;
}

/* A port to read, whose switch no path avoiding the ports leads to, and no explored port has led to. */
static bool is_pending(const struct explore *explore, const struct explore_port *port)
{
	uint32_t index;

	return !explore->queried[fabric_find_node(explore->base, port->node_guid)] &&
	       !map_get(&explore->survey.by_guid, port->node_guid, &index);
}

/* Query switches of pending ports along paths through what was found. Return: whether there are any; an error. */
static int query_pending(struct explore *explore)
{
	struct fabric *merged = NULL;
	struct path *paths = NULL;
	size_t pending = 0;
	int code = 0, found = 0;

	while (pending < explore->port_count && !is_pending(explore, &explore->ports[pending]))
		pending++;
	if (pending == explore->port_count)
		return 0;
	code = merge_survey(explore->base, &explore->survey, &merged, explore->err);
	if (code == 0)
		code = paths_find(merged, NULL, &paths, explore->err);
	for (; pending < explore->port_count && code == 0; pending++) {
		const struct explore_port *port = &explore->ports[pending];
		uint32_t base = fabric_find_node(explore->base, port->node_guid);
		uint32_t now = fabric_find_node(merged, port->node_guid);

		if (now == FABRIC_NONE || paths[now].hops == PATH_NONE || !is_pending(explore, port))
			continue;
		explore->paths[base] = paths[now];
		query_border(explore, base);
		code = explore->code;
		found = 1;
	}
	free(paths);
	fabric_destroy(merged);
	return code < 0 ? code : found;
}

static int run_all(struct explore *explore, struct error *err)
{
	int code, more = 0;

	do {
		code = run(explore, err);
		if (code == 0 && explore->base)
			more = query_pending(explore);
	} while (code == 0 && more > 0);
	return more < 0 ? more : code;
}

int explore_run(const struct transport *transport, const struct clock *clock, const struct explore_settings *settings,
		struct fabric **ret, struct record_trailer *ret_trailer, struct text *notes, struct error *err)
{
	struct engine_settings limits = { .window = settings->max_smps, .per_node = settings->per_node,
					  .timeout_ms = settings->timeout_ms, .waiting_ms = WAITING_MS };
	struct explore explore = { .settings = settings, .err = err };
	struct query own = { .kind = QUERY_OWN };
	size_t different;
	bool cut;
	int code = engine_create(transport, clock, &limits, &explore.engine, err);

	if (code < 0)
		return code;
	explore.mkey = keys_pick(settings->keys, settings->own_guid, &different);
	explore.keys_differ = different > 1;
	own.mkey = explore.mkey;
	own.request_node = explore.request_nodes++;
	if (settings->port_count)
		explore.code = begin_part(&explore);
	else
		start_query(&explore, &own);
	code = run_all(&explore, err);
	cut = code == ENGINE_CUT;
	explore.finished = true;
	if (code >= 0 && !explore.survey.count && explore.base)
		code = err_set(err, ERR_UNAVAILABLE, "no path to the changed ports is left");
	else if (code >= 0 && !explore.survey.count)
		code = err_set(err, ERR_UNAVAILABLE, "this host's own node does not respond to SMPs: its M_Key is "
			       "unknown (--security-keys), or its firmware does not run");
	if (code >= 0)
		code = explore.base ? merge_survey(explore.base, &explore.survey, ret, err)
				    : survey_finish(&explore.survey, ret, err);
	if (code == 0) {
		ret_trailer->smps = engine_counts(explore.engine).sent;
		ret_trailer->hops = explore.hops;
		ret_trailer->lost = explore.lost;
		ret_trailer->silent = explore.silent;
	}
	survey_take_notes(&explore.survey, notes);
	if (cut)
		text_appendf(notes, "incomplete at its deadline: %" PRIu64 " queries of nodes and %" PRIu64 " nodes "
			     "behind live ports have no response (--discovery-deadline)\n",
			     explore.lost, explore.silent);
	/* With a result, do not wait for late responses. */
	while (code < 0 && engine_listen(explore.engine, 20))
		;
	if (code == 0 && engine_listen(explore.engine, 0))
		code = EXPLORE_OPEN;
	explicit_bzero(&explore.mkey, sizeof(explore.mkey));
	engine_destroy(explore.engine);
	free(explore.paths);
	free(explore.queried);
	free(explore.ports);
	while (explore.probes) {
		struct query *probe = explore.probes;

		explore.probes = probe->next_probe;
		free(probe);
	}
	survey_done(&explore.survey);
	return code;
}
