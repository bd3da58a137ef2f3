"""The operations of Horovod's API on tensors of torch.

All ranks of a process set call each of them, in any order of their names. Those with `_async` return a handle for
poll() and synchronize(). If the name ends in `_`, the operation writes to the tensor that it gets. The others can be
differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import (
    basics,
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
    start_timeline,
    stop_timeline,
    translated,
)
from dtrain.horovod.common.exceptions import HorovodInternalError
from dtrain.horovod.common.handles import Handle, HandleList, poll, synchronize
from dtrain.horovod.common.process_sets import ProcessSet, add_process_set, global_process_set, init, remove_process_set
from dtrain.horovod.common.reductions import Adasum, Average, Max, Min, Product, Sum, check_list, op_of
from dtrain.torch import _autograd, _moves, _reductions
from dtrain.torch.compression import Compression

__all__ = [
    "Adasum",
    "Average",
    "HorovodInternalError",
    "Max",
    "Min",
    "ProcessSet",
    "Product",
    "Sum",
    "add_process_set",
    "allgather",
    "allgather_async",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "alltoall",
    "alltoall_async",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "global_process_set",
    "gloo_built",
    "gloo_enabled",
    "grouped_allgather",
    "grouped_allgather_async",
    "grouped_allreduce",
    "grouped_allreduce_",
    "grouped_allreduce_async",
    "grouped_allreduce_async_",
    "grouped_reducescatter",
    "grouped_reducescatter_async",
    "init",
    "is_homogeneous",
    "is_initialized",
    "join",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "poll",
    "rank",
    "reducescatter",
    "reducescatter_async",
    "remove_process_set",
    "rocm_built",
    "shutdown",
    "size",
    "sparse_allreduce_async",
    "start_timeline",
    "stop_timeline",
    "synchronize",
]


def _number(process_set: Any) -> int | None:
    if not isinstance(process_set, ProcessSet):
        raise ArgumentError(f"process_set: give a ProcessSet, not {process_set!r}")
    return process_set.process_set_id


def allreduce(
    tensor: Any,
    average: bool | None = None,
    name: str | None = None,
    compression: Any = Compression.none,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Return the reduction of a tensor over all ranks, by default its average."""
    op = op_of(op, average)
    small, ctx = compression.compress(tensor)
    scales = (prescale_factor, postscale_factor)
    return compression.decompress(_autograd.allreduce(small, op, name, scales, _number(process_set)), ctx)


