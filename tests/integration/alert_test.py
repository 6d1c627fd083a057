#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for the seconds of --repeat
"""ibwire alert against an Alertmanager in this process: which alerts fire and end, while both sides fail and restart.

The findings are written into a database that has sweeps and no collector.
"""
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from alertmanager import Alertmanager, seconds
from lib import IBWIRE, Tap, run, wait_for

tap = Tap()
DB = os.path.abspath("fabric.db")
SUBJECT = 'leaf1/3 - "sp\\ine"/7\n\u00e9\U0001f600<&>'


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
                                 *options], stdin=subprocess.DEVNULL, stderr=log, start_new_session=True)


def end(process, how=signal.SIGTERM):
    process.send_signal(how)
    return process.wait(120)


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
    tap.equal("a warning fires; not an info, nor what it explains", manager.notified, [("link-degraded", "warning", True)])
    when, alerts = manager.requests[-1]
    tap.equal("its labels", alerts[0]["labels"], {"alertname": "link-degraded", "finding": "1", "severity": "warning",
                                                 "subject": SUBJECT, "fabric": "a"})
    tap.equal("its annotations", alerts[0]["annotations"], {"summary": "measured 3", "description": "do it", "cause": "cable",
                                                            "hosts": "1 host: node1"})
    tap.result(1 < seconds(alerts[0]["endsAt"]) - when < 6, "it ends five intervals later if it is not sent again",
               alerts[0]["endsAt"])
    gaps = [later[0] - earlier[0] for earlier, later in zip(manager.requests[1:], manager.requests[2:])]
    tap.result(0.5 < sum(gaps) / len(gaps) < 5, "it is sent again each second", gaps)
    tap.equal("as JSON", manager.headers["Content-Type"], "application/json")
    finding(4, "node-silent", severity=2)
    wait_for(lambda: len(manager.notified) > 1)
    change("UPDATE finding_state SET severity = 2 WHERE finding = 1")
    tap.becomes("a severity that rises ends one alert and begins another", lambda: sorted(manager.notified[2:]),
                [("link-degraded", "critical", True), ("link-degraded", "warning", False)])
    run(IBWIRE, "health", "ack", "4", "--reason", "known", "--db", DB)
    wait_for(lambda: len(manager.notified) > 4)
    close(3)
    close(1)
    tap.becomes("an acknowledged finding ends, and a closed one; none that did not fire", lambda: (manager.notified[4:], manager.wrong),
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
    wait_for(lambda: len(manager.notified) == 2)
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
    tap.becomes(f"list {listing}: what has closed meanwhile ends, nothing else", lambda: (manager.notified[2:], manager.wrong),
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
    tap.becomes(f"list {listing}: after its restart the other side has what is open", lambda: (manager.names(), manager.wrong),
                (["node-silent"], []))
    tap.becomes(f"list {listing}: an outage is one line, and its end one", lambda: (logged().count("trying again"), logged().count("\n")), (1, 2))
    end(process)
    manager.stop()
    return others


def refusals():
    fresh_database()
    finding(1, "link-degraded")
    manager = Alertmanager()
    manager.statuses = [500, 503, 401]
    process = start(manager.url)
    tap.becomes("5xx and 401: tried again until it is accepted", lambda: (manager.notified, logged().count("\n")),
                ([("link-degraded", "warning", True)], 2))
    tap.contains("with the reason", logged(), "HTTP status 500: \"bad")
    tap.result("\x1b" not in logged(), "without control characters")
    manager.statuses = [400] * 3
    wait_for(lambda: not manager.statuses)
    tap.becomes("400 is one line, and alerts are sent on", lambda: (logged().count("refuses alerts"), manager.names()), (1, ["link-degraded"]))
    end(process)
    tap.one_line("--once with 400", (manager.statuses.append(400), once(manager.url))[1], 69, "refuses alerts", "400")
    tap.one_line("--once with 503", (manager.statuses.append(503), once(manager.url))[1], 69, "503")
    tap.one_line("a wrong path", once(manager.url.replace("/x", "/y")), 69, "404")
    tap.equal("--once", once(manager.url, "--label", "fabric=c").status, 0)
    manager.list_body = '{"status":"error"}'
    tap.one_line("a response that is no list of alerts", once(manager.url), 69, "has sent no list of alerts")
    manager.list_body = None
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


def goes_on(manager, process, what):
    """Two more requests have the alert, and nothing else was sent."""
    count = len(manager.requests)
    wait_for(lambda: len(manager.requests) > count + 2)
    when, alerts = manager.requests[-1]
    tap.equal(f"{what}: the alert is sent again", [(alert["labels"]["finding"], seconds(alert["endsAt"]) > when,
                                                   alert["annotations"]["summary"]) for alert in alerts],
              [("1", True, "measured 3")])
    tap.equal(f"{what}: nothing begins or ends, the process runs", (manager.notified, manager.wrong, process.poll()),
              ([("link-degraded", "warning", True)], [], None))


def database_fails():
    """Without its database the sender ends no alert, and sends those of which it knows."""
    fresh_database()
    finding(1, "link-degraded")
    connection = sqlite3.connect(DB)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    manager = Alertmanager()
    process = start(manager.url)
    wait_for(lambda: manager.notified)
    for what, words, contents in (("damaged", "is not an ibwire database", b"no database" * 4096), ("empty", "there is no database", b""),
                                  ("missing", "", None)):
        os.rename(DB, DB + ".away")
        if contents is not None:
            with open(DB + ".new", "wb") as file:
                file.write(contents)
            os.rename(DB + ".new", DB)
            wait_for(lambda: "trying again" in logged())
        goes_on(manager, process, what)
        lines = logged().splitlines()
        # A removed file stays open.
        tap.equal(f"{what}: it is one line in the log", len(lines), 0 if contents is None else 1)
        if lines:
            for part in (DB, words, "alerts stay as they are"):
                tap.contains(f"{what}: which has the file, the reason and the effect", lines[0], part)
        os.rename(DB + ".away", DB)
        if lines:
            wait_for(lambda: "can be read again" in logged())
        goes_on(manager, process, f"{what} and back")
        os.truncate("alert.log", 0)
    with open(DB, "rb") as file:
        sound = file.read()
    # Pages in the same file, as of a failing disk. Those of the cache are read again after a change.
    finding(2, "node-silent", severity=0)
    with open(DB, "r+b") as file:
        file.write(b"\xff" * len(sound))
    change_fails = once(manager.url)
    tap.one_line("--once with a damaged database", change_fails, 74, DB)
    goes_on(manager, process, "overwritten")
    for name in (DB + "-wal", DB + "-shm"):
        if os.path.exists(name):
            os.remove(name)
    with open(DB + ".new", "wb") as file:
        file.write(sound)
    os.rename(DB + ".new", DB)
    close(1)
    tap.becomes("after all that, the finding closes", lambda: (manager.notified[1:], manager.wrong), ([("link-degraded", "warning", False)], []))
    tap.equal("SIGTERM ends it", end(process), 0)


class Stale:
    """Without current sweeps for more than a minute there is an alert about that, and the others stay.

    It starts with the first part of this test, and is complete with the last one.
    """

    def __init__(self, name):
        self.path, self.manager, self.log = os.path.abspath(name), Alertmanager(), name + ".log"
        fresh_database()
        finding(1, "link-degraded")
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(DB + suffix):
                shutil.copy(DB + suffix, self.path + suffix)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([IBWIRE, "alert", "--db", self.path, "--alertmanager", self.manager.url, "--repeat",
                                             "1s"], stdin=subprocess.DEVNULL, stderr=log)
        wait_for(lambda: self.manager.notified)

    def start_without(self):
        """Another sender, which has never read the database; Alertmanager has an alert of an earlier one."""
        end(self.process)
        self.age(3600)
        self.move(self.path, self.path + ".away")
        self.manager.notified = self.manager.notified[-1:]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([IBWIRE, "alert", "--db", self.path, "--alertmanager", self.manager.url],
                                            stdin=subprocess.DEVNULL, stderr=log)
        for key in self.manager.alerts:
            self.manager.alerts[key] = time.time() + 300

    @staticmethod
    def move(path, to):
        for suffix in ("-wal", "-shm", ""):
            if os.path.exists(path + suffix):
                os.rename(path + suffix, to + suffix)

    def age(self, age_s):
        connection = sqlite3.connect(self.path, timeout=20)
        connection.execute("UPDATE sweep SET wall_us = wall_us + ? - (SELECT max(wall_us) FROM sweep)",
                           ((time.time_ns() // 1000) - age_s * 1000000,))
        connection.commit()
        connection.close()

    def begin(self):
        self.since = time.time()

    def check(self, words):
        tap.becomes(f"{words}: one critical alert, and the finding stays", lambda: (self.manager.notified[1:], self.manager.names()),
                    ([("sweeps-stale", "critical", True)], ["link-degraded", "sweeps-stale"]))
        when, alert = next((when, alert) for when, alerts in self.manager.requests for alert in alerts
                           if alert["labels"]["alertname"] == "sweeps-stale")
        tap.result(55 < when - self.since < 120, f"{words}: after a minute", when - self.since)
        tap.equal(f"{words}: its labels", alert["labels"], {"alertname": "sweeps-stale", "finding": "0", "severity": "critical",
                                                            "subject": "collector"})
        tap.contains(f"{words}: its summary", alert["annotations"]["summary"], words)
        return alert

    def ends(self, words):
        tap.becomes(f"{words}: it ends", lambda: (self.manager.notified[2:], self.manager.names(), self.manager.wrong),
                    ([("sweeps-stale", "critical", False)], ["link-degraded"], []))
        end(self.process)


def reloads():
    """SIGHUP reads the file of the URL again."""
    fresh_database()
    finding(1, "link-degraded")
    finding(2, "node-silent", severity=2)
    first, second = Alertmanager(), Alertmanager()

    def write_url(url):
        with open("url.new", "w", encoding="ascii") as file:
            file.write(url + "\n")
        os.chmod("url.new", 0o600)
        os.rename("url.new", "am.url")

    write_url(first.url)
    process = start("@am.url")
    wait_for(lambda: len(first.notified) == 2)
    close(2)
    wait_for(lambda: len(first.notified) == 3)
    write_url("gopher://x/")
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: "not reloaded" in logged())
    count = len(first.requests)
    wait_for(lambda: len(first.requests) > count + 1)
    tap.equal("with a wrong URL, the former one stays", (process.poll(), first.names()), (None, ["link-degraded"]))
    tap.contains("and the log has the reason", logged(), "--alertmanager must be")
    write_url(second.url)
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: second.notified)
    tap.equal("another Alertmanager gets what is open, not what has ended", [alert["labels"]["finding"] for alert in
                                                                            second.requests[0][1]], ["1"])
    count = len(first.requests)
    wait_for(lambda: len(second.requests) > 3)
    tap.equal("the former one gets nothing", len(first.requests), count)
    tap.contains("it is a line in the log", logged(), "reloaded")
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: logged().count("\n") == 3)
    count = len(second.requests)
    wait_for(lambda: len(second.requests) > count + 1)
    tap.equal("the same URL: nothing begins or ends", (second.notified, second.wrong), ([("link-degraded", "warning", True)], []))
    end(process)


def certificate(name):
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", name, "-days", "2",
        "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1")
    with open("both.pem", "w", encoding="ascii") as both:
        for part in ("key.pem", name):
            with open(part, encoding="ascii") as file:
                both.write(file.read())


def tls():
    fresh_database()
    certificate("cert.pem")
    manager = Alertmanager(certificate="both.pem")
    tap.one_line("an unknown certificate is refused", once(manager.url), 69, "certificate")
    tap.equal("nothing was sent", manager.requests, [])
    tap.equal("one that is trusted", once(manager.url, "--ca-file", "cert.pem").status, 0)
    # Alertmanager has another certificate.
    finding(1, "link-degraded")
    process = start(manager.url, "--ca-file", "cert.pem")
    wait_for(lambda: manager.notified)
    port = manager.port
    manager.stop()
    certificate("new.pem")
    wait_for(lambda: "trying again" in logged())
    manager = Alertmanager(port, certificate="both.pem")
    os.rename("cert.pem", "old.pem")
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: "not reloaded" in logged())
    tap.contains("without the file of certificates, the former ones stay", logged(), "--ca-file cert.pem")
    tap.equal("and the certificate is refused", manager.requests, [])
    os.rename("new.pem", "cert.pem")
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: manager.notified)
    tap.equal("SIGHUP reads the certificates again", manager.notified, [("link-degraded", "warning", True)])
    tap.equal("SIGTERM ends it", end(process), 0)


with tap.part("stale"):
    stale, gone, never = Stale("stale.db"), Stale("gone.db"), Stale("never.db")
    stale.age(3600)
    stale.begin()
    gone.move(gone.path, gone.path + ".away")
    with open(gone.path, "wb") as empty:
        empty.write(b"x" * 8192)
    gone.begin()
    never.start_without()
    never.begin()
for part in (while_open, lambda: restarts(200), lambda: restarts(501), refusals, database_fails, reloads):
    with tap.part(getattr(part, "__name__", "part")):
        part()
if shutil.which("openssl"):
    with tap.part("TLS"):
        tls()
with tap.part("sweeps-stale"):
    stale.check("no sweep has been stored")
    stale.age(0)
    stale.ends("a sweep is stored")
    unread = gone.check("gone.db")
    tap.contains("with the reason", unread["annotations"]["summary"], "is not an ibwire database")
    gone.move(gone.path + ".away", gone.path)
    gone.ends("the database is back")
    never.check("there is no database")
    never.move(never.path + ".away", never.path)
    never.age(0)
    never.ends("there is a database")
tap.done()
