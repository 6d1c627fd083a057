/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pma.h - answers of performance agents as data */
#ifndef IBWIRE_WIRE_PMA_H
#define IBWIRE_WIRE_PMA_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/detail.h"
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

/* pma_detail_attribute_id - the attribute id that a detail attribute has on the wire. */
uint16_t pma_detail_attribute_id(enum detail_attribute attribute);

/* pma_detail_attribute - the other way. Return: the detail attribute of an id, or DETAIL_ATTRIBUTE_COUNT. */
enum detail_attribute pma_detail_attribute(uint16_t attribute_id);

/*
 * pma_read_detail - an answered detail attribute as a reading
 * @port_select:  the port that was asked for; an answer for another is ANSWER_BAD
 * @layout:       of DETAIL_EXTENDED_SPEEDS: what smp_read_fec_layout() said of the port
 * @ret:          filled on ANSWER_OK but for at_us; else untouched
 *
 * Return: ANSWER_OK, or why not.
 */
enum answer_status pma_read_detail(const uint8_t mad[MAD_SIZE], enum detail_attribute attribute, uint8_t port_select,
				   enum fec_layout layout, struct detail_reading *ret);

/*
 * pma_read_tick - Tick from an answered PortSamplesControl
 * Return: PortXmitWait counts once in (this + 1) symbol times.
 * Source: IBA Vol 1, 16.1.3.2 (PortSamplesControl); libibmad fields.c: byte 2.
 */
uint8_t pma_read_tick(const uint8_t mad[MAD_SIZE]);

/*
 * pma_read_redirect - who answers instead, from an answer that is a redirection
 * @ret:  where to ask from now on. The P_Key that the redirection names is not
 *        looked up: the default partition is used, as the infiniband-diags do.
 *
 * Return: false where this is no redirection (a status of 2 and nothing else),
 * or one by GID alone, through a router, which cannot be followed; then @ret is untouched.
 * Source: libibmad fields.c, ClassPortInfo: SL byte 25 high nibble, LID 28, QP 33 (24 bits),
 * QKey 36; rpc.c, redirect_port(). IBA Vol 1, 13.4.8.1.
 */
bool pma_read_redirect(const uint8_t mad[MAD_SIZE], struct mad_address *ret);

#endif
