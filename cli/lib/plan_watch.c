/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/plan_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"

int plan_watch_init(struct plan_watch *watch, const char *const *paths, size_t count, struct error *err)
{
	*watch = (struct plan_watch){ .paths = paths, .count = count,
				      .stamps = calloc(count + 1, sizeof(*watch->stamps)) };
	return watch->stamps ? 0 : err_nomem(err);
}

void plan_watch_done(struct plan_watch *watch)
{
	plan_done(&watch->plan);
	free(watch->stamps);
	memset(watch, 0, sizeof(*watch));
}

static bool has_changed(struct plan_watch *watch)
{
	bool changed = !watch->generation && watch->count;

	/* All of them: each check also counts for the next one. */
	for (size_t i = 0; i < watch->count; i++)
		changed |= file_stamp_changed(&watch->stamps[i], watch->paths[i]);
	return changed;
}

/* Links of which both ends were read. */
static size_t count_links(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->link_count; i++)
		count += !plan->links[i].damaged;
	return count;
}

static void read_plan(struct plan_watch *watch)
{
	struct plan plan = { 0 };
	struct error err = { 0 };
	int code = 0;

	for (size_t i = 0; i < watch->count; i++)
		file_stamp_take(&watch->stamps[i], watch->paths[i]);
	for (size_t i = 0; code == 0 && i < watch->count; i++)
		code = plan_read_file(&plan, watch->paths[i], &err);
	watch->generation++;
	if (code < 0) {
		log_warning("the cabling plan cannot be read%s: %s", watch->known ? " and remains as it was" : "",
			    err.text);
		plan_done(&plan);
		return;
	}
	if (plan.problem_count)
		log_warning("the cabling plan: %zu line%s not read, the first is %s:%u: %s; ibwire topology check has "
			    "all", plan.problem_count, plan.problem_count == 1 ? " is" : "s are",
			    plan.files[plan.problems[0].file].name, plan.problems[0].line, plan.problems[0].text);
	log_info("the cabling plan has %zu link%s", count_links(&plan), text_plural(count_links(&plan)));
	plan_done(&watch->plan);
	watch->plan = plan;
	watch->known = true;
}

const struct plan *plan_watch_now(void *ctx, uint64_t *ret_generation)
{
	struct plan_watch *watch = ctx;

	if (has_changed(watch))
		read_plan(watch);
	*ret_generation = watch->generation;
	return watch->known ? &watch->plan : NULL;
}
