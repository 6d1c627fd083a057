#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""ibwire job import stores what the accounting of Slurm has of jobs, once; and the hooks of a slurmctld on another host reach
the collector's host by ssh, with a key that can do nothing else.

The model is the list of runs from which the lines of sacct are written. sshd runs if it is installed, in a mount namespace
in which /var/lib is another folder.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SRCDIR, Tap, can_mount, run, stop, wait_for

tap = Tap()
NOW = int(time.time())
COLUMNS = "JobID,JobIDRaw,Cluster,User,Account,Partition,State,Start,End,ExitCode,NodeList,JobName"
ENV = {**os.environ, "TZ": "Europe/Berlin"}


def fed(given, *command, **options):
    """As run(), with a text on standard input."""
    with open("given", "w+", encoding="utf-8") as file:
        file.write(given)
        file.seek(0)
        return run(*command, stdin=file, **options)


def job(*words, given="", check=True, path="jobs.db"):
    return fed(given, IBWIRE, "job", *words, "--db", path, env=ENV, check=check)


def rows(path="jobs.db"):
    return json.loads(job("list", "--format", "json", "--limit", "0", path=path).out)


def seconds(text):
    """Seconds since 1970 of a time of JSON."""
    return text and int(time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))) - time.timezone


def lines(*rows_of, header=COLUMNS):
    return "".join("|".join(str(cell) for cell in row) + "\n" for row in [header.split(","), *rows_of])


def imported(text, *options, path="jobs.db", check=True):
    """Import a text. Return: numbers of added, updated, unchanged, skipped and rejected lines; and what was run."""
    done = job("import", "-", "--format", "json", *options, given=text, check=check, path=path)
    return list(json.loads(done.out).values()) if done.out else None, done


def row(job_id="1", raw="1", cluster="alpha", state="COMPLETED", start=NOW - 100, end=NOW - 50, code="0:0", hosts="node[01-02]", name="train"):
    return job_id, raw, cluster, "alice", "physics", "gpu", state, start, end, code, hosts, name


def states():
    given = lines(row(), row("1.batch", hosts="node01"), row("1.0"), row("2", state="FAILED", code="3:0"),
                  row("3", state="CANCELLED by 1000", code="0:15"), row("4", state="TIMEOUT"), row("5", state="RUNNING", end="Unknown"),
                  row("6", state="SUSPENDED", end="Unknown"), row("7", state="PENDING", start="Unknown", end="Unknown", hosts="None assigned"),
                  row("8_3", "10"), row("11+1", "12"), row("13", cluster="beta", name="a|b \"c\""), row("1", cluster="beta"),
                  row("14", state="PREEMPTED", start=NOW - 400, end=NOW - 300), row("14", state="COMPLETED", start=NOW - 200),
                  row("15", state="CANCELLED", start="None", end=NOW, hosts="None assigned"),
                  row("16", start="2026-07-01T12:00:00", end="2026-07-01T12:00:10"))
    tap.equal("numbers of lines", imported(given)[0], [13, 0, 0, 4, 0])
    found = {(line["cluster"], line["id"], seconds(line["begin"])): line for line in rows()}
    keys = [("alpha", job_id, NOW - 100) for job_id in ("1", "2", "3", "4", "5", "6", "8_3", "12")]
    tap.equal("states and exit statuses", [(found[key]["ending"], found[key]["exit_status"]) for key in keys],
              [("ended", 0), ("ended", 3), ("ended", 143), ("ended", None), ("running", None), ("suspended", None), ("ended", 0), ("ended", 0)])
    first = found[keys[0]]
    tap.equal("what Slurm has of a job", [first[key] for key in ("user", "account", "partition", "hosts", "name", "duration_us", "ended_by")],
              ["alice", "physics", "gpu", "node[01-02]", "train", 50_000_000, None])
    tap.equal("an end", seconds(first["end"]), NOW - 50)
    tap.equal("a name with the separator", found["beta", "13", NOW - 100]["name"], "a|b \"c\"")
    tap.result(("beta", "1", NOW - 100) in found, "two clusters have one id")
    tap.equal("two runs of a job", sorted(key[2] for key in found if key[1] == "14"), [NOW - 400, NOW - 200])
    tap.equal("local time of TZ", [first["begin"] for key, first in found.items() if key[1] == "16"][0][:19], "2026-07-01T10:00:00")
    before = rows()
    tap.equal("a second import changes nothing", imported(given)[0], [0, 0, 13, 4, 0])
    tap.equal("the jobs are the same", [[line[key] for key in line if key not in ("duration_us", "suspended_us")] for line in rows()],
              [[line[key] for key in line if key not in ("duration_us", "suspended_us")] for line in before])
    tap.equal("a job that runs again, and one that has ended since", imported(lines(
        row("6", state="RUNNING", end="Unknown"), row("5", state="OUT_OF_MEMORY", code="0:125", end=NOW)))[0], [0, 2, 0, 0, 0])
    found = {line["id"]: line for line in rows()}
    tap.equal("their states", [(found[key]["ending"], found[key]["exit_status"]) for key in "65"], [("running", None), ("ended", 253)])
    tap.equal("an old output does not open a job again", imported(lines(row("5", state="RUNNING", end="Unknown")))[0], [0, 0, 1, 0, 0])


