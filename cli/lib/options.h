/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.h - option parser, output options, name map and database path of all commands
 *
 * A command selects common options and lists its own. The help text is made from the same lists.
 */
#ifndef IBWIRE_CLI_OPTIONS_H
#define IBWIRE_CLI_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "export/result.h"

struct command;
struct error;
struct host_set;
struct name_map;
struct page;
struct text;
struct unread;

enum common_option {
	COMMON_DEVICE = 1 << 0, /* -C --Ca, -P --Port, -t --timeout, --pkey, --sl */
	COMMON_NAMES = 1 << 1,  /* --node-name-map */
	COMMON_DB = 1 << 2,     /* --db */
	COMMON_FORMAT = 1 << 3, /* --format, and --csv-raw where csv is supported */
	COMMON_AT = 1 << 4,     /* --at */
	COMMON_WINDOW = 1 << 5, /* --since, --until */
	COMMON_COLOR = 1 << 6,  /* --color */
	COMMON_NO_CSV = 1 << 7, /* no csv in --help, no --csv-raw; the command rejects --format csv */
	COMMON_PAGER = 1 << 8, /* --no-pager; without it the output is paged on a terminal */
	/* Options of every command with output. */
	COMMON_SHOW = COMMON_NAMES | COMMON_DB | COMMON_FORMAT | COMMON_COLOR | COMMON_PAGER,
};

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct options {
	const char *ca;        /* NULL: the first active one */
	int port;              /* 0: the first active one */
	int timeout_ms;        /* 0: the default */
	const char *pkey;      /* of performance MADs; NULL: the default partition */
	int sl;                /* the same */
	const char *names_path; /* NULL: the default map, if it exists */
	const char *db;        /* NULL: storage_default_path() */
	enum result_format format;
	bool csv_raw;          /* result_options.csv_raw */
	enum color_when color;
	bool no_pager;
	FILE *out;             /* for all that the command prints: stdout, or as its caller in this process sets it */
	unsigned columns;      /* width of the terminal at @out; 0: it is none */
	unsigned wrap_columns; /* width of wrapped text without a terminal; 0: the default */
	size_t most;           /* bytes of the output; 0: no limit */
	const atomic_bool *stop; /* of struct call_context: for reader_set_stop() */
	void **page;           /* of struct call_context: where output_page() leaves a page; NULL: it writes it */
	int64_t now_us;        /* wall clock at the start of the command */
	int64_t at_us, since_us, until_us; /* wall clock; 0: not given */
	bool notes;            /* set by a command: notes below a table in a pipe, too */
	int64_t window_us;      /* set by a command: window up to the newest sweep without --since; 0: window_sweeps */
	unsigned window_sweeps; /* set by a command: window in intervals without --since; 0: one sweep */
	/* The remaining arguments. */
	int argc;
	char **argv;
};

enum option_kind {
	OPTION_FLAG,   /* bool: set to true */
	OPTION_TEXT,   /* const char *: borrowed from argv */
	OPTION_LIST,   /* struct option_list: the same, of an option that may be given several times */
	OPTION_NUMBER, /* int64_t: from 0 (or spec.least) up */
	OPTION_SPAN,   /* int64_t: microseconds, as when_span_parse() reads them */
	OPTION_SPAN_OR_0, /* the same, or 0 */
	OPTION_SPAN_OPTIONAL, /* int64_t: the same, as --NAME=SPAN; --NAME: @least of option_spec */
	/* Only common options: int from least to most, time, keyword, --help. */
	OPTION_INT, OPTION_TIME, OPTION_WORD, OPTION_HELP,
};

#define OPTION_LIST_MAX 16
struct option_list {
	const char *items[OPTION_LIST_MAX];
	size_t count;
};

/* An option of one command. The list ends with a NULL name. */
struct option_spec {
	const char *name;     /* "top" */
	char letter;          /* or 0 */
	enum option_kind kind;
	const char *argument; /* for the help text: "N"; NULL for a flag */
	const char *help;     /* one line */
	void *target;         /* type: see enum option_kind */
	int64_t least, most;  /* range of a number; most 0: unlimited. OPTION_SPAN_OPTIONAL: microseconds */
	const char *const *words; /* OPTION_WORD */
};

/* Entries of a list. @letter: or 0; @target: of the type above. */
#define OPT_FLAG(name, letter, target, help) { name, letter, OPTION_FLAG, NULL, help, target, 0, 0, NULL }
#define OPT_TEXT(name, letter, argument, target, help) \
	{ name, letter, OPTION_TEXT, argument, help, target, 0, 0, NULL }
#define OPT_LIST(name, letter, argument, target, help) \
	{ name, letter, OPTION_LIST, argument, help, target, 0, 0, NULL }
#define OPT_NUMBER(name, letter, argument, target, least, help) \
	{ name, letter, OPTION_NUMBER, argument, help, target, least, 0, NULL }
