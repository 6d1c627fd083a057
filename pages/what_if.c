/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/predict.h"
#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/lft_dump.h"
#include "fabric/shape.h"
#include "fabric/variant.h"

/* The end of a link that stands for it: the lower index. */
static bool stands_for_link(const struct fabric *fabric, uint32_t port)
{
	return fabric->ports[port].peer != FABRIC_NONE && port < fabric->ports[port].peer;
}

static bool node_is_taken(const struct what_if *of, uint32_t node)
{
	return of->nodes && of->nodes[node];
}

static bool end_is_taken(const struct what_if *of, uint32_t port)
{
	return node_is_taken(of, of->fabric->ports[port].node) || (of->ports && of->ports[port]);
}

int what_if_prepare(struct what_if *of, struct error *err)
{
	uint32_t left = 0;
	int64_t code;

	of->before = fabric_variant_create(of->fabric, err);
	if (!of->before)
		return ERR_NOMEM;
	code = fabric_variant_assign_lids(of->before, err);
	if (code < 0)
		return (int)code;
	of->after = fabric_variant_create(of->before, err);
	if (!of->after)
		return ERR_NOMEM;
	for (size_t i = 0; i < of->rate_count; i++)
		if (link_is_usable(of->before, of->rates[i].port))
			fabric_variant_set_rate(of->after, of->rates[i].port, of->rates[i].speed, of->rates[i].width);
	for (uint32_t i = 0; i < of->fabric->node_count; i++)
		of->nodes_taken += node_is_taken(of, i);
	for (uint32_t i = 0; i < of->fabric->port_count; i++) {
		if (!stands_for_link(of->before, i) || !link_is_usable(of->before, i))
			continue;
		if (end_is_taken(of, i) || end_is_taken(of, of->fabric->ports[i].peer)) {
			fabric_variant_take_out(of->after, i);
			of->links_taken++;
		} else {
			left++;
		}
	}
	if (!of->links_taken && !of->rate_count)
		return err_set(err, ERR_USAGE, "nothing to take out: none of the subjects has a link that is up");
	if (!left)
		return err_set(err, ERR_USAGE, "that takes out all %u links of the fabric: nothing is left to judge",
			       of->links_taken);
	return cut_off_find(of->shape, of->after, of->nodes, &of->cut_off, err);
}

/* --- tables --- */

/* The LIDs that opensm gave. */
static void take_lids(struct what_if *of)
{
	for (uint32_t i = 0; i < of->after->port_count; i++) {
		struct node *node = &of->after->nodes[of->after->ports[i].node];

		if (node->type != NODE_SWITCH)
			of->after->ports[i].lid = of->opensm->port_lids[i];
		else if (node->first_port == i)
			node->lid = of->opensm->port_lids[i];
	}
}

static int compute_tables(struct what_if *of, const struct fabric *fabric, const struct routes *keep,
			  struct routes *ret, struct error *err)
{
	struct error why = { 0 };
	int code = routes_spread(fabric, of->engine, keep, ret, &why);

	if (code == ERR_IO && of->engine == SPREAD_UPDN) {
		of->updn_failed = true;
		code = routes_spread(fabric, SPREAD_MINHOP, keep, ret, &why);
	}
	return code < 0 ? err_set(err, code, "%s", why.text) : 0;
}

static int find_tables(struct what_if *of, struct error *err)
{
	int code = of->routes ? routes_copy(of->routes, &of->routes_before, err) :
				compute_tables(of, of->before, NULL, &of->routes_before, err);

	if (code == 0)
		code = of->opensm ? routes_copy(&of->opensm->routes, &of->routes_after, err) :
			compute_tables(of, of->after, of->keep ? &of->routes_before : NULL, &of->routes_after, err);
	return code;
}

/* --- loads --- */

static bool joins_switches(const struct fabric *fabric, uint32_t port)
{
	const struct port *self = &fabric->ports[port];

	return self->num && link_is_usable(fabric, port) && fabric->nodes[self->node].type == NODE_SWITCH &&
	       fabric->nodes[fabric->ports[self->peer].node].type == NODE_SWITCH;
}

