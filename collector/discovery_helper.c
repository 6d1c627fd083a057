/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/discovery_helper.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "collector/topology_monitor.h"

#define LINES_LOGGED 10

struct helper {
	struct discoverer table;
	const struct discovery_settings *settings;
	const struct clock *clock;
	struct discovery *discovery; /* NULL when none runs */
	struct discovery *parting;   /* it has said all, and ends; or NULL */
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
		log_warning("discovery: and %zu lines more", lines - LINES_LOGGED);
}

/* What is left of the last one goes. It was believed; that it ended badly is told all the same. */
static void see_off(struct helper *helper)
{
	if (!helper->parting)
		return;
	if (!discovery_end(helper->parting))
		log_warning("the discovery helper ended badly after it had told what it found");
	log_messages(helper->parting);
	discovery_destroy(helper->parting);
	helper->parting = NULL;
}

static int helper_start(void *ctx, struct error *err)
{
	struct helper *helper = ctx;

	see_off(helper);
	return discovery_start(helper->settings, helper->clock, &helper->discovery, err);
}

static void helper_cancel(void *ctx)
{
	struct helper *helper = ctx;

	see_off(helper);
	discovery_destroy(helper->discovery);
	helper->discovery = NULL;
}

static int helper_step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
		       struct error *err)
{
	struct helper *helper = ctx;
	int code;

	if (discovery_step(helper->discovery, timeout_ms) == DISCOVERY_RUNNING)
		return 0;
	code = discovery_result(helper->discovery, ret, trailer, err);
	if (code < 0) {
		log_messages(helper->discovery);
		helper_cancel(helper);
		return code;
	}
	helper->parting = helper->discovery;
	helper->discovery = NULL;
	return 1;
}

int helper_create(const struct discovery_settings *settings, const struct clock *clock, struct helper **ret,
		  struct error *err)
{
	struct helper *helper = calloc(1, sizeof(*helper));

	if (!helper)
		return err_nomem(err);
	helper->settings = settings;
	helper->clock = clock;
	helper->table = (struct discoverer){ helper_start, helper_step, helper_cancel, helper };
	*ret = helper;
	return 0;
}

void helper_destroy(struct helper *helper)
{
	if (!helper)
		return;
	helper_cancel(helper);
	free(helper);
}

const struct discoverer *helper_discoverer(struct helper *helper)
{
	return &helper->table;
}
