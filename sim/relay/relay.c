/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/relay.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/control.h"
#include "sim/process.h"
#include "sim/relay/relay_model.h"
#include "sim/relay/relay_sockets.h"

#define NS_PER_S (US_PER_S * 1000)

/*
 * A sleep ends some tens of microseconds late, so the last part of a wait is spent polling. The process
 * sleeps if nothing is scheduled.
 */
#define SPIN_NS (60 * 1000)

/* Events due within this time are processed early: it is less than the time of a system call. */
#define SLACK_NS 2000

/* Name of its control socket, and the timeout for a command: MADs are delayed meanwhile. */
#define CONTROL_PART "wire"
#define CONTROL_TIMEOUT_US (100 * US_PER_MS)

struct relay {
	struct relay_model model;
	struct relay_sockets sockets;
	int listen_fd;
	sigset_t signals; /* original mask: signals are delivered only while waiting */
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
	int code = relay_model_init(model, options->fabric, io, err);

	if (code < 0)
		return code;
	if (options->wire)
		code = relay_model_set(model, options->wire, err);
	for (size_t i = 0; i < options->pma_count && code == 0; i++)
		code = responder_configure(&model->responder, options->pma[i], err);
	if (code < 0)
		relay_model_done(model);
	return code;
}

int relay_check(const struct relay_options *options, struct error *err)
{
	const struct relay_io no_io = { 0 };
	struct relay_model *model = malloc(sizeof(*model));
	int code = model ? set_up_model(options, model, &no_io, err) : err_nomem(err);

	if (code == 0)
		relay_model_done(model);
	free(model);
	return code;
}

/* --- control --- */

static int handle_command(void *ctx, const char *command, struct text *response, struct error *err)
{
	struct relay *relay = ctx;

	if (!strncmp(command, "pma ", 4))
		return responder_configure(&relay->model.responder, command + 4, err);
	if (!strncmp(command, "wire ", 5))
		return relay_model_set(&relay->model, command + 5, err);
	if (!strcmp(command, "wire")) {
		relay_model_describe(&relay->model, response);
		return 0;
	}
	return err_set(err, ERR_USAGE, "\"%s\" is not a command of the relay", command);
}

int relay_control(const char *name, const char *command, struct text *response, struct error *err)
{
	return control_send(name, CONTROL_PART, command, "the relay does not respond: has the simulation ended?",
			   response, err);
}

/* --- the loop --- */

/* Time to sleep; NULL: until a datagram arrives. */
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
			control_serve(relay->listen_fd, CONTROL_TIMEOUT_US, handle_command, relay);
	}
	return code;
}

static void block_signals(struct relay *relay)
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
	block_signals(relay);
	/* The default timer slack is 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);
	code = set_up_model(options, &relay->model, &io, err);
	if (code < 0)
		goto out;
	code = relay_sockets_open(&relay->sockets, &relay->model, options->name, options->ibsim_name, err);
	if (code == 0) {
		code = control_listen(options->name, CONTROL_PART, &relay->listen_fd, err);
		if (code == 0) {
			process_report_ready(&options->ready_fd);
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
