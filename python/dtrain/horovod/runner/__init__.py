"""Running a function on the ranks of a new job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dtrain
from dtrain._errors import ArgumentError

__all__ = ["run"]


def run(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    np: int | None = None,
    hosts: str | None = None,
    hostfile: str | None = None,
    env: Mapping[str, str] | None = None,
) -> list[Any]:
    """Call a function on each rank of a new job, and return the results by rank. `np` is the older name of `num_proc`.

    Other options are those of `dtrain run`, which dtrain.run() takes.
    """
    if num_proc is not None and np is not None and num_proc != np:
        raise ArgumentError(f"np: it is the older name of num_proc; give one of them, not {np} and {num_proc}")
    if hosts is not None and hostfile is not None:
        raise ArgumentError("hostfile: give hosts or a hostfile, not both")
    count = num_proc if num_proc is not None else np
    if count is None and hosts is None and hostfile is None:
        count = 1
    options = [] if hostfile is None else ["--hostfile", hostfile]
    return dtrain.run(func, args, kwargs, np=count, hosts=hosts, options=options, env=env)
