/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* link.h - width, speed and errors of a link in words */
#ifndef IBWIRE_FACTS_LINK_H
#define IBWIRE_FACTS_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"

struct port;
struct text;

/* The word for a link with a verdict of fabric/shape.h, in tables and as a value of the key state:. */
#define LINK_DEGRADED "degraded"

/*
 * link_text - "4x HDR", "4x HDR degraded" for a degraded link, "" if the link is down
 * Return: @ret.
 */
#define LINK_TEXT_SIZE 28
const char *link_text(const struct port *port, bool degraded, char ret[LINK_TEXT_SIZE]);

/*
 * errors_append - "symbol_errors 12, link_downed 1+, rcv_errors 3+ (saturated)": error counters that are not 0
 * @before:     text before the first of them
 * @known:      those with a value
 * @bounds:     those of which the value is a lower bound
 * @saturated:  those that are at their maximum
 * @values:     of all error counters, from COUNTER_TRAFFIC_COUNT on
 * Return: whether there are any.
 */
bool errors_append(struct text *text, const char *before, counter_set known, counter_set bounds,
		   counter_set saturated, const uint64_t *values);

#endif
