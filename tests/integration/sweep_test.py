#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: it waits for rounds of detail counters; collector/details_test covers them in virtual time
# waits: for sweeps
"""The sweep on a wire: slow counters as perfquery reads them, and as they are shown, redirections, sweeps that are cut, a stop in the midst of
one, hosts that are left alone, hosts that nobody knows, half the rate while agents drop datagrams."""
import os
import re
import signal
import sys
import time
from datetime import datetime, timezone

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, stop, wait_for

need("perfquery", "ibnetdiscover", "ibsim", "opensm")
tap = Tap()
LEAF = "leaf-u01-r0"


def sql(sim, statement):
    """Rows of one statement, newest database."""
    return sim.json("sql", statement)


def events(sim, kind):
    return [row for row in sim.json("events") if row["kind"] == kind]


def whole_round(sim):
    """Sixty sweeps and two, in which each port's turn of slow counters comes. What is slow is asked once: where the
    machine was so busy that a sweep had no time, or an answer came too late, there is another round."""
    for _ in range(6):
        before = newest(sim)
        sim.ibwire("collect", "--interval", "120ms", "--count", "62")
        disturbed = sql(sim, f"SELECT count(*) AS n FROM sweep WHERE id > {before} AND (ports_unfinished OR mads_timed_out)")
        if not disturbed[0]["n"]:
            break


def newest(sim):
    return sql(sim, "SELECT max(id) AS id FROM sweep")[0]["id"] if os.path.exists(sim.env["IBWIRE_DB"]) else 0


def tell(sim, node, *words):
    sim.run(IBWIRE_SIM, "pma", " ".join((node, *words)))


def number(text, name):
    return int(re.search(rf"^{name}:\.*(\d+)$", text, re.M).group(1))


def lid_of(sim, name):
    text = sim.run("ibnetdiscover", "-p").out
    return int(re.search(rf"^(?:CA|SW) +(\d+) +\d+ 0x[0-9a-f]{{16}} .*\( '{re.escape(name)}' - '", text, re.M).group(1))


# What `ports --details` calls what perfquery says. Source: libibmad fields.c.
SHOWN = {"--rcverr": {"PortLocalPhysicalErrors": "local_physical_errors",
                      "PortMalformedPktErrors": "malformed_packet_errors",
                      "PortBufferOverrunErrors": "buffer_overrun_errors",
                      "PortDLIDMappingErrors": "dlid_mapping_errors", "PortVLMappingErrors": "vl_mapping_errors",
                      "PortLoopingErrors": "looping_errors"},
         "-T": {"SyncHeaderErrorCounter": "sync_header_errors", "UnknownBlockCounter": "unknown_blocks",
                "PortFECCorrectableBlockCtr": "fec_corrected_blocks",
                "PortFECUncorrectableBlockCtr": "fec_uncorrected_blocks",
                "PortFECCorrectedSymbolCtr": "fec_corrected_symbols",
                **{f"FECCorrectableSymbolCtrLane{lane}": f"fec_corrected_lane{lane}" for lane in range(12)}}}


