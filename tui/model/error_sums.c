/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/error_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

static uint64_t key_of(uint64_t node_guid, uint8_t port)
{
	return map_mix(node_guid) ^ port;
}

const struct error_sum *error_sums_find(const struct error_sums *sums, uint64_t node_guid, uint8_t port)
{
	uint32_t index;

	return map_get(&sums->by_port, key_of(node_guid, port), &index) ? &sums->sums[index] : NULL;
}

/* The sum of a port, made where it had none. Return: NULL where there is no memory. */
static struct error_sum *sum_of(struct error_sums *sums, uint64_t node_guid, uint8_t port)
{
	struct error_sum *grown;
	uint32_t index;

	if (map_get(&sums->by_port, key_of(node_guid, port), &index))
		return &sums->sums[index];
	grown = array_grow(sums->sums, sums->count, &sums->capacity, sizeof(*grown));
	if (!grown)
		return NULL;
	sums->sums = grown;
	if (map_put(&sums->by_port, key_of(node_guid, port), (uint32_t)sums->count) < 0)
		return NULL;
	sums->sums[sums->count] = (struct error_sum){ .node_guid = node_guid, .port = port };
	return &sums->sums[sums->count++];
}

static bool moved(const struct delta *delta)
{
	unsigned i;

	if (delta->saturated & delta->known & COUNTER_ERROR_SET)
		return true;
	for (i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		if (delta->known & COUNTER_BIT(i) && delta->value[i])
			return true;
	return false;
}

int error_sums_add(struct error_sums *sums, const struct snapshot *snapshot, struct error *err)
{
	const struct fabric *fabric = snapshot->fabric;
	size_t port;
	unsigned i;

	if (!sums->since_wall_us)
		sums->since_wall_us = snapshot->sweep.wall_us;
	for (port = 0; port < fabric->port_count; port++) {
		const struct delta *delta = &snapshot->rows[port].sum;
		struct error_sum *sum;

		if (!(delta->known & COUNTER_ERROR_SET) || !moved(delta))
			continue;
		sum = sum_of(sums, fabric->nodes[fabric->ports[port].node].guid, fabric->ports[port].num);
		if (!sum)
			return err_nomem(err);
		for (i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++) {
			if (!(delta->known & COUNTER_BIT(i)))
				continue;
			sum->value[i - COUNTER_TRAFFIC_COUNT] += delta->value[i];
			if (ERRORS_COUNTED & COUNTER_BIT(i))
				sum->total += delta->value[i];
		}
		sum->full = (sum->full & ~delta->known) | (delta->saturated & delta->known & COUNTER_ERROR_SET);
		sum->at_least |= ((delta->reset | delta->saturated) & delta->known & ERRORS_COUNTED) != 0;
	}
	return 0;
}

void error_sums_done(struct error_sums *sums)
{
	free(sums->sums);
	map_done(&sums->by_port);
	memset(sums, 0, sizeof(*sums));
}
