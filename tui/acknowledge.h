/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * acknowledge.h - somebody knows of a finding, and says why it may wait
 *
 * Asked in two lines at the foot of the screen: why, and for how long. Of what
 * is acknowledged already it is asked whether that shall be taken back.
 */
#ifndef IBWIRE_TUI_ACKNOWLEDGE_H
#define IBWIRE_TUI_ACKNOWLEDGE_H

#include <stdint.h>

#include "storage/findings.h"

struct app;
struct error;

/* What is being said while the lines are typed. */
struct acknowledging {
	struct finding finding; /* only its kind, place and subject are looked at */
	char reason[256];
};

/* acknowledge_ask - begin with the first line. @row: an open finding. */
void acknowledge_ask(struct app *app, const struct finding_row *row);

/*
 * acknowledge_until - the end of an acknowledgement, as typed
 * @typed:   "": until it is taken back; else a span ("8h", "2d")
 * @ret_us:  wall clock; 0: until it is taken back
 * Return: 0, or ERR_USAGE with a text that shows the forms.
 */
int acknowledge_until(const char *typed, int64_t now_us, int64_t *ret_us, struct error *err);

#endif
