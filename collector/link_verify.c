/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/link_verify.h"

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/topology_probe.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "fabric/path.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

static bool is_switch(const struct link_verify *verify, uint32_t port)
{
	return verify->fabric->nodes[verify->fabric->ports[port].node].type == NODE_SWITCH;
}

/* Add the switch port of a link. */
static void add(struct link_verify *verify, uint32_t port)
{
	size_t i;

	if (!is_switch(verify, port))
		port = verify->fabric->ports[port].peer;
	if (port == FABRIC_NONE || !is_switch(verify, port) || verify->count == LINK_VERIFY_MAX) {
		verify->changed = true;
		return;
	}
	for (i = 0; i < verify->count; i++)
		if (verify->ports[i] == port)
			return;
	verify->ports[verify->count++] = port;
}

void link_verify_select(struct link_verify *verify, const struct fabric *fabric, struct node_memory *memory,
			const struct sweep_result *result)
{
	size_t i;

	verify->fabric = fabric;
	verify->memory = memory;
	verify->changed = false;
	verify->count = 0;
	for (i = 0; i < result->count && !verify->changed; i++) {
		const struct port_sample *sample = &result->samples[i];
		const struct delta *delta = sample->delta;
		bool fell_silent = sample->status == SAMPLE_SILENT &&
				   node_memory_port(verify->memory, sample->port)->status == SAMPLE_OK;

		if (fell_silent && is_switch(verify, sample->port))
			verify->changed = true;
		else if (fell_silent || (delta && delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED) &&
					 delta->value[COUNTER_LINK_DOWNED]))
			add(verify, sample->port);
	}
}

static void on_port_info(void *ctx, const struct request *request, enum request_result result,
			 const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct link_verify *verify = ctx;

	(void)at_us;
	if (result != REQUEST_ANSWERED || !smp_is_ok(mad) ||
	    !topology_probe_matches(verify->fabric, verify->ports[request->tag], mad))
		verify->changed = true;
}

static void on_node_info(void *ctx, const struct request *request, enum request_result result,
			 const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct link_verify *verify = ctx;
	const struct port *peer = &verify->fabric->ports[verify->fabric->ports[verify->ports[request->tag]].peer];
	struct smp_node_info info;

	(void)at_us;
	if (result != REQUEST_ANSWERED || !smp_is_ok(mad)) {
		verify->changed = true;
		return;
	}
	info = smp_read_node_info(mad);
	if (info.guid != verify->fabric->nodes[peer->node].guid || info.port != peer->num)
		verify->changed = true;
}

/* NodeInfo of the peer of a port. Return: 0, also if there is none; ERR_NOMEM. */
static int query_peer(struct link_verify *verify, struct engine *engine, uint32_t tag, struct error *err)
{
	const struct port *port = &verify->fabric->ports[verify->ports[tag]];
	struct path *path = &verify->paths[tag];
	struct request request = {
		.attribute = SMP_NODE_INFO, .tag = tag, .once = true, .done = on_node_info, .ctx = verify,
	};

	if (port->state < PORT_INIT)
		return 0;
	*path = verify->memory->paths[port->node];
	if (port->peer == FABRIC_NONE || path->hops >= PATH_HOPS_MAX ||
	    node_memory_node(verify->memory, verify->fabric->ports[port->peer].node)->locked ||
	    !node_memory_route_smp(verify->memory, verify->fabric->ports[port->peer].node,
				   verify->fabric->ports[port->peer].num, &request)) {
		verify->changed = true;
		return 0;
	}
	path->ports[path->hops++] = port->num;
	request.mgmt_class = CLASS_SUBN_DIRECTED;
	request.to.lid = LID_PERMISSIVE;
	request.path = path;
	return engine_submit(engine, &request, err);
}

static int query(struct link_verify *verify, struct engine *engine, uint32_t tag, struct error *err)
{
	const struct port *port = &verify->fabric->ports[verify->ports[tag]];
	struct request request = {
		.attribute = SMP_PORT_INFO, .modifier = port->num, .tag = tag, .once = true,
		.done = on_port_info, .ctx = verify,
	};
	int code;

	if (node_memory_node(verify->memory, port->node)->locked ||
	    !node_memory_route_smp(verify->memory, port->node, port->num, &request)) {
		verify->changed = true;
		return 0;
	}
	code = engine_submit(engine, &request, err);
	return code < 0 ? code : query_peer(verify, engine, tag, err);
}

int link_verify_run(struct link_verify *verify, struct engine *engine, int64_t deadline_us, struct error *err)
{
	int code = 0, ran;
	uint32_t i;

	if (verify->changed)
		return 0;
	for (i = 0; i < verify->count && code == 0; i++)
		code = query(verify, engine, i, err);
	/* Also after a failure: queued requests refer to our arrays. */
	ran = engine_run(engine, deadline_us, err);
	return ran < 0 ? ran : code;
}
