"""Pickled objects between ranks. Only a rank of the job can make one that is unpickled here.

Data between hosts may be changed on its way, and pickles run code. So a code of the job's token is behind each pickle.
The code is also of the group, the call and the sender, so that no object is read in the place of another.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import Any

from dtrain import _functions
from dtrain._errors import Error

_PURPOSE = b"dtrain object "  # other codes of the job have the token alone as their key
_CODE_BYTES = 32


def job_key() -> bytes:
    """Return the key of this job's objects. A process that is alone has one of its own."""
    token = os.environ.get("DTRAIN_TOKEN", "").encode()
    return _PURPOSE + (token or os.urandom(_CODE_BYTES))


class Seal:
    """The key of the objects of a context. All its ranks make the calls of one name in one order, and count them."""

    __slots__ = ("_counts", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._counts: dict[str, int] = {}

    def key(self, call: str) -> bytes:
        """Return the key of the next call with a name."""
        return _code_of(f"{self._counts.get(call, 0)} {call}".encode(), self._key)

    def count(self, call: str) -> None:
        """Count a call whose operations have succeeded, as they then have on all ranks."""
        self._counts[call] = self._counts.get(call, 0) + 1

    def part(self, call: str, color: int = 0) -> Seal:
        """Return the seal of a group that a call has made. Groups of one call differ in their colors."""
        part = Seal(_code_of(f"color {color}".encode(), self.key(call)))
        self.count(call)
        return part


def sealed(value: Any, key: bytes, rank: int) -> bytearray:
    """Return the pickle of a rank's value, and its HMAC-SHA256 behind it."""
    content = bytearray(_functions.dumps(value))
    content += _code_of(content, _key_of(key, rank))
    return content


def opened(content: bytearray | memoryview, key: bytes, rank: int) -> Any:
    """Return the value that `sealed` was given on a rank, or raise Error where other bytes have arrived."""
    import hmac  # noqa: PLC0415  # takes a quarter of the package's time

    view = memoryview(content)
    cut = max(0, len(view) - _CODE_BYTES)
    if not hmac.compare_digest(view[cut:], _code_of(view[:cut], _key_of(key, rank))):
        raise Error(
            f"the object of rank {rank} is not unpickled: it has not made the {len(view)} bytes that have arrived, or"
            " not for this call; either that rank called another operation, or a machine between the hosts has changed"
            " them, which --encrypt-data prevents",
            "protocol",
            rank,
        )
    return pickle.loads(view[:cut])


def all_opened(content: memoryview, sizes: Sequence[int], key: bytes) -> list[Any]:
    """Return the values of all ranks, whose sealed pickles lie behind each other with these sizes in bytes."""
    ends = [sum(sizes[: rank + 1]) for rank in range(len(sizes))]
    return [
        opened(content[end - size : end], key, rank) for rank, (end, size) in enumerate(zip(ends, sizes, strict=True))
    ]


def _key_of(key: bytes, rank: int) -> bytes:
    return key + f" rank {rank}".encode()


def _code_of(content: bytes | bytearray | memoryview, key: bytes) -> bytes:
    import hmac  # noqa: PLC0415

    return hmac.digest(key, content, "sha256")
