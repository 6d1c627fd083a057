/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance.c - what it costs to judge all groups of a large fabric in one window
 *
 * 5,760 hosts in three tiers, and 11,264 of them with 67,584 port ends; every group busy, with even tables, and with
 * tables and loads that make every leaf suspect. Prints milliseconds of CPU time: the shortest of 21, the median,
 * and the longest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fabric/fabric.h"
#include "tests/balance/bed.h"

enum { ROUNDS = 21 };

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void load_all(struct bed *bed, double from, double to)
{
	size_t i;

	for (i = 0; i < bed->fabric->port_count; i++) {
		double capacity = (double)port_rate_bits_per_s(&bed->fabric->ports[i]) / 8e6 * BED_WINDOW_US;

		bed->loads[i] = (struct balance_load){
			.known = true, .elapsed_us = BED_WINDOW_US, .stall = bed_below(bed, 100) / 1e3,
			.xmit_bytes = capacity * (from + (to - from) * bed_below(bed, 1000) / 1e3),
			.rcv_bytes = capacity * (from + (to - from) * bed_below(bed, 1000) / 1e3),
		};
	}
}

static void measure(struct bed *bed, const char *what)
{
	struct balance_input input = { .shape = bed->shape, .routes = &bed->routes, .loads = bed->loads,
				       .window_us = BED_WINDOW_US };
	double judge_ms[ROUNDS], step_ms[ROUNDS], began;
	size_t round, causes = 0, i;
	struct balance balance;

	for (round = 0; round < ROUNDS; round++) {
		began = now_ms();
		if (balance_evaluate(&input, &bed->settings, &balance, NULL) < 0)
			exit(1);
		judge_ms[round] = now_ms() - began;
		began = now_ms();
		if (balance_memory_step(bed->memory, bed->shape, &bed->settings, &balance, NULL) < 0)
			exit(1);
		step_ms[round] = now_ms() - began;
		for (i = 0, causes = 0; i < balance.count; i++)
			causes += balance.results[i].cause != BALANCE_NONE;
		balance_done(&balance);
	}
	qsort(judge_ms, ROUNDS, sizeof(judge_ms[0]), compare);
	qsort(step_ms, ROUNDS, sizeof(step_ms[0]), compare);
	printf("%-12s judge %5.1f %5.1f %5.1f ms, memory %4.1f %4.1f %4.1f ms; %zu results, %zu with a cause\n", what,
	       judge_ms[0], judge_ms[ROUNDS / 2], judge_ms[ROUNDS - 1], step_ms[0], step_ms[ROUNDS / 2],
	       step_ms[ROUNDS - 1], 2 * bed->shape->group_count, causes);
}

static void measure_fabric(unsigned pods, unsigned leafs, unsigned hosts, unsigned spines, unsigned cores)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE3);
	struct bed bed;
	uint32_t i;

	shape.units = pods;
	shape.leafs = leafs;
	shape.hosts = hosts;
	shape.spines = spines;
	shape.cores = cores;
	shape.management = 0;
	shape.speed = LINK_SPEED_NDR;
	bed_init(&bed, &shape, 1);
	printf("%zu nodes, %zu port ends\n", bed.fabric->node_count, 2 * fabric_count_links(bed.fabric));
	load_all(&bed, 0.5, 0.55);
	measure(&bed, "even");
	for (i = 0; i < bed.fabric->node_count; i++)
		if (bed.shape->nodes[i].tier == 1)
			bed_skew(&bed, bed.shape->members[bed.shape->groups[bed.shape->nodes[i].up_group].first], 0.5);
	bed_publish(&bed);
	load_all(&bed, 0, 1);
	measure(&bed, "all suspect");
	bed_done(&bed);
}

int main(void)
{
	/* As many hosts as have all their ways followed (BALANCE_STEPS_MOST), and more. */
	measure_fabric(12, 15, 32, 15, 150);
	measure_fabric(22, 16, 32, 16, 256);
	return 0;
}
