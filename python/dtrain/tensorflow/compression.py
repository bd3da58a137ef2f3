"""The types as which tensors are sent."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from dtrain.horovod.common.compression import Compressor, NoneCompressor

__all__ = ["BF16Compressor", "Compression", "Compressor", "FP16Compressor", "NoneCompressor"]


def _narrowed(tensor: Any, dtype: Any) -> tuple[Any, Any]:
    if not tensor.dtype.is_floating or tensor.dtype == dtype or tensor.dtype.size == 1:
        return tensor, None
    return tf.cast(tensor, dtype), tensor.dtype


def _widened(tensor: Any, dtype: Any) -> Any:
    return tensor if dtype is None else tf.cast(tensor, dtype)


class FP16Compressor(Compressor):
    """Sends tensors of floats as float16. Integers and 8-bit floats stay."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return the tensor as float16, and its type."""
        return _narrowed(tensor, tf.float16)

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Return the tensor in its own type."""
        return _widened(tensor, ctx)


class BF16Compressor(Compressor):
    """Sends tensors of floats as bfloat16. Integers and 8-bit floats stay."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return the tensor as bfloat16, and its type."""
        return _narrowed(tensor, tf.bfloat16)

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Return the tensor in its own type."""
        return _widened(tensor, ctx)


class Compression:
    """The compressions that there are."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor
