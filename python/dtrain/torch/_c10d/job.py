"""The job of the default process group."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import dtrain
from dtrain._context import Context
from dtrain._errors import Error
from dtrain.horovod.common.basics import basics
from dtrain.torch._c10d.works import Futures


class Job:
    """The contexts of process groups. It lives from init_process_group() to destroy_process_group()."""

    def __init__(self) -> None:
        self._world: Context | None = None
        self._kept: dict[Context, object] = {}
        self.futures = Futures()

    def keep(self, context: Context, backend: object) -> None:
        """Keep the backend of a context. Torch may hold only the part of it that is in C++."""
        self._kept[context] = backend

    def context_of(self, ranks: Sequence[int], rank: int, size: int, timeout: datetime.timedelta) -> Context:
        """Return the context for a process group, of all ranks where the list of them is empty.

        Its members call it. Two ranks make the groups that both are members of in one order.
        """
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
        group = world.group(ranks, timeout=timeout.total_seconds())
        assert group is not None
        return group

    def leave(self, context: Context) -> None:
        """End the context of a process group."""
        self._kept.pop(context, None)
        context.finalize()
        if context is self._world:
            self._world = None

    def _join(self, timeout_s: float) -> None:
        if basics.is_initialized():
            whole = basics.world()
            group = whole.group(range(whole.size))
            assert group is not None
            self._world = group
        else:
            self._world = dtrain.init(timeout=timeout_s)


job = Job()
