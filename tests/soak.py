#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Soak test: a collector runs for two hours on a fabric with random faults.

make soak; settings in the environment:

    SECONDS=7200   duration
    SIZE=64        HCAs: 16, 64, 128, 256
    SEED=1         of the faults and their times
    SERVICE=1      with ibwire metrics and ibwire push (tests/soak_service.py); needs Debian's prometheus
    KEEP=DIR       folder for the database, the samples (CSV) and stderr; default: a temporary folder, removed
                   after success

The collector polls once a second. Links go down and return, agents of hosts and switches stop and return, opensm is
stopped and restarted, perfquery resets counters of some ports, MADs are lost, and the collector itself is stopped for
some seconds. Memory, file descriptors, threads, CPU time and file sizes of the collector are sampled every 10 s.

The report is a table and plots; its last line is the result. Checks:

- growth: the slope (Theil-Sen) of memory over the second half; file descriptors and threads that never decrease.
  Every two minutes a window of sweeps is packed, with temporary allocations. So the lower quartile of each two minutes
  must not grow, both of the process's private memory and of the heap, without SQLite's page caches, which
  tests/heap_watch.c measures separately. The page caches have a limit. The heap of the collector is without findings
  link-flapping, too: one for each link that went down repeatedly within a day. Runs below half an hour do not check
  memory.
- the beat: an event for each second without a sweep, and for a sweep that did not read all ports in time.
- coverage: in each sweep each port was read, or is covered by a span with the reason.
- exact: for each port and counter, deltas and times add up between absolute readings.
- truth: for ports without a reset, the stored traffic is the traffic driver's.
- service: each pushed sample is stored exactly once, counters in Prometheus never decrease, no scrape failed, and the
  resources of both processes do not grow.
