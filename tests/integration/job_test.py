#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for snapshots
"""ibwire run changes neither the terminal, signals and files of a command nor its exit status. For jobs side by
side, ibwire job report, snapshot diff, perfquery -x and the traffic driver have the same bytes for each port.

MADs are counted as traffic (1 packet and 72 words each, see agree_test.py), so "words - 72 x packets" is compared. Begins
and ends are in pauses of the traffic.
"""
import csv
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests/integration")
import diags
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, need_terminal, run, stop, wait_for

need("ibsim", "opensm", "ibnetdiscover", "perfquery")
tap = Tap()

# Prints the properties that a process inherits, except signals, as one line of JSON.
INHERITED = """import json, os, resource, zlib
mask = os.umask(0)
print(json.dumps({"group": os.getpgrp(), "session": os.getsid(0),
                  "files": sorted(int(fd) for fd in os.listdir("/proc/self/fd")), "folder": os.getcwd(), "umask": mask,
                  "nice": os.nice(0), "files_most": resource.getrlimit(resource.RLIMIT_NOFILE),
                  "environment": zlib.crc32(str(sorted(os.environ.items())).encode())}))"""
# Creates a file when it is ready, and exits with 40 + the number of the received signal.
TRAP = """import signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
    signal.signal(number, lambda number, frame: sys.exit(40 + number))
open("ready", "w").close()
while True:
    time.sleep(0.05)"""


def jobs(sim):
    return {row["id"]: row for row in sim.json("job", "list")}


def newest(sim):
    return sim.json("job", "list")[-1]


def statuses(sim):
    for words, status in ((("true",), 0), (("sh", "-c", "exit 3"), 3), (("sh", "-c", "exit 255"), 255),
                          (("sh", "-c", "kill -9 $$"), 137), (("/nonexistent",), 127), (("no-such-program",), 127),
                          (("/etc/passwd",), 126), (("/",), 126)):
        done = sim.ibwire("run", "--report", "run.txt", "--", *words, check=False)
        tap.equal(f"exit status of {' '.join(words)}", (done.status, newest(sim)["exit_status"]), (status, status))
        if status in (126, 127):
            tap.result(len(done.err.splitlines()) == 1 and f"cannot run {words[0]}" in done.err, "a command that cannot run is reported in one line", done)
            tap.result(not os.path.exists("run.txt"), "no file of a report is left", os.listdir())
        else:
            os.unlink("run.txt")
    done = sim.ibwire("run", "--name", "a <b>", "--", "echo", "it's", "--x", "", check=False)
    tap.equal("ibwire run adds nothing to standard output", done.out, "it's --x \n")
    row = newest(sim)
    tap.equal("the job stores the command, quoted for a shell", (row["command"], row["name"], row["hosts"]),
              (r"echo 'it'\''s' --x ''", "a <b>", None))
    tap.result(row["begin_snapshot"] and row["end_snapshot"] and row["ending"] == "ended", "the job has both snapshots", row)
    ends = os.pipe()
    os.close(ends[0])
    done = subprocess.run([IBWIRE, "job", "report", row["id"]], env=sim.env, stdout=ends[1], stderr=subprocess.PIPE, check=False)
    os.close(ends[1])
    tap.equal("a report to a closed pipe is no error", (done.returncode, done.stderr), (0, b""))
    for words in (("cat",), ("--",), ("--hosts", "a[", "--", "cat")):
        done = sim.ibwire("run", *words, check=False)
        tap.equal(f"run {' '.join(words)} is incorrect usage", (done.status, len(done.err.splitlines())), (64, 1))


