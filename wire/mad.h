/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mad.h - MAD header, and the list of MADs that may be sent
 *
 * Source: IBA Vol 1, 13.4.2 (MAD base format); libibmad fields.c for offsets.
 */
#ifndef IBWIRE_WIRE_MAD_H
#define IBWIRE_WIRE_MAD_H

#include <stdbool.h>
#include <stdint.h>

struct path;

#define MAD_SIZE 256

/* The permissive LID, destination of directed SMPs. */
#define LID_PERMISSIVE 0xffff

/* Management classes and methods in use. */
enum { CLASS_SUBN_LID = 0x01, CLASS_SUBN_DIRECTED = 0x81, CLASS_PERFORMANCE = 0x04, CLASS_VENDOR_MLNX = 0x0a };
enum { METHOD_GET = 0x01, METHOD_GET_RESPONSE = 0x81 };

/* Attributes of the classes. */
enum {
	SMP_NODE_DESCRIPTION = 0x10,
	SMP_NODE_INFO = 0x11,
	SMP_SWITCH_INFO = 0x12,
	SMP_PORT_INFO = 0x15,
	SMP_PKEY_TABLE = 0x16,
	SMP_LINEAR_FORWARDING_TABLE = 0x19,
	SMP_SM_INFO = 0x20,
	SMP_PORT_INFO_EXTENDED = 0x33,
	SMP_MLNX_ADAPTIVE_ROUTING_INFO = 0xff20, /* vendor-specific, of switches; see smp_read_adaptive_routing() */
	SMP_MLNX_EXTENDED_PORT_INFO = 0xff90, /* vendor-specific; the only source for FDR10 */
	PMA_CLASS_PORT_INFO = 0x01,
	PMA_PORT_SAMPLES_CONTROL = 0x10,
	PMA_PORT_COUNTERS = 0x12,
	PMA_PORT_RCV_ERROR_DETAILS = 0x15,
	PMA_PORT_XMIT_DISCARD_DETAILS = 0x16,
	PMA_PORT_OP_RCV = 0x17,
	PMA_PORT_FLOW_CTL = 0x18,
	PMA_PORT_VL_OP_PACKETS = 0x19,
	PMA_PORT_VL_OP_DATA = 0x1a,
	PMA_PORT_VL_FLOW_CTL_ERRORS = 0x1b,
	PMA_PORT_VL_XMIT_WAIT = 0x1c,
	PMA_PORT_COUNTERS_EXTENDED = 0x1d,
	PMA_PORT_EXTENDED_SPEEDS = 0x1f,
	PMA_SW_PORT_VL_CONGESTION = 0x30,
	PMA_PORT_RCV_CON_CTRL = 0x31,
	PMA_PORT_SL_RCV_FECN = 0x32,
	PMA_PORT_SL_RCV_BECN = 0x33,
	PMA_PORT_XMIT_CON_CTRL = 0x34,
	PMA_PORT_VL_XMIT_TIME_CONG = 0x35,
	PMA_PORT_XMIT_DATA_SL = 0x36,
	PMA_PORT_RCV_DATA_SL = 0x37,
	PMA_PORT_XMIT_DATA_SL_EXT = 0x38, /* of NVIDIA, as the next one. Source: its ibis, ibis_types.h */
	PMA_PORT_RCV_DATA_SL_EXT = 0x39,
	MLNX_GENERAL_INFO = 0x17, /* of the vendor class; see general_info_read() */
};

/* Offset of the attribute in a MAD. Source: IBA Vol 1, 14.2.1 (SMP) and 16.1.1 (performance). */
enum { SMP_DATA_OFFSET = 64, SMP_DATA_SIZE = 64, PMA_DATA_OFFSET = 64, PMA_DATA_SIZE = 192 };

/*
 * Destination of a MAD. With only a LID it is the standard agent of a node: queue pair 1 with its
 * well-known key, at the service level of the device (wire/hca.h). Others come from a redirection
 * (wire/pma.h).
 */
struct mad_address {
	uint16_t lid;
	uint8_t sl;
	uint32_t qp;         /* 0: queue pair 1 */
	uint32_t qkey;       /* 0: the well-known key of queue pair 1 */
};

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

/*
 * mad_put_mkey - set the M_Key of an SMP or the PM_Key of a performance MAD
 * Source: IBA Vol 1, 14.2.1.1: bytes 24 to 31; for the PM_Key NVIDIA's ibis/packets/packets_layouts.h, struct
 * MAD_PerformanceManagement.
 */
void mad_put_mkey(uint8_t mad[MAD_SIZE], uint64_t mkey);

/*
 * mad_put_path - send an SMP of CLASS_SUBN_DIRECTED along a path all the way
 * @path:  hops is not PATH_NONE
 * Source: IBA Vol 1, 14.2.1.2 (SMP format, directed route): HopPointer and HopCount bytes 6 and 7, DrSLID and DrDLID
 * 32 and 34 (permissive: no part by LID), InitialPath from byte 128, its first byte unused.
 */
void mad_put_path(uint8_t mad[MAD_SIZE], const struct path *path);

/* mad_is_smp - an SMP, LID-routed or directed. */
bool mad_is_smp(const uint8_t mad[MAD_SIZE]);

/* mad_read_header - header of a received MAD. */
struct mad_header mad_read_header(const uint8_t mad[MAD_SIZE]);

/*
 * mad_is_allowed - this MAD may be sent: a Get of an attribute on the list
 *
 * The transport checks every MAD with this gate. ibwire reads and never writes; `ibwire clear` is a
 * process with a gate of its own (wire/clear_mad.h).
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
