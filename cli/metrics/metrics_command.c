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
#include <sys/stat.h>
#include <unistd.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/metrics/metrics_api.h"
#include "cli/metrics/metrics_page.h"
#include "pages/status.h"
#include "cli/metrics/metrics_families.h"
#include "storage/reader.h"

/*
 * Requests of commands are refused above these limits: commands that wait, run or are being sent; their clients. The
 * page of the fabric shows ages: without a new sweep it is made again after PAGE_S seconds.
 */
enum { COMMANDS_MOST = 16, COMMAND_CLIENTS_MOST = 40, PAGE_S = 60, TAG_SIZE = 128 };

/* Calls that run at a time, by slot: the page and the metrics have their own. */
static const unsigned char calls_most[METRICS_KINDS] = {
	[METRICS_COMMAND] = METRICS_CALLS, [METRICS_FABRIC_PAGE] = 1, [METRICS_TEXT] = 1,
};

/* Time for commands to end when the server is stopped. One that waits for a file system then ends with the process. */
enum { STOP_MS = 2000 };

#define POLICY "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'self'; frame-ancestors 'none'"

/* It exists while it has a call or clients, or is the newest of its slot. */
struct metrics_job {
	struct metrics_job *next;
	struct metrics_jobs *jobs;
	char tag[TAG_SIZE];     /* ETag; "" of a command */
	struct metrics_api_call request;
	struct call *call;      /* NULL: it waits, or has ended */
	int64_t deadline_us;    /* of a command: boot time */
	bool is_stopped;        /* at the deadline, or without clients */
	unsigned clients;
	unsigned status;        /* of the response; 0: there is none yet */
	struct error err;       /* its text, unless the status is that of success */
	int file;               /* the output; -1: none; of the response, once there is one */
	struct MHD_Response *responses[2]; /* shared by all clients: the output, or that it has not changed */
	uint64_t size;
};

struct metrics_jobs {
	const struct metrics_api_config *config;
	struct metrics_source *source; /* used by one call at a time */
	struct metrics_job *first;     /* oldest first */
	struct metrics_job *newest[METRICS_KINDS]; /* result, by slot; NULL of commands */
	struct reader *reader;         /* for the newest sweep */
	struct error reported;         /* the last error of the metrics that was logged */
	int64_t begin_us;              /* tags of another process are others */
};

static int64_t now(void)
{
	return clock_boottime_us(clock_system());
}

/* The last one has no name; one without a value is not sent. */
struct header {
	const char *name, *value;
};

static void add_headers(struct MHD_Response *response, const struct header *headers)
{
	for (; response && headers->name; headers++)
		if (headers->value)
			MHD_add_response_header(response, headers->name, headers->value);
}

enum MHD_Result metrics_reply_line(struct MHD_Connection *connection, unsigned status, const char *line)
{
	const struct header headers[] = {
		{ "Content-Type", "text/plain; charset=utf-8" }, { "X-Content-Type-Options", "nosniff" },
		{ "WWW-Authenticate", status == MHD_HTTP_UNAUTHORIZED ? "Basic realm=\"ibwire\"" : NULL },
		{ "Allow", status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : NULL },
		{ "Retry-After", status == MHD_HTTP_TOO_MANY_REQUESTS ? "1" :
		  status == MHD_HTTP_SERVICE_UNAVAILABLE ? "5" : NULL }, { 0 },
	};
	struct MHD_Response *response;
	enum MHD_Result result;
	struct text text = { 0 };

	/* Without bytes that are unsafe on a terminal. */
	text_append_escaped(&text, line, strlen(line));
	text_append(&text, "\n");
	response = MHD_create_response_from_buffer(text.len, text.chars, MHD_RESPMEM_MUST_COPY);
	text_done(&text);
	if (!response)
		return MHD_NO;
	add_headers(response, headers);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* --- responses --- */

bool metrics_job_is_done(const struct metrics_job *job)
{
	return job->status;
}

/* The whole result, or that it is the one that the client has. */
static enum MHD_Result respond_output(struct metrics_job *job, struct MHD_Connection *connection)
{
	const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
	const struct metrics_api_call *request = &job->request;
	bool is_metrics = request->kind == METRICS_TEXT, is_kept = request->kind != METRICS_COMMAND;
	bool same = is_kept && known && strstr(known, job->tag);
	const struct header headers[] = {
		{ "Content-Type", request->html ? "text/html; charset=utf-8" : !is_metrics ? "application/json" :
		  request->openmetrics ? METRICS_TYPE_OPENMETRICS : METRICS_TYPE_TEXT },
		{ "Cache-Control", is_kept ? "no-cache" : "no-store" }, { "ETag", is_kept ? job->tag : NULL },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Vary", is_metrics ? "Accept, Accept-Encoding" : NULL },
		{ "Content-Encoding", request->gzip && !same ? "gzip" : NULL },
		{ "Content-Security-Policy", is_metrics ? NULL : POLICY },
		{ "Referrer-Policy", is_metrics ? NULL : "no-referrer" },
		{ "Refresh", request->kind == METRICS_FABRIC_PAGE ? STATUS_RELOAD_S : NULL }, { 0 },
	};
	struct MHD_Response **response = &job->responses[same];

