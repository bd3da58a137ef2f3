"""Reads a manifest as a cluster would, and prints its pods as a JSON list: kubernetes_pods.py FILE [TOKEN].

Knows the kinds that `dtrain export kubernetes` writes, and has no code of dtrain: names of pods, their numbers and
variables are those of Kubernetes, JobSet, Kubeflow Trainer and the MPI Operator. A pod has its role, host name, domain,
folder, command with arguments, variables, and the files of ConfigMaps by path. TOKEN is the value of each Secret.
"""

import base64
import json
import os
import sys

import yaml


def expand(text, variables):
    """Replaces $(NAME) as Kubernetes does: $$ is a $, and an unknown name stays."""
    result, at = "", 0
    while at < len(text):
        follower = text[at + 1 : at + 2]
        if text[at] != "$" or not follower:
            result, at = result + text[at], at + 1
        elif follower == "$":
            result, at = result + "$", at + 2
        elif follower == "(" and ")" in text[at:]:
            end = text.index(")", at)
            name = text[at + 2 : end]
            result, at = result + variables.get(name, f"$({name})"), end + 1
        else:
            # Kubernetes takes the next byte for a whole character.
            broken = follower.encode()[:1].decode("latin-1") if ord(follower) >= 0x80 else follower
            result, at = result + "$" + broken, at + 2
            assert broken == follower, f"Kubernetes would break {text!r}"
    return result


def field(path, pod):
    """The value of a field of a pod, such as metadata.labels['a']."""
    place, _, rest = path.partition("['")
    assert place in ("metadata.labels", "metadata.annotations") and rest.endswith("']"), path
    return pod[place.split(".")[1]][rest[:-2]]


def variables_of(container, pod, more):
    """The variables of a container, in their order; `more` are those of a controller, behind them."""
    variables = {}
    for entry in [*container.get("env", []), *more]:
        source = entry.get("valueFrom", {})
        if "fieldRef" in source:
            value = field(source["fieldRef"]["fieldPath"], pod)
        elif "secretKeyRef" in source:
            assert source["secretKeyRef"]["key"] == "token", source
            value = pod["token"]
        else:
            value = expand(entry.get("value", ""), variables)
        variables[entry["name"]] = value
    return variables


def files_of(spec, container, config_maps):
    """The files of ConfigMaps in a container: path to [text in base64, mode]."""
    files = {}
    places = {mount["name"]: mount["mountPath"] for mount in container.get("volumeMounts", [])}
    for volume in spec.get("volumes", []):
        if "configMap" not in volume:
            continue
        source = config_maps[volume["configMap"]["name"]]
        for item in volume["configMap"]["items"]:
            key = item["key"]
            text = source.get("binaryData", {}).get(key)
            if text is None:
                text = base64.b64encode(source["data"][key].encode()).decode()
            files[os.path.join(places[volume["name"]], item["path"])] = [text, item.get("mode", 0o644)]
    return files


def read_pod(template, place, config_maps, more=()):
    """A pod of a template at its place: role, host, domain, labels, annotations, token."""
    spec = template["spec"]
    (container,) = spec["containers"]
    labels = {**template.get("metadata", {}).get("labels", {}), **place.get("labels", {})}
    pod = {"annotations": {}, **place, "labels": labels}
    variables = variables_of(container, pod, more)
    words = [*container.get("command", []), *container.get("args", [])]
    return {
        "role": place["role"],
        "host": place["host"],
        "domain": place["domain"],
        "folder": container.get("workingDir", ""),
        "command": [expand(word, variables) for word in words],
        "environment": variables,
        "files": files_of(spec, container, config_maps),
        "grace": spec.get("terminationGracePeriodSeconds"),
        "restart": spec.get("restartPolicy"),
    }


def pods_of_job(job, config_maps, token):
    """An indexed Job: the index of a pod is an annotation, a label and a variable."""
    name, spec = job["metadata"]["name"], job["spec"]
    assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"], spec
    key = "batch.kubernetes.io/job-completion-index"
    for index in range(spec["completions"]):
        number = {key: str(index)}
        place = {
            "role": "main",
            "host": f"{name}-{index}",
            "domain": spec["template"]["spec"].get("subdomain", ""),
            "labels": number,
            "annotations": number,
            "token": token,
        }
        more = [{"name": "JOB_COMPLETION_INDEX", "value": str(index)}]
        yield read_pod(spec["template"], place, config_maps, more)


