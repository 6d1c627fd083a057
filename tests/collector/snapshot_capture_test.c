/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One sweep of all counters: they equal those of the ports, and unresponsive nodes have none. */
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/snapshot_capture.h"
#include "tests/world/lab.h"
#include "fabric/fabric.h"

/* What the store received, compared with the simulated fabric. */
struct captured {
	struct lab *lab;
	unsigned calls, responded, details;
	size_t fast, slow; /* counters that were compared */
	enum sample_status status[LAB_NODES];
	int code;          /* return value */
};

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct captured *captured = ctx;

	captured->calls++;
	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];

		captured->responded += sample->reading != NULL;
		assert_null(sample->delta);
		assert_int_equal(sample->status == SAMPLE_OK, sample->reading != NULL);
		if (sample->status != SAMPLE_DOWN)
			captured->status[lab_node_of(sweep->fabric, sample->port)] = sample->status;
		if (sample->reading)
			captured->fast += lab_same(captured->lab, sweep->fabric, sample->port, sample->reading);
	}
	for (size_t i = 0; i < sweep->detail_count; i++) {
		captured->slow += lab_same_detail(captured->lab, sweep->fabric, sweep->details[i].port,
						  sweep->details[i].reading);
		captured->details++;
	}
	return captured->code ? err_set(err, captured->code, "no") : 0;
}

static struct fabric *discover(struct lab *lab)
{
	struct record_trailer trailer;
	struct fabric *fabric = NULL;

	lab_apply(lab);
	assert_int_equal(lab->run.discoverer.start(&lab->run, NULL, NULL, 0, NULL), 0);
	while (lab->run.discoverer.step(&lab->run, 1000, &fabric, &trailer, NULL) == 0)
		;
	assert_non_null(fabric);
	return fabric;
}

static int capture(struct lab *lab, const struct fabric *fabric, bool fast_only, struct captured *captured,
		   struct snapshot_capture_report *report, struct error *err)
{
	const struct snapshot_capture_settings settings = {
		.engine = { .window = 32, .per_node = 1, .timeout_ms = 100, .retries = 2 }, .fast_only = fast_only,
	};

	lab_apply(lab);
	*captured = (struct captured){ .lab = lab, .code = captured->code };
	return snapshot_capture_run(&settings, &lab->run.transport, &lab->run.clock, fabric, NULL, 0, store, captured,
				    report, err);
}

TEST(a_snapshot_has_all_counters_of_all_ports)
{
	for (uint64_t seed = 500; seed < 500 + test_cases(20); seed++) {
		struct lab *lab = lab_create(seed);
		struct snapshot_capture_report report;
		struct captured captured = { 0 };
		struct fabric *fabric;

		/* So that the counters are not all zero. */
		lab_run(lab, 5);
		lab->run.loss = seed % 2 ? 0.01 : 0;
		fabric = discover(lab);
		assert_int_equal(capture(lab, fabric, false, &captured, &report, NULL), 0);
		assert_int_equal(captured.calls, 1);
		assert_int_equal(captured.responded, LIVE_PORTS);
		assert_true(captured.fast > LIVE_PORTS * 10);
		/* Only some nodes support XmitWait per VL. */
		assert_true(captured.details >= 3 * LIVE_PORTS && captured.details <= 4 * LIVE_PORTS);
		assert_true(captured.slow >= captured.details);
		assert_int_equal(report.moved_lids, 0);
		assert_false(report.changed);
		assert_int_equal(capture(lab, fabric, true, &captured, &report, NULL), 0);
		assert_int_equal(captured.responded, LIVE_PORTS);
		assert_int_equal(captured.details, 0);
		fabric_destroy(fabric);
		lab_destroy(lab);
	}
}

LAB_TEST(an_unresponsive_node_has_no_counters_and_others_have)
{
	struct fabric *fabric = discover(lab);
	struct snapshot_capture_report report;
	struct captured captured = { 0 };

	lab->agents[HOST].dead = true;
	lab->agents[HOST + 1].no_counters = true;
	lab->agents[HOST + 2].rejected = 1 << DETAIL_RCV_ERRORS;
	assert_int_equal(capture(lab, fabric, false, &captured, &report, NULL), 0);
	assert_int_equal(captured.responded, LIVE_PORTS - 2);
	assert_int_equal(captured.status[HOST], SAMPLE_SILENT);
	assert_int_equal(captured.status[HOST + 1], SAMPLE_UNSUPPORTED);
	assert_int_equal(captured.status[HOST + 2], SAMPLE_OK);
	fabric_destroy(fabric);
}

/* The topology is outdated: two hosts have exchanged LIDs since. */
LAB_TEST(a_moved_lid_gives_no_node_the_counters_of_another)
{
	struct fabric *fabric;
	struct snapshot_capture_report report;
	struct captured captured = { 0 };
	uint16_t lid;

	lab_run(lab, 3);
	fabric = discover(lab);
	lid = lab->nodes[HOST].lid;
	lab->nodes[HOST].lid = lab->nodes[HOST + 4].lid;
	lab->nodes[HOST + 4].lid = lid;
	assert_int_equal(capture(lab, fabric, false, &captured, &report, NULL), 0);
	assert_int_equal(report.moved_lids, 2);
	assert_int_equal(captured.responded, LIVE_PORTS - 2);
	assert_int_equal(captured.status[HOST], SAMPLE_SILENT);
	assert_int_equal(captured.status[HOST + 4], SAMPLE_SILENT);
	fabric_destroy(fabric);
}

LAB_TEST(nothing_is_stored_if_no_node_responds)
{
	struct fabric *fabric = discover(lab);
	struct snapshot_capture_report report;
	struct captured captured = { 0 };
	struct error err = { 0 };

	for (size_t i = 0; i < LAB_NODES; i++)
		lab->agents[i].dead = true;
	assert_int_equal(capture(lab, fabric, false, &captured, &report, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "responded"));
	assert_int_equal(captured.calls, 0);
	fabric_destroy(fabric);
}

LAB_TEST(the_error_of_the_store_is_returned)
{
	struct fabric *fabric = discover(lab);
	struct snapshot_capture_report report;
	struct captured captured = { .code = ERR_IO };

	assert_int_equal(capture(lab, fabric, false, &captured, &report, NULL), ERR_IO);
	assert_int_equal(captured.calls, 1);
	fabric_destroy(fabric);
}
