/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.h - shared by the files of `ibwire status` */
#ifndef IBWIRE_CLI_STATUS_H
#define IBWIRE_CLI_STATUS_H

#include <stdbool.h>

struct error;
struct options;
struct view;

/*
 * status_html - `--html`: the page of the fabric for a browser, under 100 KB
 * It shows findings, load between leaves and spines, the busiest links, and rate, stall and errors of
 * the last hours.
 * @view:    without a snapshot if the database has no sweep
 * @path:    "-": stdout
 * @links:   with links to pages of `ibwire metrics`; otherwise only commands are shown
 * @status:  the output of `ibwire status`
 */
int status_html(struct view *view, const struct options *options, const char *path, bool links, const char *status,
		struct error *err);

#endif
