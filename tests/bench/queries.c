/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/queries.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "tests/bench/measure.h"
#include "tests/bench/plain_rows.h"

#define WARM_RUNS 7

/* Drop a file from the page cache. */
static void drop(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* Sums of a result, so that no read is optimised away. */
struct result {
	int64_t samples, pieces;
	uint64_t words;
};

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	(void)piece;
	((struct result *)ctx)->pieces++;
	return true;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *of, const struct delta *delta,
		       int64_t samples)
{
	struct result *found = ctx;

	(void)port;
	(void)of;
	found->samples += samples;
	found->words += delta->value[COUNTER_XMIT_DATA] + delta->value[COUNTER_RCV_DATA];
	return true;
}

static bool take_header(void *ctx, const char *const *names, int count)
{
	(void)ctx;
	(void)names;
	(void)count;
	return true;
}

/* All ports of the database, as a query needs them. */
#define PORTS_MOST 65536
static struct history_port all_ports[PORTS_MOST];
static struct history_sum sums[PORTS_MOST];
static size_t port_count;

static bool take_port(void *ctx, const struct cell *cells, int count)
{
	(void)ctx;
	(void)count;
	all_ports[port_count++] = (struct history_port){ (uint64_t)cells[0].integer, (uint8_t)cells[1].integer };
	return port_count < PORTS_MOST;
}

static int list_ports(const char *path, struct error *err)
{
	const struct sql_consumer consumer = { .header = take_header, .row = take_port };
	struct reader *reader = NULL;
	int result = reader_open(path, &reader, err);

	port_count = 0;
	if (!result)
		result = reader_sql(reader, "SELECT guid, number FROM port JOIN node ON node.id = node", 0, &consumer,
				    err);
	reader_close(reader);
	return result;
}

static int query_reader(struct reader *reader, const struct query *query, struct result *found,
		      struct error *err)
{
	struct history_consumer consumer = { .piece = take_piece, .delta = take_delta, .ctx = found };
	struct history_port port = { query->node_guid, query->num };
	struct history_query history = { .counters = COUNTER_TRAFFIC_SET };
	struct history_range range;
	int result = reader_history_range(reader, 0, 0, &range, err);

	*found = (struct result){ 0 };
	if (!result)
		result = reader_history_range(reader, range.newest_us - (int64_t)(query->seconds * 1e6), 0,
					      &range, err);
	/* As ibwire history --top: from the beginning of a sum, a minute more or less. */
	if (!result && !query->node_guid)
		result = reader_history_round(reader, &range, 0, err);
	if (result)
		return result;
	history.after = range.after;
	history.until = range.until;
	history.ports = query->node_guid ? &port : all_ports;
	history.port_count = query->node_guid ? 1 : port_count;
	if (query->points)
		history.longest_us = (int64_t)(query->seconds * 1e6 / query->points);
	result = query->node_guid ? reader_history(reader, &history, &consumer, err) :
		 reader_history_sums(reader, &history, sums, err);
	for (size_t i = 0; !result && !query->node_guid && i < port_count; i++)
		take_delta(found, i, &all_ports[i], &sums[i].sum, sums[i].samples);
	if (!result && (!found->samples || found->pieces < query->points))
		result = err_set(err, ERR_INTERNAL, "%s: %lld samples in %lld pieces", query->name,
				 (long long)found->samples, (long long)found->pieces);
	return result;
}

static int query_plain(struct plain_rows *rows, const struct query *query, double interval_s, struct error *err)
{
	int64_t until = plain_newest(rows), after = until - (int64_t)(query->seconds / interval_s), count;

	if (query->node_guid)
		return plain_read_port(rows, query->peer_port, after, until, &count, err);
	return plain_sum_ports(rows, after, until, &count, err);
}

/* Once cold and some times warm, as @ret_cold and @warm. */
static int measure_reader(const struct query *query, const char *path, double *ret_cold, struct times *warm,
			  struct times *warm_cpu, struct error *err)
{
	struct reader *reader = NULL;
	struct result found;
	int64_t began, began_cpu;
	int result = list_ports(path, err);

