# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Helpers for Python tests: TAP results, programs, a simulated fabric.

A test script begins with

    import os, sys
    sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
    from lib import Simulation, Tap, ibwire_json, run

and runs in an empty folder (tests/run-tests).
"""
import contextlib
import csv
import functools
import itertools
import json
import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import traceback

IBWIRE = os.environ["IBWIRE"]
IBWIRE_SIM = os.environ["IBWIRE_SIM"]
SRCDIR = os.environ["IBWIRE_SRCDIR"]
# Set for shorter tests (with sanitizers).
SHORT = bool(os.environ.get("IBWIRE_TEST_SHORT"))
os.environ["PATH"] += ":/usr/sbin:/sbin"


class Unavailable(Exception):
    """This machine lacks a permission or a device that a test needs."""


class Tap:
    """Counts results and prints them as TAP."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, good, name, why=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        if not good:
            self.comment(str(why))
        sys.stdout.flush()
        return good

    def equal(self, name, got, wanted):
        return self.result(got == wanted, name, f"got:    {got!r}\nwanted: {wanted!r}")

    def becomes(self, name, function, wanted, seconds=120.0):
        """Wait until a function returns what is wanted, which other processes bring about, and compare."""
        got = [function()]
        wait_for(lambda: got[0] == wanted or got.__setitem__(0, function()), seconds)
        return self.equal(name, got[0], wanted)

    def contains(self, name, text, words):
        return self.result(words in text, name, f"{words!r} is not in:\n{text}")

    def one_line(self, name, finished, status, *parts):
        """A program failed with this status and one line on stderr that contains these parts."""
        self.equal(f"{name}: exit status", finished.status, status)
        self.result(len(finished.err.splitlines()) == 1 and not finished.out, f"{name}: one line, on stderr", finished)
        for part in parts:
            self.contains(f"{name}: the line has {part!r}", finished.err, part)

    def same(self, name, ours, theirs, limit=20):
        """Compare two dictionaries; the first differences are printed."""
        wrong = []
        for key in sorted(set(ours) | set(theirs), key=str):
            if key not in ours:
                wrong.append(f"{key}: only they have it: {theirs[key]}")
            elif key not in theirs:
                wrong.append(f"{key}: only ibwire has it: {ours[key]}")
            elif ours[key] != theirs[key]:
                wrong.append(f"{key}: ibwire {ours[key]}, they {theirs[key]}")
        if not theirs:
            wrong.append("there is nothing to compare with")
        more = [f"... and {len(wrong) - limit} more"] if len(wrong) > limit else []
        return self.result(not wrong, f"{name} ({len(theirs)} entries)", "\n".join(wrong[:limit] + more))

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}")

    def note(self, text):
        """Printed by the runner also when all tests pass."""
        for line in text.splitlines():
            print("# note: " + line)

    def comment(self, text):
        """Printed by the runner when a test fails."""
        for line in text.splitlines():
            print("# " + line)

    @contextlib.contextmanager
    def part(self, name):
        """A part of a test: an exception in it is one failed result, and the following parts run. After Unavailable
        the rest of the part is skipped."""
        try:
            yield
        except Unavailable as missing:
            self.skip(name, missing)
        except Exception:  # whatever it is, it is to be reported
            self.result(False, name, traceback.format_exc())

    def reliability(self, faults, cases, checked):
        """A row of docs/reliability.md (tests/reliability.sh)."""
        if os.environ.get("IBWIRE_RELIABILITY") and not self.failed:
            print(f"RELIABILITY\t{faults}\t{cases}\t{checked}\t0 failures")

    def done(self):
        if outputs:
            self.result(not wrong_plurals, f"no plural follows 1 in {len(outputs)} outputs",
                        "\n".join(sorted(wrong_plurals)[:20]))
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


class Finished:
    """The result of a program."""

    def __init__(self, command, status, out, err):
        self.command, self.status, self.out, self.err = command, status, out, err

    def __str__(self):
        return f"{' '.join(map(str, self.command))}: status {self.status}\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}"


