/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_report.h - traffic, evenness and errors of a job per host, rail and uplink
 *
 * job_report_compute() reads everything from the database; job_report_page() only shows it.
 * Unknown numbers are NAN, unknown times 0.
 *
 * The counters of a port are differences of two snapshots, or without these sums of the collector's
 * sweeps, which may begin and end up to one interval before the job. Rates over time, the halves of a job
 * and findings always come from the collector.
 */
#ifndef IBWIRE_PAGES_JOB_REPORT_H
#define IBWIRE_PAGES_JOB_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "analysis/finding.h"
#include "analysis/measure.h"
#include "analysis/series.h"
#include "facts/job_rhythm.h"
#include "storage/jobs.h"

struct error;
struct fabric;
struct name_map;
struct nccl_log;
struct nccl_verdict;
struct page;
struct reader;
struct shape;
struct text;

enum job_source { JOB_SOURCE_NONE, JOB_SOURCE_SNAPSHOTS, JOB_SOURCE_HISTORY };

/* Two parts of the job: its halves; of a running job the time before the last minutes, and these. */
enum { JOB_EARLY, JOB_LATE, JOB_PARTS };

/* What ports counted. Of several ports: sums, and the stall of the port that stalled most. */
struct job_sum {
	uint64_t xmit_bytes, rcv_bytes, xmit_packets, rcv_packets;
	uint64_t errors;           /* of both ends of the links */
	uint32_t ports, known;     /* number of ports, and of those whose traffic is known */
	bool at_least;             /* bytes: a counter was reset or saturated, or a port is unknown */
	bool errors_at_least;
	struct measure stall_percent; /* XmitWait, an estimate, of either end of the link; parts 0: unknown */
	struct measure mean_xmit, mean_rcv; /* bytes per second over the job; parts: ports */
	struct measure peak_xmit, peak_rcv; /* bytes per second in the busiest step (peak_step_us) */
	struct measure part[JOB_PARTS]; /* bytes per second, both directions */
	double capacity;           /* bytes per second of the links that are up, one direction */
};

/* Distribution of the bytes (both directions) over members. */
struct job_evenness {
	uint32_t count;            /* number of members that are known; below 2 there is no cv */
	double cv;                 /* coefficient of variation: 0 is even */
	uint32_t lowest, highest;  /* index of the member; UINT32_MAX: none */
	double lowest_ratio, highest_ratio; /* their bytes relative to the mean */
};

/* Port of an HCA of the job. In order of host, then of device. */
struct job_port {
	uint32_t port;             /* index into the fabric's ports */
	uint32_t host;             /* index into hosts */
	uint32_t rail;             /* index into rails; UINT32_MAX: none */
	bool mirrored;             /* bytes were counted by the other end of the link */
	bool unused;               /* carried almost nothing while other ports of its host did */
	bool down;                 /* not Active at the end */
	struct job_sum sum;
	uint64_t peer_errors;      /* part of sum.errors that the other end of the link counted */
	struct measure own_stall, peer_stall; /* percent; parts 0: unknown */
};

struct job_host {
	const char *name;
	bool missing;              /* named by the job, but not in the fabric at its end; no ports */
	uint32_t first, count;     /* in ports */
	uint32_t used;             /* number of its ports with traffic */
	struct job_sum sum;
	struct job_evenness ports; /* over its ports: index into ports */
};

struct job_rail {
	const char *name;          /* "mlx5_3" */
	bool slower;               /* than other rails: of another network, such as storage, so not compared */
	bool unused;               /* by all hosts */
	struct job_sum sum;
	struct job_evenness hosts; /* over its ports: index into ports */
	struct series series;      /* bytes per second of the busier direction; without steps if not known */
};

/* A member of a group of uplinks. */
struct job_uplink {
	uint32_t port;             /* index into the fabric's ports */
	struct measure bytes;      /* sent (BALANCE_XMIT) or received in the group's direction */
	double part[JOB_PARTS];    /* bytes per second */
	struct balance_member member; /* over the job */
	struct measure share;      /* balance_share() of it, 0..1 */
};

/* Uplinks of a switch that hosts of the job are on, or above such a switch, in one direction. */
struct job_group {
	uint32_t node;             /* the switch */
	unsigned tier;
	enum balance_direction direction;
	bool shared;               /* other jobs ran on hosts below the switch: bytes are those of all */
	bool skewed;               /* uneven against the tables, or routing became uneven during the job */
	enum balance_state state;
	enum balance_cause cause;
	enum adaptive_routing adaptive;
	bool adaptive_inferred;    /* from the load */
	struct measure excess;     /* balance_excess() over the job */
	struct measure part_excess[JOB_PARTS];
	int64_t uneven_since_us;   /* wall clock: became uneven during the job; 0: not, or not known */
	uint32_t hottest;          /* index into members of the group; UINT32_MAX: none */
	uint32_t first, count;     /* in uplinks */
	struct measure bytes;      /* parts: uplinks */
};

