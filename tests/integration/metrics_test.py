#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for sweeps, and for connections that time out
# sanitized: the server gets requests of hostile clients
"""ibwire metrics over HTTP: formats, conditional requests, TLS and passwords, hostile clients, bad input."""
import contextlib
import base64
import collections
import crypt
import gzip
import http.client
import multiprocessing
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SHORT, Simulation, Tap, need, read_file, run, stop, wait_for

need("ibsim", "opensm")
tap = Tap()
CONNECTIONS = 500 if SHORT else 10000
LONG = bool(os.environ.get("IBWIRE_ATTACK_LONG"))
# Without the sanitizer's quarantine (256 MB by default), the memory of a sanitized server is measured.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16"
PASSWORD, HASH = "secret", "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"


class Server:
    """ibwire metrics on a free port."""

    def __init__(self, sim, *options):
        self.log = os.path.abspath(f"metrics-{time.monotonic_ns()}")
        # It opens no device; and the preloaded library of ibsim crashes with more than 1,024 descriptors.
        env = {name: value for name, value in sim.env.items() if name != "LD_PRELOAD"}
        # Without a terminal: there SIGHUP means that it was closed.
        self.process = sim.start(IBWIRE, "metrics", "--listen", "127.0.0.1:0", *options, env=env, start_new_session=True,
                                 stderr=open(self.log, "wb"))
        wait_for(lambda: "serving " in read_file(self.log) or self.process.poll() is not None)
        self.url = re.search(r"serving (\S+)", read_file(self.log)).group(1)
        self.port = int(re.search(r":(\d+)/", self.url).group(1))

    def get(self, headers=None, path="/metrics", method="GET", context=None, timeout=60):
        """Status, headers and text."""
        request = urllib.request.Request(self.url.replace("/metrics", path), headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout, context=context) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 30)

    def memory_kb(self):
        return int(re.search(r"VmHWM:\s+(\d+)", read_file(f"/proc/{self.process.pid}/status")).group(1))


def samples(text, name):
    """Values by label text."""
    return {match[1]: float(match[2]) for match in re.finditer(rf"^{name}(\{{.*\}})? (\S+)$", text, re.M)}


def formats(sim):
    server = Server(sim)
    status, headers, text = server.get()
    tap.equal("a page is there", status, 200)
    tap.equal("in the text format", headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
    if shutil.which("promtool"):
        checked = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True, check=False)
        lint = [line for line in checked.stderr.decode().splitlines() if "rate_bits_per_second" not in line]
        tap.equal("promtool finds no fault but the unit of the link rate", lint, [])
    status, headers, text = server.get({"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"})
    tap.contains("OpenMetrics if it is accepted", headers["Content-Type"], "application/openmetrics-text; version=1.0.0")
    tap.result(text.endswith("\n# EOF\n"), "it has an end")
    refused = "application/openmetrics-text;version=1.0.0;q=0, text/plain"
    tap.contains("not if its weight is 0", server.get({"Accept": refused})[1]["Content-Type"], "text/plain; version=0.0.4")
    refused = "text/plain, application/openmetrics-text;q=0.5"
    tap.contains("not if text is preferred", server.get({"Accept": refused})[1]["Content-Type"], "text/plain; version=0.0.4")
    packed(server)
    rows = {(row["node_guid"], row["port"]): row for row in sim.json("ports")}
    states = samples(text, "ibwire_port_state")
    tap.equal("every port has a state", len(states), len(rows))
    tap.equal("the collector is live", samples(text, "ibwire_collector_live"), {None: 1.0})
    tap.equal("the coverage is complete", samples(text, "ibwire_sweep_coverage_ratio"), {None: 1.0})
    once = samples(sim.ibwire("metrics", "--once").out, "ibwire_port_xmit_bytes_total")
    tap.equal("--once has the counters of the same ports", sorted(once),
              sorted(samples(text, "ibwire_port_xmit_bytes_total")))
    tap.result("process_" not in sim.ibwire("metrics", "--once").out, "but not those of a process")
    tap.result(0 < samples(text, "process_cpu_seconds_total")[None] < 60, "CPU time of the server")
    tap.result(1e6 < samples(text, "process_resident_memory_bytes")[None] < 1e9, "its memory")
    tap.result(abs(samples(text, "process_start_time_seconds")[None] - time.time()) < 300, "its start")
    tap.contains("versions", text, 'ibwire_build_info{version="')
    tap.equal("HEAD has no body", server.get(method="HEAD")[2], "")
    tap.equal("other methods are refused", server.get(method="POST")[:1] + server.get(method="DELETE")[:1], (405, 405))
    status, _, text = server.get(path="/other")
    tap.equal("other pages are one line", (status, text.count("\n")), (404, 1))
    return server