def inherits(sim):
    # The simulator's device library leaves sockets open; there is none on a real host.
    plain = {name: value for name, value in sim.env.items() if name != "LD_PRELOAD"}
    with open("bytes", "wb") as file:
        file.write(bytes(range(256)) * 1000)
    with open("bytes", "rb") as file:
        done = sim.ibwire("run", "--", "cat", stdin=file, text=False)
    tap.result(done.out == bytes(range(256)) * 1000, "standard input and output are not changed", len(done.out))
    # Not started by Python, which ignores some signals.
    program = ("sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status; exec python3 -c \"$1\"", "sh", INHERITED)
    for name, ignored in (("nothing", ()), ("HUP, INT and PIPE", (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE))):
        def started(*words, ignored=ignored):
            done = subprocess.run(words, env=plain, stdin=subprocess.DEVNULL, capture_output=True, check=True, restore_signals=False,
                                  preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
                                                      for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)])
            return done.stdout.decode()

        tap.equal(f"a command inherits the same with and without ibwire, with {name} ignored",
                  started(IBWIRE, "run", "--", *program), started(*program))


def stopped(sim):
    """A signal before the command starts, while switches do not respond for longer than the test takes."""
    sim.run(IBWIRE_SIM, "wire", "dead=switches hold=60s")
    try:
        process = sim.start(IBWIRE, "run", "--", "touch", "command-ran", stderr=subprocess.DEVNULL)
        wait_for(lambda: newest(sim)["ending"] == "running")
        tap.equal("a signal before the command ends ibwire run with 128 + its number", stop(process, signal.SIGTERM), 143)
        tap.result(not os.path.exists("command-ran"), "a signal before the command: the command does not run")
        tap.equal("a signal before the command: the job has ended", (newest(sim)["ending"], newest(sim)["exit_status"]), ("ended", 143))
    finally:
        sim.run(IBWIRE_SIM, "wire", "dead=none hold=0")


def signals(sim):
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        process = sim.start(IBWIRE, "run", "--", "python3", "-c", TRAP, stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists("ready"))
        os.remove("ready")
        tap.equal(f"{number.name} is passed on to the command", stop(process, number), 40 + number)
        tap.equal("the end of the interrupted job is recorded", newest(sim)["exit_status"], 40 + number)
    stopped(sim)


def terminal(sim):
    """Ctrl-C reaches the command from the terminal; ibwire waits for its end and records it."""
    need_terminal()
    pid, ours = pty.fork()
    if pid == 0:
        os.execve(IBWIRE, [IBWIRE, "run", "--", "python3", "-c",
                           "import os, sys\nos.write(1, b'terminal' if os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp() else b'none')\n"
                           + TRAP], sim.env)
    said = b""
    wait_for(lambda: os.path.exists("ready"))
    os.remove("ready")
    os.write(ours, b"\x03")
    while True:
        try:
            select.select([ours], [], [], 30)
            said += os.read(ours, 4096)
        except OSError:  # the terminal is closed
            break
    _, status = os.waitpid(pid, 0)
    os.close(ours)
    tap.result(b"terminal" in said, "the command can read the terminal", said)
    tap.equal("Ctrl-C ends the command; ibwire run exits with its status", os.waitstatus_to_exitcode(status), 42)
    tap.equal("the end of the interrupted job is recorded", newest(sim)["exit_status"], 42)


def long_name(sim):
    """A prolog cannot shorten a name: --lenient cuts it between characters instead of losing the job."""
    name = "a" + 200 * "ä"
    done = sim.ibwire("job", "begin", "long", "--no-snapshot", "--name", name, check=False)
    tap.equal("a long name is incorrect usage", (done.status, len(done.err.splitlines())), (64, 1))
    sim.ibwire("job", "begin", "long", "--no-snapshot", "--lenient", "--name", name)
    tap.equal("with --lenient it is cut", newest(sim)["name"], "a" + 127 * "ä")
    sim.ibwire("job", "end", "long", "--no-snapshot")


