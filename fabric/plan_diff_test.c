/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Plans against fabrics in which cables were moved by the test. Each fault is planted on ports that no other one
 * touches, and of hosts and small switches only one link is: a host whose links are all in wrong ports one by one
 * is a host in a wrong place, whatever the reason. Nothing else is equivalent, but the names of ports: of a swap
 * either two ends may be exchanged, which the test finds out by exchanging them.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "fabric/plan.h"
#include "fabric/plan_diff.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

enum { FAULTS_MOST = 20, FAULT_LINKS_MOST = 256, CYCLE_MOST = 6, MOVES_MOST = 4 };

/* What was planted: the difference that has to be found. */
struct fault {
	enum plan_change change;
	uint32_t node, other;
	uint32_t links[FAULT_LINKS_MOST], link_count; /* planned links */
	uint32_t ports[2];                            /* of an extra cable */
	uint32_t moves;
};

/* A fabric with a plan that it once fulfilled. */
struct bed {
	struct fabric *fabric;
	struct shape *shape;
	struct port *ports;     /* as planned */
	uint32_t *unit;         /* by node: its switch or the first HCA of its host */
	uint32_t *size;         /* by unit: its links */
	uint32_t *link;         /* by port: its planned link */
	bool *used;             /* by port: a fault has it */
	bool *in_plan;          /* by node */
	struct plan plan;
	struct plan_ports places;
	struct fault faults[FAULTS_MOST];
	unsigned fault_count;
	uint64_t random;
};

static uint32_t below(struct bed *bed, size_t limit)
{
	return (uint32_t)(net_random(&bed->random) % limit);
}

/* --- plans --- */

static void plan_links(struct bed *bed)
{
	const struct fabric *fabric = bed->fabric;
	size_t links = fabric_count_links(fabric), at = 0;

	bed->plan.links = calloc(links + 1, sizeof(*bed->plan.links));
	bed->places.links = calloc(links + 1, sizeof(*bed->places.links));
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		bed->link[i] = FABRIC_NONE;
		if (port->peer == FABRIC_NONE)
			continue;
		bed->in_plan[port->node] = true;
		bed->size[bed->unit[port->node]]++;
		if (port->peer < i) {
			bed->link[i] = bed->link[port->peer];
			continue;
		}
		bed->plan.links[at] = (struct plan_link){ .ends = { { 0, "", "", "" }, { 0, "", "", "" } }, .cable = "",
							  .speed = port->speed, .width = port->width };
		bed->places.links[at] = (struct plan_place){ .node = { port->node, fabric->ports[port->peer].node },
							     .port = { i, port->peer }, .known = { true, true } };
		bed->link[i] = (uint32_t)at++;
	}
	bed->plan.link_count = at;
}

static struct bed *bed_create(struct fabric *fabric, struct shape *shape)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	bed->fabric = fabric;
	bed->shape = shape;
	bed->ports = calloc(fabric->port_count, sizeof(*bed->ports));
	memcpy(bed->ports, fabric->ports, fabric->port_count * sizeof(*bed->ports));
	bed->unit = calloc(fabric->node_count, sizeof(*bed->unit));
	bed->size = calloc(fabric->node_count, sizeof(*bed->size));
	bed->link = calloc(fabric->port_count, sizeof(*bed->link));
	bed->used = calloc(fabric->port_count, sizeof(*bed->used));
	bed->in_plan = calloc(fabric->node_count, sizeof(*bed->in_plan));
	for (uint32_t i = 0; i < fabric->node_count; i++)
		bed->unit[i] = shape->nodes[i].host == SHAPE_NONE ? i :
			       shape->host_nodes[shape->hosts[shape->nodes[i].host].first];
	plan_links(bed);
	return bed;
}

static void bed_done(struct bed *bed)
{
	free(bed->plan.links);
	free(bed->places.links);
	free(bed->ports);
	free(bed->unit);
	free(bed->size);
	free(bed->link);
	free(bed->used);
	free(bed->in_plan);
	net_done(bed->fabric, bed->shape);
	free(bed);
}

/* --- cables --- */

static void unplug(struct fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	fabric->ports[port].peer = fabric->ports[peer].peer = FABRIC_NONE;
	fabric->ports[port].state = fabric->ports[peer].state = PORT_DOWN;
}

static void plug(struct fabric *fabric, uint32_t a, uint32_t b)
{
	for (int i = 0; i < 2; i++) {
		struct port *port = &fabric->ports[i ? b : a];

		assert_int_equal(port->peer, FABRIC_NONE);
		port->peer = i ? a : b;
		port->state = PORT_ACTIVE;
		port->speed = port->speed == LINK_SPEED_NONE ? LINK_SPEED_NDR : port->speed;
		port->width = port->width ? port->width : LINK_WIDTH_4X;
	}
}

/* Move the end of a cable from one port to another one, which is free. */
static void move_end(struct fabric *fabric, uint32_t from, uint32_t to)
{
	uint32_t peer = fabric->ports[from].peer;

	unplug(fabric, from);
	plug(fabric, to, peer);
}

/* Exchange the ends at two ports, one of which may be free. */
static void exchange_ends(struct fabric *fabric, uint32_t a, uint32_t b)
{
	uint32_t peer_a = fabric->ports[a].peer, peer_b = fabric->ports[b].peer;

	if (peer_a == b || peer_a == peer_b)
		return;
	if (peer_a != FABRIC_NONE)
		unplug(fabric, a);
	if (peer_b != FABRIC_NONE)
		unplug(fabric, b);
	if (peer_a != FABRIC_NONE)
		plug(fabric, b, peer_a);
	if (peer_b != FABRIC_NONE)
		plug(fabric, a, peer_b);
}

static uint32_t node_of(const struct bed *bed, uint32_t port)
{
	return bed->fabric->ports[port].node;
}

static uint32_t unit_of(const struct bed *bed, uint32_t port)
{
	return bed->unit[node_of(bed, port)];
}

static bool is_switch(const struct bed *bed, uint32_t port)
{
	return bed->fabric->nodes[node_of(bed, port)].type == NODE_SWITCH;
}

