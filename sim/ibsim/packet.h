/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * packet.h - the datagrams of ibsim. Source: ibsim.h (struct sim_request, sim_ctl, sim_client_info).
 * MADs, LIDs (16 bits in a word of 32 bits) and queue pairs are big-endian, other members in host order.
 */
#ifndef IBWIRE_SIM_PACKET_H
#define IBWIRE_SIM_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_MAD_SIZE 256
#define PACKET_MAD_DATA 64 /* offset of the attribute */
#define PACKET_MAD_DATA_SIZE (PACKET_MAD_SIZE - PACKET_MAD_DATA)

#define IBSIM_CLIENTS 10 /* slots: maximum number of clients */

struct packet {
	uint32_t dlid, slid;
	uint32_t dqp, sqp;
	uint32_t status;
	uint64_t length;
	uint8_t mad[PACKET_MAD_SIZE];
};

#define CTL_MAGIC 0xdeadbeef
#define CTL_DATA_SIZE 64
#define NODE_ID_SIZE 32

enum ctl_type { CTL_ERROR, CTL_CONNECT, CTL_DISCONNECT };

struct ctl_message {
	uint32_t magic;
	uint32_t client;
	uint32_t type;
	uint32_t len;
	char data[CTL_DATA_SIZE];
};

struct ctl_connect {
	uint32_t id; /* request: the client's process id; response: its slot */
	uint32_t qp;
	uint32_t is_sm;
	char node[NODE_ID_SIZE];
};

/* Status of a packet that timed out: ETIMEDOUT, big-endian. */
#define PACKET_TIMED_OUT 110

/* Byte offsets in the MAD header. Source: IBA Vol 1, 13.4.2 and 14.2.1.2 (as in libibmad fields.c). */
enum {
	MAD_BASE_VERSION = 0, MAD_CLASS = 1, MAD_CLASS_VERSION = 2, MAD_METHOD = 3, MAD_STATUS = 4, MAD_HOP_COUNT = 7,
	MAD_TID = 8, MAD_ATTRIBUTE = 16, MAD_MODIFIER = 20, MAD_INITIAL_PATH = 128,
};
enum {
	CLASS_SUBN_LID = 0x01, CLASS_SUBN_ADM = 0x03, CLASS_PERFORMANCE = 0x04, CLASS_VENDOR_MLNX = 0x0a,
	CLASS_SUBN_DIRECTED = 0x81,
};
enum { SMP_PORT_INFO = 0x15 };
enum { METHOD_GET = 0x01, METHOD_SET = 0x02, METHOD_RESPONSE = 0x80, METHOD_GET_RESPONSE = 0x81 };

/* Unaligned big-endian numbers. */
static inline uint16_t load_be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t load_be32(const uint8_t *bytes)
{
	return (uint32_t)load_be16(bytes) << 16 | load_be16(bytes + 2);
}

static inline uint64_t load_be64(const uint8_t *bytes)
{
	return (uint64_t)load_be32(bytes) << 32 | load_be32(bytes + 4);
}

static inline void store_be16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static inline void store_be32(uint8_t *bytes, uint32_t value)
{
	store_be16(bytes, (uint16_t)(value >> 16));
	store_be16(bytes + 2, (uint16_t)value);
}

static inline void store_be64(uint8_t *bytes, uint64_t value)
{
	store_be32(bytes, (uint32_t)(value >> 32));
	store_be32(bytes + 4, (uint32_t)value);
}

static inline bool packet_is_smp(const uint8_t *mad)
{
	return mad[MAD_CLASS] == CLASS_SUBN_LID || mad[MAD_CLASS] == CLASS_SUBN_DIRECTED;
}

/* PortInfo without an error. Attribute 0x15 of performance MADs is PortRcvErrorDetails. */
static inline bool packet_is_port_info(const uint8_t *mad)
{
	return packet_is_smp(mad) && load_be16(mad + MAD_ATTRIBUTE) == SMP_PORT_INFO &&
	       !(load_be16(mad + MAD_STATUS) & 0x7fff);
}

#endif
