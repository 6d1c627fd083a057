/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * collect - poll the fabric and store counter deltas
 */
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/process.h"
#include "base/service.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/collect_fast.h"
#include "cli/command.h"
#include "cli/lib/lease.h"
#include "cli/lib/polling.h"
#include "cli/lib/options.h"
#include "cli/lib/plan_watch.h"
#include "cli/lib/settings.h"
#include "collector/collector.h"
#include "collector/details.h"
#include "collector/fast_jobs.h"
#include "collector/firmware_read.h"
#include "collector/pkey_read.h"
#include "collector/route_read.h"
#include "collector/topology_probe.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "storage/writer.h"
#include "wire/discovery.h"
#include "wire/hca.h"
#include "wire/keys.h"
#include "wire/transport.h"

#define DEFAULT_BYTES INT64_C(20000000000)

static int parse_size(const char *typed, int64_t *ret_bytes, struct error *err)
{
	static const char units[] = "kMGT";
	char *end;
	double value = strtod(typed, &end);
	/* Decimal numbers only: strtod() also accepts hexadecimal and "inf". */
	bool decimal = end > typed && strspn(typed, "0123456789.") == (size_t)(end - typed);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (unit) {
		value *= pow(1000, (double)(unit - units + 1));
		end++;
	}
	if (*end == 'B')
		end++;
	if (!decimal || *end || !(value < 9e18))
		return err_set(err, ERR_USAGE, "\"%s\" is not a size; use for example 500M, 20G or 1.5T", typed);
	*ret_bytes = (int64_t)value;
	return 0;
}

/* Half of the space that is free or used by the database, DEFAULT_BYTES at most. */
static int64_t default_size(const char *path)
{
	char folder[PATH_MAX];
	struct statvfs disk;
	struct stat file;
	double room;

	snprintf(folder, sizeof(folder), "%s", path);
	if (statvfs(dirname(folder), &disk) < 0)
		return DEFAULT_BYTES;
	room = (double)disk.f_bavail * (double)disk.f_frsize + (stat(path, &file) < 0 ? 0 : (double)file.st_size);
	return room / 2 < (double)DEFAULT_BYTES ? (int64_t)(room / 2) : DEFAULT_BYTES;
}

/* No switch responds for all of its ports in less time. */
#define LEAST_INTERVAL_US (10 * US_PER_MS)

/* No job is read more often between sweeps: the traffic of a port is the smallest part of a reading's cost. */
#define LEAST_FAST_US (100 * US_PER_MS)
#define DEFAULT_FAST_US US_PER_S

#define US_PER_DAY (24 * 3600 * US_PER_S)

/*
 * Time limit of the shutdown: calls to a device that was removed, or to the simulator's, may never
 * return. With an open database the last readings are stored and the WAL is checkpointed first.
 */
#define STOP_EMPTY_S 3
#define STOP_STORING_S 10

struct collect_options {
	struct options common;
	bool once, estimate, new_fabric, directed_smps, adaptive_routing, firmware, no_pkeys, verbose;
	const char *nodes; /* "all" or "switches" */
	int64_t interval_us, rediscover_us, routes_us;
	int64_t fast_us; /* -1: not given */
	int64_t count, window, per_node, max_mads_per_s;
	struct polling polling;
	int64_t keep_raw_us, keep_sums_us, keep_hours_us, keep_jobs_us; /* 0: forever */
	const char *max_size;      /* or NULL: derived from the free disk space */
	const char *settings_path; /* or NULL */
	bool show_settings;
	const char *lease_path;    /* or NULL: this host polls in any case */
	struct settings settings;
};

static bool polls_switches_only(const struct collect_options *options)
{
	return !strcmp(options->nodes, "switches");
}

/* Is a round between two sweeps possible? */
static bool fast_fits(const struct collect_options *options, int64_t fast_us)
{
	return fast_us >= LEAST_FAST_US && fast_us <= options->interval_us / 2 && !polls_switches_only(options);
}

/* 0: never. The settings file may be that of other intervals. A single sweep has no rounds. */
static int64_t fast_jobs_us(const struct collect_options *options)
{
	int64_t fast_us = options->settings.fast_jobs_us;

	if (options->once)
		return 0;
	return options->fast_us >= 0 ? options->fast_us : fast_fits(options, fast_us) ? fast_us : 0;
}

