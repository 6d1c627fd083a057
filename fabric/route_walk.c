/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Evaluation of the tables: a single route, the destinations of each port, and all routes at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"

const char *route_end_name(enum route_end end)
{
	static const char *const names[ROUTE_END_COUNT] = {
		[ROUTE_ARRIVES] = "arrives", [ROUTE_UNKNOWN] = "unknown", [ROUTE_BLACK_HOLE] = "black-hole",
		[ROUTE_DOWN] = "link-down", [ROUTE_LOOP] = "loop", [ROUTE_WRONG_END] = "wrong-end",
	};

	return (unsigned)end < ROUTE_END_COUNT ? names[end] : "unknown";
}

static bool is_switch(const struct fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].type == NODE_SWITCH;
}

/*
 * A link carries data. In state Init it carries only SMPs. A fabric from a file may have no states.
 * Source: IBA Vol 1, 7.2.7 (link states).
 */
static bool carries_data(const struct port *port)
{
	return port->state != PORT_DOWN && port->state != PORT_INIT;
}

/* Output port of a switch for a LID, or the reason why there is none. */
static enum route_end leave(const struct route_table *table, const struct fabric *fabric, uint32_t node, uint16_t lid,
			    uint32_t *ret_port)
{
	uint8_t out = routes_out_port(table, lid);
	uint32_t port;

	if (!routes_is_read(table, lid)) {
		/*
		 * Beyond the table there is no route, unless the switch has entries that were not
		 * read.
		 */
		return table && lid >= table->lids && lid > fabric->nodes[node].lft_top ? ROUTE_BLACK_HOLE
											 : ROUTE_UNKNOWN;
	}
	if (out == ROUTES_NO_PORT)
		return ROUTE_BLACK_HOLE;
	if (out == 0)
		return ROUTE_WRONG_END;
	port = fabric_node_port(fabric, node, out);
	if (port == FABRIC_NONE || fabric->ports[port].peer == FABRIC_NONE)
		return ROUTE_BLACK_HOLE;
	*ret_port = port;
	return carries_data(&fabric->ports[port]) ? ROUTE_ARRIVES : ROUTE_DOWN;
}

static bool was_at(const struct route_trace *trace, const struct fabric *fabric, uint32_t node)
{
	for (unsigned i = 0; i < trace->hops; i++)
		if (fabric->ports[trace->ports[i]].node == node)
			return true;
	return false;
}

/* Follow one link. Return: ROUTE_ARRIVES: it carries data. */
static enum route_end step(struct route_trace *trace, const struct routes *routes, const struct fabric *fabric,
			   uint16_t lid)
{
	uint32_t port;
	enum route_end end = leave(routes_find(routes, fabric->nodes[trace->at].guid), fabric, trace->at, lid, &port);

	if (end != ROUTE_ARRIVES)
		return end;
	if (trace->hops == ROUTE_HOPS_MAX)
		return ROUTE_UNKNOWN;
	trace->ports[trace->hops++] = port;
	trace->at = fabric->ports[fabric->ports[port].peer].node;
	return ROUTE_ARRIVES;
}

static enum route_end trace_from_switch(struct route_trace *trace, const struct routes *routes,
					const struct fabric *fabric, uint32_t to, uint16_t lid)
{
	while (trace->at != fabric->ports[to].node) {
		enum route_end end = step(trace, routes, fabric, lid);

		if (end != ROUTE_ARRIVES)
			return end;
		if (!is_switch(fabric, trace->at))
			break;
		if (was_at(trace, fabric, trace->at))
			return ROUTE_LOOP;
	}
	if (is_switch(fabric, trace->at))
		return ROUTE_ARRIVES;
	/* Another port of the HCA is another destination. */
	return fabric->ports[trace->ports[trace->hops - 1]].peer == to ? ROUTE_ARRIVES : ROUTE_WRONG_END;
}

void routes_trace(const struct routes *routes, const struct fabric *fabric, uint32_t from, uint32_t to, uint16_t lid,
		  struct route_trace *ret)
{
	const struct port *first = &fabric->ports[from];

