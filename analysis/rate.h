/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rate.h - rates and shares computed from deltas
 *
 * Unknown values are displayed as null or as a dash, never as 0. The rate of a counter that was reset
 * or is saturated is a lower bound (measure.h).
 */
#ifndef IBWIRE_ANALYSIS_RATE_H
#define IBWIRE_ANALYSIS_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/delta.h"
#include "analysis/measure.h"

struct node;
struct pma_caps;
struct port;

/* rate_per_s - units per second over the elapsed time of the delta. */
struct measure rate_per_s(const struct delta *delta, enum counter counter);

/* rate_bytes_per_s - the same for XMIT_DATA and RCV_DATA, in bytes. */
struct measure rate_bytes_per_s(const struct delta *delta, enum counter counter);

/*
 * rate_utilization_percent - share of the data rate of the link in one direction
 * @bytes_per_s:          measured
 * @link_bits_per_s:      port_rate_bits_per_s(); 0: unknown
 *
 * At most 100: reading times are not exact, and a link that got slower carried more before, in the
 * same window. The bytes are exact.
 */
struct measure rate_utilization_percent(struct measure bytes_per_s, uint64_t link_bits_per_s);

/*
 * rate_is_idle - the port carries almost no traffic
 * Below a small share of the data rate in both directions; monitoring queries alone cause some
 * traffic.
 * @xmit_percent, @rcv_percent:  rate_utilization_percent(); unknown or a lower bound is not idle
 */
#define RATE_IDLE_PERCENT 0.01
bool rate_is_idle(struct measure xmit_percent, struct measure rcv_percent);

/*
 * rate_format_bits - "182.4 Gb/s" from bytes per second; "-" for NAN
 * rate_format - the same with the mark of a lower bound: "182.4 Gb/s+"
 * @ret:  at least 16 bytes
 * Return: @ret
 */
const char *rate_format_bits(double bytes_per_s, char *ret, size_t size);
const char *rate_format(struct measure bytes_per_s, char *ret, size_t size);

/*
 * Share of time in which a port had data and could not send, from PortXmitWait. An estimate: the
 * tick depends on the device, and NVIDIA documents it for some switches only. For HCAs it is assumed,
 * until their counters contradict it (collector/wait_guard.h). Where it is unknown, only ticks per
 * second are available.
 */
enum stall_rule {
	STALL_UNKNOWN,      /* the length of a tick is not known, or the tick was not read */
	STALL_PER_PORT,     /* a tick is the time of (Tick + 1) bytes over all lanes together */
	STALL_PER_LANE,     /* a tick is the time of (Tick + 1) bytes on each lane, as the specification says */
	STALL_ASSUMED,      /* an HCA with Tick 7: as STALL_PER_PORT, which no document confirms */
	STALL_CONTRADICTED, /* an HCA with Tick 7 that sent and waited for more than the time: not known */
	STALL_RULE_COUNT,
};

/*
 * stall_rule_of - the rule of a device
 * @caps:  of the node; NULL: unknown
 */
enum stall_rule stall_rule_of(const struct node *node, const struct pma_caps *caps);

/* stall_rule_name - "port", "lane", "assumed", "contradicted", "unknown"; a stable interface */
const char *stall_rule_name(enum stall_rule rule);

/*
 * stall_estimate - stalled share of the time of a delta
 * @delta:  of the port; uses COUNTER_XMIT_WAIT
 * @node:   of the port; @port: with width and speed of the link
 * @caps:   of the node: PortSamplesControl.Tick; NULL: unknown
 *
 * Return: percent of the elapsed time, 0 to 100; unknown if the device, the tick, the rate of the
 * link, or the counter is.
 */
struct measure stall_estimate(const struct delta *delta, const struct node *node, const struct port *port,
			    const struct pma_caps *caps);

/* stall_tick_s - seconds of a tick of PortXmitWait on the current link; NAN: unknown, as above */
double stall_tick_s(const struct node *node, const struct port *port, const struct pma_caps *caps);

/* The load of a logical port as the sum of its planes (fabric/planes.h). Start with zeros. */
struct plane_sum {
	unsigned planes, up;
	uint64_t bits_per_s;                      /* capacity of planes that are up, each direction */
	struct measure xmit_bytes_per_s, rcv_bytes_per_s; /* over the planes that are up */
};

/*
 * plane_sum_add - add a plane
 * @xmit_bytes_per_s, @rcv_bytes_per_s: its load
 */
void plane_sum_add(struct plane_sum *sum, const struct port *port, struct measure xmit_bytes_per_s,
		   struct measure rcv_bytes_per_s);

/*
 * plane_sum_text - "4 planes of 800.0 Gb/s together: sends 392.0 Gb/s (49.0 %), receives 12.4 Gb/s
 * (1.6 %)"
 * Unknown values are "-"; planes that are down are counted.
 * Return: @text.
 */
const char *plane_sum_text(const struct plane_sum *sum, char *text, size_t size);

#endif
