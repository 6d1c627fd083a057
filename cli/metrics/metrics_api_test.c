/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* metrics_api_test.c - command lines of requests, and the processes that run them */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/metrics/metrics_api.h"
#include "cli/metrics/metrics_child.h"

static const struct metrics_api_config config = { .db = "/x y.db" };

/* The arguments of a request, separated by '|'; or the error. */
static int parse(const char *path, const struct metrics_api_pair *pairs, size_t count, struct text *ret)
{
	struct metrics_api_call call;
	struct error err = { 0 };
	int code = metrics_api_parse(path, pairs, count, &config, &call, &err);

	text_clear(ret);
	text_append(ret, err.text);
	for (size_t i = 0; code == 0 && i < call.argc; i++)
		text_appendf(ret, "%s%s", i ? "|" : "", call.argv[i]);
	if (code == 0)
		metrics_api_done(&call);
	return code;
}

TEST(a_request_is_one_command_line)
{
	static const struct metrics_api_pair ports[] = {
		{ "subject", "-x" }, { "sort", "load" }, { "all", NULL }, { "subject", "leaf 1/2; rm -rf /" },
		{ "top", "3" },
	};
	struct text line = { 0 };

	assert_int_equal(parse("/api/ports", ports, 5, &line), 0);
	assert_string_equal(text_chars(&line), "ibwire|ports|--format=json|--db=/x y.db|--sort=load|--all|--top=3|--|"
			    "-x|leaf 1/2; rm -rf /");
	assert_int_equal(parse("/", NULL, 0, &line), 0);
	assert_string_equal(text_chars(&line), "ibwire|status|--html=-|--links|--db=/x y.db|--");
	text_done(&line);
}

TEST(options_that_are_not_listed_are_refused)
{
	static char long_value[METRICS_API_VALUE + 2];
	const struct { const char *path; struct metrics_api_pair pair; const char *error; } cases[] = {
		{ "/api/ports", { "db", "/etc/passwd" }, "/api/ports has no option 'db'" },
		{ "/api/ports", { "html", "x" }, "no option 'html'" },
		{ "/api/ports", { "", "x" }, "no option ''" },
		{ "/api/ports", { "all errors", NULL }, "no option 'all errors'" },
		{ "/api/ports", { "sort=", "x" }, "no option 'sort='" },
		{ "/api/health", { "exec", "x" }, "no option 'exec'" },
		{ "/api/health", { "job", "@/etc/passwd" }, "no option 'job'" },
		{ "/api/health", { "subject", "ack" }, "invalid value of subject" },
		{ "/api/health", { "subject", "unack" }, "invalid value of subject" },
		{ "/api/health", { "subject", NULL }, "invalid value of subject" },
		{ "/api/health", { "subject", "a\nb" }, "invalid value of subject" },
		{ "/api/health", { "subject", long_value }, "invalid value of subject" },
		{ "/api/health", { "all", "no" }, "invalid value of all" },
		{ "/api/job/report", { "nccl", "/etc/passwd" }, "no option 'nccl'" },
		{ "/", { "html", "/tmp/x" }, "/ has no option 'html'; options: none" },
	};
	static const char *const paths[] = { "/api/clear", "/api/sql", "/api", "/api/health/", "/etc/passwd",
					     "/api/job", "" };
	struct text line = { 0 };

	memset(long_value, 'x', METRICS_API_VALUE + 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(parse(cases[i].path, &cases[i].pair, 1, &line), ERR_USAGE);
		if (!strstr(text_chars(&line), cases[i].error))
			fail_msg("%s", text_chars(&line));
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		assert_int_equal(parse(paths[i], NULL, 0, &line), ERR_UNAVAILABLE);
	text_done(&line);
}

TEST(the_number_of_arguments_is_limited)
{
	struct metrics_api_pair pairs[METRICS_API_ARGS];
	struct text line = { 0 };

	for (size_t i = 0; i < METRICS_API_ARGS; i++)
		pairs[i] = (struct metrics_api_pair){ "subject", "x" };
	assert_int_equal(parse("/api/ports", pairs, METRICS_API_ARGS, &line), ERR_USAGE);
	assert_string_equal(text_chars(&line), "too many options");
	text_done(&line);
}

/* --- processes: this program is executed again, and main() is not reached --- */

static void flood(void)
{
	static char block[1 << 20];

	for (int i = 0; i <= METRICS_CHILD_MB; i++)
		if (write(STDOUT_FILENO, block, sizeof(block)) < 0)
			_exit(-ERR_IO);
}

/* The descriptors that a child has inherited, but for those of its start and of sanitizers. */
static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1000; fd++)
		count += dup2(fd, fd) == fd;
	return count;
}