/* Call for all ports of a unit. */
#define FOR_PORTS(bed, of, port) \
	for (uint32_t port = 0; port < (bed)->fabric->port_count; port++) \
		if (unit_of(bed, port) == (of))

/* --- faults --- */

/* Units of so few links are left alone once one of them is wrong: three quarters of them make a whole unit. */
enum { SMALL_UNIT = 12 };

static void use(struct bed *bed, uint32_t port)
{
	uint32_t unit = unit_of(bed, port);

	bed->used[port] = true;
	if (bed->size[unit] > SMALL_UNIT)
		return;
	FOR_PORTS(bed, unit, other)
		bed->used[other] = true;
}

static struct fault *plant(struct bed *bed, enum plan_change change)
{
	struct fault *fault = &bed->faults[bed->fault_count++];

	*fault = (struct fault){ .change = change, .node = FABRIC_NONE, .other = FABRIC_NONE,
				 .ports = { FABRIC_NONE, FABRIC_NONE } };
	return fault;
}

static void add_link(struct fault *fault, uint32_t link)
{
	for (uint32_t i = 0; i < fault->link_count; i++)
		if (fault->links[i] == link)
			return;
	assert_true(fault->link_count < FAULT_LINKS_MOST);
	fault->links[fault->link_count++] = link;
}

/* A port with a link as planned that no fault has; its other end is none either. FABRIC_NONE: not found. */
static uint32_t choose_port(struct bed *bed)
{
	for (unsigned i = 0; i < 10000; i++) {
		uint32_t port = below(bed, bed->fabric->port_count), peer = bed->fabric->ports[port].peer;

		if (peer != FABRIC_NONE && !bed->used[port] && !bed->used[peer] && bed->in_plan[node_of(bed, port)])
			return port;
	}
	return FABRIC_NONE;
}

/* A free port of a node of the plan; of this kind of node. */
static uint32_t choose_free(struct bed *bed, bool of_switch)
{
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t port = below(bed, bed->fabric->port_count);

		if (bed->fabric->ports[port].num && bed->fabric->ports[port].peer == FABRIC_NONE && !bed->used[port] &&
		    bed->in_plan[node_of(bed, port)] && is_switch(bed, port) == of_switch) {
			bed->used[port] = true;
			return port;
		}
	}
	return FABRIC_NONE;
}

/* @count links whose one end, in @ret, is of the same kind of node. Return: whether they were found. */
static bool choose_links(struct bed *bed, unsigned count, uint32_t *ret)
{
	for (unsigned i = 0; i < count;) {
		uint32_t port = choose_port(bed);

		if (port == FABRIC_NONE)
			return false;
		if (i && is_switch(bed, port) != is_switch(bed, ret[0]))
			continue;
		ret[i++] = port;
		use(bed, port);
		use(bed, bed->fabric->ports[port].peer);
	}
	return true;
}

static void plant_cycle(struct bed *bed, unsigned count)
{
	uint32_t ports[CYCLE_MOST];
	struct fault *fault;

	if (!choose_links(bed, count, ports))
		return;
	fault = plant(bed, count == 2 ? PLAN_SWAPPED : PLAN_CYCLE);
	fault->moves = count - 1;
	for (unsigned i = 0; i < count; i++)
		add_link(fault, bed->link[ports[i]]);
	for (unsigned i = 0; i + 1 < count; i++)
		exchange_ends(bed->fabric, ports[i], ports[i + 1]);
}

static void plant_missing(struct bed *bed)
{
	uint32_t port, peer;

	if (!choose_links(bed, 1, &port))
		return;
	peer = bed->fabric->ports[port].peer;
	add_link(plant(bed, PLAN_MISSING), bed->link[port]);
	unplug(bed->fabric, port);
	/* A cable of which only the link is down. */
	if (below(bed, 2)) {
		bed->fabric->ports[port].peer = peer;
		bed->fabric->ports[peer].peer = port;
	}
}

static void plant_extra(struct bed *bed)
{
	uint32_t a = choose_free(bed, true), b = choose_free(bed, true);
	struct fault *fault;

	if (a == FABRIC_NONE || b == FABRIC_NONE || node_of(bed, a) == node_of(bed, b))
		return;
	fault = plant(bed, PLAN_EXTRA);
	fault->ports[0] = a < b ? a : b;
	fault->ports[1] = a < b ? b : a;
	plug(bed->fabric, a, b);
}

/* Each cable in the port of the next one, the last one in a free port. */
static void plant_moves(struct bed *bed, unsigned count)
{
	uint32_t ports[MOVES_MOST + 1], to = choose_free(bed, true);
	struct fault *fault;

	do {
		if (to == FABRIC_NONE || !choose_links(bed, count, ports))
			return;
	} while (!is_switch(bed, ports[0]));
	fault = plant(bed, PLAN_WRONG_PORT);
	fault->moves = count;
	for (unsigned i = 0; i < count; i++) {
		add_link(fault, bed->link[ports[i]]);
		move_end(bed->fabric, ports[i], to);
		to = ports[i];
	}
}

static void plant_slow(struct bed *bed)
{
	struct port *end;
	uint32_t port;

	if (!choose_links(bed, 1, &port))
		return;
	add_link(plant(bed, PLAN_SLOW), bed->link[port]);
	end = &bed->fabric->ports[port];
	for (int i = 0; i < 2; i++, end = &bed->fabric->ports[end->peer])
		if (below(bed, 2) || i)
			end->speed--;
		else
			end->width = LINK_WIDTH_1X;
}

/* A unit of @least links or more, of which no fault has any port; with the other ends. @like: or FABRIC_NONE */
static uint32_t choose_unit(struct bed *bed, uint32_t least, bool of_switch, uint32_t like)
{
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t unit = bed->unit[below(bed, bed->fabric->node_count)];
		bool all = true;

		if (bed->size[unit] < least || (bed->fabric->nodes[unit].type == NODE_SWITCH) != of_switch ||
		    unit == like || (like != FABRIC_NONE && bed->size[unit] != bed->size[like]))
			continue;
		FOR_PORTS(bed, unit, port) {
			uint32_t peer = bed->fabric->ports[port].peer;

			all &= !bed->used[port] && (peer == FABRIC_NONE || (!bed->used[peer] &&
									      unit_of(bed, peer) != like));
		}
		if (all)
			return unit;
	}
	return FABRIC_NONE;
}

