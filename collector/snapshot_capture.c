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

/* How long one wait for late answers takes. */
#define LISTEN_MS 10

struct take {
	const struct fabric *fabric;
	struct engine *engine;
	struct memory memory;
	struct link_check check;
	struct details details;
	struct sweep_result result;
};

static void fill_sweep(struct take *take, struct sweep *sweep)
{
	struct engine_counts counts = engine_counts(take->engine);

	sweep->fabric = take->fabric;
	sweep_result_fill(&take->result, sweep);
	sweep->mads_sent = counts.sent;
	sweep->mads_timed_out = counts.timed_out;
	sweep->mads_retried = counts.retried;
	sweep->details = take->details.samples;
	sweep->detail_count = take->details.sample_count;
}

/* Behind the sweep, so that the fast counters are as near to one instant as they can be. */
static int ask_details(struct take *take, struct error *err)
{
	int code = details_all(&take->details, &take->result);
	/* Also after a failure: what is queued must be called back. */
	int ran = engine_run(take->engine, 0, err);

	return ran < 0 ? ran : code;
}

static int ask(struct take *take, bool fast_only, struct take_report *report, struct error *err)
{
	/* No deadline: whoever wants all of it waits for all of it. */
	const struct sweep_settings settings = { 0 };
	int code;

	engine_stop_when(take->engine, stop_requested);
	code = sweep_run(take->engine, take->fabric, &take->memory, &take->check, &take->details, &settings,
			 &take->result, err);
	if (code == 0)
		code = lid_check_run(take->engine, take->fabric, &take->memory, &take->result, true,
				     &report->moved_lids, err);
	if (code == 0 && !fast_only)
		code = ask_details(take, err);
	if (code == 0)
		code = details_finish(&take->details, &take->result);
	if (code == 0 && stop_requested())
		code = err_set(err, ERR_UNAVAILABLE, "stopped before all ports were read; nothing was stored");
	if (code == 0 && !take->result.ports_answered)
		code = err_set(err, ERR_UNAVAILABLE, "none of the %u ports that were asked answered; nothing was "
			       "stored (see: ibwire status)", take->result.ports_asked);
	report->changed = take->check.changed_port != FABRIC_NONE;
	return code;
}

int take_run(const struct take_settings *settings, const struct transport *transport, const struct clock *clock,
	     const struct fabric *fabric, const struct restored_caps *caps, size_t caps_count,
	     int (*store)(void *ctx, const struct sweep *sweep, struct error *err), void *ctx,
	     struct take_report *ret, struct error *err)
{
	struct take take = {
		.fabric = fabric,
		.memory = { .keys = settings->keys, .directed = settings->directed_smps },
		.details = { .all = true },
	};
	/* Borrowed: not for restored_done(). */
	const struct restored restored = { .caps = (struct restored_caps *)caps, .caps_count = caps_count };
	struct sweep sweep = { .wall_us = clock_wall_us(clock), .start_us = clock_boottime_us(clock) };
	struct take_report report = { 0 };
	int code;

	clock->boot_id(clock->ctx, sweep.boot_id);
	code = engine_create(transport, clock, &settings->engine, &take.engine, err);
	if (code == 0)
		code = memory_follow(&take.memory, fabric, err);
	if (code == 0)
		code = memory_restore(&take.memory, &restored, sweep.boot_id, sweep.start_us, sweep.wall_us, err);
	if (code == 0)
		code = ask(&take, settings->fast_only, &report, err);
	sweep.end_us = clock_boottime_us(clock);
	if (code == 0) {
		fill_sweep(&take, &sweep);
		code = store(ctx, &sweep, err);
	}
	/* What was asked is answered, or lost for good, before the device is closed: at most one timeout. */
	while (take.engine && engine_listen(take.engine, LISTEN_MS))
		;
	engine_destroy(take.engine);
	memory_done(&take.memory);
	details_done(&take.details);
	sweep_result_done(&take.result);
	if (code == 0)
		*ret = report;
	return code;
}
