#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: the relay of ibwire-sim decodes packets and its settings
"""The wire that takes time, and the performance agents in front of ibsim's.

A client that speaks ibsim's datagrams itself asks, so that every answer's bytes and time are seen.
"""
import os
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE_SIM, SHORT, Simulation, Tap, need, run, wait_for

need("iblinkinfo", "ibnetdiscover", "perfquery", "ibsim", "opensm")
tap = Tap()

CLASS_PORT_INFO, COUNTERS, EXTENDED, SAMPLES, SPEEDS, DATA_SL = 0x01, 0x12, 0x1D, 0x10, 0x1F, 0x36
PACKET = struct.Struct("=IIIIIxxxxQ256s")
CONTROL = struct.Struct("=IIII64s")


class Client:
    """A client of ibsim that sits at one node. Source: ibsim.h."""

    def __init__(self, name, node_id):
        self.name, self.me = name, os.getpid()
        self.control, self.data = (self.bound(kind) for kind in ("ctl", "in"))
        self.control.connect(f"\0{name}:ctl\0")
        answer = self.ask_control(1, struct.pack("=III32s", self.me, 0, 0, node_id.encode()))
        self.slot = struct.unpack_from("=I", answer)[0]
        self.data.connect(f"\0{name}:out{self.slot}\0")
        self.tid = 100

    def bound(self, kind):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.bind(f"\0{self.name}:{kind}{self.me}\0")
        sock.settimeout(5)
        return sock

    def ask_control(self, what, data=b""):
        self.control.send(CONTROL.pack(0xDEADBEEF, getattr(self, "slot", 0), what, len(data), data))
        magic, _, kind, _, answer = CONTROL.unpack(self.control.recv(4096))
        assert magic == 0xDEADBEEF and kind == what
        return answer

    def close(self):
        self.ask_control(2)
        self.control.close()
        self.data.close()

    def send(self, lid, attribute, port=1, method=1, qp=1):
        self.tid += 1
        mad = bytearray(256)
        mad[0:4] = 1, 4, 1, method
        struct.pack_into(">Q", mad, 8, self.tid)
        struct.pack_into(">H", mad, 16, attribute)
        mad[65] = port
        packet = PACKET.pack(socket.htons(lid), 0, socket.htonl(qp), socket.htonl(1), 0, 256, bytes(mad))
        self.data.send(packet)
        return self.tid

    def receive(self, seconds=5.0):
        """(transaction, timed out, status, attribute, data, when), or None."""
        self.data.settimeout(seconds)
        try:
            packet = self.data.recv(4096)
        except socket.timeout:
            return None
        now = time.monotonic()
        status, mad = PACKET.unpack(packet)[4], PACKET.unpack(packet)[6]
        tid, = struct.unpack_from(">I", mad, 12)
        mad_status, = struct.unpack_from(">H", mad, 4)
        attribute, = struct.unpack_from(">H", mad, 16)
        return {"tid": tid, "timed_out": socket.ntohl(status) == 110, "status": mad_status, "attribute": attribute,
                "data": mad[64:], "at": now}

    def ask(self, lid, attribute, port=1, qp=1):
        began = time.monotonic()
        tid = self.send(lid, attribute, port, qp=qp)
        answer = self.receive()
        assert answer and answer["tid"] == tid, answer
        answer["took"] = answer["at"] - began
        return answer


def be(data, at, size):
    return int.from_bytes(data[at:at + size], "big")


def lid_of(sim, pattern):
    for line in sim.run("ibnetdiscover", "-p").out.splitlines():
        if pattern in line:
            words = line.split()
            if pattern in line.split("(")[-1].split(" - ")[0] or words[0] in ("CA", "SW"):
                return int(words[1])
    raise RuntimeError(f"no {pattern}")


def wire(sim, settings=None):
    return sim.run(IBWIRE_SIM, "wire", *([settings] if settings else [])).out


def pma(sim, settings, check=True):
    return sim.run(IBWIRE_SIM, "pma", settings, check=check)


def in_time(measure, least, most):
    """Whether no time was ever too short, and once none was too long, as a busy machine makes them; and the last times."""
    for _ in range(20):
        times = measure()
        if any(time < wanted for time, wanted in zip(times, least)):
            return False, times
        if all(time < wanted for time, wanted in zip(times, most)):
            return True, times
    return False, times


