/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/finding.h"

#include <stdio.h>
#include <string.h>

#include "analysis/event.h"
#include "fabric/fabric.h"

#define RESEAT "reseat the cable at both ends and clean the optics, then replace the cable; if the port stays bad, "\
	"replace the device"

#define THRESHOLDS(warning, critical) { FINDING_THRESHOLD_WARNING "_" warning, FINDING_THRESHOLD_CRITICAL "_" critical }

static const struct finding_kind_info infos[FINDING_KIND_COUNT] = {
	[FINDING_SM_LOST] = { .name = "sm-lost",
		.means = "no master SM responds, or two SMs claim to be master",
		.limits = "critical: no master SM for 30 s and 3 sweeps, or two for as long; info: the master SM "
			"changed",
		.reason = "Without a master SM, new links stay in Init and routes are not updated. ActCount must "
			"advance: an SM whose ActCount does not is hung (IBA Vol 1, SMInfo). A handover takes "
			"seconds, so 30 s exclude it.",
		.advice = "check the host of the subnet manager: opensm (or UFM) must run and its port must be "
			"Active" },
	[FINDING_COVERAGE] = { .name = "coverage",
		.thresholds = THRESHOLDS("coverage_percent", "coverage_percent"),
		.means = "too few of the polled ports respond, and unresponsive nodes do not explain it",
		.limits = "below 99 % of the ports warning, below 90 % critical, for 30 s and 3 sweeps; also more "
			"than 8 nodes and 10 % of them unresponsive at once, and links to unidentified nodes",
		.reason = "Ports that are not read cannot be checked. Lost MADs are retried and stay far below 1 "
			"%. When 10 % of the nodes stop responding at once, the cause is more likely the access of "
			"this host than that many faults.",
		.advice = "list the ports with the command in the text; if they are many, check the local port and the "
			"rate limit (`ibwire status`), else these nodes: power, M_Key, PM_Key, hung firmware" },
	[FINDING_LINK_DOWN] = { .name = "link-down",
		.thresholds = THRESHOLDS("uplinks_down_percent", "uplinks_down_percent"),
		.means = "a link that was up is down",
		.limits = "down for 30 s warning; on a trunk critical where 25 % of the uplinks of its switch are "
			"down",
		.reason = "Link training takes seconds, so 30 s exclude a retrain. Routing cannot compensate for "
			"the loss of a quarter of the uplinks of a switch. Ports that were never up are not "
			"reported.",
		.advice = "check the port LEDs at both ends, reseat the cable, then replace it; check that the "
			"port is not disabled" },
	[FINDING_NODE_MISSING] = { .name = "node-missing",
		.means = "a switch, a host or a rack has left the fabric",
		.limits = "a switch without any link for 30 s critical; 4 hosts of a leaf within 30 s, or one host "
			"for 15 min, warning",
		.reason = "The links of a node do not all fail at once unless the node fails. A host has 15 "
			"minutes to boot (host-restart until then); planned reboots seldom affect four hosts of "
			"one leaf within 30 s.",
		.advice = "check power and console; for a rack, the power feed and the cooling" },
	[FINDING_NODE_SILENT] = { .name = "node-silent",
		.means = "the performance agent of a node does not respond to queries, or refuses them",
		.limits = "unresponsive for 3 sweeps and 30 s: warning; a switch critical. All queries refused for as "
			"long: warning if it had counters before; info for a switch that never had",
		.reason = "A lost query is retried within its sweep, so three sweeps in a row exclude packet loss. "
			"The agent of a switch is the only source for all of its ports. HCAs without counters are "
			"usual: the other ends of their links count the same traffic.",
		.advice = "host: check whether it hangs; switch: check its management" },
	[FINDING_UPLINK_IMBALANCE] = { .name = "uplink-imbalance",
		.means = "load is unevenly distributed across equivalent links",
		.limits = "routing: forwarding table and load uneven over 60 s warning, with harm critical; flows: "
			"the same port in 8 of 10 active minutes warning",
		.reason = "Random placement of flows is uneven (39 % with 1,024 flows on 32 uplinks), so uneven "
			"load alone is not a fault: the forwarding table must be uneven too, or the same port must "
			"repeatedly cause harm.",
		.advice = "compare the forwarding table of the switch with those of its peers; reroute with the "
			"subnet manager" },
	[FINDING_BLACK_HOLE] = { .name = "black-hole",
		.means = "the forwarding table of a switch has no route, or a loop, for reachable LIDs",
		.limits = "one LID for 30 s, confirmed by reading the tables again: critical",
		.reason = "While the subnet manager reroutes, tables are inconsistent for a second or two; after "
			"30 s they are final.",
		.advice = "reroute with the subnet manager, and check its log" },
	[FINDING_LINK_DEGRADED] = { .name = "link-degraded",
		.means = "a link runs at a lower width or speed than it supports",
		.limits = "for 60 s: warning, on a trunk critical",
		.reason = "Both ends support more and most links of this kind run faster, so lanes failed in "
			"training. One slow link costs the collectives that cross it 5 to 30 % "
			"(facebookresearch/gcm, pull request 119).",
		.advice = "reseat or replace the cable and retrain the link; check whether its width or speed was "
			"limited by configuration" },
	[FINDING_LINK_FLAPPING] = { .name = "link-flapping",
		.thresholds = THRESHOLDS("downs_24h", "downs_1h"),
		.means = "a link goes down and comes back repeatedly",
		.limits = "2 times in 24 h warning, 3 times in 1 h critical; closes after 24 h without",
		.reason = "Each flap stalls the traffic of the link for seconds. NVIDIA's InfiniBand cluster "
			"bring-up procedure (link monitoring key indicators) requires an inspection from 2 in 24 h "
			"on. Host restarts are not counted.",
		.advice = RESEAT },
	[FINDING_SYMBOL_ERRORS] = { .name = "symbol-errors",
		.means = "a link has symbol errors that error correction could not repair",
		.limits = "HDR and later: 8 per hour at 400 Gb/s warning, 16 critical, over more time on slower "
			"links (HDR 2 h), in 3 sweeps; before HDR: a bit error rate of 1e-12 warning, 1e-11 "
			"critical",
		.reason = "NVIDIA's InfiniBand cluster bring-up procedure: a symbol BER of 5e-15 is a warning, "
			"1e-14 an error; at 400 Gb/s 8 and 16 per hour. Before HDR the counter counts errors of "
			"the lanes, where the specification requires less than 1e-12 (NVIDIA, DGX SuperPOD cabling "
			"guide), also the limit of the BER test of ibdiagnet.",
		.advice = RESEAT },
	[FINDING_RECEIVE_ERRORS] = { .name = "receive-errors",
		.thresholds = THRESHOLDS("receive_errors_per_hour", "receive_errors_per_hour"),
		.means = "a port receives packets that were damaged on this link",
		.limits = "10 per hour warning, 100 critical; VL15Dropped (management packets dropped for lack of "
			"buffers): 50 in 5 min warning",
		.reason = "A healthy link has none; a topology change may cause a few. Packets that an earlier hop "
			"marked as bad are not counted: they belong to the link that damaged them.",
		.advice = RESEAT },
	[FINDING_FEC_UNCORRECTABLE] = { .name = "fec-uncorrectable",
		.thresholds = THRESHOLDS("effective_ber", "effective_ber"),
		.means = "FEC could not correct blocks: the effective bit error rate is too high",
		.limits = "5e-12 over 10 min warning, 1e-11 critical",
		.reason = "NVIDIA's InfiniBand cluster bring-up procedure, low-latency RS-FEC: 1e-12 is normal, "
			"5e-12 a warning, 1e-11 an error. The rate is a lower bound: an uncorrectable block has at "
			"least one wrong symbol more than its code corrects (16 with RS(544,514), else 8). "
			"Corrected errors alone are never reported.",
		.advice = RESEAT },
	[FINDING_XMIT_DISCARDS] = { .name = "xmit-discards",
		.thresholds = THRESHOLDS("discards_per_minute", "discards_per_minute"),
		.means = "a port discards packets that it could not send in time",
		.limits = "trunk: 10 per minute in 3 of 10 min warning, 200 in one of them critical; to a host: "
			"200 in 5 min warning",
		.reason = "A packet is discarded after it has waited for hundreds of milliseconds, so three such "
			"minutes are not transient. On a host link the host is the cause.",
		.advice = "find the receiver that does not accept the packets: a slow or hung host behind this "
			"port, or a route that overloads it" },
	[FINDING_CONGESTION] = { .name = "congestion",
		.thresholds = THRESHOLDS("stall_percent", "stall_percent"),
		.means = "a port stalls for lack of credits, and no port behind it is the cause",
		.limits = "trunk: stalled 10 % in 5 of 10 active min warning, 30 % with harm critical; to a host "
			"info",
		.reason = "Stalls spread backwards over half of a fabric, so only the root is reported: the port "
			"whose peer has no output that stalls or is busy for as long. Full links between switches "
			"are load, which uplink-imbalance checks.",
		.advice = "to a host: check its PCIe link, its memory and hung processes; on a trunk: check the "
			"errors of the link and `ibwire balance`" },
	[FINDING_RAIL_IMBALANCE] = { .name = "rail-imbalance",
		.thresholds = THRESHOLDS("difference_percent", "difference_percent"),
		.means = "the rails of a host carry unequal load, unlike those of comparable hosts",
		.limits = "15 % more or less than on hosts that use the same rails, in 9 of 10 active min, on at "
			"most 2 hosts: warning",
		.reason = "Collectives distribute load evenly over rails. Hosts are compared only with hosts that "
			"use the same rails, so a job on four of eight rails is not reported.",
		.advice = "check the HCA of this rail: its PCIe width and speed, and the errors of its link" },
	[FINDING_NIC_UNUSED] = { .name = "nic-unused",
		.means = "a host does not use a rail that comparable hosts use",
		.limits = "10 active min: warning; info where no host uses the rail, or where a single host stops "
			"carrying traffic",
		.reason = "A single host without a rail has a wrong setting or a faulty device; where no host uses "
			"it, the job is configured so. A host without any traffic may have no work: counters "
			"cannot distinguish that.",
		.advice = "check the HCA list of the job on this host (NCCL_IB_HCA), the driver and the link" },
	[FINDING_RAIL_MISWIRED] = { .name = "rail-miswired",
		.means = "an HCA is cabled to a leaf of another rail",
		.limits = "where 90 % of the other cables match: warning",
		.reason = "Traffic between these hosts crosses the spines where others stay on one leaf. With less "
			"agreement the cabling follows no rule.",
		.advice = "swap the two cables; `ibwire topology show` lists the rails" },
	[FINDING_UPLINKS_MISSING] = { .name = "uplinks-missing",
		.means = "two switches are connected by fewer cables than the pairs around them",
		.limits = "info: there is no cabling plan to compare with",
		.reason = "A fabric may be built unevenly on purpose. A known cable that is down is reported as "
			"link-down.",
		.advice = "compare with the cabling plan" },
	[FINDING_ROUTES_CHANGED] = { .name = "routes-changed",
		.means = "the forwarding table of a switch changed",
		.limits = "info; more than 8 switches at once are one finding",
		.reason = "Tables can change without any sign on the ports. The time and size of the change date "
			"the effects that follow.",
		.advice = "if no change was planned, check the log of the subnet manager" },
	[FINDING_TOPOLOGY_CHANGED] = { .name = "topology-changed",
		.means = "nodes or cables were added, removed or moved; or fewer exist than the settings expect",
		.limits = "info; all changes of one discovery are one finding. Warning: fewer than [expected] for "
			"15 min",
		.reason = "For the record: faults have findings of their own.",
		.advice = "run `ibwire events` for the single changes" },
	[FINDING_HOST_RESTART] = { .name = "host-restart",
		.means = "all HCAs of a host went down together: it restarts",
		.limits = "info: all of its HCAs down within 30 s; errors of its ports are attributed to the "
			"restart until 5 min after",
		.reason = "Cables do not fail together. The restart of a host causes discards and errors on its "
			"leaf ports that are not faults of the links.",
		.advice = "none if the restart was planned" },
	[FINDING_LOCKED] = { .name = "locked",
		.means = "a node responds to performance queries, but not to SMPs without its M_Key",
		.limits = "info; more than 8 nodes are one finding",
		.reason = "The M_Key of the node is unknown to ibwire: changes of its links are detected late or "
			"not at all.",
		.advice = "configure the key files of the subnet manager in ibwire" },
	[FINDING_COUNTER_SATURATED] = { .name = "counter-saturated",
		.means = "an error counter, or a data counter of 32 bits, is full",
		.limits = "info; 10 ports or more with full error counters are one finding. Warning: full data "
			"counters where the other end of the link does not count the traffic either",
		.reason = "A counter stops at its maximum (IBA Vol 1, PortCounters): what follows is not counted. Data "
			"counters have 64 bits in PortCountersExtended; those of 32 bits count 17.2 GB, which takes "
			"0.7 s at 4x HDR.",
		.advice = "error counters: `ibwire clear` when no other tool needs the value. Data counters: update "
			"the firmware, since the node lacks PortCountersExtended (perfquery -x); until then clear "
			"them, and poll at a shorter --interval than they take to fill" },
	[FINDING_COUNTERS_CLEARED] = { .name = "counters-cleared",
		.means = "counters were reset externally",
		.limits = "info; 10 ports or more within 60 s are one finding. Warning: 4 times, each within 10 min of "
			"the last",
		.reason = "The counters were cleared (`ibwire clear`, ibclearcounters, ibqueryerrors -k, the "
			"performance manager of a subnet manager), or the device restarted. For the interval of "
			"the reset only a lower bound is known: with regular resets, rates, balance and error "
			"counts of these ports are lower bounds, here and in every other tool.",
		.advice = "find the tool and let it only read: ibqueryerrors -k or -K, perfquery -R, ibclearcounters, "
			"ibclearerrors, ibdiagnet -pc (cron, timers), exporters that reset, OpenSM (perfmgr), UFM. On "
			"hosts with /dev/infiniband/umad*, fuser -v lists who uses it; compare starts with `since`",
		.advice_info = "none; ibwire does not need counters to be cleared" },
	[FINDING_LOG_GROWING] = { .name = "log-growing",
		.means = "a reader of the database prevents the truncation of its write-ahead log (PATH-wal)",
		.limits = "above 64 MB, after 3 sweeps in which it could not be truncated: warning",
		.reason = "The log grows with each sweep until the oldest read transaction ends, up to the size of "
			"the disk. Commands of ibwire end theirs within seconds; `ibwire db backup`, `db export` "
			"and `db check` hold one while they run, other programs for any time.",
		.advice = "wait for the end of a backup, an export or a check; end any other process that is named" },
	[FINDING_STORE_STALLED] = { .name = "store-stalled",
		.means = "the database accepted no sweep for some time",
		.limits = "30 s or longer: warning",
		.reason = "While the database accepts no sweep, findings are not updated, and this one cannot be "
			"stored: it opens with the first sweep that is stored again. Meanwhile `ibwire status` shows "
			"`stalled`, and `ibwire health` exits with 69. Counters are complete: the next deltas "
			"cover the time.",
		.advice = "see the reason: a full or failing disk, or a process that locks the database" },
	[FINDING_LINK_ERRORS] = { .name = "link-errors",
		.thresholds = THRESHOLDS("link_errors_per_5min", "link_errors_per_5min"),
		.means = "a link retrained, lost local integrity or overran its receive buffer, often",
		.limits = "LinkErrorRecovery, LocalLinkIntegrityErrors and ExcessiveBufferOverrunErrors: 100 in 5 min "
			"warning",
		.reason = "UFM alarms at 100 in 300 s of each of these counters. A recovery interrupts the link for "
			"milliseconds; the other two mean that the link cannot keep its flow control. Symbol or "
			"FEC errors of the same link explain them.",
		.advice = RESEAT },
	[FINDING_CONSTRAINT_ERRORS] = { .name = "constraint-errors",
		.thresholds = THRESHOLDS("constraint_errors_per_5min", "constraint_errors_per_5min"),
		.means = "a switch port drops packets of a partition that it does not allow",
		.limits = "PortXmitConstraintErrors and PortRcvConstraintErrors: 200 in 5 min warning",
		.reason = "UFM alarms at 200 in 300 s. The counters rise where P_Keys of the two ends do not match: "
			"a host that is not a member of the partition, or a partition that was changed while jobs "
			"ran.",
		.advice = "compare the P_Key tables of the host and of the switch port (smpquery pkeys) with the "
			"subnet manager's partitions" },
	[FINDING_LINK_NOT_ACTIVE] = { .name = "link-not-active",
		.means = "a link is up, but the subnet manager does not set it to Active",
		.limits = "in state Init or Armed for 60 s while a master SM responds: warning",
		.reason = "The subnet manager sets a new link to Active within seconds. Until then it carries "
			"management packets only, so the host or the uplink is unusable although its LEDs are lit.",
		.advice = "check the log of the subnet manager for this port: an M_Key that it does not know, a "
			"duplicate GUID, SMPs without a response, or a port that it was told to isolate; then reset "
			"the port (ibportstate LID PORT reset)" },
	[FINDING_TRAFFIC_FELL] = { .name = "traffic-fell",
		.means = "the traffic of a job, of the fabric, of a rail, or of the uplinks of a switch fell suddenly",
		.limits = "below 20 % of the mean of the last minutes for 20 s: info",
		.reason = "A job that ends, waits or fails stops its traffic at once, on all of its ports. Beside "
			"another finding it is the consequence of that; alone it is no fault. Ports that do not "
			"respond are left out. A pause that ended, as for a checkpoint, is reported again only if it "
			"becomes twice as long; what falls together is one finding, of the running jobs if they had "
			"most of the traffic that stopped, else of the widest subject.",
		.advice = "see whether a job ended at this time, or which other finding began then" },
	[FINDING_NODES_LEFT_OUT] = { .name = "nodes-left-out",
		.means = "the database does not store some nodes, because too many nodes are new",
		.limits = "131,072 ports and nodes at once, then 1,024 per hour (524,288 in the first topology of a "
			"database), or 2,097,151 ports in all: warning",
		.reason = "A switch can respond to a discovery with any number of nodes that do not exist. Each "
			"new port takes an id, so their number is limited. Nodes that are known, and new nodes with "
			"few ports within the limit, are stored; nodes that are left out are polled and tried again "
			"each minute.",
		.advice = "find out what is connected to the port that is named, and disconnect a device that invents "
			"nodes; real nodes are stored within hours, or at once with `ibwire collect --new-fabric`" },
	[FINDING_PLAN_DIFFERS] = { .name = "plan-differs",
		.means = "the cables of the fabric differ from the cabling plan of the settings",
		.limits = "for 60 s: warning; a link that the plan does not have: info; more than 10 differences are "
			"one finding",
		.reason = "Compared when the topology or the plan changes. A minute excludes cables that are being "
			"moved. Links that were up and are down, and those below what their ends support, have "
			"findings of their own and are not counted.",
		.advice = "recable as described, or correct the plan; `ibwire topology check` lists all "
			"differences, and with --html as sheets to print for each rack" },
	[FINDING_FIRMWARE_MIXED] = { .name = "firmware-mixed",
		.means = "nodes of one kind have different firmware versions",
		.limits = "two versions at nodes with the same type, DeviceID and PSID: info",
		.reason = "Firmware is released for a PSID: boards of different PSIDs, such as those of an OEM, need "
			"not have the same version and are not compared, nor are nodes whose version or PSID is "
			"not known. One finding names the nodes that differ from the most frequent version, and of "
			"equally frequent ones from the newest. While an update of many nodes is under way, it says "
			"since when.",
		.advice = "finish the update, or install one version on all nodes of the kind; `ibwire nodes` lists "
			"the versions" },
	[FINDING_CABLE_HOT] = { .name = "cable-hot",
		.thresholds = { FINDING_THRESHOLD_WARNING "_temperature_c", NULL },
		.means = "a transceiver was hot, or became much hotter, in the newest import of ibdiagnet's files",
		.limits = "above 70 C, or 10 C more than in the import before: warning; more than 10 are one finding",
		.reason = "Transceivers are specified for case temperatures up to 70 C. A rise of 10 C shows a fan, a "
			"cover or an air flow that has changed before the limit is reached. Measured at an import "
			"only (ibwire import); the finding closes with the next one, or a week later.",
		.advice = "check the fans and the air flow of the device, and whether the transceiver is seated well; "
			"replace it if others beside it are cool, then import again" },
	[FINDING_PARTITION] = { .name = "partition",
		.means = "the P_Keys of ports do not fit: hosts of a job cannot communicate, a port lacks the default "
			"partition, or its switch port drops its packets",
		.limits = "warning: ports of a running job on one rail without a common partition, or limited members "
			"only; no default partition where at least half of the ports have it; a switch port that "
			"enforces partitions and lacks one of its host. Info: a P_Key that no other port has",
		.reason = "Packets of a partition that one end is not a member of are dropped without a response, and "
			"two limited members cannot communicate (IBA Vol 1, 10.9). Tables are evaluated when all of "
			"them were read after their last change, and again a minute later: while the subnet manager "
			"writes them, they are those of two configurations. More than 10 ports of one cause are one "
			"finding.",
		.advice = "`ibwire ports --pkeys` lists the P_Keys, `ibwire topology partitions` the members; correct "
			"the partitions of the subnet manager" },
	[FINDING_JOB_STALLED] = { .name = "job-stalled",
		.thresholds = THRESHOLDS("job_hosts", "job_hosts"),
		.means = "all hosts of a running job have stopped communicating, for longer than its rhythm "
			"allows",
		.limits = "a job of 2 hosts or more: warning, of 16 or more critical; after a pause that is "
			"longer than those that the job made before",
		.reason = "The hosts of a training job wait for each other in each iteration, so one process "
			"that stops stops all of them. How long a job pauses by itself, for loading, "
			"checkpoints or evaluation, is learnt from its own traffic; a job that has not "
			"communicated for long enough to be learnt is not reported, nor one that is suspended "
			"or has ended. The hosts of a stalled job stay allocated to it until it is cancelled, "
			"so from 16 hosts on it is critical.",
		.advice = "look at the processes of the host that is named first: `py-spy dump --pid PID` "
			"shows where a rank waits, the flight recorder of the collective library which "
			"collective it did not enter, the kernel log errors of a GPU or HCA" },
	[FINDING_JOB_SLOWER] = { .name = "job-slower",
		.means = "the iterations of a running job take longer than before, and it stays so",
		.limits = "slower by 5 % (10 % at sweeps of 5 s and more), and by more than the job's own spread "
			"explains, for several iterations that sweeps show, or for 32 sweeps: warning",
		.reason = "A job is compared with itself: most iterations of a training job take the same "
			"time. The cause is what changed at that time, in the order findings on its links, "
			"routes, another job on its uplinks, a host that receives too slowly, a rail, firmware "
			"or topology. If nothing of that changed, the hosts compute more slowly, or the job "
			"does other work.",
		.advice = "nothing on the fabric changed: look at the host that is named, or at all of them: "
			"clocks and temperature of the GPUs (nvidia-smi -q -d PERFORMANCE), other processes, "
			"storage that is read from" },
};

