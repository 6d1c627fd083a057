/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/clear_mad.h"

#include <stddef.h>
#include <string.h>

#define METHOD_SET 0x02 /* Source: IBA Vol 1, 13.4.5 (management class methods) */
#define ALL_PORTS 255
#define NO_COUNTER COUNTER_COUNT

/* A CounterSelect field: its position in the attribute, and its valid bits. */
struct select_field {
	uint8_t byte, size; /* size 0: none */
	uint64_t known;
};

/*
 * Source: libibmad fields.c (CounterSelect, CounterSelect2), mad.h (ids); the known bits from
 * perfquery.c and ibqueryerrors.c (clear_port), which cite IBA Vol 1, 16.1.3.5 and 16.1.4.
 */
static const struct {
	const char *name;
	uint16_t id;
	struct select_field select[2];
} attributes[CLEAR_ATTRIBUTE_COUNT] = {
	[CLEAR_PORT_COUNTERS] = { "PortCounters", 0x12, { { 2, 2, 0xffff }, { 18, 1, 0x3 } } },
	[CLEAR_EXTENDED] = { "PortCountersExtended", 0x1d, { { 2, 2, 0xff }, { 4, 4, 0x3fff } } },
	[CLEAR_RCV_ERROR_DETAILS] = { "PortRcvErrorDetails", 0x15, { { 2, 2, 0x3f } } },
	[CLEAR_XMIT_DISCARD_DETAILS] = { "PortXmitDiscardDetails", 0x16, { { 2, 2, 0xf } } },
	[CLEAR_VL_XMIT_WAIT] = { "PortVLXmitWait", 0x1c, { { 2, 2, 0xffff } } },
	[CLEAR_EXTENDED_SPEEDS] = { "PortExtendedSpeeds", 0x1f, { { 8, 8, UINT64_MAX } } },
};

/*
 * The counter that each bit of the selection clears, from bit 0 on.
 * Source: IBA Vol 1, 16.1.3.5 and 16.1.4.11, as in sim.h of ibsim (GS_PERF_*_MASK, GS_PC_EXT_*)
 * and, above bit 15, in perfquery.c (XmitWait, QP1Dropped, 64-bit errors).
 */
#define FIRST_OF_SELECT2 16

static const uint8_t narrow_order[] = {
	COUNTER_SYMBOL_ERRORS, COUNTER_LINK_ERROR_RECOVERY, COUNTER_LINK_DOWNED, COUNTER_RCV_ERRORS,
	COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, COUNTER_RCV_SWITCH_RELAY_ERRORS, COUNTER_XMIT_DISCARDS,
	COUNTER_XMIT_CONSTRAINT_ERRORS, COUNTER_RCV_CONSTRAINT_ERRORS, COUNTER_LOCAL_LINK_INTEGRITY_ERRORS,
	COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS, COUNTER_VL15_DROPPED, COUNTER_XMIT_DATA, COUNTER_RCV_DATA,
	COUNTER_XMIT_PACKETS, COUNTER_RCV_PACKETS,
	/* CounterSelect2 */
	COUNTER_XMIT_WAIT, COUNTER_QP1_DROPPED,
};

static const uint8_t extended_order[] = {
	COUNTER_XMIT_DATA, COUNTER_RCV_DATA, COUNTER_XMIT_PACKETS, COUNTER_RCV_PACKETS, COUNTER_UNICAST_XMIT_PACKETS,
	COUNTER_UNICAST_RCV_PACKETS, COUNTER_MULTICAST_XMIT_PACKETS, COUNTER_MULTICAST_RCV_PACKETS,
	NO_COUNTER, NO_COUNTER, NO_COUNTER, NO_COUNTER, NO_COUNTER, NO_COUNTER, NO_COUNTER, NO_COUNTER,
	/* CounterSelect2 */
	COUNTER_SYMBOL_ERRORS, COUNTER_LINK_ERROR_RECOVERY, COUNTER_LINK_DOWNED, COUNTER_RCV_ERRORS,
	COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, COUNTER_RCV_SWITCH_RELAY_ERRORS, COUNTER_XMIT_DISCARDS,
	COUNTER_XMIT_CONSTRAINT_ERRORS, COUNTER_RCV_CONSTRAINT_ERRORS, COUNTER_LOCAL_LINK_INTEGRITY_ERRORS,
	COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS, COUNTER_VL15_DROPPED, COUNTER_XMIT_WAIT, COUNTER_QP1_DROPPED,
};

_Static_assert(sizeof(narrow_order) == FIRST_OF_SELECT2 + 2, "CounterSelect has 16 bits");
_Static_assert(sizeof(extended_order) == FIRST_OF_SELECT2 + 14, "CounterSelect has 16 bits");

const char *clear_attribute_name(enum clear_attribute attribute)
{
	return attributes[attribute].name;
}

uint16_t clear_attribute_id(enum clear_attribute attribute)
{
	return attributes[attribute].id;
}

