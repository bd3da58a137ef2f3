"""The start of operations on arrays of numpy. A handle's result is a list of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy

from dtrain import _core
from dtrain._errors import ArgumentError
from dtrain._tensors import View, describe
from dtrain.horovod.common.basics import Group, basics
from dtrain.horovod.common.handles import Handle
from dtrain.horovod.common.reductions import ENGINE_OPS, LINEAR, Adasum, factor_of, rows_of_ranks
from dtrain.tensorflow import _memory

Arrays = Sequence[Any]
Start = Callable[[Arrays, str | None], Handle]


class Terms(NamedTuple):
    """How a reduction is made."""

    op: int
    prescale: float
    postscale: float
    set_number: int | None


def terms_of(op: int, prescale_factor: float, postscale_factor: float, set_number: int | None) -> Terms:
    """Return the checked terms of a reduction."""
    prescale = factor_of("prescale_factor", prescale_factor)
    return Terms(op, prescale, factor_of("postscale_factor", postscale_factor), set_number)


def _core_of(group: Group) -> _core.Context:
    assert group.context is not None
    return group.context._handle


def _options(view: View, shape: _memory.Shape, counts: tuple[int, ...] | None = None) -> _core.Options:
    element_bytes = 0 if view.element is None else view.element_bytes
    return ("", 0, 0.0, 0.0, shape, 0, 0, view.element, element_bytes, counts)


def _real(array: Any) -> Any:
    """Return complex numbers as their parts; others as they are."""
    if array.dtype.kind != "c":
        return array
    return array.reshape(-1).view(array.real.dtype).reshape((*array.shape, 2))


def _check_op(array: Any, op: int) -> None:
    if array.dtype.kind == "c" and op not in LINEAR:
        raise ArgumentError("op: complex tensors have Sum and Average only")


class Part(NamedTuple):
    """A tensor within an array, from an element on. A shape of None stands for all of the array."""

    array: int
    offset: int = 0
    shape: _memory.Shape | None = None


def start_allreduce(arrays: Arrays, name: str | None, terms: Terms) -> Handle:
    """Start the reduction of one array."""
    (array,) = arrays
    _check_op(array, terms.op)
    group = basics.member(terms.set_number)
    results = _memory.empty_arrays(arrays)
    source, target = describe(_real(array)), describe(_real(results[0]), writable=True)
    operation = _core_of(group).all_reduce

    def start(label: str) -> Handle:
        options = (label, 0, terms.prescale, terms.postscale, source.shape, 0, 0, None, 0, None)
        ends = (source.address, target.address)
        work = operation(*ends, source.count, source.type, ENGINE_OPS[terms.op], 0, options, (source, target))
        return Handle(work, "ALLREDUCE", label, lambda _: results)

    return group.start("allreduce", name, start)


def start_allreduces(
    arrays: Arrays, name: str | None, terms: Terms, parts: Sequence[Part] | None, places: Sequence[int] | None
) -> Handle:
    """Start the reductions of the tensors in arrays at once; parts of None are an array each.

    With places, each tensor has the name with its place, and another rank may have a sparse gradient there: both then
    fail. Without, the tensors are a list, of the same length on all ranks.
    """
    for array in arrays:
        _check_op(array, terms.op)
    group = basics.member(terms.set_number)
    results = _memory.empty_arrays(arrays)
    sources = [describe(_real(array)) for array in arrays]
    targets = [describe(_real(array), writable=True) for array in results]
    rows = [_row_of(part, sources, targets) for part in parts or map(Part, range(len(arrays)))]
    operation = _core_of(group).all_reduce_list
    kind = "grouped_allreduce" if places is None else "allreduce"

    def start(label: str) -> Handle:
        named = rows
        if places is not None:
            named = [(*row, f"{label}.{place}") for row, place in zip(rows, places, strict=True)]
        options = (label, 0, terms.prescale, terms.postscale, None, 0, 0, None, 0, None)
        work = operation(tuple(named), ENGINE_OPS[terms.op], options, (sources, targets))
        return Handle(work, kind.upper(), label, lambda _: results)

    return group.start(kind, name, start)


def _row_of(part: Part, sources: Sequence[View], targets: Sequence[View]) -> tuple[Any, ...]:
    source, target = sources[part.array], targets[part.array]
    if part.shape is None:
        return source.address, target.address, source.count, source.type, source.shape
    begin = part.offset * source.element_bytes
    return source.address + begin, target.address + begin, math.prod(part.shape), source.type, part.shape


class _Rows:
    """An array that is cut or joined along its first dimension.

    Rows without elements have no counts by which the ranks could know how many they get: their numbers are sent.
    """

    def __init__(self, array: Any) -> None:
        if array.ndim == 0:
            raise ArgumentError("tensor: it has no first dimension; use tf.reshape(tensor, [1])")
        self.array = array
        self.view = describe(array)
        self.count = int(array.shape[0])
        self.row: _memory.Shape = tuple(array.shape[1:])
        self.sizes_only = math.prod(self.row) == 0

    def result(self, work: _core.Work) -> list[Any]:
        """Return the rows of all ranks, and how many each rank has sent."""
        received = [_memory.rows(count, self.row) for count in work.counts()]
        return [self.view.from_work(work, (sum(received), *self.row)), numpy.array(received, numpy.int32)]

    def result_of_sizes(self, sizes: Any) -> list[Any]:
        """Return what result() does, where the ranks have exchanged the numbers of rows."""
        received = numpy.array(sizes, numpy.int32)
        return [numpy.empty((int(received.sum()), *self.row), self.array.dtype), received]


def start_allgather(arrays: Arrays, name: str | None, set_number: int | None) -> Handle:
    """Start an allgather. The result is the rows of all ranks, and the number of each rank's."""
    rows = _Rows(arrays[0])
    group = basics.member(set_number)
    core = _core_of(group)
    if rows.sizes_only:
        own = numpy.array([rows.count], numpy.int64)
        sizes = numpy.empty(len(group.ranks), numpy.int64)
        source, target = describe(own), describe(sizes, writable=True)
        options = _options(source, (1,))

        def start_sizes(label: str) -> Handle:
            named = (label, *options[1:])
            work = core.all_gather(source.address, target.address, 1, _core.INT64, 0, 0, named, (own, sizes))
            return Handle(work, "ALLGATHER", label, lambda _: rows.result_of_sizes(sizes))

        return group.start("allgather", name, start_sizes)
    view = rows.view
    options = _options(view, view.shape)

    def start(label: str) -> Handle:
        work = core.all_gather_v(view.address, 0, view.count, view.type, 0, 0, (label, *options[1:]), view)
        return Handle(work, "ALLGATHER", label, rows.result)

    return group.start("allgather", name, start)


