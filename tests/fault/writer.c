/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The writer in fault_test.c: what the model stores, compared with it after a fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "collector/sink.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_history.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"
#include "tests/fault/bodies.h"
#include "tests/fault/inject.h"
#include "tests/fault/points.h"

enum { SEED = 5, WINDOW = 5 };

static const struct writer_retention retention = { .raw_us = 2000 * US_PER_S, .sums_us = 6000 * US_PER_S,
						   .hours_us = 7000 * US_PER_S, .window_sweeps = WINDOW };
struct writer *fault_writer;
static struct model *given;  /* what the child stores next; it has a copy */
static struct model *truth;  /* the same after the child's sweeps */
static char *stored;         /* the database before the child's sweeps; NULL: there is none */
static size_t stored_len;

static const struct sweep *step(struct model *of)
{
	if (of->sweep_count % 6 == 4)
		model_jump(of, 1500 * US_PER_S);
	return model_step(of);
}

static const struct sweep *step_given(void)
{
	const struct sweep *sweep;

	fault_pause();
	sweep = step(given);
	fault_resume();
	return sweep;
}

struct writer *fault_open_again(void)
{
	struct writer *writer = NULL;
	struct error err = { 0 };

	while (fault_again(writer_open(path, &writer, &err), &err))
		;
	writer_set_retention(writer, &retention);
	return writer;
}

static void store_again(struct writer *writer, const struct sweep *sweep)
{
	struct error err = { 0 };

	while (fault_again(writer_sink(writer)->store(writer_sink(writer)->ctx, sweep, &err), &err))
		;
}

void fault_ingest(void *name)
{
	struct writer *writer = fault_open_again();

	(void)name;
	for (size_t left = truth->sweep_count - given->sweep_count; left; left--) {
		struct restored restored = { 0 };
		struct error err = { 0 };

		if (left == 2) {
			writer_close(writer);
			writer = fault_open_again();
			while (fault_again(writer_sink(writer)->restore(writer_sink(writer)->ctx, &restored, &err),
					   &err)) {
				restored_done(&restored);
				memset(&restored, 0, sizeof(restored));
			}
			restored_done(&restored);
		}
		store_again(writer, step_given());
	}
	writer_close(writer);
}

void fault_take_snapshot(void *name)
{
	static const struct saved_label label = { .name = "s", .slow = true };
	struct saved_writer *writer = NULL;
	struct error err = { 0 };

	(void)name;
	while (fault_again(saved_writer_open(path, &writer, &err), &err))
		;
	while (fault_again(saved_write(writer, &label, &given->sweep, &err), &err))
		;
	while (fault_again(saved_remove(writer, "old", &err), &err))
		;
	saved_writer_close(writer);
}

void fault_renew_stored(void)
{
	fault_renew(stored, stored_len);
}

const char *fault_check_stored(bool failed)
{
	struct reader *reader;
	int64_t first;

	if (fault_was_checked(failed))
		return NULL;
	check_sound(path);
	reader = check_open_reader(path);
	first = check_integer(path, "SELECT coalesce(max(to_sweep), 1) FROM chunk_window WHERE state = 2");
	for (int64_t id = (int64_t)truth->sweep_count; id >= first; id--)
		check_sweep(reader, truth, id);
	reader_close(reader);
	return NULL;
}

const char *fault_check_snapshots(bool failed)
{
	if (check_integer(path, "SELECT count(*) != 1 OR max(name) != 's' OR NOT max(complete) FROM snapshot") ||
	    check_integer(path, "SELECT count(DISTINCT snapshot) != 1 FROM snapshot_port"))
		return "wrong snapshots";
	return fault_check_stored(failed);
}

void fault_try_writer(const struct fault_case *tried, size_t before, size_t after, const char *change,
		      const char *class, const char *result)
{
	unlink(path);
	given = model_create(SEED, 2, 4, 3);
	truth = model_create(SEED, 2, 4, 3);
	truth->keep_history = true;
	if (before) {
		struct writer *writer = check_open_writer(path);
		struct saved_writer *saved;

		writer_set_retention(writer, &retention);
		for (size_t i = 0; i < before; i++)
			check_store(writer, step(given));
		writer_close(writer);
		saved = check_open_saved(path);
		assert_int_equal(saved_write(saved, &(struct saved_label){ .name = "old" }, &given->sweep, NULL), 0);
		saved_writer_close(saved);
		check_change(path, change);
		stored = test_file_read(path, &stored_len);
	}
	while (truth->sweep_count < after)
		step(truth);
	fault_try_cases(tried, 1, class, result);
}

int fault_writer_done(void **state)
{
	writer_close(fault_writer);
	fault_writer = NULL;
	free(stored);
	stored = NULL;
	model_destroy(given);
	model_destroy(truth);
	given = truth = NULL;
	return fault_name_point(state);
}
