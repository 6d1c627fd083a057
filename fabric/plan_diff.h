/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plan_diff.h - differences between a cabling plan and a fabric, named as the work that removes them
 *
 * Planned and present links are edges between ports; each port has at most one of both. What is not
 * equal forms chains and cycles, which alternate between both kinds: a cycle of two cables is a swap,
 * one of n cables needs n - 1 exchanges, a chain is a missing or extra cable, or cables in wrong ports.
 * Differences that all come from one node, or from two that are exchanged, are one difference.
 */
#ifndef IBWIRE_FABRIC_PLAN_DIFF_H
#define IBWIRE_FABRIC_PLAN_DIFF_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct plan;
struct plan_ports;
struct shape;
struct text;

enum plan_change {
	PLAN_MISSING,     /* planned, and neither port has another link */
	PLAN_EXTRA,       /* not planned; both ports are free in the plan */
	PLAN_WRONG_PORT,  /* an end of a cable is in another port: one move, or a chain of moves */
	PLAN_SWAPPED,     /* two cables: exchange two ends */
	PLAN_CYCLE,       /* three and more cables: n - 1 exchanges */
	PLAN_MOVED,       /* a host or switch: all of its links are elsewhere */
	PLAN_EXCHANGED,   /* two hosts or switches are in each other's place */
	PLAN_REPLACED,    /* another host or switch has all the links of one that is absent */
	PLAN_ABSENT,      /* a host or switch has no link */
	PLAN_SLOW,        /* as planned, but below the planned speed or width */
	PLAN_CHANGE_COUNT,
};

/* Move the end of a cable from one port to another; both directions of an exchange are one move. */
struct plan_move { uint32_t from, to; }; /* indices of ports */

/*
 * WRONG_PORT: if there are more present links than planned ones, the first is to be removed before the moves; if there
 * are fewer, the last planned one is to be connected after them.
 */
struct plan_difference {
	enum plan_change change;
	/*
	 * MOVED, EXCHANGED, REPLACED, ABSENT: a switch, or the first HCA of a host; else FABRIC_NONE.
	 * REPLACED: @other is in the place of @node. MOVED: @node is in that of @other, if that is not FABRIC_NONE.
	 * REPLACED, ABSENT: @node is FABRIC_NONE if the fabric does not have it: the plan's link names it.
	 */
	uint32_t node, other;
	uint32_t first_link, link_count; /* in plan_diff.links: planned links, indices into plan->links */
	uint32_t first_port, port_count; /* in plan_diff.ports: links that are present: port, peer, port, peer ... */
	uint32_t first_move, move_count; /* in plan_diff.moves: in the order of work */
};

struct plan_diff {
	struct plan_difference *list; /* in order of severity, then of names of their ports */
	size_t count;
	uint32_t *links, *ports;
	struct plan_move *moves;
	size_t planned, as_planned, not_judged; /* links of the plan; planned: those that are judged */
	size_t unplanned;                       /* present links that the plan does not have and does not judge */
	size_t by_change[PLAN_CHANGE_COUNT];    /* number of differences */
};

/*
 * plan_compare - compare the cables of a fabric with a plan
 * @ports:  of the same fabric, plan_resolve()
 * A link is present if both ends are Init or above.
 *
 * A link that the plan does not have is extra if the plan names a node of it, and links of its kind (switch to switch,
 * switch to host, inside a box): a plan of the trunks does not judge hosts.
 * A device that the fabric does not have is absent if none of its links is there, replaced if another one that the plan
 * does not have is at all of their other ends; otherwise its links are not judged.
 * Return: 0 or ERR_NOMEM; @ret is for plan_diff_done(), untouched on error.
 */
int plan_compare(const struct plan *plan, const struct plan_ports *ports, const struct shape *shape,
		 struct plan_diff *ret, struct error *err);
void plan_diff_done(struct plan_diff *diff);

/*
 * plan_change_name - "missing", "extra", "wrong-port", "swapped", "cycle", "moved", "exchanged", "replaced",
 * "absent", "slow"
 */
const char *plan_change_name(enum plan_change change);

/*
 * plan_difference_port - the port that a difference is listed at: of a switch, if it is about one
 * @ret_peer:  another port of it, or FABRIC_NONE
 * Return: its index, or FABRIC_NONE: the fabric has none of them.
 */
uint32_t plan_difference_port(const struct plan_ports *ports, const struct shape *shape, const struct plan_diff *diff,
			      const struct plan_difference *difference, uint32_t *ret_peer);

/* Bytes for the name of a port, or of an end as written in a plan. */
enum { PLAN_END_SIZE = 2048 };

/*
 * plan_end_name - the port of an end of a planned link, or device and port as written if it has none in the fabric
 * @link, @end:  index into plan->links; 0 or 1
 * @ret:  @size bytes; a longer name is cut
 * Return: @ret.
 */
const char *plan_end_name(const struct plan *plan, const struct plan_ports *ports, const struct shape *shape,
			  uint32_t link, unsigned end, char *ret, size_t size);

/*
 * plan_difference_device - the name of the host or switch of a difference, as written in the plan if the fabric does
 * not have it; "" if the difference has neither a node nor a planned link
 */
const char *plan_difference_device(const struct plan *plan, const struct plan_ports *ports, const struct shape *shape,
				   const struct plan_diff *diff, const struct plan_difference *difference);

/*
 * plan_difference_text - append what is to be done, and why, without a full stop:
 * "exchange the cables at leaf-a01/16 and leaf-a01/17"
 */
void plan_difference_text(struct text *text, const struct plan *plan, const struct plan_ports *ports,
			  const struct shape *shape, const struct plan_diff *diff,
			  const struct plan_difference *difference);

#endif
