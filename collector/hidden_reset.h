/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hidden_reset.h - resets that no decrease shows
 *
 * A counter that is cleared and counts past its last reading until it is read again does not decrease: its
 * delta looks exact and lacks what was counted before the reset. One reading cannot show that. Therefore,
 * while counters are being reset, every traffic counter is marked as reset that is so small that its link can
 * have carried all of it since the last reading; and for a minute after counters of a port decreased, every other
 * counter of the port that counts.
 */
#ifndef IBWIRE_COLLECTOR_HIDDEN_RESET_H
#define IBWIRE_COLLECTOR_HIDDEN_RESET_H

#include <stdint.h>

struct node_memory;
struct sweep_result;

/*
 * hidden_reset_mark - add such counters to delta.reset and port_sample.suspected of the samples
 * A port is suspected in a sweep in which counters of its node or of many ports decreased, and after it until its
 * rate is that of before; and for ten minutes after they decreased at the port itself for the second time within
 * ten minutes.
 * @memory:  remembers when counters of a port decreased
 * @now_us:  CLOCK_BOOTTIME
 * @interval_us:  of sweeps
 */
void hidden_reset_mark(struct sweep_result *result, struct node_memory *memory, int64_t now_us, int64_t interval_us);

#endif
