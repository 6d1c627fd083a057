#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Cost of the screen: at start, for a key, for a step in time, and while live.

On databases with a synthetic history (tests/bench/makedb), into which a sweep is stored every second. The screen runs
on a pty; its output is counted. A paint ends with the last byte before a pause of 40 ms. CPU is the CPU time of the
screen's process. "bench: {...}" lines as those of sweep.py.

    SIZES='4096 65536'   port ends
    WATCH=10             seconds of live update of each screen
    RUNS=5               number of starts
    MAKEDB=...           tests/bench/makedb

It only measures and prints. There is no comparable program: others show one port or one host, or another network.
"""
import fcntl
import glob
import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

IBWIRE = os.environ["IBWIRE"]
MAKEDB = os.environ["MAKEDB"]
SIZES = [int(size) for size in os.environ.get("SIZES", "4096 65536").split()]
WATCH = float(os.environ.get("WATCH", "10"))
RUNS = int(os.environ.get("RUNS", "5"))
PAUSE_S = 0.04
UP, DOWN, PAGE_DOWN = b"\033OA", b"\033OB", b"\033[6~"
TABS = ["overview", "links", "balance", "ports", "events", "snapshots"]
# Limits: (start ms, key ms, step in time ms, CPU %).
MARKS = {4096: (300, 50, 100, 5), 65536: (800, 50, 300, 15)}


def figure(name, value, unit, mark=None, cpu_ms=None):
    suffix = "" if cpu_ms is None else f"   CPU {cpu_ms:.3g} ms"
    suffix += "" if mark is None else f"   at most {mark:g}: {'yes' if value <= mark else 'NO'}"
    print(f"  {name:<66} {value:>9.4g} {unit}{suffix}")
    print("bench: " + json.dumps({"name": name, "value": round(value, 3), "unit": unit, "mark": mark,
                                  "cpu_ms": cpu_ms and round(cpu_ms, 3), "peer": None}))
    sys.stdout.flush()


class Screen:
    """ibwire top on a pty."""

    def __init__(self, database, columns, rows, *options):
        self.began = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", XDG_CONFIG_HOME=os.path.dirname(database))
            os.execv(IBWIRE, [IBWIRE, "top", "--db", database, *options])
        self.output = b""

    def read(self, seconds):
        """The output within a number of seconds, b"" for none."""
        if not select.select([self.fd], [], [], max(seconds, 0))[0]:
            return b""
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            raise RuntimeError(f"the screen ended:\n{self.output[-2000:].decode('utf-8', 'replace')}") from None
        self.output += got
        return got

    def paint(self, limit, words=b""):
        """Wait for a paint (with a text). Return the time of its last byte, or None."""
        end, last, begin = time.monotonic() + limit, None, len(self.output)
        while last is None or time.monotonic() < last + PAUSE_S:
            if last is None and time.monotonic() > end:
                return None
            if self.read((last + PAUSE_S if last else end) - time.monotonic()) and words in self.output[begin:]:
                last = time.monotonic()
        return last

    def key(self, key, limit=1.0, whole=False):
        """
        Time from a key to the end of its paint: ms, and ms of CPU; None if nothing changes. Data that takes long to
        load is painted later: @whole waits for it.
        """
        while self.read(PAUSE_S):
            pass
        cpu, began = self.cpu(), time.monotonic()
        os.write(self.fd, key)
        end = self.paint(limit)
        while whole and end and self.is_busy():
            end = self.paint(limit) or end
        return end and ((end - began) * 1000, (self.cpu() - cpu) * 1000)

    def is_busy(self):
        cpu = self.cpu()
        time.sleep(0.01)
        return self.cpu() - cpu > 0.002

    def cpu(self):
        """CPU seconds used so far."""
        used = 0
        for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
            with open(path, encoding="ascii") as file:
                used += int(file.read().split()[0])
        return used / 1e9

    def watch(self, seconds):
        """Share of a core, and bytes written, without keys."""
        begin, bytes_before, cpu = time.monotonic(), len(self.output), self.cpu()
        while time.monotonic() < begin + seconds:
            self.read(begin + seconds - time.monotonic())
        return (self.cpu() - cpu) / (time.monotonic() - begin) * 100, len(self.output) - bytes_before

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        while True:
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def start(database, columns=120, rows=40, *options):
    screen = Screen(database, columns, rows, *options)
    end = screen.paint(30, b"HISTORY" if options else b"LIVE")
    if not end:
        raise RuntimeError(f"no paint:\n{screen.output[-2000:]!r}")
    return screen, (end - screen.began) * 1000


def times(name, samples, mark):
    """Median, worst and CPU of (ms, ms of CPU)."""
    samples = [sample for sample in samples if sample]
    if not samples:
        print(f"  {name}: nothing changed")
        return
    worst = max(samples)
    figure(f"{name}, median of {len(samples)}", statistics.median(wall for wall, _ in samples), "ms", mark,
           statistics.median(cpu for _, cpu in samples))
    figure(f"{name}, worst", worst[0], "ms", mark, worst[1])


def measure_start(database, label, mark):
    walls, cpus = [], []
    for _ in range(RUNS):
        screen, wall = start(database)
        walls.append(wall)
        cpus.append(screen.cpu() * 1000)
        screen.end()
    figure(f"{label}: start to first paint, median of {RUNS}", statistics.median(walls), "ms", mark,
           statistics.median(cpus))


def measure_keys(database, label, mark):
    """Keys without new sweeps; the cost of a new sweep is measured separately."""
    screen, _ = start(database, 120, 40, "--at", "now")
    for number, tab in enumerate(TABS, 1):
        screen.key(str(number).encode())
        again = []
        for _ in range(4):
            screen.key(b"?")
            screen.key(b"\033")
            screen.key(str(number % len(TABS) + 1).encode())
            again.append(screen.key(str(number).encode()))
        times(f"{label}: {tab}, open", again, mark)
        # There are no snapshots, so only the clock would be painted.
        if tab != "snapshots":
            times(f"{label}: {tab}, arrows and pages",
                  [screen.key(key) for key in [DOWN, DOWN, DOWN, UP, UP, DOWN, PAGE_DOWN, DOWN, UP, PAGE_DOWN]], mark)
        # A word is typed, some of it is deleted, and all rows are shown again.
        if tab in ("links", "ports", "events"):
            screen.key(b"/")
            times(f"{label}: {tab}, typing a filter",
                  [screen.key(key, 3) for key in (b"l", b"e", b"a", b"f", b"\x7f", b"\x7f", b"a", b"f")], mark)
            screen.key(b"\033")
            screen.key(b"\033")
    screen.key(b"1")
    opened = []
    for _ in range(4):
        opened.append(screen.key(b"\r", 3))
        screen.key(b"\033", 3)
    times(f"{label}: detail of the selected row", opened, mark)
    screen.end()


def measure_steps(database, label, mark):
    screen, _ = start(database)
    for number, tab in enumerate(TABS, 1):
        screen.key(b"L", 3)
        screen.key(str(number).encode())
        times(f"{label}: {tab}, a step in time",
              [screen.key(key, 3, whole=True) for key in [b"<", b"<", b"<", b">", b"<", b"{", b"}"]], mark)
    screen.end()


def measure_watching(database, label, mark):
    for columns, rows in ((80, 24), (120, 40)):
        screen, _ = start(database, columns, rows)
        for number, tab in enumerate(TABS, 1):
            screen.key(str(number).encode(), 3)
            # Exclude data that is read once when the screen opens.
            screen.watch(3)
            percent, count = screen.watch(WATCH)
            if (columns, rows) == (120, 40):
                figure(f"{label}: {tab}, CPU at one sweep per second", percent, "%", mark)
            figure(f"{label}: {tab}, bytes per second at {columns}x{rows}", count / WATCH, "B")
        screen.end()


def measure(ports, folder):
    database = os.path.join(folder, f"{ports}.db")
    with subprocess.Popen([MAKEDB, "--ports", str(ports), "--interval", "1", "--hours", "0.05", "--begin", "now",
                           "--live", "100000", database], stdout=subprocess.PIPE, text=True) as writer:
        try:
            for line in writer.stdout:
                print("  " + line.strip())
                if line.startswith("live"):
                    break
            # By then the missing sweeps are stored.
            time.sleep(15)
            status = json.loads(subprocess.run([IBWIRE, "status", "--db", database, "--format", "json"],
                                             stdout=subprocess.PIPE, check=False).stdout)
            polled = re.search(r'"ports_polled": (\d+)', json.dumps(status))
            label = f"{ports:,} port ends"
            print(f"{label}: {polled[1] if polled else '?'} are polled; load of the machine {os.getloadavg()[0]:.1f}")
            start_ms, key_ms, step_ms, cpu_percent = MARKS.get(ports, (None,) * 4)
            measure_start(database, label, start_ms)
            measure_keys(database, label, key_ms)
            measure_steps(database, label, step_ms)
            measure_watching(database, label, cpu_percent)
        finally:
            writer.terminate()


def main():
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for ports in SIZES:
            measure(ports, folder)


main()
