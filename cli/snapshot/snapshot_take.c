/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * snapshot_take.c - `ibwire snapshot take`: read all counters of all ports, with or without a
 * running collector
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "cli/snapshot/snapshot.h"
#include "collector/snapshot_capture.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "wire/discovery.h"
#include "wire/hca.h"
#include "wire/keys.h"

/* Time limit of the shutdown: a call to the device may never return. */
#define STOP_S 10

struct taking {
	struct snapshot_options *options;
	struct saved_label label;
	struct hca_port local;
	struct hca *hca;
	struct keys *keys;
	struct saved_writer *writer;
	struct fabric *fabric;
	struct restored_caps *caps; /* agent capabilities known to a collector */
	size_t caps_count;
	int64_t discovery_us;       /* 0: none was made */
	int64_t sweep_us, commit_us, spread_us;
	uint32_t ports_polled, ports_answered;
	uint64_t mads_sent, mads_timed_out;
};

/* --- topology --- */

static int store_capabilities(struct taking *taking, const struct snapshot *snapshot, struct error *err)
{
	const struct fabric *fabric = snapshot->fabric;

	taking->caps = calloc(fabric->node_count + 1, sizeof(*taking->caps));
	if (!taking->caps)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->node_count; i++)
		if (snapshot->caps[i].known)
			taking->caps[taking->caps_count++] =
				(struct restored_caps){ fabric->nodes[i].guid, snapshot->caps[i] };
	return 0;
}

/*
 * Use the topology of a live collector, which checks for changes with every sweep.
 * Return: 1 if a live collector has stored a sweep, 0, or an error.
 */
static int fabric_of_collector(struct taking *taking, const char *path, struct error *err)
{
	const struct snapshot_query query = { .fabric_only = true };
	struct snapshot *snapshot = NULL;
	struct reader *reader;
	struct db_status status;
	int code = reader_open(path, &reader, err);

	if (code < 0)
		return code;
	code = reader_status(reader, &status, err);
	if (code == 0 && status.live && status.last.id)
		code = snapshot_load(reader, &query, &snapshot, err);
	if (snapshot) {
		code = store_capabilities(taking, snapshot, err);
		taking->fabric = snapshot->fabric;
		snapshot->fabric = NULL;
		snapshot_destroy(snapshot);
	}
	reader_close(reader);
	return code < 0 ? code : taking->fabric != NULL;
}

static int fabric_of_file(struct taking *taking, struct error *err)
{
	struct topology_file file;
	struct record_trailer trailer;
	int code = topology_file_open(&file, taking->options->polling.topology, err);

	if (code < 0)
		return code;
	file.discoverer.step(&file, 0, &taking->fabric, &trailer, err);
	taking->local.no_smps = true;
	return saved_check_fabric(taking->writer, taking->fabric, err);
}

static int discover(struct taking *taking, struct error *err)
{
	struct helper_command command;
	const struct discovery_settings settings = {
		.argv = command.argv, .fallback_argv = command.fallback,
		.deadline_us = taking->options->polling.deadline_us,
	};
	struct record_trailer trailer = { 0 };
	struct error cause = { 0 };
	int64_t began_us = clock_boottime_us(clock_system());
	int code;

	polling_helper_command(&taking->options->polling, &taking->local, &command);
	code = discovery_run(&settings, clock_system(), &taking->fabric, &trailer, &cause);
	if (code == 0)
		return err_set(err, ERR_UNAVAILABLE, "stopped during discovery; nothing was stored");
	if (code < 0)
		return err_set(err, code, "%s", cause.text);
	if (cause.text[0])
		log_warning("%s", cause.text);
	taking->discovery_us = clock_boottime_us(clock_system()) - began_us;
	if (trailer.lost)
		log_warning("%llu discovery requests timed out: ports may be missing from the snapshot",
			    (unsigned long long)trailer.lost);
	return saved_check_fabric(taking->writer, taking->fabric, err);
}

/* --- the sweep --- */

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct taking *taking = ctx;
	int64_t began_us = clock_boottime_us(clock_system());
	int code = saved_write(taking->writer, &taking->label, sweep, err);

	taking->commit_us = clock_boottime_us(clock_system()) - began_us;
	taking->sweep_us = sweep->end_us - sweep->start_us;
	taking->spread_us = sweep->spread_us;
	taking->ports_polled = sweep->ports_polled;
	taking->ports_answered = sweep->ports_answered;
	taking->mads_sent = sweep->mads_sent;
	taking->mads_timed_out = sweep->mads_timed_out;
	return code;
}

