/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/run_local.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/nccl.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/lib/nccl_files.h"
#include "cli/lib/options.h"
#include "export/format.h"
#include "export/result.h"
#include "local/usage.h"

struct local_run {
	struct local_root root;
	struct local_host before;
	int64_t begin_us;
};

int local_run_begin(const char *root, struct local_run **ret, struct error *err)
{
	struct local_run *run = calloc(1, sizeof(*run));
	int code;

	if (!run)
		return err_nomem(err);
	code = local_root_open(&run->root, root, err);
	if (code == 0) {
		code = local_host_read(&run->root, false, &run->before, err);
		if (code)
			local_root_close(&run->root);
	}
	if (code) {
		free(run);
		return code;
	}
	run->begin_us = clock_boottime_us(clock_system());
	*ret = run;
	return 0;
}

/* --- logs of NCCL --- */

/* The name of this host in a log; of a tree of another host the only one that the log has. */
static const char *name_in_log(const struct nccl_log *log, char name[NCCL_NAME_SIZE])
{
	name[0] = '\0';
	gethostname(name, NCCL_NAME_SIZE - 1);
	name[NCCL_NAME_SIZE - 1] = '\0';
	name[strcspn(name, ".")] = '\0';
	for (size_t i = 0; i < log->host_count; i++)
		if (!strcmp(log->hosts[i].name, name))
			return name;
	return log->host_count == 1 ? log->hosts[0].name : name;
}

/* Compare a log with the ports of this host. */
static int compare(const struct nccl_log *log, const struct local_usage *usage, struct nccl_verdict *ret,
		   struct error *err)
{
	char host[NCCL_NAME_SIZE], (*names)[sizeof(usage->ports->name)] = calloc(usage->port_count + 1, sizeof(*names));
	struct nccl_port *ports = calloc(usage->port_count + 1, sizeof(*ports));
	int code;

	if (!names || !ports) {
		free(names);
		free(ports);
		return err_nomem(err);
	}
	for (size_t i = 0; i < usage->port_count; i++) {
		const struct local_carrier *carrier = &usage->ports[i];
		const uint32_t bytes = 1u << LOCAL_XMIT_BYTES | 1u << LOCAL_RCV_BYTES;
		char *slash;

		memcpy(names[i], carrier->name, sizeof(names[i]));
		slash = strrchr(names[i], '/');
		if (slash)
			*slash = '\0';
		ports[i] = (struct nccl_port){
			.host = name_in_log(log, host), .hca = names[i],
			.port = slash ? (unsigned)strtoul(slash + 1, NULL, 10) : 0,
			.known = (carrier->delta.known & bytes) == bytes, .at_least = carrier->at_least & bytes,
			.tx_bytes = carrier->delta.values[LOCAL_XMIT_BYTES],
			.rx_bytes = carrier->delta.values[LOCAL_RCV_BYTES], .rate_gbps = carrier->gbps,
		};
	}
	code = nccl_check(log, ports, usage->port_count, ret, err);
	free(names);
	free(ports);
	return code;
}

/* What each host must receive by the tests of a log; 0: unknown. Operations with a root load hosts unequally. */
static double host_least(const struct nccl_log *log)
{
	double sum = 0;

	for (size_t i = 0; i < log->test_count; i++) {
		const struct nccl_test *test = &log->tests[i];
		double hosts = test->all.hosts ? test->all.hosts : log->nodes;

		/* With a root, hosts receive different amounts. */
		if (test->operation == NCCL_BROADCAST || test->operation == NCCL_REDUCE ||
		    test->operation == NCCL_GATHER || test->operation == NCCL_SCATTER || hosts < 1)
			return 0;
		sum += (double)nccl_test_least_bytes(log, test, nccl_may_reduce(log)) / hosts;
	}
	return sum;
}

/*
 * Read logs and compare them. @ret has no lines without a pattern, or if they cannot be read.
 * @ret_least:  bytes that this host must receive by the tests of the logs; 0: unknown
 */
