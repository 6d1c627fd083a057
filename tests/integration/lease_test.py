#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for a lease that is not renewed
"""Two collectors with one lease, of which one is stopped, killed or ended at random: another one polls soon, never two at a time,
and all sums are exact. IBWIRE_ATTACK_LONG=1 for more of it, LEASE_SEED for other times."""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, read_file, stop, wait_for
from stored import Stored

need("ibsim", "opensm")
tap = Tap()
FABRIC = "--gen", "rail --units 1 --hosts 2 --rails 1 --spines 1"
INTERVAL_S = 0.5
ACTIONS = 40 if os.environ.get("IBWIRE_ATTACK_LONG") else 3
rng = random.Random(int(os.environ.get("LEASE_SEED", 1)))


class Collector:
    def __init__(self, sim, name):
        self.sim, self.name = sim, name
        self.start()

    def start(self):
        self.process = self.sim.start(IBWIRE, "collect", "--interval", f"{int(INTERVAL_S * 1000)}ms", "--db", f"{self.name}.db", "--lease",
                                      "lease", stderr=open(self.name, "ab"), start_new_session=True)

    def sweeps(self):
        """Wall clock of the stored sweeps, in seconds."""
        done = self.sim.ibwire("sql", "SELECT wall_us FROM sweep ORDER BY id", "--db", f"{self.name}.db", "--format", "csv", check=False)
        return [int(line) / 1e6 for line in done.out.split()[1:]] if done.status == 0 else []


def holder(both):
    """The collector whose process id is in the lease, or None."""
    words = read_file("lease").split(":")
    return next((one for one in both if len(words) > 1 and words[1] == str(one.process.pid)), None)


def disturb(both, stopped, actions):
    """One action on the process that holds the lease, and the time until another one polls."""
    wait_for(lambda: holder(both))
    active = holder(both)
    other = next(one for one in both if one is not active)
    action = actions[rng.randrange(len(actions))]
    before, begin = len(other.sweeps()), time.time()
    active.process.send_signal({"stop": signal.SIGSTOP, "kill": signal.SIGKILL, "term": signal.SIGTERM}[action])
    taken = wait_for(lambda: len(other.sweeps()) > before)
    took = time.time() - begin
    tap.result(taken, f"{action}: the other collector polls", read_file(other.name)[-500:])
    if action == "stop":
        time.sleep(rng.random() * 2)
        resumed = time.time()
        active.process.send_signal(signal.SIGCONT)
        tap.equal("a process that was stopped and has lost the lease ends", active.process.wait(120), 69)
        stopped.append((active.name, begin, resumed))
    active.process.wait(120)
    active.start()
    wait_for(lambda: "standby" in read_file(active.name))
    return took


with tap.part("lease"), Simulation(*FABRIC) as sim:
    both = [Collector(sim, "a")]
    wait_for(lambda: len(both[0].sweeps()) > 2)
    both.append(Collector(sim, "b"))
    wait_for(lambda: "standby" in read_file("b"))
    stopped = []
    took = [disturb(both, stopped, ("stop",) if number == 0 else ("stop", "stop", "kill", "term")) for number in range(ACTIONS)]
    for one in both:
        stop(one.process)
    first, second = (one.sweeps() for one in both)
    # A sweep that was stopped in its middle has the wall clock of its beginning.
    together = [at for at in second if any(abs(at - other) < INTERVAL_S / 4 for other in first)]
    tap.equal("two collectors never poll at the same time", together, [])
    late = [(name, at) for name, _, resumed in stopped for at in next(one for one in both if one.name == name).sweeps()
            if resumed <= at < resumed + INTERVAL_S / 2]
    tap.equal("a process that was stopped begins no sweep when it continues", late, [])
    for one in both:
        stored = Stored(f"{one.name}.db")
        stored.check_sums()
        tap.equal(f"{one.name}: deltas add up to the readings", stored.faults, [])
    tap.note(f"{ACTIONS} processes stopped, killed or ended: another one polls after {max(took):.1f} s at most")
    tap.reliability("Lease of two collectors: processes stopped, killed, ended", f"{ACTIONS} times",
                    f"Another one polls (after {max(took):.1f} s at most, with an interval of {INTERVAL_S} s), never two at a time; a process "
                    "that continues begins no sweep and ends with 69; sums are exact")
tap.done()
