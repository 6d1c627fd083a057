/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/plan_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/plan.h"
#include "fabric/plan/diff.h"
#include "fabric/shape.h"

/* --- the list of differences --- */

void plan_diff_begin(struct plan_work *work, enum plan_change change, uint32_t node, uint32_t other)
{
	struct plan_difference *one;

	one = array_add(&work->diff.list, &work->diff.count, &work->list_capacity, sizeof(*one));
	if (!one) {
		work->failed = true;
		return;
	}
	*one = (struct plan_difference){ .change = change, .node = node, .other = other,
					 .first_link = (uint32_t)work->links_count,
					 .first_port = (uint32_t)work->ports_count,
					 .first_move = (uint32_t)work->moves_count };
	work->diff.by_change[change]++;
}

static struct plan_difference *last(struct plan_work *work)
{
	return &work->diff.list[work->diff.count - 1];
}

void plan_diff_add_link(struct plan_work *work, uint32_t link)
{
	uint32_t *added = work->failed ? NULL :
		array_add(&work->diff.links, &work->links_count, &work->links_capacity, sizeof(*added));

	work->failed |= !added;
	if (!added)
		return;
	*added = link;
	last(work)->link_count++;
}

static void add_port(struct plan_work *work, uint32_t port)
{
	uint32_t *added = work->failed ? NULL :
		array_add(&work->diff.ports, &work->ports_count, &work->ports_capacity, sizeof(*added));

	work->failed |= !added;
	if (!added)
		return;
	*added = work->actual[port];
	last(work)->port_count++;
}

void plan_diff_add_present(struct plan_work *work, uint32_t port)
{
	add_port(work, port);
	add_port(work, work->present[port]);
}

void plan_diff_add_move(struct plan_work *work, uint32_t from, uint32_t to)
{
	struct plan_move *added = work->failed ? NULL :
		array_add(&work->diff.moves, &work->moves_count, &work->moves_capacity, sizeof(*added));

	work->failed |= !added;
	if (!added)
		return;
	*added = (struct plan_move){ work->actual[from], work->actual[to] };
	last(work)->move_count++;
}

static void drop(uint32_t *peers, uint32_t port)
{
	peers[peers[port]] = FABRIC_NONE;
	peers[port] = FABRIC_NONE;
}

void plan_diff_drop_planned(struct plan_work *work, uint32_t port)
{
	drop(work->planned, port);
}

void plan_diff_drop_present(struct plan_work *work, uint32_t port)
{
	drop(work->present, port);
}

/* --- both sides as arrays of peers --- */

static void work_done(struct plan_work *work)
{
	free(work->planned);
	free(work->present);
	free(work->link);
	free(work->actual);
	free(work->role);
	free(work->claimed);
	free(work->named);
	free(work->unit);
	free(work->place_of);
	free(work->size);
	free(work->position);
}

static int work_init(struct plan_work *work)
{
	size_t ports = work->fabric->port_count + 1, nodes = work->fabric->node_count + 1;

	work->planned = calloc(ports, sizeof(uint32_t));
	work->present = calloc(ports, sizeof(uint32_t));
	work->link = calloc(ports, sizeof(uint32_t));
	work->actual = calloc(ports, sizeof(uint32_t));
	work->role = calloc(ports, sizeof(uint32_t));
	work->claimed = calloc(ports, sizeof(bool));
	work->named = calloc(nodes, sizeof(bool));
	work->unit = calloc(nodes, sizeof(uint32_t));
	work->place_of = calloc(nodes, sizeof(uint32_t));
	work->size = calloc(nodes, sizeof(uint32_t));
	work->position = calloc(nodes, sizeof(uint32_t));
	return work->planned && work->present && work->link && work->actual && work->role && work->claimed &&
	       work->named && work->unit && work->place_of && work->size && work->position ? 0 : ERR_NOMEM;
}

static void fill_ports(struct plan_work *work)
{
	for (uint32_t i = 0; i < work->fabric->port_count; i++) {
		work->planned[i] = work->link[i] = FABRIC_NONE;
		work->actual[i] = work->role[i] = i;
		work->present[i] = fabric_is_linked(work->fabric, i) ? work->fabric->ports[i].peer : FABRIC_NONE;
	}
}

