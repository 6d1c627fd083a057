/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mend.h - a net that ibsim loads rightly from what an ibnetdiscover printed */
#ifndef IBWIRE_SIM_MEND_H
#define IBWIRE_SIM_MEND_H

#include <stddef.h>

#include "fabric/netfile.h"
#include "sim/net/netwrite.h"

struct error;
struct fabric;
struct text;

struct mend_notes {
	struct netfile_notes read;
	struct netwrite_notes written;
};

/*
 * mend - read a dump, write it anew
 * @chars, @len:  the dump
 * @net:          the net file is appended
 * @ret:          the fabric of the dump, from_node set where the dump says it
 * @ret_notes:    what was mended
 *
 * Return: 0; ERR_IO where there is no node in it; ERR_NOMEM.
 */
int mend(const char *chars, size_t len, struct text *net, struct fabric **ret, struct mend_notes *ret_notes,
	 struct error *err);

/*
 * mend_describe - one line of each kind of thing that was mended
 * @say:  called with each line
 */
void mend_describe(const struct mend_notes *notes, void (*say)(void *ctx, const char *line), void *ctx);

#endif