def failures(sim):
    """Failures before and after a command do not change its exit status."""
    fails = ("sh", "-c", "exit 7")
    count = len(jobs(sim))
    cases = (("an unknown host", ("--hosts", "nowhere"), {}, "has no HCA of host 'nowhere'"),
             ("a report that cannot be written", ("--report", "/nonexistent/x"), {}, "cannot write /nonexistent/x"),
             ("a database that cannot be written", ("--db", "/proc/x.db"), {}, "is not recorded"),
             ("a device that is missing", ("--Ca", "mlx5_99"), {}, "no snapshot at the begin"))
    sim.ibwire("collect", "--once")
    for name, options, env, words in cases:
        done = run(IBWIRE, "run", *options, "--", *fails, env={**sim.env, **env}, check=False)
        tap.result(done.status == 7 and words in done.err, f"{name} is a warning", done)
    tap.equal("jobs are recorded for three of these failures", len(jobs(sim)), count + 3)
    plain = {name: value for name, value in sim.env.items() if name != "LD_PRELOAD"}
    done = run(IBWIRE, "run", "--", *fails, env=plain, check=False)
    tap.result(done.status == 7 and "no snapshot" in done.err, "a host without InfiniBand is a warning", done)

    moved = f"mv {sim.env['IBWIRE_DB']} moved.db; exit 7"
    done = sim.ibwire("run", "--", "sh", "-c", moved, check=False)
    tap.result(done.status == 7 and "the end of job" in done.err and "there is no database" in done.err,
               "a database that is moved away during the command is a warning", done)
    os.rename("moved.db", sim.env["IBWIRE_DB"])
    tap.equal("without its database at the end, the job is still running", newest(sim)["ending"], "running")
    sim.ibwire("job", "end", newest(sim)["id"], "--status", "7")
    tap.equal("the job can be ended later", (newest(sim)["ending"], newest(sim)["exit_status"]), ("ended", 7))


def logs(sim):
    """A log that the command writes is read when it has ended."""
    log = "node0001:7:7 [0] NCCL INFO NET/Socket : Using [0]eno1:10.0.0.1<0>\n" \
          "node0001:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
    done = sim.ibwire("run", "--nccl", "nccl.*.log", "--", "sh", "-c", f"printf '{log}' > nccl.1.log; exit 3", check=False)
    tap.result(done.status == 3 and "NCCL reports NET/Socket on eno1: TCP, not RDMA" in " ".join(done.err.split()),
               "the report has the verdict on the log of NCCL", done)
    with open("pods.map", "w", encoding="ascii") as file:
        file.write("# pods of the job\ntrain-0   node0001\nnot a pod\n")
    pod = log.replace("node0001:", "train-0:")
    for options, wanted in ((), "the log is not compared with the wire"), (("--hosts-map", "pods.map"), "NET/Socket on eno1: TCP, not RDMA; the wire moved"):
        done = sim.ibwire("run", "--nccl", "nccl.1.log", *options, "--", "sh", "-c", f"printf '{pod}' > nccl.1.log")
        tap.contains(f"a log of pods {options}", " ".join(done.err.split()), wanted)
    tap.contains("a line of the map that cannot be read is named", done.err, "pods.map: 1 line is not a pod and its node: ignored, the first is line 3")
    with open("fatal.log", "w", encoding="ascii") as file:
        file.write("node0001:7:7 [0] misc/ibvwrap.cc:9 NCCL WARN Call to ibv_create_qp failed\n"
                   "node0002:7:7 [0] some.cc:9 NCCL WARN A text that no release prints\n")
    for status, severity in ("1", "failure"), ("0", "warning"):
        sim.ibwire("job", "begin", f"fatal{status}", "--hosts", "node0001,node0002", "--no-snapshot")
        sim.ibwire("job", "end", f"fatal{status}", "--status", status)
        done = sim.ibwire("job", "report", f"fatal{status}", "--nccl", "fatal.log", "--format", "json", check=False)
        lines = json.loads(done.out)["nccl"]
        tap.equal(f"a job with status {status}: a warning that is known and one that is not",
                  sorted((line["severity"], "memlock" in (line["fix"] or ""), "ibv_create_qp" in line["text"]) for line in lines
                         if "reported by" in line["text"]), sorted([("failure", True, True), (severity, False, False)]))
        text = " ".join(sim.ibwire("job", "report", f"fatal{status}", "--nccl", "fatal.log", check=False).out.split())
        tap.result("Call to ibv_create_qp failed" in text and "memlock" in text and "clean, no errors" not in text,
                   f"a job with status {status}: the report has the failure and what to do", text)
    done = sim.ibwire("run", "--nccl", "nowhere.log", "--", "sh", "-c", "exit 3", check=False)
    tap.result(done.status == 3 and "cannot read nowhere.log" in done.err and "job run-" in done.err,
               "a log that is not there is a warning, and the report is written", done)


