/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_truth.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/test/test_check.h"
#include "storage/test/test_extremes.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "storage/write/writer_internal.h"

enum { NODES = 8, RADIX = PORTS / NODES };

#define BEGIN_US INT64_C(1795046400000000)

struct truth truth;

static struct fabric *fabric;
static uint32_t index_of[PORTS]; /* in fabric->ports */
static struct moment now;

int64_t truth_label_us(int64_t sweep)
{
	return BEGIN_US + sweep * EXTREME_INTERVAL_US + (int64_t)(map_mix((uint64_t)sweep) % 20000000);
}

/* By hand: the store adds up by other means in each of its paths. */
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

static void build_fabric(void)
{
	fabric = fabric_create(NULL);
	assert_non_null(fabric);
	for (unsigned i = 0; i < NODES; i++) {
		struct node node = { .guid = map_mix(i + 1), .type = NODE_SWITCH, .port_count = RADIX,
				     .lid = (uint16_t)(i + 1) };

		snprintf(node.desc, sizeof(node.desc), "switch%u", i);
		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		for (unsigned num = 0; num <= RADIX; num++) {
			struct port port = { .num = (uint8_t)num, .state = PORT_ACTIVE, .phys_state = PHYS_LINK_UP,
					     .speed = LINK_SPEED_HDR, .width = LINK_WIDTH_4X, .peer = FABRIC_NONE };
			int64_t at = fabric_add_port(fabric, &port, NULL);

			assert_true(at >= 0);
			if (num)
				index_of[i * RADIX + num - 1] = (uint32_t)at;
		}
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = 0;
	fabric->from_port = 1;
}

/* By hand as well. */
static void count_on(struct reading *reading, const struct delta *delta)
{
	reading->at_us += delta->elapsed_us;
	for (int i = 0; i < COUNTER_COUNT; i++)
		reading->value[i] = delta->value[i] + (delta->reset & COUNTER_BIT(i) ? 0 : reading->value[i]);
}

/* One port's part of a sweep, and what its counters read then. */
static bool take_sample(uint32_t port, const struct sweep *sweep, int64_t id, struct port_sample *sample,
			struct delta *delta)
{
	struct reading *reading = &now.readings[port];
	enum extreme what = extreme_sample(port, id, delta);

	*sample = (struct port_sample){ .port = index_of[port], .status = SAMPLE_SILENT };
	if (what == EXTREME_DELTA && !now.there[port])
		fail_msg("port %u counts before it was read", port);
	if (what == EXTREME_UNSAMPLED || what == EXTREME_SILENT)
		return what == EXTREME_SILENT;
	if (what == EXTREME_DELTA) {
		count_on(reading, delta);
		truth.samples++;
		for (int i = 0; i < RANGES; i++)
			if (id > truth.ranges[i].after && id <= truth.ranges[i].until)
				add_truth(&truth.ranges[i].sums[port], delta);
	} else {
		reading->at_us = sweep->start_us;
		for (int i = 0; i < COUNTER_COUNT; i++)
			reading->value[i] = map_mix((uint64_t)id * 64 + (uint64_t)i);
	}
	reading->present = reading->wide = COUNTER_ALL_SET;
	now.there[port] = true;
	sample->status = SAMPLE_OK;
	sample->reading = reading;
	sample->delta = what == EXTREME_DELTA ? delta : NULL;
	return true;
}

/* All of it, and nothing is compacted: as if the thread could not be started. */
static void store_all(void)
{
	static struct port_sample taken[PORTS];
	static struct delta deltas[PORTS];
	struct sweep sweep = { .fabric = fabric, .generation = 1, .interval_us = EXTREME_INTERVAL_US,
			       .samples = taken };
	struct writer *writer = check_open_writer(path);

	writer->compactor_pause = UINT_MAX;
	snprintf(sweep.boot_id, sizeof(sweep.boot_id), "11111111-2222-4333-8444-555555555555");
	for (int64_t id = 1; id <= truth.sweeps; id++) {
		sweep.wall_us = truth_label_us(id);
		sweep.start_us = sweep.end_us = id * EXTREME_INTERVAL_US;
		sweep.sample_count = 0;
		for (uint32_t port = 0; port < PORTS; port++)
			sweep.sample_count += take_sample(port, &sweep, id, &taken[sweep.sample_count], &deltas[port]);
		sweep.ports_planned = sweep.ports_asked = sweep.ports_answered = (uint32_t)sweep.sample_count;
		check_store(writer, &sweep);
		for (int i = 0; i < MOMENTS; i++) {
			if (truth.moments[i].sweep != id)
				continue;
			truth.moments[i] = now;
			truth.moments[i].sweep = id;
		}
	}
	memset(truth.port_of_id, 0xff, sizeof(truth.port_of_id));
	for (uint32_t port = 0; port < PORTS; port++) {
		assert_in_range(writer->port_ids[index_of[port]], 1, IDS - 1);
		truth.port_of_id[writer->port_ids[index_of[port]]] = port;
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
	build_fabric();
	store_all();
}

void truth_forget(void)
{
	fabric_destroy(fabric);
}
