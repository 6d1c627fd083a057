/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject_finding.c - all that is known of a finding */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/finding_columns.h"
#include "pages/health.h"
#include "pages/subject.h"
#include "storage/findings.h"

enum { FIELDS_MOST = 20 };

struct fields {
	struct page *page;
	struct page_field *list;
	size_t count;
};

/* Without a value there is no field. */
static struct page_field *add(struct fields *fields, const char *name, const char *value)
{
	struct page_field *field = &fields->list[fields->count];

	*field = (struct page_field){ .name = name, .value = value };
	fields->count += value && *value;
	return field;
}

static void add_times(struct fields *fields, const struct finding_row *row, int64_t shown_us)
{
	const struct finding *finding = &row->finding;
	char at[WHEN_SIZE], span[WHEN_SIZE], last[FINDING_INCREASE_SIZE], peak[FINDING_PEAK_SIZE];
	int64_t open_us = shown_us - finding->since_us, from_us, until_us;
	struct page *page = fields->page;

	add(fields, "since", page_print(page, "%s, for %s", when_format_local(finding->since_us, at),
					when_format_span(open_us > 0 ? open_us : 0, span)));
	if (row->opened_us != finding->since_us)
		add(fields, "reported", page_print(page, "%s", when_format_local(row->opened_us, at)));
	if (finding_window(finding, &from_us, &until_us))
		add(fields, "measured", page_print(page, "%s to %s", when_format_local(from_us, at),
						   when_format_local(until_us, span)));
	else if (row->measured_us != shown_us)
		add(fields, "measured", page_print(page, "%s", when_format_local(row->measured_us, at)));
	if (*finding_format_peak_time(row, shown_us, peak))
		add(fields, "peak", page_print(page, "%s", peak));
	if (*finding_format_increase(finding, shown_us, last))
		add(fields, "last increase", page_print(page, "%s: %s", when_format_local(finding->increased_us, at),
							last));
	if (finding->ok_since_us)
		add(fields, "ok since",
		    page_print(page, "%s: closes at the end of its recovery window%s",
			       when_format_local(finding->ok_since_us, at),
			       finding->increased_us ? ", after its count has left the measured window" : ""));
}

/* Keys end in their unit: "measured percent 59.18". */
static const char *numbers_of(const struct finding *finding, struct page *page)
{
	struct text text = { 0 };

	for (unsigned i = 0; i < finding->number_count; i++) {
		double value = finding->numbers[i].value;
		char key[64];

		/* The window and the thresholds are lines of their own. */
		if ((!strncmp(finding->numbers[i].key, "window_", 7) && strstr(finding->numbers[i].key, "_us")) ||
		    !strncmp(finding->numbers[i].key, FINDING_THRESHOLD, strlen(FINDING_THRESHOLD)))
			continue;
		snprintf(key, sizeof(key), "%s", finding->numbers[i].key);
		for (char *c = key; *c; c++)
			if (*c == '_')
				*c = ' ';
		text_appendf(&text, "%s%s ", text.len ? ", " : "", key);
		if (isnan(value))
			text_append(&text, "unknown");
		else
			text_appendf(&text, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.4g", value);
	}
	return page_keep(page, &text);
}

static const char *hosts_of(const struct finding *finding, struct page *page)
{
	struct text text = { 0 };

	if (!finding->affected_hosts)
		return NULL;
	finding_append_hosts(finding, &text);
	return page_keep(page, &text);
}

static const char *acknowledgement_of(const struct acknowledgement *ack, struct page *page)
{
	char at[WHEN_SIZE], until[WHEN_SIZE];

	if (!ack->at_us)
		return "no";
	return page_print(page, "by %s at %s, %s%s%s%s", ack->person[0] ? ack->person : "unknown user",
			  when_format_local(ack->at_us, at), ack->until_us ? "until " : "until revoked",
			  ack->until_us ? when_format_local(ack->until_us, until) : "", ack->reason[0] ? ": " : "",
			  ack->reason);
}

/* Findings that are folded under this one, or the one above it. */
static bool is_related(const void *ctx, const struct finding_row *other)
{
	const struct finding_row *row = ctx;

	return other->origin == row->finding.id || other->finding.id == row->origin;
}

/* What it would cost to take a degraded link out. */
static const char *cost_of(const struct subject_facts *facts, const struct finding *finding, struct page *page)
{
	struct text text = { 0 };

	if (facts->scope.shape)
		health_append_cost(facts->scope.shape, finding, &text);
	return text.len || text_failed(&text) ? page_keep(page, &text) : NULL;
}

void subject_add_finding(const struct subject_facts *facts, const struct finding_row *row, const char *place,
			 struct page *page)
{
	static const enum page_state states[] = { PAGE_INFO, PAGE_WARNING, PAGE_CRITICAL };
	const struct finding *finding = &row->finding;
	const struct finding_kind_info *info = finding_kind_info(finding->kind);
	bool counts = !row->acknowledged.at_us && finding_phase(finding) == FINDING_PHASE_ACTIVE;
	struct fields fields = { page, page_alloc(page, FIELDS_MOST, sizeof(*fields.list)), 0 };
	char thresholds[160];

	if (!fields.list)
		return;
	page_add(page, &(struct page_section){
		.kind = PAGE_NOTE, .in = PAGE_TEXT, .state = counts ? states[finding->severity] : PAGE_PLAIN,
		.note = page_print(page, "%s %s  %s",
				   finding->ok_since_us ? "clearing" : finding_severity_name(finding->severity),
				   finding_kind_name(finding->kind), finding->subject) });
	*add(&fields, "at", place) = (struct page_field){ .name = "at", .value = place, .id = (uint64_t)finding->id,
							  .number = TARGET_FINDING_PLACE };
	add(&fields, "evidence", finding->text);
	add_times(&fields, row, facts->scope.snapshot->sweep.wall_us);
	add(&fields, "cause", finding->cause)->state = PAGE_INFO;
	add(&fields, "action", finding->advice);
	add(&fields, "without it", cost_of(facts, finding, page));
	add(&fields, "affects", hosts_of(finding, page));
	add(&fields, "numbers", numbers_of(finding, page));
	add(&fields, "acknowledged", acknowledgement_of(&row->acknowledged, page));
	add(&fields, "description", info->means);
	if (finding_format_thresholds(finding, thresholds))
		add(&fields, "thresholds", page_print(page, "%s", thresholds));
	add(&fields, "by default", info->limits);
	add(&fields, "rationale", info->reason);
	page_add(page, &(struct page_section){ .kind = PAGE_FIELDS, .in = PAGE_TEXT,
					       .fields = { fields.list, fields.count } });
	subject_add_some_findings(facts, row->origin ? "Probable origin" : "Related", NULL, is_related, row, page);
}
