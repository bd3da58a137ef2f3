"""The options of operations."""

import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Quorum:
    """How many contributions an all_reduce waits for; equal on all ranks.

    `ranks` contributions are enough, and `deadline` seconds after the first those that have come; None: never. The
    contribution of a late rank is dropped, or with `carry` reduced with its next one of that name. A late rank gets the
    results of up to `behind_max` steps that were decided without it.
    """

    ranks: int
    deadline: float | None = None
    carry: bool = False
    behind_max: int = 1


def quorum_of(quorum: Quorum) -> tuple[int, int, int, int]:
    """Return the fields for the core."""
    if not isinstance(quorum, Quorum):
        raise ArgumentError(f"quorum: give a dtrain.Quorum, not {quorum!r}")
    return (
        integer("Quorum.ranks", quorum.ranks),
        milliseconds(quorum.deadline),
        int(quorum.carry),
        integer("Quorum.behind_max", quorum.behind_max),
    )


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
