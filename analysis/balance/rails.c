/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/balance_rails.h"

#include <math.h>

#include "analysis/balance.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

void balance_amount_add(const struct balance_input *input, uint32_t index, struct balance_amount *amount)
{
	const struct port *port = &input->shape->fabric->ports[index];
	double xmit = balance_port_rate(input, index, true), rcv = balance_port_rate(input, index, false);

	if (port->state != PORT_ACTIVE)
		return;
	amount->active++;
	if (isnan(xmit) || isnan(rcv))
		return;
	amount->known++;
	amount->xmit += xmit;
	amount->rcv += rcv;
	amount->capacity += (double)port_rate_bits_per_s(port);
}

double balance_amount_load(const struct balance_amount *amount)
{
	return amount->capacity > 0 ? (amount->xmit + amount->rcv) / amount->capacity : NAN;
}

double balance_amounts_most(const struct balance_amount *amounts, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = balance_amount_load(&amounts[i]) > most ? balance_amount_load(&amounts[i]) : most;
	return most;
}

void balance_amounts_compare(struct balance_amount *amounts, size_t count)
{
	double load = 0, capacity = 0;

	for (size_t i = 0; i < count; i++) {
		load += amounts[i].xmit + amounts[i].rcv;
		capacity += amounts[i].capacity;
	}
	for (size_t i = 0; i < count; i++) {
		amounts[i].share = load > 0 && amounts[i].known ? (amounts[i].xmit + amounts[i].rcv) / load : NAN;
		amounts[i].fair = capacity > 0 ? amounts[i].capacity / capacity : NAN;
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
	return balance_amount_load(sum) * 8e6 / 2 >= settings->active_mean;
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
