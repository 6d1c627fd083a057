#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# timeout: 1200
"""A number is exact, marked as a lower bound, or unknown, on every face and whatever happens to the counters.

Random scenarios in virtual time mix resets (of all counters, of a node, of a port, once or regularly), agents with
counters of 32 bits, unresponsive nodes, nodes that reboot, also with another name, and restarts of the collector. The
truth is what the model of the fabric sends in each second, and the errors that it has had (record_db); it knows neither
counters nor deltas.
What a face shows is taken apart into facts as in faces_test.py. Each number must be within 1 % of the truth, unless it
is marked: "12.3+" or ">= 12.3" in text, null in data, where a lower bound has a key of its own. A lower bound must not
be above the truth.

IBWIRE_SEED=N or FIRST-LAST runs these seeds, IBWIRE_LONG=1 many; otherwise a few. More are run in blocks, each of which
is within the time limit:

  for i in $(seq 1 60 360); do IBWIRE_SEED=$i-$((i + 59)) tests/run-tests tests/integration/bounds_test.py; done
"""
import bisect
import collections
import datetime
import json
import os
import random
import re
import statistics

import faces_test as faces
from faces_test import BUILD, END, IBWIRE, WINDOW_S, About, json_of, stamp_of, tap
from lib import SHORT, run

LENGTH_S, INTERVAL_S, SLACK_S = 200, 10, 3
PACKET_BYTES = 4 * 1030  # TRAFFIC_PACKET_WORDS of sim/traffic.h
ERRORS = ("symbol_errors", "link_error_recovery", "link_downed", "rcv_errors", "rcv_remote_physical_errors",
          "rcv_switch_relay_errors", "xmit_discards", "xmit_constraint_errors", "rcv_constraint_errors",
          "local_link_integrity_errors", "excessive_buffer_overrun_errors", "qp1_dropped", "vl15_dropped")
FIRST_REBOOT = 301  # earlier seeds have none
# Each of these, but 1, 2 and 126, once had a wrong number of its own.
FEW = (1, 8, 17, 134, 176, 282, 324)
ONCE_WRONG = (2, 14, 20, 21, 55, 78, 114, 126, 127, 167, 182, 189)  # the others, in the long form
NODES = [f"leaf-{i:03}" for i in (1, 2)] + [f"spine-{i:02}" for i in (1, 2)] + \
        [f"node{i:04} mlx5_0" for i in range(1, 9)]


# Of a port without a link, or of what there is not: nothing is compared if no number is shown.
NOTHING = (0.0, 0.0)


def quoted(name):
    return f'"{name}"' if " " in name else name


def draw_clears(rng, lines):
    """Resets of one target: once, or regularly until some time."""
    node = rng.choice(NODES)
    target = rng.choice(["all", "all", quoted(node), quoted(f"{node}/{rng.randint(1, 4)}" if "mlx5" not in node else
                                                            f"{node}/1")])
    at, period = rng.uniform(15, LENGTH_S - 15), rng.choice([0, 1.7, 4, 10, 13, 27])
    until = min(rng.uniform(at, at + 150), LENGTH_S + 5) if period else at
    while at <= until:
        lines.append((at, f"clear {target}"))
        at += period or LENGTH_S
    return lines


def draw_errors(rng, lines):
    """Errors on a few ports, some of which fill a counter of 4, 8 or 16 bits of a narrow agent."""
    for node in rng.sample(NODES, rng.randint(2, 5)):
        port = f"{node}/{1 if 'mlx5' in node else rng.randint(1, 8 if 'leaf' in node else 4)}"
        counter = rng.choice(["symbol_errors", "link_error_recovery", "rcv_errors", "xmit_discards",
                              "local_link_integrity_errors", "rcv_switch_relay_errors"])
        lines.append((rng.choice([2, rng.uniform(10, LENGTH_S - 30)]),
                      f"errors {quoted(port)} {counter}={rng.choice([600, 7200, 72000, 3600000])}" +
                      rng.choice(["", " for=45s"])))


def draw_reboots(rng, lines):
    """Reboots: the link is down for a moment, counters restart at 0, and a host may return with another name."""
    for node in rng.sample(NODES, rng.randint(0, 2)):
        at = rng.uniform(15, LENGTH_S - 5)
        lines.append((at, f"off {quoted(node)} for={rng.choice([800, 2000, 5000, 12000])}ms"))
        if "mlx5" in node and rng.random() < 0.5:
            lines.append((at + 0.5, f"rename {quoted(node)}"))
    port = f"{rng.choice(NODES[4:])}/1"
    lines.append((rng.uniform(2, 60), f"errors {quoted(port)} symbol_errors={rng.choice([7200, 72000, 3600000])}"))


