/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_command.h - results that are computed in threads: the metrics, and the output of commands
 *
 * Commands (/history, /api/...) run METRICS_CALLS at a time, beside one call for the page of the fabric and one for
 * the metrics; more wait, up to a limit. Equal requests share a call and its output, a file. The newest metrics and
 * the newest page of the fabric are kept until the next sweep.
 */
#ifndef IBWIRE_CLI_METRICS_COMMAND_H
#define IBWIRE_CLI_METRICS_COMMAND_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct metrics_api_config;
struct metrics_job; /* a result, or what will be one */
struct metrics_jobs;
struct metrics_source;
struct pollfd;

/* Limits of the commands of requests: number, time (struct metrics_api_config), output. */
enum { METRICS_CALLS = 2, METRICS_CALL_SECONDS = 20, METRICS_OUTPUT_MB = 64 };

/* Most descriptors of metrics_jobs_wait(). */
enum { METRICS_DESCRIPTORS = METRICS_CALLS + 2 };

/* metrics_jobs_create - @config, @source: borrowed; the source is used in a thread. Return: NULL: no memory. */
struct metrics_jobs *metrics_jobs_create(const struct metrics_api_config *config, struct metrics_source *source);

/* metrics_jobs_stop - end all calls, and make their results errors. */
void metrics_jobs_stop(struct metrics_jobs *jobs);

/* metrics_jobs_destroy - after metrics_jobs_stop(), and metrics_job_leave() of all clients. */
void metrics_jobs_destroy(struct metrics_jobs *jobs);

/*
 * metrics_jobs_find - the job of a request
 * @ret:  for metrics_job_leave(); NULL: the request was responded to, and the return value is that of the library
 */
enum MHD_Result metrics_jobs_find(struct metrics_jobs *jobs, struct MHD_Connection *connection, const char *path,
				  struct metrics_job **ret);
bool metrics_job_is_done(const struct metrics_job *job);

/* metrics_job_respond - respond with its result; without one, with 504 */
enum MHD_Result metrics_job_respond(struct metrics_job *job, struct MHD_Connection *connection);

/* metrics_job_leave - a client has the response, or does not wait any more. A command without clients ends. */
void metrics_job_leave(struct metrics_job *job);

/* metrics_jobs_wait - list the descriptors to wait for. @ret: METRICS_DESCRIPTORS of them. Return: their number. */
size_t metrics_jobs_wait(const struct metrics_jobs *jobs, struct pollfd *ret);

/* metrics_jobs_poll - end and start calls. */
void metrics_jobs_poll(struct metrics_jobs *jobs);

/* metrics_reply_line - respond with one line, and the headers that belong to the status; a line feed is added. */
enum MHD_Result metrics_reply_line(struct MHD_Connection *connection, unsigned status, const char *line);

#endif
