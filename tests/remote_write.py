# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Receivers of Prometheus remote write: one that stores every sample and fails on request, and real servers."""
import http.server
import json
import math
import signal
import ssl
import struct
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from lib import free_port, wait_for


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7f) << shift, shift + 7, at + 1
        if not byte & 0x80:
            return value, at


def unsnappy(data):
    """The block format of snappy: its length, then literals and copies."""
    size, at = varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length > 60:
                more = length - 60
                length, at = int.from_bytes(data[at:at + more], "little") + 1, at + more
            out += data[at:at + length]
            at += length
            continue
        if tag & 3 == 1:
            length, offset, at = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at], at + 1
        else:
            more = 2 if tag & 3 == 2 else 4
            length, offset, at = (tag >> 2) + 1, int.from_bytes(data[at:at + more], "little"), at + more
        while length > 0:  # a copy may overlap with its own output
            part = out[-offset:][:length]
            out += part
            length -= len(part)
    assert len(out) == size, f"{len(out)} bytes instead of {size}"
    return bytes(out)


def fields(data):
    """Field number and value of a message: bytes, double or integer."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif tag & 7 == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        else:
            value, at = varint(data, at)
        yield tag >> 3, value


SEEN = {}  # labels by their bytes


def labels_of(encoded):
    if encoded not in SEEN:
        labels = [dict(fields(part)) for _, part in fields(encoded)]
        names = [label[1].decode() for label in labels]
        assert names == sorted(set(names)), f"labels are not sorted: {names}"
        SEEN[encoded] = tuple((label[1].decode(), label[2].decode()) for label in labels)
    return SEEN[encoded]


def decode(body):
    """Labels, time in ms and value of each series, in order; each has one sample, which is its last field."""
    data, at = unsnappy(body), 0
    while at < len(data):
        assert data[at] == 0x0a
        size, at = varint(data, at + 1)
        series, at = data[at:at + size], at + size
        assert series[-18] == 0x12 and series[-17] == 16 and series[-16] == 0x09 and series[-7] == 0x10
        yield labels_of(series[:-18]), varint(series, len(series) - 6)[0], struct.unpack("<d", series[-15:-7])[0]


PRESENT = "ibwire_collector_live"  # of the present; all other samples are of sweeps


class Receiver:
    """Samples by series and time. Statuses of the next responses are in `answers`: (status, headers, store)."""

    def __init__(self, port=0, certificate=None):
        self.series, self.late, self.changed, self.repeated, self.requests, self.headers = {}, [], [], 0, 0, {}
        self.present, self.ends = [], {}  # (time, value) of ibwire_collector_live; times of stale markers by series
        self.answers = []
        self.gone = False  # requests are neither stored nor answered
        self.most = None  # samples of a request that is not answered with 413
        self.endless = None  # seconds between pieces of a body that does not end
        self.sizes = []
        self.on_request = lambda: None
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if receiver.gone:
                    self.close_connection = True
                    return
                receiver.requests += 1
                receiver.headers = dict(self.headers)
                status, headers, store = receiver.answers.pop(0) if receiver.answers else (204, {}, True)
                if receiver.most is not None:
                    receiver.sizes.append(sum(1 for _ in decode(body)))
                    if receiver.sizes[-1] > receiver.most:
                        status, store = 413, False
                if store:
                    receiver.store(body)
                receiver.on_request()
                if not status:  # the response is lost
                    self.close_connection = True
                    return
                if receiver.endless is not None:
                    self.close_connection = True
                    self.send_response(200)
                    self.end_headers()
                    try:
                        while True:
                            self.wfile.write(b"x" * (1 if receiver.endless else 65536))
                            time.sleep(receiver.endless)
                    except OSError:
                        return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda request, address: None  # of senders that are killed
        self.port = self.server.server_address[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}/api/v1/write"
        if certificate:  # and its key, in one file
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def store(self, body):
        for key, time_ms, value in decode(body):
            if dict(key)["__name__"] == PRESENT:
                self.present.append((time_ms, value))
                continue
            if math.isnan(value):
                self.ends.setdefault(key, set()).add(time_ms)
                continue
            series = self.series.setdefault(key, {})
            if time_ms in series:
                self.repeated += 1
                if series[time_ms] != value:
                    self.changed.append((key, time_ms, series[time_ms], value))
            elif series and time_ms < max(series):
                self.late.append((key, time_ms))
            series[time_ms] = value

    def stop(self):
        """Connections to its port are refused from now on."""
        self.server.shutdown()
        self.server.server_close()

    def times(self):
        return sorted({time_ms for series in list(self.series.values()) for time_ms in list(series)})


class Server:
    """A receiver that can be ended and started again with its data."""

    def __init__(self, command, ready, stop_signal):
        self.port = free_port()
        self.command = [word.replace("PORT", str(self.port)) for word in command]
        self.ready, self.stop_signal = ready, stop_signal
        self.url = f"http://127.0.0.1:{self.port}/api/v1/write"
        self.start()

    def start(self):
        self.launch()
        wait_for(lambda: self.get(self.ready) is not None)

    def launch(self):
        """Start without waiting until it is ready."""
        with open(self.command[0] + ".log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self, number=None):
        self.process.send_signal(number or self.stop_signal)
        self.process.wait(60)

    def get(self, path, **parameters):
        try:
            query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}{query}", timeout=60) as response:
                return response.read()
        except OSError:
            return None


def series_of(rows):
    """Time in ms and value of each sample, by labels, from (labels, [(ms, value)])."""
    return {tuple(sorted(labels.items())): samples for labels, samples in rows}


class Prometheus(Server):
    """Killed without notice: it writes samples to its log before it acknowledges them."""

    same_value = staticmethod(lambda one, other: one == other)

    def __init__(self, name="prometheus", **config):
        with open(name + ".yml", "w", encoding="ascii") as file:
            json.dump(config or {"storage": {"tsdb": {"out_of_order_time_window": "1d"}}}, file)
        super().__init__(["prometheus", f"--config.file={name}.yml", f"--storage.tsdb.path={name}.tsdb",
                          "--web.listen-address=127.0.0.1:PORT", "--web.enable-remote-write-receiver"],
                         "/-/ready", signal.SIGKILL)

    def query(self, query):
        return json.loads(self.get("/api/v1/query", query=query))["data"]["result"]

    def stored(self):
        rows = self.query(f'{{fabric="a",__name__!="{PRESENT}"}}[2h]')
        return series_of((row["metric"], [(round(time * 1000), float(value)) for time, value in row["values"]])
                         for row in rows)


class Victoria(Server):
    """Ended with SIGTERM: it acknowledges samples seconds before they are on the disk."""

    same_value = staticmethod(lambda one, other: math.isclose(one, other, rel_tol=1e-11))  # it stores 12 digits

    def __init__(self):
        super().__init__(["victoria-metrics", "-httpListenAddr=127.0.0.1:PORT", "-storageDataPath=victoria",
                          "-retentionPeriod=100y", "-search.latencyOffset=0s", "-dedup.minScrapeInterval=1ms"],
                         "/health", signal.SIGTERM)

    def stored(self):
        self.get("/internal/force_flush")
        rows = map(json.loads, self.get("/api/v1/export", **{"match[]": f'{{fabric="a",__name__!="{PRESENT}"}}'}).splitlines())
        # null: the marker after which a series is stale.
        return series_of((row["metric"], [sample for sample in zip(row["timestamps"], row["values"]) if sample[1] is not None])
                         for row in rows)
