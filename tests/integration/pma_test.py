#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: the agents of ibwire-sim decode queries
"""perfquery reads the values configured for the simulation's performance agents: each detail counter, of an HCA and of
a switch, FEC in both layouts, through a redirect, and the last bytes of a MAD, which umad2sim alone loses."""
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, need, run, wait_for

need("perfquery", "ibnetdiscover", "ibsim", "opensm")
tap = Tap()

# Our keys, by perfquery's option and name. Source: libibmad fields.c; fabric/detail.c.
DETAILS = {
    "--rcverr": {"PortLocalPhysicalErrors": "local_physical_errors",
                 "PortMalformedPktErrors": "malformed_packet_errors",
                 "PortBufferOverrunErrors": "buffer_overrun_errors", "PortDLIDMappingErrors": "dlid_mapping_errors",
                 "PortVLMappingErrors": "vl_mapping_errors", "PortLoopingErrors": "looping_errors"},
    "--xmtdisc": {"PortInactiveDiscards": "inactive_discards", "PortNeighborMTUDiscards": "neighbor_mtu_discards",
                  "PortSwLifetimeLimitDiscards": "switch_lifetime_discards",
                  "PortSwHOQLifetimeLimitDiscards": "switch_hoq_discards"},
    "--vlxmitcounters": {f"PortVLXmitWait{vl}": f"xmit_wait_vl{vl}" for vl in range(16)},
    "--oprcvcounters": {"PortOpRcvPkts": "op_rcv_packets", "PortOpRcvData": "op_rcv_data"},
    "--flowctlcounters": {"PortXmitFlowPkts": "xmit_flow_packets", "PortRcvFlowPkts": "rcv_flow_packets"},
    "--vloppackets": {f"PortVLOpPackets{vl}": f"op_packets_vl{vl}" for vl in range(16)},
    "--vlopdata": {f"PortVLOpData{vl}": f"op_data_vl{vl}" for vl in range(16)},
    "--vlxmitflowctlerrors": {f"PortVLXmitFlowCtlUpdateErrors{vl}": f"flow_ctl_update_errors_vl{vl}"
                              for vl in range(16)},
    "--swportvlcong": {f"SWPortVLCongestion{vl}": f"congestion_vl{vl}" for vl in range(16)},
    "--rcvcc": {"PortPktRcvFECN": "rcv_fecn_packets", "PortPktRcvBECN": "rcv_becn_packets"},
    "--slrcvfecn": {f"PortSLRcvFECN{sl}": f"rcv_fecn_sl{sl}" for sl in range(16)},
    "--slrcvbecn": {f"PortSLRcvBECN{sl}": f"rcv_becn_sl{sl}" for sl in range(16)},
    "--xmitcc": {"PortXmitTimeCong": "xmit_time_congested"},
    "--vlxmittimecc": {f"PortVLXmitTimeCong{vl}": f"xmit_time_congested_vl{vl}" for vl in range(15)},
    "--xmtsl": {f"XmtDataSL{sl}": f"xmit_data_sl{sl}" for sl in range(16)},
    "--rcvsl": {f"RcvDataSL{sl}": f"rcv_data_sl{sl}" for sl in range(16)},
}
# Maxima of the fields that do not have 32 bits.
NARROWER = {"--rcverr": 0xFFFF, "--xmtdisc": 0xFFFF, "--vlxmitcounters": 0xFFFF, "--vloppackets": 0xFFFF,
            "--vlxmitflowctlerrors": 3, "--swportvlcong": 0xFFFF}
# PortSamplesControl: our keys, maximum; masks of 64 bits are two keys.
SAMPLES = {"OpCode": ("samples_op_code", 0xFF), "CounterWidth": ("samples_counter_width", 7),
           "CounterMask0": ("samples_counter_mask0", 7), "CounterMasks1to9": ("samples_counter_mask1_9", (1 << 27) - 1),
           "CounterMasks10to14": ("samples_counter_mask10_14", (1 << 15) - 1),
           "SampleMechanisms": ("samples_mechanisms", 0xFF), "SampleStatus": ("samples_status", 3),
           "OptionMask": ("samples_option_mask", None), "VendorMask": ("samples_vendor_mask", None),
           "SampleStart": ("samples_start", 0xFFFFFFFF), "SampleInterval": ("samples_interval", 0xFFFFFFFF),
           "Tag": ("samples_tag", 0xFFFF), "SamplesOnlyOptionMask": ("samples_only_mask", None),
           **{f"CounterSelect{at}": (f"samples_select{at}", 0xFFFF) for at in range(15)}}
