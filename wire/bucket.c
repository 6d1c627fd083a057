/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/bucket.h"

/* How many may go at once after a pause: one millisecond's worth, but at least this. */
#define BURST_LEAST 4

static void fill(struct bucket *bucket, int64_t now_us)
{
	double burst = bucket->max_per_s / 1e3 > BURST_LEAST ? bucket->max_per_s / 1e3 : BURST_LEAST;

	bucket->tokens += (double)(now_us - bucket->at_us) * bucket->max_per_s / 1e6;
	bucket->at_us = now_us;
	if (bucket->tokens > burst)
		bucket->tokens = burst;
}

void bucket_set(struct bucket *bucket, unsigned max_per_s, int64_t now_us)
{
	fill(bucket, now_us);
	bucket->max_per_s = max_per_s;
	/* No more is kept than the new limit lets go at once. */
	fill(bucket, now_us);
}

void bucket_resume(struct bucket *bucket, int64_t now_us)
{
	bucket->at_us = now_us;
}

bool bucket_has_one(struct bucket *bucket, int64_t now_us)
{
	if (!bucket->max_per_s || bucket->tokens >= 1)
		return true;
	fill(bucket, now_us);
	return bucket->tokens >= 1;
}

void bucket_take(struct bucket *bucket)
{
	if (bucket->max_per_s)
		bucket->tokens -= 1;
}
