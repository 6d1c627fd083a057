/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "tests/world/scenario_draw.h"
#include "tests/world/virtual.h"

#define JOBS_MAX 24   /* of a day */
#define TRIES_MAX 300 /* to find a free place */

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

	names_short(draw->built->nodes[node].name, name);
	snprintf(ret, DRAW_NAME_SIZE, strchr(name, ' ') ? "\"%s\"" : "%s", name);
	return ret;
}

const char *draw_port_name(const struct draw *draw, uint32_t port, char ret[DRAW_NAME_SIZE])
{
	const struct port *p = &draw->built->ports[port];
	char name[NODE_NAME_SIZE];

	names_short(draw->built->nodes[p->node].name, name);
	snprintf(ret, DRAW_NAME_SIZE, strchr(name, ' ') ? "\"%s/%u\"" : "%s/%u", name, p->num);
	return ret;
}

/* --- places of faults, and the lines for them --- */

bool draw_is_switch(const struct draw *draw, uint32_t node)
{
	return draw->built->nodes[node].type == NODE_SWITCH;
}

uint32_t draw_node_of(const struct draw *draw, uint32_t port)
{
	return draw->built->ports[port].node;
}

uint32_t draw_peer_node(const struct draw *draw, uint32_t port)
{
	return draw->built->ports[draw->built->ports[port].peer].node;
}

/* An end of a trunk between two unused switches. */
bool draw_trunk(struct draw *draw, uint32_t *ret)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		uint32_t port = draw->trunks[draw_number(draw, draw->trunk_count)];

		if (draw->used[draw_node_of(draw, port)] || draw->used[draw_peer_node(draw, port)])
			continue;
		draw->used[draw_node_of(draw, port)] = draw->used[draw_peer_node(draw, port)] = true;
		*ret = port;
		return true;
	}
	return false;
}

bool draw_switch(struct draw *draw, const uint32_t *switches, size_t count, uint32_t *ret)
{
	for (int tries = 0; count && tries < TRIES_MAX; tries++) {
		uint32_t node = switches[draw_number(draw, count)];

		if (draw->used[node])
			continue;
		draw->used[node] = true;
		*ret = node;
		return true;
	}
	return false;
}

bool draw_host_is_free(const struct draw *draw, const struct host *host)
{
	for (size_t i = host->first_hca; i < host->first_hca + host->hca_count; i++)
		if (draw->used[draw_node_of(draw, draw->hosts.hcas[i].port)] ||
		    draw->used[draw_peer_node(draw, draw->hosts.hcas[i].port)])
			return false;
	return true;
}

void draw_use_host(struct draw *draw, const struct host *host)
{
	for (size_t i = host->first_hca; i < host->first_hca + host->hca_count; i++)
		draw->used[draw_node_of(draw, draw->hosts.hcas[i].port)] = true;
}

bool draw_host(struct draw *draw, size_t *ret)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		size_t host = draw_number(draw, draw->hosts.host_count - draw->storage);

		if (!draw_host_is_free(draw, &draw->hosts.hosts[host]))
			continue;
		draw_use_host(draw, &draw->hosts.hosts[host]);
		*ret = host;
		return true;
	}
	return false;
}

bool draw_hca(struct draw *draw, uint32_t *ret)
{
	const struct host *host;
	size_t index;

	if (!draw_host(draw, &index))
		return false;
	host = &draw->hosts.hosts[index];
	*ret = draw->hosts.hcas[host->first_hca + draw_number(draw, host->hca_count)].port;
	return true;
}

bool draw_link(struct draw *draw, bool trunk, uint32_t *ret)
{
	uint32_t hca;

	if (trunk)
		return draw_trunk(draw, ret);
	if (!draw_hca(draw, &hca))
		return false;
	*ret = draw->built->ports[hca].peer;
	return true;
}

static bool add_lines(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		const char *truth, const char *name)
{
	text_appendf(draw->text, "at %ds %s %s %s\nexpect %s %s %s\n", (int)at_s, what, name, rest, kind, name, truth);
	return true;
}

bool draw_add_port(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t port)
{
	char name[DRAW_NAME_SIZE];

	return add_lines(draw, at_s, what, rest, kind, truth, draw_port_name(draw, port, name));
}

