#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: wrong command lines, damaged and foreign databases
"""Invalid arguments and foreign databases: one line on stderr, the documented exit status, and unchanged files."""
import contextlib
import hashlib
import os
import sqlite3
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, run

tap = Tap()
READERS = (["status"], ["nodes"], ["ports"], ["links"], ["events"], ["sql", "SELECT 1"],
           ["db"], ["db", "check"], ["db", "compact"], ["db", "backup", "copy.db"], ["db", "export", "part.db"])


def refused(name, command, status, *words, env=None):
    tap.one_line(name, run(*command, env=env, check=False), status, *words)


refused("no command", [IBWIRE], 64, "ibwire help")
refused("an unknown command", [IBWIRE, "linsk"], 64, "links")
refused("an unknown command, far from all", [IBWIRE, "xyzzyx"], 64, "xyzzyx")
refused("an unknown option", [IBWIRE, "ports", "--fromat", "json"], 64, "--format")
refused("an unknown format", [IBWIRE, "ports", "--format", "xml"], 64, "json")
refused("an option without its value", [IBWIRE, "ports", "--db"], 64, "--db")
refused("an interval that is none", [IBWIRE, "collect", "--interval", "often"], 64, "often")
refused("an interval of nothing", [IBWIRE, "collect", "--interval", "0"], 64)
refused("an interval that is too short to ask in", [IBWIRE, "collect", "--interval", "1us"], 64, "10ms")
refused("a time that is none", [IBWIRE, "events", "--since", "soon"], 64, "soon")
refused("too many words", [IBWIRE, "status", "now"], 64, "now")
refused("a control character", [IBWIRE, "por\x1b[31mts"], 64)
finished = run(IBWIRE, "por\x1b[31mts", check=False)
tap.result("\x1b" not in finished.err, "what was typed is shown harmlessly", repr(finished.err))
finished = run(IBWIRE, "help")
for command in ("status", "collect", "top", "nodes", "ports", "links", "events", "clear", "db", "sql"):
    tap.contains(f"help lists {command}", finished.out, command)
    tap.equal(f"{command} --help is no error", run(IBWIRE, command, "--help", check=False).status, 0)


def fingerprint(path):
    """Content of a file, and the files beside it except those that SQLite and the collector create: opening a database
    in WAL mode (a damaged one is) creates an empty -wal and a -shm, and a collector creates .lock."""
    beside = []
    for name in sorted(os.listdir(os.path.dirname(path))):
        size = os.path.getsize(f"{os.path.dirname(path)}/{name}")
        if not name.endswith((".lock", "-shm")) and not (name.endswith("-wal") and not size):
            beside.append(name)
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest(), beside


def make(name, fill):
    os.makedirs(name, exist_ok=True)
    path = os.path.abspath(f"{name}/fabric.db")
    fill(path)
    return path


def write(content):
    def fill(path):
        with open(path, "wb") as file:
            file.write(content)
    return fill


def foreign(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE bookmark (url TEXT); INSERT INTO bookmark VALUES ('https://example.org/');")


with tap.part("databases"):
    env = {**os.environ, "IBWIRE_DB": os.path.abspath("ours.db")}
    run(os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db", "ours.db", 2, 1, 1)
    with contextlib.closing(sqlite3.connect("ours.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open("ours.db", "rb") as file:
        ours = file.read()

    def newer(path):
        write(ours)(path)
        with contextlib.closing(sqlite3.connect(path)) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute("PRAGMA journal_mode=DELETE")
            db.execute(f"PRAGMA user_version={version + 1}")

    def damaged(path):
        # The first page, which is the schema, with its tail torn out.
        write(ours[:100] + b"\xa5" * 7000 + ours[7100:])(path)

    cases = {
        "a text file": make("text", write(b"this is no database\n" * 1000)),
        "another program's database": make("foreign", foreign),
        "a newer version's database": make("newer", newer),
        "a damaged database": make("damaged", damaged),
    }
    for name, path in cases.items():
        before = fingerprint(path)
        for command in READERS:
            refused(f"{name}, {command[0]}", [IBWIRE, *command, "--db", path], 74, path, env=env)
        tap.equal(f"{name} is untouched", fingerprint(path), before)
    refused("a folder instead of a database", [IBWIRE, "ports", "--db", os.path.abspath("text")], 74, env=env)
    refused("an SQL mistake", [IBWIRE, "sql", "SELECT x FROM nowhere"], 64, "nowhere", env=env)
    for statement in ("DELETE FROM sweep", "DROP TABLE node", "PRAGMA user_version=7", "ATTACH 'other.db' AS o",
                      "SELECT 1; DELETE FROM sweep", "VACUUM INTO 'copy.db'"):
        refused(f"sql refuses {statement.split(' ')[0]}", [IBWIRE, "sql", statement], 64, env=env)
    tap.equal("and nothing was written", run(IBWIRE, "sql", "SELECT count(*) FROM sweep", "--format", "csv",
                                               env=env).out.split()[-1], "1")
tap.done()