def draw(seed):
    """A scenario: constant traffic, and disturbances of what is read of it."""
    rng = random.Random(seed)
    events = []
    text = [f"about seed {seed}", "shape tree2 leafs=2 spines=2 hosts=4", f"interval {INTERVAL_S}s",
            f"length {LENGTH_S}s", f"seed {seed}", "job near ring load=0.2",
            f"job far ring stride=4 load={rng.choice([0.05, 0.1, 0.3])}"]
    for _ in range(rng.randint(1, 3)):
        draw_clears(rng, events)
    for node in rng.sample(NODES, rng.randint(0, 3)):
        events.append((1, f"narrow {quoted(node)}"))
    for node in rng.sample(NODES[:6], rng.randint(0, 2)):
        events.append((rng.uniform(20, LENGTH_S - 5), f"silent {quoted(node)} for={rng.choice([8, 15, 35, 300])}s"))
    if rng.random() < 0.4:
        events.append((rng.uniform(20, LENGTH_S - 40), f"off {quoted(rng.choice(NODES[2:]))} for=15s"))
    draw_errors(random.Random(seed), events)
    if seed >= FIRST_REBOOT:
        draw_reboots(random.Random(-seed), events)
    if rng.random() < 0.5:
        text.append(f"restart {rng.randint(3, LENGTH_S // INTERVAL_S - 2) * INTERVAL_S}s")
    text += [f"at {round(at * 1000)}ms {what}" for at, what in sorted(events)]
    return "\n".join(text) + "\n"


class Truth:
    """Bytes per second that each port sends and receives, by second; errors of each port until each sweep."""

    def __init__(self, scenario, errors):
        self.sweeps, self.errors = [], {}
        for line in errors.splitlines():
            second, guid, port, counter, count = line.split(",")
            if counter == "sweep":
                self.sweeps.append(float(second))
            else:
                counts = self.errors.setdefault((guid, int(port)), {}).setdefault(counter, [])
                counts += [0] * (len(self.sweeps) - 1 - len(counts)) + [int(count)]
        total = {}
        for line in run(BUILD + "/tests/screen/record_db", scenario).out.splitlines():
            second, guid, port, sent, received = line.split(",")
            total.setdefault((guid, int(port)), []).append((float(sent) / 8, float(received) / 8))
        self.rates = {port: {way: [b[i] - a[i] for a, b in zip(values, values[1:])]
                             for i, way in enumerate(("xmit", "rcv"))} for port, values in total.items()}

    def bytes_per_s(self, port, way, since, until):
        """The least and the greatest rate of a port in a window, in seconds since the beginning; None: no such port."""
        if port not in self.rates:
            return NOTHING
        rates = self.rates[port][way]
        window = rates[max(0, int(since - SLACK_S)):max(1, int(until + SLACK_S) + 1)] or rates[-1:]
        return (min(window), max(window))

    def errors_between(self, ports, since, until, counter=None):
        """The least and the greatest number of errors of ports in a window; of one counter, or as faces sum them."""
        def around(at):
            found = (bisect.bisect_left(self.sweeps, at - SLACK_S), bisect.bisect_right(self.sweeps, at + SLACK_S) - 1)
            return [min(max(i, 0), len(self.sweeps) - 1) for i in (min(found), max(found))]

        begin, end = around(since), around(until)
        counts = [counts for port in ports for key, counts in self.errors.get(port, {}).items()
                  if key == counter or (not counter and key != "rcv_switch_relay_errors")]
        return total_of((max(0, of[end[0]] - of[begin[1]]), of[end[1]] - of[begin[0]]) for of in counts)

    def ports_of(self, guid):
        return [port for port in self.rates if port[0] == guid]


def times(pair, factor):
    return pair if pair is NOTHING else (pair[0] * factor, pair[1] * factor)


def total_of(pairs):
    pairs = list(pairs)
    return (sum(low for low, _ in pairs), sum(high for _, high in pairs))


