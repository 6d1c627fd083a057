/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/explore.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/explore_part.h"
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

static void on_result(void *ctx, const struct request *request, const struct response *response);
static void on_late(void *ctx, const struct request *request, const struct response *response);

/* A response to an attempt that timed out counts, too: there is a node. */
static bool accepts_late(const struct query *query)
{
	return query->kind == QUERY_OWN || query->kind == QUERY_PROBE;
}

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
		.late = accepts_late(query) ? on_late : NULL,
		.ctx = query,
	};

	return engine_submit(explore->engine, &request, explore->err);
}

/* Queries that late responses refer to are freed at the end. */
static void free_query(struct query *query)
{
	if (!accepts_late(query))
		free(query);
}

/* Submit a query. Without memory explore->code is set, and pending queries complete. */
void explore_start_query(struct explore *explore, const struct query *what)
{
	struct query *query;

	explore->queries++;
	if (explore->base && explore->queries > explore->base->port_count / 2 + QUERIES_LEAST)
		part_give_up(explore, "more than half of the fabric has changed");
	if (explore->code < 0)
		return;
	query = malloc(sizeof(*query));
	if (!query) {
		explore->code = err_nomem(explore->err);
		return;
	}
	*query = *what;
	query->explore = explore;
	if (accepts_late(query)) {
		query->next_probe = explore->probes;
		explore->probes = query;
	}
	if (submit(query) == 0)
		return;
	free_query(query);
	explore->code = ERR_NOMEM;
}

/* M_Key of a node; 0: not in the table. */
uint64_t explore_mkey_of(const struct explore *explore, uint64_t node_guid, uint64_t port_guid)
{
	uint64_t mkey = port_guid ? keys_find(explore->settings->keys, port_guid) : 0;

	if (!mkey)
		mkey = keys_find(explore->settings->keys, node_guid);
	return mkey;
}

