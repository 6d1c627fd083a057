#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for processes; tests/collector/sick_test and base/stop_test cover the rules
# waits: for processes to end
"""A collector ends within its time limit after a signal, also while its device blocks.

The simulated device (umad2sim) waits without a limit for a stopped fabric and for one that has ended.
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, read_file, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
FABRIC = "--gen", "rail --units 1 --hosts 2 --rails 1 --spines 1"


def descendants(pid):
    """All descendants of a process: ids and names."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[1]) == pid:
            found += [(int(entry), name)] + descendants(int(entry))
    return found


def fabric_of(sim):
    return next(pid for pid, name in descendants(sim.process.pid) if name == "ibsim")


def collect(sim, log):
    return sim.start(IBWIRE, "collect", "--interval", "200ms", stderr=open(log, "wb"))


def has_sweeps(sim):
    done = sim.ibwire("sql", "SELECT count(*) FROM sweep", "--format", "csv", check=False)
    return done.status == 0 and int(done.out.split()[-1]) >= 3


def signals(process, which):
    """A signal mask in /proc/PID/status."""
    with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
        return int(next(line for line in file if line.startswith(which + ":")).split()[1], 16)


def wait_for_handlers(process):
    """Wait until the process has installed its handlers of SIGTERM and SIGINT."""
    both = 1 << signal.SIGINT - 1 | 1 << signal.SIGTERM - 1
    return wait_for(lambda: signals(process, "SigCgt") & both == both)


def wait_for_delivery(process):
    """Wait until no signal is pending."""
    return wait_for(lambda: not signals(process, "ShdPnd"))


with tap.part("a fabric that stands still"), Simulation(*FABRIC) as sim:
    process = collect(sim, "still")
    tap.result(wait_for(lambda: has_sweeps(sim)), "a collector stores sweeps")
    ibsim = fabric_of(sim)
    os.kill(ibsim, signal.SIGSTOP)
    try:
        began = time.monotonic()
        status = stop(process, seconds=60)
        tap.result(time.monotonic() - began < 40, "it ends when its fabric stands still", time.monotonic() - began)
        tap.result(status in (0, 69), "with status 0, or 69 and one line", f"{status}: {read_file('still')}")
        tap.result(status == 0 or "stored data is safe" in read_file("still"), "the line says that no stored data is lost",
                   read_file("still"))
        tap.result(has_sweeps(sim), "stored sweeps are kept")
        tap.contains("db check finds no damage", sim.ibwire("db", "check").out, "no damage found")
    finally:
        os.kill(ibsim, signal.SIGCONT)

with tap.part("a fabric that is gone"), Simulation(*FABRIC) as sim:
    running = collect(sim, "running")
    tap.result(wait_for(lambda: has_sweeps(sim)), "a collector stores sweeps")
    os.kill(fabric_of(sim), signal.SIGKILL)
    wait_for(lambda: running.poll() is not None, 15)
    status = stop(running, seconds=18)
    tap.result(status in (0, 69), "it ends with its fabric, or on SIGTERM, with status 0 or 69",
               f"{status}: {read_file('running')}")
    sim.process.wait(120)
    # No node responds, and the device waits for responses.
    late = collect(sim, "late")
    wait_for_handlers(late)
    time.sleep(1)
    tap.equal("a later collector waits for a fabric", late.poll(), None)
    began = time.monotonic()
    tap.equal("and ends after a signal", stop(late), 69)
    tap.result(time.monotonic() - began < 20, "within a few seconds", time.monotonic() - began)
    tap.contains("with one line", read_file("late"), "stored data is safe")
    eager = collect(sim, "eager")
    wait_for_handlers(eager)
    time.sleep(0.5)
    eager.send_signal(signal.SIGINT)
    wait_for_delivery(eager)
    time.sleep(1.2)
    began = time.monotonic()
    tap.equal("it ends after a second signal", stop(eager, signal.SIGINT), -signal.SIGINT)
    tap.result(time.monotonic() - began < 5, "at once", time.monotonic() - began)
tap.done()
