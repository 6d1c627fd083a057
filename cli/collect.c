/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * collect - poll the fabric and store what its counters did
 */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/asking.h"
#include "cli/command.h"
#include "cli/keep.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "collector/collector.h"
#include "collector/details.h"
#include "collector/helper.h"
#include "collector/link_check.h"
#include "collector/fabric_watch.h"
#include "collector/route_read.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "storage/writer.h"
#include "wire/hca.h"
#include "wire/keys.h"
#include "wire/transport.h"

#define DEFAULT_INTERVAL_US (10 * US_PER_S)
/* In less time no switch answers for all its ports. */
#define LEAST_INTERVAL_US (10 * US_PER_MS)
#define DEFAULT_REDISCOVER_US (600 * US_PER_S)
#define DEFAULT_ROUTES_US (60 * US_PER_S)

#define US_PER_DAY (24 * 3600 * US_PER_S)
#define DEFAULT_KEEP_RAW_US (7 * US_PER_DAY)
#define DEFAULT_KEEP_SUMS_US (30 * US_PER_DAY)
#define DEFAULT_KEEP_HOURS_US (730 * US_PER_DAY)

/*
 * How long the end may take once somebody asked for it: a device that vanished, and one of the simulator's, may never
 * come back to us. Where a database is open there is work to finish: the last readings, and the log to be emptied.
 */
#define STOP_EMPTY_S 3
#define STOP_STORING_S 10

struct collect_options {
	struct options common;
	bool once, estimate, new_fabric, directed_smps, verbose;
	const char *ask; /* "all" or "switches" */
	int64_t interval_us, rediscover_us, routes_us, discovery_deadline_us;
	int64_t count, window, per_node, max_mads_per_s, retries;
	struct asking asking;
	int64_t keep_raw_us, keep_sums_us, keep_hours_us; /* 0: for good */
	const char *max_size;      /* or NULL: by the disk */
	const char *settings_path; /* or NULL */
	bool show_settings;
	struct settings settings;
};

static bool asks_switches_only(const struct collect_options *options)
{
	return !strcmp(options->ask, "switches");
}

static uint16_t read_sm_lid(void *ctx)
{
	struct hca_port *local = ctx;

	/* A port that cannot be read just now keeps the SM that it had. */
	hca_refresh(local, NULL);
	return local->sm_lid;
}

static int accept_fabric(void *ctx, const struct fabric *fabric, struct error *err)
{
	return writer_check_fabric(ctx, fabric, err);
}

/* One object about what was done, on stdout. */
static int print_report(const struct collect_options *options, const struct collector_report *report,
			struct error *err)
{
	static const struct column columns[] = {
		{ .key = "discovery_us", .title = "discovery", .kind = COLUMN_SPAN_US },
		{ .key = "discovery_smps", .title = "SMPs of discovery", .kind = COLUMN_INTEGER },
		{ .key = "sweep_us", .title = "sweep", .kind = COLUMN_SPAN_US },
		{ .key = "commit_us", .title = "commit", .kind = COLUMN_SPAN_US },
		{ .key = "nodes", .title = "nodes", .kind = COLUMN_INTEGER },
		{ .key = "links", .title = "links", .kind = COLUMN_INTEGER },
		{ .key = "ports_asked", .title = "ports asked", .kind = COLUMN_INTEGER },
		{ .key = "ports_answered", .title = "ports answered", .kind = COLUMN_INTEGER },
		{ .key = "ports_unfinished", .title = "ports not finished", .kind = COLUMN_INTEGER },
		{ .key = "mads_sent", .title = "MADs sent", .kind = COLUMN_INTEGER },
		{ .key = "mads_timed_out", .title = "MADs timed out", .kind = COLUMN_INTEGER },
	};
	struct result_options how = options_result(&options->common);
	struct result *result;
	int code;

