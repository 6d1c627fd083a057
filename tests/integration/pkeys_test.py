#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for opensm; tests/collector/pkey_read_test and analysis/health/partitions_test cover the rules
# waits: for sweeps
"""P_Key tables are those of opensm and of smpquery, port by port; their changes and partitions are shown, past and present."""
import os
import re
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, wait_for

need("ibsim", "opensm", "smpquery")
tap = Tap()


def configure(sim, lines):
    with open(sim.env["IBWIRE_SIM_DIR"] + "/partitions.conf", "w", encoding="ascii") as file:
        file.writelines(line + "\n" for line in lines)
    sim.run(IBWIRE_SIM, "opensm", "restart")


def queried(sim, lid):
    """The P_Keys of a port by smpquery, without unused entries."""
    out = sim.run("smpquery", "pkeys", str(lid)).out
    keys = re.findall(r"0x[0-9a-f]{4}", "\n".join(re.findall(r"^ *\d+: (.*)$", out, re.M)))
    return [key for key in keys if key != "0x0000"]


def shown(sim, *options):
    return {(row["node"], row["port"]): row["pkeys"] for row in sim.json("ports", "--pkeys", *options)}


with Simulation("--gen", "rail --hosts 4") as sim:
    sim.run(IBWIRE, "collect", "--once")
    ports = {(row["node"], row["port"]): row for row in sim.json("ports", "--columns", "node,port,lid,port_guid,node_guid")}
    hcas = sorted(key for key in shown(sim))
    guid = {key: ports[key]["port_guid"] for key in hcas}
    tap.equal("all ports are full members of the default partition at first",
              {tuple(keys) for keys in shown(sim).values()}, {("0xffff",)})
    time.sleep(1.1)  # --at has seconds here
    before = time.time()
    configure(sim, ["Default=0x7fff, ipoib: ALL=limited, SELF=full;",
                    "a=0x12: " + ", ".join(guid[key] + "=full" for key in hcas[8:14]) + ";",
                    "b=0x13: " + ", ".join(guid[key] + ("=full" if key == hcas[14] else "") for key in hcas[12:18]) + ";",
                    "many=0x100: " + guid[hcas[20]] + "=full;"] +
              [f"p{number}=0x{number:x}: {guid[hcas[20]]}=full;" for number in range(0x101, 0x128)])
    lids = {key: ports[key]["lid"] for key in hcas}
    wait_for(lambda: len(queried(sim, lids[hcas[20]])) == 41 and "0x8012" in queried(sim, lids[hcas[13]]))
    time.sleep(2)  # opensm sets the others within this time
    sim.run(IBWIRE, "collect", "--once")
    by_ibwire = shown(sim)
    tap.equal("then each table is that of smpquery", {key: by_ibwire[key] for key in hcas},
              {key: queried(sim, lids[key]) for key in hcas})
    tap.equal("also of more than one block", len(by_ibwire[hcas[20]]), 41)
    partitions = {row["partition"]: row for row in sim.json("topology", "partitions")}
    tap.equal("partitions have the members that were configured",
              [(partitions[base]["ports_full"], partitions[base]["ports_limited"]) for base in ("0x0012", "0x0013", "0x7fff")],
              [(6, 0), (1, 5), (1, len(hcas) - 1)])
    tap.equal("the past has the partitions of the past",
              {tuple(keys) for keys in shown(sim, "--at", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before))).values()}, {("0xffff",)})
    events = [row for row in sim.json("events") if row["kind"] == "pkeys-changed"]
    tap.result(any(re.search(r"changed: .*0x7fff.*, before 0xffff", row["text"]) for row in events) and
               any(re.search(r"P_Keys of \d+ ports changed", row["text"]) for row in events), "changes are events")
    nodes = {row["node"]: row["pkeys"] for row in sim.json("nodes")}
    tap.equal("nodes have the P_Keys of their ports", nodes[hcas[8][0]], ["0x7fff", "0x8012"])
tap.done()
