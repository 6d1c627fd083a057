#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What an operator types during an incident: a link that is down, a degraded one, errors, a host's routes."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, run

SCENARIO = """about A link goes down, another one comes back with one lane, a third one has errors
shape rail units=2 hosts=4 rails=2 spines=2
length 12m
job main alltoall fan=4 load=0.5
at 2m errors leaf-u01-r0/5 symbol_errors=36000
at 4m errors leaf-u01-r0/2 symbol_errors=36000 for=2m
at 3m down leaf-u01-r1/5
at 3m width leaf-u02-r0/5 1x
"""

tap = Tap()
os.environ["TZ"] = "UTC0"
os.environ["COLUMNS"] = "200"
with open("test.scenario", "w", encoding="ascii") as file:
    file.write(SCENARIO)
run(os.environ["IBWIRE_BUILD"] + "/tests/screen/record_db", "test.scenario", "fabric.db")
os.environ["IBWIRE_DB"] = os.path.abspath("fabric.db")


def text(*arguments):
    return run(IBWIRE, *arguments, check=False).out


def rows(*arguments):
    return json.loads(run(IBWIRE, *arguments, "--format", "json").out)


def short(name):
    """The displayed name: "MF0;leaf01:MODEL/U1" is leaf01."""
    return name.split(";")[-1].split(":")[0]


def ends(found):
    return [f"{short(row['node'])}/{row['port']} {short(row['peer'])}/{row['peer_port']}" for row in found]


with tap.part("links by state"):
    down = rows("links", "--down")
    tap.equal("links --down lists the link that is down, with its last peer", len(down), 1)
    tap.equal("its end is that of the fault", f"{short(down[0]['node'])}/{down[0]['port']}" if down else "",
              "leaf-u01-r1/5")
    tap.result(down and (down[0]["peer"] or "").split(";")[-1].startswith("spine"), "its last peer is a spine", down)
    tap.equal("--state down is the same", rows("links", "--state", "down", "--columns", "node,port,peer"),
              rows("links", "--down", "--columns", "node,port,peer"))
    degraded = rows("links", "--degraded")
    tap.equal("links --degraded lists the link with one lane",
              [f"{short(row['node'])}/{row['port']} {row['width']}" for row in degraded], ["leaf-u02-r0/5 1x"])
    tap.equal("--state degraded and the key state: are the same",
              [ends(rows("links", *words)) for words in (["--state", "degraded"], ["state:degraded"])],
              [ends(degraded)] * 2)
    tap.contains("the table has the word of the option and of the finding", text("links", "--degraded"),
                 "1x HDR degraded")
    tap.contains("and so has the finding", text("health"), "link-degraded")
    tap.equal("subjects apply, too", rows("links", "--degraded", "leaf-u01-r0"), [])
    tap.contains("no row is a line that says so", text("links", "--state", "silent"), " is silent")
    tap.one_line("a wrong state is an error", run(IBWIRE, "links", "--state", "donw", check=False), 64, "'down'")
    tap.one_line("a state is no expression", run(IBWIRE, "links", "--state", "down|ok", check=False), 64, "--state")
    tap.one_line("one of them at a time", run(IBWIRE, "links", "--down", "--degraded", check=False), 64, "mutually exclusive")

with tap.part("a node and its port in two arguments"):
    lid = str(rows("ports", "leaf-u01-r0/2")[0]["lid"])
    newest = rows("ports", lid + "/2")[0]["time"]
    for command in "ports", "links", "health", "events":
        for node in "leaf-u01-r0", lid:
            tap.equal(f"{command} {node} 2 is {command} {node}/2",
                      text(command, node, "2", "--columns", "node,port"),
                      text(command, node + "/2", "--columns", "node,port"))
    tap.equal("history, too", text("history", lid, "2", "--until", newest),
              text("history", lid + "/2", "--until", newest))
    tap.equal("balance of a port selects its groups", json.loads(text("balance", "leaf-u01-r0", "1", "--format", "json")), [])
    tap.contains("and a host port has none", text("balance", "leaf-u01-r0", "1"), "none of the selected ports is in a group")
    tap.result(json.loads(text("balance", "leaf-u01-r0", "5", "--format", "json")), "an uplink has one", "")
    for command in "ports", "links", "history", "health", "events", "nodes", "balance":
        tap.one_line(f"{command}: a number after several subjects is refused",
                     run(IBWIRE, command, "leaf-u01-r0", "2", "3", check=False), 64, "could be a LID or a port")

