/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* metrics_api_test.c - command lines of requests, and the threads that run them */
#include <arpa/inet.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_api.h"
#include "cli/metrics/metrics_command.h"
#include "cli/metrics/metrics_families.h"
#include "cli/metrics/metrics_page.h"
#include "cli/metrics/metrics_server.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static const struct metrics_api_config config = { .db = "/x y.db" };

/* The arguments of a request, separated by '|'; or the error. */
static int parse(const char *url, const struct metrics_api_pair *pairs, size_t count, struct text *ret)
{
	struct metrics_api_call call;
	struct error err = { 0 };
	int code = metrics_api_parse(url, pairs, count, &config, &call, &err);

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
	assert_string_equal(text_chars(&line), "ports|--format=json|--db=/x y.db|--sort=load|--all|--top=3|--|"
			    "-x|leaf 1/2; rm -rf /");
	assert_int_equal(parse("/", NULL, 0, &line), 0);
	assert_string_equal(text_chars(&line), "status|--html=-|--links|--db=/x y.db|--");
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
		{ "/", { "html", "/tmp/x" }, "/ has no option 'html'; options: at=" },
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

TEST(what_a_client_refuses_has_the_weight_0)
{
	static const struct { const char *list, *word; double weight; } cases[] = {
		{ NULL, "gzip", 0 }, { "", "gzip", 0 }, { "gzip", "gzip", 1 }, { "deflate, GZip", "gzip", 1 },
		{ "gzip;q=0", "gzip", 0 }, { "gzip; q=0.000 , br", "gzip", 0 }, { "gzip ;Q=0", "gzip", 0 },
		{ "gzip;q=0.25,deflate;q=0", "gzip", 0.25 }, { "deflate;q=0,gzip", "gzip", 1 },
		/* Other words, and values of parameters. */
		{ "gzip2", "gzip", 0 }, { "x-gzip", "gzip", 0 }, { "br;of=gzip", "gzip", 0 },
		{ "gzip;of=q=0", "gzip", 1 },
		{ "text/plain;q=0.5;version=0.0.4", "text/plain", 0.5 }, { "text/plain;version=q=0", "text/plain", 1 },
		{ "a/b;version=1.0.0;q=0,a/b;version=0.0.1", "a/b", 0 }, { ",,;q=0, ,gzip;", "gzip", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (metrics_api_weight(cases[i].list, cases[i].word) != cases[i].weight)
			fail_msg("%s in \"%s\": %g", cases[i].word, cases[i].list,
				 metrics_api_weight(cases[i].list, cases[i].word));
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

/* --- requests to a server whose commands are this function --- */

enum { LIMIT_MS = 300 };

/* Shared with the server, which is another process, since a stop is for a whole process. */
static struct shared {
	struct metrics_api_config api;
	atomic_int port, running, most_running;
	atomic_bool blocked; /* "block" does not end, as if it waited for a file system */
} *shared;
static pid_t server_pid;

static void sleep_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* The last argument says what to do. */
static int command(const struct call_context *context, int argc, char **argv, struct error *err)
{
	const char *what = argv[argc - 1];
	int now = ++shared->running;

	if (now > shared->most_running)
		shared->most_running = now;
	while (!strcmp(what, "hang") && !*context->stop)
		sleep_ms(1);
	while (!strcmp(what, "block") && shared->blocked)
		sleep_ms(1);
	if (!strcmp(what, "spin"))
		for (volatile unsigned i = 0; !*context->stop; i++)
			;
	if (!strcmp(what, "flood"))
		for (int i = 0; i <= METRICS_OUTPUT_MB << 10; i++)
			fprintf(context->out, "%1024s", "");
	shared->running--;
	if (!strcmp(what, "usage"))
		return err_set(err, ERR_USAGE, "ports: wrong");
	if (!strcmp(what, "none"))
		return err_set(err, ERR_UNAVAILABLE, "there is no database");
	if (!strcmp(what, "io"))
		return err_set(err, ERR_IO, "the disk failed");
	fprintf(context->out, "{}\n");
	return !strcmp(what, "health") ? 2 : 0;
}

/* In the process of the server. */
static void serve(void)
{
	struct settings settings;
	int fd = -1;
	struct metrics_source source = { .path = path, .settings = &settings, .schema = metrics_schema_find(NULL) };
	struct metrics_server *server = NULL;
	bool good = settings_load("/dev/null", &settings, NULL) == 0 && metrics_listen("127.0.0.1:0", &fd, NULL) == 0 &&
		    metrics_server_create(fd, NULL, &source, &shared->api, &server, NULL) == 0;

	stop_install();
	if (good) {
		shared->port = atoi(strrchr(metrics_server_url(server), ':') + 1);
		good = metrics_server_run(server, NULL) == 0;
	}
	metrics_server_destroy(server, false);
	metrics_source_done(&source);
	_exit(!good);
}

static void serve_begin(void)
{
	struct model *model = model_create(11, 4, 8, 8);
	struct writer *writer = check_open_writer(path);

	check_store(writer, model_step(model));
	writer_close(writer);
	model_destroy(model);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	shared->api = (struct metrics_api_config){ .run = command, .limit_us = LIMIT_MS * 1000, .db = path };
	server_pid = fork();
	if (!server_pid)
		serve();
	assert_true(server_pid > 0);
	while (!shared->port)
		sleep_ms(1);
}

/* Return: milliseconds until the server has stopped. */
static int64_t serve_end(void)
{
	int64_t began_us = clock_boottime_us(clock_system());
	int status;

	kill(server_pid, SIGTERM);
	assert_int_equal(waitpid(server_pid, &status, 0), server_pid);
	assert_int_equal(status, 0);
	return (clock_boottime_us(clock_system()) - began_us) / 1000;
}

static int ask(const char *path_and_query)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					     .sin_port = htons((uint16_t)shared->port) };
	char request[512];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", path_and_query);
	assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
	return fd;
}

/* Return: the status. @ret_line: of the body, if not NULL */
static int reply(int fd, char ret_line[128])
{
	char bytes[16384], *body;
	size_t len = 0;
	ssize_t got;

	while (len < sizeof(bytes) - 1 && (got = recv(fd, bytes + len, sizeof(bytes) - 1 - len, 0)) > 0)
		len += (size_t)got;
	close(fd);
	bytes[len] = '\0';
	body = strstr(bytes, "\r\n\r\n");
	assert_non_null(body);
	if (ret_line)
		snprintf(ret_line, 128, "%.*s", (int)strcspn(body + 4, "\n"), body + 4);
	return atoi(bytes + strlen("HTTP/1.1 "));
}

/* Ask until the status of the metrics is 200. Return: their text, for free(). */
static char *metrics_text(void)
{
	for (int i = 0; i < 200; i++) {
		char *bytes = calloc(1, 1 << 20), *body;
		size_t len = 0;
		ssize_t got;
		int fd = ask("/metrics");

		while (len < (1 << 20) - 1 && (got = recv(fd, bytes + len, (1 << 20) - 1 - len, 0)) > 0)
			len += (size_t)got;
		close(fd);
		body = strstr(bytes, "\r\n\r\n");
		assert_non_null(body);
		if (atoi(bytes + strlen("HTTP/1.1 ")) == 200)
			return bytes;
		free(bytes);
		sleep_ms(20);
	}
	fail_msg("no metrics");
	return NULL;
}

/* A result that takes longer than the limit is not lost, but served to those who ask later. */
TEST_IN_FOLDER(a_limit_that_is_too_short_only_delays_the_metrics)
{
	serve_begin();
	shared->api.limit_us = 1;
	free(metrics_text());
	serve_end();
}

TEST_IN_FOLDER(a_command_that_cannot_start_gets_a_response_in_time)
{
	int fds[METRICS_CALLS], waiting;
	char line[128], query[64];

	serve_begin();
	shared->blocked = true;
	for (int i = 0; i < METRICS_CALLS; i++) {
		snprintf(query, sizeof(query), "/api/ports?subject=block&top=%d", i);
		fds[i] = ask(query);
	}
	while (shared->running < METRICS_CALLS)
		sleep_ms(1);
	waiting = ask("/api/ports");
	for (int i = 0; i < METRICS_CALLS; i++)
		assert_int_equal(reply(fds[i], line), 504);
	assert_int_equal(reply(waiting, line), 504);
	assert_string_equal(line, "no result within 0 s");
	assert_in_range(serve_end(), 0, 4000);
}

/* Another database with the same number of sweeps, in place of the one before. */
TEST_IN_FOLDER(a_replaced_database_has_other_metrics)
{
	char *first, *second;
	struct model *model;
	struct writer *writer;

	serve_begin();
	first = metrics_text();
	model = model_create(12, 2, 4, 4);
	assert_int_equal(unlink(path), 0);
	writer = check_open_writer(path);
	check_store(writer, model_step(model));
	writer_close(writer);
	model_destroy(model);
	second = metrics_text();
	assert_string_not_equal(strstr(first, "\r\n\r\n"), strstr(second, "\r\n\r\n"));
	free(first);
	free(second);
	serve_end();
}

TEST_IN_FOLDER(results_of_commands_become_statuses_of_http)
{
	static const struct { const char *what; int status; const char *line; } cases[] = {
		{ "ok", 200, "{}" }, { "health", 200, "{}" }, { "usage", 400, "ports: wrong" },
		{ "none", 503, "there is no database" }, { "io", 500, "the disk failed" },
		{ "hang", 504, "no result within 0 s" }, { "spin", 504, "no result within 0 s" },
		{ "flood", 500, "the result is larger than 64 MB; select fewer ports" },
	};
	char line[128], query[64];

	serve_begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* Time enough to write 64 MB under the sanitizers. */
		shared->api.limit_us = (!strcmp(cases[i].what, "flood") ? 60000 : LIMIT_MS) * 1000LL;
		snprintf(query, sizeof(query), "/api/ports?subject=%s", cases[i].what);
		assert_int_equal(reply(ask(query), line), cases[i].status);
		assert_string_equal(line, cases[i].line);
	}
	serve_end();
}

TEST_IN_FOLDER(commands_that_run_delay_no_metrics)
{
	int fds[8], status;
	int64_t longest_us = 0;
	char query[64];

	serve_begin();
	shared->api.limit_us = 60 * 1000000LL;
	assert_int_equal(reply(ask("/metrics"), NULL), 200);
	for (int i = 0; i < 8; i++) {
		snprintf(query, sizeof(query), "/api/ports?subject=%s&top=%d", i % 2 ? "hang" : "spin", i);
		fds[i] = ask(query);
	}
	while (shared->running < METRICS_CALLS)
		sleep_ms(1);
	for (int i = 0; i < 20; i++) {
		int64_t began_us = clock_boottime_us(clock_system()), took_us;

		status = reply(ask("/metrics"), NULL);
		assert_int_equal(status, 200);
		took_us = clock_boottime_us(clock_system()) - began_us;
		longest_us = took_us > longest_us ? took_us : longest_us;
	}
	print_message("# note: /metrics took at most %" PRId64 " us while commands ran\n", longest_us);
	assert_int_equal(shared->running, METRICS_CALLS);
	/* The stop ends those that run and those that wait. */
	assert_in_range(serve_end(), 0, 1500);
	for (int i = 0; i < 8; i++)
		assert_int_equal(reply(fds[i], NULL), 503);
	assert_int_equal(shared->most_running, METRICS_CALLS);
	assert_int_equal(shared->running, 0);
}

/* One that does not react gets the response of its deadline, and keeps its place; others run in the second one. */
TEST_IN_FOLDER(a_command_that_does_not_end_delays_neither_its_response_nor_the_stop)
{
	char line[128];

	serve_begin();
	shared->blocked = true;
	assert_int_equal(reply(ask("/api/ports?subject=block"), line), 504);
	assert_int_equal(shared->running, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(reply(ask("/api/ports"), line), 200);
	/* An equal request is not given the response of the one before. */
	assert_int_equal(reply(ask("/api/ports?subject=block"), line), 504);
	assert_int_equal(shared->running, 2);
	assert_int_equal(reply(ask("/metrics"), NULL), 200);
	assert_in_range(serve_end(), 0, 4000);
}
