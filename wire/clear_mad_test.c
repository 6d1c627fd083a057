/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "wire/clear_mad.h"
#include "wire/mad.h"

#define SET 0x02

static const struct pma_caps all_caps = { .known = true, .cap_mask = 0xffff, .cap_mask2 = 0x3 };

/* Bits as perfquery and ibqueryerrors of rdma-core 44 write them: CounterSelect, CounterSelect2 from bit 16 on. */
TEST(selections_are_those_of_infiniband_diags)
{
	static const struct {
		enum clear_attribute attribute;
		uint16_t caps;
		uint32_t caps2;
		bool errors_only;
		uint64_t expected;
	} cases[] = {
		{ CLEAR_PORT_COUNTERS, 0, 0, false, 0xffff },
		{ CLEAR_PORT_COUNTERS, 0, 0, true, 0x0fff },
		{ CLEAR_PORT_COUNTERS, 1 << 12, 0, false, 0xffff | 1 << 16 },
		{ CLEAR_PORT_COUNTERS, 1 << 12, 0, true, 0x0fff },
		{ CLEAR_PORT_COUNTERS, 1 << 15, 0, false, 0xffff | 1 << 17 },
		{ CLEAR_PORT_COUNTERS, 1 << 15, 0, true, 0x0fff | 1 << 17 },
		{ CLEAR_EXTENDED, 0, 2, false, 0 },
		{ CLEAR_EXTENDED, 1 << 9, 0, false, 0xff },
		{ CLEAR_EXTENDED, 1 << 10, 0, false, 0x0f },
		{ CLEAR_EXTENDED, 1 << 9, 0, true, 0 },
		{ CLEAR_EXTENDED, 1 << 9, 2, false, 0xff | 0xfff0000 | 1 << 28 | 1 << 29 },
		{ CLEAR_EXTENDED, 1 << 9, 2, true, 0xfff0000 | 1 << 29 },
		{ CLEAR_RCV_ERROR_DETAILS, 0, 0, true, 0x3f },
		{ CLEAR_XMIT_DISCARD_DETAILS, 0, 0, true, 0xf },
		{ CLEAR_VL_XMIT_WAIT, 0, 0, false, 0xffff },
		{ CLEAR_VL_XMIT_WAIT, 0, 0, true, 0 },
		{ CLEAR_EXTENDED_SPEEDS, 0, 0, false, 0 },
		{ CLEAR_EXTENDED_SPEEDS, 1 << 14, 0, true, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pma_caps caps = { .known = true, .cap_mask = cases[i].caps, .cap_mask2 = cases[i].caps2 };

		if (clear_select(cases[i].attribute, &caps, cases[i].errors_only) != cases[i].expected)
			fail_msg("case %zu: 0x%llx", i,
				 (unsigned long long)clear_select(cases[i].attribute, &caps, cases[i].errors_only));
	}
}

/* The number of selected bits is that of decoded counters, for all capabilities. */
TEST(all_counters_that_are_read_are_cleared)
{
	for (unsigned mask = 0; mask < 0x10000; mask += 1 << 9)
		for (unsigned mask2 = 0; mask2 < 4; mask2++) {
			const struct pma_caps caps = { .known = true, .cap_mask = (uint16_t)mask, .cap_mask2 = mask2 };
			uint64_t narrow = clear_select(CLEAR_PORT_COUNTERS, &caps, false);
			uint64_t wide = clear_select(CLEAR_EXTENDED, &caps, false);
			struct reading reading = { 0 };
			uint8_t bytes[PMA_DATA_SIZE] = { 0 };
			int in_narrow;

			reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS, bytes, sizeof(bytes), &caps);
			in_narrow = __builtin_popcountll(reading.present);
			assert_int_equal(__builtin_popcountll(narrow), in_narrow);
			reading = (struct reading){ 0 };
			reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS_EXTENDED, bytes, sizeof(bytes), &caps);
			if (mask & (1 << 9 | 1 << 10))
				assert_int_equal(__builtin_popcountll(wide), __builtin_popcountll(reading.present));
			else
				assert_int_equal(wide, 0);
		}
}

TEST(the_selection_is_at_its_offset)
{
	uint8_t mad[MAD_SIZE];

	clear_mad_init(mad, CLEAR_PORT_COUNTERS, 7, clear_select(CLEAR_PORT_COUNTERS, &all_caps, false), 0x12345678);
	assert_int_equal(mad[1], 0x04);
	assert_int_equal(mad[3], SET);
	assert_int_equal(get_be32(mad + 12), 0x12345678);
	assert_int_equal(get_be16(mad + 16), 0x12);
	assert_int_equal(mad[65], 7);
	assert_int_equal(get_be16(mad + 66), 0xffff);
	assert_int_equal(mad[64 + 18], 3);
	clear_mad_init(mad, CLEAR_EXTENDED, 7, clear_select(CLEAR_EXTENDED, &all_caps, false), 1);
	assert_int_equal(get_be16(mad + 16), 0x1d);
	assert_int_equal(get_be16(mad + 66), 0xff);
	assert_int_equal(get_be32(mad + 68), 0x3fff);
	clear_mad_init(mad, CLEAR_EXTENDED_SPEEDS, 7, UINT64_MAX, 1);
	assert_int_equal(get_be16(mad + 66), 0);
	assert_true(get_be64(mad + 72) == UINT64_MAX);
}

