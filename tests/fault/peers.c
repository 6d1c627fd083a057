/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Commands of fault_test.c with a peer: a receiver of `ibwire push`, a client of `ibwire metrics`, a user of
 * `ibwire top`. Peers are processes of their own: their system calls and allocations never fail.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/map.h"
#include "tests/fault/bodies.h"
#include "tests/fault/inject.h"
#include "tests/fault/points.h"

enum { BODIES_MAX = 256, BYTES_MAX = 1 << 20, ATTEMPTS = 3, SILENT_S = 20, QUIET_MS = 20 };

char fault_url[64];
static pid_t peer;

/* Shared with the peer. */
static struct shared {
	size_t body_count;
	uint64_t bodies[BODIES_MAX]; /* hash of each request that the receiver has acknowledged */
	pid_t server;
	char replies[2][BYTES_MAX];  /* to each request of the client, in the run without a fault */
} *shared;

/* Return: whether this is the peer. */
static bool start_peer(void)
{
	fault_peer_stop(NULL);
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	shared->server = 0;
	peer = fork();
	if (!peer)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return !peer;
}

/* It ends by itself. Return: NULL, or what it has found. */
static const char *peer_result(const char *const *texts)
{
	int status;
	pid_t ended = waitpid(peer, &status, 0);

	if (ended == peer)
		peer = 0;
	return ended > 0 && WIFEXITED(status) ? texts[WEXITSTATUS(status)] : "its peer has failed";
}

int fault_peer_stop(void **state)
{
	if (peer) {
		kill(peer, SIGKILL);
		waitpid(peer, NULL, 0);
	}
	peer = 0;
	return state ? fault_name_point(state) : 0;
}

/* A socket with a free port of this host. It stays bound, so that no other program gets the port. */
static int reserve_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(fault_url, sizeof(fault_url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	return fd;
}

/* --- the receiver --- */

/* Until the peer is killed: nothing is freed. */
static enum MHD_Result take(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
			    const char *version, const char *upload, size_t *upload_size, void **state)
{
	struct MHD_Response *response;
	uint64_t *hash = *state;

	(void)ctx;
	(void)url;
	(void)method;
	(void)version;
	if (!hash)
		return (*state = calloc(1, sizeof(*hash))) ? MHD_YES : MHD_NO;
	if (*upload_size) {
		for (; *upload_size; --*upload_size)
			*hash = map_mix((*hash ^ (unsigned char)*upload++) + 0x9e3779b97f4a7c15ULL);
		return MHD_YES;
	}
	if (shared->body_count < BODIES_MAX)
		shared->bodies[shared->body_count++] = *hash;
	response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	return MHD_queue_response(connection, MHD_HTTP_NO_CONTENT, response);
}

void fault_receiver_start(void)
{
	int fd = reserve_port();

	assert_int_equal(listen(fd, 64), 0);
	if (start_peer()) {
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, take, NULL,
				 MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_END);
		for (;;)
			pause();
	}
	close(fd);
}

void fault_renew_pushed(void)
{
	static const char *const suffixes[] = { ".lock", ".new", ".counters", ".counters.new" };
	char name[128];

	fault_renew_database();
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", copy_path, suffixes[i]);
		unlink(name);
	}
	shared->body_count = 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint64_t));
}

/* Return: the number of different bodies, which are first then. */
static size_t sort_bodies(void)
{
	size_t count = 0;

	qsort(shared->bodies, shared->body_count, sizeof(uint64_t), compare);
	for (size_t i = 0; i < shared->body_count; i++)
		if (!i || shared->bodies[i] != shared->bodies[count - 1])
			shared->bodies[count++] = shared->bodies[i];
	return count;
}

void fault_push(void *name)
{
	log_init("ibwire", LOG_LEVEL_WARNING);
	fault_clock_runs = true;
	fault_command(name);
}

/* A failed command is repeated without a fault. Then each request has arrived, and no other. */
const char *fault_check_pushed(bool failed)
{
	static uint64_t whole[BODIES_MAX];
	static size_t whole_count;
	size_t count;

	if (failed && fault_repeat(fault_push))
		return "the next attempt fails";
	count = sort_bodies();
	if (fault_counting) {
		whole_count = count;
		memcpy(whole, shared->bodies, sizeof(whole));
	}
	return count && count == whole_count && !memcmp(whole, shared->bodies, count * sizeof(*whole)) ? NULL :
		"wrong samples";
}

/* --- the client --- */

enum { SERVED, REFUSED, WRONG_RESPONSE, NEVER_SERVED };

static const char *const requests[2] = {
	"GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
};

/* Return: false: the connection is refused. An empty response is one. */
static bool request(const char *line, char *ret)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons((uint16_t)atoi(strrchr(fault_url, ':') + 1)) };
	struct timeval limit = { .tv_sec = SILENT_S };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool connected = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	size_t len = 0;
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connected)
		send(fd, line, strlen(line), MSG_NOSIGNAL);
	while (connected && len < BYTES_MAX - 1 && (got = recv(fd, ret + len, BYTES_MAX - 1 - len, 0)) > 0)
		len += (size_t)got;
	ret[len] = '\0';
	close(fd);
	return connected;
}

