/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/discovery.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "fabric/diff.h"
#include "fabric/fabric.h"
#include "wire/explore.h"
#include "wire/merge.h"

extern char **environ;

/* Default limit of the output of the helper: 65,536 port ends need 7 MB. */
#define RECORDS_MAX (512u << 20)
#define MESSAGES_MAX (64u << 10)

/* Time for a helper to exit before it is killed. */
#define PARTING_US US_PER_S

/* Share of the deadline that a helper with a fallback has: one in this number. */
#define FIRST_SHARE 4

/* Arguments of a helper, without the ports. */
#define ARGS_MAX 32

/* Reads of a pipe in one step, 64 KB each. */
#define CHUNKS_PER_STEP 64

/* Lines of stderr that are logged. */
#define LINES_LOGGED 10

/*
 * SMPs without a response, a line of stderr for each, with which libibnetdisc continues: 1.5 s with its
 * timeouts and 8 in flight. The explorer does not wait for unresponsive nodes.
 */
#define LINES_OF_LIBRARY 16

/* Longest wait of a step of discovery_run(), so that a stop takes effect. */
#define SLICE_MS 50

struct discovery {
	struct discoverer table;
	const struct discovery_settings *settings;
	const struct clock *clock;
	bool started;        /* until it is cancelled */
	bool finished;       /* its result was returned */
	int64_t deadline_us; /* CLOCK_BOOTTIME */
	pid_t pid;           /* 0: its exit status was read */
	int out, messages;   /* our ends of its stdout and stderr, -1 when closed */
	int status;          /* of waitpid */
	bool by_library;     /* the helper that runs is libibnetdisc's, and the explorer can follow */
	struct error failure; /* of libibnetdisc; with a text the explorer runs instead */
	struct fabric *holed; /* result of libibnetdisc, which the explorer completes; or NULL */
	struct record_trailer holed_trailer;
	bool late;           /* killed at its deadline */
	bool too_much;       /* killed because of too much output */
	bool killed;         /* by this process, for any reason */
	bool unresponsive;   /* killed because of LINES_OF_LIBRARY */
	struct text records, errors; /* stdout and stderr */
	int last;            /* memory file with the records of the last topology, or -1 */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Start the helper with @out and @messages as its stdout and stderr, in a process group of its own. */
static int spawn_helper(struct discovery *discovery, const char *const *argv, int out, int messages)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int cause;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	if (discovery->last >= 0 && lseek(discovery->last, 0, SEEK_SET) == 0)
		posix_spawn_file_actions_adddup2(&actions, discovery->last, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	/* The collector handles Ctrl-C at the terminal and ends the helper itself. */
	posix_spawnattr_setpgroup(&attributes, 0);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	cause = posix_spawn(&discovery->pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (cause)
		discovery->pid = 0;
	return cause;
}

int64_t discovery_fallback_us(int64_t deadline_us)
{
	return deadline_us - deadline_us / FIRST_SHARE;
}

static int start_with(struct discovery *discovery, const char *const *argv, int64_t deadline_us, struct error *err)
{
	int out[2] = { -1, -1 }, messages[2] = { -1, -1 }, cause = 0;

	discovery->table.cancel(discovery);
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(messages, O_CLOEXEC) < 0)
		cause = errno;
	else
		cause = spawn_helper(discovery, argv, out[1], messages[1]);
	close_fd(&out[1]);
	close_fd(&messages[1]);
	if (cause) {
		close_fd(&out[0]);
		close_fd(&messages[0]);
		return err_set(err, ERR_UNAVAILABLE, "cannot start the discovery helper %s: %s",
			       argv[0], strerror(cause));
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(messages[0], F_SETFL, O_NONBLOCK);
	discovery->out = out[0];
	discovery->messages = messages[0];
	discovery->deadline_us = clock_boottime_us(discovery->clock) + deadline_us;
	discovery->started = true;
	return 0;
}

static bool has_library(const struct discovery *discovery)
{
	return discovery->settings->fallback_argv && discovery->settings->fallback_argv[0];
}

/* Start the explorer: ports, or the whole fabric. */
static int start_explorer(struct discovery *discovery, const struct explore_port *ports, size_t count,
			  struct error *err)
{
	const struct discovery_settings *settings = discovery->settings;
	const char *const *argv = has_library(discovery) ? settings->fallback_argv : settings->argv;
	const char *with_ports[ARGS_MAX + 3] = { NULL };
	struct text list = { 0 };
	size_t args = 0;
	int code;

	for (; argv[args] && args < ARGS_MAX; args++)
		with_ports[args] = argv[args];
	for (size_t i = 0; i < count; i++)
		text_appendf(&list, "%" PRIx64 ":%u,", ports[i].node_guid, ports[i].num);
	if (count) {
		with_ports[args++] = "--ports";
		with_ports[args++] = text_chars(&list);
	}
	code = text_failed(&list) ? err_nomem(err)
				  : start_with(discovery, with_ports, has_library(discovery)
					       ? discovery_fallback_us(settings->deadline_us)
					       : settings->deadline_us, err);
	text_done(&list);
	return code;
}

/* The next helper reads the records of a topology. If that fails, it does without. */
static void pass_fabric(struct discovery *discovery, const struct fabric *fabric)
{
	const struct record_trailer trailer = { 0 };
	struct text records = { 0 };
	const char *chars;
	size_t len;
	ssize_t written = 1;

	close_fd(&discovery->last);
	if (!fabric)
		return;
	record_write(&records, fabric, &trailer);
	discovery->last = text_failed(&records) ? -1 : memfd_create("topology", MFD_CLOEXEC);
	chars = text_chars(&records);
	len = records.len;
	while (discovery->last >= 0 && len && (written = write(discovery->last, chars, len)) > 0) {
		chars += written;
		len -= (size_t)written;
	}
	if (written <= 0)
		close_fd(&discovery->last);
	text_done(&records);
}

static int start(void *ctx, const struct fabric *last, const struct explore_port *ports, size_t count,
		 struct error *err)
{
	struct discovery *discovery = ctx;
	int code;

	discovery->table.cancel(discovery);
	pass_fabric(discovery, count || discovery->settings->pass_last ? last : NULL);
	if (count || !has_library(discovery))
		return start_explorer(discovery, ports, count, err);
	code = start_with(discovery, discovery->settings->argv, discovery->settings->deadline_us / FIRST_SHARE, err);
	discovery->by_library = code == 0;
	return code;
}

/* Read available data, at most CHUNKS_PER_STEP. At the end of the stream close the descriptor. */
static void drain(int *fd, struct text *text, size_t max, bool *ret_too_much)
{
	char chunk[65536];
	ssize_t got = 1;

	for (int chunks = 0; chunks < CHUNKS_PER_STEP && (got = read(*fd, chunk, sizeof(chunk))) > 0; chunks++) {
		size_t room = max - text->len;

		if ((size_t)got > room && ret_too_much)
			*ret_too_much = true;
		text_append_bytes(text, chunk, (size_t)got < room ? (size_t)got : room);
	}
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(fd);
}

static void kill_helper(struct discovery *discovery)
{
	if (discovery->pid > 0)
		discovery->killed = kill(discovery->pid, SIGKILL) == 0;
}

/* Wait for the helper, which has closed its pipes or was killed. Return: whether it ended. */
static bool reap(struct discovery *discovery)
{
	pid_t got = waitpid(discovery->pid, &discovery->status, WNOHANG);

	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	discovery->pid = 0;
	return true;
}

/* The records are complete: they end with the end line. */
static bool is_complete(const struct text *records)
{
	const char *chars = text_chars(records);
	size_t start = records->len;

	if (!start || chars[--start] != '\n')
		return false;
	while (start > 0 && chars[start - 1] != '\n')
		start--;
	return !strncmp(chars + start, "end ", 4);
}

static size_t count_lines(const char *chars)
{
	size_t lines = 0;

	while ((chars = strchr(chars, '\n'))) {
		chars++;
		lines++;
	}
	return lines;
}

/* Wait at most @timeout_ms. Return: whether the helper is done. */
static bool proceed(struct discovery *discovery, unsigned timeout_ms)
{
	struct pollfd fds[2] = {
		{ .fd = discovery->out, .events = POLLIN },
		{ .fd = discovery->messages, .events = POLLIN },
	};
	size_t output_max = discovery->settings->output_max ? discovery->settings->output_max : RECORDS_MAX;

	if (!discovery->pid)
		return true;
	if (clock_boottime_us(discovery->clock) >= discovery->deadline_us && !discovery->late) {
		discovery->late = true;
		kill_helper(discovery);
	}
	/* Both pipes are closed: wait for the exit; poll() is a plain sleep then. */
	if (discovery->out < 0 && discovery->messages < 0 && timeout_ms > 10)
		timeout_ms = 10;
	poll(fds, 2, (int)timeout_ms);
	if (discovery->out >= 0)
		drain(&discovery->out, &discovery->records, output_max, &discovery->too_much);
	if (discovery->messages >= 0)
		drain(&discovery->messages, &discovery->errors, MESSAGES_MAX, NULL);
	/* The output is complete: the exit status does not matter any more. */
	if (discovery->out < 0 && is_complete(&discovery->records))
		return true;
	discovery->unresponsive |= discovery->by_library &&
				   count_lines(discovery_messages(discovery)) > LINES_OF_LIBRARY;
	if (discovery->too_much || discovery->unresponsive)
		kill_helper(discovery);
	/* A grandchild may hold the pipes open: after the deadline the exit of the helper counts. */
	return ((discovery->out < 0 && discovery->messages < 0) || discovery->late || discovery->too_much ||
		discovery->unresponsive) && reap(discovery);
}

const char *discovery_messages(const struct discovery *discovery)
{
	return text_chars(&discovery->errors);
}

/* The last line of stderr, sanitized; "": none. */
static void last_message(const struct discovery *discovery, char *ret, size_t size)
{
	const char *chars = text_chars(&discovery->errors);
	size_t end = strlen(chars), start;

	while (end > 0 && chars[end - 1] == '\n')
		end--;
	for (start = end; start > 0 && chars[start - 1] != '\n';)
		start--;
	text_sanitise(chars + start, end - start, ret, size);
}

static int read_result(const struct discovery *discovery, struct fabric **ret, struct record_trailer *ret_trailer,
		       struct error *err)
{
	char message[200];
	struct error cause = { 0 };
	int status = discovery->pid ? 0 : discovery->status;

	last_message(discovery, message, sizeof(message));
	if (discovery->late)
		return err_set(err, ERR_UNAVAILABLE, "discovery did not end within its deadline and was stopped%s%s",
			       message[0] ? "; its last message: " : "", message);
	if (discovery->too_much)
		return err_set(err, ERR_UNAVAILABLE, "discovery wrote too much output and was stopped");
	if (discovery->unresponsive && WIFSIGNALED(status))
		return err_set(err, ERR_UNAVAILABLE, "more than %d SMPs had no response", LINES_OF_LIBRARY);
	if (WIFSIGNALED(status))
		return err_set(err, ERR_UNAVAILABLE, "discovery crashed (%s)%s%s", strsignal(WTERMSIG(status)),
			       message[0] ? "; its last message: " : "", message);
	if (WEXITSTATUS(status) != 0)
		return err_set(err, ERR_UNAVAILABLE, "discovery failed: %s",
			       message[0] ? message : "without a message");
	if (text_failed(&discovery->records))
		return err_nomem(err);
	if (record_read(text_chars(&discovery->records), discovery->records.len, ret, ret_trailer, &cause) < 0)
		return err_set(err, ERR_UNAVAILABLE, "discovery wrote invalid records: %s", cause.text);
	return 0;
}

bool discovery_end(struct discovery *discovery)
{
	/* A killed helper leaves SMPs in flight: give it a moment to exit by itself. */
	int64_t until_us = clock_boottime_us(discovery->clock) + PARTING_US;

	while (discovery->pid && clock_boottime_us(discovery->clock) < until_us) {
		proceed(discovery, 20);
		if (discovery->pid && discovery->out < 0)
			reap(discovery);
	}
	if (discovery->pid) {
		kill_helper(discovery);
		while (waitpid(discovery->pid, &discovery->status, 0) < 0 && errno == EINTR)
			;
		discovery->pid = 0;
	}
	return WIFEXITED(discovery->status) && WEXITSTATUS(discovery->status) == 0;
}

static void log_messages(const struct discovery *discovery)
{
	/* libibnetdisc writes a line for each SMP without a response. */
	bool expected = discovery->finished && discovery->by_library;
	const char *line = discovery_messages(discovery);
	char clean[400];
	size_t lines = 0;

	while (*line) {
		size_t len = strcspn(line, "\n");

		text_sanitise(line, len, clean, sizeof(clean));
		if (clean[0] && expected)
			log_debug("discovery: %s", clean);
		else if (clean[0] && ++lines <= LINES_LOGGED)
			log_warning("discovery: %s", clean);
		line += len + (line[len] == '\n');
	}
	if (lines > LINES_LOGGED)
		log_warning("discovery: %zu more line%s", lines - LINES_LOGGED, text_plural(lines - LINES_LOGGED));
}

/* After a result, an abnormal end of the helper is logged. */
static void cancel(void *ctx)
{
	struct discovery *discovery = ctx;
	bool succeeded;

	if (!discovery->started)
		return;
	succeeded = discovery_end(discovery);
	/* On a stalled machine the exit of the helper takes longer than this process waits. */
	if (discovery->finished && !succeeded && discovery->killed)
		log_info("discovery: the helper did not exit after it had reported its result, and was killed");
	else if (discovery->finished && !succeeded)
		log_warning("the discovery helper failed after it had reported its result");
	if (discovery->finished)
		log_messages(discovery);
	close_fd(&discovery->out);
	close_fd(&discovery->messages);
	text_done(&discovery->records);
	text_done(&discovery->errors);
	fabric_destroy(discovery->holed);
	*discovery = (struct discovery){ .table = discovery->table, .settings = discovery->settings,
					 .clock = discovery->clock, .out = -1, .messages = -1,
					 .last = discovery->last };
}

/* Nodes and ports that libibnetdisc and the explorer found differently. */
struct differences {
	const struct fabric *before, *after;
	struct text names;
};

static void add_name(void *ctx, enum fabric_change change, uint32_t before, uint32_t after)
{
	struct differences *differences = ctx;
	bool gone = after == FABRIC_NONE, is_port = change >= CHANGE_PORT_STATE;
	const struct fabric *fabric = gone ? differences->before : differences->after;
	uint32_t index = gone ? before : after, node = is_port ? fabric->ports[index].node : index;

	if (differences->names.len > sizeof(((struct error *)0)->text) / 2)
		return;
	text_appendf(&differences->names, differences->names.len ? ", %s" : "%s", fabric->names.shown[node]);
	if (is_port)
		text_appendf(&differences->names, "/%u", fabric->ports[index].num);
}

static void describe_difference(const struct fabric *before, const struct fabric *after, struct error *err)
{
	struct differences differences = { .before = before, .after = after };

	if (fabric_diff(before, after, add_name, &differences))
		err_set(err, 0, "libibnetdisc and the explorer found different nodes or links: %s",
			text_chars(&differences.names));
	text_done(&differences.names);
}

/* Start the explorer for the holes of a result of libibnetdisc. Return: whether it was started. */
static bool complete(struct discovery *discovery, struct fabric *found, struct record_trailer *trailer)
{
	struct explore_port holes[EXPLORE_PORTS_MAX];
	size_t count = merge_find_holes(found, holes, EXPLORE_PORTS_MAX);

	if (!count)
		return false;
	cancel(discovery);
	pass_fabric(discovery, found);
	trailer->lost = 1;
	if (start_explorer(discovery, holes, count, NULL) < 0)
		return false;
	discovery->holed = found;
	discovery->holed_trailer = *trailer;
	return true;
}

/* The explorer has ended. If it failed, the incomplete result of libibnetdisc is used. */
static void finish_holed(struct discovery *discovery, int code, struct fabric **found, struct record_trailer *trailer,
			 struct error *err)
{
	const struct record_trailer *holed = &discovery->holed_trailer;

	if (code < 0) {
		*found = discovery->holed;
		discovery->holed = NULL;
		*trailer = *holed;
		return;
	}
	describe_difference(discovery->holed, *found, err);
	trailer->smps += holed->smps;
	trailer->queries += holed->queries;
	if (trailer->hops < holed->hops)
		trailer->hops = holed->hops;
}

/* libibnetdisc failed: start the explorer. */
static int fall_back(struct discovery *discovery, const struct error *failure, struct error *err)
{
	int code = start_explorer(discovery, NULL, 0, err);

	discovery->failure = *failure;
	return code;
}

static int step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *ret_trailer,
		struct error *err)
{
	struct discovery *discovery = ctx;
	bool by_library = discovery->by_library;
	struct record_trailer trailer = { 0 };
	struct fabric *found = NULL;
	struct error failure = { 0 };
	int code;

