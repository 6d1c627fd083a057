/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Traffic that falls suddenly: of a job, of the fabric, of a rail, of the uplinks of a switch. It is never an alarm:
 * jobs end.
 *
 * A subject is compared with its own recent mean, over the ports whose traffic is known now: a port that does not
 * respond is neither high nor low. Pauses that end, as for a checkpoint or between phases of a job, are reported once;
 * after that, only one that is clearly longer than those before. What falls together is one finding, of the widest
 * subject; of a running job, if most of the traffic that stopped was that of such jobs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "analysis/rate.h"
#include "base/array.h"
#include "fabric/shape.h"

/* Shares of the mean: below the first it has fallen, above the second it is back. */
#define LOW 0.2
#define BACK 0.4
/* A subject that carried less than this share of its capacity is idle. */
#define IDLE 0.005
/* A wider fall is that of the jobs if they had this share of the traffic that stopped. */
#define JOBS_LEAST 0.8
/* Less is known of it than this share of its former traffic: nothing is concluded. */
#define KNOWN_LEAST 0.5

enum { LOW_AFTER_US = 20 * SECOND_US, TOGETHER_US = 30 * SECOND_US };
enum { KNOWN_AFTER_US = MINUTE_US, MEAN_US = 5 * MINUTE_US };
/* Maximum time that it stays open. */
#define OPEN_MOST_US (10 * MINUTE_US)
/* After a longer pause another job begins; after this time without one, those before are forgotten. */
#define PAUSE_MOST_US (30 * MINUTE_US)
#define FORGET_US (2 * HOUR_US)

/* Of whose traffic: running jobs first, then the widest first. */
enum scope { OF_JOB, OF_FABRIC, OF_RAIL, OF_UPLINKS, SCOPES };

/* Sums over ports whose traffic is known, by enum balance_direction. */
struct moved { double now[2], mean[2], unknown_mean[2], capacity; unsigned known, ports; };

struct subject {
	uint8_t scope, tag;          /* tag: of the finding that it is part of; 0: none */
	char name[64];               /* of a job: its number */
	const struct health_node *node; /* the switch, or NULL */
	const struct health_job *job;   /* of this step, or NULL */
	uint64_t first_step, seen_step;
	double job_mean[2];          /* of a job, since it is known: that of its ports may be of an earlier one */
	bool of_jobs;                /* low with a job whose fall was reported */
	double before, after;        /* the mean when it fell, and what is left, bytes per second */
	unsigned known, ports;
	int64_t active_us;           /* since when its mean is that of an active subject; 0: it is idle */
	struct health_time low;      /* since when it is low; 0: it is not */
	bool brief;                  /* it was active for a moment only before: reported beside a fault only */
	bool by_fault;               /* something failed at that time */
	int64_t quiet_us;            /* since when it is low, also after its mean became as low; 0: it is not */
	int64_t pause_us, paused_us; /* the longest pause, and the end of the last */
};

/* What fell together: its text is that of the moment in which it was found. */
struct fall {
	uint8_t scope, tag;          /* 0: not used */
	struct health_time began;
	char subject[100], text[240];
	bool job_ended;
	double before, after, back;  /* bytes per second; back: of the subjects that are not low any more */
	unsigned low, of;            /* subjects that are still low, in this step; at first */
};

enum { FALLS_MAX = 8 };

struct traffic {
	struct subject *subjects;
	size_t count, capacity;
	struct map by_key;
	struct fall falls[FALLS_MAX];
	uint8_t tag;
};

static uint64_t key_of_name(enum scope scope, const char *name)
{
	uint64_t key = map_mix(scope + 1);

	while (*name)
		key = map_mix(key ^ (unsigned char)*name++);
	return key;
}

/* Return: NULL: no memory. */
static struct subject *find_subject(struct health *health, struct traffic *state, enum scope scope, const char *name)
{
	uint64_t key = key_of_name(scope, name);
	struct subject *grown;
	uint32_t at;

