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
#include "wire/keys.h"
#include "wire/smp.h"
#include "wire/survey.h"

/*
 * After this number of consecutive queries that failed after all retries a node counts as
 * unresponsive: a switch has as many queries as ports. Its other queries wait until the end, and
 * the second time they are lost.
 */
#define DEAD_AFTER_QUESTIONS 2

/* Maximum number of M_Keys tried at an unknown node, which counts wrong ones as violations. */
#define MKEYS_TRIED 4

/* A query about a port; a probe is a query about the node behind it. */
enum question_kind { ASK_OWN, ASK_PROBE, ASK_SWITCH_INFO, ASK_PORT_INFO, ASK_EXTENDED, ASK_DESCRIPTION };

struct question {
	struct explore *explore;
	enum question_kind kind;
	uint32_t node; /* index in the survey */
	uint8_t num;
	uint32_t request_node;
	unsigned attempt;
	uint64_t mkey;
	const struct path *path;
	struct question *next; /* next of the deferred queries */
};

/* A path of queries; it exists until the end. */
struct route {
	struct path path;
	struct route *next;
};

struct explore {
	const struct explore_settings *settings;
	struct engine *engine;
	struct survey survey;
	struct route *routes;
	struct question *deferred; /* to be sent a last time after all others */
	uint32_t request_nodes;            /* number of request nodes in use */
	/* M_Keys for unknown nodes: the most frequent one, at each retry the next one. */
	uint64_t mkeys[MKEYS_TRIED];
	size_t mkey_count;
	uint64_t lost, silent;
	unsigned hops;
	bool dropping;             /* cancelled queries are deferred */
	int code;                  /* error of a callback */
	struct error *err;
};

static void take_result(void *ctx, const struct request *request, const struct response *response);

static int submit(struct question *question)
{
	static const uint16_t attributes[] = {
		[ASK_OWN] = SMP_NODE_INFO, [ASK_PROBE] = SMP_NODE_INFO, [ASK_SWITCH_INFO] = SMP_SWITCH_INFO,
		[ASK_PORT_INFO] = SMP_PORT_INFO, [ASK_EXTENDED] = SMP_MLNX_EXTENDED_PORT_INFO,
		[ASK_DESCRIPTION] = SMP_NODE_DESCRIPTION,
	};
	struct explore *explore = question->explore;
	bool by_port = question->kind == ASK_PORT_INFO || question->kind == ASK_EXTENDED;
	struct request request = {
		.node = question->request_node,
		.to.lid = LID_PERMISSIVE,
		.mgmt_class = CLASS_SUBN_DIRECTED,
		.attribute = attributes[question->kind],
		.modifier = by_port ? question->num : 0,
		.path = question->path,
		.mkey = question->mkey,
		/* Without any response the first timeout is short, and the last one long. */
		.once = question->attempt < explore->settings->retries,
		.done = take_result,
		.ctx = question,
	};

	return engine_submit(explore->engine, &request, explore->err);
}

