"""The start of reductions: allreduce and reducescatter."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from dtrain import _core
from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import basics
from dtrain.horovod.common.handles import Handle
from dtrain.horovod.common.reductions import ENGINE_OPS, LINEAR, Adasum, check_list, factor_of, rows_of_ranks
from dtrain.torch import _memory

# (name, timeout_ms, prescale, postscale, shape, average_over, compression, element, element_bytes, counts)
Scales = tuple[float, float]
_NO_SCALES = (1.0, 1.0)


def _scales(prescale_factor: float, postscale_factor: float) -> Scales:
    return factor_of("prescale_factor", prescale_factor), factor_of("postscale_factor", postscale_factor)


def _check_op(tensor: Any, op: int) -> None:
    if tensor.is_complex() and op not in LINEAR:
        raise ArgumentError("op: complex tensors have Sum and Average only")


class _Elementwise:
    """A reduction of one tensor: memory of the input and of the result, which keep the shape, and their stream."""

    __slots__ = ("given", "in_place", "result", "row", "source", "stream")

    def __init__(self, tensor: Any, op: int, in_place: bool) -> None:
        self.given = tensor
        self.in_place = in_place
        plain = _memory.plain_row(tensor)
        if plain is None:
            self._take(tensor, op, in_place)
            return
        address, count, kind, shape, self.stream = plain
        self.source = tensor
        self.result = tensor if in_place else _memory.new_like(tensor)
        self.row = (address, address if in_place else self.result.data_ptr(), count, kind, shape)

    def _take(self, tensor: Any, op: int, in_place: bool) -> None:
        """Take a tensor that needs checks, and perhaps a copy."""
        if in_place:
            _memory.check_in_place(tensor)
        else:
            _memory.check(tensor)
        _check_op(tensor, op)
        self.source = _memory.plain(tensor)
        # A copy is written in place, too: the caller's tensor gets the result when it is waited for.
        own = in_place or self.source.data_ptr() != tensor.data_ptr()
        self.result = self.source if own else _memory.empty(tensor, tuple(tensor.shape))
        source, result = _memory.as_real(self.source), _memory.as_real(self.result)
        kind = _memory.reducible_type_of(source)
        self.stream = _memory.stream_of(self.source) or 0
        self.row = (source.data_ptr(), result.data_ptr(), source.numel(), kind, tuple(source.shape))

    def finish(self, _: Any = None) -> Any:
        """Return the tensor for the caller."""
        if self.source is self.given:
            return self.result
        if not self.in_place:
            return _memory.onto_device(self.result, self.given)
        if self.given.data_ptr() != self.result.data_ptr() or self.given.device != self.result.device:
            self.given.copy_(self.result)
        return self.given


def start_allreduce(
    tensor: Any,
    op: int,
    name: str | None,
    scales: tuple[float, float],
    set_number: int | None,
    *,
    in_place: bool,
    compression: int = 0,
) -> Handle:
    """Start the reduction of one tensor."""
    one = _Elementwise(tensor, op, in_place)
    prescale, postscale = scales if scales == _NO_SCALES else _scales(*scales)
    group = basics.member(set_number)
    source, result, count, kind, shape = one.row
    engine_op = ENGINE_OPS[op]
    assert group.context is not None
    operation = group.context._handle.all_reduce

    def start(label: str) -> Handle:
        options = (label, 0, prescale, postscale, shape, 0, compression, None, 0, None, one.stream)
        work = operation(source, result, count, kind, engine_op, 0, options, one)
        return Handle(work, "ALLREDUCE", label, one.finish)

    return group.start("allreduce", name, start)


def start_grouped_allreduce(
    tensors: Sequence[Any],
    op: int,
    name: str | None,
    scales: tuple[float, float],
    set_number: int | None,
    *,
    in_place: bool,
) -> Handle:
    """Start the reduction of several tensors at once. The result is a list."""
    check_list(tensors)
    ones = [_Elementwise(tensor, op, in_place) for tensor in tensors]
    prescale, postscale = _scales(*scales)
    group = basics.member(set_number)
    rows = tuple(one.row for one in ones)
    stream = ones[0].stream
    assert group.context is not None
    core = group.context._handle

    def start(label: str) -> Handle:
        options = (label, 0, prescale, postscale, None, 0, 0, None, 0, None, stream)
        work = core.all_reduce_list(rows, ENGINE_OPS[op], options, ones)
        return Handle(work, "GROUPED_ALLREDUCE", label, lambda _: [one.finish() for one in ones])

    return group.start("grouped_allreduce", name, start)


def start_reducescatter(
    tensor: Any,
    op: int,
    name: str | None,
    scales: tuple[float, float],
    set_number: int | None,
    rows: Sequence[int] | None = None,
) -> Handle:
    """Start a reduction of which each rank gets its rows. Without `rows`, they are divided by the ranks."""
    _memory.check(tensor)
    _check_op(tensor, op)
    if op == Adasum:
        raise ArgumentError("op: reducescatter has no Adasum")
    if tensor.dim() == 0:
        raise ArgumentError("tensor: it has no first dimension, along which reducescatter divides it")
    prescale, postscale = _scales(*scales)
    group = basics.member(set_number)
    source = _memory.on_host(tensor)
    parts = rows_of_ranks(tensor.shape[0], len(group.ranks)) if rows is None else list(rows)
    real = _memory.as_real(source)
    kind = _memory.reducible_type_of(real)
    row = tuple(real.shape[1:])
    counts = tuple(part * math.prod(row) for part in parts)
    assert group.context is not None
    operation = group.context._handle.reduce_scatter_v
    own = parts[group.context.rank]

    def start(label: str) -> Handle:
        options = (label, 0, prescale, postscale, tuple(real.shape), 0, 0, None, 0, counts)
        work = operation(real.data_ptr(), 0, real.numel(), kind, ENGINE_OPS[op], 0, options, source)
        return Handle(work, "REDUCESCATTER", label, functools.partial(_scattered, tensor, real, own))

    return group.start("reducescatter", name, start)


def _scattered(tensor: Any, real: Any, rows: int, work: _core.Work) -> Any:
    row = tuple(real.shape[1:])
    result = _memory.from_work(work, real, row) if real.numel() > 0 else _memory.empty_on_host(real, (rows, *row))
    return _memory.onto_device(torch.view_as_complex(result) if tensor.is_complex() else result, tensor)
