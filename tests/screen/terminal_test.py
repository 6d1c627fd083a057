#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: bad terminals, sizes, keys and databases
# timeout: 600
# waits: for screens to be drawn
"""The screen on a terminal that this test plays: job control, signals, a terminal that goes away,
databases that go wrong under it, settings that are kept, and how many bytes are sent.
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
from lib import IBWIRE, SHORT, Tap, wait_for

SAMPLE_DB = os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db"
PATIENCE_S = 20 if SHORT else 10
CLEAR = b"\x1b[2J"

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
        """What comes within a while."""
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

    def wait_for(self, text, seconds=PATIENCE_S):
        """Until a text comes; what came from now on, or None."""
        got, end = b"", time.monotonic() + seconds
        while time.monotonic() < end:
            got += self.read(0.1)
            if re.search(text, got):
                return got
        return None

    def type(self, keys):
        os.write(self.fd, keys)

    def state(self):
        """R, S, T (stopped), ... as the kernel says."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]

    def wait_state(self, states):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.state() in states:
                return True
            self.read(0.05)
        return False

    def ended(self, seconds=PATIENCE_S):
        """The exit status as waitpid() tells it, or None where it does not end."""
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
    """Whether so many are stored in a database, read as any SQLite client would."""
    with contextlib.suppress(sqlite3.Error), \
            contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM sweep").fetchone()[0] >= count
    return False


@contextlib.contextmanager
def collector(path, interval_s=1, leaves=2):
    """Something that holds a database and stores a sweep now and then."""
    with subprocess.Popen([SAMPLE_DB, path, str(leaves), "3", str(interval_s), "hold"]) as process:
        wait_for(lambda: has_sweeps(path, 3), 2 * PATIENCE_S)
        try:
            yield process
        finally:
            process.kill()


def check_signals():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        name = signal.Signals(number).name
        with Screen("--db", "live.db") as screen:
            screen.wait_for(b"LIVE")
            modes = termios.tcgetattr(screen.fd)[3]
            os.kill(screen.pid, number)
            status = screen.ended()
            tap.result(status is not None and os.WIFEXITED(status), f"{name} ends the screen", status)
            tap.result(b"\x1b[?1049l" in screen.output, f"{name}: the terminal is given back")
            tap.result(not modes & termios.ICANON, f"{name}: the modes had been taken")


def check_job_control():
    with Screen("--db", "live.db") as screen:
        screen.wait_for(b"LIVE")
        screen.read(0.5)
        # The one who started it is this test, which does not stop: the screen is the leader of its session, whose
        # stop signals the kernel leaves out from the keyboard. A signal that is sent stops it as ^Z would.
        os.kill(screen.pid, signal.SIGSTOP)
        tap.result(screen.wait_state("T"), "SIGSTOP stops the screen")
        screen.read(0.3)
        os.kill(screen.pid, signal.SIGCONT)
        got = screen.wait_for(rb"Overview")
        tap.result(got is not None and CLEAR in got, "after SIGCONT all of it is drawn again", got)
        screen.type(b"2")
        tap.result(screen.wait_for(b"PEER") is not None, "and keys are served as before")
        screen.type(b"q")
        tap.equal("and q ends it", screen.ended(), 0)