static double share_of(const struct fabric *fabric, uint32_t port, double load)
{
	uint64_t rate = link_is_usable(fabric, port) ? port_rate_bits_per_s(&fabric->ports[port]) : 0;

	return rate ? load / (double)rate : NAN;
}

static double rank_of(const struct what_if_link *link)
{
	return isnan(link->after) ? -1 : link->after;
}

static int compare_links(const void *a, const void *b)
{
	const struct what_if_link *left = a, *right = b;

	if (rank_of(left) != rank_of(right))
		return rank_of(left) > rank_of(right) ? -1 : 1;
	return left->port < right->port ? -1 : left->port > right->port;
}

/* Without a measured demand every HCA sends at the rate of its link, the same to every other one. */
static double *equal_demand(const struct fabric *fabric)
{
	double *rates = calloc(fabric->port_count + 1, sizeof(*rates));

	for (uint32_t i = 0; rates && i < fabric->port_count; i++)
		if (fabric->nodes[fabric->ports[i].node].type == NODE_CA && link_is_usable(fabric, i))
			rates[i] = (double)port_rate_bits_per_s(&fabric->ports[i]);
	return rates;
}

static uint32_t count_unknown(const struct what_if *of)
{
	uint32_t count = 0;

	for (uint32_t i = 0; of->xmit && i < of->before->port_count; i++)
		count += of->fabric->nodes[of->fabric->ports[i].node].type == NODE_CA &&
			 link_is_usable(of->before, i) && (isnan(of->xmit[i]) || isnan(of->rcv[i]));
	return count;
}

static void list_links(struct what_if *of, const double *before, const double *after)
{
	of->busiest_before = of->busiest_after = NAN;
	for (uint32_t i = 0; i < of->fabric->port_count; i++) {
		struct what_if_link *link = &of->links[of->link_count];

		if (!joins_switches(of->before, i))
			continue;
		*link = (struct what_if_link){ .port = i, .before = share_of(of->before, i, before[i]),
					       .after = share_of(of->after, i, after[i]),
					       .measured = of->measured ? share_of(of->before, i, of->measured[i]) :
									  NAN };
		of->busiest_before = fmax(of->busiest_before, link->before);
		of->busiest_after = fmax(of->busiest_after, link->after);
		of->link_count++;
	}
	qsort(of->links, of->link_count, sizeof(*of->links), compare_links);
}

static int predict_loads(struct what_if *of, struct error *err)
{
	double *equal = of->xmit ? NULL : equal_demand(of->before), lost_before = 0, lost_after = 0, all = 0;
	double *before = calloc(of->fabric->port_count + 1, sizeof(*before));
	double *after = calloc(of->fabric->port_count + 1, sizeof(*after));
	const struct demand_input input = {
		.fabric = of->before, .xmit = of->xmit ? of->xmit : equal, .rcv = of->xmit ? of->rcv : equal,
		.routes = of->routes && of->measured ? of->routes : NULL, .measured = of->measured,
	};
	struct demand *demand = NULL;
	int code = 0;

	of->links = calloc(of->fabric->port_count + 1, sizeof(*of->links));
	if (!before || !after || !of->links || !input.xmit)
		code = err_nomem(err);
	if (code == 0) {
		demand = demand_create(&input, &of->fit_error, err);
		code = demand ? 0 : ERR_NOMEM;
	}
	if (code == 0)
		code = demand_route(demand, of->before, &of->routes_before, before, &lost_before, err);
	if (code == 0)
		code = demand_route(demand, of->after, &of->routes_after, after, &lost_after, err);
	if (code == 0) {
		for (uint32_t i = 0; i < of->fabric->port_count; i++)
			all += input.xmit[i] > 0 ? input.xmit[i] : 0;
		of->lost = all > 0 && lost_after > lost_before ? (lost_after - lost_before) / all : 0;
		list_links(of, before, after);
		of->unknown_ports = count_unknown(of);
	}
	demand_destroy(demand);
	free(equal);
	free(before);
	free(after);
	return code;
}

/* --- capacity --- */

