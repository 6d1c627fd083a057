# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Trees of hosts as /sys and /proc have them, for tests of `ibwire doctor` and `ibwire run --local`.

The names of counters are those of the kernel's drivers: drivers/infiniband/hw/mlx5/counters.c, mlx4/main.c (diag_basic),
bnxt_re/hw_counters.c, irdma/verbs.c (irdma_hw_stat_names), efa/efa_verbs.c (EFA_DEFINE_STATS); the files of "counters"
those of drivers/infiniband/core/sysfs.c (PORT_PMA_ATTR), which hfi1/mad.c fills with FLITs of 8 bytes.
"""
import os

PMA = ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets", "symbol_error", "link_downed", "port_rcv_errors",
       "port_xmit_discards", "port_xmit_wait")
HW = {
    "mlx5": ("rx_write_requests", "rx_read_requests", "out_of_buffer", "out_of_sequence", "duplicate_request",
             "rnr_nak_retry_err", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err", "roce_adp_retrans",
             "rp_cnp_ignored", "rp_cnp_handled", "np_ecn_marked_roce_packets", "np_cnp_sent"),
    "mlx4": ("rq_num_oos", "sq_num_oos", "rq_num_dup", "sq_num_to", "sq_num_rnr", "sq_num_tree"),
    "hfi1": (),
    "bnxt_re": ("active_qps", "rx_pkts", "rx_bytes", "tx_pkts", "tx_bytes", "rx_roce_errors", "rx_roce_discards",
                "to_retransmits", "seq_err_naks_rcvd", "rnr_naks_rcvd", "dup_req", "oos_drop_count", "tx_cnp_pkts",
                "rx_cnp_pkts", "rx_ecn_marked_pkts"),
    "irdma": ("ip4InOctets", "ip4OutOctets", "ip6InOctets", "ip6OutOctets", "ip4InPkts", "ip4OutPkts", "ip6InPkts",
              "ip6OutPkts", "ip4InDiscards", "ip6InDiscards", "tcpRetransSegs", "cnpHandled", "cnpIgnored", "cnpSent",
              "RxECNMrkd", "iwInRdmaWrites"),
    "efa": ("tx_bytes", "tx_pkts", "rx_bytes", "rx_pkts", "rx_drops", "rdma_read_wrs", "recv_wrs", "retrans_pkts"),
}
# Driver: kernel module of the PCI device, link layer, node type, rate.
KINDS = {
    "mlx5": ("mlx5_core", "InfiniBand", "1: CA", "400 Gb/sec (4X NDR)"),
    "mlx4": ("mlx4_core", "InfiniBand", "1: CA", "56 Gb/sec (4X FDR)"),
    "hfi1": ("hfi1", "InfiniBand", "1: CA", "100 Gb/sec (4X EDR)"),
    "bnxt_re": ("bnxt_en", "Ethernet", "1: CA", "200 Gb/sec (4X HDR)"),
    "irdma": ("ice", "Ethernet", "1: CA", "100 Gb/sec (4X EDR)"),
    "efa": ("efa", "Unknown", "7: unspecified", "100 Gb/sec (4X EDR)"),
}


class Host:
    """A tree with the devices that are added. Counters are 0; see count()."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.slots, self.bridges = 0, 1  # bridges: levels of PCIe switches above a device
        for path in ("sys/class/infiniband", "sys/class/net", "sys/class/iommu", "sys/bus/pci/devices"):
            os.makedirs(f"{self.root}/{path}")
        self.file("proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet")
        self.file("proc/self/limits", "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  unlimited  unlimited  bytes")
        self.file("proc/self/mounts", "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=65536000k 0 0")
        self.file("proc/sys/kernel/osrelease", "6.8.0-45-generic")
        self.net("lo", kind=772)

    def file(self, path, text):
        os.makedirs(os.path.dirname(f"{self.root}/{path}"), exist_ok=True)
        with open(f"{self.root}/{path}", "w", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def link(self, path, target):
        """A relative link, as sysfs has them; both paths are in the tree."""
        os.makedirs(os.path.dirname(f"{self.root}/{path}"), exist_ok=True)
        os.symlink(os.path.relpath(target, os.path.dirname(path)), f"{self.root}/{path}")

    def pci(self, switch, module, kind="0x020700", vendor="0x15b3", numa=0):
        """A device below a port of PCIe switch number `switch`, or with None below a root port of its own."""
        self.slots += 1
        bridge = f"sys/devices/pci0000:{numa:02x}/0000:{numa:02x}:{switch if switch is not None else self.slots + 8:02x}.0"
        if switch is not None:
            bridge += f"/0000:a{switch}:00.0/0000:b{switch}:{self.slots:02x}.0" * self.bridges
        device = f"{bridge}/0000:{self.slots:02x}:00.0"
        while bridge.count("/") > 2:
            self.config(bridge)
            bridge = os.path.dirname(bridge)
        for file, text in {"class": kind, "vendor": vendor, "numa_node": numa, "current_link_speed": "32.0 GT/s PCIe",
                           "max_link_speed": "32.0 GT/s PCIe", "current_link_width": 16, "max_link_width": 16}.items():
            self.file(f"{device}/{file}", text)
        os.makedirs(f"{self.root}/sys/bus/pci/drivers/{module}", exist_ok=True)
        self.link(f"{device}/driver", f"sys/bus/pci/drivers/{module}")
        self.link(f"sys/bus/pci/devices/{os.path.basename(device)}", device)
        return device

    def config(self, bridge, acs=0):
        """PCI configuration space of a bridge, with an ACS capability."""
        space = bytearray(4096)
        space[0x100:0x108] = (0x000d | 1 << 16).to_bytes(4, "little") + bytes([0, 0]) + acs.to_bytes(2, "little")
        os.makedirs(f"{self.root}/{bridge}", exist_ok=True)
        with open(f"{self.root}/{bridge}/config", "wb") as file:
            file.write(space)

    def gpu(self, switch, numa=0):
        return self.pci(switch, "nvidia", kind="0x030200", vendor="0x10de", numa=numa)

    def hca(self, name, driver, switch=None, numa=0, ports=1, net=None, pci=True, **values):
        """An HCA. values: of all its ports, and of the device (fw_ver, board_id). net: its network interface."""
        module, layer, node_type, rate = KINDS[driver]
        device = self.pci(switch, module, numa=numa) if pci else None
        path = f"{device}/infiniband/{name}" if pci else f"sys/class/infiniband/{name}"
        if pci:
            self.link(f"sys/class/infiniband/{name}", path)
            self.link(f"{path}/device", device)
        for file, text in {"fw_ver": "28.41.1000", "board_id": f"{driver}_board", "hca_type": "MT4129", "node_type": node_type,
                           "node_guid": f"b83f:d203:0012:{3456 + self.slots}"}.items():
            self.file(f"{path}/{file}", values.pop(file, text))
        for num in range(1, ports + 1):
            port = f"{path}/ports/{num}"
            texts = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": rate, "link_layer": layer, "lid": "0x7", "sm_lid": "0x1",
                     "gids/0": "fe80:0000:0000:0000:b83f:d203:0012:3456", "gid_attrs/types/0": "IB/RoCE v1", "pkeys/0": "0xffff"}
            for file, text in {**texts, **values}.items():
                self.file(f"{port}/{file}", text)
            if net:
                self.gid(port, 3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", net)
            for counter in PMA if driver in ("mlx5", "mlx4", "hfi1") else ():
                self.file(f"{port}/counters/{counter}", 0)
            for counter in HW[driver]:
                self.file(f"{port}/hw_counters/{counter}", 0)
        if net:
            self.net(net, device=device, mtu=9000)
        return path

    def gid(self, port, index, gid, kind, net):
        self.file(f"{port}/gids/{index}", gid)
        self.file(f"{port}/gid_attrs/types/{index}", kind)
        self.file(f"{port}/gid_attrs/ndevs/{index}", net)

    def net(self, name, device=None, kind=1, mtu=1500, state="up"):
        path = f"{device}/net/{name}" if device else f"sys/devices/virtual/net/{name}"
        self.link(f"sys/class/net/{name}", path)
        if device:
            self.link(f"{path}/device", device)
        for file, text in {"type": kind, "mtu": mtu, "operstate": state, "dev_port": 0}.items():
            self.file(f"{path}/{file}", text)
        for counter in ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets", "tx_errors", "rx_errors", "tx_dropped", "rx_dropped"):
            self.file(f"{path}/statistics/{counter}", 0)
        return path
