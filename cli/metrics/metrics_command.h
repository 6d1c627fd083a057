/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_command.h - results that are computed in threads: the metrics, and the output of commands
 *
 * Commands (/, /history, /api/...) run METRICS_CALLS at a time, beside one call for the page of the fabric and one
 * for the metrics; more wait, up to a limit. Equal requests share a call and its output, a file. The metrics and the
 * page of the fabric are kept until the next sweep. Connections that wait are suspended.
 */
#ifndef IBWIRE_CLI_METRICS_COMMAND_H
#define IBWIRE_CLI_METRICS_COMMAND_H

#include <microhttpd.h>
#include <stddef.h>

struct metrics_api_config;
struct metrics_commands;
struct metrics_source;
struct pollfd;

/* Limits of the commands of requests: number, time (struct metrics_api_config), output. */
enum { METRICS_CALLS = 2, METRICS_CALL_SECONDS = 20, METRICS_OUTPUT_MB = 64 };

/* Most descriptors of metrics_commands_wait(). */
enum { METRICS_DESCRIPTORS = METRICS_CALLS + 2 };

/*
 * metrics_commands_create - @config, @source: borrowed; the source is used in a thread
 * @nonce:  borrowed; begins the tag of each page, so that those of another process are others
 * Return: NULL: no memory.
 */
struct metrics_commands *metrics_commands_create(const struct metrics_api_config *config,
						  struct metrics_source *source, const char *nonce);

/* metrics_commands_stop - end all commands, and resume all connections, before MHD_stop_daemon(). */
void metrics_commands_stop(struct metrics_commands *commands);
void metrics_commands_destroy(struct metrics_commands *commands);

/*
 * metrics_commands_answer - respond to a request, or suspend its connection until a command ends
 * metrics_commands_finish - respond after that
 * metrics_commands_forget - the connection has ended before that
 * @state:  of the connection: set if it is suspended; NULL after metrics_commands_finish()
 */
enum MHD_Result metrics_commands_answer(struct metrics_commands *commands, struct MHD_Connection *connection,
					const char *path, void **state);
enum MHD_Result metrics_commands_finish(void **state);
void metrics_commands_forget(void *state);

/*
 * metrics_commands_wait - list the descriptors to wait for
 * @ret:  METRICS_DESCRIPTORS of them
 * Return: their number; @timeout_ms is shortened as needed.
 */
size_t metrics_commands_wait(const struct metrics_commands *commands, struct pollfd *ret, int *timeout_ms);

/* metrics_commands_poll - end and start commands, and resume connections. */
void metrics_commands_poll(struct metrics_commands *commands);

/* metrics_reply_line - respond with one line; a line feed is added. @header: NULL: none. */
enum MHD_Result metrics_reply_line(struct MHD_Connection *connection, unsigned status, const char *header,
				   const char *value, const char *line);

#endif
