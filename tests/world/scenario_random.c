/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "tests/world/scenario_draw.h"
#include "tests/world/virtual.h"

uint64_t draw_number(struct draw *draw, uint64_t below)
{
	draw->random += 0x9e3779b97f4a7c15ULL;
	return map_mix(draw->random) % below;
}

int64_t draw_between(struct draw *draw, int64_t from, int64_t to)
{
	return from + (int64_t)draw_number(draw, (uint64_t)(to - from + 1));
}

double draw_share(struct draw *draw)
{
	return (double)draw_number(draw, 1000000) / 1e6;
}

const char *draw_node_name(const struct draw *draw, uint32_t node, char ret[DRAW_NAME_SIZE])
{
	char name[NODE_NAME_SIZE];

	virtual_short_name(&draw->built->nodes[node], name);
	snprintf(ret, DRAW_NAME_SIZE, strchr(name, ' ') ? "\"%s\"" : "%s", name);
	return ret;
}

const char *draw_port_name(const struct draw *draw, uint32_t port, char ret[DRAW_NAME_SIZE])
{
	const struct port *p = &draw->built->ports[port];
	char name[NODE_NAME_SIZE];

	virtual_short_name(&draw->built->nodes[p->node], name);
	snprintf(ret, DRAW_NAME_SIZE, strchr(name, ' ') ? "\"%s/%u\"" : "%s/%u", name, p->num);
	return ret;
}

static const char *const shapes[3][3] = {
	[NET_SHAPE_RAIL] = { "rail units=2 hosts=8 rails=4 spines=4", "rail units=2 hosts=32 rails=8 spines=8",
			     "rail units=16 hosts=32 rails=8 spines=32" },
	[NET_SHAPE_TREE2] = { "tree2 leafs=8 hosts=16 spines=4", "tree2 leafs=16 hosts=20 spines=10",
			      "tree2 leafs=100 hosts=40 spines=40" },
	[NET_SHAPE_TREE3] = { "tree3 pods=4 leafs=4 hosts=8 spines=4 cores=8",
			      "tree3 pods=8 leafs=4 hosts=16 spines=8 cores=16",
			      "tree3 pods=16 leafs=8 hosts=32 spines=16 cores=64" },
};

/* Leafs are switches with compute hosts; aggregation nodes and management hosts do not count. */
static int sort_switches(struct draw *draw, struct error *err)
{
	const struct fabric *built = draw->built;
	bool *leaf = calloc(built->node_count + 1, sizeof(*leaf));

	if (!leaf)
		return err_nomem(err);
	for (uint32_t i = 0; i < draw->hosts.hca_count; i++)
		leaf[draw_peer_node(draw, draw->hosts.hcas[i].port)] = true;
	for (uint32_t i = 0; i < built->node_count; i++) {
		if (!draw_is_switch(draw, i))
			continue;
		if (leaf[i])
			draw->leafs[draw->leaf_count++] = i;
		else
			draw->spines[draw->spine_count++] = i;
	}
	for (uint32_t i = 0; i < built->port_count; i++) {
		if (built->ports[i].peer != FABRIC_NONE && draw_is_switch(draw, draw_node_of(draw, i)) &&
		    draw_is_switch(draw, draw_peer_node(draw, i)))
			draw->trunks[draw->trunk_count++] = i;
	}
	free(leaf);
	return 0;
}

static void draw_done(struct draw *draw)
{
	host_table_done(&draw->hosts);
	free(draw->used);
	free(draw->leafs);
	free(draw->spines);
	free(draw->trunks);
	virtual_destroy(draw->world);
	memset(draw, 0, sizeof(*draw));
}

int draw_begin(struct draw *draw, uint64_t seed, enum net_shape_kind kind, enum scenario_size size, struct text *text,
	       struct error *err)
{
	struct text line = { 0 };
	struct scenario scenario;
	int code;

	*draw = (struct draw){ .random = map_mix(seed + 1), .text = text, .kind = kind };
	text_appendf(&line, "shape %s\nseed %" PRIu64 "\n", shapes[kind][size], seed);
	text_append(text, text_chars(&line));
	code = scenario_read(text_chars(&line), &scenario, err);
	text_done(&line);
	if (code < 0)
		return code;
	code = scenario_begin(&scenario, &draw->world, err);
	scenario_done(&scenario);
	if (code < 0)
		return code;
	draw->built = virtual_built(draw->world);
	code = host_table_create(draw->built, &draw->hosts, err);
	draw->used = calloc(draw->built->node_count + 1, sizeof(*draw->used));
	draw->leafs = calloc(draw->built->node_count + 1, sizeof(*draw->leafs));
	draw->spines = calloc(draw->built->node_count + 1, sizeof(*draw->spines));
	draw->trunks = calloc(draw->built->port_count + 1, sizeof(*draw->trunks));
	if (code == 0 && (!draw->used || !draw->leafs || !draw->spines || !draw->trunks))
		code = err_nomem(err);
	if (code == 0)
		code = sort_switches(draw, err);
	if (code < 0)
		draw_done(draw);
	return code;
}

