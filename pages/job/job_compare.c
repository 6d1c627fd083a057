/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_compare.c - the page of two jobs: what differs from an earlier run */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "pages/job/job_firmware.h"
#include "pages/job/job_page.h"
#include "pages/job/job_work.h"

/* Rates that differ by less are the same. */
#define SAME 0.05

enum { HOSTS_MOST = 8 };

/* --- numbers of a run --- */

enum value_kind { VALUE_SPAN, VALUE_SECONDS, VALUE_COUNT, VALUE_BYTES, VALUE_RATE, VALUE_PERCENT, VALUE_CV };

enum { DURATION, HOSTS, PORTS, UNUSED, BYTES, MEAN, PEAK, PERIOD, WIRE, RAILS_CV, HOSTS_CV, IMBALANCE, STALL, ERRORS,
       FINDINGS, CHANGES, METRICS };

static const struct metric_row {
	const char *key, *title;
	enum value_kind kind;
} metrics[METRICS] = {
	[DURATION] = { "duration_us", "duration", VALUE_SPAN },
	[HOSTS] = { "hosts", "hosts with traffic", VALUE_COUNT },
	[PORTS] = { "ports", "HCA ports used", VALUE_COUNT },
	[UNUSED] = { "ports_unused", "HCA ports unused", VALUE_COUNT },
	[BYTES] = { "bytes", "bytes", VALUE_BYTES },
	[MEAN] = { "mean_bytes_per_s", "mean per port", VALUE_RATE },
	[PEAK] = { "peak_bytes_per_s", "peak per port", VALUE_RATE },
	[PERIOD] = { "period_s", "iteration, median", VALUE_SECONDS },
	[WIRE] = { "wire_percent", "of the time on the wire", VALUE_PERCENT },
	[RAILS_CV] = { "rails_cv", "rails, cv", VALUE_CV },
	[HOSTS_CV] = { "hosts_cv", "hosts, cv", VALUE_CV },
	[IMBALANCE] = { "imbalance_percent", "uplinks, highest imbalance", VALUE_PERCENT },
	[STALL] = { "stall_percent", "XmitWait, highest", VALUE_PERCENT },
	[ERRORS] = { "errors", "errors on host links", VALUE_COUNT },
	[FINDINGS] = { "findings", "findings on its links", VALUE_COUNT },
	[CHANGES] = { "changes", "changes of its links", VALUE_COUNT },
};

struct comparing {
	const struct job_report *runs[2]; /* the earlier one, this one */
	bool all;                    /* every host */
	struct measure values[2][METRICS];
	const struct job_firmware *firmware; /* nodes with another one than in the earlier run */
	size_t firmware_count;
	char ids[2][4 * JOB_DISPLAY_SIZE], name[4 * JOB_NAME_SIZE];
	const char *sentence;
};

/* A table of hosts or of rails. */
struct pairs {
	const struct comparing *comparing;
	bool rails;
};

