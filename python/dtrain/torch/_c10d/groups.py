"""Groups of ranks that only their members ask for.

Torch makes a process group on its members alone. The engine makes groups on all ranks. So a thread of each rank waits
for requests in the job's store. It makes the groups in the order of their numbers.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Sequence

from dtrain._context import Context
from dtrain._errors import ArgumentError, Error


class Groups:
    """The groups of one job. All ranks make this object, and in the same order."""

    def __init__(self, world: Context, number: int) -> None:
        self._world = world
        self._prefix = f"dtrain.torch.distributed/{number}"
        self._changed = threading.Condition()
        self._made: dict[str, Context] = {}
        self._failure: Error | None = None
        # Its collectives are those of the threads alone, so they have one order.
        control = world.group(range(world.size))
        assert control is not None
        self._control = control
        self._thread = threading.Thread(target=self._serve, name="dtrain-groups", daemon=True)
        self._thread.start()

    def make(self, name: str, ranks: Sequence[int], timeout_s: float) -> Context:
        """Return the group of this name. Its members call it, each with the same ranks."""
        if self._world.rank == ranks[0]:
            place = self._world.store.add(f"{self._prefix}/requests")
            self._world.store.set(f"{self._prefix}/request/{place}", json.dumps([name, list(ranks)]))
        with self._changed:
            done = self._changed.wait_for(lambda: name in self._made or self._failure is not None, timeout_s)
            if not done:
                raise Error(f"process group {name} of the ranks {list(ranks)} was not made in {timeout_s} s", "timeout")
            if self._failure is not None:
                raise self._failure
            return self._made.pop(name)

    def _serve(self) -> None:
        place = 0
        try:
            while True:
                place += 1
                request = self._world.store.wait(f"{self._prefix}/request/{place}")
                name, ranks = json.loads(request)
                group = self._control.group(ranks)
                with self._changed:
                    if group is not None:
                        self._made[name] = group
                    self._changed.notify_all()
        except Error as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def end(self) -> None:
        """Finalize the group of the threads. The job's end ends the thread."""
        with contextlib.suppress(ArgumentError):
            self._control.finalize()
