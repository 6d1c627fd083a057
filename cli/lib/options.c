/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/nearest.h"

/* The common options in help order. */
enum common_id {
	ID_CA, ID_PORT, ID_TIMEOUT, ID_NAMES, ID_DB, ID_FORMAT, ID_CSV_RAW, ID_AT, ID_SINCE, ID_UNTIL, ID_COLOR,
	ID_HELP, ID_COUNT,
};

static const struct {
	const char *name;
	char letter;
	unsigned mask; /* 0: every command */
	const char *argument;
	const char *help;
} commons[ID_COUNT] = {
	[ID_CA] = { "Ca", 'C', COMMON_DEVICE, "NAME", "local HCA (default: first with an active port)" },
	[ID_PORT] = { "Port", 'P', COMMON_DEVICE, "N", "local port (default: first active)" },
	[ID_TIMEOUT] = { "timeout", 't', COMMON_DEVICE, "MS", "MAD timeout in milliseconds" },
	[ID_NAMES] = { "node-name-map", 0, COMMON_NAMES, "FILE",
		       "node-name-map file (default: " OPTIONS_DEFAULT_NAME_MAP ", if it exists)" },
	[ID_DB] = { "db", 0, COMMON_DB, "PATH", "database file (default: $IBWIRE_DB, else see ibwire(1), FILES)" },
	[ID_FORMAT] = { "format", 0, COMMON_FORMAT, "FORMAT", "output format: table, json or csv" },
	[ID_CSV_RAW] = { "csv-raw", 0, COMMON_FORMAT, NULL,
			 "csv without the ' that protects spreadsheets from formulas" },
	[ID_AT] = { "at", 0, COMMON_AT, "TIME", "show the state at this time: -10m, -2h, -3d, or ISO 8601" },
	[ID_SINCE] = { "since", 0, COMMON_WINDOW, "TIME", "start of the window" },
	[ID_UNTIL] = { "until", 0, COMMON_WINDOW, "TIME", "end of the window (default: now)" },
	[ID_COLOR] = { "color", 0, COMMON_COLOR, "WHEN", "auto, always or never; NO_COLOR implies never" },
	[ID_HELP] = { "help", 'h', 0, NULL, "show this help" },
};

/*
 * The getopt value of an option is its index above all letters; command options follow the common
 * ones.
 */
enum { FIRST_VALUE = 256, OPTIONS_MOST = 64 };

struct parser {
	const struct command *command;
	unsigned common;
	const struct option_spec *specs;
	struct option longs[OPTIONS_MOST + 1];
	char shorts[2 * OPTIONS_MOST + 2];
	size_t count;
};

static bool is_taken(unsigned common, size_t id)
{
	if (id == ID_CSV_RAW && (common & COMMON_NO_CSV))
		return false;
	return !commons[id].mask || (common & commons[id].mask);
}

static void add_option(struct parser *parser, const char *name, char letter, bool has_argument, int value)
{
	size_t len = strlen(parser->shorts);

	if (parser->count >= OPTIONS_MOST)
		return;
	parser->longs[parser->count++] = (struct option){
		.name = name,
		.has_arg = has_argument ? required_argument : no_argument,
		.val = value,
	};
	if (letter)
		snprintf(parser->shorts + len, sizeof(parser->shorts) - len, "%c%s", letter, has_argument ? ":" : "");
}

static void build_parser(struct parser *parser)
{
	size_t i;

	strcpy(parser->shorts, ":");
	for (i = 0; i < ID_COUNT; i++)
		if (is_taken(parser->common, i))
			add_option(parser, commons[i].name, commons[i].letter, commons[i].argument,
				   FIRST_VALUE + (int)i);
	for (i = 0; parser->specs && parser->specs[i].name; i++)
		add_option(parser, parser->specs[i].name, parser->specs[i].letter, parser->specs[i].argument,
			   FIRST_VALUE + ID_COUNT + (int)i);
}

/* Convert a getopt value to an index over both lists, or -1. */
static int index_of(const struct parser *parser, int value)
{
	int i;

	if (value >= FIRST_VALUE)
		return value - FIRST_VALUE;
	for (i = 0; i < ID_COUNT; i++)
		if (is_taken(parser->common, (size_t)i) && commons[i].letter == value)
			return i;
	for (i = 0; parser->specs && parser->specs[i].name; i++)
		if (parser->specs[i].letter == value)
			return ID_COUNT + i;
	return -1;
}

