/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* files.h - readers of the single files of ibdiagnet; private to fabric/ibdiagnet */
#ifndef IBWIRE_FABRIC_IBDIAGNET_FILES_H
#define IBWIRE_FABRIC_IBDIAGNET_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/ibdiagnet.h"

/* A file while it is read. */
struct ibdiagnet_file {
	struct ibdiagnet *bundle;
	const char *path;
	size_t line;       /* number of the present line */
	size_t index_line; /* line of the index that the header announces; 0: none */
	bool torn;         /* the last line has no line break */
	int64_t run_us, created_us; /* times of the header; 0: none */
	/* Of the reader: */
	void *state;
};

/*
 * A reader takes each line, without its line break; a NULL @line is the end of the file.
 * Return: 0 or an error.
 */
typedef int ibdiagnet_line_fn(struct ibdiagnet_file *file, char *line, struct error *err);

/*
 * The readers; each allocates its state with the first line, and frees it at the end of the file.
 * Cables and counters in files of their own are the same as in the .db_csv, which is read first: they are used if that
 * has none.
 */
ibdiagnet_line_fn ibdiagnet_read_db_csv, ibdiagnet_read_cables, ibdiagnet_read_pm, ibdiagnet_read_net_dump_ext;

/* ibdiagnet_unread - count a row that was not understood. Return: 0. */
int ibdiagnet_unread(struct ibdiagnet_file *file, enum ibdiagnet_section section);

/* ibdiagnet_note - count a row of a port that was understood. */
void ibdiagnet_note(struct ibdiagnet_file *file, enum ibdiagnet_section section, struct ibdiagnet_port *port);

/* ibdiagnet_is_unknown - "", "N/A", "NA" */
bool ibdiagnet_is_unknown(const char *value);

/* ibdiagnet_guid - "0xf45214030046a0a1". Return: false: it is none. */
bool ibdiagnet_guid(const char *value, uint64_t *ret);
/* ibdiagnet_number - decimal, or hexadecimal with 0x. Return: false: it is none. */
bool ibdiagnet_number(const char *value, uint64_t *ret);
/* ibdiagnet_temperature - "45C", "45 C", "45": degrees Celsius; NAN: unknown */
double ibdiagnet_temperature(const char *value);
/* ibdiagnet_rate - "1.5e-254", "0"; NAN: unknown */
double ibdiagnet_rate(const char *value);
/* ibdiagnet_set_text - a sanitised value, unless it is unknown; ibdiagnet_add_lane - append one to those of a lane */
void ibdiagnet_set_text(struct ibdiagnet_port *port, enum ibdiagnet_text text, const char *value);
void ibdiagnet_add_lane(struct ibdiagnet_port *port, enum ibdiagnet_text text, const char *value);

/* ibdiagnet_trim - without blanks at both ends, in place */
char *ibdiagnet_trim(char *value);

/* ibdiagnet_is_cut - set the error of a file that ends too early. @what: what has no end. Return: ERR_USAGE */
int ibdiagnet_is_cut(const struct ibdiagnet_file *file, const char *what, struct error *err);

#endif
