#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Manifests of Kubernetes: fields and types, names that refer to each other, and what the containers run.

SCHEMA has the fields that the manifests may use, as published in the API reference of Kubernetes (apps/v1, batch/v1,
core/v1) and of the Prometheus operator. Each check is tested on manifests with one fault.
"""
import contextlib
import copy
import fcntl
import glob
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.environ["IBWIRE_SRCDIR"] + "/tests")
from lib import IBWIRE, SRCDIR, Simulation, Tap, free_port, need, read_file, run, skip_all, stop, wait_for

need("ibsim", "opensm")
try:
    import yaml
except ImportError:
    skip_all("Python's yaml is not installed")
tap = Tap()
FOLDER = SRCDIR + "/dist/kubernetes"


def text(pattern=r"[^\n]+"):
    return lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value))


def number(low, high):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def boolean(value):
    return isinstance(value, bool)


def quantity(value):
    return number(1, 1 << 60)(value) or text(r"[1-9]\d*(m|[KMGT]i)?")(value)


def mapping(keys, values):
    return lambda found: isinstance(found, dict) and all(keys(key) and values(value) for key, value in found.items())


# Fields of an object; "!" marks a required one. A list has one element, a function decides about a value.
NAME, LABEL, ANY = text(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"), text(r"([a-z0-9.-]+/)?[A-Za-z0-9][\w.-]*"), text()
LABELS, WORDS, PATH, PORT = mapping(LABEL, text(r"|[\w.-]+")), [text(r"(?s).+")], text(r"/[\w./-]*"), number(1, 65535)
META = {"name!": NAME, "labels": LABELS}
SELECTOR = {"matchLabels!": LABELS}
PROBE = {"exec": {"command!": WORDS}, "httpGet": {"path!": PATH, "port!": NAME}, "initialDelaySeconds": number(0, 3600),
         "periodSeconds": number(1, 3600), "timeoutSeconds": number(1, 3600), "failureThreshold": number(1, 100)}
CONTAINER = {
    "name!": NAME, "image!": text(r"[a-z0-9./-]+:[\w.-]+"), "command": WORDS, "args": WORDS,
    "ports": [{"name!": text(r"[a-z0-9-]{1,15}"), "containerPort!": PORT}],
    "env": [{"name!": text(r"\w+"), "value": ANY, "valueFrom": {"fieldRef!": {"fieldPath!": ANY}}}],
    "securityContext": {"privileged": boolean, "allowPrivilegeEscalation": boolean, "runAsUser": number(0, 65535),
                        "runAsNonRoot": boolean, "readOnlyRootFilesystem": boolean,
                        "capabilities": {"drop": [text("[A-Z_]+")], "add": [text("[A-Z_]+")]}},
    "resources": {"requests": mapping(LABEL, quantity), "limits": mapping(LABEL, quantity)},
    "livenessProbe": PROBE, "readinessProbe": PROBE,
    "volumeMounts": [{"name!": NAME, "mountPath!": PATH, "readOnly": boolean}],
}
POD = {
    "containers!": [CONTAINER], "nodeSelector": LABELS,
    "automountServiceAccountToken!": lambda value: value is False, "hostNetwork": boolean,
    "tolerations": [{"key": LABEL, "operator": text("Exists|Equal"), "value": ANY,
                     "effect": text("NoSchedule|PreferNoSchedule|NoExecute")}],
    "terminationGracePeriodSeconds": number(0, 3600), "restartPolicy": text("Always|OnFailure|Never"),
    "securityContext!": {"seccompProfile!": {"type!": text("RuntimeDefault")}},
    "volumes": [{"name!": NAME, "hostPath": {"path!": PATH, "type": text("Directory|DirectoryOrCreate")},
                 "emptyDir": {"medium": text("Memory"), "sizeLimit": quantity},
                 "configMap": {"name!": NAME, "optional": boolean}, "persistentVolumeClaim": {"claimName!": NAME}}],
}
TEMPLATE = {"metadata": {"labels!": LABELS}, "spec!": POD}
SCHEMA = {
    ("apps/v1", "Deployment"): {"metadata!": META, "spec!": {
        "replicas": number(0, 1), "strategy": {"type!": text("Recreate|RollingUpdate")}, "selector!": SELECTOR,
        "template!": TEMPLATE}},
    ("apps/v1", "DaemonSet"): {"metadata!": META, "spec!": {"selector!": SELECTOR, "template!": TEMPLATE}},
    ("batch/v1", "Job"): {"metadata!": META, "spec!": {
        "completions": number(1, 9999), "parallelism": number(1, 9999), "completionMode": text("Indexed|NonIndexed"),
        "template!": TEMPLATE}},
    ("v1", "Service"): {"metadata!": META, "spec!": {
        "selector": LABELS, "publishNotReadyAddresses": boolean,
        "ports!": [{"name": NAME, "port!": PORT, "targetPort": NAME}]}},
    ("monitoring.coreos.com/v1", "PodMonitor"): {"metadata!": META, "spec!": {
        "selector!": SELECTOR, "podMetricsEndpoints": [{
            "port": NAME, "interval": text(r"\d+[smh]"), "path": PATH,
            "relabelings": [{"sourceLabels": [text(r"[a-z_]\w*")], "targetLabel": text(r"[a-z_]\w*"),
                             "replacement": ANY}]}]}},
    ("monitoring.coreos.com/v1", "PrometheusRule"): {"metadata!": META, "spec!": {"groups!": [{
        "name!": ANY, "interval": text(r"\d+[smh]"), "rules!": [{
            "alert!": text(r"[A-Z]\w*"), "expr!": text(r"(?s).+"), "for": text(r"\d+[smh]"),
            "labels": mapping(text(r"[a-z_]\w*"), ANY), "annotations": mapping(text(r"[a-z_]\w*"), text(r"(?s).+"))}]}]}},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"metadata!": META, "spec!": {
        "podSelector!": SELECTOR, "policyTypes!": [text("Ingress|Egress")],
        "ingress": [{"from!": [{"namespaceSelector": lambda value: value == {} or not faults_of_fields(value, SELECTOR, ""),
                                "podSelector!": SELECTOR}],
                     "ports!": [{"protocol": text("TCP"), "port!": NAME}]}]}},
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"): {"resources": [text(r"[\w./-]+")]},
}


def faults_of_fields(value, schema, place):
    """What is wrong with a value, by its place."""
    if callable(schema):
        return [] if schema(value) else [f"{place}: {value!r}"]
    if isinstance(schema, list):
        if not isinstance(value, list) or not value:
            return [f"{place}: no list"]
        return [fault for i, one in enumerate(value) for fault in faults_of_fields(one, schema[0], f"{place}[{i}]")]
    if not isinstance(value, dict):
        return [f"{place}: no object"]
    fields = {name.rstrip("!"): kind for name, kind in schema.items()}
    faults = [f"{place}: no {name[:-1]}" for name in schema if name.endswith("!") and name[:-1] not in value]
    for name, one in value.items():
        faults += (faults_of_fields(one, fields[name], f"{place}.{name}") if name in fields else
                   [f"{place}: unknown field {name}"])
    return faults


def pod_of(manifest):
    return manifest["spec"]["template"]["spec"] if "template" in manifest.get("spec", {}) else None


def faults_of_pod(manifest):
    """Names inside a pod refer to each other."""
    template, pod, faults = manifest["spec"]["template"], pod_of(manifest), []
    labels = template.get("metadata", {}).get("labels", {})
    if "selector" in manifest["spec"] and manifest["spec"]["selector"]["matchLabels"].items() - labels.items():
        faults.append("it does not select its pods")
    volumes = [volume["name"] for volume in pod.get("volumes", [])]
    faults += [f"volume {volume}: not one source" for volume in pod.get("volumes", []) if len(volume) != 2]
    mounted = [mount["name"] for container in pod["containers"] for mount in container.get("volumeMounts", [])]
    if sorted(volumes) != sorted(set(mounted)):
        faults.append(f"volumes {volumes}, mounted {mounted}")
    for name, what in (("containers", pod["containers"]), ("volumes", pod.get("volumes", []))):
        names = [one["name"] for one in what]
        faults += [f"{name}: {one} twice" for one in set(names) if names.count(one) > 1]
    for container in pod["containers"]:
        ports = {port["name"] for port in container.get("ports", [])}
        probes = [container[kind] for kind in ("livenessProbe", "readinessProbe") if kind in container]
        for probe in probes:
            if ("exec" in probe) + ("httpGet" in probe) != 1:
                faults.append(f"{container['name']}: a probe has one action")
            if probe.get("httpGet", {}).get("port", None) not in ports | {None}:
                faults.append(f"{container['name']}: a probe of another port than {ports}")
        if len(probes) == 2 and any(probes[0].get(kind) == probes[1].get(kind) != None for kind in ("exec", "httpGet")):
            faults.append(f"{container['name']}: readiness and liveness are the same")
        paths = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
        faults += [f"{container['name']}: {path} is mounted twice" for path in set(paths) if paths.count(path) > 1]
    return faults


def faults_between(manifests):
    """Services and monitors of a kustomization select pods of it, and name ports of theirs."""
    faults = []
    templates = [manifest["spec"]["template"] for manifest in manifests if pod_of(manifest)]
    for manifest in manifests:
        spec = manifest["spec"]
        if manifest["kind"] == "Service":
            selector, ports = spec["selector"], [port["targetPort"] for port in spec["ports"]]
        elif manifest["kind"] == "NetworkPolicy":
            selector, ports = spec["podSelector"]["matchLabels"], [port["port"] for rule in spec["ingress"] for port in rule["ports"]]
        elif manifest["kind"] == "PodMonitor":
            selector, ports = spec["selector"]["matchLabels"], [end["port"] for end in spec["podMetricsEndpoints"]]
        else:
            continue
        chosen = [one["spec"] for one in templates if selector and selector.items() <= one["metadata"]["labels"].items()]
        known = {port["name"] for pod in chosen for container in pod["containers"] for port in container.get("ports", [])}
        if not chosen or set(ports) - known:
            faults.append(f"{manifest['kind']}: selects {len(chosen)} pods with ports {known}, wants {ports}")
    return faults


def faults_of(manifests):
    faults = []
    for manifest in manifests:
        key = (manifest.get("apiVersion"), manifest.get("kind")) if isinstance(manifest, dict) else manifest
        schema = SCHEMA.get(key) if isinstance(key, tuple) and all(isinstance(word, str) for word in key) else None
        found = (faults_of_fields(manifest, {"apiVersion!": ANY, "kind!": ANY, **schema}, key[1]) if schema else
                 [f"unknown kind {key}"])
        faults += found or (faults_of_pod(manifest) if pod_of(manifest) else [])
    return faults


def faults_of_all(manifests):
    return faults_of(manifests) or faults_between(manifests)


def load(path):
    with open(path, encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def resources(folder):
    """The manifests of a kustomization and of those that it includes."""
    found = []
    for name in load(folder + "/kustomization.yaml")[0]["resources"]:
        path = os.path.join(folder, name)
        found += resources(path) if os.path.isdir(path) else load(path)
    return found


def places(value, at=()):
    """Each place in a manifest: the path of a key."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield at + (key,)
        if isinstance(one, (dict, list)):
            yield from places(one, at + (key,))


