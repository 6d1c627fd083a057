/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/finding.h"

#include <string.h>

#define RESEAT "reseat the cable at both ends, clean the optics, then swap the cable; what stays with a port is its box"

static const struct finding_kind_info infos[FINDING_KIND_COUNT] = {
	[FINDING_SM_LOST] = {
		.name = "sm-lost",
		.means = "no subnet manager answers as master, or two claim to be it",
		.limits = "critical: no master for 30 s and 3 sweeps, or two for as long; another master than before "
			"is info",
		.reason = "Without a master no link that comes up is set up, and no route is mended. Its ActCount "
			"must move: one that stands still is a process that hangs (IBA Vol 1, SMInfo). A handover "
			"takes seconds, so it is none for 30 s.",
		.advice = "look at the subnet manager's host: is opensm (or UFM) running, and is its port Active",
	},
	[FINDING_COVERAGE] = {
		.name = "coverage",
		.means = "too few of the ports that should answer do, and no silent node explains it",
		.limits = "below 99 % of the ports warning, below 90 % critical, for 30 s and 3 sweeps; one node in "
			"ten silent at once, and more than 8, is this too, and so are links to nobody known",
		.reason = "What is not read cannot be judged. Losses of a busy wire are asked again and stay far "
			"below one per cent; one node in ten at once is more likely this host's own access than so "
			"many faults.",
		.advice = "see `ibwire status`: this host's own port, the limits of its rate, and which ports are "
			"silent or lead to nobody known",
	},
	[FINDING_LINK_DOWN] = {
		.name = "link-down",
		.means = "a link that was up is down",
		.limits = "down for 30 s warning; on a trunk critical where 25 % of its switch's uplinks are down",
		.reason = "Training after a hiccup takes seconds, so 30 s is past that. A quarter of a switch's "
			"uplinks is what no routing hides. Ports that were never seen up are no links.",
		.advice = "look at the port's LEDs at both ends, reseat the cable, then swap it; is the port disabled",
	},
	[FINDING_NODE_MISSING] = {
		.name = "node-missing",
		.means = "a switch, a host, or a rack that was there is gone",
		.limits = "a switch without any link for 30 s critical; 4 hosts of a leaf within 30 s, or one host "
			"for 15 min, warning",
		.reason = "All links of a node do not fail at once by themselves. A host has 15 minutes to boot "
			"(until then it is a host-restart); hosts that are booted on purpose seldom go down by fours "
			"on one leaf within 30 s.",
		.advice = "check its power and its console; of a rack, the power feed and the cooling",
	},
	[FINDING_NODE_SILENT] = {
		.name = "node-silent",
		.means = "a node's links are up and its performance agent does not answer",
		.limits = "silent for 3 sweeps and 30 s: warning, a switch critical",
		.reason = "A lost question is asked again within a sweep, so three sweeps in a row are no accident. A "
			"switch's agent is the only one that tells of all of its ports.",
		.advice = "of a host: does it hang; of a switch: its management; the links themselves are up",
	},
	[FINDING_UPLINK_IMBALANCE] = {
		.name = "uplink-imbalance",
		.means = "load is not spread as it could be over ports that can stand in for each other",
		.limits = "routing: tables and load uneven over 60 s warning, with harm critical; flows: the same "
			"port in 8 of 10 active minutes warning",
		.reason = "A random placement of flows is uneven by itself (39 % with 1,024 flows on 32 uplinks), so "
			"an uneven load alone says nothing: the tables must be uneven too, or it must hurt at the "
			"same port again and again.",
		.advice = "compare the switch's forwarding table with its peers'; let the subnet manager route anew",
	},
	[FINDING_BLACK_HOLE] = {
		.name = "black-hole",
		.means = "a switch's table leads nowhere, or round in a circle, for hosts that are there",
		.limits = "one destination for 30 s, after the tables were read again: critical",
		.reason = "While a subnet manager answers a change its tables are torn for a second or two; what is "
			"so after 30 s stays so.",
		.advice = "let the subnet manager route anew, and see its log",
	},
	[FINDING_LINK_DEGRADED] = {
		.name = "link-degraded",
		.means = "a link runs narrower or slower than it could",
		.limits = "for 60 s: warning, on a trunk critical",
		.reason = "Both ends can do more and most links of its kind do, so lanes failed in training. One slow "
			"link costs the collectives that cross it 5 to 30 % (facebookresearch/gcm, pull request 119).",
		.advice = "reseat the cable or swap it, then let the link train again; or was its width or speed set "
			"by hand",
	},
	[FINDING_LINK_FLAPPING] = {
		.name = "link-flapping",
		.means = "a link goes down and comes back",
		.limits = "2 times in 24 h warning, 3 times in 1 h critical; closes after 24 h without",
		.reason = "Each down stalls for seconds what uses the link. From 2 in 24 h on NVIDIA's InfiniBand "
			"cluster bring-up procedure (link monitoring key indicators) wants a link looked into. "
			"Restarts of hosts do not count.",
		.advice = RESEAT,
	},
	[FINDING_SYMBOL_ERRORS] = {
		.name = "symbol-errors",
		.means = "a link loses symbols that error correction could not mend",
		.limits = "HDR and later: 8 in an hour at 400 Gb/s warning, 16 critical, in more time as the link is "
			"slower (HDR 2 h), in 3 sweeps; before HDR: a bit error rate of 1e-12 warning, 1e-11 critical",
		.reason = "NVIDIA's InfiniBand cluster bring-up procedure: a symbol BER of 5e-15 warns, 1e-14 is an "
			"error; at 400 Gb/s 8 and 16 an hour. Before HDR the counter tells of the lanes, where the "
			"specification asks for less than 1e-12 (NVIDIA, DGX SuperPOD cabling guide), the limit of "
			"ibdiagnet's BER test too.",
		.advice = RESEAT,
	},
	[FINDING_RECEIVE_ERRORS] = {
		.name = "receive-errors",
		.means = "a port receives packets that are damaged on this link",
		.limits = "10 an hour warning, 100 critical; management packets that a node had no room for: 50 in 5 "
			"min warning",
		.reason = "A healthy link has none, and any change of the fabric may make a few. What an earlier hop "
			"marked as bad does not count: that belongs to the link where it was damaged.",
		.advice = RESEAT,
	},
	[FINDING_FEC_UNCORRECTABLE] = {
		.name = "fec-uncorrectable",
		.means = "error correction gives up on blocks: the effective bit error rate",
		.limits = "5e-12 over 10 min warning, 1e-11 critical",
		.reason = "NVIDIA's InfiniBand cluster bring-up procedure, low-latency RS-FEC: 1e-12 is normal, 5e-12 "
			"warns, 1e-11 is an error. What FEC corrected never counts alone.",
		.advice = RESEAT,
	},
	[FINDING_XMIT_DISCARDS] = {
		.name = "xmit-discards",
		.means = "a port throws away packets that it could not send in time",
		.limits = "trunk: 10 a minute in 3 of 10 min warning, 200 in one of them critical; to a host: 200 in "
			"5 min warning",
		.reason = "A packet is thrown away after it waited for hundreds of milliseconds, so three such "
			"minutes are no hiccup. On a host's link it is the host that does not take them.",
		.advice = "find who does not take the packets: a slow or hanging host behind this port, or a route "
			"that overloads it",
	},
	[FINDING_CONGESTION] = {
		.name = "congestion",
		.means = "a port could not send for lack of credits, and nothing behind it explains that",
		.limits = "trunk: stalled 10 % in 5 of 10 active min warning, 30 % with harm critical; to a host info",
		.reason = "Stalls spread backwards over half of a fabric, so only the root is named: the port whose "
			"peer's outputs neither stall nor are busy for as long. Full links between switches are load, "
			"which uplink-imbalance judges.",
		.advice = "to a host: its PCIe, its memory, a process that hangs; on a trunk: the link's errors, and "
			"`ibwire balance`",
	},
	[FINDING_RAIL_IMBALANCE] = {
		.name = "rail-imbalance",
		.means = "a host's rails do not carry alike, and those of hosts like it do",
		.limits = "15 % more or less than on hosts that use the same rails, in 9 of 10 active min, on at most "
			"2 hosts: warning",
		.reason = "Collectives spread evenly over rails. Hosts are compared only with hosts that use the same "
			"ones, so that a job on four of eight is no finding.",
		.advice = "see the host's HCA of this rail: its PCIe width and speed, and the link's errors",
	},
	[FINDING_NIC_UNUSED] = {
		.name = "nic-unused",
		.means = "a host does not use one rail that hosts like it use",
		.limits = "10 active min: warning; info where nobody uses it, or where a host alone carries nothing "
			"any more",
		.reason = "One host of many without a rail has a broken setting or device; where all are without, the "
			"job is made so. A host that stops altogether may have no work: nobody can tell from here.",
		.advice = "check the job's list of HCAs on this host (NCCL_IB_HCA), the driver, and the link",
	},
	[FINDING_RAIL_MISWIRED] = {
		.name = "rail-miswired",
		.means = "an HCA is cabled to the leaf of another rail",
		.limits = "where 90 % of the others agree on who serves whom: warning",
		.reason = "Traffic between hosts then crosses the spines where others stay on one leaf. Where fewer "
			"agree there is no rule that could be broken.",
		.advice = "swap the two cables; `ibwire topology show` has the rails",
	},
	[FINDING_UPLINKS_MISSING] = {
		.name = "uplinks-missing",
		.means = "two switches have fewer cables between them than the pairs around them",
		.limits = "info: there is no plan to compare with",
		.reason = "A fabric may be built unevenly on purpose. A cable that is known and down is a link-down.",
		.advice = "compare with the cabling plan",
	},
	[FINDING_ROUTES_CHANGED] = {
		.name = "routes-changed",
		.means = "a switch's forwarding table has changed",
		.limits = "info; more than 8 switches at once are one",
		.reason = "Tables may change without any sign on the ports. What changed, and when, dates what "
			"follows from it.",
		.advice = "if nothing was changed on purpose, see the subnet manager's log",
	},
	[FINDING_TOPOLOGY_CHANGED] = {
		.name = "topology-changed",
		.means = "nodes or cables came, went or moved; or there are fewer than the settings expect",
		.limits = "info; all changes of a discovery are one. Warning: fewer than [expected] for 15 min",
		.reason = "For the record: what is wrong with it has a finding of its own.",
		.advice = "`ibwire events` has each change",
	},
	[FINDING_HOST_RESTART] = {
		.name = "host-restart",
		.means = "all HCAs of a host went down together: it boots",
		.limits = "info: all of its HCAs down within 30 s; what its ports count is its own until 5 min after",
		.reason = "Cables do not fail together. A host that boots makes its leafs' ports count discards and "
			"errors, which are not the links'.",
		.advice = "nothing, if it was meant",
	},
	[FINDING_LOCKED] = {
		.name = "locked",
		.means = "a node answers for its counters, and not to SMPs without its key",
		.limits = "info; more than 8 nodes are one",
		.reason = "It has an M_Key that ibwire does not know: what happens to its links is seen late or not "
			"at all.",
		.advice = "give ibwire the subnet manager's key files",
	},
	[FINDING_COUNTER_SATURATED] = {
		.name = "counter-saturated",
		.means = "an error counter is full and counts no more",
		.limits = "info; 10 ports or more are one",
		.reason = "A counter stops at its maximum (IBA Vol 1, PortCounters): what happens since then is not "
			"known.",
		.advice = "`ibwire clear` zeroes it, once nobody else needs the value",
	},
	[FINDING_COUNTERS_CLEARED] = {
		.name = "counters-cleared",
		.means = "somebody zeroed counters",
		.limits = "info; 10 ports or more within 60 s are one",
		.reason = "Somebody cleared them (`ibwire clear`, ibclearcounters, ibqueryerrors -k, a subnet "
			"manager's performance manager), or the box was restarted. What was counted in between is "
			"known as at least so much.",
		.advice = "nothing; ibwire needs no clearing",
	},
	[FINDING_LOG_GROWING] = {
		.name = "log-growing",
		.means = "a reader of the database keeps its log (PATH-wal) from being emptied",
		.limits = "above 64 MB, after 3 sweeps in which it could not be emptied: warning",
		.reason = "The log grows by each sweep until the oldest read transaction ends, up to the size of the "
			"disk. Commands of ibwire end theirs within seconds; `ibwire db backup`, `db export` and "
			"`db check` hold one while they run, other programs for as long as they like.",
		.advice = "wait for a backup, an export or a check to end; end any other process that is named",
	},
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
