/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "tui/format.h"
#include "tui/sample.h"
#include "tui/words.h"

#define INTERVAL_US (2 * US_PER_S)
#define START_US (1000000 * US_PER_S)

/* A snapshot as the reader would give it, made without a database. */
struct made {
	struct sample sample;
	struct snapshot snapshot;
	struct error_sums sums;
	struct table table;
};

static void make_snapshot(struct made *made, unsigned number)
{
	struct sweep sweep;
	size_t i;

	free(made->snapshot.rows);
	memset(&made->snapshot, 0, sizeof(made->snapshot));
	made->snapshot.fabric = made->sample.fabric;
	made->snapshot.rows = calloc(made->sample.fabric->port_count, sizeof(*made->snapshot.rows));
	assert_non_null(made->snapshot.rows);
	sample_sweep(&made->sample, number, START_US + number * INTERVAL_US, INTERVAL_US, &sweep);
	made->snapshot.sweep.id = number + 1;
	made->snapshot.sweep.wall_us = sweep.wall_us;
	made->snapshot.sweep.interval_us = sweep.interval_us;
	for (i = 0; i < sweep.sample_count; i++) {
		const struct port_sample *sample = &sweep.samples[i];
		struct port_row *row = &made->snapshot.rows[sample->port];

		row->status = sample->status;
		if (sample->delta)
			row->sum = *sample->delta;
		row->last_wall_us = sample->status == SAMPLE_OK ? sweep.wall_us : 0;
	}
}

static int setup(void **state)
{
	struct made *made = calloc(1, sizeof(*made));

	if (!made || sample_create(&made->sample, 4, true, NULL) < 0)
		return -1;
	table_init(&made->table);
	make_snapshot(made, 1);
	if (error_sums_add(&made->sums, &made->snapshot, NULL) < 0 ||
	    table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL) < 0)
		return -1;
	*state = made;
	return 0;
}

static int teardown(void **state)
{
	struct made *made = *state;

	table_done(&made->table);
	error_sums_done(&made->sums);
	free(made->snapshot.rows);
	sample_destroy(&made->sample);
	free(made);
	return 0;
}

static const char *port_name(const struct made *made, size_t row)
{
	static char name[CELL_SIZE];

	assert_true(row < made->table.row_count);
	return words_cell(&made->table, &made->sums, made->table.rows[row], COLUMN_PORT, 80, 0, name);
}

static enum port_word word_at(const struct made *made, uint32_t node, uint8_t num)
{
	return (enum port_word)made->table.views[fabric_node_port(made->sample.fabric, node, num)].word;
}

static void the_busiest_port_is_first(void **state)
{
	struct made *made = *state;

	assert_string_equal(port_name(made, 0), "leaf01/1");
	assert_true(fabs(made->table.views[made->table.rows[0]].xmit_percent - 95) < 0.01);
	assert_true(fabs(made->table.views[made->table.rows[0]].rcv_percent - 50) < 0.01);
}

/* The number that a column shows, for a check that does not use the code under test. */
static double shown_number(const struct made *made, uint32_t port, enum column column)
{
	const struct row_view *view = &made->table.views[port];

	switch (column) {
	case COLUMN_XMIT:
		return view->xmit_bytes_per_s;
	case COLUMN_RCV_PERCENT:
		return view->rcv_percent;
	case COLUMN_ERRORS:
		return view->errors;
	default:
		return view->word;
	}
}

static void every_column_sorts_both_ways_with_the_unknown_last(void **state)
{
	static const enum column numbers[] = { COLUMN_XMIT, COLUMN_RCV_PERCENT, COLUMN_ERRORS, COLUMN_STATUS };
	struct made *made = *state;
	struct table *table = &made->table;
	size_t count = table->row_count, i, row;
	int column, descending;

	for (column = 0; column < COLUMN_COUNT; column++)
		for (descending = 0; descending < 2; descending++) {
			uint8_t *seen = calloc(made->sample.fabric->port_count, 1);

			table->sort = (enum column)column;
			table->descending = descending;
			table_arrange(table);
			assert_int_equal(table->row_count, count);
			for (row = 0; row < count; row++)
				assert_false(seen[table->rows[row]]++);
			free(seen);
		}
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (descending = 0; descending < 2; descending++) {
			bool unknown = false;

			table->sort = numbers[i];
			table->descending = descending;
			table_arrange(table);
			for (row = 0; row + 1 < count; row++) {
				double a = shown_number(made, table->rows[row], numbers[i]);
				double b = shown_number(made, table->rows[row + 1], numbers[i]);

				unknown |= isnan(a);
				if (unknown)
					assert_true(isnan(b));
				else if (!isnan(b))
					assert_true(descending ? a >= b : a <= b);
			}
		}
}

