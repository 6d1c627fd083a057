/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `ibwire ports --details` over a database with known contents, its table, and the cells of a port. */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include "base/unit_test.h"
#include "cli/ports/port_details.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ber.h"
#include "base/when.h"
#include "facts/cells.h"
#include "facts/port_columns.h"
#include "cli/lib/columns.h"
#include "cli/lib/moment_options.h"
#include "cli/test_commands.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "storage/test/test_model.h"

/* The expected values of one attribute of one port. */
struct truth {
	const struct model_detail_truth *newest; /* NULL: never read */
	uint32_t known, marks, reset;
	uint64_t sum[DETAIL_MAX];
	int64_t elapsed_us;
	bool any;
};

/* @after, @last: indices of sweeps; what those behind @after up to @last read is in the window. */
static struct truth truth_of(size_t port, int attribute, int after, int last)
{
	struct truth truth = { 0 };

	for (int sweep = 0; sweep <= last; sweep++) {
		for (size_t i = 0; i < model->sweeps[sweep].detail_count; i++) {
			const struct model_detail_truth *read = &model->sweeps[sweep].details[i];

			if (read->port != port || read->reading.attribute != attribute)
				continue;
			truth.newest = read;
			if (sweep <= after || !read->has_delta)
				continue;
			truth.known = truth.any ? truth.known & read->delta.known : read->delta.known;
			truth.marks |= read->delta.reset | read->delta.saturated;
			truth.reset |= read->delta.reset;
			truth.elapsed_us += read->delta.elapsed_us;
			truth.any = true;
			for (unsigned number = 0; number < DETAIL_MAX; number++)
				truth.sum[number] += read->delta.known & 1u << number ? read->delta.value[number] : 0;
		}
	}
	return truth;
}

static const json_t *member(const json_t *row, const char *object, const char *key)
{
	return json_object_get(json_object_get(row, object), key);
}

static void assert_counter(const json_t *row, const struct truth *truth, int attribute, unsigned number)
{
	const char *key = detail_info((enum detail_attribute)attribute, number)->key;
	uint32_t bit = UINT32_C(1) << number;
	bool present = truth->newest && truth->newest->reading.present & bit, known = truth->known & bit;
	const json_t *value = member(row, "details", key), *counted = member(row, "details_counted", key);

	assert_int_equal(value != NULL, present);
	if (present)
		assert_int_equal(unsigned_of(value), truth->newest->reading.value[number]);
	assert_int_equal(counted != NULL, known);
	if (known)
		assert_int_equal(unsigned_of(counted), truth->sum[number]);
	assert_int_equal(list_has(json_object_get(row, "details_unknown"), key),
			 present && !known && !detail_is_state((enum detail_attribute)attribute));
	assert_int_equal(list_has(json_object_get(row, "details_at_least"), key),
			 known && (truth->marks & bit || truth->reset));
}

static void assert_ber(const json_t *row, const char *key, const char *below_key, const struct ber *ber)
{
	bool known = ber->rate > 0 || (ber->rate == 0 && !ber->at_least);

	assert_number(row, key, known && !ber->at_least ? ber->rate : NAN);
	if (known && ber->at_least)
		assert_number(json_object_get(row, "lower_bounds"), key, ber->rate);
	assert_number(row, below_key, ber_below(ber));
	assert_int_equal(list_has(json_object_get(row, "ber_at_least"), key), known && ber->at_least);
}

