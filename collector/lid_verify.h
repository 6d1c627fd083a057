/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lid_verify.h - verify that responses came from the queried nodes
 *
 * A counter response does not identify its node: it comes from the current owner of the LID, and a
 * subnet manager may reassign LIDs between discoveries. So NodeInfo of a LID is queried if a
 * counter decreased, increased faster than the link's rate, or was read with another width. Two
 * nodes that exchanged LIDs show one of these. A node that became unresponsive may have another
 * LID, and its new one was another node's: its LID is queried along its path. As soon as one LID
 * has moved, all of them are verified.
 */
#ifndef IBWIRE_COLLECTOR_LID_VERIFY_H
#define IBWIRE_COLLECTOR_LID_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct error;
struct node_memory;
struct sweep_result;

/*
 * lid_verify_run - verify LIDs, and discard readings of other nodes
 * @engine:    idle
 * @result:    of the current sweep; a discarded reading leaves an unresponsive sample
 * @memory:    capabilities of nodes whose LID moved are reset
 * @all:       verify every LID with a reading
 * @deadline_us: CLOCK_BOOTTIME; readings that are not verified by then are discarded; 0: none
 * @ret_moved: number of LIDs that belong to another node
 *
 * Without a response to NodeInfo the node is queried along its path. A LID without a response to
 * either is accepted in the second sweep in a row, because not every node responds to SMPs; but not
 * a LID of two nodes, nor while LIDs are in doubt.
 * Return: 0; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 */
int lid_verify_run(struct engine *engine, struct node_memory *memory, struct sweep_result *result, bool all,
		   int64_t deadline_us, uint32_t *ret_moved, struct error *err);

#endif
