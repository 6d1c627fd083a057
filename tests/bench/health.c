/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long health takes for a sweep of 65,536 port ends: a step, a step that ends a
 * window (congestion and rails), what balance adds to that, and a step with another topology.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/health.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "sim/net_shape.h"
#include "tests/bench/figure.h"

enum { SWEEPS = 200, WINDOW_SWEEPS = 6, INTERVAL_US = 10000000 };

struct bed {
	struct fabric *fabric;
	struct shape *shape;
	struct health_sample *samples;
	struct delta *deltas;
	struct pma_caps *caps;
	size_t count;
	struct times steps, windows, topologies;
};

static void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void make_bed(struct bed *bed)
{
	struct net_shape net = net_shape_default(NET_SHAPE_RAIL);
	struct error err = { 0 };
	uint32_t i;

	/* 1,984 hosts of 8 HCAs: 15,872 links down and as many up, so 63,488 port ends. */
	net.units = 31;
	net.hosts = 64;
	net.spines = 64;
	net.management = 0;
	net.speed = LINK_SPEED_NDR;
	if (net_shape_build(&net, &bed->fabric, &err) < 0 || shape_create(bed->fabric, NULL, &bed->shape, &err) < 0)
		die(err.text);
	bed->samples = calloc(bed->fabric->port_count, sizeof(*bed->samples));
	bed->deltas = calloc(bed->fabric->port_count, sizeof(*bed->deltas));
	bed->caps = calloc(bed->fabric->node_count, sizeof(*bed->caps));
	if (!bed->samples || !bed->deltas || !bed->caps)
		die("no memory");
	for (i = 0; i < bed->fabric->node_count; i++)
		bed->caps[i] = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	for (i = 0; i < bed->fabric->port_count; i++) {
		if (!port_is_pollable(bed->fabric, &bed->fabric->ports[i]) || bed->fabric->ports[i].peer == FABRIC_NONE)
			continue;
		bed->samples[bed->count] = (struct health_sample){ i, SAMPLE_OK, &bed->deltas[bed->count] };
		bed->count++;
	}
}

/* A busy sweep: all ports carry something, one in fifty counts an error now and then, one in a thousand discards. */
static void fill(struct bed *bed, unsigned sweep)
{
	size_t i;

	for (i = 0; i < bed->count; i++) {
		struct delta *delta = &bed->deltas[i];

		*delta = (struct delta){ .elapsed_us = INTERVAL_US, .known = COUNTER_BIT(COUNTER_COUNT) - 1 };
		delta->value[COUNTER_XMIT_DATA] = delta->value[COUNTER_RCV_DATA] = 30000000000 + i * 7919 % 1000000000;
		delta->value[COUNTER_XMIT_WAIT] = i * 31 % 1000000;
		delta->value[COUNTER_SYMBOL_ERRORS] = i % 50 == 0 && (i / 50 + sweep) % 100 == 0;
		delta->value[COUNTER_XMIT_DISCARDS] = i % 1000 == 0 ? 5 : 0;
	}
}

static void tell(void *ctx, enum health_change change, struct finding *finding)
{
	unsigned *told = ctx;

	(void)finding;
	told[change]++;
}

static void measure(struct bed *bed)
{
	struct health_settings settings;
	struct health *health;
	const struct finding *const *open;
	unsigned told[3] = { 0 }, i;

	health_settings_default(&settings);
	health = health_create(&settings);
	if (!health)
		die("no memory");
	for (i = 0; i < SWEEPS; i++) {
		struct health_input input = {
			.wall_us = 1700000000000000 + (int64_t)i * INTERVAL_US,
				.boot_us = 1000000000 + (int64_t)i * INTERVAL_US,
			.interval_us = INTERVAL_US, .fabric = bed->fabric, .shape = bed->shape, .samples = bed->samples,
			.sample_count = bed->count, .sm_known = true, .sm_guid = 1, .sm_masters = 1, .caps = bed->caps,
			.topology_changed = i % 50 == 25,
		};
		int64_t before, took;

		fill(bed, i);
		before = cpu_us();
		if (health_step(health, &input, tell, told, NULL) < 0)
			die("no memory");
		took = cpu_us() - before;
		times_add(!i || input.topology_changed ? &bed->topologies :
			  i % WINDOW_SWEEPS ? &bed->steps : &bed->windows, took);
	}
	printf("# %zu port ends, %u findings opened, %u closed, %zu open at the end\n", bed->count, told[HEALTH_OPENED],
	       told[HEALTH_CLOSED], health_open(health, &open));
	health_destroy(health);
}

int main(void)
{
	struct bed bed = { 0 };

	make_bed(&bed);
	measure(&bed);
	figure("health, a step", times_at_ms(&bed.steps, 50), "ms", 60, NULL, 0);
	figure("health, the slowest of those", times_at_ms(&bed.steps, 100), "ms", 0, NULL, 0);
	figure("health, a step that ends a window", times_at_ms(&bed.windows, 50), "ms", 0, NULL, 0);
	figure("health, a step with another topology", times_at_ms(&bed.topologies, 50), "ms", 0, NULL, 0);
	times_done(&bed.steps);
	times_done(&bed.windows);
	times_done(&bed.topologies);
	shape_destroy(bed.shape);
	fabric_destroy(bed.fabric);
	free(bed.samples);
	free(bed.deltas);
	free(bed.caps);
	return 0;
}
