#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Cost of a sweep, compared with other programs, on a simulated wire with delays.

48 switches and 1,024 HCAs (4,096 port ends); each MAD travels for 20 us, and an agent takes 100 us for a response
(ibwire-sim run --wire). The programs run in turns on the same fabric; the median is printed.

Compared are: iblinkinfo (discovery), ibqueryerrors (discovery and counters), both with their defaults and with -o 128
SMPs in flight; flood.c, a bare loop that reads the counters of the same ports with the same window and ignores them.
(A sweep sends about 8 % more MADs: slow counters and change detection.) ibwire runs with its default limit (20,000
MADs per second) and without it.

    RUNS=5        runs of each
    SECONDS=20    duration of the collector for its CPU time
    SIZES=1024    HCAs, also a list: 1024,4096,7936,16384; the others are compared for the first only.
                  The largest takes one or two minutes to start, and 2 GB
    WIRE='...'    other delays
    ONLY=dead     only the sweeps with dead nodes; ONLY=discovery: only discoveries by both engines; ONLY=growth: only the
                  collector's CPU time and memory
    ONLY=reboot   only the cost of a reboot, for each size: an HCA does not respond for two minutes and returns.
                  All MADs but those of opensm are counted, less those of quiet sweeps. It takes twelve minutes
    BEFORE=PATH   another ibwire for ONLY=reboot, on the same simulation
    AGENTS='...'  performance agents, as 'all caps=0x5300 caps2=0x2' (64-bit error counters)

