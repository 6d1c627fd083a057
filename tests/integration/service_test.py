#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps, and for a lease that is not renewed
"""The collector as a service: messages to systemd, its log, a reload of its settings, and a lease of two hosts."""
import os
import re
import signal
import socket
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, read_file, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
FABRIC = "--gen", "rail --units 1 --hosts 2 --rails 1 --spines 1"
INTERVAL_S = 0.5


def collect(sim, name, *options):
    """A collector with a database and log of its own, without a terminal."""
    return sim.start(IBWIRE, "collect", "--interval", f"{int(INTERVAL_S * 1000)}ms", "--db", f"{name}.db", *options,
                     stderr=open(name, "ab"), start_new_session=True)


def sweeps(sim, name):
    """Wall clock of the stored sweeps, in seconds."""
    done = sim.ibwire("sql", "SELECT wall_us FROM sweep ORDER BY id", "--db", f"{name}.db", "--format", "csv", check=False)
    return [int(line) / 1e6 for line in done.out.split()[1:]] if done.status == 0 else []


def polls(sim, name, more_than):
    return wait_for(lambda: len(sweeps(sim, name)) > more_than)


with tap.part("messages to the service manager, and a reload"), Simulation(*FABRIC) as sim, \
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    manager.bind("notify")
    manager.settimeout(20)
    sim.env["NOTIFY_SOCKET"] = os.path.abspath("notify")
    with open("settings", "w", encoding="ascii") as file:
        file.write("[health]\nlink_down_after = 1s\nstate_recovery = 1s\n")
    # The log is the journal.
    with open("one", "wb") as file:
        stat = os.fstat(file.fileno())
    sim.env["JOURNAL_STREAM"] = f"{stat.st_dev}:{stat.st_ino}"
    process = collect(sim, "one", "--settings", "settings")
    tap.contains("the collector reports READY=1", manager.recv(4096).decode(), "READY=1")
    fed = [manager.recv(4096) for _ in range(3)]
    tap.equal("the watchdog is triggered before each sweep", fed, [b"WATCHDOG=1"] * 3)
    polls(sim, "one", 1)
    sim.run(IBWIRE_SIM, "break", "unplug")
    tap.result(wait_for(lambda: "finding-opened (" in read_file("one")), "an opened finding is logged", read_file("one"))
    sim.run(IBWIRE_SIM, "repair")
    tap.result(wait_for(lambda: "finding-closed (" in read_file("one")), "and a closed one", read_file("one"))
    lines = [line for line in read_file("one").splitlines() if "finding-" in line]
    tap.equal("each with its severity and place, and with a priority for the journal",
              [line for line in lines if not re.match(r"<[346]>ibwire: finding-\w+ \(\w+\): [a-z-]+ .*: ", line)], [])
    process.send_signal(signal.SIGHUP)
    tap.result(wait_for(lambda: "settings reloaded" in read_file("one")), "SIGHUP reloads the settings", read_file("one"))
    count = len(sweeps(sim, "one"))
    tap.result(polls(sim, "one", count), "polling continues after a reload")
    with open("settings", "w", encoding="ascii") as file:
        file.write("[no such section]\nx = 1\n")
    process.send_signal(signal.SIGHUP)
    tap.result(wait_for(lambda: "the settings remain as they were: settings, line 2:" in read_file("one")),
               "invalid settings change nothing, and their line is logged", read_file("one"))
    count = len(sweeps(sim, "one"))
    tap.result(polls(sim, "one", count), "polling continues after a reload")
    tap.equal("SIGTERM ends the collector", stop(process), 0)

with tap.part("two hosts and a lease"), Simulation(*FABRIC) as sim:
    active = collect(sim, "a", "--lease", "lease")
    polls(sim, "a", 2)
    standby = collect(sim, "b", "--lease", "lease")
    wait_for(lambda: "standby: the lease is held by" in read_file("b"))
    polls(sim, "a", len(sweeps(sim, "a")) + 3)
    tap.equal("the second collector is in standby", sweeps(sim, "b"), [])
    os.kill(active.pid, signal.SIGKILL)
    killed = time.time()
    active.wait()
    tap.result(polls(sim, "b", 0), "the second collector polls after SIGKILL of the first one", read_file("b"))
    tap.note(f"first sweep {(sweeps(sim, 'b')[0] - killed) / INTERVAL_S:.1f} intervals after the kill")
    active = collect(sim, "a", "--lease", "lease")
    wait_for(lambda: "standby: the lease is held by" in read_file("a"))
    stop(standby)
    count = len(sweeps(sim, "a"))
    tap.result(polls(sim, "a", count), "the first host polls after a stop of the second one")
    with open("lease", "w", encoding="ascii") as file:
        file.write(f"other:1:2 {int(INTERVAL_S * 1e6)} 1\n")
    tap.equal("a collector ends when another host has taken the lease", active.wait(timeout=120), 69)
    tap.contains("the host that has taken the lease is logged", read_file("a"), "other:1:2 has taken the lease")
    first, second = sweeps(sim, "a"), sweeps(sim, "b")
    both = [at for at in second if any(abs(at - other) < INTERVAL_S / 2 for other in first)]
    tap.equal("the collectors never polled at the same time", both, [])

tap.done()
