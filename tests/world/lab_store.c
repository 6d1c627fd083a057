/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The store of lab.h: what the collector stores, compared with the counters of the ports. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stop.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
#include "tests/world/lab.h"

size_t lab_node_of(const struct fabric *fabric, uint32_t port)
{
	return fabric->nodes[fabric->ports[port].node].guid - lab_guid(0);
}

static struct lab_port *port_of(struct lab *lab, const struct fabric *fabric, uint32_t port)
{
	return lab_port(lab, lab_node_of(fabric, port), fabric->ports[port].num);
}

size_t lab_same(struct lab *lab, const struct fabric *fabric, uint32_t port, const struct reading *reading)
{
	const struct port_counters *now = port_of(lab, fabric, port)->now;
	size_t compared = 0;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		uint64_t max = reading_max(reading, (enum counter)i);

		if (!(reading->present & COUNTER_BIT(i)))
			continue;
		/* Until they are found to contradict PortCounters. */
		if (reading->wide & COUNTER_BIT(i) && i >= COUNTER_TRAFFIC_COUNT &&
		    lab->agents[lab_node_of(fabric, port)].errors_narrow)
			continue;
		if (reading->value[i] != (now->value[i] < max ? now->value[i] : max))
			fail_msg("%s of node %zu port %u is %llu, not %llu", counter_info((enum counter)i)->key,
				 lab_node_of(fabric, port), fabric->ports[port].num,
				 (unsigned long long)reading->value[i], (unsigned long long)now->value[i]);
		compared++;
	}
	return compared;
}

size_t lab_same_detail(struct lab *lab, const struct fabric *fabric, uint32_t port,
		       const struct detail_reading *reading)
{
	const uint64_t *value = port_of(lab, fabric, port)->now->details[reading->attribute];
	size_t compared = 0;
	unsigned i;

	/* The Tick; the agents respond with no other setting. Lanes: the total of the port is in the first one. */
	if (reading->attribute == DETAIL_SAMPLES_CONTROL)
		assert_int_equal(reading->value[1], 7);
	if (detail_is_state(reading->attribute) || reading->attribute == DETAIL_LANE_UNCORRECTED)
		return 0;
	/* A part of the FEC counters depends on the layout. */
	for (i = 0; i < (reading->attribute == DETAIL_EXTENDED_SPEEDS ? 2 : detail_count(reading->attribute)); i++) {
		uint64_t max = detail_max(reading->attribute, i);

		if (!(reading->present & 1u << i))
			continue;
		if (reading->value[i] != (value[i] < max ? value[i] : max))
			fail_msg("%s of node %zu port %u is %llu, not %llu",
				 detail_info((enum detail_attribute)reading->attribute, i)->key,
				 lab_node_of(fabric, port), fabric->ports[port].num,
				 (unsigned long long)reading->value[i], (unsigned long long)value[i]);
		compared++;
	}
	return compared;
}

static void store_detail(struct lab *lab, const struct sweep *sweep, const struct detail_sample *sample)
{
	struct lab_detail *detail = &port_of(lab, sweep->fabric, sample->port)->details[sample->reading->attribute];

	if (lab->nodes[lab_node_of(sweep->fabric, sample->port)].guid_ambiguous) {
		*detail = (struct lab_detail){ *sample->reading, *sample->reading, .reads = 1,
					       .last_wall_us = sweep->wall_us };
		return;
	}
	lab_same_detail(lab, sweep->fabric, sample->port, sample->reading);
	assert_true((sample->delta != NULL) ==
		    (detail->reads > 0 && !detail_is_state((enum detail_attribute)sample->reading->attribute)));
	if (!detail->reads++)
		detail->first = *sample->reading;
	for (unsigned i = 0; sample->delta && i < DETAIL_MAX; i++)
		detail->sum[i] += sample->delta->value[i];
	if (sample->delta) {
		detail->marked |= sample->delta->reset | sample->delta->saturated |
				  (sample->reading->present & ~sample->delta->known);
		detail->elapsed_us += sample->delta->elapsed_us;
	}
	detail->last = *sample->reading;
	detail->last_wall_us = sweep->wall_us;
}

