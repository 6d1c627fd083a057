/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * top - the interactive screen; starts a collector as child process if none is live
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/reader.h"
#include "tui/config_file.h"
#include "tui/tui.h"

struct child {
	pid_t pid;       /* 0: not started */
	int stderr_fd;   /* its stderr; -1: closed */
	bool ended;
	int exit_status; /* after its exit: the status, or 128 + signal */
	char partial[512]; /* an incomplete line */
	size_t partial_len;
	char line[512];  /* the last complete line, sanitised, without the program name */
};

/* Poll interval while waiting for the exit of the child. */
#define POLL_MS 20

/* Runs in the new process and reports failures by exit status only. */
static void become(char *const *argv, pid_t parent, int stderr_fd)
{
	int null = open("/dev/null", O_RDWR);

	/* The parent may have exited before prctl(). */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(stderr_fd, STDERR_FILENO) < 0)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static int child_start(struct child *child, char *const *argv, struct error *err)
{
	pid_t parent = getpid();
	int ends[2];

	memset(child, 0, sizeof(*child));
	child->stderr_fd = -1;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, ERR_NOMEM, "cannot start a collector: %s", strerror(errno));
	child->pid = fork();
	if (child->pid < 0) {
		child->pid = 0;
		close(ends[0]);
		close(ends[1]);
		return err_set(err, ERR_NOMEM, "cannot start a collector: %s", strerror(errno));
	}
	if (!child->pid) {
		/* Blocking for the writer: the collector does not handle EAGAIN on stderr. */
		fcntl(ends[1], F_SETFL, 0);
		become(argv, parent, ends[1]);
	}
	close(ends[1]);
	child->stderr_fd = ends[0];
	return 0;
}

static void end_line(struct child *child)
{
	static const char name[] = "ibwire: ";
	const char *start = child->partial;
	size_t len = child->partial_len;

	if (len >= strlen(name) && !strncmp(start, name, strlen(name))) {
		start += strlen(name);
		len -= strlen(name);
	}
	if (len)
		text_sanitise(start, len, child->line, sizeof(child->line));
	child->partial_len = 0;
}

