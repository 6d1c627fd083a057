/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_saved.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"

struct saved_writer *test_saved_open(void)
{
	struct saved_writer *writer = NULL;
	struct error err = { 0 };

	if (saved_writer_open(path, &writer, &err) < 0)
		fail_msg("%s", err.text);
	return writer;
}

void test_saved_save(struct saved_writer *writer, const char *name, const struct sweep *sweep)
{
	const struct saved_label label = { .name = name, .note = strcmp(name, "1") ? "a note" : NULL, .slow = true };
	struct error err = { 0 };

	if (saved_write(writer, &label, sweep, &err) < 0)
		fail_msg("%s", err.text);
}

static bool add_name(void *ctx, const struct saved_info *info)
{
	struct saved_names *names = ctx;

	names->ids[names->count] = info->id;
	snprintf(names->names[names->count++], SAVED_NAME_SIZE, "%s", info->name);
	return names->count < 64;
}

void test_saved_list(struct saved_names *ret)
{
	struct reader *reader = check_open_reader(path);

	ret->count = 0;
	assert_int_equal(saved_list(reader, add_name, ret, NULL), 0);
	reader_close(reader);
}

struct saved *test_saved_load(const char *name)
{
	struct reader *reader = check_open_reader(path);
	struct saved_names names = { 0 };
	struct saved *saved = NULL;
	struct error err = { 0 };
	size_t i;

	assert_int_equal(saved_list(reader, add_name, &names, NULL), 0);
	for (i = 0; i < names.count && strcmp(names.names[i], name); i++)
		;
	assert_true(i < names.count);
	if (saved_load(reader, names.ids[i], NULL, &saved, &err) < 0)
		fail_msg("%s", err.text);
	reader_close(reader);
	return saved;
}

static void check_detail(const struct full_reading *found, const struct detail_reading *given)
{
	const struct detail_reading *detail = &found->details[given->attribute];

	assert_int_equal(detail->present, given->present);
	if (given->attribute == DETAIL_EXTENDED_SPEEDS)
		assert_int_equal(detail->layout, given->layout);
	for (unsigned number = 0; number < detail_count((enum detail_attribute)given->attribute); number++)
		if (given->present >> number & 1)
			assert_int_equal(detail->value[number], given->value[number]);
}

static void check_sample(const struct saved *saved, const struct sweep *sweep, const struct port_sample *sample)
{
	const struct port *port = &sweep->fabric->ports[sample->port];
	uint32_t at = fabric_find_port(saved->fabric, sweep->fabric->nodes[port->node].guid, port->num);
	const struct full_reading *found = &saved->readings[at];

	assert_int_not_equal(at, FABRIC_NONE);
	assert_int_equal(saved->fabric->ports[at].state, port->state);
	assert_int_equal(found->status, sample->status);
	assert_int_equal(found->reading.present, sample->reading ? sample->reading->present : 0);
	for (int i = 0; sample->reading && i < COUNTER_COUNT; i++)
		if (sample->reading->present & COUNTER_BIT(i))
			assert_true(found->reading.value[i] == sample->reading->value[i]);
	if (sample->reading) {
		assert_int_equal(found->reading.at_us, sample->reading->at_us);
		assert_int_equal(found->reading.wide, sample->reading->wide);
	}
	if (port->peer != FABRIC_NONE && port_is_pollable(sweep->fabric, &sweep->fabric->ports[port->peer])) {
		const struct port *peer = &sweep->fabric->ports[port->peer];

		assert_int_equal(saved->fabric->ports[at].peer,
				 fabric_find_port(saved->fabric, sweep->fabric->nodes[peer->node].guid, peer->num));
	} else {
		assert_int_equal(saved->fabric->ports[at].peer, FABRIC_NONE);
	}
}

void test_saved_check(const char *name, const struct sweep *sweep)
{
	struct saved *saved = test_saved_load(name);

	assert_string_equal(saved->info.boot_id, sweep->boot_id);
	assert_int_equal(saved->info.wall_us, sweep->wall_us);
	assert_int_equal(saved->info.ports_answered, sweep->ports_answered);
	assert_string_equal(saved->info.note, strcmp(name, "1") ? "a note" : "");
	assert_int_equal(saved->fabric->port_count, sweep->sample_count);
	assert_int_equal(saved->fabric->node_count, sweep->fabric->node_count);
	for (size_t i = 0; i < sweep->fabric->node_count; i++) {
		assert_int_equal(saved->fabric->nodes[i].guid, sweep->fabric->nodes[i].guid);
		assert_string_equal(saved->fabric->nodes[i].name, sweep->fabric->nodes[i].name);
	}
	for (size_t i = 0; i < sweep->sample_count; i++)
		check_sample(saved, sweep, &sweep->samples[i]);
	for (size_t i = 0; i < sweep->detail_count; i++) {
		const struct detail_sample *detail = &sweep->details[i];
		const struct port *port = &sweep->fabric->ports[detail->port];
		uint32_t at = fabric_find_port(saved->fabric, sweep->fabric->nodes[port->node].guid, port->num);

		if (at != FABRIC_NONE && saved->readings[at].status == SAMPLE_OK)
			check_detail(&saved->readings[at], detail->reading);
	}
	saved_destroy(saved);
}
