/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/discovery_helper.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "collector/topology_monitor.h"

#define LINES_LOGGED 10

struct discovery_helper {
	struct discoverer table;
	const struct discovery_settings *settings;
	const struct clock *clock;
	struct discovery *discovery; /* NULL if none is running */
	struct discovery *finished;   /* its result is complete, the process may still be ending; or NULL */
};

static void log_messages(const struct discovery *discovery)
{
	const char *line = discovery_messages(discovery);
	char clean[400];
	size_t lines = 0;

	while (*line) {
		size_t len = strcspn(line, "\n");

		text_sanitise(line, len, clean, sizeof(clean));
		if (clean[0] && ++lines <= LINES_LOGGED)
			log_warning("discovery: %s", clean);
		line += len + (line[len] == '\n');
	}
	if (lines > LINES_LOGGED)
		log_warning("discovery: %zu more lines", lines - LINES_LOGGED);
}

/* Free a finished discovery. Its result was used; an abnormal end of the process is logged. */
static void reap(struct discovery_helper *helper)
{
	if (!helper->finished)
		return;
	if (!discovery_end(helper->finished))
		log_warning("the discovery helper failed after it had reported its result");
	log_messages(helper->finished);
	discovery_destroy(helper->finished);
	helper->finished = NULL;
}

static int helper_start(void *ctx, struct error *err)
{
	struct discovery_helper *helper = ctx;

	reap(helper);
	return discovery_start(helper->settings, helper->clock, &helper->discovery, err);
}

static void helper_cancel(void *ctx)
{
	struct discovery_helper *helper = ctx;

	reap(helper);
	discovery_destroy(helper->discovery);
	helper->discovery = NULL;
}

static int helper_step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
		       struct error *err)
{
	struct discovery_helper *helper = ctx;
	int code;

	if (discovery_step(helper->discovery, timeout_ms) == DISCOVERY_RUNNING)
		return 0;
	code = discovery_result(helper->discovery, ret, trailer, err);
	if (code < 0) {
		log_messages(helper->discovery);
		helper_cancel(helper);
		return code;
	}
	helper->finished = helper->discovery;
	helper->discovery = NULL;
	return 1;
}

int discovery_helper_create(const struct discovery_settings *settings, const struct clock *clock,
			    struct discovery_helper **ret, struct error *err)
{
	struct discovery_helper *helper = calloc(1, sizeof(*helper));

	if (!helper)
		return err_nomem(err);
	helper->settings = settings;
	helper->clock = clock;
	helper->table = (struct discoverer){ helper_start, helper_step, helper_cancel, helper };
	*ret = helper;
	return 0;
}

void discovery_helper_destroy(struct discovery_helper *helper)
{
	if (!helper)
		return;
	helper_cancel(helper);
	free(helper);
}

const struct discoverer *discovery_helper_discoverer(struct discovery_helper *helper)
{
	return &helper->table;
}
