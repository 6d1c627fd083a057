/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/bad_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/cut_off.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/variant.h"

/* Shares are compared with this tolerance. */
#define EQUAL 1e-9

struct planning {
	const struct shape *shape;
	const struct fabric *fabric;
	double keep;
	struct bad_link *links;
	size_t count;
	bool *out;            /* by port: its link is taken out, at both ends */
	/* By tier and node, tiers from 2 on: paths up. */
	double *need[SHAPE_TIERS_MAX + 1];
	double *paths[SHAPE_TIERS_MAX + 1];
	uint32_t *stamps[SHAPE_TIERS_MAX + 1];
	uint32_t stamp;       /* paths with this stamp are current */
	uint32_t *below;      /* switches with hosts below the lower end of each link, link by link */
	size_t *first_below;  /* by link; one more at the end */
	uint32_t *slack;      /* by node: uplinks that it may lose */
	uint32_t *left;       /* by node: the same, in bound() */
	uint32_t *leaves;     /* by link: leaf_of() */
	/* Of the group that is being solved. */
	uint32_t *members;    /* links */
	size_t member_count;
	bool *chosen, *best;  /* by link */
	size_t best_count;
	size_t steps, limit;
	bool complete;
	uint32_t banned;      /* link that fill() leaves out; UINT32_MAX: none */
};

static uint32_t lower_end(const struct planning *of, uint32_t port)
{
	return of->shape->ports[port].way == WAY_DOWN ? of->fabric->ports[port].peer : port;
}

static bool is_up(const struct planning *of, uint32_t port)
{
	return of->shape->ports[port].way == WAY_UP;
}

/* Paths from a switch up to a tier. @built: all cables count */
static double count_paths(struct planning *of, uint32_t node, unsigned tier, bool built)
{
	const struct node *self = &of->fabric->nodes[node];
	double sum = 0;

	if (of->shape->nodes[node].tier == tier)
		return 1;
	if (of->shape->nodes[node].tier > tier || !of->shape->nodes[node].tier)
		return 0;
	if (of->stamps[tier][node] == of->stamp)
		return of->paths[tier][node];
	for (uint32_t port = self->first_port; port < self->first_port + self->ports; port++)
		if (is_up(of, port) && (built || (!of->out[port] && link_is_usable(of->fabric, port))))
			sum += count_paths(of, of->fabric->ports[of->fabric->ports[port].peer].node, tier, built);
	of->stamps[tier][node] = of->stamp;
	of->paths[tier][node] = sum;
	return sum;
}

static bool has_hosts(const struct planning *of, uint32_t node)
{
	const struct node *self = &of->fabric->nodes[node];

	for (uint32_t port = self->first_port; port < self->first_port + self->ports; port++)
		if (shape_serves_host(of->shape, port))
			return true;
	return false;
}

static int find_needs(struct planning *of)
{
	size_t nodes = of->fabric->node_count + 1;

	of->slack = calloc(nodes, sizeof(*of->slack));
	if (!of->slack)
		return ERR_NOMEM;
	for (unsigned tier = 2; tier <= of->shape->tier_count && tier <= SHAPE_TIERS_MAX; tier++) {
		of->need[tier] = calloc(nodes, sizeof(double));
		of->paths[tier] = calloc(nodes, sizeof(double));
		of->stamps[tier] = calloc(nodes, sizeof(uint32_t));
		if (!of->need[tier] || !of->paths[tier] || !of->stamps[tier])
			return ERR_NOMEM;
		of->stamp++;
		for (uint32_t i = 0; i < of->fabric->node_count; i++)
			of->need[tier][i] = of->keep * count_paths(of, i, tier, true);
		of->stamp++;
		for (uint32_t i = 0; i < of->fabric->node_count; i++) {
			double now = count_paths(of, i, tier, false);

			of->need[tier][i] = now < of->need[tier][i] ? now : of->need[tier][i];
			if (of->shape->nodes[i].tier + 1u == tier && has_hosts(of, i))
				of->slack[i] = (uint32_t)(now - of->need[tier][i] + EQUAL);
		}
	}
	return 0;
}