It only measures and prints. Each figure has a line "bench: {...}".
"""
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, run, wait_for

RUNS = int(os.environ.get("RUNS", "5"))
SECONDS = int(os.environ.get("SECONDS", "20"))
SIZES = [int(size) for size in os.environ.get("SIZES", "1024").split(",")]
ONLY = os.environ.get("ONLY")
WIRE = os.environ.get("WIRE", "latency=20us service=100us hold=1s")
AGENTS = os.environ.get("AGENTS")
BEFORE = os.environ.get("BEFORE")
FLOOD = os.environ.get("FLOOD")
SHAPES = {  # HCAs: arguments of ibwire-sim net
    256: "rail --units 2 --hosts 16 --rails 8 --spines 8 --links 2 --management 0",
    1024: "rail --units 4 --hosts 32 --rails 8 --spines 16 --links 2 --management 0",
    4096: "rail --units 16 --hosts 32 --rails 8 --spines 32 --links 1 --management 0",
    7936: "rail --units 31 --hosts 32 --rails 8 --spines 32 --links 1 --management 0",
    11264: "tree3 --pods 11 --leafs 32 --hosts 32 --rails 1 --spines 32 --cores 256 --management 0",
    16384: "tree3 --pods 16 --leafs 32 --hosts 32 --rails 1 --spines 32 --cores 256 --management 0",
}
DEFAULT_RATE = 20000  # MADs per second
FREE = ["--max-mads-per-second", "0", "--window", "128", "--max-smps", "128"]
ERRORS = ["ibqueryerrors", "--data", "--details", "--report-port", "--switch", "--ca"]
DEAD = 10
DEAD_SWEEPS = 8
MEMORY = "/dev/shm"


def figure(name, value, unit, peer=None, peer_value=None):
    """Print a line to read and one for programs."""
    ratio = value / peer_value if peer_value else None
    versus = f"   {peer}: {peer_value:.4g} {unit}, that is {1 / ratio:.1f} times as much" if ratio else ""
    print(f"  {name:<76} {value:>9.4g} {unit}{versus}")
    print("bench: " + json.dumps({"name": name, "value": value, "unit": unit, "peer": peer, "peer_value": peer_value,
                                  "ratio": ratio and round(ratio, 3)}))
    sys.stdout.flush()


class Times:
    """Measurements by name, in milliseconds."""

    def __init__(self):
        self.all = {}

    def add(self, name, value):
        self.all.setdefault(name, []).append(value)

    def middle(self, name):
        return statistics.median(self.all[name])

    def clock(self, name, sim, *command):
        began = time.monotonic()
        done = sim.run(*command, check=False)
        self.add(name, (time.monotonic() - began) * 1000)
        return done


def once(sim, times, name, *options):
    """collect --once, and the times of its parts from its report."""
    report = json.loads(times.clock(name, sim, IBWIRE, "collect", "--once", "--format", "json", *options).out)
    report = report[0] if isinstance(report, list) else report
    for part in ("discovery", "sweep", "commit"):
        times.add(f"{name} {part}", report[f"{part}_us"] / 1000)
    return report


def ports_of(sim, path):
    """The input of flood: LID and port of each port, nodes interleaved."""
    by_lid = {}
    for row in sim.json("ports"):
        if row["state"] == "Active":
            by_lid.setdefault(row["lid"], []).append(row["port"])
    with open(path, "w", encoding="ascii") as file:
        for turn in range(max(map(len, by_lid.values()))):
            for lid, ports in by_lid.items():
                if turn < len(ports):
                    file.write(f"{lid} {ports[turn]}\n")


def flood(sim, times, path, window, per_node):
    with open(path, "rb") as ports:
        done = subprocess.run([FLOOD, str(window), str(per_node)], stdin=ports, stdout=subprocess.PIPE, env=sim.env,
                              check=True)
    times.add(f"flood {window} {per_node}", int(done.stdout.split()[0]) / 1000)


def clean(sim, times):
    sim.ibwire("collect", "--once")
    ports_of(sim, "ports")
    for _ in range(RUNS):
        times.clock("iblinkinfo", sim, "iblinkinfo")
        times.clock("iblinkinfo -o 128", sim, "iblinkinfo", "-o", "128")
        times.clock("ibqueryerrors", sim, *ERRORS)
        times.clock("ibqueryerrors -o 128", sim, *ERRORS, "-o", "128")
        once(sim, times, "defaults")
        report = once(sim, times, "free", *FREE)
        if FLOOD:
            flood(sim, times, "ports", 128, 1)
            flood(sim, times, "ports", 32, 1)
    print(f"  {report['ports_answered']} ports, {report['mads_sent']} MADs per sweep, {report['discovery_smps']} SMPs per discovery")
    middle = times.middle
    figure("discovery, defaults (max_smps 8)", middle("defaults discovery"), "ms", "iblinkinfo", middle("iblinkinfo"))
    figure("discovery, --max-smps 128", middle("free discovery"), "ms", "iblinkinfo -o 128", middle("iblinkinfo -o 128"))
    figure("discovery, --max-smps 128, against its default", middle("free discovery"), "ms", "iblinkinfo",
           middle("iblinkinfo"))
    figure("collect --once, defaults", middle("defaults"), "ms", "ibqueryerrors", middle("ibqueryerrors"))
    figure("collect --once, no limit", middle("free"), "ms", "ibqueryerrors -o 128", middle("ibqueryerrors -o 128"))
    figure("sweep, defaults", middle("defaults sweep"), "ms", "ibqueryerrors", middle("ibqueryerrors"))
    figure("sweep, no limit, against ibqueryerrors", middle("free sweep"), "ms", "ibqueryerrors", middle("ibqueryerrors"))
    figure("sweep, no limit", middle("free sweep"), "ms", "ibqueryerrors -o 128", middle("ibqueryerrors -o 128"))
    if FLOOD:
        figure("sweep, no limit, against the bare loop", middle("free sweep"), "ms", "flood, window 128", middle("flood 128 1"))
        figure("bare loop, window 32", middle("flood 32 1"), "ms")
        # The time of a program that discovers like iblinkinfo, queries like the bare loop, and does nothing else.
        figure("collect --once, no limit, against what the wire allows", middle("free"), "ms",
               "iblinkinfo -o 128 and the bare loop", middle("iblinkinfo -o 128") + middle("flood 128 1"))
    figure("commit", middle("free commit"), "ms")


def discoveries(sim, times):
    """The whole fabric by both engines and by iblinkinfo."""
    iblinkinfo = "iblinkinfo -o 128"
    for _ in range(RUNS):
        times.clock(iblinkinfo, sim, "iblinkinfo", "-o", "128")
        for engine in ("libibnetdisc", "explorer"):
            once(sim, times, engine, *FREE, "--discovery", engine)
    for engine in ("libibnetdisc", "explorer"):
        figure(f"discovery by {engine}, --max-smps 128", times.middle(f"{engine} discovery"), "ms", iblinkinfo,
               times.middle(iblinkinfo))


def collect(sim, *options, interval_s=1, program=IBWIRE):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return sim.start(program, "collect", "--interval", str(interval_s), *options, **quiet)


def sweeps_since(sim, sweep):
    return sim.json("sql", "SELECT id, end_us - start_us AS took_us, ports_answered, ports_polled, ports_planned "
                    f"FROM sweep WHERE id > {sweep} ORDER BY id")


def settled(sim):
    """Has the newest sweep read every port?"""
    row = sweeps_since(sim, sim.newest() - 1)[-1]
    return row["ports_answered"] == row["ports_planned"]


def hcas(sim):
    """GUIDs of all HCAs but that of the collector."""
    nodes = [row["node_guid"] for row in sim.json("nodes") if row["type"] != "switch"]
    return [guid for guid in nodes if not guid.endswith(sim.env["SIM_HOST"][2:])]


def dead(sim, times):
    """
    Ten HCAs fail under a running collector, several times: duration of the sweep in which they fail and of the
    following ones, compared with earlier sweeps and with other programs.
    """
    victims = hcas(sim)[-DEAD:]
    before, after = [], [[] for _ in range(DEAD_SWEEPS)]
    process = collect(sim, *FREE[:4])
    try:
        for _ in range(RUNS):
            time.sleep(3)
            wait_for(lambda: settled(sim), 60, 0.2)
            last = sim.newest()
            wait_for(lambda first=last: sim.newest() >= first + DEAD_SWEEPS, 60, 0.1)
            sim.run(IBWIRE_SIM, "wire", "dead=" + ",".join(victims))
            failed_at = sim.newest()
            wait_for(lambda first=failed_at: sim.newest() >= first + DEAD_SWEEPS + 1, 60, 0.1)
            rows = sweeps_since(sim, last)
            # They may have failed at the end of a sweep that had read them all.
            first = next(i for i, row in enumerate(rows) if row["ports_answered"] < row["ports_planned"])
            before += [row["took_us"] / 1000 for row in rows[:first]]
            for turn, row in enumerate(rows[first:first + DEAD_SWEEPS]):
                after[turn].append(row["took_us"] / 1000)
            sim.run(IBWIRE_SIM, "wire", "dead=none")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    sim.run(IBWIRE_SIM, "wire", "dead=" + ",".join(victims))
    for _ in range(max(1, RUNS // 3)):
        times.clock("dead ibqueryerrors", sim, *ERRORS)
        times.clock("dead ibqueryerrors -o 128", sim, *ERRORS, "-o", "128")
    sim.run(IBWIRE_SIM, "wire", "dead=none")
    clean_ms, turns = statistics.median(before), [statistics.median(turn) for turn in after]
    allowed_ms = 1.2 * clean_ms + 20
    all_after = [took for turn in after for took in turn]

    def above(values):
        return f"{sum(took > allowed_ms for took in values)} of {len(values)}"
    print(f"  {len(before)} clean sweeps: median {clean_ms:.0f} ms, 1.2 x that + 20 ms = {allowed_ms:.0f} ms; "
          f"longer: {above(before)}")
    print(f"  {DEAD} HCAs fail, {RUNS} times; the sweep in which they fail and those after it, medians: " +
          ", ".join(f"{turn:.0f}" for turn in turns) + f" ms; of all of them longer: {above(all_after)}")
    for peer in ("ibqueryerrors", "ibqueryerrors -o 128"):
        figure(f"sweep, no limit, in which {DEAD} HCAs fail", turns[0], "ms", peer, times.middle("dead " + peer))
    figure(f"sweep, no limit, in which {DEAD} HCAs fail, against a clean one", turns[0], "ms", "clean sweep", clean_ms)
    figure(f"sweep, no limit, {DEAD} dead HCAs (the slowest turn's median)", max(turns), "ms", "clean sweep", clean_ms)


QUIET_S, AWAY_S, RETURN_S = 60, 120, 120


def reboot(sim, size, victim, program):
    """
    MADs and duration of a sweep; what an HCA adds that is silent for two minutes, until two minutes after its return,
    and what one adds whose link is down as well. Forwarding tables are not read; there is no periodic discovery.
    """
    def sql(statement):
        return json.loads(sim.run(program, "sql", "--format", "json", statement).out)[0]

    def newest():
        return sql("SELECT coalesce(max(id), 0) AS id FROM sweep")["id"]

    def run_for(seconds):
        """MADs and SMPs on the wire, without those of opensm, up to the end of a sweep; and its number."""
        last = newest() + seconds // 10
        wait_for(lambda: newest() >= last, 30 * seconds, 0.3)
        requests, smps, opensm = re.search(r"(\d+) requests \((\d+) SMPs\)[^\n]*\n(\d+) of the SMPs",
                                           sim.run(IBWIRE_SIM, "wire").out).groups()
        return int(requests) - int(opensm), int(smps) - int(opensm), newest()

    def away(link):
        sim.run(IBWIRE_SIM, "wire", "dead=" + victim)
        if link:
            sim.run(IBWIRE_SIM, "console", f'Unlink "H-{victim[2:]}"')
        run_for(AWAY_S)
        sim.run(IBWIRE_SIM, "wire", "dead=none")
        if link:
            sim.run(IBWIRE_SIM, "console", f'ReLink "H-{victim[2:]}"')
        counts.append(run_for(RETURN_S))

    sim.env["IBWIRE_DB"] += "-before" if program == BEFORE else ""
    name = f"{size} HCAs" + (", before" if program == BEFORE else "")
    options = [*FREE[:2], "--routes", "0", "--rediscover", "1h"]
    # The first 60 sweeps query the capabilities and detail counters of each port for the first time.
    collect(sim, "--count", "61", *options, program=program).wait()
    process = collect(sim, *options, interval_s=10, program=program)
    try:
        counts = [run_for(40)]
        counts.append(run_for(QUIET_S))
        row = sql(f"SELECT avg(mads_sent) AS mads, avg(end_us - start_us) / 1e3 AS took FROM sweep WHERE "
                  f"id > {counts[0][2]} AND id <= {counts[1][2]}")
        figure(f"{name}: MADs per sweep", row["mads"], "MADs")
        figure(f"{name}: sweep", row["took"], "ms")
        away(False)
        away(True)
        lost = sql("SELECT sum(mads_retried) AS lost FROM sweep")["lost"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    for what, begin, end in (("silent", 1, 2), ("link down", 2, 3)):
        for i, unit in enumerate(("MADs", "SMPs")):
            quiet = (counts[1][i] - counts[0][i]) / (counts[1][2] - counts[0][2])
            extra = counts[end][i] - counts[begin][i] - quiet * (counts[end][2] - counts[begin][2])
            figure(f"{name}: reboot of a host, {what}, {lost} retries", extra, "additional " + unit)


def ticks(path):
    """User and system time of a process or a thread, in clock ticks."""
    with open(path + "/stat", encoding="ascii") as stat:
        return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))


def burden(sim, size):
    """CPU time and memory of the collector at one sweep per second, or per ten seconds if a sweep takes longer."""
    report = once(sim, Times(), "free", *FREE)
    sweep_ms = report["sweep_us"] / 1000
    interval_s = 1 if sweep_ms < 800 else 10
    # The default limit on MADs per second would cut the sweeps of a large fabric, which makes them incomparable.
    options = [] if report["mads_sent"] < 0.75 * DEFAULT_RATE else FREE[:4]
    before = sim.newest()
    process = collect(sim, *options, interval_s=interval_s)
    proc = f"/proc/{process.pid}"
    wait_for(lambda: sim.newest() > before + 1, 600, 0.2)
    seconds, main_thread = max(SECONDS, 3 * interval_s), f"{proc}/task/{process.pid}"
    sweep, all_before, main_before, began = sim.newest(), ticks(proc), ticks(main_thread), time.monotonic()
    time.sleep(seconds)
    sweeps = sim.newest() - sweep
    per_s = 1000 / os.sysconf("SC_CLK_TCK")
    cpu_ms, main_ms = (ticks(proc) - all_before) * per_s, (ticks(main_thread) - main_before) * per_s
    elapsed_ms = (time.monotonic() - began) * 1000
    with open(proc + "/status", encoding="ascii") as status:
        memory = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    rows = sweeps_since(sim, sweep)
    took = statistics.median(row["took_us"] / 1000 for row in rows)
    name = f"{size} HCAs, a sweep every {interval_s} s, {'no limit' if options else 'defaults'}"
    figure(f"{name}: sweep", took, "ms")
    figure(f"{name}: CPU (its process: user and system)", 100 * cpu_ms / elapsed_ms, "% of a core")
    # On a real fabric the kernel does the work of umad2sim's thread.
    figure(f"{name}: without umad2sim's thread", 100 * main_ms / elapsed_ms, "% of a core")
    figure(f"{name}: memory", memory, "MB")
    return {"HCAs": size, "ports": max(row["ports_answered"] for row in rows), "sweep_ms": took, "free_ms": sweep_ms,
            "cpu_ms": cpu_ms / max(sweeps, 1), "memory_mb": memory}


def print_growth(grown):
    """A table of the sizes; in brackets the cost per port relative to the first size."""
    print(f"  {'HCAs':>6} {'ports':>7} {'sweep, no limit':>20} {'sweep':>9} {'CPU a sweep':>20} {'memory':>20}")
    for row in grown:
        def relative(key, unit):
            first = grown[0][key] / grown[0]["ports"]
            return f"{row[key]:.1f} {unit} ({row[key] / row['ports'] / first:.2f})"
        print(f"  {row['HCAs']:>6} {row['ports']:>7} {relative('free_ms', 'ms'):>20} {row['sweep_ms']:>6.0f} ms "
              f"{relative('cpu_ms', 'ms'):>20} {relative('memory_mb', 'MB'):>20}")


def main():
    # umad2sim writes an emulated sysfs for each process in the working directory, so that is in memory.
    disk = run("mktemp", "-d").out.strip()
    work = run("mktemp", "-d", *(["-p", MEMORY] if os.path.isdir(MEMORY) else [])).out.strip()
    os.chdir(work)
    print(f"wire: {WIRE}; load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; median of {RUNS} runs")
    grown = []
    try:
        for size in SIZES:
            began = time.monotonic()
            print(f"{size} HCAs: {SHAPES[size]}")
            times = Times()
            with Simulation("--gen", SHAPES[size], "--wire", WIRE, *(["--pma", AGENTS] if AGENTS else [])) as sim:
                print(f"  up in {time.monotonic() - began:.1f} s")
                sim.env["IBWIRE_DB"] = f"{disk}/{size}.db"
                if ONLY == "reboot":
                    sim.ibwire("collect", "--once")
                    victim = hcas(sim)[-1]
                    for program in filter(None, (IBWIRE, BEFORE)):
                        reboot(sim, size, victim, program)
                    continue
                if size == SIZES[0] and ONLY != "growth":
                    if ONLY == "dead":
                        sim.ibwire("collect", "--once")
                    elif ONLY != "discovery":
                        clean(sim, times)
                    if ONLY != "dead":
                        discoveries(sim, times)
                    if ONLY != "discovery":
                        dead(sim, times)
                if ONLY and ONLY != "growth":
                    continue
                grown.append(burden(sim, size))
                print("  " + sim.run(IBWIRE_SIM, "wire").out.strip().replace("\n", "\n  "))
        if grown:
            print_growth(grown)
    finally:
        os.chdir("/")
        run("rm", "-rf", work, disk)


main()
