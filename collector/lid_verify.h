/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lid_verify.h - were a sweep's answers those of the nodes that were asked?
 *
 * An answer with counters does not say whose they are: it comes from whoever has
 * the LID now, and between two discoveries a subnet manager may give a LID to
 * another node. So before readings count, NodeInfo is asked of the LIDs that look
 * strange: where a counter fell, or moved faster than its link can. One of any two
 * nodes that changed places shows by that; as soon as one LID turns out to be
 * another node's, all of them are asked.
 */
#ifndef IBWIRE_COLLECTOR_LID_VERIFY_H
#define IBWIRE_COLLECTOR_LID_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct error;
struct fabric;
struct node_memory;
struct sweep_result;

/*
 * lid_verify_run - ask, and take back the readings that are another node's
 * @engine:   idle
 * @result:   of the sweep that has just been made of @fabric; a reading that is
 *            taken back leaves a silent sample
 * @memory:   follows @fabric; what such a node is said to support is forgotten
 * @all:      ask every LID that gave a reading: there is a reason to doubt them
 * @ret_moved: how many LIDs are another node's
 *
 * A LID that does not answer NodeInfo is believed: not every node answers SMPs.
 * Return: 0; ERR_UNAVAILABLE where the local device failed; ERR_NOMEM.
 */
int lid_verify_run(struct engine *engine, const struct fabric *fabric, struct node_memory *memory,
		   struct sweep_result *result, bool all, uint32_t *ret_moved, struct error *err);

#endif
