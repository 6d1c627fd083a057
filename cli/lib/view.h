/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * view.h - the fabric at the time that the options ask for, and what is said of each port
 */
#ifndef IBWIRE_CLI_VIEW_H
#define IBWIRE_CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/ber.h"
#include "analysis/status.h"
#include "fabric/counter.h"
#include "tui/order.h"

struct error;
struct fabric;
struct name_map;
struct options;
struct reader;
struct settings;
struct shape;
struct snapshot;

struct view {
	struct reader *reader;
	struct name_map *names;     /* or NULL */
	struct snapshot *snapshot;  /* NULL after view_open_reader() */
	const struct fabric *fabric; /* the snapshot's */
	struct settings *settings;  /* NULL before view_find_shape() */
	struct shape *shape;        /* the same */
	struct order names_shown;   /* its nodes' names as tables show them */
	uint32_t *nodes;            /* indices of its nodes in the order of these names */
	int64_t reference_us;       /* ages count up to here: now, or the time asked for */
	int64_t at_us, window_us;   /* what the snapshot was asked for, as in struct snapshot_query */
};

/*
 * view_open_reader - open the database and the name map that the options mean
 * view_open - and load the fabric as it was at --at (or --until); counters over
 * --since up to then, without it those of that one sweep (or options->window_sweeps)
 * @absolute:  absolute counters too
 *
 * Return: 0, or a negative error; then there is nothing to close.
 */
int view_open_reader(const struct options *options, struct view *ret, struct error *err);
int view_open(const struct options *options, bool absolute, struct view *ret, struct error *err);
void view_done(struct view *view);

/* view_tell_damage - a warning where so many packs of samples could not be read; nothing where it is 0. */
void view_tell_damage(size_t count, const char *first);

/* view_find_shape - what the fabric is built like, with the settings file. Return: 0, ERR_USAGE, ERR_IO, ERR_NOMEM. */
int view_find_shape(struct view *view, struct error *err);

/* Bit error rates, and the keys that they have everywhere. */
enum view_ber { VIEW_BER_SYMBOL, VIEW_BER_EFFECTIVE, VIEW_BER_RAW, VIEW_BER_COUNT };
const char *view_ber_key(enum view_ber which);

/* view_age_s - when_age_us() in seconds; NAN where it is not known: @then_us is 0, or a clock was changed. */
double view_age_s(int64_t now_us, int64_t then_us);

/* One port's numbers. NAN where one is not known. */
struct port_view {
	uint32_t port; /* index into the fabric's ports */
	enum port_word word;
	double rate_gbps;
	double xmit_bytes_per_s, rcv_bytes_per_s;
	double xmit_packets_per_s, rcv_packets_per_s;
	double xmit_percent, rcv_percent;
	double stall_percent;  /* an estimate */
	bool stall_at_least;
	double wait_ticks_per_s;
	double window_s, age_s;
	counter_set errors_known;   /* error counters with a delta in the window */
	counter_set errors_unknown; /* those without, and those that sit at their maximum */
	uint64_t error_count;       /* sum over the known ones */
	struct ber ber[VIEW_BER_COUNT]; /* without slow counters (cli/ports/port_details.h) only that of symbols is known */
};

/* port_view_init - work out what is said of a port. */
void port_view_init(const struct view *view, uint32_t port, struct port_view *ret);

/* port_view_was_seen - was this port ever up as far as is known: it is, it has a peer, or was read. */
bool port_view_was_seen(const struct view *view, uint32_t port);

#endif
