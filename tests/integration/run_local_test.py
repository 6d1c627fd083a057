#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: reading of foreign trees
"""ibwire run --local: counters of each driver against independent sums, and the verdict (RDMA, TCP or neither).

The command changes counters in a tree of a host, so the expected values are known.
"""
import json
import os
import random
import re
import sys
import tarfile
import time

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from hosts import HW, PMA, Host
from lib import IBWIRE, SRCDIR, Tap, run

tap = Tap()
os.environ.update(IBWIRE_DB=os.path.abspath("none.db"))
MB, GB = 10**6, 10**9


def measured(root, changes, *options):
    """Run a command that writes {path: value} into a tree. Return the report, and what run() returns."""
    with open("change.sh", "w", encoding="ascii") as file:
        file.writelines(f"echo {value} >'{path}'\n" for path, value in changes.items())
    done = run(IBWIRE, "run", "--local", "--root", root, "--report", "report.json", *options, "--", "sh", "./change.sh", check=False)
    with open("report.json", encoding="ascii") as file:
        return json.load(file), done


def ports(report):
    return {port["name"]: port for port in report["ports"]}


# Counters of hw_counters with the same meaning, according to the documentation of their drivers.
SUMS = {
    "retransmits": {"packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err", "roce_adp_retrans", "sq_num_oos", "sq_num_to",
                    "to_retransmits", "seq_err_naks_rcvd", "tcpRetransSegs", "retrans_pkts"},
    "duplicates": {"duplicate_request", "rq_num_dup", "dup_req"},
    "out_of_sequence": {"out_of_sequence", "rq_num_oos", "oos_drop_count"},
    "rnr_naks": {"rnr_nak_retry_err", "sq_num_rnr", "rnr_naks_rcvd"},
    "cnp_sent": {"np_cnp_sent", "tx_cnp_pkts", "cnpSent"},
    "cnp_received": {"rp_cnp_handled", "rx_cnp_pkts", "cnpHandled"},
    "ecn_marked": {"np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd"},
    "xmit_bytes": {"tx_bytes", "ip4OutOctets", "ip6OutOctets"},
    "rcv_bytes": {"rx_bytes", "ip4InOctets", "ip6InOctets"},
}


def wanted(changes, path, unit):
    """The expected increase of each counter, from the changed files below a path."""
    deltas = {os.path.basename(file): value for file, value in changes.items() if file.startswith(path + "/")}
    sums = {key: sum(deltas[name] for name in names if name in deltas) for key, names in SUMS.items() if names & set(deltas)}
    if "port_xmit_data" in deltas:
        sums.update(xmit_bytes=unit * deltas["port_xmit_data"], rcv_bytes=unit * deltas["port_rcv_data"],
                    errors=deltas["symbol_error"] + deltas["port_rcv_errors"], link_downed=deltas["link_downed"])
    return sums


rng = random.Random(19)
for driver, unit in (("mlx5", 4), ("mlx4", 4), ("hfi1", 8), ("bnxt_re", 1), ("irdma", 1), ("efa", 1)):
    host = Host(f"driver-{driver}")
    path = f"{host.root}/{host.hca('renamed0', driver)}/ports/1"
    changes = {f"{path}/hw_counters/{name}": rng.randrange(1 << 40) for name in HW[driver]}
    if driver in ("mlx5", "mlx4", "hfi1"):
        changes.update({f"{path}/counters/{name}": rng.randrange(1 << 40) if "data" in name or "packets" in name else rng.randrange(100)
                        for name in PMA})
    report, done = measured(host.root, changes)
    port = ports(report)["renamed0/1"]
    sums = wanted(changes, path, unit)
    tap.equal(f"{driver}: sums of its counters", {key: port[key] for key in sums}, sums)
    tap.equal(f"{driver}: verdict", (report["verdict"], report["rdma_bytes"]), ("rdma", sums["xmit_bytes"] + sums["rcv_bytes"]))
    tap.equal(f"{driver}: counters that it does not have are null", [key for key in SUMS if port[key] is None],
              [key for key in SUMS if key not in sums])

