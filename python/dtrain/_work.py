"""An operation under way."""

from collections.abc import Callable
from typing import Any

from dtrain import _core
from dtrain._options import number


class Work:
    """An operation under way. It holds the arrays of the operation until it is done.

    A work may be dropped at any time: its arrays are then freed when the operation is done.
    """

    __slots__ = ("_core", "_finish", "_result")

    def __init__(self, core: _core.Work, finish: Callable[[_core.Work], Any]) -> None:
        self._core = core
        self._finish: Callable[[_core.Work], Any] | None = finish
        self._result: Any = None

    def done(self) -> bool:
        """Return whether the operation has succeeded or failed."""
        return self._core.done()

    def wait(self, timeout: float | None = None) -> Any:
        """Return the result once the operation is done, the same at each call, or raise dtrain.Error.

        After `timeout` seconds it raises TimeoutError, and the operation continues.
        """
        if not self._core.wait(-1.0 if timeout is None else max(0.0, number("timeout", timeout))):
            raise TimeoutError(f"the operation is not done after {timeout} s; it continues")
        finish = self._finish
        if finish is not None:
            self._result = finish(self._core)
            self._finish = None
        return self._result

    @property
    def result(self) -> Any:
        """The result; waits for it like wait()."""
        return self.wait()

    @property
    def contributors(self) -> tuple[int, ...]:
        """With a quorum: the ranks whose tensors the result has; waits for it like wait()."""
        self.wait()
        return tuple(memoryview(self._core).cast("i"))

    @property
    def times(self) -> tuple[int, int, int]:
        """The nanoseconds of time.monotonic_ns() at which it was submitted, started and ended; 0: not yet."""
        return self._core.times()
