/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance.h - is load evenly distributed across equivalent ports (docs/balance.md)
 *
 * Three tests for each group of ports (fabric/shape.h) and direction, relative to capacity:
 *
 * T  tables: a member has more than 1.25 times the mean number of destinations, and at least 2 more
 * M  measured load: (max - mean) / mean > 20 %
 * H  harm: the hottest member is at 70 % or more, or stalls for 5 % and 3 times the median of its
 *    siblings, or discards, while a sibling carries less than half of its load
 *
 * T counts all destinations, busy or not: the traffic to a few storage servers at a checkpoint
 * causes M and H, never T. A cause of routing is assigned to the XMIT result of the switch that has
 * the table; RCV results of other switches show the same bytes again.
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_H
#define IBWIRE_ANALYSIS_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measure.h"
#include "fabric/fabric.h"

struct delta;
struct error;
struct pma_caps;
struct routes;
struct shape;
struct shape_host;
struct shape_settings;
struct text;

/* Thresholds; each is a setting. The comments give the defaults of balance_settings_default(). */
struct balance_settings {
	int64_t window_us;         /* see balance_window_us(): 60 s */
	double table_ratio;        /* T: 1.25 times the mean */
	double table_more;         /* T: minimum number of destinations above the mean: 2 */
	double measured_excess;    /* M: 0.20 */
	double harm_utilization;   /* H: 0.70 of capacity */
	double harm_stall;         /* H: 0.05 */
	double harm_stall_ratio;   /* H: 3 times the siblings' median */
	double harm_sibling;       /* H: a sibling below this share of the hottest: 0.5 */
	double active_mean;        /* a window is active if the mean is 0.05 of capacity */
	double active_member;      /* or a member 0.20 */
	double spread;             /* maximum difference of reading times, as a share of the window: 0.05 */
	double coverage;           /* minimum share of members with a reading: 0.95 */
	unsigned windows, windows_same; /* flows: hottest in 8 of 10 active windows; at most BALANCE_WINDOWS_MOST */
	double flows_percentile;   /* flows: excess above this percentile of random placement: 0.999 */
};
#define BALANCE_WINDOWS_MOST 32
void balance_settings_default(struct balance_settings *ret);

/* The load of a port in the window. */
struct balance_load {
	bool known;               /* read at both ends of the window */
	double elapsed_us;
	double xmit_bytes, rcv_bytes;
	double stall;             /* 0..1 of the time, an estimate; NAN: not known */
	double xmit_discards;     /* NAN: not known */
	bool stall_at_least, discards_at_least; /* lower bounds */
};

/*
 * balance_load_of - the load of a port from its counters
 * Unknown if data counters were not read, were reset, or are saturated.
 * @caps:  of its node, for the stall; NULL: unknown
 */
void balance_load_of(const struct delta *delta, const struct node *node, const struct port *port,
		     const struct pma_caps *caps, struct balance_load *ret);

enum balance_direction { BALANCE_XMIT, BALANCE_RCV }; /* sent or received by the ports of the group */
enum balance_state { BALANCE_UNKNOWN, BALANCE_IDLE, BALANCE_ACTIVE };

enum balance_cause {
	BALANCE_NONE,            /* not reported */
	BALANCE_MISSING_MEMBER,  /* fewer members are up than were built */
	BALANCE_DEGRADED_MEMBER, /* a member is narrower or slower than its siblings */
	BALANCE_ROUTING,         /* T and M, and the tables overload the hottest member */
	BALANCE_FLOWS,           /* M and H over many windows with even tables: flows collide */
	BALANCE_NOT_FOLLOWING,   /* its peers route adaptively, and it does not */
	BALANCE_CAUSE_COUNT,
};