def catch_up():
    """Jobs that the hooks recorded in part."""
    job("begin", "20", "--cluster", "alpha", "--hosts", "node01", "--no-snapshot")
    job("begin", "21", "--hosts", "node01", "--no-snapshot")
    job("begin", "22", "--cluster", "alpha", "--hosts", "node01", "--no-snapshot")
    job("begin", "23", "--cluster", "alpha", "--exclusive", "--hosts", "node01", "--no-snapshot")
    job("end", "23", "--cluster", "alpha", "--no-snapshot")
    tap.equal("each recorded job is one of sacct", imported(lines(*(row(str(number), start=int(time.time()) - 2, end=int(time.time()) + 2, code="1:0",
                                                                    state="FAILED") for number in range(20, 24))))[0], [0, 4, 0, 0, 0])
    found = [line for line in rows() if line["id"] in ("20", "21", "22", "23")]
    tap.equal("they have ended with their status", [(line["ending"], line["exit_status"], line["cluster"], line["user"], line["ended_by"]) for line in found],
              [("ended", 1, "alpha", "alice", None)] * 4)
    tap.equal("hosts stay as recorded", {line["hosts"] for line in found}, {"node01"})
    tap.equal("another run of a job", imported(lines(row("20", start=NOW - 7200, end=NOW - 7000)))[0], [1, 0, 0, 0, 0])


def wrong():
    with open("sacct.txt", "w", encoding="utf-8") as file:
        file.write(lines(row("30"), row("31")[:5], row("32", start="yesterday"), row("33", end="Unknown"), row("34", end=NOW - 101), row("35", code="x"),
                         row("36", hosts="node[1-"), row("run-7"), row(129 * "3"), row("37", hosts="@/etc/passwd"), row("38")))
    done = job("import", "sacct.txt", "--format", "json", check=False)
    tap.equal("exit status, and numbers of lines", (done.status, list(json.loads(done.out).values())), (64, [2, 0, 0, 0, 9]))
    problems = ("fewer fields", "Start is not a time", "End is not a time", "End is before Start", "ExitCode is not", "not a list of hosts",
                "reserved", "1 to 128 bytes", "not a list of hosts")
    for number, problem in enumerate(problems, 3):
        tap.result(any(line.startswith(f"ibwire: warning: sacct.txt:{number}: ") and problem in line for line in done.err.splitlines()),
                   f"line {number}: {problem}", done.err)
    tap.contains("the end of the messages", done.err, "sacct.txt: 9 lines of 11 not imported")
    count = len(rows())
    for name, given, options, text in (
            ("nothing", "", (), "is empty"), ("no header", lines(row(), header="1,2,3"), (), "no column JobID"),
            ("no cluster", lines(header=COLUMNS.replace("Cluster,", "")), (), "give --cluster"),
            ("a column twice", lines(header=COLUMNS + ",User"), (), "User twice"), ("a NUL", lines(row()) + "\0" * 20, (), "NUL"),
            ("more fields", "JobID|Cluster|State|Start|End|NodeList\n1|a|COMPLETED|1|2|n|m\n", (), "1 line of 1")):
        tap.one_line(name, job("import", "-", *options, given=given, check=False), 64, text) if name != "more fields" else \
            tap.contains(name, job("import", "-", given=given, check=False).err, text)
    tap.one_line("no file", job("import", "nowhere", check=False), 74, "nowhere")
    tap.one_line("no argument", job("import", check=False), 64, "requires one file")
    tap.equal("nothing was stored", len(rows()), count)
    short = lines(row()[:2] + row()[3:], header=COLUMNS.replace("Cluster,", ""))
    tap.equal("--cluster is that of lines without", imported(short, "--cluster", "gamma", path="other.db")[0], [1, 0, 0, 0, 0])
    tap.equal("its job", [line["cluster"] for line in rows("other.db")], ["gamma"])


