"""The start of operations that move elements: allgather, broadcast and alltoall."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dtrain import _core
from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import basics
from dtrain.horovod.common.handles import Handle
from dtrain.torch import _memory
from dtrain.torch._sparse import SparseRows

Shape = tuple[int, ...]


def _options(tensor: Any, shape: Shape, counts: tuple[int, ...] | None = None) -> _core.Options:
    _, element, element_bytes = _memory.type_of(tensor)
    return ("", 0, 0.0, 0.0, shape, 0, 0, element, element_bytes, counts, _memory.stream_of(tensor) or 0)


def check_rows(tensor: Any) -> None:
    """Raise what makes a value unusable as a tensor that is cut or joined along its first dimension."""
    _memory.check(tensor)
    if tensor.dim() == 0:
        raise ArgumentError("tensor: it has no first dimension; use tensor.reshape(1)")


class _Rows:
    """The rows of a tensor that is moved along its first dimension.

    Rows without elements have no counts by which the ranks could know how many they get: their numbers are sent.
    """

    __slots__ = ("count", "memory", "row", "sizes_only", "tensor")

    def __init__(self, tensor: Any) -> None:
        check_rows(tensor)
        self.tensor = tensor
        self.count = int(tensor.shape[0])
        self.row: Shape = tuple(tensor.shape[1:])
        self.sizes_only = math.prod(self.row) == 0
        self.memory = _memory.on_host(tensor)

    def result(self, work: _core.Work) -> tuple[Any, list[int]]:
        """Return the tensor for the caller, and how many rows each rank has sent."""
        elements = max(1, math.prod(self.row))
        rows = [count // elements for count in work.counts()]
        return _memory.onto_device(_memory.from_work(work, self.memory, self.row), self.tensor), rows

    def result_of_sizes(self, sizes: Any) -> tuple[Any, list[int]]:
        """Return what result() does, where the ranks have exchanged the numbers of rows."""
        rows = [int(size) for size in sizes]
        return _memory.onto_device(_memory.empty_on_host(self.memory, (sum(rows), *self.row)), self.tensor), rows


def start_allgather(tensor: Any, name: str | None, set_number: int | None, *, with_rows: bool = False) -> Handle:
    """Start an allgather. The result is the tensor; with `with_rows` also the list of each rank's rows."""
    rows = _Rows(tensor)
    group = basics.member(set_number)
    handle = _handle_of(group)
    pick: Callable[[Any], Any] = _same if with_rows else operator.itemgetter(0)
    if rows.sizes_only:
        own = torch.tensor([rows.count])
        sizes = torch.empty(len(group.ranks), dtype=torch.int64)
        options = _options(own, (1,))

        def start_sizes(label: str) -> Handle:
            work = handle.all_gather(
                own.data_ptr(), sizes.data_ptr(), 1, _core.INT64, 0, 0, (label, *options[1:]), (own, sizes)
            )
            return Handle(work, "ALLGATHER", label, lambda _: pick(rows.result_of_sizes(sizes.tolist())))

        return group.start("allgather", name, start_sizes)
    options = _options(rows.memory, tuple(rows.memory.shape))
    kind = _memory.type_of(rows.memory)[0]

    def start(label: str) -> Handle:
        memory = rows.memory
        work = handle.all_gather_v(memory.data_ptr(), 0, memory.numel(), kind, 0, 0, (label, *options[1:]), memory)
        return Handle(work, "ALLGATHER", label, lambda done: pick(rows.result(done)))

    return group.start("allgather", name, start)


def start_sparse(tensor: Any, name: str | None, set_number: int | None, finish: Callable[[Any], Any]) -> Handle:
    """Start to gather sparse tensors. The result is what `finish` makes of one with the values of all ranks.

    It has the name that a reduction of a dense tensor would have, so that the ranks compare both.
    """
    rows = SparseRows(tensor)
    group = basics.member(set_number)
    handle = _handle_of(group)
    count = rows.count

    def start(label: str) -> Handle:
        options = (label, 0, 0.0, 0.0, (count,), 0, 0, rows.element, rows.row_bytes, None)
        address = rows.memory.data_ptr()
        work = handle.all_gather_v(address, 0, count, _core.OPAQUE, 0, 0, options, rows)
        return Handle(work, "ALLREDUCE", label, lambda done: finish(rows.joined(done)))

    return group.start("allreduce", name, start)


