/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_tables.c - rails, hosts and ports of a report */
#include "pages/job/job_page.h"

#include <math.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "facts/cells.h"
#include "pages/job/job_work.h"

/* Rows of a table without --all. */
enum { HOSTS_MOST = 10, RAILS_MOST = 16 };
/* The same in HTML. */
enum { HOSTS_SHOWN = 16, PORTS_SHOWN = 100 };

/* --- what ports carried --- */

enum { BYTES, XMIT, RCV, XMIT_PACKETS, RCV_PACKETS, AT_LEAST, MEAN, PEAK, UTIL, MEAN_XMIT, MEAN_RCV, PEAK_XMIT,
       PEAK_RCV, EARLY, LATE, STALL, ERRORS, ERRORS_AT_LEAST, PORTS, PORTS_KNOWN, SUM_COLUMNS };

/* HTML has space for more columns. */
#define ONLY_HTML (COLUMN_NO_TABLE | COLUMN_HTML)

#define COLUMNS_OF_SUM(first) \
	[first + BYTES] = { .key = "bytes", .title = "BYTES", .kind = COLUMN_BYTES }, \
	[first + XMIT] = { .key = "xmit_bytes", .title = "SENT", .kind = COLUMN_BYTES, .flags = ONLY_HTML }, \
	[first + RCV] = { .key = "rcv_bytes", .title = "RECEIVED", .kind = COLUMN_BYTES, .flags = ONLY_HTML }, \
	[first + XMIT_PACKETS] = { .key = "xmit_packets", .kind = COLUMN_INTEGER }, \
	[first + RCV_PACKETS] = { .key = "rcv_packets", .kind = COLUMN_INTEGER }, \
	[first + AT_LEAST] = { .key = "at_least", .kind = COLUMN_BOOL }, \
	[first + MEAN] = { .title = "MEAN/PORT", .kind = COLUMN_RATE, .measured = true }, \
	[first + PEAK] = { .title = "PEAK/PORT", .kind = COLUMN_RATE, .priority = 1, .measured = true }, \
	[first + UTIL] = { .key = "utilization_percent", .title = "UTIL%", .kind = COLUMN_PERCENT, .priority = 2, \
			   .measured = true }, \
	[first + MEAN_XMIT] = { .key = "mean_xmit_bytes_per_s", .kind = COLUMN_RATE, .measured = true }, \
	[first + MEAN_RCV] = { .key = "mean_rcv_bytes_per_s", .kind = COLUMN_RATE, .measured = true }, \
	[first + PEAK_XMIT] = { .key = "peak_xmit_bytes_per_s", .kind = COLUMN_RATE, .measured = true }, \
	[first + PEAK_RCV] = { .key = "peak_rcv_bytes_per_s", .kind = COLUMN_RATE, .measured = true }, \
	[first + EARLY] = { .key = "early_bytes_per_s", .kind = COLUMN_RATE, .measured = true }, \
	[first + LATE] = { .key = "late_bytes_per_s", .kind = COLUMN_RATE, .measured = true }, \
	[first + STALL] = { .key = "stall_percent", .title = "XmitWait%", .kind = COLUMN_PERCENT, .priority = 1, \
			    .measured = true }, \
	[first + ERRORS] = { .key = "errors", .title = "ERRORS", .kind = COLUMN_INTEGER, .measured = true }, \
	[first + ERRORS_AT_LEAST] = { .key = "errors_at_least", .kind = COLUMN_BOOL }, \
	[first + PORTS] = { .key = "ports", .kind = COLUMN_INTEGER }, \
	[first + PORTS_KNOWN] = { .key = "ports_known", .kind = COLUMN_INTEGER }

static void put_bytes(struct result *result, size_t column, uint64_t bytes, bool at_least)
{
	char shown[32];

	result_unsigned(result, column, bytes);
	if (at_least)
		result_showf(result, column, STYLE_PLAIN, "%s+",
			     result_format_bytes((double)bytes, shown, sizeof(shown)));
}

