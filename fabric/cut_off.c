/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/cut_off.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
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

/* --- the cost of one link --- */

/* The uplinks that the switch below the link has left. */
static void append_uplinks(const struct shape *shape, const struct fabric *after, uint32_t port, struct text *text)
{
	const struct fabric *fabric = shape->fabric;
	const struct node *node;
	char name[NODE_NAME_SIZE];
	unsigned all = 0, left = 0;

	if (shape->ports[port].way == WAY_DOWN)
		port = fabric->ports[port].peer;
	if (shape->ports[port].way != WAY_UP)
		return;
	node = &fabric->nodes[fabric->ports[port].node];
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		all += shape->ports[i].way == WAY_UP;
		left += shape->ports[i].way == WAY_UP && link_is_usable(after, i);
	}
	names_display(fabric, node->name, name);
	text_appendf(text, "leaves %s with %u of %u uplinks; ", name, left, all);
}

int link_append_cost(const struct shape *shape, uint32_t port, struct text *text, struct error *err)
{
	struct fabric *after = fabric_variant_create(shape->fabric, err);
	struct cut_off cut_off;
	int code = after ? 0 : ERR_NOMEM;

	if (code == 0) {
		fabric_variant_take_out(after, port);
		code = cut_off_find(shape, after, NULL, &cut_off, err);
	}
	if (code == 0) {
		text_append(text, "taking it out ");
		append_uplinks(shape, after, port, text);
		if (!cut_off.count)
			text_append(text, cut_off.reduced_count ? "costs a host one of its links; " : "");
		if (cut_off.count)
			text_appendf(text, "cuts off %s", shape->hosts[cut_off.hosts[0]].name);
		else
			text_append(text, "no host is cut off");
		if (cut_off.count > 1)
			text_appendf(text, " and %zu more", cut_off.count - 1);
		cut_off_done(&cut_off);
	}
	fabric_variant_destroy(after);
	return code;
}

/* --- paths --- */

/* The other switches that a switch has links to; in the places of its ports. */
struct beside {
	uint32_t node, links;
};

struct counting {
	const struct fabric *fabric;
	struct beside *beside;  /* by port */
	uint32_t *beside_count; /* by node */
	bool *leaf;             /* by node: it has hosts */
	uint32_t *hops, *queue; /* by node; switches in order of distance */
	double *paths;          /* by node */
};

static bool leads_on(const struct fabric *fabric, uint32_t port, uint32_t *ret)
{
	if (!fabric->ports[port].num || !link_is_usable(fabric, port))
		return false;
	*ret = fabric->ports[fabric->ports[port].peer].node;
	return fabric->nodes[*ret].type == NODE_SWITCH && *ret != fabric->ports[port].node;
}

static void list_beside(struct counting *of, uint32_t node)
{
	const struct node *self = &of->fabric->nodes[node];
	struct beside *list = of->beside + self->first_port;
	uint32_t other, i;

	for (uint32_t port = self->first_port; port < self->first_port + self->ports; port++) {
		if (!leads_on(of->fabric, port, &other))
			continue;
		for (i = 0; i < of->beside_count[node] && list[i].node != other; i++)
			;
		if (i == of->beside_count[node])
			list[of->beside_count[node]++] = (struct beside){ other, 0 };
		list[i].links++;
	}
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

/* Paths from one switch. Return: number of switches in the queue. */
static uint32_t count_from(struct counting *of, uint32_t from)
{
	uint32_t head = 0, tail = 0;

	memset(of->hops, 0xff, of->fabric->node_count * sizeof(*of->hops));
	of->hops[from] = 0;
	of->paths[from] = 1;
	of->queue[tail++] = from;
	while (head < tail) {
		uint32_t at = of->queue[head++];
		const struct beside *list = of->beside + of->fabric->nodes[at].first_port;

		for (uint32_t i = 0; i < of->beside_count[at]; i++) {
			uint32_t next = list[i].node;

			if (of->hops[next] == FABRIC_NONE) {
				of->hops[next] = of->hops[at] + 1;
				of->paths[next] = 0;
				of->queue[tail++] = next;
			}
			if (of->hops[next] == of->hops[at] + 1)
				of->paths[next] += of->paths[at] * list[i].links;
		}
	}
	return tail;
}

static void count_all(struct counting *of, struct leaf_paths *ret)
{
	double sum = 0, pairs = 0;

	for (uint32_t i = 0; i < of->fabric->node_count; i++) {
		of->leaf[i] = of->fabric->nodes[i].type == NODE_SWITCH && has_hosts(of->fabric, i);
		if (of->fabric->nodes[i].type == NODE_SWITCH)
			list_beside(of, i);
	}
	for (uint32_t i = 0; i < of->fabric->node_count; i++) {
		uint32_t count = of->leaf[i] ? count_from(of, i) : 0;

		for (uint32_t k = 1; k < count; k++) {
			uint32_t to = of->queue[k];

			if (!of->leaf[to])
				continue;
			sum += of->paths[to];
			pairs++;
			if (ret->from != FABRIC_NONE && of->paths[to] >= ret->fewest)
				continue;
			ret->fewest = of->paths[to];
			ret->from = i;
			ret->to = to;
		}
	}
	ret->mean = pairs > 0 ? sum / pairs : 0;
}

int leaf_paths_count(const struct fabric *fabric, struct leaf_paths *ret, struct error *err)
{
	size_t nodes = fabric->node_count + 1;
	struct counting of = {
		.fabric = fabric, .beside = calloc(fabric->port_count + 1, sizeof(*of.beside)),
		.beside_count = calloc(nodes, sizeof(*of.beside_count)), .leaf = calloc(nodes, sizeof(*of.leaf)),
		.hops = calloc(nodes, sizeof(*of.hops)), .queue = calloc(nodes, sizeof(*of.queue)),
		.paths = calloc(nodes, sizeof(*of.paths)),
	};
	int code = 0;

	*ret = (struct leaf_paths){ .from = FABRIC_NONE, .to = FABRIC_NONE };
	if (of.beside && of.beside_count && of.leaf && of.hops && of.queue && of.paths)
		count_all(&of, ret);
	else
		code = err_nomem(err);
	free(of.beside);
	free(of.beside_count);
	free(of.leaf);
	free(of.hops);
	free(of.queue);
	free(of.paths);
	return code;
}
