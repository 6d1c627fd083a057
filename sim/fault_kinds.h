/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fault_kinds.h - what each kind of fault does to a running simulation; private to faults.c */
#ifndef IBWIRE_SIM_FAULT_KINDS_H
#define IBWIRE_SIM_FAULT_KINDS_H

#include <limits.h>
#include <stdbool.h>

#include "sim/faults.h"

/* @begin: break it; else repair it, and it is in the list no more. */
typedef int fault_function(const struct faults *faults, const struct fault *fault, bool begin, struct error *err);

enum target { TARGET_UPLINK, TARGET_NODES };

struct fault_kind {
	const char *name;
	const char *arguments, *help;
	const char *status;  /* what is shown, with the target */
	const char *options; /* their default; "": it has none */
	enum target target;
	bool reroutes;       /* opensm changes routes because of it */
	fault_function *set;
};

enum { FAULT_KINDS = 8 };
extern const struct fault_kind fault_kinds[FAULT_KINDS];

/* faults_path - the path of a file in the run directory */
void faults_path(const struct faults *faults, const char *name, char ret[PATH_MAX]);

/* faults_save_routes - before the first fault that changes them: they are restored after the last one. */
int faults_save_routes(const struct faults *faults, struct error *err);

/*
 * faults_skew_loss - the part of their rate that the jobs lose by skewed routes, 0 to 1
 * @fault:  without a target it gets that of the driver: where the jobs lose most
 * Return: 0; ERR_UNAVAILABLE without traffic; another error.
 */
int faults_skew_loss(const struct faults *faults, struct fault *fault, double *ret, struct error *err);

/* faults_find_nodes - set the members of a target, by node of the fabric: the HCAs of a host, or one node. */
int faults_find_nodes(const struct faults *faults, const char *target, bool *members, struct error *err);

#endif