__attribute__((constructor)) static void child_main(int argc, char **argv)
{
	const char *what = argc > 2 && !strcmp(argv[1], "child") ? argv[2] : "";

	if (!*what)
		return;
	if (!strcmp(what, "hang"))
		for (;;)
			pause();
	if (!strcmp(what, "flood"))
		flood();
	if (!strcmp(what, "kill"))
		raise(SIGKILL);
	if (!strcmp(what, "usage") && write(STDERR_FILENO, "ibwire: ports: wrong\nmore\n", 26) == 26)
		_exit(-ERR_USAGE);
	if (!strcmp(what, "none") && write(STDERR_FILENO, "ibwire: there is no database\n", 29) == 29)
		_exit(-ERR_UNAVAILABLE);
	if (!strcmp(what, "descriptors"))
		_exit(count_descriptors() == 3 ? 0 : 70);
	_exit(!strcmp(what, "health") && write(STDOUT_FILENO, "{}\n", 3) == 3 ? 2 : 0);
}

static char program[] = "ibwire", role[] = "child", hang[] = "hang";

static void run_child(const char *what, int64_t after_us, struct metrics_child *child)
{
	char *argv[] = { program, role, (char *)(uintptr_t)what, NULL };
	struct error err = { 0 };

	signal(SIGXFSZ, SIG_IGN); /* as in the server */
	if (metrics_child_start(child, argv, 0, &err) < 0)
		fail_msg("%s", err.text);
	while (metrics_child_poll(child, after_us)) {
		struct pollfd wait = { .fd = child->messages, .events = POLLIN };

		poll(&wait, 1, child->messages >= 0 ? 1000 : 1);
	}
}

TEST(exit_statuses_become_those_of_http)
{
	static const struct { const char *what; unsigned status; const char *line; } cases[] = {
		{ "ok", 200, "" }, { "health", 200, "" }, { "usage", 400, "ports: wrong" },
		{ "none", 503, "there is no database" }, { "kill", 500, "the command was ended by signal 9" },
		{ "flood", 500, "the result is larger than 64 MB; select fewer ports" }, { "descriptors", 200, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct metrics_child child;

		run_child(cases[i].what, 0, &child);
		assert_int_equal(child.status, cases[i].status);
		assert_string_equal(child.line, cases[i].line);
		assert_int_equal(child.size, !strcmp(cases[i].what, "health") ? 3 :
				 !strcmp(cases[i].what, "flood") ? (uint64_t)METRICS_CHILD_MB << 20 : 0);
		metrics_child_done(&child);
	}
}

TEST(a_command_ends_at_its_time_limit)
{
	struct metrics_child child;
	pid_t pid;

	run_child("hang", METRICS_CHILD_SECONDS * US_PER_S, &child);
	assert_int_equal(child.status, 504);
	assert_string_equal(child.line, "no result within 20 s");
	metrics_child_done(&child);
	/* And when it is not needed any more. */
	assert_int_equal(metrics_child_start(&child, (char *[]){ program, role, hang, NULL }, 0, NULL), 0);
	pid = child.pid;
	metrics_child_done(&child);
	assert_int_equal(kill(pid, 0), -1);
}