def packed(server):
    """The same text, compressed for clients that accept it."""
    def fetch(encoding, tag=""):
        request = urllib.request.Request(server.url, headers={"Accept-Encoding": encoding, "If-None-Match": tag})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def without_numbers(text):
        return re.sub(r" \S+$", "", text.decode(), flags=re.M)

    _, headers, _ = fetch("gzip;Q=0, deflate")
    tap.equal("upper case", headers["Content-Encoding"], None)
    _, headers, plain = fetch("gzip;q=0, deflate")
    tap.equal("without compression", (headers["Content-Encoding"], headers["Vary"]), (None, "Accept, Accept-Encoding"))
    _, headers, text = fetch("deflate, gzip")
    tap.equal("with gzip", headers["Content-Encoding"], "gzip")
    tap.result(len(text) < len(plain) / 5, "it is small", (len(text), len(plain)))
    tap.equal("it is the same text", without_numbers(gzip.decompress(text)), without_numbers(plain))
    while True:
        _, headers, _ = fetch("gzip")
        status, again, text = fetch("gzip", headers["ETag"])
        if status == 304 or again["ETag"] == headers["ETag"]:
            break
    tap.equal("nothing has changed: 304", (status, text), (304, b""))


# What is known without a collector.
LASTING = {"ibwire_build", "ibwire_collector_live", "ibwire_sweep_timestamp_seconds", "ibwire_sweep_interval_seconds",
           "ibwire_sweeps", "ibwire_discovery_timestamp_seconds", "ibwire_database_size_bytes",
           "ibwire_metrics_build_duration_seconds", "process_cpu_seconds", "process_resident_memory_bytes",
           "process_start_time_seconds"}


def families(text):
    return set(re.findall(r"^(\w+?)(?:_total|_info)?(?:\{.*\})? \S+$", text, re.M))


def is_over(server):
    """A collector has ended: its values are absent once the newest sweep is older than three intervals."""
    def age(text):
        return time.time() - samples(text, "ibwire_sweep_timestamp_seconds")[None]

    seen = []
    tap.result(wait_for(lambda: seen.append(server.get()[2]) or families(seen[-1]) <= LASTING, every=0.05),
               "without a collector no value of the fabric is served", families(seen[-1]) - LASTING)
    tap.result(all(families(text) > LASTING for text in seen[:-1]) and 1.5 < age(seen[-1]) < 15,
               "since the newest sweep is older than three intervals", age(seen[-1]))
    tap.equal("what is known without it is served", LASTING - families(seen[-1]), set())
    tap.equal("the format with an end, too", server.get({"Accept": "application/openmetrics-text"})[2][-6:], "# EOF\n")


