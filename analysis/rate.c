/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/rate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fabric/device.h"
#include "fabric/fabric.h"

struct measure rate_per_s(const struct delta *delta, enum counter counter)
{
	counter_set bit = COUNTER_BIT(counter);

	if (!(delta->known & bit) || delta->elapsed_us <= 0)
		return measure_of(NAN, false);
	return measure_of((double)delta->value[counter] * 1e6 / (double)delta->elapsed_us,
			  !(delta_lower_bounds(delta) & bit));
}

struct measure rate_bytes_per_s(const struct delta *delta, enum counter counter)
{
	return measure_scale(rate_per_s(delta, counter), COUNTER_WORD_BYTES);
}

struct measure rate_utilization_percent(struct measure bytes_per_s, uint64_t link_bits_per_s)
{
	struct measure percent = measure_scale(bytes_per_s, link_bits_per_s ? 800.0 / (double)link_bits_per_s : NAN);

	/* There is no more, so this is exact even if the bytes are a lower bound. */
	if (percent.value >= 100)
		percent = measure_of(100, true);
	return percent;
}

bool rate_is_idle(struct measure xmit_percent, struct measure rcv_percent)
{
	return measure_exact(xmit_percent) < RATE_IDLE_PERCENT && measure_exact(rcv_percent) < RATE_IDLE_PERCENT;
}

const char *rate_format_bits(double bytes_per_s, char *ret, size_t size)
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

const char *rate_format(struct measure bytes_per_s, char *ret, size_t size)
{
	size_t len = strlen(rate_format_bits(bytes_per_s.value, ret, size));

	snprintf(ret + len, size - len, "%s", measure_mark(bytes_per_s));
	return ret;
}

/*
 * The documented rules, by NodeInfo.VendorID and DeviceID.
 *
 * Source: NVIDIA, ibdiagnet user manual 2.13, "Congestion Assessment on InfiniBand
 * Links": Quantum, Quantum-2 and Quantum-3 count every 8 bytes of the port (Tick 7);
 * SwitchX, Switch-IB and Switch-IB 2 every 32 bytes of a lane (Tick 31).
 * Of the ids: rdma-core 44, infiniband-diags/vendstat.c (ext_fw_info_device) and
 * libibnetdisc/ibnetdisc.c for all but the last two; mstflint,
 * dev_mgt/tools_dev_types.c for Quantum-2 (54002) and Quantum-3 (54004). 0xcf09 is
 * missing here because it is the aggregation node inside a Switch-IB 2 and later.
 */
static const struct {
	uint32_t vendor_id;
	uint16_t first_id, last_id;
	enum stall_rule rule;
} devices[] = {
	{ VENDOR_MELLANOX, 0xc738, 0xc73b, STALL_PER_LANE }, /* SwitchX */
	{ VENDOR_MELLANOX, 0xcb20, 0xcb20, STALL_PER_LANE }, /* Switch-IB */
	{ VENDOR_MELLANOX, 0xcf08, 0xcf08, STALL_PER_LANE }, /* Switch-IB 2 */
	{ VENDOR_MELLANOX, 0xd2f0, 0xd2f0, STALL_PER_PORT }, /* Quantum */
	{ VENDOR_BULL, 0x1b02, 0x1b02, STALL_PER_LANE },     /* SwitchX */
	{ VENDOR_BULL, 0x1b50, 0x1b50, STALL_PER_LANE },     /* SwitchX */
	{ VENDOR_BULL, 0x1ba0, 0x1ba0, STALL_PER_LANE },     /* Switch-IB */
	{ VENDOR_BULL, 0x1bd0, 0x1bd5, STALL_PER_LANE },     /* Switch-IB and Switch-IB 2 */
	{ VENDOR_BULL, 0x1bf0, 0x1bf0, STALL_PER_PORT },     /* Quantum */
	{ VENDOR_MELLANOX, 0xd2f2, 0xd2f2, STALL_PER_PORT }, /* Quantum-2 */
	{ VENDOR_MELLANOX, 0xd2f4, 0xd2f4, STALL_PER_PORT }, /* Quantum-3 */
};

