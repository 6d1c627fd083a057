#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""ibwire push against a receiver in this process: each sample once and in order after every kind of failure."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SHORT, Tap, run, wait_for
from remote_write import Receiver

tap = Tap()
SWEEPS = 12
LONG = bool(os.environ.get("IBWIRE_ATTACK_LONG"))
SAMPLE_DB = os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db"
DB = os.path.abspath("fabric.db")
STORED = (204, {}, True)


def push(receiver, name, *options, check=True):
    """--once, from the first sweep."""
    return run(IBWIRE, "push", "--db", DB, "--remote-write", receiver.url, "--once", "--since", "-1h", "--cursor",
               name, "--label", "fabric=a", *options, check=check)


def start(url, name, *options):
    with open(f"{name}.log", "ab") as log:
        return subprocess.Popen([IBWIRE, "push", "--db", DB, "--remote-write", url, "--since", "-1h", "--cursor", name,
                                 "--label", "fabric=a", *options], stderr=log, stdin=subprocess.DEVNULL,
                                start_new_session=True)


def end(process, how=signal.SIGTERM):
    process.send_signal(how)
    return process.wait(120)


def acknowledged(name):
    with open(name, encoding="utf-8") as file:
        return int(re.search(r"^acknowledged (\d+)", file.read(), re.M).group(1))


def logged(name):
    with open(f"{name}.log", encoding="utf-8") as file:
        return file.read()


def same(name, receiver, wanted):
    """The samples are those of an undisturbed run."""
    tap.equal(f"{name}: the receiver has every sample, and no other", receiver.series == wanted, True)
    tap.equal(f"{name}: samples arrive in order, and no value changes", (receiver.late[:3], receiver.changed[:3]), ([], []))


def undisturbed():
    receiver = Receiver()
    done = push(receiver, "plain", "--batch", "500")
    tap.equal("every sweep is sent", len(receiver.times()), SWEEPS)
    tap.equal("samples are sent once and in order", (receiver.repeated, receiver.late, receiver.changed), (0, [], []))
    tap.contains("the totals are logged", done.err, "samples/s")
    tap.equal("requests have the headers of remote write 1.0", [receiver.headers.get(name) for name in (
        "Content-Type", "Content-Encoding", "X-Prometheus-Remote-Write-Version", "Authorization")],
        ["application/x-protobuf", "snappy", "0.1.0", None])
    tap.equal("every series has the external label", [key for key in receiver.series if ("fabric", "a") not in key], [])
    totals = {key: [series[time] for time in sorted(series)] for key, series in receiver.series.items()
              if key[0][1].endswith("_total") and key[0][1] != "ibwire_sweeps_total"}
    tap.equal("no counter decreases", [key for key, values in totals.items() if values != sorted(values)], [])
    tap.result(any(values[-1] for values in totals.values()), "counters increase")
    requests = receiver.requests
    push(receiver, "plain")
    tap.equal("a second run sends nothing", receiver.requests, requests)
    again = Receiver()
    push(again, "again", "--batch", "100000")
    tap.equal("larger batches have the same samples", again.series, receiver.series)
    tap.equal("larger batches: one request per sweep", again.requests, SWEEPS)
    return receiver.series


def parallel(wanted):
    """The response to the first batch of a sweep comes after the next ones were received."""
    receiver, held = Receiver(), []
    receiver.on_request = lambda: held or held.append(wait_for(lambda: receiver.requests > 3, 10))
    push(receiver, "parallel", "--batch", "500")
    tap.equal("batches of a sweep are sent in parallel", held[:1], [True])
    same("parallel requests", receiver, wanted)


