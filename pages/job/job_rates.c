/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_rates.c - rates over time: peaks, series of rails, and the two parts of a job
 *
 * The history is read once, for the ports of the hosts and their uplinks. Its pieces are added up to
 * steps; a peak is the highest rate of a step.
 */
#include <math.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "pages/job/job_work.h"

/* Points of series. */
enum { POINTS = 120 };

/* Samples that are unpacked in about 0.1 s; above that stored sums are read, in longer steps. */
enum { SAMPLES_MOST = 400000 };

/* The late part of a running job. */
#define LATE_US (300 * US_PER_S)

struct rates {
	struct job_work *work;
	struct history_port *ports; /* of the query */
	uint32_t *index;            /* parallel to it: port of the fabric whose load it is */
	bool *mirrored;             /* parallel to it: counted by the other end */
	size_t count;
	struct measure *hosts, *rails; /* of a step, two for each: sent, received */
	int64_t *even_until_us;     /* by group: end of the last step in which it was active and even */
	int part;                   /* JOB_EARLY, JOB_LATE */
	int64_t late_after;         /* the late part are sweeps after this one */
	int64_t step_us, first_us;
	int64_t step;               /* number of the current one, -1: none */
	int64_t from_us, until_us;  /* of the current step */
	bool failed;
};

/* --- ports --- */

static int list_ports(struct rates *rates, struct error *err)
{
	struct job_report *report = rates->work->report;
	const struct fabric *fabric = report->fabric;
	size_t most = report->port_count + report->uplink_count;

	rates->ports = job_alloc(report, most, sizeof(*rates->ports));
	rates->index = job_alloc(report, most, sizeof(*rates->index));
	rates->mirrored = job_alloc(report, most, sizeof(*rates->mirrored));
	rates->hosts = job_alloc(report, 2 * report->host_count, sizeof(*rates->hosts));
	rates->rails = job_alloc(report, 2 * report->rail_count, sizeof(*rates->rails));
	rates->even_until_us = job_alloc(report, report->group_count, sizeof(*rates->even_until_us));
	if (!rates->ports || !rates->index || !rates->mirrored || !rates->hosts || !rates->rails ||
	    !rates->even_until_us)
		return err_nomem(err);
	for (size_t i = 0; i < most; i++) {
		bool is_host = i < report->port_count;
		uint32_t p = is_host ? report->ports[i].port : report->uplinks[i - report->port_count].port;
		bool mirrored = is_host && report->ports[i].mirrored;

		/* Both directions of a group have the same ports. */
		if (!is_host && rates->count && rates->work->step[p].unknown)
			continue;
		rates->work->step[p].unknown = !is_host;
		rates->ports[rates->count] = history_port_of(fabric, mirrored ? fabric->ports[p].peer : p);
		rates->mirrored[rates->count] = mirrored;
		rates->index[rates->count++] = p;
	}
	for (size_t i = 0; i < rates->count; i++)
		rates->work->step[rates->index[i]].unknown = false;
	return 0;
}

/* --- a step --- */

static double rate_of(const struct job_load *load, bool xmit)
{
	return load->elapsed_us > 0 && !load->unknown ? (xmit ? load->xmit : load->rcv) / load->elapsed_us * 1e6 : NAN;
}

/* An unknown step raises no peak: the mean over the job is a lower bound then, and so the peak. */
static void raise_to(struct measure *peak, struct measure value)
{
	if (!isnan(value.value))
		*peak = measure_max(*peak, value);
}

/* Add the step to the series of a rail. Return: false: no memory. */
static bool add_step(struct rates *rates, struct job_rail *rail, struct measure xmit, struct measure rcv)
{
	struct series *series = &rail->series;
	struct series_step *step = job_grow(rates->work->report, &series->steps, &series->count, sizeof(*step));
	struct measure most = measure_max(xmit, rcv);
	double rate = most.value;

	if (!step)
		return false;
	*step = (struct series_step){ .from_us = rates->from_us, .until_us = rates->until_us, .low = rate,
				      .mean = rate, .high = rate, .samples = !isnan(rate), .ports = !isnan(rate),
				      .at_least = measure_is_at_least(most) };
	return true;
}

static void add(struct measure *sum, struct measure more)
{
	*sum = measure_add(*sum, more);
}

