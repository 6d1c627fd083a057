#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for iterations of a job
"""A job whose process stops on one host: it begins, its rhythm is known, the finding job-stalled names the host at the
next sweep, and closes when the process goes on. Between the sweeps, --fast-jobs reads only the ports of the job, with
the MADs that its estimate says.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, as_seconds, need, read_file, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
HOSTS, RAILS, INTERVAL_S = 8, 2, 5
STOPPED = "node0006"


def stalled(sim):
    return [row for row in sim.json("health", "--since", "-10m", check=False) if row["kind"] == "job-stalled"]


def alerts():
    """Changes of the finding that `health --watch` delivered."""
    if not os.path.exists("alerts.json"):
        return []
    rows = [json.loads(line) for line in read_file("alerts.json").splitlines()]
    return [row["change"] for row in rows if row["kind"] == "job-stalled"]


def estimated(sim):
    """MADs per second of the running job."""
    row = sim.json("collect", "--estimate", "--fast-jobs=500ms", "--interval", f"{INTERVAL_S}s")
    tap.equal("the estimate is that of the running job", (row["fast_assumes"], row["fast_ports"]),
              ("1 running job", HOSTS * RAILS))
    return row["fast_mads_per_s"]


def check_cost(row, per_s):
    """On a busy machine ports do not respond in time, and their LIDs are verified: two MADs."""
    each = row["fast_mads"] / row["fast_rounds"] / HOSTS / RAILS
    tap.result(0.9 < each < 1.5 if row["mads_timed_out"] else 1 <= each < 1.1, "each round is one MAD per port", row)
    tap.equal("the estimate has nine rounds per sweep", per_s, 9 * HOSTS * RAILS / INTERVAL_S)


def main():
    with Simulation("--gen", f"rail --units 1 --hosts {HOSTS + 4} --rails {RAILS}", "--traffic",
                    f"ring hosts=node0001-node{HOSTS:04} iteration=2s wire=40%", "--pma",
                    "all caps=0x5300 caps2=0x2 tick=7") as sim:
        with open("collect.log", "w", encoding="utf-8") as log, open("collect.json", "w", encoding="utf-8") as out:
            collector = sim.start(IBWIRE, "collect", "--interval", f"{INTERVAL_S}s", "--fast-jobs=500ms", "--timeout", "1000",
                                  "--count", "1000", "--format", "json", stdout=out, stderr=log)
        tap.result(wait_for(lambda: os.path.exists(sim.env["IBWIRE_DB"]) and
                            sim.ibwire("status", check=False).status == 0, 30), "the collector polls")
        sim.ibwire("job", "begin", "7", "--hosts", f"node[0001-{HOSTS:04}]", "--no-snapshot")
        per_s = estimated(sim)
        time.sleep(75)  # a job is learnt from a minute, of sweeps that are complete
        tap.result(wait_for(lambda: sim.json("job", "list")[-1]["period_s"], every=1), "its rhythm is known", sim.json("job", "list"))
        tap.equal("a job that communicates is not stalled", stalled(sim), [])
        watch = sim.start(IBWIRE, "health", "--watch", "--exec", "cat >> alerts.json")
        time.sleep(2)
        began = time.time()
        sim.run(IBWIRE_SIM, "break", "freeze", STOPPED)
        opened = wait_for(lambda: stalled(sim), every=0.5)
        took = time.time() - began
        tap.result(opened, f"the stall is found ({took:.1f} s)", read_file("collect.log"))
        rows = stalled(sim)
        if rows:
            tap.result(STOPPED in rows[0]["text"], "and names the host that stopped", rows[0]["text"])
            tap.result(abs(as_seconds(rows[0]["since"]) - began) < 4, "and when", (rows[0]["since"], began))
        sim.run(IBWIRE_SIM, "repair")
        tap.result(wait_for(lambda: all(row["closed"] for row in stalled(sim)), 90, 0.5),
                   "it closes when the job goes on", stalled(sim))
        tap.equal("once", len(stalled(sim)), 1)
        tap.result(wait_for(lambda: "closed" in alerts(), every=0.5), "its end is delivered", alerts())
        tap.equal("and its beginning before", alerts()[0], "opened")
        stop(watch)
        stop(collector)
        check_cost(json.loads(read_file("collect.json")), per_s)


main()
tap.done()
