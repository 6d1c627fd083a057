/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * counter.h - the counter catalogue
 *
 * One table defines where each counter is on the wire, its width there, and its meaning. A counter
 * may be in several attributes (32 bits in PortCounters, 64 in PortCountersExtended): each place is
 * a field, and the widest one that a node supports is used.
 */
#ifndef IBWIRE_FABRIC_COUNTER_H
#define IBWIRE_FABRIC_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order is that of storage columns and of every listing. At most 64: sets are bit masks. */
enum counter {
	COUNTER_XMIT_DATA,
	COUNTER_RCV_DATA,
	COUNTER_XMIT_PACKETS,
	COUNTER_RCV_PACKETS,
	COUNTER_XMIT_WAIT,
	COUNTER_UNICAST_XMIT_PACKETS,
	COUNTER_UNICAST_RCV_PACKETS,
	COUNTER_MULTICAST_XMIT_PACKETS,
	COUNTER_MULTICAST_RCV_PACKETS,
	COUNTER_TRAFFIC_COUNT, /* those above are traffic, those below errors */
	COUNTER_SYMBOL_ERRORS = COUNTER_TRAFFIC_COUNT,
	COUNTER_LINK_ERROR_RECOVERY,
	COUNTER_LINK_DOWNED,
	COUNTER_RCV_ERRORS,
	COUNTER_RCV_REMOTE_PHYSICAL_ERRORS,
	COUNTER_RCV_SWITCH_RELAY_ERRORS,
	COUNTER_XMIT_DISCARDS,
	COUNTER_XMIT_CONSTRAINT_ERRORS,
	COUNTER_RCV_CONSTRAINT_ERRORS,
	COUNTER_LOCAL_LINK_INTEGRITY_ERRORS,
	COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS,
	COUNTER_QP1_DROPPED,
	COUNTER_VL15_DROPPED,
	COUNTER_COUNT,
};

typedef uint64_t counter_set; /* bit 1 << enum counter */

#define COUNTER_BIT(counter) (UINT64_C(1) << (counter))
#define COUNTER_TRAFFIC_SET (COUNTER_BIT(COUNTER_TRAFFIC_COUNT) - 1)
#define COUNTER_ERROR_SET ((COUNTER_BIT(COUNTER_COUNT) - 1) & ~COUNTER_TRAFFIC_SET)
/* Counters in sums of errors. Multicast raises PortRcvSwitchRelayErrors on a healthy fabric. */
#define COUNTER_ERROR_SUM_SET (COUNTER_ERROR_SET & ~COUNTER_BIT(COUNTER_RCV_SWITCH_RELAY_ERRORS))

struct counter_info {
	const char *key;     /* in JSON, SQL and on command lines: "xmit_data" */
	const char *title;   /* the specification's name: "PortXmitData" */
	const char *unit;    /* of the stored value: "words", "packets", "ticks", "errors" ... */
	const char *meaning; /* one line */
	uint8_t narrow_bits; /* width in PortCounters; 0: not in it */
};

/* counter_info - the catalogue's entry of a counter (constant). */
const struct counter_info *counter_info(enum counter counter);

/* counter_by_key - Return: the counter of a key, or COUNTER_COUNT. */
enum counter counter_by_key(const char *key);

/* Bytes in a word of PortXmitData and PortRcvData. Source: IBA Vol 1, PortCounters: octets divided by 4. */
#define COUNTER_WORD_BYTES 4

/* Attributes that counters are read from. */
enum counter_attribute { ATTRIBUTE_PORT_COUNTERS, ATTRIBUTE_PORT_COUNTERS_EXTENDED, ATTRIBUTE_COUNT };

/* Capability that a field requires; bits of struct pma_caps of a node. */
enum counter_need {
	NEED_NOTHING,
	NEED_EXTENDED,        /* ClassPortInfo.CapabilityMask: ExtendedWidth or ExtendedWidthNoIETF */
	NEED_EXTENDED_CAST,   /* unicast and multicast counters */
	NEED_EXTENDED_ERRORS, /* CapabilityMask2 bit 1: 64-bit error counters */
	NEED_XMIT_WAIT,       /* CapabilityMask: PortXmitWait */
	NEED_QP1_DROPPED,     /* CapabilityMask: QP1Dropped */
};

struct counter_field {
	uint8_t counter;     /* enum counter */
	uint8_t attribute;   /* enum counter_attribute */
	uint8_t need;        /* enum counter_need */
	uint8_t bits;        /* width */
	uint16_t bit_offset; /* from the attribute's first bit, most significant first */
};

/* counter_fields - the complete table. Return: its first entry; @ret_count: number of entries. */
const struct counter_field *counter_fields(size_t *ret_count);

/* Capabilities of a performance agent (ClassPortInfo). */
struct pma_caps {
	bool known;         /* ClassPortInfo was read */
	uint16_t cap_mask;
	uint32_t cap_mask2; /* 27 bits */
	uint8_t resp_time;  /* RespTimeValue: 4.096 us * 2^n */
	bool tick_known;    /* PortSamplesControl was read */
	uint8_t tick;       /* PortSamplesControl.Tick: PortXmitWait counts (tick + 1) symbol times */
	uint32_t missing;   /* unsupported attributes: detail_missing_bit(), and the bits below */
	bool wait_contradicted; /* readings contradict the length of a tick that is assumed (analysis/rate.h) */
};

/*
 * Bits of pma_caps.missing in addition to those of the detail attributes. EXTENDED_ERRORS: 64-bit
 * error counters that are announced, and contradict those of PortCounters.
 */
enum { PMA_MISSING_SAMPLES_CONTROL = 1 << 7, PMA_MISSING_EXTENDED = 1 << 6, PMA_MISSING_EXTENDED_ERRORS = 1 << 5 };

/* Bits of ClassPortInfo.CapabilityMask and CapabilityMask2. Source: opensm ib_types.h, IB_PM_*. */
enum {
	PMA_CAP_ALL_PORT_SELECT = 1 << 8,
	PMA_CAP_EXTENDED = 1 << 9,
	PMA_CAP_EXTENDED_NO_IETF = 1 << 10,
	PMA_CAP_XMIT_WAIT = 1 << 12,
	PMA_CAP_RS_FEC = 1 << 14,
	PMA_CAP_QP1_DROPPED = 1 << 15,
	PMA_CAP2_EXTENDED_ERRORS = 1 << 1,
};

/* pma_caps_meet - a node with these capabilities has what a field requires. */
bool pma_caps_meet(const struct pma_caps *caps, enum counter_need need);

/*
 * One reading of one port: absolute values at one time. `present` is the set of counters that were
 * read, `wide` the subset from 64-bit fields (the others are narrow_bits wide and saturate at their
 * maximum).
 */
struct reading {
	int64_t at_us; /* CLOCK_BOOTTIME of the response with the traffic counters */
	counter_set present, wide;
	uint64_t value[COUNTER_COUNT];
};

/*
 * reading_decode - add the counters of one attribute to a reading
 * @bytes:  data of the attribute (MAD data from byte 64 on), @len bytes
 * @caps:   capabilities of the node: unsupported fields are skipped
 *
 * A field never replaces a wider one.
 */
void reading_decode(struct reading *reading, enum counter_attribute attribute, const uint8_t *bytes, size_t len,
		    const struct pma_caps *caps);

/* reading_max - maximum of a counter in this reading, at which it saturates. */
uint64_t reading_max(const struct reading *reading, enum counter counter);

#endif
