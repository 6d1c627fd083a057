/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pager.h - show the output of a command in $PAGER, as git does
 *
 * Output is collected in memory and shown at the end of the command, so that an interrupted or
 * failed command leaves no pager behind. One per process, because there is one stdout.
 */
#ifndef IBWIRE_CLI_PAGER_H
#define IBWIRE_CLI_PAGER_H

/*
 * pager_begin - collect what is written to stdout, which must be a terminal
 * Nothing is done if $PAGER is empty or "cat", or the terminal is unknown or "dumb".
 */
void pager_begin(void);

/* pager_cancel - write to the terminal again, for output that is followed live. */
void pager_cancel(void);

/*
 * pager_finish - show the output in $PAGER (less, with LESS=FRX if that is not set) and wait for it
 * The output is written to the terminal if the pager cannot be started.
 */
void pager_finish(void);

#endif
