/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_monitor.h - the fabric as the collector knows it, and when to look again
 *
 * Discovery runs beside the sweeps. What it brings is not believed blindly: a
 * fabric that is much smaller than the last one is a suspicion until discovery
 * has said so several times in a row.
 */
#ifndef IBWIRE_COLLECTOR_TOPOLOGY_MONITOR_H
#define IBWIRE_COLLECTOR_TOPOLOGY_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/events.h"
#include "fabric/record.h"

struct clock;
struct error;
struct fabric;

/* How a discovery is made: a helper process, or a model of a fabric in a test. */
struct discoverer {
	/* Start one. Return: 0 or a negative error. Never called while one runs. */
	int (*start)(void *ctx, struct error *err);
	/*
	 * Wait at most @timeout_ms for it. Return: 0 it runs on; 1 it is done,
	 * *ret and *trailer are filled; negative: it failed.
	 */
	int (*step)(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
		    struct error *err);
	/* Give up the one that runs, if any, and what is left of one that is done. */
	void (*cancel)(void *ctx);
	void *ctx;
};

/* What speaks for a change of topology. */
enum topology_hint {
	TOPOLOGY_HINT_NONE,
	TOPOLOGY_HINT_UNKNOWN_PEER, /* behind a port with a link is nobody known: who hung when we looked may be back */
	TOPOLOGY_HINT_STATE_CHANGE,   /* PortStateChange: some switch's stays set for ever */
	TOPOLOGY_HINT_DIFFERENCE, /* something is not as it was */
	TOPOLOGY_HINT_COUNT,
};

struct topology_monitor {
	const struct discoverer *discoverer;
	const struct clock *clock;
	struct fabric *fabric;   /* the one in force, NULL before the first */
	bool confirmed;          /* the last discovery found `fabric`, and nothing since makes it doubtful */
	uint64_t generation;     /* rises when `fabric` is replaced */
	bool running;
	int64_t started_us;
	int64_t next_us;         /* when to discover again, boottime */
	int64_t interval_us;     /* between discoveries where nothing changes */
	unsigned suspicious_in_a_row;
	size_t unknown_peers;        /* ports of `fabric` with a link to nobody known */
	enum topology_hint pending_hint;   /* the strongest sign of a change since the last discovery began */
	enum topology_hint current_hint;     /* and the one that this discovery follows */
	unsigned failed_in_a_row;
	unsigned busy_in_a_row;      /* discoveries that each began within twice TOPOLOGY_BUSY_US of the one before */
	unsigned unchanged_in_a_row[TOPOLOGY_HINT_COUNT]; /* discoveries after such a hint without a change */
	/* Of the discovery that has just ended; took_us 0: taken note of. */
	int64_t took_us;
	uint64_t smps;
	uint64_t lost;           /* questions that the last discovery got no answer to */
};

/*
 * How soon after one discovery a sign of change may start another; doubled with
 * each that fails or finds nothing new, so that a sign that does not go away costs
 * little. A hint that does not go away does not delay what follows a change.
 */
#define TOPOLOGY_CHANGE_INTERVAL_US (5 * 1000000LL)

/*
 * A link that flaps for hours is a change each time. After so many discoveries in close
 * succession they are so far apart.
 */
#define TOPOLOGY_BUSY_REPEATS 6
#define TOPOLOGY_BUSY_US (30 * 1000000LL)

/*
 * A discovery that finds less than this share of the nodes, or nodes without the
 * description or the LID that they had, has to repeat it so often to be believed.
 */
#define TOPOLOGY_SHRUNK_PERCENT 75
#define TOPOLOGY_SUSPICIOUS_REPEATS 3

/*
 * topology_monitor_init - nothing is known yet
 * topology_monitor_done() is to be called in the end.
 */
void topology_monitor_init(struct topology_monitor *monitor, const struct discoverer *discoverer,
			   const struct clock *clock, int64_t interval_us);
void topology_monitor_done(struct topology_monitor *monitor);

/*
 * topology_monitor_start - start the first discovery already, while others do what needs no fabric
 * Where it cannot be started, topology_monitor_step() tries again, and tells.
 */
void topology_monitor_start(struct topology_monitor *monitor);

/* topology_monitor_restore - take over the fabric that was last known, or NULL; before the first step. */
void topology_monitor_restore(struct topology_monitor *monitor, struct fabric *fabric);

/* topology_monitor_reap - a discovery that is done has left nothing behind after this. */
void topology_monitor_reap(struct topology_monitor *monitor);

/* topology_monitor_rediscover - there is a sign of a change: look again soon. */
void topology_monitor_rediscover(struct topology_monitor *monitor, enum topology_hint sign);

/* topology_monitor_invalidate - the fabric in force is wrong in something: LIDs are another node's. Look again soon. */
void topology_monitor_invalidate(struct topology_monitor *monitor);

/*
 * topology_monitor_step - start a discovery when its time has come, and take what it brought
 * @timeout_ms:  how long to wait for one that runs
 * @events:      failures, and what changed
 *
 * Return: 1 where a new fabric is in force; 0 where nothing changed, also
 * where a discovery failed while there is a fabric; negative where it failed and
 * there is none.
 */
int topology_monitor_step(struct topology_monitor *monitor, unsigned timeout_ms, struct events *events,
			  struct error *err);

#endif
