/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/metrics/metrics_api.h"
#include "cli/metrics/metrics_page.h"
#include "cli/metrics/metrics_write.h"
#include "storage/reader.h"

/*
 * Requests of commands are refused above these limits: commands that wait or run, stored outputs, connections that
 * wait. The page of the fabric shows ages: without a new sweep it is made again after PAGE_S seconds.
 */
enum { QUEUE_MOST = 16, OUTPUTS_MOST = 16, WAITERS_MOST = 40, BLOCK_BYTES = 64 << 10, PAGE_S = 60 };

/* Calls that run at a time, by kind: the page and the metrics have their own. */
static const unsigned char calls_most[METRICS_KINDS] = {
	[METRICS_COMMAND] = METRICS_CALLS, [METRICS_FABRIC_PAGE] = 1, [METRICS_AS_TEXT] = 1,
};

/* Time for commands to end when the server is stopped. One that waits for a file system then ends with the process. */
enum { STOP_MS = 2000 };

#define REFRESH "30" /* seconds, of the page of the fabric in a browser */
#define POLICY "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'self'; frame-ancestors 'none'"

/* A file with the output of a command, while it is sent. */
struct output {
	struct metrics_commands *commands;
	int fd;
	enum metrics_kind kind;
};

struct job {
	struct job *next;
	struct text key;        /* ETag, or "" of a command; its arguments; all end with NUL */
	struct metrics_api_call request;
	struct call *call;      /* NULL: it waits */
	int file;               /* for its output; -1: none */
	int64_t deadline_us;    /* of the call; boot time */
	struct MHD_Response *response; /* NULL: it waits or runs */
	unsigned status;
	struct waiter *waiters;
	bool listed, kept;      /* in the list of jobs, also after its deadline; as the newest result of its kind */
};

struct waiter {
	struct waiter *next;
	struct job *job;
	struct metrics_commands *commands;
	struct MHD_Connection *connection;
};

struct metrics_commands {
	const struct metrics_api_config *config;
	struct metrics_source *source; /* used by one call at a time */
	struct job *jobs;       /* that wait or run, oldest first */
	size_t running[METRICS_KINDS];
	size_t queued, outputs, waiters; /* of commands */
	struct reader *reader;  /* for the newest sweep */
	struct job *newest[METRICS_KINDS];  /* the newest result; NULL of commands */
	bool is_unreadable[METRICS_KINDS];  /* its file; the library cuts the response from then on */
	struct error reported;  /* the last error of the metrics that was logged */
	const char *nonce;
};

static int64_t now(void)
{
	return clock_boottime_us(clock_system());
}

/* A response of one line of text, without bytes that are unsafe on a terminal. Return: NULL: no memory. */
static struct MHD_Response *make_line(const char *line, const char *header, const char *value)
{
	struct MHD_Response *response;
	struct text text = { 0 };

	text_append_escaped(&text, line, strlen(line));
	text_append(&text, "\n");
	response = MHD_create_response_from_buffer(text.len, text.chars, MHD_RESPMEM_MUST_COPY);
	text_done(&text);
	if (!response)
		return NULL;
	MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
	if (header)
		MHD_add_response_header(response, header, value);
	return response;
}

static enum MHD_Result reply_and_free(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
	enum MHD_Result result = response ? MHD_queue_response(connection, status, response) : MHD_NO;

	if (response)
		MHD_destroy_response(response);
	return result;
}

enum MHD_Result metrics_reply_line(struct MHD_Connection *connection, unsigned status, const char *header,
				   const char *value, const char *line)
{
	return reply_and_free(connection, status, make_line(line, header, value));
}

/* --- jobs --- */

static void job_release(struct job *job)
{
	if (job->waiters || job->listed || job->kept)
		return;
	if (job->response)
		MHD_destroy_response(job->response);
	if (job->file >= 0)
		close(job->file);
	metrics_api_done(&job->request);
	text_done(&job->key);
	free(job);
}

static void drop_newest(struct metrics_commands *commands, enum metrics_kind kind)
{
	struct job *job = commands->newest[kind];

	commands->newest[kind] = NULL;
	if (!job)
		return;
	job->kept = false;
	job_release(job);
}

/* Both formats of the metrics are made in one place, from one source. */
static enum metrics_kind slot_of(enum metrics_kind kind)
{
	return kind == METRICS_AS_OPENMETRICS ? METRICS_AS_TEXT : kind;
}

