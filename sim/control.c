/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "sim/ibsim/client.h"

/* Attempts to send a command whose connection is closed before it is read. */
enum { TRIES = 100 };

int control_listen(const char *sockname, const char *part, int *ret_fd, struct error *err)
{
	struct sockaddr_un address;
	socklen_t len = client_address(&address, sockname, part);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, len) < 0 || listen(fd, 8) < 0) {
		err_set(err, ERR_UNAVAILABLE, "cannot listen for control: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return ERR_UNAVAILABLE;
	}
	*ret_fd = fd;
	return 0;
}

/* A response is an exit status, a space and text. */
void control_serve(int fd, int64_t timeout_us, control_handler *handler, void *ctx)
{
	const struct timeval timeout = { timeout_us / US_PER_S, timeout_us % US_PER_S };
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	struct text response = { 0 }, reply = { 0 };
	struct error err = { 0 };
	char command[CONTROL_MAX];
	ssize_t got;
	int code;

	if (peer < 0)
		return;
	setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	/* With a timeout set, a socket returns EINTR after SIGSTOP and SIGCONT. */
	do
		got = recv(peer, command, sizeof(command) - 1, 0);
	while (got < 0 && errno == EINTR);
	if (got > 0) {
		command[got] = '\0';
		code = handler(ctx, command, &response, &err);
		text_appendf(&reply, "%d %s", -code, code < 0 ? err.text : text_chars(&response));
		if (send(peer, text_chars(&reply), reply.len, MSG_NOSIGNAL) < 0)
			log_debug("the sender of a command closed its connection");
	}
	text_done(&response);
	text_done(&reply);
	close(peer);
}

/* Return: the length of the reply; 0 or less with errno set if there is none. */
static ssize_t send_once(const struct sockaddr_un *address, socklen_t len, const char *command, char *reply,
			 size_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), cause = 0;
	ssize_t got = -1;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)address, len) == 0 &&
	    send(fd, command, strlen(command), MSG_NOSIGNAL) > 0)
		got = recv(fd, reply, size, 0);
	cause = errno;
	close(fd);
	errno = cause;
	return got;
}

int control_send(const char *sockname, const char *part, const char *command, const char *unavailable,
		 struct text *response, struct error *err)
{
	struct sockaddr_un address;
	socklen_t len = client_address(&address, sockname, part);
	char reply[CONTROL_MAX], *text;
	int status, tries = 0;
	ssize_t got;

	if (strlen(command) >= CONTROL_MAX - 1)
		return err_set(err, ERR_USAGE, "the command is too long: use a name pattern");
	/*
	 * The server's timeout is short: if this process is not scheduled between connect() and send(), the
	 * connection is closed before the command is read. A command that was read always gets a response.
	 */
	do
		got = send_once(&address, len, command, reply, sizeof(reply) - 1);
	while (got < 0 && (errno == EPIPE || errno == ECONNRESET) && ++tries < TRIES);
	if (got <= 0)
		return err_set(err, ERR_UNAVAILABLE, "%s", unavailable);
	reply[got] = '\0';
	status = (int)strtol(reply, &text, 10);
	text += *text == ' ';
	if (status)
		return err_set(err, -status, "%s", text);
	text_append(response, text);
	return 0;
}
