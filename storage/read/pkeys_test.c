/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pkeys_test.c - P_Key tables at any time, and after a restart */
#include <string.h>

#include "base/map.h"
#include "base/unit_test.h"
#include "collector/sink.h"
#include "fabric/pkeys.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { SWEEPS = 60, PORTS = 4, KEYS_MOST = 70 };

#define BEGAN_US 1795183200000000LL
#define SWEEP_US 10000000LL

/* What a port has at a sweep: in arrays, in place of the tables that are tested. */
struct truth {
	uint16_t keys[KEYS_MOST];
	size_t count;
	uint8_t enforcement;
	bool known;
};

struct bed {
	struct model *model;
	struct pkeys pkeys;
	struct truth was[SWEEPS][PORTS];
	uint64_t random;
};

static uint32_t below(struct bed *bed, uint32_t limit)
{
	bed->random = map_mix(bed->random + 0x9e3779b97f4a7c15ULL);
	return (uint32_t)(bed->random % limit);
}

/* Ports 1 and 2 of two nodes of the model, all of which it has from the first sweep on. */
static uint64_t guid_of(const struct bed *bed, unsigned port)
{
	return bed->model->nodes[port / 2].node.guid;
}

/* Sometimes a table of a port changes, also to an empty one; keys at the end that are 0 are no part of it. */
static size_t change(struct bed *bed, struct truth *now, struct pkey_change *changes)
{
	size_t count = 0;

	for (unsigned port = 0; port < PORTS; port++) {
		struct truth *truth = &now[port];

		if (below(bed, 4))
			continue;
		*truth = (struct truth){ .known = true, .count = below(bed, KEYS_MOST),
					 .enforcement = (uint8_t)below(bed, 4) };
		for (size_t i = 0; i < truth->count; i++)
			truth->keys[i] = (uint16_t)(1 + below(bed, 0xffff));
		assert_true(pkeys_set(&bed->pkeys, guid_of(bed, port), (uint8_t)(1 + port % 2), truth->keys,
				      truth->count, truth->enforcement, NULL) >= 0);
		changes[count++] = (struct pkey_change){ guid_of(bed, port), (uint8_t)(1 + port % 2) };
	}
	return count;
}

static void check(const struct bed *bed, const struct pkeys *read, const struct truth *truth)
{
	size_t known = 0;

	for (unsigned port = 0; port < PORTS; port++) {
		const struct pkey_table *table = pkeys_find(read, guid_of(bed, port), (uint8_t)(1 + port % 2));

		known += truth[port].known;
		assert_int_equal(table != NULL, truth[port].known);
		if (!table)
			continue;
		assert_int_equal(table->count, truth[port].count);
		assert_int_equal(table->enforcement, truth[port].enforcement);
		if (table->count)
			assert_memory_equal(table->keys, truth[port].keys, table->count * sizeof(*table->keys));
	}
	assert_int_equal(read->count, known);
}

static void store(struct bed *bed, struct writer *writer)
{
	struct truth now[PORTS] = { 0 };
	struct pkey_change changes[PORTS];

	for (int i = 0; i < SWEEPS; i++) {
		struct sweep sweep = *model_step(bed->model);

		sweep.wall_us = BEGAN_US + i * SWEEP_US;
		sweep.pkey_change_count = change(bed, now, changes);
		sweep.pkeys = &bed->pkeys;
		sweep.pkey_changes = changes;
		check_store(writer, &sweep);
		memcpy(bed->was[i], now, sizeof(now));
	}
}

TEST_IN_FOLDER(tables_are_those_of_any_time)
{
	static struct bed bed;
	struct writer *writer;
	struct reader *reader;
	struct pkeys read;

	bed = (struct bed){ .model = model_create(5, 3, 6, 4), .random = 9 };
	bed.model->calm = true;
	writer = check_open_writer(path);
	store(&bed, writer);
	writer_close(writer);
	reader = check_open_reader(path);
	for (int i = 0; i < SWEEPS; i++) {
		assert_int_equal(reader_pkeys(reader, BEGAN_US + i * SWEEP_US + SWEEP_US / 2, &read, NULL), 0);
		check(&bed, &read, bed.was[i]);
		pkeys_done(&read);
	}
	assert_int_equal(reader_pkeys(reader, 0, &read, NULL), 0);
	check(&bed, &read, bed.was[SWEEPS - 1]);
	pkeys_done(&read);
	reader_close(reader);
	pkeys_done(&bed.pkeys);
	model_destroy(bed.model);
}
