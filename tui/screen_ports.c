/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_ports.c - not written yet */
#include "tui/app.h"
#include "tui/draw.h"

static void draw(void *state, struct app *app, const struct rect *body)
{
	const struct brush brush = { &app->theme, 0 };

	(void)state;
	draw_cell(&brush, body->y, body->x, body->columns, "ports", ALIGN_LEFT, ROLE_TEXT);
}

static bool key(void *state, struct app *app, int pressed)
{
	(void)state;
	(void)app;
	(void)pressed;
	return false;
}

static const struct key_help help[] = {
	{ NULL, NULL },
};

const struct screen screen_ports = {
	.name = "Ports",
	.is_tab = true,
	.draw = draw,
	.key = key,
	.footer_keys = help,
	.help = help,
};
