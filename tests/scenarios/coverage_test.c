/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Burn-in of a virtual fabric with planted faults: the pairs that `ibwire coverage --pairs` lists are the traffic, and
 * the acceptance page must name each fault and nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/test_commands.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "sim/net_shape.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"
#include "tests/screen/record.h"

#define END_US INT64_C(1790000000000000)
enum { FAULTS_MOST = 64, ROUND_S = 240, LOAD_S = 180, BEGIN_S = 120 };

/* IBWIRE_LONG: the full size, 50 faults and 125 minutes. */
static struct size { const char *shape; unsigned units, hosts, rails, ports, faults, clean_s; } sizes[] = {
	{ "rail units=2 hosts=8 rails=4 spines=4", 2, 8, 4, 16, 9, 1200 },
	{ "rail units=4 hosts=16 rails=8 spines=8", 4, 16, 8, 32, 50, 7500 },
};
static const struct size *size;

enum fault_kind { FAULT_ERRORS, FAULT_LANE, FAULT_SWAP, FAULT_KINDS };

/* At a port of a leaf, of which each fault has another one; or of two HCAs of a host. */
struct fault { enum fault_kind kind; char place[64], other[64]; };

struct plant {
	struct fault faults[FAULTS_MOST];
	unsigned count, by_kind[FAULT_KINDS];
	struct text events;
};

static uint64_t drawn;

static unsigned draw(unsigned below)
{
	drawn = drawn * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)((drawn >> 33) % below);
}

static bool is_taken(const struct plant *plant, const char *place)
{
	for (unsigned i = 0; i < plant->count; i++)
		if (!strcmp(plant->faults[i].place, place) || !strcmp(plant->faults[i].other, place))
			return true;
	return false;
}

/* A host whose number among all is @host is on port @host + 1 of its unit's leaves. Swaps are on the last hosts. */
static void draw_fault(struct plant *plant, enum fault_kind kind)
{
	struct fault *fault = &plant->faults[plant->count];
	unsigned rail = draw(size->rails - 1);

	memset(fault, 0, sizeof(*fault));
	fault->kind = kind;
	do {
		unsigned unit = draw(size->units), port = draw(size->ports) + 1;

		if (kind == FAULT_SWAP) {
			/* The last two hosts of a unit: their ports have no other fault. */
			unsigned host = unit * size->hosts + size->hosts - draw(2);

			snprintf(fault->place, sizeof(fault->place), "node%04u mlx5_%u", host, rail);
			snprintf(fault->other, sizeof(fault->other), "node%04u mlx5_%u", host, rail + 1);
			continue;
		}
		if (port >= size->hosts - 1 && port <= size->hosts)
			port = 1;
		snprintf(fault->place, sizeof(fault->place), "leaf-u%02u-r%u/%u", unit + 1, draw(size->rails), port);
	} while (is_taken(plant, fault->place) || (*fault->other && is_taken(plant, fault->other)));
	/* BER 1e-13 at 200 Gb/s is 72 errors an hour. */
	if (kind == FAULT_ERRORS)
		text_appendf(&plant->events, "at 30s errors %s symbol_errors=72\n", fault->place);
	else if (kind == FAULT_LANE)
		text_appendf(&plant->events, "at 0 width %s 1x\n", fault->place);
	else
		text_appendf(&plant->events, "at 0 swap \"%s\" \"%s\"\n", fault->place, fault->other);
	plant->count++;
	plant->by_kind[kind]++;
}

static void draw_faults(struct plant *plant, uint64_t seed)
{
	memset(plant, 0, sizeof(*plant));
	drawn = seed;
	/* Few hosts can have their cables swapped. */
	for (unsigned i = 0; i < size->faults; i++)
		draw_fault(plant, i % 10 == 2 ? FAULT_SWAP : i % 2 ? FAULT_LANE : FAULT_ERRORS);
}

