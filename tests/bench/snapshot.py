#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a snapshot costs, beside a sweep that asks the same, and what a difference costs.

On the fabric and the wire of sweep.py, beside a live collector that sweeps every ten seconds. `take` is the whole
program: it starts, reads the topology from the database, asks, writes, ends. A sweep is what the collector itself
notes of one (without storing it). Medians; "bench: {...}" lines as those of sweep.py.

    RUNS=5        how often each is run
    SIZE=1024     HCAs, as in sweep.py: 1024 of them have 4,144 port ends with the switches'
    WIRE='...'    another wire

Nothing here fails: it measures and prints.
"""
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, run, stop, wait_for

RUNS = int(os.environ.get("RUNS", "5"))
SIZE = int(os.environ.get("SIZE", "1024"))
WIRE = os.environ.get("WIRE", "latency=20us service=100us hold=1s")
SHAPES = {
    256: "rail --units 2 --hosts 16 --rails 8 --spines 8 --links 2 --management 0",
    1024: "rail --units 4 --hosts 32 --rails 8 --spines 16 --links 2 --management 0",
    4096: "rail --units 16 --hosts 32 --rails 8 --spines 32 --links 1 --management 0",
}
FREE = ["--max-mads-per-second", "0", "--window", "128"]


def figure(name, value, unit, peer=None, peer_value=None):
    ratio = value / peer_value if peer_value else None
    versus = f"   {peer}: {peer_value:.4g} {unit}, {ratio:.2f} times that" if ratio else ""
    print(f"  {name:<66} {value:>9.4g} {unit}{versus}")
    print("bench: " + json.dumps({"name": name, "value": value, "unit": unit, "peer": peer, "peer_value": peer_value,
                                  "ratio": ratio and round(ratio, 3)}))
    sys.stdout.flush()


def newest(sim):
    return sim.json("sql", "SELECT coalesce(max(id), 0) AS id FROM sweep")[0]["id"]


def clocked(sim, *command):
    began = time.monotonic()
    done = sim.ibwire(*command)
    return (time.monotonic() - began) * 1000, done.out


def sweeps(sim, options):
    """What single sweeps with these limits take; the discovery before each is not counted."""
    took = []
    for _ in range(RUNS):
        said = json.loads(sim.ibwire("collect", "--once", "--format", "json", *options).out)
        said = said[0] if isinstance(said, list) else said
        took.append((said["sweep_us"] / 1000, said["mads_sent"]))
    return statistics.median(ms for ms, _ in took), took[-1][1]


def takes(sim, prefix, options):
    whole, reports = [], []
    for i in range(RUNS):
        ms, out = clocked(sim, "snapshot", "take", f"{prefix}{i}", "--format", "json", *options)
        report = json.loads(out)
        whole.append(ms)
        reports.append(report[0] if isinstance(report, list) else report)
    middle = {key: statistics.median(report[key] for report in reports)
              for key in ("sweep_us", "commit_us", "spread_us", "mads_sent", "longest_lock_us")}
    return statistics.median(whole), middle


def measure(sim):
    single = {name: sweeps(sim, options) for name, options in (("defaults", []), ("no limit", FREE))}
    collector = sim.start(IBWIRE, "collect", "--interval", "10s", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        last = newest(sim)
        wait_for(lambda: newest(sim) > last, 120, 0.2)
        for name, options in (("defaults", []), ("no limit", FREE)):
            sweep_ms, mads = single[name]
            whole, middle = takes(sim, f"fast {name} ", ["--fast", *options])
            figure(f"take --fast, {name}", whole, "ms", "a sweep", sweep_ms)
            whole, middle = takes(sim, f"all {name} ", options)
            # The same attributes at the sweep's own speed: it has its questions in flight as densely as the wire allows.
            figure(f"take, {name}", whole, "ms", f"its {middle['mads_sent']:.0f} MADs at a sweep's speed",
                   sweep_ms * middle["mads_sent"] / mads)
            figure(f"take, {name}, against its own sweep", whole, "ms", "its sweep", middle["sweep_us"] / 1000)
            figure(f"take, {name}: fast counters apart", middle["spread_us"] / 1000, "ms")
            figure(f"take, {name}: commit", middle["commit_us"] / 1000, "ms")
            figure(f"take, {name}: longest lock of the database", middle["longest_lock_us"] / 1000, "ms")
        for by in ("port", "link", "switch", "host"):
            for form in ("table", "json"):
                figure(f"diff --by {by}, {form}",
                       statistics.median(clocked(sim, "snapshot", "diff", "all defaults 0", "all no limit 0", "--by", by,
                                                 "--format", form)[0] for _ in range(RUNS)), "ms")
    finally:
        stop(collector)


def main():
    work = run("mktemp", "-d").out.strip()
    os.chdir(work)
    print(f"wire: {WIRE}; load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; median of {RUNS} runs")
    try:
        print(f"{SIZE} HCAs: {SHAPES[SIZE]}")
        with Simulation("--gen", SHAPES[SIZE], "--wire", WIRE) as sim:
            measure(sim)
    finally:
        os.chdir("/")
        run("rm", "-rf", work)


main()
