/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * store.c - size and time of the store, compared with plain rows keyed (sweep, port)
 *
 * A noisy day (storage/test/test_day.h) of 4,096 port ends, with one sweep per second, is stored as by
 * a collector; its first hour is also stored as plain rows, in turns. Then both are queried. There is no
 * pause between sweeps, except at the end of each window, where the time of compaction is measured.
 *
 *     PORTS=4096 HOURS=6.05 PEER_HOURS=1.05    the day, and the part of it in plain rows
 *     DAY_PORTS=256 DAY_HOURS=24.05            a longer day, for queries of one port
 *     LARGE_SWEEPS=60                          of 65,536 port ends, 10 s apart
 *     READER_SWEEPS=1200                       while a reader holds a transaction open
 *     FOLDER=$TMPDIR                           needs 4 GB
 *
 * 0 omits a part. It measures and prints, and cannot fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "storage/writer.h"
#include "tests/bench/measure.h"
#include "tests/bench/fabric_day.h"
#include "tests/bench/plain_rows.h"
#include "tests/bench/queries.h"

#define SECOND_US INT64_C(1000000)
#define PLAIN "plain rows"

/* A database that is filled, and its times. */
struct filling {
	struct fabric_day *day;
	struct writer *writer;
	struct plain_rows *plain;
	char path[4200], plain_path[4200];
	struct times stores, plain_stores;   /* the whole call */
	struct times commits, plain_commits; /* its COMMIT, with which it is on disk */
	struct times compactions, compaction_cpus;
	int64_t window_sweeps;
	int64_t samples, plain_samples, stored_us, plain_stored_us;
	struct times cpus, plain_cpus; /* of the whole call, this thread's */
	uint64_t port_guid; /* of a port for queries */
	uint8_t port_num;
	uint32_t port_index;
};

static double setting(const char *name, double otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtod(text, NULL) : otherwise;
}

static int filling_begin(struct filling *filling, const char *folder, const char *name, double ports,
			 int64_t interval_us, bool plain, struct error *err)
{
	struct fabric_day_settings settings = { .ports = (size_t)ports, .interval_us = interval_us, .seed = 1,
						.begin_us = INT64_C(1795046400) * SECOND_US };
	int result;

	memset(filling, 0, sizeof(*filling));
	filling->window_sweeps = SETTLE_SWEEPS(interval_us);
	snprintf(filling->path, sizeof(filling->path), "%s/%s.db", folder, name);
	snprintf(filling->plain_path, sizeof(filling->plain_path), "%s/%s-plain.db", folder, name);
	result = fabric_day_create(&settings, &filling->day, err);
	if (!result)
		result = writer_open(filling->path, &filling->writer, err);
	if (!result && plain)
		result = plain_open(filling->plain_path, &filling->plain, err);
	return result;
}

static int store_plain(struct filling *filling, const struct sweep *sweep, struct error *err)
{
	int64_t began = now_us(), began_cpu = cpu_us();
	int result = plain_store(filling->plain, sweep, err);

	times_add(&filling->plain_cpus, cpu_us() - began_cpu);
	times_add(&filling->plain_stores, now_us() - began);
	times_add(&filling->plain_commits, commit_time_us());
	filling->plain_stored_us += now_us() - began;
	for (size_t i = 0; i < sweep->sample_count; i++)
		filling->plain_samples += sweep->samples[i].delta != NULL;
	return result;
}

/* Wait as a collector does until the next sweep. */
static void compact(struct filling *filling)
{
	int64_t cpu_us, busy_us = settle(&cpu_us);

	/* A shorter time is a checkpoint of the log only. */
	if (busy_us < 20000)
		return;
	times_add(&filling->compactions, busy_us);
	times_add(&filling->compaction_cpus, cpu_us);
}

