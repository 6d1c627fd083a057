/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * throttled.h - is the collector throttled to half its rate?
 *
 * The newest throttled or unthrottled event since the collector start decides; a collector starts
 * at the full rate.
 */
#ifndef IBWIRE_CLI_THROTTLED_H
#define IBWIRE_CLI_THROTTLED_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct reader;

struct throttled {
	bool on;
	int64_t since_us; /* wall clock */
	char text[256];   /* reason, from the event */
};

/*
 * throttled_load - throttling state of the last collector
 * @at_us:  wall clock; 0: now
 * @ret:  filled completely
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int throttled_load(struct reader *reader, int64_t at_us, struct throttled *ret, struct error *err);

#endif
