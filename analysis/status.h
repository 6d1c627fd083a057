/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status.h - how a port is, in one word: decided here for every output
 */
#ifndef IBWIRE_ANALYSIS_STATUS_H
#define IBWIRE_ANALYSIS_STATUS_H

struct port;

/* Why a port has data in a sweep or has none. Values are stored: never renumber. */
enum sample_status {
	SAMPLE_OK = 0,
	SAMPLE_SILENT = 1,      /* asked, did not answer */
	SAMPLE_BACKOFF = 2,     /* silent before, not asked this time */
	SAMPLE_DOWN = 3,        /* no link: not asked */
	SAMPLE_LOCKED = 4,      /* answers, but not to us */
	SAMPLE_UNSUPPORTED = 5, /* has no such counters, or is a plane (fabric/planes.h) */
	SAMPLE_UNPLANNED = 6,   /* not asked by the settings */
	SAMPLE_UNFINISHED = 7,  /* the sweep's time was over before it was asked, or before it answered */
	SAMPLE_STATUS_COUNT,
};

/* sample_status_name - "ok", "silent", "backoff", "down", ... */
const char *sample_status_name(enum sample_status status);

/* In the order in which they sort: of two ends of a link the higher word counts. */
enum port_word {
	WORD_OK,
	WORD_IDLE,        /* answers, and its link carries (almost) nothing */
	WORD_NEW,         /* port_word_now() only: one reading so far, rates come with the next */
	WORD_MIRRORED,    /* no counters of its own: what the switch port at its other end counted is shown */
	WORD_UNPLANNED,
	WORD_UNFINISHED,
	WORD_INIT,        /* port_word_now() only: the link is up but not Active, the SM has not set it up */
	WORD_UNSUPPORTED,
	WORD_LOCKED,
	WORD_SILENT,
	WORD_DOWN,
	WORD_COUNT,
};

/* port_word_name - "ok", "idle", ...: what `status` is in every output. */
const char *port_word_name(enum port_word word);

/* port_word_worse - of a link with these at its ends: that of the worse one; idle only where both are. */
enum port_word port_word_worse(enum port_word a, enum port_word b);

/*
 * port_word - the word of JSON, CSV and tables
 * @status:  of the port in the sweep that is shown
 * @xmit_bytes_per_s, @rcv_bytes_per_s: rate_bytes_per_s(); NAN: not known
 *
 * A port without a link is down, whatever its sample says: that is why it has none.
 * One without counters of its own, or left out by the settings, that has rates has them from its peer: mirrored.
 */
enum port_word port_word(const struct port *port, enum sample_status status, double xmit_bytes_per_s,
			 double rcv_bytes_per_s);

/*
 * port_word_now - the word of a screen that shows the newest sweep
 * As above, but what answers is told apart further: a link that the subnet manager
 * has not set up, and a port that was read once only.
 */
enum port_word port_word_now(const struct port *port, enum sample_status status, double xmit_bytes_per_s,
			     double rcv_bytes_per_s);

#endif
