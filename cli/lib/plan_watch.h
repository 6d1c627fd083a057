/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* plan_watch.h - the cabling plan of the settings, read again when one of its files changes */
#ifndef IBWIRE_CLI_PLAN_WATCH_H
#define IBWIRE_CLI_PLAN_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/lib/file_stamp.h"
#include "fabric/plan.h"

struct plan_watch {
	const char *const *paths; /* borrowed */
	size_t count;
	struct file_stamp *stamps;
	struct plan plan;
	bool known;               /* the plan was read */
	uint64_t generation;      /* of the plan; 0: the files were not read yet */
};

/*
 * plan_watch_init - watch @count files, which are read by the first plan_watch_now()
 * Return: 0 or ERR_NOMEM.
 */
int plan_watch_init(struct plan_watch *watch, const char *const *paths, size_t count, struct error *err);
void plan_watch_done(struct plan_watch *watch);

/*
 * plan_watch_now - the present plan: struct collector_settings.plan
 * @ctx:  struct plan_watch
 *
 * A plan that cannot be read is a line in the log, and the one before it remains.
 * Return: NULL: there is none.
 */
const struct plan *plan_watch_now(void *ctx, uint64_t *ret_generation);

#endif
