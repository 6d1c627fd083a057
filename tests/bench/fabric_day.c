/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/fabric_day.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "collector/events.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "sim/net_shape.h"
#include "storage/test/test_day.h"

#define SECOND_US INT64_C(1000000)
#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)

/* Faults in an hour of 4,096 port ends. */
#define LINKS_DOWN 20
#define NODES_SILENT 5
#define PORTS_CLEARED 3
#define NODES_RENAMED 1
#define SWEEPS_LATE 2
#define BAD_PORTS 500 /* one of so many has errors */

/* A pollable port, by its place among the samples. */
struct polled_port {
	struct day_port traffic;
	struct reading last;
	bool has_last, bad;
	int64_t unread_us; /* how long ago the sweep was that read it */
};

struct fabric_day {
	struct fabric_day_settings settings;
	struct net_shape shape;
	struct fabric *fabric, *before; /* before: of the last generation */
	int64_t *down_until_us;   /* by port, in boot time; 0: it is up */
	int64_t *silent_until_us; /* by node */
	unsigned *names;          /* by node: how often it was renamed */
	struct polled_port *ports;
	struct port_sample *samples;
	struct reading *readings;
	struct delta *deltas;
	struct events events;
	struct sweep sweep;
	uint64_t random;
	bool changed;   /* the topology, since the last sweep */
	size_t cleared; /* sample whose counters somebody clears in this sweep, or SIZE_MAX */
};

static uint64_t below(struct fabric_day *day, uint64_t limit)
{
	day->random += UINT64_C(0x9e3779b97f4a7c15);
	return map_mix(day->random) % limit;
}

static struct net_shape choose_shape(size_t ports)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);

	shape.management = 0;
	shape.hosts = 32;
	if (ports < 1024) {
		shape = net_shape_default(NET_SHAPE_TREE2);
		shape.management = 0;
		shape.units = shape.rails = 1;
		shape.leafs = ports > 64 ? (unsigned)(ports / 32) : 2;
		shape.hosts = shape.spines = 8;
		shape.links = 1;
	} else if (ports <= 31744) {
		shape.units = (unsigned)((ports + 512) / 1024);
		shape.rails = 8;
		shape.spines = shape.units <= 7 ? 16 : 32;
		shape.links = shape.units <= 7 ? 2 : 1;
	} else {
		shape = net_shape_default(NET_SHAPE_TREE3);
		shape.management = 0;
		shape.leafs = shape.hosts = shape.spines = 32;
		shape.rails = 1;
		shape.units = (unsigned)((ports + 3072) / 6144);
		shape.cores = 256;
	}
	shape.speed = LINK_SPEED_HDR;
	return shape;
}

static void show_down(struct port *port)
{
	port->state = PORT_DOWN;
	port->phys_state = PHYS_POLLING;
	port->speed = LINK_SPEED_NONE;
	port->width = 0;
	port->peer = FABRIC_NONE;
}

static int rename_node(struct node *node, unsigned times, struct error *err)
{
	char name[NODE_NAME_SIZE + 32];
	char *copy;

	snprintf(name, sizeof(name), "%s-r%u", node->name, times);
	copy = strdup(name);
	if (!copy)
		return err_nomem(err);
	free(node->name);
	node->name = copy;
	snprintf(node->desc, sizeof(node->desc), "%.*s", NODE_DESC_SIZE, name);
	return 0;
}

/* The fabric with the links that are down now, as another object; events say what changed. */
static int rebuild(struct fabric_day *day, struct error *err)
{
	struct fabric *fabric;
	int result = net_shape_build(&day->shape, &fabric, err);

	if (result)
		return result;
	for (size_t i = 0; day->fabric && i < fabric->port_count; i++)
		if (day->down_until_us[i])
			show_down(&fabric->ports[i]);
	for (size_t i = 0; day->fabric && !result && i < fabric->node_count; i++)
		if (day->names[i])
			result = rename_node(&fabric->nodes[i], day->names[i], err);
	fabric->from_node = 0;
	fabric->from_port = 1;
	if (result) {
		fabric_destroy(fabric);
		return result;
	}
	if (day->fabric)
		events_from_topology(&day->events, day->sweep.wall_us, day->fabric, fabric);
	fabric_destroy(day->before);
	day->before = day->fabric;
	day->fabric = fabric;
	day->sweep.fabric = fabric;
	day->sweep.generation++;
	day->changed = false;
	return 0;
}

