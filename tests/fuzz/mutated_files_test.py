#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: files of an attacker
"""Topologies and the other files that a user gives to a command, changed at random: documented exit status, bounded time and
memory, valid JSON, no control character. MUTATIONS=N files (default 100) from seed MUTATION_FIRST (1) on, of which most are
topologies."""
import json
import os
import random
import re
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, SHORT, Tap, run
from mutation import CPU_S, MEMORY_MB, damage, limited

tap = Tap()
COUNT = int(os.environ.get("MUTATIONS", 25 if SHORT else 100))
FIRST = int(os.environ.get("MUTATION_FIRST", 1))
DB = os.path.abspath("sample.db")
os.environ.update(IBWIRE_DB=DB)
STATUSES = (0, 1, 2, 64, 69, 74)
# Other files, as they are, and the commands that read them (%: the file).
SETTINGS = """[fabric]
rail-1 = mlx5_0
storage-hosts = oss[01-16]
[health]
symbol-errors-per-hour = 8
trunk-down-after = 30s
[balance]
window = 10m
"""
MAP = "".join(f'0x0c42a103000{n:02x}000 "rack{n // 4} node{n:04d}" # {n}\n' for n in range(1, 20))
NCCL = """alpha:70:81 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]={[1] mlx5_1:1/RoCE, [2] mlx5_2:1/IB} [RO]; OOB eth0:10.0.0.1<0>
NCCL version 2.19.3+cuda12.3
alpha:70:81 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared
alpha:70:81 [0] NCCL INFO comm 0x7f00 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 1
alpha:70:81 [0] net_ib.cc:9 NCCL WARN NET/IB: Got completion from peer 10.0.0.9<99> with status=IBV_WC(12) hca mlx5_3
# Collective test starting: ./build/all_reduce_perf
#  Rank  0 Group  0 Pid     70 on      alpha device  0 [0000:1b:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024           256     float     sum      -1    22.10    0.05    0.08      0    20.90    0.05    0.09    N/A
# Avg bus bandwidth    : 0.06
"""
OTHERS = {
    "settings": (SETTINGS, [["balance", "--settings", "%"], ["topology", "show", "-s", "--settings", "%", "--format", "json"]]),
    "name map": (MAP, [["nodes", "--node-name-map", "%", "--format", "json"], ["names", "suggest", "--node-name-map", "%"]]),
    "host list": ("node[0001-0004],node0009\n# racks\nnode0011 node0012\n", [
        ["health", "--job", "@%", "--format", "json"], ["job", "begin", "1", "--no-snapshot", "--hosts", "@%"], ["job", "remove", "1"]]),
    "states of hosts": ("node0001 drained\nnode[0002-0004] idle*\nnode0005 alloc\n", [["health", "--hosts-state", "%", "--format", "json"]]),
    "log of NCCL": (NCCL, [["doctor", "--root", "nowhere", "--nccl", "%"], ["doctor", "--nccl", "%", "--format", "json"]]),
    "map of pods": ("alpha node0001\nbeta\tnode0002\n", [["doctor", "--nccl", "log", "--hosts-map", "%", "--format", "json"]]),
    "map of hosts": ("node[0001-0002] gpu[1-2] # rack 1\nnode0003 x\n0x0c42a10300000000 y\n", [
        ["topology", "slurm", "--hosts-map", "%"], ["topology", "labels", "--hosts-map", "%"]]),
    "web configuration": ("tls_server_config:\n  cert_file: a.pem\n  key_file: b.pem\n  min_version: TLS13\nbasic_auth_users:\n  me: "
                          "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n",
                          [["metrics", "--listen", "192.0.2.1:9", "--web-config", "%"]]),
    "cursor": (None, [["push", "--once", "--remote-write", "http://127.0.0.1:9/", "--since", "-1h", "--cursor", "%"]]),
    "fields of a job": ("id=7\0hosts=node[0001-0002]\0name=x\0", [["job", "hook", "begin"], ["job", "hook", "end"]]),
    "statement": ("SELECT node, port, xmit_bytes FROM traffic LIMIT 3\n", [["sql", "-"]]),
}
with open("log", "w", encoding="ascii") as file:
    file.write(NCCL)


def check(command, done):
    """What is wrong with a result."""
    found = done.problems(STATUSES)
    if "json" in command and done.status in (0, 1, 2) and done.out:
        try:
            json.loads(done.out)
        except ValueError as error:
            found.append(f"JSON: {error}")
    return [f"{' '.join(command)}: {text}" for text in found]


def topologies():
    """As ibnetdiscover and ibwire write them, and a net file of ibsim."""
    run(IBWIRE, "topology", "save", "saved.topo")
    ret = []
    for shape in ("rail --units 1 --hosts 4 --rails 2 --spines 2", "tree2 --leaves 4 --spines 2 --hosts 4"):
        ret.append(run(IBWIRE_SIM, "net", *shape.split(), check=False).out.encode())
    with open("saved.topo", "rb") as file:
        return [text for text in (*ret, file.read()) if text]


def examine_topology(data):
    """Commands that read a topology. What ibwire saves of it is read again as the same topology."""
    wrong, used = [], []
    with open("mutated", "wb") as file:
        file.write(data)
    for command in (["topology", "show", "--format", "json"], ["topology", "dot"], ["names", "suggest"], ["topology", "save", "again"]):
        done = limited(IBWIRE, *command, "--from", "mutated")
        used.append(done)
        wrong += check(command, done)
    wrong += check(["mend"], limited(IBWIRE_SIM, "mend", "mutated"))
    if used[-1].status == 0:
        # Quotation marks end a name in such a file, so that they are replaced; so are control characters in names.
        with open("mutated", "wb") as file:
            file.write(re.sub(rb'"[^\n]*"', lambda name: re.sub(rb"[\x00-\x1f\x7f]", b" ", name[0]), data))
        shown = [limited(IBWIRE, "topology", "show", "--from", name).out.replace('"', "'") for name in ("mutated", "again")]
        if shown[0] != shown[1]:
            wrong.append("a saved copy is another topology")
        os.unlink("again")
    return wrong, used


