/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* metrics_test.c - labels, families, counters over faults, text in pieces, web configuration */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_config.h"
#include "cli/metrics/metrics_families.h"
#include "cli/metrics/metrics_page.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "storage/findings.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static const char *const schema_names[] = { NULL, "treydock", "guilbaults" };

TEST(label_values_are_escaped_valid_and_bounded)
{
	struct text text = { 0 };
	char *large = malloc(2000);

	metrics_label(&text, "a", "x \"y\" \\ z\nend");
	metrics_label(&text, "b", "bad \xff\xc3( \xed\xa0\x80 end \xc3\xa4");
	assert_string_equal(text_chars(&text), "a=\"x \\\"y\\\" \\\\ z\\nend\","
			    "b=\"bad \xef\xbf\xbd\xef\xbf\xbd( \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd end \xc3\xa4\"");
	text_clear(&text);
	memset(large, 'x', 1999);
	large[1999] = '\0';
	metrics_label(&text, "a", large);
	assert_int_equal(text.len, strlen("a=\"\"") + METRICS_LABEL_MAX);
	free(large);
	text_done(&text);
}

static bool ends_with(const char *name, const char *suffix)
{
	return strlen(name) > strlen(suffix) && !strcmp(name + strlen(name) - strlen(suffix), suffix);
}

TEST(families_have_unique_names_that_follow_the_rules)
{
	for (size_t s = 0; s < 3; s++) {
		const struct metrics_schema *schema = metrics_schema_find(schema_names[s]);

		for (size_t i = 0; i < metrics_family_count(schema); i++) {
			const struct metrics_family of = metrics_family_get(schema, i), *family = &of;

			for (const char *c = family->name; *c; c++)
				assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
			for (size_t j = 0; j < i; j++)
				assert_string_not_equal(family->name, metrics_family_get(schema, j).name);
			assert_false(ends_with(family->name, "_total"));
			assert_true(family->value || family->column || family->detail ||
				    (family->scale && family->scope == METRICS_PORT));
			assert_true(family->help || metrics_family_counts(family));
			assert_null(family->help ? strpbrk(family->help, "\n\\") : NULL);
		}
	}
	assert_null(metrics_schema_find("other"));
}

/* A source over a database that a writer extends. */
struct world {
	struct model *model;
	struct writer *writer;
	struct settings settings;
	struct metrics_source source;
};

static void world_make(struct world *world, const char *schema)
{
	*world = (struct world){ .model = model_create(11, 4, 8, 8) };
	setenv("IBWIRE_SETTINGS", "/dev/null", 1);
	assert_int_equal(settings_load(NULL, &world->settings, NULL), 0);
	test_folder_make(NULL);
	world->writer = check_open_writer(path);
	world->source = (struct metrics_source){ .path = path, .settings = &world->settings,
						 .schema = metrics_schema_find(schema) };
}

static void world_done(struct world *world)
{
	assert_true(metrics_source_done(&world->source));
	writer_close(world->writer);
	settings_done(&world->settings);
	model_destroy(world->model);
	test_folder_remove(NULL);
}

static const struct metrics_page *world_page(struct world *world)
{
	const struct metrics_page *page = NULL;
	struct error err = { 0 };

	if (metrics_source_page(&world->source, NULL, &page, &err) < 0)
		fail_msg("%s", err.text);
	return page;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Deltas of the sweeps that a page has not seen yet, by port of the model. Return: number of ports that were reset. */
static unsigned sum_deltas(const struct world *world, struct metrics_counters *sums)
{
	const struct sweep *sweep = &world->model->sweep;
	unsigned resets = 0;

	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		const struct port *port = &sweep->fabric->ports[sample->port];
		size_t at = check_find_port(world->model, sweep->fabric->nodes[port->node].guid, port->num);

		for (int c = 0; sample->delta && c < COUNTER_COUNT; c++)
			if (sample->delta->known & COUNTER_BIT(c))
				sums[at].value[c] = sum(sums[at].value[c], sample->delta->value[c]);
		resets += sample->delta && sample->delta->reset;
	}
	return resets;
}

