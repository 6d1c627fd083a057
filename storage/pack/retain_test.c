/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* retain_test.c - expired data is removed, and what remains is exact */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/history.h"
#include "storage/pack/compact.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

/* Store sweeps under these settings, with restarts of the collector. */
static void live(struct model *model, const struct writer_retention *retention, size_t steps)
{
	struct writer *writer = check_open_writer(path);

	writer_set_retention(writer, retention);
	for (size_t i = 0; i < steps; i++) {
		if (model_random(model, 20) == 0)
			model_jump(model, 600000000);
		check_store(writer, model_step(model));
		if (model_random(model, 50) == 0) {
			writer_close(writer);
			writer = check_open_writer(path);
			writer_set_retention(writer, retention);
			check_restore(writer, model);
		}
	}
	writer_close(writer);
}

static void check_kept(const struct model *model)
{
	struct reader *reader = check_open_reader(path);
	struct db_status status;

	assert_int_equal(reader_status(reader, &status, NULL), 0);
	assert_int_equal(status.sweeps, (int64_t)model->sweep_count - check_first_kept(path) + 1);
	assert_int_equal(status.first_wall_us, model->sweeps[check_first_kept(path) - 1].wall_us);
	for (int64_t id = check_first_kept(path); id <= (int64_t)model->sweep_count; id++) {
		check_sweep(reader, model, id);
		if (id % 7 == 0)
			check_window(reader, model, model->sweeps[id - 1].wall_us,
				     model->sweeps[id - 1].wall_us - model->sweeps[check_first_kept(path) - 1].wall_us);
	}
	reader_close(reader);
	check_integrity(path);
}

TEST_IN_FOLDER(samples_expire_and_the_rest_is_exact)
{
	struct writer_retention retention = { .raw_us = INT64_C(3600000000), .window_sweeps = 9 };

	for (uint64_t seed = 0; seed < test_cases(3); seed++) {
		struct model *model = model_create(seed, 2, 5, 3);
		struct writer *writer;

		model->keep_history = true;
		live(model, &retention, 500);
		assert_true(check_first_kept(path) > 200);
		assert_true(check_integer(path, "SELECT min(from_us) FROM chunk_window WHERE state = 1") >=
			    model->wall_us - 2 * retention.raw_us);
		/* Nothing of it is left, except last readings of ports that a gap covers. */
		assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk c WHERE NOT EXISTS (SELECT 1 FROM"
					       " chunk_window w WHERE w.state = 1 AND w.id = c.id / 2097152)"), 0);
		/* Some last readings of such ports remain until the next window expires; of seldom attributes many. */
		assert_in_range(check_integer(path, "SELECT count(*) FROM detail WHERE attribute < 4 AND sweep <"
					      " (SELECT max(to_sweep) FROM chunk_window WHERE state = 2)"), 0, 100);
		assert_in_range(check_integer(path, "SELECT count(*) FROM absolute WHERE sweep < (SELECT max(to_sweep)"
					      " - 1 FROM chunk_window WHERE state = 2)"), 0, 40);
		check_kept(model);
		writer = check_open_writer(path);
		check_restore(writer, model);
		writer_close(writer);
		model_destroy(model);
		test_folder_renew();
	}
}

/* One step by a collector that ends after it. Return: false without a step. */
static bool one_step(sqlite3 *db, const struct writer_retention *retention)
{
	static struct compaction compaction;
	struct error err = { 0 };
	int result = compact_init(&compaction, db, retention->window_sweeps, &err);

	if (!result)
		result = retain_step(&compaction, retention, &err);
	if (result < 0)
		fail_msg("%s", err.text);
	compact_done(&compaction);
	return result > 0;
}

