"""Judges manifests: kubernetes_schema.py FILE…

Custom kinds must fit tests/cli/kubernetes/schemas, which are strict. So must an indexed Job: JobSet's schema has that of a Job.
Service, ConfigMap and Secret must have the members that exports write; kubernetes-validate judges these in whole
(tests/frameworks/kubernetes_test.sh). Knows the keywords of the schemas, and fails for others: it needs only PyYAML.
"""

import json
import os
import re
import sys

from kubernetes_pods import load

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
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


def has_type(value, name):
    if name in ("integer", "number"):
        numbers = int if name == "integer" else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


# Each keyword's fault of a value; a keyword for other types of values finds none.
RULES = {
    "type": lambda v, s: not any(has_type(v, one) for one in ([s] if isinstance(s, str) else s)),
    "const": lambda v, s: v != s,
    "enum": lambda v, s: v not in s,
    "pattern": lambda v, s: isinstance(v, str) and not re.search(s, v),
    "minimum": lambda v, s: has_type(v, "number") and v < s,
    "maxItems": lambda v, s: isinstance(v, list) and len(v) > s,
    "minItems": lambda v, s: isinstance(v, list) and len(v) < s,
    "maxLength": lambda v, s: isinstance(v, str) and len(v) > s,
    "minLength": lambda v, s: isinstance(v, str) and len(v) < s,
    "minProperties": lambda v, s: isinstance(v, dict) and len(v) < s,
    "required": lambda v, s: isinstance(v, dict) and any(name not in v for name in s),
}
NOTES = {"$schema", "default", "format", "properties", "additionalProperties", "items"}


def faults(value, schema, place):
    """What of a value does not fit a schema."""
    for keyword, wanted in schema.items():
        if keyword in NOTES:
            continue
        if RULES[keyword](value, wanted):
            yield f"{place}: {keyword} {wanted}: {json.dumps(value)[:200]}"
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, member in value.items():
            of_member = properties.get(name, others)
            if of_member is False:
                yield f"{place}: unknown member {name}"
            elif of_member is not True:
                yield from faults(member, of_member, f"{place}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from faults(item, schema["items"], f"{place}[{number}]")


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


def document_faults(document, place):
    kind = document.get("kind")
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