/* What ends a run between two sweeps. */
struct supervision {
	struct lease *lease;   /* or NULL */
	bool reload;           /* SIGHUP: the settings are to be read again */
	struct error lost;     /* the lease was lost */
};

static bool proceed(void *ctx)
{
	struct supervision *supervision = ctx;

	service_notify("WATCHDOG=1");
	supervision->reload |= stop_take_reload();
	if (supervision->lease)
		lease_renew(supervision->lease, &supervision->lost);
	return !supervision->reload && !supervision->lost.code;
}

/* The local port, and its device; NULL while that is removed. */
struct local {
	struct hca_port port;
	struct hca *hca;
	bool returned; /* it was removed before */
};

static uint16_t read_sm_lid(void *ctx)
{
	struct local *local = ctx;

	/* If the port cannot be read now, its last known SM stays. */
	hca_refresh(&local->port, NULL);
	return local->port.sm_lid;
}

static bool was_removed(void *ctx)
{
	const struct local *local = ctx;

	return hca_was_removed(local->hca);
}

static int accept_fabric(void *ctx, const struct fabric *fabric, struct error *err)
{
	return writer_check_fabric(ctx, fabric, err);
}

/* The last columns of both records. */
#define FAST_COLUMNS 3

/* Print the summary of the run on stdout. */
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
		{ .key = "ports_polled", .title = "ports polled", .kind = COLUMN_INTEGER },
		{ .key = "ports_answered", .title = "ports responding", .kind = COLUMN_INTEGER },
		{ .key = "ports_unfinished", .title = "ports not reached in time", .kind = COLUMN_INTEGER },
		{ .key = "mads_sent", .title = "MADs sent", .kind = COLUMN_INTEGER },
		{ .key = "mads_timed_out", .title = "MADs timed out", .kind = COLUMN_INTEGER },
		/* Only with --fast-jobs: */
		{ .key = "fast_rounds", .title = "rounds between sweeps", .kind = COLUMN_INTEGER },
		{ .key = "fast_ports", .title = "ports of running jobs", .kind = COLUMN_INTEGER },
		{ .key = "fast_mads", .title = "MADs of rounds", .kind = COLUMN_INTEGER },
	};
	size_t count = sizeof(columns) / sizeof(*columns) - (fast_jobs_us(options) ? 0 : FAST_COLUMNS);
	const double numbers[] = {
		(double)report->discovery_us, (double)report->discovery_smps, (double)report->sweep_us,
		(double)report->commit_us, (double)report->nodes, (double)report->links, (double)report->ports_polled,
		(double)report->ports_answered, (double)report->ports_unfinished, (double)report->mads_sent,
		(double)report->mads_timed_out, (double)report->fast_rounds, (double)report->fast_ports,
		(double)report->fast_mads,
	};

	return output_record(&options->common, columns, count, NULL, numbers, err);
}

