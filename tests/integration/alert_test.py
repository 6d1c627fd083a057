#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for the seconds of --repeat
"""ibwire alert against an Alertmanager in this process: which alerts fire and end, while both sides fail and restart.

The findings are written into a database that has sweeps and no collector.
"""
import datetime
import http.server
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, run, wait_for

tap = Tap()
DB = os.path.abspath("fabric.db")
SUBJECT = 'leaf1/3 - "sp\\ine"/7\n\u00e9\U0001f600<&>'


def seconds(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Alertmanager:
    """Keeps alerts by labels as Alertmanager does; `told` is what it would notify: (labels, firing)."""

    def __init__(self, port=0, certificate=None, listing=200):
        self.alerts, self.told, self.requests, self.wrong = {}, [], [], []
        self.statuses = []  # of the next responses to POST
        self.listing, self.headers = listing, {}
        manager = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def respond(self, status, body=b""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                # As the encoder of Go writes it.
                body = json.dumps([{"annotations": {"x": '"labels":{'}, "labels": dict(key)} for key in manager.firing()],
                                  separators=(",", ":"), ensure_ascii=False)
                for plain, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
                    body = body.replace(plain, escaped)
                self.respond(manager.listing, body.encode() if manager.listing == 200 else b"")

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                manager.headers = dict(self.headers)
                status = manager.statuses.pop(0) if manager.statuses else 200
                if self.path != "/x/api/v2/alerts":
                    status = 404
                if status in (200, 400):
                    manager.take(json.loads(body))
                self.respond(status, b'"bad\x1b[31m"' if status != 200 else b"")

            def log_message(self, format, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda request, address: None
        self.port = self.server.server_address[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}/x"
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, alerts):
        self.requests.append((time.time(), alerts))
        for alert in alerts:
            key = tuple(sorted(alert["labels"].items()))
            was = self.alerts.get(key, 0) > time.time()
            ends = seconds(alert["endsAt"])
            if not all(key_value[1] for key_value in key) or seconds(alert.get("startsAt", "1970-01-01T00:00:00Z")) > ends:
                self.wrong.append(alert)
            self.alerts[key] = ends
            if was != (ends > time.time()) or key not in self.alerts:
                self.told.append((dict(key)["alertname"], dict(key)["severity"], not was))
            elif not was:
                self.wrong += [] if any(name == dict(key)["alertname"] for name, _, _ in self.told) else [alert]

    def firing(self):
        return {key for key, ends in self.alerts.items() if ends > time.time()}

    def names(self):
        return sorted(dict(key)["alertname"] for key in self.firing())

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def change(statement, *values):
    connection = sqlite3.connect(DB, timeout=20)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def finding(number, kind, severity=1, subject=None, evidence="{}"):
    """It opens now."""
    now = time.time_ns() // 1000
    change("INSERT INTO finding VALUES (?, ?, ?, 3, NULL, 0, 0, ?, ?, 1, ?, NULL, NULL)", number, kind, number, now, now, now)
    change("INSERT INTO finding_state VALUES (?, (SELECT max(id) FROM sweep), ?, ?, ?, 'cable', 'measured 3', 'do it', ?, "
           "'[\"node1\"]', 1, '[]', NULL, NULL, NULL, NULL, NULL)", number, now, severity, subject or f"node{number}", evidence)


def close(number):
    """It closed a second ago."""
    change("UPDATE finding SET closed_us = ?, closed_sweep = (SELECT max(id) FROM sweep) WHERE id = ?",
           time.time_ns() // 1000 - 1000000, number)


def start(url, *options):
    with open("alert.log", "ab") as log:
        return subprocess.Popen([IBWIRE, "alert", "--db", DB, "--alertmanager", url, "--repeat", "1s", "--label", "fabric=a",
                                 *options], stdin=subprocess.DEVNULL, stderr=log)


def end(process, how=signal.SIGTERM):
    process.send_signal(how)
    return process.wait(30)


def logged():
    with open("alert.log", encoding="utf-8") as file:
        return file.read()


def once(url, *options, check=False):
    return run(IBWIRE, "alert", "--db", DB, "--alertmanager", url, "--once", *options, check=check)


def fresh_database():
    for name in (DB, DB + "-wal", DB + "-shm", "alert.log"):
        if os.path.exists(name):
            os.remove(name)
    run(os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db", DB, 2, 12, 600)
    change("DELETE FROM finding")


def while_open():
    fresh_database()
    manager = Alertmanager()
    finding(1, "link-degraded", subject=SUBJECT)
    finding(2, "topology-changed", severity=0)
    finding(3, "link-errors", evidence='{"origin": 1}')
    process = start(manager.url)
    wait_for(lambda: len(manager.requests) > 3)
    tap.equal("a warning fires; not an info, nor what it explains", manager.told, [("link-degraded", "warning", True)])
    when, alerts = manager.requests[-1]
    tap.equal("its labels", alerts[0]["labels"], {"alertname": "link-degraded", "finding": "1", "severity": "warning",
                                                 "subject": SUBJECT, "fabric": "a"})
    tap.equal("its annotations", alerts[0]["annotations"], {"summary": "measured 3", "description": "do it", "cause": "cable",
                                                            "hosts": "1 host: node1"})
    tap.result(3 < seconds(alerts[0]["endsAt"]) - when < 6, "it ends five intervals later if it is not sent again",
               alerts[0]["endsAt"])
    gaps = [later[0] - earlier[0] for earlier, later in zip(manager.requests[1:], manager.requests[2:])]
    tap.result(all(0.5 < gap < 3 for gap in gaps), "it is sent again each second", gaps)
    tap.equal("as JSON", manager.headers["Content-Type"], "application/json")
    finding(4, "node-silent", severity=2)
    wait_for(lambda: len(manager.told) > 1)
    change("UPDATE finding_state SET severity = 2 WHERE finding = 1")
    wait_for(lambda: len(manager.told) > 3)
    tap.equal("a severity that rises ends one alert and begins another", sorted(manager.told[2:]),
              [("link-degraded", "critical", True), ("link-degraded", "warning", False)])
    run(IBWIRE, "health", "ack", "4", "--reason", "known", "--db", DB)
    wait_for(lambda: len(manager.told) > 4)
    close(3)
    close(1)
    wait_for(lambda: len(manager.told) > 5)
    tap.equal("an acknowledged finding ends, and a closed one; none that did not fire", (manager.told[4:], manager.wrong),
              ([("node-silent", "critical", False), ("link-degraded", "critical", False)], []))
    ends = [seconds(alert["endsAt"]) for _, alerts in manager.requests for alert in alerts
            if alert["labels"]["severity"] == "critical" and alert["labels"]["finding"] == "1"]
    tap.result(ends[-1] < manager.requests[-1][0] - 0.9, "when it closed", ends[-1])
    wait_for(lambda count=len(manager.requests): len(manager.requests) > count + 1)
    tap.equal("its end is sent again", [alert["labels"]["finding"] for alert in manager.requests[-1][1]], ["1", "4", "1"])
    tap.equal("SIGTERM ends it", end(process), 0)
    tap.equal("nothing is logged", logged(), "")


def restarts(listing):
    """The sender is killed: what closes meanwhile ends, what opens and closes meanwhile is not mentioned."""
    fresh_database()
    manager = Alertmanager(listing=listing)
    finding(1, "link-degraded", subject=SUBJECT)
    finding(2, "node-silent", severity=2)
    process = start(manager.url, "--repeat", "60s")
    wait_for(lambda: len(manager.told) == 2)
    end(process, signal.SIGKILL)
    close(1)
    if listing == 200:
        finding(3, "link-errors")
        close(3)
    # Of another sender, and of another program.
    for labels in ({"alertname": "link-degraded", "finding": "1", "severity": "warning", "subject": "x", "fabric": "b"},
                   {"alertname": "x", "finding": "x"}):
        manager.alerts[tuple(sorted(labels.items()))] = time.time() + 600
    others = manager.firing()
    process = start(manager.url, "--repeat", "60s")
    wait_for(lambda: len(manager.told) > 2)
    tap.equal(f"list {listing}: what has closed meanwhile ends, nothing else", (manager.told[2:], manager.wrong),
              ([("link-degraded", "warning", False)], []))
    tap.equal(f"list {listing}: what is open is sent, alerts of others stay", manager.names(), ["link-degraded", "node-silent", "x"])
    # Alertmanager restarts, and has lost everything.
    port = manager.port
    manager.stop()
    finding(4, "link-flapping")
    end(process)
    process = start(manager.url)
    wait_for(lambda: "trying again" in logged())
    close(4)
    time.sleep(0.5)
    manager = Alertmanager(port)
    wait_for(lambda: manager.requests, 30)
    tap.equal(f"list {listing}: after its restart the other side has what is open", (manager.names(), manager.wrong), (["node-silent"], []))
    wait_for(lambda: "responds again" in logged())
    tap.equal(f"list {listing}: an outage is one line, and its end one", (logged().count("trying again"), logged().count("\n")), (1, 2))
    end(process)
    manager.stop()
    return others


def refusals():
    fresh_database()
    finding(1, "link-degraded")
    manager = Alertmanager()
    manager.statuses = [500, 503, 401]
    process = start(manager.url)
    wait_for(lambda: manager.told, 30)
    tap.equal("5xx and 401: tried again until it is accepted", (manager.told, logged().count("\n")),
              ([("link-degraded", "warning", True)], 2))
    tap.contains("with the reason", logged(), "HTTP status 500: \"bad")
    tap.result("\x1b" not in logged(), "without control characters")
    manager.statuses = [400] * 3
    wait_for(lambda: not manager.statuses)
    wait_for(lambda: "refuses alerts" in logged())
    tap.equal("400 is one line, and alerts are sent on", (logged().count("refuses alerts"), manager.names()), (1, ["link-degraded"]))
    end(process)
    tap.one_line("--once with 400", (manager.statuses.append(400), once(manager.url))[1], 69, "refuses alerts", "400")
    tap.one_line("--once with 503", (manager.statuses.append(503), once(manager.url))[1], 69, "503")
    tap.one_line("a wrong path", once(manager.url.replace("/x", "/y")), 69, "404")
    tap.equal("--once", once(manager.url, "--label", "fabric=c").status, 0)
    tap.equal("its URL may have the path", once(manager.url + "/api/v2/alerts/").status, 0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        tap.one_line("nothing listens", once(f"http://me:secret@127.0.0.1:{probe.getsockname()[1]}"), 69, "http://127.0.0.1")
    tap.result("secret" not in once("http://me:secret@127.0.0.1:9").err, "no password is logged")
    for name, status, words, url, *options in (
            ("no URL", 64, "--alertmanager", None), ("another scheme", 64, "http", "ftp://x/"), ("a query", 64, "query", "http://x/?a=b"),
            ("a label without a value", 64, "NAME=VALUE", manager.url, "--label", "a"),
            ("a label of its own", 64, "severity", manager.url, "--label", "severity=x"),
            ("a label twice", 64, "twice", manager.url, "--label", "a=1", "--label", "a=2"),
            ("a URL file that is missing", 74, "none.url", "@none.url")):
        url = ["--alertmanager", url] if url else []
        tap.one_line(name, run(IBWIRE, "alert", "--db", DB, "--once", *url, *options, check=False), status, words)
    tap.equal("no database", run(IBWIRE, "alert", "--db", "none.db", "--once", "--alertmanager", manager.url, check=False).status, 69)
    with open("token", "w", encoding="ascii") as file:
        file.write("abc\n")
    os.chmod("token", 0o600)
    once(manager.url, "--token-file", "token")
    tap.equal("a token", manager.headers.get("Authorization"), "Bearer abc")


def database_fails():
    """Without its database the sender ends no alert."""
    fresh_database()
    finding(1, "link-degraded")
    manager = Alertmanager()
    process = start(manager.url)
    wait_for(lambda: manager.told)
    os.rename(DB, DB + ".away")
    os.rename(DB + ".away", DB)
    count = len(manager.requests)
    wait_for(lambda: len(manager.requests) > count + 2)
    tap.equal("the alert stays", (manager.told, manager.names()), ([("link-degraded", "warning", True)], ["link-degraded"]))
    end(process)


def tls():
    fresh_database()
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
        "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1")
    with open("both.pem", "w", encoding="ascii") as both:
        for name in ("key.pem", "cert.pem"):
            with open(name, encoding="ascii") as file:
                both.write(file.read())
    manager = Alertmanager(certificate="both.pem")
    tap.one_line("an unknown certificate is refused", once(manager.url), 69, "certificate")
    tap.equal("nothing was sent", manager.requests, [])
    tap.equal("one that is trusted", once(manager.url, "--ca-file", "cert.pem").status, 0)


for part in (while_open, lambda: restarts(200), lambda: restarts(501), refusals, database_fails):
    with tap.part(getattr(part, "__name__", "part")):
        part()
if shutil.which("openssl"):
    with tap.part("TLS"):
        tls()
tap.done()
