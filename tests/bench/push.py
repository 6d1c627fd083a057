#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Cost of `ibwire push`: samples per second, bytes per sample and memory, to a receiver that discards them.

    SIZES=4096,65536   port ends, also a list

makedb stores a synthetic fabric of about that many port ends every 10 s. Each size prints a line
"bench: {...}"; there are no limits.
"""
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, run

SIZES = [int(size) for size in os.environ.get("SIZES", "4096,65536").split(",")]
INTERVAL_S = 10


class Discard(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format, *args):
        pass


def measure(ports, folder, url):
    database = f"{folder}/x.db"
    run(os.environ["MAKEDB"], "--ports", ports, "--interval", INTERVAL_S, "--hours", 0.05, "--begin", "now", database)
    with subprocess.Popen([IBWIRE, "push", "--db", database, "--remote-write", url, "--since", "-2h", "--once", "--label",
                           "fabric=a"], stderr=subprocess.PIPE, text=True) as process:
        totals = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    samples, seconds, per_sample = re.search(
        r"(\d+) samples in \d+ batches to \S+ in (\S+) s: .*, (\S+) bytes per sample", totals).groups()
    sweeps = int(run(IBWIRE, "sql", "--db", database, "--csv-raw", "SELECT count(*) FROM sweep").out.split()[-1])
    figures = {"ports": ports, "sweeps": sweeps, "samples_per_sweep": int(samples) // sweeps,
               "samples_per_s": round(int(samples) / float(seconds)), "sweep_s": round(float(seconds) / sweeps, 3),
               "cpu_s": round((usage.ru_utime + usage.ru_stime) / sweeps, 3), "bytes_per_sample": float(per_sample),
               "memory_mb": round(usage.ru_maxrss / 1024, 1), "headroom": round(INTERVAL_S * sweeps / float(seconds), 1)}
    print(f"{ports} port ends: {figures['samples_per_sweep']} samples per sweep in {figures['sweep_s']} s (CPU "
          f"{figures['cpu_s']} s), {figures['samples_per_s']} samples/s, {per_sample} bytes per sample, "
          f"{figures['memory_mb']} MB of memory; {figures['headroom']} times as fast as sweeps of {INTERVAL_S} s")
    print("bench: " + json.dumps(figures))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Discard)
threading.Thread(target=server.serve_forever, daemon=True).start()
for count in SIZES:
    with tempfile.TemporaryDirectory() as work:
        measure(count, work, f"http://127.0.0.1:{server.server_address[1]}/")