class Model:
    """The truth of each fact."""

    def __init__(self, db, truth):
        at = stamp_of(END)
        self.truth, self.end = truth, LENGTH_S
        self.ports = {(row["node_guid"], row["port"]): row for row in json_of(db, at, "ports", "--all")}
        self.hosts = {row["node_guid"] for row in json_of(db, at, "nodes") if row["class"] == "compute"}
        self.groups = {}
        balance = json_of(db, at, "balance", "--all")
        # The newest complete window; the first delta in it began up to an interval before.
        since = min((seconds(row["window_since"]) for row in balance), default=self.end - 60)
        self.minute = self.end - since + INTERVAL_S
        # The window of each port's numbers, from its row.
        rows = json_of(db, at, "ports", "--all", "--since", stamp_of(END - WINDOW_S))
        self.since = {(row["node_guid"], row["port"]): (row["window_s"] or 0) + (row["age_s"] or 0) for row in rows}
        for row in balance:
            group = (row["node_guid"], row["group_peer_guid"] or "uplinks", row["direction"])
            if row["active"]:
                self.groups.setdefault(group, []).append((row["node_guid"], row["port"]))

    def window(self, port):
        row = self.ports.get(port, {})
        return (row.get("window_s") or INTERVAL_S) + (row.get("age_s") or 0)

    def rate(self, port, way, span):
        return self.truth.bytes_per_s(port, way, self.end - span, self.end)

    def percent(self, port, way, span):
        gbps = (self.ports.get(port) or {}).get("rate_gbps")
        return times(self.rate(port, way, span), 100 * 8 / (gbps * 1e9)) if gbps else None

    def of_port(self, port, key, span):
        way, _, what = key.partition("_")
        if what == "bytes_per_s":
            return self.rate(port, way, span)
        if what == "packets_per_s":
            return times(self.rate(port, way, span), 1 / PACKET_BYTES)
        if what == "utilization_percent":
            return self.percent(port, way, span)
        return self.symbol_ber(port, key) if key in ("symbol_ber", "symbol_ber_below") else None

    def symbol_ber(self, port, key):
        """Symbol errors of the window of the row per bit of its link; below three errors, if there was none."""
        row = self.ports.get(port, {})
        if not row.get("window_s") or not row["rate_gbps"] or row["status"] in ("down", "unused"):
            return None
        until, bits = self.end - (row["age_s"] or 0), row["window_s"] * row["rate_gbps"] * 1e9
        low, high = self.truth.errors_between([port], until - row["window_s"], until, "symbol_errors")
        if key == "symbol_ber":
            return (low / bits, high / bits)
        return (3 / bits, 3 / bits) if not high else NOTHING if low else None

    def of_group(self, group, key):
        members = [self.percent(port, group[2], self.minute) for port in self.groups.get(group, [])]
        if not members or None in members or any(high - low > 0.001 * high for low, high in members):
            return None
        mean = statistics.mean(low for low, _ in members)
        most = max(high for _, high in members)
        if key == "mean_utilization_percent":
            return (mean, mean)
        if key == "max_utilization_percent":
            return (most, most)
        if key == "excess_percent" and mean > 1:
            return (100 * (most / mean - 1),) * 2
        return None

    def span(self, face, port):
        row = self.ports.get(port, {})
        both = face in ("ports --since", "history --top")
        ends = [port, (row.get("peer_guid"), row.get("peer_port"))] if both else []
        return max([self.minute, *(self.since.get(end, 0) for end in ends)])

    def of(self, subject, key, face):
        """The least and the greatest true value of a fact in its window; None: it is not a number of the traffic."""
        kind = subject[0]
        if kind == "port":
            return self.of_port(subject[1:], key, self.window(subject[1:]))
        if kind == "node" and key in ("xmit_bytes_per_s", "rcv_bytes_per_s"):
            ports = self.truth.ports_of(subject[1])
            span = max([self.window(port) for port in ports], default=INTERVAL_S)
            return total_of(self.rate(port, key.split("_")[0], span) for port in ports)
        if kind == "fabric" and key in ("hosts_xmit_bytes_per_s", "hosts_rcv_bytes_per_s"):
            ports = [port for guid in self.hosts for port in self.truth.ports_of(guid)]
            return total_of(self.rate(port, key.split("_")[1], max(map(self.window, ports))) for port in ports)
        if kind == "direction":
            span = max(self.window(subject[1:3]), self.window(subject[3:5]))
            return self.of_port(subject[1:3], key, span)
        if kind in ("60 s", "60 s of a link"):
            return self.of_port(subject[1:], key, self.span(face, subject[1:]))
        if kind == "group":
            return self.of_group(subject[1:], key)
        return None


def check_value(value, pair, at_least=False):
    """Return: whether a number may be shown where the truth is in @pair."""
    half = 0
    if isinstance(value, About):
        value, half = value.value, value.half
    low, high = pair
    if value > high * 1.01 + half + 1e-6:
        return False
    return at_least or value >= low * 0.99 - half - 1e-6


def is_number(value):
    return isinstance(value, (About, int, float)) and not isinstance(value, bool)


class Findings:
    """What contradicts the truth; by face the number of values that were compared and that are marked; the unknown."""

    def __init__(self):
        self.wrong, self.compared, self.marked, self.unknown = [], collections.Counter(), collections.Counter(), []

    def add(self, face, what, value, pair, at_least=False):
        if pair is None or (pair is NOTHING and value is None):
            return
        if value is None:
            self.marked[face] += 1
            self.unknown.append(f"{face}: {what}")
        elif is_number(value):
            self.compared[face] += not at_least
            self.marked[face] += at_least
            if not check_value(value, pair, at_least):
                self.wrong.append(f"{face}: {what}: {'at least ' if at_least else ''}{value}, true "
                                  f"{pair[0]:.6g}" + (f" to {pair[1]:.6g}" if pair[0] != pair[1] else ""))


def check_facts(found, model, facts):
    for (subject, key), shown in sorted(facts.values.items(), key=str):
        bound = key.startswith("lower_bounds.")
        for face, value in shown:
            pair = model.of(subject, key.removeprefix("lower_bounds."), face)
            found.add(face, f"{' '.join(map(str, subject))} {key}", value, pair, bound)


def seconds(stamp):
    """Seconds since the beginning of the scenario."""
    return LENGTH_S - END + datetime.datetime.fromisoformat(stamp.removesuffix("Z") + "+00:00").timestamp()


def cell(text):
    """Of a cell: the number, and whether it is marked; (None, True) if there is none."""
    marked = text.startswith(">=") or text.rstrip().endswith("+")
    value = faces.rate(text.removeprefix(">=").strip().rstrip("+"))
    return value, marked or value is None