def shown_details(sim):
    """What people see is what perfquery reads; rates are counts over elapsed time x 200 Gb/s (4x HDR)."""
    lid = str(lid_of(sim, f"MF0;{LEAF}:MQM8700/U1"))
    tell(sim, LEAF, "port=1 local_physical_errors=21 looping_errors=4 unknown_blocks=2 fec_corrected_blocks=80000 "
                    "fec_corrected_symbols=100000 fec_uncorrected_blocks=5")
    since = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    whole_round(sim)
    row, = sim.json("ports", "--details", "--since", since, f"{LEAF}/1")
    for option, keys in SHOWN.items():
        text = sim.run("perfquery", option, lid, "1").out
        tap.same(f"ports --details shows what perfquery {option} reads",
                 {key: row["details"][key] for key in keys.values()},
                 {key: number(text, name) for name, key in keys.items()})
    tap.equal("and FEC's layout", row["fec_layout"], "rs")
    tap.same("what was counted since is that between the readings",
             {key: value for key, value in row["details_counted"].items() if value},
             {"local_physical_errors": 21, "looping_errors": 4, "unknown_blocks": 2, "fec_corrected_blocks": 10000,
              "fec_corrected_symbols": 10000, "fec_uncorrected_blocks": 2,
              **{f"fec_corrected_lane{lane}": 2500 for lane in range(4)}})
    bits = row["details_window_us"]["extended_speeds"] / 1e6 * 200e9
    tap.equal("the bit error rates are those counts over the bits of that time",
              [round(row[key] * bits, 3) for key in ("raw_ber", "effective_ber")], [10002.0, 2.0])
    tap.equal("and no symbol error was seen", (row["symbol_ber"], row["symbol_ber_below"] > 0), (0, True))
    table = sim.ibwire("ports", "--details", "--since", since, f"{LEAF}/1").out
    tap.equal("a table has every counter that is not 0, and no other",
              set(re.findall(rf"^{LEAF}/1 +(\w+)", table, re.M)) - {"symbol_ber", "effective_ber", "raw_ber", "FEC"},
              {key for key, value in row["details"].items() if value})
    rows = sim.json("ports", "--details", "--errors", "--since", since)
    tap.equal("what FEC could not correct is an error", [(row["node"], row["port"], row["errors"]) for row in rows],
              [(f"MF0;{LEAF}:MQM8700/U1", 1, {})])
    other, = sim.json("ports", "--details", f"{LEAF}/2")
    tap.equal("its neighbour has none of it", [key for key, value in other["details"].items() if value], [])


def status_tells(sim):
    status = sim.json("status")
    newest, = sql(sim, "SELECT spread_us, node_spread_us, ports_unfinished FROM sweep ORDER BY id DESC LIMIT 1")
    tap.equal("status has the newest sweep's spread, and what it did not come to",
              {key: status[key] for key in newest}, newest)
    tap.equal("readings of one switch are no further apart than those of all",
              0 < status["node_spread_us"] <= status["spread_us"] < status["sweep_us"], True)


def slow_counters(sim):
    """Told, read by ibwire in turn, and as perfquery reads them; then one more error, explained by the sweep it is in."""
    tell(sim, LEAF, "caps=0x5300 fec=rs tick=7")
    tell(sim, LEAF, "port=1 fec_corrected_blocks=70000 fec_uncorrected_blocks=3 fec_corrected_symbols=90000")
    tell(sim, "node0001 mlx5_0", "port=1 looping_errors=7 switch_hoq_discards=5 xmit_wait_vl3=11")
    whole_round(sim)
    rows = sql(sim, "SELECT node, port, counter, reading FROM details WHERE reading > 0 AND counter NOT LIKE '%lane%'")
    found = {(row["node"], row["port"], row["counter"]): row["reading"] for row in rows}
    tap.same("every port's slow counters are read in sixty sweeps", found, {
        ("MF0;leaf-u01-r0:MQM8700/U1", 1, "fec_corrected_blocks"): 70000,
        ("MF0;leaf-u01-r0:MQM8700/U1", 1, "fec_uncorrected_blocks"): 3,
        ("MF0;leaf-u01-r0:MQM8700/U1", 1, "fec_corrected_symbols"): 90000,
        ("node0001 mlx5_0", 1, "looping_errors"): 7, ("node0001 mlx5_0", 1, "switch_hoq_discards"): 5,
        ("node0001 mlx5_0", 1, "xmit_wait_vl3"): 11})
    leaf = str(lid_of(sim, "MF0;leaf-u01-r0:MQM8700/U1"))
    peer = sim.run("perfquery", "--extended_speeds", leaf, "1").out
    tap.equal("perfquery reads the same of FEC", [number(peer, "PortFECCorrectableBlockCtr"),
                                                  number(peer, "PortFECUncorrectableBlockCtr")], [70000, 3])
    tap.equal("ticks are known where the agent has them",
              [row["tick"] for row in sql(sim, "SELECT tick FROM caps WHERE tick IS NOT NULL")], [7])
    tell(sim, "node0001 mlx5_0", "port=1 rcv_errors=2 looping_errors=9")
    sim.ibwire("collect", "--once")
    rows = sql(sim, "SELECT counter, value FROM details WHERE value > 0 AND sweep = (SELECT max(id) FROM sweep)")
    tap.equal("an error is explained in the sweep that sees it",
              [row for row in rows if row["counter"] == "looping_errors"], [{"counter": "looping_errors", "value": 2}])
    shown_details(sim)
    status_tells(sim)


