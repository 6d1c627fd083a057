/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.h - shared by the files of `ibwire status` */
#ifndef IBWIRE_CLI_STATUS_H
#define IBWIRE_CLI_STATUS_H

#include <stdbool.h>

struct error;
struct options;

/*
 * status_html - `--html`: the page of the fabric for a browser, under 100 KB
 * Findings, load between leaves and spines, busiest links, rate, stall and errors of the last hours
 * @path:    "-": stdout
 * @links:   of pages of `ibwire metrics`; otherwise commands only
 * @status:  the output of `ibwire status`
 *
 * Return: 0, also of a database without a sweep; a negative error.
 */
int status_html(const struct options *options, const char *path, bool links, const char *status, struct error *err);

#endif
