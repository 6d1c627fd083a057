/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "storage/file/schema.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

struct writer *check_open_writer_with(const char *path, unsigned window_sweeps)
{
	struct writer_retention keep = { .window_sweeps = window_sweeps };
	struct writer *writer = check_open_writer(path);

	writer_set_retention(writer, &keep);
	return writer;
}

struct writer *check_open_writer(const char *path)
{
	struct writer *writer = NULL;
	struct error err = { 0 };

	if (writer_open(path, &writer, &err) < 0)
		fail_msg("%s", err.text);
	return writer;
}

struct reader *check_open_reader(const char *path)
{
	struct reader *reader = NULL;
	struct error err = { 0 };

	if (reader_open(path, &reader, &err) < 0)
		fail_msg("%s", err.text);
	return reader;
}

struct saved_writer *check_open_saved(const char *path)
{
	struct saved_writer *writer = NULL;
	struct error err = { 0 };

	if (saved_writer_open(path, &writer, &err) < 0)
		fail_msg("%s", err.text);
	return writer;
}

void check_store(struct writer *writer, const struct sweep *sweep)
{
	const struct sink *sink = writer_sink(writer);
	struct error err = { 0 };

	if (sink->store(sink->ctx, sweep, &err) < 0)
		fail_msg("%s", err.text);
}

void check_store_steps(struct writer *writer, struct model *model, size_t count)
{
	while (count--)
		check_store(writer, model_step(model));
}

void check_collect(const char *path, struct model *model, size_t count, unsigned window_sweeps)
{
	struct writer *writer = check_open_writer_with(path, window_sweeps);

	check_store_steps(writer, model, count);
	writer_close(writer);
}

/* The name of a node in sweep @id: from its description, or the last specific one. */
static void check_name(const struct model *model, int64_t id, const char *name, const struct node *given)
{
	char last[NODE_NAME_SIZE + 16];

	snprintf(last, sizeof(last), "%s", given->name);
	for (int64_t i = id - 1; i >= 0 && names_is_generic(given->desc); i--) {
		const struct fabric *fabric = model->sweeps[i].fabric;
		uint32_t at = fabric_find_node(fabric, given->guid);

		if (at == FABRIC_NONE || names_is_generic(fabric->nodes[at].desc))
			continue;
		snprintf(last, sizeof(last), "%.*s%s", NODE_NAME_SIZE - 1, fabric->nodes[at].name, NAMES_WAS);
		break;
	}
	if (strlen(last) < NODE_NAME_SIZE)
		assert_string_equal(name, last);
}

static void check_node(const struct node *stored, const struct node *given)
{
	assert_int_equal(stored->system_guid, given->system_guid);
	assert_int_equal(stored->vendor_id, given->vendor_id);
	assert_int_equal(stored->revision, given->revision);
	assert_int_equal(stored->device_id, given->device_id);
	assert_int_equal(stored->lid, given->lid);
	assert_int_equal(stored->lft_top, given->lft_top);
	assert_int_equal(stored->type, given->type);
	assert_int_equal(stored->port_count, given->port_count);
	assert_int_equal(stored->enhanced_port0, given->enhanced_port0);
	assert_int_equal(stored->adaptive, given->adaptive);
	assert_int_equal(stored->ports, given->ports);
	assert_memory_equal(stored->desc, given->desc, NODE_DESC_SIZE);
}

static void check_port(const struct fabric *stored_fabric, const struct port *stored, const struct fabric *given_fabric,
		       const struct port *given)
{
	assert_int_equal(stored->guid, given->guid);
	assert_int_equal(stored->cap_mask, given->cap_mask);
	assert_int_equal(stored->lid, given->lid);
	assert_int_equal(stored->sm_lid, given->sm_lid);
	assert_int_equal(stored->lmc, given->lmc);
	assert_int_equal(stored->state, given->state);
	assert_int_equal(stored->phys_state, given->phys_state);
	assert_int_equal(stored->speed, given->speed);
	assert_int_equal(stored->width, given->width);
	assert_int_equal(stored->speed_enabled, given->speed_enabled);
	assert_int_equal(stored->speed_supported, given->speed_supported);
	assert_int_equal(stored->width_enabled, given->width_enabled);
	assert_int_equal(stored->width_supported, given->width_supported);
	assert_int_equal(stored->peer == FABRIC_NONE, given->peer == FABRIC_NONE);
	if (given->peer != FABRIC_NONE) {
		const struct port *there = &stored_fabric->ports[stored->peer];
		const struct port *meant = &given_fabric->ports[given->peer];

		assert_int_equal(there->num, meant->num);
		assert_int_equal(stored_fabric->nodes[there->node].guid, given_fabric->nodes[meant->node].guid);
	}
}