# Every output of ibwire that a test reads is searched for a plural after 1: "1 switches", "1 of them have".
PLURAL = re.compile(r"(?<![\w.,:/-])1 (?:of (?:them|these|which) have|have|are|were|"
                    r"(?:(?:HCA|aggregation|active|more|other|busy|idle|linked|known|uplink|different|separate) )*[A-Za-z]*[a-rt-z]s)"
                    r"\b(?!/)")
# Words that end in s and are no plural, and units of a count that is written as a number.
NO_PLURAL = re.compile(r"1 (?:[a-z]*(?:does|responds)|has|is|was|its|ms|us|bps|GPUs? ranks|as|plus|minus|address|process|less|bus|status|us)$")
outputs, wrong_plurals = [], set()


def find_plurals(command, text):
    """Remember the lines of a text with a plural after 1; a table has columns that only look like a sentence."""
    outputs.append(command)
    for line in text.split("\n"):
        for found in PLURAL.finditer(line):
            if not NO_PLURAL.match(found[0]):
                wrong_plurals.add(f"{' '.join(map(str, command[1:4]))}: {line.strip()[:160]}")


def run(*command, env=None, timeout=300, check=True, stdin=subprocess.DEVNULL, text=True):
    """Run a program to its end. With check, a status other than 0 raises an exception."""
    done = subprocess.run([str(word) for word in command], env=env, stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, check=False)
    if text:
        finished = Finished(command, done.returncode, done.stdout.decode("utf-8", "replace"),
                            done.stderr.decode("utf-8", "replace"))
    else:
        finished = Finished(command, done.returncode, done.stdout, done.stderr)
    if text and str(command[0]) == IBWIRE:
        find_plurals(command, finished.out + finished.err)
    if check and done.returncode:
        raise RuntimeError(str(finished))
    return finished


