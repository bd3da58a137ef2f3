"""The class of the backend. Its collectives match by their order on each rank, as torch wants them."""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._distributed_c10d import Backend

from dtrain import _core
from dtrain._context import Context
from dtrain._errors import ArgumentError
from dtrain.torch import _memory
from dtrain.torch._c10d.base import Base
from dtrain.torch._c10d.inbox import Inbox, Kind, Message
from dtrain.torch._c10d.job import job
from dtrain.torch._c10d.places import apart, flat_of, put, put_all, put_parts, row_of
from dtrain.torch._c10d.reductions import Reduction
from dtrain.torch._c10d.works import Received, Waited, Work
from dtrain.torch._sparse import SparseRows

_MILLISECONDS_MAX = 2**31 - 1
Shape = tuple[int, ...]


class _Call:
    """The memory of one operation of the engine, and what is left to do when it is done."""

    __slots__ = ("core", "finish")

    def __init__(self, core: _core.Work, finish: Callable[[], object] | None = None) -> None:
        self.core = core
        self.finish = finish


class DtrainBackend(Base):
    """The operations of one process group. Ranks are those in the group."""

    def __init__(self, context: Context, ranks: list[int], timeout: datetime.timedelta) -> None:
        super().__init__(context.rank, context.size)
        self._context = context
        self._handle = context._handle
        self._ranks = ranks
        self._timeout = timeout
        self._coalesced: list[Work] | None = None
        self._waited = Waited()
        self._sequence = 0
        self._inbox = Inbox(self._post)
        job.keep(context, self)

    def name(self) -> str:
        """Return the name of the backend."""
        return "dtrain"

    getBackendName = name  # noqa: N815
    _get_backend_name = name
    get_backend_name = name

    @property
    def supports_splitting(self) -> bool:
        """Return True: groups are made from their members alone."""
        return True

    @property
    def supports_coalescing(self) -> bool:
        """Return True: several operations may be submitted together."""
        return True

    @property
    def options(self) -> Any:
        """The options of this group, for one that is split from it."""
        return Backend.Options("dtrain", self._timeout)

    def get_sequence_number_for_group(self) -> int:
        """Return how many operations this rank has submitted, which torch compares in its debug mode."""
        return self._sequence

    def set_sequence_number_for_group(self) -> None:
        """Begin to count at 0, which every rank does anyway."""

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Set the timeout of later operations that have none of their own."""
        self._timeout = timeout

    def split(self, store: Any, ranks: list[int], opts: Any) -> DtrainBackend:  # noqa: ARG002
        """Return the backend of some ranks of this group. Its members call it."""
        world_ranks = [self._ranks[rank] for rank in ranks]
        timeout = getattr(opts, "_timeout", None) or self._timeout
        place = ranks.index(self._context.rank)
        context = job.context_of(world_ranks, place, len(ranks), timeout)
        return DtrainBackend(context, world_ranks, timeout)

    def shutdown(self) -> None:
        """Leave the group."""
        job.leave(self._context)

    abort = shutdown

    # ---- Operations

    def allreduce(self, tensors: Sequence[Any], opts: Any) -> Work:
        """Reduce tensors in place."""
        if any(tensor.is_sparse for tensor in tensors):
            return self.allreduce_sparse(tensors, opts)
        return self._work([self._reduce_in_place(tensor, opts) for tensor in tensors], list(tensors))

    def allreduce_coalesced(self, tensors: Sequence[Any], opts: Any) -> Work:
        """Reduce tensors in place, as one operation."""
        reduction = Reduction(opts.reduceOp, tensors[0])
        if reduction.engine is None or any(tensor.dtype != tensors[0].dtype for tensor in tensors):
            return self.allreduce(tensors, opts)
        memories = [_memory.plain(tensor) for tensor in tensors]
        reals = [_memory.as_real(memory) for memory in memories]
        options = self._options(opts, reals[0], prescale=reduction.prescale)
        core = self._handle.all_reduce_list(tuple(map(row_of, reals)), reduction.engine, options, memories)
        return self._work([_Call(core, put_all(tensors, memories))], list(tensors))

    def allreduce_sparse(self, tensors: Sequence[Any], opts: Any) -> Work:
        """Add sparse tensors in place."""
        calls = []
        for tensor in tensors:
            reduction = Reduction(opts.reduceOp, tensor)
            if reduction.engine not in (_core.SUM, _core.AVERAGE):
                raise ArgumentError("op: sparse tensors have SUM and AVG only")
            calls.extend(self._add_sparse(tensor, reduction.engine == _core.AVERAGE, opts))
        return self._work(calls, list(tensors))

    def broadcast(self, tensors: Sequence[Any], opts: Any) -> Work:
        """Give every rank the tensor of the root, in place."""
        tensor = tensors[opts.rootTensor]
        memory = _memory.plain(tensor)
        core = self._start(self._handle.broadcast, memory, memory, opts, opts.rootRank)
        return self._work([_Call(core, put(tensor, memory))], list(tensors))

    def reduce(self, tensors: Sequence[Any], opts: Any) -> Work:
        """Reduce tensors to the root, in place. The tensors of others stay."""
        tensor = tensors[opts.rootTensor]
        reduction = Reduction(opts.reduceOp, tensor)
        is_root = opts.rootRank == self._context.rank
        if reduction.engine is None:
            target = tensor if is_root else torch.empty_like(tensor)
            return self._work([self._fold(reduction, tensor, target, opts)], list(tensors))
        memory = _memory.plain(tensor)
        real = _memory.as_real(memory)
        target = real if is_root else None
        prescale, root = reduction.prescale, opts.rootRank
        core = self._start(self._handle.reduce, real, target, opts, reduction.engine, prescale=prescale, root=root)
        return self._work([_Call(core, put(tensor, memory) if is_root else None)], list(tensors))

    def allgather(self, output_lists: Sequence[Sequence[Any]], inputs: Sequence[Any], opts: Any = None) -> Work:
        """Give every rank the tensors of all ranks, as a list by rank."""
        calls = [self._gather_all(outputs, tensor, opts) for outputs, tensor in zip(output_lists, inputs, strict=True)]
        return self._work(calls, list(output_lists[0]) if len(output_lists) == 1 else list(map(list, output_lists)))

    def allgather_coalesced(
        self, output_lists: Sequence[Sequence[Any]], inputs: Sequence[Any], opts: Any = None
    ) -> Work:
        """Gather several tensors. The lists are by rank, and then by tensor."""
        calls = [
            self._gather_all([outputs[place] for outputs in output_lists], tensor, opts)
            for place, tensor in enumerate(inputs)
        ]
        return self._work(calls, [list(outputs) for outputs in output_lists])

    def all_gather_single(self, output: Any, tensor: Any, opts: Any = None) -> Work:
        """Join the tensors of all ranks in one."""
        return self._work([self._join(output, tensor, opts)], [output])

    def all_gather_single_coalesced(self, outputs: Sequence[Any], inputs: Sequence[Any], opts: Any = None) -> Work:
        """Join the tensors of all ranks, for several tensors."""
        return self._work([self._join(*pair, opts) for pair in zip(outputs, inputs, strict=True)], list(outputs))

    def gather(self, output_lists: Sequence[Sequence[Any]], inputs: Sequence[Any], opts: Any) -> Work:
        """Give the root the tensors of all ranks, as a list by rank."""
        memory = _memory.plain(inputs[0])
        if opts.rootRank != self._context.rank:
            return self._work([_Call(self._start(self._handle.gather, memory, None, opts, opts.rootRank))], [])
        outputs = list(output_lists[0])
        flat = _memory.empty(memory, (self._context.size * memory.numel(),))
        core = self._start(self._handle.gather, memory, flat, opts, opts.rootRank)
        return self._work([_Call(core, lambda: put_parts(outputs, flat))], outputs)

    def scatter(self, outputs: Sequence[Any], input_lists: Sequence[Sequence[Any]], opts: Any) -> Work:
        """Give each rank its tensor of the root's list."""
        output = outputs[0]
        memory = _memory.plain(output)
        source = None
        if opts.rootRank == self._context.rank:
            source = flat_of(input_lists[0], memory)
        shape = tuple(memory.shape)
        core = self._start(self._handle.scatter, source, memory, opts, opts.rootRank, shape=shape)
        return self._work([_Call(core, put(output, memory))], list(outputs))

    def reduce_scatter(self, outputs: Sequence[Any], input_lists: Sequence[Sequence[Any]], opts: Any) -> Work:
        """Reduce lists by rank, and give each rank its tensor of the result."""
        calls = []
        for output, inputs in zip(outputs, input_lists, strict=True):
            counts = [tensor.numel() for tensor in inputs]
            calls.append(self._reduce_parts(output, flat_of(inputs, output), counts, opts))
        return self._work(calls, list(outputs))

    def reduce_scatter_single(self, output: Any, tensor: Any, opts: Any) -> Work:
        """Reduce a tensor, and give each rank its part of the result."""
        return self._work([self._reduce_whole(output, tensor, opts)], [output])

    def reduce_scatter_single_coalesced(self, outputs: Sequence[Any], inputs: Sequence[Any], opts: Any) -> Work:
        """Reduce several tensors, and give each rank its part of each."""
        return self._work(
            [self._reduce_whole(*pair, opts) for pair in zip(outputs, inputs, strict=True)], list(outputs)
        )

    def alltoall(self, outputs: Sequence[Any], inputs: Sequence[Any], opts: Any = None) -> Work:
        """Send each rank its tensor of a list, and receive a list by rank."""
        counts = tuple(tensor.numel() for tensor in inputs)
        places = list(outputs)
        call = self._exchange(flat_of(inputs, outputs[0]), counts, opts, lambda flat: put_parts(places, flat))
        return self._work([call], places)

    def all_to_all_single(
        self, output: Any, tensor: Any, output_splits: Sequence[int], input_splits: Sequence[int], opts: Any = None
    ) -> Work:
        """Send each rank its rows of a tensor. Without splits, the rows are divided by the ranks."""
        size = self._context.size
        rows = tensor.shape[0] if tensor.dim() > 0 else 1
        if not input_splits and rows % size != 0:
            raise ArgumentError(f"input: its first dimension {rows} is not divisible by {size} ranks")
        splits = list(input_splits) or [rows // size] * size
        if sum(splits) != rows or len(splits) != size:
            raise ArgumentError(f"input_split_sizes: give {size} numbers with the sum {rows}, not {splits}")
        if output_splits and (len(output_splits) != size or sum(output_splits) != output.shape[0]):
            raise ArgumentError(f"output_split_sizes: give {size} numbers with the sum {output.shape[0]}")
        row = tensor.numel() // max(1, rows)
        counts = tuple(split * row for split in splits)
        call = self._exchange(tensor, counts, opts, lambda flat: put_parts([output], flat))
        return self._work([call], [output])

    def barrier(self, opts: Any = None) -> Work:
        """Return when all ranks have called it."""
        core = self._handle.barrier(0, 0, 0, _core.INT32, 0, 0, self._options(opts, None), None)
        return self._work([_Call(core)], [])

    def send(self, tensors: Sequence[Any], rank: int, tag: int) -> Work:
        """Send a tensor. The messages of two ranks match by their order, and must then have one tag."""
        memory = _memory.plain(tensors[0])
        return self._work([_Call(self._start(self._handle.send, memory, None, None, rank, tag=tag))], list(tensors))

    def recv(self, tensors: Sequence[Any], rank: int, tag: int) -> Work:
        """Receive a tensor."""
        if self._inbox.expects(rank):
            return self._ask(tensors[0], [rank], tag)
        tensor, outputs = tensors[0], Received(tensors)
        outputs.source = rank
        memory = _memory.plain(tensor)
        core = self._start(self._handle.recv, None, memory, None, rank, tag=tag)
        return self._work([_Call(core, put(tensor, memory))], outputs)

    def recv_anysource(self, tensors: Sequence[Any], tag: int) -> Work:
        """Receive a tensor from any other rank."""
        if self._context.size == 1:
            raise ArgumentError("recv: this group has no other rank that could send")
        return self._ask(tensors[0], [rank for rank in range(self._context.size) if rank != self._context.rank], tag)

    def _start_coalescing(self, device: Any = None) -> None:  # noqa: ARG002
        self._coalesced = []

    def _end_coalescing(self, device: Any = None) -> Work:  # noqa: ARG002
        works, self._coalesced = self._coalesced or [], None
        cores = [core for work in works for core in work.cores()]
        if any(work.needs_host() for work in works):
            return Work(cores, [], functools.partial(_end_all, works), job.futures)
        return Work(cores, [output for work in works for output in work.outputs()], None, job.futures, self._waited)

    # The names that torch has used before 2.15, or uses beside these.
    getSequenceNumberForGroup = get_sequence_number_for_group  # noqa: N815
    _get_sequence_number_for_group = get_sequence_number_for_group
    setSequenceNumberForGroup = set_sequence_number_for_group  # noqa: N815
    _set_sequence_number_for_group = set_sequence_number_for_group
    start_coalescing = _start_coalescing
    end_coalescing = _end_coalescing
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single

    # ---- Their parts

    def _work(self, calls: Sequence[_Call], outputs: list[Any]) -> Work:
        rest = [call.finish for call in calls if call.finish is not None]

        def finish() -> None:
            for one in rest:
                one()

        cores = [call.core for call in calls]
        return self._submitted(Work(cores, outputs, finish if rest else None, job.futures, self._waited))

    def _submitted(self, work: Work) -> Work:
        self._sequence += 1
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def _ask(self, tensor: Any, ranks: Sequence[int], tag: int) -> Work:
        message = Message(self._inbox, lambda memory: put_parts([tensor], memory), Received([tensor]), job.futures)
        self._inbox.ask(message, ranks, Kind(tensor.numel(), tensor.dtype, tag))
        return self._submitted(message)

    def _post(self, kind: Kind, rank: int) -> tuple[_core.Work, Any]:
        memory = torch.empty(kind.elements, dtype=kind.dtype)
        return self._start(self._handle.recv, None, memory, None, rank, tag=kind.tag), memory

    def _options(
        self,
        opts: Any,
        memory: Any,
        shape: Shape | None = None,
        *,
        prescale: float = 0.0,
        counts: tuple[int, ...] | None = None,
        tag: int | None = None,
    ) -> _core.Options:
        self._waited.raise_failure()  # each operation passes here
        timeout = self._timeout if opts is None else opts.timeout
        if timeout.total_seconds() <= 0:
            timeout = self._timeout
        milliseconds = min(_MILLISECONDS_MAX, max(1, round(timeout.total_seconds() * 1000)))
        element, element_bytes = (None, 0) if memory is None else _memory.type_of(memory)[1:]
        name = None if tag is None else f"tag {tag}"
        stream = 0 if memory is None else _memory.stream_of(memory) or 0
        return (name, milliseconds, prescale, 0.0, shape, 0, 0, element, element_bytes, counts, stream)

    def _start(
        self,
        operation: _core.Operation,
        source: Any,
        target: Any,
        opts: Any,
        argument: int = 0,
        *,
        root: int = 0,
        shape: Shape | None = None,
        prescale: float = 0.0,
        counts: tuple[int, ...] | None = None,
        tag: int | None = None,
    ) -> _core.Work:
        memory = source if source is not None else target
        sizes = tuple(memory.shape) if shape is None else shape
        options = self._options(opts, memory, sizes, prescale=prescale, counts=counts, tag=tag)
        addresses = (0 if source is None else source.data_ptr(), 0 if target is None else target.data_ptr())
        kept = (source, target)
        return operation(*addresses, math.prod(sizes), _memory.type_of(memory)[0], argument, root, options, kept)

    def _reduce_in_place(self, tensor: Any, opts: Any) -> _Call:
        reduction = Reduction(opts.reduceOp, tensor)
        if reduction.engine is None:
            return self._fold(reduction, tensor, tensor, opts)
        memory = _memory.plain(tensor)
        real = _memory.as_real(memory)
        core = self._start(self._handle.all_reduce, real, real, opts, reduction.engine, prescale=reduction.prescale)
        return _Call(core, put(tensor, memory))

    def _fold(self, reduction: Reduction, tensor: Any, target: Any, opts: Any) -> _Call:
        memory = _memory.plain(tensor)
        flat = _memory.empty(memory, (self._context.size, *memory.shape))
        core = self._start(self._handle.all_gather, memory, flat, opts)
        return _Call(core, lambda: target.copy_(reduction.fold(list(flat))))

    def _gather_all(self, outputs: Sequence[Any], tensor: Any, opts: Any) -> _Call:
        memory = _memory.plain(tensor)
        places = list(outputs)
        if all(output.numel() == memory.numel() for output in places):
            flat = _memory.empty(memory, (self._context.size * memory.numel(),))
            core = self._start(self._handle.all_gather, memory, flat, opts, shape=(memory.numel(),))
            return _Call(core, lambda: put_parts(places, flat))
        own = _memory.on_host(tensor)
        core = self._start(self._handle.all_gather_v, own, None, opts, shape=(own.numel(),))
        return _Call(core, lambda: put_parts(places, _memory.from_work(core, own, ())))

    def _join(self, output: Any, tensor: Any, opts: Any) -> _Call:
        memory, target = _memory.plain(tensor), _memory.plain(output)
        if target.numel() != memory.numel() * self._context.size:
            raise ArgumentError(f"output: {target.numel()} elements, for {self._context.size} times {memory.numel()}")
        source: Any = memory
        if memory.data_ptr() == target.data_ptr() + self._context.rank * memory.numel() * memory.element_size():
            source = None  # it is this rank's part of the output
        count = (memory.numel(),)
        core = self._start(self._handle.all_gather, source, target, opts, shape=count)
        return _Call(core, put(output, target))

    def _reduce_whole(self, output: Any, tensor: Any, opts: Any) -> _Call:
        if tensor.numel() != output.numel() * self._context.size:
            raise ArgumentError(f"input: {tensor.numel()} elements, for {self._context.size} times {output.numel()}")
        return self._reduce_parts(output, _memory.plain(tensor), [output.numel()] * self._context.size, opts)

    def _reduce_parts(self, output: Any, flat: Any, counts: list[int], opts: Any) -> _Call:
        reduction = Reduction(opts.reduceOp, flat)
        if reduction.engine is None:
            whole = torch.empty_like(flat).view(-1)
            call = self._fold(reduction, flat.view(-1), whole, opts)
            begin = sum(counts[: self._context.rank])

            def take_part() -> None:
                assert call.finish is not None
                call.finish()
                output.view(-1).copy_(whole[begin : begin + counts[self._context.rank]])

            return _Call(call.core, take_part)
        real = _memory.as_real(flat)
        width = real.numel() // max(1, flat.numel())
        prescale = reduction.prescale
        if len(set(counts)) == 1:
            target = _memory.plain(output)
            own = _memory.as_real(target)
            shape = (own.numel(),)
            core = self._start(
                self._handle.reduce_scatter,
                apart(real, own),
                own,
                opts,
                reduction.engine,
                shape=shape,
                prescale=prescale,
            )
            return _Call(core, put(output, target))
        real = _memory.on_host(real)
        parts = tuple(count * width for count in counts)
        shape = (real.numel(),)
        core = self._start(
            self._handle.reduce_scatter_v,
            real,
            None,
            opts,
            reduction.engine,
            shape=shape,
            counts=parts,
            prescale=prescale,
        )
        return _Call(core, lambda: put_parts([_memory.as_real(output)], _memory.from_work(core, real, ())))

    def _exchange(self, tensor: Any, counts: tuple[int, ...], opts: Any, take: Callable[[Any], None]) -> _Call:
        flat = _memory.on_host(tensor)
        core = self._start(self._handle.all_to_all_v, flat, None, opts, shape=(flat.numel(),), counts=counts)
        return _Call(core, lambda: take(_memory.from_work(core, flat, ())))

    def _add_sparse(self, tensor: Any, average: bool, opts: Any) -> list[_Call]:
        rows = SparseRows(tensor.coalesce())
        name, milliseconds = self._options(opts, None)[:2]
        options = (name, milliseconds, 0.0, 0.0, (rows.count,), 0, 0, rows.element, rows.row_bytes, None)
        address = rows.memory.data_ptr()
        core = self._handle.all_gather_v(address, 0, rows.count, _core.OPAQUE, 0, 0, options, rows)

        def add() -> None:
            total = rows.joined(core).coalesce()
            tensor.copy_(total / self._context.size if average else total)

        return [_Call(core, add)]


def _end_all(works: Sequence[Work]) -> None:
    for work in works:
        work.end()
