/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* state.h - what is kept of a watched job between sweeps; private to analysis/jobs/ */
#ifndef IBWIRE_ANALYSIS_JOBS_STATE_H
#define IBWIRE_ANALYSIS_JOBS_STATE_H

#include "analysis/job_watch.h"

enum {
	JOB_POINTS = 600,         /* of the ring: 10 min at 1 s, 100 min at 10 s */
	JOB_HISTORY = 12,         /* rhythms of the last hour */
	JOB_LONGEST = 12,         /* pauses that are kept: the longest */
};

/*
 * Iterations, each of which sends the same number of bytes. Where traffic pauses in each of them, an iteration begins
 * with the first traffic after the pause, and is proven by its bytes; else it takes as long as those bytes do.
 */
struct job_iterations {
	bool tracked;             /* a period is known */
	bool by_period;           /* of a period; else of a fixed number of bytes */
	bool by_gaps;
	double bytes;             /* of an iteration */
	double high;              /* rate of bursts, bytes per second */
	double gap_s;             /* usual longest gap of an iteration */
	/* Windows: the one before the last, the last, and the current one. */
	struct rhythm_point windows[3];
	unsigned window_count;
	double total;             /* bytes until windows[1] begins */
	double gap_now_s;         /* length of the gap before windows[1] */
	bool anchored;
	double anchor_bytes, anchor_s; /* an iteration began here */
	double candidate;         /* bytes of a period that was found once */
	unsigned differs;         /* times in a row that another number of bytes was learnt */
	double foreign;           /* share of gaps that begin no iteration: average */
	double gap_newest_s;      /* length of the gap that the current window is in */
	bool flushed;             /* members ended their iteration in this gap */
	int64_t flush_us;         /* members ended an iteration */
	double learnt;            /* number of them */
};

enum {
	JOB_RECENT = 64,          /* iterations that are compared with those before */
	JOB_BLOCK = 16,           /* iterations of a block */
	JOB_BLOCKS = 128,         /* blocks that make the speed of before */
	JOB_SPANS = 10,           /* numbers of iterations that are tested */
};

struct job_duration { double end_s; float seconds; };

struct job_speed {
	struct job_duration recent[JOB_RECENT]; /* a ring without those of before a break: the newest at count - 1 */
	unsigned recent_count;
	float block[JOB_BLOCK];   /* of the current block */
	unsigned block_count, block_waits; /* iterations in it, and after it until it is learnt */
	struct job_block { double end_s; float mean, deviation; } blocks[JOB_BLOCKS];
	unsigned kept, oldest;
	double usual_s, deviation_s; /* of an iteration before; 0: not learnt */
	double learnt_from;       /* number of iterations */
	unsigned fast;            /* iterations in a row at the usual speed */
	double new_since_s;       /* since when it is slower */
};

enum {
	JOB_SCALES = 4,           /* lengths of blocks */
	JOB_BLOCKS_BEST = 5,      /* of which the best is compared; they span twice the length of one */
	JOB_BESTS = 160,          /* that are learnt */
};

/* What is sent in blocks of one length, which overlap. */
struct job_scale {
	struct job_rate { double end_s; float rate, gap_s; } blocks[JOB_BLOCKS_BEST]; /* the newest at count - 1 */
	unsigned count, waits;    /* blocks since a best was learnt */
	struct job_best { double end_s; float best, rate, gap_s, own_gap_s; } bests[JOB_BESTS]; /* a ring */
	unsigned kept, oldest;
	unsigned learnt;          /* bests that the following is from */
	float usual, lowest, deviation; /* bests: median, least, standard deviation; bytes per second */
	float middle, spread;     /* median of blocks; their standard deviation as a share of @usual */
	float gap_s;              /* usual longest gap in a block */
};

struct job_pace {
	struct job_scale scales[JOB_SCALES];
	int64_t from_us;          /* windows before are not comparable */
	const struct job_scale *found; /* the current slowdown; NULL: none, or iterations show it */
	double back;              /* rate above which it is over */
	double back_s;            /* since when it is above that, in the time of points; 0: it is not */
};

struct job_member_state {
	int64_t busy_us;          /* CLOCK_BOOTTIME of the last reading that shows traffic; 0: none */
	int64_t sent_us;          /* of the last one in which it sent */
	float last_bytes;         /* sent in the last window */
	float wait_to_most;       /* in the current pause */
	float wait_to_now, wait_to_usual, wait_own_now, wait_own_usual; /* averages over about 15 and 1,000 sweeps */
	float absent, absent_usual; /* share of beginnings of collectives in which it had not sent yet; averages */
	bool down;
	uint64_t read_sweep;      /* number of the sweep of the last reading */
	double total;             /* bytes sent since the beginning */
	double level_total;       /* then, in the last level sweep; NAN: not read */
	double received, level_received; /* the same for bytes received */
	uint16_t group;           /* members of it send the same in whole iterations */
	double missing;           /* bytes that it sent less than its group since then; NAN: unknown */
	bool alone;               /* no other host of its group has sent as much */
	float quiet_rate;         /* what it sends when the job is quiet, bytes per second */
	float sent, moment;       /* bytes of the current iteration, and their sum weighted by time */
	float late, late_usual;   /* averages: seconds by which its traffic is later than that of the job */
};

enum pause_kind {
	PAUSE_WHOLE,              /* of the job as a whole, as far as is known */
	PAUSE_UNEVEN,             /* hosts have not sent their shares: no checkpoint, but a slow host makes one, too */
	PAUSE_BROKEN,             /* hosts are down, or do not receive */
};

