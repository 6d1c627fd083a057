/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/predict.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/variant.h"

#define NOWHERE UINT32_MAX

/* A path with more links is in a loop. */
enum { HOPS_MOST = 32 };

/* Rounds of the fit, fewer with more estimates than this in all rounds, and the deviation at which it ends. */
enum { FIT_ROUNDS = 12, FIT_ROUNDS_LEAST = 2 };
#define FIT_ESTIMATES 10000000
#define FIT_ENOUGH 0.005

/* A LID of an HCA port. */
struct goal {
	uint32_t port;    /* of the HCA */
	uint32_t leaf;    /* number of its switch */
	uint16_t lid;     /* of the fabric of the demand */
	uint8_t nth;      /* with LMC: number above the base LID */
	bool tenant;
};

/* The hosts of a switch that send: those of the tenant, or the others. */
struct source {
	uint32_t leaf;    /* number of the switch */
	bool tenant;
};

struct demand {
	uint32_t *switch_of;  /* by node: its number; NOWHERE: not a switch */
	uint32_t *nodes;      /* by number */
	uint32_t switches;
	struct source *sources;
	uint32_t source_count;
	struct goal *goals;   /* in order of LID */
	size_t goal_count;
	float *rates;         /* goal by goal: of each source, bits per second */
	double *xmit;         /* by port: what an HCA sends, bits per second */
	bool *tenant;         /* by port; NULL: no tenant */
};

/* A fabric with tables, prepared for walking. */
struct walk {
	const struct demand *demand;
	const struct fabric *fabric;
	const struct route_table **tables; /* by switch */
	uint32_t (*ports)[256]; /* by switch and number: index of a port to another switch, or FABRIC_NONE */
	uint32_t *next;         /* by port: number of the switch at its other end */
	uint8_t *out;           /* of the current block: by LID and switch */
};

void demand_destroy(struct demand *demand)
{
	if (!demand)
		return;
	free(demand->switch_of);
	free(demand->nodes);
	free(demand->sources);
	free(demand->goals);
	free(demand->rates);
	free(demand->xmit);
	free(demand->tenant);
	free(demand);
}

static double known(double rate)
{
	return rate > 0 ? rate : 0;
}

static int compare_goals(const void *a, const void *b)
{
	const struct goal *left = a, *right = b;

	if (left->lid != right->lid)
		return left->lid < right->lid ? -1 : 1;
	return left->port < right->port ? -1 : left->port > right->port;
}

static int number_switches(struct demand *demand, const struct fabric *fabric)
{
	demand->switch_of = calloc(fabric->node_count + 1, sizeof(*demand->switch_of));
	demand->nodes = calloc(fabric->node_count + 1, sizeof(*demand->nodes));
	if (!demand->switch_of || !demand->nodes)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		demand->switch_of[i] = NOWHERE;
		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		demand->nodes[demand->switches] = i;
		demand->switch_of[i] = demand->switches++;
	}
	return 0;
}

static bool is_tenant(const struct demand *demand, uint32_t port)
{
	return demand->tenant && demand->tenant[port];
}

/* Destinations, and what the HCAs of each switch send: @sent by twice the number of a switch, plus 1 for the tenant. */
static int list_goals(struct demand *demand, const struct demand_input *input, double *sent)
{
	const struct fabric *fabric = input->fabric;
	size_t room = 0;

	for (uint32_t i = 0; i < fabric->port_count; i++)
		room += routes_is_destination(fabric, &fabric->ports[i]) ? 1u << (fabric->ports[i].lmc & 7) : 0;
	demand->goals = calloc(room + 1, sizeof(*demand->goals));
	demand->xmit = calloc(fabric->port_count + 1, sizeof(*demand->xmit));
	if (!demand->goals || !demand->xmit)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t leaf = routes_is_destination(fabric, port) ?
			demand->switch_of[fabric->ports[port->peer].node] : NOWHERE;

		if (leaf == NOWHERE)
			continue;
		demand->xmit[i] = known(input->xmit[i]);
		sent[2 * leaf + is_tenant(demand, i)] += demand->xmit[i];
		for (unsigned nth = 0; known(input->rcv[i]) > 0 && nth < 1u << (port->lmc & 7); nth++)
			demand->goals[demand->goal_count++] = (struct goal){ i, leaf, (uint16_t)(port->lid + nth),
									     (uint8_t)nth, is_tenant(demand, i) };
	}
	qsort(demand->goals, demand->goal_count, sizeof(*demand->goals), compare_goals);
	return 0;
}

static double received_by(const struct demand_input *input, const struct goal *goal)
{
	return input->rcv[goal->port] / (1 << (input->fabric->ports[goal->port].lmc & 7));
}

