/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clock_test.c - the wall clock of a collector is set back and forth
 *
 * A run with steps of the wall clock is compared with the same run without them: fabric, faults and random
 * numbers are the same, and elapsed time is CLOCK_BOOTTIME. So all that is stored is equal except the labels of
 * time, and after each sweep the commands show the same numbers and findings.
 *
 * IBWIRE_ATTACK_LONG=1 for more runs with random steps, CLOCK_SEED for others.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "fabric/fabric.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/world/lab.h"

#define HOUR_US (3600 * US_PER_S)
#define DAY_US (24 * HOUR_US)
#define BEGIN_US (INT64_C(1795183200) * US_PER_S)
/* 2038-01-19 and 2106-02-07: seconds exceed 31 and 32 bits ten seconds later. */
#define BEFORE_2038_US ((INT64_C(0x80000000) - 10) * US_PER_S)
#define BEFORE_2106_US ((INT64_C(0x100000000) - 10) * US_PER_S)

/* Sweeps of a run; those with steps. */
enum { RUN_SWEEPS = 180, STEPS_FROM = 40, RESTART = 70, STEPS_UNTIL = 120 };
enum { FACES = 6, QUERIES = 9, ROWS_MOST = 1000 };

/* Wall clock of a run: that of CLOCK_BOOTTIME and offsets for each sweep. */
struct steps {
	const char *name;
	int64_t offset_us[RUN_SWEEPS + 1];
	bool in_sweep; /* also set back and forth while ports are polled */
	bool restarts; /* the collector, while the clock is wrong */
};

struct faces {
	char *shown[RUN_SWEEPS + 1][FACES];
	char *stored[QUERIES];
};

static struct {
	struct lab *lab;
	struct sink lab_sink;
	const struct sink *sink;
	const struct steps *steps;
	struct faces *faces;
} run_state;

static bool stepped;   /* the clock of the commands is that of the collector */
static bool shown_all; /* commands run after all sweeps */

const struct clock *__real_clock_system(void);
const struct clock *__wrap_clock_system(void);

const struct clock *__wrap_clock_system(void)
{
	return stepped ? &run_state.lab->run.clock : __real_clock_system();
}

static const char *const commands[FACES] = {
	"status|--format|json",
	"health|--all|--columns|kind,severity,cause,subject,hosts,advice|--format|json",
	"events|--since|1970-01-01T00:00:00Z|--until|2200-01-01T00:00:00Z|--format|json",
	"balance|--format|json",
	"ports|--format|json",
	"history|all|--top|1000|--since|1970-01-01T00:00:00Z|--until|2200-01-01T00:00:00Z|--format|json",
};

/* What is stored, without labels of time. */
static const char *const queries[QUERIES] = {
	"SELECT id, start_us, end_us, boot, topology, ports_planned, ports_polled, ports_answered, mads_sent,"
	" mads_timed_out, mads_retried, sm_known, sm_lid, sm_state, ports_unfinished FROM sweep ORDER BY id",
	"SELECT * FROM delta ORDER BY sweep, port",
	"SELECT * FROM error ORDER BY sweep, port, counter",
	"SELECT * FROM span ORDER BY from_sweep, port",
	"SELECT * FROM detail d JOIN detail_value v USING (sweep, port) WHERE v.counter / 32 = d.attribute"
	" ORDER BY sweep, port, v.counter",
	"SELECT id, kind, node_guid, port, peer_guid, peer_port, tag, opened_sweep, closed_sweep FROM finding"
	" ORDER BY id",
	"SELECT finding, from_sweep, severity, affected_hosts, subject, cause, advice, hosts, ports FROM finding_state"
	" WHERE state_sweep IS NULL ORDER BY finding, from_sweep",
	"SELECT sweep, kind, severity, node_guid, port, CASE WHEN text LIKE '%before a restart%' THEN '' ELSE text END"
	" FROM event WHERE kind <> 'clock-stepped' ORDER BY id",
	"SELECT from_sweep, port, to_sweep, peer, state, width, speed, lid FROM port_version ORDER BY from_sweep, port",
};

