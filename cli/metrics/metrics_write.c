/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_families.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/metrics/metrics_page.h"
#include "fabric/fabric.h"

enum { BLOCK_BYTES = 64 << 10 };

struct writer {
	const struct metrics_page *page;
	bool openmetrics;
	bool gzip;
	z_stream deflate;
	struct text begin; /* of the lines of a family: its name */
	struct text text;  /* not written yet */
};

uint32_t metrics_row_count(const struct metrics_page *page, enum metrics_scope scope)
{
	const uint32_t counts[] = {
		[METRICS_ONCE] = 1, [METRICS_PORT] = (uint32_t)page->topology->fabric->port_count,
		[METRICS_NODE] = (uint32_t)page->topology->fabric->node_count,
		[METRICS_GROUP] = (uint32_t)page->group_count,
		[METRICS_FINDING] = FINDING_KIND_COUNT * (FINDING_CRITICAL + 1),
		[METRICS_OPEN] = page->open_count, [METRICS_JOB] = page->job_count,
		[METRICS_COLLECTOR] = 2, [METRICS_NODE_CLASS] = METRICS_NODE_CLASSES,
		[METRICS_PROCESS] = page->served_since_us != 0,
	};

	return counts[scope];
}

static bool is_included(const struct metrics_page *page, const struct metrics_family *family, uint32_t row)
{
	const struct fabric *fabric = page->topology->fabric;

	if (family->scope == METRICS_NODE)
		return !family->node_type || fabric->nodes[row].type == family->node_type;
	if (family->scope != METRICS_PORT)
		return true;
	if (family->node_type && fabric->nodes[fabric->ports[row].node].type != family->node_type)
		return false;
	return !page->schema->linked || fabric->ports[row].peer != FABRIC_NONE;
}

void metrics_append_value(struct text *text, double value)
{
	char digits[32];

	if (fabs(value) < 0x1p64 && value == floor(value)) {
		text_append(text, value < 0 ? "-" : "");
		text_append_number(text, (uint64_t)fabs(value), 10);
		return;
	}
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	text_append(text, digits);
}

const char *metrics_suffix(const struct metrics_family *family)
{
	static const char *const suffixes[] = { "", "_total", "_info" };

	return suffixes[family->type];
}

static void append_header(struct writer *writer, const struct metrics_family *family)
{
	static const char *const types[] = { "gauge", "counter", "info" };
	const char *suffix = metrics_suffix(family), *named = writer->openmetrics ? "" : suffix;

	text_appendf(&writer->text, "# TYPE %s%s %s\n", family->name, named,
		     types[!writer->openmetrics && family->type == METRICS_INFO ? METRICS_GAUGE : family->type]);
	if (writer->openmetrics && metrics_unit(family))
		text_appendf(&writer->text, "# UNIT %s %s\n", family->name, metrics_unit(family));
	if (family->help)
		text_appendf(&writer->text, "# HELP %s%s %c%s\n", family->name, named,
			     toupper((unsigned char)*family->help), family->help + 1);
	else
		text_appendf(&writer->text, "# HELP %s%s %s: %s\n", family->name, named,
			     counter_info(family->counter)->title, counter_info(family->counter)->meaning);
	text_clear(&writer->begin);
	text_appendf(&writer->begin, "%s%s", family->name, suffix);
}

/* The prepared labels of a port belong to families that have no own ones, or whose own ones follow. */
static bool has_port_labels(const struct metrics_family *family)
{
	return family->scope == METRICS_PORT && !family->own_labels;
}

/* The counter of a row. Return: false: it was never read. */
static bool find_count(const struct metrics_page *page, const struct metrics_family *family, uint32_t row,
		       uint64_t *ret)
{
	if (family->detail) {
		*ret = page->details[row].value[family->detail - 1];
		return page->details[row].known & 1U << (family->detail - 1);
	}
	if (__builtin_mul_overflow(page->counters[row].value[family->counter], family->scale, ret))
		*ret = UINT64_MAX;
	return page->counters[row].known & COUNTER_BIT(family->counter);
}

