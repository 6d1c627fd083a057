/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/cut_off.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/variant.h"

/* Sets of switches that links connect: by node the lowest node of its set. */
static uint32_t root_of(uint32_t *sets, uint32_t node)
{
	while (sets[node] != node) {
		sets[node] = sets[sets[node]];
		node = sets[node];
	}
	return node;
}

static uint32_t *join_switches(const struct fabric *fabric)
{
	uint32_t *sets = malloc((fabric->node_count + 1) * sizeof(*sets));

	for (uint32_t i = 0; sets && i < fabric->node_count; i++)
		sets[i] = i;
	for (uint32_t i = 0; sets && i < fabric->port_count; i++) {
		uint32_t a = fabric->ports[i].node, b;

		if (fabric->nodes[a].type != NODE_SWITCH || !link_is_usable(fabric, i))
			continue;
		b = fabric->ports[fabric->ports[i].peer].node;
		if (fabric->nodes[b].type != NODE_SWITCH || fabric->ports[i].peer < i)
			continue;
		a = root_of(sets, a);
		b = root_of(sets, b);
		sets[a < b ? b : a] = a < b ? a : b;
	}
	return sets;
}

/*
 * The set that an HCA port is connected to; FABRIC_NONE: its link is not usable. Two HCAs that are cabled to each other
 * are a set of their own, with a number above those of nodes.
 */
static uint32_t set_of_port(const struct fabric *fabric, uint32_t *sets, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	if (!link_is_usable(fabric, port))
		return FABRIC_NONE;
	if (fabric->nodes[fabric->ports[peer].node].type == NODE_SWITCH)
		return root_of(sets, fabric->ports[peer].node);
	return (uint32_t)fabric->node_count + (peer < port ? peer : port);
}

struct comparing {
	const struct shape *shape;
	const struct fabric *before, *after;
	const bool *taken;
	uint32_t *sets_before, *sets_after;
	uint32_t *rest;      /* by set before: the set after that most of its ports are in */
	uint32_t *kept;      /* by set after: ports in it */
	uint32_t *origin;    /* by set after: the set before */
	uint32_t sets;       /* number of possible sets */
};

/* @fn is called with each port of a host that had a usable link. */
typedef void port_fn(struct comparing *of, uint32_t host, uint32_t before, uint32_t after, void *ctx);

static bool is_taken(const struct comparing *of, uint32_t node)
{
	return of->taken && of->taken[node];
}

static void each_port(struct comparing *of, uint32_t host, port_fn *fn, void *ctx)
{
	const struct shape_host *self = &of->shape->hosts[host];

	for (uint32_t i = self->first; i < self->first + self->count; i++) {
		const struct node *node = &of->before->nodes[of->shape->host_nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			uint32_t before = set_of_port(of->before, of->sets_before, port), after;

			if (before == FABRIC_NONE)
				continue;
			after = is_taken(of, of->shape->host_nodes[i]) ? FABRIC_NONE :
				set_of_port(of->after, of->sets_after, port);
			fn(of, host, before, after, ctx);
		}
	}
}

static void count_kept(struct comparing *of, uint32_t host, uint32_t before, uint32_t after, void *ctx)
{
	(void)host;
	(void)ctx;
	if (after == FABRIC_NONE)
		return;
	of->kept[after]++;
	of->origin[after] = before;
}

static void find_rests(struct comparing *of)
{
	for (uint32_t i = 0; i < of->sets; i++)
		of->rest[i] = FABRIC_NONE;
	for (uint32_t host = 0; host < of->shape->host_count; host++)
		each_port(of, host, count_kept, NULL);
	for (uint32_t i = 0; i < of->sets; i++) {
		uint32_t *rest = of->kept[i] ? &of->rest[of->origin[i]] : NULL;

		if (rest && (*rest == FABRIC_NONE || of->kept[i] > of->kept[*rest]))
			*rest = i;
	}
}

struct seen {
	unsigned had, has, in_rest;
};

static void look(struct comparing *of, uint32_t host, uint32_t before, uint32_t after, void *ctx)
{
	struct seen *seen = ctx;

	(void)host;
	seen->had++;
	seen->has += after != FABRIC_NONE;
	seen->in_rest += after != FABRIC_NONE && after == of->rest[before];
}

