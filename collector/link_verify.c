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

static bool is_switch(const struct link_look *look, uint32_t port)
{
	return look->fabric->nodes[look->fabric->ports[port].node].type == NODE_SWITCH;
}

/* The switch's end of a port's link is to be looked at. */
static void add(struct link_look *look, uint32_t port)
{
	size_t i;

	if (!is_switch(look, port))
		port = look->fabric->ports[port].peer;
	if (port == FABRIC_NONE || !is_switch(look, port) || look->count == LINK_LOOK_MAX) {
		look->changed = true;
		return;
	}
	for (i = 0; i < look->count; i++)
		if (look->ports[i] == port)
			return;
	look->ports[look->count++] = port;
}

void link_look_find(struct link_look *look, const struct fabric *fabric, struct memory *memory,
		    const struct sweep_result *result)
{
	size_t i;

	look->fabric = fabric;
	look->memory = memory;
	look->changed = false;
	look->count = 0;
	for (i = 0; i < result->count && !look->changed; i++) {
		const struct port_sample *sample = &result->samples[i];
		const struct delta *delta = sample->delta;
		bool fell_silent = sample->status == SAMPLE_SILENT &&
				   memory_port(look->memory, look->fabric, sample->port)->status == SAMPLE_OK;

		if (fell_silent && is_switch(look, sample->port))
			look->changed = true;
		else if (fell_silent || (delta && delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED) &&
					 delta->value[COUNTER_LINK_DOWNED]))
			add(look, sample->port);
	}
}

static void on_port_info(void *ctx, const struct request *request, enum request_result result,
			 const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct link_look *look = ctx;

	(void)at_us;
	if (result != REQUEST_ANSWERED || !smp_is_ok(mad) ||
	    !link_check_is_same(look->fabric, look->ports[request->tag], mad))
		look->changed = true;
}

static void on_node_info(void *ctx, const struct request *request, enum request_result result,
			 const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct link_look *look = ctx;
	const struct port *peer = &look->fabric->ports[look->fabric->ports[look->ports[request->tag]].peer];
	struct smp_node_info info;

	(void)at_us;
	if (result != REQUEST_ANSWERED || !smp_is_ok(mad)) {
		look->changed = true;
		return;
	}
	info = smp_read_node_info(mad);
	if (info.guid != look->fabric->nodes[peer->node].guid || info.port != peer->num)
		look->changed = true;
}

/* NodeInfo of what is behind a port. Return: 0, also where there is nothing; ERR_NOMEM. */
static int ask_behind(struct link_look *look, struct engine *engine, uint32_t tag, struct error *err)
{
	const struct port *port = &look->fabric->ports[look->ports[tag]];
	struct path *path = &look->paths[tag];
	struct request request = {
		.attribute = SMP_NODE_INFO, .tag = tag, .once = true, .done = on_node_info, .ctx = look,
	};

	if (port->state < PORT_INIT)
		return 0;
	*path = look->memory->paths[port->node];
	if (port->peer == FABRIC_NONE || path->hops >= PATH_HOPS_MAX ||
	    memory_node(look->memory, look->fabric->ports[port->peer].node)->locked ||
	    !memory_route_smp(look->memory, look->fabric, look->fabric->ports[port->peer].node,
			      look->fabric->ports[port->peer].num, &request)) {
		look->changed = true;
		return 0;
	}
	path->ports[path->hops++] = port->num;
	request.mgmt_class = CLASS_SUBN_DIRECTED;
	request.to.lid = LID_PERMISSIVE;
	request.path = path;
	return engine_submit(engine, &request, err);
}

static int ask(struct link_look *look, struct engine *engine, uint32_t tag, struct error *err)
{
	const struct port *port = &look->fabric->ports[look->ports[tag]];
	struct request request = {
		.attribute = SMP_PORT_INFO, .modifier = port->num, .tag = tag, .once = true,
		.done = on_port_info, .ctx = look,
	};
	int code;

	if (memory_node(look->memory, port->node)->locked ||
	    !memory_route_smp(look->memory, look->fabric, port->node, port->num, &request)) {
		look->changed = true;
		return 0;
	}
	code = engine_submit(engine, &request, err);
	return code < 0 ? code : ask_behind(look, engine, tag, err);
}

int link_look_run(struct link_look *look, struct engine *engine, int64_t deadline_us, struct error *err)
{
	int code = 0, ran;
	uint32_t i;

	if (look->changed)
		return 0;
	for (i = 0; i < look->count && code == 0; i++)
		code = ask(look, engine, i, err);
	/* Also after a failure: what is queued points to our arrays. */
	ran = engine_run(engine, deadline_us, err);
	return ran < 0 ? ran : code;
}
