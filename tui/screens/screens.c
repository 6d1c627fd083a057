/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screens.c - the table of screens, and navigation between them */
#include "tui/model/live.h"
#include "tui/screens/app.h"

/* New screens are added here. Tabs come first, in the order of their numbers. */
static const struct screen *const all[] = {
	&screen_overview, &screen_links, &screen_balance, &screen_ports, &screen_events, &screen_snapshots,
	&screen_subject, &screen_text, &screen_help, &screen_setup,
};

const struct screen *const *screens(size_t *ret_count)
{
	*ret_count = sizeof(all) / sizeof(all[0]);
	return all;
}

void *screen_state(const struct app *app, const struct screen *screen)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] == screen)
			return app->states[i];
	return NULL;
}

const struct screen *app_screen(const struct app *app)
{
	return app->path[app->depth - 1].screen;
}

const struct subject *app_subject(const struct app *app)
{
	return &app->path[app->depth - 1].subject;
}

struct subject app_subject_here(const struct app *app)
{
	const struct screen *screen = app_screen(app);
	struct subject here = { .kind = SUBJECT_NONE };

	if (app->live->shown && screen->subject)
		screen->subject(screen_state(app, screen), app, &here);
	return here;
}

static void notify_opened(struct app *app)
{
	const struct screen *screen = app_screen(app);

	if (screen->opened)
		screen->opened(screen_state(app, screen), app, app_subject(app));
}

void app_show(struct app *app, const struct screen *screen)
{
	app->path[0] = (struct place){ .screen = screen };
	app->depth = 1;
	notify_opened(app);
}

void app_open(struct app *app, const struct screen *screen, const struct subject *subject)
{
	struct place *last = &app->path[app->depth - 1];

	if (last->screen == screen && subject_equal(&last->subject, subject))
		return;
	/* A path that is too long keeps its beginning; its last step is replaced. */
	if (app->depth < PATH_MAX_DEPTH)
		app->depth++;
	app->path[app->depth - 1] = (struct place){ screen, *subject };
	notify_opened(app);
}

void app_open_here(struct app *app)
{
	const struct subject here = app_subject_here(app);

	if (here.kind != SUBJECT_NONE)
		app_open(app, &screen_subject, &here);
}

void app_back(struct app *app)
{
	if (app->depth == 1)
		return;
	app->depth--;
	notify_opened(app);
}
