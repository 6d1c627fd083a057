#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The statements of docs/sql.md run in a SQLite client without our extension, and the view traffic_hours has the
traffic that the unpacked samples have (ibwire sql), although it reads stored sums."""
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SRCDIR, Tap, run

tap = Tap()
BUILD, DB = os.environ["IBWIRE_BUILD"], "hours.db"


def plain(statement, path=DB):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        cursor = db.execute(statement)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]


run(BUILD + "/tests/bench/makedb", "--ports", "128", "--hours", "3.5", "--interval", "20", "--begin", "now", DB)
with open(SRCDIR + "/docs/sql.md", encoding="utf-8") as page:
    recipes = re.findall(r"([^\n]*):\n\n```sql\n(.*?)```", page.read(), re.DOTALL)
tap.result(len(recipes) >= 9, "statements of the page", len(recipes))
for title, statement in recipes:
    rows = plain(statement)
    tap.result(rows or "traffic" not in statement, title.strip(), "no rows")

rows = plain("SELECT * FROM traffic_hours")
last = plain("SELECT max(time) AS time FROM sweeps")[0]["time"]
lengths = {round(row["elapsed_s"] / 600) for row in rows}
tap.result(max(lengths) == 6 and min(lengths) < 6, "rows of an hour, and shorter ones after the last hour", lengths)
tap.result(max(row["until"] for row in rows)[:15] >= plain("SELECT strftime('%Y-%m-%dT%H:%M', :t, '-20 minutes') AS t"
           .replace(":t", f"'{last}'"))[0]["t"][:15], "up to 20 minutes before the newest sweep", last)
counted = {}
for row in rows:
    since, until, bytes_of = counted.get((row["node_guid"], row["port"]), ("9", "", (0, 0)))
    counted[row["node_guid"], row["port"]] = (min(since, row["since"]), max(until, row["until"]),
                                              (bytes_of[0] + row["xmit_bytes"], bytes_of[1] + row["rcv_bytes"]))
since, until = min(c[0] for c in counted.values()), max(c[1] for c in counted.values())
unpacked = run(IBWIRE, "sql", "--db", DB, "--format", "csv", "SELECT node_guid, port, sum(xmit_bytes), sum(rcv_bytes) FROM "
               f"sample WHERE time BETWEEN '{since}' AND '{until}' AND elapsed_us > 0 GROUP BY 1, 2").out
truth = {(guid, int(port)): (int(sent), int(received))
         for guid, port, sent, received in (line.split(",") for line in unpacked.split()[1:])}
tap.equal("the bytes of each port are those of its samples", {key: c[2] for key, c in counted.items()}, truth)
tap.result(len(truth) > 128 and all(abs(row["xmit_bytes_per_s"] * row["elapsed_s"] - row["xmit_bytes"]) <= 1 +
           1e-9 * row["xmit_bytes"] for row in rows), "rates are bytes by time", len(truth))

# What no synthetic history has: marks, unknown counters, and numbers beyond 2^63.
with sqlite3.connect(DB) as db:
    ports = [row[0] for row in db.execute("SELECT port FROM hour_sum WHERE hour = 1 ORDER BY port LIMIT 5")]
    for port, change in zip(ports, ("reset = 1", "saturated = 2", "unknown = 2, rcv_data = NULL", "xmit_data = -1",
                                    "reset = 4")):
        db.execute(f"UPDATE hour_sum SET {change} WHERE hour = 1 AND port = ?", (port,))
    changed = [tuple(row) for row in db.execute(
        "SELECT t.at_least, t.rcv_bytes IS NULL, t.xmit_bytes = 9223372036854775807, t.xmit_bytes_per_s * t.elapsed_s > 7e19"
        " FROM traffic_hours t JOIN hour r ON r.id = 1 JOIN node n ON printf('0x%016x', n.guid) = t.node_guid"
        " JOIN port p ON p.node = n.id AND p.number = t.port JOIN hour_sum h ON h.hour = 1 AND h.port = p.id"
        " WHERE p.id IN (?, ?, ?, ?, ?) AND t.since = (SELECT min(since) FROM traffic_hours) ORDER BY p.id", ports)]
tap.equal("lower bounds are marked, unknown numbers are NULL, large ones are limited", changed,
          [(1, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0), (0, 0, 1, 1), (0, 0, 0, 0)])
tap.done()
