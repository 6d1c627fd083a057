/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_words.h - how the wire and the performance agents are told what to do
 *
 * "key=value key=value": a value ends where the next key begins, so it may
 * hold spaces, as names of nodes do ("node0003 mlx5_0").
 */
#ifndef IBWIRE_SIM_RELAY_WORDS_H
#define IBWIRE_SIM_RELAY_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;

#define WORDS_MAX 32

struct word_pair {
	char *key;   /* "" for what stands before the first key */
	char *value;
};

struct words {
	char *copy; /* that keys and values point into */
	struct word_pair pairs[WORDS_MAX];
	size_t count;
};

/* words_split - Return: 0; ERR_USAGE where there are more than WORDS_MAX; ERR_NOMEM. */
int words_split(const char *text, struct words *ret, struct error *err);
void words_done(struct words *words);

/*
 * words_time - "20us", "100 us", "1s", "1.5ms", "0"
 * @ret_ns:  nanoseconds, at most an hour
 */
int words_time(const char *key, const char *value, int64_t *ret_ns, struct error *err);

/* words_number - an unsigned number, decimal or 0x. */
int words_number(const char *key, const char *value, uint64_t max, uint64_t *ret, struct error *err);

/* words_percent - 0 to 100, with or without %. */
int words_percent(const char *key, const char *value, double *ret, struct error *err);

/*
 * words_nodes - a list of nodes, with commas between them
 * Each is a name, a pattern of names (node0003*), 0x and a GUID, "all",
 * "switches" or "hcas"; "none" or nothing is nobody.
 * @members:  by node; those of the list are set to true, the others to false
 */
int words_nodes(const struct fabric *fabric, const char *list, bool *members, struct error *err);

#endif
