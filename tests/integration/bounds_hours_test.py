#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# timeout: 1200
"""As bounds_test.py, of hours whose samples are packed into sums or have expired.

Random scenarios of two and a half hours have the same disturbances, for minutes. Then the samples are packed, and the
oldest samples and sums of windows are removed (record_db compact), so that one database has hours of which there are
only sums, hours of sums of windows, and samples. Series, lists of the busiest ports, and ports, links, nodes and errors
at a moment in each of them are compared with the truth. `ibwire db compact` changes none of them.

IBWIRE_SEED=N or FIRST-LAST runs these seeds, IBWIRE_LONG=1 many; otherwise a few.
"""
import collections
import json
import os
import random

import bounds_test as bounds
from bounds_test import NODES, PACKET_BYTES, Findings, Truth, bounded, port_errors, quoted, times, total_of
from faces_test import BUILD, END, IBWIRE, json_of, stamp_of, tap
from lib import SHORT, run

LENGTH_S, INTERVAL_S, CHUNK_S = 9000, 20, 1200
FEW = (4, 6, 36, 42)  # once wrong


def draw(seed):
    rng = random.Random(seed)
    events = []
    text = [f"about hours, seed {seed}", "shape tree2 leafs=2 spines=2 hosts=4", f"interval {INTERVAL_S}s",
            f"length {LENGTH_S}s", f"seed {seed}", "job near ring load=0.2", "job far ring stride=4 load=0.1"]
    for _ in range(rng.randint(1, 3)):
        node = rng.choice(NODES)
        target = rng.choice(["all", quoted(node), quoted(f"{node}/1")])
        at, period = rng.uniform(60, LENGTH_S - 60), rng.choice([0, 0, 7, 20, 300, 1300])
        for i in range(rng.randint(1, 40) if period else 1):
            events.append((at + i * period, f"clear {target}"))
    for node in rng.sample(NODES, rng.randint(0, 2)):
        events.append((1, f"narrow {quoted(node)}"))
    for node in rng.sample(NODES[:6], rng.randint(0, 3)):
        events.append((rng.uniform(60, LENGTH_S), f"silent {quoted(node)} for={rng.choice([15, 90, 700, 2500])}s"))
    for node in rng.sample(NODES, rng.randint(0, 2)):
        events.append((rng.uniform(60, LENGTH_S - 700), f"off {quoted(node)} for={rng.choice([3, 40, 600])}s"))
    for node in rng.sample(NODES, 4):
        port = f"{node}/{1 if 'mlx5' in node else rng.randint(1, 8 if 'leaf' in node else 4)}"
        counter = rng.choice(["symbol_errors", "rcv_errors", "xmit_discards", "rcv_switch_relay_errors"])
        events.append((rng.choice([2, rng.uniform(60, LENGTH_S - 600)]), f"errors {quoted(port)} "
                       f"{counter}={rng.choice([600, 7200, 72000])}" + rng.choice(["", " for=1500s"])))
    if rng.random() < 0.5:
        text.append(f"restart {rng.randint(5, LENGTH_S // INTERVAL_S - 2) * INTERVAL_S}s")
    text += [f"at {round(at * 1000)}ms {what}" for at, what in sorted(events) if at < LENGTH_S]
    return "\n".join(text) + "\n", rng.choice([1200, 2400, 4000]), rng.choice([3000, 4500, 20000])


def seconds(stamp):
    return bounds.seconds(stamp) + LENGTH_S - bounds.LENGTH_S


def around(truth, port, length, first, last, counter=None):
    """The least and the greatest number of errors in a window of this length that ends in [first, last]."""
    ends = [sweep for sweep in truth.sweeps if first <= sweep <= last] or [last]
    counts = [truth.errors_between([port], end - length, end, counter) for end in ends]
    return (min(low for low, _ in counts), max(high for _, high in counts))


