/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/scenarios/feeder.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* How often tables are read while nothing changes: as `ibwire collect` does. */
#define TABLES_EVERY_US INT64_C(60000000)

/* The same of subnet managers. */
#define MASTERS_EVERY_US INT64_C(60000000)

int feeder_init(struct feeder *feeder, struct virtual *world, struct error *err)
{
	size_t ports = virtual_built(world)->port_count + 1, nodes = virtual_built(world)->node_count + 1;

	*feeder = (struct feeder){ .world = world };
	feeder->last = calloc(ports, sizeof(*feeder->last));
	feeder->has_last = calloc(ports, sizeof(*feeder->has_last));
	feeder->deltas = calloc(ports, sizeof(*feeder->deltas));
	feeder->samples = calloc(ports, sizeof(*feeder->samples));
	feeder->caps = calloc(nodes, sizeof(*feeder->caps));
	feeder->wanted = calloc(nodes, sizeof(*feeder->wanted));
	feeder->read_guids = calloc(nodes, sizeof(*feeder->read_guids));
	feeder->changed_guids = calloc(nodes, sizeof(*feeder->changed_guids));
	feeder->changed_entries = calloc(nodes, sizeof(*feeder->changed_entries));
	if (!feeder->last || !feeder->has_last || !feeder->deltas || !feeder->samples || !feeder->caps ||
	    !feeder->wanted || !feeder->read_guids || !feeder->changed_guids || !feeder->changed_entries) {
		feeder_done(feeder);
		return err_nomem(err);
	}
	return 0;
}

void feeder_done(struct feeder *feeder)
{
	shape_destroy(feeder->shape);
	routes_done(&feeder->routes);
	free(feeder->last);
	free(feeder->has_last);
	free(feeder->deltas);
	free(feeder->samples);
	free(feeder->caps);
	free(feeder->wanted);
	free(feeder->read_guids);
	free(feeder->changed_guids);
	free(feeder->changed_entries);
	memset(feeder, 0, sizeof(*feeder));
}

/* As agents of their kind say: switches of Quantum's with 64-bit errors and a tick of 8 bytes, HCAs without both. */
static void fill_caps(struct feeder *feeder, const struct fabric *seen)
{
	size_t i;

	for (i = 0; i < seen->node_count; i++) {
		bool is_switch = seen->nodes[i].type == NODE_SWITCH;

		feeder->caps[i] = (struct pma_caps){
			.known = true, .cap_mask = is_switch ? 0x5300 : 0x5a00, .cap_mask2 = is_switch ? 0x2 : 0,
			.tick_known = is_switch, .tick = is_switch ? 7 : 0,
		};
	}
}

/* A switch's table, block by block. Return: how many entries are others than before; ERR_NOMEM. */
static int64_t read_table(struct feeder *feeder, uint32_t node, struct error *err)
{
	uint64_t guid = virtual_built(feeder->world)->nodes[node].guid;
	const struct route_table *table = routes_find(virtual_tables(feeder->world), guid);
	int64_t changed = 0;
	uint32_t lid;

	for (lid = 0; table && lid < table->lids; lid += ROUTES_BLOCK) {
		unsigned differ = 0;

		if (routes_set_block(&feeder->routes, guid, lid / ROUTES_BLOCK, table->ports + lid, &differ, err) < 0)
			return ERR_NOMEM;
		changed += differ;
	}
	return changed;
}

static bool is_wanted(const struct feeder *feeder, uint64_t guid)
{
	size_t i;

	for (i = 0; i < feeder->wanted_count; i++)
		if (feeder->wanted[i] == guid)
			return true;
	return false;
}

/* All of them, or those that were asked for. */
static int read_tables(struct feeder *feeder, const struct virtual_sweep *sweep, bool all, struct error *err)
{
	const struct fabric *built = virtual_built(feeder->world);
	uint32_t i;

	for (i = 0; i < built->node_count; i++) {
		uint64_t guid = built->nodes[i].guid;
		int64_t changed;

		if (built->nodes[i].type != NODE_SWITCH || fabric_find_node(sweep->seen, guid) == FABRIC_NONE ||
		    !(all || is_wanted(feeder, guid)))
			continue;
		changed = read_table(feeder, i, err);
		if (changed < 0)
			return ERR_NOMEM;
		feeder->read_guids[feeder->read_count++] = guid;
		if (!changed || !feeder->read_once)
			continue;
		feeder->changed_guids[feeder->changed_count] = guid;
		feeder->changed_entries[feeder->changed_count++] = (uint32_t)changed;
		feeder->changed_us = sweep->wall_us;
	}
	feeder->read_once |= all;
	if (all)
		feeder->read_us = sweep->boot_us;
	return 0;
}

