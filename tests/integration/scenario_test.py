#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: 34 scenarios in real time; tests/scenarios/scenario_test plays them in virtual time
# timeout: 1200
# waits: for faults to be seen
"""Scenario files on ibsim, in real time: the expected findings open, and no others.

Independent files share one simulation. All times, also in the settings, are a tenth of the file's.
With IBWIRE_LONG=1 all files that ibsim can simulate (7 minutes); otherwise a few.
"""
import json
import os
import re
import shlex
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, SHORT, SRCDIR, Simulation, Tap, need, run, stop, wait_for

need("ibsim", "opensm", "perfquery")
tap = Tap()
SCALE = 10
BEFORE = 8  # seconds of sweeps before anything happens
SETTINGS = """
[health]
link_down_after = 6s
degraded_after = 6s
silent_after = 10s
restart_within = 4s
restart_charge = 30s
training = 30s
missing_after = 90s
recovery = 30s
state_recovery = 6s
[balance]
window = 8s
spread = 20%
"""
# ibsim's names. Source: rdma-core, libibmad fields.c.
FIELDS = {"symbol_errors": "SymbolErrorCounter", "rcv_errors": "PortRcvErrors", "xmit_discards": "PortXmitDiscards",
          "link_downed": "LinkDownedCounter", "rcv_remote_physical_errors": "PortRcvRemotePhysicalErrors"}
WIDE = {"symbol_errors", "rcv_errors", "xmit_discards"}


def seconds(span):
    number, unit = re.fullmatch(r"([0-9.]+)(ms|s|m|h)?", span).groups()
    return float(number) * {"ms": 0.001, None: 1, "s": 1, "m": 60, "h": 3600}[unit] / SCALE


def short(name):
    return re.sub(r"^MF0;(.*?):.*", r"\1", name)


class File:
    """A parsed scenario file."""

    def __init__(self, name):
        self.name, self.happens, self.truths = name, [], []
        with open(f"{SRCDIR}/tests/scenarios/{name}.scenario", encoding="utf-8") as file:
            for line in file:
                words = shlex.split(line) if line.startswith(("at ", "expect ", "allow ")) else []
                if words and words[0] == "at":
                    self.happens.append((seconds(words[1]) if words[1] != "0" else 0, words[2:]))
                elif words and words[0] in ("expect", "allow"):
                    options = dict(word.split("=", 1) for word in words[3:])
                    self.truths.append((words[0] == "expect", words[1].split("|"), words[2].split("|"), options))
        first = min((at for at, _ in self.happens), default=0)
        self.happens = [(at - first, words) for at, words in self.happens]
        self.length = max((at for at, _ in self.happens), default=0)