/* Mark the switches with hosts that have a way up to a switch. */
static void mark_below(const struct planning *of, uint32_t node, uint32_t *marks, uint32_t mark, uint32_t *list,
		       size_t *count)
{
	const struct node *self = &of->fabric->nodes[node];

	if (marks[node] == mark)
		return;
	marks[node] = mark;
	if (has_hosts(of, node))
		list[(*count)++] = node;
	for (uint32_t port = self->first_port; port < self->first_port + self->ports; port++)
		if (of->shape->ports[port].way == WAY_DOWN)
			mark_below(of, of->fabric->ports[of->fabric->ports[port].peer].node, marks, mark, list, count);
}

static int find_below(struct planning *of)
{
	uint32_t *marks = calloc(of->fabric->node_count + 1, sizeof(*marks));
	uint32_t *list = calloc(of->fabric->node_count + 1, sizeof(*list)), *room;
	size_t all = 0, count;
	int code = marks && list ? 0 : ERR_NOMEM;

	of->first_below = calloc(of->count + 1, sizeof(*of->first_below));
	if (!of->first_below)
		code = ERR_NOMEM;
	for (size_t i = 0; code == 0 && i < of->count; i++) {
		uint32_t port = lower_end(of, of->links[i].port);

		count = 0;
		if (is_up(of, port))
			mark_below(of, of->fabric->ports[port].node, marks, (uint32_t)i + 1, list, &count);
		room = realloc(of->below, (all + count + 1) * sizeof(*room));
		if (!room) {
			code = ERR_NOMEM;
			break;
		}
		of->below = room;
		memcpy(of->below + all, list, count * sizeof(*list));
		all += count;
		of->first_below[i + 1] = all;
	}
	free(marks);
	free(list);
	return code;
}

/* --- the conditions --- */

static uint32_t host_of(const struct planning *of, uint32_t port)
{
	uint32_t peer = of->fabric->ports[port].peer;
	uint32_t host = of->shape->nodes[of->fabric->ports[port].node].host;

	return host != SHAPE_NONE ? host : of->shape->nodes[of->fabric->ports[peer].node].host;
}

static bool host_has_enough(const struct planning *of, uint32_t host)
{
	const struct shape_host *self = &of->shape->hosts[host];
	unsigned before = 0, after = 0;

	for (uint32_t i = self->first; i < self->first + self->count; i++) {
		const struct node *node = &of->fabric->nodes[of->shape->host_nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			before += link_is_usable(of->fabric, port);
			after += link_is_usable(of->fabric, port) && !of->out[port];
		}
	}
	return after >= 1 && after + EQUAL >= of->keep * before;
}

static void set_out(struct planning *of, size_t link, bool out)
{
	of->out[of->links[link].port] = out;
	of->out[of->fabric->ports[of->links[link].port].peer] = out;
}

/* The node that has too little without a link that is out; FABRIC_NONE: none. */
static uint32_t find_blocker(struct planning *of, size_t link)
{
	uint32_t port = of->links[link].port, host = host_of(of, port);

	if (host != SHAPE_NONE && !host_has_enough(of, host))
		return of->shape->nodes[of->fabric->ports[port].node].host == host ?
		       of->fabric->ports[port].node : of->fabric->ports[of->fabric->ports[port].peer].node;
	of->stamp++;
	for (size_t i = of->first_below[link]; i < of->first_below[link + 1]; i++)
		for (unsigned tier = 2; tier <= of->shape->tier_count && tier <= SHAPE_TIERS_MAX; tier++)
			if (count_paths(of, of->below[i], tier, false) + EQUAL < of->need[tier][of->below[i]])
				return of->below[i];
	return FABRIC_NONE;
}

static bool take(struct planning *of, size_t link)
{
	set_out(of, link, true);
	of->steps++;
	if (find_blocker(of, link) == FABRIC_NONE)
		return true;
	set_out(of, link, false);
	return false;
}

/* --- one group of links --- */

/* Take links in this order as long as it is possible. Return: how many. */
static size_t fill(struct planning *of)
{
	size_t taken = 0;

	for (size_t i = 0; i < of->member_count; i++) {
		uint32_t link = of->members[i];

		if (!of->chosen[link] && link != of->banned && take(of, link))
			of->chosen[link] = true;
		taken += of->chosen[link];
	}
	return taken;
}

