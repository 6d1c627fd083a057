/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/snapshot_capture.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "collector/details.h"
#include "collector/lid_verify.h"
#include "collector/topology_probe.h"
#include "collector/node_memory.h"
#include "collector/sweep.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

/* Longest wait for late responses. */
#define LISTEN_MS 10

struct capture {
	const struct fabric *fabric;
	struct engine *engine;
	struct node_memory memory;
	struct topology_probe check;
	struct details details;
	struct sweep_result result;
};

static void fill_sweep(struct capture *capture, struct sweep *sweep)
{
	struct engine_counts counts = engine_counts(capture->engine);

	sweep->fabric = capture->fabric;
	sweep_result_fill(&capture->result, sweep);
	sweep->mads_sent = counts.sent;
	sweep->mads_timed_out = counts.timed_out;
	sweep->mads_retried = counts.retried;
	sweep->details = capture->details.samples;
	sweep->detail_count = capture->details.sample_count;
}

/* After the sweep, so that the fast counters are read within the shortest time. */
static int query_details(struct capture *capture, struct error *err)
{
	int code = engine_finish(capture->engine, details_all(&capture->details, &capture->result), 0, err);

	return code < 0 ? code : 0;
}

static int query(struct capture *capture, bool fast_only, struct snapshot_capture_report *report, struct error *err)
{
	/* No deadline: a snapshot is complete. */
	const struct sweep_settings settings = { 0 };
	int code;

	engine_stop_when(capture->engine, stop_requested);
	code = sweep_run(capture->engine, &capture->memory, &capture->check, &capture->details, &settings,
			 &capture->result, err);
	if (code == 0)
		code = lid_verify_run(capture->engine, &capture->memory, &capture->result, true, 0,
				      &report->moved_lids, err);
	if (code == 0 && !fast_only)
		code = query_details(capture, err);
	if (code == 0)
		code = details_finish(&capture->details, &capture->result);
	if (code == 0 && stop_requested())
		code = err_set(err, ERR_UNAVAILABLE, "stopped before all ports were read; nothing was stored");
	if (code == 0 && !capture->result.ports_answered)
		code = err_set(err, ERR_UNAVAILABLE, "none of the %u polled ports responded; nothing was "
			       "stored (see: ibwire status)", capture->result.ports_polled);
	report->changed = capture->check.differs;
	return code;
}

int snapshot_capture_run(const struct snapshot_capture_settings *settings, const struct transport *transport,
			 const struct clock *clock, const struct fabric *fabric, const struct restored_caps *caps,
			 size_t caps_count, int (*store)(void *ctx, const struct sweep *sweep, struct error *err),
			 void *ctx, struct snapshot_capture_report *ret, struct error *err)
{
	struct capture capture = {
		.fabric = fabric,
		.memory = { .keys = settings->keys, .directed = settings->directed_smps, .no_smps = settings->no_smps },
		.details = { .all = true },
	};
	/* Borrowed: not for restored_done(). */
	const struct restored restored = { .caps = (struct restored_caps *)caps, .caps_count = caps_count };
	struct sweep sweep = { .wall_us = clock_wall_us(clock), .start_us = clock_boottime_us(clock) };
	struct snapshot_capture_report report = { 0 };
	int code;

	clock->boot_id(clock->ctx, sweep.boot_id);
	code = engine_create(transport, clock, &settings->engine, &capture.engine, err);
	if (code == 0)
		code = node_memory_set_fabric(&capture.memory, fabric, err);
	if (code == 0)
		code = node_memory_restore(&capture.memory, &restored, sweep.boot_id, sweep.start_us, sweep.wall_us,
					   err);
	if (code == 0)
		code = query(&capture, settings->fast_only, &report, err);
	sweep.end_us = clock_boottime_us(clock);
	if (code == 0) {
		fill_sweep(&capture, &sweep);
		code = store(ctx, &sweep, err);
	}
	/* Pending requests end before the device is closed: at most one timeout. */
	while (capture.engine && engine_listen(capture.engine, LISTEN_MS))
		;
	engine_destroy(capture.engine);
	node_memory_done(&capture.memory);
	details_done(&capture.details);
	sweep_result_done(&capture.result);
	if (code == 0)
		*ret = report;
	return code;
}
