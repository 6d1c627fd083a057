/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Imports of ibdiagnet's files over a stored history: what is refused, where cables are, and which part the errors
 * follow after exchanges. A small fabric counts errors of one part; its cables are exchanged while their links are
 * down, and files are imported once a day, not when they are exchanged.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "facts/cable_history.h"
#include "storage/cables.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/writer.h"

/* A switch with ports 1 to LINKS, each with a cable to an HCA; one sweep an hour. */
enum { LINKS = 4, PORTS = 2 * LINKS, FABRICS_MOST = 16 };
#define HOUR_US (3600 * US_PER_S)
#define BEGIN_US (INT64_C(1700000000) * US_PER_S)
#define SWITCH_GUID UINT64_C(0x100)
#define HCA_GUID(i) (UINT64_C(0x1000) + 16 * (uint64_t)(i))

struct site {
	struct writer *writer;
	struct saved_writer *saved;
	size_t far[LINKS], cable[LINKS]; /* of each port of the switch, from 0 */
	bool down[LINKS];
	struct fabric *fabrics[FABRICS_MOST];
	size_t fabric_count;
	uint64_t random, generation;
	unsigned hour;
	uint64_t values[PORTS];          /* symbol errors, of ports of the switch and then of HCAs */
	int fault;                       /* 0: port 0 of the switch; 1: cable 0; 2: HCA 0 */
	double share;                    /* of hours in which that has errors */
	struct reading readings[PORTS], last[PORTS];
	struct delta deltas[PORTS];
	struct port_sample samples[PORTS];
};

static double draw(struct site *site)
{
	site->random = map_mix(site->random + UINT64_C(0x9e3779b97f4a7c15));
	return (double)(site->random >> 11) / (double)(UINT64_C(1) << 53);
}

static int64_t now_us(const struct site *site)
{
	return BEGIN_US + site->hour * HOUR_US;
}

/* --- the fabric --- */

static void add_port(struct fabric *fabric, unsigned num, bool up)
{
	const struct port port = { .num = (uint8_t)num, .state = up ? PORT_ACTIVE : PORT_DOWN,
				   .phys_state = up ? PHYS_LINK_UP : PHYS_POLLING,
				   .speed = up ? LINK_SPEED_HDR : LINK_SPEED_NONE, .width = up ? LINK_WIDTH_4X : 0,
				   .speed_supported = 1 << LINK_SPEED_HDR, .width_supported = 3 };

	assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
}

/* The ports are in the order of values. */
static void build_fabric(struct site *site)
{
	struct fabric *fabric = fabric_create(NULL);
	struct node node = { .guid = SWITCH_GUID, .system_guid = SWITCH_GUID, .type = NODE_SWITCH, .port_count = LINKS,
			     .lid = 1, .desc = "leaf01" };

	assert_non_null(fabric);
	assert_true(site->fabric_count < FABRICS_MOST);
	assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
	for (unsigned i = 0; i < LINKS; i++)
		add_port(fabric, i + 1, !site->down[i]);
	for (unsigned i = 0; i < LINKS; i++) {
		bool up = false;

		for (unsigned j = 0; j < LINKS; j++)
			up |= site->far[j] == i && !site->down[j];
		node = (struct node){ .guid = HCA_GUID(i), .system_guid = HCA_GUID(i), .type = NODE_CA,
				      .port_count = 1 };
		snprintf(node.desc, sizeof(node.desc), "node%u mlx5_0", i);
		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		add_port(fabric, 1, up);
	}
	for (uint32_t i = 0; i < LINKS; i++)
		if (!site->down[i])
			assert_int_equal(fabric_link(fabric, i, LINKS + (uint32_t)site->far[i], NULL), 0);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	site->fabrics[site->fabric_count++] = fabric;
	site->generation++;
}

/* --- sweeps --- */

static bool has_errors(struct site *site, size_t link)
{
	bool suspect = site->fault == 0 ? link == 0 : site->fault == 1 ? site->cable[link] == 0 : site->far[link] == 0;

	return !site->down[link] && (draw(site) < 0.002 || (suspect && draw(site) < site->share));
}

