#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for faults to be seen
"""ibwire health, end to end: the findings of faults on a simulated fabric."""
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, SRCDIR, Simulation, Tap, as_seconds, need, read_file, run, \
    stamp_of, stop, wait_for

need("ibportstate", "ibsim", "opensm")
tap = Tap()

# The same limits as always, with shorter times.
SETTINGS = """[health]
link_down_after = 3s
silent_after = 3s
restart_within = 2s
restart_charge = 4s
training = 3s
recovery = 20s
state_recovery = 4s
"""
# As ibwire-health(1) lists them.
KEYS = ["id", "time", "kind", "severity", "subject", "node_guid", "node", "port", "peer_guid", "peer", "peer_port",
        "since", "opened", "last_seen", "closed", "ok_since", "last_increase",
        "increase_stopped", "measured", "origin", "evidence", "cause", "text", "advice",
        "hosts", "affected_hosts", "ports", "nodes", "drained", "acknowledged_by", "acknowledged_reason",
        "acknowledged_until", "peak", "peak_time"]
TRUNK, HCA, ERRORS = ("leaf-u01-r0", 9), ("node0003 mlx5_1", 1), ("leaf-u01-r2", 5)
HOST, ERROR_HOST = "node0010", "node0005"


def health(sim, *options):
    """Exit status and rows; no rows after an error."""
    said = sim.ibwire("health", *options, "--format", "json", check=False)
    return said.status, json.loads(said.out) if said.status < 3 else said.err


def of_kinds(rows, *kinds):
    return [row for row in rows if row["kind"] in kinds]


class Fabric:
    """The links that the test disconnects."""

    def __init__(self, sim):
        self.sim = sim
        self.guids = {row["node"]: row["node_guid"] for row in sim.json("nodes")}
        self.kinds = {row["node_guid"]: "S" if row["type"] == "switch" else "H" for row in sim.json("nodes")}

    def guid(self, name):
        return next(guid for node, guid in self.guids.items() if node == name or f";{name}:" in node)

    def console(self, what, *ends):
        for name, port in ends:
            guid = self.guid(name)
            self.sim.run(IBWIRE_SIM, "console", f'{what} "{self.kinds[guid]}-{guid[2:]}"[{port}]')

    def errors(self, name, port, **counters):
        for key, value in counters.items():
            self.sim.run(IBWIRE_SIM, "pma", f"{name} port={port} {key}={value}")


def collect(sim):
    """A collector that has evaluated a few sweeps."""
    process = sim.start(IBWIRE, "collect", "--interval", "500ms", "--routes", "2s", "--settings", "quick.conf",
                        stdout=subprocess.DEVNULL)

    def swept():
        with contextlib.suppress(sqlite3.Error, TypeError), contextlib.closing(
                sqlite3.connect(f"file:{sim.env['IBWIRE_DB']}?mode=ro", uri=True)) as db:
            return db.execute("SELECT count(*) FROM sweep WHERE wall_us > ?", (began * 1e6,)).fetchone()[0] >= 6
        return False

    began = time.time()
    if not wait_for(swept):
        process.kill()
        raise RuntimeError("no sweeps were stored within 30 s")
    return process


