#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps
"""ibwire clear resets the selected counters only, and the deltas of a running collector stay exact.

ibsim does not reset PortRcvPkts of PortCountersExtended (it resets PortXmitPkts twice; sim_mad.c, pc_ext_reset), so
received packets are excluded from the comparisons.
"""
import contextlib
import os
import pty
import re
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, SHORT, Simulation, Tap, need, need_terminal, run, stop, wait_for

need("ibsim", "opensm", "perfquery")
tap = Tap()

MAD_WORDS = 72
SHAPE = "rail --hosts 4"
LEAF, HOST = "leaf-u01-r0", "node0001 mlx5_0"


def more_sweeps(sim, count):
    wanted = sim.newest() + count
    return wait_for(lambda: sim.newest() >= wanted, every=0.1)


def perfquery(sim, lid, port, *options):
    """Counter name to value."""
    out = sim.run("perfquery", *options, lid, port).out
    return {name: int(value) for name, value in re.findall(r"^(\w+):\.+(\d+)$", out, re.M)}


def row_of(sim, name, port=1):
    return sim.json("ports", f"{name}/{port}")[0]


def lid_of(sim, name):
    return row_of(sim, name)["lid"]


def make_errors(sim, name, count):
    guid = row_of(sim, name)["node_guid"][2:]
    sim.run(IBWIRE_SIM, "console", f'PerformanceSet "H-{guid}"[1] PortCounters.SymbolErrorCounter={count}')
    lid = lid_of(sim, name)
    wait_for(lambda: perfquery(sim, lid, 1)["SymbolErrorCounter"] == count)


def counters(sim):
    """(newest sweep, absolute values of each port in it)."""
    rows = sim.json("ports", "--counters")
    sweep = sim.json("sql", f"SELECT sweep FROM sweeps WHERE time = '{rows[0]['time']}'")[0]["sweep"]
    return sweep, {(row["node_guid"], row["port"]): row["counters"] for row in rows if row["counters"]}


def marks(sim, since=0):
    """(node GUID, port, counter) to the sweeps in which it fell, or may have been cleared although it did not fall."""
    found = {}
    for row in sim.json("sql", f"""
        SELECT printf('0x%016x', n.guid) AS node_guid, p.number AS port, k.key AS counter, e.sweep AS sweep FROM error e
        JOIN port p ON p.id = e.port JOIN node n ON n.id = p.node JOIN counter k ON k.id = e.counter
        WHERE e.marks & 1 AND e.sweep > {since} ORDER BY e.sweep"""):
        found.setdefault((row["node_guid"], row["port"], row["counter"]), []).append(row["sweep"])
    return found


def exact_sums(sim, before, after):
    """Stored bytes and packets against the driver's: they differ by whole datagrams."""
    stored = {(row["node_guid"], row["port"]): row for row in sim.json("sql", """
        SELECT node_guid, port, sum(xmit_bytes) AS xmit_bytes, sum(rcv_bytes) AS rcv_bytes,
               sum(xmit_packets) AS xmit_packets, sum(rcv_packets) AS rcv_packets
        FROM traffic GROUP BY node_guid, port""")}
    wrong, busy = [], 0
    for key, end in after.items():
        for way in ("xmit", "rcv"):
            words = end[f"{way}_words"] - before[key][f"{way}_words"]
            packets = end[f"{way}_packets"] - before[key][f"{way}_packets"]
            over, mads = stored[key][f"{way}_bytes"] // 4 - words, stored[key][f"{way}_packets"] - packets
            # Received packets are never cleared here, words are: datagrams of that interval are in one of them only.
            good = over == MAD_WORDS * mads if way == "xmit" else over % MAD_WORDS == 0 and 0 <= over // MAD_WORDS <= mads
            if not good or mads < 0:
                wrong.append(f"{key} {way}: {over} words and {mads} packets more than were sent")
            busy += words > 0
    tap.result(not wrong, f"the sums are exact although counters were cleared ({len(after)} ports)", "\n".join(wrong[:20]))
    tap.result(busy >= 16, "and there was traffic", busy)


