/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sink: what the collector stored, held against what the ports really counted. */
#include "collector/test_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "fabric/fabric.h"

static struct model_port *stored_port(struct model *model, const struct fabric *fabric, uint32_t port)
{
	const struct port *which = &fabric->ports[port];

	return &model->nodes[fabric->nodes[which->node].guid - model_guid(0)].ports[which->num];
}

/* Nothing counts while a sweep runs: so what was read is what the port shows now, or it is another port's. */
static void assert_own_reading(const struct reading *reading, const struct model_port *port)
{
	int counter;

	for (counter = 0; counter < COUNTER_COUNT; counter++) {
		uint64_t max = reading_max(reading, (enum counter)counter);

		if (reading->present & COUNTER_BIT(counter))
			assert_true(reading->value[counter] ==
				    (port->value[counter] < max ? port->value[counter] : max));
	}
}

static void assert_own_detail(const struct detail_reading *reading, const struct model_port *port)
{
	const uint64_t *value = port->details[reading->attribute].value;
	unsigned i;

	/* Of FEC the model answers a part, as the mode lays it out. */
	for (i = 0; reading->attribute != DETAIL_EXTENDED_SPEEDS && i < detail_count(reading->attribute); i++) {
		uint64_t max = detail_max(reading->attribute, i);

		if (reading->present & 1u << i)
			assert_true(reading->value[i] == (value[i] < max ? value[i] : max));
	}
}

static void store_detail(const struct sweep *sweep, const struct detail_sample *sample, struct model_port *port)
{
	struct model_detail *detail = &port->details[sample->reading->attribute];
	unsigned i;

	assert_own_detail(sample->reading, port);
	assert_true((sample->delta != NULL) == detail->has_first);
	if (!detail->has_first)
		detail->first = *sample->reading;
	for (i = 0; sample->delta && i < DETAIL_MAX; i++)
		detail->sum[i] += sample->delta->value[i];
	if (sample->delta) {
		detail->marked |= sample->delta->reset | sample->delta->saturated |
				  (sample->reading->present & ~sample->delta->known);
		detail->elapsed_us += sample->delta->elapsed_us;
	}
	detail->has_first = true;
	detail->last = *sample->reading;
	detail->last_wall_us = sweep->wall_us;
	detail->reads++;
}

/* Blocks that changed are all that changed: what was stored before and they are the tables as they are. */
static void store_routes(struct model *model, const struct sweep *sweep)
{
	size_t i;

	for (i = 0; i < sweep->route_block_count; i++) {
		const struct route_block *block = &sweep->route_blocks[i];
		const struct route_table *table = routes_find(sweep->routes, block->node_guid);
		uint16_t lid = (uint16_t)(block->block * ROUTES_BLOCK);

		if (routes_is_read(table, lid))
			routes_set_block(&model->routes, block->node_guid, block->block, table->ports + lid, NULL,
					 NULL);
		else
			routes_cut(&model->routes, block->node_guid, lid);
	}
	if (sweep->routes)
		assert_true(routes_same(&model->routes, sweep->routes));
}

static void store_events(struct model *model, const struct event *events, size_t count)
{
	size_t i, j;

	for (i = 0; i < count && model->event_count < MODEL_EVENTS_MAX; i++) {
		unsigned left = events[i].replaces;

		for (j = model->event_count; left && j-- > 0;) {
			if (strcmp(model->events[j].kind, events[i].kind) ||
			    model->events[j].wall_us < events[i].wall_us)
				continue;
			memmove(&model->events[j], &model->events[j + 1],
				(--model->event_count - j) * sizeof(model->events[0]));
			left--;
		}
		/* What it stands for is there. */
		assert_int_equal(left, 0);
		model->events[model->event_count++] = events[i];
	}
}

static int sink_store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct model *model = ctx;
	size_t i;

	model->now_us += model->store_us;
	if (model->store_taken)
		return err_set(err, ERR_UNAVAILABLE, "another process stores sweeps");
	if (model->store_fails)
		return err_set(err, ERR_IO, "the disk is full");
	for (i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		struct model_port *port = stored_port(model, sweep->fabric, sample->port);

		port->status = sample->status;
		assert_true((sample->reading != NULL) == (sample->status == SAMPLE_OK));
		if (!sample->reading)
			continue;
		assert_own_reading(sample->reading, port);
		assert_true((sample->delta != NULL) == port->has_first);
		if (!port->has_first)
			port->first = *sample->reading;
		else
			delta_add(&port->sum, sample->delta);
		port->has_first = true;
		port->last = *sample->reading;
		port->last_wall_us = sweep->wall_us;
	}
	for (i = 0; i < sweep->detail_count; i++)
		store_detail(sweep, &sweep->details[i],
			     stored_port(model, sweep->fabric, sweep->details[i].port));
	store_events(model, sweep->events, sweep->event_count);
	store_routes(model, sweep);
	model->last_sweep = *sweep;
	model->sweeps++;
	model->knows_fabric = true;
	return 0;
}

