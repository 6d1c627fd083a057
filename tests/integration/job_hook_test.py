#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""ibwire job hook, which sudo allows the user of a batch system, reads no file and writes no other database than that
of the service; the hooks of dist/slurm call it.

/var/lib is another folder in the mount namespace of each call.
"""
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, NO_MOUNT, SRCDIR, Finished, Tap, can_mount, read_file, run, skip_all, wait_for

if not can_mount():
    skip_all(NO_MOUNT)
tap = Tap()
SERVICE = os.path.abspath("lib/ibwire/fabric.db")
OTHER = os.path.abspath("other.db")
SECRET = os.path.abspath("secret")
MOST = 65536
os.makedirs(os.path.dirname(SERVICE))
with open(SECRET, "w", encoding="ascii") as secret:
    secret.write("password1\npassword2\n")
NAMESPACE = ("unshare", "--mount", "sh", "-c", f"mount --bind '{os.path.abspath('lib')}' /var/lib && exec \"$@\"", "sh")
# What a call could take another database, or files, from.
ENVIRONMENT = {**os.environ, "IBWIRE_DB": OTHER, "XDG_STATE_HOME": os.path.abspath("state"), "HOME": os.path.abspath("home"),
               "IBWIRE_SETTINGS": SECRET}


def hook(given, *words):
    done = subprocess.run([*NAMESPACE, IBWIRE, "job", *words], input=given, env=ENVIRONMENT, capture_output=True, timeout=60,
                          check=False)
    return Finished(words, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def fields(*texts, end=b"\0"):
    return b"".join((text if isinstance(text, bytes) else text.encode()) + end for text in texts)


def jobs():
    """Of the service's database."""
    return json.loads(run(IBWIRE, "job", "list", "--db", SERVICE, "--format", "json", "--columns",
                          "id,hosts,name,ending,exit_status,begin_snapshot,end_snapshot,cluster,user,account,partition").out)


def row():
    newest = jobs()[-1]
    return newest["id"], newest["hosts"], newest["name"], newest["ending"], newest["exit_status"]


def begin_and_end():
    done = hook(fields("1", "node[01-02]", "it's\na \"name\" --db=x"), "hook", "begin")
    tap.equal("a job begins", (done.status, done.out, done.err), (0, "", ""))
    tap.equal("its fields are stored; in fields ended by NUL a newline is a character", row(),
              ("1", "node[01-02]", "it's\\x0aa \"name\" --db=x", "running", None))
    tap.equal("a job ends", hook(fields("1", "143"), "hook", "end").status, 0)
    tap.equal("its exit status is stored", row()[3:], ("ended", 143))
    hook(fields("2", "a", "", end=b"\n"), "hook", "begin")
    hook(fields("2", "", end=b"\n"), "hook", "end")
    tap.equal("fields ended by newline; no name, no exit status", row(), ("2", "a", None, "ended", None))
    hook(fields("2", "7"), "hook", "end")
    tap.equal("the exit status can be added", row()[4], 7)
    hook(fields("3", "a", "a" + 200 * "ä"), "hook", "begin")
    tap.equal("a long name is cut", row()[2], "a" + 127 * "ä")
    tap.result(not any(job["begin_snapshot"] or job["end_snapshot"] for job in jobs()), "there are no snapshots")
    for cluster in "alpha", "beta":
        hook(fields("7", "a", "n", cluster, f"user of {cluster}", "physics", ""), "hook", "begin")
    hook(fields("7", "5", "beta"), "hook", "end")
    tap.equal("jobs of two clusters have one id", [[job[key] for key in ("id", "cluster", "user", "account", "partition", "exit_status")]
                                                    for job in jobs()[-2:]],
              [["7", "alpha", "user of alpha", "physics", None, None], ["7", "beta", "user of beta", "physics", None, 5]])
    listed = run(IBWIRE, "job", "list", "--db", SERVICE).out
    tap.equal("a table has their clusters", ["7@alpha" in listed, "7@beta" in listed], [True, True])
    tap.one_line("the end of either", hook(fields("7", "0"), "hook", "end"), 64, "give --cluster")
    hook(fields("7", "0", "alpha"), "hook", "end")
    tap.one_line("the end of an unknown job", hook(fields("nowhere", "0"), "hook", "end"), 64, "no job 'nowhere' began")


