#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps
"""ibwire snapshot diff prints the same differences as the collector's deltas, perfquery -x and the traffic driver;
unknown values are not shown as numbers.

MADs are counted as traffic (1 packet and 72 words each, see agree_test.py), so "words - 72 x packets" is compared, for
each port and direction. Both snapshots are taken while the traffic is paused.
"""
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests/integration")
import diags
from lib import IBWIRE, IBWIRE_SIM, SHORT, Simulation, Tap, need, run, stop, wait_for

need("ibnetdiscover", "perfquery", "ibsim", "opensm")
tap = Tap()

MAD_WORDS = 72
LEAF = "MF0;leaf-u01-r0:MQM8700/U1"
TRAFFIC = ("xmit_words", "xmit_packets", "rcv_words", "rcv_packets")


def without_datagrams(xmit_words, xmit_packets, rcv_words, rcv_packets):
    return xmit_words - MAD_WORDS * xmit_packets, rcv_words - MAD_WORDS * rcv_packets


def truth(sim):
    """The traffic sent so far. The traffic is paused."""
    return {end: {name: sent[name] for name in TRAFFIC} for end, sent in sim.truth().items()}


def full_sweep_later(sim):
    """The id of a sweep that began after this moment."""
    wanted = sim.newest() + 2
    if not wait_for(lambda: sim.newest() >= wanted, every=0.2):
        raise RuntimeError("the collector stores no sweeps")
    return sim.newest()


def by_port(rows):
    return {(row["node_guid"], row["port"]): row for row in rows}


def moment(sim, name, discovered):
    """In a pause of the traffic read all counters with a sweep, a snapshot, perfquery and the driver."""
    sim.traffic("pause")
    sweep = full_sweep_later(sim)
    report = sim.json("snapshot", "take", name)
    report = report[0] if isinstance(report, list) else report
    return {"sweep": sweep, "perfquery": diags.perfquery(sim, discovered), "truth": truth(sim), "report": report}