static void restore_details(const struct model *model, size_t node, int number, struct restored *ret)
{
	const struct model_port *port = &model->nodes[node].ports[number];
	int i;

	for (i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
		if (port->details[i].has_first)
			ret->details[ret->detail_count++] = (struct restored_detail){
				.node_guid = model_guid(node), .port = (uint8_t)number,
				.reading = port->details[i].last, .wall_us = port->details[i].last_wall_us };
}

static int sink_restore(void *ctx, struct restored *ret, struct error *err)
{
	struct model *model = ctx;
	size_t i;
	int port;

	(void)err;
	if (!model->knows_fabric)
		return 0;
	ret->fabric = model_build_fabric(model, true);
	assert_int_equal(routes_copy(&model->routes, &ret->routes, NULL), 0);
	memcpy(ret->boot_id, model->last_sweep.boot_id, BOOT_ID_SIZE);
	ret->ports = calloc(MODEL_NODES * (MODEL_PORTS_MAX + 1), sizeof(*ret->ports));
	ret->details = calloc(MODEL_NODES * (MODEL_PORTS_MAX + 1) * DETAIL_ATTRIBUTE_COUNT, sizeof(*ret->details));
	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++)
			restore_details(model, i, port, ret);
	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++)
			if (model->nodes[i].ports[port].has_first)
				ret->ports[ret->port_count++] = (struct restored_port){
					.node_guid = model_guid(i), .port = (uint8_t)port,
					.reading = model->nodes[i].ports[port].last,
					.wall_us = model->nodes[i].ports[port].last_wall_us };
	return 0;
}

static int sink_store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	struct model *model = ctx;

	if (model->store_fails)
		return err_set(err, ERR_IO, "the disk is full");
	store_events(model, events, count);
	return 0;
}

static int sink_store_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	struct model *model = ctx;
	size_t i, j;

	(void)err;
	for (i = 0; i < count; i++)
		for (j = 0; j < MODEL_NODES; j++)
			if (model_guid(j) == caps[i].node_guid)
				model->nodes[j].tick_known = caps[i].caps.tick_known;
	return 0;
}

struct sink model_sink(struct model *model)
{
	return (struct sink){ .store = sink_store, .restore = sink_restore, .store_events = sink_store_events,
			      .store_caps = sink_store_caps, .ctx = model };
}

size_t model_events_of(const struct model *model, const char *kind)
{
	size_t count = 0, i;

	for (i = 0; i < model->event_count; i++)
		count += !strcmp(model->events[i].kind, kind);
	return count;
}

size_t model_check(const struct model *model)
{
	size_t exact = 0, i;
	int port, counter;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++) {
			const struct model_port *which = &model->nodes[i].ports[port];
			const struct delta *sum = &which->sum;

			if (!which->has_first || !sum->elapsed_us)
				continue;
			assert_true(sum->elapsed_us == which->last.at_us - which->first.at_us);
			for (counter = 0; counter < COUNTER_COUNT; counter++) {
				if (!(sum->known & COUNTER_BIT(counter)) ||
				    (sum->reset | sum->saturated) & COUNTER_BIT(counter))
					continue;
				assert_true(which->first.value[counter] + sum->value[counter] ==
					    which->last.value[counter]);
				exact++;
			}
		}
	return exact;
}

size_t model_check_details(const struct model *model)
{
	size_t exact = 0, i;
	int port, attribute;
	unsigned number;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++)
			for (attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
				const struct model_detail *detail = &model->nodes[i].ports[port].details[attribute];

				if (detail->reads < 2)
					continue;
				assert_true(detail->elapsed_us == detail->last.at_us - detail->first.at_us);
				for (number = 0; number < DETAIL_MAX; number++) {
					if (!(detail->last.present & 1u << number) || detail->marked & 1u << number)
						continue;
					assert_true(detail->first.value[number] + detail->sum[number] ==
						    detail->last.value[number]);
					exact++;
				}
			}
	return exact;
}

void model_check_own(const struct model *model, size_t host)
{
	const struct model_port *port = &model->nodes[host].ports[1];

	assert_true(port->has_first);
	assert_true(!port->sum.reset);
	assert_true(port->last.value[COUNTER_XMIT_DATA] == port->value[COUNTER_XMIT_DATA]);
}

uint64_t model_reads_of(const struct model *model, enum detail_attribute attribute)
{
	uint64_t reads = 0;
	size_t i;
	int port;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			reads += model->nodes[i].ports[port].details[attribute].reads;
	return reads;
}
