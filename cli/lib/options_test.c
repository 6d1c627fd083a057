/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options are parsed, or rejected with the nearest match. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/call.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/command.h"
#include "cli/lib/options.h"

enum { WORDS_MOST = 40 };

struct own {
	bool flag;
	const char *text;
	int64_t number, span_us, keep_us, every_us;
};

static const struct command command = { .name = "ports", .args = "[NODE ...]", .summary = "for tests" };

/* What parse() filled in. */
static struct options options;
static struct own own;
static struct error err;

/* Parse words separated by single spaces. */
static int parse(const char *line, unsigned common)
{
	static char words[256];
	static char *argv[WORDS_MOST];
	const struct option_spec specs[] = {
		OPT_FLAG("flag", 'f', &own.flag, "a flag"),
		OPT_TEXT("text", 0, "WORD", &own.text, "a text"),
		OPT_NUMBER("number", 'n', "N", &own.number, 2, "a number"),
		OPT_SPAN("span", 0, &own.span_us, "a span"),
		OPT_SPAN_OR_0("keep", 0, &own.keep_us, "a span, 0: none"),
		OPT_SPAN_OPTIONAL("every", &own.every_us, 1000000, "a span, or none"),
		{ 0 },
	};
	int argc = 0;
	char *word, *save = NULL;

	memset(&own, 0, sizeof(own));
	memset(&options, 0, sizeof(options));
	memset(&err, 0, sizeof(err));
	snprintf(words, sizeof(words), "ports %s", line);
	for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_true(argc < WORDS_MOST - 1);
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	return options_parse(&command, common, specs, argc, argv, &options, &err);
}

static const unsigned everything = COMMON_DEVICE | COMMON_SHOW | COMMON_AT | COMMON_WINDOW;

TEST(zero_span_needs_an_option_that_allows_it)
{
	assert_int_equal(parse("--keep 3s", 0), 0);
	assert_int_equal(own.keep_us, 3000000);
	assert_int_equal(parse("--keep 0", 0), 0);
	assert_int_equal(own.keep_us, 0);
	assert_int_equal(parse("--keep -1", 0), ERR_USAGE);
	assert_int_equal(parse("--span 0", 0), ERR_USAGE);
}

TEST(a_span_may_be_optional)
{
	assert_int_equal(parse("--every", 0), 0);
	assert_int_equal(own.every_us, 1000000);
	assert_int_equal(parse("--every=200ms --flag", 0), 0);
	assert_int_equal(own.every_us, 200000);
	assert_true(own.flag);
	assert_int_equal(parse("--every=0", 0), 0);
	assert_int_equal(own.every_us, 0);
	assert_int_equal(parse("--every=x", 0), ERR_USAGE);
	/* The next word is an argument. */
	assert_int_equal(parse("--every 5s", 0), 0);
	assert_int_equal(own.every_us, 1000000);
	assert_int_equal(options.argc, 1);
}

TEST(every_option_is_parsed)
{
	assert_int_equal(parse("-C mlx5_3 -P 2 --timeout 250 --node-name-map=m --db d --format json --color always "
			       "--since -10m --until -1m -f --text=x --number 7 --span 5m",
			       everything), 0);
	assert_string_equal(options.ca, "mlx5_3");
	assert_int_equal(options.port, 2);
	assert_int_equal(options.timeout_ms, 250);
	assert_string_equal(options.names_path, "m");
	assert_string_equal(options.db, "d");
	assert_int_equal(options.format, RESULT_JSON);
	assert_int_equal(options.color, COLOR_ALWAYS);
	assert_true(options.since_us == options.now_us - 600 * 1000000LL);
	assert_true(options.until_us == options.now_us - 60 * 1000000LL);
	assert_true(own.flag);
	assert_string_equal(own.text, "x");
	assert_int_equal(own.number, 7);
	assert_true(own.span_us == 300 * 1000000LL);
}

TEST(no_arguments_set_nothing)
{
	assert_int_equal(parse("", everything), 0);
	assert_null(options.ca);
	assert_null(options.db);
	assert_int_equal(options.format, RESULT_TABLE);
	assert_int_equal(options.color, COLOR_AUTO);
	assert_true(options.at_us == 0 && options.since_us == 0 && options.until_us == 0);
	assert_int_equal(options.argc, 0);
}

TEST(arguments_and_options_may_be_mixed)
{
	assert_int_equal(parse("one --format=csv two -fn9 -- --three", everything), 0);
	assert_int_equal(options.argc, 3);
	assert_string_equal(options.argv[0], "one");
	assert_string_equal(options.argv[1], "two");
	assert_string_equal(options.argv[2], "--three");
	assert_true(own.flag);
	assert_int_equal(own.number, 9);
	assert_int_equal(options.format, RESULT_CSV);
	assert_false(options.csv_raw);
	assert_int_equal(parse("--csv-raw", everything), 0);
	assert_int_equal(options.format, RESULT_CSV);
	assert_true(options.csv_raw);
	assert_int_equal(parse("--csv-raw --format json", everything), ERR_USAGE);
}