static void store_sample(struct lab *lab, const struct sweep *sweep, const struct port_sample *sample)
{
	struct lab_port *port = port_of(lab, sweep->fabric, sample->port);

	port->status = sample->status;
	assert_true((sample->reading != NULL) == (sample->status == SAMPLE_OK));
	if (!sample->reading)
		return;
	if (lab->nodes[lab_node_of(sweep->fabric, sample->port)].guid_ambiguous) {
		port->first = port->last = *sample->reading;
		port->sum = (struct delta){ 0 };
		port->has_first = true;
		port->last_wall_us = sweep->wall_us;
		return;
	}
	lab_same(lab, sweep->fabric, sample->port, sample->reading);
	assert_true((sample->delta != NULL) == port->has_first);
	if (!port->has_first)
		port->first = *sample->reading;
	else
		delta_add(&port->sum, sample->delta);
	port->has_first = true;
	port->last = *sample->reading;
	port->last_wall_us = sweep->wall_us;
}

void lab_store_block(struct routes *stored, const struct routes *routes, const struct route_block *block)
{
	const struct route_table *table = routes_find(routes, block->node_guid);
	uint16_t lid = (uint16_t)(block->block * ROUTES_BLOCK);

	if (routes_is_read(table, lid))
		routes_set_block(stored, block->node_guid, block->block, table->ports + lid, NULL, NULL);
	else
		routes_cut(stored, block->node_guid, lid);
}

/* The blocks of all sweeps make up the tables that the collector has. */
static void store_routes(struct lab *lab, const struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->route_block_count; i++)
		lab_store_block(&lab->routes, sweep->routes, &sweep->route_blocks[i]);
	if (sweep->routes)
		assert_true(routes_same(&lab->routes, sweep->routes));
}

static int store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	struct lab *lab = ctx;

	if (lab->store_fails)
		return err_set(err, ERR_IO, "the disk is full");
	for (size_t i = 0; i < count && lab->event_count < LAB_EVENTS_MAX; i++) {
		unsigned left = events[i].replaces;

		for (size_t j = lab->event_count; left && j-- > 0;) {
			if (strcmp(lab->events[j].kind, events[i].kind))
				continue;
			lab->event_count--;
			left--;
			memmove(&lab->events[j], &lab->events[j + 1], (lab->event_count - j) * sizeof(lab->events[0]));
		}
		/* The events that it replaces are stored. */
		assert_int_equal(left, 0);
		lab->events[lab->event_count++] = events[i];
	}
	return 0;
}

/*
 * Ports that were not read in time are counted, and the first of consecutive cut sweeps is reported, unless a stop
 * has cut it.
 */
static void check_unfinished(const struct lab *lab, const struct sweep *sweep)
{
	uint32_t unfinished = 0;
	bool reported = stop_requested() || (lab->sweeps && lab->last_sweep.ports_unfinished);

	for (size_t i = 0; i < sweep->sample_count; i++)
		unfinished += sweep->samples[i].status == SAMPLE_UNFINISHED;
	for (size_t i = 0; i < sweep->event_count; i++)
		reported |= !strcmp(sweep->events[i].kind, EVENT_SWEEP_CUT);
	assert_int_equal(sweep->ports_unfinished, unfinished);
	assert_true(reported || !unfinished);
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct lab *lab = ctx;

	lab->run.now_us += lab->store_us;
	if (lab->store_taken)
		return err_set(err, ERR_UNAVAILABLE, "another process stores sweeps");
	if (lab->store_ended)
		return err_set(err, ERR_IO, "the database was moved");
	if (store_events(lab, sweep->events, sweep->event_count, err) < 0)
		return ERR_IO;
	for (size_t i = 0; i < sweep->sample_count; i++)
		store_sample(lab, sweep, &sweep->samples[i]);
	check_unfinished(lab, sweep);
	for (size_t i = 0; i < sweep->detail_count; i++)
		store_detail(lab, sweep, &sweep->details[i]);
	store_routes(lab, sweep);
	if (lab->generation != sweep->generation) {
		text_clear(&lab->fabric);
		record_write(&lab->fabric, sweep->fabric, &(struct record_trailer){ 0 });
	}
	lab->generation = sweep->generation;
	lab->last_sweep = *sweep;
	lab->sweeps++;
	return 0;
}

static void restore_port(const struct lab *lab, size_t node, uint8_t num, struct restored *ret)
{
	const struct lab_port *port = &lab->nodes[node].ports[num];

	if (port->has_first)
		ret->ports[ret->port_count++] = (struct restored_port){
			.node_guid = lab_guid(node), .port = num, .reading = port->last,
			.wall_us = port->last_wall_us };
	for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
		if (port->details[i].reads)
			ret->details[ret->detail_count++] = (struct restored_detail){
				.node_guid = lab_guid(node), .port = num, .reading = port->details[i].last,
				.wall_us = port->details[i].last_wall_us };
}

