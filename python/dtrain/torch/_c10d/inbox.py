"""Receives without a source, over receives of the engine, which name their sender.

A receive without a source posts one of the engine for each other rank. The first that is done has its message. The
others stay posted. They get the next messages of their ranks, for later receives.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dtrain import _core
from dtrain._errors import ArgumentError
from dtrain.torch._c10d.works import Futures, Received, Work


class Kind(NamedTuple):
    """The messages that a receive takes."""

    elements: int
    dtype: Any
    tag: int


class _Posted(NamedTuple):
    core: _core.Work
    memory: Any
    kind: Kind


class Message(Work):
    """A receive whose message comes from one of several ranks."""

    def __init__(self, inbox: Inbox, put: Callable[[Any], None], outputs: Received, futures: Futures) -> None:
        super().__init__([], outputs, None, futures)
        self._inbox = inbox
        self._put = put

    def take(self, rank: int, posted: _Posted) -> None:
        """Take the message of a rank."""
        assert isinstance(self._outputs, Received)
        self._outputs.source = rank
        self._finish = lambda: self._put(posted.memory)
        self._cores = [posted.core]

    def first_pending(self) -> _core.Work | None:
        """Return a work of the engine that may bring the message, or None when it is there."""
        return next(iter(self._inbox.cores_of(self)), None)

    def end(self) -> None:
        """Wait for the message, and bring it into its place."""
        self._await(-1.0)
        super().end()

    def wait(self, timeout: datetime.timedelta = datetime.timedelta(0)) -> bool:
        """Return once the message is there, or raise its error. A timeout above 0 ends the waiting alone."""
        self._await(timeout.total_seconds() or -1.0)
        return super().wait(timeout)

    def _await(self, seconds: float) -> None:
        while cores := self._inbox.cores_of(self):
            if _core.wait_any(cores, seconds) is None and seconds > 0:
                raise TimeoutError(f"no message is there after {seconds} s; the receive continues")


class Inbox:
    """The posted receives of a process group by their ranks, and the receives that have no message yet, in order."""

    def __init__(self, post: Callable[[Kind, int], tuple[_core.Work, Any]]) -> None:
        self._post = post
        self._lock = threading.Lock()
        self._posted: dict[int, list[_Posted]] = {}
        self._asking: dict[Message, Sequence[int]] = {}

    def expects(self, rank: int) -> bool:
        """Return whether the next message of a rank arrives here."""
        return bool(self._posted.get(rank))

    def ask(self, message: Message, ranks: Sequence[int], kind: Kind) -> None:
        """Give a receive the next message of some ranks that no earlier one takes."""
        with self._lock:
            for rank in ranks:
                posted = self._posted.setdefault(rank, [])
                # A posted receive that nobody waits for may have timed out.
                posted[:] = [one for one in posted if not _has_failed(one.core)]
                for other in posted:
                    if other.kind != kind:
                        raise _error_of_kind(rank, other.kind)
            self._asking[message] = ranks
            for rank in ranks:
                wanted = sum(rank in others for others in self._asking.values())
                for _ in range(wanted - len(self._posted[rank])):
                    self._posted[rank].append(_Posted(*self._post(kind, rank), kind))

    def cores_of(self, message: Message) -> list[_core.Work]:
        """Return the works of the engine that may bring a message, or none when it is there."""
        with self._lock:
            for rank, posted in self._posted.items():
                while posted and posted[0].core.done():
                    first = next((one for one, ranks in self._asking.items() if rank in ranks), None)
                    if first is None:
                        break
                    del self._asking[first]
                    first.take(rank, posted.pop(0))
            return [one.core for rank in self._asking.get(message, ()) for one in self._posted[rank]]


def _has_failed(core: _core.Work) -> bool:
    try:
        return core.done() and not core.wait(-1.0)
    except RuntimeError:
        return True


def _error_of_kind(rank: int, kind: Kind) -> ArgumentError:
    return ArgumentError(
        f"recv: an earlier receive without a source waits for a message of rank {rank} with {kind.elements} elements of"
        f" {kind.dtype} and tag {kind.tag}; the messages of a rank are received in their order"
    )