def sums(wanted):
    """A counter of the last sweep is the sum of the stored deltas."""
    rows = run(IBWIRE, "sql", "--db", DB, "--csv-raw", "SELECT printf('0x%016x', n.guid), p.number, sum(d.xmit_data) * 4 "
               "FROM delta d JOIN port p ON p.id = d.port JOIN node n ON n.id = p.node WHERE d.sweep > 1 GROUP BY 1, 2")
    stored = {(row[0], row[1]): float(row[2]) for row in
              (line.split(",") for line in rows.out.splitlines()[1:]) if row[2]}
    pushed = {}
    for key, series in wanted.items():
        if key[0][1] == "ibwire_port_xmit_bytes_total":
            labels = dict(key)
            pushed[labels["node_guid"], labels["port"]] = series[max(series)]
    tap.same("counters are the sums of the deltas after the origin", pushed, stored)


def served(wanted):
    """What ibwire metrics serves of the last sweep is pushed with it; counters begin at other values."""
    differ, text = [], run(IBWIRE, "metrics", "--db", DB, "--once").out
    for name, labels, value in re.findall(r"^(\w+)(?<!_total)(?:{(.*)})? (\S+)$", text, re.M):
        pairs = [(key, re.sub(r"\\(.)", lambda escape: escape[1].replace("n", "\n"), label)) for key, label in
                 re.findall(r'(\w+)="((?:[^"\\]|\\.)+)"', labels)] + [("fabric", "a")]
        series = wanted.get((("__name__", name), *sorted(pairs)), {0: None})
        pushed = series[max(series)]
        if pushed is None or abs(pushed - float(value)) > (1e-3 if "seconds" in name else 1e-5 * abs(pushed)):
            differ.append((name, pushed))
    tap.equal("everything that is served is pushed, except for numbers of the present", differ, [
        ("ibwire_collector_live", None), ("ibwire_database_size_bytes", None),
        ("ibwire_metrics_build_duration_seconds", None)])


def unchanged(wanted):
    """--unchanged: the last sample of a series before each sweep is that of a run without it, also after a kill."""
    receiver = Receiver()
    receiver.answers = [STORED] * 50 + [(204, {}, True)]
    process = start(receiver.url, "unchanged", "--batch", "500", "--unchanged", "40s")
    receiver.on_request = lambda: receiver.answers or process.kill()
    process.wait(120)
    receiver.on_request = lambda: None
    push(receiver, "unchanged", "--batch", "500", "--unchanged", "40s")
    tap.equal("every series is there", sorted(receiver.series), sorted(wanted))
    tap.equal("samples are in order, and no value changes", (receiver.late[:3], receiver.changed[:3]), ([], []))
    wrong, longest = [], 0
    for key, series in wanted.items():
        sent = receiver.series[key]
        times = [time for time in sorted(series) if time in sent]
        longest = max([longest, *(after - before for before, after in zip(times, times[1:]))])
        newest = None
        for time, value in sorted(series.items()):
            newest = sent.get(time, newest)
            if newest != value:
                wrong.append((key, time))
        if dict(key)["__name__"].endswith("_ratio") and len(sent) != len(series):
            wrong.append((key, "ratio"))
    tap.equal("every change is sent with its sweep, and every ratio", wrong[:3], [])
    tap.result(20_000 < longest <= 50_000, "an unchanged value is sent again after 40 s, with the next sweep", longest)
    fewer, all_samples = (sum(map(len, found.values())) for found in (receiver.series, wanted))
    tap.result(fewer < 0.7 * all_samples, "samples are saved", f"{fewer} of {all_samples}")


# Series that do not end with the collector.
LASTING = {"ibwire_build_info", "ibwire_sweep_timestamp_seconds", "ibwire_sweep_interval_seconds", "ibwire_sweeps_total",
           "ibwire_discovery_timestamp_seconds"}


