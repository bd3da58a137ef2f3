"""The memory of tensors as arrays of numpy, and memory for results that TensorFlow takes without a copy."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy
import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain._tensors import describe

Shape = tuple[int, ...]

# TensorFlow takes memory as it is where it begins at a multiple of this.
_ALIGNMENT = 64
# Less than this is copied, which takes less time than to find memory that can be used again.
_SMALL_BYTES = 1 << 16
# A list in a block, the block's own name in a loop, and the argument of getrefcount().
_REFERENCES_OF_FREE = 3


class _Blocks:
    """Blocks of memory for results. One that nothing else refers to is used again, as its pages are there already."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: list[Any] = []

    def take(self, size: int) -> Any:
        """Return a block of at least so many bytes. It is free again once no array over it is left."""
        with self._lock:
            for block in self._blocks:
                if size <= block.nbytes <= 2 * size and sys.getrefcount(block) == _REFERENCES_OF_FREE:
                    return block
            # Blocks of other sizes go, so that a program whose sizes change does not keep them all.
            self._blocks = [one for one in self._blocks if sys.getrefcount(one) > _REFERENCES_OF_FREE]
            block = numpy.empty(size, numpy.uint8)
            self._blocks.append(block)
            return block


_blocks = _Blocks()


def empty_arrays(likes: Sequence[Any]) -> list[Any]:
    """Return new arrays with the shapes and types of others, which lie in one block of memory."""
    sizes = [-(-one.nbytes // _ALIGNMENT) * _ALIGNMENT for one in likes]
    if sum(sizes) < _SMALL_BYTES:
        return [numpy.empty(one.shape, one.dtype) for one in likes]
    block = _blocks.take(sum(sizes) + _ALIGNMENT)
    place = -block.__array_interface__["data"][0] % _ALIGNMENT
    arrays = []
    for one, size in zip(likes, sizes, strict=True):
        arrays.append(block[place : place + one.nbytes].view(one.dtype).reshape(one.shape))
        place += size
    return arrays


def check(tensor: Any, what: str = "tensor") -> Any:
    """Return a value as a tensor, or raise what makes it unusable."""
    if isinstance(tensor, (tf.SparseTensor, tf.RaggedTensor)):
        raise ArgumentError(f"{what}: it is a {type(tensor).__name__}; give a dense tensor, such as of .to_tensor()")
    if isinstance(tensor, tf.IndexedSlices):
        raise ArgumentError(
            f"{what}: it is an IndexedSlices, which only allreduce takes; give tf.convert_to_tensor(it)"
        )
    try:
        given = tf.convert_to_tensor(tensor)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what}: {type(tensor).__name__} is no tensor: {error}") from error
    check_type(given.dtype, what)
    return given


def check_type(dtype: Any, what: str = "tensor") -> None:
    """Raise what makes elements of a type unusable."""
    if dtype in (tf.string, tf.resource, tf.variant):
        raise ArgumentError(f"{what}: elements of {dtype.name} are not sent; use broadcast_object or allgather_object")
    describe(numpy.empty(0, dtype.as_numpy_dtype), what=what)


def array_of(tensor: Any) -> Any:
    """Return the array over a tensor's memory; for a tensor of a GPU, a copy. It is not written to."""
    return contiguous(tensor._numpy())


def contiguous(value: Any) -> Any:
    """Return the value that TensorFlow gives a function as an array: it may be a number of numpy."""
    array = numpy.asarray(value)
    return array if array.flags.c_contiguous else numpy.ascontiguousarray(array)


def tensor_of(array: Any) -> Any:
    """Return the tensor over an array's memory, or a copy where it is small, read-only, or begins elsewhere.

    Operations of TensorFlow abort the process on memory that does not begin at a multiple of _ALIGNMENT.
    """
    array = numpy.asarray(array)
    begins = array.__array_interface__["data"][0] % _ALIGNMENT == 0
    if array.nbytes < _SMALL_BYTES or not array.flags.writeable or not begins:
        return tf.convert_to_tensor(array)
    if array.dtype == tf.bfloat16.as_numpy_dtype:
        return tf.bitcast(tf.experimental.dlpack.from_dlpack(array.view(numpy.uint16).__dlpack__()), tf.bfloat16)
    if array.dtype.kind not in "iuf":
        return tf.convert_to_tensor(array)
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def rows(count: int, row: Shape) -> int:
    """Return the number of rows of an array with so many elements."""
    return count // max(1, math.prod(row))
