/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* push_test.c - encoding of remote write, cursor, counters after restarts */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/metrics/metrics_families.h"
#include "cli/push/push_encode.h"
#include "cli/push/push_state.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

/* Bytes by hand from the encoding of protocol buffers: 16 bytes of sample, 14 and 5 of labels. */
TEST(a_series_has_the_bytes_of_protocol_buffers)
{
	static const char expected[] = "\x0a\x29"
		"\x0a\x0e\x0a\x08__name__\x12\x02up"
		"\x0a\x05\x0a\x01" "a\x12\x00"
		"\x12\x10\x09\x00\x00\x00\x00\x00\x00\xf8\x3f\x10\x80\x97\xc3\x83\xfc\x33";
	struct text name = { 0 }, labels = { 0 }, request = { 0 };

	push_label_append(&name, "__name__", 8, "up", 2);
	push_label_append(&labels, "a", 1, "", 0);
	push_series_append(&request, (struct push_bytes){ name.chars, name.len },
			   (struct push_bytes){ labels.chars, labels.len }, 1.5, INT64_C(1785640045440));
	if (request.len != sizeof(expected) - 1 || memcmp(request.chars, expected, request.len) != 0) {
		for (size_t i = 0; i < request.len; i++)
			print_message("%02x ", (unsigned char)request.chars[i]);
		fail();
	}
	text_done(&name);
	text_done(&labels);
	text_done(&request);
}

TEST(labels_are_sorted_unescaped_and_not_replaced_by_external_ones)
{
	static const char expected[] = "\x0a\x09\x0a\x01" "a\x12\x04" "x\"\\\n"
		"\x0a\x07\x0a\x02" "aB\x12\x01" "2"
		"\x0a\x09\x0a\x04node\x12\x01n";
	struct text labels = { 0 }, external = { 0 }, encoded = { 0 };

	metrics_label(&labels, "node", "n");
	metrics_label(&labels, "empty", "");
	metrics_label(&labels, "a", "x\"\\\n");
	metrics_label(&external, "node", "other");
	metrics_label(&external, "aB", "2");
	push_labels_encode(text_chars(&labels), text_chars(&external), &encoded);
	assert_int_equal(encoded.len, sizeof(expected) - 1);
	assert_memory_equal(encoded.chars, expected, encoded.len);
	text_done(&labels);
	text_done(&external);
	text_done(&encoded);
}

static void open_state(struct push_state *state, int expected)
{
	struct error err = { 0 };
	int code = push_state_open(state, "cursor", &err);

	if (code != expected)
		fail_msg("%d instead of %d: %s", code, expected, err.text);
}

TEST_IN_FOLDER(a_damaged_cursor_is_an_error_and_a_locked_one_too)
{
	static const char *const damaged[] = {
		"", "ibwire push 1\n", "ibwire push 2\norigin 1 5\nacknowledged 2 6\n",
		"ibwire push 1\norigin 1 5\nacknowledged 2\n", "ibwire push 1\norigin 1 5\nacknowledged 2 6",
		"ibwire push 1\norigin 1 5\nacknowledged 2 6\nmore\n", "ibwire push 1\norigin 3 5\nacknowledged 2 6\n",
		"ibwire push 1\norigin -1 5\nacknowledged 2 6\n", "ibwire push 1\norigin x 5\nacknowledged 2 6\n",
	};
	struct push_state cursor, other;

	assert_int_equal(chdir(folder), 0);
	open_state(&cursor, 0);
	assert_int_equal(cursor.origin.id, 0);
	assert_int_equal(push_state_begin(&cursor, (struct push_sweep){ 7, 1000 }, NULL), 0);
	cursor.acknowledged = (struct push_sweep){ 9, 3000 };
	assert_int_equal(push_state_save(&cursor, NULL), 0);
	open_state(&other, ERR_UNAVAILABLE);
	push_state_close(&other);
	push_state_close(&cursor);
	open_state(&cursor, 0);
	assert_int_equal(cursor.origin.id, 7);
	assert_int_equal(cursor.acknowledged.id, 9);
	assert_int_equal(cursor.acknowledged.wall_us, 3000);
	push_state_close(&cursor);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		test_file_write("cursor", damaged[i], strlen(damaged[i]));
		open_state(&cursor, ERR_IO);
		push_state_close(&cursor);
	}
	assert_int_equal(chdir("/"), 0);
}