static void fill_units(struct plan_work *work)
{
	const struct shape *shape = work->shape;

	for (uint32_t i = 0; i < work->fabric->node_count; i++) {
		work->unit[i] = work->place_of[i] = i;
		work->named[i] = false;
	}
	for (size_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		for (uint32_t j = 0; j < host->count; j++) {
			work->unit[shape->host_nodes[host->first + j]] = shape->host_nodes[host->first];
			work->position[shape->host_nodes[host->first + j]] = j;
		}
	}
}

uint32_t plan_unit_nodes(const struct plan_work *work, const uint32_t *unit, const uint32_t **ret)
{
	uint32_t host = work->shape->nodes[*unit].host;

	*ret = host == SHAPE_NONE ? unit : &work->shape->host_nodes[work->shape->hosts[host].first];
	return host == SHAPE_NONE ? 1 : work->shape->hosts[host].count;
}

/* The planned links; of several links of a port the first. */
static void fill_planned(struct plan_work *work)
{
	for (uint32_t i = 0; i < work->plan->link_count; i++) {
		const struct plan_place *place = &work->places->links[i];
		uint32_t a = place->port[0], b = place->port[1];

		for (unsigned end = 0; end < 2; end++)
			if (place->node[end] != FABRIC_NONE)
				work->named[place->node[end]] = true;
		if (place->repeated)
			continue;
		if (a == FABRIC_NONE || b == FABRIC_NONE || a == b || work->planned[a] != FABRIC_NONE ||
		    work->planned[b] != FABRIC_NONE) {
			const uint32_t *ports = place->contradicted ? place->named : place->port;

			work->diff.not_judged++;
			for (unsigned end = 0; end < 2; end++)
				if (ports[end] != FABRIC_NONE)
					work->claimed[ports[end]] = true;
			continue;
		}
		work->diff.planned++;
		work->planned[a] = b;
		work->planned[b] = a;
		work->link[a] = work->link[b] = i;
		work->size[work->unit[work->fabric->ports[a].node]]++;
		if (work->unit[work->fabric->ports[a].node] != work->unit[work->fabric->ports[b].node])
			work->size[work->unit[work->fabric->ports[b].node]]++;
	}
}

/* --- links as planned --- */

/* How far a planned rate may be above the data rate: 26 Gb/s for a lane of EDR is rounded up from 25.78. */
#define RATE_ROUNDED 0.95

static bool is_below_plan(const struct plan_link *link, const struct port *port)
{
	if (port->speed == LINK_SPEED_NONE || !link_width_lanes(port->width))
		return false;
	return (link->width && link_width_lanes(port->width) < link_width_lanes(link->width)) ||
	       (link->speed != LINK_SPEED_NONE && port->speed < link->speed) ||
	       (link->mbits_per_s && (double)port_rate_bits_per_s(port) < RATE_ROUNDED * 1e6 * link->mbits_per_s);
}

/* Drop what is as planned, and report what is slow. Units in wrong places may well be of another speed. */
static void compare_equal(struct plan_work *work)
{
	for (uint32_t i = 0; i < work->fabric->port_count; i++) {
		uint32_t peer = work->planned[i], link = work->link[i];

		if (peer == FABRIC_NONE || i > peer || work->present[i] != peer || work->actual[i] != i ||
		    work->actual[peer] != peer)
			continue;
		if (is_below_plan(&work->plan->links[link], &work->fabric->ports[i]) ||
		    is_below_plan(&work->plan->links[link], &work->fabric->ports[peer])) {
			plan_diff_begin(work, PLAN_SLOW, FABRIC_NONE, FABRIC_NONE);
			plan_diff_add_link(work, link);
			plan_diff_add_present(work, i);
		} else {
			work->diff.as_planned++;
		}
		plan_diff_drop_planned(work, i);
		plan_diff_drop_present(work, i);
	}
}

/* --- order --- */

/* Severity: whole nodes are the cause of several differences, and an extra cable does the least harm. */
static const uint8_t order[PLAN_CHANGE_COUNT] = {
	[PLAN_EXCHANGED] = 0, [PLAN_MOVED] = 1, [PLAN_REPLACED] = 2, [PLAN_ABSENT] = 3, [PLAN_SWAPPED] = 4,
	[PLAN_CYCLE] = 5, [PLAN_WRONG_PORT] = 6, [PLAN_MISSING] = 7, [PLAN_SLOW] = 8, [PLAN_EXTRA] = 9,
};

