/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fault_test.c - a failed allocation or system call is absorbed or reported, and never changes a number
 *
 * Each case runs code in a child process in which one call fails (inject.h), once for each point. A
 * command must print what it prints without a fault, or the beginning of it, one line of error and a
 * documented exit status. These variables select other points than the usual ones:
 *
 *	IBWIRE_FAULT_POINTS   number for each case; 0: every system call, and an allocation of every call stack
 *	IBWIRE_FAULT_ALL      every allocation (with IBWIRE_FAULT_POINTS=0)
 *	IBWIRE_FAULT_PARTS    share of them to try, IBWIRE_FAULT_PART which one (from 0)
 *	IBWIRE_FAULT_CASE     beginning of the names of the cases
 *	IBWIRE_FAULT_FROM     first point; system calls follow the allocations
 *	IBWIRE_FAULT_POINT    a single point of the case of that name; +N: after the allocations
 *	IBWIRE_FAULT_TRACE    show where the allocation failed, in a build with sanitizers
 */
#include <dirent.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test_cases.h"
#define UNIT_TEST_SETUP set_up
#define UNIT_TEST_TEARDOWN tear_down
#include "base/unit_test.h"
#include "analysis/health.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
#include "storage/admin.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_base.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"
#include "tests/fault/inject.h"
#include "tests/world/lab.h"
#include "wire/discovery.h"

/* The program itself, to be called by tests. */
int ibwire_main(int argc, char **argv);
#define main ibwire_main
#include "cli/main.c"
#undef main

enum { USUAL_POINTS = 3, WORDS_MOST = 24, SANITIZER_STATUS = 99, FAILURES_SHOWN = 12 };

/* Called by the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "exitcode=99:quarantine_size_mb=1:allocator_may_return_null=1";
}

static struct model *model;
static char copy_path[96]; /* the file that a command writes */
static const char *current; /* case */
static bool counting;       /* its run without a fault */
static bool is_command;
static char checked[256];   /* the point after which a check runs */
static char *base;
static size_t base_len;

/* The wall clock stands still, and for commands all clocks, so that two runs print the same times. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (!model || (clock != CLOCK_REALTIME && !is_command))
		return (int)syscall(SYS_clock_gettime, clock, ret);
	*ret = (struct timespec){ .tv_sec = model->wall_us / 1000000 + 7 };
	return 0;
}

/* That of glibc 2.36 ends the process without memory (an assertion in nss_database.c). */
struct passwd *getpwuid(uid_t uid)
{
	static struct passwd user;
	static char name[] = "user";

	user = (struct passwd){ .pw_name = name, .pw_dir = name, .pw_uid = uid };
	return &user;
}

/* --- a case and its points --- */

struct fault_case {
	const char *name;            /* of a command: its words, separated by '|' */
	void (*prepare)(void);       /* in the parent, before each run; or NULL */
	void (*body)(void *name);
	/* In the parent, after a run with the right output. Return: NULL, or what is wrong; NULL: nothing to check. */
	const char *(*check)(bool reported);
	bool flushes;                /* each failed flush is always tried */
};

struct tally {
	uint64_t all, points, absorbed, reported, failures; /* all: also those not tried */
};