/* @used: number of ports that a mean per port is of */
static void put_sum(struct result *result, size_t first, const struct job_sum *sum, uint32_t used)
{
	struct measure mean = job_mean(sum);
	double share = used ? 1.0 / used : NAN;

	if (sum->known) {
		put_bytes(result, first + BYTES, sum->xmit_bytes + sum->rcv_bytes, sum->at_least);
		put_bytes(result, first + XMIT, sum->xmit_bytes, sum->at_least);
		put_bytes(result, first + RCV, sum->rcv_bytes, sum->at_least);
		result_unsigned(result, first + XMIT_PACKETS, sum->xmit_packets);
		result_unsigned(result, first + RCV_PACKETS, sum->rcv_packets);
	}
	result_bool(result, first + AT_LEAST, sum->at_least);
	result_measure(result, first + MEAN, measure_scale(mean, share));
	result_measure(result, first + PEAK, measure_scale(job_peak(sum), share));
	result_measure(result, first + UTIL, measure_scale(mean, sum->capacity > 0 ? 100 / sum->capacity : NAN));
	result_measure(result, first + MEAN_XMIT, sum->mean_xmit);
	result_measure(result, first + MEAN_RCV, sum->mean_rcv);
	result_measure(result, first + PEAK_XMIT, sum->peak_xmit);
	result_measure(result, first + PEAK_RCV, sum->peak_rcv);
	result_measure(result, first + EARLY, sum->part[JOB_EARLY]);
	result_measure(result, first + LATE, sum->part[JOB_LATE]);
	result_measure(result, first + STALL, sum->stall_percent);
	result_measure(result, first + ERRORS, measure_of((double)sum->errors, !sum->errors_at_least));
	if (sum->errors)
		result_show(result, first + ERRORS, NULL, STYLE_WARNING);
	result_bool(result, first + ERRORS_AT_LEAST, sum->errors_at_least);
	result_integer(result, first + PORTS, sum->ports);
	result_integer(result, first + PORTS_KNOWN, sum->known);
}

/* --- rails --- */

enum { RAIL, RAIL_SLOWER, RAIL_SUM, RAIL_CV = RAIL_SUM + SUM_COLUMNS, RAIL_LOWEST, RAIL_LOWEST_PERCENT, RAIL_HIGHEST,
       RAIL_HIGHEST_PERCENT, RAIL_COLUMNS };

