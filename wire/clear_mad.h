/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clear_mad.h - the MADs of `ibwire clear`, and the gate that lets only them pass
 *
 * Everything else in ibwire sends Gets (wire/mad.h). A person's command to clear
 * counters sends Sets too, of the attributes below and no others, one port at a
 * time. Which counters a Set clears say its CounterSelect fields; they are made
 * from the catalogue (fabric/counter.h), so that what ibwire reads of a node is
 * what it clears there.
 */
#ifndef IBWIRE_WIRE_CLEAR_MAD_H
#define IBWIRE_WIRE_CLEAR_MAD_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "wire/mad.h"

/*
 * What is cleared, in this order. From the third on a node may lack them, and says so by a status
 * only.
 */
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
 * clear_select - what a Set of an attribute selects
 * @caps:         of the node's performance agent
 * @errors_only:  leave data, packets and waits alone
 *
 * Return: CounterSelect in the lowest 16 bits and CounterSelect2 above them; of
 * PortExtendedSpeeds its one CounterSelect of 64 bits. 0: nothing of it is to be
 * cleared at such a node.
 */
uint64_t clear_select(enum clear_attribute attribute, const struct pma_caps *caps, bool errors_only);

/*
 * clear_mad_init - a Set that clears
 * @port:    PortSelect, not 255 (all ports)
 * @select:  from clear_select(), not 0
 */
void clear_mad_init(uint8_t mad[MAD_SIZE], enum clear_attribute attribute, uint8_t port, uint64_t select, uint32_t tid);

/*
 * mad_is_clear - may this MAD pass the gate of `ibwire clear`?
 *
 * A Get of NodeInfo or ClassPortInfo; or a Set of one of the attributes above
 * that selects one port and known counters, and says nothing else.
 */
bool mad_is_clear(const uint8_t mad[MAD_SIZE]);

#endif
