#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for opensm; tests/collector/route_*_test.c and cli/topology/route_test cover the rules
# waits: for sweeps
"""Stored forwarding tables are opensm's, entry by entry; routes are ibtracert's; changes are detected."""
import collections
import contextlib
import os
import random
import re
import signal
import sqlite3
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, stop, wait_for

need("ibsim", "opensm", "ibtracert")
tap = Tap()


def opensm_tables(sim):
    """{(switch GUID, LID): port} of opensm's dump, and {port GUID: base LID}."""
    tables, lids, switch = {}, {}, None
    with open(sim.env["IBWIRE_SIM_DIR"] + "/opensm-lfts.dump", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("Unicast lids"):
                switch = int(re.search(r" guid (0x[0-9a-f]+)", line)[1], 16)
            elif line.startswith("0x"):
                lid, port = int(line[:6], 16), int(line[7:10])
                tables[switch, lid] = port
                guid = re.search(r"portguid (0x[0-9a-f]+)", line)
                if guid:
                    lids.setdefault(int(guid[1], 16), lid)
    return tables, lids


def rows(sim, statement):
    with contextlib.closing(sqlite3.connect(f"file:{sim.env['IBWIRE_DB']}?mode=ro", uri=True)) as db:
        return db.execute(statement).fetchall()


def stored_tables(sim):
    """The same from the database, read with SQLite."""
    tables = {}
    for guid, block, ports in rows(sim, "SELECT n.guid, block, ports FROM route_version JOIN node n ON n.id = node"
                                        " WHERE to_sweep IS NULL"):
        for i, port in enumerate(ports):
            if port != 255:
                tables[guid % 2**64, 64 * block + i] = port
    return tables


def changes(sim):
    return [row for row in sim.json("events") if row["kind"] == "routes-changed"]


def ibtracert(sim, source, target):
    """[(port out, GUID of the port in, its number), ...]; a switch's ports have its node's GUID."""
    out = sim.run("ibtracert", source, target).out
    hops = re.findall(r"^\[(\d+)\] -> (?:switch|ca) port \{0x([0-9a-f]+)\}\[(\d+)\]", out, re.M)
    return [(int(a), int(guid, 16), int(b)) for a, guid, b in hops]


def ibwire_route(sim, source, target):
    found = sim.json("topology", "route", source, target)
    switches = {row["node_guid"] for row in found[1:]}
    hops = []
    for row in found:
        guid = int(row["peer_guid"], 16)
        # ibsim: the GUID of an HCA's port is the node's and its number.
        hops.append((row["port"], guid if row["peer_guid"] in switches else guid + row["peer_port"], row["peer_port"]))
    return hops, found[-1]["route"]


def hosts(lids):
    return {guid: lid for guid, lid in lids.items() if guid >> 40 != 0xb8cef6}


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def steady(found):
    """Rows without the age, which each command computes at its own time."""
    return [{key: value for key, value in row.items() if "age" not in key} for row in found]


def compare_routes(sim, name, lids, count):
    pick = random.Random(4711)
    ours, theirs = {}, {}
    for _ in range(count):
        source, target = pick.sample(sorted(hosts(lids).values()), 2)
        theirs[source, target] = (ibtracert(sim, source, target), "arrives")
        ours[source, target] = ibwire_route(sim, source, target)
    tap.same(name, ours, theirs)
    tap.result(all(hops for hops, _ in theirs.values()), "ibtracert found all routes", theirs)


with tap.part("entries and routes"), Simulation("--gen", "rail --hosts 16") as sim:
    sim.ibwire("collect", "--once")
    theirs, lids = opensm_tables(sim)
    tap.same("one sweep alone stores the tables that opensm made", stored_tables(sim), theirs)
    compare_routes(sim, "30 routes are those of ibtracert", lids, 30)

    # Routes between hosts are those between their HCAs, rail by rail.
    named = [sorted((row["node"] for row in sim.json("nodes") if row["node"].startswith(host + " ")), key=natural)
             for host in ("node0001", "node0016")]
    single = [sim.json("topology", "route", *pair) for pair in zip(*named)]
    tap.result(len(single) == 8 and all(route for route in single), "both hosts have eight HCAs", named)
    tap.equal("the routes between two hosts are those of their rails",
              steady(sim.json("topology", "route", "node0001", "node0016")), steady(sum(single, [])))
    tap.equal("the route to one HCA of another host is that of its rail",
              steady(sim.json("topology", "route", "node0001", named[1][5])), steady(single[5]))
    both = sim.ibwire("topology", "route", "node0001", "node0016")
    tap.equal("each has its table and result", [both.out.count("arrives at node0016 mlx5_"), both.out.count("OUT OF"),
                                               both.out.count("Static route"), both.status], [8, 8, 1, 0])
    tap.equal("no change is reported", changes(sim), [])
    # What it costs: a block of 64 LIDs of each switch once in ten minutes.
    blocks = len({(switch, lid // 64) for switch, lid in theirs})
    with_routes = sim.json("collect", "--estimate", "--routes", "1m", "--interval", "10s")["mads_per_sweep"]
    without = sim.json("collect", "--estimate", "--routes", "0", "--interval", "10s")["mads_per_sweep"]
    tap.result(abs(with_routes - without - blocks / 6) <= 1, "the estimate counts them",
               f"{with_routes} - {without}, {blocks} blocks")
    os.remove(sim.env["IBWIRE_DB"])
    sim.ibwire("collect", "--once", "--routes", "0")
    tap.equal("--routes 0 reads none", stored_tables(sim), {})
    failed = sim.ibwire("topology", "route", *list(hosts(lids).values())[:2], check=False)
    tap.equal("without tables a route is unknown", failed.status, 69)
    tap.contains("and reports that it was not read", failed.err, "was not read")

with tap.part("LMC"), Simulation("--gen", "rail --hosts 4", "--opensm", "lmc 2") as sim:
    sim.ibwire("collect", "--once")
    theirs, lids = opensm_tables(sim)
    tap.same("with LMC all LIDs are there", stored_tables(sim), theirs)
    source, target = list(hosts(lids).values())[:2]
    for lid in range(target, target + 4):
        tap.equal(f"LID {lid - target} of 4 is followed as ibtracert does", ibwire_route(sim, source, lid),
                  (ibtracert(sim, source, lid), "arrives"))

with tap.part("changes"), Simulation("--gen", "tree2 --hosts 16 --leafs 4") as sim:
    process = sim.start(IBWIRE, "collect", "--interval", "250ms", "--routes", "1s")
    before, lids = opensm_tables(sim)
    tap.result(wait_for(lambda: os.path.exists(sim.env["IBWIRE_DB"]) and stored_tables(sim) == before),
               "a collector reads the tables")
    nodes = sim.json("nodes")
    leaf = next(row for row in nodes if row["class"] == "switch" and "leaf" in row["node"])
    guid = int(leaf["node_guid"], 16)
    uplinks = sorted({row["port"] for row in sim.json("links") for row in (
        {"guid": row["node_guid"], "port": row["port"], "peer": row["peer"]},
        {"guid": row["peer_guid"], "port": row["peer_port"], "peer": row["node"]})
        if row["guid"] == leaf["node_guid"] and "spine" in row["peer"]})
    sim.run(IBWIRE_SIM, "routes", "save", "before.lfts")
    tap.note(sim.run(IBWIRE_SIM, "routes", "skew", f"{leaf['node_guid']}/{uplinks[0]}", "0.5").out.strip())
    skewed, _ = opensm_tables(sim)
    began = time.monotonic()
    tap.result(wait_for(lambda: changes(sim)), "a change of the tables is an event")
    tap.note(f"seen after {time.monotonic() - began:.2f} s, with --interval 250ms --routes 1s")
    wait_for(lambda: stored_tables(sim) == skewed)
    tap.same("then the database has the new tables", stored_tables(sim), skewed)
    moved = sum(before[key] != skewed[key] for key in before)
    tap.equal("the entries of one switch changed", {key[0] for key in before if before[key] != skewed[key]}, {guid})
    tap.equal("the event names the switch and how many entries",
              [(row["node_guid"], re.sub(r".* changed: ", "", row["text"])) for row in changes(sim)],
              [(leaf["node_guid"], f"{moved} entries")])
    away = collections.Counter(port for (switch, lid), port in stored_tables(sim).items()
                               if switch == guid and port in uplinks and lid in hosts(lids).values())
    tap.result(away[uplinks[0]] >= 0.45 * sum(away.values()), "half of what leaves the leaf leaves by one uplink", away)
    compare_routes(sim, "10 routes are those of ibtracert", lids, 10)
    # A time before the change shows the routes of then.
    target = next(lid for lid in lids.values() if before[guid, lid] != skewed[guid, lid])
    then = rows(sim, "SELECT wall_us FROM sweep WHERE id = (SELECT sweep - 1 FROM event WHERE kind = 'routes-changed')")
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(then[0][0] // 10**6)) + f".{then[0][0] % 10**6:06}Z"
    first = [sim.json("topology", "route", leaf["node_guid"], target, *time_of)[0]["port"]
             for time_of in (["--at", at], [])]
    tap.equal("--at shows the earlier route", first, [before[guid, target], skewed[guid, target]])

    # Killed, and the routes put back meanwhile: the next collector sees that they changed, once.
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.5)  # the launcher frees its slot
    sim.run(IBWIRE_SIM, "routes", "load", "before.lfts")
    tap.same("routes that are loaded are in force", opensm_tables(sim)[0], before)
    process = sim.start(IBWIRE, "collect", "--interval", "250ms", "--routes", "1s")
    tap.result(wait_for(lambda: stored_tables(sim) == before), "a killed collector continues from its stored state")
    time.sleep(1.5)
    tap.equal("and one event for the change", len(changes(sim)), 2)

    # A link that goes: opensm routes around it, and tables are read at once.
    sim.run(IBWIRE_SIM, "routes", "reset")
    sim.run(IBWIRE_SIM, "console", f'Unlink "S-{guid:016x}"[{uplinks[1]}]')
    tap.result(wait_for(lambda: not any(port == uplinks[1] for (switch, _), port in opensm_tables(sim)[0].items()
                                        if switch == guid), 20), "opensm routes around a link that is gone")
    tap.result(wait_for(lambda: stored_tables(sim) == opensm_tables(sim)[0]), "and the database follows")
    stop(process)

tap.done()