static void record(const struct plant *plant, const char *jobs, int64_t length_s)
{
	struct text scenario = { 0 };
	struct error err = { 0 };

	text_appendf(&scenario, "shape %s speed=HDR\nlength %llds\n%s%s", size->shape, (long long)length_s, jobs,
		     text_chars(&plant->events));
	test_folder_renew();
	test_file_write("burn-in.scenario", text_chars(&scenario), scenario.len);
	if (record_scenario("burn-in.scenario", path, 0, END_US, 0, NULL, &err) < 0)
		fail_msg("%s", err.text);
	use_database(path);
	text_done(&scenario);
}

static const char *string_of(const json_t *row, const char *key)
{
	const char *chars = json_string_value(json_object_get(row, key));

	return chars ? chars : "";
}

/* A JSON result of a command whose exit status may be 1. */
static json_t *json_of(const char *line)
{
	struct error err = { 0 };
	char *output;
	json_t *json, *summary;
	int code = run(line, &output, &err);

	if (code < 0)
		fail_msg("%s: %s", line, err.text);
	json = json_loads(output, 0, NULL);
	assert_non_null(json);
	summary = json_object_get(json, "summary");
	assert_int_equal(code, json_object_get(summary, "accepted") ?
			       json_is_false(json_object_get(summary, "accepted")) :
			       integer_of(summary, "directions_left") > 0);
	free(output);
	return json;
}

#define SUBJECTS "|uplinks|class:compute"

/* The plan: the fabric of the shape without a fault, as a dump. */
static void write_plan(const char *to)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	char words[128], *rest = words, *word;
	struct text dump = { 0 };
	struct fabric *fabric;

	snprintf(words, sizeof(words), "%s speed=HDR", size->shape);
	while ((word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		if (value)
			assert_int_equal(net_shape_option(&shape, word, value, NULL), 0);
	}
	assert_int_equal(net_shape_build(&shape, &fabric, NULL), 0);
	assert_int_equal(netfile_write(&dump, fabric), 0);
	test_file_write(to, text_chars(&dump), dump.len);
	text_done(&dump);
	fabric_destroy(fabric);
}

/*
 * Jobs that send as the pairs of each round, one round after the other. Return: the number of rounds.
 * @ret_left:  directions that no pair loads, as where all routes cross a link with one lane
 */
static unsigned plan_jobs(struct text *jobs, json_t **ret_left)
{
	json_t *pairs = json_of("coverage" SUBJECTS "|--pairs|--all|--format|json"), *pair;
	unsigned rounds = 0;
	size_t i;

	*ret_left = json_incref(json_object_get(pairs, "left"));
	assert_true(json_array_size(*ret_left) <= 4 * size->faults);
	json_array_foreach(json_object_get(pairs, "pairs"), i, pair) {
		unsigned round = (unsigned)integer_of(pair, "round");

		if (round > rounds) {
			text_appendf(jobs, "%sat %us start r%u\nat %us stop r%u\njob r%u pairs load=1 coupled=no "
				     "starts=later pairs=\"", rounds ? "\"\n" : "", BEGIN_S + rounds * ROUND_S, round,
				     BEGIN_S + rounds * ROUND_S + LOAD_S + 30, round, round);
			rounds = round;
		} else {
			text_append(jobs, ",");
		}
		text_appendf(jobs, "%s %s>%s %s", string_of(pair, "from_host"), string_of(pair, "from_device"),
			     string_of(pair, "to_host"), string_of(pair, "to_device"));
	}
	text_append(jobs, "\"\n");
	json_decref(pairs);
	return rounds;
}

static void short_name(const char *node, int64_t port, char *ret, size_t of)
{
	/* "MF0;leaf-u01-r0:MQM8700/U1" */
	const char *begin = strchr(node, ';');
	char name[128];

	snprintf(name, sizeof(name), "%s", begin ? begin + 1 : node);
	name[strcspn(name, ":")] = '\0';
	snprintf(ret, of, "%.80s/%d", name, (int)port);
}

static const struct fault *fault_at(const struct plant *plant, enum fault_kind kind, const char *name)
{
	for (unsigned i = 0; i < plant->count; i++)
		if (plant->faults[i].kind == kind && !strcmp(plant->faults[i].place, name))
			return &plant->faults[i];
	return NULL;
}

