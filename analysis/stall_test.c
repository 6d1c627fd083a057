/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>

#include "analysis/rate.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"

#define QUANTUM { .vendor_id = 0x2c9, .device_id = 0xd2f0 }
#define SWITCH_IB { .vendor_id = 0x2c9, .device_id = 0xcb20 }

static const struct pma_caps tick7 = { .known = true, .tick_known = true, .tick = 7 };
static const struct pma_caps tick31 = { .known = true, .tick_known = true, .tick = 31 };

static struct delta waited(uint64_t ticks, int64_t elapsed_us)
{
	struct delta delta = { .elapsed_us = elapsed_us, .known = COUNTER_BIT(COUNTER_XMIT_WAIT) };

	delta.value[COUNTER_XMIT_WAIT] = ticks;
	return delta;
}

static struct port port_of(uint8_t width, enum link_speed speed)
{
	return (struct port){ .width = width, .speed = speed, .state = PORT_ACTIVE };
}

/*
 * A port of a known rate cannot send for a known time. The device counts the bytes that it could
 * have sent in units of 8 bytes of the port, or 32 bytes of a lane; the estimate must be that time.
 */
TEST(the_estimate_is_the_stalled_time_for_each_device_speed_and_width)
{
	static const uint8_t widths[] = { LINK_WIDTH_1X, LINK_WIDTH_2X, LINK_WIDTH_4X, LINK_WIDTH_8X, LINK_WIDTH_12X };
	const struct node quantum = QUANTUM, switch_ib = SWITCH_IB;
	uint64_t random = 7;

	for (int speed = LINK_SPEED_SDR; speed < LINK_SPEED_COUNT; speed++)
		for (size_t i = 0; i < sizeof(widths); i++) {
			struct port port = port_of(widths[i], (enum link_speed)speed);
			double bytes_per_s = (double)port_rate_bits_per_s(&port) / 8;
			double truth, bytes;
			struct delta delta;

			random = map_mix(random + 1);
			truth = (double)(random % 10000) / 100;
			bytes = bytes_per_s * 10 * truth / 100;
			delta = waited((uint64_t)(bytes / 8), 10000000);
			assert_true(fabs(stall_estimate(&delta, &quantum, &port, &tick7).value - truth) < 1e-3);
			delta = waited((uint64_t)(bytes / link_width_lanes(widths[i]) / 32), 10000000);
			assert_true(fabs(stall_estimate(&delta, &switch_ib, &port, &tick31).value - truth) < 1e-3);
		}
}

/* The one absolute number that is documented: a symbol lasts 4 ns at SDR, at every width. */
TEST(a_symbol_lasts_4_ns_at_sdr_whatever_the_width)
{
	const struct pma_caps tick0 = { .known = true, .tick_known = true, .tick = 0 };
	const struct node switch_ib = SWITCH_IB;
	struct delta delta = waited(1000000, 8000); /* 4 ms of waiting in 8 ms */
	struct port narrow = port_of(LINK_WIDTH_1X, LINK_SPEED_SDR), wide = port_of(LINK_WIDTH_12X, LINK_SPEED_SDR);

	assert_true(fabs(stall_estimate(&delta, &switch_ib, &narrow, &tick0).value - 50) < 1e-9);
	assert_true(fabs(stall_estimate(&delta, &switch_ib, &wide, &tick0).value - 50) < 1e-9);
}

TEST(unknown_values_are_no_numbers)
{
	const struct node quantum = QUANTUM;
	const struct node other = { .vendor_id = 0x1175, .device_id = 0xd2f0 };
	const struct node aggregation = { .vendor_id = 0x2c9, .device_id = 0xcf09 };
	const struct pma_caps no_tick = { .known = true };
	struct port port = port_of(LINK_WIDTH_4X, LINK_SPEED_HDR), down = port_of(LINK_WIDTH_NONE, LINK_SPEED_NONE);
	struct delta delta = waited(1000, 1000000), unread = { .elapsed_us = 1000000 }, empty = waited(1000, 0);

	assert_false(isnan(stall_estimate(&delta, &quantum, &port, &tick7).value));
	assert_true(isnan(stall_estimate(&delta, &other, &port, &tick7).value));
	assert_true(isnan(stall_estimate(&delta, &aggregation, &port, &tick7).value));
	assert_true(isnan(stall_estimate(&delta, &quantum, &port, &no_tick).value));
	assert_true(isnan(stall_estimate(&delta, &quantum, &port, NULL).value));
	assert_true(isnan(stall_estimate(&delta, &quantum, &down, &tick7).value));
	assert_true(isnan(stall_estimate(&unread, &quantum, &port, &tick7).value));
	assert_true(isnan(stall_estimate(&empty, &quantum, &port, &tick7).value));
}