/* A range that ends within an hour of which some windows were removed would lack the whole hour. */
TEST_IN_FOLDER(the_sums_of_the_windows_of_an_hour_expire_together)
{
	struct writer_retention retention = { .raw_us = INT64_C(1800000000), .sums_us = INT64_C(5000000000),
					      .window_sweeps = 9 };

	for (uint64_t seed = 0; seed < test_cases(3); seed++) {
		struct model *model = model_create(seed, 2, 2, 1);
		sqlite3 *db;

		live(model, &retention, 700 + 40 * seed);
		/* On a busy machine the collector ends before it has removed all that is due. */
		db = check_open_second(path);
		while (one_step(db, &retention))
			;
		sqlite3_close(db);
		assert_in_range(check_integer(path, "SELECT count(*) FROM hour h WHERE NOT EXISTS (SELECT 1 FROM"
					      " chunk_window w WHERE w.id >= h.from_window AND w.id < h.to_window)"),
				1, 1000);
		assert_int_equal(check_integer(path, "SELECT count(*) FROM hour h WHERE (SELECT count(*) FROM"
					       " chunk_window w WHERE w.id >= h.from_window AND w.id < h.to_window)"
					       " NOT IN (0, h.to_window - h.from_window)"), 0);
		model_destroy(model);
		test_folder_renew();
	}
}

TEST_IN_FOLDER(a_clock_jump_and_return_expires_nothing)
{
	struct writer_retention retention = { .raw_us = INT64_C(7) * 86400 * 1000000, .window_sweeps = 9 };
	struct model *model = model_create(5, 2, 5, 3);
	const int64_t month_us = INT64_C(30) * 86400 * 1000000;

	model->keep_history = true;
	live(model, &retention, 100);
	model_jump(model, month_us);
	live(model, &retention, 40);
	model_jump(model, -month_us);
	live(model, &retention, 60);
	assert_int_equal(check_first_kept(path), 1);
	check_kept(model);
	model_destroy(model);
}

enum { MOST_PORTS = 64 };

/* What the ports of the model counted in a window, as one command reports it. */
struct totals {
	const struct model *model;
	struct check_sum ports[MOST_PORTS];
};

static bool take_piece(void *ctx, const struct history_piece *piece)
{
	(void)ctx;
	(void)piece;
	return true;
}

static bool take_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		       int64_t samples)
{
	struct totals *totals = ctx;

	(void)port;
	check_sum_add(&totals->ports[check_find_port(totals->model, who->node_guid, who->num)], delta, samples);
	return true;
}

static bool take_row(void *ctx, const struct cell *cells, int count)
{
	struct totals *totals = ctx;
	struct delta delta = { .elapsed_us = cells[3].integer, .known = ~(counter_set)cells[4].integer };

	(void)count;
	delta.value[COUNTER_XMIT_PACKETS] = (uint64_t)cells[5].integer;
	check_sum_add(&totals->ports[check_find_port(totals->model, strtoull(cells[0].bytes, NULL, 16),
						     cells[1].integer)], &delta, cells[2].integer);
	return true;
}

/* The end of the newest piece at or before a sweep: pieces whose parts have expired cannot be divided. */
static int64_t piece_end(sqlite3 *db, int64_t sweep)
{
	char sql[512];
	int64_t end;

	snprintf(sql, sizeof(sql), "SELECT coalesce((SELECT from_sweep - 1 FROM hour h WHERE state = 1 AND"
		 " from_sweep <= %1$lld AND to_sweep - 1 > %1$lld AND NOT EXISTS (SELECT 1 FROM chunk_window w WHERE"
		 " w.id = h.from_window AND NOT (w.state = 2 AND w.next_port = 1))), (SELECT from_sweep - 1 FROM"
		 " chunk_window WHERE state = 2 AND from_sweep <= %1$lld AND to_sweep - 1 > %1$lld), %1$lld)",
		 (long long)sweep);
	assert_int_equal(db_integer(db, sql, 0, &end, NULL), 0);
	return end;
}

/* Totals of the same window by four commands, in the order of the test's truth. */
enum { BY_PIECES, BY_SUMS, BY_SQL, BY_SNAPSHOT, COMMANDS };

static void read_window(struct reader *reader, const struct model *model, int64_t since_us, int64_t until_us,
			struct totals ret[COMMANDS])
{
	static const int64_t longest_us[] = { 0, 30000000, 600000000, 8000000000 };
	const struct history_consumer pieces = { take_piece, take_delta, &ret[BY_PIECES] };
	const struct sql_consumer rows = { check_any_header, take_row, &ret[BY_SQL] };
	struct history_query query = { .longest_us = longest_us[until_us % 4], .port_count = model->port_count,
				       .counters = COUNTER_BIT(COUNTER_XMIT_PACKETS) };
	struct snapshot_query snapshot_query = { .at_us = until_us, .window_us = until_us - since_us };
	struct history_port ports[MOST_PORTS];
	struct history_sum sums[MOST_PORTS];
	struct history_range range;
	struct snapshot *snapshot;
	char sql[256];

