/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* gone.h - nodes that are no longer in the fabric, and cables that are no longer there */
#ifndef IBWIRE_STORAGE_GONE_H
#define IBWIRE_STORAGE_GONE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"

struct error;
struct reader;

/* A node that was in the fabric once, and is not. */
struct gone_node {
	uint64_t guid;
	const char *name; /* as it was last (valid during the call) */
	int64_t seen_us;  /* wall clock of the last sweep with it that is kept; 0: none is */
	int64_t gone_us;  /* of the first sweep without it */
};

/*
 * reader_gone_nodes - call @each for every node that is gone at a time, in order of first sight, until it returns false
 * @at_us:  wall clock; 0: now
 * Return: 0; ERR_UNAVAILABLE where no sweep is stored at or before that time; ERR_IO.
 */
typedef bool reader_gone_fn(void *ctx, const struct gone_node *node);
int reader_gone_nodes(struct reader *reader, int64_t at_us, reader_gone_fn *each, void *ctx, struct error *err);

/* The last port that was at the other end of a port's cable. */
struct past_peer {
	uint64_t guid;
	uint8_t port;
	char name[NODE_NAME_SIZE]; /* of its node, as it was last */
	int64_t until_us;          /* wall clock of the first sweep that knew the cable no more; 0: it is there */
};

/*
 * reader_last_peer - who was at the other end of a port, as known at a time
 * @at_us:  wall clock; 0: now
 * Return: 1; 0 where it never had a cable, or nobody knows of it; ERR_UNAVAILABLE as above; ERR_IO.
 */
int reader_last_peer(struct reader *reader, uint64_t node_guid, uint8_t port, int64_t at_us, struct past_peer *ret,
		     struct error *err);

#endif
