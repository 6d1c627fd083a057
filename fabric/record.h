/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * record.h - a fabric as lines of text
 *
 * Format of the pipe from the discovery helper to the collector: one line for each node, followed
 * by one for each of its ports, and an end line with the counts. It is text for debugging, and
 * strict because the writer may have crashed: without the end line, or with an invalid line, there
 * is no fabric. Descriptions are hexadecimal.
 */
#ifndef IBWIRE_FABRIC_RECORD_H
#define IBWIRE_FABRIC_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct text;

/* Statistics of a discovery. */
struct record_trailer {
	uint64_t smps;     /* SMPs sent */
	uint64_t hops;     /* length of the longest path */
	uint64_t took_us;  /* elapsed time of the discovery */
	uint64_t lost;     /* queries of known nodes without a response after all retries */
	uint64_t silent;   /* ports with a link to an unidentified node */
	uint64_t queries;  /* distinct SMPs, without retries and probes; exact if none was lost */
};

/* record_write - append a fabric's lines to @text. */
void record_write(struct text *text, const struct fabric *fabric, const struct record_trailer *trailer);

/*
 * record_read - read a fabric from its lines
 * @chars, @len:   the lines
 * @ret:           a finished fabric; untouched on error
 * @ret_trailer:   contents of the end line, or NULL
 *
 * Return: 0; ERR_IO: the text is incomplete, inconsistent or in another format (the text names the
 * line); ERR_NOMEM.
 */
int record_read(const char *chars, size_t len, struct fabric **ret,
		struct record_trailer *ret_trailer, struct error *err);

#endif
