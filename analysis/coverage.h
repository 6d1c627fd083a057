/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * coverage.h - for how long the links of a fabric carried load and were free of errors, in each direction
 *
 * A direction is named by its sending port. Its load is counted by both ends, its errors by the receiving one.
 * Only what is certain counts: an interval in which neither end is known to have reached the load is not loaded, and
 * one in which errors may have been lost (a reset, a counter at its maximum, a port that was not read) is not clean.
 * A link that went down begins again: its cable may be another one. Pure: memory is proportional to the ports.
 */
#ifndef IBWIRE_ANALYSIS_COVERAGE_H
#define IBWIRE_ANALYSIS_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measure.h"
#include "fabric/counter.h"

struct delta;
struct error;
struct fabric;

/* Errors of the link itself, at its receiving end: not congestion, not packets that were damaged elsewhere. */
#define COVERAGE_ERROR_SET \
	(COUNTER_BIT(COUNTER_SYMBOL_ERRORS) | COUNTER_BIT(COUNTER_LINK_ERROR_RECOVERY) | \
	 COUNTER_BIT(COUNTER_LINK_DOWNED) | COUNTER_BIT(COUNTER_RCV_ERRORS) | \
	 COUNTER_BIT(COUNTER_LOCAL_LINK_INTEGRITY_ERRORS) | COUNTER_BIT(COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS))
#define COVERAGE_COUNTERS (COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA) | COVERAGE_ERROR_SET)

struct coverage_limits {
	double min_load_percent; /* of the data rate of the link */
	int64_t load_us;         /* it is to be carried for, in total */
	int64_t clean_us;        /* time without errors up to the end of the window */
	double ber;              /* > 0: instead of clean_us, the time that excludes this BER at the rate of the link */
};

/* Why the last error-free time of a direction began. */
enum coverage_break {
	COVERAGE_FIRST_READING, /* of the window */
	COVERAGE_ERROR,
	COVERAGE_UNKNOWN,       /* counters were reset or saturated, or the port was not read */
};

struct coverage_direction {
	int64_t loaded_us;    /* with at least min_load_percent */
	int64_t known_us;     /* in which it is known whether it had that load, loaded_us included */
	int64_t clean_us;     /* without errors, up to the last reading */
	int64_t longest_clean_us;
	int64_t end_us;       /* wall clock of the last reading of the receiving port; 0: none in the window */
	uint64_t errors;      /* in the window */
	float peak_percent;   /* highest load of an interval, see coverage_peak(); negative: unknown */
	int64_t loaded_until_us, known_until_us; /* private: both ends count the same time */
	uint8_t broken_by;    /* enum coverage_break */
	bool errors_at_least; /* errors is a lower bound */
	bool peak_hidden, peak_of_sums; /* private: a reading may hide any load, or one below min_load_percent */
};

/* What is left to do for a direction; a set. 0: covered. */
enum coverage_left {
	COVERAGE_DOWN = 1 << 0,          /* the link is not Active */
	COVERAGE_NOT_LOADED = 1 << 1,    /* the load was too low, or too short */
	COVERAGE_LOAD_UNKNOWN = 1 << 2,  /* it may have been carried in time without readings, or of hourly means */
	COVERAGE_ERRORS = 1 << 3,        /* errors within the time that is to be clean */
	COVERAGE_CLEAN_SHORT = 1 << 4,   /* no error, but too short a time */
	COVERAGE_ERRORS_UNKNOWN = 1 << 5,
	COVERAGE_LEFT_BITS = 6,
};

struct coverage {
	const struct fabric *fabric; /* borrowed */
	struct coverage_limits limits;
	struct coverage_direction *list; /* by port: what it sends */
	int64_t since_us, interval_us, until_us;
	/* Of the current piece: */
	int64_t piece_begin_us, piece_end_us;
	bool piece_is_mean;
};

/* coverage_is_link - is a port an end of a link that is judged: not of an aggregation node inside a switch? */
bool coverage_is_link(const struct fabric *fabric, uint32_t port);

/*
 * coverage_init - begin with the first reading in a window
 * @fabric:       at the end of the window
 * @since_us:     wall clock of its begin
 * @interval_us:  of the sweeps; 0: unknown
 * Return: 0 or ERR_NOMEM. coverage_done() frees it.
 */
int coverage_init(struct coverage *ret, const struct fabric *fabric, const struct coverage_limits *limits,
		  int64_t since_us, int64_t interval_us, struct error *err);
void coverage_done(struct coverage *coverage);

/*
 * coverage_begin_piece - the next piece of the window, in order of time
 * @end_us:   wall clock of its last sweep
 * @is_mean:  it is long: of its load only the mean is known. A mean of at least the load counts; below it, the load may
 *            have been carried in a part of it
 * coverage_add - the delta of a port in the piece
 * coverage_end - all pieces were added. @until_us: wall clock of the last sweep of the window
 */
void coverage_begin_piece(struct coverage *coverage, int64_t end_us, bool is_mean);
void coverage_add(struct coverage *coverage, uint32_t port, const struct delta *delta);
void coverage_end(struct coverage *coverage, int64_t until_us);

/* coverage_left - what is left of the direction of a port that coverage_is_link(); a set of enum coverage_left. */
unsigned coverage_left(const struct coverage *coverage, uint32_t port);

/* coverage_left_name - "not-loaded" of one of them; static storage. */
const char *coverage_left_name(unsigned bit);

/* coverage_clean_us - the time that a direction is to be clean; 0: a BER is given, and the rate is unknown. */
int64_t coverage_clean_us(const struct coverage *coverage, uint32_t port);

/*
 * coverage_peak - the highest load of a direction between two readings, in percent
 * A lower bound if the load of a part of the window is not known, or is only known as a mean that may hide more.
 */
struct measure coverage_peak(const struct coverage *coverage, uint32_t port);

/* coverage_ber_time_us - the error-free time that excludes a BER at a data rate with 95 % confidence; 0: no rate. */
int64_t coverage_ber_time_us(double ber, uint64_t bits_per_s);

/* coverage_ber_below - BER that the clean time of a direction excludes with 95 % confidence; NAN: unknown. */
double coverage_ber_below(const struct coverage *coverage, uint32_t port);

#endif