static bool host_is_taken(const struct comparing *of, uint32_t host)
{
	const struct shape_host *self = &of->shape->hosts[host];
	bool any = false;

	for (uint32_t i = self->first; i < self->first + self->count; i++) {
		const struct node *node = &of->before->nodes[of->shape->host_nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			if (!link_is_usable(of->before, port))
				continue;
			if (!is_taken(of, of->shape->host_nodes[i]))
				return false;
			any = true;
		}
	}
	return any;
}

/*
 * Hosts with the same sets are counted together: a set of sets is a number that is the same for the same sets, made by
 * adding their hashes. Hosts have few ports.
 */
enum { SETS_MOST = 64 };

struct kind {
	uint32_t before[SETS_MOST], after[SETS_MOST];
	unsigned count;       /* entries; before, and after or FABRIC_NONE */
	uint64_t hosts;
};

static void note_kind(struct comparing *of, uint32_t host, uint32_t before, uint32_t after, void *ctx)
{
	struct kind *kind = ctx;

	(void)of;
	(void)host;
	for (unsigned i = 0; i < kind->count; i++)
		if (kind->before[i] == before && kind->after[i] == after)
			return;
	if (kind->count == SETS_MOST)
		return;
	kind->before[kind->count] = before;
	kind->after[kind->count++] = after;
}

static uint64_t hash_of(const struct kind *kind)
{
	uint64_t hash = 1;

	for (unsigned i = 0; i < kind->count; i++)
		hash += map_mix(((uint64_t)kind->before[i] << 32 | kind->after[i]) + 1); /* map_mix(0) is 0 */
	return hash;
}

static bool share(const uint32_t *a, unsigned a_count, const uint32_t *b, unsigned b_count)
{
	for (unsigned i = 0; i < a_count; i++)
		for (unsigned j = 0; a[i] != FABRIC_NONE && j < b_count; j++)
			if (a[i] == b[j])
				return true;
	return false;
}

static int count_pairs(struct comparing *of, struct cut_off *ret)
{
	struct kind *kinds = malloc((of->shape->host_count + 1) * sizeof(*kinds));
	struct map by_hash = { 0 };
	uint32_t count = 0, at;
	int code = kinds ? 0 : ERR_NOMEM;

	for (uint32_t host = 0; code == 0 && host < of->shape->host_count; host++) {
		struct kind *kind = &kinds[count];
		uint64_t hash;

		kind->count = 0;
		kind->hosts = 1;
		if (host_is_taken(of, host))
			continue;
		each_port(of, host, note_kind, kind);
		hash = hash_of(kind);
		if (!kind->count)
			continue;
		if (map_get(&by_hash, hash, &at))
			kinds[at].hosts++;
		else
			code = map_put(&by_hash, hash, count++);
	}
	for (uint32_t i = 0; code == 0 && i < count; i++) {
		for (uint32_t j = i; j < count; j++) {
			uint64_t pairs = i == j ? kinds[i].hosts * (kinds[i].hosts - 1) / 2 :
						  kinds[i].hosts * kinds[j].hosts;

			if (!share(kinds[i].before, kinds[i].count, kinds[j].before, kinds[j].count))
				continue;
			ret->pairs_before += pairs;
			if (!share(kinds[i].after, kinds[i].count, kinds[j].after, kinds[j].count))
				ret->pairs += pairs;
		}
	}
	map_done(&by_hash);
	free(kinds);
	return code;
}

static int compare(struct comparing *of, struct cut_off *ret)
{
	find_rests(of);
	for (uint32_t host = 0; host < of->shape->host_count; host++) {
		struct seen seen = { 0 };

		if (host_is_taken(of, host)) {
			ret->taken++;
			continue;
		}
		each_port(of, host, look, &seen);
		if (seen.had && !seen.in_rest)
			ret->hosts[ret->count++] = host;
		else if (seen.in_rest < seen.had)
			ret->reduced[ret->reduced_count++] = host;
	}
	return count_pairs(of, ret);
}

int cut_off_find(const struct shape *shape, const struct fabric *after, const bool *taken, struct cut_off *ret,
		 struct error *err)
{
	struct comparing of = { .shape = shape, .before = shape->fabric, .after = after, .taken = taken,
				.sets = (uint32_t)(after->node_count + after->port_count + 1) };
	struct cut_off found = { 0 };
	int code = 0;

