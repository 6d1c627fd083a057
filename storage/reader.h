/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * reader.h - read access to the database, for commands and screens
 *
 * A reader needs no write access and never blocks the collector: each call is
 * one short read transaction.
 */
#ifndef IBWIRE_STORAGE_READER_H
#define IBWIRE_STORAGE_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/delta.h"
#include "analysis/event.h"
#include "analysis/status.h"
#include "fabric/fabric.h"

struct error;
struct fabric;
struct name_map;
struct reader;
struct pkeys;
struct routes;
struct stored_reading;
struct text;

/* The database of the service. */
#define STORAGE_SYSTEM_FOLDER "/var/lib/ibwire"
#define STORAGE_SYSTEM_PATH STORAGE_SYSTEM_FOLDER "/fabric.db"

/*
 * storage_default_path - the path of the database without --db
 * @for_writing:  for a collector
 * @ret:          at least 4096 bytes
 *
 * $IBWIRE_DB, else STORAGE_SYSTEM_PATH if it can be read (for writing: if it
 * or its folder can be written), else $XDG_STATE_HOME/ibwire/fabric.db (~/.local/state).
 * For writing, the last one's missing folders are made (mode 0700).
 * Return: 0, or ERR_IO if none of them can be determined.
 */
int storage_default_path(bool for_writing, char *ret, size_t size, struct error *err);

/* storage_schema_version - the version of databases that this program writes. */
int storage_schema_version(void);

/* reader_has_collector - is a collector of this database running? The file need not exist yet. */
bool reader_has_collector(const char *path);

/*
 * reader_open - open a database for reading
 * Return: 0; ERR_UNAVAILABLE if the file does not exist; ERR_IO if it cannot be read, is not a
 * database of ibwire, is damaged, or has another version. The text says what to do.
 */
int reader_open(const char *path, struct reader **ret, struct error *err);
void reader_close(struct reader *reader);

/*
 * reader_set_stop - let another thread end the queries of a reader
 * @stop:  once it is set, every call fails with ERR_IO, a running one within milliseconds; NULL: never. It must
 *         outlive the reader. saved_load_two() uses it for its second connection, too.
 */
void reader_set_stop(struct reader *reader, const atomic_bool *stop);

/* A stored sweep. Counts and times as in struct sweep. */
struct sweep_info {
	int64_t id; /* increases by one with each sweep; 0: none */
	int64_t wall_us;
	int64_t duration_us, interval_us, discovery_us;
	uint64_t discovery_smps;
	uint32_t ports_planned, ports_polled, ports_answered;
	uint64_t mads_sent, mads_timed_out, mads_retried;
	struct sm_state sm;
	/* -1: unknown, version 1 of the schema had none of these. */
	int64_t ports_unfinished, spread_us, node_spread_us;
};

struct db_status {
	bool live;            /* a collector holds the lock */
	int64_t collector_pid; /* 0: unknown */
	bool store_blocked;   /* another process holds a lock that keeps the collector from storing */
	int64_t blocker_pid;  /* its process id; 0: unknown */
	int schema_version;
	int64_t size_bytes;   /* file and WAL */
	int64_t log_bytes;    /* of them the WAL */
	char log_holders[128]; /* readers that block a large WAL: "process 4711 (less)"; "": none */
	int64_t sweeps;       /* number of sweeps with samples */
	int64_t first_wall_us, last_wall_us; /* of the oldest and newest of them; 0: none */
	struct sweep_info last;
	/* The newest stored discovery: time, duration, and SMPs sent. All 0: none. */
	int64_t discovery_wall_us, discovery_us;
	uint64_t discovery_smps;
};

/* reader_status - Return: 0 or ERR_IO. A database without a sweep is no error. */
int reader_status(struct reader *reader, struct db_status *ret, struct error *err);

/*
 * reader_status_at - the same with the last sweep and discovery at a time
 * @at_us:  wall clock; 0: now. The other members are always current
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
int reader_status_at(struct reader *reader, int64_t at_us, struct db_status *ret, struct error *err);

/* reader_settings - append the settings of the collector, of its newest start, to @ret; nothing if none are stored. */
int reader_settings(struct reader *reader, struct text *ret, struct error *err);

/* reader_newest - id of the newest sweep (0: none); cheap enough for polling. */
int reader_newest(struct reader *reader, int64_t *ret_id, struct error *err);