/* Return: the number of counters that were compared. */
static unsigned compare_pages(const struct world *world, const struct fabric *last, const struct metrics_page *page,
			      const struct metrics_counters *before, const struct metrics_counters *sums)
{
	const struct fabric *fabric = page->topology->fabric;
	unsigned compared = 0;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint64_t guid = fabric->nodes[fabric->ports[i].node].guid;
		uint32_t then = fabric_find_port(last, guid, fabric->ports[i].num);
		size_t at;

		if (then == FABRIC_NONE || !before[then].known)
			continue;
		at = check_find_port(world->model, guid, fabric->ports[i].num);
		assert_true(page->counters[i].known == before[then].known);
		for (int c = 0; c < COUNTER_COUNT; c++, compared++)
			if (before[then].known & COUNTER_BIT(c))
				if (page->counters[i].value[c] != sum(before[then].value[c], sums[at].value[c]))
					fail_msg("port %u counter %d: %" PRIu64 " after %" PRIu64 " and %" PRIu64, i, c,
						 page->counters[i].value[c], before[then].value[c], sums[at].value[c]);
	}
	return compared;
}

/* Links and nodes disappear, counters are reset, saturate and change their width, the host reboots, its clock jumps. */
TEST(counters_grow_by_the_stored_deltas_over_resets_reboots_and_missed_sweeps)
{
	struct world world;
	const struct metrics_page *page;
	struct metrics_counters *before, *sums;
	unsigned compared = 0, resets = 0, moved = 0;
	struct fabric *fabric;

	world_make(&world, NULL);
	for (int i = 0; i < 3; i++)
		check_store(world.writer, model_step(world.model));
	sums = calloc(world.model->port_count, sizeof(*sums));
	page = world_page(&world);
	for (unsigned i = 0; i < test_cases(120); i++) {
		memset(sums, 0, world.model->port_count * sizeof(*sums));
		fabric = fabric_share(page->topology->fabric);
		before = calloc(fabric->port_count, sizeof(*before));
		memcpy(before, page->counters, fabric->port_count * sizeof(*before));
		/* Sometimes no request comes for several sweeps, or names and settings are loaded again. */
		for (unsigned j = 0; j <= (i % 5 == 4 ? 7 : i % 2); j++) {
			check_store(world.writer, model_step(world.model));
			resets += sum_deltas(&world, sums);
		}
		if (i % 7 == 3)
			assert_true(metrics_source_close(&world.source));
		page = world_page(&world);
		compared += compare_pages(&world, fabric, page, before, sums);
		moved += page->topology->fabric != fabric;
		fabric_destroy(fabric);
		free(before);
	}
	assert_true(compared > 15000 && resets > 20 && moved > 2);
	free(sums);
	world_done(&world);
}

/* Is the tick of a node of the model documented, or assumed and not contradicted? */
static bool has_tick(const struct restored_caps *caps, size_t count, const struct node *node)
{
	for (size_t i = 0; i < count; i++)
		if (caps[i].node_guid == node->guid)
			return caps[i].caps.tick_known && (node->device_id == 0xd2f0 ||
				(node->type == NODE_CA && !caps[i].caps.wait_contradicted));
	return false;
}

