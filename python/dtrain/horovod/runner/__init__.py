"""Running a function on the ranks of a new job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dtrain
from dtrain._errors import ArgumentError
from dtrain.horovod import names

__all__ = ["run"]


def run(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    num_proc: int = 1,
    min_num_proc: int | None = None,
    max_num_proc: int | None = None,
    slots: int | None = None,
    reset_limit: int | None = None,
    cooldown_range: Sequence[int] | None = None,
    hosts: str | None = None,
    hostfile: str | None = None,
    host_discovery_script: str | None = None,
    start_timeout: int | None = None,
    ssh_port: int | None = None,
    ssh_identity_file: str | None = None,
    disable_cache: bool | None = None,  # noqa: ARG001  # nothing is cached
    output_filename: str | None = None,
    verbose: int | None = None,
    use_gloo: bool | None = None,  # noqa: ARG001  # the engine is neither, and as independent of MPI
    use_mpi: bool | None = None,
    mpi_args: str | None = None,
    network_interface: str | None = None,
    network_interfaces: Sequence[str] | None = None,
    executable: str | None = None,
    np: int | None = None,
    min_np: int | None = None,
    max_np: int | None = None,
    *,
    env: Mapping[str, str] | None = None,
) -> list[Any]:
    """Call a function on each rank of a new job, and return the results by rank.

    `np`, `min_np`, `max_np` and `network_interface` are older names of others. Arguments of MPI and of elastic jobs are
    refused. dtrain.run() has further options of `dtrain run`.
    """
    elastic = {
        "min_num_proc": min_num_proc if min_np is None else min_np,
        "max_num_proc": max_num_proc if max_np is None else max_np,
        "slots": slots,
        "reset_limit": reset_limit,
        "cooldown_range": cooldown_range,
        "host_discovery_script": host_discovery_script,
    }
    _refuse({"use_mpi": use_mpi, "mpi_args": mpi_args}, "there is no MPI here")
    _refuse(elastic, "the job has a fixed size")
    if hosts is not None and hostfile is not None:
        raise ArgumentError("hostfile: give hosts or a hostfile, not both")
    interfaces = network_interface or ",".join(network_interfaces or ())
    words = {
        "--hostfile": hostfile,
        "--start-timeout": start_timeout and f"{start_timeout}s",
        "--ssh-port": ssh_port,
        "--ssh-identity-file": ssh_identity_file,
        "--output-dir": output_filename,
        "--network-interfaces": interfaces,
    }
    options = [word for name, value in words.items() if value for word in (name, str(value))]
    count = num_proc if np is None else np
    options += ["--verbose"] if verbose else []
    words_of_call = (_Names(), func, args, dict(kwargs or {}))
    return dtrain.run(_call, words_of_call, np=count, hosts=hosts, options=options, env=env, executable=executable)


class _Names:
    """Makes a rank find Horovod's modules, before it gets a function whose module may import them."""

    def __reduce__(self) -> tuple[Any, ...]:
        return names.install, ()


def _call(_: None, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return func(*args, **kwargs)


def _refuse(given: Mapping[str, Any], why: str) -> None:
    for name, value in given.items():
        if value:
            raise ArgumentError(f"{name}: {why}; leave it out")