	how.record = true;
	code = result_create(stdout, &how, columns, sizeof(columns) / sizeof(columns[0]), &result, err);
	if (code < 0)
		return code;
	result_integer(result, 0, report->discovery_us);
	result_unsigned(result, 1, report->discovery_smps);
	result_integer(result, 2, report->sweep_us);
	result_integer(result, 3, report->commit_us);
	result_unsigned(result, 4, report->nodes);
	result_unsigned(result, 5, report->links);
	result_unsigned(result, 6, report->ports_asked);
	result_unsigned(result, 7, report->ports_answered);
	result_unsigned(result, 8, report->ports_unfinished);
	result_unsigned(result, 9, report->mads_sent);
	result_unsigned(result, 10, report->mads_timed_out);
	result_end_row(result);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

/* What polling this fabric would cost, from its shape alone. */
static int print_estimate(const struct collect_options *options, const struct fabric *fabric,
			  const struct record_trailer *trailer, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "nodes", .title = "nodes", .kind = COLUMN_INTEGER },
		{ .key = "ports", .title = "ports to ask", .kind = COLUMN_INTEGER },
		{ .key = "interval_s", .title = "interval", .kind = COLUMN_SPAN_S },
		{ .key = "mads_per_sweep", .title = "MADs per sweep", .kind = COLUMN_INTEGER },
		{ .key = "mads_per_s", .title = "MADs per second, mean", .kind = COLUMN_PER_S },
		{ .key = "max_mads_per_s", .title = "MADs per second, at most", .kind = COLUMN_PER_S },
		{ .key = "smps_per_discovery", .title = "SMPs per discovery", .kind = COLUMN_INTEGER },
		{ .key = "rediscover_s", .title = "discovery every", .kind = COLUMN_SPAN_S },
		{ .key = "disk_bytes_per_day", .title = "disk per day", .kind = COLUMN_BYTES },
	};
	struct result_options how = options_result(&options->common);
	double interval_s = (double)options->interval_us / US_PER_S;
	uint64_t ports = 0, mads;
	struct result *result;
	size_t i;
	int code;

	for (i = 0; i < fabric->port_count; i++)
		ports += port_is_pollable(fabric, &fabric->ports[i]) && fabric->ports[i].state >= PORT_INIT &&
			 (!asks_switches_only(options) ||
			  fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH);
	/* PortCounters and PortCountersExtended of each port, SMInfo, slow counters, what looks for changes, tables. */
	mads = 2 * ports + 1 + details_cost(fabric, asks_switches_only(options)) + link_check_cost(fabric) +
	       route_read_cost(fabric, options->routes_us, route_read_beat_per_s(options->max_mads_per_s),
			       options->interval_us);
	how.record = true;
	code = result_create(stdout, &how, columns, sizeof(columns) / sizeof(columns[0]), &result, err);
	if (code < 0)
		return code;
	result_unsigned(result, 0, fabric->node_count);
	result_unsigned(result, 1, ports);
	result_real(result, 2, interval_s);
	result_unsigned(result, 3, mads);
	result_real(result, 4, (double)mads / interval_s);
	if (options->max_mads_per_s)
		result_real(result, 5, (double)options->max_mads_per_s);
	result_unsigned(result, 6, trailer->smps);
	result_real(result, 7, (double)options->rediscover_us / US_PER_S);
	result_real(result, 8, (double)ports * WRITER_BYTES_PER_SAMPLE * 86400 / interval_s);
	result_end_row(result);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

/* Discover, and nothing else. */
static int estimate(const struct collect_options *options, const struct discovery_settings *settings,
		    struct error *err)
{
	const struct discoverer *discoverer;
	struct record_trailer trailer = { 0 };
	struct fabric *fabric = NULL;
	struct helper *helper;
	int code = helper_create(settings, clock_system(), &helper, err);

	if (code < 0)
		return code;
	discoverer = helper_discoverer(helper);
	code = discoverer->start(discoverer->ctx, err);
	while (code == 0 && !stop_requested())
		code = discoverer->step(discoverer->ctx, 100, &fabric, &trailer, err);
	helper_destroy(helper);
	if (code > 0)
		code = print_estimate(options, fabric, &trailer, err);
	fabric_destroy(fabric);
	return code;
}