static void check_names(const struct model *model, int64_t id, const struct fabric *stored, const struct fabric *given)
{
	for (size_t i = 0; i < given->node_count; i++) {
		uint32_t at = fabric_find_node(stored, given->nodes[i].guid);

		check_name(model, id, stored->nodes[at].name, &given->nodes[i]);
	}
}

static void check_fabric(const struct fabric *stored, const struct fabric *given)
{
	assert_int_equal(stored->node_count, given->node_count);
	assert_int_equal(stored->port_count, given->port_count);
	for (size_t i = 0; i < given->node_count; i++) {
		const struct node *node = &given->nodes[i];
		uint32_t at = fabric_find_node(stored, node->guid);

		assert_int_not_equal(at, FABRIC_NONE);
		check_node(&stored->nodes[at], node);
		for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
			uint32_t port = fabric_find_port(stored, node->guid, given->ports[p].num);

			assert_int_not_equal(port, FABRIC_NONE);
			check_port(stored, &stored->ports[port], given, &given->ports[p]);
		}
	}
	assert_int_equal(stored->nodes[stored->from_node].guid, given->nodes[given->from_node].guid);
	assert_int_equal(stored->from_port, given->from_port);
}

static void check_delta(const struct delta *stored, const struct delta *given)
{
	assert_int_equal(stored->elapsed_us, given->elapsed_us);
	assert_int_equal(stored->known, given->known);
	assert_int_equal(stored->reset & stored->known, given->reset & given->known);
	assert_int_equal(stored->saturated & stored->known, given->saturated & given->known);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (given->known & COUNTER_BIT(i))
			assert_int_equal(stored->value[i], given->value[i]);
}

static void check_reading(const struct reading *stored, const struct reading *given)
{
	assert_int_equal(stored->at_us, given->at_us);
	assert_int_equal(stored->present, given->present);
	assert_int_equal(stored->wide & stored->present, given->wide & given->present);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (given->present & COUNTER_BIT(i))
			assert_int_equal(stored->value[i], given->value[i]);
}

/* @sum: of the window; NULL: it has no delta. */
static void check_row(const struct port_row *row, const struct model_port *port, const struct model_truth *truth,
		      const struct delta *sum)
{
	if (!port->pollable) {
		assert_int_equal(row->status, SAMPLE_UNSUPPORTED);
		assert_int_equal(row->last_wall_us, 0);
		return;
	}
	assert_int_equal(row->status, truth->status);
	/* If the sweep that read it has expired, it is the time of the reading, which is later. */
	if (row->status == SAMPLE_OK || row->last_wall_us < truth->last_wall_us ||
	    row->last_wall_us > truth->last_wall_us + 100000)
		assert_int_equal(row->last_wall_us, truth->last_wall_us);
	assert_int_equal(row->reading != NULL, truth->has_reading);
	if (truth->has_reading)
		check_reading(row->reading, &truth->reading);
	if (sum)
		check_delta(&row->sum, sum);
	else
		assert_int_equal(row->sum.known, 0);
}

/* A port that is not polled has the deltas of its peer with directions exchanged. */
static void check_mirrored(const struct snapshot *snapshot, size_t index)
{
	const struct port_row *row = &snapshot->rows[index];
	uint32_t peer_index = snapshot->fabric->ports[index].peer;
	const struct port_row *peer = &snapshot->rows[peer_index];

	assert_true(row->status == SAMPLE_UNPLANNED || row->status == SAMPLE_UNSUPPORTED);
	assert_int_equal(peer->status, SAMPLE_OK);
	assert_int_equal(row->last_wall_us, peer->last_wall_us);
	assert_int_equal(row->sum.elapsed_us, peer->sum.elapsed_us);
	assert_int_equal(row->sum.known & COUNTER_ERROR_SET, 0);
	assert_int_equal(row->sum.known >> COUNTER_XMIT_DATA & 1, peer->sum.known >> COUNTER_RCV_DATA & 1);
	assert_int_equal(row->sum.value[COUNTER_XMIT_DATA], peer->sum.value[COUNTER_RCV_DATA]);
	assert_int_equal(row->sum.value[COUNTER_RCV_PACKETS], peer->sum.value[COUNTER_XMIT_PACKETS]);
	assert_int_equal(row->sum.reset >> COUNTER_RCV_DATA & 1, peer->sum.reset >> COUNTER_XMIT_DATA & 1);
}

