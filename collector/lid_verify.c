/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/lid_verify.h"

#include <stddef.h>
#include <stdlib.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "collector/node_memory.h"
#include "collector/sweep_events.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "fabric/path.h"
#include "fabric/planes.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

/* A higher share of the link's rate is not credible. Readings are time-stamped a little late. */
#define CREDIBLE_PERCENT 150.0

/*
 * Nodes that became unresponsive in this sweep and whose LIDs are queried. A sample: each dead one
 * costs 5 ms, and a subnet manager that reassigns LIDs moves many.
 */
#define SILENT_MAX 8

struct lid_verify {
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct sweep_result *result;
	int64_t deadline_us;
	bool all;         /* every LID with a reading is verified: all are in doubt */
	bool *queried;    /* per sample, at the first sample of a LID: the LID was queried */
	unsigned silent;  /* unresponsive nodes whose LIDs were queried */
	uint32_t moved; /* LIDs that belong to another node */
	int code;       /* of queries by path */
	struct error *err;
	uint8_t owners[UINT16_MAX + 1]; /* by LID: ports of the topology that have it; at most 2 are counted */
};

/* Two fabrics were merged, and the subnet manager has not reassigned their LIDs yet. */
static bool is_shared(const struct lid_verify *verify, const struct port *port)
{
	return verify->owners[fabric_port_lid(verify->fabric, port)] > 1;
}

static void count_owners(struct lid_verify *verify)
{
	for (size_t i = 0; i < verify->fabric->port_count; i++) {
		const struct port *port = &verify->fabric->ports[i];
		bool of_switch = verify->fabric->nodes[port->node].type == NODE_SWITCH;
		uint8_t *owners = &verify->owners[fabric_port_lid(verify->fabric, port)];

		*owners += *owners < 2 && (!of_switch || !port->num) &&
			   !(*owners && port_is_plane(verify->fabric, (uint32_t)i));
	}
}

/* The samples of a LID: all ports of a switch, one of an HCA. Return: first of the next LID. */
static size_t lid_end(const struct lid_verify *verify, size_t first)
{
	const struct port *port = &verify->fabric->ports[verify->result->samples[first].port];
	size_t end = first + 1;

	if (verify->fabric->nodes[port->node].type != NODE_SWITCH)
		return end;
	while (end < verify->result->count &&
	       verify->fabric->ports[verify->result->samples[end].port].node == port->node)
		end++;
	return end;
}

static bool is_implausible(const struct lid_verify *verify, const struct port_sample *sample)
{
	const struct port *port = &verify->fabric->ports[sample->port];
	uint64_t bits_per_s = port_rate_bits_per_s(port);
	const struct reading *last = &node_memory_port(verify->memory, sample->port)->last;

	if (!sample->delta)
		return false;
	/* If the width of a counter changed, it is unknown whether the counter decreased. */
	return sample->delta->reset || (last->present & sample->reading->present & ~sample->delta->known) ||
	       rate_utilization_percent(rate_bytes_per_s(sample->delta, COUNTER_XMIT_DATA), bits_per_s).value >
		       CREDIBLE_PERCENT ||
	       rate_utilization_percent(rate_bytes_per_s(sample->delta, COUNTER_RCV_DATA), bits_per_s).value >
		       CREDIBLE_PERCENT;
}

static void discard(struct lid_verify *verify, size_t first, enum sample_status status)
{
	size_t end = lid_end(verify, first);

	for (size_t i = first; i < end; i++) {
		struct port_sample *sample = &verify->result->samples[i];

		if (!sample->reading && sample->status != SAMPLE_UNSUPPORTED)
			continue;
		verify->result->ports_answered -= sample->reading != NULL;
		verify->result->ports_polled += sample->status == SAMPLE_UNSUPPORTED &&
						!port_is_plane(verify->fabric, sample->port);
		verify->result->ports_unfinished += status == SAMPLE_UNFINISHED;
		verify->result->cut |= status == SAMPLE_UNFINISHED;
		*sample = (struct port_sample){ .port = sample->port, .status = status };
	}
}

/* SMPs by LID: is it the expected node and port? An error status proves nothing. */
static bool is_at_lid(const struct lid_verify *verify, const struct port *port, const struct response *response)
{
	const struct node *node = &verify->fabric->nodes[port->node];
	struct smp_node info;

	if (!smp_is_ok(response->mad))
		return false;
	info = smp_read_node(response->mad + SMP_DATA_OFFSET);
	return info.node.guid == node->guid && (node->type == NODE_SWITCH || info.port == port->num);
}

