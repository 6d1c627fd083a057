/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/finding.h"

#include <string.h>

#define RESEAT "reseat the cable at both ends, clean the optics, then swap the cable; what stays with a port is its box"

static const struct finding_kind_info infos[FINDING_KIND_COUNT] = {
	[FINDING_SM_LOST] = { "sm-lost", "no subnet manager answers as master, or two claim to be it",
		"critical: no master for 30 s and 3 sweeps, or two masters for as long; another master is info",
		"Without a master no link that comes up gets set up and no route is mended. Its ActCount must move: "
		"one "
		"that stands still is a process that hangs (IBA Vol 1, SMInfo). A handover takes seconds, so 30 s "
		"are none.",
		"look at the host of the subnet manager: is opensm (or UFM) running, and is its port Active" },
	[FINDING_COVERAGE] = { "coverage", "too few of the ports that should answer do, and no silent node explains it",
		"below 99 % warning, below 90 % critical, for 30 s and 3 sweeps; 1 in 10 nodes silent at once is "
		"this too",
		"What is not read cannot be judged. One per cent is more than the losses of a busy wire; one node in "
		"ten at "
		"once is more likely this host's own access than so many faults.",
		"see `ibwire status`: this host's port, the rate limit, and which ports are silent" },
	[FINDING_LINK_DOWN] = { "link-down", "a link that was up is down",
		"down for 30 s warning; 25 % of a switch's uplinks down is critical",
		"Training after a hiccup takes seconds; 30 s is past that. A quarter of a switch's uplinks is what no "
		"routing hides.",
		"look at the port's LEDs at both ends, reseat the cable, then swap it; is the port disabled" },
	[FINDING_NODE_MISSING] = { "node-missing", "a switch, a host, or a rack that was there is gone",
		"a switch without any link for 30 s critical; 4 hosts of a leaf within 30 s, or a host for 15 min, "
		"warning",
		"All links of a node do not fail at once by themselves. A host has 15 minutes to boot (until then it "
		"is a "
		"host-restart); hosts that are booted on purpose seldom go down by fours on one leaf within 30 s.",
		"check its power and its console; of a rack, the power feed and the cooling" },
	[FINDING_NODE_SILENT] = { "node-silent", "a node's link is up and its performance agent does not answer",
		"silent for 3 sweeps and 30 s: warning, a switch critical",
		"A lost question is asked again within a sweep; three sweeps in a row are no accident. A switch's "
		"agent is the "
		"only one to tell of all of its ports.",
		"check the host: does it hang; of a switch, its management; the link itself is up" },
	[FINDING_UPLINK_IMBALANCE] = { "uplink-imbalance",
		"load is not spread as it could be over ports that can stand in for each other",
		"routing: tables and load uneven over 60 s warning, with harm critical; flows: 8 of 10 active "
		"windows warning",
		"A random placement of flows is uneven by itself (39 % with 1,024 flows on 32 uplinks), so an uneven "
		"load alone "
		"says nothing: the tables must be uneven too, or it must hurt, at the same port, again and again.",
		"compare the switch's forwarding table with its peers'; let the subnet manager route anew" },
	[FINDING_BLACK_HOLE] = { "black-hole", "a switch's table leads nowhere, or round in a circle, for hosts that "
		"are there",
		"one destination for 30 s, after the tables were read again: critical",
		"While the subnet manager answers a change its tables are torn for a second or two; what is so after "
		"30 s stays.",
		"let the subnet manager route anew, and see its log" },
	[FINDING_LINK_DEGRADED] = { "link-degraded", "a link runs narrower or slower than it could",
		"60 s after it was seen: warning, on a trunk critical",
		"Both ends can do more and the links of its kind do, so lanes failed in training. One slow link "
		"costs the "
		"collectives that cross it 5 to 30 % (facebookresearch/gcm, pull request 119).",
		"reseat the cable or swap it, then let the link train again; or is the port's width or speed set by "
		"hand" },
	[FINDING_LINK_FLAPPING] = { "link-flapping", "a link goes down and comes back",
		"2 times in 24 h warning, 3 times in 1 h critical; closes after 24 h without",
		"NVIDIA's cluster bring-up procedure looks into a link from 2 downs in 24 h on. Restarts of hosts do "
		"not count. Each "
		"down stalls what uses the link for seconds.",
		RESEAT },
	[FINDING_SYMBOL_ERRORS] = { "symbol-errors", "a link loses symbols that error correction could not mend",
		"HDR and later: 8 an hour warning, 16 critical at 400 Gb/s, as many less as the link is slower, in 3 "
		"sweeps; "
		"older: a bit error rate of 1e-12, 1e-11",
		"A symbol BER of 5e-15 warns and 1e-14 is an error in NVIDIA's cluster bring-up procedure: 8 and 16 "
		"an hour at "
		"400 Gb/s. Before HDR the counter is that of the lanes: the specification allows 1e-12, the default of "
		"ibdiagnet's BER test.",
		RESEAT },
	[FINDING_RECEIVE_ERRORS] = { "receive-errors", "a port receives packets that are damaged on this link",
		"10 an hour warning, 100 critical; management packets dropped: 50 in 5 min warning",
		"A healthy link has none; a few may come with any change of the fabric. What an earlier hop marked "
		"as bad does not "
		"count here: that belongs to the link where it was damaged.",
		RESEAT },
	[FINDING_FEC_UNCORRECTABLE] = { "fec-uncorrectable", "error correction gives up on blocks: the effective bit "
		"error rate",
		"5e-12 over 10 min warning, 1e-11 critical",
		"NVIDIA's cluster bring-up procedure, low-latency RS-FEC: 1e-12 is normal, 5e-12 warns, 1e-11 is an "
		"error. What FEC "
		"corrected never counts alone.",
		RESEAT },
	[FINDING_XMIT_DISCARDS] = { "xmit-discards", "a port throws away packets that it could not send in time",
		"trunk: 10 a minute, 3 times in 10 min, warning, and 200 in one of them critical; to a host: 200 in "
		"5 min warning",
		"A packet waits for hundreds of milliseconds before it is thrown away: three such minutes are no "
		"incident. "
		"To a host it is the host that does not take them.",
		"find what does not take the packets: a slow or hanging host behind this port, or a route that "
		"overloads it" },
	[FINDING_CONGESTION] = { "congestion", "a port could not send for lack of credits, and nothing behind it "
		"explains it",
		"trunk: stalled 10 % in 5 of 10 active min warning, 30 % with harm critical; to a host info",
		"Stalls spread backwards from one port over half of a fabric, so only the root is named: the one "
		"whose peer's "
		"outputs do not stall. Full links stall a little when all is well.",
		"see `ibwire balance` for the group of this port; of a slow receiver, its host: PCIe, memory, a "
		"hanging process" },
	[FINDING_RAIL_IMBALANCE] = { "rail-imbalance", "a host's rails do not carry alike, and those of hosts like "
		"it do",
		"15 % less or more than like hosts over 10 active min warning",
		"Collectives spread evenly over rails; hosts are compared only with hosts that use the same rails, "
		"so that a job on "
		"four of eight is no finding.",
		"see the host's HCA of this rail: PCIe width and speed, and the link's errors" },
	[FINDING_NIC_UNUSED] = { "nic-unused", "a host does not use one rail that hosts like it use",
		"over 10 active min: warning; info where no host uses it",
		"One host of many without a rail has a broken setting or device; where all are without, the job is "
		"made so.",
		"check the HCA list of the job on this host (NCCL_IB_HCA), its driver and its link" },
	[FINDING_RAIL_MISWIRED] = { "rail-miswired", "an HCA is cabled to the leaf of another rail",
		"where 90 % of the other hosts agree: warning",
		"Traffic between hosts then crosses the spines where others stay on one leaf. Rails are the device "
		"names that most "
		"hosts have, on the leafs that serve them; where fewer agree there is no rule to break.",
		"swap the two cables; `ibwire topology show` has the rails" },
	[FINDING_UPLINKS_MISSING] = { "uplinks-missing", "two switches have fewer cables between them than the pairs "
		"around them",
		"info, as there is no plan to compare with",
		"A fabric may be built unevenly on purpose.",
		"compare with the cabling plan" },
	[FINDING_ROUTES_CHANGED] = { "routes-changed", "a switch's forwarding table has changed",
		"info; where many switches changed at once, one of the whole fabric",
		"Tables may change without any sign on the ports; what changed, and when, dates what follows from it.",
		"if nothing was changed on purpose, see the subnet manager's log" },
	[FINDING_TOPOLOGY_CHANGED] = { "topology-changed", "nodes or cables came, went or moved",
		"info; all changes of a discovery are one",
		"For the record; what is wrong with it has a finding of its own.",
		"`ibwire events` has each change" },
	[FINDING_HOST_RESTART] = { "host-restart", "all HCAs of a host went down together: it boots",
		"info: all HCAs down within 30 s; errors of its ports are its own for 5 min more",
		"Cables do not fail together. A host that boots makes its leaf's ports count discards and errors, "
		"which are "
		"not the links'.",
		"nothing, if it was meant" },
	[FINDING_LOCKED] = { "locked", "a node answers for its counters, and not to SMPs without its key",
		"info; more than 8 nodes are one",
		"It is an M_Key that ibwire does not know: what happens to the node's links is seen late or not at "
		"all.",
		"give ibwire the subnet manager's key files" },
	[FINDING_COUNTER_SATURATED] = { "counter-saturated", "an error counter is full and counts no more",
		"info; 10 ports or more are one",
		"A counter stops at its maximum (IBA Vol 1, PortCounters): what happens since then is not known.",
		"`ibwire clear` zeroes it, once nobody else needs the value" },
	[FINDING_COUNTERS_CLEARED] = { "counters-cleared", "somebody else zeroed counters",
		"info; 10 ports or more within 60 s are one",
		"Another tool clears them (ibclearcounters, ibqueryerrors -k, a subnet manager's performance "
		"manager), or the box was "
		"restarted. What was counted in between is known as at least so much.",
		"nothing; ibwire needs no clearing" },
};

const struct finding_kind_info *finding_kind_info(enum finding_kind kind)
{
	return &infos[kind];
}

const char *finding_kind_name(enum finding_kind kind)
{
	return infos[kind].name;
}

int finding_kind_find(const char *name)
{
	int kind;

	for (kind = 0; kind < FINDING_KIND_COUNT; kind++)
		if (!strcmp(infos[kind].name, name))
			return kind;
	return -1;
}

const char *finding_severity_name(enum finding_severity severity)
{
	static const char *const names[] = { "info", "warning", "critical" };

	return names[severity];
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

int finding_compare(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int order = (int)y->severity - (int)x->severity;

	if (!order)
		order = compare_i64(x->since_us, y->since_us);
	if (!order)
		order = (int)x->kind - (int)y->kind;
	if (!order)
		order = compare_u64(x->node_guid, y->node_guid);
	if (!order)
		order = (int)x->port - (int)y->port;
	if (!order)
		order = (int)x->tag - (int)y->tag;
	return order;
}
