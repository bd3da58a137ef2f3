"""The job of the default process group."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence

from dtrain._context import Context, init_apart, joined
from dtrain._errors import Error
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
        world = None if self._world is None or self._world._left else self._world
        if world is None and ranks:
            # The other ranks make no context now.
            world = joined()
            if world is None:
                _refuse_some(ranks)
        if world is None:
            world = self._world = init_apart(timeout.total_seconds())
        if not ranks:
            if (rank, size) != (world.rank, world.size):
                raise _error_of_place(rank, size, world)
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


def _error_of_place(rank: int, size: int, world: Context) -> Error:
    place = f"init_process_group got rank {rank} of {size}, but "
    if "DTRAIN_SIZE" not in os.environ:
        return Error(
            f"{place}this process is alone in dtrain, because `dtrain run` has not started it; start the script by"
            f" `dtrain run -np {size}`, which starts all ranks, instead of by torch.multiprocessing",
            "input",
        )
    return Error(
        f"{place}`dtrain run` made this process rank {world.rank} of {world.size}; leave rank and world_size to the"
        " environment",
        "input",
    )


def _refuse_some(ranks: Sequence[int]) -> None:
    """Raise Error where not all ranks of the job make the group: the job is joined by all of them, or by none."""
    job_size = int(os.environ.get("DTRAIN_SIZE", "1"))
    if 0 < len(ranks) < job_size:
        raise Error(
            f'cannot make a group of {len(ranks)} ranks with the backend "dtrain" in a world of another backend: all'
            f" {job_size} ranks of the job join dtrain together, and the others do not make this group; call"
            " dtrain.init() on every rank before it",
            "input",
        )


job = Job()