const struct finding_kind_info *finding_kind_info(enum finding_kind kind)
{
	return &infos[kind];
}

const char *finding_kind_name(enum finding_kind kind)
{
	return infos[kind].name;
}

const char *finding_advice(enum finding_kind kind, enum finding_severity severity, const char *cause)
{
	static const struct { enum finding_kind kind; const char *cause, *advice; } of_causes[] = {
		{ FINDING_LINK_DEGRADED, FINDING_CAUSE_ENABLED,
		  "compare the enabled widths and speeds of both ports (smpquery portinfo) with the configuration of "
		  "the subnet manager, correct them, and retrain the link; the cable is not the cause" },
		{ FINDING_TRAFFIC_FELL, FINDING_CAUSE_JOB,
		  "see whether the job waits, writes a checkpoint or has failed (`ibwire job report`), or which other "
		  "finding began at this time" },
		{ FINDING_JOB_STALLED, FINDING_CAUSE_STALL_UNKNOWN,
		  "no host stopped before the others: look at the processes of several hosts (`py-spy dump --pid "
		  "PID`), at the output of the job, and at the storage and the services that all of them use" },
		{ FINDING_JOB_STALLED, FINDING_CAUSE_STALL_LINK,
		  "see which link failed at that time (`ibwire events`), and what the processes of its host wait for "
		  "(`py-spy dump --pid PID`)" },
		{ FINDING_JOB_SLOWER, FINDING_CAUSE_SLOWER_LINK,
		  "see the finding that is named, and repair its link" },
		{ FINDING_JOB_SLOWER, FINDING_CAUSE_SLOWER_ROUTES,
		  "see how the routes load the uplinks (`ibwire balance`), and reroute with the subnet manager" },
		{ FINDING_JOB_SLOWER, FINDING_CAUSE_SLOWER_SHARED,
		  "place the jobs on leaves of their own, or let one of them end first; `ibwire job report` shows "
		  "both" },
		{ FINDING_JOB_SLOWER, FINDING_CAUSE_SLOWER_WAITS,
		  "check on this host the PCIe width and speed of its HCA, its memory, and other processes" },
		{ FINDING_JOB_SLOWER, FINDING_CAUSE_SLOWER_RAIL,
		  "check the HCAs of this rail: PCIe width and speed, errors of their links, and the HCA list of the "
		  "job (NCCL_IB_HCA)" },
		{ FINDING_JOB_SLOWER, FINDING_CAUSE_SLOWER_FABRIC,
		  "see what was changed at that time (`ibwire events`), and undo it if it was not meant to" },
		{ FINDING_NODE_SILENT, "hca", "check whether the host hangs: power, console, load" },
		{ FINDING_NODE_SILENT, "host", "check whether the host hangs: power, console, load" },
		{ FINDING_NODE_SILENT, "switch", "check the management of this switch: firmware, console" },
		{ FINDING_NODE_SILENT, "own-switch",
		  "check the link of this host (ibstat), then this switch; ibwire on a host of another switch shows "
		  "the rest" },
		{ FINDING_NODE_SILENT, "own-port", "check the port and the cable of this host (ibstat)" },
		{ FINDING_NODE_SILENT, "refused",
		  "check the firmware and the management of this node (perfquery LID), and whether performance "
		  "management is disabled on it" },
	};

	for (size_t i = 0; cause && i < sizeof(of_causes) / sizeof(*of_causes); i++)
		if (of_causes[i].kind == kind && !strcmp(of_causes[i].cause, cause))
			return of_causes[i].advice;
	return severity == FINDING_INFO && infos[kind].advice_info ? infos[kind].advice_info : infos[kind].advice;
}