/*
 * SMPs by path: does the port still have the LID that its counters were read from? A node that is
 * gone does not respond here, while another may have its LID: without a response only a locked node
 * is accepted.
 */
static bool has_lid(const struct lid_verify *verify, const struct port *port, const struct response *response)
{
	if (response->result != REQUEST_ANSWERED)
		return node_memory_node(verify->memory, port->node)->locked;
	return smp_is_ok(response->mad) && smp_read_lid(response->mad) == fabric_port_lid(verify->fabric, port);
}

/* The owner of a redirection's LID cannot be verified: the next sweep queries the agent itself. */
static bool drop_redirect(struct lid_verify *verify, size_t first)
{
	struct port_entry *agent = node_memory_agent(verify->memory, verify->result->samples[first].port);

	if (!agent->redirect.lid || agent->redirect_new)
		return false;
	agent->redirect = (struct mad_address){ 0 };
	discard(verify, first, SAMPLE_SILENT);
	return true;
}

/*
 * A node does not respond to SMPs by any route. It is accepted the second time, because a single
 * timeout may be a lost MAD; but not while LIDs are in doubt.
 */
static bool is_accepted(struct lid_verify *verify, const struct port *port)
{
	struct node_entry *node = node_memory_node(verify->memory, port->node);
	bool again = node->smp_timeout_sweeps > 0;

	node->smp_timeout_sweeps += !again;
	return again && !verify->all && !verify->moved;
}

/*
 * The node has the LID, but another one may have it too, and have responded: two fabrics were merged.
 * An implausible reading is accepted if SMPs by LID get no response in several sweeps.
 */
static bool is_doubtful(struct lid_verify *verify, const struct port *port, size_t first)
{
	struct node_entry *node = node_memory_node(verify->memory, port->node);
	size_t end = lid_end(verify, first), i = first;

	while (i < end && !(verify->result->samples[i].reading &&
			    is_implausible(verify, &verify->result->samples[i])))
		i++;
	if (i == end || node->unconfirmed_sweeps >= LOCKED_AFTER_SWEEPS)
		return false;
	node->unconfirmed_sweeps++;
	return true;
}

/* PortInfo by path, of a node without a response by LID: which LID does it have? */
static void on_path_response(void *ctx, const struct request *request, const struct response *response)
{
	struct lid_verify *verify = ctx;
	const struct port *port = &verify->fabric->ports[verify->result->samples[request->tag].port];
	bool other;

	if (response->result == REQUEST_CANCELLED) {
		discard(verify, request->tag, SAMPLE_UNFINISHED);
		return;
	}
	node_memory_note_smp(verify->memory, port->node, response->result == REQUEST_ANSWERED);
	if (response->result != REQUEST_ANSWERED) {
		if (!is_accepted(verify, port))
			discard(verify, request->tag, SAMPLE_SILENT);
		return;
	}
	other = smp_is_ok(response->mad) && smp_read_lid(response->mad) != fabric_port_lid(verify->fabric, port);
	verify->moved += other;
	if (other || !smp_is_ok(response->mad) || is_doubtful(verify, port, request->tag))
		discard(verify, request->tag, SAMPLE_SILENT);
}

/* Return: whether there is a path. */
static bool query_path(struct lid_verify *verify, size_t sample, bool once)
{
	const struct port *port = &verify->fabric->ports[verify->result->samples[sample].port];
	struct request request = {
		.attribute = SMP_PORT_INFO, .tag = (uint32_t)sample, .once = once, .done = on_path_response,
		.ctx = verify,
	};

	if (verify->memory->paths[port->node].hops == PATH_NONE ||
	    !node_memory_route_smp(verify->memory, port->node, port->num, &request))
		return false;
	request.mgmt_class = CLASS_SUBN_DIRECTED;
	request.to.lid = LID_PERMISSIVE;
	request.path = &verify->memory->paths[port->node];
	request.modifier = verify->fabric->nodes[port->node].type == NODE_SWITCH ? 0 : port->num;
	if (verify->code == 0)
		verify->code = engine_submit(verify->engine, &request, verify->err);
	return true;
}