/*
 * What one of two parts of the fabric sends to each part, as a factor of sent times received.
 * @sent, @received:  sums, by part
 */
static void split_by_part(const double sent[2], const double received[2], double ret[2][2])
{
	double inside[2], rest = 0;

	for (int part = 0; part < 2; part++) {
		inside[part] = fmin(sent[part], received[part]);
		rest += received[part] - inside[part];
	}
	for (int from = 0; from < 2; from++)
		for (int to = 0; to < 2; to++) {
			double all = rest > 0 ? (sent[from] - inside[from]) * (received[to] - inside[to]) / rest : 0;

			all += from == to ? inside[from] : 0;
			ret[from][to] = sent[from] > 0 && received[to] > 0 ? all / sent[from] / received[to] : 0;
		}
}

static int set_gravity(struct demand *demand, const struct demand_input *input, const double *sent)
{
	double received[2] = { 0 }, sums[2] = { 0 }, factors[2][2];

	demand->sources = calloc(2 * demand->switches + 1, sizeof(*demand->sources));
	if (!demand->sources)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < 2 * demand->switches; i++) {
		sums[i % 2] += sent[i];
		if (sent[i] > 0)
			demand->sources[demand->source_count++] = (struct source){ i / 2, i % 2 };
	}
	demand->rates = calloc(demand->goal_count * demand->source_count + 1, sizeof(*demand->rates));
	if (!demand->rates)
		return ERR_NOMEM;
	for (size_t i = 0; i < demand->goal_count; i++)
		received[demand->goals[i].tenant] += received_by(input, &demand->goals[i]);
	if (demand->tenant && !input->open)
		split_by_part(sums, received, factors);
	else
		for (int i = 0; i < 4; i++)
			factors[i / 2][i % 2] = received[0] + received[1] > 0 ? 1 / (received[0] + received[1]) : 0;
	for (size_t i = 0; i < demand->goal_count; i++)
		for (uint32_t k = 0; k < demand->source_count; k++) {
			const struct source *source = &demand->sources[k];

			demand->rates[i * demand->source_count + k] = (float)(
				sent[2 * source->leaf + source->tenant] * received_by(input, &demand->goals[i]) *
				factors[source->tenant][demand->goals[i].tenant]);
		}
	return 0;
}

/* --- walking --- */

static int walk_init(struct walk *walk, const struct demand *demand, const struct fabric *fabric,
		     const struct routes *routes)
{
	*walk = (struct walk){ .demand = demand, .fabric = fabric };
	walk->tables = calloc(demand->switches + 1, sizeof(*walk->tables));
	walk->ports = malloc((demand->switches + 1) * sizeof(*walk->ports));
	walk->next = calloc(fabric->port_count + 1, sizeof(*walk->next));
	walk->out = calloc((size_t)ROUTES_BLOCK * (demand->switches + 1), sizeof(*walk->out));
	if (!walk->tables || !walk->ports || !walk->next || !walk->out)
		return ERR_NOMEM;
	memset(walk->ports, 0xff, (demand->switches + 1) * sizeof(*walk->ports));
	for (uint32_t i = 0; i < demand->switches; i++) {
		const struct node *node = &fabric->nodes[demand->nodes[i]];

		walk->tables[i] = routes_find(routes, node->guid);
		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			if (!fabric->ports[port].num || !link_is_usable(fabric, port))
				continue;
			walk->next[port] = demand->switch_of[fabric->ports[fabric->ports[port].peer].node];
			if (walk->next[port] != NOWHERE)
				walk->ports[i][fabric->ports[port].num] = port;
		}
	}
	return 0;
}

static void walk_done(struct walk *walk)
{
	free(walk->tables);
	free(walk->ports);
	free(walk->next);
	free(walk->out);
}

/* LIDs of the walked fabric may differ from those of the demand. */
static uint16_t lid_of(const struct walk *walk, const struct goal *goal)
{
	uint16_t lid = walk->fabric->ports[goal->port].lid;

	return lid && lid + goal->nth < ROUTES_LIDS ? (uint16_t)(lid + goal->nth) : 0;
}

/* Entries of up to 64 LIDs side by side, so that tables are read in order. */
static void read_block(const struct walk *walk, size_t first, size_t count)
{
	uint16_t lids[ROUTES_BLOCK];

	for (size_t i = 0; i < count; i++)
		lids[i] = lid_of(walk, &walk->demand->goals[first + i]);
	for (uint32_t at = 0; at < walk->demand->switches; at++) {
		const struct route_table *table = walk->tables[at];
		uint32_t known = table ? table->lids : 0;
		uint8_t *out = walk->out + at;

		/* As routes_out_port(), which would be most of the time here. */
		for (size_t i = 0; i < count; i++)
			out[i * walk->demand->switches] = lids[i] < known ? table->ports[lids[i]] : ROUTES_NO_PORT;
	}
}