SPEEDS = {"SyncHeaderErrorCounter": "sync_header_errors", "UnknownBlockCounter": "unknown_blocks"}
RS = {**SPEEDS, "PortFECCorrectableBlockCtr": "fec_corrected_blocks",
      "PortFECUncorrectableBlockCtr": "fec_uncorrected_blocks",
      "PortFECCorrectedSymbolCtr": "fec_corrected_symbols",
      **{f"FECCorrectableSymbolCtrLane{lane}": f"fec_corrected_lane{lane}" for lane in range(12)}}
DETECTED = {f"ErrorDetectionCounterLane{lane}": f"detected_errors_lane{lane}" for lane in range(12)}
LANES = {**SPEEDS, **DETECTED,
         **{f"FECCorrectableBlockCtrLane{lane}": f"fec_corrected_lane{lane}" for lane in range(12)},
         **{f"FECUncorrectableBlockCtrLane{lane}": f"fec_uncorrected_lane{lane}" for lane in range(12)}}
# At the end of PortCountersExtended.
LAST = {"VL15Dropped": "vl15_dropped", "PortXmitWait": "xmit_wait", "QP1Dropped": "qp1_dropped"}
NARROW = {"sync_header_errors", "unknown_blocks", *DETECTED.values()}


def perfquery(sim, option, lid, port):
    """The title and the values by name."""
    lines = sim.run("perfquery", option, str(lid), str(port)).out.splitlines()
    numbers = {match.group(1): int(match.group(2), 0) for line in lines
               if (match := re.match(r"^(\w+):\.*(\w+)$", line))}
    return lines[0], numbers


def some_value(option, key):
    top = 0xFFFF if key in NARROW else NARROWER.get(option, 0xFFFFFFFF)
    return random.choice((0, 1, top, random.randrange(top)))


def tell(sim, node, *words):
    sim.run(IBWIRE_SIM, "pma", " ".join((node, *words)))


def hold_against(sim, name, node, lid, port, option, keys):
    # perfquery 44 cuts its output after 1,535 characters: small numbers where there are 40 lines.
    values = {key: random.randrange(100) if keys is LANES else some_value(option, key) for key in keys.values()}
    words = [f"{key}={value}" for key, value in values.items()]
    # The length of a command is limited.
    for at in range(0, len(words), 16):
        tell(sim, node, f"port={port}", *words[at:at + 16])
    title, numbers = perfquery(sim, option, lid, port)
    tap.same(f"{name} {option}: {title[2:].split(' counters:')[0]}",
             {key: numbers.get(theirs) for theirs, key in keys.items()}, values)
    return title, numbers


def samples(sim, name, node, lid, port):
    """Every field of PortSamplesControl."""
    wanted, words = {"PortSelect": port, "Tick": 19}, ["tick=19"]
    for theirs, (key, top) in SAMPLES.items():
        wanted[theirs] = random.randrange((top or (1 << 64) - 1) + 1)
        words += [f"{key}={wanted[theirs]}"] if top else [f"{key}_high={wanted[theirs] >> 32}",
                                                          f"{key}_low={wanted[theirs] & 0xFFFFFFFF}"]
    for at in range(0, len(words), 16):
        tell(sim, node, f"port={port}", *words[at:at + 16])
    tap.same(f"{name} --smplctl: every field", perfquery(sim, "--smplctl", lid, port)[1], wanted)


