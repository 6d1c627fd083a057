/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mend.h - conversion of an ibnetdiscover output into a net file that ibsim loads */
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
 * mend - read an ibnetdiscover output and write a net file
 * @chars, @len:  the dump
 * @net:          the net file is appended
 * @ret:          the fabric of the dump; from_node is set if the dump has it
 * @ret_notes:    the repairs
 *
 * Return: 0; ERR_IO if the dump has no node; ERR_NOMEM.
 */
int mend(const char *chars, size_t len, struct text *net, struct fabric **ret, struct mend_notes *ret_notes,
	 struct error *err);

/*
 * mend_describe - one line for each kind of repair
 * @print:  called with each line
 */
void mend_describe(const struct mend_notes *notes, void (*print)(void *ctx, const char *line), void *ctx);

#endif