def ended(_):
    """Without a collector: its series end after their last samples, and it is sent that there is none."""
    run(SAMPLE_DB, "ended.db", 2, 4, 1)
    options = ("--db", "ended.db", "--batch", "500")
    receiver = Receiver()
    push(receiver, "ended-once", *options)
    wanted, last = receiver.series, max(receiver.times())
    tap.equal("--once sends nothing about the present", ([when for ends in receiver.ends.values() for when in ends if when > last],
                                                         receiver.present), ([], []))
    receiver = Receiver()
    for _ in range(2):
        process, count = start(receiver.url, "ended", *options), len(receiver.present)
        wait_for(lambda count=count: receiver.ends and len(receiver.present) > count)
        end(process)
    alive = {key for key, series in wanted.items() if last in series and key[0][1] not in LASTING}
    tap.equal("each series of the last sweep ends a millisecond later, also after a restart, and no other one",
              {key for key, ends in receiver.ends.items() if last + 1 in ends} == alive, True)
    tap.equal("a series that a sweep lacks ends with that sweep", [
        (key, ends) for key, ends in receiver.ends.items() if max(ends) <= last and max(ends) != min(
            (when for when in receiver.times() if when > max(wanted[key])), default=None)], [])
    tap.equal("no collector is live, each time", [value for _, value in receiver.present], [0, 0])
    tap.result(all(abs(when / 1000 - time.time()) < 60 for when, _ in receiver.present), "which is of the present")
    same("the end of the collector", receiver, wanted)


def kills(wanted):
    """The sender is killed while its requests are received, before or after they are stored."""
    receiver = Receiver()
    for count in range(9):
        stored, answered = count % 4 != 2, count % 2 != 0
        receiver.answers = [STORED] * (count % 3 * 5) + [(204 if answered else 0, {}, stored)]
        process = start(receiver.url, "kill", "--batch", "2000")
        receiver.on_request = lambda process=process: receiver.answers or process.kill()
        process.wait(120)
    tap.result(receiver.repeated, "after a kill, samples are sent again")
    tap.result(2 < acknowledged("kill") < SWEEPS, "some sweeps were acknowledged")
    receiver.on_request = lambda: None
    push(receiver, "kill", "--batch", "500")
    same("9 kills of the sender", receiver, wanted)


def outage(wanted):
    """The receiver stops in the middle of a batch, refuses connections, and starts again."""
    receiver = Receiver()
    receiver.answers = [STORED] * 7 + [(0, {}, True)]
    receiver.on_request = lambda: receiver.answers or setattr(receiver, "gone", True)
    process = start(receiver.url, "outage", "--batch", "500")
    wait_for(lambda: receiver.gone)
    receiver.stop()
    wait_for(lambda: "trying again" in logged("outage"))
    back = Receiver(receiver.port)
    back.series, back.changed, back.late = receiver.series, receiver.changed, receiver.late
    wait_for(lambda: acknowledged("outage") == SWEEPS)
    tap.equal("SIGTERM ends ibwire push", end(process), 0)
    same("an outage of the receiver", back, wanted)
    tap.equal("an outage is one warning, and its end one line",
              [logged("outage").count(words) for words in ("trying again", "responds again")], [1, 1])


def refusals(wanted):
    receiver = Receiver()
    receiver.answers = [(429, {"Retry-After": "0"}, False), (500, {}, False), STORED, (503, {}, True), (401, {}, False),
                        STORED, (429, {}, False)]
    push(receiver, "refused", "--batch", "500")
    same("429, 500, 503 and 401", receiver, wanted)
    receiver = Receiver()
    receiver.answers = [STORED, (400, {}, False), STORED, (409, {}, False), (422, {}, False)]
    done = push(receiver, "rejected", "--batch", "500")
    missing = sum(len(series) for series in wanted.values()) - sum(len(series) for series in receiver.series.values())
    tap.result(0 < missing <= 1500, "400, 409 and 422: the batches are skipped", missing)
    tap.contains("rejected samples are counted", done.err, f"{missing} samples rejected")
    tap.equal("the first rejection is logged", done.err.count("rejects samples"), 1)
    tap.equal("all other samples are stored", {key: {time: value for time, value in series.items() if wanted[key][time] != value}
              for key, series in receiver.series.items() if any(wanted[key][time] != series[time] for time in series)}, {})