	if (!*response) {
		*response = same ? MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT) :
			MHD_create_response_from_fd64(job->size, job->file);
		add_headers(*response, headers);
	}
	return *response ? MHD_queue_response(connection, same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, *response) :
		MHD_NO;
}

enum MHD_Result metrics_job_respond(struct metrics_job *job, struct MHD_Connection *connection)
{
	unsigned status = job->status ? job->status : MHD_HTTP_GATEWAY_TIMEOUT;
	char late[64];

	if (status == MHD_HTTP_OK)
		return respond_output(job, connection);
	snprintf(late, sizeof(late), "no result within %d s", (int)(job->jobs->config->limit_us / US_PER_S));
	return metrics_reply_line(connection, status, status == MHD_HTTP_GATEWAY_TIMEOUT ? late : job->err.text);
}

/* --- calls --- */

/* Free it if nothing needs it. */
static void job_release(struct metrics_job *job)
{
	struct metrics_jobs *jobs = job->jobs;
	struct metrics_job **at = &jobs->first;

	if (job->call || job->clients || jobs->newest[job->request.kind] == job)
		return;
	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (job->responses[1])
		MHD_destroy_response(job->responses[1]);
	if (job->responses[0])
		MHD_destroy_response(job->responses[0]);
	else if (job->file >= 0)
		close(job->file);
	metrics_api_done(&job->request);
	free(job);
}

void metrics_job_leave(struct metrics_job *job)
{
	job->clients--;
	job_release(job);
}

static void set_newest(struct metrics_jobs *jobs, enum metrics_kind slot, struct metrics_job *job)
{
	struct metrics_job *last = jobs->newest[slot];

	jobs->newest[slot] = job;
	if (last)
		job_release(last);
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
	const struct metrics_page *page;
	int code;

	/* A call of a server before this one may not have ended. */
	if (atomic_exchange(&source->is_used, true))
		return err_set(err, ERR_UNAVAILABLE, "the database does not respond");
	code = metrics_source_page(source, context->stop, &page, err);
	if (code == 0)
		code = metrics_write(page, !strcmp(argv[0], "openmetrics"), argc > 1, context->out, err);
	source->is_used = false;
	return code;
}

/* Log an error of the metrics, but not again. @err: without text: there is none any more */
static void report(struct metrics_jobs *jobs, const struct error *err)
{
	if (*err->text && strcmp(err->text, jobs->reported.text))
		log_warning("no metrics: %s", err->text);
	jobs->reported = *err;
}

/* The job has its result: @code, and the text of job->err if it is negative. */
static void job_finish(struct metrics_job *job, int code)
{
	bool is_metrics = job->request.kind == METRICS_TEXT;

	job->status = code >= 0 ? MHD_HTTP_OK : job->is_stopped ? MHD_HTTP_GATEWAY_TIMEOUT :
		code == ERR_USAGE ? MHD_HTTP_BAD_REQUEST :
		is_metrics || code == ERR_UNAVAILABLE ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_INTERNAL_SERVER_ERROR;
	if (is_metrics)
		report(job->jobs, &job->err);
	if (job->status == MHD_HTTP_INTERNAL_SERVER_ERROR)
		log_warning("%s: %s", job->request.argv[0], job->err.text);
	if (code >= 0 && job->request.kind != METRICS_COMMAND)
		set_newest(job->jobs, job->request.kind, job);
}

static bool can_start(const struct metrics_jobs *jobs, enum metrics_kind slot)
{
	unsigned running = 0;

	for (const struct metrics_job *job = jobs->first; job; job = job->next)
		running += job->call && job->request.kind == slot;
	return running < calls_most[slot];
}

