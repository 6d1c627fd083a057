/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Firmware versions: read once, again after a restart, seldom otherwise; nodes that do not respond. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "collector/firmware_read.h"
#include "fabric/fabric.h"
#include "tests/world/lab.h"
#include "wire/general_info.h"

static const struct firmware old_firmware = { .major = 28, .minor = 38, .sub_minor = 1002, .built = 20230803,
					      .source = FIRMWARE_READ, .psid = "MT_0000000838" };
static const struct firmware new_firmware = { .major = 28, .minor = 39, .sub_minor = 2048, .built = 20231130,
					      .source = FIRMWARE_READ, .psid = "MT_0000000838" };

/* Nodes of another vendor, that reject the attribute, and that do not respond to the class. */
enum { FOREIGN = LEAF, REJECTING = HOST + 2, SILENT = HOST + 3, UPGRADED = HOST + 4 };

static int setup(void **state)
{
	struct lab *lab = *state = lab_create(1);

	for (size_t i = 0; i < LAB_NODES; i++) {
		lab->run.world->built->nodes[i].vendor_id = i != FOREIGN ? 0x2c9 : 0x1234;
		lab->agents[i].firmware = old_firmware;
	}
	lab->agents[REJECTING].firmware.source = FIRMWARE_UNKNOWN;
	lab->agents[SILENT].vendor_silent = true;
	lab->run.settings.firmware = true;
	return 0;
}

/* What the last sweep but one had: its fabric is valid only while the collector runs. */
static struct firmware stored[LAB_NODES];

static void keep_stored(struct lab *lab)
{
	const struct fabric *fabric = lab->last_sweep.fabric;

	for (uint32_t i = 0; lab->sweeps && i < LAB_NODES; i++)
		if (fabric_find_node(fabric, lab_guid(i)) != FABRIC_NONE)
			stored[i] = fabric->nodes[fabric_find_node(fabric, lab_guid(i))].firmware;
}

static bool has_none(uint32_t node)
{
	return node == FOREIGN || node == REJECTING || node == SILENT;
}

LAB_TEST_WITH(each_node_is_read_once, setup)
{
	lab_run_with(lab, keep_stored, 40);
	for (uint32_t i = 0; i < LAB_NODES; i++) {
		const struct firmware *firmware = &stored[i];

		assert_int_equal(firmware->source, has_none(i) ? FIRMWARE_UNKNOWN : FIRMWARE_READ);
		if (has_none(i)) {
			assert_true(lab->agents[i].firmware_queries <= (i == FOREIGN ? 0 : i == SILENT ? 3 : 6));
			continue;
		}
		assert_true(firmware_same(firmware, &old_firmware));
		assert_string_equal(firmware->psid, old_firmware.psid);
		assert_int_equal(firmware->built, old_firmware.built);
		assert_int_equal(firmware->changed_us, 0);
		/* Queries with a response are repeated to see that the fabric responds while SILENT does not. */
		assert_in_range(lab->agents[i].firmware_queries, 1, 2);
	}
	assert_int_equal(lab_events_of(lab, EVENT_FIRMWARE_CHANGED), 0);
	/* A node without the class is no unresponsive node. */
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
	assert_int_equal(lab->report.ports_answered, lab->report.ports_polled);
}

LAB_TEST_WITH(nothing_is_read_without_the_setting, setup)
{
	lab->run.settings.firmware = false;
	lab_run_with(lab, keep_stored, 10);
	for (uint32_t i = 0; i < LAB_NODES; i++) {
		assert_int_equal(lab->agents[i].firmware_queries, 0);
		assert_int_equal(stored[i].source, FIRMWARE_UNKNOWN);
	}
}

/* It restarts with another version: it does not respond for a while. */
static void upgrade(struct lab *lab)
{
	keep_stored(lab);
	lab->agents[UPGRADED].dead = lab->sweeps >= 20 && lab->sweeps < 23;
	if (lab->sweeps == 20)
		lab->agents[UPGRADED].firmware = new_firmware;
}

LAB_TEST_WITH(an_upgraded_node_is_read_again_after_its_restart, setup)
{
	lab_run_with(lab, upgrade, 30);
	assert_true(firmware_same(&stored[UPGRADED], &new_firmware));
	assert_true(stored[UPGRADED].changed_us > 0);
	assert_int_equal(lab_events_of(lab, EVENT_FIRMWARE_CHANGED), 1);
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, EVENT_FIRMWARE_CHANGED)) {
			assert_int_equal(lab->events[i].node_guid, lab_guid(UPGRADED));
			assert_non_null(strstr(lab->events[i].text, "is now 28.39.2048 (PSID MT_0000000838), before "
					       "28.38.1002"));
		}
}

/* Without a sign of a restart, within an hour. */
static void upgrade_silently(struct lab *lab)
{
	keep_stored(lab);
	if (lab->sweeps == 20)
		lab->agents[UPGRADED].firmware = new_firmware;
}

LAB_TEST_WITH(all_nodes_are_read_again_within_an_hour, setup)
{
	lab_run_with(lab, upgrade_silently, 2 * FIRMWARE_READ_SWEEPS + 5);
	assert_true(firmware_same(&stored[UPGRADED], &new_firmware));
	assert_in_range(lab->agents[HOST].firmware_queries, 2, 3);
	assert_true(lab->agents[SILENT].firmware_queries <= 3);
}

/* The old version has the lower bytes of the new one; with a software version there, the old one counts. */
TEST(the_extended_version_is_used_if_there_is_one)
{
	uint8_t mad[MAD_SIZE] = { [3] = METHOD_GET_RESPONSE };
	struct firmware firmware = { .at_us = 5 };

	assert_false(general_info_read(mad, &firmware));
	mad[65] = 2;
	mad[66] = 7;
	mad[67] = 9;
	memcpy(mad + 80, "MT_04A0110001\0\0\0", 16);
	assert_true(general_info_read(mad, &firmware));
	assert_true(firmware.major == 2 && firmware.minor == 7 && firmware.sub_minor == 9 && !firmware.built);
	assert_string_equal(firmware.psid, "MT_04A0110001");
	assert_int_equal(firmware.at_us, 5);
	put_be32(mad + 100, 0x00010203);
	assert_true(general_info_read(mad, &firmware));
	assert_int_equal(firmware.minor, 7);
	put_be32(mad + 100, 28);
	put_be32(mad + 104, 39);
	put_be32(mad + 108, 1002);
	memcpy(mad + 72, "\x02\x29\x20\x24", 4);
	assert_true(general_info_read(mad, &firmware));
	assert_true(firmware.major == 28 && firmware.minor == 39 && firmware.sub_minor == 1002);
	assert_int_equal(firmware.built, 20240229);
	mad[72] = 0x1a;
	assert_true(general_info_read(mad, &firmware));
	assert_int_equal(firmware.built, 0);
	memcpy(mad + 80, "\033[31mEVIL\0\0\0\0\0\0\0", 16);
	assert_true(general_info_read(mad, &firmware));
	for (const char *at = firmware.psid; *at; at++)
		assert_in_range(*at, ' ', '~');
	put_be16(mad + 4, 0x000c);
	assert_false(general_info_read(mad, &firmware));
}