def times(sim, client, lid, other):
    wire(sim, "latency=20ms service=0")
    good, took = in_time(lambda: [client.ask(lid, COUNTERS)["took"]], [0.040], [0.080])
    tap.result(good, "an answer takes two latencies", took)
    wire(sim, "latency=0 service=30ms")

    def five():
        began = time.monotonic()
        tids = [client.send(lid, COUNTERS) for _ in range(4)] + [client.send(other, COUNTERS)]
        at = {answer["tid"]: answer["at"] - began for answer in (client.receive() for _ in tids)}
        return [at[tid] for tid in tids]

    good, at = in_time(five, [0.030, 0.060, 0.090, 0.120, 0.030], [0.060, 0.090, 0.120, 0.150, 0.060])
    tap.result(good, "a node answers one after the other, and others meanwhile", at)
    wire(sim, "service=0")


def dead(sim, client, lid, other):
    wire(sim, "hold=300ms dead=node0001*")
    tap.result(client.ask(lid, COUNTERS)["timed_out"], "a dead node is reported as timed out")
    good, took = in_time(lambda: [client.ask(lid, COUNTERS)["took"]], [0.3], [0.4])
    tap.result(good, "after hold", took)

    good, took = in_time(lambda: [client.ask(other, COUNTERS)["took"]], [0], [0.1])
    tap.result(good, "and delays nobody else", took)
    wire(sim, "dead=none")
    tap.result(not client.ask(lid, COUNTERS)["timed_out"], "it can come back")
    wire(sim, "loss=100")
    tap.result(client.ask(lid, COUNTERS)["timed_out"], "what is lost is reported as timed out")
    wire(sim, "loss=0 hold=0")
    unknown = client.ask(40000, COUNTERS)
    tap.result(unknown["timed_out"], "a LID of nobody times out")


def agents(sim, client, lid, other):
    for attribute in (SAMPLES, SPEEDS, DATA_SL, 0x37):
        answer = client.ask(lid, attribute)
        tap.equal(f"attribute {attribute:#x} is refused where nobody was told of it",
                  (answer["status"], answer["attribute"]), (0x0C, attribute))
    sm = int(sim.run("sminfo").out.split("sm lid ")[1].split()[0])
    tap.equal("at the subnet manager's node as well", client.ask(sm, SPEEDS)["status"], 0x0C)
    pma(sim, "node0001 mlx5_0 caps=0x5300 caps2=0x2 tick=7 fec=rs port=1 symbol_errors=5000000000 fec_corrected_symbols=9 fec_uncorrected_blocks=2")
    info = client.ask(lid, CLASS_PORT_INFO)["data"]
    tap.equal("capabilities are as told", (be(info, 2, 2), be(info, 4, 4) >> 5), (0x5300, 2))
    wide = client.ask(lid, EXTENDED)["data"]
    tap.equal("an error counter of 64 bits", be(wide, 72, 8), 5000000000)
    tap.equal("no other is more than ibsim's", [be(wide, at, 8) for at in range(80, 184, 8)], [0] * 13)
    tap.equal("which stops in 16 bits", be(client.ask(lid, COUNTERS)["data"], 4, 2), 0xFFFF)
    tap.equal("the tick", client.ask(lid, SAMPLES)["data"][2], 7)
    speeds = client.ask(lid, SPEEDS)["data"]
    tap.equal("FEC", (be(speeds, 144, 4), be(speeds, 148, 4)), (2, 9))
    tap.equal("others know nothing of that", client.ask(other, SPEEDS)["status"], 0x0C)
    pma(sim, "node0001 mlx5_0 redirect=node0002 mlx5_0")
    answer = client.ask(lid, EXTENDED)
    tap.equal("a redirect names the LID", (answer["status"], be(answer["data"], 28, 2)), (2, other))
    follow = client.ask(other, EXTENDED, qp=be(answer["data"], 32, 4))
    tap.equal("where it is answered", (follow["status"], be(follow["data"], 72, 8)), (0, 5000000000))
    out = sim.run("perfquery", "-x", str(lid), "1").out
    tap.contains("perfquery follows it", out, "SymbolErrorCounter:..............5000000000")
    pma(sim, "node0001 mlx5_0 redirect=none")


