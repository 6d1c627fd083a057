#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: half a minute under random faults
# waits: for sweeps
"""A short soak (tests/soak.py): all its faults within half a minute, and its checks of the database.

With Debian's prometheus, ibwire metrics and ibwire push run beside the collector. Memory and speed are left to the long
one. Damaged databases show that each check can fail.
"""
import contextlib
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import SHORT, Tap, need
from soak import FINDING_KB, PAGES_MOST_KB, Soak, check_memory
from stored import Stored

need("ibsim", "opensm", "perfquery")
tap = Tap()


def spoilt(path, *statements):
    """The faults that the checks find in a copy of the database after these statements."""
    shutil.copy(path, "spoilt.db")
    with sqlite3.connect("spoilt.db") as db:
        for statement in statements:
            assert db.execute(statement).rowcount > 0, statement
    db.close()
    stored = Stored("spoilt.db")
    stored.check_sums()
    stored.check_beat(1000000)
    stored.check_cuts()
    stored.db.close()
    os.remove("spoilt.db")
    return stored.faults


def memory(heap_kb=lambda i: 0, pages_kb=lambda i: 0, free_kb=lambda i: 0, flapping=lambda i: 0, fds=lambda i: 10):
    """The result of check_memory() for an hour of a collector with 4 MB and the given additional memory."""
    samples = []
    for i in range(360):
        pages = pages_kb(i)
        heap = 4096 + i * 7 % 13 + heap_kb(i) + pages + FINDING_KB * flapping(i)
        anon = heap + 2048 + free_kb(i)
        samples.append({"seconds": 10 * i, "rss_kb": anon + 4096, "anon_kb": anon, "heap_kb": heap, "pages_kb": pages,
                        "fds": fds(i)})
    return check_memory(samples, [flapping(i) for i in range(360)])[1]


def beat(sweeps, late=(), cut=(), cut_events=()):
    """The faults in sweeps with these starts and ends, in seconds, of a collector that polls once a second.

    late, cut_events: numbers of the sweeps with which these events are stored. cut: numbers of incomplete sweeps.
    """
    with contextlib.closing(sqlite3.connect("beat.db")) as db:
        db.executescript("""CREATE TABLE counter (key, id); CREATE TABLE node (id, guid); CREATE TABLE port (id, node, number);
            CREATE TABLE sweep (id, start_us, end_us); CREATE TABLE event (sweep, kind);
            CREATE TABLE span (from_sweep, to_sweep, why); CREATE TABLE code (kind, value, name);
            INSERT INTO code VALUES ('why', 7, 'unfinished');""")
        db.executemany("INSERT INTO sweep VALUES (?, ?, ?)",
                       [(i, 1e6 * begins, 1e6 * ends) for i, (begins, ends) in enumerate(sweeps, 1)])
        db.executemany("INSERT INTO event VALUES (?, ?)",
                       [(i, "sweep-late") for i in late] + [(i, "sweep-cut") for i in cut_events])
        db.executemany("INSERT INTO span VALUES (?, ?, 7)", [(i, None if i == len(sweeps) else i + 1) for i in cut])
        db.commit()
    stored = Stored("beat.db")
    stored.check_beat(1000000)
    stored.check_cuts()
    stored.db.close()
    os.remove("beat.db")
    return stored.faults


with tap.part("beat"):
    on_time = [(i, i + 0.1) for i in range(4)]
    tap.equal("sweeps on time pass", beat(on_time), [])
    tap.equal("a sweep that begins late and ends in time passes", beat([*on_time, (4.6, 4.9), (5, 5.1), (6, 6.1)]), [])
    slept = [*on_time, (6.2, 6.3), (6.4, 6.5), (7, 7.1)]
    tap.equal("seconds without a sweep pass with the event of the sweep behind them", beat(slept, late=[6]), [])
    tap.result(beat(slept), "and not without it")
    slow = [*on_time, (4, 6.2), (6.3, 8.1), (8.2, 10.1), (10.2, 10.3), (11, 11.1)]
    tap.equal("successive late sweeps pass with an event of the first one", beat(slow, late=[6]), [])
    tap.result(beat(slow) and beat(slow, late=[3]), "and not without it, or with an earlier one")
    tap.equal("a cut sweep passes with an event", beat(on_time, cut=[2], cut_events=[2]), [])
    tap.result(beat(on_time, cut=[2]), "and not without it")
    tap.equal("the end of the collector cuts the newest sweep without an event", beat(on_time, cut=[4]), [])
