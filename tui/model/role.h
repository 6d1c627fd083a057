/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* role.h - the meaning of a text, from which tui/draw/theme.h derives its colour and attributes */
#ifndef IBWIRE_TUI_MODEL_ROLE_H
#define IBWIRE_TUI_MODEL_ROLE_H

#include <math.h>

enum role {
	ROLE_TEXT,
	ROLE_FAINT,   /* idle, unused, explanations */
	ROLE_STRONG,  /* numbers that are looked for */
	ROLE_GOOD,    /* LIVE */
	ROLE_WARNING,
	ROLE_CRITICAL,
	ROLE_SILENT,
	ROLE_LOCKED,
	ROLE_DOWN,
	ROLE_UNSUPPORTED,
	ROLE_LOAD_LOW,
	ROLE_LOAD_MIDDLE,
	ROLE_LOAD_HIGH,
	ROLE_HEAD,    /* heads of columns */
	ROLE_SORTED,  /* the head of the column that rows are ordered by */
	ROLE_KEY,     /* a key in the footer */
	ROLE_MATCH,   /* what a filter found */
	ROLE_CURSOR,  /* the selected row: one colour over all its cells */
	ROLE_COUNT,
};

/* role_of_load - for a load in percent; ROLE_FAINT for NAN. */
static inline enum role role_of_load(double percent)
{
	if (isnan(percent))
		return ROLE_FAINT;
	return percent >= 90 ? ROLE_LOAD_HIGH : percent >= 70 ? ROLE_LOAD_MIDDLE : ROLE_LOAD_LOW;
}

#endif
