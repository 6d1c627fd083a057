/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "analysis/health.h"
#include "base/unit_test.h"

TEST(each_kind_has_an_explanation)
{
	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
		const struct finding_kind_info *info = finding_kind_info((enum finding_kind)kind);

		assert_int_equal(finding_kind_find(finding_kind_name((enum finding_kind)kind)), kind);
		assert_true(strlen(info->means) > 10 && strlen(info->limits) > 3 && strlen(info->reason) > 10);
		assert_true(strlen(info->advice) > 5);
		assert_null(strchr(info->reason, '\n'));
		assert_int_equal(strspn(info->name, "abcdefghijklmnopqrstuvwxyz-"), strlen(info->name));
	}
	assert_int_equal(finding_kind_find("link-weary"), -1);
}

TEST(the_worst_comes_first_and_then_the_oldest)
{
	struct finding list[] = {
		{ .kind = FINDING_LOCKED, .severity = FINDING_INFO, .since_us = 1 },
		{ .kind = FINDING_CONGESTION, .severity = FINDING_WARNING, .since_us = 9 },
		{ .kind = FINDING_LINK_DOWN, .severity = FINDING_WARNING, .since_us = 5, .port = 2 },
		{ .kind = FINDING_LINK_DOWN, .severity = FINDING_WARNING, .since_us = 5, .port = 1 },
		{ .kind = FINDING_SM_LOST, .severity = FINDING_CRITICAL, .since_us = 8 },
	};

	qsort(list, 5, sizeof(list[0]), finding_compare);
	assert_int_equal(list[0].kind, FINDING_SM_LOST);
	assert_int_equal(list[1].port, 1);
	assert_int_equal(list[2].port, 2);
	assert_int_equal(list[3].kind, FINDING_CONGESTION);
	assert_int_equal(list[4].kind, FINDING_LOCKED);
}

TEST(what_stopped_comes_after_what_is_active_and_before_what_is_clearing)
{
	struct finding list[] = {
		{ .kind = FINDING_SYMBOL_ERRORS, .severity = FINDING_CRITICAL, .since_us = 1, .ok_since_us = 5 },
		{ .kind = FINDING_RECEIVE_ERRORS, .severity = FINDING_CRITICAL, .since_us = 2, .increased_us = 3,
		  .stopped = true },
		{ .kind = FINDING_CONGESTION, .severity = FINDING_WARNING, .since_us = 9 },
	};

	qsort(list, 3, sizeof(list[0]), finding_compare);
	assert_int_equal(list[0].kind, FINDING_CONGESTION);
	assert_int_equal(list[1].kind, FINDING_RECEIVE_ERRORS);
	assert_int_equal(list[2].kind, FINDING_SYMBOL_ERRORS);
}

TEST(a_link_that_configuration_limits_needs_no_cable)
{
	const char *limited = finding_advice(FINDING_LINK_DEGRADED, FINDING_WARNING, FINDING_CAUSE_ENABLED);

	assert_non_null(strstr(finding_advice(FINDING_LINK_DEGRADED, FINDING_WARNING, "width"), "reseat"));
	assert_null(strstr(finding_advice(FINDING_NODE_SILENT, FINDING_WARNING, "host"), "switch"));
	assert_null(strstr(finding_advice(FINDING_NODE_SILENT, FINDING_CRITICAL, "switch"), "host"));
	assert_non_null(strstr(finding_advice(FINDING_NODE_SILENT, FINDING_WARNING, "refused"), "disabled"));
	assert_non_null(strstr(finding_advice(FINDING_NODE_SILENT, FINDING_CRITICAL, "own-switch"), "ibstat"));
	assert_null(strstr(limited, "reseat"));
	assert_non_null(strstr(limited, "configuration"));
}

TEST(a_peak_of_one_is_no_plural)
{
	struct finding finding = { .number_count = 1 };
	char ret[48];

	finding.numbers[0] = (struct finding_number){ "nodes_silent", 0 };
	assert_true(finding_format_peak(&finding, 1, ret));
	assert_string_equal(ret, "1 node");
	assert_true(finding_format_peak(&finding, 2, ret));
	assert_string_equal(ret, "2 nodes");
	finding.numbers[0] = (struct finding_number){ "stall_percent", 0 };
	assert_true(finding_format_peak(&finding, 1, ret));
	assert_string_equal(ret, "1 %");
	finding.numbers[0] = (struct finding_number){ "discards_per_minute", 0 };
	assert_true(finding_format_peak(&finding, 1, ret));
	assert_string_equal(ret, "1 per minute");
	finding.numbers[0] = (struct finding_number){ "fec_uncorrected_blocks_per_10min", 0 };
	assert_true(finding_format_peak(&finding, 1, ret));
	assert_string_equal(ret, "1 block in 10 min");
}

/* Each threshold of the settings has a key that ends with a unit, and is printed with it. */
TEST(thresholds_have_units)
{
	static const char *const ends[] = {
		"_percent", "_per_hour", "_per_minute", "_per_5min", "_24h", "_1h", "_ber", "_c", "_hosts",
	};
	struct health_settings settings;
	char text[160];

	health_settings_default(&settings);
	for (unsigned kind = 0; kind < FINDING_KIND_COUNT; kind++) {
		const struct health_limits *limits = &settings.limits[kind];
		const struct finding_kind_info *info = finding_kind_info((enum finding_kind)kind);

		/* Those of symbol errors depend on the rate: their rule adds them. */
		if (kind != FINDING_SYMBOL_ERRORS && (limits->warning > 0 || limits->critical > 0))
			assert_non_null(info->thresholds[limits->warning > 0 ? 0 : 1]);
		for (unsigned i = 0; i < 2 && info->thresholds[i]; i++) {
			struct finding finding = { .number_count = 1, .numbers = { { info->thresholds[i], 5 } } };
			size_t len = strlen(info->thresholds[i]), known = 0;

			for (size_t end = 0; end < sizeof(ends) / sizeof(ends[0]); end++)
				known += !strcmp(info->thresholds[i] + len - strlen(ends[end]), ends[end]);
			assert_int_equal(known, 1);
			assert_true(finding_format_thresholds(&finding, text));
			assert_true(strlen(text) > strlen(i ? "critical 5" : "warning 5"));
		}
	}
	/* As stored by an earlier version. */
	assert_true(finding_format_thresholds(&(struct finding){ .number_count = 1,
			.numbers = { { "threshold_warning", 5 } } }, text));
	assert_string_equal(text, "warning 5");
}
