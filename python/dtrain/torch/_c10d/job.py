"""The job of the default process group."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import dtrain
from dtrain._context import Context
from dtrain._errors import Error
from dtrain.horovod.common.basics import basics
from dtrain.torch._c10d.groups import Groups
from dtrain.torch._c10d.works import Futures


class Job:
    """The contexts of process groups. It lives from init_process_group() to destroy_process_group()."""

    def __init__(self) -> None:
        self._world: Context | None = None
        self._groups: Groups | None = None
        self._number = 0
        self._kept: dict[Context, object] = {}
        self.futures = Futures()

    def keep(self, context: Context, backend: object) -> None:
        """Keep the backend of a context. Torch may hold only the part of it that is in C++."""
        self._kept[context] = backend

    def context_of(self, name: str, ranks: Sequence[int], rank: int, size: int, timeout: datetime.timedelta) -> Context:
        """Return the context for a process group, of all ranks where the list of them is empty."""
        if self._world is None:
            self._join(timeout.total_seconds())
        world = self._world
        assert world is not None
        if not ranks:
            if (rank, size) != (world.rank, world.size):
                raise Error(
                    f"init_process_group got rank {rank} of {size}, but `dtrain run` made this process rank"
                    f" {world.rank} of {world.size}; leave rank and world_size to the environment",
                    "input",
                )
            return world
        if self._groups is None:
            group = world.group(ranks)
            assert group is not None
            return group
        return self._groups.make(name, ranks, timeout.total_seconds())

    def leave(self, context: Context) -> None:
        """End the context of a process group."""
        self._kept.pop(context, None)
        if context is not self._world:
            context.finalize()
            return
        if self._groups is not None:
            self._groups.end()
            self._groups = None
        context.finalize()
        self._world = None

    def _join(self, timeout_s: float) -> None:
        self._number += 1
        if basics.is_initialized():
            whole = basics.world()
            group = whole.group(range(whole.size))
            assert group is not None
            self._world = group
        else:
            self._world = dtrain.init(timeout=timeout_s)
        if self._world.size > 1:
            self._groups = Groups(self._world, self._number)


job = Job()
