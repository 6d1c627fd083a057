/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stall.h - the share of time in which a port had data and could not send, from PortXmitWait
 *
 * An estimate, and shown as one: devices differ in what a tick is, and NVIDIA
 * documents it for some of its switches only. Where it is not known the ticks
 * per second are what can be shown (rate_per_s of COUNTER_XMIT_WAIT).
 */
#ifndef IBWIRE_ANALYSIS_STALL_H
#define IBWIRE_ANALYSIS_STALL_H

#include <stdbool.h>

#include "analysis/delta.h"

struct node;
struct port;

struct stall {
	double percent; /* of the elapsed time, 0 to 100; NAN: not known */
	bool at_least;  /* the counter was reset, or is full: it was this much or more */
};

/*
 * stall_estimate - how much of a delta's time a port could not send
 * @delta:  of the port; its COUNTER_XMIT_WAIT
 * @node:   whose port it is; @port: with the link's width and speed
 * @caps:   of the node: PortSamplesControl.Tick; NULL: not known
 *
 * Of a counter that was full all the time nothing is known, not even "at least 0".
 * Return: percent NAN where the device, the tick, the link's rate, or the counter is not known.
 */
struct stall stall_estimate(const struct delta *delta, const struct node *node, const struct port *port,
			    const struct pma_caps *caps);

#endif
