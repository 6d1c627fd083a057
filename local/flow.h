/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* flow.h - flow control of an Ethernet interface: pause frames (ethtool) and PFC (DCB), by netlink */
#ifndef IBWIRE_LOCAL_FLOW_H
#define IBWIRE_LOCAL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct local_root;

struct local_flow {
	bool pause_known, pfc_known, frames_known;
	bool pause_rx, pause_tx;
	uint64_t pause_rx_frames, pause_tx_frames;
	unsigned pfc_enabled;              /* mask of priorities */
	uint64_t pfc_requests, pfc_indications; /* PFC frames sent and received, of all priorities */
};

/*
 * local_flow_read - flow control of an interface
 * On this host by netlink; a capture stores the response as ibwire/flow/NAME, which is read in a captured
 * tree. Fields whose value is unknown remain unchanged.
 */
void local_flow_read(struct local_root *root, const char *net, struct local_flow *ret);

/*
 * local_flow_decode_pause - attributes of the response to ETHTOOL_MSG_PAUSE_GET
 * local_flow_decode_pfc - attributes of the response to DCB_CMD_IEEE_GET
 * For local_flow_read() and its test.
 */
void local_flow_decode_pause(const char *attrs, size_t len, struct local_flow *flow);
void local_flow_decode_pfc(const char *attrs, size_t len, struct local_flow *flow);

#endif