def check_history(found, db, model):
    """Series of ports and nodes, and the list of ports over the window: table and JSON."""
    since, until = stamp_of(END - 150), stamp_of(END)
    names = {guid: node for (guid, _), row in model.ports.items() for node in [row["node"]]}
    subjects = [(f"{guid}/{port}", [(guid, port)]) for guid, port in sorted(model.truth.rates)[::5]]
    subjects += [(guid, model.truth.ports_of(guid)) for guid in sorted(names)[::4]]
    subjects.append(("node000*", [port for guid in sorted(model.hosts) for port in model.truth.ports_of(guid)]))
    for name, ports in subjects:
        done = run(IBWIRE, "history", name, "--db", db, "--since", since, "--until", until, "--format", "json",
                   check=False)
        for row in json.loads(done.out) if done.status == 0 and done.out else []:
            if row["counter"] not in ("xmit_bytes", "rcv_bytes"):
                continue
            way = row["counter"].split("_")[0]
            end = seconds(row["until"])
            begin = min(seconds(row["time"]), end - (row["window_s"] or 0))
            pair = total_of(model.truth.bytes_per_s(port, way, begin, end) for port in ports)
            marked = row.get("at_least") is True
            if end - begin > 1 and row["samples"]:
                found.add("history", f"{name} {row['counter']} {row['time']} mean", row["mean"], pair, marked)
                for key, value in row.get("lower_bounds", {}).items():
                    if key == "mean":
                        found.add("history", f"{name} {row['counter']} {row['time']} {key}", value, pair, True)
    done = run(IBWIRE, "history", "--db", db, "--since", since, "--until", until, "--top", "1000", "--format", "json",
               check=False)
    since_of = {}
    for row in json.loads(done.out) if done.status == 0 else []:
        port = (row["node_guid"], row["port"])
        since_of[port] = LENGTH_S - max(150, row["elapsed_s"])
        pairs = {way: model.truth.bytes_per_s(port, way, since_of[port], LENGTH_S) for way in ("xmit", "rcv")}
        marked = row.get("at_least") is True
        values = {key: (row.get(key), False) for key in ("xmit_bytes_per_s", "rcv_bytes_per_s", "mean")}
        values |= {key: (value, True) for key, value in row.get("lower_bounds", {}).items()}
        for key, (value, bound) in values.items():
            pair = total_of(pairs.values()) if key == "mean" else pairs.get(key.split("_")[0])
            if key in ("xmit_bytes_per_s", "rcv_bytes_per_s", "mean"):
                found.add("history --top", f"{port} {key}", value, pair, bound or (marked and key == "mean"))
    text = run(IBWIRE, "history", "--db", db, "--since", since, "--until", until, "--top", "1000", "--no-pager",
               env={**os.environ, "COLUMNS": "1000"}, check=False).out
    shown = faces.Names(db, until, json_of(db, until, "nodes"))
    for row in faces.table(text.rstrip().split("\n")) if text.startswith("PORT") else []:
        subject = shown.port(row["PORT"])
        for heading, way in (("TX", "xmit"), ("RX", "rcv")):
            value, marked = cell(row[heading])
            if subject:
                found.add("history --top (table)", f"{row['PORT']} {heading}", value,
                          model.truth.bytes_per_s(subject[1:], way, since_of[subject[1:]], LENGTH_S), marked)


def check_totals(found, db, model):
    """Lists of ports by a counter: total and mean over the window of the list. Series of errors."""
    for key in ("xmit_bytes", "rcv_packets", "errors"):
        done = run(IBWIRE, "history", "--db", db, "--since", stamp_of(END - 150), "--until", stamp_of(END), "--top",
                   "1000", "--by", key, "--format", "json", check=False)
        rows = json.loads(done.out) if done.status == 0 else []
        most = max((row["elapsed_s"] for row in rows), default=0)
        for row in rows:
            until = seconds(row["until"])
            # The first delta of a port that was not read at the begin began earlier.
            longest = max(min(until - seconds(row["since"]) + INTERVAL_S, most), row["elapsed_s"])
            port, span = (row["node_guid"], row["port"]), (until - longest, until)
            if key == "errors":
                pair = model.truth.errors_between([port], *span)
            else:
                pair = times(model.truth.bytes_per_s(port, key.split("_")[0], *span),
                             longest / (PACKET_BYTES if "packets" in key else 1))
            if row["lower_bounds"] and not row["at_least"]:
                found.wrong.append(f"history --by {key}: {port} has lower bounds {row['lower_bounds']} and no at_least")
            for name, value, bound in bounded(row, "total", "mean"):
                # The mean is over the time in which the port was read.
                if name == "mean" and key == "errors":
                    last = model.end - (model.ports[port]["age_s"] or 0)
                    pair = times(model.truth.errors_between([port], last - row["elapsed_s"], last), longest)
                    pair = times(pair, 1 / row["elapsed_s"])
                found.add(f"history --by {key}", f"{port} {name}", value,
                          pair if name == "total" else times(pair, 1 / longest), bound)
    for port in sorted(model.truth.errors):
        done = run(IBWIRE, "history", f"{port[0]}/{port[1]}", "--counter", "errors", "--db", db, "--since",
                   stamp_of(END - 150), "--until", stamp_of(END), "--step", "30s", "--format", "json", check=False)
        for row in json.loads(done.out) if done.status == 0 and done.out else []:
            if not row["samples"]:
                continue
            # The last reading of a step is within the last interval, or anywhere if a sweep did not read the port.
            until = min(seconds(row["until"]), model.truth.sweeps[-1])
            last = until - INTERVAL_S if row["samples"] > 2 else seconds(row["time"])
            low = model.truth.errors_between([port], until - row["window_s"] + SLACK_S, last - SLACK_S)
            high = model.truth.errors_between([port], last - row["window_s"], until + SLACK_S)
            for name, value, bound in bounded(row, "total"):
                found.add("history --counter errors", f"{port} {row['time']} {name}", value, (low[0], high[1]), bound)


