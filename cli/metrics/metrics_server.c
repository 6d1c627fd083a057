/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/metrics/metrics_api.h"
#include "cli/metrics/metrics_command.h"
#include "cli/metrics/metrics_config.h"

/*
 * Limits: connections; connections whose passwords are checked, one after the other. With more connections than that,
 * one ends: of the address that has the most, the oldest of those with the least progress. The library accepts a few
 * more, until it has closed that one.
 */
enum { CLIENTS = 64, CLIENTS_ALL = CLIENTS + 32, LOGINS_MOST = 16, LOGINS_EACH = 4, BACKLOG = 1024, WAIT_MS = 250,
       CONNECTION_BYTES = 128 << 10 };

/* After a check of a password, none begins for this multiple of its CPU time. */
enum { LOGIN_PAUSE = 3 };

/* For requests that were received before a reload, and those of connections that are so new that theirs may follow. */
enum { GRACE_S = 5, NEW_US = US_PER_S };

/* WAIT: for a job. Connections in LOGIN and WAIT are suspended. */
enum phase { FREE, REQUEST, LOGIN, WAIT, WORK, RESPONSE, ENDING };

/* From the beginning of a phase to its end; 0: that of a call (WAIT), or it ends by itself. */
static const unsigned char limit_s[] = { [REQUEST] = 5, [LOGIN] = 10, [RESPONSE] = 60, [ENDING] = 0 };

/* A connection. */
struct client {
	struct metrics_server *server;
	struct MHD_Connection *connection;
	int fd;
	enum phase phase;
	int64_t since_us;         /* of the phase; boot time */
	struct sockaddr_in6 address; /* or a struct sockaddr_in; without the port */
	char *name, *password;    /* LOGIN: to be checked */
	unsigned login;           /* status of a refusal; MHD_HTTP_OK: admitted; 0: not checked yet */
	struct metrics_job *job;  /* that it waits for, or whose output it receives */
};

struct metrics_server {
	struct metrics_config config;
	const struct metrics_api_config *api;
	struct metrics_jobs *jobs;
	struct MHD_Daemon *daemon;
	struct client clients[CLIENTS_ALL];
	struct call *login;       /* checks the password of a client; NULL: none */
	struct client *checking;  /* that client; NULL: it has gone */
	int64_t pause_us;         /* no other check begins before; boot time */
	bool is_stopping;         /* no connection may wait any more */
	char message[256];        /* the last one of the library */
	char url[160];
};

static int64_t now(void)
{
	return clock_boottime_us(clock_system());
}

static void enter(struct client *client, enum phase phase)
{
	client->phase = phase;
	client->since_us = now();
}

/* --- connections --- */

/* Go on with a connection that waits: in answer(). */
static void resume(struct client *client, enum phase phase)
{
	enter(client, phase);
	MHD_resume_connection(client->connection);
}

/* The library closes the connection in its next round. */
static void end_client(struct client *client)
{
	shutdown(client->fd, SHUT_RDWR);
	if (client->phase == WAIT)
		resume(client, ENDING);
	else
		enter(client, ENDING);
}

static unsigned count_clients(const struct client *like, enum phase phase)
{
	const struct metrics_server *server = like->server;
	unsigned count = 0;

	for (size_t i = 0; i < CLIENTS_ALL; i++) {
		const struct client *client = &server->clients[i];

		count += client->phase != FREE && client->phase != ENDING && (!phase || client->phase == phase) &&
			 !memcmp(&client->address, &like->address, sizeof(like->address));
	}
	return count;
}

/*
 * How near a client is to its end: 0: it sends nothing; 1: it has just connected, or a part of a request is to be read;
 * 2: a complete one or TLS is to be read, or it receives the response; 3: it waits for a result. Many that connect at
 * once do not displace those that are served.
 */