def faulty(manifests):
    """(manifests with one fault, what it is): a renamed key, or another type of a value."""
    for at in places(manifests):
        for fault in "name", "type":
            made = copy.deepcopy(manifests)
            holder = made
            for key in at[:-1]:
                holder = holder[key]
            if fault == "type":
                value = holder[at[-1]]
                holder[at[-1]] = {"x": 1} if not isinstance(value, dict) else "x"
            elif isinstance(holder, dict):
                holder[at[-1] + "~"] = holder.pop(at[-1])
            else:
                continue
            yield made, f"{fault} of {'.'.join(map(str, at))}"


# References that lead nowhere, and probes that are the same.
REFERENCES = (
    ("protocol: TCP", "protocol: tcp"), ("podSelector:\n    matchLabels:\n      app: ibwire", "podSelector:\n    matchLabels:\n      app: x"),
    ("- port: metrics\n      protocol", "- port: http\n      protocol"),
    ("targetPort: metrics", "targetPort: http"), ("  selector:\n    app: ibwire", "  selector:\n    app: x"),
    ("matchLabels:\n      app: ibwire", "matchLabels:\n      app: x"), ("name: tmp", "name: tmpfs"),
    ("path: /-/ready", "path: /-/healthy"), ("port: metrics", "port: http"), ("- containerPort: 9683\n          name: metrics",
                                                                              "- containerPort: 9683\n          name: http"))