static void end_hosts(struct rates *rates)
{
	struct job_report *report = rates->work->report;
	struct measure total[2] = { MEASURE_NONE, MEASURE_NONE };

	for (size_t i = 0; i < 2 * report->host_count; i++)
		rates->hosts[i] = MEASURE_NONE;
	for (size_t i = 0; i < 2 * report->rail_count; i++)
		rates->rails[i] = MEASURE_NONE;
	for (size_t i = 0; i < report->port_count; i++) {
		struct job_port *port = &report->ports[i];
		const struct job_load *load = &rates->work->step[port->port];

		for (size_t way = 0; way < 2; way++) {
			struct measure rate = measure_of(rate_of(load, way == 0), true);

			raise_to(way ? &port->sum.peak_rcv : &port->sum.peak_xmit, rate);
			add(&rates->hosts[2 * port->host + way], rate);
			add(&total[way], rate);
			if (port->rail != UINT32_MAX)
				add(&rates->rails[2 * port->rail + way], rate);
		}
	}
	raise_to(&report->total.peak_xmit, total[0]);
	raise_to(&report->total.peak_rcv, total[1]);
	for (size_t i = 0; i < report->host_count; i++) {
		raise_to(&report->hosts[i].sum.peak_xmit, rates->hosts[2 * i]);
		raise_to(&report->hosts[i].sum.peak_rcv, rates->hosts[2 * i + 1]);
	}
	for (size_t i = 0; i < report->rail_count; i++) {
		raise_to(&report->rails[i].sum.peak_xmit, rates->rails[2 * i]);
		raise_to(&report->rails[i].sum.peak_rcv, rates->rails[2 * i + 1]);
		rates->failed |= !add_step(rates, &report->rails[i], rates->rails[2 * i], rates->rails[2 * i + 1]);
	}
}

/* Since when is a group uneven: the start of the steps after the last even one. */
static void end_group(struct rates *rates, size_t index)
{
	const struct balance_settings *settings = &rates->work->balance;
	struct job_group *group = &rates->work->report->groups[index];
	const struct job_report *report = rates->work->report;
	double sum = 0, most = 0, mean;
	uint32_t count = 0;

	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		uint32_t p = report->uplinks[i].port;
		double capacity = (double)port_rate_bits_per_s(&report->fabric->ports[p]) / 8;
		double rate = rate_of(&rates->work->step[p], group->direction == BALANCE_XMIT);

		if (isnan(rate) || !(capacity > 0))
			continue;
		sum += rate / capacity;
		most = fmax(most, rate / capacity);
		count++;
	}
	mean = count ? sum / count : 0;
	if (mean < settings->active_mean && most < settings->active_member)
		return;
	if (most <= (1 + settings->measured_excess) * mean) {
		rates->even_until_us[index] = rates->until_us;
		group->uneven_since_us = 0;
	} else if (!group->uneven_since_us && rates->even_until_us[index]) {
		group->uneven_since_us = rates->even_until_us[index];
	}
}

static void end_step(struct rates *rates)
{
	struct job_work *work = rates->work;

	if (rates->step < 0)
		return;
	end_hosts(rates);
	for (size_t i = 0; i < work->report->group_count; i++)
		end_group(rates, i);
	for (size_t i = 0; i < rates->count; i++)
		work->step[rates->index[i]] = (struct job_load){ 0 };
}

/* --- reading --- */

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	struct rates *rates = ctx;
	struct job_report *report = rates->work->report;
	int64_t middle_us = piece->from_us + (piece->to_us - piece->from_us) / 2, step;
	int part = (piece->from_sweep + piece->to_sweep - 1) / 2 > rates->late_after ? JOB_LATE : JOB_EARLY;

	if (rates->step < 0)
		rates->first_us = piece->from_us;
	step = rates->step_us ? (middle_us - rates->first_us) / rates->step_us : rates->step + 1;
	if (step != rates->step || part != rates->part) {
		end_step(rates);
		rates->from_us = rates->step < 0 ? report->begin_us : rates->until_us;
		rates->step = step < 0 ? 0 : step;
	}
	rates->part = part;
	rates->until_us = piece->to_us;
	if (!report->part_until_us[part])
		report->part_from_us[part] = rates->from_us;
	report->part_until_us[part] = piece->to_us;
	return !rates->failed;
}