	if (map_get(&state->by_key, key, &at))
		return &state->subjects[at];
	grown = array_grow(state->subjects, state->count, &state->capacity, sizeof(*grown));
	state->subjects = grown ? grown : state->subjects;
	if (!grown || map_put(&state->by_key, key, (uint32_t)state->count) < 0) {
		health->failed = true;
		return NULL;
	}
	state->subjects[state->count] = (struct subject){ .scope = scope, .first_step = health->step };
	snprintf(state->subjects[state->count].name, sizeof(state->subjects[0].name), "%s", name);
	return &state->subjects[state->count++];
}

/* --- ports --- */

static void update_now(struct health *health)
{
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		port->moves[0] = port->moves[1] = NAN;
	for (size_t i = 0; i < health->input->sample_count; i++) {
		const struct health_sample *sample = &health->input->samples[i];
		struct health_port *port = health->port_of[sample->port];

		if (sample->status == SAMPLE_DOWN) {
			port->moves[0] = port->moves[1] = 0;
		} else if (sample->delta) {
			port->moves[0] = (float)measure_exact(rate_bytes_per_s(sample->delta, COUNTER_XMIT_DATA));
			port->moves[1] = (float)measure_exact(rate_bytes_per_s(sample->delta, COUNTER_RCV_DATA));
		}
	}
}

/* What it sends (0) or receives (1), also as the other end counted it. */
static double moves_now(const struct health_port *port, unsigned way)
{
	return isnan(port->moves[way]) && port->peer ? port->peer->moves[!way] : port->moves[way];
}

/* The weight of this step in a mean; at first, that is the mean of all steps. */
static double mean_share(const struct health *health, uint64_t first_step)
{
	return fmax(1 - exp(-(double)(health->now_us - health->last_us) / MEAN_US),
		    1.0 / (double)(health->step - first_step + 1));
}

static void update_means(struct health *health)
{
	double share = mean_share(health, 0);

	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		for (unsigned way = 0; way < 2; way++)
			if (!isnan(moves_now(port, way)))
				port->mean[way] += (float)(share * (moves_now(port, way) - port->mean[way]));
}

static void add_port(struct moved *sum, const struct health_port *port)
{
	bool known = !isnan(moves_now(port, 0)) && !isnan(moves_now(port, 1));

	sum->ports++;
	sum->known += known;
	sum->capacity += (double)link_rate_bits_per_s(port->width, (enum link_speed)port->speed) / 8;
	for (unsigned way = 0; way < 2; way++) {
		sum->now[way] += known ? moves_now(port, way) : 0;
		*(known ? &sum->mean[way] : &sum->unknown_mean[way]) += port->mean[way];
	}
}

/* --- subjects --- */

static bool is_known(const struct moved *sum, unsigned way)
{
	return sum->mean[way] > IDLE * sum->capacity &&
	       sum->mean[way] >= KNOWN_LEAST * (sum->mean[way] + sum->unknown_mean[way]);
}

/* The traffic is back after a pause. */
static void end_quiet(const struct health *health, struct subject *subject)
{
	int64_t lasted_us = health->now_us - subject->quiet_us;

	subject->quiet_us = 0;
	/* What a fault caused is no habit of the job. */
	if (subject->by_fault)
		return;
	if (lasted_us > PAUSE_MOST_US)
		subject->pause_us = 0;
	else if (lasted_us > subject->pause_us)
		subject->pause_us = lasted_us;
	subject->paused_us = health->now_us;
}

static void begin_low(const struct health *health, struct subject *subject, const struct moved *sum, unsigned way)
{
	subject->low = health_now(health);
	if (!subject->quiet_us)
		subject->quiet_us = health->now_us;
	subject->brief = health->now_us - subject->active_us < KNOWN_AFTER_US;
	subject->by_fault = subject->of_jobs = false;
	subject->before = sum->mean[way];
	subject->known = sum->known;
	subject->ports = sum->ports;
}