	ret->hops = 0;
	ret->at = first->node;
	ret->end = ROUTE_ARRIVES;
	if (from == to)
		return;
	if (!lid)
		lid = fabric_port_lid(fabric, &fabric->ports[to]);
	if (!lid) {
		ret->end = ROUTE_UNKNOWN;
		return;
	}
	if (!is_switch(fabric, first->node)) {
		if (first->peer == FABRIC_NONE || !carries_data(first)) {
			ret->end = first->peer == FABRIC_NONE ? ROUTE_BLACK_HOLE : ROUTE_DOWN;
			return;
		}
		ret->ports[ret->hops++] = from;
		ret->at = fabric->ports[first->peer].node;
		if (!is_switch(fabric, ret->at)) {
			ret->end = first->peer == to ? ROUTE_ARRIVES : ROUTE_WRONG_END;
			return;
		}
	}
	ret->end = trace_from_switch(ret, routes, fabric, to, lid);
}

bool routes_is_destination(const struct fabric *fabric, const struct port *port)
{
	const struct node *node = &fabric->nodes[port->node];

	/*
	 * The state of an unresponsive HCA is outdated; the switch end shows that the subnet
	 * manager removed it.
	 */
	return node->type == NODE_CA && port->state == PORT_ACTIVE && port->peer != FABRIC_NONE &&
	       carries_data(&fabric->ports[port->peer]) && port->lid > 0 && port->lid < ROUTES_LIDS &&
	       !node_is_aggregation(node);
}

/* Number of LIDs of a port from its base LID on. LMC has 3 bits. */
static uint32_t lid_count(const struct port *port)
{
	uint32_t count = 1u << (port->lmc & 7);

	return port->lid + count <= ROUTES_LIDS ? count : (uint32_t)(ROUTES_LIDS - port->lid);
}

bool routes_count_lids(const struct routes *routes, const struct fabric *fabric, uint32_t node, uint32_t ret_lids[256])
{
	const struct route_table *table = routes_find(routes, fabric->nodes[node].guid);

	memset(ret_lids, 0, 256 * sizeof(*ret_lids));
	for (uint32_t i = 0; table && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t count = routes_is_destination(fabric, port) ? lid_count(port) : 0;

		for (uint32_t k = 0; k < count && fabric->ports[port->peer].node != node; k++)
			ret_lids[routes_out_port(table, (uint16_t)(port->lid + k))]++;
	}
	ret_lids[ROUTES_NO_PORT] = 0;
	return table;
}

/*
 * All routes to one LID form a forest over the switches: each is followed until it meets a switch
 * whose end is known. An end is a number: 0 unknown, 1 arrives, from 2 on a fault: a kind of end at
 * a switch.
 */
enum { END_UNKNOWN, END_ARRIVES, END_PLACES };

#define NEXT_PORT 0x80000000u /* of next: a port of the fabric follows instead of a switch */
#define NEXT_HOLE 0x7fffffffu
#define NEXT_DOWN 0x7ffffffeu
#define NEXT_SELF 0x7ffffffdu

struct place {
	uint32_t lids;
	uint32_t last_lid; /* last LID that was counted, + 1 */
	uint64_t *from;    /* one bit for each switch; NULL: no fault here */
	uint64_t *nodes;   /* one bit for each node: those of the LIDs */
};

struct checker {
	const struct fabric *fabric;
	const struct route_table **tables; /* by switch */
	uint32_t *nodes;      /* by switch: index of its node */
	uint32_t *switch_of;  /* by node */
	uint32_t (*next)[256];/* by switch and port number: the next switch, or one of NEXT_ */
	uint32_t *ends;       /* by switch, for the current LID, + 1; 0: not followed yet */
	uint32_t *walk;       /* switches on the current route */
	bool *begins;         /* by switch: destinations are cabled to it */
	struct place *places; /* ROUTE_END_COUNT for each switch */
	uint32_t count;       /* switches */
};