def suspended():
    hook(fields("20", "a", "", "alpha", "", "", ""), "hook", "begin")
    hook(fields("20", "b", "", "beta", "", "", ""), "hook", "begin")
    for word, ending in ("suspend", "suspended"), ("suspend", "suspended"), ("resume", "running"), ("resume", "running"):
        done = hook(fields("20", "beta"), "hook", word)
        tap.equal(f"{word}: it is repeated without a warning", (done.status, done.out, done.err), (0, "", ""))
        tap.equal(f"{word}: of the job in this cluster", [job["ending"] for job in jobs()[-2:]], ["running", ending])
    tap.one_line("suspend: an id of two clusters", hook(fields("20"), "hook", "suspend"), 64, "give --cluster")
    hook(fields("21", "a", "", end=b"\n"), "hook", "begin")
    tap.equal("suspend: an id alone, ended by newline", (hook(fields("21", end=b"\n"), "hook", "suspend").status, row()[3]), (0, "suspended"))
    hook(fields("21", "0"), "hook", "end")
    tap.one_line("resume: a job that has ended", hook(fields("21"), "hook", "resume"), 64, "has ended")
    tap.one_line("suspend: an unknown job", hook(fields("nowhere"), "hook", "suspend"), 64, "no job 'nowhere' began")
    for given in (), ("1", "2", "3"):
        tap.one_line(f"suspend: {len(given)} fields", hook(fields(*given), "hook", "suspend"), 64, "one field (id) or two")
    tap.one_line("suspend: an id that is an option", hook(fields("--db=x"), "hook", "suspend"), 64, "")
    for cluster in "alpha", "beta":
        hook(fields("20", "0", cluster), "hook", "end")


def rejected():
    """None of these changes a database or reads a file."""
    before = jobs()
    begin = fields("9", "node01", "x")
    for name, words in (("--db", ("hook", "begin", "--db", OTHER)), ("--db=", ("hook", "begin", f"--db={OTHER}")),
                        ("--db before", ("hook", "--db", OTHER, "begin")), ("--db first", ("--db", OTHER, "hook", "begin")),
                        ("--hosts", ("hook", "begin", "--hosts", f"@{SECRET}")), ("--name-map", ("hook", "begin", f"--node-name-map={SECRET}")),
                        ("--", ("hook", "begin", "--")), ("--help", ("hook", "begin", "--help")), ("help", ("hook", "--help")),
                        ("an id", ("hook", "begin", "9")), ("list", ("hook", "list")), ("remove", ("hook", "remove")),
                        ("none", ("hook",)), ("empty", ("hook", ""))):
        tap.one_line(f"arguments: {name}", hook(begin, *words), 64, "hook")
    for name, wanted, given in (
            ("a file of hosts", "reads no file", fields("9", f"@{SECRET}", "x")),
            ("a file of hosts, newlines", "reads no file", fields("9", f"@{SECRET}", "x", end=b"\n")),
            ("no hosts", "names no host", fields("9", "", "x")), ("a list of nothing", "names no host", fields("9", " ,", "x")),
            ("no id", "an id must have", fields("", "node01", "x")), ("an option as id", "not begin with '-'", fields("--db=x", "a", "x")),
            ("a long id", "an id must have", fields(129 * "1", "node01", "x")), ("an id of ibwire run", "reserved", fields("run-1", "a", "x")),
            ("an id of control characters", "must be printable", fields("\x1b[2J", "a", "x")),
            ("control characters in a host", "control characters", fields("9", "a\x1bc", "x")),
            ("bytes that are not UTF-8", "not UTF-8", fields("9", b"a\xff\xfe", "x")),
            ("too many hosts", "more than 100000", fields("9", "a[1-99999][1-99999]", "x")),
            ("nothing", "three fields", b""), ("two fields", "three fields", fields("9", "a")), ("four fields", "three fields", fields("9", "a", "x", "y")),
            ("eight fields", "three fields", fields("9", "node01", "x", "c", "u", "a", "p", "more")),
            ("a field without its end", "three fields", fields("9", "a") + b"x"), ("NUL only", "three fields", b"\0" * 1000),
            ("another end", "three fields", fields("9", "a", "x", end=b"\r"))):
        tap.one_line(f"begin: {name}", hook(given, "hook", "begin"), 64, wanted)
    for name, wanted, given in (("a status above 255", "0 to 255", fields("3", "256")), ("a long status", "0 to 255", fields("3", "9" * 4000)),
                                ("a negative status", "0 to 255", fields("3", "-1")), ("a status of words", "0 to 255", fields("3", "1 --db=x")),
                                ("four fields", "two fields", fields("3", "0", "x", "y")), ("ibwire run", "reserved", fields("run-1", "0"))):
        tap.one_line(f"end: {name}", hook(given, "hook", "end"), 64, wanted)
    for name, given in (("one byte", b"x" * (MOST + 1 - len(fields("9", "node1", "")))), ("a lot", b"x" * (1 << 20))):
        done = hook(fields("9", "node1", given), "hook", "begin")
        tap.one_line(f"{name} more than 64 KB", done, 74, "too large")
    tap.equal("nothing was stored", jobs(), before)
    hosts = ",".join(f"node{number:05}" for number in range(6000))
    done = hook(fields("4", hosts, b"x" * (MOST - len(fields("4", hosts, "")))), "hook", "begin")
    tap.equal("64 KB are stored", (done.status, row()[1:3]), (0, (hosts, 256 * "x")))
    # " @file" is a host of this name, also for the next job, which compares its hosts with those of this one.
    hook(fields("5", f" @{SECRET}", "x"), "hook", "begin")
    done = hook(fields("6", "password1", "x"), "hook", "begin")
    tap.equal("no file is read by a job after it", (done.err, [job["ending"] for job in jobs()[-2:]]), ("", ["running"] * 2))
    random_bytes()
    tap.result("password" not in str([job for job in jobs() if job["id"] != "6"]), "no text of a file was stored")
    left = sorted(set(os.listdir()) - {"lib", "secret"})
    tap.equal("no other database was written", left, [])


