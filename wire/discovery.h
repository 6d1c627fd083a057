/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * discovery.h - discover the fabric in a helper process, with a deadline
 *
 * The helper is a program that writes a fabric's records (fabric/record.h) on
 * its standard output: ibwire itself with a hidden command. Whatever it does,
 * crash, hang, or print nonsense, the caller gets one error line and keeps the
 * fabric that it has. Discovery runs beside the caller: start it, then step it
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
	const char *const *argv; /* of the helper, NULL at its end; argv[0] is the program's path */
	int64_t deadline_us;     /* how long it may take */
};

enum discovery_state { DISCOVERY_RUNNING, DISCOVERY_DONE };

/*
 * discovery_start - start the helper
 * @clock:  borrowed, must outlive the discovery
 * Return: 0; ERR_NOMEM; ERR_UNAVAILABLE where it cannot be started.
 */
int discovery_start(const struct discovery_settings *settings, const struct clock *clock, struct discovery **ret,
		    struct error *err);

/*
 * discovery_step - wait at most @timeout_ms for the helper to go on
 * Return: DISCOVERY_RUNNING; DISCOVERY_DONE when it has closed its output after the last
 * record (its own end takes some time more), has ended, or was killed at its
 * deadline: then discovery_result() tells.
 */
enum discovery_state discovery_step(struct discovery *discovery, unsigned timeout_ms);

/*
 * discovery_result - what a discovery that is done has found
 * @ret:          a finished fabric, the caller's
 * @ret_trailer:  what it cost
 *
 * Return: 0; ERR_UNAVAILABLE where it failed: the text says how it ended, and
 * the last line that it wrote on stderr.
 */
int discovery_result(struct discovery *discovery, struct fabric **ret, struct record_trailer *ret_trailer,
		     struct error *err);

/*
 * discovery_messages - what the helper wrote on stderr so far, lines as they
 * came (borrowed, hostile: escape before showing).
 */
const char *discovery_messages(const struct discovery *discovery);

/*
 * discovery_end - wait for the helper's own end, for a moment, and end it where it does not come
 * Return: whether it ended well.
 */
bool discovery_end(struct discovery *discovery);

/* discovery_destroy - end the helper if it still runs, and forget it. */
void discovery_destroy(struct discovery *discovery);

#endif
