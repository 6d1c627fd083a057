/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/control.h"
#include "sim/ibsim/client.h"
#include "sim/ibsim/console.h"
#include "sim/ibsim/programs.h"
#include "sim/ibsim/attach.h"
#include "sim/process.h"
#include "sim/relay/relay.h"
#include "sim/rundir.h"
#include "sim/traffic/driver.h"

#define CONSOLE_FIFO "console"
#define TRUTH_FILE "truth.csv"

/*
 * Up to this size opensm dumps its forwarding tables even if there is no traffic, for users to read. On a
 * large fabric the dumps are gigabytes.
 */
#define DUMPED_NODES_MAX 5000

/* Time between SIGTERM and SIGKILL: a collector completes its sweep first. */
#define COMMAND_KILL_DELAY_US (15 * US_PER_S)
#define OPENSM_KILL_DELAY_US (3 * US_PER_S)

/* How long the launcher waits for the command on a control connection. */
#define CONTROL_TIMEOUT_US (100 * US_PER_MS)

enum launch_phase { PHASE_START, PHASE_RUNNING };

/* Why opensm ended. */
enum opensm_end { END_UNEXPECTED, END_STOPPED, END_RESTART };

struct launch {
	const struct launch_options *options;
	char dir[PATH_MAX], console[PATH_MAX + 32];
	char sockname[48], ibsim_name[56], sm_id[ATTACH_ID_SIZE], attach_id[ATTACH_ID_SIZE], preload[PRELOAD_SIZE];
	int console_fd, signal_fd, control_fd;
	struct janitor janitor;
	struct console_output output;
	struct text environment; /* of the command: lines "NAME=value" */
	struct slots slots;
	pid_t ibsim, relay, opensm, driver, command;
	enum launch_phase phase;
	int stopped_by;      /* a signal received before the command was started */
	int command_status;  /* wait status, valid once command is 0 again */
	int64_t kill_at_us;  /* when the command is killed; 0: not set */
	enum opensm_end opensm_end;
	int64_t opensm_kill_at_us; /* when opensm is killed; 0: not set */
	sigset_t old_mask;
};

static int64_t now_us(void)
{
	return clock_boottime_us(clock_system());
}