/* Of ports whose tick is 8 bytes of the port: documented of a switch, or assumed of an HCA. */
TEST(the_time_of_xmit_wait_grows_as_its_counter)
{
	struct world world;
	struct restored_caps caps[12];
	unsigned compared = 0, assumed = 0;

	world_make(&world, NULL);
	for (size_t i = 0; i < world.model->node_count; i++) {
		struct node *node = &world.model->nodes[i].node;

		caps[i] = (struct restored_caps){ node->guid, { .known = true, .tick_known = i % 4 != 3, .tick = 7,
								.wait_contradicted = i % 3 == 0 } };
		node->vendor_id = VENDOR_MELLANOX;
		node->device_id = i % 2 ? 0xd2f0 : 0x101b;
	}
	for (int i = 0; i < 3; i++)
		check_store(world.writer, model_step(world.model));
	assert_int_equal(writer_sink(world.writer)->store_caps(world.writer, caps, world.model->node_count, NULL), 0);
	for (unsigned i = 0; i < test_cases(80); i++) {
		const struct metrics_page *page = world_page(&world);
		struct fabric *last = fabric_share(page->topology->fabric);
		struct metrics_counters *before = calloc(last->port_count, sizeof(*before));

		memcpy(before, page->counters, last->port_count * sizeof(*before));
		for (unsigned j = 0; j <= i % 3; j++)
			check_store(world.writer, model_step(world.model));
		page = world_page(&world);
		for (uint32_t port = 0; port < page->topology->fabric->port_count; port++) {
			const struct port *now = &page->topology->fabric->ports[port];
			const struct node *node = &page->topology->fabric->nodes[now->node];
			const struct metrics_counters *after = &page->counters[port];
			uint32_t then = fabric_find_port(last, node->guid, now->num);
			double ticks, expected;

			if (then == FABRIC_NONE || !(before[then].known & COUNTER_BIT(COUNTER_XMIT_WAIT)) ||
			    after->value[COUNTER_XMIT_WAIT] == UINT64_MAX || !before[then].tick_s)
				continue;
			assert_true(has_tick(caps, world.model->node_count, node));
			assumed += node->device_id != 0xd2f0;
			ticks = (double)(after->value[COUNTER_XMIT_WAIT] - before[then].value[COUNTER_XMIT_WAIT]);
			expected = before[then].wait_s + ticks * 64 / 200e9;
			if (fabs(after->wait_s - expected) > 1e-6 * expected)
				fail_msg("%g s after %g s and %g ticks", after->wait_s, before[then].wait_s, ticks);
			compared++;
		}
		fabric_destroy(last);
		free(before);
	}
	assert_true(compared > test_cases(80) && assumed);
	world_done(&world);
}

static char *write_page(const struct metrics_page *page, bool openmetrics)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(metrics_write(page, openmetrics, false, out, NULL), 0);
	fclose(out);
	return text;
}

TEST(only_openmetrics_has_an_end_and_units)
{
	for (size_t s = 0; s < 3; s++) {
		struct world world;
		const struct metrics_page *page;
		char *text;

		world_make(&world, schema_names[s]);
		for (int i = 0; i < 3; i++)
			check_store(world.writer, model_step(world.model));
		page = world_page(&world);
		text = write_page(page, true);
		assert_true(ends_with(text, "\n# EOF\n"));
		assert_true(s || (strstr(text, "\n# UNIT ibwire_sweep_duration_seconds seconds\n") &&
				  strstr(text, "\n# UNIT ibwire_port_xmit_bytes bytes\n")));
		assert_null(strstr(text, "# UNIT ibwire_port_xmit_packets"));
		free(text);
		text = write_page(page, false);
		assert_null(strstr(text, "# EOF"));
		assert_null(strstr(text, "# UNIT"));
		free(text);
			world_done(&world);
	}
}

