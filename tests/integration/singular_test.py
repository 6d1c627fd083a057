#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Fabrics with exactly one of each thing, for the search of all outputs for a plural after 1 (tests/lib.py)."""
import os
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, run

need("ibsim", "opensm")
tap = Tap()

COMMANDS = [("status",), ("status", "--check"), ("nodes",), ("ports",), ("ports", "--all"), ("ports", "--details"), ("links",),
            ("health", "--all"), ("errors",), ("events",), ("balance",), ("balance", "--all"), ("balance", "--rails"),
            ("topology", "show"), ("topology", "dot"), ("topology", "dot", "--hosts"), ("names", "suggest"),
            ("history", "--since", "-1m"), ("history", "--since", "-1m", "--top", "1"), ("report", "n1"), ("report", "n1 mlx5_0"),
            ("report", "sw1"), ("report",), ("job", "report", "one"), ("job", "list"), ("job", "compare", "one", "one"), ("db", "info"), ("db", "check"),
            ("snapshot", "list"), ("snapshot", "diff", "a", "b"), ("topology", "route", "n1", "n2"), ("ports", "n1"), ("clear", "--dry-run", "n1")]


def switch(name, guid, ports, lines):
    return f'switchguid=0x{guid:x}\nSwitch {ports} "S-{guid:016x}" # "{name}"\n' + "".join(f"[{line}\n" for line in lines) + "\n"


def end(kind, name, guid, line, device=0x1017):
    return f'devid=0x{device:x}\n{kind.lower()}guid=0x{guid:x}\n{kind} 1 "H-{guid:016x}" # "{name}"\n[1] {line}\n\n'


def hca(number):
    return f'"H-{0xB0 + number:016x}"[1] # 4xHDR'


def port(number, at):
    return f'"S-{0xA0 + number:016x}"[{at}] # 4xHDR'


FABRICS = {
    "a switch with one host, and a port that was never up":
        switch("sw1", 0xA1, 2, [f"1] {hca(1)}"]) + end("Ca", "n1 mlx5_0", 0xB1, port(1, 1)),
    "a leaf with a host, one with a router and an aggregation node, one spine":
        switch("sw1", 0xA1, 4, [f"1] {hca(1)}", f"3] {port(3, 1)}"]) +
        switch("sw2", 0xA2, 4, [f"1] {hca(2)}", f"2] {hca(3)}", f"3] {port(3, 2)}", f"4] {hca(4)}"]) +
        switch("sw3", 0xA3, 2, [f"1] {port(1, 3)}", f"2] {port(2, 3)}"]) +
        end("Ca", "n1 mlx5_0", 0xB1, port(1, 1)) + end("Ca", "n2 mlx5_0", 0xB2, port(2, 1)) +
        end("Ca", "gw1 mlx5_0", 0xB3, port(2, 2)) +
        end("Ca", "Mellanox Technologies Aggregation Node", 0xB4, port(2, 4), 0xCF09),
}

for number, (name, text) in enumerate(FABRICS.items()):
    path = f"one{number}.net"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    with tap.part(name), Simulation("--net", path) as sim:
        run(IBWIRE, "topology", "show", "--from", path)
        sim.ibwire("collect", "--count", "2", "--interval", "1s")
        sim.ibwire("snapshot", "take", "a")
        sim.ibwire("job", "begin", "one", "--hosts", "n1")
        sim.ibwire("collect", "--count", "3", "--interval", "1s")
        sim.ibwire("job", "end", "one")
        sim.ibwire("snapshot", "take", "b")
        outputs = [sim.ibwire(*command, check=False) for command in COMMANDS]
        tap.result(sum(len(output.out) > 40 for output in outputs) > 25, "most commands print something",
                   [(command, output.err) for command, output in zip(COMMANDS, outputs) if not output.out])

tap.done()
