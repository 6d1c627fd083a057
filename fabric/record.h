/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * record.h - a fabric as flat lines of text
 *
 * What the discovery helper writes on its pipe and the collector reads: one
 * line per node, followed by one per port, an end line with the counts. Text,
 * so that a person can look at it; strict, because the writer may have crashed
 * in the middle: without the end line, or with a line that does not fit, there
 * is no fabric. Descriptions are hexadecimal: no byte of theirs can break a line.
 */
#ifndef IBWIRE_FABRIC_RECORD_H
#define IBWIRE_FABRIC_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct name_map;
struct text;

/* What discovery says of itself. */
struct record_trailer {
	uint64_t smps;     /* SMPs sent */
	uint64_t hops;     /* the longest path that was followed */
	uint64_t took_us;  /* elapsed time of the discovery */
	uint64_t lost;     /* questions about nodes that were found, without an answer after all retries */
	uint64_t silent;   /* ports with a link behind which nobody answered */
};

/* record_write - append a fabric's lines to @text. */
void record_write(struct text *text, const struct fabric *fabric, const struct record_trailer *trailer);

/*
 * record_read - assemble a fabric from its lines
 * @chars, @len:   the lines
 * @map:           node names, or NULL
 * @ret:           a finished fabric; untouched on error
 * @ret_trailer:   what the end line says, or NULL
 *
 * Return: 0; ERR_IO where the text is cut, contradicts itself or is none of
 * ours (the text names the line); ERR_NOMEM.
 */
int record_read(const char *chars, size_t len, const struct name_map *map, struct fabric **ret,
		struct record_trailer *ret_trailer, struct error *err);

#endif
