/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>

#include "analysis/balance.h"
#include "analysis/delta.h"
#include "analysis/rate.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

void balance_load_of(const struct delta *delta, const struct node *node, const struct port *port,
		     const struct pma_caps *caps, struct balance_load *ret)
{
	const counter_set data = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
	struct measure stall = stall_estimate(delta, node, port, caps);

	*ret = (struct balance_load){
		.known = delta->elapsed_us > 0 && (delta->known & ~delta->reset & ~delta->saturated & data) == data,
		.elapsed_us = (double)delta->elapsed_us,
		/* After a reset or saturation these are lower bounds, which are sufficient for the test of harm. */
		.stall = stall.value / 100,
		.stall_at_least = measure_is_at_least(stall),
		.discards_at_least = delta_lower_bounds(delta) & COUNTER_BIT(COUNTER_XMIT_DISCARDS),
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

int64_t balance_window_us(const struct balance_settings *settings, int64_t interval_us)
{
	int64_t sweeps_us = BALANCE_WINDOW_SWEEPS * interval_us;

	return sweeps_us > settings->window_us ? sweeps_us : settings->window_us;
}

void balance_amount_add(const struct balance_input *input, uint32_t index, struct balance_amount *amount)
{
	const struct port *port = &input->shape->fabric->ports[index];
	double xmit = balance_port_rate(input, index, true), rcv = balance_port_rate(input, index, false);

	if (fabric_link_state(input->shape->fabric, index) != PORT_ACTIVE)
		return;
	amount->active++;
	amount->xmit = measure_add(amount->xmit, measure_of(xmit, true));
	amount->rcv = measure_add(amount->rcv, measure_of(rcv, true));
	if (isnan(xmit) || isnan(rcv))
		return;
	amount->known++;
	amount->capacity += (double)port_rate_bits_per_s(port);
}

double balance_amount_load(const struct balance_amount *amount)
{
	double bytes = measure_add(amount->xmit, amount->rcv).value;

	return amount->capacity > 0 ? bytes * BALANCE_BITS_PER_S / 2 / amount->capacity : NAN;
}

double balance_amounts_most(const struct balance_amount *amounts, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = balance_amount_load(&amounts[i]) > most ? balance_amount_load(&amounts[i]) : most;
	return most;
}

/* Bytes per us in both directions; NAN with an active port that is not known: it is not compared. */
static double exact_load(const struct balance_amount *amount)
{
	return amount->known ? measure_exact(measure_add(amount->xmit, amount->rcv)) : NAN;
}

void balance_amounts_compare(struct balance_amount *amounts, size_t count)
{
	double load = 0, capacity = 0;

	for (size_t i = 0; i < count; i++) {
		if (isnan(exact_load(&amounts[i])))
			continue;
		load += exact_load(&amounts[i]);
		capacity += amounts[i].capacity;
	}
	for (size_t i = 0; i < count; i++) {
		bool exact = !isnan(exact_load(&amounts[i]));

		amounts[i].share = load > 0 && exact ? exact_load(&amounts[i]) / load : NAN;
		amounts[i].fair = capacity > 0 && exact ? amounts[i].capacity / capacity : NAN;
		amounts[i].excess = amounts[i].fair > 0 ? amounts[i].share / amounts[i].fair - 1 : NAN;
	}
}

uint32_t balance_host_rails(const struct balance_input *input, const struct shape_host *host,
			    struct balance_amount *rails, struct balance_amount *sum)
{
	const struct fabric *fabric = input->shape->fabric;
	uint32_t count;

	for (count = 0; count < host->count && count < BALANCE_RAILS_MOST; count++) {
		uint32_t index = input->shape->host_nodes[host->first + count];
		const struct node *node = &fabric->nodes[index];

		rails[count] = (struct balance_amount){ .kind = "rail", .index = index };
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++) {
			balance_amount_add(input, j, &rails[count]);
			balance_amount_add(input, j, sum);
		}
	}
	balance_amounts_compare(rails, count);
	sum->share = sum->fair = sum->excess = NAN;
	for (uint32_t i = 0; i < count; i++)
		if (!(rails[i].excess <= sum->excess))
			sum->excess = rails[i].excess;
	return count;
}

bool balance_host_is_busy(const struct balance_amount *sum, const struct balance_settings *settings)
{
	return balance_amount_load(sum) >= settings->active_mean;
}

int balance_compare_excess(const void *a, const void *b)
{
	const struct balance_amount *left = a, *right = b;
	/* Compare as displayed: equal whole percents keep their order. */
	double x = isnan(left->excess) ? -1 : nearbyint(100 * left->excess);
	double y = isnan(right->excess) ? -1 : nearbyint(100 * right->excess);

	if (x != y)
		return x > y ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}