/*
 * reader_sweep_beside - the sweep @steps after (below 0: before) the newest one at a time
 * At most the first or the last sweep with samples.
 * @at_us:       wall clock; 0: now
 * @ret_wall_us: its wall clock
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
int reader_sweep_beside(struct reader *reader, int64_t at_us, int64_t steps, int64_t *ret_wall_us, struct error *err);

struct snapshot_query {
	int64_t at_us;     /* wall clock; 0: the newest sweep */
	int64_t window_us; /* sum of the deltas of sweeps in (at - window, at]; 0: that one sweep */
	bool absolute;     /* set port_row.reading too (requires a scan of recent deltas) */
	bool fabric_only;  /* only the fabric and the capabilities of its agents, no counters */
	const struct name_map *names; /* or NULL; unchanged while the reader is open */
};

/* A port at the time of the snapshot. */
struct port_row {
	enum sample_status status; /* in the snapshot's sweep */
	bool mirrored;             /* has no counters: last_wall_us and sum are derived from its peer */
	int64_t last_wall_us;      /* of its newest reading at or before the snapshot, by its clock; 0: never */
	struct delta sum;          /* over the window; elapsed_us 0: no delta in it */
	const struct reading *reading; /* absolute, with query.absolute; NULL: none is stored */
};

/* The fabric as it was at one time, and a row for each of its ports. */
struct snapshot {
	struct sweep_info sweep;
	int64_t before_us;     /* wall clock of the sweep before the window, where its deltas begin; 0: unknown */
	struct fabric *fabric; /* with the names of that time; shared by snapshots without a change in between */
	struct port_row *rows; /* parallel to fabric->ports; NULL with query.fabric_only */
	struct stored_reading *readings; /* that the rows point to */
	/* Parallel to fabric->nodes: last capabilities of the PMA; unknown if they were not queried. */
	struct pma_caps *caps;
	/* Packed samples of the window that cannot be unpacked and are left out. */
	size_t damaged;
	char damage[96];
};

/*
 * snapshot_load - the fabric and its counters at one time
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
int snapshot_load(struct reader *reader, const struct snapshot_query *query, struct snapshot **ret,
		  struct error *err);
void snapshot_destroy(struct snapshot *snapshot);

/*
 * snapshot_covered_us - the time that the sums of ports cover which were read in all of the window; 0: no port has one
 * That of a port that was not read before the window covers more.
 */
int64_t snapshot_covered_us(const struct snapshot *snapshot);

/*
 * reader_reading - the newest absolute values of a port at or before a time
 * @at_us:  wall clock; 0: the newest sweep
 * Return: 1; 0 without a stored reading; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
int reader_reading(struct reader *reader, int64_t at_us, uint64_t node_guid, uint8_t port, struct reading *ret,
		   struct error *err);

/*
 * reader_readings - the newest absolute values of all ports at or before a sweep
 * @sweep:  its id
 * @fabric: of the snapshot that was loaded last; for any other fabric, @each is not called
 * @each:   called with the index of a port in @fabric
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
typedef void reader_reading_fn(void *ctx, uint32_t port, const struct reading *reading);
int reader_readings(struct reader *reader, int64_t sweep, const struct fabric *fabric, reader_reading_fn *each,
		    void *ctx, struct error *err);

/*
 * reader_routes - the forwarding tables of the switches (fabric/routes.h) as known at a time
 * @at_us:  wall clock; 0: now
 * @ret:    overwritten; routes_done() frees it
 *
 * A switch whose table was not read by then has none. Tables of departed switches stay.
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
int reader_routes(struct reader *reader, int64_t at_us, struct routes *ret, struct error *err);

/*
 * reader_routes_before - the tables at the start of a window; of a block that was not known then, as first known in it
 * @since_us, @until_us: wall clock of the window
 * Return: as reader_routes(); ERR_UNAVAILABLE if no sweep is stored at or before its end.
 */
int reader_routes_before(struct reader *reader, int64_t since_us, int64_t until_us, struct routes *ret,
			 struct error *err);

/*
 * reader_pkeys - the P_Key tables (fabric/pkeys.h) as known at a time
 * @at_us:  wall clock; 0: now
 * @ret:    overwritten; pkeys_done() frees it
 *
 * A port whose table was not read by then has none. Tables of departed ports stay.
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
int reader_pkeys(struct reader *reader, int64_t at_us, struct pkeys *ret, struct error *err);

struct detail_query {
	int64_t at_us;      /* wall clock; 0: the newest sweep */
	int64_t window_us;  /* sum of the deltas read by sweeps in (at - window, at]; 0: that one sweep */
	uint64_t node_guid; /* 0: every node */
	int port;           /* of that node; -1: every port of it */
	uint32_t attributes; /* bits 1 << enum detail_attribute; 0: all */
	bool inside;        /* leave out deltas that began before at - window, by the wall clock */
};

