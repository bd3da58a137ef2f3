"""The reductions of Horovod's API, and the checks of their arguments."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from dtrain import _core
from dtrain._errors import ArgumentError

__all__ = ["Adasum", "Average", "Max", "Min", "Product", "Sum"]

Average = 0
Sum = 1
Adasum = 2
Min = 3
Max = 4
Product = 5

ENGINE_OPS = {
    Average: _core.AVERAGE,
    Sum: _core.SUM,
    Adasum: _core.ADASUM,
    Min: _core.MIN,
    Max: _core.MAX,
    Product: _core.PRODUCT,
}
LINEAR = (Average, Sum)


def op_of(op: int | None, average: bool | None = None) -> int:
    """Return the reduction that the arguments `op` and `average` mean together."""
    if average is not None:
        if op is not None:
            raise ArgumentError("op: give op or average, not both; average is the deprecated one")
        warnings.warn("average is deprecated; use op=Average or op=Sum", DeprecationWarning, stacklevel=3)
        return Average if average else Sum
    if op is None:
        return Average
    if not isinstance(op, int) or op not in ENGINE_OPS:
        raise ArgumentError(f"op: give one of Average, Sum, Adasum, Min, Max and Product, not {op!r}")
    return op


def factor_of(what: str, factor: Any) -> float:
    """Return a factor, or raise what makes it unusable."""
    if not isinstance(factor, (int, float)) or factor == 0 or not math.isfinite(factor):
        raise ArgumentError(f"{what}: give a finite number other than 0, not {factor!r}")
    return float(factor)


def rows_of_ranks(rows: int, ranks: int) -> list[int]:
    """Return how many of the rows each rank gets. Where they leave a rest, the first ranks get a row more."""
    return [rows // ranks + (rank < rows % ranks) for rank in range(ranks)]


def check_list(tensors: Any) -> None:
    """Raise what makes a value unusable as the tensors of a grouped operation."""
    if not isinstance(tensors, Sequence) or len(tensors) == 0:
        raise ArgumentError("tensors: give a list of tensors that is not empty")
