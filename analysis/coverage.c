/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/coverage.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/ber.h"
#include "analysis/delta.h"
#include "analysis/rate.h"
#include "base/err.h"
#include "fabric/fabric.h"

/* Without these an agent cannot show that a link is clean. */
#define REQUIRED_SET \
	(COUNTER_BIT(COUNTER_SYMBOL_ERRORS) | COUNTER_BIT(COUNTER_LINK_DOWNED) | COUNTER_BIT(COUNTER_RCV_ERRORS))

/* Ports are read at different times within a sweep, and retries take two seconds: this is no time without a reading. */
enum { TOLERANCE_US = 2000000 };

/* A load over more time than this, and than the interval of the sweeps, is a mean of several intervals. */
enum { PEAK_US = 60 * 1000000 };

bool coverage_is_link(const struct fabric *fabric, uint32_t port)
{
	const struct port *own = &fabric->ports[port];

	return own->peer != FABRIC_NONE && own->peer != port && own->num > 0 &&
	       !node_is_aggregation(&fabric->nodes[own->node]) &&
	       !node_is_aggregation(&fabric->nodes[fabric->ports[own->peer].node]);
}

int coverage_init(struct coverage *ret, const struct fabric *fabric, const struct coverage_limits *limits,
		  int64_t since_us, int64_t interval_us, struct error *err)
{
	struct coverage coverage = { .fabric = fabric, .limits = *limits, .since_us = since_us,
				     .interval_us = interval_us };

	coverage.list = calloc(fabric->port_count + 1, sizeof(*coverage.list));
	if (!coverage.list)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->port_count; i++)
		coverage.list[i].peak_percent = -1;
	*ret = coverage;
	return 0;
}

void coverage_done(struct coverage *coverage)
{
	free(coverage->list);
	coverage->list = NULL;
}

void coverage_begin_piece(struct coverage *coverage, int64_t end_us, bool is_mean)
{
	coverage->piece_begin_us = coverage->piece_end_us;
	coverage->piece_end_us = end_us;
	coverage->piece_is_mean = is_mean;
}

static int64_t tolerance_us(const struct coverage *coverage)
{
	return coverage->interval_us / 2 > TOLERANCE_US ? coverage->interval_us / 2 : TOLERANCE_US;
}

/* The part of the time of a delta that is in the window. */
static int64_t time_of(const struct coverage *coverage, const struct delta *delta)
{
	int64_t most_us = coverage->piece_end_us - coverage->since_us + tolerance_us(coverage);

	return delta->elapsed_us < most_us ? delta->elapsed_us : most_us > 0 ? most_us : 0;
}

/* Add an interval up to the end of the piece to a time, as far as it is later than what was added before. */
static void add_time(const struct coverage *coverage, int64_t time_us, int64_t *sum_us, int64_t *until_us)
{
	int64_t begin_us = coverage->piece_end_us - time_us;

	if (*until_us > begin_us)
		begin_us = *until_us;
	if (coverage->piece_end_us <= begin_us)
		return;
	*sum_us += coverage->piece_end_us - begin_us;
	*until_us = coverage->piece_end_us;
}

/* Was the port not read at the end of the previous piece? Then its load is a mean over several. */
static bool spans_pieces(const struct coverage *coverage, const struct delta *delta)
{
	return coverage->piece_begin_us &&
	       coverage->piece_end_us - delta->elapsed_us < coverage->piece_begin_us - tolerance_us(coverage);
}

/* The load of a direction, as counted by one of its ends; time that both ends know counts once. */
static void add_load(struct coverage *coverage, uint32_t sender, const struct delta *delta, enum counter counter)
{
	struct coverage_direction *direction = &coverage->list[sender];
	struct measure percent = rate_utilization_percent(rate_bytes_per_s(delta, counter),
							  port_rate_bits_per_s(&coverage->fabric->ports[sender]));
	bool loaded = percent.value >= coverage->limits.min_load_percent;
	int64_t time_us = time_of(coverage, delta);

	if (isnan(percent.value))
		return;
	if (percent.value > (double)direction->peak_percent)
		direction->peak_percent = (float)percent.value;
	direction->peak_hidden |= coverage->piece_is_mean || !measure_is_exact(percent) ||
				  spans_pieces(coverage, delta);
	direction->peak_of_sums |= delta->elapsed_us > PEAK_US + tolerance_us(coverage) &&
				   delta->elapsed_us > coverage->interval_us + tolerance_us(coverage);
	/* A lower bound below the load does not exclude the load; nor does a mean over a long time. */
	if (!loaded && (!measure_is_exact(percent) || coverage->piece_is_mean))
		return;
	add_time(coverage, time_us, &direction->known_us, &direction->known_until_us);
	if (loaded)
		add_time(coverage, time_us, &direction->loaded_us, &direction->loaded_until_us);
}

static void restart(struct coverage_direction *direction, enum coverage_break why)
{
	direction->clean_us = 0;
	direction->broken_by = (uint8_t)why;
}

