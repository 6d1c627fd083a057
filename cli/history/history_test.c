/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_test.c - `ibwire history` over a database with known contents */
#define UNIT_TEST_SETUP make
#define UNIT_TEST_TEARDOWN remove_database

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "export/result.h"
#include "fabric/host.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static char window[128]; /* "|--since|...|--until|...": all sweeps but the first */

int make(void **state)
{
	char since[WHEN_SIZE], until[WHEN_SIZE];
	int status = make_database(state);

	if (status == 0)
		snprintf(window, sizeof(window), "|--since|%s|--until|%s",
			 when_format_utc(model->sweeps[0].wall_us, since),
			 when_format_utc(model->sweeps[SWEEPS - 1].wall_us, until));
	return status;
}

/* The model's port of a port in the newest fabric. */
static size_t port_of(const struct fabric *fabric, uint32_t index)
{
	uint64_t guid = fabric->nodes[fabric->ports[index].node].guid;

	for (size_t i = 0; i < model->port_count; i++)
		if (model->ports[i].num == fabric->ports[index].num &&
		    model->nodes[model->ports[i].node].node.guid == guid)
			return i;
	fail_msg("a port that is none of the model's");
	return 0;
}

/* The delta of a port in one sweep. Return: is it known? */
static bool truth_of(size_t sweep, size_t port, enum counter counter, uint64_t *ret)
{
	const struct model_truth *truth = &model->sweeps[sweep].truth[port];
	counter_set bit = COUNTER_BIT(counter);

	if (!truth->has_delta || !(truth->delta.known & bit) ||
	    (delta_lower_bounds(&truth->delta) & bit && !truth->delta.value[counter]))
		return false;
	*ret = truth->delta.value[counter];
	return true;
}

static uint64_t times(uint64_t value, uint64_t factor)
{
	uint64_t product;

	return __builtin_mul_overflow(value, factor, &product) ? UINT64_MAX : product;
}

static void add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

static size_t sweep_of(const char *time)
{
	char shown[WHEN_SIZE];

	for (size_t i = 0; i < SWEEPS; i++)
		if (!strcmp(when_format_utc(model->sweeps[i].wall_us, shown), time))
			return i;
	fail_msg("no sweep was at %s", time);
	return 0;
}

/* A number of a row, or what is certain of it. */
static const json_t *known_of(const json_t *row, const char *key)
{
	const json_t *bound = json_object_get(json_object_get(row, RESULT_LOWER_BOUNDS), key);

	assert_true(!bound || json_is_null(json_object_get(row, key)));
	return bound ? bound : json_object_get(row, key);
}

static void assert_known(const json_t *row, const char *key, double number)
{
	assert_true(fabs(json_number_value(known_of(row, key)) - number) <= 1e-9 * fabs(number));
}

static void check_point(const json_t *row, size_t port, enum counter counter, uint64_t factor)
{
	size_t sweep = sweep_of(json_string_value(json_object_get(row, "until")));
	const struct delta *delta = &model->sweeps[sweep].truth[port].delta;
	uint64_t value = 0;

	if (!truth_of(sweep, port, counter, &value)) {
		assert_true(json_is_null(known_of(row, "total")));
		assert_true(json_is_null(known_of(row, "mean")));
		assert_int_equal(integer_of(row, "samples"), 0);
		return;
	}
	assert_true(unsigned_of(known_of(row, "total")) == times(value, factor));
	assert_int_equal(integer_of(row, "samples"), 1);
	assert_text(row, "source", "raw");
	assert_int_equal(json_is_true(json_object_get(row, "at_least")),
			 (delta_lower_bounds(delta) >> counter & 1) != 0);
	if (delta->elapsed_us > 0)
		assert_known(row, "mean", (double)times(value, factor) * 1e6 / (double)delta->elapsed_us);
}

static void check_utilization(const json_t *row, const struct port *port, size_t of_model)
{
	size_t sweep = sweep_of(json_string_value(json_object_get(row, "until")));
	const struct delta *delta = &model->sweeps[sweep].truth[of_model].delta;
	uint64_t rate = port_rate_bits_per_s(port), words;

	if (!truth_of(sweep, of_model, COUNTER_XMIT_DATA, &words) || delta->elapsed_us <= 0 || !rate)
		assert_true(json_is_null(known_of(row, "mean")));
	else
		assert_known(row, "mean", fmin((double)times(words, COUNTER_WORD_BYTES) * 8e8 /
						(double)delta->elapsed_us / (double)rate, 100));
}

