#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# timeout: 1200
"""Every example in man/*.1, every line of code in Markdown that begins with ibwire, every option of every command, and
every named value of an option are run once, on a fabric with a collector and traffic; docs/tour.md on that of the demo.

Each must end with an exit status documented on its page, without a signal or a usage error; its output is tested
elsewhere. Examples that cannot run unchanged are in SUBSTITUTIONS or NOT_RUN; an unused entry there is a failure.
"""
import contextlib
import fcntl
import glob
import itertools
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, NO_TERMINAL, SRCDIR, Finished, Simulation, Tap, can_open_terminal, need, run, stop, wait_for

need("ibsim", "opensm", "ibnetdiscover", "iblinkinfo", "jq")
tap = Tap()
if not can_open_terminal():
    tap.skip("examples with the screen", NO_TERMINAL)
LEAF = "leaf-u01-r0"
GUID = "b8cef60300000040"
OTHER = "b8cef60300000100"  # leaf-u02-r1, of which links are pulled: no route of rail 0 leads there, and no collector sits there
UPLINK = 5  # of each leaf: hosts have the first four ports
SHAPE = "rail --units 2 --hosts 4 --rails 2 --spines 2"
AGENTS = "switches caps=0x5300 caps2=0x2 tick=7 fec=rs"
OUTPUT_LIMIT = 3000

# What an example calls by a name of another fabric, or would do for ever, or to this machine.
SUBSTITUTIONS = {
    "leaf-001": LEAF,
    "leaf01": LEAF,
    "leaf07": LEAF,
    "--partition 0x0012": "--partition 0x7fff",
    f"{LEAF}/12": f"{LEAF}/1",
    "port = 12": "port = 1",
    "node0112": "node0001",
    "node0042": "node0008",
    "route 17 42": "route LID1 LID2",
    # The fabric of the plan: other examples unplug cables.
    "topology check": "topology check --from fabric.txt",
    f'S-{GUID}"[17]': f'S-{OTHER}"[{UPLINK + 1}]',
    "hosts=node0001-node0016 rails=0-7": "hosts=node0001-node0004 rails=0-1",
    "node[001-064]": "node[0001-0004]",
    "mpirun -np 64 ./train": "true",
    "srun ./train": "true",
    "-- ./train": "-- true",
    "new.db --db damaged.db": "new.db --db main.db; rm new.db",
    "/var/tmp/ibdiagnet2": "cables",
    "/backup/": "",
    "/var/lib/ibwire/": "",
    "/var/lib/node_exporter/": "",
    "my-fabric.ibnetdiscover": "fabric.txt",
    "collect &": "collect --count 1 --db background.db & wait",  # a second collector needs a database of its own
    "--topology fabric.topo": "--topology fabric.txt --count 1 --db by-file.db",
    "--window 8": "--window 8 --count 1 --db gentle.db",
    "--errors-only": "--errors-only --yes",  # there is no terminal for a question
}
# Times of which there is nothing here: such an example runs as it stands, which may find nothing, and with these.
TIMES = {
    "yesterday 22:00": "FIRST",
    "yesterday 23:00": "LAST",
    "14:00": "LAST",
    "14:10": "LAST",
    "2026-11-20 20:00": "FIRST",
    "2026-11-21 06:00": "LAST",
    "2026-11-21T02:00": "LAST",
    "--at -1h": "--at -2s",
}
NOT_RUN = {
    "ibdiagnet --get_cable_info --get_phy_info -o /var/tmp/ibdiagnet2": "not a program of ibwire",
    "mpirun ...": "stands for anybody's job",
    "ibwire push --remote-write http://127.0.0.1:9090/api/v1/write --label fabric=a --once": "see push_test.py",
    "ibwire alert --alertmanager http://127.0.0.1:9093 --label fabric=a --once": "see alert_test.py",
    "ibwire alert --alertmanager http://127.0.0.1:9093 --once": "see alert_test.py",
    "ibwire topology slurm --hosts-map /etc/ibwire/hosts.map -o /etc/slurm/topology.conf.new && "
    "diff /etc/slurm/topology.conf /etc/slurm/topology.conf.new || echo 'review, rename, scontrol reconfigure'":
        "needs the files of a cluster: see topology_scheduler_test.py",
    "ibwire metrics --listen 10.0.0.5:9683 --web-config /etc/ibwire/web.yml": "runs until it is stopped: see metrics_test.py",
    "ibwire collect --interval 5s --fast-jobs": "runs until it is stopped: see job_stall_test.py",
    **{f"ibwire-sim story {name}": "takes four minutes: see job_stall_test.py" for name in ("hang", "neighbor", "straggler")},
}
# Programs that an example hands something to, and that a test shall not run.
STAND_INS = {"mail": "cat >/dev/null", "kubectl": "true"}

