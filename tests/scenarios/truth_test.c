/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/scenarios/files.h"
#include "tests/world/collect.h"
#include "tests/world/scenario.h"
#include "tests/world/virtual.h"

/*
 * At each sweep of each scenario: the stored findings are those of the sweep, a present tense is used only while the
 * condition holds, and the numbers are those of `ibwire ports` and `ibwire balance` for the same window.
 */
static int (*store_sweep)(void *ctx, const struct sweep *sweep, struct error *err);
static struct truth {
	const char *name;
	struct reader *reader;
	/* A ring of texts whose numbers were compared, and the ends of their windows. */
	char checked[64][sizeof(((struct finding *)0)->text)];
	int64_t until_us[64];
	unsigned next;
	size_t texts, numbers, clearing, opened;
	int64_t walls_us[2000]; /* of the sweeps */
	size_t sweeps;
	uint64_t dated[512]; /* findings whose `since` was compared */
	size_t dated_count;
	unsigned of_kind[FINDING_KIND_COUNT]; /* texts */
	struct { uint64_t hash; int64_t wall_us; } reported[20000]; /* texts of findings, oldest first */
	size_t reported_count;
} truth;

static void untrue(const struct finding *finding, const char *what)
{
	print_message("# %s: %s %s: \"%s\"\n", truth.name, finding_kind_name(finding->kind), finding->subject,
		      finding->text);
	for (unsigned i = 0; i < finding->number_count; i++)
		print_message("#   %s %.9g\n", finding->numbers[i].key, finding->numbers[i].value);
	fail_msg("%s", what);
}

static double number_of(const struct finding *finding, const char *key)
{
	for (unsigned i = 0; i < finding->number_count; i++)
		if (!strcmp(finding->numbers[i].key, key))
			return finding->numbers[i].value;
	return NAN;
}

static void check_tense(const struct finding *finding)
{
	static const char *const present[] = { " is ", " are ", " has ", " have ", " carries ", " responds ",
					       " respond ", " runs ", " uses ", " forwards ", " stall ", " stalls ",
					       " cannot " };
	char text[sizeof(finding->text) + 2];

	snprintf(text, sizeof(text), " %s", finding->text);
	for (size_t i = 0; finding->ok_since_us && i < sizeof(present) / sizeof(present[0]); i++)
		if (strstr(text, present[i]))
			untrue(finding, "it is clearing, and its text is in the present tense");
}

/* A finding about the present state of a node, a link or the SM agrees with the sweep that reports it. */
static void check_moment(const struct finding *finding, const struct sweep *sweep)
{
	uint32_t node = fabric_find_node(sweep->fabric, finding->node_guid), responded = 0;
	uint32_t port = fabric_find_port(sweep->fabric, finding->node_guid, finding->port);

	for (size_t i = 0; i < sweep->sample_count; i++)
		responded += sweep->fabric->ports[sweep->samples[i].port].node == node &&
			     sweep->samples[i].status == SAMPLE_OK;
	if (finding->ok_since_us)
		return;
	if (finding->kind == FINDING_NODE_SILENT && responded)
		untrue(finding, "the node responded in this sweep");
	if (finding->kind == FINDING_LINK_DOWN && port != FABRIC_NONE &&
	    sweep->fabric->ports[port].state == PORT_ACTIVE)
		untrue(finding, "the port is Active in this sweep");
	if (finding->kind == FINDING_SM_LOST && !finding->tag && sweep->sm.known && sweep->sm.state == 3)
		untrue(finding, "a master responded in this sweep");
}

/* @finding: NULL: of the whole fabric */
static json_t *rows_of(const char *command, const struct finding *finding, bool of_peer, int64_t from_us,
		       int64_t until_us)
{
	char line[256], from[WHEN_SIZE], until[WHEN_SIZE], place[64];
	uint64_t guid = !finding ? 0 : of_peer ? finding->peer_guid : finding->node_guid;
	unsigned port = !finding ? 0 : of_peer ? finding->peer_port : finding->port;

	snprintf(place, sizeof(place), port ? "|0x%016" PRIx64 "/%u" : "|0x%016" PRIx64, guid, port);
	snprintf(line, sizeof(line), "%s%s|--since|%s|--until|%s", command, guid ? place : "",
		 when_format_utc(from_us, from), when_format_utc(until_us, until));
	return run_json(line);
}

