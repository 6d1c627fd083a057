#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: netfiles
"""ibwire topology slurm, slurm-yaml and labels: on generated and published fabrics, without a fabric.

The truth is in the text of the net file (tests/host_tree.py), and in the names of the generator. tests/slurm/topology
loads the files into a real Slurm.
"""
import difflib
import json
import os
import random
import re
import stat
import sys

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from host_tree import NAME, Net, expand, read_conf, wrong
from lib import IBWIRE, IBWIRE_SIM, Tap, read_file, run, shared_data

tap = Tap()
GENERATED = {
    "two tiers": "tree2 --leafs 6 --hosts 12 --spines 4 --management 0",
    "three tiers": "tree3 --pods 3 --leafs 4 --hosts 4 --spines 4 --cores 8 --management 0",
    "8 rails": "rail --units 3 --hosts 6 --rails 8 --spines 8 --management 2",
    "2 rails": "rail --units 4 --hosts 5 --rails 2 --spines 3 --management 1",
    "one unit": "rail --units 1 --hosts 4 --rails 4 --spines 2 --management 0",
    "2 HCAs on one leaf": "tree2 --leafs 4 --hosts 6 --rails 2 --spines 3 --management 3",
}
# Published dumps: hosts of the compute network, and their number, as documentation of the dumps and their names state.
DUMPS = {
    "dgx-ndr-582ca-40sw": (r"[ab]\d\d-p1-dgx-\d\d-c\d\d|ubuntu", 120),
    "fdr10-144ca-8sw": (r"[a-z]+\d*", 144),
    "hdr-director-faked": (r"RMD\d+", 10),
    "mixed-6ca-2sw": (r"r-ufm\d+", 5),
    "taurus-fdr-2104ca-211sw": (r"taurus(i\d+|smp\d+|phi\d+|export\d+|knl\d+|gw\d+)|venus|tux.*", None),
}
LABELS = ["network.topology.nvidia.com/" + word for word in ("leaf", "spine", "core")]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def ibwire(word, path, *options, check=True):
    return run(IBWIRE, "topology", word, "--from", path, *options, check=check)


def conf(path, *options):
    return read_conf(ibwire("slurm", path, *options).out)


def above(switches, host):
    """The switches above a host, the nearest first."""
    parent = {child: name for name, (_, below) in switches.items() for child in below}
    at = next(name for name, (hosts, _) in switches.items() if host in hosts)
    names = [at]
    while at in parent:
        at = parent[at]
        names.append(at)
    return names


def check_yaml(name, path, switches):
    """topology.yaml: keys and types as topology.yaml(5) of Slurm 25.05 has them, and the same tree."""
    try:
        import yaml
    except ImportError:
        tap.skip(f"{name}: topology.yaml", "python3-yaml is not installed")
        return
    tree, block = yaml.safe_load(ibwire("slurm-yaml", path).out)
    tap.equal(f"{name}: keys of topology.yaml", (sorted(tree), sorted(block), list(tree["tree"]), sorted(block["block"])),
              (["cluster_default", "topology", "tree"], ["block", "cluster_default", "topology"], ["switches"], ["block_sizes", "blocks"]))
    tap.equal(f"{name}: names and defaults", (tree["topology"], tree["cluster_default"], block["topology"], block["cluster_default"]),
              ("tree", True, "block", False))
    found = {}
    for item in tree["tree"]["switches"]:
        extra = item.keys() - {"switch", "nodes", "children"}
        found[item["switch"]] = (expand(item.get("nodes", "")), expand(item.get("children", "")))
        if extra or not all(isinstance(value, str) for value in item.values()):
            tap.result(False, f"{name}: an item of switches", item)
    tap.equal(f"{name}: topology.yaml has the tree of topology.conf", found, switches)
    blocks = {item["block"]: expand(item["nodes"]) for item in block["block"]["blocks"]}
    tap.equal(f"{name}: blocks are the leaves", blocks, {leaf: hosts for leaf, (hosts, _) in switches.items() if hosts})
    tap.equal(f"{name}: the base block is the smallest one", block["block"]["block_sizes"], [min(map(len, blocks.values()))])


def check_labels(name, path, switches):
    rows = json.loads(ibwire("labels", path).out)
    tap.equal(f"{name}: labels", {row["node"]: list(row["labels"].items()) for row in rows},
              {host.lower(): list(zip(LABELS, above(switches, host))) for hosts, _ in switches.values() for host in hosts})
    values = {value for row in rows for value in row["labels"].values()}
    tap.result(all(NAME.fullmatch(value) and value[-1].isalnum() for value in values), f"{name}: values that Kubernetes accepts", values)