with tap.part("reports and routes of hosts"):
    tap.equal("report NODE PORT is report NODE/PORT",
              text("report", "leaf-u01-r0", "2", "--until", newest), text("report", "leaf-u01-r0/2", "--until", newest))
    report = json.loads(text("report", "node0002", "--format", "json"))
    tap.equal("the report of a host has the ports of all its HCAs", [row["port"] for row in report["ports"]],
              [f"{row['node']}/{row['port']}" for row in rows("ports", "node0002")])
    tap.contains("and names them", text("report", "node0002"), "node0002 mlx5_1/1")
    sums = {key: 8 * sum(row[key] or 0 for row in rows("ports", "node0002")) for key in ("xmit_bytes_per_s", "rcv_bytes_per_s")}
    total = re.search(r"^total +TX ([0-9.]+) ([kMG]?)b/s +RX ([0-9.]+) ([kMG]?)b/s +2 of 2 ports measured", text("report", "node0002"), re.M)
    shown = [float(total[i]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[total[i + 1]] for i in (1, 3)] if total else []
    tap.result(shown and all(abs(a - b) <= 0.06e9 for a, b in zip(shown, sums.values())) and min(shown) > 1e9,
               "and their totals", f"{shown} {sums}")
    tap.contains("its page links to its history", text("report", "node0002", "--html", "-", "--links"),
                 'href="history?subject=node0002"')
    tap.equal("its findings and events are those of each HCA",
              [sorted({json.dumps(row, sort_keys=True) for hca in ("node0002 mlx5_0", "node0002 mlx5_1")
                       for row in json.loads(text("report", hca, "--until", newest, "--format", "json"))[key]})
               for key in ("findings", "events")],
              [sorted(json.dumps(row, sort_keys=True) for row in
                      json.loads(text("report", "node0002", "--until", newest, "--format", "json"))[key])
               for key in ("findings", "events")])
    for words in ["leaf-u01-r0", "leaf-u01-r1"], ["leaf-u01-r0", "2", "3"], []:
        tap.one_line(f"report {' '.join(words)} is refused", run(IBWIRE, "report", *words, check=False), 64,
                     "exactly one port, node, host or serial number")
    tap.equal("routes between hosts are those of both rails",
              [(row["hop"], row["from"], row["to"]) for row in rows("topology", "route", "node0001", "node0002")
               if row["hop"] == 1],
              [(1, f"node0001 mlx5_{rail}/1", f"node0002 mlx5_{rail}/1") for rail in (0, 1)])
    tap.one_line("a route has two ends", run(IBWIRE, "topology", "route", "node0001", "1", "node0002", "1", check=False),
                 64, "two ends")

with tap.part("errors"):
    found = rows("errors")
    tap.equal("errors lists each counter that increased, the highest rate first",
              [(f"{short(row['node'])}/{row['port']}", row["counter"]) for row in found
               if row["counter"] == "symbol_errors"][:2],
              [("leaf-u01-r0/5", "symbol_errors"), ("leaf-u01-r0/2", "symbol_errors")])
    tap.equal("and this is the order of all", [row["per_hour"] for row in found],
              sorted((row["per_hour"] for row in found), reverse=True))
    counted = {(row["node_guid"], row["port"]): row["errors"] for row in rows("ports", "--since", "-1d")}
    tap.equal("its counts are those of ports",
              [row for row in found if counted[row["node_guid"], row["port"]].get(row["counter"]) != row["count"]], [])
    tap.equal("and all of them", sorted((*key, name) for key, errors in counted.items() for name in errors),
              sorted((row["node_guid"], row["port"], row["counter"]) for row in found))
    peers = {(row["node_guid"], row["port"]): (row["peer_guid"], row["peer_port"]) for row in rows("ports")}
    tap.equal("each has the other end", [row for row in found if (row["peer_guid"], row["peer_port"]) !=
                                         peers[row["node_guid"], row["port"]]], [])
    tap.result(all(row["first"] <= row["last"] for row in found), "the first increase precedes the last one", found)
    over = next(row for row in found if row["port"] == 2)
    still = next(row for row in found if row["port"] == 5)
    tap.result(330 < over["last_age_s"] - still["last_age_s"] < 390, "the last increase is dated", [over, still])
    tap.equal("--sort last", rows("errors", "--sort", "last")[0]["port"], 5)
    tap.equal("subjects apply", [row["port"] for row in rows("errors", "leaf-u01-r0", "2")], [2])
    tap.contains("the window is a line below the table", text("errors"), "window: ")
    tap.contains("no error is one line", text("errors", "leaf-u02-r1"), "no error counter increased in ")

with tap.part("GUIDs of both ends join ports, links, nodes and metrics"):
    ports = {(row["node_guid"], row["port"]): row for row in rows("ports")}
    nodes = {row["node_guid"]: row for row in rows("nodes")}
    tap.equal("the port GUID of each port is one of its node",
              [row for row in ports.values() if row["port_guid"] not in nodes[row["node_guid"]]["port_guids"]], [])
    tap.equal("and not that of another node", len({guid for row in nodes.values() for guid in row["port_guids"]}),
              sum(len(row["port_guids"]) for row in nodes.values()))
    joined = [(row, ports.get((row["peer_guid"], row["peer_port"]))) for row in (*ports.values(), *rows("links"))]
    tap.equal("the GUIDs of the other end are those of its own row",
              [row for row, peer in joined if peer and row["peer_port_guid"] != peer["port_guid"]], [])
    tap.result(sum(peer is not None for _, peer in joined) > 20, "there are links to join", str(len(joined)))
    labels = [dict(re.findall(r'(\w+)="([^"]*)"', line)) for line in run(IBWIRE, "metrics", "--once").out.split("\n")
              if line.startswith("ibwire_port_info{")]
    keys = "port_guid", "peer_guid", "peer_port_guid"
    tap.equal("labels of metrics are the same", [one for one in labels if [one[key] for key in keys] != [
        ports[one["node_guid"], int(one["port"])][key] or "" for key in keys]], [])
    tap.equal("for each port", len(labels), len(ports))

with tap.part("events --follow"):
    process = subprocess.Popen([IBWIRE, "events", "-f", "--format", "json", "--limit", "3"], stdout=subprocess.PIPE)
    lines = [json.loads(process.stdout.readline()) for _ in range(3)]
    tap.equal("it begins with the newest events", [row["id"] for row in lines],
              [row["id"] for row in rows("events", "--limit", "3")])
    with sqlite3.connect("fabric.db") as db:
        newest, = db.execute("SELECT max(id) FROM event").fetchone()
        names = [row[1] for row in db.execute("PRAGMA table_info(event)") if row[1] != "id"]
        db.execute(f"INSERT INTO event (id, {','.join(names)}) SELECT {newest + 1}, {','.join(names)} FROM event "
                   f"WHERE id = {newest}")
        names = [row[1] for row in db.execute("PRAGMA table_info(sweep)") if row[1] != "id"]
        db.execute(f"INSERT INTO sweep (id, {','.join(names)}) SELECT max(id) + 1, {','.join(names)} FROM sweep")
    db.close()
    tap.equal("a new event is one line more", json.loads(process.stdout.readline())["id"], newest + 1)
    process.send_signal(signal.SIGINT)
    tap.equal("SIGINT ends it", process.wait(120), 0)
    tap.equal("without another line", process.stdout.read(), b"")
    process = subprocess.Popen([IBWIRE, "events", "--follow"], stdout=subprocess.PIPE)
    tap.equal("the text begins with ten lines", len([process.stdout.readline() for _ in range(10)]), 10)
    process.stdout.close()
    tap.equal("a closed pipe ends it", process.wait(120), 0)
    process = subprocess.Popen([IBWIRE, "events", "--follow"], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    tap.equal("SIGTERM ends it", process.wait(120), 0)
    tap.one_line("it has no end", run(IBWIRE, "events", "-f", "--until", "-1s", check=False), 64, "--follow")



def without(*names):
    """A copy of the database in which nodes left the fabric three sweeps before the end."""
    shutil.copy("fabric.db", "left.db")
    with contextlib.closing(sqlite3.connect("left.db")) as database, database:
        sweep = database.execute("SELECT max(id) - 3 FROM sweep").fetchone()[0]
        for name in names:
            node = database.execute("SELECT node FROM node_version WHERE name = ?", (name,)).fetchone()[0]
            database.execute("UPDATE node_version SET to_sweep = ? WHERE node = ?", (sweep, node))
            database.execute("UPDATE port_version SET to_sweep = ? WHERE port IN (SELECT id FROM port WHERE node = ?)",
                             (sweep, node))
        database.execute("UPDATE sweep SET topology = ?1 WHERE id >= ?1", (sweep,))


def about(*words):
    return json.loads(run(IBWIRE, "report", "--db", "left.db", "--format", "json", *words).out)["about"]


with tap.part("hosts that lost HCAs"):
    without("node0002 mlx5_1")
    tap.contains("a removed HCA of a host is named", about("node0002")["removed_hcas"], "node0002 mlx5_1 since 20")
    tap.equal("but not for another HCA by its name", about("node0002 mlx5_0")["removed_hcas"], None)
    without("node0002 mlx5_1", "node0002 mlx5_0")
    tap.one_line("a removed host has HCAs to choose from", run(IBWIRE, "report", "--db", "left.db", "node0002", check=False),
                 64, "2 removed nodes had the name 'node0002'")
    tap.equal("which are found", [about(f"node0002 mlx5_{i}")["type"] for i in range(2)], ["ca", "ca"])
    without()
    with contextlib.closing(sqlite3.connect("left.db")) as database, database:
        database.execute("UPDATE node_version SET device_id = device_id + 1 WHERE name = 'node0002 mlx5_1'")
    tap.equal("of two products a host has none", [about(host)["device_id"] is None for host in ("node0001", "node0002")],
              [False, True])

tap.done()
