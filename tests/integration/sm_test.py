#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps
"""A second subnet manager stands by: status and events show it, no finding complains of it, and when it ends that is told."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Simulation, Tap, need, stop, wait_for

need("ibsim", "opensm", "sminfo")
tap = Tap()
HOST = "node0002 mlx5_0"


def start_standby(sim, guid):
    """An opensm at a host: the higher GUID at the same priority stands by."""
    folder = os.path.abspath("standby")
    os.makedirs(folder)
    with open(folder + "/opensm.conf", "w", encoding="ascii") as file:
        file.write(f"log_file {folder}/log\ndump_files_dir {folder}/\nguid 0x{guid + 1:016x}\nlog_flags 0x3\n"
                   "force_log_flush TRUE\nconsole off\ndaemon FALSE\n")
    env = {**sim.env, "SIM_HOST": f"H-{guid:016x}", "OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}
    with open(folder + "/out", "wb") as out:
        standby = subprocess.Popen(["opensm", "-F", folder + "/opensm.conf"], env=env, cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def stands_by():
        with open(folder + "/log", encoding="utf-8", errors="replace") as log:
            return "Entering STANDBY" in log.read()

    if not wait_for(lambda: os.path.exists(folder + "/log") and stands_by(), 20):
        standby.kill()
        raise RuntimeError("the second opensm does not stand by")
    return standby


def others(sim):
    return [row["text"] for row in sim.json("events") if row["kind"] == "sm-other"]


def check(sim):
    collector = sim.start(IBWIRE, "collect", "--interval", "500ms", "--rediscover", "2s", stdout=subprocess.DEVNULL)
    standby = None
    try:
        wait_for(lambda: sim.ibwire("nodes", check=False).status == 0, 30)
        guid = next(int(row["node_guid"], 16) for row in sim.json("nodes") if row["node"] == HOST)
        tap.equal("at first there is one", sim.json("status")["other_sms"], [])
        standby = start_standby(sim, guid)
        tap.result(wait_for(lambda: sim.json("status")["other_sms"] == [HOST], 20, 0.5),
                   "status shows where the other one runs", sim.ibwire("status"))
        tap.contains("for people, too", sim.ibwire("status").out, "others at")
        tap.result(wait_for(lambda: others(sim), 10, 0.5), "it is an event")
        tap.equal("with its state and priority", others(sim),
                  [f"another subnet manager at {HOST}/1: standby, priority 0"])
        health = sim.ibwire("health", "--format", "json", check=False)
        tap.equal("and no finding", [row["kind"] for row in json.loads(health.out) if row["kind"] == "sm-lost"], [])
        status = sim.json("status")
        tap.equal("the master is the other one", (status["sm_state"], status["sm_guid"] != f"0x{guid + 1:016x}"),
                  ("master", True))
        standby.send_signal(signal.SIGINT)
        standby.wait(20)
        standby = None
        tap.result(wait_for(lambda: sim.json("status")["other_sms"] == [], 20, 0.5), "when it ends it is not shown",
                   sim.ibwire("status"))
    finally:
        if standby:
            standby.kill()
            standby.wait()
        stop(collector)


with Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2") as simulation:
    with tap.part("a second subnet manager"):
        check(simulation)
tap.done()
