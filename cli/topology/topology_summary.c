/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_summary.c - the text of `ibwire topology show`: summary, irregularities, tiers */
#include "cli/topology/topology.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fabric/cut_off.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* Maximum entries per list; JSON and CSV have all. */
#define LIST_MAX 40

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
	text_appendf(text, "%zu host%s", shape->host_count, text_plural(shape->host_count));
	for (size_t i = 0; i < CLASS_COUNT; i++) {
		if (!classes[i])
			continue;
		text_appendf(text, "%s%zu %s", separator, classes[i], node_class_name((uint8_t)i));
		separator = ", ";
	}
	text_append(text, shape->host_count ? ")" : "");
	/* One plane is the fabric; below three tiers a plane would be a spine, with those that it is cabled to. */
	if (shape->plane_count > 1 && shape->tier_count > 2 && shape->plane_count < shape->tiers[2].switches)
		text_appendf(text, ", %u planes", shape->plane_count);
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
			text_appendf(text, ", %u link%s up", sums->links_up, text_plural(sums->links_up));
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
	if (!shape->bisection_bits_per_s && shape->kind == SHAPE_NO_TREE && shape->parts > 1)
		text_appendf(text, "bisection: unknown in %u unconnected parts\n", shape->parts);
	if (!shape->bisection_bits_per_s)
		return;
	text_appendf(text, "bisection, an estimate: %s", shape->bisection_at_most ? "at most " : "");
	append_rate(text, shape->bisection_bits_per_s);
	if (shape->bisection_bits_per_s_now < shape->bisection_bits_per_s) {
		text_append(text, " as built, now ");
		append_rate(text, shape->bisection_bits_per_s_now);
	}
	text_appendf(text, ": %s\n", shape->bisection_cut);
}

