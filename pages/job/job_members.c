/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_members.c - hosts, rails and ports of a job, what they carried, and how evenly */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "pages/job/job_work.h"

/* The mean of a port that was read in all of the job but this share is that of the job. */
#define CUT_SHARE 0.01

/* A port is unused if it carried less than this share of the median of the other ports of its host. */
#define UNUSED_SHARE 0.02

/* A rail is slower than another one if the mean rate of its links is below this share: HDR beside NDR. */
#define SLOWER_RAIL 0.75

/* --- hosts --- */

static struct job_host *add_host(struct job_report *report, const char *name)
{
	struct job_host *host = job_grow(report, &report->hosts, &report->host_count, sizeof(*host));

	if (host)
		*host = (struct job_host){ .name = job_text(report, "%s", name),
					   .first = (uint32_t)report->port_count };
	return host && host->name ? host : NULL;
}

/* Add the ports with a cable, and those without one on a rail that other hosts use. */
static int add_ports(struct job_work *work, const struct shape_host *of, uint32_t host, struct error *err)
{
	struct job_report *report = work->report;
	const struct fabric *fabric = report->fabric;
	const struct shape *shape = report->shape;

	for (uint32_t i = 0; i < of->count; i++) {
		const struct node *node = &fabric->nodes[shape->host_nodes[of->first + i]];

		for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
			struct job_port *port;

			if (fabric->ports[p].peer == FABRIC_NONE && shape->ports[p].rail == SHAPE_NONE)
				continue;
			port = job_grow(report, &report->ports, &report->port_count, sizeof(*port));
			if (!port)
				return err_nomem(err);
			*port = (struct job_port){ .port = p, .host = host, .rail = shape->ports[p].rail,
						   .down = fabric->ports[p].state != PORT_ACTIVE };
			report->hosts[host].count++;
		}
	}
	return 0;
}

static int find_hosts(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	const struct shape *shape = report->shape;
	bool *listed = calloc(shape->host_count + 1, sizeof(*listed));
	struct host_set missing = { 0 };
	int code = listed ? shape_mark_hosts(shape, report->all_hosts ? "" : report->job.hosts, listed, &missing, err) :
			    err_nomem(err);

	code = code < 0 ? code : 0;
	for (size_t i = 0; code == 0 && i < shape->host_count; i++)
		if (listed[i])
			code = !add_host(report, shape->hosts[i].name) ? err_nomem(err) :
			       add_ports(work, &shape->hosts[i], (uint32_t)report->host_count - 1, err);
	for (size_t i = 0; code == 0 && i < missing.count; i++) {
		struct job_host *host = add_host(report, missing.names[i]);

		if (host)
			host->missing = true;
		else
			code = err_nomem(err);
	}
	free(listed);
	host_set_done(&missing);
	return code;
}

/* --- sums --- */

/* The sweeps that a job begins and ends with are up to an interval apart from its own times. */
static int64_t window_of(const struct job_work *work)
{
	int64_t least_us = work->report->duration_us - work->report->interval_us;

	return work->longest_us > least_us ? work->longest_us : least_us;
}

bool job_is_cut(const struct job_work *work, const struct delta *delta)
{
	return delta->elapsed_us <= 0 || (work->report->source == JOB_SOURCE_HISTORY &&
					  delta_is_cut(delta, window_of(work), work->report->interval_us));
}

static void add_errors(const struct job_work *work, const struct delta *delta, uint64_t *ret, bool *at_least)
{
	*at_least |= job_is_cut(work, delta);
	for (int i = COUNTER_TRAFFIC_COUNT; delta->elapsed_us > 0 && i < COUNTER_COUNT; i++) {
		if (!(delta->known & COUNTER_ERROR_SUM_SET & COUNTER_BIT(i)))
			continue;
		if (__builtin_add_overflow(*ret, delta->value[i], ret))
			*ret = UINT64_MAX;
		*at_least |= (delta_lower_bounds(delta) & COUNTER_BIT(i)) != 0;
	}
}

