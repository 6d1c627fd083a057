/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/counter.h"

#include <endian.h>
#include <string.h>

static const struct counter_info infos[COUNTER_COUNT] = {
	[COUNTER_XMIT_DATA] = { "xmit_data", "PortXmitData", "words", "data sent, in words of 4 bytes", 32 },
	[COUNTER_RCV_DATA] = { "rcv_data", "PortRcvData", "words", "data received, in words of 4 bytes", 32 },
	[COUNTER_XMIT_PACKETS] = { "xmit_packets", "PortXmitPkts", "packets", "packets sent", 32 },
	[COUNTER_RCV_PACKETS] = { "rcv_packets", "PortRcvPkts", "packets", "packets received", 32 },
	[COUNTER_XMIT_WAIT] = { "xmit_wait", "PortXmitWait", "ticks",
				"time with data to send and no credits, in ticks of the device", 32 },
	[COUNTER_UNICAST_XMIT_PACKETS] = { "unicast_xmit_packets", "PortUnicastXmitPkts", "packets",
					   "unicast packets sent", 0 },
	[COUNTER_UNICAST_RCV_PACKETS] = { "unicast_rcv_packets", "PortUnicastRcvPkts", "packets",
					  "unicast packets received", 0 },
	[COUNTER_MULTICAST_XMIT_PACKETS] = { "multicast_xmit_packets", "PortMulticastXmitPkts", "packets",
					     "multicast packets sent", 0 },
	[COUNTER_MULTICAST_RCV_PACKETS] = { "multicast_rcv_packets", "PortMulticastRcvPkts", "packets",
					    "multicast packets received", 0 },
	[COUNTER_SYMBOL_ERRORS] = { "symbol_errors", "SymbolErrorCounter", "errors",
				    "minor link errors; with FEC, those that FEC could not correct", 16 },
	[COUNTER_LINK_ERROR_RECOVERY] = { "link_error_recovery", "LinkErrorRecoveryCounter", "recoveries",
					  "times that the link recovered by retraining", 8 },
	[COUNTER_LINK_DOWNED] = { "link_downed", "LinkDownedCounter", "downs",
				  "times that link recovery failed and the link went down", 8 },
	[COUNTER_RCV_ERRORS] = { "rcv_errors", "PortRcvErrors", "packets",
				 "packets received with an error: physical, malformed, or buffer overrun", 16 },
	[COUNTER_RCV_REMOTE_PHYSICAL_ERRORS] = { "rcv_remote_physical_errors", "PortRcvRemotePhysicalErrors", "packets",
						 "packets marked as bad by an earlier hop: the fault is upstream", 16 },
	[COUNTER_RCV_SWITCH_RELAY_ERRORS] = { "rcv_switch_relay_errors", "PortRcvSwitchRelayErrors", "packets",
					      "packets that a switch could not forward; normal with multicast",
					      16 },
	[COUNTER_XMIT_DISCARDS] = { "xmit_discards", "PortXmitDiscards", "packets",
				    "packets discarded because the port was down or without credits for too long", 16 },
	[COUNTER_XMIT_CONSTRAINT_ERRORS] = { "xmit_constraint_errors", "PortXmitConstraintErrors", "packets",
					     "packets not sent: partition or raw filter of a switch", 8 },
	[COUNTER_RCV_CONSTRAINT_ERRORS] = { "rcv_constraint_errors", "PortRcvConstraintErrors", "packets",
					    "packets received and discarded: partition or raw filter of a switch", 8 },
	[COUNTER_LOCAL_LINK_INTEGRITY_ERRORS] = { "local_link_integrity_errors", "LocalLinkIntegrityErrors", "errors",
						  "times that local errors exceeded the threshold of the port", 4 },
	[COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = { "excessive_buffer_overrun_errors", "ExcessiveBufferOverrunErrors",
						      "errors", "times that buffers overran repeatedly", 4 },
	[COUNTER_QP1_DROPPED] = { "qp1_dropped", "QP1Dropped", "packets",
				  "management packets to QP1 dropped for lack of resources", 16 },
	[COUNTER_VL15_DROPPED] = { "vl15_dropped", "VL15Dropped", "packets",
				   "subnet management packets dropped for lack of resources", 16 },
};

/*
 * Positions of the counters. Offsets are byte * 8 (+ bit).
 * Source: IBA Vol 1, 16.1.3.5 PortCounters and 16.1.4.11 PortCountersExtended,
 * as decoded in libibmad fields.c (BITSOFFS and IB_PC_EXT_*). QP1Dropped is
 * decoded here: libibmad 44.0 gives IB_PC_QP1_DROP_F the offset of VL15Dropped.
 */
#define PC(counter, byte, bits, need) { counter, ATTRIBUTE_PORT_COUNTERS, need, bits, (byte) * 8 }
#define EXT(counter, byte, need) { counter, ATTRIBUTE_PORT_COUNTERS_EXTENDED, need, 64, (byte) * 8 }

static const struct counter_field fields[] = {
	PC(COUNTER_SYMBOL_ERRORS, 4, 16, NEED_NOTHING),
	PC(COUNTER_LINK_ERROR_RECOVERY, 6, 8, NEED_NOTHING),
	PC(COUNTER_LINK_DOWNED, 7, 8, NEED_NOTHING),
	PC(COUNTER_RCV_ERRORS, 8, 16, NEED_NOTHING),
	PC(COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, 10, 16, NEED_NOTHING),
	PC(COUNTER_RCV_SWITCH_RELAY_ERRORS, 12, 16, NEED_NOTHING),
	PC(COUNTER_XMIT_DISCARDS, 14, 16, NEED_NOTHING),
	PC(COUNTER_XMIT_CONSTRAINT_ERRORS, 16, 8, NEED_NOTHING),
	PC(COUNTER_RCV_CONSTRAINT_ERRORS, 17, 8, NEED_NOTHING),
	PC(COUNTER_LOCAL_LINK_INTEGRITY_ERRORS, 19, 4, NEED_NOTHING),
	{ COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS, ATTRIBUTE_PORT_COUNTERS, NEED_NOTHING, 4, 19 * 8 + 4 },
	PC(COUNTER_QP1_DROPPED, 20, 16, NEED_QP1_DROPPED),
	PC(COUNTER_VL15_DROPPED, 22, 16, NEED_NOTHING),
	PC(COUNTER_XMIT_DATA, 24, 32, NEED_NOTHING),
	PC(COUNTER_RCV_DATA, 28, 32, NEED_NOTHING),
	PC(COUNTER_XMIT_PACKETS, 32, 32, NEED_NOTHING),
	PC(COUNTER_RCV_PACKETS, 36, 32, NEED_NOTHING),
	PC(COUNTER_XMIT_WAIT, 40, 32, NEED_XMIT_WAIT),
	EXT(COUNTER_XMIT_DATA, 8, NEED_EXTENDED),
	EXT(COUNTER_RCV_DATA, 16, NEED_EXTENDED),
	EXT(COUNTER_XMIT_PACKETS, 24, NEED_EXTENDED),
	EXT(COUNTER_RCV_PACKETS, 32, NEED_EXTENDED),
	EXT(COUNTER_UNICAST_XMIT_PACKETS, 40, NEED_EXTENDED_CAST),
	EXT(COUNTER_UNICAST_RCV_PACKETS, 48, NEED_EXTENDED_CAST),
	EXT(COUNTER_MULTICAST_XMIT_PACKETS, 56, NEED_EXTENDED_CAST),
	EXT(COUNTER_MULTICAST_RCV_PACKETS, 64, NEED_EXTENDED_CAST),
	EXT(COUNTER_SYMBOL_ERRORS, 72, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_LINK_ERROR_RECOVERY, 80, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_LINK_DOWNED, 88, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_RCV_ERRORS, 96, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, 104, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_RCV_SWITCH_RELAY_ERRORS, 112, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_XMIT_DISCARDS, 120, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_XMIT_CONSTRAINT_ERRORS, 128, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_RCV_CONSTRAINT_ERRORS, 136, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_LOCAL_LINK_INTEGRITY_ERRORS, 144, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS, 152, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_VL15_DROPPED, 160, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_XMIT_WAIT, 168, NEED_EXTENDED_ERRORS),
	EXT(COUNTER_QP1_DROPPED, 176, NEED_EXTENDED_ERRORS),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

const struct counter_info *counter_info(enum counter counter)
{
	return &infos[counter];
}

enum counter counter_by_key(const char *key)
{
	int counter;

	for (counter = 0; counter < COUNTER_COUNT; counter++)
		if (!strcmp(key, infos[counter].key))
			break;
	return (enum counter)counter;
}

const struct counter_field *counter_fields(size_t *ret_count)
{
	*ret_count = FIELD_COUNT;
	return fields;
}

bool pma_caps_meet(const struct pma_caps *caps, enum counter_need need)
{
	switch (need) {
	case NEED_NOTHING:
		return true;
	case NEED_EXTENDED:
		return !(caps->missing & PMA_MISSING_EXTENDED) &&
		       caps->cap_mask & (PMA_CAP_EXTENDED | PMA_CAP_EXTENDED_NO_IETF);
	case NEED_EXTENDED_CAST:
		return !(caps->missing & PMA_MISSING_EXTENDED) && caps->cap_mask & PMA_CAP_EXTENDED;
	case NEED_EXTENDED_ERRORS:
		return !(caps->missing & (PMA_MISSING_EXTENDED | PMA_MISSING_EXTENDED_ERRORS)) &&
		       caps->cap_mask2 & PMA_CAP2_EXTENDED_ERRORS;
	case NEED_XMIT_WAIT:
		return caps->cap_mask & PMA_CAP_XMIT_WAIT;
	case NEED_QP1_DROPPED:
		return caps->cap_mask & PMA_CAP_QP1_DROPPED;
	}
	return false;
}

/* A field of at most 64 bits, most significant bit first; never crosses a byte unless it starts on one. */
static uint64_t get_bits(const uint8_t *bytes, unsigned offset, unsigned bits)
{
	uint64_t value = 0;

	if (bits < 8)
		return bytes[offset / 8] >> (8 - offset % 8 - bits) & ((1u << bits) - 1);
	if (bits == 64) {
		memcpy(&value, bytes + offset / 8, sizeof(value));
		return be64toh(value);
	}
	for (unsigned i = 0; i < bits / 8; i++)
		value = value << 8 | bytes[offset / 8 + i];
	return value;
}

/* The needs that a node meets, one bit each. */
static unsigned needs_met(const struct pma_caps *caps)
{
	unsigned met = 0;

	for (int need = NEED_NOTHING; need <= NEED_QP1_DROPPED; need++)
		met |= (unsigned)pma_caps_meet(caps, (enum counter_need)need) << need;
	return met;
}

void reading_decode(struct reading *reading, enum counter_attribute attribute, const uint8_t *bytes, size_t len,
		    const struct pma_caps *caps)
{
	counter_set present = reading->present, wide = reading->wide;
	unsigned met = needs_met(caps);

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct counter_field *field = &fields[i];
		counter_set bit = COUNTER_BIT(field->counter);

		if (field->attribute != attribute || !(met & 1u << field->need) ||
		    field->bit_offset + field->bits > len * 8)
			continue;
		if (field->bits < 64 && wide & bit)
			continue;
		reading->value[field->counter] = get_bits(bytes, field->bit_offset, field->bits);
		present |= bit;
		if (field->bits == 64)
			wide |= bit;
	}
	reading->present = present;
	reading->wide = wide;
}

uint64_t reading_max(const struct reading *reading, enum counter counter)
{
	if (reading->wide & COUNTER_BIT(counter))
		return UINT64_MAX;
	return (UINT64_C(1) << infos[counter].narrow_bits) - 1;
}