def check_reports(found, db, model):
    """Error counters of a port and its peer over all of the history."""
    ports = {f"{row['node']}/{row['port']}": port for port, row in model.ports.items()}
    for port in sorted(model.truth.errors):
        done = run(IBWIRE, "report", f"{port[0]}/{port[1]}", "--db", db, "--at", stamp_of(END), "--format", "json",
                   check=False)
        for row in json.loads(done.out).get("errors") or [] if done.status == 0 else []:
            of = ports.get(row["port"])
            if of and row["window"] is not None and row["counter"] in ERRORS:
                found.add("report", f"{row['port']} {row['counter']}", row["window"],
                          model.truth.errors_between([of], INTERVAL_S, model.end, row["counter"]), row["at_least"])


def port_errors(found, face, row, window, truth, prefix=""):
    """The error counters of one end of a row: 0 unless they are listed, and a lower bound if they are unknown."""
    if row[prefix + "errors_unknown"] is None:
        return
    port = (row[prefix + "guid" if prefix else "node_guid"], row[prefix + "port"])
    for counter in ERRORS:
        unknown = counter in row[prefix + "errors_unknown"]
        value = row[prefix + "errors"].get(counter, None if unknown else 0)
        found.add(face, f"{port} {counter}", value, truth.errors_between([port], *window, counter), unknown)


def bounded(row, *keys):
    """The values of a row and its lower bounds: key, value, whether it is marked."""
    for key in keys:
        yield key, row[key], False
        if key in (row.get("lower_bounds") or {}):
            yield key, row["lower_bounds"][key], True


def check_errors(found, db, model):
    """Error counters of ports, links and nodes in the last sweep and in a window, their list, and their history."""
    at, truth, end = stamp_of(END), model.truth, model.end
    since = stamp_of(END - 150)
    windows = {}
    for options in ((), ("--since", since)):
        rows = json_of(db, at, "ports", "--all", *options)
        for row in rows:
            until = end - (row["age_s"] or 0)
            window = (until - (row["window_s"] or INTERVAL_S), until)
            # The list is of one window, also for a port that was not read in all of it.
            if options and row["status"] not in ("down", "unused"):
                window = (min(window[0], end - 150), end)
            windows[(row["node_guid"], row["port"], bool(options))] = window
            if row["status"] not in ("down", "unused"):
                port_errors(found, " ".join(["ports", *options[:1]]), row, window, truth)
        for row in json_of(db, at, "links", *options):
            for prefix in ("", "peer_"):
                port = (row[prefix + "guid" if prefix else "node_guid"], row[prefix + "port"])
                port_errors(found, " ".join(["links", *options[:1]]), row, windows[(*port, bool(options))], truth,
                            prefix)
        for row in json_of(db, at, "nodes", *options):
            pairs = [truth.errors_between([port], *windows[(*port, bool(options))])
                     for port in model.ports if port[0] == row["node_guid"]]
            for key, value, bound in bounded(row, "errors"):
                found.add(" ".join(["nodes", *options[:1]]), f"{row['node']} {key}", value, total_of(pairs), bound)
    rows = json_of(db, at, "errors")
    # The window is that of all sweeps in which any port was read.
    longest = max(row["window_s"] or 0 for row in json_of(db, at, "ports", "--all", "--since",
                                                          stamp_of(END - LENGTH_S)))
    for row in rows:
        window = (end - INTERVAL_S - longest, end)
        pair = truth.errors_between([(row["node_guid"], row["port"])], *window, row["counter"])
        for key, value, bound in bounded(row, "count", "per_hour"):
            found.add("errors", f"{row['node']}/{row['port']} {row['counter']} {key}", value,
                      pair if key == "count" else times(pair, 3600 / longest), bound)
    screen = run(BUILD + "/tests/screen/show_screen", db, f"{END * 1000000}", "110", "300", "5", "e").out
    check_errors_screen(found, screen.split("== e\n")[1], model)
    screen = run(BUILD + "/tests/screen/show_screen", db, f"{END * 1000000}", "110", "300", "2").out
    shown = re.search(r"errors ([\d,]+|\?)(\+?) since (\d\d):(\d\d):(\d\d)", screen)
    since = end + int(shown[3]) * 3600 + int(shown[4]) * 60 + int(shown[5]) - END % 86400
    if shown[1] != "?":
        found.add("top header", "errors", int(shown[1].replace(",", "")),
                  truth.errors_between(model.ports, since, end), bool(shown[2]))


def check_errors_screen(found, screen, model):
    """The list of ports with errors, of the last hour: more than there is."""
    ports = {f"{row['node']}/{row['port']}": port for port, row in model.ports.items()}
    lines = [line for line in screen.splitlines() if line.strip()]
    head = next((i for i, line in enumerate(lines) if re.search(r"ERRORS.*FIRST.*LAST.*PORT", line)), None)
    for line in lines[head + 1:] if head is not None else []:
        row = re.match(r"\W*([\d,.]+[kMG]?)(\+?) +\d\d:\d\d:\d\d.*? +\d\d:\d\d:\d\d +(.+?/\d+)\b", line)
        if row and row[3] in ports:
            found.add("top errors", row[3], float(row[1].replace(",", "")),
                      model.truth.errors_between([ports[row[3]]], INTERVAL_S, model.end), bool(row[2]))