static const struct column rail_columns[RAIL_COLUMNS] = {
	[RAIL] = { .key = "rail", .title = "RAIL", .kind = COLUMN_TEXT },
	[RAIL_SLOWER] = { .key = "slower", .kind = COLUMN_BOOL },
	COLUMNS_OF_SUM(RAIL_SUM),
	[RAIL_CV] = { .key = "cv", .title = "CV", .kind = COLUMN_REAL },
	[RAIL_LOWEST] = { .key = "lowest", .title = "LOWEST (OF MEAN)", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	[RAIL_LOWEST_PERCENT] = { .key = "lowest_percent", .kind = COLUMN_PERCENT },
	[RAIL_HIGHEST] = { .key = "highest", .kind = COLUMN_TEXT },
	[RAIL_HIGHEST_PERCENT] = { .key = "highest_percent", .kind = COLUMN_PERCENT },
};

static void put_cv(struct result *result, size_t column, double cv)
{
	result_real(result, column, cv);
	if (!isnan(cv))
		result_showf(result, column, cv > JOB_UNEVEN ? STYLE_WARNING : STYLE_PLAIN, "%.2f", cv);
}

/* The host of the lowest and the highest port of a rail. */
static void put_rail(const struct job_report *report, struct result *result, const struct job_rail *rail)
{
	const struct job_evenness *hosts = &rail->hosts;

	result_text(result, RAIL, rail->name);
	result_bool(result, RAIL_SLOWER, rail->slower);
	put_sum(result, RAIL_SUM, &rail->sum, hosts->count);
	put_cv(result, RAIL_CV, hosts->cv);
	if (hosts->lowest != UINT32_MAX) {
		const char *lowest = report->hosts[report->ports[hosts->lowest].host].name;

		result_text(result, RAIL_LOWEST, lowest);
		result_showf(result, RAIL_LOWEST, STYLE_PLAIN, "%s %.0f %%", lowest, 100 * hosts->lowest_ratio);
		result_text(result, RAIL_HIGHEST, report->hosts[report->ports[hosts->highest].host].name);
	}
	result_real(result, RAIL_LOWEST_PERCENT, 100 * hosts->lowest_ratio);
	result_real(result, RAIL_HIGHEST_PERCENT, 100 * hosts->highest_ratio);
	result_end_row(result);
}

static void put_rails(struct result *result, const void *ctx)
{
	const struct job_part *part = ctx;
	size_t count = part->report->rail_count;

	if (result_rendering(result) == PAGE_TEXT && !part->all && count > RAILS_MOST)
		count = RAILS_MOST;
	for (size_t i = 0; i < count; i++)
		put_rail(part->report, result, &part->report->rails[i]);
	if (count < part->report->rail_count)
		result_note(result, "%zu more rail%s: --all", part->report->rail_count - count,
			    text_plural(part->report->rail_count - count));
}

void job_add_rails(const struct job_report *report, bool all, unsigned in, struct page *page)
{
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = report->rail_count ? in : in & ~(unsigned)PAGE_TEXT, .key = "rails",
		.table = { rail_columns, RAIL_COLUMNS, put_rails, job_part_of(page, report, all) } });
}

/* --- hosts --- */

enum { HOST, HOST_RAILS, HOST_USED, HOST_UNUSED, HOST_SUM, HOST_CV = HOST_SUM + SUM_COLUMNS, HOST_LOWEST,
       HOST_LOWEST_PERCENT, HOST_MISSING, HOST_SLOWEST, HOST_NOTE, HOST_COLUMNS };

