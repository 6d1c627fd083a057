#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: netfiles and random fabrics
"""ibwire topology and names on ibnetdiscover files, without a fabric.

The generator's names hold the expected tier (leaf-, spine-, core-) and rail (-r3).
"""
import glob
import json
import os
import random
import re
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, SHORT, Tap, run, shared_data, shutil

tap = Tap()


def generate(path, *options):
    with open(path, "w", encoding="utf-8") as file:
        file.write(run(IBWIRE_SIM, "net", *options).out)
    return path


def ibwire(*arguments, **options):
    return run(IBWIRE, *arguments, **options)


def rows(*arguments, check=True):
    return json.loads(ibwire(*arguments, "--format", "json", check=check).out)


def true_tier(name):
    return next((tier for tier, word in enumerate(("leaf-", "spine-", "core-"), 1) if word in name), None)


def without_link(path, out, node, port):
    """Write a net file without one cable. Return the cable's ends, by name and port."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    ids = {match[1]: match[2] for match in (re.match(r'\w+\t\d+ "([^"]+)"\t\t# "([^"]*)"', line) for line in lines) if match}
    gone, current, peer = [], None, None
    for line in lines:
        header = re.match(r'\w+\t\d+ "([^"]+)"', line)
        current = header[1] if header else current
        cable = re.match(r'\[(\d+)\][^"]*"([^"]+)"\[(\d+)\]', line)
        if cable and ids[current] == node and int(cable[1]) == port:
            peer = (cable[2], int(cable[3]), current)
    for line in lines:
        header = re.match(r'\w+\t\d+ "([^"]+)"', line)
        current = header[1] if header else current
        cable = re.match(r"\[(\d+)\]", line)
        ends = (ids.get(current), int(cable[1])) if cable else None
        if cable and (ends == (node, port) or (current, int(cable[1])) == peer[:2]):
            continue
        gone.append(line)
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(gone) + "\n")
    return {(node, port), (ids[peer[0]], peer[1])}


def ends_of(row):
    return {(row["node"], row["port"]), (row["peer"], row["peer_port"])}


def check_nodes(name, path, tiers):
    found = rows("topology", "show", "--from", path)
    switches = [row for row in found if row["class"] == "switch"]
    wrong = [row["node"] for row in switches if row["tier"] != true_tier(row["node"])]
    tap.result(switches and not wrong, f"{name}: every switch has its tier", wrong)
    hcas = [row for row in found if row["class"] in ("compute", "management")]
    wrong = [row["node"] for row in hcas if row["host"] != row["node"].split()[0]]
    tap.result(hcas and not wrong, f"{name}: every HCA has its host", wrong)
    summary = rows("topology", "show", "--summary", "--from", path)
    tap.equal(f"{name}: the summary has kind and tiers", (summary["kind"], summary["tiers"]), ("fat-tree", tiers))


def check_dot(name, text):
    """Braces and quotes balance, and every edge joins existing nodes."""
    strings = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    nodes = set(re.findall(r"^\s*([nh]\d+) \[", strings, re.M))
    edges = re.findall(r"^\s*([nh]\d+) -- ([nh]\d+)", strings, re.M)
    tap.result('"' not in strings.replace('""', "") and strings.count("{") == strings.count("}") and edges and
               all(end in nodes for edge in edges for end in edge), f"{name} is a graph", text[:2000])
    if shutil.which("dot"):
        tap.equal(f"{name}: graphviz reads it", run("dot", "-Tplain", "-o", "graph.plain", "graph.dot", check=False).status, 0)


with tap.part("fabrics of files"):
    rail = generate("rail.net", "rail", "--units", "2", "--hosts", "16")
    tree = generate("tree.net", "tree3")
    check_nodes("8 rails", rail, 2)
    check_nodes("three tiers", tree, 3)
    shown = ibwire("topology", "show", "--from", rail).out
    tap.contains("leafs that are alike are one line", shown, "leaf-u01-r0..u02-r7 (16)")
    tap.contains("a row of the matrix", shown, "  " + "2" * 8)
    narrow = ibwire("topology", "show", "--from", rail, env={**os.environ, "COLUMNS": "20"}).out
    tap.equal("output to a pipe is complete regardless of COLUMNS", narrow, shown)
    with open("graph.dot", "w", encoding="utf-8") as file:
        file.write(ibwire("topology", "dot", "--hosts", "--from", rail).out)
    with open("graph.dot", encoding="utf-8") as file:
        check_dot("dot", file.read())

with tap.part("hosts and routers"):
    with open("router.net", "w", encoding="utf-8") as file:
        file.write('Switch 8 "sw"\n[1] "h1"[1]\n[2] "rt"[1]\n[3] "h2"[1]\n\nCa 2 "h1"\n[1] "sw"[1]\n[2] "h3"[1]\n\nCa 1 "h2"\n'
                   '[1] "sw"[3]\n\nCa 1 "h3"\n[1] "h1"[2]\n\nRt 2 "rt"\n[1] "sw"[2]\n[2] "h4"[1]\n\nCa 1 "h4"\n[1] "rt"[2]\n')
    text = ibwire("topology", "dot", "--hosts", "--from", "router.net").out
    check_dot("with a router", text)
    labels = dict(re.findall(r'^\s*([nh]\d+) \[.*label="([^"\\]*)', text, re.M))
    tap.equal("every cable is drawn once", sorted(sorted((labels[a], labels[b])) for a, b in re.findall(r"([nh]\d+) -- ([nh]\d+)", text)),
              [["h1", "h3"], ["h1", "sw"], ["h2", "sw"], ["h4", "rt"], ["rt", "sw"]])

with tap.part("the order of a file changes nothing"):
    with open(tree, encoding="utf-8") as file:
        head, *nodes = re.split(r"\n\n(?=vendid|sysimgguid|switchguid|caguid|Switch|Ca|Hca)", file.read().rstrip("\n"))
    # Names that are not unique.
    nodes = [re.sub(r'"MF0;(?!core-001)[^"]*"', '"Quantum Mellanox Technologies"', node) for node in nodes]
    results = set()
    for seed in range(3):
        with open("shuffled.net", "w", encoding="utf-8") as file:
            file.write("\n\n".join([head, *(random.Random(seed).sample(nodes, len(nodes)) if seed else nodes)]) + "\n")
        results.add(tuple(ibwire(*words, "--from", "shuffled.net").out for words in (
            ("topology", "show"), ("topology", "show", "--format", "json"), ("topology", "show", "--summary", "--format", "json"),
            ("topology", "dot", "--hosts"), ("names", "suggest"))))
    tap.result(len(nodes) > 20 and len(results) == 1, "tables, JSON, pictures and names are equal", (len(nodes), len(results)))

with tap.part("save and diff of files"):
    ibwire("topology", "save", "--from", rail, "saved.net")
    same = ibwire("topology", "diff", "--from", rail, "saved.net", check=False)
    tap.equal("a saved fabric has no difference", (same.status, rows("topology", "diff", "--from", rail, "saved.net")), (0, []))
    pulled = without_link(rail, "pulled.net", "MF0;leaf-u01-r3:MQM8700/U1", 20)
    differ = ibwire("topology", "diff", "--from", "pulled.net", "saved.net", "--format", "json", check=False)
    found = json.loads(differ.out)
    tap.equal("a disconnected link is the only difference", (differ.status, len(found), found[0]["change"], ends_of(found[0])),
              (1, 1, "link-removed", pulled))
    tap.equal("and a reconnected one", [row["change"] for row in
                                             rows("topology", "diff", "--from", rail, "pulled.net", check=False)], ["link-added"])
    lacks = rows("topology", "show", "--summary", "--from", "pulled.net")["cables_missing"]
    tap.equal("the pair lacks a cable", [line.split(": ")[-1] for line in lacks], ["1 of 2"])

with tap.part("a file that was cut off"):
    with open(rail, encoding="utf-8") as file:
        text = file.read()
    with open("half.net", "w", encoding="utf-8") as file:
        file.write(text[:len(text) // 2])
    half = ibwire("topology", "show", "--summary", "--from", "half.net")
    tap.contains("is reported with its name", half.err, "half.net: the file ends inside a line or a node")
    tap.contains("and cables to nodes that are not in it are counted", half.err, "not in the file: omitted")

def ring(size, prefix=""):
    """A net file of a ring of switches with a host on each."""
    lines = []
    for i in range(size):
        after, before = (i + 1) % size, (i - 1) % size
        lines += [f'Switch 8 "{prefix}s{i}"', f'[1] "{prefix}h{i}"[1] # 4xHDR', f'[2] "{prefix}s{after}"[3] # 4xHDR',
                  f'[3] "{prefix}s{before}"[2] # 4xHDR', "", f'Ca 1 "{prefix}h{i}"', f'[1] "{prefix}s{i}"[1] # 4xHDR', ""]
    return "\n".join(lines)

with tap.part("a bisection that is an upper bound is marked"):
    for size, bound in ((14, False), (15, True)):
        with open("ring.net", "w", encoding="utf-8") as file:
            file.write(ring(size))
        found = rows("topology", "show", "--summary", "--from", "ring.net")
        shown = ibwire("topology", "show", "--summary", "--from", "ring.net").out
        tap.equal(f"of {size} switches", (found["bisection_gbps"], found["bisection_at_most"], "at most 400 Gb/s" in shown,
                                          "400 Gb/s: 2 links" in shown), (400, bound, bound, True))
    with open("ring.net", "w", encoding="utf-8") as file:
        file.write(ring(5) + ring(16, "x"))
    shown = ibwire("topology", "show", "--summary", "--from", "ring.net").out
    tap.contains("in two parts it is unknown", shown, "bisection: unknown in 2 unconnected parts")

with tap.part("what a file does not have"):
    with open("slow.net", "w", encoding="utf-8") as file:
        file.write(re.sub(r" \d+x[A-Z]DR\b", "", text))
    unknown = ibwire("topology", "show", "--summary", "--format", "json", "--from", "slow.net")
    tap.equal("no bandwidth without rates", json.loads(unknown.out)["bisection_gbps"], None)
    tap.contains("which is reported", unknown.err, "links without width and speed: their bandwidth is unknown")
    with open("names.net", "w", encoding="utf-8") as file:
        file.write('Switch 8 "sw1"\n[1] "Hca1"[1]\n[2] "sharp"[1]\n\nHca 2 "Hca1"\n[1] "sw1"[1]\n\n'
                   'devid=0xcf09\nHca 1 "sharp"\n[1] "sw1"[2]\n')
    mended = run(IBWIRE_SIM, "mend", "names.net")
    tap.contains("a net file of ibsim is accepted", mended.out, '# "sw1"')
    tap.contains("with GUIDs that are made up", mended.err, "3 nodes without a GUID: made up from their ids")
    tap.equal("aggregation nodes are no HCA links", [row["hca_links"] for row in rows("topology", "show", "--from", "names.net")
                                                     if row["class"] == "switch"], [1])

with tap.part("a slow host"):
    hosts = [(leaf, port) for leaf in (1, 2, 3) for port in (1, 2, 3, 4)]
    with open("slowhost.net", "w", encoding="utf-8") as file:
        for leaf in (1, 2, 3):
            file.write(f'Switch 8 "leaf{leaf}"\n' + "".join(
                f'[{port}] "h{leaf}{port}"[1] # "h" lid 0 {4 if (leaf, port) != (3, 1) else 1}xHDR\n' for port in (1, 2, 3, 4)) +
                f'[5] "spine"[{leaf}] # "s" lid 0 4xHDR\n\n')
        file.write('Switch 8 "spine"\n' + "".join(f'[{leaf}] "leaf{leaf}"[5] # "l" lid 0 4xHDR\n' for leaf in (1, 2, 3)) + "\n")
        file.writelines(f'Hca 1 "h{leaf}{port}"\n[1] "leaf{leaf}"[{port}] # lid 0 lmc 0 "l" lid 0 '
                        f'{4 if (leaf, port) != (3, 1) else 1}xHDR\n\n' for leaf, port in hosts)
    tap.equal("leaves with different oversubscription are not one row",
              re.findall(r"(leaf\S+).*  (\S+:1.*)", ibwire("topology", "show", "--from", "slowhost.net").out),
              [("leaf1..leaf2", "4.00:1"), ("leaf3", "4.00:1 (now 3.25:1)")])

with tap.part("names"):
    with open(tree, encoding="utf-8") as file:
        text = file.read()
    with open("nameless.net", "w", encoding="utf-8") as file:
        file.write(re.sub(r'"MF0;(?!core-001)[^"]*"', '"Quantum Mellanox Technologies"', text))
    labels = re.findall(r'shape=box, label="([^"\\]*)', ibwire("topology", "dot", "--from", "nameless.net").out)
    tap.equal("equal names differ by digits of the GUID", (len(labels) > 10, len(set(labels))), (True, len(labels)))
    tap.contains("names suggest is named", ibwire("topology", "show", "--summary", "--from", "nameless.net").out,
                 "not unique")
    suggested = ibwire("names", "suggest", "--from", "nameless.net").out
    with open("names", "w", encoding="utf-8") as file:
        file.write(suggested)
    named = {row["node_guid"]: row for row in rows("topology", "show", "--from", "nameless.net", "--node-name-map", "names")}
    truth = {row["node_guid"]: row for row in rows("topology", "show", "--from", tree)}
    switches = {guid: row for guid, row in truth.items() if row["class"] == "switch" and "core-001" not in row["node"]}
    wrong = [(row["node"], named[guid]["node"]) for guid, row in switches.items()
             if not re.fullmatch(("leaf", "spine", "core")[row["tier"] - 1] + r"\d\d", named[guid]["node"])]
    tap.result(switches and not wrong, "switches are named by their tier", wrong)
    tap.equal("names are unique", len({row["node"] for row in named.values()}), len(named))
    leafs = sorted((row["node"], named[guid]["node"]) for guid, row in truth.items() if row["tier"] == 1)
    tap.equal("leafs are numbered in the order of their hosts", [name for _, name in leafs],
              [f"leaf{number:02}" for number in range(1, len(leafs) + 1)])
    tap.contains("a switch that has a name keeps it", suggested, '# 0x')
    tap.contains("as a comment", suggested, 'core-001')



def blocks_of(text):
    """The lines of each node of a net file, with those before it."""
    blocks, before = [], []
    for line in text.split("\n"):
        if re.match(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=", line):
            before.append(line)
        elif re.match(r"(Switch|H?Ca|Rt)\b", line):
            blocks.append(before + [line])
            before = []
        elif line.startswith("[") and blocks:
            blocks[-1].append(line)
    return blocks


def unordered(value):
    if isinstance(value, dict):
        return {key: unordered(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted(json.dumps(unordered(one), sort_keys=True) for one in value)
    return value


def shuffled_differs(path, times):
    """The first difference of rows and sums when the nodes of a file are in another order."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        blocks = blocks_of(file.read())
    wanted = [unordered(rows("topology", "show", *more, "--from", path)) for more in ((), ("--summary",))]
    for seed in range(times):
        random.Random(seed).shuffle(blocks)
        with open("shuffled.net", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n\n".join("\n".join(block) for block in blocks) + "\n")
        found = [unordered(rows("topology", "show", *more, "--from", "shuffled.net")) for more in ((), ("--summary",))]
        if found != wanted:
            return [pair for one, other in zip(wanted, found) for pair in zip(one, other) if pair[0] != pair[1]][:1]
    return None


# Two boxes of two ASICs each, an aggregation node in one of them, four equal parts, and a link whose ends differ.
BOXES = "".join(
    f'sysimgguid=0x{box}00\nswitchguid=0x{box}0{asic}({box}0{asic})\n'
    f'Switch\t8 "S-0000000000000{box}0{asic}"\t# "MF0;box{box}:MODEL/U{asic}" enhanced port 0 lid {box}{asic} lmc 0\n'
    f'[1]\t"H-00000000000a{box}{asic}01"[1](a{box}{asic}01)\t# "n{box}{asic} mlx5_0" lid 5 4x{"NDR" if box == 2 else "SDR"}\n'
    + (f'[8]\t"H-0000000000000{box}09"[1]({box}09)\t# "Mellanox Technologies Aggregation Node" lid 9 4xNDR\n'
       if box == 2 and asic == 4 else "") +
    f'\ncaguid=0xa{box}{asic}01\nCa\t1 "H-00000000000a{box}{asic}01"\t# "n{box}{asic} mlx5_0"\n'
    f'[1](a{box}{asic}01)\t"S-0000000000000{box}0{asic}"[1]\t# lid 5 lmc 0 "x" lid 1 4xNDR\n\n'
    for box in (3, 2) for asic in (4, 2)) + (
    'sysimgguid=0x200\ncaguid=0x209\nCa\t1 "H-0000000000000209"\t# "Mellanox Technologies Aggregation Node"\n'
    '[1](209)\t"S-0000000000000204"[8]\t# lid 9 lmc 0 "x" lid 1 4xNDR\n')

with tap.part("the order of a file changes nothing"):
    with open("boxes.net", "w", encoding="utf-8") as file:
        file.write(BOXES)
    orders = 5 if SHORT else 20
    for name, path, times in [("boxes", "boxes.net", orders), ("rails", rail, orders), ("tree", tree, orders)] + [
            (os.path.basename(dump), dump, orders if os.path.getsize(dump) < 200000 else 2)
            for dump in sorted(glob.glob((shared_data("topology") or "none") + "/*"))]:
        different = shuffled_differs(path, times)
        tap.result(different is None, f"{name}: {times} orders of its nodes", different)
    boxes = {row["node"]: row for row in rows("topology", "show", "--from", "boxes.net")}
    tap.equal("a box is its switch with the lowest GUID", boxes["MF0;box2:MODEL/U4"]["box_guid"], "0x0000000000000202")

with tap.part("digits of GUIDs are no numbers"):
    with open("equal.net", "w", encoding="utf-8") as file:
        for leaf in range(2):
            spines = "".join(f'[{spine + 2}]\t"S-0000000000001d0{spine}"[{leaf + 1}]\t# "Same" lid 9 4xHDR\n' for spine in range(2))
            file.write(f'Switch\t8 "S-000000000000010{leaf}"\t# "leaf{leaf}"\n'
                       f'[1]\t"H-000000000000020{leaf}"[1]\t# "n{leaf} mlx5_0" lid 5 4xHDR\n{spines}\n'
                       f'Switch\t8 "S-0000000000001d0{leaf}"\t# "Same"\n\n'
                       f'Ca\t1 "H-000000000000020{leaf}"\t# "n{leaf} mlx5_0"\n\n')
    shown = ibwire("topology", "show", "--from", "equal.net").out
    tap.contains("equal names are listed with their digits", shown, "Same (1d00), Same (1d01)")
    tap.result("..01)" not in shown, "and are no range", shown)

with tap.part("wrong usage"):
    for words, why in ((("topology",), "give a sub-command"), (("topology", "save"), "takes one file"),
                       (("topology", "show", "--from", "nothing.net"), "nothing.net"),
                       (("topology", "show", "--hosts", "--from", rail), "--hosts requires dot"),
                       (("topology", "diff", "--from", rail, "graph.dot"), "is it the output of ibnetdiscover"),
                       (("topology", "save", "--from", rail, "nowhere/file"), "nowhere/file"),
                       (("names", "--from", rail), "suggest")):
        refused = ibwire(*words, check=False)
        tap.result(refused.status in (64, 74) and why in refused.err and refused.err.count("\n") == 1,
                   f"{' '.join(words)}: one line names the reason", refused)

tap.done()