bool draw_add_node(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t node)
{
	char name[DRAW_NAME_SIZE];

	return add_lines(draw, at_s, what, rest, kind, truth, draw_node_name(draw, node, name));
}

/* --- the fabric --- */

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
static void sort_switches(struct draw *draw)
{
	const struct fabric *built = draw->built;
	bool *leaf = virtual_alloc(built->node_count, sizeof(*leaf));

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
}

/* Write the shape and create the fabric. */
static void draw_begin(struct draw *draw, uint64_t seed, enum net_shape_kind kind, enum scenario_size size,
		       struct text *text)
{
	struct text line = { 0 };
	struct scenario scenario;
	const struct fabric *built;

	*draw = (struct draw){ .random = map_mix(seed + 1), .text = text, .kind = kind };
	text_appendf(&line, "shape %s\nseed %" PRIu64 "\n", shapes[kind][size], seed);
	text_append(text, text_chars(&line));
	if (scenario_read(text_chars(&line), &scenario, NULL) < 0 || scenario_begin(&scenario, &draw->world, NULL) < 0)
		abort();
	text_done(&line);
	scenario_done(&scenario);
	built = draw->built = draw->world->built;
	if (host_table_create(built, &draw->hosts, NULL) < 0)
		abort();
	draw->used = virtual_alloc(built->node_count, sizeof(*draw->used));
	draw->leafs = virtual_alloc(built->node_count, sizeof(*draw->leafs));
	draw->spines = virtual_alloc(built->node_count, sizeof(*draw->spines));
	draw->trunks = virtual_alloc(built->port_count, sizeof(*draw->trunks));
	sort_switches(draw);
}

/* Append @lines to the text; frees them and @draw. */
static void draw_end(struct draw *draw, struct text *lines)
{
	text_append(draw->text, text_chars(lines));
	text_done(lines);
	host_table_done(&draw->hosts);
	free(draw->used);
	free(draw->leafs);
	free(draw->spines);
	free(draw->trunks);
	virtual_destroy(draw->world);
}

/* --- random scenarios --- */

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

void scenario_draw(uint64_t seed, unsigned faults, enum net_shape_kind kind, enum scenario_size size,
		   struct text *text)
{
	struct text lines = { 0 };
	struct draw draw;

	draw_begin(&draw, seed, kind, size, text);
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
	draw_end(&draw, &lines);
}

/* --- normal operation of a large fabric, with or without faults --- */

/* Jobs have a random number of consecutive hosts. The last hosts are storage. */
static void write_life_jobs(struct draw *draw, int64_t length_s)
{
	static const char *const patterns[] = { "alltoall fan=4", "ring stride=33", "shuffle", "ring", "tree",
						"alltoall fan=6", "ring stride=5" };
	size_t at = 0, last = draw->hosts.host_count - draw->storage;
	unsigned number = 0;

	while (at + 8 < last && number < JOBS_MAX) {
		size_t size = (size_t)draw_between(draw, (int64_t)last / 24 + 2, (int64_t)last / 8 + 2);
		const char *pattern = patterns[draw_number(draw, sizeof(patterns) / sizeof(patterns[0]))];

		if (at + size > last)
			size = last - at;
		text_appendf(draw->text, "job j%u %s hosts=%s-%s starts=later load=%.2f noise=%.2f phase=%ds/%ds "
			     "seed=%d", number, pattern, draw->hosts.hosts[at].name,
			     draw->hosts.hosts[at + size - 1].name,
			     0.1 + 0.7 * draw_share(draw), 0.3 * draw_share(draw), (int)draw_between(draw, 3, 25),
			     (int)draw_between(draw, 1, 15), (int)draw_between(draw, 1, 10000));
		/* Some use four rails of eight, some all; some are routed adaptively. */
		if (draw->kind == NET_SHAPE_RAIL && !draw_number(draw, 4))
			text_append(draw->text, draw_number(draw, 2) ? " rails=0-3" : " rails=4-7");
		if (!draw_number(draw, 3))
			text_append(draw->text, " spread=adaptive");
		text_append(draw->text, "\n");
		at += size + (size_t)draw_between(draw, 0, 3);
		number++;
	}
	if (draw->storage)
		text_appendf(draw->text, "job checkpoint incast hosts=%s-%s targets=%s-%s load=0.4 phase=45s/1755s\n",
			     draw->hosts.hosts[0].name, draw->hosts.hosts[last / 3].name,
			     draw->hosts.hosts[last].name, draw->hosts.hosts[draw->hosts.host_count - 1].name);
	/* Jobs begin and end at random times; each begins at least once. */
	while (number-- > 0) {
		int64_t t = draw_between(draw, 0, length_s / 8);

		while (t < length_s) {
			int64_t runs = draw_between(draw, 1200, 14000);

			text_appendf(draw->text, "at %ds start j%u for=%ds\n", (int)t, number, (int)runs);
			t += runs + draw_between(draw, 60, 3600);
		}
	}
}