def check_faults(fabric, rows, began, done):
    """Each fault set between @began and @done has one finding with the right kind, place, cause and beginning."""
    expected = {
        "trunk": ("link-down", "warning", "cable", TRUNK),
        "HCA": ("link-down", "warning", "cable-or-hca", HCA),
        "errors": ("symbol-errors", "critical", "cable", ERRORS),
    }
    for name, (kind, severity, cause, (node, port)) in expected.items():
        guid = fabric.guid(node)
        found = [row for row in of_kinds(rows, kind)
                 if (guid, port) in ((row["node_guid"], row["port"]), (row["peer_guid"], row["peer_port"]))]
        if not tap.equal(f"{name}: one finding for the link", len(found), 1):
            continue
        row = found[0]
        tap.equal(f"{name}: severity and cause", (row["severity"], row["cause"]), (severity, cause))
        tap.result(all(row[key] for key in ("text", "advice", "subject", "evidence", "node", "peer_guid", "peer", "peer_port")),
                   f"{name}: evidence, advice, both ends", row)
        tap.result(began - 1 <= as_seconds(row["since"]) <= done + 3, f"{name}: it began when it was done",
                   f"{row['since']}, done from {stamp_of(began)} to {stamp_of(done)}")
        tap.result(as_seconds(row["since"]) <= as_seconds(row["opened"]) <= as_seconds(row["time"]),
                   f"{name}: its times are in order", row)
    tap.equal("no other findings", len([row for row in rows if row["severity"] != "info"]), 3)
    restart = of_kinds(rows, "host-restart")
    tap.equal("all links of a host down: node-restarted, severity info", [(row["subject"], row["severity"], row["cause"])
              for row in restart], [(HOST, "info", "host")])
    tap.equal("and no findings for its links", [row for row in of_kinds(rows, "link-down") if HOST in row["hosts"]], [])
    tap.equal("the documented keys", {tuple(row) for row in rows}, {tuple(KEYS)})


def check_filters(sim, before, rows):
    tap.equal("--at before the faults: no findings", health(sim, "--at", stamp_of(before)), (0, []))
    then = health(sim, "--at", rows[0]["time"])
    tap.equal("--at after the faults: the same findings", (then[0], {row["id"] for row in then[1]}), (2, {row["id"] for row in rows}))
    status, of_job = health(sim, "--job", ERROR_HOST)
    tap.equal("--job shows findings that touch its hosts: its link and its leaf's trunk",
              (status, sorted(row["kind"] for row in of_job if row["severity"] != "info")),
              (2, ["link-down", "symbol-errors"]))
    status, of_job = health(sim, "--job", "node[0011-0013]")
    tap.equal("--job of other hosts shows none", (status, [row["kind"] for row in of_job if row["severity"] != "info"]), (0, []))
    status, rows = health(sim, ERRORS[0] + "/" + str(ERRORS[1]))
    tap.equal("a port selects its findings", (status, [row["kind"] for row in rows if row["severity"] != "info"]),
              (2, ["symbol-errors"]))
    status, rows = health(sim, HCA[0])
    tap.equal("a removed HCA still selects its findings", (status, [row["subject"].split(" - ")[-1] for row in rows]),
              (1, ["/".join(map(str, HCA))]))
    said = sim.ibwire("health", "node9999", check=False)
    tap.equal("an unknown name is a usage error", (said.status, len(said.err.splitlines())), (64, 1))
    with open("states", "w", encoding="ascii") as file:
        file.write(f"{ERROR_HOST} drained\nnode0001 idle\n")
    status, rows = health(sim, "--hosts-state", "states")
    tap.equal("findings that only touch drained hosts do not count",
              (status, {row["kind"] for row in rows if row["drained"]}), (1, {"symbol-errors"}))


def check_ack(sim, rows):
    row = of_kinds(rows, "symbol-errors")[0]
    tap.equal("ack without a reason is a usage error", sim.ibwire("health", "ack", row["id"], check=False).status, 64)
    sim.ibwire("health", "ack", f"#{row['id']}", "--reason", "cable is ordered", "--for", "1h")
    status, now = health(sim)
    now = of_kinds(now, "symbol-errors")[0]
    tap.equal("acknowledged findings do not affect the exit status", status, 1)
    tap.result(now["acknowledged_reason"] == "cable is ordered" and now["acknowledged_by"] and
               abs(as_seconds(now["acknowledged_until"]) - time.time() - 3600) < 60, "with its author, reason and end", now)
    tap.equal("and so did the command", sim.json("health", "ack", row["id"], "--reason", "cable is ordered"),
              [{key: now[key] for key in ("id", "kind", "subject", "acknowledged_by", "acknowledged_reason")} |
               {"acknowledged_until": None}])
    tap.contains("until it is taken back", sim.ibwire("health", "unack", row["id"]).out, "is no longer acknowledged")
    tap.equal("without the acknowledgement it counts again", health(sim)[0], 2)