static void use_unit(struct bed *bed, struct fault *fault, uint32_t unit)
{
	FOR_PORTS(bed, unit, port) {
		use(bed, port);
		if (bed->fabric->ports[port].peer == FABRIC_NONE)
			continue;
		use(bed, bed->fabric->ports[port].peer);
		add_link(fault, bed->link[port]);
	}
}

/* Number of an HCA in its host. */
static uint32_t position(const struct bed *bed, uint32_t node)
{
	uint32_t host = bed->shape->nodes[node].host, at = 0;

	while (host != SHAPE_NONE && bed->shape->host_nodes[bed->shape->hosts[host].first + at] != node)
		at++;
	return at;
}

/* The ports of two units by number, of HCAs in their order in the host. */
static void exchange_units(struct bed *bed, uint32_t unit, uint32_t other)
{
	uint32_t list[2][512], counts[2] = { 0 };

	for (int i = 0; i < 2; i++)
		FOR_PORTS(bed, i ? other : unit, port)
			list[i][counts[i]++] = port;
	for (uint32_t i = 0; i < counts[0]; i++)
		for (uint32_t j = 0; j < counts[1]; j++) {
			const struct port *a = &bed->fabric->ports[list[0][i]], *b = &bed->fabric->ports[list[1][j]];

			if (a->num == b->num && position(bed, a->node) == position(bed, b->node))
				exchange_ends(bed->fabric, list[0][i], list[1][j]);
		}
}

static void plant_exchanged(struct bed *bed, bool of_switch)
{
	uint32_t unit = choose_unit(bed, of_switch ? 4 : 2, of_switch, FABRIC_NONE), other;
	struct fault *fault;

	if (unit == FABRIC_NONE)
		return;
	other = choose_unit(bed, bed->size[unit], of_switch, unit);
	if (other == FABRIC_NONE)
		return;
	fault = plant(bed, PLAN_EXCHANGED);
	fault->node = unit < other ? unit : other;
	fault->other = unit < other ? other : unit;
	use_unit(bed, fault, unit);
	use_unit(bed, fault, other);
	exchange_units(bed, unit, other);
}

static void plant_absent(struct bed *bed, bool of_switch)
{
	uint32_t unit = choose_unit(bed, of_switch ? 4 : 2, of_switch, FABRIC_NONE);
	struct fault *fault;

	if (unit == FABRIC_NONE)
		return;
	fault = plant(bed, PLAN_ABSENT);
	fault->node = unit;
	use_unit(bed, fault, unit);
	FOR_PORTS(bed, unit, port)
		if (bed->fabric->ports[port].peer != FABRIC_NONE)
			unplug(bed->fabric, port);
}

/* All of its cables lead to other ports of switches that are free. */
static void plant_moved(struct bed *bed, bool of_switch)
{
	uint32_t unit = choose_unit(bed, of_switch ? 4 : 2, of_switch, FABRIC_NONE), to[FAULT_LINKS_MOST];
	uint32_t count = 0, at = 0;
	struct fault *fault;

	if (unit == FABRIC_NONE)
		return;
	FOR_PORTS(bed, unit, port)
		if (bed->fabric->ports[port].peer != FABRIC_NONE) {
			if (!is_switch(bed, bed->fabric->ports[port].peer) || count == FAULT_LINKS_MOST)
				return;
			to[count] = choose_free(bed, true);
			if (to[count] == FABRIC_NONE || node_of(bed, to[count]) == unit)
				return;
			count++;
		}
	fault = plant(bed, PLAN_MOVED);
	fault->node = unit;
	use_unit(bed, fault, unit);
	FOR_PORTS(bed, unit, port)
		if (bed->fabric->ports[port].peer != FABRIC_NONE)
			move_end(bed->fabric, bed->fabric->ports[port].peer, to[at++]);
}

/* Another node of its kind, which the plan does not have, gets all of its cables. */
static void plant_replaced(struct bed *bed, bool of_switch)
{
	uint32_t unit = choose_unit(bed, of_switch ? 4 : 2, of_switch, FABRIC_NONE), other = FABRIC_NONE;
	struct fault *fault;

	for (uint32_t i = 0; unit != FABRIC_NONE && i < bed->fabric->node_count && other == FABRIC_NONE; i++)
		if (bed->unit[i] == i && !bed->in_plan[i] && !bed->used[bed->fabric->nodes[i].first_port + 1] &&
		    (bed->fabric->nodes[i].type == NODE_SWITCH) == of_switch)
			other = i;
	if (other == FABRIC_NONE)
		return;
	fault = plant(bed, PLAN_REPLACED);
	fault->node = unit;
	fault->other = other;
	use_unit(bed, fault, unit);
	FOR_PORTS(bed, other, port)
		bed->used[port] = true;
	exchange_units(bed, unit, other);
}

static void plant_any(struct bed *bed)
{
	switch (below(bed, 14)) {
	case 0: case 1:
		plant_cycle(bed, 2);
		break;
	case 2:
		plant_cycle(bed, 3 + below(bed, CYCLE_MOST - 2));
		break;
	case 3:
		plant_missing(bed);
		break;
	case 4:
		plant_extra(bed);
		break;
	case 5: case 6:
		plant_moves(bed, 1 + below(bed, MOVES_MOST));
		break;
	case 7:
		plant_slow(bed);
		break;
	case 8: case 9:
		plant_exchanged(bed, below(bed, 2));
		break;
	case 10:
		plant_absent(bed, below(bed, 2));
		break;
	case 11: case 12:
		plant_moved(bed, below(bed, 2));
		break;
	case 13:
		plant_replaced(bed, below(bed, 2));
		break;
	}
}

/* --- what was found --- */

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