static uint32_t count_uplinks(const struct what_if *of, const struct fabric *fabric, uint32_t node)
{
	const struct node *self = &fabric->nodes[node];
	uint32_t count = 0;

	for (uint32_t port = self->first_port; port < self->first_port + self->ports; port++)
		count += of->shape->ports[port].way == WAY_UP && link_is_usable(fabric, port);
	return count;
}

static double oversubscription(const struct shape_tier *tier)
{
	return tier->up_bits_per_s_now ? (double)tier->down_bits_per_s_now / (double)tier->up_bits_per_s_now : NAN;
}

static void sum_tiers(struct what_if *of)
{
	for (unsigned tier = 1; tier <= of->shape->tier_count && of->tier_count < 8; tier++) {
		struct what_if_tier *sum = &of->tiers[of->tier_count];

		*sum = (struct what_if_tier){ .tier = tier, .fewest_before = UINT32_MAX, .fewest_after = UINT32_MAX,
					      .fewest_node = FABRIC_NONE };
		for (uint32_t i = 0; i < of->fabric->node_count; i++) {
			uint32_t before, after;

			if (of->shape->nodes[i].tier != tier)
				continue;
			before = count_uplinks(of, of->before, i);
			after = count_uplinks(of, of->after, i);
			sum->switches++;
			sum->links_before += before;
			sum->links_after += after;
			if (before && before < sum->fewest_before)
				sum->fewest_before = before;
			if (!before || node_is_taken(of, i) || after >= sum->fewest_after)
				continue;
			sum->fewest_after = after;
			sum->fewest_node = i;
		}
		if (!sum->links_before)
			continue;
		sum->up_before = of->shape->tiers[tier].up_bits_per_s_now;
		sum->up_after = of->shape_after->tiers[tier].up_bits_per_s_now;
		sum->over_before = oversubscription(&of->shape->tiers[tier]);
		sum->over_after = oversubscription(&of->shape_after->tiers[tier]);
		if (sum->fewest_node == FABRIC_NONE)
			sum->fewest_after = 0;
		of->tier_count++;
	}
}

static void judge(struct what_if *of)
{
	bool full = of->xmit && of->busiest_after >= 1 && !(of->busiest_before >= 1);

	of->safe = !of->cut_off.count && !of->cut_off.pairs && !(of->lost > 0) && !full;
}

int what_if_compute(struct what_if *of, struct error *err)
{
	int code;

	if (of->opensm)
		take_lids(of);
	code = find_tables(of, err);
	if (code == 0)
		code = shape_create(of->after, of->settings, &of->shape_after, err);
	if (code == 0 && of->cut_off.taken && !of->cut_off.pairs_before && of->cut_off.taken == of->shape->host_count)
		code = err_set(err, ERR_USAGE, "that takes out all %u hosts of the fabric: nothing is left to judge",
			       of->cut_off.taken);
	if (code == 0)
		code = leaf_paths_count(of->before, &of->paths_before, err);
	if (code == 0)
		code = leaf_paths_count(of->after, &of->paths_after, err);
	if (code == 0)
		code = predict_loads(of, err);
	if (code == 0) {
		sum_tiers(of);
		judge(of);
	}
	return code;
}

void what_if_done(struct what_if *of)
{
	for (size_t i = 0; i < of->job_count; i++)
		free(of->jobs[i].name);
	free(of->jobs);
	free(of->links);
	cut_off_done(&of->cut_off);
	shape_destroy(of->shape_after);
	routes_done(&of->routes_before);
	routes_done(&of->routes_after);
	fabric_variant_destroy(of->after);
	fabric_variant_destroy(of->before);
}

/* --- jobs --- */

/* Does the route from a switch to an HCA port use a link that is taken out? */
static bool route_changes(const struct what_if *of, uint32_t from, uint32_t to)
{
	uint16_t lid = of->before->ports[to].lid;
	uint32_t at = from, goal = of->before->ports[of->before->ports[to].peer].node;

	for (unsigned hops = 0; at != goal && hops < ROUTE_HOPS_MAX; hops++) {
		uint8_t num = routes_out_port(routes_find(&of->routes_before, of->before->nodes[at].guid), lid);
		uint32_t port = num == ROUTES_NO_PORT ? FABRIC_NONE : fabric_node_port(of->before, at, num);

		if (port == FABRIC_NONE || of->before->ports[port].peer == FABRIC_NONE)
			return false;
		if (link_is_usable(of->before, port) && !link_is_usable(of->after, port))
			return true;
		at = of->before->ports[of->before->ports[port].peer].node;
	}
	return false;
}