def changed(manifests, old, new):
    """The manifests with one text replaced, which must be there."""
    before = yaml.safe_dump_all(manifests)
    assert old in before, old
    return list(yaml.safe_load_all(before.replace(old, new, 1)))


with tap.part("fields"):
    for path in sorted(glob.glob(FOLDER + "/**/*.yaml", recursive=True)):
        name, manifests = os.path.relpath(path, FOLDER), load(path)
        tap.equal(f"{name}: fields and names", faults_of(manifests), [])
        tap.equal(f"{name}: each fault of a field is found",
                  [what for made, what in faulty(manifests) if not faults_of(made)], [])
    for folder in "base", "prometheus":
        manifests = resources(f"{FOLDER}/{folder}")
        tap.equal(f"{folder}: objects refer to each other", faults_of_all(manifests), [])
        for old, new in REFERENCES:
            tap.result(faults_of_all(changed(manifests, old, new)), f"{folder}: {new!r} is found")
        if not shutil.which("kubectl"):
            tap.skip(f"{folder}: kubectl kustomize", "kubectl is not installed")
            continue
        rendered = yaml.safe_load_all(run("kubectl", "kustomize", f"{FOLDER}/{folder}").out)
        tap.equal(f"{folder}: kubectl kustomize", sorted(map(yaml.safe_dump, rendered)), sorted(map(yaml.safe_dump, manifests)))

