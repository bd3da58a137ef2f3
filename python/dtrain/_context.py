"""Joining the ranks of a job, and its groups."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any, overload

from dtrain import _core, _objects, _reports
from dtrain._binary import check_one_library
from dtrain._collectives import Collectives
from dtrain._errors import ArgumentError, Error
from dtrain._options import integer, milliseconds
from dtrain._store import Store


class Context(Collectives):
    """All ranks of a job, or a group of them, seen from one of them.

    It is also a context manager, which leaves the job at its end. A process leaves at its exit in any case.
    """

    __slots__ = ("__weakref__", "_groups", "_left", "_numbers", "_seal", "store")

    def __init__(self, core: _core.Context, seal: _objects.Seal) -> None:
        self._handle = core
        self._seal = seal
        self._numbers = core.numbers()
        # Other members may still need a group that this rank does not use any more.
        self._groups: list[Context] = []
        self._left = False
        self.store = Store(core)

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        return self._numbers[0]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._numbers[1]

    @property
    def local_rank(self) -> int:
        """The number of this rank among the ranks of its host."""
        return self._numbers[2]

    @property
    def local_size(self) -> int:
        """The number of ranks on this host."""
        return self._numbers[3]

    @property
    def cross_rank(self) -> int:
        """The index of this host among those that have this local rank."""
        return self._numbers[4]

    @property
    def cross_size(self) -> int:
        """The number of hosts that have this local rank."""
        return self._numbers[5]

    @property
    def host(self) -> str:
        """The name of this rank's host, as the job knows it."""
        return self._numbers[6]

    @property
    def algorithms(self) -> str:
        """The algorithms of the collectives, in the form of `dtrain run --algorithms`."""
        return self._handle.algorithms()

    @property
    def uses_nccl(self) -> bool:
        """True once the ranks have agreed that NCCL runs the collectives on memory of GPUs."""
        return self._handle.uses_nccl()

    @overload
    def split(self, ranks_or_color: int, key: int = 0, *, timeout: float | None = None) -> Context: ...
    @overload
    def split(self, ranks_or_color: None, key: int = 0, *, timeout: float | None = None) -> None: ...
    @overload
    def split(self, ranks_or_color: Iterable[int], key: int = 0, *, timeout: float | None = None) -> Context | None: ...
    def split(
        self, ranks_or_color: Iterable[int] | int | None, key: int = 0, *, timeout: float | None = None
    ) -> Context | None:
        """Return the group of the ranks in a list, or of those that give the same color.

        None for a rank that is not in the list, or gives the color None. With colors, all ranks of this context call
        it, and the group is ordered by key and rank. With a list, the ranks that are in it call it.
        """
        if isinstance(ranks_or_color, Iterable):
            return self.group(ranks_or_color, timeout=timeout)
        color = -1 if ranks_or_color is None else integer("color", ranks_or_color)
        if ranks_or_color is not None and color < 0:
            raise ArgumentError(f"color: give a number from 0, or None for no group, not {color}")
        core = self._handle.split(color, integer("key", key), milliseconds(timeout))
        return self._keep(core, self._seal.part("split", color))

    def group(self, ranks: Iterable[int], *, timeout: float | None = None) -> Context | None:
        """Return the group of the ranks in the list, in its order.

        None for a rank that is not in the list. Only the ranks in the list need to call it, and give the same list.
        """
        members = tuple(integer("ranks", rank) for rank in ranks)
        return self._keep(self._handle.group(members, milliseconds(timeout)), self._seal.part(f"group {members}"))

    def broadcast_object(self, value: Any = None, root: int = 0, *, timeout: float | None = None) -> Any:
        """Return the object of rank `root`, which must be picklable, on every rank.

        Raises dtrain.Error, and unpickles nothing, where the bytes that arrive are not those of the root for this call.
        """
        if not 0 <= integer("root", root) < self.size:
            raise ArgumentError(f"root: {root} is not one of the ranks 0 to {self.size - 1}")
        key = self._seal.key("broadcast_object")
        packed = _objects.sealed(value, key, root) if self.rank == root else bytearray()
        size = memoryview(bytearray(8)).cast("q")
        size[0] = len(packed)
        self.broadcast(size, root, out=size, timeout=timeout)
        content = packed if self.rank == root else bytearray(size[0])
        self.broadcast(content, root, out=content, timeout=timeout)
        self._seal.count("broadcast_object")
        return value if self.rank == root else _objects.opened(content, key, root)

    def all_gather_object(self, value: Any, *, timeout: float | None = None) -> list[Any]:
        """Return the objects of all ranks, which must be picklable, by rank. Errors are those of broadcast_object."""
        key = self._seal.key("all_gather_object")
        packed = _objects.sealed(value, key, self.rank)
        size = memoryview(bytearray(8)).cast("q")
        size[0] = len(packed)
        sizes = self.all_gather(size, timeout=timeout)
        content = memoryview(self.all_gather(packed, ragged=True, timeout=timeout))
        self._seal.count("all_gather_object")
        return _objects.all_opened(content, sizes, key)

    def finalize(self) -> None:
        """Leave the job, or the group. Pending operations fail, on this rank and where others need it."""
        for group in self._groups:
            group.finalize()
        self._groups.clear()
        self._left = True
        self._handle.finalize()
        atexit.unregister(self.finalize)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.finalize()

    def __repr__(self) -> str:
        return f"<dtrain.Context: rank {self.rank} of {self.size}, host {self.host}>"

    def _keep(self, core: _core.Context | None, seal: _objects.Seal) -> Context | None:
        if core is None:
            return None
        group = Context(core, seal)
        self._groups.append(group)
        return group


