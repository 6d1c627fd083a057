#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for sweeps; storage/admin and tests/fuzz/forged_test cover copies and damage
"""ibwire db while a collector runs: backup, extract, anonymise, recover, and targets that cannot be written."""
import contextlib
import json
import os
import random
import resource
import select
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SHORT, Simulation, Tap, as_other_user, need, run, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
READERS = (["status"], ["nodes"], ["ports"], ["ports", "--details"], ["links"], ["events"], ["db"],
           ["history"], ["snapshot", "list"], ["snapshot", "diff", "--by", "host"],
           ["sql", "SELECT count(*), total(xmit_bytes) FROM traffic"])


def sound(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute("PRAGMA integrity_check").fetchone()[0]


def identities(path):
    """Bytes that identify nodes: descriptions, host names, GUIDs in binary and text form."""
    found = set()
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        for name, description in db.execute("SELECT name, description FROM node_version"):
            found |= {name.encode(), bytes(description), bytes(description).split(b" ")[0]}
        guids = {row[0] for row in db.execute(
            "SELECT guid FROM node UNION SELECT system_guid FROM node_version UNION SELECT guid FROM port_version "
            "UNION SELECT sm_guid FROM sweep")}
        found |= {row[0].encode() for row in db.execute("SELECT boot_id FROM boot")}
    for guid in guids - {0, None}:
        unsigned = guid & (1 << 64) - 1
        found |= {struct.pack(">Q", unsigned), f"{unsigned:016x}".encode(), str(unsigned).encode()}
    return {what for what in found if len(what) >= 6}


def reads(pid):
    """Does a process hold a read transaction? SQLite's readers lock one of the bytes 123 to 127 of PATH-shm."""
    with open("/proc/locks") as locks:
        return [line for line in map(str.split, locks) if line[4] == str(pid) and 123 <= int(line[6]) <= 127]


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))


