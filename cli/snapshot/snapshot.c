/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot.c - `ibwire snapshot`: all counters at one time, and differences of two snapshots */
#include "cli/snapshot/snapshot.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/lib/moment_options.h"
#include "facts/saved_columns.h"
#include "wire/engine.h"

static const char *const by_names[DIFF_BY_COUNT] = {
	[DIFF_BY_PORT] = "port", [DIFF_BY_LINK] = "link", [DIFF_BY_SWITCH] = "switch", [DIFF_BY_HOST] = "host",
};

/* --- names --- */

static bool is_time(const char *typed, int64_t now_us, int64_t *ret_us)
{
	struct error ignored;

	return when_parse(typed, now_us, ret_us, &ignored) == 0;
}

/* Check a new name: printable, without leading '-', not a time. */
static int check_name(const struct command *command, const char *name, int64_t now_us, struct error *err)
{
	char clean[4 * SAVED_NAME_SIZE + 1];
	int64_t time_us;

	if (!*name || strlen(name) >= SAVED_NAME_SIZE)
		return options_usage_error(command, err, "a name must have 1 to %d bytes", SAVED_NAME_SIZE - 1);
	text_sanitise(name, strlen(name), clean, sizeof(clean));
	if (strcmp(name, clean) || *name == '-')
		return options_usage_error(command, err, "a name must be printable, without spaces at its "
			"ends, and not begin with '-'");
	if (!strncmp(name, "job-", 4) && isdigit((unsigned char)name[4]))
		return options_usage_error(command, err, "names that begin with job-NUMBER are reserved for the "
			"snapshots of jobs");
	if (is_time(name, now_us, &time_us))
		return options_usage_error(command, err, "'%s' is a time, which diff uses to choose snapshots: "
			"use another name", name);
	return 0;
}

static int check_note(const struct command *command, const char *note, struct error *err)
{
	char clean[4 * SAVED_NOTE_SIZE + 1];

	if (!note)
		return 0;
	if (strlen(note) >= SAVED_NOTE_SIZE)
		return options_usage_error(command, err, "a note must have at most %d bytes", SAVED_NOTE_SIZE - 1);
	text_sanitise(note, strlen(note), clean, sizeof(clean));
	if (strcmp(note, clean))
		return options_usage_error(command, err, "a note must be one line of printable text");
	return 0;
}

/* --- list --- */

static const struct column_source list_source = { .columns = snapshot_columns };
static const struct column_list snapshot_list = { .sources = &list_source, .source_count = 1 };

static bool put_info(void *ctx, const struct saved_info *info)
{
	result_fill(ctx, info);
	return result_end_row(ctx);
}

