/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* call_test.c - commands in threads of one process print what they print alone */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/call.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/test_commands.h"
#include "storage/reader.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"

/* Words are separated by '|'; "AT" and "SINCE" are times of sweeps, so that the output does not depend on the clock. */
static const char *const lines[] = {
	"status|--at|AT", "status|--at|AT|--format|json", "nodes|--at|AT", "ports|--at|AT|--all",
	"ports|--at|AT|--format|csv", "ports|--at|AT|--errors", "ports|--at|AT|--counters|--format|json",
	"links|--at|AT|--format|json", "balance|--until|AT|--all", "topology|show|--at|AT",
	"topology|show|--at|AT|--format|json", "topology|dot|--at|AT", "names|suggest|--at|AT", "events|--until|AT",
	"events|--until|AT|--format|json", "health|--until|AT|--all", "health|--until|AT|--all|--format|json",
	"health|--explain|all", "history|all|--since|SINCE|--until|AT",
	"history|all|--top|5|--since|SINCE|--until|AT", "history|--html|-|--since|SINCE|--until|AT",
	"report|switch|--at|AT", "report|switch|--at|AT|--html|-", "status|--html|-|--at|AT", "db|check",
	"sql|SELECT count(*), max(id) FROM sweep", "job|list", "snapshot|list", "help", "help|ports",
	"health|--help", "ports|--no-such-option", "nodes|--at|never", "links|--format|xml", "report",
};

enum { LINES = sizeof(lines) / sizeof(*lines), WORDS = 16, AT_ONCE = 8, MOST = 4 << 20, WAIT_MS = 60000 };

static char at[WHEN_SIZE], since[WHEN_SIZE], switch_guid[32];

static struct call *start(size_t line)
{
	const struct call_settings settings = { .columns = 100, .most = MOST, .file = -1 };
	char *words = strdup(lines[line]), *word, *save = NULL;
	const char *argv[WORDS] = { NULL };
	struct call *call = NULL;
	int argc = 0;

	for (word = strtok_r(words, "|", &save); word; word = strtok_r(NULL, "|", &save))
		argv[argc++] = !strcmp(word, "AT") ? at : !strcmp(word, "SINCE") ? since :
			       !strcmp(word, "switch") ? switch_guid : word;
	if (strncmp(lines[line], "help", 4) != 0) {
		argv[argc++] = "--db";
		argv[argc] = db_path;
	}
	assert_int_equal(call_start(command_call, argv, &settings, &call, NULL), 0);
	free(words);
	return call;
}

static const struct call_result *wait_end(struct call *call)
{
	assert_true(call_wait(call, WAIT_MS));
	return call_result(call);
}

static void find_arguments(void)
{
	const struct model_sweep *last = &model->sweeps[SWEEPS - 1];

	when_format_utc(last->wall_us, at);
	when_format_utc(model->sweeps[0].wall_us - 1000000, since);
	for (size_t i = 0; i < last->fabric->node_count; i++)
		if (last->fabric->nodes[i].type == NODE_SWITCH)
			snprintf(switch_guid, sizeof(switch_guid), "0x%016llx",
				 (unsigned long long)last->fabric->nodes[i].guid);
}

TEST(commands_in_threads_print_what_they_print_alone)
{
	struct call *alone[LINES], *together[AT_ONCE] = { NULL };
	size_t which[AT_ONCE], started = 0, rounds = test_cases(20);

	find_arguments();
	for (size_t i = 0; i < LINES; i++) {
		const struct call_result *result = wait_end(alone[i] = start(i));

		if (result->code < 0 && result->code != ERR_USAGE)
			fail_msg("%s: %s", lines[i], result->err.text);
		assert_true(result->size || *result->err.text);
	}
	while (started < rounds * LINES || together[started % AT_ONCE]) {
		size_t slot = started % AT_ONCE;

		if (together[slot]) {
			const struct call_result *result = wait_end(together[slot]);
			const struct call_result *expected = call_result(alone[which[slot]]);

			assert_int_equal(result->code, expected->code);
			assert_string_equal(result->err.text, expected->err.text);
			assert_string_equal(text_chars(&result->warnings), text_chars(&expected->warnings));
			if (result->size != expected->size ||
			    memcmp(text_chars(&result->output), text_chars(&expected->output), result->size))
				fail_msg("%s: alone: %s\nin threads: %s", lines[which[slot]],
					 text_chars(&expected->output), text_chars(&result->output));
			call_destroy(together[slot]);
			together[slot] = NULL;
		}
		/* Neighbours differ in each round. */
		which[slot] = started * (started / LINES * 2 + 1) % LINES;
		if (started < rounds * LINES)
			together[slot] = start(which[slot]);
		started++;
	}
	for (size_t i = 0; i < LINES; i++)
		call_destroy(alone[i]);
}

TEST(stop_ends_the_queries_of_a_reader)
{
	atomic_bool stop = false;
	struct reader *reader;
	struct error err = { 0 };
	int64_t id = 0;

	assert_int_equal(reader_open(db_path, &reader, &err), 0);
	reader_set_stop(reader, &stop);
	assert_int_equal(reader_newest(reader, &id, &err), 0);
	assert_int_equal(id, SWEEPS);
	stop = true;
	assert_int_equal(reader_newest(reader, &id, &err), ERR_IO);
	assert_non_null(strstr(err.text, "interrupted"));
	stop = false;
	assert_int_equal(reader_newest(reader, &id, &err), 0);
	reader_close(reader);
}

/* A statement of minutes, with and without a time limit of its own. */
TEST(stop_ends_a_command_that_runs)
{
	static const char statement[] =
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
	const struct call_settings settings = { .most = MOST, .file = -1 };

	for (int i = 0; i < 2; i++) {
		const char *const argv[] = { "sql", "--db", db_path, i ? "--timeout=10m" : "--timeout=0", statement,
					     NULL };
		struct call *call = NULL;

		assert_int_equal(call_start(command_call, argv, &settings, &call, NULL), 0);
		assert_false(call_wait(call, 50));
		call_stop(call);
		assert_int_equal(wait_end(call)->code, ERR_IO);
		call_destroy(call);
	}
}