# Command: what it is called with beside the option, and where that does not fit, option: what it is called with.
# NEW is another word each time.
COMMANDS = {
    "status": ("", {"--html": ["--html NEW.html", "--html -"], "--links": ["--html - --links"],
                    "--max-age": ["--check --max-age 60s"], "--findings": ["--check --findings"]}),
    "collect": ("--once --db NEW.db", {
        "--interval": ["--interval 500ms --count 2 --db NEW.db"], "--once": ["--once --db NEW.db"],
        "--count": ["--count 1 --db NEW.db"], "--estimate": ["--estimate", "--estimate --db NEW.db"],
        "--new-fabric": ["--once --new-fabric --db NEW.db"], "--db": ["--once --db NEW.db"]}),
    "top": ("", {}),
    "nodes": ("", {}),
    "ports": ("", {"--counters": ["--counters", f"--counters {LEAF}/1"], "--details": ["--details", "--details --all"]}),
    "links": ("", {"--state": ["--state down"]}),
    "balance": ("", {"--all": ["--all", f"--all {LEAF}"], "--sort": ["--sort mean_utilization_percent"],
                     "--hosts": ["--hosts node0001"], "--partition": ["--partition 0x7fff"], "--by": ["--by sl"]}),
    "topology": ("show", {
        "--from": ["show --from fabric.txt", "diff accepted.net --from fabric.txt", "dot --from fabric.txt"],
        "--hosts": ["dot --hosts"], "--html": ["check hosts.csv trunks.csv --html NEW.html"],
        "--hosts-map": ["slurm --hosts-map names.map"], "--output": ["slurm --output NEW.conf"],
        "--all-hosts": ["slurm --all-hosts", "labels --all-hosts"], "--block-size": ["slurm-yaml --block-size 2"],
        "--label-key": ["labels --label-key fabric.topograph.run/tier-0"],
        "--since": ["route LID1 LID2 --since -10m"], "--until": ["route LID1 LID2 --since -10m --until now"]}),
    "what-if": (f"{LEAF}/{UPLINK}", {
        "--bad-links": ["--bad-links"], "--keep": ["--bad-links --keep 90%"], "--html": [f"{LEAF} --html NEW.html"],
        "--without": [f"--without {LEAF}/{UPLINK} --without spine-01"],
        "--with-speed": [f"--with-speed {LEAF}/{UPLINK}=EDR"], "--opensm": [f"{LEAF}/{UPLINK} --opensm"]}),
    "alert": ("", {}),
    "metrics": ("--once", {"--once": ["--once"]}),
    "names": ("suggest", {}),
    "errors": ("", {"--sort": ["--sort last"]}),
    # --follow does not end: operator_test.py.
    "events": ("", {"--sort": ["--sort kind"], "--follow": []}),
    "health": ("", {"--sort": ["--sort subject"],
                    "--reason": ["ack FINDING --reason 'cable ordered'"], "--explain": ["--explain all"],
                    "--gate": ["--gate node0001 --for 1s", "--gate 'node[0001-0004]' --for 1s"],
                    "--for": ["ack FINDING --reason 'cable ordered' --for 1h", "--gate node0001 --for 1s"]}),
    "history": ("", {"--by": ["--top 3 --by rcv_bytes"], "--each": ["--each", f"'{LEAF} uplinks' --each"],
                     "--peers": [f"{LEAF} --peers"], "--html": [f"{LEAF} --html NEW.html"],
                     "--links": [f"{LEAF} --html - --links"]}),
    "coverage": ("", {"--min-load": ["--min-load 70%", "uplinks --min-load 0.5"], "--load-time": ["--load-time 1m"],
                      "--clean": ["--clean 1m"], "--ber": ["--ber 1e-12"], "--all": ["--all", "--all --pairs"],
                      "--html": ["--html NEW.html", "--html -"], "--plan": ["--plan fabric.txt"],
                      "--pairs": ["--pairs", f"{LEAF} --pairs"], "--hosts": ["--pairs --hosts 'node[0001-0004]'"],
                      "--round": ["--pairs --all --round 1"], "--rail": ["--pairs --all --rail mlx5_1"],
                      "--hostfile": ["--pairs --all --round 1 --rail mlx5_1 --hostfile"]}),
    # The same files again are an answer, and have the same time.
    "import": ("cables", {"--time": ["cables --time now"]}),
    "report": (f"{LEAF}/1", {"--html": [f"{LEAF}/1 --html NEW.html"], "--links": [f"{LEAF}/1 --html - --links"]}),
    "push": ("", {}),
    "clear": (f"{LEAF}/1 --yes", {"--dry-run": [f"{LEAF}/1 --dry-run", "all --dry-run"],
                                  "--yes": ["all --yes", f"'node0001 mlx5_0/1' {LEAF}/1 --yes"]}),
    "db": ("", {"--anonymise": ["export NEW.db --anonymise"], "--since": ["export NEW.db --since -1h"],
                "--until": ["export NEW.db --since -1h --until now"]}),
    "snapshot": ("diff", {option: [f"take NEW {option}{value}"] for option, value in {
        "--note": " 'all is well'", "--fast": "", "--window": " 8", "--max-mads-per-second": " 5000",
        "--security-keys": " keys", "--smi-ca": " ibsim0:1",
        "--topology": " fabric.txt", "--Ca": " ibsim0", "--Port": " 1", "--timeout": " 500"}.items()} |
                 {"--columns": ["list --columns time,name", "list --columns help"], "--sort": ["list --sort name"]}),
    "job": ("list", {option: [f"begin NEW {option}{value}"] for option, value in {
        "--hosts": " 'node[0001-0002]'", "--name": " 'a job'", "--no-snapshot": "", "--lenient": " --hosts nowhere",
        "--shared": "", "--exclusive": "", "--user": " alice", "--account": " physics", "--partition": " gpu", "--expire": " 1d", "--security-keys": " keys", "--smi-ca": " ibsim0:1",
        "--topology": " fabric.txt", "--Ca": " ibsim0", "--Port": " 1", "--timeout": " 500"}.items()} |
            {"--cluster": ["begin shared --cluster alpha", "end shared --cluster alpha"], "--sort": ["list --sort id"], "--status": ["begin last", "end last --status 3"], "--keep": ["begin kept", "end kept --keep 30d"],
             "--html": ["begin page", "report page --html NEW.html"], "--all": ["begin whole", "report whole --all"],
             "--columns": ["list --columns begin,id", "list --columns help"],
             "--nccl": ["begin logged", "report logged --nccl nccl.log"],
             "--hosts-map": ["begin mapped", "report mapped --nccl nccl.log --hosts-map names.map"]}),
    "run": ("-- true", {option: [f"{option}{value} -- true"] for option, value in {
        "--hosts": " 'node[0001-0002]'", "--name": " 'a job'", "--report": " NEW.json", "--no-snapshot": "",
        "--nccl": " nccl.log", "--hosts-map": " names.map --nccl nccl.log",
        "--local": "", "--root": " / --local",
        "--security-keys": " keys", "--smi-ca": " ibsim0:1", "--topology": " fabric.txt", "--Ca": " ibsim0",
        "--Port": " 1", "--timeout": " 500", "--pkey": " 0xffff", "--sl": " 3", "--node-name-map": " names.map",
        "--db": " NEW.db", "--help": ""}.items()}),
    "doctor": ("", {"--root": ["--capture NEW.tgz; mkdir NEW; tar xzf NEW.tgz -C NEW; ibwire doctor --root NEW/*"],
                    "--capture": ["--capture NEW.tgz"], "--nccl": ["--nccl nccl.log"],
                    "--hosts-map": ["--nccl nccl.log --hosts-map names.map"]}),
    "sql": ("'SELECT count(*) AS sweeps FROM sweep'", {}),
    "help": ("", {}),
}
VALUES = {
    "--Ca": ["ibsim0"], "--Port": ["1"], "--ask": ["all", "switches"], "--at": ["now", "-1s", "LAST"],
    "--by": ["host", "switch", "link", "port"], "--color": ["auto", "always", "never"],
    "--columns": ["help", "time"],
    "--compat": ["treydock", "guilbaults"], "--counter": ["errors,stall"],
    "--db": ["main.db"], "--discovery": ["explorer", "libibnetdisc"], "--discovery-deadline": ["1m"], "--explain": ["all"],
    "--from": ["fabric.txt"],
    "--hosts-map": ["names.map"], "--hosts-state": ["states"], "--interval": ["1s"], "--job": ["'node[0001-0002],node0004'", "@job"], "--keep-hours": ["365d"], "--keep-jobs": ["365d"],
    "--keep-raw": ["2d"], "--keep-sums": ["14d"], "--kind": ["link-down"], "--limit": ["3"], "--listen": ["127.0.0.1:0"],
    "--lease": ["lease"], "--max-mads-per-second": ["5000"], "--max-size": ["1G"], "--max-smps": ["4"], "--node-name-map": ["names.map"],
    "--per-node": ["2"], "--pkey": ["0xffff"], "--rediscover": ["5m"], "--retries": ["1"], "--skip": ["lid,acs"], "--routes": ["30s", "0"],
    "--routing": ["kept", "minhop", "updn"],
    "--security-keys": ["keys"], "--settings": ["limits.conf"], "--since": ["-10m", "FIRST"], "--sl": ["3"], "--smi-ca": ["ibsim0:1"],
    "--sort": ["errors"], "--step": ["1s", "5m"], "--timeout": ["500"], "--top": ["3"],
    "--topology": ["fabric.txt"], "--until": ["now", "LAST"],
    "--web-config": ["web.yml"], "--window": ["8"],
}
# Options that cannot be run so.
NO_RECEIVER = ("remote-write", "since", "label", "token-file", "ca-file", "cursor", "once", "batch", "unchanged", "settings",
               "node-name-map", "db")
