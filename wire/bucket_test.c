/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rate limit: never more than it allows, and no less to a caller that requests often enough. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "wire/bucket.h"

/* Take all tokens for ten seconds, at intervals up to @step_us. Return: their number. */
static uint64_t take_all(struct bucket *bucket, unsigned per_s, unsigned step_us, unsigned *ret_most,
			 uint64_t *ret_looks)
{
	int64_t now_us = 0;
	uint64_t taken = 0;

	*bucket = (struct bucket){ 0 };
	bucket_set(bucket, per_s, 0);
	*ret_most = 0;
	*ret_looks = 0;
	while (now_us < 10 * US_PER_S) {
		unsigned now = 0;

		for (; bucket_has_token(bucket, now_us); now++)
			bucket_take(bucket);
		*ret_most = now > *ret_most ? now : *ret_most;
		*ret_looks += now > 0;
		taken += now;
		/* Never more than the rate allows, and the tokens of two milliseconds. */
		assert_true((double)taken <= (double)now_us * per_s / 1e6 + (per_s > 2000 ? per_s / 500.0 : 4) + 1);
		now_us += 1 + rand() % (int)step_us;
	}
	return taken;
}

TEST(the_rate_is_kept_and_reached)
{
	static const unsigned rates[] = { 1, 60, 999, 1000, 4000, 20000, 100000 };
	struct bucket bucket;
	unsigned most;
	uint64_t looks;

	srand(1);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t taken = take_all(&bucket, rates[i], 1000, &most, &looks);

		assert_true((double)taken >= 9.9 * rates[i] - 1);
		assert_true(most <= (rates[i] > 2000 ? rates[i] / 500 : 4));
	}
}

TEST(tokens_come_in_bursts)
{
	struct bucket bucket;
	unsigned most;
	uint64_t looks, taken;

	taken = take_all(&bucket, 20000, 20, &most, &looks);
	assert_true(taken >= 198000);
	assert_true(taken / looks >= 20);
}

TEST(a_pause_adds_no_tokens)
{
	struct bucket bucket = { 0 };
	unsigned went = 0;

	bucket_set(&bucket, 20000, 0);
	bucket_resume(&bucket, 10 * US_PER_S);
	assert_false(bucket_has_token(&bucket, 10 * US_PER_S));
	for (; bucket_has_token(&bucket, 20 * US_PER_S); went++)
		bucket_take(&bucket);
	assert_int_equal(went, 40);
}

TEST(without_a_limit_there_are_always_tokens)
{
	struct bucket bucket = { 0 };

	bucket_set(&bucket, 0, 0);
	for (int i = 0; i < 1000; i++) {
		assert_true(bucket_has_token(&bucket, 0));
		bucket_take(&bucket);
	}
	bucket_set(&bucket, 1000, 0);
	assert_true(bucket_has_token(&bucket, US_PER_MS));
}
