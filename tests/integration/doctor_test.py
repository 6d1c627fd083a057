#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: reading of foreign and damaged trees
"""ibwire doctor: every check on trees of hosts with each driver, on damaged trees, and on published ones; --capture."""
import json
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from hosts import Host
from lib import IBWIRE, NO_MOUNT, SRCDIR, Tap, can_mount, read_file, run

tap = Tap()
EMPTY = os.path.abspath("none.db")
os.environ.update(IBWIRE_DB=EMPTY)


def doctor(root, *options):
    """Rows of a tree, and the exit status."""
    done = run(IBWIRE, "doctor", "--root", root, "--format", "json", *options, check=False)
    return json.loads(done.out), done.status


def found(rows, status, check, subject=None, text=""):
    """The rows with this status, check, subject (None: any) and text."""
    return [row for row in rows if (row["status"], row["check"]) == (status, check) and text in row["text"] and
            subject in (None, row["subject"] or "")]


def expect(name, host, status, check, subject=None, text=""):
    rows, code = doctor(host.root)
    tap.result(found(rows, status, check, subject, text), name, [row for row in rows if row["check"] == check])
    wanted = 2 if found_status(rows, "fail") else 1 if found_status(rows, "warn") else 0
    tap.equal(f"{name}: exit status", code, wanted)
    return rows


def found_status(rows, status):
    return [row for row in rows if row["status"] == status]