# The counters of a number of the evidence of a finding; downstream: of the ports behind its switch.
COUNTED = {
    "symbol_errors": ("symbol_errors",), "symbol_errors_per_hour": ("symbol_errors",), "symbol_ber": ("symbol_errors",),
    "receive_errors_per_hour": ("rcv_errors",), "remote_errors_per_hour": ("rcv_remote_physical_errors",),
    "downstream_remote_errors_per_hour": ("rcv_remote_physical_errors",), "vl15_dropped_per_5min": ("vl15_dropped",),
    "link_errors_per_5min": ("link_error_recovery", "local_link_integrity_errors",
                             "excessive_buffer_overrun_errors"),
    "constraint_errors_per_5min": ("xmit_constraint_errors", "rcv_constraint_errors"),
    "discards_per_5min": ("xmit_discards",), "discards_per_minute": ("xmit_discards",),
}


def check_findings(found, db, model):
    """Numbers of the evidence of open findings, and those of their texts, over the window that they name."""
    truth = model.truth
    ports = {f"{row['node']}/{row['port']}": port for port, row in model.ports.items()}
    for row in json_of(db, stamp_of(END), "health", "--all"):
        evidence, text, marked = row["evidence"], row["text"], row["evidence"].get("lower_bound") == 1
        place = re.search(r" at (.+?/\d+)(?:[;: ]|$)", text)
        port = ports.get(place[1]) if place else (row["node_guid"], row["port"])
        if "window_until_us" not in evidence or port not in model.ports:
            continue
        since, until = (evidence[key] / 1e6 - END + LENGTH_S for key in ("window_from_us", "window_until_us"))
        node = [end for end in model.ports if end[0] == port[0]]
        behind = [(model.ports[end]["peer_guid"], model.ports[end]["peer_port"]) for end in node]
        for key, counters in COUNTED.items():
            of = behind if key.startswith("downstream") else [port]
            pair = total_of(truth.errors_between(of, since, until, counter) for counter in counters)
            if key == "discards_per_minute":
                # The largest of whole minutes of the clock; the first one may be cut.
                minutes = [truth.errors_between(of, at, at + 60, *counters) for at in range(int(since), int(until))]
                pair = (max(low for low, _ in minutes) / 2, max(high for _, high in minutes))
            elif key == "symbol_errors_per_hour":
                pair = times(pair, 3600 / (until - since))
            elif key == "symbol_ber":
                gbps = model.ports[port]["rate_gbps"]
                pair = times(pair, 1 / ((until - since) * gbps * 1e9)) if gbps else None
            found.add("health", f"{row['kind']} {row['subject']} {key}", evidence.get(key), pair if key in evidence else None, marked)
        number = re.search(r"(at least |up to )?(\d+) (?:[a-zA-Z ]+?) in \d+ (?:s|min|h)|"
                           r"(at least |up to )(\d+) packets discarded per minute", text)
        key = next((key for key in COUNTED if key in evidence), None)
        if key and number:
            value, word = float(number[2] or number[4]), number[1] or number[3]
            if value != evidence[key] or (word == "at least ") != marked:
                found.wrong.append(f"health: {row['kind']} {row['subject']}: \"{text}\", {evidence}")
        elif key:
            found.wrong.append(f"health: {row['kind']} {row['subject']}: no number in \"{text}\"")


def check_snapshots(found, db, model):
    """Differences of the snapshots of record_db, by port, link, switch and host."""
    truth = model.truth
    hosts = {guid: host_of(row["node"]) for (guid, _), row in model.ports.items()}

    def check_side(face, row, ports, span, prefix=""):
        """One end of a row; a sum leaves out ports that were down or not read at both times."""
        if not any(port in truth.rates for port in ports):
            return
        marks, unknown = (row[prefix + key] or [] for key in ("at_least", "unknown"))
        seconds_of = min(span[1] - span[0], (row.get("elapsed_us") or 1e12) / 1e6)
        for way in ("xmit", "rcv"):
            rate = total_of(truth.bytes_per_s(port, way, *span) for port in ports)
            for key, factor in ((f"{way}_bytes", 1), (f"{way}_packets", 1 / PACKET_BYTES)):
                for name, value, bound in bounded(row, prefix + key):
                    # Readings of a sum are not of the same time.
                    pair = times(rate, seconds_of * factor)
                    found.add(face, f"{ports} {name}", value, (pair[0] * 0.995, pair[1] * 1.005), bound)
        for counter in ERRORS:
            value = row[prefix + "errors"].get(counter, None if counter in unknown else 0)
            found.add(face, f"{ports} {prefix}{counter}", value, truth.errors_between(ports, *span, counter),
                      counter in marks)

    names = ("job-1-begin", "job-1-end", "last")
    for pair in (names[:2], names[1:], names[::2]):
        for by in ("port", "link", "switch", "host"):
            done = run(IBWIRE, "snapshot", "diff", *pair, "--by", by, "--db", db, "--format", "json")
            for row in json.loads(done.out):
                span = (seconds(row["from_time"]), seconds(row["to_time"]))
                face = f"snapshot diff --by {by}"
                if by in ("port", "link"):
                    check_side(face, row, [(row["node_guid"], row["port"])], span)
                    if by == "link":
                        check_side(face, row, [(row["peer_guid"], row["peer_port"])], span, "peer_")
                else:
                    check_side(face, row, [port for port in model.ports if (
                        row["node_guid"] == port[0] if by == "switch" else
                        hosts[port[0]] == host_of(row["host"]))], span)


def host_of(name):
    """The host of a node, also if it was renamed."""
    return name.split()[0].rstrip("b")