static void measure(const struct job_report *run, struct measure ret[METRICS])
{
	const struct job_sum *total = &run->total;
	uint32_t used = total->known > run->ports_unused ? total->known - run->ports_unused : 0;
	double hosts = 0, findings = 0, changes = (double)run->events_left_out;
	struct measure imbalance = MEASURE_NONE;

	for (size_t i = 0; i < run->host_count; i++)
		hosts += run->hosts[i].used > 0;
	for (size_t i = 0; i < run->group_count; i++)
		if (run->groups[i].state == BALANCE_ACTIVE)
			imbalance = measure_max(imbalance, measure_scale(run->groups[i].excess, 100));
	for (size_t i = 0; i < run->finding_count; i++)
		findings += run->findings[i].on_job && !run->findings[i].past &&
			    run->findings[i].severity >= FINDING_WARNING;
	for (size_t i = 0; i < run->event_count; i++)
		changes += run->events[i].on_job;
	for (size_t i = 0; i < METRICS; i++)
		ret[i] = measure_of(NAN, true);
	ret[DURATION] = measure_of((double)run->duration_us, true);
	/* Ports that are not exactly known may be used or not, and count in the lower bound of a mean. */
	ret[HOSTS] = measure_of(hosts, job_is_exact(total));
	ret[PORTS] = measure_of(used, job_is_exact(total));
	ret[UNUSED] = measure_of(run->ports_unused, job_is_exact(total));
	ret[BYTES] = measure_of(job_bytes(total), !total->at_least);
	if (used) {
		ret[MEAN] = measure_scale(job_mean(total), 1.0 / (total->ports - run->ports_unused));
		ret[PEAK] = measure_scale(job_peak(total), 1.0 / (total->ports - run->ports_unused));
	}
	ret[PERIOD] = measure_of(run->rhythm_median.period_s, true);
	ret[WIRE] = measure_of(run->rhythm_median.wire_percent, true);
	ret[RAILS_CV] = measure_of(run->over_rails.cv, true);
	ret[HOSTS_CV] = measure_of(run->over_hosts.cv, true);
	if (imbalance.parts)
		ret[IMBALANCE] = imbalance;
	ret[STALL] = total->stall_percent;
	if (total->known)
		ret[ERRORS] = measure_of((double)total->errors, !total->errors_at_least);
	if (run->has_history) {
		ret[FINDINGS] = measure_of(findings, true);
		ret[CHANGES] = measure_of(changes, true);
	}
}

static const char *value_text(enum value_kind kind, double value, char ret[48])
{
	if (isnan(value))
		snprintf(ret, 48, "-");
	else if (kind == VALUE_SPAN)
		when_format_span((int64_t)value, ret);
	else if (kind == VALUE_SECONDS)
		snprintf(ret, 48, "%.3g s", value);
	else if (kind == VALUE_RATE)
		rate_format_bits(value, ret, 48);
	else if (kind == VALUE_BYTES)
		result_format_bytes(value, ret, 48);
	else
		snprintf(ret, 48, kind == VALUE_COUNT ? "%.0f" : kind == VALUE_CV ? "%.2f" : "%.1f %%", value);
	return ret;
}

/* --- the sentence --- */

static double change_of(double before, double now)
{
	return before > 0 ? now / before - 1 : NAN;
}

/* Is there a line of this verdict? */
static bool has_verdict(const struct job_report *run, enum job_verdict verdict)
{
	for (size_t i = 0; i < run->verdict_count; i++)
		if (run->verdict[i].verdict == verdict && run->verdict[i].severity > FINDING_INFO)
			return true;
	return false;
}

static void append_reason(const struct comparing *comparing, struct text *text)
{
	const struct job_report *before = comparing->runs[0], *now = comparing->runs[1];

	for (size_t i = 0; i < now->verdict_count; i++) {
		const struct job_line *line = &now->verdict[i];

		if (line->severity == FINDING_INFO || has_verdict(before, line->verdict))
			continue;
		text_appendf(text, "; new: %s", line->text);
		return;
	}
	for (size_t i = 0; i < before->verdict_count; i++) {
		const struct job_line *line = &before->verdict[i];

		if (line->severity == FINDING_INFO || has_verdict(now, line->verdict))
			continue;
		text_appendf(text, "; no longer: %s", line->text);
		return;
	}
}

/* Nodes in the sentence; the table has all. */
enum { FIRMWARE_NAMED = 3 };

/* "; other firmware on 2 of its nodes: leaf01 31.2014.2084 (before 31.2012.1024), ..." */
static void append_firmware(const struct comparing *comparing, struct text *text)
{
	char now[FIRMWARE_TEXT_SIZE], before[FIRMWARE_TEXT_SIZE];

	if (!comparing->firmware_count)
		return;
	text_appendf(text, "; other firmware on %zu of its switches and HCAs: ", comparing->firmware_count);
	for (size_t i = 0; i < comparing->firmware_count && i < FIRMWARE_NAMED; i++) {
		const struct job_firmware *one = &comparing->firmware[i];

		text_appendf(text, "%s%s %s, before %s", i ? "; " : "", one->name,
			     firmware_format(&one->node->firmware, now), firmware_format(one->before, before));
	}
	if (comparing->firmware_count > FIRMWARE_NAMED)
		text_append(text, "; ...");
}

