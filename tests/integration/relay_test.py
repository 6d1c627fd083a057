#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: the relay of ibwire-sim decodes packets and its settings
"""Commands that control a simulation, and the relay: infiniband-diags read the same through it as from ibsim itself.

sim/relay/relay_model_test and responder_test cover times, losses and responses in virtual time.
"""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE_SIM, SHORT, Simulation, Tap, need, read_file, run, wait_for

need("iblinkinfo", "ibnetdiscover", "perfquery", "ibsim", "opensm")
tap = Tap()


def wire(sim, settings=None):
    return sim.run(IBWIRE_SIM, "wire", *([settings] if settings else [])).out


def settings(sim):
    """Settings apply at once to the MADs of all clients; invalid ones are refused."""
    def took(check=True):
        began = time.monotonic()
        status = sim.run("perfquery", "-x", "-t", "300", lid, "1", check=check).status
        return time.monotonic() - began, status

    lid = next(row.split()[1] for row in sim.run("ibnetdiscover", "-p").out.splitlines() if "'node0001 mlx5_0' - " in row)
    wire(sim, "latency=100ms")
    tap.result(took()[0] >= 0.4, "each request and response is delayed by the latency")
    wire(sim, "latency=0 hold=100ms dead=node0001*")
    tap.result(took(check=False)[1] != 0, "a dead node does not respond")
    tap.contains("the settings are listed", wire(sim), "dead=node0001 mlx5_0")
    wire(sim, "dead=none hold=0")
    tap.equal("the node responds again", took()[1], 0)
    for command, wrong in (("pma", "node9999 tick=1"), ("pma", "all tick=300"), ("pma", "tick=1"), ("wire", "speed=1"),
                           ("wire", "dead=node9999")):
        done = sim.run(IBWIRE_SIM, command, wrong, check=False)
        tap.equal(f"{command} '{wrong}' is refused in one line", (done.status, len(done.err.splitlines())), (64, 1))


def subnet_manager(sim):
    """opensm is stopped, started, restarted and killed."""
    def opensm(what):
        return sim.run(IBWIRE_SIM, "opensm", what, check=False)

    def process():
        words = opensm("status").out.split()
        return int(words[-1]) if "process" in words else 0

    first = process()
    tap.equal("its process id is in the environment", str(first), sim.env["IBWIRE_SIM_OPENSM_PID"])
    tap.equal("it restarts", (opensm("restart").status, process() not in (0, first)), (0, True))
    tap.contains("and is the subnet manager", sim.run("sminfo").out, "SMINFO_MASTER")
    tap.equal("it is not started twice", opensm("start").status, 64)
    tap.equal("it stops", (opensm("stop").status, process(), sim.run("sminfo", check=False).status == 0), (0, 0, False))
    tap.equal("it starts", opensm("start").status, 0)
    os.kill(process(), signal.SIGKILL)
    tap.result(wait_for(lambda: not process()), "it can be killed")
    tap.equal("it restarts after that", opensm("restart").status, 0)
    tap.contains("and responds at once", sim.run("sminfo").out, "SMINFO_MASTER")
    tap.equal("an unknown action is refused in one line", (opensm("jump").status, len(opensm("jump").err.splitlines())), (64, 1))


