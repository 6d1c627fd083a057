/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Begin and end of alerts, the body of a request, and alerts that are read from the list of Alertmanager. */
#include "base/unit_test.h"
#include "cli/alert/alert_set.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/findings.h"

#define T0 (INT64_C(1800000000) * US_PER_S)

static const struct option_label fabric_a[] = { { "fabric", "a" } };

static struct finding_row row_of(int64_t id, enum finding_severity severity, const char *subject)
{
	struct finding_row row = { .opened_us = T0, .finding = { .id = id, .kind = FINDING_LINK_DEGRADED,
				   .severity = severity, .cause = "", .advice = "" } };

	snprintf(row.finding.subject, sizeof(row.finding.subject), "%s", subject);
	return row;
}

/* An update with one finding, or none. */
static void update(struct alert_set *set, const struct finding_row *row, int64_t now_us)
{
	alert_set_begin(set);
	if (row)
		assert_true(alert_set_add(set, row, true));
	alert_set_end(set, now_us);
}

static void assert_written(const struct alert_set *set, const char *wanted)
{
	struct text text = { 0 };

	alert_set_write(set, T0 + 300 * US_PER_S, &text);
	assert_string_equal(text_chars(&text), wanted);
	text_done(&text);
}

#define LABELS(severity, subject) "{\"labels\":{\"alertname\":\"link-degraded\",\"fabric\":\"a\",\"finding\":\"7\"," \
	"\"severity\":\"" severity "\",\"subject\":\"" subject "\"},\"annotations\":"
#define BEGAN ",\"startsAt\":\"2027-01-15T08:00:00.000000Z\""
#define LATER ",\"endsAt\":\"2027-01-15T08:05:00.000000Z\"}"

TEST(a_finding_that_ends_before_it_was_sent_is_forgotten)
{
	struct alert_set set = { .labels = fabric_a, .label_count = 1 };
	struct finding_row row = row_of(7, FINDING_WARNING, "leaf1");

	update(&set, &row, T0);
	assert_true(set.is_changed);
	assert_written(&set, "[" LABELS("warning", "leaf1") "{}" BEGAN LATER "]");
	update(&set, NULL, T0 + US_PER_S);
	assert_written(&set, "[]");
	alert_set_done(&set);
}

TEST(a_clearing_finding_keeps_its_alert_and_begins_none)
{
	struct alert_set set = { .labels = fabric_a, .label_count = 1 };
	struct finding_row row = row_of(7, FINDING_WARNING, "leaf1"), other = row_of(8, FINDING_CRITICAL, "leaf2");

	update(&set, &row, T0);
	alert_set_sent(&set, T0);
	alert_set_begin(&set);
	assert_true(alert_set_add(&set, &row, false));
	assert_true(alert_set_add(&set, &other, false));
	alert_set_end(&set, T0 + US_PER_S);
	assert_false(set.is_changed);
	assert_written(&set, "[" LABELS("warning", "leaf1") "{}" BEGAN LATER "]");
	/* Once it has ended, it does not begin again. */
	update(&set, NULL, T0 + 2 * US_PER_S);
	alert_set_sent(&set, T0 + 2 * US_PER_S);
	alert_set_begin(&set);
	assert_true(alert_set_add(&set, &row, false));
	alert_set_end(&set, T0 + 3 * US_PER_S);
	assert_false(set.is_changed);
	alert_set_done(&set);
}

TEST(the_end_of_an_alert_is_sent_for_15_minutes)
{
	struct alert_set set = { .labels = fabric_a, .label_count = 1 };
	struct finding_row row = row_of(7, FINDING_WARNING, "leaf1");

	update(&set, &row, T0);
	alert_set_sent(&set, T0);
	update(&set, &row, T0);
	assert_false(set.is_changed);
	update(&set, NULL, T0 + 20 * US_PER_S);
	assert_true(set.is_changed);
	alert_set_close(&set, 7, T0 + 10 * US_PER_S);
	assert_written(&set, "[" LABELS("warning", "leaf1") "{}" BEGAN ",\"endsAt\":\"2027-01-15T08:00:10.000000Z\"}]");
	alert_set_sent(&set, T0 + 900 * US_PER_S);
	assert_int_equal(set.count, 1);
	/* It opens again. */
	update(&set, &row, T0 + 900 * US_PER_S);
	assert_true(set.is_changed);
	assert_written(&set, "[" LABELS("warning", "leaf1") "{}" BEGAN LATER "]");
	update(&set, NULL, T0 + 901 * US_PER_S);
	alert_set_sent(&set, T0 + 1900 * US_PER_S);
	assert_int_equal(set.count, 0);
	alert_set_done(&set);
}

