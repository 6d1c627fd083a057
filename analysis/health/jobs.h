/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * jobs.h - the running jobs that are watched; private to jobs.c (members and readings), job_findings.c (findings) and
 * job_causes.c (paths, and what changed when a job became slower)
 */
#ifndef IBWIRE_ANALYSIS_HEALTH_JOBS_H
#define IBWIRE_ANALYSIS_HEALTH_JOBS_H

#include "analysis/health/state.h"
#include "analysis/job_watch.h"

/* An HCA port of a job. Those that are not in the fabric remain members: their links are down. */
struct job_port {
	struct health_node *node;
	uint8_t num;
	bool active;                /* both ends are Active */
	bool responded;             /* in this run */
	uint8_t silent;             /* queries in a row without a response */
	int64_t silent_us;          /* the first of them */
	int64_t moved_us;           /* last reading that shows traffic, of either end; 0: none */
	uint32_t now, peer;         /* ports of the fabric of the last step, or FABRIC_NONE */
	float tick_own, tick_to;    /* stall_tick_s() of both */
	double most_bytes_per_s;    /* data rate of the link, one way; 0: unknown */
};

/* The places that the traffic of a job passes, also those that are down now. */
struct job_paths {
	struct map places;          /* by job_place(): PATH_ bits; of a host its number from PATH_HOST_SHIFT on */
	unsigned trunks;            /* sending ports between switches */
};
enum { PATH_HOST = 1, PATH_LEAF = 2, PATH_SENDS = 4, PATH_RECEIVES = 8, PATH_SWITCH = 16, PATH_HOST_SHIFT = 8 };

/* job_place - key of a port; @num: 0: of a node */
static inline uint64_t job_place(uint64_t guid, uint8_t num)
{
	return map_mix(guid) ^ num;
}

/* What may make a job slower, in the order in which it is named. */
enum job_cause { JOB_CAUSE_LINK, JOB_CAUSE_ROUTES, JOB_CAUSE_SHARED, JOB_CAUSE_WAITS, JOB_CAUSE_RAIL, JOB_CAUSE_FABRIC,
		 JOB_CAUSE_HOSTS, JOB_CAUSES };
enum { JOB_CAUSE_SIZE = 256 };

struct watched_job {
	int64_t number;
	char id[80];
	uint64_t seen_step;
	struct health_time began;   /* when it was first seen; us 0: before this run */
	struct health_time active;  /* when it began to communicate after a pause of a minute or more; us 0: unknown */
	int64_t moved_us;           /* last time that it communicated; 0: never */
	struct job_watch *watch;    /* NULL: it has fewer than two hosts */
	int64_t interval_us;        /* for which the watch was created */
	const struct job_state *state; /* of the watch; NULL: not evaluated yet */
	struct job_member *members;
	struct job_port *ports;     /* by member */
	struct map member_of;       /* by job_place() */
	uint32_t member_count;
	const struct health_node **hosts; /* by number: an HCA of it */
	uint32_t host_count;
	bool resumed;               /* it communicated in this run: a restored finding does not hold any more */
	/* While a finding is open: */
	struct job_paths *paths;
	int64_t slower_us;          /* beginning of the slowdown that @causes are of; 0: none */
	int64_t looked_us;          /* when they were last looked for */
	char causes[JOB_CAUSES][JOB_CAUSE_SIZE]; /* "": not found */
};

/* The state of the rule. */
struct watched_jobs {
	struct watched_job **list;  /* in the order of health_input.jobs */
	size_t count;
	const struct health_sample **sample_of; /* by port of the fabric of the last step; NULL: none */
	size_t sample_capacity;
	int64_t fast_us;            /* between two readings between steps; 0: there are none */
	int64_t fast_at_us;         /* of the last one since the last step; 0: none */
	bool stepped;
	struct health_time changed; /* the last change of the topology that was seen; us 0: none */
	char change[80];            /* what it was: "2 links removed" */
	/* By member of the largest job. */
	struct job_reading *readings;
	bool *down;
	uint32_t member_capacity;
};

/* job_host_name - the name of a host of a job. */
const char *job_host_name(const struct watched_job *job, uint32_t host);

/* job_findings_step - hold, extend or close the findings of a job, by the state of its watch in this step. */
void job_findings_step(struct health *health, const struct watched_jobs *jobs, struct watched_job *job);

/* job_findings_end - close the findings of a job that has ended, or is suspended. */
void job_findings_end(struct health *health, const struct watched_job *job);

/* job_findings_explain - find the origins of a job's open findings. Runs after all rules, with what they found. */
void job_findings_explain(struct health *health, const struct watched_job *job);

/* job_paths_make - the places that traffic between members of one rail passes. Return: NULL: no memory. */
struct job_paths *job_paths_make(const struct health *health, const struct watched_job *job);
void job_paths_destroy(struct job_paths *paths);

/* job_path_at - the PATH_ bits of a place; 0: not on the paths. @paths: or NULL */
uint32_t job_path_at(const struct job_paths *paths, uint64_t guid, uint8_t num);

/*
 * job_path_of - how near to a job is a finding?
 * Return: 3: about a suspected host; 2: about another host of the job; 1: about its paths; 0: none of these
 */
unsigned job_path_of(const struct health *health, const struct watched_job *job, const struct finding *finding);

/*
 * job_find_origin - the open finding that explains why a job stalled, or became slower, at some time; or NULL
 * The nearest one, and of those the oldest.
 */
struct health_open_finding *job_find_origin(struct health *health, const struct watched_job *job,
					    enum finding_kind kind, struct health_time since);

/* job_find_causes - look for what changed when a job became slower. job->causes is set, and keeps what was found. */
void job_find_causes(struct health *health, const struct watched_jobs *jobs, struct watched_job *job);

/*
 * job_link_events - links of a job that went down, came back or had errors since a time
 * @ret: "link X - Y went down, and 2 more"; "": none
 * Return: their number.
 */
unsigned job_link_events(struct health *health, const struct watched_job *job, int64_t since_us,
			 char ret[JOB_CAUSE_SIZE]);

/* job_evidence_text - "stopped 2.0 s before the others", with TENSE. Return: @ret; "": none. */
const char *job_evidence_text(const struct watched_job *job, const struct job_suspect *suspect,
			      char ret[JOB_CAUSE_SIZE]);

#endif