def redirection(sim):
    tell(sim, "node0002 mlx5_0", "redirect=node0003 mlx5_0")
    report = sim.json("collect", "--once")
    tap.equal("a redirected node is read", (report["ports_asked"], report["ports_answered"], report["mads_timed_out"]),
              (report["ports_asked"], report["ports_asked"], 0))
    sim.ibwire("collect", "--interval", "100ms", "--count", "3")
    rows = sim.json("ports", "node0002 mlx5_0/1", "node0003 mlx5_0/1")
    lid = {row["node"]: row["lid"] for row in rows}
    for row in rows:
        text = sim.run("perfquery", "-x", str(lid[row["node"]]), "1").out
        seen, told = number(text, "PortXmitPkts"), row["counters"]["xmit_packets"]
        tap.equal(f"{row['node']} has its own counters", told <= seen <= told + 40, True)
    tell(sim, "node0002 mlx5_0", "redirect=none")


def cut_sweeps(sim):
    before = len(events(sim, "sweep-cut"))
    report = sim.json("collect", "--interval", "300ms", "--count", "14", "--max-mads-per-second", "150")
    tap.equal("a sweep that is too long for its interval is cut", report["ports_unfinished"] > 0, True)
    tap.equal("it is told once", len(events(sim, "sweep-cut")) - before, 1)
    rows = sql(sim, "SELECT start_us, ports_answered, (SELECT count(*) FROM delta WHERE sweep = sweep.id) AS deltas FROM sweep "
               "ORDER BY id DESC LIMIT 13")
    # A sweep that a busy machine begins late is off the beat twice; one that went by itself would be so always.
    beats = [abs(a["start_us"] - b["start_us"]) / 300000 % 1 for a, b in zip(rows, rows[1:])]
    on_beat = sum(beat < 0.35 or beat > 0.9 for beat in beats)
    tap.result(on_beat >= 8, "the next one starts on its beat", f"{on_beat} of {len(beats)}: {beats}")
    tap.equal("what was read is stored", [row["deltas"] for row in rows], [row["ports_answered"] for row in rows])
    tap.result(sum(row["ports_answered"] for row in rows) > 0, "and something was", rows)
    rows = sql(sim, "SELECT count(DISTINCT port) AS n FROM delta WHERE sweep > (SELECT max(id) FROM sweep) - 14")
    tap.equal("and everybody has a turn", rows[0]["n"], report["ports_asked"])


def questions(sim):
    """How many went over the wire so far."""
    return int(re.search(r"(\d+) requests", sim.run(IBWIRE_SIM, "wire").out)[1])


def is_in_a_sweep(sim, at_first):
    """After the questions of a discovery, which takes many at once, ten a second."""
    one = questions(sim)
    time.sleep(0.5)
    return one > at_first + 100 and 0 < questions(sim) - one < 30


def stop_in_a_sweep(sim):
    before, at_first = sql(sim, "SELECT count(*) AS n FROM sweep")[0]["n"], questions(sim)
    process = sim.start(IBWIRE, "collect", "--interval", "60s", "--max-mads-per-second", "10")
    wait_for(lambda: is_in_a_sweep(sim, at_first))
    began = time.monotonic()
    status = stop(process, signal.SIGINT)
    tap.equal("a stop in the midst of a sweep is a good end", (status, time.monotonic() - began < 10), (0, True))
    tap.equal("and what it had is stored", sql(sim, "SELECT count(*) AS n FROM sweep")[0]["n"], before + 1)