struct job_finding {
	enum finding_kind kind;
	enum finding_severity severity;
	int64_t since_us, closed_us; /* wall clock; closed 0: open */
	bool before;               /* it was open when the job began */
	bool past;                 /* and during the job, its count did not increase or its condition did not hold */
	bool on_job;               /* on a link that the job uses (else elsewhere in the fabric) */
	bool refusal;              /* finding_is_refusal() */
	bool counted;              /* errors is known */
	uint64_t errors;           /* of its kind on its links during the job */
	char *subject, *text, *advice;
};

/* A link that changed, forwarding tables that changed, counters that were reset. */
struct job_event {
	int64_t wall_us;
	char kind[32];
	char *text;
	bool on_job;
	bool bad;                  /* a warning or critical */
};

/* Bytes per second sent by leaves towards the spines, and back: leaves are rows, spines columns. */
struct job_map {
	uint32_t rows, columns;
	uint32_t *row_nodes, *column_nodes; /* nodes of the fabric */
	double *part[JOB_PARTS];   /* rows * columns, bytes per second of both directions; NAN: no link, or unknown */
};

/* Verdicts, most important first. */
enum job_verdict {
	JOB_VERDICT_UNKNOWN,       /* nothing is stored of its time */
	JOB_VERDICT_NO_HOSTS,      /* none of its hosts is in the fabric */
	JOB_VERDICT_NO_TRAFFIC,    /* not over InfiniBand */
	JOB_VERDICT_NOT_RESPONDING, /* a host or a switch of the job, during the job */
	JOB_VERDICT_PARTITION,     /* its hosts cannot communicate, or are not in a partition that they need */
	JOB_VERDICT_STALLED,       /* all of its ports were quiet for longer than its rhythm allows */
	JOB_VERDICT_NIC_UNUSED,
	JOB_VERDICT_LINK_FAILED,   /* down or slower during the job */
	JOB_VERDICT_ERRORS,
	JOB_VERDICT_RAILS_UNEVEN,
	JOB_VERDICT_ROUTING,       /* uplinks uneven against or by the tables */
	JOB_VERDICT_SLOW_HOST,
	JOB_VERDICT_DROP,          /* slower since a moment, or in its later part */
	JOB_VERDICT_NCCL,          /* what NCCL logged is wrong, or contradicts the counters */
	JOB_VERDICT_CLEAN,
	JOB_VERDICT_COUNT,
};

/* job_verdict_name - "nic-unused", "clean". */
const char *job_verdict_name(enum job_verdict verdict);

struct job_line {
	enum job_verdict verdict;
	enum finding_severity severity; /* FINDING_INFO: nothing is wrong */
	char *text;                /* one sentence with numbers, no full stop */
};

/* The rhythm in a part of the time of the job: medians of its minutes, and their worst phase. */
struct job_rhythm_step {
	int64_t from_us, until_us; /* wall clock */
	size_t minutes;            /* number of those that are stored */
	struct job_rhythm rhythm;
};

/* A stall or slowdown. */
struct job_episode {
	enum job_phase phase;
	int64_t since_us, until_us; /* wall clock; until 0: it lasts */
	double slower_percent;     /* of a slowdown, when it was last seen; NAN */
};

/* Data of its ports on a service level, between readings of detail counters. */
struct job_level {
	unsigned sl;
	struct measure xmit, rcv;  /* bytes; parts: ports that were read */
	double share_percent;      /* of the bytes of all service levels */
	uint32_t ports;            /* number of its ports with data, more than background traffic, on it */
};

struct job_report {
	struct job job;            /* copy, owned */
	bool running;              /* it has not ended; it may be suspended */
	int64_t begin_us, end_us;  /* wall clock; of a running job the newest sweep, or now */
	int64_t duration_us;       /* by CLOCK_BOOTTIME where both ends are of one boot */
	int64_t clock_step_us;     /* the wall clock was stepped by this much during the job; 0: it was not */
	enum job_source source;
	int64_t interval_us;       /* between sweeps; 0: no collector */
	bool has_history;          /* rates over time, halves and findings are known */
	char **notes;              /* on accuracy and on what is not known: sentences without full stop */
	size_t note_count;

