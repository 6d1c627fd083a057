/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology.h - the words of `ibwire topology`, one file for each */
#ifndef IBWIRE_CLI_TOPOLOGY_H
#define IBWIRE_CLI_TOPOLOGY_H

struct command;
struct error;
struct options;

/*
 * topology_route - `ibwire topology route A B`: the static route between two ends, hop by hop
 * @options:  parsed; its arguments are "route", A, B
 *
 * Return: 0 where it arrives, 1 where it does not; ERR_UNAVAILABLE where that is not known, behind the hops that
 * are; ERR_USAGE; ERR_IO; ERR_NOMEM.
 */
int topology_route(const struct command *command, const struct options *options, struct error *err);

#endif