# Old kernels have hw_counters of the device, and none of its ports.
host = Host("device-counters")
path = f"{host.root}/{host.hca('efa_0', 'efa')}"
os.rename(f"{path}/ports/1/hw_counters", f"{path}/hw_counters")
report, _ = measured(host.root, {f"{path}/hw_counters/tx_bytes": 5 * GB})
tap.equal("hw_counters of the device are counted", ports(report)["efa_0/1"]["xmit_bytes"], 5 * GB)


class Rails(Host):
    """A host with 4 rails, Ethernet, and IPoIB on the first rail."""

    def __init__(self, name, hcas=4):
        super().__init__(name)
        self.paths = [self.hca(f"mlx5_{i}", "mlx5") for i in range(hcas)]
        self.eth = self.net("eth0", device=self.pci(None, "ixgbe"))
        if hcas:
            self.ib0 = self.net("ib0", device=os.path.dirname(os.path.dirname(self.paths[0])), kind=32)

    def rdma(self, hca, words):
        return {f"{self.root}/{self.paths[hca]}/ports/1/counters/port_{way}_data": words for way in ("xmit", "rcv")}

    def tcp(self, net, count):
        return {f"{self.root}/{net}/statistics/{way}_bytes": count for way in ("tx", "rx")}


def verdict(name, host, changes, wanted, *words):
    report, done = measured(host.root, changes)
    tap.equal(f"{name}: verdict", (report["verdict"], done.status, done.err), (wanted, 0, ""))
    for word in words:
        tap.contains(f"{name}: {word}", "\n".join((report["text"], *report["notes"])), word)
    return report


host = Rails("even")
verdict("RDMA on all rails", host, {k: v for i in range(4) for k, v in host.rdma(i, GB).items()} | host.tcp(host.eth, 5 * MB), "rdma",
        "RDMA: 32.0 GB sent and received over 4 of 4 HCA ports (InfiniBand), evenness cv 0.00; TCP 10.0 MB (eth0)")
host = Rails("unused")
report = verdict("one rail of four unused", host, {k: v for i in range(3) for k, v in host.rdma(i, GB).items()}, "rdma",
                 "over 3 of 4 HCA ports", "unused, although the others of their kind were not: mlx5_3/1")
tap.equal("one rail of four unused: number of used ports, evenness", (report["ports_used"], report["evenness_cv"]), (3, 0.57735))
host = Rails("tcp")
verdict("TCP fallback", host, host.tcp(host.eth, 6 * GB) | host.rdma(0, 1000), "tcp",
        "TCP fallback: 12.0 GB sent and received over TCP (eth0); RDMA 8.0 kB over 4 HCA ports")
host = Rails("ipoib")
report = verdict("TCP over IPoIB is not RDMA, although HCAs carry it", host, host.tcp(host.ib0, 6 * GB) | host.rdma(0, 1550 * MB), "tcp",
                 "TCP fallback: 12.0 GB sent and received over TCP (ib0, which is IPoIB); RDMA 400 MB")