def random_bytes():
    source = random.Random(1)
    wrong = []
    for _ in range(60):
        given = bytes(source.choices(b"\0\n@[]-,19a/\xff\x1b ", k=source.randrange(40)))
        for word in "begin", "end":
            done = hook(given, "hook", word)
            if done.status not in (0, 64) or len(done.err.splitlines()) > 2 or "\x1b" in done.err:
                wrong.append((given, word, done))
    tap.result(not wrong, "random bytes are a job or an error", wrong[:3])


def slurm():
    """The hooks of Slurm, with a sudo that has the rule of docs/jobs.md."""
    page = read_file(f"{SRCDIR}/docs/jobs.md").replace("\\\n", "")
    rule = next(line for line in page.splitlines() if "NOPASSWD:" in line).split("NOPASSWD:")[1]
    allowed = [words.split()[1:] for words in rule.split(",")]
    tap.equal("the rule allows the hooks only", allowed, [["job", "hook", word] for word in ("begin", "end", "suspend", "resume")])
    os.mkdir("slurm")
    with open("slurm/sudo", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n# -n -u ibwire PROGRAM ...; as root here\nshift 4\necho \"$*\" >>slurm/calls\n"
                   f"case \"$*\" in {'|'.join(repr(' '.join(words)) for words in allowed)}) ;; *) exit 1 ;; esac\n"
                   f"exec env -i {IBWIRE} \"$@\"\n")
    os.chmod("slurm/sudo", 0o755)
    with open("slurm/settings", "w", encoding="utf-8") as file:
        file.write(f"IBWIRE='{os.path.abspath('slurm/sudo')} -n -u ibwire /usr/bin/ibwire'\nIBWIRE_SCONTROL=no\n"
                   "logger() { echo \"$*\" >>slurm/log; }\n")
    name = "-x \"$(touch pwned)\" 'a' <b> \\0 %s"
    given = {**os.environ, "IBWIRE_SLURM_CONFIG": os.path.abspath("slurm/settings"), "SLURM_JOB_ID": "4711",
             "SLURM_JOB_NODELIST": "node[01-04]", "SLURM_JOB_NAME": name, "SLURM_JOB_EXIT_CODE2": "3:0", "SLURM_CLUSTER_NAME": "alpha",
             "SLURM_JOB_USER": "alice", "SLURM_JOB_PARTITION": "gpu"}
    run(*NAMESPACE, "sh", f"{SRCDIR}/dist/slurm/prolog.sh", env=given)
    tap.becomes("the prolog records the begin of a job", row, ("4711", "node[01-04]", name, "running", None))
    run(*NAMESPACE, "sh", f"{SRCDIR}/dist/slurm/epilog.sh", env=given)
    tap.becomes("the epilog records its end", lambda: row()[3:], ("ended", 3))
    tap.equal("each called sudo once", read_file("slurm/calls").splitlines(), ["job hook begin", "job hook end"])
    tap.result(not os.path.exists("slurm/log") and not os.path.exists("pwned"), "nothing was logged or executed")
    tap.equal("with cluster, user and partition", [jobs()[-1][key] for key in ("cluster", "user", "account", "partition")],
              ["alpha", "alice", None, "gpu"])
    task = {**given, "SLURM_JOB_ID": "4715", "SLURM_ARRAY_JOB_ID": "4712", "SLURM_ARRAY_TASK_ID": "3"}
    for word, ending in ("prolog", "running"), ("epilog", "ended"):
        run(*NAMESPACE, "sh", f"{SRCDIR}/dist/slurm/{word}.sh", env=task)
        tap.result(wait_for(lambda ending=ending: (row()[0], row()[3]) == ("4712_3", ending)), f"a task of an array is {ending}", row())
    poll(given)
    with open("slurm/settings", "a", encoding="utf-8") as file:
        file.write(f"IBWIRE={IBWIRE}\nIBWIRE_DB={OTHER}\nIBWIRE_BEGIN='--no-snapshot --shared'\n")
    run(*NAMESPACE, "sh", f"{SRCDIR}/dist/slurm/prolog.sh", env=given)
    tap.result(wait_for(lambda: "4711" in run(IBWIRE, "job", "list", "--db", OTHER, "--format", "csv", check=False).out),
               "with other settings, options are used")


