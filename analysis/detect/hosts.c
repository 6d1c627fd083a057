/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The record of what hosts send and receive: when they begin and are quiet, and their rates in the last sweeps. */
#include "analysis/detect/state.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"

/* Management and login traffic is less. */
#define FLOOR_BYTES_PER_S 1e6
/* Multiples of the traffic of a host without a job, at which a job begins and ends. */
#define BEGIN_FACTOR 3
#define END_FACTOR 1.5
/* Traffic that was steady over this many sweeps is that of a host without a job, if a job begins after it. */
#define BEFORE_SWEEPS 8
#define BEFORE_FACTOR 2

/*
 * Hosts of a job send about what they receive. What goes one way only is storage: a request or an acknowledgement is
 * a small share of the data. A first or last stage of a pipeline sends and receives in turn.
 */
#define REPLY_SHARE 0.05
#define BOTH_WAYS_LEAST 0.2
#define BOTH_WAYS_SWEEPS 8

/* A host that is quiet for this long begins again; hosts of a job do so together. */
#define HOST_QUIET_US (30 * US_PER_S)
#define HOST_QUIET_SWEEPS 3

int detect_reserve_host(struct job_detect *detect, uint32_t host, struct error *err)
{
	size_t wanted = detect->host_capacity ? detect->host_capacity : 64;
	struct detect_host *hosts;
	float *rows;

	if (host >= detect->host_capacity) {
		while (wanted <= host)
			wanted *= 2;
		hosts = reallocarray(detect->hosts, wanted, sizeof(*hosts));
		if (!hosts)
			return err_nomem(err);
		detect->hosts = hosts;
		rows = reallocarray(detect->rates, wanted, CLUSTER_SWEEPS * sizeof(*rows));
		if (!rows)
			return err_nomem(err);
		detect->rates = rows;
		rows = reallocarray(detect->differences, wanted, CLUSTER_SWEEPS * sizeof(*rows));
		if (!rows)
			return err_nomem(err);
		detect->differences = rows;
		detect->host_capacity = wanted;
	}
	for (; detect->host_count <= host; detect->host_count++) {
		detect->hosts[detect->host_count] = (struct detect_host){ .job = NO_JOB };
		for (size_t i = 0; i < CLUSTER_SWEEPS; i++)
			*detect_rate(detect, detect->host_count, i) =
				*detect_difference(detect, detect->host_count, i) = NAN;
	}
	return 0;
}

static void begin_host(struct detect_host *host, uint64_t sweep, int64_t at_us, bool known)
{
	host->begun = true;
	host->began_us = known ? at_us : 0;
	host->since_us = at_us;
	host->from_sweep = sweep;
	host->before_count = 0;
	host->xmit_begun = host->rcv_begun = host->begun_s = 0;
}

/* Traffic that was steady since the host was first read, and then rises, was not that of a job. */
static bool rises(struct detect_host *host, double rate)
{
	double mean = host->before_sum / host->before_count;

	if (host->before_count >= BEFORE_SWEEPS && host->before_most <= BEFORE_FACTOR * mean &&
	    rate > BEGIN_FACTOR * mean) {
		host->base = mean;
		return true;
	}
	host->before_count++;
	host->before_sum += rate;
	host->before_most = fmax(host->before_most, rate);
	return false;
}

/* Is it quiet? Also learns the traffic of a host without a job. */
static bool is_quiet(struct detect_host *host, double rate)
{
	double factor = host->begun ? END_FACTOR : BEGIN_FACTOR;
	bool quiet = rate <= fmax(FLOOR_BYTES_PER_S, factor * host->base);

	if (quiet && !host->begun)
		host->base += (rate - host->base) / 16;
	return quiet;
}

/* @began_us: CLOCK_BOOTTIME of the previous reading; @at_us: of this one */
static void update_host(struct job_detect *detect, struct detect_host *host, double rate, int64_t began_us,
			int64_t at_us)
{
	int64_t allowed_us = at_least(HOST_QUIET_US, HOST_QUIET_SWEEPS * detect->interval_us);
	bool first = !host->seen;

	host->seen = true;
	if (is_quiet(host, rate)) {
		if (!host->quiet_us)
			host->quiet_us = began_us;
		host->before_count = 0;
		host->before_sum = host->before_most = 0;
		if (host->active && at_us - host->quiet_us < allowed_us)
			return;
		host->active = false;
		if (host->job == NO_JOB)
			host->begun = false;
		return;
	}
	host->quiet_us = 0;
	if (!host->begun) {
		begin_host(host, detect->sweep, began_us, !first);
		host->before_count = first;
		host->before_sum = host->before_most = first ? rate : 0;
		host->resumed_us = host->began_us;
	} else if (!host->active) {
		host->resumed_us = began_us;
	} else if (host->before_count && rises(host, rate)) {
		begin_host(host, detect->sweep, began_us, true);
		host->resumed_us = began_us;
	}
	host->active = true;
}

static void set_announced(struct detect_host *host, bool announced)
{
	if (announced || host->announced) {
		host->begun = host->active = false;
		host->quiet_us = 0;
	}
	host->announced = announced;
}

/* A reading that others before it are missing of is of their sweeps, too. */
static void record(struct job_detect *detect, const struct detect_reading *reading, float rate, float difference)
{
	int64_t sweeps = (reading->elapsed_us + detect->interval_us / 2) / detect->interval_us;

	for (uint64_t i = 0; i < CLUSTER_SWEEPS && i < detect->sweep && (i == 0 || (int64_t)i < sweeps); i++) {
		float *place = detect_rate(detect, reading->host, detect->sweep - i);

		if (!isnan(*place))
			break;
		*place = rate;
		*detect_difference(detect, reading->host, detect->sweep - i) = difference;
	}
}

void detect_read_host(struct job_detect *detect, const struct detect_reading *reading, int64_t at_us)
{
	struct detect_host *host = &detect->hosts[reading->host];
	double elapsed_s = (double)reading->elapsed_us / 1e6, xmit, rcv, less, more, rate;

	set_announced(host, reading->announced);
	if (host->announced || !(elapsed_s > 0) || !isfinite(reading->xmit_bytes) || !isfinite(reading->rcv_bytes))
		return;
	xmit = reading->xmit_bytes / elapsed_s;
	rcv = reading->rcv_bytes / elapsed_s;
	host->xmit += (xmit - host->xmit) / (host->seen ? BOTH_WAYS_SWEEPS : 1);
	host->rcv += (rcv - host->rcv) / (host->seen ? BOTH_WAYS_SWEEPS : 1);
	less = fmin(host->xmit, host->rcv);
	more = fmax(host->xmit, host->rcv);
	rate = xmit + rcv;
	if (less < BOTH_WAYS_LEAST * more)
		rate = fmax(2 * (fmin(xmit, rcv) - REPLY_SHARE * fmax(xmit, rcv)), 0);
	/* Data of a storage comes on top of what is compared. */
	record(detect, reading, (float)fmin(rate, 2 * fmin(xmit, rcv)), (float)(xmit - rcv));
	update_host(detect, host, rate, at_us - reading->elapsed_us, at_us);
	host->xmit_sum += reading->xmit_bytes;
	host->rcv_sum += reading->rcv_bytes;
	if (host->from_sweep == detect->sweep)
		return;
	host->xmit_begun += reading->xmit_bytes;
	host->rcv_begun += reading->rcv_bytes;
	host->begun_s += elapsed_s;
}