/* Store sweeps, the first @plain_sweeps of them also as plain rows. */
static int fill(struct filling *filling, int64_t sweeps, int64_t plain_sweeps, struct error *err)
{
	const struct sink *sink = writer_sink(filling->writer);
	int result = 0;

	for (int64_t i = 0; i < sweeps && !result; i++) {
		const struct sweep *sweep;
		int64_t began, began_cpu;

		sweep = fabric_day_step(filling->day);
		began = now_us();
		began_cpu = cpu_us();
		result = sink->store(sink->ctx, sweep, err);
		times_add(&filling->cpus, cpu_us() - began_cpu);
		times_add(&filling->stores, now_us() - began);
		times_add(&filling->commits, commit_time_us());
		filling->stored_us += now_us() - began;
		for (size_t j = 0; j < sweep->sample_count; j++)
			filling->samples += sweep->samples[j].delta != NULL;
		if (!result && i < plain_sweeps && filling->plain)
			result = store_plain(filling, sweep, err);
		if (i % filling->window_sweeps == filling->window_sweeps - 1)
			compact(filling);
		filling->port_index = sweep->samples[sweep->sample_count / 3].port;
		filling->port_guid = sweep->fabric->nodes[sweep->fabric->ports[filling->port_index].node].guid;
		filling->port_num = sweep->fabric->ports[filling->port_index].num;
	}
	return result;
}

static void filling_close(struct filling *filling)
{
	writer_close(filling->writer);
	plain_close(filling->plain);
	fabric_day_destroy(filling->day);
	filling->writer = NULL;
	filling->plain = NULL;
	filling->day = NULL;
}

static void filling_remove(struct filling *filling)
{
	static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
	char path[4300];

	filling_close(filling);
	times_done(&filling->commits);
	times_done(&filling->plain_commits);
	times_done(&filling->stores);
	times_done(&filling->plain_stores);
	times_done(&filling->cpus);
	times_done(&filling->plain_cpus);
	times_done(&filling->compactions);
	times_done(&filling->compaction_cpus);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(path, sizeof(path), "%s%s", filling->path, ends[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s%s", filling->plain_path, ends[i]);
		unlink(path);
	}
}

static void print_times(const char *name, const char *what, struct times *times, struct times *plain, double must_ms)
{
	static const struct {
		const char *name;
		double percent;
	} parts[] = { { "median", 50 }, { "p99", 99 }, { "max", 100 } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char text[100];

		snprintf(text, sizeof(text), "%s_%s_%s", name, what, parts[i].name);
		figure(text, times_at_ms(times, parts[i].percent), "ms", i ? 0 : must_ms, plain->count ? PLAIN : NULL,
		       times_at_ms(plain, parts[i].percent));
	}
}

static void print_commits(struct filling *filling, const char *name, double must_ms)
{
	print_times(name, "commit", &filling->commits, &filling->plain_commits, must_ms);
	print_times(name, "store", &filling->stores, &filling->plain_stores, 0);
	print_times(name, "store_cpu", &filling->cpus, &filling->plain_cpus, 0);
}

static void print_ingest(struct filling *filling)
{
	double rate = (double)filling->samples / (double)filling->stored_us;
	double bytes = (double)file_bytes(filling->path) / (double)filling->samples;

	print_commits(filling, "ingest", 1);
	if (filling->plain_samples) {
		figure("ingest_samples_per_us", rate, "1/us", 0, PLAIN,
		       (double)filling->plain_samples / (double)filling->plain_stored_us);
		figure("bytes_per_port_sample", bytes, "bytes", 11, PLAIN,
		       (double)file_bytes(filling->plain_path) / (double)filling->plain_samples);
	} else {
		figure("ingest_samples_per_us", rate, "1/us", 0, NULL, 0);
		figure("bytes_per_port_sample", bytes, "bytes", 11, NULL, 0);
	}
	figure("compaction_median", times_at_ms(&filling->compactions, 50), "ms", 150, NULL, 0);
	figure("compaction_max", times_at_ms(&filling->compactions, 100), "ms", 0, NULL, 0);
	figure("compaction_cpu_median", times_at_ms(&filling->compaction_cpus, 50), "ms", 0, NULL, 0);
}

static int measure_queries(const struct filling *filling, double hours, struct error *err)
{
	const char *plain = filling->plain_samples ? filling->plain_path : NULL;
	struct query queries[] = {
		{ .name = "one_port_1h_raw", .seconds = 3600, .must_cold_ms = 20, .must_warm_ms = 3 },
		{ .name = "all_ports_10min", .seconds = 600, .must_warm_ms = 30 },
		{ .name = "all_ports_6h", .seconds = 6 * 3600, .must_warm_ms = 300 },
	};
	int result = 0;

	queries[0].node_guid = filling->port_guid;
	queries[0].num = filling->port_num;
	queries[0].peer_port = filling->port_index;
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries) && !result; i++) {
		if (queries[i].seconds > hours * 3600)
			continue;
		result = query_measure(&queries[i], filling->path,
				      (double)filling->plain_commits.count >= queries[i].seconds ? plain : NULL, err);
	}
	return result;
}