static bool is_fault(const struct fault *fault, const struct plan_diff *diff, const struct plan_difference *one)
{
	uint32_t links[FAULT_LINKS_MOST], ports[2] = { FABRIC_NONE, FABRIC_NONE };

	if (fault->change != one->change || fault->link_count != one->link_count || fault->moves != one->move_count ||
	    fault->node != one->node || fault->other != one->other)
		return false;
	memcpy(links, diff->links + one->first_link, one->link_count * sizeof(*links));
	qsort(links, one->link_count, sizeof(*links), compare_numbers);
	if (one->change == PLAN_EXTRA)
		memcpy(ports, diff->ports + one->first_port, sizeof(ports));
	qsort(ports, 2, sizeof(*ports), compare_numbers);
	return !memcmp(links, fault->links, fault->link_count * sizeof(*links)) &&
	       !memcmp(ports, fault->ports, sizeof(ports));
}

/* Do the listed work. */
static void repair(struct bed *bed, const struct plan_diff *diff, const struct plan_difference *one)
{
	if (one->change == PLAN_WRONG_PORT && one->port_count / 2 > one->link_count)
		unplug(bed->fabric, diff->ports[one->first_port]);
	for (uint32_t i = 0; i < one->move_count; i++) {
		const struct plan_move *move = &diff->moves[one->first_move + i];

		if (one->change == PLAN_WRONG_PORT)
			move_end(bed->fabric, move->from, move->to);
		else
			exchange_ends(bed->fabric, move->from, move->to);
	}
	for (uint32_t i = 0; one->move_count && i < one->link_count; i++) {
		const uint32_t *ports = bed->places.links[diff->links[one->first_link + i]].port;

		if (one->change == PLAN_WRONG_PORT && i >= one->port_count / 2)
			plug(bed->fabric, ports[0], ports[1]);
		assert_int_equal(bed->fabric->ports[ports[0]].peer, ports[1]);
	}
}

static void print_difference(const struct bed *bed, const struct plan_diff *diff, const struct plan_difference *one)
{
	struct text text = { 0 };

	plan_difference_text(&text, &bed->plan, &bed->places, bed->shape, diff, one);
	print_message("found: %s, %u links, %u moves: %s\n", plan_change_name(one->change), one->link_count,
		      one->move_count, text_chars(&text));
	text_done(&text);
}

static void check_found(struct bed *bed, const struct plan_diff *diff, uint64_t seed)
{
	bool seen[FAULTS_MOST] = { false };
	size_t found = 0;

	for (size_t i = 0; i < diff->count; i++)
		for (unsigned j = 0; j < bed->fault_count; j++)
			if (!seen[j] && is_fault(&bed->faults[j], diff, &diff->list[i])) {
				seen[j] = true;
				found++;
				break;
			}
	if (found != bed->fault_count || diff->count != found) {
		for (size_t i = 0; i < diff->count; i++)
			print_difference(bed, diff, &diff->list[i]);
		for (unsigned i = 0; i < bed->fault_count; i++)
			print_message("planted%s: %s, %u links, %u moves, node %d, other %d\n",
				      seen[i] ? "" : " (not found)", plan_change_name(bed->faults[i].change),
				      bed->faults[i].link_count,
				      bed->faults[i].moves, (int)bed->faults[i].node, (int)bed->faults[i].other);
		fail_msg("seed %" PRIu64 ": %zu of %u faults found, and %zu others", seed, found, bed->fault_count,
			 diff->count - found);
	}
	for (size_t i = 0; i < diff->count; i++)
		repair(bed, diff, &diff->list[i]);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e3 * (double)now.tv_sec + (double)now.tv_nsec / 1e6;
}

static double run_case(struct bed *bed, uint64_t seed)
{
	struct plan_diff diff = { 0 };
	unsigned wanted, links = 0;
	double elapsed_ms;

	bed->random = seed;
	bed->fault_count = 0;
	memcpy(bed->fabric->ports, bed->ports, bed->fabric->port_count * sizeof(*bed->ports));
	memset(bed->used, 0, bed->fabric->port_count * sizeof(*bed->used));
	wanted = 1 + below(bed, FAULTS_MOST);
	for (unsigned i = 0; i < 10 * wanted && bed->fault_count < wanted; i++)
		plant_any(bed);
	for (unsigned i = 0; i < bed->fault_count; i++) {
		links += bed->faults[i].link_count;
		qsort(bed->faults[i].links, bed->faults[i].link_count, sizeof(uint32_t), compare_numbers);
	}
	elapsed_ms = now_ms();
	assert_int_equal(plan_compare(&bed->plan, &bed->places, bed->shape, &diff, NULL), 0);
	elapsed_ms = now_ms() - elapsed_ms;
	check_found(bed, &diff, seed);
	assert_int_equal(diff.planned, bed->plan.link_count);
	assert_int_equal(diff.as_planned, bed->plan.link_count - links);
	assert_int_equal(diff.not_judged, 0);
	plan_diff_done(&diff);
	return elapsed_ms;
}

static void run_cases(struct bed *bed, const char *what)
{
	unsigned cases = getenv("IBWIRE_LONG") || getenv("IBWIRE_RELIABILITY") ? 1000 : test_cases(24);
	unsigned long faults = 0, by_change[PLAN_CHANGE_COUNT] = { 0 };
	double most_ms = 0, elapsed_ms;
	char class[128];

	for (unsigned i = 0; i < cases; i++) {
		elapsed_ms = run_case(bed, i + 1);
		most_ms = elapsed_ms > most_ms ? elapsed_ms : most_ms;
		faults += bed->fault_count;
		for (unsigned j = 0; j < bed->fault_count; j++)
			by_change[bed->faults[j].change]++;
	}
	print_message("# %s: %u plans of %zu links with %lu faults, a comparison took at most %.1f ms of CPU\n",
		      what, cases, bed->plan.link_count, faults, most_ms);
	print_message("#");
	for (int i = 0; i < PLAN_CHANGE_COUNT; i++)
		print_message(" %s %lu", plan_change_name((enum plan_change)i), by_change[i]);
	print_message("\n");
	snprintf(class, sizeof(class), "Cabling plans against fabrics with 1 to 20 faults, %s", what);
	reliability_report(class, cases, "plans", "Every fault is named and nothing else, the listed work removes it");
}

/* --- fabrics --- */

enum { PODS = 11, LEAVES = 32, HOSTS = 32, SPINES = 32, CORES = 8, CORE_LINKS = 4, SPARE = 4 };