static void remember(struct planning *of, size_t count)
{
	of->best_count = count;
	for (size_t i = 0; i < of->member_count; i++)
		of->best[of->members[i]] = of->chosen[of->members[i]];
}

static void clear(struct planning *of)
{
	for (size_t i = 0; i < of->member_count; i++) {
		if (of->chosen[of->members[i]])
			set_out(of, of->members[i], false);
		of->chosen[of->members[i]] = false;
	}
}

static void restore(struct planning *of, const bool *from)
{
	clear(of);
	for (size_t i = 0; i < of->member_count; i++) {
		of->chosen[of->members[i]] = from[of->members[i]];
		if (of->chosen[of->members[i]])
			set_out(of, of->members[i], true);
	}
}

/* The switch with hosts of which a link is an uplink; FABRIC_NONE: none. */
static uint32_t leaf_of(const struct planning *of, uint32_t link)
{
	uint32_t port = lower_end(of, of->links[link].port);

	return is_up(of, port) && has_hosts(of, of->fabric->ports[port].node) ? of->fabric->ports[port].node :
										FABRIC_NONE;
}

/* Most links that the members from @at on can add: of a switch with hosts no more than the uplinks that it may lose. */
static size_t bound(const struct planning *of, size_t at)
{
	size_t sum = 0;

	for (size_t i = 0; i < of->member_count; i++)
		if (of->leaves[of->members[i]] != FABRIC_NONE)
			of->left[of->leaves[of->members[i]]] = of->slack[of->leaves[of->members[i]]];
	for (size_t i = 0; i < at; i++)
		if (of->leaves[of->members[i]] != FABRIC_NONE && of->chosen[of->members[i]])
			of->left[of->leaves[of->members[i]]]--;
	for (size_t i = at; i < of->member_count; i++) {
		uint32_t leaf = of->leaves[of->members[i]];

		if (leaf != FABRIC_NONE && !of->left[leaf])
			continue;
		if (leaf != FABRIC_NONE)
			of->left[leaf]--;
		sum++;
	}
	return sum;
}

/* Parallel links are interchangeable: without the first of them the others need not be tried. */
static bool is_same_pair(const struct planning *of, uint32_t a, uint32_t b)
{
	uint32_t left = lower_end(of, of->links[a].port), right = lower_end(of, of->links[b].port);

	return of->fabric->ports[left].node == of->fabric->ports[right].node &&
	       of->fabric->ports[of->fabric->ports[left].peer].node ==
	       of->fabric->ports[of->fabric->ports[right].peer].node;
}

static void search(struct planning *of, size_t at, size_t taken)
{
	uint32_t link;
	size_t next;

	if (taken > of->best_count)
		remember(of, taken);
	if (at == of->member_count || taken + bound(of, at) <= of->best_count)
		return;
	if (of->steps > of->limit) {
		of->complete = false;
		return;
	}
	link = of->members[at];
	if (take(of, link)) {
		of->chosen[link] = true;
		search(of, at + 1, taken + 1);
		of->chosen[link] = false;
		set_out(of, link, false);
	}
	for (next = at + 1; next < of->member_count && is_same_pair(of, link, of->members[next]);)
		next++;
	search(of, next, taken);
}

/* Exchange one link for two others as long as that is possible. */
static void exchange(struct planning *of)
{
	bool better = true;

	while (better) {
		better = false;
		for (size_t i = 0; i < of->member_count && !better && of->steps < 2 * of->limit; i++) {
			uint32_t link = of->members[i];
			size_t taken;

			restore(of, of->best);
			if (!of->chosen[link])
				continue;
			set_out(of, link, false);
			of->chosen[link] = false;
			of->banned = link;
			taken = fill(of);
			of->banned = UINT32_MAX;
			better = taken > of->best_count;
			if (better)
				remember(of, taken);
		}
	}
}

