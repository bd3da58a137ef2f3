"""Small tensors of a graph as one tensor, because each that becomes an array and comes back takes 20 us."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from dtrain.tensorflow._starts import Part

# Larger tensors take less time by themselves than the two copies.
_BYTES_MAX = 1 << 16


class Packing:
    """Where tensors lie in fewer ones: the small ones of each type in one, the others by themselves."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self._alone = [place for place, one in enumerate(tensors) if not _is_small(one)]
        groups: dict[Any, list[int]] = {}
        for place, one in enumerate(tensors):
            if _is_small(one):
                groups.setdefault(one.dtype, []).append(place)
        self._groups = list(groups.values())
        self._shapes = [tensor.shape for tensor in tensors]
        self.parts = self._made_parts()

    def _made_parts(self) -> list[Part]:
        parts = {place: Part(array) for array, place in enumerate(self._alone)}
        for array, group in enumerate(self._groups, len(self._alone)):
            offset = 0
            for place in group:
                shape = tuple(self._shapes[place].as_list())
                parts[place] = Part(array, offset, shape)
                offset += math.prod(shape)
        return [parts[place] for place in range(len(parts))]

    def pack(self, tensors: Sequence[Any]) -> list[Any]:
        """Return the fewer tensors."""
        joined = [tf.concat([tf.reshape(tensors[place], [-1]) for place in group], 0) for group in self._groups]
        return [tensors[place] for place in self._alone] + joined

    def unpack(self, packed: Sequence[Any]) -> list[Any]:
        """Return the tensors that lie in results of the fewer ones."""
        found = dict(zip(self._alone, packed, strict=False))
        for group, joined in zip(self._groups, packed[len(self._alone) :], strict=True):
            pieces = tf.split(joined, [self._shapes[place].num_elements() for place in group])
            for place, piece in zip(group, pieces, strict=True):
                found[place] = tf.reshape(piece, self._shapes[place])
        return [found[place] for place in range(len(found))]


def _is_small(tensor: Any) -> bool:
    return (
        not tensor.dtype.is_complex
        and tensor.shape.is_fully_defined()
        and tensor.shape.num_elements() * tensor.dtype.size <= _BYTES_MAX
    )
