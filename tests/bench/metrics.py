#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Cost of `ibwire metrics`: seconds, bytes and memory of a page, while sweeps are stored.

    SIZES=4096,65536   port ends, also a list
    SCRAPES=5          pages of new sweeps; the median is printed

makedb stores a synthetic fabric of about that many port ends every 10 s. Each size prints a line
"bench: {...}"; there are no limits.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, stop, wait_for

SIZES = [int(size) for size in os.environ.get("SIZES", "4096,65536").split(",")]
SCRAPES = int(os.environ.get("SCRAPES", "5"))


def fetch(url, tag=None):
    """Seconds, bytes and ETag; no bytes if nothing has changed, or there is no sweep yet."""
    begin = time.monotonic()
    size = 0
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"If-None-Match": tag} if tag else {})) as answer:
            while block := answer.read1(1 << 20):
                size += len(block)
            tag = answer.headers["ETag"]
    except urllib.error.HTTPError as error:
        assert error.code in (304, 503)
    return time.monotonic() - begin, size, tag


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(ports, folder):
    database, log = f"{folder}/x.db", f"{folder}/log"
    store = subprocess.Popen([os.environ["MAKEDB"], "--ports", str(ports), "--interval", "10", "--hours", "0.05",
                              "--begin", "now", "--live", str(10 * (SCRAPES + 3)), database], stdout=subprocess.DEVNULL)
    server = subprocess.Popen([IBWIRE, "metrics", "--db", database, "--listen", "127.0.0.1:0"], stderr=open(log, "wb"))
    wait_for(lambda: b"serving" in open(log, "rb").read(), 60)
    url = re.search(r"serving (\S+)", open(log, encoding="ascii").read()).group(1)
    wait_for(lambda: fetch(url)[1], 60, 0.5)
    fresh, same, unchanged, spent, tag, size = [], [], [], [], None, 0
    while len(fresh) < SCRAPES and store.poll() is None:
        before = processor_seconds(server.pid)
        seconds, got, tag = fetch(url, tag)
        if not got:
            unchanged.append(seconds)
            time.sleep(0.5)
            continue
        spent.append(processor_seconds(server.pid) - before)
        fresh.append(seconds)
        size = got
        seconds, got, again = fetch(url)
        if again == tag:
            same.append(seconds)
    with open(f"/proc/{server.pid}/status", encoding="ascii") as file:
        memory = int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024
    stop(server)
    stop(store)
    fresh, spent, same, unchanged = (statistics.median(values or [0]) for values in (fresh, spent, same, unchanged))
    figures = {"ports": ports, "megabytes": round(size / 1e6, 1), "new_sweep_s": round(fresh, 3),
               "new_sweep_cpu_s": round(spent, 3), "same_sweep_s": round(same, 3), "unchanged_s": round(unchanged, 4),
               "memory_mb": round(memory, 1)}
    print(f"{ports} port ends: page of a new sweep {figures['new_sweep_s']} s (CPU {figures['new_sweep_cpu_s']} s), of the "
          f"same sweep {figures['same_sweep_s']} s, unchanged {figures['unchanged_s']} s; {figures['megabytes']} MB of text, "
          f"{figures['memory_mb']} MB of memory")
    print("bench: " + json.dumps(figures))


for count in SIZES:
    with tempfile.TemporaryDirectory() as work:
        measure(count, work)
