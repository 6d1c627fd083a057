#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# timeout: 1200
"""All faces agree: what two commands, metrics, pages or screens show of one fact is equal.

Databases are written without a fabric: one in which ports are in every state, at four moments (tests/screen/faces_db),
and scenarios in virtual time (tests/screen/record_db). Each ends at one moment, and every face is asked for it. What a
face shows is taken apart into facts: a subject (the fabric, a node, a port, a link, a group, a finding, an event, a
window of 60 s), a key, and a value. The keys of JSON are the keys of facts; KEYS_OF_METRICS and HEADINGS map the names
of metrics and the headings of tables and screens to them. All values of one fact must be equal, as exactly as a face
prints them. A metric or a heading that is neither mapped nor excluded fails the test.

With IBWIRE_LONG=1 every scenario is compared at two moments; otherwise a few at one.
"""
import contextlib
import csv
import glob
import html.parser
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SHORT, SRCDIR, Tap, free_port, run, stamp_of, stop, wait_for
from remote_write import Receiver

tap = Tap()
BUILD = os.environ["IBWIRE_BUILD"]
END = 1790000000
WINDOW_S = 60  # of balance, for the intervals of these databases
FABRIC = ("fabric",)
os.environ["TZ"] = "UTC"
os.environ["XDG_CONFIG_HOME"] = os.getcwd()

# Keys that are not the same fact on two faces: they name another time, row or window of each.
NOT_FACTS = {"time", "window_s", "window_since", "until", "since", "db", "size_bytes", "log_bytes", "age_s",
             "peer_age_s", "samples", "elapsed_s"}
# Columns that identify the subject of a row.
IDENTITY = {"node_guid", "port", "node", "peer_guid", "peer", "peer_port"}
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


class About:
    """A number that is printed with few digits."""

    def __init__(self, value, half):
        self.value, self.half = value, half

    def __repr__(self):
        return f"{self.value:g}"


def about(digits, scale=1.0):
    """"12.3" with a scale: as exact as its last digit."""
    places = len(digits.partition(".")[2])
    return About(float(digits) * scale, 0.51 * 10 ** -places * scale)


def equal(a, b):
    if isinstance(a, About) or isinstance(b, About):
        if a is None or b is None:
            return a is b
        a, b = (one if isinstance(one, About) else About(float(one), 0) for one in (a, b))
        return abs(a.value - b.value) <= a.half + b.half + 1e-6 * max(abs(a.value), abs(b.value))
    if isinstance(a, bool) or isinstance(b, bool) or isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-9)
    return a == b


class Facts:
    """Values by subject and key, with the face that shows them."""

    def __init__(self):
        self.values, self.unknown = {}, set()

    def add(self, face, subject, key, value):
        self.values.setdefault((subject, key), []).append((face, value))

    def compare(self):
        """Return the number of facts that two faces have, of compared values, and the contradictions."""
        facts = values = 0
        wrong = []
        for (subject, key), shown in sorted(self.values.items(), key=str):
            if len({face for face, _ in shown}) < 2:
                continue
            facts += 1
            values += len(shown)
            differ = sorted({(face, repr(value)) for face, value in shown
                             for other in shown if not equal(value, other[1])})
            if differ:
                wrong.append(f"{' '.join(map(str, subject))} {key}: " + "; ".join(" ".join(one) for one in differ[:6]))
        return facts, values, wrong


def place(row, prefix=""):
    """The subject of a row: a port, a node, or None."""
    guid = row.get(prefix + ("guid" if prefix else "node_guid"))
    port = row.get(prefix + "port")
    if not guid:
        return None
    return ("node", guid) if port is None else ("port", guid, int(port))


def link_of(row):
    ends = sorted([(row["node_guid"], int(row["port"])), (row["peer_guid"], int(row["peer_port"]))])
    return ("link", *ends[0], *ends[1])


def add_values(facts, face, subject, values, rename=None):
    for key, value in values.items():
        if key in NOT_FACTS or key in IDENTITY:
            continue
        if isinstance(value, dict):
            for name, number in value.items():
                facts.add(face, subject, f"{key}.{name}", number)
        elif not isinstance(value, list):
            facts.add(face, subject, (rename or {}).get(key, key), value)
        else:
            facts.add(face, subject, key, " ".join(sorted(map(str, value))))


def add_port_rows(facts, face, rows, kind="port", rename=None):
    for row in rows:
        subject = (kind, row["node_guid"], int(row["port"]))
        own = {key: value for key, value in row.items() if not key.startswith("peer_")}
        add_values(facts, face, subject, own, rename)
        facts.add(face, subject, "peer_guid", row["peer_guid"])
        facts.add(face, subject, "peer_port", row["peer_port"])
        facts.add(face, ("node", row["node_guid"]), "node", row["node"])
        if row["peer_guid"]:
            facts.add(face, ("node", row["peer_guid"]), "node", row["peer"])


def add_link_rows(facts, face, rows):
    for row in rows:
        facts.add(face, link_of(row), "status", row["status"])
        facts.add(face, link_of(row), "finding", row["finding"])
        own = {key: value for key, value in row.items() if not key.startswith("peer_")
               and key not in ("status", "finding")}
        own["status"] = own.pop("node_status")
        own |= {key: row[key] for key in ("peer_guid", "peer_port", "peer")}
        add_port_rows(facts, face, [own])
        peer = {key[5:]: value for key, value in row.items() if key.startswith("peer_") and key not in IDENTITY}
        add_values(facts, face, ("port", row["peer_guid"], int(row["peer_port"])), peer)


def add_status(facts, face, row):
    for key in ("last_time", "discovery_time"):
        row[key] = row[key] and row[key][:19] + "Z"
    add_values(facts, face, FABRIC, row)


def add_directions(facts, face, rows):
    """The traffic of each direction of a link: as sent, or else as received at the other end."""
    for row in rows:
        ends = [(row["node_guid"], row["port"]), (row["peer_guid"], row["peer_port"])]
        for i, prefix in enumerate(("", "peer_")):
            other = "" if prefix else "peer_"
            for key in ("{}_bytes_per_s", "{}_utilization_percent"):
                sent, received = row[prefix + key.format("xmit")], row[other + key.format("rcv")]
                facts.add(face, ("direction", *ends[i], *ends[1 - i]), key.format("xmit"),
                          received if sent is None else sent)


def add_node_rows(facts, face, rows):
    for row in rows:
        add_values(facts, face, ("node", row["node_guid"]), row)
        facts.add(face, ("node", row["node_guid"]), "node", row["node"])


