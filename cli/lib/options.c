/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/unread.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/pager.h"
#include "export/page.h"
#include "fabric/host_set.h"
#include "fabric/name_map.h"
#include "storage/reader.h"

/* --- the parser --- */

static const char *const format_words[] = { "table", "json", "csv", NULL };
static const char *const color_words[] = { "auto", "always", "never", NULL };

#define MEMBER(name) offsetof(struct options, name)

/* The common options in help order, their commands (0: all) and their members of struct options. */
static const struct {
	unsigned mask;
	size_t member;
	struct option_spec entry;
} commons[] = {
	{ COMMON_DEVICE, MEMBER(ca), { .name = "Ca", .letter = 'C', .argument = "NAME", .kind = OPTION_TEXT,
	  .help = "local HCA (default: first with an active port)" } },
	{ COMMON_DEVICE, MEMBER(port), { .name = "Port", .letter = 'P', .argument = "N", .kind = OPTION_INT,
	  .help = "local port, 0 = first active (default)", .most = 255 } },
	{ COMMON_DEVICE, MEMBER(timeout_ms), { .name = "timeout", .letter = 't', .argument = "MS", .kind = OPTION_INT,
	  .help = "MAD timeout in milliseconds", .least = 1, .most = 600000 } },
	{ COMMON_DEVICE, MEMBER(pkey), { .name = "pkey", .argument = "P_KEY", .kind = OPTION_TEXT,
	  .help = "partition of performance MADs, in hexadecimal (0xffff, else 0x7fff)" } },
	{ COMMON_DEVICE, MEMBER(sl), { .name = "sl", .argument = "N", .kind = OPTION_INT,
	  .help = "service level of performance MADs (0)", .least = 0, .most = 15 } },
	{ COMMON_NAMES, MEMBER(names_path), { .name = "node-name-map", .argument = "FILE", .kind = OPTION_TEXT,
	  .help = "node-name-map file (default: " OPTIONS_DEFAULT_NAME_MAP ", if it exists)" } },
	{ COMMON_DB, MEMBER(db), { .name = "db", .argument = "PATH", .kind = OPTION_TEXT,
	  .help = "database file (default: $IBWIRE_DB, else see ibwire(1), FILES)" } },
	{ COMMON_FORMAT, MEMBER(format), { .name = "format", .argument = "FORMAT", .kind = OPTION_WORD,
	  .help = "output format: table, json or csv", .words = format_words } },
	{ COMMON_FORMAT, MEMBER(csv_raw), { .name = "csv-raw", .kind = OPTION_FLAG,
	  .help = "csv without the ' that protects spreadsheets from formulas" } },
	{ COMMON_AT, MEMBER(at_us), { .name = "at", .argument = "TIME", .kind = OPTION_TIME,
	  .help = "show the state at this time: -10m, -2h, -3d, or ISO 8601" } },
	{ COMMON_WINDOW, MEMBER(since_us), { .name = "since", .argument = "TIME", .kind = OPTION_TIME,
	  .help = "start of the window" } },
	{ COMMON_WINDOW, MEMBER(until_us), { .name = "until", .argument = "TIME", .kind = OPTION_TIME,
	  .help = "end of the window (default: now)" } },
	{ COMMON_COLOR, MEMBER(color), { .name = "color", .argument = "WHEN", .kind = OPTION_WORD,
	  .help = "auto, always or never; NO_COLOR implies never", .words = color_words } },
	{ COMMON_PAGER, MEMBER(no_pager), { .name = "no-pager", .kind = OPTION_FLAG,
	  .help = "do not page the output on a terminal ($PAGER, less)" } },
	{ 0, 0, { .name = "help", .letter = 'h', .kind = OPTION_HELP, .help = "show this help" } },
};

/* The getopt value of an option is its index above all letters. */
enum { FIRST_VALUE = 256, OPTIONS_MOST = 64 };

struct parser {
	const struct command *command;
	struct option_spec entries[OPTIONS_MOST]; /* in help order */
	struct option longs[OPTIONS_MOST + 1];
	char shorts[2 * OPTIONS_MOST + 2];
	size_t count;
};

