/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * top - the screen, with a collector of its own where none is live
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/reader.h"
#include "tui/config_file.h"
#include "tui/tui.h"

/* A person watches: more often than a collector that runs for months. */
#define DEFAULT_INTERVAL_US (2 * US_PER_S)

/* A collector that has no device or no rights says so within this, and the screen never flashes up. */
#define SETTLE_US (300 * US_PER_MS)

/* The sweep in hand is stored first; a collector that hangs is not waited for. */
#define PATIENCE_US (15 * US_PER_S)

struct top {
	struct options common;
	int64_t interval_us;
	const char *security_keys; /* directory, or NULL */
	const char *smi_ca;        /* NAME or NAME:PORT, or NULL */
	const char *settings_path; /* or NULL: the default */
	struct settings settings;
	char path[PATH_MAX];
	struct child child;
};

/* Does a collector hold this database? A database that cannot be read is an error, one that is not there is not. */
static int look_at(const char *path, bool *ret_live, bool *ret_data, struct error *err)
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
 * The database that is meant, and whether somebody collects into it. Without
 * --db that is first the one that is read by default: where a collector runs as
 * a service, people watch its database, though they could not write to it.
 */
static int find_database(struct top *top, bool *ret_live, bool *ret_data, struct error *err)
{
	int code;

	if (!top->common.db) {
		code = options_db_path(&top->common, false, top->path, sizeof(top->path), NULL);
		if (!code && !look_at(top->path, ret_live, ret_data, NULL) && *ret_live)
			return 0;
	}
	code = options_db_path(&top->common, true, top->path, sizeof(top->path), err);
	return code < 0 ? code : look_at(top->path, ret_live, ret_data, err);
}

static int start_collector(struct top *top, struct error *err)
{
	/* execv() takes char * for historical reasons and changes nothing. */
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

static void tell_child(void *ctx, struct tui_child_state *ret)
{
	struct child *child = ctx;

	child_poll(child);
	ret->running = !child->ended;
	ret->exit_status = child->exit_status;
	snprintf(ret->line, sizeof(ret->line), "%s", child->line);
}

enum { ARGUMENTS_MOST = 16 };

/* What commands are told that the screen runs: names of all, and how the fabric is asked. */
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
		options.child = tell_child;
		options.child_ctx = &top->child;
	}
	return tui_run(&options, err);
}

/* A time that was: nothing is collected for it, and where nothing is stored of it there is nothing to show. */
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

/* Start what has to be started, show, and leave nothing behind. */
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
			child_settle(&top->child, SETTLE_US);
	}
	if (!data && top->child.ended && top->child.exit_status)
		code = err_set(err, -top->child.exit_status, "%s",
			       top->child.line[0] ? top->child.line : "the collector failed and did not say why");
	else
		code = show(top, names, err);
	if (!child_stop(&top->child, PATIENCE_US))
		log_warning("the collector did not end by itself and was killed; what it had stored is safe");
	return code;
}

int top_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct top top = { .interval_us = DEFAULT_INTERVAL_US };
	const struct option_spec specs[] = {
		{ .name = "interval", .kind = OPTION_SPAN, .argument = "SPAN",
		  .help = "between sweeps of a collector that is started here (2s)", .target = &top.interval_us },
		{ .name = "security-keys", .kind = OPTION_TEXT, .argument = "DIR",
		  .help = "that collector's directory with the subnet manager's guid2mkey (none)",
		  .target = &top.security_keys },
		{ .name = "smi-ca", .kind = OPTION_TEXT, .argument = "NAME[:PORT]",
		  .help = "that collector's device for SMPs (the HCA, or its part for them)", .target = &top.smi_ca },
		{ .name = "settings", .kind = OPTION_TEXT, .argument = "FILE",
		  .help = "limits of findings, classes, rails (/etc/ibwire/ibwire.conf)",
		  .target = &top.settings_path },
		{ .name = NULL },
	};
	struct name_map *names = NULL;
	int code;

	code = options_parse(command, COMMON_DEVICE | COMMON_NAMES | COMMON_DB | COMMON_AT | COMMON_COLOR, specs, argc,
			     argv, clock_wall_us(clock_system()), &top.common, err);
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