static void append_row(struct writer *writer, const struct metrics_family *family, uint32_t row)
{
	const struct metrics_page *page = writer->page;
	bool counts = metrics_family_counts(family);
	double value = counts ? 0 : metrics_family_value(family, page, row);
	uint64_t count = 0;
	bool braces = family->labels || has_port_labels(family);

	if (text_failed(&writer->begin) || (counts ? !find_count(page, family, row, &count) : isnan(value)))
		return;
	text_append_bytes(&writer->text, writer->begin.chars, writer->begin.len);
	if (braces)
		text_append(&writer->text, "{");
	if (has_port_labels(family))
		metrics_port_labels(page->topology, row, &writer->text);
	if (family->labels)
		family->labels(page, row, &writer->text);
	text_append(&writer->text, braces ? "} " : " ");
	if (!counts)
		metrics_append_value(&writer->text, value);
	else
		text_append_number(&writer->text, count, 10);
	text_append(&writer->text, "\n");
}

/* Write the text so far. */
static void write_block(struct writer *writer, bool is_last, FILE *out)
{
	unsigned char bytes[16 << 10];
	z_stream *deflated = &writer->deflate;

	if (!writer->gzip)
		fwrite(text_chars(&writer->text), 1, writer->text.len, out);
	deflated->next_in = (unsigned char *)writer->text.chars;
	deflated->avail_in = (unsigned)writer->text.len;
	for (bool is_full = writer->gzip; is_full; is_full = !deflated->avail_out) {
		deflated->next_out = bytes;
		deflated->avail_out = sizeof(bytes);
		deflate(deflated, is_last ? Z_FINISH : Z_NO_FLUSH);
		fwrite(bytes, 1, sizeof(bytes) - deflated->avail_out, out);
	}
	text_clear(&writer->text);
}

static void append_family(struct writer *writer, const struct metrics_family *family, FILE *out)
{
	bool is_known = family->lasting || !writer->page->is_stale;
	uint32_t rows = is_known ? metrics_row_count(writer->page, family->scope) : 0;

	if (rows)
		append_header(writer, family);
	for (uint32_t row = 0; row < rows && !ferror(out); row++) {
		if (is_included(writer->page, family, row))
			append_row(writer, family, row);
		if (writer->text.len >= BLOCK_BYTES)
			write_block(writer, false, out);
	}
}

/*
 * Absolute values: a reset is a decrease, as of any counter of Prometheus. A counter that is 0 has no line: a port has
 * hundreds of them.
 */
static void append_readings(struct writer *writer, FILE *out)
{
	static const struct metrics_family family = {
		.name = "ibwire_port_detail", .type = METRICS_COUNTER, .scope = METRICS_PORT,
		.help = "detail counter of the port, in its own unit (data: words of 4 bytes), if it is not 0",
	};
	const struct metrics_page *page = writer->page;

	if (page->is_stale || !page->reading_count)
		return;
	append_header(writer, &family);
	for (size_t i = 0; i < page->reading_count && !ferror(out); i++) {
		const struct metrics_reading *at = &page->readings[i];
		enum detail_attribute attribute = (enum detail_attribute)at->reading.attribute;

		for (unsigned number = 0; number < detail_count(attribute); number++) {
			if (!(at->reading.present >> number & 1) || !at->reading.value[number])
				continue;
			text_append_bytes(&writer->text, writer->begin.chars, writer->begin.len);
			text_append(&writer->text, "{");
			metrics_port_labels(page->topology, at->port, &writer->text);
			metrics_label(&writer->text, "counter", detail_info(attribute, number)->key);
			text_append(&writer->text, "} ");
			text_append_number(&writer->text, at->reading.value[number], 10);
			text_append(&writer->text, "\n");
		}
		if (writer->text.len >= BLOCK_BYTES)
			write_block(writer, false, out);
	}
}

int metrics_write(const struct metrics_page *page, bool openmetrics, bool gzip, FILE *out, struct error *err)
{
	struct writer writer = { .page = page, .openmetrics = openmetrics, .gzip = gzip };
	size_t count = metrics_family_count(page->schema);
	bool failed;

	if (gzip && deflateInit2(&writer.deflate, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL,
				 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_nomem(err);
	for (size_t i = 0; i < count && !ferror(out); i++) {
		const struct metrics_family family = metrics_family_get(page->schema, i);

		append_family(&writer, &family, out);
	}
	append_readings(&writer, out);
	if (openmetrics)
		text_append(&writer.text, "# EOF\n");
	failed = text_failed(&writer.text) || text_failed(&writer.begin);
	if (!failed)
		write_block(&writer, true, out);
	deflateEnd(&writer.deflate);
	text_done(&writer.begin);
	text_done(&writer.text);
	if (failed)
		return err_nomem(err);
	if ((ferror(out) || fflush(out)) && errno != EPIPE)
		return err_set(err, ERR_IO, "cannot write the output: %s", strerror(errno));
	return 0;
}
