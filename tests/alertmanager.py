# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""An Alertmanager in the process of a test: which alerts fire and end."""
import datetime
import http.server
import json
import ssl
import threading
import time


def seconds(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Alertmanager:
    """Keeps alerts by labels as Alertmanager does; `notified` is what it would notify: (labels, firing)."""

    def __init__(self, port=0, certificate=None, listing=200):
        self.alerts, self.notified, self.requests, self.wrong = {}, [], [], []
        self.statuses = []  # of the next responses to POST
        self.listing, self.headers = listing, {}
        self.list_body = None  # instead of the list
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
                body = manager.list_body or body
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
            if was != (ends > time.time()):
                self.notified.append((dict(key)["alertname"], dict(key)["severity"], not was))
            elif not was:
                self.wrong += [] if any(name == dict(key)["alertname"] for name, _, _ in self.notified) else [alert]

    def firing(self):
        return {key for key, ends in self.alerts.items() if ends > time.time()}

    def names(self):
        return sorted(dict(key)["alertname"] for key in self.firing())

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