def check_jobs(found, db, model):
    """Both jobs of all hosts, by snapshots and by sweeps: their ports, hosts and rails, and their comparison."""
    hosts = {}
    for port, row in model.ports.items():
        if port[0] in model.hosts:
            hosts.setdefault(host_of(row["node"]), []).append(port)
    everything = [port for ports in hosts.values() for port in ports]
    reports = [json.loads(run(IBWIRE, "job", "report", job, "--db", db, "--format", "json").out)
               for job in ("16", "17")]
    for report in reports:
        check_job(found, model, report, hosts, everything)
    compare = json.loads(run(IBWIRE, "job", "compare", "16", "17", "--db", db, "--format", "json").out)
    for which, report in zip(("before", "now"), reports):
        since, until = job_span(model, report)
        both = total_of(model.truth.bytes_per_s(port, way, since, until)
                        for port in everything for way in ("xmit", "rcv"))
        # The mean is that of the busier direction; all hosts send and receive the same.
        truths = {"hosts": (len(hosts),) * 2, "ports": (len(everything),) * 2, "ports_unused": (0, 0),
                  "bytes": (both[0] * (until - since - SLACK_S), both[1] * (until - since + SLACK_S)),
                  "mean_bytes_per_s": times(both, 0.5 / len(everything)),
                  "errors": job_errors(model, report, everything)}
        for row in compare["metrics"]:
            for key, value, bound in bounded(row, which):
                found.add("job compare", f"{row['metric']} {key}", value, truths.get(row["metric"]), bound)
        for row in compare["hosts"]:
            pair = total_of(model.truth.bytes_per_s(port, way, since, until)
                            for port in hosts[host_of(row["host"])] for way in ("xmit", "rcv"))
            found.add("job compare", f"{row['host']} {which}", row[f"{which}_bytes_per_s"],
                      times(pair, 0.5 / len(hosts[host_of(row["host"])])))
    check_job_table(found, db, model, reports[1], hosts)


def job_span(model, report):
    """Beginning and end of the counters of a job; from the history they are those of whole sweeps."""
    span = (seconds(report["job"]["begin"]), seconds(report["job"]["end"]))
    if report["job"]["source"] == "history":
        span = tuple(max(sweep for sweep in model.truth.sweeps if sweep < at + 0.5) for at in span)
    return span


def job_errors(model, report, ports):
    """Errors of both ends of the links of ports."""
    ends = [end for port in ports for end in (port, (model.ports[port]["peer_guid"], model.ports[port]["peer_port"]))]
    return model.truth.errors_between(ends, *job_span(model, report))


def check_job(found, model, report, hosts, everything):
    since, until = job_span(model, report)

    def rate(port, way):
        return model.truth.bytes_per_s(port, way, since, until)

    def check(row, what, ports):
        bounds = row.get("lower_bounds") or {}
        sent = {way: total_of(rate(port, way) for port in ports) for way in ("xmit", "rcv")}
        for key, value in [*row.items(), *(("lower_bounds." + key, value) for key, value in bounds.items())]:
            plain = key.removeprefix("lower_bounds.")
            found_key = re.fullmatch(r"(?:mean|peak)_(xmit|rcv)_bytes_per_s", plain)
            if found_key:
                found.add("job report", f"{what} {key}", value, sent[found_key[1]], key != plain)
            elif plain in ("early_bytes_per_s", "late_bytes_per_s"):
                found.add("job report", f"{what} {key}", value, total_of(sent.values()), key != plain)
            elif plain in ("xmit_bytes", "rcv_bytes"):
                low, high = sent[plain.split("_")[0]]
                found.add("job report", f"{what} {key}", value,
                          (low * (until - since - SLACK_S), high * (until - since + SLACK_S)), row["at_least"])
            elif plain == "errors":
                found.add("job report", f"{what} {key}", value, job_errors(model, report, ports), key != plain)

    check(report["job"], "job", everything)
    for row in report["rails"]:
        check(row, row["rail"], everything)
    for row in report["hosts"]:
        check(row, row["host"], hosts.get(host_of(row["host"]), []))
    for row in report["ports"]:
        check(row, f"{row['node']}/{row['port']}", [(row["node_guid"], row["port"])])


def check_job_table(found, db, model, report, hosts):
    """The verdict and the table of hosts of the job of the last minute."""
    sums = [total_of(model.rate(port, way, 70) for port in ports for way in ("xmit", "rcv"))
            for ports in hosts.values()]
    if all(high - low <= 0.001 * high for low, high in sums):
        even = statistics.pstdev(low for low, _ in sums) / statistics.mean(low for low, _ in sums)
        value = report["job"]["hosts_cv"]
        if value is not None and abs(value - even) > 0.01:
            found.wrong.append(f"job report: hosts_cv {value:.3f}, true {even:.3f}")
        if even < 0.01 and report["job"]["slowest_host"]:
            found.wrong.append(f"job report: slowest host {report['job']['slowest_host']} of equal hosts")
    text = run(IBWIRE, "job", "report", "17", "--all", "--db", db, "--no-pager",
               env={**os.environ, "COLUMNS": "1000"}, check=False).out.split("\n")
    start = next((i for i, line in enumerate(text) if line.startswith("HOST ")), len(text))
    rows = text[start:next((i for i in range(start, len(text)) if not text[i].strip()), len(text))]
    for row in faces.table(rows) if len(rows) > 1 else []:
        ports = hosts.get(host_of(row["HOST"]), [])
        value, marked = cell(row["MEAN/PORT"])
        if ports:
            found.add("job report (table)", f"{row['HOST']} MEAN/PORT", value,
                      total_of(model.rate(port, "xmit", 70) for port in ports), marked)


