/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* nccl_files.h - option --nccl: the logs of NCCL of a job */
#ifndef IBWIRE_CLI_NCCL_FILES_H
#define IBWIRE_CLI_NCCL_FILES_H

struct error;
struct nccl_log;

/* The option, for a list of struct option_spec. */
#define NCCL_SPEC(target, help) OPT_TEXT("nccl", 0, "FILE", target, help)

/*
 * nccl_files_read - read the logs of one job
 * @pattern:  a file, a pattern of a shell such as "nccl.*.log", or "-" for standard input
 * @more:     further files: a pattern that the shell expanded
 * @ret:      for nccl_done(), on error too
 *
 * Return: 0; ERR_IO if one cannot be read; ERR_NOMEM.
 */
int nccl_files_read(const char *pattern, char *const *more, int count, struct nccl_log *ret, struct error *err);

#endif
