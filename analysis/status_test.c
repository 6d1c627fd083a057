/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>

#include "analysis/status.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"

static struct port port_in(uint8_t state)
{
	return (struct port){ .state = state, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };
}

/* With exact rates; unknown ones are not counted. */
static enum port_status status_of(const struct port *port, enum sample_status status, double xmit, double rcv)
{
	return port_status(port, status, !isnan(xmit) || !isnan(rcv), measure_of(xmit, true), measure_of(rcv, true));
}

/* Status in JSON: each reason for a missing sample has its own. */
TEST(each_status_without_a_sample_has_a_name)
{
	static const struct {
		enum sample_status status;
		const char *word;
	} cases[] = {
		{ SAMPLE_OK, "ok" }, { SAMPLE_SILENT, "silent" }, { SAMPLE_BACKOFF, "silent" },
		{ SAMPLE_DOWN, "down" }, { SAMPLE_LOCKED, "locked" }, { SAMPLE_UNSUPPORTED, "unsupported" },
		{ SAMPLE_UNPLANNED, "unplanned" }, { SAMPLE_UNFINISHED, "unfinished" },
	};
	struct port port = port_in(PORT_ACTIVE);

	assert_int_equal(sizeof(cases) / sizeof(cases[0]), SAMPLE_STATUS_COUNT);
	/* With the rates of its peer. */
	assert_string_equal(port_status_name(status_of(&port, SAMPLE_UNPLANNED, 1e9, 0)), "mirrored");
	for (size_t i = 0; i < SAMPLE_STATUS_COUNT; i++) {
		double rate = cases[i].status == SAMPLE_OK ? 1e9 : NAN;

		assert_string_equal(port_status_name(status_of(&port, cases[i].status, rate, rate)), cases[i].word);
	}
}

TEST(a_port_that_is_down_has_status_down)
{
	struct port port = port_in(PORT_DOWN);

	for (int status = 0; status < SAMPLE_STATUS_COUNT; status++)
		assert_int_equal(status_of(&port, (enum sample_status)status, 1e9, 1e9), STATUS_DOWN);
}

TEST(idle_is_known_in_both_directions)
{
	struct port port = port_in(PORT_ACTIVE);

	/* 0.01 % of 25 GB/s are 2.5 MB/s. */
	assert_int_equal(status_of(&port, SAMPLE_OK, 2e6, 2e6), STATUS_IDLE);
	assert_int_equal(status_of(&port, SAMPLE_OK, 3e6, 0), STATUS_OK);
	assert_int_equal(status_of(&port, SAMPLE_OK, 0, NAN), STATUS_OK);
}

TEST(ports_that_are_new_or_not_active_are_not_ok)
{
	struct port active = port_in(PORT_ACTIVE), init = port_in(PORT_INIT), armed = port_in(PORT_ARMED);
	struct port no_rate = { .state = PORT_ACTIVE };

	assert_int_equal(status_of(&active, SAMPLE_OK, NAN, NAN), STATUS_NEW);
	assert_int_equal(status_of(&init, SAMPLE_OK, 0, 0), STATUS_INIT);
	assert_int_equal(status_of(&armed, SAMPLE_OK, NAN, NAN), STATUS_INIT);
	/* Read twice, so not new, even if the rate of the link is unknown. */
	assert_int_equal(status_of(&no_rate, SAMPLE_OK, 5, 5), STATUS_OK);
	assert_int_equal(status_of(&init, SAMPLE_SILENT, NAN, NAN), STATUS_SILENT);
}

TEST(a_lower_bound_is_neither_idle_nor_new)
{
	const struct measure little = measure_of(1e6, false), unknown = measure_of(0, false);
	struct port port = port_in(PORT_ACTIVE);

	assert_int_equal(port_status(&port, SAMPLE_OK, true, little, little), STATUS_OK);
	assert_int_equal(port_status(&port, SAMPLE_OK, true, unknown, unknown), STATUS_OK);
	assert_int_equal(port_status(&port, SAMPLE_OK, true, measure_of(1e6, true), little), STATUS_OK);
}

TEST(every_status_has_its_own_name)
{
	for (int a = 0; a < STATUS_COUNT; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(port_status_name((enum port_status)a),
						port_status_name((enum port_status)b));
	for (int a = 0; a < SAMPLE_STATUS_COUNT; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(sample_status_name((enum sample_status)a),
						sample_status_name((enum sample_status)b));
	assert_string_equal(sample_status_name(SAMPLE_STATUS_COUNT), "unknown");
}
