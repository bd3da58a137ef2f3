"""The way of an operation into the engine: at once in eager execution, and as two nodes in a graph.

The first node starts the operation. The second waits for it in a thread of its own, never in one of TensorFlow's
pool. So ranks whose threads run operations in other orders do not wait for each other forever.
"""

from __future__ import annotations

import functools
import itertools
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import tensorflow as tf

from dtrain._errors import ArgumentError, Error
from dtrain.horovod.common.handles import Handle, HandleList
from dtrain.tensorflow import _memory
from dtrain.tensorflow._failures import failures, of_tensorflow
from dtrain.tensorflow._packing import Packing

Start = Callable[[Sequence[Any], str | None], Handle | HandleList]
StartParts = Callable[..., Handle]  # a Start with the argument `parts`, which are those of _starts
Outputs = Sequence[tuple[Any, Any]]  # a type and a shape each


class _Flying:
    """The operations that nodes have started, by the numbers that they give to the nodes that wait."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._handles: dict[int, Handle | HandleList] = {}
        self._takes: dict[tuple[Any, ...], Any] = {}
        self._lock = threading.Lock()

    def add(self, handle: Handle | HandleList) -> int:
        """Return the number of an operation."""
        number = next(self._numbers)
        self._handles[number] = handle
        return number

    def results(self, number: int) -> list[Any]:
        """Wait for an operation, and return its results."""
        return _results_of(self._handles.pop(number))

    def take_of(self, types: tuple[Any, ...]) -> Any:
        """Return the function of TensorFlow that waits for results of these types."""
        with self._lock:
            take = self._takes.get(types)
            if take is None:
                self._takes[types] = take = self._made_take(types)
            return take

    def _made_take(self, types: tuple[Any, ...]) -> Any:
        def wait(number: Any) -> list[Any]:
            return _marking(self.results, int(number))

        def take(number: Any) -> Any:
            return tuple(tf.numpy_function(wait, [number], list(types)))

        with tf.init_scope():
            return _function(take)


_flying = _Flying()


def _function(body: Callable[[Any], Any]) -> Any:
    signature = [tf.TensorSpec([], tf.int64)]
    return tf.function(body, input_signature=signature, autograph=False).get_concrete_function()


def _results_of(handle: Handle | HandleList) -> list[Any]:
    results = handle.wait()
    if isinstance(handle, HandleList):
        return [one for several in results for one in several]
    return list(results)


def _marking(call: Callable[..., Any], *args: Any) -> Any:
    """Return what a call returns. Its failure has a text by which it is found again behind TensorFlow's threads."""
    try:
        return call(*args)
    except KeyboardInterrupt as interrupt:
        # The first node may run in the program's own thread, and TensorFlow would make an UnknownError of it.
        raise failures.marked(interrupt) from None
    except Error as error:
        raise failures.marked(of_tensorflow(error)) from None


def run(start: Start, tensors: Sequence[Any], outputs: Outputs, kind: str, name: str | None) -> list[Any]:
    """Return the tensors of an operation that `start` starts on arrays, under a name among all ranks."""
    if tf.executing_eagerly():
        try:
            handle = start([_memory.array_of(tensor) for tensor in tensors], name)
            return [_memory.tensor_of(array) for array in _results_of(handle)]
        except Error as error:
            raise of_tensorflow(error) from error
    label = _name_in_graph(kind, name, tensors)

    def begin(*arrays: Any) -> Any:
        given = [_memory.contiguous(array) for array in arrays[:-1]]
        return numpy.int64(_flying.add(_marking(start, given, label)))

    with tf.device("CPU:0"):
        number = tf.numpy_function(begin, [*tensors, _never_folded()], tf.int64, stateful=False)
        number.set_shape([])
        results = _later(number, tuple(dtype for dtype, _ in outputs))
    for result, (_, shape) in zip(results, outputs, strict=True):
        result.set_shape(shape)
    return results


def run_list(start: StartParts, tensors: Sequence[Any], kind: str, name: str | None) -> list[Any]:
    """Return the tensors of an operation whose results are like its tensors, which are parts of the arrays."""
    if tf.executing_eagerly():
        return run(functools.partial(start, parts=None), tensors, _like(tensors), kind, name)
    packing = Packing(tensors)
    label = Label(_name_in_graph(kind, name, tensors))
    packed = packing.pack(tensors)
    return packing.unpack(run(functools.partial(start, parts=packing.parts), packed, _like(packed), kind, label))


def _like(tensors: Sequence[Any]) -> Outputs:
    return [(tensor.dtype, tensor.shape) for tensor in tensors]


def _never_folded() -> Any:
    """Return a number for the first node, which TensorFlow would else run once, at its start, for constant tensors.

    A node with side effects would run in the order of the program instead, behind nodes that wait for others.
    """
    shape = tf.constant([], tf.int32)
    return tf.raw_ops.RandomUniformInt(shape=shape, minval=tf.constant(0), maxval=tf.constant(1), seed=1, seed2=1)


def after(needed: Any, value: Any) -> Any:
    """Return a value that needs another one in a graph, too, where TensorFlow leaves out what nothing needs."""
    return value if tf.executing_eagerly() else tf.where(tf.equal(_never_folded(), 0), value, needed)


def _later(number: Any, types: tuple[Any, ...]) -> list[Any]:
    """Return the results of an operation, which a thread waits for that is none of TensorFlow's pool.

    Nodes of tf.data that return one element have a thread each. The call around them has no side effects, so that
    TensorFlow does not put these nodes in an order.
    """
    take = _flying.take_of(types)
    shapes = [tf.TensorShape(None)] * len(types)
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    serialized = options._to_proto().SerializeToString()

    def wait(given: Any) -> Any:
        take.add_to_graph(given.graph)
        source = tf.raw_ops.TensorDataset(components=[given], output_shapes=[[]])
        kinds = {"output_types": types, "output_shapes": shapes}
        mapped = tf.raw_ops.MapDataset(
            input_dataset=source, other_arguments=[], f=take, use_inter_op_parallelism=False, **kinds
        )
        plain = tf.raw_ops.OptionsDataset(input_dataset=mapped, serialized_options=serialized, **kinds)
        return tf.raw_ops.DatasetToSingleElement(dataset=plain, **kinds)

    if not number.graph.building_function:
        # A session has no such order, and takes long with many functions.
        return list(wait(number))
    # A function of its own, because nodes of one function share its thread.
    waiting = _function(wait)
    waiting.add_to_graph(number.graph)
    return list(tf.raw_ops.PartitionedCall(args=[number], Tout=types, f=waiting))


class Label(str):
    """A name among all ranks that label() has made: within a graph it is used as it is."""

    __slots__ = ()


def label(name: str) -> Label:
    """Return the name for several operations that belong together, which no others of this graph have."""
    if tf.executing_eagerly():
        return Label(name)
    return Label(tf.compat.v1.get_default_graph().unique_name(name))


def _name_in_graph(kind: str, name: str | None, tensors: Sequence[Any]) -> str:
    """Return the name of an operation, which is the same on all ranks though their threads may reach it in any order.

    Without a name it has those of its tensors. Two of one name in a graph get numbers.
    """
    if isinstance(name, Label):
        return name
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"name: give a str, not {name!r}")
    if name is None:
        name = "_".join([kind, *(tensors[place].name for place in sorted({0, len(tensors) - 1}) if tensors)])
    graph = tf.compat.v1.get_default_graph()
    return str(graph.unique_name(re.sub(r"[^a-zA-Z0-9_.]", "_", name)))
