#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: hostile strings
# waits: for sweeps
"""Hostile NodeDescriptions are harmless in every output: tables, JSON, CSV, the screen."""
import csv
import io
import os
import re
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, stop, wait_for

need("ibsim", "opensm", "script")
tap = Tap()

NAMES = [
    b"red\x1b[31mEVIL\x1b[0m mlx5_0",        # an escape sequence that colours
    b"\x1b]0;EVIL\x07title mlx5_0",            # one that sets the terminal's title
    b"csi \x9b2J\x9b1;1HEVIL",                   # the same with C1 control characters
    b"bad utf8 \xff\xfe\xc0\xaf\xed\xa0\x80 x",  # bytes that are no UTF-8
    b"turn \xe2\x80\xaeLIVE\xe2\x80\xac round",  # right-to-left override
    b"quote \"a\", 'b' and, comma",
    b"=cmd|' /C calc'!A0",                       # what a spreadsheet would run
    b"'; DROP TABLE sweep; --",
    b"back\\slash \\x41 \\n tab\there",
    b"\xe6\x97\xa5\xe6\x9c\xac host mlx5_0",     # good UTF-8, twice as wide
    b"a name of exactly sixty-four bytes, which has no NUL at its end.",
    b" leading and trailing spaces ",
    b"",
    b"</td><script>alert(1)</script>",
    b"%s%n%d",
]


def net_file(path):
    lines = [b"vendid=0x2c9", b"devid=0xd2f0", b"sysimgguid=0xa000", b"switchguid=0xa000(a000)",
             b'Switch %d "S-000000000000a000" # "\x1b[7mswitch" enhanced port 0 lid 1 lmc 0' % (len(NAMES) + 2)]
    hosts = [b"attached mlx5_0", b"manager mlx5_0", *NAMES]
    for i in range(len(hosts)):
        lines.append(b'[%d] "H-%016x"[1](%x) # lid %d 4xHDR' % (i + 1, 0xb000 + 16 * i, 0xb001 + 16 * i, i + 2))
    for i, name in enumerate(hosts):
        guid = 0xb000 + 16 * i
        lines += [b"", b"vendid=0x2c9", b"devid=0x101b", b"sysimgguid=0x%x" % guid, b"caguid=0x%x" % guid,
                  b'Ca 1 "H-%016x" # "%s"' % (guid, name),
                  b'[1](%x) "S-000000000000a000"[%d] # lid %d lmc 0 "switch" lid 1 4xHDR' % (guid + 1, i + 1, i + 2)]
    with open(path, "wb") as file:
        file.write(b"\n".join(lines) + b"\n")


def harm_in(raw):
    """What should not be in a text: control characters but the line's end, and what turns the writing. It is UTF-8."""
    text = raw.decode("utf-8")
    return [hex(ord(c)) for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or
            c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"]


def written(path):
    with open(path, "rb") as file:
        return file.read()


net_file("hostile.net")
with tap.part("hostile names"), Simulation("--net", os.path.abspath("hostile.net"), "--attach", "attached mlx5_0") as sim:
    sim.ibwire("collect", "--once")
    sim.ibwire("collect", "--once")
    nodes = sim.json("nodes")
    tap.equal("every node is there", len(nodes), len(NAMES) + 3)
    tap.result(all(row["node"] for row in nodes), "every node has a name", nodes)
    names = "\n".join(row["node"] for row in nodes)
    # They must have come through the simulation as they are, or this proves nothing.
    tap.contains("escapes have reached ibwire", names, "\\x1b[31mEVIL")
    tap.contains("bytes that are no UTF-8 have, too", names, "\\xff")
    tap.contains("good UTF-8 stays readable", names, "\u65e5\u672c host")
    statements = {"sql": ["SELECT * FROM nodes"]}
    for command in ("status", "nodes", "ports", "links", "events", "sql"):
        for form in ("table", "json", "csv"):
            for color in ("never", "always"):
                # Lines of CSV end with CR and LF (RFC 4180).
                raw = sim.ibwire(command, *statements.get(command, []), "--format", form, "--color", color, text=False).out
                raw = raw.replace(b"\r\n", b"\n") if form == "csv" else raw
                if color == "always":
                    raw = re.sub(rb"\x1b\[[0-9;]*m", b"", raw)
                    if b"EVIL" in raw and rb"\x1b[31mEVIL" not in raw:
                        tap.result(False, f"{command} {form}: an escape of a name was not escaped", raw.decode())
                bad = harm_in(raw)
                tap.equal(f"{command} --format {form} --color {color} is harmless", bad, [])
        rows = list(csv.reader(io.StringIO(sim.ibwire(command, *statements.get(command, []), "--format", "csv").out)))
        tap.equal(f"{command}: every line of CSV has as many fields", {len(row) for row in rows}, {len(rows[0])})
    tap.equal("no statement hid in a name", sim.json("sql", "SELECT count(*) AS n FROM sweep")[0]["n"], 2)
    # A name finds its node again as it is shown.
    shown = [row for row in nodes if row["node"].startswith(("quote", "\\x1b]0"))]
    tap.equal("two of them are looked for", len(shown), 2)
    for row in shown:
        found = sim.json("nodes", row["node"])
        tap.equal(f"a node is found by the name that is shown ({row['node']})",
                  [entry["node_guid"] for entry in found], [row["node_guid"]])
    # An error that names nodes does it as tables do.
    ports = [row for row in sim.json("ports") if row["node_guid"].endswith("a000") and row["port"] and row["peer"]]
    said = {row["peer"]: sim.ibwire("topology", "route", f"{row['node_guid']}/{row['port']}", "1", check=False, text=False)
            for row in ports}
    wrong = {peer: done.err for peer, done in said.items() if done.status != 64 or harm_in(done.err) or
             done.err.count(b"\n") != 1 or peer.encode() not in done.err}
    tap.result(len(said) > 10 and not wrong, "a route that cannot be has one harmless line, which names nodes as they are shown",
               wrong)

    sim.env.update(TERM="xterm-256color", LINES="50", COLUMNS="160")
    with open("screen", "wb") as screen:
        reads, typed = os.pipe()
        process = sim.start("script", "-qfec", f"stty rows 50 cols 160; exec {IBWIRE} top", "/dev/null", stdin=reads,
                            stdout=screen)
        # Each is drawn before the next one is asked for; what a row opens has no word of its own.
        for key, word in ((b"", b"GROUPS"), (b"2", b"DROP TABLE"), (b"\r", None), (b"3", None), (b"4", None), (b"5", None),
                          (b"6", None), (b"1", None)):
            os.write(typed, key)
            if word:
                wait_for(lambda: word in written("screen"), 30)
            else:
                time.sleep(0.5)
        stop(process)
        os.close(reads)
        os.close(typed)
    screen = written("screen")
    tap.contains("the screens showed the names", screen.decode("utf-8", "replace"), "DROP TABLE")
    for bad in (b"\x1b[31mEVIL", b"\x1b]0;EVIL", b"\x9b2J", b"\xff\xfe", b"\xe2\x80\xae"):
        tap.result(bad not in screen, f"the screens are not written to by names ({bad!r})")
tap.done()