tap.equal("bytes of IPoIB are included in those of the HCA port", ports(report)["mlx5_0/1"]["xmit_bytes"], 4 * 1550 * MB)
host = Rails("neither")
verdict("neither", host, host.tcp(host.eth, 1000) | host.rdma(0, 1000), "neither", "RDMA 8.0 kB, TCP 2.0 kB")
host = Rails("mixed")
verdict("more data over TCP than over RDMA", host, host.tcp(host.eth, 10 * GB) | host.rdma(0, GB), "rdma", "RDMA: 8.0 GB", "more bytes over TCP")
host = Rails("storage")
verdict("storage over RDMA, and a job over TCP", host, host.tcp(host.eth, 50 * GB) | host.rdma(0, GB), "tcp", "RDMA 8.0 GB over 4 HCA ports")
host = Rails("no-hca", hcas=0)
verdict("TCP without HCAs", host, host.tcp(host.eth, 10 * GB), "tcp", "TCP, there is no HCA: 20.0 GB sent and received over TCP (eth0)")
host = Rails("representor", hcas=0)
rep = host.net("eth0_0", device="sys/devices/virtual/pf0")
host.file(f"{rep}/phys_port_name", "pf0vf0")
verdict("a representor with the traffic of the physical port", host, host.tcp(host.eth, 10 * GB) | host.tcp(rep, 10 * GB), "tcp", "20.0 GB sent")
host = Host("container")
eth0, bond = host.net("eth0"), host.net("br0")
os.mkdir(f"{host.root}/{bond}/bridge")
changes = {f"{host.root}/{net}/statistics/rx_bytes": 2 * GB for net in (eth0, bond, "sys/devices/virtual/net/lo")}
verdict("a container: its own interface, without bridge and loopback", host, changes, "tcp", "there is no HCA: 2.0 GB sent and received over TCP (eth0)")
host = Host("roce")
path = host.hca("mlx5_0", "mlx5", net="eth2", link_layer="Ethernet")
words = {f"{host.root}/{path}/ports/1/counters/port_xmit_data": GB}
verdict("RoCE", host, words, "rdma", "RDMA: 4.0 GB sent and received over 1 of 1 HCA port (RoCE); TCP 0 B")
host = Host("switchdev")
path = host.hca("mlx5_0", "mlx5", net="eth2", link_layer="Ethernet")
words = {f"{host.root}/{path}/ports/1/counters/port_xmit_data": GB, f"{host.root}/sys/class/net/eth2/statistics/tx_bytes": 5 * GB}
report = verdict("an interface that counts RDMA too", host, words, "rdma", "eth2 carried as much as mlx5_0/1: it may count RDMA too")
tap.equal("an interface that counts RDMA too adds one note", len(report["notes"]), 1)
host = Rails("signs")
path = f"{host.root}/{host.paths[0]}/ports/1/hw_counters"
verdict("retransmissions and congestion", host, host.rdma(0, GB) | {f"{path}/packet_seq_err": 3, f"{path}/local_ack_timeout_err": 4,
                                                                    f"{path}/out_of_sequence": 5, f"{path}/np_cnp_sent": 6,
                                                                    f"{path}/np_ecn_marked_roce_packets": 7}, "rdma",
        "7 retransmissions, 5 packets out of sequence, 6 congestion notifications sent, 7 packets with a congestion mark")

host = Host("no-net")
host.hca("mlx5_0", "mlx5")
verdict("HCAs without any interface", host, {}, "neither", "RDMA 0 B, TCP 0 B")
done = run(IBWIRE, "run", "--local", "--root", Host("bare").root, "--", "true")
tap.equal("a host without traffic has no table", len(done.err.splitlines()), 1)

# Counters that are reset, saturated or not readable.
host = Rails("reset")
host.file(f"{host.paths[0]}/ports/1/counters/port_xmit_data", 10**12)
report = verdict("counters that were reset", host, host.rdma(0, GB), "rdma", "RDMA: at least 8.0 GB")
tap.equal("counters that were reset are a lower bound", (ports(report)["mlx5_0/1"]["xmit_bytes"], ports(report)["mlx5_0/1"]["at_least"]),
          (4 * GB, ["xmit_bytes"]))
host = Rails("saturated")
host.file(f"{host.paths[0]}/ports/1/counters/link_downed", 250)
report, _ = measured(host.root, {f"{host.root}/{host.paths[0]}/ports/1/counters/link_downed": 255})
tap.equal("a saturated counter is a lower bound", (ports(report)["mlx5_0/1"]["link_downed"], ports(report)["mlx5_0/1"]["at_least"]), (5, ["link_downed"]))
host = Rails("no-pma", hcas=1)
for name in PMA:
    host.file(f"{host.paths[0]}/ports/1/counters/{name}", "N/A (no PMA)")
verdict("counters that are not readable", host, host.tcp(host.eth, GB), "unknown", "not known")