static void append_rails(const struct topology *topology, struct text *text)
{
	const struct shape *shape = topology->shape;
	size_t j;

	for (size_t i = 0; i < shape->rail_count; i = j) {
		const struct shape_rail *first = &shape->rails[i];

		for (j = i + 1; j < shape->rail_count && shape->rails[j].class == first->class; j++)
			;
		text_appendf(text, "%zu %s rail%s:", j - i, node_class_name(first->class), text_plural(j - i));
		for (; i < j; i++)
			text_appendf(text, "%s %s (%u HCA port%s, %u %s)", shape->rails + i == first ? "" : ",",
				     shape->rails[i].name, shape->rails[i].count, text_plural(shape->rails[i].count),
				     shape->rails[i].leaves, shape->rails[i].leaves == 1 ? "leaf" : "leaves");
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

/* What it would cost to take a degraded link out; without memory the text fails as a whole. */
static void append_cost(const struct shape *shape, uint32_t port, struct text *text)
{
	text_append(text, "; ");
	text->failed |= link_append_cost(shape, port, text, NULL) < 0;
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
		text_appendf(text, "degraded links: %zu\n", shape->slow_count);
	for (size_t i = 0; i < shape->slow_count && i < LIST_MAX; i++) {
		const struct port *port = &topology->fabric->ports[shape->slow[i].port];
		const struct port *peer = &topology->fabric->ports[port->peer];

		text_appendf(text, "  %s/%u - %s/%u: ", shown(topology, port->node), port->num,
			     shown(topology, peer->node), peer->num);
		append_rate(text, shape->slow[i].bits_per_s);
		text_append(text, " of ");
		append_rate(text, shape->slow[i].expected_bits_per_s);
		text_appendf(text, " (%s)", link_verdict_name(shape->ports[shape->slow[i].port].verdict));
		append_cost(shape, shape->slow[i].port, text);
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

/* --- switches of each tier --- */

uint32_t *topology_order(const struct topology *topology, unsigned tier, uint32_t *ret_count)
{
	const struct fabric *fabric = topology->fabric;
	uint32_t *nodes = malloc((fabric->node_count + 1) * sizeof(*nodes));

	*ret_count = 0;
	for (uint32_t i = 0; nodes && i < fabric->node_count; i++) {
		uint32_t node = topology->shown.nodes[i];

		if (fabric->nodes[node].type == NODE_SWITCH && topology->shape->nodes[node].tier == tier)
			nodes[(*ret_count)++] = node;
	}
	return nodes;
}

/* Position where two names differ, not within a number or word. */
static size_t common_start(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	while (i > 0 && isalnum((unsigned char)a[i - 1]))
		i--;
	return i;
}

/* Length of the common suffix of two names, from a separator on. */
static size_t common_end(const char *a, const char *b, size_t start)
{
	size_t a_len = strlen(a), b_len = strlen(b), i = 0, best = 0;

	while (a_len - i > start && b_len - i > start && a[a_len - 1 - i] == b[b_len - 1 - i]) {
		i++;
		if (!isalnum((unsigned char)a[a_len - i]))
			best = i;
	}
	return best;
}

void topology_range(struct text *text, const char *first, const char *last, size_t count)
{
	size_t start = common_start(first, last);

	if (count == 1) {
		text_append(text, first);
	} else if (!strcmp(first, last)) {
		text_appendf(text, "%s (%zu)", first, count);
	} else {
		text_append_bytes(text, first, strlen(first) - common_end(first, last, start));
		text_appendf(text, "..%s (%zu)", last + start, count);
	}
}

/* Are the characters from @at on digits of a GUID, which distinguish equal names: "NAME (1d00)"? */
static bool is_of_guid(const char *name, size_t at)
{
	const char *open = strrchr(name, '(');

	return open && open < name + at && open[1 + strspn(open + 1, "0123456789abcdef")] == ')';
}

/* Position of the number that @next increments by one, all else being equal; or -1. */
static long counted_at(const char *name, const char *next)
{
	size_t same = 0, a, b;

	while (name[same] && name[same] == next[same])
		same++;
	while (same > 0 && isdigit((unsigned char)name[same - 1]))
		same--;
	a = strspn(name + same, "0123456789");
	b = strspn(next + same, "0123456789");
	if (!a || !b || a > 9 || b > 9 || is_of_guid(name, same) || strcmp(name + same + a, next + same + b) ||
	    strtoul(next + same, NULL, 10) != strtoul(name + same, NULL, 10) + 1)
		return -1;
	return (long)same;
}

void topology_fold(struct text *text, const struct topology *topology, const uint32_t *nodes, size_t count)
{
	char *const *names = topology->shown.names;
	size_t j;

	for (size_t i = 0; i < count; i = j) {
		long at = i + 1 < count ? counted_at(names[nodes[i]], names[nodes[i + 1]]) : -1;

		for (j = i + 1; j < count; j++)
			if (at < 0 ? strcmp(names[nodes[i]], names[nodes[j]]) :
				     counted_at(names[nodes[j - 1]], names[nodes[j]]) != at)
				break;
		text_appendf(text, "%s%s", i ? ", " : "", names[nodes[i]]);
		if (j - i > 1 && at < 0)
			text_appendf(text, " (%zu)", j - i);
		else if (j - i > 1)
			text_appendf(text, "..%s", names[nodes[j - 1]] + at);
	}
}

/* Are two switches of a tier similar? */
struct kind {
	uint32_t hosts, aggregation, routers, up, up_active, up_built, down;
	int32_t over, over_now; /* oversubscription as built and now, in hundredths, as shown; -1: unknown */
};

static int32_t hundredths(double over)
{
	return isnan(over) || over > 1e6 ? -1 : (int32_t)nearbyint(100 * over);
}

static struct kind kind_of(const struct topology *topology, uint32_t node)
{
	const struct shape *shape = topology->shape;
	const struct node *self = &topology->fabric->nodes[node];
	struct kind kind = { .over = hundredths(shape_oversubscription(shape, node, false)),
			     .over_now = hundredths(shape_oversubscription(shape, node, true)) };

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		const struct port *port = &topology->fabric->ports[i];
		uint8_t class;

		switch (shape->ports[i].way) {
		case WAY_UP:
			kind.up++;
			kind.up_active += fabric_link_state(topology->fabric, i) == PORT_ACTIVE;
			break;
		case WAY_DOWN:
			kind.down++;
			break;
		case WAY_HOST:
			class = shape->nodes[topology->fabric->ports[port->peer].node].class;
			kind.hosts += shape_serves_host(shape, i);
			kind.aggregation += class == CLASS_AGGREGATION;
			kind.routers += class == CLASS_ROUTER;
			break;
		}
	}
	if (shape->nodes[node].up_group != SHAPE_NONE)
		kind.up_built = shape->groups[shape->nodes[node].up_group].built;
	return kind;
}

static void append_kind(struct text *text, const struct kind *kind)
{
	if (kind->hosts)
		text_appendf(text, "  %u HCA%s", kind->hosts, text_plural(kind->hosts));
	if (kind->routers)
		text_appendf(text, "  %u router%s", kind->routers, text_plural(kind->routers));
	if (kind->down)
		text_appendf(text, "  %u down", kind->down);
	if (kind->up)
		text_appendf(text, "  %u up", kind->up);
	if (kind->up_built > kind->up)
		text_appendf(text, " of %u", kind->up_built);
	if (kind->up_active < kind->up)
		text_appendf(text, " (%u not active)", kind->up - kind->up_active);
	if (kind->over >= 0)
		text_appendf(text, "  %d.%02d:1", kind->over / 100, kind->over % 100);
	if (kind->over_now >= 0 && kind->over_now != kind->over)
		text_appendf(text, " (now %d.%02d:1)", kind->over_now / 100, kind->over_now % 100);
	text_append(text, "\n");
}

static void append_tier(const struct topology *topology, struct text *text, unsigned tier)
{
	uint32_t count = 0, j, *nodes = topology_order(topology, tier, &count);
	char label[16];

	if (!nodes) {
		text->failed = true;
		return;
	}
	snprintf(label, sizeof(label), tier ? "tier %u" : "no tier", tier);
	for (uint32_t i = 0; i < count; i = j) {
		struct kind kind = kind_of(topology, nodes[i]);
		uint8_t why = topology->shape->nodes[nodes[i]].why;

		for (j = i + 1; j < count; j++) {
			struct kind other = kind_of(topology, nodes[j]);

			if (memcmp(&kind, &other, sizeof(kind)) || why != topology->shape->nodes[nodes[j]].why)
				break;
		}
		text_appendf(text, "%-7s  ", i ? "" : label);
		topology_range(text, topology->shown.names[nodes[i]], topology->shown.names[nodes[j - 1]], j - i);
		if (!tier)
			text_appendf(text, "  %s", shape_why_text(why));
		append_kind(text, &kind);
	}
	free(nodes);
}

void topology_tree(const struct topology *topology, struct text *text)
{
	unsigned tier = topology->shape->tier_count + 1;

	while (tier-- > 0)
		append_tier(topology, text, tier);
}