def examine_other(name, data):
    wrong, used = [], []
    with open("mutated", "wb") as file:
        file.write(data)
    for command in OTHERS[name][1]:
        with open("mutated", "rb") as file:
            done = limited(IBWIRE, *[word.replace("%", "mutated") for word in command], stdin=file)
        used.append(done)
        wrong += check(command, done)
    return wrong, used


def long_lines():
    """Files of 1 MB in one line: as fast as others."""
    wrong = []
    for name, head, body in (("settings", "[fabric]\nstorage-hosts = ", "oss01,"), ("name map", "0x1 \"", "x"), ("host list", "", "n"),
                             ("states of hosts", "node0001 ", "x"), ("log of NCCL", "", "NCCL WARN x "), ("map of pods", "p ", "n"),
                             ("web configuration", "", "["), ("fields of a job", "id=", "7"), ("statement", "SELECT ", "1+")):
        wrong += examine_other(name, (head + body * (1000000 // len(body)) + "\n").encode())[0]
    return wrong


def read_again(name, data):
    """Results of the commands that read a file, in JSON without what changes with the clock."""
    with open("mutated", "wb") as file:
        file.write(data)
    return [(done.status, re.sub(r'"(time|\w*_s|\w*age\w*)": [^,}]*', "", done.out), done.err) for done in
            (run(IBWIRE, *[word.replace("%", "mutated") for word in command], check=False)
             for command in OTHERS[name][1] if "json" in command)]


def make_sample():
    """A database whose newest sweep is of now: commands need one of the last 30 s."""
    for end in ("", "-wal", "-shm"):
        if os.path.exists(DB + end):
            os.unlink(DB + end)
    run(os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db", DB, 2, 3, 10)


def line_endings():
    """A byte order mark, CRLF, blanks and a missing newline at the end change nothing. UTF-16 is named, and so is a line
    with a NUL byte: the lines after it are read."""
    wrong = []
    for name in ("settings", "name map", "host list", "states of hosts", "map of pods"):
        data = OTHERS[name][0].encode()
        make_sample()
        plain = read_again(name, data)
        for kind, other in (("a byte order mark", b"\xef\xbb\xbf" + data), ("CRLF", data.replace(b"\n", b"\r\n")),
                            ("blanks", data.replace(b"\n", b" \t\n")), ("no last newline", data[:-1])):
            if read_again(name, other) != plain:
                wrong.append(f"{name} with {kind}: {read_again(name, other)}, not {plain}")
        wrong += [f"{name}: UTF-16 is not named: {err}" for _, _, err in read_again(name, data.decode().encode("utf-16"))
                  if "UTF-16" not in err]
        at = data.index(b"\n") + 1
        for (status, out, err), (*good, _) in zip(read_again(name, data[:at] + b"a\0 b\n" + data[at:]), plain):
            if name != "settings" and ("1 line is not" not in err or "line 2" not in err or [status, out] != good):
                wrong.append(f"{name} with a NUL byte in line 2: {status} {out} {err}")
            elif name == "settings" and ("line 2" not in err or status != 64):
                wrong.append(f"{name} with a NUL byte in line 2: {status} {err}")
    return wrong


make_sample()
limited(IBWIRE, "push", "--once", "--remote-write", "http://127.0.0.1:9/", "--since", "-1h", "--cursor", "cursor")
with open("cursor", encoding="utf-8") as file:
    OTHERS["cursor"] = (file.read(), OTHERS["cursor"][1])
bases = topologies()
tap.equal("files that are as they should be", [text for data in bases for text in examine_topology(data)[0]] +
          [text for name, (data, _) in OTHERS.items() for text in examine_other(name, data.encode())[0]], [])
tap.equal("long lines", long_lines(), [])
tap.equal("marks and ends of lines", line_endings(), [])
totals = {}
for seed in range(FIRST, FIRST + COUNT):
    rng = random.Random(seed)
    kind = "topologies" if seed % 3 else "other files"
    name = rng.choice(sorted(OTHERS))
    data = rng.choice(bases) if seed % 3 else OTHERS[name][0].encode()
    for _ in range(rng.choice((1, 1, 2, 4, 10))):
        data = damage(data, rng)
    found, used = examine_topology(data) if seed % 3 else examine_other(name, data)
    count, wrong, cpu_s, memory_kb = totals.get(kind, (0, [], 0, 0))
    totals[kind] = (count + 1, wrong + [f"seed {seed}, {name}: {text}" for text in found], max(cpu_s, *(done.cpu_s for done in used)),
                    max(memory_kb, *(done.memory_kb for done in used)))
for kind, (count, wrong, cpu_s, memory_kb) in totals.items():
    tap.result(not wrong, f"{count} {kind}: exit status, time, memory, JSON, characters", "\n".join(wrong[:20]))
    tap.note(f"{count} {kind}: at most {cpu_s:.2f} s of CPU time, {memory_kb >> 10} MB")
    tap.reliability(f"Mutated {kind} of users, AddressSanitizer", f"{count} files",
                    f"Documented exit status, {CPU_S} s of CPU time, {MEMORY_MB} MB, valid JSON, no control character; at most {cpu_s:.2f} s "
                    f"and {memory_kb >> 10} MB were used")
tap.done()
