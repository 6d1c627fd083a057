/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/client.h"
#include "sim/relay_model.h"
#include "sim/relay_sockets.h"

#define NS_PER_S (US_PER_S * 1000)

/*
 * A sleep ends some tens of microseconds late (a core wakes up, others have it). So the last
 * part of a wait is spent looking; nothing is looked for where nothing is due.
 */
#define SPIN_NS (60 * 1000)

/* What is due so soon is done with what is due now: less than a look around takes. */
#define SLACK_NS 2000

#define COMMAND_MAX 4096

struct relay {
	struct relay_model model;
	struct relay_sockets sockets;
	int listen_fd;
	sigset_t signals; /* as they were: let in only while waiting */
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int set_up_model(const struct relay_options *options, struct relay_model *model, const struct relay_io *io,
			struct error *err)
{
	size_t i;
	int code = relay_model_init(model, options->fabric, io, err);

	if (code < 0)
		return code;
	if (options->wire)
		code = relay_model_set(model, options->wire, err);
	for (i = 0; i < options->pma_count && code == 0; i++)
		code = responder_configure(&model->responder, options->pma[i], err);
	if (code < 0)
		relay_model_done(model);
	return code;
}

int relay_check(const struct relay_options *options, struct error *err)
{
	const struct relay_io nowhere = { 0 };
	struct relay_model *model = malloc(sizeof(*model));
	int code = model ? set_up_model(options, model, &nowhere, err) : err_nomem(err);

	if (code == 0)
		relay_model_done(model);
	free(model);
	return code;
}

/* --- control --- */

static int obey(struct relay *relay, const char *command, struct text *answer, struct error *err)
{
	if (!strncmp(command, "pma ", 4))
		return responder_configure(&relay->model.responder, command + 4, err);
	if (!strncmp(command, "wire ", 5))
		return relay_model_set(&relay->model, command + 5, err);
	if (!strcmp(command, "wire")) {
		relay_model_describe(&relay->model, answer);
		return 0;
	}
	return err_set(err, ERR_USAGE, "the relay does not know \"%s\"", command);
}

/* One command, one answer: its exit status as a number, a space, and text. */
static void serve(struct relay *relay)
{
	const struct timeval patience = { .tv_usec = 100000 };
	int fd = accept4(relay->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct text answer = { 0 }, reply = { 0 };
	struct error err = { 0 };
	char command[COMMAND_MAX];
	ssize_t got;
	int code;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	got = recv(fd, command, sizeof(command) - 1, 0);
	if (got > 0) {
		command[got] = '\0';
		code = obey(relay, command, &answer, &err);
		text_appendf(&reply, "%d %s", -code, code < 0 ? err.text : text_chars(&answer));
		if (send(fd, text_chars(&reply), reply.len, MSG_NOSIGNAL) < 0)
			log_debug("who controls the wire is gone");
	}
	text_done(&answer);
	text_done(&reply);
	close(fd);
}

static int listen_for_control(struct relay *relay, const char *name, struct error *err)
{
	struct sockaddr_un address;
	socklen_t len = client_address(&address, name, "wire");

	relay->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (relay->listen_fd < 0 || bind(relay->listen_fd, (const struct sockaddr *)&address, len) < 0 ||
	    listen(relay->listen_fd, 8) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot listen for control: %s", strerror(errno));
	return 0;
}

int relay_control(const char *name, const char *command, struct text *answer, struct error *err)
{
	struct sockaddr_un address;
	socklen_t len = client_address(&address, name, "wire");
	char reply[COMMAND_MAX], *text;
	ssize_t got = -1;
	int fd, status;

	if (strlen(command) >= COMMAND_MAX - 1)
		return err_set(err, ERR_USAGE, "that is too long for one command: use a pattern of names");
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, len) == 0 &&
	    send(fd, command, strlen(command), MSG_NOSIGNAL) > 0)
		got = recv(fd, reply, sizeof(reply) - 1, 0);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return err_set(err, ERR_UNAVAILABLE, "no relay answers here: was run started with --wire or --pma?");
	reply[got] = '\0';
	status = (int)strtol(reply, &text, 10);
	text += *text == ' ';
	if (status)
		return err_set(err, -status, "%s", text);
	text_append(answer, text);
	return 0;
}

/* --- the loop --- */

/* How long to sleep, NULL: until something comes. */
static const struct timespec *sleep_time(const struct relay_model *model, struct timespec *ret)
{
	int64_t next_ns = relay_model_next_ns(model), wait_ns;

	if (next_ns == INT64_MAX)
		return NULL;
	wait_ns = next_ns - now_ns() - SPIN_NS;
	wait_ns = wait_ns > 0 ? wait_ns : 0;
	ret->tv_sec = wait_ns / NS_PER_S;
	ret->tv_nsec = wait_ns % NS_PER_S;
	return ret;
}

static int loop(struct relay *relay, struct error *err)
{
	struct pollfd polls[RELAY_POLLS + 1];
	struct timespec time;
	size_t count;
	int code = 0, ready;

	while (code == 0 && !stop_requested()) {
		relay_model_run(&relay->model, now_ns(), SLACK_NS);
		relay_sockets_flush(&relay->sockets);
		count = relay_sockets_poll(&relay->sockets, polls);
		polls[count] = (struct pollfd){ .fd = relay->listen_fd, .events = POLLIN };
		ready = ppoll(polls, count + 1, sleep_time(&relay->model, &time), &relay->signals);
		if (ready <= 0)
			continue;
		code = relay_sockets_read(&relay->sockets, polls, count, now_ns(), err);
		if (polls[count].revents)
			serve(relay);
	}
	return code;
}

static void say_ready(struct relay_options *options)
{
	if (write(options->ready_fd, "", 1) < 0)
		log_debug("nobody waits for the relay");
	close(options->ready_fd);
	options->ready_fd = -1;
}

static void take_signals(struct relay *relay)
{
	sigset_t mask;

	stop_install();
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &relay->signals);
}

int relay_run(struct relay_options *options, struct error *err)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	struct relay_io io = { .to_ibsim = relay_sockets_send_up, .to_client = relay_sockets_send_down };
	int code;

	if (!relay)
		return err_nomem(err);
	io.ctx = &relay->sockets;
	relay->listen_fd = -1;
	take_signals(relay);
	/* Timers that are not rounded up to 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);
	code = set_up_model(options, &relay->model, &io, err);
	if (code < 0)
		goto out;
	code = relay_sockets_open(&relay->sockets, &relay->model, options->name, options->ibsim_name, err);
	if (code == 0) {
		code = listen_for_control(relay, options->name, err);
		if (code == 0) {
			say_ready(options);
			code = loop(relay, err);
		}
		relay_sockets_close(&relay->sockets);
	}
	if (relay->listen_fd >= 0)
		close(relay->listen_fd);
	relay_model_done(&relay->model);
out:
	free(relay);
	return code;
}