def check_gate(sim):
    said = sim.ibwire("health", "--gate", f"node[0011-0012],{ERROR_HOST}", "--for", "5s", "--format", "json", check=False)
    rows = {row["host"]: row for row in json.loads(said.out)}
    tap.equal("check passes clean hosts and not the host with errors",
              (said.status, {host: (row["passed"], row["links"]) for host, row in rows.items() if row["passed"]}),
              (2, {"node0011": (True, 4), "node0012": (True, 4)}))
    # The counter within the 5 s; on a slow machine, after them, the finding "symbol-errors".
    tap.contains("and gives the reason", (rows[ERROR_HOST]["reason"] or "").replace("-", "_"), "symbol_errors")
    tap.equal("clean hosts alone: status 0",
              sim.ibwire("health", "--gate", "node[0011-0012]", "--for", "5s", check=False).status, 0)
    tap.equal("a powered-off host does not pass",
              sim.ibwire("health", "--gate", HOST, "--for", "5s", check=False).status, 2)
    tap.equal("history too short: unknown",
              sim.ibwire("health", "--gate", "node0011", "--for", "10h", check=False).status, 69)
    # Counters that show no errors after they were cleared may have had some before.
    port = sim.json("ports", "node0012 mlx5_0/1")[0]
    for clear in ("-R",), ("-x", "-R"):
        sim.run("perfquery", *clear, port["lid"], 1)

    def reason():
        out = sim.ibwire("health", "--gate", "node0012", "--for", "5s", "--format", "json", check=False).out
        return (json.loads(out)[0]["reason"] or "") if out else ""

    tap.result(wait_for(lambda: "before its counters were cleared" in reason(), every=0.3),
               "cleared counters do not pass", reason())


def check_report(sim, fabric):
    report = sim.json("report", "/".join(map(str, ERRORS)))
    tap.equal("a report lists the finding", [row["kind"] for row in report["findings"] if row["severity"] != "info"],
              ["symbol-errors"])
    tap.equal("both ends", (report["about"]["node_guid"], report["about"]["peer_guid"], len(report["ports"])),
              (fabric.guid(ERRORS[0]), fabric.guid(ERROR_HOST + " mlx5_2"), 2))
    counted = [row for row in report["errors"] if row["counter"] == "symbol_errors"]
    tap.equal("what was counted", [(row["last_hour"], row["window"]) for row in counted], [(50, 50)])
    tap.result(any(row["kind"] == "finding-opened" for row in report["events"]), "and the events", report["events"])
    text = sim.ibwire("report", "/".join(map(str, ERRORS))).out
    tap.result("symbol-errors" in text and ERROR_HOST in text, "the same on a page", text)


def check_uplinks(sim):
    """The series of a leaf's uplinks is the sum of the series of its members."""
    window = ("--since", stamp_of(int(time.time()) - 30), "--until", stamp_of(int(time.time()) - 2), "--counter",
              "xmit_bytes")
    group = sim.json("history", "leaf-u02-r0 uplinks", *window)
    each = sim.json("history", "leaf-u02-r0 uplinks", "--each", *window)
    tap.equal("the uplinks are one series", {row["subject"] for row in group}, {"leaf-u02-r0 uplinks"})
    tap.equal("of all links up", len({row["subject"] for row in each}), 8)
    tap.equal("and their sum", sum(row["total"] or 0 for row in group), sum(row["total"] or 0 for row in each))
    tap.contains("a spine has none", sim.ibwire("history", "spine-01 uplinks", check=False).err, "has no uplinks")


