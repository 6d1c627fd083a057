/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* top - the interactive screen; starts a collector as child process if none is live */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child_command.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/polling.h"
#include "cli/lib/settings.h"
#include "fabric/name_map.h"
#include "storage/reader.h"
#include "tui/tui.h"

/* The collector, and what takes a snapshot. */
#define PROGRAM "/proc/self/exe"

/* Shorter than the default of `ibwire collect`: the screen is watched live. */
#define DEFAULT_INTERVAL_US (2 * US_PER_S)

/* A collector without device or permissions fails within this time, before the screen is drawn. */
#define START_WAIT_MS 300

/* Time that another collector may take until it has created the database. */
#define ATTACH_WAIT_MS 15000

/* Time to store the current sweep before the collector is killed. */
#define STOP_WAIT_MS 15000

/* Most of the arguments of the collector: 12 options with a value, 2 without. */
enum { ARGUMENTS_MOST = 32, POLL_MS = 20 };

/* Prefix of the help of options that are passed on to it. */
#define STARTED "started collector: "

struct top {
	struct options common;
	int64_t interval_us;
	struct polling polling;    /* only what POLLING_SPECS() sets */
	bool adaptive_routing, directed_smps;
	const char *settings_path; /* NULL: the default */
	struct settings settings;
	struct balance_settings limits;
	char path[PATH_MAX];
	struct child_command collector;
	char line[512];            /* its last message, "" for none */
	/* Arguments for commands that the screen runs: name map, and device options. */
	const char *name_arguments[3], *device_arguments[ARGUMENTS_MOST];
	char port[16], timeout[16], sl[16];
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

/* Append options with their values, up to a NULL option; those without a value are left out. */
static size_t add_arguments(const char **list, size_t count, const char *const *options)
{
	for (; options[0]; options += 2) {
		if (!options[1])
			continue;
		list[count++] = options[0];
		list[count++] = options[1];
	}
	return count;
}

static size_t add_device_arguments(struct top *top, const char **list, size_t count)
{
	const struct options *common = &top->common;
	const char *const options[] = {
		"--Ca", common->ca, "--Port", common->port ? top->port : NULL,
		"--timeout", common->timeout_ms ? top->timeout : NULL, "--pkey", common->pkey,
		"--sl", common->sl ? top->sl : NULL, POLLING_ARGUMENTS(&top->polling), NULL,
	};

	snprintf(top->port, sizeof(top->port), "%d", common->port);
	snprintf(top->timeout, sizeof(top->timeout), "%d", common->timeout_ms);
	snprintf(top->sl, sizeof(top->sl), "%d", common->sl);
	return add_arguments(list, count, options);
}

static int start_collector(struct top *top, struct error *err)
{
	const char *argv[ARGUMENTS_MOST] = { "ibwire", "collect" };
	char interval[32];
	const char *const options[] = {
		"--db", top->path, "--interval", interval, "--settings", top->settings_path, NULL,
	};
	size_t count = add_arguments(argv, 2, options);

	snprintf(interval, sizeof(interval), "%" PRId64 "us", top->interval_us);
	count = add_device_arguments(top, argv, count);
	if (top->adaptive_routing)
		argv[count++] = "--adaptive-routing";
	if (top->directed_smps)
		argv[count] = "--directed-smps";
	return child_command_start(&top->collector, PROGRAM, argv, true, err);
}

/* Keep the last message of the collector, and drop the others. */
static void read_messages(struct top *top)
{
	struct child_command *collector = &top->collector;
	int number = collector->exit_status - 128;

	if (child_command_last_line(collector, top->line, sizeof(top->line)))
		text_clear(&collector->output);
	/* What it logged before is not the reason. */
	if (collector->ended && number > 0)
		snprintf(top->line, sizeof(top->line), "killed by signal %d (%s)", number, strsignal(number));
}

static void read_child(void *ctx, struct tui_child_state *ret)
{
	struct top *top = ctx;

	child_command_poll(&top->collector);
	read_messages(top);
	ret->running = !top->collector.ended;
	ret->exit_status = top->collector.exit_status;
	snprintf(ret->line, sizeof(ret->line), "%s", top->line);
}

static int show(struct top *top, const struct name_map *names, struct error *err)
{
	struct reader *reader = NULL;
	const char *simulation = getenv("IBWIRE_SIM_DIR");
	char config[PATH_MAX], status[PATH_MAX];
	struct tui_options options = {
		.db_path = top->path,
		.command = command_call,
		.program = PROGRAM,
		.arguments = top->name_arguments,
		.device_arguments = top->device_arguments,
		.at_us = top->common.at_us,
		.names = names,
		.shape = &top->settings.shape,
		.balance = &top->limits,
		.clock = clock_system(),
		.color = top->common.color == COLOR_ALWAYS ? TUI_COLOR_ALWAYS :
			 top->common.color == COLOR_NEVER  ? TUI_COLOR_NEVER :
							     TUI_COLOR_AUTO,
	};

	/* A collector that was started here has the same settings file. */
	top->limits = top->settings.health.balance;
	if (!top->collector.pid && reader_open(top->path, &reader, NULL) == 0)
		settings_balance(&top->settings, reader, &top->limits, NULL);
	reader_close(reader);
	add_arguments(top->name_arguments, 0,
		      (const char *const[]){ "--node-name-map", top->common.names_path, NULL });
	add_device_arguments(top, top->device_arguments, 0);
	if (simulation && (size_t)snprintf(status, sizeof(status), "%s/status", simulation) < sizeof(status))
		options.status_path = status;
	if (tui_config_path(config, sizeof(config)))
		options.config_path = config;
	if (top->collector.pid) {
		options.child = read_child;
		options.child_ctx = top;
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

/*
 * If another process starts a collector at the same time, only one of the two gets the database. Return: whether the
 * other one did, and is live; then our own is dropped.
 */
static bool attach(struct top *top)
{
	bool live = false, data;

	for (int waited_ms = 0; !live && waited_ms < ATTACH_WAIT_MS; waited_ms += POLL_MS) {
		if (!reader_has_collector(top->path) || stop_requested())
			return false;
		if (read_state(top->path, &live, &data, NULL) < 0 || !live)
			poll(NULL, 0, POLL_MS);
	}
	if (live) {
		child_command_stop(&top->collector, STOP_WAIT_MS);
		top->line[0] = '\0';
	}
	return live;
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
			child_command_wait(&top->collector, START_WAIT_MS);
		read_messages(top);
	}
	if (!data && top->collector.ended && top->collector.exit_status && !attach(top))
		code = err_set(err, -top->collector.exit_status, "%s",
			       top->line[0] ? top->line : "the collector failed without a message");
	else
		code = show(top, names, err);
	if (!child_command_stop(&top->collector, STOP_WAIT_MS))
		log_warning("the collector did not stop in time and was killed; stored data is intact");
	return code;
}

int top_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct top top = { .interval_us = DEFAULT_INTERVAL_US };
	const struct option_spec specs[] = {
		{ .name = "interval", .kind = OPTION_SPAN, .argument = "SPAN",
		  .help = "sweep interval of the started collector (2s)", .target = &top.interval_us },
		POLLING_SPECS(&top.polling, STARTED),
		OPT_FLAG("directed-smps", 0, &top.directed_smps, STARTED "send directed-route SMPs"),
		OPT_FLAG("adaptive-routing", 0, &top.adaptive_routing,
			 STARTED "query whether NVIDIA switches route adaptively"),
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