def misbehaviour(sim, client, lid):
    pma(sim, "node0001 mlx5_0 duplicated=100")
    tid = client.send(lid, COUNTERS)
    tap.equal("an answer comes twice", [client.receive()["tid"] for _ in range(2)], [tid, tid])
    pma(sim, "node0001 mlx5_0 duplicated=0 foreign=100")
    tid = client.send(lid, COUNTERS)
    got = [client.receive()["tid"] for _ in range(2)]
    tap.result(got[0] != tid and got[1] == tid, "an answer that nobody asked for", got)
    pma(sim, "node0001 mlx5_0 foreign=0 garbled=100")
    client.send(lid, COUNTERS)
    tap.result(client.receive()["data"][2:64].count(0) < 40, "an answer is garbled")
    pma(sim, "node0001 mlx5_0 garbled=0 late=100 late_by=200ms")
    wire(sim, "hold=100ms")
    tid = client.send(lid, COUNTERS)
    got = [client.receive() for _ in range(2)]
    tap.equal("a late answer comes after its timeout", [(a["tid"], a["timed_out"]) for a in got], [(tid, True), (tid, False)])
    pma(sim, "node0001 mlx5_0 late=0")
    wire(sim, "hold=0")
    tap.equal("nothing is left over", client.receive(0.2), None)
    for wrong in ("nobody tick=1", "all tick=300", "all colour=red", "tick=1"):
        done = pma(sim, wrong, check=False)
        tap.equal(f"refused: {wrong}", (done.status, len(done.err.splitlines())), (64, 1))


def subnet_manager(sim):
    """opensm ends and comes back, whichever way it went."""
    def opensm(what):
        return sim.run(IBWIRE_SIM, "opensm", what, check=False)

    def process():
        words = opensm("status").out.split()
        return int(words[-1]) if "process" in words else 0

    first = process()
    tap.equal("its process is known", str(first), sim.env["IBWIRE_SIM_OPENSM_PID"])
    tap.equal("it restarts", (opensm("restart").status, process() not in (0, first)), (0, True))
    tap.contains("and is the subnet manager", sim.run("sminfo").out, "SMINFO_MASTER")
    tap.equal("it is not started twice", opensm("start").status, 64)
    tap.equal("it stops", (opensm("stop").status, process(), sim.run("sminfo", check=False).status == 0), (0, 0, False))
    tap.equal("it starts", opensm("start").status, 0)
    os.kill(process(), signal.SIGKILL)
    tap.result(wait_for(lambda: not process(), 5), "it can be killed")
    tap.equal("it comes back even so", opensm("restart").status, 0)
    tap.contains("and answers at once", sim.run("sminfo").out, "SMINFO_MASTER")
    tap.equal("what it cannot do", (opensm("jump").status, len(opensm("jump").err.splitlines())), (64, 1))


def transparent(name, *options):
    """The same fabric through the relay and past it: ibsim's own name is known."""
    seen = []
    with Simulation(*options) as sim:
        past = {**sim.env, "IBSIM_SOCKNAME": sim.env["IBSIM_SOCKNAME"] + "-ibsim"}
        for env in (sim.env, past):
            seen.append((run("iblinkinfo", "-o", "64", env=env).out,
                         run("ibnetdiscover", env=env).out.split("#", 4)[-1]))
        asked = int(wire(sim).splitlines()[1].split()[0])
        run("iblinkinfo", env=past)
        tap.equal(f"{name}: the relay sees what comes through it only", int(wire(sim).splitlines()[1].split()[0]), asked)
        for _ in range(25):
            done = sim.run("perfquery", "-x", check=False)
            if done.status:
                break
        tap.equal(f"{name}: clients come and go", done.status, 0)
        tap.contains(f"{name}: nothing is refused", wire(sim), " 0 refused")
    tap.result(seen[0][0] == seen[1][0], f"{name}: iblinkinfo says the same through the relay")
    tap.result(sorted(seen[0][1].splitlines()) == sorted(seen[1][1].splitlines()),
               f"{name}: ibnetdiscover says the same through the relay")


def main():
    with tap.part("relay"), Simulation("--gen", "rail --hosts 2", "--wire", "latency=0") as sim:
        lid, other = lid_of(sim, "node0001 mlx5_0"), lid_of(sim, "node0002 mlx5_0")
        seat = sim.env["SIM_HOST"]
        client = Client(sim.env["IBSIM_SOCKNAME"], seat)
        for part in (times, dead, agents):
            with tap.part(part.__name__):
                part(sim, client, lid, other)
        with tap.part("misbehaviour"):
            misbehaviour(sim, client, lid)
        client.close()
        with tap.part("subnet manager"):
            subnet_manager(sim)
    with tap.part("transparent"):
        transparent("small fabric", "--gen", "rail --hosts 2")
    if not SHORT:
        with tap.part("transparent, with traffic"), \
                Simulation("--gen", "rail --hosts 4", "--traffic", "ring", "--wire", "latency=20us service=100us") as sim:
            tap.contains("the traffic driver is controlled through the relay's name", sim.traffic("status"), "flowing")
            sim.ibwire("collect", "--once")
    tap.done()


main()