TEST(unique_abbreviation_is_accepted)
{
	assert_int_equal(parse("--form json --num=3", everything), 0);
	assert_int_equal(options.format, RESULT_JSON);
	assert_int_equal(own.number, 3);
	assert_int_equal(parse("--n 3", everything), ERR_USAGE);
	assert_non_null(strstr(err.text, "ambiguous"));
}

/* Command lines and a part of the expected error. */
static const struct {
	const char *line, *word;
} refused[] = {
	{ "--fromat json", "did you mean '--format'" },
	{ "--colour always", "did you mean '--color'" },
	{ "--untill now", "did you mean '--until'" },
	{ "--follow", "unknown option '--follow': 'ibwire top' is the live view (" }, /* not --color */
	{ "--json", "did you mean '--format json'" },
	{ "--from -1h", "did you mean '--since'" },
	{ "--order load", "unknown option '--order' (" },
	{ "--ofrmat json", "did you mean '--format'" },
	{ "--zzzzzz", "unknown option '--zzzzzz'" },
	{ "--zzzzzz=1", "unknown option '--zzzzzz'" },
	{ "-z", "'-z'" },
	{ "-fz", "'-z'" },
	{ "--db", "--db requires a value" },
	{ "-P", "-P requires a value" },
	{ "--flag=yes", "--flag does not take a value" },
	{ "--format jsno", "did you mean 'json'" },
	{ "--csv-raw=yes", "--csv-raw does not take a value" },
	{ "--format xml", "table, json or csv" },
	{ "--color red", "auto, always or never" },
	{ "--number 1", "at least 2" },
	{ "--number 3x", "'3x'" },
	{ "--number=", "''" },
	{ "--number 99999999999999999999", "999" },
	{ "--span often", "often" },
	{ "-P -1", "0 to 255" },
	{ "-P 256", "0 to 255" },
	{ "-t 0", "1 to 600000" },
	{ "--since soon", "soon" },
	{ "--at -1h --until -2h", "--at and --until" },
	{ "--since -1h --until -2h", "--since" },
	{ "--since -1h --at -2h", "--since" },
};

/* One line of a terminal, too: the usage is in --help. */
TEST(invalid_option_is_one_short_line)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(parse(refused[i].line, everything), ERR_USAGE);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, refused[i].word));
		assert_non_null(strstr(err.text, "ports"));
		assert_null(strchr(err.text, '\n'));
		if (strlen(err.text) > 110)
			fail_msg("%s: %zu columns: %s", refused[i].line, strlen(err.text), err.text);
	}
}

TEST(unsupported_common_option_is_unknown)
{
	assert_int_equal(parse("--Ca mlx5_0", COMMON_SHOW), ERR_USAGE);
	assert_int_equal(parse("-C mlx5_0", COMMON_SHOW), ERR_USAGE);
	assert_int_equal(parse("--since -1h", COMMON_SHOW), ERR_USAGE);
	assert_int_equal(parse("--format json", COMMON_DB), ERR_USAGE);
}

TEST(parser_restarts_after_an_error)
{
	assert_int_equal(parse("-fz a", everything), ERR_USAGE);
	assert_int_equal(parse("a -f", everything), 0);
	assert_true(own.flag);
	assert_int_equal(options.argc, 1);
}

/* The text of a command's --help. */
static char *help_of(const struct command *one)
{
	char *text = NULL;
	size_t size = 0;
	struct call_context context = { .out = open_memstream(&text, &size) };

	assert_non_null(context.out);
	assert_int_equal(command_call(&context, 2, (char *[]){ (char *)one->name, (char *)"--help", NULL }, NULL),
			 0);
	fclose(context.out);
	return text;
}

/*
 * Number @change of the words with one letter missing, doubled or exchanged with the next one.
 * Return: is there one? Of two letters several words are equally near; they are not tried.
 */
static bool mistype(const char *word, size_t change, char *ret)
{
	size_t len = strlen(word), at = change / 3;

	if (at >= len)
		return false;
	strcpy(ret, word);
	if (change % 3 == 0)
		memmove(ret + at, ret + at + 1, len - at);
	else if (change % 3 == 1)
		memmove(ret + at + 1, ret + at, len - at + 1);
	else if (at + 1 < len)
		ret[at] = word[at + 1], ret[at + 1] = word[at];
	return true;
}

/* Is this a word of the list, or the beginning of one? */
static bool begins_one(char words[][40], size_t count, const char *typed)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(words[i], typed, strlen(typed)))
			return true;
	return false;
}

/* Words of the list that are one letter away. */
static size_t count_near(char words[][40], size_t count, const char *typed)
{
	size_t near = 0;

	for (size_t i = 0; i < count; i++)
		near += text_distance(words[i], typed) <= 1;
	return near;
}