	for (int i = 0; i < COMMANDS; i++)
		ret[i] = (struct totals){ .model = model };
	for (size_t i = 0; i < model->port_count; i++)
		ports[i] = (struct history_port){ model->nodes[model->ports[i].node].node.guid, model->ports[i].num };
	query.ports = ports;
	assert_int_equal(reader_history_range(reader, since_us, until_us, &range, NULL), 0);
	query.after = range.after;
	query.until = range.until;
	assert_int_equal(reader_history(reader, &query, &pieces, NULL), 0);
	assert_int_equal(reader_history_sums(reader, &query, sums, NULL), 0);
	for (size_t i = 0; i < model->port_count; i++)
		if (sums[i].samples)
			check_sum_add(&ret[BY_SUMS].ports[i], &sums[i].sum, sums[i].samples);
	snprintf(sql, sizeof(sql), "SELECT node_guid, port, samples, elapsed_us, unknown, xmit_packets FROM"
		 " port_sum(%lld, %lld)", (long long)since_us, (long long)until_us);
	assert_int_equal(reader_sql(reader, sql, 0, &rows, NULL), 0);
	assert_int_equal(snapshot_load(reader, &snapshot_query, &snapshot, NULL), 0);
	for (size_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port *port = &snapshot->fabric->ports[i];

		if (snapshot->rows[i].sum.elapsed_us && !snapshot->rows[i].mirrored)
			check_sum_add(&ret[BY_SNAPSHOT].ports[check_find_port(
				model, snapshot->fabric->nodes[port->node].guid, port->num)],
				&snapshot->rows[i].sum, 1);
	}
	snapshot_destroy(snapshot);
}

/* The totals of sweeps (@after, @until] by all commands are those of the model. */
static void check_totals(sqlite3 *db, struct reader *reader, const struct model *model, int64_t after, int64_t until,
			 struct totals *ret)
{
	static struct totals read[COMMANDS];
	int64_t begin = piece_end(db, after), end = piece_end(db, until);

	read_window(reader, model, after ? model->sweeps[after - 1].wall_us : 0, model->sweeps[until - 1].wall_us,
		    read);
	for (size_t p = 0; p < model->port_count; p++) {
		struct check_sum truth = check_truth(model, p, begin, end);
		counter_set packets = truth.delta.known & COUNTER_BIT(COUNTER_XMIT_PACKETS);

		for (int i = 0; i < COMMANDS; i++) {
			const struct check_sum *sum = &read[i].ports[p];
			uint64_t count = sum->delta.value[COUNTER_XMIT_PACKETS];

			/* A snapshot has the ports of the fabric at its time, and does not count samples. */
			if (i == BY_SNAPSHOT && !sum->samples)
				continue;
			if (i != BY_SNAPSHOT)
				assert_int_equal(sum->samples, truth.samples);
			if (sum->delta.elapsed_us != truth.delta.elapsed_us)
				fail_msg("command %d, port %zu, sweeps %" PRId64 " to %" PRId64 ": %" PRId64
					 " us and not %" PRId64, i, p, after + 1, until, sum->delta.elapsed_us,
					 truth.delta.elapsed_us);
			assert_int_equal(sum->delta.known & COUNTER_BIT(COUNTER_XMIT_PACKETS), packets);
			/* SQL has signed numbers. */
			if (packets)
				assert_true(count == truth.delta.value[COUNTER_XMIT_PACKETS] ||
					    (i == BY_SQL && count == INT64_MAX));
		}
	}
	*ret = read[BY_SUMS];
}

static sqlite3 *open_read_only(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	return db;
}

