#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The screens that docs/screen.md shows are those of tests/screen/expected.

A line "<!-- screen NAME-COLUMNSxROWS -->" is followed by that screen in a block of its own. With --write as the first
argument they are put there; without, each must be what the file says.
"""
import os
import re
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import SRCDIR, Tap

PAGES = ["docs/screen.md"]
BLOCK = re.compile(r"(<!-- screen ([a-z0-9-]+) -->\n)```\n(.*?)```\n", re.DOTALL)


def expected(name):
    """A screen; blank lines before its last one are left out where there are many."""
    with open(os.path.join(SRCDIR, "tests/screen/expected", name + ".txt"), encoding="utf-8") as file:
        text = file.read()
    return re.sub(r"\n{4,}", "\n\n\n", text)


def main():
    tap = Tap()
    for page in PAGES:
        path = os.path.join(SRCDIR, page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if sys.argv[1:] == ["--write"]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(BLOCK.sub(lambda match: f"{match[1]}```\n{expected(match[2])}```\n", text))
            continue
        blocks = BLOCK.findall(text)
        tap.equal(f"{page}: each mark of a screen has a block", len(blocks), text.count("<!-- screen "))
        tap.result(blocks, f"{page} shows screens")
        for _, name, shown in blocks:
            tap.result(shown == expected(name), f"{page}: {name} is as the screen is now",
                       f"write it anew: {sys.argv[0]} --write")
    if sys.argv[1:] != ["--write"]:
        tap.done()


main()
