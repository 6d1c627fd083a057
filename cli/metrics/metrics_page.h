/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_page.h - what `ibwire metrics` exports of one sweep
 *
 * A source has one page, which is updated when a newer sweep was stored: the deltas that were stored since are added
 * to its counters. So a counter never decreases, whether it was reset on the fabric or the collector was restarted.
 */
#ifndef IBWIRE_CLI_METRICS_PAGE_H
#define IBWIRE_CLI_METRICS_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/finding.h"
#include "base/text.h"
#include "facts/summary.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "facts/job_rhythm.h"
#include "storage/jobs.h"
#include "storage/reader.h"

struct delta;
struct error;
struct fabric;
struct metrics_schema;
struct name_map;
struct settings;
struct shape;

/* Counters since the first page; the value of one that was never read is not in `known`. */
struct metrics_counters {
	counter_set known;
	uint64_t value[COUNTER_COUNT];
	/* Time of XmitWait since then; each delta has the tick of the last link that was up. 0: no tick yet. */
	double wait_s, tick_s;
};

/* How a port was read in the newest sweep. */
struct metrics_port {
	int64_t last_wall_us; /* of its newest reading; 0: none */
	uint8_t sample; /* enum sample_status */
	bool mirrored;  /* has no counters of its own: port_row.mirrored */
};

/*
 * PortRcvErrorDetails and PortXmitDiscardDetails of a port, known once it counted any of them. They are read less
 * often, in turn; a value that is below the last reading was reset.
 */
#define METRICS_DETAILS 10
struct metrics_detail {
	uint16_t known; /* bit 1 << METRICS_DETAIL() */
	uint32_t last[METRICS_DETAILS];
	uint64_t value[METRICS_DETAILS];
};
#define METRICS_DETAIL(attribute, number) ((attribute) == DETAIL_XMIT_DISCARDS ? 6 + (number) : (number))

/* A detail attribute of a port, as last read. */
struct metrics_reading {
	uint32_t port; /* of the fabric */
	struct detail_reading reading;
};

/* A group of equivalent links in one direction, over balance_window_us(); NAN: unknown, or idle. */
struct metrics_group {
	double imbalance, mean, most;
	uint32_t active; /* links that are up */
};

/* An open finding. */
struct metrics_finding {
	int64_t id;
	enum finding_kind kind;
	enum finding_severity severity;
	char subject[160], cause[32];
};

/* More findings are only counted. */
enum { METRICS_FINDINGS_MOST = 200, METRICS_JOBS_MOST = 200 };

struct metrics_batch_job {
	char id[JOB_ID_SIZE], name[JOB_NAME_SIZE], labels[JOB_LABELS][JOB_TEXT_SIZE];
	struct job_rhythm rhythm; /* not known if it is not current */
};

/* Prepared once per topology. */
struct metrics_topology {
	struct fabric *fabric;
	struct shape *shape;
	uint32_t *label_at; /* by port: the start of its labels in `labels`; one more at the end */
	struct text labels; /* of struct metrics_schema */
};

struct metrics_page {
	const struct metrics_schema *schema;
	struct db_status status;
	bool live;              /* a collector runs */
	bool is_stale;          /* of a server: metrics_is_stale() */
	int64_t served_since_us; /* by this process, wall clock; 0: not by a server */
	double build_s;
	struct metrics_topology *topology;
	struct fabric_summary summary;
	struct metrics_counters *counters; /* by port of the fabric */
	int64_t counted;                   /* sweep up to which deltas were added to them; 0: none */
	struct metrics_port *ports;        /* parallel */
	double *numbers;                   /* parallel, number_count for each: of the columns that are metrics; exact */
	size_t number_count;
	struct metrics_group *groups;      /* two for each group of the shape: XMIT, RCV */
	size_t group_count;
	struct metrics_detail *details;    /* parallel to counters */
	struct metrics_reading *readings;  /* with metrics_source.details: of all ports */
	size_t reading_count, reading_capacity;
	uint32_t findings[FINDING_KIND_COUNT][FINDING_CRITICAL + 1]; /* those that count (facts/health_rows.h) */
	uint32_t acknowledged;             /* with those that they explain */
	struct metrics_finding open[METRICS_FINDINGS_MOST]; /* the counted ones, worst first */
	uint32_t open_count;
	struct metrics_batch_job jobs[METRICS_JOBS_MOST]; /* that ran at the time of the sweep, the newest ones */
	uint32_t job_count;
	bool is_complete; /* else the next call tries again */
};

