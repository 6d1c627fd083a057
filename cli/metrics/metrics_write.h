/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_write.h - a page as text, piece by piece
 *
 * The text of 65,536 port ends has hundreds of megabytes and never exists as a whole: a writer fills
 * one buffer after the other.
 */
#ifndef IBWIRE_CLI_METRICS_WRITE_H
#define IBWIRE_CLI_METRICS_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "cli/metrics/metrics_families.h"

struct metrics_page;

struct metrics_writer {
	const struct metrics_page *page; /* borrowed */
	bool openmetrics;  /* OpenMetrics 1.0; else the text format of Prometheus */
	bool ended;
	size_t family;     /* index of the next family, and the next row of it */
	uint32_t row;
	struct metrics_family current; /* the family */
	uint32_t rows;     /* of it */
	struct text begin; /* of the lines of this family: its name */
	struct text text;  /* not fetched yet, from `at` on */
	size_t at;
};

#define METRICS_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"

/* metrics_writer_init - write @page from its beginning. */
void metrics_writer_init(struct metrics_writer *writer, const struct metrics_page *page, bool openmetrics);

/* metrics_writer_fill - the next bytes, at most @size. Return: their number; 0: the end; -1: no memory. */
ssize_t metrics_writer_fill(struct metrics_writer *writer, char *ret, size_t size);
void metrics_writer_done(struct metrics_writer *writer);

/* metrics_row_count - rows that a family of this scope can have. */
uint32_t metrics_row_count(const struct metrics_page *page, enum metrics_scope scope);

/* metrics_suffix - the end of the names of its samples. */
const char *metrics_suffix(const struct metrics_family *family);

#endif
