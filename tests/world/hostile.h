/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile.h - disturbances of all kinds, at random times and together, on the fabric of lab.h
 *
 * Rounds of hostile sweeps each end with quiet ones. In each sweep every stored delta is compared
 * with the counters of its port, and each open finding must be the consequence of a disturbance; some
 * disturbances must be reported. At the end of a round all ports respond, the topology is complete, and
 * no finding is open.
 *
 * Not tested are responses that no receiver can recognize: with wrong data and the transaction ID
 * of a request in flight (payload_test.c), and redirections to agents of other nodes.
 */
#ifndef IBWIRE_TESTS_WORLD_HOSTILE_H
#define IBWIRE_TESTS_WORLD_HOSTILE_H

#include "analysis/finding.h"
#include "base/map.h"
#include "tests/world/lab.h"

/* Sweeps of a round, and the quiet ones at its end. */
enum { ROUND = 450, QUIET = 180 };

/*
 * Sweeps after a disturbance in which its findings may be open: three intervals of discoveries, because
 * other disturbances may hide its end from two of them.
 */
enum { GRACE = 180 };

/* Sweeps after which two nodes that had one GUID are compared again: those of a discovery interval. */
enum { GUID_AMBIGUOUS = 75 };

enum { DISTURBANCES = 35, ACTIVE_MAX = 6, PENDING_MAX = 16, HEAPS_MAX = 4096 };

#define BIT(kind) (UINT64_C(1) << FINDING_##kind)

enum wire_kind {
	NO_WIRE, GARBAGE, DUPLICATES, LATE, FOREIGN, DAMAGED, WRONG_STATUS, WRONG_PORT, LOSS, SILENCE, REORDER,
	WIRE_KINDS,
};

/* At most one disturbance of a group is active; of the wire any number. */
enum group { OF_WIRE, OF_NODES, OF_CABLES, OF_LIDS, OF_SM, OF_STORE };
enum target { ANY_NODE, ANY_HOST, ANY_SWITCH, UPLINK, HOST_LINK };

struct hostile;
struct active;

struct disturbance {
	const char *name;
	enum group group;
	enum target target;
	unsigned longest; /* sweeps */
	void (*set)(struct hostile *hostile, struct active *active, bool on);
	uint64_t findings; /* kinds that it justifies, of the nodes that it concerns */
	uint64_t required; /* kinds of which one must be open while it lasts, or in ONCE: at some time; 0: none */
	unsigned detected; /* sweeps, without a disturbance that hides it, after which it must be; 0: DETECTED */
	void (*step)(struct hostile *hostile, struct active *active); /* before each sweep; or NULL */
	enum wire_kind wire;
	bool wide; /* it concerns all nodes, and hides other disturbances */
	bool pair; /* the peer is another host */
};

struct active {
	const struct disturbance *what; /* NULL: unused */
	size_t node, peer;
	unsigned num;
	uint64_t since, until, visible;
	bool reported;     /* a required finding was open */
	bool unverifiable; /* another disturbance concerns its place, or removed nodes, or has left such a finding */
};

/* A wire of the collector or of the explorer. */
struct wire {
	struct hostile *hostile;
	struct transport inner;
	struct { enum transport_event event; uint8_t mad[MAD_SIZE]; } pending[PENDING_MAX];
	size_t pending_count;
};

struct hostile {
	struct lab *lab;
	uint64_t random, sweep;
	uint64_t undisturbed_sweeps; /* without a disturbance that hides others: the clock of `allowed` */
	int64_t next_us;   /* the next sweep of the schedule */
	struct wire sweeps_wire, explorer_wire;
	struct sink lab_sink;
	bool wire_on[WIRE_KINDS];
	struct active active[ACTIVE_MAX];
	size_t next_required;
	uint64_t begun[DISTURBANCES], verified[DISTURBANCES]; /* verified: a required finding was reported in time */
	uint64_t allowed[LAB_NODES + 1][FINDING_KIND_COUNT]; /* in undisturbed_sweeps */
	uint64_t guid_ambiguous[LAB_NODES];                  /* until this sweep */
	uint64_t unknown[LAB_NODES];                         /* may not be in the topology, until this sweep */
	bool cleared[LAB_NODES][LAB_SWITCH_PORTS + 1], was_up[LAB_NODES][LAB_SWITCH_PORTS + 1];
	uint64_t deltas, findings_seen, events, late;
	bool late_reported; /* of consecutive late sweeps */
	size_t heaps[HEAPS_MAX], heap_count;
	int64_t last_start_us;
	int64_t last_event_us;  /* wall clock */
	bool trace, week; /* week: it is stored (hostile_week.c) */
};

/* The one that runs, for callbacks of the lab. */
extern struct hostile *hostile;

static inline uint64_t random_below(struct hostile *h, uint64_t most)
{
	return (h->random = map_mix(h->random + 0x9e3779b97f4a7c15ULL)) % most;
}

static inline bool chance(struct hostile *h, unsigned percent)
{
	return random_below(h, 100) < percent;
}

/* hostile_wire.c: disturb what the collector and the explorer receive */
void hostile_wrap_wires(struct hostile *h);
void hostile_set_wire(struct hostile *h, struct active *active, bool on);

/* hostile_disturbances.c; the last one begins only at the end of a round. hostile_clear - reset a port externally */
extern const struct disturbance hostile_disturbances[DISTURBANCES];
void hostile_clear(struct hostile *h, size_t node, unsigned num);

/* hostile_schedule.c: to be called before each sweep; and the findings of one are justified for some sweeps */
void hostile_before_sweep(struct lab *lab);
/*
 * hostile_is_equal - does a counter of a host begin at 0 and count no errors? Otherwise, after two hosts had
 * one GUID, its finding would be open for hours.
 */
bool hostile_is_equal(size_t node, enum counter counter);
void hostile_justify(struct hostile *h, const struct active *active);
void hostile_print(uint64_t sweep, const struct active *active, const char *what);

/* hostile_check.c: a store that fails the test if a delta, a finding or the pace is wrong; the heap in quiet sweeps */
int hostile_store(void *ctx, const struct sweep *sweep, struct error *err);
void hostile_check_heap(const struct hostile *h);

/*
 * hostile_week.c: sweeps are also stored in the database `path`, from hostile_week_open() until
 * hostile_week_close(), which compares all sums; hostile_week_check_days() those of the days that have
 * ended, while their samples are stored.
 */
void hostile_week_begin(struct hostile *h);
void hostile_week_open(struct hostile *h);
void hostile_week_store(const struct sweep *sweep);
void hostile_week_check_days(void);
void hostile_week_close(struct hostile *h);
uint64_t hostile_week_sums(void); /* compared until now */

#endif
