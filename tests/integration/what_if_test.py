#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps and for opensm
"""ibwire what-if on files and live; its predictions against opensm and traffic in the simulation."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, run, wait_for

need("ibsim", "opensm")
BUILD = os.environ["IBWIRE_BUILD"]
tap = Tap()
NET = run(IBWIRE_SIM, "net", "tree2", "--leafs", "4", "--hosts", "4", "--spines", "2").out
with open("tree.net", "w", encoding="utf-8") as file:
    file.write(NET)


def what_if(*arguments, check=False):
    return run(IBWIRE, "what-if", *arguments, check=check)


def of_file(*arguments):
    done = what_if("--from", "tree.net", "--format", "json", *arguments)
    return done.status, json.loads(done.out)


with tap.part("answers from a file"):
    status, page = of_file("spine-01")
    head = page["what_if"]
    tap.equal("a spine can be taken out", [status, head["safe"], head["hosts_cut_off"], head["links_taken_out"]],
              [0, True, 0, 8])
    tap.equal("half of the uplinks are left", [(row["uplinks_before"], row["uplinks_after"], row["fewest_after"])
                                               for row in page["tiers"]], [(16, 8, 2)])
    tap.result(head["busiest_uplink_after_percent"] > 1.4 * head["busiest_uplink_before_percent"],
               "the others carry its load", head)
    tap.equal("its links carry nothing", sum(row["after_percent"] is None for row in page["links"]), 16)

    status, page = of_file("leaf-002")
    hosts = [row["host"] for row in page["hosts"] if row["state"] == "cut off"]
    tap.equal("without a leaf its hosts are cut off", [status, hosts],
              [1, ["mgmt0002", "node0005", "node0006", "node0007", "node0008"]])
    tap.equal("each of them loses 13 hosts, and the four others of its leaf", page["what_if"]["pairs_cut_off"],
              5 * 13 + 5 * 4 // 2)
    tap.result(what_if("--from", "tree.net", "leaf-002").out.startswith(
        "not safe: 5 hosts are cut off: mgmt0002, node0005, node0006, node0007, node0008, busiest uplink "),
        "the first line is the answer")
    tap.contains("less load without hosts is no gain", what_if("--from", "tree.net", "leaf-002").out.splitlines()[0],
                 " % without the traffic of 5 hosts")
    for subject, link in (("leaf-002/7", "leaf-002/7 to spine-02/3"), ("spine-02/3", "spine-02/3 to leaf-002/7")):
        tap.contains(f"{subject}: the link from the end that was named", what_if("--from", "tree.net", subject).out,
                     f"without 1 link: {link}\n")
    status, page = of_file("--without", "node0001", "--without", "node0002")
    tap.equal("hosts that are taken out are not cut off", [status, page["what_if"]["hosts_taken_out"],
                                                           page["what_if"]["hosts_cut_off"]], [0, 2, 0])
    status, page = of_file("node0001/1")
    tap.equal("without its only link a host is cut off", [status, page["what_if"]["hosts_cut_off"]], [1, 1])
    status, page = of_file("leaf-001 uplinks")
    tap.equal("without all uplinks, too", [status, page["what_if"]["hosts_cut_off"]], [1, 5])
    status, page = of_file("--with-speed", "spine-01=EDR")
    tier = page["tiers"][0]
    tap.equal("links with another speed", [status, page["what_if"]["links_taken_out"], tier["up_before_gbit_per_s"],
                                           tier["up_after_gbit_per_s"]], [0, 0, 3200, 2400])
    for routing in "kept", "minhop", "updn":
        status, page = of_file("--routing", routing, "spine-02/1")
        tap.equal(f"{routing}: an uplink can be taken out", [status, page["tiers"][0]["fewest_after"]], [0, 3])

with tap.part("a real opensm"):
    for subject in "spine-02", "leaf-001", "leaf-003 uplinks":
        tap.equal(f"opensm computes the tables of minhop without {subject}", of_file("--opensm", subject)[1]["links"],
                  of_file("--routing", "minhop", subject)[1]["links"])
    empty = {**os.environ, "PATH": "/nowhere"}
    os.makedirs("alone", exist_ok=True)
    shutil.copy(IBWIRE, "alone/ibwire")
    tap.one_line("no simulator", run(os.path.abspath("alone/ibwire"), "what-if", "--from", "tree.net", "spine-01",
                                     "--opensm", env=empty, check=False), 69, "--opensm", "ibwire-sim")

with tap.part("formats"):
    rows = list(csv.DictReader(io.StringIO(what_if("--from", "tree.net", "--format", "csv", "spine-01").out)))
    tap.equal("CSV has a row for each direction of a link", len(rows), 32)
    html = what_if("--from", "tree.net", "--html", "-", "spine-01").out
    tap.result("<html" in html and "busiest uplink" in html, "HTML has the answer", html[:300])

with tap.part("bad input"):
    for name, arguments, parts in (
            ("unknown subject", ["leaf-01"], ["leaf-01"]),
            ("no link", ["leaf-001/40"], ["leaf-001/40", "no link"]),
            ("everything", ["all"], ["all 34 links"]),
            ("every host", ["hosts"], ["hosts"]),
            ("twice", ["leaf-001", "leaf-001"], ["leaf-001", "twice"]),
            ("nothing", [], ["name what is taken out"]),
            ("unknown speed", ["--with-speed", "leaf-001=FAST"], ["FAST", "HDR"]),
            ("no speed", ["--with-speed", "leaf-001"], ["SUBJECT=SPEED"]),
            ("unknown routing", ["--routing", "dor", "leaf-001"], ["--routing"]),
            ("two ways", ["--opensm", "--routing", "updn", "leaf-001"], ["--opensm", "--routing"]),
            ("keep alone", ["--keep", "50%", "leaf-001"], ["--bad-links"]),
            ("keep too much", ["--bad-links", "--keep", "150%"], ["--keep"]),
            ("bad links of a subject", ["--bad-links", "leaf-001"], ["--bad-links"])):
        tap.one_line(name, what_if("--from", "tree.net", *arguments), 64, *parts)
    tap.one_line("no file", what_if("--from", "missing.net", "leaf-001"), 74, "missing.net")

with tap.part("bad links of a file"):
    # Three of four uplinks of a leaf, and one of another one, run with one lane.
    lines, slow, node = NET.splitlines(), 0, ""
    for i, line in enumerate(lines):
        node = re.match(r'Switch.*"MF0;([^:"]*)', line)[1] if line.startswith("Switch") else node
        if node in ("leaf-001", "leaf-003") and "spine" in line and slow < (3 if node == "leaf-001" else 4):
            lines[i] = line.replace("4xHDR", "1xHDR")
            slow += 1
    with open("slow.net", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    done = what_if("--bad-links", "--from", "slow.net", "--format", "json")
    page = json.loads(done.out)
    tap.equal("two of four at once, in three rounds", [done.status, page["bad_links"]["bad_links"],
              page["bad_links"]["out_at_once"], page["bad_links"]["rounds"], page["bad_links"]["is_largest"]],
              [1, 4, 2, 3, True])
    tap.equal("half of the uplinks may go", json.loads(what_if("--bad-links", "--keep", "50", "--from", "slow.net",
              "--format", "json").out)["bad_links"]["out_at_once"], 3)
    page = json.loads(what_if("--bad-links", "--keep", "100%", "--from", "slow.net", "--format", "json").out)
    tap.equal("none may go", [row["blocked_by"] for row in page["links"]].count("leaf-001"), 3)

    # A full mesh of four switches with two cables between each two, of which one runs with one lane.
    lines = []
    for i in range(4):
        others = [j for j in range(4) if j != i]
        lines += [f"switchguid=0x{i + 1:x}", f'Switch 8 "S-{i + 1:016x}" # "sw{i}" base port 0 lid 0 lmc 0']
        lines += [f'[{n}] "H-{16 * (i + 1) + n:016x}"[1](1) # "host{i}{n} mlx5_0" lid 0 4xHDR' for n in (1, 2)]
        for k, j in enumerate(others):
            back = [n for n in range(4) if n != j].index(i)
            lines += [f'[{3 + 2 * k + n}] "S-{j + 1:016x}"[{3 + 2 * back + n}] # "sw{j}" lid 0 '
                      + ("1xHDR" if {i, j} == {0, 1} and n else "4xHDR") for n in (0, 1)]
        lines.append("")
        for n in (1, 2):
            guid = f"{16 * (i + 1) + n:x}"
            lines += [f"caguid=0x{guid}", f'Ca 1 "H-{guid:0>16}" # "host{i}{n} mlx5_0"',
                      f'[1](1) "S-{i + 1:016x}"[{n}] # lid 0 lmc 0 "sw{i}" lid 0 4xHDR', ""]
    with open("mesh.net", "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    done = what_if("--bad-links", "--from", "mesh.net")
    tap.result(done.out.startswith("1 of 1 bad link can be taken out at once\n")
               and "but switches keep no share of their links" in done.out and "paths to each tier" not in done.out,
               "without tiers, the page names what --keep does not hold for", done.out)

    tap.contains("topology show says what taking out a degraded link costs",
                 run(IBWIRE, "topology", "show", "-s", "--from", "slow.net").out,
                 "(width); taking it out leaves leaf-001 with 3 of 4 uplinks; no host is cut off\n")

TRAFFIC = "ring rate=20Gb/s coupled=no", "ring stride=5 rate=20Gb/s coupled=no"
with tap.part("drains"), Simulation("--gen", "tree2 --leafs 4 --hosts 4 --spines 2", "--traffic", TRAFFIC[0],
                                    "--traffic", TRAFFIC[1]) as sim:
    sim.ibwire("collect", "--once")
    sim.ibwire("job", "begin", "4711", "--no-snapshot", "--hosts", "node[0001-0016]")
    sim.ibwire("collect", "--once")
    time.sleep(1)
    then = time.strftime("%Y-%m-%d %H:%M:%S")
    time.sleep(1)
    jobs = [[row["job"] for row in json.loads(sim.run(IBWIRE, "what-if", "leaf-001 uplinks", "--format", "json",
                                                      check=False).out)["jobs"]]]
    sim.ibwire("job", "end", "4711")
    jobs += [[row["job"] for row in json.loads(sim.run(IBWIRE, "what-if", "leaf-001 uplinks", "--format", "json", *at,
                                                       check=False).out)["jobs"]] for at in ([], ["--at", then])]
    tap.equal("a job is listed while it runs, and with --at as it was then", jobs, [["4711"], [], ["4711"]])
    page, known = {}, []

    def is_known():
        """Of a sweep during which the simulation was delayed, a rate may be unknown."""
        sim.ibwire("collect", "--once")
        page.update(json.loads(sim.run(IBWIRE, "what-if", "spine-01", "--format", "json", check=False).out))
        known[:] = [row for row in page["links"] if row["measured_percent"] is not None and row["before_percent"] is not None]
        return len(known) == 32

    tap.result(wait_for(is_known), "load and prediction of 32 link directions are known", page["links"])
    head = page["what_if"]
    tap.result(head["demand"].startswith("traffic of ") and head["tables"].startswith("today's"),
               "the demand is measured, and the tables are read", head)
    tap.equal("all ports were read", head["ports_with_unknown_traffic"], 0)
    wrong = [row for row in known
             if abs(row["measured_percent"] - row["before_percent"]) > 1 + row["measured_percent"] / 5]
    tap.equal("the prediction of now is what is measured now", wrong, [])
    for subject, how in (("leaf-001", "loses its link"), ("leaf-001 uplinks", "is cut off")):
        tap.contains(f"the subnet manager {how}", sim.run(IBWIRE, "what-if", subject, check=False).out,
                     f"a subnet manager runs on mgmt0001 mlx5_0, which {how}")
    tap.equal("no link has a finding", json.loads(sim.run(IBWIRE, "what-if", "--bad-links", "--format",
                                                          "json").out)["bad_links"]["bad_links"], 0)
    sim.run(IBWIRE_SIM, "traffic", "pause")
    done = subprocess.run([BUILD + "/tests/bench/drains", "4", "7"], env=sim.env, capture_output=True, text=True,
                          check=False)
    tap.equal("hosts that opensm cuts off, and the busiest link, are as predicted", done.returncode, 0)
    tap.contains("its tables are as predicted, entry by entry", done.stdout,
                 "4 drains: cut-off hosts exact in 4, all tables as predicted in 4 ")
tap.done()