def hosts_left_alone(sim):
    asked = {True: 0, False: 0}
    sim.ibwire("collect", "--ask", "switches", "--interval", "200ms", "--count", "3")
    for row in sim.json("ports"):
        is_host = row["node"].startswith(("node", "mgmt"))
        asked[is_host] += row["status"] in ("ok", "idle")
    tap.equal("switches are read, hosts are not", (asked[False] > 0, asked[True]), (True, 0))
    rows = {(row["node"], row["port"]): row for row in sim.json("ports")}
    mirrored = [row for row in rows.values() if row["status"] == "mirrored"]
    wrong = [row["node"] for row in mirrored
             if row["xmit_bytes_per_s"] != rows[row["peer"], row["peer_port"]]["rcv_bytes_per_s"]
             or row["rcv_packets_per_s"] != rows[row["peer"], row["peer_port"]]["xmit_packets_per_s"]
             or row["errors"] or "rcv_errors" not in row["errors_unknown"]]
    tap.equal("hosts show what their switch ports counted, and no errors", (len(mirrored) > 5, wrong), (True, []))
    tap.equal("and are not down", {row["status"] for row in sim.json("nodes") if row["type"] == "ca"}, {"mirrored"})
    tap.equal("status says how many", sim.json("status")["ports_mirrored"], len(mirrored))
    sent = sql(sim, "SELECT count(*) AS n FROM delta d JOIN port p ON p.id = d.port JOIN node_version v ON "
                    "v.node = p.node AND v.to_sweep IS NULL WHERE v.type = 1 AND d.sweep > "
                    "(SELECT max(id) FROM sweep) - 3")
    tap.equal("and no host is", sent[0]["n"], 0)


def nobody_known(sim):
    """Who hung before the first discovery is no node: at least the port that leads there is told."""
    hosts = sum(row["node"].startswith("node0003") for row in sim.json("nodes"))
    sim.run(IBWIRE_SIM, "wire", "dead=node0003*")
    sim.ibwire("collect", "--once", "--db", "new.db")
    status = sim.json("status", "--db", "new.db")
    tap.equal("links to unknown peers are counted", (hosts > 0, status["ports_without_peer"], status["silent_nodes"]),
              (True, hosts, []))
    tap.equal("and have a line", "unknown peers" in sim.ibwire("status", "--db", "new.db").out, True)
    tap.equal("that is not there without them", (sim.json("status")["ports_without_peer"],
                                                 "unknown peers" in sim.ibwire("status").out), (0, False))
    sim.run(IBWIRE_SIM, "wire", "dead=none")


def throttled(sim):
    before = len(events(sim, "collector-throttled"))
    process = sim.start(IBWIRE, "collect", "--interval", "200ms")
    said = []
    # More and more are dropped until it is seen: the first sweeps are late where the machine is busy.
    for value in range(1, 100):
        tell(sim, LEAF, f"port=2 vl15_dropped={value}")
        time.sleep(0.2)
        said.append(sim.json("status")["throttled"])
        if said[-1]:
            break
    wait_for(lambda: len(events(sim, "collector-unthrottled")) > before)
    said.append(sim.json("status")["throttled"])
    status = stop(process, signal.SIGINT)
    tap.equal("status says so as long as it lasts", (True in said, said[-1], sim.json("status")["throttled"]),
              (True, False, None))
    tap.equal("drops throttle once, and their end ends it",
              (status, len(events(sim, "collector-throttled")) - before,
               len(events(sim, "collector-unthrottled")) - before), (0, 1, 1))


with Simulation("--gen", "rail --hosts 4 --rails 2 --spines 2", "--wire", "latency=20us service=50us") as sim:
    for part in (slow_counters, redirection, cut_sweeps, stop_in_a_sweep, hosts_left_alone, nobody_known, throttled):
        with tap.part(part.__name__):
            part(sim)
tap.done()
