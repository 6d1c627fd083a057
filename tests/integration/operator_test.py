#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What an operator types during an incident: a link that is down, a degraded one, errors, a host's routes."""
import json
import os
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, run

SCENARIO = """about A link goes down, another one comes back with one lane, a third one has errors
shape rail units=2 hosts=4 rails=2 spines=2
length 12m
job main alltoall fan=4 load=0.5
at 2m errors leaf-u01-r0/5 symbol_errors=36000
at 4m errors leaf-u01-r0/2 symbol_errors=36000 for=2m
at 3m down leaf-u01-r1/5
at 3m width leaf-u02-r0/5 1x
"""

tap = Tap()
os.environ["TZ"] = "UTC0"
os.environ["COLUMNS"] = "200"
with open("test.scenario", "w", encoding="ascii") as file:
    file.write(SCENARIO)
run(os.environ["IBWIRE_BUILD"] + "/tests/screen/record_db", "test.scenario", "fabric.db")
os.environ["IBWIRE_DB"] = os.path.abspath("fabric.db")


def text(*arguments):
    return run(IBWIRE, *arguments, check=False).out


def rows(*arguments):
    return json.loads(run(IBWIRE, *arguments, "--format", "json").out)


def short(name):
    """The displayed name: "MF0;leaf01:MODEL/U1" is leaf01."""
    return name.split(";")[-1].split(":")[0]


def ends(found):
    return [f"{short(row['node'])}/{row['port']} {short(row['peer'])}/{row['peer_port']}" for row in found]


with tap.part("links by state"):
    down = rows("links", "--down")
    tap.equal("links --down lists the link that is down, with its last peer", len(down), 1)
    tap.equal("its end is that of the fault", f"{short(down[0]['node'])}/{down[0]['port']}" if down else "",
              "leaf-u01-r1/5")
    tap.result(down and (down[0]["peer"] or "").split(";")[-1].startswith("spine"), "its last peer is a spine", down)
    tap.equal("--state down is the same", rows("links", "--state", "down", "--columns", "node,port,peer"),
              rows("links", "--down", "--columns", "node,port,peer"))
    degraded = rows("links", "--degraded")
    tap.equal("links --degraded lists the link with one lane",
              [f"{short(row['node'])}/{row['port']} {row['width']}" for row in degraded], ["leaf-u02-r0/5 1x"])
    tap.equal("--state degraded and the key state: are the same",
              [ends(rows("links", *words)) for words in (["--state", "degraded"], ["state:degraded"])],
              [ends(degraded)] * 2)
    tap.contains("the table has the word of the option and of the finding", text("links", "--degraded"),
                 "1x HDR degraded")
    tap.contains("and so has the finding", text("health"), "link-degraded")
    tap.equal("subjects apply, too", rows("links", "--degraded", "leaf-u01-r0"), [])
    tap.contains("no row is a line that says so", text("links", "--state", "silent"), " is silent")
    tap.one_line("a wrong state is an error", run(IBWIRE, "links", "--state", "donw", check=False), 64, "'down'")
    tap.one_line("a state is no expression", run(IBWIRE, "links", "--state", "down|ok", check=False), 64, "--state")
    tap.one_line("one of them at a time", run(IBWIRE, "links", "--down", "--degraded", check=False), 64, "exclude")

with tap.part("a node and its port in two arguments"):
    lid = str(rows("ports", "leaf-u01-r0/2")[0]["lid"])
    for command in "ports", "links", "health", "events":
        for node in "leaf-u01-r0", lid:
            tap.equal(f"{command} {node} 2 is {command} {node}/2",
                      text(command, node, "2", "--columns", "node,port"),
                      text(command, node + "/2", "--columns", "node,port"))
    tap.equal("history, too", text("history", lid, "2", "--until", "-1s"), text("history", lid + "/2", "--until", "-1s"))
    for command in "ports", "links", "history", "health", "events", "nodes", "balance":
        tap.one_line(f"{command}: a number after several subjects is refused",
                     run(IBWIRE, command, "leaf-u01-r0", "2", "3", check=False), 64, "could be a LID or a port")

tap.done()