struct balance_member {
	uint32_t port;            /* index into the fabric's ports */
	bool works;               /* Active */
	bool known;               /* was read */
	double capacity;          /* share of the capacity of the group, 0..1; 0: down */
	double measured;          /* share of the bytes of the group, 0..1; NAN: unknown, or no traffic */
	double predicted;         /* share predicted from routes and received bytes; NAN: unknown */
	double destinations;      /* share of the destinations of the table; NAN: unknown */
	uint32_t lids;            /* number of destinations */
	double lids_mean;         /* fair number by its capacity; for RCV among links from one switch */
	double utilization;       /* 0..1 of its own capacity; NAN */
	double stall;             /* 0..1; NAN */
	double xmit_discards;     /* NAN */
	bool stall_at_least, discards_at_least; /* lower bounds */
};

struct balance_result {
	uint32_t group;           /* index into the shape's groups */
	enum balance_direction direction;
	enum balance_state state;
	enum adaptive_routing adaptive; /* of the switch that routes the load; for RCV of uplinks: the upper switches */
	bool adaptive_inferred;   /* from the load: neither set nor read */
	bool beyond_tables;       /* a member sends more than the destinations of its table entries receive */
	bool tables_uneven, load_uneven, harmful; /* the tests T, M and H */
	bool tables_newer;        /* T is that of new tables, and the load may be that of the former ones */
	bool tables_known, predicted_known;
	uint32_t hottest;         /* index into members, or UINT32_MAX */
	double excess;            /* (max - mean) / mean of load relative to capacity; NAN */
	double table_excess;      /* the same for numbers of destinations; NAN */
	double mean_utilization, max_utilization; /* of the members that are known; NAN */
	double known_share;       /* these members' share of the capacity of those that work; of balance_mean() */
	/*
	 * Minimum number of flows of equal size (balance/flows.h); NAN: unknown, or neither tables nor load
	 * are uneven.
	 */
	double flows;
	double chance_excess;     /* excess beyond chance for that many flows, or INFINITY; NAN where flows is */
	enum balance_cause cause; /* of this window alone */
	struct balance_member *members; /* count of the group */
};

/*
 * balance_mean, balance_max - utilization of the members that work, 0..1
 * Lower bounds if some of them are not known.
 */
static inline struct measure balance_mean(const struct balance_result *result)
{
	return measure_of(result->mean_utilization * result->known_share, result->known_share >= 1);
}

static inline struct measure balance_max(const struct balance_result *result)
{
	return measure_of(result->max_utilization, result->known_share >= 1);
}

/*
 * balance_excess - (max - mean) / mean of the members that work, as struct balance_result has it
 * A lower bound if some of them are not known: it is lowest if those are at the maximum of the others.
 */
static inline struct measure balance_excess(const struct balance_result *result)
{
	double max = result->max_utilization, mean = balance_mean(result).value;

	if (result->known_share >= 1 || isnan(result->excess))
		return measure_of(result->excess, true);
	return measure_of(max / (mean + (1 - result->known_share) * max) - 1, false);
}

/*
 * balance_share - share of the bytes of the group that a member carries, 0..1
 * A lower bound if some members are not known: they may be full.
 */
static inline struct measure balance_share(const struct balance_result *result, const struct balance_member *member)
{
	double known = balance_mean(result).value;

	if (result->known_share >= 1 || isnan(known))
		return measure_of(member->measured, true);
	return measure_of(member->measured * known / (known + 1 - result->known_share), false);
}

struct balance {
	struct balance_result *results; /* two for each group: XMIT, RCV */
	size_t count;
	struct balance_member *members; /* owned: all of them */
};

struct balance_input {
	const struct shape *shape;
	const struct routes *routes;       /* or NULL: unknown */
	const struct balance_load *loads;  /* by port */
	const uint8_t *adaptive;           /* by node, as balance_adaptive_create(); or NULL */
	double window_us;                  /* its length */
};

/*
 * balance_adaptive_create - adaptive routing by node: enum adaptive_routing, as set in the settings, else
 * as read from the switch
 * @settings:  or NULL
 * @ret:       for free(); NULL: it is unknown of all switches
 * Return: 0 or ERR_NOMEM.
 */
int balance_adaptive_create(const struct shape_settings *settings, const struct fabric *fabric, uint8_t **ret,
			    struct error *err);

/*
 * balance_window_us - length of the window of a load: of all that show one and of the findings
 * @interval_us:  between sweeps
 * Return: the setting, and at least three sweeps.
 */
