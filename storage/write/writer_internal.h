/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer_internal.h - the writer and its cache (private to storage/)
 *
 * The cache holds the newest rows of the database. A store() changes it while its transaction runs;
 * if the transaction fails, the cache is discarded and loaded again before the next one. So it never
 * differs from the file.
 */
#ifndef IBWIRE_STORAGE_WRITER_INTERNAL_H
#define IBWIRE_STORAGE_WRITER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/map.h"
#include "collector/sink.h"
#include "fabric/detail.h"
#include "fabric/fabric.h"
#include "storage/codec/codec.h"
#include "storage/file/lock.h"
#include "storage/file/schema.h"
#include "storage/read/readings.h"
#include "storage/read/topology.h"
#include "storage/writer.h"

struct compactor;
struct error;

struct known_node {
	uint64_t guid;
	int64_t from_sweep; /* of its open version; 0: not in the fabric */
	uint64_t stamp;     /* of the last topology that contains it */
	bool is_free;       /* no row uses its id */
	struct node now;    /* its open version */
	char name[NODE_NAME_SIZE];
};

struct known_port {
	uint32_t node;      /* id */
	uint8_t num;
	bool pollable;      /* it should have samples, or had some */
	int64_t from_sweep; /* of its open version; 0: not in the fabric */
	uint64_t stamp;
	bool is_free;
	struct port now;    /* its open version; node and peer are not used */
	uint32_t peer;      /* id; 0: none */
	int64_t gap_from;  /* of its open gap; 0: none */
	int gap_why;
	int64_t detail_sweep[DETAIL_ATTRIBUTE_COUNT]; /* last reading of slow counters since the database was opened */
	struct stored_reading last;
};

/* Nodes and ports by id; entry 0 is not used. */
struct writer_cache {
	struct known_node *nodes;
	size_t node_count, node_capacity; /* including entry 0 */
	struct known_port *ports;
	size_t port_count, port_capacity;
	struct map by_guid, by_port; /* ids by GUID, and by node * 256 + number */
	uint64_t stamp;         /* incremented with each topology */
	int64_t sweep;          /* the newest; 0: none */
	int64_t loaded_sweep;   /* the newest when the cache was loaded */
	struct topology loaded; /* as of loaded_sweep; empty after restore() */
	int64_t sweep_wall_us, sweep_start_us;
	int64_t topology;       /* sweep.topology */
	uint32_t from_node;     /* id */
	uint8_t from_port;
	int64_t boot;           /* boot.id; 0: none */
	char boot_id[BOOT_ID_SIZE];
	int64_t new_ids_us;     /* meta.new_ids_us */
	/* Ids that no row uses, as of the first sweeps of windows and hours at that time; 0: not searched yet. */
	uint32_t *free_nodes, *free_ports;
	size_t free_node_count, free_port_count;
	int64_t free_from_window, free_from_hour;
};

/* writer_cache_load - load everything. @ret is unchanged on error. writer_cache_done() frees it. */
int writer_cache_load(sqlite3 *db, struct writer_cache *ret, struct error *err);
void writer_cache_done(struct writer_cache *cache);

/* writer_cache_find_node, writer_cache_find_port - Return: the id; 0: unknown. */
uint32_t writer_cache_find_node(const struct writer_cache *cache, uint64_t guid);
uint32_t writer_cache_find_port(const struct writer_cache *cache, uint32_t node, uint8_t num);

/*
 * writer_cache_set_node, writer_cache_set_port - give an id to another node or port
 * @id:  a known one, or the next one
 * Return: 0 or ERR_NOMEM.
 */
int writer_cache_set_node(struct writer_cache *cache, uint32_t id, uint64_t guid, struct error *err);
int writer_cache_set_port(struct writer_cache *cache, uint32_t id, uint32_t node, uint8_t num, struct error *err);