int options_usage_error(const struct command *command, struct error *err, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(err, ERR_USAGE, "%s: %s (usage: ibwire %s [options]%s%s; 'ibwire %s --help' lists the options)",
		       command->name, what, command->name, *command->args ? " " : "", command->args, command->name);
}

static int unknown_option(const struct parser *parser, const char *typed, struct error *err)
{
	struct nearest nearest;
	char name[64];
	size_t i;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(typed, "="), typed);
	nearest_init(&nearest, name);
	for (i = 0; i < parser->count; i++)
		nearest_offer(&nearest, parser->longs[i].name);
	return options_usage_error(parser->command, err, "unknown option '--%s'%s%s%s", name,
				   nearest.best ? ": did you mean '--" : "", nearest.best ? nearest.best : "",
				   nearest.best ? "'?" : "");
}

/* getopt rejected argv[@at]; @option is its optopt. */
static int refuse(const struct parser *parser, const char *typed, int option, struct error *err)
{
	size_t i, matches = 0, len = strncmp(typed, "--", 2) ? 0 : strcspn(typed + 2, "=");

	if (option >= FIRST_VALUE)
		return options_usage_error(parser->command, err, "--%.*s does not take a value", (int)len, typed + 2);
	if (option > 0)
		return options_usage_error(parser->command, err, "unknown option '-%c'", option);
	for (i = 0; i < parser->count; i++)
		matches += len && !strncmp(parser->longs[i].name, typed + 2, len);
	if (matches > 1)
		return options_usage_error(parser->command, err, "option '--%.*s' is ambiguous: write it in full",
					   (int)len, typed + 2);
	return unknown_option(parser, typed + (len ? 2 : 0), err);
}

static int parse_number(const struct command *command, const char *name, const char *typed, int64_t least,
			int64_t most, int64_t *ret, struct error *err)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(typed, &end, 10);
	if (end != typed && !*end && !errno && number >= least && number <= most) {
		*ret = number;
		return 0;
	}
	if (most == INT64_MAX)
		return options_usage_error(command, err, "--%s must be a number of at least %lld, not '%.64s'", name,
					   (long long)least, typed);
	return options_usage_error(command, err, "--%s must be a number from %lld to %lld, not '%.64s'", name,
				   (long long)least, (long long)most, typed);
}

/* Parse a keyword. Return: its index, or ERR_USAGE. */
static int parse_word(const struct command *command, const char *name, const char *typed, const char *const *words,
		      struct error *err)
{
	struct nearest nearest;
	int i;

	nearest_init(&nearest, typed);
	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], typed))
			return i;
		nearest_offer(&nearest, words[i]);
	}
	return options_usage_error(command, err, "--%s must be %s, %s or %s, not '%.64s'%s", name, words[0], words[1],
				   words[2], typed, nearest_hint(&nearest));
}

static const char *const format_words[] = { "table", "json", "csv", NULL };
static const char *const color_words[] = { "auto", "always", "never", NULL };

static int set_time(const struct parser *parser, enum common_id id, const char *typed, int64_t now_us, int64_t *ret,
		     struct error *err)
{
	int code = when_parse(typed, now_us, ret, err);

	if (code < 0)
		err_prefix(err, "%s: --%s", parser->command->name, commons[id].name);
	return code;
}

static int set_common(const struct parser *parser, enum common_id id, const char *typed, struct options *options,
		       struct error *err)
{
	int64_t number = 0;
	int code = 0;

	switch (id) {
	case ID_CA:
		options->ca = typed;
		break;
	case ID_PORT:
		code = parse_number(parser->command, "Port", typed, 1, 255, &number, err);
		options->port = (int)number;
		break;
	case ID_TIMEOUT:
		code = parse_number(parser->command, "timeout", typed, 1, 600000, &number, err);
		options->timeout_ms = (int)number;
		break;
	case ID_NAMES:
		options->names_path = typed;
		break;
	case ID_DB:
		options->db = typed;
		break;
	case ID_FORMAT:
		code = parse_word(parser->command, "format", typed, format_words, err);
		options->format = code < 0 ? options->format : (enum result_format)code;
		break;
	case ID_CSV_RAW:
		options->format = RESULT_CSV;
		options->csv_raw = true;
		break;
	case ID_COLOR:
		code = parse_word(parser->command, "color", typed, color_words, err);
		options->color = code < 0 ? options->color : (enum color_when)code;
		break;
	case ID_AT:
		return set_time(parser, id, typed, options->now_us, &options->at_us, err);
	case ID_SINCE:
		return set_time(parser, id, typed, options->now_us, &options->since_us, err);
	case ID_UNTIL:
		return set_time(parser, id, typed, options->now_us, &options->until_us, err);
	case ID_HELP:
	case ID_COUNT:
		break;
	}
	return code < 0 ? code : 0;
}

