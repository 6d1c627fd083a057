/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* copy_test.c - backups and exports have the content of the original; an anonymised one identifies nothing */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "storage/admin.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static char copy[96];

static int set_up(void **state)
{
	test_folder_make(state);
	snprintf(copy, sizeof(copy), "%s/copy.db", folder);
	return 0;
}

static struct export_summary export_to(const char *to, const struct export_query *query)
{
	struct export_summary summary;
	struct error err = { 0 };

	if (admin_export(path, to, query, &summary, &err) < 0)
		fail_msg("%s", err.text);
	check_sound(to);
	return summary;
}

TEST_WITH(a_full_export_has_the_same_content, set_up, test_folder_remove)
{
	const struct export_query everything = { 0 };
	struct model *model = test_history_store(3, 130);
	struct export_summary summary = export_to(copy, &everything);

	assert_int_equal(summary.sweeps, 130);
	assert_int_equal(summary.since_us, model->sweeps[0].wall_us);
	check_same_content(path, copy);
	model_destroy(model);
}

static void check_part(uint64_t seed)
{
	struct model *model = test_history_store(seed, 150);
	const struct export_query query = { .since_us = model->sweeps[60].wall_us,
					    .until_us = model->sweeps[99].wall_us };
	struct snapshot_query before = { 0 };
	struct snapshot *snapshot;
	struct reader *reader;
	struct writer *writer;
	struct error err = { 0 };
	int64_t first, last;

	export_to(copy, &query);
	first = check_integer(copy, "SELECT min(id) FROM sweep");
	last = check_integer(copy, "SELECT max(id) FROM sweep");
	assert_true(first <= 61 && last >= 100);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM event WHERE sweep NOT IN (SELECT id FROM sweep)"),
			 0);
	check_sweeps(copy, model, first, last, 1);
	reader = check_open_reader(copy);
	before.at_us = model->sweeps[first - 1].wall_us - 1;
	assert_int_equal(snapshot_load(reader, &before, &snapshot, &err), ERR_UNAVAILABLE);
	reader_close(reader);
	/* A collector can continue with it: ids have no holes. */
	writer = check_open_writer(copy);
	writer_close(writer);
	check_sound(copy);
	model_destroy(model);
}

TEST_WITH(a_part_has_its_sweeps_and_no_others, set_up, test_folder_remove)
{
	for (uint64_t seed = 4; seed < 4 + test_cases(4); seed++) {
		check_part(seed);
		test_folder_remove(NULL);
		set_up(NULL);
	}
}

/* After old data has expired. */
TEST_WITH(a_history_with_expired_data_is_exported, set_up, test_folder_remove)
{
	const struct writer_retention retention = { .raw_us = INT64_C(3600000000), .sums_us = INT64_C(7200000000),
					  .window_sweeps = 5 };
	const struct export_query everything = { 0 };
	struct model *model = model_create(21, 4, 10, 12);
	struct writer *writer = check_open_writer(path);
	int64_t last;

	model->keep_history = true;
	writer_set_retention(writer, &retention);
	for (int i = 0; i < 300; i++) {
		if (i % 20 == 19)
			model_jump(model, 600000000);
		check_store(writer, model_step(model));
		if (i % 50 == 49) {
			writer_close(writer);
			writer = check_open_writer(path);
			writer_set_retention(writer, &retention);
		}
	}
	writer_close(writer);
	check_sound(path);
	last = check_integer(path, "SELECT max(id) FROM sweep");
	assert_true(check_integer(path, "SELECT coalesce(max(to_sweep), 0) FROM chunk_window WHERE state = 2") > 50);
	export_to(copy, &everything);
	check_same_content(path, copy);
	check_sweeps(copy, model, last - 20, last, 1);
	model_destroy(model);
}

static bool holds_guid(const char *bytes, size_t len, uint64_t guid)
{
	unsigned char big_endian[8];
	char digits[24];

	for (int i = 0; i < 8; i++)
		big_endian[i] = (unsigned char)(guid >> (56 - 8 * i));
	snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)guid);
	return memmem(bytes, len, big_endian, 8) || memmem(bytes, len, digits, 16);
}

/* Shorter names may be in a file by chance. */
enum { NAME_LEAST = 6 };