/* As the documented rule per port, until the counters contradict it; with no other tick, and of no other device. */
TEST(the_rule_per_port_is_assumed_for_hcas_with_tick_7)
{
	const struct node quantum = QUANTUM, hca = { .type = NODE_CA, .vendor_id = 0x2c9, .device_id = 0x1021 };
	const struct node aggregation = { .type = NODE_CA, .vendor_id = 0x2c9, .device_id = 0xcf09 };
	const struct node router = { .type = NODE_ROUTER, .vendor_id = 0x2c9, .device_id = 0x1021 };
	const struct node unlisted = { .type = NODE_SWITCH, .vendor_id = 0x2c9, .device_id = 0x1021 };
	struct pma_caps contradicted = tick7, unread = { .known = true };
	struct port port = port_of(LINK_WIDTH_4X, LINK_SPEED_HDR);
	struct delta delta = waited(312500000, 1000000);

	contradicted.wait_contradicted = true;
	assert_true(fabs(stall_estimate(&delta, &hca, &port, &tick7).value - 10) < 1e-9);
	assert_true(isnan(stall_estimate(&delta, &hca, &port, &contradicted).value));
	assert_true(isnan(stall_tick_s(&hca, &port, &contradicted)));
	assert_true(isnan(stall_estimate(&delta, &hca, &port, &tick31).value));
	assert_true(isnan(stall_estimate(&delta, &hca, &port, &unread).value));
	assert_true(isnan(stall_estimate(&delta, &aggregation, &port, &tick7).value));
	assert_true(isnan(stall_estimate(&delta, &router, &port, &tick7).value));
	assert_true(isnan(stall_estimate(&delta, &unlisted, &port, &tick7).value));
	/* A documented rule is not assumed. */
	assert_true(fabs(stall_estimate(&delta, &quantum, &port, &contradicted).value - 10) < 1e-9);
	assert_string_equal(stall_rule_name(stall_rule_of(&hca, &tick7)), "assumed");
	assert_string_equal(stall_rule_name(stall_rule_of(&hca, &contradicted)), "contradicted");
	assert_string_equal(stall_rule_name(stall_rule_of(&quantum, &tick7)), "port");
	assert_string_equal(stall_rule_name(stall_rule_of(&quantum, NULL)), "unknown");
}

TEST(a_reset_or_saturated_counter_is_a_lower_bound)
{
	const struct node quantum = QUANTUM;
	struct port port = port_of(LINK_WIDTH_4X, LINK_SPEED_HDR);
	/* A second, in which 25 GB/s are 3.125e9 units of 8 bytes. */
	struct delta delta = waited(312500000, 1000000);
	struct measure stall;

	stall = stall_estimate(&delta, &quantum, &port, &tick7);
	assert_true(fabs(stall.value - 10) < 1e-9);
	assert_true(measure_is_exact(stall));
	delta.reset = COUNTER_BIT(COUNTER_XMIT_WAIT);
	stall = stall_estimate(&delta, &quantum, &port, &tick7);
	assert_true(fabs(stall.value - 10) < 1e-9);
	assert_true(measure_is_at_least(stall));
	delta.reset = 0;
	delta.saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	assert_true(measure_is_at_least(stall_estimate(&delta, &quantum, &port, &tick7)));
	/* Saturated at the start: unknown. */
	delta = waited(0, 1000000);
	delta.saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	assert_true(isnan(stall_estimate(&delta, &quantum, &port, &tick7).value));
	/* What clears another counter clears this one; saturation of others does not matter. */
	delta = waited(312500000, 1000000);
	delta.reset = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
	assert_true(measure_is_at_least(stall_estimate(&delta, &quantum, &port, &tick7)));
	delta = waited(0, 1000000);
	delta.reset = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
	assert_true(isnan(stall_estimate(&delta, &quantum, &port, &tick7).value));
	delta.reset = 0;
	delta.saturated = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
	stall = stall_estimate(&delta, &quantum, &port, &tick7);
	assert_true(stall.value == 0 && measure_is_exact(stall));
}

TEST(the_estimate_is_at_most_100)
{
	const struct node quantum = QUANTUM;
	struct port port = port_of(LINK_WIDTH_4X, LINK_SPEED_HDR);
	struct delta delta = waited(UINT64_MAX, 1);

	assert_true(stall_estimate(&delta, &quantum, &port, &tick7).value == 100);
}
