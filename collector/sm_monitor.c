/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sm_monitor.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/smp.h"

/* SMInfo.SMState. */
enum { SM_MASTER = 3 };

void sm_watch_done(struct sm_watch *watch)
{
	free(watch->places);
	*watch = (struct sm_watch){ 0 };
}

/* May a port have a subnet manager: an HCA's, or a switch's own? */
static bool can_be_asked(const struct fabric *fabric, const struct port *port)
{
	if (!fabric_port_lid(fabric, port))
		return false;
	return fabric->nodes[port->node].type == NODE_SWITCH ? port->num == 0 : port->state >= PORT_INIT;
}

/* Does somebody call one of this port's LIDs its master's? @named: by LID */
static bool is_named(const struct fabric *fabric, const struct port *port, const bool *named)
{
	uint32_t lid = fabric_port_lid(fabric, port), end = lid + (1u << (port->lmc & 7));

	for (; lid < end && lid <= UINT16_MAX; lid++)
		if (named[lid])
			return true;
	return false;
}

/* @before: those of the fabric before: what was known of them stands until they are heard */
static int add_place(struct sm_watch *watch, const struct fabric *fabric, uint32_t port,
		     const struct sm_watch *before, struct error *err)
{
	struct sm_place *places = array_grow(watch->places, watch->count, &watch->capacity, sizeof(*places)), *added;
	size_t i;

	if (!places)
		return err_nomem(err);
	watch->places = places;
	added = &places[watch->count++];
	*added = (struct sm_place){ .node_guid = fabric->nodes[fabric->ports[port].node].guid,
				    .num = fabric->ports[port].num };
	for (i = 0; i < before->count; i++)
		if (before->places[i].node_guid == added->node_guid && before->places[i].num == added->num)
			*added = before->places[i];
	added->port = port;
	return 0;
}

/* Where subnet managers are, of a new fabric. Who they are is asked at once. */
static int list_places(struct sm_watch *watch, const struct fabric *fabric, struct error *err)
{
	bool *named = calloc(UINT16_MAX + 1, sizeof(*named));
	struct sm_watch before = *watch;
	int code = named ? 0 : err_nomem(err);
	uint32_t i;

	watch->places = NULL;
	watch->count = watch->capacity = watch->next = 0;
	for (i = 0; code == 0 && i < fabric->port_count; i++)
		if (fabric->ports[i].sm_lid && fabric->ports[i].state >= PORT_INIT)
			named[fabric->ports[i].sm_lid] = true;
	for (i = 0; code == 0 && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (can_be_asked(fabric, port) && (port_is_sm(port) || is_named(fabric, port, named)))
			code = add_place(watch, fabric, i, &before, err);
	}
	free(before.places);
	free(named);
	return code;
}

static bool is_master(const struct sm_state *sm)
{
	return sm->known && sm->state == SM_MASTER;
}

static void on_sm_info(void *ctx, const struct request *request, enum request_result result,
		       const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct sm_watch *watch = ctx;
	struct sm_state *sm = &watch->places[request->tag].now;
	struct sm_info info;

	(void)at_us;
	/* It was not waited for long enough: what was known stands. */
	if (result == REQUEST_CANCELLED)
		return;
	sm->known = result == REQUEST_ANSWERED && smp_is_ok(mad);
	if (!sm->known)
		return;
	info = smp_read_sm_info(mad);
	*sm = (struct sm_state){ .known = true, .lid = request->to.lid, .guid = info.guid, .state = info.state,
				 .priority = info.priority, .act_count = info.act_count };
}

static int ask(struct sm_watch *watch, struct engine *engine, const struct fabric *fabric, struct memory *memory,
	       size_t at, struct error *err)
{
	struct sm_place *place = &watch->places[at];
	const struct port *port = &fabric->ports[place->port];
	const struct node_memory *node = memory_node(memory, port->node);
	/* A node without an SM need not answer at all: no reason to call it silent, and none to ask it twice. */
	struct request request = { .attribute = SMP_SM_INFO, .tag = (uint32_t)at, .once = !place->now.known,
				   .done = on_sm_info, .ctx = watch };

	if (node->silent_sweeps || node->locked ||
	    !memory_route_smp(memory, fabric, port->node, port->num, &request)) {
		place->now.known = false;
		return 0;
	}
	return engine_submit(engine, &request, err);
}

