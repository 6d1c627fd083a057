/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* agents.h - the subnet management and performance agents of a virtual fabric's nodes */
#ifndef IBWIRE_TESTS_WORLD_AGENTS_H
#define IBWIRE_TESTS_WORLD_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/firmware.h"
#include "wire/mad.h"

struct virtual;

/* The agents of one node: deviations from those of a working node, and the Gets that they received. */
struct agent {
	struct pma_caps caps;     /* .known: in place of the usual capabilities */
	bool dead;                /* responds to nothing */
	bool hidden;              /* a discovery does not find it; its links are up */
	bool ports_lost;          /* the next discovery finds it without ports, as if an SMP was lost */
	bool desc_lost;           /* or without its description */
	bool state_change;        /* SwitchInfo.PortStateChange is set */
	bool no_counters;         /* rejects every performance query */
	bool no_caps;             /* rejects ClassPortInfo */
	bool tick_rejected;       /* rejects PortSamplesControl */
	uint8_t tick;             /* PortSamplesControl.Tick; 0: 7 */
	double wait_factor;       /* its PortXmitWait counts so many times as fast as its Tick says; 0: once */
	bool no_port_select;      /* its responses have PortSelect 0 */
	bool errors_narrow;       /* its 64-bit error counters are always 0 */
	bool sm_silent;           /* does not respond to SMInfo */
	uint32_t rejected;        /* detail attributes that it rejects: bits 1 << enum detail_attribute */
	uint32_t ignored;         /* those to which it does not respond */
	uint8_t fec_mode;         /* PortInfoExtended.FECModeActive */
	uint8_t vendor_fec_mode;  /* FECModeActive of Mellanox ExtendedPortInfo */
	bool adaptive;            /* adaptive routing is on: AdaptiveRoutingInfo */
	struct firmware firmware; /* of GeneralInfo; FIRMWARE_UNKNOWN: rejected */
	bool vendor_silent;       /* does not respond to the vendor class */
	uint8_t sm_state;         /* SMInfo.SMState of an SM at its first port; 0: as the virtual fabric has it */
	uint16_t rejected_smp;    /* SMP attribute that it rejects */
	uint16_t ignored_smp;     /* SMP attribute to which it does not respond, for port ignored_port */
	uint8_t ignored_port;
	unsigned responses_left;  /* to SMPs, then it is dead; 0: no limit */
	uint16_t busy_once;       /* the next query of this performance attribute has the status "busy" */
	uint16_t extended_status; /* status of PortCountersExtended */
	uint16_t redirect;        /* LID to which performance queries are redirected, at a queue pair of its own */
	bool redirect_loop;       /* from there, too */
	bool redirect_closed;     /* nothing responds there any more */
	uint64_t mkey;            /* SMPs without it are dropped */
	uint64_t pm_key;          /* performance MADs without it are dropped */
	int64_t latency_us;       /* in addition to that of the wire */
	unsigned queries, detail_queries, smps, table_queries, sm_queries, smps_dropped, queries_dropped;
	unsigned adaptive_queries, firmware_queries, pkey_queries;
};

/* Counters of a port that a test sets, in place of those of the virtual fabric's traffic. */
struct port_counters {
	uint64_t value[COUNTER_COUNT];
	uint64_t details[DETAIL_ATTRIBUTE_COUNT][DETAIL_MAX];
};

/*
 * agents_respond - the response of the node that a Get is addressed to
 * @port_of_lid: by LID: port 0 of a switch, or an HCA's port; FABRIC_NONE where there is none
 * @mad:         the Get; replaced by the GetResp
 * @at_us:       since the beginning: when the counters are read
 * @ret_agent:   the node that responds
 *
 * Return: whether a node responds.
 */
bool agents_respond(struct virtual *world, const uint32_t port_of_lid[UINT16_MAX + 1], const struct mad_address *to,
		    uint8_t mad[MAD_SIZE], int64_t at_us, const struct agent **ret_agent);

#endif