static void ports_sort_by_name_then_number(void **state)
{
	struct made *made = *state;

	made->table.sort = COLUMN_PORT;
	made->table.descending = false;
	table_arrange(&made->table);
	/* An escape sequence begins with a backslash: before the letters. */
	assert_string_equal(port_name(made, 1), "leaf01/1");
	assert_string_equal(port_name(made, 2), "leaf01/2");
	assert_string_equal(port_name(made, 10), "leaf01/10");
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
	assert_int_equal(table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(word_at(made, 0, 1), WORD_NEW);
	made->sample.fabric->ports[0].state = PORT_INIT;
	assert_int_equal(table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(word_at(made, 0, 1), WORD_INIT);
}

static void what_is_not_known_is_a_dash_and_never_zero(void **state)
{
	static const enum column columns[] = {
		COLUMN_XMIT, COLUMN_RCV, COLUMN_XMIT_PERCENT, COLUMN_ERRORS, COLUMN_WAIT,
	};
	struct made *made = *state;
	uint32_t silent = fabric_node_port(made->sample.fabric, 4 * SAMPLE_HOSTS_PER_LEAF, 3);
	char text[CELL_SIZE];
	size_t i;

	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		assert_string_equal(words_cell(&made->table, &made->sums, silent, columns[i], 10, START_US, text), "-");
	assert_string_equal(words_cell(&made->table, &made->sums, 8, COLUMN_XMIT, 10, START_US, text), "0 b/s");
}

static void ports_that_were_never_up_are_hidden_and_counted(void **state)
{
	struct made *made = *state;
	struct table *table = &made->table;
	size_t hidden = table->summary.ports_unused, shown = table->row_count;

	assert_true(hidden > 0);
	assert_int_equal(shown + hidden, table->summary.ports);
	table->show_unused = true;
	table_arrange(table);
	assert_int_equal(table->row_count, table->summary.ports);
	table->show_unused = false;
	/* A port that was read a moment before it went down stays. */
	made->snapshot.rows[fabric_node_port(made->sample.fabric, 4 * SAMPLE_HOSTS_PER_LEAF + 1, 33)].last_wall_us =
		START_US;
	assert_int_equal(table_set_snapshot(table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(table->row_count, shown + 1);
	assert_int_equal(table->summary.ports_down, 1);
}

static void a_filter_looks_at_port_peer_status_link_and_guid(void **state)
{
	static const struct { const char *typed; size_t rows; } cases[] = {
		{ "locked", 1 }, { "UNSUPPORTED", 1 }, { "no such thing", 0 }, { "0x0000000000100000", 1 },
	};
	struct made *made = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		filter_set(&made->table.filter, cases[i].typed);
		table_arrange(&made->table);
		assert_int_equal(made->table.row_count, cases[i].rows);
	}
	/* Both ends of a link are found by either name. */
	filter_set(&made->table.filter, "node0100 mlx5_0/1");
	table_arrange(&made->table);
	assert_int_equal(made->table.row_count, 2);
	/* A word does not match across the end of one text and the start of the next. */
	filter_set(&made->table.filter, "/1leaf");
	table_arrange(&made->table);
	assert_int_equal(made->table.row_count, 0);
	filter_set(&made->table.filter, "4xHDR");
	table_arrange(&made->table);
	assert_true(made->table.row_count > 300);
}

static void errors_sum_up_over_sweeps(void **state)
{
	struct made *made = *state;
	const uint64_t guid = made->sample.fabric->nodes[4 * SAMPLE_HOSTS_PER_LEAF + 1].guid;
	const struct error_sum *sum;
	char text[CELL_SIZE];
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
	assert_int_equal(table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_int_equal(made->sums.count, 1);
	sum = error_sums_find(&made->sums, guid, 2);
	assert_non_null(sum);
	assert_int_equal(sum->total, 30);
	assert_true(sum->at_least);
	assert_null(error_sums_find(&made->sums, guid, 1));
	assert_int_equal(made->table.summary.errors, 30);
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_ERRORS, 7, START_US, text), "30+");
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_WHICH_ERRORS, 80, START_US, text),
			    "symbol_errors 20, rcv_errors 10, rcv_switch_relay_errors 63");
}

