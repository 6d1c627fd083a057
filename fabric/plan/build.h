/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* build.h - what the readers of all forms of plans share; private to fabric/plan */
#ifndef IBWIRE_FABRIC_PLAN_BUILD_H
#define IBWIRE_FABRIC_PLAN_BUILD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/plan.h"

/* Strings that are freed together. A zeroed struct is empty. */
struct plan_strings {
	struct plan_chunk *chunks; /* the newest first */
	size_t left;               /* free bytes of the newest */
};

/* plan_string - a copy of @len bytes with a NUL. Return: NULL: no memory. */
char *plan_string(struct plan_strings *strings, const char *chars, size_t len);

/* plan_strings_join - move the strings of @from to @strings. */
void plan_strings_join(struct plan_strings *strings, struct plan_strings *from);
void plan_strings_done(struct plan_strings *strings);

/* One file while it is read: its links and problems, with file 0. */
struct plan_reader {
	const char *chars; /* UTF-8, with a NUL at the end */
	size_t len;
	struct plan plan;  /* links and problems; the links of two lines may be equal */
	struct plan_strings strings;
	bool failed;       /* no memory */
};

/* The problem of a line at which a file ends, whose plan is incomplete. */
#define PLAN_TORN "the file ends in this line: cables that the plan does not have are not judged"

/*
 * plan_add_problem - @fmt: one line; what is not printable in it is escaped
 * plan_add_link - @link: copied with its strings, of which those of the ends are sanitised
 */
void plan_add_problem(struct plan_reader *reader, size_t line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void plan_add_link(struct plan_reader *reader, const struct plan_link *link);

/* plan_problem_line - a string for a problem. Return: NULL: no memory. */
const char *plan_problem_line(struct plan_strings *strings, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));

/*
 * plan_read_list, plan_read_topo, plan_read_dump - read a file of this form
 * plan_is_topo, plan_is_dump - does it have this form?
 * Return: 0, also without a link; ERR_IO: not this form; ERR_NOMEM.
 */
int plan_read_list(struct plan_reader *reader, enum plan_form *ret_form, struct error *err);
bool plan_is_topo(const char *chars);
int plan_read_topo(struct plan_reader *reader, struct error *err);
bool plan_is_dump(const char *chars);
int plan_read_dump(struct plan_reader *reader, struct error *err);

/* The rate of a link as parsed from text; members that the text does not give are 0. */
struct plan_rate {
	uint32_t mbits_per_s;
	uint8_t width, speed;
};

/*
 * plan_parse_rate - "200000" (Mb/s), "200G", "400 Gb/s", "HDR", "4xHDR", "HDR100", "2x NDR"
 * Data rates of generations until FDR are below their names: "56G" is 54,545 Mb/s.
 * Return: false: not understood, @ret is untouched. "auto", "n/a" and the like are understood; all members are 0.
 */
bool plan_parse_rate(const char *text, struct plan_rate *ret);

#endif