/* One attribute of slow counters of one port. */
struct detail_row {
	uint64_t node_guid;
	uint8_t port;
	int64_t sweep, wall_us;        /* of the newest reading */
	struct detail_reading reading; /* the newest at or before that time; at_us is of its sweep's boot */
	/*
	 * Over the window; elapsed_us 0: no delta. A delta counts as a whole in the sweep that read it,
	 * and may begin before the window (elapsed_us).
	 */
	struct detail_delta sum;
};

/*
 * Sweeps before a time in the past that are searched for a reading, of a port that was read again later: with one
 * node also for attributes that are seldom read.
 */
#define DETAIL_LOOK_BACK_SWEEPS 240
#define DETAIL_LOOK_BACK_NODE_SWEEPS 1200

/*
 * reader_details - slow counters at one time and over a window before it
 * Calls @each for every port and attribute that was read at or before that time,
 * in order of node (as first seen), port and attribute, until it returns false.
 *
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
typedef bool reader_detail_fn(void *ctx, const struct detail_row *row);
int reader_details(struct reader *reader, const struct detail_query *query, reader_detail_fn *each, void *ctx,
		   struct error *err);

struct event_query {
	int64_t since_us, until_us; /* wall clock; 0: unbounded */
	const char *kind;           /* or NULL */
	uint64_t node_guid;         /* 0: any */
	int64_t before_id;          /* with a lower id, to continue after a limit; 0: any */
	int64_t after_id;           /* with a higher id, to continue with new ones */
	int limit;                  /* only the newest ones, in order of age; 0: all */
};

/* A stored event, with the names of its time. */
struct event_row {
	int64_t id;
	struct event event; /* kind is valid during the call only */
	const char *node, *peer; /* names or NULL (during the call) */
};

/* reader_events - call @each for events, oldest first, until it returns false. */
typedef bool reader_event_fn(void *ctx, const struct event_row *row);
int reader_events(struct reader *reader, const struct event_query *query, reader_event_fn *each, void *ctx,
		  struct error *err);

/* A cell of an SQL result. */
enum cell_type { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };
struct cell {
	enum cell_type type;
	int64_t integer;
	double real;
	const char *bytes; /* of TEXT (NUL-terminated, may be invalid UTF-8) and BLOB */
	size_t len;
};

/*
 * reader_sql - run one read-only SQL statement, in one read transaction
 * @timeout_us:  interrupt the statement after this time; 0: never
 * @header:  called once, with the columns' names, before the first row
 * @row:     called for each row until it returns false; must not block
 *
 * Return: 0; ERR_USAGE if the statement is wrong, writes, or is more than one; ERR_IO, also after the timeout.
 */
struct sql_consumer {
	bool (*header)(void *ctx, const char *const *names, int count);
	bool (*row)(void *ctx, const struct cell *cells, int count);
	void *ctx;
};
int reader_sql(struct reader *reader, const char *statement, int64_t timeout_us, const struct sql_consumer *consumer,
	       struct error *err);

/* A node that left the fabric. */
struct departed_node {
	uint64_t guid;
	const char *name; /* its last one (valid during the call) */
	int64_t seen_us;  /* wall clock of the last stored sweep with it; 0: none */
	int64_t departed_us;  /* of the first sweep without it */
};

/*
 * reader_departed_nodes - call @each for every node that left the fabric before a time
 * In order of first discovery, until @each returns false.
 * @at_us:  wall clock; 0: now
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before that time; ERR_IO.
 */
typedef bool reader_departed_fn(void *ctx, const struct departed_node *node);
int reader_departed_nodes(struct reader *reader, int64_t at_us, reader_departed_fn *each, void *ctx, struct error *err);

/* The last peer of a port. */
struct past_peer {
	uint64_t guid;
	uint8_t port;
	char name[NODE_NAME_SIZE]; /* last name of its node */
	int64_t until_us;          /* wall clock of the first sweep without the link; 0: it is connected */
};

/*
 * reader_last_peer - the last peer of a port, as known at a time
 * @at_us:  wall clock; 0: now
 * Return: 1; 0 if the port is unknown or never had a peer; ERR_UNAVAILABLE as above; ERR_IO.
 */
int reader_last_peer(struct reader *reader, uint64_t node_guid, uint8_t port, int64_t at_us, struct past_peer *ret,
		     struct error *err);

#endif