/* Times of the start of a collector, and of a command. */
static int open_again(const struct filling *filling, struct error *err)
{
	struct snapshot_query newest = { 0 };
	struct restored restored = { 0 };
	struct snapshot *snapshot = NULL;
	struct writer *writer = NULL;
	struct reader *reader = NULL;
	int64_t began = now_us();
	int result = writer_open(filling->path, &writer, err);

	if (!result)
		result = writer_sink(writer)->restore(writer_sink(writer)->ctx, &restored, err);
	figure("open_and_restore", (double)(now_us() - began) / 1000, "ms", 0, NULL, 0);
	restored_done(&restored);
	writer_close(writer);
	if (!result)
		result = reader_open(filling->path, &reader, err);
	began = now_us();
	if (!result)
		result = snapshot_load(reader, &newest, &snapshot, err);
	figure("snapshot_newest", (double)(now_us() - began) / 1000, "ms", 0, NULL, 0);
	snapshot_destroy(snapshot);
	reader_close(reader);
	return result;
}

static int measure_day(const char *folder, struct error *err)
{
	double ports = setting("PORTS", 4096), hours = setting("HOURS", 6.05), peer = setting("PEER_HOURS", 1.05);
	struct filling filling;
	int result;

	if (hours <= 0)
		return 0;
	printf("%.0f port ends, once a second, %.2f hours\n", ports, hours);
	result = filling_begin(&filling, folder, "day", ports, SECOND_US, peer > 0, err);
	if (!result)
		result = fill(&filling, (int64_t)(hours * 3600), (int64_t)(peer * 3600), err);
	filling_close(&filling);
	if (!result) {
		print_ingest(&filling);
		result = measure_queries(&filling, hours, err);
	}
	if (!result)
		result = open_again(&filling, err);
	filling_remove(&filling);
	return result;
}

static int measure_long_day(const char *folder, struct error *err)
{
	double ports = setting("DAY_PORTS", 256), hours = setting("DAY_HOURS", 24.05);
	struct query query = { .name = "one_port_24h_200_points", .seconds = 24 * 3600, .points = 200,
				     .must_cold_ms = 100 };
	struct filling filling;
	int result;

	if (hours <= 0)
		return 0;
	printf("%.0f port ends, once a second, %.2f hours\n", ports, hours);
	result = filling_begin(&filling, folder, "long", ports, SECOND_US, false, err);
	if (!result)
		result = fill(&filling, (int64_t)(hours * 3600), 0, err);
	filling_close(&filling);
	query.node_guid = filling.port_guid;
	query.num = filling.port_num;
	if (query.seconds > hours * 3600)
		query.seconds = hours * 3600 * 0.98;
	if (!result)
		result = query_measure(&query, filling.path, NULL, err);
	filling_remove(&filling);
	return result;
}