	const struct fabric *fabric; /* as of the end of the job; NULL with JOB_SOURCE_NONE */
	struct shape *shape;
	bool all_hosts;            /* the job is not limited to hosts */
	struct job_sum total;      /* of all ports */
	uint32_t ports_unused;
	struct job_port *ports;
	struct job_host *hosts;    /* in natural order of name; missing ones last */
	struct job_rail *rails;
	struct job_evenness over_hosts, over_rails; /* index into hosts, rails */
	uint32_t slowest;          /* index into hosts; UINT32_MAX: none stands out */
	struct job_group *groups;  /* worst first */
	struct job_uplink *uplinks;
	size_t port_count, host_count, rail_count, group_count, uplink_count;
	uint32_t leaf_count;       /* leaves that its hosts are on */
	char **others;             /* ids of jobs that ran at the same time behind the same leaves */
	size_t other_count;
	bool routes_known;
	uint32_t adaptive_on, adaptive_off, adaptive_unknown; /* number of its leaves and the switches above them */
	uint32_t adaptive_inferred; /* of those on and off: from the load */
	uint32_t aggregation_nodes; /* SHARP, in the whole fabric */

	struct job_finding *findings; /* those on its links first, then worst first */
	struct job_event *events;  /* in order of time */
	size_t finding_count, event_count;
	size_t events_left_out;    /* beyond JOB_EVENTS_MOST on its links */
	int64_t part_from_us[JOB_PARTS], part_until_us[JOB_PARTS]; /* wall clock */
	int64_t peak_step_us;      /* length of the steps of peaks and series; 0: a sweep each */
	struct job_map map;
	struct job_rhythm rhythm;  /* newest; also stored after the samples of the job were removed */
	struct job_rhythm rhythm_median; /* over its time */
	struct job_rhythm_step *rhythm_few, *rhythm_steps; /* of long steps, and of short ones */
	struct job_episode *episodes; /* by time */
	size_t rhythm_few_count, rhythm_step_count, episode_count;
	struct job_level *levels;  /* largest first; none: ports use only one, or it is unknown */
	size_t level_count;
	int64_t levels_since_us;   /* wall clock: they are of the time from here to the end */
	double levels_percent;     /* share of this time that the readings cover */
	uint32_t levels_read;      /* number of its ports with two readings */
	struct job_line *verdict;  /* at least one; the first is the verdict */
	size_t verdict_count;

	const struct nccl_log *nccl; /* job_report_add_nccl() (borrowed); NULL: none */
	struct nccl_verdict *nccl_verdict;

	void *memory;              /* private */
};

enum { JOB_EVENTS_MOST = 1000 };

struct job_report_settings {
	const struct name_map *names;      /* or NULL */
	const struct shape_settings *shape; /* or NULL */
	const struct balance_settings *balance; /* NULL: the defaults */
	int64_t now_us;            /* wall clock */
};

/*
 * job_report_compute - read and evaluate a job
 * @ret:  job_report_destroy() frees it
 *
 * A time of which nothing is stored is no error, but a verdict.
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int job_report_compute(struct reader *reader, const struct job *job, const struct job_report_settings *settings,
		       struct job_report **ret, struct error *err);
void job_report_destroy(struct job_report *report);

/*
 * job_report_add_nccl - compare what NCCL logged with the ports of the job (job_nccl.c)
 * Warnings and failures become lines of the verdict, before "clean".
 * @log:  kept: it must live as long as the report
 * Return: 0; ERR_NOMEM.
 */
int job_report_add_nccl(struct job_report *report, struct nccl_log *log, struct error *err);

/*
 * job_report_page - the report as a page; CSV has a row for each port of its hosts
 * @report:  borrowed until page_destroy()
 * @all:     text: every host, uplink and event, and figures
 * Return: NULL: no memory.
 */
struct page *job_report_page(const struct job_report *report, bool all);

/*
 * job_compare_page - a comparison with an earlier job as a page; CSV has the numbers of both
 * @before, @now:  borrowed until page_destroy()
 * @all:           text: every host
 * Return: NULL: no memory.
 */
struct page *job_compare_page(const struct job_report *before, const struct job_report *now, bool all);

/*
 * job_report_node_name, job_report_port_name - displayed name: "leaf01", "leaf01/12", "node001 mlx5_0/1"
 * @ret:  @size bytes
 * Return: @ret.
 */
const char *job_report_node_name(const struct job_report *report, uint32_t node);
const char *job_report_port_name(const struct job_report *report, uint32_t port, char *ret, size_t size);

#endif
