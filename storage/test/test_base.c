/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric/routes.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { SWEEPS = 40, WINDOW = 4 };

static void store(struct writer *writer, struct model *model, int step)
{
	static struct finding findings[2];
	const struct finding *open[] = { &findings[0], &findings[1] };
	struct sweep sweep = *model_step(model);
	struct routes routes = { 0 };
	uint8_t ports[ROUTES_BLOCK] = { 1, 2, 3 };
	struct route_block block = { .node_guid = model->nodes[0].node.guid };

	for (int i = 0; i < 2; i++)
		findings[i] = (struct finding){
			.kind = (enum finding_kind)(i + 1), .node_guid = model->nodes[i].node.guid, .port = 1,
			.severity = FINDING_WARNING, .cause = "cable", .advice = "look", .subject = "here", .text = "x",
			.since_us = sweep.wall_us, .last_seen_us = sweep.wall_us, .number_count = 1,
			.numbers = { { "symbol_errors_per_hour", 1.5 } }, .host_count = 1, .affected_hosts = 1,
			.hosts = { "host" },
		};
	sweep.findings = open;
	sweep.finding_count = step % 10 < 5 ? 2 : 1;
	ports[3] = (uint8_t)step;
	routes_set_block(&routes, block.node_guid, 0, ports, NULL, NULL);
	sweep.routes = &routes;
	sweep.route_blocks = &block;
	sweep.route_block_count = step % 4 == 0;
	check_store(writer, &sweep);
	routes_done(&routes);
}

struct model *test_base_store(void)
{
	struct model *model = model_create(7, 2, 6, 3);
	struct writer *writer = check_open_writer_with(path, WINDOW);
	struct restored_caps caps = { .caps = { .known = true, .cap_mask = 0x1200, .resp_time = 9 } };
	struct saved_writer *saved;

	caps.node_guid = model->nodes[0].node.guid;
	for (int i = 0; i < SWEEPS; i++) {
		if (i % 10 == 9)
			model_jump(model, 1800000000);
		store(writer, model, i);
	}
	assert_int_equal(writer_sink(writer)->store_caps(writer, &caps, 1, NULL), 0);
	writer_close(writer);
	saved = check_open_saved(path);
	assert_int_equal(saved_write(saved, &(struct saved_label){ .name = "one" }, model_step(model), NULL), 0);
	assert_int_equal(saved_write(saved, &(struct saved_label){ .name = "two" }, model_step(model), NULL), 0);
	/* The first job has the snapshots, the second ran before them, the third is running. */
	check_change(path, "INSERT INTO job (id, name, hosts, command, begin_us, begin_boot_us, begin_boot_id,"
		     " begin_sweep, end_us, end_boot_us, end_boot_id, end_sweep, ending, ended_by, exit_status)"
		     " SELECT 1, 'a', '', 'x', b.wall_us, b.start_us, 'b', b.id, e.wall_us, e.start_us, 'b', e.id, 1,"
		     " NULL, 0 FROM sweep b, sweep e WHERE b.id = 40 AND e.id = (SELECT max(id) FROM sweep);"
		     " INSERT INTO job SELECT 2, 2, name, 'h[1-2]', '', begin_us, begin_boot_us, 'c', begin_sweep,"
		     " end_us, end_boot_us, 'd', end_sweep, 2, '3', NULL, 'alpha', 'u', 'v', 'w', NULL, 60000000 FROM"
		     " job;"
		     " INSERT INTO job SELECT 3, 3, '', '', '', begin_us, begin_boot_us, 'b', begin_sweep, NULL, NULL,"
		     " NULL, NULL, 0, NULL, NULL, 'alpha', 'u', NULL, NULL, NULL, NULL FROM job WHERE number ="
		     " 1");
	for (int end = 0; end < 2; end++)
		assert_int_equal(saved_write(saved, &(struct saved_label){ .name = end ? "job-1-end" : "job-1-begin" },
					     model_step(model), NULL), 0);
	saved_writer_close(saved);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 3);
	assert_true(check_integer(path, "SELECT count(*) FROM hour") > 0);
	return model;
}
