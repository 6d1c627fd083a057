/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every scenario with a fault: the overview shows its finding, and at most three keys lead to cause and advice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "tests/scenarios/compare.h"
#include "tests/scenarios/files.h"
#include "tests/screen/record.h"
#include "tests/screen/stage.h"

enum { FOUND_MAX = 32, KEYS_MAX = 3 };

struct found {
	struct finding_row rows[FOUND_MAX];
	size_t count;
};

static bool add_found(void *ctx, const struct finding_row *row)
{
	struct found *found = ctx;

	if (row->finding.severity >= FINDING_WARNING && found->count < FOUND_MAX)
		found->rows[found->count++] = *row;
	return true;
}

/* All findings of a recording. */
static void read_found(struct found *ret)
{
	const struct finding_query query = { .since_us = 1, .until_us = STAGE_END_US };
	struct reader *reader;
	struct error err = { 0 };

	ret->count = 0;
	if (reader_open(path, &reader, &err) < 0 || reader_findings(reader, &query, add_found, ret, &err) < 0)
		fail_msg("%s", err.text);
	reader_close(reader);
}

static bool expects(const struct scenario *scenario, const char *kind)
{
	for (size_t i = 0; i < scenario->truth_count; i++)
		if (scenario->truths[i].expected && strstr(scenario->truths[i].kinds, kind))
			return true;
	return false;
}

/* A prefix of a text that is short enough not to be truncated. */
static const char *beginning(const char *text, size_t len, char ret[64])
{
	snprintf(ret, 64, "%.*s", (int)len, text);
	return ret;
}

/* Go from the overview to a finding's page. Return: the number of keys; 0: not listed. */
static int walk_to(int64_t id)
{
	int keys = 1;

	for (size_t i = 0; i < stage.app.context->finding_count; i++) {
		if (stage.app.context->findings[i].finding.id == id) {
			stage_keys("\r");
			return keys;
		}
		/* Consequences are on the page of their origin. */
		if (stage.app.context->findings[i].origin)
			continue;
		stage_keys("j");
		keys++;
	}
	return 0;
}

/* The finding that one is folded under, 0: none. */
static int64_t origin_of(int64_t id)
{
	for (size_t i = 0; i < stage.app.context->finding_count; i++)
		if (stage.app.context->findings[i].finding.id == id)
			return stage.app.context->findings[i].origin;
	return 0;
}

static void check_finding(const struct finding_row *row, const char *name, int rows, int columns)
{
	const char *cause = row->cause, *advice = row->advice;
	char part[64];
	int keys;

	/* A finding is shown with the sweep in which it opens. */
	stage_open(path, STAGE_END_US + US_PER_S, row->opened_us, rows, columns);
	if (origin_of(row->finding.id)) {
		assert_true(walk_to(origin_of(row->finding.id)) > 0);
		stage_draw(60, columns);
		stage_expect(finding_kind_name(row->finding.kind));
		return;
	}
	if (!stage_shows(beginning(row->finding.subject, 12, part))) {
		stage_print();
		fail_msg("%s: %s is not on the first screen of %dx%d", name, row->finding.subject, columns, rows);
	}
	if (!stage_shows(cause) && !stage_shows(finding_kind_name(row->finding.kind))) {
		stage_print();
		fail_msg("%s: neither cause nor kind is on the first screen of %dx%d", name, columns, rows);
	}
	keys = walk_to(row->finding.id);
	if (!keys || (keys <= KEYS_MAX && (!stage_shows(cause) || !stage_shows(beginning(advice, 24, part))))) {
		stage_print();
		fail_msg("%s: after %d keys cause (%s) and advice are not shown", name, keys, cause);
	}
}

static void check_file(const char *file, const char *name)
{
	struct scenario scenario;
	struct found found;
	struct error err = { 0 };
	bool expected = false, reported = false;

	if (scenario_load(file, &scenario, &err) < 0 || record_scenario(file, path, 0, STAGE_END_US, 0, NULL, &err) < 0)
		fail_msg("%s: %s", name, err.text);
	read_found(&found);
	for (size_t i = 0; i < scenario.truth_count; i++)
		expected |= scenario.truths[i].expected && strcmp(scenario.truths[i].severity, "info") != 0;
	for (size_t i = 0; i < found.count; i++) {
		if (!expects(&scenario, finding_kind_name(found.rows[i].finding.kind)))
			continue;
		reported = true;
		check_finding(&found.rows[i], name, 24, 80);
		check_finding(&found.rows[i], name, 40, 120);
	}
	if (expected && !reported && found.count == 0)
		print_message("# %s: only informational findings\n", name);
	scenario_done(&scenario);
}

TEST_ON_STAGE(every_finding_is_on_the_overview_and_leads_to_its_cause)
{
	char *names[SCENARIO_FILES_MAX];
	size_t count = scenario_files(names), checked = 0;

	for (size_t i = 0; i < count; i++) {
		char *file = scenario_file(names[i]);

		if (scenario_file_is_run(i, 9)) {
			test_folder_renew();
			check_file(file, names[i]);
			checked++;
		}
		free(file);
		free(names[i]);
	}
	assert_true(checked > 5);
}