static void a_full_counter_is_never_no_error(void **state)
{
	struct made *made = *state;
	uint32_t port = fabric_node_port(made->sample.fabric, 10, 1);
	char text[CELL_SIZE];

	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_ERRORS, 7, START_US, text), "0");
	make_snapshot(made, 2);
	made->snapshot.rows[port].sum.saturated = COUNTER_BIT(COUNTER_RCV_ERRORS);
	assert_int_equal(error_sums_add(&made->sums, &made->snapshot, NULL), 0);
	assert_int_equal(table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_ERRORS, 7, START_US, text), "0+");
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_WHICH_ERRORS, 80, START_US, text),
			    "rcv_errors 0+ (full)");
	assert_true(made->table.summary.errors_at_least);
	/* A full traffic counter is none of the errors. */
	port = fabric_node_port(made->sample.fabric, 11, 1);
	make_snapshot(made, 3);
	made->snapshot.rows[port].sum.saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	assert_int_equal(error_sums_add(&made->sums, &made->snapshot, NULL), 0);
	assert_int_equal(table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_ERRORS, 7, START_US, text), "0");
}

static void the_stall_of_a_known_device_is_shown_and_of_others_a_dash(void **state)
{
	struct made *made = *state;
	struct fabric *fabric = made->sample.fabric;
	uint32_t leaf = 4 * SAMPLE_HOSTS_PER_LEAF, port = fabric_node_port(fabric, leaf, 1);
	uint32_t host = fabric_node_port(fabric, 0, 1), silent = fabric_node_port(fabric, leaf, 3);
	struct pma_caps *caps = calloc(fabric->node_count, sizeof(*caps));
	struct delta *sum = &made->snapshot.rows[port].sum;
	char text[CELL_SIZE];
	size_t i;

	assert_non_null(caps);
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_STALL, 6, START_US, text), "-");
	fabric->nodes[leaf].vendor_id = 0x2c9;
	fabric->nodes[leaf].device_id = 0xd2f0;
	for (i = 0; i < fabric->node_count; i++)
		caps[i] = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	made->snapshot.caps = caps;
	/* 4x HDR: 3.125e9 ticks of 8 bytes a second; two seconds. */
	sum->value[COUNTER_XMIT_WAIT] = 781250000;
	assert_int_equal(table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_STALL, 6, START_US, text), "12%");
	assert_string_equal(words_cell(&made->table, &made->sums, host, COLUMN_STALL, 6, START_US, text), "-");
	assert_string_equal(words_cell(&made->table, &made->sums, silent, COLUMN_STALL, 6, START_US, text), "-");
	/* The ticks themselves stay, whatever the device. */
	assert_string_not_equal(words_cell(&made->table, &made->sums, host, COLUMN_WAIT, 6, START_US, text), "-");
	sum->saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	assert_int_equal(table_set_snapshot(&made->table, &made->snapshot, &made->sums, NULL), 0);
	assert_string_equal(words_cell(&made->table, &made->sums, port, COLUMN_STALL, 6, START_US, text), "12%+");
	made->snapshot.caps = NULL;
	free(caps);
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
	/* The escaped name of node0009. */
	assert_int_equal(summary->port_columns, 31);
	assert_int_equal(summary->link_columns, 5);
}

static void a_port_is_found_again_in_another_order(void **state)
{
	struct made *made = *state;
	uint64_t guid = made->sample.fabric->nodes[7].guid;
	size_t row = table_find(&made->table, guid, 1);

	assert_string_equal(port_name(made, row), "node0008 mlx5_0/1");
	made->table.descending = false;
	table_arrange(&made->table);
	assert_true(table_find(&made->table, guid, 1) != row);
	assert_string_equal(port_name(made, table_find(&made->table, guid, 1)), "node0008 mlx5_0/1");
	assert_int_equal(table_find(&made->table, guid, 9), made->table.row_count);
	assert_int_equal(table_find(&made->table, 1, 1), made->table.row_count);
}

static void an_empty_table_answers(void **state)
{
	struct made *made = *state;

	assert_int_equal(table_set_snapshot(&made->table, NULL, &made->sums, NULL), 0);
	assert_int_equal(made->table.row_count, 0);
	table_arrange(&made->table);
	assert_int_equal(table_find(&made->table, 1, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_busiest_port_is_first, setup, teardown),
		cmocka_unit_test_setup_teardown(every_column_sorts_both_ways_with_the_unknown_last, setup, teardown),
		cmocka_unit_test_setup_teardown(ports_sort_by_name_then_number, setup, teardown),
		cmocka_unit_test_setup_teardown(each_reason_for_no_data_has_its_own_word, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_a_dash_and_never_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(ports_that_were_never_up_are_hidden_and_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_filter_looks_at_port_peer_status_link_and_guid, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_sum_up_over_sweeps, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_counter_is_never_no_error, setup, teardown),
		cmocka_unit_test_setup_teardown(the_stall_of_a_known_device_is_shown_and_of_others_a_dash, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_summary_counts_what_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(a_port_is_found_again_in_another_order, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_table_answers, setup, teardown),
	};

	return cmocka_run_group_tests_name("tui_table", tests, NULL, NULL);
}