def check_series(found, db, truth, name, ports, counters, step):
    done = run(IBWIRE, "history", name, "--counter", counters, "--db", db, "--since", stamp_of(END - LENGTH_S - 60),
               "--until", stamp_of(END), *(("--step", step) if step else ()), "--format", "json", check=False)
    for row in json.loads(done.out) if done.status == 0 and done.out else []:
        if not row["samples"]:
            continue
        begin, end, length = seconds(row["time"]), min(seconds(row["until"]), LENGTH_S), row["window_s"]
        # A sum is in the step that has its middle.
        outside = 0 if row["source"] == "raw" else (length if "hour" in row["source"] else min(length, CHUNK_S)) / 2
        first = begin - outside + min(length, end - begin + 2 * outside) - 2 * INTERVAL_S
        face = f"history --step {step}, {row['source']}"
        for key, value, bound in bounded(row, "mean", "total"):
            if row["counter"] == "errors":
                pair = around(truth, ports[0], length, first, end + outside)
                pair = times(pair, 1 if key == "total" else 1 / length)
            else:
                way = row["counter"].split("_")[0]
                # The first delta began up to an interval before.
                since = min(begin, end - length) - outside - INTERVAL_S
                pair = total_of(truth.bytes_per_s(port, way, since, end + outside) for port in ports)
                pair = times(pair, length if key == "total" else 1)
            found.add(face, f"{name} {row['time']} {row['counter']} {key}", value, pair, bound)
        for values in (row, row["lower_bounds"]):
            if values.get("mean") and values.get("total"):
                whole = values["mean"] * length / values["total"]
                if whole > 1.01 or (values is row and whole < 0.99):
                    found.wrong.append(f"{face}: {name} {row['time']} {row['counter']}: mean {values['mean']} in "
                                       f"{length} s, total {values['total']}")


def check_lists(found, db, truth, since, until):
    """Lists of ports by a counter, in a window."""
    for key in ("load", "xmit_bytes", "rcv_packets", "errors"):
        done = run(IBWIRE, "history", "--db", db, "--since", stamp_of(END - LENGTH_S + since), "--until",
                   stamp_of(END - LENGTH_S + until), "--top", "1000", "--by", key, "--format", "json", check=False)
        for row in json.loads(done.out) if done.status == 0 and done.out else []:
            end, elapsed = seconds(row["until"]), row["elapsed_s"]
            port, whole = (row["node_guid"], row["port"]), max(end - seconds(row["since"]) + INTERVAL_S, elapsed)
            rate = {way: truth.bytes_per_s(port, way, end - whole, end) for way in ("xmit", "rcv")}
            errors = truth.errors_between([port], end - whole, end)
            pairs = {"total": errors, "mean": times(errors, 1 / elapsed)}
            if key != "errors":
                pair = total_of(rate.values()) if key == "load" else rate[key.split("_")[0]]
                pair = times(pair, 1 / (PACKET_BYTES if "packets" in key else 1))
                # Of errors the mean is over another time than the total if the port was not always read.
                pairs = {"total": times(pair, whole), "mean": pair, "xmit_bytes_per_s": rate["xmit"],
                         "rcv_bytes_per_s": rate["rcv"]}
            elif elapsed < whole - 2 * INTERVAL_S:
                pairs["mean"] = None
            for name, value, bound in bounded(row, *pairs):
                found.add(f"history --by {key}", f"{port} {since}-{until} {name}", value, pairs[name], bound)


