/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_wiring.h - a small fabric in memory that answers SMPs along paths, in virtual time
 *
 * For tests of wire/explore: node 0 is this host's. It walks each path port by port, as the
 * switches of a fabric do.
 */
#ifndef IBWIRE_WIRE_TEST_WIRING_H
#define IBWIRE_WIRE_TEST_WIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "wire/mad.h"
#include "wire/transport.h"

#define WIRING_NODES 100
#define WIRING_PORTS 40
#define WIRING_FLYING 256
#define WIRING_NONE UINT32_MAX

struct wiring_node {
	uint64_t guid;
	uint8_t type, port_count;
	bool dead;           /* answers nothing */
	uint64_t mkey;       /* drops what does not carry it; 0: none */
	int64_t answer_us;   /* how long an answer takes */
	uint16_t drops;      /* an attribute that it never answers, for port drops_port */
	uint8_t drops_port;
	uint16_t refuses;    /* an attribute that it answers with a status */
	unsigned answers_left; /* after so many it dies; 0: never */
	struct { uint32_t node; uint8_t num; } peer[WIRING_PORTS + 1];
};

struct wiring {
	struct clock clock;
	struct transport transport;
	int64_t now_us;
	uint64_t random;
	unsigned loss_percent;
	struct wiring_node nodes[WIRING_NODES];
	uint32_t count;
	struct { int64_t at_us; uint8_t mad[MAD_SIZE]; } flying[WIRING_FLYING];
	size_t flying_count;
	unsigned probes[WIRING_NODES][WIRING_PORTS + 1]; /* NodeInfo out of each port */
	unsigned asked[WIRING_NODES];                    /* questions that came */
	unsigned not_allowed;                            /* MADs that are not on the list */
	/* A cable is moved when so many MADs were sent: (change) is called. */
	unsigned sent, change_at;
	void (*change)(struct wiring *wiring);
};

void wiring_init(struct wiring *wiring, uint64_t seed);

/* wiring_add - a node that answers. Return: its index. */
uint32_t wiring_add(struct wiring *wiring, uint8_t type, uint8_t port_count);

/* wiring_link, wiring_cut - a cable between two ports, and none at a port and its peer. */
void wiring_link(struct wiring *wiring, uint32_t a, uint8_t a_num, uint32_t b, uint8_t b_num);
void wiring_cut(struct wiring *wiring, uint32_t a, uint8_t a_num);

/* wiring_random - a number. */
uint64_t wiring_random(struct wiring *wiring);

/* The LID that a port shows, and the GUID that it has. */
uint16_t wiring_lid(uint32_t node, uint8_t num);
uint64_t wiring_port_guid(const struct wiring *wiring, uint32_t node, uint8_t num);

#endif