static void set_traffic(const struct delta *delta, double duration_us, struct job_sum *sum)
{
	const counter_set data = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
	double elapsed_s = (delta->elapsed_us > 0 ? (double)delta->elapsed_us : duration_us) / 1e6;

	sum->mean_xmit = sum->mean_rcv = measure_of(NAN, false);
	if (delta->elapsed_us <= 0 || (delta->known & data) != data) {
		sum->at_least = true;
		return;
	}
	sum->known = 1;
	sum->at_least = ((delta->reset | delta->saturated) & data) != 0;
	sum->xmit_bytes = delta->value[COUNTER_XMIT_DATA] * COUNTER_WORD_BYTES;
	sum->rcv_bytes = delta->value[COUNTER_RCV_DATA] * COUNTER_WORD_BYTES;
	sum->xmit_packets = delta->known & COUNTER_BIT(COUNTER_XMIT_PACKETS) ? delta->value[COUNTER_XMIT_PACKETS] : 0;
	sum->rcv_packets = delta->known & COUNTER_BIT(COUNTER_RCV_PACKETS) ? delta->value[COUNTER_RCV_PACKETS] : 0;
	sum->mean_xmit = measure_of((double)sum->xmit_bytes / elapsed_s, !sum->at_least);
	sum->mean_rcv = measure_of((double)sum->rcv_bytes / elapsed_s, !sum->at_least);
}

/* The mean of a port that was not read in all of the job is at least that of what was read, over the job. */
static void set_cut(const struct job_work *work, const struct delta *delta, struct job_sum *sum)
{
	double window_s = (double)window_of(work) / 1e6;

	if (!job_is_cut(work, delta))
		return;
	sum->at_least = true;
	if (!sum->known || (double)delta->elapsed_us / 1e6 >= (1 - CUT_SHARE) * window_s)
		return;
	sum->mean_xmit = measure_of((double)sum->xmit_bytes / window_s, false);
	sum->mean_rcv = measure_of((double)sum->rcv_bytes / window_s, false);
}

static struct measure stall_of(const struct job_work *work, uint32_t index)
{
	const struct fabric *fabric = work->report->fabric;
	const struct port *port = &fabric->ports[index];
	const struct delta *delta = &work->deltas[index];
	struct measure stall = stall_estimate(delta, &fabric->nodes[port->node], port,
					      work->caps ? &work->caps[port->node] : NULL);

	/* At least 0 may be more than the other end; a counter that is not known is no part of the maximum. */
	if (isnan(stall.value) && !(delta_lower_bounds(delta) & COUNTER_BIT(COUNTER_XMIT_WAIT)))
		return MEASURE_NONE;
	return stall;
}

static void sum_port(struct job_work *work, struct job_port *port)
{
	const struct port *of = &work->report->fabric->ports[port->port];
	const struct delta *own = &work->deltas[port->port], *peer = NULL;
	struct job_sum *sum = &port->sum, other = { .ports = 0 };
	struct delta mirror;

	if (of->peer != FABRIC_NONE)
		peer = &work->deltas[of->peer];
	set_traffic(own, (double)work->report->duration_us, sum);
	if (peer && (!sum->known || (job_is_cut(work, own) && !job_is_cut(work, peer)))) {
		delta_mirror(peer, &mirror);
		set_traffic(&mirror, (double)work->report->duration_us, &other);
		port->mirrored = other.known;
	}
	if (port->mirrored)
		*sum = other;
	sum->ports = 1;
	set_cut(work, port->mirrored ? peer : own, sum);
	add_errors(work, own, &sum->errors, &sum->errors_at_least);
	if (peer)
		add_errors(work, peer, &port->peer_errors, &sum->errors_at_least);
	if (__builtin_add_overflow(sum->errors, port->peer_errors, &sum->errors))
		sum->errors = UINT64_MAX;
	port->own_stall = stall_of(work, port->port);
	port->peer_stall = peer ? stall_of(work, of->peer) : MEASURE_NONE;
	sum->stall_percent = measure_max(port->own_stall, port->peer_stall);
	sum->peak_xmit = sum->peak_rcv = sum->part[JOB_EARLY] = sum->part[JOB_LATE] = MEASURE_NONE;
	sum->capacity = of->state == PORT_ACTIVE ? (double)port_rate_bits_per_s(of) / 8 : 0;
	work->port_of[port->port] = (uint32_t)(port - work->report->ports);
	work->on_job[port->port] = true;
	if (peer) {
		work->on_job[of->peer] = true;
		work->leaf[work->report->fabric->ports[of->peer].node] =
			work->report->fabric->nodes[work->report->fabric->ports[of->peer].node].type == NODE_SWITCH;
	}
}

static void begin_sum(struct job_sum *sum)
{
	*sum = (struct job_sum){ .stall_percent = MEASURE_NONE, .mean_xmit = MEASURE_NONE, .mean_rcv = MEASURE_NONE,
				 .peak_xmit = MEASURE_NONE, .peak_rcv = MEASURE_NONE,
				 .part = { MEASURE_NONE, MEASURE_NONE } };
}