	drop(path);
	began = now_us();
	began_cpu = cpu_us();
	if (!result)
		result = reader_open(path, &reader, err);
	for (int i = 0; !result && i <= WARM_RUNS; i++) {
		result = query_reader(reader, query, &found, err);
		if (i) {
			times_add(warm, now_us() - began);
			times_add(warm_cpu, cpu_us() - began_cpu);
		} else {
			*ret_cold = (double)(now_us() - began) / 1000;
		}
		began = now_us();
		began_cpu = cpu_us();
	}
	if (!result)
		printf("  %s: %lld samples in %lld pieces\n", query->name, (long long)found.samples,
		       (long long)found.pieces);
	reader_close(reader);
	return result;
}

static int measure_plain(const struct query *query, const char *path, double *ret_cold, double *ret_warm,
			 struct error *err)
{
	struct plain_rows *rows = NULL;
	int64_t began;
	int result;

	drop(path);
	began = now_us();
	result = plain_open(path, &rows, err);
	if (!result)
		result = query_plain(rows, query, 1, err);
	*ret_cold = (double)(now_us() - began) / 1000;
	began = now_us();
	if (!result)
		result = query_plain(rows, query, 1, err);
	*ret_warm = (double)(now_us() - began) / 1000;
	plain_close(rows);
	return result;
}

static bool take_row(void *ctx, const struct cell *cells, int count)
{
	(void)cells;
	(void)count;
	++*(int64_t *)ctx;
	return true;
}

/* The same in SQL, warm: as ibwire sql, and as the extension in the sqlite3 shell. */
static int measure_sql(const struct query *query, const char *path, double *ret_ms, struct error *err)
{
	int64_t rows = 0, until_us, since_us, began;
	struct sql_consumer consumer = { .header = take_header, .row = take_row, .ctx = &rows };
	struct reader *reader = NULL;
	struct times times = { 0 };
	struct db_status status;
	char sql[500];
	int result = reader_open(path, &reader, err);

	if (!result)
		result = reader_status(reader, &status, err);
	until_us = result ? 0 : status.last_wall_us;
	since_us = until_us - (int64_t)(query->seconds * 1e6);
	if (query->node_guid)
		snprintf(sql, sizeof(sql), "SELECT time, elapsed_us, xmit_bytes, rcv_bytes FROM sample(%lld, %lld)"
			 " WHERE node_guid = '0x%016llx' AND port = %u", (long long)since_us, (long long)until_us,
			 (unsigned long long)query->node_guid, query->num);
	else
		snprintf(sql, sizeof(sql), "SELECT node, port, xmit_bytes, rcv_bytes FROM port_sum(%lld, %lld)",
			 (long long)since_us, (long long)until_us);
	for (int i = 0; !result && i <= WARM_RUNS; i++) {
		began = now_us();
		result = reader_sql(reader, sql, 0, &consumer, err);
		if (i)
			times_add(&times, now_us() - began);
	}
	*ret_ms = times_at_ms(&times, 50);
	times_done(&times);
	reader_close(reader);
	return result || rows ? result : err_set(err, ERR_INTERNAL, "no row from: %s", sql);
}

int query_measure(const struct query *query, const char *path, const char *plain, struct error *err)
{
	double cold = 0, plain_cold = 0, plain_warm = 0, sql = 0;
	struct times warm = { 0 }, warm_cpu = { 0 };
	char name[100];
	int result = measure_reader(query, path, &cold, &warm, &warm_cpu, err);

	if (!result && plain)
		result = measure_plain(query, plain, &plain_cold, &plain_warm, err);
	if (!result && !query->points)
		result = measure_sql(query, path, &sql, err);
	if (!result) {
		snprintf(name, sizeof(name), "%s_cold", query->name);
		figure(name, cold, "ms", query->must_cold_ms, plain ? "plain rows" : NULL, plain_cold);
		snprintf(name, sizeof(name), "%s_warm", query->name);
		figure(name, times_at_ms(&warm, 50), "ms", query->must_warm_ms, plain ? "plain rows" : NULL,
		       plain_warm);
		snprintf(name, sizeof(name), "%s_warm_cpu", query->name);
		figure(name, times_at_ms(&warm_cpu, 50), "ms", 0, NULL, 0);
	}
	if (!result && !query->points) {
		snprintf(name, sizeof(name), "%s_sql_warm", query->name);
		figure(name, sql, "ms", 0, plain ? "plain rows" : NULL, plain_warm);
	}
	times_done(&warm);
	times_done(&warm_cpu);
	return result;
}
