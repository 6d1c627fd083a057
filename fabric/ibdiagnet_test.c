/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files of ibdiagnet that the test writes: with columns in any order, names with commas and quotes, values that are
 * unknown, and rows that are damaged. What is read must be what was written, and every row must be counted.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/ibdiagnet.h"

static char folder[] = "/tmp/ibdiagnet_test.XXXXXX";
static char path[128];

/* Each test has a folder of its own, which is left empty. */
static void make_folder(void)
{
	memcpy(strrchr(folder, '.'), ".XXXXXX", 8);
	assert_non_null(mkdtemp(folder));
}

static void write_file(const char *name, const char *bytes, size_t len)
{
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

static void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

static void remove_folder(void)
{
	static const char *const names[] = { "ibdiagnet2.db_csv", "ibdiagnet2.cables", "ibdiagnet2.pm",
					     "ibdiagnet2.net_dump_ext", "other.db_csv", "notes.txt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(folder), 0);
}

static void read_all(struct ibdiagnet *bundle)
{
	struct error err = { 0 };

	memset(bundle, 0, sizeof(*bundle));
	if (ibdiagnet_read(bundle, folder, &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_refuses(const char *text)
{
	struct ibdiagnet bundle = { 0 };
	struct error err = { 0 };

	assert_int_equal(ibdiagnet_read(&bundle, folder, &err), ERR_USAGE);
	if (!strstr(err.text, text))
		fail_msg("'%s' is not in: %s", text, err.text);
	ibdiagnet_done(&bundle);
}

/* --- a random .db_csv --- */

enum { ROWS_MOST = 60, CABLE_COLUMNS = 11, NAME_MOST = 60 };

struct written {
	uint64_t guid;
	unsigned port;
	char serial[24], part[16];
	int temperature; /* -1: unknown */
	uint64_t symbols;
	bool has_cable, has_counters;
};

static uint64_t seed;

static uint32_t below(uint32_t limit)
{
	seed = map_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
	return (uint32_t)(seed % limit);
}

/* A name of a node, as written: ibdiagnet encloses it in quotes, and does not double those in it. */
static void append_name(struct text *text, bool hard)
{
	static const char *const parts[] = { "leaf", "01", " ", ",", "\"", "MF0;", ":", "rack 7", "'", ", " };

	text_append(text, "\"");
	for (unsigned i = 0, count = 1 + below(6); i < count; i++)
		text_append(text, parts[hard ? below(10) : below(3)]);
	text_append(text, "x\"");
}

static const char *quoted(char ret[32], const char *value)
{
	snprintf(ret, 32, below(2) ? "\"%s\"" : "%s", value);
	return ret;
}

static void shuffle(unsigned *order, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		order[i] = i;
	for (unsigned i = count; i > 1; i--) {
		unsigned at = below(i), kept = order[i - 1];

		order[i - 1] = order[at];
		order[at] = kept;
	}
}

static void append_cable(struct text *text, const struct written *row, const unsigned *order)
{
	char cell[32], value[32];

	for (unsigned i = 0; i < CABLE_COLUMNS; i++) {
		text_append(text, i ? "," : "");
		switch (order[i]) {
		case 0: text_appendf(text, "0x%016llx", (unsigned long long)row->guid); break;
		case 1: text_appendf(text, "%u", row->port); break;
		case 2: text_append(text, quoted(cell, row->serial)); break;
		case 3: text_append(text, quoted(cell, row->part)); break;
		case 4:
			snprintf(value, sizeof(value), row->temperature < 0 ? "N/A" : "%dC", row->temperature);
			text_append(text, quoted(cell, value));
			break;
		case 5: text_append(text, "\"Mellanox, Inc.\""); break;
		case 6: text_append(text, "\"2 m\""); break;
		case 7: text_append(text, "0.9"); break;
		case 8: text_append(text, "NA"); break;
		default: text_appendf(text, "%u", below(100)); break;
		}
	}
	text_append(text, "\n");
}

static void append_file(struct text *text, struct written *rows, size_t count, bool hard)
{
	static const char *const titles[CABLE_COLUMNS] = { "NodeGuid", "PortNum", "SN", "PN", "Temperature", "Vendor",
							   "LengthDesc", "RX1Power", "RX2Power", "New1", "New2" };
	unsigned order[CABLE_COLUMNS];

	shuffle(order, CABLE_COLUMNS);
	text_append(text, "# Running version   : \"IBDIAGNET 2.10.0\",\"IBDIAG 2.1.1\"\n"
			  "# Running timestamp : 2022-08-25 17:45:38 CEST +0200\n\nSTART_NODES\n"
			  "NodeDesc,NumPorts,NodeGUID\n");
	for (size_t i = 0; i < count; i++) {
		append_name(text, hard);
		text_appendf(text, ",%u,0x%llx\n", below(100), (unsigned long long)rows[i].guid);
	}
	text_append(text, "END_NODES\n\n\nSTART_UNKNOWN_SECTION\nA,B\nSTART,END_NODES\nEND_UNKNOWN_SECTION\n"
			  "START_CABLE_INFO\n");
	for (unsigned i = 0; i < CABLE_COLUMNS; i++)
		text_appendf(text, "%s%s", i ? "," : "", titles[order[i]]);
	text_append(text, "\n");
	for (size_t i = 0; i < count; i++)
		if (rows[i].has_cable)
			append_cable(text, &rows[i], order);
	text_append(text, "END_CABLE_INFO\nSTART_PM_INFO\nPortNumber,NodeGUID,SymbolErrorCounter,"
			  "SymbolErrorCounterExt,LinkDownedCounter\n");
	for (size_t i = 0; i < count; i++)
		if (rows[i].has_counters)
			text_appendf(text, "%u,0x%llx,65535,%llu,0x%x\n", rows[i].port,
				     (unsigned long long)rows[i].guid, (unsigned long long)rows[i].symbols, 10);
	text_append(text, "END_PM_INFO\n");
}

static void draw_rows(struct written *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct written *row = &rows[i];

		*row = (struct written){ .guid = UINT64_C(0xb8cef60300000000) + i, .port = 1 + below(64),
					 .temperature = below(5) ? (int)below(90) : -1, .symbols = below(1000000),
					 .has_cable = below(8), .has_counters = below(8) };
		snprintf(row->serial, sizeof(row->serial), below(10) ? "MT%05u" : "N/A", below(100000));
		snprintf(row->part, sizeof(row->part), "MCP%04u-H", below(10000));
	}
}

static void check_row(struct ibdiagnet *bundle, const struct written *row)
{
	const struct ibdiagnet_port *port = ibdiagnet_port(bundle, row->guid, (uint8_t)row->port, false);
	bool known = row->has_cable && strcmp(row->serial, "N/A") != 0;

	assert_string_equal(port->texts[IBDIAGNET_SERIAL], known ? row->serial : "");
	assert_string_equal(port->texts[IBDIAGNET_PART], row->has_cable ? row->part : "");
	assert_string_equal(port->texts[IBDIAGNET_VENDOR], row->has_cable ? "Mellanox, Inc." : "");
	assert_string_equal(port->texts[IBDIAGNET_RX_POWER], row->has_cable ? "0.9" : "");
	if (row->has_cable && row->temperature >= 0)
		assert_float_equal(port->temperature_c, row->temperature, 0);
	else
		assert_true(isnan(port->temperature_c));
	assert_int_equal(port->counters_known, row->has_counters ? 1U << IBDIAGNET_SYMBOL_ERRORS |
								   1U << IBDIAGNET_LINK_DOWNED : 0);
	if (row->has_counters) {
		assert_int_equal(port->counters[IBDIAGNET_SYMBOL_ERRORS], row->symbols);
		assert_int_equal(port->counters[IBDIAGNET_LINK_DOWNED], 10);
	}
}

TEST(every_row_of_random_files_is_read_with_commas_and_quotes_in_names)
{
	for (unsigned i = 0; i < (unsigned)test_cases(60); i++) {
		struct written rows[ROWS_MOST];
		size_t count, cables = 0, counters = 0;
		struct text text = { 0 };
		struct ibdiagnet bundle;

		seed = i + 1;
		count = 1 + below(ROWS_MOST);
		draw_rows(rows, count);
		for (size_t j = 0; j < count; j++) {
			cables += rows[j].has_cable;
			counters += rows[j].has_counters;
		}
		append_file(&text, rows, count, i % 2);
		make_folder();
		write_text("ibdiagnet2.db_csv", text_chars(&text));
		read_all(&bundle);
		assert_int_equal(bundle.counts[IBDIAGNET_NODES].rows, count);
		assert_int_equal(bundle.counts[IBDIAGNET_CABLES].rows, cables);
		assert_int_equal(bundle.counts[IBDIAGNET_COUNTERS].rows, counters);
		for (int section = 0; section < IBDIAGNET_SECTIONS; section++)
			assert_int_equal(bundle.counts[section].unread, 0);
		assert_int_equal(bundle.other_sections, 1);
		assert_int_equal(bundle.wall_us, INT64_C(1661442338000000));
		assert_string_equal(bundle.version, "IBDIAGNET 2.10.0");
		for (size_t j = 0; j < count; j++)
			check_row(&bundle, &rows[j]);
		ibdiagnet_done(&bundle);
		remove_folder();
		text_done(&text);
	}
}

/* A file that ends within a section is refused; one that ends between two has all rows of those before. */
TEST(a_file_that_is_cut_is_refused)
{
	struct written rows[4];
	struct text text = { 0 };
	size_t between = 0, cables = 0, counters = 0;

	seed = 5;
	draw_rows(rows, 4);
	for (size_t i = 0; i < 4; i++) {
		cables += rows[i].has_cable;
		counters += rows[i].has_counters;
	}
	append_file(&text, rows, 4, true);
	make_folder();
	for (size_t len = 0; len < text.len; len++) {
		struct ibdiagnet bundle = { 0 };
		struct error err = { 0 };
		int code;

		write_file("ibdiagnet2.db_csv", text_chars(&text), len);
		code = ibdiagnet_read(&bundle, folder, &err);
		if (code == 0) {
			between++;
			assert_int_equal(bundle.counts[IBDIAGNET_NODES].rows, 4);
			assert_true(!bundle.counts[IBDIAGNET_CABLES].rows ||
				    bundle.counts[IBDIAGNET_CABLES].rows == cables);
			assert_true(!bundle.counts[IBDIAGNET_COUNTERS].rows ||
				    bundle.counts[IBDIAGNET_COUNTERS].rows == counters);
		} else {
			assert_int_equal(code, ERR_USAGE);
			assert_true(strstr(err.text, "is cut") || strstr(err.text, "has no section"));
		}
		ibdiagnet_done(&bundle);
	}
	/* Ends of four sections, the blank lines behind them, and "START_" without a name. */
	assert_true(between >= 4 && between < 40);
	remove_folder();
	text_done(&text);
}

TEST(a_file_that_ends_before_the_index_it_announces_is_refused)
{
	make_folder();
	write_text("ibdiagnet2.db_csv", "# INDEX_TABLE offset:        4711, line:          99\nSTART_NODES\n"
					"NodeGUID\n0x1\nEND_NODES\n");
	assert_refuses("is cut");
	remove_folder();
}

TEST(rows_that_are_not_understood_are_counted_with_their_line)
{
	struct ibdiagnet bundle;

	make_folder();
	write_text("ibdiagnet2.db_csv", "START_CABLE_INFO\nNodeGuid,PortNum,SN\n0x10,1,MT1\nno guid,1,MT2\n0x10,2\n"
					"0x10,256,MT3\n0x10,x,MT4\n0x10,3,MT5\nEND_CABLE_INFO\n"
					"START_TEMP_SENSING\nNodeGUID,Heat\n0x10,40\nEND_TEMP_SENSING\n");
	read_all(&bundle);
	assert_int_equal(bundle.counts[IBDIAGNET_CABLES].rows, 2);
	assert_int_equal(bundle.counts[IBDIAGNET_CABLES].unread, 4);
	assert_int_equal(bundle.counts[IBDIAGNET_CABLES].first_unread, 4);
	/* A version without the column that is needed. */
	assert_int_equal(bundle.counts[IBDIAGNET_SENSORS].rows, 0);
	assert_int_equal(bundle.counts[IBDIAGNET_SENSORS].unread, 1);
	ibdiagnet_done(&bundle);
	remove_folder();
}

TEST(blocks_and_tables_of_the_other_files_are_read)
{
	const struct ibdiagnet_port *port;
	struct ibdiagnet bundle;

	make_folder();
	write_text("ibdiagnet2.cables",
		   "-----\nPort=1 Lid=0x00a4 GUID=0xf45214030046a0a1 Port Name=leaf: 1/U1/P1\n-----\n\n"
		   "Vendor: Mellanox\n"
		   "PN: MCP1600-E002\nSN: MT1739VS02126\nRev: A3\nLength: 2 m\nType: Copper cable- unequalized\n"
		   "Temperature: N/A\nRX1 Power: 0.000 mW, -999.999 dBm\nRX2 Power: 0.100 mW, -10.000 dBm\n"
		   "TX1 Bias: 6.500 mA\n-----\nPort=2 Lid=0x00a4 GUID=0xf45214030046a0a1 Port Name=x\n-----\n"
		   "SN: MT2\nTemperature: 45 C\n");
	write_text("ibdiagnet2.pm", "-----\nPort=1 Lid=0x00a4 GUID=0xf45214030046a0a1 Device=1 Port Name=x\n-----\n"
				    "symbol_error_counter=0x0010\nlink_downed_counter=0x0002\nport_rcv_errors=N/A\n");
	write_text("ibdiagnet2.net_dump_ext",
		   "# Running timestamp : 2026-11-29 10:00:00 UTC +0000\n"
		   "Ty : # : #IB : GUID : LID : Sta : Raw BER : Effective BER : Symbol BER : Symbol Err : Node Desc\n"
		   "SW : sw1p1 : 1 : 0xf45214030046a0a1 : 10 (0xa) : ACT : 1e-12 : 1.5e-254 : 0 : 4 : \"MF0;a:b/U1\"\n"
		   "SW : sw1p2 : 2 : 0xf45214030046a0a1 : 10 (0xa) : ACT : N/A : N/A : N/A : N/A : \"x\"\n"
		   "SW : sw1p3 : 3 : nothing : 10 : ACT : 1 : 1 : 1 : 1 : \"x\"\n");
	read_all(&bundle);
	assert_int_equal(bundle.file_count, 3);
	assert_int_equal(bundle.wall_us, INT64_C(1795946400000000));
	assert_int_equal(bundle.counts[IBDIAGNET_CABLES].rows, 2);
	assert_int_equal(bundle.counts[IBDIAGNET_COUNTERS].rows, 1);
	assert_int_equal(bundle.counts[IBDIAGNET_BER].rows, 2);
	assert_int_equal(bundle.counts[IBDIAGNET_BER].unread, 1);
	port = ibdiagnet_port(&bundle, UINT64_C(0xf45214030046a0a1), 1, true);
	assert_string_equal(port->texts[IBDIAGNET_SERIAL], "MT1739VS02126");
	assert_string_equal(port->texts[IBDIAGNET_TYPE], "Copper cable- unequalized");
	assert_string_equal(port->texts[IBDIAGNET_RX_POWER], "0.000 mW, -999.999 dBm | 0.100 mW, -10.000 dBm");
	assert_true(isnan(port->temperature_c));
	assert_int_equal(port->counters[IBDIAGNET_SYMBOL_ERRORS], 16);
	assert_int_equal(port->counters_known, 1U << IBDIAGNET_SYMBOL_ERRORS | 1U << IBDIAGNET_LINK_DOWNED);
	assert_float_equal(port->raw_ber, 1e-12, 1e-20);
	assert_true(port->effective_ber > 0 && port->effective_ber < 1e-253);
	port = ibdiagnet_port(&bundle, UINT64_C(0xf45214030046a0a1), 2, true);
	assert_float_equal(port->temperature_c, 45, 0);
	assert_true(isnan(port->raw_ber));
	ibdiagnet_done(&bundle);
	remove_folder();
}

/* Firmware is hexadecimal, and the date of its build digits; places and temperatures of devices. */
TEST(sections_of_devices_are_read)
{
	const struct ibdiagnet_node *node;
	struct ibdiagnet bundle;

	make_folder();
	write_text("ibdiagnet2.db_csv",
		   "START_NODES_INFO\nNodeGUID,FWInfo_Extended_Major,FWInfo_Extended_Minor,FWInfo_Extended_SubMinor,"
		   "FWInfo_Year,FWInfo_Month,FWInfo_Day,FWInfo_PSID\n"
		   "0x10,0x1c,0x27,0x3ea,0x2023,0x08,0x25,\"MT_0000000546\"\n0x20,N/A,N/A,N/A,N/A,N/A,N/A,\"\"\n"
		   "END_NODES_INFO\nSTART_TEMP_SENSING\nNodeGUID,CurrentTemperature\n0x10,47\nEND_TEMP_SENSING\n"
		   "START_PORT_HIERARCHY_INFO\nNodeGUID,PortGUID,PortNum,Cage,Plane\n0x10,0x10,5,17,2\n"
		   "0x10,0x10,6,N/A,N/A\nEND_PORT_HIERARCHY_INFO\n");
	read_all(&bundle);
	node = ibdiagnet_node(&bundle, 0x10);
	assert_int_equal(node->firmware.major, 28);
	assert_int_equal(node->firmware.minor, 39);
	assert_int_equal(node->firmware.sub_minor, 1002);
	assert_int_equal(node->firmware.built, 20230825);
	assert_string_equal(node->firmware.psid, "MT_0000000546");
	assert_float_equal(node->temperature_c, 47, 0);
	assert_int_equal(ibdiagnet_node(&bundle, 0x20)->firmware.source, FIRMWARE_UNKNOWN);
	assert_int_equal(ibdiagnet_port(&bundle, 0x10, 5, false)->cage, 17);
	assert_int_equal(ibdiagnet_port(&bundle, 0x10, 5, false)->plane, 2);
	assert_int_equal(ibdiagnet_port(&bundle, 0x10, 6, false)->cage, -1);
	assert_int_equal(bundle.counts[IBDIAGNET_PLACES].rows, 2);
	ibdiagnet_done(&bundle);
	remove_folder();
}

TEST(folders_without_the_files_are_refused)
{
	make_folder();
	assert_refuses("has no file of ibdiagnet");
	write_text("notes.txt", "x\n");
	assert_refuses("has no file of ibdiagnet");
	write_text("ibdiagnet2.db_csv", "");
	assert_refuses("has no section");
	write_text("ibdiagnet2.db_csv", "START_NODES\nNodeGUID\nSTART_PORTS\nEND_NODES\n");
	assert_refuses("begins before the end of NODES");
	write_text("ibdiagnet2.db_csv", "START_NODES\nNodeGUID\n0x1\nEND_NODES\n");
	write_text("ibdiagnet2.cables", "Port=1 Lid=1 GUID=0x10 Port Name=x\nSN: M");
	assert_refuses("is cut");
	remove_folder();
}

/* Another program may have opened any file: no bytes end the program, and none hold memory. */
TEST(random_bytes_are_read_or_refused)
{
	for (unsigned i = 0; i < (unsigned)test_cases(300); i++) {
		static const char *const pieces[] = { "START_NODES\n", "END_NODES\n", "NodeGUID", ",", "\"", "\n",
						      "0x10", "START_CABLE_INFO\n", "END_CABLE_INFO\n", "SN", "PortNum",
						      "\xff", "Port=1 GUID=0x1\n", ":", "=", "\r", "#", "1" };
		struct ibdiagnet bundle = { 0 };
		struct text text = { 0 };

		seed = i + 1;
		for (unsigned j = 0, count = below(60); j < count; j++)
			text_append(&text, pieces[below(sizeof(pieces) / sizeof(*pieces))]);
		make_folder();
		write_text(i % 2 ? "ibdiagnet2.db_csv" : "ibdiagnet2.cables", text_chars(&text));
		ibdiagnet_read(&bundle, folder, NULL);
		ibdiagnet_done(&bundle);
		remove_folder();
		text_done(&text);
	}
}

/* A folder with files that ibdiagnet wrote, if there is one: all rows of its sections are understood. */
TEST(files_of_ibdiagnet_are_read)
{
	const char *from = getenv("IBWIRE_IBDIAGNET_DIR");
	struct ibdiagnet bundle = { 0 };
	struct error err = { 0 };

	if (!from)
		skip();
	if (ibdiagnet_read(&bundle, from, &err) < 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < IBDIAGNET_SECTIONS; i++) {
		print_message("%s: %zu rows, %zu not understood\n", ibdiagnet_section_name((enum ibdiagnet_section)i),
			      bundle.counts[i].rows, bundle.counts[i].unread);
		assert_int_equal(bundle.counts[i].unread, 0);
	}
	ibdiagnet_done(&bundle);
}
