#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: it reads the last bytes of every MAD
"""The last 32 bytes of an agent's answer, which umad2sim alone loses, reach perfquery and ibwire: VL15Dropped,
PortXmitWait and QP1Dropped in 64 bits, exactly, and zero where nothing was counted. Also where the library that sees to
it lies below a directory whose name the loader would split."""
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE_SIM, Simulation, Tap, need, run

need("perfquery", "ibnetdiscover", "ibsim", "opensm")
tap = Tap()

KEYS = {"VL15Dropped": "vl15_dropped", "PortXmitWait": "xmit_wait", "QP1Dropped": "qp1_dropped"}
LIBRARY = "ibwire-sim-umad.so"


def perfquery(sim, lid, port):
    lines = sim.run("perfquery", "-x", str(lid), str(port)).out.splitlines()
    numbers = {match.group(1): int(match.group(2)) for line in lines if (match := re.match(r"^(\w+):\.*(\d+)$", line))}
    return {key: numbers.get(theirs) for theirs, key in KEYS.items()}


def stored(sim):
    """What ibwire read: a node's name and a port to its three counters."""
    sim.ibwire("collect", "--once")
    # What does not fit into 63 bits is a string in JSON.
    return {(row["node"], row["port"]): {key: int(row["counters"][key]) for key in KEYS.values()}
            for row in sim.json("ports") if row["state"] == "Active"}


def some_value():
    return random.choice((0, 1, 1 << 32, (1 << 63) - 1, (1 << 63) + 1, (1 << 64) - 1,
                          random.getrandbits(64), random.getrandbits(40)))


with tap.part("counters"), Simulation("--gen", "rail --hosts 2") as sim:
    random.seed(11)
    line = re.compile(r"^(?:CA|SW) +(\d+) +\d+ 0x[0-9a-f]{16} .*\( '(.*)' - '", re.M)
    lids = {match.group(2): int(match.group(1)) for match in line.finditer(sim.run("ibnetdiscover", "-p").out)}
    sim.run(IBWIRE_SIM, "pma", "all caps=0x5300 caps2=0x2")
    nothing = dict.fromkeys(KEYS.values(), 0)
    rows = stored(sim)
    wrong = [f"{where}: {numbers}" for where, numbers in rows.items() if numbers != nothing]
    tap.equal("where nothing was counted ibwire reads zeros, on each port", (wrong[:5], len(rows) > 50), ([], True))
    places = (("node0001 mlx5_0", "node0001 mlx5_0", 1), ("leaf-u01-r0", "MF0;leaf-u01-r0:MQM8700/U1", 2))
    for attempt in range(4):
        told = {(name, port): {key: some_value() for key in KEYS.values()} for _, name, port in places}
        if attempt == 0:
            told = dict.fromkeys(told, dict.fromkeys(KEYS.values(), (1 << 64) - 2))
        for node, name, port in places:
            words = " ".join(f"{key}={value}" for key, value in told[name, port].items())
            sim.run(IBWIRE_SIM, "pma", f"{node} port={port} {words}")
            tap.equal(f"attempt {attempt}: perfquery -x reads what {node} was told", perfquery(sim, lids[name], port),
                      told[name, port])
        rows = stored(sim)
        tap.equal(f"attempt {attempt}: ibwire reads it", {where: rows.get(where) for where in told}, told)
    past = {**sim.env, "IBSIM_SOCKNAME": sim.env["IBSIM_SOCKNAME"] + "-ibsim"}
    lines = run("perfquery", "-x", str(lids["node0001 mlx5_0"]), "1", env=past).out
    tap.contains("past the relay ibsim's own answers are read", lines, "PortXmitData:")
    tap.contains("opensm lives", sim.run("sminfo").out, "SMINFO_MASTER")


def in_folder(folder, script, **env):
    os.mkdir(folder)
    shutil.copy2(IBWIRE_SIM, folder)
    shutil.copy2(os.path.join(os.path.dirname(IBWIRE_SIM), LIBRARY), folder)
    return run(os.path.join(folder, os.path.basename(IBWIRE_SIM)), "run", "--gen", "rail --hosts 2", "--", "sh", "-c", script,
               env={**os.environ, **env}, check=False)


with tap.part("a folder with a space and a colon"):
    done = in_folder(os.path.abspath("a folder: of mine"),
                     f"'{IBWIRE_SIM}' pma 'node0001 mlx5_0 caps=0x5300 caps2=0x2 port=1 qp1_dropped=5000000001' && "
                     "perfquery -x $(ibnetdiscover -p | sed -n \"s/^CA *\\([0-9]*\\) .*'node0001 mlx5_0' - .*/\\1/p\" | head -n 1) 1")
    tap.contains("the library is preloaded from there", done.out, "QP1Dropped:......................5000000001")
    tap.equal("without a complaint of the loader", (done.status, "ld.so" in done.err), (0, False))
    os.mkdir("tmp dir")
    done = in_folder(os.path.abspath("another folder"), "echo up", TMPDIR=os.path.abspath("tmp dir"))
    tap.equal("where TMPDIR has a space as well it is refused", (done.status != 0, done.out), (True, ""))
    tap.contains("and said", done.err, "TMPDIR")
tap.done()