# A host without faults, with every check that applies to InfiniBand.
good = Host("good")
for i in range(4):
    good.hca(f"mlx5_{i}", "mlx5", switch=i, numa=i // 2)
    good.gpu(switch=i, numa=i // 2)
good.net("mgmt0")
good.file("sys/module/nvidia_peermem/refcnt", 0)
good.file("sys/devices/system/node/node1/cpulist", "64-127")
rows, code = doctor("good")
tap.equal("a host without faults: exit status", (code, [row for row in rows if row["status"] in ("warn", "fail")]), (0, []))
tap.equal("every check except those of RoCE and of a database has a result", sorted({row["check"] for row in rows}),
          sorted(["hca", "devices", "rate", "link-layer", "firmware", "lid", "pcie", "gpudirect", "gpu-modules", "gpu-link", "distance",
                  "iommu", "acs", "memlock", "shm", "nccl-hca", "nccl-net", "sharp"]))
tap.equal("the nearest HCA of each GPU is listed", [row["text"] for row in rows if row["check"] == "distance"],
          [f"NVIDIA GPU, nearest HCA mlx5_{i}: PIX" for i in range(4)])

# Every driver: by the module, by the name alone, and by its counters alone, in a copy of /sys/class/infiniband.
WORDS = {"mlx5": "InfiniBand", "mlx4": "InfiniBand", "hfi1": "Omni-Path", "bnxt_re": "RoCE", "irdma": "RoCE", "efa": "EFA"}
for driver, word in WORDS.items():
    net = "eth2" if word == "RoCE" else None
    host = Host(f"by-module-{driver}")
    host.hca("renamed0", driver, net=net)
    expect(f"{driver} is known by its module", host, "pass", "hca", "renamed0/1", f"{word}, driver {driver}")
    host = Host(f"by-name-{driver}")
    host.hca(f"{driver}_0", driver, pci=False)
    rows, code = doctor(f"{host.root}/sys/class/infiniband")
    tap.result(found(rows, "pass", "hca", f"{driver}_0/1", f"{word}, driver {driver}"), f"{driver} is recognized by its name", rows)
    if driver == "hfi1":
        continue
    host = Host(f"by-counters-{driver}")
    host.hca("rdmap0s31", driver, pci=False)
    rows, code = doctor(f"{host.root}/sys")
    tap.result(found(rows, "pass", "hca", "rdmap0s31/1", f"{word}, driver {driver}"), f"{driver} is recognized by its counters", rows)
roce = Host("roce")
roce.hca("mlx5_0", "mlx5", net="eth2", link_layer="Ethernet")
rows = expect("RoCE of mlx5", roce, "pass", "hca", "mlx5_0/1", "RoCE, driver mlx5")
tap.result(found(rows, "pass", "gid", "mlx5_0/1", "RoCE v2 GID index 3 on eth2") and
           found(rows, "pass", "mtu", "mlx5_0/1", "MTU of eth2 is 9000"), "a RoCE port: GID and MTU", rows)
iwarp = Host("iwarp")
iwarp.hca("irdma0", "irdma", net="eth2", node_type="4: RNIC")
expect("iWARP", iwarp, "pass", "hca", "irdma0/1", "iWARP, driver irdma")

# Hosts with one fault each.
FAULTS = 0


def fault(name, status, check, subject, text, change=lambda host: None, driver="mlx5", hcas=2, **values):
    """A host with `hcas` HCAs; the values are those of the last one."""
    global FAULTS
    FAULTS += 1
    host = Host(f"fault-{FAULTS}")
    net = values.pop("net", None)
    paths = [host.hca(f"mlx5_{i}", driver, switch=0, net=net and f"{net}{i}", **(values if i == hcas - 1 else {})) for i in range(hcas)]
    host.paths = paths
    change(host)
    return expect(name, host, status, check, subject, text)


fault("a port is down", "fail", "hca", "mlx5_1/1", "Down (Polling)", state="1: DOWN", phys_state="2: Polling", rate="10 Gb/sec (4X)")
fault("a port that no SM configured", "fail", "hca", "mlx5_1/1", "Init", state="2: INIT", lid="0x0", sm_lid="0x0")
fault("an HCA without ports", "fail", "hca", "mlx5_1", "no port", change=lambda host: shutil.rmtree(f"{host.root}/{host.paths[1]}/ports"))
fault("a lane is down", "warn", "rate", "mlx5_1/1", "1X of 4X lanes", rate="100 Gb/sec (1X NDR)")
fault("slower than its board", "warn", "rate", "mlx5_1/1", "other ports of the same board (mlx5_board) run at 400 Gb/s",
      rate="200 Gb/sec (4X HDR)")
fault("different firmware", "warn", "firmware", "mlx5_0", "but mlx5_1 has 28.39.1002", fw_ver="28.39.1002")
fault("no LID", "fail", "lid", "mlx5_1/1", "LID 0 is not a unicast LID", lid="0x0")
fault("no subnet manager", "fail", "lid", "mlx5_1/1", "no subnet manager", sm_lid="0x0")
fault("only RoCE v1", "fail", "gid", "mlx5_0/1", "no RoCE v2 GID", hcas=1, link_layer="Ethernet")
fault("RoCE v2 without IPv4", "warn", "gid", "mlx5_0/1", "IPv6 only", hcas=1, link_layer="Ethernet",
      change=lambda host: host.gid(f"{host.paths[0]}/ports/1", 1, "fe80:0000:0000:0000:b83f:d203:0012:3456", "RoCE v2", "eth9"))
fault("a GID index that is not RoCE v2", "fail", "gid", "mlx5_0/1", "NCCL_IB_GID_INDEX is 0", hcas=1, link_layer="Ethernet", net="eth",
      change=lambda host: host.file("ibwire/environment", "NCCL_IB_GID_INDEX=0"))
fault("a small MTU", "warn", "mtu", "mlx5_0/1", "MTU of eth0 is 1500: RoCE packets have 1024 of 4096 bytes", hcas=1, link_layer="Ethernet",
      net="eth", change=lambda host: host.file("sys/class/net/eth0/mtu", 1500))
fault("a slow PCIe slot", "warn", "pcie", "mlx5_0", "16.0 GT/s x8 carries 126 Gb/s, less than the 400 Gb/s", hcas=1, change=lambda host: (
    host.file("sys/class/infiniband/mlx5_0/device/current_link_width", 8),
    host.file("sys/class/infiniband/mlx5_0/device/current_link_speed", "16.0 GT/s PCIe")))
fault("fewer PCIe lanes than possible", "warn", "pcie", "mlx5_0", "x8 of 32.0 GT/s x16", hcas=1, rate="200 Gb/sec (4X HDR)",
      change=lambda host: host.file("sys/class/infiniband/mlx5_0/device/current_link_width", 8))
fault("no GPUDirect", "fail", "gpudirect", "", "staged through the host", change=lambda host: host.gpu(0))
fault("DMA-BUF instead of nvidia_peermem", "pass", "gpudirect", "", "DMA-BUF", change=lambda host: (host.gpu(0), host.file(
    "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15")))
fault("a GPU on another NUMA node", "warn", "distance", "0000:03:00.0", "nearest HCA mlx5_0, mlx5_1: SYS", change=lambda host: host.gpu(5, numa=1))
fault("a GPU below the same host bridge", "pass", "distance", "0000:03:00.0", "PHB", change=lambda host: host.gpu(None))
fault("an IOMMU that translates", "warn", "iommu", "", "an IOMMU is enabled without iommu=pt",
      change=lambda host: host.link("sys/class/iommu/dmar0", "sys/devices/virtual/iommu/dmar0"))
fault("iommu=pt", "pass", "iommu", "", "iommu=pt", change=lambda host: (
    host.link("sys/class/iommu/dmar0", "sys/devices/virtual/iommu/dmar0"), host.file("proc/cmdline", "quiet intel_iommu=on iommu=pt")))
fault("an IOMMU group that translates", "warn", "iommu", "", "DMA of 1 HCA", change=lambda host: (
    host.file("sys/kernel/iommu_groups/7/type", "DMA-FQ"),
    host.link(f"{os.path.dirname(os.path.dirname(host.paths[0]))}/iommu_group", "sys/kernel/iommu_groups/7")))
fault("ACS", "warn", "acs", "", "ACS of 1 PCIe bridge (0000:00:00.0)", change=lambda host: (
    host.gpu(0), host.config("sys/devices/pci0000:00/0000:00:00.0", acs=0x1d)))
fault("ACS is readable by root only", "skip", "acs", "", "root", change=lambda host: (
    host.gpu(0), os.truncate(f"{host.root}/sys/devices/pci0000:00/0000:00:00.0/config", 64)))
fault("little locked memory", "fail", "memlock", "", "8.4 MB", change=lambda host: host.file(
    "proc/self/limits", "Max locked memory         8388608              8388608              bytes"))
fault("limited memory with CAP_IPC_LOCK", "warn", "memlock", "", "except with CAP_IPC_LOCK", change=lambda host: (
    host.file("proc/self/limits", "Max locked memory         8388608              8388608              bytes"),
    host.file("proc/self/status", "Name: x\nCapEff:\t000001ffffffffff\n")))
fault("/dev/shm of a container", "fail", "shm", "", "0.1 GB", change=lambda host: host.file(
    "proc/self/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0"))
fault("/dev/shm of default size", "pass", "shm", "", "/dev/shm has 67.6 GB", change=lambda host: (
    host.file("proc/self/mounts", "tmpfs /dev/shm tmpfs rw 0 0"), host.file("proc/meminfo", "MemTotal:       131981312 kB")))
for name, status, flow, text in (
        ("a lossy RoCE port", "warn", "pause 0 0\npfc 0x0 0 0", "PFC off, mask 0x00, 0 frames sent, 0 received; pause rx off tx off; ECN: 0 packets"),
        ("PFC", "pass", "pause 0 0\npause_frames 0 0\npfc 0x8 1234 99", "PFC on priorities 0x08, 1234 frames sent, 99 received; pause rx off tx off"),
        ("PFC and pause", "warn", "pause 1 1\npause_frames 7 9\npfc 0x8 1 2", "pause rx on tx on, 7 frames received, 9 sent; ECN: 0 packets marked")):
    fault(name, status, "flow-control", "mlx5_0/1", text, hcas=1, link_layer="Ethernet", net="eth",
          change=lambda host: host.file("ibwire/flow/eth0", flow))
fault("NCCL_IB_DISABLE", "fail", "nccl-hca", "", "NCCL uses TCP", change=lambda host: host.file("etc/nccl.conf", "NCCL_IB_DISABLE=1"))
fault("NCCL_IB_HCA selects nothing", "fail", "nccl-hca", "", "NCCL_IB_HCA=mlx4 selects no active port",
      change=lambda host: host.file("ibwire/environment", "NCCL_IB_HCA=mlx4"))
fault("NCCL_IB_HCA with whole names", "fail", "nccl-hca", "", "NCCL_IB_HCA==mlx5 selects no active port",
      change=lambda host: host.file("ibwire/environment", "NCCL_IB_HCA==mlx5"))
fault("NCCL_IB_HCA names an HCA that is not there", "warn", "nccl-hca", "", "no HCA port 'mlx5_7:1'",
      change=lambda host: host.file("ibwire/environment", "NCCL_IB_HCA==mlx5_0:1,mlx5_7:1"))
for value, ports in (("mlx5", "2 active ports: mlx5_0:1,mlx5_1:1"), ("^mlx5_0", "1 active port: mlx5_1:1"), ("=mlx5_1", "1 active port: mlx5_1:1"),
                     ("^=mlx5_1:1", "1 active port: mlx5_0:1"), ("mlx5_0:1", "1 active port: mlx5_0:1")):
    fault(f"NCCL_IB_HCA={value}", "pass", "nccl-hca", "", ports, change=lambda host: host.file("ibwire/environment", f"NCCL_IB_HCA={value}"))
rows = fault("ports of different kinds", "warn", "nccl-hca", "", "different kinds", link_layer="Ethernet", rate="200 Gb/sec (4X HDR)")
tap.equal("the fix selects the InfiniBand port", found(rows, "warn", "nccl-hca")[0]["fix"].split("example ")[1], "NCCL_IB_HCA==mlx5_0:1")
fault("NCCL_SOCKET_IFNAME names no interface", "fail", "nccl-net", "", "selects no interface", change=lambda host: (
    host.net("eth0"), host.file("ibwire/environment", "NCCL_SOCKET_IFNAME=bond")))
fault("NCCL_SOCKET_IFNAME selects by prefix", "pass", "nccl-net", "", "NCCL_SOCKET_IFNAME=eth: eth0, eth1", change=lambda host: (
    host.net("eth0"), host.net("eth1"), host.file("ibwire/environment", "NCCL_SOCKET_IFNAME=eth")))
fault("IPoIB is preferred by NCCL", "pass", "nccl-net", "", "is not set: ib0", change=lambda host: (host.net("eth0"), host.net("ib0", kind=32)))

# A design is no problem: no check has a warning or a failure for it, and it has one line.


def designed(name, check, text, make):
    global FAULTS
    FAULTS += 1
    host = Host(f"designed-{FAULTS}")
    host.net("mgmt0")
    make(host)
    rows, code = doctor(host.root)
    tap.equal(f"{name}: no problem", [row for row in rows if row["status"] in ("warn", "fail")] + [code], [0])
    tap.equal(f"{name}: one line", len([row for row in rows if row["check"] == check and text in row["text"]]), 1)
    return host


def down(host, path, port=1):
    host.file(f"{path}/ports/{port}/state", "1: DOWN")
    host.file(f"{path}/ports/{port}/phys_state", "3: Disabled")


def cards(host, both=()):
    """Four HCAs of two ports, the second of which is Active only in the cards of `both`."""
    for i in range(4):
        path = host.hca(f"mlx5_{i}", "mlx5", switch=i, ports=2)
        if i not in both:
            down(host, path, 2)


def functions(host, virtual):
    host.hca("mlx5_0", "mlx5", switch=0)
    for i in range(1, virtual + 1):
        path = host.hca(f"mlx5_{i}", "mlx5", switch=0)
        down(host, path)
        host.link(f"{os.path.dirname(os.path.dirname(path))}/physfn", "sys/bus/pci/devices/0000:01:00.0")


def storage(host):
    """Two rails, and two HCAs with faults that the job does not use."""
    for i in range(4):
        path = host.hca(f"mlx5_{i}", "mlx5", switch=i, **({"rate": "100 Gb/sec (1X NDR)", "lid": "0x0"} if i == 2 else {}))
        if i == 3:
            down(host, path)
    host.file("ibwire/environment", "NCCL_IB_HCA==mlx5_0,mlx5_1")


def domains(host, topology):
    """A virtual machine: a PCI domain for each device."""
    for i in range(4):
        kind, vendor = (("0x020700", "0x15b3"), ("0x030200", "0x10de"))[i % 2]
        address = f"000{i + 1}:00:00.0"
        device = f"sys/devices/LNXSYSTM:00/VMBUS:01/pci000{i + 1}:00/{address}"
        for file, text in {"class": kind, "vendor": vendor, "numa_node": -1}.items():
            host.file(f"{device}/{file}", text)
        host.link(f"sys/bus/pci/devices/{address}", device)
        if i % 2 == 0:
            path = host.hca(f"mlx5_{i // 2}", "mlx5", pci=False)
            os.makedirs(f"{host.root}/{device}/infiniband")
            os.rename(f"{host.root}/{path}", f"{host.root}/{device}/infiniband/mlx5_{i // 2}")
            host.link(f"sys/class/infiniband/mlx5_{i // 2}", f"{device}/infiniband/mlx5_{i // 2}")
            host.link(f"{device}/infiniband/mlx5_{i // 2}/device", device)
    host.file("sys/module/nvidia_peermem/refcnt", 3)
    if topology:
        host.file("ibwire/environment", "NCCL_TOPO_FILE=/opt/topo.xml")
        host.file("opt/topo.xml", "<system/>")


def spark(host, name):
    for i in range(2):
        path = host.hca(f"rocep{i}s0", "mlx5", net=f"enp{i}s0", link_layer="Ethernet", rate="200 Gb/sec (4X HDR)")
        host.file(f"{os.path.dirname(os.path.dirname(path))}/current_link_width", 4)
    gpu = host.gpu(None, numa=1)
    host.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05")
    if name:
        host.file(f"proc/driver/nvidia/gpus/{os.path.basename(gpu)}/information", "Model: \t\t NVIDIA GB10\nIRQ:   \t 7")


def passed_through(host):
    for i in range(2):
        host.pci(0, "vfio-pci")
    host.gpu(1)


designed("second ports that are not cabled", "hca", "Down on all HCAs of the board, probably not cabled; the other port of the card is Active: mlx5_[0-3]/2", cards)
designed("idle virtual functions", "hca", "virtual functions that are not in use (Down): mlx5_[1-16]/1", lambda host: functions(host, 16))
designed("HCAs that NCCL_IB_HCA does not select", "hca", "NCCL_IB_HCA does not select them: mlx5_[2-3]/1", storage)
for rate in "100 Gb/sec (2X HDR)", "200 Gb/sec (2X NDR)":
    designed(f"two lanes on all ports: {rate}", "rate", "4 active ports at full width",
             lambda host, rate=rate: [host.hca(f"mlx5_{i}", "mlx5", switch=i, rate=rate) for i in range(4)])
fault("two lanes on one of two ports", "warn", "rate", "mlx5_1/1", "2X of 4X lanes", rate="200 Gb/sec (2X NDR)")
fault("two lanes of EDR", "warn", "rate", "mlx5_1/1", "2X of 4X lanes", rate="50 Gb/sec (2X EDR)")
designed("a virtual machine with a file of its topology", "distance", "as in a virtual machine", lambda host: domains(host, True))
designed("GB10 by its name", "gpudirect", "GB10 does not support GPUDirect RDMA", lambda host: spark(host, True))
designed("GB10 by its hardware", "gpudirect", "GB10 does not support GPUDirect RDMA", lambda host: spark(host, False))
designed("HCAs of virtual machines", "devices", "bound to vfio-pci for virtual machines, not usable on this host: 0000:01:00.0, 0000:02:00.0",
         passed_through)


def elastic(host):
    """EFA, which needs no nvidia_peermem."""
    for i in range(2):
        host.hca(f"rdmap{i}s27", "efa", switch=i, lid="0x0", sm_lid="0x0")
        host.gpu(i)
    host.file("sys/module/efa_nv_peermem/refcnt", 0)


def superchips(host):
    """Grace Blackwell: HCAs and GPUs have host bridges of their own, and the PCIe link of a GPU is not its path to memory."""
    for i in range(2):
        host.hca(f"mlx5_{i}", "mlx5", numa=i)
    for i in range(4):
        gpu = host.gpu(None, numa=i // 2)
        os.rename(f"{host.root}/{os.path.dirname(gpu)}", f"{host.root}/sys/devices/pci000{i + 8}:00")
        gpu = f"sys/devices/pci000{i + 8}:00/{os.path.basename(gpu)}"
        os.unlink(f"{host.root}/sys/bus/pci/devices/{os.path.basename(gpu)}")
        host.link(f"sys/bus/pci/devices/{os.path.basename(gpu)}", gpu)
        host.file(f"{gpu}/current_link_width", 1)
        host.file(f"proc/driver/nvidia/gpus/{os.path.basename(gpu)}/information", "Model: \t\t NVIDIA GB200\nIRQ:   \t 7")
    host.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05")


designed("EFA with its own module for GPU memory", "gpudirect", "efa_nv_peermem is loaded", elastic)
designed("GPUs of Grace superchips", "gpudirect", "DMA-BUF", superchips)
fault("EFA without a module for GPU memory", "warn", "gpudirect", "", "neither efa_nv_peermem nor DMA-BUF", driver="efa",
      change=lambda host: host.gpu(0))
# And what is not as designed remains one.
host = Host("one-second-port")
cards(host, both=(0, 1, 2))
expect("a second port is down that other cards have Active", host, "fail", "hca", "mlx5_3/2", "Down (Disabled)")
fault("the second port of a single card is down", "warn", "hca", "mlx5_0/2", "Down", hcas=1, ports=2,
      change=lambda host: host.file(f"{host.paths[0]}/ports/2/state", "1: DOWN"))
host = Host("pod-of-functions")
for i in range(4):
    path = host.hca(f"mlx5_{i}", "mlx5", switch=i)
    host.link(f"{os.path.dirname(os.path.dirname(path))}/physfn", "sys/bus/pci/devices/0000:01:00.0")
down(host, path)
expect("one of the virtual functions of a pod is down", host, "fail", "hca", "mlx5_3/1", "Down")
host = Host("only-functions")
functions(host, 2)
down(host, "sys/class/infiniband/mlx5_0")
rows = expect("no port is Active", host, "fail", "hca", "mlx5_0/1", "Down")
tap.equal("no port is Active: virtual functions are not hidden", len(found(rows, "fail", "hca")), 3)
host = Host("vm-without-topology")
domains(host, False)
rows = expect("a virtual machine without a file of its topology", host, "warn", "distance", "", "NCCL has no file of the topology")
tap.equal("a virtual machine: one line", len(found_status(rows, "warn")), 1)
host = Host("no-driver")
host.pci(0, "mlx5_core")
expect("an adapter without an HCA", host, "fail", "hca", "0000:01:00.0", "(driver mlx5_core), but no HCA")

# Device nodes: permissions of programs for the HCAs.


def nodes(host, names, known=True, errors=None):
    for i, path in enumerate(host.paths):
        if known:
            host.file(f"sys/class/infiniband_verbs/uverbs{i}/ibdev", os.path.basename(path))
    os.makedirs(f"{host.root}/dev/shm")
    for name in names:
        host.file(f"dev/infiniband/{name}", "")
    for name, error in (errors or {}).items():
        host.file(f"ibwire/open/dev/infiniband/{name}", error)


fault("a container without /dev/infiniband", "fail", "devices", "", "no uverbs device", change=lambda host: nodes(host, ()))
fault("a container with the CM's device only", "fail", "devices", "", "no uverbs device", change=lambda host: nodes(host, ("rdma_cm",)))
fault("a container with one of two HCAs", "fail", "devices", "mlx5_1", "/dev/infiniband/uverbs1 is missing",
      change=lambda host: nodes(host, ("uverbs0", "rdma_cm")))
fault("the same, without the names of the devices", "warn", "devices", "", "a uverbs device for 1 of 2 HCAs",
      change=lambda host: nodes(host, ("uverbs0", "rdma_cm"), known=False))
host = Host("one-of-eight")
host.paths = [host.hca(f"mlx5_{i}", "mlx5", switch=0) for i in range(8)]
nodes(host, ("uverbs3",))
rows = expect("a pod with one of eight HCAs", host, "fail", "devices", "mlx5_0", "/dev/infiniband/uverbs0 is missing")
tap.equal("a pod with one of eight HCAs: one line for people",
          [line.split("  ")[-1].strip() for line in run(IBWIRE, "doctor", "--root", host.root, "--problems", check=False).out.splitlines() if
           "devices" in line and "fail" in line],
          ["mlx5_[0-2,4-7]: no device in /dev/infiniband: programs cannot open these HCAs"])
fault("all device nodes", "pass", "devices", "", "/dev/infiniband has 2 uverbs devices", change=lambda host: nodes(host, ("uverbs0", "uverbs1")))
fault("a cgroup without the device", "fail", "devices", "mlx5_0", "cannot be opened: Operation not permitted",
      change=lambda host: nodes(host, ("uverbs0", "uverbs1"), errors={"uverbs0": 1}))
fault("no permission", "fail", "devices", "mlx5_1", "cannot be opened: Permission denied",
      change=lambda host: nodes(host, ("uverbs0", "uverbs1"), errors={"uverbs1": 13}))
for limit, status in ("hca_handle=0 hca_object=0", "fail"), ("hca_handle=2 hca_object=2000", "warn"), ("hca_handle=max hca_object=max", None):
    rows = fault(f"rdma.max: {limit}", status or "pass", "devices", "mlx5_0" if status else "", "the cgroup limits" if status else "2 uverbs", change=lambda host: (
        nodes(host, ("uverbs0", "uverbs1")), host.file("sys/fs/cgroup/rdma.max", f"mlx5_0 {limit}")))

# GPUs, and variables of NCCL.
fault("a GPU with four lanes", "warn", "gpu-link", "0000:03:00.0", "PCIe x4 of x16 lanes", change=lambda host: host.file(
    f"{host.gpu(0)}/current_link_width", 4))
fault("a GPU that saves power", "pass", "gpu-link", "", "1 GPU with all PCIe lanes", change=lambda host: host.file(
    f"{host.gpu(0)}/current_link_speed", "2.5 GT/s PCIe"))
fault("nvidia_peermem is loaded and not in use", "pass", "gpudirect", "", "use count 0", change=lambda host: (
    host.gpu(0), host.file("sys/module/nvidia_peermem/refcnt", 0)))
fault("GDRCopy and GDS", "pass", "gpu-modules", "", "GDRCopy (gdrdrv) is loaded, GPUDirect Storage (nvidia_fs) is not loaded", change=lambda host: (
    host.gpu(0), host.file("sys/module/gdrdrv/refcnt", 0)))
fault("GeForce", "pass", "gpudirect", "", "GeForce does not support GPUDirect RDMA", change=lambda host: host.file(
    f"proc/driver/nvidia/gpus/{os.path.basename(host.gpu(0))}/information", "Model: NVIDIA GeForce RTX 4090"))


def variable(text, status, words, roce=False, check="nccl-env", files=()):
    """A variable of NCCL, on a host with a GPU."""
    fault(text or "no variable", status, check, None, words, **({"link_layer": "Ethernet", "net": "rdma"} if roce else {}), change=lambda host: (
        host.gpu(0), host.net("eth0"), host.net("docker0"), host.file("ibwire/environment", text), [host.file(file, "") for file in files]))


for text, status, words in (
        ("NCCL_NET_GDR_LEVEL=0", "warn", "GPUDirect RDMA is switched off"), ("NCCL_NET_GDR_LEVEL=LOC", "warn", "GPUDirect RDMA is switched off"),
        ("NCCL_NET_GDR_LEVEL=SYS", "pass", "no variable"), ("NCCL_P2P_DISABLE=1", "warn", "neither NVLink"), ("NCCL_P2P_DISABLE=0", "pass", "no variable"),
        ("NCCL_SHM_DISABLE=1", "warn", "shared memory"), ("NCCL_ALGO=Ring", "warn", "algorithm"), ("NCCL_PROTO=LL", "warn", "LL has less"),
        ("NCCL_IB_TIMEOUT=5", "warn", "within 67 ms"), ("NCCL_IB_TIMEOUT=22", "pass", "no variable"), ("NCCL_IB_TIMEOUT=23", "warn", "after more than 17 s"),
        ("NCCL_CROSS_NIC=1", "warn", "rings cross rails"), ("NCCL_CROSS_NIC=0", "pass", "no variable"), ("NCCL_DEBUG=TRACE", "warn", "slows the job"),
        ("NCCL_BUFFSIZE=1024", "warn", "smaller buffers"), ("NCCL_IB_TC=106", "warn", "no effect on InfiniBand"), ("NCCL_IB_SL=3", "skip", "virtual lane is not known"),
        ("NCCL_TOPO_FILE=/etc/nccl/topo.xml", "warn", "does not exist")):
    variable(text, status, words)
variable("NCCL_TOPO_FILE=/etc/nccl/topo.xml", "pass", "no variable", files=("etc/nccl/topo.xml",))
variable("NCCL_IB_TC=106", "skip", "DSCP 26, priority 3", roce=True)
variable("NCCL_SOCKET_IFNAME=lo", "fail", "loopback", check="nccl-net")
variable("NCCL_SOCKET_IFNAME=docker0", "fail", "a bridge of this host", check="nccl-net")
variable("NCCL_SOCKET_IFNAME=rdma1", "warn", "selects the interface of mlx5_1", roce=True, check="nccl-net")
variable("NCCL_SOCKET_IFNAME=^lo", "pass", "NCCL_SOCKET_IFNAME=^lo: ", check="nccl-net")
variable("NCCL_SOCKET_IFNAME=eth0", "pass", "NCCL_SOCKET_IFNAME=eth0: eth0", roce=True, check="nccl-net")
fault("a prefix that also selects mlx5_10", "warn", "nccl-hca", "mlx5_1", "'mlx5_1' is a prefix, which also selects mlx5_10", hcas=12,
      change=lambda host: host.file("ibwire/environment", "NCCL_IB_HCA=mlx5_1"))
fault("whole names", "pass", "nccl-hca", "", "selects 1 active port: mlx5_1:1", hcas=12,
      change=lambda host: host.file("ibwire/environment", "NCCL_IB_HCA==mlx5_1"))
fault("a GID index of a link-local address", "warn", "gid", "mlx5_1/1", "the IPv4 address has index 3", link_layer="Ethernet", net="eth", change=lambda host: (
    host.gid(f"{host.paths[1]}/ports/1", 1, "fe80:0000:0000:0000:b83f:d2ff:fe12:3456", "RoCE v2", "eth1"),
    host.gid(f"{host.paths[0]}/ports/1", 1, "fe80:0000:0000:0000:b83f:d2ff:fe12:3457", "RoCE v2", "eth0"),
    host.file("ibwire/environment", "NCCL_IB_GID_INDEX=1")))

# For people: problems first, equal results in one line, and problems alone.
mixed = Host("mixed")
for i in range(8):
    mixed.hca(f"mlx5_{i}", "mlx5", switch=i, numa=i // 4, **({"lid": "0x0"} if i == 5 else {}))
    mixed.gpu(switch=i, numa=i // 4)
text = run(IBWIRE, "doctor", "--root", mixed.root, check=False).out
lines = text.splitlines()
tap.equal("problems are first, with the action below them",
          [[line.split()[0] for line in lines[:4]], [line for line in lines if line.startswith("pass  hca")]],
          [["fail", "fix:", "fail", "fix:"], ["pass  hca           mlx5_[0-7]/1: Active (LinkUp), 400 Gb/sec (4X NDR), InfiniBand, driver mlx5"]])
tap.equal("PCIe links by NUMA node", [line.split("pcie")[1].strip() for line in lines if line.startswith("pass  pcie")],
          [f"mlx5_[{r}]: PCIe 32.0 GT/s x16, NUMA node {n}" for n, r in enumerate(("0-3", "4-7"))])
alone = run(IBWIRE, "doctor", "--root", mixed.root, "--problems", check=False)
tap.equal("--problems", (alone.status, {line.split()[0] for line in alone.out.splitlines()[:-1] if line[0] != " "}, alone.out.splitlines()[-1]),
          (2, {"fail"}, lines[-1]))
rows, _ = doctor(mixed.root, "--problems")
tap.equal("--problems as data", {row["status"] for row in rows}, {"fail"})

rows, _ = doctor(mixed.root, "--skip", "lid,gpudirect")
tap.equal("--skip", {row["check"] for row in rows} & {"lid", "gpudirect", "hca"}, {"hca"})
tap.one_line("--hosts-map without a log", run(IBWIRE, "doctor", "--hosts-map", "nowhere", check=False), 64, "requires --nccl")
tap.one_line("--skip of no check", run(IBWIRE, "doctor", "--skip", "lid,hcas", check=False), 64, "'hcas' is no check")

# Damaged trees: each is reported in one line, and the rest is examined.


def damaged(name, words, damage):
    host = Host(f"damaged-{len(os.listdir('.'))}")
    host.paths = [host.hca(f"mlx5_{i}", "mlx5") for i in range(2)]
    damage(host, f"{host.root}/{host.paths[1]}")
    rows, _ = doctor(host.root)
    tap.equal(f"{name}: one line", [words in row["text"] for row in rows if row["check"] == "files"], [True])
    tap.result(found(rows, "pass", "hca", "mlx5_0/1"), f"{name}: the other HCA is examined", rows)


def replace(path, make):
    os.unlink(path)
    make(path)


def big(path):
    with open(path, "w", encoding="ascii") as file:
        file.truncate(1 << 40)


damaged("a folder in place of a file", "is a folder", lambda host, path: replace(f"{path}/fw_ver", os.mkdir))
damaged("a huge file", "larger than 4096 bytes", lambda host, path: replace(f"{path}/ports/1/rate", big))
damaged("a loop of links", "symbolic links", lambda host, path: replace(f"{path}/board_id", lambda at: os.symlink("board_id", at)))
damaged("a named pipe", "not a regular file", lambda host, path: replace(f"{path}/fw_ver", os.mkfifo))
damaged("a counter that is not a number", "not a number", lambda host, path: host.file(f"{host.paths[1]}/ports/1/counters/link_downed", "-1"))
damaged("a file in place of an HCA", "not an HCA", lambda host, path: host.file("sys/class/infiniband/notes.txt", "hello"))
binary = Host("binary")
path = binary.hca("mlx5_0", "mlx5")
with open(f"{binary.root}/{path}/fw_ver", "wb") as file:
    file.write(b"\x1b[31m\xff\x00\r28.41\n")
text = run(IBWIRE, "doctor", "--root", binary.root, check=False).out
tap.result("\\x1b[31m\\xff" in text and "\x1b" not in text, "binary values are escaped", text)
os.unlink(f"{binary.root}/{os.path.dirname(os.path.dirname(path))}/driver")
os.makedirs(f"{binary.root}/sys/bus/pci/drivers/\x1b[31mred")
binary.link(f"{os.path.dirname(os.path.dirname(path))}/driver", "sys/bus/pci/drivers/\x1b[31mred")
text = run(IBWIRE, "doctor", "--root", binary.root, check=False).out
tap.result("links to an unprintable name" in text and "\x1b" not in text, "a link to an unprintable name is not followed", text)
bond = Host("bond")
path = bond.hca("mlx5_bond_0", "mlx5", net="eth2", link_layer="Ethernet")
bond.net("bond0", mtu=9000)
bond.link("sys/devices/virtual/net/bond0/lower_eth2", f"{os.path.dirname(os.path.dirname(path))}/net/eth2")
bond.file(f"{path}/ports/1/gid_attrs/ndevs/3", "bond0")
bond.file("ibwire/flow/eth2", "pause 0 0\npfc 0x8 1 2")
rows = expect("flow control below a bond", bond, "pass", "flow-control", "mlx5_bond_0/1", "eth2: PFC on priorities 0x08")
tap.result(found(rows, "pass", "mtu", "mlx5_bond_0/1", "MTU of bond0 is 9000"), "the MTU of a bond is that of the bond interface", rows)
escape = Host("escape")
escape.hca("mlx5_0", "mlx5")
replace(f"{escape.root}/sys/class/infiniband/mlx5_0/fw_ver", lambda at: os.symlink("/etc/hostname", at))
rows, _ = doctor(escape.root)
tap.result(found(rows, "skip", "firmware", "mlx5_0"), "a link out of the tree is not followed", rows)

# No HCA, no tree.
rows, code = doctor(Host("bare").root)
tap.equal("a host without an HCA: exit status, and one line", (code, len([row for row in rows if row["check"] == "hca"])), (2, 1))
tap.result(found(rows, "pass", "memlock") and found(rows, "pass", "shm"), "a host without an HCA: limits are checked", rows)
os.mkdir("empty")
tap.one_line("an empty folder", run(IBWIRE, "doctor", "--root", "empty", check=False), 64, "not a tree of a host")
tap.one_line("a missing folder", run(IBWIRE, "doctor", "--root", "nowhere", check=False), 74, "nowhere")
tap.one_line("--capture and --root", run(IBWIRE, "doctor", "--root", "good", "--capture", "x.tgz", check=False), 64, "cannot be combined")

# A capture of this host has the same results when it is examined.
live = run(IBWIRE, "doctor", "--capture", "here.tar.gz", check=False)
tap.result(live.status in (0, 1, 2) and "wrote" in live.err, "a capture of this host is written", live)
tap.equal("a capture is readable by its owner only", os.stat("here.tar.gz").st_mode & 0o777, 0o600)
with tarfile.open("here.tar.gz") as tar:
    top = {name.split("/")[0] for name in tar.getnames()}
    tar.extractall("here")
if os.path.exists("/sys/class"):
    again = run(IBWIRE, "doctor", "--root", f"here/{top.pop()}", check=False)
    tap.equal("the captured tree has the same results", (again.status, again.out), (live.status, live.out))
else:
    tap.skip("the captured tree has the same results", "/sys is not mounted")
tap.one_line("a capture that cannot be written", run(IBWIRE, "doctor", "--capture", "nowhere/x.tgz", check=False), 74, "nowhere/x.tgz")
with open("kept.tgz", "w", encoding="ascii") as file:
    file.write("of yesterday")
tap.one_line("a capture without gzip", run(IBWIRE, "doctor", "--capture", "kept.tgz", check=False, env={"PATH": "none"}), 69, "gzip")
tap.equal("leaves an existing file", read_file("kept.tgz"), "of yesterday")
os.chmod("kept.tgz", 0o644)
run(IBWIRE, "doctor", "--capture", "kept.tgz", check=False)
tap.equal("and a capture that replaces it is private", os.stat("kept.tgz").st_mode & 0o777, 0o600)
tap.equal("nothing else is left", [name for name in os.listdir(".") if ".part" in name], [])
# A pipe or a device such as /dev/full is never removed: --capture may name one.
os.mkfifo("pipe")
pipe = os.open("pipe", os.O_RDWR)
tap.one_line("a capture to a pipe without gzip", run(IBWIRE, "doctor", "--capture", "pipe", check=False, env={"PATH": "none"}), 69, "gzip")
tap.result(os.path.exists("pipe"), "the pipe is not removed")
os.close(pipe)

# The host of a tree, mounted as /sys, is captured completely; also with paths that do not fit a header of tar.
deep = Host("deep")
deep.bridges = 5
deep.hca("mlx5_0", "mlx5", switch=0)
deep.gpu(switch=0)
for host, name in (good, "good"), (deep, "deep"):
    if not can_mount("/sys"):
        tap.skip(f"a host with HCAs and GPUs is captured: {name}", NO_MOUNT)
        continue
    run("unshare", "-m", "sh", "-c", f"mount --bind '{host.root}/sys' /sys && exec \"$@\"", "sh", IBWIRE, "doctor", "--capture",
        f"{name}.tgz", check=False)
    with tarfile.open(f"{name}.tgz") as tar:
        top = {member.split("/")[0] for member in tar.getnames()}
        tar.extractall(f"captured-{name}")
    rows, _ = doctor(f"captured-{name}/{top.pop()}")
    host_checks = ("memlock", "shm", "nccl-net", "iommu", "gpudirect", "gpu-modules", "devices")
    tap.equal(f"a host with HCAs and GPUs is captured: {name}", [row for row in rows if row["check"] not in host_checks],
              [row for row in doctor(host.root)[0] if row["check"] not in host_checks])

# Logs of NCCL.
with open("nccl.log", "w", encoding="ascii") as log:
    log.write("node01:7:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:10.0.0.1<0>\n"
              "node01:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n")
done = run(IBWIRE, "doctor", "--root", good.root, "--format", "json", "--nccl", "nccl.log", check=False)
rows = json.loads(done.out)
tap.equal("a log of NCCL is checked", [(row["status"], row["text"].split(":")[0]) for row in rows if row["check"] == "nccl-log"],
          [("warn", "NCCL lists 1 HCA without any connection"),
           ("warn", "1 of 1 connection is staged through host memory (no GDRDMA)"),
           ("pass", "NCCL reports 1 HCA per host (InfiniBand) on 1 host without GDRDMA"), ("pass", "connections")])
tap.equal("a log of NCCL: exit status", done.status, 1)
tap.one_line("a missing log", run(IBWIRE, "doctor", "--nccl", "nowhere.log", check=False), 74, "nowhere.log")

# With a database: the rate that a port supports, and SHARP.
run(os.environ["IBWIRE_BUILD"] + "/tests/screen/sample_db", "fabric.db", 2, 1, 1)
known = Host("known")
for i, (rate, guid) in enumerate((("200 Gb/sec (4X HDR)", "0000:0000:0010:0000"), ("100 Gb/sec (4X EDR)", "0000:0000:0010:0010"))):
    known.hca(f"mlx5_{i}", "mlx5", rate=rate, node_guid=guid, board_id=f"board{i}")
rows, _ = doctor(known.root, "--db", "fabric.db")
tap.result(found(rows, "warn", "rate", "mlx5_1/1", "the port supports HDR") and found(rows, "pass", "rate", "", "highest rate"),
           "a port that is slower than it supports", rows)
tap.result(found(rows, "pass", "sharp", "", "no SHARP aggregation nodes"), "a fabric without SHARP has a result", rows)
tap.one_line("a missing database", run(IBWIRE, "doctor", "--db", "nowhere.db", check=False), 69, "nowhere.db")

# Published trees.
for name, wanted in (("h100-8-ndr-1-bond", {**{f"mlx5_{i}/1": "InfiniBand, driver mlx5" for i in (0, 1, 4, 5, 6, 7, 8, 9)},
                                            "mlx5_bond_0/1": "RoCE, driver mlx5"}),
                     ("hfi1-mlx4-mlx5", {"hfi1_0/1": "Omni-Path, driver hfi1", "mlx4_0/1": "InfiniBand, driver mlx4",
                                         "mlx4_0/2": "InfiniBand, driver mlx4", "mlx5_0/1": "InfiniBand, driver mlx5"})):
    file = f"{SRCDIR}/../shared/data/sysfs/{name}.tar.gz"
    if not os.path.exists(file):
        tap.skip(name, "the published trees are not available")
        continue
    with tarfile.open(file) as tar:
        tar.extractall(name)
    rows, code = doctor(f"{name}/{os.listdir(name)[0]}")
    tap.equal(f"{name}: ports", {row["subject"]: row["text"].split(", ", 2)[2] for row in rows if row["check"] == "hca"}, wanted)
    tap.result(code == 1 and found(rows, "warn", "nccl-hca", "", "different kinds"), f"{name}: ports of different kinds are a warning", rows)
tap.done()
