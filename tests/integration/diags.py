# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Parsers for the output of the infiniband-diags.

Source of the formats: ibnetdiscover.c, iblinkinfo.c and perfquery.c of rdma-core 44; tested with Debian 12's packages.
"""
import re

SPEED_BY_GBPS = {"2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "14.0625": "FDR", "25.78125": "EDR", "53.125": "HDR",
                 "106.25": "NDR", "10.3125": "FDR10"}


def guid(text):
    return int(text, 16)


class Discovered:
    """The output of ibnetdiscover.

    nodes:  node GUID to {type, ports, description, lid}; the LID of a switch only
    ports:  (node GUID, port) to {peer, width, speed, lid}; peer is (node GUID, port); lid of an HCA's port only
    by_port_guid:  port GUID of an HCA to its node GUID
    """

    def __init__(self, text):
        self.nodes, self.ports, self.by_port_guid = {}, {}, {}
        ids = {}
        current = None
        links = []
        # A description may hold anything but a line's end, quotes too: the last quote of the known form counts.
        node_line = re.compile(r'^(Switch|Ca|Rt)\s+(\d+) "([^"]*)"\s+# "(.*)"(?: (enhanced|base) port 0 lid (\d+) lmc \d+)?$')
        switch_port = re.compile(r'^\[(\d+)\](?:\[ext \d+\])?\s+"([^"]*)"\[(\d+)\](?:\[ext \d+\])?(?:\([0-9a-f]+\))?\s*'
                                 r'# ".*" lid (\d+) (\d+x)(\S+)')
        ca_port = re.compile(r'^\[(\d+)\]\(([0-9a-f]+)\)\s+"([^"]*)"\[(\d+)\](?:\[ext \d+\])?(?:\s*\([0-9a-f]+\))?\s*'
                             r'# lid (\d+) lmc \d+ ".*" lid \d+ (\d+x)(\S+)')
        for line in text.splitlines():
            match = re.match(r"^(?:switch|ca|rt)guid=0x([0-9a-f]+)", line)
            if match:
                current = guid(match.group(1))
                continue
            match = node_line.match(line)
            if match:
                kind, ports, name, description, port0, lid = match.groups()
                ids[name] = current
                self.nodes[current] = {"type": {"Switch": "switch", "Ca": "ca", "Rt": "router"}[kind],
                                       "ports": int(ports), "description": description,
                                       "lid": int(lid) if lid else 0, "enhanced": port0 == "enhanced"}
                continue
            match = switch_port.match(line)
            if match:
                number, peer, peer_number, _, width, speed = match.groups()
                links.append((current, int(number), peer, int(peer_number), width, speed, None))
                continue
            match = ca_port.match(line)
            if match:
                number, port_guid, peer, peer_number, lid, width, speed = match.groups()
                self.by_port_guid[guid(port_guid)] = current
                links.append((current, int(number), peer, int(peer_number), width, speed, int(lid)))
        for node, number, peer, peer_number, width, speed, lid in links:
            self.ports[node, number] = {"peer": (ids[peer], peer_number), "width": width, "speed": speed, "lid": lid}


def linkinfo(text):
    """The output of iblinkinfo -l: (GUID, port) of every switch port and every cabled HCA port to {lid, state,
    phys_state, width, speed, peer_lid, peer_port, peer_name}; what a port that is down has no more is None. Of
    a switch the GUID is the node's, of an HCA the port's (see Discovered.by_port_guid)."""
    links = {}
    up = re.compile(r'^0x([0-9a-f]{16}) "(.*)"\s+(\d+)\s+(\d+)\[..\] ==\( ?(\d+)X +([0-9.]+) Gbps +(\w+)/ *(\w+)\)==> +'
                    r'0x([0-9a-f]{16}) +(\d+) +(\d+)\[..\] "(.*)" \(')
    down = re.compile(r'^0x([0-9a-f]{16}) "(.*)"\s+(\d+)\s+(\d+)\[..\] ==\( +(\w+)/ *(\w+)\)==>')
    for line in text.splitlines():
        match = up.match(line)
        if match:
            node, _, lid, port, lanes, gbps, state, phys, _, peer_lid, peer_port, peer_name = match.groups()
            links[guid(node), int(port)] = {"lid": int(lid), "state": state, "phys_state": phys, "width": lanes + "x",
                                            "speed": SPEED_BY_GBPS[gbps], "peer_lid": int(peer_lid),
                                            "peer_port": int(peer_port), "peer_name": peer_name}
            continue
        match = down.match(line)
        if match:
            node, _, lid, port, state, phys = match.groups()
            links[guid(node), int(port)] = {"lid": int(lid), "state": state, "phys_state": phys, "width": None,
                                            "speed": None, "peer_lid": None, "peer_port": None, "peer_name": None}
    return links


ERRORS = {"SymbolErrorCounter": "symbol_errors", "LinkDownedCounter": "link_downed", "PortXmitDiscards": "xmit_discards"}


def queryerrors(text, by_port_guid):
    """The output of ibqueryerrors: (node GUID, port) to its error counters above the threshold, by our names.

    by_port_guid:  see Discovered; of an HCA's port the line has the port GUID, of a switch's port the node GUID
    """
    ports = {}
    for owner, port, counters in re.findall(r"^ +GUID 0x([0-9a-f]+) port (\d+): (.*)$", text, re.MULTILINE):
        found = re.findall(r"\[(\w+) == (\d+)", counters)
        ports[by_port_guid.get(guid(owner), guid(owner)), int(port)] = {ERRORS.get(name, name): int(count)
                                                                        for name, count in found}
    return ports


COUNTERS = {"PortXmitData": "xmit_data", "PortRcvData": "rcv_data", "PortXmitPkts": "xmit_packets",
            "PortRcvPkts": "rcv_packets"}


def extended_counters(text):
    """The output of perfquery -x -l LID PORTS: port number to {xmit_data, rcv_data, xmit_packets, rcv_packets}."""
    ports = {}
    current = None
    for line in text.splitlines():
        match = re.match(r"^# Port extended counters: Lid \d+ port (\d+)", line)
        if match:
            current = ports.setdefault(int(match.group(1)), {})
            continue
        match = re.match(r"^(\w+):\.*(\d+)$", line)
        if match and current is not None and match.group(1) in COUNTERS:
            current[COUNTERS[match.group(1)]] = int(match.group(2))
    return ports


def perfquery(sim, discovered):
    """The counters of all ports that perfquery -x reads, by (node GUID as text, port)."""
    counters = {}
    for guid, node in discovered.nodes.items():
        numbers = sorted(port for owner, port in discovered.ports if owner == guid)
        jobs = [(node["lid"], numbers)] if node["type"] == "switch" else \
            [(discovered.ports[guid, port]["lid"], [port]) for port in numbers]
        for lid, ports in jobs:
            text = sim.run("perfquery", "-x", "-l", lid, ",".join(map(str, ports))).out
            for port, values in extended_counters(text).items():
                counters[f"0x{guid:016x}", port] = values
    return counters
