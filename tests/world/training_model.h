/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* training_model.h - jobs of training.h and the spans of their time; private to training_*.c */
#ifndef IBWIRE_TESTS_WORLD_TRAINING_MODEL_H
#define IBWIRE_TESTS_WORLD_TRAINING_MODEL_H

#include "tests/world/training.h"

enum span_kind { SPAN_QUIET, SPAN_LOAD, SPAN_STEP, SPAN_EVAL, SPAN_CHECKPOINT };

/* Of a host in an iteration of a pipeline, in seconds since it began; INFINITY: never. */
struct pipeline_host {
	float forward[2], backward[2]; /* when it sends its first and last micro-batch */
	float forward_share, backward_share; /* of its micro-batches that it sends at all */
	float ring_s;            /* all of its stage have entered the all-reduce */
	float ahead;             /* bytes that it sends before */
};

/*
 * A part of the time of a job. Times of spans are seconds of the job: the world's without the time in which
 * the job is suspended.
 */
struct span {
	double begin_s, end_s;   /* INFINITY: it does not end */
	enum span_kind kind;
	uint64_t number;         /* of the span, for its noise */
	double volume;           /* its bytes as a share of those of an iteration */
	double compute_s;
	unsigned buckets, stop_bucket; /* buckets after that are not begun; >= buckets: none stops */
	uint8_t stop_rails;      /* rails on which it stops */
	double stop_s;           /* transfers stand still from then on */
	uint32_t late;           /* the last host to enter the collectives */
	bool faulty;             /* the fault applies */
	double start_s[TRAINING_BUCKETS_MAX]; /* all have entered; INFINITY: never */
	double done_s[TRAINING_BUCKETS_MAX];  /* on all rails */
	float rate[TRAINING_BUCKETS_MAX][TRAINING_RAILS_MAX];  /* as a share of the link's */
	uint8_t uplink_limits[TRAINING_BUCKETS_MAX];           /* rails that uplinks make slower */
	struct pipeline_host *hosts; /* SPAN_STEP, SPAN_EVAL of a pipeline */
	/* At its beginning, since that of the job. */
	double steps, loads, checkpoints; /* volumes */
	double wire_s;                    /* time of transfers */
	double wait_s[TRAINING_RAILS_MAX];  /* part of it in which senders through shared uplinks wait */
	double slow_s;                    /* in which the sender to a slow link waits */
};

/* A link between leaf and spine that a job uses. */
struct uplink_use { uint32_t link; unsigned rail; float flows; };

/* The same, as another job uses it, too. */
struct shared_use { uint32_t link; unsigned rail; float own, other; size_t other_job; /* of others[] */ };

/* What depends on routes: before and after they are skewed. */
struct job_routes {
	struct uplink_use *uses;  /* by link */
	size_t use_count;
	struct shared_use *shared; /* by link */
	size_t shared_count;
	uint32_t *others;         /* the jobs of @shared */
	double *active;           /* work space of model_rates(), as many */
	size_t other_count;
	float most_own[TRAINING_RAILS_MAX]; /* own flows through one link */
	uint8_t *crossing;        /* by host: rails on which it sends through uplinks */
	bool alike;               /* @uses are those of rail 0, and the same on all others */
};

struct model_job {
	struct training_job is;
	uint32_t *hosts;
	float *speed;             /* by host: duration of its computation, relative */
	uint64_t seed;
	double now_s;             /* end of the last span */
	bool finished;            /* the last span does not end */
	bool settled;             /* its counters are in those of its hosts */
	unsigned prologue;        /* spans before iterations */
	double next_checkpoint_s, next_eval_s, eval_until_s;
	uint64_t number;
	struct span *spans;       /* a ring */
	struct pipeline_host *pipeline_hosts; /* of each slot */
	size_t capacity, first, count, hint;
	struct job_routes routes[2];
	double *scratch;          /* of a pipeline: 2 * micro_batches */
	/* The fault. */
	const struct training_fault *fault;
	double fault_s;           /* job time; INFINITY */
	uint32_t fault_index;     /* of its host in the job */
	double wait_from_s;       /* an HCA stopped: data is sent to it from then on; INFINITY */
	/* The truth. */
	uint64_t steps_before, steps_since;
	double sum_before, squares_before, sum_since, wire_share_sum;
	double last_traffic_s, pause_s, stopped_s, known_s;
	double duty;
};

struct host_job { uint32_t job, index; };

struct model_host {
	struct host_job *jobs;    /* by time */
	unsigned count, settled;
	struct training_counters base[TRAINING_RAILS_MAX]; /* of the first @settled jobs */
};

struct training {
	struct training_shape shape;
	struct model_job *jobs;
	uint32_t job_count;
	struct training_fault **faults;
	unsigned fault_count;
	struct model_host *hosts;
	int64_t now_us;
	double skew_s;            /* world time; INFINITY */
	uint32_t skew_leaf;
	unsigned skew_rail;
	bool routes_known;
};

/* Random bits that depend on the arguments only. */
static inline uint64_t model_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a + b * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* 0 <= x < 1 */
static inline double model_uniform(uint64_t a, uint64_t b)
{
	return (double)(model_mix(a, b) >> 11) / 9007199254740992.0;
}

/* Nearly normal: mean 0, standard deviation 1, within +-3.5. */
static inline double model_normal(uint64_t bits)
{
	int64_t sum = (int64_t)(bits & 0xffff) + (int64_t)(bits >> 16 & 0xffff) + (int64_t)(bits >> 32 & 0xffff) +
		      (int64_t)(bits >> 48);

	return (double)(sum - 131070) / 37837.0;
}

/* Time of the job at a time of the world, and the reverse: the later one where it was suspended. */
double model_job_time(const struct model_job *job, double world_s);
double model_world_time(const struct model_job *job, double job_s);

/* model_noise - duration of the computation of a host in a span, relative */
double model_noise(const struct model_job *job, const struct span *span, uint32_t index);

/* Bytes that a member sends in an all-reduce of @bytes before the last host has entered it. */
double model_ahead(const struct model_job *job, const struct span *span, uint32_t index, double bytes);

/* When a bucket is ready on a host whose computation takes @noise times span->compute_s. */
double model_ready(const struct model_job *job, const struct span *span, unsigned bucket, double noise);

/* The span of a job at a job time; it must exist. */
const struct span *model_span_at(struct model_job *job, double job_s);

/* model_job_advance - append the next span. false: no memory */
bool model_job_advance(struct training *world, struct model_job *job, double horizon_s);

/* model_routes - which uplinks the jobs use, and which of them they share. false: no memory */
bool model_routes(struct training *world);

/*
 * model_rates - rates of a job's transfers that begin at a time
 * @ret:        by rail, as a share of the rate of links
 * @ret_limits: rails that uplinks make slower
 */
void model_rates(struct training *world, const struct model_job *job, double job_s, float ret[TRAINING_RAILS_MAX],
		 uint8_t *ret_limits);

void model_routes_done(struct job_routes *routes);

#endif
