/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/conserve.h"

#include <math.h>

/*
 * Delay from the counter of the sender to that of the receiver: 100 m of cable and error correction
 * take less than 1 us, a packet of 4 KiB up to 2 us at 4x QDR and 17 us at 1x SDR.
 */
#define FLIGHT_US 20

/*
 * One end may count a packet at its start, the other at its end: one packet at each pair of
 * readings.
 */
#define EDGE_PACKETS 2
#define EDGE_WORDS (EDGE_PACKETS * 1064.0) /* 4096 octets and all possible headers */

/*
 * Minimum length of a packet on the wire: 20 octets. Source: IBA Vol 1, LRH: PktLen is at least 5
 * words, plus VCRC and delimiters.
 */
#define PACKET_MIN_BITS 160.0

#define WORD_BITS 32.0

/* Nominal rates are rounded, and clocks differ by some parts per million. */
#define RATE_MARGIN 1.01

bool conserve_take(const struct delta *delta, const struct reading *reading, bool xmit,
		   const struct conserve_moment *from, const struct conserve_moment *to, struct conserve_delta *ret)
{
	enum counter words = xmit ? COUNTER_XMIT_DATA : COUNTER_RCV_DATA;
	enum counter packets = xmit ? COUNTER_XMIT_PACKETS : COUNTER_RCV_PACKETS;
	counter_set both = COUNTER_BIT(words) | COUNTER_BIT(packets);

	if ((delta->known & both) != both || (reading->wide & both) != both ||
	    (delta->reset | delta->saturated) & both || to->late_us - delta->elapsed_us != from->late_us)
		return false;
	*ret = (struct conserve_delta){ *from, *to, delta->value[words], delta->value[packets] };
	return true;
}

/* Maximum amount that a link carries in a time. */
static struct conserve_amount at_rate(double us, uint64_t link_bits_per_s)
{
	double bits = us > 0 ? us / 1e6 * (double)link_bits_per_s * RATE_MARGIN : 0;

	return (struct conserve_amount){ bits / WORD_BITS, bits / PACKET_MIN_BITS };
}

static struct conserve_amount at_most(struct conserve_amount a, struct conserve_amount b)
{
	return (struct conserve_amount){ fmin(a.words, b.words), fmin(a.packets, b.packets) };
}

/* The moment of the sender that a reading of the receiver stands for: earlier by the delay of the link. */
static struct conserve_moment as_sent(const struct conserve_moment *received)
{
	return (struct conserve_moment){ received->early_us - FLIGHT_US, received->late_us };
}

/* Maximum time of a reading after @other. */
static double lead_us(const struct conserve_moment *moment, const struct conserve_moment *other)
{
	return (double)(moment->late_us - other->early_us);
}

void conserve_run_start(struct conserve_run *run, const struct conserve_moment *sent,
			const struct conserve_moment *received, uint64_t link_bits_per_s)
{
	struct conserve_moment there = as_sent(received);

	*run = (struct conserve_run){
		.link_bits_per_s = link_bits_per_s,
		.ahead = at_rate(lead_us(sent, &there), link_bits_per_s),
		.behind = at_rate(lead_us(&there, sent), link_bits_per_s),
	};
	run->sent.last = *sent;
	run->sent.first_late_us = sent->late_us;
	run->received.last = there;
	run->received.first_late_us = there.late_us;
}

/*
 * The difference at the first pair arose between its two readings. It is bounded by what the end
 * that was read earlier has counted since, once that end is read again after the first reading of
 * the other.
 */
static void narrow_start(const struct conserve_side *side, const struct conserve_side *other,
			 struct conserve_amount *lead)
{
	if (side->last.early_us >= other->first_late_us)
		*lead = at_most(*lead, (struct conserve_amount){ (double)side->words, (double)side->packets });
}

bool conserve_run_add(struct conserve_run *run, bool xmit, const struct conserve_delta *delta)
{
	struct conserve_side *side = xmit ? &run->sent : &run->received;

	if (delta->from.late_us != side->last.late_us) {
		run->link_bits_per_s = 0;
		return false;
	}
	side->recent[1] = side->recent[0];
	side->recent[0].from_late_us = side->last.late_us;
	side->recent[0].words = delta->words;
	side->recent[0].packets = delta->packets;
	side->last = xmit ? delta->to : as_sent(&delta->to);
	side->words += delta->words;
	side->packets += delta->packets;
	side->count += side->count < 2;
	narrow_start(side, xmit ? &run->received : &run->sent, xmit ? &run->behind : &run->ahead);
	return true;
}

/*
 * Maximum lead of @side over @other at its last reading: what the link carries in that time, and
 * what @side has counted since one of its readings that is certainly before that of the other.
 */
static struct conserve_amount lead_of(const struct conserve_side *side, const struct conserve_side *other,
			     uint64_t link_bits_per_s)
{
	struct conserve_amount lead = at_rate(lead_us(&side->last, &other->last), link_bits_per_s);
	struct conserve_amount counted = { 0, 0 };

	for (unsigned i = 0; i < side->count; i++) {
		counted.words += (double)side->recent[i].words;
		counted.packets += (double)side->recent[i].packets;
		if (side->recent[i].from_late_us <= other->last.early_us)
			return at_most(lead, counted);
	}
	return lead;
}

/*
 * The part of a difference above @most or below -@least, clamped for devices with invalid counters.
 */
static int64_t beyond(int64_t difference, double most, double least)
{
	const double limit = 9e18;
	double value = (double)difference;

	if (value > most)
		return (int64_t)fmin(value - most, limit);
	if (value < -least)
		return (int64_t)fmax(value + least, -limit);
	return 0;
}

struct conserve_result conserve_run_evaluate(const struct conserve_run *run)
{
	struct conserve_result result = { .verdict = CONSERVE_UNDECIDED };
	const struct conserve_side *sent = &run->sent, *received = &run->received;
	struct conserve_amount ahead, behind;

	if (!run->link_bits_per_s || !sent->count || !received->count)
		return result;
	ahead = lead_of(sent, received, run->link_bits_per_s);
	behind = lead_of(received, sent, run->link_bits_per_s);
	result.missing_words = beyond((int64_t)(sent->words - received->words),
				      ahead.words + run->behind.words + EDGE_WORDS,
				      behind.words + run->ahead.words + EDGE_WORDS);
	result.missing_packets = beyond((int64_t)(sent->packets - received->packets),
					ahead.packets + run->behind.packets + EDGE_PACKETS,
					behind.packets + run->ahead.packets + EDGE_PACKETS);
	result.verdict = result.missing_words || result.missing_packets ? CONSERVE_VIOLATED : CONSERVE_HOLDS;
	return result;
}
