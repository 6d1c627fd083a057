#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# timeout: 600
"""ibwire and the infiniband-diags say the same of the same fabric, entry by entry.

On a generated 8-rail cluster with traffic and on published dumps of real
fabrics. What is tolerated, and why:

- Descriptions: leading and trailing spaces are not part of a name for ibwire.
- Of an HCA, ibnetdiscover and iblinkinfo list the cabled ports only; ibwire
  lists every port. Those that it has more must be down and have no peer.
- iblinkinfo prints no width and speed of a port that is down, neither does ibwire:
  on the wire they are stale.
- Counters: each datagram that asks for a counter is itself counted, 1 packet and
  72 words (288 octets: 256 of the MAD, 32 of headers, as ibsim counts them) at
  every port on its way. ibwire and perfquery cannot read at the same moment, so
  absolute numbers differ by a number of datagrams. "words - 72 x packets" does
  not change by them: it is compared exactly, over an interval in which the traffic
  runs. The packets alone may differ by the datagrams of the two tools: at most
  what both together sent.
"""
import concurrent.futures
import os
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests/integration")
import diags
from lib import SHORT, Simulation, Tap, need, shared_data

need("ibnetdiscover", "iblinkinfo", "perfquery", "ibsim", "opensm")
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
        text = sim.run("perfquery", "-x", "-l", lid, ",".join(map(str, numbers))).out
        return {(guid, port): counters for port, counters in diags.extended_counters(text).items()}

    counters = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # ibsim has room for ten clients in all
        for some in pool.map(ask, work):
            counters.update(some)
    return counters


def compare_counters(name, sim, discovered, traffic):
    before = read_counters(sim, discovered)
    sim.ibwire("collect", "--once")
    if traffic:
        sim.traffic("resume")
        sim.run("sleep", "3")
        sim.traffic("pause")
    second = sim.json("collect", "--once")
    after = read_counters(sim, discovered)
    rows = by_port(sim.json("ports"))

    def moved(key, counter):
        return after[key][counter] - before[key][counter]

    ours, theirs, packets_wrong, bytes_seen = {}, {}, [], 0
    most = 4 * second["mads_sent"] + 40000  # no more than all tools together have sent in between
    for key in before:
        row = rows.get(key)
        if row is None or row["window_s"] is None:
            theirs[key] = "counters"
            continue
        window = row["window_s"]
        got = {}
        for way in ("xmit", "rcv"):
            words = row[f"{way}_bytes_per_s"] * window / 4
            packets = row[f"{way}_packets_per_s"] * window
            got[way] = round(words) - MAD_WORDS * round(packets)
            extra = moved(key, f"{way}_packets") - round(packets)
            if not 0 <= extra <= most:
                packets_wrong.append(f"{key} {way}: ibwire {round(packets)}, perfquery {moved(key, f'{way}_packets')}")
            bytes_seen += round(words) * 4
        ours[key] = (got["xmit"], got["rcv"])
        theirs[key] = (moved(key, "xmit_data") - MAD_WORDS * moved(key, "xmit_packets"),
                       moved(key, "rcv_data") - MAD_WORDS * moved(key, "rcv_packets"))
    tap.same(f"{name}: counters agree with perfquery -x", ours, theirs)
    tap.result(not packets_wrong, f"{name}: packets differ by datagrams only", "\n".join(packets_wrong[:20]))
    if traffic:
        busy = [key for key, (sent, received) in theirs.items() if sent and received]
        tap.result(len(busy) >= 16, f"{name}: traffic ran meanwhile", f"only {len(busy)} ports were busy")
        tap.note(f"{name}: {len(busy)} of {len(theirs)} ports were busy, {bytes_seen / 1e9:.1f} GB counted")


def agree(name, options, traffic=False):
    with tap.part(name), Simulation(*options) as sim:
        if traffic:
            sim.traffic("pause")
        sim.ibwire("collect", "--once")
        discovered = diags.Discovered(sim.run("ibnetdiscover").out)
        linkinfo = diags.linkinfo(sim.run("iblinkinfo", "-l", "-o", "128").out)
        compare_nodes(name, sim.json("nodes"), discovered)
        compare_links(name, sim.json("links"), discovered)
        compare_ports(name, sim.json("ports"), discovered, linkinfo)
        compare_counters(name, sim, discovered, traffic)


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
tap.done()
