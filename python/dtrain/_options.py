"""The options of operations."""

import enum
import operator
from typing import Any

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


def integer(what: str, value: Any, bits: int = 32) -> int:
    """Return a value that is an integer of so many bits, or raise what it is."""
    try:
        found = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what}: give an integer, not {value!r}") from None
    if not -(2 ** (bits - 1)) <= found < 2 ** (bits - 1):
        raise ArgumentError(f"{what}: {found} is out of range")
    return found


def number(what: str, value: Any) -> float:
    """Return a value that is a number, or raise what it is."""
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{what}: give a number, not {value!r}") from None


def name_of(name: Any) -> str | None:
    """Return a name that is text, or None."""
    if name is None or isinstance(name, str):
        return name
    raise ArgumentError(f"name: give a str, not {name!r}")


def milliseconds(timeout: float | None) -> int:
    """Return the milliseconds of a timeout in seconds; 0 stands for none."""
    if timeout is None:
        return 0
    seconds = number("timeout", timeout)
    if not seconds > 0:
        raise ArgumentError(f"timeout: give seconds above 0, or None for no limit, not {timeout!r}")
    return max(1, round(min(_MILLISECONDS_MAX, seconds * 1000)))


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
