/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* top - the interactive screen; starts a collector as child process if none is live */
#include <inttypes.h>
#include <limits.h>
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
#include "cli/lib/settings.h"
#include "fabric/name_map.h"
#include "storage/reader.h"
#include "tui/tui.h"

/* The commands of the screen and the collector are this program. */
#define PROGRAM "/proc/self/exe"

/* Shorter than the default of `ibwire collect`: the screen is watched live. */
#define DEFAULT_INTERVAL_US (2 * US_PER_S)

/* A collector without device or permissions fails within this time, before the screen is drawn. */
#define START_WAIT_MS 300

/* Time to store the current sweep before the collector is killed. */
#define STOP_WAIT_MS 15000

enum { ARGUMENTS_MOST = 24 };

struct top {
	struct options common;
	int64_t interval_us;
	const char *security_keys; /* directory, or NULL */
	const char *smi_ca;        /* NAME or NAME:PORT, or NULL */
	const char *settings_path; /* NULL: the default */
	struct settings settings;
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

/* Append an option with its value to a list that ends with NULL; none without a value. */
static size_t add_argument(const char **list, size_t count, const char *option, const char *value)
{
	if (value) {
		list[count++] = option;
		list[count++] = value;
	}
	return count;
}

static size_t add_device_arguments(struct top *top, const char **list, size_t count)
{
	const struct options *common = &top->common;

	snprintf(top->port, sizeof(top->port), "%d", common->port);
	snprintf(top->timeout, sizeof(top->timeout), "%d", common->timeout_ms);
	snprintf(top->sl, sizeof(top->sl), "%d", common->sl);
	count = add_argument(list, count, "--Ca", common->ca);
	count = add_argument(list, count, "--Port", common->port ? top->port : NULL);
	count = add_argument(list, count, "--timeout", common->timeout_ms ? top->timeout : NULL);
	count = add_argument(list, count, "--pkey", common->pkey);
	count = add_argument(list, count, "--sl", common->sl ? top->sl : NULL);
	count = add_argument(list, count, "--security-keys", top->security_keys);
	return add_argument(list, count, "--smi-ca", top->smi_ca);
}

static int start_collector(struct top *top, struct error *err)
{
	const char *argv[ARGUMENTS_MOST] = { "ibwire", "collect" };
	char interval[32];
	size_t count = 2;

	snprintf(interval, sizeof(interval), "%" PRId64 "us", top->interval_us);
	count = add_argument(argv, count, "--db", top->path);
	count = add_argument(argv, count, "--interval", interval);
	count = add_argument(argv, count, "--settings", top->settings_path);
	add_device_arguments(top, argv, count);
	return child_command_start(&top->collector, PROGRAM, argv, 0, true, err);
}

/* Keep the last message of the collector, and drop the others. */
static void read_messages(struct top *top)
{
	struct child_command *collector = &top->collector;
	int number = collector->exit_status - 128;

	if (child_command_last_line(collector, top->line, sizeof(top->line)))
		text_clear(&collector->output);
	if (collector->ended && number > 0 && !top->line[0])
		snprintf(top->line, sizeof(top->line), "it was killed by signal %d (%s)", number, strsignal(number));
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
	const char *simulation = getenv("IBWIRE_SIM_DIR");
	char config[PATH_MAX], status[PATH_MAX];
	struct tui_options options = {
		.db_path = top->path,
		.program = PROGRAM,
		.arguments = top->name_arguments,
		.device_arguments = top->device_arguments,
		.at_us = top->common.at_us,
		.names = names,
		.shape = &top->settings.shape,
		.balance = &top->settings.health.balance,
		.clock = clock_system(),
		.color = top->common.color == COLOR_ALWAYS ? TUI_COLOR_ALWAYS :
			 top->common.color == COLOR_NEVER  ? TUI_COLOR_NEVER :
							     TUI_COLOR_AUTO,
	};

	add_argument(top->name_arguments, 0, "--node-name-map", top->common.names_path);
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
	if (!data && top->collector.ended && top->collector.exit_status)
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