static bool holds_node(const char *bytes, size_t len, const struct node *node)
{
	size_t name = strnlen(node->desc, NODE_DESC_SIZE);

	if (name >= NAME_LEAST && memmem(bytes, len, node->desc, name))
		return true;
	if (strlen(node->name) >= NAME_LEAST && memmem(bytes, len, node->name, strlen(node->name)))
		return true;
	return holds_guid(bytes, len, node->guid) || holds_guid(bytes, len, node->system_guid);
}

/* Is this node unchanged since the previous fabric? Most are, and each search reads the whole file. */
static bool is_known(const struct fabric *before, const struct node *node)
{
	uint32_t known = before ? fabric_find_node(before, node->guid) : FABRIC_NONE;

	return known != FABRIC_NONE && before->nodes[known].system_guid == node->system_guid &&
	       !strcmp(before->nodes[known].desc, node->desc) && !strcmp(before->nodes[known].name, node->name);
}

static bool is_known_port(const struct fabric *before, uint64_t guid)
{
	for (size_t i = 0; before && i < before->port_count; i++)
		if (before->ports[i].guid == guid)
			return true;
	return false;
}

/* Does a file contain a name or GUID of the history? */
static bool has_identities(const char *of, const struct model *model)
{
	size_t len;
	char *bytes = test_file_read(of, &len);
	bool found = memmem(bytes, len, model->boot_id, strlen(model->boot_id)) != NULL;

	for (size_t f = 0; !found && f < model->fabric_count; f++) {
		const struct fabric *fabric = model->fabrics[f], *before = f ? model->fabrics[f - 1] : NULL;

		for (size_t i = 0; !found && i < fabric->node_count; i++)
			found = !is_known(before, &fabric->nodes[i]) && holds_node(bytes, len, &fabric->nodes[i]);
		for (size_t i = 0; !found && i < fabric->port_count; i++)
			found = fabric->ports[i].guid > UINT32_MAX && !is_known_port(before, fabric->ports[i].guid) &&
				holds_guid(bytes, len, fabric->ports[i].guid);
	}
	free(bytes);
	return found;
}

/* Jobs keep their numbers and which of them have the same name; a part has those that ran at its time. */
TEST_WITH(an_anonymised_export_has_jobs_without_texts, set_up, test_folder_remove)
{
	const struct export_query all = { .anonymise = true };
	struct export_query late = { .since_us = 1 };
	struct model *model = test_history_store(9, 90);
	char part[112];

	check_change(path, "INSERT INTO job (id, name, hosts, command, begin_us, begin_boot_us, begin_boot_id,"
		     " end_us, end_boot_us, end_boot_id, ending, ended_by, cluster, user, account, partition)"
		     " VALUES"
		     " ('secret1', 'secret', 'secret[1-9]', 'secret -x', 5, 5, 'secret boot', 9, 9, 'secret boot', 2,"
		     " 'secret2', 'secret', 'secret', 'secret', 'secret'),"
		     " ('secret2', 'secret', '', '', 9, 9, 'secret boot', NULL, NULL, NULL, 0, NULL, 'secret 2',"
		     " NULL, NULL, NULL),"
		     " ('secret1', '', 'secret3', '', 9, 9, 'secret boot', NULL, NULL, NULL, 0, NULL, 'secret',"
		     " 'secret', NULL, NULL)");
	export_to(copy, &all);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM job WHERE id || name || hosts || command ||"
				       " begin_boot_id || coalesce(end_boot_id || ended_by, '') ||"
				       " coalesce(cluster, '') || coalesce(user || account || partition, '')"
				       " LIKE '%secret%'"), 0);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM job WHERE cluster || user = 'cluster-1user-1'"), 2);
	assert_int_equal(check_integer(copy, "SELECT user IS NULL FROM job WHERE cluster = 'cluster-2'"), 1);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM job WHERE begin_boot_id <> ''"), 3);
	assert_int_equal(check_integer(copy, "SELECT count(DISTINCT id) FROM job"), 2);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM job WHERE name = 'name-1'"), 2);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM job WHERE hosts = ''"), 1);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM job WHERE ended_by = 'job-2'"), 1);
	late.since_us = model->sweeps[0].wall_us;
	snprintf(part, sizeof(part), "%s/part.db", folder);
	export_to(part, &late);
	assert_int_equal(check_integer(part, "SELECT count(*) FROM job"), 2);
	model_destroy(model);
}

