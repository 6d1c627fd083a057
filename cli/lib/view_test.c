/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers of a port, from a constructed snapshot. */
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "base/unit_test.h"
#include "cli/lib/cells.h"
#include "cli/lib/view.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

/* A Quantum with one port of 4x HDR, that waited for a quarter of ten seconds. */
struct made {
	struct fabric *fabric;
	struct pma_caps caps;
	struct port_row row;
	struct snapshot snapshot;
	struct view view;
};

static void make(struct made *made)
{
	const struct node node = { .guid = 1, .type = NODE_SWITCH, .port_count = 1, .vendor_id = 0x2c9,
				   .device_id = 0xd2f0 };
	const struct port port = { .num = 1, .state = PORT_ACTIVE, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };

	memset(made, 0, sizeof(*made));
	made->fabric = fabric_create(NULL);
	assert_true(fabric_add_node(made->fabric, &node, NULL) >= 0);
	assert_true(fabric_add_port(made->fabric, &port, NULL) >= 0);
	assert_int_equal(fabric_finish(made->fabric, NULL, NULL), 0);
	made->caps = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	made->row = (struct port_row){ .status = SAMPLE_OK, .last_wall_us = 1,
				       .sum = { .elapsed_us = 10000000, .known = COUNTER_BIT(COUNTER_XMIT_WAIT) } };
	made->row.sum.value[COUNTER_XMIT_WAIT] = UINT64_C(7812500000);
	made->snapshot = (struct snapshot){ .fabric = made->fabric, .rows = &made->row, .caps = &made->caps };
	made->view = (struct view){ .snapshot = &made->snapshot, .fabric = made->fabric };
}

/* The one cell, as JSON or as a table. */
static void show(const struct port_view *port, enum result_format format, char *ret, size_t size)
{
	const struct column column = { .key = "stall_percent", .title = "XmitWait%", .kind = COLUMN_PERCENT };
	const struct result_options options = { .format = format };
	FILE *stream = fmemopen(ret, size, "w");
	struct result *result;

	assert_non_null(stream);
	assert_int_equal(result_create(stream, &options, &column, 1, &result, NULL), 0);
	cells_stall(result, 0, port);
	result_end_row(result);
	assert_int_equal(result_finish(result, NULL), 0);
	result_destroy(result);
	fclose(stream);
}

TEST(xmit_wait_percent_needs_known_device_and_tick)
{
	struct port_view port;
	struct made made;
	char text[256];

	make(&made);
	port_view_init(&made.view, 0, &port);
	assert_true(fabs(port.stall_percent - 25) < 1e-9);
	assert_true(fabs(port.wait_ticks_per_s - 781250000) < 1);
	show(&port, RESULT_JSON, text, sizeof(text));
	assert_non_null(strstr(text, "\"stall_percent\": 25"));
	show(&port, RESULT_TABLE, text, sizeof(text));
	assert_non_null(strstr(text, "25.0"));
	made.caps.tick_known = false;
	port_view_init(&made.view, 0, &port);
	show(&port, RESULT_JSON, text, sizeof(text));
	assert_non_null(strstr(text, "\"stall_percent\": null"));
	show(&port, RESULT_TABLE, text, sizeof(text));
	assert_non_null(strstr(text, "-"));
	made.snapshot.caps = NULL;
	port_view_init(&made.view, 0, &port);
	assert_true(isnan(port.stall_percent));
	assert_false(isnan(port.wait_ticks_per_s));
	fabric_destroy(made.fabric);
}

/* JSON and CSV must not show a lower bound as a value. */
TEST(lower_bound_is_marked_in_tables_and_null_in_data)
{
	struct port_view port;
	struct made made;
	char text[256];

	make(&made);
	made.row.sum.saturated = COUNTER_BIT(COUNTER_XMIT_WAIT);
	port_view_init(&made.view, 0, &port);
	show(&port, RESULT_JSON, text, sizeof(text));
	assert_non_null(strstr(text, "\"stall_percent\": null"));
	show(&port, RESULT_TABLE, text, sizeof(text));
	assert_non_null(strstr(text, "25.0+"));
	made.row.sum.value[COUNTER_XMIT_WAIT] = 0;
	port_view_init(&made.view, 0, &port);
	show(&port, RESULT_TABLE, text, sizeof(text));
	assert_null(strstr(text, "0.0"));
	fabric_destroy(made.fabric);
}