enum writer_statement {
	WRITE_NODE, WRITE_PORT, WRITE_NEW_IDS, WRITE_BOOT, FIND_BOOT, WRITE_SWEEP,
	OPEN_NODE_VERSION, CLOSE_NODE_VERSION,
	OPEN_PORT_VERSION, CLOSE_PORT_VERSION, OPEN_ROUTE_VERSION, CLOSE_ROUTE_VERSION,
	OPEN_PKEY_VERSION, CLOSE_PKEY_VERSION, OPEN_GAP, CLOSE_GAP,
	WRITE_HOT, WRITE_ERROR, WRITE_ABSOLUTE, WRITE_DETAIL, WRITE_DETAIL_VALUE, WRITE_DETAIL_LAST, WRITE_CAPS,
	WRITE_CONTRADICTED,
	REMOVE_EVENTS, FIND_OTHER_COMMITS, FIND_FIRMWARE, FIND_JOBS, FIND_IMPORT,
	FIND_CABLES, WRITE_SETTINGS, WRITE_EVENT, OPEN_FINDING,
	CLOSE_FINDING, WRITE_FINDING_STATE, WRITE_JOB_MINUTE,
	WRITER_STATEMENT_COUNT,
};

/* An open finding of the database. */
struct stored_finding {
	int64_t id;
	enum finding_kind kind;
	uint64_t node_guid;
	uint8_t port, tag;
	enum finding_severity severity;
	char cause[32];
	enum finding_phase phase; /* as stored */
	int64_t last_seen_us;
	int64_t state_us;      /* CLOCK_BOOTTIME when its severity, its cause or its phase changed */
	int64_t compared_us;   /* when its strings were last compared with the newest rows; 0: in a previous run */
	int64_t state_sweep;   /* finding_state.from_sweep of its newest complete row; 0: of a previous run */
	uint64_t state_hash, text_hash; /* of that row, and of the newest one */
	double peak;           /* largest magnitude (finding_magnitude()); NaN: none */
	double peak_stored;    /* the same in its newest row */
	int64_t peak_us;       /* wall clock when it was measured */
	int64_t origin;        /* id of the finding that explains it; 0: none, or of a previous run */
	bool seen;             /* in the sweep that is being stored */
};

struct stored_findings {
	bool loaded;
	struct stored_finding *list;
	size_t count, capacity;
};

struct writer {
	char *path;
	struct db_lock lock;
	sqlite3 *db;
	struct db_files files;  /* that db has open */
	bool ended;             /* no further sweep can be stored by this process */
	bool unsafe;            /* with that: the log must not be copied into the file */
	sqlite3_stmt *statements[WRITER_STATEMENT_COUNT];
	struct writer_cache cache;
	bool stale;             /* the cache has to be loaded again */
	bool distrusted;        /* a write or flush failed, or pages are damaged: recover the log first */
	bool recovered;         /* that was done since the last stored sweep */
	int64_t firmware_version; /* the same when imported firmware was read */
	int64_t firmware_id;    /* the newest row of it that was read or written */
	struct node_firmware *imported; /* of the last call of imported_firmware() */
	int64_t cables_version; /* likewise of imported cables */
	int64_t cables_import;  /* import.id of these */
	struct health_cable *cables; /* of the last call of imported_cables() */
	size_t cable_count;
	int64_t jobs_version;   /* data_version of db when running jobs were read; 0: read them again */
	bool jobs_stored;       /* this process has changed jobs since then */
	int64_t stored_sweep;   /* the newest that this process found or stored; -1: not read yet */
	/* The fabric whose generation was stored last; ids of its ports by index, 0: left out. */
	bool generation_known;
	uint64_t generation;
	uint32_t *port_ids;
	size_t port_id_count;
	size_t ids_most; /* HISTORY_PORTS - 1; tests have fewer */
	/* Nodes of it that are not stored completely, the first of them, and when they are tried again (boot time). */
	size_t left_out;
	char left_out_first[SINK_HOLDERS_SIZE];
	int64_t left_out_until_us;
	/* While a sweep is stored: its samples by port id, its packed blocks and their ends. */
	const struct port_sample **samples;
	struct bytes packed;
	size_t *block_ends;
	struct stored_findings findings;
	struct sink sink;
	/* Compacts in a thread; NULL before the first sweep, and if it cannot be started. */
	struct compactor *compactor;
	unsigned compactor_pause;     /* sweeps until the next attempt */
	bool compactor_fail_reported; /* an event reports that it cannot be started */
	struct writer_retention retention;
	char *settings;               /* of the collector, or NULL */
	bool settings_stored;
	int log_frames; /* pages in the log after the newest commit */
};