/* "; iteration 5.1 s, before 4.2 s" */
static void append_periods(const struct comparing *comparing, struct text *text)
{
	double before = comparing->values[0][PERIOD].value, now = comparing->values[1][PERIOD].value;
	char spans[2][48];

	if (fabs(change_of(before, now)) >= SAME)
		text_appendf(text, "; iteration %s, before %s", value_text(VALUE_SECONDS, now, spans[0]),
			     value_text(VALUE_SECONDS, before, spans[1]));
}

static void append_sentence(const struct comparing *comparing, struct text *text)
{
	const struct job_report *before = comparing->runs[0], *now = comparing->runs[1];
	double means[] = { measure_exact(comparing->values[0][MEAN]), measure_exact(comparing->values[1][MEAN]) };
	double change = change_of(means[0], means[1]);
	char rates[2][32];

	if (!before->total.known || !now->total.known)
		text_appendf(text, "not comparable: nothing is known of the traffic of %s",
			     now->total.known ? "the earlier run" : "this run");
	else if (isnan(means[0]) || isnan(means[1]))
		text_appendf(text, "not comparable: the traffic of %s is not exactly known",
			     isnan(means[1]) ? "this run" : "the earlier run");
	else if (isnan(change))
		text_append(text, "the earlier run had no traffic");
	else if (fabs(change) < SAME)
		text_appendf(text, "as fast as before: %s per port", rate_format_bits(means[1], rates[0], 32));
	else
		text_appendf(text, "%.0f %% %s per port: %s, before %s", 100 * fabs(change),
			     change < 0 ? "slower" : "faster", rate_format_bits(means[1], rates[0], 32),
			     rate_format_bits(means[0], rates[1], 32));
	append_periods(comparing, text);
	append_reason(comparing, text);
	if (fabs(change) >= SAME)
		append_firmware(comparing, text);
}

/* --- sections --- */

enum { METRIC_KEY, METRIC_TITLE, METRIC_BEFORE, METRIC_NOW, METRIC_CHANGE, METRIC_COLUMNS };

static void put_metrics(struct result *result, const void *ctx)
{
	const struct comparing *comparing = ctx;
	char text[2][48];

	for (size_t i = 0; i < METRICS; i++) {
		const struct metric_row *metric = &metrics[i];
		struct measure before = comparing->values[0][i], now = comparing->values[1][i];
		double change = 100 * change_of(measure_exact(before), measure_exact(now));

		result_text(result, METRIC_KEY, metric->key);
		result_show(result, METRIC_TITLE, metric->title, STYLE_PLAIN);
		result_measure(result, METRIC_BEFORE, before);
		result_show(result, METRIC_BEFORE, value_text(metric->kind, before.value, text[0]), STYLE_PLAIN);
		result_measure(result, METRIC_NOW, now);
		result_show(result, METRIC_NOW, value_text(metric->kind, now.value, text[1]), STYLE_PLAIN);
		result_real(result, METRIC_CHANGE, change);
		if (!strcmp(text[0], text[1]) || !(fabs(change) >= 0.5))
			result_show(result, METRIC_CHANGE, "", STYLE_PLAIN);
		else
			result_showf(result, METRIC_CHANGE, STYLE_STRONG, "%+.0f %%", change);
		result_end_row(result);
	}
}

static void add_metrics(const struct comparing *comparing, struct page *page)
{
	const struct column columns[METRIC_COLUMNS] = {
		[METRIC_KEY] = { .key = "metric", .kind = COLUMN_TEXT },
		[METRIC_TITLE] = { .title = "", .kind = COLUMN_TEXT },
		[METRIC_BEFORE] = { .key = "before", .title = comparing->ids[0], .kind = COLUMN_REAL,
				    .measured = true },
		[METRIC_NOW] = { .key = "now", .title = comparing->ids[1], .kind = COLUMN_REAL,
				 .measured = true },
		[METRIC_CHANGE] = { .key = "change_percent", .title = "CHANGE", .kind = COLUMN_REAL },
	};
	struct column *copy = page_alloc(page, METRIC_COLUMNS, sizeof(*copy));

	if (!copy)
		return;
	memcpy(copy, columns, sizeof(columns));
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "metrics",
					       .table = { copy, METRIC_COLUMNS, put_metrics, comparing } });
}