static void sweep(struct site *site)
{
	struct sweep next = { .wall_us = now_us(site), .start_us = HOUR_US + site->hour * HOUR_US,
			      .interval_us = HOUR_US, .fabric = site->fabrics[site->fabric_count - 1],
			      .generation = site->generation, .samples = site->samples, .sample_count = PORTS,
			      .ports_planned = PORTS, .ports_polled = PORTS, .ports_answered = PORTS };

	next.end_us = next.start_us + 1000;
	snprintf(next.boot_id, sizeof(next.boot_id), "00000000-0000-4000-8000-000000000001");
	for (size_t link = 0; link < LINKS; link++)
		/* The side that receives counts: with a fault of the cable either of them. */
		if (has_errors(site, link))
			site->values[draw(site) < 0.5 ? link : LINKS + site->far[link]] +=
				1 + (uint64_t)(draw(site) * 90);
	for (size_t i = 0; i < PORTS; i++) {
		struct reading *reading = &site->readings[i];

		*reading = (struct reading){ .at_us = next.start_us, .present = COUNTER_BIT(COUNTER_COUNT) - 1 };
		reading->value[COUNTER_SYMBOL_ERRORS] = site->values[i];
		site->samples[i] = (struct port_sample){ .port = (uint32_t)i, .status = SAMPLE_OK, .reading = reading };
		if (site->hour) {
			delta_between(&site->last[i], reading, &site->deltas[i]);
			site->samples[i].delta = &site->deltas[i];
		}
		site->last[i] = *reading;
	}
	check_store(site->writer, &next);
	site->hour++;
}

static void begin_site(struct site *site, int fault, double share, uint64_t seed)
{
	memset(site, 0, sizeof(*site));
	site->random = seed;
	site->fault = fault;
	site->share = share;
	for (size_t i = 0; i < LINKS; i++)
		site->far[i] = site->cable[i] = i;
	site->writer = check_open_writer(path);
	build_fabric(site);
	sweep(site);
	site->saved = check_open_saved(path);
}

static void end_site(struct site *site)
{
	saved_writer_close(site->saved);
	writer_close(site->writer);
	for (size_t i = 0; i < site->fabric_count; i++)
		fabric_destroy(site->fabrics[i]);
}

/* --- imports --- */

static void append_ports(const struct site *site, struct text *text, double temperature_c)
{
	text_append(text, "START_CABLE_INFO\nNodeGuid,PortNum,SN,PN,Temperature\n");
	for (size_t i = 0; i < LINKS; i++) {
		text_appendf(text, "0x%" PRIx64 ",%zu,MT%zu,MCP,%.0fC\n", SWITCH_GUID, i + 1, site->cable[i],
			     temperature_c);
		text_appendf(text, "0x%" PRIx64 ",1,MT%zu,MCP,N/A\n", HCA_GUID(site->far[i]), site->cable[i]);
	}
	text_append(text, "END_CABLE_INFO\n");
}

static void append_nodes(struct text *text, size_t known, size_t unknown)
{
	text_append(text, "START_NODES\nNodeDesc,NodeGUID\n");
	for (size_t i = 0; i < known; i++)
		text_appendf(text, "\"x\",0x%" PRIx64 "\n", i ? HCA_GUID(i - 1) : SWITCH_GUID);
	for (size_t i = 0; i < unknown; i++)
		text_appendf(text, "\"y\",0x%zx\n", 0xabc000 + i);
	text_append(text, "END_NODES\n");
}

static int import_text(struct site *site, struct text *text, int64_t wall_us, struct cables_imported *ret,
		       struct error *err)
{
	struct ibdiagnet bundle = { 0 };
	char name[128];
	int code;

	snprintf(name, sizeof(name), "%s/ibdiagnet2.db_csv", folder);
	test_file_write(name, text_chars(text), text->len);
	text_done(text);
	code = ibdiagnet_read(&bundle, name, err);
	if (code == 0)
		code = cables_import(site->saved, &bundle, name, wall_us, now_us(site), ret, err);
	ibdiagnet_done(&bundle);
	return code;
}