- no process died, stderr has no unexpected line, and at the end all ports respond.
"""
import contextlib
import csv
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
import lib
from lib import Simulation, run, stop, wait_for
from soak_service import Service
from stored import Stored

SHAPES = {
    16: "rail --units 2 --hosts 2 --rails 4 --spines 2",
    64: "rail --units 2 --hosts 4 --rails 8 --spines 4",
    128: "rail --units 2 --hosts 8 --rails 8 --spines 4",
    256: "rail --units 2 --hosts 16 --rails 8 --spines 8",
}
HEAP_WATCH = os.environ.get("HEAP_WATCH")  # tests/heap_watch.so; make soak makes it
MEMORY_JUDGED_S = 1800
WINDOW_S = 120  # of sweeps that are packed together, at one a second
FINDING_KB = 7.2  # struct health_open_finding
PAGES_MOST_KB = 2 * 16384 + 1024  # two connections write (storage/file/file.c); SQLite counts pages with their heads
WIRE = "latency=20us service=50us hold=500ms"

# What goes wrong: how often on average, and how long at least and at most; seconds.
FAULTS = {"link": (45, 3, 25), "hosts": (40, 3, 40), "switch": (300, 3, 15), "opensm": (240, 0, 0),
          "reset": (30, 0, 0), "loss": (120, 3, 15), "stall": (240, 2, 8),
          "receiver": (180, 1, 40)}
SHORT_FAULTS = {"link": (5, 2, 4), "hosts": (4, 2, 4), "switch": (12, 2, 3), "opensm": (9, 0, 0),
                "reset": (3, 0, 0), "loss": (7, 1, 3), "stall": (15, 2, 3),
                "receiver": (8, 1, 3)}

# What a collector may say.
KNOWN_WORDS = [
    r"fabric: \d+ nodes, \d+ ports \(discovered in",
    r"\d+ LIDs belong to other nodes now",
    r"\d+ sweeps stored",
    r"discovery[: ]",
    r"libibnetdisc: .*; the explorer discovered the fabric instead",
]
UMAD2SIM_WORDS = "ERR: real_poll failure"  # a signal reached its thread, which continues


# --- what goes wrong ---

class Faults:
    """Begins and ends faults at random times, and ends all of them at the end. Not at the nodes of collector and SM."""

    def __init__(self, sim, plan, seed, collector, service):
        self.sim, self.collector, self.service = sim, collector, service
        self.plan = plan = {name: times for name, times in plan.items() if service or name != "receiver"}
        self.random = random.Random(seed)
        self.counts = {name: 0 for name in plan}
        self.ends = []  # (time, function)
        self.dead, self.pulled, self.downed = set(), set(), {}
        self.loss, self.restarts = 0, []
        now = time.monotonic()
        self.next = {name: now + 1 + self.random.random() * every for name, (every, _, _) in plan.items()}
        nodes = sim.json("nodes")
        seats = {"0x" + sim.env["SIM_HOST"][2:], self.node_of_sm(nodes)}
        self.hosts = sorted(row["node_guid"] for row in nodes if row["type"] == "ca" and row["node_guid"] not in seats)
        self.switches = sorted(row["node_guid"] for row in nodes if row["type"] == "switch")
        ports = [row for row in sim.json("ports") if row["peer_guid"] and row["state"] == "Active"]
        self.links = sorted(((row["node_guid"], row["port"]), (row["peer_guid"], row["peer_port"])) for row in ports
                            if row["node_guid"] in self.switches and not {row["node_guid"], row["peer_guid"]} & seats)
        # Only these are reset, so that of the others the truth is known.
        self.resettable = sorted((row["node_guid"], row["lid"], row["port"]) for row in ports
                                 if row["node_guid"] == self.switches[0])

    def node_of_sm(self, nodes):
        words = self.sim.run("sminfo").out.split()
        lid = int(words[words.index("lid") + 1])
        return next(row["node_guid"] for row in nodes if row["lid"] == lid)

    def tool(self, *words, check=True):
        return self.sim.run(lib.IBWIRE_SIM, *words, check=check)

    def node_id(self, guid):
        return f"{'S' if guid in self.switches else 'H'}-{guid[2:]}"

    def tell_wire(self):
        dead = ",".join(sorted(self.dead)) or "none"
        self.tool("wire", f"loss={self.loss} dead={dead}")

    def link(self):
        """A link goes down; both its ends count that."""
        free = [link for link in self.links if link[0] not in self.pulled and link[1] not in self.pulled]
        if not free or len(self.pulled) >= 4:
            return None
        return self.pull(self.random.choice(free))

    def pull(self, ends):
        self.pulled.update(ends)
        where = f'"{self.node_id(ends[0][0])}"[{ends[0][1]}]'
        for guid, port in ends:
            self.downed[guid, port] = self.downed.get((guid, port), 0) + 1
            self.tool("console", f'PerformanceSet "{self.node_id(guid)}"[{port}] '
                                 f"PortCounters.LinkDownedCounter={min(255, self.downed[guid, port])}")
        self.tool("console", "Unlink " + where)

        def back():
            self.tool("console", "ReLink " + where)
            self.pulled.difference_update(ends)
        return back

    def some(self, nodes, most):
        victims = self.random.sample(nodes, self.random.randint(1, most))
        return [guid for guid in victims if guid not in self.dead]

    def kill(self, victims):
        self.dead.update(victims)
        self.tell_wire()

        def back():
            self.dead.difference_update(victims)
            self.tell_wire()
        return back

    def hosts_die(self):
        return self.kill(self.some(self.hosts, 4))

    def switch_dies(self):
        return self.kill(self.some(self.switches, 1))

    def opensm(self):
        if self.random.random() < 0.5:
            # As it is when its host crashes: without a farewell.
            pid = self.tool("opensm", "status").out.split()[-1]
            run("kill", "-9", pid, check=False)
            time.sleep(0.3)
        # With lost MADs and dead switches it takes its time to come up, and other things go on going wrong.
        self.restarts = [restart for restart in self.restarts if restart.poll() is None]
        self.restarts.append(self.sim.start(lib.IBWIRE_SIM, "opensm", "restart", stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))

    def reset(self):
        """perfquery resets the 32-bit or the 64-bit counters of one port."""
        _, lid, port = self.random.choice(self.resettable)
        self.sim.run("perfquery", "-R", *self.random.choice(([], ["-x"])), lid, port, check=False)

    def lose(self):
        self.loss = self.random.choice((1, 5, 20))
        self.tell_wire()

        def back():
            self.loss = 0
            self.tell_wire()
        return back

    def stall(self):
        """The collector is stopped, as on a host that swaps or is being moved: sweeps are missed."""
        self.collector.send_signal(signal.SIGSTOP)
        return lambda: self.collector.send_signal(signal.SIGCONT)

    def first_round(self):
        """Each link, host and switch once, within minutes: a collector remembers a little of each port that ever had a
        fault, and what it remembers of all of them is no growth any more."""
        for begin, victims, most in ((self.pull, self.links, 4), (lambda ends: self.kill([ends]), self.hosts, 4),
                                     (lambda ends: self.kill([ends]), self.switches, 1)):
            for first in range(0, len(victims), most):
                backs = [begin(victim) for victim in victims[first:first + most]]
                time.sleep(2.5)
                for back in backs:
                    back()

    def step(self):
        """Begin and end the faults that are due."""
        begin = {"link": self.link, "hosts": self.hosts_die, "switch": self.switch_dies, "opensm": self.opensm,
                 "reset": self.reset, "loss": self.lose, "stall": self.stall,
                 "receiver": self.service and self.service.receiver_dies}
        now = time.monotonic()
        for end in [end for end in self.ends if end[0] <= now]:
            self.ends.remove(end)
            end[1]()
        for name, (every, least, most) in self.plan.items():
            if now < self.next[name]:
                continue
            self.next[name] = now + every * (0.5 + self.random.random())
            back = begin[name]()
            self.counts[name] += 1
            if back:
                self.ends.append((now + self.random.uniform(least, most), back))

    def end(self):
        for _, back in self.ends:
            back()
        self.ends = []
        for restart in self.restarts:
            restart.wait(100)
        if "opensm is running" not in self.tool("opensm", "status").out:
            self.tool("opensm", "start")


# --- what the collector takes ---

class Watch(threading.Thread):
    """Samples the resources of a process into a CSV file until it is stopped."""

    FIELDS = ("seconds", "rss_kb", "anon_kb", "heap_kb", "pages_kb", "fds", "threads", "cpu_percent", "db_kb", "wal_kb")

    def __init__(self, pid, db, path, every, heap):
        super().__init__(daemon=True)
        self.pid, self.db, self.path, self.every, self.heap = pid, db, path, every, heap
        self.samples, self.over = [], threading.Event()
        self.began, self.began_wall = time.monotonic(), time.time()
        self.last = (self.began, self.ticks())

    def ticks(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))

    def size_kb(self, suffix):
        try:
            return os.path.getsize(self.db + suffix) // 1024
        except OSError:
            return 0

    def heap_kb(self):
        """Allocated bytes, and how many of them are SQLite's page caches; (None, None) without heap_watch."""
        if not self.heap:
            return None, None
        with open(self.heap, encoding="ascii") as file:
            heap, pages = map(int, file.read().split())
        return heap // 1024, pages // 1024

    def sample(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        now, ticks = time.monotonic(), self.ticks()
        cpu = 100 * (ticks - self.last[1]) / os.sysconf("SC_CLK_TCK") / max(now - self.last[0], 0.001)
        self.last = (now, ticks)
        return dict(zip(self.FIELDS, (
            round(now - self.began, 1), int(status["VmRSS"].split()[0]), int(status["RssAnon"].split()[0]),
            *self.heap_kb(), len(os.listdir(f"/proc/{self.pid}/fd")), int(status["Threads"]), round(cpu, 2), self.size_kb(""),
            self.size_kb("-wal"))))

    def run(self):
        with open(self.path, "w", encoding="ascii", newline="") as file:
            rows = csv.DictWriter(file, self.FIELDS)
            rows.writeheader()
            while not self.over.wait(self.every):
                with contextlib.suppress(OSError, ValueError, KeyError):
                    self.samples.append(self.sample())
                    rows.writerow(self.samples[-1])
                    file.flush()

    def stop(self):
        self.over.set()
        self.join()

    def column(self, name):
        return [sample[name] for sample in self.samples]


def slope(times, values):
    """Theil-Sen: the median of the slopes of all pairs, which outliers do not change."""
    step = max(1, len(times) // 300)
    points = list(zip(times, values))[::step]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:] if b[0] > a[0]]
    return statistics.median(slopes) if slopes else 0.0


