#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: the server gets names and query strings of an attacker
"""Names of nodes and jobs, and query strings, that would control a browser, a terminal or a scraper: every page of ibwire metrics."""
import html.parser
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, read_file, run, stop, wait_for

tap = Tap()
PAYLOADS = (
    b"<script>alert(1)</script>", b"\"><svg onload=alert(1)>", b"' onmouseover='alert(1)", b"</title><script>x()</script>",
    b"javascript:alert(1)", b"&lt;script&gt;&#x3c;b&#x3e;", b"\x1b]0;title\x07\x1b[31mred", b"a\r\nX-Injected: yes\r\n\r\n<b>",
    b"%0d%0aX-Injected:%20yes", "\u202eevil\u2028\u200b".encode(), b"=cmd|' /C calc'!A0", b"]]>--><!--<img src=x>", b"\xff\xfe\xc3(\xed\xa0\x80",
    b"`id`;$(id)|x", b"../../../etc/passwd", b"x\" 1\nibwire_fake{a=\"", b"\\\"} 1\\nibwire_fake 2 %s%n")
ROUTES = {
    "/": "at", "/history": "each peers at since until subject", "/report": "at since until subject", "/job": "subject",
    "/api/status": "at", "/api/health": "all columns sort explain at since until subject", "/api/nodes": "columns sort at since until subject",
    "/api/ports": "columns sort top at since until subject", "/api/links": "columns sort state top at since until subject", "/api/errors": "columns sort at since until subject",
    "/api/events": "columns sort kind limit at since until subject", "/api/history": "counter step each top by at since until subject",
    "/api/balance": "columns sort rails at since until subject", "/api/report": "at since until subject",
    "/api/topology/show": "summary at", "/api/topology/route": "at subject", "/api/job/list": "columns sort since until",
    "/api/job/report": "subject", "/api/snapshot/list": "columns sort", "/metrics": "x", "/metrics#openmetrics": "x", "/nothing": "x"}
VOID = {"meta", "link", "br", "hr", "input", "img", "path", "line", "rect", "circle", "polyline", "use"}
LABEL = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"[a-z0-9_]+(?:\{{(?:{LABEL}(?:,{LABEL})*)?\}})? [-+0-9.eENainf]+")


class Page(html.parser.HTMLParser):
    """Elements with the names of their attributes, and what is wrong."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.shapes, self.wrong, self.open = set(), [], []
        self.feed(text)
        self.close()
        self.wrong += [f"not closed: {tag}" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.shapes |= {(tag, name) for name, _ in attrs} | {(tag, "")}
        self.wrong += [f"{tag} {name}={value}" for name, value in attrs if name in ("href", "src", "action", "xlink:href") and
                       not re.match(r"(?:#|\./|history|report|job|api/|data:,$|data:image/)", value or "")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open[-1:]:
            self.open.pop()
        elif tag not in VOID:
            self.wrong.append(f"closed: {tag} in {self.open[-1:]}")


def fetch(base, route, query=b""):
    path, _, form = route.partition("#")
    request = urllib.request.Request(base + path + (b"?" + query if query else b"").decode("ascii"),
                                     headers={"Accept": "application/openmetrics-text"} if form else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def problems(status, headers, body, shapes):
    """What an attacker has achieved; shapes is None for the database without payloads."""
    kind, found = headers["Content-Type"].split(";")[0], []
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return [str(error)]
    if "X-Injected" in headers:
        found.append("a header")
    if kind != "application/openmetrics-text" and not headers["X-Content-Type-Options"]:
        found.append("no nosniff")
    if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text):
        found.append("unsafe characters")
    if status != 200:
        return found + ([] if kind == "text/plain" and text.count("\n") == 1 else ["the error is not one line"])
    if kind == "text/html":
        page = Page(text)
        found += page.wrong + ([] if shapes is None else sorted(page.shapes - shapes))
        found += [] if "default-src 'none'" in headers["Content-Security-Policy"] else ["no policy"]
    elif kind == "application/json":
        json.loads(text)
    else:
        found += [line for line in text.splitlines() if not line.startswith("# ") and not SAMPLE.fullmatch(line)][:3]
        found += ["a family"] if "\nibwire_fake" in text else []
    return found


def start(database):
    with open(f"{database}.log", "wb") as log:
        process = subprocess.Popen([IBWIRE, "metrics", "--db", database, "--listen", "127.0.0.1:0"], stderr=log)
    wait_for(lambda: "serving " in read_file(f"{database}.log"))
    return process, re.search(r"serving (http\S+)/metrics", read_file(f"{database}.log")).group(1)


def forge(database):
    """As a node sends them, and as a forged database may have them."""
    connection = sqlite3.connect(database)
    for number, payload in enumerate(PAYLOADS):
        raw = payload.decode("utf-8", "replace")
        connection.execute("UPDATE node_version SET description = ?, name = ? WHERE node = ?", (payload, raw, number + 1))
    connection.execute("UPDATE job SET name = ?", (PAYLOADS[0].decode(),))
    connection.commit()
    connection.close()


run(os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db", "plain.db", 2, 30, 600)
run(IBWIRE, "job", "begin", "1", "--db", "plain.db", "--name", "plain", "--hosts", "node0001", check=False)
run("cp", "plain.db", "forged.db")
forge("forged.db")
for number, payload in enumerate(PAYLOADS):
    run(IBWIRE, "job", "begin", str(number + 10), "--db", "forged.db", "--shared", "--hosts", "node0001", "--name", os.fsdecode(payload),
        check=False)
with tap.part("payloads"):
    shapes, wrong, count, statuses = set(), [], 0, {}
    process, base = start("plain.db")
    for route in ROUTES:
        status, headers, body = fetch(base, route)
        wrong += [(route, what) for what in problems(status, headers, body, None)]
        if status == 200 and headers["Content-Type"].startswith("text/html"):
            shapes |= Page(body.decode()).shapes
    subject = b"subject=" + urllib.parse.quote(json.loads(fetch(base, "/api/nodes")[2])[0]["node_guid"]).encode()
    for route in ("/history", "/report"):
        shapes |= Page(fetch(base, route, subject)[2].decode()).shapes
    shapes |= Page(fetch(base, "/job", b"subject=1")[2].decode()).shapes
    stop(process)
    tap.equal("pages of a database without payloads are well-formed", wrong, [])
    process, base = start("forged.db")
    for route, options in ROUTES.items():
        for number, payload in enumerate(PAYLOADS):
            option = options.split()[number % len(options.split())].encode()
            value = urllib.parse.quote(payload, safe="").encode()
            for query in (b"", option + b"=" + value, option + b"=" + value + b"&" + value + b"=1"):
                if query or number == 0:
                    status, headers, body = fetch(base, route, query)
                    statuses[status] = statuses.get(status, 0) + 1
                    wrong += [] if status in (200, 400, 404) else [(route, query, status, body)]
                    wrong += [(route, query, what) for what in problems(status, headers, body, shapes)]
            count += 1
    tap.equal(f"{count} pages with payloads: nothing of them is markup, a header, a family or a control character", wrong[:5], [])
    tap.result(statuses[200] > len(PAYLOADS), "each request has a response", statuses)
    names = fetch(base, "/")[2] + fetch(base, "/api/nodes")[2]
    tap.result(b"alert(1)" in names and b"etc/passwd" in names, "the names are shown")
    tap.equal("SIGTERM ends it", stop(process), 0)
    lines = read_file("forged.db.log")
    tap.result(not re.search("[\x00-\x08\x0b-\x1f\x7f]", lines), "the log has no control characters", lines[-300:])

tap.done()