static uint32_t add_switch(struct fabric *fabric, const char *name, unsigned pod, unsigned number)
{
	struct node node = { .type = NODE_SWITCH, .port_count = 72 };

	snprintf(node.desc, sizeof(node.desc), "%s-%u-%u", name, pod, number);
	return net_node(fabric, &node);
}

/* HCAs of a host on neighboring leaves: 1, 2 or 8 by pod. */
static void add_hosts(struct fabric *fabric, unsigned pod, const uint32_t *leaves)
{
	unsigned hcas = pod < 4 ? 1 : pod < 8 ? 2 : 8;

	for (unsigned leaf = 0; leaf < LEAVES; leaf += hcas)
		for (unsigned host = 0; host < HOSTS; host++)
			for (unsigned i = 0; i < hcas; i++)
				net_link(fabric, net_hca(fabric, 0, "node-%u-%u-%u mlx5_%u", pod, leaf, host, i),
					 leaves[leaf + i]);
}

static struct bed *large_bed(void)
{
	uint32_t cores[SPINES][CORES], leaves[LEAVES];
	struct fabric *fabric = net_new();
	struct shape *shape;

	for (unsigned i = 0; i < SPINES; i++)
		for (unsigned j = 0; j < CORES; j++)
			cores[i][j] = add_switch(fabric, "core", i, j);
	for (unsigned pod = 0; pod < PODS; pod++) {
		for (unsigned i = 0; i < LEAVES; i++)
			leaves[i] = add_switch(fabric, "leaf", pod, i);
		add_hosts(fabric, pod, leaves);
		for (unsigned i = 0; i < SPINES; i++) {
			uint32_t spine = add_switch(fabric, "spine", pod, i);

			for (unsigned j = 0; j < LEAVES; j++)
				net_link(fabric, leaves[j], spine);
			for (unsigned j = 0; j < CORES; j++)
				net_links(fabric, spine, cores[i][j], CORE_LINKS);
		}
	}
	for (unsigned i = 0; i < SPARE; i++) {
		add_switch(fabric, "spare", 0, i);
		for (unsigned j = 0; j < 8; j++)
			net_hca(fabric, 0, "spare%u mlx5_%u", i, j);
	}
	shape = net_shape(fabric, NULL);
	return bed_create(fabric, shape);
}

TEST(every_fault_of_random_plans_is_named_in_a_large_fabric)
{
	struct bed *bed = large_bed();

	run_cases(bed, "11,264 HCAs");
	bed_done(bed);
}

TEST(every_fault_of_random_plans_is_named_in_a_published_fabric)
{
	FILE *stream = unit_test_open_shared("topology", "taurus-fdr-2104ca-211sw.ibnetdiscover");
	size_t most = 8u << 20, len;
	char *chars = malloc(most);
	struct fabric *fabric;
	struct shape *shape;
	struct bed *bed;

	len = fread(chars, 1, most, stream);
	fclose(stream);
	assert_int_equal(netfile_read(chars, len, NULL, &fabric, NULL, NULL), 0);
	free(chars);
	assert_int_equal(shape_create(fabric, NULL, &shape, NULL), 0);
	bed = bed_create(fabric, shape);
	run_cases(bed, "2,104 HCAs");
	bed_done(bed);
}

/* --- any cables at all --- */

/* Four leaves, four spines with two links to each, six hosts with an HCA on each leaf, and four hosts of one. */
static struct bed *rails_bed(void)
{
	struct fabric *fabric = net_new();
	uint32_t leaves[4], spine;
	struct shape *shape;

	for (unsigned i = 0; i < 4; i++) {
		leaves[i] = net_switch(fabric, "leaf%u", i);
		net_hosts(fabric, "single", i, 1, leaves[i]);
	}
	for (unsigned i = 0; i < 6; i++)
		for (unsigned j = 0; j < 4; j++)
			net_link(fabric, net_hca(fabric, 0, "host%u mlx5_%u", i, j), leaves[j]);
	for (unsigned i = 0; i < 4; i++) {
		spine = net_switch(fabric, "spine%u", i);
		for (unsigned j = 0; j < 4; j++)
			net_links(fabric, leaves[j], spine, 2);
	}
	shape = net_shape(fabric, NULL);
	return bed_create(fabric, shape);
}

static uint32_t any_port(struct bed *bed)
{
	uint32_t port;

	do
		port = below(bed, bed->fabric->port_count);
	while (!bed->fabric->ports[port].num ||
	       (bed->link[port] == FABRIC_NONE && bed->fabric->ports[port].peer == FABRIC_NONE && below(bed, 20)));
	return port;
}

static void disturb(struct bed *bed)
{
	uint32_t a = any_port(bed), b = any_port(bed);

	switch (below(bed, 8)) {
	case 0:
		if (bed->fabric->ports[a].peer != FABRIC_NONE)
			unplug(bed->fabric, a);
		break;
	case 1:
		if (a != b && bed->fabric->ports[a].peer == FABRIC_NONE && bed->fabric->ports[b].peer == FABRIC_NONE)
			plug(bed->fabric, a, b);
		break;
	case 2:
		if (is_switch(bed, a) == is_switch(bed, b) && unit_of(bed, a) != unit_of(bed, b))
			exchange_units(bed, unit_of(bed, a), unit_of(bed, b));
		break;
	case 3:
		FOR_PORTS(bed, unit_of(bed, a), port)
			if (bed->fabric->ports[port].peer != FABRIC_NONE && !below(bed, 10))
				unplug(bed->fabric, port);
		break;
	default:
		if (a != b)
			exchange_ends(bed->fabric, a, b);
		break;
	}
}

/* Units that are in the place of others, each with the one whose place it is. */
struct returns {
	uint32_t place[64], unit[64];
	unsigned count;
};

static void add_return(struct returns *returns, uint32_t place, uint32_t unit)
{
	assert_true(returns->count < 64);
	returns->place[returns->count] = place;
	returns->unit[returns->count++] = unit;
}