/* A script asked for so many sweeps: it must see at the exit status that the last ones are not there. */
static int check_stored(const struct collector_report *report, struct error *err)
{
	if (report->unstored.code == 0)
		return 0;
	err_set(err, report->unstored.code, "%s; once it takes data again the next sweep stores what was counted "
		"meanwhile", report->unstored.text);
	return err_prefix(err, "collect: %" PRIu64 " of %" PRIu64 " sweeps stored", report->sweeps,
			  report->sweeps_made);
}

/* The device is open and the database ours: collect. */
static int collect(const struct collect_options *options, struct hca *hca, struct hca_port *local,
		   struct keys *keys, const struct discovery_settings *discovery, struct writer *writer,
		   struct error *err)
{
	struct collector_settings settings = {
		.interval_us = options->interval_us,
		.count = options->once ? 1 : (uint64_t)options->count,
		.discovery_interval_us = options->rediscover_us,
		.routes_interval_us = options->routes_us,
		.routes_window = (unsigned)options->asking.max_smps,
		.switches_only = asks_switches_only(options),
		.engine = {
			.window = (unsigned)options->window,
			.per_node = (unsigned)options->per_node,
			.max_mads_per_s = (unsigned)options->max_mads_per_s,
			.timeout_ms = options->common.timeout_ms ? (unsigned)options->common.timeout_ms
								 : ASKING_TIMEOUT_MS,
			.retries = (unsigned)options->retries,
		},
		.health = &options->settings.health,
		.shape = &options->settings.shape,
		.accept = accept_fabric,
		.accept_ctx = writer,
	};
	struct collector_wire wire = {
		.transport = hca_transport(hca), .keys = keys, .directed_smps = local->directed,
		.sm_lid = read_sm_lid, .ctx = local,
	};
	struct collector_report report;
	struct helper *helper;
	int code = helper_create(discovery, clock_system(), &helper, err);

	if (code < 0)
		return code;
	wire.discoverer = helper_discoverer(helper);
	code = collector_run(&settings, &wire, clock_system(), writer_sink(writer), &report, err);
	helper_destroy(helper);
	if (code == 0 && (options->once || options->count) && report.sweeps)
		code = print_report(options, &report, err);
	else if (code == 0)
		log_info("%" PRIu64 " sweeps stored", report.sweeps);
	return code == 0 && options->count ? check_stored(&report, err) : code;
}

