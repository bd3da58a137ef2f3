"""Compressions of tensors that no framework has a part in."""

from __future__ import annotations

from typing import Any


class Compressor:
    """Makes a tensor smaller before it is reduced, and makes the result what the tensor was. To be derived from."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return the smaller tensor, and what decompress() needs to know."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Return a reduced tensor as it was before compress()."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Leaves tensors as they are."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return the tensor."""
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:  # noqa: ARG004
        """Return the tensor."""
        return tensor
