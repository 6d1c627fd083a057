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
};

struct checks {
	struct local_root *root;
	struct local_host host;
	const struct fabric *fabric; /* of the database, borrowed; NULL: none */
	struct text variables;       /* NCCL_* as lines NAME=VALUE: of the environment, then of nccl.conf */
	const char *current;         /* name of the check that runs */
	struct check_result *results;
	size_t count, capacity;
	bool failed;                 /* without memory */
};

/*
 * checks_run - read the host and run all checks
 * @fabric:       newest topology of a database; NULL: checks that need it are skipped
 * @environment:  environ of this process; NULL: use the captured one only
 *
 * Return: 0, or ERR_NOMEM. checks_done() frees the results.
 */
int checks_run(struct checks *checks, struct local_root *root, const struct fabric *fabric, char *const *environment,
	       struct error *err);
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

/* The checks, in files of their area: local/check_ports.c, check_system.c, check_nccl.c. */
typedef void check_function(struct checks *checks);
check_function check_hca, check_rate, check_link_layer, check_firmware, check_lid, check_gid, check_mtu, check_pcie,
	check_gpudirect, check_distance, check_iommu, check_acs, check_memlock, check_shm, check_flow_control,
	check_nccl_hca, check_nccl_net, check_sharp;

#endif
