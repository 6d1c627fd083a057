/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/fault/points.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "tests/fault/inject.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { USUAL_POINTS = 3, SANITIZER_STATUS = 99, FAILURES_SHOWN = 12 };

/* Called by the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "exitcode=99:quarantine_size_mb=1:allocator_may_return_null=1";
}

/* glibc loses five bytes in setlocale() if a later allocation fails, OpenSSL its tables while it is initialized. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:_nl_normalize_codeset\nleak:libcrypto.so";
}

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

const char *fault_current;
bool fault_counting;
static char checked[256]; /* the point after which a check runs */

struct tally {
	uint64_t all, points; /* all: also those not tried; points: calls that failed */
	uint64_t missed;      /* not reached, or a read that returned no less than without a fault */
	uint64_t ended;       /* by a library */
	uint64_t absorbed, reported, failures;
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

/* Each line has the prefix of the log, and no name or cause is missing in it. */
static bool is_clear(const char *text)
{
	for (const char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		if (!end || strncmp(text, "ibwire: ", 8) != 0 || end - text < 12 || strchr(":,;( ", end[-1]))
			return false;
		if (memmem(text, (size_t)(end - text), "(null)", 6) || memmem(text, (size_t)(end - text), ": :", 3))
			return false;
	}
	return true;
}

/* The sanitizer ends the process if an allocation for its own list of threads fails; libsnappy has no other way. */
static bool library_ended(const struct fault_run *run)
{
	return run->failed && !strcmp(run->what, "allocation") && run->status != 0 &&
	       (strstr(run->err, "AddressSanitizer: CHECK failed") || strstr(run->err, "std::bad_alloc"));
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
	if (!run->hidden && !is_clear(run->err))
		return "an unclear message";
	if (run->status == whole->status)
		return lines <= count_lines(whole->err) + 1 ? NULL : "too many warnings";
	if (!is_documented(status))
		return "an exit status that is not documented";
	/* A file that cannot be read is damaged. */
	if (strncmp(run->out, whole->out, strlen(run->out)) != 0 &&
	    (strcmp(fault_current, "db|check") != 0 || !strstr(run->what, " EIO")))
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
	bool reported, ended;
	const char *wrong;

	if (tried->prepare)
		tried->prepare();
	fault_run(tried->body, (void *)(uintptr_t)tried->name, plan, point, &run);
	wrong = judge(&run, whole, &reported);
	snprintf(checked, sizeof(checked), "%s, point %" PRIu64 " (%s)", tried->name, point, run.what);
	ended = library_ended(&run);
	if (ended)
		wrong = NULL;
	else if (!wrong && tried->check)
		wrong = tried->check(run.status != whole->status);
	checked[0] = '\0';
	tally->points += run.failed && !ended;
	tally->ended += ended;
	tally->missed += !run.failed;
	tally->absorbed += run.failed && !ended && !wrong && !reported;
	tally->reported += run.failed && !ended && !wrong && reported;
	tally->failures += wrong != NULL;
	if ((wrong && tally->failures <= FAILURES_SHOWN) || getenv("IBWIRE_FAULT_POINT"))
		show(tried, point, &run, wrong ? wrong : "right");
	fault_run_done(&run);
}

/*
 * The points to choose from. Distinct: without further allocations of a call stack, also of earlier cases.
 * Return: their number.
 */
static size_t choose(const struct fault_case *tried, const struct fault_plan *plan, bool distinct, uint64_t *ret_points)
{
	static struct map stacks;
	uint64_t end = tried->no_calls ? plan->allocations : plan->points;
	size_t count = 0;

	for (uint64_t i = environment("IBWIRE_FAULT_FROM", 0); i < end; i++) {
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

/* Return: whether this is a failure. */
static bool no_seccomp(void)
{
	printf("# no seccomp user notification here: system calls do not fail\n");
	return getenv("IBWIRE_RELIABILITY");
}

static void try_case(const struct fault_case *tried, struct tally *tally)
{
	const char *only = getenv("IBWIRE_FAULT_CASE"), *single = getenv("IBWIRE_FAULT_POINT");
	uint64_t most = environment("IBWIRE_FAULT_POINTS", test_cases(USUAL_POINTS));
	struct fault_plan plan;
	struct fault_run whole;
	uint64_t before = tally->points, part = environment("IBWIRE_FAULT_PART", 0);
	uint64_t parts = environment("IBWIRE_FAULT_PARTS", 1);
	bool usual = most, distinct = !most && !getenv("IBWIRE_FAULT_ALL");
	uint64_t *points;
	const char *wrong;
	size_t count;

	if (only && strncmp(tried->name, only, strlen(only) + (single != NULL)) != 0)
		return;
	fault_counting = true;
	fault_current = tried->name;
	if (tried->prepare)
		tried->prepare();
	if (!fault_count(tried->body, (void *)(uintptr_t)tried->name, distinct, &plan, &whole))
		tally->failures += no_seccomp();
	wrong = tried->check ? tried->check(false) : NULL;
	fault_counting = false;
	if (wrong || !WIFEXITED(whole.status) || WEXITSTATUS(whole.status) > 2) {
		show(tried, plan.points, &whole, wrong ? wrong : "it fails without a fault");
		tally->failures++;
	}
	points = malloc(plan.points * sizeof(*points));
	count = choose(tried, &plan, distinct, points);
	if (!usual || most > count)
		most = count;
	for (uint64_t i = part; i < most && !single; i += parts)
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
	tally->all += tried->no_calls ? plan.allocations : plan.points;
	fault_run_done(&whole);
	fault_plan_done(&plan);
}

/* A row of docs/reliability.md. */
static void report(const struct tally *tally, const char *class, const char *result)
{
	const char *given = getenv("IBWIRE_FAULT_POINTS");
	char faults[96], unit[128], what[256];

	snprintf(faults, sizeof(faults), "%s%s", class, SANITIZED ? ", AddressSanitizer" : "");
	snprintf(unit, sizeof(unit), "of %" PRIu64 " points, %" PRIu64 " ended by a library", tally->all, tally->ended);
	snprintf(what, sizeof(what), "%s: no crash%s, at most one clear line of error; %s",
		 !given || strcmp(given, "0") != 0 ? "some points" : getenv("IBWIRE_FAULT_ALL") ?
		 "each allocation, each system call" : "an allocation of each call stack, each system call",
		 SANITIZED ? ", no leak" : "", result);
	reliability_report(faults, tally->points, unit, what);
}

void fault_try_cases(const struct fault_case *cases, size_t count, const char *class, const char *result)
{
	struct tally tally = { 0 };
	/* The short form has fewer commands. */
	size_t step = getenv("IBWIRE_TEST_SHORT") && !getenv("IBWIRE_FAULT_POINTS") ? 5 : 1;

	for (size_t i = 0; i < count; i += step)
		try_case(&cases[i], &tally);
	if (tally.all)
		printf("# note: %s: %" PRIu64 " of %" PRIu64 " points, %" PRIu64 " absorbed, %" PRIu64 " reported, %"
		       PRIu64 " ended by a library, %" PRIu64 " not reached, %" PRIu64 " failures\n",
		       class, tally.points, tally.all, tally.absorbed, tally.reported, tally.ended, tally.missed,
		       tally.failures);
	assert_int_equal(tally.failures, 0);
	if (tally.points)
		report(&tally, class, result);
}

int fault_repeat(void (*body)(void *))
{
	static const struct fault_plan none = { .allocations = UINT64_MAX };
	struct fault_run again;

	fault_run(body, (void *)(uintptr_t)fault_current, &none, UINT64_MAX - 1, &again);
	fault_run_done(&again);
	return again.status;
}

/* A check that fails ends the test. */
int fault_name_point(void **state)
{
	(void)state;
	if (checked[0])
		printf("# after %s\n", checked);
	checked[0] = '\0';
	return 0;
}

/* The first failure is reported; a second one is an error, because only one call fails. */
bool fault_again(int code, const struct error *err)
{
	static int failures;

	if (code >= 0)
		return false;
	log_error("%s", err->text);
	if (failures++)
		exit(3);
	return true;
}
