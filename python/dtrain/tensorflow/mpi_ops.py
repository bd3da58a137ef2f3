"""The operations of Horovod's API on tensors of TensorFlow: eager, within tf.function, and in sessions.

All ranks of a process set call each of them. In a graph, operations match by their names, in any order; without a name
they have those of their tensors. In eager execution, operations without a name match by their order. Arguments for
devices and name scopes are those of Horovod, and have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

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
from dtrain.horovod.common.process_sets import ProcessSet, add_process_set, global_process_set, init, remove_process_set
from dtrain.horovod.common.reductions import Adasum, Average, Max, Min, Product, Sum, check_list, op_of
from dtrain.horovod.common.util import num_rank_is_power_2 as check_num_rank_power_of_2
from dtrain.tensorflow import _gradients, _memory, _sparse
from dtrain.tensorflow._failures import NotHereError
from dtrain.tensorflow._starts import terms_of
from dtrain.tensorflow.compression import Compression

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
    "allreduce",
    "alltoall",
    "barrier",
    "broadcast",
    "broadcast_",
    "ccl_built",
    "check_num_rank_power_of_2",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "global_process_set",
    "gloo_built",
    "gloo_enabled",
    "grouped_allgather",
    "grouped_allreduce",
    "grouped_reducescatter",
    "init",
    "is_homogeneous",
    "is_initialized",
    "join",
    "local_rank",
    "local_rank_op",
    "local_size",
    "local_size_op",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "process_set_included_op",
    "rank",
    "rank_op",
    "reducescatter",
    "remove_process_set",
    "rocm_built",
    "shutdown",
    "size",
    "size_op",
    "start_timeline",
    "stop_timeline",
]

_basics = basics  # the name that it has in Horovod


def number_of(process_set: Any) -> int | None:
    """Return the number of a process set, or raise what makes a value none."""
    if not isinstance(process_set, ProcessSet):
        raise ArgumentError(f"process_set: give a ProcessSet, not {process_set!r}")
    return process_set.process_set_id


def allreduce(
    tensor: Any,
    average: bool | None = None,
    device_dense: str = "",  # noqa: ARG001
    device_sparse: str = "",  # noqa: ARG001
    compression: Any = Compression.none,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
    ignore_name_scope: bool = False,  # noqa: ARG001
) -> Any:
    """Return the reduction of a tensor over all ranks, by default its average.

    The result of IndexedSlices has the rows of all ranks, of which several may have one place.
    """
    terms = terms_of(op_of(op, average), prescale_factor, postscale_factor, number_of(process_set))
    if isinstance(tensor, tf.IndexedSlices):
        if (prescale_factor, postscale_factor) != (1.0, 1.0):
            raise NotHereError("prescale_factor: IndexedSlices have no scales; give tf.convert_to_tensor(it)")
        return _sparse.allreduce(tensor, terms.op, name, terms.set_number)
    small, ctx = compression.compress(_memory.check(tensor))
    (result,) = _gradients.allreduces([small], terms, name)
    return compression.decompress(result, ctx)


def grouped_allreduce(
    tensors: Sequence[Any],
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
    ignore_name_scope: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Return the reductions of several tensors, which are submitted at once. IndexedSlices are reduced one by one."""
    if isinstance(tensors, Sequence) and len(tensors) == 0:
        return []
    check_list(tensors)
    terms = terms_of(op_of(op, average), prescale_factor, postscale_factor, number_of(process_set))
    dense = [one for one in tensors if not isinstance(one, tf.IndexedSlices)]
    if len(dense) < len(tensors):
        _sparse.check_op(terms.op)
    pairs = [compression.compress(_memory.check(one)) for one in dense]
    reduced = _gradients.allreduces([small for small, _ in pairs], terms, name, grouped=True) if pairs else []
    results = iter([compression.decompress(one, ctx) for one, (_, ctx) in zip(reduced, pairs, strict=True)])
    scopes = (device_dense, device_sparse)
    return [
        allreduce(
            one, None, *scopes, compression, terms.op, prescale_factor, postscale_factor,
            None if name is None else f"{name}.{place}", process_set, ignore_name_scope,
        )
        if isinstance(one, tf.IndexedSlices)
        else next(results)
        for place, one in enumerate(tensors)
    ]  # fmt: skip


