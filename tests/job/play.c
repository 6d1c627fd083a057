/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* play.c - plays a scenario in which jobs begin and end */
#include "tests/job/play.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cli/test_commands.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/world/collect.h"
#include "tests/world/scenario.h"
#include "tests/world/virtual.h"

struct play_settings play_settings;

static struct played {
	const struct sink *inner;
	struct planned jobs[JOBS_MOST];
	size_t count;
	int sweeps;
	struct reading *truth[2]; /* of the first job's begin and end, by port of the fabric */
	struct fabric *fabric;
} played;

static void keep_truth(const struct sweep *sweep, int end)
{
	free(played.truth[end]);
	played.truth[end] = calloc(sweep->fabric->port_count, sizeof(struct reading));
	assert_non_null(played.truth[end]);
	for (size_t i = 0; i < sweep->sample_count; i++)
		if (sweep->samples[i].status == SAMPLE_OK)
			played.truth[end][sweep->samples[i].port] = *sweep->samples[i].reading;
	if (!end)
		return;
	fabric_destroy(played.fabric);
	played.fabric = fabric_share((struct fabric *)(uintptr_t)sweep->fabric);
}

static void save(struct saved_writer *writer, const struct sweep *sweep, int64_t number, bool end)
{
	char name[JOB_SNAPSHOT_NAME_SIZE];
	const struct saved_label label = { .name = job_snapshot_name(number, end, name) };

	assert_int_equal(saved_write(writer, &label, sweep, NULL), 0);
}

static void begin_job(const struct planned *planned, const struct sweep *sweep)
{
	struct saved_writer *writer;
	struct job job = { .hosts = (char *)(uintptr_t)(planned->hosts ? planned->hosts : ""),
			   .command = (char *)(uintptr_t)"", .begin_us = sweep->wall_us + 1000000,
			   .begin_boot_us = sweep->start_us + 1000000, .exit_status = -1 };

	snprintf(job.id, sizeof(job.id), "%s", planned->id);
	snprintf(job.name, sizeof(job.name), "%s", planned->name ? planned->name : "train");
	snprintf(job.begin_boot_id, sizeof(job.begin_boot_id), "%s", sweep->boot_id);
	assert_int_equal(saved_writer_open(path, &writer, NULL), 0);
	assert_int_equal(jobs_begin(writer, &job, &(struct job_rules){ 0 }, NULL), 0);
	if (planned->snapshots)
		save(writer, sweep, job.number, false);
	saved_writer_close(writer);
}

static void end_job(const struct planned *planned, const struct sweep *sweep)
{
	struct saved_writer *writer;
	struct job job = { .end_us = sweep->wall_us + 1000000 + planned->step_us,
			   .end_boot_us = sweep->start_us + 1000000, .exit_status = 0 };

	snprintf(job.id, sizeof(job.id), "%s", planned->id);
	snprintf(job.end_boot_id, sizeof(job.end_boot_id), "%s", play_settings.reboots ? "another" : sweep->boot_id);
	assert_int_equal(saved_writer_open(path, &writer, NULL), 0);
	assert_int_equal(jobs_end(writer, NULL, &job, NULL), 0);
	if (planned->snapshots && !planned->end_lost)
		save(writer, sweep, job.number, true);
	saved_writer_close(writer);
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	int code = 0;

	(void)ctx;
	played.sweeps++;
	if (played.sweeps >= play_settings.fails_from && played.sweeps < play_settings.fails_until)
		code = err_set(err, ERR_IO, "as the test wants it");
	else if (!play_settings.no_history)
		code = played.inner->store(played.inner->ctx, sweep, err);
	for (size_t i = 0; i < played.count; i++) {
		const struct planned *planned = &played.jobs[i];

		if (played.sweeps == planned->begin) {
			begin_job(planned, sweep);
			if (!i)
				keep_truth(sweep, 0);
		}
		if (played.sweeps == planned->end) {
			end_job(planned, sweep);
			if (!i)
				keep_truth(sweep, 1);
		}
	}
	return code;
}

static int restore(void *ctx, struct restored *ret, struct error *err)
{
	(void)ctx;
	return play_settings.no_history ? 0 : played.inner->restore(played.inner->ctx, ret, err);
}

static int store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	(void)ctx;
	return play_settings.no_history ? 0 : played.inner->store_events(played.inner->ctx, events, count, err);
}

static bool running_jobs(void *ctx, struct running_jobs *jobs)
{
	(void)ctx;
	return !play_settings.no_history && played.inner->running_jobs(played.inner->ctx, jobs);
}

static int store_detected(void *ctx, struct detected_record *list, size_t count, struct error *err)
{
	(void)ctx;
	return played.inner->store_detected(played.inner->ctx, list, count, err);
}

static int store_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	(void)ctx;
	return play_settings.no_history ? 0 : played.inner->store_caps(played.inner->ctx, caps, count, err);
}

