#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps
"""Firmware versions: those of `vendstat -N` for each node, and what changes when nodes are updated: events, the finding,
differences of topologies and snapshots, and of two runs of a job."""
import os
import re
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, stop, wait_for

need("ibsim", "opensm", "vendstat")
tap = Tap()

OLD, NEW, SWITCH = "20.31.1014", "20.43.2026", "27.2010.2110"
PSID = "MT_0000000223"


def nodes(sim):
    return {row["node"]: row for row in sim.json("nodes")}


def vendstat(sim, lid):
    """Version, PSID and date."""
    out = sim.run("vendstat", "-N", str(lid)).out
    version, psid, month, day, year = (re.search(pattern, out).group(1) for pattern in (
        r"fw_version: *(\S+)", r"fw_psid: *'(\S*)'", r"fw_date: *(\d+)/", r"fw_date: *\d+/(\d+)/", r"fw_date: *\d+/\d+/(\d+)"))
    return version, psid, f"{year}-{month}-{day}"


def findings(sim):
    return [row["text"] for row in sim.json("health", check=False) if row["kind"] == "firmware-mixed"]


with Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2", "--traffic", "ring rate=40Gb/s") as sim:
    sim.run(IBWIRE_SIM, "pma", f"hcas firmware={OLD} psid={PSID} firmware_date=20211231")
    sim.run(IBWIRE_SIM, "pma", f"switches firmware={SWITCH} psid=MT_0000000063 firmware_date=20220203")
    collector = sim.start(IBWIRE, "collect", "--interval", "1s", "--firmware")
    wait_for(lambda: sim.ibwire("nodes", check=False).status == 0 and all(row["firmware"] for row in nodes(sim).values()))
    known = nodes(sim)
    tap.same("versions, PSIDs and dates are those of vendstat -N",
             {name: (row["firmware"], row["psid"], row["firmware_built"]) for name, row in known.items()},
             {name: vendstat(sim, row["lid"]) for name, row in known.items()})
    tap.equal("one version of each kind is no finding", findings(sim), [])
    tap.contains("the table has them", sim.ibwire("nodes").out.splitlines()[0], "FIRMWARE")
    tap.equal("so has SQL", sim.json("sql", "SELECT DISTINCT firmware FROM nodes ORDER BY 1"),
              [{"firmware": OLD}, {"firmware": SWITCH}])

    sim.ibwire("topology", "save", "before.net")
    sim.ibwire("snapshot", "take", "before")
    tap.equal("nothing has changed", sim.ibwire("topology", "diff", "before.net").out, "no difference\n")
    sim.ibwire("job", "begin", "1", "--name", "train", "--hosts", "node[0001-0004]", "--no-snapshot")
    time.sleep(8)
    sim.ibwire("job", "end", "1", "--no-snapshot")

    # An update of one host, whose HCAs restart.
    sim.run(IBWIRE_SIM, "pma", f"node0002* firmware={NEW} firmware_date=20240808")
    sim.run(IBWIRE_SIM, "wire", "dead=node0002*")
    wait_for(lambda: sim.events("node-unresponsive") or sim.events("node-silent"))
    sim.run(IBWIRE_SIM, "wire", "dead=none")
    wait_for(lambda: len(sim.events("firmware-changed")) == 2)
    tap.equal("an event for each HCA", sorted(row["text"] for row in sim.events("firmware-changed")),
              [f"firmware of node0002 mlx5_{rail} is now {NEW} (PSID {PSID}), before {OLD}" for rail in range(2)])
    wait_for(lambda: findings(sim))
    tap.contains("one finding names the host", findings(sim)[0],
                 f"2 of {sum(row['type'] == 'ca' and row['psid'] == PSID for row in known.values())} ConnectX-6 HCAs with "
                 f"PSID {PSID} have other firmware than {OLD}: {NEW} at node0002; updated since ")
    tap.equal("topology diff", [(row["change"], row["node"], row["was"], row["now"]) for row in
                                sim.json("topology", "diff", "before.net", check=False)],
              [("firmware-changed", f"node0002 mlx5_{rail}", OLD, NEW) for rail in range(2)])
    sim.ibwire("snapshot", "take", "after")
    ports = sim.json("snapshot", "diff", "before", "after")
    tap.equal("snapshot diff", sorted(row["node"] for row in ports if row["firmware_from"] != row["firmware_to"]),
              ["node0002 mlx5_0", "node0002 mlx5_1"])
    tap.contains("its note", sim.ibwire("snapshot", "diff", "before", "after", "--all").out, f"firmware {OLD} -> {NEW}")
    tap.contains("the page of the host", sim.ibwire("report", "node0002").out, NEW)

    sim.ibwire("job", "begin", "2", "--name", "train", "--hosts", "node[0001-0004]", "--no-snapshot")
    time.sleep(4)
    sim.traffic("pause")
    time.sleep(6)
    sim.ibwire("job", "end", "2", "--no-snapshot")
    compared = sim.json("job", "compare", "2")
    tap.contains("a slower run with other firmware", compared["compare"]["text"],
                 f"; other firmware on 2 of its switches and HCAs: node0002 mlx5_0 {NEW}, before {OLD}")
    tap.equal("and all nodes that have it", [(row["node"], row["firmware_before"], row["firmware_now"])
                                             for row in compared["firmware"]],
              [(f"node0002 mlx5_{rail}", OLD, NEW) for rail in range(2)])
    stop(collector)

    sim.ibwire("collect", "--once")
    tap.equal("without --firmware nothing is known any more", {row["firmware"] for row in nodes(sim).values()}, {None})
    at = sim.events("firmware-changed")[0]["time"]
    tap.equal("but in the past", {row["firmware"] for row in sim.json("nodes", "--at", at)}, {OLD, NEW, SWITCH})

tap.done()
