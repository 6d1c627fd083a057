/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links_view.h - the list of links: its columns, order and filter */
#ifndef IBWIRE_TUI_SCREENS_LINKS_VIEW_H
#define IBWIRE_TUI_SCREENS_LINKS_VIEW_H

#include "analysis/status.h"
#include "facts/port_columns.h"
#include "tui/model/context.h"
#include "tui/model/links.h"
#include "tui/screens/list_screen.h"

struct error_sums;

/* The columns in order of position unless they were moved; TAG is before them. */
enum link_column {
	LINK_FINDING, LINK_PORT, LINK_PEER, LINK_STATUS, LINK_STATE, LINK_LINK, LINK_LOAD, LINK_XMIT, LINK_XMIT_PERCENT,
	LINK_XMIT_BAR, LINK_RCV, LINK_RCV_PERCENT, LINK_RCV_BAR, LINK_SPARK, LINK_XMIT_PACKETS, LINK_RCV_PACKETS,
	LINK_STALL, LINK_STALL_BACK, LINK_WAIT, LINK_WAIT_BACK, LINK_ERRORS, LINK_WHICH_ERRORS, LINK_AGE, LINK_LID,
	LINK_GUID, LINK_COLUMN_COUNT,
};

/* What cells are read from that both ends decide. */
struct link_cells {
	struct link_facts facts; /* with the displayed directions */
	const struct links *links;
	const struct link_row *link;
	const struct error_sums *sums;
};

struct links_screen {
	struct list_screen rows;
	struct links links;
	uint64_t generation; /* of app that the links were built from; 0: none */
	struct link_cells cells; /* of the row that was read last */
};

/* links_view - its state is a struct links_screen. */
extern const struct table_view links_view;

/* status_role, mark_role - the colours of a port status and of the mark of a finding. */
enum role status_role(enum port_status status);
enum role mark_role(enum port_mark mark);

#endif
