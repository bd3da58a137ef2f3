"""Judges manifests: kubernetes_schema.py FILE…

Custom kinds must fit tests/cli/kubernetes/schemas, which are strict. So must an indexed Job: JobSet's schema has that of a Job.
Service, ConfigMap and Secret must have the members that exports write; kubernetes-validate judges these in whole
(tests/frameworks/kubernetes_test.sh). Needs only PyYAML.
"""

import json
import os
import re
import sys

from kubernetes_pods import load
from schema import faults

SCHEMAS = {
    "JobSet": "jobset-v1alpha2",
    "MPIJob": "mpijob-v2beta1",
    "TrainJob": "trainjob-v1alpha1",
    "ClusterTrainingRuntime": "clustertrainingruntime-v1alpha1",
}
PLAIN = {
    "Service": {"spec": {"clusterIP", "publishNotReadyAddresses", "selector"}},
    "ConfigMap": {"data": None, "binaryData": None},
    "Secret": {"type": None, "stringData": {"token"}},
}


def schema_of(name):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemas")
    with open(os.path.join(folder, name + ".json")) as file:
        return json.load(file)


def job_schema():
    """The schema of batch/v1's Job, which JobSet's has in itself."""
    whole = schema_of(SCHEMAS["JobSet"])
    group = whole["properties"]["spec"]["properties"]["replicatedJobs"]["items"]
    spec = group["properties"]["template"]["properties"]["spec"]
    members = {"apiVersion": {"const": "batch/v1"}, "kind": {"const": "Job"}, "spec": spec}
    members["metadata"] = whole["properties"]["metadata"]
    return {"type": "object", "required": list(members), "properties": members, "additionalProperties": False}


def plain_faults(document, place):
    """Members of an object of Kubernetes itself that no export writes."""
    allowed = {"apiVersion": None, "kind": None, "metadata": {"name", "labels"}, **PLAIN[document["kind"]]}
    for name, value in document.items():
        if name not in allowed:
            yield f"{place}: unknown member {name}"
        elif allowed[name] is not None and set(value) - allowed[name]:
            yield f"{place}.{name}: unknown members {set(value) - allowed[name]}"
    if document.get("apiVersion") != "v1":
        yield f"{place}: apiVersion {document.get('apiVersion')}"


def name_faults(metadata, place):
    """Names and labels that Kubernetes refuses, whatever their object is."""
    part = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    name = metadata.get("name", "")
    if len(name) > 253 or not re.fullmatch(rf"{part}(\.{part})*", name):
        yield f"{place}: the name {name}"
    for label, value in metadata.get("labels", {}).items():
        if len(value) > 63 or not re.fullmatch("([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", value):
            yield f"{place}: the label {label} {value}"


def document_faults(document, place):
    kind = document.get("kind")
    yield from name_faults(document.get("metadata", {}), place)
    if kind in PLAIN:
        yield from plain_faults(document, place)
    elif kind == "Job":
        yield from faults(document, job_schema(), place)
    elif kind in SCHEMAS:
        yield from faults(document, schema_of(SCHEMAS[kind]), place)
    else:
        yield f"{place}: unknown kind {kind}"


if __name__ == "__main__":
    found = []
    for path in sys.argv[1:]:
        documents = load(path)
        assert documents, f"{path} is empty"
        for at, document in enumerate(documents):
            found += document_faults(document, f"{path}[{at}]")
    sys.exit("\n".join(found) or 0)
