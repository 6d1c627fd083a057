/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health_gate.c - `ibwire health --gate HOSTS --for SPAN`: check hosts before they return to
 * service
 *
 * A host passes if each of its links is Active, both ends were read throughout the span, neither
 * counted a link error, and no warning affected it. Unknown values fail.
 */
#include "cli/health/health.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/lib/moment_options.h"
#include "export/result.h"
#include "fabric/counter.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/shape.h"
#include "storage/reader.h"

/* Errors of the link itself; congestion discards do not count. */
#define LINK_ERRORS \
	(COUNTER_BIT(COUNTER_SYMBOL_ERRORS) | COUNTER_BIT(COUNTER_LINK_ERROR_RECOVERY) | \
	 COUNTER_BIT(COUNTER_LINK_DOWNED) | COUNTER_BIT(COUNTER_RCV_ERRORS) | \
	 COUNTER_BIT(COUNTER_LOCAL_LINK_INTEGRITY_ERRORS) | COUNTER_BIT(COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS))

/*
 * Required coverage: share of the span between the first and the last reading, less the intervals
 * cut at both ends of the window.
 */
#define COVERED 0.95
#define CUT_INTERVALS 2
#define COVERED_LEAST 0.5

enum { HOST, PASSED, LINKS, REASON, COLUMN_COUNT };

static const struct column gate_columns[COLUMN_COUNT] = {
	[HOST] = { .key = "host", .title = "HOST", .kind = COLUMN_TEXT },
	[PASSED] = { .key = "passed", .title = "PASSED", .kind = COLUMN_BOOL },
	[LINKS] = { .key = "links", .title = "LINKS", .kind = COLUMN_INTEGER },
	[REASON] = { .key = "reason", .title = "REASON", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

struct gate {
	struct moment moment;
	struct health_rows findings;
	int64_t span_us;
};

static double covered_least_us(const struct gate *gate)
{
	double cut_us = CUT_INTERVALS * (double)gate->moment.snapshot->sweep.interval_us;
	double least_us = COVERED * (double)gate->span_us - cut_us;

	return least_us > COVERED_LEAST * (double)gate->span_us ? least_us : COVERED_LEAST * (double)gate->span_us;
}

/* Check one end of a link. Return: is it clean? @reason: why not. */
static bool end_is_clean(const struct gate *gate, uint32_t index, struct text *reason)
{
	const struct fabric *fabric = gate->moment.fabric;
	const struct port *port = &fabric->ports[index];
	const struct delta *sum = &gate->moment.snapshot->rows[index].sum;
	char covered[WHEN_SIZE];

	text_appendf(reason, "%s/%u ", gate->moment.names_shown.names[port->node], port->num);
	if (port->state != PORT_ACTIVE) {
		text_appendf(reason, "is %s", port_state_name(port->state));
		return false;
	}
	if ((double)sum->elapsed_us < covered_least_us(gate)) {
		text_appendf(reason, "was read for %s only", when_format_span(sum->elapsed_us, covered));
		return false;
	}
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (!(LINK_ERRORS & COUNTER_BIT(i)))
			continue;
		if (sum->known & COUNTER_BIT(i) && sum->value[i]) {
			text_appendf(reason, "counted %llu %s", (unsigned long long)sum->value[i],
				     counter_info((enum counter)i)->key);
			return false;
		}
		if (!(sum->known & COUNTER_BIT(i))) {
			text_appendf(reason, "has no complete %s readings", counter_info((enum counter)i)->key);
			return false;
		}
		if (delta_lower_bounds(sum) & COUNTER_BIT(i)) {
			text_appendf(reason, sum->saturated & COUNTER_BIT(i) ? "has a saturated %s" :
				     "may have counted %s before its counters were cleared",
				     counter_info((enum counter)i)->key);
			return false;
		}
	}
	text_clear(reason);
	return true;
}

/* Check all links of an HCA. Return: their number, or -1 if one is not clean. */
static int hca_is_clean(const struct gate *gate, const struct node *node, struct text *reason)
{
	const struct fabric *fabric = gate->moment.fabric;
	int links = 0;

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		/* A port without a cable is not a fault. */
		if (!moment_port_was_seen(&gate->moment, i))
			continue;
		if (!end_is_clean(gate, i, reason) || (peer != FABRIC_NONE && !end_is_clean(gate, peer, reason)))
			return -1;
		links++;
	}
	return links;
}