/* Who says that it is master is asked as the collector does: once a minute, and with every sweep while two do. */
static unsigned ask_masters(struct feeder *feeder, const struct virtual_sweep *sweep)
{
	if (!feeder->masters_us || feeder->masters > 1 || sweep->boot_us - feeder->masters_us >= MASTERS_EVERY_US) {
		feeder->masters = sweep->sm_masters;
		feeder->masters_us = sweep->boot_us;
	}
	return feeder->masters;
}

void feeder_want(struct feeder *feeder, const uint64_t *guids, size_t count)
{
	if (count)
		memcpy(feeder->wanted, guids, count * sizeof(*guids));
	feeder->wanted_count = count;
}

static enum sample_status status_of(uint8_t word)
{
	static const enum sample_status statuses[] = {
		[VIRTUAL_READ] = SAMPLE_OK, [VIRTUAL_SILENT] = SAMPLE_SILENT, [VIRTUAL_BACKOFF] = SAMPLE_BACKOFF,
		[VIRTUAL_DOWN] = SAMPLE_DOWN, [VIRTUAL_UNFINISHED] = SAMPLE_UNFINISHED,
	};

	return statuses[word];
}

static void take_samples(struct feeder *feeder, const struct virtual_sweep *sweep)
{
	size_t i;

	for (i = 0; i < sweep->sample_count; i++) {
		const struct virtual_sample *from = &sweep->samples[i];
		struct health_sample *to = &feeder->samples[i];

		*to = (struct health_sample){ .port = from->port, .status = status_of(from->word) };
		if (from->word != VIRTUAL_READ)
			continue;
		if (feeder->has_last[from->built]) {
			delta_between(&feeder->last[from->built], &from->reading, &feeder->deltas[i]);
			to->delta = &feeder->deltas[i];
		}
		feeder->last[from->built] = from->reading;
		feeder->has_last[from->built] = true;
	}
}

int feeder_step(struct feeder *feeder, int64_t interval_us, struct health_input *ret, struct error *err)
{
	struct virtual_sweep *sweep = &feeder->sweep;
	int code = virtual_step(feeder->world, sweep, err);

	if (code < 0)
		return code;
	if (sweep->topology_changed || !feeder->shape) {
		shape_destroy(feeder->shape);
		feeder->shape = NULL;
		code = shape_create(sweep->seen, NULL, &feeder->shape, err);
		if (code < 0)
			return code;
		fill_caps(feeder, sweep->seen);
	}
	feeder->changed_count = feeder->read_count = 0;
	code = read_tables(feeder, sweep, sweep->topology_changed ||
			   sweep->boot_us - feeder->read_us >= TABLES_EVERY_US, err);
	if (code < 0)
		return code;
	feeder->wanted_count = 0;
	take_samples(feeder, sweep);
	*ret = (struct health_input){
		.wall_us = sweep->wall_us, .boot_us = sweep->boot_us, .interval_us = interval_us,
		.fabric = sweep->seen, .shape = feeder->shape, .routes = &feeder->routes,
		.routes_changed_us = feeder->changed_us, .routes_changed_guids = feeder->changed_guids,
		.routes_changed_count = feeder->changed_count, .routes_changed_entries = feeder->changed_entries,
		.routes_read_guids = feeder->read_guids, .routes_read_count = feeder->read_count,
		.topology_changed = sweep->topology_changed, .samples = feeder->samples,
		.sample_count = sweep->sample_count, .locked_guids = sweep->locked_guids,
		.locked_count = sweep->locked_count, .sm_known = sweep->sm_known, .sm_guid = sweep->sm_guid,
		.sm_masters = ask_masters(feeder, sweep), .caps = feeder->caps,
	};
	return 0;
}
