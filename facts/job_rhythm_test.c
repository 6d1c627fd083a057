/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_rhythm_test.c - the rhythm of a job in words: what is known, and what is not */
#include "base/unit_test.h"
#include "facts/job_rhythm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define S INT64_C(1000000)
#define NOW (1800000000 * S) /* 2027-01-15 08:00:00 UTC */

static struct job_minute minute_of(enum rhythm_kind kind, double period_s, double share, double shortest_s)
{
	return (struct job_minute){
		.job = 1, .wall_us = NOW,
		.rhythm = { .kind = kind, .period_s = period_s, .spread_s = NAN, .wire_share = share,
			    .bytes_per_s = 1e9, .shortest_s = shortest_s },
		.phase = JOB_PHASE_RUNS, .slower = NAN, .before_s = NAN,
	};
}

static void check(struct job_minute minute, const char *text, const char *state)
{
	const struct job_rhythm rhythm = job_rhythm_of(&minute, 0);
	char shown[JOB_RHYTHM_SIZE];

	setenv("TZ", "UTC", 1);
	tzset();
	assert_string_equal(rhythm.text, text);
	assert_string_equal(job_rhythm_state_text(&rhythm, shown), state);
	assert_true(strlen(text) < JOB_RHYTHM_SIZE - 32);
}

TEST(a_period_has_its_share_and_its_trend)
{
	struct job_minute minute = minute_of(RHYTHM_PERIODIC, 4.2, 0.31, 2);

	check(minute, "iteration 4.2 s, 31 % of it on the wire", "4.2 s");
	minute.before_s = 4.2 / 1.02;
	check(minute, "iteration 4.2 s, 31 % of it on the wire, 2 % longer than an hour ago", "4.2 s");
	minute.before_s = 4.2 / 0.9;
	check(minute, "iteration 4.2 s, 31 % of it on the wire, 10 % shorter than an hour ago", "4.2 s");
	minute.before_s = 4.21;
	check(minute, "iteration 4.2 s, 31 % of it on the wire, as an hour ago", "4.2 s");
	minute = minute_of(RHYTHM_PERIODIC, 754, NAN, 2);
	check(minute, "iteration 12m34s", "12m34s");
	minute = minute_of(RHYTHM_PERIODIC, 59.96, NAN, 2);
	check(minute, "iteration 60.0 s", "60.0 s");
}

TEST(what_is_not_known_is_said_so)
{
	struct job_minute none = minute_of(RHYTHM_PERIODIC, 4.2, 0.31, 2);
	struct job_rhythm rhythm;

	check(minute_of(RHYTHM_UNKNOWN, NAN, NAN, 20), "unknown: too few sweeps yet", "-");
	check(minute_of(RHYTHM_UNRESOLVABLE, NAN, NAN, 20), "not resolvable at 10 s: iterations are shorter than 20 s; "
	      "an interval of 1 s would show those of 2 s and more", "< 20 s");
	check(minute_of(RHYTHM_UNRESOLVABLE, NAN, NAN, 2), "not resolvable at 1 s: iterations are shorter than 2 s",
	      "< 2 s");
	check(minute_of(RHYTHM_UNRESOLVABLE, NAN, NAN, NAN), "not resolvable by these sweeps", "?");
	none.job = 0;
	check(none, "unknown: nothing is stored of it", "-");
	rhythm = job_rhythm_of(&none, NOW);
	assert_true(!rhythm.known && isnan(rhythm.period_s) && isnan(rhythm.wire_percent) && !rhythm.wall_us);
}

TEST(rhythms_without_a_period_have_words)
{
	check(minute_of(RHYTHM_IDLE, NAN, 0, 2), "sends nothing", "idle");
	check(minute_of(RHYTHM_STEADY, NAN, 1, 2), "sends all the time, 8.0 Gb/s", "steady");
	check(minute_of(RHYTHM_IRREGULAR, NAN, 0.5, 2), "phases without a period, 50 % of the time on the wire",
	      "irregular");
}

TEST(stalls_and_slowdowns_have_their_begin)
{
	struct job_minute minute = minute_of(RHYTHM_PERIODIC, 5.04, 0.31, 2);

	minute.phase = JOB_PHASE_SLOWER;
	minute.since_us = NOW - 3600 * S;
	minute.slower = 1.2;
	minute.before_s = 4.2;
	check(minute, "slower since 2027-01-15 07:00:00 UTC: iteration 5.04 s, 31 % of it on the wire, 20 % longer "
	      "than before", "5.04 s");
	minute.rhythm.kind = RHYTHM_STEADY;
	check(minute, "slower since 2027-01-15 07:00:00 UTC: sends all the time, 8.0 Gb/s, 20 % slower than before",
	      "steady");
	minute.phase = JOB_PHASE_STALLED;
	check(minute, "stalled since 2027-01-15 07:00:00 UTC: all of its ports are quiet", "steady");
}

TEST(a_minute_that_is_not_current_has_its_time)
{
	const struct job_minute minute = minute_of(RHYTHM_IDLE, NAN, 0, 2);

	assert_string_equal(job_rhythm_of(&minute, NOW + 300 * S).text, "sends nothing");
	assert_string_equal(job_rhythm_of(&minute, NOW + 301 * S).text, "sends nothing (2027-01-15 08:00:00 UTC)");
}