static bool host_is_clean(const struct gate *gate, const char *name, unsigned *ret_links, struct text *reason)
{
	const struct shape *shape = gate->moment.shape;
	uint32_t index = shape_find_host(shape, name);
	const struct shape_host *host = index == SHAPE_NONE ? NULL : &shape->hosts[index];
	const struct host_set one = { .names = (char *[]){ (char *)(host ? host->name : name) }, .count = 1 };
	uint32_t same;

	*ret_links = 0;
	for (uint32_t i = 0; host && i < host->count; i++) {
		int links = hca_is_clean(gate, &shape->fabric->nodes[shape->host_nodes[host->first + i]], reason);

		if (links < 0)
			return false;
		*ret_links += (unsigned)links;
	}
	if (!*ret_links) {
		shape_hosts_named(shape, name, &same);
		text_append(reason, host ? "its HCAs have no cable" :
			    same ? "several hosts have this name" : "the fabric has no HCA of this host");
		return false;
	}
	for (size_t i = 0; i < gate->findings.count; i++) {
		const struct finding *finding = &gate->findings.list[i].row.finding;

		/* Fabric-wide findings (no subnet manager) do not concern these links. */
		if (finding->severity == FINDING_INFO || (!finding->node_guid && !finding->port_count) ||
		    !health_touches(shape, finding, &one))
			continue;
		text_appendf(reason, "%s %s: %s", finding_kind_name(finding->kind), finding->subject, finding->text);
		return false;
	}
	return true;
}

/* Does the history cover the span? */
static int check_history(const struct gate *gate, const struct options *options, struct error *err)
{
	struct db_status status;
	char have[WHEN_SIZE], want[WHEN_SIZE];
	int code = reader_status(gate->moment.reader, &status, err);

	if (code < 0)
		return code;
	if (status.first_wall_us && status.first_wall_us <= options->since_us + gate->span_us / 20)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, "the history covers %s of the requested %s: try later, or use a "
		       "shorter --for", when_format_span(options->now_us - status.first_wall_us, have),
		       when_format_span(gate->span_us, want));
}

static int check_hosts(struct gate *gate, const struct health_request *request, struct error *err)
{
	struct text reason = { 0 };
	struct result *result = output_begin(request->options, false, gate_columns, COLUMN_COUNT);
	bool passed = true;
	int code;

	for (size_t i = 0; i < request->filter.job.count; i++) {
		unsigned links;
		bool clean;

		text_clear(&reason);
		clean = host_is_clean(gate, request->filter.job.names[i], &links, &reason);
		passed = passed && clean;
		result_text(result, HOST, request->filter.job.names[i]);
		result_bool(result, PASSED, clean);
		result_show(result, PASSED, clean ? "yes" : "NO", clean ? STYLE_PLAIN : STYLE_CRITICAL);
		result_integer(result, LINKS, links);
		if (!clean)
			result_text(result, REASON, text_chars(&reason));
		result_end_row(result);
	}
	code = output_end(result, text_failed(&reason) ? err_nomem(err) : 0, err);
	text_done(&reason);
	return code < 0 ? code : passed ? 0 : 2;
}

int health_gate(const struct health_request *request, int64_t span_us, struct error *err)
{
	struct options options = *request->options;
	struct finding_query query = { 0 };
	const struct health_filter all = { 0 };
	struct gate gate = { .span_us = span_us };
	int code;

	options.since_us = query.since_us = options.now_us - span_us;
	options.at_us = options.until_us = 0;
	query.until_us = options.now_us;
	code = options_open_moment(&options, false, &gate.moment, err);
	if (code < 0)
		return code;
	code = check_history(&gate, &options, err);
	if (code == 0)
		code = health_load(&gate.moment, &all, &query, &gate.findings, err);
	if (code == 0)
		code = moment_find_shape(&gate.moment, err);
	if (code == 0)
		code = check_hosts(&gate, request, err);
	health_rows_done(&gate.findings);
	moment_done(&gate.moment);
	return code;
}
