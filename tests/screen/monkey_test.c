/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Monkey test: random keys, clicks and sizes while time advances cause no crash, leak or drawing fault.
 * IBWIRE_MONKEY_S=3600 sets the duration, IBWIRE_SEED the keys.
 */
#include <curses.h>
#include <stdlib.h>
#include <time.h>

#include "base/unit_test.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"

static int random_key(void)
{
	static const int special[] = {
		KEY_UP, KEY_DOWN, KEY_LEFT, KEY_RIGHT, KEY_PPAGE, KEY_NPAGE, KEY_HOME, KEY_END, KEY_ENTER,
		KEY_BACKSPACE, KEY_BTAB, KEY_IC, KEY_DC,
		KEY_F(1), KEY_F(2), KEY_F(3), KEY_F(4), KEY_F(5), KEY_F(6), KEY_F(9),
	};
	static const char often[] = "123456\r\r\r\t\033\033<>{}[]bLm /sgGjkv";

	switch (stage_random(4)) {
	case 0:
		return KEY_SPECIAL(special[stage_random(sizeof(special) / sizeof(special[0]))]);
	case 1:
		return often[stage_random(sizeof(often) - 1)];
	case 2:
		return stage_random(20) ? ' ' + (int)stage_random(95) : 0xe4 + (int)stage_random(0x3000);
	default:
		return (int)stage_random(32);
	}
}

/* Keys that start another program are tested elsewhere. */
static bool starts_something(int key)
{
	return !stage.app.prompt->done && (key == 'r' || key == 'n' || key == 'w' || key == 'a');
}

static void act(void)
{
	int key;

	switch (stage_random(12)) {
	case 0:
		stage_draw(10 + (int)stage_random(91), 40 + (int)stage_random(261));
		break;
	case 1:
		stage_mouse(&(struct mouse){ .y = (int)stage_random(100), .x = (int)stage_random(300),
						    .wheel = (int)stage_random(3) - 1, .twice = stage_random(2) });
		break;
	case 2:
		stage.boot_us += stage_random(5000) * US_PER_MS;
		stage.wall_us += stage_random(5000) * US_PER_MS;
		stage.app.theme->unicode = stage_random(8);
		break;
	default:
		key = random_key();
		if (!starts_something(key))
			stage_key(key);
		stage.app.quit = false;
		break;
	}
}

static void play(const char *scenario, int64_t seconds, unsigned most)
{
	time_t until = time(NULL) + seconds;
	unsigned done;

	stage_begin(scenario, 0, 24, 80);
	for (done = 0; seconds ? time(NULL) < until : done < most; done++) {
		act();
		if (canvas.outside) {
			stage_print();
			fail_msg("%s: %s (after %u acts)", scenario, canvas.first, done);
		}
	}
	print_message("# %s: %u acts\n", scenario, done);
}

TEST_ON_STAGE(random_keys_clicks_and_sizes_are_handled)
{
	static const char *const scenarios[] = { "routes-skewed-leaf", "pair-dead-spine-and-one-lane",
						 "nothing-three-tiers", "rack-off" };
	const char *seconds = getenv("IBWIRE_MONKEY_S"), *seed = getenv("IBWIRE_SEED");
	int64_t share = seconds ? atoll(seconds) / 4 : 0;

	stage.random = seed ? strtoull(seed, NULL, 10) : 1;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		test_folder_renew();
		play(scenarios[i], share, getenv("IBWIRE_TEST_SHORT") ? 300 : 2000);
	}
}