static size_t environment(const char *name, size_t usual)
{
	const char *given = getenv(name);

	return given ? strtoul(given, NULL, 10) : usual;
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static bool is_documented(int status)
{
	return status == 64 || status == 69 || status == 71 || status == 74;
}

/* Return: NULL, or what is wrong. */
static const char *judge(const struct fault_run *run, const struct fault_run *whole, bool *ret_reported)
{
	int status = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : -1;
	size_t lines = count_lines(run->err);

	*ret_reported = run->status != whole->status || lines > count_lines(whole->err);
	if (status < 0)
		return WTERMSIG(run->status) == SIGALRM ? "it hangs" : "ended by a signal";
	if (status == SANITIZER_STATUS)
		return "an error of memory";
	if (run->status == whole->status && strcmp(run->out, whole->out) != 0)
		return "wrong output";
	if (run->status == whole->status)
		return lines <= count_lines(whole->err) + 1 ? NULL : "too many warnings";
	if (!is_documented(status))
		return "an exit status that is not documented";
	/* A page that cannot be read is damage. */
	if (strncmp(run->out, whole->out, strlen(run->out)) != 0 &&
	    (strcmp(current, "db|check") != 0 || strcmp(run->what, "pread64 EIO") != 0))
		return "wrong output before the error";
	return lines == count_lines(whole->err) + !run->hidden ? NULL : "not one line of error";
}

static void show(const struct fault_case *tried, uint64_t point, const struct fault_run *run, const char *wrong)
{
	size_t len = strlen(run->err);

	printf("# %s, point %" PRIu64 " (%s): %s, status 0x%x\n", tried->name, point, run->what, wrong,
	       (unsigned)run->status);
	for (char *line = run->err + (len > 6000 ? len - 6000 : 0), *end; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		printf("#     %.*s\n", (int)(end - line), line);
	}
	if (getenv("IBWIRE_FAULT_POINT"))
		printf("%s", run->out);
}

static void try_point(const struct fault_case *tried, const struct fault_plan *plan, const struct fault_run *whole,
		      uint64_t point, struct tally *tally)
{
	struct fault_run run;
	bool reported;
	const char *wrong;

	if (tried->prepare)
		tried->prepare();
	fault_run(tried->body, (void *)(uintptr_t)tried->name, plan, point, &run);
	wrong = judge(&run, whole, &reported);
	snprintf(checked, sizeof(checked), "%s, point %" PRIu64 " (%s)", tried->name, point, run.what);
	/* The sanitizer ends the process if an allocation for its own list of threads fails. */
	if (wrong && strstr(run.err, "AddressSanitizer: CHECK failed"))
		wrong = NULL;
	else if (!wrong && tried->check)
		wrong = tried->check(reported);
	checked[0] = '\0';
	tally->points++;
	tally->absorbed += !wrong && !reported;
	tally->reported += !wrong && reported;
	tally->failures += wrong != NULL;
	if ((wrong && tally->failures <= FAILURES_SHOWN) || getenv("IBWIRE_FAULT_POINT"))
		show(tried, point, &run, wrong ? wrong : "right");
	fault_run_done(&run);
}

/*
 * The points to choose from. Distinct: without further allocations of a call stack, also of earlier cases.
 * Return: their number.
 */
static size_t choose(const struct fault_plan *plan, bool distinct, uint64_t *ret_points)
{
	static struct map stacks;
	size_t count = 0;

	for (uint64_t i = environment("IBWIRE_FAULT_FROM", 0); i < plan->points; i++) {
		uint64_t key = i < plan->allocations ? map_mix(plan->stacks[i]) : 0;
		uint32_t seen;

		if (i < plan->allocations && distinct && map_get(&stacks, key, &seen))
			continue;
		if (i < plan->allocations && distinct)
			map_put(&stacks, key, 0);
		ret_points[count++] = i;
	}
	return count;
}

static void try_case(const struct fault_case *tried, struct tally *tally)
{
	const char *only = getenv("IBWIRE_FAULT_CASE"), *single = getenv("IBWIRE_FAULT_POINT");
	uint64_t most = environment("IBWIRE_FAULT_POINTS", test_cases(USUAL_POINTS));
	struct fault_plan plan;
	struct fault_run whole;
	uint64_t before = tally->points;
	bool usual = most, distinct = !most && !getenv("IBWIRE_FAULT_ALL");
	uint64_t *points;
	const char *wrong;
	size_t count;

	if (only && strncmp(tried->name, only, strlen(only) + (single != NULL)) != 0)
		return;
	counting = true;
	current = tried->name;
	if (tried->prepare)
		tried->prepare();
	if (!fault_count(tried->body, (void *)(uintptr_t)tried->name, distinct, &plan, &whole))
		printf("# no seccomp user notification here: system calls do not fail\n");
	wrong = tried->check ? tried->check(false) : NULL;
	counting = false;
	if (wrong || !WIFEXITED(whole.status) || WEXITSTATUS(whole.status) > 2) {
		show(tried, plan.points, &whole, wrong ? wrong : "it fails without a fault");
		tally->failures++;
	}
	points = malloc(plan.points * sizeof(*points));
	count = choose(&plan, distinct, points);
	if (!usual || most > count)
		most = count;
	for (uint64_t i = environment("IBWIRE_FAULT_PART", 0); i < most && !single;
	     i += environment("IBWIRE_FAULT_PARTS", 1))
		try_point(tried, &plan, &whole, points[(2 * i + 1) * count / (2 * most)], tally);
	free(points);
	for (uint64_t i = plan.allocations; i < plan.points && tried->flushes && usual && !single; i++)
		if (strstr(fault_call_name(&plan, i), "sync"))
			try_point(tried, &plan, &whole, i, tally);
	if (single)
		try_point(tried, &plan, &whole, strtoull(single, NULL, 10) + (*single == '+' ? plan.allocations : 0),
			  tally);
	if (getenv("IBWIRE_FAULT_POINTS"))
		printf("# note: %s: %" PRIu64 " allocations, %zu system calls, %" PRIu64 " points, %" PRIu64 " tried\n",
		       tried->name, plan.allocations, plan.call_count, plan.points, tally->points - before);
	tally->all += plan.points;
	fault_run_done(&whole);
	fault_plan_done(&plan);
}

static void try_cases(const struct fault_case *cases, size_t count, const char *class)
{
	struct tally tally = { 0 };
	char part[32] = "";
	/* The short form has fewer commands. */
	size_t step = getenv("IBWIRE_TEST_SHORT") && !getenv("IBWIRE_FAULT_POINTS") ? 4 : 1;

	for (size_t i = 0; i < count; i += step)
		try_case(&cases[i], &tally);
	if (getenv("IBWIRE_FAULT_PART"))
		snprintf(part, sizeof(part), " (part %zu of %zu)", environment("IBWIRE_FAULT_PART", 0) + 1,
			 environment("IBWIRE_FAULT_PARTS", 1));
	if (tally.points)
		printf("# note: %s: %" PRIu64 " of %" PRIu64 " points, %" PRIu64 " absorbed, %" PRIu64 " reported, %"
		       PRIu64 " failures\n",
		       class, tally.points, tally.all, tally.absorbed, tally.reported, tally.failures);
	if (getenv("IBWIRE_RELIABILITY") && tally.points)
		printf("RELIABILITY\t%s%s\t%" PRIu64 "\tno crash, leak or wrong number; one line of error\t%" PRIu64
		       " absorbed, %" PRIu64 " reported, %" PRIu64 " failures\n", class, part, tally.points,
		       tally.absorbed, tally.reported, tally.failures);
	assert_int_equal(tally.failures, 0);
}

/* A check that fails ends the test. */
static int name_point(void **state)
{
	(void)state;
	if (checked[0])
		printf("# after %s\n", checked);
	checked[0] = '\0';
	return 0;
}

/* --- commands --- */

static void run_command(void *name)
{
	char chars[512], *argv[WORDS_MOST] = { (char[]){ "ibwire" } }, *save = NULL;
	int argc = 1;

	fault_pause();
	is_command = true;
	snprintf(chars, sizeof(chars), "%s", (const char *)name);
	for (char *word = strtok_r(chars, "|", &save); word; word = strtok_r(NULL, "|", &save))
		argv[argc++] = strcmp(word, "COPY") && strcmp(word, "PAGE") ? word : copy_path;
	argv[argc++] = (char[]){ "--db" };
	argv[argc++] = path;
	fault_resume();
	ibwire_main(argc, argv);
}

static void renew_database(void)
{
	static const char *const of[] = { path, copy_path }, *const suffixes[] = { "", "-wal", "-shm", ".part" };
	char name[128];

	for (size_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%s%s", of[i / 4], suffixes[i % 4]);
		unlink(name);
	}
	if (base)
		test_file_write(path, base, base_len);
}

/* Return: the name of a file that is not a part of the database, or NULL. */
static const char *other_file(void)
{
	static char name[256];
	DIR *dir = opendir(folder);
	bool found = false;

	for (struct dirent *entry; !found && (entry = readdir(dir));) {
		snprintf(name, sizeof(name), "%s", entry->d_name);
		found = name[0] != '.' && strncmp(name, "fabric.db", strlen("fabric.db")) != 0;
	}
	closedir(dir);
	return found ? name : NULL;
}

TEST_WITH(commands_print_the_right_numbers_or_one_error, NULL, name_point)
{
	static const char *const lines[] = {
		"status", "status|--format|json", "ports", "ports|--format|csv|--since|2026-11-18",
		"ports|--counters|--all", "ports|--details", "ports|--at|2026-11-18T11:40:00Z", "nodes",
		"links|--format|json", "history|--top|3|--since|2026-11-18",
		"history|all|--since|2026-11-18|--step|1h|--format|csv",
		"history|all|--since|2026-11-18|--each", "events|--since|2026-11-18", "health|--all",
		"health|--format|json", "health|--since|2026-11-18", "balance|--all|--since|2026-11-18",
		"sql|SELECT * FROM traffic", "sql|SELECT * FROM port_sum", "sql|SELECT * FROM errors",
		"sql|SELECT * FROM details",
		"sql|SELECT * FROM ports, nodes, gaps, findings, events, sweeps LIMIT 100", "db",
		"snapshot|list", "job|list", "job|report|1", "job|report|1|--format|json", "job|compare|1|2",
		"snapshot|diff|one|two|--all", "topology|show", "topology|dot", "names|suggest",
		"metrics|--once", "db|check",
	};
	struct fault_case cases[sizeof(lines) / sizeof(*lines)];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		cases[i] = (struct fault_case){ .name = lines[i], .body = run_command, .prepare = renew_database };
	try_cases(cases, sizeof(lines) / sizeof(*lines), "faults in commands");
}

TEST_WITH(the_status_of_a_running_collector_is_right_or_an_error, NULL, name_point)
{
	static const struct fault_case cases[] = {
		{ .name = "status|--at|2026-11-18T11:40:00Z", .body = run_command },
		{ .name = "db|--format|json", .body = run_command },
	};
	struct writer *writer;

	renew_database();
	writer = check_open_writer(path);
	try_cases(cases, 2, "faults beside a collector");
	writer_close(writer);
}

/* The file that a command writes is complete, and there is no other. */
static const char *check_files(bool reported)
{
	static char *page;
	static size_t page_len;
	const char *other = other_file();
	uint64_t faults = 0;
	struct error err = { 0 };
	char *bytes;
	size_t len;

	if (admin_check(path, NULL, NULL, &faults, &err) < 0 || faults)
		return "the database is damaged";
	/* The file may be complete before the command fails. */
	if (reported && (!other || strcmp(other, "copy.db") != 0))
		return other;
	if (strstr(current, "|COPY") && (admin_check(copy_path, NULL, NULL, &faults, &err) < 0 || faults))
		return "the copy is damaged";
	if (!strstr(current, "|PAGE"))
		return NULL;
	bytes = test_file_read(copy_path, &len);
	if (counting) {
		free(page);
		page = bytes;
		page_len = len;
		return NULL;
	}
	faults = len != page_len || memcmp(bytes, page, len) != 0;
	free(bytes);
	return faults ? "wrong content of the page" : NULL;
}

TEST_WITH(commands_that_write_do_it_completely_or_not_at_all, NULL, name_point)
{
	static const char *const lines[] = {
		"health|ack|1|--reason|known", "snapshot|remove|one", "job|end|3|--no-snapshot|--status|1",
		"job|begin|7|--no-snapshot", "job|remove|2", "db|compact", "db|backup|COPY", "db|export|COPY",
		"db|export|COPY|--anonymise", "job|report|1|--html|PAGE", "topology|save|PAGE",
	};
	struct fault_case cases[sizeof(lines) / sizeof(*lines)];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		cases[i] = (struct fault_case){ .name = lines[i], .body = run_command, .prepare = renew_database,
						.check = check_files };
	try_cases(cases, sizeof(lines) / sizeof(*lines), "faults in commands that write");
}

/* --- the writer --- */

enum { SEED = 5, WINDOW = 5 };

static const struct writer_retention retention = { .raw_us = 2000 * US_PER_S, .sums_us = 6000 * US_PER_S,
						   .hours_us = 7000 * US_PER_S, .window_sweeps = WINDOW };
static struct model *given;  /* what the child stores next; it has a copy */
static struct model *truth;  /* the same after the child's sweeps */
static char *stored;         /* the database before the child's sweeps; NULL: there is none */
static size_t stored_len;

static const struct sweep *step(struct model *of)
{
	if (of->sweep_count % 6 == 4)
		model_jump(of, 1500 * US_PER_S);
	return model_step(of);
}

static const struct sweep *step_given(void)
{
	const struct sweep *sweep;

	fault_pause();
	sweep = step(given);
	fault_resume();
	return sweep;
}

/* The first failure is reported; a second one is an error, because only one call fails. */
static bool again(int code, const struct error *err)
{
	static int failures;

	if (code >= 0)
		return false;
	log_error("%s", err->text);
	if (failures++)
		exit(3);
	return true;
}

static struct writer *open_again(void)
{
	struct writer *writer = NULL;
	struct error err = { 0 };

	while (again(writer_open(path, &writer, &err), &err))
		;
	writer_set_retention(writer, &retention);
	return writer;
}

static void store_again(struct writer *writer, const struct sweep *sweep)
{
	struct error err = { 0 };

	while (again(writer_sink(writer)->store(writer_sink(writer)->ctx, sweep, &err), &err))
		;
}

static void ingest(void *name)
{
	struct writer *writer = open_again();

	(void)name;
	for (size_t left = truth->sweep_count - given->sweep_count; left; left--) {
		struct restored restored = { 0 };
		struct error err = { 0 };

		if (left == 2) {
			writer_close(writer);
			writer = open_again();
			while (again(writer_sink(writer)->restore(writer_sink(writer)->ctx, &restored, &err), &err)) {
				restored_done(&restored);
				memset(&restored, 0, sizeof(restored));
			}
			restored_done(&restored);
		}
		store_again(writer, step_given());
	}
	writer_close(writer);
}

static void take_snapshot(void *name)
{
	static const struct saved_label label = { .name = "s", .slow = true };
	struct saved_writer *writer = NULL;
	struct error err = { 0 };

	(void)name;
	while (again(saved_writer_open(path, &writer, &err), &err))
		;
	while (again(saved_write(writer, &label, &given->sweep, &err), &err))
		;
	while (again(saved_remove(writer, "old", &err), &err))
		;
	saved_writer_close(writer);
}

static void renew_stored(void)
{
	size_t len = base_len;
	char *bytes = base;

	base = stored;
	base_len = stored_len;
	renew_database();
	base = bytes;
	base_len = len;
}

static const char *check_stored(bool reported)
{
	struct reader *reader;
	int64_t first;

	(void)reported;
	check_sound(path);
	reader = check_open_reader(path);
	first = check_integer(path, "SELECT coalesce(max(to_sweep), 1) FROM chunk_window WHERE state = 2");
	for (int64_t id = (int64_t)truth->sweep_count; id >= first; id--)
		check_sweep(reader, truth, id);
	reader_close(reader);
	return NULL;
}

static const char *check_snapshots(bool reported)
{
	if (check_integer(path, "SELECT count(*) != 1 OR max(name) != 's' OR NOT max(complete) FROM snapshot") ||
	    check_integer(path, "SELECT count(DISTINCT snapshot) != 1 FROM snapshot_port"))
		return "wrong snapshots";
	return check_stored(reported);
}

/* @before: sweeps in the database of each run; @after: with those of the run */
static void try_writer(const struct fault_case *tried, size_t before, size_t after, const char *change)
{
	struct writer *writer;
	struct saved_writer *saved;

	unlink(path);
	given = model_create(SEED, 2, 4, 3);
	truth = model_create(SEED, 2, 4, 3);
	truth->keep_history = true;
	writer = before ? check_open_writer(path) : NULL;
	if (writer)
		writer_set_retention(writer, &retention);
	for (size_t i = 0; i < before; i++)
		check_store(writer, step(given));
	writer_close(writer);
	if (before) {
		assert_int_equal(saved_writer_open(path, &saved, NULL), 0);
		assert_int_equal(saved_write(saved, &(struct saved_label){ .name = "old" }, &given->sweep, NULL), 0);
		saved_writer_close(saved);
		check_change(path, change);
		stored = test_file_read(path, &stored_len);
	}
	while (truth->sweep_count < after)
		step(truth);
	try_cases(tried, 1, tried->name);
	free(stored);
	stored = NULL;
	model_destroy(given);
	model_destroy(truth);
}

#define WRITER_CASE(text, run, verify, ...) (&(struct fault_case){ \
	.name = "faults in " text, .body = run, .prepare = renew_stored, .check = verify, ##__VA_ARGS__ })

TEST_WITH(a_new_database_has_every_sweep, NULL, name_point)
{
	try_writer(WRITER_CASE("creation", ingest, check_stored), 0, 1, NULL);
}

TEST_WITH(no_sweep_is_lost_by_a_fault_of_the_writer, NULL, name_point)
{
	try_writer(WRITER_CASE("ingest", ingest, check_stored, .flushes = true), 12, 15, "");
}

TEST_WITH(no_sweep_is_lost_by_a_fault_of_compaction_or_retention, NULL, name_point)
{
	try_writer(WRITER_CASE("compaction and retention", ingest, check_stored), 44, 48, "");
}

TEST_WITH(a_snapshot_is_stored_completely_or_not_at_all, NULL, name_point)
{
	try_writer(WRITER_CASE("snapshots", take_snapshot, check_snapshots), 12, 12, "");
}

TEST_WITH(a_migration_is_complete_or_absent, NULL, name_point)
{
	try_writer(WRITER_CASE("migration", ingest, check_stored), 12, 13,
		   "PRAGMA user_version = 1; DROP TABLE job; DELETE FROM code WHERE kind = 'job_ending'");
}

/* --- the collector --- */

/* Functions of the virtual fabric, in which nothing fails. */
static struct transport real_transport;
static struct discoverer real_discoverer;
static struct clock real_clock;

static int send_paused(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		       struct error *err)
{
	int code;

	fault_pause();
	code = real_transport.send(ctx, to, mad, timeout_ms, err);
	fault_resume();
	return code;
}

static int start_paused(void *ctx, const struct fabric *last, const struct explore_port *ports, size_t count,
			struct error *err)
{
	int code;

	fault_pause();
	code = real_discoverer.start(ctx, last, ports, count, err);
	fault_resume();
	return code;
}

static int step_paused(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
		       struct error *err)
{
	int code;

	fault_pause();
	code = real_discoverer.step(ctx, timeout_ms, ret, trailer, err);
	fault_resume();
	return code;
}

static void sleep_paused(void *ctx, int64_t until_us)
{
	fault_pause();
	real_clock.sleep_until(ctx, until_us);
	fault_resume();
}

/* Store in the database, and then in the store of the lab, which compares with the counters of the ports. */
struct both {
	struct sink real, compared;
	struct lab *lab;
};

static int store_both(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct both *both = ctx;
	int code = both->real.store(both->real.ctx, sweep, err);

	fault_pause();
	if (code == 0)
		code = both->compared.store(both->lab, sweep, err);
	fault_resume();
	return code;
}

static int restore_real(void *ctx, struct restored *ret, struct error *err)
{
	return ((struct both *)ctx)->real.restore(((struct both *)ctx)->real.ctx, ret, err);
}

static int store_real_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	return ((struct both *)ctx)->real.store_events(((struct both *)ctx)->real.ctx, events, count, err);
}

