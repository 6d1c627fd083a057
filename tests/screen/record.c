/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/screen/record.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "storage/writer.h"
#include "tests/scenarios/feeder.h"
#include "tests/scenarios/judge.h"

struct recording {
	struct feeder feeder;
	struct health *health;
	struct events events;
	struct port_sample *samples;
	struct route_block *blocks;
	size_t block_count, block_capacity;
	uint64_t generation;
	int64_t shift_us;  /* from the scenario's clock to the wall */
	int64_t wall_us;   /* of the sweep in hand */
	bool routes_stored;
};

static void tell(void *ctx, enum health_change change, struct finding *finding)
{
	static const char *const kinds[] = { EVENT_FINDING_OPENED, EVENT_FINDING_CHANGED, EVENT_FINDING_CLOSED };
	struct recording *recording = ctx;
	struct event *event = events_add(&recording->events, recording->wall_us, kinds[change],
					 change == HEALTH_CLOSED ? EVENT_INFO : (enum event_severity)finding->severity,
					 NULL, FABRIC_NONE, 0, "%s %s: %s", finding_kind_name(finding->kind),
					 finding->subject, finding->text);

	event->node_guid = finding->node_guid;
	event->port = finding->port;
	event->peer_guid = finding->peer_guid;
	event->peer_port = finding->peer_port;
}

/* All blocks of the tables that changed; at first of all that were read. */
static int gather_blocks(struct recording *recording, const struct health_input *input, struct error *err)
{
	const uint64_t *guids = recording->routes_stored ? input->routes_changed_guids : input->routes_read_guids;
	size_t count = recording->routes_stored ? input->routes_changed_count : input->routes_read_count, i;

	recording->block_count = 0;
	for (i = 0; i < count; i++) {
		const struct route_table *table = routes_find(input->routes, guids[i]);
		uint32_t lid;

		for (lid = 0; table && lid < table->lids; lid += ROUTES_BLOCK) {
			struct route_block *blocks = array_grow(recording->blocks, recording->block_count,
								&recording->block_capacity, sizeof(*blocks));

			if (!blocks)
				return err_nomem(err);
			recording->blocks = blocks;
			recording->blocks[recording->block_count++] =
				(struct route_block){ guids[i], (uint16_t)(lid / ROUTES_BLOCK) };
		}
		if (recording->routes_stored)
			events_add(&recording->events, recording->wall_us, EVENT_ROUTES_CHANGED, EVENT_INFO,
				   input->fabric, fabric_find_node(input->fabric, guids[i]), 0,
				   "LFT changed: %u entries", input->routes_changed_entries[i]);
	}
	recording->routes_stored |= count > 0;
	return 0;
}

static void gather_samples(struct recording *recording, const struct health_input *input, struct sweep *sweep)
{
	const struct feeder *feeder = &recording->feeder;
	size_t i;

	for (i = 0; i < input->sample_count; i++) {
		const struct health_sample *from = &input->samples[i];
		bool read = from->status == SAMPLE_OK;

		recording->samples[i] = (struct port_sample){
			.port = from->port, .status = from->status, .delta = from->delta,
			.reading = read ? &feeder->last[feeder->sweep.samples[i].built] : NULL,
		};
		sweep->ports_answered += read;
		sweep->ports_asked += read || from->status == SAMPLE_SILENT || from->status == SAMPLE_UNFINISHED;
	}
	sweep->samples = recording->samples;
	sweep->sample_count = sweep->ports_planned = (uint32_t)input->sample_count;
}

static int store_caps(const struct recording *recording, const struct sink *sink, const struct fabric *fabric,
		      struct error *err)
{
	struct restored_caps *caps = calloc(fabric->node_count + 1, sizeof(*caps));
	int code;

	if (!caps)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->node_count; i++)
		caps[i] = (struct restored_caps){ fabric->nodes[i].guid, recording->feeder.caps[i] };
	code = sink->store_caps(sink->ctx, caps, fabric->node_count, err);
	free(caps);
	return code;
}

static int record_sweep(struct recording *recording, const struct sink *sink, int64_t interval_us, struct error *err)
{
	struct health_input input;
	struct sweep sweep = { .interval_us = interval_us, .boot_id = "00000000-0000-0000-0000-000000000001" };
	const uint64_t *wanted;
	size_t count;
	int code = feeder_step(&recording->feeder, interval_us, &input, err);

	if (code < 0)
		return code;
	input.wall_us += recording->shift_us;
	if (input.routes_changed_us)
		input.routes_changed_us += recording->shift_us;
	recording->wall_us = input.wall_us;
	events_clear(&recording->events);
	code = health_step(recording->health, &input, tell, recording, err);
	if (code == 0)
		code = gather_blocks(recording, &input, err);
	if (code < 0)
		return code;
	count = health_wants_tables(recording->health, &wanted);
	feeder_want(&recording->feeder, wanted, count);
	recording->generation += input.topology_changed || !recording->generation;
	gather_samples(recording, &input, &sweep);
	sweep.wall_us = input.wall_us;
	sweep.end_us = input.boot_us;
	sweep.start_us = input.boot_us - 31 * US_PER_MS;
	sweep.mads_sent = 2 * sweep.ports_asked;
	sweep.sm = (struct sm_state){ input.sm_known, 1, input.sm_guid, 3, 14, (uint32_t)(input.boot_us / US_PER_S) };
	sweep.fabric = input.fabric;
	sweep.generation = recording->generation;
	sweep.events = recording->events.list;
	sweep.event_count = recording->events.count;
	sweep.finding_count = health_open(recording->health, &sweep.findings);
	sweep.routes = input.routes;
	sweep.route_blocks = recording->blocks;
	sweep.route_block_count = recording->block_count;
	code = sink->store(sink->ctx, &sweep, err);
	if (code == 0 && input.topology_changed)
		code = store_caps(recording, sink, input.fabric, err);
	return code;
}

static int play(const struct scenario *scenario, struct virtual *world, const struct sink *sink, int64_t end_us,
		struct error *err)
{
	struct recording recording = { .shift_us = end_us - virtual_wall_us(world, scenario->length_us) };
	struct health_settings settings;
	int code = feeder_init(&recording.feeder, world, err);
	int64_t at_us;

	health_settings_default(&settings);
	recording.health = health_create(&settings);
	recording.samples = calloc(virtual_built(world)->port_count + 1, sizeof(*recording.samples));
	if (code == 0 && (!recording.health || !recording.samples))
		code = err_nomem(err);
	for (at_us = 0; code == 0 && at_us < scenario->length_us; at_us += scenario->interval_us)
		code = record_sweep(&recording, sink, scenario->interval_us, err);
	feeder_done(&recording.feeder);
	health_destroy(recording.health);
	events_done(&recording.events);
	free(recording.samples);
	free(recording.blocks);
	return code;
}

int record_scenario(const char *file, const char *path, int64_t end_us, struct error *err)
{
	struct scenario scenario = { 0 };
	struct virtual *world = NULL;
	struct writer *writer = NULL;
	int code = judge_load(file, &scenario, err);

	if (code < 0)
		return code;
	code = scenario_begin(&scenario, &world, err);
	if (code == 0)
		code = writer_open(path, &writer, err);
	if (code == 0)
		code = play(&scenario, world, writer_sink(writer), end_us, err);
	writer_close(writer);
	virtual_destroy(world);
	scenario_done(&scenario);
	return code;
}
