/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_day.h"

#include <string.h>

#include "analysis/delta.h"

enum { IDLE, BUSY, BURST, SPELLS };

#define LINE_WORDS_PER_S 6.25e9 /* 200 Gb/s */
#define PACKET_WORDS 1031       /* 4,096 bytes and 28 of headers */
#define SMALL_WORDS 7
#define POLL_WORDS 72           /* a MAD with its headers */

/* Share of the time, and mean duration. */
static const struct spell {
	double share, seconds;
} spells[SPELLS] = {
	[IDLE] = { 0.3, 90 },
	[BUSY] = { 0.6, 60 },
	[BURST] = { 0.1, 4 },
};

/* splitmix64 */
static uint64_t next(uint64_t *random)
{
	uint64_t z = *random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* In [0, 1). */
static double uniform(uint64_t *random)
{
	return (double)(next(random) >> 11) / 9007199254740992.0;
}

/* Nearly normal, mean 0, deviation 1: a sum of eight numbers, so that it does not depend on a mathematics library. */
static double normal(uint64_t *random)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t bits = next(random);

		for (unsigned j = 0; j < 64; j += 16)
			sum += (int64_t)(bits >> j & 0xffff) - 32768;
	}
	/* The deviation of one of them is 65536 / sqrt(12). */
	return ((double)sum + uniform(random) * 4) / (65536 * 0.81649658);
}

static void begin_spell(struct day_port *port)
{
	double all = 0, at;

	for (unsigned i = 0; i < SPELLS; i++)
		all += spells[i].share / spells[i].seconds;
	at = uniform(&port->random) * all;
	port->spell = 0;
	while (port->spell < SPELLS - 1 && at >= spells[port->spell].share / spells[port->spell].seconds) {
		at -= spells[port->spell].share / spells[port->spell].seconds;
		port->spell++;
	}
	/* Uniform with the same mean, without a logarithm. */
	port->left_us = (int64_t)(uniform(&port->random) * 2 * spells[port->spell].seconds * 1e6);
}

void day_begin(struct day_port *port, uint64_t seed)
{
	*port = (struct day_port){ .random = seed * UINT64_C(0xd1342543de82ef95) + 1 };
	port->words_per_s = LINE_WORDS_PER_S * (0.25 + 0.5 * uniform(&port->random));
	begin_spell(port);
	/* The day starts within a spell. */
	port->left_us = (int64_t)((double)port->left_us * uniform(&port->random));
}

/* Words of both directions. */
static void count_words(struct day_port *port, double seconds, double words[2])
{
	for (unsigned i = 0; i < 2; i++) {
		switch (port->spell) {
		case IDLE:
			words[i] = 0;
			break;
		case BUSY:
			words[i] = port->words_per_s * seconds * (1 + 0.02 * normal(&port->random));
			break;
		default:
			words[i] = LINE_WORDS_PER_S * seconds * uniform(&port->random);
		}
	}
}

void day_next(struct day_port *port, int64_t interval_us, struct delta *ret)
{
	uint64_t *random = &port->random;
	int64_t late_us = (int64_t)(100 * normal(random));
	uint64_t small[2] = { 1, 1 }, full[2], last[2], multicast = 0;
	double words[2];

	memset(ret, 0, sizeof(*ret));
	ret->known = COUNTER_BIT(COUNTER_COUNT) - 1;
	ret->elapsed_us = interval_us + late_us - port->late_us;
	if (ret->elapsed_us < 0)
		ret->elapsed_us = 0;
	port->late_us = late_us;
	while (port->left_us <= 0) {
		int64_t over_us = port->left_us;

		begin_spell(port);
		port->left_us += over_us;
	}
	port->left_us -= interval_us;

	count_words(port, (double)ret->elapsed_us / 1e6, words);
	for (unsigned i = 0; i < 2; i++) {
		full[i] = (uint64_t)(words[i] / PACKET_WORDS);
		last[i] = full[i] / 1000;
	}
	if (uniform(random) < 0.01)
		multicast = 1 + next(random) % 4;
	for (unsigned i = 0; i < 2; i++) {
		small[i] += full[!i] / 512 + (uniform(random) < 0.1 ? next(random) % 8 : 0);
		ret->value[COUNTER_XMIT_DATA + i] = full[i] * PACKET_WORDS + small[i] * SMALL_WORDS + POLL_WORDS +
			(uint64_t)((double)(last[i] * PACKET_WORDS) * (0.5 + 0.01 * normal(random)));
		ret->value[COUNTER_UNICAST_XMIT_PACKETS + i] = full[i] + last[i] + small[i];
	}
	ret->value[COUNTER_RCV_DATA] += multicast * POLL_WORDS;
	ret->value[COUNTER_MULTICAST_RCV_PACKETS] = multicast;
	ret->value[COUNTER_XMIT_PACKETS] = ret->value[COUNTER_UNICAST_XMIT_PACKETS];
	ret->value[COUNTER_RCV_PACKETS] = ret->value[COUNTER_UNICAST_RCV_PACKETS] + multicast;
	if (port->spell == BURST || (port->spell == BUSY && uniform(random) < 0.05))
		ret->value[COUNTER_XMIT_WAIT] = (uint64_t)(uniform(random) * 0.1 * words[0] / 4);
}