/* Rates are compared with analysis/ber, which has its own test. */
static size_t assert_rates(const json_t *row, const struct truth *truth, uint64_t bits_per_s)
{
	static const char *const layouts[] = { "unknown", "lanes", "rs", "rs-544" };
	struct detail_delta sum = { .elapsed_us = truth->elapsed_us, .known = truth->known,
				    .reset = truth->reset, .saturated = truth->marks };
	struct ber effective = { .rate = NAN }, raw = { .rate = NAN };

	assert_text(row, "fec_layout", truth->newest ? layouts[truth->newest->reading.layout] : NULL);
	for (unsigned number = 0; number < DETAIL_MAX; number++)
		sum.value[number] = (uint32_t)truth->sum[number];
	/* All lanes at 0: perhaps a link without FEC. */
	if (truth->any && !(truth->newest->reading.layout == FEC_LAYOUT_LANES &&
			    !truth->newest->reading.value[DETAIL_FEC_CORRECTED_BLOCKS] &&
			    !truth->newest->reading.value[DETAIL_FEC_UNCORRECTED_BLOCKS] &&
			    !sum.value[DETAIL_FEC_CORRECTED_BLOCKS] && !sum.value[DETAIL_FEC_UNCORRECTED_BLOCKS])) {
		effective = ber_effective(&sum, (enum fec_layout)truth->newest->reading.layout, bits_per_s);
		raw = ber_raw(&sum, (enum fec_layout)truth->newest->reading.layout, bits_per_s);
	}
	assert_ber(row, "effective_ber", "effective_ber_below", &effective);
	assert_ber(row, "raw_ber", "raw_ber_below", &raw);
	return !isnan(effective.rate);
}

static void assert_attribute(const json_t *row, const struct truth *truth, int attribute, int64_t reference_us)
{
	const char *name = detail_attribute_name((enum detail_attribute)attribute);
	const json_t *window = member(row, "details_window_us", name), *age = member(row, "details_age_us", name);

	for (unsigned number = 0; number < detail_count((enum detail_attribute)attribute); number++)
		assert_counter(row, truth, attribute, number);
	assert_int_equal(window != NULL, truth->elapsed_us > 0);
	if (window)
		assert_int_equal(unsigned_of(window), truth->elapsed_us);
	assert_int_equal(age != NULL, truth->newest && reference_us >= truth->newest->wall_us);
	if (age)
		assert_int_equal(unsigned_of(age), reference_us - truth->newest->wall_us);
}

static void assert_details(int after, int last)
{
	const struct model_sweep *end = &model->sweeps[last];
	/* A clock that is past all readings of that sweep and before the next one. */
	int64_t reference_us = end->wall_us + 500000;
	char since[WHEN_SIZE], until[WHEN_SIZE], line[160];
	size_t read = 0, deltas = 0, rates = 0;
	json_t *rows;

	snprintf(line, sizeof(line), "ports|--details|--since|%s|--until|%s",
		 when_format_utc(model->sweeps[after].wall_us + 500000, since), when_format_utc(reference_us, until));
	rows = run_json(line);
	for (size_t port = 0; port < model->port_count; port++) {
		const struct model_port *which = &model->ports[port];
		uint64_t guid = model->nodes[which->node].node.guid;
		const json_t *row = find_row(rows, guid, which->num);
		uint32_t index = fabric_find_port(end->fabric, guid, which->num);

		if (!row)
			continue;
		assert_true(index != FABRIC_NONE);
		for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
			struct truth truth = truth_of(port, attribute, after, last);

			assert_attribute(row, &truth, attribute, reference_us);
			read += truth.newest != NULL;
			deltas += truth.any;
			if (attribute == DETAIL_EXTENDED_SPEEDS)
				rates += assert_rates(row, &truth,
						      port_rate_bits_per_s(&end->fabric->ports[index]));
		}
	}
	/* The test needs such rows. */
	assert_true(read > 50 && deltas > 10 && rates > 0);
	json_decref(rows);
}

TEST(detail_counters_match_readings_and_window_deltas)
{
	assert_details(0, SWEEPS - 1);
	assert_details(2, SWEEPS - 1);
	assert_details(1, SWEEPS - 3);
}