/* The sum of some counters of a port; its LinkDowned is added to @ret_downs. */
static double counted(const struct finding *finding, bool of_peer, const char *const keys[4], int64_t from_us,
		      int64_t until_us, double *ret_downs)
{
	json_t *rows = rows_of("ports", finding, of_peer, from_us, until_us);
	const json_t *counters = json_object_get(json_array_get(rows, 0), "errors");
	double sum = 0;

	for (unsigned i = 0; i < 4 && keys[i]; i++)
		sum += json_number_value(json_object_get(counters, keys[i]));
	*ret_downs += json_number_value(json_object_get(counters, "link_downed"));
	json_decref(rows);
	return sum;
}

static void compare(const struct finding *finding, const char *key, double expected)
{
	if (!(fabs(number_of(finding, key) - expected) <= 1e-6 * fabs(expected) + 1e-6)) {
		print_message("# %s: %.9g\n", key, expected);
		untrue(finding, "a command shows another number for this window");
	}
	truth.numbers++;
}

/* Errors just after link-up are not counted: if the link was down, the counter may be above the number. */
static void compare_counts(const struct finding *finding, int64_t from_us, int64_t until_us)
{
	static const struct { enum finding_kind kind; const char *number, *keys[4]; } counts[] = {
		{ FINDING_SYMBOL_ERRORS, "symbol_errors", { "symbol_errors" } },
		{ FINDING_RECEIVE_ERRORS, "receive_errors_per_hour", { "rcv_errors" } },
		{ FINDING_RECEIVE_ERRORS, "vl15_dropped_per_5min", { "vl15_dropped" } },
		{ FINDING_XMIT_DISCARDS, "discards_per_5min", { "xmit_discards" } },
		{ FINDING_LINK_ERRORS, "link_errors_per_5min",
		  { "link_error_recovery", "local_link_integrity_errors", "excessive_buffer_overrun_errors" } },
		{ FINDING_CONSTRAINT_ERRORS, "constraint_errors_per_5min",
		  { "xmit_constraint_errors", "rcv_constraint_errors" } },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		double value = number_of(finding, counts[i].number), near, far, downs = 0;
		bool is_least;

		if (finding->kind != counts[i].kind || isnan(value))
			continue;
		near = counted(finding, false, counts[i].keys, from_us, until_us, &downs);
		far = finding->peer_guid ? counted(finding, true, counts[i].keys, from_us, until_us, &downs) : near;
		if (downs > 0 && value <= fmax(near, far))
			continue;
		compare(finding, counts[i].number, value == far ? far : near);
		is_least = !strncmp(finding->text, "at least ", 9);
		if (is_least != (number_of(finding, "lower_bound") == 1))
			untrue(finding, "its text and its numbers differ about a lower bound");
		if (strtod(finding->text + (is_least ? 9 : 0), NULL) != value && !strstr(finding->text, "discarded "))
			untrue(finding, "its text does not begin with its number");
	}
}

static void compare_balance(const struct finding *finding, int64_t from_us, int64_t until_us)
{
	json_t *rows = rows_of("balance", finding, false, from_us, until_us), *row;
	unsigned port = 0, percent = 0, found = 0;
	size_t i;

	json_array_foreach(rows, i, row) {
		bool sent = !strcmp(json_string_value(json_object_get(row, "direction")), "xmit");

		if (sent != (finding->tag == BALANCE_XMIT + 1) ||
		    integer_of(row, "port") != (int64_t)number_of(finding, "hottest_port"))
			continue;
		compare(finding, "measured_percent",
			json_number_value(json_object_get(row, "measured_share_percent")));
		compare(finding, "fair_percent", json_number_value(json_object_get(row, "capacity_share_percent")));
		compare(finding, "excess_percent", json_number_value(json_object_get(row, "excess_percent")));
		compare(finding, "hottest_utilization_percent",
			json_number_value(json_object_get(row, "utilization_percent")));
		found++;
	}
	json_decref(rows);
	if (!found)
		untrue(finding, "balance does not show its port");
	if (sscanf(finding->text, "port %u carrie%*c %u %%", &port, &percent) != 2 ||
	    port != (unsigned)number_of(finding, "hottest_port") ||
	    percent != (unsigned)lround(number_of(finding, "measured_percent")))
		untrue(finding, "its text and its numbers differ");
}