static int compare_files(const struct nccl_files *files, const struct local_usage *usage, struct nccl_verdict *ret,
			 double *ret_least, struct error *err)
{
	struct nccl_log log;
	struct error unread;
	int code = 0;

	ret->count = 0;
	if (!files->pattern)
		return 0;
	if (nccl_files_read(files, NULL, 0, &log, &unread) < 0)
		log_warning("%s; the report is without it", unread.text);
	else
		code = compare(&log, usage, ret, err);
	*ret_least = host_least(&log);
	nccl_done(&log);
	return code;
}

/* --- the report --- */

enum { NAME, PROTOCOL, TX_RATE, RX_RATE, SHARE, FIRST_COUNTER, COLUMN_COUNT = FIRST_COUNTER + LOCAL_COUNTER_COUNT };

/* Columns of the text: the counters in their order, without those that no driver of this host has. */
static const struct column columns[COLUMN_COUNT] = {
	[NAME] = { .title = "PORT", .kind = COLUMN_TEXT },
	[PROTOCOL] = { .title = "PROTOCOL", .kind = COLUMN_TEXT },
	[TX_RATE] = { .title = "TX Gb/s", .kind = COLUMN_REAL },
	[RX_RATE] = { .title = "RX Gb/s", .kind = COLUMN_REAL },
	[SHARE] = { .title = "RX/TESTS", .kind = COLUMN_REAL },
	[FIRST_COUNTER + LOCAL_XMIT_BYTES] = { .title = "TX", .kind = COLUMN_BYTES },
	[FIRST_COUNTER + LOCAL_RCV_BYTES] = { .title = "RX", .kind = COLUMN_BYTES },
	[FIRST_COUNTER + LOCAL_XMIT_PACKETS] = { .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_RCV_PACKETS] = { .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_RETRANSMITS] = { .title = "RETRANS", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_DUPLICATES] = { .title = "DUPL", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_OUT_OF_SEQUENCE] = { .title = "OUT OF SEQ", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_RNR] = { .title = "RNR", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_CNP_SENT] = { .title = "CNP TX", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_CNP_RECEIVED] = { .title = "CNP RX", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_ECN_MARKED] = { .title = "ECN", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_DISCARDS] = { .title = "DISCARDS", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_ERRORS] = { .title = "ERRORS", .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_LINK_DOWNED] = { .kind = COLUMN_INTEGER },
	[FIRST_COUNTER + LOCAL_XMIT_WAIT] = { .kind = COLUMN_INTEGER },
};

static const char *net_kind(const struct local_carrier *net)
{
	return net->ipoib ? "IPoIB" : net->counted ? "Ethernet" : "not counted";
}

/* The mean rate in the time of the command; of a counter that was reset at least this. */
static void add_rate(struct result *result, size_t column, const struct local_carrier *carrier, int counter,
		     int64_t elapsed_us)
{
	double gbps = elapsed_us > 0 ? 8e-3 * (double)carrier->delta.values[counter] / (double)elapsed_us : 0;

	if (!local_counter_known(&carrier->delta, counter) || elapsed_us <= 0)
		return;
	result_real(result, column, gbps);
	result_showf(result, column, STYLE_PLAIN, "%s%.1f", carrier->at_least >> counter & 1 ? ">=" : "", gbps);
}

/* @least: bytes that this host must receive by the tests of a log; 0: unknown, or of an interface */
static void add_row(struct result *result, const struct local_usage *usage, const struct local_carrier *carrier,
		    const char *kind, double least)
{
	double share = least > 0 ? 100 * (double)carrier->delta.values[LOCAL_RCV_BYTES] / least : 0;

	result_text(result, NAME, carrier->name);
	result_text(result, PROTOCOL, kind);
	add_rate(result, TX_RATE, carrier, LOCAL_XMIT_BYTES, usage->elapsed_us);
	add_rate(result, RX_RATE, carrier, LOCAL_RCV_BYTES, usage->elapsed_us);
	if (least > 0 && local_counter_known(&carrier->delta, LOCAL_RCV_BYTES)) {
		result_real(result, SHARE, share);
		result_showf(result, SHARE, STYLE_PLAIN, "%s%.1f %%",
			     carrier->at_least >> LOCAL_RCV_BYTES & 1 ? ">=" : "", share);
	}
	for (int i = 0; i < LOCAL_COUNTER_COUNT; i++) {
		uint64_t value = carrier->delta.values[i];
		size_t column = FIRST_COUNTER + (size_t)i;

		if (!columns[column].title || !local_counter_known(&carrier->delta, i))
			continue;
		result_unsigned(result, column, value);
		if (carrier->at_least >> i & 1 && columns[column].kind == COLUMN_INTEGER)
			result_showf(result, column, STYLE_PLAIN, ">=%" PRIu64, value);
	}
	result_end_row(result);
}

