/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/screen/record.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/err.h"
#include "collector/sink.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/writer.h"
#include "tests/scenarios/compare.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

int record_job(const char *path, const char *id, int64_t wall_us, int64_t boot_us, bool ends, struct error *err)
{
	static char hosts[] = "";
	const struct job_rules rules = { 0 };
	struct job job = {
		.name = "train", .hosts = hosts,
		.begin_us = wall_us + US_PER_S, .end_us = wall_us + US_PER_S,
		.begin_boot_us = boot_us + US_PER_S, .end_boot_us = boot_us + US_PER_S,
		.begin_boot_id = "faces", .end_boot_id = "faces",
	};
	struct saved_writer *writer = NULL;
	int code = saved_writer_open(path, &writer, err);

	snprintf(job.id, sizeof(job.id), "%s", id);
	if (code == 0)
		code = ends ? jobs_end(writer, NULL, &job, err) : jobs_begin(writer, &job, &rules, err);
	saved_writer_close(writer);
	return code < 0 ? code : 0;
}

/* The store that also begins a job; the other functions of the sink are those of the writer, with its context. */
static struct {
	const struct sink *to;
	const char *path;
	const struct virtual *world;
	FILE *errors;    /* or NULL */
	int64_t end_us;  /* wall clock */
	unsigned snapshots; /* stored */
	int64_t job_us;  /* the job begins with the sweep of this time; 0: it began, or there is none */
	int64_t wall_us, boot_us; /* of the newest sweep */
} recorder;

/* The errors of all ports since the beginning, whatever their counters were able to count. */
static void print_errors(const struct virtual *world, FILE *out)
{
	double at_s = (double)world->now_us / US_PER_S;

	fprintf(out, "%.3f,0,0,sweep,0\n", at_s);
	for (uint32_t i = 0; i < world->built->port_count; i++) {
		const struct port *port = &world->built->ports[i];

		for (unsigned n = 0; n < VIRTUAL_ERRORS; n++)
			if (world->ports[i].errors[n])
				fprintf(out, "%.3f,0x%016" PRIx64 ",%u,%s,%" PRIu64 "\n", at_s,
					world->built->nodes[port->node].guid, port->num,
					counter_info((enum counter)(COUNTER_TRAFFIC_COUNT + n))->key,
					world->ports[i].errors[n]);
	}
}

/* Store the readings of a sweep as a snapshot, before they are stored as deltas. The first two are those of job 16. */
static int take_snapshot(const struct sweep *sweep, struct error *err)
{
	static const struct { const char *name; int64_t before_us; } snapshots[] = {
		{ "job-1-begin", 150 * US_PER_S }, { "job-1-end", 80 * US_PER_S }, { "last", 20 * US_PER_S },
	};
	struct saved_writer *writer = NULL;
	unsigned i = recorder.snapshots;
	int code = 0;

	if (i == sizeof(snapshots) / sizeof(*snapshots) || sweep->wall_us < recorder.end_us - snapshots[i].before_us)
		return 0;
	recorder.snapshots++;
	if (i < 2)
		code = record_job(recorder.path, "16", sweep->wall_us - US_PER_S, sweep->start_us - US_PER_S, i == 1,
				  err);
	if (code == 0)
		code = saved_writer_open(recorder.path, &writer, err);
	if (code == 0)
		code = saved_write(writer, &(struct saved_label){ .name = snapshots[i].name }, sweep, err);
	saved_writer_close(writer);
	return code;
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	int code = recorder.errors ? take_snapshot(sweep, err) : 0;

	if (code == 0)
		code = recorder.to->store(ctx, sweep, err);
	recorder.wall_us = sweep->wall_us;
	recorder.boot_us = sweep->start_us;
	if (recorder.errors)
		print_errors(recorder.world, recorder.errors);
	if (code < 0 || !recorder.job_us || sweep->wall_us < recorder.job_us)
		return code;
	recorder.job_us = 0;
	return record_job(recorder.path, "17", sweep->wall_us, sweep->start_us, false, err);
}

int record_scenario(const char *file, const char *path, int64_t length_us, int64_t end_us, int64_t job_us,
		    FILE *errors, struct error *err)
{
	struct scenario scenario = { 0 };
	struct virtual *world = NULL;
	struct sink sink;
	struct writer *writer = NULL;
	int code = scenario_load(file, &scenario, err);

	if (code < 0)
		return code;
	if (length_us)
		scenario.length_us = length_us;
	code = scenario_begin(&scenario, &world, err);
	if (code == 0)
		code = writer_open(path, &writer, err);
	if (code == 0) {
		recorder.to = writer_sink(writer);
		recorder.path = path;
		recorder.world = world;
		recorder.errors = errors;
		recorder.end_us = end_us;
		recorder.snapshots = 0;
		recorder.job_us = job_us ? end_us - job_us : 0;
		sink = *recorder.to;
		sink.store = store;
		code = world_collect(world, scenario.interval_us, scenario.length_us,
				     end_us - scenario.length_us + scenario.interval_us / WORLD_LEAD_PART,
				     &sink, NULL, err);
	}
	writer_close(writer);
	if (code == 0 && job_us)
		code = record_job(path, "17", recorder.wall_us, recorder.boot_us, true, err);
	virtual_destroy(world);
	scenario_done(&scenario);
	return code;
}

int record_truth(const char *file, FILE *out, struct error *err)
{
	struct scenario scenario = { 0 };
	struct virtual *world = NULL;
	int code = scenario_load(file, &scenario, err);

	if (code < 0)
		return code;
	code = scenario_begin(&scenario, &world, err);
	for (int64_t at_us = 0; code == 0 && at_us <= scenario.length_us; at_us += US_PER_S) {
		virtual_advance(world, at_us);
		for (uint32_t i = 0; i < world->built->port_count; i++) {
			const struct port *port = &world->built->ports[i];

			if (port->peer != FABRIC_NONE)
				fprintf(out, "%" PRId64 ",0x%016" PRIx64 ",%u,%.0f,%.0f\n", (int64_t)(at_us / US_PER_S),
					world->built->nodes[port->node].guid, port->num, world->ports[i].xmit,
					world->ports[i].rcv);
		}
	}
	virtual_destroy(world);
	scenario_done(&scenario);
	return code;
}