/* One point per sweep of each of four series, of which two need the rate and tick of the port. */
static void check_series(const json_t *rows, uint32_t index)
{
	static const char *const keys[] = { "rcv_bytes", "symbol_errors", "xmit_utilization_percent", "stall_percent" };
	const struct fabric *fabric = model->sweep.fabric;
	size_t port = port_of(fabric, index);

	assert_int_equal(json_array_size(rows), 4 * (SWEEPS - 1));
	for (size_t r = 0; r < json_array_size(rows); r++) {
		const json_t *row = json_array_get(rows, r);
		size_t series = r / (SWEEPS - 1);

		assert_text(row, "counter", keys[series]);
		assert_true(guid_of(row, "node_guid") == fabric->nodes[fabric->ports[index].node].guid);
		if (series == 0)
			check_point(row, port, COUNTER_RCV_DATA, COUNTER_WORD_BYTES);
		else if (series == 1)
			check_point(row, port, COUNTER_SYMBOL_ERRORS, 1);
		else if (series == 2)
			check_utilization(row, &fabric->ports[index], port);
		else
			assert_in_range((uintmax_t)json_number_value(known_of(row, "mean")), 0, 100);
	}
}

TEST(every_point_of_a_port_is_its_delta)
{
	const struct fabric *fabric = model->sweep.fabric;
	size_t ports = 0, unread = 0;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct error err = { 0 };
		char line[512], *output;
		json_t *rows;
		int code;

		if (!port_is_pollable(fabric, &fabric->ports[i]))
			continue;
		snprintf(line, sizeof(line), "history|0x%016" PRIx64
			 "/%u|-c|rcv_bytes,symbol_errors,xmit_utilization,stall%s|--format|json",
			 fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num, window);
		code = run(line, &output, &err);
		rows = json_loads(output, 0, NULL);
		free(output);
		if (code == ERR_UNAVAILABLE) {
			assert_non_null(strstr(err.text, "was not read"));
			unread++;
			continue;
		}
		assert_int_equal(code, 0);
		check_series(rows, i);
		json_decref(rows);
		ports++;
	}
	assert_true(ports > 20);
	print_message("# note: %zu ports, %zu were never read\n", ports, unread);
}

/* Totals of a node, a host and the fabric are the sums of their ports, in one step or several. */
TEST(port_group_is_the_sum_of_its_deltas)
{
	static const char *const steps[] = { "", "|--step|1h", "|--step|3s" };
	const struct fabric *fabric = model->sweep.fabric;

	for (size_t s = 0; s < 3; s++) {
		for (uint32_t n = 0; n <= fabric->node_count; n++) {
			char line[512];
			uint64_t total = 0, expected = 0, value = 0;
			json_t *rows;
			size_t readings = 0;

			for (uint32_t i = 0; i < fabric->port_count; i++)
				for (size_t sweep = 1; sweep < SWEEPS; sweep++)
					if ((n == fabric->node_count || fabric->ports[i].node == n) &&
					    port_is_pollable(fabric, &fabric->ports[i]) &&
					    truth_of(sweep, port_of(fabric, i), COUNTER_XMIT_PACKETS, &value)) {
						add(&expected, value);
						readings++;
					}
			if (!readings)
				continue;
			if (n == fabric->node_count)
				snprintf(line, sizeof(line), "history|all|-c|xmit_packets%s%s", window, steps[s]);
			else
				snprintf(line, sizeof(line), "history|0x%016" PRIx64 "|-c|xmit_packets%s%s",
					 fabric->nodes[n].guid, window, steps[s]);
			rows = run_json(line);
			for (size_t r = 0; r < json_array_size(rows); r++) {
				const json_t *row = json_array_get(rows, r);

				readings -= (size_t)integer_of(row, "samples");
				if (!json_is_null(known_of(row, "total")))
					add(&total, unsigned_of(known_of(row, "total")));
			}
			assert_true(total == expected);
			assert_int_equal(readings, 0);
			json_decref(rows);
		}
	}
}

