#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""CPU time of `ibwire topology slurm`, slurm-yaml and labels on generated fabrics of several sizes, read from net files.

"reading and shape" is `ibwire topology show --summary`, which does the same but for the tree of hosts and the text. The
peer is a loop in Python that reads the file's text and groups hosts by their switches (tests/host_tree.py).

    RUNS=9    runs of each; the least is printed

It only measures and prints. Each figure has a line "bench: {...}".
"""
import json
import os
import resource
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from host_tree import Net
from lib import IBWIRE, IBWIRE_SIM, read_file, run

RUNS = int(os.environ.get("RUNS", "9"))
SHAPES = {  # HCAs: arguments of ibwire-sim net
    1024: "rail --units 4 --hosts 32 --rails 8 --spines 16 --links 2 --management 0",
    7936: "rail --units 31 --hosts 32 --rails 8 --spines 32 --links 1 --management 0",
    11264: "tree3 --pods 11 --leafs 32 --hosts 32 --rails 1 --spines 32 --cores 256 --management 0",
    16384: "tree3 --pods 16 --leafs 32 --hosts 32 --rails 1 --spines 32 --cores 256 --management 0",
}


def cpu_ms():
    """Of this process and of those that have ended. The time of a clock varies more, beside other programs."""
    return sum(getattr(resource.getrusage(who), part) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
               for part in ("ru_utime", "ru_stime")) * 1000


def least(what):
    times = []
    for _ in range(RUNS):
        began = cpu_ms()
        what()
        times.append(cpu_ms() - began)
    return min(times)


def figure(name, value, peer=None, peer_value=None):
    print(f"  {name:<60} {value:>8.1f} ms" + (f"   {peer}: {peer_value:.1f} ms" if peer else ""))
    print("bench: " + json.dumps({"name": name, "value": value, "unit": "ms", "peer": peer, "peer_value": peer_value,
                                  "ratio": peer and round(value / peer_value, 3)}))
    sys.stdout.flush()


for hcas, shape in SHAPES.items():
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"ibwire-bench-{os.getpid()}.net")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(run(IBWIRE_SIM, "net", *shape.split()).out)
        start = least(lambda: run(IBWIRE, "topology", "--help"))
        base = least(lambda: run(IBWIRE, "topology", "show", "--summary", "--from", path))
        loop = least(lambda: Net(read_file(path)).switches_of(r"node\d+"))
        figure(f"{hcas} HCAs: start of the program", start)
        figure(f"{hcas} HCAs: reading and shape", base - start)
        for word in ("slurm", "slurm-yaml", "labels"):
            whole = least(lambda: run(IBWIRE, "topology", word, "--from", path, "-o", "/dev/null"))
            figure(f"{hcas} HCAs: topology {word}, tree and text", whole - base)
            figure(f"{hcas} HCAs: topology {word}, the whole command", whole, "Python, without a tree", loop)
    finally:
        os.remove(path)
