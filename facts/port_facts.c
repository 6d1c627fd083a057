/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/port_facts.h"

#include <math.h>
#include <stdio.h>

#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "storage/reader.h"

const char *port_ber_key(enum port_ber which)
{
	static const char *const keys[PORT_BER_COUNT] = {
		[PORT_BER_SYMBOL] = "symbol_ber",
		[PORT_BER_EFFECTIVE] = "effective_ber",
		[PORT_BER_RAW] = "raw_ber",
	};

	return keys[which];
}

double facts_age_s(int64_t now_us, int64_t then_us)
{
	int64_t age_us = then_us ? when_age_us(now_us, then_us) : -1;

	return age_us < 0 ? NAN : (double)age_us / 1e6;
}

double facts_sum(double sum, double more)
{
	return isnan(more) ? sum : isnan(sum) ? more : sum + more;
}

struct measure facts_errors(const struct delta *delta)
{
	uint64_t errors = 0;
	counter_set bounds;

	if (delta->elapsed_us <= 0 || !(delta->known & COUNTER_ERROR_SUM_SET))
		return MEASURE_NONE;
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		errors += delta->known & COUNTER_ERROR_SUM_SET & COUNTER_BIT(counter) ? delta->value[counter] : 0;
	bounds = delta_lower_bounds(delta) & COUNTER_ERROR_SUM_SET;
	/* A saturated counter is never no error: "0+". */
	if (bounds & delta->saturated)
		return measure_saturated((double)errors);
	return measure_of((double)errors, !bounds);
}

const char *facts_unknown_errors(size_t ports, char ret[UNKNOWN_ERRORS_SIZE])
{
	ret[0] = '\0';
	if (ports)
		snprintf(ret, UNKNOWN_ERRORS_SIZE, "; errors of %zu port%s are unknown: reset or not read", ports,
			 ports == 1 ? "" : "s");
	return ret;
}

bool port_was_unused(const struct snapshot *snapshot, uint32_t port)
{
	int64_t last_us = snapshot->rows[port].last_wall_us;

	return !last_us || snapshot->sweep.wall_us - last_us > PORT_UNUSED_US;
}

bool port_is_cut(const struct snapshot *snapshot, uint32_t port, const struct delta *sum, int64_t window_us)
{
	return snapshot->fabric->ports[port].state >= PORT_INIT &&
	       delta_is_cut(sum, window_us, snapshot->sweep.interval_us);
}

/* Of a port that was not read in all of the window each number is at least that of what was read. */
static const struct delta *of_window(const struct snapshot *snapshot, uint32_t port, const struct delta *sum,
				     int64_t window_us, struct delta *cut)
{
	if (!port_is_cut(snapshot, port, sum, window_us))
		return sum;
	*cut = *sum;
	cut->elapsed_us = window_us;
	cut->reset |= cut->known;
	return cut;
}

struct measure port_window_errors(const struct snapshot *snapshot, uint32_t port, const struct delta *sum,
				  int64_t window_us)
{
	struct delta cut;

	return facts_errors(of_window(snapshot, port, sum, window_us, &cut));
}

static void set_errors(const struct delta *sum, struct port_facts *ret)
{
	ret->errors_known = sum->elapsed_us > 0 ? sum->known & COUNTER_ERROR_SET : 0;
	ret->error_bounds = ret->errors_known & delta_lower_bounds(sum);
	ret->errors_unknown = (COUNTER_ERROR_SET & ~ret->errors_known) | ret->error_bounds;
	ret->window_errors = facts_errors(sum);
	ret->errors = ret->window_errors;
}