# Exit status and standard streams of the command; options that cannot be combined.
host = Rails("command")
done = run(IBWIRE, "run", "--local", "--root", host.root, "--", "sh", "-c", "echo out; echo err >&2; exit 7", check=False)
tap.equal("exit status and standard output of the command", (done.status, done.out), (7, "out\n"))
tap.result(re.match(r"err\nibwire: neither RDMA .* in [0-9.]+ m?s\nPORT ", done.err), "the report is on standard error", done)
tap.result(len(done.err.splitlines()) == 7 and max(map(len, done.err.splitlines()[2:])) < 120, "the report has one line for each port", done.err)
for command, status in (("./nowhere", 127), (host.root, 126)):
    tap.one_line(f"a command that cannot be executed: {status}",
                 run(IBWIRE, "run", "--local", "--report", "none.json", "--", command, check=False), status, command)
    tap.result(not os.path.exists("none.json"), "no file of a report is left", os.listdir())
done = run(IBWIRE, "run", "--local", "--report", "no/where.json", "--", "true", check=False)
tap.result(done.status == 0 and "no/where.json" in done.err, "a report that cannot be written is a warning", done)
tap.one_line("--root without --local", run(IBWIRE, "run", "--root", host.root, "--", "true", check=False), 64, "--root requires --local")
tap.one_line("a folder that is not a tree", run(IBWIRE, "run", "--local", "--root", ".", "--", "true", check=False), 64, "not a tree")
tap.one_line("an HTML report", run(IBWIRE, "run", "--local", "--report", "x.html", "--", "true", check=False), 64, "json or text")
tap.one_line("--local with --hosts", run(IBWIRE, "run", "--local", "--hosts", "a", "--", "true", check=False), 64, "cannot be combined")

# Logs of NCCL: a log of one host is compared with the tree of another host.
PREFIX = 'node01:7:7 [0] NCCL INFO '
with open("nccl.log", "w", encoding="ascii") as file:
    file.write(f'{PREFIX}NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB ; OOB eth0:10.0.0.1<0>\n')
    file.writelines(f'{PREFIX}Channel 0{i}/0 : 0[0] -> 8[0] [send] via NET/IB/{i}/GDRDMA\n' for i in range(4))
    file.write('\nnode01:7:7 [0] init.cc:1 NCCL WARN "quoted" \\ and more\n')
host = Rails("logged")
report, done = measured(host.root, {k: v for i in range(4) for k, v in host.rdma(i, GB).items()}, "--nccl", "nccl.log")
tap.equal("the log of NCCL agrees with the counters", [line["text"] for line in report["nccl"] if line["severity"] == "ok"][:1],
          ["NCCL reports 4 HCAs per host (InfiniBand) on 1 host with GDRDMA; the wire moved 16.0 GB over 4 rails, evenness 1.00"])
tap.contains("texts of NCCL are escaped in JSON", str(report["nccl"]), '"quoted" \\\\')
host = Rails("silent")
report, done = measured(host.root, {k: v for i in range(3) for k, v in host.rdma(i, GB).items()}, "--nccl", "nccl.log")
tap.equal("NCCL reports HCAs without traffic", report["nccl"][0],
          {"severity": "failure", "text": "NCCL reports IB on mlx5_3 of node01; that port moved nothing",
           "fix": "check that the log is of this job, which HCAs it used on each host (ibwire run --local), and NCCL_IB_HCA"})
# An all_reduce of 10 MiB, 20 iterations in and out of place: each of two hosts receives 400 MiB at least.
with open("table.log", "w", encoding="ascii") as file:
    file.write("# nThread 1 nGpus 1 minBytes 10485760 maxBytes 10485760 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
               "#  Rank  0 Group  0 Pid 70 on node01 device  0 [0x1b] H100\n#  Rank  1 Group  0 Pid 70 on node02 device  0 [0x1b] H100\n"
               "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
               "10485760 2621440 float sum -1 1000 10.4 10.4 0 1000 10.4 10.4 0\n# Avg bus bandwidth : 10.4\n")
host = Rails("rates")
begin = time.monotonic()
done = run(IBWIRE, "run", "--local", "--root", host.root, "--nccl", "table.log", "--", "sh", "-c", "sleep 0.5; " + "; ".join(
    f"echo {value} >'{path}'" for path, value in host.rdma(0, 25 * 1024 * 1024).items()))
