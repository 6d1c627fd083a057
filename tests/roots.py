# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A minimal Debian or Ubuntu in a folder (debootstrap), for the tests of packages and platforms."""
import glob
import os
import re
import shutil
import tempfile

from lib import run, skip_all

# debootstrap knows where these are.
UBUNTU_SUITES = "jammy",
UBUNTU_KEYRING = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"


def sources():
    """Files with Debian's own archive in the configuration of apt, and its URI."""
    files, uri = [], ""
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found = re.search(r"\S+://\S+/debian/?(?=\s)", file.read())
            if found:
                files.append(path)
                uri = found.group(0)
    if not uri:
        skip_all("apt has no source of Debian")
    return files, uri


class Root:
    """A minimal Debian or Ubuntu of a suite in a folder, which is removed in the end. Needs root and debootstrap."""

    def __init__(self, suite="bookworm"):
        self.suite = suite
        self.path = tempfile.mkdtemp(prefix="ibwire-root-", dir="/var/tmp")
        os.chmod(self.path, 0o755)  # users of services enter it

    def __enter__(self):
        if self.suite in UBUNTU_SUITES:
            # From the mirror that debootstrap knows; Debian has no package with its key.
            files, uri, components = [], (), "main,universe"
        else:
            files, *uri = sources()
            components = "main"
        options = [] if uri or os.path.exists(UBUNTU_KEYRING) else ["--no-check-gpg"]
        run("debootstrap", "--variant=minbase", "--components=" + components, *options, self.suite, self.path, *uri,
            timeout=1200)
        # Of another suite, the packages of debootstrap's own list of sources are enough.
        for name in ["/etc/resolv.conf", "/etc/hosts", *(files if self.suite == "bookworm" else [])]:
            shutil.copy(name, self.path + name)
        shutil.copytree("/etc/apt/apt.conf.d", self.path + "/etc/apt/apt.conf.d", dirs_exist_ok=True)
        # No service is started in a chroot.
        policy = self.path + "/usr/sbin/policy-rc.d"
        with open(policy, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(policy, 0o755)
        run("mount", "-t", "proc", "proc", self.path + "/proc")
        run("mount", "--bind", "/dev", self.path + "/dev")
        run("mount", "--bind", "/dev/pts", self.path + "/dev/pts")
        self.run("apt-get", "update")
        return self

    def __exit__(self, *exception):
        for name in "/dev/pts", "/dev", "/proc":
            run("umount", self.path + name, check=False)
        if not os.path.ismount(self.path + "/dev"):
            shutil.rmtree(self.path, ignore_errors=True)
        return False

    def run(self, *command, check=True, timeout=600):
        return run("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "chroot", self.path, *command, check=check,
                   timeout=timeout)
