/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* plane_sum.h - the load of a logical port as the sum of its planes (fabric/planes.h) */
#ifndef IBWIRE_ANALYSIS_PLANE_SUM_H
#define IBWIRE_ANALYSIS_PLANE_SUM_H

#include <stddef.h>
#include <stdint.h>

struct port;

/* Sums over the planes that are up. Start with zeros. */
struct plane_sum {
	unsigned planes, up;
	uint64_t bits_per_s;                      /* capacity of planes that are up, each direction */
	double xmit_bytes_per_s, rcv_bytes_per_s; /* NAN: unknown for one that is up */
};

/*
 * plane_sum_add - add a plane
 * @xmit_bytes_per_s, @rcv_bytes_per_s: its load; NAN: unknown
 */
void plane_sum_add(struct plane_sum *sum, const struct port *port, double xmit_bytes_per_s, double rcv_bytes_per_s);

/*
 * plane_sum_text - "4 planes of 800.0 Gb/s together: sends 392.0 Gb/s (49.0 %), receives 12.4 Gb/s
 * (1.6 %)"
 * Unknown values are "-"; planes that are down are counted.
 * Return: @text.
 */
const char *plane_sum_text(const struct plane_sum *sum, char *text, size_t size);

#endif