/* Estimate the polling cost from the topology alone. */
static int print_estimate(const struct collect_options *options, const struct fabric *fabric,
			  const struct record_trailer *trailer, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "nodes", .title = "nodes", .kind = COLUMN_INTEGER },
		{ .key = "ports", .title = "ports to poll", .kind = COLUMN_INTEGER },
		{ .key = "interval_s", .title = "interval", .kind = COLUMN_SPAN_S },
		{ .key = "mads_per_sweep", .title = "MADs per sweep", .kind = COLUMN_INTEGER },
		{ .key = "mads_per_s", .title = "MADs per second, mean", .kind = COLUMN_PER_S },
		{ .key = "max_mads_per_s", .title = "MADs per second, maximum", .kind = COLUMN_PER_S },
		{ .key = "smps_per_discovery", .title = "SMPs per discovery", .kind = COLUMN_INTEGER },
		{ .key = "rediscover_s", .title = "discovery every", .kind = COLUMN_SPAN_S },
		{ .key = "disk_bytes_per_day", .title = "disk per day", .kind = COLUMN_BYTES },
		/* Only with --fast-jobs: */
		{ .key = "fast_assumes", .title = "read between sweeps", .kind = COLUMN_TEXT },
		{ .key = "fast_ports", .title = "their HCA ports", .kind = COLUMN_INTEGER },
		{ .key = "fast_mads_per_s", .title = "their MADs per second, mean", .kind = COLUMN_PER_S },
	};
	int64_t fast_us = fast_jobs_us(options);
	size_t count = sizeof(columns) / sizeof(*columns) - (fast_us ? 0 : FAST_COLUMNS);
	struct fast_assumption fast = { 0 };
	double interval_s = (double)options->interval_us / US_PER_S;
	uint64_t ports = 0, mads, fast_mads;
	int code = fast_us ? collect_fast_assume(&options->common, fabric, &options->settings.shape, &fast, err) : 0;

	if (code < 0)
		return code;
	fast_mads = fast_us ? fast_jobs_mads(fast.ports, fast_us, options->interval_us) : 0;
	for (size_t i = 0; i < fabric->port_count; i++)
		ports += port_is_pollable(fabric, &fabric->ports[i]) && fabric->ports[i].state >= PORT_INIT &&
			 (!polls_switches_only(options) ||
			  fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH);
	/*
	 * PortCounters and PortCountersExtended of each port (agents that need only one are not known
	 * here), SMInfo, detail counters, change detection, LFTs, P_Key tables.
	 */
	mads = 2 * ports + details_cost(fabric, polls_switches_only(options));
	if (options->firmware)
		mads += firmware_read_cost(fabric, polls_switches_only(options));
	if (!options->polling.topology)
		mads += 1 + topology_probe_cost(fabric, polls_switches_only(options)) +
			route_read_cost(fabric, options->routes_us, route_read_blocks_per_s(options->max_mads_per_s),
					options->interval_us);
	if (!options->polling.topology && !options->no_pkeys && !polls_switches_only(options))
		mads += pkey_read_cost(fabric, mads, options->interval_us);
	return output_record(&options->common, columns, count, fast.text, (const double[]){
		(double)fabric->node_count, (double)ports, interval_s, (double)mads, (double)mads / interval_s,
		options->max_mads_per_s ? (double)options->max_mads_per_s : NAN, (double)trailer->smps,
		(double)options->rediscover_us / US_PER_S,
		(double)ports * WRITER_BYTES_PER_SAMPLE * 86400 / interval_s, NAN, (double)fast.ports,
		(double)fast_mads / interval_s,
	}, err);
}

/* Run a discovery only, or take the topology of a file. */
static int estimate(const struct collect_options *options, const struct discovery_settings *settings,
		    struct topology_file *file, struct error *err)
{
	struct record_trailer trailer = { 0 };
	struct fabric *fabric = NULL;
	int code = file->path ? file->discoverer.step(file, 0, &fabric, &trailer, err)
			      : discovery_run(settings, clock_system(), &fabric, &trailer, err);

	if (code > 0)
		code = print_estimate(options, fabric, &trailer, err);
	fabric_destroy(fabric);
	return code;
}

/* With --count the exit status must show that the last sweeps were not stored. */
static int check_stored(const struct collector_report *report, struct error *err)
{
	if (report->unstored.code == 0)
		return 0;
	err_set(err, report->unstored.code, "%s; the next successful sweep stores what was counted in the meantime",
		report->unstored.text);
	return err_prefix(err, "collect: %" PRIu64 " of %" PRIu64 " sweep%s stored", report->sweeps,
			  report->sweeps_made, text_plural(report->sweeps_made));
}

/*
 * The device and the database are open: collect.
 * @file:  the topology, if its path is set; else it is discovered
 */
static int collect(const struct collect_options *options, struct local *local, struct keys *keys,
		   const struct discovery_settings *discovery, struct topology_file *file, struct writer *writer,
		   struct supervision *supervision, struct error *err)
{
	char device[CA_NAME_SIZE + sizeof(" port 255")];
	struct plan_watch plan;
	struct collector_settings settings = {
		.interval_us = options->interval_us,
		.count = options->once ? 1 : (uint64_t)options->count,
		.discovery_interval_us = options->rediscover_us,
		.routes_interval_us = file->path ? 0 : options->routes_us,
		.routes_window = (unsigned)options->polling.max_smps,
		.switches_only = polls_switches_only(options),
		.adaptive_routing = options->adaptive_routing,
		.fast_jobs_us = fast_jobs_us(options),
		.firmware = options->firmware,
		.no_pkeys = options->no_pkeys,
		.detect_jobs = options->settings.detect_jobs,
		.engine = {
			.window = (unsigned)options->window,
			.per_node = (unsigned)options->per_node,
			.max_mads_per_s = (unsigned)options->max_mads_per_s,
			.timeout_ms = options->common.timeout_ms ? (unsigned)options->common.timeout_ms
								 : POLLING_TIMEOUT_MS,
			.retries = options->polling.retries < 0 ? POLLING_RETRIES
								: (unsigned)options->polling.retries,
		},
		.health = &options->settings.health,
		.shape = &options->settings.shape,
		.plan = options->settings.plan_file_count ? plan_watch_now : NULL,
		.plan_ctx = &plan,
		.accept = accept_fabric,
		.accept_ctx = writer,
		.proceed = proceed,
		.proceed_ctx = supervision,
	};
	struct collector_wire wire = {
		.transport = hca_transport(local->hca), .keys = keys, .directed_smps = local->port.directed,
		.sm_lid = read_sm_lid, .device_removed = was_removed, .ctx = local, .device = device,
		.device_returned = local->returned,
	};
	struct collector_report report;
	struct discovery *helper = NULL;
	int code = plan_watch_init(&plan, options->settings.plan_files, options->settings.plan_file_count, err);