with tap.part("rules"):
    rules = load(SRCDIR + "/dist/prometheus/ibwire.rules.yml")[0]
    tap.equal("the rules of the operator are those of Prometheus",
              [one["spec"] for one in resources(FOLDER + "/prometheus") if one["kind"] == "PrometheusRule"], [rules])
    for name in "kubernetes/prometheus/generate.sh", "prometheus/ibwire.rules.yml":
        os.makedirs(os.path.dirname(name), exist_ok=True)
        shutil.copy(f"{SRCDIR}/dist/{name}", name)
    run("sh", "kubernetes/prometheus/generate.sh")
    tap.equal("generate.sh writes prometheusrule.yaml", read_file("kubernetes/prometheus/prometheusrule.yaml"),
              read_file(FOLDER + "/prometheus/prometheusrule.yaml"))
    policy = next(one["spec"] for one in resources(FOLDER + "/base") if one["kind"] == "NetworkPolicy")
    tap.equal("all other traffic is denied in both directions", (policy["policyTypes"], "egress" in policy), (["Ingress", "Egress"], False))

# The collector and its metrics, as the containers run them: paths are those of the image and of the service.
pods = {path: pod_of(one) for path in glob.glob(FOLDER + "/**/*.yaml", recursive=True) for one in load(path) if pod_of(one)}
collector, metrics = pods[FOLDER + "/base/collector.yaml"]["containers"]
with open(SRCDIR + "/dist/container/Containerfile", encoding="utf-8") as file:
    database = re.search(r"^ENV IBWIRE_DB=(\S+)", file.read(), re.M).group(1)
with open(SRCDIR + "/dist/ibwire.service.in", encoding="utf-8") as file:
    service = re.search(r"^@ONE@ExecStart=\S+ (.*) --db (\S+) \$OPTIONS$", file.read(), re.M)