TEST(a_mistyped_option_has_itself_as_hint)
{
	static char words[64][40];
	char typed[48], wanted[64 + 40], option[64];
	size_t tried = 0;

	for (const struct command *one = commands_all(); one->name; one++) {
		char *help = one->hidden ? strdup("") : help_of(one), *save = NULL;
		size_t count = 0;

		for (char *line = strtok_r(help, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			const char *found = line[0] == ' ' ? strstr(line, "--") : NULL;

			if (found && count < 64 && found - line < 10 &&
			    sscanf(found + 2, "%39[A-Za-z0-9-]", words[count]) == 1)
				count++;
		}
		for (size_t i = 0; i < count; i++)
			for (size_t change = 0; mistype(words[i], change, typed); change++) {
				struct call_context context = { .out = stdout };

				if (strlen(typed) < 3 || begins_one(words, count, typed) ||
				    count_near(words, count, typed) > 1)
					continue;
				snprintf(option, sizeof(option), "--%s", typed);
				snprintf(wanted, sizeof(wanted), "did you mean '--%.39s'", words[i]);
				memset(&err, 0, sizeof(err));
				assert_int_equal(command_call(&context, 2,
							      (char *[]){ (char *)one->name, option, NULL }, &err),
						 ERR_USAGE);
				if (!strstr(err.text, wanted))
					fail_msg("%s %s: %s", one->name, option, err.text);
				tried++;
			}
		free(help);
	}
	assert_true(tried > 1000);
}

TEST(a_mistyped_command_has_itself_as_hint)
{
	static char words[64][40];
	char typed[48], wanted[80];
	size_t count = 0;

	for (const struct command *one = commands_all(); one->name; one++)
		if (!one->hidden)
			snprintf(words[count++], sizeof(words[0]), "%s", one->name);
	for (size_t i = 0; i < count; i++)
		for (size_t change = 0; mistype(words[i], change, typed); change++) {
			if (strlen(typed) < 3 || command_find(typed) || count_near(words, count, typed) > 1)
				continue;
			snprintf(wanted, sizeof(wanted), "did you mean '%s'", words[i]);
			assert_int_equal(command_unknown(typed, &err), ERR_USAGE);
			if (!strstr(err.text, wanted))
				fail_msg("%s: %s", typed, err.text);
		}
}

TEST(a_word_of_another_program_has_ours_as_hint)
{
	static const char *const words[][2] = {
		{ "host", "'nodes'" }, { "switches", "'nodes'" }, { "link", "'links'" }, { "port", "'ports'" },
		{ "error", "'errors'" }, { "watch", "'top'" }, { "route", "'topology route'" },
		{ "alerts", "'health'" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(command_unknown(words[i][0], &err), ERR_USAGE);
		assert_non_null(strstr(err.text, words[i][1]));
	}
}

static const char *nearest(const char *typed, ...)
{
	struct nearest found;
	const char *word;
	va_list words;

	nearest_init(&found, typed);
	va_start(words, typed);
	while ((word = va_arg(words, const char *)))
		nearest_offer(&found, word);
	va_end(words);
	return found.best;
}

TEST(nearest_match_is_suggested)
{
	assert_string_equal(nearest("prots", "nodes", "ports", "links", NULL), "ports");
	assert_string_equal(nearest("link", "nodes", "ports", "links", NULL), "links");
	assert_string_equal(nearest("event", "events", "ports", NULL), "events");
	assert_string_equal(nearest("stat", "status", "ports", NULL), "status");
	assert_string_equal(nearest("nod", "node_guid", "node", "node_name", NULL), "node");
	assert_string_equal(nearest("portsx", "status", "ports", NULL), "ports");
	assert_null(nearest("xyzzyx", "status", "ports", "sql", NULL));
	assert_null(nearest("", "status", "sql", NULL));
	assert_null(nearest("ab", "cd", "sql", NULL));
}

TEST(every_command_is_found_and_has_a_summary)
{
	const struct command *one;

	for (one = commands_all(); one->name; one++) {
		assert_ptr_equal(command_find(one->name), one);
		assert_non_null(one->run);
		assert_true(one->summary && *one->summary && one->args);
	}
	assert_null(command_find("prots"));
	assert_int_equal(command_unknown("prots", &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "'ports'"));
	/* Hidden commands are not suggested. */
	assert_int_equal(command_unknown("discove", &err), ERR_USAGE);
	assert_null(strstr(err.text, "'discover'"));
}

TEST(labels_have_a_name_and_a_value)
{
	static const char *const wrong[] = { "fabric", "=a", "fabric=", "__name__=a", "A=b", "a-b=c", "1=2", "" };
	const struct option_list list = { .items = { "fabric=a=b \"c\"", "site_2=x" }, .count = 2 };
	struct option_label labels[2];
	struct text chars = { 0 };

	assert_int_equal(options_labels(&list, labels, &chars, NULL), 0);
	assert_string_equal(labels[0].name, "fabric");
	assert_string_equal(labels[0].value, "a=b \"c\"");
	assert_string_equal(labels[1].name, "site_2");
	assert_string_equal(labels[1].value, "x");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		text_clear(&chars);
		assert_int_equal(options_labels(&(struct option_list){ { wrong[i] }, 1 }, labels, &chars, NULL),
				 ERR_USAGE);
	}
	text_clear(&chars);
	assert_int_equal(options_labels(&(struct option_list){ { "a=1", "a=2" }, 2 }, labels, &chars, NULL), ERR_USAGE);
	text_done(&chars);
}
