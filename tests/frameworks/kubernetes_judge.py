"""Judges manifests by Kubernetes' own strict schemas: kubernetes_judge.py VERSION FILE…

Objects of Kubernetes itself are judged in whole. Objects of custom kinds have templates of pods: each is judged as a
pod. Prints the number of objects and pods, and the faults.
"""

import sys

import kubernetes_validate
from kubernetes_pods import load

OWN = ("Job", "Service", "ConfigMap", "Secret")


def templates(value):
    """All templates of pods below a value."""
    if isinstance(value, dict):
        template = value.get("template")
        if isinstance(template, dict) and {"containers", "volumes"} & set(template.get("spec", {})):
            yield template
        for member in value.values():
            yield from templates(member)
    elif isinstance(value, list):
        for item in value:
            yield from templates(item)


def judged(document):
    """The objects of a document that Kubernetes' schemas know."""
    if document["kind"] in OWN:
        return [document]
    found = list(templates(document))
    trainer = document.get("spec", {}).get("trainer", {})
    if trainer:
        parts = ("image", "command", "args", "env")
        container = {"name": "node", **{part: trainer[part] for part in parts if part in trainer}}
        container["resources"] = trainer.get("resourcesPerNode", {})
        found.append({"spec": {"containers": [container]}})
    assert found, document["kind"]
    return [{"apiVersion": "v1", "kind": "Pod", **template} for template in found]


def main():
    version, *paths = sys.argv[1:]
    if version == "newest":
        version = kubernetes_validate.latest_version()
    faults, count = [], 0
    for path in paths:
        for document in load(path):
            for one in judged(document):
                count += 1
                try:
                    used = kubernetes_validate.validate(one, version, strict=True)
                    assert version.startswith(used), (version, used)
                except kubernetes_validate.ValidationError as fault:
                    faults.append(f"{path}: {one['kind']} of {version}: {list(fault.path)}: {fault.message}"[:500])
    print(f"{count} objects")
    sys.exit("\n".join(faults) or 0)


main()