static int parse(const struct command *command, int argc, char **argv, struct collect_options *ret, struct error *err)
{
	const struct option_spec specs[] = {
		{ "interval", 'i', OPTION_SPAN, "SPAN", "time from one sweep to the next (10s)", &ret->interval_us, 0 },
		{ "once", 0, OPTION_FLAG, NULL, "one sweep, then say what was done", &ret->once, 0 },
		{ "count", 'c', OPTION_NUMBER, "N", "end after N sweeps and say what was done", &ret->count, 1 },
		{ "estimate", 0, OPTION_FLAG, NULL, "say what polling would cost; do not poll", &ret->estimate, 0 },
		{ "new-fabric", 0, OPTION_FLAG, NULL, "start anew where the database knows another fabric",
		  &ret->new_fabric, 0 },
		{ "ask", 0, OPTION_TEXT, "WHOM", "all, or switches: then hosts are left alone (all)", &ret->ask, 0 },
		{ "window", 0, OPTION_NUMBER, "N", "MADs in flight over all, up to 128 (32)", &ret->window, 1 },
		{ "per-node", 0, OPTION_NUMBER, "N", "MADs in flight to one node (1)", &ret->per_node, 1 },
		{ "max-mads-per-second", 0, OPTION_NUMBER, "N", "limit of MADs sent, 0: none (20000)",
		  &ret->max_mads_per_s, 0 },
		{ "retries", 0, OPTION_NUMBER, "N", "how often an unanswered MAD is sent again (2)", &ret->retries, 0 },
		{ "max-smps", 0, OPTION_NUMBER, "N", "SMPs in flight for discovery and for forwarding tables (8)",
		  &ret->asking.max_smps, 1 },
		{ "discovery", 0, OPTION_TEXT, "BY", "who discovers: own, or libibnetdisc as a second opinion (own)",
		  &ret->asking.discovery, 0 },
		{ "rediscover", 0, OPTION_SPAN, "SPAN", "discover at least so often (10m)", &ret->rediscover_us, 0 },
		{ "routes", 0, OPTION_SPAN_OR_0, "SPAN", "read each forwarding table so often, 0: never (1m)",
		  &ret->routes_us, 0 },
		{ "discovery-deadline", 0, OPTION_SPAN, "SPAN", "how long a discovery may take (2m)",
		  &ret->discovery_deadline_us, 0 },
		{ "security-keys", 0, OPTION_TEXT, "DIR", "directory with the subnet manager's guid2mkey (none)",
		  &ret->asking.security_keys, 0 },
		{ "smi-ca", 0, OPTION_TEXT, "NAME[:PORT]",
		  "local device that sends SMPs (the HCA, or its part for them)", &ret->asking.smi_ca, 0 },
		{ "directed-smps", 0, OPTION_FLAG, NULL,
		  "send SMPs along paths and not by LID (where the HCA has planes)", &ret->directed_smps, 0 },
		{ "keep-raw", 0, OPTION_SPAN_OR_0, "SPAN", "keep each sweep's samples so long, 0: for good (7d)",
		  &ret->keep_raw_us, 0 },
		{ "keep-sums", 0, OPTION_SPAN_OR_0, "SPAN", "keep sums of minutes, errors and gaps so long (30d)",
		  &ret->keep_sums_us, 0 },
		{ "keep-hours", 0, OPTION_SPAN_OR_0, "SPAN", "keep sums of hours so long (730d)",
		  &ret->keep_hours_us, 0 },
		{ "max-size", 0, OPTION_TEXT, "SIZE",
		  "let the database be so large, 0: any (20G, at most half of the free space)", &ret->max_size, 0 },
		{ "settings", 0, OPTION_TEXT, "FILE", "limits of findings, classes, rails (/etc/ibwire/ibwire.conf)",
		  &ret->settings_path, 0 },
		{ "show-settings", 0, OPTION_FLAG, NULL, "print all settings as such a file, and poll nothing",
		  &ret->show_settings, 0 },
		{ "verbose", 'v', OPTION_FLAG, NULL, "say more on stderr", &ret->verbose, 0 },
		{ 0 },
	};
	int64_t max_bytes;
	int code = options_parse(command, COMMON_DEVICE | COMMON_DB | COMMON_FORMAT | COMMON_COLOR, specs, argc, argv,
				 clock_wall_us(clock_system()), &ret->common, err);

	if (code != 0)
		return code;
	if (ret->once + ret->estimate + (ret->count > 0) > 1)
		return options_usage_error(command, err, "--once, --count and --estimate exclude each other");
	if (ret->show_settings && ret->common.format != RESULT_TABLE)
		return options_usage_error(command, err, "--show-settings prints a file for --settings: leave out "
					   "--format");
	if (ret->interval_us < LEAST_INTERVAL_US)
		return options_usage_error(command, err, "--interval takes 10ms or more");
	if (strcmp(ret->ask, "all") && strcmp(ret->ask, "switches"))
		return options_usage_error(command, err, "--ask takes \"all\" or \"switches\", not \"%s\"", ret->ask);
	if (strcmp(ret->asking.discovery, "own") && strcmp(ret->asking.discovery, "libibnetdisc"))
		return options_usage_error(command, err, "--discovery takes \"own\" or \"libibnetdisc\", not \"%s\"",
					   ret->asking.discovery);
	if (ret->window > ENGINE_WINDOW_MAX || ret->per_node > ENGINE_WINDOW_MAX)
		return options_usage_error(command, err, "--window and --per-node go up to %d", ENGINE_WINDOW_MAX);
	if (ret->max_mads_per_s > INT_MAX || ret->retries > 100 || ret->asking.max_smps > 1024)
		return options_usage_error(command, err, "a number is too large");
	if (ret->max_size && keep_parse_size(ret->max_size, &max_bytes, err) < 0)
		return err_prefix(err, "collect: --max-size");
	return options_no_arguments(command, &ret->common, err);
}