def too_large(wanted):
    """A receiver that takes small requests, or none."""
    receiver = Receiver()
    receiver.most = 70
    done = push(receiver, "halves", "--batch", "500")
    same("413 for more than 70 samples", receiver, wanted)
    tap.equal("it is one warning", done.err.count("413"), 1)
    tap.result(sum(size > 70 for size in receiver.sizes) < 30, "later batches are smaller", receiver.sizes)
    run(SAMPLE_DB, "one.db", 2, 1, 10)
    all_samples, receiver = Receiver(), Receiver()
    receiver.most = 0
    for target in (all_samples, receiver):
        done = run(IBWIRE, "push", "--db", "one.db", "--remote-write", target.url, "--once", "--cursor", f"one-{target.port}")
    count = sum(map(len, all_samples.series.values()))
    tap.equal("413 for every sample: all are rejected, each once", (receiver.series, receiver.sizes.count(1)), ({}, count))
    tap.contains("and counted", done.err, f"{count} samples rejected")


def endless(wanted):
    """The status of a response counts, whatever its body is."""
    for seconds in (0, 0.5):
        receiver = Receiver()
        receiver.endless = seconds
        process = start(receiver.url, f"endless-{seconds}", "--batch", "100000")
        begin = time.monotonic()
        wait_for(lambda: len(receiver.times()) > 1)
        tap.result(time.monotonic() - begin < 60, f"a body without an end, {seconds} s between its pieces: the next sweep is sent",
                   time.monotonic() - begin)
        end(process)
        tap.equal("nothing was sent twice", receiver.repeated, 0)