static int list(const struct command *command, const struct snapshot_options *options, struct error *err)
{
	struct columns shown;
	struct result *result;
	struct moment moment;
	int code = columns_create(command, &options->common, &snapshot_list, options->columns, options->sort,
				  &shown, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_open_reader(&options->common, &moment, err);
	if (code == 0) {
		result = columns_begin(&options->common, &shown);
		code = output_end(result, saved_list(moment.reader, put_info, result, err), err);
		moment_done(&moment);
	}
	columns_done(&shown);
	return code;
}

/* --- diff --- */

struct infos {
	struct saved_info *list; /* by time */
	size_t count, capacity;
	bool failed;
};

static bool add_info(void *ctx, const struct saved_info *info)
{
	struct infos *infos = ctx;
	struct saved_info *grown = array_grow(infos->list, infos->count, &infos->capacity, sizeof(*grown));

	infos->failed = !grown;
	if (!grown)
		return false;
	infos->list = grown;
	grown[infos->count++] = *info;
	return true;
}

static int load_infos(struct infos *infos, struct reader *reader, struct error *err)
{
	int code = saved_list(reader, add_info, infos, err);

	return code == 0 && infos->failed ? err_nomem(err) : code;
}

static int not_found(const struct infos *infos, const char *typed, bool or_time, struct error *err)
{
	struct nearest nearest;

	nearest_init(&nearest, typed);
	for (size_t i = 0; i < infos->count; i++)
		nearest_offer(&nearest, infos->list[i].name);
	if (nearest.best)
		return err_set(err, ERR_USAGE, "unknown snapshot '%.64s'%s", typed, nearest_hint(&nearest));
	return err_set(err, ERR_USAGE, "unknown snapshot '%.64s'%s; see: ibwire snapshot list", typed,
		       or_time ? ", and it is not a time such as -10m or 2026-11-20T14:00:00Z" : "");
}

/* Find a snapshot by name, or the nearest to a time. */
static int choose(const struct infos *infos, const char *typed, int64_t now_us, size_t *ret, struct error *err)
{
	int64_t at_us, least_us = INT64_MAX;

	for (size_t i = 0; i < infos->count; i++)
		if (!strcmp(infos->list[i].name, typed)) {
			*ret = i;
			return 0;
		}
	if (!is_time(typed, now_us, &at_us))
		return not_found(infos, typed, true, err);
	for (size_t i = 0; i < infos->count; i++) {
		int64_t away_us = infos->list[i].wall_us > at_us ? infos->list[i].wall_us - at_us
								 : at_us - infos->list[i].wall_us;

		if (away_us < least_us) {
			least_us = away_us;
			*ret = i;
		}
	}
	return 0;
}

/* Choose the two snapshots, the earlier one first. */
static int choose_two(const struct infos *infos, const struct options *options, size_t ret[2], struct error *err)
{
	int given = options->argc - 1, code;

	if (infos->count < 2)
		return err_set(err, ERR_UNAVAILABLE, "diff requires two snapshots, and there %s; take one "
			"with: ibwire snapshot take NAME", infos->count ? "is only one" : "is none");
	ret[0] = infos->count - 2;
	ret[1] = infos->count - 1;
	for (int i = 0; i < given; i++) {
		code = choose(infos, options->argv[1 + i], options->now_us, &ret[i], err);
		if (code < 0)
			return code;
	}
	if (ret[0] == ret[1])
		return err_set(err, ERR_USAGE, "'%s' %s: give another one", infos->list[ret[0]].name,
			       given == 1 ? "is the newest snapshot" : "is selected by both arguments");
	if (ret[0] > ret[1]) {
		size_t swap = ret[0];

		ret[0] = ret[1];
		ret[1] = swap;
	}
	return 0;
}

static int diff_between(const struct snapshot_options *options, struct reader *reader, const struct saved *before,
			const struct saved *after, enum diff_by by, struct error *err)
{
	struct diff_rows rows;
	struct diff diff;
	int code = diff_init(&diff, reader, before, after, err);

	if (code < 0)
		return code;
	code = diff_rows_init(&rows, &diff, by, err);
	if (code == 0) {
		code = diff_print(&options->common, &diff, &rows, by, options->all, err);
		diff_rows_done(&rows);
	}
	diff_done(&diff);
	return code;
}

static int diff(const struct snapshot_options *options, enum diff_by by, struct error *err)
{
	struct saved *both[2] = { NULL, NULL };
	struct infos infos = { 0 };
	struct moment moment;
	size_t two[2];
	int code = options_open_reader(&options->common, &moment, err);

	if (code < 0)
		return code;
	code = load_infos(&infos, moment.reader, err);
	if (code == 0)
		code = choose_two(&infos, &options->common, two, err);
	if (code == 0)
		code = saved_load_two(moment.reader, (int64_t[]){ infos.list[two[0]].id, infos.list[two[1]].id },
				      moment.names, both, err);
	if (code == 0)
		code = diff_between(options, moment.reader, both[0], both[1], by, err);
	saved_destroy(both[0]);
	saved_destroy(both[1]);
	free(infos.list);
	moment_done(&moment);
	return code;
}

/* --- remove --- */

static int remove_one(const struct snapshot_options *options, const char *name, struct error *err)
{
	struct saved_writer *writer;
	struct infos infos = { 0 };
	struct moment moment;
	char path[4096];
	size_t i;
	/*
	 * Search with a reader first: it does not create a database, and an unknown name gets a
	 * hint.
	 */
	int code = options_open_reader(&options->common, &moment, err);

	if (code < 0)
		return code;
	code = load_infos(&infos, moment.reader, err);
	moment_done(&moment);
	for (i = 0; i < infos.count && strcmp(infos.list[i].name, name); i++)
		;
	if (code == 0 && i == infos.count)
		code = not_found(&infos, name, false, err);
	if (code == 0)
		code = options_db_path(&options->common, false, path, sizeof(path), err);
	if (code == 0)
		code = saved_writer_open(path, &writer, err);
	if (code == 0) {
		code = saved_remove(writer, name, err);
		saved_writer_close(writer);
	}
	free(infos.list);
	return code;
}

/* --- the command line --- */

static int find_by(const struct command *command, const char *typed, enum diff_by *ret, struct error *err)
{
	*ret = DIFF_BY_PORT;
	for (int i = 0; typed && i < DIFF_BY_COUNT; i++)
		if (!strcmp(typed, by_names[i])) {
			*ret = (enum diff_by)i;
			return 0;
		}
	return typed ? options_usage_error(command, err, "--by must be host, switch, link or port, not "
		"\"%.32s\"", typed)
		     : 0;
}

/* Reject options of other sub-commands. */
static int check_options(const struct command *command, const struct snapshot_options *options, bool takes, bool diffs,
			 struct error *err)
{
	const struct polling *polling = &options->polling;

	if (!takes && (options->note || options->fast || polling->security_keys || polling->smi_ca ||
		       polling->topology))
		return options_usage_error(command, err, "--note, --fast, --security-keys, --smi-ca and --topology "
			"require take");
	if (polling->topology && (polling->smi_ca || polling->security_keys))
		return options_usage_error(command, err, "--topology sends no SMPs and does not take --smi-ca or "
			"--security-keys");
	if (!diffs && (options->by || options->all))
		return options_usage_error(command, err, "--by and --all require diff");
	if (options->window > ENGINE_WINDOW_MAX)
		return options_usage_error(command, err, "--window must be at most %d", ENGINE_WINDOW_MAX);
	if (options->max_mads_per_s > INT_MAX)
		return options_usage_error(command, err, "a number is out of range");
	return 0;
}

static int run_subcommand(const struct command *command, struct snapshot_options *options, struct error *err)
{
	enum { TAKE, LIST, DIFF, REMOVE, WORDS };
	static const struct { const char *word; int least, most; } words[WORDS] = {
		[TAKE] = { "take", 1, 1 }, [LIST] = { "list", 0, 0 }, [DIFF] = { "diff", 0, 2 },
		[REMOVE] = { "remove", 1, 1 },
	};
	const struct options *common = &options->common;
	const char *word = common->argc ? common->argv[0] : "";
	int arguments = common->argc - 1, i, code;
	enum diff_by by = DIFF_BY_PORT;

	for (i = 0; i < WORDS && strcmp(words[i].word, word); i++)
		;
	if (i == WORDS)
		return options_usage_error(command, err, "give a sub-command: take, list, diff or remove");
	if (arguments < words[i].least || arguments > words[i].most)
		return options_usage_error(command, err, words[i].most == 0 ? "%s does not take a name" :
					   words[i].most == 1 ? "%s requires the name of one snapshot" :
					   "%s takes at most two snapshots", word);
	code = check_options(command, options, i == TAKE, i == DIFF, err);
	if (code == 0 && options->columns && i != LIST)
		code = options_usage_error(command, err, "--columns requires list");
	if (code == 0)
		code = find_by(command, options->by, &by, err);
	if (code == 0 && i == TAKE)
		code = check_name(command, common->argv[1], common->now_us, err);
	if (code == 0)
		code = check_note(command, options->note, err);
	if (code < 0)
		return code;
	switch (i) {
	case TAKE:
		return snapshot_take(options, common->argv[1], err);
	case LIST:
		return list(command, options, err);
	case DIFF:
		return diff(options, by, err);
	default:
		return remove_one(options, common->argv[1], err);
	}
}

static int parse_and_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct snapshot_options options = SNAPSHOT_DEFAULTS;
	const struct option_spec specs[] = {
		OPT_TEXT("columns", 'c', "LIST", &options.columns, "list: " COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &options.sort, "list: " COLUMNS_SORT_HELP),
		OPT_TEXT("note", 0, "TEXT", &options.note, "take: description, one line"),
		OPT_FLAG("fast", 0, &options.fast, "take: skip detail counters (a third of the MADs)"),
		OPT_TEXT("by", 0, "WHAT", &options.by, "diff: one row per host, switch, link or port (port)"),
		OPT_FLAG("all", 'a', &options.all, "diff: include unchanged rows (JSON and CSV always do)"),
		OPT_NUMBER("window", 0, "N", &options.window, 1, "take: maximum MADs in flight, up to 128 (32)"),
		OPT_NUMBER("max-mads-per-second", 0, "N", &options.max_mads_per_s, 0,
			   "take: rate limit in MADs per second, 0 = unlimited (20000)"),
		POLLING_SPECS(&options.polling, "take: "),
		{ 0 },
	};
	int code = options_parse(command, COMMON_DEVICE | COMMON_SHOW, specs, argc, argv, &options.common, err);

	if (code)
		return code < 0 ? code : 0;
	options.polling.timeout_ms = options.common.timeout_ms;
	return run_subcommand(command, &options, err);
}

static bool is_relative_time(const char *arg)
{
	return arg[0] == '-' && isdigit((unsigned char)arg[1]);
}

/* Relative times such as "-10m" are arguments, not options: they are moved behind "--". */
int snapshot_run(const struct command *command, int argc, char **argv, struct error *err)
{
	static char end[] = "--";
	char **sorted = calloc((size_t)argc + 2, sizeof(*sorted));
	int options = 0, count = 0, code;

	if (!sorted)
		return err_nomem(err);
	while (options < argc && strcmp(argv[options], end))
		options++;
	for (int i = 0; i < options; i++)
		if (!is_relative_time(argv[i]))
			sorted[count++] = argv[i];
	sorted[count++] = end;
	for (int i = 0; i < argc; i++)
		if (i > options || (i < options && is_relative_time(argv[i])))
			sorted[count++] = argv[i];
	code = parse_and_run(command, count, sorted, err);
	free(sorted);
	return code;
}
