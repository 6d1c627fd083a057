/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* opensm.h - what opensm is told, and what its log says */
#ifndef IBWIRE_SIM_OPENSM_H
#define IBWIRE_SIM_OPENSM_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* Names in the run directory. */
#define OPENSM_CONF "opensm.conf"
#define OPENSM_LOG "opensm.log"

/*
 * opensm_configure - write its configuration, in which nothing is outside the run directory
 * @dumps:         it shall write its forwarding tables (sim/lft.h)
 * @lines, @count: more lines of configuration
 */
int opensm_configure(const char *dir, bool dumps, const char *const *lines, size_t count, struct error *err);

/* opensm_is_up - does the log say that the subnet is up? */
bool opensm_is_up(const char *dir);

/* opensm_explain - append the last line of its log to an error. */
void opensm_explain(const char *dir, struct error *err);

#endif
