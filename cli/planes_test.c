/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `ibwire ports` for an HCA with planes: counters of the switch ports, and their sum. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/unit_test.h"
#include "cli/command.h"
#include "cli/test_commands.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"

enum { PLANES = 4, PORTS = 2 * PLANES + 1 };

#define HOST_GUID UINT64_C(0x900)
#define SWITCH_GUID UINT64_C(0x100)
#define WALL_US (INT64_C(1790000000) * US_PER_S)

/* A host of four planes and a fifth port of its own, each cabled to the port of that number of one switch. */
static struct fabric *make_fabric(void)
{
	struct fabric *fabric = fabric_create(NULL);
	struct node host = { .guid = HOST_GUID, .type = NODE_CA, .port_count = PLANES + 1, .desc = "gpu1 mlx5_0" };
	struct node leaf = { .guid = SWITCH_GUID, .type = NODE_SWITCH, .port_count = PLANES + 1, .desc = "leaf1" };

	assert_true(fabric_add_node(fabric, &host, NULL) >= 0);
	for (unsigned i = 1; i <= PLANES + 1; i++)
		assert_true(fabric_add_port(fabric, &(struct port){
			.num = (uint8_t)i, .state = PORT_ACTIVE, .phys_state = PHYS_LINK_UP,
			.width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR, .lid = 7,
			.guid = i <= PLANES ? HOST_GUID + 1 : HOST_GUID + 2 }, NULL) >= 0);
	assert_true(fabric_add_node(fabric, &leaf, NULL) >= 0);
	for (unsigned i = 1; i <= PLANES + 1; i++)
		assert_true(fabric_add_port(fabric, &(struct port){
			.num = (uint8_t)i, .state = PORT_ACTIVE, .phys_state = PHYS_LINK_UP,
			.width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR, .lid = 9 }, NULL) >= 0);
	for (uint32_t i = 0; i <= PLANES; i++) {
		fabric->ports[i].peer = PLANES + 1 + i;
		fabric->ports[PLANES + 1 + i].peer = i;
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

/* Each switch port sends its own number of GB/s, and receives a tenth of that. */
static void store(struct writer *writer, const struct fabric *fabric, unsigned number)
{
	struct port_sample samples[PORTS + 1] = { 0 };
	struct reading readings[PORTS + 1] = { 0 };
	struct delta deltas[PORTS + 1] = { 0 };
	struct sweep sweep = {
		.wall_us = WALL_US + number * US_PER_S, .start_us = number * US_PER_S,
		.end_us = number * US_PER_S + US_PER_MS, .interval_us = US_PER_S, .fabric = fabric, .generation = 1,
		.samples = samples, .sample_count = fabric->port_count, .boot_id = "planes",
	};
	struct error err = { 0 };

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		samples[i] = (struct port_sample){ .port = i, .status = SAMPLE_OK };
		if (port->guid == HOST_GUID + 1) {
			samples[i].status = SAMPLE_UNSUPPORTED;
			continue;
		}
		deltas[i] = (struct delta){ .elapsed_us = US_PER_S, .known = COUNTER_BIT(COUNTER_COUNT) - 1 };
		deltas[i].value[COUNTER_XMIT_DATA] = UINT64_C(250000000) * port->num;
		deltas[i].value[COUNTER_RCV_DATA] = UINT64_C(25000000) * port->num;
		readings[i] = (struct reading){ .at_us = sweep.end_us, .present = deltas[i].known,
						.wide = COUNTER_TRAFFIC_SET };
		readings[i].value[COUNTER_XMIT_DATA] = deltas[i].value[COUNTER_XMIT_DATA] * number;
		readings[i].value[COUNTER_RCV_DATA] = deltas[i].value[COUNTER_RCV_DATA] * number;
		samples[i].reading = &readings[i];
		samples[i].delta = number ? &deltas[i] : NULL;
		sweep.ports_answered++;
	}
	sweep.ports_planned = sweep.ports_polled = (uint32_t)fabric->port_count;
	if (writer_sink(writer)->store(writer_sink(writer)->ctx, &sweep, &err) < 0)
		fail_msg("%s", err.text);
}

static void make(void)
{
	struct writer *writer = check_open_writer(path);
	struct fabric *fabric = make_fabric();

	store(writer, fabric, 0);
	store(writer, fabric, 1);
	writer_close(writer);
	fabric_destroy(fabric);
	use_database(path);
}

TEST_IN_FOLDER(planes_show_switch_port_counters_sums_and_status)
{
	json_t *rows;

	make();
	rows = run_json("ports|gpu1 mlx5_0");
	assert_int_equal(json_array_size(rows), PLANES + 1);
	for (unsigned i = 1; i <= PLANES; i++) {
		const json_t *row = find_row(rows, HOST_GUID, i);

		assert_text(row, "status", "mirrored");
		assert_number(row, "rcv_bytes_per_s", 1e9 * i);
		assert_number(row, "xmit_bytes_per_s", 1e8 * i);
		assert_int_equal(integer_of(row, "planes"), PLANES);
		assert_number(row, "planes_rate_gbps", 800);
		assert_number(row, "planes_rcv_bytes_per_s", 10e9);
		assert_number(row, "planes_xmit_bytes_per_s", 1e9);
	}
	/* The fifth port is not a plane and has its own counters. */
	assert_text(find_row(rows, HOST_GUID, PLANES + 1), "status", "ok");
	assert_int_equal(integer_of(find_row(rows, HOST_GUID, PLANES + 1), "planes"), -1);
	assert_int_equal(integer_of(find_row(rows, HOST_GUID, PLANES + 1), "planes_rate_gbps"), -1);
	json_decref(rows);
	/* The status of a node is the worst of its ports. */
	rows = run_json("nodes|gpu1 mlx5_0");
	assert_int_equal(json_array_size(rows), 1);
	assert_text(json_array_get(rows, 0), "status", "mirrored");
	json_decref(rows);
	rows = run_json("status");
	assert_int_equal(integer_of(rows, "ports_mirrored"), PLANES);
	assert_int_equal(integer_of(rows, "ports_unplanned"), 0);
	json_decref(rows);
}

/* What a command writes to a terminal, where notes follow the table. */
static void run_on_terminal(const char *line, char *text, size_t size)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), before = dup(STDOUT_FILENO), other;
	struct winsize window = { .ws_row = 24, .ws_col = 160 };
	char words[128], *word, *save = NULL, *argv[16];
	struct error err = { 0 };
	ssize_t got;
	size_t len = 0;
	int argc = 0;

	snprintf(words, sizeof(words), "%s|--db|%s", line, path);
	for (word = strtok_r(words, "|", &save); word && argc < 15; word = strtok_r(NULL, "|", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	assert_true(other >= 0 && ioctl(other, TIOCSWINSZ, &window) == 0);
	fflush(stdout);
	dup2(other, STDOUT_FILENO);
	assert_int_equal(command_find(argv[0])->run(command_find(argv[0]), argc, argv, &err), 0);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(other);
	/* Read in parts; the end of a pty is an error. */
	while ((got = read(terminal, text + len, size - 1 - len)) > 0)
		len += (size_t)got;
	assert_in_range(len, 1, size - 2);
	text[len] = 0;
	close(terminal);
}

TEST_IN_FOLDER(table_ends_with_sums_of_planes)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	char text[4096];

	if (terminal < 0 || !ptsname(terminal) || access(ptsname(terminal), R_OK) != 0) {
		print_message("# no pseudo terminals (is /dev/pts mounted?)\n");
		skip();
	}
	close(terminal);
	make();
	setenv("NO_COLOR", "1", 1);
	setenv("PAGER", "cat", 1); /* less would wait for keys */
	run_on_terminal("ports|gpu1 mlx5_0", text, sizeof(text));
	assert_non_null(strstr(text, "gpu1 mlx5_0/1: 4 planes, of 800.0 Gb/s together: sends 8.0 Gb/s (1.0 %), "
				     "receives 80.0 Gb/s (10.0 %)"));
	assert_null(strstr(text, "gpu1 mlx5_0/2: "));
	/* No sums without planes among the rows. */
	run_on_terminal("ports|leaf1", text, sizeof(text));
	assert_null(strstr(text, "planes"));
}