	if (code == 0 && !file->path)
		code = discovery_create(discovery, clock_system(), &helper, err);
	if (code < 0) {
		plan_watch_done(&plan);
		return code;
	}
	snprintf(device, sizeof(device), "%s port %d", local->port.ca_name, local->port.port);
	wire.discoverer = helper ? discovery_discoverer(helper) : &file->discoverer;
	code = collector_run(&settings, &wire, clock_system(), writer_sink(writer), &report, err);
	discovery_destroy(helper);
	plan_watch_done(&plan);
	if (code == 0 && (options->once || options->count) && report.sweeps)
		code = print_report(options, &report, err);
	else if (code == 0)
		log_info("%" PRIu64 " sweep%s stored", report.sweeps, text_plural(report.sweeps));
	return code == 0 && options->count ? check_stored(&report, err) : code;
}

static int parse(const struct command *command, int argc, char **argv, struct collect_options *ret, struct error *err)
{
	const struct option_spec specs[] = {
		OPT_SPAN("interval", 'i', &ret->interval_us, "interval between sweeps (10s)"),
		OPT_FLAG("once", 0, &ret->once, "run one sweep and print a summary"),
		OPT_NUMBER("count", 'c', "N", &ret->count, 1, "stop after N sweeps and print a summary"),
		OPT_FLAG("estimate", 0, &ret->estimate, "print the estimated polling cost and exit"),
		OPT_FLAG("new-fabric", 0, &ret->new_fabric, "start over if the database belongs to another fabric"),
		OPT_TEXT("ask", 0, "WHOM", &ret->nodes, "nodes to poll: all or switches (all)"),
		OPT_SPAN_OPTIONAL("fast-jobs", &ret->fast_us, DEFAULT_FAST_US,
				  "read the HCA ports of running jobs between sweeps (off; 1s), 0 = off"),
		OPT_NUMBER("window", 0, "N", &ret->window, 1, "maximum MADs in flight, up to 128 (32)"),
		OPT_NUMBER("per-node", 0, "N", &ret->per_node, 1, "maximum MADs in flight to one node (1)"),
		OPT_NUMBER("max-mads-per-second", 0, "N", &ret->max_mads_per_s, 0,
			   "rate limit in MADs per second, 0 = unlimited (20000)"),
		OPT_NUMBER("retries", 0, "N", &ret->polling.retries, 0, "retries of a MAD that timed out (2)"),
		OPT_NUMBER("max-smps", 0, "N", &ret->polling.max_smps, 1, "maximum SMPs in flight (8)"),
		OPT_TEXT("discovery", 0, "BY", &ret->polling.discovery,
			 "engine of whole discoveries: libibnetdisc or explorer (libibnetdisc)"),
		OPT_SPAN("rediscover", 0, &ret->rediscover_us, "maximum time between discoveries (10m)"),
		OPT_SPAN_OR_0("routes", 0, &ret->routes_us, "interval of forwarding table reads, 0 = never (1m)"),
		OPT_SPAN("discovery-deadline", 0, &ret->polling.deadline_us, "time limit of a discovery (2m)"),
		POLLING_SPECS(&ret->polling, ""),
		OPT_FLAG("directed-smps", 0, &ret->directed_smps,
			 "send directed-route SMPs (default on HCAs with planes)"),
		OPT_FLAG("adaptive-routing", 0, &ret->adaptive_routing,
			 "query whether NVIDIA switches route adaptively"),
		OPT_FLAG("no-pkeys", 0, &ret->no_pkeys, "do not read P_Key tables"),
		OPT_FLAG("firmware", 0, &ret->firmware, "query the firmware versions of NVIDIA switches and HCAs"),
		OPT_SPAN_OR_0("keep-raw", 0, &ret->keep_raw_us, "raw-sample retention, 0 = forever (7d)"),
		OPT_SPAN_OR_0("keep-sums", 0, &ret->keep_sums_us, "retention of minute sums, errors and gaps (30d)"),
		OPT_SPAN_OR_0("keep-hours", 0, &ret->keep_hours_us, "retention of hourly sums (730d)"),
		OPT_SPAN_OR_0("keep-jobs", 0, &ret->keep_jobs_us, "retention of jobs and their snapshots (730d)"),
		OPT_TEXT("max-size", 0, "SIZE", &ret->max_size,
			 "maximum database size, 0 = unlimited (20G or half of the free space)"),
		OPT_TEXT("lease", 0, "FILE", &ret->lease_path,
			 "stand by while another host polls that renews this file on shared storage"),
		OPT_TEXT("settings", 0, "FILE", &ret->settings_path, "settings file (/etc/ibwire/ibwire.conf)"),
		OPT_FLAG("show-settings", 0, &ret->show_settings, "print all settings as a settings file and exit"),
		OPT_FLAG("verbose", 'v', &ret->verbose, "verbose log on stderr"),
		{ 0 },
	};
	int64_t max_bytes;
	int code = options_parse(command, COMMON_DEVICE | COMMON_DB | COMMON_FORMAT | COMMON_COLOR, specs, argc, argv,
				 &ret->common, err);

	if (code != 0)
		return code;
	if (ret->once + ret->estimate + (ret->count > 0) > 1)
		return options_usage_error(command, err, "--once, --count and --estimate are mutually exclusive");
	if (ret->show_settings && ret->common.format != RESULT_TABLE)
		return options_usage_error(command, err,
					   "--show-settings prints a settings file and does not take --format");
	if (ret->interval_us < LEAST_INTERVAL_US)
		return options_usage_error(command, err, "--interval must be at least 10ms");
	/* Once sums of a window expire, its hour has no readable samples: docs/storage.md, "Edges of expired data". */
	if (ret->keep_sums_us && (!ret->keep_raw_us || ret->keep_sums_us < ret->keep_raw_us + 3600 * US_PER_S))
		return options_usage_error(command, err, "--keep-sums must be at least an hour longer than --keep-raw, "
					   "or 0 (forever)");
	if (strcmp(ret->nodes, "all") && strcmp(ret->nodes, "switches"))
		return options_usage_error(command, err, "--ask must be \"all\" or \"switches\", not \"%s\"",
					   ret->nodes);
	if (strcmp(ret->polling.discovery, "explorer") && strcmp(ret->polling.discovery, "libibnetdisc"))
		return options_usage_error(command, err, "--discovery must be \"libibnetdisc\" or \"explorer\", "
					   "not \"%s\"", ret->polling.discovery);
	if (ret->polling.topology && (ret->polling.smi_ca || ret->polling.security_keys || ret->directed_smps))
		return options_usage_error(command, err, "--topology sends no SMPs and does not take --smi-ca, "
					   "--security-keys or --directed-smps");
	if (ret->fast_us > 0 && polls_switches_only(ret))
		return options_usage_error(command, err, "--fast-jobs reads HCA ports, which --ask switches excludes");
	if (ret->fast_us > 0 && !fast_fits(ret, ret->fast_us))
		return options_usage_error(command, err, "--fast-jobs must be at least 100ms, and at most half of "
					   "--interval");
	if (ret->window > ENGINE_WINDOW_MAX || ret->per_node > ENGINE_WINDOW_MAX)
		return options_usage_error(command, err, "--window and --per-node must be at most %d",
					   ENGINE_WINDOW_MAX);
	if (ret->max_mads_per_s > INT_MAX || ret->polling.retries > 100 || ret->polling.max_smps > 1024)
		return options_usage_error(command, err, "a number is out of range");
	if (ret->max_size && parse_size(ret->max_size, &max_bytes, err) < 0)
		return err_prefix(err, "collect: --max-size");
	return options_no_arguments(command, &ret->common, err);
}

