/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Degraded links, and the rate each link is built for. Every command, metric, screen and finding uses this verdict.
 *
 * A link is degraded if it runs below what both ends support (have enabled, where that is unknown), but at
 * most below the rate of most links of its class: the same tiers, or the same tier and class of host. With
 * fewer than three links of the class the limit is what both ends have enabled. Links that are narrower than
 * both ends have enabled are degraded even if most of their class are.
 *
 * A link between switches is also degraded if a parallel link is faster, or if most uplinks of its lower
 * switch and most downlinks of its upper switch are. One of the two is not enough: spines of an older
 * generation are no fault. Nor is a link degraded that runs at all that both ends support.
 *
 * In a dump the two ends of a link can have different rates: the lower one counts, and the link is degraded.
 * Where a dump does not have what the ends of a link to an HCA support, it is compared with the HCAs of its
 * model and class on switches of the same model: it is degraded if three quarters of them are faster, and it
 * has one lane, or a lower speed. Two lanes are a split port, which is a design.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/shape/build.h"

/* Rates of the links of one switch: only few are different. */
#define RATES_MAX 16

struct rates {
	uint64_t rate[RATES_MAX];
	uint32_t links[RATES_MAX];
	unsigned count;
};

static void count_rate(struct rates *rates, uint64_t rate)
{
	unsigned i;

	for (i = 0; i < rates->count && rates->rate[i] != rate;)
		i++;
	if (!rate || i == RATES_MAX)
		return;
	if (i == rates->count) {
		rates->rate[i] = rate;
		rates->links[i] = 0;
		rates->count++;
	}
	rates->links[i]++;
}

/* The most frequent rate, on a tie the higher one. 0: no link is up. */
static uint64_t usual_rate(const struct rates *rates)
{
	unsigned best = 0;

	for (unsigned i = 1; i < rates->count; i++)
		if (rates->links[i] > rates->links[best] ||
		    (rates->links[i] == rates->links[best] && rates->rate[i] > rates->rate[best]))
			best = i;
	return rates->count ? rates->rate[best] : 0;
}

struct usual {
	uint64_t *up, *down, *host; /* by node; host: unless a rate is known for its model */
	uint64_t *models;           /* by port of a switch: usual rate of HCAs of that model; 0: unknown */
	bool *mixed;                /* by node: its trunks have different rates */
};

static void find_usual(const struct shape_build *build, struct usual *usual, uint32_t node)
{
	const struct node *self = &build->fabric->nodes[node];
	struct rates rates[WAY_SWITCH + 1] = { 0 };

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		uint8_t way = build->shape->ports[i].way;

		count_rate(&rates[way == WAY_ACROSS ? WAY_DOWN : way], port_rate_bits_per_s(&build->fabric->ports[i]));
	}
	usual->up[node] = usual_rate(&rates[WAY_UP]);
	usual->down[node] = usual_rate(&rates[WAY_DOWN]);
	usual->host[node] = usual_rate(&rates[WAY_HOST]);
	usual->mixed[node] = rates[WAY_UP].count > 1 || rates[WAY_DOWN].count > 1;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The fastest of the parallel links of a port. */
static uint64_t fastest_beside(const struct shape_build *build, uint32_t port)
{
	const struct fabric *fabric = build->fabric;
	const struct shape_group *group;
	uint32_t peer = fabric->ports[fabric->ports[port].peer].node;
	uint64_t best = 0;

	if (build->shape->ports[port].group == SHAPE_NONE)
		return 0;
	group = &build->shape->groups[build->shape->ports[port].group];
	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		const struct port *other = &fabric->ports[build->shape->members[i]];
		uint64_t rate = port_rate_bits_per_s(other);

		if (fabric->ports[other->peer].node == peer && rate > best)
			best = rate;
	}
	return best;
}

/* A link to an HCA. @key: of links that are compared */
struct host_link {
	uint64_t key;
	uint32_t port; /* of the switch */
};

static int compare_host_links(const void *a, const void *b)
{
	const struct host_link *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->port < y->port ? -1 : 1;
}

/* At least this number of HCAs of a model is compared. */
enum { MODEL_HCAS = 4 };

/* The usual rates of HCAs by model, where three quarters of them run at it. */
static int find_models(struct shape_build *build, struct usual *usual)
{
	const struct fabric *fabric = build->fabric;
	struct host_link *links = shape_scratch(build, fabric->port_count, sizeof(*links));
	uint32_t count = 0, j;

	if (!links)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		const struct node *hca;

		if (!shape_serves_host(build->shape, i) || !port_rate_bits_per_s(port))
			continue;
		hca = &fabric->nodes[fabric->ports[port->peer].node];
		links[count++] = (struct host_link){
			(uint64_t)build->shape->nodes[fabric->ports[port->peer].node].class << 32 |
			(uint64_t)hca->device_id << 16 | fabric->nodes[port->node].device_id, i,
		};
	}
	qsort(links, count, sizeof(*links), compare_host_links);
	for (uint32_t i = 0; i < count; i = j) {
		struct rates rates = { .count = 0 };
		uint32_t same = 0;
		uint64_t rate;

		for (j = i; j < count && links[j].key == links[i].key; j++)
			count_rate(&rates, port_rate_bits_per_s(&fabric->ports[links[j].port]));
		rate = usual_rate(&rates);
		for (unsigned k = 0; k < rates.count; k++)
			same += rates.rate[k] == rate ? rates.links[k] : 0;
		if (j - i < MODEL_HCAS || same * 4 < (j - i) * 3)
			continue;
		for (uint32_t k = i; k < j; k++)
			usual->models[links[k].port] = rate;
	}
	return 0;
}

