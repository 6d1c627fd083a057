/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/shape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/shape/build.h"

const char *node_class_name(uint8_t class)
{
	static const char *const names[] = { "compute", "storage", "management", "router", "aggregation", "switch" };

	return class < CLASS_COUNT ? names[class] : "unknown";
}

const char *shape_kind_name(enum shape_kind kind)
{
	static const char *const names[] = {
		"fat-tree", "irregular", "no tree", "no switch", "unknown", "one switch",
	};

	return names[kind];
}

const char *shape_why_text(uint8_t why)
{
	static const char *const texts[] = {
		"it fits", "no path to the largest part of the fabric", "linked to switches of its own tier",
		"linked past a tier", "no host below it", "the fabric is no tree",
	};

	return why < SHAPE_WHY_COUNT ? texts[why] : "unknown";
}

bool shape_serves_host(const struct shape *shape, uint32_t port)
{
	const struct port *ports = shape->fabric->ports;
	uint8_t class;

	if (shape->ports[port].way != WAY_HOST)
		return false;
	class = shape->nodes[ports[ports[port].peer].node].class;
	return class != CLASS_AGGREGATION && class != CLASS_ROUTER;
}

unsigned shape_port_tier(const struct shape *shape, uint32_t port)
{
	return shape->nodes[shape->fabric->ports[port].node].tier;
}

const char *shape_tier_name(unsigned tier, char ret[SHAPE_TIER_SIZE])
{
	static const char *const names[] = { "switch", "leaf", "spine", "core" };

	if (tier < sizeof(names) / sizeof(names[0]))
		snprintf(ret, SHAPE_TIER_SIZE, "%s", names[tier]);
	else
		snprintf(ret, SHAPE_TIER_SIZE, "tier%u", tier);
	return ret;
}

const char *shape_port_role(const struct shape *shape, uint32_t port, char ret[SHAPE_ROLE_SIZE])
{
	static const char *const ways[] = {
		[WAY_HOST] = "to-host", [WAY_UP] = "uplink", [WAY_DOWN] = "downlink",
	};
	const struct fabric *fabric = shape->fabric;
	uint8_t way = shape->ports[port].way;
	char tier[SHAPE_TIER_SIZE];

	if (way == WAY_NONE)
		return NULL;
	if (way == WAY_ACROSS)
		snprintf(ret, SHAPE_ROLE_SIZE, "across");
	else if (way == WAY_SWITCH)
		snprintf(ret, SHAPE_ROLE_SIZE, "%s",
			 node_class_name(shape->nodes[fabric->ports[port].node].class));
	else if (way == WAY_HOST && !shape_serves_host(shape, port))
		snprintf(ret, SHAPE_ROLE_SIZE, "%s-to-%s", shape_tier_name(shape_port_tier(shape, port), tier),
			 node_class_name(shape->nodes[fabric->ports[fabric->ports[port].peer].node].class));
	else
		snprintf(ret, SHAPE_ROLE_SIZE, "%s-%s", shape_tier_name(shape_port_tier(shape, port), tier), ways[way]);
	return ret;
}

const char *shape_unit_name(const struct shape *shape, uint32_t node)
{
	uint32_t host = shape->nodes[node].host;

	return host == SHAPE_NONE ? shape->fabric->names.shown[node] : shape->hosts[host].name;
}

const char *shape_port_name(const struct shape *shape, uint32_t port, char *ret, size_t size)
{
	const struct port *self = &shape->fabric->ports[port];
	const struct shape_port *place = &shape->ports[port];
	const char *name = shape->fabric->names.shown[self->node];

	if (place->cage && place->split)
		snprintf(ret, size, "%s/%u (cage %u.%u)", name, self->num, place->cage, place->split);
	/* With one port per cage the cage adds nothing to the port number. */
	else if (place->cage && place->cage != self->num)
		snprintf(ret, size, "%s/%u (cage %u)", name, self->num, place->cage);
	else
		snprintf(ret, size, "%s/%u", name, self->num);
	return ret;
}

/*
 * Boxes by SystemImageGUID; the box is its switch with the lowest GUID, or its node with the lowest
 * one: the order of a dump changes nothing. Nodes without a SystemImageGUID are boxes of their own.
 */
