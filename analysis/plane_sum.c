/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/plane_sum.h"

#include <math.h>
#include <stdio.h>

#include "analysis/rate.h"
#include "fabric/fabric.h"

void plane_sum_add(struct plane_sum *sum, const struct port *port, double xmit_bytes_per_s, double rcv_bytes_per_s)
{
	sum->planes++;
	if (port->state < PORT_INIT)
		return;
	sum->up++;
	sum->bits_per_s += port_rate_bits_per_s(port);
	sum->xmit_bytes_per_s += xmit_bytes_per_s;
	sum->rcv_bytes_per_s += rcv_bytes_per_s;
}

static const char *format_load(const struct plane_sum *sum, double bytes_per_s, char *text, size_t size)
{
	double percent = rate_utilization_percent(bytes_per_s, sum->bits_per_s);
	char rate[32];

	rate_format_bits(bytes_per_s, rate, sizeof(rate));
	if (isnan(percent))
		snprintf(text, size, "%s", rate);
	else
		snprintf(text, size, "%s (%.1f %%)", rate, percent);
	return text;
}

const char *plane_sum_text(const struct plane_sum *sum, char *text, size_t size)
{
	char capacity[32], xmit[64], rcv[64], down[32] = "";

	if (sum->up < sum->planes)
		snprintf(down, sizeof(down), ", %u of them down", sum->planes - sum->up);
	snprintf(text, size, "%u planes%s, of %s together: sends %s, receives %s", sum->planes, down,
		 rate_format_bits((double)sum->bits_per_s / 8, capacity, sizeof(capacity)),
		 format_load(sum, sum->xmit_bytes_per_s, xmit, sizeof(xmit)),
		 format_load(sum, sum->rcv_bytes_per_s, rcv, sizeof(rcv)));
	return text;
}