/* The errors of a direction, as counted by its receiving end. */
static void add_errors(struct coverage *coverage, uint32_t sender, const struct delta *delta)
{
	struct coverage_direction *direction = &coverage->list[sender];
	counter_set known = delta->known & COVERAGE_ERROR_SET, bounds = delta_lower_bounds(delta) & known;
	int64_t time_us = time_of(coverage, delta);
	int64_t begin_us = coverage->piece_end_us - time_us;
	uint64_t errors = 0;

	for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		if (known & COUNTER_BIT(i) && __builtin_add_overflow(errors, delta->value[i], &errors))
			errors = UINT64_MAX;
	if (__builtin_add_overflow(direction->errors, errors, &direction->errors))
		direction->errors = UINT64_MAX;
	direction->errors_at_least |= bounds || (known & REQUIRED_SET) != REQUIRED_SET;
	/* Time in which the port was not read, and that no later delta covers. */
	if (direction->end_us && begin_us > direction->end_us + tolerance_us(coverage))
		restart(direction, COVERAGE_UNKNOWN);
	direction->end_us = coverage->piece_end_us;
	if (errors)
		restart(direction, COVERAGE_ERROR);
	else if (bounds || (known & REQUIRED_SET) != REQUIRED_SET)
		restart(direction, COVERAGE_UNKNOWN);
	else
		direction->clean_us += time_us;
	if (direction->clean_us > direction->longest_clean_us)
		direction->longest_clean_us = direction->clean_us;
}

void coverage_add(struct coverage *coverage, uint32_t port, const struct delta *delta)
{
	uint32_t peer = coverage->fabric->ports[port].peer;

	if (peer == FABRIC_NONE || delta->elapsed_us <= 0)
		return;
	/* What was carried before the link went down may have been another cable. */
	if (delta->known & COUNTER_BIT(COUNTER_LINK_DOWNED) && delta->value[COUNTER_LINK_DOWNED]) {
		struct coverage_direction *const both[] = { &coverage->list[port], &coverage->list[peer] };

		for (int i = 0; i < 2; i++) {
			add_time(coverage, time_of(coverage, delta), &both[i]->known_us, &both[i]->known_until_us);
			both[i]->peak_hidden = true;
			both[i]->loaded_us = 0;
			both[i]->loaded_until_us = coverage->piece_end_us;
			restart(both[i], COVERAGE_ERROR);
		}
	} else {
		add_load(coverage, port, delta, COUNTER_XMIT_DATA);
		add_load(coverage, peer, delta, COUNTER_RCV_DATA);
	}
	add_errors(coverage, peer, delta);
}

void coverage_end(struct coverage *coverage, int64_t until_us)
{
	coverage->until_us = until_us;
}

int64_t coverage_ber_time_us(double ber, uint64_t bits_per_s)
{
	double us = bits_per_s && ber > 0 ? ceil(1e6 * BER_BELOW_ERRORS / ber / (double)bits_per_s) : 0;

	return us < 9e18 ? (int64_t)us : INT64_MAX;
}

int64_t coverage_clean_us(const struct coverage *coverage, uint32_t port)
{
	return coverage->limits.ber > 0 ? coverage_ber_time_us(coverage->limits.ber,
					port_rate_bits_per_s(&coverage->fabric->ports[port])) :
					coverage->limits.clean_us;
}

double coverage_ber_below(const struct coverage *coverage, uint32_t port)
{
	double bits = (double)coverage->list[port].clean_us / 1e6 *
		      (double)port_rate_bits_per_s(&coverage->fabric->ports[port]);

	return bits > 0 ? BER_BELOW_ERRORS / bits : NAN;
}

/* A sweep, with what readings may be late: the time before the first reading and after the last one. */
static int64_t sweep_us_of(const struct coverage *coverage)
{
	return coverage->interval_us + tolerance_us(coverage);
}

struct measure coverage_peak(const struct coverage *coverage, uint32_t port)
{
	const struct coverage_direction *direction = &coverage->list[port];
	double peak = (double)direction->peak_percent;
	bool known = coverage->until_us - coverage->since_us - direction->known_us <= sweep_us_of(coverage) &&
		     !direction->peak_hidden && !(direction->peak_of_sums && peak < coverage->limits.min_load_percent);

	return measure_of(peak < 0 ? NAN : peak, known || peak >= 100);
}

unsigned coverage_left(const struct coverage *coverage, uint32_t port)
{
	const struct coverage_direction *direction = &coverage->list[port];
	int64_t window_us = coverage->until_us - coverage->since_us, clean_us = coverage_clean_us(coverage, port);
	int64_t sweep_us = sweep_us_of(coverage);
	bool stale = !direction->end_us || coverage->until_us > direction->end_us + sweep_us;
	unsigned left = 0;

	if (fabric_link_state(coverage->fabric, port) != PORT_ACTIVE)
		left |= COVERAGE_DOWN;
	/* The time before the first reading and after the last one is not known, and means nothing. */
	if (direction->loaded_us < coverage->limits.load_us)
		left |= window_us - direction->known_us + direction->loaded_us >= coverage->limits.load_us + sweep_us ?
			COVERAGE_LOAD_UNKNOWN : COVERAGE_NOT_LOADED;
	if (!stale && clean_us && direction->clean_us >= clean_us)
		return left;
	if (stale || !clean_us || direction->broken_by == COVERAGE_UNKNOWN)
		left |= COVERAGE_ERRORS_UNKNOWN;
	else
		left |= direction->broken_by == COVERAGE_ERROR ? COVERAGE_ERRORS : COVERAGE_CLEAN_SHORT;
	return left;
}

const char *coverage_left_name(unsigned bit)
{
	switch (bit) {
	case COVERAGE_DOWN: return "down";
	case COVERAGE_NOT_LOADED: return "not-loaded";
	case COVERAGE_LOAD_UNKNOWN: return "load-unknown";
	case COVERAGE_ERRORS: return "errors";
	case COVERAGE_CLEAN_SHORT: return "clean-too-short";
	default: return "errors-unknown";
	}
}