void check_sum_add(struct check_sum *sum, const struct delta *delta, int64_t samples)
{
	if (sum->samples)
		delta_add(&sum->delta, delta);
	else
		sum->delta = *delta;
	sum->samples += samples;
	sum->ever |= delta->known;
}

struct check_sum check_truth(const struct model *model, size_t port, int64_t after, int64_t until)
{
	struct check_sum sum = { 0 };

	for (int64_t s = after; s < until; s++)
		if (model->sweeps[s].truth[port].has_delta)
			check_sum_add(&sum, &model->sweeps[s].truth[port].delta, 1);
	return sum;
}

static void check_snapshot(const struct snapshot *snapshot, const struct model *model, int64_t after, int64_t id)
{
	const struct model_sweep *sweep = &model->sweeps[id - 1];

	assert_int_equal(snapshot->sweep.id, id);
	assert_int_equal(snapshot->sweep.wall_us, sweep->wall_us);
	assert_int_equal(snapshot->sweep.ports_unfinished, sweep->ports_unfinished);
	assert_int_equal(snapshot->sweep.spread_us, sweep->spread_us);
	assert_int_equal(snapshot->sweep.node_spread_us, sweep->node_spread_us);
	check_fabric(snapshot->fabric, sweep->fabric);
	check_names(model, id, snapshot->fabric, sweep->fabric);
	for (size_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port *stored = &snapshot->fabric->ports[i];
		size_t at = check_find_port(model, snapshot->fabric->nodes[stored->node].guid, stored->num);
		struct check_sum sum = check_truth(model, at, after, id);

		if (snapshot->rows[i].mirrored && !sum.samples)
			check_mirrored(snapshot, i);
		else
			check_row(&snapshot->rows[i], &model->ports[at], &sweep->truth[at],
				  sum.samples ? &sum.delta : NULL);
	}
}

/* One port, each time another one: the reading of a single port is that of the snapshot. */
static void check_one_reading(struct reader *reader, const struct snapshot *snapshot)
{
	size_t index = (size_t)snapshot->sweep.id % snapshot->fabric->port_count;
	const struct port *port = &snapshot->fabric->ports[index];
	const struct port_row *row = &snapshot->rows[index];
	struct reading reading;

	assert_int_equal(reader_reading(reader, snapshot->sweep.wall_us, snapshot->fabric->nodes[port->node].guid,
					port->num, &reading, NULL), row->reading != NULL);
	if (row->reading)
		check_reading(&reading, row->reading);
}

void check_sweep(struct reader *reader, const struct model *model, int64_t id)
{
	check_window(reader, model, model->sweeps[id - 1].wall_us, 0);
}

void check_sweeps(const char *path, const struct model *model, int64_t first, int64_t last, int64_t step)
{
	struct reader *reader = check_open_reader(path);

	for (int64_t id = first; id <= last; id += step)
		check_sweep(reader, model, id);
	reader_close(reader);
}

int64_t check_range(const struct model *model, int64_t at_us, int64_t window_us, int64_t *ret_after)
{
	int64_t id = 0;

	for (size_t i = 0; i < model->sweep_count; i++)
		if (model->sweeps[i].wall_us <= at_us &&
		    (!id || model->sweeps[i].wall_us >= model->sweeps[id - 1].wall_us))
			id = (int64_t)i + 1;
	*ret_after = id - 1;
	if (window_us > 0)
		for (*ret_after = id; *ret_after && model->sweeps[*ret_after - 1].wall_us > at_us - window_us;)
			(*ret_after)--;
	return id;
}

void check_window(struct reader *reader, const struct model *model, int64_t at_us, int64_t window_us)
{
	struct snapshot_query query = { .at_us = at_us, .window_us = window_us, .absolute = true };
	struct snapshot *snapshot = NULL;
	struct error err = { 0 };
	int64_t after, id = check_range(model, at_us, window_us, &after);

	if (snapshot_load(reader, &query, &snapshot, &err) < 0) {
		if (id)
			fail_msg("%s", err.text);
		assert_int_equal(err.code, ERR_UNAVAILABLE);
		return;
	}
	check_snapshot(snapshot, model, after, id);
	check_one_reading(reader, snapshot);
	snapshot_destroy(snapshot);
}

