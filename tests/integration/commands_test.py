#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What commands print about a recorded scenario: windows, order, empty answers, on a terminal: pager and width."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import sys
import termios

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, Tap, need_terminal, run

SCENARIO = """about Errors before and after a reset of the counters
shape rail units=2 hosts=4 rails=2 spines=2
length 20m
job main alltoall fan=4 load=0.5
at 1m errors leaf-u01-r0/5 symbol_errors=36000 for=3m
at 2m errors leaf-u01-r1/5 symbol_errors=36000 for=3m
at 10m clear leaf-u01-r0/5
at 12m errors leaf-u01-r0/6 symbol_errors=3600 for=2m
at 12m clear leaf-u01-r0/6
"""

tap = Tap()
os.environ["TZ"] = "UTC0"
with open("test.scenario", "w", encoding="ascii") as file:
    file.write(SCENARIO)
run(os.environ["IBWIRE_BUILD"] + "/tests/screen/record_db", "test.scenario", "fabric.db")
os.environ["IBWIRE_DB"] = os.path.abspath("fabric.db")


def text(*arguments):
    return run(IBWIRE, *arguments).out


def columns_of(data):
    """The rows of JSON, without the list of numbers that are lower bounds, which is no column."""
    return [{key: value for key, value in row.items() if key != "lower_bounds"} for row in json.loads(data)]


def rows(*arguments):
    return columns_of(text(*arguments, "--format", "json"))


# A while after it, current findings are unknown.
NEWEST = json.loads(text("status", "--format", "json"))["last_time"]


def names(found):
    return [f"{row['node'].split(';')[-1].split(':')[0]}/{row['port']}" for row in found]


with tap.part("--errors"):
    # Errors of one port are older than its reset, those of the others are long over.
    ports = rows("ports", "--errors")
    tap.equal("ports --errors finds past errors since the last reset", names(ports),
              ["leaf-u01-r0/6", "leaf-u01-r1/5"])
    tap.result(ports and all(row["window_s"] > 1000 for row in ports), "its window is all that is stored", ports)
    tap.equal("links --errors finds the same", names(rows("links", "--errors")), names(ports))
    tap.equal("--since counts errors before a reset, too", names(rows("ports", "--errors", "--since", "-1h")),
              ["leaf-u01-r0/5", "leaf-u01-r0/6", "leaf-u01-r1/5"])
    for command in "ports", "links":
        out = text(command, "--errors")
        tap.contains(f"{command} --errors has its window in a pipe", out, "window: 19m50s up to ")
        tap.contains(f"{command} --errors says that this is all", out, "(all that is stored), or since the last reset")
        out = text(command, "--errors", "node0001", "--since", "-1h")
        tap.result(len(out.splitlines()) == 1 and "no" in out and "19m50s" in out,
                   f"{command} --errors without a row is one line with the window", out)

with tap.part("--sort"):
    links = rows("links", "--sort", "util")
    load = [round(max(row[end + way + "_utilization_percent"] or 0 for end in ("", "peer_")
                      for way in ("xmit", "rcv")), 3) for row in links]
    tap.equal("links --sort util is by the busiest direction of both ends", load, sorted(load, reverse=True))
    tap.equal("--top is the head of it", names(rows("links", "--sort", "util", "--top", "3")), names(links)[:3])
    for word, key in ("load", "util"), ("LOAD%", "util"), ("rate", None), ("Stall", "stall_percent"), ("XmitWait%", "stall_percent"), ("errors", None), \
            ("age", "age_s"), ("TX%", "xmit_utilization_percent"), ("rx", "rcv_bytes_per_s"):
        for command in "ports", "links":
            found = names(rows(command, "--sort", word))
            tap.equal(f"{command} --sort {word}", found, names(rows(command, "--sort", key)) if key else found)
    tap.one_line("an unknown word is an error", run(IBWIRE, "links", "--sort", "utli", check=False), 64, "'util'")



