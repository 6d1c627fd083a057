/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_levels.c - data of the ports of a job by service level */
#include <stdlib.h>

#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "facts/service_levels.h"
#include "pages/job/job_page.h"
#include "pages/job/job_work.h"

/* Data of one port in one direction. */
static void add_data(const struct level_data *data, bool sent, struct job_level *levels, uint16_t *used)
{
	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++) {
		struct measure *sum = sent ? &levels[sl].xmit : &levels[sl].rcv;

		*sum = measure_add(*sum, measure_of(data->bytes[sl], !data->at_least));
		if (data->bytes[sl] * 1e6 >= JOB_IDLE_BYTES_PER_S * (double)data->elapsed_us)
			*used |= (uint16_t)(1u << sl);
	}
}

static double bytes_of(const struct job_level *level)
{
	return (level->xmit.value > 0 ? level->xmit.value : 0) + (level->rcv.value > 0 ? level->rcv.value : 0);
}

static int compare_levels(const void *a, const void *b)
{
	double left = bytes_of(a), right = bytes_of(b);

	return (left < right) - (left > right);
}

/* Keep those that ports use, if there are several. */
static void take_levels(struct job_report *report, struct job_level *levels)
{
	double all = 0;

	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
		all += bytes_of(&levels[sl]);
	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++) {
		if (!levels[sl].ports)
			continue;
		levels[report->level_count] = levels[sl];
		levels[report->level_count++].share_percent = 100 * bytes_of(&levels[sl]) / all;
	}
	if (report->level_count < 2)
		report->level_count = 0;
	qsort(levels, report->level_count, sizeof(*levels), compare_levels);
	report->levels = levels;
}

static void sum_ports(struct job_report *report, const struct level_data *data, struct job_level *levels)
{
	double covered_us = 0, span_us = (double)(report->end_us - report->levels_since_us);

	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
		levels[sl] = (struct job_level){ .sl = sl, .xmit = MEASURE_NONE, .rcv = MEASURE_NONE };
	for (size_t i = 0; i < report->port_count; i++) {
		uint16_t used = 0;
		bool read = false;

		for (int sent = 0; sent < 2; sent++) {
			const struct level_data *of = level_data_of(report->fabric, data, report->ports[i].port, sent);

			if (!of->known)
				continue;
			add_data(of, sent, levels, &used);
			covered_us += (double)of->elapsed_us;
			read = true;
		}
		report->levels_read += read;
		for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
			levels[sl].ports += used >> sl & 1;
	}
	if (report->port_count && span_us > 0)
		report->levels_percent = 100 * covered_us / (2 * (double)report->port_count * span_us);
}

int job_read_levels(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	struct job_level *levels = job_alloc(report, SERVICE_LEVELS, sizeof(*levels));
	struct level_data *data = calloc(2 * report->fabric->port_count + 1, sizeof(*data));
	int code = levels && data ? 0 : err_nomem(err);

	report->levels_since_us = report->end_us - SERVICE_LEVELS_WINDOW_US;
	if (report->levels_since_us < report->begin_us)
		report->levels_since_us = report->begin_us;
	if (code == 0)
		code = level_data_read(work->reader, report->fabric, report->levels_since_us, report->end_us, true,
				       data, err);
	if (code == 0) {
		sum_ports(report, data, levels);
		take_levels(report, levels);
	}
	free(data);
	/* No sweep of that time is stored. */
	return code == ERR_UNAVAILABLE ? 0 : code;
}

/* --- the table --- */

enum { SL, XMIT, RCV, SHARE, PORTS, READ, COVERED, SINCE, UNTIL, COLUMNS };

static const struct column columns[COLUMNS] = {
	[SL] = { .key = "sl", .title = "SL", .kind = COLUMN_INTEGER },
	[XMIT] = { .key = "xmit_bytes", .title = "SENT", .kind = COLUMN_BYTES, .measured = true },
	[RCV] = { .key = "rcv_bytes", .title = "RECEIVED", .kind = COLUMN_BYTES, .measured = true },
	[SHARE] = { .key = "share_percent", .title = "SHARE%", .kind = COLUMN_PERCENT },
	[PORTS] = { .key = "ports", .title = "PORTS", .kind = COLUMN_INTEGER },
	[READ] = { .key = "ports_read", .kind = COLUMN_INTEGER },
	[COVERED] = { .key = "covered_percent", .kind = COLUMN_PERCENT },
	[SINCE] = { .key = "since", .kind = COLUMN_TIME },
	[UNTIL] = { .key = "until", .kind = COLUMN_TIME },
};

static void put_levels(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	for (size_t i = 0; i < report->level_count; i++) {
		const struct job_level *level = &report->levels[i];

		result_integer(result, SL, level->sl);
		result_measure(result, XMIT, level->xmit);
		result_measure(result, RCV, level->rcv);
		result_real(result, SHARE, level->share_percent);
		result_integer(result, PORTS, level->ports);
		result_integer(result, READ, report->levels_read);
		result_real(result, COVERED, report->levels_percent);
		result_integer(result, SINCE, report->levels_since_us);
		result_integer(result, UNTIL, report->end_us);
		result_end_row(result);
	}
}

void job_add_levels(const struct job_report *report, unsigned in, struct page *page)
{
	bool whole = report->levels_since_us == report->begin_us;
	char span[WHEN_SIZE];

	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = report->level_count ? in : in & PAGE_JSON, .key = "service_levels",
		.title = "Data by service level",
		.about = page_print(page, "%u of %zu ports; readings cover %.0f %% of %s%s", report->levels_read,
				    report->port_count, report->levels_percent, whole ? "the job" : "its last ",
				    whole ? "" : when_format_span(report->end_us - report->levels_since_us, span)),
		.table = { columns, COLUMNS, put_levels, report } });
}