static ssize_t read_output(void *ctx, uint64_t at, char *bytes, size_t most)
{
	const struct output *output = ctx;
	ssize_t len = pread(output->fd, bytes, most, (off_t)at);

	if (len < 0) {
		log_warning("cannot read the result of a command: %s", strerror(errno));
		output->commands->is_unreadable[output->kind] = true;
	}
	return len > 0 ? len : len == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_output(void *ctx)
{
	struct output *output = ctx;

	output->commands->outputs -= output->kind == METRICS_COMMAND;
	close(output->fd);
	free(output);
}

/* Make the response with the output; all connections that wait for the command share it. */
static void respond_output(struct metrics_commands *commands, struct job *job, uint64_t size)
{
	static const char *const types[METRICS_KINDS] = { "application/json", "text/html; charset=utf-8",
							  METRICS_TYPE_TEXT, METRICS_TYPE_OPENMETRICS };
	enum metrics_kind kind = job->request.kind;
	struct output *output = malloc(sizeof(*output));

	if (!output)
		return;
	*output = (struct output){ commands, job->file, kind };
	job->response = MHD_create_response_from_callback(size, BLOCK_BYTES, read_output, output,
							   free_output);
	if (!job->response) {
		free(output);
		return;
	}
	commands->outputs += kind == METRICS_COMMAND;
	job->file = -1;
	MHD_add_response_header(job->response, "Content-Type", types[job->request.html ? METRICS_FABRIC_PAGE : kind]);
	MHD_add_response_header(job->response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(job->response, "Cache-Control", kind == METRICS_COMMAND ? "no-store" : "no-cache");
	if (slot_of(kind) == METRICS_AS_TEXT) {
		MHD_add_response_header(job->response, "Vary", "Accept");
	} else {
		MHD_add_response_header(job->response, "Content-Security-Policy", POLICY);
		MHD_add_response_header(job->response, "Referrer-Policy", "no-referrer");
	}
	if (kind == METRICS_FABRIC_PAGE)
		MHD_add_response_header(job->response, "Refresh", REFRESH);
	if (kind == METRICS_COMMAND)
		return;
	MHD_add_response_header(job->response, "ETag", text_chars(&job->key));
	drop_newest(commands, kind);
	commands->newest[kind] = job;
	commands->is_unreadable[kind] = false;
	job->kept = true;
}

static void respond_line(struct job *job, unsigned status, const char *line)
{
	job->status = status;
	job->response = make_line(line, status == MHD_HTTP_SERVICE_UNAVAILABLE ? "Retry-After" : NULL, "5");
	if (status >= MHD_HTTP_INTERNAL_SERVER_ERROR && status != MHD_HTTP_SERVICE_UNAVAILABLE)
		log_warning("%s: %s", job->request.argv[0], line);
}

/* The connections continue in metrics_commands_finish(). */
static void resume_waiters(const struct job *job)
{
	for (const struct waiter *waiter = job->waiters; waiter; waiter = waiter->next)
		MHD_resume_connection(waiter->connection);
}

static void job_unlink(struct metrics_commands *commands, struct job *job)
{
	struct job **at = &commands->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	job->listed = false;
	commands->queued -= job->request.kind == METRICS_COMMAND;
	call_destroy(job->call);
	job->call = NULL;
	job_release(job);
}

/* A file for the output: on disk, so that the memory of the server does not grow; else in memory. */
static int open_output(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("ibwire output", MFD_CLOEXEC);
}

static int write_metrics(const struct call_context *context, int argc, char **argv, struct error *err)
{
	struct metrics_source *source = context->ctx;
	struct metrics_page *page;
	int code = metrics_source_page(source, context->stop, &page, err);

	if (code == 0) {
		code = metrics_write(page, !strcmp(argv[argc - 1], "openmetrics"), context->out, err);
		metrics_page_release(page);
	}
	source->is_used = false;
	return code;
}

static void job_start(struct metrics_commands *commands, struct job *job)
{
	const struct metrics_api_config *config = commands->config;
	const char *const *argv = (const char *const *)job->request.argv;
	bool is_metrics = slot_of(job->request.kind) == METRICS_AS_TEXT;
	struct call_settings settings = {
		.most = is_metrics ? SIZE_MAX : (size_t)METRICS_OUTPUT_MB << 20, .file = open_output(),
		.ctx = commands->source, .is_urgent = is_metrics,
	};
	struct error err = { 0 };

	if (is_metrics)
		commands->source->is_used = true;
	job->file = settings.file;
	job->deadline_us = now() + config->limit_us;
	if (job->file < 0)
		err_set(&err, ERR_UNAVAILABLE, "no file for the result: %s", strerror(errno));
	else if (call_start(is_metrics ? write_metrics : config->run, argv, &settings, &job->call, &err) == 0)
		commands->running[slot_of(job->request.kind)]++;
	if (job->call)
		return;
	if (is_metrics)
		commands->source->is_used = false;
	respond_line(job, MHD_HTTP_SERVICE_UNAVAILABLE, err.text);
	resume_waiters(job);
	job_unlink(commands, job);
}

static void start_jobs(struct metrics_commands *commands)
{
	for (struct job *job = commands->jobs, *next; job; job = next) {
		enum metrics_kind slot = slot_of(job->request.kind);

		next = job->next;
		if (!job->call && commands->running[slot] < calls_most[slot])
			job_start(commands, job);
	}
}

static unsigned status_of(int code)
{
	return code == ERR_USAGE ? MHD_HTTP_BAD_REQUEST :
	       code == ERR_UNAVAILABLE ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

/* After the end of the call, or for the first time after its deadline. */
static void respond(struct metrics_commands *commands, struct job *job, const struct call_result *result)
{
	char line[64];

	if (!result) {
		call_stop(job->call);
		snprintf(line, sizeof(line), "no result within %" PRId64 " s",
			 (int64_t)(commands->config->limit_us / US_PER_S));
		respond_line(job, MHD_HTTP_GATEWAY_TIMEOUT, line);
	} else if (result->cut) {
		snprintf(line, sizeof(line), "the result is larger than %d MB; select fewer ports", METRICS_OUTPUT_MB);
		respond_line(job, MHD_HTTP_INTERNAL_SERVER_ERROR, line);
	} else if (result->code < 0 && slot_of(job->request.kind) == METRICS_AS_TEXT) {
		if (strcmp(result->err.text, commands->reported.text))
			log_warning("no metrics: %s", result->err.text);
		commands->reported = result->err;
		respond_line(job, MHD_HTTP_SERVICE_UNAVAILABLE, result->err.text);
	} else if (result->code < 0) {
		respond_line(job, status_of(result->code), result->err.text);
	} else {
		if (slot_of(job->request.kind) == METRICS_AS_TEXT)
			commands->reported.text[0] = '\0';
		job->status = MHD_HTTP_OK;
		respond_output(commands, job, result->size);
	}
	resume_waiters(job);
}

void metrics_commands_poll(struct metrics_commands *commands)
{
	for (struct job *job = commands->jobs, *next; job; job = next) {
		const struct call_result *result = job->call ? call_result(job->call) : NULL;

		next = job->next;
		if (!job->call || (!result && (job->status || now() < job->deadline_us)))
			continue;
		if (!job->status)
			respond(commands, job, result);
		if (!result)
			continue;
		commands->running[slot_of(job->request.kind)]--;
		job_unlink(commands, job);
	}
	start_jobs(commands);
}

size_t metrics_commands_wait(const struct metrics_commands *commands, struct pollfd *ret, int *timeout_ms)
{
	size_t count = 0;

	for (const struct job *job = commands->jobs; job; job = job->next) {
		int64_t left_ms = (job->deadline_us - now()) / 1000 + 1;

		if (!job->call)
			continue;
		ret[count++] = (struct pollfd){ .fd = call_descriptor(job->call), .events = POLLIN };
		if (!job->status && left_ms < *timeout_ms)
			*timeout_ms = left_ms > 0 ? (int)left_ms : 0;
	}
	return count;
}

/* --- requests --- */

static void close_reader(struct metrics_commands *commands)
{
	reader_close(commands->reader);
	commands->reader = NULL;
}

/* The ETag changes with each sweep; that of the page also with each minute, because it shows the age of the sweep. */
static int make_tag(struct metrics_commands *commands, enum metrics_kind kind, char *ret, size_t size,
		    struct error *err)
{
	const char *path = commands->config->db;
	int64_t newest;
	int code;

	/* Otherwise the reader would continue with a file that was removed. */
	if (access(path, F_OK))
		close_reader(commands);
	code = commands->reader ? 0 : reader_open(path, &commands->reader, err);
	if (code == 0)
		code = reader_newest(commands->reader, &newest, err);
	if (code < 0) {
		close_reader(commands);
		return code;
	}
	snprintf(ret, size, "\"%s-%" PRId64 "-%d-%" PRId64 "-%d\"", commands->nonce, newest,
		 reader_has_collector(path),
		 kind == METRICS_FABRIC_PAGE ? (int64_t)(now() / (PAGE_S * US_PER_S)) : 0, kind);
	return 0;
}

/* A command that waits or runs for equal requests. */
static struct job *find_job(struct metrics_commands *commands, const struct text *key)
{
	for (struct job *job = commands->jobs; job; job = job->next)
		if (!job->status && job->key.len == key->len && !memcmp(job->key.chars, key->chars, key->len))
			return job;
	return NULL;
}

/* Append a job, which then owns the call and the key. Return: NULL: no memory. */
static struct job *add_job(struct metrics_commands *commands, struct metrics_api_call *call, struct text *key)
{
	struct job *job = calloc(1, sizeof(*job)), **at = &commands->jobs;

	if (!job)
		return NULL;
	while (*at)
		at = &(*at)->next;
	*at = job;
	*job = (struct job){ .request = *call, .key = *key, .file = -1, .listed = true };
	commands->queued += call->kind == METRICS_COMMAND;
	*call = (struct metrics_api_call){ 0 };
	*key = (struct text){ 0 };
	return job;
}

static enum MHD_Result wait_for(struct metrics_commands *commands, struct job *job, struct MHD_Connection *connection,
				void **state)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return MHD_NO;
	*waiter = (struct waiter){ job->waiters, job, commands, connection };
	job->waiters = waiter;
	commands->waiters += job->request.kind == METRICS_COMMAND;
	*state = waiter;
	MHD_suspend_connection(connection);
	start_jobs(commands);
	return MHD_YES;
}

static enum MHD_Result answer_call(struct metrics_commands *commands, struct MHD_Connection *connection,
				   struct metrics_api_call *call, const char *tag, void **state)
{
	bool is_command = call->kind == METRICS_COMMAND;
	bool is_full = is_command && commands->waiters >= WAITERS_MOST;
	struct text key = { 0 };
	struct job *job;

	text_append_bytes(&key, tag, strlen(tag) + 1);
	for (size_t i = 0; i < call->argc; i++)
		text_append_bytes(&key, call->argv[i], strlen(call->argv[i]) + 1);
	job = text_failed(&key) ? NULL : find_job(commands, &key);
	is_full |= is_command && !job && (commands->queued >= QUEUE_MOST || commands->outputs >= OUTPUTS_MOST);
	if (!job && !is_full && !text_failed(&key))
		job = add_job(commands, call, &key);
	text_done(&key);
	if (job && !is_full)
		return wait_for(commands, job, connection, state);
	return metrics_reply_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "5", "too many requests");
}

/* A result that is kept until the next sweep. */
static enum MHD_Result answer_newest(struct metrics_commands *commands, struct MHD_Connection *connection,
				     struct metrics_api_call *call, void **state)
{
	const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
	const struct job *newest = commands->newest[call->kind];
	struct error err = { 0 };
	char tag[96] = "\"\"";
	int code = make_tag(commands, call->kind, tag, sizeof(tag), &err);

	/* The call for the metrics reports the error. */
	if (code < 0 && call->kind == METRICS_FABRIC_PAGE)
		return metrics_reply_line(connection, code == ERR_UNAVAILABLE ? MHD_HTTP_SERVICE_UNAVAILABLE :
					  MHD_HTTP_INTERNAL_SERVER_ERROR, "Retry-After", "5", err.text);
	if (code == 0 && known && strstr(known, tag)) {
		struct MHD_Response *same = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

		if (!same)
			return MHD_NO;
		MHD_add_response_header(same, "ETag", tag);
		if (call->kind == METRICS_FABRIC_PAGE)
			MHD_add_response_header(same, "Refresh", REFRESH);
		else
			MHD_add_response_header(same, "Vary", "Accept");
		return reply_and_free(connection, MHD_HTTP_NOT_MODIFIED, same);
	}
	if (code == 0 && newest && !commands->is_unreadable[call->kind] && !strcmp(text_chars(&newest->key), tag))
		return MHD_queue_response(connection, MHD_HTTP_OK, newest->response);
	return answer_call(commands, connection, call, tag, state);
}

struct pairs {
	struct metrics_api_pair list[METRICS_API_ARGS];
	size_t count;
};

static enum MHD_Result add_pair(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct pairs *pairs = ctx;

	(void)kind;
	if (pairs->count < METRICS_API_ARGS)
		pairs->list[pairs->count++] = (struct metrics_api_pair){ key, value };
	return MHD_YES;
}

/* The function that writes the metrics has one argument. */
static int make_metrics_call(struct MHD_Connection *connection, struct metrics_api_call *ret)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
	bool openmetrics = accept && strstr(accept, "application/openmetrics-text");

	*ret = (struct metrics_api_call){ .argc = 2,
					  .kind = openmetrics ? METRICS_AS_OPENMETRICS : METRICS_AS_TEXT };
	ret->argv[0] = strdup("metrics");
	ret->argv[1] = strdup(openmetrics ? "openmetrics" : "text");
	if (ret->argv[0] && ret->argv[1])
		return 0;
	metrics_api_done(ret);
	return ERR_NOMEM;
}

