/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clear_mad.h - the MADs of `ibwire clear`, and the gate that lets only them pass
 *
 * All other commands send only Gets (wire/mad.h). `ibwire clear` also sends Sets of the attributes
 * below, for one port at a time. Their CounterSelect fields determine what is cleared; they follow from
 * the catalogue (fabric/counter.h), so that ibwire clears the counters that it reads.
 */
#ifndef IBWIRE_WIRE_CLEAR_MAD_H
#define IBWIRE_WIRE_CLEAR_MAD_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "wire/mad.h"

/* In the order of clearing. Only the status of the response shows whether the third and later ones are supported. */
enum clear_attribute {
	CLEAR_PORT_COUNTERS,
	CLEAR_EXTENDED,
	CLEAR_RCV_ERROR_DETAILS,
	CLEAR_XMIT_DISCARD_DETAILS,
	CLEAR_VL_XMIT_WAIT,
	CLEAR_EXTENDED_SPEEDS,
	CLEAR_ATTRIBUTE_COUNT,
};

/* clear_attribute_name - the specification's name: "PortCountersExtended". */
const char *clear_attribute_name(enum clear_attribute attribute);

/* clear_attribute_id - its id on the wire. */
uint16_t clear_attribute_id(enum clear_attribute attribute);

/*
 * clear_select - the counters that a Set of an attribute selects
 * @caps:         of the node's performance agent
 * @errors_only:  without data, packet and wait counters
 *
 * Return: CounterSelect in the lowest 16 bits and CounterSelect2 above them; the 64-bit CounterSelect of
 * PortExtendedSpeeds. 0: nothing is to be cleared.
 */
uint64_t clear_select(enum clear_attribute attribute, const struct pma_caps *caps, bool errors_only);

/*
 * clear_mad_init - a Set that clears
 * @port:    PortSelect, not 255 (all ports)
 * @select:  from clear_select(), not 0
 */
void clear_mad_init(uint8_t mad[MAD_SIZE], enum clear_attribute attribute, uint8_t port, uint64_t select, uint32_t tid);

/*
 * mad_is_clear - the gate of `ibwire clear`
 * Return: whether it is a Get of NodeInfo or ClassPortInfo, or a Set of one of the attributes above that
 * selects one port and known counters, and has no other content.
 */
bool mad_is_clear(const uint8_t mad[MAD_SIZE]);

#endif
