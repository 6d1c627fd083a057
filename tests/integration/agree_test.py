#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: it decodes the responses of real agents
# timeout: 1200
"""ibwire and the infiniband-diags print the same nodes, links, ports and counters.

Fabrics: a generated 8-rail cluster with traffic, and published dumps of real fabrics. Both discoveries
(by libibnetdisc, the default, and by the explorer) must store the same records. Tolerated differences:

- Descriptions: ibwire strips leading and trailing spaces.
- ibnetdiscover and iblinkinfo list only the cabled ports of an HCA, ibwire all of them. The additional ports must be
  down and have no peer.
- Width and speed of a port that is down are stale; neither iblinkinfo nor ibwire prints them.
- Counters: each MAD is counted by every port on its path, as 1 packet and 72 words (288 octets: 256 of the MAD, 32 of
  headers, as ibsim counts them). ibwire and perfquery read at different times, so absolute values differ by a number
  of MADs. "words - 72 x packets" is independent of MADs; its difference between two sweeps is compared exactly. The
  packets of perfquery must not be below ibwire's, nor above by more than the MADs that all programs sent.
  Between the sweeps all-reduce traffic runs on the generated fabric; on the dumps each port's counters, errors
  included, are set to individual values.
"""
import concurrent.futures
import json
import os
import random
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests/integration")
import diags
from lib import IBWIRE_SIM, SHORT, Simulation, Tap, need, shared_data

need("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery", "ibsim", "opensm")
tap = Tap()

MAD_WORDS = 72


def by_port(rows):
    return {(diags.guid(row["node_guid"]), row["port"]): row for row in rows}


def compare_nodes(name, rows, discovered):
    ours = {diags.guid(row["node_guid"]): (row["type"], row["port_count"], row["node"]) for row in rows}
    theirs = {guid: (node["type"], node["ports"], node["description"].strip())
              for guid, node in discovered.nodes.items()}
    # A node without a description needs some name; which one is up to ibwire.
    for guid, (kind, ports, description) in theirs.items():
        if not description and guid in ours:
            theirs[guid] = (kind, ports, ours[guid][2])
    tap.same(f"{name}: nodes agree with ibnetdiscover", ours, theirs)


def compare_links(name, rows, discovered):
    def ends(one, other):
        return tuple(sorted((one, other)))

    ours = {}
    for row in rows:
        link = ends((diags.guid(row["node_guid"]), row["port"]), (diags.guid(row["peer_guid"]), row["peer_port"]))
        if link in ours:
            tap.result(False, f"{name}: every link is listed once", str(row))
        ours[link] = (row["width"], row["speed"])
    theirs = {ends(port, entry["peer"]): (entry["width"], entry["speed"]) for port, entry in discovered.ports.items()}
    tap.same(f"{name}: links agree with ibnetdiscover", ours, theirs)


def compare_ports(name, rows, discovered, linkinfo):
    theirs = {}
    for (guid, port), entry in linkinfo.items():
        node = discovered.by_port_guid.get(guid, guid)
        known = discovered.ports.get((node, port))
        theirs[node, port] = (entry["state"], entry["phys_state"], entry["width"], entry["speed"], entry["lid"],
                              known["peer"] if known else None)
    ours = {}
    for key, row in by_port(rows).items():
        peer = (diags.guid(row["peer_guid"]), row["peer_port"]) if row["peer_guid"] else None
        entry = (row["state"], row["phys_state"], row["width"], row["speed"], row["lid"], peer)
        is_switch = discovered.nodes.get(key[0], {}).get("type") == "switch"
        if key not in theirs and not is_switch and row["state"] == "Down" and not peer:
            continue
        if key not in theirs and is_switch and row["port"] == 0:
            continue  # an enhanced port 0 has counters; iblinkinfo lists external ports only
        ours[key] = entry
    tap.same(f"{name}: ports agree with iblinkinfo and ibnetdiscover", ours, theirs)