static void read_lines(struct child *child)
{
	char bytes[512];
	ssize_t len = 0, i;

	while (child->stderr_fd >= 0 && (len = read(child->stderr_fd, bytes, sizeof(bytes))) > 0)
		for (i = 0; i < len; i++) {
			if (bytes[i] == '\n')
				end_line(child);
			else if (child->partial_len < sizeof(child->partial))
				child->partial[child->partial_len++] = bytes[i];
		}
	if (child->stderr_fd < 0 || (len < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	end_line(child);
	close(child->stderr_fd);
	child->stderr_fd = -1;
}

static void child_poll(struct child *child)
{
	int status;

	if (!child->pid)
		return;
	if (!child->ended && waitpid(child->pid, &status, WNOHANG) == child->pid) {
		child->ended = true;
		child->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	/* After its exit all output is in the pipe. */
	read_lines(child);
	if (child->ended && child->exit_status > 128 && !child->line[0])
		snprintf(child->line, sizeof(child->line), "it was killed by signal %d (%s)", child->exit_status - 128,
			 strsignal(child->exit_status - 128));
}

static void child_wait(struct child *child, int64_t wait_us)
{
	const struct clock *clock = clock_system();
	int64_t until_us = clock_boottime_us(clock) + wait_us;

	for (child_poll(child); !child->ended && clock_boottime_us(clock) < until_us; child_poll(child))
		poll(NULL, 0, POLL_MS);
}

static bool child_stop(struct child *child, int64_t timeout_us)
{
	bool killed = false;

	if (!child->pid)
		return true;
	child_poll(child);
	if (!child->ended) {
		kill(child->pid, SIGTERM);
		child_wait(child, timeout_us);
	}
	if (!child->ended) {
		killed = true;
		/* Its discovery helper exits with it (PR_SET_PDEATHSIG). */
		kill(child->pid, SIGKILL);
		child_wait(child, US_PER_S);
	}
	if (child->stderr_fd >= 0)
		close(child->stderr_fd);
	child->stderr_fd = -1;
	child->pid = 0;
	return !killed;
}

/* Shorter than the default of `ibwire collect`: the screen is watched live. */
#define DEFAULT_INTERVAL_US (2 * US_PER_S)

/* A collector without device or permissions fails within this time, before the screen is drawn. */
#define START_WAIT_US (300 * US_PER_MS)

/* Time to store the current sweep before the collector is killed. */
#define STOP_TIMEOUT_US (15 * US_PER_S)

struct top {
	struct options common;
	int64_t interval_us;
	const char *security_keys; /* directory, or NULL */
	const char *smi_ca;        /* NAME or NAME:PORT, or NULL */
	const char *settings_path; /* NULL: the default */
	struct settings settings;
	char path[PATH_MAX];
	struct child child;
};

/*
 * Is a collector writing to this database? An unreadable database is an error, a missing one is
 * not.
 */
static int read_state(const char *path, bool *ret_live, bool *ret_data, struct error *err)
{
	struct reader *reader = NULL;
	struct db_status status;
	struct error trouble = { 0 };
	int code = reader_open(path, &reader, &trouble);

	*ret_live = *ret_data = false;
	if (code == ERR_UNAVAILABLE)
		return 0;
	if (code < 0)
		return err_set(err, code, "%s", trouble.text);
	code = reader_status(reader, &status, err);
	reader_close(reader);
	if (code < 0)
		return code;
	*ret_live = status.live;
	*ret_data = status.last.id != 0;
	return 0;
}

/*
 * Choose the database and check for a live collector. Without --db the default for reading is
 * tried first: it belongs to the service, whose database is often not writable for the user.
 */
static int find_database(struct top *top, bool *ret_live, bool *ret_data, struct error *err)
{
	int code;

	if (!top->common.db) {
		code = options_db_path(&top->common, false, top->path, sizeof(top->path), NULL);
		if (!code && !read_state(top->path, ret_live, ret_data, NULL) && *ret_live)
			return 0;
	}
	code = options_db_path(&top->common, true, top->path, sizeof(top->path), err);
	return code < 0 ? code : read_state(top->path, ret_live, ret_data, err);
}

static int start_collector(struct top *top, struct error *err)
{
	/* execv() takes char * for historical reasons and does not modify the strings. */
	char program[] = "ibwire", collect[] = "collect", db[] = "--db", interval[] = "--interval";
	char ca[] = "--Ca", port[] = "--Port", timeout[] = "--timeout";
	char interval_text[32], port_text[16], timeout_text[16], ca_text[64];
	char settings[] = "--settings", settings_text[PATH_MAX];
	char keys[] = "--security-keys", keys_text[PATH_MAX], smi_ca[] = "--smi-ca", smi_ca_text[64];
	char *argv[24];
	size_t i = 0;

	snprintf(interval_text, sizeof(interval_text), "%" PRId64 "us", top->interval_us);
	snprintf(port_text, sizeof(port_text), "%d", top->common.port);
	snprintf(timeout_text, sizeof(timeout_text), "%d", top->common.timeout_ms);
	snprintf(ca_text, sizeof(ca_text), "%s", top->common.ca ? top->common.ca : "");
	argv[i++] = program;
	argv[i++] = collect;
	argv[i++] = db;
	argv[i++] = top->path;
	argv[i++] = interval;
	argv[i++] = interval_text;
	if (top->common.ca) {
		argv[i++] = ca;
		argv[i++] = ca_text;
	}
	if (top->common.port) {
		argv[i++] = port;
		argv[i++] = port_text;
	}
	if (top->common.timeout_ms) {
		argv[i++] = timeout;
		argv[i++] = timeout_text;
	}
	if (top->security_keys) {
		snprintf(keys_text, sizeof(keys_text), "%s", top->security_keys);
		argv[i++] = keys;
		argv[i++] = keys_text;
	}
	if (top->settings_path) {
		snprintf(settings_text, sizeof(settings_text), "%s", top->settings_path);
		argv[i++] = settings;
		argv[i++] = settings_text;
	}
	if (top->smi_ca) {
		snprintf(smi_ca_text, sizeof(smi_ca_text), "%s", top->smi_ca);
		argv[i++] = smi_ca;
		argv[i++] = smi_ca_text;
	}
	argv[i] = NULL;
	return child_start(&top->child, argv, err);
}

static void read_child(void *ctx, struct tui_child_state *ret)
{
	struct child *child = ctx;

	child_poll(child);
	ret->running = !child->ended;
	ret->exit_status = child->exit_status;
	snprintf(ret->line, sizeof(ret->line), "%s", child->line);
}

enum { ARGUMENTS_MOST = 16 };

/* Arguments for commands that the screen runs: name map and device options. */
struct arguments {
	const char *common[3], *device[ARGUMENTS_MOST];
	char port[16], timeout[16];
};

static size_t add_argument(const char **list, size_t count, const char *option, const char *value)
{
	if (!value)
		return count;
	list[count] = option;
	list[count + 1] = value;
	return count + 2;
}

static void collect_arguments(const struct top *top, struct arguments *ret)
{
	const struct options *common = &top->common;
	size_t count = 0;

	*ret = (struct arguments){ 0 };
	snprintf(ret->port, sizeof(ret->port), "%d", common->port);
	snprintf(ret->timeout, sizeof(ret->timeout), "%d", common->timeout_ms);
	add_argument(ret->common, 0, "--node-name-map", common->names_path);
	count = add_argument(ret->device, count, "--Ca", common->ca);
	count = add_argument(ret->device, count, "--Port", common->port ? ret->port : NULL);
	count = add_argument(ret->device, count, "--timeout", common->timeout_ms ? ret->timeout : NULL);
	count = add_argument(ret->device, count, "--security-keys", top->security_keys);
	add_argument(ret->device, count, "--smi-ca", top->smi_ca);
}

static int show(struct top *top, const struct name_map *names, struct error *err)
{
	struct arguments arguments;
	char keep[PATH_MAX];
	struct tui_options options = {
		.db_path = top->path,
		.program = "/proc/self/exe",
		.arguments = arguments.common,
		.device_arguments = arguments.device,
		.at_us = top->common.at_us,
		.names = names,
		.shape = &top->settings.shape,
		.balance = &top->settings.health.balance,
		.clock = clock_system(),
		.color = top->common.color == COLOR_ALWAYS ? TUI_COLOR_ALWAYS :
			 top->common.color == COLOR_NEVER  ? TUI_COLOR_NEVER :
							     TUI_COLOR_AUTO,
	};

	collect_arguments(top, &arguments);
	if (config_path(keep, sizeof(keep)))
		options.config_path = keep;
	if (top->child.pid) {
		options.child = read_child;
		options.child_ctx = &top->child;
	}
	return tui_run(&options, err);
}

/* With --at no collector is started; the time must be stored. */
static int show_past(struct top *top, const struct name_map *names, struct error *err)
{
	struct reader *reader = NULL;
	struct db_status status;
	int code = options_db_path(&top->common, false, top->path, sizeof(top->path), err);

	if (code == 0)
		code = reader_open(top->path, &reader, err);
	if (code < 0)
		return code;
	code = reader_status_at(reader, top->common.at_us, &status, err);
	reader_close(reader);
	return code < 0 ? code : show(top, names, err);
}

/* Start a collector if needed, show the screen, stop the collector. */
static int run(struct top *top, const struct name_map *names, struct error *err)
{
	bool live, data;
	int code = find_database(top, &live, &data, err);

	if (code < 0)
		return code;
	if (!live) {
		code = start_collector(top, err);
		if (code < 0)
			return code;
		if (!data)
			child_wait(&top->child, START_WAIT_US);
	}
	if (!data && top->child.ended && top->child.exit_status)
		code = err_set(err, -top->child.exit_status, "%s",
			       top->child.line[0] ? top->child.line : "the collector failed without a message");
	else
		code = show(top, names, err);
	if (!child_stop(&top->child, STOP_TIMEOUT_US))
		log_warning("the collector did not stop in time and was killed; stored data is intact");
	return code;
}

int top_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct top top = { .interval_us = DEFAULT_INTERVAL_US };
	const struct option_spec specs[] = {
		{ .name = "interval", .kind = OPTION_SPAN, .argument = "SPAN",
		  .help = "sweep interval of the started collector (2s)", .target = &top.interval_us },
		{ .name = "security-keys", .kind = OPTION_TEXT, .argument = "DIR",
		  .help = "started collector: directory with the subnet manager's guid2mkey (none)",
		  .target = &top.security_keys },
		{ .name = "smi-ca", .kind = OPTION_TEXT, .argument = "NAME[:PORT]",
		  .help = "started collector: local device that sends SMPs (the polling HCA or its SMI device)",
		  .target = &top.smi_ca },
		{ .name = "settings", .kind = OPTION_TEXT, .argument = "FILE",
		  .help = "settings file (/etc/ibwire/ibwire.conf)",
		  .target = &top.settings_path },
		{ .name = NULL },
	};
	struct name_map *names = NULL;
	int code;

	code = options_parse(command, COMMON_DEVICE | COMMON_NAMES | COMMON_DB | COMMON_AT | COMMON_COLOR, specs, argc,
			     argv, &top.common, err);
	if (code)
		return code > 0 ? 0 : code;
	code = options_no_arguments(command, &top.common, err);
	if (code < 0)
		return code;
	code = tui_check_terminal(err);
	if (code < 0)
		return code;
	code = settings_load(top.settings_path, &top.settings, err);
	if (code == 0)
		code = options_name_map(&top.common, &names, err);
	if (code == 0) {
		stop_install();
		code = top.common.at_us ? show_past(&top, names, err) : run(&top, names, err);
	}
	settings_done(&top.settings);
	name_map_destroy(names);
	return code;
}