int finding_kind_find(const char *name)
{
	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++)
		if (!strcmp(infos[kind].name, name))
			return kind;
	return -1;
}

static const char *const severities[] = { "info", "warning", "critical" };

const char *finding_severity_name(enum finding_severity severity)
{
	return severities[severity];
}

const char *event_severity_name(enum event_severity severity)
{
	return severity <= EVENT_CRITICAL ? severities[severity] : "unknown";
}

double finding_number_of(const struct finding *finding, const char *key, double otherwise)
{
	for (unsigned i = 0; i < finding->number_count; i++)
		if (finding->numbers[i].key && !strcmp(finding->numbers[i].key, key))
			return finding->numbers[i].value;
	return otherwise;
}

int64_t finding_job(const struct finding *finding)
{
	return finding->kind == FINDING_JOB_STALLED || finding->kind == FINDING_JOB_SLOWER ?
	       (int64_t)finding_number_of(finding, "job_number", 0) : 0;
}

bool finding_is_of_window(enum finding_kind kind)
{
	return kind == FINDING_UPLINK_IMBALANCE || kind == FINDING_CONGESTION || kind == FINDING_RAIL_IMBALANCE ||
	       kind == FINDING_NIC_UNUSED;
}

bool finding_counts_errors(enum finding_kind kind)
{
	return kind == FINDING_SYMBOL_ERRORS || kind == FINDING_RECEIVE_ERRORS || kind == FINDING_FEC_UNCORRECTABLE ||
	       kind == FINDING_XMIT_DISCARDS || kind == FINDING_LINK_ERRORS || kind == FINDING_CONSTRAINT_ERRORS;
}

