"""Small functions that scripts take from Horovod."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dtrain.horovod.common.basics import ccl_built, ddl_built, gloo_built, mpi_built, nccl_built

__all__ = [
    "ccl_built",
    "ddl_built",
    "gloo_built",
    "is_iterable",
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