/* As of every number: in tables a mark, in data a member of lower_bounds. */
TEST(a_bit_error_rate_that_is_a_lower_bound_has_a_mark)
{
	static const struct column ber = { .key = "symbol_ber", .title = "BER", .kind = COLUMN_REAL,
					   .measured = true };
	static const struct { struct ber ber; const char *table, *json; } cases[] = {
		{ { .rate = 4e-11, .bits = 1e12, .at_least = true }, "4e-11+",
		  "null, \"lower_bounds\": {\"symbol_ber\": 4e-11}" },
		{ { .rate = 4e-11, .bits = 1e12 }, "4e-11", "4e-11" },
		{ { .rate = 0, .bits = 1e12, .at_least = true }, "-", "null" },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const struct result_options options = { .format = i % 2 ? RESULT_JSON : RESULT_TABLE };
		char *chars = NULL, wanted[32];
		size_t len = 0;
		FILE *stream = open_memstream(&chars, &len);
		struct result *result = result_create(stream, &options, &ber, 1);

		cells_ber(result, 0, &cases[i / 2].ber);
		result_end_row(result);
		assert_int_equal(result_finish(result, NULL), 0);
		result_destroy(result);
		fclose(stream);
		snprintf(wanted, sizeof(wanted), i % 2 ? "\"symbol_ber\": %s" : "%s\n",
			 i % 2 ? cases[i / 2].json : cases[i / 2].table);
		if (!strstr(chars, wanted))
			fail_msg("no %s in %s", wanted, chars);
		free(chars);
	}
}

/* Without --since the window is long enough for everything that is read in turn. */
TEST(default_details_window_covers_two_readings)
{
	json_t *rows = run_json("ports|--details");
	size_t expected = 0, found = 0;

	for (size_t i = 0; i < json_array_size(rows); i++)
		found += json_object_size(json_object_get(json_array_get(rows, i), "details_window_us"));
	for (size_t port = 0; port < model->port_count; port++) {
		const struct model_port *which = &model->ports[port];

		for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
			expected += find_row(rows, model->nodes[which->node].node.guid, which->num) &&
				    truth_of(port, attribute, -1, SWEEPS - 1).elapsed_us > 0;
	}
	assert_int_equal(found, expected);
	assert_true(found > 10);
	json_decref(rows);
}

/*
 * The output of a port does not depend on the other selected ports; the store has three queries for
 * this.
 */
TEST(single_port_has_the_same_details_as_in_the_full_list)
{
	json_t *all = run_json("ports|--details");
	size_t compared = 0;

	for (size_t i = 0; i < json_array_size(all); i += 7) {
		const json_t *one = json_array_get(all, i);
		const char *guid = json_string_value(json_object_get(one, "node_guid"));
		int port = (int)json_integer_value(json_object_get(one, "port"));
		static const char *const keys[] = { "details", "details_counted", "details_window_us", "raw_ber" };
		char lines[2][128];

		snprintf(lines[0], sizeof(lines[0]), "ports|--details|%s/%d", guid, port);
		snprintf(lines[1], sizeof(lines[1]), "ports|--details|%s", guid);
		for (size_t j = 0; j < 2; j++) {
			json_t *rows = run_json(lines[j]);
			const json_t *row = find_row(rows, strtoull(guid, NULL, 16), port);

			assert_non_null(row);
			for (size_t key = 0; key < sizeof(keys) / sizeof(keys[0]); key++)
				assert_true(json_equal(json_object_get(row, keys[key]),
						       json_object_get(one, keys[key])));
			compared += json_object_size(json_object_get(row, "details"));
			json_decref(rows);
		}
	}
	assert_true(compared > 20);
	json_decref(all);
}

TEST(worst_links_come_first)
{
	json_t *rows = run_json("ports|--details|--sort|raw_ber");
	double before = INFINITY;
	bool unknown = false;

	assert_true(json_number_value(json_object_get(json_array_get(rows, 0), "raw_ber")) > 0);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *rate = json_object_get(json_array_get(rows, i), "raw_ber");

		if (json_is_null(rate)) {
			unknown = true;
			continue;
		}
		/* "At least 0" is shown as not known, but sorts as 0. */
		assert_true(json_number_value(rate) <= before);
		before = json_number_value(rate);
		assert_true(!unknown || before == 0);
	}
	json_decref(rows);
}