def faults(sim):
    """Each fault takes effect and is undone; the simulation is found without its environment."""
    def lanes():
        rows = sim.run("iblinkinfo", "-l", "--switches-only").out.splitlines()
        return sum(" 1X " in row for row in rows), sum("Down" in row for row in rows)

    def flows():
        return int(sim.traffic("status").split(" flows,")[0].split()[-1])

    def dead():
        return "dead=" in wire(sim)

    def routes():
        return open(os.path.join(sim.env["IBWIRE_SIM_DIR"], "opensm-lfts.dump"), encoding="ascii").read()

    outside = {name: value for name, value in sim.env.items() if not name.startswith(("IBWIRE_SIM_", "SIM_", "LD_PRELOAD"))}
    before = routes()
    all_flows = flows()
    for fault, effect in ((["skew", "part=1"], lambda: routes() != before), (["unplug"], lambda: lanes()[1] > first[1]),
                          (["slow"], lambda: lanes()[0] > first[0]), (["hang", "node0002"], dead),
                          (["idle", "node0003 mlx5_1"], lambda: flows() < all_flows)):
        first = lanes()
        done = run(IBWIRE_SIM, "break", *fault, env=outside)
        tap.contains(f"break {fault[0]} names the command that repairs it", done.out, f"ibwire-sim repair {fault[0]}")
        tap.result(wait_for(effect), f"break {fault[0]} takes effect")
        tap.equal(f"{fault[0]} is not broken twice", run(IBWIRE_SIM, "break", *fault, env=outside, check=False).status, 64)
        run(IBWIRE_SIM, "repair", fault[0], env=outside)
        tap.result(wait_for(lambda: not effect()), f"repair {fault[0]} undoes it")
        if fault[0] == "skew":
            tap.contains("break skew reports the loss of the jobs' rate", done.out, "% of their rate")
    tap.result(wait_for(lambda: routes() == before), "the routes are those of the beginning")
    tap.contains("nothing is broken", run(IBWIRE_SIM, "break", env=outside).out, "nothing is broken")
    for wrong in (["rust"], ["skew", "node0001 mlx5_0/1"], ["hang", "node9999"], ["skew", "part=2"], ["unplug", "x=1"],
                  ["idle", "a", "b"], ["errors"] + 12 * ["symbol_errors=1"], ["errors"] + 9 * ["symbol_errors=1000"]):
        done = run(IBWIRE_SIM, "break", *wrong, env=outside, check=False)
        tap.equal(f"break {' '.join(wrong)} is refused in one line", (done.status, len(done.err.splitlines())), (64, 1))
    done = run(IBWIRE_SIM, "break", "hang", "node000*", env=outside, check=False)
    tap.one_line("break hang of hosts without which a job has no flow is refused", done, 64, "no flow")
    tap.result(not dead(), "all hosts respond")
    # opensm has no tables of a switch that hangs; it is repaired first, and others meanwhile.
    for kinds in ([["skew"], ["hang", "leaf-u02-r1"], ["unplug"]], [["hang", "node0002"], ["slow"]]):
        for kind in kinds:
            done = run(IBWIRE_SIM, "break", *kind, env=outside, check=False)
            tap.equal(f"break {kind[0]} while others are broken", (done.status, done.err), (0, ""))
        done = run(IBWIRE_SIM, "repair", kinds[-1][0], env=outside, check=False)
        tap.equal(f"{kinds[-1][0]} is repaired by itself", (done.status, done.err), (0, ""))
        done = run(IBWIRE_SIM, "repair", env=outside, check=False)
        tap.equal("all are repaired", (done.status, done.err), (0, ""))
        tap.result(wait_for(lambda: routes() == before), "the routes are those of the beginning again")
    tables, faults_file = (os.path.join(sim.env["IBWIRE_SIM_DIR"], name) for name in ("before.lfts", "faults"))
    run(IBWIRE_SIM, "break", "skew", env=outside)
    os.rename(tables, "tables")
    tap.equal("repair fails without the saved routes", run(IBWIRE_SIM, "repair", env=outside, check=False).status, 74)
    tap.contains("after a repair that failed, the fault remains", run(IBWIRE_SIM, "break", env=outside).out, "skewed")
    os.rename("tables", tables)
    run(IBWIRE_SIM, "repair", env=outside)
    with open(faults_file, "w+", encoding="ascii") as file:
        print("idle node0003\nrust\n", file=file, flush=True)
        tap.one_line("an unknown fault in the list is refused", run(IBWIRE_SIM, "break", env=outside, check=False), 64, "rust")
        file.seek(0)
        tap.contains("an unknown fault in the list is kept", file.read(), "rust")
        file.truncate(0)
    with open("hang.scenario", "w", encoding="ascii") as file:
        file.write("about a host hangs\nat 1s hang node0002 for=1s\nexpect node-silent node0002\n")
    player = sim.start(IBWIRE_SIM, "play", "hang.scenario")
    tap.result(wait_for(dead) and wait_for(lambda: not dead()), "play breaks and repairs as the scenario specifies")
    player.wait(120)
    with open(os.path.join(sim.env["IBWIRE_SIM_DIR"], "status"), encoding="ascii") as file:
        tap.contains("and shows it", file.read(), "SIMULATED: no faults until")
    tap.equal("exec runs a command in the simulation", run(IBWIRE_SIM, "exec", "--", "printenv", "IBWIRE_SIM_DIR", env=outside)
              .out.strip(), sim.env["IBWIRE_SIM_DIR"])
    tap.one_line("a shell of exec within a shell of exec is refused",
                 run(IBWIRE_SIM, "exec", env=dict(outside, IBWIRE_SIM_SHELL="demo"), check=False), 64, "demo already")
    shell = run(IBWIRE_SIM, "exec", env=dict(outside, SHELL="/bin/bash", HOME="."), stdin=subprocess.DEVNULL)
    tap.contains("the prompt of its shell has the name of the simulation", shell.err,
                 "(" + sim.env["IBSIM_SOCKNAME"].split("-", 1)[1].rsplit("-", 1)[0] + ")")
    outside["IBSIM_SOCKNAME"] = "ibwire-0-0"
    tap.one_line("a simulation that has ended is not found", run(IBWIRE_SIM, "break", env=outside, check=False), 69, "has ended")


