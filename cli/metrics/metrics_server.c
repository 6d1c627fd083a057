/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_server.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/metrics/metrics_command.h"
#include "cli/metrics/metrics_config.h"
#include "cli/metrics/metrics_families.h"
#include "cli/metrics/metrics_page.h"
#include "cli/metrics/metrics_write.h"

/*
 * Connections beyond the limit wait in the backlog of the kernel. One without a request ends after
 * IDLE_S, one that receives nothing after STUCK_S. The memory of a connection is not touched before it
 * is needed, so that idle ones cost little.
 */
enum { CONNECTIONS = 2000, IDLE_S = 3, STUCK_S = 15, BACKLOG = 1024, WAIT_MS = 500,
       CONNECTION_BYTES = 128 << 10, BLOCK_BYTES = 64 << 10 };

/* A response that is being sent. */
struct stream {
	struct metrics_server *server;
	struct MHD_Connection *connection;
	struct metrics_page *page;
	struct metrics_writer writer;
	struct stream *next;
};

struct metrics_server {
	struct metrics_source *source;
	struct metrics_config *config;
	struct metrics_commands *commands;
	struct MHD_Daemon *daemon;
	struct stream *streams; /* newest first */
	char message[256];      /* the last one of the library */
	char url[160];
	char nonce[24];         /* pages of another process are others */
	struct error reported;  /* the last error of the database that was logged */
};

static ssize_t read_stream(void *ctx, uint64_t at, char *bytes, size_t most)
{
	struct stream *stream = ctx;
	ssize_t len = metrics_writer_fill(&stream->writer, bytes, most);

	(void)at;
	if (len == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return len < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : len;
}

static void free_stream(void *ctx)
{
	struct stream *stream = ctx, **at = &stream->server->streams;

	while (*at && *at != stream)
		at = &(*at)->next;
	if (*at)
		*at = stream->next;
	metrics_writer_done(&stream->writer);
	metrics_page_release(stream->server->source, stream->page);
	free(stream);
}

/* Slow clients keep the pages of their responses: cut the oldest ones, so that memory is bounded. */
static void cut_streams(struct metrics_server *server)
{
	const struct metrics_page *oldest = NULL;
	const union MHD_ConnectionInfo *info;

	if (server->source->pages < METRICS_PAGES_MAX)
		return;
	for (struct stream *stream = server->streams; stream; stream = stream->next)
		oldest = stream->page;
	for (struct stream *stream = server->streams; stream; stream = stream->next) {
		if (stream->page != oldest)
			continue;
		info = MHD_get_connection_info(stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
	}
	/* The library closes them in its next round; until then the page in memory is served again. */
}

static enum MHD_Result reply_page(struct metrics_server *server, struct MHD_Connection *connection,
				  struct metrics_page *page)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
	const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
	bool openmetrics = accept && strstr(accept, "application/openmetrics-text");
	struct MHD_Response *response = NULL;
	struct stream *stream = NULL;
	enum MHD_Result result;
	char tag[96];

	snprintf(tag, sizeof(tag), "\"%s-%" PRId64 "-%d-%d\"", server->nonce, page->status.last.id, page->live,
		 openmetrics);
	if (known && strstr(known, tag)) {
		metrics_page_release(server->source, page);
		response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	} else {
		stream = calloc(1, sizeof(*stream));
		if (stream)
			response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream,
								      free_stream);
		if (!response) {
			free(stream);
			metrics_page_release(server->source, page);
			return MHD_NO;
		}
		*stream = (struct stream){ .server = server, .connection = connection, .page = page,
					   .next = server->streams };
		server->streams = stream;
		metrics_writer_init(&stream->writer, page, openmetrics);
	}
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", openmetrics ? METRICS_TYPE_OPENMETRICS : METRICS_TYPE_TEXT);
	MHD_add_response_header(response, "ETag", tag);
	MHD_add_response_header(response, "Vary", "Accept");
	result = MHD_queue_response(connection, stream ? MHD_HTTP_OK : MHD_HTTP_NOT_MODIFIED, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_metrics(struct metrics_server *server, struct MHD_Connection *connection)
{
	struct metrics_page *page;
	struct error err = { 0 };
	int code;

	cut_streams(server);
	if (server->source->pages < METRICS_PAGES_MAX) {
		code = metrics_source_page(server->source, &page, &err);
	} else {
		page = server->source->page;
		page->references++;
		code = 0;
	}
	if (code < 0) {
		if (strcmp(err.text, server->reported.text))
			log_warning("no metrics: %s", err.text);
		server->reported = err;
		return metrics_reply_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, NULL, err.text);
	}
	server->reported.text[0] = '\0';
	return reply_page(server, connection, page);
}

/* Return: 0: admitted; else the status of the answer. */
static unsigned authenticate(struct metrics_server *server, struct MHD_Connection *connection)
{
	char *password = NULL, *name;
	enum metrics_admission admission = METRICS_REFUSED;

	if (!server->config->user_count)
		return 0;
	name = MHD_basic_auth_get_username_password(connection, &password);
	if (name && password)
		admission = metrics_config_admits(server->config, name, password, clock_boottime_us(clock_system()));
	MHD_free(name);
	MHD_free(password);
	if (admission == METRICS_BUSY)
		return MHD_HTTP_TOO_MANY_REQUESTS;
	return admission == METRICS_ADMITTED ? 0 : MHD_HTTP_UNAUTHORIZED;
}

/* The address is the state of a connection between its calls. */
static int seen;

static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **state)
{
	struct metrics_server *server = ctx;
	unsigned refused;

	(void)version;
	(void)upload;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return *upload_size ? MHD_NO :
			metrics_reply_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", "GET, HEAD",
					   "only GET and HEAD are supported");
	/* The library calls once for the headers, and again at the end of the request. */
	if (!*state) {
		*state = &seen;
		MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)STUCK_S);
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	/* A command has ended. */
	if (*state != &seen)
		return metrics_commands_finish(state);
	refused = authenticate(server, connection);
	if (refused == MHD_HTTP_UNAUTHORIZED)
		return metrics_reply_line(connection, refused, "WWW-Authenticate", "Basic realm=\"ibwire\"",
				  "a user and password of the web configuration are required");
	if (refused)
		return metrics_reply_line(connection, refused, "Retry-After", "1", "too many attempts to log in");
	if (strcmp(url, "/metrics"))
		return metrics_commands_answer(server->commands, connection, url, state);
	return reply_metrics(server, connection);
}