/* The rate of comparable links to HCAs. */
static uint64_t expected_of_host(const struct shape_build *build, const struct usual *usual, uint32_t index)
{
	const struct port *port = &build->fabric->ports[index], *peer = &build->fabric->ports[port->peer];
	uint64_t rate = port_rate_bits_per_s(port), expected = usual->models[index];

	if (!rate)
		return usual->host[port->node];
	if (ports_best_rate(port, peer, true) || ports_best_rate(port, peer, false) || expected <= rate ||
	    /* Cables that divide a port exist from HDR on. */
	    (port->width == LINK_WIDTH_2X && port->speed >= LINK_SPEED_HDR &&
	     link_rate_bits_per_s(LINK_WIDTH_4X, (enum link_speed)port->speed) >= expected))
		return rate;
	return expected;
}

/* The rate of comparable links; 0: unknown, none of them is up. */
static uint64_t expected_of(const struct shape_build *build, const struct usual *usual, uint32_t index)
{
	const struct port *port = &build->fabric->ports[index];
	uint32_t own = port->node, other = build->fabric->ports[port->peer].node;
	uint64_t rate = port_rate_bits_per_s(port), expected, parallel;

	switch (build->shape->ports[index].way) {
	case WAY_HOST:
		return expected_of_host(build, usual, index);
	case WAY_UP:
		expected = smaller(usual->up[own], usual->down[other]);
		break;
	case WAY_DOWN:
		expected = smaller(usual->down[own], usual->up[other]);
		break;
	case WAY_ACROSS:
		expected = smaller(usual->down[own], usual->down[other]);
		break;
	default:
		return rate;
	}
	parallel = rate && usual->mixed[own] ? fastest_beside(build, index) : 0;
	if (parallel > expected)
		expected = parallel;
	return rate > expected ? rate : expected;
}

static int add_slow(struct shape_build *build, size_t *capacity, uint32_t port, uint64_t rate, uint64_t expected)
{
	struct shape *shape = build->shape;
	struct shape_slow *slow = array_grow(shape->slow, shape->slow_count, capacity, sizeof(*slow));

	if (!slow)
		return ERR_NOMEM;
	shape->slow = slow;
	slow[shape->slow_count++] = (struct shape_slow){ port, rate, expected };
	return 0;
}

/* One of the two ends: the switch of a link to an HCA, else the lower GUID, whatever the order of the fabric is. */
static bool represents_link(const struct fabric *fabric, uint32_t index)
{
	const struct port *port = &fabric->ports[index], *peer;
	const struct node *own, *other;

	if (port->peer == FABRIC_NONE)
		return false;
	peer = &fabric->ports[port->peer];
	own = &fabric->nodes[port->node];
	other = &fabric->nodes[peer->node];
	if ((own->type == NODE_SWITCH) != (other->type == NODE_SWITCH))
		return own->type == NODE_SWITCH;
	return own->guid != other->guid ? own->guid < other->guid : port->num < peer->num;
}

/* Links of a class have the same tiers, or the same tier and class of host. */
enum { LINK_CLASSES = 16 * 16, CLASS_LINKS = 3 /* at least this number of links is compared */ };

static unsigned link_class(const struct shape_build *build, uint32_t index)
{
	const struct fabric *fabric = build->fabric;
	uint32_t a = fabric->ports[index].node, b = fabric->ports[fabric->ports[index].peer].node;
	unsigned near = build->shape->nodes[a].tier, far = build->shape->nodes[b].tier, low;

	if (fabric->nodes[b].type != NODE_SWITCH)
		return near << 4 | (SHAPE_TIERS_MAX + 1u + build->shape->nodes[b].class);
	low = near < far ? near : far;
	return low << 4 | (near + far - low);
}

static void count_classes(const struct shape_build *build, struct rates *classes)
{
	for (uint32_t i = 0; i < build->fabric->port_count; i++)
		if (represents_link(build->fabric, i))
			count_rate(&classes[link_class(build, i)], shape_link_rate(build->fabric, i));
}

/* The rate of most links of a class; 0: there are too few. */
static uint64_t usual_of_class(const struct rates *rates)
{
	uint32_t links = 0;

	for (unsigned i = 0; i < rates->count; i++)
		links += rates->links[i];
	return links >= CLASS_LINKS ? usual_rate(rates) : 0;
}