static int find_boxes(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	struct map boxes = { 0 };
	uint32_t box;
	int code = 0;

	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++) {
		const struct node *node = &fabric->nodes[i], *other;

		if (!node->system_guid)
			continue;
		other = map_get(&boxes, node->system_guid, &box) ? &fabric->nodes[box] : NULL;
		if (!other || (node->type == NODE_SWITCH) > (other->type == NODE_SWITCH) ||
		    (node->guid < other->guid && (node->type == NODE_SWITCH) >= (other->type == NODE_SWITCH)))
			code = map_put(&boxes, node->system_guid, i);
	}
	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++) {
		if (!fabric->nodes[i].system_guid || !map_get(&boxes, fabric->nodes[i].system_guid, &box))
			box = i;
		build->shape->nodes[i].box = box;
		build->asics[box] += fabric->nodes[i].type == NODE_SWITCH;
	}
	map_done(&boxes);
	return code;
}

static void sum_port(struct shape_build *build, struct shape_tier *tier, uint32_t index)
{
	uint64_t built = build->expected_rate[index], rate = shape_link_rate(build->fabric, index);
	/* The rate of a link in a dump may be unknown. */
	bool active = fabric_link_state(build->fabric, index) == PORT_ACTIVE;
	uint64_t now = !active ? 0 : rate ? rate : built;
	uint8_t way = build->shape->ports[index].way;

	if (way == WAY_UP) {
		tier->links_up++;
		tier->links_up_active += active;
		tier->up_bits_per_s += built;
		tier->up_bits_per_s_now += now;
	} else if (way == WAY_DOWN || shape_serves_host(build->shape, index)) {
		tier->down_bits_per_s += built;
		tier->down_bits_per_s_now += now;
	}
}

static int sum_tiers(struct shape_build *build)
{
	struct shape *shape = build->shape;
	bool *seen = shape_scratch(build, build->fabric->node_count * (SHAPE_TIERS_MAX + 1), sizeof(*seen));

	if (!seen)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < build->switch_count; i++) {
		const struct node *node = &build->fabric->nodes[build->switches[i]];
		const struct shape_node *found = &shape->nodes[build->switches[i]];
		struct shape_tier *tier = &shape->tiers[found->tier];
		bool *box = &seen[found->box * (SHAPE_TIERS_MAX + 1) + found->tier];

		tier->switches++;
		tier->boxes += !*box;
		*box = true;
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			sum_port(build, tier, j);
	}
	return 0;
}

double shape_oversubscription(const struct shape *shape, uint32_t node, bool now)
{
	const struct node *self = &shape->fabric->nodes[node];
	uint64_t up = 0, down = 0;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		bool active = fabric_link_state(shape->fabric, i) == PORT_ACTIVE;
		uint64_t rate = !now ? shape->built_bits_per_s[i] :
				active ? shape_link_rate(shape->fabric, i) : 0;
		uint8_t way = shape->ports[i].way;

		if (way == WAY_UP)
			up += rate;
		else if (way == WAY_DOWN || shape_serves_host(shape, i))
			down += rate;
	}
	return up ? (double)down / (double)up : NAN;
}

static void __attribute__((format(printf, 2, 3))) add_reason(struct shape *shape, const char *fmt, ...)
{
	size_t len = strlen(shape->reason);
	va_list args;

	if (len && len + 2 < sizeof(shape->reason)) {
		memcpy(shape->reason + len, "; ", 3);
		len += 2;
	}
	va_start(args, fmt);
	vsnprintf(shape->reason + len, sizeof(shape->reason) - len, fmt, args);
	va_end(args);
}

/* Three or more switches without a cycle, parallel links aside. */
static void add_small_tree(const struct shape_build *build)
{
	uint32_t most = 0, links = build->first_near[build->fabric->node_count] / 2;

	if (build->switch_count < 3 || build->shape->parts > 1 || links != build->switch_count - 1)
		return;
	for (uint32_t i = 0; i < build->switch_count; i++) {
		uint32_t near = build->first_near[build->switches[i] + 1] - build->first_near[build->switches[i]];

		most = near > most ? near : most;
	}
	add_reason(build->shape, "a %s of %u switches", most == 2 ? "chain" : most == links ? "star" : "tree",
		   build->switch_count);
}

bool shape_has_planes(const struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	const struct shape *shape = build->shape;
	bool any = false;

	if (shape->parts < 2 || shape->parts > 32)
		return false;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		uint32_t parts = 0;

		if (!shape_is_hca(build, i))
			continue;
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			if (fabric->ports[j].peer != FABRIC_NONE)
				parts |= UINT32_C(1) << shape->nodes[fabric->ports[fabric->ports[j].peer].node].part;
		if (parts && parts != (uint32_t)((UINT64_C(1) << shape->parts) - 1))
			return false;
		any |= parts != 0;
	}
	return any;
}