def sorted_rightly(values):
    """Largest numbers first, texts in some order without holes, unknown values last."""
    known = [value for value in values if value is not None]
    numbers = [value for value in known if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return values[:len(known)] == known and (len(numbers) < len(known) or numbers == sorted(numbers, reverse=True))


with tap.part("--sort of each list"):
    for command in ("nodes", "events", f"health --all --at {NEWEST}", "balance --all", "job list", "snapshot list"):
        usual = rows(*command.split())
        wrong = []
        for key in usual[0] if usual else []:
            found = rows(*command.split(), "--sort", key)
            # Times are sorted by the newest one; a status, for example, by its rank.
            values = [row[key] for row in found]
            is_time = key in ("time", "begin", "end", "since", "opened", "last_seen", "window_since")
            if is_time and [value for value in values if value] != sorted(filter(None, values), reverse=True):
                wrong.append(key)
            if not is_time and not sorted_rightly([value for value in values if not isinstance(value, (list, dict))]):
                wrong.append(key)
            # Ages grow between two calls.
            if sorted(json.dumps({**row, "age_s": 0}) for row in found) != sorted(
                    json.dumps({**row, "age_s": 0}) for row in usual):
                wrong.append(key + " changes rows")
        tap.equal(f"{command}: rows are in the order of each column", wrong, [])
        tap.result(usual or command == "snapshot list" or command == "job list", f"{command}: there are rows")
        tap.one_line(f"{command}: an unknown key is an error",
                     run(IBWIRE, *command.split(), "--sort", "nosuchkey", check=False), 64, "'nosuchkey'")
    out = text("nodes", "--columns", "node", "--sort", "errors").splitlines()
    tap.equal("a column that is not shown sorts, too", out[0].split(), ["NODE"])
    tap.equal("its rows are those with it", [line.strip() for line in out[1:]],
              [line.split("  ")[0].strip() for line in text("nodes", "--columns", "node,errors", "--sort",
                                                            "ERRORS").splitlines()[1:]])


def page_of(command):
    """The manual page; that of links refers to that of ports."""
    with open(f"{os.environ['IBWIRE_SRCDIR']}/man/ibwire-{command.split()[0]}.1", encoding="utf-8") as page:
        return page.read() + (page_of("ports") if command == "links" else "")


with tap.part("--columns"):
    run(IBWIRE, "job", "begin", "1", "--no-snapshot", "--name", "test")
    for command in "ports", "links", "nodes", "events", f"health --at {NEWEST}", "job list", "snapshot list", "balance --all":
        words = command.split()
        usual = columns_of(run(IBWIRE, *words, "--format", "json", check=False).out)
        columns = rows(*words, "--columns", "help")
        keys = [row["key"] for row in columns]
        tap.equal(f"{command} --columns help has each key once", sorted(keys), sorted(set(keys)))
        tap.equal(f"{command}: each key of the data is one of them", set(usual[0] if usual else ()) - set(keys), set())
        tap.equal(f"{command}: each has a meaning and a title",
                  [row for row in columns if not row["meaning"] or not row["title"]], [])
        tap.equal(f"{command}: each is in the manual page",
                  [key for key in keys if not re.search(rf"\b{re.sub('^peer_', '(peer_)?', key)}\b", page_of(command))], [])
        out = run(IBWIRE, *words, "--columns", ",".join(reversed(keys)), "--format", "json", check=False).out
        chosen = columns_of(out)
        tap.equal(f"{command}: all may be chosen, in any order", [list(row) for row in chosen[:1]],
                  [list(reversed(keys))] if chosen else [])
        tap.equal(f"{command}: the values are those of the usual columns", len(chosen), len(usual))
        for row, other in zip(chosen, usual):
            differ = [key for key in other if other[key] != row[key] and "age_" not in key and "duration" not in key
                      and key not in ("symbol_ber", "counters")]
            if differ:
                tap.equal(f"{command} --columns: {differ}", row, other)
                break
        tap.one_line(f"{command}: an unknown column is an error with the nearest one",
                     run(IBWIRE, *words, "--columns", keys[0] + "," + keys[1][1:], check=False), 64,
                     f"did you mean '{keys[1]}'")
        tap.one_line(f"{command}: no column twice",
                     run(IBWIRE, *words, "--columns", keys[1] + "," + keys[1], check=False), 64, "twice")
    tap.equal("the title line has the chosen columns",
              text("links", "--columns", "rate_gbps,peer_rail,util").splitlines()[0].split(), "A Gb/s B RAIL LOAD%".split())

with tap.part("a column that each list appends"):
    found = rows("ports", "--sort", "rcv_packet_bytes_mean")
    means = [row["rcv_packet_bytes_mean"] for row in found if row["rcv_packets_per_s"]]
    tap.equal("the mean size of received packets is bytes over packets", means,
              [round(row["rcv_bytes_per_s"] / row["rcv_packets_per_s"]) for row in found if row["rcv_packets_per_s"]])
    tap.equal("and can be sorted by", means, sorted(means, reverse=True))
    tap.result(means and set(row["rcv_packet_bytes_mean"] for row in found if not row["rcv_packets_per_s"]) <= {None},
               "it is unknown without packets")
    both = {(row["node"], row["port"]): row["rcv_packet_bytes_mean"] for row in found}
    tap.equal("links have it of both ends",
              [(row["rcv_packet_bytes_mean"], row["peer_rcv_packet_bytes_mean"]) for row in rows("links")],
              [(both[row["node"], row["port"]], both[row["peer"], row["peer_port"]]) for row in rows("links")])
    tap.equal("it is a metric of each of these ports",
              text("metrics", "--once").count("\nibwire_port_rcv_packet_mean_bytes{"), len(means))

with tap.part("report"):
    out = text("report", "leaf-u02-r0/5")
    tap.contains("it has the product name", out, "Quantum QM8700")
    tap.result("no errors in the window" in out and
               not any(line.startswith(("COUNTER ", "KIND ")) for line in out.splitlines()),
               "without errors, findings and events it has no empty table", out)
    tap.equal("it has a table of errors if there are any", "symbol_errors" in text("report", "leaf-u01-r1/5"), True)
    done = run("sh", "-c", '"$0" report leaf-u02-r0/5 --format json | true', IBWIRE)
    tap.equal("a pipe closed by its reader is no error", done.err, "")

with tap.part("nodes"):
    models = {row["model"] for row in rows("nodes")}
    tap.equal("nodes have product names", models, {"Quantum QM8700", "ConnectX-6"})
    tap.contains("in tables, too", text("nodes"), "ConnectX-6")

with tap.part("empty answers"):
    for arguments, words in ((["links", "leaf-u01-r0/30"], "no cable is connected"),
                             (["ports", "leaf-u02-r0/0-40", "--errors"], "no port errors"),
                             (["ports", "node0001/1", "--errors", "--details"], "no port errors"),
                             (["events", "--kind", "link-down"], "no link-down events are stored"),
                             (["events", "node0001", "--since", "-1h"], "no events of these subjects in the window"),
                             (["history", "--top", "3", "--by", "rcv_errors"], "rcv_errors of all ")):
        out = text(*arguments)
        tap.result(len(out.splitlines()) == 1 and words in out, f"{' '.join(arguments)}: {words}", out)
    tap.equal("an empty answer in JSON is an empty list", rows("links", "leaf-u01-r0/30"), [])



def on_terminal(*arguments, columns=80, pager=None, path=None):
    """Output on a terminal of 24 rows, and the exit status. @pager: $PAGER, None: not set"""
    need_terminal()
    env = {**os.environ, "TERM": "xterm", **({"PAGER": pager} if pager is not None else {})}
    env["PATH"] = (path + ":" if path else "") + env["PATH"]
    for name in ("LESS", "COLUMNS", *(["PAGER"] if pager is None else [])):
        env.pop(name, None)
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as some supervisors do
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(IBWIRE, [IBWIRE, *arguments], env)
    out = b""
    try:
        while chunk := os.read(terminal, 65536):
            out += chunk
    except OSError:  # Linux reports the end of a terminal as EIO
        pass
    os.close(terminal)
    return out.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


with tap.part("pager"):
    plain, status = on_terminal("ports", "--color", "never", "--at", "now", "--no-pager", pager="exit 3")
    tap.result(status == 0 and plain.count("\n") > 24 and "leaf-u01-r0/1 " in plain, "--no-pager does not page", plain)
    tap.equal("an empty $PAGER neither", on_terminal("events", pager=""), on_terminal("events", "--no-pager"))
    out, status = on_terminal("events", "--color", "never", pager="sed s/^/paged:/")
    tap.result(status == 0 and out and all(line.startswith("paged:") for line in out.splitlines()),
               "$PAGER is a shell command that gets the output", out)
    tap.contains("a table has the width of the terminal in the pager",
                 on_terminal("ports", "--color", "never", pager="sed s/^/paged:/")[0], "paged:hidden columns")
    os.mkdir("bin")
    with open("bin/less", "w", encoding="ascii") as file:
        file.write('#!/bin/sh\necho "less $LESS"\ncat >/dev/null\n')
    os.chmod("bin/less", 0o755)
    tap.equal("the default is less -FRX", on_terminal("events", path=os.path.abspath("bin")), ("less FRX\n", 0))
    out, status = on_terminal("events", "--no-pager")
    shown, paged_status = on_terminal("events", pager="/nonexistent/pager")
    tap.result(shown.endswith(out) and paged_status == status, "a pager that is missing loses no output", shown)
    tap.equal("the exit status is that of the command", on_terminal("health", "--at", "now", pager="cat; exit 5")[1],
              run(IBWIRE, "health", "--at", "now", check=False).status)
    out, status = on_terminal("ports", "nope", pager="sed s/^/paged:/")
    tap.result(status == 64 and "paged" not in out, "an error is not paged", out)
    tap.result("paged" not in run("env", "PAGER=echo paged", IBWIRE, "events").out, "a pipe has no pager", "")

with tap.part("width"):
    out = on_terminal("links", "leaf-u01-r1", "--color", "never", columns=120, pager="")[0].splitlines()
    tap.result(max(map(len, out)) <= 120 and all(word in out[0] for word in (
        "A ", "B ", "LINK", "STATUS", "A TX%", "B TX%", "A XmitWait%", "A ERRORS", "B ERRORS")),
               "links at 120 columns has utilization, XmitWait and errors of both ends", "\n".join(out))
    tap.equal("hidden columns are named, least important first", out[-1],
              "hidden columns (terminal too narrow): B RX, A RX, AGE, STATE, B TX, A TX, B XmitWait%")
    out = on_terminal("ports", "node0001", "--color", "never", pager="")[0].splitlines()
    tap.result(max(map(len, out[:-1])) <= 80 and "node0001 mlx5_0/1 " in out[1] and "leaf-u01-r0/1" in out[1],
               "percentages are hidden before names are cut", "\n".join(out))
    out = on_terminal("links", "leaf-u01-r1", "--color", "never", pager="")[0].splitlines()
    tap.result(max(map(len, out[:-1])) <= 80 and "A TX%" in out[0] and "A ERRORS" in out[0],
               "at 80 it keeps utilization and errors", "\n".join(out))

def words_of(lines):
    """Words of letters, without those that a narrow table cuts and without the names of the columns that it hides."""
    text = re.sub(r"hidden columns \(.*?(\n(?! )|$)", "", "\n".join(lines) + "\n", flags=re.S)
    return {word for word in text.split() if re.fullmatch("[(]?[A-Za-z-]{2,}[,.:;)]?", word)}


UNITS = {"us", "ms", "s"}  # of an age, which grows from one command to the next
with tap.part("wrapping"):
    for name in ("pair-dead-spine-and-one-lane", "routes-skewed-story"):
        run(os.environ["IBWIRE_BUILD"] + "/tests/screen/record_db",
            f"{os.environ['IBWIRE_SRCDIR']}/tests/scenarios/{name}.scenario", f"{name}.db")
        db = ["--db", f"{name}.db"]
        run(IBWIRE, "job", "begin", name, *db, "--hosts", "node[0001-0004]", check=False)
        run(IBWIRE, "job", "end", name, *db, check=False)
        jobs = [row["id"] for row in json.loads(run(IBWIRE, "job", "list", *db, "--format", "json").out)]
        for command in (["health", "--at", "now"], ["health", "--all", "--at", "now"], ["health", "--explain", "all"],
                        *(["health", "--explain", kind] for kind in ("uplink-imbalance", "node-missing")),
                        ["status", "--at", "now"], ["report", "leaf-u02-r1", "--at", "now"],
                        ["report", "leaf-u02-r1/9", "--at", "now"], ["report", "node0001", "--at", "now"],
                        *(["job", "report", job] for job in jobs), *(["job", "report", "--all", job] for job in jobs),
                        ["doctor", *db[:0]], ["balance", "--at", "now"], ["balance", "--all", "--at", "now"],
                        ["topology", "show", "--at", "now"], ["topology", "route", "node0001", "node0009", "--at", "now"],
                        ["errors", "--at", "now"], ["events"], ["links", "--at", "now"], ["nodes", "--at", "now"],
                        ["history", "leaf-u02-r1/9"], ["history", "leaf-u02-r1"]):
            database = [] if command[0] == "doctor" or "--explain" in command else db
            shown = {columns: on_terminal(*command, *database, "--color", "never", "--no-pager", columns=columns,
                                          pager="")[0].splitlines() for columns in (80, 1000)}
            wide = words_of(shown[1000])
            tap.result(shown[80] and max(map(len, shown[80])) <= 80, f"{' '.join(command)}: at most 80 columns",
                       "\n".join(line for line in shown[80] if len(line) > 80))
            tap.equal(f"{' '.join(command)}: no word is broken", sorted(words_of(shown[80]) - wide - UNITS), [])

tap.done()
