/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <fnmatch.h>
#include <stdlib.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"

static uint8_t adaptive_of(const struct shape_settings *settings, const char *name)
{
	char shown[NODE_NAME_SIZE];
	const struct shape_adaptive_rule *rule = settings->adaptive;

	names_short(name, shown);
	for (; rule && rule->pattern; rule++)
		if (fnmatch(rule->pattern, name, 0) == 0 || fnmatch(rule->pattern, shown, 0) == 0)
			return rule->on ? ADAPTIVE_ON : ADAPTIVE_OFF;
	return ADAPTIVE_UNKNOWN;
}

int balance_adaptive_create(const struct shape_settings *settings, const struct fabric *fabric, uint8_t **ret,
			    struct error *err)
{
	uint8_t *adaptive;

	*ret = NULL;
	if (!settings || !settings->adaptive)
		return 0;
	adaptive = calloc(fabric->node_count + 1, sizeof(*adaptive));
	if (!adaptive)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == NODE_SWITCH)
			adaptive[i] = adaptive_of(settings, fabric->nodes[i].name);
	*ret = adaptive;
	return 0;
}