static void forget(void *ctx, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
	(void)ctx;
	(void)connection;
	(void)code;
	if (*state && *state != &seen)
		metrics_commands_forget(*state);
}

static void note(void *ctx, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
static void note(void *ctx, const char *fmt, va_list args)
{
	struct metrics_server *server = ctx;

	vsnprintf(server->message, sizeof(server->message), fmt, args);
	server->message[strcspn(server->message, "\n")] = '\0';
	log_debug("http: %s", server->message);
}

/* HOST:PORT, [HOST]:PORT or :PORT. */
static int resolve(const char *listen, struct addrinfo **ret, struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	const char *colon = strrchr(listen, ':');
	char host[256];
	int code;

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon) > 6 ||
	    (size_t)(colon - listen) >= sizeof(host) || strtoul(colon + 1, NULL, 10) > 65535)
		return err_set(err, ERR_USAGE, "--listen: '%.64s' is not HOST:PORT", listen);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - listen), listen);
	if (host[0] == '[' && colon[-1] == ']') {
		memmove(host, host + 1, strlen(host));
		host[strlen(host) - 1] = '\0';
	}
	code = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, ret);
	return code ? err_set(err, ERR_USAGE, "--listen %.64s: %s", listen, gai_strerror(code)) : 0;
}

static int open_socket(const char *listen_on, int *ret, struct error *err)
{
	struct addrinfo *address;
	int code = resolve(listen_on, &address, err), fd, on = 1;

	if (code < 0)
		return code;
	fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
			bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, BACKLOG))) {
		code = errno;
		close(fd);
		errno = code;
		fd = -1;
	}
	freeaddrinfo(address);
	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot listen on %.64s: %s; choose another one with --listen",
			       listen_on, strerror(errno));
	*ret = fd;
	return 0;
}

