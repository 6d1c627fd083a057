/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * finding.h - a fault: kind, place, severity, cause and evidence
 *
 * A finding names the root cause, not its symptoms. It opens, may change its severity and evidence
 * while it is open, and closes after its recovery window. Its identity is kind, node GUID and port
 * (and a tag, where one place can have several).
 */
#ifndef IBWIRE_ANALYSIS_FINDING_H
#define IBWIRE_ANALYSIS_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"

struct fabric;

/* In order of display for equal severities. Stored: add at the end. */
enum finding_kind {
	FINDING_SM_LOST, FINDING_COVERAGE, FINDING_LINK_DOWN, FINDING_NODE_MISSING, FINDING_NODE_SILENT,
	FINDING_UPLINK_IMBALANCE, FINDING_BLACK_HOLE, FINDING_LINK_DEGRADED, FINDING_LINK_FLAPPING,
	FINDING_SYMBOL_ERRORS, FINDING_RECEIVE_ERRORS, FINDING_FEC_UNCORRECTABLE, FINDING_XMIT_DISCARDS,
	FINDING_CONGESTION, FINDING_RAIL_IMBALANCE, FINDING_NIC_UNUSED, FINDING_RAIL_MISWIRED,
	FINDING_UPLINKS_MISSING, FINDING_ROUTES_CHANGED, FINDING_TOPOLOGY_CHANGED, FINDING_HOST_RESTART,
	FINDING_LOCKED, FINDING_COUNTER_SATURATED, FINDING_COUNTERS_CLEARED, FINDING_LOG_GROWING,
	FINDING_STORE_STALLED, FINDING_LINK_ERRORS, FINDING_CONSTRAINT_ERRORS, FINDING_LINK_NOT_ACTIVE,
	FINDING_TRAFFIC_FELL, FINDING_NODES_LEFT_OUT, FINDING_PLAN_DIFFERS,
	FINDING_FIRMWARE_MIXED, FINDING_CABLE_HOT, FINDING_PARTITION, FINDING_JOB_STALLED, FINDING_JOB_SLOWER,
	FINDING_KIND_COUNT,
};

enum finding_severity { FINDING_INFO, FINDING_WARNING, FINDING_CRITICAL };

/* A number of the evidence; its key ends with the unit: "symbol_errors_per_hour". */
struct finding_number { const char *key; double value; };
#define FINDING_NUMBERS_MAX 16
/* The numbers that were measured over a window have its ends, wall clock: samples after the first, up to the second. */
#define FINDING_WINDOW_FROM "window_from_us"
#define FINDING_WINDOW_UNTIL "window_until_us"
/* 1: the counts of its text and numbers are lower bounds, as counters were reset in the window or are saturated. */
#define FINDING_LOWER_BOUND "lower_bound"
/*
 * The thresholds under which it last held, of which its kind has some; their keys begin with this. Those of severities
 * end with the key of the number that they apply to: "threshold_warning_coverage_percent".
 */
#define FINDING_THRESHOLD "threshold_"
#define FINDING_THRESHOLD_WARNING FINDING_THRESHOLD "warning"
#define FINDING_THRESHOLD_CRITICAL FINDING_THRESHOLD "critical"
#define FINDING_HOSTS_MAX 32

/* The identity of an open finding. */
struct finding_place { enum finding_kind kind; uint64_t node_guid; uint8_t port, tag; };

/* A port of a finding about several of them. */
struct finding_port { uint64_t node_guid; uint8_t port; };
#define FINDING_PORTS_MAX 256

struct finding {
	int64_t id;           /* in the database; 0: not stored yet */
	enum finding_kind kind;
	enum finding_severity severity;
	char subject[160];    /* "leaf-r3-u07 uplinks", "leaf01/12 (cage 6.2) - spine09/3" */
	uint64_t node_guid;   /* 0: the whole fabric */
	uint64_t peer_guid;   /* 0: none */
	uint8_t port, peer_port; /* 0: the node itself */
	uint8_t tag;          /* distinguishes findings of one kind and place, such as directions of a group; else 0 */
	int64_t since_us;     /* wall clock: start, as far as known (change of a table, first error) */
	int64_t last_seen_us; /* wall clock: when it last held */
	int64_t ok_since_us;  /* wall clock: open, but its condition has not held since; 0: it holds */
	int64_t closed_us;    /* wall clock; 0: open */
	int64_t increased_us; /* wall clock: last increase of the count that is its condition; 0: it is no count */
	bool stopped;         /* its rate while it increased makes the pause since then improbable */
	const char *cause;    /* one word: "routing", "degraded-member", "flows", "cable", "host"; static storage */
	char text[320];       /* one line: measured value and threshold; past tense with ok_since_us */
	const char *advice;   /* one line: action; static storage, or that of the owner of the finding */
	struct finding_number numbers[FINDING_NUMBERS_MAX]; /* keys in static storage */
	unsigned number_count;
	char hosts[FINDING_HOSTS_MAX][64]; /* names of affected hosts, the first of them */
	unsigned host_count;  /* number of names */
	unsigned affected_hosts; /* number of affected hosts */
	/* The first of its ports: if it combines the findings of many ports, or is about nodes, those with a link. */
	struct finding_port ports[FINDING_PORTS_MAX];
	unsigned port_count;
	bool is_explained;    /* by the open finding @origin, below which it is shown; it does not alert */
	struct finding_place origin;
};

