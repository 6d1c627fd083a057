/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * trend.h - traffic, stall and errors of the fabric over the last minutes, and the load of each port
 *
 * Follows the shown sweep. New sweeps are taken from the port table, without a read. The sweeps
 * before are read once, when a screen first needs them or another time is shown; fewer of them on a
 * large fabric, so that the read stays short.
 */
#ifndef IBWIRE_TUI_MODEL_TREND_H
#define IBWIRE_TUI_MODEL_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measure.h"
#include "base/clock.h"

struct live;
struct port_table;
struct text;

#define TREND_SPAN_US (600 * US_PER_S)
enum { TREND_POINTS = 600, TREND_LOADS = 60 };

/* A sweep. */
struct trend_point {
	int64_t from_us, wall_us;             /* wall clock of the sweep before, and of this one */
	struct measure xmit_bytes_per_s, rcv_bytes_per_s; /* total of the HCA ports */
	struct measure stall_percent;         /* of the port with the highest XmitWait% */
	struct measure errors;                /* of all ports */
};

/* A zeroed struct is empty. */
struct trend {
	bool wanted;                          /* set by a screen that draws it; nothing is stored before */
	struct trend_point points[TREND_POINTS]; /* point i is points[i % TREND_POINTS] */
	size_t total;                         /* number of points since the last read, also those overwritten */
	/* Internal. */
	struct fabric *fabric;                /* of the loads */
	uint8_t *loads;                       /* by port, a ring of TREND_LOADS: utilization in 1/2 %; 255: unknown */
	struct trend_port *ports;             /* of the current sweep */
	int64_t shown_us, asked_us;           /* last shown time, and since when (boottime) */
	int64_t read_us, took_us;             /* the shown time of the last read, and its duration */
};

void trend_done(struct trend *trend);

/*
 * trend_poll - follow the shown sweep
 * @now_us:  boottime
 * Return: whether anything changed. Without memory or database the trend is empty.
 */
bool trend_poll(struct trend *trend, const struct live *live, const struct port_table *table, int64_t now_us);

/* trend_until - the point after the newest one at or before a time. trend_first - the oldest stored point. */
size_t trend_until(const struct trend *trend, int64_t wall_us);
size_t trend_first(const struct trend *trend);

/* trend_load - utilization of the busier direction of a port at a point, in percent; NAN: unknown. */
double trend_load(const struct trend *trend, uint32_t port, size_t point);

/*
 * trend_spark - the mean utilization of ports as a line of one character per sweep, up to the shown one
 * @columns:  at most TREND_LOADS; padded on the left
 */
void trend_spark(const struct trend *trend, const uint32_t *ports, size_t count, int columns, bool unicode,
		 struct text *ret);

#endif