static int make_arrays(struct fabric_day *day, struct error *err)
{
	size_t ports = day->fabric->port_count, samples = 0;

	day->down_until_us = calloc(ports, sizeof(*day->down_until_us));
	day->silent_until_us = calloc(day->fabric->node_count, sizeof(*day->silent_until_us));
	day->names = calloc(day->fabric->node_count, sizeof(*day->names));
	day->ports = calloc(ports, sizeof(*day->ports));
	day->samples = calloc(ports, sizeof(*day->samples));
	day->readings = calloc(ports, sizeof(*day->readings));
	day->deltas = calloc(ports, sizeof(*day->deltas));
	if (!day->down_until_us || !day->silent_until_us || !day->names || !day->ports || !day->samples ||
	    !day->readings || !day->deltas)
		return err_nomem(err);
	for (size_t i = 0; i < ports; i++) {
		struct polled_port *port = &day->ports[samples];

		if (!port_is_pollable(day->fabric, &day->fabric->ports[i]))
			continue;
		day->samples[samples++].port = (uint32_t)i;
		day_begin(&port->traffic, map_mix(day->settings.seed * 1000003 + i));
		port->bad = day->settings.faults && below(day, BAD_PORTS) == 0;
	}
	day->sweep.samples = day->samples;
	day->sweep.sample_count = samples;
	return 0;
}

int fabric_day_create(const struct fabric_day_settings *settings, struct fabric_day **ret, struct error *err)
{
	struct fabric_day *day = calloc(1, sizeof(*day));
	int result;

	if (!day)
		return err_nomem(err);
	day->settings = *settings;
	day->random = map_mix(settings->seed + 1);
	day->shape = choose_shape(settings->ports);
	day->cleared = SIZE_MAX;
	day->sweep.interval_us = settings->interval_us;
	day->sweep.wall_us = settings->begin_us - settings->interval_us;
	day->sweep.start_us = 100 * SECOND_US;
	snprintf(day->sweep.boot_id, sizeof(day->sweep.boot_id), "11111111-2222-4333-8444-555555555555");
	result = rebuild(day, err);
	if (!result)
		result = make_arrays(day, err);
	if (result) {
		fabric_day_destroy(day);
		return result;
	}
	*ret = day;
	return 0;
}

void fabric_day_destroy(struct fabric_day *day)
{
	if (!day)
		return;
	fabric_destroy(day->fabric);
	fabric_destroy(day->before);
	events_done(&day->events);
	free(day->down_until_us);
	free(day->silent_until_us);
	free(day->names);
	free(day->ports);
	free(day->samples);
	free(day->readings);
	free(day->deltas);
	free(day);
}

/* Does something that happens @per_hour times on 4,096 port ends happen before this sweep? */
static bool happens(struct fabric_day *day, unsigned per_hour)
{
	uint64_t hours_milli = (uint64_t)day->settings.interval_us / 3600 * day->sweep.sample_count / 4096 * per_hour;

	return day->settings.faults && below(day, 1000000) < hours_milli;
}

static void break_link(struct fabric_day *day)
{
	uint32_t port = day->samples[below(day, day->sweep.sample_count)].port;
	uint32_t peer = day->fabric->ports[port].peer;
	int64_t until_us = day->sweep.start_us + SECOND_US * (int64_t)(30 + below(day, 270));

	if (peer == FABRIC_NONE)
		return;
	day->down_until_us[port] = day->down_until_us[peer] = until_us;
	day->changed = true;
}

static void make_faults(struct fabric_day *day)
{
	int64_t now_us = day->sweep.start_us;

	for (size_t i = 0; i < day->fabric->port_count; i++) {
		if (!day->down_until_us[i] || day->down_until_us[i] > now_us)
			continue;
		day->down_until_us[i] = 0;
		day->changed = true;
	}
	if (happens(day, LINKS_DOWN))
		break_link(day);
	if (happens(day, NODES_RENAMED)) {
		day->names[below(day, day->fabric->node_count)]++;
		day->changed = true;
	}
	day->cleared = happens(day, PORTS_CLEARED) ? below(day, day->sweep.sample_count) : SIZE_MAX;
	if (happens(day, NODES_SILENT))
		day->silent_until_us[below(day, day->fabric->node_count)] =
			now_us + SECOND_US * (int64_t)(10 + below(day, 290));
}

