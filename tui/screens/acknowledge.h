/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * acknowledge.h - acknowledge a finding
 *
 * Prompts for a reason and a duration in the last line of the screen. For an acknowledged finding
 * it prompts whether to revoke the acknowledgement.
 */
#ifndef IBWIRE_TUI_SCREENS_ACKNOWLEDGE_H
#define IBWIRE_TUI_SCREENS_ACKNOWLEDGE_H

#include "storage/findings.h"

struct app;

/* Input of the prompts so far. */
struct acknowledge_input {
	struct finding finding; /* only kind, place and subject are used */
	char reason[256];
};

/* acknowledge_start - open the first prompt. @row: an open finding. */
void acknowledge_start(struct app *app, const struct finding_row *row);

#endif
