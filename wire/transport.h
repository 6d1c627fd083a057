/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * transport.h - interface to send and receive MADs
 *
 * Implemented by a umad port (wire/hca.h) and by tests. One thread owns a transport.
 */
#ifndef IBWIRE_WIRE_TRANSPORT_H
#define IBWIRE_WIRE_TRANSPORT_H

#include <stdint.h>

#include "wire/mad.h"

struct error;

/* Result of a receive. */
enum transport_event {
	TRANSPORT_NOTHING, /* timeout */
	TRANSPORT_MAD,     /* a MAD from the fabric, response or not */
	TRANSPORT_TIMEOUT, /* our own MAD returned: no response */
};

struct transport {
	/*
	 * Send one MAD. An SMP goes to queue pair 0 whatever the address contains.
	 * @to:          destination; fields that are 0 have the default of the class
	 * @timeout_ms:  response timeout of the kernel
	 * Return: 0, also if the MAD was lost on the way out: the response timeout of the sender
	 * applies; ERR_UNAVAILABLE: the device failed; ERR_INTERNAL: the gate (wire/hca.h) rejected
	 * it.
	 */
	int (*send)(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		    struct error *err);
	/*
	 * Wait at most @timeout_ms (0: not at all) for a MAD.
	 * Return: an enum transport_event, or ERR_UNAVAILABLE: the device failed.
	 */
	int (*receive)(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err);
	void *ctx;
};

#endif