/* Errors come where the cable is bad, and discards where there is congestion. */
static void count_errors(struct fabric_day *day, const struct polled_port *port, struct delta *delta)
{
	if (port->bad && below(day, 60) == 0) {
		delta->value[COUNTER_SYMBOL_ERRORS] = 1 + below(day, 30);
		delta->value[COUNTER_RCV_ERRORS] = below(day, 3);
	}
	if (day->settings.faults && delta->value[COUNTER_XMIT_WAIT] && below(day, 2000) == 0)
		delta->value[COUNTER_XMIT_DISCARDS] = 1 + below(day, 100);
}

static void read_port(struct fabric_day *day, size_t index)
{
	struct polled_port *port = &day->ports[index];
	struct port_sample *sample = &day->samples[index];
	struct reading *reading = &day->readings[index];
	struct delta *delta = &day->deltas[index];

	*reading = port->last;
	reading->present = COUNTER_ALL;
	reading->wide = COUNTER_TRAFFIC_SET;
	sample->reading = reading;
	sample->delta = NULL;
	if (!port->has_last) {
		reading->at_us = day->sweep.start_us + (int64_t)(index * 20);
	} else {
		day_next(&port->traffic, port->unread_us, delta);
		count_errors(day, port, delta);
		reading->at_us += delta->elapsed_us;
		if (index == day->cleared) {
			delta->reset = COUNTER_TRAFFIC_SET;
			memset(reading->value, 0, COUNTER_TRAFFIC_COUNT * sizeof(*reading->value));
		}
		for (unsigned i = 0; i < COUNTER_COUNT; i++)
			reading->value[i] += delta->value[i];
		sample->delta = delta;
	}
	port->has_last = true;
	port->last = *reading;
	port->unread_us = 0;
}

static void sample_ports(struct fabric_day *day)
{
	struct sweep *sweep = &day->sweep;

	sweep->ports_asked = sweep->ports_answered = 0;
	for (size_t i = 0; i < sweep->sample_count; i++) {
		struct port_sample *sample = &day->samples[i];
		int64_t silent_until_us = day->silent_until_us[day->fabric->ports[sample->port].node];

		sample->status = day->fabric->ports[sample->port].state == PORT_DOWN ? SAMPLE_DOWN :
			silent_until_us > sweep->start_us ? SAMPLE_SILENT : SAMPLE_OK;
		sample->reading = NULL;
		sample->delta = NULL;
		sweep->ports_asked += sample->status != SAMPLE_DOWN;
		sweep->ports_answered += sample->status == SAMPLE_OK;
		if (sample->status == SAMPLE_OK)
			read_port(day, i);
	}
}

int fabric_day_step(struct fabric_day *day, const struct sweep **ret, struct error *err)
{
	struct sweep *sweep = &day->sweep;
	int64_t passed_us = day->settings.interval_us * (happens(day, SWEEPS_LATE) ? 2 + (int64_t)below(day, 5) : 1);

	events_clear(&day->events);
	sweep->wall_us += passed_us;
	sweep->start_us += passed_us;
	sweep->end_us = sweep->start_us + 20 * (int64_t)sweep->sample_count;
	for (size_t i = 0; i < sweep->sample_count; i++)
		day->ports[i].unread_us += passed_us;
	if (day->settings.faults)
		make_faults(day);
	if (day->changed) {
		int result = rebuild(day, err);

		if (result)
			return result;
	}
	sample_ports(day);
	sweep->ports_planned = (uint32_t)sweep->sample_count;
	sweep->spread_us = sweep->end_us - sweep->start_us;
	sweep->node_spread_us = 500;
	sweep->mads_sent = sweep->ports_asked;
	sweep->sm = (struct sm_state){ .known = true, .lid = 1, .guid = day->fabric->nodes[0].guid, .state = 3 };
	sweep->events = day->events.list;
	sweep->event_count = day->events.count;
	*ret = sweep;
	return 0;
}
