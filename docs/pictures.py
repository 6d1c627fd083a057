#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Make the pictures of README.md and docs/tour.md from the running demo (make pictures; about four minutes).

usage: docs/pictures.py [PICTURE...]

Runs ./quickstart in tmux, types keys at each stage of the story, and writes docs/pictures/NAME.svg. On a
busy machine rates are uneven. Needs tmux and Python's standard library. The picture "report", the report of a
job that runs during the story, is docs/pictures/report.png; "acceptance", the acceptance page of a fabric with
planted faults, is docs/pictures/acceptance.png; "link", the page of a link with a bad cable that is exchanged, is
docs/pictures/link.png. They need chromium-headless-shell, the last two also build/tests/screen/record_db. "hang",
"neighbor" and "straggler", the reports of jobs in the stories of ibwire-sim, are docs/pictures/job-NAME.png.
"""
import glob
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unicodedata

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# DejaVu Sans Mono. Each run of cells has its width in the SVG, so any monospace font fits.
SIZE, WIDTH, HEIGHT = 14, 8.43, 17
BACKGROUND, TEXT = "#16181d", "#d5d8df"
COLORS = ("#4a4f5a", "#ef5f6b", "#7fc86a", "#e0b050", "#5f9fe8", "#c57fd8", "#4fc0c8", "#d5d8df",
          "#747b88", "#ff7f88", "#9fe38a", "#ffd070", "#86bbff", "#e09ff0", "#74dfe6", "#ffffff")
# Block elements are drawn, because those of a font do not fill the cell: left, top, width and height in eighths.
BLOCKS = {"█": (0, 0, 8, 8), **{chr(0x2580 + n): (0, 8 - n, 8, n) for n in range(1, 8)},
          **{chr(0x2590 - n): (0, 0, n, 8) for n in range(1, 8)}}
SOCKET = f"ibwire-pictures-{os.getpid()}"


def tmux(*words):
    return subprocess.run(["tmux", "-L", SOCKET, *words], stdout=subprocess.PIPE, check=True, text=True).stdout


def color_256(number):
    if number < 16:
        return COLORS[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    parts = ((number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6)
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


class Style:
    """The attributes that escape sequences set; they last across lines."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.fore = self.back = None
        self.bold = self.dim = self.reverse = self.underline = False

    def apply(self, codes):
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 4: "underline", 7: "reverse"}[code], True)
            elif code in (22, 24, 27):
                for name in {22: ("bold", "dim"), 24: ("underline",), 27: ("reverse",)}[code]:
                    setattr(self, name, False)
            elif code in (38, 48) and codes[:1] in ([5], [2]):
                color = color_256(codes[1]) if codes[0] == 5 else "#" + "".join(f"{part:02x}" for part in codes[1:4])
                del codes[:2 if codes[0] == 5 else 4]
                setattr(self, "fore" if code == 38 else "back", color)
            elif code in (39, 49):
                setattr(self, "fore" if code == 39 else "back", None)
            else:
                for first, bright in ((30, 0), (40, 0), (90, 8), (100, 8)):
                    if first <= code < first + 8:
                        setattr(self, "fore" if first in (30, 90) else "back", COLORS[code - first + bright])

    def cell(self):
        """Text colour, background (None: that of the picture), bold, faint, underlined."""
        fore, back = self.fore or TEXT, self.back
        if self.reverse:
            fore, back = back or BACKGROUND, fore
        return fore, back, self.bold, self.dim, self.underline


def cells_of(line, style):
    """(character, its columns, style) of each cell."""
    for escape, character in re.findall(r"\x1b\[([\d;]*)m|(.)", line):
        if character:
            yield character, 1 + (unicodedata.east_asian_width(character) in "WF"), style.cell()
        else:
            style.apply(escape)


def runs_of(line, style):
    """(column, columns, text, style) of cells with one style. Blank cells without background have no run."""
    runs, column = [], 0
    for character, columns, cell in cells_of(line, style):
        blank = character == " " and not cell[1] and not cell[4]
        same = not runs or runs[-1][2][-1] == character or not {runs[-1][2][-1], character} & BLOCKS.keys()
        if runs and same and runs[-1][3] == cell and runs[-1][0] + runs[-1][1] == column:
            runs[-1][1] += columns
            runs[-1][2] += character
        elif not blank:
            runs.append([column, columns, character, cell])
        column += columns
    return runs


