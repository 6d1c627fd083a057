/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* event.h - what is stored with a sweep besides the counters: events and the master SM */
#ifndef IBWIRE_ANALYSIS_EVENT_H
#define IBWIRE_ANALYSIS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_severity { EVENT_INFO, EVENT_WARNING, EVENT_CRITICAL };

/* event_severity_name - "info", "warning", "critical". */
const char *event_severity_name(enum event_severity severity);

struct event {
	int64_t wall_us;
	const char *kind;    /* one of the constants in collector/events.h */
	enum event_severity severity;
	uint64_t node_guid;  /* 0: none */
	uint64_t peer_guid;  /* 0: none */
	uint8_t port, peer_port; /* valid if the GUID of the same end is set */
	/* The last events of this kind that this one summarises: their number. They are removed when it is stored. */
	unsigned replaces;
	char text[256];      /* one line, printable */
};

/* sm_state.state if no SMPs are sent: the SM is not queried, and not known. */
#define SM_NOT_QUERIED 255

/* The master SM, as of this sweep. Source: SMInfo, PortInfo.MasterSMLID. */
struct sm_state {
	bool known;         /* it responded to SMInfo */
	uint16_t lid;       /* MasterSMLID of this host's port; 0: none */
	uint64_t guid;      /* port GUID */
	uint8_t state;      /* 0 not active, 1 discovering, 2 standby, 3 master, or SM_NOT_QUERIED */
	uint8_t priority;
	uint32_t act_count;
};

#endif