static void return_units(struct bed *bed, struct returns *returns)
{
	for (unsigned i = 0; i < returns->count; i++) {
		uint32_t place = returns->place[i], unit = returns->unit[i];

		if (place == unit)
			continue;
		exchange_units(bed, place, unit);
		/* What was there is now where that unit was. */
		for (unsigned j = i + 1; j < returns->count; j++)
			if (returns->unit[j] == place)
				returns->unit[j] = unit;
	}
}

static void plug_all(struct bed *bed, const struct plan_diff *diff, const struct plan_difference *one)
{
	for (uint32_t i = one->first_link; i < one->first_link + one->link_count; i++) {
		const uint32_t *ports = bed->places.links[diff->links[i]].port;

		if (bed->fabric->ports[ports[0]].peer != ports[1])
			plug(bed->fabric, ports[0], ports[1]);
	}
}

/* All of the work: cables first, since they are named where they are now; then whole units, then what is missing. */
static void repair_all(struct bed *bed, const struct plan_diff *diff)
{
	struct returns returns = { .count = 0 };

	for (size_t i = 0; i < diff->count; i++) {
		const struct plan_difference *one = &diff->list[i];
		bool removes = one->change == PLAN_EXTRA || (one->change == PLAN_MOVED && one->other == FABRIC_NONE) ||
			       (one->change == PLAN_WRONG_PORT && one->port_count / 2 > one->link_count);

		for (uint32_t j = 0; removes && j < (one->change == PLAN_MOVED ? one->port_count : 2); j += 2)
			unplug(bed->fabric, diff->ports[one->first_port + j]);
		for (uint32_t j = one->first_move; j < one->first_move + one->move_count; j++)
			if (one->change == PLAN_WRONG_PORT)
				move_end(bed->fabric, diff->moves[j].from, diff->moves[j].to);
			else
				exchange_ends(bed->fabric, diff->moves[j].from, diff->moves[j].to);
		if (one->change == PLAN_EXCHANGED) {
			add_return(&returns, one->node, one->other);
			add_return(&returns, one->other, one->node);
		} else if (one->change == PLAN_MOVED && one->other != FABRIC_NONE) {
			add_return(&returns, one->other, one->node);
		} else if (one->change == PLAN_REPLACED) {
			add_return(&returns, one->node, one->other);
		}
	}
	return_units(bed, &returns);
	for (size_t i = 0; i < diff->count; i++)
		if (diff->list[i].change == PLAN_MISSING || diff->list[i].change == PLAN_ABSENT ||
		    diff->list[i].change == PLAN_WRONG_PORT ||
		    (diff->list[i].change == PLAN_MOVED && diff->list[i].other == FABRIC_NONE))
			plug_all(bed, diff, &diff->list[i]);
}

/* Whatever was done to the cables, the listed work undoes all of it. */
TEST(the_work_makes_any_cables_those_of_the_plan)
{
	struct bed *bed = rails_bed();
	unsigned cases = getenv("IBWIRE_LONG") ? 100000 : test_cases(3000);

	for (unsigned seed = 1; seed <= cases; seed++) {
		struct plan_diff diff;

		bed->random = seed;
		memcpy(bed->fabric->ports, bed->ports, bed->fabric->port_count * sizeof(*bed->ports));
		for (unsigned i = 1 + below(bed, 1u << below(bed, 8)); i > 0; i--)
			disturb(bed);
		assert_int_equal(plan_compare(&bed->plan, &bed->places, bed->shape, &diff, NULL), 0);
		repair_all(bed, &diff);
		for (uint32_t i = 0; i < bed->fabric->port_count; i++)
			if (bed->fabric->ports[i].peer != bed->ports[i].peer) {
				for (size_t j = 0; j < diff.count; j++)
					print_difference(bed, &diff, &diff.list[j]);
				fail_msg("seed %u: port %s/%u has another cable", seed,
					 bed->fabric->names.shown[node_of(bed, i)], bed->fabric->ports[i].num);
			}
		plan_diff_done(&diff);
	}
	bed_done(bed);
}

/* --- single cases --- */

/* Two leaves, a spine, and hosts of one and of two HCAs; leaf 0 has ports 1 to 5, leaf 1 has 1 to 4 in use. */
static struct bed *small_bed(void)
{
	struct fabric *fabric = net_new();
	uint32_t leaves[2] = { net_switch(fabric, "leaf-a01"), net_switch(fabric, "leaf-a02") }, spine, host;
	struct shape *shape;

	for (unsigned i = 0; i < 2; i++)
		net_hosts(fabric, "node", 2 * i + 1, 2, leaves[i]);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < 2; j++) {
			host = net_hca(fabric, 0, "gpu%u mlx5_%u", i + 1, j);
			net_link(fabric, host, leaves[j]);
		}
	spine = net_switch(fabric, "spine-b01");
	net_links(fabric, leaves[0], spine, 2);
	net_links(fabric, leaves[1], spine, 2);
	shape = net_shape(fabric, NULL);
	return bed_create(fabric, shape);
}

static uint32_t port_of(const struct bed *bed, const char *name)
{
	uint32_t port = FABRIC_NONE;

	assert_int_equal(names_find_port(bed->fabric, name, &port, NULL), 0);
	return port;
}

/* Change the links at two ports, named "leaf-a01/1". @change: plug, move_end, exchange_ends */
static void at_ports(struct bed *bed, void (*change)(struct fabric *fabric, uint32_t a, uint32_t b), const char *a,
		     const char *b)
{
	change(bed->fabric, port_of(bed, a), port_of(bed, b));
}

static uint32_t planned_link(const struct bed *bed, const char *name)
{
	uint32_t link = bed->link[port_of(bed, name)];

	assert_int_not_equal(link, FABRIC_NONE);
	return link;
}

/* All differences, a line each: "CHANGE: TEXT". */
static void assert_differences(struct bed *bed, const char *wanted)
{
	struct text text = { 0 };
	struct plan_diff diff;

	assert_int_equal(plan_compare(&bed->plan, &bed->places, bed->shape, &diff, NULL), 0);
	for (size_t i = 0; i < diff.count; i++) {
		text_appendf(&text, "%s: ", plan_change_name(diff.list[i].change));
		plan_difference_text(&text, &bed->plan, &bed->places, bed->shape, &diff, &diff.list[i]);
		text_append(&text, "\n");
	}
	assert_string_equal(text_chars(&text), wanted);
	text_done(&text);
	plan_diff_done(&diff);
}

