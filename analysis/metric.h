/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metric.h - metrics of ports over time: counters, and values derived from them
 *
 * A count has a rate (units per second) and a total; a share has a value in percent and no total.
 * Rates of several ports are added; a share of several ports is the share of their total.
 */
#ifndef IBWIRE_ANALYSIS_METRIC_H
#define IBWIRE_ANALYSIS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/delta.h"

struct node;
struct pma_caps;
struct port;

enum metric_kind {
	METRIC_COUNT,       /* of a counter, or the sum of several */
	METRIC_UTILIZATION, /* of the data rate of the link */
	METRIC_STALL,       /* analysis/rate.h: an estimate */
};

struct metric {
	const char *key;     /* on command lines and in data: "rcv_bytes", "stall_percent" */
	const char *unit;    /* of a total: "bytes", "packets"; of a share: "percent"; "seconds" of a plot */
	const char *meaning; /* one line */
	enum metric_kind kind;
	counter_set counters; /* counters that it is computed from */
	unsigned factor;      /* units in one unit of the counter: bytes in a word */
};

/* metric_at - one of metric_count(): derived metrics first, then counters in their order. */
struct metric metric_at(size_t index);
size_t metric_count(void);

/*
 * metric_find - find by key; also without "_percent", and a count with the suffix "_per_s" of rate
 * columns. Return: whether it exists; @ret is untouched if not.
 */
bool metric_find(const char *key, struct metric *ret);

/* The port of a delta. NULL: unknown; shares are unknown then. */
struct metric_port {
	const struct node *node;
	const struct port *port;
	const struct pma_caps *caps;
};

/* One delta of one port. */
struct metric_value {
	bool has_rate, has_total;
	bool at_least; /* a lower bound: a counter was reset or saturated */
	double part;   /* a count: units per second; a share: numerator, so that ... */
	double whole;  /* ... over several ports it is 100 * sum of parts / sum of wholes; 1 for a count */
	uint64_t total; /* units of a count, at most UINT64_MAX */
};

/* metric_of - @ret is filled completely. */
void metric_of(const struct metric *metric, const struct metric_port *port, const struct delta *delta,
	       struct metric_value *ret);

/*
 * metric_format_value - format a rate or a share: "182.4 Gb/s", "12.3k/s", "0.25/h", "83.1 %"
 * metric_format_total - format a total: "1.5 TB", "12,345" as "12.3k"
 * "-" for NAN. Return: @ret.
 * metric_shown_factor - displayed units in one unit of the metric: bits, "per hour"
 */
#define METRIC_VALUE_SIZE 32
const char *metric_format_value(const struct metric *metric, double value, char *ret, size_t size);
double metric_shown_factor(const struct metric *metric);
const char *metric_format_total(const struct metric *metric, uint64_t total, char *ret, size_t size);

#endif
