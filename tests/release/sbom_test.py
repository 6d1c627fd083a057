#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""dist/sbom.py: its bill of materials has what SPDX 2.3 requires, and the libraries of the programs."""
import copy
import hashlib
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SRCDIR, Tap, need, run

need("readelf", "pkg-config", "ldd")
tap = Tap()
BUILD = os.environ["IBWIRE_BUILD"]
# What the libraries declare; each is in the SPDX License List.
LICENSES = {"BSD-2-Clause", "BSD-3-Clause", "GPL-2.0-only", "LGPL-2.1-or-later", "Linux-OpenIB", "MIT", "Zlib", "blessing",
            "curl", "X11-distribute-modifications-variant"}
# Names of configure.ac and of the programs' libraries, as the bill of materials calls them.
NAMES = {"libibumad": "rdma-core", "libibmad": "rdma-core", "libibnetdisc": "rdma-core", "ncursesw": "ncurses", "sqlite3": "sqlite", "yaml-0.1": "libyaml", "libcurl": "curl"}


def expression_is_valid(text):
    return text in ("NOASSERTION", "NONE") or set(re.split(" (?:OR|AND) ", text)) <= LICENSES


def problems(spdx):
    """What violates SPDX 2.3: clauses 6 (document), 7 (packages), 11 (relationships), with what is mandatory there."""
    def check(good, what):
        if not good:
            found.append(what)
    found = []
    for name, wanted in (("spdxVersion", r"SPDX-2\.3"), ("dataLicense", r"CC0-1\.0"), ("SPDXID", "SPDXRef-DOCUMENT"),
                         ("name", ".+"), ("documentNamespace", r"[a-z]+://[^#\s]+")):
        check(re.fullmatch(wanted, spdx.get(name, "")), "6: " + name)
    info = spdx.get("creationInfo", {})
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", info.get("created", "")), "6.9: created")
    check(info.get("creators") and all(re.match("(Person|Organization|Tool): .", each) for each in info["creators"]),
          "6.8: creators")
    ids = ["SPDXRef-DOCUMENT"] + [package.get("SPDXID", "") for package in spdx.get("packages", [])]
    check(len(ids) > 1 and len(set(ids)) == len(ids), "7: packages with different SPDXIDs")
    for package in spdx.get("packages", []):
        check(re.fullmatch("SPDXRef-[A-Za-z0-9.-]+", package.get("SPDXID", "")), "7.2: SPDXID")
        check(package.get("name"), "7.1: name")
        check(package.get("versionInfo"), "7.3: versionInfo")
        check(re.fullmatch(r"NOASSERTION|NONE|[a-z+]+://\S+", package.get("downloadLocation", "")), "7.7: downloadLocation")
        check(package.get("filesAnalyzed") is False, "7.8: filesAnalyzed")
        check("packageVerificationCode" not in package, "7.9: packageVerificationCode without analysed files")
        for name in ("licenseConcluded", "licenseDeclared"):
            check(expression_is_valid(package.get(name, "")), f"7: {name}")
        for checksum in package.get("checksums", []):
            check(checksum["algorithm"] == "SHA256" and re.fullmatch("[0-9a-f]{64}", checksum["checksumValue"]), "7.10: checksum")
    relations = [(each.get("spdxElementId"), each.get("relationshipType"), each.get("relatedSpdxElement"))
                 for each in spdx.get("relationships", [])]
    for one, kind, other in relations:
        check(one in ids and other in ids and kind in ("DESCRIBES", "DYNAMIC_LINK"), "11: relationship")
    check([kind for one, kind, _ in relations if one == "SPDXRef-DOCUMENT"] == ["DESCRIBES"], "11.1: the document describes one package")
    check(set(ids) == {one for one, _, _ in relations} | {other for _, _, other in relations}, "11: all packages are related")
    return found


def changed(spdx, change):
    other = copy.deepcopy(spdx)
    change(other)
    return problems(other)


def resolved():
    """The files of the libraries that the programs load themselves: by the dynamic linker, without those that libraries load."""
    direct = re.findall(r"NEEDED +(\S+)", "".join(run("objdump", "-p", f"{BUILD}/{name}").out
                                                  for name in ("ibwire", "ibwire-sim", "ibwire-sql.so", "ibwire-sim-umad.so")))
    paths = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", IBWIRE).out))
    return {soname: paths.get(soname) for soname in direct}


with open("some.tar.gz", "wb") as file:
    file.write(b"tarball")
made = run(SRCDIR + "/dist/sbom.py", BUILD, "some.tar.gz")
spdx = json.loads(made.out)
tap.equal("it has what SPDX 2.3 requires", problems(spdx), [])
for what, change in (
        ("6: documentNamespace", lambda it: it.pop("documentNamespace")),
        ("6: dataLicense", lambda it: it.update(dataLicense="MIT")),
        ("6.8: creators", lambda it: it["creationInfo"].update(creators=["ibwire"])),
        ("6.9: created", lambda it: it["creationInfo"].update(created="2026-11-29")),
        ("7.7: downloadLocation", lambda it: it["packages"][1].pop("downloadLocation")),
        ("7: licenseDeclared", lambda it: it["packages"][1].update(licenseDeclared="GPL")),
        ("11: all packages are related", lambda it: it["relationships"].pop()),
        ("11: relationship", lambda it: it["relationships"][1].update(relationshipType="LINKS"))):
    tap.equal(f"a document is rejected by {what}", changed(spdx, change), [what])

packages = {package["name"]: package for package in spdx["packages"]}
version = run(IBWIRE, "--version").out
ibwire = packages["ibwire"]
tap.equal("its version is that of the program", ibwire["versionInfo"], version.split()[1])
tap.equal("its checksum is that of the tarball", ibwire["checksums"],
          [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(b"tarball").hexdigest()}])
built_with = re.findall(r"([a-z0-9.-]+) ([0-9][0-9.]*)(?:,|$)", version.splitlines()[1].split(";")[1])
tap.result(len(built_with) >= 10, "ibwire --version lists the libraries of the build", version)
for name, release in built_with:
    # Libraries of rdma-core have versions like 3.2.44.0.
    tap.result(release.endswith(packages.get(NAMES.get(name, name), {"versionInfo": "?"})["versionInfo"]),
               f"the version of {name}", release)
tap.equal("it has the libraries of the build, the C library and libcrypt, and no others", sorted(packages),
          sorted({NAMES.get(name, name) for name, _ in built_with} | {"ibwire", "glibc", "libxcrypt"}))
if shutil.which("dpkg-query"):
    for soname, path in sorted(resolved().items()):
        if not path:
            continue
        owner = run("dpkg-query", "-S", os.path.realpath(path), check=False).out or run(
            "dpkg-query", "-S", os.path.realpath(path).replace("/usr/lib", "/lib"), check=False).out
        installed = run("dpkg-query", "-W", "-f", "${source:Upstream-Version}", owner.split(":")[0], check=False).out
        tap.result(any(installed.startswith(package["versionInfo"].split("+")[0]) or package["versionInfo"].startswith(
            re.split(r"[+~]", installed)[0]) for package in packages.values()) if installed else False,
            f"the version of the package with {soname} is in it", f"{owner}{installed}")
tap.equal("a second run makes the same document", run(SRCDIR + "/dist/sbom.py", BUILD, "some.tar.gz").out, made.out)
tap.equal("without a build it fails", run(SRCDIR + "/dist/sbom.py", check=False).status, 64)
tap.done()