def any_order():
    """Parts of one accounting in any order and number are the same jobs."""
    source = random.Random(7)
    runs = []
    for number in range(150):
        start = NOW - 10**6 + source.randrange(10**5)
        for _ in range(source.randrange(1, 4)):
            length = source.randrange(1, 5000)
            runs.append((str(number), source.choice(("alpha", "beta")), start, start + length, source.randrange(256)))
            start += length + source.randrange(120, 1000)
    for path in "once.db", "parts.db":
        parts = [runs] if path == "once.db" else [source.sample(runs, len(runs) // 2) for _ in range(4)] + [runs]
        for part in parts:
            imported(lines(*(row(job_id, cluster=cluster, start=start, end=end, code=f"{code}:0") for job_id, cluster, start, end, code in part)), path=path)
        tap.equal(f"jobs of {path}", sorted((line["id"], line["cluster"], seconds(line["begin"]), seconds(line["end"]), line["exit_status"]) for line in rows(path)),
                 sorted(runs))


def ssh():
    """A prolog and an epilog on another host: a key of sshd with a forced command, as in docs/jobs.md."""
    if not can_mount() or os.geteuid() or not all(map(shutil.which, ("sshd", "ssh", "ssh-keygen"))):
        print("# skipped: no sshd, or no permission to start it")
        return
    folder = os.getcwd()
    os.makedirs("lib/ibwire")
    os.makedirs("/run/sshd", exist_ok=True)
    for name in "host", "key":
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name)
    with open("key.pub", encoding="ascii") as file, open("authorized", "w", encoding="ascii") as keys:
        keys.write(f'restrict,command="{IBWIRE} job hook ssh" {file.read()}')
    port = 20000 + os.getpid() % 10000
    with open("sshd.conf", "w", encoding="ascii") as file:
        file.write(f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nPidFile none\n"
                   "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin forced-commands-only\n")
    server = subprocess.Popen(["unshare", "--mount", "sh", "-c", f"mount --bind '{folder}/lib' /var/lib && exec {shutil.which('sshd')} -D -f sshd.conf"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = ("ssh", "-F", "none", "-p", port, "-i", f"{folder}/key", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
              f"UserKnownHostsFile={folder}/known", "-o", "LogLevel=ERROR", "root@127.0.0.1")
    path = "lib/ibwire/fabric.db"
    try:
        wait_for(lambda: run(*client, "true", check=False).status != 255)
        for command in ("true", "sh", "", f"{IBWIRE} job list", "ibwire job hook", "ibwire job hook begin --db x", "ibwire job hook begin; touch pwned",
                        "ibwire job hook ssh", "ibwire job list"):
            tap.equal(f"the key does not run '{command}'", fed("1\nnode01\nx\n", *client, command, check=False).status, 64)
        tap.result(not os.path.exists("pwned") and not os.path.exists(path), "nothing was executed or stored")
        with open("settings", "w", encoding="utf-8") as file:
            file.write(f"IBWIRE='{' '.join(map(str, client))} ibwire'\nIBWIRE_SCONTROL=no\nlogger() {{ echo \"$*\" >>{folder}/log; }}\n")
        given = {**os.environ, "IBWIRE_SLURM_CONFIG": f"{folder}/settings", "SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "node[01-04]",
                 "SLURM_JOB_NAME": "it's $(touch pwned)", "SLURM_CLUSTER_NAME": "alpha", "SLURM_JOB_USER": "alice", "SLURM_JOB_EXIT_CODE2": "3:0"}
        for word, wanted in ("prolog", "running"), ("epilog", "ended"):
            run("sh", f"{SRCDIR}/dist/slurm/{word}.sh", env=given)
            tap.result(wait_for(lambda wanted=wanted: os.path.exists(path) and [line["ending"] for line in rows(path)] == [wanted]),
                       f"a {word} on another host", os.path.exists("log") and open("log", encoding="utf-8").read())
        tap.equal("the job", [[line[key] for key in ("id", "cluster", "user", "name", "hosts", "exit_status")] for line in rows(path)],
                  [["4711", "alpha", "alice", "it's $(touch pwned)", "node[01-04]", 3]])
        tap.result(not os.path.exists("log") and not os.path.exists("pwned"), "nothing was logged or executed")
    finally:
        stop(server)


for part in (states, catch_up, wrong, any_order, ssh):
    with tap.part(part.__name__):
        part()
tap.done()
