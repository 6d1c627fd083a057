/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * feed.h - moves counters of simulated ports
 *
 * ibsim's console sets counters to values, and MADs count in between. So a
 * port is read, without crossing a link, and right after that set to what was read plus
 * what it shall move by: what MADs added stays, what somebody reset stays
 * reset. A MAD that comes in the millisecond between is lost to its counters,
 * words and packets alike. So that such losses never let a counter fall, a port
 * moves by FEED_MIN_PACKETS at least, more than MADs can be in that time
 * (ibsim routes some 200 a millisecond); less waits for the next time.
 * Source: ibsim sim_cmd.c (do_perf_counter_set), sim_mad.c (pc_updated).
 */
#ifndef IBWIRE_SIM_FEED_H
#define IBWIRE_SIM_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "sim/ibsim/client.h"
#include "sim/lft.h"
#include "sim/traffic.h"

#define FEED_MIN_PACKETS 1000

struct feed {
	const struct fabric *fabric; /* borrowed */
	const struct lft *lft;       /* borrowed: for LIDs; the owner may change what is in it */
	const char *dir;   /* ibsim's working directory */
	int console_fd;
	struct client client;
	struct text lines; /* commands that ibsim has not been given yet */
	size_t line_count;
	unsigned batch;
	struct client_query last; /* a port of the batch in hand, to see when ibsim has done it */
	size_t last_offset, last_bytes;
	uint64_t last_value;
	struct port_amount *applied; /* by port: what was added to its counters, ever */
};

int feed_open(struct feed *feed, const struct fabric *fabric, const struct lft *lft, const char *sockname,
	      const char *dir, int console_fd, struct error *err);
void feed_close(struct feed *feed);

/*
 * feed_apply - move counters by @pending, which is taken from it
 * @pending:   by port
 * @all:       also amounts below FEED_MIN_PACKETS
 * @ret_left:  ports that did not answer: their amounts stay pending
 *
 * When it returns, ibsim has done it. Return: 0; ERR_UNAVAILABLE where ibsim has
 * no place for a client at the moment (nothing is lost) or is gone; ERR_IO.
 */
int feed_apply(struct feed *feed, struct port_amount *pending, bool all, size_t *ret_left, struct error *err);

#endif