/* Traffic of hosts, not of each hop. */
TEST(without_a_subject_hosts_are_summed)
{
	char line[200], *output, *hosts, *all;

	snprintf(line, sizeof(line), "history|--format|csv%s", window);
	output = run_text(line);
	snprintf(line, sizeof(line), "history|hosts|--format|csv%s", window);
	hosts = run_text(line);
	snprintf(line, sizeof(line), "history|all|--format|csv%s", window);
	all = run_text(line);
	assert_string_equal(output, hosts);
	assert_string_not_equal(output, all);
	free(output);
	free(hosts);
	free(all);
}

TEST(host_selects_all_its_hcas)
{
	const struct fabric *fabric = model->sweep.fabric;
	char name[NODE_NAME_SIZE], line[NODE_NAME_SIZE + 256], guid[32], *output;
	size_t found = 0;

	for (uint32_t n = 0; n < fabric->node_count; n++) {
		struct error err = { 0 };

		if (!host_name(&fabric->nodes[n], name) || strncmp(name, "node", 4))
			continue;
		snprintf(line, sizeof(line), "history|%s%s|--each|--format|json", name, window);
		snprintf(guid, sizeof(guid), "0x%016" PRIx64, fabric->nodes[n].guid);
		assert_true(run(line, &output, &err) == ERR_UNAVAILABLE || strstr(output, guid));
		found += !err.code;
		free(output);
	}
	assert_true(found > 1);
}

TEST(top_is_sorted_and_complete)
{
	const struct fabric *fabric = model->sweep.fabric;
	char line[256];
	uint64_t before = UINT64_MAX, best = 0;
	size_t with_any = 0;
	json_t *rows;

	snprintf(line, sizeof(line), "history|--top|1000000|--by|rcv_packets%s", window);
	rows = run_json(line);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const json_t *row = find_row(rows, fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num);
		uint64_t sum = 0, value;
		bool known = port_is_pollable(fabric, &fabric->ports[i]), any = false;

		for (size_t sweep = 1; known && sweep < SWEEPS; sweep++) {
			if (!model->sweeps[sweep].truth[port_of(fabric, i)].has_delta)
				continue;
			known = truth_of(sweep, port_of(fabric, i), COUNTER_RCV_PACKETS, &value);
			add(&sum, known ? value : 0);
			any = true;
		}
		if (!known || !any || !sum)
			continue;
		assert_non_null(row);
		assert_true(unsigned_of(known_of(row, "total")) == sum);
		best = sum > best ? sum : best;
		with_any++;
	}
	assert_true(with_any > 5 && json_array_size(rows) >= with_any);
	for (size_t r = 0; r < json_array_size(rows); r++) {
		uint64_t total = unsigned_of(known_of(json_array_get(rows, r), "total"));

		assert_true(total <= before && total > 0);
		before = total;
	}
	assert_true(unsigned_of(known_of(json_array_get(rows, 0), "total")) >= best);
	json_decref(rows);
	snprintf(line, sizeof(line), "history|--top|3%s", window);
	rows = run_json(line);
	assert_int_equal(json_array_size(rows), 3);
	assert_text(json_array_get(rows, 0), "counter", "bytes");
	json_decref(rows);
}

/* The sum of a detail counter's deltas in the window, per port. Return: is it known? */
static bool detail_truth(size_t port, enum detail_attribute attribute, unsigned number, uint64_t *ret, bool *ret_bound)
{
	uint32_t bit = UINT32_C(1) << number;
	bool any = false, known = true;

	*ret = 0;
	*ret_bound = false;
	for (size_t s = 1; s < SWEEPS; s++)
		for (size_t i = 0; i < model->sweeps[s].detail_count; i++) {
			const struct model_detail_truth *truth = &model->sweeps[s].details[i];

			if (truth->port != port || truth->reading.attribute != attribute || !truth->has_delta)
				continue;
			any = true;
			known &= (truth->delta.known & bit) != 0;
			*ret += truth->delta.known & bit ? truth->delta.value[number] : 0;
			*ret_bound |= truth->delta.reset || truth->delta.saturated & bit;
		}
	*ret = *ret > UINT32_MAX ? UINT32_MAX : *ret;
	return any && known;
}