static int set_retention(const struct collect_options *options, const char *path, struct writer *writer,
			 struct error *err)
{
	struct writer_retention keep = { .raw_us = options->keep_raw_us, .sums_us = options->keep_sums_us,
				    .hours_us = options->keep_hours_us, .jobs_us = options->keep_jobs_us,
				    .max_bytes = default_size(path) };
	int code = options->max_size ? parse_size(options->max_size, &keep.max_bytes, err) : 0;

	if (code == 0)
		writer_set_retention(writer, &keep);
	return code;
}

static int show_settings(const struct options *options, const struct settings *settings, struct error *err)
{
	struct text text = { 0 };

	settings_append(settings, &text);
	return output_text(options, &text, err);
}

/*
 * Wait until a removed device is there again, with a port that is Active, and open it.
 * @local:  its device is closed and replaced; NULL after a stop was requested
 */
static void reopen(const struct collect_options *options, struct local *local)
{
	struct options common = options->common;
	struct hca_port *port = &local->port;
	char name[sizeof(port->ca_name)];
	const struct clock *clock = clock_system();
	bool no_smps = port->no_smps;

	log_warning("the InfiniBand device was removed: waiting for %s port %d", port->ca_name, port->port);
	service_notify("STATUS=waiting for the InfiniBand device");
	hca_close(local->hca);
	local->hca = NULL;
	local->returned = true;
	memcpy(name, port->ca_name, sizeof(name));
	common.ca = name;
	common.port = port->port;
	while (!local->hca && !stop_requested()) {
		clock->sleep_until(clock->ctx, clock_boottime_us(clock) + US_PER_S);
		service_notify("WATCHDOG=1");
		if (polling_find_port(&common, options->polling.smi_ca, port, NULL) < 0)
			continue;
		port->directed |= options->directed_smps;
		port->no_smps = no_smps;
		port->vendor_class = options->firmware;
		if (hca_open(port, &local->hca, NULL) == 0)
			log_info("%s port %d is there again", port->ca_name, port->port);
	}
}

