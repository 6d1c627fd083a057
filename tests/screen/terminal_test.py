#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: bad terminals, sizes, keys and databases
# timeout: 1200
# waits: for screens to be drawn
"""The screen on a terminal emulated here: hangup, faults of the database, settings, limited colours, bytes sent.

tui/screen_test.sh covers signals, job control, colours of terminals and the mouse.
"""
import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, NO_TERMINAL, Tap, can_open_terminal, skip_all, wait_for

SAMPLE_DB = os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db"
TIMEOUT_S = 60
CLEAR = b"\x1b[2J"

if not can_open_terminal():
    skip_all(NO_TERMINAL)
tap = Tap()


class Screen:
    """ibwire top on a pseudo terminal."""

    def __init__(self, *arguments, rows=24, columns=80, term="xterm-256color", env=None):
        self.output = b""
        self.status = None
        environment = dict(os.environ, TERM=term, LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0", **(env or {}))
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(IBWIRE, [IBWIRE, "top", *arguments], environment)

    def read(self, seconds):
        """Output within this time."""
        got, end = b"", time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                chunk = os.read(self.fd, 65536)
            except OSError:
                break
            if not chunk:
                break
            got += chunk
        self.output += got
        return got

    def wait_for(self, text, seconds=TIMEOUT_S):
        """The output up to this text, or None."""
        got, end = b"", time.monotonic() + seconds
        while time.monotonic() < end:
            got += self.read(0.1)
            if re.search(text, got):
                return got
        return None

    def type(self, keys):
        os.write(self.fd, keys)

    def ended(self, seconds=TIMEOUT_S):
        """The wait status, or None if it does not end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
                with contextlib.suppress(OSError, ValueError):
                    self.read(0.05)
                return status
            with contextlib.suppress(OSError, ValueError):
                self.read(0.05)
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self.fd)


def has_sweeps(path, count):
    """Does a database have so many sweeps?"""
    with contextlib.suppress(sqlite3.Error), \
            contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM sweep").fetchone()[0] >= count
    return False


@contextlib.contextmanager
def collector(path, interval_s=1, leaves=2):
    """A process that holds a database and stores sweeps."""
    with subprocess.Popen([SAMPLE_DB, path, str(leaves), "3", str(interval_s), "hold"]) as process:
        wait_for(lambda: has_sweeps(path, 3), 2 * TIMEOUT_S)
        try:
            yield process
        finally:
            process.kill()


def check_hangup():
    with Screen("--db", "live.db") as screen:
        screen.wait_for(b"LIVE")
        os.close(screen.fd)
        tap.result(screen.ended() is not None, "the screen ends with its terminal")


def check_databases():
    """Faults of the database of a running screen are reported, and keys still work."""
    with collector("late.db") as process, Screen("--db", "late.db") as screen:
        screen.wait_for(b"LIVE")
        os.kill(process.pid, signal.SIGSTOP)
        tap.result(screen.wait_for(b"LATE") is not None, "a collector that hangs makes the data late")
        tap.result(screen.wait_for(b"but stores nothing", 2 * TIMEOUT_S) is not None, "and is reported after a while")
        os.kill(process.pid, signal.SIGCONT)
        tap.result(screen.wait_for(b"LIVE") is not None, "LIVE again when it continues")
    with collector("cut.db") as process:
        wait_for(lambda: has_sweeps("cut.db", 4))
        process.kill()
    with Screen("--db", "cut.db") as screen:
        screen.wait_for(b"NOT LIVE")
        os.truncate("cut.db", 5000)
        os.truncate("cut.db-wal", 0)
        # What was read before is in memory; a report has a connection of its own.
        screen.type(b"2\rr")
        tap.result(screen.wait_for(b"(?i)malformed|damaged|no database|not a database|cannot|disk|failed") is not None,
                   "a truncated file is reported", screen.output[-600:])
        screen.type(b"\x1b1q")
        tap.equal("q still ends the screen", screen.ended(), 0)
    with collector("locked.db", 1), Screen("--db", "locked.db") as screen:
        screen.wait_for(b"LIVE")
        connection = sqlite3.connect("locked.db", isolation_level=None, timeout=5)
        connection.execute("BEGIN EXCLUSIVE")
        got = screen.wait_for(rb"LATE|NOT LIVE|locked")
        tap.result(got is not None, "a database locked by another process makes the data late", got)
        screen.type(b"2")
        tap.result(screen.wait_for(b"PEER") is not None, "keys work meanwhile")
        connection.execute("ROLLBACK")
        connection.close()
        tap.result(screen.wait_for(b"LIVE") is not None, "LIVE again without the lock")


def check_settings():
    config = {"XDG_CONFIG_HOME": os.getcwd() + "/config"}
    kept = "config/ibwire/top.conf"
    with Screen("--db", "live.db", env=config) as screen:
        screen.wait_for(b"LIVE")
        screen.type(b"q")
        screen.ended()
    tap.result(not os.path.exists(kept), "settings are written only if they were changed")
    with Screen("--db", "live.db", env=config) as screen:
        screen.wait_for(b"LIVE")
        screen.type(b"2x")
        screen.wait_for(b"PEER")
        screen.read(0.5)
        screen.type(b"q")
        screen.ended()
    tap.equal("changed settings are saved", sorted(open(kept, encoding="utf-8").read().splitlines()[1:]),
              ["links.swapped = yes"])
    with Screen("--db", "live.db", env=config) as screen:
        tap.result(screen.wait_for(b"PROBLEMS") is not None, "the next start begins with the overview")
        screen.type(b"q")
        screen.ended()
    with open(kept, "w", encoding="utf-8") as file:
        file.write("colors = Nowhere\n")
    with Screen("--db", "live.db", env=config) as screen:
        tap.result(screen.wait_for(b'unknown value "colors = Nowhere"') is not None, "an unknown value is reported",
                   screen.output)
        screen.type(b"q")
        screen.ended()
    tap.equal("and the file is unchanged", open(kept, encoding="utf-8").read(), "colors = Nowhere\n")
    shutil.rmtree("config")
    with open("config", "w", encoding="utf-8"):
        pass
    with Screen("--db", "live.db", env=config) as screen:
        screen.wait_for(b"LIVE")
        screen.type(b"2q")
        tap.equal("status 0 if settings cannot be written", screen.ended(), 0)
    tap.result(b"config" not in screen.output, "and no message", screen.output[-300:])
    os.remove("config")


def check_fewer_colors():
    """The setting of F2 limits the colours of a terminal with more of them."""
    os.makedirs("settings/ibwire", exist_ok=True)
    for name, most in (("256", 255), ("16", 15), ("8", 7), ("mono", -1)):
        with open("settings/ibwire/top.conf", "w", encoding="utf-8") as file:
            file.write(f"colors = {name}\n")
        with Screen("--db", "live.db") as screen:
            screen.wait_for(b"LIVE")
            screen.type(b"234")
            screen.read(1)
            screen.type(b"q")
            screen.ended()
            used = [int(number) for number in re.findall(rb"\x1b\[38;5;(\d+)m", screen.output)]
            used += [int(number) - 30 for number in re.findall(rb"\x1b\[(3[0-7])m", screen.output)]
            used += [int(number) - 82 for number in re.findall(rb"\x1b\[(9[0-7])m", screen.output)]
        tap.result(max(used, default=-1) <= most and (most < 0 or used), f"colours set to {name}", used)


def output_of(screen, most):
    """Bytes per second and per key of each tab, and whether the screen was cleared meanwhile."""
    figures = []
    screen.wait_for(b"LIVE")
    for tab in "1234567":
        screen.type(tab.encode())
        # A busy machine may draw the tab late: repeat.
        for _ in range(4):
            screen.read(1)
            start = len(screen.output)
            screen.read(2)
            refresh, cleared = (len(screen.output) - start) / 2, CLEAR in screen.output[start:]
            if refresh < most and not cleared:
                break
        keys = []
        for _ in range(4):
            screen.type(b"j")
            keys.append(len(screen.read(0.12)))
        figures.append((tab, refresh, min(keys), cleared))
    screen.type(b"q")
    screen.ended()
    return figures


def check_output_size():
    """Bytes per second of a screen without keys."""
    # The collector's sweeps all differ in the rates of one leaf, so that rows do change.
    sizes = ((80, 24, 1500), (120, 40, 3000), (200, 60, 6000))
    with contextlib.ExitStack() as stack, ThreadPoolExecutor() as pool:
        screens = [stack.enter_context(Screen("--db", "live.db", rows=rows, columns=columns))
                   for columns, rows, _ in sizes]
        for (columns, rows, most), figures in zip(sizes, pool.map(output_of, screens, (size[2] for size in sizes))):
            for tab, refresh, _, cleared in figures:
                tap.result(not cleared and refresh < most, f"{columns}x{rows}, screen {tab}: few bytes per second",
                           f"{refresh} bytes, cleared: {cleared}")
            tap.note(f"{columns}x{rows}: bytes per second (one sweep per second) / per key: " +
                     ", ".join(f"{tab}: {refresh:.0f}/{key}" for tab, refresh, key, _ in figures))


def main():
    os.environ["XDG_CONFIG_HOME"] = os.getcwd() + "/settings"
    with collector("live.db"):
        for check in (check_hangup, check_fewer_colors, check_settings, check_output_size):
            shutil.rmtree("settings", ignore_errors=True)
            with tap.part(check.__name__):
                check()
    with tap.part("databases"):
        check_databases()
    return tap.done()


sys.exit(main())
