#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# timeout: 7200
"""Commands that read a database under valgrind's memcheck: no error, no definite leak (make reliability).

Each runs on the database of a small simulated fabric, on one of schema version 1, and on damaged ones. Memory that is
still reachable at the end is no leak.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, READERS, Simulation, Tap, need, read_file, released_database, run, wait_for

need("ibsim", "opensm", "valgrind")
tap = Tap()
MEMCHECK = ["valgrind", "--tool=memcheck", "--quiet", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--error-exitcode=99", "--num-callers=25", "--log-file=memcheck"]
OTHERS = [["ports", "--format", "json"], ["events", "--format", "csv"], ["snapshot", "diff", "a", "b"],
          ["job", "report", "1"], ["nodes", "--at", "-1s"], ["history", "leaf-u01-r0/1", "--format", "json"],
          ["health", "--format", "json"], ["topology", "route", "node0001", "node0002"],
          ["sql", "SELECT * FROM sample LIMIT 50"], ["ports", "no such node"]]
DAMAGED = 4
runs = 0


def memcheck(name, path, commands, statuses):
    """Run commands under memcheck; a signal, an error or a status that is not in statuses is wrong."""
    global runs
    wrong = []
    for command in commands:
        done = run(*MEMCHECK, IBWIRE, *command, "--db", path, check=False, timeout=600)
        runs += 1
        report = read_file("memcheck")
        if done.status not in statuses or report:
            wrong.append(f"{done}\n{report}")
        if os.path.exists("part.db"):
            os.unlink("part.db")
    tap.result(not wrong, f"{name}: {len(commands)} commands", "\n".join(wrong))


def damage(path, copy, seed):
    """A copy with garbage in 20 places after the header."""
    rng = random.Random(seed)
    shutil.copy(path, copy)
    with open(copy, "r+b") as file:
        size = os.path.getsize(copy)
        for _ in range(20):
            file.seek(rng.randrange(100, size - 64))
            file.write(rng.randbytes(rng.randrange(1, 64)))
    return copy


def serve(path):
    """ibwire metrics serves two requests and ends with SIGTERM."""
    global runs
    runs += 1
    with open("metrics.err", "wb+") as errors:
        server = subprocess.Popen([*MEMCHECK, IBWIRE, "metrics", "--listen", "127.0.0.1:0", "--db", path],
                                  stdout=errors, stderr=errors)
        try:
            def address():
                return next((word for word in read_file("metrics.err").split() if word.startswith("http://")), None)
            wait_for(address, 60)
            for _ in range(2):
                with urllib.request.urlopen(address(), timeout=60) as answer:
                    tap.contains("metrics responds", answer.read().decode(), "ibwire_")
        finally:
            server.send_signal(signal.SIGTERM)
            status = server.wait(60)
    tap.equal("metrics under memcheck", (status, read_file("memcheck")), (0, ""))


with Simulation("--gen", "rail --units 1 --hosts 2 --rails 1 --spines 1", "--traffic", "ring rate=8Gb/s") as sim:
    path = sim.env["IBWIRE_DB"]
    sim.ibwire("snapshot", "take", "a")
    sim.ibwire("job", "begin", "1")
    sim.ibwire("collect", "--interval", "100ms", "--count", "130")
    sim.ibwire("job", "end", "1")
    sim.ibwire("snapshot", "take", "b")
with tap.part("a small fabric"):
    memcheck("a small fabric", path, READERS + OTHERS, (0, 1, 2, 64, 69))
with tap.part("metrics"):
    serve(path)
with tap.part("version 1"):
    memcheck("a database of version 1", released_database("version1.db"), READERS, (74,))
for seed in range(DAMAGED):
    with tap.part(f"damaged {seed}"):
        memcheck(f"a damaged database, seed {seed}", damage(path, "damaged.db", seed), READERS + OTHERS,
                 (0, 1, 2, 64, 69, 74))
tap.reliability("Memory errors of readers (valgrind memcheck)", f"{runs} commands",
                f"A small fabric, a database of version 1 and {DAMAGED} damaged ones: no error, no definite leak")
tap.done()