/* Of the sweeps of the last 10 minutes before the newest, of which only the newest ones may still be stored. */
static void check_resets(const struct model *model, size_t port, const struct restored_port *back)
{
	uint8_t most = 0, least = 0;
	int64_t last_us = 0;

	for (size_t i = model->sweep_count; model->keep_history && i-- > 0;) {
		const struct model_truth *truth = &model->sweeps[i].truth[port];

		if (model->sweeps[i].wall_us <= model->sweep.wall_us - 600 * US_PER_S || !truth->has_delta ||
		    !(truth->delta.reset & truth->delta.known) || most == 2)
			continue;
		last_us = most++ ? last_us : model->sweeps[i].wall_us;
		least += i + 3 >= model->sweep_count;
	}
	if (!model->keep_history)
		return;
	assert_in_range(back->resets, least, most);
	assert_true(!least || back->reset_wall_us == last_us);
}

void check_restore(struct writer *writer, const struct model *model)
{
	const struct sink *sink = writer_sink(writer);
	struct restored restored = { 0 };
	struct error err = { 0 };
	size_t expected = 0;

	if (sink->restore(sink->ctx, &restored, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(restored.boot_id, model->sweep.boot_id);
	check_fabric(restored.fabric, model->sweeps[model->sweep_count - 1].fabric);
	for (size_t p = 0; p < model->port_count; p++) {
		const struct model_port *port = &model->ports[p];
		size_t found = 0;

		expected += port->has_last;
		for (size_t i = 0; i < restored.port_count; i++) {
			const struct restored_port *back = &restored.ports[i];
			struct reading given = port->last;

			if (back->port != port->num || back->node_guid != model->nodes[port->node].node.guid)
				continue;
			found++;
			check_resets(model, p, back);
			/* After a reboot, the time is converted by the wall clock. */
			given.at_us = port->last_at_us;
			if (port->last_boot != model->swept_boot)
				given.at_us = back->wall_us - model->sweep.wall_us + model->sweep.start_us;
			check_reading(&back->reading, &given);
			/* Responses arrive within 0.1 s of the start of the sweep. */
			assert_in_range(back->wall_us - port->last_wall_us, 0, 100000);
		}
		assert_int_equal(found, port->has_last);
	}
	assert_int_equal(restored.port_count, expected);
	check_restored_details(model, &restored);
	restored_done(&restored);
}

void check_integrity(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *row;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), "ok");
	sqlite3_finalize(row);
	sqlite3_close(db);
}

pid_t check_lock_in_child(const char *name, off_t start)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = start };
	char locked = 0;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		int fd = open(name, O_RDONLY);

		locked = fcntl(fd, F_SETLK, &lock) == 0;
		if (write(ends[1], &locked, 1) == 1)
			pause();
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &locked, 1), 1);
	assert_true(locked);
	close(ends[0]);
	return child;
}

void check_end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

void check_error_line(const struct error *err, const char *words)
{
	assert_null(strchr(err->text, '\n'));
	if (!strstr(err->text, words))
		fail_msg("\"%s\" does not contain \"%s\"", err->text, words);
}

size_t check_find_port(const struct model *model, uint64_t node_guid, int64_t num)
{
	for (size_t i = 0; i < model->port_count; i++)
		if (model->ports[i].num == num && model->nodes[model->ports[i].node].node.guid == node_guid)
			return i;
	fail_msg("0x%016llx/%lld is not a port of the model", (unsigned long long)node_guid, (long long)num);
	return 0;
}

bool check_any_header(void *ctx, const char *const *names, int count)
{
	(void)ctx;
	(void)names;
	return count > 0;
}

static bool discard_cells(void *ctx, const struct cell *cells, int count)
{
	(void)ctx;
	(void)cells;
	return count > 0;
}

int check_run_sql(struct reader *reader, const char *sql)
{
	const struct sql_consumer consumer = { .header = check_any_header, .row = discard_cells };

	return reader_sql(reader, sql, 0, &consumer, NULL);
}

int64_t check_first_kept(const char *path)
{
	return check_integer(path, "SELECT coalesce(max(to_sweep), 1) FROM chunk_window WHERE state = 2");
}

sqlite3 *check_open_second(const char *path)
{
	struct error err = { 0 };
	sqlite3 *db = NULL;

	if (schema_open_second(path, &db, &err) < 0)
		fail_msg("%s", err.text);
	return db;
}