/* Pauses of a job: the longest, longest first. */
struct job_pauses {
	struct job_pause { float seconds; bool early; /* perhaps of initialisation or loading */ } longest[JOB_LONGEST];
	unsigned kept;
};

struct job_watch {
	struct job_member *members;
	struct job_member_state *states;
	size_t count;
	uint32_t hosts;
	int64_t interval_us;

	struct rhythm_point points[JOB_POINTS]; /* a ring: the oldest at @next if it is full */
	size_t point_count, next;
	uint64_t sweeps;

	double level;             /* slow average of bytes per second and member when busy */
	int64_t busy_us;          /* last reading with traffic of any member; 0: none */
	int64_t first_exchange_us, exchange_us; /* first and last with traffic between members; 0: none */
	unsigned exchange_sweeps; /* number of such sweeps */
	bool paused;              /* at least one sweep was quiet since busy_us */
	bool was_suspended;       /* in the current pause */
	int64_t quiet_us;         /* length of the current pause so far, as readings prove it */
	struct job_pauses pauses;
	enum pause_kind pause_kind; /* of the current pause */
	double uneven_s;          /* longest PAUSE_UNEVEN after which the job continued */
	double stalled_s;         /* the last stall, until it is known whether its iteration continued; 0: none */
	struct {
		double sent, received;    /* by all members, since the beginning */
		int64_t level_us;         /* of the sweep that others are compared with; 0: none */
		double level_sent, level_received; /* then */
		unsigned tries;           /* sweeps until another one is tried */
		bool grouped;             /* groups of members are known */
		bool proven;              /* the sweep is a level one */
		unsigned levels, failed;  /* numbers of level sweeps, of sweeps that were tried in vain since */
		double missing_least;     /* bytes missing on a host that are no chance */
	} shares;
	struct job_value { double bytes; uint32_t member, group; } *values; /* scratch: one for each member */
	struct job_iterations iterations;
	struct job_speed speed;
	struct job_pace pace;

	int64_t speed_us;         /* the last slowdown began or ended; 0: none */
	struct rhythm history[JOB_HISTORY]; /* a ring of the last hour: the oldest at @history_next if it is full */
	unsigned history_count, history_next;
	int64_t history_us;       /* of the newest */
	double *scratch;          /* a number for each member */
	struct rhythm_point series[JOB_POINTS]; /* scratch: the ring in order */
	struct job_state state;
};

/* pause_learn - count a pause of the current kind after which the job continued */
void pause_learn(struct job_watch *watch, double seconds);
/* pause_end - traffic returned after a pause */
void pause_end(struct job_watch *watch, double seconds);
/* pause_allowed - seconds for which the job may be quiet. Return: NAN: not learnt */
double pause_allowed(const struct job_watch *watch, enum pause_kind kind);

/* stall_step - evaluate the current pause: enter or leave JOB_PHASE_STALLED */
void stall_step(struct job_watch *watch, int64_t at_us);

/*
 * shares_step - whether members have sent their shares until this sweep
 * @read:       share of the members that were read, or are down
 * @to_storage: most of what they sent in this window went to hosts that are not members
 */
void shares_step(struct job_watch *watch, int64_t at_us, double read, bool to_storage);
/*
 * shares_missing - bytes that all rails of a host miss of their shares: the median
 * @member: a member of the host; set to the next one of another host
 */
double shares_missing(const struct job_watch *watch, size_t *member);

/*
 * suspects_of_stall - fill the suspects of a quiet job, most suspected first
 * Return: what they make of the pause
 */
enum pause_kind suspects_of_stall(struct job_watch *watch);

/* iterations_learn - what is known of iterations from @series, the last points in order, and their rhythm */
void iterations_learn(struct job_watch *watch, size_t count);
/* iterations_step - count iterations that end before the newest window; each is passed to speed_step() */
void iterations_step(struct job_watch *watch, const struct rhythm_point *point);

/*
 * speed_step - an iteration that ended at @end_s and took @seconds; enters or leaves JOB_PHASE_SLOWER
 * speed_break - iterations are not comparable across this moment
 * speed_keep - the training begins. Return: iterations are regular already; the last ones are kept
 * speed_reset - another kind of iteration: forget the speed
 */
void speed_step(struct job_watch *watch, double end_s, double seconds);
void speed_break(struct job_watch *watch);
bool speed_keep(struct job_watch *watch);
void speed_reset(struct job_watch *watch);

/*
 * slowdown_begin - enter JOB_PHASE_SLOWER
 * @slower: as in struct job_state
 * @found:  by the rate at this scale; NULL: by iterations
 * slowdown_end - @over: it is as fast as before; else it was none, or is usual now
 */
void slowdown_begin(struct job_watch *watch, double slower, int64_t since_us, int64_t known_us,
		    const struct job_scale *found);
void slowdown_end(struct job_watch *watch, bool over);

/*
 * pace_step - evaluate the rate up to the newest window; enters or leaves JOB_PHASE_SLOWER
 * pace_break - windows are not comparable across this moment
 */
void pace_step(struct job_watch *watch);
void pace_break(struct job_watch *watch);

/* suspects_of_slowdown - fill the suspects of a job that is slower, most suspected first, and rails_fell */
void suspects_of_slowdown(struct job_watch *watch);

/* watch_window - slowest window of readings: the interval, or longer if sweeps take longer. In seconds */
double watch_window(const struct job_watch *watch);

#endif