# The world of this process, and its number: a child by fork has the world of its parent here. libdtrain joins once.
_joined: tuple[int, Context] | None = None
_joining = threading.Lock()


def init(*, timeout: float | None = None) -> Context:
    """Join the other ranks of the job, and return when all have joined. Later calls return the same context.

    After finalize() it joins again. A process that `dtrain run` did not start is alone: rank 0 of size 1. One of
    several that another launcher started is so with DTRAIN_ALONE=1 only. `timeout` is in seconds, by default 300.
    """
    global _joined  # noqa: PLW0603  # a process is one rank
    limit_ms = milliseconds(timeout)
    with _joining:
        there = joined()
        if there is not None:
            return there
        check_one_library()
        try:
            world = Context(_core.init(limit_ms), _objects.Seal(_objects.job_key()))
        except Error as error:
            if "already joined" in str(error) and _is_child():
                raise _error_of_child(error) from None
            raise
        if _joined is None:
            _reports.install()
        _joined = os.getpid(), world
    # Other ranks learn that this one has left, also where the interpreter ends with operations under way.
    atexit.register(world.finalize)
    return world


def joined() -> Context | None:
    """Return the context of init(), until it has left the job."""
    there = _joined
    return there[1] if there is not None and there[0] == os.getpid() and not there[1]._left else None


def init_apart(timeout: float | None = None) -> Context:
    """Join the job as init() does. The context has operations and an end of its own where others have joined before."""
    there = joined()
    if there is None:
        return init(timeout=timeout)
    world = there.group(range(there.size), timeout=timeout)
    assert world is not None
    return world


def _is_child() -> bool:
    """Return whether multiprocessing has started this process. It knows no parent yet while it imports the script."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and ("__mp_main__" in sys.modules or module.parent_process() is not None)


def _error_of_child(error: Error) -> Error:
    return Error(
        "this process cannot join the job as a rank: its parent, which has started it by multiprocessing, is that rank"
        f" (process {os.getppid()}). A child by spawn or forkserver imports the script again, so put dtrain.init() and"
        f' the training below `if __name__ == "__main__":`. The rendezvous answered: {error}',
        error.code,
        error.rank,
    )
