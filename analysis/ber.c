/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/ber.h"

#include <math.h>

static const struct ber not_known = { .rate = NAN };

/* Errors divided by the bits of the time in which they were counted. */
static struct ber from_count(uint64_t errors, int64_t elapsed_us, uint64_t link_bits_per_s)
{
	struct ber ber = not_known;

	if (elapsed_us <= 0 || !link_bits_per_s)
		return ber;
	ber.bits = (double)elapsed_us / 1e6 * (double)link_bits_per_s;
	ber.rate = (double)errors / ber.bits;
	return ber;
}

double ber_below(const struct ber *ber)
{
	/* A lower bound of 0 has no upper bound. */
	return ber->rate == 0 && !ber->at_least ? BER_BELOW_ERRORS / ber->bits : NAN;
}

struct ber ber_symbol(const struct delta *delta, uint64_t link_bits_per_s)
{
	counter_set bit = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
	uint64_t errors = delta->value[COUNTER_SYMBOL_ERRORS];
	struct ber ber;

	if (!(delta->known & bit) || (delta->saturated & bit && !errors))
		return not_known;
	ber = from_count(errors, delta->elapsed_us, link_bits_per_s);
	ber.at_least = delta_lower_bounds(delta) & bit;
	return ber;
}

/* A counter that was saturated from the beginning has no value. */
static bool has_value(const struct detail_delta *delta, unsigned number)
{
	uint32_t bit = UINT32_C(1) << number;

	return delta->known & bit && (!(delta->saturated & bit) || delta->value[number]);
}

static struct ber from_details(const struct detail_delta *delta, enum fec_layout layout, const unsigned *numbers,
			       unsigned count, uint64_t link_bits_per_s)
{
	uint64_t errors = 0;
	uint32_t bits = 0;
	struct ber ber;

	for (unsigned i = 0; i < count; i++) {
		if (!has_value(delta, numbers[i]))
			return not_known;
		errors += numbers[i] == DETAIL_FEC_UNCORRECTED_BLOCKS ?
				  delta->value[numbers[i]] * fec_block_errors(layout) :
				  delta->value[numbers[i]];
		bits |= UINT32_C(1) << numbers[i];
	}
	ber = from_count(errors, delta->elapsed_us, link_bits_per_s);
	ber.at_least = detail_delta_lower_bounds(delta) & bits;
	return ber;
}

struct ber ber_effective(const struct detail_delta *delta, enum fec_layout layout, uint64_t link_bits_per_s)
{
	static const unsigned numbers[] = { DETAIL_FEC_UNCORRECTED_BLOCKS };

	return from_details(delta, layout, numbers, 1, link_bits_per_s);
}

struct ber ber_raw(const struct detail_delta *delta, enum fec_layout layout, uint64_t link_bits_per_s)
{
	static const unsigned symbols[] = { DETAIL_FEC_UNCORRECTED_BLOCKS, DETAIL_FEC_CORRECTED_SYMBOLS };
	static const unsigned blocks[] = { DETAIL_FEC_UNCORRECTED_BLOCKS, DETAIL_FEC_CORRECTED_BLOCKS };
	bool has_symbols = delta->known & UINT32_C(1) << DETAIL_FEC_CORRECTED_SYMBOLS;

	return from_details(delta, layout, has_symbols ? symbols : blocks, 2, link_bits_per_s);
}

bool ber_counts_fec(const struct detail_reading *reading, const struct detail_delta *sum)
{
	return reading->layout != FEC_LAYOUT_LANES || reading->value[DETAIL_FEC_CORRECTED_BLOCKS] ||
	       reading->value[DETAIL_FEC_UNCORRECTED_BLOCKS] || sum->value[DETAIL_FEC_CORRECTED_BLOCKS] ||
	       sum->value[DETAIL_FEC_UNCORRECTED_BLOCKS];
}