static void import(struct site *site, double temperature_c, struct cables_imported *ret)
{
	struct text text = { 0 };
	struct error err = { 0 };

	text_appendf(&text, "# %u\n", site->hour);
	append_nodes(&text, LINKS + 1, 0);
	append_ports(site, &text, temperature_c);
	text_appendf(&text, "START_TEMP_SENSING\nNodeGUID,CurrentTemperature\n0x%" PRIx64 ",%.0f\nEND_TEMP_SENSING\n",
		     SWITCH_GUID, temperature_c - 3);
	if (import_text(site, &text, now_us(site), ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* Hours with sweeps; each day at the same hour there is an import. */
static void run(struct site *site, unsigned hours)
{
	struct cables_imported imported;

	while (hours--) {
		sweep(site);
		if (site->hour % 24 == 7)
			import(site, 50, &imported);
	}
}

static void swap(size_t *a, size_t *b)
{
	size_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Exchange the cables of two links, or the far ends of them, while they are down for an hour. */
static void exchange(struct site *site, size_t list[LINKS], size_t a, size_t b)
{
	site->down[a] = site->down[b] = true;
	build_fabric(site);
	sweep(site);
	swap(&list[a], &list[b]);
	site->down[a] = site->down[b] = false;
	build_fabric(site);
}

static void check_verdict(struct site *site, const char *serial)
{
	const struct history_port ports[] = { { SWITCH_GUID, 1 }, { HCA_GUID(site->far[0]), 1 } };
	const struct history_port parts[] = { { SWITCH_GUID, 1 }, { 0, 0 }, { HCA_GUID(0), 1 } };
	struct reader *reader = check_open_reader(path);
	struct cable_history history = { 0 };
	const struct link_fault *fault = &history.fault;
	struct error err = { 0 };

	if (cable_history_load(&history, reader, serial, ports, serial ? 0 : 2, 0, now_us(site), &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fault->result, LINK_FAULT_FOUND);
	assert_string_equal(history.parts[fault->period][fault->part], site->fault == 1 ? "MT0" : "");
	assert_int_equal(history.part_ports[fault->period][fault->part].node_guid, parts[site->fault].node_guid);
	assert_int_equal(history.part_ports[fault->period][fault->part].num, parts[site->fault].num);
	/* All three arrangements of the link, with the hours between the exchanges. */
	assert_true(history.period_count >= 5);
	cable_history_done(&history);
	reader_close(reader);
}

TEST_IN_FOLDER(errors_follow_the_part_that_is_faulty_through_exchanges)
{
	static struct site site;

	for (unsigned i = 0; i < (unsigned)test_cases(6); i++) {
		test_folder_renew();
		begin_site(&site, (int)(i % 3), 0.5 + 0.4 * (i % 2), i + 1);
		run(&site, 60 + (unsigned)(20 * draw(&site)));
		exchange(&site, site.cable, 0, 1 + (size_t)(draw(&site) * (LINKS - 1)));
		run(&site, 60 + (unsigned)(20 * draw(&site)));
		exchange(&site, site.far, 0, 1 + (size_t)(draw(&site) * (LINKS - 1)));
		run(&site, 60 + (unsigned)(20 * draw(&site)));
		check_verdict(&site, NULL);
		if (site.fault == 1)
			check_verdict(&site, "MT0");
		end_site(&site);
		check_sound(path);
	}
}

/* --- what is refused --- */

static void assert_refused(struct site *site, size_t known, size_t unknown, int64_t wall_us, const char *error)
{
	int64_t before = check_integer(path, "SELECT (SELECT count(*) FROM import) + (SELECT count(*) FROM cable)");
	struct cables_imported imported;
	struct text text = { 0 };
	struct error err = { 0 };

	append_nodes(&text, known, unknown);
	append_ports(site, &text, 60);
	assert_int_equal(import_text(site, &text, wall_us, &imported, &err), ERR_USAGE);
	if (!strstr(err.text, error))
		fail_msg("'%s' is not in: %s", error, err.text);
	assert_int_equal(check_integer(path, "SELECT (SELECT count(*) FROM import) + (SELECT count(*) FROM cable)"),
			 before);
}

TEST_IN_FOLDER(another_fabric_and_other_times_are_refused)
{
	static struct site site;
	struct cables_imported imported;

	begin_site(&site, 1, 0, 1);
	sweep(&site);
	import(&site, 50, &imported);
	assert_refused(&site, 4, 5, now_us(&site), "is of another fabric: 4 of its 9 nodes (44 %)");
	assert_refused(&site, 5, 0, now_us(&site) - HOUR_US, "older than the newest import");
	assert_refused(&site, 5, 0, now_us(&site) + HOUR_US, "in the future");
	end_site(&site);
}

TEST_IN_FOLDER(a_database_without_a_fabric_is_refused)
{
	static struct site site;

	memset(&site, 0, sizeof(site));
	site.saved = check_open_saved(path);
	assert_refused(&site, 5, 0, BEGIN_US, "has no fabric yet");
	saved_writer_close(site.saved);
}

TEST_IN_FOLDER(the_same_files_change_nothing)
{
	static struct site site;
	struct cables_imported imported;

	begin_site(&site, 1, 0, 1);
	import(&site, 50, &imported);
	assert_false(imported.known);
	assert_int_equal(imported.cables, 2 * LINKS);
	assert_int_equal(imported.appeared, LINKS);
	import(&site, 50, &imported);
	assert_true(imported.known);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM import"), 1);
	end_site(&site);
}

static void take_temperature(void *ctx, int64_t wall_us, double temperature_c)
{
	int64_t *times = ctx;

	times[0] = wall_us;
	times[1] = (int64_t)temperature_c;
}

/* Of a device that an import has; at a time in the past, as it was then. */
TEST_IN_FOLDER(the_temperature_of_a_device_is_that_of_its_newest_import)
{
	static struct site site;
	struct cables_imported imported;
	struct reader *reader;
	int64_t found[2] = { 0 }, first_us;

	begin_site(&site, 1, 0, 1);
	import(&site, 50, &imported);
	first_us = imported.wall_us;
	sweep(&site);
	import(&site, 61, &imported);
	reader = check_open_reader(path);
	assert_int_equal(reader_node_temperature(reader, SWITCH_GUID, 0, take_temperature, found, NULL), 0);
	assert_true(found[0] == imported.wall_us && found[1] == 58);
	assert_int_equal(reader_node_temperature(reader, SWITCH_GUID, first_us, take_temperature, found, NULL), 0);
	assert_true(found[0] == first_us && found[1] == 47);
	found[0] = 0;
	assert_int_equal(reader_node_temperature(reader, HCA_GUID(0), 0, take_temperature, found, NULL), 0);
	assert_int_equal(found[0], 0);
	reader_close(reader);
	end_site(&site);
}

/* A place ends with the first import that has another cable there; a port that an import lacks keeps its cable. */
TEST_IN_FOLDER(cables_are_stored_in_versions)
{
	static struct site site;
	struct cables_imported imported;
	struct text text = { 0 };

	begin_site(&site, 1, 0, 1);
	import(&site, 50, &imported);
	sweep(&site);
	import(&site, 52, &imported);
	assert_int_equal(imported.moved, 0);
	swap(&site.cable[0], &site.cable[1]);
	sweep(&site);
	import(&site, 61, &imported);
	assert_int_equal(imported.moved, 4);
	assert_int_equal(imported.appeared, 0);
	sweep(&site);
	text_append(&text, "START_CABLE_INFO\nNodeGuid,PortNum,SN\n0x100,1,MT1\n0xdead,1,MT9\nEND_CABLE_INFO\n");
	assert_int_equal(import_text(&site, &text, now_us(&site), &imported, NULL), 0);
	assert_int_equal(imported.unresolved, 1);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM cable WHERE serial = 'MT0' AND node_guid = 256 AND"
				       " port = 1 AND from_import = 1 AND last_import = 2 AND to_import = 3"), 1);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM cable WHERE serial = 'MT1' AND node_guid = 256 AND"
				       " port = 1 AND from_import = 3 AND last_import = 4 AND to_import IS NULL"), 1);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM cable WHERE serial = 'MT2' AND to_import IS NULL AND"
				       " last_import = 3"), 2);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM cable"), 2 * LINKS + 4);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM cable_reading WHERE temperature_c = 61"), LINKS);
	check_integrity(path);
	end_site(&site);
}