def conditional(sim, server, collector):
    _, _, text = server.get()
    stop(collector)
    is_over(server)
    tag = server.get()[1]["ETag"]
    page = server.get(path="/")[1]["ETag"]
    same = server.get({"If-None-Match": page}, path="/")
    # The page has ages, so that it changes every minute, too.
    tap.equal("nothing has changed: 304, also of the page", (same[0], same[2]) if same[1]["ETag"] == page else (304, ""),
              (304, ""))
    tap.equal("nothing has changed: 304", server.get({"If-None-Match": tag})[0], 304)
    status, _, over = server.get({"If-None-Match": '"other"'})
    tap.equal("another tag: the page", status, 200)
    tap.equal("the collector is not live", samples(over, "ibwire_collector_live"), {None: 0.0})
    collector = sim.start(IBWIRE, "collect", "--interval", "500ms", stderr=open("collect2", "wb"))
    newest = sim.newest()
    wait_for(lambda: sim.newest() > newest)
    status, _, after = server.get({"If-None-Match": tag})
    tap.equal("after a restart of the collector: the page", status, 200)
    tap.equal("with every value again", families(text) - families(after), set())
    before, now = (samples(page, "ibwire_port_xmit_packets_total") for page in (text, after))
    tap.equal("no counter decreased", [labels for labels, value in before.items() if now[labels] < value], [])
    guid = sim.guid("leaf-u01-r0")
    sim.ibwire("clear", guid, "--yes")
    newest = sim.newest()
    wait_for(lambda: sim.newest() > newest + 2)
    cleared = sim.json("ports", f"{guid}/1")[0]
    later = samples(server.get()[2], "ibwire_port_xmit_packets_total")
    tap.equal("nor after a reset of others", [labels for labels, value in now.items() if later[labels] < value], [])
    tap.note(f"after the reset: {cleared.get('xmit_packets_per_s')} packets per second")
    return collector


API = ("/api/status", "/api/health?all", "/api/nodes", "/api/ports?top=3", "/api/links", "/api/events", "/api/history",
       "/api/balance?all", "/api/report?subject=spine-01", "/api/topology/show",
       "/api/topology/route?subject=node0001%20mlx5_0&subject=node0004%20mlx5_0", "/api/job/list", "/api/snapshot/list")