/* The compute HCAs in a window by host and rail, as `ibwire ports` shows them. */
static struct rail_table {
	char hosts[64][64], names[16][64];
	double bytes[64][16], percent[64][16];
	unsigned active[64];  /* rails, by bit */
	unsigned host_count, rail_count;
} table;

static unsigned find_name(char (*names)[64], unsigned *count, unsigned most, const char *name, size_t len)
{
	unsigned i;

	for (i = 0; i < *count && (strncmp(names[i], name, len) || names[i][len]); i++)
		;
	assert_true(i < most && len < 64);
	if (i == *count)
		snprintf(names[(*count)++], 64, "%.*s", (int)len, name);
	return i;
}

static void read_rails(int64_t from_us, int64_t until_us)
{
	json_t *rows = rows_of("ports", NULL, false, from_us, until_us), *row;
	size_t i;

	memset(&table, 0, sizeof(table));
	json_array_foreach(rows, i, row) {
		const char *node = json_string_value(json_object_get(row, "node"));
		const char *rail = json_string_value(json_object_get(row, "rail"));
		double percent = fmax(json_number_value(json_object_get(row, "xmit_utilization_percent")),
				      json_number_value(json_object_get(row, "rcv_utilization_percent")));
		unsigned r, host;

		if (!rail || strcmp(json_string_value(json_object_get(row, "role")), "compute"))
			continue;
		r = find_name(table.names, &table.rail_count, 16, rail, strlen(rail));
		host = find_name(table.hosts, &table.host_count, 64, node, strcspn(node, " "));
		table.bytes[host][r] = (json_number_value(json_object_get(row, "xmit_bytes_per_s")) +
					json_number_value(json_object_get(row, "rcv_bytes_per_s"))) *
				       json_number_value(json_object_get(row, "window_s"));
		table.percent[host][r] = percent;
		/* The default of struct balance_settings. */
		table.active[host] |= (unsigned)(percent >= 5) << r;
	}
	json_decref(rows);
}

/* Load of a rail in percent of the median of the active rails of its host. */
static double of_its_host(unsigned host, unsigned rail)
{
	double values[16];
	size_t count = 0;

	for (unsigned r = 0; r < table.rail_count; r++)
		if (table.active[host] & 1u << r)
			values[count++] = table.bytes[host][r];
	return 100 * table.bytes[host][rail] / balance_median(values, count);
}

/* The most hosts with the same active rails: those of @host, @rail and at most one more; without @rail: any. */
static unsigned like_hosts(unsigned host, unsigned rail)
{
	unsigned most = 0;

	for (unsigned i = 0; i < table.host_count; i++) {
		unsigned more = table.active[i] & ~table.active[host], count = 0;

		for (unsigned j = 0; j < table.host_count; j++)
			count += table.active[j] == table.active[i];
		if (more && !(table.active[host] & ~table.active[i]) && count > most &&
		    (rail == table.rail_count || (more & 1u << rail && __builtin_popcount(more) <= 2)))
			most = count;
	}
	return most;
}

static void compare_rails(const struct finding *finding, int64_t from_us, int64_t until_us)
{
	const char *name = strstr(finding->subject, " rail ");
	double values[64], idle = 0;
	unsigned host, rail, busy = 0;
	size_t count = 0;
	char words[64];

	read_rails(from_us, until_us);
	for (unsigned i = 0; i < table.host_count; i++)
		busy += table.active[i] != 0;
	if (finding->kind == FINDING_NIC_UNUSED && finding->tag) {
		compare(finding, "busy_hosts", busy);
		return;
	}
	host = find_name(table.hosts, &table.host_count, 64, finding->subject, strcspn(finding->subject, " "));
	rail = name ? find_name(table.names, &table.rail_count, 16, name + 6, strlen(name + 6)) : table.rail_count;
	for (unsigned r = 0; r < table.rail_count; r++)
		if (r == rail || rail == table.rail_count)
			idle = fmax(idle, table.percent[host][r]);
	for (unsigned i = 0; i < table.host_count; i++)
		if (table.active[i] == table.active[host] && rail < table.rail_count)
			values[count++] = of_its_host(i, rail);
	if (finding->kind == FINDING_NIC_UNUSED) {
		compare(finding, "like_hosts", like_hosts(host, rail));
		compare(finding, "utilization_percent", idle);
		snprintf(words, sizeof(words), idle > 0 ? "carries only %.1f %% of its rate" : "carries no traffic",
			 idle);
	} else {
		compare(finding, "of_other_rails_percent", of_its_host(host, rail));
		compare(finding, "like_hosts_percent", balance_median(values, count));
		snprintf(words, sizeof(words), "carries %.0f %% of the load of the other %d rails",
			 of_its_host(host, rail), __builtin_popcount(table.active[host]) - 1);
	}
	if (strncmp(finding->text, words, strlen(words)))
		untrue(finding, words);
}