def pods_of_job_set(job_set, config_maps, token):
    """A JobSet: its jobs have numbers in their group, and in the whole set."""
    name, spec = job_set["metadata"]["name"], job_set["spec"]
    number = 0
    for group in spec["replicatedJobs"]:
        job = group["template"]["spec"]
        assert job["completions"] == job["parallelism"] == 1, job
        for index in range(group["replicas"]):
            labels = {
                "jobset.sigs.k8s.io/job-index": str(index),
                "jobset.sigs.k8s.io/job-global-index": str(number),
            }
            place = {
                "role": group["name"],
                "host": f"{name}-{group['name']}-{index}-0",
                "domain": spec["network"]["subdomain"],
                "labels": labels,
                "token": token,
            }
            yield read_pod(job["template"], place, config_maps, [{"name": "JOB_COMPLETION_INDEX", "value": "0"}])
            number += 1


def pods_of_train_job(job, runtime, config_maps, token):
    """A TrainJob with its runtime: Trainer puts the job's parts into the container of the nodes, and adds PET_*."""
    name, trainer = job["metadata"]["name"], job["spec"]["trainer"]
    (group,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    template = json.loads(json.dumps(group["template"]["spec"]["template"]))
    (container,) = template["spec"]["containers"]
    assert group["name"] == container["name"] == "node", group
    container.update({part: trainer[part] for part in ("image", "command", "args", "env") if part in trainer})
    for index in range(trainer["numNodes"]):
        place = {"role": "node", "host": f"{name}-node-0-{index}", "domain": name, "token": token}
        words = {
            "PET_NNODES": trainer["numNodes"],
            "PET_NPROC_PER_NODE": trainer.get("numProcPerNode", "auto"),
            "PET_NODE_RANK": index,
            "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
            "PET_MASTER_PORT": 29500,
            "JOB_COMPLETION_INDEX": index,
        }
        more = [{"name": word, "value": str(value)} for word, value in words.items()]
        yield read_pod(template, place, config_maps, more)


def pods_of_mpi_job(job, config_maps, token):
    """An MPIJob: workers have sshd, and the launcher their list in a file."""
    name, spec = job["metadata"]["name"], job["spec"]
    for role, replica in spec["mpiReplicaSpecs"].items():
        for index in range(replica["replicas"]):
            host = f"{name}-launcher" if role == "Launcher" else f"{name}-worker-{index}"
            place = {"role": role.lower(), "host": host, "domain": f"{name}.default.svc", "token": token}
            pod = read_pod(replica["template"], place, config_maps)
            if role == "Launcher":
                workers = range(spec["mpiReplicaSpecs"]["Worker"]["replicas"])
                slots = spec["slotsPerWorker"]
                is_mpich = spec.get("mpiImplementation") == "MPICH"  # the default is OpenMPI
                between = ":" if is_mpich else " slots="
                lines = "".join(f"{name}-worker-{at}.{name}.default.svc{between}{slots}\n" for at in workers)
                pod["files"]["/etc/mpi/hostfile"] = [base64.b64encode(lines.encode()).decode(), 0o444]
                variable = "HYDRA_HOST_FILE" if is_mpich else "OMPI_MCA_orte_default_hostfile"
                pod["environment"][variable] = "/etc/mpi/hostfile"
                if not is_mpich:
                    pod["environment"]["OMPI_MCA_orte_keep_fqdn_hostnames"] = "true"
                pod["environment"]["K_MPI_JOB_ROLE"] = "launcher"
            else:
                pod["command"] = pod["command"] or ["/usr/sbin/sshd", "-De"]
            yield pod


def read_pods(documents, token):
    """All pods of a manifest."""
    by_kind = {}
    for document in documents:
        by_kind.setdefault(document["kind"], []).append(document)
    config_maps = {one["metadata"]["name"]: one for one in by_kind.get("ConfigMap", [])}
    pods = []
    for job in by_kind.get("Job", []):
        pods += pods_of_job(job, config_maps, token)
    for job in by_kind.get("JobSet", []):
        pods += pods_of_job_set(job, config_maps, token)
    for job in by_kind.get("TrainJob", []):
        (runtime,) = by_kind["ClusterTrainingRuntime"]
        assert job["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"], job
        pods += pods_of_train_job(job, runtime, config_maps, token)
    for job in by_kind.get("MPIJob", []):
        pods += pods_of_mpi_job(job, config_maps, token)
    return pods


def load(path):
    """The documents of a manifest; a key that is there twice is an error."""

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node, deep=False):
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"{path}: a key twice: {keys}"
            return super().construct_mapping(node, deep)

    with open(path, newline="") as file:
        return list(yaml.load_all(file, Loader))


if __name__ == "__main__":
    print(json.dumps(read_pods(load(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0" * 64)))
