/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fabric/speed.h"
#include "wire/mad.h"
#include "wire/pma.h"
#include "wire/smp.h"

/* Every class with every method, with each attribute that stands for something in one of them. */
static void only_listed_gets_are_allowed(void **state)
{
	static const struct {
		uint8_t mgmt_class;
		uint16_t attribute;
	} expected[] = {
		{ 0x01, 0x10 }, { 0x01, 0x11 }, { 0x01, 0x12 }, { 0x01, 0x15 }, { 0x01, 0x19 },
		{ 0x01, 0x20 }, { 0x04, 0x01 }, { 0x04, 0x12 }, { 0x04, 0x1d },
	};
	unsigned mgmt_class, method, attribute, allowed = 0;
	uint8_t mad[MAD_SIZE];

	(void)state;
	for (mgmt_class = 0; mgmt_class < 256; mgmt_class++)
		for (method = 0; method < 256; method++)
			for (attribute = 0; attribute < 0x100; attribute++) {
				mad_init(mad, &(struct mad_header){ .mgmt_class = (uint8_t)mgmt_class,
								    .method = (uint8_t)method,
								    .attribute = (uint16_t)attribute });
				allowed += mad_is_allowed(mad);
			}
	assert_int_equal(allowed, sizeof(expected) / sizeof(expected[0]));
	for (attribute = 0; attribute < sizeof(expected) / sizeof(expected[0]); attribute++) {
		mad_init(mad, &(struct mad_header){ .mgmt_class = expected[attribute].mgmt_class, .method = 0x01,
						    .attribute = expected[attribute].attribute });
		assert_true(mad_is_allowed(mad));
	}
}

/* Attributes above a byte, Mellanox' vendor attributes among them. */
static void no_other_attribute_is_allowed(void **state)
{
	unsigned attribute;
	uint8_t mad[MAD_SIZE];

	(void)state;
	for (attribute = 0x100; attribute <= 0xffff; attribute++) {
		mad_init(mad, &(struct mad_header){ .mgmt_class = 0x01, .method = 0x01,
						    .attribute = (uint16_t)attribute });
		assert_false(mad_is_allowed(mad));
		mad[1] = 0x04;
		assert_false(mad_is_allowed(mad));
	}
}

static void another_version_is_not_allowed(void **state)
{
	uint8_t mad[MAD_SIZE];

	(void)state;
	mad_init(mad, &(struct mad_header){ .mgmt_class = 0x04, .method = 0x01, .attribute = 0x12 });
	assert_true(mad_is_allowed(mad));
	mad[0] = 2;
	assert_false(mad_is_allowed(mad));
	mad[0] = 1;
	mad[2] = 2;
	assert_false(mad_is_allowed(mad));
}

static void header_reads_back_what_was_written(void **state)
{
	const struct mad_header header = { .mgmt_class = 0x04, .method = 0x01, .tid = 0x89abcdef, .attribute = 0x1d,
					   .modifier = 0x01020304 };
	struct mad_header back;
	uint8_t mad[MAD_SIZE];

	(void)state;
	mad_init(mad, &header);
	back = mad_read_header(mad);
	assert_int_equal(back.mgmt_class, header.mgmt_class);
	assert_int_equal(back.method, header.method);
	assert_int_equal(back.tid, header.tid);
	assert_int_equal(back.attribute, header.attribute);
	assert_int_equal(back.modifier, header.modifier);
	assert_int_equal(get_be32(mad + 8), 0);
}

static void status_says_what_to_do(void **state)
{
	static const struct {
		uint16_t status;
		enum answer_status expected;
	} cases[] = {
		{ 0x0000, ANSWER_OK },          { 0x0001, ANSWER_BUSY }, { 0x0002, ANSWER_REDIRECT },
		{ 0x0008, ANSWER_UNSUPPORTED }, { 0x000c, ANSWER_UNSUPPORTED }, { 0x0004, ANSWER_BAD },
		{ 0x001c, ANSWER_BAD },         { 0x8000, ANSWER_BAD },
	};
	uint8_t mad[MAD_SIZE] = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_be16(mad + 4, cases[i].status);
		assert_int_equal(answer_status(mad), cases[i].expected);
	}
}

static void caps_are_27_bits_and_a_response_time(void **state)
{
	uint8_t mad[MAD_SIZE] = { 0 };
	struct pma_caps caps;

	(void)state;
	put_be16(mad + 66, 0x5300);
	put_be32(mad + 68, 0x2u << 5 | 18);
	caps = pma_read_caps(mad);
	assert_true(caps.known);
	assert_int_equal(caps.cap_mask, 0x5300);
	assert_int_equal(caps.cap_mask2, 2);
	assert_int_equal(caps.resp_time, 18);
}

static void an_answer_for_another_port_is_bad(void **state)
{
	const struct pma_caps caps = { .known = true };
	struct reading reading = { 0 };
	uint8_t mad[MAD_SIZE] = { 0 };

	(void)state;
	mad[65] = 7;
	assert_int_equal(pma_read_counters(mad, ATTRIBUTE_PORT_COUNTERS, 8, &caps, &reading), ANSWER_BAD);
	assert_int_equal(reading.present, 0);
	assert_int_equal(pma_read_counters(mad, ATTRIBUTE_PORT_COUNTERS, 7, &caps, &reading), ANSWER_OK);
	assert_int_not_equal(reading.present, 0);
}

/* A PortInfo as a switch sends it: 4x, Active, QDR by the old field, HDR by the extended one, XDR by the newest. */
static void a_links_speed_is_that_of_its_newest_field(void **state)
{
	uint8_t mad[MAD_SIZE] = { 0 }, *info = mad + SMP_DATA_OFFSET;
	struct smp_link link;

	(void)state;
	info[31] = 2;
	info[32] = 0x74;
	info[35] = 0x47;
	info[62] = 0x41;
	link = smp_read_link(mad, 0);
	assert_int_equal(link.state, 4);
	assert_int_equal(link.width, LINK_WIDTH_4X);
	assert_int_equal(link.speed, LINK_SPEED_QDR);
	link = smp_read_link(mad, 1 << 14);
	assert_int_equal(link.speed, LINK_SPEED_HDR);
	info[56] = 0x20;
	assert_int_equal(smp_read_link(mad, 1 << 14).speed, LINK_SPEED_HDR);
	assert_int_equal(smp_read_link(mad, 1 << 14 | 1 << 15).speed, LINK_SPEED_XDR);
	put_be16(info + 60, 1 << 11);
	assert_int_equal(smp_read_link(mad, 1 << 14 | 1 << 15).speed, LINK_SPEED_XDR);
	assert_false(smp_read_port_state_change(mad));
	info[11] = 4;
	assert_true(smp_read_port_state_change(mad));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_listed_gets_are_allowed),
		cmocka_unit_test(no_other_attribute_is_allowed),
		cmocka_unit_test(another_version_is_not_allowed),
		cmocka_unit_test(header_reads_back_what_was_written),
		cmocka_unit_test(status_says_what_to_do),
		cmocka_unit_test(caps_are_27_bits_and_a_response_time),
		cmocka_unit_test(an_answer_for_another_port_is_bad),
		cmocka_unit_test(a_links_speed_is_that_of_its_newest_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