static int run_sweep(struct taking *taking, struct error *err)
{
	const struct snapshot_options *options = taking->options;
	const struct snapshot_capture_settings settings = {
		.engine = {
			.window = (unsigned)options->window,
			.per_node = POLLING_PER_NODE,
			.max_mads_per_s = (unsigned)options->max_mads_per_s,
			.timeout_ms = options->common.timeout_ms ? (unsigned)options->common.timeout_ms
								 : POLLING_TIMEOUT_MS,
			.retries = POLLING_RETRIES,
		},
		.fast_only = options->fast,
		.directed_smps = taking->local.directed,
		.no_smps = taking->local.no_smps,
		.keys = taking->keys,
	};
	struct snapshot_capture_report report;
	int code = snapshot_capture_run(&settings, hca_transport(taking->hca), clock_system(), taking->fabric,
					taking->caps, taking->caps_count, store, taking, &report, err);

	if (code < 0)
		return code;
	if (report.moved_lids)
		log_warning("%u LIDs have moved to other nodes: the previous nodes have no counters in the "
			"snapshot", report.moved_lids);
	if (report.changed)
		log_warning("a link changed since the discovery: newer nodes are not in the snapshot");
	return 0;
}

static int print_report(const struct taking *taking, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "name", .title = "snapshot", .kind = COLUMN_TEXT },
		{ .key = "ports_polled", .title = "ports polled", .kind = COLUMN_INTEGER },
		{ .key = "ports_answered", .title = "ports responding", .kind = COLUMN_INTEGER },
		{ .key = "mads_sent", .title = "MADs sent", .kind = COLUMN_INTEGER },
		{ .key = "mads_timed_out", .title = "MADs timed out", .kind = COLUMN_INTEGER },
		{ .key = "discovery_us", .title = "discovery", .kind = COLUMN_SPAN_US },
		{ .key = "sweep_us", .title = "sweep", .kind = COLUMN_SPAN_US },
		{ .key = "spread_us", .title = "first to last reading", .kind = COLUMN_SPAN_US },
		{ .key = "commit_us", .title = "commit", .kind = COLUMN_SPAN_US },
		{ .key = "longest_lock_us", .kind = COLUMN_SPAN_US },
	};
	const double numbers[] = {
		NAN, taking->ports_polled, taking->ports_answered, (double)taking->mads_sent,
		(double)taking->mads_timed_out, taking->discovery_us ? (double)taking->discovery_us : NAN,
		(double)taking->sweep_us, (double)taking->spread_us, (double)taking->commit_us,
		(double)saved_longest_us(taking->writer),
	};

	return output_record(&taking->options->common, columns, sizeof(columns) / sizeof(*columns),
			     taking->label.name, numbers, err);
}

/* Open the database before polling. */
static int take_snapshot(struct taking *taking, struct error *err)
{
	const struct options *common = &taking->options->common;
	char path[4096];
	int code = options_db_path(common, true, path, sizeof(path), err);

	if (code == 0)
		code = saved_writer_open(path, &taking->writer, err);
	if (code == 0)
		code = saved_is_free(taking->writer, taking->label.name, err);
	if (code == 0)
		code = polling_find_port(common, taking->options->polling.smi_ca, &taking->local, err);
	if (code == 0)
		code = polling_keys(&taking->options->polling, taking->local.port_guid, &taking->keys, err);
	if (code == 0 && !taking->options->polling.topology)
		code = fabric_of_collector(taking, path, err);
	if (code == 0) {
		taking->label.discovered = !taking->options->polling.topology;
		code = taking->options->polling.topology ? fabric_of_file(taking, err) : discover(taking, err);
	}
	if (code >= 0)
		code = hca_open(&taking->local, &taking->hca, err);
	if (code == 0)
		code = run_sweep(taking, err);
	return code;
}

static int take_and_print(struct snapshot_options *options, const char *name, bool print, struct error *err)
{
	struct taking taking = {
		.options = options,
		.label = { .name = name, .note = options->note, .slow = !options->fast },
	};
	int code = take_snapshot(&taking, err);

	if (code == 0 && print)
		code = print_report(&taking, err);
	saved_writer_close(taking.writer);
	hca_close(taking.hca);
	keys_destroy(taking.keys);
	fabric_destroy(taking.fabric);
	free(taking.caps);
	return code;
}

int snapshot_store(struct snapshot_options *options, const char *name, struct error *err)
{
	return take_and_print(options, name, false, err);
}

int snapshot_take(struct snapshot_options *options, const char *name, struct error *err)
{
	log_init("ibwire", LOG_LEVEL_WARNING);
	stop_install();
	stop_within(STOP_S);
	return take_and_print(options, name, true, err);
}