/* A Quantum switch with one port of 4x HDR. */
struct made {
	struct fabric *fabric;
	struct pma_caps caps;
	struct port_row row;
	struct reading reading;
	struct snapshot snapshot;
	char name[8], *names[1];
	struct moment moment;
	struct detail_row speeds;
	uint32_t index[DETAIL_ATTRIBUTE_COUNT];
	struct port_details details;
};

static void make(struct made *made, enum fec_layout layout)
{
	const struct node node = { .guid = 1, .type = NODE_SWITCH, .port_count = 1, .vendor_id = 0x2c9,
				   .device_id = 0xd2f0 };
	const struct port port = { .num = 1, .state = PORT_ACTIVE, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };

	memset(made, 0, sizeof(*made));
	made->fabric = fabric_create(NULL);
	assert_true(fabric_add_node(made->fabric, &node, NULL) >= 0);
	assert_true(fabric_add_port(made->fabric, &port, NULL) >= 0);
	assert_int_equal(fabric_finish(made->fabric, NULL, NULL), 0);
	made->row = (struct port_row){ .status = SAMPLE_OK, .last_wall_us = 95000000, .reading = &made->reading,
				       .sum = { .elapsed_us = 10000000, .known = COUNTER_BIT(COUNTER_SYMBOL_ERRORS) } };
	made->caps = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	made->snapshot = (struct snapshot){ .fabric = made->fabric, .rows = &made->row, .caps = &made->caps };
	strcpy(made->name, "leaf");
	made->names[0] = made->name;
	made->moment = (struct moment){ .snapshot = &made->snapshot, .fabric = made->fabric, .reference_us = 100000000,
				    .names_shown = { .names = made->names } };
	made->speeds = (struct detail_row){ .wall_us = 80000000,
					    .reading = { .attribute = DETAIL_EXTENDED_SPEEDS,
							 .layout = (uint8_t)layout } };
	made->index[DETAIL_EXTENDED_SPEEDS] = 1;
	made->details = (struct port_details){ .rows = &made->speeds, .count = 1, .index = made->index };
}

static void assert_table(struct made *made, const char *expected, size_t expected_zeros)
{
	const struct result_options options = { .format = RESULT_TABLE };
	char *output = NULL;
	size_t size, zeros = 0;
	FILE *stream = open_memstream(&output, &size);
	const struct port_scope scope = moment_scope(&made->moment);
	struct port_facts port;
	struct result *result;

	port_facts_of(&scope, 0, &port);
	port_details_ber(&made->moment, &made->details, &port);
	result = result_create(stream, &options, port_details_table, PORT_DETAILS_TABLE_COLUMNS);
	port_details_put_rows(result, &made->moment, &made->details, &port, &zeros);
	assert_int_equal(result_finish(result, NULL), 0);
	result_destroy(result);
	fclose(stream);
	assert_string_equal(output, expected);
	assert_int_equal(zeros, expected_zeros);
	free(output);
	fabric_destroy(made->fabric);
}

static void count(struct made *made, unsigned number, uint32_t counted, uint32_t value)
{
	made->speeds.reading.present |= UINT32_C(1) << number;
	made->speeds.reading.value[number] = value;
	made->speeds.sum.known |= UINT32_C(1) << number;
	made->speeds.sum.value[number] = counted;
	made->speeds.sum.elapsed_us = 50000000;
}

