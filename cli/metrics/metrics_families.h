/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_families.h - the exported metrics: names, units, labels and values, and their text
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
#include <stdio.h>

#include "fabric/counter.h"

struct column;
struct error;
struct fabric;
struct metrics_page;
struct text;

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_INFO };

/* Rows of a family. */
enum metrics_scope {
	METRICS_ONCE,
	METRICS_PORT,      /* a port of the fabric */
	METRICS_NODE,      /* a node */
	METRICS_GROUP,     /* a group of equivalent links and a direction */
	METRICS_FINDING,   /* a kind of finding and a severity */
	METRICS_OPEN,      /* an open finding */
	METRICS_JOB,       /* a running job */
	METRICS_COLLECTOR, /* the collectors hca and switch of another exporter */
	METRICS_NODE_CLASS, /* a class of nodes (facts/summary.h) */
	METRICS_PROCESS,   /* of a server: this process */
};

struct metrics_family {
	const char *name; /* without the suffixes _total and _info */
	enum metrics_type type;
	enum metrics_scope scope;
	const char *help; /* one line; NULL: that of the counter */
	/* Return: the value of a row; NAN: the row has none. NULL: that of a column, or counter times scale. */
	double (*value)(const struct metrics_page *page, uint32_t row);
	const struct column *column; /* of port_columns; its value is number @number of a port */
	size_t number;
	enum counter counter;
	uint8_t scale;
	uint8_t detail; /* METRICS_DETAIL() plus 1, instead of a counter; 0: none */
	uint8_t node_type; /* only ports and nodes of this type, ports with a link; 0: all */
	/* Appends labels, for a port after its own unless own_labels is set; or NULL. */
	void (*labels)(const struct metrics_page *page, uint32_t row, struct text *text);
	bool own_labels;
	bool lasting; /* not about what the collector measures: known after it has ended, too */
};

struct metrics_schema {
	const char *name; /* of --compat; NULL: the own one */
	const struct metrics_family *families;
	size_t count;
	bool columns; /* and a gauge for each column of ports that has a metric (facts/port_columns.h) */
	void (*port_labels)(const struct fabric *fabric, uint32_t port, struct text *text);
	bool linked; /* only ports with a link */
	bool details; /* has families of detail counters */
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

/* METRICS_VALUE - define a function for struct metrics_family.value: an expression of @page and @row */
#define METRICS_VALUE(function, expression) \
	static double function(const struct metrics_page *page, uint32_t row) \
	{ (void)page; (void)row; return expression; }

/* metrics_family_counts - is it a counter of ports? */
static inline bool metrics_family_counts(const struct metrics_family *family)
{
	return !family->value && !family->column;
}

/* metrics_column_next - the first column from @column on that is a metric; NULL: none. */
const struct column *metrics_column_next(const struct column *column);

/* Counters that two or three schemas have, and their names there: X(counter, own, treydock, guilbaults). */
#define METRICS_COUNTERS(X) \
	X(XMIT_PACKETS, "xmit_packets", "transmit_packets", "portxmitpkts") \
	X(RCV_PACKETS, "rcv_packets", "receive_packets", "portrcvpkts") \
	X(XMIT_WAIT, "xmit_wait", "transmit_wait", "portxmitwait") \
	X(UNICAST_XMIT_PACKETS, "unicast_xmit_packets", "unicast_transmit_packets", "portunicastxmitpkts") \
	X(UNICAST_RCV_PACKETS, "unicast_rcv_packets", "unicast_receive_packets", "portunicastrcvpkts") \
	X(MULTICAST_XMIT_PACKETS, "multicast_xmit_packets", "multicast_transmit_packets", "portmulticastxmitpkts") \
	X(MULTICAST_RCV_PACKETS, "multicast_rcv_packets", "multicast_receive_packets", "portmulticastrcvpkts") \
	X(SYMBOL_ERRORS, "symbol_errors", "symbol_error", "symbolerrorcounter") \
	X(LINK_ERROR_RECOVERY, "link_error_recovery", "link_error_recovery", "linkerrorrecoverycounter") \
	X(LINK_DOWNED, "link_downed", "link_downed", "linkdownedcounter") \
	X(RCV_ERRORS, "rcv_errors", "receive_errors", "portrcverrors") \
	X(RCV_REMOTE_PHYSICAL_ERRORS, "rcv_remote_physical_errors", "receive_remote_physical_errors", \
	  "portrcvremotephysicalerrors") \
	X(XMIT_DISCARDS, "xmit_discards", "transmit_discards", "portxmitdiscards") \
	X(XMIT_CONSTRAINT_ERRORS, "xmit_constraint_errors", "transmit_constraint_errors", "portxmitconstrainterrors") \
	X(RCV_CONSTRAINT_ERRORS, "rcv_constraint_errors", "receive_constraint_errors", "portrcvconstrainterrors") \
	X(LOCAL_LINK_INTEGRITY_ERRORS, "local_link_integrity_errors", "local_link_integrity_errors", \
	  "locallinkintegrityerrors") \
	X(EXCESSIVE_BUFFER_OVERRUN_ERRORS, "excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors", \
	  "excessivebufferoverrunerrors") \
	X(VL15_DROPPED, "vl15_dropped", "vl15_dropped", "vl15dropped")

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

/* --- metrics_write.c --- */

#define METRICS_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"

/*
 * metrics_write - write a page as text to @out, which is flushed. That of 65,536 port ends has hundreds of
 * megabytes and is never in memory as a whole.
 * @openmetrics:  OpenMetrics 1.0; else the text format of Prometheus
 * @gzip:         compressed
 * Return: 0; ERR_IO: it cannot be written (a reader that closed its end is no error); ERR_NOMEM.
 */
int metrics_write(const struct metrics_page *page, bool openmetrics, bool gzip, FILE *out, struct error *err);

/* metrics_append_value - a finite value: all digits of a whole number; else the shortest text that reads back equal */
void metrics_append_value(struct text *text, double value);

/* metrics_row_count - rows that a family of this scope can have. */
uint32_t metrics_row_count(const struct metrics_page *page, enum metrics_scope scope);

/* metrics_unit - the end of its name; NULL: it has no unit. */
const char *metrics_unit(const struct metrics_family *family);

/* metrics_suffix - the end of the names of its samples. */
const char *metrics_suffix(const struct metrics_family *family);

#endif