static void assert_counts(struct bed *bed, size_t planned, size_t as_planned, size_t not_judged)
{
	struct plan_diff diff;

	assert_int_equal(plan_compare(&bed->plan, &bed->places, bed->shape, &diff, NULL), 0);
	assert_int_equal(diff.planned, planned);
	assert_int_equal(diff.as_planned, as_planned);
	assert_int_equal(diff.not_judged, not_judged);
	plan_diff_done(&diff);
}

/* The fabric does not have the device at the other end of this port's link. */
static void forget_device(struct bed *bed, const char *port, const char *device)
{
	uint32_t link = planned_link(bed, port);
	struct plan_place *place = &bed->places.links[link];
	unsigned end = place->port[0] == port_of(bed, port);

	place->node[end] = place->port[end] = FABRIC_NONE;
	place->known[end] = false;
	bed->plan.links[link].ends[end].device = device;
	bed->plan.links[link].ends[end].port = "Port 1";
}

#define SMALL_TEST(name) TEST_OF(name, struct bed, small_bed(), bed_done)

SMALL_TEST(a_fabric_as_planned_has_no_difference)
{
	assert_differences(fix, "");
	assert_counts(fix, 12, 12, 0);
}

SMALL_TEST(swapped_cables_of_hosts_are_named_at_the_switch)
{
	at_ports(fix, exchange_ends, "node1 mlx5_0/1", "node2 mlx5_0/1");
	assert_differences(fix, "swapped: exchange the cables at leaf-a01/1 and leaf-a01/2\n");
	assert_counts(fix, 12, 10, 0);
}

SMALL_TEST(one_cable_of_a_host_with_two_is_no_exchanged_host)
{
	at_ports(fix, exchange_ends, "gpu1 mlx5_0/1", "gpu2 mlx5_0/1");
	assert_differences(fix, "swapped: exchange the cables at leaf-a01/3 and leaf-a01/4\n");
}

SMALL_TEST(both_cables_of_two_hosts_are_exchanged_hosts)
{
	at_ports(fix, exchange_ends, "gpu1 mlx5_0/1", "gpu2 mlx5_0/1");
	at_ports(fix, exchange_ends, "gpu1 mlx5_1/1", "gpu2 mlx5_1/1");
	assert_differences(fix, "exchanged: exchange gpu1 and gpu2, or their 4 cables: each is in the place of the "
			   "other\n");
}

SMALL_TEST(a_host_that_moved_is_one_difference)
{
	at_ports(fix, move_end, "leaf-a01/3", "leaf-a01/20");
	at_ports(fix, move_end, "leaf-a02/3", "leaf-a02/21");
	assert_differences(fix, "moved: move gpu1, or its 2 cables, from leaf-a01/20 and leaf-a02/21 to leaf-a01/3 and "
			   "leaf-a02/3\n");
}

SMALL_TEST(a_chain_of_moves_begins_at_the_free_port)
{
	at_ports(fix, move_end, "leaf-a01/2", "leaf-a01/20");
	at_ports(fix, move_end, "leaf-a01/1", "leaf-a01/2");
	assert_differences(fix, "wrong-port: move the cable from leaf-a01/2 to leaf-a01/1, then from leaf-a01/20 to "
			   "leaf-a01/2\n");
}

SMALL_TEST(a_cable_in_the_port_of_one_that_is_missing_is_moved_before_that_is_connected)
{
	unplug(fix->fabric, port_of(fix, "leaf-a01/1"));
	at_ports(fix, move_end, "leaf-a01/2", "leaf-a01/1");
	assert_differences(fix, "wrong-port: move the cable from leaf-a01/1 to leaf-a01/2, then connect leaf-a01/1 and "
			   "node1 mlx5_0/1\n");
}

SMALL_TEST(a_cable_in_the_way_is_removed_first)
{
	at_ports(fix, move_end, "leaf-a01/1", "leaf-a01/20");
	at_ports(fix, plug, "leaf-a01/1", "leaf-a02/20");
	assert_differences(fix, "wrong-port: remove the cable between leaf-a01/1 and leaf-a02/20, then move the cable "
			   "from leaf-a01/20 to leaf-a01/1\n");
}

SMALL_TEST(a_link_that_is_down_is_not_a_missing_cable)
{
	uint32_t port = port_of(fix, "leaf-a01/1");

	fix->fabric->ports[port].state = PORT_DOWN;
	assert_differences(fix, "missing: check the cable between leaf-a01/1 and node1 mlx5_0/1: it was seen, and its "
			   "link is down\n");
	unplug(fix->fabric, port);
	assert_differences(fix, "missing: connect leaf-a01/1 and node1 mlx5_0/1: neither has a link\n");
	fix->fabric->ports[port].state = PORT_ACTIVE;
	assert_differences(fix, "missing: check the other end of the cable at leaf-a01/1, where a node does not "
			   "respond: the plan has node1 mlx5_0/1\n");
}

SMALL_TEST(a_link_below_its_planned_rate_is_slow)
{
	struct plan_link *link = &fix->plan.links[planned_link(fix, "leaf-a01/1")];
	struct port *ports = fix->fabric->ports;
	uint32_t port = port_of(fix, "leaf-a01/1");
	static const struct { enum link_speed speed; uint32_t mbits; bool slow; } cases[] = {
		{ LINK_SPEED_HDR, 200000, false }, { LINK_SPEED_HDR, 400000, true }, { LINK_SPEED_EDR, 104000, false },
		{ LINK_SPEED_FDR, 56000, false }, { LINK_SPEED_FDR, 54545, false }, { LINK_SPEED_QDR, 40000, true },
		{ LINK_SPEED_QDR, 32000, false }, { LINK_SPEED_FDR10, 40000, false }, { LINK_SPEED_QDR, 54545, true },
		{ LINK_SPEED_EDR, 200000, true },
	};

	link->width = 0;
	link->speed = LINK_SPEED_NONE;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		link->mbits_per_s = cases[i].mbits;
		ports[port].speed = ports[ports[port].peer].speed = (uint8_t)cases[i].speed;
		assert_counts(fix, 12, cases[i].slow ? 11 : 12, 0);
	}
	assert_differences(fix, "slow: check the cable between leaf-a01/1 and node1 mlx5_0/1: its link runs at 4x EDR "
			   "instead of 200 Gb/s\n");
}