/* Goals from @first on that are walked together. */
static size_t block_size(const struct demand *demand, size_t first)
{
	return demand->goal_count - first < ROUTES_BLOCK ? demand->goal_count - first : ROUTES_BLOCK;
}

/* The sending ports of the links between two switches. Return: their number; 0: there is no path. */
static unsigned find_path(const struct walk *walk, const uint8_t *out, uint32_t from, uint32_t to,
			  uint32_t ret[HOPS_MOST])
{
	unsigned hops = 0;

	while (from != to) {
		uint32_t port = walk->ports[from][out[from]];

		if (port == FABRIC_NONE || hops == HOPS_MOST)
			return 0;
		ret[hops++] = port;
		from = walk->next[port];
	}
	return hops;
}

/*
 * How much of what the HCAs of each source sent is still sent: those whose link is not usable send nothing. By source.
 * Return: NULL: no memory.
 */
static double *find_scales(const struct demand *demand, const struct fabric *fabric)
{
	double *scales = calloc(demand->source_count + 1, sizeof(*scales));

	for (uint32_t k = 0; scales && k < demand->source_count; k++) {
		const struct source *source = &demand->sources[k];
		const struct node *node = &fabric->nodes[demand->nodes[source->leaf]];
		double all = 0, left = 0;

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			uint32_t peer = fabric->ports[port].peer;
			double xmit = peer == FABRIC_NONE || is_tenant(demand, peer) != source->tenant ? 0 :
				      demand->xmit[peer];

			all += xmit;
			left += link_is_usable(fabric, port) ? xmit : 0;
		}
		scales[k] = all > 0 ? left / all : 0;
	}
	return scales;
}

/* @tenant: only what its ports send or receive */
static void add_loads(const struct walk *walk, const double *scales, bool tenant, double *load, double *ret_lost)
{
	const struct demand *demand = walk->demand;
	uint32_t path[HOPS_MOST];

	for (size_t first = 0; first < demand->goal_count; first += ROUTES_BLOCK) {
		size_t count = block_size(demand, first);

		read_block(walk, first, count);
		for (size_t i = first; i < first + count; i++) {
			const float *rates = demand->rates + i * demand->source_count;
			const uint8_t *out = walk->out + (i - first) * demand->switches;
			bool usable = link_is_usable(walk->fabric, demand->goals[i].port);

			for (uint32_t k = 0; usable && k < demand->source_count; k++) {
				const struct source *source = &demand->sources[k];
				double rate = rates[k] * scales[k];
				unsigned hops;

				if (!(rate > 0) || source->leaf == demand->goals[i].leaf ||
				    (tenant && !source->tenant && !demand->goals[i].tenant))
					continue;
				hops = find_path(walk, out, source->leaf, demand->goals[i].leaf, path);
				if (!hops)
					*ret_lost += rate;
				for (unsigned hop = 0; hop < hops; hop++)
					load[path[hop]] += rate;
			}
		}
	}
}

static int route(const struct demand *demand, const struct fabric *fabric, const struct routes *routes, bool tenant,
		 double *ret_load, double *ret_lost, struct error *err)
{
	double *scales = find_scales(demand, fabric);
	struct walk walk;
	int code = walk_init(&walk, demand, fabric, routes);

	if (!scales)
		code = ERR_NOMEM;
	if (code == 0) {
		memset(ret_load, 0, fabric->port_count * sizeof(*ret_load));
		*ret_lost = 0;
		add_loads(&walk, scales, tenant, ret_load, ret_lost);
	}
	free(scales);
	walk_done(&walk);
	return code < 0 ? err_nomem(err) : 0;
}

int demand_route(const struct demand *demand, const struct fabric *fabric, const struct routes *routes,
		 double *ret_load, double *ret_lost, struct error *err)
{
	return route(demand, fabric, routes, false, ret_load, ret_lost, err);
}

int demand_route_tenant(const struct demand *demand, const struct fabric *fabric, const struct routes *routes,
			double *ret_load, double *ret_lost, struct error *err)
{
	return route(demand, fabric, routes, true, ret_load, ret_lost, err);
}

/* --- the fit --- */

/*
 * Scale each estimate by the geometric mean of what the links on its path lack, and add up the new loads in the same
 * pass. @logs: by port, of measured by estimated load; NAN: unknown
 */
