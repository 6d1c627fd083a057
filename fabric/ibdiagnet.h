/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ibdiagnet.h - the files that ibdiagnet writes: cables, counters and temperatures of a fabric at one time
 *
 * Four files are read: .db_csv (sections of comma-separated rows: START_NAME, a line with the names of the columns,
 * rows, END_NAME), .cables and .pm (blocks of "Name: value" and "name=value" lines after a line
 * "Port=1 Lid=... GUID=..."), and .net_dump_ext (a table whose columns are separated by " : "). Columns are found by
 * their names, so that other versions are read as far as they have them. Rows that are not understood are counted.
 *
 * Sources: docs/cables.md, "The files".
 */
#ifndef IBWIRE_FABRIC_IBDIAGNET_H
#define IBWIRE_FABRIC_IBDIAGNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/firmware.h"

struct error;

/* What is read. Each is a section of the .db_csv, or a file of its own. */
enum ibdiagnet_section {
	IBDIAGNET_NODES,     /* NODES: the GUIDs of the fabric */
	IBDIAGNET_CABLES,    /* CABLE_INFO, .cables */
	IBDIAGNET_COUNTERS,  /* PM_INFO, .pm */
	IBDIAGNET_BER,       /* .net_dump_ext */
	IBDIAGNET_PLACES,    /* PORT_HIERARCHY_INFO */
	IBDIAGNET_SENSORS,   /* TEMP_SENSING: temperatures of devices */
	IBDIAGNET_FIRMWARE,  /* NODES_INFO */
	IBDIAGNET_SECTIONS,
};

/* ibdiagnet_section_name - "nodes", "cables", "counters", "ber", "places", "temperatures", "firmware". */
const char *ibdiagnet_section_name(enum ibdiagnet_section section);

/* Counters of a port as ibdiagnet read them. */
enum ibdiagnet_counter {
	IBDIAGNET_SYMBOL_ERRORS, IBDIAGNET_LINK_RECOVERIES, IBDIAGNET_LINK_DOWNED, IBDIAGNET_RECEIVE_ERRORS,
	IBDIAGNET_COUNTER_COUNT,
};

/* What is printed on a cable or transceiver, and in its memory. */
enum ibdiagnet_text {
	IBDIAGNET_SERIAL, IBDIAGNET_VENDOR, IBDIAGNET_PART, IBDIAGNET_REVISION, IBDIAGNET_LENGTH, IBDIAGNET_TYPE,
	IBDIAGNET_CABLE_FIRMWARE,
	IBDIAGNET_RX_POWER, IBDIAGNET_TX_POWER, IBDIAGNET_TX_BIAS, /* of each lane, as printed, separated by " | " */
	IBDIAGNET_TEXTS,
};

#define IBDIAGNET_TEXT_SIZE 128

struct ibdiagnet_port {
	uint64_t guid;      /* of its node; with @by_port_guid of the port, if no node has it */
	uint8_t port;
	bool by_port_guid;
	unsigned sections;  /* bits of enum ibdiagnet_section: those that have a row for it */
	char texts[IBDIAGNET_TEXTS][IBDIAGNET_TEXT_SIZE]; /* sanitised; "": unknown or not applicable */
	double temperature_c; /* NAN: unknown; so are the next three */
	double raw_ber, effective_ber, symbol_ber;
	uint64_t counters[IBDIAGNET_COUNTER_COUNT];
	unsigned counters_known; /* bits of enum ibdiagnet_counter */
	int cage, plane;    /* -1: unknown */
};

struct ibdiagnet_node {
	uint64_t guid;
	bool listed;        /* in the section NODES */
	double temperature_c; /* of the device; NAN: unknown */
	struct firmware firmware; /* without a time */
};

struct ibdiagnet_count {
	size_t rows;        /* that were understood */
	size_t unread;      /* that were not */
	size_t first_unread; /* line of the first of these; 0: none */
};

struct ibdiagnet {
	int64_t wall_us;    /* when ibdiagnet ran: its header, else the time of the file; 0: no file was read */
	bool has_header_time;
	char version[64];   /* "IBDIAGNET 2.10.0.MLNX20220721.cd746c3"; "": unknown */
	uint64_t digest;    /* of all bytes that were read */
	struct ibdiagnet_node *nodes;
	size_t node_count, node_capacity;
	struct map node_by_guid;
	struct ibdiagnet_port *ports;
	size_t port_count, port_capacity;
	struct map port_by_key;
	struct ibdiagnet_count counts[IBDIAGNET_SECTIONS];
	size_t other_sections; /* of the .db_csv, which are not used */
	size_t file_count;
};

/*
 * ibdiagnet_read - read a folder with files of ibdiagnet, or one of its files
 * @path:  of a folder: its ibdiagnet2.NAME files, or others with the same endings if there is one of each
 * @ret:   zeroed; ibdiagnet_done() frees it, on error too
 *
 * Return: 0; ERR_USAGE if there is no such file, if it is none of them, or cut; ERR_IO; ERR_NOMEM.
 */
int ibdiagnet_read(struct ibdiagnet *ret, const char *path, struct error *err);
void ibdiagnet_done(struct ibdiagnet *bundle);

/*
 * For the readers of files (fabric/ibdiagnet/):
 * ibdiagnet_port, ibdiagnet_node - the entry of a port or node, which is added. Return: NULL: no memory.
 */
struct ibdiagnet_port *ibdiagnet_port(struct ibdiagnet *bundle, uint64_t guid, uint8_t port, bool by_port_guid);
struct ibdiagnet_node *ibdiagnet_node(struct ibdiagnet *bundle, uint64_t guid);

#endif