static int set_keep(const struct collect_options *options, const char *path, struct writer *writer, struct error *err)
{
	struct writer_retention keep = { .raw_us = options->keep_raw_us, .sums_us = options->keep_sums_us,
				    .hours_us = options->keep_hours_us, .max_bytes = keep_default_size(path) };
	int code = options->max_size ? keep_parse_size(options->max_size, &keep.max_bytes, err) : 0;

	if (code == 0)
		writer_set_retention(writer, &keep);
	return code;
}

static int show_settings(const struct settings *settings, struct error *err)
{
	struct text text = { 0 };
	int code;

	settings_append(settings, &text);
	code = text_failed(&text) ? err_nomem(err) : 0;
	if (code == 0)
		fputs(text_chars(&text), stdout);
	text_done(&text);
	return code;
}

static int collect_fabric(struct collect_options *options, struct error *err)
{
	struct helper_command helper;
	struct discovery_settings discovery = { .argv = helper.argv };
	struct writer *writer = NULL;
	struct hca_port local;
	char path[PATH_MAX];
	struct keys *keys = NULL;
	struct hca *hca = NULL;
	int code;

	heap_keep_small();
	log_init("ibwire", options->verbose ? LOG_LEVEL_DEBUG : options->once ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO);
	stop_install();
	stop_within(STOP_EMPTY_S);
	code = hca_find(options->common.ca, options->common.port, options->asking.smi_ca, &local, err);
	if (code < 0)
		return code;
	local.directed |= options->directed_smps;
	options->asking.timeout_ms = options->common.timeout_ms;
	asking_helper(&options->asking, &local, &helper);
	discovery.deadline_us = options->discovery_deadline_us;
	code = asking_keys(&options->asking, local.port_guid, &keys, err);
	if (local.planes)
		log_warning("%s port %d is an aggregate of planes: SMPs go by %s port %d, along paths, and ports that "
			    "are planes show what their switch ports count", local.ca_name, local.port,
			    local.smi_ca_name, local.smi_port);
	if (code == 0 && options->estimate) {
		keys_destroy(keys);
		return estimate(options, &discovery, err);
	}
	if (code == 0)
		code = hca_open(&local, &hca, err);
	if (code == 0)
		code = options_db_path(&options->common, true, path, sizeof(path), err);
	stop_within(STOP_STORING_S);
	if (code == 0)
		code = writer_open(path, &writer, err);
	if (code == 0)
		code = set_keep(options, path, writer, err);
	if (code == 0 && options->new_fabric)
		code = writer_forget_fabric(writer, err);
	if (code == 0)
		code = collect(options, hca, &local, keys, &discovery, writer, err);
	writer_close(writer);
	hca_close(hca);
	keys_destroy(keys);
	return code;
}

int collect_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct collect_options options = {
		.ask = "all",
		.interval_us = DEFAULT_INTERVAL_US,
		.rediscover_us = DEFAULT_REDISCOVER_US,
		.routes_us = DEFAULT_ROUTES_US,
		.discovery_deadline_us = ASKING_DISCOVERY_DEADLINE_US,
		.window = ASKING_WINDOW,
		.per_node = ASKING_PER_NODE,
		.max_mads_per_s = ASKING_MADS_PER_S,
		.retries = ASKING_RETRIES,
		.asking = { .max_smps = ASKING_MAX_SMPS, .discovery = "own" },
		.keep_raw_us = DEFAULT_KEEP_RAW_US,
		.keep_sums_us = DEFAULT_KEEP_SUMS_US,
		.keep_hours_us = DEFAULT_KEEP_HOURS_US,
	};
	int code = parse(command, argc, argv, &options, err);

	if (code != 0)
		return code < 0 ? code : 0;
	code = settings_load(options.settings_path, &options.settings, err);
	if (code == 0 && options.show_settings)
		code = show_settings(&options.settings, err);
	else if (code == 0)
		code = collect_fabric(&options, err);
	settings_done(&options.settings);
	return code;
}