int draw_end(struct draw *draw, struct text *lines, struct error *err)
{
	int code = 0;

	text_append(draw->text, text_chars(lines));
	if (text_failed(draw->text) || text_failed(lines))
		code = err_nomem(err);
	text_done(lines);
	draw_done(draw);
	return code;
}

/* Jobs that load every link, with a random pattern. */
static void write_jobs(struct draw *draw)
{
	size_t last = draw->hosts.host_count - draw->storage;
	const char *first = draw->hosts.hosts[0].name, *end = draw->hosts.hosts[last - 1].name;
	const char *spread = draw->follows_tables || draw_number(draw, 8) ? "static" : "adaptive";

	text_appendf(draw->text, "job main alltoall hosts=%s-%s fan=%d load=%.2f noise=%.2f spread=%s seed=%d", first,
		     end, (int)draw_between(draw, 8, 14), 0.35 + 0.3 * draw_share(draw), 0.2 * draw_share(draw), spread,
		     (int)draw_between(draw, 1, 10000));
	if (draw_number(draw, 2))
		text_appendf(draw->text, " phase=%ds/%ds", (int)draw_between(draw, 4, 20),
			     (int)draw_between(draw, 1, 8));
	text_append(draw->text, "\n");
	if (draw->storage && draw_number(draw, 2))
		text_appendf(draw->text, "job checkpoint incast hosts=%s-%s targets=%s-%s load=0.3 phase=%ds/%ds\n",
			     first, draw->hosts.hosts[last / 4].name, draw->hosts.hosts[last].name,
			     draw->hosts.hosts[draw->hosts.host_count - 1].name, (int)draw_between(draw, 20, 60),
			     (int)draw_between(draw, 500, 900));
}

static void write_quiet_jobs(struct draw *draw)
{
	text_appendf(draw->text, "job tree tree hosts=all rails=0 load=0.02 seed=%d\n",
		     (int)draw_between(draw, 1, 10000));
}

/* A random fault compatible with the earlier ones; NULL if none is found. */
static const struct draw_fault *pick(struct draw *draw, enum draw_needs needs, const struct draw_fault *not)
{
	size_t count;
	const struct draw_fault *all = draw_faults(&count);

	for (size_t tries = 0; tries < 200; tries++) {
		const struct draw_fault *fault = &all[draw_number(draw, count)];

		if (fault == not || (needs == NEEDS_TRAFFIC && fault->needs == NEEDS_QUIET) ||
		    (needs == NEEDS_QUIET && fault->needs == NEEDS_TRAFFIC))
			continue;
		return fault;
	}
	return NULL;
}

/* The jobs come first but depend on the faults, so the faults are written to a separate text. */
static int draw_lines(struct draw *draw, unsigned faults, struct text *jobs)
{
	enum draw_needs needs = NEEDS_NOTHING;
	const struct draw_fault *last = NULL;
	int64_t at_s = draw_between(draw, 301, 420);
	unsigned drawn = 0;

	for (unsigned tries = 0; drawn < faults && tries < 50; tries++) {
		const struct draw_fault *fault = pick(draw, needs, last);

		if (!fault)
			break;
		if (!draw_fault(draw, fault, at_s))
			continue;
		text_appendf(jobs, "# %s\n", fault->name);
		if (fault->needs != NEEDS_NOTHING)
			needs = fault->needs;
		last = fault;
		drawn++;
		at_s += draw_between(draw, 90, 300);
	}
	return needs == NEEDS_QUIET;
}

int scenario_draw(uint64_t seed, unsigned faults, enum net_shape_kind kind, enum scenario_size size,
		  struct text *text, struct error *err)
{
	struct text lines = { 0 };
	struct draw draw;
	int code = draw_begin(&draw, seed, kind, size, text, err);

	if (code < 0)
		return code;
	draw.storage = draw.hosts.host_count > 12 ? 2 : 0;
	text_append(text, "interval 10s\nlength 30m\n");
	draw.text = &lines;
	if (draw_lines(&draw, faults, text)) {
		draw.text = text;
		write_quiet_jobs(&draw);
	} else {
		draw.text = text;
		write_jobs(&draw);
	}
	return draw_end(&draw, &lines, err);
}
