/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>

#include "analysis/balance.h"
#include "analysis/delta.h"
#include "analysis/stall.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* Minimum length of a window, and its minimum number of sweeps. */
#define WINDOW_US INT64_C(60000000)
#define WINDOW_SWEEPS 3

void balance_load_of(const struct delta *delta, const struct node *node, const struct port *port,
		     const struct pma_caps *caps, struct balance_load *ret)
{
	const counter_set data = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
	struct stall stall = stall_estimate(delta, node, port, caps);

	*ret = (struct balance_load){
		.known = delta->elapsed_us > 0 && (delta->known & ~delta->reset & ~delta->saturated & data) == data,
		.elapsed_us = (double)delta->elapsed_us,
		.stall = stall.percent / 100,
		/* After a reset or saturation the value is a lower bound. */
		.xmit_discards = delta->elapsed_us > 0 && delta->known & COUNTER_BIT(COUNTER_XMIT_DISCARDS) ?
				 (double)delta->value[COUNTER_XMIT_DISCARDS] : NAN,
	};
	if (!ret->known)
		return;
	ret->xmit_bytes = (double)delta->value[COUNTER_XMIT_DATA] * COUNTER_WORD_BYTES;
	ret->rcv_bytes = (double)delta->value[COUNTER_RCV_DATA] * COUNTER_WORD_BYTES;
}

double balance_port_rate(const struct balance_input *input, uint32_t port, bool xmit)
{
	const struct balance_load *load = &input->loads[port];
	uint32_t peer = input->shape->fabric->ports[port].peer;

	if (!load->known && peer != FABRIC_NONE) {
		load = &input->loads[peer];
		xmit = !xmit;
	}
	if (!load->known || !(load->elapsed_us > 0))
		return NAN;
	return (xmit ? load->xmit_bytes : load->rcv_bytes) / load->elapsed_us;
}

int64_t balance_window_us(int64_t interval_us)
{
	return WINDOW_SWEEPS * interval_us > WINDOW_US ? WINDOW_SWEEPS * interval_us : WINDOW_US;
}
