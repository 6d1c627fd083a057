/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unsafe names from the fabric, and invalid command lines. */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/test_commands.h"

static void assert_harmless(const char *line, const char *output)
{
	struct text rest = { 0 }, after = { 0 };
	const char *at;

	for (at = output; *at; at++)
		if (*at != '\n' && *at != '\r')
			text_append_bytes(&rest, at, 1);
	text_append_escaped(&after, text_chars(&rest), rest.len);
	if (strcmp(text_chars(&rest), text_chars(&after)))
		fail_msg("%s lets something through", line);
	text_done(&rest);
	text_done(&after);
}

TEST(no_command_prints_unsafe_text)
{
	static const char *const lines[] = {
		"status", "nodes", "ports|--all", "ports|--counters", "ports|--details", "links", "events",
		"history|--since|2001-01-01", "history|--since|2001-01-01|--each|-c|errors",
		"history|--since|2001-01-01|--top|9",
		"sql|SELECT * FROM node_version", "sql|SELECT 1 AS \"\033[31m\", char(155, 8238, 127, 7)",
	};
	static const char *const formats[] = { "table", "json", "csv" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		for (size_t j = 0; j < 3; j++) {
			struct error err = { 0 };
			char line[256], *output;

			snprintf(line, sizeof(line), "%s|--format|%s", lines[i], formats[j]);
			assert_int_equal(run(line, &output, &err), 0);
			assert_true(*output);
			assert_harmless(line, output);
			free(output);
		}
	}
}

static const struct refused refused[] = {
	{ "ports|no such node", ERR_USAGE, "no such node" },
	{ "ports|0x1234567/3", ERR_USAGE, "0x1234567" },
	{ "nodes|--at|2001-01-01T00:00:00Z", ERR_UNAVAILABLE, "" },
	{ "events|no such node", ERR_USAGE, "no such node" },
	{ "events|a|b", ERR_USAGE, "one node" },
	{ "events|--kind|rubbish", ERR_USAGE, "'rubbish': see ibwire-events(1)" },
	{ "events|--kind|link-donw", ERR_USAGE, "'link-down'" },
	{ "ports|--sort|rcv_byte_per_s", ERR_USAGE, "'rcv_bytes_per_s'" },
	{ "ports|--sort|symbol_error", ERR_USAGE, "'symbol_errors'" },
	{ "ports|--sort|raw_ber", ERR_USAGE, "--details" },
	{ "ports|--details|--sort|raw_bre", ERR_USAGE, "'raw_ber'" },
	{ "ports|--details|--counters", ERR_USAGE, "mutually exclusive" },
	{ "ports|--details|no such node", ERR_USAGE, "no such node" },
	{ "status|now", ERR_USAGE, "now" },
	{ "health|--explain|link-donw", ERR_USAGE, "'link-donw'" },
	{ "health|--explain|link-donw|--format|json", ERR_USAGE, "'link-donw'" },
	{ "health|--explain|link-down|node-missing", ERR_USAGE, "'node-missing'" },
	{ "collect|--show-settings|--format|json", ERR_USAGE, "--show-settings" },
	{ "collect|--show-settings|--format|csv", ERR_USAGE, "--show-settings" },
	{ "sql", ERR_USAGE, "statement" },
	{ "sql|DELETE FROM sweep", ERR_USAGE, "" },
	{ "sql|SELECT * FROM nowhere", ERR_USAGE, "nowhere" },
	{ "nodes|--node-name-map|/nonexistent/map", ERR_IO, "/nonexistent/map" },
	{ "nodes|--node-name-map|/dev/zero", ERR_IO, "too large" },
	{ "topology|show|--settings|/dev/zero", ERR_IO, "too large" },
	{ "topology|diff|/dev/zero", ERR_IO, "too large" },
	{ "health|--gate|@/dev/zero", ERR_IO, "too large" },
};

TEST(invalid_request_is_one_error_line_without_output)
{
	assert_refused(refused, sizeof(refused) / sizeof(refused[0]));
}
