/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * feed.h - advances counters of simulated ports
 *
 * ibsim's console sets counters to absolute values, and MADs are counted in between. A port is
 * therefore read, without crossing a link, and then set to the value read plus the increment: counts of
 * MADs are preserved, and a reset by another process stays a reset. A MAD within the millisecond between
 * is lost to the counters, in words and packets. To prevent counters from decreasing by such losses, a
 * port is advanced by at least FEED_MIN_PACKETS, which exceeds the number of MADs in that time (ibsim
 * routes some 200 per millisecond); smaller increments are deferred.
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
	const struct lft *lft;       /* borrowed: for LIDs; may change between calls */
	const char *dir;   /* ibsim's working directory */
	int console_fd;
	struct client client;
	struct text lines; /* commands not yet sent to ibsim */
	size_t line_count;
	unsigned batch;
	struct client_query last; /* the last port of the batch, to detect when ibsim has processed it */
	size_t last_offset, last_bytes;
	uint64_t last_value;
	struct port_amount *applied; /* by port: total of all increments */
};

int feed_open(struct feed *feed, const struct fabric *fabric, const struct lft *lft, const char *sockname,
	      const char *dir, int console_fd, struct error *err);
void feed_close(struct feed *feed);

/*
 * feed_apply - advance counters by @pending, which is reduced accordingly
 * @pending:   by port
 * @all:       also amounts below FEED_MIN_PACKETS
 * @ret_left:  number of ports that did not respond: their amounts stay pending
 *
 * ibsim has processed the commands when it returns. Return: 0; ERR_UNAVAILABLE if ibsim has no free slot
 * (nothing is lost) or has ended; ERR_IO.
 */
int feed_apply(struct feed *feed, struct port_amount *pending, bool all, size_t *ret_left, struct error *err);

#endif
