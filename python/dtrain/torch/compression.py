"""The types as which gradients are sent."""

from __future__ import annotations

from typing import Any

import torch

from dtrain.horovod.common.compression import Compressor, NoneCompressor

__all__ = ["BF16Compressor", "Compression", "Compressor", "FP16Compressor", "NoneCompressor"]


def _narrowed(tensor: Any, dtype: Any) -> tuple[Any, Any]:
    if not tensor.dtype.is_floating_point or tensor.dtype == dtype or tensor.element_size() == 1:
        return tensor, None
    return tensor.to(dtype), tensor.dtype


def _widened(tensor: Any, dtype: Any) -> Any:
    return tensor if dtype is None else tensor.to(dtype)


class FP16Compressor(Compressor):
    """Sends tensors of floats as float16. Integers and 8-bit floats stay."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return the tensor as float16, and its type."""
        return _narrowed(tensor, torch.float16)

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Return the tensor in its own type."""
        return _widened(tensor, ctx)


class BF16Compressor(Compressor):
    """Sends tensors of floats as bfloat16. Integers and 8-bit floats stay."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return the tensor as bfloat16, and its type."""
        return _narrowed(tensor, torch.bfloat16)

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Return the tensor in its own type."""
        return _widened(tensor, ctx)


class Compression:
    """The compressions that there are."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor
