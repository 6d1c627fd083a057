/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * speed.h - link speeds and widths
 *
 * On the wire the speed of a link is in four fields of three generations; wire/ converts them to
 * one enum, which everything else uses.
 */
#ifndef IBWIRE_FABRIC_SPEED_H
#define IBWIRE_FABRIC_SPEED_H

#include <stdint.h>

/* In order of speed. A set of speeds is a mask of 1 << speed. */
enum link_speed {
	LINK_SPEED_NONE, /* unknown, or the link is down */
	LINK_SPEED_SDR,
	LINK_SPEED_DDR,
	LINK_SPEED_QDR,
	LINK_SPEED_FDR10,
	LINK_SPEED_FDR,
	LINK_SPEED_EDR,
	LINK_SPEED_HDR,
	LINK_SPEED_NDR,
	LINK_SPEED_XDR,
	LINK_SPEED_COUNT,
};

/*
 * Widths are the codes of PortInfo.LinkWidth*, also as a mask.
 * Source: IBA Vol 1, PortInfo (as decoded in libibmad dump.c).
 */
enum link_width {
	LINK_WIDTH_NONE = 0,
	LINK_WIDTH_1X = 1,
	LINK_WIDTH_4X = 2,
	LINK_WIDTH_8X = 4,
	LINK_WIDTH_12X = 8,
	LINK_WIDTH_2X = 16,
};

/* link_speed_name - "HDR"; "": unknown. */
const char *link_speed_name(enum link_speed speed);

/* link_speed_by_name - the speed of a name such as "HDR"; NONE: unknown. */
enum link_speed link_speed_by_name(const char *name);

/* link_width_lanes - 1, 2, 4, 8 or 12; 0: invalid code. */
unsigned link_width_lanes(uint8_t code);

/* link_width_code - the code of a number of lanes, or LINK_WIDTH_NONE. */
uint8_t link_width_code(unsigned lanes);

/* link_width_best - the widest code in a mask; link_speed_best the fastest. */
uint8_t link_width_best(uint8_t mask);
enum link_speed link_speed_best(uint16_t mask);

/*
 * link_rate_bits_per_s - data rate of a link in one direction, after encoding overhead. Return:
 * bits per second; 0: speed or width unknown.
 * Source: signalling rates of IBA Vol 2 less 8b/10b (to QDR) or 64b/66b.
 */
uint64_t link_rate_bits_per_s(uint8_t width, enum link_speed speed);

#endif
