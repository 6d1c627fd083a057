#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: while another user holds locks
"""Another user who may only read the database holds every lock that it can: polling continues, every reading is stored later and
exact, the locking process is reported, SIGTERM ends the collector. IBWIRE_ATTACK_LONG=1 for longer attacks."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, as_other_user, need, read_file, skip_all, stop, wait_for
from stored import Stored

need("ibsim", "opensm")
if os.geteuid():
    skip_all("only root can become another user")
tap = Tap()
LONG = bool(os.environ.get("IBWIRE_ATTACK_LONG"))
SECONDS = 30 if LONG else 3
INTERVAL_S = 0.5
# Each takes locks on the database d, then writes a line and waits.
ATTACKS = {
    "read transactions of 60 connections": """
kept = []
for number in range(60):
    db = sqlite3.connect(f"file:{d}?mode=ro", uri=True, isolation_level=None)
    db.execute("BEGIN"); db.execute("SELECT count(*) FROM sweep").fetchone(); kept.append(db)
    time.sleep(.02)
""",
    "POSIX read locks on all files": """
kept = [open(d + s, "rb") for s in ("", "-wal", "-shm")]
for file in kept: fcntl.lockf(file, fcntl.LOCK_SH)
""",
    "open file description locks on the -shm": """
kept = open(d + "-shm", "rb")
fcntl.fcntl(kept, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0))
""",
    "read locks on the bytes of SQLite": """
kept = [open(d, "rb"), open(d + "-shm", "rb")]
fcntl.lockf(kept[0], fcntl.LOCK_SH, 512, 0x40000000); fcntl.lockf(kept[1], fcntl.LOCK_SH, 8, 120)
""",
    "exclusive flock() on all files": """
kept = [open(d + s, "rb") for s in ("", "-wal", "-shm")]
for file in kept: fcntl.flock(file, fcntl.LOCK_EX)
""",
    "locks that are taken and released without pause": """
kept = open(d + "-shm", "rb")
sys.stdout.write("locked\\n"); sys.stdout.flush()
while True: fcntl.lockf(kept, fcntl.LOCK_SH); fcntl.lockf(kept, fcntl.LOCK_UN)
""",
    "leases and mappings of all files": """
kept = [open(d + s, "rb") for s in ("", "-wal", "-shm")]
maps = [mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) for f in kept if os.fstat(f.fileno()).st_size]
for file in kept:
    try: fcntl.fcntl(file, 1024, fcntl.F_RDLCK)
    except OSError: pass
""",
    "every file of the folder, opened 900 times": """
kept = []
for number in range(300): kept += [open(d + s, "rb") for s in ("", "-wal", "-shm")]
""",
}
if not LONG:
    ATTACKS = {name: ATTACKS[name] for name in list(ATTACKS)[:3]}
BEGIN = "import fcntl, mmap, os, sqlite3, struct, sys, time\nd = sys.argv[1]\n"
END = "\nsys.stdout.write('locked\\n'); sys.stdout.flush()\ntime.sleep(3600)\n"


class Attack:
    """A process of another user that holds locks."""

    def __init__(self, sim, code):
        self.process = subprocess.Popen([*as_other_user(), sys.executable, "-c", BEGIN + code + END, sim.env["IBWIRE_DB"]],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.locked = self.process.stdout.readline() == b"locked\n"

    def end(self):
        self.process.kill()
        return self.process.communicate()[1].decode()


def collect(sim):
    return sim.start(IBWIRE, "collect", "--interval", f"{INTERVAL_S}s", stderr=open("collector", "ab"), start_new_session=True)


def hold(sim, name, code):
    """Locks for a while. Polling continues: the process uses CPU time; each interval without a sweep has an event (at the end)."""
    before = sim.newest()
    attack = Attack(sim, code)
    tap.result(attack.locked, f"{name}: the locks are held", "" if attack.locked else attack.end())
    time.sleep(SECONDS)
    status = sim.ibwire("status", check=False)
    tap.result(status.status in (0, 1, 2), f"{name}: another reader gets the status", status)
    # The kernel has no process for an open file description lock.
    blocked = re.search(rf"process {attack.process.pid}\b.*lock|lock.* process {attack.process.pid}\b|another process locks the database",
                        status.out + read_file("collector"))
    during = sim.newest() - before
    attack.end()
    newest, begin = sim.newest(), time.monotonic()
    tap.result(wait_for(lambda: sim.newest() > newest + 1), f"{name}: sweeps are stored after it", read_file("collector")[-500:])
    tap.result(during > 0 or blocked, f"{name}: sweeps are stored, or the process is reported", (during, status.out))
    tap.note(f"{name}: {during} sweeps stored in {SECONDS} s{', the process is reported' if blocked else ''}; next ones "
             f"{time.monotonic() - begin:.1f} s after it")


def ends(sim, collector, code):
    logged = len(read_file("collector"))
    attack = Attack(sim, code)
    time.sleep(2)
    begin = time.monotonic()
    status = stop(collector, seconds=60)
    tap.result(status in (0, 69), "SIGTERM ends the collector while locks are held", f"{status}: {read_file('collector')[-1500:]}")
    took = time.monotonic() - begin
    tap.contains("the reason is logged", read_file("collector")[logged:], "locked by process")
    tap.result(took < 45, "within 45 seconds", took)
    attack.end()
    return took


with tap.part("locks"), Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2", "--traffic", "ring", "--truth", "truth.csv") as sim:
    os.chmod(".", 0o755)
    collector = collect(sim)
    wait_for(lambda: os.path.exists(sim.env["IBWIRE_DB"]) and sim.newest() > 3)
    for name, code in ATTACKS.items():
        hold(sim, name, code)
    took = ends(sim, collector, ATTACKS["POSIX read locks on all files"])
    collector = collect(sim)
    newest = sim.newest()
    tap.result(wait_for(lambda: sim.newest() > newest + 2), "the next collector continues", read_file("collector")[-500:])
    stop(collector)
    tap.contains("db check", sim.ibwire("db", "check", check=False).out, "no damage found")
    stored = Stored(sim.env["IBWIRE_DB"])
    stored.check_sums()
    tap.equal("deltas add up to the readings; every port is read or its gap is stored", stored.faults, [])
    tap.result(stored.numbers["checked"] > 100, "readings were compared", stored.numbers)
    tap.reliability("Read locks of another user", f"{len(ATTACKS)} kinds of locks",
                    f"{SECONDS} s each: polling continues, {stored.numbers['deltas']} deltas are stored and exact, the process is reported; "
                    f"SIGTERM ended the collector in {took:.1f} s")
tap.done()