static void add_sum(struct job_sum *sum, const struct job_sum *more)
{
	sum->xmit_bytes += more->xmit_bytes;
	sum->rcv_bytes += more->rcv_bytes;
	sum->xmit_packets += more->xmit_packets;
	sum->rcv_packets += more->rcv_packets;
	if (__builtin_add_overflow(sum->errors, more->errors, &sum->errors))
		sum->errors = UINT64_MAX;
	sum->ports += more->ports;
	sum->known += more->known;
	sum->at_least |= more->at_least;
	sum->errors_at_least |= more->errors_at_least;
	sum->stall_percent = measure_max(sum->stall_percent, more->stall_percent);
	sum->mean_xmit = measure_add(sum->mean_xmit, more->mean_xmit);
	sum->mean_rcv = measure_add(sum->mean_rcv, more->mean_rcv);
	sum->capacity += more->capacity;
}

/* --- evenness --- */

/* What members are compared by: bytes at the exactly known rate. NAN: not exactly known. */
static double comparable_bytes(const struct job_report *report, const struct job_sum *sum)
{
	return job_is_exact(sum) ? (sum->mean_xmit.value + sum->mean_rcv.value) * (double)report->duration_us / 1e6 :
				   NAN;
}

/* Ports with almost no traffic while the others of the host have some. */
static void find_unused(struct job_report *report, struct job_host *host, double *values)
{
	double seconds = (double)report->duration_us / 1e6, middle;
	size_t count = 0;

	for (uint32_t i = host->first; i < host->first + host->count; i++) {
		double bytes = job_bytes(&report->ports[i].sum);

		if (bytes >= JOB_IDLE_BYTES_PER_S * seconds)
			values[count++] = bytes;
	}
	host->used = (uint32_t)count;
	middle = balance_median(values, count);
	for (uint32_t i = host->first; i < host->first + host->count; i++) {
		struct job_port *port = &report->ports[i];
		double bytes = job_bytes(&port->sum);

		if (!job_is_exact(&port->sum) && !(isnan(bytes) && port->down))
			continue;
		port->unused = count && !(bytes >= JOB_IDLE_BYTES_PER_S * seconds && bytes >= UNUSED_SHARE * middle);
		host->used -= port->unused && bytes >= JOB_IDLE_BYTES_PER_S * seconds;
		report->ports_unused += port->unused;
	}
}

/* Rails with slower links than others are for storage or management. */
static void find_slower(struct job_report *report)
{
	double most = 0;

	for (size_t i = 0; i < report->rail_count; i++)
		if (report->rails[i].sum.ports)
			most = fmax(most, report->rails[i].sum.capacity / report->rails[i].sum.ports);
	for (size_t i = 0; i < report->rail_count; i++) {
		struct job_rail *rail = &report->rails[i];

		rail->slower = rail->sum.capacity > 0 && rail->sum.capacity / rail->sum.ports < SLOWER_RAIL * most;
	}
}

static bool is_slower(const struct job_report *report, const struct job_port *port)
{
	return port->rail != UINT32_MAX && report->rails[port->rail].slower;
}

/* Evenness over ports @first to @last - 1 that are used; @rail: of this rail only, or UINT32_MAX. */
static void compare_ports(const struct job_report *report, uint32_t first, uint32_t last, uint32_t rail,
			  double *values, struct job_evenness *ret)
{
	for (uint32_t i = first; i < last; i++) {
		const struct job_port *port = &report->ports[i];
		bool counts = !port->unused && (rail == UINT32_MAX ? !is_slower(report, port) : port->rail == rail);

		values[i - first] = counts ? comparable_bytes(report, &port->sum) : NAN;
	}
	job_evenness_of(values, last - first, ret);
	ret->lowest += ret->lowest == UINT32_MAX ? 0 : first;
	ret->highest += ret->highest == UINT32_MAX ? 0 : first;
}

/* A job of all hosts is compared over those that took part. */
static bool took_part(const struct job_report *report, const struct job_host *host)
{
	return host->sum.known && (!report->all_hosts || host->used);
}

static void compare_all(struct job_report *report, double *values)
{
	for (size_t i = 0; i < report->host_count; i++)
		values[i] = took_part(report, &report->hosts[i]) ?
			    comparable_bytes(report, &report->hosts[i].sum) : NAN;
	job_evenness_of(values, report->host_count, &report->over_hosts);
	/* Rails are compared by the mean of their used ports: an unused port makes no rail uneven. */
	for (size_t i = 0; i < report->rail_count; i++)
		values[i] = 0;
	for (size_t i = 0; i < report->port_count; i++) {
		const struct job_port *port = &report->ports[i];

		if (port->rail != UINT32_MAX && !port->unused && job_is_exact(&port->sum))
			values[port->rail] += comparable_bytes(report, &port->sum);
	}
	for (size_t i = 0; i < report->rail_count; i++)
		values[i] = report->rails[i].hosts.count && !report->rails[i].slower ?
			    values[i] / report->rails[i].hosts.count : NAN;
	job_evenness_of(values, report->rail_count, &report->over_rails);
}