def records(sim, by):
    """The output of a discovery: lines by node and port, SMPs without retries, and numbers of lost and silent."""
    lines, node = {}, None
    for line in sim.ibwire("discover", "--max-smps", "32", "--discovery", by).out.splitlines():
        words = line.split()
        if words[0] == "node":
            node = words[1]
        lines[(node if words[0] in ("node", "port") else "", words[0], words[1] if words[0] == "port" else "")] = line
    end = lines.pop(("", "end", "")).split()
    return lines, int(end[8]), end[6:8]


def compare_discoveries(name, sim):
    ours, our_smps, missed = records(sim, "explorer")
    theirs, their_smps, _ = records(sim, "libibnetdisc")
    tap.same(f"{name}: both discoveries bring the same records", ours, theirs)
    tap.result(our_smps <= their_smps and missed == ["0", "0"],
               f"{name}: ours sends no more distinct SMPs and misses nothing",
               f"{our_smps} and {their_smps}, lost and silent {missed}")
    tap.note(f"{name}: {our_smps} distinct SMPs, libibnetdisc {their_smps}")


def read_counters(sim, discovered):
    """Counters of every port with a link, by perfquery -x: one run for each node."""
    work = []
    for guid, node in discovered.nodes.items():
        numbers = sorted(port for owner, port in discovered.ports if owner == guid)
        if node["type"] == "switch":
            work.append((guid, node["lid"], numbers))
        else:
            work.extend((guid, discovered.ports[guid, port]["lid"], [port]) for port in numbers)

    def ask(job):
        guid, lid, numbers = job
        if not numbers:
            return {}
        for attempt in range(3):
            # Once in some thousand runs umad2sim crashes while it connects or disconnects: perfquery, not what it asks.
            done = sim.run("perfquery", "-x", "-l", lid, ",".join(map(str, numbers)), check=attempt == 2)
            if done.status >= 0:
                break
        text = done.out
        return {(guid, port): counters for port, counters in diags.extended_counters(text).items()}

    counters = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # ibsim has room for ten clients in all
        for some in pool.map(ask, work):
            counters.update(some)
    return counters


def run_traffic(sim):
    sim.traffic("resume")
    sim.run("sleep", "3")
    sim.traffic("pause")


def set_counters(sim, discovered, traffic=True):
    """Set individual counters for each port, or its errors alone, on ibsim's console. Return the errors of each port."""
    errors = {}
    with open("commands", "w", encoding="ascii") as file:
        for i, (guid, port) in enumerate(sorted(discovered.ports)):
            letter = "S" if discovered.nodes[guid]["type"] == "switch" else "H"
            values = {}
            if traffic:
                values = {"PortCountersExtended.PortXmitData": 10**11 + 7919 * i,
                          "PortCountersExtended.PortRcvData": 10**10 + 104729 * i,
                          "PortCountersExtended.PortXmitPkts": 10**8 + 31 * i,
                          "PortCountersExtended.PortRcvPkts": 10**7 + 17 * i}
            if i % 3 == 0:
                errors[guid, port] = {"symbol_errors": 1 + i % 60000, "xmit_discards": 2 + i % 50000, "link_downed": 1 + i % 250}
                values.update({"PortCounters.SymbolErrorCounter": errors[guid, port]["symbol_errors"],
                               "PortCounters.PortXmitDiscards": errors[guid, port]["xmit_discards"],
                               "PortCounters.LinkDownedCounter": errors[guid, port]["link_downed"]})
            for name, value in values.items():
                file.write(f'PerformanceSet "{letter}-{guid:016x}"[{port}] {name}={value}\n')
    sim.run(IBWIRE_SIM, "console", "!" + os.path.abspath("commands"))
    return errors