#define OPT_SPAN(name, letter, target, help) { name, letter, OPTION_SPAN, "SPAN", help, target, 0, 0, NULL }
#define OPT_SPAN_OR_0(name, letter, target, help) \
	{ name, letter, OPTION_SPAN_OR_0, "SPAN", help, target, 0, 0, NULL }
#define OPT_SPAN_OPTIONAL(name, target, us, help) \
	{ name, 0, OPTION_SPAN_OPTIONAL, "SPAN", help, target, us, 0, NULL }

/*
 * options_parse - read a command's options
 * @common:   mask of enum common_option
 * @specs:    the command's own, or NULL
 * @argv:     argv[0] is the command name; reordered, options first
 * @ret:      filled completely
 *
 * Return: 0; 1 if --help was printed; ERR_USAGE with the nearest match.
 */
int options_parse(const struct command *command, unsigned common, const struct option_spec *specs, int argc,
		  char **argv, struct options *ret, struct error *err);

/* options_no_arguments - ERR_USAGE if arguments remain. */
int options_no_arguments(const struct command *command, const struct options *options, struct error *err);

/* options_usage_error - "COMMAND: ... (see ibwire COMMAND --help)". Return: ERR_USAGE. */
int options_usage_error(const struct command *command, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The name map without --node-name-map. */
#define OPTIONS_DEFAULT_NAME_MAP "/etc/rdma/ib-node-name-map"

/* options_warn_unread - log once how many lines of a user's file are not @what, if any, and the first of them. */
void options_warn_unread(const char *path, const struct unread *unread, const char *what);

/* options_warn_exposed - log that a file with a secret can be read by all users, if it can. NULL: nothing. */
void options_warn_exposed(const char *path);

/*
 * options_add_hosts - host_set_add(), or host_set_add_file() of "@FILE" with a warning for lines that could not be read
 * Return: the same.
 */
int options_add_hosts(struct host_set *set, const char *typed, struct error *err);

/*
 * options_name_map - read the name map of --node-name-map or the default
 * @ret:  a map for name_map_destroy(), or NULL if the default map does not exist
 *
 * Return: 0; ERR_IO if the given map cannot be read; ERR_NOMEM.
 */
int options_name_map(const struct options *options, struct name_map **ret, struct error *err);

/*
 * options_db_path - --db, or the default
 * @ret:  @size bytes, at least 4096
 */
int options_db_path(const struct options *options, bool for_writing, char *ret, size_t size, struct error *err);

/*
 * options_result - output options for @out: format, colour (--color, NO_COLOR, terminal), width
 * (COLUMNS or the terminal; unlimited on a pipe)
 */
struct result_options options_result(const struct options *options);

/*
 * output_begin - begin a result, in the format and width of the options
 * @record:  exactly one row: an object in JSON, one line per column in a table
 * output_end - write it unless @code is an error, and free it
 *
 * Return: 0, or an error: @code, ERR_IO, ERR_NOMEM.
 */
struct result *output_begin(const struct options *options, bool record, const struct column *columns, size_t count);
int output_end(struct result *result, int code, struct error *err);

/*
 * output_record - print one row
 * @text:     value of all COLUMN_TEXT columns
 * @numbers:  value of the others, in their unit; NAN is unknown
 */
int output_record(const struct options *options, const struct column *columns, size_t count, const char *text,
		  const double *numbers, struct error *err);

/*
 * output_text - write a text and free it
 * A closed pipe is no error. Return: 0; ERR_NOMEM where the text is incomplete; ERR_IO.
 */
int output_text(const struct options *options, struct text *text, struct error *err);

/*
 * options_url - the URL of an option; "@FILE": the first line of a file, so that a password in it is in no process list
 * @option:  for the message
 * @ret:     appended
 * Return: 0; ERR_USAGE: not http:// or https://, or not printable; ERR_IO: the file; ERR_NOMEM.
 */
int options_url(const char *option, const char *typed, struct text *ret, struct error *err);

/* output_file - write a text to a file, or to the output for "-", and free it. Return: 0; ERR_NOMEM; ERR_IO. */
int output_file(const struct options *options, struct text *text, const char *path, struct error *err);

/*
 * output_page - write a page in the format of the options, or as HTML to a file, and destroy it; or leave
 * its text, frozen, to a caller in this process
 * @page:  NULL: no memory
 * @html:  path, "-" for stdout; NULL: in the format of the options
 * Return: 0; ERR_NOMEM; ERR_IO; or an error of the page.
 */
int output_page(struct page *page, const struct options *options, const char *html, struct error *err);

/*
 * options_labels - names and values of --label NAME=VALUE
 * A name is letters, digits and _, and begins with a lower-case letter, so that __name__ sorts first.
 * @ret:    list->count of them, with their characters in @chars
 * Return: 0; ERR_USAGE, also if a name is given twice; ERR_NOMEM.
 */
struct option_label {
	const char *name, *value;
};
int options_labels(const struct option_list *list, struct option_label *ret, struct text *chars, struct error *err);

#endif