/* Those whose turn it is, and all that said that they are master. */
static int ask_round(struct sm_watch *watch, struct engine *engine, const struct fabric *fabric,
		     struct memory *memory, struct error *err)
{
	size_t count = watch->count, i;
	int code = 0;

	for (i = 0; i < count && code == 0; i++) {
		size_t at = (watch->next + i) % count;

		if (i < SM_WATCH_MOST || is_master(&watch->places[at].now))
			code = ask(watch, engine, fabric, memory, at, err);
	}
	watch->next = count ? (watch->next + SM_WATCH_MOST) % count : 0;
	return code;
}

/* Different subnet managers: one may answer at more than one port, and the sweep's own is one of them. */
static unsigned count_masters(const struct sm_watch *watch, const struct sm_state *master)
{
	unsigned masters = is_master(master);
	size_t i, j;

	for (i = 0; i < watch->count; i++) {
		const struct sm_state *sm = &watch->places[i].now;
		bool counted = !is_master(sm) || (is_master(master) && master->guid == sm->guid);

		for (j = 0; j < i && !counted; j++)
			counted = is_master(&watch->places[j].now) && watch->places[j].now.guid == sm->guid;
		masters += !counted;
	}
	return masters;
}

static void tell_one(const struct sm_place *place, const struct fabric *fabric, int64_t wall_us,
		     struct events *events)
{
	static const char *const states[] = { "not active", "discovering", "standby", "master" };
	const struct sm_state *now = &place->now;
	uint32_t node = fabric->ports[place->port].node;
	const char *name = fabric->nodes[node].name;

	if (now->known)
		events_add(events, wall_us, EVENT_SM_OTHER, EVENT_INFO, fabric, node, place->num,
			   "another subnet manager at %.150s/%u: %s, priority %u", name, place->num,
			   now->state <= SM_MASTER ? states[now->state] : "state unknown", now->priority);
	else
		events_add(events, wall_us, EVENT_SM_OTHER, EVENT_INFO, fabric, node, place->num,
			   "the subnet manager at %.150s/%u does not answer any more", name, place->num);
}

/* Those beside the master, as far as they are not what was told; what was there in the first round is no news. */
static void tell(struct sm_watch *watch, const struct fabric *fabric, const struct sm_state *master, int64_t wall_us,
		 struct events *events)
{
	size_t i;

	for (i = 0; i < watch->count; i++) {
		struct sm_place *place = &watch->places[i];
		bool same = place->now.known == place->told.known &&
			    (!place->now.known || (place->now.state == place->told.state &&
						   place->now.priority == place->told.priority));
		bool is_known_master = master->known && master->guid == place->now.guid;

		if (!same && watch->asked && !is_known_master)
			tell_one(place, fabric, wall_us, events);
		place->told = place->now;
	}
	watch->asked = true;
}

int sm_watch_run(struct sm_watch *watch, struct engine *engine, const struct fabric *fabric, struct memory *memory,
		 uint64_t generation, const struct sm_state *master, int64_t now_us, int64_t deadline_us,
		 int64_t wall_us, struct events *events, struct error *err)
{
	bool due = !watch->asked_us || now_us - watch->asked_us >= SM_WATCH_US || watch->masters > 1;
	int code = 0, ran;

	if (!watch->listed || watch->generation != generation) {
		watch->listed = false;
		code = list_places(watch, fabric, err);
		if (code < 0)
			return code;
		watch->generation = generation;
		watch->listed = due = true;
	}
	due = due || (master->known && master->guid != watch->master_guid);
	if (master->known)
		watch->master_guid = master->guid;
	if (!due)
		return 0;
	watch->asked_us = now_us;
	code = ask_round(watch, engine, fabric, memory, err);
	/* Also after a failure: what is queued must be called back. */
	ran = engine_run(engine, deadline_us, err);
	if (ran < 0 || code < 0)
		return ran < 0 ? ran : code;
	watch->masters = count_masters(watch, master);
	tell(watch, fabric, master, wall_us, events);
	return 0;
}