/* A host or rail of both runs, or of one. */
struct pair {
	const char *name;
	double rates[2]; /* mean per port; NAN: not in that run */
	double change;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	bool x_known = !isnan(x->change), y_known = !isnan(y->change);

	if (x_known != y_known)
		return x_known ? 1 : -1; /* those of one run first */
	if (x_known && fabs(x->change - y->change) >= 0.005)
		return x->change < y->change ? -1 : 1;
	return names_compare(x->name, y->name);
}

static double host_rate(const struct job_host *host)
{
	return host->used ? measure_exact(job_mean(&host->sum)) / host->used :
	       job_is_exact(&host->sum) ? 0 : NAN;
}

static double rail_rate(const struct job_rail *rail)
{
	return rail->hosts.count ? measure_exact(job_mean(&rail->sum)) / rail->hosts.count :
	       job_is_exact(&rail->sum) ? 0 : NAN;
}

static const char *member_of(const struct job_report *run, bool rails, size_t index, double *ret_rate)
{
	if (rails) {
		*ret_rate = rail_rate(&run->rails[index]);
		return run->rails[index].name;
	}
	*ret_rate = host_rate(&run->hosts[index]);
	return run->hosts[index].name;
}

static int compare_names(const void *a, const void *b)
{
	return names_compare(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

/* Merge the members of both runs by name. Return: their number. */
static size_t pair_members(const struct comparing *comparing, bool rails, struct pair *pairs)
{
	size_t counts[2], before, merged = 0;
	struct pair one, *found;

	for (int run = 0; run < 2; run++)
		counts[run] = rails ? comparing->runs[run]->rail_count : comparing->runs[run]->host_count;
	for (size_t i = 0; i < counts[0]; i++, merged++) {
		pairs[i].name = member_of(comparing->runs[0], rails, i, &pairs[i].rates[0]);
		pairs[i].rates[1] = NAN;
	}
	before = merged;
	if (before)
		qsort(pairs, before, sizeof(*pairs), compare_names);
	for (size_t i = 0; i < counts[1]; i++) {
		one = (struct pair){ .rates = { NAN, NAN } };
		one.name = member_of(comparing->runs[1], rails, i, &one.rates[1]);
		found = before ? bsearch(&one, pairs, before, sizeof(*pairs), compare_names) : NULL;
		if (found)
			found->rates[1] = one.rates[1];
		else
			pairs[merged++] = one;
	}
	for (size_t i = 0; i < merged; i++)
		pairs[i].change = change_of(pairs[i].rates[0], pairs[i].rates[1]);
	return merged;
}

enum { PAIR_NAME, PAIR_BEFORE, PAIR_NOW, PAIR_CHANGE, PAIR_COLUMNS };

#define PAIR_COLUMNS_OF(pair_key, pair_title) { \
	[PAIR_NAME] = { .key = pair_key, .title = pair_title, .kind = COLUMN_TEXT }, \
	[PAIR_BEFORE] = { .key = "before_bytes_per_s", .title = "BEFORE/PORT", .kind = COLUMN_RATE }, \
	[PAIR_NOW] = { .key = "now_bytes_per_s", .title = "NOW/PORT", .kind = COLUMN_RATE }, \
	[PAIR_CHANGE] = { .key = "change_percent", .title = "CHANGE%", .kind = COLUMN_PERCENT }, \
}

static const struct column rail_columns[PAIR_COLUMNS] = PAIR_COLUMNS_OF("rail", "RAIL");
static const struct column host_columns[PAIR_COLUMNS] = PAIR_COLUMNS_OF("host", "HOST");

static void put_pairs(struct result *result, const void *ctx)
{
	const struct pairs *of = ctx;
	const struct job_report *before = of->comparing->runs[0], *now = of->comparing->runs[1];
	bool all = of->comparing->all || result_rendering(result) != PAGE_TEXT;
	struct pair *pairs = calloc(before->host_count + now->host_count + before->rail_count + now->rail_count + 1,
				    sizeof(*pairs));
	size_t count, shown = 0;

	if (!pairs) {
		err_nomem(result_error(result));
		return;
	}
	count = pair_members(of->comparing, of->rails, pairs);
	if (count)
		qsort(pairs, count, sizeof(*pairs), of->rails ? compare_names : compare_pairs);
	for (size_t i = 0; i < count && (all || of->rails || shown < HOSTS_MOST); i++, shown++) {
		result_text(result, PAIR_NAME, pairs[i].name);
		result_real(result, PAIR_BEFORE, pairs[i].rates[0]);
		result_real(result, PAIR_NOW, pairs[i].rates[1]);
		result_real(result, PAIR_CHANGE, 100 * pairs[i].change);
		result_end_row(result);
	}
	if (shown < count)
		result_note(result, "hosts of one run only, then the slowest first; %zu more: --all", count - shown);
	free(pairs);
}

static void add_pairs(const struct comparing *comparing, bool rails, struct page *page)
{
	struct pairs *of = page_alloc(page, 1, sizeof(*of));

	if (!of)
		return;
	*of = (struct pairs){ comparing, rails };
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = PAGE_TEXT | PAGE_JSON | PAGE_HTML, .key = rails ? "rails" : "hosts",
		.table = { rails ? rail_columns : host_columns, PAIR_COLUMNS, put_pairs, of } });
}