def svg(lines, columns):
    style, parts = Style(), []
    for row, line in enumerate(lines):
        for column, count, text, (fore, back, bold, dim, underline) in runs_of(line, style):
            x, y = round(column * WIDTH, 1), row * HEIGHT
            if back:
                parts.append(f'<path fill="{back}" d="M{x} {y}h{round(count * WIDTH, 1)}v{HEIGHT}H{x}z"/>')
            shown = text.rstrip(" ")
            if shown and shown[0] in BLOCKS:
                left, top, wide, high = (eighths / 8 for eighths in BLOCKS[shown[0]])
                times = 1 if wide == 1 else count  # cells that are full join
                wide = round(count * WIDTH if wide == 1 else wide * WIDTH, 1)
                top, high = round(y + top * HEIGHT, 1), round(high * HEIGHT, 1)
                parts += [f'<path fill="{fore}" d="M{round(x + (i + left) * WIDTH, 1)} {top}h{wide}v{high}h-{wide}z"/>'
                          for i in range(times)]
            elif shown:
                look = (' font-weight="bold"' if bold else "") + (' opacity=".6"' if dim else "") + (
                    ' text-decoration="underline"' if underline else "") + (f' fill="{fore}"' if fore != TEXT else "")
                parts.append(f'<text x="{x}" y="{y + 13}" textLength="{round(len(shown) * WIDTH, 1)}"{look}>'
                             f"{html.escape(shown, False)}</text>")
    width, height = round(columns * WIDTH + 16), len(lines) * HEIGHT + 16
    size = f'width="{width}" height="{height}"'
    font = f'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="{SIZE}" xml:space="preserve"'
    return "\n".join((f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 {width} {height}" {size} {font}',
                      f'fill="{TEXT}" shape-rendering="crispEdges">',
                      f'<rect x="-8" y="-8" {size} rx="6" fill="{BACKGROUND}"/>', *parts, "</svg>\n"))


def screen():
    return tmux("capture-pane", "-p")


def wait_for(words, seconds=180):
    end = time.monotonic() + seconds
    while not re.search(words, screen()):
        if time.monotonic() > end:
            sys.exit(f"pictures: the screen does not show {words!r}:\n{screen()}")
        time.sleep(0.5)


def capture(name, columns):
    lines = tmux("capture-pane", "-e", "-p", "-N").rstrip("\n").split("\n")
    path = f"{TOP}/docs/pictures/{name}.svg"
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg(lines, columns))
    print(f"{path}: {os.path.getsize(path)} bytes")


def resize(columns, rows):
    tmux("resize-window", "-x", str(columns), "-y", str(rows))
    time.sleep(2)


def press(*keys):
    for key in keys:
        tmux("send-keys", "--", key)
        time.sleep(0.7)


# Name, columns, rows, what the screen must show first, keys, seconds until the picture, keys back to the overview.
PICTURES = (
    ("healthy", 120, 36, r"no problems", (), 12, ()),
    ("overview", 120, 36, r"CRIT.*leaf-u02-r3", (), 12, ()),
    ("port", 120, 36, r"CRIT.*leaf-u02-r3", ("2", "Enter", "-", "-"), 2, ("Escape", "1")),
    ("balance", 120, 36, r"CRIT.*leaf-u02-r3", ("3",), 12, ("1",)),
    ("links", 120, 36, r"link-degraded", ("2",), 4, ("1",)),
)


BROWSERS = glob.glob("/usr/lib/chromium*/chromium-headless-shell") + glob.glob("/usr/lib/chromium*/headless_shell")
REPORT_SIZE, REPORT_SECONDS = (1440, 1180), 60