counter_set finding_counters(enum finding_kind kind)
{
	switch (kind) {
	case FINDING_SYMBOL_ERRORS:
		return COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
	case FINDING_RECEIVE_ERRORS:
		return COUNTER_BIT(COUNTER_RCV_ERRORS) | COUNTER_BIT(COUNTER_VL15_DROPPED);
	case FINDING_XMIT_DISCARDS:
		return COUNTER_BIT(COUNTER_XMIT_DISCARDS);
	case FINDING_LINK_ERRORS:
		return COUNTER_BIT(COUNTER_LINK_ERROR_RECOVERY) | COUNTER_BIT(COUNTER_LOCAL_LINK_INTEGRITY_ERRORS) |
		       COUNTER_BIT(COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS);
	case FINDING_CONSTRAINT_ERRORS:
		return COUNTER_BIT(COUNTER_XMIT_CONSTRAINT_ERRORS) | COUNTER_BIT(COUNTER_RCV_CONSTRAINT_ERRORS);
	default:
		return 0;
	}
}

bool finding_is_event(const struct finding *finding)
{
	return finding->severity == FINDING_INFO &&
	       (finding->kind == FINDING_ROUTES_CHANGED || finding->kind == FINDING_TOPOLOGY_CHANGED ||
		finding->kind == FINDING_COUNTERS_CLEARED || finding->kind == FINDING_HOST_RESTART ||
		finding->kind == FINDING_SM_LOST);
}

