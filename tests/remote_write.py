# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A receiver of Prometheus remote write that stores every sample, and fails on request."""
import http.server
import struct
import threading


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


class Receiver:
    """Samples by series and time. Statuses of the next responses are in `answers`: (status, headers, store)."""

    def __init__(self, port=0):
        self.series, self.late, self.changed, self.repeated, self.requests, self.headers = {}, [], [], 0, 0, {}
        self.answers = []
        self.gone = False  # requests are neither stored nor answered
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
                if store:
                    receiver.store(body)
                receiver.on_request()
                if not status:  # the response is lost
                    self.close_connection = True
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
        self.url = f"http://127.0.0.1:{self.port}/api/v1/write"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def store(self, body):
        for key, time_ms, value in decode(body):
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
        return sorted({time_ms for series in self.series.values() for time_ms in series})

    def named(self, name):
        return {key: series for key, series in self.series.items() if ("__name__", name) in key}