/* Coverage by the samples of the sweep; unresponsive nodes may have findings of their own instead. */
static void compare_coverage(const struct finding *finding, const struct sweep *sweep)
{
	double missing = number_of(finding, "ports_missing"), percent = number_of(finding, "coverage_percent");
	unsigned polled = 0, responded = 0;
	char words[64];

	for (size_t i = 0; i < sweep->sample_count; i++) {
		enum sample_status status = sweep->samples[i].status;

		responded += status == SAMPLE_OK;
		polled += status == SAMPLE_OK || status == SAMPLE_SILENT || status == SAMPLE_BACKOFF ||
			  status == SAMPLE_UNFINISHED;
	}
	polled += (unsigned)number_of(finding, "ports_to_unidentified_nodes");
	compare(finding, "coverage_percent", 100 - 100 * missing / polled);
	compare(finding, "ports_missing", polled - responded);
	snprintf(words, sizeof(words), "%.1f %% of %u ports were read", percent, polled);
	if (strncmp(finding->text, words, strlen(words)))
		untrue(finding, words);
}

/* The state of a finding's subject in a command at a time: "down", "silent", "ok", "master", ...; "": none. */
static void state_at(const struct finding *finding, int64_t at_us, char ret[32])
{
	static const struct { enum finding_kind kind; const char *command, *key; } states[] = {
		{ FINDING_LINK_DOWN, "links", "state" }, { FINDING_NODE_SILENT, "ports", "status" },
		{ FINDING_SM_LOST, "status", "sm_state" }, { FINDING_LINK_DEGRADED, "ports", "rate_gbps" },
	};
	char line[160], when[WHEN_SIZE];
	const json_t *value;
	json_t *rows;

	*ret = '\0';
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (finding->kind != states[i].kind || finding->tag)
			continue;
		snprintf(line, sizeof(line), "%s|--at|%s", states[i].command, when_format_utc(at_us, when));
		if (finding->node_guid)
			snprintf(line + strlen(line), 64, finding->port ? "|0x%016" PRIx64 "/%u" : "|0x%016" PRIx64,
				 finding->node_guid, finding->port);
		rows = run_json(line);
		value = json_object_get(json_is_array(rows) ? json_array_get(rows, 0) : rows, states[i].key);
		if (json_is_number(value))
			snprintf(ret, 32, "%g", json_number_value(value));
		else
			snprintf(ret, 32, "%s", json_is_string(value) ? json_string_value(value) : "none");
		json_decref(rows);
	}
}

/* The state changed with the first sweep of the finding. */
static void compare_since(const struct finding *finding, int64_t last_good_us)
{
	uint64_t key = finding->node_guid ^ (uint64_t)finding->since_us << 8 ^ finding->port ^
		       (uint64_t)finding->kind << 56;
	char before[32], since[32];

	for (size_t i = 0; i < truth.dated_count; i++)
		if (truth.dated[i] == key)
			return;
	assert_true(truth.dated_count < sizeof(truth.dated) / sizeof(truth.dated[0]));
	truth.dated[truth.dated_count++] = key;
	state_at(finding, last_good_us, before);
	state_at(finding, finding->since_us, since);
	if (*before && !strcmp(before, since))
		untrue(finding, "its state did not change when it began");
}

/*
 * "for 74 s" counts from the last sweep in which the condition did not hold, which is the one before `since`. Where
 * that is before the recording, its time is unknown.
 */
