/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pma.h - decode responses of performance agents */
#ifndef IBWIRE_WIRE_PMA_H
#define IBWIRE_WIRE_PMA_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/detail.h"
#include "wire/mad.h"

/* Meaning of the status of a response. Source: IBA Vol 1, 13.4.7 (status field). */
enum answer_status {
	ANSWER_OK,
	ANSWER_BUSY,        /* retry later */
	ANSWER_REDIRECT,    /* another agent is responsible */
	ANSWER_UNSUPPORTED, /* no such attribute or method */
	ANSWER_BAD,         /* any other error, or a response to another request */
};

enum answer_status answer_status(const uint8_t mad[MAD_SIZE]);

/* pma_read_caps - capabilities from ClassPortInfo. Source: IBA Vol 1, 13.4.8.1. */
struct pma_caps pma_read_caps(const uint8_t mad[MAD_SIZE]);

/* pma_attribute_id - attribute id of a counter attribute on the wire. */
uint16_t pma_attribute_id(enum counter_attribute attribute);

/*
 * pma_lacks_port_select - the response to a query for a port has PortSelect 0
 * Some agents do not copy it. Such a response is valid: it matches its request by transaction id.
 */
bool pma_lacks_port_select(const uint8_t mad[MAD_SIZE], uint8_t port_select);

/*
 * pma_read_counters - add a counter attribute to a reading
 * @port_select:  the requested port; a response for another one, not 0, is ANSWER_BAD
 *
 * Return: ANSWER_OK and the reading is filled, or an error.
 */
enum answer_status pma_read_counters(const uint8_t mad[MAD_SIZE], enum counter_attribute attribute,
				     uint8_t port_select, const struct pma_caps *caps, struct reading *reading);

/* pma_detail_attribute_id - attribute id of a detail attribute on the wire. */
uint16_t pma_detail_attribute_id(enum detail_attribute attribute);

/* pma_detail_attribute - the detail_wire() attribute of an id; DETAIL_ATTRIBUTE_COUNT: none */
enum detail_attribute pma_detail_attribute(uint16_t attribute_id);

/*
 * pma_read_detail - decode a detail attribute
 * @port_select:  as above
 * @layout:       of DETAIL_EXTENDED_SPEEDS and lanes: from smp_read_fec_layout()
 * @ret:          filled on ANSWER_OK, except at_us; else untouched
 *
 * Return: ANSWER_OK, or an error.
 */
enum answer_status pma_read_detail(const uint8_t mad[MAD_SIZE], enum detail_attribute attribute, uint8_t port_select,
				   enum fec_layout layout, struct detail_reading *ret);

/*
 * pma_read_tick - Tick from PortSamplesControl
 * Return: PortXmitWait counts once in (Tick + 1) symbol times.
 * Source: IBA Vol 1, 16.1.3.2 (PortSamplesControl); libibmad fields.c: byte 2.
 */
uint8_t pma_read_tick(const uint8_t mad[MAD_SIZE]);

/*
 * pma_read_redirect - address of the responsible agent, from a redirection
 * @ret:  the address. The P_Key of the redirection is ignored: that of the device is used.
 *
 * Return: false: not a redirection (a status of 2 and nothing else), or one by GID only, through a
 * router, which is not supported; then @ret is untouched.
 * Source: libibmad fields.c, ClassPortInfo: SL byte 25 high nibble, LID 28, QP 33 (24 bits), QKey
 * 36; rpc.c, redirect_port(). IBA Vol 1, 13.4.8.1.
 */
bool pma_read_redirect(const uint8_t mad[MAD_SIZE], struct mad_address *ret);

#endif
