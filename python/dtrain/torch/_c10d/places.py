"""The memory of tensors of torch.distributed, and how results get into their places."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dtrain._errors import ArgumentError
from dtrain.torch import _memory

Shape = tuple[int, ...]


def row_of(memory: Any) -> tuple[int, int, int, int, Shape]:
    """Return a tensor that is reduced in place, as a row of all_reduce_list."""
    address = memory.data_ptr()
    return address, address, memory.numel(), _memory.reducible_type_of(memory), tuple(memory.shape)


def apart(source: Any, target: Any) -> Any:
    """Return the source, or a copy where the target is a part of it."""
    begin, size = source.data_ptr(), source.numel() * source.element_size()
    overlaps = begin <= target.data_ptr() < begin + size
    return source.clone() if overlaps and target.numel() else source


def put(tensor: Any, memory: Any) -> Callable[[], None] | None:
    """Return what brings a result into its tensor, or None where it is there."""
    return None if _memory.is_plain(tensor) else functools.partial(_copy, tensor, memory)


def _copy(tensor: Any, memory: Any) -> None:
    with torch.no_grad():
        tensor.copy_(memory)


def put_all(tensors: Sequence[Any], memories: Sequence[Any]) -> Callable[[], None] | None:
    """Return the same for several tensors."""
    rest = [bring for bring in map(put, tensors, memories) if bring is not None]

    def bring_all() -> None:
        for bring in rest:
            bring()

    return bring_all if rest else None


def put_parts(tensors: Sequence[Any], flat: Any) -> None:
    """Copy the parts of a flat tensor into tensors that have its elements in this order."""
    flat = flat.view(-1)
    begin = 0
    with torch.no_grad():
        for tensor in tensors:
            end = begin + tensor.numel()
            tensor.copy_(flat[begin:end].view(tensor.shape))
            begin = end
    if begin != flat.numel():
        raise ArgumentError(f"output: it has {begin} elements, but {flat.numel()} have arrived")


def flat_of(tensors: Sequence[Any], like: Any) -> Any:
    """Return the elements of a list of tensors, behind each other."""
    if not tensors:
        raise ArgumentError("input: give a list of tensors, one for each rank")
    if any(tensor.dtype != like.dtype for tensor in tensors):
        raise ArgumentError("input: its tensors have another type than the output")
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