static void add_entry(struct parser *parser, const struct option_spec *entry)
{
	size_t len = strlen(parser->shorts);

	if (parser->count >= OPTIONS_MOST)
		return;
	parser->longs[parser->count] = (struct option){
		.name = entry->name,
		.has_arg = !entry->argument ? no_argument :
			   entry->kind == OPTION_SPAN_OPTIONAL ? optional_argument : required_argument,
		.val = FIRST_VALUE + (int)parser->count,
	};
	parser->entries[parser->count++] = *entry;
	if (entry->letter)
		snprintf(parser->shorts + len, sizeof(parser->shorts) - len, "%c%s", entry->letter,
			 entry->argument ? ":" : "");
}

/* @options: target of the common options */
static void build_parser(struct parser *parser, unsigned common, const struct option_spec *specs,
			 struct options *options)
{
	strcpy(parser->shorts, ":");
	for (; specs && specs->name; specs++)
		add_entry(parser, specs);
	for (size_t i = 0; i < sizeof(commons) / sizeof(*commons); i++) {
		struct option_spec entry = commons[i].entry;
		bool csv = !(common & COMMON_NO_CSV);

		if ((commons[i].mask && !(common & commons[i].mask)) || (!csv && !strcmp(entry.name, "csv-raw")))
			continue;
		entry.target = (char *)options + commons[i].member;
		if (!csv && !strcmp(entry.name, "format"))
			entry.help = "output format: table or json";
		add_entry(parser, &entry);
	}
}

/* The entry of a getopt value. */
static const struct option_spec *entry_of(const struct parser *parser, int value)
{
	const struct option_spec *entry = parser->entries;

	if (value >= FIRST_VALUE)
		return &entry[value - FIRST_VALUE];
	while (entry->letter != value)
		entry++;
	return entry;
}

int options_usage_error(const struct command *command, struct error *err, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(err, ERR_USAGE, "%s: %s (see ibwire %s --help)", command->name, what, command->name);
}

/* What other programs call repeated output. */
static bool is_repetition(const char *name)
{
	return !strcmp(name, "watch") || !strcmp(name, "follow") || !strcmp(name, "interval") ||
	       !strcmp(name, "refresh");
}

static int unknown_option(const struct parser *parser, const char *typed, struct error *err)
{
	struct nearest nearest;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(typed, "="), typed);
	nearest_init(&nearest, name);
	/* Of equally near options prefer the common ones, which come last. */
	for (size_t i = parser->count; i-- > 0;)
		nearest_offer(&nearest, parser->longs[i].name);
	if (is_repetition(name) && strcmp(parser->command->name, "top") &&
	    (!nearest.best || !strcmp(nearest.best, "top")))
		return options_usage_error(parser->command, err, "unknown option '--%s': 'ibwire top' is the live view",
					   name);
	return options_usage_error(parser->command, err, "unknown option '--%s'%s%s%s%s", name,
				   nearest.best ? ": did you mean '--" : "", nearest.best ? nearest.best : "",
				   nearest.best ? nearest.value : "", nearest.best ? "'?" : "");
}

/* getopt rejected argv[@at]; @option is its optopt. */
static int parse_error(const struct parser *parser, const char *typed, int option, struct error *err)
{
	size_t matches = 0, len = strncmp(typed, "--", 2) ? 0 : strcspn(typed + 2, "=");

	if (option >= FIRST_VALUE)
		return options_usage_error(parser->command, err, "--%.*s does not take a value", (int)len, typed + 2);
	if (option > 0)
		return options_usage_error(parser->command, err, "unknown option '-%c'", option);
	for (size_t i = 0; i < parser->count; i++)
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
	if (end != typed && !*end && !errno && number >= least && (!most || number <= most)) {
		*ret = number;
		return 0;
	}
	if (!most)
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

	nearest_init(&nearest, typed);
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], typed))
			return i;
		nearest_offer(&nearest, words[i]);
	}
	return options_usage_error(command, err, "--%s must be %s, %s or %s, not '%.64s'%s", name, words[0], words[1],
				   words[2], typed, nearest_hint(&nearest));
}

static int add_to_list(const struct parser *parser, const struct option_spec *entry, const char *typed,
		       struct error *err)
{
	struct option_list *list = entry->target;

	if (list->count == OPTION_LIST_MAX)
		return options_usage_error(parser->command, err, "--%s is given more than %d times", entry->name,
					   OPTION_LIST_MAX);
	list->items[list->count++] = typed;
	return 0;
}

