/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metric.h - what can be asked about ports over time: each counter, and what is derived from counters
 *
 * A count has a rate (units per second) and a total; a share has a value in percent
 * and no total. Of several ports rates add up, and a share is that of all of them.
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
	METRIC_COUNT,       /* of counters; the sum of several where there are several */
	METRIC_UTILIZATION, /* of the link's data rate */
	METRIC_STALL,       /* analysis/stall.h: an estimate */
};

struct metric {
	const char *key;     /* on command lines and in data: "rcv_bytes", "stall_percent" */
	const char *unit;    /* of a total: "bytes", "packets"; of a share: "percent" */
	const char *meaning; /* one line for a person */
	enum metric_kind kind;
	counter_set counters; /* what it is made of */
	unsigned factor;      /* units in one unit of the counter: bytes in a word */
};

/* metric_at - one of metric_count(); what is derived comes first, then the counters in their order. */
struct metric metric_at(size_t index);
size_t metric_count(void);

/*
 * metric_find - by key; also without "_percent", and a count with "_per_s" behind it,
 * as the columns of rates are called. Return: whether there is one; @ret untouched if not.
 */
bool metric_find(const char *key, struct metric *ret);

/* Whose delta it is. NULL: not known, then shares are not known either. */
struct metric_port {
	const struct node *node;
	const struct port *port;
	const struct pma_caps *caps;
};

/* One delta of one port. */
struct metric_value {
	bool has_rate, has_total;
	bool at_least; /* a counter was reset, or is full: it was this much or more */
	double part;   /* a count: units per second; a share: what it is a share with, so that ... */
	double whole;  /* ... of several ports it is 100 * sum of parts / sum of wholes; 1 for a count */
	uint64_t total; /* a count's units; stops at UINT64_MAX */
};

/* metric_of - @ret is filled completely. */
void metric_of(const struct metric *metric, const struct metric_port *port, const struct delta *delta,
	       struct metric_value *ret);

/*
 * metric_format_value - a rate or a share for people: "182.4 Gb/s", "12.3k/s", "0.25/h", "83.1 %"
 * metric_format_total - a total: "1.5 TB", "12,345" as "12.3k"
 * "-" for NAN. Return: @ret.
 * metric_shown_factor - how many of what is shown are in one of the metric's unit: bits, "per hour"
 */
#define METRIC_VALUE_SIZE 32
const char *metric_format_value(const struct metric *metric, double value, char *ret, size_t size);
double metric_shown_factor(const struct metric *metric);
const char *metric_format_total(const struct metric *metric, uint64_t total, char *ret, size_t size);

#endif
