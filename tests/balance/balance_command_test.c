/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `ibwire balance` on a known history: 24 minutes of traffic on a fat-tree; the table of a leaf is
 * skewed after 15, and traffic pauses from 18 to 20. Also reports of jobs of this time by service level.
 */
#define UNIT_TEST_SETUP make_history
#define UNIT_TEST_TEARDOWN remove_history
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/writer.h"
#include "tests/balance/bed.h"

#define SWEEP_US 10000000LL
#define BEGAN_US 1790000000000000LL
#define MINUTE_US 60000000LL

enum { MINUTES = 24, SKEWED_AT = 15, PAUSED_AT = 18, RESUMED_AT = 20, SWEEPS_A_MINUTE = 6 };

static struct bed bed;
static uint32_t leaf, skewed; /* the switch, and its port */
static char path[96];
static struct reading *last, *now;
static struct delta *deltas;
static struct port_sample *samples;
static struct detail_reading *levels, *levels_last; /* PortXmitDataSLExt of all ports, once a minute */
static struct detail_delta *level_deltas;
static struct detail_sample *level_samples;

static char *when(int minute, char ret[WHEN_SIZE])
{
	when_format_utc(BEGAN_US + minute * MINUTE_US, ret);
	return ret;
}

static void fill_reading(uint32_t port, int64_t at_us, bool pause)
{
	const struct balance_load *load = &bed.loads[port];
	double seconds = load->elapsed_us / 1e6;

	now[port] = last[port];
	now[port].at_us = at_us;
	if (pause)
		return;
	now[port].value[COUNTER_XMIT_DATA] += (uint64_t)(load->xmit_bytes / seconds * 10 / 4);
	now[port].value[COUNTER_RCV_DATA] += (uint64_t)(load->rcv_bytes / seconds * 10 / 4);
}

/* Words that the ports of JOB_HOSTS hosts sent and received, when its first and its last reading were made. */
enum { JOB_HOSTS = 4, JOB_FROM = 2, JOB_UNTIL = 14 };
static uint64_t job_words[2][2];

static void count_words(uint64_t words[2])
{
	for (size_t h = 0; h < JOB_HOSTS; h++)
		for (uint32_t i = 0; i < bed.fabric->port_count; i++) {
			char name[32];

			snprintf(name, sizeof(name), "node%04zu", h + 1);
			if (strncmp(bed.fabric->nodes[bed.fabric->ports[i].node].name, name, strlen(name)) ||
			    !port_is_pollable(bed.fabric, &bed.fabric->ports[i]))
				continue;
			words[0] += now[i].value[COUNTER_XMIT_DATA];
			words[1] += now[i].value[COUNTER_RCV_DATA];
		}
}

/* What each port sends: three quarters on SL 0, one on SL 5, none after the pause. Return: the number of readings. */
static size_t sample_levels(int number, int64_t at_us)
{
	size_t count = 0;

	if (number == JOB_FROM * SWEEPS_A_MINUTE || number == (JOB_UNTIL - 1) * SWEEPS_A_MINUTE)
		count_words(job_words[number > JOB_FROM * SWEEPS_A_MINUTE]);
	for (uint32_t i = 0; i < bed.fabric->port_count && number % SWEEPS_A_MINUTE == 0; i++) {
		uint64_t quarter = now[i].value[COUNTER_XMIT_DATA] / 4;
		uint64_t other = number < RESUMED_AT * SWEEPS_A_MINUTE ? quarter : levels[i].value[5];

		if (!port_is_pollable(bed.fabric, &bed.fabric->ports[i]))
			continue;
		levels_last[i] = levels[i];
		levels[i] = (struct detail_reading){
			.attribute = DETAIL_XMIT_DATA_SL_EXT, .present = 0xffff, .at_us = at_us,
			.value = { [0] = 4 * quarter - other, [5] = other },
		};
		if (number)
			detail_delta_between(&levels_last[i], &levels[i], &level_deltas[i]);
		level_samples[count++] = (struct detail_sample){ i, &levels[i], number ? &level_deltas[i] : NULL };
	}
	return count;
}