static int measure_large(const char *folder, struct error *err)
{
	int64_t sweeps = (int64_t)setting("LARGE_SWEEPS", 60);
	struct filling filling;
	int result;

	if (sweeps <= 0)
		return 0;
	printf("65,536 port ends, 10 s apart, %lld sweeps\n", (long long)sweeps);
	result = filling_begin(&filling, folder, "large", 65536, 10 * SECOND_US, true, err);
	if (!result)
		result = fill(&filling, sweeps, sweeps, err);
	filling_close(&filling);
	if (!result)
		print_commits(&filling, "large", 6);
	filling_remove(&filling);
	return result;
}

/* A reader that holds its transaction open. */
static int begin_reading(const char *path, sqlite3 **ret, struct error *err)
{
	static const char sql[] = "PRAGMA query_only = 1; BEGIN; SELECT count(*) FROM sweep";

	if (sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_exec(*ret, sql, NULL, NULL, NULL) != SQLITE_OK)
		return err_set(err, ERR_IO, "cannot read %s: %s", path, sqlite3_errmsg(*ret));
	return 0;
}

static int measure_reader(const char *folder, struct error *err)
{
	int64_t sweeps = (int64_t)setting("READER_SWEEPS", 1200), wal_bytes, alone_wal_bytes;
	double alone_ms, alone_store_ms;
	struct filling filling;
	sqlite3 *reader = NULL;
	char wal[4300];
	int result;

	if (sweeps <= 0)
		return 0;
	printf("a reader that stays open for %lld sweeps\n", (long long)sweeps);
	result = filling_begin(&filling, folder, "read", setting("PORTS", 4096), SECOND_US, false, err);
	snprintf(wal, sizeof(wal), "%s-wal", filling.path);
	if (!result)
		result = fill(&filling, sweeps, 0, err);
	alone_wal_bytes = file_bytes(wal);
	alone_ms = times_at_ms(&filling.commits, 50);
	alone_store_ms = times_at_ms(&filling.stores, 50);
	times_done(&filling.commits);
	times_done(&filling.stores);
	if (!result)
		result = begin_reading(filling.path, &reader, err);
	if (!result)
		result = fill(&filling, sweeps, 0, err);
	if (!result) {
		wal_bytes = file_bytes(wal);
		figure("reader_commit_median", times_at_ms(&filling.commits, 50), "ms", 1.5 * alone_ms, "without",
		       alone_ms);
		figure("reader_store_median", times_at_ms(&filling.stores, 50), "ms", 1.5 * alone_store_ms, "without",
		       alone_store_ms);
		figure("reader_wal_while_open", (double)wal_bytes / 1e6, "MB", 0, "without",
		       (double)alone_wal_bytes / 1e6);
	}
	sqlite3_close(reader);
	/* The log shrinks within a few minutes. */
	if (!result)
		result = fill(&filling, 240, 0, err);
	for (int i = 0; i < 10 && !result; i++) {
		result = fill(&filling, 1, 0, err);
		settle(NULL); /* as sweeps a second apart */
	}
	if (!result)
		figure("reader_wal_after", (double)file_bytes(wal) / 1e6, "MB", 17, NULL, 0);
	filling_remove(&filling);
	return result;
}

int main(void)
{
	const char *folder = getenv("FOLDER") ? getenv("FOLDER") : getenv("TMPDIR");
	struct error err = { 0 };
	char path[4096];
	int result;

	commit_time_begin();
	snprintf(path, sizeof(path), "%s/ibwire-bench-XXXXXX", folder ? folder : "/tmp");
	if (!mkdtemp(path)) {
		fprintf(stderr, "store: cannot make a folder in %s; give another one as FOLDER\n",
			folder ? folder : "/tmp");
		return 74;
	}
	result = measure_day(path, &err);
	if (!result)
		result = measure_large(path, &err);
	if (!result)
		result = measure_reader(path, &err);
	if (!result)
		result = measure_long_day(path, &err);
	if (result < 0)
		fprintf(stderr, "store: %s\n", err.text);
	rmdir(path);
	return -result;
}