/* Each direction has the load, and only those of planted faults have errors or are degraded. */
static void check_directions(const struct plant *plant, const json_t *coverage, const json_t *not_loaded)
{
	unsigned errors = 0, degraded = 0;
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(coverage, "directions"), i, row) {
		const json_t *left = json_object_get(row, "left");
		char own[96], peer[96];
		bool lane;

		short_name(string_of(row, "node"), integer_of(row, "port"), own, sizeof(own));
		short_name(string_of(row, "peer"), integer_of(row, "peer_port"), peer, sizeof(peer));
		if (list_has(left, "not-loaded") !=
			    !!find_row(not_loaded, guid_of(row, "node_guid"), integer_of(row, "port")) ||
		    list_has(left, "load-unknown") || list_has(left, "down"))
			fail_msg("%s to %s is %sloaded", own, peer, list_has(left, "not-loaded") ? "not " : "");
		/* The receiving port counts them. */
		if (list_has(left, "errors") != !!fault_at(plant, FAULT_ERRORS, peer))
			fail_msg("%s to %s: errors %d", own, peer, list_has(left, "errors"));
		errors += list_has(left, "errors");
		lane = fault_at(plant, FAULT_LANE, own) || fault_at(plant, FAULT_LANE, peer);
		if (!!*string_of(row, "degraded") != lane)
			fail_msg("%s to %s: degraded %s", own, peer, string_of(row, "degraded"));
		degraded += lane;
		assert_int_equal(json_is_true(json_object_get(row, "covered")), json_array_size(left) == 0);
	}
	assert_true(i > 100);
	assert_int_equal(errors, plant->by_kind[FAULT_ERRORS]);
	assert_int_equal(degraded, 2 * plant->by_kind[FAULT_LANE]);
}

/* Links that are left in a direction, or degraded. */
static unsigned count_links(const json_t *directions)
{
	unsigned count = 0;
	const json_t *row;
	size_t i;

	json_array_foreach(directions, i, row) {
		const json_t *back = find_row(directions, guid_of(row, "peer_guid"), integer_of(row, "peer_port"));

		count += guid_of(row, "node_guid") < guid_of(row, "peer_guid") &&
			 (*string_of(row, "degraded") || json_array_size(json_object_get(row, "left")) ||
			  json_array_size(json_object_get(back, "left")));
	}
	return count;
}

/* The words between two others of a page. */
static char *part_of(const char *page, const char *from, const char *until)
{
	const char *begin = strstr(page, from), *end = begin ? strstr(begin, until) : NULL;

	assert_non_null(end);
	return strndup(begin, (size_t)(end - begin));
}

static unsigned count_of(const char *chars, const char *word)
{
	unsigned count = 0;

	while ((chars = strstr(chars, word))) {
		chars += strlen(word);
		count++;
	}
	return count;
}

static void check_page(const struct plant *plant, const char *page)
{
	char *problems = part_of(page, ">Links with a problem<", "</section>");
	char *plan = part_of(page, ">Differences from the plan<", "</section>"), words[96];

	/* A row for each link, after one of titles; swapped and slow cables are differences from the plan. */
	assert_int_equal(count_of(plan, "<li"), plant->by_kind[FAULT_SWAP] + plant->by_kind[FAULT_LANE]);
	assert_int_equal(count_of(problems, "<tr"), 1 + plant->by_kind[FAULT_ERRORS] + plant->by_kind[FAULT_LANE]);
	for (unsigned i = 0; i < plant->count; i++) {
		const struct fault *fault = &plant->faults[i];

		snprintf(words, sizeof(words), fault->kind == FAULT_SWAP ? "%s" : ">%s<", fault->place);
		if (!strstr(fault->kind == FAULT_SWAP ? plan : problems, words))
			fail_msg("%s is not named in %s", fault->place, fault->kind == FAULT_SWAP ? plan : problems);
	}
	assert_non_null(strstr(page, "not accepted"));
	free(problems);
	free(plan);
}