void play_with(const char *text, const struct planned *jobs, size_t count)
{
	const struct sink sink = { .store = store, .restore = restore, .store_events = store_events,
				    .store_caps = store_caps, .running_jobs = running_jobs,
				    .store_detected = store_detected };
	struct scenario scenario = { 0 };
	struct virtual *world = NULL;
	struct writer *writer = NULL;
	struct error err = { 0 };

	played.sweeps = 0;
	if (count)
		memcpy(played.jobs, jobs, count * sizeof(*jobs));
	played.count = count;
	if (scenario_read(text, &scenario, &err) < 0 || scenario_begin(&scenario, &world, &err) < 0 ||
	    writer_open(path, &writer, &err) < 0)
		fail_msg("%s", err.text);
	played.inner = writer_sink(writer);
	world->detect_jobs = play_settings.detects;
	if (world_collect(world, scenario.interval_us, scenario.length_us, VIRTUAL_WALL_US, &sink, NULL, &err) < 0)
		fail_msg("%s", err.text);
	writer_close(writer);
	virtual_destroy(world);
	scenario_done(&scenario);
	use_database(path);
	play_settings = (struct play_settings){ 0 };
}

json_t *report_of(const char *id)
{
	char line[64];

	snprintf(line, sizeof(line), "job|report|%s", id);
	return run_json(line);
}

bool is_text(const json_t *row, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value && !strcmp(value, text);
}

void assert_verdict(const json_t *report, const char *verdict, const char *text)
{
	const json_t *job = json_object_get(report, "job");

	if (!is_text(job, "verdict", verdict) || !strstr(json_string_value(json_object_get(job, "verdict_text")), text))
		fail_msg("the verdict is \"%s\": %s", json_string_value(json_object_get(job, "verdict")),
			 json_string_value(json_object_get(job, "verdict_text")));
}

const json_t *row_of(const json_t *report, const char *section, const char *key, const char *text)
{
	const json_t *rows = json_object_get(report, section);

	for (size_t i = 0; i < json_array_size(rows); i++)
		if (is_text(json_array_get(rows, i), key, text))
			return json_array_get(rows, i);
	fail_msg("no row of %s has %s %s", section, key, text);
	return NULL;
}

double number_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static uint64_t moved(size_t port, enum counter counter)
{
	return 4 * (played.truth[1][port].value[counter] - played.truth[0][port].value[counter]);
}

void assert_exact(const json_t *report)
{
	const json_t *ports = json_object_get(report, "ports");
	uint64_t sums[2] = { 0, 0 };

	assert_int_equal(json_array_size(ports), 64);
	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *row = json_array_get(ports, i);
		uint32_t port = fabric_find_port(played.fabric, guid_of(row, "node_guid"),
						 (uint8_t)integer_of(row, "port"));

		assert_int_equal(unsigned_of(json_object_get(row, "xmit_bytes")), moved(port, COUNTER_XMIT_DATA));
		assert_int_equal(unsigned_of(json_object_get(row, "rcv_bytes")), moved(port, COUNTER_RCV_DATA));
		sums[0] += moved(port, COUNTER_XMIT_DATA);
		sums[1] += moved(port, COUNTER_RCV_DATA);
	}
	assert_int_equal(unsigned_of(json_object_get(json_object_get(report, "job"), "xmit_bytes")), sums[0]);
	assert_int_equal(unsigned_of(json_object_get(json_object_get(report, "job"), "rcv_bytes")), sums[1]);
}

void print_text(const char *id)
{
	char line[64], *text;

	if (!getenv("JOB_REPORT_SHOW"))
		return;
	snprintf(line, sizeof(line), "job|report|%s", id);
	text = run_text(line);
	puts(text);
	free(text);
}

void keep_page(const char *id)
{
	static int pages;
	char line[600];

	if (!getenv("JOB_PAGES"))
		return;
	snprintf(line, sizeof(line), "job|report|%s|--html|%s/job-%s-%d.html", id, getenv("JOB_PAGES"),
		 program_invocation_short_name, ++pages);
	free(run_text(line));
}

/* Two jobs with the same hosts and times: "s" has snapshots, "h" the history. */
static void play_both(const char *text)
{
	play_with(text, (struct planned[]){
		{ .id = "s", .begin = BEGIN, .end = END, .snapshots = true },
		{ .id = "h", .begin = BEGIN, .end = END },
	}, 2);
	print_text("s");
	keep_page("s");
}

void assert_both(const char *text, const char *verdict, const char *sentence)
{
	static const char *const ids[] = { "s", "h" };

	play_both(text);
	for (size_t i = 0; i < 2; i++) {
		json_t *report = report_of(ids[i]);

		assert_verdict(report, verdict, sentence);
		assert_true(is_text(json_object_get(report, "job"), "source", i ? "history" : "snapshots"));
		if (!i)
			assert_exact(report);
		json_decref(report);
	}
}