with tap.part("beside a collector"), Simulation("--gen", "rail --hosts 4", "--traffic", "ring") as sim:
    path = sim.env["IBWIRE_DB"]
    collector = sim.start(IBWIRE, "collect", "--interval", "200ms", stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    tap.result(wait_for(lambda: os.path.exists(path) and sim.ibwire("status", check=False).status == 0 and
                        sim.json("status")["sweeps"] > 20, 60), "the collector stores sweeps")
    before = sim.json("status")
    for i in range(4):
        sim.ibwire("db", "backup", f"copy-{i}.db")
        tap.equal(f"copy {i}: integrity_check", sound(f"copy-{i}.db"), "ok")
        tap.equal(f"copy {i}: db check", sim.ibwire("db", "check", "--db", f"copy-{i}.db").status, 0)
    tap.equal("the live database: db check", sim.ibwire("db", "check").status, 0)
    tap.one_line("compact beside a collector", sim.ibwire("db", "compact", check=False), 69, "collector", "stop it first")
    info = sim.json("db")
    tap.equal("info shows the live collector", (info["live"], info["collector_pid"]), (True, collector.pid))
    sim.ibwire("db", "export", "disguised-live.db", "--anonymise")
    tap.equal("an anonymised extract of a live database passes the check", sound("disguised-live.db"), "ok")
    pager = sim.start(IBWIRE, "sql", "SELECT a.id, b.id FROM sweep a, sweep b, sweep c, sweep d LIMIT 100000",
                      "--format", "csv", stdout=subprocess.PIPE)
    tap.result(select.select([pager.stdout], [], [], 60)[0], "sql writes into a pipe that is not read")
    tap.equal("and holds no read transaction open meanwhile", (pager.poll(), reads(pager.pid)), (None, []))
    stop(pager)
    tap.one_line("a statement that takes too long", sim.ibwire(
        "sql", "SELECT count(*) FROM sample a, sample b, sample c, sample d", "--timeout", "100ms", check=False), 74,
        "stopped after 100.0 ms", "--timeout")
    tap.equal("the collector still runs", collector.poll(), None)
    tap.result(wait_for(lambda: sim.json("status")["sweeps"] > before["sweeps"] + 5), "and stores on")
    late = sim.events("store-failed")
    tap.equal("no sweep was missed", late, [])
    sim.ibwire("snapshot", "take", "job-of-somebody", "--note", "a note of somebody")
    sim.ibwire("snapshot", "take", "later-of-somebody")
    tap.equal("the collector exits with 0", stop(collector), 0)

with tap.part("copies and disguises"):
    env = {**os.environ, "IBWIRE_DB": path}
    run(IBWIRE, "db", "compact", env=env)
    tap.equal("compacted: integrity_check", sound(path), "ok")
    run(IBWIRE, "db", "export", "disguised.db", "--anonymise", env=env)
    with open("disguised.db", "rb") as file:
        content = file.read()
    with open(path, "rb") as file:
        original = file.read()
    who = identities(path) | {b"of-somebody", b"of somebody"}
    tap.equal("anonymised: no name and no GUID of a node is left", [what for what in who if what in content], [])
    tap.result(sum(what in original for what in who) > len(who) // 5, "which the original does")
    with contextlib.closing(sqlite3.connect("file:disguised.db?mode=ro", uri=True)) as db:
        masked = db.execute("SELECT kind, text FROM event WHERE text LIKE '%*%'").fetchall()
        hosts = {row[0].split(" ")[0] for row in db.execute("SELECT name FROM node_version WHERE type = 1")}
        names = {row[0] for row in db.execute("SELECT name FROM node_version WHERE type = 1")}
    tap.equal("anonymised: the texts of events are kept", masked, [])
    tap.result(len(hosts) < len(names) and all(name.startswith("host-") for name in hosts),
               "devices of a host keep one host", f"{sorted(hosts)}\n{sorted(names)}")
    for command in READERS:
        ours, theirs = (run(IBWIRE, *command, "--db", db, env=env) for db in (path, "disguised.db"))
        tap.equal(f"{command[0]} has as many lines on it", len(theirs.out.splitlines()), len(ours.out.splitlines()))
    for target, word in ((path, "already exists"), (".", "already exists"), ("none/x.db", "none/x.db")):
        for way in ("backup", "export"):
            tap.one_line(f"{way} to {target}", run(IBWIRE, "db", way, target, env=env, check=False), 74, word)
    for way in ("backup", "export", "compact"):
        target = [] if way == "compact" else ["full.db"]
        finished = subprocess.run([IBWIRE, "db", way, *target], env=env, preexec_fn=limit_file_size,
                                  capture_output=True, text=True, check=False)
        tap.equal(f"{way} without space: exit status", finished.returncode, 74)
        tap.equal(f"{way} without space: one line", len(finished.stderr.splitlines()), 1)
    tap.equal("and no partial file is left", [name for name in os.listdir(".") if name.startswith("full")], [])
    tap.equal("the database is as it was", sound(path), "ok")

with tap.part("damage"):
    random.seed(4)
    pages = len(original) // 16384
    found = 0
    for page in random.sample(range(1, pages), 6 if SHORT else 25):
        shutil.rmtree("damaged", ignore_errors=True)
        os.mkdir("damaged")
        with open("damaged/fabric.db", "wb") as file:
            file.write(original[:page * 16384] + random.randbytes(3000) + original[page * 16384 + 3000:])
        for command in (*READERS, ["db", "backup", "damaged/copy.db"], ["db", "export", "damaged/part.db"]):
            finished = run(IBWIRE, *command, "--db", "damaged/fabric.db", env=env, check=False)
            good = finished.status == 0 or (finished.status == 74 and len(finished.err.splitlines()) == 1)
            if not good:
                tap.result(False, f"page {page}: {' '.join(command)}", finished)
        finished = run(IBWIRE, "db", "check", "--db", "damaged/fabric.db", env=env, check=False)
        found += finished.status == 74 and len(finished.err.splitlines()) == 1
        if finished.status not in (0, 74):
            tap.result(False, f"page {page}: check", finished)
    tap.result(found >= (5 if SHORT else 22), "check finds the damage", f"{found} found")
    with open("damaged/fabric.db", "wb") as file:
        file.write(original[:16384] + bytes(16384 * 3))
    tap.one_line("a file that is cut", run(IBWIRE, "db", "check", "--db", "damaged/fabric.db", env=env, check=False), 74)

with tap.part("recovery"):
    with contextlib.closing(sqlite3.connect(path)) as db:
        # The second page of a table that has a third.
        name, page, rows = db.execute(
            "SELECT name, pageno, ncell FROM (SELECT *, row_number() OVER (PARTITION BY name ORDER BY path) AS place, "
            "count(*) OVER (PARTITION BY name) AS places FROM dbstat WHERE pagetype = 'leaf' "
            "AND name IN ('absolute', 'chunk', 'error', 'hot')) WHERE place = 2 AND places > 2").fetchone()
        stored = db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
    with open("torn.db", "wb") as file:
        file.write(original[:(page - 1) * 16384] + bytes(16384) + original[page * 16384:])
    finished = run(IBWIRE, "db", "check", "--db", "torn.db", env=env, check=False)
    tap.result(finished.status == 74 and "ibwire db recover NEW.db --db torn.db" in finished.err,
               "check of a damaged database names the command", finished)
    finished = run(IBWIRE, "db", "recover", "recovered.db", "--db", "torn.db", "--format", "json", env=env, check=False)
    tap.equal("db recover", (finished.status, finished.err), (0, ""))
    table = next(row for row in json.loads(finished.out) if row["table"] == name)
    tap.equal("the rows of the page are missing, and no others", table["rows"] + table["removed_rows"] + rows, stored)
    tap.result((table["missing"] or "").startswith("between sweep "), "their sweeps and ports are shown", table)
    for command in (["status"], ["db", "check"], ["db", "export", "recovered-part.db"], ["db", "compact"]):
        finished = run(IBWIRE, *command, "--db", "recovered.db", env=env, check=False)
        tap.result(finished.status == 0, f"recovered: {' '.join(command)}", finished)
    tap.one_line("an existing file is not overwritten",
                 run(IBWIRE, "db", "recover", "recovered.db", "--db", "torn.db", env=env, check=False), 74, "already exists")
    with open("torn.db", "wb") as file:
        file.write(bytes(16384) + original[16384:])
    tap.one_line("without a header", run(IBWIRE, "db", "recover", "none.db", "--db", "torn.db", env=env, check=False), 74)
    tap.result(not os.path.exists("none.db"), "and no file is left")

with tap.part("no rights"), tempfile.TemporaryDirectory() as folder:
    drop = as_other_user()
    db = f"{folder}/fabric.db"
    shutil.copy(path, db)
    os.chmod(db, 0o444)
    os.chmod(folder, 0o555)
    # The folders of the tests are not readable for other users, who only need to pass through them.
    above = os.path.dirname(folder)
    while drop and "ibwire-tests." in above:
        os.chmod(above, 0o711)
        above = os.path.dirname(above)
    if run(*drop, "test", "-x", IBWIRE, "-a", "-r", db, check=False).status:
        tap.skip("no rights", "another user cannot come here")
    else:
        tap.equal("db check works without write permission", run(*drop, IBWIRE, "db", "check", "--db", db, check=False).status, 0)
        tap.equal("and so does db", run(*drop, IBWIRE, "db", "--db", db, check=False).status, 0)
        tap.one_line("and not compact", run(*drop, IBWIRE, "db", "compact", "--db", db, check=False), 74)
        for way in ("backup", "export"):
            tap.one_line(f"nor {way} to there", run(*drop, IBWIRE, "db", way, f"{folder}/c.db", "--db", db, check=False),
                     74, "c.db")
    os.chmod(folder, 0o755)
tap.done()
