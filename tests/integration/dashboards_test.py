#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Grafana dashboards: what their queries name is in `ibwire metrics`, and no query adds up several fabrics.

Each rule is tested on a dashboard with one fault. tests/service runs the queries with a real Prometheus.
"""
import copy
import glob
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SRCDIR, Tap, run

tap = Tap()
SCOPE = {"job": "$job", "instance": "$instance", "fabric": "$fabric"}
SOURCE = {"type": "prometheus", "uid": "$datasource"}
UNITS = {"short", "none", "s", "bytes", "Bps", "bps", "pps", "percentunit", "sci", "bool_on_off"}
# The unit of a panel follows from its family.
UNIT_OF = ((r" / ", "percentunit"), (r"_ratio\b", "percentunit"), (r"rate\(\w+_bytes_total", "Bps"), (r"rate\(\w+_packets_total", "pps"),
           (r"_bits_per_second\b", "bps"), (r"_seconds\b", "s"), (r"_bytes\b", "bytes"), (r"_ber\b", "sci"))
SELECTOR = re.compile(r"\b(ibwire_\w+)\b(?:\{([^}]*(?:\$\{[^}]*\}[^}]*)*)\})?")
MATCHER = re.compile(r"(\w+)(=~|!~|!=|=)(\"[^\"]*\"|`[^`]*`)")
AGGREGATION = re.compile(r"\b(sum|min|max|avg|count|stddev|quantile)\b(?: by \(([^)]*)\))? ?\(")
JOIN = re.compile(r"\bon \(([^)]*)\) group_left \(([^)]*)\)")
INTERNAL = {"__rate_interval", "__url_time_range", "__field", "datasource", "page"}


def families():
    """Labels of each family."""
    run(os.environ["IBWIRE_BUILD"] + "/tests/screen/faces_db", "faces.db", "fault", "1790000000")
    found = {}
    for line in run(IBWIRE, "metrics", "--once", "--db", "faces.db").out.splitlines():
        kind = re.match(r"# TYPE (\S+) ", line)
        sample = re.match(r"(\w+)(?:\{(.*)\})? ", line)
        if kind:
            found.setdefault(kind[1], set())
        elif sample and not line.startswith("#"):
            found.setdefault(sample[1], set()).update(re.findall(r'(?:^|,)(\w+)="', sample[2] or ""))
    # No port has some of these in this database.
    return {name: labels | (found["ibwire_port_state"] if name.startswith("ibwire_port_") else set())
            for name, labels in found.items()}


def faults_of_query(query, known, variables):
    """What is wrong with a query, without Prometheus."""
    faults, labels = [], set(SCOPE)
    for family, matchers in SELECTOR.findall(query):
        if family not in known:
            faults.append(f"no family {family}")
            continue
        labels |= known[family]
        chosen = {name: value[1:-1] for name, _, value in MATCHER.findall(matchers)}
        faults += [f"{family}: not filtered by {name}" for name, value in SCOPE.items() if chosen.get(name) != value]
        faults += [f"{family} has no label {name}" for name in chosen if name not in known[family] | set(SCOPE)]
    if not SELECTOR.search(query):
        faults.append("no metric of ibwire")
    for _, by in AGGREGATION.findall(query):
        faults += [f"adds up each {name}" for name in SCOPE if name not in by.split(", ")]
        faults += [f"no label {name}" for name in filter(None, by.split(", ")) if name not in labels]
    for on, left in JOIN.findall(query):
        faults += [f"joins over {name}" for name in SCOPE if name not in on.split(", ")]
        faults += [f"no label {name}" for name in (on + ", " + left).split(", ") if name not in labels]
    faults += [f"no variable {name}" for name in re.findall(r"\$\{?(\w+)", query) if name not in variables | INTERNAL]
    if query.count("(") != query.count(")") or query.count("{") != query.count("}"):
        faults.append("parentheses")
    return faults


def faults_of_panel(panel, known, variables, boards):
    faults = [f"no {key}" for key in ("title", "description", "type", "targets", "gridPos") if not panel.get(key)]
    defaults, targets = panel["fieldConfig"]["defaults"], panel["targets"]
    unit = defaults.get("unit")
    if unit not in UNITS:
        faults.append(f"unit {unit}")
    if panel["type"] == "stat" and not defaults.get("thresholds"):
        faults.append("a number without thresholds")
    steps = [step["value"] for step in defaults.get("thresholds", {"steps": [{"value": None}]})["steps"]]
    if steps[:1] != [None] or steps[1:] != sorted(steps[1:]) or len(set(steps)) != len(steps):
        faults.append(f"thresholds {steps}")
    if len({target["refId"] for target in targets}) != len(targets):
        faults.append("two targets of one refId")
    for one in [panel, *targets]:
        if one.get("datasource") != SOURCE:
            faults.append("a datasource that is no variable")
    for target in targets:
        query = target["expr"]
        faults += faults_of_query(query, known, variables)
        wanted = next((name for pattern, name in UNIT_OF if re.search(pattern, query)), unit)
        if wanted != unit and "state" not in query:
            faults.append(f"unit {unit} instead of {wanted}")
        if panel["type"] != "table" and "{{fabric}}" not in target["legendFormat"]:
            faults.append("a legend without the fabric")
    faults += [f"a link to {word}" for link in defaults.get("links", []) for word in re.findall(r"/d/([\w-]+)", link["url"])
               if word not in boards]
    return faults


def faults_of(board, known, boards):
    """(place, fault) for each fault of a dashboard."""
    variables = {one["name"]: one for one in board["templating"]["list"]}
    faults = [("variables", f"no {name}") for name in ("datasource", "page", *SCOPE) if name not in variables]
    for name, one in variables.items():
        if one["type"] != "query":
            continue
        query = one["query"]["query"]
        if one["datasource"] != SOURCE or not one.get("label") or one.get("multi") and one["allValue"] != ".*":
            faults.append(("variables", f"{name}: datasource, label or the value of all"))
        found = SELECTOR.findall(query)
        if not found or found[0][0] not in known:
            faults.append(("variables", f"{name}: no family in {query}"))
        before = list(SCOPE)[:list(SCOPE).index(name)] if name in SCOPE else SCOPE
        faults += [(f"variable {name}", f"not filtered by {one}") for one in before if f'{one}=~"${one}"' not in query]
    panels = board["panels"]
    if len({panel["id"] for panel in panels}) != len(panels) or len({panel.get("title") for panel in panels}) != len(panels):
        faults.append(("panels", "an id or a title twice"))
    places = [(x, y) for panel in panels for at in [panel["gridPos"]]
              for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
    if len(set(places)) != len(places) or max(x for x, _ in places) > 23:
        faults.append(("panels", "they overlap"))
    for panel in panels:
        faults += [(panel.get("title"), fault) for fault in faults_of_panel(panel, known, set(variables), boards)]
    annotations = board.get("annotations", {}).get("list", [])
    names = [SELECTOR.search(one["expr"])[1] for one in annotations]
    faults += [("annotations", f"none of {name}") for name in ANNOTATED if name not in names]
    for one in annotations:
        faults += [(one["name"], fault) for fault in faults_of_query(one["expr"], known, set(variables))]
        if one["datasource"] != SOURCE:
            faults.append((one["name"], "a datasource that is no variable"))
        faults += [(one["name"], f"no label {name}") for name in re.findall(r"{{(\w+)}}", one["titleFormat"] + one["textFormat"])
                   if name not in known[SELECTOR.search(one["expr"])[1]] | set(SCOPE)]
    links = board.get("links", [])
    if not any(one["type"] == "dashboards" and set(one["tags"]) <= set(board["tags"]) for one in links):
        faults.append(("links", "none to the other dashboards"))
    if not any("${page}" in one.get("url", "") for one in links):
        faults.append(("links", "none to the page of ibwire metrics"))
    return faults


ANNOTATED = ("ibwire_finding_info", "ibwire_job_info")
# Each is found: what is replaced in the text of a dashboard, or a change of it.
TEXTS = (('fabric=~\\"$fabric\\"', 'fabric=~\\".*\\"'), (',instance=~\\"$instance\\"', ""),
         ("sum by (job, instance, fabric", "sum by (job, instance"), ("sum by (job, instance, fabric) ", "sum "),
         ("on (job, instance, fabric", "on (instance"), ("ibwire_port_xmit_bytes_total", "ibwire_port_transmit_bytes_total"),
         ("group_left (host", "group_left (hostname"), ('"unit": "Bps"', '"unit": "bps"'), ('"uid": "$datasource"', '"uid": "P1"'),
         ("$__rate_interval", "$interval"), ('"x": 12', '"x": 11'), ('"id": 2,', '"id": 1,'), ('"allValue": ".*"', '"allValue": null'),
         ('"unit": "percentunit"', '"unit": "percent"'), ("{{fabric}} ", ""))


def changed(board):
    """(what, a copy with that fault)"""
    def with_fault(edit):
        made = copy.deepcopy(board)
        edit(made)
        return made

    for key in "description", "title":
        yield f"a panel without {key}", with_fault(lambda made: made["panels"][-1].pop(key))
    for key in "annotations", "links":
        yield f"no {key}", with_fault(lambda made: made.pop(key))
    for number, one in enumerate(board["templating"]["list"]):
        if one["name"] in ("page", "datasource", *SCOPE):
            yield f"no variable {one['name']}", with_fault(lambda made: made["templating"]["list"].pop(number))
    for number, panel in enumerate(board["panels"]):
        if panel["type"] == "stat":
            yield "no thresholds", with_fault(lambda made: made["panels"][number]["fieldConfig"]["defaults"].pop("thresholds"))


known = families()
boards = {}
for path in sorted(glob.glob(SRCDIR + "/dist/grafana/*.json")):
    with open(path, encoding="utf-8") as file:
        boards[os.path.basename(path)] = json.load(file)
uids = {board["uid"] for board in boards.values()}
tap.equal("each dashboard has an id of its own", len(uids), len(boards))
run(SRCDIR + "/dist/grafana/generate.py", os.getcwd())
used = set()
for name, board in boards.items():
    tap.equal(f"{name}: no fault", faults_of(board, known, uids), [])
    with open(name, encoding="utf-8") as fresh:
        tap.result(json.load(fresh) == board, f"{name} is as generated")
    before, missed = json.dumps(board), []
    for old, new in TEXTS:
        if old in before:
            used.add(old)
            if not faults_of(json.loads(before.replace(old, new, 1)), known, uids):
                missed.append(f"{old} -> {new}")
    missed += [what for what, made in changed(board) if not faults_of(made, known, uids)]
    tap.equal(f"{name}: each fault is found", missed, [])
tap.equal("each fault occurs in a dashboard", [old for old, _ in TEXTS if old not in used], [])
if not shutil.which("promtool"):
    tap.skip("promtool parses each query", "promtool is not installed")
else:
    values = {"$__rate_interval": "1m", "${node:regex}": "a"}
    rules = []
    for board in boards.values():
        for query in [target["expr"] for panel in board["panels"] for target in panel["targets"]] + [
                one["expr"] for one in board["annotations"]["list"]]:
            for word, value in values.items():
                query = query.replace(word, value)
            rules.append({"record": f"q{len(rules)}", "expr": query})
    with open("queries.yml", "w", encoding="utf-8") as file:
        json.dump({"groups": [{"name": "queries", "rules": rules}]}, file)
    done = run("promtool", "check", "rules", "queries.yml", check=False)
    tap.result(done.status == 0, f"promtool parses {len(rules)} queries", done)
tap.done()