/* Numbers that grow with the fault, and the words of their values. */
static const struct { const char *key, *unit; } magnitudes[] = {
	{ "measured_percent", " %" }, { "stall_percent", " %" }, { "uplinks_down_percent", " %" },
	{ "symbol_errors", " errors" }, { "receive_errors_per_hour", " in 1 h" },
	{ "vl15_dropped_per_5min", " in 5 min" }, { "link_errors_per_5min", " in 5 min" },
	{ "constraint_errors_per_5min", " in 5 min" }, { "fec_uncorrected_blocks_per_10min", " blocks in 10 min" },
	{ "discards_per_minute", " per minute" }, { "discards_per_5min", " in 5 min" },
	{ "nodes_silent", " nodes" }, { "hosts_gone", " hosts" }, { "lids", " LIDs" }, { "temperature_c", " C" },
	{ "slower_percent", " %" },
};

static const char *unit_of(const struct finding_number *number)
{
	for (size_t i = 0; number && i < sizeof(magnitudes) / sizeof(magnitudes[0]); i++)
		if (!strcmp(magnitudes[i].key, number->key))
			return magnitudes[i].unit;
	return NULL;
}

const struct finding_number *finding_magnitude(const struct finding *finding)
{
	for (unsigned i = 0; i < finding->number_count; i++)
		if (finding->numbers[i].value - finding->numbers[i].value == 0 && unit_of(&finding->numbers[i]))
			return &finding->numbers[i];
	return NULL;
}