static void step_subject(const struct health *health, struct traffic *state, struct subject *subject,
			 const struct moved *sum)
{
	unsigned way = sum->mean[1] > sum->mean[0];
	double now = sum->now[way];
	bool known = is_known(sum, way);

	subject->seen_step = health->step;
	subject->active_us = !known ? 0 : subject->active_us ? subject->active_us : health->now_us;
	if (health->now_us - subject->paused_us > FORGET_US)
		subject->pause_us = 0;
	if (subject->quiet_us && now >= BACK * subject->before)
		end_quiet(health, subject);
	if (!subject->low.us && known && now < LOW * sum->mean[way])
		begin_low(health, subject, sum, way);
	subject->after = now;
	/* The traffic is back, its mean has become as low, or it is not known. */
	if (!subject->low.us || (known && now <= BACK * sum->mean[way]))
		return;
	for (unsigned i = 0; i < FALLS_MAX && subject->tag; i++)
		state->falls[i].back += state->falls[i].tag == subject->tag ? now : 0;
	subject->low.us = 0;
	subject->tag = 0;
}

static void step_jobs(struct health *health, struct traffic *state)
{
	for (size_t i = 0; i < health->input->job_count; i++) {
		const struct health_job *job = &health->input->jobs[i];
		struct subject *subject;
		struct moved sum = { 0 };
		char number[32];

		snprintf(number, sizeof(number), "%lld", (long long)job->number);
		subject = find_subject(health, state, OF_JOB, number);
		if (!subject)
			return;
		for (size_t j = 0; j < job->port_count; j++)
			add_port(&sum, health->port_of[job->ports[j]]);
		for (unsigned way = 0; way < 2; way++) {
			double now = sum.now[way], share = mean_share(health, subject->first_step);

			sum.mean[way] = fmin(sum.mean[way], subject->job_mean[way]);
			subject->job_mean[way] += share * (now - subject->job_mean[way]);
		}
		subject->job = job;
		step_subject(health, state, subject, &sum);
	}
}

static void step_fabric(struct health *health, struct traffic *state)
{
	const struct fabric *fabric = health->input->fabric;
	struct subject *subject = find_subject(health, state, OF_FABRIC, "fabric");
	struct moved sum = { 0 };

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct node *node = &fabric->nodes[fabric->ports[i].node];

		if (node->type == NODE_CA && !node_is_aggregation(node) && fabric->ports[i].peer != FABRIC_NONE)
			add_port(&sum, health->port_of[i]);
	}
	if (subject)
		step_subject(health, state, subject, &sum);
}

static void step_rails(struct health *health, struct traffic *state)
{
	const struct shape *shape = health->input->shape;

	for (size_t i = 0; i < shape->rail_count && shape->rail_count > 1; i++) {
		const struct shape_rail *rail = &shape->rails[i];
		struct subject *subject = find_subject(health, state, OF_RAIL, rail->name);
		struct moved sum = { 0 };

		for (uint32_t j = rail->first; j < rail->first + rail->count; j++)
			add_port(&sum, health->port_of[shape->rail_ports[j]]);
		if (subject)
			step_subject(health, state, subject, &sum);
	}
}

static void step_uplinks(struct health *health, struct traffic *state)
{
	const struct shape *shape = health->input->shape;

	for (size_t i = 0; i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];
		const struct health_node *node;
		struct subject *subject;
		struct moved sum = { 0 };
		char guid[32];

		if (group->kind != GROUP_UP)
			continue;
		node = health->port_of[shape->members[group->first]]->node;
		snprintf(guid, sizeof(guid), "%llx", (unsigned long long)node->guid);
		subject = find_subject(health, state, OF_UPLINKS, guid);
		for (uint32_t j = group->first; j < group->first + group->count; j++)
			add_port(&sum, health->port_of[shape->members[j]]);
		if (!subject)
			return;
		subject->node = node;
		step_subject(health, state, subject, &sum);
	}
}

/* --- falls --- */

static bool fell_together(const struct subject *a, const struct subject *b)
{
	return a->quiet_us && llabs(a->quiet_us - b->quiet_us) <= TOGETHER_US;
}

