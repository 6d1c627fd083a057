/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * details.c - what storing and loading costs with slow counters, on the fabric that tests use
 *
 *   details [PORTS [SWEEPS [FOLDER]]]     default: 4096 ports, 300 sweeps, $TMPDIR
 *
 * A calm, busy fabric: every port answers every sweep, and each sweep reads the
 * slow counters of a sixtieth of them. Prints the time of a commit, the bytes of
 * a port-sample (also without slow counters), and the time to open again and to
 * load snapshots. Measures and prints; tests nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/reader.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static int64_t now_us(void)
{
	return clock_boottime_us(clock_system());
}

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

static void print(const char *name, double value, const char *unit)
{
	printf("bench: {\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\"}\n", name, value, unit);
}

static int64_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_size;
}

/* What a port-sample takes without slow counters. */
static int store_plain(size_t switches, size_t hosts, const char *path, size_t sweeps, struct error *err)
{
	struct model *model = model_create(1, switches, 40, hosts);
	struct writer *writer = NULL;
	size_t samples = 0;
	int result = writer_open(path, &writer, err);

	model->calm = model->no_details = true;
	for (size_t i = 0; !result && i < sweeps; i++) {
		const struct sink *sink = writer_sink(writer);
		const struct sweep *sweep = model_step(model);

		result = sink->store(sink->ctx, sweep, err);
		samples += sweep->sample_count;
	}
	writer_close(writer);
	if (!result)
		print("bytes_per_port_sample_without_details", (double)bytes_of(path) / (double)samples, "bytes");
	unlink(path);
	model_destroy(model);
	return result;
}

static int store_all(struct model *model, const char *path, size_t sweeps, struct error *err)
{
	int64_t *took = calloc(sweeps, sizeof(*took)), began;
	struct writer *writer = NULL;
	const struct sink *sink;
	size_t samples = 0;
	int result = took ? writer_open(path, &writer, err) : err_nomem(err);

	for (size_t i = 0; !result && i < sweeps; i++) {
		const struct sweep *sweep = model_step(model);

		sink = writer_sink(writer);
		began = now_us();
		result = sink->store(sink->ctx, sweep, err);
		took[i] = now_us() - began;
		samples += sweep->sample_count;
	}
	began = now_us();
	writer_close(writer);
	if (!result) {
		printf("%zu port-samples in %zu sweeps of %zu\n", samples, sweeps, samples / sweeps);
		print("store_first", (double)took[0] / 1000, "ms");
		qsort(took, sweeps, sizeof(*took), compare);
		print("store_median", (double)took[sweeps / 2] / 1000, "ms");
		print("store_p99", (double)took[sweeps * 99 / 100] / 1000, "ms");
		print("store_max", (double)took[sweeps - 1] / 1000, "ms");
		print("writer_close", (double)(now_us() - began) / 1000, "ms");
		print("bytes_per_port_sample", (double)bytes_of(path) / (double)samples, "bytes");
	}
	free(took);
	return result;
}

static int restore_once(const char *path, struct error *err)
{
	struct restored restored = { 0 };
	struct writer *writer = NULL;
	const struct sink *sink;
	int64_t began = now_us();
	int result = writer_open(path, &writer, err);

	if (!result) {
		sink = writer_sink(writer);
		result = sink->restore(sink->ctx, &restored, err);
	}
	if (!result)
		print("open_and_restore", (double)(now_us() - began) / 1000, "ms");
	restored_done(&restored);
	writer_close(writer);
	return result;
}

static int load(struct reader *reader, const char *name, const struct snapshot_query *query, struct error *err)
{
	struct snapshot *snapshot = NULL;
	int64_t began = now_us();
	int result = snapshot_load(reader, query, &snapshot, err);

	if (!result)
		print(name, (double)(now_us() - began) / 1000, "ms");
	snapshot_destroy(snapshot);
	return result;
}

static bool count_row(void *ctx, const struct detail_row *row)
{
	(void)row;
	++*(size_t *)ctx;
	return true;
}

static int load_details(struct reader *reader, const char *name, const struct detail_query *query, struct error *err)
{
	int64_t began = now_us();
	size_t rows = 0;
	int result = reader_details(reader, query, count_row, &rows, err);

	if (!result)
		print(name, (double)(now_us() - began) / 1000, "ms");
	return result;
}

static int load_all(const char *path, uint64_t guid, struct error *err)
{
	struct snapshot_query newest = { 0 }, window = { .window_us = 60000000 }, absolute = { .absolute = true };
	struct detail_query details = { .window_us = 60000000 }, port = { .window_us = INT64_MAX / 4, .port = 1 };
	struct reader *reader = NULL;
	int result = reader_open(path, &reader, err);

	if (!result)
		result = load(reader, "snapshot_first", &newest, err);
	if (!result)
		result = load(reader, "snapshot_again", &newest, err);
	if (!result)
		result = load(reader, "snapshot_60_sweeps", &window, err);
	if (!result)
		result = load(reader, "snapshot_absolute", &absolute, err);
	port.node_guid = guid;
	if (!result)
		result = load_details(reader, "details_60_sweeps", &details, err);
	if (!result)
		result = load_details(reader, "details_of_one_port_all_sweeps", &port, err);
	reader_close(reader);
	return result;
}

int main(int argc, char **argv)
{
	size_t ports = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
	size_t sweeps = argc > 2 ? strtoul(argv[2], NULL, 10) : 300;
	const char *folder = argc > 3 ? argv[3] : getenv("TMPDIR");
	size_t switches = ports / 80 ? ports / 80 : 1, hosts = (ports - switches * 40) / 2;
	struct model *model = model_create(1, switches, 40, hosts ? hosts : 1);
	struct error err = { 0 };
	char path[4096], plain[4096 + 8];
	int result;

	snprintf(path, sizeof(path), "%s/ibwire-bench-XXXXXX", folder ? folder : "/tmp");
	if (!sweeps || !mkdtemp(path)) {
		fprintf(stderr, "details: cannot make a folder in %s; give another one\n", folder ? folder : "/tmp");
		return 74;
	}
	strncat(path, "/fabric.db", sizeof(path) - strlen(path) - 1);
	snprintf(plain, sizeof(plain), "%s.plain", path);
	model->calm = true;
	result = store_plain(switches, hosts ? hosts : 1, plain, sweeps, &err);
	if (!result)
		result = store_all(model, path, sweeps, &err);
	if (!result)
		result = restore_once(path, &err);
	if (!result)
		result = load_all(path, model->nodes[0].node.guid, &err);
	if (result < 0)
		fprintf(stderr, "details: %s\n", err.text);
	model_destroy(model);
	printf("left for a look: %s\n", path);
	return -result;
}