/* Two adjacent windows add up to the window that spans both, whatever has expired at their edges. */
static void check_adjacent(const struct model *model, uint64_t seed)
{
	static struct totals first, second, both;
	int64_t count = (int64_t)model->sweep_count, edges[3] = { 0 };
	struct reader *reader = check_open_reader(path);
	/* No command can name an earlier time. */
	int64_t least = check_integer(path, "SELECT min(id) FROM sweep");
	sqlite3 *db = open_read_only();

	edges[0] = seed % 3 ? (int64_t)(map_mix(seed) % (uint64_t)(count - 2)) : 0;
	edges[0] = edges[0] < least ? 0 : edges[0];
	edges[1] = (edges[0] ? edges[0] : least) + 1;
	edges[1] += (int64_t)(map_mix(seed + 1) % (uint64_t)(count - edges[1]));
	edges[2] = edges[1] + 1 + (int64_t)(map_mix(seed + 2) % (uint64_t)(count - edges[1]));
	check_totals(db, reader, model, edges[0], edges[1], &first);
	check_totals(db, reader, model, edges[1], edges[2], &second);
	check_totals(db, reader, model, edges[0], edges[2], &both);
	for (size_t p = 0; p < model->port_count; p++) {
		assert_int_equal(first.ports[p].samples + second.ports[p].samples, both.ports[p].samples);
		assert_int_equal(first.ports[p].delta.elapsed_us + second.ports[p].delta.elapsed_us,
				 both.ports[p].delta.elapsed_us);
	}
	sqlite3_close(db);
	reader_close(reader);
}

/*
 * A moment is the newest sweep at or before it at which totals can end. Rows inside of expired pieces, to which
 * last readings refer, are no such sweeps: the totals would be of an earlier time than the rows.
 */
static void check_moments(const struct model *model)
{
	int64_t count = (int64_t)model->sweep_count, inside = 0, stored, step = 4 / test_cases(4);
	struct reader *reader = check_open_reader(path);
	sqlite3 *db = open_read_only();
	bool *ends = calloc(model->sweep_count + 1, sizeof(*ends));

	assert_non_null(ends);
	for (int64_t id = 1; id <= count; id++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM sweep WHERE id = %lld", (long long)id);
		assert_int_equal(db_integer(db, sql, 0, &stored, NULL), 0);
		if (!stored)
			continue;
		ends[id] = piece_end(db, id) == id;
		inside += !ends[id];
	}
	sqlite3_close(db);
	assert_true(inside > 0);
	for (int64_t id = 1; id <= count; id += step) {
		const struct snapshot_query query = { .at_us = model->sweeps[id - 1].wall_us, .fabric_only = true };
		struct snapshot *snapshot;
		int64_t expected = 0;

		for (int64_t end = 1; end <= count; end++)
			if (ends[end] && model->sweeps[end - 1].wall_us <= query.at_us &&
			    (!expected || model->sweeps[end - 1].wall_us >= model->sweeps[expected - 1].wall_us))
				expected = end;
		/* Before all sums: there are no totals. */
		if (!expected)
			continue;
		assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
		assert_int_equal(snapshot->sweep.id, expected);
		snapshot_destroy(snapshot);
	}
	free(ends);
	reader_close(reader);
}

/*
 * Live until what is kept of a table begins behind a sweep: on a busy machine the compactor is behind, and does
 * the rest after later sweeps. Return: where it begins.
 */
static int64_t live_until_past(struct model *model, const struct writer_retention *retention, const char *table,
			       int64_t sweep)
{
	char sql[80];
	int64_t begins;

	snprintf(sql, sizeof(sql), "SELECT min(from_sweep) FROM %s", table);
	for (int i = 0; (begins = check_integer(path, sql)) <= sweep && i < 100; i++)
		live(model, retention, 5);
	assert_true(begins > sweep);
	return begins;
}

