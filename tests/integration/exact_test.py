#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# long: 24 sweeps of traffic; disk_test and snapshot_test check sums too
# waits: for sweeps
"""The sum of the stored deltas of every port is what the traffic driver sent through it, to the byte.

The driver writes what it sent and received at each port. The only other thing
that counts on the simulated fabric are management datagrams: 1 packet and 72
words each, at every port on their way (ibsim counts 288 octets). So for each
port and direction

    stored words - sent words == 72 x (stored packets - sent packets)

must hold exactly, with a number of datagrams that is not negative and no larger
than what all programs together can have sent. One lost or doubled word, packet
or sweep breaks it. In the middle the collector is killed and started again: a
restart loses nothing either.
"""
import os
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SHORT, Simulation, Tap, need, stop, wait_for

need("ibsim", "opensm")
tap = Tap()

MAD_WORDS = 72
SWEEPS = 8 if SHORT else 24
SHAPE = "rail --hosts 4" if SHORT else "rail"


def newest(sim):
    return sim.json("sql", "SELECT max(id) AS id FROM sweep")[0]["id"]


def collect_until(sim, sweeps, kill=False):
    process = sim.start(IBWIRE, "collect", "--interval", "500ms")
    try:
        tap.result(wait_for(lambda: newest(sim) >= sweeps, 90, 0.2), f"the collector came to sweep {sweeps}")
    finally:
        if kill:
            process.kill()
            process.wait()
        else:
            stop(process)


with tap.part("exact"), Simulation("--gen", SHAPE, "--traffic", "ring rate=150Gb/s",
                                   "--truth", os.path.abspath("truth.csv")) as sim:
    sim.traffic("pause")
    before = sim.truth()
    sim.ibwire("collect", "--once")
    sim.traffic("resume")
    collect_until(sim, SWEEPS // 2, kill=True)
    collect_until(sim, SWEEPS)
    sim.traffic("pause")
    sim.ibwire("collect", "--once")
    after = sim.truth()

    stored = {(row["node_guid"], row["port"]): row for row in sim.json("sql", """
        SELECT node_guid, port, count(*) AS deltas, sum(xmit_bytes) AS xmit_bytes, sum(rcv_bytes) AS rcv_bytes,
               sum(xmit_packets) AS xmit_packets, sum(rcv_packets) AS rcv_packets,
               sum(xmit_wait_ticks) AS xmit_wait, sum(elapsed_us) AS elapsed_us
        FROM traffic GROUP BY node_guid, port""")}
    marks = sim.json("sql", "SELECT count(*) AS n FROM errors WHERE reset OR (saturated AND counter <> 'xmit_wait')")
    tap.equal("no counter fell or filled up", marks[0]["n"], 0)

    wrong, waits_wrong, datagrams, busy, total = [], [], [], 0, 0
    full = {(row["node_guid"], row["port"])
            for row in sim.json("sql", "SELECT DISTINCT node_guid, port FROM errors WHERE saturated")}
    for key, end in after.items():
        row, begin = stored.get(key), before[key]
        if row is None:
            wrong.append(f"{key}: nothing is stored")
            continue
        for way in ("xmit", "rcv"):
            sent_words = end[f"{way}_words"] - begin[f"{way}_words"]
            sent_packets = end[f"{way}_packets"] - begin[f"{way}_packets"]
            mads = row[f"{way}_packets"] - sent_packets
            datagrams.append(mads)
            if row[f"{way}_bytes"] % 4 or row[f"{way}_bytes"] // 4 - sent_words != MAD_WORDS * mads or mads < 0:
                wrong.append(f"{key} {way}: stored {row[f'{way}_bytes'] // 4} words, {row[f'{way}_packets']} packets; "
                             f"sent {sent_words} words, {sent_packets} packets")
            busy += way == "xmit" and sent_packets > 0
            total += 4 * sent_words
        waited = end["xmit_wait"] - begin["xmit_wait"]
        if key not in full and row["xmit_wait"] != waited:
            waits_wrong.append(f"{key}: stored {row['xmit_wait']} ticks, driven {waited}")
    tap.result(not wrong, f"every port's sum is what was sent, to the byte ({len(after)} ports)", "\n".join(wrong[:20]))
    tap.result(not waits_wrong, "every port's XmitWait is what was driven", "\n".join(waits_wrong[:20]))
    # All datagrams of the run may cross one port: the one of the host that asks.
    sent = sim.json("sql", "SELECT sum(mads_sent) AS mads, sum(discovery_smps) AS smps, count(*) AS sweeps FROM sweep")[0]
    tap.result(max(datagrams) <= 2 * (sent["mads"] + sent["smps"]) + 20000,
               "no port counted more datagrams than were sent", f"{max(datagrams)} of {sent}")
    tap.result(sent["sweeps"] >= SWEEPS, "over at least that many sweeps", sent)
    tap.result(busy >= 16 and total > 1e9, "there was traffic to be counted", f"{busy} ports, {total} bytes")
    elapsed = {row["deltas"] for row in stored.values()}
    tap.result(min(elapsed) >= SWEEPS - 2, "each port has a delta for each sweep", sorted(elapsed))
    tap.note(f"{total / 1e12:.3f} TB through {busy} busy port ends of {len(after)} over {sent['sweeps']} sweeps, exact; "
             f"{sent['mads']} MADs and {sent['smps']} SMPs of ours in between")
tap.done()
