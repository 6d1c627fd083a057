# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Checks of a database against docs/storage.md and against the simulated traffic."""
import csv
import os
import sqlite3
import subprocess

MAD_WORDS = 72  # that ibsim counts for a datagram
MASK = (1 << 64) - 1


def unsigned(value):
    return value & MASK


class Stored:
    """Consistency checks of a database, sweep by sweep."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.counters = dict(self.db.execute("SELECT key, id FROM counter"))
        self.ports = {row[0]: (f"0x{unsigned(row[1]):016x}", row[2]) for row in self.db.execute(
            "SELECT p.id, n.guid, p.number FROM port p JOIN node n ON n.id = p.node")}
        self.faults = []
        self.reset_ports, self.broken_ports = set(), set()
        self.numbers = dict.fromkeys(("deltas", "checked", "resets", "saturated", "unknown", "again", "gap_ports"), 0)

    def fault(self, text):
        if len(self.faults) < 50:
            self.faults.append(text)

    def grouped(self, sql):
        """A function that returns the rows of a sweep without that column; it must be called in order of sweeps."""
        return self.by_sweep(self.db.execute(sql))

    @staticmethod
    def by_sweep(rows):
        held = next(rows, None)

        def of(sweep):
            nonlocal held
            found = []
            while held and held[0] <= sweep:
                if held[0] == sweep:
                    found.append(held[1:])
                held = next(rows, None)
            return found
        return of

    def unpacked(self, sql):
        """Rows of a statement on deltas, which `ibwire sql` unpacks."""
        with subprocess.Popen([os.environ["IBWIRE"], "sql", "--db", self.path, "--csv-raw", sql],
                              stdout=subprocess.PIPE, text=True) as process:
            rows = csv.reader(process.stdout)
            next(rows, None)
            for row in rows:
                yield tuple(int(cell) if cell else None for cell in row)

    def columns(self, table):
        there = {row[1] for row in self.db.execute(f"PRAGMA table_info({table})")}
        return [key for key in self.counters if key in there]

    def check_sums(self):
        """Deltas add up between absolute readings; each port is read or covered by a span."""
        moved, read = self.columns("chunk_sum"), self.columns("absolute")
        deltas = self.by_sweep(self.unpacked(
            f"SELECT sweep, port, elapsed_us, unknown, {', '.join(moved)} FROM delta ORDER BY sweep"))
        errors = self.grouped("SELECT sweep, port, counter, value, marks FROM error ORDER BY sweep")
        absolutes = self.grouped(f"SELECT sweep, port, at_us, {', '.join(read)} FROM absolute ORDER BY sweep")
        spans = self.grouped("SELECT from_sweep, port, to_sweep FROM span ORDER BY from_sweep")
        state, covered, known = {}, {}, set()
        for sweep, answered in list(self.db.execute("SELECT id, ports_answered FROM sweep ORDER BY id")):
            for port in [port for port, end in covered.items() if end is not None and end <= sweep]:
                del covered[port]
            covered.update(spans(sweep))
            marks = {}
            for port, counter, value, mark in errors(sweep):
                marks.setdefault(port, {})[counter] = (value, mark)
            fresh = set()
            for port, elapsed_us, unknown, *values in deltas(sweep):
                fresh.add(port)
                self.apply(state, port, sweep, elapsed_us, unknown, dict(zip(moved, values)), marks.pop(port, {}))
            for port, at_us, *values in absolutes(sweep):
                self.compare(state, port, sweep, at_us, dict(zip(read, values)), port in fresh)
                fresh.add(port)
            if marks:
                self.fault(f"sweep {sweep}: changes of errors without a delta: {sorted(marks)[:5]}")
            known |= fresh | set(covered)
            if len(fresh) != answered:
                self.fault(f"sweep {sweep}: {answered} ports answered, {len(fresh)} are stored")
            both, neither = fresh & set(covered), known - fresh - set(covered)
            if both or neither:
                self.fault(f"sweep {sweep}: read and covered {self.names(both)}, neither {self.names(neither)}")
        self.numbers["gap_ports"] = self.db.execute(
            "SELECT count(DISTINCT port) FROM span WHERE why <> 3").fetchone()[0]
        self.last = state

    def names(self, ports):
        return [self.ports[port] for port in sorted(ports)[:3]]

    def apply(self, state, port, sweep, elapsed_us, unknown, moved, errors):
        self.numbers["deltas"] += 1
        if port not in state:
            self.fault(f"sweep {sweep}: a delta of {self.ports[port]} before its first reading")
            state[port] = {}
        values = state[port]
        if elapsed_us <= 0:
            self.fault(f"sweep {sweep}: {self.ports[port]} took {elapsed_us} us")
        if values.get("at_us") is not None:
            values["at_us"] += elapsed_us
        for key, number in self.counters.items():
            change, mark = errors.get(number, (moved.get(key, 0), 0))
            if unknown >> number & 1:
                self.numbers["unknown"] += values.get(key) is not None
                if values.get(key) is not None:
                    self.broken_ports.add(port)
                values[key] = None
                continue
            if change is None:
                self.fault(f"sweep {sweep}: {self.ports[port]} {key} is neither known nor unknown")
                continue
            if mark & 1:
                self.numbers["resets"] += 1
                self.reset_ports.add(port)
                values[key] = unsigned(change)
            elif values.get(key) is not None:
                values[key] += unsigned(change)
            self.numbers["saturated"] += bool(mark & 2)

    def compare(self, state, port, sweep, at_us, read, has_delta):
        values = state.setdefault(port, {})
        if not has_delta and values:
            # Not the first reading: it has no delta.
            self.numbers["again"] += 1
            self.broken_ports.add(port)
            values.clear()
        if values.get("at_us") is not None and values["at_us"] != at_us:
            self.fault(f"sweep {sweep}: times of {self.ports[port]} add up to {values['at_us']}, read at {at_us}")
        values["at_us"] = at_us
        for key, value in read.items():
            value = None if value is None else unsigned(value)
            if values.get(key) is not None and value is not None:
                self.numbers["checked"] += 1
                if values[key] != value:
                    self.fault(f"sweep {sweep}: {self.ports[port]} {key}: deltas add up to {values[key]}, "
                               f"read {value}")
            values[key] = value

    def check_beat(self, interval_us):
        """Each interval without a sweep has an event. Return the number of missed sweeps.

        Sweeps are scheduled at multiples of the interval after the first one. If two of these times pass without a
        sweep, the sweep before them or the one behind them took longer than the interval. Of successive late sweeps
        only the first has an event, which is stored with the next sweep.
        """
        starts = self.db.execute("SELECT id, start_us, end_us FROM sweep ORDER BY id").fetchall()
        reported = [row[0] for row in self.db.execute("SELECT sweep FROM event WHERE kind = 'sweep-late'")]
        missed, first, newest, waited = 0, starts[0][1], starts[-1][0], starts[0][0]
        for (before, began, ended), (after, begins, _) in zip(starts, starts[1:]):
            beats = (begins - first) // interval_us - (began - first) // interval_us
            if after != before + 1:
                self.fault(f"sweeps {before} and {after}: numbers between them are missing")
            if beats > 1:
                missed += beats - 1
                # A collector that is stopped during the newest sweep has not reported that it was late.
                if after != newest and not any(waited <= sweep <= after + 1 for sweep in reported):
                    self.fault(f"sweep {after} began {(begins - began) / 1e6:.2f} s behind sweep {before}; "
                               "without an event")
            # The newest sweep that began after a wait, when it was scheduled: the sweep before it was not late.
            if begins - ended >= interval_us / 4 and (begins - first) % interval_us <= interval_us / 100:
                waited = after
        return missed

    def check_cuts(self):
        """The first of consecutive incomplete sweeps has an event. Return the number of incomplete sweeps."""
        reported = {row[0] for row in self.db.execute("SELECT sweep FROM event WHERE kind = 'sweep-cut'")}
        newest, = self.db.execute("SELECT max(id) FROM sweep").fetchone()
        cut = set()
        for begins, ends in self.db.execute("SELECT DISTINCT from_sweep, to_sweep FROM span JOIN code ON "
                                            "code.kind = 'why' AND code.value = why WHERE name = 'unfinished'"):
            cut.update(range(begins, newest + 1 if ends is None else ends))
        for sweep in cut:
            # The newest one may have been cut by the end of the collector, which is no event.
            if sweep - 1 not in cut and sweep != newest and not reported & {sweep, sweep + 1}:
                self.fault(f"sweep {sweep} did not read all ports in time, without an event")
        return len(cut)

    def check_truth(self, before, after, skip):
        """Stored traffic is the driver's, plus MADs of 72 words. Return the number of ports compared."""
        sums = {(f"0x{unsigned(row[0]):016x}", row[1]): row[2:] for row in self.unpacked(
            "SELECT n.guid, p.number, sum(d.xmit_data), sum(d.xmit_packets), sum(d.rcv_data), sum(d.rcv_packets) "
            "FROM delta d JOIN port p ON p.id = d.port JOIN node n ON n.id = p.node GROUP BY p.id")}
        held = 0
        for key, end in after.items():
            if key in skip:
                continue
            if key not in sums:
                self.fault(f"{key}: nothing is stored")
                continue
            held += 1
            for way, words, packets in (("xmit", *sums[key][:2]), ("rcv", *sums[key][2:])):
                sent = end[f"{way}_words"] - before[key][f"{way}_words"]
                datagrams = packets - (end[f"{way}_packets"] - before[key][f"{way}_packets"])
                if datagrams < 0 or words - sent != MAD_WORDS * datagrams:
                    self.fault(f"{key} {way}: stored {words} words and {packets} packets, sent {sent} words; "
                               f"{datagrams} datagrams would be {MAD_WORDS * datagrams} words")
        return held