	found.hosts = calloc(shape->host_count + 1, sizeof(*found.hosts));
	found.reduced = calloc(shape->host_count + 1, sizeof(*found.reduced));
	of.sets_before = join_switches(of.before);
	of.sets_after = join_switches(after);
	of.rest = calloc(of.sets, sizeof(*of.rest));
	of.kept = calloc(of.sets, sizeof(*of.kept));
	of.origin = calloc(of.sets, sizeof(*of.origin));
	if (!found.hosts || !found.reduced || !of.sets_before || !of.sets_after || !of.rest || !of.kept || !of.origin ||
	    compare(&of, &found) < 0)
		code = err_nomem(err);
	free(of.sets_before);
	free(of.sets_after);
	free(of.rest);
	free(of.kept);
	free(of.origin);
	if (code < 0)
		cut_off_done(&found);
	else
		*ret = found;
	return code;
}

void cut_off_done(struct cut_off *cut_off)
{
	free(cut_off->hosts);
	free(cut_off->reduced);
	*cut_off = (struct cut_off){ 0 };
}

/* --- paths --- */

static bool leads_on(const struct fabric *fabric, uint32_t port, uint32_t *ret)
{
	if (!fabric->ports[port].num || !link_is_usable(fabric, port))
		return false;
	*ret = fabric->ports[fabric->ports[port].peer].node;
	return fabric->nodes[*ret].type == NODE_SWITCH && *ret != fabric->ports[port].node;
}

static bool has_hosts(const struct fabric *fabric, uint32_t node)
{
	const struct node *self = &fabric->nodes[node];

	for (uint32_t port = self->first_port; port < self->first_port + self->ports; port++) {
		uint32_t peer = fabric->ports[port].peer;

		if (peer != FABRIC_NONE && link_is_usable(fabric, port) &&
		    fabric->nodes[fabric->ports[peer].node].type == NODE_CA &&
		    !node_is_aggregation(&fabric->nodes[fabric->ports[peer].node]))
			return true;
	}
	return false;
}

/* Paths from one switch: @hops and @paths by node. Return: number of switches in @queue. */
static uint32_t count_from(const struct fabric *fabric, uint32_t from, uint32_t *hops, double *paths, uint32_t *queue)
{
	uint32_t head = 0, tail = 0, next;

	for (uint32_t i = 0; i < fabric->node_count; i++)
		hops[i] = FABRIC_NONE;
	hops[from] = 0;
	paths[from] = 1;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t at = queue[head++];
		const struct node *node = &fabric->nodes[at];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			if (!leads_on(fabric, port, &next))
				continue;
			if (hops[next] == FABRIC_NONE) {
				hops[next] = hops[at] + 1;
				paths[next] = 0;
				queue[tail++] = next;
			}
			if (hops[next] == hops[at] + 1)
				paths[next] += paths[at];
		}
	}
	return tail;
}

int leaf_paths_count(const struct fabric *fabric, struct leaf_paths *ret, struct error *err)
{
	uint32_t *hops = calloc(fabric->node_count + 1, sizeof(*hops));
	uint32_t *queue = calloc(fabric->node_count + 1, sizeof(*queue));
	double *paths = calloc(fabric->node_count + 1, sizeof(*paths)), sum = 0, pairs = 0;
	bool *leaf = calloc(fabric->node_count + 1, sizeof(*leaf));
	int code = hops && queue && paths && leaf ? 0 : err_nomem(err);

	*ret = (struct leaf_paths){ .from = FABRIC_NONE, .to = FABRIC_NONE };
	for (uint32_t i = 0; code == 0 && i < fabric->node_count; i++)
		leaf[i] = fabric->nodes[i].type == NODE_SWITCH && has_hosts(fabric, i);
	for (uint32_t i = 0; code == 0 && i < fabric->node_count; i++) {
		uint32_t count = leaf[i] ? count_from(fabric, i, hops, paths, queue) : 0;

		for (uint32_t k = 1; k < count; k++) {
			if (!leaf[queue[k]])
				continue;
			sum += paths[queue[k]];
			pairs++;
			if (ret->from != FABRIC_NONE && paths[queue[k]] >= ret->fewest)
				continue;
			ret->fewest = paths[queue[k]];
			ret->from = i;
			ret->to = queue[k];
		}
	}
	if (pairs > 0)
		ret->mean = sum / pairs;
	free(hops);
	free(queue);
	free(paths);
	free(leaf);
	return code;
}