static int compare_pairs(const void *a, const void *b, void *ctx)
{
	const struct planning *of = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t left = of->first_below[x + 1] - of->first_below[x], right = of->first_below[y + 1] - of->first_below[y];

	if (left != right)
		return left < right ? -1 : 1;
	x = lower_end(of, of->links[x].port);
	y = lower_end(of, of->links[y].port);
	if (of->fabric->ports[x].node != of->fabric->ports[y].node)
		return of->fabric->ports[x].node < of->fabric->ports[y].node ? -1 : 1;
	x = of->fabric->ports[of->fabric->ports[x].peer].node;
	y = of->fabric->ports[of->fabric->ports[y].peer].node;
	if (x != y)
		return x < y ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Solve the members. Those that are chosen are out at the end. Return: is the result the largest? */
static bool solve(struct planning *of)
{
	size_t taken = fill(of);

	remember(of, taken);
	clear(of);
	of->complete = true;
	of->steps = 0;
	if (taken == of->member_count) {
		restore(of, of->best);
		return true;
	}
	qsort_r(of->members, of->member_count, sizeof(*of->members), compare_pairs, of);
	search(of, 0, 0);
	if (!of->complete)
		exchange(of);
	restore(of, of->best);
	return of->complete;
}

/* --- groups of links --- */

static uint32_t root_of(uint32_t *sets, uint32_t i)
{
	while (sets[i] != i)
		i = sets[i] = sets[sets[i]];
	return i;
}

static void join(uint32_t *sets, uint32_t *first, uint32_t key, uint32_t link)
{
	uint32_t a, b;

	if (first[key] == UINT32_MAX) {
		first[key] = link;
		return;
	}
	a = root_of(sets, first[key]);
	b = root_of(sets, link);
	sets[a < b ? b : a] = a < b ? a : b;
}

/* Links interact over a switch with hosts, or a host, that both concern. @sets: by link */
static int find_groups(struct planning *of, uint32_t *sets)
{
	size_t keys = of->fabric->node_count + of->shape->host_count;
	uint32_t *first = malloc((keys + 1) * sizeof(*first));

	if (!first)
		return ERR_NOMEM;
	memset(first, 0xff, (keys + 1) * sizeof(*first));
	for (uint32_t i = 0; i < of->count; i++)
		sets[i] = i;
	for (uint32_t i = 0; i < of->count; i++) {
		uint32_t host = host_of(of, of->links[i].port);

		if (of->links[i].round)
			continue;
		if (host != SHAPE_NONE)
			join(sets, first, (uint32_t)of->fabric->node_count + host, i);
		for (size_t k = of->first_below[i]; k < of->first_below[i + 1]; k++)
			join(sets, first, of->below[k], i);
	}
	free(first);
	return 0;
}

static int is_connected(const struct planning *of, struct fabric *variant, bool *ret, struct error *err)
{
	struct cut_off cut_off;
	int code;

	memcpy(variant->ports, of->fabric->ports, of->fabric->port_count * sizeof(*variant->ports));
	for (uint32_t i = 0; i < of->fabric->port_count; i++)
		if (of->out[i])
			fabric_variant_take_out(variant, i);
	code = cut_off_find(of->shape, variant, NULL, &cut_off, err);
	if (code == 0) {
		*ret = !cut_off.count && !cut_off.pairs;
		cut_off_done(&cut_off);
	}
	return code;
}

/* The chosen links together would cut off hosts: take them one by one, and leave those that do it. */
static int take_connected(struct planning *of, struct fabric *variant, struct error *err)
{
	bool connected;
	int code = 0;

	for (size_t i = 0; i < of->count; i++)
		if (of->chosen[i])
			set_out(of, i, false);
	for (size_t i = 0; code == 0 && i < of->count; i++) {
		if (!of->chosen[i])
			continue;
		set_out(of, i, true);
		code = is_connected(of, variant, &connected, err);
		if (code < 0 || connected)
			continue;
		set_out(of, i, false);
		of->chosen[i] = false;
	}
	return code;
}

/* Plan a round. Return: 1; 0: no link can be taken out; or an error. */
static int plan_round(struct planning *of, uint32_t *sets, struct fabric *variant, struct bad_links_plan *plan,
		      struct error *err)
{
	bool largest = true, connected = true, any = false;
	size_t candidates = 0;
	int code = find_groups(of, sets) < 0 ? err_nomem(err) : 0;

	memset(of->chosen, 0, of->count * sizeof(*of->chosen));
	for (uint32_t i = 0; i < of->count; i++)
		candidates += !of->links[i].round;
	for (uint32_t root = 0; code == 0 && root < of->count; root++) {
		of->member_count = 0;
		for (uint32_t i = root; i < of->count; i++)
			if (!of->links[i].round && root_of(sets, i) == root)
				of->members[of->member_count++] = i;
		of->limit = BAD_LINKS_STEPS / (plan->rounds ? 10 : 1) * of->member_count / (candidates + 1);
		if (of->member_count)
			largest &= solve(of);
	}
	if (code == 0)
		code = is_connected(of, variant, &connected, err);
	if (code == 0 && !connected) {
		largest = false;
		code = take_connected(of, variant, err);
	}
	if (code < 0)
		return code;
	plan->rounds++;
	for (size_t i = 0; i < of->count; i++) {
		if (!of->chosen[i])
			continue;
		of->links[i].round = plan->rounds;
		plan->first += plan->rounds == 1;
		any = true;
	}
	if (plan->rounds == 1)
		plan->largest = largest;
	/* Now the others are tried, with these repaired, or the reason is found why they are not out. */
	for (size_t i = 0; i < of->count; i++)
		set_out(of, i, false);
	if (!any)
		plan->rounds--;
	return any;
}

static int compare_links(const void *a, const void *b)
{
	const struct bad_link *left = a, *right = b;

	if (left->round != right->round)
		return left->round - 1 < right->round - 1 ? -1 : 1;
	if (left->badness != right->badness)
		return left->badness > right->badness ? -1 : 1;
	return left->port < right->port ? -1 : left->port > right->port;
}

static void planning_done(struct planning *of)
{
	for (unsigned tier = 0; tier <= SHAPE_TIERS_MAX; tier++) {
		free(of->need[tier]);
		free(of->paths[tier]);
		free(of->stamps[tier]);
	}
	free(of->out);
	free(of->below);
	free(of->first_below);
	free(of->slack);
	free(of->left);
	free(of->leaves);
	free(of->members);
	free(of->chosen);
	free(of->best);
}

static int prepare(struct planning *of)
{
	size_t room = of->count + 1;

	of->out = calloc(of->fabric->port_count + 1, sizeof(*of->out));
	of->left = calloc(of->fabric->node_count + 1, sizeof(*of->left));
	of->leaves = calloc(room, sizeof(*of->leaves));
	of->members = calloc(room, sizeof(*of->members));
	of->chosen = calloc(room, sizeof(*of->chosen));
	of->best = calloc(room, sizeof(*of->best));
	if (!of->out || !of->left || !of->leaves || !of->members || !of->chosen || !of->best || find_needs(of) < 0 ||
	    find_below(of) < 0)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < of->count; i++)
		of->leaves[i] = leaf_of(of, i);
	return 0;
}