/* The share of a job's ports that are in another subject. Above the leaves that is not known: all. */
static double share_in(const struct health *health, const struct health_job *job, const struct subject *subject)
{
	const struct shape *shape = health->input->shape;
	const struct fabric *fabric = health->input->fabric;
	size_t in = 0;

	if (subject->scope == OF_FABRIC ||
	    (subject->node && subject->node->now != FABRIC_NONE && shape->nodes[subject->node->now].tier > 1))
		return 1;
	for (size_t i = 0; i < job->port_count; i++) {
		uint32_t port = job->ports[i], peer = fabric->ports[port].peer, rail = shape->ports[port].rail;

		if (subject->scope == OF_RAIL)
			in += rail != SHAPE_NONE && !strcmp(shape->rails[rail].name, subject->name);
		else
			in += peer != FABRIC_NONE && fabric->ports[peer].node == subject->node->now;
	}
	return job->port_count ? (double)in / (double)job->port_count : 0;
}

/* Most of the traffic that stopped was that of running jobs, whose falls are reported. */
static bool is_of_jobs(const struct health *health, const struct traffic *state, struct subject *subject)
{
	double lost = 0, share;
	bool reported = false;

	if (subject->scope == OF_JOB || subject->of_jobs)
		return subject->of_jobs;
	for (size_t i = 0; i < state->count; i++) {
		const struct subject *job = &state->subjects[i];

		if (job->scope != OF_JOB || job->brief || !fell_together(job, subject))
			continue;
		share = share_in(health, job->job, subject);
		lost += share * fmax(job->before - job->after, 0);
		reported |= share > 0 && job->tag;
	}
	if (lost < JOBS_LEAST * (subject->before - subject->after))
		return false;
	/* Also after the job has ended. */
	subject->of_jobs = reported;
	return lost > 0;
}

/* Of a wider subject that fell at the same time. */
static bool is_covered(const struct health *health, const struct traffic *state, struct subject *subject)
{
	if (is_of_jobs(health, state, subject))
		return true;
	for (size_t i = 0; i < state->count; i++) {
		const struct subject *wider = &state->subjects[i];

		/* Also after its mean became as low, which may be before that of a narrower one. */
		if (wider->scope != OF_JOB && wider->scope < subject->scope && fell_together(wider, subject))
			return true;
	}
	return false;
}

static bool is_new(const struct health *health, const struct traffic *state, struct subject *subject, bool by_fault)
{
	return subject->low.us && (!subject->brief || by_fault) && !subject->tag && !is_covered(health, state, subject);
}

static bool fell_by_fault(const struct health *health, struct health_time since)
{
	return health_event_root(health, since.us, EVENT_TRAFFIC_FELL) != NULL;
}

/* It is low for long enough, and without a fault for longer than its pauses are. */
static bool is_due(const struct health *health, const struct traffic *state, struct subject *subject)
{
	int64_t least_us = 2 * health->input->interval_us > LOW_AFTER_US ? 2 * health->input->interval_us :
									   LOW_AFTER_US;
	bool by_fault;

	if (!subject->low.us || health->now_us - subject->low.us < least_us)
		return false;
	by_fault = fell_by_fault(health, subject->low);
	return is_new(health, state, subject, by_fault) &&
	       (by_fault || health->now_us - subject->low.us >= 2 * subject->pause_us);
}

static const char *name_of(const struct subject *subject)
{
	return subject->job ? subject->job->id : subject->node ? subject->node->name : subject->name;
}

/* "job 4711", "jobs 4711, 4712 ...". */
static void name_jobs(const struct traffic *state, struct fall *fall)
{
	size_t len = (size_t)snprintf(fall->subject, sizeof(fall->subject), "job%s", fall->of > 1 ? "s" : "");

	for (size_t i = 0; i < state->count; i++) {
		const struct subject *subject = &state->subjects[i];
		int more;

		if (subject->tag != fall->tag)
			continue;
		more = snprintf(fall->subject + len, sizeof(fall->subject) - len, "%s %s",
				strchr(fall->subject, ' ') ? "," : "", name_of(subject));
		if (len + (size_t)more + sizeof(" ...") > sizeof(fall->subject)) {
			snprintf(fall->subject + len, sizeof(fall->subject) - len, " ...");
			return;
		}
		len += (size_t)more;
	}
}

