/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stop.h - the flag that Ctrl-C and SIGTERM set; the work in hand ends first */
#ifndef IBWIRE_BASE_STOP_H
#define IBWIRE_BASE_STOP_H

#include <stdbool.h>

/*
 * stop_install - from now on SIGINT, SIGTERM and SIGHUP only set the flag, and
 * SIGPIPE and SIGXFSZ are ignored (a broken pipe, and a file that may grow no more, are then errors of the write).
 */
void stop_install(void);

/* stop_requested - has somebody asked the program to end? */
bool stop_requested(void);

#endif
