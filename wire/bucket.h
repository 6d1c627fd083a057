/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bucket.h - a token bucket that limits the rate of MADs
 *
 * Time adds tokens and each MAD takes one. An empty bucket stays closed until it holds the tokens
 * of one millisecond, so MADs and their responses come in bursts, for each of which this process
 * wakes up once; single MADs cost 1.5 times the CPU time. The bucket holds the tokens of two
 * milliseconds, so a pause is not made up for.
 */
#ifndef IBWIRE_WIRE_BUCKET_H
#define IBWIRE_WIRE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	unsigned max_per_s; /* 0: no limit */
	double tokens;
	bool open;          /* since it held a burst, until it is empty */
	int64_t at_us;      /* CLOCK_BOOTTIME of the last fill */
};

/* bucket_set - change the limit at @now_us. */
void bucket_set(struct bucket *bucket, unsigned max_per_s, int64_t now_us);

/* bucket_resume - end a pause at @now_us, during which no tokens were added. */
void bucket_resume(struct bucket *bucket, int64_t now_us);

/* bucket_has_token - a MAD may be sent at @now_us. */
bool bucket_has_token(struct bucket *bucket, int64_t now_us);

/* bucket_take - take the token of one MAD. */
void bucket_take(struct bucket *bucket);

#endif
