/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* find_port.h - the port of a node, host or director that a plan gives as text; private to fabric/plan */
#ifndef IBWIRE_FABRIC_PLAN_FIND_PORT_H
#define IBWIRE_FABRIC_PLAN_FIND_PORT_H

#include <stdint.h>

#include "fabric/plan/name_index.h"

/* Bytes of a reason. */
enum { PLAN_WHY_SIZE = 500 };

/*
 * plan_find_port - find the port of an end
 * @device:    its name in the plan
 * @found:     what that names
 * @port:      as in the plan, may begin with @device
 * @ret_node:  its node, also without a port, or FABRIC_NONE
 * @why:       one line if there is no port; untouched if @found is no device or several
 * Return: index into ports, or FABRIC_NONE.
 */
uint32_t plan_find_port(const struct name_index *index, const char *device, const struct name_found *found,
			const char *port, uint32_t *ret_node, char why[PLAN_WHY_SIZE]);

#endif
