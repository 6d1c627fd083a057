#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# timeout: 1200
# waits: for sweeps
"""A database of an older or newer version: readers and collectors of this ibwire and of the older one.

IBWIRE_OLD is an ibwire with schema version 1. With IBWIRE_RELIABILITY it is built from the history of git.
"""
import contextlib
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, READERS, SRCDIR, Simulation, Tap, as_other_user, need, released_database, run, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
FABRIC = "--gen", "rail --units 1 --hosts 2 --rails 1 --spines 1", "--traffic", "ring rate=8Gb/s"
OLD_COMMIT = "fc7a9cd9"  # the last one with schema version 1
VERSION = 7
WRITERS = [["collect", "--once"], ["snapshot", "take", "second"], ["job", "begin", "1"], ["db", "compact"]]
OF_OLD = [command for command in READERS if command[0] != "job"]
TOTALS = "256,75642914624,75642915200"  # of released_database(), as OLD_COMMIT reads it
cases = 0


def content(path):
    """All files of a database, by name."""
    found = {}
    for name in sorted(os.listdir(os.path.dirname(path))):
        if name.startswith(os.path.basename(path)):
            with open(os.path.join(os.path.dirname(path), name), "rb") as file:
                found[name] = file.read()
    return found


def value(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchone()[0]


def rejected(name, path, commands, words, program=IBWIRE, env=None, prefix=()):
    """Each command fails with status 74 and one line, and changes no file."""
    global cases
    before = content(path)
    wrong = []
    for command in commands:
        done = run(*prefix, program, *command, "--db", path, env=env, check=False)
        cases += 1
        if done.status != 74 or done.out or len(done.err.splitlines()) != 1 or words not in done.err:
            wrong.append(str(done))
    tap.equal(f"{name}: one line with status 74", wrong, [])
    after = content(path)
    after.pop(os.path.basename(path) + ".lock", None)
    before.pop(os.path.basename(path) + ".lock", None)
    tap.result(before == after, f"{name}: the file is unchanged, without new ones", f"{list(before)} {list(after)}")


def run_readers(sim, name, program, path, statuses=(0,)):
    """Each reader ends with one of these statuses: 0 with an output, or one line on stderr."""
    global cases
    wrong = []
    commands = READERS if program == IBWIRE else OF_OLD
    for command in commands:
        with contextlib.suppress(FileNotFoundError):
            os.remove("part.db")
        done = sim.run(program, *command, "--db", path, check=False)
        lines = (not done.out, len(done.err.splitlines()))
        # Only released_database() has that time.
        wanted = (*statuses, 69) if "--at" in command and "old.db" in path else statuses
        if done.status not in wanted or (done.status == 0 and lines[1]) or (done.status and lines != (True, 1)):
            wrong.append(str(done))
    cases += len(commands)
    tap.equal(name, wrong, [])


def totals(sim, program, path, last):
    """Samples and bytes of the sweeps up to the last one, as a program reads them."""
    return sim.run(program, "sql", "SELECT count(*), total(xmit_bytes), total(rcv_bytes) FROM traffic "
                   f"WHERE sweep <= {last}", "--format", "csv", "--db", path).out.splitlines()[1]


def stores(path, number):
    """Wait until the database has more sweeps than this."""
    return wait_for(lambda: os.path.exists(path) and value(path, "SELECT count(*) FROM sweep") > number)


def check_database(sim, name, path):
    tap.equal(f"{name}: version", value(path, "PRAGMA user_version"), VERSION)
    tap.equal(f"{name}: integrity_check", value(path, "PRAGMA integrity_check"), "ok")
    check = sim.ibwire("db", "check", "--db", path, check=False)
    tap.equal(f"{name}: db check", (check.status, check.err), (0, ""))


def collect(sim, path, program=IBWIRE):
    return sim.start(program, "collect", "--interval", "100ms", "--db", path, stdout=subprocess.DEVNULL,
                     stderr=open(path + ".log", "ab"))


def old_program():
    """The ibwire of IBWIRE_OLD, or one built from git; None: there is none."""
    if os.environ.get("IBWIRE_OLD") or not os.environ.get("IBWIRE_RELIABILITY"):
        return os.environ.get("IBWIRE_OLD")
    folder = os.path.join(os.environ["IBWIRE_BUILD"], "reliability", "version1")
    if not os.path.exists(folder + "/build/ibwire"):
        os.makedirs(folder, exist_ok=True)
        if run("sh", "-c", f"git -C '{SRCDIR}' archive {OLD_COMMIT} | tar -x -C '{folder}' && "
               f"test -f '{folder}/quickstart'", check=False).status:
            return None
        run(folder + "/quickstart", "build", timeout=900)
    return folder + "/build/ibwire"


def beside_old_release(sim, old):
    tap.equal("the older release reads its database", totals(sim, old, released_database("released.db"), 20), TOTALS)
    path = os.path.abspath("old.db")
    collector = collect(sim, path, old)
    tap.result(stores(path, 5), "the older collector creates a database of version 1")
    run_readers(sim, "while it runs: readers of this release", IBWIRE, path, (74,))
    run_readers(sim, "and of the older one", old, path)
    tap.one_line("a collector beside the older one", sim.ibwire("collect", "--once", "--db", path, check=False), 69,
                 "collector")
    tap.equal("it has not migrated the database", value(path, "PRAGMA user_version"), 1)
    last = value(path, "SELECT max(id) FROM sweep")
    before = totals(sim, old, path, last)
    sim.ibwire("snapshot", "take", "new", "--fast", "--db", path)
    tap.equal("a snapshot of this release migrates it", value(path, "PRAGMA user_version"), VERSION)
    tap.equal("it did not change the samples", totals(sim, IBWIRE, path, last), before)
    sweeps = value(path, "SELECT count(*) FROM sweep")
    tap.result(stores(path, sweeps + 30), "the older collector continues to store")
    run_readers(sim, "while it runs, migrated: readers of this release", IBWIRE, path)
    run_readers(sim, "and of the older one", old, path, (74,))
    tap.equal("the older collector ends as usual", stop(collector), 0)
    check_database(sim, "after both", path)

    collector = collect(sim, path)
    sweeps = value(path, "SELECT count(*) FROM sweep")
    tap.result(stores(path, sweeps + 5), "the collector of this release continues its history")
    run_readers(sim, "while the newer collector runs: readers of the older release", old, path, (74,))
    run_readers(sim, "and of this one", IBWIRE, path)
    beside = sim.run(old, "collect", "--once", "--db", path, check=False)
    tap.result(beside.status in (69, 74) and len(beside.err.splitlines()) == 1, "and its collector: one line", beside)
    sweeps = value(path, "SELECT count(*) FROM sweep")
    tap.result(stores(path, sweeps + 5), "the newer collector is not disturbed")
    stop(collector)
    check_database(sim, "after the newer collector", path)
    rejected("older release", path, OF_OLD + WRITERS[:2], "newer", old, sim.env)


with tap.part("version 1 without permission to write"):
    path = released_database("version1.db")
    os.chmod(path, 0o644)
    user = as_other_user()
    os.chmod(".", 0o711)
    rejected("version 1", path, READERS, "ibwire collect --once", prefix=user)

with Simulation(*FABRIC) as sim:
    with tap.part("a newer version"):
        rejected("a newer version", released_database("newer.db", VERSION + 1), READERS + WRITERS, "newer", env=sim.env)

    with tap.part("migration by a collector"):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            sweeps, total = reader.execute("SELECT count(*), max(id) FROM sweep").fetchone()
            run_readers(sim, "readers before the migration", IBWIRE, path, (74,))
            collector = collect(sim, path)
            run_readers(sim, "and during it", IBWIRE, path, (0, 74))
            tap.result(stores(path, sweeps + 5), "the collector migrates it and stores sweeps")
            run_readers(sim, "readers after it", IBWIRE, path)
            tap.equal("samples of version 1 remain", totals(sim, IBWIRE, path, total), TOTALS)
            now = reader.execute("SELECT (SELECT count(*) FROM sweep), "
                                 "(SELECT count(*) FROM sqlite_schema WHERE name = 'job')").fetchone()
            tap.equal("an older transaction still reads version 1", now, (sweeps, 0))
        tap.equal("the collector ends as usual", stop(collector), 0)
        check_database(sim, "migrated", path)
        tap.equal("events of version 1 remain", value(
            path, f"SELECT count(*) FROM event WHERE kind = 'finding-opened' AND sweep <= {total}"), 2)

    old = old_program()
    if old:
        with tap.part("beside the older release"):
            beside_old_release(sim, old)
    elif os.environ.get("IBWIRE_RELIABILITY"):
        tap.skip("beside the older release", f"git has no commit {OLD_COMMIT}")

tap.reliability("Upgrade and downgrade", f"{cases} commands", "versions 1, 2 and 3 of the schema, readers and "
                f"collectors{' of both releases' if old else ''}, also while a collector runs: correct numbers or one "
                "line, no damage")
tap.done()
