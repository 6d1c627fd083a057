/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The schedule of hostile.h: which disturbances are active in each sweep, and the findings they justify. */
#include <inttypes.h>

#include "fabric/fabric.h"
#include "tests/world/hostile.h"

/* Sweeps after a change of a link in which it may be reported as flapping: two days. */
enum { GRACE_FLAPPING = 17280 };

void hostile_print(uint64_t sweep, const struct active *active, const char *what)
{
	print_message("# sweep %" PRIu64 ": %s %s: node %zu port %u, peer %zu\n", sweep, active->what->name, what,
		      active->node, active->num, active->peer);
}

/* Its findings are justified from now on for some sweeps. */
void hostile_justify(struct hostile *h, const struct active *active)
{
	uint64_t until = h->undisturbed_sweeps + GRACE;

	for (size_t node = 0; node <= LAB_NODES; node++) {
		bool concerned = node == LAB_NODES || active->what->wide || active->what->group == OF_WIRE ||
				 node == active->node || node == active->peer;

		for (unsigned kind = 0; concerned && kind < FINDING_KIND_COUNT; kind++)
			if (active->what->findings & UINT64_C(1) << kind && h->allowed[node][kind] < until)
				h->allowed[node][kind] = until;
	}
}

static void choose_place(struct hostile *h, struct active *active)
{
	size_t leaf = LEAF + random_below(h, LAB_LEAVES);

	switch (active->what->target) {
	case ANY_NODE:
		active->node = random_below(h, OWN_HOST);
		break;
	case ANY_HOST:
		active->node = HOST + random_below(h, LAB_HOSTS - 1);
		break;
	case ANY_SWITCH:
		active->node = random_below(h, HOST);
		break;
	case UPLINK:
		active->node = leaf;
		active->num = 1 + (unsigned)random_below(h, LAB_SPINES);
		active->peer = active->num - 1;
		return;
	case HOST_LINK:
		active->peer = HOST + random_below(h, LAB_HOSTS - 1);
		active->node = LEAF + (active->peer - HOST) / 4;
		active->num = 3 + (unsigned)(active->peer - HOST) % 4;
		return;
	}
	/* The leaf of a host; another host if two are concerned. */
	active->peer = active->node < HOST ? active->node : LEAF + (active->node - HOST) / 4;
	if (active->what->pair)
		active->peer = HOST + (active->node + 1 + random_below(h, LAB_HOSTS - 3)) % (LAB_HOSTS - 1);
}

static void begin_one(struct hostile *h, const struct disturbance *what)
{
	uint64_t until = h->sweep + 1 + what->longest / 3 + random_below(h, what->longest - what->longest / 3);
	struct active *free_one = NULL;

	for (size_t i = 0; i < ACTIVE_MAX; i++) {
		struct active *active = &h->active[i];

		if (!active->what)
			free_one = active;
		else if (active->what == what || (what->group && active->what->group == what->group))
			return;
	}
	if (!free_one)
		return;
	*free_one = (struct active){ .what = what, .since = h->sweep, .until = until };
	choose_place(h, free_one);
	h->begun[what - hostile_disturbances]++;
	if (what->set)
		what->set(h, free_one, true);
	for (size_t i = 0; i < LAB_NODES; i++)
		free_one->unverifiable |= h->sweep < h->unknown[i] &&
					  (what->wide || i == free_one->node || i == free_one->peer);
	if (h->trace)
		hostile_print(h->sweep, free_one, "begins");
}

/* A disturbance that ends before the quiet sweeps. In each third round it is the only one, and must be reported. */
static void begin_any(struct hostile *h)
{
	size_t one = random_below(h, DISTURBANCES - 1), other = random_below(h, DISTURBANCES - 1);
	const struct disturbance *what = &hostile_disturbances[h->begun[one] < h->begun[other] ? one : other];

	if (h->sweep / ROUND % 3 == 2) {
		if (h->sweep % ROUND)
			return;
		do
			what = &hostile_disturbances[h->next_required++ % DISTURBANCES];
		while (!what->required);
		begin_one(h, what);
	} else if (chance(h, 18) && h->sweep % ROUND + what->longest < ROUND - QUIET)
		begin_one(h, what);
}

