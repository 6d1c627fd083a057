/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>

#include "analysis/ber.h"
#include "base/unit_test.h"
#include "fabric/speed.h"

#define HOUR_US (3600 * INT64_C(1000000))
#define SYMBOL_BIT COUNTER_BIT(COUNTER_SYMBOL_ERRORS)
#define BIT(number) (UINT32_C(1) << (number))

static uint64_t ndr(void)
{
	return link_rate_bits_per_s(LINK_WIDTH_4X, LINK_SPEED_NDR);
}

static struct delta symbols(uint64_t errors, int64_t elapsed_us)
{
	struct delta delta = { .elapsed_us = elapsed_us, .known = SYMBOL_BIT };

	delta.value[COUNTER_SYMBOL_ERRORS] = errors;
	return delta;
}

static bool is_near(double value, double wanted)
{
	return fabs(value - wanted) <= wanted * 1e-9;
}

TEST(errors_are_counted_over_all_bits_of_the_time)
{
	struct delta delta = symbols(8, HOUR_US);
	struct ber ber = ber_symbol(&delta, ndr());

	assert_true(is_near(ber.bits, 3600 * 4e11));
	assert_true(is_near(ber.rate, 8 / 1.44e15));
	assert_false(ber.at_least);
	assert_true(isnan(ber_below(&ber)));
}

TEST(without_errors_the_rate_has_an_upper_bound)
{
	struct delta delta = symbols(0, HOUR_US);
	struct ber ber = ber_symbol(&delta, ndr());

	assert_true(ber.rate == 0);
	assert_true(is_near(ber_below(&ber), 3 / 1.44e15));
	/* Errors before a reset are lost. */
	delta.reset = SYMBOL_BIT;
	ber = ber_symbol(&delta, ndr());
	assert_true(ber.rate == 0 && ber.at_least);
	assert_true(isnan(ber_below(&ber)));
}

TEST(unknown_values_have_no_rate)
{
	struct delta delta = symbols(1, HOUR_US);
	struct ber ber = ber_symbol(&delta, 0);

	assert_true(isnan(ber.rate) && ber.bits == 0);
	assert_true(isnan(ber_below(&ber)));
	delta.elapsed_us = 0;
	assert_true(isnan(ber_symbol(&delta, ndr()).rate));
	delta = symbols(1, HOUR_US);
	delta.known = 0;
	assert_true(isnan(ber_symbol(&delta, ndr()).rate));
	/* Saturated: a lower bound; unknown if it was saturated at the start. */
	delta = symbols(3, HOUR_US);
	delta.saturated = SYMBOL_BIT;
	assert_true(ber_symbol(&delta, ndr()).at_least);
	delta.value[COUNTER_SYMBOL_ERRORS] = 0;
	assert_true(isnan(ber_symbol(&delta, ndr()).rate));
}

TEST(effective_is_uncorrected_errors_and_raw_all_errors)
{
	struct detail_delta delta = {
		.elapsed_us = 600 * INT64_C(1000000),
		.known = BIT(DETAIL_FEC_CORRECTED_BLOCKS) | BIT(DETAIL_FEC_UNCORRECTED_BLOCKS) |
			 BIT(DETAIL_FEC_CORRECTED_SYMBOLS),
	};
	double bits = 600 * 4e11;

	delta.value[DETAIL_FEC_CORRECTED_BLOCKS] = 1000;
	delta.value[DETAIL_FEC_CORRECTED_SYMBOLS] = 1500;
	delta.value[DETAIL_FEC_UNCORRECTED_BLOCKS] = 2;
	/* An uncorrectable block has at least one symbol error more than the code corrects. */
	assert_true(is_near(ber_effective(&delta, FEC_LAYOUT_RS_544, ndr()).rate, 32 / bits));
	assert_true(is_near(ber_effective(&delta, FEC_LAYOUT_RS, ndr()).rate, 16 / bits));
	assert_true(is_near(ber_effective(&delta, FEC_LAYOUT_LANES, ndr()).rate, 2 / bits));
	assert_true(is_near(ber_raw(&delta, FEC_LAYOUT_RS, ndr()).rate, 1516 / bits));
	/* Without symbols of this kind, blocks are counted. */
	delta.known &= ~BIT(DETAIL_FEC_CORRECTED_SYMBOLS);
	assert_true(is_near(ber_raw(&delta, FEC_LAYOUT_LANES, ndr()).rate, 1002 / bits));
	/* The effective rate does not depend on corrected symbols. */
	delta.saturated = BIT(DETAIL_FEC_CORRECTED_BLOCKS);
	assert_true(ber_raw(&delta, FEC_LAYOUT_LANES, ndr()).at_least);
	assert_false(ber_effective(&delta, FEC_LAYOUT_LANES, ndr()).at_least);
	/* A reset shows only at counters that were not 0. */
	delta.reset = BIT(DETAIL_FEC_CORRECTED_BLOCKS);
	assert_true(ber_effective(&delta, FEC_LAYOUT_LANES, ndr()).at_least);
	delta.value[DETAIL_FEC_CORRECTED_BLOCKS] = 0;
	assert_true(isnan(ber_raw(&delta, FEC_LAYOUT_LANES, ndr()).rate));
	delta.known = 0;
	assert_true(isnan(ber_effective(&delta, FEC_LAYOUT_LANES, ndr()).rate));
}