static void job_start(struct metrics_job *job)
{
	const struct metrics_api_config *config = job->jobs->config;
	bool is_metrics = job->request.kind == METRICS_TEXT;
	const char *const argv[] = { job->request.openmetrics ? "openmetrics" : "text",
				     job->request.gzip ? "gzip" : NULL, NULL };
	struct call_settings settings = {
		.most = is_metrics ? SIZE_MAX : (size_t)METRICS_OUTPUT_MB << 20, .file = open_output(),
		.ctx = job->jobs->source, .is_urgent = is_metrics,
	};
	int code;

	job->file = settings.file;
	code = job->file < 0 ? err_set(&job->err, ERR_UNAVAILABLE, "no file for the result: %s", strerror(errno)) :
		call_start(is_metrics ? write_metrics : config->run,
			   is_metrics ? argv : (const char *const *)job->request.argv, &settings, &job->call,
			   &job->err);
	if (code < 0)
		job_finish(job, ERR_UNAVAILABLE);
}

static void job_end(struct metrics_job *job, const struct call_result *result)
{
	int code = result->code;

	job->err = result->err;
	job->size = result->size;
	if (result->cut)
		code = err_set(&job->err, ERR_IO, "the result is larger than %d MB; select fewer ports",
			       METRICS_OUTPUT_MB);
	call_destroy(job->call);
	job->call = NULL;
	job_finish(job, code);
	job_release(job);
}

void metrics_jobs_poll(struct metrics_jobs *jobs)
{
	for (struct metrics_job *job = jobs->first, *next; job; job = next) {
		const struct call_result *result = job->call ? call_result(job->call) : NULL;
		bool is_late = job->request.kind == METRICS_COMMAND && (!job->clients || now() > job->deadline_us);

		next = job->next;
		if (result) {
			job_end(job, result);
		} else if (job->call && is_late && !job->is_stopped) {
			if (job->clients)
				log_warning("%s: no result in time", job->request.argv[0]);
			job->is_stopped = true;
			call_stop(job->call);
		} else if (!job->call && !job->status && can_start(jobs, job->request.kind)) {
			job_start(job);
		}
	}
}

size_t metrics_jobs_wait(const struct metrics_jobs *jobs, struct pollfd *ret)
{
	size_t count = 0;

	for (const struct metrics_job *job = jobs->first; job; job = job->next)
		if (job->call)
			ret[count++] = (struct pollfd){ .fd = call_descriptor(job->call), .events = POLLIN };
	return count;
}

/* --- requests --- */

static void close_reader(struct metrics_jobs *jobs)
{
	reader_close(jobs->reader);
	jobs->reader = NULL;
}

/*
 * The tag of the database and its newest sweep. That of the page changes with each minute, too, because it shows the
 * age of the sweep.
 */
static int make_tag(struct metrics_jobs *jobs, const struct metrics_api_call *request, char ret[TAG_SIZE],
		    struct error *err)
{
	const char *path = jobs->config->db;
	struct stat st = { 0 };
	struct db_status status;
	int code;

	/* Otherwise the reader would continue with a file that was removed. */
	if (stat(path, &st))
		close_reader(jobs);
	code = jobs->reader ? 0 : reader_open(path, &jobs->reader, err);
	if (code == 0)
		code = reader_status(jobs->reader, &status, err);
	if (code < 0) {
		close_reader(jobs);
		return code;
	}
	snprintf(ret, TAG_SIZE, "\"%" PRIx64 "-%jx-%jx-%" PRId64 "-%d%d-%" PRId64 "-%d%d%d\"",
		 (uint64_t)jobs->begin_us, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, status.last.id, status.live,
		 metrics_is_stale(&status),
		 request->kind == METRICS_FABRIC_PAGE ? (int64_t)(now() / (PAGE_S * US_PER_S)) : 0, request->kind,
		 request->openmetrics, request->gzip);
	return 0;
}

/* A job that waits or runs for an equal request, or a result that is kept. NULL: none. */
static struct metrics_job *find_equal(struct metrics_jobs *jobs, const struct metrics_api_call *request,
				      const char *tag)
{
	const struct text *arguments = &request->arguments;

	for (struct metrics_job *job = jobs->first; job; job = job->next)
		if ((!job->status || jobs->newest[job->request.kind] == job) && !job->is_stopped &&
		    !strcmp(job->tag, tag) && job->request.arguments.len == arguments->len &&
		    !memcmp(text_chars(&job->request.arguments), text_chars(arguments), arguments->len))
			return job;
	return NULL;
}

static bool is_full(const struct metrics_jobs *jobs)
{
	unsigned commands = 0, clients = 0;

	for (const struct metrics_job *job = jobs->first; job; job = job->next) {
		commands += job->request.kind == METRICS_COMMAND;
		clients += job->request.kind == METRICS_COMMAND ? job->clients : 0;
	}
	return commands > COMMANDS_MOST || clients >= COMMAND_CLIENTS_MOST;
}