def allgather(
    tensor: Any,
    name: str | None = None,
    ignore_name_scope: bool = False,  # noqa: ARG001
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Return the tensors of all ranks, joined along the first dimension, in which they may differ."""
    return _gradients.allgathers([tensor], number_of(process_set), name)[0]


def grouped_allgather(
    tensors: Sequence[Any],
    name: str | None = None,
    ignore_name_scope: bool = False,  # noqa: ARG001
    process_set: ProcessSet = global_process_set,
) -> list[Any]:
    """Return for each tensor of a list those of all ranks, joined along the first dimension."""
    return _gradients.allgathers(tensors, number_of(process_set), name)


def broadcast(
    tensor: Any,
    root_rank: int,
    name: str | None = None,
    ignore_name_scope: bool = False,  # noqa: ARG001
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Return the tensor of the rank `root_rank`, which is a rank among all of the job."""
    return _gradients.broadcast(tensor, root_rank, number_of(process_set), name)


def broadcast_(
    variables: Sequence[Any],
    root_rank: int,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> list[Any]:
    """Give variables the values of one rank, which are sent at once, and return what assigning them returns."""
    check_list(variables)
    values = [_memory.check(one) for one in variables]
    results = _gradients.broadcasts(values, root_rank, number_of(process_set), name)
    return [one.assign(result) for one, result in zip(variables, results, strict=True)]


def alltoall(
    tensor: Any,
    splits: Any = None,
    name: str | None = None,
    ignore_name_scope: bool = False,  # noqa: ARG001
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Send each rank its rows of the tensor, and return the rows that all ranks have sent to this one.

    `splits` has the number of rows for each rank. The result is then a pair: the tensor, and the rows of each rank.
    """
    if splits is not None:
        splits = tf.convert_to_tensor(splits)
        if not splits.dtype.is_integer or splits.shape.rank not in (None, 1):
            raise ArgumentError(f"splits: give a list of integers, or such a tensor of one dimension, not {splits!r}")
    result, received = _gradients.alltoall(tensor, splits, number_of(process_set), name)
    return result if splits is None else (result, received)


def reducescatter(
    tensor: Any,
    device_dense: str = "",  # noqa: ARG001
    compression: Any = Compression.none,
    op: int = Average,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
    ignore_name_scope: bool = False,  # noqa: ARG001
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Any:
    """Return this rank's rows of the reduction. Where the ranks do not divide them, the first ranks get one more."""
    if isinstance(tensor, tf.IndexedSlices):
        raise NotHereError("tensor: it is an IndexedSlices, which reducescatter does not take; convert it first")
    terms = terms_of(op_of(op), prescale_factor, postscale_factor, number_of(process_set))
    small, ctx = compression.compress(_memory.check(tensor))
    return compression.decompress(_gradients.reducescatter(small, terms, name), ctx)


def grouped_reducescatter(
    tensors: Sequence[Any],
    device_dense: str = "",  # noqa: ARG001
    compression: Any = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[Any]:
    """Return this rank's rows of the reductions of several tensors."""
    check_list(tensors)
    terms = terms_of(op_of(op), prescale_factor, postscale_factor, number_of(process_set))
    pairs = [compression.compress(_memory.check(one)) for one in tensors]
    results = _gradients.reducescatters([small for small, _ in pairs], terms, None)
    return [compression.decompress(one, ctx) for one, (_, ctx) in zip(results, pairs, strict=True)]


def join() -> Any:
    """Announce that this rank has no more data, and return once all ranks have joined: the rank that joined last.

    Until then this rank counts with zeros in the reductions of others. Their other operations fail. In a graph, the
    result is a tensor.
    """
    if not tf.executing_eagerly():
        last = tf.numpy_function(lambda: tf.int32.as_numpy_dtype(_join()), [], tf.int32)
        last.set_shape([])
        return last
    return _join()


def _join() -> int:
    group = basics.member(0)
    assert group.context is not None
    with translated():
        last = int(group.context.join())
        group.realign()
    return last


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Return when every rank of the process set has called it. It is not for graphs."""
    if not tf.executing_eagerly():
        raise ArgumentError("barrier() is called outside of graphs; within one, operations wait for their tensors")
    context = basics.member(number_of(process_set)).context
    assert context is not None
    with translated():
        context.barrier()


def size_op(process_set_id: int = 0, name: str | None = None) -> Any:
    """Return the number of ranks as a tensor."""
    return tf.constant(len(basics.group(process_set_id).ranks), tf.int32, name=name or "size")


def rank_op(name: str | None = None) -> Any:
    """Return the number of this rank as a tensor."""
    return tf.constant(rank(), tf.int32, name=name or "rank")


def local_size_op(name: str | None = None) -> Any:
    """Return the number of ranks on this host as a tensor."""
    return tf.constant(local_size(), tf.int32, name=name or "local_size")


def local_rank_op(name: str | None = None) -> Any:
    """Return the number of this rank among those of its host as a tensor."""
    return tf.constant(local_rank(), tf.int32, name=name or "local_rank")


def process_set_included_op(process_set_id: int = 0, name: str | None = None) -> Any:
    """Return whether a process set has this rank, as 1 or 0 in a tensor."""
    included = basics.world().rank in basics.group(process_set_id).ranks
    return tf.constant(int(included), tf.int32, name=name or "process_set_included")
