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

#endif
