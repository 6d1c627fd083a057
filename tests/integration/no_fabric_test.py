#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: every error path of opening a device
"""Hosts from which ibwire cannot poll: one line with the reason and a remedy, exit status 69.

A host is simulated by a folder mounted over /sys/class in a mount namespace, with the files of the kernel's
InfiniBand drivers and ib_umad.
"""
import os
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, NO_MOUNT, Tap, can_mount, run, skip_all

tap = Tap()

# What libibumad 44 reads of a port (umad.c, get_port), with usual values.
PORT = {"lid": "0x7", "lid_mask_count": "0", "sm_lid": "0x1", "sm_sl": "0", "state": "4: ACTIVE", "phys_state": "5: LinkUp",
        "rate": "200 Gb/sec (4X HDR)", "cap_mask": "0xa651e848", "link_layer": "InfiniBand",
        "gids/0": "fe80:0000:0000:0000:b83f:d203:0012:3456", "pkeys/0": "0xffff"}
DEVICE = {"node_type": "1: CA", "fw_ver": "20.31.1014", "hca_type": "MT4123", "hw_rev": "0",
          "node_guid": "b83f:d203:0012:3456", "sys_image_guid": "b83f:d203:0012:3456"}


def host(name, umad=True, **port):
    """Create a folder like /sys/class, with device mlx5_0 and its port 1 as given; without a port: no device.
    umad: ib_umad is loaded."""
    root = os.path.abspath(name)
    files = {"infiniband_mad/abi_version": "5"} if umad else {"infiniband/version": ""}
    if port:
        files.update({f"infiniband/mlx5_0/{key}": value for key, value in DEVICE.items()})
        files.update({f"infiniband/mlx5_0/ports/1/{key}": value for key, value in {**PORT, **port}.items()})
    if port and umad:
        files.update({"infiniband_mad/umad0/ibdev": "mlx5_0", "infiniband_mad/umad0/port": "1"})
    for path, text in files.items():
        os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
        with open(f"{root}/{path}", "w", encoding="ascii") as file:
            file.write(text + "\n")
    return root


def on(root, *command, rights=True, device=True):
    """Run a command on such a host. /dev/infiniband/umad0 belongs to another user. Without rights the command runs as
    root without capabilities, so it cannot open the device but can read the checkout."""
    script = f"mount --bind '{root}' /sys/class || exit 99\n"
    if device:
        script += ("mount -t tmpfs none /dev || exit 99\nmkdir /dev/infiniband\nmknod -m 600 /dev/infiniband/umad0 c 10 99\n"
                   "chown 65534 /dev/infiniband/umad0\nmknod -m 666 /dev/null c 1 3\nmknod -m 666 /dev/urandom c 1 9\n")
    script += ("exec " if rights else "exec setpriv --bounding-set=-dac_override,-dac_read_search ") + '"$@"'
    return run("unshare", "-m", "sh", "-c", script, "sh", *command, check=False)


collect = [IBWIRE, "collect", "--once", "--db", os.path.abspath("fabric.db")]
if not can_mount("/sys/class"):
    skip_all(NO_MOUNT)

# Without the permission to open it, the shell prints an error too.
probe = on(host("closed", lid="0x7"), "sh", "-c", "exec 3<>/dev/infiniband/umad0", rights=False)
tap.contains("the device cannot be opened", probe.err, "Permission denied")
probe = on(host("probe", lid="0x7"), "ibstat", "mlx5_0", "1")
tap.result("State: Active" in probe.out and "Base lid: 7" in probe.out, "ibstat reads the simulated host", probe)

tap.one_line("no device", on(host("none"), *collect, device=False), 69, "no InfiniBand device",
             "load its driver and ib_umad")
tap.one_line("no such device", on(host("other", lid="0x7"), *collect, "-C", "mlx5_9"), 69, "mlx5_9",
             "'ibstat -l' lists them")
tap.one_line("no such port", on(host("port", lid="0x7"), *collect, "-P", "2"), 69, "port 2", "'ibstat' shows them")
tap.one_line("port down", on(host("down", state="1: DOWN", phys_state="2: Polling", lid="0x0", sm_lid="0x0"), *collect), 69,
             "mlx5_0 port 1 is Down", "check the cable")
tap.one_line("port not configured", on(host("init", state="2: INIT", lid="0x0", sm_lid="0x0"), *collect), 69,
             "mlx5_0 port 1 is Init", "that a subnet manager runs")
tap.one_line("no subnet manager", on(host("nosm", sm_lid="0x0"), *collect), 69,
             "no subnet manager", "start one (opensm)")
tap.one_line("Ethernet only", on(host("roce", link_layer="Ethernet"), *collect), 69,
             "Ethernet", "ibwire needs InfiniBand")
tap.one_line("no ib_umad", on(host("bare", umad=False, lid="0x7"), *collect), 69, "no umad device", "modprobe ib_umad")
tap.one_line("no permission", on(host("rights", lid="0x7"), *collect, rights=False), 69, "no permission", "run as root")
# No driver has the number of the device file.
tap.one_line("a broken device", on(host("broken", lid="0x7"), *collect), 69, "cannot open",
             "see the kernel log (dmesg)")
tap.one_line("no device file", on(host("file", lid="0x7"), *collect, device=False), 69, "cannot open",
             "see the kernel log (dmesg)")
tap.one_line("a damaged file in sysfs", on(host("damaged", state="\x7f~"), *collect), 69,
             "mlx5_0 port 1 is unknown", "check the cable")
os.unlink(host("missing", lid="0x7") + "/infiniband/mlx5_0/ports/1/state")
tap.one_line("a missing file in sysfs", on("missing", *collect), 69, "no InfiniBand device",
             "load its driver and ib_umad")
tap.result(not os.path.exists("fabric.db"), "no database is left where nothing was collected", os.listdir("."))

nothing = run(IBWIRE, "ports", "--db", os.path.abspath("nowhere.db"), check=False)
tap.one_line("no database", nothing, 69, "nowhere.db", "ibwire collect")
tap.done()