static void print_nccl(const struct nccl_verdict *nccl, FILE *stream)
{
	for (size_t i = 0; i < nccl->count; i++) {
		const struct nccl_line *line = &nccl->lines[i];

		fprintf(stream, "nccl: %s%s%s%s%s\n",
			line->severity < NCCL_WARN ? "" : nccl_severity_name(line->severity),
			line->severity < NCCL_WARN ? "" : ": ", line->text, line->fix ? ": " : "",
			line->fix ? line->fix : "");
	}
}

static bool has_traffic(const struct local_carrier *carrier)
{
	return carrier->delta.values[LOCAL_XMIT_BYTES] || carrier->delta.values[LOCAL_RCV_BYTES];
}

static int print_text(const struct local_usage *usage, const struct nccl_verdict *nccl, double least, FILE *stream,
		      struct error *err)
{
	const struct result_options options = { .format = RESULT_TABLE };
	size_t rows = usage->port_count;
	struct column shown[COLUMN_COUNT];
	char span[WHEN_SIZE];
	struct result *result;
	int code;

	fprintf(stream, "ibwire: %s in %s\n%s", text_chars(&usage->text), when_format_span(usage->elapsed_us, span),
		text_chars(&usage->notes));
	print_nccl(nccl, stream);
	for (size_t i = 0; i < usage->net_count; i++)
		rows += has_traffic(&usage->nets[i]);
	if (!rows)
		return 0;
	memcpy(shown, columns, sizeof(shown));
	if (least <= 0)
		shown[SHARE].title = NULL;
	result = result_create(stream, &options, shown, COLUMN_COUNT);
	for (size_t i = 0; i < usage->port_count; i++)
		add_row(result, usage, &usage->ports[i], local_protocol_name(usage->ports[i].protocol), least);
	for (size_t i = 0; i < usage->net_count; i++)
		if (has_traffic(&usage->nets[i]))
			add_row(result, usage, &usage->nets[i], net_kind(&usage->nets[i]), 0);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

/* Names are printable ASCII without quotes and backslashes (local_list). */
static void append_carrier(struct text *text, const struct local_carrier *carrier, const char *kind)
{
	text_appendf(text, "{\"name\":\"%s\",\"kind\":\"%s\",", carrier->name, kind);
	for (int i = 0; i < LOCAL_COUNTER_COUNT; i++) {
		text_appendf(text, "\"%s\":", local_counter_key(i));
		if (local_counter_known(&carrier->delta, i))
			text_append_number(text, carrier->delta.values[i], 10);
		else
			text_append(text, "null");
		text_append(text, ",");
	}
	text_append(text, "\"at_least\":[");
	for (int i = 0, count = 0; i < LOCAL_COUNTER_COUNT; i++)
		if (carrier->at_least >> i & 1)
			text_appendf(text, "%s\"%s\"", count++ ? "," : "", local_counter_key(i));
	text_append(text, "]}");
}

static void append_nccl(struct text *text, const struct nccl_verdict *nccl)
{
	text_append(text, "],\"nccl\":[");
	for (size_t i = 0; i < nccl->count; i++) {
		text_appendf(text, "%s{\"severity\":\"%s\",\"text\":", i ? ",\n" : "\n",
			     nccl_severity_name(nccl->lines[i].severity));
		scalar_append_text(text, nccl->lines[i].text, strlen(nccl->lines[i].text));
		text_append(text, ",\"fix\":");
		if (nccl->lines[i].fix)
			scalar_append_text(text, nccl->lines[i].fix, strlen(nccl->lines[i].fix));
		else
			text_append(text, "null");
		text_append(text, "}");
	}
}

static int print_json(const struct local_usage *usage, const struct nccl_verdict *nccl, double least, FILE *stream,
		      struct error *err)
{
	struct text text = { 0 };
	const char *note = text_chars(&usage->notes);
	bool failed;

