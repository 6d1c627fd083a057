/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * checks.h - is this host set up for RDMA? (`ibwire doctor`)
 *
 * Every check appends results. A value that is not known is CHECK_SKIP, never a pass.
 */
#ifndef IBWIRE_LOCAL_CHECKS_H
#define IBWIRE_LOCAL_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "local/host.h"

struct error;
struct fabric;

enum check_status { CHECK_PASS, CHECK_WARN, CHECK_FAIL, CHECK_SKIP, CHECK_STATUS_COUNT };

struct check_result {
	enum check_status status;
	const char *check;     /* name in the table of checks */
	char subject[96];      /* "mlx5_0/1", "eth2"; "": the host */
	char *text;            /* what was found */
	char *fix;             /* what to do; NULL: nothing */
	/* Results that differ in one item only are one line for people: see checks_fold(). NULL: subject and text. */
	char *item, *common;
};

struct checks {
	struct local_root *root;
	struct local_host host;
	const struct fabric *fabric; /* of the database, borrowed; NULL: none */
	struct text variables;       /* NCCL_* as lines NAME=VALUE: of the environment, then of nccl.conf */
	bool selects;                /* NCCL_IB_HCA is set and selects a port of this host */
	const char *current;         /* name of the check that runs */
	struct check_result *results;
	size_t count, capacity;
	bool failed;                 /* without memory */
};

/*
 * checks_run - read the host and run all checks
 * @skip:         names of checks to leave out, separated by commas; NULL: none
 * @fabric:       newest topology of a database; NULL: checks that need it are skipped
 * @environment:  environ of this process; NULL: use the captured one only
 *
 * Return: 0; ERR_USAGE: a name of @skip is no check; ERR_NOMEM. checks_done() frees the results.
 */
int checks_run(struct checks *checks, struct local_root *root, const char *skip, const struct fabric *fabric,
	       char *const *environment, struct error *err);
void checks_done(struct checks *checks);

/* check_status_name - "pass", "warn", "fail", "skip". */
const char *check_status_name(enum check_status status);

/*
 * check_add - append a result of the current check
 * @subject:  "" for the host
 * @fix:      NULL for none
 */
void check_add(struct checks *checks, enum check_status status, const char *subject, const char *fix, const char *fmt,
	       ...) __attribute__((format(printf, 5, 6)));

/* check_fold_as - the last result, for people, is about this item, with a text that others may have in common. */
void check_fold_as(struct checks *checks, const char *item, const char *common);

/*
 * checks_fold - whether a result begins a line for people, and the items of the equal results that the line has
 * @index:  of a result
 * @ret:    appended: "mlx5_[0-7]/1"; empty for a result of the host
 * Return: false: the line of an earlier result has it.
 */
bool checks_fold(const struct checks *checks, size_t index, struct text *ret);

/* check_variable - value of an NCCL variable. Return: false if it is not set. */
bool check_variable(const struct checks *checks, const char *name, char *ret, size_t size);

/*
 * check_matches - does a list of NCCL_IB_HCA or NCCL_SOCKET_IFNAME select this name?
 * @list:  names by prefix, separated by commas; "^" in front excludes them, "=" means whole names
 * @port:  number for entries NAME:PORT; 0: entries have none
 * Source: NCCL, src/misc/utils.cc, matchIfList.
 */
bool check_matches(const char *list, const char *name, unsigned port);

/* Active ports; and "mlx5_0/1" in @ret. */
static inline bool check_is_active(const struct local_hca_port *port)
{
	return port->state_code == 4;
}
const char *check_port_name(const struct local_hca *hca, const struct local_hca_port *port, char ret[96]);

/*
 * Is a port meant to be used? Only such ports are checked, so that what is as designed is no failure.
 */
enum port_use {
	PORT_USED,
	PORT_EXCLUDED, /* NCCL_IB_HCA selects other ports */
	PORT_IDLE_VF,  /* a virtual function that is Down, while a physical one is Active */
	PORT_SPARE,    /* Down beside an Active port of its card, as on the other cards of its board */
	PORT_PERHAPS_SPARE, /* the same on the only card of its board: it is checked, and a warning */
};

enum port_use check_port_use(const struct checks *checks, const struct local_hca *hca,
			     const struct local_hca_port *port);

/* check_is_used - whether a port is checked. */
static inline bool check_is_used(const struct checks *checks, const struct local_hca *hca,
				 const struct local_hca_port *port)
{
	enum port_use use = check_port_use(checks, hca, port);

	return use == PORT_USED || use == PORT_PERHAPS_SPARE;
}

/* check_hca_is_used - whether a port of the HCA is in use, or it has no port. */
bool check_hca_is_used(const struct checks *checks, const struct local_hca *hca);

/*
 * check_fold_names - append names that differ in one number as a host list: "mlx5_[0-3,6]/1"
 * @lines:  names in natural order, each with a newline; others are separated by commas
 */
void check_fold_names(const char *lines, struct text *ret);

/* check_read_speed - GT/s in a PCI device's file such as "current_link_speed". Return: 0: not known. */
double check_read_speed(struct checks *checks, const char *device, const char *file);

/* check_is_gb10 - a system with GB10: its HCA is two PCIe functions of four lanes, its GPU has no GPUDirect RDMA. */
bool check_is_gb10(struct checks *checks);

/*
 * check_is_virtual - has each GPU and HCA a PCI domain, or a root bus without bridges, of its own?
 * Hypervisors show devices that they pass through so; the distances between them are not known.
 */
bool check_is_virtual(const struct checks *checks);

/* The checks, in local/check_*.c by area. */
typedef void check_function(struct checks *checks);
check_function check_hca, check_devices, check_rate, check_link_layer, check_firmware, check_lid, check_gid;
check_function check_mtu, check_pcie, check_gpudirect, check_gpu_modules, check_gpu_link, check_distance, check_iommu;
check_function check_acs, check_memlock, check_shm, check_flow_control, check_nccl_hca, check_nccl_net;
check_function check_nccl_variables, check_sharp;

#endif
