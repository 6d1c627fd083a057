/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bad_links.h - which bad links can be taken out at once, and in which rounds all of them can be repaired
 *
 * A set of links can be taken out if afterwards
 *  - each switch with hosts has, to each tier above it, at least the share @keep of the paths that it was built with
 *    (to the next tier: of its uplinks), or no fewer than before if it has less already;
 *  - each host keeps this share of its links, and one at least;
 *  - no host is cut off (fabric/cut_off.h).
 *
 * Links interact only through switches with hosts below both of them, so independent groups of links are solved one by
 * one: by branch and bound, which is exact, up to BAD_LINKS_STEPS; beyond that the best set found is improved by
 * exchanges of one link for two. This is the question of CorrOpt (Zhuo et al., SIGCOMM 2017), with more than one link
 * at a time and the largest set instead of the order of arrival.
 */
#ifndef IBWIRE_FABRIC_BAD_LINKS_H
#define IBWIRE_FABRIC_BAD_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct shape;

/*
 * Links that are tried in the first round before its result is not proven to be the largest, shared by the groups of
 * links; a tenth in each further round. Cost of a step: 10 us in a fabric of 11,264 HCAs.
 */
#define BAD_LINKS_STEPS 40000

struct bad_link {
	uint32_t port;     /* either end */
	double badness;    /* of equally large sets the one with the worst links is chosen */
	/* Results. */
	unsigned round;    /* from 1 on; 0: it cannot be taken out in any round */
	uint32_t blocker;  /* round 0: the node whose paths or links would be too few; FABRIC_NONE: connectivity */
};

struct bad_links_plan {
	unsigned rounds;
	size_t first;      /* links of the first round */
	bool largest;      /* no larger first round exists */
};

/*
 * bad_links_plan - find the largest set that can be taken out now, then that of the others when these are repaired ...
 * @links:  each link once, usable; sorted by round (0 last), the worst first
 * @keep:   0 to 1
 * Return: 0 or ERR_NOMEM.
 */
int bad_links_plan(const struct shape *shape, struct bad_link *links, size_t count, double keep,
		   struct bad_links_plan *ret, struct error *err);

#endif