static void scale_rates(struct walk *walk, float *rates_all, const double *logs, double *load)
{
	const struct demand *demand = walk->demand;
	uint32_t path[HOPS_MOST];

	for (size_t first = 0; first < demand->goal_count; first += ROUTES_BLOCK) {
		size_t count = block_size(demand, first);

		read_block(walk, first, count);
		for (size_t i = first; i < first + count; i++) {
			float *rates = rates_all + i * demand->source_count;
			const uint8_t *out = walk->out + (i - first) * demand->switches;

			for (uint32_t k = 0; k < demand->source_count; k++) {
				unsigned hops, known_hops = 0;
				double sum = 0;

				if (!(rates[k] > 0) || demand->sources[k].leaf == demand->goals[i].leaf)
					continue;
				hops = find_path(walk, out, demand->sources[k].leaf, demand->goals[i].leaf, path);
				for (unsigned hop = 0; hop < hops; hop++) {
					if (isnan(logs[path[hop]]))
						continue;
					sum += logs[path[hop]];
					known_hops++;
				}
				if (known_hops && sum != 0)
					rates[k] *= expf((float)(sum / known_hops));
				for (unsigned hop = 0; hop < hops; hop++)
					load[path[hop]] += rates[k];
			}
		}
	}
}

/* Bounds of a correction in one round; a link without load ends the estimates that cross it. */
#define LOG_MOST 3.0

static bool joins_switches(const struct fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	return peer != FABRIC_NONE && fabric->nodes[fabric->ports[port].node].type == NODE_SWITCH &&
	       fabric->nodes[fabric->ports[peer].node].type == NODE_SWITCH;
}

static double deviation_of(const struct fabric *fabric, const double *measured, const double *load, double *logs)
{
	double sum = 0, all = 0;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		logs[i] = NAN;
		if (!joins_switches(fabric, i) || isnan(measured[i]) || (!(load[i] > 0) && !(measured[i] > 0)))
			continue;
		sum += fabs(measured[i] - load[i]);
		all += measured[i];
		if (load[i] > 0)
			logs[i] = measured[i] > 0 ? fmin(fmax(log(measured[i] / load[i]), -LOG_MOST), LOG_MOST) :
						    -LOG_MOST;
	}
	return all > 0 ? sum / all : 0;
}

static int fit_rounds(const struct demand *demand)
{
	size_t estimates = demand->goal_count * demand->source_count + 1, rounds = FIT_ESTIMATES / estimates;

	return rounds > FIT_ROUNDS ? FIT_ROUNDS : rounds < FIT_ROUNDS_LEAST ? FIT_ROUNDS_LEAST : (int)rounds;
}

static int fit(struct demand *demand, const struct demand_input *input, double *ret_error)
{
	const struct fabric *fabric = input->fabric;
	double *load = calloc(fabric->port_count + 1, sizeof(*load));
	double *logs = calloc(fabric->port_count + 1, sizeof(*logs)), lost = 0;
	double *scales = find_scales(demand, fabric);
	struct walk walk;
	int code = walk_init(&walk, demand, fabric, input->routes);

	if (!load || !logs || !scales)
		code = ERR_NOMEM;
	if (code == 0)
		add_loads(&walk, scales, false, load, &lost);
	for (int round = 0; code == 0; round++) {
		*ret_error = deviation_of(fabric, input->measured, load, logs);
		if (*ret_error < FIT_ENOUGH || round == fit_rounds(demand))
			break;
		memset(load, 0, fabric->port_count * sizeof(*load));
		scale_rates(&walk, demand->rates, logs, load);
	}
	walk_done(&walk);
	free(load);
	free(logs);
	free(scales);
	return code;
}

struct demand *demand_create(const struct demand_input *input, double *ret_error, struct error *err)
{
	struct demand *demand = calloc(1, sizeof(*demand));
	double *sent = calloc(2 * input->fabric->node_count + 1, sizeof(*sent)), error = NAN;
	size_t ports = input->fabric->port_count;
	int code = demand && sent ? 0 : ERR_NOMEM;

	if (code == 0 && input->tenant) {
		demand->tenant = calloc(ports + 1, sizeof(*demand->tenant));
		if (demand->tenant)
			memcpy(demand->tenant, input->tenant, ports * sizeof(*demand->tenant));
		else
			code = ERR_NOMEM;
	}
	if (code == 0)
		code = number_switches(demand, input->fabric);
	if (code == 0)
		code = list_goals(demand, input, sent);
	if (code == 0)
		code = set_gravity(demand, input, sent);
	if (code == 0 && input->routes && input->measured)
		code = fit(demand, input, &error);
	free(sent);
	if (code < 0) {
		demand_destroy(demand);
		err_nomem(err);
		return NULL;
	}
	*ret_error = error;
	return demand;
}