/* An invalid file leaves the settings as they are. */
static void reload_settings(struct collect_options *options)
{
	struct settings settings;
	struct error err = { 0 };

	if (settings_load(options->settings_path, &settings, &err) < 0) {
		log_warning("the settings remain as they were: %s", err.text);
		settings_done(&settings);
		return;
	}
	settings_done(&options->settings);
	options->settings = settings;
	log_info("settings reloaded");
}

/* Readers show load and balance by the settings that findings are evaluated by. */
static int store_settings(const struct collect_options *options, struct writer *writer, struct error *err)
{
	struct text text = { 0 };
	int code;

	settings_append(&options->settings, &text);
	code = text_failed(&text) ? err_nomem(err) : writer_set_settings(writer, text_chars(&text), err);
	text_done(&text);
	return code;
}

/* Collect until a stop is requested, or the lease is lost; runs with --once or --count end with the device. */
static int collect_for_long(struct collect_options *options, struct local *local, struct keys *keys,
			    const struct discovery_settings *discovery, struct topology_file *file,
			    struct writer *writer, struct supervision *supervision, struct error *err)
{
	int code;

	service_notify("READY=1\nSTATUS=polling the fabric");
	for (;;) {
		supervision->reload = false;
		code = store_settings(options, writer, err);
		if (code == 0)
			code = collect(options, local, keys, discovery, file, writer, supervision, err);
		if (supervision->lost.code) {
			*err = supervision->lost;
			return err->code;
		}
		if (code == 0 && supervision->reload && !stop_requested()) {
			reload_settings(options);
		} else if (code < 0 && hca_was_removed(local->hca) && !options->once && !options->count) {
			reopen(options, local);
			service_notify("STATUS=polling the fabric");
			if (!local->hca)
				return 0;
		} else {
			return code;
		}
	}
}

static void report_standby(const char *what)
{
	static char last[LEASE_RECORD_SIZE];
	char status[LEASE_RECORD_SIZE + 64];

	service_notify("WATCHDOG=1");
	if (!strncmp(last, what, sizeof(last) - 1))
		return;
	snprintf(last, sizeof(last), "%s", what);
	snprintf(status, sizeof(status), "READY=1\nSTATUS=standby: %s polls", last);
	service_notify(status);
	log_info("standby: the lease is held by %s", last);
}