/* writer_prepare - compile all statements. Return: 0 or an error. writer_unprepare() frees them. */
int writer_prepare(struct writer *writer, struct error *err);
void writer_unprepare(struct writer *writer);

/*
 * writer_refresh - check that the file is the one that was opened; load the cache if it is stale
 * Return: 0 or an error; writer->ended is set if no later call can succeed.
 */
int writer_refresh(struct writer *writer, struct error *err);

/* writer_imported_cables - of struct sink */
const struct health_cable *writer_imported_cables(void *ctx, size_t *ret_count);

/* writer_running_jobs - running_jobs() of struct sink. */
bool writer_running_jobs(void *ctx, struct running_jobs *jobs);

/* writer_store_detected - store_detected() of struct sink, in a transaction of the caller (writer_jobs.c) */
int writer_store_detected(struct writer *writer, struct detected_record *list, size_t count, struct error *err);

/* writer_store_firmware, writer_imported_firmware - of struct sink; the former in a transaction of the caller */
int writer_store_firmware(struct writer *writer, const struct node_firmware *list, size_t count, struct error *err);
const struct node_firmware *writer_imported_firmware(void *ctx, size_t *ret_count);

/* writer_restore - restore() of struct sink; @ctx is the writer. */
int writer_restore(void *ctx, struct restored *ret, struct error *err);

/* writer_node_id - the id of a node's GUID, a new one if it is unknown; 0: it is left out. Or a negative error. */
int64_t writer_node_id(struct writer *writer, uint64_t guid, struct error *err);

/* writer_follow_clock - the credit for new ids neither increases nor decreases when the wall clock is set */
int writer_follow_clock(struct writer *writer, const struct sweep *sweep, struct error *err);

/*
 * writer_identify - find the id of every node and port of sweep->fabric, and assign new ones (writer_identity.c)
 * Sets writer->port_ids and the stamps of known nodes and ports. Nodes that get no id are left out.
 */
int writer_identify(struct writer *writer, const struct sweep *sweep, struct error *err);

/*
 * writer_store_topology - store what has changed in sweep->fabric as new versions from sweep @id on
 * Sets writer->port_ids. @ret_changed: has anything changed?
 */
int writer_store_topology(struct writer *writer, const struct sweep *sweep, int64_t id, bool *ret_changed,
			  struct error *err);

/*
 * The next functions store a part of sweep @id. The topology is to be stored before.
 *
 * writer_store_sweep    - its row, and that of its boot if it is new
 * writer_store_samples  - deltas, gaps and absolute readings
 * writer_store_details  - readings of slow counters
 * writer_store_routes   - changed blocks of forwarding tables (routes.c)
 * writer_store_pkeys    - changed P_Key tables (pkeys.c)
 * writer_store_findings - findings that opened, changed or closed
 */
int writer_store_sweep(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);
int writer_store_samples(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);
int writer_store_details(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);
int writer_store_routes(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);
int writer_store_pkeys(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);
int writer_store_findings(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);
int writer_store_job_minutes(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);

/* writer_store_events - store events with sweep @id. */
int writer_store_events(struct writer *writer, const struct event *events, size_t count, int64_t id,
			struct error *err);

/* writer_store_caps - store the capabilities of performance agents. */
int writer_store_caps(struct writer *writer, const struct restored_caps *caps, size_t count, struct error *err);

/* writer_store_last - store the last reading of every port that is not stored as it is. */
int writer_store_last(struct writer *writer, struct error *err);

void stored_findings_done(struct stored_findings *findings);

#endif
