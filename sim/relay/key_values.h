/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * key_values.h - how the wire and the performance agents are told what to do
 *
 * "key=value key=value": a value ends where the next key begins, so it may
 * hold spaces, as names of nodes do ("node0003 mlx5_0").
 */
#ifndef IBWIRE_SIM_KEY_VALUES_H
#define IBWIRE_SIM_KEY_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;

#define KEY_VALUES_MAX 32

struct key_value {
	char *key;   /* "" for what stands before the first key */
	char *value;
};

struct key_values {
	char *copy; /* that keys and values point into */
	struct key_value pairs[KEY_VALUES_MAX];
	size_t count;
};

/* key_values_split - Return: 0; ERR_USAGE where there are more than KEY_VALUES_MAX; ERR_NOMEM. */
int key_values_split(const char *text, struct key_values *ret, struct error *err);
void key_values_done(struct key_values *list);

/*
 * parse_time - "20us", "100 us", "1s", "1.5ms", "0"
 * @ret_ns:  nanoseconds, at most an hour
 */
int parse_time(const char *key, const char *value, int64_t *ret_ns, struct error *err);

/* parse_number - an unsigned number, decimal or 0x. */
int parse_number(const char *key, const char *value, uint64_t max, uint64_t *ret, struct error *err);

/* parse_percent - 0 to 100, with or without %. */
int parse_percent(const char *key, const char *value, double *ret, struct error *err);

/*
 * parse_nodes - a list of nodes, with commas between them
 * Each is a name, a pattern of names (node0003*), 0x and a GUID, "all",
 * "switches" or "hcas"; "none" or nothing is nobody.
 * @members:  by node; those of the list are set to true, the others to false
 */
int parse_nodes(const struct fabric *fabric, const char *list, bool *members, struct error *err);

#endif
