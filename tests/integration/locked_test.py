#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps
"""Nodes that drop SMPs without their M_Key: seen, told, shown; and keys from the subnet manager's file open them."""
import os
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE_SIM, Simulation, Tap, need

need("ibsim", "opensm")
tap = Tap()


def locked(sim):
    return [row["node"] for row in sim.json("nodes") if row["status"] == "locked"]


def count(sim, sweeps, *options, check=True):
    return sim.ibwire("collect", "--interval", "200ms", "--count", sweeps, *options, check=check)


with Simulation("--gen", "rail --hosts 4", "--wire", "hold=50ms") as sim:
    count(sim, 1)
    nodes = sim.json("nodes")
    leaf = next(node for node in nodes if node["class"] == "switch")
    sim.run(IBWIRE_SIM, "wire", f"locked={leaf['node_guid']}")

    said = count(sim, 6)
    events = [(row["kind"], row["node"], row["severity"]) for row in sim.json("events") if "lock" in row["kind"]]
    tap.result(events == [("node-locked", leaf["node"], "warning")], "a switch that answers no SMPs is told once", events)
    tap.result(locked(sim) == [leaf["node"]], "nodes shows it", locked(sim))
    status = sim.json("status")
    tap.result(status["locked_node_count"] == 1 and status["locked_nodes"] == [leaf["node"]] and
               status["silent_node_count"] == 0 and status["coverage_percent"] == 100, "so does status", status)
    row = next(node for node in sim.json("nodes") if node["node"] == leaf["node"])
    tap.result(row["xmit_bytes_per_s"] is not None and row["errors"] is not None, "its counters are there", row)
    short, said = leaf["node"].split(";")[1].split(":")[0], sim.ibwire("status").out
    tap.result(short in said and leaf["node"] not in said, "status names it to people, as tables do", said)

    # The key of a locked node is its GUID; a file as the subnet manager writes it.
    keys = os.path.abspath("keys")
    os.makedirs(keys, exist_ok=True)
    path = os.path.join(keys, "guid2mkey")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{node['node_guid']} {node['node_guid']}\n\n" for node in nodes)
    os.chmod(path, 0o600)
    said = count(sim, 6, "--security-keys", keys)
    tap.result(locked(sim) == [] and sim.json("status")["locked_node_count"] == 0, "with its key it is not locked",
               said.err)
    tap.result(said.err == "" or ("different keys" not in said.err and leaf["node_guid"][2:] not in said.err),
               "each node has its own key in a discovery", said.err)
    second = count(sim, 1, "--security-keys", keys, "--discovery", "libibnetdisc")
    tap.result(f"{len(nodes)} different keys" in second.err and leaf["node_guid"][2:] not in second.err,
               "what libibnetdisc cannot do with them is said, and no key", second.err)
    events = [row["kind"] for row in sim.json("events") if "lock" in row["kind"]]
    tap.result(events == ["node-locked"], "and nothing more is told", events)

    os.chmod(path, 0o644)
    said = count(sim, 1, "--security-keys", keys)
    tap.result("is world-readable: run chmod o-r" in said.err and said.status == 0, "a world-readable key file is reported", said.err)
    with open(path, "a", encoding="ascii") as file:
        file.write("0x1 secret\n")
    said = count(sim, 1, "--security-keys", keys, check=False)
    tap.result(said.status == 74 and f"{path}, line {2 * len(nodes) + 1}: " in said.err and "secret" not in said.err,
               "a line that is no key is named and not shown", said.err)
    os.unlink(path)
    said = count(sim, 1, "--security-keys", keys, check=False)
    tap.result(said.status == 74 and path in said.err and said.err.count("\n") == 1, "so is a file that is not there",
               said.err)

with Simulation("--gen", "rail --hosts 4", "--wire", "hold=50ms locked=all") as sim:
    said = count(sim, 6, "--directed-smps")
    status = sim.json("status")
    tap.result(locked(sim) == [] and status["sm_state"] == "master" and status["coverage_percent"] == 100,
               "SMPs along paths reach all where those by LID are lost", status)
    count(sim, 6)
    tap.result(sim.json("status")["locked_node_count"] > 0, "which they are: without paths nodes are locked")

tap.done()
