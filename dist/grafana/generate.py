#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Generate the dashboards of this folder, for Grafana 9 and later and the metrics of `ibwire metrics`.

Usage: generate.py [FOLDER]
"""
import json
import os
import sys

# Panels: title, kind, unit, width of 24, and pairs of query and legend.
STAT, GRAPH, TABLE, WIDE, HALF, THIRD, QUARTER = "stat", "timeseries", "table", 24, 12, 8, 6
PORT = "{{node}}/{{port}}"
RATE = "[$__rate_interval]"
INFO = " * on (instance, node_guid, port) group_left (%s) ibwire_port_info"


def of(labels, selector=""):
    """Join labels of ibwire_port_info. selector: of these ports only."""
    return INFO % labels + selector


def variable(name, query, label=None, many=True):
    return {"name": name, "label": label or name, "type": "query", "query": {"query": query, "refId": name},
            "datasource": {"type": "prometheus", "uid": "$datasource"}, "refresh": 2, "sort": 7, "multi": many,
            "includeAll": many, "allValue": ".*" if many else None}


JOB_HOSTS = of("host, rail", '{host!="",host=~"$host"}')
HERE = '{node=~"$node",port=~"$port"}'

DASHBOARDS = {
    "fabric": ("InfiniBand fabric", [], [
        ("Collector", STAT, "none", QUARTER, [("min(ibwire_collector_live)", "live")]),
        ("Age of the newest sweep", STAT, "s", QUARTER, [("time() - min(ibwire_sweep_timestamp_seconds)", "age")]),
        ("Ports responding", STAT, "percentunit", QUARTER, [("min(ibwire_sweep_coverage_ratio)", "coverage")]),
        ("Links that are not Active", STAT, "none", QUARTER, [("sum(ibwire_links - ibwire_links_active)", "links")]),
        ("Findings by severity", GRAPH, "none", HALF, [("sum by (severity) (ibwire_findings)", "{{severity}}")]),
        ("Findings by kind", GRAPH, "none", HALF, [("sum by (kind) (ibwire_findings) > 0 or sum by (kind) "
                                                    "(ibwire_findings{kind=\"link-down\"})", "{{kind}}")]),
        ("Traffic of hosts", GRAPH, "Bps", HALF, [
            ("sum(rate(ibwire_port_xmit_bytes_total" + RATE + ")" + of("host", '{host!=""}') + ")", "sent"),
            ("sum(rate(ibwire_port_rcv_bytes_total" + RATE + ")" + of("host", '{host!=""}') + ")", "received")]),
        ("Busiest ports", GRAPH, "percentunit", HALF, [("topk(10, ibwire_port_xmit_utilization_ratio)", PORT)]),
        ("Ports with the highest XmitWait", GRAPH, "percentunit", HALF, [("topk(10, ibwire_port_xmit_wait_ratio)", PORT)]),
        ("Errors of links", GRAPH, "none", HALF, [
            ("sum(increase(ibwire_port_symbol_errors_total" + RATE + "))", "symbol errors"),
            ("sum(increase(ibwire_port_rcv_errors_total" + RATE + "))", "receive errors"),
            ("sum(increase(ibwire_port_xmit_discards_total" + RATE + "))", "discards"),
            ("sum(increase(ibwire_port_link_downed_total" + RATE + "))", "link downed")]),
        ("Sweep", GRAPH, "s", HALF, [("ibwire_sweep_duration_seconds", "duration"),
                                     ("ibwire_sweep_interval_seconds", "interval")]),
        ("Database", GRAPH, "bytes", HALF, [("ibwire_database_size_bytes", "size")]),
    ]),
    "balance": ("InfiniBand balance", [variable("node", "label_values(ibwire_group_links_built, node)", "Switch")], [
        ("Most uneven groups", GRAPH, "percentunit", HALF, [
            ('topk(10, ibwire_group_imbalance_ratio{node=~"$node"})', "{{node}} {{group}} {{direction}}")]),
        ("Hottest link of a group", GRAPH, "percentunit", HALF, [
            ('topk(10, ibwire_group_max_utilization_ratio{node=~"$node"})', "{{node}} {{group}} {{direction}}")]),
        ("Hottest uplink and mean of uplinks", GRAPH, "percentunit", HALF, [
            ('max(ibwire_group_max_utilization_ratio{node=~"$node",group="uplinks"})', "hottest uplink"),
            ('avg(ibwire_group_mean_utilization_ratio{node=~"$node",group="uplinks"})', "mean of uplinks")]),
        ("Links missing or down", GRAPH, "none", HALF, [
            ('topk(10, ibwire_group_links_built{node=~"$node"} - ibwire_group_links_active{node=~"$node"})',
             "{{node}} {{group}}")]),
        ("Traffic by rail", GRAPH, "Bps", HALF, [
            ("sum by (rail) (rate(ibwire_port_xmit_bytes_total" + RATE + ")" + of("rail", '{rail!=""}') + ")",
             "{{rail}}")]),
        ("Traffic by role of the port", GRAPH, "Bps", HALF, [
            ("sum by (role) (rate(ibwire_port_xmit_bytes_total" + RATE + ")" + of("role", '{role!=""}') + ")",
             "{{role}}")]),
    ]),
    "link": ("InfiniBand link", [variable("node", "label_values(ibwire_port_info, node)", "Node", False),
                                 variable("port", 'label_values(ibwire_port_info{node="$node"}, port)', "Port")], [
        ("Traffic", GRAPH, "Bps", HALF, [("rate(ibwire_port_xmit_bytes_total" + HERE + RATE + ")", "{{port}} sent"),
                                         ("rate(ibwire_port_rcv_bytes_total" + HERE + RATE + ")", "{{port}} received")]),
        ("Utilization and XmitWait", GRAPH, "percentunit", HALF, [
            ("ibwire_port_xmit_utilization_ratio" + HERE, "{{port}} sent"),
            ("ibwire_port_rcv_utilization_ratio" + HERE, "{{port}} received"),
            ("ibwire_port_xmit_wait_ratio" + HERE, "{{port}} XmitWait")]),
        ("Errors", GRAPH, "none", HALF, [
            (f"increase(ibwire_port_{counter}_total" + HERE + RATE + ")", "{{port}} " + counter) for counter in
            ("symbol_errors", "link_error_recovery", "link_downed", "rcv_errors", "xmit_discards")]),
        ("Symbol error rate", GRAPH, "sci", HALF, [("ibwire_port_symbol_ber" + HERE, "{{port}}")]),
        ("State (4: Active)", GRAPH, "none", HALF, [("ibwire_port_state" + HERE, "{{port}}"),
                                                    ("ibwire_port_responding" + HERE, "{{port}} responding")]),
        ("Data rate", GRAPH, "bps", HALF, [("ibwire_port_rate_bits_per_second" + HERE, "{{port}}"),
                                           ("ibwire_port_degraded" + HERE, "{{port}} degraded")]),
        ("Link", TABLE, "none", WIDE, [("ibwire_port_info" + HERE, "")]),
        ("Age of readings", GRAPH, "s", HALF, [("time() - ibwire_port_reading_timestamp_seconds" + HERE, "{{port}}")]),
        ("Packets", GRAPH, "pps", HALF, [("rate(ibwire_port_xmit_packets_total" + HERE + RATE + ")", "{{port}} sent"),
                                         ("rate(ibwire_port_rcv_packets_total" + HERE + RATE + ")", "{{port}} received")]),
    ]),
    "job": ("InfiniBand job", [variable("host", "label_values(ibwire_port_info, host)", "Hosts")], [
        ("Traffic", GRAPH, "Bps", HALF, [
            ("sum(rate(ibwire_port_xmit_bytes_total" + RATE + ")" + JOB_HOSTS + ")", "sent"),
            ("sum(rate(ibwire_port_rcv_bytes_total" + RATE + ")" + JOB_HOSTS + ")", "received")]),
        ("Traffic by rail", GRAPH, "Bps", HALF, [
            ("sum by (rail) (rate(ibwire_port_xmit_bytes_total" + RATE + ")" + JOB_HOSTS + ")", "{{rail}}")]),
        ("Slowest hosts", GRAPH, "Bps", HALF, [
            ("bottomk(5, sum by (host) (rate(ibwire_port_xmit_bytes_total" + RATE + ")" + JOB_HOSTS + "))", "{{host}}")]),
        ("Imbalance of hosts (standard deviation / mean)", GRAPH, "percentunit", HALF, [
            ("stddev(sum by (host) (rate(ibwire_port_xmit_bytes_total" + RATE + ")" + JOB_HOSTS + ")) / "
             "avg(sum by (host) (rate(ibwire_port_xmit_bytes_total" + RATE + ")" + JOB_HOSTS + "))", "imbalance")]),
        # The unit of PortXmitWait is known for switches only.
        ("Leaf ports with the highest XmitWait to a host", GRAPH, "percentunit", HALF, [
            ("topk(5, ibwire_port_xmit_wait_ratio" + of("peer", '{role="leaf-to-host",peer=~"$host.*"}') + ")",
             "{{peer}}")]),
        ("Errors of the hosts' ports", GRAPH, "none", HALF, [
            ("topk(5, sum by (host) (increase(ibwire_port_symbol_errors_total" + RATE + ")" + JOB_HOSTS + "))",
             "{{host}} symbol errors"),
            ("topk(5, sum by (host) (increase(ibwire_port_rcv_errors_total" + RATE + ")" + JOB_HOSTS + "))",
             "{{host}} receive errors")]),
        ("HCA ports that are not Active", STAT, "none", HALF, [
            ("count((ibwire_port_state" + JOB_HOSTS + ") != 4) or vector(0)", "ports")]),
        ("Links below their rate", STAT, "none", HALF, [
            ("sum(ibwire_port_degraded" + JOB_HOSTS + ")", "links")]),
    ]),
}


def panel(number, at, definition):
    title, kind, unit, width, queries = definition
    source = {"type": "prometheus", "uid": "$datasource"}
    return {
        "id": number, "title": title, "type": kind, "datasource": source,
        "gridPos": {"x": at[0], "y": at[1], "w": width, "h": 4 if kind == STAT and width == QUARTER else 8},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0} if kind == GRAPH else {"unit": unit}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if kind == GRAPH else {},
        "targets": [{"refId": chr(ord("A") + i), "datasource": source, "expr": expr, "legendFormat": legend,
                     **({"instant": True, "format": "table"} if kind == TABLE else {})}
                    for i, (expr, legend) in enumerate(queries)],
    }


def dashboard(name, title, variables, definitions):
    panels, x, y, height = [], 0, 0, 0
    for number, definition in enumerate(definitions, 1):
        if x + definition[3] > WIDE:
            x, y, height = 0, y + height, 0
        panels.append(panel(number, (x, y), definition))
        x, height = x + definition[3], max(height, panels[-1]["gridPos"]["h"])
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {"uid": "ibwire-" + name, "title": title, "tags": ["ibwire"], "schemaVersion": 38, "editable": True,
            "time": {"from": "now-3h", "to": "now"}, "refresh": "30s", "templating": {"list": [source] + variables},
            "panels": panels}


folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
for key, (heading, chosen, wanted) in DASHBOARDS.items():
    with open(f"{folder}/ibwire-{key}.json", "w", encoding="utf-8") as file:
        json.dump(dashboard(key, heading, chosen, wanted), file, indent=1)
        file.write("\n")
