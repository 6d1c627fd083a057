/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * faults.h - what is broken in a running simulation
 *
 * The list is a file in the run directory, locked while it is used, so that several commands can change
 * it: "ibwire-sim break", "repair" and "play".
 */
#ifndef IBWIRE_SIM_FAULTS_H
#define IBWIRE_SIM_FAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "sim/job.h"

struct error;
struct fault_kind;
struct text;

#define FAULTS_MAX 32
#define FAULT_WORDS_MAX 12

struct fault {
	const struct fault_kind *kind;
	char target[NODE_NAME_SIZE + 8]; /* "leaf-u02-r3/20", "node0009", "node0009 mlx5_5" */
	char options[160];               /* "part=0.5" */
};

struct faults {
	struct fabric *fabric;
	struct host_table hosts;
	const char *sockname, *dir, *console; /* borrowed from the environment */
	struct fault list[FAULTS_MAX];
	size_t count;
	int fd; /* the locked file */
};

/* faults_open - read the list of the simulation in the environment, and lock it. Return: 0 or an error. */
int faults_open(struct faults *faults, struct error *err);

/* faults_close - write the list, unlock it, and free the faults. After an error of faults_open() the list stays. */
void faults_close(struct faults *faults);

/*
 * fault_parse - a fault as typed
 * @words:  its kind, target and KEY=VALUE options; a missing target is chosen
 * Return: 0; ERR_USAGE for an unknown kind, target or option.
 */
int fault_parse(const struct faults *faults, char *const *words, size_t count, struct fault *ret, struct error *err);

/* faults_begin - break something. Return: 0; ERR_USAGE if it is broken already; another error. */
int faults_begin(struct faults *faults, const struct fault *fault, struct error *err);

/*
 * faults_end - repair the faults of this kind and target
 * @kind, @target:  NULL: any
 * @repaired:       their descriptions are appended, a line each
 * Return: 0 or an error: then the fault remains in the list, and no further one is repaired.
 */
int faults_end(struct faults *faults, const char *kind, const char *target, struct text *repaired, struct error *err);

/* fault_name - its kind, such as "skew" */
const char *fault_name(const struct fault *fault);

/* fault_describe - "routes of leaf-u02-r3/20 skewed" */
void fault_describe(const struct fault *fault, struct text *text);

/* fault_describe_effect - before it begins: "; the jobs lose 87 % of their rate", or that none does */
void fault_describe_effect(const struct faults *faults, const struct fault *fault, struct text *text);

/* faults_describe - the same for all, separated by commas; nothing if there are none. */
void faults_describe(const struct faults *faults, struct text *text);

/*
 * faults_status - set the last line of the screens of `ibwire top` in the simulation
 * @line:  or NULL: the list of faults, and how to repair them
 */
void faults_status(const struct faults *faults, const char *line);

/* faults_print_kinds - the kinds of faults and their options, for --help */
void faults_print_kinds(void);

#endif