def check_restart(sim, process):
    """Findings survive a restart of the collector."""
    before = {row["id"]: (row["kind"], row["since"], row["opened"]) for row in health(sim)[1]
              if row["severity"] != "info"}
    stop(process)
    process = collect(sim)
    after = {row["id"]: (row["kind"], row["since"], row["opened"]) for row in health(sim)[1] if row["severity"] != "info"}
    tap.same("a restarted collector continues the findings", after, before)
    opened = [row for row in sim.json("events") if row["kind"] == "finding-opened" and row["severity"] != "info"]
    tap.equal("one event for each", len(opened), len(before))
    return process


class Receiver(http.server.BaseHTTPRequestHandler):
    """Refuses the first two posts, and accepts the others."""

    posts, refused = [], 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if Receiver.refused < 2:
            Receiver.refused += 1
            self.send_error(503)
            return
        Receiver.posts.append((self.headers["Content-Type"], json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def receivers():
    """URLs of a server that refuses two posts, and of one that accepts connections and never answers."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            yield f"http://127.0.0.1:{server.server_port}/hook?a=$(touch%20pwned)", \
                f"http://127.0.0.1:{silent.getsockname()[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check_documented_body(posts):
    """The jq program of docs/alerting.md makes what Slack requires."""
    if not shutil.which("jq"):
        tap.skip("documented body", "jq is not installed")
        return
    with open(f"{SRCDIR}/docs/alerting.md", encoding="utf-8") as file:
        program, = re.findall(r"```jq\n(.*?)```", file.read(), re.S)
    for _, row in posts:
        made = json.loads(subprocess.run(["jq", program], input=json.dumps(row).encode(), stdout=subprocess.PIPE,
                                         check=True).stdout)
        tap.result(list(made) == ["text"] and row["text"] in made["text"] and row["subject"] in made["text"],
                   f"{row['change']}: the body for Slack", made)


def check_watch(sim, fabric):
    """health --watch prints one line when a link goes down and one when it returns, and delivers both."""
    end = ("node0011 mlx5_0", 1)
    seen = 'cat >>executed; echo "$IBWIRE_ID $IBWIRE_CHANGE $IBWIRE_SEVERITY $IBWIRE_KIND" >>words; ' \
        'cat /proc/$$/environ /proc/$$/cmdline >>environment'

    def lines(change, name="watched"):
        with contextlib.suppress(FileNotFoundError), open(name, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.endswith("\n")]
            return [row for row in rows if row["change"] == change]
        return []

    with receivers() as (hook, silent), open("watched", "wb") as out, open("watch.err", "wb") as err, \
            open("silent.err", "wb") as silent_err:
        with open("hook.url", "w", encoding="ascii") as file:
            file.write(hook + "\n")
        watch = sim.start(IBWIRE, "health", "--watch", "--format", "json", "--exec", seen, "--webhook", "@hook.url",
                          stdout=out, stderr=err)
        bad = sim.start(IBWIRE, "health", "--watch", "--webhook", silent, "--exec", "exit 3", stdout=subprocess.DEVNULL,
                        stderr=silent_err)
        try:
            tap.result(wait_for(lambda: len(lines("open")) >= 3), "--watch begins with what is open", lines("open"))
            fabric.console("Unlink", end)
            tap.result(wait_for(lambda: lines("opened")), "one line for a disconnected link")
            fabric.console("ReLink", end)
            tap.result(wait_for(lambda: [row for row in lines("closed") if "node0011" in row["hosts"]]),
                       "and one when it is back", lines("closed"))
            for change in ("opened", "closed"):
                tap.equal(f"{change}: one line, of that link", [(row["kind"], row["hosts"]) for row in lines(change)
                                                               if row["severity"] != "info"], [("link-down", ["node0011"])])
            tap.equal("with the keys of a finding and `change`", {tuple(row) for row in lines("closed")},
                      {(*KEYS, "change")})
            tap.result(all(row["closed"] for row in lines("closed")), "and when it closed", lines("closed"))
            printed = lines("opened") + lines("changed") + lines("closed")
            wait_for(lambda: len(Receiver.posts) >= len(printed))
            tap.equal("--webhook posts each change once, after two refused posts",
                      (Receiver.refused, [row for _, row in Receiver.posts]), (2, printed))
            check_documented_body(Receiver.posts)
            tap.equal("as JSON", {kind for kind, _ in Receiver.posts}, {"application/json"})
            tap.equal("--exec gets the same objects on stdin", lines("opened", "executed") +
                      lines("changed", "executed") + lines("closed", "executed"), printed)
            tap.equal("and words in the environment", read_file("words").splitlines(), [
                f"{row['id']} {row['change']} {row['severity']} {row['kind']}" for row in printed])
            environment = read_file("environment").replace("\0", "\n")
            tap.result("IBWIRE_KIND=link-down" in environment and "node0011" not in environment,
                       "no name of the fabric is in its environment or command line", environment)
            tap.result(wait_for(lambda: "timed out after 10 s, attempt 1 of 5" in read_file("silent.err")),
                       "a server that does not answer is given up after 10 s", read_file("silent.err"))
            tap.contains("a command that fails is run again", read_file("silent.err"), "--exec: finding #")
        finally:
            began = time.monotonic()
            tap.equal("exit status 0 after SIGTERM", stop(watch), 0)
            tap.equal("without an answer, too", stop(bad), 0)
            tap.result(time.monotonic() - began < 50, "within the time of one delivery each", time.monotonic() - began)
        tap.contains("what is not delivered is reported", read_file("silent.err"), "--webhook: stopped with ")
        tap.result("503" in read_file("watch.err") and read_file("watch.err").count("attempt ") == 2,
                   "each refused post is one warning", read_file("watch.err"))


def check_sm(sim):
    sim.run(IBWIRE_SIM, "opensm", "stop")
    began = time.time()
    tap.result(wait_for(lambda: of_kinds(health(sim)[1], "sm-lost"), every=0.3), "no subnet manager is a finding")
    row = of_kinds(health(sim)[1], "sm-lost")[0]
    tap.equal("critical, of the whole fabric", (row["severity"], row["cause"], row["node_guid"]), ("critical", "lost", None))
    tap.note(f"sm-lost after {time.time() - began:.1f} s, limit 3 s")
    sim.run(IBWIRE_SIM, "opensm", "start")


def check_stale(sim):
    """Without sweeps for an hour, current findings are unknown."""
    copy = dict(sim.env, IBWIRE_DB=os.path.abspath("old.db"))
    sim.ibwire("db", "backup", copy["IBWIRE_DB"])
    with contextlib.closing(sqlite3.connect(copy["IBWIRE_DB"])) as db:
        db.execute("UPDATE sweep SET wall_us = wall_us - 3600000000")
        db.commit()
    said = run(IBWIRE, "health", env=copy, check=False)
    tap.equal("outdated findings: exit status 69", (said.status, said.out, len(said.err.splitlines())), (69, "", 1))


def check_status(sim, wanted, *options, db=None):
    """status --check: one line with values, and the exit status of Nagios."""
    said = sim.ibwire("status", "--check", *options, *(("--db", db) if db else ()), check=False)
    word = ("OK", "WARNING", "CRITICAL", "UNKNOWN")[wanted]
    tap.result(said.status == wanted and re.fullmatch(
        rf"IBWIRE {word} - [^|\n]+( \| age=[0-9.]+s;;[0-9.]*;0( [a-z_]+=[0-9.]+s?(;[0-9]*)*)+)?\n", said.out) and not said.err,
        f"status --check {' '.join(options)}: {word}", (said.status, said.out, said.err))
    return said.out


def explain():
    kinds = re.findall(r"^([a-z-]+)  ", run(IBWIRE, "health", "--explain", "all").out, re.M)
    tap.equal("--explain lists all kinds", len(kinds), 37)
    short = [kind for kind in kinds if len(run(IBWIRE, "health", "--explain", kind).out.splitlines()) < 5]
    tap.equal("with an explanation of each", short, [])
    tap.equal("an unknown kind is a usage error", run(IBWIRE, "health", "--explain", "x", check=False).status, 64)


with open("quick.conf", "w", encoding="ascii") as conf:
    conf.write(SETTINGS)
explain()
with tap.part("faults"), Simulation("--gen", "rail --units 2 --hosts 8 --rails 4 --spines 4",
                                    "--traffic", "ring rate=60Gb/s") as sim:
    process = collect(sim)
    try:
        fabric = Fabric(sim)
        status, rows = health(sim)
        tap.equal("no open findings", (status, [row for row in rows if row["severity"] != "info"]), (0, []))
        tap.contains("and it reports no open findings", sim.ibwire("health").out, "no open findings")
        before = int(time.time())
        time.sleep(1.1)
        began = time.time()
        fabric.console("Unlink", TRUNK, HCA, *((f"{HOST} mlx5_{rail}", 1) for rail in range(4)))
        fabric.errors(*ERRORS, symbol_errors=10)
        done = time.time()
        for count in range(20, 60, 10):
            time.sleep(0.7)
            fabric.errors(*ERRORS, symbol_errors=count)

        def all_told():
            rows = health(sim)[1]
            return len([row for row in rows if row["severity"] != "info"]) >= 3 and of_kinds(rows, "host-restart")

        tap.result(wait_for(all_told, every=0.3), "all of it is found")
        tap.note(f"found {time.time() - began:.1f} s after it was done")
        status, rows = health(sim)
        tap.equal("the highest severity determines the exit status", status, 2)
        check_faults(fabric, rows, began, done)
        tap.result(re.search(r" critical=[1-9]\d*;;0 warning=\d+;0$", check_status(sim, 2, "--findings").strip()),
                   "with the number of findings")
        check_filters(sim, before, rows)
        check_ack(sim, rows)
        check_gate(sim)
        check_report(sim, fabric)
        check_uplinks(sim)
        process = check_restart(sim, process)
        check_watch(sim, fabric)
        check_sm(sim)
        check_stale(sim)
    finally:
        stop(process)
    check_status(sim, 2)

# opensm does not notice that a port goes to Init: ibsim does not report it.
with open("quick.conf", "a", encoding="ascii") as conf:
    conf.write("degraded_after = 3s\n")
with tap.part("a link in Init"), Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2") as sim:
    process = collect(sim)
    try:
        check_status(sim, 0)
        check_status(sim, 0, "--findings", "--max-age", "60s")
        check_status(sim, 2, "--max-age", "1ms")
        check_status(sim, 3, db="/nonexistent/db")
        leaf = next(row for row in sim.json("links") if row["peer"] == "node0001 mlx5_0")
        lid = sim.json("sql", f"SELECT lid FROM nodes WHERE node_guid = '{leaf['node_guid']}'")[0]["lid"]
        sim.run("ibportstate", lid, leaf["port"], "down")
        tap.result(wait_for(lambda: of_kinds(health(sim)[1], "link-not-active"), every=0.3), "it is found")
        time.sleep(5)  # a node that does not respond, and the ports that are not read, are found within this time
        rows = health(sim)[1]
        tap.equal("and is the only finding", [(row["kind"], row["node"], row["port"], row["severity"]) for row in rows],
                  [("link-not-active", leaf["node"], leaf["port"], "warning")])
        os.kill(int(sim.env["IBWIRE_SIM_OPENSM_PID"]), signal.SIGHUP)  # it sets all links to Active
        tap.result(wait_for(lambda: not of_kinds(health(sim)[1], "link-not-active"), every=0.3), "it closes when it is Active")
    finally:
        stop(process)

tap.done()
