/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* asking.h - what `collect` and `snapshot take` share: defaults, keys, the discovery helper's command line */
#ifndef IBWIRE_CLI_ASKING_H
#define IBWIRE_CLI_ASKING_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct hca_port;
struct keys;

/* As a guest on somebody's fabric. docs/infiniband.md says why. */
#define ASKING_WINDOW 32
#define ASKING_PER_NODE 1
#define ASKING_MADS_PER_S 20000
#define ASKING_TIMEOUT_MS 1000
#define ASKING_RETRIES 2
#define ASKING_MAX_SMPS 8
#define ASKING_DISCOVERY_DEADLINE_US (120 * INT64_C(1000000))

struct asking {
	int timeout_ms;            /* 0: ASKING_TIMEOUT_MS */
	int64_t max_smps;
	const char *discovery;     /* "own" or "libibnetdisc" */
	const char *security_keys; /* directory, or NULL */
	const char *smi_ca;        /* NAME or NAME:PORT, or NULL */
};

/* The discovery helper's command line, with room for its numbers. */
struct helper_command {
	char port[12], timeout[12], max_smps[24];
	const char *argv[20];
};

void asking_helper(const struct asking *asking, const struct hca_port *local, struct helper_command *ret);

/*
 * asking_keys - the M_Keys that were asked for; what is to be said of them is logged
 * @ret:  for keys_destroy(); untouched where none were asked for
 * Return: 0, or as keys_load().
 */
int asking_keys(const struct asking *asking, uint64_t own_guid, struct keys **ret, struct error *err);

#endif