enum MHD_Result metrics_commands_answer(struct metrics_commands *commands, struct MHD_Connection *connection,
					const char *path, void **state)
{
	struct metrics_api_call call;
	struct pairs pairs = { .count = 0 };
	struct error err = { 0 };
	enum MHD_Result result;
	int code;

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_pair, &pairs);
	if (!strcmp(path, "/metrics"))
		code = make_metrics_call(connection, &call);
	else
		code = metrics_api_parse(path, pairs.list, pairs.count, commands->config, &call, &err);
	if (code < 0)
		return metrics_reply_line(connection, code == ERR_UNAVAILABLE ? MHD_HTTP_NOT_FOUND :
					  code == ERR_USAGE ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_INTERNAL_SERVER_ERROR,
					  NULL, NULL, err.text);
	if (call.kind == METRICS_COMMAND)
		result = answer_call(commands, connection, &call, "", state);
	else
		result = answer_newest(commands, connection, &call, state);
	metrics_api_done(&call);
	return result;
}

enum MHD_Result metrics_commands_finish(void **state)
{
	struct waiter *waiter = *state;
	struct MHD_Connection *connection = waiter->connection;
	struct job *job = waiter->job;
	enum MHD_Result result = job->response ? MHD_queue_response(connection, job->status, job->response) :
		metrics_reply_line(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL, NULL, "no memory");