def interrupted(sim):
    """A signal while umad2sim waits for ibsim to attach the program. ibsim is stopped, so that it does wait."""
    def waits():
        return f"{sim.env['IBSIM_SOCKNAME']}:ctl{process.pid}@" in read_file("/proc/net/unix") and \
            " S " in read_file(f"/proc/{process.pid}/stat")

    program = "import os, signal; signal.signal(signal.SIGTERM, lambda *_: print('heard')); os.listdir('/sys/class/infiniband')"
    ibsim = int(run("pgrep", "-P", sim.process.pid, "-x", "ibsim").out)
    os.kill(ibsim, signal.SIGSTOP)
    try:
        process = sim.start("python3", "-c", program, stdout=subprocess.PIPE, text=True)
        waited = wait_for(waits)
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: "ShdPnd:\t" + 16 * "0" in read_file(f"/proc/{process.pid}/status"))
    finally:
        os.kill(ibsim, signal.SIGCONT)
    tap.equal("a signal does not end a program that connects to ibsim", (waited, process.communicate()[0], process.returncode),
              (True, "heard\n", 0))


def transparent(name, *options):
    """The same fabric through the relay and directly from ibsim."""
    seen = []
    with Simulation(*options) as sim:
        past = {**sim.env, "IBSIM_SOCKNAME": sim.env["IBSIM_SOCKNAME"] + "-ibsim"}
        for env in (sim.env, past):
            # The relay limits the supported widths and speeds to those of the net file.
            seen.append((re.sub(r"\([^(]*\)$", "", run("iblinkinfo", "-o", "64", env=env).out, flags=re.MULTILINE),
                         run("ibnetdiscover", env=env).out.split("#", 4)[-1]))
        requests = int(wire(sim).splitlines()[1].split()[0])
        run("iblinkinfo", env=past)
        tap.equal(f"{name}: the relay counts only its own requests", int(wire(sim).splitlines()[1].split()[0]), requests)
        for _ in range(25):
            done = sim.run("perfquery", "-x", check=False)
            if done.status:
                break
        tap.equal(f"{name}: 25 clients connect and disconnect", done.status, 0)
        tap.contains(f"{name}: no request is refused", wire(sim), " 0 refused")
    tap.result(seen[0][0] == seen[1][0], f"{name}: iblinkinfo prints the same through the relay")
    tap.result(sorted(seen[0][1].splitlines()) == sorted(seen[1][1].splitlines()),
               f"{name}: ibnetdiscover prints the same through the relay")


with tap.part("relay"), Simulation("--gen", "rail --hosts 2", "--wire", "latency=0") as sim:
    with tap.part("settings"):
        settings(sim)
    with tap.part("subnet manager"):
        subnet_manager(sim)
    with tap.part("interrupted"):
        interrupted(sim)
if not SHORT:
    with tap.part("faults"), Simulation("--gen", "rail --hosts 2 --rails 2 --spines 2", "--traffic", "ring stride=2") as sim:
        faults(sim)
with tap.part("transparent"):
    transparent("small fabric", "--gen", "rail --hosts 2")
if not SHORT:
    with tap.part("transparent, with traffic"), \
            Simulation("--gen", "rail --hosts 4", "--traffic", "ring", "--wire", "latency=20us service=100us") as sim:
        tap.contains("the traffic driver is controlled through the relay's name", sim.traffic("status"), "flowing")
        sim.ibwire("collect", "--once")
tap.done()
