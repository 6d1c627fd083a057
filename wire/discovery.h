/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * discovery.h - run discovery in a helper process with a deadline
 *
 * The helper is a program that writes the records of a fabric (fabric/record.h) to its standard
 * output: ibwire itself with a hidden command. If it crashes, hangs or writes invalid records, the
 * caller gets an error and keeps its fabric. Discovery runs concurrently: start it, then step it
 * until it is done.
 */
#ifndef IBWIRE_WIRE_DISCOVERY_H
#define IBWIRE_WIRE_DISCOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/record.h"

struct clock;
struct discovery;
struct error;
struct fabric;

struct discovery_settings {
	const char *const *argv; /* of the helper, NULL-terminated; argv[0] is the path of the program */
	int64_t deadline_us;     /* maximum duration */
};

enum discovery_state { DISCOVERY_RUNNING, DISCOVERY_DONE };

/*
 * discovery_start - start the helper
 * @clock:  borrowed, must outlive the discovery
 * Return: 0; ERR_NOMEM; ERR_UNAVAILABLE: it cannot be started.
 */
int discovery_start(const struct discovery_settings *settings, const struct clock *clock, struct discovery **ret,
		    struct error *err);

/*
 * discovery_step - wait at most @timeout_ms for progress of the helper
 * Return: DISCOVERY_RUNNING; DISCOVERY_DONE: it closed its output after the last record (it may
 * still be running), exited, or was killed at its deadline; see discovery_result().
 */
enum discovery_state discovery_step(struct discovery *discovery, unsigned timeout_ms);

/*
 * discovery_result - result of a discovery that is done
 * @ret:          a finished fabric, owned by the caller
 * @ret_trailer:  its statistics
 *
 * Return: 0; ERR_UNAVAILABLE: it failed; the text has its exit status and the last line of its
 * stderr.
 */
int discovery_result(struct discovery *discovery, struct fabric **ret, struct record_trailer *ret_trailer,
		     struct error *err);

/*
 * discovery_messages - stderr of the helper so far, as received (borrowed, untrusted: escape before
 * display).
 */
const char *discovery_messages(const struct discovery *discovery);

/*
 * discovery_end - wait briefly for the helper to exit, then kill it
 * Return: whether it succeeded.
 */
bool discovery_end(struct discovery *discovery);

/* discovery_destroy - kill the helper if it is running, and free the discovery. */
void discovery_destroy(struct discovery *discovery);

#endif