/* Query a known node, or one of its ports, with its key or the one that it responded to before. */
void explore_query_node(struct explore *explore, enum query_kind kind, uint32_t index, uint8_t num,
			const struct query *found_by)
{
	const struct survey_node *node = &explore->survey.nodes[index];
	uint64_t port_guid = node->ports[node->node.type == NODE_SWITCH ? 0 : num].guid;
	uint64_t mkey = explore_mkey_of(explore, node->node.guid, port_guid);

	explore_start_query(explore, &(struct query){
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
		*ret = explore_mkey_of(explore, peer, last->nodes[behind->node].type == NODE_SWITCH ? 0 : behind->guid);
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
	explore_start_query(explore, &query);
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
void explore_query_new_node(struct explore *explore, uint32_t index, uint8_t num, const struct query *found_by)
{
	const struct node *info = &explore->survey.nodes[index].node;

	if (info->type == NODE_SWITCH) {
		explore_query_node(explore, QUERY_PORT_INFO, index, 0, found_by);
		explore_query_node(explore, QUERY_SWITCH_INFO, index, 0, found_by);
		for (unsigned i = 1; i <= info->port_count; i++)
			explore_query_node(explore, QUERY_PORT_INFO, index, (uint8_t)i, found_by);
	} else {
		explore_query_node(explore, QUERY_PORT_INFO, index, num, found_by);
	}
	explore_query_node(explore, QUERY_DESCRIPTION, index, num, found_by);
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
		part_give_up(explore, "two nodes have the GUID 0x%016" PRIx64, info.node.guid);
	if (code != 0) {
		if (code > 0 && map_get(&explore->survey.by_guid, info.node.guid, &found))
			probe_links(explore, found);
		return;
	}
	if (query->kind == QUERY_OWN)
		explore->survey.from_port = info.port;
	else if (!survey_link(&explore->survey, query->node, query->num, found, info.port, is_new)) {
		if (explore->base)
			part_give_up(explore, "a port has two peers");
		probe_links(explore, query->node);
		probe_links(explore, found);
	}
	if (is_new && query->path.hops > explore->hops)
		explore->hops = query->path.hops;
	if (explore->base) {
		part_handle_node(explore, query, found, info.port, is_new);
	} else if (is_new) {
		explore_query_new_node(explore, found, info.port, query);
	} else if (info.node.type != NODE_SWITCH && !explore->survey.nodes[found].ports[info.port].known) {
		explore_query_node(explore, QUERY_PORT_INFO, found, info.port, query);
	}
}

static void handle_port_info(struct explore *explore, const struct query *query, const uint8_t mad[MAD_SIZE])
{
	struct survey_node *node = &explore->survey.nodes[query->node];
	struct survey_port *port = &node->ports[query->num];

	memcpy(port->info, mad + SMP_DATA_OFFSET, SMP_DATA_SIZE);
	port->known = true;
	if (query->num && smp_hides_fdr10(&node->node, port->info, survey_caps(node, query->num)))
		explore_query_node(explore, QUERY_EXTENDED, query->node, query->num, query);
	probe_link(explore, query->node, query->num);
	if (explore->base && query->num && !smp_is_link_up(port->info))
		part_list_last_peer(explore, node->node.guid, query->num);
}

static void handle_response(struct explore *explore, struct query *query, const uint8_t mad[MAD_SIZE])
{
	struct survey_node *node;

	if (query->kind <= QUERY_PROBE) {
		query->answered = true;
		if (query->kind == QUERY_BORDER)
			part_handle_border(explore, query, mad);
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
		part_give_up(explore, "switch 0x%016" PRIx64 " does not respond",
			     explore->base->nodes[query->node].guid);
	} else if (query->kind != QUERY_EXTENDED && !query->answered) {
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
 * Retry a failed query: at once, but after all other queries if it is a probe or this is the last
 * attempt. Return: whether it will be repeated.
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
	bool got = response->result == REQUEST_ANSWERED;

	(void)request;
	if (got && !query->answered && smp_is_ok(response->mad)) {
		handle_response(explore, query, response->mad);
	} else if (!got || (!query->answered && query->kind != QUERY_EXTENDED)) {
		/* An error status of the vendor-specific QUERY_EXTENDED means that it is not supported. */
		if (repeat(explore, query, response->result))
			return;
		count_lost(explore, query);
	}
	if (explore->base && query->kind == QUERY_PROBE && !query->answered && response->result == REQUEST_TIMED_OUT)
		part_list_last_peer(explore, explore->survey.nodes[query->node].node.guid, query->num);
	free_query(query);
}

/* An earlier attempt of a query was answered. The last one may have failed already. */
static void on_late(void *ctx, const struct request *request, const struct response *response)
{
	struct query *query = ctx;

	(void)request;
	if (query->answered || query->explore->finished || !smp_is_ok(response->mad))
		return;
	query->explore->silent -= query->lost;
	/* Before this host's own node responds, no other query is sent. */
	if (query->kind == QUERY_OWN)
		query->explore->lost = 0;
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

/*
 * On a stalled machine this host's own node responds late, and there is nothing else to do meanwhile.
 * Return: whether it did.
 */
static bool hear_own_node(struct explore *explore)
{
	if (explore->survey.count)
		return false;
	while (!explore->survey.count && engine_listen(explore->engine, 20))
		;
	return explore->survey.count;
}

static int run_all(struct explore *explore, struct error *err)
{
	int code, more = 0;

	do {
		code = run(explore, err);
		if (code == 0 && explore->base)
			more = part_query_pending(explore);
		else if (code == 0)
			more = hear_own_node(explore);
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
		explore.code = part_begin(&explore);
	else
		explore_start_query(&explore, &own);
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
		ret_trailer->queries = explore.queries;
		ret_trailer->hops = explore.hops;
		ret_trailer->lost = explore.lost;
		ret_trailer->silent = explore.silent;
	}
	survey_take_notes(&explore.survey, notes);
	if (cut)
		text_appendf(notes, "incomplete at its deadline: %" PRIu64 " queries of nodes and %" PRIu64 " node%s "
			     "behind live ports have no response (--discovery-deadline)\n",
			     explore.lost, explore.silent, text_plural(explore.silent));
	/* With a result, do not wait for late responses. */
	while (code < 0 && engine_listen(explore.engine, 20))
		;
	if (code == 0 && engine_listen(explore.engine, 0))
		code = EXPLORE_OPEN;
	explicit_bzero(&explore.mkey, sizeof(explore.mkey));
	engine_destroy(explore.engine);
	part_done(&explore);
	while (explore.probes) {
		struct query *probe = explore.probes;

		explore.probes = probe->next_probe;
		free(probe);
	}
	survey_done(&explore.survey);
	return code;
}
