/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* firmware_test.c - firmware of nodes as it was known at any time, imported or read, and in snapshots */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { SWEEPS = 60, NODES_MOST = 64 };

/* What was known of each node after each sweep, written without a look at the database. */
struct known {
	bool there;
	unsigned version, psid; /* psid 0: unknown */
	int64_t at_us;
};

struct bed {
	struct model *model;
	struct known now[NODES_MOST], was[SWEEPS + 1][NODES_MOST];
	int64_t wall_us[SWEEPS + 1];
	uint64_t random;
	unsigned sweep, changes;
};

static uint32_t below(struct bed *bed, uint32_t limit)
{
	bed->random = map_mix(bed->random + UINT64_C(0x9e3779b97f4a7c15));
	return (uint32_t)(bed->random % limit);
}

static struct node_firmware make(const struct bed *bed, unsigned node, const struct known *known)
{
	struct node_firmware one = {
		.node_guid = bed->model->nodes[node].node.guid,
		.firmware = { .major = 28, .minor = 39, .sub_minor = known->version, .source = FIRMWARE_IMPORTED,
			      .at_us = known->at_us },
	};

	if (known->psid)
		snprintf(one.firmware.psid, sizeof(one.firmware.psid), "MT_%010u", known->psid);
	return one;
}

/* An import of some nodes, one of them unknown, as of a time that may be long ago. */
static void import(struct bed *bed, struct saved_writer *writer)
{
	struct node_firmware list[NODES_MOST + 1];
	struct saved_firmware_counts counts, wanted = { .unknown = 1 };
	int64_t at_us = bed->wall_us[bed->sweep] - (int64_t)below(bed, 20) * 10000000;
	size_t count = 0;

	for (unsigned i = 0; i < bed->model->node_count; i++) {
		struct known *now = &bed->now[i], new = { true, below(bed, 3), below(bed, 4), at_us };

		if (below(bed, 2))
			continue;
		new.psid = new.psid ? 1 : 0;
		list[count++] = make(bed, i, &new);
		if (!now->there) {
			wanted.first++;
			*now = new;
		} else if (now->version != new.version && new.at_us < now->at_us) {
			wanted.older++;
		} else if (now->version != new.version) {
			wanted.changed++;
			bed->changes++;
			*now = new;
		} else if (new.psid && !now->psid) {
			wanted.changed++;
			now->psid = new.psid;
		} else {
			wanted.same++;
		}
	}
	list[count++] = (struct node_firmware){ 0xdead, { .source = FIRMWARE_IMPORTED, .at_us = at_us } };
	assert_int_equal(saved_import_firmware(writer, list, count, &counts, NULL), 0);
	assert_memory_equal(&counts, &wanted, sizeof(counts));
}

static void check_node(const struct bed *bed, const struct known *known, unsigned index, const struct node *node)
{
	struct node_firmware wanted = make(bed, index, known);

	assert_int_equal(node->firmware.source, known->there ? FIRMWARE_IMPORTED : FIRMWARE_UNKNOWN);
	if (!known->there)
		return;
	assert_int_equal(firmware_compare(&node->firmware, &wanted.firmware), 0);
	assert_string_equal(node->firmware.psid, wanted.firmware.psid);
	assert_int_equal(node->firmware.at_us, known->at_us);
}

/* The fabric of each sweep has what was known then. */
static void check_past(const struct bed *bed, struct reader *reader)
{
	for (unsigned sweep = 1; sweep <= bed->sweep; sweep++) {
		struct snapshot_query query = { .at_us = bed->wall_us[sweep], .fabric_only = true };
		struct snapshot *snapshot;
		struct error err = { 0 };

		if (snapshot_load(reader, &query, &snapshot, &err) < 0)
			fail_msg("%s", err.text);
		for (unsigned i = 0; i < bed->model->node_count; i++) {
			uint32_t at = fabric_find_node(snapshot->fabric, bed->model->nodes[i].node.guid);

			if (at != FABRIC_NONE)
				check_node(bed, &bed->was[sweep][i], i, &snapshot->fabric->nodes[at]);
		}
		snapshot_destroy(snapshot);
	}
}

TEST_IN_FOLDER(imports_are_known_from_their_sweep_on)
{
	for (uint64_t seed = 0; seed < test_cases(4); seed++) {
		struct bed bed = { .model = model_create(seed, 3, 6, 6), .random = seed };
		struct saved_writer *importer;
		struct writer *writer;
		struct reader *reader;

		test_folder_renew();
		writer = check_open_writer(path);
		importer = check_open_saved(path);
		reader = NULL;
		bed.model->calm = seed % 2;
		while (bed.sweep < SWEEPS) {
			struct sweep sweep = *model_step(bed.model);

			sweep.wall_us = INT64_C(1795183200000000) + bed.sweep * INT64_C(10000000);
			check_store(writer, &sweep);
			bed.wall_us[++bed.sweep] = sweep.wall_us;
			if (below(&bed, 4) == 0)
				import(&bed, importer);
			memcpy(bed.was[bed.sweep], bed.now, sizeof(bed.now));
			if (!reader)
				reader = check_open_reader(path);
			if (bed.sweep % 20 == 0)
				check_past(&bed, reader);
		}
		assert_true(bed.changes > 20);
		assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'firmware-changed'"),
				 bed.changes);
		assert_int_equal(check_integer(path, "SELECT count(*) FROM nodes WHERE firmware NOT NULL"),
				 check_integer(path, "SELECT count(*) FROM firmware f JOIN node_version v ON"
					       " v.node = f.node WHERE f.to_sweep IS NULL AND v.to_sweep IS NULL"));
		reader_close(reader);
		saved_writer_close(importer);
		writer_close(writer);
		check_sound(path);
		model_destroy(bed.model);
	}
}

