/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_sample.h - a fabric with generated counters, for tests of this folder
 *
 * A two-tier fat tree: hosts of one HCA named "node0001 mlx5_0", leaf switches
 * of 32 hosts, 16 spines; 4x HDR. All numbers follow from index and sweep, so
 * two runs are the same. What stands out:
 *
 * leaf01/1   busiest of all: 95 % up, 50 % down
 * leaf01/3   silent from the second sweep on
 * leaf02/2   2 symbol errors and 1 rcv error in each sweep
 * leaf02/33  down from the second sweep on; it and its peer were read before
 * node0005   unsupported
 * node0007   locked
 * node0009   idle, and its name has escape sequences, quotes and wide characters
 * ports without a cable: never up
 */
#ifndef IBWIRE_TUI_MODEL_TEST_SAMPLE_H
#define IBWIRE_TUI_MODEL_TEST_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/sink.h"
#include "storage/reader.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"

struct error;
struct fabric;

#define SAMPLE_HOSTS_PER_LEAF 32
#define SAMPLE_SPINES 16
#define SAMPLE_SWITCH_PORTS 64

struct sample {
	struct fabric *fabric;
	struct port_sample *samples;
	struct reading *readings;
	struct delta *deltas;
};

/*
 * sample_create - the fabric with @leaves leaf switches
 * @down:  is leaf02/33 down?
 * Return: 0 or a negative error.
 */
int sample_create(struct sample *sample, unsigned leaves, bool down, struct error *err);
void sample_destroy(struct sample *sample);

/*
 * sample_sweep - the sweep of number @number (0 is the first: readings without deltas)
 * @wall_us: when; @interval_us: since the one before. Borrows from @sample.
 */
void sample_sweep(struct sample *sample, unsigned number, int64_t wall_us, int64_t interval_us, struct sweep *ret);

/*
 * sample_snapshot - the same as the reader would give it
 * @ret:  its rows of before are freed; fabric is the sample's
 * Return: 0 or ERR_NOMEM.
 */
int sample_snapshot(struct sample *sample, unsigned number, int64_t wall_us, int64_t interval_us,
		    struct snapshot *ret);

/* What the screens show of a sample: sweep 1, of a time, two seconds after sweep 0. */
#define SAMPLE_START_US (1000000 * INT64_C(1000000))
#define SAMPLE_INTERVAL_US (2 * INT64_C(1000000))

struct sample_model {
	struct sample sample;
	struct snapshot snapshot;
	struct error_sums sums;
	struct port_table table;
	struct snapshot_context context; /* with a shape; findings and events belong to the test */
};

/*
 * sample_model_create - for the state of a test; sample_model_done() does not free the struct itself
 * @size:  of the state, which begins with a struct sample_model
 * @read:  whether the ports were read
 * Return: zeroed behind the model; NULL on failure.
 */
void *sample_model_create(size_t size, unsigned leaves, bool read);
void sample_model_done(struct sample_model *model);

/* MODEL_TEST - a test of a struct made, between setup() and teardown() of the file */
#define MODEL_TEST(name) \
	static void name##_with(struct made *made); \
	TEST_WITH(name, setup, teardown) \
	{ \
		name##_with(*state); \
	} \
	static void name##_with(struct made *made)

/* sample_model_set - build the table again, after a change of the snapshot. */
int sample_model_set(struct sample_model *model);

#endif