OPTIONS_NOT_RUN = {"health --watch": "runs until it is interrupted: see watches()",
                   "health --exec": "of --watch: see health_test.py", "health --webhook": "of --watch: see health_test.py",
                   "job --exec": "of job watch: see job_watch_test.py",
                   "job --webhook": "of job watch: see job_watch_test.py"} | {
                       f"push --{option}": "requires a receiver: see push_test.py" for option in NO_RECEIVER} | {
                           f"alert --{option}": "requires a receiver: see alert_test.py" for option in
                           ("alertmanager", "label", "token-file", "ca-file", "repeat", "once", "db")}
# Statuses beside 0 that the command's page has for an answer, and not for a fault.
ANSWERS = {"coverage": {1}, "topology": {1}, "health": {1, 2}, "doctor": {1, 2}, "status": {1, 2}, "what-if": {1}}
# History shows what is not known as such; the rest of 69 is "nothing read in the window".
NOTHING_THERE = 69
FAULTS = re.compile(r"Segmentation fault|Aborted|Sanitizer|runtime error:|[Aa]ssertion")
new_words = (f"new{number}" for number in itertools.count(1))


def page_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def typed(line):
    """A line of a manual page, without its macros."""
    for roff, shown in ((r"\(dq", '"'), (r"\(aq", "'"), (r"\-", "-"), (r"\&", ""), (r"\e", "\\")):
        line = line.replace(roff, shown)
    return line


