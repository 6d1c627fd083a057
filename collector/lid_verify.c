/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/lid_verify.h"

#include <stddef.h>
#include <stdlib.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

/* A higher share of the link's rate is not credible. Readings are time-stamped a little late. */
#define CREDIBLE_PERCENT 150.0

struct lid_verify {
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct sweep_result *result;
	bool *queried;    /* per sample, at the first sample of a LID: the LID was queried */
	uint32_t moved; /* LIDs that belong to another node */
};

/*
 * The samples of one LID: all ports of a switch, one of another node. Return: index of the next
 * LID.
 */
static size_t end_of_lid(const struct lid_verify *check, size_t first)
{
	const struct port *port = &check->fabric->ports[check->result->samples[first].port];
	size_t end = first + 1;

	if (check->fabric->nodes[port->node].type != NODE_SWITCH)
		return end;
	while (end < check->result->count &&
	       check->fabric->ports[check->result->samples[end].port].node == port->node)
		end++;
	return end;
}

static bool is_strange(const struct lid_verify *check, const struct port_sample *sample)
{
	const struct port *port = &check->fabric->ports[sample->port];
	uint64_t bits_per_s = port_rate_bits_per_s(port);

	if (!sample->delta)
		return false;
	return sample->delta->reset ||
	       rate_utilization_percent(rate_bytes_per_s(sample->delta, COUNTER_XMIT_DATA), bits_per_s) >
		       CREDIBLE_PERCENT ||
	       rate_utilization_percent(rate_bytes_per_s(sample->delta, COUNTER_RCV_DATA), bits_per_s) >
		       CREDIBLE_PERCENT;
}

static void discard(struct lid_verify *check, size_t first)
{
	size_t end = end_of_lid(check, first), i;

	for (i = first; i < end; i++) {
		struct port_sample *sample = &check->result->samples[i];

		if (sample->status == SAMPLE_UNSUPPORTED)
			sample->status = SAMPLE_SILENT;
		if (!sample->reading)
			continue;
		*sample = (struct port_sample){ .port = sample->port, .status = SAMPLE_SILENT };
		check->result->ports_answered--;
	}
}

/* SMPs by LID: is it the expected node and port? Without a response it is accepted. */
static bool is_at_lid(const struct lid_verify *check, const struct port *port, enum request_result result,
		      const uint8_t *mad)
{
	const struct node *node = &check->fabric->nodes[port->node];
	struct smp_node_info info;

	if (result != REQUEST_ANSWERED || !smp_is_ok(mad))
		return true;
	info = smp_read_node_info(mad);
	return info.guid == node->guid && (node->type == NODE_SWITCH || info.port == port->num);
}

/*
 * SMPs by path: does the port still have the LID that its counters were read from? A node that is gone
 * does not respond here, while another may have its LID: without a response only a locked node is
 * accepted.
 */
static bool has_lid(const struct lid_verify *check, const struct port *port, enum request_result result,
		    const uint8_t *mad)
{
	if (result == REQUEST_CANCELLED)
		return true;
	if (result != REQUEST_ANSWERED)
		return node_memory_node(check->memory, port->node)->locked;
	return smp_is_ok(mad) && smp_read_lid(mad) == fabric_port_lid(check->fabric, port);
}

/*
 * Implausible readings through a redirection of an earlier sweep: the owner of that LID cannot be
 * verified. The next sweep queries the agent itself.
 */
static bool forget_redirect(struct lid_verify *check, size_t first)
{
	struct port_entry *agent = node_memory_agent(check->memory, check->fabric, check->result->samples[first].port);

	if (!agent->redirect.lid || agent->redirect_new)
		return false;
	agent->redirect = (struct mad_address){ 0 };
	discard(check, first);
	return true;
}

static void on_answer(void *ctx, const struct request *request, enum request_result result,
		      const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct lid_verify *check = ctx;
	const struct port *port = &check->fabric->ports[check->result->samples[request->tag].port];

	(void)at_us;
	if (result != REQUEST_CANCELLED)
		node_memory_note_smp(check->memory, port->node, result == REQUEST_ANSWERED);
	if (check->memory->directed ? has_lid(check, port, result, mad) : is_at_lid(check, port, result, mad))
		return;
	check->moved++;
	discard(check, request->tag);
	/* The redirection and capabilities may be those of the other node. */
	*node_memory_redirect(check->memory, check->fabric, check->result->samples[request->tag].port) =
		(struct mad_address){ 0 };
	node_memory_node(check->memory, port->node)->caps = (struct pma_caps){ 0 };
	node_memory_node(check->memory, port->node)->caps_stored = false;
}

static int query(struct lid_verify *check, size_t sample, struct error *err)
{
	const struct port *port = &check->fabric->ports[check->result->samples[sample].port];
	struct request request = {
		.attribute = check->memory->directed ? SMP_PORT_INFO : SMP_NODE_INFO,
		.tag = (uint32_t)sample,
		.done = on_answer,
		.ctx = check,
	};

	check->queried[sample] = true;
	if (!node_memory_route_smp(check->memory, check->fabric, port->node, port->num, &request))
		return 0;
	if (check->memory->directed && check->fabric->nodes[port->node].type != NODE_SWITCH)
		request.modifier = port->num;
	return engine_submit(check->engine, &request, err);
}

static bool was_silent(const struct lid_verify *check, const struct port_sample *sample)
{
	return node_memory_node(check->memory, check->fabric->ports[sample->port].node)->silent_sweeps > 0;
}

/* Query each LID with a reading that was not queried yet and is implausible, or @all of them. */
static int query_each(struct lid_verify *check, bool all, struct error *err)
{
	size_t first, end, i;
	int code = 0, ran;

	for (first = 0; first < check->result->count && code == 0; first = end) {
		bool requested = false, strange = false;

		end = end_of_lid(check, first);
		for (i = first; i < end && !strange; i++) {
			const struct port_sample *sample = &check->result->samples[i];

			strange = sample->reading && is_strange(check, sample);
			/* The LID of an unresponsive node may have been reassigned meanwhile. */
			requested |= strange || (sample->reading && (all || was_silent(check, sample)));
		}
		if (strange && forget_redirect(check, first))
			continue;
		if (requested && !check->queried[first])
			code = query(check, first, err);
	}
	ran = engine_run(check->engine, 0, err);
	return ran < 0 ? ran : code;
}

int lid_verify_run(struct engine *engine, const struct fabric *fabric, struct node_memory *memory,
		   struct sweep_result *result, bool all, uint32_t *ret_moved, struct error *err)
{
	struct lid_verify check = { .engine = engine, .fabric = fabric, .memory = memory, .result = result };
	int code;

	*ret_moved = 0;
	check.queried = calloc(result->count ? result->count : 1, sizeof(*check.queried));
	if (!check.queried)
		return err_nomem(err);
	code = query_each(&check, all, err);
	if (code == 0 && check.moved && !all)
		code = query_each(&check, true, err);
	free(check.queried);
	*ret_moved = check.moved;
	return code;
}