tap.equal("image and service have one database", database, service.group(2))
tap.equal("arguments of the collector are those of the service", collector["args"], service.group(1).split())
version = run(IBWIRE, "--version").out.split()[1]
for path, pod in pods.items():
    for container in pod["containers"]:
        image, tag = container["image"].split(":")
        tap.result(image != "ibwire" or tag == version, f"{os.path.basename(path)}: {container['name']}: version", container["image"])
        for words in re.findall(r"ibwire ([^;]+)", " ".join(container.get("command", []))):
            tap.result(run(IBWIRE, *words.split(), check=False).status in (0, 1, 2), f"{os.path.basename(path)}: ibwire {words}")
for container in collector, metrics:
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    wanted = {os.path.dirname(database), "/etc/ibwire", "/tmp"} | ({"/dev/infiniband"} if container is collector else set())
    tap.equal(f"{container['name']}: its folders", set(mounts), wanted)
port = metrics["ports"][0]["containerPort"]
tap.equal("metrics listen on the port of the container", metrics["args"][metrics["args"].index("--listen") + 1], f":{port}")


def probe(sim, kind):
    """A probe of the collector: true if it succeeds."""
    words = collector[kind]["exec"]["command"]
    assert words[0] == "ibwire", words
    return sim.ibwire(*words[1:], check=False).status == 0


def both(sim):
    return probe(sim, "readinessProbe"), probe(sim, "livenessProbe")


def get(path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{here}{path}", timeout=120) as answer:
            return answer.status, answer.read().decode("utf-8")
    except OSError as error:
        return getattr(error, "code", 0), str(error)


with tap.part("probes"), Simulation("--gen", "rail --units 1 --hosts 2 --rails 2 --spines 1") as sim:
    here = free_port()
    words = [word.replace(f":{port}", f"127.0.0.1:{here}") for word in metrics["args"]]
    server = sim.start(IBWIRE, *words, stderr=open("metrics.log", "wb"))
    paths = [metrics[kind]["httpGet"]["path"] for kind in ("livenessProbe", "readinessProbe")]
    process = None
    try:
        tap.equal("without a database, the collector is not ready", probe(sim, "readinessProbe"), False)
        wait_for(lambda: get(paths[0])[0])
        tap.equal("without a database, metrics live and are not ready", [get(path)[0] for path in paths], [200, 503])
        process = sim.start(IBWIRE, *collector["args"], stderr=open("collect.log", "wb"))
        tap.result(wait_for(lambda: both(sim) == (True, True)), "a collector that polls is live and ready", both(sim))
        tap.equal("metrics live and are ready", [get(path)[0] for path in paths], [200, 200])
        # As in a container of its own: other process ids, another user, no capability.
        sees = run("unshare", "--fork", "--pid", "--mount-proc", "setpriv", "--reuid", "65534", "--regid", "65534",
                   "--clear-groups", "--bounding-set=-all", IBWIRE, "metrics", "--once", "--db", sim.env["IBWIRE_DB"],
                   check=False)
        if sees.status and "ibwire" not in sees.err:
            tap.skip("metrics see the collector of another container", sees.err.strip().split("\n")[-1])
        else:
            tap.contains("metrics see the collector of another container", sees.out + sees.err, "\nibwire_collector_live 1\n")
        stop(process)
        tap.equal("a collector that ended is neither", both(sim), (False, False))
        # A collector that stores nothing for 100 s: its lock, and a sweep of that age.
        with contextlib.closing(sqlite3.connect(sim.env["IBWIRE_DB"])) as store, store:
            store.execute("UPDATE sweep SET wall_us = wall_us - 100000000")
        with open(sim.env["IBWIRE_DB"] + ".lock", "r+b") as lock:
            fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
            tap.equal("one that has stored nothing for 100 s is live, but not ready", both(sim), (False, True))
    finally:
        for one in server, process:
            if one:
                stop(one)
tap.done()