/* Store a sweep of all ports with their current load. @blocks: of tables that changed. */
static int store_sweep(struct writer *writer, int number, bool pause, const struct route_block *blocks, size_t count)
{
	int64_t at_us = SWEEP_US * (number + 1);
	struct sweep sweep = {
		.wall_us = BEGAN_US + at_us, .start_us = at_us, .end_us = at_us + 1000, .boot_id = "test",
		.interval_us = SWEEP_US, .fabric = bed.fabric, .generation = 1, .samples = samples,
		.routes = &bed.lft.routes, .route_blocks = blocks, .route_block_count = count,
	};

	for (uint32_t i = 0; i < bed.fabric->port_count; i++) {
		if (!port_is_pollable(bed.fabric, &bed.fabric->ports[i]))
			continue;
		fill_reading(i, at_us, pause);
		samples[sweep.sample_count] = (struct port_sample){
			.port = i, .status = SAMPLE_OK, .reading = &now[i], .delta = number ? &deltas[i] : NULL };
		if (number)
			delta_between(&last[i], &now[i], &deltas[i]);
		sweep.sample_count++;
	}
	sweep.details = level_samples;
	sweep.detail_count = sample_levels(number, at_us);
	sweep.ports_planned = sweep.ports_polled = sweep.ports_answered = (uint32_t)sweep.sample_count;
	if (writer_sink(writer)->store(writer_sink(writer)->ctx, &sweep, NULL) < 0)
		return -1;
	memcpy(last, now, bed.fabric->port_count * sizeof(*last));
	return 0;
}

static size_t list_blocks(struct route_block *blocks)
{
	size_t count = 0;

	for (uint32_t i = 0; i < bed.fabric->node_count; i++)
		for (unsigned block = 0; bed_table(&bed, i) && block * ROUTES_BLOCK < bed.lids; block++)
			blocks[count++] = (struct route_block){ bed.fabric->nodes[i].guid, (uint16_t)block };
	return count;
}

static int store_history(struct writer *writer)
{
	struct route_block *blocks = calloc(bed.fabric->node_count * ROUTES_BLOCKS, sizeof(*blocks));
	int code = blocks ? 0 : -1;

	for (int minute = 0; code == 0 && minute < MINUTES; minute++) {
		bool pause = minute >= PAUSED_AT && minute < RESUMED_AT, changed = minute == 0 || minute == SKEWED_AT;

		if (minute == SKEWED_AT) {
			bed_skew(&bed, skewed, 0.5);
		}
		bed_run(&bed, NULL);
		for (int i = 0; code == 0 && i < SWEEPS_A_MINUTE; i++)
			code = store_sweep(writer, minute * SWEEPS_A_MINUTE + i, pause, blocks,
					   changed && i == 0 ? list_blocks(blocks) : 0);
	}
	free(blocks);
	return code;
}

int make_history(void **state)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct writer *writer;
	int code = make_database(state);

	if (code)
		return code;
	snprintf(path, sizeof(path), "%s-balance", db_path);
	shape.oversubscription_milli = 2000;
	shape.management = 0;
	bed_init(&bed, &shape, 3);
	bed_job(&bed, BED_ALL_TO_ALL, 0, bed.hosts.host_count, 24, 0.9);
	leaf = bed_leaf(&bed, 3, 2);
	skewed = bed.shape->members[bed.shape->groups[bed.shape->nodes[leaf].up_group].first + 5];
	last = calloc(bed.fabric->port_count, sizeof(*last));
	now = calloc(bed.fabric->port_count, sizeof(*now));
	deltas = calloc(bed.fabric->port_count, sizeof(*deltas));
	samples = calloc(bed.fabric->port_count, sizeof(*samples));
	levels = calloc(bed.fabric->port_count, sizeof(*levels));
	levels_last = calloc(bed.fabric->port_count, sizeof(*levels_last));
	level_deltas = calloc(bed.fabric->port_count, sizeof(*level_deltas));
	level_samples = calloc(bed.fabric->port_count, sizeof(*level_samples));
	if (!last || !now || !deltas || !samples || writer_open(path, &writer, NULL) < 0)
		return -1;
	for (size_t i = 0; i < bed.fabric->port_count; i++) {
		last[i].present = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA);
		last[i].wide = last[i].present;
	}
	code = store_history(writer);
	writer_close(writer);
	use_database(path);
	return code;
}