TEST(top_by_a_detail_counter_is_the_sum_of_its_deltas)
{
	static const char *const keys[] = { "xmit_wait_vl3", "xmit_data_sl2", "looping_errors" };
	const struct fabric *fabric = model->sweep.fabric;
	size_t compared = 0;

	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
		enum detail_attribute attribute;
		unsigned number;
		char line[256];
		json_t *rows;

		assert_true(detail_by_key(keys[k], &attribute, &number));
		snprintf(line, sizeof(line), "history|--top|1000000|--by|%s%s", keys[k], window);
		rows = run_json(line);
		for (uint32_t i = 0; i < fabric->port_count; i++) {
			const json_t *row = find_row(rows, fabric->nodes[fabric->ports[i].node].guid,
						     fabric->ports[i].num);
			uint64_t sum;
			bool bound;

			if (!port_is_pollable(fabric, &fabric->ports[i]) ||
			    !detail_truth(port_of(fabric, i), attribute, number, &sum, &bound) || !sum)
				continue;
			assert_non_null(row);
			assert_text(row, "counter", keys[k]);
			assert_true(unsigned_of(known_of(row, "total")) == sum);
			assert_int_equal(json_is_true(json_object_get(row, "at_least")), bound || sum == UINT32_MAX);
			compared++;
		}
		json_decref(rows);
	}
	assert_true(compared > 10);
}

/* The default order is by both directions, where the ends of a link are one row. */
TEST(top_lists_each_link_once_with_both_directions)
{
	const struct fabric *fabric = model->sweep.fabric;
	char line[256];
	json_t *rows, *util;
	size_t links = 0;

	snprintf(line, sizeof(line), "history|--top|1000000%s", window);
	rows = run_json(line);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		uint32_t port = fabric_find_port(fabric, guid_of(row, "node_guid"), (uint8_t)integer_of(row, "port"));
		uint32_t peer = fabric->ports[port].peer;
		double both = json_number_value(known_of(row, "xmit_bytes_per_s")) +
			      json_number_value(known_of(row, "rcv_bytes_per_s"));

		/* A total stops at its maximum. */
		assert_true(unsigned_of(known_of(row, "total")) == UINT64_MAX ||
			    fabs(json_number_value(known_of(row, "mean")) / both - 1) < 1e-6);
		links += peer != FABRIC_NONE;
		assert_true(peer == FABRIC_NONE || !find_row(rows, fabric->nodes[fabric->ports[peer].node].guid,
							     fabric->ports[peer].num));
	}
	assert_true(links > 5);
	json_decref(rows);
	snprintf(line, sizeof(line), "history|--top|3|--by|Util%s", window);
	util = run_json(line);
	assert_text(json_array_get(util, 0), "counter", "utilization_percent");
	json_decref(util);
}

TEST(both_ends_of_a_link_are_shown)
{
	const struct fabric *fabric = model->sweep.fabric;
	uint32_t i = 0;
	char line[512];
	json_t *rows;

	while (fabric->ports[i].peer == FABRIC_NONE || !port_is_pollable(fabric, &fabric->ports[i]))
		i++;
	snprintf(line, sizeof(line), "history|0x%016" PRIx64 "/%u|--peers|--step|1d%s",
		 fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num, window);
	rows = run_json(line);
	assert_non_null(find_row(rows, fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num));
	i = fabric->ports[i].peer;
	assert_non_null(find_row(rows, fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num));
	json_decref(rows);
}

enum { LONG_SWEEPS = 80 };

/* The first node that a sweep has and the one at @ret_last has not. Return: its index, or -1. */
static int find_leaving(const struct model *moving, size_t *ret_first, size_t *ret_last)
{
	for (size_t n = 0; n < moving->node_count; n++)
		for (size_t first = 1; first < LONG_SWEEPS; first++)
			for (size_t last = first + 1; last < LONG_SWEEPS && last < first + 20; last++) {
				uint64_t guid = moving->nodes[n].node.guid;

				if (fabric_find_node(moving->sweeps[first].fabric, guid) == FABRIC_NONE ||
				    fabric_find_node(moving->sweeps[last].fabric, guid) != FABRIC_NONE)
					continue;
				*ret_first = first;
				*ret_last = last;
				return (int)n;
			}
	return -1;
}

