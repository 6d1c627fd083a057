/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_tree.c - switches of each tier, similar ones in one line; short lists of names */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/topology/topology.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

uint32_t *topology_order(const struct topology *topology, unsigned tier, uint32_t *ret_count)
{
	const struct fabric *fabric = topology->fabric;
	uint32_t *nodes = malloc((fabric->node_count + 1) * sizeof(*nodes)), count = 0;

	for (uint32_t i = 0; i < fabric->node_count && nodes; i++) {
		uint32_t node = topology->shown.nodes[i];

		if (fabric->nodes[node].type == NODE_SWITCH && topology->shape->nodes[node].tier == tier)
			nodes[count++] = node;
	}
	*ret_count = count;
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
	if (!a || !b || a > 9 || b > 9 || strcmp(name + same + a, next + same + b) ||
	    strtoul(next + same, NULL, 10) != strtoul(name + same, NULL, 10) + 1)
		return -1;
	return (long)same;
}

void topology_fold(struct text *text, const char *const *names, size_t count)
{
	size_t j;

	for (size_t i = 0; i < count; i = j) {
		long at = i + 1 < count ? counted_at(names[i], names[i + 1]) : -1;

		for (j = i + 1; j < count; j++)
			if (at < 0 ? strcmp(names[i], names[j]) : counted_at(names[j - 1], names[j]) != at)
				break;
		text_append(text, i ? ", " : "");
		if (j - i == 1)
			text_append(text, names[i]);
		else if (at < 0)
			text_appendf(text, "%s (%zu)", names[i], j - i);
		else
			text_appendf(text, "%s..%s", names[i], names[j - 1] + at);
	}
}

/* Are two switches of a tier similar? */
struct kind {
	uint32_t hosts, aggregation, up, up_active, up_built, down;
};

static struct kind kind_of(const struct topology *topology, uint32_t node)
{
	const struct shape *shape = topology->shape;
	const struct node *self = &topology->fabric->nodes[node];
	struct kind kind = { 0 };

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		const struct port *port = &topology->fabric->ports[i];
		uint32_t peer;

		switch (shape->ports[i].way) {
		case WAY_UP:
			kind.up++;
			kind.up_active += port->state == PORT_ACTIVE;
			break;
		case WAY_DOWN:
			kind.down++;
			break;
		case WAY_HOST:
			peer = topology->fabric->ports[port->peer].node;
			if (shape->nodes[peer].class == CLASS_AGGREGATION)
				kind.aggregation++;
			else
				kind.hosts++;
			break;
		}
	}
	if (shape->nodes[node].up_group != SHAPE_NONE)
		kind.up_built = shape->groups[shape->nodes[node].up_group].built;
	return kind;
}

static void append_kind(const struct topology *topology, struct text *text, uint32_t node, const struct kind *kind)
{
	double over = shape_oversubscription(topology->shape, node, true);

	if (kind->hosts)
		text_appendf(text, "  %u HCA%s", kind->hosts, kind->hosts == 1 ? "" : "s");
	if (kind->down)
		text_appendf(text, "  %u down", kind->down);
	if (kind->up)
		text_appendf(text, "  %u up", kind->up);
	if (kind->up_built > kind->up)
		text_appendf(text, " of %u", kind->up_built);
	if (kind->up_active < kind->up)
		text_appendf(text, " (%u not active)", kind->up - kind->up_active);
	if (kind->up)
		text_appendf(text, "  %.2f:1", over);
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
		append_kind(topology, text, nodes[i], &kind);
	}
	free(nodes);
}

void topology_tree(const struct topology *topology, struct text *text)
{
	unsigned tier = topology->shape->tier_count + 1;

	while (tier-- > 0)
		append_tier(topology, text, tier);
}
