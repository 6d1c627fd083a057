/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_families.h - the exported metrics: names, units, labels and values
 *
 * A schema is one table of families. The own one follows the rules of OpenMetrics; those for
 * --compat have the names, labels and units of other exporters, so that dashboards made for them
 * continue to work.
 */
#ifndef IBWIRE_CLI_METRICS_FAMILIES_H
#define IBWIRE_CLI_METRICS_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"

struct column;
struct fabric;
struct metrics_page;
struct text;

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_INFO };

/* Rows of a family. */
enum metrics_scope {
	METRICS_ONCE,
	METRICS_PORT,      /* a port of the fabric */
	METRICS_DETAIL_ROW, /* a port that has detail counters: the counter METRICS_DETAIL() */
	METRICS_NODE,      /* a node */
	METRICS_GROUP,     /* a group of equivalent links and a direction */
	METRICS_FINDING,   /* a kind of finding and a severity */
	METRICS_NODE_TYPE, /* a type of nodes, from 1 */
	METRICS_NODE_CLASS, /* a class of nodes (facts/summary.h) */
};

struct metrics_family {
	const char *name; /* without the suffixes _total and _info */
	enum metrics_type type;
	enum metrics_scope scope;
	const char *unit; /* the end of its name, or NULL */
	const char *help; /* one line */
	/* Return: the value of a row; NAN: the row has none. NULL: that of a column, or counter times scale. */
	double (*value)(const struct metrics_page *page, uint32_t row);
	const struct column *column; /* of port_columns; its value is number @number of a port */
	size_t number;
	enum counter counter;
	uint8_t scale;
	uint8_t detail;
	uint8_t node_type; /* only ports and nodes of this type, ports with a link; 0: all */
	/* Appends labels, for a port after its own unless own_labels is set; or NULL. */
	void (*labels)(const struct metrics_page *page, uint32_t row, struct text *text);
	bool own_labels;
};

struct metrics_schema {
	const char *name; /* of --compat; NULL: the own one */
	const struct metrics_family *families;
	size_t count;
	bool columns; /* and a gauge for each column of ports that has a metric (facts/port_columns.h) */
	void (*port_labels)(const struct fabric *fabric, uint32_t port, struct text *text);
	bool linked; /* only ports with a link */
	bool details; /* has families of METRICS_DETAIL_ROW */
};

/* metrics_schema_find - @name: of --compat, or NULL. Return: NULL: there is none. */
const struct metrics_schema *metrics_schema_find(const char *name);

/*
 * metrics_family_count - number of families of a schema
 * metrics_family_get - the family with an index below it
 * metrics_family_value - the value of a row of a family that is no counter; NAN: the row has none
 */
size_t metrics_family_count(const struct metrics_schema *schema);
struct metrics_family metrics_family_get(const struct metrics_schema *schema, size_t at);
double metrics_family_value(const struct metrics_family *family, const struct metrics_page *page, uint32_t row);

/* metrics_family_counts - is it a counter of ports? */
static inline bool metrics_family_counts(const struct metrics_family *family)
{
	return !family->value && !family->column;
}

/* metrics_column_next - the first column from @column on that is a metric; NULL: none. */
const struct column *metrics_column_next(const struct column *column);

/* The schemas for --compat. */
extern const struct metrics_schema metrics_schema_treydock, metrics_schema_guilbaults;

/*
 * metrics_label - append 'name="value"', after a comma if the text ends with a label
 * The value is escaped, cut at METRICS_LABEL_MAX bytes, and U+FFFD replaces what is not valid UTF-8.
 */
#define METRICS_LABEL_MAX 256
void metrics_label(struct text *text, const char *name, const char *value);
void metrics_label_number(struct text *text, const char *name, uint64_t value);
void metrics_label_guid(struct text *text, const char *name, uint64_t guid);

/* metrics_node_name - the displayed name of a node. */
const char *metrics_node_name(const struct fabric *fabric, uint32_t node);

#endif