/* Where the page comes from. Zeroed but for the first members, which are borrowed. */
struct metrics_source {
	const char *path; /* of the database */
	const struct name_map *names; /* or NULL */
	const struct settings *settings;
	const struct metrics_schema *schema;
	bool details;              /* and ibwire_port_detail */
	struct reader *reader;     /* NULL: not opened yet, or closed after an error */
	dev_t device;              /* of the database of the page */
	ino_t inode;
	struct metrics_page page;  /* of the newest sweep that was asked for */
	atomic_bool is_used;       /* by a call in a thread */
	int64_t served_since_us;   /* of struct metrics_page */
};

/* Classes of nodes in ibwire_nodes: those with a name. */
#define METRICS_NODE_CLASSES SUMMARY_OTHERS

/*
 * metrics_source_page - the page of the newest sweep
 * @stop:  of reader_set_stop(), for this call; or NULL
 * @ret:   borrowed until the next call
 * Return: 0; ERR_UNAVAILABLE without a database or a sweep; ERR_IO; ERR_NOMEM. The next call tries again.
 */
int metrics_source_page(struct metrics_source *source, const atomic_bool *stop, const struct metrics_page **ret,
			struct error *err);

/*
 * metrics_source_close - close the database: names and settings may then be replaced
 * metrics_source_done - free it
 * Return: false, and nothing was done: a call in a thread still uses it.
 */
bool metrics_source_close(struct metrics_source *source);
bool metrics_source_done(struct metrics_source *source);

/*
 * metrics_is_stale - are there no current values? Of a collector that has ended the newest sweep is late
 * (sweep_is_late()), of one that runs it is too old for findings (health_is_stale()).
 */
bool metrics_is_stale(const struct db_status *status);

/* The parts of a page that `ibwire push` sends too. */

/*
 * metrics_topology_create - the fabric, its shape, totals, and the labels of its ports
 * @encode:  appends the labels of a port in another format, with those of @external; NULL: they are kept as text
 * Return: 0 or ERR_NOMEM.
 */
typedef void metrics_encode_fn(const char *labels, const char *external, struct text *ret);
int metrics_topology_create(struct fabric *fabric, const struct settings *settings, const struct metrics_schema *schema,
			    metrics_encode_fn *encode, const char *external, struct metrics_topology **ret,
			    struct error *err);
void metrics_topology_destroy(struct metrics_topology *topology);

/* metrics_port_labels - append the labels of a port, of a topology that keeps them as text. */
void metrics_port_labels(const struct metrics_topology *topology, uint32_t port, struct text *ret);

/* metrics_counters_add - add a delta to the counters that are known; they stop at UINT64_MAX. */
void metrics_counters_add(struct metrics_counters *counters, const struct delta *delta);

/* metrics_fill_ports - allocate and fill page->ports, and page->summary. Return: 0; ERR_IO; ERR_NOMEM. */
int metrics_fill_ports(struct reader *reader, const struct snapshot *snapshot, struct metrics_page *page,
		       struct error *err);

/*
 * metrics_fill_groups - allocate and fill page->groups, with the loads before page->status.last
 * @snapshot:  of the page's fabric; rows are not needed. Return: 0, ERR_IO or ERR_NOMEM.
 */
int metrics_fill_groups(struct reader *reader, const struct settings *settings, const struct snapshot *snapshot,
			struct metrics_page *page, struct error *err);

/*
 * metrics_fill_findings - count and list the findings that were open at a time
 * @at_us:  wall clock; 0: now. Return: as health_load().
 */
int metrics_fill_findings(struct reader *reader, int64_t at_us, struct metrics_page *page, struct error *err);

/* metrics_fill_jobs - list the jobs that ran at the time of page->status.last. Return: 0 or ERR_IO. */
int metrics_fill_jobs(struct reader *reader, struct metrics_page *page, struct error *err);

#endif
