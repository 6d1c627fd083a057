#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: a database with as many jobs as an attacker can begin
"""Many jobs in a database: end of an unknown job, lists, page and metrics stay fast, small and short. IBWIRE_ATTACK_LONG=1: a million."""
import os
import sqlite3
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, run
from mutation import CPU_S, MEMORY_MB, limited

tap = Tap()
JOBS = 1000000 if os.environ.get("IBWIRE_ATTACK_LONG") else 20000
COMMANDS = (["job", "end", "unknown", "--no-snapshot"], ["job", "list"], ["job", "list", "--format", "json"], ["job", "compare", "j1", "j2"],
            ["job", "begin", "new", "--no-snapshot", "--hosts", "node0001"], ["job", "end", "new", "--no-snapshot"], ["status", "--html=-"],
            ["status"], ["metrics", "--once"], ["job", "report", "j1"])
DB = os.path.abspath("jobs.db")
os.environ["IBWIRE_DB"] = DB
run(os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db", DB, 2, 3, 10)
run(IBWIRE, "job", "begin", "j0", "--no-snapshot", "--hosts", "node0001")
run(IBWIRE, "job", "end", "j0", "--no-snapshot")
db = sqlite3.connect(DB)
names = [row[1] for row in db.execute("PRAGMA table_info(job)")]
key = names[0]
copied = ", ".join("'j' || n.value" if name == "id" else f"{name} - (n.value % 100000) * 1000000" if name in ("begin_us", "end_us")
                   else name for name in names if name != key)
db.execute(f"WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < {JOBS}) "
           f"INSERT INTO job ({', '.join(name for name in names if name != key)}) SELECT {copied} FROM job, n WHERE job.id = 'j0'")
db.commit()
tap.equal("jobs in the database", db.execute("SELECT count(*) FROM job").fetchone()[0], JOBS + 1)
db.close()
cpu_s, memory_kb, output = 0, 0, 0
for command in COMMANDS:
    done = limited(IBWIRE, *command, timeout=120)
    tap.equal(f"{' '.join(command)}: time, memory, characters, exit status", done.problems((0, 64, 69)), [])
    tap.result(len(done.out) < 2 << 20, f"{' '.join(command)}: output of at most 2 MB", len(done.out))
    cpu_s, memory_kb, output = max(cpu_s, done.cpu_s), max(memory_kb, done.memory_kb), max(output, len(done.out))
tap.note(f"{JOBS} jobs: at most {cpu_s:.2f} s of CPU time, {memory_kb >> 10} MB, {output >> 10} KB of output")
tap.reliability("Jobs that an attacker began", f"{JOBS} jobs", f"{len(COMMANDS)} commands: {CPU_S} s of CPU time, {MEMORY_MB} MB, 2 MB of output; "
                f"at most {cpu_s:.2f} s, {memory_kb >> 10} MB and {output >> 10} KB were used")
tap.done()
