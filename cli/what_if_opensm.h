/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* what_if_opensm.h - forwarding tables of a fabric as a real opensm computes them on a simulated copy */
#ifndef IBWIRE_CLI_WHAT_IF_OPENSM_H
#define IBWIRE_CLI_WHAT_IF_OPENSM_H

#include <stdint.h>

struct error;
struct fabric;
struct lft;

/*
 * what_if_run_opensm - run opensm in a simulation of a fabric, and read its tables
 * @fabric:  its links that are up are simulated
 * @node:    HCA on which opensm runs; it has a link at port 1
 * @ret:     for lft_done(); untouched on error
 *
 * ibwire-sim is that beside this program, or else in PATH. Nothing is sent to a real fabric.
 * Return: 0; ERR_UNAVAILABLE: ibwire-sim, ibsim or opensm is missing or failed; ERR_IO; ERR_NOMEM.
 */
int what_if_run_opensm(const struct fabric *fabric, uint32_t node, struct lft *ret, struct error *err);

#endif
