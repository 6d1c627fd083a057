#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for faults to be seen, and to be repaired
"""One fault of a simulated fabric is one alert, and one notification of a real Alertmanager where that is installed.

Alertmanager has the configuration of docs/alerting.md, with shorter times and a webhook that counts.
"""
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from alertmanager import Alertmanager
from lib import IBWIRE, IBWIRE_SIM, Simulation, Tap, free_port, need, read_file, stop, wait_for

need("ibsim", "opensm")
tap = Tap()

# The same limits as always, with shorter times.
SETTINGS = """[health]
degraded_after = 15s
silent_after = 6s
recovery = 2s
state_recovery = 2s
"""
WAIT_S = 120

# What is broken, its kind, and its place as subjects name it.
FAULTS = [(("slow", "leaf-u01-r0/5"), "link-degraded", "leaf-u01-r0/5"),
          (("hang", "node0003"), "node-silent", "node0003"),
          # The last one: its links are set to Active by the subnet manager's next sweep, half a minute later.
          (("hang", "leaf-u02-r1"), "node-silent", "leaf-u02-r1")]


class Webhook:
    """A receiver of Alertmanager: notifications as (status, alert name, subject), and the number of requests."""

    def __init__(self):
        self.notified, webhook = [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                webhook.notified += [(alert["status"], alert["labels"]["alertname"], alert["labels"]["subject"])
                                     for alert in body["alerts"]]
                self.send_response(200)
                self.end_headers()

            def log_message(self, format, *args):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"


def real_alertmanager(webhook):
    """Return: its process and URL."""
    page = read_file(os.environ["IBWIRE_SRCDIR"] + "/docs/alerting.md")
    config = re.search(r"^```yaml\n(route:.*?)^```", page, re.DOTALL | re.MULTILINE).group(1)
    for old, new in ("group_wait: 10s", "group_wait: 1s"), ("group_interval: 1m", "group_interval: 1s"):
        config = config.replace(old, new)
    config = re.sub(r"url: http\S+", f"url: {webhook.url}", config)
    with open("alertmanager.yml", "w", encoding="ascii") as file:
        file.write(config)
    port = free_port()
    with open("alertmanager.log", "wb") as log:
        process = subprocess.Popen(["prometheus-alertmanager", "--config.file=alertmanager.yml", "--storage.path=data",
                                    f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"

    def is_ready():
        try:
            return urllib.request.urlopen(url + "/-/ready", timeout=5).status == 200
        except OSError:
            return process.poll() is not None

    wait_for(is_ready)
    tap.equal("Alertmanager accepts the configuration of docs/alerting.md", process.poll(), None)
    return process, url


def check(sim, manager, webhook, fault, kind, place):
    name, begin = " ".join(fault), len(manager.notified)
    sim.run(IBWIRE_SIM, "break", *fault)
    tap.result(wait_for(lambda: manager.notified[begin:], WAIT_S, 0.2), f"{name}: it fires")
    time.sleep(5)
    # A change of its severity is another alert, and the end of the former one.
    fired = [(alert, severity) for alert, severity, firing in manager.notified[begin:] if firing]
    tap.equal(f"{name}: one alert", (manager.names(), [alert for alert, _ in fired]), ([kind], [kind] * len(set(fired))))
    tap.contains(f"{name}: at its place", str([dict(key)["subject"] for key in manager.firing()]), place)
    if webhook:
        wait_for(lambda: webhook.notified)
    sim.run(IBWIRE_SIM, "repair")
    tap.result(wait_for(lambda: not manager.firing(), WAIT_S, 0.2), f"{name}: it ends after the repair", manager.names())
    ended = [alert for alert, _, firing in manager.notified[begin:] if not firing]
    tap.equal(f"{name}: nothing else began or ended", (ended, manager.wrong), ([kind] * len(fired), []))
    if webhook:
        wait_for(lambda: any(status == "resolved" for status, _, _ in webhook.notified))
        time.sleep(3)
        tap.equal(f"{name}: Alertmanager has notified of one alert, and of its end",
                  [(status, alert) for status, alert, _ in webhook.notified], [("firing", kind), ("resolved", kind)])
        webhook.notified.clear()


with open("quick.conf", "w", encoding="ascii") as conf:
    conf.write(SETTINGS)
manager, processes, webhook = Alertmanager(), [], None
if shutil.which("prometheus-alertmanager"):
    webhook = Webhook()
    process, url = real_alertmanager(webhook)
    processes.append(process)
try:
    with Simulation("--gen", "rail --hosts 4 --rails 2 --spines 2") as sim:
        processes.append(sim.start(IBWIRE, "collect", "--interval", "500ms", "--routes", "2s", "--settings", "quick.conf",
                                   stdout=subprocess.DEVNULL))
        tap.result(wait_for(lambda: sim.ibwire("health", check=False).status == 0, every=0.3), "nothing is found before")
        for target in [manager.url] + ([url] if webhook else []):
            processes.append(sim.start(IBWIRE, "alert", "--alertmanager", target, "--repeat", "2s"))
        wait_for(lambda: manager.requests)
        tap.equal("nothing fires before", manager.notified, [])
        for fault in FAULTS:
            check(sim, manager, webhook, *fault)
        for process in reversed(processes):
            tap.equal("it ends", stop(process), 0)
finally:
    for process in processes:
        stop(process)
if not webhook:
    tap.skip("notifications of a real Alertmanager", "prometheus-alertmanager is not installed")
tap.done()