/* Most routes of a job that are followed: of a larger one a regular sample of destinations, which is exact enough. */
#define ROUTES_MOST 500000

static bool is_of_hosts(const struct what_if *of, const bool *hosts, uint32_t port)
{
	uint32_t host = of->shape->nodes[of->before->ports[port].node].host;

	return host != SHAPE_NONE && hosts[host] && routes_is_destination(of->before, &of->before->ports[port]);
}

/* Routes from the leaves of the marked hosts to their ports. @leaves: room for all nodes */
static double count_changes(const struct what_if *of, const bool *hosts, uint32_t *leaves)
{
	uint64_t changed = 0, all = 0, ports = 0, nth = 0, step;
	uint32_t count = 0, leaf;

	for (uint32_t i = 0; i < of->before->port_count; i++) {
		if (!is_of_hosts(of, hosts, i))
			continue;
		ports++;
		leaf = of->before->ports[of->before->ports[i].peer].node;
		/* Ports of a leaf are mostly adjacent; a leaf that is listed twice counts twice. */
		if (of->before->nodes[leaf].type == NODE_SWITCH && (!count || leaves[count - 1] != leaf) &&
		    count < of->before->node_count)
			leaves[count++] = leaf;
	}
	step = ports * count / ROUTES_MOST + 1;
	for (uint32_t i = 0; i < of->before->port_count; i++) {
		if (!is_of_hosts(of, hosts, i) || nth++ % step)
			continue;
		for (uint32_t k = 0; k < count; k++) {
			if (leaves[k] == of->before->ports[of->before->ports[i].peer].node)
				continue;
			all++;
			changed += route_changes(of, leaves[k], i);
		}
	}
	return all ? (double)changed / (double)all : 0;
}

int what_if_add_job(struct what_if *of, const struct job *job, struct error *err)
{
	bool *hosts = calloc(of->shape->host_count + 1, sizeof(*hosts));
	uint32_t *leaves = calloc(of->fabric->node_count + 1, sizeof(*leaves));
	struct what_if_job found = { 0 }, *room;
	struct text name = { 0 };
	int code = hosts && leaves ? 0 : err_nomem(err);

	if (code == 0 && shape_mark_hosts(of->shape, job->hosts, hosts, NULL, err) < 0)
		code = ERR_NOMEM;
	if (code == 0) {
		for (size_t i = 0; i < of->shape->host_count; i++) {
			const struct shape_host *host = &of->shape->hosts[i];
			bool taken = host->count > 0;

			for (uint32_t k = host->first; k < host->first + host->count; k++)
				taken = taken && node_is_taken(of, of->shape->host_nodes[k]);
			found.hosts += hosts[i];
			found.cut_off += hosts[i] && taken;
		}
		for (size_t i = 0; i < of->cut_off.count; i++)
			found.cut_off += hosts[of->cut_off.hosts[i]];
		for (size_t i = 0; i < of->cut_off.reduced_count; i++)
			found.reduced += hosts[of->cut_off.reduced[i]];
		found.changed = count_changes(of, hosts, leaves);
	}
	free(hosts);
	free(leaves);
	if (code < 0 || !(found.cut_off || found.reduced || found.changed > 0))
		return code;
	text_append(&name, job->display_id);
	if (*job->name)
		text_appendf(&name, " (%s)", job->name);
	found.name = text_failed(&name) ? NULL : strdup(text_chars(&name));
	text_done(&name);
	room = found.name ? array_add(&of->jobs, &of->job_count, &of->job_capacity, sizeof(*room)) : NULL;
	if (!room) {
		free(found.name);
		return err_nomem(err);
	}
	*room = found;
	return 0;
}