static uint32_t next_of(const struct checker *checker, const struct port *port)
{
	uint32_t node;

	if (port->peer == FABRIC_NONE)
		return NEXT_HOLE;
	if (!carries_data(port))
		return NEXT_DOWN;
	node = checker->fabric->ports[port->peer].node;
	return is_switch(checker->fabric, node) ? checker->switch_of[node] : port->peer | NEXT_PORT;
}

static void prepare_switch(struct checker *checker, const struct routes *routes, uint32_t index)
{
	const struct fabric *fabric = checker->fabric;
	const struct node *node = &fabric->nodes[checker->nodes[index]];

	checker->tables[index] = routes_find(routes, node->guid);
	for (uint32_t i = 0; i < 256; i++)
		checker->next[index][i] = NEXT_HOLE;
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port *port = &fabric->ports[i];

		checker->next[index][port->num] = next_of(checker, port);
		if (port->peer != FABRIC_NONE && routes_is_destination(fabric, &fabric->ports[port->peer]))
			checker->begins[index] = true;
	}
	checker->next[index][0] = NEXT_SELF;
	checker->next[index][ROUTES_NO_PORT] = NEXT_HOLE;
}

static int prepare(struct checker *checker, const struct routes *routes)
{
	const struct fabric *fabric = checker->fabric;
	size_t count;

	checker->switch_of = calloc(fabric->node_count + 1, sizeof(*checker->switch_of));
	checker->nodes = calloc(fabric->node_count + 1, sizeof(*checker->nodes));
	if (!checker->switch_of || !checker->nodes)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!is_switch(fabric, i))
			continue;
		checker->switch_of[i] = checker->count;
		checker->nodes[checker->count++] = i;
	}
	count = checker->count + 1;
	checker->tables = calloc(count, sizeof(*checker->tables));
	checker->next = calloc(count, sizeof(*checker->next));
	checker->ends = calloc(count, sizeof(*checker->ends));
	checker->walk = calloc(count, sizeof(*checker->walk));
	checker->begins = calloc(count, sizeof(*checker->begins));
	checker->places = calloc(count * ROUTE_END_COUNT, sizeof(*checker->places));
	if (!checker->tables || !checker->next || !checker->ends || !checker->walk || !checker->begins ||
	    !checker->places)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < checker->count; i++)
		prepare_switch(checker, routes, i);
	return 0;
}

static void checker_done(struct checker *checker)
{
	for (size_t i = 0; checker->places && i < (size_t)checker->count * ROUTE_END_COUNT; i++) {
		free(checker->places[i].from);
		free(checker->places[i].nodes);
	}
	free(checker->places);
	free(checker->begins);
	free(checker->walk);
	free(checker->ends);
	free(checker->next);
	free(checker->tables);
	free(checker->nodes);
	free(checker->switch_of);
}

static uint32_t fault(uint32_t at, enum route_end end)
{
	return END_PLACES + at * ROUTE_END_COUNT + (uint32_t)end;
}

/* Next hop of a LID at a switch. Return: true: switch *ret; false: the route ends with *ret. */
static bool send_on(const struct checker *checker, uint32_t at, uint32_t port, uint16_t lid, uint32_t *ret)
{
	const struct route_table *table = checker->tables[at];
	uint32_t next;

	if (!routes_is_read(table, lid)) {
		*ret = table && lid >= table->lids && lid > checker->fabric->nodes[checker->nodes[at]].lft_top
			? fault(at, ROUTE_BLACK_HOLE) : END_UNKNOWN;
		return false;
	}
	next = checker->next[at][table->ports[lid]];
	*ret = next;
	if (next < checker->count)
		return true;
	if (next == NEXT_HOLE)
		*ret = fault(at, ROUTE_BLACK_HOLE);
	else if (next == NEXT_DOWN)
		*ret = fault(at, ROUTE_DOWN);
	else
		*ret = next == (port | NEXT_PORT) ? END_ARRIVES : fault(at, ROUTE_WRONG_END);
	return false;
}

