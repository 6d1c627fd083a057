/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_monitor.h - the current topology, and when to discover it again
 *
 * Discovery runs in parallel to the sweeps. The whole fabric is discovered at the start, periodically,
 * and after an indication that names no port, e.g. LIDs that moved. Ports that have changed are
 * explored by themselves (wire/explore.h): a host that reboots costs 9 to 18 SMPs. If that is not
 * possible, the whole fabric is discovered at once. A result that is much smaller than the current
 * topology is accepted only after several consecutive discoveries have found the same. A topology that is read
 * from a file is accepted as it is, and read again only when the file has changed.
 */
#ifndef IBWIRE_COLLECTOR_TOPOLOGY_MONITOR_H
#define IBWIRE_COLLECTOR_TOPOLOGY_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/events.h"
#include "wire/explore.h"

struct clock;
struct discoverer;
struct fabric;

/* Indications of a topology change. */
enum topology_hint {
	TOPOLOGY_HINT_NONE,
	TOPOLOGY_HINT_UNKNOWN_PEER, /* a port has a link, but its peer is unknown: it may respond now */
	TOPOLOGY_HINT_STATE_CHANGE,   /* PortStateChange, which remains set forever on some switches */
	TOPOLOGY_HINT_DIFFERENCE, /* something differs from the topology */
	TOPOLOGY_HINT_COUNT,
};

struct topology_monitor {
	const struct discoverer *discoverer;
	const struct clock *clock;
	struct fabric *fabric;   /* current topology, NULL before the first discovery */
	bool confirmed;          /* by the last discovery, and not in doubt since */
	uint64_t generation;     /* incremented when `fabric` is replaced */
	bool running;
	int64_t started_us;
	int64_t next_us;         /* CLOCK_BOOTTIME of the next discovery */
	int64_t whole_us;        /* CLOCK_BOOTTIME of the next one of the whole fabric, without a hint */
	int64_t interval_us;     /* between discoveries without a hint */
	bool whole;              /* a hint requires the whole fabric */
	bool part;               /* the running or last discovery is of ports only */
	struct explore_port changed[EXPLORE_PORTS_MAX]; /* to be explored next */
	size_t changed_count;
	struct explore_port explored[EXPLORE_PORTS_MAX]; /* since the last discovery of the whole fabric */
	size_t explored_count;
	struct error difference; /* between the engines, as last reported */
	unsigned suspicious_in_a_row;
	size_t unknown_peers;        /* ports of `fabric` with a link to an unknown peer */
	enum topology_hint pending_hint;   /* strongest hint since the last discovery began */
	enum topology_hint current_hint;     /* the hint that caused the current discovery */
	unsigned failed_in_a_row;
	unsigned busy_in_a_row;      /* discoveries that began within twice TOPOLOGY_BUSY_US of the one before */
	unsigned unchanged_in_a_row[TOPOLOGY_HINT_COUNT]; /* discoveries after such a hint without a change */
	/* Of the last discovery; took_us 0: already recorded. */
	int64_t took_us;
	uint64_t smps;
	uint64_t lost;           /* requests of the last discovery without a response */
};

/*
 * Shortest time between discoveries that hints cause. It doubles with each discovery that fails or
 * finds no change, for each kind of hint, so that a persistent hint costs little and does not delay
 * other hints.
 */
#define TOPOLOGY_CHANGE_INTERVAL_US (5 * 1000000LL)

/*
 * After this number of discoveries in close succession they are this far apart, except that of a port that none
 * of them explored: the links of one host flap, and those of another go down when it is switched off.
 */
#define TOPOLOGY_BUSY_REPEATS 6
#define TOPOLOGY_BUSY_US (30 * 1000000LL)

/*
 * A discovery that finds less than this share of the nodes, nodes that lost their description or
 * LID, or fewer nodes or ports after it lost requests, is accepted after this number of consecutive
 * ones.
 */
#define TOPOLOGY_SHRUNK_PERCENT 75
#define TOPOLOGY_SUSPICIOUS_REPEATS 3

/* topology_monitor_init - initialise without a topology; pair with topology_monitor_done() */
void topology_monitor_init(struct topology_monitor *monitor, const struct discoverer *discoverer,
			   const struct clock *clock, int64_t interval_us);
void topology_monitor_done(struct topology_monitor *monitor);

/*
 * topology_monitor_start - start the first discovery early, in parallel to other initialisation
 * If it cannot be started, topology_monitor_step() retries and reports the error.
 */
void topology_monitor_start(struct topology_monitor *monitor);

/* topology_monitor_restore - take the stored topology, or NULL; before the first step. */
void topology_monitor_restore(struct topology_monitor *monitor, struct fabric *fabric);

/* topology_monitor_reap - free what remains of a finished discovery; read the topology's file soon if it changed. */
void topology_monitor_reap(struct topology_monitor *monitor);

/* topology_monitor_explore - a change of a port was indicated: explore it soon. Number 0: of a switch. */
void topology_monitor_explore(struct topology_monitor *monitor, enum topology_hint hint, uint64_t node_guid,
			      uint8_t num);

/* topology_monitor_rediscover - a change was indicated: discover the whole fabric again soon. */
void topology_monitor_rediscover(struct topology_monitor *monitor, enum topology_hint hint);

/* topology_monitor_invalidate - the topology is wrong, e.g. LIDs moved: discover again soon. */
void topology_monitor_invalidate(struct topology_monitor *monitor);

/*
 * topology_monitor_step - start a discovery when it is due, and adopt its result
 * @timeout_ms:  longest wait for a running discovery
 * @events:      failures and changes
 *
 * Return: 1 if the topology was replaced; 0 if not, also after a failed discovery while there is a
 * topology; negative if it failed and there is none.
 */
int topology_monitor_step(struct topology_monitor *monitor, unsigned timeout_ms, struct events *events,
			  struct error *err);

#endif
