/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * key_values.h - settings as text: "key=value key=value"
 * A value ends where the next key begins, so it may contain spaces ("node0003 mlx5_0").
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
	char *key;   /* "" for text before the first key */
	char *value;
};

struct key_values {
	char *copy; /* buffer of the keys and values */
	struct key_value pairs[KEY_VALUES_MAX];
	size_t count;
};

/* key_values_split - Return: 0; ERR_USAGE if there are more than KEY_VALUES_MAX; ERR_NOMEM. */
int key_values_split(const char *text, struct key_values *ret, struct error *err);
void key_values_done(struct key_values *list);

/*
 * words_split - split a line at spaces outside double quotes
 * @line:  modified: the words are in it
 * @ret:   room for @room words
 * Return: 0; ERR_USAGE if there are more words, or a quote is not closed.
 */
int words_split(char *line, char **ret, size_t room, size_t *ret_count, struct error *err);

/*
 * parse_time - "20us", "100 us", "1s", "1.5ms", "0"
 * @ret_ns:  nanoseconds, up to an hour
 */
int parse_time(const char *key, const char *value, int64_t *ret_ns, struct error *err);

/* parse_number - an unsigned number from @min to @max, decimal or 0x. */
int parse_number(const char *key, const char *value, uint64_t min, uint64_t max, uint64_t *ret, struct error *err);

/* parse_percent - 0 to 100, with or without %. */
int parse_percent(const char *key, const char *value, double *ret, struct error *err);

/*
 * parse_nodes - a comma-separated list of nodes
 * Each item is a name, a name pattern (node0003*), 0xGUID, "all", "switches" or "hcas"; "none" and empty
 * items are ignored.
 * @members:  by node; set to true for nodes in the list, else to false
 */
int parse_nodes(const struct fabric *fabric, const char *list, bool *members, struct error *err);

#endif
