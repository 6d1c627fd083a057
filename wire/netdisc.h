/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netdisc.h - one discovery by libibnetdisc
 *
 * libibnetdisc 44.0 frees twice and aborts when a discovery fails half-way, has no deadline, leaks 64 bytes
 * per external switch port, and writes to stderr. So only the discovery helper process calls it
 * (wire/discovery.h).
 */
#ifndef IBWIRE_WIRE_NETDISC_H
#define IBWIRE_WIRE_NETDISC_H

#include <stdint.h>

struct error;
struct fabric;

struct netdisc_settings {
	const char *ca_name; /* of the local device */
	int port;
	unsigned max_smps;   /* in flight at a time */
	unsigned timeout_ms; /* of one SMP; 0: 250 */
	int retries;         /* at least 1, because libibnetdisc takes 0 for 3; negative: 2 */
	uint64_t mkey;       /* the M_Key that every SMP carries; 0: none */
};

/*
 * netdisc_run - discover the fabric behind a local port
 * @ret:       a finished fabric, without a name map
 * @ret_smps:  SMPs that were sent; @ret_hops: the longest path followed
 *
 * A node with the GUID 0 has no identity and is left out: its peer then has a link
 * and no peer. Return: 0; ERR_UNAVAILABLE: libibnetdisc finds nothing; ERR_NOMEM.
 */
int netdisc_run(const struct netdisc_settings *settings, struct fabric **ret, uint64_t *ret_smps, uint64_t *ret_hops,
		struct error *err);

#endif