/* "3 nodes", "1 node", "12 %": a first word of the unit that ends in "s" is a plural. */
static void format_magnitude(double value, const char *unit, char ret[48])
{
	int len = snprintf(ret, 48, "%.0f", value), word = (int)strcspn(unit + 1, " ") + 1;

	if (!strcmp(ret, "1") && unit[word - 1] == 's')
		snprintf(ret + len, 48 - (size_t)len, "%.*s%s", word - 1, unit, unit + word);
	else
		snprintf(ret + len, 48 - (size_t)len, "%s", unit);
}

bool finding_format_peak(const struct finding *finding, double peak, char ret[48])
{
	const struct finding_number *now = finding_magnitude(finding);
	char current[48];

	if (!now || peak - peak != 0)
		return false;
	format_magnitude(peak, unit_of(now), ret);
	format_magnitude(now->value, unit_of(now), current);
	return peak > now->value && strcmp(ret, current) != 0;
}

bool finding_window(const struct finding *finding, int64_t *ret_from_us, int64_t *ret_until_us)
{
	*ret_from_us = (int64_t)finding_number_of(finding, FINDING_WINDOW_FROM, 0);
	*ret_until_us = (int64_t)finding_number_of(finding, FINDING_WINDOW_UNTIL, 0);
	return *ret_until_us != 0;
}

