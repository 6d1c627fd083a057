/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * transport.h - a way to send and receive MADs, as a table of functions
 *
 * The real one is a umad port (wire/hca.h); tests have others. One thread
 * owns a transport: nothing here is safe to share.
 */
#ifndef IBWIRE_WIRE_TRANSPORT_H
#define IBWIRE_WIRE_TRANSPORT_H

#include <stdint.h>

#include "wire/mad.h"

struct error;

/* What a received MAD is. */
enum transport_event {
	TRANSPORT_NOTHING, /* none within the time */
	TRANSPORT_MAD,     /* a MAD from the fabric, response or not */
	TRANSPORT_TIMEOUT, /* our own MAD back: nobody answered it */
};

struct transport {
	/*
	 * Send one MAD. An SMP goes to queue pair 0 whatever the address says.
	 * @to:          where to; what is 0 there is the default of the MAD's class
	 * @timeout_ms:  when the kernel gives up waiting for the answer
	 * Return: 0, also where this one was lost on the way out: the sender's
	 * deadline sees to it; ERR_UNAVAILABLE: the device is gone; ERR_INTERNAL
	 * where the gate (wire/hca.h) did not let it pass.
	 */
	int (*send)(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		    struct error *err);
	/*
	 * Wait at most @timeout_ms (0: do not) for a MAD.
	 * Return: an enum transport_event, or ERR_UNAVAILABLE: the device is gone.
	 */
	int (*receive)(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err);
	void *ctx;
};

#endif
