/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rate.h - numbers that people read, from deltas
 *
 * Every function gives NAN where the number is not known; a printer shows that
 * as null or as a dash, never as 0.
 */
#ifndef IBWIRE_ANALYSIS_RATE_H
#define IBWIRE_ANALYSIS_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/delta.h"

/* rate_per_s - a counter's units per second over the delta's own elapsed time; NAN where it is full. */
double rate_per_s(const struct delta *delta, enum counter counter);

/* rate_bytes_per_s - the same for XMIT_DATA and RCV_DATA, in bytes. */
double rate_bytes_per_s(const struct delta *delta, enum counter counter);

/*
 * rate_utilization_percent - share of the link's data rate in one direction
 * @bytes_per_s:          measured
 * @link_bits_per_s:      port_rate_bits_per_s(); 0: not known
 *
 * Not clamped: counters include headers, and readings at two ends of an
 * interval can be late, so slightly above 100 is possible and honest.
 */
double rate_utilization_percent(double bytes_per_s, uint64_t link_bits_per_s);

/*
 * rate_is_idle - a port that carries next to nothing
 * Below this share of the link's data rate in both directions, because the
 * questions of monitors alone make a port carry more than nothing.
 * @xmit_percent, @rcv_percent:  rate_utilization_percent(); not known is not idle
 */
#define RATE_IDLE_PERCENT 0.01
bool rate_is_idle(double xmit_percent, double rcv_percent);

/*
 * rate_format_bits - "182.4 Gb/s" from bytes per second; "-" for NAN
 * @ret:  at least 16 bytes
 * Return: @ret
 */
const char *rate_format_bits(double bytes_per_s, char *ret, uint64_t size);

#endif