static unsigned progress_of(const struct client *client)
{
	enum { ARRIVAL_US = 200000 };
	char bytes[4096];
	ssize_t len;

	if (client->phase != REQUEST)
		return client->phase == WAIT ? 3 : 2;
	len = recv(client->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	/* The request of a client that has just connected is on its way. */
	if (len < 0 && now() - client->since_us < ARRIVAL_US)
		return 1;
	if (len <= 0)
		return 0;
	return client->server->config.tls || memmem(bytes, (size_t)len, "\r\n\r\n", 4) ? 2 : 1;
}

/* Of the address with the most connections the one with the least progress, the oldest of these. */
static void end_oldest(struct metrics_server *server)
{
	struct client *oldest = NULL;
	unsigned most = 1;

	for (size_t i = 0; i < CLIENTS_ALL; i++) {
		struct client *client = &server->clients[i];
		bool may_end = client->phase == REQUEST || client->phase == WAIT || client->phase == RESPONSE;
		unsigned rank = may_end ? 4 * count_clients(client, FREE) + 3 - progress_of(client) : 0;

		if (rank > most || (rank == most && client->since_us < oldest->since_us)) {
			most = rank;
			oldest = client;
		}
	}
	if (oldest)
		end_client(oldest);
}

static void notify_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
			      enum MHD_ConnectionNotificationCode code)
{
	struct metrics_server *server = ctx;
	struct client *client = *socket_context;
	const struct sockaddr *address;
	unsigned count = 0;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (client)
			client->phase = FREE;
		return;
	}
	for (size_t i = 0; i < CLIENTS_ALL; i++) {
		enum phase phase = server->clients[i].phase;

		count += phase != FREE && phase != ENDING;
		if (phase == FREE)
			client = &server->clients[i];
	}
	if (count >= CLIENTS)
		end_oldest(server);
	*client = (struct client){ .server = server, .connection = connection,
		.fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd };
	address = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	memcpy(&client->address, address, address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
	       offsetof(struct sockaddr_in, sin_zero));
	client->address.sin6_port = 0;
	enter(client, REQUEST);
	*socket_context = client;
}

/* --- passwords --- */

/* Return: twice the CPU time in milliseconds, plus 1 if the password matches. */
static int check_password(const struct call_context *context, int argc, char **argv, struct error *err)
{
	struct timespec cpu = { 0 };
	bool matches = metrics_config_matches(argv[argc - 1], argv[argc - 2]);

	(void)context;
	(void)err;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	return 2 * (int)(cpu.tv_sec * 1000 + cpu.tv_nsec / 1000000 + 1) + matches;
}

static void forget_password(struct client *client)
{
	MHD_free(client->name);
	MHD_free(client->password);
	client->name = client->password = NULL;
}

/* The request continues in answer(). @login: as in struct client */
static void finish_login(struct client *client, unsigned login)
{
	forget_password(client);
	client->login = login;
	resume(client, WORK);
}

/* Of the address with the fewest that wait, the oldest: many wrong ones of others do not delay it. */
static struct client *next_login(struct metrics_server *server)
{
	struct client *next = NULL;
	unsigned fewest = UINT_MAX;

	for (size_t i = 0; i < CLIENTS_ALL; i++) {
		struct client *client = &server->clients[i];
		unsigned count = client->phase == LOGIN ? count_clients(client, LOGIN) : UINT_MAX;

		if (count < fewest || (next && count == fewest && client->since_us < next->since_us)) {
			next = client;
			fewest = count;
		}
	}
	return next;
}

static void end_login(struct metrics_server *server, const struct call_result *result)
{
	struct client *client = server->checking;

	server->pause_us = now() + LOGIN_PAUSE * (result->code / 2) * US_PER_MS;
	if (client)
		finish_login(client, result->code > 0 && result->code % 2 && metrics_config_admit(&server->config,
				client->name, client->password) ? MHD_HTTP_OK : MHD_HTTP_UNAUTHORIZED);
	call_destroy(server->login);
	server->login = NULL;
	server->checking = NULL;
}

static void poll_logins(struct metrics_server *server)
{
	const struct call_result *result = server->login ? call_result(server->login) : NULL;
	const struct call_settings settings = { .file = -1 };
	const char *argv[] = { "login", NULL, NULL, NULL };
	struct client *client;

	if (result)
		end_login(server, result);
	client = server->login || now() < server->pause_us ? NULL : next_login(server);
	if (!client)
		return;
	argv[1] = metrics_config_hash(&server->config, client->name);
	argv[2] = client->password;
	if (call_start(check_password, argv, &settings, &server->login, NULL) == 0)
		server->checking = client;
	else
		finish_login(client, MHD_HTTP_TOO_MANY_REQUESTS);
}

/* Return: as struct client.login; 0: the connection waits for the check of the password. */
static unsigned authenticate(struct client *client)
{
	struct metrics_server *server = client->server;
	unsigned waiting = 0;

	if (client->login || !server->config.user_count)
		return client->login ? client->login : MHD_HTTP_OK;
	client->name = MHD_basic_auth_get_username_password(client->connection, &client->password);
	for (size_t i = 0; i < CLIENTS_ALL; i++)
		waiting += server->clients[i].phase == LOGIN;
	if (!client->name || !client->password)
		client->login = MHD_HTTP_UNAUTHORIZED;
	else if (metrics_config_knows(&server->config, client->name, client->password))
		client->login = MHD_HTTP_OK;
	else if (waiting >= LOGINS_MOST || count_clients(client, LOGIN) >= LOGINS_EACH)
		client->login = MHD_HTTP_TOO_MANY_REQUESTS;
	if (client->login) {
		forget_password(client);
	} else {
		enter(client, LOGIN);
		MHD_suspend_connection(client->connection);
	}
	return client->login;
}