TEST_IN_FOLDER(sums_outlive_samples_and_hours_outlive_sums)
{
	struct writer_retention retention = { .raw_us = INT64_C(1200000000), .sums_us = INT64_C(7200000000),
				    .window_sweeps = 5 };
	struct model *model = model_create(5, 2, 5, 3);
	int64_t raw, windows, hours;

	model->keep_history = true;
	live(model, &retention, 900);
	windows = live_until_past(model, &retention, "chunk_window", 100);
	raw = check_first_kept(path);
	hours = check_integer(path, "SELECT min(from_sweep) FROM hour");
	assert_int_equal(hours, 1);
	assert_true(raw > windows);
	for (uint64_t seed = 0; seed < test_cases(20); seed++)
		check_adjacent(model, seed);
	check_moments(model);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_sum WHERE window < (SELECT min(id) FROM"
				       " chunk_window)"), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM error WHERE sweep < (SELECT min(from_sweep) FROM"
				       " chunk_window)"), 0);
	check_kept(model);
	/* Rows of sweep: all with samples, one of each window and hour, and those of last readings. */
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window w WHERE NOT EXISTS (SELECT 1 FROM sweep"
				       " s WHERE s.id = w.to_sweep - 1)"), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM hour h WHERE NOT EXISTS (SELECT 1 FROM sweep s WHERE"
				       " s.id = h.to_sweep - 1)"), 0);
	/* Rhythms of jobs are kept as long. */
	check_change(path, "INSERT INTO job (number, id, name, hosts, command, begin_us, begin_boot_us, begin_boot_id,"
		     " ending) VALUES (1, 'long', '', '', '', 1, 0, 'boot', 0); INSERT INTO job_rhythm (job, wall_us,"
		     " kind, periods, phase) SELECT 1, from_us, 0, 0, 0 FROM hour WHERE state = 1");
	retention.hours_us = INT64_C(14400000000);
	live(model, &retention, 100);
	live_until_past(model, &retention, "hour", 100);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM hour_sum WHERE hour < (SELECT min(id) FROM hour)"),
			 0);
	assert_int_equal(check_integer(path, "SELECT min(wall_us) >= (SELECT min(from_us) FROM hour) FROM job_rhythm"),
			 1);
	check_kept(model);
	model_destroy(model);
}

/* Ended jobs go with their snapshots after their retention; of all jobs the newest 100,000 stay. */
TEST_IN_FOLDER(jobs_are_removed)
{
	struct writer_retention retention = { .jobs_us = INT64_C(10) * 86400000000, .window_sweeps = 20 };
	struct model *model = model_create(5, 4, 8, 8);

	model->calm = model->no_details = true;
	live(model, &retention, 60);
	/* The number of a job is its age in days; job 40 ended 20 days ago, job 30 now, and job 50 still runs. */
	check_change(path, "INSERT INTO job SELECT value, value, '', '', '', s.now - value * 86400000000, 0, 'boot', "
		"NULL,"
		     " iif(value = 50, NULL, s.now - (value = 40) * 1728000000000), 0, 'boot', NULL, value <> 50, "
		     "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
		     " FROM json_each('[3, 30, 40, 50]'), (SELECT max(wall_us) AS now FROM sweep) s");
	check_change(path, "INSERT INTO snapshot (name, note, complete, wall_us, start_us, end_us, boot_id, "
		"discovered, slow,"
		     " ports_planned, ports_polled, ports_answered, mads_sent, mads_timed_out, spread_us) SELECT "
		     "'job-' ||"
		     " column1 || '-begin', '', 1, 1, 1, 1, 'boot', 0, 0, 0, 0, 0, 0, 0, 0 FROM (VALUES (3), (40))");
	/* More rows of the removed job than one transaction removes, and one of each other job. */
	check_change(path, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
		     " INSERT INTO job_rhythm (job, wall_us, kind, periods, phase) SELECT number, i, 0, 0, 0 FROM job,"
		     " n WHERE number = 40 OR i = 1");
	live(model, &retention, 40);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 3);
	assert_int_equal(check_integer(path, "SELECT count(*) = 3 AND min(job) = 3 AND max(job) = 50 FROM job_rhythm"
				       " WHERE job <> 40"), 1);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job_rhythm"), 3);
	assert_int_equal(check_integer(path, "SELECT sum(number) FROM job"), 3 + 30 + 50);
	assert_int_equal(check_integer(path, "SELECT group_concat(complete) = '1,0' FROM (SELECT complete FROM snapshot"
				       " ORDER BY id)"), 1);
	/* Forever, but never more than the maximum. */
	retention.jobs_us = 0;
	check_change(path, "INSERT INTO job (number, id, name, hosts, command, begin_us, begin_boot_us, begin_boot_id,"
		     " ending) SELECT 100049, 'last', '', '', '', 1, 0, 'boot', 0");
	live(model, &retention, 40);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 2);
	assert_int_equal(check_integer(path, "SELECT min(number) FROM job"), 50);
	model_destroy(model);
}