/* A loop is identified by its switch with the lowest index. */
static uint32_t first_of_loop(const struct checker *checker, uint32_t at, uint32_t steps)
{
	uint32_t first = at;

	while (checker->walk[--steps] != at)
		if (checker->walk[steps] < first)
			first = checker->walk[steps];
	return first;
}

/* The end of the route from a switch; all switches on the route have the same. */
static uint32_t walk(struct checker *checker, uint32_t from, uint32_t port, uint16_t lid)
{
	const uint32_t visited = UINT32_MAX;
	uint32_t *ends = checker->ends;
	uint32_t at = from, steps = 0, end = END_UNKNOWN;
	bool goes_on = true;

	while (goes_on && !ends[at]) {
		ends[at] = visited;
		checker->walk[steps++] = at;
		goes_on = send_on(checker, at, port, lid, &end);
		if (goes_on)
			at = end;
	}
	if (goes_on)
		end = ends[at] == visited ? fault(first_of_loop(checker, at, steps), ROUTE_LOOP) : ends[at] - 1;
	while (steps > 0)
		ends[checker->walk[--steps]] = end + 1;
	return end;
}

static int note(struct checker *checker, uint32_t end, uint32_t from, uint32_t port, uint16_t lid)
{
	struct place *place = &checker->places[end - END_PLACES];
	uint32_t node = checker->fabric->ports[port].node;

	if (!place->from) {
		place->from = calloc(checker->count / 64 + 1, sizeof(*place->from));
		place->nodes = calloc(checker->fabric->node_count / 64 + 1, sizeof(*place->nodes));
		if (!place->from || !place->nodes)
			return ERR_NOMEM;
	}
	place->nodes[node / 64] |= UINT64_C(1) << node % 64;
	place->from[from / 64] |= UINT64_C(1) << from % 64;
	if (place->last_lid != lid + 1u)
		place->lids++;
	place->last_lid = lid + 1u;
	return 0;
}

static int check_lid(struct checker *checker, uint32_t port, uint16_t lid)
{
	memset(checker->ends, 0, checker->count * sizeof(*checker->ends));
	for (uint32_t i = 0; i < checker->count; i++) {
		uint32_t end;

		if (!checker->begins[i])
			continue;
		end = checker->ends[i] ? checker->ends[i] - 1 : walk(checker, i, port, lid);
		if (end >= END_PLACES && note(checker, end, i, port, lid) < 0)
			return ERR_NOMEM;
	}
	return 0;
}

static int64_t report_faults(const struct checker *checker, routes_fault_fn *report, void *ctx)
{
	int64_t faults = 0;

	for (uint32_t i = 0; i < checker->count * ROUTE_END_COUNT; i++) {
		const struct place *place = &checker->places[i];
		uint32_t from = 0;

		if (!place->from)
			continue;
		for (uint32_t k = 0; k <= checker->count / 64; k++)
			from += (uint32_t)__builtin_popcountll(place->from[k]);
		report(ctx, &(struct route_fault){ (enum route_end)(i % ROUTE_END_COUNT),
						   checker->nodes[i / ROUTE_END_COUNT], place->lids, from,
						   place->nodes });
		faults++;
	}
	return faults;
}

int64_t routes_check(const struct routes *routes, const struct fabric *fabric, routes_fault_fn *report, void *ctx,
		     struct error *err)
{
	struct checker checker = { .fabric = fabric };
	int64_t code = prepare(&checker, routes);

	for (uint32_t i = 0; i < fabric->port_count && code == 0; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t count = routes_is_destination(fabric, port) ? lid_count(port) : 0;

		for (uint32_t k = 0; k < count && code == 0; k++)
			code = check_lid(&checker, i, (uint16_t)(port->lid + k));
	}
	code = code == 0 ? report_faults(&checker, report, ctx) : err_nomem(err);
	checker_done(&checker);
	return code;
}