static int set_value(const struct parser *parser, const struct option_spec *entry, const char *typed, int64_t now_us,
		     struct error *err)
{
	int64_t number = 0;
	int code = 0;

	switch (entry->kind) {
	case OPTION_FLAG:
		*(bool *)entry->target = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)entry->target = typed;
		return 0;
	case OPTION_LIST:
		return add_to_list(parser, entry, typed, err);
	case OPTION_NUMBER:
		return parse_number(parser->command, entry->name, typed, entry->least, entry->most, entry->target,
				    err);
	case OPTION_INT:
		code = parse_number(parser->command, entry->name, typed, entry->least, entry->most, &number, err);
		*(int *)entry->target = (int)number;
		return code;
	case OPTION_WORD:
		code = parse_word(parser->command, entry->name, typed, entry->words, err);
		*(unsigned *)entry->target = code < 0 ? 0 : (unsigned)code;
		return code < 0 ? code : 0;
	case OPTION_SPAN_OPTIONAL:
		*(int64_t *)entry->target = entry->least;
		if (!typed)
			return 0;
		/* fallthrough */
	case OPTION_SPAN_OR_0:
	case OPTION_SPAN:
		if (entry->kind != OPTION_SPAN && !strcmp(typed, "0"))
			*(int64_t *)entry->target = 0;
		else
			code = when_span_parse(typed, entry->target, err);
		break;
	case OPTION_TIME:
		code = when_parse(typed, now_us, entry->target, err);
		break;
	case OPTION_HELP:
		break;
	}
	return code < 0 ? err_prefix(err, "%s: --%s", parser->command->name, entry->name) : 0;
}

