#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for stalls of traffic; analysis/stall_test covers the rules
# waits: for sweeps
"""How long a port was stalled, from PortXmitWait and the tick that its device tells, is what theory says.

On each of two rails, two hosts of different leafs send 110 Gb/s each to one host
behind a third leaf. The link to it carries 200 Gb/s, so max-min fair each flow gets
100 and wants 10 more: the ports that feed the full link cannot send in
(110 - 100) / 200 = 5 % of the time. Quantum switches count that, and it is known
what their tick is; what the hosts' HCAs count is not documented.
"""
import os
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, stamp_of, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
EXPECTED = 100 * (110 - 100) / 200


def ring(hosts):
    return "--traffic", f"ring hosts={hosts} rate=110Gb/s coupled=no"


def window(until):
    """Three seconds; those at which the same is asked twice."""
    return "--since", stamp_of(until - 3), "--until", stamp_of(until)


def ports(sim, until):
    return {(row["node"].split(";")[-1].split(":")[0], row["port"]): row for row in sim.json("ports", *window(until))}


def is_right(value):
    return value and abs(value - EXPECTED) < 0.5


with tap.part("stall"), Simulation("--gen", "rail --units 3 --hosts 2 --rails 2 --spines 2", "--pma", "switches tick=7",
                                   *ring("node0001,node0003"), *ring("node0001,node0005")) as sim:
    sim.traffic("pause")
    process = sim.start(IBWIRE, "collect", "--interval", "500ms")
    ticks = "SELECT count(tick) AS known FROM caps"
    tap.result(wait_for(lambda: sim.ibwire("status", check=False).status == 0 and sim.json("sql", ticks)[0]["known"] == 8,
                        30, 0.2), "each switch was asked for its tick, once the collector runs")
    # 32 bits of PortXmitWait are full after some 25 s of this. A window in which the machine stood still, so that counters
    # are of another time than they say, is followed by a better one.
    sim.traffic("resume")
    time.sleep(6)
    for _ in range(4):
        until = time.time()
        rows = ports(sim, until)
        waiting = {key: row for key, row in rows.items() if (row["xmit_wait_ticks_per_s"] or 0) > 1000}
        switches = {key: row["stall_percent"] for key, row in waiting.items() if key[0].startswith("leaf")}
        if len(switches) == 4 and all(is_right(value) for value in switches.values()):
            break
        time.sleep(3)
    links = sim.json("links", *window(until))
    stop(process)

    hosts = {key: row["stall_percent"] for key, row in waiting.items() if key[0].startswith("node")}
    tap.equal("a port of each sending leaf waits, on each rail", sorted({name for name, _ in switches}),
              ["leaf-u02-r0", "leaf-u02-r1", "leaf-u03-r0", "leaf-u03-r1"])
    tap.result(all(is_right(value) for value in switches.values()),
               f"and is stalled for {EXPECTED:.0f} % of the time", switches)
    tap.result(hosts and all(value is None for value in hosts.values()),
               "hosts that wait count ticks, of which it is not known how long they are", hosts)
    others = [row["stall_percent"] for key, row in rows.items()
              if key not in waiting and key[0].startswith("leaf") and row["state"] == "Active"]
    tap.result(others and all(value == 0 for value in others), "the other ports of switches do not wait at all", others)
    ends = [value for row in links for value in (row["stall_percent"], row["peer_stall_percent"])]
    tap.equal("links say the same of both of their ends", sorted(value for value in ends if value),
              sorted(switches.values()))
tap.done()