def compare_counters(name, sim, discovered, traffic):
    # Before other packets than MADs were counted, "words - 72 x packets" is 0 on every port;
    # the dumps have no traffic.
    before = read_counters(sim, discovered) if traffic else {}
    nothing = {"xmit_data": 0, "rcv_data": 0, "xmit_packets": 0, "rcv_packets": 0}
    sim.ibwire("collect", "--once")
    errors = {}
    if traffic:
        run_traffic(sim)
    else:
        errors = set_counters(sim, discovered)
    sim.ibwire("collect", "--once")
    after = read_counters(sim, discovered)
    rows = by_port(sim.json("ports"))
    work = sim.json("sql", "SELECT sum(mads_sent) + sum(discovery_smps) AS mads FROM sweep")[0]["mads"]

    ours, theirs, packets_wrong, bytes_seen = {}, {}, [], 0
    # Ours, those of perfquery (at most 4 a port and run), and of the discoveries of the other tools.
    most = 4 * work + 20 * len(after)
    for key in after:
        moved = {counter: after[key][counter] - before.get(key, nothing)[counter] for counter in nothing}
        theirs[key] = (moved["xmit_data"] - MAD_WORDS * moved["xmit_packets"],
                       moved["rcv_data"] - MAD_WORDS * moved["rcv_packets"])
        row = rows.get(key)
        if row is None or not row["window_s"]:
            continue
        got = []
        for way in ("xmit", "rcv"):
            words = round(row[f"{way}_bytes_per_s"] * row["window_s"] / 4)
            packets = round(row[f"{way}_packets_per_s"] * row["window_s"])
            got.append(words - MAD_WORDS * packets)
            if not 0 <= moved[f"{way}_packets"] - packets <= most:
                packets_wrong.append(f"{key} {way}: ibwire {packets}, perfquery {moved[f'{way}_packets']}")
            bytes_seen += words * 4
        ours[key] = tuple(got)
    tap.same(f"{name}: counters agree with perfquery -x", ours, theirs)
    tap.result(not packets_wrong, f"{name}: packets differ by datagrams only", "\n".join(packets_wrong[:20]))
    if traffic:
        busy = [key for key, (sent, received) in theirs.items() if sent and received]
        tap.result(len(busy) >= 16, f"{name}: traffic ran meanwhile", f"only {len(busy)} ports were busy")
        totals = [row["total"] for row in sim.json("history", "--top", "10", "--since", "-1h")]
        tap.result(len(totals) == 10 and None not in totals, f"{name}: totals of single sweeps are exact", totals)
        tap.note(f"{name}: {len(busy)} of {len(theirs)} ports were busy, {bytes_seen / 1e9:.1f} GB counted")
    else:
        seen = {key: row["errors"] for key, row in rows.items() if row["errors"]}
        tap.same(f"{name}: errors are what was set", seen, errors)


