# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a topology.conf has to be, from the text of a net file alone; for tests of `ibwire topology slurm`.

Nothing here knows tiers or shapes: two hosts on the same switches are near each other, and what cables connect has one
root.
"""
import collections
import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
NODE = re.compile(r'(\w+)\s+(\d+) "([^"]+)"\s*# "([^"]*)"')
CABLE = re.compile(r'\[(\d+)\](?:\([0-9a-f]+\))?\s*"([^"]+)"\[\d+\]')


class Net:
    """Nodes of a net file: descriptions and neighbours by id."""

    def __init__(self, text):
        self.descriptions, self.peers = {}, collections.defaultdict(list)
        node = None
        for line in text.splitlines():
            found = NODE.match(line)
            if found:
                node = found[3]
                self.descriptions[node] = found[4]
                self.peers[node] = []
            cable = CABLE.match(line)
            if cable and node:
                self.peers[node].append(cable[2])

    def switches_of(self, compute):
        """Ids of the switches of each host whose name matches a pattern: {host: frozenset}."""
        hosts = collections.defaultdict(set)
        for node, description in self.descriptions.items():
            host = description.split(" ")[0].split(".")[0]
            if node.startswith("H-") and re.fullmatch(compute, host):
                hosts[host] |= {peer for peer in self.peers[node] if peer.startswith("S-")}
        return {host: frozenset(switches) for host, switches in hosts.items() if switches}

    def parts(self, hosts):
        """Number of unconnected parts that have hosts. Hosts connect their switches, as a job does."""
        near = {node: {peer for peer in peers if peer.startswith("S-")} for node, peers in self.peers.items() if node.startswith("S-")}
        for switches in hosts.values():
            for switch in switches:
                near[switch] |= switches
        seen, parts = set(), 0
        for switches in hosts.values():
            parts += not switches & seen
            work = list(switches)
            while work:
                switch = work.pop()
                if switch not in seen:
                    seen.add(switch)
                    work += near[switch]
        return parts


def expand(text):
    """The names of a list of Slurm: "node[001-003,7],x" """
    names = []
    for one in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        head, _, ranges = one.rstrip("]").partition("[")
        if not ranges:
            names.append(head)
        for numbers in filter(None, ranges.split(",")):
            first, _, last = numbers.partition("-")
            names += [f"{head}{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]
    return names


def read_conf(text):
    """Switches of a topology.conf or of `scontrol -o show topology`: {name: (hosts, switches)}."""
    switches = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        values = dict(word.partition("=")[::2] for word in line.split())
        if values["SwitchName"] in switches:
            raise ValueError(f"{values['SwitchName']} is there twice")
        switches[values["SwitchName"]] = (expand(values.get("Nodes", "")), expand(values.get("Switches", "")))
    return switches


def wrong(switches, hosts, parts):
    """What is wrong with a tree. @hosts: the switches of each; @parts: the number of roots, or None."""
    complaints = [f"{name} is no name" for name in switches if not NAME.fullmatch(name)]
    leaf_of, parent = {}, {}
    for name, (nodes, below) in switches.items():
        if bool(nodes) == bool(below):
            complaints.append(f"{name} has {len(nodes)} hosts and {len(below)} switches")
        for node in nodes:
            if node in leaf_of:
                complaints.append(f"{node} is in {leaf_of[node]} and {name}")
            leaf_of[node] = name
        for child in below:
            if child not in switches or child in parent:
                complaints.append(f"{name} has {child}, which {'has a parent' if child in parent else 'does not exist'}")
            parent[child] = name
    complaints += [f"{host} is missing" for host in hosts.keys() - leaf_of.keys()]
    complaints += [f"{host} is not in the fabric" for host in leaf_of.keys() - hosts.keys()]
    for name in switches:
        at, steps = name, 0
        while at in parent and steps <= len(switches):
            at, steps = parent[at], steps + 1
        if steps > len(switches):
            complaints.append(f"{name} is in a cycle")
    roots = switches.keys() - parent.keys()
    if parts is not None and len(roots) != parts:
        complaints.append(f"{len(roots)} roots of {parts} parts")
    same = {}
    for host, at in hosts.items():
        if same.setdefault(at, leaf_of.get(host)) != leaf_of.get(host):
            complaints.append(f"{host} is in {leaf_of.get(host)}, another one with the same switches is in {same[at]}")
    return complaints