def check_moment(found, db, truth, moment):
    """Ports, links and nodes at a moment: numbers of the sweep that is shown, or of the hour before."""
    at = stamp_of(END - LENGTH_S + moment)
    for options in ((), ("--since", stamp_of(END - LENGTH_S + moment - 3600))):
        windows, down = {}, set()
        for row in json_of(db, at, "ports", "--all", *options):
            port = (row["node_guid"], row["port"])
            end = moment - (row["age_s"] or 0)
            windows[port] = (end - (row["window_s"] or INTERVAL_S), end)
            face = " ".join(["ports --at", *options[:1]])
            if row["status"] in ("down", "unused"):
                # A stored sum has what the port counted before.
                if row["window_s"] is None:
                    down.add(port)
                continue
            port_errors(found, face, row, windows[port], truth)
            for way in ("xmit", "rcv"):
                for key, factor in ((f"{way}_bytes_per_s", 1), (f"{way}_packets_per_s", 1 / PACKET_BYTES)):
                    for name, value, bound in bounded(row, key):
                        found.add(face, f"{port} {moment} {name}", value,
                                  times(truth.bytes_per_s(port, way, *windows[port]), factor), bound)
        for row in json_of(db, at, "nodes", *options):
            # The model counts errors of a link that is down, which nothing reads.
            ports = [port for port in windows if port[0] == row["node_guid"] and (options or port not in down)]
            pairs = {f"{way}_bytes_per_s": total_of(truth.bytes_per_s(port, way, *windows[port]) for port in ports)
                     for way in ("xmit", "rcv")} if not options else {}
            pairs["errors"] = total_of(truth.errors_between([port], *windows[port]) for port in ports)
            for name, value, bound in bounded(row, *pairs):
                found.add(" ".join(["nodes --at", *options[:1]]), f"{row['node']} {moment} {name}", value,
                          pairs[name], bound)
    # All errors until the newest sweep that is stored.
    for row in json_of(db, at, "errors"):
        port, end = (row["node_guid"], row["port"]), seconds(row["time"])
        pair = around(truth, port, row["window_s"], end - INTERVAL_S, end, row["counter"])
        if end > moment:
            found.wrong.append(f"errors --at: {port} at {end}, after {moment}")
        for name, value, bound in bounded(row, "count"):
            found.add("errors --at", f"{port} {row['counter']} {moment} {name}", value,
                      truth.errors_between([port], 0, end, row["counter"]) if bound else pair, bound)


def outputs(db):
    return [run(IBWIRE, *command, "--db", db, "--format", "json", check=False).out for command in (
        ("history", "--since", stamp_of(END - LENGTH_S), "--until", stamp_of(END)),
        ("history", "--top", "1000", "--since", stamp_of(END - LENGTH_S), "--until", stamp_of(END - 4000)),
        ("ports", "--all", "--at", stamp_of(END - 5000)), ("errors", "--at", stamp_of(END)))]


def check(seed):
    name, scenario, db = f"hours, seed {seed}", f"hours-{seed}.scenario", os.path.abspath(f"hours-{seed}.db")
    text, raw, sums = draw(seed)
    found = Findings()
    with open(scenario, "w") as file:
        file.write(text)
    with tap.part(name):
        truth = Truth(scenario, run(BUILD + "/tests/screen/record_db", scenario, db, END, timeout=300).out)
        run(BUILD + "/tests/screen/record_db", "compact", db, raw, sums)
        guids = sorted({guid for guid, _ in truth.rates})
        for step in ("20m", "1h", ""):
            for port in sorted(truth.rates)[::5]:
                check_series(found, db, truth, f"{port[0]}/{port[1]}", [port], "xmit_bytes,rcv_bytes", step)
            for guid in guids[::3]:
                check_series(found, db, truth, guid, truth.ports_of(guid), "xmit_bytes,rcv_bytes", step)
            for port in sorted(truth.errors):
                check_series(found, db, truth, f"{port[0]}/{port[1]}", [port], "errors", step)
        for since, until in ((0, LENGTH_S), (0, 5000), (4000, 8000)):
            check_lists(found, db, truth, since, until)
        for moment in (1500, 3700, 5100, 7000, LENGTH_S):
            check_moment(found, db, truth, moment)
        before = outputs(db)
        run(IBWIRE, "db", "compact", "--db", db)
        tap.equal(f"{name}: db compact changes no number", outputs(db), before)
        by_face = {}
        for line in found.wrong:
            by_face.setdefault(line.split(":")[0], []).append(line)
        shown = [line for lines in by_face.values() for line in lines[:6] + [f"... {len(lines)} of this face"]]
        tap.result(not found.wrong, f"{name}: each number is within 1 % of the truth, marked, or unknown",
                   "\n".join([text, f"raw {raw} s, sums {sums} s", *shown]))
        tap.note(f"{name}: {found.compared.total()} numbers compared, {found.marked.total()} marked or unknown")
    return found


if __name__ == "__main__":
    first, _, last = os.environ.get("IBWIRE_SEED", "1-30" if os.environ.get("IBWIRE_LONG") else "").partition("-")
    seeds = range(int(first), int(last or first) + 1) if first else FEW[:1] if SHORT else FEW
    faces = [check(seed) for seed in seeds]
    compared, marked = (sum((getattr(found, which) for found in faces), collections.Counter())
                        for which in ("compared", "marked"))
    bounds.note_shares(compared, marked)
    tap.done()