def traffic(rows, way, by_port):
    """Sum over ports with a link, as counted at either end; None: not exact for one of them."""
    def rate_of(row, key, opposite):
        peer = by_port.get((row["peer_guid"], row["peer_port"]))
        return row[key] if row[key] is not None or not peer else peer[opposite]

    keys = ("xmit_bytes_per_s", "rcv_bytes_per_s")
    rates = []
    for row in rows:
        both = [rate_of(row, *keys), rate_of(row, *reversed(keys))]
        if both != [None, None] or (row["status"] != "down" and row["port"]):
            rates.append(both[way == "rcv"])
    return sum(rates) if rates and None not in rates else None


def severity_of(text):
    return ("acknowledged", "clearing", "info", "warning", "critical").index(text.split()[0]) + 1 if text else 0


def check_findings(ports, links, nodes, health):
    """No finding of `health` is missing from the rows of its port, link and node, and none is invented."""
    by_port = {(row["node_guid"], row["port"]): row["finding"] for row in ports}
    by_node = {row["node_guid"]: row["finding"] for row in nodes}
    wrong = []
    for row in links:
        ends = [by_port.get(end) for end in ((row["node_guid"], row["port"]), (row["peer_guid"], row["peer_port"]))]
        if max(map(severity_of, ends)) != severity_of(row["finding"]) or row["finding"] not in ends:
            wrong.append(f"link {row['node']}/{row['port']}: {row['finding']}, its ends {ends}")
    for row in health:
        if row["acknowledged_by"] or not row["node_guid"]:
            continue
        severity = severity_of(row["severity"] if not row["ok_since"] else "clearing")
        shown = [by_node.get(row["node_guid"])]
        shown += [by_port[row["node_guid"], row["port"]]] if (row["node_guid"], row["port"]) in by_port else []
        wrong += [f"{row['kind']} {row['subject']}: {text}" for text in shown if severity_of(text) < severity]
    kinds = {row["kind"] for row in health}
    wrong += [f"{text}: not in health" for text in {*by_port.values(), *by_node.values()}
              if text and severity_of(text) > 3 and text.split()[1] not in kinds]
    return wrong