elapsed = time.monotonic() - begin
row = next(line.split() for line in done.err.splitlines() if line.startswith("mlx5_0/1"))
least, most = (8 * 100 * 1024 * 1024 / 1e9 / seconds for seconds in (elapsed, 0.5))
tap.result(all(least - 0.06 <= float(rate) <= most + 0.06 for rate in row[2:4]), "rates of a port, in Gb/s over the time of the command", row)
tap.equal("its share of what this host must receive by the tests", row[4:6], ["25.0", "%"])
report, done = measured(host.root, {}, "--nccl", "table.log")
tap.equal("and JSON has what it must receive", report["tests_least_rcv_bytes"], 400 * 1024 * 1024)
with open("table.log", encoding="ascii") as table, open("rooted.log", "w", encoding="ascii") as file:
    text = table.read()
    file.write(text + "# nccl-tests broadcast_perf\n" + text.replace("float sum -1", "float none 0"))
report, done = measured(host.root, {}, "--nccl", "rooted.log")
tap.equal("which is unknown with a test that has a root", report["tests_least_rcv_bytes"], None)
host = Rails("share-of-a-reset-counter")
host.file(f"{host.paths[0]}/ports/1/counters/port_rcv_data", 10**12)
done = run(IBWIRE, "run", "--local", "--root", host.root, "--nccl", "table.log", "--", "sh", "-c", "; ".join(
    f"echo {value} >'{path}'" for path, value in host.rdma(0, 25 * 1024 * 1024).items()))
tap.contains("the share of a counter that was reset is a lower bound", done.err, " >=25.0 %")
report, done = measured(host.root, {}, "--nccl", "nowhere.log")
tap.result(done.status == 0 and report["nccl"] == [] and "cannot read nowhere.log" in done.err, "a missing log is a warning", done)
done = run(IBWIRE, "run", "--local", "--root", host.root, "--nccl", "nccl.log", "--", "true", check=False)
tap.contains("the report as text has the check of NCCL", done.err, "nccl: failure: NCCL reports 4 HCAs per host (InfiniBand) on 1 host with GDRDMA; the wire moved nothing")

# The command runs, whatever the report is written to.
os.mkfifo("pipe")
done = run(IBWIRE, "run", "--local", "--root", host.root, "--report", "pipe", "--", "echo", "it ran", check=False)
tap.equal("a pipe that nothing reads does not delay the command", (done.status, done.out), (0, "it ran\n"))
tap.contains("and the report is missing with a reason", done.err, "no process reads this pipe")
with open("old.json", "w", encoding="ascii") as file:
    file.write("{}")
run(IBWIRE, "run", "--local", "--root", host.root, "--report", "old.json", "--", "cat", "old.json", check=False)
with open("old.json", encoding="ascii") as file:
    tap.result("verdict" in file.read(), "the report replaces the old one")

# Published trees: all ports, with increments of this test.
for name, octets in (("h100-8-ndr-1-bond", {}), ("hfi1-mlx4-mlx5", {"hfi1_0/1": 8})):
    file = f"{SRCDIR}/../shared/data/sysfs/{name}.tar.gz"
    if not os.path.exists(file):
        tap.skip(name, "the published trees are not available")
        continue
    with tarfile.open(file) as tar:
        tar.extractall(name)
    root = f"{name}/{os.listdir(name)[0]}"
    sums, changes = {}, {}
    for hca in os.listdir(root):
        for port in os.listdir(f"{root}/{hca}/ports"):
            for key, way in (("xmit_bytes", "xmit"), ("rcv_bytes", "rcv")):
                path = f"{root}/{hca}/ports/{port}/counters/port_{way}_data"
                with open(path, encoding="ascii") as counter:
                    before = int(counter.read())
                increase = rng.randrange(GB, 2 * GB)
                changes[path] = before + increase
                sums[f"{hca}/{port}", key] = increase * octets.get(f"{hca}/{port}", 4)
    report, _ = measured(root, changes)
    tap.same(f"{name}: bytes of each port", {(port, key): value[key] for port, value in ports(report).items() for key in ("xmit_bytes", "rcv_bytes")},
             sums)
    tap.equal(f"{name}: sum of all ports", report["rdma_bytes"], sum(sums.values()))
tap.done()