	*state = NULL;
	metrics_commands_forget(waiter);
	return result;
}

void metrics_commands_forget(void *state)
{
	struct waiter *waiter = state, **at = &waiter->job->waiters;

	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
	waiter->commands->waiters -= waiter->job->request.kind == METRICS_COMMAND;
	job_release(waiter->job);
	free(waiter);
}

/* --- begin and end --- */

struct metrics_commands *metrics_commands_create(const struct metrics_api_config *config,
						  struct metrics_source *source, const char *nonce)
{
	struct metrics_commands *commands = calloc(1, sizeof(*commands));

	if (!commands)
		return NULL;
	commands->config = config;
	commands->source = source;
	commands->nonce = nonce;
	return commands;
}

void metrics_commands_stop(struct metrics_commands *commands)
{
	int64_t until_us = now() + STOP_MS * 1000LL;

	for (const struct job *job = commands->jobs; job; job = job->next)
		if (job->call)
			call_stop(job->call);
	while (commands->jobs) {
		struct job *job = commands->jobs;
		int64_t left_ms = (until_us - now()) / 1000;

		if (job->call)
			call_wait(job->call, left_ms > 0 ? (int)left_ms : 0);
		if (!job->status) {
			respond_line(job, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is being stopped");
			resume_waiters(job);
		}
		job_unlink(commands, job);
	}
}

void metrics_commands_destroy(struct metrics_commands *commands)
{
	if (!commands)
		return;
	for (int kind = 0; kind < METRICS_KINDS; kind++)
		drop_newest(commands, (enum metrics_kind)kind);
	reader_close(commands->reader);
	free(commands);
}