	text_appendf(&text, "{\"verdict\":\"%s\",\"text\":\"%s\",\"notes\":[", local_verdict_name(usage->verdict),
		     text_chars(&usage->text));
	for (size_t len; *note; note += len + 1) {
		len = strcspn(note, "\n");
		text_appendf(&text, "%s\"%.*s\"", note == text_chars(&usage->notes) ? "" : ",", (int)len, note);
	}
	text_appendf(&text, "],\"elapsed_s\":%.6f,\"rdma_bytes\":%" PRIu64 ",\"tcp_bytes\":%" PRIu64
		     ",\"background_bytes\":%" PRIu64 ",\"at_least\":%s,\"ports_used\":%u,\"evenness_cv\":",
		     (double)usage->elapsed_us / 1e6, usage->rdma_bytes, usage->tcp_bytes, usage->background,
		     usage->at_least ? "true" : "false", usage->used_ports);
	if (isnan(usage->evenness))
		text_append(&text, "null");
	else
		text_appendf(&text, "%.6f", usage->evenness);
	text_append(&text, ",\"tests_least_rcv_bytes\":");
	if (least > 0)
		text_appendf(&text, "%.0f", least);
	else
		text_append(&text, "null");
	text_append(&text, ",\"ports\":[");
	for (size_t i = 0; i < usage->port_count; i++) {
		text_append(&text, i ? ",\n" : "\n");
		append_carrier(&text, &usage->ports[i], local_protocol_name(usage->ports[i].protocol));
	}
	text_append(&text, "],\"interfaces\":[");
	for (size_t i = 0; i < usage->net_count; i++) {
		text_append(&text, i ? ",\n" : "\n");
		append_carrier(&text, &usage->nets[i], net_kind(&usage->nets[i]));
	}
	append_nccl(&text, nccl);
	text_append(&text, "]}\n");
	fputs(text_chars(&text), stream);
	failed = text_failed(&text);
	text_done(&text);
	return failed ? err_nomem(err) : 0;
}

static int write_report(const struct local_usage *usage, const struct nccl_verdict *nccl, double least,
			const char *path, struct error *err)
{
	const char *suffix = path ? strrchr(path, '.') : NULL;
	bool json = suffix && !strcmp(suffix, ".json");
	struct new_file file = { .stream = stderr };
	int code = path ? new_file_open(path, false, &file, err) : 0;

	if (code == 0)
		code = json ? print_json(usage, nccl, least, file.stream, err) :
			      print_text(usage, nccl, least, file.stream, err);
	return path && file.stream ? new_file_end(&file, code, err) : code;
}

int local_run_end(struct local_run *run, const char *path, const struct nccl_files *nccl, struct error *err)
{
	static struct nccl_verdict verdict;
	int64_t elapsed_us = clock_boottime_us(clock_system()) - run->begin_us;
	struct local_usage usage;
	struct local_host after;
	double least = 0;
	int code = local_host_read(&run->root, false, &after, err);

	if (code == 0) {
		code = local_usage_compute(&run->before, &after, elapsed_us, &usage, err);
		if (code == 0) {
			code = compare_files(nccl, &usage, &verdict, &least, err);
			if (code == 0)
				code = write_report(&usage, &verdict, least, path, err);
			local_usage_done(&usage);
		}
		local_host_done(&after);
	}
	local_run_cancel(run);
	return code;
}

void local_run_cancel(struct local_run *run)
{
	local_host_done(&run->before);
	local_root_close(&run->root);
	free(run);
}
