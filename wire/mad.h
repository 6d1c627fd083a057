/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mad.h - the common header of management datagrams, and what may be sent
 *
 * Source: IBA Vol 1, 13.4.2 (MAD base format); libibmad fields.c for offsets.
 */
#ifndef IBWIRE_WIRE_MAD_H
#define IBWIRE_WIRE_MAD_H

#include <stdbool.h>
#include <stdint.h>

#define MAD_SIZE 256

/* Management classes and methods that we use. */
enum { CLASS_SUBN_LID = 0x01, CLASS_PERFORMANCE = 0x04 };
enum { METHOD_GET = 0x01, METHOD_GET_RESPONSE = 0x81 };

/* Attributes of the two classes. */
enum {
	SMP_NODE_DESCRIPTION = 0x10,
	SMP_NODE_INFO = 0x11,
	SMP_SWITCH_INFO = 0x12,
	SMP_PORT_INFO = 0x15,
	SMP_LINEAR_FORWARDING_TABLE = 0x19,
	SMP_SM_INFO = 0x20,
	PMA_CLASS_PORT_INFO = 0x01,
	PMA_PORT_COUNTERS = 0x12,
	PMA_PORT_COUNTERS_EXTENDED = 0x1d,
};

/* Where an attribute begins in a MAD of a class. Source: IBA Vol 1, 14.2.1 (SMP) and 16.1.1 (performance). */
enum { SMP_DATA_OFFSET = 64, SMP_DATA_SIZE = 64, PMA_DATA_OFFSET = 64, PMA_DATA_SIZE = 192 };

/* Header fields, in host order. */
struct mad_header {
	uint8_t mgmt_class;
	uint8_t method;
	uint16_t status;
	uint32_t tid; /* the lower 32 bits: the kernel owns the upper ones */
	uint16_t attribute;
	uint32_t modifier;
};

/* mad_init - a zeroed MAD with a Get's header; the version is that of its class. */
void mad_init(uint8_t mad[MAD_SIZE], const struct mad_header *header);

/* mad_read_header - the header of a MAD that came. */
struct mad_header mad_read_header(const uint8_t mad[MAD_SIZE]);

/*
 * mad_is_allowed - may this MAD be sent: is it a Get of an attribute on the list?
 *
 * The gate to the fabric: the transport asks it for each MAD. ibwire reads and
 * never writes; `ibwire clear` is a process with a gate of its own (wire/clear_mad.h).
 */
bool mad_is_allowed(const uint8_t mad[MAD_SIZE]);

/* Big-endian numbers at any address. */
uint16_t get_be16(const uint8_t *bytes);
uint32_t get_be32(const uint8_t *bytes);
uint64_t get_be64(const uint8_t *bytes);
void put_be16(uint8_t *bytes, uint16_t value);
void put_be32(uint8_t *bytes, uint32_t value);
void put_be64(uint8_t *bytes, uint64_t value);

#endif