def joined(lines):
    """A command over several lines is one."""
    found = []
    for line in lines:
        if found and re.search(r"(\\|&&|\|)$", found[-1]):
            found[-1] = found[-1].removesuffix("\\").rstrip() + " " + line.strip()
        else:
            found.append(line)
    return found


def displays(text):
    """Displays of a manual page, as lists of commands: all lines in EXAMPLES, elsewhere those that begin with ibwire."""
    section, found, inside = "", [], False
    for line in text.splitlines():
        if line.startswith(".Sh "):
            section = line[4:]
        elif line.startswith((".Bd -literal", ".Bd -unfilled")):
            inside = True
            found.append([])
        elif line.startswith(".Ed"):
            inside = False
        elif inside or line.startswith(".Dl "):
            shown = typed(line if inside else line[4:])
            found[-1].append((section, shown)) if inside else found.append([(section, shown)])
    return [display for display in (
        [line for line in joined(shown for _, shown in display)
         if display[0][0] == "EXAMPLES" or re.match(r"ibwire(-sim)? [a-z]", line)] for display in found if display) if display]


def code_of(text):
    """Code blocks of a Markdown page, fenced or indented, as lists of the lines that call ibwire or ibwire-sim."""
    found, fenced, before = [], False, ""
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
            found.append([])
        elif fenced or line.startswith("    "):
            if not fenced and not before.startswith("    "):
                found.append([])
            found[-1].append(line if fenced else line[4:])
        before = line
    return [block for block in (
        [line for line in joined(block) if re.match(r"ibwire(-sim)? [a-z]", line)] for block in found) if block]