TEST_IN_FOLDER(a_full_file_keeps_its_size_and_is_reported_once)
{
	struct writer_retention retention = { .max_bytes = 3000000, .window_sweeps = 20 };
	struct model *model = model_create(5, 4, 40, 40);
	int64_t size, later;

	model->calm = model->no_details = model->keep_history = true;
	live(model, &retention, 400);
	size = check_integer(path, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
	live(model, &retention, 200);
	later = check_integer(path, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
	assert_in_range(later, 1000000, size + 1000000);
	assert_in_range(later, 2000000, 4500000);
	assert_true(check_first_kept(path) > 100);
	assert_in_range(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'history-trimmed'"), 1, 4);
	check_kept(model);
	model_destroy(model);
}

static int64_t log_bytes(void)
{
	char name[100];
	struct stat st;

	snprintf(name, sizeof(name), "%s-wal", path);
	return stat(name, &st) < 0 ? 0 : st.st_size;
}

static int64_t used_bytes(void)
{
	return check_integer(path, "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count,"
			     " pragma_freelist_count, pragma_page_size");
}

TEST_IN_FOLDER(a_held_log_counts_up_to_a_quarter_of_the_size)
{
	struct writer_retention retention = { .window_sweeps = 20 };
	struct model *model = model_create(5, 4, 40, 40);
	struct writer *writer;
	sqlite3 *db;

	model->calm = model->no_details = true;
	live(model, &retention, 400);
	/* The file alone fits to the end, with a quarter for the log it does not. */
	retention.max_bytes = used_bytes() * 13 / 10;
	writer = check_open_writer(path);
	writer_set_retention(writer, &retention);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT max(id) FROM sweep", NULL, NULL, NULL), SQLITE_OK);
	check_store_steps(writer, model, 60);
	writer_close(writer);
	assert_true(log_bytes() > retention.max_bytes / 4);
	assert_true(used_bytes() < retention.max_bytes);
	assert_in_range(check_first_kept(path), 20, 300);
	sqlite3_close(db);
	check_integrity(path);
	model_destroy(model);
}

TEST_IN_FOLDER(an_end_after_any_step_leaves_a_sound_file)
{
	/* A reading that stays has all of its values. */
	static const char lost[] =
		"SELECT count(*) FROM old_value o JOIN detail d ON d.sweep = o.sweep AND d.port = o.port AND"
		" d.attribute = o.counter / 32 LEFT JOIN detail_value v USING (sweep, port, counter)"
		" WHERE v.value IS NOT o.value OR v.counted IS NOT o.counted";
	const struct writer_retention all = { .window_sweeps = 9 };
	const struct writer_retention none = { .raw_us = 1, .sums_us = 1, .hours_us = 1, .window_sweeps = 9 };
	struct model *model = model_create(6, 2, 5, 3);
	int64_t values, steps = 0;
	sqlite3 *db;

	live(model, &all, 150);
	/* Of those that are read in each turn; of seldom ones many are last readings. */
	values = check_integer(path, "SELECT count(*) FROM detail_value WHERE counter < 4 * 32");
	assert_true(values > 100);
	check_change(path, "CREATE TABLE old_value AS SELECT * FROM detail_value");
	db = check_open_second(path);
	for (; one_step(db, &none); steps++) {
		check_sound(path);
		assert_int_equal(check_integer(path, lost), 0);
	}
	sqlite3_close(db);
	assert_true(steps > 50);
	assert_true(check_integer(path, "SELECT count(*) FROM detail_value WHERE counter < 4 * 32") < values / 4);
	model_destroy(model);
}

/* As of a damaged page: the check at the start compares only the ends of the index. */
TEST_IN_FOLDER(a_damaged_time_expires_nothing)
{
	const struct writer_retention all = { .window_sweeps = 9 };
	const struct writer_retention some = { .window_sweeps = 9, .raw_us = 1 };
	struct model *model = model_create(6, 1, 4, 2);
	sqlite3 *db;

	live(model, &all, 60);
	check_change(path, "UPDATE sweep SET wall_us = -9223372036854775808 WHERE id = 40");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_false(one_step(db, &some));
	sqlite3_close(db);
	model_destroy(model);
}

/* Windows are read while the compactor removes what has expired: it may end between two steps. */
TEST_IN_FOLDER(windows_add_up_at_each_step_of_expiry)
{
	const struct writer_retention all = { .window_sweeps = 5 };
	struct writer_retention some = { .window_sweeps = 5, .raw_us = INT64_C(3000000000) };
	struct model *model = model_create(8, 2, 5, 3);
	uint64_t steps = 0;
	sqlite3 *db;

	model->keep_history = true;
	live(model, &all, 700);
	assert_true(check_integer(path, "SELECT count(*) FROM hour WHERE state = 1 AND to_window > from_window + 2")
		    > 3);
	db = check_open_second(path);
	/* All samples that are due first, then the sums of windows, up to the middle of an hour. */
	for (int i = 0; i < 2; i++) {
		for (; one_step(db, &some); steps++)
			if (steps % (32 / test_cases(4)) == 0)
				check_adjacent(model, steps);
		some.sums_us = INT64_C(9000000000);
	}
	sqlite3_close(db);
	assert_true(steps > 100);
	assert_true(check_integer(path, "SELECT count(*) FROM hour h WHERE state = 1 AND from_window <"
				  " (SELECT min(id) FROM chunk_window)") > 1);
	model_destroy(model);
}

/* Once the samples of its time have expired, one text of a finding an hour remains, and each change. */
TEST_IN_FOLDER(texts_of_findings_are_thinned_with_the_samples)
{
	const struct writer_retention retention = { .raw_us = 4 * 3600 * INT64_C(1000000) };
	struct model *model = model_create(11, 2, 6, 4);
	struct writer *writer = check_open_writer(path);
	struct finding finding = { .kind = FINDING_SYMBOL_ERRORS, .node_guid = 7, .port = 3, .since_us = 1,
				   .increased_us = 1 };
	/* Its text changes once, half an hour after it opened. */
	struct finding quiet = { .kind = FINDING_LINK_DEGRADED, .node_guid = 8, .port = 4, .since_us = 1,
				 .severity = FINDING_WARNING, .text = "at first" };
	const struct finding *open[] = { &finding, &quiet };

	model->calm = model->no_details = true;
	writer_set_retention(writer, &retention);
	for (int i = 0; i < 1500; i++) {
		struct sweep sweep;

		model_jump(model, 30 * INT64_C(1000000));
		model->boot_us += 30 * INT64_C(1000000);
		sweep = *model_step(model);
		snprintf(finding.text, sizeof(finding.text), "%d errors", i);
		finding.last_seen_us = quiet.last_seen_us = sweep.wall_us;
		if (i == 60)
			snprintf(quiet.text, sizeof(quiet.text), "at last");
		finding.severity = i % 500 >= 250 ? FINDING_CRITICAL : FINDING_WARNING;
		sweep.findings = open;
		sweep.finding_count = 2;
		check_store(writer, &sweep);
	}
	writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT text = 'at last' FROM finding_state s"
				       " JOIN finding f ON f.id = s.finding WHERE f.kind = 'link-degraded'"
				       " ORDER BY from_sweep DESC LIMIT 1"), 1);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM finding_state WHERE state_sweep IS NULL"), 7);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM (SELECT 1 FROM finding_state"
				       " WHERE state_sweep IS NOT NULL AND from_sweep <"
				       " (SELECT min(from_sweep) FROM chunk_window WHERE state < 2)"
				       " GROUP BY wall_us / 3600000000 HAVING count(*) > 1)"), 0);
	assert_true(check_integer(path, "SELECT count(*) FROM finding_state WHERE from_sweep >="
				  " (SELECT min(from_sweep) FROM chunk_window WHERE state < 2)") > 100);
	check_integrity(path);
	model_destroy(model);
}

TEST_IN_FOLDER(the_log_shrinks_after_a_long_reader)
{
	struct writer *writer = check_open_writer_with(path, 20);
	struct model *model = model_create(5, 4, 40, 40);
	struct timespec wait = { .tv_nsec = 20000000 };
	int64_t most;
	sqlite3 *db;

	model->calm = true;
	check_store(writer, model_step(model));
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT max(id) FROM sweep", NULL, NULL, NULL), SQLITE_OK);
	for (int i = 0; i < 600 || (log_bytes() < 20000000 && i < 3000); i++)
		check_store(writer, model_step(model));
	most = log_bytes();
	assert_true(most > 17000000);
	sqlite3_close(db);
	for (int i = 0; i < 200 && log_bytes() > 17000000; i++) {
		check_store(writer, model_step(model));
		nanosleep(&wait, NULL);
	}
	assert_in_range(log_bytes(), 0, 17000000);
	writer_close(writer);
	check_integrity(path);
	model_destroy(model);
}
