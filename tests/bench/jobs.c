/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * jobs.c - time of `ibwire job report` of 1,024 hosts with 8 rails, and of `ibwire snapshot diff`
 *
 *	jobs                  an hour of sweeps every 10 s, and a job of half an hour
 *	jobs --hosts 128      a smaller fabric: a multiple of 64
 *	jobs --interval 1     sweeps every second
 *	jobs --keep PATH      write the database there and keep it
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "sim/net_shape.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/writer.h"
#include "tests/bench/fabric_day.h"
#include "tests/bench/measure.h"
#include "tests/world/spread.h"

enum { HOURLY_S = 3600, UNIT_HOSTS = 64, RUNS = 5 };
#define BEGIN_US (INT64_C(1795046400) * US_PER_S)

struct options {
	unsigned hosts;
	double interval_s;
	const char *keep;
};

static void need(int code, const struct error *err)
{
	if (code >= 0)
		return;
	fprintf(stderr, "jobs: %s\n", err->text);
	exit(1);
}

/* Balanced forwarding tables of all switches, as a collector reads them. */
static size_t make_tables(const struct fabric *fabric, struct routes *routes, struct route_block **ret_blocks)
{
	struct spread spread = { 0 };
	uint32_t lids = spread_lids((struct fabric *)(uintptr_t)fabric);
	size_t count = 0, blocks = lids / ROUTES_BLOCK + 1;

	spread_measure(&spread, fabric);
	spread_tables(&spread, fabric, lids, 0, routes);
	spread_done(&spread);
	*ret_blocks = calloc(fabric->node_count * blocks, sizeof(**ret_blocks));
	if (!*ret_blocks)
		abort();
	for (size_t i = 0; i < fabric->node_count; i++)
		for (unsigned block = 0; fabric->nodes[i].type == NODE_SWITCH && block < blocks; block++)
			(*ret_blocks)[count++] = (struct route_block){ fabric->nodes[i].guid, (uint16_t)block };
	return count;
}

/* Two jobs of all compute hosts: 1 with snapshots, 2 without. */
static void mark_jobs(const char *path, const struct sweep *sweep, bool end)
{
	static char nothing[] = "";
	struct saved_writer *writer;
	struct error err;

	need(saved_writer_open(path, &writer, &err), &err);
	for (int i = 1; i <= 2; i++) {
		struct job job = { .hosts = nothing, .command = nothing, .begin_us = sweep->wall_us,
				   .end_us = sweep->wall_us, .begin_boot_us = sweep->start_us,
				   .end_boot_us = sweep->start_us };
		char name[JOB_SNAPSHOT_NAME_SIZE];
		struct saved_label label = { 0 };

		snprintf(job.id, sizeof(job.id), "%d", i);
		memcpy(job.begin_boot_id, sweep->boot_id, sizeof(job.begin_boot_id));
		memcpy(job.end_boot_id, sweep->boot_id, sizeof(job.end_boot_id));
		need(end ? jobs_end(writer, NULL, &job, &err) :
			   jobs_begin(writer, &job, &(struct job_rules){ 0 }, &err),
		     &err);
		label.name = job_snapshot_name(job.number, end, name);
		if (i == 1)
			need(saved_write(writer, &label, sweep, &err), &err);
	}
	saved_writer_close(writer);
}

static void make_database(const struct options *options, const char *path)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	const struct fabric_day_settings settings = {
		.interval_us = (int64_t)(options->interval_s * US_PER_S), .begin_us = BEGIN_US, .seed = 1,
		.shape = &shape,
	};
	int sweeps = (int)(HOURLY_S / options->interval_s);
	struct route_block *blocks = NULL;
	struct routes routes = { 0 };
	struct fabric_day *day;
	struct writer *writer;
	size_t block_count = 0;
	struct error err;

	shape.units = options->hosts / UNIT_HOSTS;
	shape.hosts = shape.spines = UNIT_HOSTS;
	shape.rails = 8;
	shape.links = 1;
	shape.management = 0;
	need(fabric_day_create(&settings, &day, &err), &err);
	need(writer_open(path, &writer, &err), &err);
	for (int i = 0; i < sweeps; i++) {
		struct sweep sweep = *fabric_day_step(day);

		if (!i)
			block_count = make_tables(sweep.fabric, &routes, &blocks);
		sweep.routes = &routes;
		sweep.route_blocks = blocks;
		sweep.route_block_count = i ? 0 : block_count;
		need(writer_sink(writer)->store(writer_sink(writer)->ctx, &sweep, &err), &err);
		if (i % 60 == 0)
			settle(NULL);
		if (i == sweeps / 4 || i == sweeps * 3 / 4)
			mark_jobs(path, &sweep, i > sweeps / 2);
	}
	writer_close(writer);
	fabric_day_destroy(day);
	routes_done(&routes);
	free(blocks);
}

/* The median time of a command, its output discarded. */
static double seconds(const char *path, const char *what)
{
	const char *program = getenv("IBWIRE");
	struct times times = { 0 };
	char line[512];
	double ret;

	snprintf(line, sizeof(line), "'%s' %s --db '%s' >/dev/null", program ? program : "./ibwire", what, path);
	for (int i = 0; i < RUNS; i++) {
		int64_t began_us = now_us();

		if (system(line) != 0) {
			fprintf(stderr, "jobs: failed: %s\n", line);
			exit(1);
		}
		times_add(&times, now_us() - began_us);
	}
	ret = times_at_ms(&times, 50) / 1000;
	times_done(&times);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "hosts", required_argument, NULL, 'h' }, { "interval", required_argument, NULL, 'i' },
		{ "keep", required_argument, NULL, 'k' }, { NULL, 0, NULL, 0 },
	};
	struct options options = { .hosts = 1024, .interval_s = 10 };
	char folder[] = "/tmp/jobs-XXXXXX", path[4096], line[64];
	double diff;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h')
			options.hosts = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'i')
			options.interval_s = strtod(optarg, NULL);
		else if (c == 'k')
			options.keep = optarg;
		else
			return 64;
	}
	if (!options.keep && !mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s%s", options.keep ? options.keep : folder, options.keep ? "" : "/jobs.db");
	make_database(&options, path);
	snprintf(line, sizeof(line), "job report, %u hosts, 8 rails", options.hosts);
	puts(line);
	diff = seconds(path, "snapshot diff job-1-begin job-1-end --by host");
	figure("job_report_snapshots", seconds(path, "job report 1"), "s", 1, "snapshot diff", diff);
	figure("job_report_history", seconds(path, "job report 2"), "s", 1, "snapshot diff", diff);
	figure("job_report_json", seconds(path, "job report 1 --format json"), "s", 0, "snapshot diff", diff);
	if (!options.keep) {
		unlink(path);
		rmdir(folder);
	}
	return 0;
}