/* "rail mlx5_1", "the uplinks of 12 switches", and of how many ports it is known. */
static void describe(const struct traffic *state, struct fall *fall, const struct subject *first, unsigned known,
		     unsigned ports)
{
	static const char *const many[SCOPES] = { [OF_RAIL] = "rails", [OF_UPLINKS] = "switches" };
	char before[32], after[32], of[64] = "";

	if (fall->scope == OF_JOB)
		name_jobs(state, fall);
	else if (fall->scope == OF_FABRIC)
		snprintf(fall->subject, sizeof(fall->subject), "fabric");
	else if (fall->of > 1)
		snprintf(fall->subject, sizeof(fall->subject), "%s%u %s",
			 fall->scope == OF_UPLINKS ? "uplinks of " : "", fall->of, many[fall->scope]);
	else
		snprintf(fall->subject, sizeof(fall->subject), "%s%.64s%s", fall->scope == OF_RAIL ? "rail " : "",
			 name_of(first), fall->scope == OF_UPLINKS ? " uplinks" : "");
	if (known < ports)
		snprintf(of, sizeof(of), " (at %u of %u ports; the others are not known)", known, ports);
	snprintf(fall->text, sizeof(fall->text), "traffic of %s%s fell from %s to %s%s",
		 fall->scope == OF_JOB ? "" : "the ", fall->subject,
		 rate_format_bits(fall->before, before, sizeof(before)),
		 rate_format_bits(fall->after, after, sizeof(after)), of);
}

/* All that fell at the same time is one finding. */
static void begin_fall(struct health *health, struct traffic *state, const struct subject *due)
{
	const int64_t low_us = due->low.us;
	struct fall *fall = &state->falls[0];
	bool by_fault = fell_by_fault(health, due->low);
	unsigned known = 0, ports = 0;

	for (unsigned i = 1; i < FALLS_MAX && fall->tag; i++)
		if (!state->falls[i].tag || state->falls[i].began.us < fall->began.us)
			fall = &state->falls[i];
	do
		state->tag = state->tag < UINT8_MAX ? (uint8_t)(state->tag + 1) : 1;
	while (health_find_tag(health, FINDING_TRAFFIC_FELL, state->tag));
	*fall = (struct fall){ .scope = due->scope, .tag = state->tag, .began = due->low };
	for (size_t i = 0; i < state->count; i++) {
		struct subject *subject = &state->subjects[i];

		if (subject->scope != fall->scope || !is_new(health, state, subject, by_fault) ||
		    llabs(subject->low.us - low_us) > TOGETHER_US)
			continue;
		subject->tag = fall->tag;
		fall->before += subject->before;
		fall->after += subject->after;
		fall->of++;
		known += subject->known;
		ports += subject->ports;
	}
	describe(state, fall, due, known, ports);
}

/* The ports of a fall: of its jobs, of its rails, or one of each switch. */
static void add_places(const struct health *health, const struct traffic *state, const struct fall *fall,
		       struct health_set *set)
{
	const struct shape *shape = health->input->shape;

	for (size_t i = 0; i < state->count; i++) {
		const struct health_job *job = state->subjects[i].job;

		if (state->subjects[i].tag != fall->tag)
			continue;
		if (fall->scope == OF_UPLINKS)
			health_set_add_node(set, state->subjects[i].node);
		for (size_t j = 0; job && j < job->port_count; j++)
			health_set_add(set, health->port_of[job->ports[j]]);
	}
	for (size_t i = 0; i < shape->rail_count && fall->scope == OF_RAIL; i++) {
		const struct shape_rail *rail = &shape->rails[i];
		uint32_t at;

		if (!map_get(&state->by_key, key_of_name(OF_RAIL, rail->name), &at) ||
		    state->subjects[at].tag != fall->tag)
			continue;
		for (uint32_t j = rail->first; j < rail->first + rail->count; j++)
			health_set_add(set, health->port_of[shape->rail_ports[j]]);
	}
}

