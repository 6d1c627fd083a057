/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "base/unit_test.h"
#include "fabric/counter.h"

/* Bits of one attribute must not be taken by two fields, and lie within it. */
TEST(fields_do_not_overlap)
{
	for (int attribute = 0; attribute < ATTRIBUTE_COUNT; attribute++) {
		uint8_t taken[192 * 8] = { 0 };
		size_t count;
		const struct counter_field *fields = counter_fields(&count);

		for (size_t i = 0; i < count; i++) {
			if (fields[i].attribute != attribute)
				continue;
			assert_true(fields[i].bit_offset + fields[i].bits <= sizeof(taken));
			for (size_t bit = 0; bit < fields[i].bits; bit++)
				assert_int_equal(taken[fields[i].bit_offset + bit]++, 0);
		}
	}
}

TEST(every_counter_has_a_name_and_a_field)
{
	for (int counter = 0; counter < COUNTER_COUNT; counter++) {
		const struct counter_info *info = counter_info((enum counter)counter);
		size_t count, places = 0;
		const struct counter_field *fields = counter_fields(&count);

		assert_non_null(info->key);
		assert_non_null(info->title);
		assert_non_null(info->unit);
		assert_non_null(info->meaning);
		assert_int_equal(counter_by_key(info->key), counter);
		for (size_t i = 0; i < count; i++) {
			if (fields[i].counter != counter)
				continue;
			places++;
			if (fields[i].attribute == ATTRIBUTE_PORT_COUNTERS)
				assert_int_equal(fields[i].bits, info->narrow_bits);
			else
				assert_int_equal(fields[i].bits, 64);
		}
		assert_true(places >= 1 && places <= 2);
	}
	assert_int_equal(counter_by_key("no such counter"), COUNTER_COUNT);
}

/* An attribute whose bytes are all different: each value shows where it was read. */
TEST(values_are_decoded_from_the_specified_positions)
{
	const struct pma_caps all = { .known = true, .cap_mask = 0xffff, .cap_mask2 = 0x7ffffff };
	struct reading reading = { 0 };
	uint8_t bytes[192];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS, bytes, sizeof(bytes), &all);
	assert_int_equal(reading.wide, 0);
	assert_int_equal(reading.value[COUNTER_SYMBOL_ERRORS], 0x0405);
	assert_int_equal(reading.value[COUNTER_LINK_ERROR_RECOVERY], 6);
	assert_int_equal(reading.value[COUNTER_LINK_DOWNED], 7);
	assert_int_equal(reading.value[COUNTER_RCV_CONSTRAINT_ERRORS], 17);
	assert_int_equal(reading.value[COUNTER_LOCAL_LINK_INTEGRITY_ERRORS], 1);  /* byte 19 = 0x13 */
	assert_int_equal(reading.value[COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS], 3);
	assert_int_equal(reading.value[COUNTER_QP1_DROPPED], 0x1415);
	assert_int_equal(reading.value[COUNTER_VL15_DROPPED], 0x1617);
	assert_int_equal(reading.value[COUNTER_XMIT_DATA], 0x18191a1b);
	assert_int_equal(reading.value[COUNTER_XMIT_WAIT], 0x28292a2b);
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS_EXTENDED, bytes, sizeof(bytes), &all);
	assert_true(reading.wide == (COUNTER_BIT(COUNTER_COUNT) - 1));
	assert_true(reading.value[COUNTER_XMIT_DATA] == 0x08090a0b0c0d0e0fULL);
	assert_true(reading.value[COUNTER_MULTICAST_RCV_PACKETS] == 0x4041424344454647ULL);
	assert_true(reading.value[COUNTER_SYMBOL_ERRORS] == 0x48494a4b4c4d4e4fULL);
	assert_true(reading.value[COUNTER_XMIT_WAIT] == 0xa8a9aaabacadaeafULL);
	assert_true(reading.value[COUNTER_QP1_DROPPED] == 0xb0b1b2b3b4b5b6b7ULL);
	/* A narrow field never replaces a wide one. */
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS, bytes, sizeof(bytes), &all);
	assert_true(reading.value[COUNTER_XMIT_DATA] == 0x08090a0b0c0d0e0fULL);
}

TEST(unsupported_counters_are_not_read)
{
	struct pma_caps caps = { .known = true };
	struct reading reading = { 0 };
	uint8_t bytes[192] = { 0 };

	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS, bytes, sizeof(bytes), &caps);
	assert_false(reading.present & COUNTER_BIT(COUNTER_XMIT_WAIT));
	assert_false(reading.present & COUNTER_BIT(COUNTER_QP1_DROPPED));
	assert_true(reading.present & COUNTER_BIT(COUNTER_XMIT_DATA));
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS_EXTENDED, bytes, sizeof(bytes), &caps);
	assert_int_equal(reading.wide, 0);
	caps.cap_mask = PMA_CAP_EXTENDED_NO_IETF;
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS_EXTENDED, bytes, sizeof(bytes), &caps);
	assert_true(reading.wide & COUNTER_BIT(COUNTER_RCV_DATA));
	assert_false(reading.present & COUNTER_BIT(COUNTER_UNICAST_RCV_PACKETS));
	assert_false(reading.wide & COUNTER_BIT(COUNTER_SYMBOL_ERRORS));
	/* Bytes that did not come are not zeros. */
	reading = (struct reading){ 0 };
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS, bytes, 24, &caps);
	assert_true(reading.present & COUNTER_BIT(COUNTER_VL15_DROPPED));
	assert_false(reading.present & COUNTER_BIT(COUNTER_XMIT_DATA));
}