static void print_help(FILE *out, const struct parser *parser)
{
	const struct command *command = parser->command;

	fprintf(out, "usage: ibwire %s [options]%s%s\n%s\n\n", command->name, *command->args ? " " : "", command->args,
		command->summary);
	for (size_t i = 0; i < parser->count; i++) {
		const struct option_spec *entry = &parser->entries[i];
		char left[64];

		bool optional = entry->kind == OPTION_SPAN_OPTIONAL;

		snprintf(left, sizeof(left), "  %c%c%c --%s%s%s%s", entry->letter ? '-' : ' ',
			 entry->letter ? entry->letter : ' ', entry->letter ? ',' : ' ', entry->name,
			 optional ? "[=" : entry->argument ? " " : "", entry->argument ? entry->argument : "",
			 optional ? "]" : "");
		fprintf(out, "%-28s %s\n", left, entry->help);
	}
	if (strstr(command->args, "SUBJECT"))
		fprintf(out, "\nSUBJECT: node0017, leaf01/17-20, 'leaf*', LID, 0xGUID, rail:2, tier:1, "
			"'leaf01 uplinks', all,\n'class:storage !state:down'; see ibwire(1), NODES AND PORTS.\n");
	fprintf(out, "\nSee ibwire-%s(1).\n", command->name);
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

static unsigned env_columns(void)
{
	const char *columns = getenv("COLUMNS");
	long typed = columns ? strtol(columns, NULL, 10) : 0;

	return typed > 0 && typed < 10000 ? (unsigned)typed : 0;
}

/* Width of the terminal at stdout; COLUMNS has precedence, as in ls and ps. */
static unsigned terminal_width(void)
{
	struct winsize size;
	unsigned typed = env_columns();

	if (typed)
		return typed;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

/* getopt has global state, and commands run in several threads. */
static pthread_mutex_t getopt_lock = PTHREAD_MUTEX_INITIALIZER;

/* Return: 0; 1 for --help; ERR_USAGE. */
static int parse_words(const struct parser *parser, int argc, char **argv, struct options *options, struct error *err)
{
	int value, code;

	opterr = 0;
	optind = 0; /* 0, not 1: getopt of glibc and musl restarts, even within a cluster of letters */
	while ((value = getopt_long(argc, argv, parser->shorts, parser->longs, NULL)) != -1) {
		const struct option_spec *entry;

		if (value == '?')
			return parse_error(parser, argv[optind - 1], optopt, err);
		if (value == ':')
			return options_usage_error(parser->command, err, "%.64s requires a value", argv[optind - 1]);
		entry = entry_of(parser, value);
		if (entry->kind == OPTION_HELP)
			return 1;
		code = set_value(parser, entry, optarg, options->now_us, err);
		if (code < 0)
			return code;
	}
	options->argc = argc - optind;
	options->argv = argv + optind;
	return 0;
}

int options_parse(const struct command *command, unsigned common, const struct option_spec *specs, int argc,
		  char **argv, struct options *ret, struct error *err)
{
	struct parser parser = { .command = command };
	const struct call_context *call = &command->call;
	struct options options = { .now_us = clock_wall_us(clock_system()), .out = call->out ? call->out : stdout,
				   .most = call->most, .stop = call->stop, .page = call->value };
	int code;

	build_parser(&parser, common, specs, &options);
	pthread_mutex_lock(&getopt_lock);
	code = parse_words(&parser, argc, argv, &options, err);
	pthread_mutex_unlock(&getopt_lock);
	if (code > 0)
		print_help(options.out, &parser);
	if (code)
		return code;
	if (options.csv_raw && options.format == RESULT_JSON)
		return options_usage_error(command, err, "--csv-raw and --format json exclude each other");
	if (options.csv_raw)
		options.format = RESULT_CSV;
	code = check_times(&parser, &options, err);
	if (code < 0)
		return code;
	options.columns = !call->out && isatty(STDOUT_FILENO) ? terminal_width() : 0;
	options.wrap_columns = call->out ? call->columns : env_columns();
	if (common & COMMON_PAGER && options.columns && !options.no_pager)
		pager_begin();
	*ret = options;
	return 0;
}

int options_no_arguments(const struct command *command, const struct options *options, struct error *err)
{
	if (options->argc == 0)
		return 0;
	return options_usage_error(command, err, "does not take the argument '%.64s'", options->argv[0]);
}

/* --- name map, database, output --- */

struct result *output_begin(const struct options *options, bool record, const struct column *columns, size_t count)
{
	struct result_options output = options_result(options);

	output.record = record;
	return result_create(options->out, &output, columns, count);
}

int output_end(struct result *result, int code, struct error *err)
{
	if (code == 0)
		code = result_finish(result, err);
	result_destroy(result);
	return code;
}

int output_record(const struct options *options, const struct column *columns, size_t count, const char *text,
		  const double *numbers, struct error *err)
{
	struct result *result = output_begin(options, true, columns, count);

	for (size_t i = 0; i < count; i++) {
		switch (columns[i].kind) {
		case COLUMN_TEXT:
			result_text(result, i, text);
			break;
		case COLUMN_REAL:
		case COLUMN_PERCENT:
		case COLUMN_PER_S:
		case COLUMN_GBPS:
		case COLUMN_SPAN_S:
			result_real(result, i, numbers[i]);
			break;
		default:
			if (isnan(numbers[i]))
				result_real(result, i, numbers[i]);
			else
				result_integer(result, i, (int64_t)numbers[i]);
		}
	}
	result_end_row(result);
	return output_end(result, 0, err);
}

int output_text(const struct options *options, struct text *text, struct error *err)
{
	int code = 0;

	if (text_failed(text))
		code = err_nomem(err);
	else if (fwrite(text_chars(text), 1, text->len, options->out) != text->len && errno != EPIPE)
		code = err_set(err, ERR_IO, "cannot write the output: %s", strerror(errno));
	text_done(text);
	return code;
}

int output_file(const struct options *options, struct text *text, const char *path, struct error *err)
{
	struct new_file file;
	int code;

	if (text_failed(text) || !strcmp(path, "-"))
		return output_text(options, text, err);
	code = new_file_open(path, false, &file, err);
	if (code == 0) {
		fwrite(text_chars(text), 1, text->len, file.stream);
		code = new_file_end(&file, 0, err);
	}
	text_done(text);
	return code;
}

int output_page(struct page *page, const struct options *options, const char *html, struct error *err)
{
	const struct result_options output = options_result(options);
	const struct page_options how = page_options_of(&output);
	struct text text = { 0 };
	int code;

	if (!html && options->page && options->format == RESULT_TABLE) {
		code = page_freeze(page, err);
		if (code == 0) {
			*options->page = page;
			return 0;
		}
	} else if (html) {
		code = page_html(page, &text, err);
		if (code == 0)
			code = output_file(options, &text, html, err);
		text_done(&text);
	} else {
		code = page_render(page, options->out, &how, err);
	}
	page_destroy(page);
	return code;
}

int options_url(const char *option, const char *typed, struct text *ret, struct error *err)
{
	size_t begin = ret->len, len;
	int code = 0;

	if (*typed == '@')
		code = text_read_file(typed + 1, "the URL file ", TEXT_SMALL_MOST, ret, err);
	else
		text_append(ret, typed);
	if (code < 0)
		return code;
	if (text_failed(ret))
		return err_nomem(err);
	len = strcspn(text_chars(ret) + begin, "\r\n");
	typed = text_chars(ret) + begin;
	if (ret->len) {
		ret->len = begin + len;
		ret->chars[ret->len] = '\0';
	}
	if ((strncmp(typed, "http://", 7) && strncmp(typed, "https://", 8)) || !text_is_plain(typed, len) ||
	    strpbrk(typed, " \"\\"))
		return err_set(err, ERR_USAGE, "--%s must be an http:// or https:// URL, or @FILE with one", option);
	return 0;
}

int options_labels(const struct option_list *list, struct option_label *ret, struct text *chars, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *typed = list->items[i], *equals = strchr(typed, '='), *at = typed;

		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
		if (!islower((unsigned char)*typed) || !equals || at != equals || !equals[1])
			return err_set(err, ERR_USAGE, "--label '%.64s' is not NAME=VALUE with a NAME of letters, "
				       "digits and _ that begins with a lower-case letter", typed);
		text_append_bytes(chars, typed, strlen(typed) + 1);
	}
	if (text_failed(chars))
		return err_nomem(err);
	for (size_t i = 0; i < list->count; i++) {
		char *name = i ? strchr(ret[i - 1].value, '\0') + 1 : chars->chars, *equals = strchr(name, '=');

		*equals = '\0';
		ret[i] = (struct option_label){ name, equals + 1 };
		for (size_t j = 0; j < i; j++)
			if (!strcmp(ret[j].name, name))
				return err_set(err, ERR_USAGE, "--label: the name '%.64s' is given twice", name);
	}
	return 0;
}

void options_warn_unread(const char *path, const struct unread *unread, const char *what)
{
	char line[UNREAD_SIZE];

	if (unread_describe(unread, what, line))
		log_warning("%s: %s", path, line);
}

void options_warn_exposed(const char *path)
{
	struct stat st;

	if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & S_IROTH)
		log_warning("%s can be read by all users: run chmod o-r on it", path);
}

