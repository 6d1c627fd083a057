#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""All files of the project are as .editorconfig has it."""
import configparser
import io
import os
import re
import sys
import tokenize

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import SRCDIR, Tap, run

tap = Tap()


def pattern(glob):
    """The regular expression of a section's name: * within a folder, ** also across, {a,b}; any folder without a slash."""
    def translate(text):
        out, depth = "", 0
        for token in re.findall(r"\*\*/?|.", text):
            if token.startswith("**"):
                out += ".*"
            elif token == "{":
                out, depth = out + "(?:", depth + 1
            elif token == "}":
                out, depth = out + ")", depth - 1
            elif token == "," and depth:
                out += "|"
            else:
                out += {"*": "[^/]*", "?": "[^/]"}.get(token, re.escape(token))
        return out
    return re.compile(("" if "/" in glob else "(?:.*/)?") + translate(glob) + r"\Z")


def sections():
    parser = configparser.ConfigParser(delimiters="=", comment_prefixes=("#", ";"), interpolation=None)
    with open(SRCDIR + "/.editorconfig", encoding="utf-8") as file:
        parser.read_string("[top]\n" + file.read())
    return [(pattern(name), dict(parser[name])) for name in parser.sections()[1:]]


def properties(known, path):
    found = {}
    for matches, values in known:
        if matches.match(path):
            found.update(values)
    return {name: value for name, value in found.items() if value != "unset"}


def python_blocks(text, size):
    """Lines of Python whose block is not indented by size more than the block around it."""
    depth = [0]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.INDENT:
            depth.append(len(token.string))
            if depth[-1] - depth[-2] != size:
                yield token.start[0]
        elif token.type == tokenize.DEDENT:
            depth.pop()


def violations(content, wanted, is_python=False):
    """Lines of a file, as (number, property)."""
    if not wanted:
        return
    try:
        text = content.decode(wanted.get("charset", "latin-1"))
    except UnicodeDecodeError:
        yield 0, "charset"
        return
    if wanted.get("end_of_line") == "lf" and "\r" in text:
        yield text[:text.index("\r")].count("\n") + 1, "end_of_line"
    if wanted.get("insert_final_newline") == "true" and text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield text.count("\n"), "insert_final_newline"
    step = int(wanted.get("indent_size", 0))
    for number, line in enumerate(text.split("\n"), 1):
        space = re.match(r"[ \t]*", line).group()
        if wanted.get("trim_trailing_whitespace") == "true" and re.search(r"[ \t]$", line):
            yield number, "trim_trailing_whitespace"
        if wanted.get("indent_style") == "tab" and not re.fullmatch("\t* {0,7}", space):
            yield number, "indent_style"
        if wanted.get("indent_style") == "space" and "\t" in space:
            yield number, "indent_style"
        if step and not is_python and len(space) % step:
            yield number, "indent_size"
        if len(line.expandtabs(8)) > int(wanted.get("max_line_length", sys.maxsize)):
            yield number, "max_line_length"
    if step and is_python:
        for number in python_blocks(text, step):
            yield number, "indent_size"


def project_files():
    """The files in git, or those of an unpacked tarball that the Autotools did not make."""
    if os.path.exists(SRCDIR + "/.git"):
        return run("git", "-C", SRCDIR, "ls-files").out.split("\n")[:-1]
    made = re.compile(r"(build[^/]*|autom4te\.cache)/|(aclocal\.m4|configure|config\.h\.in|Makefile\.in)$|.*(__pycache__|~$)")
    paths = (os.path.relpath(os.path.join(folder, name), SRCDIR) for folder, _, names in os.walk(SRCDIR) for name in names)
    return sorted(path for path in paths if not made.match(path))


# Known files first: a parser that matches nothing would find nothing.
known = sections()
for path, name, value in (("base/err.c", "indent_style", "tab"), ("quickstart", "indent_style", "tab"),
                          ("dist/completion/ibwire", "indent_style", "tab"), ("Makefile.am", "indent_style", "tab"),
                          ("wire/smp.h", "max_line_length", "120"), ("tests/lib.py", "indent_size", "4"),
                          ("dist/grafana/ibwire-job.json", "indent_size", "1"), ("dist/prometheus/ibwire.rules.yml", "indent_size", "2"),
                          ("README.md", "indent_style", "space"),
                          ("tests/fuzz/corpus/codec/day0", "charset", None), ("LICENSE", "insert_final_newline", "true")):
    tap.equal(f"{name} of {path}", properties(known, path).get(name), value)
style = {"charset": "utf-8", "end_of_line": "lf", "insert_final_newline": "true", "trim_trailing_whitespace": "true"}
for content, wanted, found in ((b"\xff\n", style, "charset"), (b"a\r\n", style, "end_of_line"),
                               (b"a", style, "insert_final_newline"), (b"a\n\n", style, "insert_final_newline"),
                               (b"a \n", style, "trim_trailing_whitespace"),
                               (b"        a\n", style | {"indent_style": "tab"}, "indent_style"),
                               (b"\t \ta\n", style | {"indent_style": "tab"}, "indent_style"),
                               (b"\ta\n", style | {"indent_style": "space"}, "indent_style"),
                               (b"   a\n", style | {"indent_size": "2"}, "indent_size"),
                               (b"\t" * 15 + b"a\n", style | {"max_line_length": "120"}, "max_line_length")):
    tap.equal(f"{content[:9]!r} violates {found}", [name for _, name in violations(content, wanted)], [found])
tap.equal("a block of two columns violates indent_size",
          list(violations(b"if a:\n  b\n", style | {"indent_size": "4"}, True)), [(2, "indent_size")])

wrong, checked = [], 0
for path in project_files():
    full = os.path.join(SRCDIR, path)
    if os.path.islink(full) or not os.path.isfile(full) or path.endswith((".png", ".gz")):
        continue
    with open(full, "rb") as file:
        content = file.read()
    is_python = path.endswith(".py")
    checked += 1
    wrong += [f"{path}:{number}: {name}" for number, name in violations(content, properties(known, path), is_python)]
tap.result(checked > 1000, "the files of the project were found", checked)
tap.equal("all files are as .editorconfig has it", wrong[:40], [])
tap.done()