def compare_errors(name, sim, discovered):
    """After set_counters() and a sweep: what increased, by `ibwire errors` and by ibqueryerrors without thresholds."""
    with open("thresholds", "w", encoding="ascii") as file:
        file.writelines(f"{counter}=0\n" for counter in diags.ERRORS)
    set_counters(sim, discovered, traffic=False)  # a lower number of packets would be a reset
    sim.ibwire("collect", "--once")
    ours = {}
    for row in sim.json("errors"):
        ours.setdefault((diags.guid(row["node_guid"]), row["port"]), {})[row["counter"]] = row["count"]
        peer = discovered.ports[diags.guid(row["node_guid"]), row["port"]]["peer"]
        if (diags.guid(row["peer_guid"]), row["peer_port"]) != peer:
            tap.result(False, f"{name}: ibwire errors has the other end of the link", str(row))
    text = sim.run("ibqueryerrors", "--threshold-file", "thresholds", check=False).out  # 1: there are errors
    theirs = diags.queryerrors(text, discovered.by_port_guid)
    tap.same(f"{name}: errors agree with ibqueryerrors", ours, theirs)
    tap.result(len(theirs) > len(discovered.ports) // 4, f"{name}: a third of the ports has errors", f"{len(theirs)} ports")


def compare_names(name, sim, discovered):
    """A line of a node-name-map between two good ones, made of random parts. Where ibnetdiscover rejects the file,
    ibwire names the line and reads the others. It has no empty names, and strips spaces. ibnetdiscover has no mapped
    names of HCAs."""
    rng = random.Random(33)
    first, node, last = [guid for guid, known in discovered.nodes.items() if known["type"] == "switch"][:3]
    for number in range(30 if SHORT else 100):
        guid = rng.choice([f"0x{node:x}", f"0x{node:016x}", f"0X{node:X}", f"0x{node:016X}", f"{node}", f"0{node:o}",
                           f"{node:016x}g", "name", "\ufeff0x1"])
        gap = rng.choice([" ", " ", "\t", "  ", "\t ", " \"", " #", "#", "\"", ""])
        parts = ["leaf", "A-1", " ", "\t", "(root)", "\"", "\\\"", "#", "\u00e9", "MF0;x:MQM9700/U1", "'", ",", ":"]
        line = rng.choice(["", "", " ", "\t"]) + guid + gap + "".join(rng.choices(parts, k=rng.randrange(5)))
        newline = rng.choice(["\n", "\r\n", " \n", "\t\r\n"])
        more = rng.choice(["", f"0x{node:x} second{newline}"])
        with open("names.map", "w", encoding="utf-8", newline="") as file:
            file.write(f"0x{first:x} before{newline}{line}{newline}{more}0x{last:x} \"after\"" + rng.choice(["", newline]))
        theirs = sim.run("ibnetdiscover", "--node-name-map", "names.map")
        ours = sim.ibwire("nodes", "--node-name-map", "names.map", "--format", "json")
        names = {diags.guid(row["node_guid"]): row["node"] for row in json.loads(ours.out)}
        expected = {first: "before", last: "after"}
        if "failed to parse" in theirs.err:
            expected[node] = "second" if more else discovered.nodes[node]["description"].strip()
            unread = True
        else:
            expected[node] = diags.Discovered(theirs.out.replace("\r", "")).nodes[node]["description"].strip()
            unread = expected[node] in ("", "second") or not line.split(guid, 1)[1].strip("\"# \t")
            if not expected[node]:
                expected[node] = names[node]
        tap.same(f"{name}: names agree with a node-name-map {number}", {guid: names[guid] for guid in expected}, expected)
        tap.equal(f"{name}: an unread line is named {number}", (repr(line), "ignored, the first is line 2" in ours.err),
                  (repr(line), unread))


def agree(name, options, traffic=False):
    began = time.monotonic()
    with tap.part(name), Simulation(*options) as sim:
        if traffic:
            sim.traffic("pause")
        sim.ibwire("collect", "--once")
        discovered = diags.Discovered(sim.run("ibnetdiscover").out)
        linkinfo = diags.linkinfo(sim.run("iblinkinfo", "-l", "-o", "128").out)
        compare_nodes(name, sim.json("nodes"), discovered)
        compare_links(name, sim.json("links"), discovered)
        compare_ports(name, sim.json("ports"), discovered, linkinfo)
        compare_discoveries(name, sim)
        sim.ibwire("collect", "--once", "--discovery", "explorer")
        compare_nodes(name + ", by the explorer", sim.json("nodes"), discovered)
        compare_links(name + ", by the explorer", sim.json("links"), discovered)
        compare_ports(name + ", by the explorer", sim.json("ports"), discovered, linkinfo)
        compare_counters(name, sim, discovered, traffic)
        if traffic:
            compare_errors(name, sim, discovered)
            compare_names(name, sim, discovered)
    tap.note(f"{name}: {time.monotonic() - began:.0f} s")


def small(name):
    """The dumps that load quickly: old and unusual fabrics. Only their records are compared."""
    path = shared_data(f"topology/{name}.ibnetdiscover")
    if not path:
        tap.skip(f"{name}: both discoveries agree", "the published dump is not beside the checkout (IBWIRE_SHARED_DATA)")
        return
    with tap.part(name), Simulation("--net", path) as sim:
        compare_discoveries(name, sim)


if SHORT:
    agree("small cluster", ["--gen", "rail --hosts 4", "--traffic", "ring"], traffic=True)
else:
    agree("8-rail cluster", ["--gen", "rail", "--traffic", "ring"], traffic=True)
    for dump in ("dgx-ndr-582ca-40sw", "taurus-fdr-2104ca-211sw"):
        path = shared_data(f"topology/{dump}.ibnetdiscover")
        if path:
            agree(dump, ["--net", path])
        else:
            tap.skip(f"{dump} agrees", "the published dump is not beside the checkout (IBWIRE_SHARED_DATA)")
    for dump in ("fdr10-144ca-8sw", "hdr-director-faked", "mixed-6ca-2sw", "qdr-ddr-89ca-11sw", "sdr-4ca-2sw"):
        small(dump)
tap.done()