def pages():
    """Every page with commands: (path, displays)."""
    for path in sorted(glob.glob(f"{SRCDIR}/man/*.1")):
        yield path, displays(page_of(path))
    for path in sorted(glob.glob(f"{SRCDIR}/*.md") + glob.glob(f"{SRCDIR}/docs/*.md")):
        if path.endswith("/tour.md"):
            continue  # see tour()
        yield path, code_of(page_of(path))


def words_of(text):
    """Words of a page's .Li lines."""
    word = r"(?<![\w-])[a-z][a-z_-]*[a-z](?![\w-])"
    return [found for line in re.findall(r"\.Li (.*)", text) for found in re.findall(word, line)]


class Typist:
    """Runs lines in a shell with wrappers that report the exit status of each run of ibwire and ibwire-sim."""

    def __init__(self, env):
        os.makedirs("bin", exist_ok=True)
        for name, path in (("ibwire", IBWIRE), ("ibwire-sim", IBWIRE_SIM)):
            self.program(name, f'"{path}" "$@"\nstatus=$?\necho "$status {name} $*" >>"$STATUSES"\nexit $status')
        for name, script in STAND_INS.items():
            self.program(name, script)
        self.env = {**env, "PATH": os.path.abspath("bin") + ":" + env["PATH"], "STATUSES": os.path.abspath("statuses"),
                    "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": os.path.abspath("config")}

    @staticmethod
    def program(name, script):
        with open(f"bin/{name}", "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(f"bin/{name}", 0o755)

    def fault(self, line, allowed=(0,), then=""):
        """Run a line; `then` are the lines for the shell that it starts. Return its error, or ""."""
        with contextlib.suppress(FileNotFoundError):
            os.remove("statuses")
        screen = re.search(r"\bibwire top\b", line)
        if screen and not can_open_terminal():
            return ""
        finished = on_terminal(line, self.env) if screen else self.in_shell(line, then)
        with contextlib.suppress(FileNotFoundError), open("statuses", encoding="utf-8") as file:
            statuses = file.read().splitlines()
            wrong = [status for status in statuses if int(status.split(" ")[0]) not in allowed]
            if not wrong and finished.status in allowed and not FAULTS.search(finished.out + finished.err):
                return ""
            return f"{line}\nended otherwise than with {sorted(allowed)}: {wrong}\n{str(finished)[-OUTPUT_LIMIT:]}"
        return f"{line}\nended, and no ibwire in it\n{finished}"

    def in_shell(self, line, then):
        with open("then", "w+", encoding="utf-8") as file:
            file.write(then)
            file.seek(0)
            return run("sh", "-c", line, env=self.env, check=False, stdin=file)


def on_terminal(line, env):
    """A line that opens the screen, on a terminal: q is pressed after the first output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(["sh", "-c", line], env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as process:
        os.close(theirs)
        said, end = b"", time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if select.select([ours], [], [], 0.1)[0]:
                    said += os.read(ours, 65536)
                elif len(said) > 500:
                    os.write(ours, b"q")
            except OSError:  # the terminal is closed
                break
        if process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(120)
        process.kill()
    os.close(ours)
    return Finished([line], process.returncode, said.decode("utf-8", "replace"), "")


def replaced(line, table, used):
    for old, new in table.items():
        if old in line:
            used.add(old)
            line = line.replace(old, new)
    return line


def examples(typist, outside, facts):
    """Every line of every display; a shell and its lines are run together."""
    used, known, counts = set(), set(), {"1": 0, "md": 0}
    for path, shown in pages():
        for display in shown:
            while display:
                line = display.pop(0)
                name = f"{os.path.basename(path)}: {line}"
                known.add(line)
                if line in NOT_RUN:
                    print(f"# {name}: not run: {NOT_RUN[line]}")
                    continue
                counts[path.rsplit(".", 1)[1]] += 1
                with_names = replaced(replaced(line, SUBSTITUTIONS, used), facts, set())
                # A shell that is started in a simulation is where the rest of the display is typed.
                then = "\n".join(display) + "\n" if line.endswith("-- sh") else ""
                display = [] if then else display
                known.update(then.splitlines())
                who = outside if line.startswith("ibwire-sim run") else typist
                with_times = replaced(replaced(with_names, TIMES, used), facts, set())
                answers = (0, *ANSWERS["doctor"]) if "ibwire doctor" in line or "status --check" in line else (0,)
                answers += tuple(ANSWERS["what-if"]) if "ibwire what-if" in line else ()
                answers += tuple(ANSWERS["coverage"]) if "ibwire coverage" in line else ()
                fault = who.fault(with_names, answers if with_times == with_names else (0, NOTHING_THERE), then)
                if not fault and with_times != with_names:
                    fault = who.fault(with_times)
                tap.result(not fault, name, fault)
    tap.result(counts["1"] > 30 and counts["md"] > 6, f"the manual pages, README and docs have examples ({counts})")
    stale = [word for word in (*SUBSTITUTIONS, *TIMES) if word not in used] + [line for line in NOT_RUN if line not in known]
    tap.equal("SUBSTITUTIONS and NOT_RUN have no unused entry", stale, [])


def tour():
    """Each command of docs/tour.md, in the fabric of the demo."""
    page = page_of(f"{SRCDIR}/docs/tour.md")
    lines = [line for block in code_of(page) for line in block]
    others = set("\n".join(re.findall(r"^```\n(.*?)^```", page, re.M | re.S)).split("\n")) - set(lines) - {""}
    tap.equal("tour.md: commands that start the demo and enter it", others, {"./quickstart", "build/ibwire-sim exec"})
    pictures = re.findall(r"\]\((pictures/.*?)\)", page)
    tap.result(pictures and all(os.path.exists(f"{SRCDIR}/docs/{picture}") for picture in pictures), "its pictures exist", pictures)
    with Simulation("--gen", "rail", "--pma", "all caps=0x5300 caps2=0x2 tick=7", "--traffic", "ring stride=16 rate=100Gb/s") as sim:
        collector = sim.start(IBWIRE, "collect", "--interval", "1s", "--settings", f"{SRCDIR}/sim/demo.conf")
        typist = Typist(sim.env)
        tap.result(wait_for(lambda: sim.ibwire("status", check=False).status == 0 and sim.newest() > 12, every=0.5),
                   "the collector of the tour runs")
        for line in lines:
            command = (line.split() + [""])[1]
            differs = command in ("coverage", "health", "what-if") or "topology check" in line
            fault = typist.fault(line, {0} | (ANSWERS[command] if differs else set()))
            tap.result(not fault, f"tour.md: {line}", fault)
        tap.equal("the collector of the tour exits with 0", stop(collector), 0)


def options_of(command):
    """Options in --help: (short name or "", long name, whether it takes a value, description)."""
    return re.findall(r"^  (-\w)?,? +(--[A-Za-z-]+)(?:\[=[A-Z]+\])?( [A-Z]\S*)? +(.*)", run(IBWIRE, command, "--help").out, re.M)


def option_lines(command, option, has_value, meaning):
    base, others = COMMANDS[command]
    if option in others:
        return others[option]
    if not has_value:
        return [f"{base} {option}"]
    values = re.findall(r"table|json|csv", meaning) if option == "--format" else VALUES[option]
    return [f"{base} {option} {value}" for value in values]


def options(typist, facts):
    """Every option of every command, with its long and its short name."""
    commands = re.findall(r"^  ([a-z-]+) +\S", run(IBWIRE, "help").out, re.M)
    tap.equal("COMMANDS has every command", sorted(COMMANDS), sorted(commands))
    there = set()
    for command in commands:
        with tap.part(f"{command}: options"):
            for short, long, has_value, meaning in options_of(command):
                there |= {f"{command} {long}", long}
                if f"{command} {long}" in OPTIONS_NOT_RUN:
                    continue
                faults = []
                for line, name in itertools.product(option_lines(command, long, has_value, meaning), filter(None, (long, short))):
                    line = re.sub(rf"(?<!\S){long}(?!\S)", name, line)
                    line = re.sub(r"\bNEW\b", next(new_words), replaced(line, facts, set()))
                    faults.append(typist.fault(f"ibwire {command} {line}", {0} | ANSWERS.get(command, set())))
                tap.result(not any(faults), f"ibwire {command} {long}", "\n".join(faults))
    listed = [f"{command} {option}" for command, (_, others) in COMMANDS.items() for option in others]
    stale = [name for name in (*listed, *VALUES, *OPTIONS_NOT_RUN) if name not in there]
    tap.equal("no unknown option is listed", stale, [])


def each_word(typist, name, line, words, least):
    """One line for each value."""
    words = list(dict.fromkeys(words))
    faults = [fault for word in words if (fault := typist.fault(line.replace("WORD", word), {0} | ANSWERS.get(name, set())))]
    tap.result(len(words) >= least and not faults, f"{line} ({len(words)} words)", "\n".join(faults[:5]) or f"only {words}")


def words(typist, sim):
    """The named values of options: keys, kinds and counters, from the manual pages and the database."""
    history, ports = page_of(f"{SRCDIR}/man/ibwire-history.1"), page_of(f"{SRCDIR}/man/ibwire-ports.1")
    counters = [row["key"] for row in sim.json("sql", "SELECT key FROM counter")]
    keys = [word for word in words_of(history.split(".Sh COUNTERS")[1].split(".Sh ")[0]) if not word.startswith("_")]
    usage = re.findall(r"--counter KEY\S* +(.*)", run(IBWIRE, "history", "--help").out)[0]
    keys += [word for word in re.findall(r"[a-z_]+", usage) if "_" in word or word in ("stall", "errors")]
    keys += [key.removesuffix("_percent") for key in keys] + counters + ["xmit_bytes_per_s", "errors_per_s", "xmit_wait_per_s"]
    each_word(typist, "history", "ibwire history --counter WORD", keys, 25)
    each_word(typist, "history", f"ibwire history {LEAF}/1 --peers -c WORD --format csv", keys, 25)
    each_word(typist, "history", "ibwire history --top 3 --by WORD", keys, 25)
    each_word(typist, "history", "ibwire history WORD --format json",
              ["hosts", "all", "node0001", LEAF, f"{LEAF}/1", f"'{LEAF} uplinks'"], 6)
    sort = words_of(re.search(r"^\.It Fl s , -sort.*?(?=^\.It Fl )", ports, re.M | re.S)[0])
    each_word(typist, "ports", "ibwire ports --top 3 --sort WORD", [word for word in sort if "effective" not in word and
                                                                   "raw" not in word] + counters, 25)
    each_word(typist, "ports", "ibwire ports --details --top 3 --sort WORD", sort, 15)
    kinds = words_of(re.sub(r"^\.It ", ".", page_of(f"{SRCDIR}/man/ibwire-events.1").split(".Sh KINDS")[1].split(".Sh ")[0],
                            flags=re.M))
    each_word(typist, "events", "ibwire events --kind WORD", kinds, 30)
    kinds = [line.split(" ")[0] for line in sim.ibwire("health", "--explain", "all").out.splitlines()]
    each_word(typist, "health", "ibwire health --explain WORD", kinds, 10)


def watches(sim):
    process = sim.start(IBWIRE, "health", "--watch", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with process:
        first = process.stdout.readline()
        status = stop(process, signal.SIGINT)
    tap.result(first and status == 0, "ibwire health --watch, until it is interrupted", f"status {status}: {first}")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def prepared(sim):
    """Create what the examples use: files, a link that is down, two snapshots."""
    write("names.map", f'0x{GUID} "{LEAF}"\n')
    write("states", "node0003 idle\nnode0004 drained\n")
    write("job", "node0001\nnode0002\n")
    for log in ("nccl.log", "train.log"):
        write(log, "node0001:7:7 [0] NCCL INFO Using network IB\n")
    os.makedirs("keys")
    write("keys/guid2mkey", "")
    os.makedirs("cables")
    write("cables/ibdiagnet2.db_csv", f"START_NODES\nNodeDesc,NodeType,NodeGUID\n\"{LEAF}\",2,0x{GUID}\nEND_NODES\n"
          f"START_CABLE_INFO\nNodeGuid,PortNum,PN,SN\n0x{GUID},1,\"MFS1S00\",\"MT2031VS01234\"\nEND_CABLE_INFO\n")
    tap.result(wait_for(lambda: sim.ibwire("status", check=False).status == 0), "a collector runs")
    for name in ("first", "second"):
        sim.ibwire("snapshot", "take", name)
    sim.run(IBWIRE_SIM, "pma", f"{LEAF} port=1 symbol_errors=7 fec_corrected_blocks=100000")
    sim.run(IBWIRE_SIM, "console", f'Unlink "S-{OTHER}"[{UPLINK}]')
    swept = "SELECT count(*) AS sweeps FROM sweep"
    tap.result(wait_for(lambda: sim.json("sql", swept)[0]["sweeps"] > 3), "and has sweeps to tell of")


def facts_of(sim):
    """Values for the placeholders (after the link's finding has opened), and the fabric as files."""
    def findings():
        return [row["id"] for row in sim.json("health", "--all", check=False) if row["kind"] == "link-down"]

    tap.result(wait_for(findings, every=0.2), "a finding for a disconnected link")
    write("fabric.txt", sim.run("ibnetdiscover").out)
    sim.ibwire("topology", "save", "accepted.net")
    for path, of_hosts in (("hosts.csv", True), ("trunks.csv", False)):
        write(path, "#StartDevice,StartPort,EndDevice,EndPort\n" + "".join(
            f"{row['node']},Port {row['port']},{row['peer']},Port {row['peer_port']}\n" for row in sim.json("links")
            if row["state"] == row["peer_state"] == "Active" and ("mlx5" in row["node"] + row["peer"]) == of_hosts))
    lids = {row["node"]: row["lid"] for row in sim.json("ports", "node0001", "node0008")}
    sweeps = sim.json("sql", "SELECT min(wall_us) AS first, max(wall_us) AS last FROM sweep")[0]
    facts = {name.upper(): time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(us // 1000000 + (name == "last")))
             for name, us in sweeps.items()}
    return {**facts, "LID1": str(lids["node0001 mlx5_0"]), "LID2": str(lids["node0008 mlx5_0"]), "FINDING": str(findings()[0])}


with tap.part("examples"), Simulation("--gen", SHAPE, "--pma", AGENTS, "--traffic", "ring rate=150Gb/s") as simulation:
    simulation.env["IBWIRE_DB"] = os.path.abspath("main.db")
    limits = simulation.ibwire("collect", "--show-settings").out
    write("limits.conf", re.sub(r"(link_down_after) = .*", r"\1 = 1s", limits))
    collector = simulation.start(IBWIRE, "collect", "--interval", "500ms", "--settings", "limits.conf")
    try:
        prepared(simulation)
        at_home = Typist(simulation.env)
        outside = Typist({**os.environ, "IBWIRE_DB": os.path.abspath("own.db")})
        with tap.part("words"):
            words(at_home, simulation)
        stands_for = facts_of(simulation)
        for part, *arguments in ((options, at_home, stands_for), (watches, simulation), (examples, at_home, outside, stands_for)):
            with tap.part(part.__name__):
                part(*arguments)
        tap.result(collector.poll() is None, "the collector went on meanwhile")
    finally:
        tap.equal("and exits with 0", stop(collector), 0)
with tap.part("tour"):
    tour()
tap.done()