with tap.part("memory"):
    tap.equal("constant memory passes", memory(), [])
    tap.equal("temporary memory passes", memory(heap_kb=lambda i: 300 * (i % 6 == 0)), [])
    tap.equal("short minima missed by later samples pass",
              memory(heap_kb=lambda i: -200 * (i < 264 and i % 12 == 5)), [])
    tap.equal("a cache emptied in each window passes", memory(pages_kb=lambda i: 250 * (i % 12)), [])
    tap.equal("a cache that becomes full passes", memory(pages_kb=lambda i: i), [])
    # The period of connections drifts against that of the samples: at the end each sample is taken while one is open.
    connected = [i >= 260 or i % 2 for i in range(360)]
    tap.equal("memory of connections that come and go passes",
              memory(heap_kb=lambda i: 500 * connected[i], fds=lambda i: 10 + 2 * connected[i]), [])
    tap.result("allocated" in " ".join(memory(heap_kb=lambda i: i / 2 + 500 * connected[i], fds=lambda i: 10 + 2 * connected[i])),
               "a leak beside them is found")
    tap.equal("findings of links that remain open pass", memory(flapping=lambda i: i // 18), [])
    tap.result("allocated" in " ".join(memory(heap_kb=lambda i: i / 2, flapping=lambda i: i // 18)),
               "and a leak beside these")
    tap.result("allocated" in " ".join(memory(heap_kb=lambda i: i / 2)), "a leak of 50 bytes a second is")
    tap.result("allocated" in " ".join(memory(heap_kb=lambda i: i / 2 + 300 * (i % 12))), "also below what comes and goes")
    tap.result("of its own" in " ".join(memory(free_kb=lambda i: i)), "so is what is freed and never used again")
    tap.result("caches hold" in " ".join(memory(pages_kb=lambda i: PAGES_MOST_KB + 1)), "and a cache that is over its bound")
with tap.part("soak"):
    soak = Soak(20 if SHORT else 25, 16, short=True, with_service=bool(shutil.which("prometheus")))
    soak.run()
    for name, faults in soak.found.items():
        if not name.startswith("no growth"):
            tap.result(not faults, name, "\n".join(faults[:20]))
    tap.result(all(soak.faults.values()), "each kind of fault was there", soak.faults)
    numbers = soak.stored.numbers
    tap.result(numbers["resets"] and numbers["gap_ports"] and numbers["checked"] > 1000,
               "there were resets, gaps and sums", numbers)
    tap.note("; ".join(f"{name}: {value}" for name, value in soak.table if name in ("faults", "sweeps", "stored", "pushed")))

    path = "simulation-1.db"
    with sqlite3.connect(path) as db:
        sweep, port = db.execute("SELECT sweep, port FROM absolute ORDER BY sweep DESC LIMIT 1").fetchone()
    db.close()
    where = f"WHERE sweep = {sweep} AND port = {port}"
    tap.equal("the checks pass on the unmodified database",
              spoilt(path, f"UPDATE absolute SET xmit_data = xmit_data {where}"), [])
    tap.result(spoilt(path, f"UPDATE absolute SET xmit_data = xmit_data - 1 {where}"), "they find one word too many")
    tap.result(spoilt(path, f"UPDATE absolute SET at_us = at_us - 1 {where}"), "they find one microsecond too many")
    tap.result(spoilt(path, f"DELETE FROM hot WHERE id = {sweep - 2} * 65536 + {port} / 32"),
               "they find deltas that are missing")
    span = f"INSERT INTO span (from_sweep, port, to_sweep, why) VALUES ({sweep}, {port}, {sweep + 1}, 7)"
    tap.result(spoilt(path, span), "they find a port that is read and not read")
tap.done()