TEST_WITH(an_anonymised_export_identifies_nothing, set_up, test_folder_remove)
{
	const struct export_query anonymised = { .anonymise = true }, plain = { 0 };
	char named[112];

	for (uint64_t seed = 10; seed < 10 + test_cases(4); seed++) {
		struct model *model = test_history_store(seed, 90);

		snprintf(named, sizeof(named), "%s/named.db", folder);
		export_to(copy, &anonymised);
		export_to(named, &plain);
		assert_false(has_identities(copy, model));
		assert_true(has_identities(named, model)); /* the search works */
		assert_int_equal(check_integer(copy, "SELECT count(DISTINCT guid) FROM node"),
				 check_integer(path, "SELECT count(DISTINCT guid) FROM node"));
		assert_int_equal(check_integer(copy, "SELECT count(DISTINCT name) FROM node_version"),
				 check_integer(path, "SELECT count(DISTINCT name) FROM node_version"));
		model_destroy(model);
		test_folder_remove(NULL);
		set_up(NULL);
	}
}

TEST_WITH(a_backup_during_writes_is_of_one_state, set_up, test_folder_remove)
{
	struct model *model = model_create(8, 4, 10, 12);
	struct writer *writer;
	struct error err = { 0 };
	int64_t bytes = 0;
	pid_t writing;
	int status;

	model->keep_history = true;
	writer = check_open_writer(path);
	check_store(writer, model_step(model));
	writer_close(writer);
	model_destroy(model);
	writing = fork();
	assert_true(writing >= 0);
	if (!writing) {
		struct model *same = model_create(8, 4, 10, 12);

		same->keep_history = true;
		if (writer_open(path, &writer, NULL) < 0)
			_exit(1);
		model_step(same);
		for (int i = 0; i < 200; i++)
			if (writer_sink(writer)->store(writer_sink(writer)->ctx, model_step(same), NULL) < 0)
				_exit(2);
		_exit(0);
	}
	for (int i = 0; i < 10; i++) {
		char name[112];

		usleep(20000);
		snprintf(name, sizeof(name), "%s.%d", copy, i);
		if (admin_backup(path, name, &bytes, &err) < 0)
			fail_msg("%s", err.text);
		check_sound(name);
	}
	waitpid(writing, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(admin_backup(path, copy, &bytes, NULL), 0);
	check_same_content(path, copy);
	model = model_create(8, 4, 10, 12);
	model->keep_history = true;
	for (int i = 0; i < 201; i++)
		model_step(model);
	check_sweeps(copy, model, 1, 201, 20);
	model_destroy(model);
}

TEST_WITH(nothing_is_overwritten_and_nothing_partial_remains, set_up, test_folder_remove)
{
	struct model *model = test_history_store(15, 5);
	const struct export_query everything = { 0 }, never = { .until_us = 1 };
	struct export_summary summary;
	struct error err = { 0 };
	char nowhere[128];
	int64_t bytes;

	assert_int_equal(admin_backup(path, path, &bytes, &err), ERR_IO);
	assert_non_null(strstr(err.text, "already exists"));
	assert_int_equal(admin_backup(path, folder, &bytes, &err), ERR_IO);
	assert_int_equal(admin_export(path, folder, &everything, &summary, &err), ERR_IO);
	snprintf(nowhere, sizeof(nowhere), "%s/none/copy.db", folder);
	assert_int_equal(admin_backup(path, nowhere, &bytes, &err), ERR_IO);
	assert_non_null(strstr(err.text, "none/copy.db"));
	assert_int_equal(admin_backup("/nonexistent.db", copy, &bytes, &err), ERR_UNAVAILABLE);
	assert_int_equal(admin_export(path, copy, &never, &summary, &err), ERR_UNAVAILABLE);
	assert_int_equal(access(copy, F_OK), -1);
	snprintf(nowhere, sizeof(nowhere), "%s.part", copy);
	assert_int_equal(access(nowhere, F_OK), -1);
	model_destroy(model);
}