def simulation():
    """The environment of the simulation in our tmux: others may be running."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                words = file.read().decode(errors="replace")
        except OSError:
            continue
        name = re.search(r"(?:^|\0)IBSIM_SOCKNAME=([^\0]*)", words)
        if name and re.search(rf"(?:^|\0)TMUX=[^\0]*/{SOCKET},", words):
            return {**os.environ, "IBSIM_SOCKNAME": name[1].removesuffix("-ibsim")}
    sys.exit("pictures: the simulation is not running")


def job(*words):
    subprocess.run([f"{TOP}/build/ibwire-sim", "exec", f"{TOP}/build/ibwire", "job", *words], check=True,
                   env=simulation())


def browse(page, name, size):
    path = f"{TOP}/docs/pictures/{name}.png"
    subprocess.run([BROWSERS[0], "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--window-size={size[0]},{size[1]}", f"--screenshot={path}", f"file://{page}"],
                   check=True, stderr=subprocess.DEVNULL)
    print(f"{path}: {os.path.getsize(path)} bytes")


def capture_report():
    """The report of job 4711, which ends now."""
    with tempfile.TemporaryDirectory() as folder:
        job("end", "4711", "--status", "0")
        job("report", "4711", "--html", f"{folder}/report.html")
        browse(f"{folder}/report.html", "report", REPORT_SIZE)


ACCEPTANCE_SIZE = (1440, 1500)
# Three hours of a burn-in: a cable with a bit error rate of 1e-13, one with one lane, two that are swapped.
ACCEPTANCE = """shape rail units=2 hosts=16 rails=8 spines=8 speed=HDR
length {length}s
{jobs}at 0 swap "node0007 mlx5_1" "node0007 mlx5_2"
at 0 width leaf-u01-r3/19 1x
at 1m errors leaf-u02-r5/22 symbol_errors=72
"""


def record(folder, jobs, length, end):
    for path in glob.glob(f"{folder}/fabric.db*"):
        os.unlink(path)
    with open(f"{folder}/burn-in.scenario", "w", encoding="utf-8") as file:
        file.write(ACCEPTANCE.format(jobs=jobs, length=length))
    subprocess.run([f"{TOP}/build/tests/screen/record_db", f"{folder}/burn-in.scenario", f"{folder}/fabric.db", str(end)],
                   check=True, stdout=subprocess.DEVNULL)


def coverage(folder, *words):
    """Its exit status is 1 if something is left."""
    environment = {**os.environ, "TZ": "UTC", "IBWIRE_DB": f"{folder}/fabric.db"}
    return subprocess.run([f"{TOP}/build/ibwire", "coverage", *words], check=False, env=environment,
                          stdout=subprocess.PIPE, text=True).stdout


def capture_acceptance():
    """The pairs of hosts that --pairs lists send for 12 minutes; then the links are idle for 130 minutes."""
    end = 1796000000
    with tempfile.TemporaryDirectory() as folder:
        record(folder, "", 150, end)
        rounds = {}
        plan = coverage(folder, "--since", "2026-01-01", "--until", "2027-01-01", "--pairs", "--all",
                        "--format", "json")
        for pair in json.loads(plan)["pairs"]:
            rounds.setdefault(pair["round"], []).append("{from_host} {from_device}>{to_host} {to_device}".format(**pair))
        jobs = "".join(f'job r{number} pairs load=1 coupled=no starts=later pairs="{",".join(pairs)}"\n'
                       f"at {number * 780 - 660}s start r{number}\nat {number * 780 + 60}s stop r{number}\n"
                       for number, pairs in rounds.items())
        record(folder, jobs, 780 * len(rounds) + 7900, end)
        with open(f"{folder}/plan.net", "w", encoding="utf-8") as file:
            subprocess.run([f"{TOP}/build/ibwire-sim", "net", *ACCEPTANCE.split("\n", 1)[0].split()[1:2],
                            *("--" + option for option in ACCEPTANCE.split("\n", 1)[0].split()[2:])],
                           check=True, stdout=file)
        coverage(folder, "uplinks", "class:compute", "--since", "2026-01-01", "--until", "2027-01-01", "--plan",
                 f"{folder}/plan.net", "--html", f"{folder}/acceptance.html")
        browse(f"{folder}/acceptance.html", "acceptance", ACCEPTANCE_SIZE)


LINK_SIZE, LINK_HOURS, LINK_END = (1440, 3600), 24, 1796000000
# A port that counts errors; its cable is exchanged after half of the time.
LINK = """shape rail units=1 hosts=8 rails=4 spines=4 speed=HDR
length {hours}h
job train ring stride=2 load=0.45
at 20m errors leaf-u01-r0/1 symbol_errors=60
at {half}h down leaf-u01-r0/1 for=6m
"""


def write_bundle(folder, names, links, hours_ago, exchanged):
    """What ibdiagnet leaves behind: an optical cable on each link; @exchanged: another one on the first link."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(LINK_END - hours_ago * 3600))
    rows = []
    for number, row in enumerate(sorted(links, key=lambda row: (row["node"], row["port"]))):
        here = any("leaf-u01-r0" in row[end] and row[port] == 1 for end, port in (("node", "port"), ("peer", "peer_port")))
        serial = "MT2237FT09911" if here and exchanged else f"MT2237FT{1200 + number:05d}"
        rows += [f'{row[guid]},{row[port]},"{serial}","MFS1S00-H010V","Mellanox","38.100.121",10,{degrees}C,-1.2,0.3'
                 for guid, port, degrees in (("node_guid", "port", 44), ("peer_guid", "peer_port", 47))]
    firmware = [f'{guid},{version},"{psid}",0x2023,0x11,0x28' for guid, name in names.items() for version, psid in (
        (("0x14,0x27,0x3ea", "MT_0000000223"),) if "mlx5" in name else (("0x1b,0x7dc,0x3f2", "MT_0000000063"),))]
    tables = (("NODES", "NodeDesc,NodeGUID", [f'"{name}",{guid}' for guid, name in names.items()]),
              ("CABLE_INFO", "NodeGuid,PortNum,SN,PN,Vendor,FWVersion,LengthSMFiber,Temperature,RX1Power,TX1Power", rows),
              ("NODES_INFO", "NodeGUID,FWInfo_Extended_Major,FWInfo_Extended_Minor,FWInfo_Extended_SubMinor,FWInfo_PSID,"
               "FWInfo_Year,FWInfo_Month,FWInfo_Day", firmware))
    with open(f"{folder}/ibdiagnet2.db_csv", "w", encoding="utf-8") as file:
        file.write(f"# Running timestamp : {stamp} UTC +0000\n" + "".join(
            f"START_{name}\n{titles}\n" + "".join(f"{line}\n" for line in lines) + f"END_{name}\n"
            for name, titles, lines in tables))


