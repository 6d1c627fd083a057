/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_truth.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/write/writer_internal.h"

struct truth truth;

int64_t truth_label_us(int64_t sweep)
{
	return truth.model->sweeps[sweep - 1].wall_us;
}

bool truth_delta(uint32_t port, int64_t sweep, struct delta *ret)
{
	const struct model_truth *found = &truth.model->sweeps[sweep - 1].truth[port];

	*ret = found->delta;
	return found->has_delta;
}

static void add_truth(struct port_sum *sum, const struct delta *delta)
{
	sum->sum.known = sum->samples++ ? sum->sum.known & delta->known : delta->known;
	sum->ever |= delta->known;
	sum->sum.elapsed_us += delta->elapsed_us;
	sum->sum.reset |= delta->reset;
	sum->sum.saturated |= delta->saturated;
	for (int i = 0; i < COUNTER_COUNT; i++) {
		uint64_t left = UINT64_MAX - sum->sum.value[i];

		sum->sum.value[i] += delta->value[i] < left ? delta->value[i] : left;
	}
}

static void add_sweep(int64_t id)
{
	struct delta delta;

	for (uint32_t port = 0; port < PORTS; port++) {
		const struct model_truth *found = &truth.model->sweeps[id - 1].truth[port];

		for (int i = 0; i < MOMENTS; i++) {
			if (truth.moments[i].sweep != id)
				continue;
			truth.moments[i].there[port] = found->has_reading;
			truth.moments[i].readings[port] = found->reading;
		}
		if (!truth_delta(port, id, &delta))
			continue;
		truth.samples++;
		for (int i = 0; i < RANGES; i++)
			if (id > truth.ranges[i].after && id <= truth.ranges[i].until)
				add_truth(&truth.ranges[i].sums[port], &delta);
	}
}

/* Store all sweeps without compaction, as if its thread could not be started. */
static void store_all(void)
{
	struct writer *writer = check_open_writer(path);

	writer->compactor_pause = UINT_MAX;
	for (int64_t id = 1; id <= truth.sweeps; id++) {
		check_store(writer, model_step(truth.model));
		/* Some hours in all; labels are unevenly spaced. */
		model_jump(truth.model, 20000000 + (int64_t)model_random(truth.model, 20000000));
		add_sweep(id);
	}
	memset(truth.port_of_id, 0xff, sizeof(truth.port_of_id));
	for (uint32_t port = 0; port < PORTS; port++) {
		const struct model_port *one = &truth.model->ports[port];
		uint32_t node = writer_cache_find_node(&writer->cache, truth.model->nodes[one->node].node.guid);
		uint32_t id = node ? writer_cache_find_port(&writer->cache, node, one->num) : 0;

		if (id && one->pollable)
			truth.port_of_id[id] = port;
	}
	writer_close(writer);
}

void truth_make(int64_t sweeps)
{
	truth.sweeps = sweeps;
	for (int i = 0; i < RANGES; i++) {
		uint64_t random = map_mix((uint64_t)i + 1);

		truth.ranges[i].after = i ? (int64_t)(random % (uint64_t)truth.sweeps) : 0;
		truth.ranges[i].until = i ? truth.ranges[i].after + 1 +
			(int64_t)(map_mix(random) % (uint64_t)(truth.sweeps - truth.ranges[i].after)) : truth.sweeps;
	}
	for (int i = 0; i < MOMENTS; i++)
		truth.moments[i].sweep = i ? 1 + (int64_t)(map_mix((uint64_t)i) % (uint64_t)sweeps) : sweeps;
	truth.model = model_create(1, SWITCHES, RADIX, HOSTS);
	assert_int_equal(truth.model->port_count, PORTS);
	truth.model->keep_history = truth.model->no_details = true;
	store_all();
}

void truth_forget(void)
{
	model_destroy(truth.model);
}