static void set_rates(const struct snapshot *snapshot, const struct delta *sum, struct port_facts *ret)
{
	const struct port *port = &snapshot->fabric->ports[ret->port];
	const struct pma_caps *caps = snapshot->caps ? &snapshot->caps[port->node] : NULL;
	uint64_t rate = port_rate_bits_per_s(port);

	ret->xmit_bytes_per_s = rate_bytes_per_s(sum, COUNTER_XMIT_DATA);
	ret->rcv_bytes_per_s = rate_bytes_per_s(sum, COUNTER_RCV_DATA);
	ret->xmit_percent = rate_utilization_percent(ret->xmit_bytes_per_s, rate);
	ret->rcv_percent = rate_utilization_percent(ret->rcv_bytes_per_s, rate);
	ret->xmit_packets_per_s = rate_per_s(sum, COUNTER_XMIT_PACKETS);
	ret->rcv_packets_per_s = rate_per_s(sum, COUNTER_RCV_PACKETS);
	ret->load = measure_max(ret->xmit_bytes_per_s, ret->rcv_bytes_per_s);
	ret->util = measure_max(ret->xmit_percent, ret->rcv_percent);
	/* The quotient of two lower bounds is none. */
	ret->rcv_packet_bytes_mean = measure_exact(ret->rcv_packets_per_s) > 0 ?
		measure_exact(ret->rcv_bytes_per_s) / ret->rcv_packets_per_s.value : NAN;
	ret->wait_ticks_per_s = rate_per_s(sum, COUNTER_XMIT_WAIT);
	ret->stall_percent = stall_estimate(sum, &snapshot->fabric->nodes[port->node], port, caps);
	ret->stall_rule = stall_rule_of(&snapshot->fabric->nodes[port->node], caps);
}

void port_facts_add(const struct port_facts *facts, struct measure *xmit, struct measure *rcv)
{
	const struct port *port = &facts->scope->snapshot->fabric->ports[facts->port];
	struct measure out = facts->xmit_bytes_per_s, in = facts->rcv_bytes_per_s;
	struct port_facts peer;

	if (port->peer != FABRIC_NONE && !(measure_is_exact(out) && measure_is_exact(in))) {
		port_facts_of(facts->scope, port->peer, &peer);
		out = measure_is_better(peer.rcv_bytes_per_s, out) ? peer.rcv_bytes_per_s : out;
		in = measure_is_better(peer.xmit_bytes_per_s, in) ? peer.xmit_bytes_per_s : in;
	}
	if (isnan(out.value) && isnan(in.value) && (facts->status == STATUS_DOWN || !port->num))
		return;
	*xmit = measure_add(*xmit, out);
	*rcv = measure_add(*rcv, in);
}

void port_facts_of(const struct port_scope *scope, uint32_t index, struct port_facts *ret)
{
	const struct snapshot *snapshot = scope->snapshot;
	const struct port *port = &snapshot->fabric->ports[index];
	const struct port_row *row = &snapshot->rows[index];
	const counter_set data = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
	const struct delta nothing = { 0 }, *sum, *rates;
	struct delta cut;
	uint64_t rate = port_rate_bits_per_s(port);
	bool silent = scope->newest && row->status != SAMPLE_OK;

	sum = of_window(snapshot, index, &row->sum, scope->covered_us, &cut);
	*ret = (struct port_facts){
		.scope = scope,
		.port = index,
		.rate_gbps = rate ? (double)rate / 1e9 : NAN,
		.window_s = row->sum.elapsed_us > 0 ? (double)row->sum.elapsed_us / 1e6 : NAN,
		.age_s = facts_age_s(scope->reference_us, row->last_wall_us),
		.ber = { [PORT_BER_SYMBOL] = ber_symbol(silent ? &nothing : sum, rate),
			 [PORT_BER_EFFECTIVE].rate = NAN, [PORT_BER_RAW].rate = NAN },
	};
	rates = silent && !row->mirrored ? &nothing : sum;
	set_rates(snapshot, rates, ret);
	set_errors(sum, ret);
	ret->status = port_status(port, row->status, rates->elapsed_us > 0 && rates->known & data,
				  ret->xmit_bytes_per_s, ret->rcv_bytes_per_s);
	ret->unused = ret->status == STATUS_DOWN && port_was_unused(snapshot, index);
}

bool port_wait_is_assumed(const struct port_facts *facts)
{
	return facts->stall_rule == STALL_ASSUMED && facts->stall_percent.value > 0;
}

struct plane_sum port_facts_planes(const struct port_scope *scope, uint32_t port)
{
	const struct fabric *fabric = scope->snapshot->fabric;
	struct plane_sum sum = { 0 };

	for (port = port_first_plane(fabric, port); port != FABRIC_NONE; port = port_next_plane(fabric, port)) {
		struct port_facts plane;

		port_facts_of(scope, port, &plane);
		plane_sum_add(&sum, &fabric->ports[port], plane.xmit_bytes_per_s, plane.rcv_bytes_per_s);
	}
	return sum;
}
