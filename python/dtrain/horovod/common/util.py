"""Small functions that scripts take from Horovod."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dtrain.horovod.common.basics import ccl_built, ddl_built, gloo_built, mpi_built, nccl_built
from dtrain.horovod.names import FRAMEWORKS, HERE

__all__ = [
    "ccl_built",
    "check_extension",
    "check_installed_version",
    "ddl_built",
    "env",
    "extension_available",
    "gloo_built",
    "gpu_available",
    "is_iterable",
    "is_version_greater_equal_than",
    "mpi_built",
    "nccl_built",
    "num_rank_is_power_2",
    "split_list",
]


def is_iterable(value: Any) -> bool:
    """Return whether a value can be iterated over."""
    return isinstance(value, Iterable)


def num_rank_is_power_2(num_rank: int) -> bool:
    """Return whether a number of ranks is a power of two."""
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


def split_list(values: Sequence[Any], parts: int) -> list[Sequence[Any]]:
    """Return the parts of a list, of which the first ones have one value more where a rest is left."""
    whole, rest = divmod(len(values), parts)
    ends = [place * whole + min(place, rest) for place in range(parts + 1)]
    return [values[ends[place] : ends[place + 1]] for place in range(parts)]


@contextmanager
def env(**kwargs: str | None) -> Iterator[None]:
    """Set variables of the environment for a while. Those with None stay as they are."""
    before = {name: os.environ.get(name) for name, value in kwargs.items() if value is not None}
    os.environ.update({name: value for name, value in kwargs.items() if value is not None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def extension_available(ext_base_name: str, verbose: bool = False) -> bool:  # noqa: ARG001
    """Return whether there are operations for a framework, such as "torch"."""
    return ext_base_name in FRAMEWORKS


def check_extension(ext_name: str, ext_env_var: str, pkg_path: str, *args: str) -> None:  # noqa: ARG001
    """Raise ImportError where there are no operations for a framework, such as "horovod.mxnet"."""
    if not any(ext_name.startswith(f"horovod.{name}") for name in FRAMEWORKS):
        raise ImportError(f"{ext_name} is not part of dtrain, which has {HERE}")


def gpu_available(ext_base_name: str, verbose: bool = False) -> bool:  # noqa: ARG001
    """Return False: no operation runs on a GPU."""
    return False


def check_installed_version(name: str, version: str, exception: Exception | None = None) -> None:
    """Return: Horovod compares the version that it was built for, and nothing here is built for one version."""


def is_version_greater_equal_than(ver: str, target: str) -> bool:
    """Return whether a version such as "1.13.0a0" is not below another one. Letters are left out."""
    if any(not re.match(r"\d+\.\d+\.\d+", one) for one in (ver, target)):
        raise ValueError(f"give versions such as 1.13.0, not {ver!r} and {target!r}")
    numbers = [[int(part) for part in re.findall(r"\d+", one)[:3]] for one in (ver, target)]
    return numbers[0] >= numbers[1]
