#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Generate the dashboards of this folder, for Grafana 9 and later and the metrics of `ibwire metrics`.

In a query, "{" begins the labels of a metric, to which the filter by job, instance and fabric is added; numbers of
several fabrics are never added up: BY is the beginning of each "by (...)".

Usage: generate.py [FOLDER]
"""
import json
import os
import re
import sys

STAT, GRAPH, TABLE, WIDE, HALF, THIRD, QUARTER = "stat", "timeseries", "table", 24, 12, 8, 6
SCOPE = 'job=~"$job",instance=~"$instance",fabric=~"$fabric"'
BY = "job, instance, fabric"
RATE = "[$__rate_interval]"
# Of several fabrics, the legend begins with the fabric.
PORT = "{{node}}/{{port}}"
# What is green, and from which value on it has another colour. Limits of findings: ibwire health --explain.
GOOD_ONE, GOOD_ZERO = [("red", None), ("green", 1)], [("green", None), ("red", 1)]
STALL = [("green", None), ("orange", 0.1), ("red", 0.3)]       # congestion
COVERAGE = [("red", None), ("orange", 0.9), ("green", 0.99)]   # coverage
LOAD = [("green", None), ("orange", 0.7)]                      # harm_utilization
BER = [("green", None), ("orange", 5e-15), ("red", 1e-14)]     # symbol-errors, HDR and later
AGE = [("green", None), ("orange", 60), ("red", 300)]
SOURCE = {"type": "prometheus", "uid": "$datasource"}


def scoped(query):
    """A query with the filter in each selector; "{}" is one without labels of its own."""
    return re.sub(r"\b(ibwire_\w+)\{([^}]*)\}", lambda found: found[1] + "{" + SCOPE + (
        "," + found[2] if found[2] else "") + "}", query)


def info(labels, selector=""):
    """Join labels of ibwire_port_info. selector: of these ports only."""
    return f" * on ({BY}, node_guid, port) group_left ({labels}) ibwire_port_info{{{selector}}}"


def variable(name, label, query, many=True):
    return {"name": name, "label": label, "type": "query", "query": {"query": query, "refId": name},
            "datasource": SOURCE, "refresh": 2, "sort": 7, "multi": many, "includeAll": many,
            "allValue": ".*" if many else None}


def of_fabric(name, label, query, many=True):
    return variable(name, label, scoped(query), many)


# A label that the series do not have has the value "", which only "All" selects.
COMMON = [
    {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
    variable("job", "Scrape job", "label_values(ibwire_collector_live, job)"),
    variable("instance", "Instance", 'label_values(ibwire_collector_live{job=~"$job"}, instance)'),
    variable("fabric", "Fabric", 'label_values(ibwire_collector_live{job=~"$job",instance=~"$instance"}, fabric)'),
    {"name": "page", "label": "Page of ibwire metrics", "type": "textbox", "query": "http://127.0.0.1:9683"},
]
HERE = 'node="$node",port=~"$port"'
OF_HOSTS = info("host, rail", 'host!="",host=~"$host"')


def sent(function="rate"):
    return f"{function}(ibwire_port_xmit_bytes_total{{}}{RATE})"


def received():
    return f"rate(ibwire_port_rcv_bytes_total{{}}{RATE})"


def increase(counter, labels=""):
    return f"increase(ibwire_port_{counter}_total{{{labels}}}{RATE})"


def total(query, by=""):
    return f"sum by ({BY}{by and ', ' + by}) ({query})"


# Panels: title, description, kind, unit, width of 24, pairs of query and legend, limits.
DASHBOARDS = {
    "fabric": ("InfiniBand fabric", [], [
        ("Collector", "1 while a collector holds the database. 0: the fabric is not polled.", STAT, "bool_on_off", QUARTER,
         [("ibwire_collector_live{}", "collector")], GOOD_ONE),
        ("Age of the newest sweep", "Time since the start of the newest stored sweep. The collector is late after three "
         "intervals, and 30 s at least.", STAT, "s", QUARTER, [("time() - ibwire_sweep_timestamp_seconds{}", "age")], AGE),
        ("Ports responding", "Share of the polled ports that responded in the newest sweep. Counters of the others are "
         "unknown.", STAT, "percentunit", QUARTER, [("ibwire_sweep_coverage_ratio{}", "coverage")], COVERAGE),
        ("Links that are not Active", "Links that are down or being configured, of all that the topology has.", STAT,
         "short", QUARTER, [("ibwire_links{} - ibwire_links_active{}", "links")], GOOD_ZERO),
        ("Open findings", "Findings that are neither acknowledged nor clearing nor explained by another one, with their "
         "place; the 200 worst. ibwire health shows measurements and action.", TABLE, "none", WIDE,
         [("ibwire_finding_info{}", "")], None),
        ("Findings by severity", "Number of open findings that count for the exit status of ibwire health.", GRAPH, "short",
         HALF, [(total("ibwire_findings{}", "severity"), "{{severity}}")], None),
        ("Findings by kind", "Open findings of the kinds that occur.", GRAPH, "short", HALF,
         [(total("ibwire_findings{}", "kind") + " > 0", "{{kind}}")], None),
        ("Traffic of hosts", "Bytes per second that all HCAs send and receive.", GRAPH, "Bps", HALF, [
            (total(sent() + info("host", 'host!=""')), "sent"),
            (total(received() + info("host", 'host!=""')), "received")], None),
        ("Busiest ports", "Ports with the highest load in send direction in the newest sweep.", GRAPH, "percentunit", HALF,
         [("topk(10, ibwire_port_xmit_utilization_ratio{})", PORT)], LOAD),
        ("Ports with the highest XmitWait", "Share of the time in which a port had data and no credits to send it. The "
         "limits are those of the finding congestion on a trunk.", GRAPH, "percentunit", HALF,
         [("topk(10, ibwire_port_xmit_wait_ratio{})", PORT)], STALL),
        ("Errors of links", "Increase of error counters of all ports.", GRAPH, "short", HALF,
         [(total(increase(counter)), legend) for counter, legend in (
             ("symbol_errors", "symbol errors"), ("rcv_errors", "receive errors"), ("xmit_discards", "discards"),
             ("link_downed", "link downed"))], None),
        ("Sweep", "Duration of a sweep and the configured time between two.", GRAPH, "s", HALF, [
            ("ibwire_sweep_duration_seconds{}", "duration"), ("ibwire_sweep_interval_seconds{}", "interval")], None),
        ("Database", "Size of the database and its log.", GRAPH, "bytes", HALF,
         [("ibwire_database_size_bytes{}", "size")], None),
    ]),
    "balance": ("InfiniBand balance", [of_fabric("node", "Switch", "label_values(ibwire_group_links_built{}, node)")], [
        ("Most uneven groups", "Load of the hottest link above the mean of its group, relative to the mean. Uneven load "
         "is no fault by itself: few flows are never even (ibwire balance).", GRAPH, "percentunit", HALF, [
             ('topk(10, ibwire_group_imbalance_ratio{node=~"$node"})', "{{node}} {{group}} {{direction}}")], None),
        ("Hottest link of a group", "Utilization of the hottest link of each group of equivalent links.", GRAPH,
         "percentunit", HALF, [
             ('topk(10, ibwire_group_max_utilization_ratio{node=~"$node"})', "{{node}} {{group}} {{direction}}")], LOAD),
        ("Hottest uplink and mean of uplinks", "The distance of the two lines is capacity that uneven load wastes.", GRAPH,
         "percentunit", HALF, [
             (f'max by ({BY}) (ibwire_group_max_utilization_ratio{{node=~"$node",group="uplinks"}})', "hottest uplink"),
             (f'avg by ({BY}) (ibwire_group_mean_utilization_ratio{{node=~"$node",group="uplinks"}})', "mean of uplinks")],
         LOAD),
        ("Links missing or down", "Links that a group is built with and that are not Active.", GRAPH, "short", HALF, [
            ('topk(10, ibwire_group_links_built{node=~"$node"} - ibwire_group_links_active{node=~"$node"})',
             "{{node}} {{group}}")], GOOD_ZERO),
        ("Traffic by rail", "Bytes per second that the ports of each rail send.", GRAPH, "Bps", HALF,
         [(total(sent() + info("rail", 'rail!=""'), "rail"), "{{rail}}")], None),
        ("Traffic by role of the port", "Bytes per second by the role of the sending port in the topology.", GRAPH, "Bps",
         HALF, [(total(sent() + info("role", 'role!=""'), "role"), "{{role}}")], None),
    ]),
    "link": ("InfiniBand link", [of_fabric("node", "Node", "label_values(ibwire_port_info{}, node)", False),
                                 of_fabric("port", "Port", 'label_values(ibwire_port_info{node="$node"}, port)')], [
        ("Traffic", "Bytes per second.", GRAPH, "Bps", HALF, [
            (f"rate(ibwire_port_xmit_bytes_total{{{HERE}}}{RATE})", "{{port}} sent"),
            (f"rate(ibwire_port_rcv_bytes_total{{{HERE}}}{RATE})", "{{port}} received")], None),
        ("Utilization and XmitWait", "Load relative to the data rate, and the share of time without credits. The limits "
         "are those of the finding congestion on a trunk.", GRAPH, "percentunit", HALF, [
             (f"ibwire_port_xmit_utilization_ratio{{{HERE}}}", "{{port}} sent"),
             (f"ibwire_port_rcv_utilization_ratio{{{HERE}}}", "{{port}} received"),
             (f"ibwire_port_xmit_wait_ratio{{{HERE}}}", "{{port}} XmitWait")], STALL),
        ("Errors", "Increase of error counters.", GRAPH, "short", HALF, [
            (increase(counter, HERE), "{{port}} " + counter) for counter in
            ("symbol_errors", "link_error_recovery", "link_downed", "rcv_errors", "xmit_discards")], None),
        ("Symbol error rate", "Symbol errors per bit in the newest sweep. The limits are those of HDR and later.", GRAPH,
         "sci", HALF, [(f"ibwire_port_symbol_ber{{{HERE}}}", "{{port}}")], BER),
        ("State", "PortState: 1 Down, 2 Init, 3 Armed, 4 Active; and 1 if the port responded.", GRAPH, "short", HALF, [
            (f"ibwire_port_state{{{HERE}}}", "{{port}}"), (f"ibwire_port_responding{{{HERE}}}", "{{port}} responding")],
         [("red", None), ("green", 4)]),
        ("Data rate", "Data rate of the link; it is lower after a lane was lost.", GRAPH, "bps", HALF,
         [(f"ibwire_port_rate_bits_per_second{{{HERE}}}", "{{port}}")], None),
        ("Link", "Peer, host, rail, role, width and speed of the ports.", TABLE, "none", WIDE,
         [(f"ibwire_port_info{{{HERE}}}", "")], None),
        ("Age of readings", "Time since the counters were read last.", GRAPH, "s", HALF,
         [(f"time() - ibwire_port_reading_timestamp_seconds{{{HERE}}}", "{{port}}")], AGE),
        ("Packets", "Packets per second.", GRAPH, "pps", HALF, [
            (f"rate(ibwire_port_xmit_packets_total{{{HERE}}}{RATE})", "{{port}} sent"),
            (f"rate(ibwire_port_rcv_packets_total{{{HERE}}}{RATE})", "{{port}} received")], None),
        ("Degraded", "1 if the link runs below the width or speed that both ends have enabled or were built with.", GRAPH,
         "short", HALF, [(f"ibwire_port_degraded{{{HERE}}}", "{{port}}")], GOOD_ZERO),
    ]),
    "job": ("InfiniBand job", [of_fabric("host", "Hosts", "label_values(ibwire_port_info{}, host)")], [
        ("Traffic", "Bytes per second that the HCAs of these hosts send and receive.", GRAPH, "Bps", HALF, [
            (total(sent() + OF_HOSTS), "sent"), (total(received() + OF_HOSTS), "received")], None),
        ("Traffic by rail", "Bytes per second by rail; rails of a job carry the same load.", GRAPH, "Bps", HALF,
         [(total(sent() + OF_HOSTS, "rail"), "{{rail}}")], None),
        ("Slowest hosts", "The hosts that send least: a collective operation is as fast as its slowest member.", GRAPH,
         "Bps", HALF, [(f"bottomk(5, {total(sent() + OF_HOSTS, 'host')})", "{{host}}")], None),
        ("Imbalance of hosts", "Standard deviation of the bytes that hosts send, relative to their mean.", GRAPH,
         "percentunit", HALF, [
             (f"stddev by ({BY}) ({total(sent() + OF_HOSTS, 'host')}) / avg by ({BY}) ({total(sent() + OF_HOSTS, 'host')})",
              "imbalance")], None),
        # The unit of PortXmitWait is documented for switches only.
        ("Leaf ports with the highest XmitWait to a host", "A port that waits for a host: the host does not receive fast "
         "enough.", GRAPH, "percentunit", HALF, [
             ("topk(5, ibwire_port_xmit_wait_ratio{}" + info("peer", 'role="leaf-to-host",peer=~"$host.*"') + ")",
              "{{peer}}")], STALL),
        ("Errors of the hosts' ports", "Increase of error counters by host.", GRAPH, "short", HALF, [
            (f"topk(5, {total(increase(counter) + OF_HOSTS, 'host')})", "{{host}} " + legend) for counter, legend in
            (("symbol_errors", "symbol errors"), ("rcv_errors", "receive errors"))], None),
        ("HCA ports that are not Active", "Ports of these hosts in another state than Active.", STAT, "short", HALF, [
            (total(f"(ibwire_port_state{{}}{OF_HOSTS}) != bool 4"), "ports")], GOOD_ZERO),
        ("Links below their rate", "Links of these hosts that run below the width or speed that both ends have enabled or "
         "were built with.", STAT, "short", HALF, [(total("ibwire_port_degraded{}" + OF_HOSTS), "links")], GOOD_ZERO),
    ]),
}


def annotation(name, colour, query, title, text, tags):
    """Each series is a range of time."""
    return {"name": name, "datasource": SOURCE, "enable": True, "iconColor": colour, "expr": scoped(query), "step": "30s",
            "titleFormat": title, "textFormat": text, "tagKeys": tags, "useValueForTime": False}


def annotations(key):
    """Jobs, and findings; on the dashboard of a link, those that name its node."""
    place = ",subject=~`.*${node:regex}.*`" if key == "link" else ""
    return [annotation(f"{severity} findings", colour, f'ibwire_finding_info{{severity="{severity}"{place}}}',
                       "{{kind}}: {{subject}}", "{{cause}}", "fabric,kind,severity")
            for severity, colour in (("critical", "red"), ("warning", "orange"))] + [
                annotation("jobs", "blue", "ibwire_job_info{}", "job {{id}} {{name}}", "", "fabric")]


def series_links(queries):
    """Of a port: its dashboard, and its page of ibwire metrics."""
    if not any(PORT in legend for _, legend in queries):
        return []
    series = "${__field.labels.%s}"
    return [{"title": "Link", "url": "/d/ibwire-link?${datasource:queryparam}&${job:queryparam}&${instance:queryparam}&"
             f"${{fabric:queryparam}}&var-node={series % 'node'}&var-port={series % 'port'}&${{__url_time_range}}"},
            {"title": "Page", "url": f"${{page}}/history?subject={series % 'node'}/{series % 'port'}", "targetBlank": True}]


def panel(number, at, definition):
    title, description, kind, unit, width, queries, limits = definition
    defaults = {"unit": unit, "links": series_links(queries)}
    if kind == GRAPH:
        defaults |= {"min": 0, "custom": {"thresholdsStyle": {"mode": "line" if limits else "off"}}}
    if limits:
        defaults["thresholds"] = {"mode": "absolute", "steps": [{"color": colour, "value": value} for colour, value in limits]}
    return {
        "id": number, "title": title, "description": description, "type": kind, "datasource": SOURCE,
        "gridPos": {"x": at[0], "y": at[1], "w": width, "h": 4 if kind == STAT and width == QUARTER else 8},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if kind == GRAPH else {},
        "targets": [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": scoped(expr),
                     "legendFormat": "{{fabric}} " + legend,
                     **({"instant": True, "format": "table"} if kind == TABLE else {})}
                    for i, (expr, legend) in enumerate(queries)],
    }


def dashboard(name, title, variables, definitions):
    panels, x, y, height = [], 0, 0, 0
    for number, definition in enumerate(definitions, 1):
        if x + definition[4] > WIDE:
            x, y, height = 0, y + height, 0
        panels.append(panel(number, (x, y), definition))
        x, height = x + definition[4], max(height, panels[-1]["gridPos"]["h"])
    return {"uid": "ibwire-" + name, "title": title, "tags": ["ibwire"], "schemaVersion": 38, "editable": True,
            "time": {"from": "now-3h", "to": "now"}, "refresh": "30s", "templating": {"list": COMMON + variables},
            "annotations": {"list": annotations(name)},
            "links": [{"title": "ibwire", "type": "dashboards", "tags": ["ibwire"], "asDropdown": False,
                       "includeVars": True, "keepTime": True},
                      {"title": "Page", "type": "link", "url": "${page}/", "targetBlank": True}],
            "panels": panels}


folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
for key, (heading, chosen, wanted) in DASHBOARDS.items():
    with open(f"{folder}/ibwire-{key}.json", "w", encoding="utf-8") as file:
        json.dump(dashboard(key, heading, chosen, wanted), file, indent=1)
        file.write("\n")
