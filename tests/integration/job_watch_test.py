#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""ibwire job watch: findings about one job only, its phases and its end, on a database that this test writes to."""
import json
import os
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, Unavailable, as_other_user, run, wait_for

tap = Tap()
END = 1790000000  # of the newest sweep
WALL = END * 1000000
RUNS, STALLED = 1, 2
PERIODIC = 3


class World:
    """A database with job 17 (number 1), which runs on all hosts."""

    def __init__(self, name):
        self.db = os.path.abspath(name + ".db")
        run(os.environ["IBWIRE_BUILD"] + "/tests/screen/faces_db", self.db, "healthy", END)
        self.execute("UPDATE job SET end_us = NULL, end_boot_us = NULL, end_boot_id = NULL, end_sweep = NULL,"
                     " ending = 0, exit_status = NULL")
        self.execute("DELETE FROM job_rhythm")

    def execute(self, sql, *values):
        with sqlite3.connect(self.db, timeout=10) as db:
            db.execute(sql, values)
        db.close()

    def minute(self, at_s, phase, period=4.2):
        self.execute("INSERT INTO job_rhythm (job, wall_us, kind, period_s, periods, wire_share, phase, since_us)"
                     " VALUES (1, ?, ?, ?, 9, 0.31, ?, ?)", WALL + at_s * 1000000, PERIODIC, period, phase,
                     WALL + (at_s - 2) * 1000000 if phase == STALLED else None)

    def finding(self, kind, tag=0, number=None, sweep=None):
        """An open finding about the fabric, or about a job."""
        sweep = sweep or "(SELECT max(id) FROM sweep)"
        evidence = json.dumps({"job_number": number} if number else {})
        self.execute(f"INSERT INTO finding (kind, port, peer_port, tag, since_us, opened_us, opened_sweep, last_seen_us)"
                     f" VALUES (?, 0, 0, ?, ?, ?, {sweep}, ?)", kind, tag, WALL, WALL, WALL)
        self.execute(f"INSERT INTO finding_state (finding, from_sweep, wall_us, severity, subject, cause, text, advice,"
                     f" evidence, hosts, affected_hosts, ports) VALUES ((SELECT max(id) FROM finding), {sweep}, ?, 2, ?,"
                     f" 'host', 'text of {kind} {number}', 'advice', ?, '[]', 0, '[]')", WALL, f"job {number}", evidence)

    def sweep(self):
        """One more sweep, without samples."""
        with sqlite3.connect(self.db, timeout=10) as db:
            db.execute("CREATE TEMP TABLE one AS SELECT * FROM sweep ORDER BY id DESC LIMIT 1")
            db.execute("UPDATE one SET id = id + 1, wall_us = wall_us + 10000000, start_us = start_us + 10000000,"
                       " end_us = end_us + 10000000")
            db.execute("INSERT INTO sweep SELECT * FROM one")
        db.close()

    def watch(self, *words):
        return Watch(self.db, *words)