enum { BALANCE_WINDOW_SWEEPS = 3 };
int64_t balance_window_us(const struct balance_settings *settings, int64_t interval_us);

/*
 * balance_port_rate - rate of a port, from its own reading or from the other end of its link
 * Return: bytes per us, or NAN.
 */
double balance_port_rate(const struct balance_input *input, uint32_t port, bool xmit);

/*
 * balance_evaluate - evaluate all groups in one window
 * @ret:  balance_done() frees it
 * Return: 0 or ERR_NOMEM.
 */
int balance_evaluate(const struct balance_input *input, const struct balance_settings *settings, struct balance *ret,
		  struct error *err);
void balance_done(struct balance *balance);

/*
 * balance_measure - evaluate one group and direction without tables: state, M, H, hottest,
 * utilization For a few groups in many windows.
 * @members:  count of the group
 * @ret:      its members are @members
 */
void balance_measure(const struct balance_input *input, const struct balance_settings *settings, uint32_t group,
		     enum balance_direction direction, struct balance_member *members, struct balance_result *ret);

/* balance_overloads - the tables assign more destinations to this member than test T allows. */
bool balance_overloads(const struct balance_member *member, const struct balance_settings *settings);

/* balance_follows - T and M hold, and the tables overload the hottest member. */
bool balance_follows(const struct balance_result *result, const struct balance_settings *settings);

/*
 * balance_decides - adaptive routing of the switch that routes the load of a result: its own switch
 * (XMIT), the switch at the other end (RCV), for RCV of uplinks all upper switches
 * @by_node:  enum adaptive_routing by node
 * Return: UNKNOWN also if they differ.
 */
enum adaptive_routing balance_decides(const struct shape *shape, const struct balance_result *result,
				      const uint8_t *by_node);

/*
 * Results of several windows, for each result that was active once; by GUID of the switch, group
 * and direction, so that they persist across topologies.
 */
struct balance_memory;
struct balance_memory *balance_memory_create(void); /* NULL: no memory */
struct balance_memory *balance_memory_copy(const struct balance_memory *memory); /* likewise */
void balance_memory_destroy(struct balance_memory *memory);

/*
 * balance_memory_step - add a window, and update the results
 * Sets results[].cause to causes that need several windows (FLOWS, NOT_FOLLOWING), and .adaptive to
 * the inferred state: even load over uneven tables means on. Inactive windows neither count nor
 * reset. Where adaptive routing is on, ROUTING is removed.
 *
 * ROUTING is also removed where it is a matter of tables that changed in this window: the former ones did not overload
 * the hottest member, and it was the hottest already in the two windows before, or that is not known.
 *
 * Load that a routing fault elsewhere sends through a spine makes the links below it uneven, too:
 * those get no FLOWS.
 * Return: 0 or ERR_NOMEM.
 */
int balance_memory_step(struct balance_memory *memory, const struct shape *shape,
			const struct balance_settings *settings, struct balance *balance, struct error *err);

/*
 * balance_memory_explains - may its tables be the cause of its load, or are they newer than it?
 * @before:  number of windows that were added since its window began: 1 if it was added itself
 */
bool balance_memory_explains(const struct balance_memory *memory, const struct shape *shape,
			     const struct balance_result *result, unsigned before);

/* balance_memory_reread - the table of a result was read again after its window, which was added. */
void balance_memory_reread(struct balance_memory *memory, const struct shape *shape,
			   const struct balance_settings *settings, const struct balance_result *result);

/* balance_median - sorts @values. Return: NAN: there are none. */
double balance_median(double *values, size_t count);

/* Names: "routing", "on". */
const char *balance_cause_name(enum balance_cause cause);
const char *balance_adaptive_name(enum adaptive_routing adaptive);
/*
 * balance_adaptive_cell - of a list: "on", "off", "~on" and "~off" if inferred, "?"
 * balance_append_adaptive - "adaptive routing off, inferred from the load"
 */
const char *balance_adaptive_cell(const struct balance_result *result);
void balance_append_adaptive(const struct balance_result *result, struct text *text);

