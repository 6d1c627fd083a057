/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * measure.h - a number with what is known of it
 *
 * A rate is exact, a lower bound, or unknown: a counter that was reset or is saturated has counted
 * at least as much as it shows, and a port that was not read adds an unknown part to a sum. The
 * value cannot be read without its mark being at hand, and sums, rates and shares carry the mark.
 *
 * A number consists of parts, such as the ports of a sum; a rate of one port has one.
 *
 *	value NAN          unknown; exact is 0
 *	exact == parts     exact
 *	exact < parts      a lower bound: the value is what is certain
 *
 * "At least 0" says nothing and is unknown, except of errors of which a counter is saturated (facts_errors()).
 * Tables mark a lower bound as "12.3+"; data has null instead, and the bound in `lower_bounds` of the row
 * (export/result.h).
 */
#ifndef IBWIRE_ANALYSIS_MEASURE_H
#define IBWIRE_ANALYSIS_MEASURE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct measure {
	double value;
	uint32_t exact, parts;
};

/* Neutral start of a sum: no parts. */
#define MEASURE_NONE ((struct measure){ .value = NAN })

/* measure_of - a number of one part. @exact: false: a lower bound */
static inline struct measure measure_of(double value, bool exact)
{
	if (isnan(value) || (!exact && !(value > 0)))
		return (struct measure){ .value = NAN, .parts = 1 };
	return (struct measure){ .value = value, .exact = exact, .parts = 1 };
}

/* measure_saturated - a number of one part whose counter is saturated: at least the value, which may be 0 */
static inline struct measure measure_saturated(double value)
{
	return (struct measure){ .value = value, .parts = 1 };
}

static inline bool measure_is_exact(struct measure measure)
{
	return !isnan(measure.value) && measure.exact == measure.parts;
}

static inline bool measure_is_at_least(struct measure measure)
{
	return !isnan(measure.value) && measure.exact < measure.parts;
}

/* measure_exact - the value if it is exact, else NAN: for comparisons that a lower bound would falsify. */
static inline double measure_exact(struct measure measure)
{
	return measure_is_exact(measure) ? measure.value : NAN;
}

/* measure_is_better - is more known of @a than of @b, which measures the same? */
static inline bool measure_is_better(struct measure a, struct measure b)
{
	if (measure_is_exact(a) || measure_is_exact(b))
		return measure_is_exact(a) && !measure_is_exact(b);
	/* Of two lower bounds the higher one. */
	return a.value > b.value || (!isnan(a.value) && isnan(b.value));
}

/* measure_mark - what follows the number in text: "+" for a lower bound, else "". */
static inline const char *measure_mark(struct measure measure)
{
	return measure_is_at_least(measure) ? "+" : "";
}

/*
 * measure_add - sum of two numbers
 * Unknown parts make the sum a lower bound; it is unknown if all of them are, or if it is at least 0 and neither of the
 * two is so marked.
 */
static inline struct measure measure_add(struct measure a, struct measure b)
{
	struct measure sum = { isnan(a.value) ? b.value : isnan(b.value) ? a.value : a.value + b.value,
			       a.exact + b.exact, a.parts + b.parts };

	if (sum.exact < sum.parts && !(sum.value > 0) && !measure_is_at_least(a) && !measure_is_at_least(b))
		sum.value = NAN;
	return sum;
}

/* measure_scale - in another unit, or per time. */
static inline struct measure measure_scale(struct measure measure, double factor)
{
	measure.value *= factor;
	return measure;
}

/* measure_mean - mean over the parts of a sum; unknown parts count as 0, so that it is a lower bound. */
static inline struct measure measure_mean(struct measure sum)
{
	return measure_scale(sum, sum.parts ? 1.0 / sum.parts : NAN);
}

/*
 * measure_max - the larger of two numbers, as one part each
 * A lower bound if either is not exact: the other one may be larger. MEASURE_NONE is neutral.
 */
static inline struct measure measure_max(struct measure a, struct measure b)
{
	if (!a.parts || !b.parts)
		return a.parts ? a : b;
	return measure_of(fmax(a.value, b.value), measure_is_exact(a) && measure_is_exact(b));
}

#endif
