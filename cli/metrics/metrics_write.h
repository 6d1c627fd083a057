/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_write.h - a page as text
 *
 * The text of 65,536 port ends has hundreds of megabytes and is never in memory as a whole.
 */
#ifndef IBWIRE_CLI_METRICS_WRITE_H
#define IBWIRE_CLI_METRICS_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/metrics/metrics_families.h"

struct error;
struct metrics_page;

#define METRICS_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"

/*
 * metrics_write - write a page to @out, which is flushed
 * @openmetrics:  OpenMetrics 1.0; else the text format of Prometheus
 * Return: 0; ERR_IO: it cannot be written (a reader that closed its end is no error); ERR_NOMEM.
 */
int metrics_write(const struct metrics_page *page, bool openmetrics, FILE *out, struct error *err);

/* metrics_row_count - rows that a family of this scope can have. */
uint32_t metrics_row_count(const struct metrics_page *page, enum metrics_scope scope);

/* metrics_suffix - the end of the names of its samples. */
const char *metrics_suffix(const struct metrics_family *family);

#endif
