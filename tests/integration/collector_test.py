#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: the threads and processes of a collector start, fail and end
# waits: for sweeps
"""The collector's process: signals, a second collector on the same database, and failing discoveries."""
import contextlib
import fcntl
import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests/integration")
import diags
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, need_terminal, stop, wait_for

need("ibnetdiscover", "ibsim", "opensm", "perfquery")
tap = Tap()


def sweeps(sim):
    """The number of stored sweeps and the result of integrity_check, read with SQLite."""
    with contextlib.closing(sqlite3.connect(f"file:{sim.env['IBWIRE_DB']}?mode=ro", uri=True)) as db:
        count = db.execute("SELECT count(*) FROM sweep").fetchone()[0]
        whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    return count, whole


def collect(sim, *options):
    """A collector that has stored sweeps."""
    process = sim.start(IBWIRE, "collect", *options, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def has_stored():
        with contextlib.suppress(sqlite3.Error):
            return sweeps(sim)[0] > before
        return False

    before = 0
    with contextlib.suppress(sqlite3.Error):
        before = sweeps(sim)[0]
    if not wait_for(has_stored):
        process.kill()
        raise RuntimeError(f"nothing was stored within 30 s: {process.communicate()[0]}")
    return process


def children(parent):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def discovery_smps(sim):
    """SMPs of all clients except subnet managers."""
    lines = sim.run(IBWIRE_SIM, "wire").out.splitlines()
    return int(lines[1].split()[2].strip("(")) - int(lines[2].split()[0])


def strike(sim, collector, number, seconds=20):
    """Send a signal to the next discovery helper of a collector once it has sent SMPs; its process id, or None.
    Before it has called exec() it suspends the collector, and ibsim panics if a client dies while it attaches."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
        before = discovery_smps(sim)
        for pid in children(collector.pid):
            while time.monotonic() < end and pid in children(collector.pid):
                if discovery_smps(sim) < before + 50:
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
                    return pid
    return None


def failures(sim, reason):
    """Texts of the events of failed discoveries for this reason. On a busy machine others exceed their deadline."""
    return [row["text"] for row in sorted(sim.events("discovery-failed"), key=lambda row: row["time"]) if reason in row["text"]]


def strike_till_told(sim, collector, number, reason, seconds=90):
    """Strike one helper after the other until a discovery has failed for this reason: one that is struck may be done
    already. The process id of the last one, or None."""
    end, failed = time.monotonic() + seconds, len(failures(sim, reason))
    while time.monotonic() < end:
        hit = strike(sim, collector, number)
        if hit and wait_for(lambda: len(failures(sim, reason)) > failed, 10):
            return hit
    return None


with tap.part("signals"), Simulation("--gen", "rail --hosts 4") as sim:
    for number in (signal.SIGINT, signal.SIGTERM):
        process = collect(sim, "--interval", "200ms")
        first = sweeps(sim)[0]
        # The first sweep has no deltas.
        tap.result(wait_for(lambda: sweeps(sim)[0] >= first + 2), f"{number.name}: sweeps are stored")
        status = stop(process, number)
        said = process.communicate()[0].decode()
        tap.equal(f"{number.name}: exit status 0", status, 0)
        tap.result("rror" not in said, f"{number.name}: no word of an error", said)
        tap.equal(f"{number.name}: integrity_check", sweeps(sim)[1], "ok")
        # Every sweep that is there is complete: each port of it has a delta or a reason for having none.
        rows = sim.json("sql", """
            SELECT s.id AS sweep, (SELECT count(*) FROM delta d WHERE d.sweep = s.id) AS deltas, s.ports_answered
            FROM sweep s ORDER BY s.id DESC LIMIT 1""")
        tap.equal(f"{number.name}: the last sweep is complete", rows[0]["deltas"], rows[0]["ports_answered"])
    # Sweeps have gone by since the newest discovery; its cost is still shown.
    status = sim.json("status")
    smps = sim.json("sql", "SELECT discovery_smps FROM sweep WHERE discovery_us > 0 ORDER BY id DESC LIMIT 1")
    tap.equal("status shows the newest discovery", status["discovery_smps"], smps[0]["discovery_smps"])
    tap.result(status["discovery_us"] > 0 and status["discovery_smps"] > 0, "and what it cost", status)
    gaps = sim.json("sql", "SELECT max(id) - min(id) + 1 - count(*) AS missing FROM sweep")[0]["missing"]
    tap.equal("sweeps are numbered without a gap over restarts", gaps, 0)

    with open("text.db", "wb") as file:
        file.write(b"not a database\n" * 1000)
    for path in (os.path.abspath("text.db"), "/proc/none/fabric.db"):
        refused = sim.ibwire("collect", "--once", "--db", path, check=False)
        tap.result(refused.status == 74 and path in refused.err and refused.err.count("\n") == 1,
                   f"collect into {os.path.basename(path)} is refused in one line", refused)
    with open("text.db", "rb") as file:
        tap.equal("a file that is not a database is unchanged", file.read(), b"not a database\n" * 1000)

    process = collect(sim, "--interval", "500ms")
    before = sweeps(sim)[0]
    second = sim.ibwire("collect", "--once", check=False)
    tap.equal("a second collector is refused", second.status, 69)
    tap.result(str(process.pid) in second.err and len(second.err.splitlines()) == 1,
               "the refusal names the first one's process id in one line", second)
    database = sim.env["IBWIRE_DB"]
    os.symlink(database, database + ".symbolic")
    second = sim.ibwire("collect", "--once", "--db", database + ".symbolic", check=False)
    tap.result(second.status == 69 and str(process.pid) in second.err, "also on a symbolic link", second)
    tap.equal("where it is live too", sim.json("status", "--db", database + ".symbolic")["collector_pid"], process.pid)
    # A read lock on all that a reader can lock of the database file keeps no collector from storing.
    tap.equal("only the collector's user opens the lock file", os.stat(database + ".lock").st_mode & 0o777, 0o600)
    process.kill()
    process.wait()
    with open(database, "rb") as file:
        # Of another kind than SQLite's, which end where this process closes a database that it has read.
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
        process = collect(sim, "--interval", "500ms")
        tap.equal("status shows it as live", sim.json("status")["collector_pid"], process.pid)
    before = sweeps(sim)[0]
    tap.result(wait_for(lambda: sweeps(sim)[0] > before + 1), "the first one goes on")
    os.unlink(database + "-wal")
    output = process.communicate(timeout=120)[0].decode()
    tap.result(process.returncode == 74 and "start the collector again" in output.splitlines()[-1],
               "it ends if its log was removed", output)
    tap.result(sweeps(sim)[0] > before, "with its sweeps in the database", sweeps(sim))
    process = collect(sim, "--interval", "500ms")
    process.kill()
    process.wait()
    tap.equal("integrity_check after SIGKILL", sweeps(sim)[1], "ok")
    tap.equal("and another collector starts", sim.ibwire("collect", "--once", check=False).status, 0)

def requests(sim):
    """All MADs of all clients, and the SMPs of them."""
    words = sim.run(IBWIRE_SIM, "wire").out.splitlines()[1].split()
    return int(words[0]), int(words[2].strip("("))


def without_smps(sim, name, *command, polls=True):
    """Run a command that sends no SMPs. Nothing else sends MADs: the subnet manager is stopped."""
    before = requests(sim)
    done = sim.ibwire(*command, check=False)
    after = requests(sim)
    mads = after[0] - before[0]
    smps = after[1] - before[1]
    tap.result(done.status == 0, f"{name} succeeds", done)
    tap.equal(f"{name} sends no SMPs", smps, 0)
    tap.result((mads > 0) == polls, f"{name} sends {'MADs of other classes' if polls else 'no MADs at all'}", mads)


def same_as_perfquery(sim):
    """MADs are counted as traffic, 1 packet and 72 words each: they are subtracted."""
    discovered = diags.Discovered(sim.run("ibnetdiscover").out)
    theirs, ours = {}, {}
    for (guid, port), end in discovered.ports.items():
        node = discovered.nodes[guid]
        lid = node["lid"] if node["type"] == "switch" else end["lid"]
        found = diags.extended_counters(sim.run("perfquery", "-t", "5000", "-x", "-l", lid, port).out)[port]
        theirs[f"0x{guid:016x}", port] = [found[way + "_data"] - 72 * found[way + "_packets"] for way in ("xmit", "rcv")]
    for row in sim.json("ports"):
        if row["status"] in ("ok", "new") and row["port"]:
            ours[row["node_guid"], row["port"]] = [row["counters"][way + "_data"] - 72 * row["counters"][way + "_packets"]
                                                   for way in ("xmit", "rcv")]
    tap.same("the counters equal perfquery's", ours, theirs)
    tap.result(any(sent for sent, _ in theirs.values()), "and there was traffic")


with tap.part("topology file"), Simulation("--gen", "rail --hosts 2", "--traffic", "ring") as sim:
    whole = sim.run("ibnetdiscover").out
    with open("fabric.topo", "w", encoding="utf-8") as file:
        file.write(whole)
    sim.traffic("pause")
    sim.run(IBWIRE_SIM, "opensm", "stop")
    without_smps(sim, "collect --once", "collect", "--once", "--topology", "fabric.topo")
    same_as_perfquery(sim)
    without_smps(sim, "topology save", "topology", "save", "saved.topo", polls=False)
    without_smps(sim, "snapshot take with a saved file", "snapshot", "take", "by-file", "--topology", "saved.topo")
    without_smps(sim, "collect --estimate", "collect", "--estimate", "--topology", "saved.topo", polls=False)
    with open("lids.topo", "w", encoding="utf-8") as file:
        file.write(re.sub(" lid [0-9]+ lmc [0-9]+", "", whole))
    for command in (("collect",), ("snapshot", "take", "refused")):
        tap.one_line(f"{command[0]}: a file without LIDs", sim.ibwire(*command, "--topology", "lids.topo", check=False), 74,
                     "lids.topo has no LIDs")
    with tap.part("top: its collector gets its options"):
        need_terminal()
        terminal = os.openpty()[1]
        process = sim.start(IBWIRE, "top", "--db", "new.db", "--adaptive-routing", "--topology", "lids.topo", stdin=terminal,
                            stdout=terminal, stderr=subprocess.PIPE, env={**sim.env, "TERM": "xterm"})
        tap.contains("top: its collector gets its options", process.communicate()[1].decode(), "lids.topo has no LIDs")
        tap.equal("top: the status of its collector", process.returncode, 74)
    before = requests(sim)
    process = collect(sim, "--interval", "200ms", "--topology", "fabric.topo")
    status = sim.json("status")
    tap.result("fabric.topo of " in status["topology_file"] and status["topology_file"].endswith(", no SMPs"),
               "status shows the file", status)
    nodes = status["nodes"]
    # Without the blocks of one host: the blocks are separated by empty lines.
    blocks = whole.split("\n\n")
    gone = next(i for i, block in enumerate(blocks) if '"node0001 mlx5_0"' in block.splitlines()[-2])
    with open("fabric.new", "w", encoding="utf-8") as file:
        file.write("\n\n".join(blocks[:gone] + blocks[gone + 1:]))
    os.rename("fabric.new", "fabric.topo")
    tap.result(wait_for(lambda: sim.json("status")["nodes"] == nodes - 1), "the changed file is read again")
    os.rename("lids.topo", "fabric.topo")
    tap.result(wait_for(lambda: sim.events("discovery-failed")), "a changed file without LIDs is reported")
    tap.equal("and the last topology remains in use", sim.json("status")["nodes"], nodes - 1)
    tap.equal("the collector ends", stop(process), 0)
    said = process.communicate()[0].decode()
    tap.equal("it logs the topology once for each file", said.count("topology from fabric.topo of "), 2)
    tap.equal("and sent no SMPs", requests(sim)[1] - before[1], 0)
    sim.ibwire("collect", "--once")
    tap.equal("status of a collector that discovers shows no file", sim.json("status")["topology_file"], None)
    tap.result(requests(sim)[1] > before[1], "and the relay counts its SMPs")

with tap.part("discovery"), Simulation("--gen", "rail --hosts 16", "--opensm", "m_key 0x1234",
                                       "--opensm", "m_key_protection_level 2") as sim:
    nodes = len((sim.ibwire("collect", "--once"), sim.json("nodes"))[1])
    sim.ibwire("collect", "--once", "--db", "keys.db", "--security-keys", sim.env["IBWIRE_SIM_DIR"])
    tap.equal("with the key files that opensm writes the same nodes are found",
              len(sim.json("nodes", "--db", "keys.db")), nodes)
    sim.run(IBWIRE_SIM, "wire", "latency=1ms")  # a discovery takes most of a second
    process = collect(sim, "--interval", "500ms", "--rediscover", "1s", "--discovery-deadline", "3s",
                      "--discovery", "explorer")
    try:
        # AddressSanitizer catches SIGSEGV, and exits.
        tap.result(strike_till_told(sim, process, signal.SIGABRT, "crashed"), "an event for a crashed discovery")
        tap.equal("the last topology is kept", len(sim.json("nodes")), nodes)
        tap.equal("the collector still runs", process.poll(), None)
        before = sweeps(sim)[0]
        hit = strike_till_told(sim, process, signal.SIGSTOP, "deadline")
        tap.result(hit, "an event for a hanging discovery")
        tap.result(sweeps(sim)[0] >= before + 3, "sweeps go on while it hangs", f"{before} then {sweeps(sim)[0]}")
        tap.result(hit and wait_for(lambda: not os.path.exists(f"/proc/{hit}")), "the one that hung is gone")
        tap.equal("the topology is kept again", len(sim.json("nodes")), nodes)
    finally:
        stop(process)
        tap.comment("discovery: " + "; ".join(row["text"] for row in sim.events("discovery-failed")[:2]))

    process = collect(sim, "--rediscover", "1s", "--discovery-deadline", "6s")
    try:
        for kind, reason in ((signal.SIGKILL, "libibnetdisc: discovery crashed"),
                             (signal.SIGSTOP, "libibnetdisc: discovery did not end within its deadline")):
            tap.result(strike_till_told(sim, process, kind, reason), f"{reason}: an event")
            text = (failures(sim, reason) or [""])[-1]
            tap.result(text.endswith("; the explorer discovered the fabric instead"), f"{reason}: the explorer", text)
    finally:
        stop(process)
        sim.run(IBWIRE_SIM, "wire", "latency=0us")

    # The cables of this host's leaf to all spines are pulled: what is left is a small part of the fabric.
    links = sim.json("links")
    local = sim.run("ibstat", "-p").out.split()[0]
    leaf = next(row["peer_guid"] for row in sim.json("ports") if row["peer_guid"] and
                int(row["node_guid"], 16) in (int(local, 16), int(local, 16) - 1))
    names = {row["node_guid"]: row for row in sim.json("nodes")}
    switches = {guid for guid, row in names.items() if row["type"] == "switch"}
    process = collect(sim, "--interval", "500ms", "--rediscover", "1s")
    try:
        for row in links:
            ends = {row["node_guid"]: row["port"], row["peer_guid"]: row["peer_port"]}
            if leaf in ends and set(ends) <= switches:
                sim.run(IBWIRE_SIM, "console", f'Unlink "S-{leaf[2:]}"[{ends[leaf]}]')
        tap.result(wait_for(lambda: sim.events("discovery-shrunk")), "an event for a shrunk fabric")
        row = sim.json("sql", """SELECT count(*) AS nodes FROM node_version WHERE from_sweep <=
            (SELECT min(sweep) FROM event WHERE kind = 'discovery-shrunk') AND (to_sweep IS NULL OR to_sweep >
            (SELECT min(sweep) FROM event WHERE kind = 'discovery-shrunk'))""")[0]
        tap.equal("the topology is kept at first", row["nodes"], nodes)
    finally:
        stop(process)

# A trunk is pulled and returned. No counter shows this, SMPs do. Nodes that are reached over the trunk cannot answer until
# opensm has set other routes, which takes as long as the timeout of a silent node. So opensm is suspended meanwhile, and
# the expected result is known: the nodes at one end of the trunk are silent while there is no route, and not afterwards.
with tap.part("a link that goes and comes"), Simulation("--gen", "rail --hosts 4") as sim:
    process = collect(sim, "--interval", "200ms")
    try:
        switches = {row["node_guid"] for row in sim.json("nodes") if row["type"] == "switch"}
        link = next(row for row in sim.json("links") if {row["node_guid"], row["peer_guid"]} <= switches)
        ends = {(link["node_guid"], link["port"]), (link["peer_guid"], link["peer_port"])}
        end = f'"S-{link["node_guid"][2:]}"[{link["port"]}]'

        def status_of_ends():
            return {row["status"] for row in sim.json("ports") if (row["node_guid"], row["port"]) in ends}

        def events_of(kind):
            return sorted(row["node_guid"] for row in sim.events(kind))

        behind = {guid: {guid} | {row["peer_guid"] for row in sim.json("ports") if row["node_guid"] == guid and
                                row["peer_guid"] not in switches} for guid, _ in ends}
        opensm = int(sim.run("sh", "-c", "echo $IBWIRE_SIM_OPENSM_PID").out)
        os.kill(opensm, signal.SIGSTOP)
        try:
            sim.run(IBWIRE_SIM, "console", "Unlink " + end)
            tap.result(wait_for(lambda: sim.events("link-down")), "an event for a link going down")
            tap.result(wait_for(lambda: events_of("node-silent")), "an event for a silent node")
            tap.equal("no node responds without a route", events_of("node-answers"), [])
        finally:
            os.kill(opensm, signal.SIGCONT)
        # Others may become silent until opensm has set the other routes.
        tap.result(wait_for(lambda: events_of("node-answers") == events_of("node-silent")),
                   "all of them respond once they have a route",
                   f"{events_of('node-answers')} of {events_of('node-silent')}")
        tap.equal("no node is silent afterwards", sim.json("status")["silent_nodes"], [])
        silent = events_of("node-silent")
        tap.result(any(set(silent) <= nodes for nodes in behind.values()), "silent were nodes at one end of it",
                   f"{silent} of {behind}")
        tap.equal("one event for each", silent, sorted(set(silent)))
        tap.equal("both its ends are down", status_of_ends(), {"down"})
        sim.run(IBWIRE_SIM, "console", "ReLink " + end)
        tap.result(wait_for(lambda: status_of_ends() <= {"ok", "idle"}), "it is polled again when it is back")
        tap.equal("one event for the link", len(sim.events("link-down")), 1)
        tap.result(wait_for(lambda: len(sim.events("link-up")) == 1), "it came back once", sim.events("link-up"))
        smps = [row["discovery_smps"] for row in
                sim.json("sql", "SELECT discovery_smps FROM sweep WHERE discovery_us > 0 ORDER BY id")]
        # On a busy machine, some explorations fail, and the fabric is discovered.
        most = min if sim.events("discovery-failed") else max
        tap.result(len(smps) > 2 and smps[0] > 200 and most(smps[1:]) < 100, "its ports are explored, not the fabric", smps)
        known = {(row["node_guid"], row["port"]) for row in sim.events("link-down") + sim.events("link-up")}
        tap.result(known <= ends, "the events name the link", known)
        for guid, port in sorted(ends):
            place = f"{guid}/{port}"
            for face, rows in ("events", sim.json("events", place)), ("report", sim.json("report", place)["events"]):
                kinds = {row["kind"] for row in rows}
                tap.result({"link-down", "link-up"} <= kinds, f"{face}: they are events of both ends", (place, kinds))
    finally:
        stop(process)

# libibnetdisc leaves a hole where a node does not respond, and the explorer finds the node when it does.
with Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2") as sim, tap.part("a node without a response"):
    sim.run(IBWIRE_SIM, "wire", "dead=node0002 mlx5_0 hold=100ms")
    process = collect(sim, "--interval", "200ms")
    try:
        tap.result("node0002 mlx5_0" not in {row["node"] for row in sim.json("nodes")}, "it is not discovered")
        sim.run(IBWIRE_SIM, "wire", "dead=none")
        tap.result(wait_for(lambda: sim.events("node-added")), "it is found")
        smps = sim.json("sql", "SELECT discovery_smps AS smps FROM sweep WHERE discovery_us > 0 ORDER BY id")
        tap.result(smps[0]["smps"] > 60 and max(row["smps"] for row in smps[1:]) < 30, "by exploring its port", smps)
        tap.equal("no discovery has failed", sim.events("discovery-failed"), [])
    finally:
        stop(process)

# A discovery that takes longer than its deadline because each MAD takes 200 ms.
with Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2") as sim, tap.part("a deadline"):
    sim.run(IBWIRE_SIM, "wire", "dead=node* hold=4s")
    smps = [sim.json("collect", "--once", "--retries", str(retries), "--db", "retries.db", "--discovery",
                     "explorer")["discovery_smps"] for retries in (0, 5)]
    tap.result(smps[1] >= smps[0] + 30, "--retries applies to the queries of 8 unresponsive nodes", smps)
    sim.run(IBWIRE_SIM, "wire", "latency=100ms")
    for _ in range(5):  # on a busy machine, the first query of libibnetdisc may time out
        once = sim.ibwire("collect", "--once", "--max-smps", "2", "--discovery-deadline", "5s", check=False)
        if "libibnetdisc: discovery did not end within its deadline" in once.err:
            break
    tap.equal("a discovery that reaches its deadline is stored", once.status, 0)
    tap.contains("the deadline of libibnetdisc is reported", once.err, "libibnetdisc: discovery did not end within its deadline")
    tap.contains("the deadline is reported", once.err, "discovery: incomplete at its deadline: ")
    found = sim.json("nodes")
    tap.result({"switch", "ca"} <= {row["type"] for row in found} and
               not any(row["node"].startswith("node") for row in found), "this host and switches are stored", found)

# A managed switch as host: its device has port 0 only.
with Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2 --management 0") as sim, \
        tap.part("a switch as host"):
    keys = ("nodes", "links", "ports_polled", "ports_answered")
    expected = sim.json("collect", "--once")
    switch = next(row["node_guid"] for row in sim.json("nodes") if row["type"] == "switch")
    sim.env["SIM_HOST"] = "S-" + switch[2:]
    sim.env["IBWIRE_DB"] += ".switch"
    for options in ((), ("--Port", "0"), ("--smi-ca", "ibsim0:0"), ("--directed-smps",),
                    ("--discovery", "explorer")):
        report = sim.json("collect", "--once", *options)
        tap.equal(" ".join(("on a switch:", *options)), [report[key] for key in keys], [expected[key] for key in keys])
    tap.equal("on a switch: the subnet manager responds", sim.json("status")["sm_state"], "master")
    sim.ibwire("snapshot", "take", "of-switch")
tap.done()
