"""The job's key-value store."""

from dtrain import _core
from dtrain._errors import ArgumentError
from dtrain._options import integer, milliseconds


class Store:
    """Keys and values that all ranks share: to exchange small data, to count, to elect a rank.

    A key has 1 to 250 bytes, a value at most 1,048,576. Calls need not match between ranks. Without a timeout, a call
    waits as long as the launcher lives.
    """

    __slots__ = ("_handle",)

    def __init__(self, core: _core.Context) -> None:
        self._handle = core

    def set(self, key: str, value: bytes | str, *, timeout: float | None = None) -> None:
        """Set a key, and replace its earlier value."""
        self._handle.store_set(_key_of(key), _bytes_of(value), milliseconds(timeout))

    def get(self, key: str, *, timeout: float | None = None) -> bytes | None:
        """Return the value, or None where there is no such key."""
        return self._handle.store_get(_key_of(key), milliseconds(timeout))

    def wait(self, key: str, *, timeout: float | None = None) -> bytes:
        """Return the value once the key exists. The death of a rank ends the wait with dtrain.Error."""
        return self._handle.store_wait(_key_of(key), milliseconds(timeout))

    def add(self, key: str, number: int = 1, *, timeout: float | None = None) -> int:
        """Add to the number that the key holds, 0 at first, and return the sum."""
        return self._handle.store_add(_key_of(key), integer("number", number, 64), milliseconds(timeout))

    def compare_and_set(
        self, key: str, expected: bytes | str | None, desired: bytes | str, *, timeout: float | None = None
    ) -> bool:
        """Set the key if it has the expected value, or is not there with None. Return whether it was set."""
        wanted = None if expected is None else _bytes_of(expected)
        done, _ = self._handle.store_compare_and_set(_key_of(key), wanted, _bytes_of(desired), milliseconds(timeout))
        return done

    def erase(self, key: str, *, timeout: float | None = None) -> bool:
        """Erase a key. Return whether there was one."""
        return self._handle.store_erase(_key_of(key), milliseconds(timeout))


def _bytes_of(value: bytes | str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise ArgumentError(f"value: give bytes or a str, not {value!r}") from None


def _key_of(key: str) -> str:
    if not isinstance(key, str):
        raise ArgumentError(f"key: give a str, not {key!r}")
    return key