/* A third of the hosts is rebooted, one after the other, except those with a fault. */
static void write_reboots(struct draw *draw, int64_t length_s)
{
	size_t last = draw->hosts.host_count - draw->storage, host = 0;
	int64_t t = length_s / 4;

	for (; host < last && t < length_s - 1000; host++, t += draw_between(draw, 40, 240)) {
		const struct host *h = &draw->hosts.hosts[host];

		if (draw_number(draw, 3) || draw->used[draw_node_of(draw, draw->hosts.hcas[h->first_hca].port)])
			continue;
		text_appendf(draw->text, "at %ds off hosts=%s for=%ds\n", (int)t, h->name,
			     (int)draw_between(draw, 90, 400));
	}
}

/* Background events of every fabric, without a finding: a few errors, a link that retrained once. */
static void write_trifles(struct draw *draw, int64_t length_s)
{
	char name[DRAW_NAME_SIZE];

	for (int i = 0; i < 40; i++) {
		uint32_t port = draw->trunks[draw_number(draw, draw->trunk_count)];

		text_appendf(draw->text, "at 0 errors %s symbol_errors=%.2f\n", draw_port_name(draw, port, name),
			     0.02 + 0.3 * draw_share(draw));
	}
	for (int i = 0; i < 6; i++) {
		uint32_t port = draw->trunks[draw_number(draw, draw->trunk_count)];

		if (!draw->used[draw_node_of(draw, port)])
			text_appendf(draw->text, "at %ds down %s for=2s\n", (int)draw_between(draw, 600, length_s),
				     draw_port_name(draw, port, name));
	}
	text_appendf(draw->text, "at %ds clear all\nat %ds clear all\nat %ds sm handover\nat %ds reroute order=3\n",
		     (int)(length_s / 3), (int)(length_s * 3 / 4), (int)(length_s / 2), (int)(length_s * 5 / 8));
}

static void write_faults(struct draw *draw, unsigned faults, int64_t length_s)
{
	size_t count;
	const struct draw_fault *all = draw_faults(&count);
	unsigned drawn = 0;

	for (unsigned tries = 0; drawn < faults && tries < 20 * faults; tries++) {
		const struct draw_fault *fault = &all[draw_number(draw, count)];

		/* This fabric has no job "main", and always traffic. */
		if (fault->needs != NEEDS_NOTHING)
			continue;
		drawn += draw_fault(draw, fault, 600 + (length_s - 2000) * (drawn + 1) / (faults + 1));
	}
}

void scenario_draw_life(uint64_t seed, unsigned hours, unsigned faults, enum scenario_size size,
			struct text *text)
{
	int64_t length_s = (int64_t)hours * 3600;
	struct text lines = { 0 };
	struct draw draw;

	draw_begin(&draw, seed, NET_SHAPE_RAIL, size, text);
	draw.storage = draw.hosts.host_count / 32 + 1;
	text_appendf(text, "interval 10s\nlength %us\n", hours * 3600);
	draw.text = &lines;
	write_faults(&draw, faults, length_s);
	draw.text = text;
	write_life_jobs(&draw, length_s);
	write_reboots(&draw, length_s);
	write_trifles(&draw, length_s);
	draw_end(&draw, &lines);
}