/* Without the headers, which have a date; "": cut before it. */
static const char *body_of(const char *reply)
{
	const char *end = strstr(reply, "\r\n\r\n");

	return end ? end : "";
}

/* Remove what differs between two servers: metrics of the process, and a line that was cut, which may be one. */
static void forget_process(char *reply)
{
	char *line = strrchr(reply, '\n'), *end;

	if (line)
		line[1] = '\0';
	for (line = reply; (line = strstr(line, "\nprocess_")); memmove(line, end, strlen(end) + 1))
		end = strchr(line + 1, '\n');
}

/* Status 5xx. libmicrohttpd 0.9.72 responds with the version of the request, later ones with 1.1. */
static bool is_server_error(const char *reply)
{
	return !strncmp(reply, "HTTP/1.0 5", 10) || !strncmp(reply, "HTTP/1.1 5", 10);
}

/* Of a few responses the last one must be right; one before may be an error, or cut. */
static int use_server(const char *line, char *right)
{
	static char reply[BYTES_MAX];
	const char *body;

	for (int left = ATTEMPTS; left;) {
		if (!request(line, reply)) {
			if (kill(shared->server, 0))
				return REFUSED;
			usleep(1000);
			continue;
		}
		forget_process(reply);
		if (!*right)
			memcpy(right, reply, sizeof(reply));
		body = body_of(reply);
		if (strstr(reply, " 200 OK") && !strcmp(body, body_of(right)))
			return SERVED;
		if (!is_server_error(reply) && strncmp(body, body_of(right), strlen(body)))
			return WRONG_RESPONSE;
		left--;
	}
	return NEVER_SERVED;
}

void fault_client_start(void)
{
	int result;

	if (!shared || !shared->replies[0][0])
		reserve_port();
	fault_renew_database();
	if (!start_peer())
		return;
	while (!__atomic_load_n(&shared->server, __ATOMIC_SEQ_CST))
		usleep(1000);
	result = use_server(requests[0], shared->replies[0]);
	if (result == SERVED)
		result = use_server(requests[1], shared->replies[1]);
	kill(shared->server, SIGTERM);
	_exit(result);
}

void fault_serve(void *name)
{
	log_init("ibwire", LOG_LEVEL_WARNING);
	__atomic_store_n(&shared->server, getpid(), __ATOMIC_SEQ_CST);
	fault_command(name);
}

const char *fault_check_served(bool failed)
{
	const char *const texts[] = { NULL, failed ? NULL : "the server ended without an error",
				      "a wrong response", "no right response" };

	return peer_result(texts);
}

/* --- the user --- */

static int terminal[2] = { -1, -1 }; /* its own end, and that of the program */

/* Each key is typed when the screen is quiet; the last one until the program ends. */
static bool use_terminal(const char *keys)
{
	static char bytes[BYTES_MAX];
	struct pollfd fd = { .fd = terminal[0], .events = POLLIN };
	const char *at, *left = bytes, *next;
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd.fd, bytes + len, BYTES_MAX - 1 - len)) > 0) {
		len += (size_t)got;
		for (at = keys; poll(&fd, 1, QUIET_MS) == 0; at = keys) {
			(void)!write(fd.fd, at, 1);
			keys += keys[1] != '\0';
		}
	}
	/* The alternate screen is left. */
	for (at = bytes; (next = strstr(at, "\033[?1049h")); at = next + 1)
		left = strstr(next, "\033[?1049l");
	return left != NULL;
}

void fault_terminal_open(void)
{
	const struct winsize size = { .ws_row = 40, .ws_col = 120 };

	fault_renew_database();
	for (int i = 0; i < 2; i++)
		if (terminal[i] >= 0)
			close(terminal[i]);
	terminal[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(terminal[0] >= 0 && grantpt(terminal[0]) == 0 && unlockpt(terminal[0]) == 0);
	terminal[1] = open(ptsname(terminal[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(ioctl(terminal[1], TIOCSWINSZ, &size), 0);
	if (!start_peer())
		return;
	close(terminal[1]);
	_exit(!use_terminal("2345678?q"));
}

void fault_top(void *name)
{
	setenv("TERM", "xterm", 1);
	fault_clock_runs = true;
	dup2(terminal[1], STDIN_FILENO);
	dup2(terminal[1], STDOUT_FILENO);
	close(terminal[0]);
	close(terminal[1]);
	fault_command(name);
}

const char *fault_check_terminal(bool failed)
{
	static const char *const texts[] = { NULL, "the terminal is not restored" };

	(void)failed;
	close(terminal[1]);
	terminal[1] = -1;
	return peer_result(texts);
}