def processes(server):
    """Page faults of the processes that it has started and that have ended, and the number of those that run."""
    pid = server.process.pid
    faults = int(read_file(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[8])
    return faults, len(read_file(f"/proc/{pid}/task/{pid}/children").split())


def threads(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def pages(sim, server):
    """Pages and JSON, from commands."""
    status, headers, text = server.get(path="/")
    tap.equal("a page of the fabric", (status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
    tap.result(len(text) < 100000 and "<script" not in text, "small, without scripts", len(text))
    tap.contains("with a policy for browsers", headers["Content-Security-Policy"], "default-src 'none'")
    tap.equal("HEAD has no body", (server.get(path="/", method="HEAD")[0], server.get(path="/", method="HEAD")[2]), (200, ""))
    links = sorted(set(re.findall(r'href="((?:report|history|job|\./)[^"]*)"', text)))
    tap.result(len(links) > 10, "names, moments and findings are links", links)
    broken = [link for link in links if server.get(path="/" + link.removeprefix("./").replace("&amp;", "&"))[0] not in (200, 503)]
    tap.equal("and each of them is served", broken, [])
    for form, value in re.findall(r'form action="([^"]*)"[^>]*>.*?name="(\w+)"', text):
        typed = {"at": "-2s", "subject": "1" if form == "job" else "spine-01"}[value]
        status, _, shown = server.get(path=f"/{form.removeprefix('./')}?{value}={typed}")
        tap.result(status == (400 if form == "job" else 200), f"the form {form} is served", (status, shown[:200]))
    past = server.get(path="/?at=-2s")
    tap.equal("a moment of the past does not reload", (past[0], past[1]["Refresh"]), (200, None))
    tap.contains("and leads back", past[2], 'href="./">now')
    status, headers, text = server.get(path="/report?subject=spine-01/1")
    tap.contains("a report with links", text, 'href="history?peers&amp;subject=0x')
    status, headers, text = server.get(path="/history?subject=spine-01&since=-10m")
    for link in re.findall(r'href="(history[^"]*)"', text)[:5]:
        tap.equal("another window of the history", server.get(path="/" + link.replace("&amp;", "&"))[0], 200)
    tap.contains("the history of a switch", text, "History of spine-01</h2>")
    tap.equal("an unknown subject is a usage error", server.get(path="/history?subject=none")[0], 400)
    newest = sim.json("status")["last_time"]
    tap.equal("the JSON of a sweep is that of the command", server.get(path=f"/api/health?all&at={newest}")[2],
              sim.ibwire("health", "--all", "--at", newest, "--format", "json", check=False).out)
    for path in API:
        status, headers, text = server.get(path=path)
        tap.equal(f"{path} is JSON", (status, headers["Content-Type"], text.rstrip()[-1:] in ("]", "}")),
                  (200, "application/json", True))
    for path in ("/api/ports?db=/etc/passwd", "/api/health?subject=ack&subject=1", "/api/events?kind=nonsense"):
        status, _, text = server.get(path=path)
        tap.equal(f"{path} is refused in one line", (status, text.count("\n")), (400, 1))
    tap.equal("a command that is not listed", server.get(path="/api/clear?subject=spine-01")[0], 404)
    tap.equal("no process was started for them", processes(server), (0, 0))
    tap.result(wait_for(lambda: threads(server) == 1), "no thread is left", threads(server))


def limits(sim):
    """Commands that block, because the name map is a pipe that this test opens and never writes to."""
    def name_map(pipe):
        if pipe:
            os.mkfifo("new")
        else:
            open("new", "wb").close()
        os.rename("new", "names")
        return os.open("names", os.O_RDWR | os.O_CLOEXEC)

    def ask(path):
        client = server.connect()
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return client

    def answer(client):
        with client, client.makefile("rb") as file:
            return file.readline().decode().split()[1]

    def descriptors():
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def pipes():
        """Commands that have opened the pipe."""
        count = 0
        for number in os.listdir(f"/proc/{server.process.pid}/fd"):
            with contextlib.suppress(OSError):
                count += os.readlink(f"/proc/{server.process.pid}/fd/{number}").endswith("/names")
        return count

    def slowest():
        took = []
        for _ in range(20):
            begin = time.monotonic()
            server.get()
            took.append(time.monotonic() - begin)
        return max(took)

    os.close(name_map(pipe=False))
    server = Server(sim, "--node-name-map", "names")
    tap.equal("a page", server.get(path="/")[0], 200)
    before, idle = descriptors(), slowest()
    pipe = name_map(pipe=True)
    waiting = [ask(f"/api/events?limit={number + 1}") for number in range(16)]
    same = [ask("/api/events?limit=16") for _ in range(20)]
    tap.result(wait_for(lambda: threads(server) == 3 and descriptors() >= before + 36 and pipes() == 2), "two commands run",
               (threads(server), pipes()))
    status, headers, text = server.get(path="/api/events?limit=99")
    tap.equal("more than 16 are refused in one line", (status, headers["Retry-After"], text.count("\n")), (503, "5", 1))
    busy = slowest()
    tap.result(busy < 15, "they do not delay the metrics", f"{1000 * busy:.1f} ms")
    tap.note(f"slowest of 20 scrapes: {1000 * busy:.1f} ms, without commands {1000 * idle:.1f} ms")
    for client in same[10:]:
        client.close()
    os.close(name_map(pipe=False))
    os.close(pipe)
    tap.equal("a pipe that nothing was written to is an error; the others succeed", [answer(client) for client in waiting],
              ["500"] * 2 + ["200"] * 14)
    tap.equal("equal requests share a command and its result", [answer(client) for client in same[:10]], ["200"] * 10)
    # SQLite closes the file of a connection when no other connection of the process has a lock, and reuses it before.
    tap.result(wait_for(lambda: threads(server) == 1 and descriptors() <= before + 2), "no thread is left, and no descriptor",
               (threads(server), descriptors(), before))
    tap.equal("no process was started for them", processes(server), (0, 0))
    pipe = name_map(pipe=True)
    client = ask("/api/events")
    tap.result(wait_for(lambda: threads(server) == 2), "a command that does not end", threads(server))
    begin = time.monotonic()
    tap.equal("does not keep the server from its end", stop(server.process), 0)
    tap.result(time.monotonic() - begin < 25, "within seconds", f"{time.monotonic() - begin:.1f} s")
    tap.equal("and gets a response", answer(client), "503")
    os.close(pipe)


class Scraper:
    """A well-behaved client in a process of its own: scrapes twice a second, and measures.

    A connection that is closed before a response is tried once more, as RFC 9112 (9.5) permits for GET: among thousands
    of connections from its own address, one whose request takes long to arrive on a loaded machine can be displaced.
    """

    def __init__(self, server, headers=None, context=None):
        self.results, child_end = multiprocessing.Pipe(False)
        self.stop = multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.run, args=(child_end, server, headers, context))
        self.process.start()

    def run(self, results, server, headers, context):
        took, failed, repeated = [], [], 0
        while not self.stop.is_set():
            begin = time.monotonic()
            for attempt in range(2):
                try:
                    status = server.get(headers, context=context, timeout=30)[0]
                except (OSError, http.client.HTTPException) as error:
                    status = str(error)
                    if isinstance(error, ConnectionError) and not attempt:
                        repeated += 1
                        continue
                break
            took.append(time.monotonic() - begin)
            if status != 200:
                failed.append(status)
            time.sleep(0.5)
        results.send((took, failed, repeated))

    def end(self, tap, name, limit_s=20):
        self.stop.set()
        took, failed, repeated = self.results.recv()
        self.process.join()
        tap.equal(f"{name}: every scrape succeeds", failed, [])
        tap.result(max(took) < limit_s, f"{name}: without delay", max(took))
        tap.result(repeated <= 1 + len(took) // 10, f"{name}: few are repeated", f"{repeated} of {len(took)}")
        tap.note(f"{name}: {len(took)} scrapes, {repeated} of them repeated, the slowest took {1000 * max(took):.0f} ms")


def closed(client):
    """Has the server closed the connection?"""
    client.setblocking(False)
    try:
        while client.recv(1 << 20):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def dawdling(server):
    """Clients that send their request byte by byte, and others that do not read: all from the address of the scraper."""
    begin, seconds, number = time.monotonic(), 60 if LONG else 6, 2100
    scraper = Scraper(server)
    slow = []
    while time.monotonic() - begin < seconds:
        slow = [client for client in slow if not closed(client)]
        while len(slow) < number:
            slow.append(server.connect())
            slow[-1].sendall(b"G")
        for client in slow:
            try:
                client.setblocking(False)
                client.send(b"E")
            except OSError:
                pass
        time.sleep(2)
    scraper.end(tap, f"{number} slow requests")
    for client in slow:
        client.close()
    stuck = []
    for _ in range(1990 if LONG else 200):
        stuck.append(server.connect())
        stuck[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 200)
    scraper = Scraper(server)
    time.sleep(30 if LONG else 2)
    descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    tap.result(descriptors < 100, "few connections remain", descriptors)
    scraper.end(tap, f"{len(stuck)} clients that do not read")
    for client in stuck:
        client.close()
    with server.connect() as client:
        client.sendall(b"GET /metr")
        begin = time.monotonic()
        client.settimeout(30)
        tap.equal("a request that does not end is closed", client.recv(100), b"")
        tap.result(3 < time.monotonic() - begin < 25, "after five seconds", time.monotonic() - begin)


def hostile(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(CONNECTIONS, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), hard))
    dawdling(server)
    for garbage in (b"\0" * 100000, b"GET " + b"/" * 200000, b"GET /metrics HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
                    b"GET /metrics HTTP/1.1\r\n" + b"x: y\r\n" * 50000, b"PUT / HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\n"):
        with server.connect() as client:
            try:
                client.sendall(garbage)
                client.settimeout(10)
                client.recv(100)
            except OSError:
                pass
    tap.equal("invalid requests do not stop the server", server.get()[0], 200)
    idle = []
    for _ in range(count):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", server.port))
        idle.append(client)
    begin = time.monotonic()
    tap.equal(f"nor do {count} connections", server.get(timeout=120)[0], 200)
    tap.note(f"{count} idle connections: a page after {time.monotonic() - begin:.1f} s, {server.memory_kb() >> 10} MB")
    tap.result(server.memory_kb() < (200 << 10 if SHORT else 64 << 10), "memory is bounded",
               server.memory_kb())
    for client in idle:
        client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def certify(key, certificate):
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key,
        "-out", certificate)


def secured(sim):
    certify("key.pem", "cert.pem")
    with open("web.yml", "w", encoding="ascii") as file:
        file.write(f"tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n  min_version: TLS13\n"
                   f"basic_auth_users:\n  prometheus: {HASH}\n")
    server = Server(sim, "--web-config", "web.yml")
    tap.contains("TLS is in the address", server.url, "https://")
    trusting = ssl.create_default_context(cafile="cert.pem")
    trusting.check_hostname = False
    old = ssl.create_default_context(cafile="cert.pem")
    old.check_hostname = False
    old.maximum_version = ssl.TLSVersion.TLSv1_2

    def ask(password, context=trusting):
        basic = base64.b64encode(f"prometheus:{password}".encode()).decode()
        return server.get({"Authorization": "Basic " + basic}, context=context)[0]

    tap.equal("a password is required", server.get(context=trusting)[0], 401)
    tap.equal("the right one", ask(PASSWORD), 200)
    tap.equal("a wrong one", ask("wrong"), 401)
    try:
        tap.equal("TLS 1.2 is refused", ask(PASSWORD, old), "an error")
    except (ssl.SSLError, urllib.error.URLError, http.client.HTTPException, OSError) as error:
        tap.result(True, f"TLS 1.2 is refused: {error}"[:60])
    with server.connect() as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        tap.result(b"ibwire" not in client.recv(1000), "and no plain HTTP")
    renewed(sim, server)
    tap.equal("SIGTERM ends it", stop(server.process), 0)


def renewed(sim, server):
    """SIGHUP: certificate, passwords and settings are read again while the server is used."""
    def served():
        return ssl.get_server_certificate(("127.0.0.1", server.port)).strip()

    def hang_up(words):
        count = read_file(server.log).count(words)
        server.process.send_signal(signal.SIGHUP)
        tap.result(wait_for(lambda: read_file(server.log).count(words) > count), f"SIGHUP: {words}", read_file(server.log))

    def login(password):
        return {"Authorization": "Basic " + base64.b64encode(f"prometheus:{password}".encode()).decode()}

    any_certificate = ssl.create_default_context()
    any_certificate.check_hostname, any_certificate.verify_mode = False, ssl.CERT_NONE
    tap.result("can be read by all users" not in read_file(server.log), "a key that is private is no warning")
    os.chmod("key.pem", 0o644)
    hang_up("key.pem can be read by all users")
    os.chmod("key.pem", 0o600)
    first = served()
    tap.equal("the certificate of the file is served", first, read_file("cert.pem").strip())
    before = samples(server.get(login(PASSWORD), context=any_certificate)[2], "ibwire_port_xmit_packets_total")
    scraper = Scraper(server, login(PASSWORD), any_certificate)
    certify("key.pem", "cert.pem")
    early = socket.create_connection(("127.0.0.1", server.port))
    time.sleep(0.3)
    reloads = read_file(server.log).count("passwords reloaded")
    server.process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    with any_certificate.wrap_socket(early) as late:
        late.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: {login(PASSWORD)['Authorization']}\r\n"
                     "Connection: close\r\n\r\n".encode())
        tap.equal("a connection from before the reload is still served", late.recv(12), b"HTTP/1.1 200")
    wait_for(lambda: read_file(server.log).count("passwords reloaded") > reloads)
    tap.result(served() == read_file("cert.pem").strip() != first, "the renewed certificate is served")
    time.sleep(1)
    scraper.end(tap, "the certificate is renewed")
    after = samples(server.get(login(PASSWORD), context=any_certificate)[2], "ibwire_port_xmit_packets_total")
    tap.equal("no counter decreases", [labels for labels, value in before.items() if after[labels] < value], [])
    with open("web.yml", encoding="ascii") as file:
        web = file.read()
    with open("web.yml", "w", encoding="ascii") as file:
        file.write(web.replace(HASH, crypt.crypt("other", "$2b$04$abcdefghijklmnopqrstuu")))
    hang_up("passwords reloaded")
    tap.equal("another password", [server.get(login(password), context=any_certificate)[0] for password in (PASSWORD, "other")],
              [401, 200])
    certify("key.pem", "unused.pem")
    renewed_once = served()
    hang_up("not reloaded: the web configuration")
    tap.equal("a key of another certificate changes nothing", (served(), server.get(login("other"), context=any_certificate)[0]),
              (renewed_once, 200))
    with open("web.yml", "w", encoding="ascii") as file:
        file.write("basic_auth_users: 1\n")
    hang_up("not reloaded: the web configuration")
    tap.equal("nor does an invalid configuration", server.get(login("other"), context=any_certificate)[0], 200)


def cpu_s(process):
    """CPU time of a process, in seconds."""
    words = read_file(f"/proc/{process.pid}/stat").rsplit(")", 1)[1].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def first_login(server, right):
    """Log in with a password that was not checked before. Return: statuses, and seconds."""
    begin, statuses = time.monotonic(), []
    while 200 not in statuses and time.monotonic() - begin < 60:
        statuses.append(server.get(right)[0])
    return statuses, time.monotonic() - begin


def slow_server(sim):
    """A server of which the check of a password takes a quarter of a second and more, and the headers with the right one."""
    slow_hash = crypt.crypt(PASSWORD, "$2b$12$abcdefghijklmnopqrstuu")
    with open("slow.yml", "w", encoding="ascii") as file:
        file.write(f"basic_auth_users:\n  prometheus: {slow_hash}\n")
    return (Server(sim, "--web-config", "slow.yml"),
            {"Authorization": "Basic " + base64.b64encode(f"prometheus:{PASSWORD}".encode()).decode()})


def stopped_check(sim):
    """The pause after a check depends on its CPU time: one that lasted for seconds on a busy machine refuses no others."""
    server, right = slow_server(sim)
    with server.connect() as client:
        wrong = base64.b64encode(b"prometheus:wrong").decode()
        client.sendall(f"GET /metrics HTTP/1.0\r\nAuthorization: Basic {wrong}\r\n\r\n".encode())
        wait_for(lambda: threads(server) == 2, every=0.002)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        server.process.send_signal(signal.SIGCONT)
        begin = time.monotonic()
        tap.equal("a login after a check that was stopped for 4 s is not refused", server.get(right)[0], 200)
        tap.note(f"a login after a check that was stopped for 4 s: {time.monotonic() - begin:.1f} s")
        tap.contains("the wrong password is", client.recv(100).decode(), " 401 ")
    tap.equal("SIGTERM ends it", stop(server.process), 0)


def guessing(sim, addresses, known):
    """Clients that try passwords, from one address or many.

    @known: the scraper's password was checked before they begin
    """
    server, right = slow_server(sim)
    ended, statuses = [], []

    def guess(number):
        while not ended:
            wrong = base64.b64encode(f"prometheus:wrong {number} {len(statuses)}".encode()).decode()
            client = socket.socket()
            try:
                client.bind((f"127.0.1.{number % addresses + 1}", 0))
                client.connect(("127.0.0.1", server.port))
                client.sendall(f"GET /metrics HTTP/1.0\r\nAuthorization: Basic {wrong}\r\n\r\n".encode())
                statuses.append(client.recv(100).split()[1:2])
            except OSError:
                statuses.append([])
            client.close()
            time.sleep(0.1)

    guessers = [threading.Thread(target=guess, args=(number,)) for number in range(100 if LONG else 20)]
    addresses = min(addresses, len(guessers))
    name = f"{len(guessers)} clients with wrong passwords from {addresses} {'address' if addresses == 1 else 'addresses'}"
    if known:
        tap.equal("the right password", server.get(right)[0], 200)
    for guesser in guessers:
        guesser.start()
    time.sleep(1)
    if not known:
        answers, took = first_login(server, right)
        tap.equal(f"{name}: the first login of another address is not refused", answers, [200])
        tap.note(f"{name}: the first login after {took:.1f} s")
    scraper, begin, cpu = Scraper(server, right), time.monotonic(), cpu_s(server.process)
    time.sleep(30 if LONG else 4)
    share = (cpu_s(server.process) - cpu) / (time.monotonic() - begin)
    scraper.end(tap, name, 8)  # one whose password is checked waits for up to 10 s
    # A quarter for passwords, one at a time; the rest for requests.
    tap.result(share < 0.4, f"{name}: less than 40 % of a processor", share)
    tap.note(f"{name}: {100 * share:.0f} % of a processor, {statuses.count([b'401'])} passwords checked")
    tap.equal("no wrong password is admitted", [status for status in statuses if status == [b"200"]], [])
    tap.result(wait_for(lambda: [b"401"] in statuses and [b"429"] in statuses), "they are refused, or told to wait",
               collections.Counter(map(str, statuses)))
    begin = time.monotonic()
    tap.equal("SIGTERM ends it meanwhile", stop(server.process), 0)
    tap.result(time.monotonic() - begin < 9, "before a login has waited for 10 s", time.monotonic() - begin)
    ended.append(True)
    for guesser in guessers:
        guesser.join()


def bad_input(sim, taken):
    def refused(name, status, *parts, options=()):
        tap.one_line(name, sim.ibwire("metrics", *options, check=False), status, *parts)

    refused("a taken port", 69, "cannot listen on 127.0.0.1", "in use", options=["--listen", f"127.0.0.1:{taken.port}"])
    refused("no address", 64, "is not HOST:PORT", options=["--listen", "here"])
    refused("no such schema", 64, "neither treydock nor guilbaults", options=["--compat", "other"])
    with open("broken.pem", "w", encoding="ascii") as file:
        file.write("this is no certificate\n")
    os.chmod("broken.pem", 0o600)
    with open("bad.yml", "w", encoding="ascii") as file:
        file.write("# first\ntls_server_config:\n  cert_file: broken.pem\n  key_file: broken.pem\n")
    refused("a certificate that does not load", 64, "bad.yml, line 2", options=["--web-config", "bad.yml"])
    with open("bad.yml", "w", encoding="ascii") as file:
        file.write("tls_server_config:\n  cert_file: missing.pem\n  key_file: key.pem\n")
    refused("one that is missing", 64, "bad.yml, line 2", "missing.pem", options=["--web-config", "bad.yml"])
    with open("bad.yml", "w", encoding="ascii") as file:
        file.write("\nbasic_auth_users:\n  me: plain\n")
    refused("a password without a hash", 64, "bad.yml, line 3", options=["--web-config", "bad.yml"])
    refused("no web configuration", 74, "none.yml", options=["--web-config", "none.yml"])
    refused("--once without a database", 69, options=["--once", "--db", "none.db"])


with tap.part("metrics"), Simulation("--gen", "rail --units 1 --hosts 4 --rails 2 --spines 2", "--traffic", "ring") as sim:
    early = Server(sim)
    status, _, text = early.get()
    tap.equal("without a database it waits for one", (status, text.count("\n")), (503, 1))
    tap.equal("it is alive, but not ready", (early.get(path="/-/healthy")[::2], early.get(path="/-/ready")[0]),
              ((200, "healthy\n"), 503))
    collector = sim.start(IBWIRE, "collect", "--interval", "500ms", stderr=open("collect", "wb"))
    tap.becomes("and finds it", lambda: early.get()[0], 200)
    tap.equal("it is ready", early.get(path="/-/ready")[::2], (200, "ready\n"))
    wait_for(lambda: sim.newest() > 3)
    server = formats(sim)
    wait_for(lambda: sim.newest() > 10)
    pages(sim, server)
    limits(sim)
    collector = conditional(sim, server, collector)
    if shutil.which("openssl"):
        secured(sim)
    stopped_check(sim)
    guessing(sim, 100, True)
    guessing(sim, 1, False)
    bad_input(sim, server)
    hostile(server)
    tap.equal("SIGTERM ends it", (stop(server.process), stop(early.process)), (0, 0))
    stop(collector)

tap.done()
