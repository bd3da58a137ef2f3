"""Writes a script for each pod of a manifest: pod_scripts.py FILE TOKEN FOLDER. Prints the lines of /etc/hosts.

Pod K, from 1, is node K of tests/net/lib.sh, at 10.77.0.K; its script is FOLDER/podK.sh. A pod begins with its own
variables only, and with those that each container has: PATH (from POD_PATH), HOME, and the address of the cluster's
API. Files of ConfigMaps are written at their paths, which must be below the current folder: nodes share the files of
the machine. So ./etc/mpi has the place of the MPI Operator's folder.
"""

import base64
import os
import shlex
import sys

from kubernetes_pods import load, read_pods


MPI_FOLDER = "/etc/mpi/"


def own_mpi_folder():
    return os.getcwd() + MPI_FOLDER


def script_of(pod):
    own = {
        "PATH": os.environ["POD_PATH"],
        "HOME": "/root",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "TEST_MARKER": os.environ["TEST_MARKER"],
    }
    variables = {name: value.replace(MPI_FOLDER, own_mpi_folder()) for name, value in pod["environment"].items()}
    words = [f"{name}={value}" for name, value in {**own, **variables}.items()]
    lines = ["#!/bin/sh", "set -e", f"hostname {pod['host']}"]
    if pod["folder"]:
        lines.append(f"cd {shlex.quote(pod['folder'])}")
    lines.append(shlex.join(["exec", "env", "-i", *words, *pod["command"]]))
    return "\n".join(lines) + "\n"


def write_files(pod):
    for path, (text, mode) in pod["files"].items():
        path = path.replace(MPI_FOLDER, own_mpi_folder())
        assert path.startswith(os.getcwd() + "/"), f"{path} is not below this folder"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(text))
        os.chmod(path, mode)


def main():
    manifest, token, folder = sys.argv[1:]
    for number, pod in enumerate(read_pods(load(manifest), token), 1):
        write_files(pod)
        with open(os.path.join(folder, f"pod{number}.sh"), "w") as file:
            file.write(script_of(pod))
        names = f"{pod['host']}.{pod['domain']} {pod['host']}" if pod["domain"] else pod["host"]
        print(f"10.77.0.{number} {names}")


main()
