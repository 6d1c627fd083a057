/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* run_local.h - `ibwire run --local`: counters of this host before and after a command */
#ifndef IBWIRE_CLI_RUN_LOCAL_H
#define IBWIRE_CLI_RUN_LOCAL_H

struct error;
struct nccl_files;
struct local_run;

/*
 * local_run_begin - read the counters of this host
 * @root:  a tree in place of this host's /sys; NULL: this host
 *
 * Return: 0, ERR_USAGE, ERR_IO or ERR_NOMEM, with nothing to free.
 */
int local_run_begin(const char *root, struct local_run **ret, struct error *err);

/*
 * local_run_end - read them again, write the report, and free @run
 * @path:  JSON if it ends with .json, else text; NULL: text on stderr
 * @nccl:  if the logs cannot be read, a warning is logged
 *
 * Return: 0, ERR_IO or ERR_NOMEM.
 */
int local_run_end(struct local_run *run, const char *path, const struct nccl_files *nccl, struct error *err);

/* local_run_cancel - free it without a report. */
void local_run_cancel(struct local_run *run);

#endif