static uint64_t bits_of(const uint8_t *order, size_t count, enum counter_attribute attribute,
			const struct pma_caps *caps, bool errors_only)
{
	counter_set wanted = 0;
	uint64_t select = 0;
	size_t fields;
	const struct counter_field *field = counter_fields(&fields);

	for (size_t i = 0; i < fields; i++)
		if (field[i].attribute == attribute && pma_caps_meet(caps, (enum counter_need)field[i].need))
			wanted |= COUNTER_BIT(field[i].counter);
	if (errors_only)
		wanted &= COUNTER_ERROR_SET;
	for (size_t i = 0; i < count; i++)
		if (order[i] != NO_COUNTER && wanted & COUNTER_BIT(order[i]))
			select |= UINT64_C(1) << i;
	return select;
}

uint64_t clear_select(enum clear_attribute attribute, const struct pma_caps *caps, bool errors_only)
{
	switch (attribute) {
	case CLEAR_PORT_COUNTERS:
		return bits_of(narrow_order, sizeof(narrow_order), ATTRIBUTE_PORT_COUNTERS, caps, errors_only);
	case CLEAR_EXTENDED:
		/* The attribute requires 64-bit data counters, whatever CapabilityMask2 is. */
		if (!pma_caps_meet(caps, NEED_EXTENDED))
			return 0;
		return bits_of(extended_order, sizeof(extended_order), ATTRIBUTE_PORT_COUNTERS_EXTENDED, caps,
			       errors_only);
	case CLEAR_VL_XMIT_WAIT:
		/* Wait counters are not errors. */
		return errors_only ? 0 : attributes[attribute].select[0].known;
	case CLEAR_EXTENDED_SPEEDS:
		/* It has no capability bit; it is present with RS-FEC counters. */
		return caps->cap_mask & PMA_CAP_RS_FEC ? attributes[attribute].select[0].known : 0;
	case CLEAR_RCV_ERROR_DETAILS:
	case CLEAR_XMIT_DISCARD_DETAILS:
		return attributes[attribute].select[0].known;
	case CLEAR_ATTRIBUTE_COUNT:
		break;
	}
	return 0;
}

static void put_number(uint8_t *bytes, unsigned size, uint64_t value)
{
	for (; size > 0; size--, value >>= 8)
		bytes[size - 1] = (uint8_t)value;
}

static uint64_t get_number(const uint8_t *bytes, unsigned size)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value = value << 8 | bytes[i];
	return value;
}

void clear_mad_init(uint8_t mad[MAD_SIZE], enum clear_attribute attribute, uint8_t port, uint64_t select, uint32_t tid)
{
	const struct select_field *field = attributes[attribute].select;
	uint8_t *data = mad + PMA_DATA_OFFSET;

	mad_init(mad, &(struct mad_header){ .mgmt_class = CLASS_PERFORMANCE, .method = METHOD_SET, .tid = tid,
					    .attribute = attributes[attribute].id });
	data[1] = port;
	put_number(data + field[0].byte, field[0].size, select);
	if (field[1].size)
		put_number(data + field[1].byte, field[1].size, select >> FIRST_OF_SELECT2);
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

/* One port, at least one known counter, and nothing else: a Set writes its whole content. */
static bool only_clears(const uint8_t mad[MAD_SIZE], const struct select_field select[2])
{
	uint8_t rest[PMA_DATA_SIZE];
	uint64_t selected = 0;

	memcpy(rest, mad + PMA_DATA_OFFSET, sizeof(rest));
	if (rest[1] == ALL_PORTS)
		return false;
	rest[1] = 0;
	for (unsigned i = 0; i < 2 && select[i].size; i++) {
		uint64_t bits = get_number(rest + select[i].byte, select[i].size);

		if (bits & ~select[i].known)
			return false;
		selected |= bits;
		memset(rest + select[i].byte, 0, select[i].size);
	}
	return selected && is_zero(rest, sizeof(rest));
}

bool mad_is_clear(const uint8_t mad[MAD_SIZE])
{
	struct mad_header header = mad_read_header(mad);

	/* Version 1; status, modifier and everything up to the attribute are zero in a request. */
	if (mad[0] != 1 || mad[2] != 1 || header.status || header.modifier || !is_zero(mad + 6, 6) ||
	    !is_zero(mad + 18, 2) || !is_zero(mad + 24, PMA_DATA_OFFSET - 24))
		return false;
	if (header.method == METHOD_GET)
		return is_zero(mad + PMA_DATA_OFFSET, PMA_DATA_SIZE) &&
		       ((header.mgmt_class == CLASS_SUBN_LID && header.attribute == SMP_NODE_INFO) ||
			(header.mgmt_class == CLASS_PERFORMANCE && header.attribute == PMA_CLASS_PORT_INFO));
	if (header.method != METHOD_SET || header.mgmt_class != CLASS_PERFORMANCE)
		return false;
	for (unsigned i = 0; i < CLEAR_ATTRIBUTE_COUNT; i++)
		if (header.attribute == attributes[i].id)
			return only_clears(mad, attributes[i].select);
	return false;
}
