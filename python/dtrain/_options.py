"""The options of operations."""

import enum

from dtrain import _core
from dtrain._errors import ArgumentError

_MILLISECONDS_MAX = 2**31 - 1


class Op(enum.IntEnum):
    """A reduction. For bool, SUM and MAX are "or", PRODUCT and MIN are "and"."""

    SUM = _core.SUM
    AVERAGE = _core.AVERAGE
    MIN = _core.MIN
    MAX = _core.MAX
    PRODUCT = _core.PRODUCT
    ADASUM = _core.ADASUM


class Compression(enum.IntEnum):
    """The type as which a reduction of float32 or float64 is sent and added."""

    NONE = 0
    FLOAT16 = 1
    BFLOAT16 = 2


def milliseconds(timeout: float | None) -> int:
    """Return the milliseconds of a timeout in seconds; 0 stands for none."""
    if timeout is None:
        return 0
    if not timeout > 0:
        raise ArgumentError(f"timeout: give seconds above 0, or None for no limit, not {timeout!r}")
    return min(_MILLISECONDS_MAX, max(1, round(timeout * 1000)))


def op_of(op: Op | int) -> int:
    """Return the number of a reduction."""
    try:
        return Op(op)
    except ValueError:
        names = ", ".join(f"Op.{one.name}" for one in Op)
        raise ArgumentError(f"op: give one of {names}, not {op!r}") from None


def compression_of(compression: Compression | int) -> int:
    """Return the number of a compression."""
    try:
        return Compression(compression)
    except ValueError:
        raise ArgumentError(f"compression: give one of dtrain.Compression, not {compression!r}") from None
