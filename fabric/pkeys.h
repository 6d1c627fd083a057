/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pkeys.h - the P_Key tables of ports: which partitions a port is a member of
 *
 * A P_Key has 15 bits that identify the partition (its base) and one that says whether the port is a full or a limited
 * member. Two ports can communicate in a partition if both are members and at least one of them is a full one.
 * Tables are kept by node GUID and port number, so they persist across topologies.
 * Source: IBA Vol 1, 10.9.1 and 10.9.2.
 */
#ifndef IBWIRE_FABRIC_PKEYS_H
#define IBWIRE_FABRIC_PKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct error;
struct fabric;
struct text;

/* Bits of a P_Key, and the default partition with full membership. */
enum { PKEY_FULL = 0x8000, PKEY_BASE = 0x7fff, PKEY_DEFAULT = 0xffff };

/* Entries of one P_KeyTable attribute. Source: IBA Vol 1, 14.2.5.7. */
#define PKEYS_BLOCK 32

/* PortInfo.PartitionEnforcementOutbound and Inbound: a switch port drops packets of partitions that it is not in. */
enum pkey_enforcement { PKEYS_OUTBOUND = 1 << 0, PKEYS_INBOUND = 1 << 1 };

/* The table of an HCA port, or of a switch port that enforces it. */
struct pkey_table {
	uint64_t node_guid;
	uint8_t port;
	uint8_t enforcement;  /* of a switch port: bits of enum pkey_enforcement */
	bool known;           /* it was read */
	uint16_t count;       /* entries up to the last one in use */
	uint32_t next;        /* index + 1 of the node's next table */
	uint16_t *keys;       /* 0: an entry without a partition */
};

/* A zeroed struct is empty; pkeys_done() frees it. */
struct pkeys {
	struct pkey_table *tables;
	size_t count, capacity;
	struct map by_guid; /* first table of a node */
};

void pkeys_done(struct pkeys *pkeys);

/* pkeys_slot - the index of the table of a port, which is added if it is new. Return: or ERR_NOMEM. */
int64_t pkeys_slot(struct pkeys *pkeys, uint64_t node_guid, uint8_t port, struct error *err);

/*
 * pkeys_set - set the table of a port
 * @keys:  @count entries; zeros at the end are left out
 * Return: whether it is new or has changed; ERR_NOMEM.
 */
int pkeys_set(struct pkeys *pkeys, uint64_t node_guid, uint8_t port, const uint16_t *keys, size_t count,
	      uint8_t enforcement, struct error *err);

/* pkeys_find - the table of a port; NULL: it was not read. */
const struct pkey_table *pkeys_find(const struct pkeys *pkeys, uint64_t node_guid, uint8_t port);

/* pkeys_of - the same for a port of a fabric, by index. @pkeys: or NULL */
const struct pkey_table *pkeys_of(const struct pkeys *pkeys, const struct fabric *fabric, uint32_t port);

/* pkey_member - the P_Key by which a port is a member of a partition, the full one if it has both; 0: it is not one. */
uint16_t pkey_member(const struct pkey_table *table, uint16_t base);

/* pkeys_talk - can the two ports communicate? @ret_limited: if not, do they share partitions as limited members? */
bool pkeys_talk(const struct pkey_table *a, const struct pkey_table *b, bool *ret_limited);

/*
 * pkeys_lacking - the first P_Key of an HCA port that the switch port at the other end of its link would drop
 * @enforcing:  table of the switch port
 * Return: the P_Key of the HCA port; 0: none.
 */
uint16_t pkeys_lacking(const struct pkey_table *table, const struct pkey_table *enforcing);

/* pkeys_is_member_port - can the port be a member: of an HCA or a router, not of a SHARP aggregation node? */
bool pkeys_is_member_port(const struct fabric *fabric, uint32_t port);

/* pkeys_text - "0x7fff 0x8012 0x8013", the limited members' keys without PKEY_FULL; "none". @most: keys; 0: all */
void pkeys_text(struct text *text, const struct pkey_table *table, unsigned most);

/* A partition and its members among the HCA ports of a fabric. */
struct partition {
	uint16_t base;
	uint32_t full, limited; /* ports */
};

/*
 * pkeys_partitions - the partitions that ports of a fabric are members of, by base
 * @ret:        for free(); never NULL
 * @ret_known:  ports that can be members and whose tables were read; and all of those, or NULL
 * Return: their number, or ERR_NOMEM.
 */
int64_t pkeys_partitions(const struct pkeys *pkeys, const struct fabric *fabric, struct partition **ret,
			 uint32_t *ret_known, uint32_t *ret_ports, struct error *err);

#endif