HEAD = b"HTTP/1.1 200 OK\r\n"
HOSTILE = {  # pieces that are sent in turn, without end if the last one is None; or no bytes, and the connection stays
    "silence": None, "a closed connection": [b""], "garbage": [b"\0\xff" * 500, b""], "no status": [b"HTTP/1.1 \r\n\r\n"],
    "status 0": [b"HTTP/1.1 0 x\r\n\r\n"], "status 999": [b"HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n"],
    "status 99999": [b"HTTP/1.1 99999 x\r\n\r\n"], "another version": [b"HTTP/9.9 200 OK\r\n\r\n"], "HTTP 0.9": [b"stored\n"],
    "endless 100 Continue": [b"HTTP/1.1 100 Continue\r\n\r\n", None], "endless headers": [HEAD, b"x: y\r\n" * 1000, None],
    "a header without an end": [HEAD + b"x: ", b"y" * 10000, None], "a slow status": [b"H", b"T", b"T", b"P", None],
    "an endless body": [HEAD + b"\r\n", b"x" * 10000, None], "endless chunks": [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", None],
    "a chunk of 2^64": [HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"],
    "a negative length": [HEAD + b"Content-Length: -5\r\n\r\n"], "two lengths": [HEAD + b"Content-Length: 1\r\nContent-Length: 9\r\n\r\nx"],
    "a length of 2^64": [HEAD + b"Content-Length: 18446744073709551616\r\n\r\n"],
    "a redirection to itself": [b"HTTP/1.1 301 x\r\nLocation: /w\r\nContent-Length: 0\r\n\r\n"],
    "a redirection to a file": [b"HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"],
    "a wait of centuries": [b"HTTP/1.1 503 x\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n"],
    "control characters": [b"HTTP/1.1 500 x\r\nContent-Length: 9\r\n\r\n\x1b[31m\x07\n\r!"],
    "compressed zeros": [HEAD + b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0"]}


def answer_badly(listener, pieces):
    """Answer each connection until the listener is closed."""
    def serve(client):
        try:
            client.recv(1 << 16)
            for piece in pieces or ():
                if piece is None:
                    while True:
                        client.sendall(pieces[-2])
                        time.sleep(0.001)
                client.sendall(piece)
            if pieces is None:
                time.sleep(60)
        except OSError:
            pass
        client.close()

    while True:
        try:
            client = listener.accept()[0]
        except OSError:
            return
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def hostile(wanted):
    """Receivers that answer nonsense, slowly, or without end: memory and time are bounded, and no sample is lost or changed."""
    seconds, memory_kb, slowest = 10 if LONG else 0.7, 0, 0
    for number, name in enumerate(HOSTILE if LONG else list(HOSTILE)[::4]):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=answer_badly, args=(listener, HOSTILE[name]), daemon=True).start()
            process = start(f"http://127.0.0.1:{listener.getsockname()[1]}/w", f"hostile-{number}", "--batch", "2000")
            time.sleep(seconds)
            tap.equal(f"{name}: it runs", process.poll(), None)
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                memory_kb = max(memory_kb, int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]))
            begin = time.monotonic()
            tap.equal(f"{name}: SIGTERM ends it", end(process), 0)
            slowest = max(slowest, time.monotonic() - begin)
        tap.result(not re.search("[\x00-\x08\x0b-\x1f\x7f]", logged(f"hostile-{number}")), f"{name}: the log is text", logged(f"hostile-{number}"))
        tap.result(len(logged(f"hostile-{number}").splitlines()) < 8, f"{name}: the log is short", logged(f"hostile-{number}"))
        if acknowledged(f"hostile-{number}") == 0:
            receiver = Receiver()
            push(receiver, f"hostile-{number}")
            same(name, receiver, wanted)
    # Those with status 200 have acknowledged what they were sent.
    tap.result(memory_kb < 64 << 10 or SHORT, "memory is bounded", f"{memory_kb >> 10} MB")
    tap.result(slowest < 15, "SIGTERM ends it within seconds", slowest)
    tap.note(f"hostile receivers: at most {memory_kb >> 10} MB, SIGTERM took at most {slowest:.2f} s")


def replaced():
    """The receiver is down since the start, and the database is replaced by one with fewer sweeps."""
    shutil.copy(DB, "long.db")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/w"
    run(IBWIRE, "push", "--db", "long.db", "--remote-write", url, "--once", "--cursor", "replaced", check=False)
    run(SAMPLE_DB, "short.db", 2, 3, 10)
    receiver = Receiver()
    for attempt in ("first", "second"):
        done = run(IBWIRE, "push", "--db", "short.db", "--remote-write", receiver.url, "--once", "--cursor", "replaced", check=False)
        tap.equal(f"a database with fewer sweeps: the {attempt} start succeeds", (done.status, "damaged" in done.err), (0, False))
    tap.result(receiver.times(), "its sweeps are sent")


def tokens():
    receiver = Receiver()
    with open("token", "w", encoding="utf-8") as file:
        file.write("secret-1\n")
    done = push(receiver, "token-cursor", "--token-file", "token")
    tap.contains("a token that all users can read is a warning", done.err, "token can be read by all users")
    os.chmod("token", 0o600)
    done = push(receiver, "token-cursor", "--token-file", "token")
    tap.result("all users" not in done.err, "a private one is none", done.err)
    tap.equal("the token is sent", receiver.headers.get("Authorization"), "Bearer secret-1")
    with open("url", "w", encoding="utf-8") as file:
        file.write(receiver.url + "\n")
    requests = receiver.requests
    run(IBWIRE, "push", "--db", DB, "--remote-write", "@url", "--once", "--since", "-1h", "--cursor", "url-cursor")
    tap.result(receiver.requests > requests, "the URL is read from a file")


def reloaded(wanted):
    """SIGHUP while the receiver is down: the URL file names another one, and every sample arrives once."""
    receiver = Receiver()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with open("moved-url", "w", encoding="utf-8") as file:
            file.write(f"http://127.0.0.1:{unused.getsockname()[1]}/w\n")
        process = start("@moved-url", "moved")
        wait_for(lambda: "trying again" in logged("moved"))
    with open("moved-url", "w", encoding="utf-8") as file:
        file.write("no URL\n")
    process.send_signal(signal.SIGHUP)
    tap.result(wait_for(lambda: "not reloaded: " in logged("moved")), "an invalid URL changes nothing", logged("moved"))
    with open("moved-url", "w", encoding="utf-8") as file:
        file.write(receiver.url + "\n")
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: acknowledged("moved") == SWEEPS)
    tap.equal("SIGHUP reloads, SIGTERM ends it", end(process), 0)
    same("a reload of the URL", receiver, wanted)