/* Query one node over a window that ends after its removal. Return: the exit code. */
static int query_node(const struct model *moving, int node, size_t first, size_t last, struct error *err)
{
	char line[256], since[WHEN_SIZE], until[WHEN_SIZE], *output;
	int code;

	snprintf(line, sizeof(line), "history|0x%016" PRIx64 "|--since|%s|--until|%s|--format|csv",
		 moving->nodes[node].node.guid, when_format_utc(moving->sweeps[first - 1].wall_us, since),
		 when_format_utc(moving->sweeps[last].wall_us, until));
	use_database(path);
	code = run(line, &output, err);
	use_database(NULL);
	free(output);
	return code;
}

TEST_IN_FOLDER(node_removed_in_the_window_has_a_history)
{
	int found = 0;

	for (uint64_t seed = 1; seed < 30 && found < 3; seed++) {
		struct model *moving = model_create(seed, 2, 4, 6);
		struct writer *writer;
		size_t first = 0, last = 0;
		struct error err = { 0 };
		int node, code;

		moving->keep_history = true;
		writer = check_open_writer(path);
		for (int i = 0; i < LONG_SWEEPS; i++)
			check_store(writer, model_step(moving));
		writer_close(writer);
		node = find_leaving(moving, &first, &last);
		if (node >= 0) {
			code = query_node(moving, node, first, last, &err);
			/* Including nodes that never responded. */
			if (code < 0 && !strstr(err.text, "read"))
				fail_msg("%s", err.text);
			found += code == 0;
		}
		test_folder_renew();
		model_destroy(moving);
	}
	assert_true(found > 0);
}

TEST(invalid_request_is_one_error_line_without_output)
{
	assert_refused(
		{ "history|no such node", ERR_USAGE, "no such node" },
		{ "history|0x1234567/3", ERR_USAGE, "0x1234567" },
		{ "history|-c|rcv_byte", ERR_USAGE, "'rcv_bytes'" },
		{ "history|-c|", ERR_USAGE, "use load, util, " },
		{ "history|-c|rcv_bytes,,", ERR_USAGE, "''" },
		{ "history|-c|errors,errors,errors,errors,errors,errors,errors,errors,errors", ERR_USAGE, "at most 8" },
		{ "history|--by|errors", ERR_USAGE, "--top" },
		{ "history|--top|0", ERR_USAGE, "--top" },
		{ "history|--top|3|--by|nonsense", ERR_USAGE, "'nonsense'" },
		{ "history|--top|3|--step|1m", ERR_USAGE, "--step" },
		{ "history|--step|0", ERR_USAGE, "--step" },
		{ "history|--since|-1h|--until|-2h", ERR_USAGE, "--since" },
		{ "history|--since|tomorrowish", ERR_USAGE, "tomorrowish" },
		{ "history|--since|2001-01-01|--until|2001-01-02", ERR_UNAVAILABLE, "stored range:" },
		{ "history|--since|2001-01-01|--until|2001-01-02|--top|3", ERR_UNAVAILABLE, "stored range:" },
		{ "history", ERR_UNAVAILABLE, "no samples between" },
		{ "history|--since|2001-01-01|--step|1s", ERR_USAGE, "give longer ones" },
		{ "history|--html|-|--top|3", ERR_USAGE, "--html" },
		{ "history|--links", ERR_USAGE, "--html" });
}

TEST(the_page_has_plots_findings_and_events)
{
	char line[256], *page;
	struct error err = { 0 };

	snprintf(line, sizeof(line), "history|--html|-%s", window);
	page = run_text(line);
	assert_non_null(strstr(page, "Rate, TX and RX</h3>"));
	assert_non_null(strstr(page, "<h2>Findings</h2>"));
	assert_non_null(strstr(page, "<h2>Events</h2>"));
	assert_non_null(strstr(page, "</html>\n"));
	free(page);
	snprintf(line, sizeof(line), "history|all|--each|--html|-%s", window);
	assert_int_equal(run(line, &page, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "at most 8 series"));
	free(page);
}