static void end_one(struct hostile *h, struct active *active)
{
	if (h->trace)
		hostile_print(h->sweep, active, "ends");
	if (active->what->set)
		active->what->set(h, active, false);
	hostile_justify(h, active);
	for (size_t i = 0; i < LAB_NODES; i++)
		/* A discovery without responses finds no nodes. */
		if ((active->what->findings & BIT(NODE_MISSING) || active->what->wire == SILENCE) &&
		    (active->what->wide || i == active->node || i == active->peer))
			h->unknown[i] = h->sweep + GUID_AMBIGUOUS;
	active->what = NULL;
}

bool hostile_is_equal(size_t node, enum counter counter)
{
	return node >= HOST && (counter == COUNTER_SYMBOL_ERRORS || counter == COUNTER_RCV_ERRORS ||
				counter == COUNTER_LINK_DOWNED);
}

/* Errors and stalls below the thresholds of findings: the rarest are counted per hour. */
static void count_errors(struct hostile *h, const struct port *port, struct port_counters *now)
{
	now->value[COUNTER_XMIT_WAIT] += random_below(h, 1000);
	for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++) {
		enum counter counter = (enum counter)i;

		if (counter != COUNTER_LINK_DOWNED && !hostile_is_equal(port->node, counter))
			now->value[counter] += !random_below(h, 3600);
		/* An operator clears a port before a counter is full, but not in the quiet sweeps. */
		if (h->sweep % ROUND < ROUND - QUIET &&
		    now->value[counter] > reading_max(&(struct reading){ 0 }, counter) * 3 / 4)
			hostile_clear(h, port->node, port->num);
	}
	for (int attribute = 0; attribute < DETAIL_EXTENDED_SPEEDS; attribute++)
		now->details[attribute][random_below(h, DETAIL_MAX)] += random_below(h, 20) / 18;
}

/* Packets and words are conserved on each link; LinkDowned counts. */
static void count_traffic(struct hostile *h)
{
	struct virtual *world = h->lab->run.world;

	for (uint32_t i = 0; i < world->built->port_count; i++) {
		const struct port *port = &world->built->ports[i];
		uint64_t words = random_below(h, 1000), *down = &world->counters[i].value[COUNTER_LINK_DOWNED];
		bool *was_up = &h->was_up[port->node][port->num], up = port->state >= PORT_INIT;

		if (port->peer == FABRIC_NONE)
			continue;
		if (*was_up && !up) {
			++*down;
			h->allowed[port->node][FINDING_LINK_FLAPPING] = h->undisturbed_sweeps + GRACE_FLAPPING;
		}
		count_errors(h, port, &world->counters[i]);
		*was_up = up;
		if (port->state < PORT_ACTIVE)
			continue;
		world->counters[i].value[COUNTER_XMIT_DATA] += words;
		world->counters[i].value[COUNTER_XMIT_PACKETS] += words / 8;
		world->counters[port->peer].value[COUNTER_RCV_DATA] += words;
		world->counters[port->peer].value[COUNTER_RCV_PACKETS] += words / 8;
	}
}

void hostile_before_sweep(struct lab *lab)
{
	struct hostile *h = hostile;
	bool wide = false;

	if (lab->run.now_us < h->next_us)
		return;
	h->next_us = lab->run.now_us + lab->run.settings.interval_us / 2;
	h->sweep++;
	lab->run.world->act_count++;
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (h->active[i].what && h->active[i].until <= h->sweep)
			end_one(h, &h->active[i]);
	begin_any(h);
	/* While all are read: if one of two nodes is not, the counters of the other one may look plausible. */
	if (h->sweep % ROUND == ROUND - QUIET / 3)
		begin_one(h, &hostile_disturbances[DISTURBANCES - 1]);
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		wide |= h->active[i].what && h->active[i].what->wide;
	h->undisturbed_sweeps += !wide;
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (h->active[i].what && h->active[i].what->step)
			h->active[i].what->step(h, &h->active[i]);
	for (size_t i = 0; i < LAB_NODES; i++)
		lab->nodes[i].guid_ambiguous = h->sweep < h->guid_ambiguous[i];
	lab_apply(lab);
	count_traffic(h);
}