def poll(given):
    """suspended.sh, with squeue and scontrol of this test: tests/slurm/run has those of Slurm."""
    os.mkdir("slurm/bin")
    for name, text in (("scontrol", "echo 'ClusterName             = alpha'"), ("squeue", "cat slurm/list"),
                       ("logger", 'echo "$3" >>slurm/log')):
        with open("slurm/bin/" + name, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod("slurm/bin/" + name, 0o755)
    with open("slurm/settings", "a", encoding="utf-8") as file:
        file.write(f"PATH={os.path.abspath('slurm/bin')}:$PATH\n")
    for number in ("30", "31_7"):
        hook(fields(number, "a", "", "alpha", "", "", ""), "hook", "begin")

    def polled(*ids):
        with open("slurm/list", "w", encoding="ascii") as file:
            file.write("".join(f"{number}\n" for number in ids))
        with open("slurm/calls", "w", encoding="ascii"):
            pass
        done = run(*NAMESPACE, f"{SRCDIR}/dist/slurm/suspended.sh", "slurm/ids", env=given, check=False)
        return done.status, read_file("slurm/calls").split("job hook ")[1:], [job["ending"] for job in jobs()[-2:]]

    tap.equal("nothing is suspended", polled(), (0, [], ["running", "running"]))
    tap.equal("a task of an array is suspended", polled("31_7"), (0, ["suspend\n"], ["running", "suspended"]))
    tap.equal("and another job", polled("31_7", "30"), (0, ["suspend\n"], ["suspended", "suspended"]))
    tap.equal("nothing changes", polled("30", "31_7"), (0, [], ["suspended", "suspended"]))
    tap.equal("one is resumed", polled("30"), (0, ["resume\n"], ["suspended", "running"]))
    tap.equal("an unknown one is left out", polled("30", "99"), (0, ["suspend\n"], ["suspended", "running"]))
    tap.contains("and logged", read_file("slurm/log"), "suspend of job 99: ibwire: no job '99' began")
    os.remove("slurm/bin/squeue")
    tap.equal("without squeue, nothing changes", polled(), (1, [], ["suspended", "running"]))


for part in (begin_and_end, suspended, rejected, slurm):
    with tap.part(part.__name__):
        part()
tap.done()
