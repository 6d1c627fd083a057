#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: trees of an attacker
"""ibwire doctor --root and run --local --root on trees of hosts that were changed at random: documented exit status, bounded
time and memory, valid JSON, no control character. MUTATIONS=N trees (default 60; 30 with sanitizers) from seed MUTATION_FIRST (1) on."""
import json
import os
import random
import shutil
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from hosts import Host
from lib import IBWIRE, SHORT, Tap
from mutation import CPU_S, MEMORY_MB, TEXTS, damage, limited

tap = Tap()
COUNT = int(os.environ.get("MUTATIONS", 30 if SHORT else 60))
FIRST = int(os.environ.get("MUTATION_FIRST", 1))
NCCL = "NCCL_IB_HCA=^mlx5_0:1,=mlx5_1\nNCCL_SOCKET_IFNAME=eth,ib\nNCCL_IB_GID_INDEX=3\nNCCL_NET_GDR_LEVEL=PHB\nNCCL_DEBUG=INFO\n"
os.environ.update(IBWIRE_DB=os.path.abspath("none.db"))


def hosts():
    """A GPU host with InfiniBand, one with RoCE, and one with every driver."""
    ib = Host("ib")
    for i in range(4):
        ib.hca(f"mlx5_{i}", "mlx5", switch=i, numa=i // 2, ports=1 + (i == 3))
        ib.gpu(switch=i, numa=i // 2)
    ib.file("sys/module/nvidia_peermem/refcnt", 0)
    ib.file("sys/devices/system/node/node1/cpulist", "64-127")
    roce = Host("roce")
    for i in range(2):
        roce.hca(f"mlx5_{i}", "mlx5", switch=i, net=f"eth{i}", link_layer="Ethernet")
        roce.gpu(switch=i)
    mixed = Host("mixed")
    for number, (name, driver) in enumerate((("mlx4_0", "mlx4"), ("hfi1_0", "hfi1"), ("bnxt_re0", "bnxt_re"), ("irdma0", "irdma"),
                                             ("rdmap0s31", "efa"))):
        mixed.hca(name, driver, switch=number, net=f"eth{number}" if driver in ("bnxt_re", "irdma") else None)
    mixed.link("sys/class/iommu/dmar0", "sys/devices/virtual/iommu/dmar0")
    for host in (ib, roce, mixed):
        host.file("ibwire/environment", NCCL)
    return ib, roce, mixed


def replace(path, rng):
    """Something else in place of a file, link or folder."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    kind = rng.randrange(8)
    if kind == 0:
        os.mkdir(path)
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        os.symlink(rng.choice((os.path.basename(path), "..", "/dev/zero", "/proc/self/mem", "../" * 50, "nowhere", "/etc/passwd")), path)
    elif kind == 3:
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    elif kind == 4:
        for number in range(300):
            os.makedirs(f"{path}/{number}")
    elif kind == 5:
        with open(path, "wb") as file:
            file.write(rng.choice(TEXTS))


def mutate(root, rng):
    """One to ten changes in a tree. Deep ones are as likely as those of a class folder."""
    for _ in range(rng.choice((1, 1, 2, 4, 10))):
        entries = [os.path.join(folder, name) for folder, folders, names in os.walk(os.fsencode(root)) for name in folders + names]
        files = [path for path in entries if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) < 1 << 20]
        kind = rng.randrange(10)
        if kind < 6 and files:
            path = rng.choice(files)
            with open(path, "rb") as file:
                data = file.read()
            with open(path, "wb") as file:
                file.write(damage(data, rng))
        elif entries and kind < 8:
            replace(os.fsdecode(rng.choice(entries)), rng)
        elif entries:
            path = rng.choice(entries)
            name = rng.choice([text for text in TEXTS if b"/" not in text and b"\0" not in text and len(text) < 200])
            try:
                os.rename(path, os.path.join(os.path.dirname(path), name if rng.random() < .5 else os.path.basename(path)[:100] + name))
            except OSError:  # it exists, or the name is too long
                pass


def examine(root, seed):
    """What is wrong in the results of a tree."""
    done = limited(IBWIRE, "doctor", "--root", root, "--format", "json")
    found = done.problems((0, 1, 2, 64, 69, 74))
    if done.status < 3:
        try:
            statuses = {row["status"] for row in json.loads(done.out)}
            wanted = 2 if "fail" in statuses else 1 if "warn" in statuses else 0
            found += [] if done.status == wanted else [f"status {done.status}, not {wanted}"]
        except (ValueError, KeyError) as error:
            found.append(f"JSON: {error}")
    if done.err.count("\n") > 1:
        found.append(f"lines on stderr: {done.err}")
    done_text = limited(IBWIRE, "doctor", "--root", root)
    found += done_text.problems((done.status,))
    if seed % 4 == 0:
        found += limited(IBWIRE, "run", "--local", "--root", root, "--", "true").problems((0, 64, 69, 74))
    return found, max(done.cpu_s, done_text.cpu_s), done.memory_kb


wrong, cpu_s, memory_kb = [], 0, 0
trees = hosts()
for host in trees:
    tap.equal(f"{os.path.basename(host.root)} as it is", examine(host.root, 0)[0], [])
for seed in range(FIRST, FIRST + COUNT):
    rng = random.Random(seed)
    shutil.rmtree("tree", ignore_errors=True)
    shutil.copytree(rng.choice(trees).root, "tree", symlinks=True)
    mutate("tree", rng)
    found, cpu, memory = examine("tree", seed)
    wrong += [f"seed {seed}: {text}" for text in found]
    cpu_s, memory_kb = max(cpu_s, cpu), max(memory_kb, memory)
tap.result(not wrong, f"{COUNT} trees: exit status, time, memory, JSON, characters", "\n".join(wrong[:20]))
tap.note(f"{COUNT} trees: at most {cpu_s:.2f} s of CPU time, {memory_kb >> 10} MB")
tap.reliability("Mutated trees of hosts (doctor, run --local), AddressSanitizer", f"{COUNT} trees",
                f"Documented exit status, {CPU_S} s of CPU time, {MEMORY_MB} MB, valid JSON, no control character, no hang; at most "
                f"{cpu_s:.2f} s and {memory_kb >> 10} MB were used")
tap.done()
