#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for findings
"""ibwire import: rows of files that the test writes, counted by a reader of its own; refusals; reports; cable-hot."""
import contextlib
import csv
import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, stop, wait_for

need("ibsim")
tap = Tap()
HEADER = '# Running version   : "IBDIAGNET 2.10.0"\n# Running timestamp : {} UTC +0000\n'


def stamp(ago_s):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - ago_s))


def section(name, columns, rows):
    return "\n".join([f"START_{name}", ",".join(columns), *(",".join(row) for row in rows), f"END_{name}", "", ""])


class Bundle:
    """Files of one run of ibdiagnet for the ports of a fabric."""

    def __init__(self, nodes, ports, serials, ago_s=3600, hot=None):
        self.time = stamp(ago_s)
        names = ['"MF0;leaf ""%d"", rack 7, unit 1"' % i if i % 2 else '"a "b", c %d"' % i for i in range(len(nodes))]
        self.db_csv = (
            HEADER.format(self.time) + section("NODES", ["NodeDesc", "NumPorts", "NodeGUID"],
                                               [[name, "1", guid] for name, guid in zip(names, nodes)])
            + section("CABLE_INFO", ["NodeGuid", "PortGuid", "PortNum", "Vendor", "PN", "SN", "LengthDesc",
                                    "Temperature"],
                      [[guid, guid, str(port), '"Mellanox, Inc."', '"MCP1650"', f'"{serial}"', '"2 m"',
                        f'"{hot.get((guid, port), 45) if hot else 45}C"'] for (guid, port), serial in serials.items()])
            + section("PM_INFO", ["NodeGUID", "PortNumber", "SymbolErrorCounterExt", "LinkDownedCounter"],
                      [[guid, str(port), "7", "0x2"] for guid, port in ports])
            + section("TEMP_SENSING", ["NodeGUID", "CurrentTemperature"], [[guid, "51"] for guid in nodes])
            + section("NEW_IN_THIS_VERSION", ["A"], [["1"]]))
        self.net_dump_ext = (
            HEADER.format(self.time) + "Ty : # : #IB : GUID : LID : Raw BER : Effective BER : Symbol BER : Node Desc\n"
            + "".join(f'SW : p{port} : {port} : {guid} : 1 (0x1) : 1e-12 : 1.5e-254 : 1.5e-254 : "MF0;a:b"\n'
                      for guid, port in ports))

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name in ("db_csv", "net_dump_ext"):
            with open(f"{folder}/ibdiagnet2.{name}", "w", encoding="utf-8") as file:
                file.write(getattr(self, name))
        return folder

    def count(self, name):
        """Rows of a section, by Python's reader, which needs no names without quotes."""
        lines = self.db_csv.split(f"START_{name}\n")[1].split(f"END_{name}\n")[0].splitlines()[1:]
        return len(list(csv.reader(lines)))


def count_rows(sim, table, *options):
    return int(sim.ibwire("sql", f"SELECT count(*) FROM {table}", *options, "--format", "csv").out.split()[1])