/* Comparison of rails, planes, switches of a tier, and the HCAs of a host. */

/* Maximum number of HCAs of one host. */
#define BALANCE_RAILS_MOST 32

/* A byte per us in bits per s. */
#define BALANCE_BITS_PER_S 8e6

/* Load of a set of ports, and its share among comparable sets. */
struct balance_amount {
	const char *kind;
	uint32_t index;        /* of the rail, plane, node or host */
	struct measure xmit, rcv; /* bytes per us */
	double capacity;       /* bits per s of the ports that were read, one direction */
	uint32_t active, known;
	double share, fair;    /* among comparable sets; NAN: unknown */
	double excess;         /* above the mean; of a host: of its busiest rail; NAN: unknown */
};

/* balance_amount_add - add an Active port; if it was not read, it counts in .active only. */
void balance_amount_add(const struct balance_input *input, uint32_t port, struct balance_amount *amount);

/* balance_amount_load - mean utilization of both directions of the ports that were read, 0..1; NAN: none was. */
double balance_amount_load(const struct balance_amount *amount);

/* balance_amounts_most - the largest of those loads; 0: all unknown. */
double balance_amounts_most(const struct balance_amount *amounts, size_t count);

/* balance_amounts_compare - set share, fair and excess of comparable amounts. */
void balance_amounts_compare(struct balance_amount *amounts, size_t count);

/*
 * balance_host_rails - loads of the HCAs of a host, in the order of the shape
 * @rails:  BALANCE_RAILS_MOST of them; .index is the node
 * @sum:    of all HCAs; its excess is that of the busiest one; kind and index are unchanged
 * Return: number of HCAs.
 */
uint32_t balance_host_rails(const struct balance_input *input, const struct shape_host *host,
			    struct balance_amount *rails, struct balance_amount *sum);

/* balance_host_is_busy - the host is busy enough to compare its rails. */
bool balance_host_is_busy(const struct balance_amount *sum, const struct balance_settings *settings);

/*
 * balance_compare_excess - for qsort of amounts: most uneven first; equal whole percents by index.
 */
int balance_compare_excess(const void *a, const void *b);

/* Display of results: selection, order and reasons. */

/* balance_is_reported - it has a cause, or is active and uneven. */
bool balance_is_reported(const struct balance_result *result);

/*
 * balance_is_chance - load is uneven, but not more than for that few flows by chance; the tables are
 * even or unknown, it has no cause, and it is no echo
 */
bool balance_is_chance(const struct shape *shape, const struct balance *balance, const struct balance_result *result);

/* balance_is_second - a lost or slow link, which is already shown for the other direction. */
bool balance_is_second(const struct balance_result *result);

/* balance_is_of_interest - the group has several members, and no other result shows the same. */
bool balance_is_of_interest(const struct shape *shape, const struct balance_result *result);

/* balance_is_echo - the imbalance is caused by another switch with uneven tables. */
bool balance_is_echo(const struct shape *shape, const struct balance *balance, const struct balance_result *result);

/*
 * balance_compare - worst first: a cause with harm, a cause, harm, the excess
 * For qsort_r of uint32_t, indices of results. @ctx: the struct balance
 */
int balance_compare(const void *a, const void *b, void *ctx);

/*
 * balance_order_members - order the members of a result
 * Members that are down come first, then by utilization; members that were not read last.
 * @count:  of members
 * @ret:    @count indices into result->members
 */
void balance_order_members(const struct balance_result *result, uint32_t count, uint32_t *ret);

/* balance_largest_share - largest of the measured, predicted and fair shares; 0: all unknown. */
double balance_largest_share(const struct balance_result *result, uint32_t count);

/*
 * balance_tests - what is uneven, and whether it does harm: "tables, load, harm", "load"; "-" if nothing is; "tables ?"
 * where they are unknown
 */
const char *balance_tests(const struct balance_result *result);

/* balance_append_reason - the reason for a result, as a sentence without a full stop. */
void balance_append_reason(const struct shape *shape, const struct balance_result *result, struct text *text);

#endif
