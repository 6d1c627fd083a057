#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Cost of `ibwire push`: samples per second, bytes per sample and memory, to a receiver that discards them and to real ones.

    SIZES=4096,65536                                port ends, also a list
    RECEIVERS=discard,prometheus,victoria-metrics   those that are not installed are left out
    SWEEPS=18                                       stored sweeps
    DELAY_MS=0                                      of the response of "discard", as of a receiver elsewhere
    OPTIONS="--batch 10000"                         of ibwire push

makedb stores a synthetic fabric of about that many port ends every 10 s. A real receiver gets two sweeps of the same
series before, because it is slower with new series. It only measures and prints. Each line is followed by a line
"bench: {...}". CPU time is that of one core.
"""
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, run
from remote_write import Prometheus, Victoria

SIZES = [int(size) for size in os.environ.get("SIZES", "4096,65536").split(",")]
RECEIVERS = os.environ.get("RECEIVERS", "discard,prometheus,victoria-metrics").split(",")
SWEEPS = int(os.environ.get("SWEEPS", "18"))
DELAY_MS = float(os.environ.get("DELAY_MS", "0"))
INTERVAL_S = 10


class Discard(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(DELAY_MS / 1000)
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format, *args):
        pass


class DiscardServer:
    def __init__(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Discard)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.port = server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.process = None


def usage(process):
    """CPU time and the most memory so far, in seconds and MB; 0: not a process."""
    if not process:
        return 0, 0
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        ticks = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        most = int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))
    return ticks / os.sysconf("SC_CLK_TCK"), most // 1024


def stored_mb():
    """Size of the receivers' folders here."""
    return sum(os.path.getsize(os.path.join(folder, name)) for top in ("victoria", "prometheus.tsdb")
               for folder, _, names in os.walk(top) for name in names) / 1e6


def make_database(path, ports, sweeps, begin):
    run(os.environ["MAKEDB"], "--ports", ports, "--interval", INTERVAL_S, "--hours", sweeps * INTERVAL_S / 3600, "--begin",
        begin, path, timeout=600)
    return os.path.abspath(path)


def push(database, receiver):
    """Return what it printed, and its resources."""
    with subprocess.Popen([IBWIRE, "push", "--db", database, "--remote-write", receiver.url, "--since", "-2h", "--once", "--label",
                           "fabric=a", "--cursor", f"{database}.{receiver.port}", *os.environ.get("OPTIONS", "").split()],
                          stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    return said, usage


def measure(ports, database, name, receiver):
    before_s, _ = usage(receiver.process)
    said, own = push(database, receiver)
    after_s, memory_mb = usage(receiver.process)
    if receiver.process:  # which writes everything to its disk
        receiver.end(signal.SIGTERM)
    samples, seconds, per_sample, rejected, failed = re.search(
        r"(\d+) samples in \d+ batches to \S+ in (\S+) s: .*, (\S+) bytes per sample; (\d+) .*, (\d+) ", said).groups()
    samples, seconds = int(samples), float(seconds)
    sweeps = int(run(IBWIRE, "sql", "--db", database, "--csv-raw", "SELECT count(*) FROM sweep").out.split()[-1])
    cpu_s = own.ru_utime + own.ru_stime
    figures = {"ports": ports, "receiver": name, "sweeps": sweeps, "samples_per_sweep": samples // sweeps,
               "samples_per_s": round(samples / seconds), "sweep_s": round(seconds / sweeps, 3),
               "cpu_s": round(cpu_s / sweeps, 3), "bytes_per_sample": float(per_sample),
               "memory_mb": round(own.ru_maxrss / 1024, 1), "headroom": round(INTERVAL_S * sweeps / seconds, 1),
               "receiver_cpu_s": round((after_s - before_s) / sweeps, 3), "receiver_memory_mb": memory_mb,
               "receiver_disk_mb": round(stored_mb(), 1), "rejected": int(rejected), "failed": int(failed)}
    print(f"{ports} port ends to {name}: {figures['samples_per_sweep']} samples per sweep in {figures['sweep_s']} s, "
          f"{figures['samples_per_s']} samples/s, {per_sample} bytes per sample; CPU {figures['cpu_s']} s, receiver "
          f"{figures['receiver_cpu_s']} s; {figures['memory_mb']} MB of memory, receiver {memory_mb} MB and "
          f"{figures['receiver_disk_mb']} MB on its disk; "
          f"{figures['headroom']} times as fast as sweeps of {INTERVAL_S} s")
    print("bench: " + json.dumps(figures), flush=True)


for count in SIZES:
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        fabric = make_database("fabric.db", count, SWEEPS, "now")
        first = make_database("first.db", count, 2, int(time.time()) - 2 * (SWEEPS + 2) * INTERVAL_S)
        for name, make in ("discard", DiscardServer), ("prometheus", Prometheus), ("victoria-metrics", Victoria):
            if name not in RECEIVERS or (make != DiscardServer and not shutil.which(name)):
                continue
            target = make()
            try:
                if target.process:
                    push(first, target)
                measure(count, fabric, name, target)
            finally:
                if target.process:
                    target.process.kill()
                    target.process.wait()
                shutil.rmtree("prometheus.tsdb", ignore_errors=True)
        os.chdir("/")