def while_a_collector_runs(sim):
    sim.traffic("pause")
    before = sim.truth()
    sim.ibwire("collect", "--once")
    sim.traffic("resume")
    collector = sim.start(IBWIRE, "collect", "--interval", "1")
    try:
        tap.result(more_sweeps(sim, 4), "a collector runs")
        sim.traffic("pause")
        make_errors(sim, HOST, 77)
        more_sweeps(sim, 2)
        cleared_after = sim.newest()
        lid, leaf = lid_of(sim, HOST), lid_of(sim, LEAF)
        others = perfquery(sim, leaf, 3, "-x")
        done = sim.ibwire("clear", f"{LEAF}/1", f"{LEAF}/2", f"{HOST}/1", "--yes")
        tap.contains("three ports are cleared", done.out, "cleared 3 of 3 ports")
        for name, values in ((f"{HOST}/1", perfquery(sim, lid, 1, "-x")), (f"{LEAF}/2", perfquery(sim, leaf, 2, "-x")),
                             (f"{HOST}/1, 32 bits", perfquery(sim, lid, 1))):
            packets = values["PortXmitPkts"]
            tap.result(packets < 5000 and values["PortXmitData"] == MAD_WORDS * packets and
                       values["PortRcvData"] < 5000 * MAD_WORDS and not values.get("SymbolErrorCounter"),
                       f"{name} is zero but for datagrams", values)
        now = perfquery(sim, leaf, 3, "-x")
        tap.result(now["PortXmitData"] >= others["PortXmitData"] > 5000 * MAD_WORDS, "its neighbour is not", (others, now))
        tap.result(more_sweeps(sim, 2), "the collector goes on")
        fell = marks(sim, cleared_after)
        tap.equal("symbol errors fell", [key[1:] for key in fell if key[2] == "symbol_errors"], [(1, "symbol_errors")])
        sim.traffic("resume")
        more_sweeps(sim, 3)
        sim.traffic("pause")
    finally:
        stop(collector)
    events = sim.events("counters-cleared")
    switch = row_of(sim, LEAF)["node"]
    tap.equal("and an event for each cleared port", sorted((row["node"], row["port"]) for row in events),
              sorted([(switch, 1), (switch, 2), (HOST, 1)]))
    sim.ibwire("collect", "--once")
    exact_sums(sim, before, sim.truth())


def in_the_midst_of_traffic(sim):
    """last reading = first reading + sum of deltas, or the sum from a mark on."""
    sim.traffic("resume")
    collector = sim.start(IBWIRE, "collect", "--interval", "1")
    try:
        more_sweeps(sim, 2)
        first_sweep, first = counters(sim)
        done = sim.ibwire("clear", "all", "--yes")
        tap.result(re.search(r"^cleared (\d+) of \1 ports in ", done.out, re.M), "all ports are cleared", done)
        more_sweeps(sim, 3)
        last_sweep, last = counters(sim)
    finally:
        stop(collector)
    fell = marks(sim, first_sweep)
    rows = sim.json("sql", "SELECT sweep, node_guid, port, xmit_bytes / 4 AS xmit_data, rcv_bytes / 4 AS rcv_data, "
                           f"xmit_packets, rcv_packets FROM traffic WHERE sweep > {first_sweep} AND sweep <= {last_sweep}")
    wrong, marked = [], 0
    for key, values in first.items():
        for name in ("xmit_data", "rcv_data", "xmit_packets", "rcv_packets"):
            sweeps = fell.get((*key, name), [])
            marked += bool(sweeps)
            mine = [row for row in rows if (row["node_guid"], row["port"]) == key]
            totals = [sum(row[name] for row in mine if row["sweep"] >= sweep) for sweep in sweeps]
            # Some marks, or all, may be of a reset that was suspected only.
            totals.append(values[name] + sum(row[name] for row in mine))
            if last[key][name] not in totals:
                wrong.append(f"{key} {name}: {values[name]}, {totals} since {sweeps}, {last[key][name]}")
    tap.result(not wrong, f"every last reading is explained ({4 * len(first)} counters)", "\n".join(wrong[:20]))
    tap.result(marked > len(first), f"{marked} of them fell")
    texts = [row["text"] for row in sim.events("counters-cleared")]
    tap.result(any(re.search(r"counters of \d{2,} ports", text) for text in texts), "and that is one event", texts)


def on_a_terminal(sim, answer):
    need_terminal()
    ours, theirs = pty.openpty()
    process = subprocess.Popen([IBWIRE, "clear", f"{HOST}/1", "--errors-only"], env=sim.env, stdin=theirs, stdout=theirs,
                               stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):
        while b"type yes" not in said:
            said += os.read(ours, 4096)
        os.write(ours, answer)
        while True:
            said += os.read(ours, 4096)
    status = process.wait(120)
    os.close(ours)
    return status, said.decode("utf-8", "replace")


