/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance.h - is load spread as it could be over ports that can stand in for each other
 *
 * A random placement of flows is uneven by itself, so a spread alone says
 * little. Three tests are made of each group (fabric/shape.h) and direction:
 *
 * T  the tables are uneven: a member has, relative to its capacity, more than 1.25 times the mean number of
 *    destinations and at least 2 more than the mean
 * M  the measured load is uneven: (max - mean) / mean > 20 %
 * H  it hurts: the hottest member is at 70 % or more, or stalls for 5 % and 3 times its siblings' median, or
 *    discards, while a sibling carries less than half of what it carries
 *
 * All of it is relative to capacity: a member with half the rate is full with half the load. T counts
 * every destination of any class, busy or not: what a few storage servers draw at a checkpoint
 * makes M and H, never T, and so never a cause of routing by itself.
 *
 * A cause of routing is found where the decision is made: in the XMIT result of the switch whose table
 * it is. The RCV results of others show the same bytes again, and have no such cause.
 *
 * Pure: a window of sums in, a judgement out. What needs several windows (the
 * same member hottest again and again) is kept in struct balance_memory.
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_H
#define IBWIRE_ANALYSIS_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct routes;
struct shape;
struct shape_settings;

/* Limits; each is a setting. balance_settings_default() fills in the values beside them here. */
struct balance_settings {
	double table_ratio;        /* T: 1.25 times the mean */
	double table_more;         /* T: and so many destinations more than the mean: 2 */
	double measured_excess;    /* M: 0.20 */
	double harm_utilization;   /* H: 0.70 of capacity */
	double harm_stall;         /* H: 0.05 */
	double harm_stall_ratio;   /* H: 3 times the siblings' median */
	double harm_sibling;       /* H: a sibling below so much of the hottest: 0.5 */
	double active_mean;        /* a window is active: group's mean 0.05 of capacity */
	double active_member;      /* or a member 0.20 */
	double spread;             /* a window is skipped where reading times differ by more of it than this: 0.05 */
	double coverage;           /* members with a reading, below that a group is unknown: 0.95 */
	unsigned windows, windows_same; /* flows: hottest in 8 of 10 active windows; at most BALANCE_WINDOWS_MOST */
	double flows_percentile;   /* beyond that of a random placement: 0.999 */
};
#define BALANCE_WINDOWS_MOST 32
void balance_settings_default(struct balance_settings *ret);

/* What a port did in the window. By port of the fabric. */
struct balance_load {
	bool known;               /* read at both ends of the window */
	double elapsed_us;
	double xmit_bytes, rcv_bytes;
	double stall;             /* 0..1 of the time, an estimate; NAN: not known */
	double xmit_discards;     /* NAN: not known */
};

struct delta;
struct node;
struct pma_caps;
struct port;

/*
 * balance_load_of - a port's load from what it counted
 * Not known where data counters were not read, were reset in between, or are full.
 * @caps:  of its node, for the stall; NULL: not known
 */
void balance_load_of(const struct delta *delta, const struct node *node, const struct port *port,
		     const struct pma_caps *caps, struct balance_load *ret);

enum balance_direction { BALANCE_XMIT, BALANCE_RCV }; /* as the group's switch sees it: out of these ports, into them */
enum balance_adaptive { ADAPTIVE_UNKNOWN, ADAPTIVE_OFF, ADAPTIVE_ON };
enum balance_state { BALANCE_UNKNOWN, BALANCE_IDLE, BALANCE_ACTIVE };

enum balance_cause {
	BALANCE_NONE,            /* nothing to tell */
	BALANCE_MISSING_MEMBER,  /* fewer members work than were built */
	BALANCE_DEGRADED_MEMBER, /* a member is narrower or slower than its siblings */
	BALANCE_ROUTING,         /* T and M, the hottest is one that the tables overload */
	BALANCE_FLOWS,           /* M and H over many windows with even tables: collisions */
	BALANCE_NOT_FOLLOWING,   /* its peers spread what it does not (adaptive routing) */
	BALANCE_CAUSE_COUNT,
};

struct balance_member {
	uint32_t port;            /* index into the fabric's ports */
	bool works;               /* Active */
	bool known;               /* was read */
	double capacity;          /* share of the group's capacity, 0..1; 0 where it does not work */
	double measured;          /* share of the group's bytes, 0..1; NAN: not known, or nothing moved */
	double predicted;         /* share that the routes give it, weighted with what destinations received; NAN */
	double destinations;      /* share of the table's destinations; NAN: tables unknown */
	uint32_t lids;            /* the same as a number */
	double lids_mean;         /* what it would be by its capacity; of what comes in: among links from one switch */
	double utilization;       /* 0..1 of its own capacity; NAN */
	double stall;             /* 0..1; NAN */
	double xmit_discards;     /* NAN */
};