/* The verdict on a link that is up, as far as what both ends can do is known. @ret_expected: with a verdict */
static enum link_verdict judge_ends(const struct port *a, const struct port *b, uint64_t rate, uint64_t usual,
				    uint64_t *ret_expected)
{
	uint64_t supported = ports_best_rate(a, b, true), enabled = ports_best_rate(a, b, false);
	uint64_t best = supported ? supported : enabled, expected;
	uint64_t wide = link_rate_bits_per_s(ports_best_width(a, b, false), a->speed < b->speed ? a->speed : b->speed);

	expected = usual && best ? smaller(usual, best) : enabled ? smaller(enabled, best) : best;
	expected = wide > expected ? wide : expected;
	if (rate >= expected)
		return LINK_NOT_DEGRADED;
	*ret_expected = expected;
	if (enabled && enabled < expected)
		return LINK_LIMITED;
	return link_width_lanes(a->width) < 4 && link_width_best(a->width_enabled & b->width_enabled) != a->width ?
		LINK_NARROW : LINK_SLOW;
}

static int judge_link(struct shape_build *build, const struct usual *usual, const struct rates *classes,
		      uint32_t index, size_t *capacity)
{
	const struct fabric *fabric = build->fabric;
	struct shape_port *ports = build->shape->ports;
	const uint32_t ends[2] = { index, fabric->ports[index].peer };
	const struct port *a = &fabric->ports[ends[0]], *b = &fabric->ports[ends[1]];
	uint64_t rate = shape_link_rate(fabric, index), expected = rate, supported = ports_best_rate(a, b, true);
	uint64_t faster = port_rate_bits_per_s(port_rate_bits_per_s(a) > rate ? a : b);
	enum link_verdict verdict = LINK_NOT_DEGRADED;

	if (rate)
		verdict = judge_ends(a, b, rate, usual_of_class(&classes[link_class(build, index)]), &expected);
	/* The rate of an end can be unknown: then no end is faster. */
	if (rate && !supported && verdict == LINK_NOT_DEGRADED && faster > rate) {
		verdict = a->width != b->width ? LINK_NARROW : LINK_SLOW;
		expected = faster;
	}
	for (unsigned i = 0; i < 2; i++) {
		uint8_t way = ports[ends[i]].way;
		uint64_t beside = way == WAY_NONE || way == WAY_SWITCH ? 0 : expected_of(build, usual, ends[i]);

		if (rate && supported)
			beside = smaller(beside, supported);
		if (rate && beside > expected && verdict == LINK_NOT_DEGRADED)
			verdict = LINK_BELOW_NEIGHBORS;
		expected = beside > expected ? beside : expected;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (fabric->nodes[fabric->ports[ends[i]].node].type == NODE_SWITCH)
			build->expected_rate[ends[i]] = expected;
		if (fabric_link_state(fabric, index) == PORT_ACTIVE)
			ports[ends[i]].verdict = (uint8_t)verdict;
	}
	return ports[index].verdict ? add_slow(build, capacity, index, rate, expected) : 0;
}

int shape_find_slow(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	size_t nodes = fabric->node_count, capacity = 0;
	struct rates *classes = shape_scratch(build, LINK_CLASSES, sizeof(*classes));
	struct usual usual = {
		.up = shape_scratch(build, nodes, sizeof(*usual.up)),
		.down = shape_scratch(build, nodes, sizeof(*usual.down)),
		.host = shape_scratch(build, nodes, sizeof(*usual.host)),
		.models = shape_scratch(build, fabric->port_count, sizeof(*usual.models)),
		.mixed = shape_scratch(build, nodes, sizeof(*usual.mixed)),
	};
	int code = classes && usual.up && usual.down && usual.host && usual.models && usual.mixed ? 0 : ERR_NOMEM;

	for (uint32_t i = 0; i < build->switch_count && code == 0; i++)
		find_usual(build, &usual, build->switches[i]);
	if (code == 0)
		code = find_models(build, &usual);
	if (code == 0)
		count_classes(build, classes);
	for (uint32_t i = 0; i < fabric->port_count && code == 0; i++)
		if (represents_link(fabric, i))
			code = judge_link(build, &usual, classes, i, &capacity);
	return code;
}

bool link_is_degraded(const struct shape *shape, uint32_t port)
{
	return shape && shape->ports[port].verdict != LINK_NOT_DEGRADED;
}

const char *link_verdict_name(uint8_t verdict)
{
	static const char *const names[] = {
		[LINK_NOT_DEGRADED] = "", [LINK_NARROW] = "width", [LINK_SLOW] = "speed",
		[LINK_LIMITED] = "enabled", [LINK_BELOW_NEIGHBORS] = "neighbors",
	};

	return names[verdict < sizeof(names) / sizeof(names[0]) ? verdict : LINK_NOT_DEGRADED];
}
