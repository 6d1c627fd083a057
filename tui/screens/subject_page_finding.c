/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* detail_finding.c - everything that is said of one finding */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "base/when.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"

/* Columns of the words on the left. */
enum { LABEL = 14 };

static void put_times(struct page *page, const struct finding_row *row, int64_t shown_us)
{
	const struct finding *finding = &row->finding;
	char at[WHEN_SIZE], span[WHEN_SIZE], text[256];
	int64_t open_us = shown_us - finding->since_us;

	snprintf(text, sizeof(text), "%s, for %s", when_format_local(finding->since_us, at),
		 when_format_span(open_us > 0 ? open_us : 0, span));
	page_field(page, NULL, "since", LABEL, ROLE_TEXT, text);
	if (row->opened_us != finding->since_us)
		page_field(page, NULL, "told first", LABEL, ROLE_TEXT, when_format_local(row->opened_us, at));
	page_field(page, NULL, "last seen", LABEL, ROLE_TEXT, when_format_local(finding->last_seen_us, at));
}

/* Keys have their unit at the end: "measured percent 59.18". */
static void put_numbers(struct page *page, const struct finding *finding)
{
	struct text text = { 0 };

	for (unsigned i = 0; i < finding->number_count; i++) {
		double value = finding->numbers[i].value;
		char key[64];

		snprintf(key, sizeof(key), "%s", finding->numbers[i].key);
		for (char *c = key; *c; c++)
			if (*c == '_')
				*c = ' ';
		text_appendf(&text, "%s%s ", i ? ", " : "", key);
		if (isnan(value))
			text_append(&text, "not known");
		else
			text_appendf(&text, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.4g", value);
	}
	page_field(page, NULL, "numbers", LABEL, ROLE_TEXT, text_chars(&text));
	text_done(&text);
}

static void put_hosts(struct page *page, const struct finding *finding)
{
	struct text text = { 0 };

	if (!finding->hosts_touched)
		return;
	text_appendf(&text, "%u: ", finding->hosts_touched);
	for (unsigned i = 0; i < finding->host_count; i++)
		text_appendf(&text, "%s%s", i ? ", " : "", finding->hosts[i]);
	if (finding->hosts_touched > finding->host_count)
		text_append(&text, ", ...");
	page_field(page, NULL, "hosts touched", LABEL, ROLE_TEXT, text_chars(&text));
	text_done(&text);
}

static void put_acknowledgement(struct page *page, const struct finding_row *row)
{
	const struct acknowledgement *known = &row->acknowledged;
	char at[WHEN_SIZE], until[WHEN_SIZE], text[512];

	if (!known->at_us) {
		page_field(page, NULL, "acknowledged", LABEL, ROLE_FAINT, "by nobody");
		return;
	}
	snprintf(text, sizeof(text), "by %s at %s, %s%s%s%s", known->person[0] ? known->person : "somebody",
		 when_format_local(known->at_us, at), known->until_us ? "until " : "until it is taken back",
		 known->until_us ? when_format_local(known->until_us, until) : "", known->reason[0] ? ": " : "",
		 known->reason);
	page_field(page, NULL, "acknowledged", LABEL, ROLE_TEXT, text);
}

void detail_put_finding(struct detail *detail, const struct app *app, const struct finding_row *row)
{
	const struct finding *finding = &row->finding;
	const struct finding_kind_info *info = finding_kind_info(finding->kind);
	const struct subject place = subject_of_finding(row), self = { .kind = SUBJECT_FINDING, .id = finding->id };
	struct page *page = &detail->page;
	enum role role = finding->severity == FINDING_CRITICAL ? ROLE_CRITICAL :
			 finding->severity == FINDING_WARNING  ? ROLE_WARNING : ROLE_STRONG;
	char name[NODE_NAME_SIZE * 2 + 16];
	int x;

	page_line(page, &self);
	x = page_putf(page, 0, row->acknowledged.at_us ? ROLE_FAINT : role, "%s",
		      finding_severity_name(finding->severity));
	x = page_putf(page, x + 1, ROLE_STRONG, "%s", finding_kind_name(finding->kind));
	page_putf(page, x + 2, ROLE_STRONG, "%s", finding->subject);
	page_field(page, &place, "at", LABEL, ROLE_TEXT, subject_name(app, &place, name, sizeof(name)));
	page_field(page, NULL, "seen", LABEL, ROLE_TEXT, finding->text);
	put_times(page, row, app->live.shown->sweep.wall_us);
	page_field(page, NULL, "cause", LABEL, ROLE_STRONG, finding->cause);
	page_field(page, NULL, "what to do", LABEL, ROLE_TEXT, finding->advice);
	put_hosts(page, finding);
	put_numbers(page, finding);
	put_acknowledgement(page, row);
	page_field(page, NULL, "it means", LABEL, ROLE_FAINT, info->means);
	page_field(page, NULL, "told when", LABEL, ROLE_FAINT, info->limits);
	page_field(page, NULL, "why so", LABEL, ROLE_FAINT, info->reason);
}