int options_add_hosts(struct host_set *set, const char *typed, struct error *err)
{
	int code = *typed == '@' ? host_set_add_file(set, typed + 1, err) : host_set_add(set, typed, err);

	if (code == 0)
		options_warn_unread(typed + 1, &set->unread, "a host list");
	return code;
}

int options_name_map(const struct options *options, struct name_map **ret, struct error *err)
{
	const char *path = options->names_path ? options->names_path : OPTIONS_DEFAULT_NAME_MAP;
	struct unread unread = { 0 };
	struct text text = { 0 };
	int code;

	*ret = NULL;
	if (!options->names_path && access(path, R_OK) < 0)
		return 0;
	code = text_read_file(path, "the node name map ", TEXT_SMALL_MOST, &text, err);
	if (code == 0)
		code = name_map_parse(text_chars(&text), text.len, ret, &unread, err);
	if (code == 0)
		options_warn_unread(path, &unread, "a GUID and a name");
	text_done(&text);
	return code;
}

int options_db_path(const struct options *options, bool for_writing, char *ret, size_t size, struct error *err)
{
	if (!options->db)
		return storage_default_path(for_writing, ret, size, err);
	if (strlen(options->db) >= size)
		return err_set(err, ERR_USAGE, "the path of --db is too long");
	strcpy(ret, options->db);
	return 0;
}

/* Apply --color and NO_COLOR. */
static bool wants_color(const struct options *options, bool is_terminal)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (options->color != COLOR_AUTO)
		return options->color == COLOR_ALWAYS;
	return is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

struct result_options options_result(const struct options *options)
{
	return (struct result_options){
		.format = options->format,
		.csv_raw = options->csv_raw,
		.color = wants_color(options, options->columns),
		.notes = options->columns || options->notes,
		.width = options->columns,
		.most = options->most,
	};
}