static void find_kind(struct shape_build *build)
{
	struct shape *shape = build->shape;
	uint32_t odd = 0, across = shape->across;
	bool planar;

	for (uint32_t i = 0; i < build->switch_count; i++)
		odd += !shape->nodes[build->switches[i]].tier;
	if (!build->switch_count) {
		shape->kind = SHAPE_NO_SWITCH;
		add_reason(shape, "every node is an HCA or a router");
		return;
	}
	if (shape->kind == SHAPE_UNKNOWN) {
		add_reason(shape, "no switch has a host, and tiers are counted from those that have");
		return;
	}
	if (shape->kind == SHAPE_NO_TREE) {
		add_reason(shape, "%u links between switches lead neither up nor down: a torus, mesh or dragonfly",
		    shape->across);
		return;
	}
	planar = shape_has_planes(build);
	shape->kind = odd || shape->across || shape->skips || shape->loops || (shape->parts > 1 && !planar) ?
		SHAPE_IRREGULAR : build->switch_count == 1 ? SHAPE_ONE_SWITCH : SHAPE_FAT_TREE;
	if (planar)
		add_reason(shape, "%u separate planes, each with a port of every HCA", shape->parts);
	else if (shape->parts > 1)
		add_reason(shape, "in %u unconnected parts", shape->parts);
	if (odd)
		add_reason(shape, "%u switch%s no tier", odd, odd == 1 ? " has" : "es have");
	if (across)
		add_small_tree(build);
	if (shape->island_count) {
		add_reason(shape, "%u islands joined by %u link%s", shape->island_count, shape->island_links,
			   shape->island_links == 1 ? "" : "s");
		across -= shape->island_links;
	}
	if (across)
		add_reason(shape, "%u link%s switches of one tier", across, across == 1 ? " joins" : "s join");
	if (shape->skips)
		add_reason(shape, "%u link%s past a tier", shape->skips, shape->skips == 1 ? " leads" : "s lead");
	if (shape->loops)
		add_reason(shape, "%u link%s a switch with itself", shape->loops,
			   shape->loops == 1 ? " joins" : "s join");
	if (shape->empty_leaves)
		add_reason(shape, "%u %s no host", shape->empty_leaves,
			   shape->empty_leaves == 1 ? "leaf has" : "leaves have");
	if (shape->kind == SHAPE_ONE_SWITCH)
		add_reason(shape, "all hosts are on it");
	if (!shape->reason[0])
		add_reason(shape, "every link between switches leads one tier up or down");
}

static int make_arrays(struct shape_build *build)
{
	size_t nodes = build->fabric->node_count, ports = build->fabric->port_count;
	struct shape *shape = build->shape;

	shape->nodes = shape_memory(shape, nodes, sizeof(*shape->nodes));
	shape->ports = shape_memory(shape, ports, sizeof(*shape->ports));
	shape->built_bits_per_s = shape_memory(shape, ports, sizeof(*shape->built_bits_per_s));
	build->asics = shape_scratch(build, nodes, sizeof(*build->asics));
	if (!shape->nodes || !shape->ports || !shape->built_bits_per_s || !build->asics)
		return ERR_NOMEM;
	build->expected_rate = shape->built_bits_per_s;
	for (size_t i = 0; i < nodes; i++)
		shape->nodes[i].host = shape->nodes[i].plane = shape->nodes[i].up_group = SHAPE_NONE;
	for (size_t i = 0; i < ports; i++)
		shape->ports[i].rail = shape->ports[i].group = SHAPE_NONE;
	return 0;
}

static int run_steps(struct shape_build *build)
{
	static int (*const steps[])(struct shape_build *build) = {
		make_arrays, find_boxes, shape_find_near, shape_find_classes, shape_find_hosts, shape_find_parts,
		shape_find_leaves, shape_find_tiers, shape_find_groups, shape_find_missing, shape_find_slow,
		shape_find_rails, sum_tiers, shape_find_bisection,
	};
	int code = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && code == 0; i++)
		code = steps[i](build);
	if (code < 0)
		return code;
	shape_find_cages(build);
	find_kind(build);
	return 0;
}

int shape_create(const struct fabric *fabric, const struct shape_settings *settings, struct shape **ret,
		 struct error *err)
{
	struct shape_build build = { .fabric = fabric, .settings = settings };
	int code = ERR_NOMEM;

	build.shape = calloc(1, sizeof(*build.shape));
	if (build.shape) {
		build.shape->fabric = fabric;
		code = run_steps(&build);
	}
	shape_memory_done(build.scratch);
	if (code < 0) {
		shape_destroy(build.shape);
		return err_nomem(err);
	}
	*ret = build.shape;
	return 0;
}

void shape_destroy(struct shape *shape)
{
	if (!shape)
		return;
	shape_memory_done(shape->memory);
	free(shape->missing);
	free(shape->miswired);
	free(shape->slow);
	free(shape);
}