class OpaqueRows(Protocol):
    """Rows of bytes, the name by which ranks compare what they are, and the results of the rows of all ranks."""

    matrix: Any
    element: str

    def joined(self, matrix: Any) -> list[Any]:
        """Return the results of the rows of all ranks."""


def start_allgather_opaque(rows: OpaqueRows, name: str | None, set_number: int | None) -> Handle:
    """Start to gather rows of bytes under the name of a reduction, so that ranks with a dense tensor fail."""
    group = basics.member(set_number)
    core = _core_of(group)
    view = describe(rows.matrix)
    count, width = rows.matrix.shape

    def finish(work: _core.Work) -> list[Any]:
        received = sum(work.counts())
        if received == 0:
            return rows.joined(rows.matrix[:0])
        return rows.joined(numpy.frombuffer(work, numpy.uint8).reshape(received, width))

    def start(label: str) -> Handle:
        options = (label, 0, 0.0, 0.0, (count,), 0, 0, rows.element, width, None)
        work = core.all_gather_v(view.address, 0, count, _core.OPAQUE, 0, 0, options, view)
        return Handle(work, "ALLREDUCE", label, finish)

    return group.start("allreduce", name, start)


def start_alltoall(arrays: Arrays, name: str | None, set_number: int | None) -> Handle:
    """Start an alltoall. A second array has the rows for each rank.

    The result is the rows for this one, and their numbers.
    """
    rows = _Rows(arrays[0])
    group = basics.member(set_number)
    given = _splits_of(rows, arrays[1] if len(arrays) > 1 else None, len(group.ranks))
    core = _core_of(group)
    if rows.sizes_only:
        sizes = numpy.array([given, given], numpy.int64)
        own, received = describe(sizes[0]), describe(sizes[1], writable=True)
        options = _options(own, (1,))

        def start_sizes(label: str) -> Handle:
            named = (label, *options[1:])
            work = core.all_to_all(own.address, received.address, 1, _core.INT64, 0, 0, named, sizes)
            return Handle(work, "ALLTOALL", label, lambda _: rows.result_of_sizes(sizes[1]))

        return group.start("alltoall", name, start_sizes)
    view = rows.view
    counts = tuple(part * math.prod(rows.row) for part in given)
    options = _options(view, (sum(given), *rows.row), counts)

    def start(label: str) -> Handle:
        work = core.all_to_all_v(view.address, 0, sum(counts), view.type, 0, 0, (label, *options[1:]), view)
        return Handle(work, "ALLTOALL", label, rows.result)

    return group.start("alltoall", name, start)