def screen_shows(sim, wanted, *keys):
    """Whether the screen of the database shows text after some keys."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    screen = sim.start(IBWIRE, "top", "--db", sim.env["IBWIRE_DB"], stdin=slave, stdout=slave, stderr=slave,
                       env={**sim.env, "TERM": "screen-256color"})
    os.close(slave)
    os.set_blocking(master, False)
    text = bytearray()

    def drawn(what):
        with contextlib.suppress(OSError):
            text.extend(os.read(master, 65536))
        return what in text

    found = wait_for(lambda: drawn(b"LIVE"), every=0.1)
    for key, then in keys:
        os.write(master, key)
        found = found and wait_for(lambda then=then: drawn(then), every=0.1)
    found = found and wait_for(lambda: drawn(wanted), every=0.1)
    os.write(master, b"q")
    screen.wait(120)
    os.close(master)
    return found, bytes(text[-2000:])


with Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2") as sim:
    sim.ibwire("collect", "--once")
    sim.ibwire("collect", "--once")
    links = sim.json("links")
    ports = [(row["node_guid"], row["port"]) for row in links] + [(row["peer_guid"], row["peer_port"]) for row in links]
    serials = {}
    for i, row in enumerate(links):
        serials[row["node_guid"], row["port"]] = serials[row["peer_guid"], row["peer_port"]] = f"MT2031VS{i:05d}"
    nodes = sorted({guid for guid, port in ports})
    first = links[0]
    port_name = f'{first["node"]}/{first["port"]}'
    bundle = Bundle(nodes, sorted(set(ports)), serials)
    folder = bundle.write("bundle")

    result = json.loads(sim.ibwire("import", folder, "--format", "json").out)
    counts = ("imported", "nodes", "known_nodes", "cables", "counters", "ber", "temperatures", "not_read",
              "unused_sections")
    tap.equal("every row is counted", [result[key] for key in counts],
              [True, bundle.count("NODES"), len(nodes), bundle.count("CABLE_INFO"), bundle.count("PM_INFO"),
               len(set(ports)), bundle.count("TEMP_SENSING"), 0, 1])
    tap.equal("the time of the import is that of the header", result["time"][:19], bundle.time.replace(" ", "T"))
    again = sim.ibwire("import", folder)
    tap.equal("twice the same: status 0", again.status, 0)
    tap.contains("and one line", again.err, "was imported before")
    tap.equal("which changes nothing", count_rows(sim, "import"), 1)

    rows = json.loads(sim.ibwire("report", port_name, "--format", "json").out)
    tap.equal("the report of a link has both ends of its cable", sorted(row["serial"] for row in rows["cables"]),
              [serials[ports[0]]] * 2)
    tap.equal("and its readings", {(row["temperature_c"], row["raw_ber"], row["symbol_errors"], row["link_downed"])
                                   for row in rows["cable_readings"]}, {(45, 1e-12, 7, 2)})
    tap.equal("vendors have commas", {row["vendor"] for row in rows["cables"]}, {"Mellanox, Inc."})
    rows = json.loads(sim.ibwire("report", serials[ports[0]], "--format", "json").out)
    tap.equal("the report of a serial number has its ports", len(rows["cables"]), 2)
    tap.equal("without errors there is no fault", rows["cable_fault"]["errors_follow"], "none")
    tap.contains("as text", sim.ibwire("report", serials[ports[0]]).out, "no link with it has errors")
    tap.contains("as HTML", sim.ibwire("report", serials[ports[0]], "--html", "-").out, serials[ports[0]])
    tap.equal("an unknown serial number is an unknown name", sim.ibwire("report", "MT9999", check=False).status, 64)

    older = Bundle(nodes, ports, serials, ago_s=7200)
    future = Bundle(nodes, ports, serials, ago_s=-7200)
    other = Bundle([f"0xabc{i:03d}" for i in range(9)] + nodes[:2], ports, serials, ago_s=60)
    for name, wrong, error in (("older", older, "older than the newest import"), ("future", future, "in the future"),
                               ("other", other, "2 of its 11 nodes (18 %)")):
        refused = sim.ibwire("import", wrong.write(name), check=False)
        tap.equal(f"{name}: status 64", refused.status, 64)
        tap.contains(f"{name}: why", refused.err, error)
    cut = Bundle(nodes, ports, serials, ago_s=60)
    cut.db_csv = cut.db_csv[:cut.db_csv.index("END_CABLE_INFO") - 20]
    refused = sim.ibwire("import", cut.write("cut"), check=False)
    tap.equal("cut: status and why", (refused.status, "section CABLE_INFO has no end" in refused.err), (64, True))
    tap.equal("nothing of these is stored", count_rows(sim, "import"), 1)

    sim.ibwire("db", "export", "hidden.db", "--anonymise")
    tap.equal("an anonymised copy has other serial numbers",
              count_rows(sim, "cable WHERE serial LIKE 'MT%'", "--db", "hidden.db"), 0)

    with open("collector.log", "w", encoding="utf-8") as log:
        collector = sim.start(IBWIRE, "collect", "--interval", "1s", stderr=log)
    hot = Bundle(nodes, ports, serials, ago_s=30, hot={ports[0]: 74})
    tap.equal("an import while a collector runs", sim.ibwire("import", hot.write("hot")).status, 0)
    wait_for(lambda: "cable-hot" in sim.ibwire("health", check=False).out)
    finding = [row for row in json.loads(sim.ibwire("health", "--format", "json", check=False).out)
               if row["kind"] == "cable-hot"][0]
    tap.equal("a hot transceiver is a warning at its port",
              (finding["severity"], finding["node_guid"], finding["port"]), ("warning", *ports[0]))
    tap.contains("of its serial number", finding["text"], f"transceiver {serials[ports[0]]} at ")
    tap.contains("with its temperature", finding["text"], " has 74 C in the import of ")
    found, text = screen_shows(sim, b"MT2031VS", (b"2", b"PEER"), (b"\r", b"DELTA"))
    tap.result(found, "the screen's page of a port has its cable", text)
    stop(collector)

tap.done()
