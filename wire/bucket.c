/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/bucket.h"

/* Minimum capacity; otherwise the tokens of two milliseconds. */
#define BURST_MIN 4

static void fill(struct bucket *bucket, int64_t now_us)
{
	double burst = bucket->max_per_s / 1e3, most = 2 * burst > BURST_MIN ? 2 * burst : BURST_MIN;

	bucket->tokens += (double)(now_us - bucket->at_us) * bucket->max_per_s / 1e6;
	bucket->at_us = now_us;
	if (bucket->tokens > most)
		bucket->tokens = most;
	bucket->open |= bucket->tokens >= 1 && bucket->tokens >= burst;
}

void bucket_set(struct bucket *bucket, unsigned max_per_s, int64_t now_us)
{
	fill(bucket, now_us);
	bucket->max_per_s = max_per_s;
	/* Apply the capacity of the new limit. */
	fill(bucket, now_us);
}

void bucket_resume(struct bucket *bucket, int64_t now_us)
{
	bucket->at_us = now_us;
}

bool bucket_has_token(struct bucket *bucket, int64_t now_us)
{
	if (!bucket->max_per_s)
		return true;
	if (!bucket->open)
		fill(bucket, now_us);
	return bucket->open;
}

void bucket_take(struct bucket *bucket)
{
	if (!bucket->max_per_s)
		return;
	bucket->tokens -= 1;
	bucket->open = bucket->tokens >= 1;
}
