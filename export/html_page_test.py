#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Pages of HTML: well-formed XML; in headless Chromium, no script error, no request and no clipped text.
"""The pages are those that export/html_test and page_test write, those of reports of jobs, and those named on the command line."""
import glob
import json
import os
import re
import sys
import xml.dom.minidom

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import Tap, run

# The wrapper /usr/bin/chromium leaves the browser behind if it is killed.
BROWSERS = glob.glob("/usr/lib/chromium*/chromium-headless-shell") + glob.glob("/usr/lib/chromium*/headless_shell")
WIDTHS = (800, 1600)
# Frames of several widths. Elements wider than the page and text outside of its figure are printed.
FRAME = """<!DOCTYPE html><meta charset="utf-8"><pre id="out">not loaded</pre>
<iframe id="page" src="%s" style="width:%dpx;height:900px;border:0"></iframe><script>
document.getElementById("page").onload = function () {
  var page = this.contentDocument, root = page.documentElement, wrong = [];
  if (root.scrollWidth > root.clientWidth) wrong.push("the page is " + root.scrollWidth + " wide");
  page.querySelectorAll("svg text").forEach(function (text) {
    var at = text.getBoundingClientRect(), all = text.closest("svg").getBoundingClientRect();
    if (at.width && (at.left < all.left - 1 || at.right > all.right + 1 ||
        at.top < all.top - 1 || at.bottom > all.bottom + 1))
      wrong.push("cut off: " + text.textContent);
  });
  page.querySelectorAll("body *").forEach(function (element) {
    var at = element.getBoundingClientRect(), own = [].some.call(element.childNodes, function (node) {
      return node.nodeType == 3 && node.textContent.trim().length > 1; });
    if (own && at.width && Math.min(at.width, at.height) < 9) wrong.push("too small: " + element.textContent);
  });
  page.querySelectorAll("td, th, dd, p, li, h1, h2, h3").forEach(function (cell) {
    if (cell.clientWidth && cell.scrollWidth > cell.clientWidth + 1) wrong.push("too wide: " + cell.textContent);
  });
  document.getElementById("out").textContent =
    wrong.length ? wrong.slice(0, 9).join("; ") : "all fits in " + root.clientWidth;
};</script>"""
FLAGS = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000", "--enable-logging=stderr",
         "--dump-dom", "--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files", "--log-net-log=net.json",
         "--window-size=2700,1000", "--user-data-dir=profile")


def outside_requests():
    with open("net.json", encoding="utf-8") as file:
        events = json.load(file)["events"]
    urls = {str(event.get("params", {}).get("url", "")) for event in events}
    return sorted(url for url in urls if re.match(r"(https?|wss?|ftp):", url))


def check_in_browser(tap, name, widths=WIDTHS):
    for width in widths:
        with open("frame.html", "w", encoding="utf-8") as file:
            file.write(FRAME % (f"file://{os.path.abspath(name)}", width))
        done = run(BROWSERS[0], *FLAGS, f"file://{os.path.abspath('frame.html')}", timeout=120)
        out = re.search(r'<pre id="out">(.*?)</pre>', done.out, re.S)
        tap.equal(f"{os.path.basename(name)}: no text is clipped at {width} pixels", out and out.group(1),
                  f"all fits in {width}")
        tap.equal(f"{os.path.basename(name)}: no script error at {width} pixels", re.findall(r"CONSOLE.*", done.err), [])
        tap.equal(f"{os.path.basename(name)}: no network request at {width} pixels", outside_requests(), [])


def main():
    tap = Tap()
    build = os.environ["IBWIRE_BUILD"]
    run(build + "/export/html_test")
    run(build + "/export/page_test")
    for name in ("output", "report", "stored"):
        run(f"{build}/tests/job/job_{name}_test", env={**os.environ, "JOB_PAGES": os.getcwd()})
    jobs = sorted(glob.glob("job-*.html"))
    tap.result(jobs, "pages of job reports exist")
    for name in ["figures.html", "hostile.html", "sections.html", "hostile-figures.html", *jobs, *sys.argv[1:]]:
        with tap.part(f"{name} is well-formed XML"):
            page = xml.dom.minidom.parse(name)
            wrong = [tag for tag in ("script", "img", "iframe") if page.getElementsByTagName(tag)]
            tap.equal(f"{os.path.basename(name)}: well-formed XML without scripts", wrong, [])
        if BROWSERS:
            check_in_browser(tap, name)
        else:
            tap.skip(f"{os.path.basename(name)} in a browser", "chromium-headless-shell is not installed")
    tap.done()


if __name__ == "__main__":
    main()