def capture_link():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TZ": "UTC", "IBWIRE_DB": f"{folder}/fabric.db"}

        def ibwire(*words):
            return subprocess.run([f"{TOP}/build/ibwire", *words], check=True, env=environment, stdout=subprocess.PIPE,
                                  text=True).stdout

        with open(f"{folder}/link.scenario", "w", encoding="utf-8") as file:
            file.write(LINK.format(hours=LINK_HOURS, half=LINK_HOURS // 2))
        subprocess.run([f"{TOP}/build/tests/screen/record_db", f"{folder}/link.scenario", f"{folder}/fabric.db",
                        str(LINK_END)], check=True, stdout=subprocess.DEVNULL)
        at = ("--at", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(LINK_END)))
        names = {row["node_guid"]: row["node"] for row in json.loads(ibwire("nodes", *at, "--format", "json"))}
        links = json.loads(ibwire("links", *at, "--format", "json"))
        for hours_ago, exchanged in ((LINK_HOURS - 1, False), (1, True)):
            write_bundle(folder, names, links, hours_ago, exchanged)
            ibwire("import", f"{folder}/ibdiagnet2.db_csv")
        ibwire("report", "leaf-u01-r0/1", *at, "--since", f"-{LINK_HOURS}h", "--html", f"{folder}/link.html")
        browse(f"{folder}/link.html", "link", LINK_SIZE)


STORIES, STORY_SIZE = ("hang", "neighbor", "straggler"), (1440, 1400)


def capture_story(name):
    """Four minutes each. The page is that of the job while it is stalled or slower."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{TOP}/build/ibwire-sim", "story", name], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                       env={**os.environ, "TZ": "UTC"})
        browse(f"{folder}/story-{name}/report.html", f"job-{name}", STORY_SIZE)


def main():
    wanted = sys.argv[1:] or [picture[0] for picture in PICTURES] + ["report", "acceptance", "link", *STORIES]
    for name in ("report", "acceptance", "link", *STORIES):
        if name in wanted and not BROWSERS:
            print(f'pictures: chromium-headless-shell is not installed: the picture "{name}" is not made')
            wanted.remove(name)
    os.makedirs(f"{TOP}/docs/pictures", exist_ok=True)
    if "acceptance" in wanted:
        capture_acceptance()
        wanted.remove("acceptance")
    if "link" in wanted:
        capture_link()
        wanted.remove("link")
    for name in STORIES:
        if name in wanted:
            capture_story(name)
            wanted.remove(name)
    if not wanted:
        return
    tmux("new-session", "-d", "-x", "120", "-y", "36", "-c", TOP, "TERM=tmux-256color COLORTERM= ./quickstart --sim")
    tmux("set-option", "-g", "window-size", "manual")
    try:
        if "report" in wanted:
            wait_for(r"no problems")
            time.sleep(10)
            job("begin", "4711", "--name", "train-70b")
        for name, columns, rows, words, keys, seconds, back in PICTURES:
            if name not in wanted:
                continue
            resize(columns, rows)
            wait_for(words)
            press(*keys)
            time.sleep(seconds)
            wait_for(r"SM \S+ ok")  # a busy machine delays responses of the subnet manager
            capture(name, columns)
            press(*back)
        if "report" in wanted:
            wait_for(r"CRIT.*leaf-u02-r3", 300)  # of the next round
            time.sleep(REPORT_SECONDS)
            capture_report()
        press("q")
        time.sleep(3)
    finally:
        subprocess.run(["tmux", "-L", SOCKET, "kill-server"], check=False, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