/* A difference and where it is. */
struct sorted {
	struct plan_difference one;
	const char *name;
	uint32_t num;
};

static int compare(const void *a, const void *b)
{
	const struct sorted *left = a, *right = b;
	int names;

	if (left->one.change != right->one.change)
		return order[left->one.change] < order[right->one.change] ? -1 : 1;
	names = names_compare(left->name, right->name);
	if (names)
		return names;
	if (left->num != right->num)
		return left->num < right->num ? -1 : 1;
	return left->one.first_link < right->one.first_link ? -1 : left->one.first_link > right->one.first_link;
}

uint32_t plan_difference_port(const struct plan_ports *places, const struct shape *shape, const struct plan_diff *diff,
			      const struct plan_difference *one, uint32_t *ret_peer)
{
	uint32_t ends[2] = { FABRIC_NONE, FABRIC_NONE };

	if (one->move_count) {
		ends[0] = diff->moves[one->first_move].from;
		ends[1] = diff->moves[one->first_move].to;
	} else if (one->port_count && !one->link_count) {
		memcpy(ends, &diff->ports[one->first_port], sizeof(ends));
	} else if (one->link_count) {
		memcpy(ends, places->links[diff->links[one->first_link]].port, sizeof(ends));
	}
	/* The switch first: its ports have numbers to look for. */
	if (ends[0] == FABRIC_NONE ||
	    (!one->move_count && ends[1] != FABRIC_NONE &&
	     shape->fabric->nodes[shape->fabric->ports[ends[0]].node].type != NODE_SWITCH &&
	     shape->fabric->nodes[shape->fabric->ports[ends[1]].node].type == NODE_SWITCH)) {
		uint32_t end = ends[0];

		ends[0] = ends[1];
		ends[1] = end;
	}
	*ret_peer = ends[1];
	return ends[0];
}

static int sort(struct plan_work *work)
{
	struct sorted *list = calloc(work->diff.count + 1, sizeof(*list));
	uint32_t port, peer;

	if (!list)
		return ERR_NOMEM;
	for (size_t i = 0; i < work->diff.count; i++) {
		const struct plan_difference *one = &work->diff.list[i];

		list[i] = (struct sorted){ .one = *one, .name = "" };
		port = plan_difference_port(work->places, work->shape, &work->diff, one, &peer);
		if (one->node != FABRIC_NONE)
			list[i].name = work->fabric->names.shown[one->node];
		else if (port != FABRIC_NONE)
			list[i].name = work->fabric->names.shown[work->fabric->ports[port].node];
		list[i].num = port == FABRIC_NONE ? 0 : work->fabric->ports[port].num;
	}
	qsort(list, work->diff.count, sizeof(*list), compare);
	for (size_t i = 0; i < work->diff.count; i++)
		work->diff.list[i] = list[i].one;
	free(list);
	return 0;
}

/* --- entry --- */

static int compare_all(struct plan_work *work)
{
	int code = work_init(work);

	if (code < 0)
		return code;
	fill_ports(work);
	fill_units(work);
	fill_planned(work);
	code = plan_find_roles(work);
	if (code < 0)
		return code;
	compare_equal(work);
	plan_report_roles(work);
	code = plan_report_unknown(work);
	if (code == 0)
		code = plan_report_units(work);
	if (code == 0)
		code = plan_report_cables(work);
	if (code == 0 && !work->failed)
		code = sort(work);
	return work->failed ? ERR_NOMEM : code;
}

int plan_compare(const struct plan *plan, const struct plan_ports *ports, const struct shape *shape,
		 struct plan_diff *ret, struct error *err)
{
	struct plan_work work = { .plan = plan, .places = ports, .shape = shape, .fabric = shape->fabric };
	int code = compare_all(&work);

	work_done(&work);
	if (code < 0) {
		plan_diff_done(&work.diff);
		return err_nomem(err);
	}
	*ret = work.diff;
	return 0;
}

void plan_diff_done(struct plan_diff *diff)
{
	free(diff->list);
	free(diff->links);
	free(diff->ports);
	free(diff->moves);
	memset(diff, 0, sizeof(*diff));
}
