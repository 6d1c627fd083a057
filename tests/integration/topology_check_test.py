#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: cabling plans
"""ibwire topology check: plans as spreadsheets and dumps against fabrics of files that the test cables."""
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, run

tap = Tap()
LEAVES, HOSTS = 2, 4


def planned():
    """The cables, by name and port: two leaves, a spine, hosts of one HCA, and one with an HCA on each leaf."""
    cables = {}
    for leaf in range(1, LEAVES + 1):
        for host in range(1, HOSTS + 1):
            cables[(f"leaf-a0{leaf}", host)] = (f"node000{(leaf - 1) * HOSTS + host} mlx5_0", 1)
        cables[(f"leaf-a0{leaf}", 10)] = (f"gpu1 mlx5_{leaf - 1}", 1)
        for uplink in (21, 22):
            cables[(f"leaf-a0{leaf}", uplink)] = ("spine-b01", 2 * (leaf - 1) + uplink - 20)
    return cables


def write_net(path, cables, rate="4xHDR", slow=()):
    """A file as of ibnetdiscover. @slow: ends of links of 4xEDR"""
    ends = {}
    for one, other in cables.items():
        ends[one], ends[other] = other, one
    names = sorted({name for name, _ in [*ends, *((name, 0) for name, _ in planned().items() for name in [name[0]])]})
    ids = {name: ("S" if name.startswith(("leaf", "spine")) else "H") + f"-{number + 1:016x}"
           for number, name in enumerate(names)}
    with open(path, "w", encoding="utf-8") as file:
        for name in names:
            switch = ids[name].startswith("S")
            desc = f"MF0;{name}:MQM8700/U1" if switch else name
            guid = ids[name][2:].lstrip("0")
            file.write(f"{'switch' if switch else 'ca'}guid=0x{guid}({guid})\n"
                       f"{'Switch' if switch else 'Ca'}\t{40 if switch else 1} \"{ids[name]}\"\t\t# \"{desc}\"\n")
            for (node, port), (peer, peer_port) in sorted(ends.items()):
                if node == name:
                    speed = "4xEDR" if {(node, port), (peer, peer_port)} & set(slow) else rate
                    file.write(f'[{port}]\t"{ids[peer]}"[{peer_port}]\t\t# "x" lid 1 {speed}\n')
            file.write("\n")
    return path


def write_plan(path, cables, head="rack,U,StartDevice,StartPort,EndDevice,EndPort,EndDeviceLocation,Speed"):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#Fields:{head}\n" if head.startswith("Start") else f"{head}\n")
        for (device, port), (peer, peer_port) in sorted(cables.items()):
            far = f"{peer},Port {peer_port}" if peer.startswith("spine") else f"{peer.split()[0]},{peer}"
            file.write(f"Rack {'A' if device == 'leaf-a01' else 'B'} #1,U{40 + int(device[-1])},{device},Port {port},{far},,200000\n")
    return path


def exchange(cables, one, other):
    """Two ends at ports of switches."""
    cables = dict(cables)
    cables[one], cables[other] = cables[other], cables[one]
    return cables


def move(cables, one, other):
    cables = dict(cables)
    cables[other] = cables.pop(one)
    return cables


def check(*words, **options):
    return run(IBWIRE, "topology", "check", *words, check=False, **options)


def found(cables, *plans, **options):
    result = check("--from", write_net("now.net", cables, **options), *plans, "--format", "json")
    return result.status, json.loads(result.out)


with tap.part("differences of a spreadsheet"):
    plan = write_plan("plan.csv", planned())
    text = check("--from", write_net("planned.net", planned()), plan)
    tap.equal("a fabric as planned", (text.status, text.out, text.err),
              (0, f"{len(planned())} links as planned, 0 differences, 0 not judged\n", ""))
    cases = {
        "a swap": (exchange(planned(), ("leaf-a01", 1), ("leaf-a01", 2)), "swapped",
                   "exchange the cables at leaf-a01/1 and leaf-a01/2"),
        "a moved cable": (move(planned(), ("leaf-a02", 3), ("leaf-a02", 30)), "wrong-port",
                          "move the cable from leaf-a02/30 to leaf-a02/3"),
        "a missing cable": ({one: other for one, other in planned().items() if one != ("leaf-a01", 21)}, "missing",
                            "connect leaf-a01/21 and spine-b01/1: neither has a link"),
        "an extra cable": ({**planned(), ("leaf-a01", 30): ("spine-b01", 30)}, "extra",
                           "remove the cable between leaf-a01/30 and spine-b01/30, or add it to the plan"),
        "a moved host": (move(move(planned(), ("leaf-a01", 10), ("leaf-a01", 31)), ("leaf-a02", 10), ("leaf-a02", 32)),
                         "moved", "move gpu1, or its 2 cables, from leaf-a01/31 and leaf-a02/32 to leaf-a01/10 and leaf-a02/10"),
    }
    for name, (cables, change, action) in cases.items():
        status, page = found(cables, plan)
        tap.equal(name, (status, [(row["change"], re.sub(r" \(cage [^)]*\)", "", row["action"])) for row in page["differences"]]),
                  (1, [(change, action)]))
    status, page = found(planned(), plan, slow=[("leaf-a01", 22)])
    tap.equal("a slow link", (status, [(row["change"], row["port"]) for row in page["differences"]]), (1, [("slow", 22)]))

