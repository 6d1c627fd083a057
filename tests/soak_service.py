# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""For tests/soak.py: ibwire metrics and ibwire push beside the collector, with real servers.

Prometheus scrapes metrics; other clients send requests and do not read the responses. Push sends to a second
Prometheus, which is killed and restarted at random.
"""
import re
import signal
import socket
import struct
import time
import zlib

import lib
from lib import free_port, run, stop, wait_for
from remote_write import Prometheus, Receiver, decode

STUCK_CLIENTS = 2
STUCK_S = 20  # longer than ibwire metrics waits for a client that does not read
STUCK_REQUESTS = 500  # of one client: more responses than the buffers of a connection hold
WINDOW = "[1d]"


def digest(found, time_ms, value):
    """Number and check sum of the samples of a series, in order."""
    count, checksum = found or (0, 0)
    return count + 1, zlib.crc32(struct.pack("<qd", time_ms, value), checksum)


class Digests(Receiver):
    """Stores a check sum of each series instead of its samples."""

    def store(self, body):
        for key, time_ms, value in decode(body):
            self.series[key] = digest(self.series.get(key), time_ms, value)


class Service:
    """All of it, as long as a soak lasts. The resources of `processes` are checked."""

    def __init__(self, sim, env_of, scrape_s):
        self.sim, self.db, self.processes = sim, sim.env["IBWIRE_DB"], {}
        self.port = free_port()
        self.sink = Prometheus("sink")
        self.start("metrics", env_of, "--listen", f"127.0.0.1:{self.port}")
        self.start("push", env_of, "--remote-write", self.sink.url, "--since", "-1h", "--cursor", "cursor", "--label",
                   "fabric=a")
        self.scraper = Prometheus("scraper", scrape_configs=[{
            "job_name": "ibwire", "scrape_interval": f"{scrape_s}s", "scrape_timeout": f"{scrape_s}s",
            "static_configs": [{"targets": [f"127.0.0.1:{self.port}"]}]}])
        self.stuck, self.stuck_count, self.restarts = [], 0, 0

    def start(self, name, env_of, *options):
        with open(name + ".err", "wb") as err:
            self.processes[name] = self.sim.start(lib.IBWIRE, name, "--db", self.db, *options, stderr=err, env=env_of(name))

    def step(self):
        """Replace old clients. One that does not read does not see the end of its connection."""
        now = time.monotonic()
        while self.stuck and self.stuck[0][0] < now - STUCK_S:
            self.stuck.pop(0)[1].close()
        while len(self.stuck) < STUCK_CLIENTS:
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.stuck.append((now, client))
            self.stuck_count += 1
            if client.connect_ex(("127.0.0.1", self.port)) == 0:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * STUCK_REQUESTS)

    def receiver_dies(self):
        """A fault: the receiver is killed, or ends in order, and is started again."""
        if self.sink.process.poll() is not None:
            return None
        self.restarts += 1
        self.sink.end(signal.SIGKILL if self.restarts % 2 else signal.SIGTERM)
        return self.sink.launch

    def logged(self, name):
        with open(name + ".err", encoding="utf-8", errors="replace") as file:
            return file.read()

    def acknowledged(self):
        with open("cursor", encoding="ascii") as file:
            return int(file.read().split()[7])

    def end(self):
        """The collector has ended: wait for its last sweep, and end the programs. Return faults."""
        newest = self.sim.newest()
        faults = [] if wait_for(lambda: self.acknowledged() == newest, 100) else [
            f"sweep {self.acknowledged()} of {newest} was acknowledged\n{self.logged('push')}"]
        for name, process in self.processes.items():
            status = process.poll()
            if status is not None or stop(process):
                faults.append(f"ibwire {name} ended with status {process.returncode}")
        faults += [f"metrics: {line}" for line in self.logged("metrics").splitlines() if "serving" not in line]
        known = r"trying again until|responds again| 0 samples rejected"
        faults += [f"push: {line}" for line in self.logged("push").splitlines() if not re.search(known, line)]
        return faults

    def close(self):
        for process in [*self.processes.values(), self.sink.process, self.scraper.process]:
            if process.poll() is None:
                process.kill()
            process.wait()
        for _, client in self.stuck:
            client.close()

    def check_pushed(self):
        """Compare what the receiver has with a transfer that nothing disturbs. Return (series, samples, faults)."""
        receiver = Digests()
        run(lib.IBWIRE, "push", "--db", self.db, "--remote-write", receiver.url, "--once", "--since", "-1d", "--cursor", "again",
            "--label", "fabric=a", timeout=3600)
        receiver.stop()
        wanted, stored, faults = receiver.series, {}, []
        for name in sorted({dict(key)["__name__"] for key in wanted}):
            for row in self.sink.query(f'{name}{{fabric="a"}}{WINDOW}'):
                found = None
                for seconds, value in row["values"]:
                    found = digest(found, round(seconds * 1000), float(value))
                stored[tuple(sorted(row["metric"].items()))] = found
        for key in sorted(set(wanted) | set(stored)):
            if wanted.get(key) != stored.get(key):
                faults.append(f"{dict(key)}: wanted {wanted.get(key)}, stored {stored.get(key)} (samples, check sum)")
        return len(wanted), sum(count for count, _ in wanted.values()), faults

    def check_counters(self):
        """Counters decrease neither in what was scraped nor in what was pushed. Return the number of series, and faults."""
        series, faults = 0, []
        for server in (self.scraper, self.sink):
            for row in server.query(f'count by (__name__) (last_over_time({{__name__=~"ibwire_.*_total"}}{WINDOW}))'):
                name = row["metric"]["__name__"]
                series += int(row["value"][1])
                faults += [f"{name} decreased: {found}" for found in server.query(f"resets({name}{WINDOW}) > 0")]
        return series, faults

    def check_scrapes(self):
        """Return (number of scrapes, the longest in seconds, faults)."""
        count, failed, longest = (float(self.scraper.query(query)[0]["value"][1]) for query in (
            f"count_over_time(up{WINDOW})", f"count_over_time(up{WINDOW}) - sum_over_time(up{WINDOW})",
            f"max_over_time(scrape_duration_seconds{WINDOW})"))
        return int(count), longest, [f"{failed:.0f} scrapes failed"] if failed else []