/* --- requests --- */

static struct client *client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result answer_client(struct client *client, const char *url)
{
	struct metrics_server *server = client->server;
	enum MHD_Result result;
	unsigned login;

	if (client->job)
		return metrics_job_respond(client->job, client->connection);
	if (server->is_stopping)
		return metrics_reply_line(client->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
					  "the server is being stopped");
	login = authenticate(client);
	if (!login)
		return MHD_YES;
	if (login != MHD_HTTP_OK)
		return metrics_reply_line(client->connection, login, login == MHD_HTTP_UNAUTHORIZED ?
					  "a user and password of the web configuration are required" :
					  "too many attempts to log in");
	result = metrics_jobs_find(server->jobs, client->connection, url, &client->job);
	if (!client->job)
		return result;
	if (metrics_job_is_done(client->job))
		return metrics_job_respond(client->job, client->connection);
	enter(client, WAIT);
	MHD_suspend_connection(client->connection);
	return MHD_YES;
}

/* The library calls once for the headers, again at the end of the request, and again after a suspension. */
static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **state)
{
	struct client *client = client_of(connection);
	bool is_get = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD), is_first = !*state;
	enum MHD_Result result;

	(void)ctx;
	(void)version;
	(void)upload;
	*state = client;
	if (client->phase == ENDING || (!is_get && *upload_size))
		return MHD_NO;
	if (is_get && (is_first || *upload_size)) {
		*upload_size = 0;
		return MHD_YES;
	}
	enter(client, WORK);
	result = is_get ? answer_client(client, url) :
		metrics_reply_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "only GET and HEAD are supported");
	if (client->phase == WORK)
		enter(client, RESPONSE);
	return result;
}

/* The end of a request; the connection may have another one. */
static void forget(void *ctx, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
	struct metrics_server *server = ctx;
	struct client *client = client_of(connection);

	(void)code;
	(void)state;
	if (client->job)
		metrics_job_leave(client->job);
	client->job = NULL;
	if (server->checking == client)
		server->checking = NULL;
	forget_password(client);
	client->login = 0;
	if (client->phase != ENDING)
		enter(client, REQUEST);
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
	size_t len = colon ? (size_t)(colon - listen) : 0, bracket = len > 1 && *listen == '[' && colon[-1] == ']';
	char host[256];
	int code;

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon) > 6 ||
	    len >= sizeof(host) || strtoul(colon + 1, NULL, 10) > 65535)
		return err_set(err, ERR_USAGE, "--listen: '%.64s' is not HOST:PORT", listen);
	snprintf(host, sizeof(host), "%.*s", (int)(len - 2 * bracket), listen + bracket);
	code = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, ret);
	return code ? err_set(err, ERR_USAGE, "--listen %.64s: %s", listen, gai_strerror(code)) : 0;
}

int metrics_listen(const char *listen_on, int *ret, struct error *err)
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
		 "http%s://%.64s:%s/metrics", server->config.tls ? "s" : "", host, port);
}

static struct MHD_Daemon *start(struct metrics_server *server, int fd)
{
	const struct metrics_config *config = &server->config;
	unsigned flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME | (config->tls ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, config->certificate.chars },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, config->key.chars },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)config->priorities }, { MHD_OPTION_END, 0, NULL },
	};

	return MHD_start_daemon(flags, 0, NULL, NULL, answer, server,
		MHD_OPTION_EXTERNAL_LOGGER, note, server, MHD_OPTION_NOTIFY_COMPLETED, forget, server,
		MHD_OPTION_NOTIFY_CONNECTION, notify_connection, server, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLIENTS_ALL,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_ARRAY, config->tls ? tls : &tls[3], MHD_OPTION_END);
}