static void compare_duration(const struct finding *finding, const struct sweep *sweep)
{
	static const char *const keys[] = { "down_s", "silent_s", "lost_s" };
	size_t last_good = truth.sweeps;
	double age_s;
	long long s;
	char words[64];

	if (finding->since_us > sweep->wall_us)
		untrue(finding, "`since` is later than the sweep");
	while (last_good && truth.walls_us[last_good - 1] >= finding->since_us)
		last_good--;
	if (!last_good)
		return;
	compare_since(finding, truth.walls_us[last_good - 1]);
	age_s = (double)(sweep->wall_us - truth.walls_us[last_good - 1]) / US_PER_S;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (isnan(number_of(finding, keys[i])))
			continue;
		compare(finding, keys[i], age_s);
		s = (long long)number_of(finding, keys[i]);
		snprintf(words, sizeof(words), s < 120 ? " %lld s" : s < 7200 ? " %lld min" : " %lld h",
			 s < 120 ? s : s < 7200 ? s / 60 : s / 3600);
		if (!strstr(finding->text, words))
			untrue(finding, words);
	}
}

static void check_numbers(const struct finding *finding)
{
	int64_t from_us, until_us;
	bool windowed = finding_window(finding, &from_us, &until_us);

	for (unsigned i = 0; i < 64; i++)
		if (!strcmp(truth.checked[i], finding->text) && truth.until_us[i] == until_us)
			return;
	truth.until_us[truth.next % 64] = until_us;
	memcpy(truth.checked[truth.next++ % 64], finding->text, sizeof(finding->text));
	truth.texts++;
	/* In the short form the first text of each kind, and every fourth one after it. */
	if (!windowed || truth.of_kind[finding->kind]++ % (8 / test_cases(8)))
		return;
	compare_counts(finding, from_us, until_us);
	if (finding->kind == FINDING_UPLINK_IMBALANCE)
		compare_balance(finding, from_us, until_us);
	if (finding->kind == FINDING_NIC_UNUSED || finding->kind == FINDING_RAIL_IMBALANCE)
		compare_rails(finding, from_us, until_us);
	if (finding->kind == FINDING_CONGESTION) {
		json_t *rows = rows_of("ports", finding, false, from_us, until_us);

		if (!strstr(finding->text, "full"))
			compare(finding, "stall_percent",
				json_number_value(json_object_get(json_array_get(rows, 0), "stall_percent")));
		json_decref(rows);
	}
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0;

	for (; *text; text++)
		hash = map_mix(hash ^ (unsigned char)*text);
	return hash;
}

/* Texts between changes of state are stored at most this late (docs/storage.md), but for a sweep. */
#define TEXT_LATE_US ((600 + 60) * US_PER_S)

static bool was_reported(const char *text, int64_t now_us)
{
	uint64_t hash = hash_of(text);

	for (size_t i = truth.reported_count; i-- && now_us - truth.reported[i].wall_us <= TEXT_LATE_US;)
		if (truth.reported[i].hash == hash)
			return true;
	return false;
}

/* The stored findings are those of the sweep; texts are stored less often than they change (docs/storage.md). */
struct stored_check { const struct sweep *sweep; size_t count; };

static bool is_as_reported(void *ctx, const struct finding_row *row)
{
	struct stored_check *check = ctx;
	const struct finding *stored = &row->finding;

	for (size_t i = 0; i < check->sweep->finding_count; i++) {
		const struct finding *finding = check->sweep->findings[i];

		if (stored->kind != finding->kind || stored->node_guid != finding->node_guid ||
		    stored->port != finding->port || stored->tag != finding->tag)
			continue;
		check->count++;
		if (was_reported(stored->text, check->sweep->wall_us) && stored->ok_since_us == finding->ok_since_us &&
		    stored->severity == finding->severity)
			continue;
		print_message("# stored: \"%s\"\n", stored->text);
		untrue(finding, "the stored finding is another one");
	}
	return true;
}

