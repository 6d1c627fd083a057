#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it starts many simulations; wire/explore_test covers random fabrics
# waits: for simulations to come up
"""Discovery on a fabric that is not well: dead nodes, lost MADs, pulled links. Ours, with libibnetdisc beside it."""
import os
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE_SIM, SHORT, Simulation, Tap, need

need("ibsim", "opensm")
tap = Tap()


class Discovery:
    """One run of the helper: what it found, and what it says that it missed."""

    def __init__(self, sim, *options):
        began = time.monotonic()
        self.done = sim.ibwire("discover", "--max-smps", "64", *options, check=False)
        self.took = time.monotonic() - began
        self.nodes, self.switches, self.links, node = set(), set(), set(), None
        self.lost = self.silent = None
        for words in map(str.split, self.done.out.splitlines()):
            if words[0] == "node":
                node = words[1]
                self.nodes.add(node)
                if words[3] == "2":
                    self.switches.add(node)
            elif words[0] == "port" and words[15] != "0":
                self.links.add(tuple(sorted(((node, int(words[1])), (words[15], int(words[16]))))))
            elif words[0] == "end":
                self.lost, self.silent = int(words[6]), int(words[7])


def wire(sim, settings):
    sim.run(IBWIRE_SIM, "wire", settings)


HOSTS = 8 if SHORT else 32
with Simulation("--gen", f"rail --units 2 --hosts {HOSTS} --rails 4 --links 2", "--wire", "hold=1s") as sim:
    well = Discovery(sim)
    tap.result(well.done.status == 0 and well.lost == 0 and well.silent == 0 and len(well.nodes) > 2 * HOSTS,
               "a fabric that is well is found and nothing is missed", well.done)
    tap.equal("as libibnetdisc finds it", Discovery(sim, "--discovery", "libibnetdisc").links, well.links)

    wire(sim, "dead=node000[1-3]*")
    dead = Discovery(sim)
    gone = len(well.nodes) - len(dead.nodes)
    tap.result(gone == 12 and dead.silent == gone and dead.lost == 0, "each dead host is a silent port, and nothing else is",
               f"{gone} of {len(well.nodes)} nodes gone\n{dead.done.out[-200:]}")
    tap.result(dead.nodes < well.nodes and dead.links == {link for link in well.links if {end[0] for end in link} <= dead.nodes},
               "all others are found with their links")
    # What it takes is seen in the fastest of some: the others tell of the machine.
    took = dead.took
    for _ in range(4):
        if took >= well.took + 0.9:
            took = min(took, Discovery(sim).took)
    tap.result(took < well.took + 0.9, "which does not wait for what the dead are waited for, four times a second",
               f"{well.took:.2f} s, {took:.2f} s")
    tap.note(f"{gone} dead hosts: {dead.took * 1000:.0f} ms, without them {well.took * 1000:.0f} ms")

    wire(sim, "dead=none loss=20%")
    runs = [Discovery(sim, "--retries", "20") for _ in range(3)]
    tap.result(all(run.links == well.links and run.lost == run.silent == 0 for run in runs),
               "with a fifth of all MADs lost and enough retries everything is found",
               "\n".join(run.done.out[-100:] + run.done.err for run in runs))
    runs = [Discovery(sim) for _ in range(5)]
    bad = [run.done for run in runs if run.done.status == 0 and
           (run.nodes - well.nodes or run.links - well.links or
            ((run.nodes != well.nodes or run.links != well.links) and not run.lost + run.silent))]
    tap.result(not bad and all(run.done.status in (0, 69) for run in runs),
               "with few, what is not found is counted, and nothing is made up", "\n".join(map(str, bad)))
    tap.note("a fifth of all MADs lost, 3 retries: lost " + ", ".join(str(run.lost) for run in runs))
    wire(sim, "loss=0")

    pulled = [link for link in sorted(well.links) if {node for node, _ in link} <= well.switches][2:5]
    for (node, port), _ in pulled:
        sim.run(IBWIRE_SIM, "console", f'Unlink "S-{int(node, 16):016x}"[{port}]')
    now, theirs = Discovery(sim), Discovery(sim, "--discovery", "libibnetdisc")
    tap.result(now.links == well.links - set(pulled) and now.links == theirs.links, "pulled links are gone, and no others",
               f"pulled {pulled}\ngone {well.links - now.links}\nnew {now.links - well.links}\n"
               f"libibnetdisc has others: {now.links ^ theirs.links}")

    # The collector believes it, and says what it does when it cannot.
    sim.ibwire("collect", "--once")
    tap.equal("the collector takes it over", len(sim.json("links")), len(now.links))
    said = sim.ibwire("collect", "--once", "--discovery", "ibnetdiscover", check=False)
    tap.result(said.status == 64 and said.err.count("\n") == 1 and "libibnetdisc" in said.err,
               "another discovery than the two is refused", said.err)
tap.done()