enum { NODE_NAME, NODE_GUID, NODE_TYPE, FIRMWARE_BEFORE, FIRMWARE_NOW, FIRMWARE_COLUMNS };

static const struct column firmware_columns[FIRMWARE_COLUMNS] = {
	[NODE_NAME] = { .key = "node", .title = "NODE", .kind = COLUMN_TEXT },
	[NODE_GUID] = { .key = "node_guid", .kind = COLUMN_GUID },
	[NODE_TYPE] = { .key = "type", .title = "TYPE", .kind = COLUMN_TEXT },
	[FIRMWARE_BEFORE] = { .key = "firmware_before", .title = "FIRMWARE BEFORE", .kind = COLUMN_TEXT },
	[FIRMWARE_NOW] = { .key = "firmware_now", .title = "NOW", .kind = COLUMN_TEXT },
};

static void put_firmware(struct result *result, const void *ctx)
{
	const struct comparing *comparing = ctx;
	bool all = comparing->all || result_rendering(result) != PAGE_TEXT;
	char version[FIRMWARE_TEXT_SIZE];
	size_t shown = 0;

	for (size_t i = 0; i < comparing->firmware_count && (all || shown < HOSTS_MOST); i++, shown++) {
		const struct job_firmware *one = &comparing->firmware[i];

		result_text(result, NODE_NAME, one->name);
		result_unsigned(result, NODE_GUID, one->node->guid);
		result_text(result, NODE_TYPE, node_type_name(one->node->type));
		result_text(result, FIRMWARE_BEFORE, firmware_format(one->before, version));
		result_text(result, FIRMWARE_NOW, firmware_format(&one->node->firmware, version));
		result_end_row(result);
	}
	if (shown < comparing->firmware_count)
		result_note(result, "%zu more: --all", comparing->firmware_count - shown);
}

static void add_firmware(const struct comparing *comparing, struct page *page)
{
	if (comparing->firmware_count)
		page_add(page, &(struct page_section){
			.kind = PAGE_TABLE, .in = PAGE_TEXT | PAGE_JSON | PAGE_HTML, .key = "firmware",
			.table = { firmware_columns, FIRMWARE_COLUMNS, put_firmware, comparing } });
}

enum { BEFORE, BEFORE_NUMBER, NOW, NOW_NUMBER, NAME, TEXT, BEFORE_VERDICT, NOW_VERDICT, HEAD_COLUMNS };