static void add_load(struct job_load *load, const struct delta *delta, bool mirrored)
{
	const counter_set data = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
	double xmit = (double)delta->value[COUNTER_XMIT_DATA] * COUNTER_WORD_BYTES;
	double rcv = (double)delta->value[COUNTER_RCV_DATA] * COUNTER_WORD_BYTES;

	if ((delta->known & ~delta->saturated & ~delta->reset & data) != data || delta->elapsed_us <= 0) {
		load->unknown = true;
		return;
	}
	load->elapsed_us += (double)delta->elapsed_us;
	load->xmit += mirrored ? rcv : xmit;
	load->rcv += mirrored ? xmit : rcv;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	struct rates *rates = ctx;
	uint32_t index = rates->index[port];

	(void)who;
	(void)samples;
	add_load(&rates->work->step[index], delta, rates->mirrored[port]);
	add_load(&rates->work->parts[rates->part][index], delta, rates->mirrored[port]);
	return true;
}

/* --- the parts --- */

static void set_parts(struct job_work *work)
{
	struct job_report *report = work->report;

	for (int part = 0; part < JOB_PARTS; part++) {
		for (size_t i = 0; i < report->port_count; i++) {
			struct job_port *port = &report->ports[i];
			const struct job_load *load = &work->parts[part][port->port];
			struct measure rate = measure_of(rate_of(load, true) + rate_of(load, false), true);

			port->sum.part[part] = rate;
			add(&report->total.part[part], rate);
			add(&report->hosts[port->host].sum.part[part], rate);
			if (port->rail != UINT32_MAX)
				add(&report->rails[port->rail].sum.part[part], rate);
		}
		for (size_t i = 0; i < report->group_count; i++)
			for (uint32_t j = report->groups[i].first;
			     j < report->groups[i].first + report->groups[i].count; j++)
				report->uplinks[j].part[part] = rate_of(&work->parts[part][report->uplinks[j].port],
					report->groups[i].direction == BALANCE_XMIT);
	}
}

/* A step may be longer than the job, or end before it: its peak is at least the mean. */
static void raise_peak(struct job_sum *sum)
{
	if (sum->peak_xmit.parts)
		sum->peak_xmit = measure_max(sum->peak_xmit, sum->mean_xmit);
	if (sum->peak_rcv.parts)
		sum->peak_rcv = measure_max(sum->peak_rcv, sum->mean_rcv);
}

static void raise_peaks(struct job_report *report)
{
	raise_peak(&report->total);
	for (size_t i = 0; i < report->rail_count; i++)
		raise_peak(&report->rails[i].sum);
	for (size_t i = 0; i < report->host_count; i++)
		raise_peak(&report->hosts[i].sum);
	for (size_t i = 0; i < report->port_count; i++)
		raise_peak(&report->ports[i].sum);
}

static int64_t late_after(const struct job_work *work)
{
	int64_t sweeps = work->range.until - work->range.after, late = sweeps / 2;
	int64_t interval_us = work->report->interval_us;

	if (work->report->running && interval_us > 0 && LATE_US / interval_us < late)
		late = LATE_US / interval_us;
	return work->range.until - late;
}

/*
 * Length of steps, and the sweeps to read: many ports over many sweeps are read from sums, whose ends are
 * up to half a sum away from those of the job.
 */
static int choose_step(struct job_work *work, struct rates *rates, struct history_range *range, struct error *err)
{
	int64_t samples = (range->until - range->after) * (int64_t)rates->count, step_us, least_us = 0;
	int code = 0;

	if (samples > SAMPLES_MOST && range->chunk_us) {
		least_us = 2 * range->chunk_us;
		if (range->hour_us && range->chunk_sweeps && samples / range->chunk_sweeps > SAMPLES_MOST)
			least_us = 2 * range->hour_us;
		code = reader_history_round(work->reader, range, 0, err);
	}
	step_us = history_step_us(range, rates->count, work->report->duration_us, POINTS);
	rates->step_us = step_us < least_us ? least_us : step_us;
	return code;
}

int job_read_rates(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	struct history_range range = work->range;
	struct rates rates = { .work = work, .step = -1, .late_after = late_after(work) };
	const struct history_consumer consumer = { take_piece, take_delta, &rates };
	struct history_query query = {
		.damage = &work->damage,
		.counters = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA),
	};
	int code;

	if (!report->has_history || !report->port_count)
		return 0;
	code = list_ports(&rates, err);
	if (code == 0)
		code = choose_step(work, &rates, &range, err);
	query.ports = rates.ports;
	query.port_count = rates.count;
	query.after = range.after;
	query.until = range.until;
	query.longest_us = rates.step_us / 2;
	report->peak_step_us = rates.step_us;
	if (code == 0)
		code = reader_history(work->reader, &query, &consumer, err);
	if (code == 0) {
		end_step(&rates);
		set_parts(work);
		raise_peaks(report);
	}
	return code == 0 && rates.failed ? err_nomem(err) : code;
}