/* " %", " in 1 h": of a threshold by the rest of its key; "": a count, or stored without a unit */
static const char *threshold_unit(const char *key)
{
	static const struct { const char *key, *unit; } others[] = {
		{ "coverage_percent", " %" }, { "difference_percent", " %" }, { "downs_24h", " in 24 h" },
		{ "downs_1h", " in 1 h" }, { "effective_ber", " BER" }, { "job_hosts", " hosts" },
	};
	const struct finding_number number = { .key = key + (*key == '_') };
	const char *unit = unit_of(&number);

	for (size_t i = 0; !unit && i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(others[i].key, number.key))
			return others[i].unit;
	return unit ? unit : "";
}

bool finding_format_thresholds(const struct finding *finding, char ret[160])
{
	static const struct { const char *key, *before, *after; } thresholds[] = {
		{ FINDING_THRESHOLD_WARNING, "warning ", NULL }, { FINDING_THRESHOLD_CRITICAL, "critical ", NULL },
		{ FINDING_THRESHOLD "table_ratio", "", " times the mean of the tables" },
		{ FINDING_THRESHOLD "excess_percent", "", " % above the mean load" },
		{ FINDING_THRESHOLD "after_s", "after ", " s" }, { FINDING_THRESHOLD "window_s", "windows of ", " s" },
	};
	size_t len = 0;

	*ret = 0;
	for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++)
		for (unsigned j = 0; j < finding->number_count && len < 100; j++) {
			const char *key = finding->numbers[j].key, *after = thresholds[i].after;
			size_t known = strlen(thresholds[i].key);

			if (strncmp(key, thresholds[i].key, known) != 0)
				continue;
			len += (size_t)snprintf(ret + len, 160 - len, "%s%s%g%s", len ? ", " : "",
						thresholds[i].before, finding->numbers[j].value,
						after ? after : threshold_unit(key + known));
		}
	return len > 0;
}

