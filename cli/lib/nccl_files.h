/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* nccl_files.h - option --nccl: the logs of NCCL of a job */
#ifndef IBWIRE_CLI_NCCL_FILES_H
#define IBWIRE_CLI_NCCL_FILES_H

struct command;
struct error;
struct nccl_log;

/* Logs of NCCL. */
struct nccl_files {
	const char *pattern;   /* a file, a pattern such as "nccl.*.log", or "-" for standard input; NULL: none */
	const char *hosts_map; /* lines "POD NODE"; NULL: none */
};

/* The options, for a list of struct option_spec. */
#define NCCL_SPECS(target, help) \
	OPT_TEXT("nccl", 0, "FILE", &(target)->pattern, help), \
	OPT_TEXT("hosts-map", 0, "FILE", &(target)->hosts_map, "with --nccl: the nodes of pods, lines 'POD NODE'")

/* nccl_files_check - the options fit together. Return: 0; ERR_USAGE. */
int nccl_files_check(const struct command *command, const struct nccl_files *files, struct error *err);

/*
 * nccl_files_read - read the logs of one job
 * @more:     further files: a pattern that the shell expanded
 * @ret:      for nccl_done(), on error too
 *
 * Return: 0; ERR_IO if one cannot be read; ERR_NOMEM.
 */
int nccl_files_read(const struct nccl_files *files, char *const *more, int count, struct nccl_log *ret,
		    struct error *err);

#endif
