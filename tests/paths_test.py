#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every file and folder of the project that its documents, manual pages and comments name exists.

A path begins with a top-level folder. It may omit its suffix (`wire/engine` is engine.c and engine.h, a test program
is its source) and contain *, [ch] and {a,b}; words in capital letters stand for any name (`cli/NAME.c`). In backquotes
in docs/architecture.md it may also begin with a folder of the second level (`traffic/driver` in sim/). Links of
Markdown are relative to their document.
"""
import glob
import itertools
import os
import re
import subprocess
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import SRCDIR, Tap, read_file

SUFFIXES = ("", ".c", ".h", ".py", ".sh", ".in")
CHECKED = re.compile(r"\.(md|[ch1-8]|py|sh|am)$")
PLANTED = ("tests/includes_test.sh", "tests/paths_test.py")
BUILT = ("dist/ibwire", "dist/ibwire-metrics", "dist/ibwire-push", "tests/heap_watch.so")
NAME = r"(?:[\w*.-]|\[[a-z]+\]|\{[\w,.]+\})"


def tracked():
    """The files in git; in an unpacked release, all but those of a build."""
    done = subprocess.run(["git", "ls-files"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode == 0:
        return [name for name in done.stdout.splitlines() if os.path.exists(name)]
    return [name for name in glob.glob("**", recursive=True) if os.path.isfile(name) and not re.match("build|autom4te", name)]


def exists(path, where=""):
    """Does a path exist, with each alternative in braces?"""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in re.split(r"(\{[^}]*\})", path.rstrip("."))]
    names = ["".join(choice) for choice in itertools.product(*parts)]
    return all(any(glob.glob(where + form + suffix) for form in (name, re.sub("[A-Z]{3,}", "*", name)) for suffix in SUFFIXES)
               for name in names)


class Paths:
    def __init__(self, files):
        folders = [name.split("/")[:-1] for name in files]
        top = {re.escape(parts[0]) for parts in folders if parts}
        # Installed files are below lib/.
        second = {re.escape(parts[1]) for parts in folders if len(parts) > 1} - {"lib"}
        self.from_top = re.compile(rf"(?<![\w/.~$*^-])(?:\./)?((?:{'|'.join(top)})/(?:{NAME}+/?)*)")
        self.from_second = re.compile(rf"`((?:{'|'.join(second)})/(?:{NAME}+/?)*)`")

    def missing(self, name, text):
        """The paths in a document that do not exist."""
        wrong = {path for path in self.from_top.findall(text) if path.rstrip(".") not in BUILT and not exists(path)}
        if name == "docs/architecture.md":
            wrong |= {path for path in self.from_second.findall(text) if not exists(path, "*/") and not exists(path)}
        if name.endswith(".md"):
            links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
            wrong |= {link for link in links if not os.path.exists(os.path.join(os.path.dirname(name), link))}
        return sorted(wrong)


os.chdir(SRCDIR)
tap = Tap()
files = tracked()
paths = Paths(files)
for kind in (".md", ""):
    wrong = [f"{name}: {path}" for name in files if CHECKED.search(name) and name.endswith(".md") == bool(kind) and name not in PLANTED
             for path in paths.missing(name, read_file(name))]
    tap.equal(f"every path exists that {'a document' if kind else 'a source or a manual page'} names", wrong, [])

PLANTED_TEXTS = (("a file", "docs/testing.md", "see `wire/none.c`", ["wire/none.c"]),
                 ("a file without its suffix", "docs/testing.md", "`wire/none` and `wire/engine`", ["wire/none"]),
                 ("a folder", "README.md", "`tests/none/` and `tests/wire/`", ["tests/none/"]),
                 ("a pattern", "README.md", "`tests/none_*` and `tests/*_test.sh`", ["tests/none_*"]),
                 ("one alternative", "README.md", "`wire/{engine,none}.c` and `wire/engine.[ch]`", ["wire/{engine,none}.c"]),
                 ("a placeholder", "README.md", "`wire/none_NAME.c` and `cli/NAME.c`", ["wire/none_NAME.c"]),
                 ("a folder of the second level", "docs/architecture.md", "`traffic/none` and `traffic/driver`", ["traffic/none"]),
                 ("a link", "docs/testing.md", "[a](../docs/none.md#part) and [b](testing.md)", ["../docs/none.md"]))
for what, name, text, wanted in PLANTED_TEXTS:
    tap.equal(f"a wrong path is found: {what}", paths.missing(name, text), wanted)
tap.done()
