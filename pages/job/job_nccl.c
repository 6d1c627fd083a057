/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_nccl.c - what NCCL logged in a job: lines of its verdict, and sections in JSON */
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "facts/cells.h"
#include "pages/job/job_page.h"
#include "pages/job/job_work.h"

/* Descriptions are "HOST DEVICE" (fabric/host.h). */
static const char *device_name(const struct node *node)
{
	const char *space = strchr(node->desc, ' ');

	return space ? space + 1 : NULL;
}

static struct nccl_port *ports_of(const struct job_report *report)
{
	struct nccl_port *ports = calloc(report->port_count + 1, sizeof(*ports));

	for (size_t i = 0; ports && i < report->port_count; i++) {
		const struct job_port *port = &report->ports[i];
		const struct port *fabric_port = &report->fabric->ports[port->port];

		ports[i] = (struct nccl_port){
			.host = report->hosts[port->host].name,
			.hca = device_name(&report->fabric->nodes[fabric_port->node]), .port = fabric_port->num,
			.lid = fabric_port->lid,
			.known = port->sum.known, .at_least = port->sum.at_least,
			.tx_bytes = port->sum.xmit_bytes, .rx_bytes = port->sum.rcv_bytes,
			.rate_gbps = port->sum.capacity > 0 ? port->sum.capacity * 8 / 1e9 : 0,
		};
	}
	return ports;
}

static enum finding_severity severity_of(enum nccl_severity severity)
{
	return severity == NCCL_FAIL ? FINDING_CRITICAL : severity == NCCL_WARN ? FINDING_WARNING : FINDING_INFO;
}

/* Warnings and failures become lines of the verdict, before "clean". */
static int add_lines(struct job_report *report, struct error *err)
{
	bool clean = report->verdict_count && report->verdict[0].verdict == JOB_VERDICT_CLEAN;
	size_t at = clean ? 0 : report->verdict_count;

	for (size_t i = 0; i < report->nccl_verdict->count; i++) {
		const struct nccl_line *line = &report->nccl_verdict->lines[i];
		const char *text;

		if (line->severity < NCCL_WARN)
			continue;
		text = job_text(report, "%s%s%s", line->text, line->fix ? ": " : "", line->fix ? line->fix : "");
		if (!text || !job_grow(report, &report->verdict, &report->verdict_count, sizeof(*report->verdict)))
			return err_nomem(err);
		memmove(&report->verdict[at + 1], &report->verdict[at],
			(report->verdict_count - 1 - at) * sizeof(*report->verdict));
		report->verdict[at++] = (struct job_line){ JOB_VERDICT_NCCL, severity_of(line->severity),
							   (char *)(uintptr_t)text };
	}
	if (clean && at) {
		/* The ports are, the job is not. */
		const char *text = job_text(report, "the ports are %s", report->verdict[at].text);

		if (!text)
			return err_nomem(err);
		report->verdict[at].text = (char *)(uintptr_t)text;
	}
	return 0;
}

int job_report_add_nccl(struct job_report *report, struct nccl_log *log, struct error *err)
{
	struct nccl_verdict *verdict = job_alloc(report, 1, sizeof(*verdict));
	struct nccl_port *ports = ports_of(report);
	int code;

	log->ended_badly = report->job.exit_status > 0;
	code = verdict && ports ? nccl_check(log, ports, report->port_count, verdict, err) : err_nomem(err);
	if (code == 0) {
		report->nccl = log;
		report->nccl_verdict = verdict;
		code = add_lines(report, err);
	}
	free(ports);
	return code;
}

/* --- in JSON --- */

enum { LINE_SEVERITY, LINE_TEXT, LINE_FIX, LINE_COLUMNS };

#define OF_LINE(member) COLUMN_MEMBER(struct nccl_line, member)

static const struct column line_columns[LINE_COLUMNS] = {
	[LINE_SEVERITY] = { .key = "severity", .kind = COLUMN_TEXT },
	[LINE_TEXT] = { .key = "text", .kind = COLUMN_TEXT, OF_LINE(text) },
	[LINE_FIX] = { .key = "fix", .kind = COLUMN_TEXT, OF_LINE(fix) },
};

static void put_lines(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	for (size_t i = 0; i < report->nccl_verdict->count; i++) {
		const struct nccl_line *line = &report->nccl_verdict->lines[i];

		result_fill(result, line);
		result_text(result, LINE_SEVERITY, nccl_severity_name(line->severity));
		result_end_row(result);
	}
}

enum { HCA_HOST, HCA_HCA, HCA_PORT, HCA_FABRIC, HCA_SENDS, HCA_RECEIVES, HCA_DIRECT, HCA_COLUMNS };