class Watch:
    def __init__(self, db, *words, prefix=()):
        self.out = open(db + ".out", "w+")
        self.process = subprocess.Popen([*prefix, IBWIRE, "job", "watch", "17", "--db", db, *words], stdout=self.out,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC"})

    def text(self):
        self.out.flush()
        with open(self.out.name) as file:
            return file.read()

    def has(self, text, seconds=20):
        return wait_for(lambda: text in self.text(), seconds)

    def status(self, seconds=20):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def end(world, status):
    run(IBWIRE, "job", "end", "17", "--db", world.db, "--no-snapshot", "--status", status)


def phases():
    world = World("phases")
    world.finding("job-stalled", 1, 1)
    world.finding("job-stalled", 2, 2)
    world.finding("sm-lost")
    watch = world.watch()
    tap.result(watch.has("phase    learning job 17  unknown"), "a job without a rhythm is unknown", watch.text())
    world.minute(0, RUNS)
    tap.result(watch.has("phase    runs     job 17  iteration 4.2 s, 31 % of it on the wire\n"),
               "a phase is printed with the rhythm", watch.text())
    world.minute(60, RUNS, 4.3)
    world.minute(65, STALLED)
    tap.result(watch.has("phase    stalled  job 17  stalled since 2026-09-21 14:14:23 UTC"), "a stall is a phase",
               watch.text())
    end(world, 0)
    tap.equal("the watch ends with the job", watch.status(), 0)
    text = watch.text()
    tap.result(text.rstrip().splitlines()[-1].find("end      ended    job 17  exit status 0 after") > 0,
               "the end is the last line", text)
    tap.equal("a minute with the same phase is no line", text.count("iteration 4.3"), 0)
    tap.equal("only findings about this job", [word in text for word in ("job-stalled 1", "job-stalled 2", "sm-lost")],
              [True, False, False])


def statuses():
    world = World("statuses")
    watch = world.watch()
    watch.has("phase")
    watch.process.send_signal(signal.SIGTERM)
    tap.equal("an interrupted watch has exit status 2", watch.status(), 2)
    end(world, 3)
    tap.equal("that of a job that failed has 1, also afterwards", world.watch().status(), 1)
    world = World("removed")
    watch = world.watch()
    watch.has("phase")
    run(IBWIRE, "job", "remove", "17", "--db", world.db)
    tap.equal("that of a job that was removed has 1", watch.status(), 1)
    tap.result("the job was removed" in watch.text(), "which is said", watch.text())


def changes():
    world = World("changes")
    watch = world.watch("--format", "json", "--exec", "cat >> " + world.db + ".exec")
    watch.has('"change": "phase"')
    world.finding("job-slower", 1, 1, "(SELECT max(id) + 1 FROM sweep)")
    world.finding("job-slower", 2, 7, "(SELECT max(id) + 1 FROM sweep)")
    world.sweep()
    tap.result(watch.has('"change": "opened"'), "a finding that opens is a line", watch.text())
    end(world, 0)
    tap.equal("the watch ends", watch.status(), 0)
    rows = [json.loads(line) for line in watch.text().splitlines()]
    tap.equal("lines of JSON", [(row["change"], row["kind"], row["subject"]) for row in rows],
              [("phase", None, "job 17"), ("opened", "job-slower", "job 1"), ("end", None, "job 17")])
    with open(world.db + ".exec") as file:
        delivered = [json.loads(line) for line in file]
    tap.equal("the command gets the finding of this job", [(row["change"], row["text"]) for row in delivered],
              [("opened", "text of job-slower 1")])


def reader():
    """The owner of a job may only read the database, while a collector has it open."""
    world = World("reader")
    os.chmod(world.db, 0o644)
    os.chmod(".", 0o755)
    drop = as_other_user()
    if run(*drop, "test", "-x", IBWIRE, "-a", "-r", world.db, check=False).status:
        raise Unavailable("another user cannot read the folder of this test")
    held = sqlite3.connect(world.db)
    held.execute("SELECT count(*) FROM sweep").fetchall()
    watch = Watch(world.db, prefix=drop)
    tap.result(watch.has("phase"), "a reader watches", watch.text())
    held.close()
    end(world, 0)
    tap.equal("until the job ends", watch.status(), 0)


def hosts():
    """Findings on links: those of a job of one host, on which there is none, and of all hosts."""
    texts = []
    for number, name in enumerate(("node0003", "node0005")):
        db = os.path.abspath(f"hosts{number}.db")
        run(os.environ["IBWIRE_BUILD"] + "/tests/screen/faces_db", db, "fault", END)
        with sqlite3.connect(db) as file:
            file.execute("UPDATE job SET hosts = ?", (name,))
        file.close()
        watch = Watch(db)
        watch.status()
        texts.append(watch.text())
    tap.result("node0005" not in texts[0] and "end " in texts[0], "findings on links of other hosts are not printed", texts[0])
    tap.result("node0005 mlx5_0/1 - leaf02/3  link-down" in texts[1], "those of its hosts are", texts[1])


tap.result(run(IBWIRE, "job", "watch", "1", "--db", "none.db", check=False).status == 69, "without a database: 69")
for part in (phases, statuses, changes, reader, hosts):
    with tap.part(part.__name__):
        part()
tap.done()
