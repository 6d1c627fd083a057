/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_summary.c - summary of a fabric and its irregularities */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/topology/topology.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* Maximum entries per list; JSON and CSV have all. */
#define LIST_MAX 40

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void append_rate(struct text *text, uint64_t bits_per_s)
{
	if (bits_per_s >= 10000000000000ULL)
		text_appendf(text, "%.1f Tb/s", (double)bits_per_s / 1e12);
	else
		text_appendf(text, "%.0f Gb/s", (double)bits_per_s / 1e9);
}

static void append_hosts(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;
	size_t classes[CLASS_COUNT] = { 0 };
	const char *separator = " (";

	for (size_t i = 0; i < shape->host_count; i++)
		classes[shape->hosts[i].class]++;
	text_appendf(text, "%zu host%s", shape->host_count, plural(shape->host_count));
	for (size_t i = 0; i < CLASS_COUNT; i++) {
		if (!classes[i])
			continue;
		text_appendf(text, "%s%zu %s", separator, classes[i], node_class_name((uint8_t)i));
		separator = ", ";
	}
	text_append(text, shape->host_count ? ")" : "");
	if (shape->plane_count)
		text_appendf(text, ", %u plane%s", shape->plane_count, plural(shape->plane_count));
	text_append(text, "\n");
}

static void append_tiers(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;

	for (unsigned tier = shape->tier_count; tier > 0; tier--) {
		const struct shape_tier *sums = &shape->tiers[tier];

		text_appendf(text, "tier %u: %u switch%s", tier, sums->switches, sums->switches == 1 ? "" : "es");
		if (sums->boxes < sums->switches)
			text_appendf(text, " in %u box%s", sums->boxes, sums->boxes == 1 ? "" : "es");
		if (sums->links_up)
			text_appendf(text, ", %u link%s up", sums->links_up, plural(sums->links_up));
		if (sums->links_up_active < sums->links_up)
			text_appendf(text, " (%u not active)", sums->links_up - sums->links_up_active);
		if (sums->up_bits_per_s) {
			text_append(text, ", ");
			append_rate(text, sums->down_bits_per_s);
			text_append(text, " down to ");
			append_rate(text, sums->up_bits_per_s);
			text_appendf(text, " up: %.2f:1", (double)sums->down_bits_per_s / (double)sums->up_bits_per_s);
		}
		if (sums->up_bits_per_s_now < sums->up_bits_per_s) {
			text_append(text, ", now ");
			append_rate(text, sums->up_bits_per_s_now);
		}
		text_append(text, "\n");
	}
	if (!shape->bisection_bits_per_s)
		return;
	text_append(text, "bisection, an estimate: ");
	append_rate(text, shape->bisection_bits_per_s);
	if (shape->bisection_bits_per_s_now < shape->bisection_bits_per_s) {
		text_append(text, " as built, now ");
		append_rate(text, shape->bisection_bits_per_s_now);
	}
	text_append(text, "\n");
}

static void append_rails(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;
	size_t j;

	for (size_t i = 0; i < shape->rail_count; i = j) {
		const struct shape_rail *first = &shape->rails[i];

		for (j = i + 1; j < shape->rail_count && shape->rails[j].class == first->class; j++)
			;
		text_appendf(text, "%zu %s rail%s:", j - i, node_class_name(first->class), plural(j - i));
		for (; i < j; i++)
			text_appendf(text, "%s %s (%u HCA port%s, %u leaf%s)", shape->rails + i == first ? "" : ",",
				     shape->rails[i].name, shape->rails[i].count, plural(shape->rails[i].count),
				     shape->rails[i].leaves, plural(shape->rails[i].leaves));
		text_append(text, "\n");
	}
}

static const char *shown(const struct topology *topology, uint32_t node)
{
	return topology->shown.names[node];
}

static void append_more(struct text *text, size_t count)
{
	if (count > LIST_MAX)
		text_appendf(text, "  and %zu more (--format json has all)\n", count - LIST_MAX);
}

static void append_cables(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;

	if (shape->missing_count)
		text_appendf(text, "switch pairs with missing cables: %zu\n", shape->missing_count);
	for (size_t i = 0; i < shape->missing_count && i < LIST_MAX; i++)
		text_appendf(text, "  %s - %s: %u of %u\n", shown(topology, shape->missing[i].low),
			     shown(topology, shape->missing[i].high), shape->missing[i].links,
			     shape->missing[i].expected);
	append_more(text, shape->missing_count);
	if (shape->slow_count)
		text_appendf(text, "links slower than their neighbours: %zu\n", shape->slow_count);
	for (size_t i = 0; i < shape->slow_count && i < LIST_MAX; i++) {
		const struct port *port = &topology->fabric->ports[shape->slow[i].port];
		const struct port *peer = &topology->fabric->ports[port->peer];

		text_appendf(text, "  %s/%u - %s/%u: ", shown(topology, port->node), port->num,
			     shown(topology, peer->node), peer->num);
		append_rate(text, shape->slow[i].bits_per_s);
		text_append(text, " of ");
		append_rate(text, shape->slow[i].expected_bits_per_s);
		text_append(text, "\n");
	}
	append_more(text, shape->slow_count);
}

static void append_miswired(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;

	if (shape->miswired_count)
		text_appendf(text, "HCA ports connected to a leaf of another rail: %zu\n", shape->miswired_count);
	for (size_t i = 0; i < shape->miswired_count && i < LIST_MAX; i++) {
		const struct shape_miswired *miswired = &shape->miswired[i];
		const struct port *port = &topology->fabric->ports[miswired->port];

		text_appendf(text, "  %s/%u (rail %s) is on %s/%u (rail %s)\n", shown(topology, port->node), port->num,
			     shape->rails[shape->ports[miswired->port].rail].name, shown(topology, miswired->leaf),
			     topology->fabric->ports[port->peer].num, shape->rails[miswired->leaf_rail].name);
	}
	append_more(text, shape->miswired_count);
}

/* List the links that break the tree. */
static void append_odd_links(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;
	const struct fabric *fabric = topology->fabric;
	uint32_t count = 0;

	if (shape->kind != SHAPE_IRREGULAR)
		return;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i], *peer;
		int tier, other;

		if (port->peer == FABRIC_NONE || port->peer < i || fabric->nodes[port->node].type != NODE_SWITCH)
			continue;
		peer = &fabric->ports[port->peer];
		tier = shape->nodes[port->node].tier;
		other = shape->nodes[peer->node].tier;
		if (fabric->nodes[peer->node].type != NODE_SWITCH || tier - other == 1 || other - tier == 1)
			continue;
		if (!count)
			text_append(text, "links outside of the tree:\n");
		if (count++ < LIST_MAX)
			text_appendf(text, "  %s/%u (tier %d) - %s/%u (tier %d)\n",
				     shown(topology, port->node), port->num, tier,
				     shown(topology, peer->node), peer->num, other);
	}
	append_more(text, count);
}

void topology_summary(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;

	text_appendf(text, "%s: %s\n", shape_kind_name(shape->kind), shape->reason);
	append_hosts(topology, text);
	append_tiers(topology, text);
	append_rails(topology, text);
	append_odd_links(topology, text);
	append_cables(topology, text);
	append_miswired(topology, text);
	if (topology->shown.equal_switches)
		text_appendf(text, "switches with a name that is not unique: %u (ibwire names suggest)\n",
			     topology->shown.equal_switches);
}
