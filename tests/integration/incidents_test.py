#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for faults to be seen, and to be repaired
"""One fault is one finding at its place, and two are two, on ibsim: a few of those of tests/bench/incidents.

With IBWIRE_LONG=1 more of them.
"""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, stop, wait_for

need("ibsim", "opensm")
tap = Tap()

# The same limits as always, with shorter times.
SETTINGS = """[health]
link_down_after = 2s
degraded_after = 2s
silent_after = 2s
training = 2s
recovery = 2s
state_recovery = 2s
"""
WAIT_S = 40

# What is broken, and the places that its finding may name.
HOST = (("hang", "node0003"), {"node0003"})
LEAF = (("hang", "leaf-u02-r1"), {"leaf-u02-r1"})
CABLE = (("unplug", "leaf-u01-r0/5"), {"leaf-u01-r0/5"})
SLOW = (("slow", "leaf-u02-r0/6"), {"leaf-u02-r0/6"})
ERRORS = (("errors", "leaf-u01-r1/6"), {"leaf-u01-r1/6"})
# Links to a switch that hangs are not coming up: the cable beside it is found at once.
INCIDENTS = [(LEAF, CABLE), (HOST, ERRORS)]
if os.environ.get("IBWIRE_LONG"):
    INCIDENTS += [(LEAF,), (HOST,), (CABLE,), (SLOW,), (ERRORS,), (LEAF, HOST), (CABLE, HOST), (SLOW, LEAF),
                  (ERRORS, SLOW)]


def shown(sim):
    """The places of the findings that are shown by themselves: for each the set of nodes and ports that it names."""
    rows = json.loads(sim.ibwire("health", "--format", "json", check=False).out)
    return [(row["kind"], row["subject"], names(row["node"], row["port"]) | names(row["peer"], row["peer_port"]))
            for row in rows if row["severity"] != "info" and not row["ok_since"] and row["origin"] is None]


def names(node, port):
    """Of a node: "MF0;leaf-u01-r0:MQM8700/U1" is leaf-u01-r0, and "node0003 mlx5_0" is a host with an HCA."""
    node = re.sub(r"^.*;(.*):.*$", r"\1", node or "")
    return {node, node.split(" ")[0], f"{node}/{port}"}


def check(sim, faults):
    name = " and ".join(" ".join(fault) for fault, _ in faults)
    for fault, _ in faults:
        sim.run(IBWIRE_SIM, "break", *fault)

    def all_found():
        findings = shown(sim)
        return all(any(places & named for _, _, named in findings) for _, places in faults)

    tap.result(wait_for(all_found, WAIT_S, 0.3), f"{name}: each is found at its place", shown(sim))
    time.sleep(2)
    findings = shown(sim)
    tap.result(len(findings) <= len(faults), f"{name}: no more findings than faults", findings)
    wrong = [(kind, subject) for kind, subject, named in findings if not any(places & named for _, places in faults)]
    tap.equal(f"{name}: none is somewhere else", wrong, [])
    sim.run(IBWIRE_SIM, "repair")
    tap.result(wait_for(lambda: not shown(sim), WAIT_S, 0.3), f"{name}: none is left after the repair", shown(sim))


with open("quick.conf", "w", encoding="ascii") as conf:
    conf.write(SETTINGS)
with Simulation("--gen", "rail --hosts 4 --rails 2 --spines 2") as sim:
    collector = sim.start(IBWIRE, "collect", "--interval", "500ms", "--routes", "2s", "--settings", "quick.conf",
                          stdout=subprocess.DEVNULL)
    try:
        tap.result(wait_for(lambda: sim.ibwire("health", check=False).status == 0, every=0.3), "nothing is found before")
        for incident in INCIDENTS:
            check(sim, incident)
    finally:
        stop(collector)
tap.done()