int remove_history(void **state)
{
	use_database(NULL);
	bed_done(&bed);
	free(last);
	free(now);
	free(deltas);
	free(samples);
	free(levels);
	free(levels_last);
	free(level_deltas);
	free(level_samples);
	return remove_database(state);
}

static json_t *at(const char *more, int minute)
{
	char line[256], time[WHEN_SIZE];

	snprintf(line, sizeof(line), "balance%s|--at|%s", more, when(minute, time));
	return run_json(line);
}

static bool is_text(const json_t *row, const char *key, const char *text)
{
	return !strcmp(json_string_value(json_object_get(row, key)), text);
}

TEST(the_start_is_found_to_the_minute)
{
	int64_t at_us = BEGAN_US + 22 * MINUTE_US + 2 * SWEEP_US, since_us = 0;
	char line[128], time[WHEN_SIZE];
	json_t *rows;

	snprintf(line, sizeof(line), "balance|leaf-004|--at|%s", when_format_utc(at_us, time));
	rows = run_json(line);
	assert_true(is_text(json_array_get(rows, 0), "cause", "routing"));
	assert_int_equal(when_parse(json_string_value(json_object_get(json_array_get(rows, 0), "uneven_since")), 0,
				    &since_us, NULL), 0);
	if (llabs(since_us - BEGAN_US - SKEWED_AT * MINUTE_US) > SWEEP_US)
		fail_msg("uneven since %g minutes", (double)(since_us - BEGAN_US) / MINUTE_US);
	json_decref(rows);
}

TEST(before_the_change_no_switch_is_reported)
{
	json_t *rows = at("|--all", 14), *row;
	size_t i;

	/* 8 leafs in both directions with 8 uplinks. */
	assert_int_equal(json_array_size(rows), 8 * 2 * 8);
	json_array_foreach(rows, i, row) {
		assert_true(is_text(row, "cause", "none"));
		assert_true(is_text(row, "state", "active"));
		assert_true(json_is_false(json_object_get(row, "tables_uneven")));
	}
	json_decref(rows);
}

TEST(the_skewed_leaf_and_its_port_are_named_since_the_change)
{
	json_t *rows = at("", MINUTES), *row;
	int64_t since_us = 0;
	size_t i, named = 0;

	json_array_foreach(rows, i, row) {
		if (is_text(row, "cause", "none"))
			continue;
		named++;
		assert_true(is_text(row, "cause", "routing"));
		assert_int_equal(guid_of(row, "node_guid"), bed.fabric->nodes[leaf].guid);
		assert_true(is_text(row, "group", "up") && is_text(row, "direction", "xmit"));
		assert_true(is_text(row, "adaptive_routing", "off"));
		assert_int_equal(json_is_true(json_object_get(row, "hottest")),
				 integer_of(row, "port") == bed.fabric->ports[skewed].num);
		assert_true(json_is_false(json_object_get(row, "uneven_earlier")));
		assert_int_equal(when_parse(json_string_value(json_object_get(row, "uneven_since")), 0, &since_us,
					    NULL), 0);
		/* To the minute, over the pause. */
		if (llabs(since_us - BEGAN_US - SKEWED_AT * MINUTE_US) > MINUTE_US)
			fail_msg("uneven since %g minutes", (double)(since_us - BEGAN_US) / MINUTE_US);
	}
	assert_int_equal(named, 8);
	json_decref(rows);
}

