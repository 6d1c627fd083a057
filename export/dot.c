/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/dot.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* Append a quoted string; quotes and backslashes are escaped. */
static void append_quoted(struct text *text, const char *chars)
{
	struct text plain = { 0 };
	const char *c;

	text_append_escaped(&plain, chars, strlen(chars));
	for (c = text_chars(&plain); *c; c++) {
		if (*c == '"' || *c == '\\')
			text_append(text, "\\");
		text_append_bytes(text, c, 1);
	}
	text->failed |= text_failed(&plain);
	text_done(&plain);
}

static unsigned count_hcas(const struct shape *shape, uint32_t node)
{
	const struct node *self = &shape->fabric->nodes[node];
	unsigned hcas = 0;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++)
		hcas += shape_serves_host(shape, i);
	return hcas;
}

static void append_switches(struct text *text, const struct shape *shape, char *const *names, unsigned tier,
			    bool hosts)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < shape->fabric->node_count; i++) {
		unsigned hcas;

		if (shape->fabric->nodes[i].type != NODE_SWITCH || shape->nodes[i].tier != tier)
			continue;
		if (!count++)
			text_append(text, tier ? "\t{ rank=same;\n" : "\t{\n");
		text_appendf(text, "\t\tn%u [shape=box, label=\"", i);
		append_quoted(text, names[i]);
		hcas = hosts ? 0 : count_hcas(shape, i);
		if (hcas)
			text_appendf(text, "\\n%u HCA%s", hcas, hcas == 1 ? "" : "s");
		text_append(text, "\"];\n");
	}
	if (count)
		text_append(text, "\t}\n");
}

/* Draw the edges of a pair once, at the upper or first end. */
struct pair {
	uint32_t links, down;
	bool slow, odd;
};

static const struct shape_missing *find_missing(const struct shape *shape, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < shape->missing_count; i++)
		if ((shape->missing[i].low == a && shape->missing[i].high == b) ||
		    (shape->missing[i].low == b && shape->missing[i].high == a))
			return &shape->missing[i];
	return NULL;
}

static void look_at_pair(const struct shape *shape, uint32_t node, uint32_t other, struct pair *ret)
{
	const struct fabric *fabric = shape->fabric;
	const struct node *self = &fabric->nodes[node];
	int step = shape->nodes[node].tier - shape->nodes[other].tier;

	*ret = (struct pair){ .odd = step != 1 && step != -1 };
	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		const struct port *port = &fabric->ports[i];

		if (port->peer == FABRIC_NONE || fabric->ports[port->peer].node != other)
			continue;
		ret->links++;
		ret->down += port->state < PORT_INIT;
		ret->slow |= link_is_degraded(shape, i);
	}
}

static void append_pair(struct text *text, const struct shape *shape, uint32_t high, uint32_t low)
{
	const struct shape_missing *missing = find_missing(shape, high, low);
	struct pair pair;

	look_at_pair(shape, high, low, &pair);
	text_appendf(text, "\tn%u -- n%u [label=\"%u", high, low, pair.links);
	if (missing)
		text_appendf(text, " of %u", missing->expected);
	if (pair.down)
		text_appendf(text, ", %u down", pair.down);
	text_appendf(text, "\"%s];\n", missing || pair.down || pair.slow ? ", color=red" :
		     pair.odd && shape->tier_count ? ", color=orange" : "");
}

static void append_edges(struct text *text, const struct shape *shape, uint32_t node, uint32_t *seen)
{
	const struct fabric *fabric = shape->fabric;
	const struct node *self = &fabric->nodes[node];

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		uint32_t peer = fabric->ports[i].peer, other;
		uint8_t tier = shape->nodes[node].tier;

		if (peer == FABRIC_NONE)
			continue;
		other = fabric->ports[peer].node;
		if (fabric->nodes[other].type != NODE_SWITCH || seen[other] == node + 1 || other == node)
			continue;
		seen[other] = node + 1;
		if (tier > shape->nodes[other].tier || (tier == shape->nodes[other].tier && node < other))
			append_pair(text, shape, node, other);
	}
}

/* A switch, a router, or the host of an HCA. */
static void append_vertex(struct text *text, const struct shape *shape, uint32_t node)
{
	uint32_t host = shape->nodes[node].host;

	text_appendf(text, host == SHAPE_NONE ? "n%u" : "h%u", host == SHAPE_NONE ? node : host);
}

static bool is_outer(const struct shape *shape, uint32_t node)
{
	return shape->nodes[node].host != SHAPE_NONE || shape->nodes[node].class == CLASS_ROUTER;
}

/* The cables of an HCA or router; those to another one at the first end. */
static void append_cables(struct text *text, const struct shape *shape, uint32_t node)
{
	const struct fabric *fabric = shape->fabric;
	const struct node *self = &fabric->nodes[node];

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t other = port->peer == FABRIC_NONE ? node : fabric->ports[port->peer].node;
		bool is_switch = fabric->nodes[other].type == NODE_SWITCH;

		if (port->peer == FABRIC_NONE || (!is_switch && (!is_outer(shape, other) || port->peer < i)))
			continue;
		text_append(text, "\t");
		append_vertex(text, shape, is_switch ? other : node);
		text_append(text, " -- ");
		append_vertex(text, shape, is_switch ? node : other);
		text_appendf(text, "%s;\n", port->state < PORT_INIT ? " [color=red]" : "");
	}
}

static void append_hosts(struct text *text, const struct shape *shape, char *const *names)
{
	for (uint32_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		text_appendf(text, "\th%u [shape=ellipse, label=\"", i);
		append_quoted(text, host->name);
		text_append(text, "\"];\n");
		for (uint32_t j = host->first; j < host->first + host->count; j++)
			append_cables(text, shape, shape->host_nodes[j]);
	}
	for (uint32_t i = 0; i < shape->fabric->node_count; i++) {
		if (shape->nodes[i].host != SHAPE_NONE || shape->nodes[i].class != CLASS_ROUTER)
			continue;
		text_appendf(text, "\tn%u [shape=diamond, label=\"", i);
		append_quoted(text, names[i]);
		text_append(text, "\"];\n");
		append_cables(text, shape, i);
	}
}

void dot_write(struct text *text, const struct shape *shape, char *const *names, bool hosts)
{
	uint32_t *seen = calloc(shape->fabric->node_count + 1, sizeof(*seen));
	unsigned tier = shape->tier_count + 1;

	if (!seen) {
		text->failed = true;
		return;
	}
	text_append(text, "graph fabric {\n\trankdir=TB;\n\tnode [fontsize=10];\n\tedge [fontsize=8];\n");
	while (tier-- > 0)
		append_switches(text, shape, names, tier, hosts);
	for (uint32_t i = 0; i < shape->fabric->node_count; i++)
		if (shape->fabric->nodes[i].type == NODE_SWITCH)
			append_edges(text, shape, i, seen);
	if (hosts)
		append_hosts(text, shape, names);
	text_append(text, "}\n");
	free(seen);
}