def tls():
    for name in ("receiver", "other"):
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.pem", "-out", f"{name}.crt")
        with open(f"{name}.pem", "a", encoding="ascii") as both, open(f"{name}.crt", encoding="ascii") as certificate:
            both.write(certificate.read())
    receiver = Receiver(certificate="receiver.pem")
    push(receiver, "tls", "--ca-file", "receiver.crt")
    tap.equal("TLS: every sweep is sent", len(receiver.times()), SWEEPS)
    sent = receiver.requests
    for name, *options in ("the system's certificates",), ("another CA", "--ca-file", "other.crt"):
        process = start(receiver.url, name, *options)
        wait_for(lambda name=name: "trying again" in logged(name))
        tap.equal(f"{name}: SIGTERM ends it", end(process), 0)
        tap.equal(f"{name}: one warning, and the totals", len(logged(name).splitlines()), 2)
        tap.contains(f"{name}: the warning has the reason", logged(name).splitlines()[0], "certificate")
    done = push(receiver, "no-ca", "--ca-file", "none.crt", check=False)
    tap.one_line("certificates that are missing", done, 74, "none.crt")
    tap.equal("nothing was sent to a receiver that is not verified", receiver.requests, sent)


def bad_input():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nothing = f"http://user:secret@127.0.0.1:{unused.getsockname()[1]}/w?key=secret"
        gone = run(IBWIRE, "push", "--db", DB, "--remote-write", nothing, "--once", check=False)
    tap.equal("an unreachable receiver: exit status", gone.status, 69)
    tap.result("secret" not in gone.err, "no password is logged", gone.err)
    with open("damaged", "w", encoding="utf-8") as file:
        file.write("ibwire push 1\norigin 1 2\nacknowledged\n")
    with open("late", "w", encoding="utf-8") as file:
        file.write(f"ibwire push 1\norigin 1 2\nacknowledged 5 {2**63 - 1}\n")
    receiver = Receiver()
    for name, status, words, *options in (
            ("no URL", 64, "--remote-write"), ("another scheme", 64, "http", "--remote-write", "ftp://x/"),
            ("a label without a value", 64, "NAME=VALUE", "--remote-write", receiver.url, "--label", "a"),
            ("a label twice", 64, "'a' is given twice", "--remote-write", receiver.url, "--label", "a=1", "--label", "a=2"),
            ("a series that would be stale", 64, "5m", "--remote-write", receiver.url, "--unchanged", "5m"),
            ("an empty batch", 64, "--batch", "--remote-write", receiver.url, "--batch", "0"),
            ("a damaged cursor", 74, "damaged:3:", "--remote-write", receiver.url, "--cursor", "damaged"),
            ("a cursor of the last moment of time", 74, "late:3:", "--remote-write", receiver.url, "--cursor", "late"),
            ("a URL file that is missing", 74, "none.url", "--remote-write", "@none.url"),
            ("a cursor in no folder", 74, "none/x", "--remote-write", receiver.url, "--cursor", "none/x")):
        done = run(IBWIRE, "push", "--db", DB, "--once", *options, check=False)
        tap.one_line(name, done, status, words)
    done = run(IBWIRE, "push", "--db", DB, "--once", "--remote-write", receiver.url, "--token-file", "none", check=False)
    tap.equal("a missing token file: exit status", done.status, 69)
    tap.contains("a missing token file is named", done.err, "none")
    tap.equal("after incorrect usage, nothing was sent", receiver.requests, 0)


run(SAMPLE_DB, DB, 2, SWEEPS, 10)
wanted = {}
with tap.part("undisturbed"):
    wanted = undisturbed()
for part in (parallel, sums, served, unchanged, ended, kills, outage, refusals, too_large, endless, reloaded, hostile):
    with tap.part(part.__name__):
        part(wanted)
for part in (replaced, tokens, tls, bad_input) if shutil.which("openssl") else (replaced, tokens, bad_input):
    with tap.part(part.__name__):
        part()
tap.done()
