/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_model.h - a fabric that changes at random, and its history
 *
 * For tests and benchmarks of the store. Every step is one sweep: links and nodes disappear and
 * return, ports do not respond, counters increase, are reset, saturate and change their width; slow
 * counters are read; the host reboots and its wall clock jumps. A seed determines the history in any
 * process. What was stored is recorded, to be compared with what is read.
 */
#ifndef IBWIRE_STORAGE_TEST_MODEL_H
#define IBWIRE_STORAGE_TEST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"
#include "fabric/fabric.h"

struct reader;
struct writer;

/* The slow counters of one attribute of one port. */
struct model_detail {
	uint64_t value[DETAIL_MAX];
	uint32_t missing;  /* set of counters that are not in responses */
	uint8_t layout;
	bool has_last;
	struct detail_reading last;
	int64_t last_wall_us, last_at_us; /* as it was read, as below */
	unsigned last_boot;
};

struct model_port {
	uint32_t node;   /* index into nodes */
	uint8_t num;
	bool there;      /* in the fabric, if its node is */
	bool pollable;
	uint8_t state;
	uint32_t peer;   /* index into ports, FABRIC_NONE */
	counter_set present, wide;
	uint64_t value[COUNTER_COUNT];
	bool has_last;
	struct reading last;
	int64_t last_wall_us, last_start_us; /* of its sweep */
	int64_t last_at_us;   /* last.at_us as it was read; model_reboot() converts last */
	unsigned last_boot;   /* boot of last_at_us */
	enum sample_status mood; /* its status until it changes */
	struct model_detail details[DETAIL_ATTRIBUTE_COUNT];
};

struct model_node {
	struct node node;
	bool there;
};

/* One port in one sweep. */
struct model_truth {
	bool sampled, has_delta, has_reading;
	enum sample_status status;
	struct delta delta;
	struct reading reading; /* the last one, of this or an earlier sweep */
	int64_t last_wall_us;   /* the start of its sweep by the clock of this one; of another boot by its own */
};

/* One attribute of slow counters that a sweep read. */
struct model_detail_truth {
	uint32_t port; /* index into ports */
	struct detail_reading reading;
	int64_t wall_us;
	bool has_delta;
	struct detail_delta delta;
};

struct model_sweep {
	int64_t wall_us;
	int64_t ports_unfinished, spread_us, node_spread_us; /* -1: not known */
	struct fabric *fabric; /* of its generation (borrowed) */
	struct model_truth *truth; /* by port; NULL unless keep_history */
	struct model_detail_truth *details;
	size_t detail_count;
};

struct model {
	uint64_t random, detail_random;
	bool calm;         /* no faults: every port read, topology fixed; slow counters of a sixtieth of them */
	bool no_details;   /* no slow counters */
	bool keep_history;
	struct model_node *nodes;
	size_t node_count;
	struct model_port *ports;
	size_t port_count;
	int64_t boot_us, wall_us;
	unsigned boot, swept_boot; /* now, and at the newest sweep */
	char boot_id[BOOT_ID_SIZE];
	struct fabric **fabrics;
	size_t fabric_count;
	uint32_t *index_of; /* by port: index in the newest fabric */
	struct sweep sweep; /* the newest, ready to be stored */
	struct port_sample *samples;
	struct reading *readings;
	struct delta *deltas;
	struct detail_sample *detail_samples;
	struct model_detail_truth *details; /* of the newest sweep */
	struct event event;
	struct model_sweep *sweeps;
	size_t sweep_count, sweep_capacity;
};

/*
 * model_create - a fabric of @switches switches of @radix ports with @hosts CAs of two ports
 * Aborts if memory is exhausted.
 */
struct model *model_create(uint64_t seed, size_t switches, uint8_t radix, size_t hosts);
void model_destroy(struct model *model);

uint64_t model_random(struct model *model, uint64_t below);

/* model_step - the next sweep. Return: it (borrowed, until the next step). */
const struct sweep *model_step(struct model *model);

/* model_sample_details - the part of a step that reads slow counters. */
void model_sample_details(struct model *model);

/* model_reboot - reboot the host: another boot id, CLOCK_BOOTTIME starts again. */
void model_reboot(struct model *model);

/* model_jump - let the wall clock jump. */
void model_jump(struct model *model, int64_t by_us);

#endif