static int restore(void *ctx, struct restored *ret, struct error *err)
{
	const struct lab *lab = ctx;
	struct record_trailer trailer;
	size_t ports = LAB_NODES * (LAB_SWITCH_PORTS + 1);

	if (!lab->fabric.len)
		return 0;
	assert_int_equal(record_read(text_chars(&lab->fabric), lab->fabric.len, &ret->fabric, &trailer, err), 0);
	assert_int_equal(routes_copy(&lab->routes, &ret->routes, NULL), 0);
	memcpy(ret->boot_id, lab->last_sweep.boot_id, BOOT_ID_SIZE);
	ret->ports = calloc(ports, sizeof(*ret->ports));
	ret->details = calloc(ports * DETAIL_ATTRIBUTE_COUNT, sizeof(*ret->details));
	for (size_t i = 0; i < LAB_NODES; i++)
		for (uint8_t num = 0; num <= LAB_SWITCH_PORTS; num++)
			restore_port(lab, i, num, ret);
	return 0;
}

static int store_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	struct lab *lab = ctx;

	(void)err;
	for (size_t i = 0; i < count; i++)
		lab->nodes[caps[i].node_guid - lab_guid(0)].tick_known = caps[i].caps.tick_known;
	return 0;
}

static bool has_ended(void *ctx)
{
	const struct lab *lab = ctx;

	return lab->store_ended;
}

struct sink lab_sink(struct lab *lab)
{
	return (struct sink){ .store = store, .restore = restore, .store_events = store_events,
			      .store_caps = store_caps, .has_ended = has_ended, .ctx = lab };
}

size_t lab_events_of(const struct lab *lab, const char *kind)
{
	size_t count = 0;

	for (size_t i = 0; i < lab->event_count; i++)
		count += !strcmp(lab->events[i].kind, kind);
	return count;
}

static size_t check_detail(const struct lab_detail *detail)
{
	size_t exact = 0;

	if (detail->reads < 2)
		return 0;
	if (detail_is_state((enum detail_attribute)detail->last.attribute)) {
		assert_int_equal(detail->elapsed_us, 0);
		return 0;
	}
	assert_true(detail->elapsed_us == detail->last.at_us - detail->first.at_us);
	for (unsigned i = 0; i < DETAIL_MAX; i++) {
		if (!(detail->last.present & 1u << i) || detail->marked & 1u << i)
			continue;
		assert_true(detail->first.value[i] + detail->sum[i] == detail->last.value[i]);
		exact++;
	}
	return exact;
}

static size_t check_port(const struct lab_port *port)
{
	size_t exact = 0;

	if (!port->has_first || !port->sum.elapsed_us)
		return 0;
	assert_true(port->sum.elapsed_us == port->last.at_us - port->first.at_us);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (!(port->sum.known & COUNTER_BIT(i)) || (port->sum.reset | port->sum.saturated) & COUNTER_BIT(i))
			continue;
		assert_true(port->first.value[i] + port->sum.value[i] == port->last.value[i]);
		exact++;
	}
	return exact;
}

size_t lab_check(const struct lab *lab)
{
	size_t exact = 0;

	for (size_t i = 0; i < LAB_NODES; i++)
		for (unsigned num = 0; num <= LAB_SWITCH_PORTS; num++)
			exact += check_port(&lab->nodes[i].ports[num]);
	return exact;
}

size_t lab_check_details(const struct lab *lab)
{
	size_t exact = 0;

	for (size_t i = 0; i < LAB_NODES; i++)
		for (unsigned num = 0; num <= LAB_SWITCH_PORTS; num++)
			for (unsigned attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
				exact += check_detail(&lab->nodes[i].ports[num].details[attribute]);
	return exact;
}

void lab_check_own(struct lab *lab, size_t host)
{
	const struct lab_port *port = lab_port(lab, host, 1);

	assert_true(port->has_first);
	assert_true(!port->sum.reset);
	assert_true(port->last.value[COUNTER_XMIT_DATA] == port->now->value[COUNTER_XMIT_DATA]);
}

uint64_t lab_reads_of(const struct lab *lab, enum detail_attribute attribute)
{
	uint64_t reads = 0;

	for (size_t i = 0; i < LAB_NODES; i++)
		for (unsigned num = 1; num <= LAB_SWITCH_PORTS; num++)
			reads += lab->nodes[i].ports[num].details[attribute].reads;
	return reads;
}