static void hold_fall(struct health *health, const struct traffic *state, const struct fall *fall)
{
	const struct health_case what = {
		.kind = FINDING_TRAFFIC_FELL, .severity = FINDING_INFO, .tag = fall->tag,
		.cause = fall->scope == OF_JOB ? FINDING_CAUSE_JOB : "traffic",
		.since = fall->began, .subject = fall->subject };
	struct health_open_finding *open;
	struct health_set set = { 0 };

	add_places(health, state, fall, &set);
	open = health_hold(health, &what);
	health_list_set(open, &set);
	health_text(open, "%s", fall->text);
	health_number(open, "before_bytes_per_s", fall->before);
	health_number(open, "after_bytes_per_s", fall->after);
}

/* All of the traffic is back, or its jobs have ended; the text of a closed finding has the time. */
static void end_fall(struct health *health, const struct fall *fall)
{
	struct health_open_finding *open = health_find_tag(health, FINDING_TRAFFIC_FELL, fall->tag);
	char lasted[32], rate[32];

	if (open && fall->back >= BACK * fall->before)
		snprintf(open->past, sizeof(open->past), "%s; %s again after %s", fall->text,
			 rate_format_bits(fall->back, rate, sizeof(rate)),
			 health_duration(health->now_us - fall->began.us, lasted));
	else if (open && fall->job_ended)
		snprintf(open->past, sizeof(open->past), "%s; the job ended %s later", fall->text,
			 health_duration(health->now_us - fall->began.us, lasted));
}

static void step_falls(struct health *health, struct traffic *state)
{
	for (unsigned i = 0; i < FALLS_MAX; i++) {
		struct fall *fall = &state->falls[i];
		bool by_fault = fall->tag && fell_by_fault(health, fall->began);

		fall->low = 0;
		for (size_t j = 0; j < state->count && fall->tag; j++) {
			struct subject *subject = &state->subjects[j];

			fall->low += subject->tag == fall->tag;
			subject->by_fault |= subject->tag == fall->tag && by_fault;
		}
		if (fall->low && health->now_us - fall->began.us < OPEN_MOST_US) {
			hold_fall(health, state, fall);
		} else if (fall->tag) {
			end_fall(health, fall);
			fall->tag = 0;
		}
	}
}

/* Subjects that were not there in this step: those of jobs are removed. */
static void forget_unseen(struct health *health, struct traffic *state)
{
	size_t seen = 0, known = state->count;

	for (size_t i = 0; i < known; i++) {
		struct subject *subject = &state->subjects[i];

		if (subject->seen_step != health->step && subject->scope == OF_JOB) {
			for (unsigned j = 0; j < FALLS_MAX; j++)
				state->falls[j].job_ended |= subject->tag && state->falls[j].tag == subject->tag;
			continue;
		}
		if (subject->seen_step != health->step)
			subject->low.us = subject->tag = 0;
		if (seen < i)
			state->subjects[seen] = *subject;
		seen++;
	}
	if (seen == known)
		return;
	state->count = seen;
	map_done(&state->by_key);
	for (size_t i = 0; i < seen; i++) {
		const struct subject *subject = &state->subjects[i];

		if (map_put(&state->by_key, key_of_name((enum scope)subject->scope, subject->name), (uint32_t)i) < 0)
			health->failed = true;
	}
}

static void sweep(struct health *health, void *of_rule)
{
	struct traffic *state = of_rule;

	update_now(health);
	step_jobs(health, state);
	step_fabric(health, state);
	step_rails(health, state);
	step_uplinks(health, state);
	update_means(health);
	forget_unseen(health, state);
	for (enum scope scope = OF_JOB; scope < SCOPES; scope++)
		for (size_t i = 0; i < state->count; i++)
			if (state->subjects[i].scope == scope && is_due(health, state, &state->subjects[i]))
				begin_fall(health, state, &state->subjects[i]);
	step_falls(health, state);
}

static void done(void *of_rule)
{
	free(((struct traffic *)of_rule)->subjects);
	map_done(&((struct traffic *)of_rule)->by_key);
}

const struct health_rule health_traffic = { .state_size = sizeof(struct traffic), .sweep = sweep, .done = done };