/* Pairs are asked for what was not loaded only, which is what no pair could load. */
static void check_rest(const char *line, const json_t *not_loaded)
{
	const char *plan = strstr(line, "--plan|plan.net|");
	char pairs_line[256];
	json_t *pairs;

	snprintf(pairs_line, sizeof(pairs_line), "%.*s%s|--pairs", (int)(plan - line), line,
		 plan + strlen("--plan|plan.net|"));
	pairs = json_of(pairs_line);
	assert_int_equal(integer_of(json_object_get(pairs, "summary"), "directions"), json_array_size(not_loaded));
	assert_int_equal(integer_of(json_object_get(pairs, "summary"), "rounds"), 0);
	json_decref(pairs);
}

static void planted_faults_are_named_and_no_others(void **state)
{
	struct text jobs = { 0 };
	struct plant plant;
	char line[256], since[WHEN_SIZE], *page;
	struct error err = { 0 };
	json_t *coverage, *left, *summary;
	int64_t length_s;
	unsigned rounds;

	(void)state;
	draw_faults(&plant, 3);
	record(&plant, "", 150);
	rounds = plan_jobs(&jobs, &left);
	length_s = BEGIN_S + rounds * ROUND_S + size->clean_s + 300;
	record(&plant, text_chars(&jobs), length_s);
	write_plan("plan.net");
	snprintf(line, sizeof(line), "coverage" SUBJECTS "|--load-time|%ds|--clean|%us|--plan|plan.net|--since|%s",
		 LOAD_S, size->clean_s, when_format_utc(END_US - length_s * US_PER_S, since));
	strncat(line, "|--format|json", sizeof(line) - strlen(line) - 1);
	coverage = json_of(line);
	check_directions(&plant, coverage, left);
	/* Each fault is a point, also if the plan has it, too, and each link that no pair can load. */
	summary = json_object_get(coverage, "summary");
	assert_int_equal(integer_of(summary, "plan_differences"),
			 plant.by_kind[FAULT_SWAP] + plant.by_kind[FAULT_LANE]);
	assert_int_equal(integer_of(summary, "other_findings"), 0);
	assert_int_equal(integer_of(summary, "points"),
			 count_links(json_object_get(coverage, "directions")) + plant.by_kind[FAULT_SWAP]);
	check_rest(line, left);
	line[strlen(line) - strlen("--format|json")] = '\0';
	strncat(line, "--html|-", sizeof(line) - strlen(line) - 1);
	assert_int_equal(run(line, &page, &err), 1);
	check_page(&plant, page);
	print_message("# %u faults (%u with BER 1e-13, %u with one lane, %u swaps) among %zu directions, %u rounds\n",
		      plant.count, plant.by_kind[FAULT_ERRORS], plant.by_kind[FAULT_LANE], plant.by_kind[FAULT_SWAP],
		      json_array_size(json_object_get(coverage, "directions")), rounds);
	json_decref(coverage);
	json_decref(left);
	free(page);
	text_done(&jobs);
	text_done(&plant.events);
	use_database(NULL);
}

/* Without a fault and without traffic everything is left; with pairs on a part of the hosts, a part. */
static void bad_input_is_one_line(void **state)
{
	struct plant plant = { .count = 0 };
	char line[128], when[WHEN_SIZE];

	(void)state;
	record(&plant, "", 60);
	assert_refused({ "coverage|--min-load|0", ERR_USAGE, "--min-load must be above 0" },
		       { "coverage|--min-load|120%", ERR_USAGE, "at most 100" },
		       { "coverage|--min-load|much", ERR_USAGE, "not 'much'" },
		       { "coverage|--ber|2", ERR_USAGE, "--ber must be" },
		       { "coverage|--ber|1e-15|--clean|1h", ERR_USAGE, "mutually exclusive" },
		       { "coverage|--clean|soon", ERR_USAGE, "soon" },
		       { "coverage|--round|1", ERR_USAGE, "--round requires --pairs" },
		       { "coverage|--hosts|node0001", ERR_USAGE, "--hosts requires --pairs" },
		       { "coverage|--pairs|--hostfile", ERR_USAGE, "--hostfile requires --round" },
		       { "coverage|--pairs|--html|x.html", ERR_USAGE, "mutually exclusive" },
		       { "coverage|--pairs|--all|--round|99", ERR_USAGE, "there is no round 99" },
		       { "coverage|--pairs|--all|--rail|mlx5_9", ERR_USAGE, "no rail 'mlx5_9'" },
		       { "coverage|--pairs|--all|--hosts|other[1-4]", ERR_USAGE, "none of the hosts" },
		       { "coverage|--pairs|--all|--round|1|--hostfile", ERR_USAGE, "choose one with --rail" },
		       { "coverage|no-such-node", ERR_USAGE, "no-such-node" },
		       { "coverage|--at|2001-01-01 00:00", ERR_UNAVAILABLE, "" });
	snprintf(line, sizeof(line), "coverage|--until|%s|--since|%s", when_format_utc(END_US - US_PER_S, when), "now");
	assert_refused({ line, ERR_USAGE, "--since" });
	use_database(NULL);
}

