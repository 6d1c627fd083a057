/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology.h - what the words of `ibwire topology` and of `ibwire names` share */
#ifndef IBWIRE_CLI_TOPOLOGY_H
#define IBWIRE_CLI_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "cli/lib/view.h"
#include "tui/order.h"

struct command;
struct error;
struct fabric;
struct name_map;
struct shape;
struct text;

struct topology_options {
	struct options common;
	const char *settings_path; /* NULL: the default */
	const char *from; /* an ibnetdiscover output instead of the database, or NULL */
	bool summary;     /* show: the first part only */
	bool hosts;       /* dot: hosts too */
};

/* What says where the fabric is from: two of a command's struct option_spec. @options: its struct topology_options */
#define TOPOLOGY_SOURCE_OPTIONS(options) \
	{ "from", 0, OPTION_TEXT, "FILE", "an ibnetdiscover output or a saved file, and no database", \
	  &(options).from, 0 }, \
	{ "settings", 0, OPTION_TEXT, "FILE", "classes of hosts and rails (/etc/ibwire/ibwire.conf)", \
	  &(options).settings_path, 0 }

/* A fabric out of the database or a file, and its shape. */
struct topology {
	struct view view;            /* where it is from the database */
	struct fabric *own;          /* where it is from a file */
	struct name_map *names;
	struct settings settings;
	const struct fabric *fabric; /* either */
	struct shape *shape;
	struct order shown;          /* names as tables show them */
	int64_t wall_us;             /* of the sweep; 0: of a file */
};

/*
 * topology_open - the fabric that the options mean, and its shape
 * Return: 0; ERR_IO where the file cannot be read or is none; as view_open(). On an error there is nothing to free.
 */
int topology_open(const struct topology_options *options, struct topology *ret, struct error *err);
void topology_close(struct topology *topology);

/* topology_read_file - a fabric from an ibnetdiscover output. Return: 0, ERR_IO, ERR_NOMEM. */
int topology_read_file(const char *path, const struct name_map *names, struct fabric **ret, struct error *err);

/* The words. Each returns what the command returns. */
int topology_show(const struct topology_options *options, const struct topology *topology, struct error *err);
int topology_save(const struct topology *topology, const char *path, struct error *err);
int topology_diff(const struct topology_options *options, const struct topology *topology, const char *path,
		  struct error *err);
int topology_dot(const struct topology_options *options, const struct topology *topology, struct error *err);

/*
 * topology_route - `ibwire topology route A B`: the static route between two ends, hop by hop
 * @options:  parsed; its arguments are "route", A, B
 *
 * Return: 0 where it arrives, 1 where it does not; ERR_UNAVAILABLE where that is not known, behind the hops that
 * are; ERR_USAGE; ERR_IO; ERR_NOMEM.
 */
int topology_route(const struct command *command, const struct options *options, struct error *err);

/* topology_summary - the lines above tree and matrix: kind, tiers, bandwidth, hosts, rails, what is odd. */
void topology_summary(const struct topology *topology, struct text *text);

/* topology_tree - a line for each kind of switch of each tier, the highest first. */
void topology_tree(const struct topology *topology, struct text *text);

/* topology_matrix - links of each pair of neighbouring tiers' switches. @width: columns; 0: no limit. */
void topology_matrix(const struct topology *topology, unsigned width, struct text *text);

/* topology_order - the switches of one tier in natural order of names. Return: for free(); NULL: no memory. */
uint32_t *topology_order(const struct topology *topology, unsigned tier, uint32_t *ret_count);

/*
 * topology_fold - names in natural order as a short list: "leaf01..16, spine1, spine4"; equal ones "name (9)"
 * @names:  @count of them
 */
void topology_fold(struct text *text, const char *const *names, size_t count);

/* topology_range - "leaf01..leaf16 (16)", or the one name. */
void topology_range(struct text *text, const char *first, const char *last, size_t count);

#endif