struct finding_kind_info {
	const char *name;      /* "symbol-errors" */
	const char *means;     /* one line */
	const char *limits;    /* default thresholds */
	const char *reason;    /* rationale and source of the thresholds */
	const char *advice;
	const char *advice_info;   /* that of severity info; NULL: the same */
	const char *thresholds[2]; /* keys of those for warning and critical; NULL: its rule has none or adds its own */
};

/*
 * finding_is_refusal - is it about a performance agent that refuses queries?
 * Its node responds and works, unlike that of other findings of FINDING_NODE_SILENT.
 */
enum { FINDING_TAG_REFUSES = 1 };
static inline bool finding_is_refusal(const struct finding *finding)
{
	return finding->kind == FINDING_NODE_SILENT && finding->tag == FINDING_TAG_REFUSES;
}

/*
 * finding_end - the ends of a finding: its place, its peer, and its ports, of a link both ends
 * A finding about a node is not about the other ends of the links of its ports: these are 0.
 * @fabric:  for the other ends
 * @at:      from 0; the ends of ports from FINDING_END_PORTS
 * @ret_guid, @ret_port:  node and port; 0: none
 * Return: false: there are no more.
 */
enum { FINDING_END_PORTS = 2 };
bool finding_end(const struct finding *finding, const struct fabric *fabric, unsigned at, uint64_t *ret_guid,
		 uint8_t *ret_port);

/* finding_kind_info - contents of `ibwire health --explain KIND`; never NULL. */
const struct finding_kind_info *finding_kind_info(enum finding_kind kind);
const char *finding_kind_name(enum finding_kind kind);
#define FINDING_CAUSE_JOB "job" /* of traffic that fell: that of a running job */
#define FINDING_CAUSE_ENABLED "enabled" /* of a slow link: limited by configuration */
/* Of a job that stalls: a host is suspected, a link had an event, or neither. */
#define FINDING_CAUSE_STALL_HOST "host"
#define FINDING_CAUSE_STALL_LINK "link"
#define FINDING_CAUSE_STALL_UNKNOWN "hosts"
/* Of a job that became slower: what changed at that time. */
#define FINDING_CAUSE_SLOWER_LINK "link"
#define FINDING_CAUSE_SLOWER_ROUTES "routes"
#define FINDING_CAUSE_SLOWER_SHARED "shared-uplinks"
#define FINDING_CAUSE_SLOWER_WAITS "host-waits"
#define FINDING_CAUSE_SLOWER_RAIL "rail"
#define FINDING_CAUSE_SLOWER_FABRIC "fabric-change"
#define FINDING_CAUSE_SLOWER_HOSTS "hosts"
/* finding_advice - what to do about a finding; static storage. @cause: or NULL */
const char *finding_advice(enum finding_kind kind, enum finding_severity severity, const char *cause);
/* finding_kind_find - Return: the kind with this name, or -1. */
int finding_kind_find(const char *name);
const char *finding_severity_name(enum finding_severity severity);

/* finding_is_of_window - its condition is evaluated in windows of a minute, not in each sweep. */
bool finding_is_of_window(enum finding_kind kind);

/* finding_counts_errors - its condition is a count of errors over the last minutes or hours. */
bool finding_counts_errors(enum finding_kind kind);

/* finding_counters - the counters whose increase is the condition of a kind; 0: it is none, or counters of details. */
counter_set finding_counters(enum finding_kind kind);

/* finding_is_event - a report of an event: it describes the past and has no condition that could end. */
bool finding_is_event(const struct finding *finding);

/* finding_number_of - a number of the evidence by its key, or @otherwise. */
double finding_number_of(const struct finding *finding, const char *key, double otherwise);

/* finding_job - number of the job (storage/jobs.h) that a finding about the traffic of a job is about; 0: it is none */
int64_t finding_job(const struct finding *finding);

/* finding_magnitude - the number of the evidence whose largest value is kept, or NULL. */
const struct finding_number *finding_magnitude(const struct finding *finding);

/*
 * finding_format_peak - "100 %", "273 errors"
 * @peak: the largest value of its magnitude so far, or NaN
 * Return: whether it exceeds the current value, as it is written.
 */
bool finding_format_peak(const struct finding *finding, double peak, char ret[48]);

/* finding_window - the window of its numbers, wall clock. Return: whether it has one. */
bool finding_window(const struct finding *finding, int64_t *ret_from_us, int64_t *ret_until_us);

/*
 * finding_format_thresholds - "warning 8, critical 16, after 30 s"
 * Return: whether it has some; else @ret is "".
 */
bool finding_format_thresholds(const struct finding *finding, char ret[160]);

/* What a finding is about now: a fault that goes on, one that has stopped but still counts, or one that is clearing. */
enum finding_phase { FINDING_PHASE_ACTIVE, FINDING_PHASE_STOPPED, FINDING_PHASE_CLEARING };
enum finding_phase finding_phase(const struct finding *finding);

/* finding_compare - by phase, then worst first, then oldest first: the order of lists. For qsort of struct finding. */
int finding_compare(const void *a, const void *b);

#endif