with tap.part("one difference in each format"):
    swapped = write_net("swapped.net", exchange(planned(), ("leaf-a02", 1), ("leaf-a02", 3)))
    data = json.loads(check("--from", swapped, plan, "--format", "json").out)
    row = data["differences"][0]
    tap.equal("JSON has the summary", data["summary"],
              {"links": len(planned()), "as_planned": len(planned()) - 2, "not_judged": 0, "unplanned": 0, "differences": 1,
               "by_change": {**dict.fromkeys(data["summary"]["by_change"], 0), "swapped": 1}})
    tap.equal("both peers, the place and the line",
              [row[key] for key in ("node", "port", "planned_peer", "present_peer", "place", "file")] + [row["moves"]],
              ["MF0;leaf-a02:MQM8700/U1", 1, "node0005 mlx5_0/1", "node0007 mlx5_0/1", "Rack B #1 U42", plan,
               ["leaf-a02/1 <-> leaf-a02/3"]])
    with open(plan, encoding="utf-8") as file:
        line = file.read().splitlines()[row["line"] - 1]
    tap.contains("the line is that of the planned link", line, "leaf-a02,Port")
    table = list(csv.DictReader(io.StringIO(check("--from", swapped, plan, "--format", "csv").out)))
    tap.equal("CSV has the same row", [(one["change"], one["action"], one["line"]) for one in table],
              [("swapped", row["action"], str(row["line"]))])
    text = check("--from", swapped, plan)
    tap.equal("a table begins with the summary", (text.status, text.out.split("\n")[0]),
              (1, f"{len(planned()) - 2} links as planned, 1 difference, 0 not judged"))
    tap.contains("and has the action", text.out, row["action"])
    html = check("--from", write_net("two.net", exchange(exchange(planned(), ("leaf-a02", 1), ("leaf-a02", 3)),
                                                         ("leaf-a01", 1), ("leaf-a01", 3))), plan, "--html", "-")
    tap.equal("HTML has a sheet for each rack, and boxes",
              (html.status, re.findall(r"<h2>(Rack [AB] #1)", html.out), html.out.count("\u2610"),
               html.out.count('class="card sheet"')), (1, ["Rack A #1", "Rack B #1"], 2, 1))

with tap.part("other plans"):
    dump = check("--from", swapped, "planned.net")
    tap.equal("a dump is a plan", (dump.status, "leaf-a02/1" in dump.out), (1, True))
    trunks = write_plan("trunks.csv", {one: other for one, other in planned().items() if other[0] == "spine-b01"})
    hosts = write_plan("hosts.csv", {one: other for one, other in planned().items() if other[0] != "spine-b01"})
    tap.equal("a plan of trunks does not judge hosts", check("--from", swapped, trunks).out,
              "4 links as planned, 0 differences, 0 not judged\n\n10 links of the fabric not covered by the plan\n")
    tap.equal("two files are one plan", found(planned(), trunks, hosts)[1]["summary"]["as_planned"], len(planned()))
    with open("ibwire.conf", "w", encoding="utf-8") as file:
        file.write(f"[plan]\nfile = {trunks} {hosts}\n")
    tap.equal("and those of the settings", check("--from", swapped, "--settings", "ibwire.conf").out.split("\n")[0],
              f"{len(planned()) - 2} links as planned, 1 difference, 0 not judged")
    unknown = write_plan("unknown.csv", {**planned(), ("leaf-a09", 1): ("spine-b01", 9), ("leaf-a01", 12): ("node0099 mlx5_0", 1)})
    status, page = found(planned(), unknown)
    tap.equal("an unknown name is a problem, and its link missing",
              (status, len(page["problems"]) >= 2, [row["change"] for row in page["differences"]]), (1, True, ["missing", "missing"]))
    warned = check("--from", "planned.net", unknown).err
    tap.result(re.search(r"unknown\.csv:\d+: .*leaf-a09", warned), "with file and line on stderr", warned)

with tap.part("wrong usage"):
    with open("torn.csv", "w", encoding="utf-8") as file:
        file.write("no plan at all\n")
    for words, status, why in ((("--from", "planned.net"), 64, "give a plan"),
                               (("--from", "planned.net", "nothing.csv"), 74, "nothing.csv"),
                               (("--from", "planned.net", "torn.csv"), 74, "torn.csv")):
        refused = check(*words)
        tap.result(refused.status == status and why in refused.err and refused.err.count("\n") == 1,
                   f"{' '.join(words)}: one line names the reason", refused)

tap.done()