def _splits_of(rows: _Rows, splits: Any, ranks: int) -> list[int]:
    if splits is None:
        if rows.count % ranks != 0:
            raise ArgumentError(
                f"tensor: its first dimension {rows.count} is not divisible by {ranks} ranks; give splits"
            )
        return [rows.count // ranks] * ranks
    given = [int(split) for split in numpy.ravel(splits)]
    if len(given) != ranks or min(given) < 0 or sum(given) > rows.count:
        raise ArgumentError(
            f"splits: give {ranks} numbers from 0 with at most the sum {rows.count}, the first dimension, not {given}"
        )
    return given


def start_broadcast(arrays: Arrays, name: str | None, root_rank: int, set_number: int | None) -> Handle:
    """Start a broadcast from a rank, which is counted among all ranks of the job."""
    group = basics.member(set_number)
    root = root_of(root_rank, group)
    (result,) = _memory.empty_arrays(arrays)
    source, target = describe(arrays[0]), describe(result, writable=True)
    options = _options(source, source.shape)
    core = _core_of(group)

    def start(label: str) -> Handle:
        ends = (source.address, target.address)
        work = core.broadcast(*ends, source.count, source.type, root, 0, (label, *options[1:]), (source, target))
        return Handle(work, "BROADCAST", label, lambda _: [result])

    return group.start("broadcast", name, start)


def root_of(root_rank: int, group: Group) -> int:
    """Return the number within a group of a rank of the job."""
    if root_rank not in group.ranks:
        raise ArgumentError(f"root_rank: give one of the ranks {group.ranks}, not {root_rank!r}")
    return group.ranks.index(root_rank)


def start_reducescatter(arrays: Arrays, name: str | None, terms: Terms) -> Handle:
    """Start a reduction of which each rank gets its rows. A second array has the rows of each rank."""
    array = arrays[0]
    _check_op(array, terms.op)
    if terms.op == Adasum:
        raise ArgumentError("op: reducescatter has no Adasum")
    if array.ndim == 0:
        raise ArgumentError("tensor: it has no first dimension, along which reducescatter divides it")
    group = basics.member(terms.set_number)
    assert group.context is not None
    parts = rows_of_ranks(array.shape[0], len(group.ranks)) if len(arrays) == 1 else [int(one) for one in arrays[1]]
    real = _real(array)
    view = describe(real)
    counts = tuple(part * math.prod(real.shape[1:]) for part in parts)
    options = ("", 0, terms.prescale, terms.postscale, view.shape, 0, 0, None, 0, counts)
    operation = _core_of(group).reduce_scatter_v
    finish = functools.partial(_scattered, array, (parts[group.context.rank], *array.shape[1:]))

    def start(label: str) -> Handle:
        op = ENGINE_OPS[terms.op]
        work = operation(view.address, 0, view.count, view.type, op, 0, (label, *options[1:]), view)
        return Handle(work, "REDUCESCATTER", label, finish)

    return group.start("reducescatter", name, start)


def _scattered(array: Any, shape: _memory.Shape, work: _core.Work) -> list[Any]:
    if math.prod(shape) == 0:
        return [numpy.empty(shape, array.dtype)]
    return [numpy.frombuffer(work, array.dtype).reshape(shape)]