/* Utilization is the true load, and the shares of a group sum to 100 %. */
TEST(shares_are_what_was_sent)
{
	json_t *rows = at("|--all", MINUTES), *row;
	double sums[3] = { 0 };
	size_t i;

	json_array_foreach(rows, i, row) {
		uint32_t port = fabric_find_port(bed.fabric, guid_of(row, "node_guid"),
						 (uint8_t)integer_of(row, "port"));
		bool xmit = is_text(row, "direction", "xmit");
		const struct balance_load *load = &bed.loads[port];
		double bits = (xmit ? load->xmit_bytes : load->rcv_bytes) / load->elapsed_us * 8e6;

		assert_number(row, "utilization_percent",
			      100 * bits / (double)port_rate_bits_per_s(&bed.fabric->ports[port]));
		sums[0] += json_number_value(json_object_get(row, "measured_share_percent"));
		sums[1] += json_number_value(json_object_get(row, "predicted_share_percent"));
		sums[2] += json_number_value(json_object_get(row, "destinations_share_percent"));
	}
	for (i = 0; i < 3; i++)
		assert_true(fabs(sums[i] - 16 * 100) < 1e-3);
	json_decref(rows);
}

TEST(in_the_pause_all_is_idle)
{
	json_t *rows = at("", RESUMED_AT);
	char *output, line[128], time[WHEN_SIZE];

	/* Tables alone are no cause. */
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	snprintf(line, sizeof(line), "balance|--at|%s", when(RESUMED_AT, time));
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, "0 groups with a cause, 0 imbalanced without a cause, 0 ok within chance; "
				       "--all also lists 0 balanced, 16 idle, 0 unknown"));
	free(output);
}

TEST(a_table_has_switch_cause_and_start)
{
	char *output, line[160], time[WHEN_SIZE], wanted[96];
	const char *c;

	snprintf(line, sizeof(line), "balance|--ascii|--at|%s", when(MINUTES, time));
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, "1 group with a cause"));
	assert_non_null(strstr(output, "leaf-004 uplinks out: routing\n  the tables route "));
	snprintf(wanted, sizeof(wanted), " LIDs through port %u (fair share: 13 %%), which carries ",
		 bed.fabric->ports[skewed].num);
	assert_non_null(strstr(output, wanted));
	assert_non_null(strstr(output, "adaptive routing off, inferred from the load\n  uneven for 9m"));
	for (c = output; *c; c++)
		assert_true((unsigned char)*c < 0x80);
	free(output);
}

TEST(only_the_given_switch_is_shown)
{
	json_t *rows = at("|leaf-002", MINUTES), *row;
	size_t i;

	assert_int_equal(json_array_size(rows), 2 * 8);
	json_array_foreach(rows, i, row)
		assert_true(is_text(row, "node", "MF0;leaf-002:MQM8700/U1"));
	json_decref(rows);
}

TEST(rails_and_spines_are_compared)
{
	json_t *rows = at("|--rails", MINUTES), *row;
	size_t i, rails = 0, switches = 0;
	double share = 0;

	json_array_foreach(rows, i, row) {
		rails += is_text(row, "kind", "rail");
		if (!is_text(row, "kind", "switch"))
			continue;
		switches++;
		share += json_number_value(json_object_get(row, "measured_share_percent"));
		/* Worst first: the spine behind the port that is overloaded. */
		if (switches == 1)
			assert_int_equal(guid_of(row, "node_guid"), bed.fabric->nodes[
					 bed.fabric->ports[bed.fabric->ports[skewed].peer].node].guid);
	}
	assert_int_equal(rails, 1);
	assert_int_equal(switches, 8);
	assert_true(fabs(share - 100) < 1e-6);
	json_decref(rows);
}

