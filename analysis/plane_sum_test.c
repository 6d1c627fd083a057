/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>

#include "analysis/plane_sum.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"

static const struct port up = { .state = PORT_ACTIVE, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };
static const struct port down = { .state = PORT_DOWN };

TEST(a_logical_port_is_the_sum_of_its_planes)
{
	struct plane_sum sum = { 0 };
	char text[160];

	for (int plane = 0; plane < 4; plane++)
		plane_sum_add(&sum, &up, 12.5e9 + plane, 1e9);
	assert_int_equal(sum.planes, 4);
	assert_int_equal(sum.bits_per_s, 4 * port_rate_bits_per_s(&up));
	assert_true(sum.xmit_bytes_per_s == 50e9 + 6);
	assert_true(sum.rcv_bytes_per_s == 4e9);
	assert_string_equal(plane_sum_text(&sum, text, sizeof(text)),
			    "4 planes, of 800.0 Gb/s together: sends 400.0 Gb/s (50.0 %), receives 32.0 Gb/s (4.0 %)");
}

TEST(a_plane_that_is_down_is_no_capacity)
{
	struct plane_sum sum = { 0 };
	char text[160];

	plane_sum_add(&sum, &up, 0, 0);
	/* It carries nothing, and nothing is missing. */
	plane_sum_add(&sum, &down, NAN, NAN);
	assert_string_equal(plane_sum_text(&sum, text, sizeof(text)),
			    "2 planes, 1 of them down, of 200.0 Gb/s together: sends 0 b/s (0.0 %), "
			    "receives 0 b/s (0.0 %)");
}

TEST(the_sum_is_unknown_if_one_plane_is)
{
	struct plane_sum sum = { 0 };
	char text[160];

	plane_sum_add(&sum, &up, 1e9, NAN);
	plane_sum_add(&sum, &up, 1e9, 1e9);
	assert_true(isnan(sum.rcv_bytes_per_s));
	assert_string_equal(plane_sum_text(&sum, text, sizeof(text)),
			    "2 planes, of 400.0 Gb/s together: sends 16.0 Gb/s (4.0 %), receives -");
}
