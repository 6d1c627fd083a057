# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Damage at random, and programs under limits, for tests in tests/fuzz that feed mutated files to the programs."""
import os
import re
import signal
import subprocess

from lib import SHORT, Finished

# With sanitizers, which need shadow memory and are slow.
CPU_S, MEMORY_MB = (10, 600) if SHORT else (2, 128)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NUMBERS = (b"0", b"-1", b"1", b"254", b"255", b"256", b"65535", b"65536", b"2147483648", b"4294967295", b"9223372036854775807",
           b"18446744073709551615", b"18446744073709551616", b"1e308", b"0x7fffffffffffffff", b"9" * 400, b"nan", b"")
TEXTS = (b"\0", b"\xff\xfe", b"\x1b]0;t\x07\x1b[31m", "\u202eevil\u2028".encode(), b"\r", b"\n", b"\"", b"'", b"[", b"]", b"#", b"=", b"%s%n",
         b"../../..", b"=cmd|x", b"<script>", b" " * 300, b"x" * 5000, b"{{[[((", b"\xc3\x28", b"-", b",", b":", b"@", b"\t")


def damage(data, rng):
    """Change bytes, numbers or lines of a file: the result is another one that was cut, garbled or written by an attacker."""
    kind = rng.randrange(9)
    if kind == 0:
        return data[:rng.randrange(len(data) + 1)]
    if kind == 1:
        return b"" if rng.random() < .3 else rng.randbytes(rng.randrange(1, 300))
    if kind in (2, 3):
        found = list(re.finditer(rb"[0-9]+|0x[0-9a-f]+", data))
        if found:
            place = rng.choice(found)
            return data[:place.start()] + rng.choice(NUMBERS) + data[place.end():]
    if kind in (4, 5):
        lines = data.splitlines(keepends=True)
        if len(lines) > 1:
            at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            change = rng.randrange(4)
            if change == 0:
                del lines[at]
            elif change == 1:
                lines.insert(other, lines[at])
            elif change == 2:
                lines[at], lines[other] = lines[other], lines[at]
            else:
                lines[at] = lines[at].rstrip(b"\n")
            return b"".join(lines)
    at = rng.randrange(len(data) + 1)
    if kind == 6 and data:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
    return data[:at] + rng.choice(TEXTS) + data[at:]


class Limited(Finished):
    """The result of a program, with its CPU time and memory."""

    def problems(self, statuses):
        """What is wrong with it, as a list of texts."""
        found = []
        if self.status not in statuses:
            found.append(f"status {self.status}")
        if self.cpu_s > CPU_S:
            found.append(f"{self.cpu_s:.1f} s of CPU time")
        if self.memory_kb > MEMORY_MB << 10:
            found.append(f"{self.memory_kb >> 10} MB")
        if UNSAFE.search(self.out + self.err):
            found.append(f"unsafe characters: {UNSAFE.search(self.out + self.err)!r}")
        return found


def limited(*command, timeout=30, stdin=subprocess.DEVNULL):
    """Run a program; after the timeout it is ended, and its status is that of the signal."""
    with open("limited.out", "wb+") as out, open("limited.err", "wb+") as err:
        process = subprocess.Popen([os.fspath(word) for word in command], stdin=stdin, stdout=out, stderr=err)
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(timeout)
        _, status, usage = os.wait4(process.pid, 0)
        signal.alarm(0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    done = Limited(command, process.returncode, *texts)
    done.cpu_s, done.memory_kb = usage.ru_utime + usage.ru_stime, usage.ru_maxrss
    return done
