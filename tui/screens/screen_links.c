/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_links.c - table of all links */
#include "tui/screens/links_view.h"

static void done(void *state)
{
	links_done(&((struct links_screen *)state)->links);
}

void screen_links_show(struct app *app, const char *typed)
{
	struct links_screen *self = screen_state(app, &screen_links);

	list_screen_filter(&self->rows, typed);
	app_show(app, &screen_links);
}

static bool key(void *state, struct app *app, int pressed)
{
	struct links_screen *self = state;

	(void)app;
	if (pressed == 'd')
		self->links.show_unused = !self->links.show_unused;
	else if (pressed == 'x')
		self->links.swapped = !self->links.swapped;
	else
		return false;
	list_screen_changed(&self->rows, pressed == 'x');
	return true;
}

static const struct key_help footer_keys[] = {
	{ "?", "help" },    { "/", "filter" },        { "s", "sort" }, { "p", "panel" },  { "x", "swap" },
	{ "q", "quit" },    { "f", "follow" },        { "T", "tag" },  { "d", "unused" }, { "Space", "pause" },
	{ "I", "reverse" }, { "( )", "move column" }, { NULL, NULL },
};

static const struct key_help help[] = {
	{ "/ F3 F4", "incremental filter on port, peer, status, link or GUID" },
	{ "  leaf01 4xHDR", "space: and; leaf01|leaf02: or; !leaf01: not" },
	{ "  ^leaf(01|02)/", "POSIX extended regular expression; ^ and $ match the ends of a name" },
	{ "  tier:2", "a key of either end: see FILTER KEYS below" },
	{ "x", "swap the ends: the end farther from the hosts first" },
	{ "d", "show or hide ports that are down and unused" },
	{ "p", "front panel of the switch or host in PORT" },
	{ NULL, NULL },
};

static const struct setting settings[] = {
	{ "links.swapped", SETTING_FLAG, offsetof(struct links_screen, links.swapped), NULL },
	{ "links.unused", SETTING_FLAG, offsetof(struct links_screen, links.show_unused), NULL },
	{ NULL, SETTING_FLAG, 0, NULL },
};

const struct screen screen_links = {
	.name = "Links",
	.size = sizeof(struct links_screen),
	.done = done,
	.tables = (const struct screen_table[]){ { &links_view, offsetof(struct links_screen, rows) }, { NULL, 0 } },
	.key = key,
	.footer_keys = footer_keys,
	.help = help,
	.settings = settings,
};
