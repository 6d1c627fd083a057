/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* keep.h - nodes that a discovery did not find, though their links are up */
#ifndef IBWIRE_FABRIC_KEEP_H
#define IBWIRE_FABRIC_KEEP_H


struct error;
struct fabric;

/*
 * fabric_keep_silent - put back what did not answer but is still there
 * @before:  as it was known
 * @found:   what a discovery has found now
 * @ret:     a new fabric: @found and those nodes of @before that are cabled, as they were,
 *           to a port of it that has a link and nobody found behind it, and what hangs on
 *           them alone; untouched where there is none
 *
 * A node whose management agent hangs, or whose answers were lost, has not left: its
 * neighbour's port is up. It is silent, and is asked on.
 * Return: how many were put back, or ERR_NOMEM.
 */
int fabric_keep_silent(const struct fabric *before, const struct fabric *found, struct fabric **ret,
		       struct error *err);

#endif