/* All hosts are a tenant that has the whole load. */
TEST(all_hosts_have_the_whole_load)
{
	char line[160], time[WHEN_SIZE], *output;
	json_t *page, *groups, *row;
	size_t i;

	snprintf(line, sizeof(line), "balance|--hosts|node[0001-%04zu]|--at|%s", bed.hosts.host_count,
		 when(SKEWED_AT, time));
	page = run_json(line);
	assert_int_equal(integer_of(json_object_get(page, "tenant"), "hosts"), bed.hosts.host_count);
	groups = json_object_get(page, "groups");
	assert_int_equal(json_array_size(groups), 16);
	json_array_foreach(groups, i, row)
		assert_true(json_number_value(json_object_get(row, "tenant_share_percent")) > 97);
	json_decref(page);
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, "if its ports send to each other first"));
	assert_non_null(strstr(output, "UPLINKS OF"));
	free(output);
}

/* Of a link both ends, and of a group all links; the window is longer than without --by. */
TEST(load_is_divided_by_service_level)
{
	char line[160], time[WHEN_SIZE], *output;
	json_t *rows, *row, *hottest;
	size_t i;

	snprintf(line, sizeof(line), "balance|--by|sl|--at|%s", when(PAUSED_AT, time));
	rows = run_json(line);
	assert_int_equal(json_array_size(rows), 16);
	json_array_foreach(rows, i, row) {
		assert_true(fabs(json_number_value(json_object_get(row, "sl0_percent")) - 75) < 0.01);
		assert_true(fabs(json_number_value(json_object_get(row, "sl5_percent")) - 25) < 0.01);
		assert_true(json_number_value(json_object_get(row, "sl1_percent")) == 0);
		assert_int_equal(integer_of(row, "links_read"), integer_of(row, "links"));
	}
	hottest = json_array_get(rows, 0);
	assert_true(json_number_value(json_object_get(hottest, "load_bytes_per_s")) > 1e9);
	json_decref(rows);
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, "SL0%  SL5%\n"));
	assert_null(strstr(output, "SL1%"));
	free(output);
}

/* Begin a job and end it, both at seconds of the history. */
static void import_job(const char *id, int from_s, int until_s)
{
	char file[128], line[160], *output;
	FILE *rows;

	snprintf(file, sizeof(file), "%s-jobs", path);
	rows = fopen(file, "w");
	assert_non_null(rows);
	fprintf(rows, "JobID|Cluster|State|Start|End|NodeList\n%s|a|COMPLETED|%lld|%lld|node[0001-%04d]\n", id,
		BEGAN_US / 1000000 + from_s, BEGAN_US / 1000000 + until_s, JOB_HOSTS);
	fclose(rows);
	snprintf(line, sizeof(line), "job|import|%s", file);
	assert_int_equal(run(line, &output, NULL), 0);
	free(output);
	remove(file);
}

/*
 * By readings within the job: the one before it is not counted, nor is what was sent after the last one. Hosts send on
 * both service levels, and the other ends of their links have counted what they receive.
 */
TEST(data_of_a_job_is_divided_by_service_level)
{
	json_t *report, *rows, *row;
	char *output;
	size_t i;

	import_job("10", 60 * JOB_FROM, 60 * JOB_UNTIL);
	report = run_json("job|report|10");
	rows = json_object_get(report, "service_levels");
	assert_int_equal(json_array_size(rows), 2);
	json_array_foreach(rows, i, row) {
		double part = i ? 0.25 : 0.75;

		assert_int_equal(integer_of(row, "sl"), i ? 5 : 0);
		assert_true(fabs(json_number_value(json_object_get(row, "share_percent")) - 100 * part) < 0.01);
		for (int d = 0; d < 2; d++) {
			double bytes = 4 * part * (double)(job_words[1][d] - job_words[0][d]);
			double is = json_number_value(json_object_get(row, d ? "rcv_bytes" : "xmit_bytes"));

			if (!(bytes > 1e9) || fabs(is / bytes - 1) > 1e-6)
				fail_msg("%g bytes, not %g", is, bytes);
		}
		assert_int_equal(integer_of(row, "ports"), integer_of(row, "ports_read"));
		assert_true(fabs(json_number_value(json_object_get(row, "covered_percent")) - 100 * 660.0 / 720) < 0.1);
	}
	assert_int_equal(integer_of(json_array_get(rows, 0), "ports"),
			 json_array_size(json_object_get(report, "ports")));
	json_decref(report);
	assert_int_equal(run("job|report|10", &output, NULL), 0);
	assert_non_null(strstr(output, "DATA BY SERVICE LEVEL (4 of 4 ports; readings cover 92 % of the job)\nSL "));
	free(output);
	assert_int_equal(run("job|report|10|--html|-", &output, NULL), 0);
	assert_non_null(strstr(output, "Data by service level"));
	free(output);
}