/* --- rails --- */

/* Rails of the fabric that the job's hosts have, in their order; ports without one are left out. */
static int find_rails(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	const struct shape *shape = report->shape;
	uint32_t *index = malloc((shape->rail_count + 1) * sizeof(*index));

	if (!index)
		return err_nomem(err);
	memset(index, 0xff, (shape->rail_count + 1) * sizeof(*index));
	for (size_t i = 0; i < report->port_count; i++)
		if (report->ports[i].rail != SHAPE_NONE)
			index[report->ports[i].rail] = 0;
	for (size_t i = 0; i < shape->rail_count; i++) {
		struct job_rail *rail;

		if (index[i])
			continue;
		index[i] = (uint32_t)report->rail_count;
		rail = job_grow(report, &report->rails, &report->rail_count, sizeof(*rail));
		if (!rail) {
			free(index);
			return err_nomem(err);
		}
		rail->name = shape->rails[i].name;
		begin_sum(&rail->sum);
	}
	for (size_t i = 0; i < report->port_count; i++)
		if (report->ports[i].rail != SHAPE_NONE)
			report->ports[i].rail = index[report->ports[i].rail];
	free(index);
	return 0;
}

/* The traffic and the errors of a host that has left are in no sum; its rails are not known. */
static void add_left(struct job_sum *sum)
{
	const struct measure unknown = measure_of(NAN, false);

	sum->at_least = sum->errors_at_least = true;
	sum->mean_xmit = measure_add(sum->mean_xmit, unknown);
	sum->mean_rcv = measure_add(sum->mean_rcv, unknown);
}

static void sum_all(struct job_work *work)
{
	struct job_report *report = work->report;
	bool has_left = work->hca_left && report->all_hosts;

	begin_sum(&report->total);
	for (size_t i = 0; i < report->host_count; i++)
		begin_sum(&report->hosts[i].sum);
	for (size_t i = 0; i < report->port_count; i++) {
		struct job_port *port = &report->ports[i];

		sum_port(work, port);
		add_sum(&report->hosts[port->host].sum, &port->sum);
		add_sum(&report->total, &port->sum);
		if (port->rail != UINT32_MAX)
			add_sum(&report->rails[port->rail].sum, &port->sum);
	}
	for (size_t i = 0; i < report->host_count; i++) {
		report->hosts[i].sum.errors_at_least |= report->hosts[i].missing;
		has_left |= report->hosts[i].missing;
	}
	if (!has_left)
		return;
	add_left(&report->total);
	for (size_t i = 0; i < report->rail_count; i++)
		add_left(&report->rails[i].sum);
}

static void count_leaves(struct job_work *work)
{
	for (size_t i = 0; i < work->report->fabric->node_count; i++)
		work->report->leaf_count += work->leaf[i];
}

static int note_inexact(struct job_report *report, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < report->port_count; i++)
		count += !job_is_exact(&report->ports[i].sum) && !report->ports[i].unused;
	return count ? job_note(report, err, "%zu of %zu port%s not exactly known (counters reset, saturated or not "
				"read); they and their hosts are left out of comparisons", count,
				report->port_count, text_plural(report->port_count)) : 0;
}

/* Hosts without traffic are left out of a job that is not limited to hosts. */
static int note_left_out(struct job_report *report, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; report->all_hosts && i < report->host_count; i++)
		count += !took_part(report, &report->hosts[i]);
	return count && count < report->host_count ?
	       job_note(report, err, "no host list: hosts of the fabric without traffic are left out of "
			"comparisons (%zu)", count) : 0;
}

int job_find_members(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	double *values;
	int code = find_hosts(work, err);

	if (code == 0)
		code = find_rails(work, err);
	if (code < 0)
		return code;
	values = calloc(report->port_count + report->host_count + report->rail_count + 1, sizeof(*values));
	if (!values)
		return err_nomem(err);
	sum_all(work);
	find_slower(report);
	for (size_t i = 0; i < report->host_count; i++) {
		struct job_host *host = &report->hosts[i];

		find_unused(report, host, values);
		compare_ports(report, host->first, host->first + host->count, UINT32_MAX, values, &host->ports);
	}
	for (size_t i = 0; i < report->rail_count; i++)
		compare_ports(report, 0, (uint32_t)report->port_count, (uint32_t)i, values, &report->rails[i].hosts);
	compare_all(report, values);
	count_leaves(work);
	free(values);
	code = note_inexact(report, err);
	return code == 0 ? note_left_out(report, err) : code;
}
