/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/names.h"
#include "fabric/shape/build.h"

const char *node_class_name(uint8_t class)
{
	static const char *const names[] = { "compute", "storage", "management", "router", "aggregation", "switch" };

	return class < CLASS_COUNT ? names[class] : "unknown";
}

const char *shape_kind_name(enum shape_kind kind)
{
	static const char *const names[] = { "fat-tree", "irregular", "no tree", "no switch" };

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
	uint8_t way = shape->ports[port].way;
	char tier[SHAPE_TIER_SIZE];

	if (way == WAY_NONE)
		return NULL;
	if (way == WAY_ACROSS)
		snprintf(ret, SHAPE_ROLE_SIZE, "across");
	else if (way == WAY_SWITCH)
		snprintf(ret, SHAPE_ROLE_SIZE, "%s",
			 node_class_name(shape->nodes[shape->fabric->ports[port].node].class));
	else
		snprintf(ret, SHAPE_ROLE_SIZE, "%s-%s", shape_tier_name(shape_port_tier(shape, port), tier), ways[way]);
	return ret;
}

const char *shape_port_name(const struct shape *shape, uint32_t port, char *ret, size_t size)
{
	const struct port *self = &shape->fabric->ports[port];
	const struct shape_port *place = &shape->ports[port];
	char name[NODE_NAME_SIZE];

	names_short(shape->fabric->nodes[self->node].name, name);
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
 * Boxes by SystemImageGUID of switches; other nodes are boxes of their own. @asics: see
 * shape_find_cages().
 */
static int find_boxes(struct shape_build *build, uint32_t *asics)
{
	const struct fabric *fabric = build->fabric;
	struct map first = { 0 };
	uint32_t box;
	int code = 0;

	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++) {
		uint64_t guid = fabric->nodes[i].system_guid;

		box = i;
		if (guid && !map_get(&first, guid, &box))
			code = map_put(&first, guid, i);
		build->shape->nodes[i].box = box;
		asics[box] += fabric->nodes[i].type == NODE_SWITCH;
	}
	map_done(&first);
	return code;
}

static bool is_active(const struct port *port)
{
	return port->state == PORT_ACTIVE;
}

static void sum_port(struct shape_build *build, struct shape_tier *tier, uint32_t index)
{
	const struct port *port = &build->fabric->ports[index];
	uint64_t built = build->expected_rate[index], now = is_active(port) ? port_rate_bits_per_s(port) : 0;
	const struct shape_node *peer;

	switch (build->shape->ports[index].way) {
	case WAY_UP:
		tier->links_up++;
		tier->links_up_active += is_active(port);
		tier->up_bits_per_s += built;
		tier->up_bits_per_s_now += now;
		break;
	case WAY_HOST:
		peer = &build->shape->nodes[build->fabric->ports[port->peer].node];
		if (peer->class == CLASS_AGGREGATION)
			break;
		tier->down_bits_per_s += built;
		tier->down_bits_per_s_now += now;
		break;
	case WAY_DOWN:
		tier->down_bits_per_s += built;
		tier->down_bits_per_s_now += now;
		break;
	}
}

static int sum_tiers(struct shape_build *build)
{
	struct shape *shape = build->shape;
	bool *seen = calloc(build->fabric->node_count * (SHAPE_TIERS_MAX + 1) + 1, sizeof(*seen));

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
	free(seen);
	return 0;
}

/*
 * Bisection bandwidth: half of the hosts send to the other half over half of the links of every
 * tier, so the narrowest tier limits it. This estimate assumes that the fabric is equally wide
 * everywhere.
 */
static void find_bisection(struct shape *shape)
{
	uint64_t built = shape->tiers[1].down_bits_per_s, now = shape->tiers[1].down_bits_per_s_now;

	/*
	 * Leaves connected to each other without a tier above: their trunks count, which belong to
	 * no tier.
	 */
	if (!shape->tier_count || (shape->tier_count == 1 && shape->tiers[1].switches > 1))
		return;
	for (unsigned i = 1; i < shape->tier_count; i++) {
		const struct shape_tier *tier = &shape->tiers[i];

		built = tier->up_bits_per_s < built ? tier->up_bits_per_s : built;
		now = tier->up_bits_per_s_now < now ? tier->up_bits_per_s_now : now;
	}
	shape->bisection_bits_per_s = built / 2;
	shape->bisection_bits_per_s_now = now / 2;
}

