#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Print the bill of materials of a build as SPDX 2.3 in JSON: ibwire and the libraries that its programs link with.

Usage: sbom.py BUILD [TARBALL]    BUILD is a build directory; the checksum of TARBALL is included

The libraries are those that the programs need at run time (readelf), with the versions that pkg-config reports on this
host. The output is a function of the build and the tarball: its time is SOURCE_DATE_EPOCH, or the release in
CHANGELOG.md. dist/release makes it.
"""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = "ibwire", "ibwire-sim", "ibwire-sql.so", "ibwire-sim-umad.so"
LICENSE = "BSD-2-Clause OR GPL-2.0-only"
# Beginning of the sonames, name, module of pkg-config, declared licence, home page. The licence is that of the library,
# not of the other files in its source package.
RDMA_CORE = "rdma-core", "libibumad", "GPL-2.0-only OR Linux-OpenIB", "https://github.com/linux-rdma/rdma-core"
NCURSES = "ncurses", "ncursesw", "X11-distribute-modifications-variant", "https://invisible-island.net/ncurses/"
GLIBC = "glibc", None, "LGPL-2.1-or-later", "https://www.gnu.org/software/libc/"
LIBRARIES = (
    ("libibumad.so", *RDMA_CORE),
    ("libibmad.so", *RDMA_CORE),
    ("libibnetdisc.so", *RDMA_CORE),
    ("libncursesw.so", *NCURSES),
    ("libtinfo", *NCURSES),
    ("libsqlite3.so", "sqlite", "sqlite3", "blessing", "https://www.sqlite.org/"),
    ("libmicrohttpd.so", "libmicrohttpd", "libmicrohttpd", "LGPL-2.1-or-later",
     "https://www.gnu.org/software/libmicrohttpd/"),
    ("libyaml-0.so", "libyaml", "yaml-0.1", "MIT", "https://pyyaml.org/wiki/LibYAML"),
    ("libcrypt.so", "libxcrypt", "libcrypt", "LGPL-2.1-or-later", "https://github.com/besser82/libxcrypt"),
    ("libcurl", "curl", "libcurl", "curl", "https://curl.se/"),
    ("libsnappy.so", "snappy", "snappy", "BSD-3-Clause", "https://github.com/google/snappy"),
    ("libz.so", "zlib", "zlib", "Zlib", "https://zlib.net/"),
    ("libc.so", *GLIBC),
    ("libm.so", *GLIBC),
    ("libpthread.so", *GLIBC),
    ("libdl.so", *GLIBC),
    ("ld-linux", *GLIBC),
)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"^AC_INIT\(\[ibwire\], \[([0-9.]+)\]", read("configure.ac"), re.M).group(1)


def created():
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return output(os.path.join(SOURCE, "dist/changelog"), "date").strip() + "T00:00:00Z"
    return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def needed(program):
    """Sonames of the libraries that a program links with."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", program))


def library(soname):
    for start, *rest in LIBRARIES:
        if soname.startswith(start):
            return rest
    raise SystemExit(f"sbom.py: {soname} is not in LIBRARIES: add its name, licence and home page")


def library_version(name, module):
    if not module:
        return os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    found = output("pkg-config", "--modversion", module).strip()
    # 3.2.44.0 is the third interface, revision 2, of rdma-core 44.0.
    return ".".join(found.split(".")[2:]) if name == "rdma-core" else found


def package(name, release, licence, **more):
    return {
        "SPDXID": f"SPDXRef-Package-{name}",
        "name": name,
        "versionInfo": release,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:generic/{name}@{release}"}],
        **more,
    }


def relation(element, kind, related):
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}


def document(build, tarball):
    ibwire = package("ibwire", version(), LICENSE, supplier="Organization: ibwire developers", licenseConcluded=LICENSE,
                     copyrightText="Copyright (c) 2026 the ibwire developers", primaryPackagePurpose="APPLICATION")
    if tarball:
        ibwire["packageFileName"] = os.path.basename(tarball)
        with open(tarball, "rb") as file:
            ibwire["checksums"] = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.read()).hexdigest()}]
    packages = {}
    for program in PROGRAMS:
        for soname in needed(os.path.join(build, program)):
            name, module, licence, homepage = library(soname)
            packages[name] = package(name, library_version(name, module), licence, homepage=homepage,
                                     primaryPackagePurpose="LIBRARY")
    libraries = [packages[name] for name in sorted(packages)]
    packages = [ibwire, *libraries]
    # The namespace must be unique for each document, and no site has it yet: a UUID of the contents.
    unique = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([packages, created()]))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"ibwire-{version()}",
        "documentNamespace": f"https://spdx.org/spdxdocs/ibwire-{version()}-{unique}",
        "comment": "Versions of libraries are those of the host of the build. They are linked dynamically.",
        "creationInfo": {"created": created(), "creators": ["Organization: ibwire developers",
                                                            f"Tool: ibwire-sbom-{version()}"]},
        "packages": packages,
        "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", ibwire["SPDXID"]),
                          *(relation(ibwire["SPDXID"], "DYNAMIC_LINK", each["SPDXID"]) for each in libraries)],
    }


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 64
    json.dump(document(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