static int store_real_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	return ((struct both *)ctx)->real.store_caps(((struct both *)ctx)->real.ctx, caps, count, err);
}

static struct lab *make_lab(void)
{
	static struct health_settings health;
	struct lab *lab = lab_create(1);

	health_settings_default(&health);
	lab->run.settings.health = &health;
	lab->run.settings.routes_interval_us = 10 * US_PER_S;
	lab_set_tables(lab);
	lab_during(lab, &lab_port(lab, LEAF, 3)->down, 2, 3);
	real_transport = lab->run.transport;
	lab->run.transport.send = send_paused;
	real_discoverer = lab->run.discoverer;
	lab->run.discoverer.start = start_paused;
	lab->run.discoverer.step = step_paused;
	real_clock = lab->run.clock;
	lab->run.clock.sleep_until = sleep_paused;
	return lab;
}

/* A collector that fails is started again, and continues with exact sums. */
static void collect(void *name)
{
	struct lab *lab;
	struct both both;
	int ended = 0;

	(void)name;
	fault_pause();
	lab = make_lab();
	log_init("ibwire", LOG_LEVEL_WARNING);
	fault_resume();
	for (uint64_t until = 4; until <= 6; until += 2) {
		struct writer *writer = open_again();

		both = (struct both){ *writer_sink(writer), lab_sink(lab), lab };
		lab->sink = (struct sink){ .store = store_both, .restore = restore_real,
					   .store_events = store_real_events, .store_caps = store_real_caps,
					   .ctx = &both };
		while (lab->sweeps < until && again(lab_try(lab, until - lab->sweeps), &lab->err))
			ended++;
		writer_close(writer);
	}
	fault_pause();
	lab_check(lab);
	lab_check_details(lab);
	printf("%d\n", lab->sweeps >= 5);
}

