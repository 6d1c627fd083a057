/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_internal.h - the writer's inside, shared by its files */
#ifndef IBWIRE_STORAGE_WRITER_INTERNAL_H
#define IBWIRE_STORAGE_WRITER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "collector/sink.h"
#include "storage/codec/codec.h"
#include "storage/file/lock.h"
#include "storage/file/schema.h"
#include "storage/write/writer_cache.h"
#include "storage/file/wal.h"
#include "storage/writer.h"

struct compactor;
struct error;

enum writer_statement {
	WRITE_NODE,
	WRITE_PORT,
	WRITE_BOOT,
	FIND_BOOT,
	WRITE_SWEEP,
	OPEN_NODE_VERSION,
	CLOSE_NODE_VERSION,
	OPEN_PORT_VERSION,
	CLOSE_PORT_VERSION,
	OPEN_ROUTE_VERSION,
	CLOSE_ROUTE_VERSION,
	OPEN_SPAN,
	CLOSE_SPAN,
	WRITE_HOT,
	WRITE_ERROR,
	WRITE_ABSOLUTE,
	WRITE_DETAIL,
	WRITE_DETAIL_VALUE,
	WRITE_DETAIL_LAST,
	WRITE_CAPS,
	REMOVE_EVENTS,
	WRITE_EVENT,
	OPEN_FINDING,
	SEE_FINDING,
	CLOSE_FINDING,
	WRITE_FINDING_STATE,
	WRITER_STATEMENT_COUNT,
};

/* A finding that is open in the database. */
struct stored_finding {
	int64_t id;
	enum finding_kind kind;
	uint64_t node_guid;
	uint8_t port, tag;
	enum finding_severity severity;
	char cause[32];
	int64_t last_seen_us;  /* as it was told last */
	int64_t refreshed_us;  /* wall clock of the sweep that wrote it last; 0: an earlier run */
	int64_t state_sweep;   /* finding_state.from_sweep of its newest */
	bool seen;             /* in the sweep that is stored */
};

struct stored_findings {
	bool loaded;
	struct stored_finding *list;
	size_t count, capacity;
};

struct writer {
	char *path;
	struct db_lock lock;
	bool lock_told;         /* an event names the reader that is in its way */
	sqlite3 *db;
	struct wal wal;         /* of db */
	uint64_t device, inode; /* of the file that db is */
	struct log_files log;   /* that db has open */
	bool log_removed;       /* and was saved: an event has to say so */
	sqlite3_stmt *statements[WRITER_STATEMENT_COUNT];
	struct writer_cache cache;
	bool stale;             /* state is not what the file says: load it again */
	bool distrusted;        /* a flush failed, or pages are damaged: recover before anything else */
	int64_t committed_sweep; /* the newest that this process committed; 0: none */
	bool diverged;          /* once the database did not hold exactly that one as its newest */
	bool resync_routes;     /* all forwarding tables are to be stored: the last sweeps' may be lost */
	int64_t lost_until;     /* the newest sweep that is lost, until an event says so; 0: none */
	/* The fabric whose generation was stored last; its ports' ids by index. */
	bool generation_known;
	uint64_t generation;
	uint32_t *port_ids;
	size_t port_id_count;
	/* Of the sweep that is stored, by port id, in whole blocks; and a block packed. */
	struct codec_sample *samples; /* none is there between sweeps, unless one failed */
	bool *sampled;          /* had a sample, with a delta or without */
	size_t sample_count;
	bool samples_left;      /* a sweep failed */
	struct bytes packed;
	struct stored_findings findings;
	struct sink sink;
	int64_t commit_us;
	/* Compacts beside the sweeps; NULL until the first sweep, and where it cannot be started. */
	struct compactor *compactor;
	unsigned compactor_pause; /* sweeps until it is tried again */
	bool compactor_told;      /* an event says that it cannot be started */
	struct writer_retention retention;
	int log_frames; /* pages in the log after the newest commit */
};

/* writer_prepare - all statements of an opened database. Return: 0 or an error. writer_unprepare() ends them. */
int writer_prepare(struct writer *writer, struct error *err);
void writer_unprepare(struct writer *writer);

/* writer_refresh - the file is still there, and state is what it says (loaded again after a failure). */
int writer_refresh(struct writer *writer, struct error *err);

/* writer_restore - struct sink's restore(); @ctx is the writer. */
int writer_restore(void *ctx, struct restored *ret, struct error *err);

/* writer_node_id - the id of a node's GUID, a new one where it was never seen. Or a negative error. */
int64_t writer_node_id(struct writer *writer, uint64_t guid, struct error *err);

/*
 * writer_store_topology - what is different in @fabric becomes new versions from sweep @sweep on
 * Fills writer->port_ids. @ret_changed: was anything different
 */
int writer_store_topology(struct writer *writer, const struct fabric *fabric, int64_t sweep, bool *ret_changed,
			  struct error *err);

/* writer_store_sweep - the row of a sweep, and of its boot where that is a new one; the topology is stored. */
int writer_store_sweep(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);

/* writer_store_events - @id: of the sweep that they go with. */
int writer_store_events(struct writer *writer, const struct event *events, size_t count, int64_t id,
			struct error *err);

/* writer_store_caps - what nodes' performance agents said that they can do. */
int writer_store_caps(struct writer *writer, const struct restored_caps *caps, size_t count, struct error *err);

/* writer_store_samples - deltas, spans and absolute readings of a sweep; port_ids are filled. */
int writer_store_samples(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);

/* writer_store_last - store the last reading of every port that is not stored as it is. */
int writer_store_last(struct writer *writer, struct error *err);

/* writer_store_details - slow counters that a sweep read; port_ids are filled. */
int writer_store_details(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);

/* writer_store_routes - blocks of forwarding tables that changed (routes.c). */
int writer_store_routes(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);

/* writer_restore_details - fill restored.details with the newest reading of each port and attribute. */
int writer_restore_details(const struct writer *writer, struct restored *ret, struct error *err);

/* writer_store_findings - what opened, changed or closed with a sweep. */
int writer_store_findings(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err);

/* writer_restore_findings - fill restored.findings with those that are open. */
int writer_restore_findings(const struct writer *writer, struct restored *ret, struct error *err);

void stored_findings_done(struct stored_findings *findings);

#endif