static int prepare(struct launch *launch, struct error *err)
{
	const struct fabric *fabric = launch->options->fabric;
	uint32_t sm = FABRIC_NONE, attach = FABRIC_NONE;
	char path[PATH_MAX + 32], umad2sim[PATH_MAX];
	bool dumps;
	int code;

	code = preload_find(umad2sim, err);
	if (code == 0)
		code = attach_choose(fabric, launch->options->sm, launch->options->attach, &sm, &attach, err);
	if (code == 0)
		code = rundir_create(launch->options->dir, launch->dir, err);
	if (code == 0)
		code = preload_value(umad2sim, launch->dir, launch->preload, err);
	if (code < 0)
		return code;
	attach_id(fabric, sm, launch->sm_id);
	attach_id(fabric, attach, launch->attach_id);
	/* Containers that share a network namespace may have equal process ids: the time makes names unique. */
	snprintf(launch->sockname, sizeof(launch->sockname), "ibwire-%s%s%ld-%06llx", launch->options->name,
		 *launch->options->name ? "-" : "", (long)getpid(), (unsigned long long)now_us() & 0xffffff);
	/* Clients connect to the relay. */
	snprintf(launch->ibsim_name, sizeof(launch->ibsim_name), "%s-ibsim", launch->sockname);
	snprintf(launch->console, sizeof(launch->console), "%s/" CONSOLE_FIFO, launch->dir);
	dumps = launch->options->traffic_count || fabric->node_count <= DUMPED_NODES_MAX;
	code = janitor_start(&launch->janitor, launch->options->dir ? NULL : launch->dir, err);
	if (code == 0)
		code = rundir_write(launch->dir, IBSIM_NET_FILE, launch->options->net, launch->options->net_len, err);
	if (code == 0)
		code = opensm_configure(launch->dir, attach_port_guid(fabric, sm), dumps, launch->options->opensm,
					launch->options->opensm_count, err);
	if (code < 0)
		return code;
	snprintf(path, sizeof(path), "%s/" CONSOLE_LOG, launch->dir);
	launch->output.log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	/* Open for reading too: at the end of its file ibsim would spin. */
	if (launch->output.log_fd < 0 || mkfifo(launch->console, 0600) < 0 ||
	    (launch->console_fd = open(launch->console, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		return err_set(err, ERR_IO, "cannot set up %s: %s", launch->dir, strerror(errno));
	launch->slots.console_fd = launch->console_fd;
	return 0;
}

static int start_opensm(struct launch *launch, struct error *err)
{
	const struct opensm_place place = {
		.dir = launch->dir, .sockname = launch->sockname, .node_id = launch->sm_id, .preload = launch->preload,
	};

	launch->opensm_end = END_UNEXPECTED;
	launch->opensm_kill_at_us = 0;
	return opensm_start(&place, &launch->opensm, err);
}

static void note_opensm_end(struct launch *launch, int wait_status)
{
	struct error err = { 0 };

	launch->opensm = 0;
	if (launch->phase != PHASE_RUNNING || !launch->command)
		return;
	/* Free the slot of an opensm that was killed: ibsim would send it the MADs of the next one. */
	slots_query(&launch->slots);
	if (launch->opensm_end == END_RESTART && start_opensm(launch, &err) < 0)
		log_warning("cannot restart opensm: %s", err.text);
	else if (launch->opensm_end == END_UNEXPECTED && !launch->opensm)
		log_warning("opensm ended with status %d: the fabric has no subnet manager; its log is %s/"
			    OPENSM_LOG, process_exit_status(wait_status), launch->dir);
}

static bool is_running(const struct launch *launch)
{
	return launch->phase == PHASE_RUNNING && launch->command;
}

/* The command cannot go on without ibsim and the relay. */
static void end_command(struct launch *launch, const char *name, int wait_status, const char *last_message)
{
	log_error("%s ended with status %d: ending the command%s%s", name, process_exit_status(wait_status),
		  *last_message ? "; last message: " : "", last_message);
	kill(launch->command, SIGTERM);
	launch->kill_at_us = now_us() + COMMAND_KILL_DELAY_US;
}

static void note_child_end(struct launch *launch, pid_t pid, int wait_status)
{
	if (pid == launch->command) {
		launch->command = 0;
		launch->command_status = wait_status;
	} else if (pid == launch->opensm) {
		note_opensm_end(launch, wait_status);
	} else if (pid == launch->ibsim) {
		launch->ibsim = 0;
		if (is_running(launch))
			end_command(launch, "ibsim", wait_status, launch->output.last);
	} else if (pid == launch->relay) {
		launch->relay = 0;
		if (is_running(launch))
			end_command(launch, "the relay", wait_status, "");
	} else if (pid == launch->driver) {
		launch->driver = 0;
		if (is_running(launch))
			log_warning("the traffic driver ended with status %d: counters no longer change",
				    process_exit_status(wait_status));
	}
}

static void reap(struct launch *launch)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		note_child_end(launch, pid, status);
}

static void handle_signal(struct launch *launch, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;

	if (number == SIGCHLD) {
		reap(launch);
		return;
	}
	if (launch->phase == PHASE_START) {
		launch->stopped_by = number;
		return;
	}
	/* The terminal sends Ctrl-C to the command too. */
	if (!launch->command || (number == SIGINT && info->ssi_code == SI_KERNEL))
		return;
	kill(launch->command, number);
	if (number != SIGINT && !launch->kill_at_us)
		launch->kill_at_us = now_us() + COMMAND_KILL_DELAY_US;
}

static void end_opensm(struct launch *launch, enum opensm_end reason)
{
	launch->opensm_end = reason;
	launch->opensm_kill_at_us = now_us() + OPENSM_KILL_DELAY_US;
	kill(launch->opensm, SIGTERM);
}

/* Commands of "ibwire-sim opensm", and of those that join. They return at once: ibsim's output must be drained. */
static int handle_command(void *ctx, const char *command, struct text *response, struct error *err)
{
	struct launch *launch = ctx;
	bool restart = !strcmp(command, "restart");

	if (!strcmp(command, LAUNCH_CONTROL_ENVIRONMENT)) {
		text_append(response, text_chars(&launch->environment));
		return 0;
	}
	if (!strcmp(command, "status")) {
		text_appendf(response, "%ld", (long)launch->opensm);
		return 0;
	}
	if (!strcmp(command, "start") || (restart && !launch->opensm))
		return launch->opensm ? err_set(err, ERR_USAGE, "opensm is already running: process %ld",
						(long)launch->opensm) : start_opensm(launch, err);
	if (!restart && strcmp(command, "stop"))
		return err_set(err, ERR_USAGE, "\"%s\" is not start, stop, restart or status", command);
	if (launch->opensm)
		end_opensm(launch, restart ? END_RESTART : END_STOPPED);
	return 0;
}

/* Wait up to @wait_ms for events and process them. */
static void process_events(struct launch *launch, int wait_ms)
{
	struct pollfd polls[3] = {
		{ .fd = launch->signal_fd, .events = POLLIN },
		{ .fd = launch->output.fd, .events = POLLIN },
		{ .fd = launch->control_fd, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	if (poll(polls, 3, wait_ms) <= 0)
		return;
	if (polls[2].revents)
		control_serve(launch->control_fd, CONTROL_TIMEOUT_US, handle_command, launch);
	if (polls[1].revents && !console_drain(&launch->output)) {
		close(launch->output.fd);
		launch->output.fd = -1;
	}
	while (polls[0].revents && read(launch->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		handle_signal(launch, &info);
}

static int start_ibsim(struct launch *launch, struct error *err)
{
	const struct ibsim_place place = {
		.fabric = launch->options->fabric, .dir = launch->dir, .console = launch->console,
		.sockname = launch->ibsim_name,
	};

	return ibsim_start(&place, &launch->ibsim, &launch->output.fd, err);
}

static int wait_for_ibsim(struct launch *launch, int64_t deadline_us, struct error *err)
{
	while (!client_ibsim_is_listening(launch->ibsim_name)) {
		process_events(launch, 5);
		if (launch->stopped_by)
			return 0;
		if (!launch->ibsim) {
			while (launch->output.fd >= 0)
				process_events(launch, 100);
			return err_set(err, ERR_UNAVAILABLE, "ibsim cannot load the net file%s%s",
				       launch->output.last[0] ? ": " : "", launch->output.last);
		}
		if (now_us() > deadline_us)
			return err_set(err, ERR_UNAVAILABLE,
				       "ibsim did not load the net file in time: increase --timeout");
	}
	return 0;
}

static int wait_for_subnet(struct launch *launch, int64_t deadline_us, struct error *err)
{
	while (!opensm_subnet_up_count(launch->dir)) {
		process_events(launch, 20);
		if (launch->stopped_by)
			return 0;
		if (launch->opensm && launch->ibsim && now_us() <= deadline_us)
			continue;
		if (!launch->ibsim)
			err_set(err, ERR_UNAVAILABLE, "ibsim ended before the subnet was up%s%s",
				launch->output.last[0] ? ": " : "", launch->output.last);
		else if (!launch->opensm)
			err_set(err, ERR_UNAVAILABLE, "opensm ended before the subnet was up");
		else
			err_set(err, ERR_UNAVAILABLE, "the subnet did not come up in time: increase --timeout");
		opensm_explain(launch->dir, err);
		return ERR_UNAVAILABLE;
	}
	return 0;
}

typedef int process_function(void *options, struct error *err);

/*
 * Fork a process that runs @run and reports that it is ready by a NUL in a pipe
 * @ready_fd:  the member of @options for its end of the pipe
 * @name:      for the log
 * @wrong:     prefix of the error if it does not become ready
 */
static int start_process(struct launch *launch, process_function *run, void *options, int *ready_fd, const char *name,
		     const char *wrong, pid_t *ret, struct error *err)
{
	struct pollfd ready = { .events = POLLIN };
	struct error own_err = { 0 };
	int ends[2];
	ssize_t got;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, ERR_NOMEM, "cannot make a pipe: %s", strerror(errno));
	*ret = process_fork(SIGKILL, err);
	if (*ret < 0)
		return ERR_NOMEM;
	if (*ret == 0) {
		close(ends[0]);
		/* The cleanup process detects the end of the launcher by the end of this file. */
		close(launch->janitor.fd);
		*ready_fd = ends[1];
		if (run(options, &own_err) == 0)
			_exit(0);
		/* The launcher reports errors before the process is ready; later ones are logged here. */
		if (*ready_fd < 0 || write(*ready_fd, own_err.text, strlen(own_err.text)) < 0)
			log_error("%s: %s", name, own_err.text);
		_exit(-own_err.code & 0xff);
	}
	close(ends[1]);
	ready.fd = ends[0];
	while (poll(&ready, 1, 0) == 0 && !launch->stopped_by)
		process_events(launch, 10);
	got = launch->stopped_by ? 0 : read(ends[0], own_err.text, sizeof(own_err.text) - 1);
	close(ends[0]);
	/* One NUL: the process is ready. */
	if (launch->stopped_by || (got == 1 && !own_err.text[0]))
		return 0;
	return err_set(err, ERR_USAGE, "%s: %s", wrong, got > 0 ? own_err.text : "its process ended");
}

static int run_driver(void *options, struct error *err)
{
	return driver_run(options, err);
}

static int start_driver(struct launch *launch, struct error *err)
{
	const struct launch_options *options = launch->options;
	char truth[PATH_MAX + 32];
	struct driver_options driver = {
		.fabric = options->fabric, .dir = launch->dir, .sockname = launch->ibsim_name,
		.control = launch->sockname, .jobs = options->traffic, .job_count = options->traffic_count,
		.truth = options->truth ? options->truth : truth,
		.tick_ms = options->tick_ms, .console_fd = launch->console_fd,
	};

	snprintf(truth, sizeof(truth), "%s/" TRUTH_FILE, launch->dir);
	return start_process(launch, run_driver, &driver, &driver.ready_fd, "the traffic driver", "no traffic",
			 &launch->driver, err);
}

static int run_relay(void *options, struct error *err)
{
	return relay_run(options, err);
}

static int start_relay(struct launch *launch, struct error *err)
{
	const struct launch_options *options = launch->options;
	struct relay_options relay = {
		.fabric = options->fabric, .ibsim_name = launch->ibsim_name, .name = launch->sockname,
		.wire = options->wire, .pma = options->pma, .pma_count = options->pma_count,
	};

	return start_process(launch, run_relay, &relay, &relay.ready_fd, "the relay", "no relay", &launch->relay, err);
}

/* Other commands join the simulation with it (LAUNCH_CONTROL_ENVIRONMENT): with its database and settings, too. */
static int make_environment(struct launch *launch, struct error *err)
{
	const char *old = getenv("LD_PRELOAD"), *db = getenv("IBWIRE_DB"), *settings = getenv("IBWIRE_SETTINGS");
	struct text *text = &launch->environment;

	text_appendf(text, "IBSIM_SOCKNAME=%s\nSIM_HOST=%s\n", launch->sockname, launch->attach_id);
	text_appendf(text, "LD_PRELOAD=%s%s%s\n", launch->preload, old && *old ? ":" : "", old ? old : "");
	text_appendf(text, "IBWIRE_SIM_DIR=%s\nIBWIRE_SIM_CONSOLE=%s\n", launch->dir, launch->console);
	text_appendf(text, "IBWIRE_SIM_OPENSM_PID=%ld\n", (long)launch->opensm);
	if (db && *db)
		text_appendf(text, "IBWIRE_DB=%s\n", db);
	if (settings && *settings)
		text_appendf(text, "IBWIRE_SETTINGS=%s\n", settings);
	return text_failed(text) ? err_nomem(err) : 0;
}

static int start_command(struct launch *launch, struct error *err)
{
	struct process_spec spec = {
		.argv = launch->options->command, .in = -1, .out = -1, .death_signal = SIGTERM,
	};
	char *copy, *line, *rest = NULL;
	size_t count = 0;
	int code = make_environment(launch, err);

	if (code < 0)
		return code;
	copy = strdup(text_chars(&launch->environment));
	if (!copy)
		return err_nomem(err);
	for (line = strtok_r(copy, "\n", &rest); line && count < PROCESS_ENV_MAX; line = strtok_r(NULL, "\n", &rest))
		spec.env[count++] = line;
	code = process_start(&spec, &launch->command, NULL);
	free(copy);
	if (code == 0)
		return 0;
	return err_set(err, ERR_USAGE, "cannot run the command %s: check its spelling and PATH", spec.argv[0]);
}

/* Until the command ends, drain ibsim's output and free the slots of clients that have ended. */
static void watch_command(struct launch *launch)
{
	int64_t next_us = now_us();

	launch->phase = PHASE_RUNNING;
	while (launch->command) {
		int64_t now = now_us();

		if (launch->kill_at_us && now >= launch->kill_at_us)
			kill(launch->command, SIGKILL);
		if (launch->opensm && launch->opensm_kill_at_us && now >= launch->opensm_kill_at_us)
			kill(launch->opensm, SIGKILL);
		if (now >= next_us) {
			slots_query(&launch->slots);
			next_us = now + US_PER_S;
		}
		process_events(launch, (int)((next_us - now) / US_PER_MS) + 1);
	}
}

/* Processes left by the command would hang without ibsim. As the subreaper this process is their parent. */
static void end_orphans(int signal)
{
	char path[64], *chars, *word, *rest;
	size_t len;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
	if (rundir_read(path, &chars, &len, NULL) < 0)
		return;
	for (word = strtok_r(chars, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		kill((pid_t)strtol(word, NULL, 10), signal);
	free(chars);
}

static void take_down(struct launch *launch)
{
	process_stop(&launch->command, SIGTERM, 5000);
	process_stop(&launch->driver, SIGTERM, 5000);
	process_stop(&launch->opensm, SIGTERM, 3000);
	process_stop(&launch->relay, SIGTERM, 1000);
	process_stop(&launch->ibsim, SIGTERM, 1000);
	janitor_dismiss(&launch->janitor);
	for (int tries = 0; tries < 100; tries++) {
		const struct timespec interval = { .tv_nsec = 20000000 };

		if (waitpid(-1, NULL, WNOHANG) < 0)
			break;
		if (tries == 0 || tries == 50)
			end_orphans(tries ? SIGKILL : SIGTERM);
		nanosleep(&interval, NULL);
	}
	slots_clean(&launch->slots);
	if (launch->dir[0] && !launch->options->dir)
		rundir_remove(launch->dir);
}

static int bring_up(struct launch *launch, struct error *err)
{
	const struct launch_options *options = launch->options;
	unsigned by_size_s = 60 + (unsigned)(options->fabric->node_count / 50);
	unsigned timeout_s = options->timeout_s ? options->timeout_s : by_size_s;
	int64_t deadline_us = now_us() + timeout_s * US_PER_S;
	int code = prepare(launch, err);

	if (code == 0)
		code = start_ibsim(launch, err);
	if (code == 0)
		code = wait_for_ibsim(launch, deadline_us, err);
	if (code == 0 && !launch->stopped_by)
		code = start_relay(launch, err);
	if (code == 0 && !launch->stopped_by)
		code = start_opensm(launch, err);
	if (code == 0 && !launch->stopped_by)
		code = wait_for_subnet(launch, deadline_us, err);
	if (code == 0 && !launch->stopped_by && options->traffic_count)
		code = start_driver(launch, err);
	/* Opened after the forks, so that no child inherits it. */
	if (code == 0 && !launch->stopped_by)
		code = control_listen(launch->sockname, LAUNCH_CONTROL_PART, &launch->control_fd, err);
	return code;
}

static int block_signals(struct launch *launch, struct error *err)
{
	struct sigaction hangup;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &launch->old_mask);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	launch->signal_fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	return launch->signal_fd < 0 ? err_set(err, ERR_NOMEM, "cannot block signals: %s", strerror(errno)) : 0;
}

static void close_all(struct launch *launch)
{
	int *fds[] = { &launch->console_fd, &launch->signal_fd, &launch->control_fd, &launch->output.fd,
		       &launch->output.log_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	text_done(&launch->output.line);
	text_done(&launch->environment);
}

int launch_run(const struct launch_options *options, int *ret_status, struct error *err)
{
	struct launch *launch = calloc(1, sizeof(*launch));
	int code;

	if (!launch)
		return err_nomem(err);
	launch->options = options;
	launch->console_fd = launch->signal_fd = launch->control_fd = launch->janitor.fd = -1;
	launch->output.fd = launch->output.log_fd = -1;
	slots_init(&launch->slots);
	launch->output.attached = slots_attached;
	launch->output.ctx = &launch->slots;
	code = block_signals(launch, err);
	if (code == 0)
		code = bring_up(launch, err);
	if (code == 0 && !launch->stopped_by)
		code = start_command(launch, err);
	if (code == 0 && !launch->stopped_by) {
		watch_command(launch);
		*ret_status = process_exit_status(launch->command_status);
	} else if (code == 0) {
		*ret_status = 128 + launch->stopped_by;
	}
	take_down(launch);
	sigprocmask(SIG_SETMASK, &launch->old_mask, NULL);
	close_all(launch);
	free(launch);
	return code;
}