def allreduce_async(
    tensor: Any,
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start the reduction of a tensor. It is not changed, and must not be until the handle was waited for."""
    scales = (prescale_factor, postscale_factor)
    number = _number(process_set)
    return _reductions.start_allreduce(tensor, op_of(op, average), name, scales, number, in_place=False)


def allreduce_(
    tensor: Any,
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Reduce a tensor in place, and return it."""
    scales = (prescale_factor, postscale_factor)
    number = _number(process_set)
    return _reductions.start_allreduce(tensor, op_of(op, average), name, scales, number, in_place=True).wait()


def allreduce_async_(
    tensor: Any,
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start the reduction of a tensor in place."""
    scales = (prescale_factor, postscale_factor)
    number = _number(process_set)
    return _reductions.start_allreduce(tensor, op_of(op, average), name, scales, number, in_place=True)


def grouped_allreduce(
    tensors: Sequence[Any],
    average: bool | None = None,
    name: str | None = None,
    compression: Any = Compression.none,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[Any]:
    """Return the reductions of several tensors, which are submitted at once."""
    check_list(tensors)
    op = op_of(op, average)
    pairs = [compression.compress(tensor) for tensor in tensors]
    scales = (prescale_factor, postscale_factor)
    small = [tensor for tensor, _ in pairs]
    results = _autograd.grouped_allreduce(small, op, name, scales, _number(process_set))
    return [compression.decompress(result, ctx) for result, (_, ctx) in zip(results, pairs, strict=True)]


def grouped_allreduce_async(
    tensors: Sequence[Any],
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start the reduction of several tensors at once."""
    scales = (prescale_factor, postscale_factor)
    number = _number(process_set)
    return _reductions.start_grouped_allreduce(tensors, op_of(op, average), name, scales, number, in_place=False)


def grouped_allreduce_(
    tensors: Sequence[Any],
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[Any]:
    """Reduce several tensors in place at once, and return them."""
    scales = (prescale_factor, postscale_factor)
    number = _number(process_set)
    reduced = op_of(op, average)
    return list(_reductions.start_grouped_allreduce(tensors, reduced, name, scales, number, in_place=True).wait())


def grouped_allreduce_async_(
    tensors: Sequence[Any],
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start the reduction of several tensors in place at once."""
    scales = (prescale_factor, postscale_factor)
    number = _number(process_set)
    return _reductions.start_grouped_allreduce(tensors, op_of(op, average), name, scales, number, in_place=True)


def sparse_allreduce_async(
    tensor: Any, name: str | None, op: int | None, process_set: ProcessSet = global_process_set
) -> Callable[[], Any]:
    """Start the reduction of a sparse tensor. The result is a function, which returns the sum or average."""
    op = op_of(op)
    if not isinstance(tensor, torch.Tensor) or not tensor.is_sparse:
        raise ArgumentError("tensor: give a sparse tensor; allreduce_async takes dense ones")
    if op not in (Average, Sum):
        raise ArgumentError("op: sparse tensors have Sum and Average only")
    number = _number(process_set)
    ranks = len(basics.member(number).ranks)

    def finish(joined: Any) -> Any:
        # A tensor that was not coalesced names a place several times; the sum of both is then that of all.
        total = joined._values() / ranks if op == Average else joined._values()
        return torch.sparse_coo_tensor(joined._indices(), total.to(tensor.dtype), tensor.shape)

    return _moves.start_sparse(tensor, name, number, finish).wait


def allgather(tensor: Any, name: str | None = None, process_set: ProcessSet = global_process_set) -> Any:
    """Return the tensors of all ranks, joined along the first dimension, in which they may differ."""
    return _autograd.allgathers([tensor], name, _number(process_set))[0]


def allgather_async(tensor: Any, name: str | None = None, process_set: ProcessSet = global_process_set) -> Handle:
    """Start to join the tensors of all ranks."""
    return _moves.start_allgather(tensor, name, _number(process_set))


def grouped_allgather(
    tensors: Sequence[Any], name: str | None = None, process_set: ProcessSet = global_process_set
) -> list[Any]:
    """Return for each tensor of a list those of all ranks, joined along the first dimension."""
    return _autograd.allgathers(tensors, name, _number(process_set))


def grouped_allgather_async(
    tensors: Sequence[Any], name: str | None = None, process_set: ProcessSet = global_process_set
) -> HandleList:
    """Start to join the tensors of all ranks, for each tensor of a list."""
    check_list(tensors)
    return _autograd.start_allgathers(tensors, name, _number(process_set))


def broadcast(
    tensor: Any, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Any:
    """Return the tensor of the rank `root_rank`, which is a rank among all of the job."""
    number = _number(process_set)
    if _autograd.needs_grad((tensor,)):
        return _autograd.Broadcast.apply(tensor, root_rank, name, number)
    return _moves.start_broadcast(tensor, root_rank, name, number, in_place=False).wait()


def broadcast_async(
    tensor: Any, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Start to broadcast a tensor, which is not changed."""
    return _moves.start_broadcast(tensor, root_rank, name, _number(process_set), in_place=False)


def broadcast_(
    tensor: Any, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Any:
    """Broadcast a tensor in place, and return it."""
    return _moves.start_broadcast(tensor, root_rank, name, _number(process_set), in_place=True).wait()


def broadcast_async_(
    tensor: Any, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Start to broadcast a tensor in place."""
    return _moves.start_broadcast(tensor, root_rank, name, _number(process_set), in_place=True)


def _received(splits: Any, rows: Sequence[int]) -> Any:
    device = splits.device if isinstance(splits, torch.Tensor) else None
    return torch.tensor(rows, dtype=torch.int32, device=device)


def alltoall(
    tensor: Any, splits: Any = None, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Any:
    """Send each rank its rows of the tensor, and return the rows that all ranks have sent to this one.

    `splits` has the number of rows for each rank. The result is then a pair: the tensor, and the rows of each rank.
    """
    number = _number(process_set)
    if not _autograd.needs_grad((tensor,)):
        result: Any = alltoall_async(tensor, splits, name, process_set).wait()
        return result
    result, received = _autograd.Alltoall.apply(tensor, _moves.splits_of(splits), name, number)
    return result if splits is None else (result, _received(splits, received.tolist()))


def alltoall_async(
    tensor: Any, splits: Any = None, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Start to send each rank its rows of the tensor."""

    def finish(result: Any, rows: list[int]) -> Any:
        return result if splits is None else (result, _received(splits, rows))

    return _moves.start_alltoall(tensor, _moves.splits_of(splits), name, _number(process_set), finish)


def reducescatter(
    tensor: Any,
    name: str | None = None,
    compression: Any = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Any:
    """Return this rank's rows of the reduction. Where the ranks do not divide them, the first ranks get one more."""
    small, ctx = compression.compress(tensor)
    scales = (prescale_factor, postscale_factor)
    results = _autograd.reducescatters([small], name, op_of(op), scales, _number(process_set))
    return compression.decompress(results[0], ctx)


def reducescatter_async(
    tensor: Any,
    name: str | None = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Handle:
    """Start a reduction of which each rank gets its rows."""
    scales = (prescale_factor, postscale_factor)
    return _reductions.start_reducescatter(tensor, op_of(op), name, scales, _number(process_set))


def grouped_reducescatter(
    tensors: Sequence[Any],
    name: str | None = None,
    compression: Any = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[Any]:
    """Return this rank's rows of the reductions of several tensors."""
    check_list(tensors)
    pairs = [compression.compress(tensor) for tensor in tensors]
    scales = (prescale_factor, postscale_factor)
    small = [tensor for tensor, _ in pairs]
    results = _autograd.reducescatters(small, name, op_of(op), scales, _number(process_set))
    return [compression.decompress(result, ctx) for result, (_, ctx) in zip(results, pairs, strict=True)]


def grouped_reducescatter_async(
    tensors: Sequence[Any],
    name: str | None = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> HandleList:
    """Start reductions of several tensors, of which each rank gets its rows."""
    check_list(tensors)
    scales = (prescale_factor, postscale_factor)
    return _autograd.start_reducescatters(tensors, name, op_of(op), scales, _number(process_set))


def join(device: int = -1) -> int:  # noqa: ARG001
    """Announce that this rank has no more data, and return once all ranks have joined: the rank that joined last.

    Until then this rank counts with zeros in the reductions of others. Their other operations fail.
    """
    group = basics.member(0)
    assert group.context is not None
    with translated():
        last = int(group.context.join())
        group.realign()
    return last


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Return when every rank of the process set has called it."""
    context = basics.member(_number(process_set)).context
    assert context is not None
    with translated():
        context.barrier()