/* 4x HDR carries 2e11 bits a second: 1e13 in 50 s. */
TEST(details_table_shows_ber_fec_and_counters)
{
	struct made made;

	make(&made, FEC_LAYOUT_RS);
	count(&made, DETAIL_UNKNOWN_BLOCKS, 0, 0);
	count(&made, DETAIL_FEC_UNCORRECTED_BLOCKS, 0, 0);
	count(&made, DETAIL_FEC_CORRECTED_BLOCKS, 0, 7);
	count(&made, DETAIL_FEC_CORRECTED_SYMBOLS, 20, 90);
	made.speeds.sum.reset = UINT32_C(1) << DETAIL_FEC_CORRECTED_SYMBOLS;
	assert_table(&made,
"PORT    COUNTER                    IN WINDOW  VALUE  UNIT        WINDOW     AGE  MEANING\n"
"leaf/1  symbol_ber                 < 1.5e-12      -  errors/bit  10.0 s   5.0 s  "
	"bit error rate seen by packets\n"
"leaf/1  effective_ber                      -      -  -                -  20.0 s  "
	"unknown: a counter is saturated or was reset\n"
"leaf/1  raw_ber                   >= 2.0e-12      -  errors/bit  50.0 s  20.0 s  "
	"bit error rate before FEC (cable and lanes)\n"
"leaf/1  FEC                     Reed-Solomon      -  -                -  20.0 s  "
	"Reed-Solomon FEC: blocks are counted per port, symbols per lane\n"
"leaf/1  fec_corrected_blocks    0+ (cleared)      7  blocks      50.0 s  20.0 s  "
	"blocks corrected by FEC: harmless\n"
"leaf/1  fec_corrected_symbols  20+ (cleared)     90  symbols     50.0 s  20.0 s  symbols corrected by FEC\n",
		     3);
}

TEST(unknown_fec_mode_has_no_numbers)
{
	struct made made;

	make(&made, FEC_LAYOUT_UNKNOWN);
	count(&made, DETAIL_UNKNOWN_BLOCKS, 3, 3);
	assert_table(&made,
"PORT    COUNTER         IN WINDOW  VALUE  UNIT        WINDOW     AGE  MEANING\n"
"leaf/1  symbol_ber      < 1.5e-12      -  errors/bit  10.0 s   5.0 s  bit error rate seen by packets\n"
"leaf/1  effective_ber           -      -  -                -  20.0 s  unknown: see FEC\n"
"leaf/1  raw_ber                 -      -  -                -  20.0 s  unknown: see FEC\n"
"leaf/1  FEC               unknown      -  -                -  20.0 s  "
	"the FEC mode of the link is unknown, so its counters cannot be interpreted\n"
"leaf/1  unknown_blocks          3      3  blocks      50.0 s  20.0 s  blocks of an unknown type\n",
		     1);
}

TEST(unknown_ber_has_a_reason)
{
	struct made made;

	make(&made, FEC_LAYOUT_RS);
	made.index[DETAIL_EXTENDED_SPEEDS] = 0;
	made.row.sum.reset = made.row.sum.known;
	assert_table(&made,
"PORT    COUNTER           IN WINDOW  VALUE  UNIT    WINDOW    AGE  MEANING\n"
"leaf/1  symbol_ber                -      -  -            -  5.0 s  "
	"unknown: symbol_errors is saturated or was reset\n"
"leaf/1  effective_ber             -      -  -            -      -  "
	"unknown: FEC was never read (not supported, excluded, or not yet polled)\n"
"leaf/1  raw_ber                   -      -  -            -      -  "
	"unknown: FEC was never read (not supported, excluded, or not yet polled)\n"
"leaf/1  symbol_errors  0+ (cleared)      -  errors  10.0 s  5.0 s  "
	"minor link errors; with FEC, those that FEC could not correct\n",
		     0);
}