def start_alltoall(
    tensor: Any, splits: Sequence[int] | None, name: str | None, set_number: int | None, finish: Any
) -> Handle:
    """Start an alltoall. The result is what `finish` makes of the tensor and the list of each rank's rows."""
    rows = _Rows(tensor)
    group = basics.member(set_number)
    given = _checked_splits(rows, splits, len(group.ranks))
    handle = _handle_of(group)
    if rows.sizes_only:
        sizes = torch.tensor([given, given])
        options = _options(sizes, (1,))

        def start_sizes(label: str) -> Handle:
            begin, into = sizes[0].data_ptr(), sizes[1].data_ptr()
            work = handle.all_to_all(begin, into, 1, _core.INT64, 0, 0, (label, *options[1:]), sizes)
            return Handle(work, "ALLTOALL", label, lambda _: finish(*rows.result_of_sizes(sizes[1].tolist())))

        return group.start("alltoall", name, start_sizes)
    memory = rows.memory
    counts = tuple(part * math.prod(rows.row) for part in given)
    kind = _memory.type_of(memory)[0]
    options = _options(memory, (sum(given), *rows.row), counts)

    def start(label: str) -> Handle:
        work = handle.all_to_all_v(memory.data_ptr(), 0, sum(counts), kind, 0, 0, (label, *options[1:]), memory)
        return Handle(work, "ALLTOALL", label, lambda done: finish(*rows.result(done)))

    return group.start("alltoall", name, start)


def _checked_splits(rows: _Rows, splits: Sequence[int] | None, ranks: int) -> list[int]:
    if splits is None:
        if rows.count % ranks != 0:
            raise ArgumentError(
                f"tensor: its first dimension {rows.count} is not divisible by {ranks} ranks; give splits"
            )
        return [rows.count // ranks] * ranks
    given = list(splits)
    if len(given) != ranks or min(given) < 0 or sum(given) > rows.count:
        raise ArgumentError(
            f"splits: give {ranks} numbers from 0 with at most the sum {rows.count}, the first dimension, not {given}"
        )
    return given


def splits_of(splits: Any) -> list[int] | None:
    """Return the argument `splits` as numbers."""
    if splits is None:
        return None
    if isinstance(splits, torch.Tensor):
        if splits.dtype is not torch.int32 or splits.dim() != 1:
            raise ArgumentError(f"splits: give a list, or a tensor of int32 with one dimension, not {splits!r}")
        return [int(split) for split in splits.tolist()]
    try:
        given = list(splits)
    except TypeError:
        given = [splits]
    if any(not isinstance(split, int) or isinstance(split, bool) for split in given):
        raise ArgumentError(f"splits: give integers, not {splits!r}")
    return given


def start_broadcast(tensor: Any, root_rank: int, name: str | None, set_number: int | None, *, in_place: bool) -> Handle:
    """Start a broadcast from a rank, which is counted among all ranks of the job."""
    if in_place:
        _memory.check_in_place(tensor)
    else:
        _memory.check(tensor)
    group = basics.member(set_number)
    if root_rank not in group.ranks:
        raise ArgumentError(f"root_rank: give one of the ranks {group.ranks}, not {root_rank!r}")
    root = group.ranks.index(root_rank)
    source = _memory.plain(tensor)
    shape = tuple(tensor.shape)
    target = source if in_place else _memory.empty(tensor, shape)
    kind = _memory.type_of(source)[0]
    options = _options(source, shape)
    handle = _handle_of(group)
    finish = functools.partial(_finish_broadcast, tensor, target, in_place)

    def start(label: str) -> Handle:
        addresses = (source.data_ptr(), target.data_ptr())
        work = handle.broadcast(*addresses, source.numel(), kind, root, 0, (label, *options[1:]), (source, target))
        return Handle(work, "BROADCAST", label, lambda _: finish())

    return group.start("broadcast", name, start)


def _finish_broadcast(given: Any, result: Any, in_place: bool) -> Any:
    if not in_place:
        return _memory.onto_device(result, given)
    if not _memory.is_plain(given):
        given.copy_(result)
    return given


def _handle_of(group: Any) -> _core.Context:
    core: _core.Context = group.context._handle
    return core


def _same(both: Any) -> Any:
    return both