enum finding_phase finding_phase(const struct finding *finding)
{
	if (finding->ok_since_us)
		return FINDING_PHASE_CLEARING;
	return finding->stopped ? FINDING_PHASE_STOPPED : FINDING_PHASE_ACTIVE;
}

int finding_compare(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	enum finding_phase phase = finding_phase(x), other = finding_phase(y);

	if (phase != other)
		return (int)phase - (int)other;
	if (x->severity != y->severity)
		return (int)y->severity - (int)x->severity;
	if (x->since_us != y->since_us)
		return x->since_us < y->since_us ? -1 : 1;
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	if (x->node_guid != y->node_guid)
		return x->node_guid < y->node_guid ? -1 : 1;
	return x->port != y->port ? x->port - y->port : x->tag - y->tag;
}

bool finding_end(const struct finding *finding, const struct fabric *fabric, unsigned at, uint64_t *ret_guid,
		 uint8_t *ret_port)
{
	const struct finding_port *listed;
	uint32_t port, peer;

	*ret_guid = at ? finding->peer_guid : finding->node_guid;
	*ret_port = at ? finding->peer_port : finding->port;
	if (at < FINDING_END_PORTS)
		return true;
	if ((at - FINDING_END_PORTS) / 2 >= finding->port_count)
		return false;
	listed = &finding->ports[(at - FINDING_END_PORTS) / 2];
	*ret_guid = listed->node_guid;
	*ret_port = listed->port;
	if (at % 2 == 0)
		return true;
	if (finding->node_guid && !finding->port) {
		*ret_guid = *ret_port = 0;
		return true;
	}
	port = fabric_find_port(fabric, listed->node_guid, listed->port);
	peer = port == FABRIC_NONE ? FABRIC_NONE : fabric->ports[port].peer;
	*ret_guid = peer == FABRIC_NONE ? 0 : fabric->nodes[fabric->ports[peer].node].guid;
	*ret_port = peer == FABRIC_NONE ? 0 : fabric->ports[peer].num;
	return true;
}