TEST_IN_FOLDER(an_import_needs_a_sweep)
{
	struct saved_writer *importer = check_open_saved(path);
	struct saved_firmware_counts counts;
	struct error err = { 0 };

	assert_int_equal(saved_import_firmware(importer, NULL, 0, &counts, &err), ERR_UNAVAILABLE);
	check_error_line(&err, "start a collector first");
	saved_writer_close(importer);
}

static bool keep_id(void *ctx, const struct saved_info *info)
{
	*(int64_t *)ctx = info->id;
	return true;
}

/* A snapshot keeps what was known when it was taken, also when the database knows more. */
TEST_IN_FOLDER(a_snapshot_has_the_firmware_of_its_time)
{
	struct bed bed = { .model = model_create(7, 2, 6, 6), .random = 7 };
	const struct saved_label label = { .name = "before", .slow = true };
	struct saved_writer *importer;
	struct saved *saved;
	struct writer *writer = check_open_writer(path);
	struct reader *reader;
	const struct sweep *sweep;
	struct known then[NODES_MOST];
	int64_t id = 0;

	bed.model->calm = true;
	sweep = model_step(bed.model);
	check_store(writer, sweep);
	bed.wall_us[0] = sweep->wall_us;
	importer = check_open_saved(path);
	import(&bed, importer);
	memcpy(then, bed.now, sizeof(then));
	assert_int_equal(saved_write(importer, &label, sweep, NULL), 0);
	for (int i = 0; i < 5; i++)
		import(&bed, importer);
	reader = check_open_reader(path);
	assert_int_equal(saved_list(reader, keep_id, &id, NULL), 0);
	assert_int_equal(saved_load(reader, id, NULL, &saved, NULL), 0);
	for (unsigned i = 0; i < bed.model->node_count; i++)
		check_node(&bed, &then[i], i, &saved->fabric->nodes[fabric_find_node(saved->fabric,
										     bed.model->nodes[i].node.guid)]);
	saved_destroy(saved);
	reader_close(reader);
	assert_int_equal(saved_remove(importer, "before", NULL), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot_firmware"), 0);
	saved_writer_close(importer);
	writer_close(writer);
	check_sound(path);
	model_destroy(bed.model);
}

/* A collector stores what it reads, learns what another process imports, and gets both back when it starts again. */
TEST_IN_FOLDER(a_collector_learns_of_imports)
{
	struct model *model = model_create(9, 2, 6, 6);
	struct writer *writer = check_open_writer(path);
	const struct sink *sink = writer_sink(writer);
	struct node_firmware read = { .firmware = {
		.source = FIRMWARE_READ, .major = 28, .minor = 39, .sub_minor = 1002, .at_us = 5000000,
		.built = 20231130, .psid = "MT_0000000838" } };
	struct node_firmware imported = read;
	struct saved_firmware_counts counts;
	const struct node_firmware *list;
	struct restored restored = { 0 };
	struct saved_writer *importer;
	const struct sweep *sweep;
	size_t count = 7;

	model->calm = true;
	sweep = model_step(model);
	check_store(writer, sweep);
	assert_int_equal(sink->restore(sink->ctx, &restored, NULL), 0);
	assert_int_equal(restored.firmware_count, 0);
	restored_done(&restored);
	read.node_guid = sweep->fabric->nodes[0].guid;
	imported.node_guid = sweep->fabric->nodes[1].guid;
	imported.firmware.source = FIRMWARE_IMPORTED;
	assert_int_equal(sink->store_firmware(sink->ctx, &read, 1, NULL), 0);
	sink->imported_firmware(sink->ctx, &count);
	assert_null(sink->imported_firmware(sink->ctx, &count));
	importer = check_open_saved(path);
	assert_int_equal(saved_import_firmware(importer, &imported, 1, &counts, NULL), 0);
	assert_int_equal(counts.first, 1);
	list = sink->imported_firmware(sink->ctx, &count);
	assert_non_null(list);
	assert_int_equal(count, 1);
	assert_int_equal(list->node_guid, imported.node_guid);
	assert_true(firmware_same(&list->firmware, &imported.firmware));
	assert_null(sink->imported_firmware(sink->ctx, &count));
	/* What is read is newer than any import; an import of an earlier time does not replace it. */
	imported.node_guid = read.node_guid;
	imported.firmware.sub_minor = 1;
	imported.firmware.at_us = 4000000;
	assert_int_equal(saved_import_firmware(importer, &imported, 1, &counts, NULL), 0);
	assert_int_equal(counts.older, 1);
	saved_writer_close(importer);
	writer_close(writer);

	writer = check_open_writer(path);
	sink = writer_sink(writer);
	assert_int_equal(sink->restore(sink->ctx, &restored, NULL), 0);
	assert_int_equal(restored.firmware_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(restored.firmware[i].firmware.source,
				 restored.firmware[i].node_guid == read.node_guid ? FIRMWARE_READ : FIRMWARE_IMPORTED);
	restored_done(&restored);
	/* Without the option, what was read is not known any more. */
	read.firmware.source = FIRMWARE_UNKNOWN;
	assert_int_equal(sink->store_firmware(sink->ctx, &read, 1, NULL), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM firmware WHERE to_sweep IS NULL"), 1);
	writer_close(writer);
	check_sound(path);
	model_destroy(model);
}
