/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rhythm.h - phases and period of the traffic of a job
 *
 * A training job alternates between computing and communicating. How its rate varies shows how long an
 * iteration takes, and how much of it is spent on the wire. Pure functions on a series of rates.
 */
#ifndef IBWIRE_ANALYSIS_RHYTHM_H
#define IBWIRE_ANALYSIS_RHYTHM_H

#include <stddef.h>
#include <stdint.h>

/* Maximum number of points that rhythm_of() evaluates: the last ones of a longer series. */
enum { RHYTHM_POINTS_MOST = 1024 };

/* What all members of a job sent between two sweeps. */
struct rhythm_point {
	int64_t at_us;       /* CLOCK_BOOTTIME of the end of that window */
	int64_t elapsed_us;  /* its length */
	double bytes;        /* NAN: not known */
};

/* Stored: add at the end. */
enum rhythm_kind {
	RHYTHM_UNKNOWN,      /* too few sweeps yet, or too many without a reading */
	RHYTHM_IDLE,         /* it sends nothing, or little enough to be management traffic */
	RHYTHM_STEADY,       /* it sends all the time */
	RHYTHM_PERIODIC,
	RHYTHM_IRREGULAR,    /* phases without a period */
	RHYTHM_UNRESOLVABLE, /* the rate varies, but faster than sweeps show */
	RHYTHM_KINDS,
};

struct rhythm {
	enum rhythm_kind kind;
	double period_s;        /* of an iteration; NAN: there is none */
	double spread_s;        /* standard deviation of single periods; NAN */
	double wire_share;      /* share of the time in which it communicates, 0..1; NAN: not resolvable */
	double bytes_per_s;     /* mean over the series; NAN: not known */
	double shortest_s;      /* shortest period that these sweeps resolve: twice their interval */
	unsigned periods;       /* number of those in the series */
	double period_bytes;    /* sent in a period; NAN: there is none */
};

/*
 * rhythm_of - the rhythm of a series
 * @points:  by time; windows may differ in length, and some may be missing
 *
 * A period must occur four times in the series. Up to three pauses that are much longer than all others, such as
 * checkpoints, are left out. A period whose amplitude a period below two windows could also have (aliasing) is
 * unresolvable. Takes about 0.2 ms for 600 points. Cannot fail.
 */
void rhythm_of(const struct rhythm_point *points, size_t count, struct rhythm *ret);

/* rhythm_kind_name - "unknown", "idle", "steady", "periodic", "irregular", "unresolvable" */
const char *rhythm_kind_name(enum rhythm_kind kind);

#endif
