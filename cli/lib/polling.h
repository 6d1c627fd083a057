/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * polling.h - polling options of `collect` and `snapshot take`: defaults, M_Keys, discovery helper
 */
#ifndef IBWIRE_CLI_POLLING_H
#define IBWIRE_CLI_POLLING_H

#include <stdint.h>

#include "cli/lib/file_stamp.h"
#include "wire/discovery.h"

struct error;
struct fabric;
struct hca_port;
struct keys;
struct options;

/* Limits of the load on the fabric (docs/infiniband.md). */
#define POLLING_WINDOW 32
#define POLLING_PER_NODE 1
#define POLLING_MADS_PER_S 20000
#define POLLING_TIMEOUT_MS 1000
#define POLLING_RETRIES 2
#define POLLING_MAX_SMPS 8
#define POLLING_DISCOVERY_DEADLINE_US (120 * INT64_C(1000000))

struct polling {
	int timeout_ms;            /* 0: POLLING_TIMEOUT_MS, and the discovery engine's own default */
	int64_t retries;           /* negative: POLLING_RETRIES, and the discovery engine's own default */
	int64_t max_smps;
	int64_t deadline_us;       /* of a discovery */
	const char *discovery;     /* "libibnetdisc" or "explorer" */
	const char *security_keys; /* directory, or NULL */
	const char *smi_ca;        /* NAME or NAME:PORT, or NULL */
	const char *topology;      /* file of the topology: no SMPs are sent; or NULL: discover it */
};

/*
 * Options of the commands that poll, with a prefix of their help; `ibwire top` passes them on. For
 * users of cli/lib/options.h.
 */
#define POLLING_SPECS(polling, prefix) \
	OPT_TEXT("security-keys", 0, "DIR", &(polling)->security_keys, \
		 prefix "directory with the subnet manager's guid2mkey (none)"), \
	OPT_TEXT("topology", 0, "FILE", &(polling)->topology, \
		 prefix "take the topology from a file and send no SMPs (discover it)"), \
	OPT_TEXT("smi-ca", 0, "NAME[:PORT]", &(polling)->smi_ca, \
		 prefix "local device that sends SMPs (the polling HCA or its SMI device)")

/* The same as pairs of option and value; the value of one that was not given is NULL. */
#define POLLING_ARGUMENTS(polling) \
	"--security-keys", (polling)->security_keys, "--topology", (polling)->topology, "--smi-ca", (polling)->smi_ca

/*
 * polling_find_port - the local port of --Ca, --Port and --smi-ca, with --pkey and --sl
 * A warning is logged if it is a limited member of the partition. Return: as hca_find(), hca_set_pkey().
 */
int polling_find_port(const struct options *common, const char *smi_ca, struct hca_port *ret, struct error *err);

/* The discovery helper's command line and its number buffers. The explorer is the fallback of libibnetdisc. */
struct helper_command {
	char port[12], timeout[12], retries[24], max_smps[24], deadline[24];
	const char *argv[24], *fallback[24];
};

void polling_helper_command(const struct polling *polling, const struct hca_port *local, struct helper_command *ret);

/*
 * polling_keys - load the M_Keys of --security-keys; warnings are logged
 * libibnetdisc sends one key to all nodes: if keys differ, polling->discovery becomes the explorer.
 * @ret:  for keys_destroy(); untouched without --security-keys
 * Return: 0, or as keys_load().
 */
int polling_keys(struct polling *polling, uint64_t own_guid, struct keys **ret, struct error *err);

/* The topology of --topology; a zeroed struct is none. Not to be moved. */
struct topology_file {
	struct discoverer discoverer;
	const char *path;
	struct file_stamp stamp;
	struct fabric *first;     /* read by topology_file_open() and not taken yet */
	char name_and_time[256];  /* "FILE of TIME" */
};

/*
 * topology_file_open - read a topology from an ibnetdiscover output or a saved file
 * @path:  borrowed
 *
 * Problems in the file are logged as warnings. The discoverer returns this first topology, then that
 * of the file at the time (file_stamp_changed()).
 * Return: 0; ERR_IO if it cannot be read or parsed, or has no LIDs; ERR_NOMEM.
 */
int topology_file_open(struct topology_file *file, const char *path, struct error *err);
void topology_file_close(struct topology_file *file);

#endif