	if (!proceed(discovery, timeout_ms))
		return 0;
	code = read_result(discovery, &found, &trailer, &failure);
	discovery->finished = code == 0;
	if (code < 0)
		log_messages(discovery);
	if (code == 0 && by_library) {
		if (complete(discovery, found, &trailer))
			return 0;
	} else if (discovery->holed) {
		finish_holed(discovery, code, &found, &trailer, err);
	} else if (code < 0) {
		cancel(discovery);
		if (by_library)
			return fall_back(discovery, &failure, err);
		if (err)
			*err = failure;
		return code;
	} else if (discovery->failure.text[0]) {
		err_set(err, ERR_UNAVAILABLE, "libibnetdisc: %s; the explorer discovered the fabric instead",
			discovery->failure.text);
	}
	*ret = found;
	*ret_trailer = trailer;
	return 1;
}

int discovery_create(const struct discovery_settings *settings, const struct clock *clock, struct discovery **ret,
		     struct error *err)
{
	struct discovery *discovery = calloc(1, sizeof(*discovery));

	if (!discovery)
		return err_nomem(err);
	*discovery = (struct discovery){ .table = { start, step, cancel, discovery, NULL }, .settings = settings,
					 .clock = clock, .out = -1, .messages = -1, .last = -1 };
	*ret = discovery;
	return 0;
}

void discovery_destroy(struct discovery *discovery)
{
	if (!discovery)
		return;
	cancel(discovery);
	close_fd(&discovery->last);
	free(discovery);
}

const struct discoverer *discovery_discoverer(struct discovery *discovery)
{
	return &discovery->table;
}

int discovery_run(const struct discovery_settings *settings, const struct clock *clock, struct fabric **ret,
		  struct record_trailer *ret_trailer, struct error *err)
{
	struct discovery *discovery = NULL;
	int code = discovery_create(settings, clock, &discovery, err);

	if (code < 0)
		return code;
	code = start(discovery, NULL, NULL, 0, err);
	while (code == 0 && !stop_requested())
		code = step(discovery, SLICE_MS, ret, ret_trailer, err);
	discovery_destroy(discovery);
	return code;
}
