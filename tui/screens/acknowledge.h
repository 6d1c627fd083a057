/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * acknowledge.h - somebody knows of a finding, and says why it may wait
 *
 * Asked in two lines at the foot of the screen: why, and for how long. Of what
 * is acknowledged already it is asked whether that shall be taken back.
 */
#ifndef IBWIRE_TUI_SCREENS_ACKNOWLEDGE_H
#define IBWIRE_TUI_SCREENS_ACKNOWLEDGE_H

#include "storage/findings.h"

struct app;

/* What is being said while the lines are typed. */
struct acknowledge_input {
	struct finding finding; /* only its kind, place and subject are looked at */
	char reason[256];
};

/* acknowledge_start - begin with the first line. @row: an open finding. */
void acknowledge_start(struct app *app, const struct finding_row *row);

#endif
