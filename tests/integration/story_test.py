#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for windows of traffic
# timeout: 1200
# waits: for traffic and findings
"""A job of 256 GPUs becomes slow because the routes of one leaf have changed: switch, cause and time are found.

Cabling and link states do not change, and no errors are counted.

Windows are a third and intervals a fifth of the defaults, and shorter with sanitizers. With IBWIRE_STORY_FULL set the
defaults are used and the routes are repaired at the end (10 minutes).
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, SHORT, Simulation, Tap, as_seconds, need, stamp_of, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
FULL = bool(os.environ.get("IBWIRE_STORY_FULL"))
WINDOW_S = 60 if FULL else 8 if SHORT else 20
FOUND_WITHIN_S = 90
SINCE_WITHIN_S = 12 if FULL else 7  # an interval, and the beat at which tables are read
OPTIONS = [] if FULL else ["--interval", "1s" if SHORT else "2s", "--routes", "3s", "--settings", "story.conf"]
LEAF, PORT = "leaf-u02-r3", 20
# 32 hosts with 8 GPUs, each with an HCA of its own; every host sends to the other unit, over the spines.
FABRIC = "rail --units 2 --hosts 16 --rails 8 --spines 8"
JOB = "ring stride=16 rate=100Gb/s"


def job_rate(sim):
    """Gb/s of the job's slowest flow in the simulation."""
    return float(re.search(r"slowest ([0-9.]+)", sim.run(IBWIRE_SIM, "traffic", "status").out)[1])


def wrong(sim, *options):
    """Exit status and findings above info."""
    said = sim.ibwire("health", "--format", "json", *options, check=False)
    if said.status > 2:
        raise RuntimeError(str(said))
    return said.status, [row for row in sim_rows(said) if row["severity"] != "info"]


def sim_rows(said):
    return json.loads(said.out)


def balance(sim, until=None):
    """{(switch, group, direction): (cause, {port: its row})} of the window before a time."""
    end = until or time.time()
    groups = {}
    for row in sim.json("balance", "--all", "--since", stamp_of(end - WINDOW_S), "--until", stamp_of(end)):
        key = (row["node_guid"], row["group"], row["group_peer_guid"], row["direction"])
        groups.setdefault(key, (row["cause"], {}))[1][row["port"]] = row
    return groups


def causes(groups):
    return {key: cause for key, (cause, _) in groups.items() if cause not in (None, "none")}


def check_before(sim):
    tap.equal("before: no open findings", wrong(sim), (0, []))
    sim.ibwire("topology", "save", "baseline")
    sim.run(IBWIRE_SIM, "routes", "save", "before.lfts")
    rate = job_rate(sim)
    tap.result(rate > 95, "the job reaches its rate", rate)


def check_finding(sim, guid, row, skewed):
    tap.equal("health names the switch's uplinks and the cause", (row["kind"], row["node_guid"], row["cause"]),
              ("uplink-imbalance", guid, "routing"))
    tap.contains("in words", row["subject"], LEAF)
    tap.contains("the group", row["subject"], "uplinks")
    tap.contains("and the uplink", row["text"], f"port {PORT} ")
    tap.equal("its severity is critical", row["severity"], "critical")
    off = as_seconds(row["since"]) - skewed
    tap.note(f"since is {off:+.1f} s from the change of the tables")
    tap.result(-1 <= off <= SINCE_WITHIN_S or (FULL and abs(off) <= SINCE_WITHIN_S),
               "it began when the tables were changed", f"{row['since']}, changed at {stamp_of(skewed)}")
    tap.result(row["affected_hosts"] == 16 and row["hosts"], "and touches the leaf's hosts", row)
    status, rows = wrong(sim)
    tap.equal("it is the only finding", (status, [other["id"] for other in rows]), (2, [row["id"]]))
    tap.equal("also for a job on these hosts", wrong(sim, "--job", "node[0017-0018]")[0], 2)
    text = sim.ibwire("health", check=False).out
    tap.result("CRITICAL" in text and "cause: routing" in text and LEAF in text, "a person reads the same", text)
    for line in text.splitlines():
        tap.note(line)


def check_around(sim, guid, skewed):
    diff = sim.ibwire("topology", "diff", "baseline", "--format", "json", check=False)
    tap.equal("topology diff: no change of cables", (diff.status, sim_rows(diff)), (0, []))
    events = [row["node_guid"] for row in sim.json("events", "--since", stamp_of(skewed - 1)) if row["kind"] == "routes-changed"]
    tap.equal("only its table has changed", events, [guid])

    before, now = balance(sim, skewed - 1), balance(sim)
    tap.equal("balance --until before: no group has a cause", causes(before), {})
    key = (guid, "up", None, "xmit")
    tap.equal("balance now: the same switch and cause as health, and no other", causes(now), {key: "routing"})
    shares = {port: (row["measured_share_percent"], row["hottest"], row["destinations"])
              for port, row in now.get(key, (None, {}))[1].items()}
    tap.result(shares and max(shares, key=lambda port: shares[port][0]) == PORT ==
               max(shares, key=lambda port: shares[port][2]), "by what is measured and by the tables", shares)
    first = {port: row["destinations"] for port, row in before.get(key, (None, {}))[1].items()}
    tap.result(first and max(first.values()) <= 1.25 * min(first.values()), "before they were even", first)
    tap.equal("health --at before: no findings", wrong(sim, "--at", stamp_of(skewed - 1)), (0, []))


def check_mended(sim):
    sim.run(IBWIRE_SIM, "routes", "load", "before.lfts")
    began = time.time()
    tap.result(wait_for(lambda: wrong(sim) == (0, []), 500, 2), "with the old routes it closes")
    tap.note(f"closed {time.time() - began:.0f} s after the routes were mended")
    tap.equal("and balance shows no cause", causes(balance(sim)), {})


with open("story.conf", "w", encoding="ascii") as conf:
    conf.write(f"[balance]\nwindow = {WINDOW_S}s\n")
with tap.part("story"), Simulation("--gen", FABRIC, "--traffic", JOB) as sim:
    process = sim.start(IBWIRE, "collect", *OPTIONS)
    try:
        time.sleep(WINDOW_S * 1.3 + 8)
        guid = sim.guid(LEAF)
        check_before(sim)
        skewed = time.time()
        tap.note(sim.run(IBWIRE_SIM, "routes", "skew", f"{LEAF}/{PORT}", "0.5").out.strip())
        found = wait_for(lambda: wrong(sim)[1], FOUND_WITHIN_S, 0.5)
        tap.result(found, f"it is found within {FOUND_WITHIN_S} s")
        tap.note(f"found {time.time() - skewed:.1f} s after the tables were changed; the job runs at {job_rate(sim):.0f} Gb/s"
                 " instead of 100")
        # Of the first window a part was before.
        wait_for(lambda: wrong(sim)[0] == 2, skewed + FOUND_WITHIN_S - time.time(), 0.5)
        tap.note(f"critical {time.time() - skewed:.1f} s after")
        check_finding(sim, guid, wrong(sim)[1][0], skewed)
        time.sleep(WINDOW_S if FULL else WINDOW_S / 2)
        check_around(sim, guid, skewed)
        if FULL:
            check_mended(sim)
    finally:
        stop(process)

tap.done()