def lows(times, values):
    """The lower quartile of each window, and when its window began.

    Not the least: while a window is packed its buffers are freed and the next one's are not there yet. One sample hits
    that moment, or none does, as the beats of both fall."""
    windows = {}
    for when, value in zip(times, values):
        windows.setdefault(when // WINDOW_S * WINDOW_S, []).append(value)
    return list(windows), [sorted(window)[len(window) // 4] for window in windows.values()]


def check_memory(samples, flapping):
    """Evaluate the memory samples, and the number of findings link-flapping at each: rows for the table, faults."""
    rows, faults = [], []
    most_pages = max(sample["pages_kb"] or 0 for sample in samples)
    # Connections need memory, and come and go: samples with the usual number of descriptors are compared.
    usual = statistics.mode(sample["fds"] for sample in samples)
    samples, flapping = zip(*[pair for pair in zip(samples, flapping) if pair[0]["fds"] == usual])
    seconds = [sample["seconds"] for sample in samples]

    def check_growth(title, values, most_kb):
        """It may grow by most_kb, or by a hundredth."""
        times, low = lows(seconds, values)
        half = len(times) // 2
        level, a_second = statistics.median(low[half:]), slope(times[half:], low[half:])
        rows.append((title, f"{level:.0f} KB, most {max(values)}; slope of the second half {3600 * a_second:+.1f} KB/h"))
        grown = a_second * (times[-1] - times[half])
        if most_kb and grown > max(most_kb, 0.01 * level):
            faults.append(f"{title} grew by {grown:.0f} KB in the second half")

    pages = [sample["pages_kb"] or 0 for sample in samples]
    check_growth("memory", [sample["rss_kb"] for sample in samples], None)
    check_growth("pages in SQLite's caches", pages, None)
    if most_pages > PAGES_MOST_KB:
        faults.append(f"SQLite's caches hold {most_pages} KB, over their {PAGES_MOST_KB}")
    check_growth("memory of its own without them", [s["anon_kb"] - page for s, page in zip(samples, pages)], 128)
    if samples[0]["heap_kb"] is not None:
        known = [page + round(FINDING_KB * count) for page, count in zip(pages, flapping)]
        check_growth("allocated without them and link-flapping",
                     [sample["heap_kb"] - kb for sample, kb in zip(samples, known)], 64)
    return rows, faults


def curve(title, times, values, width=72, height=6):
    """A text plot: the median of each column's values."""
    if not values:
        return ""
    columns = [[] for _ in range(width)]
    for when, value in zip(times, values):
        columns[min(width - 1, int(width * when / (times[-1] + 1e-9)))].append(value)
    middles = [statistics.median(column) if column else None for column in columns]
    least, most = min(values), max(values)
    lines = [f"{title}: {least:g} to {most:g} over {times[-1] / 60:.1f} min"]
    low, high = min(m for m in middles if m is not None), max(m for m in middles if m is not None)
    for row in range(height, 0, -1):
        cells = ""
        for middle in middles:
            level = 0 if middle is None else 1 + int((height - 1) * (middle - low) / ((high - low) or 1) + 0.5)
            cells += "*" if middle is not None and level == row else " "
        label = high if row == height else low if row == 1 else None
        lines.append(f"{'' if label is None else format(label, 'g'):>9} |{cells}".rstrip())
    lines.append(" " * 10 + "+" + "-" * width)
    return "\n".join(lines)


def watched(env, name):
    """The environment that preloads tests/heap_watch.c, if it is built."""
    if not HEAP_WATCH:
        return env
    return {**env, "LD_PRELOAD": f"{HEAP_WATCH}:{env['LD_PRELOAD']}",
            "IBWIRE_HEAP_WATCH": os.path.abspath(f"{name}.heap"), "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


# --- all of it ---

class Soak:
    """One run. Its results: `faults` by name of the check, and `table` with the measurements."""

    def __init__(self, seconds, size, seed=1, short=False, with_service=False):
        self.seconds, self.size, self.seed, self.short, self.with_service = seconds, size, seed, short, with_service
        self.every = 1 if short else 10
        self.table, self.found, self.watches, self.service = [], {}, {}, None

    def row(self, name, value):
        self.table.append((name, str(value)))

    def finding(self, name, faults):
        self.found.setdefault(name, []).extend(faults)

    def newest(self, sim):
        return sim.json("sql", "SELECT max(id) AS id FROM sweep")[0]["id"]

    def all_answer(self, sim, count):
        status = sim.json("status")
        return status["ports_answered"] == status["ports_polled"] == count and not status["silent_nodes"]

    def run(self):
        options = ("--gen", SHAPES[self.size], "--traffic", "ring rate=120Gb/s", "--tick", "200",
                   "--truth", os.path.abspath("truth.csv"))
        sim = Simulation(*options)
        with sim:
            self.run_in(sim)
        said = [line for line in sim.said.splitlines() if "opensm ended with status 137" not in line]
        self.finding("nothing died in the simulation", said)
        self.stored = Stored(sim.env["IBWIRE_DB"])
        self.check_store()

    def run_in(self, sim):
        # Not before: opensm leaves out a node whose response is late, as it is on a stalled machine.
        sim.run(lib.IBWIRE_SIM, "wire", WIRE)
        sim.traffic("pause")
        self.before = sim.truth()
        with open("collect.err", "wb") as err:
            process = sim.start(lib.IBWIRE, "collect", "--interval", "1", stdout=subprocess.DEVNULL, stderr=err,
                                env=watched(sim.env, "collect"))
        try:
            # Until there is a sweep there are no nodes, and may be no database.
            if not wait_for(lambda: sim.ibwire("nodes", check=False).status == 0, 30, 0.2):
                raise RuntimeError("no sweep was stored within 30 s:\n" + self.said())
            sim.traffic("resume")
            if self.with_service:
                self.service = Service(sim, lambda name: watched(sim.env, name), 1 if self.short else 5)
            self.watch_it(sim, process)
            self.status = stop(process)
            if self.service:
                self.check_service()
        finally:
            process.send_signal(signal.SIGCONT)
            stop(process)
            if self.service:
                self.service.close()
        self.after = sim.truth()
        self.check_process()

    def said(self):
        with open("collect.err", encoding="utf-8", errors="replace") as file:
            return file.read()

    def watch_it(self, sim, process):
        for name, one in [("collect", process), *(self.service.processes.items() if self.service else ())]:
            self.watches[name] = Watch(one.pid, sim.env["IBWIRE_DB"], f"{name}.csv", self.every, HEAP_WATCH and f"{name}.heap")
        faults = Faults(sim, SHORT_FAULTS if self.short else FAULTS, self.seed, process, self.service)
        count = sim.json("status")["ports_polled"]
        end = time.monotonic() + self.seconds
        for watch in self.watches.values():
            watch.start()
        try:
            if not self.short:
                faults.first_round()
            while time.monotonic() < end and process.poll() is None:
                faults.step()
                if self.service:
                    self.service.step()
                time.sleep(0.1)
        finally:
            for watch in self.watches.values():
                watch.stop()
        alive = process.poll() is None
        self.finding("the collector lives", [] if alive else [f"it ended with status {process.poll()}"])
        faults.end()
        self.faults = faults.counts
        self.settle_s = time.monotonic()
        good = alive and wait_for(lambda: self.all_answer(sim, count), 90, 0.5)
        self.settle_s = time.monotonic() - self.settle_s
        self.finding("all ports answer in the end", [] if good else [json.dumps(sim.json("status"))])
        sim.traffic("pause")
        # One sweep may have begun before the pause; the next one has not.
        last = self.newest(sim) + 2
        wait_for(lambda: process.poll() is not None or self.newest(sim) >= last, 30, 0.2)

    def check_service(self):
        service = self.service
        scrapes, longest, faults = service.check_scrapes()
        self.row("scrapes", f"{scrapes}, the longest {1000 * longest:.0f} ms; {service.stuck_count} clients that did not read")
        self.finding("no scrape failed", faults)
        self.finding("metrics and push run until the end", service.end())
        series, samples, faults = service.check_pushed()
        self.row("pushed", f"{samples} samples of {series} series, {service.restarts} restarts of the receiver")
        self.finding("each sample is pushed exactly once", faults)
        series, faults = service.check_counters()
        self.finding(f"counters of {series} series never decrease", faults)

    def check_process(self):
        self.finding("it ends in order", [] if self.status == 0 else [f"status {self.status}"])
        lines = [line for line in self.said().splitlines()
                 if not any(re.match(r"ibwire: (warning: )?" + words, line) for words in KNOWN_WORDS)
                 and line != UMAD2SIM_WORDS]
        self.finding("stderr holds nothing unexpected", lines)
        self.row("faults", ", ".join(f"{name} {count}" for name, count in self.faults.items()))
        self.row("until all ports answered after the last fault", f"{self.settle_s:.1f} s")
        for name, watch in self.watches.items():
            self.check_growth(name, watch)
        watch = self.watches["collect"]
        times, half = watch.column("seconds"), len(watch.samples) // 2
        first, last = watch.samples[0], watch.samples[-1]
        began_kb, ended_kb = (sample["db_kb"] + sample["wal_kb"] for sample in (first, last))
        self.row("database", f"{ended_kb} KB, {(ended_kb - began_kb) / max(times[-1] - times[0], 1):.1f} KB a second")
        wal = watch.column("wal_kb")
        self.row("its log", f"most {max(wal)} KB")
        if max(wal[half:]) > max(2 * max(wal[:half]), 16384):
            self.finding("no growth of collect", [f"the log grew from {max(wal[:half])} to {max(wal[half:])} KB"])

    def flapping_links(self, watch):
        """The number of open findings link-flapping at each sample."""
        with contextlib.closing(sqlite3.connect(watch.db)) as db:
            changes = db.execute("SELECT wall_us / 1e6, 2 * (kind = 'finding-opened') - 1 FROM event "
                                 "WHERE kind LIKE 'finding-%ed' AND kind <> 'finding-changed' "
                                 "AND text LIKE 'link-flapping %'").fetchall()
        return [sum(change for when, change in changes if when < watch.began_wall + seconds)
                for seconds in watch.column("seconds")]

    def check_growth(self, program, watch):
        flapping = self.flapping_links(watch) if program == "collect" else [0] * len(watch.samples)
        rows, faults = check_memory(watch.samples, flapping)
        growth = f"no growth of {program}"
        # As many uplinks as links to HCAs, and a merged finding of each kind.
        if max(flapping) > 2 * self.size + 2:
            self.finding(growth, [f"{max(flapping)} findings link-flapping are open"])
        self.finding(growth, faults if self.seconds >= MEMORY_JUDGED_S else [])
        for name in ("fds", "threads"):
            values = watch.column(name)
            quarter = max(1, len(values) // 4)
            quarters = [values[i:i + quarter] for i in range(0, quarter * 4, quarter)]
            least, most = [min(part) for part in quarters], [max(part) for part in quarters]
            rows.append(("file descriptors" if name == "fds" else name, f"{min(values)} to {max(values)}"))
            # Pipes of a discovery and connections come and go; what is never closed raises the least and the most.
            if (least[-1] > least[1] and most[-1] > most[1]) or max(values) > min(values) + 8:
                self.finding(growth, [f"{name}: least in each quarter {least}, most {most}"])
        cpu = watch.column("cpu_percent")
        rows.append(("CPU", f"{statistics.median(cpu):.2f} % of a core, most {max(cpu):.1f} % in {self.every} s"))
        for title, value in rows:
            self.row(f"{program}: {title}", value)

    def check_store(self):
        stored = self.stored
        whole = stored.db.execute("PRAGMA integrity_check").fetchone()[0]
        self.finding("the database is whole", [] if whole == "ok" else [whole])
        missed, cut = stored.check_beat(1000000), stored.check_cuts()
        sweeps, slowest = stored.db.execute("SELECT count(*), max(end_us - start_us) FROM sweep").fetchone()
        self.row("sweeps", f"{sweeps}, {missed} beats missed, {cut} ended before all was read, the slowest took "
                 f"{slowest / 1000:.0f} ms")
        self.finding("each late and each cut sweep has an event", stored.faults)
        self.finding("there is a sweep for each second", [] if sweeps + missed >= self.seconds - 2 else
                     [f"{sweeps} sweeps and {missed} missed beats in {self.seconds} s"])
        stored.faults = []
        stored.check_sums()
        self.finding("sums and coverage", stored.faults)
        stored.faults = []
        numbers = stored.numbers
        self.row("stored", f"{numbers['deltas']} deltas of {len(stored.ports)} ports, {numbers['checked']} sums held "
                 f"against readings; {numbers['resets']} resets, {numbers['saturated']} saturated, "
                 f"{numbers['unknown']} unknown, {numbers['again']} readings without a change; "
                 f"{numbers['gap_ports']} ports had gaps")
        skip = {stored.ports[port] for port in stored.reset_ports | stored.broken_ports}
        held = stored.check_truth(self.before, self.after, skip)
        self.finding("what was sent is stored", stored.faults)
        self.row("held against what was sent",
                 f"{held} ports, to the byte; {len(skip)} not, which were reset or have unknown intervals")
        events = stored.db.execute("SELECT kind, count(*) FROM event GROUP BY kind ORDER BY kind").fetchall()
        self.row("events", ", ".join(f"{kind} {count}" for kind, count in events))
        # In the simulation each packet is counted at both ends, whatever goes wrong.
        self.finding("no link is accused of losing packets", [text for text, in stored.db.execute(
            "SELECT text FROM event WHERE kind = 'link-not-conserved' ORDER BY id")])

    def good(self):
        return not any(self.found.values())

    def print(self):
        for name, value in self.table:
            print(f"  {name:<46} {value}")
        for program, watch in self.watches.items():
            for name, title in (("rss_kb", "memory, KB"), ("heap_kb", "allocated, KB"),
                                ("pages_kb", "pages in SQLite's caches, KB"), ("fds", "file descriptors"),
                                ("cpu_percent", "CPU, % of a core")):
                if watch.samples[0][name] is not None:
                    print()
                    print(curve(f"{program}: {title}", watch.column("seconds"), watch.column(name)))
        print()
        for name, faults in self.found.items():
            print(f"  {'ok    ' if not faults else 'FAULT '} {name}")
            for fault in faults[:10]:
                print(f"         {fault}")
            if len(faults) > 10:
                print(f"         ... and {len(faults) - 10} more")
        print(f"soak: {'good' if self.good() else 'NOT GOOD'}: {self.size} HCAs, {self.seconds} s, "
              f"{sum(map(bool, self.found.values()))} of {len(self.found)} findings wrong")
        sys.stdout.flush()


def keep_programs(folder):
    """Run copies of the programs, so that a build does not change a running soak."""
    global HEAP_WATCH
    os.makedirs(folder, exist_ok=True)
    # What ibwire-sim preloads is looked for beside it.
    shutil.copy(os.path.join(os.path.dirname(lib.IBWIRE_SIM), "ibwire-sim-umad.so"), folder)
    lib.IBWIRE, lib.IBWIRE_SIM = (shutil.copy(program, folder) for program in (lib.IBWIRE, lib.IBWIRE_SIM))
    HEAP_WATCH = HEAP_WATCH and shutil.copy(HEAP_WATCH, folder)


def main():
    seconds, size = int(os.environ.get("SECONDS", "7200")), int(os.environ.get("SIZE", "64"))
    seed, keep = int(os.environ.get("SEED", "1")), os.environ.get("KEEP")
    if size not in SHAPES or seconds < 20:
        sys.exit(f"SIZE is one of {', '.join(map(str, SHAPES))}, SECONDS at least 20")
    work = keep or run("mktemp", "-d").out.strip()
    os.makedirs(work, exist_ok=True)
    if os.listdir(work):
        sys.exit(f"{work} is not empty: KEEP needs a new folder for each run")
    os.chdir(work)
    keep_programs(os.path.abspath("programs"))
    print(f"{size} HCAs: {SHAPES[size]}; wire: {WIRE}; {seconds} s, one sweep a second; seed {seed}; in {work}")
    sys.stdout.flush()
    soak = Soak(seconds, size, seed, short=seconds < 300, with_service=bool(os.environ.get("SERVICE")))
    soak.run()
    soak.print()
    if soak.good() and not keep:
        os.chdir("/")
        shutil.rmtree(work)
    sys.exit(0 if soak.good() else 1)


if __name__ == "__main__":
    main()
