"""The operations of a context, on arrays of any library.

Each has a form that waits, and one with `_async` that returns a Work. All of them take

- `out`: the array for the result, of the same type. Without it, the result is a new array of the kind of `tensor`.
  `out=tensor` works in place where the shapes are equal.
- `name`: matches the operation with those of this name on other ranks, in any order. Without a name, operations match
  by their order on each rank.
- `timeout`: seconds after which the operation fails, and with it all later ones of the context.

Arrays are contiguous, and in memory of the CPU or of a GPU of NVIDIA. Parts of ranks are cut from, and joined along,
the first dimension.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from math import prod
from types import NoneType
from typing import Any, Concatenate, ParamSpec, TypeVar

from dtrain import _core
from dtrain._errors import ArgumentError
from dtrain._options import (
    Compression,
    Op,
    Quorum,
    compression_of,
    integer,
    milliseconds,
    name_of,
    number,
    op_of,
    quorum_of,
)
from dtrain._tensors import Shape, View, describe, describe_numbers
from dtrain._work import Work

_Self = TypeVar("_Self")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Start = Callable[Concatenate[_Self, _Arguments], Work]


_ARRAY: type[Any] = object  # arrays of any library have no common type


def _blocking(
    start: _Start[_Self, _Arguments], result: type[_Result]
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Return the form of an operation that waits for its result, which is of a type."""

    def call(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Any:
        return start(self, *args, **kwargs).wait()

    call.__doc__ = start.__doc__
    call.__name__ = start.__name__.removesuffix("_async")
    call.__qualname__ = start.__qualname__.removesuffix("_async")
    # help() and notebooks show it.
    shown = Any if result is _ARRAY else None if result is NoneType else result
    call.__signature__ = inspect.signature(start).replace(return_annotation=shown)  # type: ignore[attr-defined]
    return call


def _scale(what: str, factor: float | None) -> float:
    if factor == 0:
        raise ArgumentError(f"{what}: 0 is no scale")
    return 0.0 if factor is None else number(what, factor)


def _options(
    view: View | None = None,
    shape: Shape | None = None,
    *,
    name: str | None,
    timeout: float | None,
    scales: tuple[float | None, float | None] = (None, None),
    compression: Compression | int = Compression.NONE,
    over_active_ranks: bool = False,
    counts: tuple[int, ...] | None = None,
) -> _core.Options:
    element = None if view is None else view.element
    return (
        name_of(name),
        milliseconds(timeout),
        _scale("prescale", scales[0]),
        _scale("postscale", scales[1]),
        shape,
        int(over_active_ranks),
        compression_of(compression),
        element,
        0 if view is None or element is None else view.element_bytes,
        counts,
        0 if view is None else view.stream,
    )


def _rows_of(view: View) -> Shape:
    """Return the shape with a first dimension: a scalar is one row."""
    return view.shape or (1,)


def _target(source: View, out: Any, shape: Shape, own_part: int | None = None) -> tuple[View, Any]:
    """Return the view of `out`, or of a new array, and the array.

    The source is apart from it, or all of it. With `own_part`, it may also be the part of that number.
    """
    if out is None:
        out = source.empty(shape)
        return describe(out, writable=True), out
    target = describe(out, writable=True, what="out")
    if target.type != source.type or target.element != source.element:
        raise ArgumentError("out: its elements have another type than those of tensor")
    if target.count != prod(shape):
        raise ArgumentError(f"out: its shape is {target.shape}, but the result has the shape {shape}")
    begin = source.address - target.address
    overlaps = -source.bytes < begin < target.bytes and source.count > 0
    if overlaps and own_part is None and (begin != 0 or source.count != target.count):
        raise ArgumentError("out: it overlaps with tensor, and is another array")
    if overlaps and own_part is not None and begin != own_part * source.bytes:
        raise ArgumentError("out: it overlaps with tensor, which is not the part of this rank")
    return target, out


class Collectives:
    """The operations of a context."""

    __slots__ = ("_handle",)
    _handle: _core.Context

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of ranks."""
        raise NotImplementedError

    def all_reduce_async(
        self,
        tensor: Any,
        op: Op | int = Op.SUM,
        *,
        out: Any = None,
        prescale: float | None = None,
        postscale: float | None = None,
        compression: Compression | int = Compression.NONE,
        over_active_ranks: bool = False,
        quorum: Quorum | None = None,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Work:
        """Reduce the tensors of all ranks, element by element, to the same bits on every rank.

        Inputs are multiplied by `prescale`, and results by `postscale`. `over_active_ranks` divides an average by the
        number of ranks that have not joined. With a `quorum`, which needs a name, it does not wait for slow ranks: a
        late one gets the result at once, without its tensor in it. `Work.contributors` has the others. An average is
        over these.
        """
        source = describe_numbers(tensor)
        target, result = _target(source, out, source.shape)
        options = _options(
            source,
            source.shape if quorum is None else None,
            name=name,
            timeout=timeout,
            scales=(prescale, postscale),
            compression=compression,
            over_active_ranks=over_active_ranks,
        )
        if quorum is not None:
            row = (source.address, target.address, source.count, source.type, source.shape)
            kept = (source.kept, target.kept)
            core = self._handle.all_reduce_quorum(row, op_of(op), quorum_of(quorum), options, kept)
            return Work(core, lambda _: result)
        return self._start(self._handle.all_reduce, (source, target), options, op_of(op), result=result)

    def reduce_async(
        self,
        tensor: Any,
        root: int,
        op: Op | int = Op.SUM,
        *,
        out: Any = None,
        prescale: float | None = None,
        postscale: float | None = None,
        compression: Compression | int = Compression.NONE,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Work:
        """Reduce the tensors of all ranks to rank `root`. The result of others is None."""
        source = describe_numbers(tensor)
        scales = (prescale, postscale)
        options = _options(source, source.shape, name=name, timeout=timeout, scales=scales, compression=compression)
        target, result = _target(source, out, source.shape) if self.rank == root else (None, None)
        return self._start(self._handle.reduce, (source, target), options, op_of(op), root=root, result=result)

    def broadcast_async(
        self, tensor: Any, root: int, *, out: Any = None, name: str | None = None, timeout: float | None = None
    ) -> Work:
        """Give every rank the tensor of rank `root`. Others give a tensor of this shape and type."""
        source = describe(tensor)
        target, result = _target(source, out, source.shape)
        options = _options(source, source.shape, name=name, timeout=timeout)
        return self._start(self._handle.broadcast, (source, target), options, root, result=result)

    def all_gather_async(
        self,
        tensor: Any,
        *,
        out: Any = None,
        ragged: bool = False,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Work:
        """Join the tensors of all ranks along the first dimension, by rank.

        With `ragged`, first dimensions may differ between ranks, and there is no `out`.
        """
        source = describe(tensor)
        rows = _rows_of(source)
        options = _options(source, rows, name=name, timeout=timeout)
        if ragged:
            if out is not None:
                raise ArgumentError("out: with ragged, only the ranks together know the result's size")
            finish = _joining(_joined, source, rows[1:])
            return self._start(self._handle.all_gather_v, (source, None), options, finish=finish)
        target, result = _target(source, out, (rows[0] * self.size, *rows[1:]), self.rank)
        operation = self._handle.all_gather
        return self._start(operation, (self._apart(source, target), target), options, result=result)

    def gather_async(
        self, tensor: Any, root: int, *, out: Any = None, name: str | None = None, timeout: float | None = None
    ) -> Work:
        """Join the tensors of all ranks along the first dimension on rank `root`. The result of others is None."""
        source = describe(tensor)
        rows = _rows_of(source)
        options = _options(source, rows, name=name, timeout=timeout)
        if self.rank != root:
            return self._start(self._handle.gather, (source, None), options, root)
        target, result = _target(source, out, (rows[0] * self.size, *rows[1:]), self.rank)
        return self._start(self._handle.gather, (self._apart(source, target), target), options, root, result=result)

    def scatter_async(
        self, tensor: Any, root: int, *, out: Any = None, name: str | None = None, timeout: float | None = None
    ) -> Work:
        """Give each rank its part of the tensor of rank `root`, whose first dimension is divided by the ranks.

        On other ranks the tensor is None, and `out` has the shape of a part.
        """
        if self.rank != root:
            if out is None:
                raise ArgumentError("out: ranks other than the root give the array for their part")
            target, result = describe(out, writable=True, what="out"), out
            options = _options(target, _rows_of(target), name=name, timeout=timeout)
            return self._start(self._handle.scatter, (None, target), options, root, result=result)
        source = describe(tensor)
        part = self._part_of(source)
        target, result = _target(source, out, part)
        options = _options(source, part, name=name, timeout=timeout)
        return self._start(self._handle.scatter, (source, target), options, root, result=result)

    def reduce_scatter_async(
        self,
        tensor: Any,
        op: Op | int = Op.SUM,
        *,
        out: Any = None,
        splits: Sequence[int] | None = None,
        prescale: float | None = None,
        postscale: float | None = None,
        compression: Compression | int = Compression.NONE,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Work:
        """Reduce the tensors of all ranks, and give each rank its part of the result.

        `splits` has the rows of each rank's part, the same on all ranks, and excludes `out`. Without it, the first
        dimension is divided by the ranks. Where that leaves a rest, the first ranks get a row more.
        """
        source = describe_numbers(tensor)
        rows = _rows_of(source)
        if splits is None and rows[0] % self.size != 0:
            splits = [rows[0] // self.size + (rank < rows[0] % self.size) for rank in range(self.size)]
        counts = None if splits is None else self._counts_of(source, splits)
        options = _options(
            source,
            rows if counts else self._part_of(source),
            name=name,
            timeout=timeout,
            scales=(prescale, postscale),
            compression=compression,
            counts=counts,
        )
        if counts is None:
            target, result = _target(source, out, self._part_of(source))
            return self._start(self._handle.reduce_scatter, (source, target), options, op_of(op), result=result)
        if out is not None:
            raise ArgumentError("out: parts that differ in size are returned, not written to an array")
        finish = _joining(_joined, source, rows[1:])
        operation = self._handle.reduce_scatter_v
        return self._start(operation, (source, None), options, op_of(op), finish=finish)

    def all_to_all_async(
        self,
        tensor: Any,
        *,
        out: Any = None,
        splits: Sequence[int] | None = None,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Work:
        """Send each rank its part of the tensor, and join the parts that all ranks have sent to this one.

        `splits` has the rows of each rank's part. The result is then a pair: the tensor, and the rows from each rank.
        Without it, the first dimension is divided by the ranks.
        """
        source = describe(tensor)
        if splits is None:
            options = _options(source, self._part_of(source), name=name, timeout=timeout)
            target, result = _target(source, out, _rows_of(source))
            return self._start(self._handle.all_to_all, (source, target), options, result=result)
        if out is not None:
            raise ArgumentError("out: with splits, only the ranks together know the result's size")
        rows = _rows_of(source)
        counts = self._counts_of(source, splits)
        options = _options(source, rows, name=name, timeout=timeout, counts=counts)
        finish = _joining(_joined_with_rows, source, rows[1:])
        return self._start(self._handle.all_to_all_v, (source, None), options, finish=finish)

    def send_async(self, tensor: Any, to: int, *, name: str | None = None, timeout: float | None = None) -> Work:
        """Send a tensor to another rank. The sends and receives of two ranks match by their order."""
        source = describe(tensor)
        options = _options(source, name=name, timeout=timeout)
        return self._start(self._handle.send, (source, None), options, to)

    def recv_async(self, out: Any, source: int, *, name: str | None = None, timeout: float | None = None) -> Work:
        """Receive a tensor from rank `source` into `out`, and return it."""
        target = describe(out, writable=True, what="out")
        options = _options(target, name=name, timeout=timeout)
        return self._start(self._handle.recv, (None, target), options, source, result=out)

    def barrier_async(self, *, name: str | None = None, timeout: float | None = None) -> Work:
        """Return when every rank has called it."""
        options = _options(name=name, timeout=timeout)
        return self._start(self._handle.barrier, (None, None), options)

    def join_async(self, *, timeout: float | None = None) -> Work:
        """Announce that this rank has no more data for named collectives. Return the rank that joined last.

        Until all ranks have joined, this rank takes part in the named reductions of others without changing them.
        """
        options = _options(name=None, timeout=timeout)
        finish = _last_rank
        return self._start(self._handle.join, (None, None), options, finish=finish)

    all_reduce = _blocking(all_reduce_async, _ARRAY)
    reduce = _blocking(reduce_async, _ARRAY)
    broadcast = _blocking(broadcast_async, _ARRAY)
    all_gather = _blocking(all_gather_async, _ARRAY)
    gather = _blocking(gather_async, _ARRAY)
    scatter = _blocking(scatter_async, _ARRAY)
    reduce_scatter = _blocking(reduce_scatter_async, _ARRAY)
    all_to_all = _blocking(all_to_all_async, _ARRAY)
    send = _blocking(send_async, NoneType)
    recv = _blocking(recv_async, _ARRAY)
    barrier = _blocking(barrier_async, NoneType)
    join = _blocking(join_async, int)

    def _start(
        self,
        operation: _core.Operation,
        views: tuple[View | None, View | None],
        options: _core.Options,
        argument: int = 0,
        *,
        root: int = 0,
        result: Any = None,
        finish: Callable[[_core.Work], Any] | None = None,
    ) -> Work:
        source, target = views
        addresses = (0 if source is None else source.address, 0 if target is None else target.address)
        # The options have the elements of one part, where parts are divided by the ranks.
        view = source if source is not None else target
        shape = options[4]
        count = 0 if view is None else view.count if shape is None else prod(shape)
        kept = (source and source.kept, target and target.kept)
        kind = _core.INT32 if view is None else view.type
        numbers = (integer("rank", argument), integer("root", root))
        core = operation(*addresses, count, kind, *numbers, options, kept)
        return Work(core, finish if finish is not None else lambda _: result)

    def _apart(self, source: View, target: View) -> View | None:
        """Return None where the source is this rank's part of the target already."""
        return None if source.address == target.address + self.rank * source.bytes else source

    def _part_of(self, source: View) -> Shape:
        rows = _rows_of(source)
        if rows[0] % self.size != 0:
            raise ArgumentError(f"tensor: its first dimension {rows[0]} is not divisible by {self.size} ranks")
        return (rows[0] // self.size, *rows[1:])

    def _counts_of(self, source: View, splits: Sequence[int]) -> tuple[int, ...]:
        rows = _rows_of(source)
        if not isinstance(splits, Iterable):
            raise ArgumentError(f"splits: give a list of numbers, not {splits!r}")
        given = [integer("splits", split) for split in splits]
        if len(given) != self.size or min(given) < 0 or sum(given) != rows[0]:
            raise ArgumentError(
                f"splits: give {self.size} numbers from 0 with the sum {rows[0]}, the first dimension, not {given}"
            )
        return tuple(split * prod(rows[1:]) for split in given)


def _joining(join: Callable[[View, Shape, _core.Work], Any], source: View, row: Shape) -> Callable[[_core.Work], Any]:
    """Return what makes the result, whose size only the ranks together know, in memory of the CPU."""
    if source.stream:
        raise ArgumentError(
            "tensor: it is in memory of a GPU, where dtrain makes no array of a size that other ranks decide; copy it"
            " to the CPU, or give parts of one size"
        )
    return functools.partial(join, source, row)


def _joined(source: View, row: Shape, work: _core.Work) -> Any:
    elements = sum(work.counts())
    return source.from_work(work, (elements // max(1, prod(row)), *row))


def _joined_with_rows(source: View, row: Shape, work: _core.Work) -> tuple[Any, list[int]]:
    received = [count // max(1, prod(row)) for count in work.counts()]
    return source.from_work(work, (sum(received), *row)), received


def _last_rank(work: _core.Work) -> int:
    return int(memoryview(work).cast("i")[0])
