#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for faults; tests/screen covers every screen
# waits: for screens to be drawn
"""`ibwire top` on a simulated fabric, with its own collector: faults appear on the screen.

With traffic running, a link is disconnected and routes are skewed; the overview must show both without a key press.
Then the collector is killed, which the header must show. The terminal is tmux, outside of ibwire-sim.
"""
import contextlib
import os
import pty
import re
import signal
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, NO_TERMINAL, Simulation, Tap, can_open_terminal, need, run, skip_all, wait_for

need("ibsim", "opensm", "tmux")
if not can_open_terminal():
    skip_all(NO_TERMINAL)
tap = Tap()
# Shorter times than the defaults, so that the test takes seconds.
SETTINGS = """[health]
link_down_after = 2s
silent_after = 3s
training = 3s
recovery = 5s
[balance]
window = 8s
"""
FABRIC = "rail --units 2 --hosts 8 --rails 2 --spines 4"
JOB = "ring stride=8 rate=100Gb/s"
# Cages have two ports here: a cable's other link is the neighbour's.
PULLED, SKEWED = ("leaf-u01-r0", 9), ("leaf-u02-r1", 11)
WAIT_S = 120


class Terminal:
    """A program in a terminal of tmux, as a context."""

    def __init__(self, env, *command, columns=100, rows=30):
        self.command = [str(word) for word in command]
        self.size = ["-x", str(columns), "-y", str(rows)]
        self.env = {**env, "TERM": "screen-256color", "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0:" +
                    os.environ.get("ASAN_OPTIONS", "")}

    def tmux(self, *words, check=True):
        own = {key: value for key, value in os.environ.items() if key != "TMUX"}
        return run("tmux", "-L", "screen", "-f", "/dev/null", *words, check=check,
                   env={**own, "TMUX_TMPDIR": os.getcwd()}).out

    def __enter__(self):
        # The simulation is the program's, not the terminal's: its libraries are of no use to tmux.
        changed = [word for key, value in self.env.items() if os.environ.get(key) != value or key == "TERM"
                for word in ("-e", f"{key}={value}")]
        # The terminal stays when the program has ended.
        self.tmux("new-session", "-d", "-s", "keep", "exec sleep 1000")
        self.tmux("new-session", "-d", "-s", "top", *self.size, "sh", "-c",
                  "exec env " + " ".join(f"'{word}'" for word in changed[1::2]) +
                  " sh -c '\"$0\" \"$@\"; echo exit $?; exec sleep 1000' " + " ".join(self.command))
        return self

    def __exit__(self, *exception):
        self.tmux("kill-server", check=False)
        return False

    def seen(self):
        return self.tmux("capture-pane", "-p", "-t", "top")

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", "-t", "top", key)

    def shows(self, name, pattern, *keys, seconds=WAIT_S):
        """Send keys and wait for text on the screen. Return the seconds it took, or None."""
        began = time.monotonic()
        self.keys(*keys)
        if not tap.result(wait_for(lambda: re.search(pattern, self.seen()), seconds, 0.2), name,
                          f"{pattern!r} is not on:\n{self.seen()}"):
            return None
        return time.monotonic() - began


def collector_of(database):
    """The collector that the screen has started for this database."""
    for line in run("ps", "-eo", "pid=,args=").out.splitlines():
        pid, args = line.split(None, 1)
        if "collect --db" in args and database in args:
            return int(pid)
    return None


def check_faults(sim, screen):
    guid = sim.guid(PULLED[0])
    screen.shows("the job's traffic is seen", r"compute out +32 .* [1-9]\d%")
    screen.shows("no open findings yet", r"PROBLEMS 0")
    sim.run(IBWIRE_SIM, "routes", "skew", f"{SKEWED[0]}/{SKEWED[1]}", "0.5")
    took = screen.shows("skewed routes are a problem on the first screen", rf"(WARN|CRIT) {SKEWED[0]} uplinks.*routing")
    tap.note(f"skewed routes were on the screen after {took or 0:.1f} s")
    screen.shows("one key leads to the cause", r"cause +routing", "Home", "Enter")
    tap.contains("and to what to do", screen.seen(), "forwarding table")
    screen.shows("Esc goes back", r"PROBLEMS [1-9]", "Escape")
    sim.run(IBWIRE_SIM, "console", f'Unlink "S-{guid[2:]}"[{PULLED[1]}]')
    took = screen.shows("a pulled link is a problem beside that", rf"{PULLED[0]}/{PULLED[1]}\b")
    tap.note(f"a pulled link was on the screen after {took or 0:.1f} s")
    screen.shows("it is counted in the header", r"links.*\b1 down")


def check_attach(sim, tries=3):
    """Two screens that start at the same time share the collector of one of them."""
    for number in range(tries):
        screens = []
        for _ in range(2):
            master, slave = pty.openpty()
            screens.append((sim.start(IBWIRE, "top", "--db", f"both{number}.db", stdin=slave, stdout=slave, stderr=slave,
                                      env={**sim.env, "TERM": "screen-256color"}), master, bytearray()))
            os.set_blocking(master, False)
            os.close(slave)

        def both_live(screens=screens):
            for _, master, text in screens:
                os.write(master, b"\x0c")  # a whole screen, not only what changes in a word
                with contextlib.suppress(OSError):
                    text += os.read(master, 65536)
            return all(b"LIVE" in text for _, _, text in screens)

        tap.result(wait_for(both_live, WAIT_S, 0.1), f"two screens started together are live, {number + 1} of {tries}",
                   [bytes(text[-3000:]) for _, _, text in screens])
        for process, master, _ in screens:
            process.terminate()
            process.wait(120)
            os.close(master)


def check_collector(screen, database):
    pid = collector_of(database)
    if not tap.result(pid, "the screen has a collector of its own"):
        return
    os.kill(pid, signal.SIGKILL)
    screen.shows("a collector that was killed is shown in the header", r"NOT LIVE")
    screen.shows("and why, and how to start one", r"ended: killed by signal 9 \(Killed\); start one: ibwire collect")
    tap.contains("what it stored stays", screen.seen(), "GROUPS")
    screen.shows("the screen still answers", r"of \d+ links", "2")
    screen.shows("and ends", r"exit 0", "q")


with open("quick.conf", "w", encoding="ascii") as conf:
    conf.write(SETTINGS)
with tap.part("screen"), Simulation("--gen", FABRIC, "--traffic", JOB) as sim:
    with Terminal(sim.env, IBWIRE, "top", "--interval", "500ms", "--settings", os.path.abspath("quick.conf")) as screen:
        took = screen.shows("it comes up with a collector of its own", r"LIVE \d\d:")
        tap.note(f"live after {took or 0:.1f} s")
        check_faults(sim, screen)
        check_collector(screen, sim.env["IBWIRE_DB"])
        tap.equal("the screen's collector has ended", collector_of(sim.env["IBWIRE_DB"]), None)
    check_attach(sim)

tap.done()
