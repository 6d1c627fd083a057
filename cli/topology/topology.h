/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology.h - shared by the sub-commands of `ibwire topology` and by `ibwire names` */
#ifndef IBWIRE_CLI_TOPOLOGY_H
#define IBWIRE_CLI_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "facts/moment.h"
#include "facts/order.h"

struct command;
struct error;
struct fabric;
struct name_map;
struct shape;
struct text;

struct topology_options {
	struct options common;
	const char *settings_path; /* NULL: the default */
	const char *from; /* an ibnetdiscover file instead of the database, or NULL */
	bool summary;     /* show: summary only */
	bool hosts;       /* dot: include hosts */
	struct scheduler_options {
		const char *output;      /* file; NULL: the output */
		const char *hosts_map;    /* file, or NULL */
		bool all_hosts;          /* include storage and management */
		int64_t block_size;      /* 0: of the smallest leaf */
		struct option_list keys; /* of labels, from the leaf up; none: the default */
	} scheduler;      /* slurm, slurm-yaml, labels */
	const char *html; /* check: write the page to this file, or NULL */
};

/*
 * Source of the fabric: two entries of a struct option_spec list. @options: struct topology_options
 */
#define TOPOLOGY_SOURCE_OPTIONS(options) \
	OPT_TEXT("from", 0, "FILE", &(options).from, \
		 "read an ibnetdiscover output or saved file instead of the database"), \
	OPT_TEXT("settings", 0, "FILE", &(options).settings_path, "settings file (/etc/ibwire/ibwire.conf)")

/* A fabric from the database or a file, and its shape. */
struct topology {
	struct moment moment;            /* fabric from the database */
	struct fabric *own;          /* fabric from a file */
	struct name_map *names;
	struct settings settings;
	const struct fabric *fabric; /* either */
	struct shape *shape;
	struct order shown;          /* names as shown in tables */
	int64_t wall_us;             /* of the sweep; 0: from a file */
};

/*
 * topology_open - load the fabric and analyse its shape
 * Return: 0; ERR_IO if the file cannot be read or parsed; as options_open_moment(). Nothing to free after an
 * error.
 */
int topology_open(const struct topology_options *options, struct topology *ret, struct error *err);
void topology_close(struct topology *topology);

/* topology_read_file - a fabric from an ibnetdiscover output. Return: 0, ERR_IO, ERR_NOMEM. */
int topology_read_file(const char *path, const struct name_map *names, struct fabric **ret, struct error *err);

/* The sub-commands. Each returns the result of the command. */
int topology_show(const struct topology_options *options, const struct topology *topology, struct error *err);
int topology_save(const struct topology_options *options, const struct topology *topology, const char *path,
		  struct error *err);
int topology_diff(const struct topology_options *options, const struct topology *topology, const char *path,
		  struct error *err);
int topology_dot(const struct topology_options *options, const struct topology *topology, struct error *err);

/*
 * topology_scheduler - `ibwire topology slurm | slurm-yaml | labels`: the hosts as a tree of switches
 * @word:  which of them
 * Return: 0; ERR_UNAVAILABLE: no host can be in it; ERR_IO; ERR_NOMEM. Hosts that are left out are logged.
 */
int topology_scheduler(const struct topology_options *options, const struct topology *topology, const char *word,
		       struct error *err);

/* topology_scheduler_check - ERR_USAGE: an option of another sub-command than @word, or a key that is no label. */
int topology_scheduler_check(const struct command *command, const struct topology_options *options, const char *word,
			     struct error *err);

/*
 * topology_check - compare the fabric with a cabling plan
 * @files:  @count of them; 0: those of the settings
 * Return: 0; 1: it differs; ERR_USAGE: no plan is named; ERR_IO, ERR_NOMEM.
 */
int topology_check(const struct topology_options *options, const struct topology *topology, char *const *files,
		   size_t count, struct error *err);

/*
 * topology_route - `ibwire topology route A B`: the static route between two ends, hop by hop
 * @options:  parsed; its arguments are "route", A, B
 *
 * Return: 0 if the route arrives, 1 if not; ERR_UNAVAILABLE if unknown, after the known hops;
 * ERR_USAGE; ERR_IO; ERR_NOMEM.
 */
int topology_route(const struct command *command, const struct options *options, struct error *err);

/* topology_summary - kind, tiers, bandwidth, hosts, rails and irregularities. */
void topology_summary(const struct topology *topology, struct text *text);

/* topology_tree - one line per group of similar switches of a tier, highest tier first. */
void topology_tree(const struct topology *topology, struct text *text);

/* topology_matrix - link counts of switch pairs of adjacent tiers. @width: columns; 0: no limit. */
void topology_matrix(const struct topology *topology, unsigned width, struct text *text);

/*
 * topology_order - switches of a tier by natural name order. Return: for free(); NULL: no memory.
 */
uint32_t *topology_order(const struct topology *topology, unsigned tier, uint32_t *ret_count);

/* topology_fold - names of @count nodes as a short list: "leaf01..16, spine1"; equal ones "name (9)". */
void topology_fold(struct text *text, const struct topology *topology, const uint32_t *nodes, size_t count);

/* topology_range - "leaf01..leaf16 (16)", or the one name. */
void topology_range(struct text *text, const char *first, const char *last, size_t count);

#endif
