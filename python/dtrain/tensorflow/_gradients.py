"""Operations on tensors, and their gradients. Each gradient is an operation itself, which all ranks call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from dtrain.horovod.common.basics import basics
from dtrain.horovod.common.handles import HandleList
from dtrain.horovod.common.reductions import Average, Sum, check_list, rows_of_ranks
from dtrain.tensorflow import _graph, _memory, _starts
from dtrain.tensorflow._starts import Terms

Backward = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def _differentiable(forward: Callable[..., list[Any]], backward: Backward, tensors: Sequence[Any]) -> list[Any]:
    """Return the results of tensors, whose gradients `backward` makes of those of the results, and of the results."""

    @tf.custom_gradient
    def call(*given: Any) -> Any:
        results = forward(*given)

        def gradients(*own: Any) -> Any:
            # Other gradients than those of the first tensor are of numbers, such as splits.
            pairs = zip(own, results, strict=True)
            made = list(backward([_dense(one, result) for one, result in pairs], results))
            return made + [None] * (len(given) - len(made))

        return results, gradients

    return list(call(*tensors))


def _dense(gradient: Any, result: Any) -> Any:
    """Return a gradient as a tensor. A result that nothing was computed from has none in a session."""
    return tf.zeros_like(result) if gradient is None else tf.convert_to_tensor(gradient)


def allreduces(tensors: Sequence[Any], terms: Terms, name: str | None, *, grouped: bool = False) -> list[Any]:
    """Return the reductions of tensors. Their gradients are reduced as the tensors are."""
    check_list(tensors)
    given = [_memory.check(tensor) for tensor in tensors]

    def backward(gradients: Sequence[Any], _: Sequence[Any]) -> Sequence[Any]:
        return allreduces(gradients, terms, None, grouped=grouped)

    def forward(*own: Any) -> list[Any]:
        if grouped:
            start = functools.partial(_starts.start_allreduces, terms=terms, places=None)
            return _graph.run_list(start, own, "grouped_allreduce", name)
        start = functools.partial(_starts.start_allreduce, terms=terms)
        return _graph.run(start, own, [(own[0].dtype, own[0].shape)], "allreduce", name)

    return _differentiable(forward, backward, given)


def allgathers(tensors: Sequence[Any], set_number: int | None, name: str | None) -> list[Any]:
    """Return the tensors of all ranks, joined. The gradient is the average over all ranks of this rank's rows."""
    check_list(tensors)
    given = [_memory.check(tensor) for tensor in tensors]
    ranks = len(basics.member(set_number).ranks)
    outputs = [row for tensor in given for row in ((tensor.dtype, _joined_shape(tensor)), (tf.int32, [ranks]))]

    def start(arrays: Sequence[Any], label: str | None) -> HandleList:
        names = _names(label, len(arrays))
        pairs = zip(arrays, names, strict=True)
        return HandleList([_starts.start_allgather([array], one, set_number) for array, one in pairs])

    def backward(gradients: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        terms = Terms(Average, 1.0, 1.0, set_number)
        return [
            _reducescatter(gradient, terms, None, rows)
            for gradient, rows in zip(gradients[::2], results[1::2], strict=True)
        ]

    results = _differentiable(lambda *own: _graph.run(start, own, outputs, "allgather", name), backward, given)
    return results[::2]


def _joined_shape(tensor: Any) -> Any:
    return tf.TensorShape([None]).concatenate(tensor.shape[1:]) if tensor.shape.rank else tensor.shape


def _names(name: str | None, length: int) -> list[str | None]:
    if name is None or length == 1:
        return [name] * length
    return [f"{name}[{place}/{length}]" for place in range(1, length + 1)]


def broadcast(tensor: Any, root_rank: int, set_number: int | None, name: str | None) -> Any:
    """Return the root's tensor. The gradient of the root is the average over all ranks; others have zeros."""
    given = _memory.check(tensor)
    _starts.root_of(root_rank, basics.member(set_number))

    def backward(gradients: Sequence[Any], _: Sequence[Any]) -> Sequence[Any]:
        (average,) = allreduces(gradients, Terms(Average, 1.0, 1.0, set_number), None)
        if basics.world().rank == root_rank:
            return [average]
        # Zeros alone would need no average: TensorFlow would leave the operation out that the root waits for.
        return [_graph.after(average, tf.zeros_like(average))]

    (result,) = _differentiable(lambda own: broadcasts([own], root_rank, set_number, name), backward, [given])
    return result


def broadcasts(tensors: Sequence[Any], root_rank: int, set_number: int | None, name: str | None) -> list[Any]:
    """Return the root's tensors, which are sent at once. They have no gradients."""

    def start(arrays: Sequence[Any], label: str | None) -> HandleList:
        names = _names(label, len(arrays))
        pairs = zip(arrays, names, strict=True)
        return HandleList([_starts.start_broadcast([array], one, root_rank, set_number) for array, one in pairs])

    outputs = [(tensor.dtype, tensor.shape) for tensor in tensors]
    return _graph.run(start, tensors, outputs, "broadcast", name)


def alltoall(tensor: Any, splits: Any, set_number: int | None, name: str | None) -> list[Any]:
    """Return the rows for this rank, and their numbers by ranks. The gradient takes the way back."""
    given = _memory.check(tensor)
    ranks = len(basics.member(set_number).ranks)
    outputs = [(given.dtype, _joined_shape(given)), (tf.int32, [ranks])]
    start = functools.partial(_starts.start_alltoall, set_number=set_number)
    count = tf.shape(given)[0] if given.shape.rank else 0

    def backward(gradients: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        back, rows = alltoall(gradients[0], results[1], set_number, None)
        # Rows that were sent to no rank.
        rest = tf.concat([[count - tf.reduce_sum(rows)], tf.shape(back)[1:]], 0)
        return [tf.concat([back, tf.zeros(rest, back.dtype)], 0)]

    tensors = [given] if splits is None else [given, tf.cast(splits, tf.int32)]
    return _differentiable(lambda *own: _graph.run(start, own, outputs, "alltoall", name), backward, tensors)


def reducescatter(tensor: Any, terms: Terms, name: str | None) -> Any:
    """Return this rank's rows of the reduction."""
    return _reducescatter(_memory.check(tensor), terms, name, None)


def _reducescatter(tensor: Any, terms: Terms, name: str | None, rows: Any) -> Any:
    """Return this rank's rows. The gradient is those of all ranks, joined; a sum counts for each rank."""
    group = basics.member(terms.set_number)
    assert group.context is not None
    start = functools.partial(_starts.start_reducescatter, terms=terms)
    outputs = [(tensor.dtype, _own_shape(tensor, None if rows is not None else group.context.rank, len(group.ranks)))]

    def backward(gradients: Sequence[Any], _: Sequence[Any]) -> Sequence[Any]:
        factor = terms.prescale * terms.postscale * (len(group.ranks) if terms.op == Sum else 1)
        scaled = gradients[0] if factor == 1 else gradients[0] * tf.cast(factor, gradients[0].dtype)
        return allgathers([scaled], terms.set_number, None)

    tensors = [tensor] if rows is None else [tensor, rows]
    call = functools.partial(_graph.run, start, outputs=outputs, kind="reducescatter", name=name)
    (result,) = _differentiable(lambda *own: call(own), backward, tensors)
    return result


def _own_shape(tensor: Any, rank: int | None, ranks: int) -> Any:
    if not tensor.shape.rank:
        return tensor.shape
    count = tensor.shape[0]
    own = None if rank is None or count is None else rows_of_ranks(count, ranks)[rank]
    return tf.TensorShape([own]).concatenate(tensor.shape[1:])


def reducescatters(tensors: Sequence[Any], terms: Terms, name: str | None) -> list[Any]:
    """Return this rank's rows of the reductions of several tensors."""
    check_list(tensors)
    names = _names(name, len(tensors))
    return [reducescatter(tensor, terms, one) for tensor, one in zip(tensors, names, strict=True)]
