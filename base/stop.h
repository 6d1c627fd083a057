/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stop.h - the flag that Ctrl-C and SIGTERM set; the work in hand ends first, if it ends */
#ifndef IBWIRE_BASE_STOP_H
#define IBWIRE_BASE_STOP_H

#include <stdbool.h>

/*
 * stop_install - from now on SIGINT, SIGTERM and SIGHUP only set the flag, and
 * SIGPIPE and SIGXFSZ are ignored (a broken pipe, and a file that may grow no more, are then errors of the write).
 * One that comes a second or more after the first ends the process at once: somebody does not want to wait.
 */
void stop_install(void);

/*
 * stop_within - how long the end may take from the first signal on; after stop_install()
 * @seconds:  then the process ends with one line and the status of ERR_UNAVAILABLE, wherever it is:
 *            a call to a device may never return. 0: it may take as long as it takes, as at first.
 * Where the flag is set already the time begins anew. What is committed stays so (SQLite's log).
 */
void stop_within(unsigned seconds);

/* stop_requested - has somebody asked the program to end? */
bool stop_requested(void);

#endif
