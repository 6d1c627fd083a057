#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Completion of bash, zsh and fish: the three offer the same words, which are those of the program and its database."""
import contextlib
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SRCDIR, Tap, run

SCENARIO = """about Completion
shape rail units=2 hosts=4 rails=2 spines=2
length 1m
"""
FOLDER = SRCDIR + "/dist/completion/"
FILES = {"bash": "ibwire", "zsh": "_ibwire", "fish": "ibwire.fish"}
# Prints what a shell offers for the last word of a command line. Of zsh, the functions of its completion print candidates.
OFFER = {
    "bash": ("-c", """. "$0"
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_ibwire "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""),
    "zsh": ("-fc", """compadd() { print -rl -- ${(M)@:#${(b)words[CURRENT]}*} }
_describe() { compadd ${${(P)@[-1]}%%:*} }
_files() { [[ -z ${words[CURRENT]} ]] || print -rl -- ${words[CURRENT]}*(N) }
offer() { local -a words=("$@"); integer CURRENT=$#; . "$file" }
file=$0
offer "$@"
"""),
    "fish": ("-c", """source $argv[1]
complete -c (basename $argv[2]) -f -a '(__ibwire_complete)'
complete -C (string escape -- $argv[2..-2] | string join ' ')" $argv[-1]" | string replace -r '\\t.*' ''
exit 0
"""),
}
tap = Tap()
with open("test.scenario", "w", encoding="ascii") as file:
    file.write(SCENARIO)
run(os.environ["IBWIRE_BUILD"] + "/tests/screen/record_db", "test.scenario", "fabric.db")
os.environ["IBWIRE_DB"] = os.path.abspath("fabric.db")
os.environ["HOME"] = os.getcwd()  # of fish, which writes there


def rows(*arguments):
    return json.loads(run(IBWIRE, *arguments, "--format", "json").out)


def file_options(shell):
    """Options with a file, in the source of a completion."""
    with open(FOLDER + FILES[shell], encoding="utf-8") as file:
        return sorted(re.findall(r"--[a-z-]+", re.search(r"^\s*(?:case )?--db\b.*--settings.*", file.read(), re.M).group()))


def forge():
    """A database in which the name of a host is a command."""
    shutil.copy("fabric.db", "forged.db")
    with contextlib.closing(sqlite3.connect("forged.db")) as database, database:
        return database.execute("UPDATE node_version SET name = ?1, description = CAST(?1 AS BLOB) WHERE"
                                " name LIKE 'node0001%'", ("$(touch${IFS}forged)",)).rowcount


def check(shell):
    def offered(*words):
        option, script = OFFER[shell]
        return run(shell, option, script, FOLDER + FILES[shell], IBWIRE, *words).out.split()

    def equal(name, found, expected):
        tap.equal(f"{shell}: {name}", found, expected)

    commands = re.findall(r"^  ([a-z][a-z-]*) ", run(IBWIRE, "--help").out, re.M)
    equal("commands", sorted(offered("")), sorted(commands))
    equal("commands of help", sorted(offered("help", "")), sorted(commands))
    options = re.findall(r"^ +(?:-., +)?(--[A-Za-z-]+)", run(IBWIRE, "ports", "--help").out, re.M)
    equal("options", sorted(offered("ports", "--")), sorted(options))
    equal("switches", offered("ports", "leaf-u02-"), ["leaf-u02-r0", "leaf-u02-r1"])
    equal("hosts", offered("health", "node000"), [f"node000{i}" for i in range(1, 9)])
    equal("ports of a node", sorted(offered("history", "node0001", "leaf-u01-r0/")),
          sorted(f"leaf-u01-r0/{row['port']}" for row in rows("ports", "leaf-u01-r0")))
    equal("keys of columns", offered("ports", "--sort", "error"), ["errors", "errors_unknown"])
    equal("columns", offered("ports", "--columns", "error"), ["errors", "errors_unknown"])
    equal("kinds of findings", "link-down" in offered("health", "--explain", "link-"), True)
    equal("formats", sorted(offered("ports", "--format", "")), ["csv", "json", "table"])
    equal("subcommands", offered("job", "com"), ["compare"])
    equal("files", offered("health", "--settings", "test.s"), ["test.scenario"])
    equal("options with a file", file_options(shell), file_options("bash"))
    equal("without a database nothing", offered("ports", "--db", "none.db", "leaf"), [])
    names = offered("ports", "--db", "forged.db", "")
    equal("a name is not executed", [name for name in names + os.listdir() if name in ("", "forged") or "$" in name], [])
    equal("and the others are offered", "node0002" in names, True)


tap.equal("a name is forged", forge(), 2)
for shell in FILES:
    if not shutil.which(shell):
        tap.skip(shell, "it is not installed")
        continue
    with tap.part(shell):
        check(shell)
tap.done()