def check_fabric(name, path, compute):
    net = Net(read_file(path))
    hosts = net.switches_of(compute)
    switches = conf(path)
    tap.equal(f"{name}: {len(hosts)} hosts, each once", wrong(switches, hosts, net.parts(hosts)), [])
    check_yaml(name, path, switches)
    check_labels(name, path, switches)
    return switches, hosts


def shuffled(text, seed):
    """The same fabric with its nodes in another order."""
    head, *nodes = re.split(r"(?m)^(?=vendid=)", text)
    random.Random(seed).shuffle(nodes)
    return head + "".join(nodes)


def changed(before, after):
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


def generated():
    for name, options in GENERATED.items():
        path = write(name.replace(" ", "-") + ".net", run(IBWIRE_SIM, "net", *options.split()).out)
        with tap.part(name):
            switches, hosts = check_fabric(name, path, r"node\d+")
            net = Net(read_file(path))
            units = {}
            for host, leaves in hosts.items():
                # "leaf-u01-r3" is of unit 1, "leaf-p02-3" of pod 2.
                units[host] = {re.sub(r"-r\d+$", "", re.search("leaf-[a-z0-9-]*", net.descriptions[leaf])[0]) for leaf in leaves}
            tap.equal(f"{name}: a leaf for each unit", sorted(sorted(nodes) for nodes, _ in switches.values() if nodes),
                      sorted(sorted(host for host in units if units[host] == unit) for unit in map(set, {tuple(u) for u in units.values()})))
            text = ibwire("slurm", path).out
            tap.equal(f"{name}: the order of the file does not matter",
                      {ibwire("slurm", write("shuffled.net", shuffled(read_file(path), seed))).out for seed in range(3)}, {text})


def published():
    for name, (compute, count) in DUMPS.items():
        path = shared_data(f"topology/{name}.ibnetdiscover")
        if not path:
            tap.skip(name, "it is not here")
            continue
        with tap.part(name):
            _, hosts = check_fabric(name, path, compute)
            if count is not None:
                tap.equal(f"{name}: number of hosts", len(hosts), count)
    for name in ("qdr-ddr-89ca-11sw", "sdr-4ca-2sw"):
        path = shared_data(f"topology/{name}.ibnetdiscover")
        if not path:
            tap.skip(name, "it is not here")
            continue
        none = ibwire("slurm", path, check=False)
        tap.equal(f"{name}: hosts without names", (none.status, none.out), (69, ""))
        tap.contains(f"{name}: the warning names the reason and the option", none.err, "no name in the fabric; --hosts-map gives one")
        net = Net(read_file(path))
        names = {node: f"host{number}" for number, node in enumerate(node for node in net.descriptions if node.startswith("H-"))}
        write("guids.map", "".join(f"0x{node[2:]} {host}\n" for node, host in names.items()))
        switches = conf(path, "--hosts-map", "guids.map")
        at = {host: frozenset(net.peers[node]) for node, host in names.items()}
        tap.equal(f"{name}: hosts with the names of a map", wrong(switches, at, net.parts(at)), [])


def changes():
    """Of two outputs, only that differs which is different in the fabric."""
    path = "8-rails.net"
    text = read_file(path)
    before = ibwire("slurm", path).out
    head, *nodes = re.split(r"(?m)^(?=vendid=)", text)
    of_host = re.compile(r'\n\w+\t\d+ "H-[^"]*"\t*# "node0009 ')
    gone = [re.search(r'"(H-[^"]*)"', node)[1] for node in nodes if of_host.search(node)]
    less = head + "".join(node for node in nodes if not of_host.search(node))
    less = "".join(line for line in less.splitlines(True) if not any(f'"{node}"' in line for node in gone))
    tap.equal("a host less", changed(before, ibwire("slurm", write("less.net", less)).out),
              ["- SwitchName=leaf-u02-r0 Nodes=node[0007-0012]", "+ SwitchName=leaf-u02-r0 Nodes=node[0007-0008,0010-0012]"])
    renamed = text.replace("node0009 ", "spare1 ")
    tap.equal("a host with another name", changed(before, ibwire("slurm", write("renamed.net", renamed)).out),
              ["- SwitchName=leaf-u02-r0 Nodes=node[0007-0012]", "+ SwitchName=leaf-u02-r0 Nodes=node[0007-0008,0010-0012],spare1"])
    write("one.map", "node0009 spare1\n")
    tap.equal("the same by a map", ibwire("slurm", path, "--hosts-map", "one.map").out, ibwire("slurm", "renamed.net").out)
    tap.contains("management hosts are reported as left out", ibwire("slurm", path).err, "2 hosts left out (storage or management; --all-hosts includes them): mgmt[0001-0002]")
    everyone = conf(path, "--all-hosts")
    tap.equal("management is included", sorted(host for hosts, _ in everyone.values() for host in hosts if host.startswith("mgmt")),
              ["mgmt0001", "mgmt0002"])