/* Bits of all exponents, whole numbers at the limits of their types, and times of the clock. */
TEST(values_read_back_equal_and_whole_numbers_have_all_digits)
{
	static const struct { double value; const char *text; } cases[] = {
		{ 0, "0" }, { -1, "-1" }, { 1795860123, "1795860123" }, { 0.1, "0.1" },
		{ 1795860123.25, "1795860123.25" },
		{ 9007199254740992, "9007199254740992" }, { 0x1p63, "9223372036854775808" }, { 1e-15, "1e-15" },
		{ -0.5, "-0.5" }, { 100e9, "100000000000" }, { 2.0 / 3, "0.6666666666666666" },
		{ 18446744073709549568.0, "18446744073709549568" },
	};
	uint64_t bits = 88172645463325252ULL;
	struct text text = { 0 };
	double value;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		text_clear(&text);
		metrics_append_value(&text, cases[i].value);
		assert_string_equal(text_chars(&text), cases[i].text);
	}
	for (unsigned i = 0; i < test_cases(100000); i++) {
		bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
		memcpy(&value, &bits, sizeof(value));
		if (i % 4 == 1)
			value = (double)(bits >> (bits % 64));
		else if (i % 4 == 2)
			value = (double)(int64_t)(1795860000000000 + (int64_t)(bits % 1000000000)) / 1e6;
		if (!isfinite(value))
			continue;
		text_clear(&text);
		metrics_append_value(&text, value);
		if (strtod(text_chars(&text), NULL) != value || strlen(text_chars(&text)) > 24)
			fail_msg("%.17g as %s", value, text_chars(&text));
		if (value == floor(value) && fabs(value) < 0x1p64)
			assert_null(strpbrk(text_chars(&text), ".e"));
	}
	text_done(&text);
}

TEST(times_of_the_other_exporter_are_whole_seconds)
{
	struct world world;
	const struct metrics_page *page;
	char *text, line[80];

	world_make(&world, "treydock");
	check_store(world.writer, model_step(world.model));
	page = world_page(&world);
	text = write_page(page, false);
	snprintf(line, sizeof(line), "infiniband_exporter_last_execution{collector=\"switch\"} %" PRId64 "\n",
		 page->status.last.wall_us / 1000000);
	if (!strstr(text, line))
		fail_msg("missing: %s", line);
	free(text);
	world_done(&world);
}

/* Return: lines of a text with a beginning. Fails if a line is there twice up to its value. */
static unsigned count_series(const char *text, const char *begin)
{
	unsigned count = 0;

	for (const char *line = text, *end; *line; line = end + 1) {
		const char *value;

		end = strchr(line, '\n');
		if (strncmp(line, begin, strlen(begin)))
			continue;
		value = memrchr(line, ' ', (size_t)(end - line));
		count++;
		if (memmem(end, strlen(end), line, (size_t)(value + 1 - line)))
			fail_msg("twice: %.*s", (int)(end - line), line);
	}
	return count;
}

/* Ports with a link that do not respond, each once; and their LIDs. */
TEST(ports_that_do_not_respond_are_the_errors_of_the_other_exporter)
{
	struct world world;
	unsigned total = 0, switches = 0;

	world_make(&world, "guilbaults");
	for (unsigned i = 0; i < test_cases(300); i++) {
		const struct metrics_page *page;
		const struct fabric *fabric;
		unsigned failed = 0, lids = 0, first[65536 / 32] = { 0 };
		char *text;

		check_store(world.writer, model_step(world.model));
		page = world_page(&world);
		fabric = page->topology->fabric;
		for (uint32_t port = 0; port < fabric->port_count; port++) {
			bool silent = page->ports[port].sample == SAMPLE_SILENT ||
				      page->ports[port].sample == SAMPLE_BACKOFF;
			unsigned lid = fabric_port_lid(fabric, &fabric->ports[port]);

			if (!silent || fabric->ports[port].peer == FABRIC_NONE)
				continue;
			failed++;
			lids += !(first[lid / 32] & 1U << lid % 32);
			first[lid / 32] |= 1U << lid % 32;
		}
		text = write_page(page, false);
		assert_int_equal(count_series(text, "infininband_print_error{counter_name=\"IB_GSI_PORT_COUNTERS\","),
				 failed);
		assert_int_equal(count_series(text, "infininband_mad_rpc_failed_error{portid=\"Lid "), lids);
		total += failed;
		switches += failed > lids;
		free(text);
	}
	assert_true(total > 20 && switches > 2);
	world_done(&world);
}

/* The page after a sweep in which these findings are open. */
static const struct metrics_page *page_with(struct world *world, const struct finding *const *list, size_t count)
{
	model_step(world->model);
	world->model->sweep.findings = list;
	world->model->sweep.finding_count = count;
	check_store(world->writer, &world->model->sweep);
	return world_page(world);
}

/* One is acknowledged, there are more than are listed, and all end. */
TEST(each_open_finding_is_one_series_with_its_place)
{
	enum { COUNT = METRICS_FINDINGS_MOST + 50 };
	static struct finding findings[COUNT];
	const struct finding *list[COUNT];
	struct world world;
	const struct metrics_page *page;
	char *text;

	world_make(&world, NULL);
	for (int i = 0; i < COUNT; i++) {
		findings[i] = (struct finding){
			.kind = i % 2 ? FINDING_LINK_DEGRADED : FINDING_SYMBOL_ERRORS, .severity = FINDING_WARNING,
			.node_guid = 100 + (uint64_t)i, .port = 1, .cause = i ? "cable" : "", .advice = "",
			.since_us = 1, .last_seen_us = 1,
		};
		snprintf(findings[i].subject, sizeof(findings[i].subject), "leaf \"%d\"/1", i);
		list[i] = &findings[i];
	}
	findings[1].severity = FINDING_CRITICAL;
	for (size_t count = 0; count <= COUNT; count = count < 3 ? count + 1 : count == 3 ? COUNT : COUNT + 1) {
		page = page_with(&world, list, count);
		text = write_page(page, false);
		assert_int_equal(count_series(text, "ibwire_finding_info{id=\""),
				 count < METRICS_FINDINGS_MOST ? count : METRICS_FINDINGS_MOST);
		assert_int_equal(page->findings[FINDING_SYMBOL_ERRORS][FINDING_WARNING], (count + 1) / 2);
		assert_int_equal(page->findings[FINDING_LINK_DEGRADED][FINDING_CRITICAL], count > 1);
		/* The critical one is listed even if there are too many. */
		assert_true(!strstr(text, "kind=\"link-degraded\",severity=\"critical\",subject=\"leaf \\\"1\\\"/1\","
			    "cause=\"cable\"} 1\n") == (count < 2));
		free(text);
	}
	assert_int_equal(finding_acknowledge(path, &findings[1], &(struct acknowledgement){ .at_us = 1, .person = "x" },
					     NULL), 0);
	page = page_with(&world, list, 3);
	text = write_page(page, false);
	assert_null(strstr(text, "severity=\"critical\",subject"));
	assert_int_equal(count_series(text, "ibwire_finding_info{id=\""), 2);
	assert_int_equal(page->acknowledged, 1);
	free(text);
	/* Its condition has ended: it does not count, until the condition returns. */
	for (int clearing = 1; clearing >= 0; clearing--) {
		findings[2].ok_since_us = clearing;
		page = page_with(&world, list, 3);
		text = write_page(page, false);
		assert_int_equal(count_series(text, "ibwire_finding_info{id=\""), 2 - clearing);
		assert_int_equal(page->findings[FINDING_SYMBOL_ERRORS][FINDING_WARNING], 2 - clearing);
		free(text);
	}
	text = write_page(page_with(&world, list, 0), false);
	assert_int_equal(count_series(text, "ibwire_finding_info{id=\""), 0);
	free(text);
	world_done(&world);
}

static void begin_job(int number, int64_t begin_us, int64_t end_us)
{
	struct saved_writer *writer = check_open_saved(path);
	char no_hosts[] = "";
	struct job job = { .labels[JOB_CLUSTER] = "a", .begin_us = begin_us, .hosts = no_hosts };

	snprintf(job.id, sizeof(job.id), "%d", number);
	snprintf(job.name, sizeof(job.name), "train \"%d\"", number);
	assert_int_equal(jobs_begin(writer, &job, &(struct job_rules){ 0 }, NULL), 0);
	job.end_us = end_us;
	if (end_us)
		assert_int_equal(jobs_end(writer, NULL, &job, NULL), 0);
	saved_writer_close(writer);
}