def add_sums(facts, ports, nodes):
    """Numbers that follow from rows: ports by status, links by state, nodes by class, traffic of hosts."""
    hosts = {row["node_guid"] for row in nodes if row["class"] not in ("switch", "aggregation", "router") or
             row["type"] == "ca" and row["class"] == "router"}
    for status in {row["status"] for row in ports}:
        facts.add("rows of ports", FABRIC, f"ports_by_status.{status}", sum(row["status"] == status for row in ports))
    by_port = {(row["node_guid"], row["port"]): row for row in ports}
    for way in ("xmit", "rcv"):
        facts.add("rows of ports", FABRIC, f"hosts_{way}_bytes_per_s",
                  traffic([row for row in ports if row["node_guid"] in hosts], way, by_port))
    # Multicast raises one counter on a healthy fabric: it is in no sum.
    sums = {}
    for row in ports:
        counted = sum(value for key, value in row["errors"].items() if key != "rcv_switch_relay_errors")
        sums[row["node_guid"]] = sums.get(row["node_guid"], 0) + counted
    for node in nodes:
        # Of a lower bound all faces have what is certain.
        bound = "errors" in node["lower_bounds"]
        unknown = node["errors"] is None and not bound
        facts.add("rows of ports", ("node", node["node_guid"]), "lower_bounds.errors" if bound else "errors",
                  None if unknown else sums.get(node["node_guid"], 0))
    facts.add("rows of ports", FABRIC, "errors_of_ports", sum(sums.values()))
    facts.add("rows of nodes", FABRIC, "errors_of_ports",
              sum(row["errors"] or row["lower_bounds"].get("errors", 0) for row in nodes))
    facts.add("rows of nodes", FABRIC, "switches", sum(row["type"] == "switch" for row in nodes))
    facts.add("rows of nodes", FABRIC, "hcas",
              sum(row["type"] == "ca" and row["class"] != "aggregation" for row in nodes))
    facts.add("rows of nodes", FABRIC, "aggregation_nodes", sum(row["class"] == "aggregation" for row in nodes))
    facts.add("rows of nodes", FABRIC, "routers", sum(row["type"] == "router" for row in nodes))
    facts.add("rows of nodes", FABRIC, "nodes", len(nodes))
    facts.add("rows of ports", FABRIC, "ports_down", sum(row["state"] == "Down" for row in ports))
    facts.add("rows of ports", FABRIC, "ports_unplanned", sum(row["status"] == "unplanned" for row in ports))
    facts.add("rows of ports", FABRIC, "ports_mirrored", sum(row["status"] == "mirrored" for row in ports))
    facts.add("rows of ports", FABRIC, "ports_unsupported", sum(row["status"] == "unsupported" for row in ports))
    ranks = ["Down", "Init", "Armed", "Active"]
    states = {(row["node_guid"], row["port"]): row["state"] for row in ports}
    active = sum(row["state"] == states.get((row["peer_guid"], row["peer_port"])) == ranks[3] for row in ports
                 if row["peer_guid"])
    facts.add("rows of ports", FABRIC, "links_active", active // 2)
    facts.add("rows of ports", FABRIC, "ports_bounded",
              sum(row["status"] in ("ok", "idle", "mirrored") and None in
                  (row["xmit_bytes_per_s"], row["rcv_bytes_per_s"]) for row in ports))
    for low in ranks[1:3]:
        links = [min(ranks.index(row["state"]), ranks.index(states[row["peer_guid"], row["peer_port"]]))
                 for row in ports if row["peer_guid"] and (row["peer_guid"], row["peer_port"]) in states]
        facts.add("rows of ports", FABRIC, f"links_{low.lower()}", links.count(ranks.index(low)) // 2)
    for node in nodes:
        own = [row for row in ports if row["node_guid"] == node["node_guid"]]
        facts.add("rows of ports", ("node", node["node_guid"]), "ports_active",
                  sum(row["state"] == "Active" and row["port"] > 0 for row in own))
        for way in ("xmit", "rcv"):
            facts.add("rows of ports", ("node", node["node_guid"]), f"{way}_bytes_per_s", traffic(own, way, by_port))


def add_findings(facts, face, rows):
    for row in rows:
        subject = ("finding", row["kind"], row["subject"])
        add_values(facts, face, subject, {key: value for key, value in row.items()
                                          if key not in ("numbers", "evidence", "hosts", "ports", "nodes", "kind",
                                                         "subject")})


def add_balance(facts, face, rows):
    for row in rows:
        group = ("group", row["node_guid"], row["group_peer_guid"] or "uplinks", row["direction"])
        for key in ("state", "cause", "adaptive_routing", "excess_percent", "mean_utilization_percent",
                    "max_utilization_percent", "links", "links_built", "tables_uneven", "measured_uneven", "harm"):
            facts.add(face, group, key, row[key])
        facts.add(face, group, f"active.{row['port']}", row["active"])
        way = "xmit" if row["direction"] == "xmit" else "rcv"
        if row["active"]:
            facts.add(face, ("60 s of a link", row["node_guid"], row["port"]), f"{way}_utilization_percent",
                      row["utilization_percent"])
    for group in {(row["node_guid"], row["group_peer_guid"] or "uplinks", row["direction"]) for row in rows}:
        facts.add(face, ("group", *group), "links_active",
                  sum(row["active"] for row in rows
                      if (row["node_guid"], row["group_peer_guid"] or "uplinks", row["direction"]) == group))


def add_report(facts, face, report, names):
    """The ports, findings of `ibwire report`; ports have their displayed name."""
    for row in report["ports"]:
        subject = names.port(row["port"])
        if not subject:
            continue
        for key in ("state", "phys_state", "rate_gbps", "lid", "xmit_bytes_per_s", "rcv_bytes_per_s", "status"):
            facts.add(face, subject, key, row[key])
        facts.add(face, subject, "link_rate", row["link"])
    for row in report["findings"]:
        if not row["closed"]:
            add_values(facts, face, ("finding", row["kind"], row["subject"]),
                       {key: row[key] for key in ("severity", "cause", "text")})


def add_jobs(facts, face, rows):
    """Rhythms, from rows of data or of a table."""
    for row in rows:
        if "JOB" not in row:
            add_values(facts, face, ("job", row["id"]), {key: row[key] for key in ("name", "rhythm_text", "period_s",
                       "wire_percent", "trend_percent", "phase")})
            continue
        subject = ("job", row["JOB"])
        found = re.match(r"^([\d.]+) s$", row["ITERATION"])
        facts.add(face, subject, "period_s", about(found[1]) if found else None)
        facts.add(face, subject, "wire_percent", number(row["WIRE%"]))
        if "LONGER%" in row:
            facts.add(face, subject, "trend_percent", number(row["LONGER%"]))
        if row["PHASE"]:
            facts.add(face, subject, "phase", row["PHASE"])


def add_job(facts, face, report):
    """A job of the last minute: the window of balance."""
    for row in report["ports"]:
        for way in ("xmit", "rcv"):
            if row["ports_known"] and not row["mirrored"]:
                facts.add(face, ("60 s", row["node_guid"], row["port"]), f"{way}_bytes_per_s",
                          row[f"mean_{way}_bytes_per_s"])
        subject = ("port", row["node_guid"], row["port"])
        facts.add(face, subject, "rate_gbps", row["rate_gbps"])
        facts.add(face, subject, "state", row["state"])
        facts.add(face, subject, "peer_guid", row["peer_guid"])
        facts.add(face, subject, "peer_port", row["peer_port"])
    for row in report["uplinks"]:
        if row["utilization_percent"] is not None:
            subject = ("60 s of a link", row["node_guid"], row["port"])
            facts.add(face, subject, f"{row['direction']}_utilization_percent", row["utilization_percent"])
    for row in report["uplink_groups"]:
        group = ("group", row["node_guid"], "uplinks", row["direction"])
        facts.add(face, group, "state", row["state"])
        facts.add(face, group, "cause", row["cause"])
        facts.add(face, group, "links", row["links"])
        # What switches do follows from ten windows of balance; the job has one minute.
        if row["adaptive_routing"] != "unknown":
            facts.add(face, group, "adaptive_routing", row["adaptive_routing"])
        facts.add(face, group, "excess_percent", row["imbalance_percent"])
    for row in report["findings"]:
        if not row["closed"]:
            add_values(facts, face, ("finding", row["kind"], row["subject"]),
                       {key: row[key] for key in ("severity", "text", "advice")})
    facts.add(face, FABRIC, "aggregation_nodes", report["job"]["aggregation_nodes"])


def add_node_pages(facts, db, nodes, names):
    """The page of each switch on the screen: its ports, and the totals."""
    for node in [node for node in nodes if node["type"] == "switch"][:8]:
        name = names.shown[node["node_guid"]]
        if len(names.guids[name]) != 1:
            continue
        shown = run(BUILD + "/tests/screen/show_screen", db, f"{END * 1000000}", "110", "300",
                    f"4/{name}\n\njj\n", "<down>").out.split("== ")[-1].split("\n")
        if not shown[5].startswith(f"node      {name}  switch"):
            continue
        total = next(line for line in shown if line.startswith("total"))
        found = re.match(r"total +TX (.*?)  RX (.*?)  ", total)
        facts.add("top node", ("node", node["node_guid"]), "xmit_bytes_per_s", rate(found[1]))
        facts.add("top node", ("node", node["node_guid"]), "rcv_bytes_per_s", rate(found[2]))
        start = next((i for i, line in enumerate(shown) if line.startswith("PORT  PEER")), len(shown))
        for line in shown[start + 1:]:
            row = dict(zip(re.split(r"\s{2,}", shown[start].strip()), re.split(r"\s{2,}", line.strip())))
            if not row["PORT"].isdigit():
                break
            subject = ("port", node["node_guid"], int(row["PORT"]))
            facts.add("top node", subject, "status", row["STATUS"])
            if row["LINK"] != "-":
                facts.add("top node", subject, "link", row["LINK"])
            facts.add("top node", subject, "xmit_bytes_per_s", rate(row["TX"]))
            facts.add("top node", subject, "rcv_bytes_per_s", rate(row["RX"]))
            facts.add("top node", subject, "xmit_utilization_percent", number(row["TX%"]))
            facts.add("top node", subject, "rcv_utilization_percent", number(row["RX%"]))


def add_group_tables(facts, db, at):
    """The words and numbers of groups in the tables of balance and of the screen."""
    words = {"MAX UTIL%": ("max_utilization_percent", number), "UTIL%": ("max_utilization_percent", number),
             "IMBALANCE%": ("excess_percent", number),
             "TESTS": ("tests", plain), "CAUSE": ("cause", plain), "AR": ("adaptive_routing", plain)}
    shown = run(BUILD + "/tests/screen/show_screen", db, f"{END * 1000000}", "110", "300", "3gi").out.split("\n")
    text = text_of(db, at, "balance", "--all").split("\n")
    for face, lines in (("top balance", shown), ("balance (table)", text)):
        start = next((i for i, line in enumerate(lines) if line.startswith("GROUP ")), None)
        rows = []
        for line in lines[start or 0:] if start is not None else []:
            if not line.strip():
                break
            rows.append(line)
        for row in table(rows) if len(rows) > 1 else []:
            for heading, (key, parse) in words.items():
                if heading in row:
                    facts.add(face, ("group row", row["GROUP"]), key, parse(row[heading]))


# --- metrics ---

# Family without "ibwire_": key, and factor to the unit of the key.
KEYS_OF_METRICS = {
    "sweep_timestamp_seconds": ("last_time", None), "sweep_duration_seconds": ("sweep_us", 1e6),
    "sweep_interval_seconds": ("interval_s", 1), "sweep_ports_polled": ("ports_polled", 1),
    "sweep_ports_responding": ("ports_answered", 1), "sweep_coverage_ratio": ("coverage_percent", 100),
    "sweep_mads": ("mads_sent", 1), "sweep_mads_timed_out": ("mads_timed_out", 1),
    "discovery_timestamp_seconds": ("discovery_time", None), "links": ("links", 1), "links_active": ("links_active", 1),
    "ports_with_lower_bounds": ("ports_bounded", 1),
    "sweeps_total": ("sweeps", 1), "findings_acknowledged": ("findings_acknowledged", 1),
    "group_imbalance_ratio": ("excess_percent", 100), "group_mean_utilization_ratio": ("mean_utilization_percent", 100),
    "group_max_utilization_ratio": ("max_utilization_percent", 100), "group_links_active": ("links_active", 1),
    "group_links_built": ("links_built", 1), "port_rate_bits_per_second": ("rate_gbps", 1e-9),
    "port_xmit_utilization_ratio": ("xmit_utilization_percent", 100),
    "port_rcv_utilization_ratio": ("rcv_utilization_percent", 100),
    "port_xmit_wait_ratio": ("stall_percent", 100), "port_symbol_ber": ("symbol_ber", 1),
    "port_degraded": ("degraded", 1), "port_rcv_packet_mean_bytes": ("rcv_packet_bytes_mean", 1),
    "port_xmit_bytes_total": ("counters.xmit_data", 0.25), "port_rcv_bytes_total": ("counters.rcv_data", 0.25),
}
CLASSES = {"ca": "hcas", "switch": "switches", "router": "routers", "aggregation": "aggregation_nodes"}
STATES = {1: "Down", 2: "Init", 3: "Armed", 4: "Active"}
# Not on another face, or of the time of the request.
ONLY_METRICS = {"build_info", "collector_live", "database_size_bytes", "metrics_build_duration_seconds",
                "port_reading_timestamp_seconds", "port_responding", "port_xmit_wait_seconds_total"}
RESPONDING = {1: {"ok", "idle", "new", "init"}, 0: {"silent", "locked"}}


def add_metric(facts, face, name, labels, value, skip_totals=False):
    guid = labels.get("node_guid")
    subject = ("port", guid, int(labels["port"])) if guid and "port" in labels else ("node", guid) if guid else FABRIC
    if name.startswith("process_"):
        return
    name = name[len("ibwire_"):]
    if name == "nodes":
        facts.add(face, FABRIC, CLASSES[labels["type"]], value)
    elif name == "findings":
        facts.add(face, FABRIC, f"findings.{labels['kind']}.{labels['severity']}", value)
    elif name == "finding_info":
        for key in ("id", "severity", "cause"):
            text = labels.get(key) or None
            facts.add(face, ("finding", labels["kind"], labels["subject"]), key,
                      int(text) if text and key == "id" else text)
    elif name == "job_info":
        facts.add(face, ("job", labels["id"]), "name", labels["name"] or None)
    elif name in ("job_iteration_seconds", "job_wire_ratio"):
        facts.add(face, ("job", labels["id"]), *(("period_s", About(value, 1e-5)) if name.startswith("job_i") else
                                                 ("wire_percent", About(100 * value, 1e-3))))
    elif name == "job_stalled":
        if value:
            facts.add(face, ("job", labels["id"]), "phase", "stalled")
    elif name == "job_slower_ratio":
        facts.add(face, ("job", labels["id"]), "trend_percent", About(100 * (value - 1), 1e-3))
    elif name == "port_info":
        facts.add(face, subject, "width", labels.get("width") or None)
        facts.add(face, subject, "speed", None if labels.get("speed") in (None, "", "unknown") else labels["speed"])
        facts.add(face, subject, "role", labels.get("role") or None)
        facts.add(face, subject, "rail", labels.get("rail") or None)
        facts.add(face, subject, "peer_port", int(labels["peer_port"]) if labels.get("peer_port") else None)
    elif name == "port_state":
        facts.add(face, subject, "state", STATES[value])
    elif name.startswith("group_"):
        if name in KEYS_OF_METRICS:
            ways = [labels["direction"]] if "direction" in labels else ["xmit"]
            key, factor = KEYS_OF_METRICS[name]
            peer = labels["group"] if labels["group"] == "uplinks" else "named " + labels["group"]
            facts.add(face, ("group", guid, peer, ways[0]), key, About(value * factor, abs(value * factor) * 1e-5))
    elif name in KEYS_OF_METRICS:
        key, factor = KEYS_OF_METRICS[name]
        if skip_totals and name.endswith("_total"):
            return
        # Six digits, or milliseconds.
        facts.add(face, subject, key, stamp_of_value(value) if factor is None else
                  About(value * factor, max(abs(value * factor) * 1e-5, 600 if key == "sweep_us" else 0)))
    elif name.startswith("port_") and name.endswith("_total") and name not in ONLY_METRICS:
        if not skip_totals:
            facts.add(face, subject, "counters." + name[5:-6], value)
    elif name not in ONLY_METRICS:
        facts.unknown.add(f"{face}: {name}")


def stamp_of_value(seconds):
    return stamp_of(round(seconds, 3))


LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def add_metrics(facts, face, text):
    for line in text.splitlines():
        found = LINE.match(line)
        if found and not line.startswith("#"):
            add_metric(facts, face, found[1], dict(LABEL.findall(found[2] or "")), float(found[3]))


def add_push(facts, db):
    receiver = Receiver()
    run(IBWIRE, "push", "--db", db, "--remote-write", receiver.url, "--once", "--cursor", db + ".cursor")
    for labels, series in receiver.series.items():
        labels = dict(labels)
        add_metric(facts, "push", labels.pop("__name__"), labels, series[max(series)], skip_totals=True)
    receiver.stop()


# --- tables and screens ---

def number(text):
    """None for a lower bound, "12.3+", which is null in data."""
    if text.rstrip().endswith("+"):
        return None
    found = re.match(r"^(-?[0-9.]+)([kMGTP]?)", text)
    return about(found[1], UNITS[found[2]]) if found else None


def rate(text):
    """Bytes per second of "12.3 Gb/s" or "12.3G"."""
    found = re.match(r"^([0-9.]+) ?([kMGTP]?)(b/s)?$", text)
    return about(found[1], UNITS[found[2]] / 8) if found else None


def plain(text):
    return None if text in ("", "-") else text


def errors(text):
    """By counter; JSON leaves out the values that are 0, and lists saturated counters apart."""
    words = [] if text in ("0", "-") else text.split(", ")
    return None if text == "-" else {one.split()[0]: one.split(" ", 1)[1] for one in words if " 0+" not in one}


HEADINGS = {"LID": ("lid", number), "STATE": ("state", lambda text: text.split("/")[0]), "LINK": ("link", plain),
            "STATUS": ("status", plain), "TX": ("xmit_bytes_per_s", rate), "RX": ("rcv_bytes_per_s", rate),
            "TX%": ("xmit_utilization_percent", number), "RX%": ("rcv_utilization_percent", number),
            "XmitWait%": ("stall_percent", number), "Wait%": ("stall_percent", number),
            "TXpkt/s": ("xmit_packets_per_s", number), "RXpkt/s": ("rcv_packets_per_s", number),
            "CLASS": ("class", plain), "TIER": ("tier", number), "PORTS": ("port_count", number),
            "ACTIVE": ("ports_active", number), "ERRORS": ("errors", number)}
# Of another kind: drawn, of another moment, or the subject itself.
NOT_HEADINGS = {"PORT", "NODE", "PEER", "AGE", "TX LOAD", "RX LOAD", "LAST SWEEPS", "LOAD", "FINDING", "WHICH ERRORS",
                "LAST", "SWEEPS", "WHICH", "PKTS", "PeerWait/s",
                "PeerWait%", "XmitWait/s", "PWait%", "PWait/s", "Wait/s", "GUID", "MODEL", "NODE GUID", "TX PORTS"}


def table(lines):
    """Rows by heading of a table of fixed columns: the gaps are blank in every line."""
    width = max(map(len, lines))
    lines = [line.ljust(width) for line in lines]
    blank = [all(line[i] == " " for line in lines) for i in range(width)] + [True]
    parts, fields = [[i, i] for i in range(width) if not blank[i] and (not i or blank[i - 1])], []
    for part in parts:
        part[1] = next(i for i in range(part[0], width + 1) if blank[i])
    numbers = None
    for start, end in parts:
        # A gap within all names, or between all numbers and their unit, is none.
        if lines[0][start:end].strip() or not fields:
            fields.append([start if numbers is None else numbers, end])
            numbers = None
        elif any(re.match(r" [kMGT]?b/s", line[end:]) for line in lines[1:]):
            numbers = start
        else:
            fields[-1][1] = end
    # A heading may have two words, such as TX LOAD behind TX: the first field has the name.
    return [{lines[0][a:b].strip().strip("▼▲"): line[a:b].strip() for a, b in reversed(fields)}
            for line in lines[1:]]


def add_table(facts, face, rows, find, headings=HEADINGS):
    for row in rows:
        subject = find(row)
        if not subject:
            continue
        for heading, cell in row.items():
            if heading in headings:
                key, parse = headings[heading]
                facts.add(face, subject, key, parse(cell))
            elif heading not in NOT_HEADINGS and heading:
                facts.unknown.add(f"{face}: {heading}")


def add_titles():
    """The headings of columns of ports, as the program lists them: a number, unless it is a rate or a word."""
    words = {"role", "rail", "cage", "phys_state", "width", "speed"}
    for row in json.loads(run(IBWIRE, "ports", "--columns", "help", "--format", "json").out):
        key, title = row["key"], row["title"]
        if title not in NOT_HEADINGS and not key.startswith("peer_"):
            parse = plain if key in words else rate if key.endswith("bytes_per_s") else number
            HEADINGS.setdefault(title, (key, parse))


def all_columns():
    """The keys of all columns of one end of a port that are numbers or words."""
    return [row["key"] for row in json.loads(run(IBWIRE, "ports", "--columns", "help", "--format", "json").out)
            if not row["key"].startswith("peer_") and row["key"] not in NOT_FACTS | {"name", "errors", "counters"}]


class Names:
    """Displayed names of nodes and ports."""

    def __init__(self, db, at, nodes):
        rows = table(text_of(db, at, "nodes").rstrip().split("\n"))
        self.shown, self.guids = {}, {}
        ordered = [row["node_guid"] for row in nodes]
        for row, guid in zip(rows, ordered):
            self.shown[guid] = row["NODE"]
            self.guids.setdefault(row["NODE"], []).append(guid)
        self.rows = list(zip(ordered, rows))

    def port(self, name):
        """A port by "NAME/NUMBER"; None if the name is cut or not unique."""
        node, _, port = name.rpartition("/")
        guids = self.guids.get(node, [])
        return ("port", guids[0], int(port)) if len(guids) == 1 and port.isdigit() else None


def text_of(db, at, *command):
    return run(IBWIRE, *command, "--db", db, *moment(command[0], at), "--color", "never", "--no-pager",
               env={**os.environ, "COLUMNS": "1000"}).out


def moment(command, at):
    return ["--until", at] if command == "events" else ["--at", at]


def json_of(db, at, *command, check=True):
    done = run(IBWIRE, *command, "--db", db, *moment(command[0], at), "--format", "json", check=False)
    if check and done.status not in ((0, 1, 2) if command[0] == "health" else (0,)):
        raise RuntimeError(str(done))
    return json.loads(done.out) if done.out else []


def csv_of(db, at, *command):
    done = run(IBWIRE, *command, "--db", db, *moment(command[0], at), "--format", "csv")
    return list(csv.DictReader(io.StringIO(done.out)))


HEADER = {"links": r"links (\d+)", "links_down": r"links \d+.*?  (\d+) down", "links_init": r"links \d+.*?  (\d+) init",
          "links_armed": r"links \d+.*?  (\d+) armed", "switches": r"(\d+) switches", "routers": r"(\d+) routers?",
          "aggregation_nodes": r"(\d+) aggregation nodes?", "ports_by_status.silent": r"(\d+) ports? silent",
          "ports_by_status.init": r"(\d+) ports? init", "ports_by_status.unsupported": r"(\d+) ports? unsupported",
          "ports_by_status.locked": r"(\d+) locked", "hcas": r"(\d+) HCAs", "links_degraded": r"(\d+) degraded"}
ZERO_IF_MISSING = {"links_down", "links_init", "links_armed", "routers", "aggregation_nodes", "links_degraded"}


def add_status_text(facts, face, lines):
    """Each line of the table of status, and the numbers in those of nodes and links."""
    for key, value in lines.items():
        facts.add(face, FABRIC, "status." + key, value)
    words = {"switch": "switches", "HCA": "hcas", "aggregation node": "aggregation_nodes", "router": "routers"}
    counts = {}
    for count, word in re.findall(r"(\d+) ([A-Za-z ]+?)(?:e?s)?(?:,|$)", lines["nodes"]):
        counts[words.get(word, word)] = int(count)
    for key in words.values():
        facts.add(face, FABRIC, key, counts.get(key, 0))
    facts.add(face, FABRIC, "nodes", int(lines["nodes"].split(":")[0]))
    facts.add(face, FABRIC, "links", int(lines["links"].split(",")[0]))
    facts.add(face, FABRIC, "links_active", int(re.search(r"(\d+) of them active", lines["links"])[1]))
    for word in ("armed", "init", "down", "degraded"):
        found = re.search(rf"(\d+) {word}", lines["links"])
        facts.add(face, FABRIC, "links_" + word, int(found[1]) if found else 0)


class Tables(html.parser.HTMLParser):
    """The tables of a page: rows of cells; and its text."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.cell, self.text = [], None, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.rows and self.cell is not None:
            self.rows[-1].append(self.cell.strip())
            self.cell = None

    def handle_data(self, data):
        data = data.replace("\u00a0", " ")
        self.text += data
        if self.cell is not None:
            self.cell += data


def add_page(facts, face, text, health, names):
    page = Tables(text)
    # A sign of the severity precedes a value.
    lines = {row[0].strip("\u2003 "): row[1].lstrip("\u25b2\u2716\u2714 ") for row in page.rows if len(row) == 2}
    for key, value in lines.items():
        if key in ("nodes", "links", "ports down", "ports responding", "subnet manager", "unresponsive nodes",
                   "locked nodes", "MADs of that sweep", "newest sweep", "interval", "not read"):
            facts.add(face, FABRIC, "status." + key, value)
    # The page leaves out findings that only inform, and folds consequences.
    for row in (row for row in health if row["severity"] != "info" and not row["origin"]):
        shown = row["text"] in re.sub(r"\s+", " ", page.text)
        facts.add(face, ("finding", row["kind"], row["subject"]), "text", row["text"] if shown else None)
    for row in page.rows:
        subject = names.port(row[0]) if len(row) == 6 else None
        if subject and rate(row[3]):
            subject = ("60 s", *subject[1:])
            facts.add(face, subject, "xmit_bytes_per_s", rate(row[3]))
            facts.add(face, subject, "rcv_bytes_per_s", rate(row[4]))


def add_screens(facts, db, names, health, events):
    shown = run(BUILD + "/tests/screen/show_screen", db, f"{END * 1000000}", "110", "300", "1", "2", "5", "3", "7").out
    screens = {one.split("\n")[0]: one.split("\n")[1:] for one in shown.split("== ")[1:]}
    header = screens["2"][1]
    for key, pattern in HEADER.items():
        found = re.search(pattern, header if key != "ports_by_status.locked" else screens["2"][0])
        if found or key in ZERO_IF_MISSING:
            facts.add("top header", FABRIC, key, int(found[1]) if found else 0)
    # "?": only lower bounds of 0, after resets.
    found = re.search(r"errors ([\d,]+|\?)\+? since", screens["2"][2])[1].replace(",", "")
    if found != "?":
        facts.add("top header", FABRIC, "errors_of_ports", int(found))
    found = re.search(r"responded (\d+)/(\d+)", screens["2"][0])
    facts.add("top header", FABRIC, "ports_answered", int(found[1]))
    facts.add("top header", FABRIC, "ports_polled", int(found[2]))
    found = re.search(r"hosts TX (.*?), RX (.*?)(?:  |$)", screens["2"][2])
    facts.add("top header", FABRIC, "hosts_xmit_bytes_per_s", rate(found[1]))
    facts.add("top header", FABRIC, "hosts_rcv_bytes_per_s", rate(found[2]))
    start = next(i for i, line in enumerate(screens["2"]) if "PORT " in line and "STATUS" in line)
    rows = table([line for line in screens["2"][start:-2] if line.strip()])
    # Errors are of the time since the start, rates of the link and not of the first end.
    of_links = {"TX", "RX", "TX%", "RX%", "STATUS", "ERRORS"}
    add_table(facts, "top links", [{key: cell for key, cell in row.items() if key not in of_links} for row in rows],
              lambda row: names.port(row["PORT"]))
    for row in rows:
        a, b = names.port(row["PORT"]), names.port(row["PEER"])
        if a and b:
            ends = sorted([a[1:], b[1:]])
            facts.add("top links", ("link", *ends[0], *ends[1]), "status", row["STATUS"].replace("peer ", ""))
            for way, one, other in (("TX", a, b), ("RX", b, a)):
                subject = ("direction", *one[1:], *other[1:])
                facts.add("top links", subject, "xmit_bytes_per_s", rate(row[way]))
                facts.add("top links", subject, "xmit_utilization_percent", number(row[way + "%"]))
    # The list has a line below it, and the report of the job.
    start = next(i for i, line in enumerate(screens["7"]) if "JOB" in line and "ITERATION" in line)
    add_jobs(facts, "top jobs", table(screens["7"][start:start + 2]))
    problems = re.compile(r"^[ >](CRIT|WARN|info|ok|ack) +(.*?) {2,}([0-9:A-Za-z -]+?) {2,}(\S+)")
    words = {"CRIT": "critical", "WARN": "warning", "info": "info"}
    of = {}
    for row in health:
        of.setdefault(row["subject"], []).append(row)
    for line in screens["1"]:
        found = problems.match(line)
        rows = of.get(found[2], []) if found else []
        if len(rows) == 1 and found[1] in words:
            subject = ("finding", rows[0]["kind"], found[2])
            facts.add("top problems", subject, "severity", words[found[1]])
            facts.add("top problems", subject, "cause", found[4] if found[4] != rows[0]["kind"] else rows[0]["cause"])
    for line in screens["5"]:
        found = re.match(r"^[ >]*(\d\d:\d\d:\d\d) +(info|warn|crit)\w* +(\S+) ", line)
        if found and " x" not in line:
            severity = {"warn": "warning", "crit": "critical"}.get(found[2], found[2])
            several = {row["severity"] for row in events if row["time"][11:19] == found[1] and row["kind"] == found[3]}
            subject = ("event", found[1], found[3], severity)
            facts.add("top events", subject, "severity", severity)
            facts.add("events", subject, "severity", severity if severity in several else " ".join(several))


def add_server(facts, db, at, names, health):
    """/api/ and the page of metrics."""
    address = f"127.0.0.1:{free_port()}"
    with open("metrics.log", "ab") as log:
        server = subprocess.Popen([IBWIRE, "metrics", "--db", db, "--listen", address], stdin=subprocess.DEVNULL,
                                  stderr=log)

    def get(path):
        with urllib.request.urlopen(f"http://{address}{path}", timeout=120) as answer:
            return answer.read().decode()

    def answers():
        try:
            return bool(get("/metrics"))
        except OSError:
            return False

    try:
        if not wait_for(answers):
            raise RuntimeError("metrics does not answer")
        add_metrics(facts, "/metrics", get("/metrics"))
        add_port_rows(facts, "/api/ports", json.loads(get(f"/api/ports?at={at}")))
        add_link_rows(facts, "/api/links", json.loads(get(f"/api/links?at={at}")))
        add_node_rows(facts, "/api/nodes", json.loads(get(f"/api/nodes?at={at}")))
        add_jobs(facts, "/api/job/list", json.loads(get(f"/api/job/list?at={at}")))
        add_findings(facts, "/api/health", json.loads(get(f"/api/health?at={at}")))
        add_status(facts, "/api/status", json.loads(get(f"/api/status?at={at}")))
        add_balance(facts, "/api/balance", json.loads(get(f"/api/balance?all&at={at}")))
        add_page(facts, "/", get("/"), health, names)
    finally:
        stop(server)


def collect(db):
    """The facts of every face at the end of a database."""
    at, facts = stamp_of(END), Facts()
    nodes, ports = json_of(db, at, "nodes"), json_of(db, at, "ports", "--all")
    names, health = Names(db, at, nodes), json_of(db, at, "health")
    add_status(facts, "status", json_of(db, at, "status"))
    add_port_rows(facts, "ports", ports)
    for row in json_of(db, at, "ports", "--all", "--columns", ",".join(all_columns())):
        values = {key: value for key, value in row.items() if key not in ("link", "load", "util")}
        add_values(facts, "ports --columns", ("port", row["node_guid"], row["port"]), values)
        facts.add("ports --columns", ("port", row["node_guid"], row["port"]), "link_rate", row["link"])
    add_node_rows(facts, "nodes", nodes)
    links = json_of(db, at, "links")
    add_link_rows(facts, "links", links)
    add_directions(facts, "links", links)
    degraded = json_of(db, at, "links", "--degraded")
    facts.add("links --degraded", FABRIC, "links_degraded", len(degraded))
    ends = {(row[guid], row[port]) for row in degraded
            for guid, port in (("node_guid", "port"), ("peer_guid", "peer_port"))}
    for row in ports:
        if row["rate_gbps"]:
            end = row["node_guid"], row["port"]
            facts.add("links --degraded", ("port", *end), "degraded", int(end in ends))
    facts.add("topology --summary", FABRIC, "links_degraded",
              len(json_of(db, at, "topology", "show", "--summary")["links_slow"]))
    add_findings(facts, "health", health)
    add_balance(facts, "balance", json_of(db, at, "balance", "--all"))
    facts.add("rows", FABRIC, "wrong_findings", "; ".join(check_findings(ports, links, nodes, health)))
    facts.add("none", FABRIC, "wrong_findings", "")
    add_sums(facts, ports, nodes)
    for row in json_of(db, at, "topology", "show"):
        add_values(facts, "topology", ("node", row["node_guid"]),
                   {key: row[key] for key in ("class", "tier", "host") if key in row})
        if row["up_links"]:
            group = ("group", row["node_guid"], "uplinks", "xmit")
            facts.add("topology", group, "links", row["up_links"])
            facts.add("topology", group, "links_active", row["up_links_active"])
    for kind in {(row["kind"], row["severity"]) for row in health if not row["acknowledged_by"]}:
        facts.add("rows of health", FABRIC, f"findings.{kind[0]}.{kind[1]}",
                  sum((row["kind"], row["severity"]) == kind for row in health
                      if not row["acknowledged_by"] and not row["ok_since"]))
    facts.add("rows of health", FABRIC, "findings_acknowledged", sum(bool(row["acknowledged_by"]) for row in health))
    # The window of balance.
    window = ["--since", stamp_of(END - WINDOW_S)]
    rows = json_of(db, at, "ports", *window)
    add_port_rows(facts, "ports --since", rows, "60 s")
    # Of a port that was not read, the link has the numbers of its other end.
    by_port = {(row["node_guid"], row["port"]): row for row in rows}
    for row in rows:
        peer = by_port.get((row["peer_guid"], row["peer_port"]), {})
        for way, back in (("xmit", "rcv"), ("rcv", "xmit")):
            own = row[f"{way}_utilization_percent"]
            facts.add("ports --since", ("60 s of a link", row["node_guid"], row["port"]), f"{way}_utilization_percent",
                      peer.get(f"{back}_utilization_percent") if own is None else own)
    done = run(IBWIRE, "history", "--db", db, *window, "--until", at, "--top", "1000", "--format", "json", check=False)
    for row in json.loads(done.out) if done.status == 0 else []:
        for key in ("xmit_bytes_per_s", "rcv_bytes_per_s"):
            facts.add("history --top", ("60 s", row["node_guid"], row["port"]), key, row[key])
    done = run(IBWIRE, "history", "--db", db, *window, "--until", at, "--top", "1000", "--by", "errors",
               "--format", "json", check=False)
    of_ports = {(row["node_guid"], row["port"]): row["errors"] for row in rows}
    for row in json.loads(done.out) if done.status == 0 else []:
        errors_of_row = of_ports.get((row["node_guid"], row["port"]), {})
        facts.add("history --top --by errors", ("60 s", row["node_guid"], row["port"]), "errors",
                  row["total"] if row["total"] is not None else row["lower_bounds"].get("total"))
        facts.add("ports --since", ("60 s", row["node_guid"], row["port"]), "errors",
                  sum(value for key, value in errors_of_row.items() if key != "rcv_switch_relay_errors"))
    # Texts of the commands.
    add_table(facts, "ports (table)", table(text_of(db, at, "ports", "--all").rstrip().split("\n")),
              lambda row: names.port(row["PORT"]), {**HEADINGS, "ERRORS": ("errors", errors)})
    for guid, row in names.rows:
        add_table(facts, "nodes (table)", [row], lambda _, guid=guid: ("node", guid))
    for row in ports:
        subject = ("port", row["node_guid"], row["port"])
        facts.add("ports", subject, "errors", None if not row["errors"] and len(row["errors_unknown"]) > 10 else {
            key: f"{value}+ (saturated)" if key in row["errors_unknown"] else str(value)
            for key, value in row["errors"].items() if value})
    for (subject, key), shown in list(facts.values.items()):
        if key == "link":  # both words, of each end
            for face, value in shown:
                facts.add(face, subject, "link_rate", value and value.removesuffix(" degraded"))
                facts.add(face, subject, "degraded", value and int(value.endswith(" degraded")))
    for row in ports:
        facts.add("ports", ("port", row["node_guid"], row["port"]), "link_rate",
                  f"{row['width']} {row['speed']}" if row["width"] and row["speed"] else None)
    lines = {}
    for line in text_of(db, at, "status").splitlines():
        key, _, value = re.sub(r"\s{2,}", "\t", line.strip()).partition("\t")
        lines[key] = value
    add_status_text(facts, "status (table)", lines)
    add_page(facts, "status --html", run(IBWIRE, "status", "--html=-", "--db", db, "--at", at).out, health, names)
    for command in ("ports", "links", "nodes"):
        for row, other in zip(csv_of(db, at, command), json_of(db, at, command)):
            for key in ("status", "state", "node", "peer", "width", "speed", "rate_gbps"):
                if key in row:
                    facts.add(f"{command} (csv)", (command, row["node_guid"], row.get("port")), key, row[key])
                    value = "" if other[key] is None else other[key]
                    whole = isinstance(value, float) and value.is_integer()
                    facts.add(f"{command} (json)", (command, row["node_guid"], row.get("port")), key,
                              str(int(value) if whole else value))
    for node in nodes[:12]:
        if len(names.guids[names.shown[node["node_guid"]]]) == 1:
            add_report(facts, "report", json_of(db, at, "report", names.shown[node["node_guid"]]), names)
    jobs = json.loads(run(IBWIRE, "job", "list", "--db", db, "--format", "json").out)
    add_jobs(facts, "job list", jobs)
    # Each screen, page and command has the newest minute of the job, which ended with the newest sweep.
    add_jobs(facts, "job list --at", json_of(db, at, "job", "list"))
    add_jobs(facts, "job list (table)", table(text_of(db, at, "job", "list", "--columns",
             "id,period_s,wire_percent,trend_percent,phase").splitlines()))
    for job in (job for job in jobs if job["id"] == "17"):
        done = run(IBWIRE, "job", "report", job["id"], "--db", db, "--format", "json")
        add_job(facts, "job report", json.loads(done.out))
        add_jobs(facts, "job report", [json.loads(done.out)["job"]])
    add_node_pages(facts, db, nodes, names)
    add_group_tables(facts, db, at)
    add_metrics(facts, "metrics --once", run(IBWIRE, "metrics", "--once", "--db", db).out)
    add_push(facts, db)
    for face in ("metrics --once", "push"):
        verdicts = [value.value for (subject, key), shown in facts.values.items() if subject[0] == "port"
                    and key == "degraded" for of, value in shown if of == face and value is not None]
        if verdicts:
            facts.add(face, FABRIC, "links_degraded", sum(verdicts) / 2)
    add_screens(facts, db, names, health, json_of(db, at, "events"))
    add_server(facts, db, at, names, health)
    # Metrics name the other switch of a group.
    for (subject, key), shown in list(facts.values.items()):
        if subject[0] == "group" and str(subject[2]).startswith("named "):
            guids = names.guids.get(subject[2][6:], [])
            for face, value in shown if len(guids) == 1 else []:
                facts.add(face, ("group", subject[1], guids[0], subject[3]), key, value)
    return facts


# Findings about the fabric as a whole, or about the collector.
WITHOUT_PLACE = {"sm-lost", "topology-changed", "log-growing", "store-stalled", "traffic-fell",
                 "nodes-left-out"}


def check(name, db, long_list=15):
    began = time.monotonic()
    with tap.part(name):
        facts = collect(db)
        count, values, wrong = facts.compare()
        more = [f"... and {len(wrong) - long_list} more"] if len(wrong) > long_list else []
        tap.result(not wrong, f"{name}: {count} facts that several faces show are equal",
                   "\n".join(wrong[:long_list] + more))
        tap.result(count > 200, f"{name}: there are facts to compare", str(count))
        tap.equal(f"{name}: every finding has a place",
                  [f"{row['kind']} {row['subject']}" for row in json_of(db, stamp_of(END), "health", "--all")
                   if not row["nodes"] and not row["ports"] and row["kind"] not in WITHOUT_PLACE], [])
        tap.equal(f"{name}: every metric and heading is mapped", sorted(facts.unknown), [])
        tap.note(f"{name}: {count} facts, {values} values, {time.monotonic() - began:.1f} s")


def unknown_errors(name, db):
    """Where a port's errors are unknown, no face asserts that there are none."""
    at = stamp_of(END - 70 if name == "reset" else END)  # the first sweep after the reset
    ports = [f"{row['node']}/{row['port']}" for row in json_of(db, at, "ports")
             if row["status"] in ("ok", "mirrored", "unsupported") and len(row["errors_unknown"]) > 11]
    tap.result(ports or name == "healthy", f"{name}: ports have unknown errors", str(ports))
    wrong = []
    for port in ports[:4]:
        for command in (["errors", port], ["links", "--errors", "--since", stamp_of(END - 3600), port], ["report", port]):
            text = text_of(db, at, *command)
            wrong += [f"{command}: {line}" for line in text.splitlines() if re.match("no error", line) and "unknown" not in line]
    tap.equal(f"{name}: unknown errors are not none", wrong, [])


def every_state():
    for moment_name in ("healthy", "fault", "clearing", "reset"):
        db = os.path.abspath(f"{moment_name}.db")
        run(BUILD + "/tests/screen/faces_db", db, moment_name, END)
        check(f"every state, {moment_name}", db)
        unknown_errors(moment_name, db)


def other_settings():
    """Readers use the settings of the collector, which the database has; those that a user names come first."""
    global WINDOW_S
    usual = WINDOW_S
    WINDOW_S = 180
    db = os.path.abspath("fault.db")
    before = json_of(db, stamp_of(END), "balance", "--all")
    with contextlib.closing(sqlite3.connect(db)) as rows, rows:
        rows.execute("REPLACE INTO meta VALUES ('settings', ?)",
                     (f"; of a newer version\n[balance]\nwindow = {WINDOW_S}s\nunknown = 7\n[unknown]\na = b\n",))
    check("every state, another window of balance", db)
    tap.result(json_of(db, stamp_of(END), "balance", "--all") != before, "the other window has another balance")
    open("defaults.conf", "w").close()
    tap.equal("a settings file that is named comes first",
              json_of(db, stamp_of(END), "balance", "--all", "--settings", "defaults.conf"), before)
    WINDOW_S = usual


def scenario(name, *lengths):
    for length in lengths or (0,):
        db = os.path.abspath(f"{name}-{length}.db")
        run(BUILD + "/tests/screen/record_db", f"{SRCDIR}/tests/scenarios/{name}.scenario", db, END, length,
            timeout=300)
        check(name + (f" until {length} s" if length else ""), db)


if __name__ == "__main__":
    add_titles()
    every_state()
    other_settings()
    if not SHORT:
        for one in ("one-lane-from-the-beginning", "routes-skewed-leaf"):
            scenario(one)
        # Adaptive routing is inferred from several windows.
        scenario("routes-skewed-leaves-adaptive", 600)
    if os.environ.get("IBWIRE_LONG"):
        for path in sorted(glob.glob(SRCDIR + "/tests/scenarios/*.scenario")):
            scenario(os.path.basename(path)[:-len(".scenario")], 600, 0)
    tap.done()