int metrics_server_create(int listen_fd, const char *web_config, struct metrics_source *source,
			  const struct metrics_api_config *api, struct metrics_server **ret, struct error *err)
{
	struct metrics_server *server = calloc(1, sizeof(*server));
	int code, fd = -1;

	if (!server)
		return err_nomem(err);
	server->api = api;
	server->jobs = metrics_jobs_create(api, source);
	code = server->jobs ? metrics_config_load(web_config, &server->config, err) : err_nomem(err);
	if (code == 0) {
		make_url(server, listen_fd);
		fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);
		server->daemon = fd >= 0 ? start(server, fd) : NULL;
	}
	if (server->daemon) {
		*ret = server;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	/* The library reports no lack of memory. */
	if (code == 0 && !*server->message)
		code = err_nomem(err);
	else if (code == 0 && server->config.tls)
		code = err_set(err, ERR_USAGE, "the web configuration %s, line %d: certificate and key cannot be used: "
			       "%.160s", web_config, server->config.tls_line, server->message);
	else if (code == 0)
		code = err_set(err, ERR_UNAVAILABLE, "cannot start the HTTP server: %s", server->message);
	metrics_config_done(&server->config);
	metrics_jobs_destroy(server->jobs);
	free(server);
	return code;
}

const char *metrics_server_url(const struct metrics_server *server)
{
	return server->url;
}

/* Wait for connections, or for a call to end. */
static void wait_ready(struct metrics_server *server)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[2 + METRICS_DESCRIPTORS] = { { .fd = info->epoll_fd, .events = POLLIN } };
	int64_t pause_ms = (server->pause_us - now()) / 1000 + 1;
	MHD_UNSIGNED_LONG_LONG limit_ms;
	int timeout_ms = pause_ms > 0 && pause_ms < WAIT_MS ? (int)pause_ms : WAIT_MS;
	size_t count = 1 + metrics_jobs_wait(server->jobs, &fds[1]);

	if (server->login)
		fds[count++] = (struct pollfd){ .fd = call_descriptor(server->login), .events = POLLIN };
	if (MHD_get_timeout(server->daemon, &limit_ms) == MHD_YES && limit_ms < (unsigned)timeout_ms)
		timeout_ms = (int)limit_ms;
	poll(fds, count, timeout_ms);
}

/* End phases that are complete, or take too long. Return: how many requests wait for a response, or may follow. */
static unsigned poll_clients(struct metrics_server *server)
{
	unsigned count = 0;

	for (size_t i = 0; i < CLIENTS_ALL; i++) {
		struct client *client = &server->clients[i];
		int64_t most_us = client->phase == WAIT ? server->api->limit_us : limit_s[client->phase] * US_PER_S;
		bool is_late = most_us && now() > client->since_us + most_us;

		count += (client->phase >= LOGIN && client->phase <= RESPONSE) ||
			 (client->phase == REQUEST && now() < client->since_us + NEW_US);
		if (client->phase == WAIT && (is_late || metrics_job_is_done(client->job)))
			resume(client, WORK);
		else if (client->phase == LOGIN && is_late && client != server->checking)
			finish_login(client, MHD_HTTP_TOO_MANY_REQUESTS);
		else if (is_late && client->phase != LOGIN)
			end_client(client);
	}
	return count;
}

/* Return: false: the library failed. @ret_busy: of poll_clients() */
static bool serve_once(struct metrics_server *server, unsigned *ret_busy)
{
	wait_ready(server);
	metrics_jobs_poll(server->jobs);
	poll_logins(server);
	*ret_busy = poll_clients(server);
	return MHD_run(server->daemon) == MHD_YES;
}

int metrics_server_run(struct metrics_server *server, struct error *err)
{
	unsigned busy;

	while (!stop_requested()) {
		if (stop_take_reload())
			return 1;
		if (!serve_once(server, &busy) && !stop_requested())
			return err_set(err, ERR_IO, "the HTTP server failed: %s", server->message);
	}
	return 0;
}

void metrics_server_destroy(struct metrics_server *server, bool graceful)
{
	int64_t until_us = now() + GRACE_S * US_PER_S;
	unsigned busy = 1;

	if (!server)
		return;
	close(MHD_quiesce_daemon(server->daemon));
	while (graceful && busy && !stop_requested() && now() < until_us && serve_once(server, &busy))
		;
	server->is_stopping = true;
	metrics_jobs_stop(server->jobs);
	for (size_t i = 0; i < CLIENTS_ALL; i++)
		if (server->clients[i].phase == LOGIN)
			finish_login(&server->clients[i], MHD_HTTP_TOO_MANY_REQUESTS);
	call_destroy(server->login);
	poll_clients(server);
	/* The responses to connections that waited. */
	MHD_run(server->daemon);
	MHD_stop_daemon(server->daemon);
	metrics_jobs_destroy(server->jobs);
	metrics_config_done(&server->config);
	free(server);
}