TEST(a_job_that_runs_during_the_sweep_is_a_series)
{
	struct world world;
	int64_t at_us;
	char *text;

	world_make(&world, NULL);
	check_store(world.writer, model_step(world.model));
	at_us = world_page(&world)->status.last.wall_us;
	begin_job(1, at_us - 9, 0);
	begin_job(2, at_us - 9, at_us);
	begin_job(3, at_us - 9, at_us + 1);
	begin_job(4, at_us + 1, 0);
	world.source.page.is_complete = false;
	text = write_page(world_page(&world), false);
	assert_non_null(strstr(text, "ibwire_job_info{id=\"1\",name=\"train \\\"1\\\"\",cluster=\"a\","));
	assert_non_null(strstr(text, "ibwire_job_info{id=\"3\","));
	assert_int_equal(count_series(text, "ibwire_job_info{"), 2);
	free(text);
	for (int i = 5; i < 5 + METRICS_JOBS_MOST; i++)
		begin_job(i, at_us, 0);
	world.source.page.is_complete = false;
	text = write_page(world_page(&world), false);
	assert_null(strstr(text, "ibwire_job_info{id=\"3\","));
	assert_int_equal(count_series(text, "ibwire_job_info{"), METRICS_JOBS_MOST);
	free(text);
	world_done(&world);
}

TEST(a_full_disk_is_an_error)
{
	struct world world;
	const struct metrics_page *page;
	struct error err;
	FILE *full = fopen("/dev/full", "w");

	world_make(&world, NULL);
	check_store(world.writer, model_step(world.model));
	page = world_page(&world);
	assert_int_equal(metrics_write(page, false, false, full, &err), ERR_IO);
	check_error_line(&err, "cannot write the output: No space left on device");
	fclose(full);
	world_done(&world);
}

/* Return: a port that went down after it was read, or FABRIC_NONE. */
static uint32_t find_down(const struct metrics_page *page)
{
	for (uint32_t i = 0; i < page->topology->fabric->port_count; i++)
		if (page->topology->fabric->ports[i].state == PORT_DOWN &&
		    page->counters[i].known & COUNTER_BIT(COUNTER_XMIT_PACKETS))
			return i;
	return FABRIC_NONE;
}

TEST(ports_that_are_down_stay_with_their_state_and_last_values)
{
	struct world world;
	const struct metrics_page *page = NULL;
	uint32_t down = FABRIC_NONE;
	char *text, line[400];
	struct text labels = { 0 };

	world_make(&world, NULL);
	for (int i = 0; i < 1000 && down == FABRIC_NONE; i++) {
			check_store(world.writer, model_step(world.model));
		page = world_page(&world);
		down = find_down(page);
	}
	assert_true(down != FABRIC_NONE);
	text = write_page(page, false);
	metrics_port_labels(page->topology, down, &labels);
	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), "ibwire_port_%s{%s} %" PRIu64 "\n", i ? "xmit_packets_total" : "state",
			 text_chars(&labels), i ? page->counters[down].value[COUNTER_XMIT_PACKETS] : PORT_DOWN);
		if (!strstr(text, line))
			fail_msg("missing: %s", line);
	}
	text_done(&labels);
	free(text);
	world_done(&world);
}

TEST(pages_without_a_database_are_an_error_and_come_with_it)
{
	struct world world;
	const struct metrics_page *page;
	struct error err = { 0 };

	world_make(&world, NULL);
	world.source.path = "/nonexistent/x.db";
	assert_int_equal(metrics_source_page(&world.source, NULL, &page, &err), ERR_UNAVAILABLE);
	check_error_line(&err, "/nonexistent/x.db");
	world.source.path = path;
	assert_int_equal(metrics_source_page(&world.source, NULL, &page, &err), ERR_UNAVAILABLE);
	check_store(world.writer, model_step(world.model));
	page = world_page(&world);
	assert_true(page->live);
	world_done(&world);
}