#define OF_HCA(member) COLUMN_MEMBER(struct nccl_hca, member)

static const struct column hca_columns[HCA_COLUMNS] = {
	[HCA_HOST] = { .key = "host", .kind = COLUMN_TEXT },
	[HCA_HCA] = { .key = "hca", .kind = COLUMN_TEXT, OF_HCA(name) },
	[HCA_PORT] = { .key = "port", .kind = COLUMN_INTEGER, .flags = COLUMN_NONZERO, OF_HCA(port) },
	[HCA_FABRIC] = { .key = "fabric", .kind = COLUMN_TEXT },
	[HCA_SENDS] = { .key = "sends", .kind = COLUMN_INTEGER, OF_HCA(sends) },
	[HCA_RECEIVES] = { .key = "receives", .kind = COLUMN_INTEGER, OF_HCA(receives) },
	[HCA_DIRECT] = { .key = "gdrdma", .kind = COLUMN_INTEGER, OF_HCA(direct) },
};

static void put_hcas(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;
	const struct nccl_log *log = report->nccl;

	for (size_t i = 0; i < log->hca_count; i++) {
		const struct nccl_hca *hca = &log->hcas[i];

		result_fill(result, hca);
		result_text(result, HCA_HOST, log->hosts[hca->host].name);
		result_text(result, HCA_FABRIC, hca->fabric ? nccl_fabric_name(hca->fabric) : NULL);
		result_end_row(result);
	}
}

#define OF_SETTING(member) COLUMN_MEMBER(struct nccl_setting, member)

static const struct column setting_columns[] = {
	{ .key = "name", .kind = COLUMN_TEXT, OF_SETTING(name) },
	{ .key = "value", .kind = COLUMN_TEXT, OF_SETTING(value) },
	{ .key = "count", .kind = COLUMN_INTEGER, OF_SETTING(count) },
};

static void put_settings(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;
	const struct nccl_log *log = report->nccl;
	const struct { const struct nccl_setting *settings; size_t count; } lists[] = {
		{ log->versions, log->version_count }, { log->networks, log->network_count },
		{ log->settings, log->setting_count },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (size_t j = 0; j < lists[i].count; j++) {
			result_fill(result, &lists[i].settings[j]);
			result_end_row(result);
		}
}

enum { TEST_OPERATION, TEST_RANKS, TEST_HOSTS, TEST_ITERATIONS, TEST_ROWS, TEST_LEAST, TEST_BUSBW, TEST_SIZE,
       TEST_COLUMNS };

#define OF_TEST(member) COLUMN_MEMBER(struct nccl_test, member)

static const struct column test_columns[TEST_COLUMNS] = {
	[TEST_OPERATION] = { .key = "operation", .kind = COLUMN_TEXT },
	[TEST_RANKS] = { .key = "ranks", .kind = COLUMN_INTEGER, OF_TEST(all.ranks) },
	[TEST_HOSTS] = { .key = "hosts", .kind = COLUMN_INTEGER, OF_TEST(all.hosts) },
	[TEST_ITERATIONS] = { .key = "iterations", .kind = COLUMN_INTEGER, OF_TEST(iterations) },
	[TEST_ROWS] = { .key = "rows", .kind = COLUMN_INTEGER, OF_TEST(row_count) },
	[TEST_LEAST] = { .key = "least_bytes", .kind = COLUMN_BYTES },
	[TEST_BUSBW] = { .key = "best_busbw_gb_per_s", .kind = COLUMN_REAL, OF_TEST(best.busbw_gb_per_s) },
	[TEST_SIZE] = { .key = "best_size_bytes", .kind = COLUMN_BYTES, OF_TEST(best.size_bytes) },
};

static void put_tests(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;
	const struct nccl_log *log = report->nccl;

	for (size_t i = 0; i < log->test_count; i++) {
		const struct nccl_test *test = &log->tests[i];
		uint64_t least = nccl_test_least_bytes(log, test, nccl_may_reduce(log));

		result_fill(result, test);
		result_text(result, TEST_OPERATION, nccl_test_name(test));
		if (least)
			result_unsigned(result, TEST_LEAST, least);
		result_end_row(result);
	}
}

void job_add_nccl(const struct job_report *report, struct page *page)
{
	if (!report->nccl)
		return;
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "nccl",
					       .table = { line_columns, LINE_COLUMNS, put_lines, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "nccl_hcas",
					       .table = { hca_columns, HCA_COLUMNS, put_hcas, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "nccl_settings",
					       .table = { setting_columns,
					  sizeof(setting_columns) / sizeof(*setting_columns),
							  put_settings, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "nccl_tests",
					       .table = { test_columns, TEST_COLUMNS, put_tests, report } });
}
