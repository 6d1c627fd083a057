/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pma.h - answers of performance agents as data */
#ifndef IBWIRE_WIRE_PMA_H
#define IBWIRE_WIRE_PMA_H

#include <stdint.h>

#include "fabric/counter.h"
#include "wire/mad.h"

/* What the status of an answer means to the one who asked. Source: IBA Vol 1, 13.4.7 (status field). */
enum answer_status {
	ANSWER_OK,
	ANSWER_BUSY,        /* ask again later */
	ANSWER_REDIRECT,    /* another agent answers for this one */
	ANSWER_UNSUPPORTED, /* no such attribute or method here */
	ANSWER_BAD,         /* anything else, or an answer to another question */
};

enum answer_status answer_status(const uint8_t mad[MAD_SIZE]);

/*
 * pma_read_caps - capabilities from an answered ClassPortInfo
 * Source: IBA Vol 1, 13.4.8.1 (ClassPortInfo).
 */
struct pma_caps pma_read_caps(const uint8_t mad[MAD_SIZE]);

/* pma_attribute_id - the attribute id that a counter attribute has on the wire. */
uint16_t pma_attribute_id(enum counter_attribute attribute);

/*
 * pma_read_counters - take an answered counter attribute into a reading
 * @port_select:  the port that was asked for; an answer for another is ANSWER_BAD
 *
 * Return: ANSWER_OK and the reading filled, or why not.
 */
enum answer_status pma_read_counters(const uint8_t mad[MAD_SIZE], enum counter_attribute attribute,
				     uint8_t port_select, const struct pma_caps *caps, struct reading *reading);

#endif