/*
 * The Tick with which the rule per port is assumed for HCAs. It is that of all documented devices with this rule.
 * Published counters of an NDR cluster have Tick 7 and a 64-bit PortXmitWait at all 256 ports of ConnectX-7; issue 3
 * of NVIDIA/ib-traffic-monitor proposes the same formula for newer generations.
 */
#define ASSUMED_TICK 7

enum stall_rule stall_rule_of(const struct node *node, const struct pma_caps *caps)
{
	if (!caps || !caps->tick_known)
		return STALL_UNKNOWN;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (node->vendor_id == devices[i].vendor_id && node->device_id >= devices[i].first_id &&
		    node->device_id <= devices[i].last_id)
			return devices[i].rule;
	if (node->type != NODE_CA || node_is_aggregation(node) || caps->tick != ASSUMED_TICK)
		return STALL_UNKNOWN;
	return caps->wait_contradicted ? STALL_CONTRADICTED : STALL_ASSUMED;
}

const char *stall_rule_name(enum stall_rule rule)
{
	static const char *const names[STALL_RULE_COUNT] = {
		[STALL_UNKNOWN] = "unknown", [STALL_PER_PORT] = "port", [STALL_PER_LANE] = "lane",
		[STALL_ASSUMED] = "assumed", [STALL_CONTRADICTED] = "contradicted",
	};

	return names[rule];
}

/*
 * How long a tick lasts. A symbol time is the time of one byte on one lane: 4 ns
 * at SDR, whatever the width (the manual named above). SDR signals at
 * 2.5 Gb/s and sends a byte as 10 bits: 10 / 2.5e9 = 4 ns = 8 / 2e9. So it is 8
 * bits over the lane's *data* rate, at every speed: the code's overhead (8b/10b,
 * 64b/66b, FEC) makes a byte longer on the wire by as much as the signalling
 * rate is above the data rate. Over the signalling rate it would be 3.2 ns at SDR,
 * and the stall 20 % too small (6 % at HDR).
 *
 *   one lane:      8 / (data rate of the link / lanes)
 *   per lane rule: (Tick + 1) * 8 * lanes / data rate of the link
 *   per port rule: (Tick + 1) * 8 / data rate of the link: lanes send side by side
 */
double stall_tick_s(const struct node *node, const struct port *port, const struct pma_caps *caps)
{
	double bits_per_s = (double)port_rate_bits_per_s(port);
	enum stall_rule rule = stall_rule_of(node, caps);
	unsigned lanes = rule == STALL_PER_LANE ? link_width_lanes(port->width) : 1;

	if (rule == STALL_UNKNOWN || rule == STALL_CONTRADICTED || bits_per_s <= 0)
		return NAN;
	return (caps->tick + 1) * 8.0 * lanes / bits_per_s;
}

struct measure stall_estimate(const struct delta *delta, const struct node *node, const struct port *port,
			      const struct pma_caps *caps)
{
	double tick_s = stall_tick_s(node, port, caps);
	struct measure stall = rate_per_s(delta, COUNTER_XMIT_WAIT);

	if (isnan(tick_s))
		return measure_of(NAN, false);
	stall = measure_scale(stall, 100.0 * tick_s);
	/* The counter is read slightly later than the clock, and rates are rounded. */
	if (stall.value > 100)
		stall.value = 100;
	return stall;
}

void plane_sum_add(struct plane_sum *sum, const struct port *port, struct measure xmit_bytes_per_s,
		   struct measure rcv_bytes_per_s)
{
	sum->planes++;
	if (port->state < PORT_INIT)
		return;
	sum->up++;
	sum->bits_per_s += port_rate_bits_per_s(port);
	sum->xmit_bytes_per_s = measure_add(sum->xmit_bytes_per_s, xmit_bytes_per_s);
	sum->rcv_bytes_per_s = measure_add(sum->rcv_bytes_per_s, rcv_bytes_per_s);
}

static const char *format_load(const struct plane_sum *sum, struct measure bytes_per_s, char *text, size_t size)
{
	struct measure percent = rate_utilization_percent(bytes_per_s, sum->bits_per_s);
	char rate[32];

	rate_format(bytes_per_s, rate, sizeof(rate));
	if (isnan(percent.value))
		snprintf(text, size, "%s", rate);
	else
		snprintf(text, size, "%s (%.1f %%%s)", rate, percent.value, measure_mark(percent));
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
