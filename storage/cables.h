/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cables.h - cables and transceivers, by serial number, as imports of ibdiagnet's files have them
 *
 * A cable is known to be in a port from the first import that has it there to the last one. When it was moved is
 * between that and the next import with another one; facts/cable_history.h narrows it down by the times at which the
 * link was down.
 */
#ifndef IBWIRE_STORAGE_CABLES_H
#define IBWIRE_STORAGE_CABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/ibdiagnet.h"

struct error;
struct reader;
struct saved_writer;

/* Result of an import. */
struct cables_imported {
	bool known;          /* the same files were imported before; nothing was changed */
	int64_t known_us;    /* with it: when, wall clock */
	int64_t wall_us;     /* time of the import */
	size_t nodes, nodes_known; /* of the bundle; of them in the database */
	size_t cables;       /* ends with a serial number */
	size_t appeared, moved; /* serial numbers that are new; ends with another cable than in the last import */
	size_t unresolved;   /* ports of the bundle whose node is unknown, which are not stored */
};

/* Degrees Celsius: a hotter transceiver is a finding. Source: docs/cables.md, "Temperatures". */
#define CABLE_HOT_C 70.0

/* Imports whose readings are stored; those of older ones are removed. */
#define CABLES_READINGS_KEPT 400

/* Below this share of known nodes, a bundle is that of another fabric. */
#define CABLES_KNOWN_LEAST 0.5

/*
 * cables_import - store a bundle
 * @source:   what it was read from, as typed
 * @wall_us:  when ibdiagnet ran
 * @now_us:   this moment
 *
 * One transaction. A port that the bundle does not have keeps its cable: not every run of ibdiagnet reads all ports.
 * Return: 0; ERR_USAGE, and nothing is stored, if it is of another fabric, older than the newest import, in the
 * future, or if the database has no fabric yet; ERR_IO.
 */
int cables_import(struct saved_writer *writer, const struct ibdiagnet *bundle, const char *source, int64_t wall_us,
		  int64_t now_us, struct cables_imported *ret, struct error *err);

/* A cable or transceiver in a port. */
struct cable_place {
	uint64_t node_guid;
	uint8_t port;
	char texts[IBDIAGNET_CABLE_FIRMWARE + 1][IBDIAGNET_TEXT_SIZE]; /* by enum ibdiagnet_text; "": unknown */
	int cage, plane;     /* -1: unknown */
	int64_t from_us, last_us; /* wall clock of the first and the last import with it there */
	int64_t to_us;       /* of the first one with another cable; 0: none */
};

struct cable_query {
	const char *serial;  /* or NULL: any */
	uint64_t node_guid;  /* 0: any node */
	int port;            /* with it; -1: any */
	int64_t since_us, until_us; /* wall clock of imports; 0: no limit */
};

/*
 * reader_cables - call @each for the places of cables, by the time of the first import, until it returns false
 * Those that overlap the window.
 * Return: 0 or ERR_IO.
 */
typedef bool cable_place_fn(void *ctx, const struct cable_place *place);
int reader_cables(struct reader *reader, const struct cable_query *query, cable_place_fn *each, void *ctx,
		  struct error *err);

/* What an import has of a port. */
struct cable_reading {
	uint64_t node_guid;
	uint8_t port;
	int64_t wall_us;     /* of the import */
	char serial[IBDIAGNET_TEXT_SIZE]; /* of the cable in it; "": unknown */
	double temperature_c; /* NAN: unknown; likewise the next ones */
	double raw_ber, effective_ber, symbol_ber;
	char texts[3][IBDIAGNET_TEXT_SIZE]; /* IBDIAGNET_RX_POWER to IBDIAGNET_TX_BIAS; "": unknown */
	uint64_t counters[IBDIAGNET_COUNTER_COUNT];
	unsigned counters_known; /* bits of enum ibdiagnet_counter */
};

/* reader_cable_readings - call @each for readings, by time, until it returns false. Return: 0 or ERR_IO. */
typedef bool cable_reading_fn(void *ctx, const struct cable_reading *reading);
int reader_cable_readings(struct reader *reader, const struct cable_query *query, cable_reading_fn *each, void *ctx,
			  struct error *err);

/*
 * reader_node_temperature - call @found for the temperature of a device in its newest import until a time, if any
 * @until_us:  wall clock; 0: no limit
 * Return: 0 or ERR_IO.
 */
typedef void node_temperature_fn(void *ctx, int64_t wall_us, double temperature_c);
int reader_node_temperature(struct reader *reader, uint64_t node_guid, int64_t until_us, node_temperature_fn *found,
			    void *ctx, struct error *err);

/* Whether a port had a link, and with which peer. */
struct port_link {
	int64_t from_us, to_us; /* wall clock; to_us 0: still so */
	bool active;
	uint64_t peer_guid;  /* 0: none */
	uint8_t peer_port;
};

/*
 * reader_port_links - call @each for the states of a port, by time, until it returns false
 * Return: 0, also for an unknown port; ERR_IO.
 */
typedef bool port_link_fn(void *ctx, const struct port_link *link);
int reader_port_links(struct reader *reader, uint64_t node_guid, uint8_t port, port_link_fn *each, void *ctx,
		      struct error *err);

#endif
