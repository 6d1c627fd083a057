/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * training.h - a simulated world of training jobs: what each HCA port sends and receives at any time
 *
 * A model of processes. The process of each host computes, for a time with noise and of its own speed, and then
 * enters a collective operation, which makes progress only when all participants have entered it, as fast as
 * links and shared uplinks allow. Counters follow from these events. The model shares no code and no
 * assumption with analysis/rhythm and analysis/job_watch, which are tested with it.
 *
 * Hosts have one HCA port per rail. Each rail of a group of hosts has a leaf switch, whose uplinks lead to
 * spines; a route depends on its destination only. A member is an HCA port: host * rails + rail.
 *
 * Not in the model: packets, congestion control, adaptive routing and retransmission (but for the first seconds after
 * an HCA stops); rates that change within one transfer; traffic of data loading during iterations; NVLink inside a
 * host, whose ranks are one process; collectives of tensor parallelism between hosts; micro-batches that
 * interleave forward and backward passes (they fill and drain the pipeline); rails used unequally by a job; two
 * jobs on one host; spines that fail; counters that are reset.
 *
 * Times are microseconds since the beginning of the world.
 */
#ifndef IBWIRE_TESTS_WORLD_TRAINING_H
#define IBWIRE_TESTS_WORLD_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct training;

enum { TRAINING_RAILS_MAX = 8, TRAINING_BUCKETS_MAX = 8, TRAINING_NO_JOB = UINT32_MAX };

struct training_shape {
	uint32_t hosts;
	unsigned rails, hosts_per_leaf;
	unsigned uplinks;          /* of each leaf switch */
	double link_bytes_per_s;   /* of HCA ports and uplinks */
	uint64_t seed;
};

enum training_kind {
	TRAINING_RING,      /* data parallel: ring all-reduce in buckets */
	TRAINING_PIPELINE,  /* stages with micro-batches, and a ring all-reduce of each stage */
	TRAINING_SHARP,     /* data parallel: switches reduce */
	TRAINING_ALLTOALL,  /* experts on all hosts */
	TRAINING_KINDS,
};

struct training_job {
	enum training_kind kind;
	int64_t begin_us;             /* announced to the monitor */
	int64_t stop_us;              /* its last iteration ends after that */
	int64_t end_us;               /* announced; processes and traffic have ended before */
	const uint32_t *hosts;        /* in the order of the ring; copied */
	uint32_t host_count;
	double compute_s;             /* of an iteration */
	double noise, common_noise;   /* standard deviation of that time as a share of it: of one host, of all */
	double step_bytes;            /* sent by each member in the collectives of an iteration */
	unsigned buckets;             /* collectives in an iteration */
	bool overlapped;              /* they run during the computation; else at its end, or all-to-all per layer */
	unsigned stages, micro_batches; /* TRAINING_PIPELINE: host i is stage i % stages of replica i / stages */
	double micro_bytes;           /* sent by each member to the next stage, and back, per micro-batch */
	double start_s;               /* until it loads data */
	double load_s, load_bytes;    /* received by each member */
	double compile_s;             /* the first iteration takes longer by that */
	double checkpoint_every_s, checkpoint_s; /* INFINITY: none */
	double checkpoint_bytes;      /* sent by each member of the hosts that write */
	uint32_t checkpoint_hosts;    /* that write through these ports, from the first on */
	double eval_every_s, eval_s;  /* INFINITY: none */
	int64_t suspend_us, resume_us; /* the batch system suspends it; 0: never */
};

enum training_fault_kind {
	TRAINING_SLOW_HOST,      /* computes longer by @factor */
	TRAINING_SLOW_RAIL,      /* the link of a member has @factor of its rate */
	TRAINING_SKEWED_ROUTES,  /* routes to all hosts of a leaf, on one rail, share one uplink; one in a world */
	TRAINING_PROCESS_STOPS,
	TRAINING_HCA_STOPS,      /* one member */
	TRAINING_LEAF_STOPS,     /* the leaf switch of a member */
	TRAINING_RIVAL,          /* another job begins; added by the caller, described here for the truth only */
	TRAINING_FAULT_KINDS,
};

