/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tail.h - the last 32 bytes of an answer, which umad2sim does not pass on
 *
 * umad2sim 0.10 takes a datagram of 288 bytes into a buffer of as many, in which
 * the 64 bytes of the umad header stand before the MAD. So the MAD's bytes 224 to
 * 255 are lost, and its reader gets what happens to lie behind that buffer. Of a
 * performance agent's answer these are counters: VL15Dropped, PortXmitWait and
 * QP1Dropped of PortCountersExtended. In such answers bytes 24 to 63 are reserved, so
 * the relay puts a copy there (tail_keep), and a library preloaded into the client
 * moves it to its place (tail_restore, called in sim/umad_tail.c).
 * Source: umad2sim.c (__receiver, umad2sim_read); libibmad mad.h (IB_PC_DATA_OFFS).
 */
#ifndef IBWIRE_SIM_TAIL_H
#define IBWIRE_SIM_TAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/packet.h"

enum { TAIL_SIZE = 32, TAIL_OFFSET = PACKET_MAD_SIZE - TAIL_SIZE, TAIL_KEPT = 24, TAIL_MARK = 56 };

/* Stands behind the copy: "ibwtail" and the version of this arrangement. */
#define TAIL_MARK_VALUE UINT64_C(0x6962777461696c01)

static inline bool tail_is_counters(const uint8_t mad[PACKET_MAD_SIZE])
{
	return mad[MAD_CLASS] == CLASS_PERFORMANCE && (mad[MAD_METHOD] & METHOD_RESPONSE);
}

/*
 * tail_keep - copy the tail of a performance agent's answer into its reserved bytes
 * Other MADs have no bytes to spare and stay as they are.
 */
static inline void tail_keep(uint8_t mad[PACKET_MAD_SIZE])
{
	if (!tail_is_counters(mad))
		return;
	memcpy(mad + TAIL_KEPT, mad + TAIL_OFFSET, TAIL_SIZE);
	store_be64(mad + TAIL_MARK, TAIL_MARK_VALUE);
}

/*
 * tail_restore - the opposite of tail_keep, for a MAD whose tail was lost
 * The reserved bytes are zero then, and so is the tail of a MAD that holds no copy:
 * what was in it is unknown.
 */
static inline void tail_restore(uint8_t mad[PACKET_MAD_SIZE])
{
	if (!tail_is_counters(mad) || load_be64(mad + TAIL_MARK) != TAIL_MARK_VALUE) {
		memset(mad + TAIL_OFFSET, 0, TAIL_SIZE);
		return;
	}
	memcpy(mad + TAIL_OFFSET, mad + TAIL_KEPT, TAIL_SIZE);
	memset(mad + TAIL_KEPT, 0, PACKET_MAD_DATA - TAIL_KEPT);
}

#endif