static int store_and_check(void *ctx, const struct sweep *sweep, struct error *err)
{
	const struct finding_query query = { .now_us = sweep->wall_us };
	struct stored_check check = { .sweep = sweep };
	int code = store_sweep(ctx, sweep, err);

	assert_true(truth.sweeps < sizeof(truth.walls_us) / sizeof(truth.walls_us[0]));
	truth.walls_us[truth.sweeps++] = sweep->wall_us;
	for (size_t i = 0; i < sweep->finding_count; i++) {
		assert_true(truth.reported_count < sizeof(truth.reported) / sizeof(truth.reported[0]));
		truth.reported[truth.reported_count].wall_us = sweep->wall_us;
		truth.reported[truth.reported_count++].hash = hash_of(sweep->findings[i]->text);
	}
	for (size_t i = 0; i < sweep->event_count; i++)
		truth.opened += !strcmp(sweep->events[i].kind, "finding-opened");
	if (code < 0 || !sweep->finding_count)
		return code;
	if (!truth.reader)
		code = reader_open(path, &truth.reader, err);
	if (code == 0)
		code = reader_findings(truth.reader, &query, is_as_reported, &check, err);
	assert_int_equal(check.count, sweep->finding_count);
	for (size_t i = 0; code == 0 && i < sweep->finding_count; i++) {
		const struct finding *finding = sweep->findings[i];

		check_tense(finding);
		check_moment(finding, sweep);
		truth.clearing += finding->ok_since_us != 0;
		if (finding->ok_since_us)
			continue;
		check_numbers(finding);
		compare_duration(finding, sweep);
		if (finding->kind == FINDING_COVERAGE)
			compare_coverage(finding, sweep);
	}
	return code;
}

/* @restart_us: the collector is restarted then; 0: it is not */
static void run_true(const char *name, int64_t restart_us)
{
	char *file = scenario_file(name);
	const int64_t end_us = INT64_C(1790000000000000);
	struct virtual *world = NULL;
	struct writer *writer = NULL;
	struct scenario scenario;
	struct error err = { 0 };
	struct sink sink;

	test_folder_renew();
	use_database(path);
	if (scenario_load(file, &scenario, &err) < 0 || scenario_begin(&scenario, &world, &err) < 0 ||
	    writer_open(path, &writer, &err) < 0)
		fail_msg("%s", err.text);
	truth = (struct truth){ .name = name };
	world->restart_us = restart_us;
	sink = *writer_sink(writer);
	store_sweep = sink.store;
	sink.store = store_and_check;
	if (world_collect(world, scenario.interval_us, scenario.length_us, end_us - scenario.length_us, &sink, NULL,
			  &err) < 0)
		fail_msg("%s", err.text);
	reader_close(truth.reader);
	writer_close(writer);
	virtual_destroy(world);
	scenario_done(&scenario);
	use_database(NULL);
	free(file);
	print_message("# note: %zu texts, %zu numbers compared, %zu findings clearing\n", truth.texts, truth.numbers,
		      truth.clearing);
}

static void findings_are_true(void **state)
{
	run_true(*state, 0);
}

/* While errors continue, a finding remains open: it neither clears nor opens again. */
static void a_restart_of_the_collector_changes_no_finding(void **state)
{
	static const char *const names[] = { "link-recoveries", "discards-trunk", "discards-host", "partition-mismatch",
					     "receive-errors-trunk", "symbol-errors-trunk" };
	char name[64];

	(void)state;
	for (size_t i = 0; i < test_cases(sizeof(names) / sizeof(names[0])); i++) {
		snprintf(name, sizeof(name), "%s.scenario", names[i]);
		run_true(name, 15 * 60 * US_PER_S);
		if (truth.clearing || truth.opened != 1)
			fail_msg("%s: opened %zu times, clearing in %zu sweeps", name, truth.opened, truth.clearing);
	}
}

int main(void)
{
	static char demo[] = "../../sim/demo.scenario";
	static struct CMUnitTest tests[SCENARIO_FILES_MAX + 2] = {
		{ "findings of the demo are true", findings_are_true, test_folder_make, test_folder_remove, demo },
		cmocka_unit_test_setup_teardown(a_restart_of_the_collector_changes_no_finding,
						test_folder_make, test_folder_remove),
	};
	char *names[SCENARIO_FILES_MAX];
	size_t files = scenario_files(names), count = 2;
	int failed;

	for (size_t i = 0; i < files; i++)
		if (scenario_file_is_run(i, 9))
			tests[count++] = (struct CMUnitTest){ names[i], findings_are_true, test_folder_make,
							      test_folder_remove, names[i] };
	failed = _cmocka_run_group_tests("truth", tests, count, NULL, NULL);
	while (files-- > 0)
		free(names[files]);
	return failed;
}