int bad_links_plan(const struct shape *shape, struct bad_link *links, size_t count, double keep,
		   struct bad_links_plan *ret, struct error *err)
{
	struct planning of = { .shape = shape, .fabric = shape->fabric, .keep = keep, .links = links, .count = count,
			       .banned = UINT32_MAX };
	struct fabric *variant = fabric_variant_create(shape->fabric, err);
	uint32_t *sets = calloc(count + 1, sizeof(*sets));
	struct bad_links_plan plan = { .largest = true };
	int code = 0;

	for (size_t i = 0; i < count; i++) {
		links[i].round = 0;
		links[i].blocker = FABRIC_NONE;
	}
	/* The worst first. */
	qsort(links, count, sizeof(*links), compare_links);
	if (!variant || !sets || prepare(&of) < 0)
		code = err_nomem(err);
	for (int more = 1; code == 0 && more;) {
		code = plan_round(&of, sets, variant, &plan, err);
		more = code > 0;
		code = code > 0 ? 0 : code;
	}
	for (size_t i = 0; code == 0 && i < count; i++) {
		if (links[i].round)
			continue;
		set_out(&of, i, true);
		links[i].blocker = find_blocker(&of, i);
		set_out(&of, i, false);
	}
	planning_done(&of);
	free(sets);
	fabric_variant_destroy(variant);
	if (code < 0)
		return code;
	qsort(links, count, sizeof(*links), compare_links);
	*ret = plan;
	return 0;
}
