/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stall.h - share of time in which a port had data and could not send, from PortXmitWait
 *
 * An estimate, and displayed as one: the tick depends on the device, and NVIDIA documents it for
 * some switches only. Where it is unknown, only ticks per second are available (rate_per_s of
 * COUNTER_XMIT_WAIT).
 */
#ifndef IBWIRE_ANALYSIS_STALL_H
#define IBWIRE_ANALYSIS_STALL_H

#include <stdbool.h>

#include "analysis/delta.h"

struct node;
struct port;

struct stall {
	double percent; /* of the elapsed time, 0 to 100; NAN: unknown */
	bool at_least;  /* a lower bound: the counter was reset or saturated */
};

/*
 * stall_estimate - stalled share of the time of a delta
 * @delta:  of the port; uses COUNTER_XMIT_WAIT
 * @node:   of the port; @port: with width and speed of the link
 * @caps:   of the node: PortSamplesControl.Tick; NULL: unknown
 *
 * A counter that was saturated all the time has no lower bound either. Return: percent NAN: the
 * device, the tick, the rate of the link, or the counter is unknown.
 */
struct stall stall_estimate(const struct delta *delta, const struct node *node, const struct port *port,
			    const struct pma_caps *caps);

#endif
