/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/map.h"

#define ROUNDS 1000

static uint64_t random_state = 7;

static uint8_t random_byte(void)
{
	random_state = map_mix(random_state + 1);
	return (uint8_t)(random_state >> 32);
}

/* An answer as an agent gives it, its reserved bytes zero. */
static void make_answer(uint8_t *mad)
{
	size_t i;

	for (i = 0; i < PACKET_MAD_SIZE; i++)
		mad[i] = i < TAIL_KEPT || i >= PACKET_MAD_DATA ? random_byte() : 0;
	mad[MAD_CLASS] = CLASS_PERFORMANCE;
	mad[MAD_METHOD] |= METHOD_RESPONSE;
}

/* What umad2sim does to it. */
static void lose_tail(uint8_t *mad)
{
	size_t i;

	for (i = TAIL_OFFSET; i < PACKET_MAD_SIZE; i++)
		mad[i] = random_byte();
}

static void an_answer_comes_through_whole(void **state)
{
	uint8_t mad[PACKET_MAD_SIZE], sent[PACKET_MAD_SIZE];
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		make_answer(sent);
		memcpy(mad, sent, sizeof(mad));
		tail_keep(mad);
		lose_tail(mad);
		tail_restore(mad);
		assert_memory_equal(mad, sent, sizeof(mad));
	}
}

static void who_takes_the_datagram_itself_finds_the_counters_in_place(void **state)
{
	uint8_t mad[PACKET_MAD_SIZE], sent[PACKET_MAD_SIZE];

	(void)state;
	make_answer(sent);
	memcpy(mad, sent, sizeof(mad));
	tail_keep(mad);
	assert_memory_equal(mad, sent, TAIL_KEPT);
	assert_memory_equal(mad + PACKET_MAD_DATA, sent + PACKET_MAD_DATA, PACKET_MAD_DATA_SIZE);
}

/* In other classes these bytes mean something, and questions are none of an agent's. */
static void other_mads_are_left_alone_and_end_in_zeros(void **state)
{
	static const uint8_t kinds[][2] = {
		{ CLASS_SUBN_LID, METHOD_GET_RESPONSE }, { CLASS_SUBN_DIRECTED, METHOD_GET_RESPONSE },
		{ CLASS_SUBN_ADM, METHOD_GET_RESPONSE }, { CLASS_PERFORMANCE, METHOD_GET },
	};
	static const uint8_t zeros[TAIL_SIZE];
	uint8_t mad[PACKET_MAD_SIZE], sent[PACKET_MAD_SIZE];
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (k = 0; k < sizeof(sent); k++)
			sent[k] = random_byte();
		/* Even where it looks like ours. */
		store_be64(sent + TAIL_MARK, TAIL_MARK_VALUE);
		sent[MAD_CLASS] = kinds[i][0];
		sent[MAD_METHOD] = kinds[i][1];
		memcpy(mad, sent, sizeof(mad));
		tail_keep(mad);
		assert_memory_equal(mad, sent, sizeof(mad));
		tail_restore(mad);
		assert_memory_equal(mad, sent, TAIL_OFFSET);
		assert_memory_equal(mad + TAIL_OFFSET, zeros, TAIL_SIZE);
	}
}

static void an_answer_that_did_not_come_through_the_relay_ends_in_zeros(void **state)
{
	static const uint8_t zeros[TAIL_SIZE];
	uint8_t mad[PACKET_MAD_SIZE], sent[PACKET_MAD_SIZE];

	(void)state;
	make_answer(sent);
	memcpy(mad, sent, sizeof(mad));
	lose_tail(mad);
	tail_restore(mad);
	assert_memory_equal(mad, sent, TAIL_OFFSET);
	assert_memory_equal(mad + TAIL_OFFSET, zeros, TAIL_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_through_whole),
		cmocka_unit_test(who_takes_the_datagram_itself_finds_the_counters_in_place),
		cmocka_unit_test(other_mads_are_left_alone_and_end_in_zeros),
		cmocka_unit_test(an_answer_that_did_not_come_through_the_relay_ends_in_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