SMALL_TEST(a_device_that_the_fabric_does_not_have_is_absent_if_its_ports_are_free)
{
	unplug(fix->fabric, port_of(fix, "leaf-a01/3"));
	unplug(fix->fabric, port_of(fix, "leaf-a02/3"));
	forget_device(fix, "leaf-a01/3", "gpu9");
	forget_device(fix, "leaf-a02/3", "GPU9");
	assert_differences(fix, "absent: install or power on gpu9: it has none of its 2 links\n");
	assert_counts(fix, 12, 10, 0);
}

SMALL_TEST(one_cable_to_a_device_that_the_fabric_does_not_have_is_missing)
{
	unplug(fix->fabric, port_of(fix, "leaf-a01/1"));
	forget_device(fix, "leaf-a01/1", "node9");
	assert_differences(fix, "missing: connect leaf-a01/1 and node9 Port 1: leaf-a01/1 has no link\n");
}

SMALL_TEST(a_port_of_an_unknown_device_is_not_judged_and_its_cable_is_not_extra)
{
	forget_device(fix, "leaf-a01/1", "node9");
	assert_differences(fix, "");
	assert_counts(fix, 11, 11, 1);
}

SMALL_TEST(a_host_in_place_of_one_that_the_fabric_does_not_have_replaces_it)
{
	forget_device(fix, "leaf-a01/3", "gpu9");
	forget_device(fix, "leaf-a02/3", "gpu9");
	assert_differences(fix, "replaced: change the name gpu9 in the plan to gpu1, or replace that: it has the "
			   "2 links of gpu9\n");
}

SMALL_TEST(a_host_of_which_only_the_hca_is_not_clear_is_not_replaced_by_itself)
{
	static const char *const ports[] = { "leaf-a01/3", "leaf-a02/3" };

	for (size_t i = 0; i < 2; i++) {
		uint32_t link = planned_link(fix, ports[i]);

		forget_device(fix, ports[i], "gpu1");
		fix->places.links[link].known[fix->places.links[link].port[0] == port_of(fix, ports[i])] = true;
	}
	assert_differences(fix, "");
	assert_counts(fix, 10, 10, 2);
}

/* Let the plan have only these links. */
static void keep_links(struct bed *bed, bool trunks)
{
	size_t count = 0;

	for (size_t i = 0; i < bed->plan.link_count; i++) {
		const struct plan_place *place = &bed->places.links[i];
		bool is_trunk = bed->fabric->nodes[place->node[0]].type == NODE_SWITCH &&
				bed->fabric->nodes[place->node[1]].type == NODE_SWITCH;

		if (is_trunk != trunks)
			continue;
		bed->places.links[count] = *place;
		bed->plan.links[count++] = bed->plan.links[i];
	}
	bed->plan.link_count = count;
}

SMALL_TEST(a_plan_of_trunks_does_not_judge_hosts)
{
	keep_links(fix, true);
	assert_differences(fix, "");
	at_ports(fix, plug, "leaf-a01/20", "spine-b01/20");
	assert_differences(fix, "extra: remove the cable between leaf-a01/20 and spine-b01/20, or add it to the "
			   "plan\n");
}

SMALL_TEST(a_plan_of_hosts_does_not_judge_trunks)
{
	keep_links(fix, false);
	assert_differences(fix, "");
}

SMALL_TEST(the_second_link_of_a_port_is_not_judged)
{
	uint32_t first = planned_link(fix, "leaf-a01/1"), second = planned_link(fix, "leaf-a01/2");
	unsigned end = fix->places.links[second].port[0] != port_of(fix, "leaf-a01/2");

	fix->places.links[second].port[end] = port_of(fix, "leaf-a01/1");
	assert_true(first < second);
	assert_counts(fix, 11, 11, 1);
	/* The cable of leaf-a01/2, which no line names now, leads to a host that one does. */
	assert_differences(fix, "");
}

static size_t count_of(struct bed *bed, enum plan_change change)
{
	struct plan_diff diff;
	size_t count;

	assert_int_equal(plan_compare(&bed->plan, &bed->places, bed->shape, &diff, NULL), 0);
	count = diff.by_change[change];
	plan_diff_done(&diff);
	return count;
}

TEST(a_host_with_a_cable_in_its_place_has_not_moved)
{
	struct bed *bed = rails_bed();

	for (unsigned i = 0; i < 4; i++) {
		char from[32], to[32];

		assert_int_equal(count_of(bed, PLAN_WRONG_PORT), i);
		assert_int_equal(count_of(bed, PLAN_MOVED), 0);
		snprintf(from, sizeof(from), "leaf%u/2", i);
		snprintf(to, sizeof(to), "leaf%u/50", i);
		at_ports(bed, move_end, from, to);
	}
	assert_int_equal(count_of(bed, PLAN_WRONG_PORT), 0);
	assert_int_equal(count_of(bed, PLAN_MOVED), 1);
	bed_done(bed);
}

TEST(switches_are_exchanged_only_if_the_numbers_of_their_ports_are_the_same)
{
	struct bed *bed = rails_bed();

	exchange_units(bed, node_of(bed, port_of(bed, "spine0/1")), node_of(bed, port_of(bed, "spine1/1")));
	assert_int_equal(count_of(bed, PLAN_EXCHANGED), 1);
	for (unsigned i = 2; i < 16; i++) {
		char from[32], to[32];

		snprintf(from, sizeof(from), "spine%u/%u", i & 1, i / 2);
		snprintf(to, sizeof(to), "spine%u/%u", i & 1, i / 2 + 1);
		at_ports(bed, exchange_ends, from, to);
	}
	assert_int_equal(count_of(bed, PLAN_EXCHANGED), 0);
	assert_true(count_of(bed, PLAN_CYCLE) > 0);
	bed_done(bed);
}