/* Blocks of all lanes that stay 0 may be those of a link without FEC. */
TEST(zero_fec_blocks_are_unknown)
{
	static const char *const expected[] = {
"PORT    COUNTER        IN WINDOW  VALUE  UNIT        WINDOW     AGE  MEANING\n"
"leaf/1  symbol_ber     < 1.5e-12      -  errors/bit  10.0 s   5.0 s  "
	"bit error rate seen by packets\n"
"leaf/1  effective_ber          -      -  -                -  20.0 s  "
	"unknown: FEC has never counted; a link without FEC has no counts\n"
"leaf/1  raw_ber                -      -  -                -  20.0 s  "
	"unknown: FEC has never counted; a link without FEC has no counts\n"
"leaf/1  FEC              by lane      -  -                -  20.0 s  "
	"corrected blocks are counted per lane\n",
"PORT    COUNTER               IN WINDOW  VALUE  UNIT        WINDOW     AGE  MEANING\n"
"leaf/1  symbol_ber            < 1.5e-12      -  errors/bit  10.0 s   5.0 s  "
	"bit error rate seen by packets\n"
"leaf/1  effective_ber         < 3.0e-13      -  errors/bit  50.0 s  20.0 s  "
	"bit error rate after FEC (uncorrectable)\n"
"leaf/1  raw_ber               < 3.0e-13      -  errors/bit  50.0 s  20.0 s  "
	"bit error rate before FEC (cable and lanes)\n"
"leaf/1  FEC                     by lane      -  -                -  20.0 s  "
	"corrected blocks are counted per lane\n"
"leaf/1  fec_corrected_blocks          0      1  blocks      50.0 s  20.0 s  "
	"blocks corrected by FEC: harmless\n",
	};
	struct made made;

	for (uint32_t corrected = 0; corrected < 2; corrected++) {
		make(&made, FEC_LAYOUT_LANES);
		count(&made, DETAIL_FEC_CORRECTED_BLOCKS, 0, corrected);
		count(&made, DETAIL_FEC_UNCORRECTED_BLOCKS, 0, 0);
		assert_table(&made, expected[corrected], 3 - corrected);
	}
}

/* XmitWait% of the port, as JSON or as a table. */
static void assert_xmit_wait(const struct made *made, enum result_format format, const char *expected)
{
	static const struct column_source source = { .columns = port_columns };
	const struct result_options options = { .format = format };
	char *output = NULL;
	size_t size;
	FILE *stream = open_memstream(&output, &size);
	const struct port_scope scope = moment_scope(&made->moment);
	struct port_facts port;
	struct result *result;

	port_facts_of(&scope, 0, &port);
	result = result_create(stream, &options, columns_find(&source, "stall_percent"), 1);
	result_fill(result, &port);
	result_end_row(result);
	assert_int_equal(result_finish(result, NULL), 0);
	result_destroy(result);
	fclose(stream);
	if (!strstr(output, expected))
		fail_msg("%s instead of %s", output, expected);
	free(output);
}

/* JSON and CSV must not show a lower bound as a value. */
TEST(xmit_wait_percent_needs_a_known_tick_and_marks_lower_bounds)
{
	struct port_scope scope;
	struct port_facts port;
	struct made made;

	make(&made, FEC_LAYOUT_RS);
	made.row.sum.known = COUNTER_BIT(COUNTER_XMIT_WAIT);
	made.row.sum.value[COUNTER_XMIT_WAIT] = UINT64_C(7812500000); /* a quarter of ten seconds */
	assert_xmit_wait(&made, RESULT_JSON, "\"stall_percent\": 25");
	assert_xmit_wait(&made, RESULT_TABLE, "25.0\n");
	made.row.sum.saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	assert_xmit_wait(&made, RESULT_JSON, "\"stall_percent\": null");
	assert_xmit_wait(&made, RESULT_TABLE, "25.0+\n");
	made.row.sum.value[COUNTER_XMIT_WAIT] = 0;
	assert_xmit_wait(&made, RESULT_TABLE, "-\n");
	made.row.sum.value[COUNTER_XMIT_WAIT] = UINT64_C(7812500000);
	made.row.sum.saturated = 0;
	made.caps.tick_known = false;
	assert_xmit_wait(&made, RESULT_JSON, "\"stall_percent\": null");
	assert_xmit_wait(&made, RESULT_TABLE, "-\n");
	made.snapshot.caps = NULL;
	scope = moment_scope(&made.moment);
	port_facts_of(&scope, 0, &port);
	assert_true(isnan(port.stall_percent.value));
	assert_true(fabs(port.wait_ticks_per_s.value - 781250000) < 1);
	fabric_destroy(made.fabric);
}