double shape_oversubscription(const struct shape *shape, uint32_t node, bool now)
{
	const struct fabric *fabric = shape->fabric;
	const struct node *self = &fabric->nodes[node];
	uint64_t up = 0, down = 0;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		const struct port *port = &fabric->ports[i];
		uint64_t rate = now ? is_active(port) ? port_rate_bits_per_s(port) : 0 : shape->built_bits_per_s[i];

		if (shape->ports[i].way == WAY_UP)
			up += rate;
		else if (shape->ports[i].way == WAY_DOWN ||
			 (shape->ports[i].way == WAY_HOST &&
			  shape->nodes[fabric->ports[port->peer].node].class != CLASS_AGGREGATION))
			down += rate;
	}
	return up ? (double)down / (double)up : 0;
}

static void __attribute__((format(printf, 2, 3))) say(struct shape *shape, const char *fmt, ...)
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

static void find_kind(struct shape_build *build)
{
	struct shape *shape = build->shape;
	uint32_t odd = 0;

	for (uint32_t i = 0; i < build->switch_count; i++)
		odd += !shape->nodes[build->switches[i]].tier;
	if (!build->switch_count) {
		shape->kind = SHAPE_NO_SWITCH;
		say(shape, "there is no switch");
		return;
	}
	if (shape->kind == SHAPE_NO_TREE) {
		say(shape, "%u links between switches lead neither up nor down: a torus, mesh or dragonfly",
		    shape->across);
		return;
	}
	shape->kind = odd || shape->across || shape->skips || shape->parts > 1 ? SHAPE_IRREGULAR : SHAPE_FAT_TREE;
	if (shape->parts > 1)
		say(shape, "in %u unconnected parts", shape->parts);
	if (odd)
		say(shape, "%u switch%s no tier", odd, odd == 1 ? " has" : "es have");
	if (shape->across)
		say(shape, "%u link%s switches of one tier", shape->across, shape->across == 1 ? " joins" : "s join");
	if (shape->skips)
		say(shape, "%u link%s past a tier", shape->skips, shape->skips == 1 ? " leads" : "s lead");
	if (shape->empty_leafs)
		say(shape, "%u leaf%s no host", shape->empty_leafs, shape->empty_leafs == 1 ? " has" : "s have");
	if (!shape->reason[0])
		say(shape, "every link between switches leads one tier up or down");
}

static int make_arrays(struct shape_build *build)
{
	struct shape *shape = build->shape;

	shape->nodes = shape_memory(shape, build->fabric->node_count, sizeof(*shape->nodes));
	shape->ports = shape_memory(shape, build->fabric->port_count, sizeof(*shape->ports));
	shape->built_bits_per_s = shape_memory(shape, build->fabric->port_count, sizeof(*shape->built_bits_per_s));
	if (!shape->nodes || !shape->ports || !shape->built_bits_per_s)
		return ERR_NOMEM;
	build->expected_rate = shape->built_bits_per_s;
	for (size_t i = 0; i < build->fabric->node_count; i++)
		shape->nodes[i].host = shape->nodes[i].plane = shape->nodes[i].up_group = SHAPE_NONE;
	for (size_t i = 0; i < build->fabric->port_count; i++)
		shape->ports[i].rail = shape->ports[i].group = SHAPE_NONE;
	return 0;
}

static int run_steps(struct shape_build *build, uint32_t *asics)
{
	static int (*const steps[])(struct shape_build *build) = {
		make_arrays, shape_find_near, shape_find_classes, shape_find_hosts, shape_find_parts, shape_find_leafs,
		shape_find_tiers, shape_find_groups, shape_find_missing, shape_find_slow, shape_find_rails, sum_tiers,
	};
	int code;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		/* Boxes are needed before tiers are counted. */
		code = steps[i](build);
		if (code == 0 && i == 0)
			code = find_boxes(build, asics);
		if (code < 0)
			return code;
	}
	shape_find_cages(build, asics);
	find_bisection(build->shape);
	find_kind(build);
	return 0;
}

int shape_create(const struct fabric *fabric, const struct shape_settings *settings, struct shape **ret,
		 struct error *err)
{
	struct shape_build build = { .fabric = fabric, .settings = settings };
	uint32_t *asics = calloc(fabric->node_count + 1, sizeof(*asics));
	int code = ERR_NOMEM;

	build.shape = calloc(1, sizeof(*build.shape));
	if (build.shape && asics) {
		build.shape->fabric = fabric;
		code = run_steps(&build, asics);
	}
	free(asics);
	free(build.switches);
	free(build.near);
	free(build.first_near);
	free(build.hcas);
	free(build.compute);
	free(build.host_of);
	free(build.device_of);
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
	shape_memory_done(shape);
	free(shape->missing);
	free(shape->miswired);
	free(shape->slow);
	free(shape);
}