/* Submit a query. Without memory explore->code is set, and pending queries complete. */
static void ask(struct explore *explore, const struct question *what)
{
	struct question *question = malloc(sizeof(*question));

	if (!question) {
		explore->code = err_nomem(explore->err);
		return;
	}
	*question = *what;
	question->explore = explore;
	if (submit(question) == 0)
		return;
	free(question);
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
static void ask_node(struct explore *explore, enum question_kind kind, uint32_t index, uint8_t num,
		     const struct question *came_by)
{
	const struct survey_node *node = &explore->survey.nodes[index];
	uint64_t mkey = mkey_of(explore, node->info.guid, node->ports[node->info.type == NODE_SWITCH ? 0 : num].guid);

	ask(explore, &(struct question){
		.kind = kind, .node = index, .num = num, .request_node = node->request_node, .path = came_by->path,
		.mkey = mkey ? mkey : came_by->mkey });
}

/* A path continues through this node by this port: out of a switch, or out of this host. */
static bool leads_on(const struct survey *survey, uint32_t index, uint8_t num)
{
	return num && (survey->nodes[index].info.type == NODE_SWITCH || (index == 0 && num == survey->from_port));
}

/* Allocate a path that extends another one. Return: NULL: no memory, explore->code is set. */
static struct path *add_route(struct explore *explore, const struct path *from)
{
	struct route *route = malloc(sizeof(*route));

	if (!route) {
		explore->code = err_nomem(explore->err);
		return NULL;
	}
	route->path = *from;
	route->next = explore->routes;
	explore->routes = route;
	return &route->path;
}

/*
 * Query the node behind a port. The query has a request node of its own, which becomes that of the
 * responding node: an unresponsive neighbor delays neither the queries of the switch nor other
 * neighbors.
 */
static void probe(struct explore *explore, uint32_t index, uint8_t num)
{
	struct survey_node *node = &explore->survey.nodes[index];
	struct question question = { .kind = ASK_PROBE, .node = index, .num = num, .mkey = explore->mkeys[0] };
	struct path *path;

	node->ports[num].probed = true;
	if (node->path.hops == PATH_HOPS_MAX) {
		survey_note(&explore->survey, "0x%016" PRIx64 " is %d hops away: what is behind it is out of reach",
			    node->info.guid, PATH_HOPS_MAX);
		return;
	}
	path = add_route(explore, &node->path);
	if (!path)
		return;
	path->ports[path->hops++] = num;
	question.path = path;
	question.request_node = explore->request_nodes++;
	ask(explore, &question);
}

/* PortInfo of a port was read, or its node became doubtful. */
static void look_behind(struct explore *explore, uint32_t index, uint8_t num)
{
	const struct survey_node *node = &explore->survey.nodes[index];
	const struct survey_port *port = &node->ports[num];

	if (port->known && !port->probed && !port->own && (!port->linked || node->doubtful) &&
	    smp_is_link_up(port->info) && leads_on(&explore->survey, index, num))
		probe(explore, index, num);
}

/* The node is contradictory: query all links that were only seen from the other end. */
static void look_behind_all(struct explore *explore, uint32_t index)
{
	unsigned num;

	for (num = 1; num <= explore->survey.nodes[index].info.port_count; num++)
		look_behind(explore, index, (uint8_t)num);
}

/* Query a new node; port 0 first, because its capabilities determine the speeds of the others. */
static void ask_all(struct explore *explore, uint32_t index, uint8_t num, const struct question *came_by)
{
	const struct smp_node *info = &explore->survey.nodes[index].info;
	unsigned i;

	if (info->type == NODE_SWITCH) {
		ask_node(explore, ASK_PORT_INFO, index, 0, came_by);
		ask_node(explore, ASK_SWITCH_INFO, index, 0, came_by);
		for (i = 1; i <= info->port_count; i++)
			ask_node(explore, ASK_PORT_INFO, index, (uint8_t)i, came_by);
	} else {
		ask_node(explore, ASK_PORT_INFO, index, num, came_by);
	}
	ask_node(explore, ASK_DESCRIPTION, index, num, came_by);
}

static void take_node_info(struct explore *explore, const struct question *question, const uint8_t mad[MAD_SIZE])
{
	struct smp_node info = smp_read_node(mad + SMP_DATA_OFFSET);
	bool is_new;
	uint32_t met;
	int code = survey_meet(&explore->survey, &info, question->path, question->request_node, &met, &is_new,
			       explore->err);

	if (code < 0)
		explore->code = code;
	if (code != 0) {
		if (code > 0 && map_get(&explore->survey.by_guid, info.guid, &met))
			look_behind_all(explore, met);
		return;
	}
	if (question->kind == ASK_OWN)
		explore->survey.from_port = info.port;
	else if (!survey_link(&explore->survey, question->node, question->num, met, info.port, is_new)) {
		look_behind_all(explore, question->node);
		look_behind_all(explore, met);
	}
	if (is_new) {
		if (question->path->hops > explore->hops)
			explore->hops = question->path->hops;
		ask_all(explore, met, info.port, question);
	} else if (info.type != NODE_SWITCH && !explore->survey.nodes[met].ports[info.port].known) {
		ask_node(explore, ASK_PORT_INFO, met, info.port, question);
	}
}

static void take_port_info(struct explore *explore, const struct question *question, const uint8_t mad[MAD_SIZE])
{
	struct survey_node *node = &explore->survey.nodes[question->node];
	struct survey_port *port = &node->ports[question->num];

	memcpy(port->info, mad + SMP_DATA_OFFSET, SMP_DATA_SIZE);
	port->known = true;
	if (question->num && smp_hides_fdr10(&node->info, port->info, survey_caps(node, question->num)))
		ask_node(explore, ASK_EXTENDED, question->node, question->num, question);
	look_behind(explore, question->node, question->num);
}

static void take_answer(struct explore *explore, const struct question *question, const uint8_t mad[MAD_SIZE])
{
	struct survey_node *node = &explore->survey.nodes[question->node];

	if (question->kind == ASK_OWN || question->kind == ASK_PROBE) {
		take_node_info(explore, question, mad);
		return;
	}
	node->failed_in_a_row = 0;
	if (question->kind == ASK_PORT_INFO)
		take_port_info(explore, question, mad);
	else if (question->kind == ASK_SWITCH_INFO)
		smp_read_switch(mad + SMP_DATA_OFFSET, &node->node);
	else if (question->kind == ASK_DESCRIPTION)
		memcpy(node->node.desc, mad + SMP_DATA_OFFSET, NODE_DESC_SIZE);
	else
		memcpy(node->ports[question->num].extended, mad + SMP_DATA_OFFSET, SMP_DATA_SIZE);
}

static void count_lost(struct explore *explore, const struct question *question)
{
	if (question->kind == ASK_PROBE)
		explore->silent++;
	else if (question->kind != ASK_EXTENDED)
		explore->lost++;
}

static bool defer(struct explore *explore, struct question *question)
{
	question->next = explore->deferred;
	explore->deferred = question;
	return true;
}

/* A query of a node failed; the node may become unresponsive by it. */
static void count_failure(struct explore *explore, const struct question *question)
{
	unsigned dead_after = DEAD_AFTER_QUESTIONS * (explore->settings->retries + 1);
	struct survey_node *node;

	if (question->kind == ASK_PROBE || question->kind == ASK_OWN)
		return;
	node = &explore->survey.nodes[question->node];
	if (++node->failed_in_a_row % dead_after)
		return;
	explore->dropping = !node->dropped;
	node->dropped = true;
	engine_drop_node(explore->engine, question->request_node);
	explore->dropping = false;
}

/* Retry a failed query; the last time after all others. Return: whether it will be repeated. */
static bool repeat(struct explore *explore, struct question *question, enum request_result result)
{
	unsigned retries = explore->settings->retries;
	bool last = question->attempt >= retries;

	if (explore->code < 0 || (result == REQUEST_CANCELLED && !explore->dropping))
		return false;
	if (result == REQUEST_CANCELLED)
		return defer(explore, question);
	count_failure(explore, question);
	question->attempt++;
	if (question->kind == ASK_PROBE && explore->mkey_count)
		question->mkey = explore->mkeys[question->attempt % explore->mkey_count];
	if (question->attempt < retries) {
		explore->code = submit(question);
		return explore->code == 0;
	}
	return !last && defer(explore, question);
}

static void take_result(void *ctx, const struct request *request, const struct response *response)
{
	struct question *question = ctx;
	struct explore *explore = question->explore;

	(void)request;
	if (response->result == REQUEST_ANSWERED && smp_is_ok(response->mad))
		take_answer(explore, question, response->mad);
	/* The attribute is vendor-specific: an error status means that it is not supported. */
	else if (response->result == REQUEST_ANSWERED && question->kind == ASK_EXTENDED)
		;
	else if (repeat(explore, question, response->result))
		return;
	else
		count_lost(explore, question);
	free(question);
}

/* Run until nothing is left, then send the deferred queries; their responses may lead further. */
static int run(struct explore *explore, struct error *err)
{
	int code = engine_run(explore->engine, 0, err);

	while (code == 0 && explore->code == 0 && explore->deferred) {
		struct question *question = explore->deferred, *next;

		explore->deferred = NULL;
		for (; question; question = next) {
			next = question->next;
			if (explore->code == 0)
				explore->code = submit(question);
			if (explore->code < 0)
				free(question);
		}
		code = engine_run(explore->engine, 0, err);
	}
	while (explore->deferred) {
		struct question *question = explore->deferred;

		explore->deferred = question->next;
		free(question);
	}
	return code < 0 ? code : explore->code;
}

int explore_run(const struct transport *transport, const struct clock *clock, const struct explore_settings *settings,
		struct fabric **ret, struct record_trailer *ret_trailer, struct text *notes, struct error *err)
{
	struct engine_settings limits = { .window = settings->max_smps, .per_node = settings->per_node,
					  .timeout_ms = settings->timeout_ms };
	struct explore explore = { .settings = settings, .err = err };
	const struct path here = { 0 };
	struct question own = { .kind = ASK_OWN, .path = &here };
	size_t different;
	int code = engine_create(transport, clock, &limits, &explore.engine, err);

	if (code < 0)
		return code;
	explore.mkey_count = keys_rank(settings->keys, explore.mkeys, MKEYS_TRIED, &different);
	own.mkey = mkey_of(&explore, settings->own_guid, settings->own_guid);
	if (!own.mkey)
		own.mkey = explore.mkeys[0];
	own.request_node = explore.request_nodes++;
	ask(&explore, &own);
	code = run(&explore, err);
	if (code == 0 && !explore.survey.count)
		code = err_set(err, ERR_UNAVAILABLE, "not even this host's own node answers SMPs: has it an M_Key "
			       "(--security-keys), or is its firmware at work?");
	if (code == 0)
		code = survey_finish(&explore.survey, ret, err);
	if (code == 0) {
		ret_trailer->smps = engine_counts(explore.engine).sent;
		ret_trailer->hops = explore.hops;
		ret_trailer->lost = explore.lost;
		ret_trailer->silent = explore.silent;
	}
	survey_take_notes(&explore.survey, notes);
	/* With a result, do not wait for late responses. */
	while (code < 0 && engine_listen(explore.engine, 20))
		;
	if (code == 0 && engine_listen(explore.engine, 0))
		code = EXPLORE_OPEN;
	explicit_bzero(explore.mkeys, sizeof(explore.mkeys));
	engine_destroy(explore.engine);
	while (explore.routes) {
		struct route *route = explore.routes;

		explore.routes = route->next;
		free(route);
	}
	survey_done(&explore.survey);
	return code;
}