static const char *check_collected(bool reported)
{
	(void)reported;
	check_sound(path);
	return check_integer(path, "SELECT count(*) >= 5 FROM sweep") ? NULL : "too few sweeps";
}

TEST_WITH(the_sums_of_a_collector_are_exact_after_a_fault, NULL, name_point)
{
	try_writer(&(struct fault_case){ .name = "faults in the collector", .body = collect, .prepare = renew_stored,
					 .check = check_collected }, 0, 0, NULL);
}

/* --- the helper of discovery --- */

static void discover(void *name)
{
	char script[128];
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct discovery_settings settings = { .argv = argv, .deadline_us = 60 * US_PER_S };
	struct record_trailer trailer;
	struct fabric *fabric = NULL;
	struct text records = { 0 };
	struct error err = { 0 };

	(void)name;
	snprintf(script, sizeof(script), "cat '%s'", copy_path);
	while (again(discovery_run(&settings, clock_system(), &fabric, &trailer, &err), &err))
		;
	fault_pause();
	record_write(&records, fabric, &trailer);
	fwrite(text_chars(&records), 1, records.len, stdout);
	text_done(&records);
	fault_resume();
	fabric_destroy(fabric);
	if (fflush(stdout)) {
		log_error("cannot write the records");
		exit(74);
	}
}

static void write_records(void)
{
	struct text records = { 0 };

	record_write(&records, model->fabrics[0], &(struct record_trailer){ .smps = 1 });
	test_file_write(copy_path, text_chars(&records), records.len);
	text_done(&records);
}

TEST_WITH(a_discovered_fabric_is_complete, NULL, name_point)
{
	try_cases(&(struct fault_case){ .name = "faults in discovery", .body = discover, .prepare = write_records }, 1,
		  "faults in discovery");
}

/* --- the tests --- */

int set_up(void **state)
{
	setenv("LC_ALL", "C", 1);
	setenv("TZ", "UTC0", 1);
	unsetenv("IBWIRE_DB");
	test_folder_make(state);
	snprintf(copy_path, sizeof(copy_path), "%s/copy.db", folder);
	tzset();
	model = test_base_store();
	base = test_file_read(path, &base_len);
	return 0;
}

int tear_down(void **state)
{
	free(base);
	model_destroy(model);
	model = NULL;
	return test_folder_remove(state);
}