def check_stop_from_a_shell():
    """^Z as a shell sees it: the terminal is given back while the job is stopped."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", PS1="$ ", ASAN_OPTIONS="detect_leaks=0")
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    shell = Screen.__new__(Screen)
    shell.pid, shell.fd, shell.output, shell.status = pid, fd, b"", None
    with shell:
        shell.type(f"{IBWIRE} top --db live.db; echo left $?\n".encode())
        started = shell.wait_for(b"LIVE") is not None
        shell.read(0.5)
        shell.type(b"\x1a")
        stopped = shell.wait_for(b"Stopped")
        tap.result(started and stopped is not None and b"\x1b[?1049l" in stopped, "^Z gives the terminal back", stopped)
        shell.type(b"stty -a | grep -o -- '-*icanon'\n")
        tap.result(shell.wait_for(rb"[\r\n]icanon") is not None, "with its modes")
        shell.type(b"fg\n")
        again = shell.wait_for(b"Overview")
        tap.result(again is not None and b"\x1b[?1049h" in again, "fg takes it and draws all of it again", again)
        shell.type(b"q")
        tap.result(shell.wait_for(rb"left|\$ ") is not None, "q leaves it")


def check_hangup():
    with Screen("--db", "live.db") as screen:
        screen.wait_for(b"LIVE")
        os.close(screen.fd)
        tap.result(screen.ended(15) is not None, "the screen ends with its terminal")


def check_databases():
    """What happens to a file while it is looked at is told in words, and what was seen stays."""
    with collector("moved.db"), Screen("--db", "moved.db") as screen:
        screen.wait_for(b"LIVE")
        os.rename("moved.db", "away.db")
        tap.result(screen.wait_for(b"the database was removed") is not None, "a database that was moved away is told")
        screen.type(b"2")
        tap.result(screen.wait_for(b"PEER") is not None, "and the screen goes on")
        os.rename("away.db", "moved.db")
        tap.result(screen.wait_for(b"LIVE") is not None, "and is live when it is back")
    with collector("killed.db") as process, Screen("--db", "killed.db") as screen:
        screen.wait_for(b"LIVE")
        process.kill()
        got = screen.wait_for(b"no collector is running")
        tap.result(got is not None and b"NOT LIVE" in screen.output, "a collector that was killed is told", got)
    with collector("late.db") as process, Screen("--db", "late.db") as screen:
        screen.wait_for(b"LIVE")
        os.kill(process.pid, signal.SIGSTOP)
        tap.result(screen.wait_for(b"LATE") is not None, "one that hangs makes the data late")
        tap.result(screen.wait_for(b"but stores nothing", 2 * PATIENCE_S) is not None, "and is told when it goes on so")
        os.kill(process.pid, signal.SIGCONT)
        tap.result(screen.wait_for(b"LIVE") is not None, "and live again when it goes on")
    with collector("cut.db") as process:
        wait_for(lambda: has_sweeps("cut.db", 4))
        process.kill()
    with Screen("--db", "cut.db") as screen:
        screen.wait_for(b"NOT LIVE")
        os.truncate("cut.db", 5000)
        os.truncate("cut.db-wal", 0)
        # What was read before is in memory; the history of a link has to be read.
        screen.type(b"2\r")
        tap.result(screen.wait_for(b"(?i)malformed|damaged|no database|not a database|cannot|disk|failed") is not None,
                   "a file that was cut is told", screen.output[-600:])
        screen.type(b"\x1b1q")
        tap.equal("and the screen goes on until q", screen.ended(), 0)
    with collector("locked.db", 1), Screen("--db", "locked.db") as screen:
        screen.wait_for(b"LIVE")
        connection = sqlite3.connect("locked.db", isolation_level=None, timeout=5)
        connection.execute("BEGIN EXCLUSIVE")
        got = screen.wait_for(rb"LATE|NOT LIVE|locked")
        tap.result(got is not None, "a database that somebody else locks makes the data late", got)
        screen.type(b"2")
        tap.result(screen.wait_for(b"PEER") is not None, "keys are served meanwhile")
        connection.execute("ROLLBACK")
        connection.close()
        tap.result(screen.wait_for(b"LIVE") is not None, "and it is live again when the lock is gone")


def check_settings():
    config = {"XDG_CONFIG_HOME": os.getcwd() + "/config"}
    kept = "config/ibwire/top.conf"
    with Screen("--db", "live.db", env=config) as screen:
        screen.wait_for(b"LIVE")
        screen.type(b"q")
        screen.ended()
    tap.result(not os.path.exists(kept), "nothing is written where nothing was changed")
    with Screen("--db", "live.db", env=config) as screen:
        screen.wait_for(b"LIVE")
        screen.type(b"2x")
        screen.wait_for(b"PEER")
        screen.read(0.5)
        screen.type(b"q")
        screen.ended()
    tap.equal("what was changed is kept", sorted(open(kept, encoding="utf-8").read().splitlines()[1:]),
              ["links.swapped = yes"])
    with Screen("--db", "live.db", env=config) as screen:
        tap.result(screen.wait_for(b"PROBLEMS") is not None, "problems come first at the next start too")
        screen.type(b"q")
        screen.ended()
    with open(kept, "w", encoding="utf-8") as file:
        file.write("colors = Nowhere\n")
    with Screen("--db", "live.db", env=config) as screen:
        tap.result(screen.wait_for(b'unknown value "colors = Nowhere"') is not None, "what is not known is told",
                   screen.output)
        screen.type(b"q")
        screen.ended()
    tap.equal("and left alone", open(kept, encoding="utf-8").read(), "colors = Nowhere\n")
    shutil.rmtree("config")
    with open("config", "w", encoding="utf-8"):
        pass
    with Screen("--db", "live.db", env=config) as screen:
        screen.wait_for(b"LIVE")
        screen.type(b"2q")
        tap.equal("where nothing can be written nobody hears of it", screen.ended(), 0)
    tap.result(b"config" not in screen.output, "not in words either", screen.output[-300:])
    os.remove("config")


def check_colors():
    colored = rb"\x1b\[[0-9;]*3[1-8]"
    for term, env, arguments, wanted in (("xterm-256color", {}, (), True), ("xterm-256color", {"NO_COLOR": "1"}, (), False),
                                         ("xterm-256color", {}, ("--color", "never"), False),
                                         ("vt100", {}, (), False), ("linux", {}, (), True)):
        with Screen("--db", "live.db", *arguments, term=term, env=env) as screen:
            screen.wait_for(b"LIVE")
            screen.type(b"2")
            screen.wait_for(b"PEER")
            screen.type(b"q")
            screen.ended()
            tap.equal(f"colours: {term} {env} {' '.join(arguments)}", bool(re.search(colored, screen.output)), wanted)


def check_fewer_colors():
    """What F2 sets holds on a terminal that could do more."""
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


def check_mouse():
    with Screen("--db", "live.db") as screen:
        screen.wait_for(b"LIVE")
        tap.result(b"\x1b[?1000h" in screen.output or b"\x1b[?1006;1000h" in screen.output, "the mouse is asked for")
        screen.type(b"2")
        screen.wait_for(b"PEER")
        for _ in range(2):
            screen.type(b"\x1b[<0;10;8M\x1b[<0;10;8m")
            screen.read(0.2)
        tap.result(screen.wait_for(b" > ") is not None or b" > " in screen.output, "two presses open a row",
                   screen.output[-500:])
        screen.type(b"q")
        screen.ended()


def thrift_of(screen, most):
    """Bytes a second and for a key of each tab of a screen, and whether it was cleared meanwhile."""
    figures = []
    screen.wait_for(b"LIVE")
    for tab in "123456":
        screen.type(tab.encode())
        # A busy machine may draw the tab itself late: then what comes after it counts.
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


def check_thrift():
    """What goes over the line: most of it waits for ever at 300 ms and little bandwidth."""
    # The collector's sweeps all differ in the rates of one leaf, so that rows do change.
    sizes = ((80, 24, 1500), (120, 40, 3000), (200, 60, 6000))
    with contextlib.ExitStack() as stack, ThreadPoolExecutor() as pool:
        screens = [stack.enter_context(Screen("--db", "live.db", rows=rows, columns=columns))
                   for columns, rows, _ in sizes]
        # All at the same time: it is waiting mostly.
        for (columns, rows, most), figures in zip(sizes, pool.map(thrift_of, screens, (size[2] for size in sizes))):
            for tab, refresh, _, cleared in figures:
                tap.result(not cleared and refresh < most, f"{columns}x{rows}, screen {tab}: few bytes a second",
                           f"{refresh} bytes, cleared: {cleared}")
            tap.note(f"{columns}x{rows}: bytes a second (a sweep a second) / for a key: " +
                     ", ".join(f"{tab}: {refresh:.0f}/{key}" for tab, refresh, key, _ in figures))


def main():
    os.environ["XDG_CONFIG_HOME"] = os.getcwd() + "/settings"
    with collector("live.db"):
        for check in (check_signals, check_job_control, check_stop_from_a_shell, check_hangup, check_colors,
                      check_fewer_colors, check_mouse,
                      check_settings, check_thrift):
            shutil.rmtree("settings", ignore_errors=True)
            with tap.part(check.__name__):
                check()
    with tap.part("databases"):
        check_databases()
    return tap.done()


sys.exit(main())