static void make_url(struct metrics_server *server, int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	if (getsockname(fd, (struct sockaddr *)&address, &len) == 0)
		getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
			    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(server->url, sizeof(server->url), strchr(host, ':') ? "http%s://[%.64s]:%s/metrics" :
		 "http%s://%.64s:%s/metrics", server->config->tls ? "s" : "", host, port);
}

/* A file descriptor for each connection, and some for the database. Return: how many connections. */
static unsigned allow_connections(void)
{
	enum { OTHERS = 64 };
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return CONNECTIONS / 4;
	if (limit.rlim_cur < CONNECTIONS + OTHERS) {
		limit.rlim_cur = limit.rlim_max < CONNECTIONS + OTHERS ? limit.rlim_max : CONNECTIONS + OTHERS;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur < CONNECTIONS + OTHERS ? (unsigned)limit.rlim_cur - OTHERS / 2 : CONNECTIONS;
}

int metrics_server_create(const char *listen_on, struct metrics_source *source, struct metrics_config *config,
			  const struct metrics_api_config *api, struct metrics_server **ret, struct error *err)
{
	struct metrics_server *server = calloc(1, sizeof(*server));
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, config->certificate.chars },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, config->key.chars },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)config->priorities },
		{ MHD_OPTION_END, 0, NULL },
	};
	unsigned flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME | (config->tls ? MHD_USE_TLS : 0);
	int fd = -1, code;

	if (!server)
		return err_nomem(err);
	snprintf(server->nonce, sizeof(server->nonce), "%" PRIx64, (uint64_t)clock_boottime_us(clock_system()));
	server->commands = metrics_commands_create(api, server->nonce);
	code = server->commands ? open_socket(listen_on, &fd, err) : err_nomem(err);
	if (code < 0) {
		metrics_commands_destroy(server->commands);
		free(server);
		return code;
	}
	server->source = source;
	server->config = config;
	make_url(server, fd);
	server->daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer, server,
		MHD_OPTION_EXTERNAL_LOGGER, note, server, MHD_OPTION_NOTIFY_COMPLETED, forget, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, allow_connections(), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_ARRAY, config->tls ? tls : &tls[3], MHD_OPTION_END);
	if (!server->daemon) {
		close(fd);
		/* Without memory the library says nothing. */
		if (!*server->message)
			code = err_nomem(err);
		else if (config->tls)
			code = err_set(err, ERR_USAGE, "the web configuration %s, line %d: certificate and key cannot "
				       "be used: %.160s", config->path, config->tls_line, server->message);
		else
			code = err_set(err, ERR_UNAVAILABLE, "cannot start the HTTP server: %s", server->message);
		metrics_commands_destroy(server->commands);
		free(server);
		return code;
	}
	*ret = server;
	return 0;
}

void metrics_server_destroy(struct metrics_server *server)
{
	if (!server)
		return;
	metrics_commands_stop(server->commands);
	/* The responses to connections that waited. */
	MHD_run(server->daemon);
	MHD_stop_daemon(server->daemon);
	metrics_commands_destroy(server->commands);
	free(server);
}

const char *metrics_server_url(const struct metrics_server *server)
{
	return server->url;
}

/* Wait for connections, or for a command to end. */
static void wait_ready(struct metrics_server *server)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[1 + METRICS_CALLS] = { { .fd = info->epoll_fd, .events = POLLIN } };
	MHD_UNSIGNED_LONG_LONG limit_ms;
	int timeout_ms = WAIT_MS;
	size_t count = 1 + metrics_commands_wait(server->commands, &fds[1], &timeout_ms);

	if (MHD_get_timeout(server->daemon, &limit_ms) == MHD_YES && limit_ms < (unsigned)timeout_ms)
		timeout_ms = (int)limit_ms;
	poll(fds, count, timeout_ms);
}

int metrics_server_run(struct metrics_server *server, struct error *err)
{
	while (!stop_requested()) {
		wait_ready(server);
		metrics_commands_poll(server->commands);
		if (MHD_run(server->daemon) != MHD_YES && !stop_requested())
			return err_set(err, ERR_IO, "the HTTP server failed: %s", server->message);
	}
	return 0;
}
