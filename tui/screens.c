/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/app.h"

/* A screen is added here and nowhere else. */
static const struct screen *const all[] = {
	&screen_ports,
	&screen_help,
};

const struct screen *const *screens(size_t *ret_count)
{
	*ret_count = sizeof(all) / sizeof(all[0]);
	return all;
}

void app_show(struct app *app, const struct screen *screen)
{
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i] != screen || i == app->current)
			continue;
		app->previous = app->current;
		app->current = i;
	}
}