def read_file(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def free_port():
    """A TCP port that nothing used a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, seconds=120.0, every=0.05):
    """Wait until what() is true. Return False after the timeout, which only a failure reaches, also on a busy machine."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(every)
    return bool(what())


def as_seconds(stamp):
    """Wall clock of "2026-11-22T03:01:46.048743Z"."""
    return time.mktime(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(stamp[19:-1])


def stamp_of(seconds):
    """The reverse, in whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + "Z"


# Commands that only read the database, as arguments; they need no fabric.
READERS = [["status"], ["nodes"], ["ports"], ["ports", "--details"], ["links"], ["balance"], ["topology", "show"],
           ["names", "suggest"], ["events"], ["health", "--at", "2026-11-23T21:00:06Z"], ["history"],
           ["history", "--top", "5"], ["report", "leaf-u01-r0"], ["db"], ["db", "check"],
           ["db", "export", "part.db", "--anonymise"], ["snapshot", "list"], ["job", "list"],
           ["sql", "SELECT count(*), total(xmit_bytes) FROM traffic"],
           ["sql", "SELECT node, port, rcv_bytes FROM port_sum('-6h') ORDER BY 3"]]


def released_database(path, version=1):
    """Create a database as the last ibwire with schema version 1 wrote it; another version is only a number."""
    with open(SRCDIR + "/tests/integration/version1.sql", encoding="ascii") as file:
        script = file.read()
    if sqlite3.sqlite_version_info < (3, 37):
        script = script.replace(", STRICT;", ";").replace(" STRICT;", ";")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(script + f"PRAGMA user_version = {version};")
    return os.path.abspath(path)


def shared_data(name):
    """Path of a published dump beside the checkout, or None."""
    folder = os.environ.get("IBWIRE_SHARED_DATA") or os.path.join(SRCDIR, "..", "shared", "data")
    path = os.path.join(folder, name)
    return path if os.path.exists(path) else None


class Simulation:
    """A simulated fabric, as a context: with Simulation("--gen", "rail") as sim: sim.run("ibnetdiscover")

    ibwire-sim runs a small shell that tells its environment and waits; what the
    test runs gets the same environment, and so talks to the same fabric.
    """

    numbers = itertools.count(1)  # of files: what one simulation leaves must not be taken for another's

    def __init__(self, *options, env=None):
        self.options = options
        self.extra = env or {}

    def __enter__(self):
        ready = os.path.abspath(f"simulation-{next(Simulation.numbers)}")
        self.errors = open(ready + ".err", "wb+")
        script = f"env -0 >'{ready}.part' && mv '{ready}.part' '{ready}' && read -r line"
        self.process = subprocess.Popen([IBWIRE_SIM, "run", "--timeout", "800", *self.options, "--", "sh", "-c", script],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.errors,
                                        env={**os.environ, **self.extra})
        # The timeout of ibwire-sim is for a machine that is not busy.
        wait_for(lambda: os.path.exists(ready) or self.process.poll() is not None, 900)
        if not os.path.exists(ready):
            self.__exit__(None, None, None)
            raise RuntimeError(f"ibwire-sim run {' '.join(self.options)} did not come up:\n{self.said}")
        with open(ready, "rb") as file:
            pairs = [pair.split(b"=", 1) for pair in file.read().split(b"\0") if b"=" in pair]
        self.env = {os.fsdecode(name): os.fsdecode(value) for name, value in pairs}
        self.env["IBWIRE_DB"] = ready + ".db"
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.process.terminate()
                self.process.wait(120)
        self.errors.seek(0)
        self.said = self.errors.read().decode("utf-8", "replace")
        self.errors.close()
        # What a simulation that ended too early had to say explains the failure that it made.
        if exception[0] and self.said:
            sys.stderr.write(self.said)
        return False

    def run(self, *command, **options):
        return run(*command, env=self.env, **options)

    def start(self, *command, **options):
        """Start a program in the background; the caller ends it."""
        options = {"stdin": subprocess.DEVNULL, "env": self.env, **options}
        return subprocess.Popen([str(word) for word in command], **options)

    def ibwire(self, *arguments, **options):
        return self.run(IBWIRE, *arguments, **options)

    def json(self, *arguments, **options):
        return json.loads(self.ibwire(*arguments, "--format", "json", **options).out)

    def newest(self):
        """Number of the newest sweep; 0: none."""
        return self.json("sql", "SELECT coalesce(max(id), 0) AS id FROM sweep")[0]["id"]

    def events(self, kind):
        return [row for row in self.json("events") if row["kind"] == kind]

    def guid(self, name):
        """The GUID of a node by its full or short name."""
        return next(row["node_guid"] for row in self.json("nodes") if f";{name}:" in row["node"] or row["node"] == name)

    def traffic(self, *arguments):
        """ibwire-sim traffic pause|resume|truth"""
        return self.run(IBWIRE_SIM, "traffic", *arguments).out

    def truth(self):
        """The traffic sent so far, by (node GUID, port). It must be paused, and --truth must be truth.csv here."""
        self.traffic("truth")
        with open("truth.csv", encoding="ascii", newline="") as file:
            return {(row["node_guid"], int(row["port"])): {name: int(row[name]) for name in row
                                                           if name not in ("node_guid", "port")}
                    for row in csv.DictReader(file)}


def stop(process, number=signal.SIGTERM, seconds=120):
    """End a program started with start(). Return its status."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def need(*programs):
    """Skip the whole test where one of these programs is missing."""
    for program in programs:
        if not shutil.which(program):
            skip_all(f"{program} is not installed")


@functools.cache
def can_mount(folder="."):
    """Can this process mount over this folder in a mount namespace of its own? Root in a container often cannot."""
    return os.geteuid() == 0 and run("unshare", "--mount", "mount", "-t", "tmpfs", "none", folder, check=False).status == 0


@functools.cache
def can_open_terminal():
    """Can this process open a pseudo terminal? A chroot often has no /dev/pts."""
    try:
        ends = pty.openpty()
    except OSError:
        return False
    for end in ends:
        os.close(end)
    return True


# Reasons of skips.
NO_MOUNT = "no permission to mount a file system"
NO_TERMINAL = "no pseudo terminals (is /dev/pts mounted?)"


def need_terminal():
    """For a part of a test: Tap.part() skips the rest of it without pseudo terminals."""
    if not can_open_terminal():
        raise Unavailable(NO_TERMINAL)


@functools.cache
def as_other_user():
    """The beginning of a command that runs as user 65534, as a tuple: empty unless root runs the tests."""
    if os.geteuid():
        return ()
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if not shutil.which("setpriv") or run(*prefix, "true", check=False).status:
        raise Unavailable("no permission to become another user")
    return prefix
