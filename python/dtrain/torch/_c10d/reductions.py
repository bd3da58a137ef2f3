"""The reductions of torch.distributed in terms of the engine's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._distributed_c10d import ReduceOp

from dtrain import _core
from dtrain._errors import ArgumentError

_Kinds = ReduceOp.RedOpType
_ENGINE = {
    _Kinds.SUM: _core.SUM,
    _Kinds.AVG: _core.AVERAGE,
    _Kinds.PRODUCT: _core.PRODUCT,
    _Kinds.MIN: _core.MIN,
    _Kinds.MAX: _core.MAX,
    _Kinds.PREMUL_SUM: _core.SUM,
}
# The engine has "and" and "or" for bool alone.
_BOOL = {_Kinds.BAND: _core.MIN, _Kinds.BOR: _core.MAX}
_BITWISE: dict[Any, Callable[[Any, Any], Any]] = {
    _Kinds.BAND: torch.bitwise_and,
    _Kinds.BOR: torch.bitwise_or,
    _Kinds.BXOR: torch.bitwise_xor,
}


class Reduction:
    """A reduction of tensors of one type: an operation of the engine with a factor, or bitwise without one."""

    def __init__(self, op: Any, tensor: Any) -> None:
        kind = getattr(op, "op", op)
        engine = _ENGINE.get(kind)
        if engine is None and tensor.dtype is torch.bool:
            engine = _BOOL.get(kind)
        if engine is None and (kind not in _BITWISE or tensor.is_floating_point() or tensor.is_complex()):
            raise ArgumentError(f"op: {kind} is no reduction of {tensor.dtype}")
        if tensor.is_complex() and engine not in (_core.SUM, _core.AVERAGE):
            raise ArgumentError("op: complex tensors have SUM and AVG only")
        self.engine = engine
        self.prescale = _factor_of(op) if kind == _Kinds.PREMUL_SUM else 0.0
        self._bitwise = _BITWISE.get(kind)

    def fold(self, tensors: Sequence[Any]) -> Any:
        """Return the bitwise reduction of tensors."""
        assert self._bitwise is not None
        return functools.reduce(self._bitwise, tensors)


def _factor_of(op: Any) -> float:
    factor = op.__getstate__()[1]  # older versions have no other way to it
    if isinstance(factor, torch.Tensor):
        if factor.numel() != 1:
            raise ArgumentError("op: the factor of PREMUL_SUM must be one number")
        factor = factor.item()
    return float(factor)
