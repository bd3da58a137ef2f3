"""Sparse tensors as rows of bytes: the places of a value, and the value.

They are sent in one operation, so that a rank with a dense tensor, or with one of another shape, is an error of all.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from dtrain import _core

_INDEX_BYTES = 8
_NAME_BYTES_MAX = 32


class SparseRows:
    """The memory of a sparse tensor for an allgather, and the tensor of the rows of all ranks."""

    __slots__ = ("_dimensions", "_like", "memory", "row_bytes")

    def __init__(self, tensor: Any) -> None:
        indices, values = tensor._indices(), tensor._values()
        self._like = tensor
        self._dimensions = int(indices.shape[0])
        row = math.prod(values.shape[1:])
        width = row * values.element_size()
        self.row_bytes = self._dimensions * _INDEX_BYTES + width
        flat = values.detach().reshape(values.shape[0], row)
        real = torch.view_as_real(flat.contiguous()).flatten(1) if flat.is_complex() else flat
        parts = [_bytes_of(indices.t()), _bytes_of(real)]
        self.memory = torch.cat([part for part in parts if part.shape[1] > 0], 1)

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.memory.shape[0])

    @property
    def element(self) -> str:
        """The name by which ranks compare their rows."""
        kind = str(self._like.dtype).removeprefix("torch.")
        return f"sparse {kind} {'x'.join(map(str, self._like.shape))}"[:_NAME_BYTES_MAX]

    def joined(self, work: _core.Work) -> Any:
        """Return the sparse tensor of the rows of all ranks. It may have several values of one place."""
        values = self._like._values()
        rows = sum(work.counts())
        content = torch.frombuffer(work, dtype=torch.uint8).reshape(rows, self.row_bytes) if rows else self.memory[:0]
        cut = self._dimensions * _INDEX_BYTES
        places = content[:, :cut].reshape(-1).view(torch.int64).reshape(rows, self._dimensions).t()
        if content.shape[1] == cut:
            parts = values.new_empty((rows, *values.shape[1:]), device="cpu")
        else:
            parts = self._values_of(content[:, cut:].reshape(-1), values.dtype).reshape(rows, *values.shape[1:])
        device = self._like.device
        return torch.sparse_coo_tensor(places.to(device), parts.to(device), self._like.shape)

    @staticmethod
    def _values_of(content: Any, dtype: Any) -> Any:
        if not dtype.is_complex:
            return content.view(dtype)
        half = torch.float32 if dtype is torch.complex64 else torch.float64
        return torch.view_as_complex(content.view(half).reshape(-1, 2))


def _bytes_of(matrix: Any) -> Any:
    """Return a copy as bytes. A contiguous tensor of one row may have strides with which torch shows no bytes."""
    return torch.empty(tuple(matrix.shape), dtype=matrix.dtype).copy_(matrix).view(torch.uint8)
