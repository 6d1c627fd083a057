/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bucket.h - how many MADs may go now, where their rate is limited
 *
 * Time fills the bucket and each MAD takes one out. Once it is empty none goes until
 * a millisecond's worth is in it: so MADs go, and their answers come, in bursts, for each of
 * which this process wakes up once; one by one they cost 1.5 times its CPU. It holds two
 * milliseconds' worth, so a pause is not made up for.
 */
#ifndef IBWIRE_WIRE_BUCKET_H
#define IBWIRE_WIRE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	unsigned max_per_s; /* 0: no limit */
	double tokens;
	bool open;          /* since it was full enough, and until it is empty */
	int64_t at_us;      /* CLOCK_BOOTTIME until which it was filled */
};

/* bucket_set - another limit from @now_us on; what came in until then came at the old one. */
void bucket_set(struct bucket *bucket, unsigned max_per_s, int64_t now_us);

/* bucket_resume - nothing came in during the pause that ends at @now_us. */
void bucket_resume(struct bucket *bucket, int64_t now_us);

/* bucket_has_one - may one more go at @now_us? */
bool bucket_has_one(struct bucket *bucket, int64_t now_us);

/* bucket_take - one went. */
void bucket_take(struct bucket *bucket);

#endif