struct balance_result {
	uint32_t group;           /* index into the shape's groups */
	enum balance_direction direction;
	enum balance_state state;
	enum balance_adaptive adaptive; /* of the switch whose tables decide: for RCV of uplinks those above */
	bool t, m, h;             /* which tests hold */
	bool t_known, predicted_known;
	uint32_t hottest;         /* index into members, or UINT32_MAX */
	double excess;            /* (max - mean) / mean of load relative to capacity; NAN */
	double table_excess;      /* the same of destinations; NAN */
	double mean_utilization, max_utilization; /* NAN */
	/* How many flows of equal size the load is at least (balance_flows.h); NAN: not known, or neither t nor m. */
	double flows;
	double chance_excess;     /* an excess that is no chance with so many flows; INFINITY; NAN where flows is */
	enum balance_cause cause; /* of this window alone */
	struct balance_member *members; /* count of the group */
};

struct balance {
	struct balance_result *results; /* two for each group: XMIT, RCV */
	size_t count;
	struct balance_member *members; /* owned: all of them */
};

struct balance_input {
	const struct shape *shape;
	const struct routes *routes;       /* or NULL: not known */
	const struct balance_load *loads;  /* by port */
	const uint8_t *adaptive;           /* by node, enum balance_adaptive as set by a person; or NULL */
	double window_us;                  /* its length */
};

/*
 * balance_adaptive_create - what a person says of each switch: enum balance_adaptive by node
 * @settings:  or NULL
 * @ret:       for free(); NULL where nothing is said of any
 * Return: 0 or ERR_NOMEM.
 */
int balance_adaptive_create(const struct shape_settings *settings, const struct fabric *fabric, uint8_t **ret,
			    struct error *err);

/*
 * balance_window_us - how long a window is that people look at: a minute, and three sweeps at least
 * @interval_us:  between sweeps
 */
int64_t balance_window_us(int64_t interval_us);

/*
 * balance_port_rate - what a port sent or received, by its own reading or by that of the other end of its link
 * Return: bytes per us, or NAN.
 */
double balance_port_rate(const struct balance_input *input, uint32_t port, bool xmit);

/*
 * balance_judge - all groups in one window
 * @ret:  balance_done() frees it
 * Return: 0 or ERR_NOMEM.
 */
int balance_judge(const struct balance_input *input, const struct balance_settings *settings, struct balance *ret,
		  struct error *err);
void balance_done(struct balance *balance);

/*
 * balance_measure - one group and direction in one window, without tables: state, M, H, hottest, utilization
 * For who looks at a few groups in many windows.
 * @members:  count of the group
 * @ret:      its members are @members
 */
void balance_measure(const struct balance_input *input, const struct balance_settings *settings, uint32_t group,
		     enum balance_direction direction, struct balance_member *members, struct balance_result *ret);

/* balance_follows - does the load go where uneven tables lead it: T and M, the hottest being one that they overload? */
bool balance_follows(const struct balance_result *result, const struct balance_settings *settings);

/*
 * balance_decides - is adaptive routing on where a result's load was sent on its way: at its own switch (XMIT),
 * at the other end (RCV), for RCV of uplinks at all of the switches above
 * @by_node:  enum balance_adaptive by node
 * Return: UNKNOWN also where they differ.
 */
enum balance_adaptive balance_decides(const struct shape *shape, const struct balance_result *result,
				      const uint8_t *by_node);

/*
 * What several windows say. One for each result that was active once; keyed by the
 * switch's GUID, the group and the direction, so that it outlives a topology.
 */
struct balance_memory;
struct balance_memory *balance_memory_create(void); /* NULL: no memory */
void balance_memory_destroy(struct balance_memory *memory);

/*
 * balance_memory_step - add a window; changes results[].cause to what several windows say (FLOWS, NOT_FOLLOWING)
 * and .adaptive to what was inferred: traffic that spreads evenly over uneven tables means on.
 * Windows that are not active neither count nor reset. Where adaptive routing is on, ROUTING goes.
 *
 * A load that a routing fault elsewhere sends through a spine makes the links below it uneven
 * too: those get no FLOWS.
 * Return: 0 or ERR_NOMEM.
 */
int balance_memory_step(struct balance_memory *memory, const struct shape *shape,
			const struct balance_settings *settings, struct balance *balance, struct error *err);

/* Words: "routing", "on", "xmit". */
const char *balance_cause_name(enum balance_cause cause);
const char *balance_adaptive_name(enum balance_adaptive adaptive);

#endif
