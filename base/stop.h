/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stop.h - orderly termination on Ctrl-C and SIGTERM */
#ifndef IBWIRE_BASE_STOP_H
#define IBWIRE_BASE_STOP_H

#include <stdbool.h>

/*
 * stop_install - let SIGINT, SIGTERM and SIGHUP set a flag, and ignore SIGPIPE and SIGXFSZ, which
 * become write errors
 * A signal that arrives a second or more after the first one ends the process at once.
 */
void stop_install(void);

/*
 * stop_within - limit the time from the first signal to the end; after stop_install()
 * @seconds:  then the process ends with one line and the status of ERR_UNAVAILABLE, because a call
 *            to a device may never return. 0: unlimited, the default.
 * If the flag is already set, the time starts now. Committed data is safe (write-ahead log).
 */
void stop_within(unsigned seconds);

/*
 * stop_reload_on_hangup - let SIGHUP request a reload of the settings instead; after stop_install()
 * Not with a controlling terminal: there it means that the terminal was closed.
 * stop_take_reload - was a reload requested since the last call?
 */
void stop_reload_on_hangup(void);
bool stop_take_reload(void);

/* stop_requested - a signal has requested the end of the program. */
bool stop_requested(void);

/* stop_signal - the first signal that requested it; 0: none. */
int stop_signal(void);

#endif