/* A Get of NodeInfo or ClassPortInfo, or a Set of one of the six attributes. */
static bool is_listed(bool has_data, uint8_t mgmt_class, uint8_t method, uint16_t attribute)
{
	if (!has_data)
		return method == 0x01 && ((mgmt_class == 0x01 && attribute == 0x11) ||
					  (mgmt_class == 0x04 && attribute == 0x01));
	for (int i = 0; i < CLEAR_ATTRIBUTE_COUNT; i++)
		if (attribute == clear_attribute_id((enum clear_attribute)i))
			return method == SET && mgmt_class == 0x04;
	return false;
}

/* All classes, methods and attributes at both gates. Return: number that passes the one of clear. */
static unsigned try_all(uint8_t mad[MAD_SIZE], bool has_data)
{
	unsigned passed = 0;

	mad[0] = mad[2] = 1;
	for (unsigned mgmt_class = 0; mgmt_class < test_cases(256); mgmt_class++)
		for (unsigned method = 0; method < 256; method++)
			for (unsigned attribute = 0; attribute < 0x100; attribute++) {
				mad[1] = (uint8_t)mgmt_class;
				mad[3] = (uint8_t)method;
				put_be16(mad + 16, (uint16_t)attribute);
				/* No Set passes the other gate. */
				if (mad_is_allowed(mad))
					assert_int_equal(method, 0x01);
				if (!mad_is_clear(mad))
					continue;
				passed++;
				assert_true(is_listed(has_data, (uint8_t)mgmt_class, (uint8_t)method,
						      (uint16_t)attribute));
			}
	return passed;
}

TEST(only_listed_mads_pass_the_gates)
{
	uint8_t mad[MAD_SIZE] = { 0 };

	assert_int_equal(try_all(mad, false), 2);
	for (int i = 0; i < CLEAR_ATTRIBUTE_COUNT; i++) {
		enum clear_attribute attribute = (enum clear_attribute)i;

		clear_mad_init(mad, attribute, 1, clear_select(attribute, &all_caps, false), 1);
		assert_true(mad_is_clear(mad));
		/* This selection is valid for other attributes too. */
		assert_in_range(try_all(mad, true), 1, CLEAR_ATTRIBUTE_COUNT);
	}
}

/* Also vendor-specific ones. */
TEST(no_other_attribute_passes)
{
	uint8_t mad[MAD_SIZE];

	clear_mad_init(mad, CLEAR_PORT_COUNTERS, 1, 0xffff, 1);
	for (unsigned attribute = 0x100; attribute <= 0xffff; attribute++) {
		put_be16(mad + 16, (uint16_t)attribute);
		assert_false(mad_is_clear(mad));
	}
}

/* A Set writes its whole content. */
TEST(a_set_with_any_other_bit_is_rejected)
{
	for (int i = 0; i < CLEAR_ATTRIBUTE_COUNT; i++) {
		enum clear_attribute attribute = (enum clear_attribute)i;
		uint64_t select = clear_select(attribute, &all_caps, false);

		for (unsigned bit = 0; bit < MAD_SIZE * 8; bit++) {
			uint8_t mad[MAD_SIZE];
			unsigned byte = bit / 8;
			bool free_byte = (byte >= 12 && byte < 16) || byte == 65;

			/* Another attribute may be another valid Set. */
			if (byte == 16 || byte == 17)
				continue;
			clear_mad_init(mad, attribute, 1, select, 1);
			assert_true(mad_is_clear(mad));
			/* A Set of fewer counters is valid. */
			if (mad[byte] >> bit % 8 & 1 && byte > 65)
				free_byte = true;
			mad[byte] ^= (uint8_t)(1 << bit % 8);
			if (mad_is_clear(mad) != free_byte)
				fail_msg("attribute %d, byte %u, bit %u", i, byte, bit % 8);
		}
	}
}

TEST(all_ports_at_once_and_no_selection_are_rejected)
{
	uint8_t mad[MAD_SIZE];

	for (int i = 0; i < CLEAR_ATTRIBUTE_COUNT; i++) {
		enum clear_attribute attribute = (enum clear_attribute)i;

		clear_mad_init(mad, attribute, 255, clear_select(attribute, &all_caps, false), 1);
		assert_false(mad_is_clear(mad));
		clear_mad_init(mad, attribute, 1, 0, 1);
		assert_false(mad_is_clear(mad));
		clear_mad_init(mad, attribute, 0, clear_select(attribute, &all_caps, false), 1);
		assert_true(mad_is_clear(mad));
	}
}