def asks_first(sim):
    lid = lid_of(sim, HOST)

    def errors():
        return perfquery(sim, lid, 1)["SymbolErrorCounter"]

    make_errors(sim, HOST, 77)
    done = sim.ibwire("clear", "all", check=False)
    tap.equal("without a terminal: usage error, no prompt", (done.status, len(done.err.splitlines()), done.out), (64, 1, ""))
    tap.contains("and names what to do", done.err, "--yes")
    done = run("sh", "-c", f'echo yes | "{IBWIRE}" clear all', env=sim.env, check=False)
    tap.equal("yes from a pipe is not accepted", done.status, 64)
    done = sim.ibwire("clear", f"{HOST}/1", "--dry-run")
    tap.contains("--dry-run prints what would be done", done.out, "PortCountersExtended of 1 port\n")
    tap.contains("and that it was not", done.out, "nothing was cleared")
    with tap.part("on a terminal"):
        status, said = on_a_terminal(sim, b"y\n")
        tap.result(status == 1 and "nothing was cleared" in said, "any answer but yes cancels", (status, said))
        tap.equal("none of these cleared a counter", errors(), 77)
        data = perfquery(sim, lid, 1)["PortXmitData"]
        status, said = on_a_terminal(sim, b"yes\n")
        tap.result(status == 0 and "cleared 1 of 1 port in" in said, "yes is yes", (status, said))
        tap.equal("errors are cleared", errors(), 0)
        tap.result(perfquery(sim, lid, 1)["PortXmitData"] >= data > 0, "data is not, with --errors-only", data)
    for words, expected in ((["node9999/1"], "no node"), ([f"{HOST}/9"], "no port"), ([], "give the ports"),
                            (["all", HOST], "cannot be combined")):
        done = sim.ibwire("clear", "--yes", *words, check=False)
        tap.result(done.status == 64 and expected in done.err and len(done.err.splitlines()) == 1,
                   f"one line for clear {' '.join(words)}", done)
    done = run(IBWIRE, "clear", "all", "--yes", env={**sim.env, "IBWIRE_DB": os.path.abspath("none.db")}, check=False)
    tap.equal("without a database: one line", (done.status, len(done.err.splitlines())), (69, 1))


def refusals(sim):
    """A refusing and a dead node are reported and do not delay others; wire/clear_test has the other cases."""
    sim.run(IBWIRE_SIM, "pma", f"{LEAF} unsupported=0x12")
    ports = len(sim.json("ports", LEAF, "--all"))
    done = sim.ibwire("clear", LEAF, f"{HOST}/1", "--yes", check=False)
    tap.result(done.status == 1 and "PortCounters was refused with status 0x000c" in done.err, "a refusal is reported", done)
    tap.contains("and the other ports are cleared", done.out, f"cleared 1 of {ports + 1} ports")
    tap.equal("with a line for each of the first 20 ports", len(done.err.splitlines()), min(ports, 20) + (ports > 20))
    sim.run(IBWIRE_SIM, "pma", f"{LEAF} unsupported=none")
    sim.run(IBWIRE_SIM, "wire", f"hold=50ms dead={HOST}")
    began = time.monotonic()
    done = sim.ibwire("clear", "all", "--yes", "-t", "100", check=False)
    tap.result(done.status == 1 and f"{HOST}/1 is not cleared: LID" in done.err and "did not respond" in done.err,
               "a dead node is reported", done)
    tap.result(time.monotonic() - began < 20, "and does not delay other nodes for long", time.monotonic() - began)
    done = sim.ibwire("clear", f"{HOST}/1", "--yes", "-t", "100", check=False)
    tap.equal("status 69 if no node responds", done.status, 69)
    sim.run(IBWIRE_SIM, "wire", "dead=none hold=0")


with tap.part("exact"), Simulation("--gen", SHAPE, "--traffic", "ring rate=150Gb/s",
                                   "--truth", os.path.abspath("truth.csv")) as simulation:
    while_a_collector_runs(simulation)
    if not SHORT:
        in_the_midst_of_traffic(simulation)
with tap.part("relay"), Simulation("--gen", SHAPE, "--wire", "latency=0") as simulation:
    simulation.ibwire("collect", "--once")
    for part in (asks_first, refusals):
        with tap.part(part.__name__):
            part(simulation)
tap.done()
