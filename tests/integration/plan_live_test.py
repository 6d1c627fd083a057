#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for findings
"""The cabling plan of the settings: findings of a running collector, and the output of ibwire topology check."""
import json
import os
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, stop, wait_for

need("ibsim")
tap = Tap()


def write_plan(path, links):
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write("#StartDevice,StartPort,EndDevice,EndPort,LinkType\n")
        for (node, port), (peer, peer_port) in sorted(links.items()):
            file.write(f"{node},Port {port},{peer},Port {peer_port},Data\n")
    os.rename(path + ".part", path)


def open_findings(sim):
    return [row for row in json.loads(sim.ibwire("health", "--format", "json", check=False).out)
            if row["kind"] == "plan-differs" and not row["ok_since"]]


with Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2") as sim:
    sim.ibwire("collect", "--once")
    links = {(row["node"], row["port"]): (row["peer"], row["peer_port"]) for row in sim.json("links")}
    # Each link once, from the switch.
    links = {one: other for one, other in links.items() if "mlx5" not in one[0]} | {
        other: one for one, other in links.items() if "mlx5" in one[0]}
    first, second = sorted(one for one in links if "mlx5" in links[one][0] and one[0] == min(links)[0])[:2]
    wrong = {**links, first: links[second], second: links[first]}
    write_plan("plan.csv", wrong)
    with open("plan.conf", "w", encoding="utf-8") as file:
        file.write("[plan]\nfile = plan.csv\n\n[health]\ndegraded_after = 2s\nstate_recovery = 2s\n")
    with open("collector.log", "w", encoding="utf-8") as log:
        collector = sim.start(IBWIRE, "collect", "--interval", "1s", "--settings", "plan.conf", stderr=log)
    wait_for(lambda: open_findings(sim))
    checked = sim.ibwire("topology", "check", "--settings", "plan.conf", "--format", "json", check=False)
    page = json.loads(checked.out)
    finding = open_findings(sim)[0]
    tap.equal("topology check of the plan in the settings", (checked.status, [row["change"] for row in page["differences"]],
                                                             page["summary"]["as_planned"]), (1, ["swapped"], len(links) - 2))
    tap.equal("one finding, a warning", ([row["severity"] for row in open_findings(sim)], finding["cause"]), (["warning"], "swapped"))
    tap.contains("the finding has the action of ibwire topology check", finding["text"], page["differences"][0]["action"])
    tap.contains("with the line of the plan", finding["text"], f"plan.csv:{page['differences'][0]['line']}")
    at = sim.ibwire("topology", "check", "plan.csv", "--at", "now", check=False)
    tap.equal("and of a time", (at.status, page["differences"][0]["action"] in at.out), (1, True))
    with open("plan.csv", "w", encoding="utf-8") as file:
        file.write("no plan\n")
    wait_for(lambda: "remains as it was" in open("collector.log", encoding="utf-8").read())
    tap.equal("a plan that cannot be read is one line, and the finding stays",
              (open("collector.log", encoding="utf-8").read().count("remains as it was"), len(open_findings(sim))), (1, 1))
    write_plan("plan.csv", links)
    wait_for(lambda: any("plan-differs" in row["text"] for row in sim.events("finding-closed")))
    tap.equal("a plan that is right closes it", [row["kind"] for row in sim.json("events") if "plan-differs" in row["text"]],
              ["finding-opened", "finding-closed"])
    tap.equal("topology check agrees", sim.ibwire("topology", "check", "plan.csv", check=False).out,
              f"{len(links)} links as planned, 0 differences, 0 not judged\n")
    stop(collector)

tap.done()