static int set_own(const struct parser *parser, const struct option_spec *spec, const char *typed, struct error *err)
{
	int code;

	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)spec->target = true;
		break;
	case OPTION_TEXT:
		*(const char **)spec->target = typed;
		break;
	case OPTION_NUMBER:
		return parse_number(parser->command, spec->name, typed, spec->least, INT64_MAX, spec->target, err);
	case OPTION_SPAN_OR_0:
		if (!strcmp(typed, "0")) {
			*(int64_t *)spec->target = 0;
			return 0;
		}
		/* fallthrough */
	case OPTION_SPAN:
		code = when_span_parse(typed, spec->target, err);
		if (code < 0)
			err_prefix(err, "%s: --%s", parser->command->name, spec->name);
		return code;
	}
	return 0;
}

static void print_option(const char *name, char letter, const char *argument, const char *help)
{
	char left[64];

	snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? ',' : ' ', name, argument ? " " : "", argument ? argument : "");
	printf("%-28s %s\n", left, help);
}

static void print_help(const struct parser *parser)
{
	const struct command *command = parser->command;
	size_t i;

	printf("usage: ibwire %s [options]%s%s\n%s\n\n", command->name, *command->args ? " " : "", command->args,
	       command->summary);
	for (i = 0; parser->specs && parser->specs[i].name; i++)
		print_option(parser->specs[i].name, parser->specs[i].letter, parser->specs[i].argument,
			     parser->specs[i].help);
	for (i = 0; i < ID_COUNT; i++)
		if (is_taken(parser->common, i))
			print_option(commons[i].name, commons[i].letter, commons[i].argument,
				     i == ID_FORMAT && (parser->common & COMMON_NO_CSV) ?
				     "output format: table or json" : commons[i].help);
	printf("\nSee ibwire-%s(1).\n", command->name);
}

static int check_times(const struct parser *parser, const struct options *options, struct error *err)
{
	int64_t end = options->until_us ? options->until_us : options->at_us ? options->at_us : options->now_us;

	if (options->at_us && options->until_us)
		return options_usage_error(parser->command, err, "--at and --until are mutually exclusive");
	if (options->since_us && options->since_us >= end)
		return options_usage_error(parser->command, err, "--since must be before the end of the window");
	return 0;
}

int options_parse(const struct command *command, unsigned common, const struct option_spec *specs, int argc,
		  char **argv, struct options *ret, struct error *err)
{
	struct parser parser = { .command = command, .common = common, .specs = specs };
	struct options options = { .now_us = clock_wall_us(clock_system()) };
	int value, code;

	build_parser(&parser);
	opterr = 0;
	optind = 0; /* 0, not 1: getopt of glibc and musl restarts, even within a cluster of letters */
	while ((value = getopt_long(argc, argv, parser.shorts, parser.longs, NULL)) != -1) {
		int index;

		if (value == '?')
			return refuse(&parser, argv[optind - 1], optopt, err);
		if (value == ':')
			return options_usage_error(command, err, "%.64s requires a value", argv[optind - 1]);
		index = index_of(&parser, value);
		if (index == ID_HELP) {
			print_help(&parser);
			return 1;
		}
		code = index < ID_COUNT ? set_common(&parser, (enum common_id)index, optarg, &options, err) :
					  set_own(&parser, &specs[index - ID_COUNT], optarg, err);
		if (code < 0)
			return code;
	}
	code = check_times(&parser, &options, err);
	if (code < 0)
		return code;
	options.argc = argc - optind;
	options.argv = argv + optind;
	*ret = options;
	return 0;
}

int options_no_arguments(const struct command *command, const struct options *options, struct error *err)
{
	if (options->argc == 0)
		return 0;
	return options_usage_error(command, err, "does not take the argument '%.64s'", options->argv[0]);
}