static const struct column host_columns[HOST_COLUMNS] = {
	[HOST] = { .key = "host", .title = "HOST", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[HOST_RAILS] = { .title = "PORTS", .kind = COLUMN_TEXT },
	[HOST_USED] = { .key = "ports_used", .kind = COLUMN_INTEGER },
	[HOST_UNUSED] = { .key = "ports_unused", .kind = COLUMN_LIST },
	COLUMNS_OF_SUM(HOST_SUM),
	[HOST_CV] = { .key = "cv", .title = "CV", .kind = COLUMN_REAL },
	[HOST_LOWEST] = { .key = "lowest", .title = "LOWEST", .kind = COLUMN_TEXT, .priority = 3 },
	[HOST_LOWEST_PERCENT] = { .key = "lowest_percent", .kind = COLUMN_PERCENT },
	[HOST_MISSING] = { .key = "missing", .kind = COLUMN_BOOL },
	[HOST_SLOWEST] = { .key = "slowest", .kind = COLUMN_BOOL },
	[HOST_NOTE] = { .title = "NOTE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static const char *port_device(const struct job_report *report, const struct job_port *port, char *ret, size_t size)
{
	return port->rail == UINT32_MAX ? job_report_port_name(report, port->port, ret, size) :
	       report->rails[port->rail].name;
}

static void put_host_note(const struct job_report *report, struct result *result, const struct job_host *host)
{
	enum cell_style style = STYLE_WARNING;
	const char *note = host->missing ? "not in the fabric" :
			   host - report->hosts == report->slowest ? "slowest" :
			   host->count && !host->sum.known ? "not read" : "";
	uint32_t unused = 0;

	for (uint32_t i = host->first; i < host->first + host->count; i++)
		unused += report->ports[i].unused;
	if (unused)
		result_showf(result, HOST_NOTE, style, "%u unused%s%s", unused, *note ? ", " : "", note);
	else
		result_show(result, HOST_NOTE, note, style);
}

static void put_host(const struct job_report *report, struct result *result, const struct job_host *host)
{
	const struct job_evenness *ports = &host->ports;
	char name[NODE_NAME_SIZE + 8];

	result_text(result, HOST, host->name);
	result_bool(result, HOST_MISSING, host->missing);
	result_bool(result, HOST_SLOWEST, host - report->hosts == report->slowest);
	result_integer(result, HOST_USED, host->used);
	result_empty(result, HOST_UNUSED);
	for (uint32_t i = host->first; i < host->first + host->count; i++)
		if (report->ports[i].unused)
			result_item(result, HOST_UNUSED, "%s",
				    port_device(report, &report->ports[i], name, sizeof(name)));
	if (!host->missing) {
		result_showf(result, HOST_RAILS, host->used < host->count ? STYLE_WARNING : STYLE_PLAIN, "%u/%u",
			     host->used, host->count);
		put_sum(result, HOST_SUM, &host->sum, host->used);
	}
	put_cv(result, HOST_CV, host->missing ? NAN : ports->cv);
	if (ports->lowest != UINT32_MAX && !host->missing) {
		const char *lowest = port_device(report, &report->ports[ports->lowest], name, sizeof(name));

		result_text(result, HOST_LOWEST, lowest);
		result_showf(result, HOST_LOWEST, STYLE_PLAIN, "%s %.0f %%", lowest, 100 * ports->lowest_ratio);
	}
	result_real(result, HOST_LOWEST_PERCENT, host->missing ? NAN : 100 * ports->lowest_ratio);
	put_host_note(report, result, host);
	result_end_row(result);
}

static void put_hosts(struct result *result, const void *ctx)
{
	const struct job_part *part = ctx;
	const struct job_report *report = part->report;
	size_t most = result_rendering(result) == PAGE_HTML ? HOSTS_SHOWN : HOSTS_MOST, odd = 0, shown = 0;
	bool all = part->all || (result_rendering(result) & (PAGE_JSON | PAGE_CSV)) || report->host_count <= most;

	for (size_t i = 0; i < report->host_count; i++)
		odd += job_host_stands_out(report, i) > 0;
	for (size_t i = 0; all && i < report->host_count; i++)
		put_host(report, result, &report->hosts[i]);
	for (unsigned level = 2; !all && level > 0; level--)
		for (size_t i = 0; i < report->host_count && shown < most; i++)
			if (job_host_stands_out(report, i) == level) {
				put_host(report, result, &report->hosts[i]);
				shown++;
			}
	if (!all && odd)
		result_note(result, "standing out: %zu of %zu host%s; every host: --all", odd, report->host_count,
			    text_plural(report->host_count));
	else if (!all)
		result_none(result, "none of %zu hosts stands out; every host: --all", report->host_count);
}

void job_add_hosts(const struct job_report *report, bool all, unsigned in, struct page *page)
{
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = report->host_count ? in : in & ~(unsigned)PAGE_TEXT, .key = "hosts",
		.table = { host_columns, HOST_COLUMNS, put_hosts, job_part_of(page, report, all) } });
}

/* --- ports --- */

enum { PORT_NAME, PORT_PROBLEM, PORT_HOST, PORT_RAIL, PORT_GUID, PORT_NODE, PORT_NUMBER, PORT_PEER_GUID, PORT_PEER,
       PORT_PEER_NUMBER, PORT_STATE, PORT_GBPS, PORT_UNUSED_FLAG, PORT_MIRRORED, PORT_SUM,
       PORT_PEER_ERRORS = PORT_SUM + SUM_COLUMNS, PORT_OWN_STALL, PORT_PEER_STALL, PORT_COLUMNS };

static const struct column port_columns[PORT_COLUMNS] = {
	[PORT_NAME] = { .title = "PORT", .kind = COLUMN_TEXT },
	[PORT_PROBLEM] = { .title = "PROBLEM", .kind = COLUMN_TEXT },
	[PORT_HOST] = { .key = "host", .kind = COLUMN_TEXT },
	[PORT_RAIL] = { .key = "rail", .kind = COLUMN_TEXT },
	CELLS_NODE_COLUMNS(PORT_GUID),
	CELLS_PEER_COLUMNS(PORT_PEER_GUID),
	[PORT_STATE] = { .key = "state", .kind = COLUMN_TEXT },
	[PORT_GBPS] = { .key = "rate_gbps", .kind = COLUMN_GBPS },
	[PORT_UNUSED_FLAG] = { .key = "unused", .kind = COLUMN_BOOL },
	[PORT_MIRRORED] = { .key = "mirrored", .kind = COLUMN_BOOL },
	COLUMNS_OF_SUM(PORT_SUM),
	[PORT_PEER_ERRORS] = { .key = "peer_errors", .kind = COLUMN_INTEGER },
	[PORT_OWN_STALL] = { .key = "own_stall_percent", .kind = COLUMN_PERCENT, .measured = true },
	[PORT_PEER_STALL] = { .key = "peer_stall_percent", .kind = COLUMN_PERCENT, .measured = true },
};

static void put_port(const struct job_report *report, struct result *result, const struct job_port *port)
{
	const struct port *of = &report->fabric->ports[port->port];
	uint64_t rate = port_rate_bits_per_s(of);
	char name[NODE_NAME_SIZE + 8];

	result_show(result, PORT_NAME, job_report_port_name(report, port->port, name, sizeof(name)), STYLE_PLAIN);
	result_show(result, PORT_PROBLEM, port->down ? "down" : port->unused ? "unused" : "errors", STYLE_WARNING);
	result_text(result, PORT_HOST, report->hosts[port->host].name);
	if (port->rail != UINT32_MAX)
		result_text(result, PORT_RAIL, report->rails[port->rail].name);
	cells_port(result, PORT_GUID, report->fabric, port->port);
	if (of->peer != FABRIC_NONE)
		cells_port(result, PORT_PEER_GUID, report->fabric, of->peer);
	result_text(result, PORT_STATE, port_state_name(of->state));
	result_real(result, PORT_GBPS, rate ? (double)rate / 1e9 : NAN);
	result_bool(result, PORT_UNUSED_FLAG, port->unused);
	result_bool(result, PORT_MIRRORED, port->mirrored);
	put_sum(result, PORT_SUM, &port->sum, 1);
	result_unsigned(result, PORT_PEER_ERRORS, port->peer_errors);
	result_measure(result, PORT_OWN_STALL, port->own_stall);
	result_measure(result, PORT_PEER_STALL, port->peer_stall);
	result_end_row(result);
}

static bool has_problem(const struct job_port *port)
{
	return port->unused || port->down || port->sum.errors;
}

/* In HTML the ports with problems. */
static void put_ports(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;
	size_t left_out = 0, shown = 0;

	for (size_t i = 0; i < report->port_count; i++) {
		if (result_rendering(result) == PAGE_HTML && !has_problem(&report->ports[i]))
			continue;
		if (result_rendering(result) == PAGE_HTML && shown == PORTS_SHOWN)
			left_out++;
		else
			put_port(report, result, &report->ports[i]);
		shown += shown < PORTS_SHOWN;
	}
	if (left_out)
		result_note(result, "%zu more are not shown.", left_out);
}

void job_add_ports(const struct job_report *report, unsigned in, struct page *page)
{
	size_t problems = 0;

	for (size_t i = 0; i < report->port_count; i++)
		problems += has_problem(&report->ports[i]);
	if (in == PAGE_HTML && !problems)
		return;
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = in, .key = "ports",
					       .title = "Ports with problems",
					       .table = { port_columns, PORT_COLUMNS, put_ports, report } });
}