/* Two names for each pair, and the senders first. */
static void a_hostfile_has_senders_and_then_receivers(void **state)
{
	struct plant plant = { .count = 0 };
	json_t *pairs, *pair;
	struct text expected = { 0 };
	char *lines;

	(void)state;
	record(&plant, "", 150);
	pairs = json_of("coverage" SUBJECTS "|--pairs|--all|--round|1|--rail|mlx5_1|--format|json");
	assert_true(json_array_size(json_object_get(pairs, "pairs")) >= 8);
	for (int receivers = 0; receivers < 2; receivers++) {
		size_t i;

		json_array_foreach(json_object_get(pairs, "pairs"), i, pair) {
			assert_string_equal(string_of(pair, "rail"), "mlx5_1");
			assert_string_equal(string_of(pair, "to_device"), "mlx5_1");
			text_appendf(&expected, "%s\n", string_of(pair, receivers ? "to_host" : "from_host"));
		}
	}
	lines = run_text("coverage" SUBJECTS "|--pairs|--all|--round|1|--rail|mlx5_1|--hostfile");
	assert_string_equal(lines, text_chars(&expected));
	free(lines);
	text_done(&expected);
	json_decref(pairs);
	use_database(NULL);
}

/* Of a fabric that changes at random: bit error rates are those of `ibwire ports` of the receiving ports. */
static void bit_error_rates_are_those_of_ports(void **state)
{
	static const char *const keys[] = { "raw_ber", "effective_ber" };
	struct writer *writer;
	json_t *coverage, *ports;
	const json_t *row;
	unsigned known = 0;
	size_t i;

	(void)state;
	/* Detail counters are read seldom. */
	assert_int_equal(writer_open(db_path, &writer, NULL), 0);
	for (int sweep = 0; sweep < 20; sweep++)
		assert_int_equal(writer_sink(writer)->store(writer_sink(writer)->ctx, model_step(model), NULL), 0);
	writer_close(writer);
	ports = run_json("ports|--details|--since|2000-01-01");
	coverage = json_of("coverage|--since|2000-01-01|--format|json");
	json_array_foreach(json_object_get(coverage, "directions"), i, row) {
		const json_t *port = find_row(ports, guid_of(row, "peer_guid"), integer_of(row, "peer_port"));

		assert_non_null(port);
		for (unsigned j = 0; j < 2; j++) {
			const json_t *own = json_object_get(row, keys[j]), *of_port = json_object_get(port, keys[j]);

			assert_int_equal(json_is_null(own), json_is_null(of_port));
			assert_true(json_number_value(own) == json_number_value(of_port));
			known += !json_is_null(own);
		}
	}
	assert_true(i > 10 && known > 0);
	json_decref(coverage);
	json_decref(ports);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(planted_faults_are_named_and_no_others, test_folder_make,
						test_folder_remove),
		cmocka_unit_test_setup_teardown(bad_input_is_one_line, test_folder_make, test_folder_remove),
		cmocka_unit_test_setup_teardown(a_hostfile_has_senders_and_then_receivers, test_folder_make,
						test_folder_remove),
		cmocka_unit_test_setup_teardown(bit_error_rates_are_those_of_ports, make_database, remove_database),
	};

	size = &sizes[getenv("IBWIRE_LONG") ? 1 : 0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
