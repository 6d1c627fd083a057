/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * view.h - the fabric at the time that the options ask for, and what is said of each port
 */
#ifndef IBWIRE_CLI_VIEW_H
#define IBWIRE_CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "tui/order.h"

struct error;
struct fabric;
struct name_map;
struct options;
struct reader;
struct snapshot;

struct view {
	struct reader *reader;
	struct name_map *names;     /* or NULL */
	struct snapshot *snapshot;  /* NULL after view_open_reader() */
	const struct fabric *fabric; /* the snapshot's */
	struct order names_shown;   /* its nodes' names as tables show them */
	uint32_t *nodes;            /* indices of its nodes in the order of these names */
	int64_t reference_us;       /* ages count up to here: now, or the time asked for */
};

/*
 * view_open_reader - open the database and the name map that the options mean
 * view_open - and load the fabric as it was at --at (or --until); counters over
 * --since up to then, without it those of that one sweep
 * @absolute:  absolute counters too
 *
 * Return: 0, or a negative error; then there is nothing to close.
 */
int view_open_reader(const struct options *options, struct view *ret, struct error *err);
int view_open(const struct options *options, bool absolute, struct view *ret, struct error *err);
void view_done(struct view *view);

/* What a port is doing, one word. */
enum port_word {
	WORD_OK, WORD_IDLE, WORD_UNPLANNED, WORD_UNFINISHED,
	WORD_UNSUPPORTED, WORD_LOCKED, WORD_SILENT, WORD_DOWN, WORD_COUNT,
};

/* port_word_name - "ok", "idle", ...: what `status` is in every output. */
const char *port_word_name(enum port_word word);

/* One port's numbers. NAN where one is not known. */
struct port_view {
	uint32_t port; /* index into the fabric's ports */
	enum port_word word;
	double rate_gbps;
	double xmit_bytes_per_s, rcv_bytes_per_s;
	double xmit_packets_per_s, rcv_packets_per_s;
	double xmit_percent, rcv_percent;
	double window_s, age_s;
	counter_set errors_known;   /* error counters with a delta in the window */
	counter_set errors_unknown; /* those without, and those that sit at their maximum */
	uint64_t error_count;       /* sum over the known ones */
};

/* port_view_init - work out what is said of a port. */
void port_view_init(const struct view *view, uint32_t port, struct port_view *ret);

/* port_view_was_seen - was this port ever up as far as is known: it is, it has a peer, or was read. */
bool port_view_was_seen(const struct view *view, uint32_t port);

#endif