/* Less than two readings, and one service level only. */
TEST(without_several_service_levels_a_job_has_none)
{
	static const int times[][2] = { { 120, 180 }, { 60 * RESUMED_AT + 20, 60 * MINUTES } };
	char id[8], line[32], *output;
	json_t *report;

	for (size_t i = 0; i < 2; i++) {
		snprintf(id, sizeof(id), "%zu", 20 + i);
		import_job(id, times[i][0], times[i][1]);
		snprintf(line, sizeof(line), "job|report|%s", id);
		report = run_json(line);
		assert_true(json_object_get(json_object_get(report, "job"), "xmit_bytes") != NULL);
		assert_int_equal(json_array_size(json_object_get(report, "service_levels")), 0);
		json_decref(report);
		assert_int_equal(run(line, &output, NULL), 0);
		assert_null(strstr(output, "service level"));
		free(output);
	}
}

/* Ports by data on one service level, as in an example of ibwire-history(1). */
TEST(history_lists_the_ports_with_most_data_on_a_service_level)
{
	char line[160], since[WHEN_SIZE], until[WHEN_SIZE], *output;
	double before = INFINITY;
	json_t *rows, *row;
	size_t i;

	snprintf(line, sizeof(line), "history|--top|20|--by|xmit_data_sl5_ext|--since|%s|--until|%s", when(2, since),
		 when(PAUSED_AT, until));
	rows = run_json(line);
	assert_int_equal(json_array_size(rows), 20);
	json_array_foreach(rows, i, row) {
		double total = json_number_value(json_object_get(row, "total"));

		assert_true(total > 1e9 && total <= before);
		before = total;
		assert_true(is_text(row, "unit", "words"));
	}
	json_decref(rows);
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, " Gb/s "));
	assert_non_null(strstr(output, " TB "));
	free(output);
}