struct training_fault {
	enum training_fault_kind kind;
	uint32_t job;            /* each job has at most one fault */
	int64_t at_us;
	uint32_t host;           /* of the world */
	unsigned rail;
	double factor;
	double resolution_s;     /* of who could notice: the interval of sweeps */
	bool unreadable;         /* TRAINING_HCA_STOPS: it does not respond to queries either */
};

/* Since the beginning of the world. Those of a member that is not readable stay as they are. */
struct training_counters {
	double xmit_bytes, rcv_bytes;
	double wait_own_s, wait_to_s; /* PortXmitWait of the member, and of the switch port that sends to it */
};

/* What happened to a job. */
struct training_truth {
	double period_s;         /* mean duration of iterations before the fault (or until now) */
	double spread_s;         /* its standard deviation */
	double wire_share;       /* share of an iteration in which bytes are sent by most members */
	double pause_s;          /* longest time without traffic of the job, since its second iteration */
	int64_t last_us;         /* a stop: its last traffic; 0: it did not stop (yet) */
	double slower;           /* mean duration of iterations since the fault / @period_s; NAN: none since then */
	/*
	 * When the consequence of the fault could be known. A stop: when the job has been without traffic for longer
	 * than ever before (last_us + pause_s). A slowdown: the end of the first iteration k >= 3 since the
	 * fault for which the mean of those k is longer than before by 3 %, and by 4 spread_s / sqrt(k), and the delay
	 * that they have accumulated is longer than @resolution_s of the fault, or than the pause in an iteration:
	 * sweeps cannot tell when, between two of them or in a pause, bytes would have been sent. 0: not (yet)
	 */
	int64_t known_us;
};

/* training_create - Return: a world without jobs; NULL: no memory */
struct training *training_create(const struct training_shape *shape);
void training_destroy(struct training *world);

/*
 * training_add - add a job; before the first training_advance() beyond its begin_us
 * Hosts must not be in two jobs at a time, and jobs of a host are added in the order of their time.
 * Return: its number, counted from 0; TRAINING_NO_JOB: no memory
 */
uint32_t training_add(struct training *world, const struct training_job *job);

/* training_break - before the first training_advance() beyond its at_us */
void training_break(struct training *world, const struct training_fault *fault);

/*
 * training_advance - let time pass; counters of the last ten minutes before @to_us can be read then
 * Return: false: no memory
 */
bool training_advance(struct training *world, int64_t to_us);

/* training_counters - counters of a member; times before the end of training_advance() */
void training_counters(struct training *world, uint32_t member, int64_t at_us, struct training_counters *ret);

/* training_read - bytes that all members of a host sent in [from_us, to_us) */
double training_read(struct training *world, int64_t from_us, int64_t to_us, uint32_t host);

/* training_readable - whether a member responds to queries at a time */
bool training_readable(const struct training *world, uint32_t member, int64_t at_us);

/* training_job_at - the job that runs on a host at a time, from begin_us to end_us; TRAINING_NO_JOB */
uint32_t training_job_at(const struct training *world, uint32_t host, int64_t at_us);

void training_truth(const struct training *world, uint32_t job, struct training_truth *ret);

/*
 * training_draw - a random job, as it could be: period of 0.4 to 20 s, 5 to 60 % of it on the wire
 * @count:  hosts; a pipeline may use fewer of them
 */
void training_draw(uint64_t seed, const struct training_shape *shape, const uint32_t *hosts, uint32_t count,
		   int64_t begin_us, int64_t stop_us, struct training_job *ret);

/*
 * training_unannounced - a world for the detection of jobs without a scheduler: 20 jobs of random kinds and sizes on
 * 320 hosts with 4 rails, some of which are idle; all jobs run from the 60th second on. training_job_at() is the truth.
 */
struct training *training_unannounced(uint64_t seed);

#endif
