#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: failed writes at any moment
# timeout: 1200
# waits: for sweeps
"""A disk that cannot be written for some time: full, over quota, EIO, permission denied, read-only; with SIGKILL.

The database is on a small file system of its own. During a failure the collector prints one line, keeps polling, its
memory is bounded, and readers work. Afterwards it continues without a restart, missing sweeps are marked by an event,
and no traffic is lost: the sums of all ports are what the traffic driver sent.
"""
import contextlib
import os
import random
import resource
import sqlite3
import sys
import threading
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, NO_MOUNT, SHORT, Simulation, Tap, can_mount, need, read_file, run, skip_all, stop, wait_for
from stored import Stored

INTERVAL_S = 0.2 if SHORT else 0.1  # sanitizers are slow
FAILURE_S = (10 if SHORT else 25) * INTERVAL_S
DISK_BYTES = 24 << 20
GROWTH_KB = 65536 if SHORT else 4096  # in one failure
# Sanitizers hold back what was freed: no more than this.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16"
KILLS = 2 if SHORT else 6
RANDOM = random.Random(1)
WINDOW_SWEEPS = 120  # the compaction's, at this interval

need("ibsim", "opensm", "perfquery")
if not can_mount():
    skip_all(NO_MOUNT)
# A file system is unmounted only when no other mount namespace has a copy of the mount.
if "IBWIRE_TEST_MOUNTS" not in os.environ:
    os.environ["IBWIRE_TEST_MOUNTS"] = "private"
    os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
tap = Tap()


@contextlib.contextmanager
def mounted(folder, *how):
    """A mounted file system as a context; None without the permission to mount."""
    os.makedirs(folder, exist_ok=True)
    done = run("mount", *how, folder, check=False)
    try:
        yield None if done.status else folder
    finally:
        if not done.status:
            wait_for(lambda: run("umount", folder, check=False).status == 0, 10, 0.2)


class Collector:
    """A collector with the simulation's database; its stderr goes to a file on another file system."""

    number = 0

    def __init__(self, sim, interval_s=INTERVAL_S, *options):
        Collector.number += 1
        self.reported = 0
        self.lost_events = 0  # error lines whose event was stored with a sweep that was lost
        self.sim, self.log = sim, os.path.abspath(f"collector-{Collector.number}.err")
        with open(self.log, "wb") as file:
            self.process = sim.start(IBWIRE, "collect", "--interval", f"{int(interval_s * 1000)}ms",
                                     *options, stderr=file)

    def output(self):
        return read_file(self.log)

    def error_lines(self):
        """The stderr of the current failure only."""
        return [line for line in self.output().splitlines() if "polling continues" in line][self.reported:]

    def memory_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))

    def kill(self):
        self.process.kill()
        self.process.wait()


def newest(sim):
    """The newest stored sweep, read with SQLite."""
    with contextlib.suppress(sqlite3.Error), \
            contextlib.closing(sqlite3.connect(f"file:{sim.env['IBWIRE_DB']}?mode=ro", uri=True)) as db:
        return db.execute("SELECT max(id) FROM sweep").fetchone()[0] or 0
    return 0


def comes_to(sim, sweep, seconds=60):
    return wait_for(lambda: newest(sim) >= sweep, seconds, 0.1)


def datagrams(sim, seconds):
    """Packets sent by the collector's port within a number of seconds without traffic: MADs."""
    def count():
        out = sim.run("perfquery", "-x").out
        return next(int(line.rsplit(".", 1)[1]) for line in out.splitlines() if line.startswith("PortXmitPkts:"))

    sim.traffic("pause")
    before = count()
    time.sleep(seconds)
    after = count()
    sim.traffic("resume")
    return after - before


def failures(sim):
    return sim.json("sql", "SELECT id, sweep, text FROM event WHERE kind = 'store-failed' ORDER BY id")


def check_during_failure(name, sim, collector, words):
    """Checks during a failure."""
    tap.result(wait_for(collector.error_lines), f"{name}: the collector reports it", collector.output())
    last_stored, began_kb = newest(sim), collector.memory_kb()
    packets = datagrams(sim, FAILURE_S / 2)
    tap.result(packets > 100, f"{name}: polling continues", f"{packets} packets")
    time.sleep(FAILURE_S / 2)
    lines = collector.error_lines()
    tap.result(len(lines) == 1 and words in lines[0] and sim.env["IBWIRE_DB"] in lines[0],
               f"{name}: once, with the file and the reason", collector.output())
    tap.equal(f"{name}: no partial sweep is stored", newest(sim), last_stored)
    grown = collector.memory_kb() - began_kb
    tap.result(grown < GROWTH_KB, f"{name}: it does not grow", f"by {grown} KB")
    status = sim.ibwire("status", "--format", "json", check=False)
    tap.result(status.status == 0 and '"stalled"' in status.out, f"{name}: status shows that it is stalled", status)
    ports = sim.ibwire("ports", "--format", "json", check=False)
    tap.result(ports.status == 0 and not ports.err, f"{name}: readers work", ports)
    return last_stored