/* Over time, for both directions of a port; the loads are those of the other counters, which are read more often. */
TEST(history_of_a_port_is_divided_by_service_level)
{
	enum { FROM = 2, STEP = 4, STEPS = 3 };
	char line[192], since[WHEN_SIZE], until[WHEN_SIZE], *output;
	json_t *rows, *row, *loads, *load;
	size_t i;

	when(FROM, since);
	when(FROM + STEP * STEPS, until);
	snprintf(line, sizeof(line), "history|leaf-002/17|--by|sl|--step|4m|--since|%s|--until|%s", since, until);
	rows = run_json(line);
	assert_int_equal(json_array_size(rows), 2 * STEPS);
	snprintf(line, sizeof(line), "history|leaf-002/17|--step|4m|--since|%s|--until|%s", since, until);
	loads = run_json(line);
	assert_true(json_array_size(loads) >= 2 * STEPS);
	json_array_foreach(rows, i, row) {
		double bytes = json_number_value(json_object_get(row, "load_bytes_per_s"));

		assert_true(is_text(row, "direction", i < STEPS ? "xmit" : "rcv"));
		assert_int_equal(integer_of(row, "port"), 17);
		assert_int_equal(integer_of(row, "ports_read"), 1);
		assert_true(fabs(json_number_value(json_object_get(row, "sl0_percent")) - 75) < 0.01);
		assert_true(fabs(json_number_value(json_object_get(row, "sl5_percent")) - 25) < 0.01);
		load = json_array_get(loads, i < STEPS ? 0 : json_array_size(loads) - 1);
		assert_true(is_text(load, "counter", i < STEPS ? "xmit_bytes" : "rcv_bytes"));
		assert_true(bytes > 1e9);
		assert_true(fabs(bytes / json_number_value(json_object_get(load, "mean")) - 1) < 1e-3);
	}
	json_decref(rows);
	json_decref(loads);
	/* After the pause, on one of them. */
	snprintf(line, sizeof(line), "history|leaf-002/17|--by|sl|--since|%s|--until|%s", when(RESUMED_AT + 1, since),
		 when(MINUTES, until));
	rows = run_json(line);
	assert_int_equal(json_array_size(rows), 2);
	assert_true(json_number_value(json_object_get(json_array_get(rows, 0), "sl0_percent")) == 100);
	json_decref(rows);
	assert_int_equal(run(line, &output, NULL), 0);
	assert_non_null(strstr(output, "LOAD   SL0%\n"));
	free(output);
}

TEST(usage_errors_are_one_line)
{
	struct error err = { 0 };
	char *output;

	assert_int_equal(run("balance|--hosts|node0001|--rails", &output, &err), ERR_USAGE);
	free(output);
	assert_int_equal(run("balance|--hosts|nobody", &output, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "--hosts"));
	free(output);
	assert_int_equal(run("balance|--partition|12x", &output, &err), ERR_USAGE);
	free(output);
	assert_int_equal(run("balance|--by|vl", &output, &err), ERR_USAGE);
	free(output);
	assert_int_equal(run("history|--by|sl|--step|1s|--since|2001-01-01|--until|now", &output, &err), ERR_USAGE);
	free(output);
	assert_int_equal(run("history|--by|sl|--top|3", &output, &err), ERR_USAGE);
	free(output);
	/* The history has no P_Keys. */
	assert_int_equal(run("balance|--partition|0x12", &output, &err), ERR_UNAVAILABLE);
	free(output);

	assert_int_equal(run("balance|--rails|leaf-002", &output, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "--rails"));
	free(output);
	assert_int_equal(run("balance|no-such-switch", &output, &err), ERR_USAGE);
	free(output);
	assert_int_equal(run("balance|--at|2001-01-01", &output, &err), ERR_UNAVAILABLE);
	free(output);
}

/* A fabric of random links without tables and tiers. */
TEST(any_fabric_has_an_output)
{
	char *output;

	use_database(NULL);
	assert_int_equal(run("balance|--all", &output, NULL), 0);
	assert_non_null(strstr(output, "no forwarding tables at this time"));
	free(output);
	assert_int_equal(run("balance|--rails|--all", &output, NULL), 0);
	free(output);
	use_database(path);
}

TEST(tier_and_uplinks_are_subjects)
{
	json_t *spines = run_json("nodes|tier:2"), *uplinks = run_json("ports|tier:1 uplinks");
	json_t *all = run_json("nodes");
	size_t expected = 0;

	for (size_t i = 0; i < json_array_size(all); i++)
		expected += integer_of(json_array_get(all, i), "tier") == 2;
	assert_true(expected > 0);
	assert_int_equal(json_array_size(spines), expected);
	for (size_t i = 0; i < expected; i++)
		assert_int_equal(integer_of(json_array_get(spines, i), "tier"), 2);
	assert_true(json_array_size(uplinks) > 0);
	for (size_t i = 0; i < json_array_size(uplinks); i++)
		assert_text(json_array_get(uplinks, i), "role", "leaf-uplink");
	json_decref(spines);
	json_decref(uplinks);
	json_decref(all);
}
