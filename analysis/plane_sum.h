/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plane_sum.h - a logical port, as the sum of its planes (fabric/planes.h)
 */
#ifndef IBWIRE_ANALYSIS_PLANE_SUM_H
#define IBWIRE_ANALYSIS_PLANE_SUM_H

#include <stddef.h>
#include <stdint.h>

struct port;

/* Of the planes that are up. Start from zero. */
struct plane_sum {
	unsigned planes, up;
	uint64_t bits_per_s;                      /* capacity of those that are up, each way */
	double xmit_bytes_per_s, rcv_bytes_per_s; /* NAN: of one that is up it is not known */
};

/*
 * plane_sum_add - one more plane
 * @xmit_bytes_per_s, @rcv_bytes_per_s: what it carries; NAN: not known
 */
void plane_sum_add(struct plane_sum *sum, const struct port *port, double xmit_bytes_per_s, double rcv_bytes_per_s);

/*
 * plane_sum_text - "4 planes of 800.0 Gb/s together: sends 392.0 Gb/s (49.0 %), receives 12.4 Gb/s (1.6 %)"
 * What is not known is "-"; planes that are down are told.
 * Return: @text.
 */
const char *plane_sum_text(const struct plane_sum *sum, char *text, size_t size);

#endif