static int collect_fabric(struct collect_options *options, struct supervision *supervision, struct error *err)
{
	struct helper_command helper;
	struct discovery_settings discovery = { .argv = helper.argv, .fallback_argv = helper.fallback,
						 .pass_last = options->polling.security_keys };
	struct topology_file file = { .path = NULL };
	struct writer *writer = NULL;
	struct local local = { .hca = NULL };
	struct hca_port *port = &local.port;
	char path[PATH_MAX];
	struct keys *keys = NULL;
	int code = polling_find_port(&options->common, options->polling.smi_ca, port, err);

	if (code == 0 && options->polling.topology)
		code = topology_file_open(&file, options->polling.topology, err);
	if (code < 0)
		return code;
	port->directed |= options->directed_smps;
	port->no_smps = file.path != NULL;
	port->vendor_class = options->firmware;
	options->polling.timeout_ms = options->common.timeout_ms;
	discovery.deadline_us = options->polling.deadline_us;
	code = polling_keys(&options->polling, port->port_guid, &keys, err);
	polling_helper_command(&options->polling, port, &helper);
	if (port->planes && !port->no_smps)
		log_warning("%s port %d is an aggregate of planes: SMPs are sent through %s port %d with "
			    "directed routes, and plane ports show the counters of their switch ports",
			    port->ca_name, port->port, port->smi_ca_name, port->smi_port);
	if (code == 0 && options->estimate) {
		keys_destroy(keys);
		return estimate(options, &discovery, &file, err);
	}
	if (code == 0)
		code = hca_open(port, &local.hca, err);
	if (code == 0)
		code = options_db_path(&options->common, true, path, sizeof(path), err);
	stop_within(STOP_STORING_S);
	if (code == 0)
		code = writer_open(path, &writer, err);
	if (code == 0)
		code = set_retention(options, path, writer, err);
	if (code == 0 && options->new_fabric)
		code = writer_forget_fabric(writer, err);
	if (code == 0)
		code = collect_for_long(options, &local, keys, &discovery, &file, writer, supervision, err);
	topology_file_close(&file);
	writer_close(writer);
	hca_close(local.hca);
	keys_destroy(keys);
	return code;
}

/* With a lease, stand by until this host is to poll; neither device nor database are open before. */
static int collect_with_lease(struct collect_options *options, struct error *err)
{
	struct supervision supervision = { .lease = NULL };
	struct lease lease;
	int code;

	heap_keep_small();
	log_init("ibwire", options->verbose ? LOG_LEVEL_DEBUG : options->once ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO);
	stop_install();
	stop_reload_on_hangup();
	stop_within(STOP_EMPTY_S);
	if (options->lease_path) {
		code = lease_init(&lease, options->lease_path, options->interval_us, clock_system(), err);
		if (code < 0)
			return code;
		if (!lease_wait(&lease, report_standby))
			return 0;
		supervision.lease = &lease;
	}
	code = collect_fabric(options, &supervision, err);
	if (options->lease_path)
		lease_release(&lease);
	return code;
}

int collect_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct collect_options options = {
		.nodes = "all",
		.interval_us = 10 * US_PER_S,
		.fast_us = -1,
		.rediscover_us = 600 * US_PER_S,
		.routes_us = 60 * US_PER_S,
		.window = POLLING_WINDOW,
		.per_node = POLLING_PER_NODE,
		.max_mads_per_s = POLLING_MADS_PER_S,
		.polling = { .max_smps = POLLING_MAX_SMPS, .discovery = "libibnetdisc",
			     .retries = -1, .deadline_us = POLLING_DISCOVERY_DEADLINE_US },
		.keep_raw_us = 7 * US_PER_DAY,
		.keep_sums_us = 30 * US_PER_DAY,
		.keep_hours_us = 730 * US_PER_DAY,
		.keep_jobs_us = 730 * US_PER_DAY,
	};
	int code = parse(command, argc, argv, &options, err);

	if (code != 0)
		return code < 0 ? code : 0;
	code = settings_load(options.settings_path, &options.settings, err);
	if (code == 0 && options.show_settings)
		code = show_settings(&options.common, &options.settings, err);
	else if (code == 0)
		code = collect_with_lease(&options, err);
	settings_done(&options.settings);
	return code;
}