static void on_response(void *ctx, const struct request *request, const struct response *response)
{
	struct lid_verify *verify = ctx;
	const struct port *port = &verify->fabric->ports[verify->result->samples[request->tag].port];

	if (response->result == REQUEST_CANCELLED) {
		discard(verify, request->tag, SAMPLE_UNFINISHED);
		return;
	}
	node_memory_note_smp(verify->memory, port->node, response->result == REQUEST_ANSWERED);
	/* The LID may belong to a locked node now, which responds to PMA queries only. */
	if (response->result != REQUEST_ANSWERED && !verify->memory->directed) {
		if (is_shared(verify, port))
			discard(verify, request->tag, SAMPLE_SILENT);
		else if (!node_memory_node(verify->memory, port->node)->locked)
			query_path(verify, request->tag, false);
		return;
	}
	if (verify->memory->directed ? has_lid(verify, port, response) : is_at_lid(verify, port, response)) {
		node_memory_node(verify->memory, port->node)->unconfirmed_sweeps = 0;
		return;
	}
	verify->moved += response->result != REQUEST_ANSWERED || smp_is_ok(response->mad);
	discard(verify, request->tag, SAMPLE_SILENT);
	/* The redirection and capabilities may be those of the other node. */
	*node_memory_redirect(verify->memory, verify->result->samples[request->tag].port) =
		(struct mad_address){ 0 };
	node_memory_set_caps(node_memory_node(verify->memory, port->node), (struct pma_caps){ 0 });
}

static int query(struct lid_verify *verify, size_t sample, struct error *err)
{
	const struct port *port = &verify->fabric->ports[verify->result->samples[sample].port];
	struct request request = {
		.attribute = verify->memory->directed ? SMP_PORT_INFO : SMP_NODE_INFO,
		.tag = (uint32_t)sample,
		.done = on_response,
		.ctx = verify,
	};

	verify->queried[sample] = true;
	if (!node_memory_route_smp(verify->memory, port->node, port->num, &request))
		return 0;
	if (verify->memory->directed && verify->fabric->nodes[port->node].type != NODE_SWITCH)
		request.modifier = port->num;
	return engine_submit(verify->engine, &request, err);
}

/* Query the present LID of a node that responded at its LID in the last sweep, and not in this one. */
static void query_silent(struct lid_verify *verify, size_t sample)
{
	verify->queried[sample] = true;
	if (verify->silent < SILENT_MAX)
		verify->silent += query_path(verify, sample, true);
}

static bool fell_silent(const struct lid_verify *verify, const struct port_sample *sample)
{
	return sample->status == SAMPLE_SILENT &&
	       node_memory_port(verify->memory, sample->port)->status == SAMPLE_OK;
}

static bool was_silent(const struct lid_verify *verify, const struct port_sample *sample)
{
	return node_memory_node(verify->memory, verify->fabric->ports[sample->port].node)->unresponsive_sweeps > 0;
}

/*
 * Query each LID with a reading that was not queried yet and is implausible, or @all of them; and
 * those of nodes that became unresponsive.
 */
static int query_each(struct lid_verify *verify, bool all, struct error *err)
{
	size_t end;
	int code = 0;

	for (size_t first = 0; first < verify->result->count && code == 0; first = end) {
		bool requested = false, implausible = false, silent = true;
		bool shared = is_shared(verify, &verify->fabric->ports[verify->result->samples[first].port]);

		end = lid_end(verify, first);
		for (size_t i = first; i < end && !implausible; i++) {
			const struct port_sample *sample = &verify->result->samples[i];

			implausible = sample->reading && is_implausible(verify, sample);
			/* The LID of an unresponsive node may have been reassigned meanwhile. */
			requested |= implausible || (sample->reading && (all || shared || was_silent(verify, sample)));
			silent &= !sample->reading;
		}
		if (implausible && drop_redirect(verify, first))
			continue;
		if (requested && !verify->queried[first])
			code = query(verify, first, err);
		else if (silent && !all && !verify->queried[first] &&
			 fell_silent(verify, &verify->result->samples[first]))
			query_silent(verify, first);
	}
	code = engine_finish(verify->engine, code ? code : verify->code, verify->deadline_us, err);
	return code < 0 ? code : verify->code;
}

int lid_verify_run(struct engine *engine, struct node_memory *memory, struct sweep_result *result, bool all,
		   int64_t deadline_us, uint32_t *ret_moved, struct error *err)
{
	struct lid_verify verify = { .engine = engine, .fabric = memory->fabric, .memory = memory, .result = result,
				     .deadline_us = deadline_us, .all = all, .err = err };
	int code;

	*ret_moved = 0;
	verify.queried = calloc(result->count ? result->count : 1, sizeof(*verify.queried));
	if (!verify.queried)
		return err_nomem(err);
	count_owners(&verify);
	code = query_each(&verify, all, err);
	if (code == 0 && verify.moved && !all)
		code = query_each(&verify, true, err);
	free(verify.queried);
	*ret_moved = verify.moved;
	return code;
}