/* Return: number of counters that increased. */
static unsigned compare_details(const struct fabric *fabric, const struct metrics_detail *last,
				const struct metrics_page *page)
{
	unsigned more = 0;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct metrics_detail *now;
		uint32_t port = fabric_find_port(page->topology->fabric, fabric->nodes[fabric->ports[i].node].guid,
						 fabric->ports[i].num);

		/* A port that left the fabric has none. */
		if (port == FABRIC_NONE)
			continue;
		now = &page->details[port];
		assert_int_equal(now->known & last[i].known, last[i].known);
		for (int at = 0; at < METRICS_DETAILS; at++) {
			assert_true(now->value[at] >= last[i].value[at]);
			more += now->value[at] > last[i].value[at];
		}
	}
	return more;
}

TEST(detail_counters_do_not_decrease)
{
	struct world world;
	struct metrics_detail *last;
	struct fabric *fabric;
	unsigned more = 0;

	world_make(&world, "guilbaults");
	check_store(world.writer, model_step(world.model));
	for (unsigned i = 0; i < test_cases(100); i++) {
		const struct metrics_page *page = world_page(&world);

		fabric = fabric_share(page->topology->fabric);
		last = calloc(fabric->port_count, sizeof(*last));
		memcpy(last, page->details, fabric->port_count * sizeof(*last));
		check_store(world.writer, model_step(world.model));
		more += compare_details(fabric, last, world_page(&world));
		fabric_destroy(fabric);
		free(last);
	}
	assert_true(more > 20);
	world_done(&world);
}

/* With --details each detail counter that is not 0 has a line with its last reading, and settings have none. */
TEST(detail_counters_are_shown_as_last_read)
{
	struct world world;
	const struct metrics_page *page;
	size_t expected = 0, lines = 0;
	char *text;

	world_make(&world, NULL);
	for (int i = 0; i < 30; i++)
		check_store(world.writer, model_step(world.model));
	text = write_page(world_page(&world), false);
	assert_null(strstr(text, "ibwire_port_detail"));
	free(text);
	world.source.details = true;
	check_store(world.writer, model_step(world.model));
	page = world_page(&world);
	text = write_page(page, false);
	for (size_t p = 0; p < world.model->port_count; p++) {
		const struct model_port *port = &world.model->ports[p];
		uint32_t at = fabric_find_port(page->topology->fabric, world.model->nodes[port->node].node.guid,
					       port->num);

		for (int a = 0; at != FABRIC_NONE && a < DETAIL_ATTRIBUTE_COUNT; a++)
			for (unsigned n = 0; n < detail_count((enum detail_attribute)a); n++) {
				const struct detail_reading *last = &port->details[a].last;
				struct text line = { 0 };

				if (!port->details[a].has_last || !(last->present >> n & 1) || !last->value[n] ||
				    detail_is_state((enum detail_attribute)a))
					continue;
				text_append(&line, "ibwire_port_detail_total{");
				metrics_port_labels(page->topology, at, &line);
				text_appendf(&line, ",counter=\"%s\"} %" PRIu64 "\n",
					     detail_info((enum detail_attribute)a, n)->key, last->value[n]);
				if (!strstr(text, text_chars(&line)))
					fail_msg("missing: %s", text_chars(&line));
				text_done(&line);
				expected++;
			}
	}
	for (const char *line = text; (line = strstr(line, "\nibwire_port_detail_total{")); line++)
		lines++;
	assert_true(expected > 100);
	assert_int_equal(lines, expected);
	free(text);
	world_done(&world);
}