def killed(sim):
    """Killed between begin and end, a job is running until it is ended or expires."""
    process = sim.start(IBWIRE, "run", "--hosts", "node0001", "--", "python3", "-c", TRAP, stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists("ready"))
    os.remove("ready")
    children = run("pgrep", "-P", process.pid).out.split()
    stop(process, signal.SIGKILL)
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    lost = newest(sim)["id"]
    tap.equal("after SIGKILL of ibwire run, its job is running", newest(sim)["ending"], "running")
    sim.ibwire("job", "begin", "next", "--hosts", "node0001", "--no-snapshot")
    tap.equal("a job of the batch system does not replace it", jobs(sim)[lost]["ending"], "running")
    done = sim.ibwire("job", "begin", "later", "--no-snapshot", "--expire", "1us")
    tap.result(f"job {lost} never ended; closed because it is too old" in done.err, "the killed job expires", done)
    tap.equal("all jobs of its age expire", {jobs(sim)[name]["ending"] for name in (lost, "next")}, {"expired"})


MAD_WORDS = 72
HOSTS = {"first": "node[0001-0002]", "second": "node[0003-0004]"}


def moved(xmit_bytes, xmit_packets, rcv_bytes, rcv_packets):
    return xmit_bytes // 4 - MAD_WORDS * xmit_packets, rcv_bytes // 4 - MAD_WORDS * rcv_packets


def moved_by(row):
    return moved(*(int(row[key]) for key in ("xmit_bytes", "xmit_packets", "rcv_bytes", "rcv_packets")))


def pause(sim):
    """Pause the traffic, until a sweep that began in the pause is stored. Return the counters of the driver."""
    sim.traffic("pause")
    wanted = sim.newest() + 2
    if not wait_for(lambda: sim.newest() >= wanted, every=0.2):
        raise RuntimeError("the collector stores no sweeps")
    return sim.truth()


def start_collector(sim):
    return sim.start(IBWIRE, "collect", "--interval", "500ms", stderr=subprocess.DEVNULL)


def end_collector(sim, collector):
    """The newest sweep afterwards has read all ports; on a busy machine not every sweep has."""
    tap.equal("the collector ends", stop(collector), 0)
    whole = "SELECT ports_answered = ports_polled AND NOT ports_unfinished AS whole FROM sweep ORDER BY id DESC LIMIT 1"
    wait_for(lambda: sim.json("sql", whole)[0]["whole"] or sim.ibwire("collect", "--once").status)


def sent(before, after, ports):
    """Bytes and packets that the driver sent between two times."""
    names = ("xmit_words", "xmit_packets", "rcv_words", "rcv_packets")
    change = {port: [after[port][name] - before[port][name] for name in names] for port in ports}
    return {port: moved(4 * row[0], row[1], 4 * row[2], row[3]) for port, row in change.items()}


def reported(sim, job):
    rows = csv.DictReader(io.StringIO(sim.ibwire("job", "report", job, "--format", "csv").out))
    return {(row["node_guid"], int(row["port"])): moved_by(row) for row in rows}