class Fabric:
    """A simulation, its names, and the counters that were set."""

    def __init__(self, sim):
        self.sim = sim
        self.guids, self.peers, self.sources, self.counts, self.todo, self.dead = {}, {}, [], {}, [], []
        for row in sim.json("nodes"):
            self.guids[short(row["node"])] = int(row["node_guid"], 16)
        self.names = {guid: name for name, guid in self.guids.items()}
        for row in sim.json("ports"):
            if row["peer_guid"]:
                self.peers[int(row["node_guid"], 16), row["port"]] = int(row["peer_guid"], 16), row["peer_port"]

    def end(self, name):
        node, port = name.rsplit("/", 1)
        return self.guids[node], int(port)

    def console(self, *lines):
        """Set all of them between two sweeps."""
        with open("console.cmd", "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))
        self.sim.run(IBWIRE_SIM, "console", "!" + os.path.abspath("console.cmd"))

    def id(self, end):
        return f'"{"H" if " " in self.names[end[0]] else "S"}-{end[0]:016x}"[{end[1]}]'

    def counting(self, end, counter, more):
        total = self.counts[end, counter] = self.counts.get((end, counter), 0) + more
        most = 255 if counter == "link_downed" else 65535
        return f"PerformanceSet {self.id(end)} PortCounters.{FIELDS[counter]}={min(total, most)}"

    def down(self, *ends):
        lines = []
        for end in ends:
            lines += [self.counting(one, "link_downed", 1) for one in (end, self.peers[end])]
            lines.append(f"Unlink {self.id(end)}")
        self.console(*lines)

    def up(self, *ends):
        self.console(*(f"ReLink {self.id(end)}" for end in ends))

    def ends(self, guid):
        return [end for end in self.peers if end[0] == guid]

    def hosts(self, words):
        first, _, last = words.partition("-")
        return [name for name in self.guids if " " in name and first <= name.split()[0] <= (last or first)]

    def later(self, after, do, *words):
        self.todo.append((time.monotonic() + after, do, words))

    def happen(self, words):
        options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        plain = [word for word in words[1:] if "=" not in word]
        lasts = seconds(options["for"]) if "for" in options else None
        getattr(self, "do_" + words[0])(plain, options, lasts)

    def do_down(self, plain, _, lasts):
        self.down(self.end(plain[0]))
        if lasts:
            self.later(lasts, self.up, self.end(plain[0]))

    def do_flap(self, plain, options, lasts):
        for i in range(int(options.get("times", 3))):
            after = i * max(seconds(options.get("every", "2m")), 4)
            self.later(after, self.down, self.end(plain[0]))
            self.later(after + max(lasts or 0, 1), self.up, self.end(plain[0]))

    def do_errors(self, plain, options, _):
        for counter, rate in options.items():
            if counter in WIDE:
                self.sources.append([self.end(plain[0]), counter, float(rate) / 3600 * SCALE, 0.0,
                                     float(options.get("echo", 0))])

    def do_off(self, plain, options, lasts):
        names = self.hosts(options["hosts"]) if "hosts" in options else plain
        ends = [end for name in names for end in self.ends(self.guids[name])]
        self.down(*ends)
        if lasts:
            self.later(lasts, self.up, *ends)

    def do_silent(self, plain, *_):
        self.dead.append(plain[0].replace(" ", "?"))
        self.sim.run(IBWIRE_SIM, "wire", "dead=" + ",".join(self.dead))

    def do_lock(self, plain, *_):
        self.sim.run(IBWIRE_SIM, "wire", f"locked={plain[0].replace(' ', '?')}")

    def do_sm(self, plain, _, lasts):
        self.sim.run(IBWIRE_SIM, "opensm", plain[0])
        if lasts:
            self.later(lasts, self.sim.run, IBWIRE_SIM, "opensm", "start")

    def do_clear(self, *_):
        self.console(*(f"PerformanceSet {self.id(end)} PortCountersExtended.{name}=0" for end in self.peers
                       for name in ("PortXmitData", "PortRcvData")))

    def do_skew(self, plain, options, _):
        self.sim.run(IBWIRE_SIM, "routes", "skew", f"{plain[0]}/{options['to']}", "0.9")

    def echo(self, end):
        """Damaged packets are counted by two receivers behind a switch."""
        others = [self.peers[one] for one in self.ends(end[0]) if one != end][:2]
        self.console(*(self.counting(other, "rcv_remote_physical_errors", 1) for other in others))

    def tick(self, elapsed):
        for when, do, words in sorted(self.todo, key=lambda item: item[0]):
            if when <= time.monotonic():
                self.todo = [item for item in self.todo if item[1] is not do or item[0] != when or item[2] != words]
                do(*words)
        for source in self.sources:
            source[3] += source[2] * elapsed
            if source[3] >= 1:
                self.console(self.counting(source[0], source[1], int(source[3])))
                if source[4]:
                    self.echo(source[0])
                source[3] -= int(source[3])

    def is_about(self, row, subject):
        """Does a finding match a subject: a port (or its peer), a node, a host, or any?"""
        ends = (("node_guid", "port"), ("peer_guid", "peer_port"))
        places = {(int(row[guid], 16), row[port] or 0) for guid, port in ends if row[guid]}
        if subject == "any":
            return True
        if subject.startswith("host:"):
            host = subject[5:]
            return host in (row.get("hosts") or []) or host in {self.names.get(guid, "").split(" ")[0] for guid, _ in places}
        if subject in self.guids:
            return self.guids[subject] in {guid for guid, _ in places}
        end = self.end(subject)
        return end in places or self.peers.get(end) in places


class Net:
    """Write the net file with the scenario's cable changes."""

    line = re.compile(r'(\[(\d+)\](?:\([0-9a-f]+\))?\s*)("[^"]+"\[\d+\](?:\([0-9a-f]+\))?)(.*)')

    def __init__(self, *words):
        self.lines = run(IBWIRE_SIM, "net", *words).out.splitlines()
        self.at, self.where, names = {}, {}, {}
        node = None
        for i, line in enumerate(self.lines):
            head = re.match(r'(?:Switch|Ca)\s+\d+ ("[^"]+")\s+# "([^"]+)"', line)
            found = self.line.match(line)
            if head:
                node = short(head[2])
                names[head[1]] = node
            elif found and node:
                self.at[node, int(found[2])] = i
        for end, i in self.at.items():
            peer = re.match(r'("[^"]+")\[(\d+)\]', self.line.match(self.lines[i])[3])
            self.where[end] = names[peer[1]], int(peer[2])

    def happen(self, words):
        if words[0] in ("width", "speed", "unplug"):
            node, port = words[1].rsplit("/", 1)
            end = node, int(port)
            for one in (end, self.where[end]):
                old = self.lines[self.at[one]]
                self.lines[self.at[one]] = "" if words[0] == "unplug" else re.sub(
                    r"\d+x[A-Z]+\d*$", f"{words[2]}HDR" if words[0] == "width" else f"4x{words[2]}", old)
        elif words[0] == "swap":
            self.swap((words[1], 1), (words[2], 1))

    def swap(self, a, b):
        for one, other in ((a, b), (self.where[a], self.where[b])):
            x, y = (self.line.match(self.lines[self.at[end]]) for end in (one, other))
            self.lines[self.at[one]], self.lines[self.at[other]] = x[1] + y[3] + x[4], y[1] + x[3] + y[4]

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n")
        return path


def findings(sim):
    done = sim.ibwire("health", "--all", "--since", "-1h", "--format", "json", check=False)
    if done.status > 2:
        raise RuntimeError(str(done))
    return json.loads(done.out)


def begin(sim):
    with open("settings.conf", "w", encoding="utf-8") as file:
        file.write(SETTINGS)
    collector = sim.start(IBWIRE, "collect", "--interval", "1s", "--settings", "settings.conf", "--routes", "30s")
    wait_for(lambda: sim.ibwire("nodes", "--format", "json", check=False).status == 0)
    return collector


# A node that is dead here answers no SMPs either: opensm takes it out of its tables, and what is behind a switch too.
ALLOWED_HERE = {"silent-hca": (False, ["black-hole"], ["any"], {}),
                "silent-switch": (False, ["black-hole", "coverage"], ["any"], {})}


def is_met(fabric, rows, truth):
    _, kinds, subjects, options = truth
    causes = options.get("cause", "").split("|")
    return any(row["kind"] in kinds and any(fabric.is_about(row, subject) for subject in subjects) and
               (causes == [""] or row["cause"] in causes) for row in rows)


def play(files, most, *simulation):
    """Run several files in one simulation: each expected finding opens in time, and no other."""
    files = [File(name) for name in files]
    with tap.part(", ".join(file.name for file in files)), Simulation(*simulation) as sim:
        collector = begin(sim)
        fabric = Fabric(sim)
        time.sleep(BEFORE)
        for file in files:
            for at, words in file.happens:
                if words[0] not in CABLES:  # those are in the net
                    fabric.later(at, fabric.happen, words)
        wanted = [(file, truth) for file in files for truth in file.truths if truth[0]]
        last, end = time.monotonic(), time.monotonic() + most
        rows, least = [], time.monotonic() + max(20, max(file.length for file in files) + 15)
        while time.monotonic() < end:
            fabric.tick(time.monotonic() - last)
            last = time.monotonic()
            time.sleep(0.7)
            rows = findings(sim)
            if time.monotonic() > least and not fabric.todo and all(is_met(fabric, rows, truth) for _, truth in wanted):
                break
        stop(collector)
        for file, truth in wanted:
            tap.result(is_met(fabric, rows, truth), f"{file.name}: {'|'.join(truth[1])} of {'|'.join(truth[2])}", rows)
        truths = [truth for file in files for truth in file.truths]
        truths += [ALLOWED_HERE[file.name] for file in files if file.name in ALLOWED_HERE]
        alarms = [row for row in rows if row["severity"] != "info" and
                  not any(is_met(fabric, [row], (True, truth[1], truth[2], {})) for truth in truths)]
        tap.equal(f"{', '.join(file.name for file in files)}: and nothing else",
                  [f"{row['severity']} {row['kind']} {row['subject']}: {row['text']}" for row in alarms], [])


CABLES = ("width", "speed", "unplug", "swap")


def with_cables(words, *files):
    """The --net argument for a shape with the cable changes of these files."""
    net = Net(*words.split())
    for name in files:
        for _, happens in File(name).happens:
            net.happen(happens)
    return "--net", net.save(f"{files[0]}.net")


RAIL = "rail --units 2 --hosts 8 --rails 4 --spines 4"
TREE2 = "tree2 --leafs 8 --hosts 16 --spines 4"
TREE3 = "tree3 --pods 4 --leafs 4 --hosts 8 --spines 4 --cores 8"
RING = ("--traffic", "ring hosts=all rate=40Gb/s coupled=no")
# Each of a unit's hosts works with one of the other unit: eight flows over a leaf's eight uplinks.
PAIRS = [word for i in range(1, 9) for word in
         ("--traffic", f"ring hosts=node{i:04},node{i + 8:04} rate=60Gb/s coupled=no")]

cables = ["one-lane-from-the-beginning", "host-one-lane", "cable-missing", "cables-swapped-from-the-beginning"]
if not SHORT:
    play([*cables, "dead-hca", "host-reboots"], 90, *with_cables(RAIL, *cables))
play(["nothing", "flaps-once", "uplink-down", "symbol-errors-trunk", "receive-errors-with-echoes"], 90, "--gen", RAIL, *RING)
if not SHORT:
    play(["routes-skewed-leaf"], 120, "--gen", RAIL, *PAIRS)
if os.environ.get("IBWIRE_LONG"):
    play(["uplink-down-briefly", "uplink-flaps", "host-link-flaps", "symbol-errors-few"], 90, "--gen", RAIL, *RING)
    play(["rack-off", "dead-spine", "discards-host"], 90, "--gen", RAIL, *RING)
    play(["silent-switch", "silent-hca"], 60, "--gen", RAIL)
    play(["dead-leaf", "sm-restarted"], 60, "--gen", RAIL)
    play(["sm-stopped", "counters-cleared"], 100, "--gen", RAIL, *RING)
    play(["uplink-slower", "dead-core", "receive-errors-trunk", "nothing-three-tiers"], 90,
         *with_cables(TREE3, "uplink-slower"), *RING)
    play(["host-slower", "host-reboots-single-hca", "nothing-idle"], 90, *with_cables(TREE2, "host-slower"))
    play(["job-on-four-rails"], 60, "--gen", "rail --units 1 --hosts 16 --rails 8 --spines 4", "--traffic",
         "ring rails=0-3 rate=100Gb/s")
tap.done()
