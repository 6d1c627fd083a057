/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/rate.h"

#include <math.h>
#include <stdio.h>

#include "fabric/fabric.h"

double rate_per_s(const struct delta *delta, enum counter counter)
{
	/* The rate of a saturated counter is unknown. */
	if (!(delta->known & ~delta->saturated & COUNTER_BIT(counter)) || delta->elapsed_us <= 0)
		return NAN;
	return (double)delta->value[counter] * 1e6 / (double)delta->elapsed_us;
}

double rate_bytes_per_s(const struct delta *delta, enum counter counter)
{
	return rate_per_s(delta, counter) * COUNTER_WORD_BYTES;
}

double rate_utilization_percent(double bytes_per_s, uint64_t link_bits_per_s)
{
	if (!link_bits_per_s)
		return NAN;
	return 100.0 * bytes_per_s * 8.0 / (double)link_bits_per_s;
}

bool rate_is_idle(double xmit_percent, double rcv_percent)
{
	return xmit_percent < RATE_IDLE_PERCENT && rcv_percent < RATE_IDLE_PERCENT;
}

const char *rate_format_bits(double bytes_per_s, char *ret, uint64_t size)
{
	static const char *const units[] = { "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s" };
	const size_t last = sizeof(units) / sizeof(units[0]) - 1;
	double value = bytes_per_s * 8.0;
	size_t unit = 0;

	if (isnan(value)) {
		snprintf(ret, size, "-");
		return ret;
	}
	/* 999.95 would be printed as 1000.0 of the smaller unit. */
	for (; value >= 999.95 && unit < last; unit++)
		value /= 1000.0;
	snprintf(ret, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return ret;
}

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