def agrees(sim, job, number, ports, times):
    """Compare the report of a job with snapshot diff and perfquery."""
    wanted = sent(times[0]["truth"], times[1]["truth"], ports)
    tap.same(f"{job}: the report has the bytes that were sent", reported(sim, job), wanted)
    diff = sim.json("snapshot", "diff", f"job-{number}-begin", f"job-{number}-end")
    tap.same(f"{job}: snapshot diff has the same bytes", {key: moved_by(row) for row in diff
                                            if (key := (row["node_guid"], row["port"])) in wanted}, wanted)
    read = {}
    for port in ports:
        before, after = (time["perfquery"][port] for time in times)
        change = [after[name] - before[name] for name in ("xmit_data", "xmit_packets", "rcv_data", "rcv_packets")]
        read[port] = moved(4 * change[0], change[1], 4 * change[2], change[3])
    tap.same(f"{job}: perfquery -x has the same bytes", read, wanted)
    tap.result(all(min(row) > 0 for row in wanted.values()), f"{job}: each port had traffic", wanted)


def side_by_side(sim, collector):
    """Two jobs of which the second begins and ends later; a third one of all hosts has no snapshots."""
    discovered = diags.Discovered(sim.run("ibnetdiscover").out)
    of_host = {}
    for row in sim.json("ports", "all"):
        if row["node"].startswith("node"):
            of_host.setdefault(row["node"].split()[0], []).append((row["node_guid"], row["port"]))
    ports = {"first": of_host["node0001"] + of_host["node0002"], "second": of_host["node0003"] + of_host["node0004"]}
    times = {"first": [], "second": [], "swept": []}
    steps = ((("begin", "first"), ("begin", "swept")), (("begin", "second"),), (("end", "first"),),
             (("end", "second"), ("end", "swept")))
    for step, actions in enumerate(steps):
        now = {"truth": pause(sim), "perfquery": diags.perfquery(sim, discovered)}
        if ("begin", "swept") in actions or ("end", "swept") in actions:
            end_collector(sim, collector[0])
        for action, job in actions:
            options = ("--no-snapshot",) if job == "swept" else ("--hosts", HOSTS[job]) if action == "begin" else ()
            sim.ibwire("job", action, job, *options)
            times[job].append(now)
        if step == 1:
            # A collector that starts again continues its deltas.
            end_collector(sim, collector[0])
        if step < 2:
            collector[0] = start_collector(sim)
        sim.traffic("resume")
        wanted = sim.newest() + 4
        wait_for(lambda: step == 3 or sim.newest() >= wanted, every=0.2)
    numbers = {row["id"]: row["number"] for row in sim.json("job", "list")}
    for job in ("first", "second"):
        with tap.part(job):
            agrees(sim, job, numbers[job], ports[job], times[job])
    every = [port for host in of_host.values() for port in host]
    tap.same("a job without snapshots has the sums of the sweeps, across a restart of the collector", reported(sim, "swept"),
             sent(times["swept"][0]["truth"], times["swept"][1]["truth"], every))
    done = sim.ibwire("run", "--report", "report.json", "--", "true")
    with open("report.json", encoding="utf-8") as file:
        report = json.load(file)
    tap.equal("run writes its report to a file", (report["job"]["id"], report["job"]["exit_status"], done.err), (newest(sim)["id"], 0, ""))
    done = sim.ibwire("run", "--", "true")
    tap.contains("without --report, run writes its report to standard error", done.err, f"job {newest(sim)['id']}")


with Simulation("--gen", "rail --units 1 --hosts 2 --rails 2 --spines 2") as simulation:
    for part in (statuses, inherits, signals, terminal, long_name, failures, logs, killed):
        with tap.part(part.__name__):
            part(simulation)
with tap.part("side by side"), Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2", "--traffic", "ring rate=100Gb/s",
                                          "--truth", os.path.abspath("truth.csv")) as simulation:
    running = [start_collector(simulation)]
    try:
        wait_for(lambda: os.path.exists(simulation.env["IBWIRE_DB"]) and simulation.newest() > 1, every=0.2)
        side_by_side(simulation, running)
    finally:
        stop(running[0])
tap.done()