def agree(sim, name, node, lid, port):
    for option, keys in DETAILS.items():
        hold_against(sim, name, node, lid, port, option, keys)
    for mode, keys in (("rs", RS), ("rs2", RS), ("firecode", LANES), ("none", {**SPEEDS, **DETECTED})):
        tell(sim, node, f"fec={mode}")
        title, _ = hold_against(sim, name, node, lid, port, "--extended_speeds", keys)
        tap.equal(f"{name}: perfquery shows fec={mode}", "RS-FEC Active" in title, mode.startswith("rs"))
    samples(sim, name, node, lid, port)
    for kind in ("corrected", "uncorrected"):
        tell(sim, node, *(f"fec_{kind}_lane{lane}=ibsim" for lane in range(12)))
    tell(sim, node,
         "fec=firecode fec_corrected_blocks=4001 fec_uncorrected_blocks=10")
    _, numbers = perfquery(sim, "--extended_speeds", lid, port)
    sums = [sum(numbers[f"FEC{kind}BlockCtrLane{lane}"] for lane in range(12))
            for kind in ("Correctable", "Uncorrectable")]
    tap.equal(f"{name}: unset lane counters add up to the port's", sums, [4001, 10])
    for tick in (7, 31):
        tell(sim, node, f"tick={tick}")
        tap.equal(f"{name}: tick {tick}", perfquery(sim, "--smplctl", lid, port)[1]["Tick"], tick)
    for option, key in (("--rcverr", "looping_errors"), ("--extended_speeds", "unknown_blocks"),
                        ("--xmtsl", "xmit_data_sl3")):
        tell(sim, node, f"port={port} {key}=9")
        sim.run("perfquery", option, "-R", str(lid), str(port))
        _, numbers = perfquery(sim, option, lid, port)
        keys = {**DETAILS["--rcverr"], **SPEEDS, **DETAILS["--xmtsl"]}
        left = [number for theirs, number in numbers.items() if keys.get(theirs) == key]
        tap.equal(f"{name}: perfquery {option} -R clears", left, [0])


def redirected(sim, lid, other):
    """A node's values are read at another node's queue pair. (Not --extended_speeds: perfquery 44 loses the queue
    pair when it reads PortInfo in between.)"""
    values = {"looping_errors": 12, "switch_hoq_discards": 13, "symbol_errors": 14}
    tell(sim, "node0001 mlx5_0", "port=1", *(f"{key}={value}" for key, value in values.items()))
    tell(sim, "node0001 mlx5_0", "redirect=node0002 mlx5_0")
    numbers = {}
    for option in ("--rcverr", "--xmtdisc", "--extended", "--smplctl"):
        numbers.update(perfquery(sim, option, lid, 1)[1])
    tap.equal("a redirect is followed for each attribute",
              [numbers[name] for name in ("PortLoopingErrors", "PortSwHOQLifetimeLimitDiscards", "SymbolErrorCounter",
                                          "Tick")], [12, 13, 14, 31])
    tell(sim, "node0002 mlx5_0", "port=1 looping_errors=99")
    tap.equal("and not answered with the other node's own counters", perfquery(sim, "--rcverr", lid, 1)[1]["PortLoopingErrors"], 12)
    tap.equal("which that node still responds with", perfquery(sim, "--rcverr", other, 1)[1]["PortLoopingErrors"], 99)


def last_bytes(sim, places):
    """perfquery and ibwire read the last counters of a MAD exactly; those that are not set are 0."""
    for value in ((1 << 64) - 2, random.getrandbits(64), 1 << 32):
        for node, _, lid, port in places:
            tell(sim, node, f"port={port}", *(f"{key}={value}" for key in LAST.values()))
            numbers = perfquery(sim, "-x", lid, port)[1]
            tap.equal(f"{node}: perfquery -x reads {value}", {numbers[name] for name in LAST}, {value})
        sim.ibwire("collect", "--once")
        # JSON has values that do not fit into 63 bits as strings.
        stored = {(row["node"], row["port"]): {int(row["counters"][key]) for key in LAST.values()}
                  for row in sim.json("ports") if row["state"] == "Active"}
        wanted = {**dict.fromkeys(stored, {0}), **{(name, port): {value} for _, name, _, port in places}}
        tap.same(f"ibwire reads {value} there and 0 at all other ports", stored, wanted)


def same_as_perfquery(sim, lids, option, keys, details):
    """Compare one attribute at a port where ibwire has read it."""
    place = next((place for place, numbers in details.items() if set(keys.values()) <= set(numbers)), None)
    if place is None:
        tap.result(False, f"ibwire has read {option} at a port")
        return
    _, theirs = perfquery(sim, option, lids[place[0]], place[1])
    tap.same(f"ibwire reads what perfquery {option} shows, of port {place[1]}",
             {key: details[place].get(key) for key in keys.values()},
             {key: theirs.get(name) for name, key in keys.items()})