def check_after_failure(name, sim, collector, last_stored):
    """The same collector process stores sweeps again."""
    tap.result(comes_to(sim, last_stored + 5), f"{name}: storing resumes without a restart",
               f"sweep {newest(sim)} behind {last_stored}\n{collector.output()}")
    tap.equal(f"{name}: the same collector runs", collector.process.poll(), None)
    collector.reported += 1
    tap.equal(f"{name}: one line on stderr afterwards",
              collector.output().count("sweeps are stored again"), collector.reported)
    rows = failures(sim)
    tap.result([row["sweep"] for row in rows].count(last_stored + 1) == 1 and
               len(rows) == collector.reported - collector.lost_events,
               f"{name}: one event stands where sweeps are missing", f"behind sweep {last_stored}: {rows}")
    # On a busy machine, the first sweep does not read all ports.
    spans = sim.json("sql", "SELECT min(elapsed_us) AS least FROM (SELECT port, min(sweep), elapsed_us FROM delta"
                     f" WHERE sweep > {last_stored} GROUP BY port)")
    tap.result((spans[0]["least"] or 0) >= FAILURE_S * 1e6, f"{name}: the next delta covers the gap", spans)


def whole(name, sim, before, after):
    """Check the stored deltas, and the file with integrity_check."""
    with contextlib.closing(sqlite3.connect(f"file:{sim.env['IBWIRE_DB']}?mode=ro", uri=True)) as db:
        tap.equal(f"{name}: integrity_check", db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
    stored = Stored(sim.env["IBWIRE_DB"])
    stored.check_sums()
    stored.check_truth(before, after, set())
    tap.result(not stored.faults and stored.numbers["checked"] > 500, f"{name}: first + sum of deltas = last, and as sent",
               "\n".join(stored.faults[:20]) or stored.numbers)
    tap.equal(f"{name}: no reset", stored.numbers["resets"], 0)
    stored.db.close()
    tap.note(f"{name}: {stored.numbers}; {sim.json('sql', 'SELECT state, count(*) AS n FROM chunk_window GROUP BY 1')}")


def fill(folder):
    """Create a file that fills the file system. Return its name."""
    path, block = os.path.join(folder, "filler"), b"\0" * 4096
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(block)
    return path


@contextlib.contextmanager
def traffic_on(folder):
    """A simulation with traffic and its database in a folder, and the traffic sent before its first sweep."""
    with Simulation("--gen", "rail --hosts 4", "--traffic", "ring rate=150Gb/s", "--truth",
                    os.path.abspath("truth.csv")) as sim:
        sim.env["IBWIRE_DB"] = os.path.join(folder, "fabric.db")
        sim.traffic("pause")
        before = sim.truth()
        sim.ibwire("collect", "--once")
        sim.traffic("resume")
        yield sim, before


def end(name, sim, before):
    """Store one more sweep, which includes all traffic."""
    sim.traffic("pause")
    sim.ibwire("collect", "--once")
    whole(name, sim, before, sim.truth())


@contextlib.contextmanager
def filled(folder):
    """A full disk, as a context."""
    filler = fill(folder)
    try:
        yield
    finally:
        os.remove(filler)


@contextlib.contextmanager
def dropped(outer, sim):
    """Flushes fail, and the kernel drops the data: a page whose writeback failed is marked clean."""
    ended = threading.Event()

    def drop():
        while not ended.wait(0.02):
            for suffix in ("", "-wal", "-shm"):
                with open(sim.env["IBWIRE_DB"] + suffix, "rb") as file, contextlib.suppress(OSError):
                    try:
                        os.fsync(file.fileno())
                    finally:
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    thread = threading.Thread(target=drop)
    with filled(outer):
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@contextlib.contextmanager
def no_file_grows(collector):
    """Same as a quota, with another message."""
    before = resource.prlimit(collector.process.pid, resource.RLIMIT_FSIZE, (32768, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(collector.process.pid, resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def refused(sim):
    """Writes fail, also to open files."""
    files = [sim.env["IBWIRE_DB"], sim.env["IBWIRE_DB"] + "-wal"]
    run("chattr", "+i", *files)
    try:
        yield
    finally:
        run("chattr", "-i", *files)


def lasts(name, sim, collector, trouble, words):
    """A failure that begins and ends while the collector runs."""
    with trouble:
        last_stored = check_during_failure(name, sim, collector, words)
    check_after_failure(name, sim, collector, last_stored)


def loses_pages(sim, collector, outer):
    """Some sweeps may be stored during the failure, in blocks that are already allocated."""
    name = "lost pages"
    with dropped(outer, sim):
        tap.result(wait_for(collector.error_lines), f"{name}: the collector reports it", collector.output())
        until, responses = time.monotonic() + FAILURE_S, []
        while time.monotonic() < until:
            responses += [sim.ibwire(command, check=False) for command in ("status", "ports", "events")]
        # Pages that were flushed before may be gone too: then a reader reports it.
        bad = [done for done in responses if done.status not in (0, 74) or len(done.err.splitlines()) > 1]
        tap.result(not bad, f"{name}: readers work, or report why not in one line, {len(responses)} times",
                   "\n".join(map(str, bad[:3])))
    wait_for(lambda: collector.output().count("stored again") == collector.output().count("polling continues"))
    last_stored = newest(sim)
    tap.result(last_stored and comes_to(sim, last_stored + 5), f"{name}: storing resumes without a restart",
               f"sweep {newest(sim)} behind {last_stored}\n{collector.output()}")
    tap.equal(f"{name}: the same collector runs", collector.process.poll(), None)
    collector.reported += len(collector.error_lines())
    collector.lost_events = collector.reported - len(failures(sim))
    tap.equal(f"{name}: no damage is reported", sim.ibwire("ports", check=False).err, "")


def killed(sim, folder):
    """SIGKILL before, during and after the disk becomes full; the next collector starts on a full disk."""
    for _ in range(KILLS):
        collector = Collector(sim)
        comes_to(sim, newest(sim) + 2)
        with filled(folder):
            time.sleep(RANDOM.random() * 15 * INTERVAL_S)
            collector.kill()
            last_stored = newest(sim)
            again = sim.ibwire("collect", "--once", check=False)
            tap.result(again.status in (0, 74) and len(again.err.splitlines()) == (again.status == 74),
                       "killed: on the full disk a single sweep is stored, or one line names the reason", again)
            tap.result(newest(sim) >= last_stored, "killed: stored sweeps are kept", f"{newest(sim)} of {last_stored}")
    last_stored = newest(sim)
    collector = Collector(sim)
    tap.result(comes_to(sim, last_stored + 5), "killed: another collector stores sweeps", collector.output())
    tap.equal("killed: exit status 0", stop(collector.process), 0)


def stays_full(sim, folder):
    """collect --count N on a disk that stays full."""
    last_stored, count = newest(sim), 40
    collector = Collector(sim, INTERVAL_S, "--count", str(count))
    comes_to(sim, last_stored + 3)
    with filled(folder):
        wait_for(lambda: collector.process.poll() is not None, 120)
        stored = newest(sim) - last_stored
        last = collector.output().splitlines()[-1]
        tap.equal("stays full: exit status 74", collector.process.poll(), 74)
        tap.result(f"{stored} of {count} sweeps stored" in last and "no space left" in last and 3 <= stored < count,
                   "stays full: the last line has the number of stored sweeps and the reason",
                   f"{stored}: {collector.output()}")
    short = sim.ibwire("collect", "--count", "2", "--interval", "200ms", check=False)
    tap.result(short.status == 0 and "sweeps stored" not in short.err, "stays full: no such line if all sweeps are stored",
               short)


def one_page_a_request(folder):
    """A loop device reports a request as complete even if only its first pages found room (Linux 6.18, file on tmpfs):
    the disk would lose data after a flush that succeeded."""
    device = os.path.basename(run("findmnt", "-n", "-o", "SOURCE", folder).out.strip())
    with open(f"/sys/block/{device}/queue/max_sectors_kb", "w", encoding="ascii") as file:
        file.write("4")


def disk_fails(outer):
    """A function that makes the kernel remount the file system read-only after an error; None without debugfs."""
    device = os.path.basename(run("findmnt", "-n", "-o", "SOURCE", outer).out.strip())
    path = f"/sys/fs/ext4/{device}/trigger_fs_error"
    return path if os.access(path, os.W_OK) else None


def read_only(sim, collector, folder, image):
    """The file system becomes read-only. It is mounted again for another collector."""
    with open(disk_fails(folder), "w", encoding="ascii") as file:
        file.write("1")
    check_during_failure("read-only", sim, collector, "ead-only")
    tap.equal("read-only: exit status 0", stop(collector.process), 0)
    again = sim.ibwire("collect", "--once", check=False)
    tap.result(again.status == 74 and len(again.err.splitlines()) == 1,
               "read-only: another one is refused in one line", again)
    ports = sim.ibwire("ports", check=False)
    tap.result(ports.status == 0, "read-only: readers work without a collector", ports)
    last_stored = newest(sim)
    run("umount", folder)
    run("mount", "-o", "loop,errors=remount-ro", image, folder)
    another = Collector(sim)
    tap.result(comes_to(sim, last_stored + 5), "read-only: another collector stores sweeps once mounted again",
               another.output())
    tap.equal("read-only: exit status 0 of another one", stop(another.process), 0)


def on_a_disk(folder, outer, image):
    with traffic_on(folder) as (sim, before):
        collector = Collector(sim)
        try:
            comes_to(sim, 10)
            # What SQLite writes gets no further than the page cache: it is the flush that fails.
            lasts("failing flushes", sim, collector, filled(outer), "a flush to disk failed")
            loses_pages(sim, collector, outer)
            lasts("refused", sim, collector, refused(sim), "not permitted")
            if disk_fails(folder):
                run("mount", "-o", "remount,errors=remount-ro", folder)
                read_only(sim, collector, folder, image)
            else:
                tap.skip("read-only", "this kernel has no trigger_fs_error")
        finally:
            collector.kill()
            tap.comment(collector.output())
        end("disk", sim, before)


def index_is_late(folder, read_only):
    """The collector has not made the index of the log yet, on a file system that is read-only for a reader."""
    path = folder + "/fabric.db"
    run(os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db", path, 2, 12, 600)
    run("mount", "-o", "remount,bind,ro", read_only)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE sweep SET id = id")
        db.commit()
        run("cp", path + "-shm", "index")
        run("dd", "if=/dev/zero", f"of={path}-shm", "bs=96", "count=1", "conv=notrunc")
        # Not by this process: to close the file would end its locks.
        late = threading.Timer(2, run, ("dd", "if=index", f"of={path}-shm", "bs=96", "count=1", "conv=notrunc"))
        late.start()
        tap.equal("a reader waits for the index of the log", run(IBWIRE, "status", "--db", read_only + "/fabric.db", check=False).err, "")
        late.join()


os.makedirs("writable")
with tap.part("a late index"), mounted("read-only", "--bind", "writable") as bound:
    if bound:
        index_is_late("writable", bound)
with tap.part("a full disk and a quota"), mounted("small", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none") as folder:
    if not folder:
        skip_all("no small file system can be mounted here")
    folder = os.path.abspath(folder)
    with traffic_on(folder) as (sim, before):
        # In the midst of it a window is full, and its chunks are to be made.
        early = Collector(sim, INTERVAL_S / 5)
        comes_to(sim, WINDOW_SWEEPS - 15)
        tap.equal("a collector before it exits with 0", stop(early.process), 0)
        collector = Collector(sim)
        try:
            comes_to(sim, newest(sim) + 5)
            lasts("full disk", sim, collector, filled(folder), "no space left")
            lasts("quota", sim, collector, no_file_grows(collector), "File too large")
            tap.equal("the collector exits with 0", stop(collector.process), 0)
        finally:
            collector.kill()
            tap.comment(collector.output())
        killed(sim, folder)
        stays_full(sim, folder)
        end("full disk", sim, before)

with tap.part("a disk that fails"), mounted("outer", "-t", "tmpfs", "-o", f"size={2 * DISK_BYTES}", "none") as outer:
    image = os.path.join(outer, "image")
    with open(image, "wb") as file:
        file.truncate(4 * DISK_BYTES)
    # Without a journal, which would end for good with the first write that fails.
    run("mkfs.ext4", "-q", "-b", "4096", "-O", "^has_journal", "-E", "lazy_itable_init=0", image)
    # A write of the kernel's own may fail as well; that must not end the file system for good.
    with mounted("disk", "-o", "loop,errors=continue", image) as folder:
        if folder:
            one_page_a_request(folder)
            on_a_disk(os.path.abspath(folder), outer, image)
        else:
            tap.skip("a disk that fails", "no file can be mounted as a disk here")
tap.done()