def output():
    path = "two-tiers.net"
    text = ibwire("slurm", path).out
    write("topology.conf", "old\n")
    os.chmod("topology.conf", 0o640)
    done = ibwire("slurm", path, "--output", "topology.conf")
    tap.equal("a file is replaced", (done.out, read_file("topology.conf"), stat.S_IMODE(os.stat("topology.conf").st_mode)), ("", text, 0o640))
    tap.equal("nothing else remains", [name for name in os.listdir() if name.startswith("topology.conf")], ["topology.conf"])
    tap.equal("- is the output", ibwire("slurm", path, "-o", "-").out, text)
    failed = ibwire("slurm", path, "-o", "absent/topology.conf", check=False)
    tap.one_line("a folder that is not there", failed, 74, "absent/topology.conf")
    none = ibwire("slurm", write("empty.net", re.sub(r'"node\d+ ', '"localhost ', read_file(path))), "-o", "topology.conf", check=False)
    tap.equal("without a host the file stays", (none.status, read_file("topology.conf")), (69, text))
    shape = run(IBWIRE, "topology", "slurm-yaml", "--from", path, "--block-size", "13", check=False)
    tap.contains("blocks that are too small", shape.err, "72 hosts are in no block, because their leaves have less than 13 hosts")
    labels = json.loads(ibwire("labels", "three-tiers.net", "--label-key", "fabric.topograph.run/tier-0", "--label-key", "pod").out)
    tap.equal("keys of labels", [list(row["labels"]) for row in labels], [["fabric.topograph.run/tier-0", "pod"]] * 48)


def bad_input():
    path = "two-tiers.net"
    write("bad.map", "node0001\nnode[0001-0003] x[1-2]\nnode0001 b,c\nnode0001 \"x\"\n\0node1 a\nnode0002 good\n")
    done = ibwire("slurm", path, "--hosts-map", "bad.map")
    tap.contains("lines of a map that are none", done.err, "bad.map: 4 lines are not two names, or two lists of equal length: ignored, the first is line 1")
    tap.contains("the others count", done.out, "good,node[0003-")
    tap.contains("a name that Slurm does not accept", done.err, '1 host left out (a name that Slurm does not accept; --hosts-map gives another): "x"')
    write("twice.map", "node[0001-0002] same\n".replace("[0001-0002]", "0001") + "node0002 same\n")
    tap.contains("two hosts of one name", ibwire("slurm", path, "--hosts-map", "twice.map").err,
                 "2 hosts left out (the name of another host; --hosts-map by GUID gives another): node[0001-0002]")
    for name, options, status, part in (
            ("no map", ("slurm", "--from", path, "--hosts-map", "absent"), 74, "absent"),
            ("a key that is none", ("labels", "--from", path, "--label-key", "a/b/c"), 64, "'a/b/c' is not the key of a label"),
            ("a key of slurm", ("slurm", "--from", path, "--label-key", "a"), 64, "--label-key requires labels"),
            ("a block of slurm", ("slurm", "--from", path, "--block-size", "4"), 64, "--block-size requires slurm-yaml"),
            ("a map of show", ("show", "--from", path, "--hosts-map", "absent"), 64, "--hosts-map requires slurm, slurm-yaml or labels"),
            ("a format", ("slurm", "--from", path, "--format", "json"), 64, "slurm does not take --format"),
            ("an argument", ("labels", "x", "--from", path), 64, "labels takes no argument")):
        tap.one_line(name, run(IBWIRE, "topology", *options, check=False), status, part)


def database():
    """The fabric of a database, now and in the past, is that of a file saved from it."""
    write("test.scenario", "about A host leaves\nshape rail units=2 hosts=4 rails=2 spines=2\nlength 2m\n")
    run(os.environ["IBWIRE_BUILD"] + "/tests/screen/record_db", "test.scenario", "fabric.db")
    for options in ([], ["--at", "-1m"]):
        run(IBWIRE, "topology", "save", "--db", "fabric.db", "saved.net", *options)
        for word in ("slurm", "slurm-yaml", "labels"):
            live = run(IBWIRE, "topology", word, "--db", "fabric.db", *options)
            tap.equal(f"{word} of a database {options}", (live.out, live.out.count("leaf-u01-r0") > 0), (ibwire(word, "saved.net").out, True))
    switches = read_conf(run(IBWIRE, "topology", "slurm", "--db", "fabric.db").out)
    hosts = Net(read_file("saved.net")).switches_of(r"node\d+")
    tap.equal("hosts of a database", (len(hosts), wrong(switches, hosts, 1)), (8, []))


for part in (generated, published, changes, output, bad_input, database):
    with tap.part(part.__name__):
        part()
tap.done()
