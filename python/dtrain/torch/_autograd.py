"""The gradients of operations. Each is an operation itself, which all ranks of the process set call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dtrain.horovod.common.basics import basics
from dtrain.horovod.common.handles import HandleList
from dtrain.horovod.common.reductions import Average, Sum, check_list
from dtrain.torch import _moves, _reductions


def needs_grad(tensors: Sequence[Any]) -> bool:
    """Return whether autograd follows one of the tensors."""
    return torch.is_grad_enabled() and any(isinstance(one, torch.Tensor) and one.requires_grad for one in tensors)


class Allreduce(torch.autograd.Function):
    """The gradient is reduced as the tensor was."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, op: int, name: str | None, scales: Any, number: int | None) -> Any:
        """Reduce the tensor."""
        ctx.terms = (op, scales, number)
        return _reductions.start_allreduce(tensor, op, name, scales, number, in_place=False).wait()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Reduce the gradient."""
        op, scales, number = ctx.terms
        return allreduce(gradient, op, None, scales, number), None, None, None, None


def allreduce(tensor: Any, op: int, name: str | None, scales: tuple[float, float], number: int | None) -> Any:
    """Reduce a tensor, and wait."""
    if needs_grad((tensor,)):
        return Allreduce.apply(tensor, op, name, scales, number)
    return _reductions.start_allreduce(tensor, op, name, scales, number, in_place=False).wait()


class GroupedAllreduce(torch.autograd.Function):
    """The gradients are reduced as the tensors were."""

    @staticmethod
    def forward(ctx: Any, op: int, name: str | None, scales: Any, number: int | None, *tensors: Any) -> Any:
        """Reduce the tensors."""
        ctx.terms = (op, scales, number)
        results = _reductions.start_grouped_allreduce(tensors, op, name, scales, number, in_place=False).wait()
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Reduce the gradients."""
        op, scales, number = ctx.terms
        return (None, None, None, None, *grouped_allreduce(gradients, op, None, scales, number))


def grouped_allreduce(
    tensors: Sequence[Any], op: int, name: str | None, scales: tuple[float, float], number: int | None
) -> list[Any]:
    """Reduce tensors, and wait."""
    check_list(tensors)
    if needs_grad(tensors):
        return list(GroupedAllreduce.apply(op, name, scales, number, *tensors))
    results = _reductions.start_grouped_allreduce(tensors, op, name, scales, number, in_place=False).wait()
    return list(results)


class Allgather(torch.autograd.Function):
    """The gradient is the average over all ranks of this rank's rows."""

    @staticmethod
    def forward(ctx: Any, name: str | None, number: int | None, *tensors: Any) -> Any:
        """Join the tensors of all ranks."""
        pairs = start_allgathers(tensors, name, number, with_rows=True).wait()
        ctx.terms = ([rows for _, rows in pairs], number)
        return tuple(tensor for tensor, _ in pairs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Average the gradients, and return the rows of this rank."""
        parts, number = ctx.terms
        handles = [
            _reductions.start_reducescatter(gradient, Average, None, (1.0, 1.0), number, rows)
            for gradient, rows in zip(gradients, parts, strict=True)
        ]
        return (None, None, *HandleList(handles).wait())


def start_allgathers(
    tensors: Sequence[Any], name: str | None, number: int | None, *, with_rows: bool = False
) -> HandleList:
    """Start an allgather of each tensor. Their names have the place in the list."""
    for tensor in tensors:
        _moves.check_rows(tensor)
    names = _names(name, len(tensors))
    return HandleList(
        [
            _moves.start_allgather(tensor, one, number, with_rows=with_rows)
            for tensor, one in zip(tensors, names, strict=True)
        ]
    )


def allgathers(tensors: Sequence[Any], name: str | None, number: int | None) -> list[Any]:
    """Join the tensors of all ranks, and wait."""
    check_list(tensors)
    if needs_grad(tensors):
        return list(Allgather.apply(name, number, *tensors))
    return start_allgathers(tensors, name, number).wait()


def _names(name: str | None, length: int) -> list[str | None]:
    if name is None or length == 1:
        return [name] * length
    return [f"{name}[{place}/{length}]" for place in range(1, length + 1)]


class Broadcast(torch.autograd.Function):
    """The gradient of the root is the average over all ranks; others have none."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, root_rank: int, name: str | None, number: int | None) -> Any:
        """Broadcast the tensor."""
        ctx.terms = (root_rank, number)
        return _moves.start_broadcast(tensor, root_rank, name, number, in_place=False).wait()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Average the gradients for the root."""
        root_rank, number = ctx.terms
        average = allreduce(gradient, Average, None, (1.0, 1.0), number)
        own = average if basics.world().rank == root_rank else torch.zeros_like(average)
        return own, None, None, None


class Alltoall(torch.autograd.Function):
    """The gradient takes the way back."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, splits: Any, name: str | None, number: int | None) -> Any:
        """Exchange the parts of the tensor."""
        ctx.terms = (tensor.shape[0], number)
        ctx.set_materialize_grads(True)
        result, rows = _moves.start_alltoall(tensor, splits, name, number, lambda *both: both).wait()
        received = torch.tensor(rows, dtype=torch.int32)
        ctx.rows = rows
        ctx.mark_non_differentiable(received)
        return result, received

    @staticmethod
    def backward(ctx: Any, gradient: Any, _: Any) -> Any:
        """Send each part of the gradient to the rank that it came from."""
        all_rows, number = ctx.terms
        back, rows = _moves.start_alltoall(gradient, ctx.rows, None, number, lambda *both: both).wait()
        rest = all_rows - sum(rows)
        if rest:  # rows that were sent to no rank
            back = torch.cat([back, back.new_zeros((rest, *back.shape[1:]))])
        return back, None, None, None


class Reducescatter(torch.autograd.Function):
    """The gradient is the gradients of all ranks, joined; a sum counts for each rank."""

    @staticmethod
    def forward(
        ctx: Any, name: str | None, op: int, scales: tuple[float, float], number: int | None, *tensors: Any
    ) -> Any:
        """Reduce the tensors, and return the rows of this rank."""
        ctx.terms = (op, scales, number)
        return tuple(start_reducescatters(tensors, name, op, scales, number).wait())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Join the gradients of all ranks."""
        op, (prescale, postscale), number = ctx.terms
        factor = prescale * postscale * (len(basics.member(number).ranks) if op == Sum else 1)
        scaled = [gradient * factor if factor != 1 else gradient for gradient in gradients]
        return (None, None, None, None, *allgathers(scaled, None, number))


def start_reducescatters(
    tensors: Sequence[Any], name: str | None, op: int, scales: tuple[float, float], number: int | None
) -> HandleList:
    """Start a reducescatter of each tensor. Their names have the place in the list."""
    for tensor in tensors:
        _moves.check_rows(tensor)
    names = _names(name, len(tensors))
    return HandleList(
        [
            _reductions.start_reducescatter(tensor, op, one, scales, number)
            for tensor, one in zip(tensors, names, strict=True)
        ]
    )


def reducescatters(
    tensors: Sequence[Any], name: str | None, op: int, scales: tuple[float, float], number: int | None
) -> list[Any]:
    """Reduce tensors, and return the rows of this rank."""
    check_list(tensors)
    if needs_grad(tensors):
        return list(Reducescatter.apply(name, op, scales, number, *tensors))
    return start_reducescatters(tensors, name, op, scales, number).wait()