/* Append a job, which then owns the request. Return: NULL: no memory. */
static struct metrics_job *add_job(struct metrics_jobs *jobs, struct metrics_api_call *request, const char *tag)
{
	struct metrics_job *job = calloc(1, sizeof(*job)), **at = &jobs->first;

	if (!job)
		return NULL;
	while (*at)
		at = &(*at)->next;
	*at = job;
	*job = (struct metrics_job){ .jobs = jobs, .request = *request, .file = -1,
				     .deadline_us = now() + jobs->config->limit_us };
	snprintf(job->tag, sizeof(job->tag), "%s", tag);
	*request = (struct metrics_api_call){ 0 };
	return job;
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

static double weight_of(struct MHD_Connection *connection, const char *header, const char *word)
{
	return metrics_api_weight(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, header), word);
}

/* What a request is for: a command, or the metrics in the format that the client prefers. */
static int parse_request(const struct metrics_jobs *jobs, struct MHD_Connection *connection, const char *path,
			 struct metrics_api_call *ret, struct error *err)
{
	struct pairs pairs = { .count = 0 };

	if (!strcmp(path, "/metrics")) {
		double openmetrics = weight_of(connection, "Accept", "application/openmetrics-text");

		*ret = (struct metrics_api_call){ .kind = METRICS_TEXT,
			.openmetrics = openmetrics > 0 && openmetrics >= weight_of(connection, "Accept", "text/plain"),
			.gzip = weight_of(connection, "Accept-Encoding", "gzip") > 0 };
		return 0;
	}
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_pair, &pairs);
	return metrics_api_parse(path, pairs.list, pairs.count, jobs->config, ret, err);
}

enum MHD_Result metrics_jobs_find(struct metrics_jobs *jobs, struct MHD_Connection *connection, const char *path,
				  struct metrics_job **ret)
{
	struct metrics_api_call request;
	struct metrics_job *job;
	struct error err = { 0 };
	char tag[TAG_SIZE] = "";
	bool is_ready = !strcmp(path, "/-/ready");
	int code = parse_request(jobs, connection, is_ready ? "/metrics" : path, &request, &err);

	*ret = NULL;
	if (!strcmp(path, "/-/healthy"))
		return metrics_reply_line(connection, MHD_HTTP_OK, "healthy");
	if (code < 0)
		return metrics_reply_line(connection, code == ERR_UNAVAILABLE ? MHD_HTTP_NOT_FOUND :
					  code == ERR_USAGE ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_INTERNAL_SERVER_ERROR,
					  err.text);
	if (request.kind != METRICS_COMMAND && make_tag(jobs, &request, tag, &err) < 0) {
		report(jobs, &err);
		metrics_api_done(&request);
		return metrics_reply_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, err.text);
	}
	if (is_ready)
		return metrics_reply_line(connection, MHD_HTTP_OK, "ready");
	job = find_equal(jobs, &request, tag);
	if (!job)
		job = add_job(jobs, &request, tag);
	metrics_api_done(&request);
	if (job && job->request.kind == METRICS_COMMAND && is_full(jobs)) {
		job_release(job);
		job = NULL;
	}
	if (!job)
		return metrics_reply_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests");
	job->clients++;
	metrics_jobs_poll(jobs);
	*ret = job;
	return MHD_YES;
}

/* --- begin and end --- */

struct metrics_jobs *metrics_jobs_create(const struct metrics_api_config *config, struct metrics_source *source)
{
	struct metrics_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!source->served_since_us)
		source->served_since_us = clock_wall_us(clock_system());
	if (jobs)
		*jobs = (struct metrics_jobs){ .config = config, .source = source, .begin_us = now() };
	return jobs;
}

void metrics_jobs_stop(struct metrics_jobs *jobs)
{
	int64_t until_us = now() + STOP_MS * 1000LL;

	for (const struct metrics_job *job = jobs->first; job; job = job->next)
		if (job->call)
			call_stop(job->call);
	for (struct metrics_job *job = jobs->first, *next; job; job = next) {
		int64_t left_ms = (until_us - now()) / 1000;

		next = job->next;
		if (job->call)
			call_wait(job->call, left_ms > 0 ? (int)left_ms : 0);
		call_destroy(job->call);
		job->call = NULL;
		if (!job->status) {
			job->status = MHD_HTTP_SERVICE_UNAVAILABLE;
			err_set(&job->err, ERR_UNAVAILABLE, "the server is being stopped");
		}
		job_release(job);
	}
}

void metrics_jobs_destroy(struct metrics_jobs *jobs)
{
	if (!jobs)
		return;
	for (int slot = 0; slot < METRICS_KINDS; slot++)
		set_newest(jobs, (enum metrics_kind)slot, NULL);
	close_reader(jobs);
	free(jobs);
}