def collected(sim, lids):
    """What a collector stores of each attribute, with random values at all ports."""
    words = [f"{key}={some_value(option, key) or 5}" for option, keys in DETAILS.items() for key in keys.values()]
    words += [f"{key}={random.randrange(1, 100)}" for key in LANES.values()]
    masks = [key for key, top in SAMPLES.values() if not top]
    words += [f"{key}={random.randrange(top + 1)}" for key, top in SAMPLES.values() if top]
    words += [f"{key}_{half}={random.getrandbits(32)}" for key in masks for half in ("high", "low")]
    tell(sim, "all", "tick=7 fec=firecode port=all")
    for at in range(0, len(words), 16):
        tell(sim, "all", "port=all", *words[at:at + 16])
    # Without the readings of before.
    sim.env["IBWIRE_DB"] += ".collected"
    sim.ibwire("collect", "--once")
    collector = sim.start(IBWIRE, "collect", "--interval", "100ms", "--routes", "0")
    try:
        wait_for(lambda: sim.json("sql", "SELECT count(DISTINCT attribute) AS n FROM detail")[0]["n"] == 21, 120)
    finally:
        collector.terminate()
        collector.wait()
    details = {(row["node"], row["port"]): {key: int(value) for key, value in row["details"].items()}
               for row in sim.json("ports", "--details", "--all") if row.get("details")}
    for option, keys in DETAILS.items():
        same_as_perfquery(sim, lids, option, keys, details)
    # Stored as three attributes, each read in turns of its own.
    uncorrected = {name: key for name, key in LANES.items() if key.startswith("fec_uncorrected_lane")}
    rest = {name: key for name, key in LANES.items() if name not in DETECTED and name not in uncorrected}
    for keys in (rest, DETECTED, uncorrected):
        same_as_perfquery(sim, lids, "--extended_speeds", keys, details)
    fields = {"Tick": "samples_tick", **{name: key for name, (key, _) in SAMPLES.items()}}
    for first in ("samples_tick", "samples_select0"):
        place = next(place for place, numbers in details.items() if first in numbers)
        ours = details[place]
        ours.update({key: ours[f"{key}_high"] << 32 | ours[f"{key}_low"] for key in masks if f"{key}_high" in ours})
        _, theirs = perfquery(sim, "--smplctl", lids[place[0]], place[1])
        part = {name: key for name, key in fields.items()
                if key.startswith("samples_select") == first.startswith("samples_select")}
        tap.same(f"ibwire reads what perfquery --smplctl shows, of port {place[1]}, from {first} on",
                 {key: ours.get(key) for key in part.values()}, {key: theirs[name] for name, key in part.items()})


def in_folder(folder, **env):
    """A simulation with its programs in this folder."""
    os.mkdir(folder)
    shutil.copy2(IBWIRE_SIM, folder)
    shutil.copy2(os.path.join(os.path.dirname(IBWIRE_SIM), "ibwire-sim-umad.so"), folder)
    return run(os.path.join(folder, os.path.basename(IBWIRE_SIM)), "run", "--gen", "rail --hosts 2", "--", "sminfo",
               env={**os.environ, **env}, check=False)


with tap.part("agents"), Simulation("--gen", "rail --hosts 2") as sim:
    random.seed(5)
    line = re.compile(r"^(?:CA|SW) +(\d+) +\d+ 0x[0-9a-f]{16} .*\( '(.*)' - '", re.M)
    by_name = {match.group(2): int(match.group(1)) for match in line.finditer(sim.run("ibnetdiscover", "-p").out)}
    leaf = "MF0;leaf-u01-r0:MQM8700/U1"
    tell(sim, "all", "caps=0x5300 caps2=0x2")
    with tap.part("last bytes"):
        last_bytes(sim, [("node0001 mlx5_0", "node0001 mlx5_0", by_name["node0001 mlx5_0"], 1),
                         ("leaf-u01-r0", leaf, by_name[leaf], 2)])
    agree(sim, "HCA", "node0001 mlx5_0", by_name["node0001 mlx5_0"], 1)
    agree(sim, "switch", "leaf-u01-r0", by_name[leaf], 2)
    with tap.part("redirected"):
        redirected(sim, by_name["node0001 mlx5_0"], by_name["node0002 mlx5_0"])
    with tap.part("collector"):
        collected(sim, by_name)
    tap.contains("opensm is running", sim.run("sminfo").out, "SMINFO_MASTER")
with tap.part("a folder with a space and a colon"):
    done = in_folder(os.path.abspath("a folder: with both"))
    tap.result("SMINFO_MASTER" in done.out and "ld.so" not in done.err, "the library is preloaded from there", done)
    os.mkdir("tmp dir")
    done = in_folder(os.path.abspath("another folder"), TMPDIR=os.path.abspath("tmp dir"))
    tap.result(done.status and "TMPDIR" in done.err, "a TMPDIR with a space as well is an error", done)
tap.done()
