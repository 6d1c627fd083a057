/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * feed.h - advances counters of ibsim
 *
 * A port is read, without crossing a link, and then set to the value read plus the increment, because
 * ibsim's console sets absolute values. docs/simulation.md, Exactness.
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

/*
 * A MAD between reading and setting is lost to the counters. Smaller increments than this are deferred, so
 * that losses never make a counter decrease: ibsim routes some 200 MADs in that millisecond.
 */
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
