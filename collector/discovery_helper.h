/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* discovery_helper.h - discovery in a helper process, for topology_monitor */
#ifndef IBWIRE_COLLECTOR_DISCOVERY_HELPER_H
#define IBWIRE_COLLECTOR_DISCOVERY_HELPER_H

#include "wire/discovery.h"

struct clock;
struct discoverer;
struct error;
struct discovery_helper;

/*
 * discovery_helper_create - a discoverer that starts one helper process at a time
 * @settings, @clock:  borrowed, must outlive it
 *
 * The helper's stderr is logged, escaped, ten lines per discovery at most.
 * Return: 0 or ERR_NOMEM.
 */
int discovery_helper_create(const struct discovery_settings *settings, const struct clock *clock,
			    struct discovery_helper **ret, struct error *err);
void discovery_helper_destroy(struct discovery_helper *helper);

/* discovery_helper_discoverer - its table of functions (borrowed from @helper). */
const struct discoverer *discovery_helper_discoverer(struct discovery_helper *helper);

#endif
