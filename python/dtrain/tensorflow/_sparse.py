"""IndexedSlices as rows of bytes: the place of a row, and its values.

They are sent in one operation, so that a rank with a dense tensor, or with rows of another shape, is an error of all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
import tensorflow as tf

from dtrain.horovod.common.basics import basics
from dtrain.horovod.common.handles import Handle
from dtrain.horovod.common.reductions import Average, Sum
from dtrain.tensorflow import _graph, _memory, _starts
from dtrain.tensorflow._failures import NotHereError

_INDEX_BYTES = 8
_NAME_BYTES_MAX = 32


def check_op(op: int) -> None:
    """Raise what makes a reduction unusable for IndexedSlices."""
    if op not in (Average, Sum):
        raise NotHereError(
            "op: IndexedSlices have Sum and Average only; give tf.convert_to_tensor(it), or sparse_as_dense=True"
        )


def allreduce(slices: Any, op: int, name: str | None, set_number: int | None) -> Any:
    """Return the rows of all ranks as IndexedSlices, whose sum is that of all, or for Average its part."""
    check_op(op)
    values = _memory.check(slices.values, "values")
    indices = tf.convert_to_tensor(slices.indices)
    dtype, index_type = values.dtype, indices.dtype
    indices = tf.cast(indices, tf.int64)

    def start(arrays: Any, label: str | None) -> Handle:
        rows = _Rows(arrays[0], arrays[1])
        return _starts.start_allgather_opaque(rows, label, set_number)

    outputs = [(dtype, [None, *values.shape[1:]]), (tf.int64, [None])]
    joined, places = _graph.run(start, [values, indices], outputs, "sparse_allreduce", name)
    if op == Average:
        joined = joined / tf.cast(len(basics.member(set_number).ranks), dtype)
    return tf.IndexedSlices(joined, tf.cast(places, index_type), slices.dense_shape)


class _Rows:
    """The rows of one rank as bytes."""

    def __init__(self, values: Any, indices: Any) -> None:
        self._row = tuple(values.shape[1:])
        self._dtype = values.dtype
        count, width = len(values), math.prod(self._row) * values.dtype.itemsize
        self.matrix = numpy.empty((count, _INDEX_BYTES + width), numpy.uint8)
        self.matrix[:, :_INDEX_BYTES] = indices.reshape(-1).view(numpy.uint8).reshape(count, _INDEX_BYTES)
        self.matrix[:, _INDEX_BYTES:] = values.reshape(-1).view(numpy.uint8).reshape(count, width)
        self.element = f"sparse {values.dtype.name} {'x'.join(map(str, self._row))}"[:_NAME_BYTES_MAX]

    def joined(self, matrix: Any) -> list[Any]:
        """Return the values and places of the rows of all ranks."""
        places = numpy.ascontiguousarray(matrix[:, :_INDEX_BYTES]).view(numpy.int64).reshape(-1)
        values = numpy.ascontiguousarray(matrix[:, _INDEX_BYTES:]).reshape(-1).view(self._dtype)
        return [values.reshape(len(places), *self._row), places]