def check(seed):
    name, scenario = f"seed {seed}", f"bounds-{seed}.scenario"
    db = os.path.abspath(f"bounds-{seed}.db")
    with open(scenario, "w") as file:
        file.write(draw(seed))
    with tap.part(name):
        errors = run(BUILD + "/tests/screen/record_db", scenario, db, END, timeout=300).out
        model = Model(db, Truth(scenario, errors))
        found = Findings()
        check_facts(found, model, faces.collect(db))
        check_errors(found, db, model)
        check_findings(found, db, model)
        check_totals(found, db, model)
        check_snapshots(found, db, model)
        check_history(found, db, model)
        check_jobs(found, db, model)
        check_reports(found, db, model)
        by_face = {}
        for line in found.wrong:
            by_face.setdefault(line.split(":")[0], []).append(line)
        shown = [line for lines in by_face.values() for line in lines[:6] + [f"... {len(lines)} of this face"]]
        tap.result(not found.wrong, f"{name}: each number is within 1 % of the truth, marked, or unknown",
                   "\n".join([draw(seed), *shown]))
        # Of a fabric that is cleared all the time no number is exact, but each is shown.
        total = found.compared.total()
        marked = found.marked.total()
        tap.result(total + marked > 5000, f"{name}: all faces show their numbers", f"{total}, {marked}")
        tap.note(f"{name}: {total} numbers compared, {marked} marked or unknown")
        return found
    return Findings()


def undisturbed(name="undisturbed", restart=""):
    """Without disturbances of the counters nothing is marked, and every number is right, also after a restart of the
    collector: that is one longer delta."""
    db, scenario = os.path.abspath(f"{name}.db"), f"{name}.scenario"
    with open(scenario, "w") as file:
        file.write(re.sub(r"(?m)^(at \S+ (?!errors)|restart ).*\n", "", draw(1)) + restart)
    with tap.part(name):
        errors = run(BUILD + "/tests/screen/record_db", scenario, db, END, timeout=300).out
        model = Model(db, Truth(scenario, errors))
        found = Findings()
        facts = faces.collect(db)
        check_facts(found, model, facts)
        check_errors(found, db, model)
        check_findings(found, db, model)
        check_totals(found, db, model)
        check_snapshots(found, db, model)
        check_history(found, db, model)
        check_jobs(found, db, model)
        check_reports(found, db, model)
        bounds = [str(key) for key in facts.values if key[1].startswith("lower_bounds.")]
        tap.equal(f"{name}: every number is right", found.wrong[:20], [])
        tap.equal(f"{name}: no number is a lower bound", bounds, [])
        # HCAs have no QP1Dropped.
        tap.equal(f"{name}: no number is unknown", [what for what in found.unknown if "qp1_dropped" not in what], [])
        # Of these, lines that are not recognised are skipped.
        tap.equal(f"{name}: lists of errors are compared", {"errors", "health", "top errors", "top header"} - set(found.compared), set())
        tap.note(f"{name}: {found.compared.total()} numbers compared")
        return found.compared
    return collections.Counter()


def note_shares(compared, marked):
    """The numbers of each face that were compared, and the share that was marked."""
    tap.note(", ".join(f"{face} {compared[face]} ({100 * marked[face] / (compared[face] + marked[face]):.0f} % marked)"
                       for face in sorted({*compared, *marked})))


def silent():
    """Errors that a port counts while it is not read: lists, totals of ports, reports, and the screen mark what they know."""
    db, scenario = os.path.abspath("silent.db"), "silent.scenario"
    with open(scenario, "w") as file:
        file.write(re.sub(r"(?m)^(at|restart) .*\n", "", draw(1)) + 'at 20s errors "node0003 mlx5_0/1" rcv_errors=6000\n'
                   'at 120s silent "node0003 mlx5_0"\n')
    with tap.part("silent"):
        errors = run(BUILD + "/tests/screen/record_db", scenario, db, END, timeout=300).out
        model, found = Model(db, Truth(scenario, errors)), Findings()
        check_errors(found, db, model)
        check_findings(found, db, model)
        check_totals(found, db, model)
        check_reports(found, db, model)
        tap.equal("silent: every number is right or marked", found.wrong, [])
        tap.result(found.marked["report"], "silent: the report marks its sum")


def check_seeds(seeds, undisturbed_compared):
    """Many numbers are exact in spite of the disturbances, on every face that has any."""
    results = [check(seed) for seed in seeds]
    compared = sum((found.compared for found in results), collections.Counter())
    if len(seeds) > 2:
        note_shares(compared, sum((found.marked for found in results), collections.Counter()))
        tap.result(compared.total() > 300 * len(seeds), "all seeds: there are numbers to compare", str(compared))
        tap.equal("all seeds: on each face", set(undisturbed_compared) - set(compared), set())


if __name__ == "__main__":
    faces.add_titles()
    exact = undisturbed()
    silent()
    if not SHORT:
        undisturbed("restarted", "restart 110s\n")
    first, _, last = os.environ.get("IBWIRE_SEED", "").partition("-")
    seeds = sorted({*FEW, *ONCE_WRONG, *range(1, 61)}) if os.environ.get("IBWIRE_LONG") else FEW[:3] if SHORT else FEW
    check_seeds(range(int(first), int(last or first) + 1) if first else seeds, exact)
    tap.done()