TEST(another_database_begins_again)
{
	struct world world;
	const struct metrics_page *page;
	char kept[sizeof(path) + 8];

	world_make(&world, NULL);
	check_store(world.writer, model_step(world.model));
	world_page(&world);
	snprintf(kept, sizeof(kept), "%s.old", path);
	writer_close(world.writer);
	assert_int_equal(rename(path, kept), 0);
	model_destroy(world.model);
	world.model = model_create(12, 2, 4, 4);
	world.writer = check_open_writer(path);
	/* Its newest sweep has a higher number than that of the last page. */
	for (int i = 0; i < 4; i++)
		check_store(world.writer, model_step(world.model));
	page = world_page(&world);
	for (size_t i = 0; i < world.model->sweep.sample_count; i++) {
		const struct port_sample *sample = &world.model->sweep.samples[i];

		if (sample->reading)
			assert_memory_equal(page->counters[sample->port].value, sample->reading->value,
					    sizeof(sample->reading->value));
	}
	world_done(&world);
}

static void write_config(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

TEST(invalid_lines_of_the_web_configuration_are_named)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "basic_auth_users:\n  a: plain\n", "line 2: no bcrypt hash" },
		{ "basic_auth_users:\n  - a\n", "line 2: keys and values are expected" },
		{ "\nother: 1\n", "line 2: unknown key 'other'" },
		{ "tls_server_config:\n  cert_file: x\n", "line 1: tls_server_config needs cert_file and key_file" },
		{ "tls_server_config:\n  cert_file: x\n  key_file: y\n", "line 2: cannot read the certificate" },
		{ "tls_server_config:\n  client_ca_file: x\n", "line 2: unknown or unsupported key 'client_ca_file'" },
		{ "tls_server_config:\n  cert_file: x\n  key_file: y\n  min_version: TLS10\n",
		  "line 4: a version is TLS12 or TLS13, not 'TLS10'" },
		{ "tls_server_config:\n  client_auth_type: RequireAnyClientCert\n", "line 2: client certificates" },
		{ "a: [1,\n", "line 2: " },
		{ "- a\n", "line 1: keys and values are expected" },
	};
	struct metrics_config config;
	struct error err;

	test_folder_make(NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_config(cases[i].text);
		assert_int_equal(metrics_config_load(path, &config, &err), ERR_USAGE);
		check_error_line(&err, path);
		check_error_line(&err, cases[i].error);
		metrics_config_done(&config);
	}
	write_config("");
	assert_int_equal(metrics_config_load(path, &config, &err), 0);
	metrics_config_done(&config);
	test_folder_remove(NULL);
}

TEST(a_password_that_matched_needs_no_hash)
{
	struct metrics_config config;
	struct error err = { 0 };

	test_folder_make(NULL);
	/* bcrypt of "secret" with cost 4. */
	write_config("basic_auth_users:\n  prom: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n");
	if (metrics_config_load(path, &config, &err) < 0)
		fail_msg("%s", err.text);
	assert_false(metrics_config_knows(&config, "prom", "secret"));
	assert_true(metrics_config_matches("secret", metrics_config_hash(&config, "prom")));
	assert_false(metrics_config_matches("wrong", metrics_config_hash(&config, "prom")));
	assert_false(metrics_config_matches("", metrics_config_hash(&config, "prom")));
	/* An unknown user takes as long as a known one, and is not admitted. */
	assert_true(metrics_config_matches("secret", metrics_config_hash(&config, "x")));
	assert_false(metrics_config_admit(&config, "x", "secret"));
	assert_true(metrics_config_admit(&config, "prom", "secret"));
	assert_true(metrics_config_knows(&config, "prom", "secret"));
	assert_false(metrics_config_knows(&config, "prom", "wrong"));
	assert_false(metrics_config_knows(&config, "x", "secret"));
	metrics_config_done(&config);
	test_folder_remove(NULL);
}