def moved(row):
    return without_datagrams(row["xmit_bytes"] // 4, row["xmit_packets"], row["rcv_bytes"] // 4, row["rcv_packets"])


def counts_alike(sim):
    """Two snapshots while a collector runs, with traffic in between."""
    discovered = diags.Discovered(sim.run("ibnetdiscover").out)
    a = moment(sim, "before", discovered)
    sim.traffic("resume")
    time.sleep(3 if SHORT else 6)
    b = moment(sim, "after", discovered)
    rows = by_port(sim.json("snapshot", "diff", "before", "after"))
    live = {key: moved(row) for key, row in rows.items() if row["status_to"] == "ok"}
    tap.equal("all ports with a link responded", len(live), b["report"]["ports_answered"])

    stored = {(row["node_guid"], row["port"]): without_datagrams(row["xmit"] // 4, row["xmit_packets"], row["rcv"] // 4,
                                                                 row["rcv_packets"])
              for row in sim.json("sql", f"""SELECT node_guid, port, sum(xmit_bytes) AS xmit, sum(xmit_packets) AS xmit_packets,
                sum(rcv_bytes) AS rcv, sum(rcv_packets) AS rcv_packets
                FROM traffic WHERE sweep > {a['sweep']} AND sweep <= {b['sweep']} GROUP BY 1, 2""")}
    tap.same("a difference is the sum of the deltas that a collector stored meanwhile", live, stored)

    read = {}
    for key, end in b["perfquery"].items():
        begin = a["perfquery"][key]
        read[key] = without_datagrams(*(end[name] - begin[name] for name in ("xmit_data", "xmit_packets", "rcv_data", "rcv_packets")))
    # An enhanced port 0 has counters, and no cable: the ports of the links are compared.
    tap.same("and what perfquery -x reads at the same moments", {key: row for key, row in live.items() if key[1]}, read)
    sent = {key: without_datagrams(*(end[name] - a["truth"][key][name] for name in TRAFFIC)) for key, end in b["truth"].items()}
    tap.same("and what was sent", {key: live.get(key) for key in sent}, sent)
    busy = sum(xmit > 0 for xmit, _ in live.values())
    tap.result(busy >= 16, "there was traffic to be counted", f"{busy} ports")
    tap.result(b["report"]["discovery_us"] is None and a["report"]["discovery_us"] is None,
               "beside a collector nothing is discovered", f"{a['report']} {b['report']}")
    adds_up(sim, rows)
    tap.note(f"{busy} busy ports of {len(live)}; take {b['report']['sweep_us'] / 1000:.0f} ms, "
             f"commit {b['report']['commit_us'] / 1000:.1f} ms")


def adds_up(sim, rows):
    """--by link has the ports' numbers side by side; --by switch and host their sums."""
    fields = ("xmit_bytes", "rcv_bytes", "xmit_packets", "rcv_packets", "xmit_wait_ticks")
    links = sim.json("snapshot", "diff", "before", "after", "--by", "link")
    ends = {}
    for row in links:
        ends[row["node_guid"], row["port"]] = [row[field] for field in fields]
        ends[row["peer_guid"], row["peer_port"]] = [row["peer_" + field] for field in fields]
    tap.same("by link: both ends as by port", ends,
             {key: [row[field] for field in fields] for key, row in rows.items() if row["peer"]})
    hosts, switches = {}, {}
    for row in rows.values():
        if row["status_to"] != "ok":
            continue
        is_switch = row["node"].startswith("MF0;")
        sums = (switches if is_switch else hosts).setdefault(row["node"] if is_switch else row["node"].split()[0], [0] * len(fields))
        for i, field in enumerate(fields):
            sums[i] += row[field]
    for by, key, wanted in (("switch", "node", switches), ("host", "host", hosts)):
        got = sim.json("snapshot", "diff", "before", "after", "--by", by)
        tap.same(f"by {by}: the sums of its ports", {row[key]: [row[field] for field in fields] for row in got}, wanted)
        tap.equal(f"by {by}: no unknown ports", sum(row["ports_unknown"] for row in got), 0)


def console(sim, *commands):
    for command in commands:
        sim.run(IBWIRE_SIM, "console", command)


def row_of(sim, node, port, *names):
    return next(row for row in sim.json("snapshot", "diff", *names) if row["node"] == node and row["port"] == port)


def faults(sim):
    """Errors, resets, full counters, silent nodes and links that are down, with and without a collector."""
    guid = next(row["node_guid"] for row in sim.json("nodes") if row["node"] == LEAF)
    leaf = f'"S-{guid[2:]}"'
    console(sim, *(f"PerformanceSet {leaf}[{port}] PortCounters.SymbolErrorCounter=100" for port in (1, 2, 3, 4)))
    full_sweep_later(sim)
    sim.ibwire("snapshot", "take", "first")
    console(sim, f"PerformanceSet {leaf}[1] PortCounters.SymbolErrorCounter=142",
            f"PerformanceSet {leaf}[1] PortCounters.LinkDownedCounter=2",
            f"PerformanceSet {leaf}[2] PortCounters.SymbolErrorCounter=7",
            f"PerformanceSet {leaf}[3] PortCounters.SymbolErrorCounter=65535",
            # Cleared, seen so by the collector, and then counted further than it was.
            f"PerformanceSet {leaf}[4] PortCounters.SymbolErrorCounter=0")
    full_sweep_later(sim)
    console(sim, f"PerformanceSet {leaf}[4] PortCounters.SymbolErrorCounter=150",
            f"PerformanceSet {leaf}[1] PortRcvErrorDetails.PortLocalPhysicalErrors=6")
    sim.run(IBWIRE_SIM, "wire", "dead=node0001 mlx5_1")
    console(sim, f"Unlink {leaf}[2]")
    wait_for(lambda: row_state(sim, LEAF, 2) == "Down", every=0.5)
    sim.ibwire("snapshot", "take", "second")
    rows = sim.json("snapshot", "diff", "first", "second")
    at = {(row["node"], row["port"]): row for row in rows}
    one = at[LEAF, 1]
    tap.equal("errors are the values set", (one["errors"]["symbol_errors"], one["errors"]["link_downed"], one["reset"]), (42, 2, []))
    tap.equal("slow counters, too", one["details"]["local_physical_errors"], 6)
    tap.equal("ports of a link that is down have no values",
              (at[LEAF, 2]["status_to"], at[LEAF, 2]["xmit_bytes"], at[LEAF, 2]["errors"]), ("down", None, {}))
    tap.equal("a full counter gives a lower bound",
              (at[LEAF, 3]["errors"]["symbol_errors"], at[LEAF, 3]["saturated"], at[LEAF, 3]["at_least"]),
              (65435, ["symbol_errors"], ["symbol_errors"]))
    reset = at[LEAF, 4]["reset"]
    tap.equal("a reset that only the collector detected gives a lower bound",
              (at[LEAF, 4]["errors"]["symbol_errors"], "symbol_errors" in reset), (50, True))
    tap.equal("errors and PortXmitWait were cleared with it, data need not be",
              ("xmit_wait" in reset, "link_downed" in reset, "xmit_data" in reset, at[LEAF, 4]["xmit_wait_ticks"]),
              (True, True, False, None))
    silent = at["node0001 mlx5_1", 1]
    tap.equal("a silent node has no values", (silent["status_to"], silent["xmit_bytes"], silent["errors"], silent["details"]),
              ("silent", None, {}, {}))
    host = next(row for row in sim.json("snapshot", "diff", "first", "second", "--by", "host") if row["host"] == "node0001")
    tap.equal("its host has one unknown port, and its sums are lower bounds",
              (host["ports_unknown"], "xmit_bytes" if "xmit_data" in host["at_least"] else None), (1, "xmit_bytes"))
    table = sim.ibwire("snapshot", "diff", "first", "second").out.splitlines()
    tap.result(table[1].startswith("leaf-u01-r0/3 ") and "symbol_errors 65435+" in table[1] and "saturated" in table[1],
               "the worst stands first, and a bound is marked", "\n".join(table[:5]))
    tap.result(any(re.search(r"node0001 mlx5_1/1 .*silent at the second snapshot", line) for line in table), "an event for a silent port",
               "\n".join(table[:20]))
    sim.run(IBWIRE_SIM, "wire", "dead=none")
    console(sim, f"ReLink {leaf}[2]")
    wait_for(lambda: row_state(sim, LEAF, 2) == "Active", every=0.5)
    # A counter that fell between the two snapshots, and that no sweep has read.
    sim.ibwire("snapshot", "take", "third")
    three = row_of(sim, LEAF, 2, "first", "third")
    tap.equal("a decreased counter was reset: its value is a lower bound",
              (three["errors"]["symbol_errors"], "symbol_errors" in three["reset"]), (7, True))
    # One Set clears all error counters of a port, so that the others may have been reset too; data counters have a Set of their own.
    tap.equal("data counters were not reset", [name for name in three["reset"] if name.startswith(("xmit_data", "rcv_data"))], [])


def row_state(sim, node, port):
    return next((row["state"] for row in sim.json("ports", f"{node}/{port}")), None)


def command_line(sim):
    """Names and times: errors, defaults, removed snapshots."""
    def refused(name, status, words, *arguments):
        done = sim.ibwire("snapshot", *arguments, check=False)
        tap.result(done.status == status and words in done.err and len(done.err.splitlines()) == 1, name, str(done))

    refused("a name is taken once", 64, "a snapshot 'first' exists", "take", "first")
    refused("a name is no time", 64, "is a time", "take", "2026-11-20 14:00")
    refused("a name is one line", 64, "printable", "take", "a\nb")
    refused("a name has an end", 64, "1 to 64 bytes", "take", "x" * 65)
    refused("a name that is none of them gets a hint", 64, "did you mean 'first'?", "diff", "frst")
    refused("nor can it be removed", 64, "did you mean 'first'?", "remove", "frst")
    refused("the newest has nothing after it", 64, "is the newest", "diff", "third")
    refused("one is not two", 64, "both arguments", "diff", "third", "third")
    refused("--by has four words", 64, "host, switch, link or port", "diff", "--by", "rack")
    refused("a word is needed", 64, "take, list, diff or remove", "shoot")
    names = [row["name"] for row in sim.json("snapshot", "list")]
    tap.equal("list shows the snapshots in order", names, ["before", "after", "first", "second", "third"])
    both = sim.json("snapshot", "diff")
    tap.equal("without names: the newest two", (both[0]["from_time"], both[0]["to_time"]),
              tuple(row["time"] for row in sim.json("snapshot", "list")[-2:]))
    tap.equal("the reverse order gives the same", sim.json("snapshot", "diff", "third", "second"), both)
    tap.equal("times choose the nearest", sim.json("snapshot", "diff", "-1d", "now"), sim.json("snapshot", "diff", "before", "third"))
    # An odd name is not taken as an option, a path or a statement.
    odd = "it's 100% \"odd\" /../ ü; DROP TABLE snapshot"
    sim.ibwire("snapshot", "take", odd, "--note", "'); --", "--fast")
    listed = sim.json("snapshot", "list")[-1]
    tap.equal("unusual names are accepted", (listed["name"], listed["note"], listed["slow"]), (odd, "'); --", False))
    removed = sim.ibwire("snapshot", "remove", odd)
    tap.equal("and removed", (removed.err, [row["name"] for row in sim.json("snapshot", "list")]), ("", names))
    left = sim.json("sql", "SELECT (SELECT count(DISTINCT snapshot) FROM snapshot_port) AS p, "
                    "(SELECT count(DISTINCT snapshot) FROM snapshot_node) AS n, count(*) AS s FROM snapshot")[0]
    tap.equal("with all rows of the snapshot", left, {"p": 5, "n": 5, "s": 5})


def at_once(sim):
    """Two concurrent snapshots with one name, and killed ones: one is stored, none partially."""
    done = []
    threads = [threading.Thread(target=lambda: done.append(sim.ibwire("snapshot", "take", "race", check=False))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.equal("one of two concurrent snapshots with one name is stored", sorted(one.status for one in done), [0, 64])
    process = sim.start(IBWIRE, "snapshot", "take", "stopped", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(0.15)
    status = stop(process)
    said = process.stderr.read().decode()
    process.stderr.close()
    listed = [row["name"] for row in sim.json("snapshot", "list")]
    # Where it had hardly begun the signal ends it as any program.
    tap.result(((status == 69 and "stopped" in said or status == -signal.SIGTERM) and "stopped" not in listed) or
               (status == 0 and "stopped" in listed), "one that is stopped is not there", f"{status} {said!r} {listed}")


def no_collector():
    """Without a collector: discovery into a new database, a collector after it, and another fabric is refused."""
    with Simulation("--gen", "rail --hosts 2") as sim:
        for words in (["list"], ["diff"], ["remove", "x"]):
            done = sim.ibwire("snapshot", *words, check=False)
            tap.result(done.status == 69 and "there is no database" in done.err, f"{words[0]} without a database is an error", str(done))
        report = sim.json("snapshot", "take", "alone")
        report = report[0] if isinstance(report, list) else report
        tap.result(report["discovery_us"] > 0 and report["ports_answered"] > 0, "without a collector it discovers", report)
        done = sim.ibwire("snapshot", "diff", check=False)
        tap.result(done.status == 69 and "there is only one" in done.err, "one snapshot has no difference", str(done))
        sim.ibwire("collect", "--once")
        sim.ibwire("snapshot", "take", "later")
        rows = sim.json("snapshot", "diff", "--by", "host")
        tap.equal("a collector continues with its database", (len(rows) > 1, {row["ports_unknown"] for row in rows}), (True, {0}))
        done = sim.ibwire("snapshot", "take", "nowhere", "--db", "/nowhere/at/all.db", check=False)
        tap.result(done.status == 74 and len(done.err.splitlines()) == 1, "where no folder is none is made", str(done))
        database = sim.env["IBWIRE_DB"]
    net = run(IBWIRE_SIM, "net", "rail", "--hosts", "1").out
    with open("other.net", "w", encoding="utf-8") as file:
        file.write(net.replace("c42a1", "c42a2").replace("b8cef6", "b8cef7"))
    with Simulation("--net", "other.net") as sim:
        done = sim.ibwire("snapshot", "take", "elsewhere", "--db", database, check=False)
        tap.result(done.status == 69 and "another fabric" in done.err, "another fabric's database is refused", str(done))


with tap.part("beside a collector"), Simulation("--gen", "rail --hosts 4", "--traffic", "ring rate=150Gb/s", "--truth",
                                                os.path.abspath("truth.csv"), "--wire", "latency=20us service=100us hold=1s") as sim:
    sim.traffic("pause")
    collector = sim.start(IBWIRE, "collect", "--interval", "500ms", stderr=subprocess.DEVNULL)
    try:
        if not wait_for(lambda: os.path.exists(sim.env["IBWIRE_DB"]) and (sim.newest() or 0) > 1, every=0.2):
            raise RuntimeError("the collector stores nothing")
        for part in (counts_alike, faults, command_line, at_once):
            with tap.part(part.__name__):
                part(sim)
    finally:
        stop(collector)
with tap.part("without a collector"):
    no_collector()
tap.done()