TEST(a_critical_finding_that_was_a_warning_ends_only_the_warning)
{
	struct alert_set set = { .labels = fabric_a, .label_count = 1 };
	struct finding_row row = row_of(7, FINDING_WARNING, "leaf1");

	update(&set, &row, T0);
	alert_set_sent(&set, T0);
	row.finding.severity = FINDING_CRITICAL;
	update(&set, &row, T0 + US_PER_S);
	assert_written(&set, "[" LABELS("warning", "leaf1") "{}" BEGAN ",\"endsAt\":\"2027-01-15T08:00:01.000000Z\"},"
		       LABELS("critical", "leaf1") "{}" BEGAN LATER "]");
	alert_set_done(&set);
}

TEST(a_start_after_the_end_is_left_out)
{
	struct alert_set set = { .labels = fabric_a, .label_count = 1 };
	struct finding_row row = row_of(7, FINDING_WARNING, "leaf1");

	row.opened_us = T0 + 3600 * US_PER_S;
	update(&set, &row, T0);
	assert_written(&set, "[" LABELS("warning", "leaf1") "{}" LATER "]");
	alert_set_done(&set);
}

TEST(a_listed_alert_is_the_same_as_its_finding_whatever_the_subject_is)
{
	static const struct { const char *subject, *listed; } cases[] = {
		{ "leaf1", "leaf1" }, { "a\"b\\c", "a\\\"b\\\\c" }, { "<&>", "\\u003c\\u0026\\u003e" },
		{ "\n\t", "\\n\\t" }, { "\xc3\xa9\xf0\x9f\x98\x80", "\\u00e9\\ud83d\\ude00" },
		{ "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80" },
		{ "},{\"labels\":{", "},{\\\"labels\\\":{" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct alert_set set = { .labels = fabric_a, .label_count = 1 };
		struct finding_row row = row_of(7, FINDING_WARNING, cases[i].subject);
		char list[1024];

		snprintf(list, sizeof(list), "[{\"fingerprint\":\"x\",\"labels\":{\"alertname\":\"link-degraded\","
			 "\"fabric\":\"a\",\"finding\":\"7\",\"severity\":\"warning\",\"subject\":\"%s\"}}]",
			 cases[i].listed);
		assert_int_equal(alert_set_learn(&set, list, NULL), 0);
		assert_int_equal(set.count, 1);
		update(&set, &row, T0);
		assert_int_equal(set.count, 1);
		assert_int_equal(set.list[0].ends_us, 0);
		update(&set, NULL, T0);
		assert_int_equal(set.list[0].ends_us, T0);
		alert_set_done(&set);
	}
}

#define LISTED(labels) "[{\"labels\":" labels "}]"
#define OURS "\"alertname\":\"x\",\"finding\":\"1\",\"severity\":\"warning\",\"subject\":\"s\""

TEST(alerts_of_others_and_damaged_lists_are_left_out)
{
	static const struct { const char *list; int code; size_t count; } cases[] = {
		{ LISTED("{" OURS ",\"fabric\":\"a\"}"), 0, 1 }, { LISTED("{" OURS ",\"fabric\":\"b\"}"), 0, 0 },
		{ LISTED("{" OURS "}"), 0, 0 }, { LISTED("{" OURS ",\"fabric\":\"a\",\"more\":\"x\"}"), 0, 0 },
		{ LISTED("{" OURS ",\"fabric\":\"a\""), 0, 1 }, { LISTED("{" OURS ",\"fabric\":\"a"), 0, 0 },
		{ LISTED("{" OURS ",\"fabric\":\"\\"), 0, 0 }, { LISTED("{" OURS ",\"fabric\":\"\\u12"), 0, 0 },
		{ LISTED("{" OURS ",\"fabric\":1}"), 0, 0 }, { LISTED("{}"), 0, 0 },
		{ LISTED("{\"a\":{\"b\":1}}"), 0, 0 },
		{ "[]", 0, 0 }, { "[", 0, 0 }, { "", ERR_IO, 0 }, { "<html>", ERR_IO, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct alert_set set = { .labels = fabric_a, .label_count = 1 };
		struct error err;

		if (alert_set_learn(&set, cases[i].list, &err) != cases[i].code || set.count != cases[i].count)
			fail_msg("%s", cases[i].list);
		alert_set_done(&set);
	}
}