/* Keys of JSON that are labels of time, depend on their order, name the file or number events. */
static bool is_label(const char *key)
{
	static const char *const keys[] = {
		"time", "since", "until", "db", "id", "size_bytes", "log_bytes", "last_time", "first_time",
		"window_since", "uneven_since", "finding", "discovery_time", "collector_pid",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

static void remove_labels(json_t *value)
{
	const char *key;
	void *next;
	json_t *member;
	size_t i;

	json_object_foreach_safe(value, next, key, member) {
		if (is_label(key))
			json_object_del(value, key);
		else
			remove_labels(member);
	}
	json_array_foreach(value, i, member)
		remove_labels(member);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The rows of an output without labels of time, in an order that does not depend on them, and without events of the
 * steps themselves.
 */
static struct rows {
	size_t count;
	char *text[ROWS_MOST];
} got_rows, wanted_rows;

static void read_rows(const char *output, struct rows *ret)
{
	json_t *json = json_loads(output, 0, NULL), *row;
	size_t i;

	if (json_is_object(json)) {
		row = json;
		json = json_array();
		json_array_append_new(json, row);
	}
	assert_in_range(json_array_size(json), 0, ROWS_MOST);
	ret->count = 0;
	json_array_foreach(json, i, row) {
		const char *kind = json_string_value(json_object_get(row, "kind"));
		const char *text = json_string_value(json_object_get(row, "text"));

		if (kind && !strcmp(kind, "clock-stepped"))
			continue;
		/* The text of a finding at the end of a collector may be of minutes before. */
		if (text && strstr(text, "before a restart"))
			json_object_del(row, "text");
		remove_labels(row);
		ret->text[ret->count++] = json_dumps(row, JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
	}
	qsort(ret->text, ret->count, sizeof(*ret->text), by_text);
	json_decref(json);
}

/* The first difference is printed. */
static bool same_rows(const char *output, const char *wanted)
{
	bool same = true;

	read_rows(output, &got_rows);
	read_rows(wanted, &wanted_rows);
	for (size_t i = 0; same && (i < got_rows.count || i < wanted_rows.count); i++) {
		const char *a = i < got_rows.count ? got_rows.text[i] : "no row";
		const char *b = i < wanted_rows.count ? wanted_rows.text[i] : "no row";
		size_t at = 0;

		same = !strcmp(a, b);
		while (!same && a[at] == b[at])
			at++;
		at = at < 60 ? 0 : at - 60;
		if (!same)
			print_error("row %zu: %.200s\n  not %.200s\n", i, a + at, b + at);
	}
	for (size_t i = 0; i < got_rows.count; i++)
		free(got_rows.text[i]);
	for (size_t i = 0; i < wanted_rows.count; i++)
		free(wanted_rows.text[i]);
	return same;
}

static void set_clock(struct lab *lab)
{
	lab->run.wall_us = BEGIN_US + run_state.steps->offset_us[lab->sweeps < RUN_SWEEPS ? lab->sweeps : RUN_SWEEPS];
}

/* In the middle of a sweep. */
static void set_in_sweep(struct lab *lab)
{
	lab->run.wall_us += lab->sweeps % 2 ? HOUR_US : -HOUR_US;
}

static void before_sweep(struct lab *lab)
{
	set_clock(lab);
	if (run_state.steps->in_sweep) {
		lab->act = set_in_sweep;
		lab->act_after = 10;
	}
}

/* The output of a command, or the code of its error, whose text has times. */
static char *show(const char *command)
{
	struct error err = { 0 };
	char *output;
	int code = run(command, &output, &err);

	if (code >= 0)
		return output;
	if (code != ERR_UNAVAILABLE || *output || !*err.text || strchr(err.text, '\n'))
		fail_msg("%s, sweep %" PRIu64 ", %s: %s", run_state.steps->name, run_state.lab->sweeps, command,
			 err.text);
	free(output);
	return strdup("[\"unavailable\"]");
}

/* After each step, and every fifteenth sweep; in the short form every sixtieth. */
static bool is_shown(uint64_t sweep)
{
	return shown_all || sweep % (60 / test_cases(4)) == 0 || (sweep - STEPS_FROM) % (STEPS_UNTIL - STEPS_FROM) <= 2;
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct lab *lab = run_state.lab;

	assert_int_equal(run_state.lab_sink.store(lab, sweep, err), 0);
	if (run_state.sink->store(ctx, sweep, err) < 0)
		fail_msg("%s, sweep %" PRIu64 ": %s", run_state.steps->name, lab->sweeps, err->text);
	if (!is_shown(lab->sweeps))
		return 0;
	lab->run.wall_us = sweep->wall_us - (sweep->start_us - lab->run.boot_us);
	stepped = true;
	for (size_t i = 0; i < FACES; i++)
		run_state.faces->shown[lab->sweeps][i] = show(commands[i]);
	stepped = false;
	return 0;
}

static int store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	if (run_state.lab_sink.store_events(run_state.lab, events, count, err) < 0)
		return ERR_IO;
	return run_state.sink->store_events(ctx, events, count, err);
}

static void collect(struct lab *lab, uint64_t sweeps)
{
	struct writer *writer = check_open_writer(path);

	run_state.sink = writer_sink(writer);
	lab->sink = *writer_sink(writer);
	lab->sink.store = store;
	lab->sink.store_events = store_events;
	lab_run_with(lab, before_sweep, sweeps);
	writer_close(writer);
}

/* Faults that begin and end before, in and after the time of the steps. */
static void begin_faults(struct lab *lab)
{
	lab_during(lab, &lab_port(lab, LEAF, 1)->down, 30, 60);
	lab_during(lab, &lab->agents[HOST + 1].dead, 20, 50);
	lab_during(lab, &lab->agents[HOST + 5].dead, 45, 90);
	lab_during(lab, &lab->nodes[HOST + 6].absent, 70, 140);
	lab_during(lab, &lab->nodes[HOST + 9].absent, 0, 100);
	lab_during(lab, &lab->agents[OWN_HOST].sm_silent, 80, 110);
}

static void run_steps(const struct steps *steps, struct faces *faces)
{
	struct lab *lab = lab_create(3);

	test_folder_renew();
	run_state.lab = lab;
	run_state.lab_sink = lab->sink;
	run_state.steps = steps;
	run_state.faces = faces;
	begin_faults(lab);
	set_clock(lab);
	use_database(path);
	collect(lab, steps->restarts ? RESTART : RUN_SWEEPS);
	if (steps->restarts)
		collect(lab, RUN_SWEEPS - RESTART);
	assert_int_equal(lab->sweeps, RUN_SWEEPS);
	assert_true(lab_check(lab) > 0);
	for (size_t i = 0; i < QUERIES; i++) {
		char line[512];

		snprintf(line, sizeof(line), "sql|--format|csv|%s", queries[i]);
		faces->stored[i] = show(line);
	}
	free(show("db|check"));
	use_database(NULL);
	lab_destroy(lab);
}

static void free_faces(struct faces *faces)
{
	for (size_t sweep = 0; sweep <= RUN_SWEEPS; sweep++)
		for (size_t i = 0; i < FACES; i++)
			free(faces->shown[sweep][i]);
	for (size_t i = 0; i < QUERIES; i++)
		free(faces->stored[i]);
	memset(faces, 0, sizeof(*faces));
}

/* Return: the number of differences. */
static size_t compare(const struct steps *steps, const struct faces *got, const struct faces *wanted)
{
	size_t differences = 0;

	for (size_t i = 0; i < QUERIES; i++) {
		const char *a = got->stored[i], *b = wanted->stored[i];
		size_t at = 0;

		if (!strcmp(a, b))
			continue;
		while (a[at] == b[at])
			at++;
		while (at && a[at - 1] != '\n')
			at--;
		print_error("%s: %s:\n  %.*s\n  not %.*s\n", steps->name, queries[i], (int)strcspn(a + at, "\n"),
			    a + at, (int)strcspn(b + at, "\n"), b + at);
		differences++;
	}
	for (size_t i = 0; i < FACES; i++)
		for (size_t sweep = 1; sweep <= RUN_SWEEPS; sweep++) {
			if (!wanted->shown[sweep][i] || same_rows(got->shown[sweep][i], wanted->shown[sweep][i]))
				continue;
			print_error("%s, sweep %zu, %s\n", steps->name, sweep, commands[i]);
			differences++;
			break;
		}
	return differences;
}

static struct faces steady, now;
static unsigned steps_made;

static size_t check_steps(const struct steps *steps)
{
	size_t differences;

	for (int i = 1; i <= RUN_SWEEPS; i++)
		steps_made += steps->in_sweep || steps->offset_us[i] != steps->offset_us[i - 1];

	run_steps(steps, &now);
	differences = compare(steps, &now, &steady);
	free_faces(&now);
	return differences;
}

/* @until: the first sweep after it */
static struct steps set_between(const char *name, int from, int until, int64_t by_us)
{
	struct steps steps = { .name = name };

	for (int i = from; i < until; i++)
		steps.offset_us[i] = by_us;
	return steps;
}

/* @usual: number of cases in the usual form; @restarts: collectors restart while the clock is wrong */
static size_t check_named(unsigned usual, bool restarts)
{
	struct steps all[] = {
		set_between("an hour back", STEPS_FROM, RUN_SWEEPS + 1, -HOUR_US),
		set_between("2106 and back", STEPS_FROM, STEPS_UNTIL, BEFORE_2106_US - BEGIN_US),
		set_between("1970 until NTP", 0, STEPS_UNTIL, 5 * US_PER_S - BEGIN_US),
		set_between("a day forward and back", STEPS_FROM, STEPS_UNTIL, DAY_US),
		set_between("an hour back and forward", STEPS_FROM, STEPS_UNTIL, -HOUR_US),
		set_between("a day forward", STEPS_FROM, RUN_SWEEPS + 1, DAY_US),
		set_between("1970 and back", STEPS_FROM, STEPS_UNTIL, 5 * US_PER_S - BEGIN_US),
		set_between("2038", STEPS_FROM, RUN_SWEEPS + 1, BEFORE_2038_US - BEGIN_US - 10 * STEPS_FROM * US_PER_S),
		set_between("2106", STEPS_FROM, RUN_SWEEPS + 1, BEFORE_2106_US - BEGIN_US - 10 * STEPS_FROM * US_PER_S),
	};
	unsigned count = shown_all ? sizeof(all) / sizeof(all[0]) : test_cases(usual);
	struct steps none = { .name = "none", .restarts = restarts };
	size_t differences = 0;

	free_faces(&steady);
	run_steps(&none, &steady);
	for (unsigned i = 0; i < count; i++) {
		all[i].restarts = restarts;
		differences += check_steps(&all[i]);
	}
	return differences;
}

static size_t check_each_sweep(void)
{
	struct steps forth = { .name = "back and forth" }, in_sweep = { .name = "in sweeps", .in_sweep = true };

	for (int i = STEPS_FROM; i < STEPS_UNTIL; i++)
		forth.offset_us[i] = i % 2 ? HOUR_US : -HOUR_US;
	return check_steps(&forth) + check_steps(&in_sweep);
}

/* A random time from 1970 to 2106: near the right one, or any. */
static int64_t random_offset(struct lab *lab)
{
	int64_t by_us = (int64_t)(lab_random(lab) >> (lab_random(lab) % 53)) * (lab_random(lab) % 2 ? 1 : -1);

	if (by_us < 5 * US_PER_S - BEGIN_US)
		return 5 * US_PER_S - BEGIN_US;
	return by_us < BEFORE_2106_US - BEGIN_US ? by_us : BEFORE_2106_US - BEGIN_US;
}

static size_t check_random(unsigned runs)
{
	const char *seed = getenv("CLOCK_SEED");
	struct lab *lab = lab_create(seed ? strtoull(seed, NULL, 10) : 1);
	size_t differences = 0;

	for (unsigned run_number = 0; run_number < runs; run_number++) {
		struct steps steps = { .name = "random", .in_sweep = run_number % 4 == 3 };

		for (int i = 1; i <= RUN_SWEEPS; i++)
			steps.offset_us[i] = lab_random(lab) % 6 ? steps.offset_us[i - 1] : random_offset(lab);
		differences += check_steps(&steps);
	}
	lab_destroy(lab);
	return differences;
}

TEST_WITH(steps_of_the_wall_clock_change_no_number_and_no_finding, test_folder_make, test_folder_remove)
{
	size_t differences;

	(void)state;
	unsetenv("IBWIRE_DB");
	shown_all = getenv("IBWIRE_ATTACK_LONG") != NULL;
	differences = check_named(2, true);
	differences += check_named(4, false);
	differences += check_each_sweep() + check_random(shown_all ? 40 : 1);
	assert_int_equal(differences, 0);
	free_faces(&steady);
	reliability_report("Steps of the wall clock: back, forward, back and forth, in sweeps, 1970, 2038, 2106",
			   steps_made, "steps", "Each sweep is stored; readings, deltas, events and findings are those "
			   "of a run without steps, and so are status, health, events, balance, ports and history "
			   "after each sweep");
}