static const struct column head_columns[HEAD_COLUMNS] = {
	[BEFORE] = { .key = "before", .kind = COLUMN_TEXT },
	[BEFORE_NUMBER] = { .key = "before_number", .kind = COLUMN_INTEGER },
	[NOW] = { .key = "now", .kind = COLUMN_TEXT },
	[NOW_NUMBER] = { .key = "now_number", .kind = COLUMN_INTEGER },
	[NAME] = { .key = "name", .kind = COLUMN_TEXT }, [TEXT] = { .key = "text", .kind = COLUMN_TEXT },
	[BEFORE_VERDICT] = { .key = "before_verdict", .kind = COLUMN_TEXT },
	[NOW_VERDICT] = { .key = "now_verdict", .kind = COLUMN_TEXT },
};

static void put_head(struct result *result, const void *ctx)
{
	const struct comparing *comparing = ctx;
	const struct job_report *before = comparing->runs[0], *now = comparing->runs[1];

	result_text(result, BEFORE, before->job.id);
	result_integer(result, BEFORE_NUMBER, before->job.number);
	result_text(result, NOW, now->job.id);
	result_integer(result, NOW_NUMBER, now->job.number);
	result_text(result, NAME, *comparing->name ? comparing->name : NULL);
	result_text(result, TEXT, comparing->sentence);
	result_text(result, BEFORE_VERDICT, job_verdict_name(before->verdict[0].verdict));
	result_text(result, NOW_VERDICT, job_verdict_name(now->verdict[0].verdict));
	result_end_row(result);
}

static void add_head(const struct comparing *comparing, struct page *page)
{
	const char *name = comparing->name;
	const char *title = page_print(page, "job %s%s%s%s against %s", comparing->ids[1], *name ? " (" : "", name,
				       *name ? ")" : "", comparing->ids[0]);
	double change = change_of(measure_exact(comparing->values[0][MEAN]),
				  measure_exact(comparing->values[1][MEAN]));
	struct page_sign *runs = page_alloc(page, 2, sizeof(*runs));

	if (!runs)
		return;
	for (int i = 0; i < 2; i++)
		runs[i].text = page_print(page, "%s: %s", i ? "now" : "before", comparing->runs[i]->verdict[0].text);
	page_add(page, &(struct page_section){
		.kind = PAGE_VERDICT,
		.state = change <= -SAME ? PAGE_WARNING : fabs(change) < SAME ? PAGE_GOOD : PAGE_INFO,
		.verdict = { .subject = title, .heading = title, .sentence = comparing->sentence,
			     .word = change <= -SAME ? "slower" : change >= SAME ? "faster" :
				     isnan(change) ? "unknown" : "the same",
			     .signs = runs, .sign_count = 2 },
	});
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "compare",
					       .table = { head_columns, HEAD_COLUMNS, put_head, comparing } });
}

struct page *job_compare_page(const struct job_report *before, const struct job_report *now, bool all)
{
	struct page *page = page_create("Comparison of two jobs");
	struct comparing *comparing = page_alloc(page, 1, sizeof(*comparing));
	struct text sentence = { 0 };

	if (!comparing)
		return page;
	comparing->runs[0] = before;
	comparing->runs[1] = now;
	comparing->all = all;
	measure(before, comparing->values[0]);
	measure(now, comparing->values[1]);
	job_shown(before->job.display_id, comparing->ids[0], sizeof(comparing->ids[0]));
	job_shown(now->job.display_id, comparing->ids[1], sizeof(comparing->ids[1]));
	job_shown(now->job.name, comparing->name, sizeof(comparing->name));
	comparing->firmware = job_firmware_compare(before, now, page, &comparing->firmware_count);
	append_sentence(comparing, &sentence);
	comparing->sentence = page_keep(page, &sentence);
	add_head(comparing, page);
	add_metrics(comparing, page);
	add_pairs(comparing, true, page);
	add_pairs(comparing, false, page);
	add_firmware(comparing, page);
	return page;
}
