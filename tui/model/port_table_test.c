/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/port_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "tui/model/test_sample.h"

#define INTERVAL_US (2 * US_PER_S)
#define START_US (1000000 * US_PER_S)

/* A snapshot as the reader would give it, made without a database. */
struct made {
	struct sample sample;
	struct snapshot snapshot;
	struct error_sums sums;
	struct port_table table;
};

static void make_snapshot(struct made *made, unsigned number)
{
	assert_int_equal(sample_snapshot(&made->sample, number, START_US + number * INTERVAL_US, INTERVAL_US,
					 &made->snapshot), 0);
}

static int setup(void **state)
{
	struct made *made = calloc(1, sizeof(*made));

	if (!made || sample_create(&made->sample, 4, true, NULL) < 0)
		return -1;
	port_table_init(&made->table);
	make_snapshot(made, 1);
	if (error_sums_add(&made->sums, &made->snapshot, NULL) < 0 ||
	    port_table_set(&made->table, &made->snapshot, &made->sums, NULL) < 0)
		return -1;
	*state = made;
	return 0;
}

static int teardown(void **state)
{
	struct made *made = *state;

	port_table_done(&made->table);
	error_sums_done(&made->sums);
	free(made->snapshot.rows);
	sample_destroy(&made->sample);
	free(made);
	return 0;
}

static enum port_word word_at(const struct made *made, uint32_t node, uint8_t num)
{
	return (enum port_word)made->table.views[fabric_node_port(made->sample.fabric, node, num)].word;
}

static void each_reason_for_no_data_has_its_own_word(void **state)
{
	struct made *made = *state;
	const uint32_t leaf = 4 * SAMPLE_HOSTS_PER_LEAF;

	assert_int_equal(word_at(made, 0, 1), WORD_OK);
	assert_int_equal(word_at(made, 4, 1), WORD_UNSUPPORTED);
	assert_int_equal(word_at(made, 6, 1), WORD_LOCKED);
	assert_int_equal(word_at(made, 8, 1), WORD_IDLE);
	assert_int_equal(word_at(made, leaf, 3), WORD_SILENT);
	assert_int_equal(word_at(made, leaf + 1, SAMPLE_HOSTS_PER_LEAF + 1), WORD_DOWN);
	make_snapshot(made, 0);
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(word_at(made, 0, 1), WORD_NEW);
	made->sample.fabric->ports[0].state = PORT_INIT;
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(word_at(made, 0, 1), WORD_INIT);
}

static void errors_sum_up_over_sweeps(void **state)
{
	struct made *made = *state;
	const uint64_t guid = made->sample.fabric->nodes[4 * SAMPLE_HOSTS_PER_LEAF + 1].guid;
	const struct error_sum *sum;
	uint32_t port = fabric_find_port(made->sample.fabric, guid, 2);
	unsigned number;

	for (number = 2; number <= 10; number++) {
		make_snapshot(made, number);
		if (number == 5)
			made->snapshot.rows[port].sum.reset = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
		/* Relay errors are kept, and do not count. */
		made->snapshot.rows[port].sum.value[COUNTER_RCV_SWITCH_RELAY_ERRORS] = 7;
		assert_int_equal(error_sums_add(&made->sums, &made->snapshot, NULL), 0);
	}
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(made->sums.count, 1);
	sum = error_sums_find(&made->sums, guid, 2);
	assert_non_null(sum);
	assert_int_equal(sum->total, 30);
	assert_true(sum->at_least);
	assert_null(error_sums_find(&made->sums, guid, 1));
	assert_int_equal(made->table.summary.errors, 30);
}

static void the_summary_counts_what_is_there(void **state)
{
	struct made *made = *state;
	const struct fabric_summary *summary = &made->table.summary;

	assert_int_equal(summary->hcas, 4 * SAMPLE_HOSTS_PER_LEAF);
	assert_int_equal(summary->switches, 4 + SAMPLE_SPINES);
	assert_int_equal(summary->links_up, 4 * SAMPLE_HOSTS_PER_LEAF + 4 * SAMPLE_SPINES - 1);
	assert_int_equal(summary->words[WORD_SILENT], 1);
	assert_int_equal(summary->words[WORD_LOCKED], 1);
	assert_int_equal(summary->words[WORD_UNSUPPORTED], 1);
	assert_int_equal(summary->link_columns, 5);
}

static void ports_that_were_never_up_are_counted_apart(void **state)
{
	struct made *made = *state;
	const struct port_table *table = &made->table;
	size_t unused = table->summary.ports_unused;

	assert_true(unused > 0 && unused < table->summary.ports);
	/* One that was read a context before it went down is no such port. */
	made->snapshot.rows[fabric_node_port(made->sample.fabric, 4 * SAMPLE_HOSTS_PER_LEAF + 1, 33)].last_wall_us =
		START_US;
	assert_int_equal(port_table_set(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(table->summary.ports_unused, unused - 1);
	assert_int_equal(table->summary.ports_down, 1);
}

static void no_snapshot_is_an_empty_table(void **state)
{
	struct made *made = *state;

	assert_int_equal(port_table_set(&made->table, NULL, &made->sums, NULL), 0);
	assert_null(made->table.snapshot);
	assert_int_equal(made->table.summary.ports, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_reason_for_no_data_has_its_own_word, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_sum_up_over_sweeps, setup, teardown),
		cmocka_unit_test_setup_teardown(the_summary_counts_what_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(ports_that_were_never_up_are_counted_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(no_snapshot_is_an_empty_table, setup, teardown),
	};

	return cmocka_run_group_tests_name("tui_table", tests, NULL, NULL);
}