static void check_counters(const struct push_state *state, const struct push_state *expected)
{
	size_t known = 0;

	assert_int_equal(state->port_count, expected->port_count);
	for (size_t i = 0; i < expected->port_count; i++) {
		const struct push_port *want = &expected->ports[i];
		const struct push_port *got = state->ports;

		while (got->node_guid != want->node_guid || got->num != want->num)
			assert_true(++got < state->ports + state->port_count);
		assert_true(got->counters.known == want->counters.known);
		assert_memory_equal(got->counters.value, want->counters.value, sizeof(want->counters.value));
		known += want->counters.known != 0;
	}
	assert_true(known > 10);
}

/* The acknowledged sweep is @id, and the counters are summed up to it. */
static bool restore_at(struct push_state *state, struct reader *reader, int64_t id)
{
	struct error err = { 0 };
	bool complete;

	state->acknowledged = (struct push_sweep){ id, 1000 * id };
	if (push_state_restore(state, reader, &complete, &err) < 0)
		fail_msg("%s", err.text);
	return complete;
}

/* Links and nodes disappear, counters are reset, saturate and change their width, the host reboots. */
TEST_IN_FOLDER(counters_after_a_restart_are_the_sum_of_the_deltas_since_the_origin)
{
	struct model *model = model_create(11, 4, 8, 8);
	struct writer *writer = check_open_writer(path);
	struct push_state expected = { .lock_fd = -1 }, cursor;
	struct reader *reader;
	char *bytes;
	size_t len;
	uint32_t at;

	for (int id = 1; id <= 60; id++) {
		check_store(writer, model_step(model));
		for (size_t i = 0; id > 2 && i < model->sweep.sample_count; i++) {
			const struct port_sample *sample = &model->sweep.samples[i];
			const struct port *port = &model->sweep.fabric->ports[sample->port];

			if (!sample->delta)
				continue;
			assert_true(push_state_port(&expected, model->sweep.fabric->nodes[port->node].guid, port->num,
						    &at));
			push_counters_add(&expected.ports[at].counters, sample->delta);
		}
	}
	reader = check_open_reader(path);
	assert_int_equal(chdir(folder), 0);
	open_state(&cursor, 0);
	assert_int_equal(push_state_begin(&cursor, (struct push_sweep){ 2, 2000 }, NULL), 0);
	assert_true(restore_at(&cursor, reader, 60));
	check_counters(&cursor, &expected);
	/* From stored counters of an earlier sweep. */
	assert_true(restore_at(&cursor, reader, 33));
	assert_int_equal(push_state_store(&cursor, NULL), 0);
	assert_true(restore_at(&cursor, reader, 60));
	assert_int_equal(cursor.stored.id, 33);
	check_counters(&cursor, &expected);
	/* A damaged file of them is as none. */
	bytes = test_file_read("cursor.counters", &len);
	bytes[len / 2] ^= 1;
	test_file_write("cursor.counters", bytes, len);
	assert_true(restore_at(&cursor, reader, 60));
	assert_int_equal(cursor.stored.id, 2);
	check_counters(&cursor, &expected);
	test_file_write("cursor.counters", bytes, len / 3);
	assert_true(restore_at(&cursor, reader, 60));
	check_counters(&cursor, &expected);
	free(bytes);
	/* The database has no sweep 61: the counters begin again. */
	assert_false(restore_at(&cursor, reader, 61));
	assert_int_equal(cursor.port_count, 0);
	assert_int_equal(cursor.origin.id, 61);
	assert_int_equal(chdir("/"), 0);
	push_state_close(&cursor);
	push_state_close(&expected);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}
